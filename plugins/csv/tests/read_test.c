/* Reading CSV: values, rejections and limits, each over windows of several sizes. */
#include <string.h>

#include "base/error.h"
#include "csv_checks.h"
#include "support/case_files.h"

static void
null_is_neither_empty_nor_a_text(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	flow_slice input = case_file(f, "csv/01-null-is-not-empty/input.csv");
	fixture_serde token;
	fixture_serde_open(
		f, "csv", OPTIONS("null_token=\"\\\\N\"", "fields.id=int64", "fields.a=string?", "fields.b=string?"), &token);
	assert_string_equal(fixture_rows_text(decode_all_ways(&token, input.data, input.size)),
						case_json(f, "csv/01-null-is-not-empty/expected.token.jsonl", 0));
	fixture_serde empty;
	fixture_serde_open(f, "csv", OPTIONS("null_token=\"\"", "fields.id=int64"), &empty);
	assert_string_equal(fixture_rows_text(decode_all_ways(&empty, input.data, input.size)),
						case_json(f, "csv/01-null-is-not-empty/expected.empty.jsonl", 0));
	fixture_destroy(f);
}

static void
quotes_and_delimiters_inside_of_fields_come_through(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	flow_slice input = case_file(f, "csv/02-quotes-and-delimiters/input.csv");
	fixture_serde csv;
	fixture_serde_open(f, "csv", OPTIONS("delimiter=\";\"", "fields.id=int64"), &csv);
	assert_string_equal(fixture_rows_text(decode_all_ways(&csv, input.data, input.size)),
						case_json(f, "csv/02-quotes-and-delimiters/expected.jsonl", 0));
	fixture_destroy(f);
}

static void
declared_numbers_keep_every_digit_or_are_rejected(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	flow_slice input = case_file(f, "csv/03-lossless-numbers/input.csv");
	fixture_serde csv;
	fixture_serde_open(
		f, "csv",
		OPTIONS("fields.id=int32", "fields.i=int64", "fields.u=uint64", "fields.d=decimal", "fields.s=string"), &csv);
	fixture_rows *rows = decode_all_ways(&csv, input.data, input.size);
	assert_string_equal(fixture_rows_text(rows), case_json(f, "csv/03-lossless-numbers/expected.jsonl", 0));
	case_check_rejections(rows, "csv/03-lossless-numbers/dead.json");
	fixture_destroy(f);
}

static void
ragged_rows_are_rejected_and_neighbours_kept(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	flow_slice input = case_file(f, "csv/04-ragged-rows/input.csv");
	fixture_serde csv;
	fixture_serde_open(f, "csv", OPTIONS("fields.id=int64"), &csv);
	fixture_rows *rows = decode_all_ways(&csv, input.data, input.size);
	assert_string_equal(fixture_rows_text(rows), case_json(f, "csv/04-ragged-rows/expected.jsonl", 0));
	case_check_rejections(rows, "csv/04-ragged-rows/dead.json");
	fixture_destroy(f);
}

static void
an_unclosed_quote_is_one_rejection_where_it_opens(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	flow_slice input = case_file(f, "csv/05-unterminated-quote/input.csv");
	fixture_serde csv;
	fixture_serde_open(f, "csv", OPTIONS("fields.id=int64"), &csv);
	fixture_rows *rows = decode_all_ways(&csv, input.data, input.size);
	assert_string_equal(fixture_rows_text(rows), case_json(f, "csv/05-unterminated-quote/expected.jsonl", 0));
	assert_int_equal(rows->rejection_count, 1);
	assert_int_equal(rows->rejections[0].line, 4);
	assert_non_null(strstr(rows->rejections[0].reason, "not closed"));
	fixture_destroy(f);
}

static void
an_unclosed_quote_ends_the_stream_once_the_limit_is_passed(void **state)
{
	(void)state;
	check_rejection(OPTIONS("max_record=16"), "a,b\n1,x\n2,\"y\n3,z\n4,0123456789\n5,\"w\"\n",
					"{\"a\":\"1\",\"b\":\"x\"}\n", 3, "", "not closed");
	check_rejection(OPTIONS("max_record=16"), "a,b\n\"1\n\n\",\"y\n3,z\n4,0123456789\n5,w\n", "", 4, "", "not closed");
}

