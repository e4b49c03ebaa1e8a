/* Types from the first rows: what is taken for what, and what happens to values that contradict later. */
#include "csv_checks.h"

#include "support/batch_text.h"

/* The type of the one column `a` that holds these values (lines). */
static void
check_type(const char *const *options, const char *values, const char *expected)
{
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", options, &csv);
	const char *text = arena_format(f->arena, "a;b\n%s", values);
	const flow_schema *schema = fixture_decoded_schema(&csv, text, strlen(text));
	const flow_schemas *schemas = host_services.get_service(FLOW_SERVICE_SCHEMAS);
	char type[200];
	schemas->print(schema->fields[0]->schema, 1, type, sizeof(type));
	assert_string_equal(type, expected);
	fixture_destroy(f);
}

#define EXACT OPTIONS("infer=exact", "delimiter=\";\"", "null_token=NA")
#define FLOATS OPTIONS("infer=float", "delimiter=\";\"", "null_token=NA")

static void
a_column_has_the_narrowest_type_of_its_values(void **state)
{
	(void)state;
	check_type(EXACT, "1;\n-20;\nNA;\n", "int64?");
	check_type(EXACT, "1;\n1.50;\n", "decimal?");
	check_type(FLOATS, "1;\n1.50;\n", "float64?");
	check_type(EXACT, "1.5;\n1e300;\n", "float64?");
	check_type(EXACT, "9223372036854775808;\n1;\n", "decimal?");
	check_type(FLOATS, "9223372036854775808;\n1;\n", "decimal?");
	check_type(FLOATS, "0.12345678901234567890;\n", "decimal?");
	check_type(EXACT, "true;\nfalse;\n", "bool?");
	check_type(EXACT, "2024-02-29;\n", "date?");
	check_type(EXACT, "10:00:00;\n23:59:59.5;\n", "time?");
	check_type(EXACT, "2024-02-29T10:00:00Z;\n2024-02-29 10:00:00.123+01:00;\n", "timestamp?");
	check_type(EXACT, "2024-02-29 10:00:00;\n", "local_timestamp?");
	check_type(EXACT, "2024-02-29T10:00:00.123456789;\n", "local_timestamp(ns)?");
	check_type(EXACT, "9999-12-31T23:59:59Z;\n", "timestamp?");
	check_type(EXACT, "123e4567-e89b-12d3-a456-426614174000;\n", "uuid?");
	check_type(OPTIONS("infer=exact", "delimiter=\";\"", "decimal_mark=\",\"", "thousands=."), "1.234,5;\n7;\n",
			   "decimal?");
}

static void
what_would_change_stays_text(void **state)
{
	(void)state;
	static const char *const texts[] = { "007",   "+5",   "1.",         ".5",
										 "1 ",    "0x10", "2024-02-30", "True",
										 "1,000", "NaN",  "1_0",        "-",
										 "e5",    "",     "2024-2-9",   "123E4567-e89b-12d3-a456-426614174000" };
	for (size_t i = 0; i < FLOW_COUNT(texts); i++) {
		char values[64];
		snprintf(values, sizeof(values), "%s;x\n", texts[i]);
		check_type(EXACT, values, "string?");
	}
	check_type(EXACT, "1;\nx;\n", "string?");
	check_type(EXACT, "2024-02-29T10:00:00Z;\n2024-02-29T10:00:00;\n", "string?");
	check_type(EXACT, "NA;\nNA;\n", "string?");
	check_type(EXACT, "\"NA\";\n1;\n", "string?");
	check_type(EXACT, "", "string?");
}

static void
rows_that_are_cut_off_or_no_rows_do_not_count(void **state)
{
	(void)state;
	check_type(OPTIONS("infer=exact", "delimiter=\";\"", "comment=\"#\""), "1;\n#x;\n\n2;\n3;4;5\nx\n", "int64?");
	check_type(EXACT, "1;\n\"x;\n", "int64?");
	check_type(EXACT, "1;\nx;", "string?"); /* the file's last line needs no end */
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", EXACT, &csv);
	char *large = arena_allocate_zeroed(f->arena, FLOW_SAMPLE_SIZE + 64);
	memset(large, 'y', FLOW_SAMPLE_SIZE);
	memcpy(large, "a;b\n1;", 6);
	memcpy(large + FLOW_SAMPLE_SIZE - 500, "\nx;", 3); /* more may follow, so the last line is not looked at */
	const flow_schema *schema = fixture_decoded_schema(&csv, large, FLOW_SAMPLE_SIZE);
	assert_int_equal(schema->fields[0]->schema->kind, FLOW_KIND_INT64);
	fixture_destroy(f);
}

static void
declared_columns_stay_as_they_are(void **state)
{
	(void)state;
	check_rows(OPTIONS("infer=exact", "fields.a=string"), "a,b\n1,2\n007,\n",
			   "{\"a\":\"1\",\"b\":2}\n{\"a\":\"007\",\"b\":null}\n");
	check_rows(OPTIONS("infer=float", "header=false"), "1,x\n2.5,\n",
			   "{\"column1\":1.0,\"column2\":\"x\"}\n{\"column1\":2.5,\"column2\":null}\n");
}

static void
a_later_value_that_contradicts_names_the_type_and_the_way_out(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", OPTIONS("infer=exact"), &csv);
	const char *first = "n,s\n1,x\n2,y\n";
	const char *text = "n,s\n5,a\nfive,b\n6,c\n";
	const flow_schema *schema = fixture_decoded_schema(&csv, first, strlen(first));
	for (size_t i = 0; i < FLOW_COUNT(window_sizes); i++) {
		fixture_decoding how = { .window_bytes = window_sizes[i], .known_schema = schema };
		fixture_rows *rows = fixture_decode_with(&csv, text, strlen(text), &how);
		assert_string_equal(fixture_rows_text(rows), "{\"n\":5,\"s\":\"a\"}\n{\"n\":6,\"s\":\"c\"}\n");
		assert_int_equal(rows->rejection_count, 1);
		assert_int_equal(rows->rejections[0].line, 3);
		assert_string_equal(rows->rejections[0].field, "n");
		assert_string_equal(
			rows->rejections[0].reason,
			"\"five\" is not of type int64?, which was inferred from the first rows; declare the column: "
			"fields: { n = \"string?\"; }");
	}
	fixture_destroy(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_column_has_the_narrowest_type_of_its_values),
		cmocka_unit_test(what_would_change_stays_text),
		cmocka_unit_test(rows_that_are_cut_off_or_no_rows_do_not_count),
		cmocka_unit_test(declared_columns_stay_as_they_are),
		cmocka_unit_test(a_later_value_that_contradicts_names_the_type_and_the_way_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
