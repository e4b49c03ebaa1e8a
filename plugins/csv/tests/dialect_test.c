/* Dialects and policies: marks in numbers, no quotes, names of columns, missing and extra ones, rows of another length. */
#include "csv_checks.h"

#include "support/batch_text.h"

/* --- numbers --- */

static void
numbers_may_have_a_decimal_comma_and_separators(void **state)
{
	(void)state;
	check_rows(OPTIONS("delimiter=\";\"", "decimal_mark=\",\"", "thousands=.", "fields.f=float64", "fields.d=decimal",
					   "fields.i=int64", "fields.u=uint64"),
			   "f;d;i;u\n1.234,5;-1.234.567,50;-12.345;18.446.744.073.709.551.615\n0,1;7;1234;0\n+1e3;1,5e2;+5;1\n",
			   "{\"f\":1234.5,\"d\":-1234567.50,\"i\":-12345,\"u\":18446744073709551615}\n"
			   "{\"f\":0.1,\"d\":7,\"i\":1234,\"u\":0}\n{\"f\":1000.0,\"d\":150,\"i\":5,\"u\":1}\n");
	check_rows(OPTIONS("thousands=\",\"", "fields.i=int64"), "i\n\"12,34,567\"\n\"1,000\"\n",
			   "{\"i\":1234567}\n{\"i\":1000}\n");
	check_rows(
		OPTIONS("thousands=\"\xE2\x80\xAF\"", "decimal_mark=\",\"", "delimiter=\";\"", "fields.d=\"decimal(9,2)\""),
		"d\n12\xE2\x80\xAF"
		"345,6\n",
		"{\"d\":12345.60}\n");
}

static void
separators_stand_between_groups_only(void **state)
{
	(void)state;
	static const char *const wrong[] = { "1,5",   "1,0000", "12345,678", ",123", "1,,234", "1,23,45",
										 "1.5,0", "1,",     "1,234,",    "- 1",  "1 234" };
	for (size_t i = 0; i < FLOW_COUNT(wrong); i++) {
		char text[64];
		snprintf(text, sizeof(text), "n;s\n%s;x\n1,234;y\n", wrong[i]);
		check_rejection(OPTIONS("delimiter=\";\"", "thousands=\",\"", "fields.n=decimal"), text,
						"{\"n\":1234,\"s\":\"y\"}\n", 2, "n", "is not of type decimal");
	}
	check_rejection(OPTIONS("delimiter=\";\"", "decimal_mark=\",\"", "fields.n=float64"), "n;s\n1.5;x\n", "", 2, "n",
					"\"1.5\"");
}

/* --- quotes --- */

/* The rows of `text` are written as the same text again. */
static void
check_written(const char *const *options, const char *text)
{
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", options, &csv);
	fixture_rows *rows = decode_text(&csv, text, 0);
	assert_int_equal(rows->rejection_count, 0);
	assert_int_equal(rows->batch_count, 1);
	assert_string_equal(fixture_encode(&csv, rows->batches[0], 0)->data, text);
	fixture_destroy(f);
}

static void
without_quotes_a_quote_is_a_character(void **state)
{
	(void)state;
	check_rows(OPTIONS("quote=\"\"", "delimiter=\"\\\\t\"", "escape=\"\\\\\"", "null_token=\"\\\\N\""),
			   "a\tb\n\"x\ty\"\n\\N\tu\\\tv\\\nw\n",
			   "{\"a\":\"\\\"x\",\"b\":\"y\\\"\"}\n{\"a\":null,\"b\":\"u\\u0009v\\nw\"}\n");
}

