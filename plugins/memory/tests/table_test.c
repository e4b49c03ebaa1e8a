/* The memory table: what every local table does. */
#include "support/table_behaviour.h"

static int
set_up(void **state)
{
	*state = table_case_open("memory");
	return 0;
}

static int
tear_down(void **state)
{
	table_case_close(*state);
	return 0;
}

#define BODY(name)                                                                                                     \
	static void name##_here(void **state)                                                                              \
	{                                                                                                                  \
		name(*state);                                                                                                  \
	}

BODY(table_puts_gets_and_deletes)
BODY(table_answers_each_row_of_a_call)
BODY(table_keeps_every_type)
BODY(table_updates_with_and_without_defaults)
BODY(table_applies_updates_of_one_key_in_order)
BODY(table_refuses_updates_that_do_not_fit)
BODY(table_serves_threads)

static void
given_rows_when_opened_again_then_they_are_gone(void **state)
{
	table_case *c = *state;
	table_case_put(c, 1, "{\"id\":1,\"name\":\"one\",\"views\":10}");
	table_case_reopen(c);
	assert_string_equal(table_case_get(c, 1), "not found");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(table_puts_gets_and_deletes_here),
		TEST(table_answers_each_row_of_a_call_here),
		TEST(table_keeps_every_type_here),
		TEST(table_updates_with_and_without_defaults_here),
		TEST(table_applies_updates_of_one_key_in_order_here),
		TEST(table_refuses_updates_that_do_not_fit_here),
		TEST(table_serves_threads_here),
		TEST(given_rows_when_opened_again_then_they_are_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
