/* Writing JSON: escapes, numbers, types, policies, and that it is read again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "support/batch_text.h"
#include "support/case_files.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
check_written(const char *const *options, const char *schema, const char *rows, const char *expected)
{
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", options, &json);
	flow_batch *batch = fixture_batch(f, fixture_schema(f, schema), rows);
	fixture_bytes *bytes = fixture_encode(&json, batch, 0);
	for (uint32_t i = 0; i < batch->row_count; i++)
		assert_int_equal(bytes->statuses[i], FLOW_OK);
	assert_string_equal(bytes->data, expected);
	fixture_destroy(f);
}

static void
keys_stand_in_the_order_of_the_schema(void **state)
{
	(void)state;
	check_written(NULL, "record(b:int64,a:string?,c:list<float64>,m:map<bool>,r:record(x:int64))",
				  "{\"a\":\"x\",\"b\":1,\"c\":[0.5,1e300],\"m\":{\"k\":true},\"r\":{\"x\":2}}\n{\"a\":null,\"b\":2,"
				  "\"c\":[],\"m\":{},\"r\":{\"x\":3}}\n",
				  "{\"b\":1,\"a\":\"x\",\"c\":[0.5,1e300],\"m\":{\"k\":true},\"r\":{\"x\":2}}\n"
				  "{\"b\":2,\"a\":null,\"c\":[],\"m\":{},\"r\":{\"x\":3}}\n");
	check_written(NULL, "int64", "7\n-8\n", "7\n-8\n");
}

static void
every_type_has_its_form(void **state)
{
	(void)state;
	const char *fields[] = { "fields.d=decimal", "fields.t=timestamp", "fields.l=local_timestamp", "fields.y=date",
							 "fields.h=time",    "fields.u=uuid",      "fields.x=bytes",           NULL };
	const char *text =
		"{\"d\":-1.50,\"t\":\"2013-01-01T10:00:00Z\",\"l\":\"2013-01-01T10:00:00.5\",\"y\":\"2013-01-02\","
		"\"h\":\"10:00:00\",\"u\":\"123e4567-e89b-12d3-a456-426614174000\",\"x\":\"Af8=\"}\n";
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", fields, &json);
	fixture_rows *rows = fixture_decode(&json, text, strlen(text), 0);
	assert_int_equal(rows->row_count, 1);
	assert_string_equal(fixture_encode(&json, rows->batches[0], 0)->data, text);
	fixture_destroy(f);
	check_written(OPTIONS("decimals=string"), "record(d:decimal)", "{\"d\":\"-1.50\"}\n", "{\"d\":\"-1.50\"}\n");
}

static void
control_characters_are_escaped(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde lines;
	fixture_serde json;
	fixture_serde_open(f, "lines", NULL, &lines);
	fixture_serde_open(f, "json", NULL, &json);
	flow_slice input = case_file(f, "json/04-control-characters/input.txt");
	fixture_rows *rows = fixture_decode(&lines, input.data, input.size, 3);
	char *expected = batch_print(fixture_decode(&lines, input.data, input.size, 0)->batches[0]);
	assert_string_equal(fixture_rows_text(rows), expected);
	rows = fixture_decode(&lines, input.data, input.size, 0);
	fixture_bytes *bytes = fixture_encode(&json, rows->batches[0], 0);
	for (uint64_t i = 0; i < bytes->size; i++)
		assert_true((unsigned char)bytes->data[i] >= 0x20 || bytes->data[i] == '\n');
	assert_non_null(strstr(bytes->data, "\"group\\u001dseparator\""));
	fixture_rows *again = fixture_decode(&json, bytes->data, bytes->size, 0);
	assert_string_equal(fixture_rows_text(again), case_json(f, "json/04-control-characters/expected.jsonl", 0));
	assert_string_equal(fixture_rows_text(again), expected);
	free(expected);
	fixture_destroy(f);
}

static void
escapes_at_every_place_of_long_and_short_texts(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		const char *escaped;
	} specials[] = { { "\"", "\\\"" },      { "\\", "\\\\" },           { "\n", "\\n" },
					 { "\x1f", "\\u001f" }, { "\xC3\xA9", "\xC3\xA9" }, { "/", "/" } };
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", NULL, &json);
	const flow_schema *schema = fixture_schema(f, "string");
	static const int sizes[] = { 0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 4094, 4095, 4096, 9000 };
	for (size_t s = 0; s < FLOW_COUNT(sizes); s++) {
		for (size_t k = 0; k < FLOW_COUNT(specials); k++) {
			for (int place = sizes[s] < 64 ? 0 : sizes[s] - 20; place <= sizes[s]; place++) {
				char *text = malloc((size_t)sizes[s] + 3);
				char *expected = malloc((size_t)sizes[s] + 16);
				memset(text, 'x', (size_t)place);
				uint64_t size = (uint64_t)place + strlen(specials[k].text);
				memcpy(text + place, specials[k].text, strlen(specials[k].text));
				memset(text + size, 'y', (size_t)(sizes[s] - place));
				size += (uint64_t)(sizes[s] - place);
				char *at = expected;
				*at++ = '"';
				memset(at, 'x', (size_t)place);
				at += place;
				at += sprintf(at, "%s", specials[k].escaped);
				memset(at, 'y', (size_t)(sizes[s] - place));
				at += sizes[s] - place;
				strcpy(at, "\"\n");
				char *exact = malloc(size); /* nothing readable behind it */
				memcpy(exact, text, size);
				flow_builder *builder = builder_create(f->pool, 0, 0);
				flow_builder_add(builder, flow_string(exact, (uint32_t)size));
				batch_head head = { .schema = schema };
				flow_batch *batch = builder_finish(builder, &head);
				assert_string_equal(fixture_encode(&json, batch, 0)->data, expected);
				batch_release(batch);
				builder_destroy(builder);
				free(exact);
				free(text);
				free(expected);
			}
		}
	}
	fixture_destroy(f);
}

