/* Every function has an example that holds, and the reference has a section that was written from the table.
 *
 * After a change of the table: build/tests/test.expr.reference --write writes the section anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expr/function.h"
#include "support/expression_text.h"

#define REFERENCE SOURCE_FOLDER "/docs/reference/expressions.md"
#define START "<!-- functions: written by tests/unit/expr/reference_test.c -->\n"
#define END "<!-- end of functions -->\n"

static void
every_example_holds(void **state)
{
	(void)state;
	char text[512];
	for (size_t table = 0; function_tables[table] != NULL; table++)
		for (const function *fn = function_tables[table]; fn->name != NULL; fn++) {
			size_t size = strlen(fn->example);
			if (size > 7 && strcmp(fn->example + size - 7, " = null") == 0)
				snprintf(text, sizeof(text), "(%.*s) is null", (int)(size - 7), fn->example);
			else
				snprintf(text, sizeof(text), "%s", fn->example);
			if (strcmp(expression_text_value(text), "true") != 0)
				fail_msg("the example of %s does not hold: %s", fn->name, fn->example);
		}
}

static void
write_section(FILE *to)
{
	const char *group = "";
	fputs(START, to);
	for (size_t table = 0; function_tables[table] != NULL; table++)
		for (const function *fn = function_tables[table]; fn->name != NULL; fn++) {
			if (strcmp(group, fn->group) != 0)
				fprintf(to, "\n### %s\n\n| function | what it gives | example |\n|---|---|---|\n", fn->group);
			group = fn->group;
			fprintf(to, "| `%s` | %s | `%s` |\n", fn->signature, fn->doc, fn->example);
		}
	fputs("\n" END, to);
}

static char *
read_reference(void)
{
	FILE *file = fopen(REFERENCE, "r");
	assert_non_null(file);
	char *text = calloc(1, 1 << 18);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 18) - 1, file) > 0);
	fclose(file);
	return text;
}

static char *
section(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	assert_non_null(memory);
	write_section(memory);
	fclose(memory);
	return text;
}

static void
the_reference_has_the_table(void **state)
{
	(void)state;
	char *expected = section(), *text = read_reference();
	if (strstr(text, expected) == NULL)
		fail_msg("docs/reference/expressions.md is behind the table of functions; run test.expr.reference --write");
	free(expected);
	free(text);
}

static int
write_reference(void)
{
	char *text = read_reference(), *start = strstr(text, START), *end = strstr(text, END);
	FILE *file = start == NULL || end == NULL ? NULL : fopen(REFERENCE, "w");
	if (file == NULL) {
		fputs("the reference has no section to write\n", stderr);
		return 1;
	}
	fwrite(text, 1, (size_t)(start - text), file);
	write_section(file);
	fputs(end + strlen(END), file);
	free(text);
	return fclose(file) != 0;
}

int
main(int count, char **arguments)
{
	if (count == 2 && strcmp(arguments[1], "--write") == 0)
		return write_reference();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_example_holds),
		cmocka_unit_test(the_reference_has_the_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
