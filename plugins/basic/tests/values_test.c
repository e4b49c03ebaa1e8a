/* Single values: lines of a stream, records in their binary form, and what cannot be one. */
#include <string.h>

#include "base/error.h"
#include "support/batch_text.h"
#include "support/plugin_fixture.h"

static void
check_lines(const char *id, const char *text, const char *expected, const char *written)
{
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, id, NULL, &serde);
	for (uint64_t window = 0; window < 9; window++)
		assert_string_equal(fixture_rows_text(fixture_decode(&serde, text, strlen(text), window)), expected);
	fixture_rows *rows = fixture_decode(&serde, text, strlen(text), 0);
	assert_int_equal(rows->rejection_count, 0);
	assert_string_equal(fixture_encode(&serde, rows->batches[0], 0)->data, written);
	fixture_destroy(f);
}

static void
streams_have_one_value_in_each_line(void **state)
{
	(void)state;
	check_lines("string", "a\n\nb c\n\xC3\xA9", "\"a\"\n\"\"\n\"b c\"\n\"\xC3\xA9\"\n", "a\n\nb c\n\xC3\xA9\n");
	check_lines("int32", "1\r\n-2147483648\n+7", "1\n-2147483648\n7\n", "1\n-2147483648\n7\n");
	check_lines("int64", "9223372036854775807\n", "9223372036854775807\n", "9223372036854775807\n");
	check_lines("float64", "0.1\n5\n", "0.1\n5.0\n", "0.1\n5.0\n");
	check_lines("uuid", "123E4567-e89b-12d3-a456-426614174000\n", "\"123e4567-e89b-12d3-a456-426614174000\"\n",
				"123e4567-e89b-12d3-a456-426614174000\n");
	check_lines("lines", "a\n\nb", "{\"text\":\"a\"}\n{\"text\":\"\"}\n{\"text\":\"b\"}\n", "a\n\nb\n");
}

static void
check_record(const char *id, const char *bytes, uint64_t size, const char *expected)
{
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, id, NULL, &serde);
	flow_slice record = flow_slice_make(bytes, size);
	fixture_rows *rows = fixture_decode_records(&serde, &record, 1);
	assert_string_equal(fixture_rows_text(rows), expected);
	fixture_bytes *back = fixture_encode(&serde, rows->batches[0], 1);
	assert_int_equal(back->size, size);
	assert_memory_equal(back->data, bytes, size);
	assert_int_equal(back->ends[0], size);
	fixture_destroy(f);
}

static void
records_have_the_binary_forms_of_kafka(void **state)
{
	(void)state;
	check_record("int32", "\xFF\xFF\xFF\xFE", 4, "-2\n");
	check_record("int64", "\0\0\0\0\0\0\x01\x02", 8, "258\n");
	check_record("float64", "\x3F\xF8\0\0\0\0\0\0", 8, "1.5\n");
	check_record("string", "a\nb", 3, "\"a\\nb\"\n");
	check_record("uuid", "123e4567-e89b-12d3-a456-426614174000", 36, "\"123e4567-e89b-12d3-a456-426614174000\"\n");
	check_record("bytes", "\0\xFF", 2, "\"\\u0000\\u00ff\"\n");
	check_record("lines", "x", 1, "{\"text\":\"x\"}\n");
}

static void
check_rejected(const char *id, const char *text, int record)
{
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, id, NULL, &serde);
	flow_slice bytes = flow_slice_of(text);
	fixture_rows *rows =
		record ? fixture_decode_records(&serde, &bytes, 1) : fixture_decode(&serde, text, bytes.size, 0);
	assert_int_equal(rows->row_count, 0);
	assert_int_equal(rows->rejection_count, 1);
	assert_string_equal(rows->rejections[0].raw,
						text[0] == '\n' ? "" : strtok(arena_copy(f->arena, text, bytes.size), "\n"));
	assert_int_equal(rows->rejections[0].line, record ? 0 : 1);
	fixture_destroy(f);
}

static void
what_is_no_such_value_is_rejected(void **state)
{
	(void)state;
	check_rejected("int32", "2147483648\n", 0);
	check_rejected("int64", "1.5\n", 0);
	check_rejected("int64", "\n", 0);
	check_rejected("float64", "1e400\n", 0);
	check_rejected("string", "\xff\n", 0);
	check_rejected("uuid", "123e4567\n", 0);
	check_rejected("int32", "abc", 1);
	check_rejected("int64", "abcd", 1);
	check_rejected("string", "\xff", 1);
}