static void
check_nan(const char *policy, const char *expected)
{
	static const double numbers[] = { NAN, INFINITY, -INFINITY, 1.5 };
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", policy == NULL ? NULL : OPTIONS(policy), &json);
	flow_builder *builder = builder_create(f->pool, 0, 0);
	for (size_t i = 0; i < FLOW_COUNT(numbers); i++)
		flow_builder_add(builder, flow_float64(numbers[i]));
	batch_head head = { .schema = fixture_schema(f, "float64") };
	flow_batch *batch = builder_finish(builder, &head);
	fixture_bytes *bytes = fixture_encode(&json, batch, 0);
	assert_string_equal(bytes->data, expected);
	for (int i = 0; i < 4; i++)
		assert_int_equal(bytes->statuses[i], policy == NULL && i < 3 ? FLOW_E_ENCODE : FLOW_OK);
	fixture_bytes *records = fixture_encode(&json, batch, 1);
	assert_int_equal(records->ends[3], records->size);
	if (policy == NULL)
		assert_int_equal(records->ends[2], 0);
	batch_release(batch);
	builder_destroy(builder);
	fixture_destroy(f);
}

static void
nan_is_an_error_unless_told_otherwise(void **state)
{
	(void)state;
	check_nan(NULL, "1.5\n");
	check_nan("nan=string", "\"NaN\"\n\"Infinity\"\n\"-Infinity\"\n1.5\n");
	check_nan("nan=null", "null\nnull\nnull\n1.5\n");
}

static void
text_that_is_not_utf8_is_not_written(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", NULL, &json);
	flow_builder *builder = builder_create(f->pool, 0, 0);
	flow_builder_add(builder, flow_string("a\xffz", 3));
	flow_builder_add(builder, flow_string("ok", 2));
	batch_head head = { .schema = fixture_schema(f, "string") };
	flow_batch *batch = builder_finish(builder, &head);
	fixture_bytes *bytes = fixture_encode(&json, batch, 0);
	assert_string_equal(bytes->data, "\"ok\"\n");
	assert_int_equal(bytes->statuses[0], FLOW_E_ENCODE);
	batch_release(batch);
	builder_destroy(builder);
	fixture_destroy(f);
}

static void
untyped_documents_come_back_as_they_were(void **state)
{
	(void)state;
	const char *text =
		"{\"z\":1,\"a\":[1.50,-0.0,1e300,\"\\u0000\xE2\x82\xAC\\\"\",null,true,{}],\"\":{\"x\":[[],[[]]]}}\n"
		"18446744073709551616\n\"\"\n[]\n-9223372036854775808\n";
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", NULL, &json);
	fixture_rows *rows = fixture_decode(&json, text, strlen(text), 0);
	assert_int_equal(rows->row_count, 5);
	fixture_bytes *bytes = fixture_encode(&json, rows->batches[0], 0);
	fixture_rows *again = fixture_decode(&json, bytes->data, bytes->size, 0);
	assert_string_equal(fixture_encode(&json, again->batches[0], 0)->data, bytes->data);
	assert_non_null(strstr(bytes->data, "[1.50,-0.0,1"));
	assert_non_null(strstr(bytes->data, "\"\\u0000\xE2\x82\xAC\\\"\""));
	assert_non_null(strstr(bytes->data, "\n18446744073709551616\n\"\"\n[]\n-9223372036854775808\n"));
	fixture_destroy(f);
}

static void
declared_types_come_back(void **state)
{
	(void)state;
	const char *fields[] = { "fields.x=bytes",          "fields.u=uuid?",   "fields.d=decimal(12,3)",
							 "fields.t=timestamp(ns)?", "fields.f=float64", "fields.l=list<any>",
							 "decimals=string",         "nan=string",       NULL };
	const char *text =
		"{\"x\":\"AAEC/"
		"w==\",\"u\":null,\"d\":\"1.500\",\"t\":\"1969-12-31T23:59:59.999999999Z\",\"f\":\"Infinity\",\"l\":[1,[2]]}\n";
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", fields, &json);
	fixture_rows *rows = fixture_decode(&json, text, strlen(text), 0);
	assert_int_equal(rows->row_count, 1);
	assert_string_equal(fixture_encode(&json, rows->batches[0], 0)->data, text);
	fixture_destroy(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_stand_in_the_order_of_the_schema),
		cmocka_unit_test(every_type_has_its_form),
		cmocka_unit_test(control_characters_are_escaped),
		cmocka_unit_test(escapes_at_every_place_of_long_and_short_texts),
		cmocka_unit_test(nan_is_an_error_unless_told_otherwise),
		cmocka_unit_test(text_that_is_not_utf8_is_not_written),
		cmocka_unit_test(untyped_documents_come_back_as_they_were),
		cmocka_unit_test(declared_types_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
