/* flow/avro_c.h: values go to avro-c and come back without loss, and what avro-c makes of them is what the serde `avro` writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/avro_c.h"

#include "base/batch.h"
#include "support/batch_text.h"
#include "support/plugin_fixture.h"

static int
set_up(void **state)
{
	*state = fixture_create();
	return 0;
}

static int
tear_down(void **state)
{
	fixture_destroy(*state);
	return 0;
}

static const char every_type[] =
	"record(b:bool,i:int32?,l:int64,u:uint64,f:float32,d:float64?,big:decimal,dec:decimal(12,2)?,s:string,y:bytes,x:fixed(3),"
	"e:enum(A,B,C),day:date,tm:time(ms),tu:time,tn:time(ns),ts:timestamp?,tl:local_timestamp(ns),id:uuid,list:list<int64?>,"
	"map:map<list<string>>,rec:record(a:int64,b:string?)?,any:list<record(k:string,v:map<float64>)>)";

static const char every_value[] =
	"{\"b\":true,\"i\":-2147483648,\"l\":-9223372036854775808,\"u\":\"18446744073709551615\",\"f\":1.5,\"d\":-0.0,"
	"\"big\":\"-12345678901234567890.0012300\",\"dec\":\"-9999999999.99\",\"s\":\"na\\u00efve \\ud83d\\ude00\","
	"\"y\":\"\\u0001\\u00ff\",\"x\":\"abc\",\"e\":\"C\",\"day\":\"0001-01-01\",\"tm\":\"23:59:59.999\","
	"\"tu\":\"00:00:00.000001\",\"tn\":\"23:59:59.999999999\",\"ts\":\"1969-12-31T23:59:59.999999Z\","
	"\"tl\":\"2024-02-29T12:00:00.123456789\",\"id\":\"123e4567-e89b-12d3-a456-426614174000\",\"list\":[1,null,-64,64,8191,8192],"
	"\"map\":{\"\":[],\"k\":[\"v\",\"\"]},\"rec\":{\"a\":1,\"b\":null},\"any\":[{\"k\":\"x\",\"v\":{\"pi\":3.141592653589793}}]}\n"
	"{\"b\":false,\"i\":2147483647,\"l\":9223372036854775807,\"u\":128,\"f\":0.0,\"d\":null,\"big\":\"1e3\",\"dec\":\"0.10\",\"s\":\"\","
	"\"y\":\"\",\"x\":\"\\u0001\\u0002\\u00fe\",\"e\":\"A\",\"day\":\"9999-12-31\",\"tm\":\"00:00:00\",\"tu\":\"23:59:59.999999\","
	"\"tn\":\"00:00:00\",\"ts\":null,\"tl\":\"1677-09-21T00:12:43.145224193\",\"id\":\"00000000-0000-0000-0000-000000000000\","
	"\"list\":[],\"map\":{},\"rec\":null,\"any\":[]}\n";

/* One datum of avro-c for a schema of ours; ends with the fixture. */
struct datum {
	avro_schema_t schema;
	avro_value_iface_t *class_of;
	avro_value_t value;
};

static void
close_datum(void *owner)
{
	struct datum *d = owner;
	avro_value_decref(&d->value);
	avro_value_iface_decref(d->class_of);
	avro_schema_decref(d->schema);
}

static struct datum *
datum_of(fixture *f, const flow_schema *schema)
{
	struct datum *d = arena_allocate_zeroed(f->arena, sizeof(*d));
	assert_non_null(d);
	if (flow_avro_c_schema(&host_services, schema, &d->schema, &f->error) != FLOW_OK)
		fail_msg("%s", error_message(&f->error));
	d->class_of = avro_generic_class_from_schema(d->schema);
	assert_non_null(d->class_of);
	assert_int_equal(avro_generic_value_new(d->class_of, &d->value), 0);
	fixture_on_destroy(f, close_datum, d);
	return d;
}

static void
destroy_builder(void *builder)
{
	builder_destroy(builder);
}

