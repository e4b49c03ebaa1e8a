/* Sizes, durations, near names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/distance.h"
#include "base/error.h"
#include "base/units.h"

static void
check_text(json_t *item)
{
	const char *text = json_string_value(json_object_get(item, "text"));
	int is_size = strcmp(json_string_value(json_object_get(item, "kind")), "size") == 0;
	flow_error error = { 0 };
	int64_t number = -1;
	flow_status status = is_size ? units_parse_size(flow_slice_of(text), &number, &error)
								 : units_parse_duration(flow_slice_of(text), &number, &error);
	if (status != FLOW_OK) {
		if (!json_is_true(json_object_get(item, "refused")) && !json_is_true(json_object_get(item, "or_refused")))
			fail_msg("'%s' is refused: %s", text, error_message(&error));
		if (strstr(error_message(&error), text) == NULL ||
			strstr(error_message(&error), is_size ? "KiB" : "us, ms, s") == NULL)
			fail_msg("'%s': the message names not both text and units: %s", text, error_message(&error));
		error_clear(&error);
		return;
	}
	double expected = json_number_value(json_object_get(item, "value")) * (is_size ? 1 : 1000);
	if (json_is_true(json_object_get(item, "refused")) || (double)number != expected)
		fail_msg("'%s' is taken as %lld", text, (long long)number);
}

static void
each_text_of_the_table_has_its_value_or_is_refused(void **state)
{
	(void)state;
	json_t *list = json_load_file(SOURCE_FOLDER "/tests/unit/base/units.json", 0, NULL);
	assert_true(json_array_size(list) > 50);
	for (size_t i = 0; i < json_array_size(list); i++)
		check_text(json_array_get(list, i));
	json_decref(list);
}

static void
documented_forms_are_taken(void **state)
{
	(void)state;
	int64_t number;
	assert_int_equal(units_parse_size(flow_slice_of("64"), &number, NULL), FLOW_OK);
	assert_int_equal(number, 64);
	assert_int_equal(units_parse_size(flow_slice_of("64 KiB"), &number, NULL), FLOW_OK);
	assert_int_equal(number, 65536);
	assert_int_equal(units_parse_size(flow_slice_of("1MB"), &number, NULL), FLOW_OK);
	assert_int_equal(number, 1000000);
	assert_int_equal(units_parse_duration(flow_slice_of("1h30m"), &number, NULL), FLOW_OK);
	assert_int_equal(number, 5400000000);
	assert_int_equal(units_parse_duration(flow_slice_of("0"), &number, NULL), FLOW_OK);
	assert_int_equal(number, 0);
	static const char *const refused[] = { "30m1h", "1m1m", "1 min", "1h 30m", "1M", "5S", "1h30" };
	for (size_t i = 0; i < FLOW_COUNT(refused); i++)
		assert_int_equal(units_parse_duration(flow_slice_of(refused[i]), &number, NULL), FLOW_E_CONFIG);
	assert_int_equal(units_parse_size(flow_slice_of("1  KiB"), &number, NULL), FLOW_E_CONFIG);
}

static void
what_is_printed_reads_back(void **state)
{
	(void)state;
	static const struct {
		int64_t number;
		const char *size;
		const char *duration;
	} values[] = { { 0, "0B", "0s" },
				   { 1, "1B", "1us" },
				   { 65536, "64KiB", "65ms536us" },
				   { 1000000, "1MB", "1s" },
				   { 5400000000, "5400MB", "1h30m" },
				   { 10 * 86400000000, "864GB", "10d" },
				   { 14 * 86400000000, "1209600MB", "2w" },
				   { (int64_t)1 << 40, "1TiB", NULL },
				   { INT64_MAX, NULL, NULL } };
	char buffer[64];
	for (size_t i = 0; i < FLOW_COUNT(values); i++) {
		int64_t again = -1;
		units_print_size(values[i].number, buffer);
		assert_int_equal(units_parse_size(flow_slice_of(buffer), &again, NULL), FLOW_OK);
		assert_int_equal(again, values[i].number);
		if (values[i].size != NULL)
			assert_string_equal(buffer, values[i].size);
		units_print_duration(values[i].number, buffer);
		assert_int_equal(units_parse_duration(flow_slice_of(buffer), &again, NULL), FLOW_OK);
		assert_int_equal(again, values[i].number);
		if (values[i].duration != NULL)
			assert_string_equal(buffer, values[i].duration);
	}
}

static void
edits_and_swaps_are_counted(void **state)
{
	(void)state;
	assert_int_equal(distance_of("kitten", "sitting"), 3);
	assert_int_equal(distance_of("bootstrap", "bootsrtap"), 1);
	assert_int_equal(distance_of("", "abc"), 3);
	assert_int_equal(distance_of("same", "same"), 0);
}

static void
only_a_near_name_is_meant(void **state)
{
	(void)state;
	static const char *const names[] = { "path", "serde", "bounded", "bootstrap" };
	assert_string_equal(distance_nearest("bootstap", names, 4), "bootstrap");
	assert_string_equal(distance_nearest("pth", names, 4), "path");
	assert_null(distance_nearest("compression", names, 4));
	assert_null(distance_nearest("x", names, 4));
	assert_null(distance_nearest("", names, 4));
}

static void
a_word_that_only_one_name_begins_with_is_that_name(void **state)
{
	(void)state;
	static const char *const names[] = { "delimiter", "oauth_client", "oauth_secret" };
	assert_string_equal(distance_nearest("delim", names, 3), "delimiter");
	assert_null(distance_nearest("oauth", names, 3));
	assert_null(distance_nearest("de", names, 3));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_text_of_the_table_has_its_value_or_is_refused),
		cmocka_unit_test(documented_forms_are_taken),
		cmocka_unit_test(what_is_printed_reads_back),
		cmocka_unit_test(edits_and_swaps_are_counted),
		cmocka_unit_test(only_a_near_name_is_meant),
		cmocka_unit_test(a_word_that_only_one_name_begins_with_is_that_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
