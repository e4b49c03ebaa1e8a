/* Writing Avro: values of every type come back, cut and flipped bytes are refused, codecs, schemas to write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/batch_text.h"
#include "support/plugin_fixture.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const char every_type[] =
	"record(b:bool,i:int32?,l:int64,u:uint64,f:float32,d:float64?,big:decimal,dec:decimal(12,2)?,s:string,y:bytes,x:"
	"fixed(3),"
	"e:enum(A,B,C),day:date,tm:time(ms),tu:time,ts:timestamp?,tl:local_timestamp(ns),id:uuid,list:list<int64?>,"
	"map:map<list<string>>,rec:record(a:int64,b:string?)?,any:list<record(k:string,v:map<float64>)>)";

static const char every_value[] =
	"{\"b\":true,\"i\":-2147483648,\"l\":-9223372036854775808,\"u\":\"18446744073709551615\",\"f\":1.5,\"d\":-0.0,"
	"\"big\":\"-12345678901234567890.0012300\",\"dec\":\"-9999999999.99\",\"s\":\"na\\u00efve "
	"\\ud83d\\ude00\",\"y\":\"\\u0001\\u00ff\",\"x\":\"abc\","
	"\"e\":\"C\",\"day\":\"0001-01-01\",\"tm\":\"23:59:59.999\",\"tu\":\"00:00:00.000001\",\"ts\":\"1969-12-31T23:59:"
	"59.999999Z\","
	"\"tl\":\"2024-02-29T12:00:00.123456789\",\"id\":\"123e4567-e89b-12d3-a456-426614174000\",\"list\":[1,null,-64,64,"
	"8191,8192],"
	"\"map\":{\"\":[],\"k\":[\"v\",\"\"]},\"rec\":{\"a\":1,\"b\":null},\"any\":[{\"k\":\"x\",\"v\":{\"pi\":3."
	"141592653589793}}]}\n"
	"{\"b\":false,\"i\":null,\"l\":9223372036854775807,\"u\":0,\"f\":0.0,\"d\":null,\"big\":\"0\",\"dec\":null,\"s\":"
	"\"\",\"y\":\"\","
	"\"x\":\"\\u0001\\u0002\\u00fe\",\"e\":\"A\",\"day\":\"9999-12-31\",\"tm\":\"00:00:00\",\"tu\":\"23:59:59.999999\","
	"\"ts\":null,"
	"\"tl\":\"1677-09-21T00:12:43.145224193\",\"id\":\"00000000-0000-0000-0000-000000000000\",\"list\":[],\"map\":{},"
	"\"rec\":null,"
	"\"any\":[]}\n";

static const char *const codecs[] = { "codec=null",      "codec=deflate", "codec=snappy",
									  "codec=zstandard", "codec=bzip2",   "codec=xz" };

static flow_batch *
batch_of_every_type(fixture *f)
{
	return fixture_batch(f, fixture_schema(f, every_type), every_value);
}

static void
values_of_every_type_come_back_from_files_of_every_codec(void **state)
{
	(void)state;
	for (size_t i = 0; i < FLOW_COUNT(codecs); i++) {
		fixture *f = fixture_create();
		fixture_serde writer, reader;
		fixture_serde_open(f, "avro", OPTIONS(codecs[i], "block_size=1"), &writer);
		flow_batch *batch = batch_of_every_type(f);
		fixture_bytes *bytes = fixture_encode(&writer, batch, 0);
		fixture_serde_open(f, "avro", NULL, &reader);
		for (uint64_t step = 0; step < 90; step += 13) {
			fixture_rows *rows = fixture_decode(&reader, bytes->data, bytes->size, step);
			if (rows->status != FLOW_OK)
				fail_msg("%s: %s", codecs[i], error_message(&f->error));
			char *expected = batch_print(batch);
			assert_string_equal(fixture_rows_text(rows), expected);
			free(expected);
		}
		fixture_rows *rows = fixture_decode(&reader, bytes->data, bytes->size, 0);
		fixture_bytes *again = fixture_encode(&writer, rows->batches[0], 0);
		assert_int_equal(again->size, bytes->size);
		assert_memory_equal(again->data, bytes->data, bytes->size);
		fixture_destroy(f);
	}
}

static const char *
option_of(fixture *f, const char *name, const flow_schema *schema)
{
	const flow_schemas *schemas = host_services.get_service(FLOW_SERVICE_SCHEMAS);
	uint64_t size = schemas->print(schema, 0, NULL, 0);
	char *text = arena_allocate_zeroed(f->arena, size + 1), *option = arena_allocate_zeroed(f->arena, 2 * size + 64);
	schemas->print(schema, 0, text, size + 1);
	char *to = option + sprintf(option, "%s=\"", name);
	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			*to++ = '\\';
		*to++ = *c;
	}
	*to = '"';
	return option;
}

static void
datums_that_are_cut_anywhere_are_refused(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde avro;
	flow_batch *batch = batch_of_every_type(f);
	fixture_serde_open(f, "avro", OPTIONS(option_of(f, "schema", batch->schema)), &avro);
	fixture_bytes *bytes = fixture_encode(&avro, batch, 1);
	for (uint64_t size = 0; size < bytes->ends[0]; size++) {
		flow_slice cut = flow_slice_make(bytes->data, size);
		fixture_rows *rows = fixture_decode_records(&avro, &cut, 1);
		assert_int_equal(rows->rejection_count, 1);
	}
	flow_slice whole = flow_slice_make(bytes->data, bytes->ends[0]);
	assert_int_equal(fixture_decode_records(&avro, &whole, 1)->row_count, 1);
	fixture_destroy(f);
}

/* Each flip is a value, an error at a place, or a record error: never a crash, and never more rows than the block says. */
static void
flipped_bits_of_files_are_values_or_errors_with_a_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		fixture *f = fixture_create();
		fixture_serde writer, reader, skipping;
		fixture_serde_open(f, "avro", OPTIONS(codecs[i]), &writer);
		fixture_bytes *bytes = fixture_encode(&writer, batch_of_every_type(f), 0);
		const char *schema = option_of(f, "schema", fixture_schema(f, every_type));
		fixture_serde_open(f, "avro", OPTIONS(schema), &reader);
		fixture_serde_open(f, "avro", OPTIONS(schema, "skip_bad_blocks=true"), &skipping);
		for (uint64_t bit = 0; bit < bytes->size * 8; bit += i == 0 ? 3 : 11) {
			char *flipped = malloc(bytes->size);
			memcpy(flipped, bytes->data, bytes->size);
			flipped[bit / 8] ^= (char)(1 << bit % 8);
			fixture_rows *rows = fixture_decode(&reader, flipped, bytes->size, 0);
			assert_true(rows->row_count <= 2);
			if (rows->status < 0)
				assert_non_null(strstr(error_message(&f->error), "test"));
			rows = fixture_decode(&skipping, flipped, bytes->size, 0);
			assert_true(rows->row_count + rows->rejection_count <= 3);
			free(flipped);
		}
		fixture_destroy(f);
	}
}

