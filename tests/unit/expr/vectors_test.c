/* Random expressions against results that an independent engine gave (make_vectors.py): evaluated, selected, printed
 * and compiled again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "support/expression_text.h"

static json_t *vectors;

static int
open_vectors(void **state)
{
	static expression_text t;
	static char lines[8192];
	vectors = json_load_file(SOURCE_FOLDER "/tests/unit/expr/vectors.json", 0, NULL);
	assert_non_null(vectors);
	json_t *rows = json_object_get(vectors, "rows");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		strcat(lines, json_string_value(json_array_get(rows, i)));
		strcat(lines, "\n");
	}
	expression_text_open(&t, json_string_value(json_object_get(vectors, "type")), lines);
	*state = &t;
	return 0;
}

static int
close_vectors(void **state)
{
	expression_text_close(*state);
	json_decref(vectors);
	return 0;
}

static void
join_results(const json_t *vector, char *to)
{
	const json_t *results = json_object_get(vector, "results");
	to[0] = '\0';
	for (size_t i = 0; i < json_array_size(results); i++) {
		if (i > 0)
			strcat(to, " | ");
		strcat(to, json_string_value(json_array_get(results, i)));
	}
}

static void
check_values(expression_text *t, const char *text, const char *expected, const char *original)
{
	const char *got = expression_text_values(t, text);
	if (strcmp(got, expected) != 0)
		fail_msg("%s\n  (written: %s)\n  gives    %s\n  expected %s", text, original, got, expected);
}

static void
each_expression_gives_what_the_other_engine_gives(void **state)
{
	static char expected[EXPRESSION_TEXT_MAX];
	const json_t *list = json_object_get(vectors, "vectors");
	assert_true(json_array_size(list) >= 500);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_object_get(json_array_get(list, i), "text"));
		join_results(json_array_get(list, i), expected);
		check_values(*state, text, expected, text);
	}
}

static void
each_printed_expression_is_the_same_expression(void **state)
{
	static char expected[EXPRESSION_TEXT_MAX], printed[4096];
	const json_t *list = json_object_get(vectors, "vectors");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_object_get(json_array_get(list, i), "text"));
		join_results(json_array_get(list, i), expected);
		snprintf(printed, sizeof(printed), "%s", expression_text_printed(*state, text));
		check_values(*state, printed, expected, text);
		if (strcmp(expression_text_printed(*state, printed), printed) != 0)
			fail_msg("%s\n  is printed as %s", printed, expression_text_printed(*state, printed));
	}
}

static void
select_takes_the_rows_where_the_value_is_true(void **state)
{
	expression_text *t = *state;
	const json_t *list = json_object_get(vectors, "vectors");
	size_t filters = 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *vector = json_array_get(list, i), *results = json_object_get(vector, "results");
		const char *text = json_string_value(json_object_get(vector, "text"));
		char expected[256] = "";
		if (strncmp(expression_text_type(t, text), "bool", 4) != 0)
			continue;
		filters++;
		for (size_t row = 0; row < json_array_size(results); row++)
			if (strcmp(json_string_value(json_array_get(results, row)), "true") == 0)
				sprintf(expected + strlen(expected), "%s%zu", expected[0] == '\0' ? "" : " ", row);
		if (strcmp(expression_text_selected(t, text), expected) != 0)
			fail_msg("%s selects %s, not %s", text, t->text, expected);
	}
	assert_true(filters > 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_expression_gives_what_the_other_engine_gives),
		cmocka_unit_test(each_printed_expression_is_the_same_expression),
		cmocka_unit_test(select_takes_the_rows_where_the_value_is_true),
	};
	return cmocka_run_group_tests(tests, open_vectors, close_vectors);
}
