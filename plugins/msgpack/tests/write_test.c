/* Writing MessagePack: the shortest forms, what comes back, and what has no type. */
#include <string.h>

#include "base/error.h"
#include "base/schema.h"
#include "support/serde_trials.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
check_written(const char *const *options, const char *schema, const char *rows, const char *expected, uint64_t size)
{
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "msgpack", options, &serde);
	fixture_bytes *bytes = fixture_encode(&serde, fixture_batch(f, fixture_schema(f, schema), rows), 0);
	assert_int_equal(bytes->size, size);
	assert_memory_equal(bytes->data, expected, size);
	fixture_destroy(f);
}

#define BYTES(text) text, sizeof(text) - 1

static void
values_take_their_shortest_form(void **state)
{
	(void)state;
	check_written(NULL, "int64", "0\n127\n128\n-32\n-33\n65536\n-9223372036854775808\n",
				  BYTES("\x00\x7F\xCC\x80\xE0\xD0\xDF\xCE\0\x01\0\0\xD3\x80\0\0\0\0\0\0\0"));
	check_written(NULL, "float32", "1.5\n", BYTES("\xCA\x3F\xC0\0\0"));
	check_written(NULL, "float64", "1.5\n", BYTES("\xCB\x3F\xF8\0\0\0\0\0\0"));
	check_written(NULL, "record(a:string?,b:bytes)", "{\"a\":null,\"b\":\"x\"}\n",
				  BYTES("\x82\xA1"
						"a\xC0\xA1"
						"b\xC4\x01x"));
	check_written(OPTIONS("records=array"), "record(a:string?,b:list<bool>)", "{\"a\":\"y\",\"b\":[true,false]}\n",
				  BYTES("\x92\xA1y\x92\xC3\xC2"));
	check_written(NULL, "timestamp", "\"1970-01-01T00:00:01Z\"\n\"1970-01-01T00:00:01.5Z\"\n\"1969-12-31T23:59:59Z\"\n",
				  BYTES("\xD6\xFF\0\0\0\x01\xD7\xFF\x77\x35\x94\0\0\0\0\x01"
						"\xC7\x0C\xFF\0\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"));
}

static void
every_value_comes_back(void **state)
{
	(void)state;
	static const char *const schemas[] = {
		"record(a:bool?,b:int32,c:int64?,d:uint64,e:float32,f:float64?,g:string,h:bytes,i:fixed(3),j:enum(x,y),k:"
		"timestamp,"
		"l:timestamp(s),m:timestamp(ms),n:timestamp(ns),o:list<int64?>,p:map<float64>,q:record(x:string?,y:list<list<"
		"bool>>)?)",
		"{\"type\":\"record\",\"name\":\"U\",\"fields\":[{\"name\":\"u\",\"type\":[\"null\",\"long\",\"double\","
		"\"string\","
		"\"bytes\",\"boolean\",{\"type\":\"array\",\"items\":\"string\"},{\"type\":\"map\",\"values\":\"long\"}]}]}",
		"int64",
		"list<string?>",
	};
	static const char *const forms[] = { "records=map", "records=array" };
	for (size_t i = 0; i < FLOW_COUNT(schemas); i++)
		for (size_t k = 0; k < FLOW_COUNT(forms); k++) {
			fixture *f = fixture_create();
			const flow_schema *schema = fixture_schema(f, schemas[i]);
			uint64_t size = schema_print(schema, 0, NULL, 0);
			char *json = arena_allocate(f->arena, size + 1);
			schema_print(schema, 0, json, size + 1);
			fixture_serde serde;
			fixture_serde_open(f, "msgpack", OPTIONS(forms[k], trial_assignment(f, "schema", json)), &serde);
			trial_round_trip(&serde, schema, 300, i * 2 + k);
			fixture_destroy(f);
		}
}

static const char without_type[] =
	"record(a:decimal(20,4)?,b:decimal?,c:date,d:time,e:time(ns),f:local_timestamp,g:uuid?)";

static void
types_that_messagepack_lacks_come_back_as_texts(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "msgpack",
					   OPTIONS("without_type=string", "fields.a=decimal(20,4)?", "fields.b=decimal?", "fields.c=date",
							   "fields.d=time", "fields.e=time(ns)", "fields.f=local_timestamp", "fields.g=uuid?"),
					   &serde);
	trial_round_trip(&serde, fixture_schema(f, without_type), 300, 5);
	fixture_destroy(f);
}

static void
types_that_messagepack_lacks_are_refused_by_the_plan(void **state)
{
	(void)state;
	static const char *const schemas[] = { "record(x:int64,a:decimal(9,2))", "record(a:date?)",
										   "record(r:record(a:time)?)", "record(a:local_timestamp)", "record(a:uuid)" };
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "msgpack", NULL, &serde);
	for (size_t i = 0; i < FLOW_COUNT(schemas); i++) {
		assert_int_equal(serde.ops->check_encodable(serde.serde, fixture_schema(f, schemas[i]), &f->error),
						 FLOW_E_TYPE);
		assert_non_null(strstr(error_message(&f->error), "field 'a'"));
		assert_non_null(strstr(error_message(&f->error), "without_type"));
	}
	assert_int_equal(serde.ops->check_encodable(serde.serde, fixture_schema(f, "list<decimal>"), &f->error),
					 FLOW_E_TYPE);
	assert_int_equal(serde.ops->check_encodable(serde.serde, fixture_schema(f, "record(a:any,t:timestamp)"), &f->error),
					 FLOW_OK);
	/* In a field of any type it is an error of the record. */
	fixture_serde json;
	fixture_serde_open(f, "json", NULL, &json);
	flow_batch *batch = fixture_decode(&json, "1\n1.5\n2\n", 8, 0)->batches[0]; /* the second one is a decimal */
	fixture_bytes *bytes = fixture_encode(&serde, batch, 0);
	assert_int_equal(bytes->statuses[1], FLOW_E_ENCODE);
	assert_int_equal(bytes->size, 2);
	fixture_serde nulls;
	fixture_serde_open(f, "msgpack", OPTIONS("without_type=null"), &nulls);
	bytes = fixture_encode(&nulls, batch, 0);
	assert_string_equal(bytes->data, "\x01\xC0\x02");
	fixture_destroy(f);
}

static void
each_allocation_that_fails_is_an_error(void **state)
{
	(void)state;
	for (int as_records = 0; as_records < 2; as_records++)
		trial_memory(
			"msgpack",
			OPTIONS("without_type=string", "fields.a=int64", "fields.b=string", "fields.c=\"decimal(9,2)?\"",
					"fields.e=\"map<record(x:int32?)>\""),
			"record(z:int64,z2:int64,a:int64,b:string,c:decimal(9,2)?,e:map<record(x:int32?)>)",
			"{\"z\":1,\"z2\":2,\"a\":1,\"b\":\"x\",\"c\":\"1.50\",\"e\":{\"k\":{\"x\":1},\"l\":{\"x\":null}}}\n",
			as_records);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_take_their_shortest_form),
		cmocka_unit_test(every_value_comes_back),
		cmocka_unit_test(types_that_messagepack_lacks_come_back_as_texts),
		cmocka_unit_test(types_that_messagepack_lacks_are_refused_by_the_plan),
		cmocka_unit_test(each_allocation_that_fails_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
