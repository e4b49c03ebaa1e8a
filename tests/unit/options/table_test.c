/* What is wrong with an option table is found; what is made from a right one holds every option. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "options/describe.h"
#include "options/options.h"

#define OPTION(variable, ...)                                                                                          \
	static const flow_option variable = { .struct_size = FLOW_SIZEOF(flow_option), __VA_ARGS__ }

static const char *const codecs[] = { "none", "gzip\tgzip members", "zstd\tZstandard | frames", NULL };

OPTION(path, .name = "path", .type = FLOW_OPTION_PATH, .flags = FLOW_OPTION_REQUIRED, .doc = "Where. Then more.",
	   .example = "\"data/a.csv\"");
OPTION(codec, .name = "codec", .type = FLOW_OPTION_ENUM, .choices = codecs, .default_text = "none",
	   .doc = "How a file is packed.");
OPTION(level, .name = "level", .type = FLOW_OPTION_INT, .minimum = "1", .maximum = "9", .default_text = "6",
	   .condition = "codec=gzip|zstd", .doc = "Compression level.", .flags = FLOW_OPTION_RELOADABLE);
OPTION(roll_size, .name = "size", .type = FLOW_OPTION_SIZE, .default_text = "64MiB", .minimum = "1MiB",
	   .doc = "Size of a file.");
static const flow_option *const roll_members[] = { &roll_size, NULL };
OPTION(roll, .name = "roll", .type = FLOW_OPTION_GROUP, .members = roll_members, .doc = "When the next file begins.");
OPTION(keys, .name = "key", .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_STRING, .flags = FLOW_OPTION_OR_ONE,
	   .doc = "Keys.");
OPTION(password, .name = "password", .type = FLOW_OPTION_SECRET, .doc = "Never shown.");
static const flow_option *const right_options[] = { &path, &codec, &level, &roll, &keys, &password, NULL };
static const flow_option_set right_set = { FLOW_SIZEOF(flow_option_set), 0, "output", "Files that are written.",
										   right_options };
static const flow_option_set *const right_sets[] = { &right_set, NULL };
static const char *const served[] = { "file", ".gz", NULL };
static const describe_subject subject = { "system", "file", "Files. All of them.", right_sets, served };

typedef void (*writer)(FILE *to);

static char *
written(writer write)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	write(to);
	fclose(to);
	return text;
}

static size_t
complaints(const flow_option *const *options, const char *about)
{
	arena *a = arena_create();
	problems *list = problems_create(a);
	flow_option_set set = { FLOW_SIZEOF(flow_option_set), 0, "", "Doc.", options };
	options_check_table(&set, "test", list);
	size_t found = 0;
	for (size_t i = 0; i < list->count; i++)
		found += strstr(list->items[i]->message, about) != NULL;
	size_t count = list->count;
	arena_destroy(a);
	return count == 0 ? 0 : found;
}

static void
given_a_right_table_when_checked_then_nothing_is_said(void **state)
{
	(void)state;
	assert_int_equal(complaints(right_options, ""), 0);
}

static void
given_a_wrong_option_when_checked_then_its_mistake_is_named(void **state)
{
	(void)state;
	static const char *const twice[] = { "a", "b", "a\tagain", NULL };
	static const struct {
		flow_option option;
		const char *about;
	} wrong[] = {
		{ { .name = "Bad-Name", .type = FLOW_OPTION_STRING, .doc = "d" }, "form [a-z]" },
		{ { .name = "n", .type = FLOW_OPTION_STRING }, "no documentation" },
		{ { .name = "n", .type = 99, .doc = "d" }, "no type 99" },
		{ { .name = "n", .type = FLOW_OPTION_INT, .doc = "d", .default_text = "x" }, "expected integer" },
		{ { .name = "n", .type = FLOW_OPTION_INT, .doc = "d", .default_text = "9", .maximum = "8" },
		  "more than the maximum" },
		{ { .name = "n", .type = FLOW_OPTION_DURATION, .doc = "d", .minimum = "5" }, "minimum 5 cannot be read" },
		{ { .name = "n", .type = FLOW_OPTION_INT, .doc = "d", .minimum = "5", .maximum = "4" },
		  "more than the maximum 4" },
		{ { .name = "n", .type = FLOW_OPTION_STRING, .doc = "d", .minimum = "5" }, "type that has none" },
		{ { .name = "n", .type = FLOW_OPTION_ENUM, .doc = "d" }, "without choices" },
		{ { .name = "n", .type = FLOW_OPTION_ENUM, .doc = "d", .choices = twice }, "stands twice" },
		{ { .name = "n", .type = FLOW_OPTION_ENUM, .doc = "d", .choices = codecs, .default_text = "lz4" },
		  "is not one of" },
		{ { .name = "n", .type = FLOW_OPTION_REFERENCE, .doc = "d" }, "what it refers to" },
		{ { .name = "n", .type = FLOW_OPTION_GROUP, .doc = "d" }, "without members" },
		{ { .name = "n", .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_LIST, .doc = "d" },
		  "hold scalars or groups" },
		{ { .name = "n", .type = FLOW_OPTION_STRING, .doc = "d", .condition = "m=1" }, "no option of the same table" },
		{ { .name = "n", .type = FLOW_OPTION_STRING, .doc = "d", .condition = "m=" }, "cannot be read" },
		{ { .name = "n", .type = FLOW_OPTION_STRING, .doc = "d", .flags = FLOW_OPTION_OR_ONE }, "one bare item" },
		{ { .name = "n", .type = FLOW_OPTION_BOOL, .doc = "d", .flags = FLOW_OPTION_REQUIRED, .default_text = "true" },
		  "yet with a default" },
		{ { .name = "n", .type = FLOW_OPTION_SECRET, .doc = "d", .default_text = "s" }, "secret with a default" },
	};
	for (size_t i = 0; i < FLOW_COUNT(wrong); i++) {
		flow_option option = wrong[i].option;
		option.struct_size = FLOW_SIZEOF(flow_option);
		const flow_option *const options[] = { &option, NULL };
		if (complaints(options, wrong[i].about) != 1)
			fail_msg("no complaint about: %s", wrong[i].about);
	}
	const flow_option *const doubled[] = { &keys, &keys, NULL };
	assert_int_equal(complaints(doubled, "name stands twice"), 1);
}

static void
write_help(FILE *to)
{
	assert_int_equal(describe_help(to, &subject, NULL), 1);
}

static void
write_one(FILE *to)
{
	assert_int_equal(describe_help(to, &subject, "output.level"), 1);
	assert_int_equal(describe_help(to, &subject, "roll.size"), 1);
	assert_int_equal(describe_help(to, &subject, "roll.sise"), 0);
}

static void
given_a_table_when_helped_then_every_option_and_each_of_its_facts_is_shown(void **state)
{
	(void)state;
	char *text = written(write_help);
	for (size_t i = 0; right_options[i] != NULL; i++)
		assert_non_null(strstr(text, right_options[i]->name));
	assert_non_null(strstr(text, "roll.size"));
	assert_non_null(strstr(text, "Where.\n"));
	free(text);
	text = written(write_one);
	assert_non_null(strstr(text, "output.level: integer"));
	assert_non_null(strstr(text, "minimum    1"));
	assert_non_null(strstr(text, "maximum    9"));
	assert_non_null(strstr(text, "codec=gzip|zstd"));
	assert_non_null(strstr(text, "without a restart"));
	assert_non_null(strstr(text, "default    64MiB"));
	free(text);
}

static void
write_markdown(FILE *to)
{
	describe_markdown(to, &subject, 2);
}

static void
given_a_table_when_written_as_markdown_then_each_row_has_four_cells(void **state)
{
	(void)state;
	char *text = written(write_markdown);
	assert_non_null(strstr(text, "## file\n"));
	size_t rows = 0;
	char *rest = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		if (line[0] != '|')
			continue;
		size_t bars = 0;
		for (const char *c = line; *c != '\0'; c++)
			bars += *c == '|' && (c == line || c[-1] != '\\');
		assert_int_equal(bars, 5);
		rows++;
	}
	assert_int_equal(rows, 2 + 7);
	free(text);
}

static void
write_schema(FILE *to)
{
	describe_schema(to, &right_set);
}

static void
given_a_table_when_written_as_schema_then_it_is_json_with_types_bounds_and_required(void **state)
{
	(void)state;
	char *text = written(write_schema);
	json_t *schema = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(schema);
	const json_t *properties = json_object_get(schema, "properties");
	assert_int_equal(json_object_size(properties), 6);
	assert_string_equal(json_string_value(json_array_get(json_object_get(schema, "required"), 0)), "path");
	const json_t *number = json_object_get(properties, "level");
	assert_int_equal(json_integer_value(json_object_get(number, "maximum")), 9);
	assert_int_equal(json_integer_value(json_object_get(number, "default")), 6);
	assert_int_equal(json_array_size(json_object_get(json_object_get(properties, "codec"), "enum")), 3);
	assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
	assert_non_null(json_object_get(json_object_get(json_object_get(properties, "roll"), "properties"), "size"));
	json_decref(schema);
	free(text);
}

static void
write_words(FILE *to)
{
	describe_words(to, &subject);
}

static void
write_sample(FILE *to)
{
	describe_sample(to, &right_set, 1);
}

static void
given_a_table_when_written_for_completion_then_each_line_has_five_fields(void **state)
{
	(void)state;
	char *text = written(write_words);
	assert_non_null(strstr(text, "output.codec\tenum\tnone\tnone,gzip,zstd\tHow a file is packed.\n"));
	assert_non_null(strstr(text, "output.roll.size\tsize\t64MiB\t\tSize of a file.\n"));
	free(text);
	arena *a = arena_create();
	const char *paths[16];
	assert_int_equal(describe_paths(a, &subject, paths, FLOW_COUNT(paths)), 7);
	assert_string_equal(paths[4], "output.roll.size");
	arena_destroy(a);
	text = written(write_sample);
	assert_non_null(strstr(text, "  path = \"data/a.csv\";\n"));
	assert_non_null(strstr(text, "  # level = 6;\n"));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_a_right_table_when_checked_then_nothing_is_said),
		cmocka_unit_test(given_a_wrong_option_when_checked_then_its_mistake_is_named),
		cmocka_unit_test(given_a_table_when_helped_then_every_option_and_each_of_its_facts_is_shown),
		cmocka_unit_test(given_a_table_when_written_as_markdown_then_each_row_has_four_cells),
		cmocka_unit_test(given_a_table_when_written_as_schema_then_it_is_json_with_types_bounds_and_required),
		cmocka_unit_test(given_a_table_when_written_for_completion_then_each_line_has_five_fields),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