static void
a_line_over_the_limit_is_rejected_and_the_next_one_read(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "lines", (const char *const[]){ "max_record=16", NULL }, &serde);
	const char *text = "one\n0123456789abcdef0\n0123456789abcdef\n";
	for (uint64_t window = 0; window < 45; window++) {
		fixture_decoding how = { .window_bytes = window, .restore_each = 1 };
		fixture_rows *rows = fixture_decode_with(&serde, text, strlen(text), &how);
		assert_string_equal(fixture_rows_text(rows), "{\"text\":\"one\"}\n{\"text\":\"0123456789abcdef\"}\n");
		assert_int_equal(rows->rejection_count, 1);
		assert_int_equal(rows->rejections[0].line, 2);
	}
	fixture_destroy(f);
}

static void
text_with_a_line_feed_is_no_line(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "string", NULL, &serde);
	flow_batch *batch = fixture_batch(f, fixture_schema(f, "string"), "\"a\\nb\"\n\"c\"\n");
	fixture_bytes *bytes = fixture_encode(&serde, batch, 0);
	assert_string_equal(bytes->data, "c\n");
	assert_int_equal(bytes->statuses[0], FLOW_E_ENCODE);
	fixture_destroy(f);
}

/* A line end and what it makes of a text; the same with windows of any size, and with a decoder restored behind each. */
static void
check_line_end(const char *option, const char *text, uint64_t size, const char *expected, const char *written,
			   uint64_t written_size)
{
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "lines", (const char *const[]){ option, "field=line", NULL }, &serde);
	for (uint64_t window = 0; window < 9; window++) {
		fixture_decoding how = { .window_bytes = window, .restore_each = 1 };
		fixture_rows *rows = fixture_decode_with(&serde, text, size, &how);
		assert_string_equal(fixture_rows_text(rows), expected);
		assert_int_equal(rows->rejection_count, 0);
	}
	fixture_bytes *bytes = fixture_encode(&serde, fixture_decode(&serde, text, size, 0)->batches[0], 0);
	assert_int_equal(bytes->size, written_size);
	assert_memory_equal(bytes->data, written, written_size);
	fixture_destroy(f);
}

static void
the_end_of_lines_is_an_option(void **state)
{
	(void)state;
	const char *mixed = "a\r\nb\nc\rd\r\n\r\n";
	check_line_end(
		"line_end=lf", mixed, 12,
		"{\"line\":\"a\\u000d\"}\n{\"line\":\"b\"}\n{\"line\":\"c\\u000dd\\u000d\"}\n{\"line\":\"\\u000d\"}\n", mixed,
		12);
	check_line_end("line_end=any", mixed, 12,
				   "{\"line\":\"a\"}\n{\"line\":\"b\"}\n{\"line\":\"c\\u000dd\"}\n{\"line\":\"\"}\n", "a\nb\nc\rd\n\n",
				   9);
	check_line_end("line_end=crlf", mixed, 12, "{\"line\":\"a\"}\n{\"line\":\"b\\nc\\u000dd\"}\n{\"line\":\"\"}\n",
				   mixed, 12);
	check_line_end("line_end=crlf", "a\r\r\n\n\r\nb\r", 9,
				   "{\"line\":\"a\\u000d\"}\n{\"line\":\"\\n\"}\n{\"line\":\"b\\u000d\"}\n", "a\r\r\n\n\r\nb\r\r\n",
				   11);
	check_line_end("line_end=nul", "a\nb\0\0c", 6, "{\"line\":\"a\\nb\"}\n{\"line\":\"\"}\n{\"line\":\"c\"}\n",
				   "a\nb\0\0c\0", 7);
}

static void
a_line_over_the_limit_ends_where_its_line_end_says(void **state)
{
	(void)state;
	static const char *const ends[][2] = { { "line_end=crlf", "\r\n" },
										   { "line_end=any", "\r\n" },
										   { "line_end=any", "\n" } };
	fixture *f = fixture_create();
	for (size_t i = 0; i < FLOW_COUNT(ends); i++) {
		fixture_serde serde;
		fixture_serde_open(f, "lines", (const char *const[]){ ends[i][0], "max_record=16", NULL }, &serde);
		for (int more = 0; more < 5; more++) {
			char *text = arena_format(f->arena, "0123456789abcde%.*s%sb%s0123456789abcdef%s", more, "wxyz", ends[i][1],
									  ends[i][1], ends[i][1]);
			for (uint64_t window = 0; window < 30; window++) {
				fixture_decoding how = { .window_bytes = window, .restore_each = 1 };
				fixture_rows *rows = fixture_decode_with(&serde, text, strlen(text), &how);
				assert_int_equal(rows->rejection_count, more > 1);
				assert_int_equal(rows->row_count, 3 - (more > 1));
				if (more > 1) {
					assert_string_equal(fixture_rows_text(rows), "{\"text\":\"b\"}\n{\"text\":\"0123456789abcdef\"}\n");
					assert_int_equal(rows->rejections[0].status, FLOW_E_LIMIT);
					assert_int_equal(rows->rejections[0].raw_size, 16);
				}
			}
		}
	}
	fixture_destroy(f);
}