static flow_builder *
builder_of(fixture *f)
{
	flow_builder *builder = builder_create(f->pool, 0, 0);
	assert_non_null(builder);
	fixture_on_destroy(f, destroy_builder, builder);
	return builder;
}

static void
release_batch(void *batch)
{
	batch_release(batch);
}

/* The serde without framing, for this schema. */
static void
open_avro(fixture *f, const flow_schema *schema, fixture_serde *serde)
{
	const flow_schemas *schemas = host_services.get_service(FLOW_SERVICE_SCHEMAS);
	char text[16384];
	assert_true(schemas->print(schema, 0, text, sizeof(text)) < sizeof(text));
	const char *path = arena_format(f->arena, "%s/schema.avsc", fixture_folder(f));
	FILE *file = fopen(path, "w");
	assert_true(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
	fixture_serde_open(f, "avro", (const char *const[]){ arena_format(f->arena, "schema_file=%s", path), NULL }, serde);
}

/* Row by row: avro-c writes the bytes that the serde writes, reads them again, and gives the same value back. */
static void
check_batch(fixture *f, const flow_batch *batch)
{
	const flow_schema *schema = batch->schema;
	fixture_serde serde;
	open_avro(f, schema, &serde);
	fixture_bytes *bytes = fixture_encode(&serde, batch, 1);
	struct datum *d = datum_of(f, schema);
	flow_builder *builder = builder_of(f);
	uint64_t start = 0;
	for (FLOW_ROWS(batch, i)) {
		const flow_value *value = &batch->value[flow_row(batch, i)];
		char written[4096];
		if (flow_avro_c_from_value(&host_services, schema, value, &d->value, &f->error) != FLOW_OK)
			fail_msg("row %u: %s", i, error_message(&f->error));
		avro_writer_t writer = avro_writer_memory(written, sizeof(written));
		assert_int_equal(avro_value_write(writer, &d->value), 0);
		uint64_t size = (uint64_t)avro_writer_tell(writer);
		avro_writer_free(writer);
		assert_int_equal(size, bytes->ends[i] - start);
		assert_memory_equal(written, bytes->data + start, size);
		avro_value_reset(&d->value);
		avro_reader_t reader = avro_reader_memory(bytes->data + start, (int64_t)size);
		assert_int_equal(avro_value_read(reader, &d->value), 0);
		avro_reader_free(reader);
		flow_value back;
		if (flow_avro_c_to_value(&host_services, schema, builder, &d->value, &back, &f->error) != FLOW_OK)
			fail_msg("row %u: %s", i, error_message(&f->error));
		char *expected = value_print(schema, value), *got = value_print(schema, &back);
		assert_string_equal(got, expected);
		free(expected);
		free(got);
		start = bytes->ends[i];
	}
}

static void
given_values_of_every_type_when_they_go_to_avro_c_then_its_bytes_are_the_serdes_and_the_values_come_back(void **state)
{
	fixture *f = *state;
	check_batch(f, fixture_batch(f, fixture_schema(f, every_type), every_value));
	check_batch(f, fixture_batch(f, fixture_schema(f, "record(a:int64?)"), "{\"a\":null}\n{\"a\":7}\n"));
}

static void
given_unions_fixed_decimals_and_records_within_themselves_when_converted_then_each_branch_comes_back(void **state)
{
	fixture *f = *state;
	const flow_schema *schema = fixture_schema(
		f, "{\"type\":\"record\",\"name\":\"n.Node\",\"fields\":[{\"name\":\"v\",\"type\":[\"int\",\"null\",\"string\",{\"type\":\"array\","
		   "\"items\":\"long\"}]},{\"name\":\"last\",\"type\":[\"string\",\"null\"]},{\"name\":\"fd\",\"type\":{\"type\":\"fixed\",\"name\":"
		   "\"F\",\"size\":6,\"logicalType\":\"decimal\",\"precision\":12,\"scale\":3}},{\"name\":\"next\",\"type\":[\"null\",\"n.Node\"]}]}");
	static const flow_decimal small = { .digits = "1", .count = 1, .scale = 3, .negative = 1 };
	static const flow_decimal large = { .digits = "999999999999", .count = 12, .scale = 3 };
	flow_value numbers[] = { flow_int64(1), flow_int64(-2) };
	flow_list list = { numbers, 2 };
	flow_value fd[2] = { flow_cell(FLOW_DECIMAL, 0), flow_cell(FLOW_DECIMAL, 0) };
	fd[0].as.decimal = &small;
	fd[1].as.decimal = &large;
	flow_value v[3] = { flow_int64(5), flow_string("s", 1), flow_cell(FLOW_LIST, 0) };
	v[1].branch = 1;
	v[2].branch = 2;
	v[2].as.list = &list;
	/* Each record holds the one before it. */
	flow_builder *builder = builder_of(f);
	flow_value before = flow_null();
	for (int i = 0; i < 4; i++) {
		flow_value *cells = flow_builder_cells(builder, 4);
		assert_non_null(cells);
		cells[0] = i == 3 ? flow_null() : v[i];
		cells[1] = i % 2 == 0 ? flow_null() : flow_string("x\0y", 3);
		cells[2] = fd[i % 2];
		cells[3] = before;
		before = flow_record(cells, 4);
		flow_builder_add(builder, before);
	}
	batch_head head = { .schema = schema, .input = UINT32_MAX };
	flow_batch *batch = builder_finish(builder, &head);
	assert_non_null(batch);
	fixture_on_destroy(f, release_batch, batch);
	check_batch(f, batch);
}

/* --- what does not fit --------------------------------------------------------------------------------------------------- */

static void
assert_refused(fixture *f, const char *type, const flow_value *value, flow_status status, const char *message)
{
	struct datum *d = datum_of(f, fixture_schema(f, type));
	assert_int_equal(flow_avro_c_from_value(&host_services, fixture_schema(f, type), value, &d->value, &f->error), status);
	assert_string_equal(error_message(&f->error), message);
	error_clear(&f->error);
}

static void
given_values_that_do_not_fit_when_they_go_to_avro_c_then_it_is_said_why(void **state)
{
	fixture *f = *state;
	static const flow_decimal wide = { .digits = "12345", .count = 5, .scale = 2 }, fine = { .digits = "1", .count = 1, .scale = 3 };
	flow_value number = flow_int64(INT64_C(1) << 31), text = flow_string("D", 1), decimal = flow_cell(FLOW_DECIMAL, 0);
	flow_value field = flow_int64(1), record = flow_record(&field, 1), none = flow_null();
	assert_refused(f, "int32", &number, FLOW_E_RANGE, "2147483648 does not fit an int");
	assert_refused(f, "enum(A,B)", &text, FLOW_E_RANGE, "'D' is no symbol of the enum");
	decimal.as.decimal = &wide;
	assert_refused(f, "decimal(4,2)", &decimal, FLOW_E_RANGE, "a decimal that does not fit the schema's precision and scale");
	decimal.as.decimal = &fine;
	assert_refused(f, "decimal(4,2)", &decimal, FLOW_E_RANGE, "a decimal that does not fit the schema's precision and scale");
	assert_refused(f, "int64", &text, FLOW_E_TYPE, "a value has another type than its schema");
	assert_refused(f, "record(a:int64,b:int64)", &record, FLOW_E_TYPE, "the value and the datum of avro-c have different schemas");
	assert_refused(f, "int64", &none, FLOW_E_TYPE, "the value and the datum of avro-c have different schemas");
	flow_map_entry entry = { flow_string("a\0b", 3), flow_int64(1) };
	flow_map map = { &entry, 1 };
	flow_value mapped = flow_cell(FLOW_MAP, 0);
	mapped.as.map = &map;
	assert_refused(f, "map<int64>", &mapped, FLOW_E_RANGE, "avro-c cannot hold a map's key with a NUL in it");
}

static void
given_a_datum_of_another_schema_when_converted_then_neither_way_works(void **state)
{
	fixture *f = *state;
	static const char *const types[] = { "bool",   "int32", "int64", "uint64",     "float32",    "float64",    "decimal",       "string",
										 "fixed(3)", "date",  "uuid",  "list<int64>", "map<int64>", "enum(A,B)", "record(a:int64)", "int64?" };
	for (size_t i = 0; i < FLOW_COUNT(types); i++) {
		const char *other = strcmp(types[i], "float32") == 0 ? "float64" : "float32";
		struct datum *d = datum_of(f, fixture_schema(f, other));
		flow_value value;
		assert_int_equal(flow_avro_c_to_value(&host_services, fixture_schema(f, types[i]), builder_of(f), &d->value, &value, &f->error),
						 FLOW_E_TYPE);
		assert_string_equal(error_message(&f->error), "the value and the datum of avro-c have different schemas");
		error_clear(&f->error);
	}
}

static void
given_bytes_that_are_no_such_value_when_they_come_from_avro_c_then_they_are_refused(void **state)
{
	static const struct {
		const char *type, *bytes;
		size_t size;
		flow_status status;
		const char *message;
	} cases[] = {
		{ "uint64", "\xff", 1, FLOW_E_RANGE, "a number outside of 0 to 2^64 - 1" },
		{ "uint64", "\x01\0\0\0\0\0\0\0\0", 9, FLOW_E_RANGE, "a number outside of 0 to 2^64 - 1" },
		{ "decimal(2,0)", "\x00\xff", 2, FLOW_E_RANGE, "a decimal of more digits than the schema says" },
		{ "decimal", "\x04\x01", 2, FLOW_E_DECODE, "bytes that are no big-decimal" },
		{ "decimal", "", 0, FLOW_E_DECODE, "bytes that are no big-decimal" },
		{ "string", "\xc0\x80", 2, FLOW_E_DECODE, "a string that is not UTF-8" },
		{ "uuid", "none", 4, FLOW_E_DECODE, "a text that is no uuid" },
	};
	fixture *f = *state;
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		const flow_schema *schema = fixture_schema(f, cases[i].type);
		struct datum *d = datum_of(f, schema);
		char text[16];
		memcpy(text, cases[i].bytes, cases[i].size);
		text[cases[i].size] = '\0';
		int is_text = avro_value_get_type(&d->value) == AVRO_STRING;
		assert_int_equal(is_text ? avro_value_set_string_len(&d->value, text, cases[i].size + 1)
								 : avro_value_set_bytes(&d->value, text, cases[i].size),
						 0);
		flow_value value;
		assert_int_equal(flow_avro_c_to_value(&host_services, schema, builder_of(f), &d->value, &value, &f->error), cases[i].status);
		assert_string_equal(error_message(&f->error), cases[i].message);
		error_clear(&f->error);
	}
}

