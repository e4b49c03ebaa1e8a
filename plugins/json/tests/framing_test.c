/* Arrays, and documents one behind another: read item by item, written so that any reader takes them. */
#include <stdio.h>
#include <stdlib.h>

#include "json_checks.h"

#include "support/batch_text.h"

#define ARRAY OPTIONS("framing=array")
#define DOCUMENTS OPTIONS("framing=documents")
#define AUTO OPTIONS("framing=auto")

static void
an_array_is_read_item_by_item(void **state)
{
	(void)state;
	check_rows(ARRAY, "[1,2]", "1\n2\n");
	check_rows(ARRAY, "\xEF\xBB\xBF\r\n [ {\"a\" : [1, {\"b\":\"]}\\\"\"}]}\n,\n\t\"x,]\" , null,[],-1.5e3 ] \n",
			   "{\"a\":[1,{\"b\":\"]}\\\"\"}]}\n\"x,]\"\nnull\n[]\n-1500\n");
	check_rows(ARRAY, "[]", "");
	check_rows(ARRAY, " [ \n ] ", "");
	check_rows(ARRAY, "", "");
}

static void
documents_may_stand_anyhow(void **state)
{
	(void)state;
	check_rows(DOCUMENTS, "{\n  \"a\": 1\n}\n{\"a\":2}{\"a\":3} [4]5 \"6\"\"7\" true\nnull{}",
			   "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n[4]\n5\n\"6\"\n\"7\"\ntrue\nnull\n{}\n");
	check_rows(DOCUMENTS, "12", "12\n");
	check_rows(DOCUMENTS, "\n \n", "");
}

static void
auto_reads_an_array_where_a_bracket_comes_first_and_documents_elsewhere(void **state)
{
	(void)state;
	check_rows(AUTO, "[1,{\"a\":\n[2]}]", "1\n{\"a\":[2]}\n");
	check_rows(AUTO, "\xEF\xBB\xBF\r\n \t\n [ [1], [2,3] ]\n", "[1]\n[2,3]\n");
	check_rows(AUTO, "[]", "");
	check_rows(AUTO, "\n {\n  \"a\": [1]\n}\n[2]{\"a\":3}\n", "{\"a\":[1]}\n[2]\n{\"a\":3}\n");
	check_rows(AUTO, "{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}\n{\"a\":2}\n");
	check_rows(AUTO, "12", "12\n");
	check_rows(AUTO, "", "");
	check_rows(AUTO, "\n\n", "");
	check_rows_and_rejection(AUTO, "\n[1,\n tru,2]", "1\n2\n", 3, "a value");
	check_rows_and_rejection(AUTO, "[1,2", "1\n", 1, "the stream ends within the array");
	check_rows_and_rejection(AUTO, "[1,2]\n[3,4]\n", "1\n2\n", 2, "framing = \"documents\"");
	const char *small[] = { "framing=auto", "max_record=16", NULL };
	check_rows_and_rejection(small, "\n[1,\n[\"],0123456789abcdef\\\"\", {\"\n]\":2}], 3]", "1\n3\n", 3, "max_record");
	check_rows_and_rejection(small, "{\"0123456789abc\":0} [1]", "[1]\n", 1, "max_record");
}

static void
auto_is_written_as_documents(void **state)
{
	(void)state;
	check_there_and_back(AUTO, "record(a:any)", "{\"a\":1}\n{\"a\":[2]}\n", "{\"a\":1}\n{\"a\":[2]}\n");
	check_there_and_back(OPTIONS("framing=auto", "pretty=true"), "record(a:any)", "{\"a\":1}\n{\"a\":2}\n",
						 "{\n  \"a\": 1\n}\n{\n  \"a\": 2\n}\n");
}

static void
a_bad_item_does_not_take_its_neighbours_along(void **state)
{
	(void)state;
	check_rows_and_rejection(ARRAY, "[1,\n{\"a\":1,\"a\":2},\n3]", "1\n3\n", 2, "the same key twice");
	check_rows_and_rejection(ARRAY, "[1,\n\n tru,3]", "1\n3\n", 3, "a value");
	check_rows_and_rejection(ARRAY, "[1,[2},3]", "1\n3\n", 1, "'}' where");
	check_rows_and_rejection(ARRAY, "[1,,2]", "1\n2\n", 1, "where an item is expected");
	check_rows_and_rejection(ARRAY, "[1,]", "1\n", 1, "where an item is expected");
	check_rows_and_rejection(DOCUMENTS, "{\"a\":1}\n{\"b\" 2}\n3\n", "{\"a\":1}\n3\n", 2, "a colon");
	check_rows_and_rejection(DOCUMENTS, "1\n,]\n3", "1\n3\n", 2, "a value");
}

