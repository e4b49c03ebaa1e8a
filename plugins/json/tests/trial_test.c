/* What every serde has to stand: rows of every type with every option, damage, memory that fails. */
#include "json_checks.h"

#include "support/serde_trials.h"

static const char types[] =
	"record(b:bool,i:int32,l:int64,u:uint64,f:float32,d:float64?,c:decimal,p:decimal(20,3)?,s:string,"
	"y:bytes?,x:fixed(5),e:enum(A,B),t:date,h:time(ns),w:local_timestamp(ms)?,id:uuid?,"
	"v:list<list<int64?>>,m:map<string?>,r:record(q:int64?)?)";

/* Every option that changes how rows are written or read, one after another; null-terminated, so that two go together. */
static const char *const option_pairs[][3] = {
	{ "decimals=number" },
	{ "decimals=string" },
	{ "framing=array" },
	{ "framing=array", "pretty=true" },
	{ "framing=documents", "pretty=true" },
	{ "duplicates=last", "extra=error" },
	{ "missing=error", "nulls=default" },
};

static void
rows_of_all_types_come_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < FLOW_COUNT(option_pairs); i++) {
		fixture *f = fixture_create();
		fixture_serde json;
		const flow_schema *schema = fixture_schema(f, types);
		const flow_schemas *schemas = host_services.get_service(FLOW_SERVICE_SCHEMAS);
		char *text = arena_allocate(f->arena, 8192);
		schemas->print(schema, 0, text, 8192);
		const char *options[] = { "nan=string", trial_assignment(f, "schema", text), option_pairs[i][0],
								  option_pairs[i][1], NULL };
		fixture_serde_open(f, "json", options, &json);
		trial_round_trip(&json, schema, 80, i);
		fixture_destroy(f);
	}
}

static void
damage_never_fails(void **state)
{
	(void)state;
	static const char *const framings[] = { "framing=array", "framing=documents", "framing=auto", "framing=auto" };
	for (size_t i = 0; i < FLOW_COUNT(framings); i++) {
		fixture *f = fixture_create();
		fixture_serde json;
		fixture_serde_open(f, "json", OPTIONS(framings[i], "fields.a=int64", "fields.b=string?", "extra=keep"), &json);
		const char *text = i % 2 == 0 ? "[{\"a\":1,\"b\":\"x\\\"],\",\"z\":[{}]},\n {\"a\":-2}\n]\n"
									  : "{\"a\":1,\"b\":\"x\\\"]}\"}{\"a\":2}\n {\"a\":3,\"z\":[1,{}]}";
		trial_damage(&json, text, strlen(text), 0);
		trial_damage(&json, text, strlen(text), 1);
		fixture_destroy(f);
	}
}

static void
memory_that_fails_is_an_error(void **state)
{
	(void)state;
	const char *schema = "record(a:int64?,b:list<string>,c:map<any>,d:decimal)";
	const char *rows =
		"{\"a\":5,\"b\":[\"x\\ny\"],\"c\":{\"k\":[1,{}]},\"d\":\"1.50\"}\n{\"a\":null,\"b\":[],\"c\":{},\"d\":\"7\"}\n";
	const char *fields[] = {
		"fields.a=int64?", "fields.b=list<string>", "fields.c=map<any>", "fields.d=decimal", NULL, NULL
	};
	trial_memory("json", fields, schema, rows, 0);
	trial_memory("json", fields, schema, rows, 1);
	fields[4] = "framing=array";
	trial_memory("json", fields, schema, rows, 0);
	fields[4] = "framing=documents";
	trial_memory("json", fields, schema, rows, 0);
	trial_memory("json", OPTIONS("fields.a=int64", "extra=keep"), "record(a:int64,extra:map<any>)",
				 "{\"a\":5,\"extra\":{\"b\":[1]}}\n", 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_all_types_come_back),
		cmocka_unit_test(damage_never_fails),
		cmocka_unit_test(memory_that_fails_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