static void
given_a_schema_of_avro_c_when_read_then_it_is_the_plain_one(void **state)
{
	fixture *f = *state;
	struct datum *d = datum_of(f, fixture_schema(f, "record(a:int64?,d:decimal(4,2),l:list<string>,day:date)"));
	const flow_schemas *schemas = host_services.get_service(FLOW_SERVICE_SCHEMAS);
	const flow_schema *back = flow_avro_c_read_schema(&host_services, d->schema, &f->error);
	assert_non_null(back);
	char text[256];
	schemas->print(back, 1, text, sizeof(text));
	assert_string_equal(text, "record(a:int64?,d:bytes,l:list<string>,day:int32)");
	schemas->release(back);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_values_of_every_type_when_they_go_to_avro_c_then_its_bytes_are_the_serdes_and_the_values_come_back),
		TEST(given_unions_fixed_decimals_and_records_within_themselves_when_converted_then_each_branch_comes_back),
		TEST(given_values_that_do_not_fit_when_they_go_to_avro_c_then_it_is_said_why),
		TEST(given_a_datum_of_another_schema_when_converted_then_neither_way_works),
		TEST(given_bytes_that_are_no_such_value_when_they_come_from_avro_c_then_they_are_refused),
		TEST(given_a_schema_of_avro_c_when_read_then_it_is_the_plain_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