static void
a_record_over_the_limit_is_rejected_and_the_next_one_read(void **state)
{
	(void)state;
	check_rejection(OPTIONS("max_record=16"), "a,b\n1,x\n2,0123456789abcdef\n3,z\n",
					"{\"a\":\"1\",\"b\":\"x\"}\n{\"a\":\"3\",\"b\":\"z\"}\n", 3, "", "max_record");
	check_rows(OPTIONS("max_record=16"), "a,b\n2,0123456789abcd\n", "{\"a\":\"2\",\"b\":\"0123456789abcd\"}\n");
	check_rows(OPTIONS("max_record=16"), "a,b\n2,0123456789abcd", "{\"a\":\"2\",\"b\":\"0123456789abcd\"}\n");
}

static void
line_numbers_count_line_feeds_in_quotes(void **state)
{
	(void)state;
	check_rejection(OPTIONS("fields.b=int64"), "a,b\n\"x\ny\nz\",1\n\"\n\",2\nq,bad\n",
					"{\"a\":\"x\\ny\\nz\",\"b\":1}\n{\"a\":\"\\n\",\"b\":2}\n", 7, "b", "is not of type int64");
}

static void
line_ends_may_be_crlf_and_the_last_one_may_be_missing(void **state)
{
	(void)state;
	const char *rows = "{\"a\":\"1\",\"b\":\"x\"}\n{\"a\":\"2\",\"b\":\"y\"}\n";
	check_rows(NULL, "a,b\r\n1,x\r\n2,\"y\"\r\n", rows);
	check_rows(NULL, "a,b\n1,x\n2,y", rows);
	check_rows(NULL, "a,b\n1,x\n2,\"y\"", rows);
	check_rows(NULL, "a,b\n1,x\n2,y\n\n", rows);
	check_rows(NULL, "a,b\n\n1,x\n\r\n2,y\n", rows);
	check_rows(NULL, "a,b\n1,x\n2,", "{\"a\":\"1\",\"b\":\"x\"}\n{\"a\":\"2\",\"b\":\"\"}\n");
	check_rows(NULL, "a,b\n\"\r\n\",\r\r\n", "{\"a\":\"\\u000d\\n\",\"b\":\"\\u000d\"}\n");
}

static void
an_empty_line_is_a_record_where_there_is_one_column(void **state)
{
	(void)state;
	check_rows(NULL, "a\nx\n\ny\n", "{\"a\":\"x\"}\n{\"a\":\"\"}\n{\"a\":\"y\"}\n");
	check_rows(OPTIONS("null_token=\"\""), "a\n\n\"\"\n", "{\"a\":null}\n{\"a\":\"\"}\n");
}

static void
a_byte_order_mark_and_comments_are_passed_over(void **state)
{
	(void)state;
	const char *row = "{\"a\":\"1\",\"b\":\"#2\"}\n";
	check_rows(OPTIONS("comment=\"#\""), "\xEF\xBB\xBF# one\n\na,b\n#two, \"\n1,#2\n# three", row);
	check_rows(OPTIONS("header=false", "fields.a=string", "fields.b=string"),
			   "\xEF\xBB\xBF"
			   "1,#2\n",
			   row);
}

static void
a_file_without_a_header_takes_names_from_fields_or_numbers(void **state)
{
	(void)state;
	check_rows(OPTIONS("header=false"), "x,y\nz,w\n",
			   "{\"column1\":\"x\",\"column2\":\"y\"}\n{\"column1\":\"z\",\"column2\":\"w\"}\n");
	check_rows(OPTIONS("header=false", "fields.n=int64", "fields.s=string"), "1,a\n", "{\"n\":1,\"s\":\"a\"}\n");
}

static void
quotes_are_literal_in_fields_that_do_not_start_with_one(void **state)
{
	(void)state;
	check_rows(NULL, "a,b\n5\" pipe,x\"y\n\"a\"\"b\",\"\"\"\"\n",
			   "{\"a\":\"5\\\" pipe\",\"b\":\"x\\\"y\"}\n{\"a\":\"a\\\"b\",\"b\":\"\\\"\"}\n");
	check_rejection(NULL, "a,b\n\"x\"y,z\n1,2\n", "{\"a\":\"1\",\"b\":\"2\"}\n", 2, "a", "behind its closing quote");
}

static void
an_escape_character_takes_the_next_one_literally(void **state)
{
	(void)state;
	check_rows(OPTIONS("escape=\"\\\\\"", "null_token=\"\\\\N\""),
			   "a,b\nx\\,y,\"q\\\"r\"\n\\N,\\\\N\n\"s\"\"t\",u\\\nv\n",
			   "{\"a\":\"x,y\",\"b\":\"q\\\"r\"}\n{\"a\":null,\"b\":\"\\\\N\"}\n{\"a\":\"s\\\"t\",\"b\":\"u\\nv\"}\n");
}