static void
text_that_holds_the_end_of_a_line_is_no_line(void **state)
{
	(void)state;
	static const char *const texts[][3] = { { "line_end=crlf", "\"a\\r\\nb\"\n\"a\\nb\\r\"\n", "a\nb\r\r\n" },
											{ "line_end=any", "\"a\\r\"\n\"a\\rb\"\n", "a\rb\n" } };
	fixture *f = fixture_create();
	for (size_t i = 0; i < FLOW_COUNT(texts); i++) {
		fixture_serde serde;
		fixture_serde_open(f, "string", (const char *const[]){ texts[i][0], NULL }, &serde);
		fixture_bytes *bytes = fixture_encode(&serde, fixture_batch(f, fixture_schema(f, "string"), texts[i][1]), 0);
		assert_string_equal(bytes->data, texts[i][2]);
		assert_int_equal(bytes->statuses[0], FLOW_E_ENCODE);
		assert_int_equal(bytes->statuses[1], FLOW_OK);
	}
	fixture_destroy(f);
}

static void
a_stream_of_bytes_is_one_record(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "bytes", (const char *const[]){ "max_record=16", NULL }, &serde);
	const char whole[] = "\0a\n\r\xFF 0123456789";
	for (uint64_t window = 0; window < 20; window++) {
		fixture_decoding how = { .window_bytes = window, .restore_each = 1 };
		fixture_rows *rows = fixture_decode_with(&serde, whole, 16, &how);
		assert_int_equal(rows->row_count, 1);
		assert_int_equal(rows->rejection_count, 0);
		fixture_bytes *bytes = fixture_encode(&serde, rows->batches[0], 0);
		assert_int_equal(bytes->size, 16);
		assert_memory_equal(bytes->data, whole, 16);
		rows = fixture_decode_with(&serde, "0123456789abcdefghijklmnopqrstuvwxyz", 36, &how); /* over the limit */
		assert_int_equal(rows->row_count, 0);
		assert_int_equal(rows->rejection_count, 1);
		assert_int_equal(rows->rejections[0].status, FLOW_E_LIMIT);
		assert_string_equal(rows->rejections[0].raw, "0123456789abcdef");
	}
	assert_int_equal(fixture_decode(&serde, "", 0, 0)->row_count, 0); /* an empty file is no record */
	fixture_destroy(f);
}

static void
other_types_are_refused_before_the_run(void **state)
{
	(void)state;
	static const char *const pairs[][2] = { { "int32", "int64" },
											{ "string", "int64" },
											{ "lines", "string" },
											{ "lines", "record(a:string,b:string)" },
											{ "uuid", "string" } };
	fixture *f = fixture_create();
	for (size_t i = 0; i < FLOW_COUNT(pairs); i++) {
		fixture_serde serde;
		fixture_serde_open(f, pairs[i][0], NULL, &serde);
		assert_int_equal(serde.ops->check_encodable(serde.serde, fixture_schema(f, pairs[i][1]), &f->error),
						 FLOW_E_TYPE);
	}
	fixture_destroy(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_have_one_value_in_each_line),
		cmocka_unit_test(records_have_the_binary_forms_of_kafka),
		cmocka_unit_test(what_is_no_such_value_is_rejected),
		cmocka_unit_test(a_line_over_the_limit_is_rejected_and_the_next_one_read),
		cmocka_unit_test(text_with_a_line_feed_is_no_line),
		cmocka_unit_test(the_end_of_lines_is_an_option),
		cmocka_unit_test(a_line_over_the_limit_ends_where_its_line_end_says),
		cmocka_unit_test(text_that_holds_the_end_of_a_line_is_no_line),
		cmocka_unit_test(a_stream_of_bytes_is_one_record),
		cmocka_unit_test(other_types_are_refused_before_the_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