static void
records_go_into_a_schema_to_write_by_name_and_type(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde avro;
	const char *schema = option_of(
		f, "schema",
		fixture_schema(
			f, "{\"type\":\"record\",\"name\":\"T\",\"fields\":[{\"name\":\"late\",\"type\":\"int\",\"default\":7},"
			   "{\"name\":\"b\",\"type\":[\"string\",\"null\",\"double\"]},{\"name\":\"a\",\"type\":\"double\"},"
			   "{\"name\":\"t\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}}]}"));
	fixture_serde_open(f, "avro", OPTIONS(schema), &avro);
	flow_batch *batch = fixture_batch(f, fixture_schema(f, "record(t:timestamp,a:int64,b:float64?)"),
									  "{\"t\":\"1970-01-01T00:00:00.001Z\",\"a\":2,\"b\":0.5}\n"
									  "{\"t\":\"1970-01-01T00:00:00.000001Z\",\"a\":2,\"b\":null}\n"
									  "{\"t\":\"1970-01-01T00:00:00Z\",\"a\":9007199254740993,\"b\":null}\n"
									  "{\"t\":\"1970-01-01T00:00:00Z\",\"a\":-1,\"b\":null}\n");
	fixture_bytes *bytes = fixture_encode(&avro, batch, 1);
	assert_int_equal(bytes->statuses[0], FLOW_OK);
	assert_int_equal(bytes->statuses[1], FLOW_E_RANGE); /* a microsecond is no millisecond */
	assert_int_equal(bytes->statuses[2], FLOW_E_RANGE); /* not a double */
	assert_int_equal(bytes->statuses[3], FLOW_OK);
	flow_slice first = flow_slice_make(bytes->data, bytes->ends[0]);
	fixture_rows *rows = fixture_decode_records(&avro, &first, 1);
	assert_string_equal(fixture_rows_text(rows),
						"{\"late\":7,\"b\":0.5,\"a\":2.0,\"t\":\"1970-01-01T00:00:00.001Z\"}\n");
	fixture_destroy(f);
}

