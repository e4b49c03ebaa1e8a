/* Avro's JSON encoding: branches by name, bytes as characters, logical types as numbers. */
#include "json_checks.h"

#include "support/serde_trials.h"

static const char every_type[] =
	"{\"type\":\"record\",\"name\":\"n.Every\",\"fields\":["
	"{\"name\":\"b\",\"type\":\"boolean\"},{\"name\":\"i\",\"type\":\"int\"},{\"name\":\"l\",\"type\":\"long\"},"
	"{\"name\":\"f\",\"type\":\"float\"},{\"name\":\"d\",\"type\":\"double\"},{\"name\":\"y\",\"type\":\"bytes\"},"
	"{\"name\":\"s\",\"type\":\"string\"},{\"name\":\"x\",\"type\":{\"type\":\"fixed\",\"name\":\"Four\",\"size\":4}},"
	"{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"Color\",\"symbols\":[\"RED\",\"BLUE\"]}},"
	"{\"name\":\"a\",\"type\":{\"type\":\"array\",\"items\":[\"null\",\"long\"]}},"
	"{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":\"bytes\"}},"
	"{\"name\":\"u\",\"type\":[\"null\",\"int\",\"string\",\"n.Color\",{\"type\":\"array\",\"items\":\"int\"},"
	"{\"type\":\"record\",\"name\":\"In\",\"fields\":[{\"name\":\"q\",\"type\":\"double\"}]}]},"
	"{\"name\":\"dec\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":20,\"scale\":4}},"
	"{\"name\":\"df\",\"type\":{\"type\":\"fixed\",\"name\":\"Nine\",\"size\":9,\"logicalType\":\"decimal\","
	"\"precision\":20,"
	"\"scale\":2}},"
	"{\"name\":\"big\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"big-decimal\"}},"
	"{\"name\":\"date\",\"type\":[\"null\",{\"type\":\"int\",\"logicalType\":\"date\"}]},"
	"{\"name\":\"tm\",\"type\":{\"type\":\"int\",\"logicalType\":\"time-millis\"}},"
	"{\"name\":\"ts\",\"type\":[\"null\",{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"}]},"
	"{\"name\":\"lt\",\"type\":{\"type\":\"long\",\"logicalType\":\"local-timestamp-millis\"}},"
	"{\"name\":\"id\",\"type\":{\"type\":\"string\",\"logicalType\":\"uuid\"}},"
	"{\"name\":\"idf\",\"type\":{\"type\":\"fixed\",\"name\":\"U\",\"size\":16,\"logicalType\":\"uuid\"}},"
	"{\"name\":\"u64\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":20,\"scale\":0,\"flow."
	"type\":"
	"\"uint64\"}},"
	"{\"name\":\"r\",\"type\":[\"null\",\"n.Every\"],\"default\":null}]}";

static void
open_every_type(fixture *f, const char *more, fixture_serde *json)
{
	const char *options[] = { "encoding=avro", "nan=string", trial_assignment(f, "schema", every_type), more, NULL };
	fixture_serde_open(f, "json", options, json);
}

static void
rows_of_all_types_come_back(void **state)
{
	(void)state;
	static const char *const framings[] = { "framing=lines", "framing=array", "framing=documents" };
	for (size_t i = 0; i < FLOW_COUNT(framings); i++) {
		fixture *f = fixture_create();
		fixture_serde json;
		open_every_type(f, framings[i], &json);
		trial_round_trip(&json, fixture_schema(f, every_type), 60, i);
		fixture_destroy(f);
	}
}

static void
what_avro_says_is_what_is_written(void **state)
{
	(void)state;
	static const struct {
		const char *schema;
		const char *row;
		const char *text;
	} cases[] = {
		{ "[\"null\",\"long\"]", "null", "null" },
		{ "[\"null\",\"long\"]", "5", "{\"long\":5}" },
		{ "[\"string\",\"null\"]", "\"x\"", "{\"string\":\"x\"}" },
		{ "\"bytes\"", "\"\\u0001\\u00ffA\"",
		  "\"\\u0001\xC3\xBF"
		  "A\"" },
		{ "{\"type\":\"int\",\"logicalType\":\"date\"}", "\"1970-01-11\"", "10" },
		{ "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}", "\"1970-01-01T00:00:01.5Z\"", "1500" },
		{ "[\"null\",{\"type\":\"enum\",\"name\":\"a.E\",\"symbols\":[\"X\"]}]", "\"X\"", "{\"a.E\":\"X\"}" },
		{ "{\"type\":\"map\",\"values\":[\"null\",\"double\"]}", "{\"k\":0.5,\"l\":null}",
		  "{\"k\":{\"double\":0.5},\"l\":null}" },
	};
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		fixture *f = fixture_create();
		const char *options[] = { "encoding=avro", trial_assignment(f, "schema", cases[i].schema), NULL };
		check_there_and_back(options, cases[i].schema, arena_format(f->arena, "%s\n", cases[i].row),
							 arena_format(f->arena, "%s\n", cases[i].text));
		fixture_destroy(f);
	}
}

