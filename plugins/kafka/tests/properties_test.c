/* Properties that are passed on to the library: how their values are written. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/system_fixture.h"

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
	setlocale(LC_ALL, "C");
	return 0;
}

static void
use_locale_with_a_comma(void)
{
	setenv("LOCPATH", BUILD_FOLDER "/tests/locale", 1);
	if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL || strcmp(localeconv()->decimal_point, ",") != 0)
		fail_msg("no locale in " BUILD_FOLDER "/tests/locale: scripts/setup --tests installs what it is made from");
}

/* The library names a value that it does not take as it was given. */
static void
given_a_number_of_a_property_when_the_locale_has_a_comma_then_it_is_written_with_a_point_and_all_its_digits(
	void **state)
{
	fixture *f = *state;
	static const char *const numbers[][2] = {
		{ "0.5", "\"0.5\"" },
		{ "-1234567.25", "\"-1234567.25\"" },
		{ "0.12345678901", "\"0.12345678901\"" },
		{ "7", "\"7\"" },
	};
	fixture_system kafka;
	fixture_system_open(f, "kafka", (const char *const[]){ "bootstrap_servers=127.0.0.1:1", NULL }, &kafka);
	use_locale_with_a_comma();
	for (size_t i = 0; i < FLOW_COUNT(numbers); i++) {
		char property[128];
		snprintf(property, sizeof(property), "consumer=( { name = \"broker.address.family\"; value = %s; } )",
				 numbers[i][0]);
		fixture_stream in = fixture_input(&kafka, "in", (const char *const[]){ property, NULL });
		in.offline = 1;
		flow_stream_description description;
		assert_int_equal(fixture_try_describe(&in, &description), FLOW_E_CONFIG);
		if (strstr(error_message(&f->error), numbers[i][1]) == NULL)
			fail_msg("%s: %s", numbers[i][0], error_message(&f->error));
		error_clear(&f->error);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(
			given_a_number_of_a_property_when_the_locale_has_a_comma_then_it_is_written_with_a_point_and_all_its_digits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