static void
several_texts_may_mean_null_and_null_needs_a_nullable_type(void **state)
{
	(void)state;
	check_rows(OPTIONS("null_token=[\"NA\", \"-\"]", "fields.n=int64?"), "n,s\nNA,-\n7,\"NA\"\n",
			   "{\"n\":null,\"s\":null}\n{\"n\":7,\"s\":\"NA\"}\n");
	check_rejection(OPTIONS("null_token=NA", "fields.n=int64"), "n,s\nNA,x\n1,y\n", "{\"n\":1,\"s\":\"y\"}\n", 2, "n",
					"is null");
}

static void
every_type_is_read_exactly(void **state)
{
	(void)state;
	check_rows(
		OPTIONS("fields.b=bool", "fields.f=float64", "fields.d=decimal(8,2)", "fields.t=timestamp", "fields.y=date",
				"fields.u=uuid", "fields.e=\"enum(red,blue)\"", "fields.x=bytes"),
		"b,f,d,t,y,u,e,x\ntrue,-0.1,1.5,2013-01-01T10:00:00Z,2013-02-03,123E4567-e89b-12d3-a456-426614174000,red,\xff\n"
		"FALSE,1e300,12,2013-01-01 10:00:00.25,1969-12-31,00000000-0000-0000-0000-000000000000,blue,\n",
		"{\"b\":true,\"f\":-0.1,\"d\":1.50,\"t\":\"2013-01-01T10:00:00Z\",\"y\":\"2013-02-03\","
		"\"u\":\"123e4567-e89b-12d3-a456-426614174000\",\"e\":\"red\",\"x\":\"\\u00ff\"}\n"
		"{\"b\":false,\"f\":1e300,\"d\":12.00,\"t\":\"2013-01-01T10:00:00.25Z\",\"y\":\"1969-12-31\","
		"\"u\":\"00000000-0000-0000-0000-000000000000\",\"e\":\"blue\",\"x\":\"\"}\n");
}

/* The short way and the exact one give the same: each text also stands where only the exact one reads it. */
static void
timestamps_are_the_same_in_every_unit(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", OPTIONS("fields.a=timestamp?", "fields.b=\"timestamp(s)?\"", "null_token=\"\""), &csv);
	static const char *const wrong[] = { "2013-13-01T10:00:00Z", "2013-00-01T10:00:00Z", "2013-01-00T10:00:00Z",
										 "2013-02-30T10:00:00Z", "2013-01-01T24:00:00Z", "2013-01-01T10:60:00Z",
										 "2013-01-01T10:00:61Z", "2013-01-0/T10:00:00Z", "2013-01-01T10:00:0:Z",
										 "20x3-01-01T10:00:00Z", "2013/01-01T10:00:00Z" };
	char *text = arena_allocate(f->arena, 4000 * 64), *to = text + sprintf(text, "a,b\n");
	uint64_t seed = 42;
	for (int i = 0; i < 4000; i++) {
		char one[40];
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		unsigned r = (unsigned)(seed >> 33);
		sprintf(one, "%04u-%02u-%02uT%02u:%02u:%02uZ", r % 2400, 1 + r / 7 % 12, 1 + r / 11 % 28 + (i % 50 == 0),
				r / 13 % 24, r / 17 % 60, r / 19 % 60);
		to += sprintf(to, "%s,%s\n", one, one);
	}
	fixture_rows *rows = decode_text(&csv, text, 0);
	assert_int_equal(rows->row_count + rows->rejection_count, 4000);
	assert_true(rows->row_count > 3990);
	for (size_t i = 0; i < rows->batch_count; i++)
		for (uint32_t row = 0; row < rows->batches[i]->row_count; row++)
			assert_int_equal(flow_batch_field(rows->batches[i], row, 0)->as.int64,
							 flow_batch_field(rows->batches[i], row, 1)->as.int64 * 1000000);
	for (size_t i = 0; i < FLOW_COUNT(wrong); i++) {
		fixture_rows *both[2];
		for (int column = 0; column < 2; column++) {
			char line[80];
			snprintf(line, sizeof(line), column == 0 ? "a,b\n%s,\n" : "b,a\n%s,\n", wrong[i]);
			both[column] = decode_text(&csv, line, 0);
		}
		assert_int_equal(both[0]->rejection_count, 1);
		assert_int_equal(both[1]->rejection_count, 1);
	}
	fixture_destroy(f);
}

