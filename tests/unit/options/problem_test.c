/* Problems: collected, sorted, printed for people and for tools. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "options/problem.h"
#include "options/utf8.h"

static char *
printed(const problems *list, int json)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	problems_print(list, to, json);
	fclose(to);
	return text;
}

static void
given_problems_out_of_order_when_sorted_then_by_file_and_line_without_duplicates(void **state)
{
	(void)state;
	arena *a = arena_create();
	problems *list = problems_create(a);
	problems_add(list, "b.conf", 3, "x.y", "late");
	problems_add(list, "a.conf", 9, "q", "nine");
	problem *two = problems_add(list, "a.conf", 2, "x.tpye", "unknown option");
	two->suggestion = "type";
	problems_add(list, "b.conf", 3, "x.y", "late");
	problems_warn(list, problems_add(list, "a.conf", 5, NULL, "odd"));
	assert_int_equal(list->errors, 4);
	problems_sort(list);
	assert_int_equal(list->errors, 3);
	char *text = printed(list, 0);
	assert_string_equal(text, "a.conf:2: x.tpye: unknown option, did you mean \"type\"?\n"
							  "a.conf:5: warning: odd\n"
							  "a.conf:9: q: nine\n"
							  "b.conf:3: x.y: late\n");
	free(text);
	arena_destroy(a);
}

static void
given_more_problems_than_the_list_first_holds_when_added_then_none_is_lost(void **state)
{
	(void)state;
	arena *a = arena_create();
	problems *list = problems_create(a);
	for (unsigned i = 0; i < 1000; i++)
		problems_add(list, "f", i, NULL, "number %u", i);
	problems_sort(list);
	assert_int_equal(list->count, 1000);
	assert_string_equal(list->items[999]->message, "number 999");
	arena_destroy(a);
}

static void
given_a_control_character_when_printed_as_text_then_it_cannot_reach_the_terminal(void **state)
{
	(void)state;
	arena *a = arena_create();
	problems *list = problems_create(a);
	problem *item = problems_add(list, NULL, 0, "p", "bad \x1b[2J");
	item->place = "--set";
	char *text = printed(list, 0);
	assert_string_equal(text, "--set: p: bad \\x1b[2J\n");
	free(text);
	arena_destroy(a);
}

static void
given_a_file_name_that_is_no_utf8_when_printed_as_json_then_the_json_is_whole(void **state)
{
	(void)state;
	arena *a = arena_create();
	problems *list = problems_create(a);
	problem *item = problems_add(list, "f\xff.conf", 7, "p", "it \"is\" wrong");
	item->suggestion = "right";
	char *text = printed(list, 1);
	assert_non_null(strstr(text, "\"file\": \"f\\\\xff.conf\""));
	assert_non_null(strstr(text, "\"line\": 7"));
	assert_non_null(strstr(text, "\"message\": \"it \\\"is\\\" wrong\""));
	assert_non_null(strstr(text, "\"suggestion\": \"right\""));
	assert_non_null(strstr(text, "\"severity\": \"error\""));
	free(text);
	arena_destroy(a);
}

static void
given_bytes_when_escaped_then_only_what_is_no_utf8_is_shown_by_its_digits(void **state)
{
	(void)state;
	char text[UTF8_ESCAPED(8)];
	assert_int_equal(utf8_escape("\xc3\xa4\xffz\xc3", 5, text), 11);
	assert_memory_equal(text, "\xc3\xa4\\xffz\\xc3", 11);
	assert_int_equal(utf8_escape("", 0, text), 0);
}

static void
given_bytes_when_checked_then_only_utf8_of_the_rfc_is_valid(void **state)
{
	(void)state;
	assert_int_equal(utf8_valid_prefix("p\xc3\xa4ss", 5), 5);
	assert_int_equal(utf8_valid_prefix("\xf0\x9f\x98\x80", 4), 4);
	assert_int_equal(utf8_valid_prefix("a\xc0\xaf", 3), 1);        /* overlong */
	assert_int_equal(utf8_valid_prefix("a\xe0\x80\xaf", 4), 1);    /* overlong */
	assert_int_equal(utf8_valid_prefix("\xed\xa0\x80", 3), 0);     /* surrogate */
	assert_int_equal(utf8_valid_prefix("\xf4\x90\x80\x80", 4), 0); /* above U+10FFFF */
	assert_int_equal(utf8_valid_prefix("ab\xe2\x82", 4), 2);       /* cut off */
	assert_int_equal(utf8_valid_prefix("\x80", 1), 0);
	assert_int_equal(utf8_valid_prefix("", 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_problems_out_of_order_when_sorted_then_by_file_and_line_without_duplicates),
		cmocka_unit_test(given_more_problems_than_the_list_first_holds_when_added_then_none_is_lost),
		cmocka_unit_test(given_a_control_character_when_printed_as_text_then_it_cannot_reach_the_terminal),
		cmocka_unit_test(given_a_file_name_that_is_no_utf8_when_printed_as_json_then_the_json_is_whole),
		cmocka_unit_test(given_bytes_when_escaped_then_only_what_is_no_utf8_is_shown_by_its_digits),
		cmocka_unit_test(given_bytes_when_checked_then_only_utf8_of_the_rfc_is_valid),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