static void
what_is_no_array_is_one_record_error(void **state)
{
	(void)state;
	check_rows_and_rejection(ARRAY, "\n{\"a\":1}\n{\"a\":2}\n", "", 2, "no array stands here");
	check_rows_and_rejection(ARRAY, "[1]\n[2]", "1\n", 2, "text behind the array");
	check_rows_and_rejection(ARRAY, "[1,2", "1\n", 1, "the stream ends within the array");
	check_rows_and_rejection(ARRAY, "[1,\n", "1\n", 2, "the stream ends within the array");
	check_rows_and_rejection(ARRAY, "[", "", 1, "the stream ends within the array");
	check_rows_and_rejection(ARRAY, "[1,\"x", "1\n", 1, "the stream ends within the array");
	check_rows_and_rejection(DOCUMENTS, "1\n{\"a\":", "1\n", 2, "the text ends");
}

static void
an_item_over_the_limit_is_rejected_and_the_next_one_read(void **state)
{
	(void)state;
	const char *small[] = { "framing=array", "max_record=16", NULL };
	check_rows_and_rejection(small, "[1,\n[\"],0123456789abcdef\\\"\", {\"\n]\":2}], 3]", "1\n3\n", 2, "max_record");
	check_rows(small, "[\"0123456789abcd\",1]", "\"0123456789abcd\"\n1\n");
	check_rows_and_rejection(small, "[\"0123456789abcde\",1]", "1\n", 1, "max_record");
	const char *documents[] = { "framing=documents", "max_record=16", NULL };
	check_rows(documents, "[\"0123456789ab\"]1", "[\"0123456789ab\"]\n1\n");
	check_rows_and_rejection(documents, "[\"0123456789abc\"]1", "1\n", 1, "max_record");
}

/* 20 MB of one array, 4 KiB at a time: no window holds more than an item. */
static void
a_large_array_is_never_held_as_one_record(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", OPTIONS("framing=array", "fields.id=int64", "fields.text=string", "max_record=1KiB"),
					   &json);
	uint64_t capacity = 21u << 20, size = 1;
	char *text = malloc(capacity);
	text[0] = '[';
	uint32_t count = 0;
	for (; size < capacity - 512; count++)
		size +=
			(uint64_t)sprintf(text + size, "%s{\"id\":%u,\"text\":\"%0200u\"}", count == 0 ? "" : ",\n", count, count);
	text[size++] = ']';
	fixture_rows *rows = fixture_decode(&json, text, size, 0);
	assert_int_equal(rows->rejection_count, 0);
	assert_int_equal(rows->row_count, count);
	const flow_batch *last = rows->batches[rows->batch_count - 1];
	assert_int_equal(flow_batch_field(last, last->row_count - 1, 0)->as.int64, count - 1);
	free(text);
	fixture_destroy(f);
}

static void
a_decoder_goes_on_from_its_saved_state(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	const char *text = "[1,\n{\"a\":[2,3]},\n\"0123456789 0123456789 ]\\\"\",\n[4],5,[6},7,\n9]\n";
	static const char *const framings[] = { "framing=array", "framing=auto" };
	for (size_t i = 0; i < FLOW_COUNT(framings); i++) {
		fixture_serde json;
		fixture_serde_open(f, "json", OPTIONS(framings[i], "max_record=16"), &json);
		fixture_rows *whole = fixture_decode(&json, text, strlen(text), 0);
		assert_int_equal(whole->rejection_count, 2);
		for (uint64_t window = 1; window < 60; window++) {
			fixture_decoding how = { .window_bytes = window, .restore_each = 1, .batch_rows = 1 };
			fixture_rows *rows = fixture_decode_with(&json, text, strlen(text), &how);
			assert_string_equal(fixture_rows_text(rows), fixture_rows_text(whole));
			assert_int_equal(rows->rejection_count, 2);
			assert_int_equal(rows->rejections[0].line, 3);
			assert_int_equal(rows->rejections[1].line, 4);
		}
	}
	fixture_destroy(f);
}

/* --- writing --- */

static const char rows[] = "{\"a\":1,\"l\":[1,2],\"m\":{\"k\":{}},\"e\":[]}\n{\"a\":2,\"l\":[],\"m\":{},\"e\":[{}]}\n";
static const char type[] = "record(a:int64,l:list<int64>,m:map<any>,e:list<any>)";