static void
what_does_not_fit_its_type_names_field_line_and_text(void **state)
{
	(void)state;
	check_rejection(OPTIONS("fields.n=int32"), "s,n\nx,2147483648\ny,-2147483648\n",
					"{\"s\":\"y\",\"n\":-2147483648}\n", 2, "n", "\"2147483648\" does not fit int32");
	check_rejection(OPTIONS("fields.n=float64"), "s,n\nx,1e400\n", "", 2, "n", "does not fit float64");
	check_rejection(OPTIONS("fields.n=float64"), "s,n\nx,1.\n", "", 2, "n", "\"1.\"");
	check_rejection(OPTIONS("fields.n=\"decimal(4,1)\""), "s,n\nx,1.25\n", "", 2, "n", "does not fit decimal(4,1)");
	check_rejection(OPTIONS("fields.n=\"enum(a,b)\""), "s,n\nx,c\n", "", 2, "n", "\"c\" is not of type");
	check_rejection(OPTIONS("fields.n=timestamp"), "s,n\nx,2013-02-29T00:00:00Z\n", "", 2, "n", "2013-02-29T00:00:00Z");
	check_rejection(OPTIONS("fields.n=int64"), "s,n\nx,1 \ny,12345678901234567\n",
					"{\"s\":\"y\",\"n\":12345678901234567}\n", 2, "n", "\"1 \"");
	check_rejection(NULL, "s,n\nx,\xff\xfe\ny,\xC3\xA9\n", "{\"s\":\"y\",\"n\":\"\xC3\xA9\"}\n", 2, "n", "UTF-8");
}

static void
fields_that_nobody_reads_are_only_passed_over(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", OPTIONS("fields.a=int64", "fields.c=int64"), &csv);
	const char *text = "a,b,c\nbad,\"x\n\"\"y\",7\n1,\xff,8\n2,z\n";
	fixture_decoding how = { .fields = (const uint32_t[]){ 2 }, .field_count = 1 };
	for (size_t i = 0; i < FLOW_COUNT(window_sizes); i++) {
		how.window_bytes = window_sizes[i];
		fixture_rows *rows = fixture_decode_with(&csv, text, strlen(text), &how);
		assert_int_equal(rows->row_count, 2);
		assert_int_equal(rows->rejection_count, 1);
		assert_int_equal(rows->rejections[0].line, 5);
		for (uint32_t row = 0, batch = 0; batch < rows->batch_count; batch++)
			for (uint32_t k = 0; k < rows->batches[batch]->row_count; k++, row++) {
				assert_int_equal(flow_batch_field(rows->batches[batch], k, 0)->type, FLOW_NULL);
				assert_int_equal(flow_batch_field(rows->batches[batch], k, 2)->as.int64, 7 + row);
			}
	}
	fixture_destroy(f);
}

static void
another_file_may_have_its_columns_in_another_order(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", OPTIONS("fields.a=int64"), &csv);
	assert_string_equal(fixture_rows_text(decode_text(&csv, "a,b\n1,x\n", 0)), "{\"a\":1,\"b\":\"x\"}\n");
	flow_decoder_request request = { .struct_size = FLOW_SIZEOF(flow_decoder_request),
									 .place = flow_slice_of("second.csv") };
	const char *const texts[] = { "b,a\ny,2\n", "b,c\ny,2\n", "b,a,c\n", "b,b\n" };
	for (size_t i = 0; i < FLOW_COUNT(texts); i++) {
		flow_decoder *decoder = NULL;
		assert_int_equal(csv.ops->decoder_open(csv.serde, &request, &decoder, &f->error), FLOW_OK);
		char padded[128] = { 0 };
		strcpy(padded, texts[i]);
		flow_window window = {
			.struct_size = FLOW_SIZEOF(flow_window), .final = 1, .data = padded, .size = strlen(padded)
		};
		flow_builder *builder = builder_create(f->pool, 0, 0);
		flow_status status = csv.ops->decode(decoder, &window, builder, &f->error);
		if (i == 0) {
			assert_int_equal(status, FLOW_OK);
			assert_int_equal(builder->row_count, 1);
			assert_int_equal(builder->value[0].as.record[0].as.int64, 2);
		} else {
			assert_int_equal(status, FLOW_E_DECODE);
			assert_non_null(strstr(error_message(&f->error), "second.csv"));
		}
		csv.ops->decoder_close(decoder);
		builder_destroy(builder);
	}
	fixture_destroy(f);
}