static void
what_is_no_branch_or_value_is_rejected(void **state)
{
	(void)state;
	static const struct {
		const char *type;
		const char *text;
		const char *reason;
	} cases[] = {
		{ "fields.a=int64?", "{\"a\":5}", "null or {\"long\": ...} is expected" },
		{ "fields.a=int64?", "{\"a\":[1]}", "null or {\"long\": ...} is expected" },
		{ "fields.a=int64?", "{\"a\":{\"int\":5}}", "no branch \"int\"" },
		{ "fields.a=int64?", "{\"a\":{}}", "without a key" },
		{ "fields.a=int64?", "{\"a\":{\"long\":5,\"long\":6}}", "second key" },
		{ "fields.a=int64?", "{\"a\":{\"long\":\"5\"}}", "is not int64" },
		{ "fields.a=bytes", "{\"a\":\"\\u0100\"}", "cannot be read as bytes" },
		{ "fields.a=bytes", "{\"a\":5}", "is not bytes" },
		{ "fields.a=date", "{\"a\":\"2024-01-01\"}", "is not date" },
		{ "fields.a=date", "{\"a\":2147483648}", "does not fit date" },
		{ "fields.a=\"decimal(3,1)\"", "{\"a\":1.5}", "is not decimal(3,1)" },
		{ "fields.a=\"decimal(3,1)\"", "{\"a\":\"\\u0003\\u00e8\"}", "does not fit decimal(3,1)" },
		{ "fields.a=uint64", "{\"a\":\"\\u00ff\"}", "does not fit uint64" },
	};
	for (size_t i = 0; i < FLOW_COUNT(cases); i++)
		check_rows_and_rejection(OPTIONS("encoding=avro", cases[i].type), cases[i].text, "", 1, cases[i].reason);
}

static void
a_type_without_a_form_is_refused_before_the_run(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", OPTIONS("encoding=avro", "fields.a=int64"), &json);
	assert_int_equal(json.ops->check_encodable(json.serde, fixture_schema(f, "record(a:map<any>)"), &f->error),
					 FLOW_E_TYPE);
	assert_int_equal(json.ops->check_encodable(json.serde, fixture_schema(f, "record(a:map<int64?>)"), &f->error),
					 FLOW_OK);
	fixture_destroy(f);
}

static void
fields_that_nobody_reads_are_checked_but_not_made(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", OPTIONS("encoding=avro", "fields.a=int64?", "fields.b=bytes?"), &json);
	const char *text = "{\"a\":{\"long\":5},\"b\":{\"nothing\":[1]}}\n{\"a\":null,\"b\":7}\n{\"a\":null,\"b\":{]}\n";
	fixture_decoding how = { .fields = (const uint32_t[]){ 0 }, .field_count = 1 };
	fixture_rows *rows = fixture_decode_with(&json, text, strlen(text), &how);
	assert_string_equal(fixture_rows_text(rows), "{\"a\":5,\"b\":null}\n{\"a\":null,\"b\":null}\n");
	assert_int_equal(rows->rejection_count, 1);
	fixture_destroy(f);
}

static void
damage_never_fails(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json",
					   OPTIONS("encoding=avro", "framing=array", "fields.a=int64?", "fields.b=\"decimal(9,2)?\"",
							   "fields.c=\"record(x:bytes?)\"", "fields.d=timestamp"),
					   &json);
	const char *text =
		"[{\"a\":{\"long\":5},\"b\":{\"bytes\":\"\\u0001\xC3\xBF\"},\"c\":{\"x\":{\"bytes\":\"\xC2\x80\"}},\"d\":-1}"
		",\n{\"a\":null}]";
	trial_damage(&json, text, strlen(text), 0);
	fixture_destroy(f);
}

static void
memory_that_fails_is_an_error(void **state)
{
	(void)state;
	trial_memory(
		"json",
		OPTIONS("encoding=avro", "framing=array", "fields.a=int64?", "fields.b=\"decimal(9,2)?\"", "fields.c=bytes",
				"fields.d=list<string?>"),
		"record(a:int64?,b:decimal(9,2)?,c:bytes,d:list<string?>)",
		"{\"a\":5,\"b\":\"1.50\",\"c\":\"x\",\"d\":[\"y\",null]}\n{\"a\":null,\"b\":null,\"c\":\"\",\"d\":[]}\n", 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_all_types_come_back),
		cmocka_unit_test(what_avro_says_is_what_is_written),
		cmocka_unit_test(what_is_no_branch_or_value_is_rejected),
		cmocka_unit_test(a_type_without_a_form_is_refused_before_the_run),
		cmocka_unit_test(fields_that_nobody_reads_are_checked_but_not_made),
		cmocka_unit_test(damage_never_fails),
		cmocka_unit_test(memory_that_fails_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