static void
an_array_is_written_with_a_document_a_line(void **state)
{
	(void)state;
	check_there_and_back(
		OPTIONS("framing=array", "fields.a=int64", "fields.l=list<int64>", "fields.m=map<any>", "fields.e=list<any>"),
		type, rows, "[\n{\"a\":1,\"l\":[1,2],\"m\":{\"k\":{}},\"e\":[]},\n{\"a\":2,\"l\":[],\"m\":{},\"e\":[{}]}\n]\n");
	check_there_and_back(ARRAY, "int64", "", "[\n]\n");
}

static void
pretty_documents_stand_over_several_lines(void **state)
{
	(void)state;
	const char *first =
		"{\n  \"a\": 1,\n  \"l\": [\n    1,\n    2\n  ],\n  \"m\": {\n    \"k\": {}\n  },\n  \"e\": []\n}";
	const char *second = "{\n  \"a\": 2,\n  \"l\": [],\n  \"m\": {},\n  \"e\": [\n    {}\n  ]\n}";
	fixture *f = fixture_create();
	const char *fields[] = { "pretty=true",
							 "fields.a=int64",
							 "fields.l=list<int64>",
							 "fields.m=map<any>",
							 "fields.e=list<any>",
							 "framing=documents",
							 NULL };
	check_there_and_back(fields, type, rows, arena_format(f->arena, "%s\n%s\n", first, second));
	fields[5] = "framing=array";
	check_there_and_back(fields, type, rows, arena_format(f->arena, "[\n%s,\n%s\n]\n", first, second));
	fixture_destroy(f);
}

static void
a_record_that_cannot_be_written_leaves_no_comma(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", ARRAY, &json);
	static const char *const texts[] = { "\xff", "a", "\xff", "b", "\xff" };
	flow_builder *builder = builder_create(f->pool, 0, 0);
	for (size_t i = 0; i < FLOW_COUNT(texts); i++)
		flow_builder_add(builder, flow_string(texts[i], 1));
	batch_head head = { .schema = fixture_schema(f, "string") };
	flow_batch *batch = builder_finish(builder, &head);
	fixture_bytes *bytes = fixture_encode(&json, batch, 0);
	assert_string_equal(bytes->data, "[\n\"a\",\n\"b\"\n]\n");
	assert_int_equal(bytes->statuses[4], FLOW_E_ENCODE);
	batch_release(batch);
	builder_destroy(builder);
	fixture_destroy(f);
}

static void
an_array_that_another_run_began_is_not_gone_on_with(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", ARRAY, &json);
	flow_batch *batch = fixture_batch(f, fixture_schema(f, "int64"), "1\n");
	flow_encoder *encoder = NULL;
	flow_buffer *buffer = buffer_create();
	flow_status statuses[1] = { 0 };
	assert_int_equal(json.ops->encoder_open(json.serde, batch->schema, &encoder, &f->error), FLOW_OK);
	assert_int_equal(json.ops->encode(encoder, batch, 0, buffer, NULL, statuses, &f->error), FLOW_E_UNSUPPORTED);
	assert_non_null(strstr(error_message(&f->error), "--fresh"));
	assert_int_equal(json.ops->end(encoder, buffer, &f->error), FLOW_E_UNSUPPORTED);
	assert_int_equal(buffer->size, 0);
	json.ops->encoder_close(encoder);
	buffer_destroy(buffer);
	fixture_destroy(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_is_read_item_by_item),
		cmocka_unit_test(documents_may_stand_anyhow),
		cmocka_unit_test(auto_reads_an_array_where_a_bracket_comes_first_and_documents_elsewhere),
		cmocka_unit_test(auto_is_written_as_documents),
		cmocka_unit_test(a_bad_item_does_not_take_its_neighbours_along),
		cmocka_unit_test(what_is_no_array_is_one_record_error),
		cmocka_unit_test(an_item_over_the_limit_is_rejected_and_the_next_one_read),
		cmocka_unit_test(a_large_array_is_never_held_as_one_record),
		cmocka_unit_test(a_decoder_goes_on_from_its_saved_state),
		cmocka_unit_test(an_array_is_written_with_a_document_a_line),
		cmocka_unit_test(pretty_documents_stand_over_several_lines),
		cmocka_unit_test(a_record_that_cannot_be_written_leaves_no_comma),
		cmocka_unit_test(an_array_that_another_run_began_is_not_gone_on_with),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
