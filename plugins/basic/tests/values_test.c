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
		cmocka_unit_test(other_types_are_refused_before_the_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
