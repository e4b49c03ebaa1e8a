/* What --select means: items between commas, names, expressions, "*". */
#include "host/selection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* "a|b=x + 1": the items as they were understood, or what is wrong. */
static const char *
understood(arena *a, const char *text)
{
	selection s = { 0 };
	const char *wrong = selection_add(a, &s, text);
	if (wrong != NULL)
		return wrong;
	const char *line = s.all ? "*" : "";
	for (size_t i = 0; i < s.count; i++)
		line = arena_format(a, "%s%s%s%s%s", line, line[0] == '\0' ? "" : "|", s.items[i].name,
							s.items[i].expression == NULL ? "" : "=",
							s.items[i].expression == NULL ? "" : s.items[i].expression);
	return line;
}

static void
given_columns_and_expressions_when_read_then_commas_in_brackets_and_quotes_do_not_part_them(void **state)
{
	static const char *const cases[][2] = {
		{ "carrier", "carrier" },
		{ " a , b ", "a|b" },
		{ "late=dep_delay > 15,carrier", "late=dep_delay > 15|carrier" },
		{ "x=round(a, 2),y=b", "x=round(a, 2)|y=b" },
		{ "x=coalesce(a, ','),y", "x=coalesce(a, ',')|y" },
		{ "x=a in ('b', 'it''s', 'c'),y", "x=a in ('b', 'it''s', 'c')|y" },
		{ "\"Dep, Delay\",\"a \"\"b\"\"\"", "Dep, Delay|a \"b\"" },
		{ "\"New Name\"=a+1", "New Name=a+1" },
		{ "same=a = b", "same=a = b" },
		{ "*,km=distance*1.6", "*|km=distance*1.6" },
		{ "*", "*" },
	};
	(void)state;
	arena *a = arena_create();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(understood(a, cases[i][0]), cases[i][1]);
	arena_destroy(a);
}

static void
given_what_is_no_selection_when_read_then_it_says_why(void **state)
{
	static const char *const cases[][2] = {
		{ "", "empty" },           { "a,,b", "empty" },          { "a,", "empty" },
		{ "x=f(a", "not closed" }, { "x='a", "not closed" },     { "\"a", "not closed" },
		{ "=a", "missing" },       { "a=", "missing" },          { "a,*", "in front" },
		{ "*,*", "in front" },     { "*,a", "NAME=EXPRESSION" }, { "a,b,a", "twice" },
		{ "a=1,a=2", "twice" },
	};
	(void)state;
	arena *a = arena_create();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strstr(understood(a, cases[i][0]), cases[i][1]) == NULL)
			fail_msg("%s: %s", cases[i][0], understood(a, cases[i][0]));
	arena_destroy(a);
}

static void
given_several_selections_when_read_then_they_are_one(void **state)
{
	(void)state;
	arena *a = arena_create();
	selection s = { 0 };
	assert_null(selection_add(a, &s, "a"));
	assert_null(selection_add(a, &s, "b=1"));
	assert_int_equal(s.count, 2);
	assert_non_null(selection_add(a, &s, "a"));
	arena_destroy(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_columns_and_expressions_when_read_then_commas_in_brackets_and_quotes_do_not_part_them),
		cmocka_unit_test(given_what_is_no_selection_when_read_then_it_says_why),
		cmocka_unit_test(given_several_selections_when_read_then_they_are_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
