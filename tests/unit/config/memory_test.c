/* Out of memory at any allocation: never a crash, never a clean answer that is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "options/options.h"
#include "support/config_text.h"

#define OPTION(variable, ...)                                                                                          \
	static const flow_option variable = { .struct_size = FLOW_SIZEOF(flow_option), __VA_ARGS__ }

OPTION(o_text, .name = "text", .type = FLOW_OPTION_STRING, .flags = FLOW_OPTION_REQUIRED);
OPTION(o_path, .name = "path", .type = FLOW_OPTION_PATH);
OPTION(o_size, .name = "size", .type = FLOW_OPTION_SIZE, .default_text = "64KiB");
OPTION(o_key, .name = "key", .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_STRING);
OPTION(o_map, .name = "map", .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_ANY);
static const flow_option *const members[] = { &o_size, NULL };
OPTION(o_group, .name = "group", .type = FLOW_OPTION_GROUP, .members = members);
static const flow_option *const options[] = { &o_text, &o_path, &o_size, &o_key, &o_map, &o_group, NULL };
static const flow_option_set set = { FLOW_SIZEOF(flow_option_set), 0, "", "", options };
static const flow_option_set *const sets[] = { &set, NULL };

static const char file_text[] = "streams: { s: {\n"
								"@include \"part.conf\"\n"
								"text = \"t\"; path = \"p\"; key = [\"a\", \"b\"]; group: { size = \"1KiB\"; }; }; };\n"
								"jobs: { j: { streams: { s: { size = \"2KiB\"; }; }; }; };\n";
static const char part_text[] = "map: { a: { b = 1; }; c = 2.5; };\n";

/* Returns 1 if all went well, 0 if a problem was reported or something was NULL. Arenas allocate in chunks: the padding decides
 * which of their users meets the end of one. */
static int
run(size_t padding)
{
	arena *a = arena_create();
	for (size_t used = 0; a != NULL && used < padding; used += 64)
		arena_allocate(a, 64);
	problems *list = a == NULL ? NULL : problems_create(a);
	config *c = list == NULL ? NULL : config_create(a, list);
	int well = c != NULL && config_load(c, "flowd.conf") && config_set_command(c, "streams.s.text=other");
	if (well) {
		config_use_job(c, "j");
		config_names(c, "streams");
		const setting *group = config_effective(c, "streams", "s");
		options_request request = {
			.sets = sets, .group = group, .path = "streams.s", .name = "s", .base_folder = "/b"
		};
		const flow_options *result = group == NULL ? NULL : options_resolve(a, &request, list);
		well = result != NULL && list->errors == 0;
		if (well) {
			assert_true(flow_slice_is(flow_option_text(result, "text"), "other"));
			assert_int_equal(flow_option_int(result, "size", 0), 2048);
			assert_int_equal(flow_option_get(result, "map")->entry_count, 2);
			setting_print(a, group);
		}
	}
	if (!well && list != NULL)
		assert_true(list->errors > 0 || c == NULL);
	arena_destroy(a);
	return well;
}

static void
given_too_little_memory_when_loaded_and_resolved_then_it_is_reported_or_harmless(void **state)
{
	(void)state;
	config_text t;
	config_text_open(&t);
	config_text_write("flowd.conf", file_text, sizeof(file_text) - 1);
	config_text_write("part.conf", part_text, sizeof(part_text) - 1);
	memory_fail_at(UINT64_MAX, 0);
	assert_true(run(1));
	uint64_t total = memory_fail_at(0, 0);
	assert_true(total > 5);
	for (size_t padding = 64; padding < 16384; padding += 64) {
		for (uint64_t n = 1; n <= total; n++) {
			for (int all = 0; all < 2; all++) {
				memory_fail_at(n, all);
				run(padding);
				memory_fail_at(0, 0);
			}
		}
	}
	config_text_close(&t);
}

/* Values so large that each has memory of its own. */
#define LARGE ((size_t)100 * 1000)

static const char *
problems_without_one_allocation(config_text *t, uint64_t n)
{
	memory_fail_at(n, 0);
	config_text_load(t, "links: { a: {\n v: { env = \"FLOWD_TEST_LARGE\"; };\n f: { file = \"large\"; }; }; };");
	memory_fail_at(0, 0);
	return config_text_problems(t);
}

static void
given_too_little_memory_for_a_value_from_outside_when_resolved_then_the_value_is_named(void **state)
{
	(void)state;
	static const char *const expected[] = {
		"flowd.conf:2: links.a.v: the environment variable FLOWD_TEST_LARGE cannot be kept: out of memory\n",
		"flowd.conf:3: links.a.f: the file large cannot be read: out of memory\n",
	};
	char *large = malloc(LARGE + 1);
	assert_non_null(large);
	memset(large, 'x', LARGE);
	large[LARGE] = '\0';
	setenv("FLOWD_TEST_LARGE", large, 1);
	uint32_t found = 0;
	for (uint64_t n = 1, last = 0; !last; n++) {
		config_text t;
		config_text_open(&t);
		config_text_write("large", large, LARGE);
		const char *reported = problems_without_one_allocation(&t, n);
		for (uint32_t i = 0; i < FLOW_COUNT(expected); i++)
			found |= (uint32_t)(strcmp(reported, expected[i]) == 0) << i;
		last = reported[0] == '\0';
		config_text_close(&t);
	}
	assert_int_equal(found, 3);
	unsetenv("FLOWD_TEST_LARGE");
	free(large);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_too_little_memory_when_loaded_and_resolved_then_it_is_reported_or_harmless),
		cmocka_unit_test(given_too_little_memory_for_a_value_from_outside_when_resolved_then_the_value_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