static void
what_cannot_be_written_is_refused_before_the_run_with_its_field(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	static const struct {
		const char *target, *source, *says;
	} pairs[] = {
		{ "record(a:int64)", "record(a:int64,b:string)", "'b'" },
		{ "record(a:int64,c:string)", "record(a:int64)", "'c'" },
		{ "record(a:record(x:int64))", "record(a:record(x:string))", "a.x: this type cannot be written as 'long'" },
		{ "record(a:list<date>)", "record(a:list<bool>)", "a.[]" },
		{ "record(a:timestamp)", "record(a:local_timestamp)", "a: " },
		{ NULL, "record(a:int64,b:any)", "b: its type is only known for each value" },
	};
	for (size_t i = 0; i < FLOW_COUNT(pairs); i++) {
		fixture_serde avro;
		const char *schema =
			pairs[i].target == NULL ? "codec=null" : option_of(f, "schema", fixture_schema(f, pairs[i].target));
		fixture_serde_open(f, "avro", OPTIONS(schema), &avro);
		flow_status status = avro.ops->check_encodable(avro.serde, fixture_schema(f, pairs[i].source), &f->error);
		assert_int_equal(status, FLOW_E_ENCODE);
		if (strstr(error_message(&f->error), pairs[i].says) == NULL)
			fail_msg("'%s' does not say '%s'", error_message(&f->error), pairs[i].says);
	}
	fixture_destroy(f);
}

static void
only_the_fields_in_use_are_decoded_and_the_rest_is_passed_over(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde avro;
	fixture_serde_open(f, "avro", NULL, &avro);
	fixture_bytes *bytes = fixture_encode(&avro, batch_of_every_type(f), 0);
	for (uint32_t field = 0; field < 22; field++) {
		fixture_decoding how = { .fields = &field, .field_count = 1 };
		fixture_rows *all = fixture_decode(&avro, bytes->data, bytes->size, 0);
		fixture_rows *rows = fixture_decode_with(&avro, bytes->data, bytes->size, &how);
		assert_int_equal(rows->status, FLOW_OK);
		assert_int_equal(rows->row_count, 2);
		for (uint32_t row = 0; row < 2; row++) {
			const flow_schema *schema = all->schema->fields[field]->schema;
			char *expected = value_print(schema, flow_batch_field(all->batches[0], row, field));
			char *got = value_print(schema, flow_batch_field(rows->batches[0], row, field));
			assert_string_equal(got, expected);
			assert_int_equal(flow_batch_field(rows->batches[0], row, (field + 1) % 22)->type, FLOW_NULL);
			free(expected);
			free(got);
		}
	}
	fixture_destroy(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_every_type_come_back_from_files_of_every_codec),
		cmocka_unit_test(datums_that_are_cut_anywhere_are_refused),
		cmocka_unit_test(flipped_bits_of_files_are_values_or_errors_with_a_place),
		cmocka_unit_test(records_go_into_a_schema_to_write_by_name_and_type),
		cmocka_unit_test(what_cannot_be_written_is_refused_before_the_run_with_its_field),
		cmocka_unit_test(only_the_fields_in_use_are_decoded_and_the_rest_is_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