/* What MySQL's SELECT INTO OUTFILE and PostgreSQL's COPY TO write. */
static void
dumps_of_databases_are_read_and_written(void **state)
{
	(void)state;
	const char *const *dump = OPTIONS("escapes=c", "quote=\"\"", "delimiter=\"\\\\t\"", "header=false",
									  "fields.a=int64?", "fields.b=string?");
	check_rows(
		dump, "1\tx\\ty\\nz\\r\n\\N\t\\N\n3\tN\\\\N\\0\\Z\n4\ttab\\\tline\\\nend\n5\t\n6\t\\b\\f\\v\\q\\.\"\n",
		"{\"a\":1,\"b\":\"x\\u0009y\\nz\\u000d\"}\n{\"a\":null,\"b\":null}\n{\"a\":3,\"b\":\"N\\\\N\\u0000\\u001a\"}\n"
		"{\"a\":4,\"b\":\"tab\\u0009line\\nend\"}\n{\"a\":5,\"b\":\"\"}\n{\"a\":6,\"b\":\"\\u0008\\u000c\\u000bq."
		"\\\"\"}\n");
	check_written(dump, "1\tx\\ty\\nz\\r\\\\\\0\n\\N\t\\N\n3\tN\n");
	check_rows(OPTIONS("escapes=c"), "a\\tb,c\n\"x\\ny\"\"\\\"\",\\N\n\"\\N\",z\\n\n",
			   "{\"a\\u0009b\":\"x\\ny\\\"\\\"\",\"c\":null}\n{\"a\\u0009b\":\"N\",\"c\":\"z\\n\"}\n");
	check_rows(OPTIONS("escapes=c", "infer=exact"), "a,b\n\\N,1\n2,\\N\n",
			   "{\"a\":null,\"b\":1}\n{\"a\":2,\"b\":null}\n");
	check_rows(OPTIONS("escapes=c", "escape=\"^\""), "a,b\n^n,^N\n", "{\"a\":\"\\n\",\"b\":null}\n");
}

static void
a_text_that_no_escape_keeps_apart_from_null_is_refused(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(
		f, "csv", OPTIONS("quote=\"\"", "escapes=c", "null_token=[\"n\", \"nul\", \"N\", \"\\\\N\"]", "header=false"),
		&csv);
	flow_batch *batch =
		fixture_batch(f, fixture_schema(f, "record(a:string)"), "{\"a\":\"n\"}\n{\"a\":\"nul\"}\n{\"a\":\"N\"}\n");
	fixture_bytes *bytes = fixture_encode(&csv, batch, 0);
	assert_string_equal(bytes->data, "n\\ul\n");
	assert_int_equal(bytes->statuses[0], FLOW_E_ENCODE);
	assert_int_equal(bytes->statuses[1], FLOW_OK);
	assert_int_equal(bytes->statuses[2], FLOW_E_ENCODE);
	fixture_destroy(f);
}

/* --- blanks --- */

static void
blanks_around_fields_are_trimmed_on_request(void **state)
{
	(void)state;
	check_rows(OPTIONS("trim=true", "null_token=NA", "fields.n=int64?"),
			   "\tn , \"s\t\" \n 1 ,x y \r\n2, \" q \"\t\n NA ,\t\n",
			   "{\"n\":1,\"s\\u0009\":\"x y\"}\n{\"n\":2,\"s\\u0009\":\" q \"}\n{\"n\":null,\"s\\u0009\":\"\"}\n");
	check_rows(OPTIONS("trim=true", "delimiter=\"\\\\t\""), "a\tb\n \t x \n", "{\"a\":\"\",\"b\":\"x\"}\n");
	check_rows(OPTIONS("trim=true", "escape=\"\\\\\"", "quote=\"\""), "a,b\n\\ x\\  , y \\\t\n",
			   "{\"a\":\" x \",\"b\":\"y \\u0009\"}\n");
	check_rows(OPTIONS("trim=true", "infer=exact"), "a,b\n 1 , 2024-01-01\n 2 ,\t\n",
			   "{\"a\":1,\"b\":\"2024-01-01\"}\n{\"a\":2,\"b\":null}\n");
	check_rejection(OPTIONS("trim=true"), "a,b\n \"x\" y,z\nu,v\n", "{\"a\":\"u\",\"b\":\"v\"}\n", 2, "a",
					"behind its closing quote");
	check_rows(NULL, "a,b\n x, y \n", "{\"a\":\" x\",\"b\":\" y \"}\n");
	check_written(OPTIONS("trim=true"), "a,b\n\" x\",\"y \"\nx y,\n");
	check_written(OPTIONS("trim=true", "escape=\"\\\\\"", "quote=\"\""), "a,b\n\\ x\\ ,y\\\t\n\\ ,\n");
}

/* --- lines --- */

