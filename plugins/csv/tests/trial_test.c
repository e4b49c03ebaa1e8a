/* What every serde has to stand: rows of every type in every dialect, damage, memory that fails. */
#include "csv_checks.h"

#include "support/serde_trials.h"

static const char types[] =
	"record(b:bool,i:int32,l:int64?,u:uint64,f:float32,d:float64?,c:decimal?,p:decimal(20,3)?,s:string?,"
	"y:bytes?,x:fixed(5),e:enum(A,B),t:date,h:time(ns),w:local_timestamp(ms)?,id:uuid?)";

static const char *const dialects[][6] = {
	{ "null_token=\"\"" },
	{ "null_token=[\"NA\", \"-\"]", "delimiter=\";\"", "decimal_mark=\",\"", "thousands=.", "comment=\"#\"" },
	{ "null_token=\"\\\\N\"", "delimiter=\"\\\\t\"", "escape=\"\\\\\"", "quote=\"\"" },
	{ "null_token=\"\"", "delimiter=\"|\"", "escape=\"\\\\\"", "quote=\"'\"" },
	{ "null_token=\"0\"", "decimal_mark=\",\"", "header=false" },
	{ "null_token=\"\"", "rename.b=\"the first, \\\"one\\\"\"", "missing=null", "extra=ignore", "infer=exact" },
	{ "null_token=NaN", "short_rows=null", "long_rows=ignore" },
	{ "null_token=\"\"", "trim=true" },
	{ "null_token=NA", "trim=true", "delimiter=\"\\t\"", "escape=\"\\\\\"", "quote=\"\"" },
	{ "trim=true", "escapes=c", "quote=\"'\"", "comment=\"#\"" },
	{ "escapes=c", "quote=\"\"", "delimiter=\"\\t\"", "header=false" },
	{ "escapes=c", "null_token=[\"\\\\N\", \"N\"]" },
};

static void
rows_of_all_types_come_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < FLOW_COUNT(dialects); i++) {
		fixture *f = fixture_create();
		fixture_serde csv;
		const flow_schema *schema = fixture_schema(f, types);
		const flow_schemas *schemas = host_services.get_service(FLOW_SERVICE_SCHEMAS);
		char *text = arena_allocate(f->arena, 8192);
		schemas->print(schema, 0, text, 8192);
		const char *options[8] = { trial_assignment(f, "schema", text) };
		memcpy(options + 1, dialects[i], sizeof(dialects[i]));
		fixture_serde_open(f, "csv", options, &csv);
		trial_round_trip(&csv, schema, 200, i);
		fixture_destroy(f);
	}
}

static void
damage_never_fails(void **state)
{
	(void)state;
	const char *text = "1;\"x;\"\"y\";1.234,5\nNA;#;-7\n\n2;\\;;\"a\nb\"\r\n3\n4;z;0,5;6\n";
	for (size_t i = 0; i < 2; i++) {
		fixture *f = fixture_create();
		fixture_serde csv;
		const char *options[] = { "header=false",
								  "delimiter=\";\"",
								  "null_token=NA",
								  "fields.a=int64?",
								  "fields.b=string?",
								  "fields.c=decimal?",
								  "decimal_mark=\",\"",
								  "thousands=.",
								  i == 0 ? "escape=\"\\\\\"" : "quote=\"\"",
								  i == 0 ? "short_rows=null" : "long_rows=ignore",
								  NULL };
		fixture_serde_open(f, "csv", options, &csv);
		trial_damage(&csv, text, strlen(text), 0);
		fixture_destroy(f);
	}
}

static void
memory_that_fails_is_an_error(void **state)
{
	(void)state;
	const char *schema = "record(a:int64?,b:string?,c:decimal?)";
	const char *rows = "{\"a\":5,\"b\":\"x,\\ny\",\"c\":\"1.50\"}\n{\"a\":null,\"b\":null,\"c\":\"7\"}\n";
	trial_memory("csv", OPTIONS("infer=exact", "rename.b=B"), schema, rows, 0);
	trial_memory("csv", OPTIONS("null_token=\"\"", "fields.a=int64?", "fields.d=date?", "missing=null"), schema, rows,
				 0);
	trial_memory("csv", OPTIONS("null_token=\"\"", "fields.c=decimal?", "fields.a=int64?", "extra=ignore"), schema,
				 rows, 0);
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