static void
a_decoder_goes_on_from_its_saved_state(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", OPTIONS("fields.n=int64", "max_record=24"), &csv);
	const char *text = "n,s\n1,\"a\nb\"\n2,0123456789012345678901234\nx,y\n3,z\n4,\"never closed 0123456789\n5,w\n";
	fixture_rows *whole = decode_text(&csv, text, 0);
	assert_int_equal(whole->rejection_count, 3);
	assert_int_equal(whole->row_count, 2);
	for (uint64_t window = 1; window < 40; window++) {
		fixture_decoding how = { .window_bytes = window, .restore_each = 1, .batch_rows = 1 };
		fixture_rows *rows = fixture_decode_with(&csv, text, strlen(text), &how);
		assert_string_equal(fixture_rows_text(rows), fixture_rows_text(whole));
		assert_int_equal(rows->rejection_count, 3);
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(rows->rejections[i].line, whole->rejections[i].line);
	}
	fixture_destroy(f);
}

static void
check_refused(const char *const *options, const char *sample, const char *message)
{
	fixture *f = fixture_create();
	fixture_serde csv;
	flow_status status = fixture_try_serde_open(f, "csv", options, &csv);
	const flow_schema *schema = NULL;
	if (status == FLOW_OK)
		status = csv.ops->decoded_schema(csv.serde, flow_slice_of(sample), &schema, &f->error);
	assert_true(status < 0);
	assert_null(schema);
	if (strstr(error_message(&f->error), message) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", error_message(&f->error), message);
	fixture_destroy(f);
}

static void
what_cannot_work_is_refused_at_once(void **state)
{
	(void)state;
	check_refused(OPTIONS("delimiter=\"ab\""), "a\n", "delimiter");
	check_refused(OPTIONS("delimiter=\"5\""), "a\n", "delimiter");
	check_refused(OPTIONS("delimiter=\";\"", "quote=\";\""), "a\n", "different");
	check_refused(OPTIONS("null_token=\"a,b\""), "a\n", "null_token");
	check_refused(OPTIONS("fields.a=\"list<int64>\""), "a\n", "fields.a");
	check_refused(OPTIONS("fields.c=int64"), "a,b\n1,2\n", "no such column; it has: a b");
	check_refused(NULL, "a,b,a\n", "twice");
	check_refused(NULL, "a,\xfe\n", "UTF-8");
	check_refused(NULL, "a,\"b\n", "not closed");
}

static void
a_header_needs_a_sample(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", NULL, &csv);
	const flow_schema *schema = NULL;
	assert_int_equal(csv.ops->decoded_schema(csv.serde, flow_slice_make(NULL, 0), &schema, &f->error), FLOW_AGAIN);
	fixture_destroy(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_is_neither_empty_nor_a_text),
		cmocka_unit_test(quotes_and_delimiters_inside_of_fields_come_through),
		cmocka_unit_test(declared_numbers_keep_every_digit_or_are_rejected),
		cmocka_unit_test(ragged_rows_are_rejected_and_neighbours_kept),
		cmocka_unit_test(an_unclosed_quote_is_one_rejection_where_it_opens),
		cmocka_unit_test(an_unclosed_quote_ends_the_stream_once_the_limit_is_passed),
		cmocka_unit_test(a_record_over_the_limit_is_rejected_and_the_next_one_read),
		cmocka_unit_test(line_numbers_count_line_feeds_in_quotes),
		cmocka_unit_test(line_ends_may_be_crlf_and_the_last_one_may_be_missing),
		cmocka_unit_test(an_empty_line_is_a_record_where_there_is_one_column),
		cmocka_unit_test(a_byte_order_mark_and_comments_are_passed_over),
		cmocka_unit_test(a_file_without_a_header_takes_names_from_fields_or_numbers),
		cmocka_unit_test(quotes_are_literal_in_fields_that_do_not_start_with_one),
		cmocka_unit_test(an_escape_character_takes_the_next_one_literally),
		cmocka_unit_test(several_texts_may_mean_null_and_null_needs_a_nullable_type),
		cmocka_unit_test(every_type_is_read_exactly),
		cmocka_unit_test(timestamps_are_the_same_in_every_unit),
		cmocka_unit_test(what_does_not_fit_its_type_names_field_line_and_text),
		cmocka_unit_test(fields_that_nobody_reads_are_only_passed_over),
		cmocka_unit_test(another_file_may_have_its_columns_in_another_order),
		cmocka_unit_test(a_decoder_goes_on_from_its_saved_state),
		cmocka_unit_test(what_cannot_work_is_refused_at_once),
		cmocka_unit_test(a_header_needs_a_sample),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