static void
check_file_refused(const char *const *options, const char *text, uint64_t window, const char *message)
{
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", options, &csv);
	fixture_rows *rows = decode_text(&csv, text, window);
	assert_int_equal(rows->status, FLOW_E_DECODE);
	assert_int_equal(rows->row_count, 0);
	if (strstr(error_message(&f->error), message) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", error_message(&f->error), message);
	fixture_destroy(f);
}

static void
carriage_returns_alone_are_refused_and_explained(void **state)
{
	(void)state;
	const char *options[] = { "header=false", "fields.a=int64", "fields.b=string", NULL };
	for (size_t i = 0; i < FLOW_COUNT(window_sizes); i++)
		check_file_refused(options, "1,x\r2,y\r", window_sizes[i], "carriage returns alone");
	check_rows(options, "1,\"x\r2,y\"", "{\"a\":1,\"b\":\"x\\u000d2,y\"}\n");
	check_rows(options, "1,x\r2y\n", "{\"a\":1,\"b\":\"x\\u000d2y\"}\n");
	fixture *f = fixture_create();
	fixture_serde csv;
	const flow_schema *schema = NULL;
	fixture_serde_open(f, "csv", NULL, &csv);
	assert_int_equal(csv.ops->decoded_schema(csv.serde, flow_slice_of("a,b\r1,x\r"), &schema, &f->error),
					 FLOW_E_DECODE);
	assert_non_null(strstr(error_message(&f->error), "tr '\\r' '\\n'"));
	fixture_destroy(f);
}

/* --- columns --- */

/* The rows of a second file of a stream whose first one is `first`; NULL: it is refused, with `message`. */
static void
check_second(const char *const *options, const char *first, const char *second, const char *expected,
			 const char *message)
{
	for (size_t i = 0; i < FLOW_COUNT(window_sizes); i++) {
		fixture *f = fixture_create();
		fixture_serde csv;
		fixture_serde_open(f, "csv", options, &csv);
		const flow_schema *schema = fixture_decoded_schema(&csv, first, strlen(first));
		fixture_decoding how = { .window_bytes = window_sizes[i], .restore_each = 1, .known_schema = schema };
		fixture_rows *rows = fixture_decode_with(&csv, second, strlen(second), &how);
		if (expected == NULL) {
			assert_int_equal(rows->status, FLOW_E_DECODE);
			if (strstr(error_message(&f->error), message) == NULL)
				fail_msg("\"%s\" does not say \"%s\"", error_message(&f->error), message);
		} else {
			assert_int_equal(rows->status, FLOW_OK);
			assert_string_equal(fixture_rows_text(rows), expected);
			assert_int_equal(rows->rejection_count, 0);
		}
		fixture_destroy(f);
	}
}

static void
columns_have_their_own_names_in_the_header(void **state)
{
	(void)state;
	const char *options[] = { "rename.delay=\"dep delay (min)\"", "fields.delay=int64", NULL };
	const char *text = "dep delay (min),b\n5,x\n";
	check_rows(options, text, "{\"delay\":5,\"b\":\"x\"}\n");
	check_second(options, text, "b,dep delay (min)\ny,6\n", "{\"delay\":6,\"b\":\"y\"}\n", NULL);
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", options, &csv);
	fixture_rows *rows = decode_text(&csv, text, 0);
	assert_string_equal(fixture_encode(&csv, rows->batches[0], 0)->data, text);
	fixture_destroy(f);
}

static void
missing_columns_are_an_error_null_or_a_default(void **state)
{
	(void)state;
	const char *defaults =
		"schema=\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"r\\\",\\\"fields\\\":[{\\\"name\\\":\\\"a\\\","
		"\\\"type\\\":\\\"long\\\"},{\\\"name\\\":\\\"d\\\",\\\"type\\\":\\\"string\\\",\\\"default\\\":\\\"-\\\"},"
		"{\\\"name\\\":\\\"n\\\",\\\"type\\\":[\\\"null\\\",\\\"long\\\"]}]}\"";
	check_rows(OPTIONS("missing=null", "fields.a=int64", "fields.n=int64?"), "a,b\n1,x\n",
			   "{\"a\":1,\"b\":\"x\",\"n\":null}\n");
	check_rows(OPTIONS("missing=default", defaults), "a\n1\n2\n",
			   "{\"a\":1,\"d\":\"-\",\"n\":null}\n{\"a\":2,\"d\":\"-\",\"n\":null}\n");
	check_second(OPTIONS("missing=default", defaults), "a,d,n\n1,x,2\n", "n,a\n7,5\n",
				 "{\"a\":5,\"d\":\"-\",\"n\":7}\n", NULL);
	check_second(OPTIONS("missing=null", defaults), "a,d,n\n1,x,2\n", "n,a\n7,5\n", NULL,
				 "\"d\", and its type allows no null");
	check_second(OPTIONS("fields.a=int64"), "a,b\n1,x\n", "a\n5\n", NULL, "no column \"b\"");
}

static void
extra_columns_are_kept_ignored_or_an_error(void **state)
{
	(void)state;
	check_rows(OPTIONS("fields.b=int64", "extra=ignore"), "a,b,c,c\nx,1,\"y\nz\",w\n", "{\"b\":1}\n");
	check_second(OPTIONS("fields.b=int64", "extra=ignore"), "a,b\nx,1\n", "c,d,b,e\n\"p\n\",q,5,r\n", "{\"b\":5}\n",
				 NULL);
	check_second(OPTIONS("extra=ignore"), "a,b\nx,1\n", "b,z,a\n2,q,y\n", "{\"a\":\"y\",\"b\":\"2\"}\n", NULL);
	check_second(NULL, "a,b\nx,1\n", "a,b,z\n2,q,y\n", NULL, "column \"z\" of the header is not in the first file");
	fixture *f = fixture_create();
	fixture_serde csv;
	const flow_schema *schema = NULL;
	fixture_serde_open(f, "csv", OPTIONS("fields.b=int64", "extra=error"), &csv);
	assert_int_equal(csv.ops->decoded_schema(csv.serde, flow_slice_of("a,b\n"), &schema, &f->error), FLOW_E_DECODE);
	assert_non_null(strstr(error_message(&f->error), "column \"a\" of the header is not declared"));
	fixture_destroy(f);
}

/* --- rows of another length --- */

static void
short_rows_may_be_filled_and_long_ones_cut(void **state)
{
	(void)state;
	check_rows(
		OPTIONS("short_rows=null", "fields.b=int64?", "fields.c=string?"), "a,b,c\nx\ny,1\nz,2,w\n",
		"{\"a\":\"x\",\"b\":null,\"c\":null}\n{\"a\":\"y\",\"b\":1,\"c\":null}\n{\"a\":\"z\",\"b\":2,\"c\":\"w\"}\n");
	check_rows(OPTIONS("long_rows=ignore"), "a,b\nx,y,\"z\n\",\nu,v\n",
			   "{\"a\":\"x\",\"b\":\"y\"}\n{\"a\":\"u\",\"b\":\"v\"}\n");
	check_rejection(OPTIONS("short_rows=null", "fields.a=string?", "fields.b=int64"), "a,b\nx\ny,1\n",
					"{\"a\":\"y\",\"b\":1}\n", 2, "b", "is not in the record");
	check_rejection(OPTIONS("short_rows=null"), "a,b\nx,y,z\nu,v\n", "{\"a\":\"u\",\"b\":\"v\"}\n", 2, "",
					"expected 2 fields, found 3");
	check_rejection(OPTIONS("long_rows=ignore"), "a,b\nx\nu,v\n", "{\"a\":\"u\",\"b\":\"v\"}\n", 2, "",
					"expected 2 fields, found 1");
}

static void
check_option(const char *const *options, const char *message)
{
	fixture *f = fixture_create();
	fixture_serde csv;
	assert_true(fixture_try_serde_open(f, "csv", options, &csv) < 0);
	if (strstr(error_message(&f->error), message) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", error_message(&f->error), message);
	fixture_destroy(f);
}

static void
contradicting_options_are_refused(void **state)
{
	(void)state;
	check_option(OPTIONS("thousands=."), "thousands");
	check_option(OPTIONS("thousands=ab"), "one character");
	check_option(OPTIONS("decimal_mark=\";\""), "decimal_mark");
	check_option(OPTIONS("rename.a=x", "rename.b=x"), "twice");
	check_option(OPTIONS("header=false", "rename.a=x"), "rename");
	check_option(OPTIONS("trim=true", "null_token=\"- \""), "trim");
	check_option(OPTIONS("schema=\"\\\"long\\\"\""), "records");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_may_have_a_decimal_comma_and_separators),
		cmocka_unit_test(separators_stand_between_groups_only),
		cmocka_unit_test(without_quotes_a_quote_is_a_character),
		cmocka_unit_test(dumps_of_databases_are_read_and_written),
		cmocka_unit_test(a_text_that_no_escape_keeps_apart_from_null_is_refused),
		cmocka_unit_test(blanks_around_fields_are_trimmed_on_request),
		cmocka_unit_test(carriage_returns_alone_are_refused_and_explained),
		cmocka_unit_test(columns_have_their_own_names_in_the_header),
		cmocka_unit_test(missing_columns_are_an_error_null_or_a_default),
		cmocka_unit_test(extra_columns_are_kept_ignored_or_an_error),
		cmocka_unit_test(short_rows_may_be_filled_and_long_ones_cut),
		cmocka_unit_test(contradicting_options_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
