/* Resolving options: every type, all problems at once, conditions, defaults, references, secrets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "options/options.h"
#include "support/config_text.h"

#define OPTION(variable, ...)                                                                                          \
	static const flow_option variable = { .struct_size = FLOW_SIZEOF(flow_option), .doc = "Doc.", __VA_ARGS__ }

static const char *const modes[] = { "append\tadds rows", "upsert", "replace", NULL };

OPTION(option_name, .name = "name", .type = FLOW_OPTION_STRING, .flags = FLOW_OPTION_REQUIRED);
OPTION(option_path, .name = "path", .type = FLOW_OPTION_PATH);
OPTION(option_count, .name = "count", .type = FLOW_OPTION_INT, .minimum = "1", .maximum = "64", .default_text = "4");
OPTION(option_ratio, .name = "ratio", .type = FLOW_OPTION_FLOAT, .maximum = "1.5");
OPTION(option_bounded, .name = "bounded", .type = FLOW_OPTION_BOOL, .default_text = "true");
OPTION(option_buffer, .name = "buffer", .type = FLOW_OPTION_SIZE, .default_text = "64KiB", .minimum = "1KiB");
OPTION(option_lag, .name = "lag", .type = FLOW_OPTION_DURATION);
OPTION(option_mode, .name = "mode", .type = FLOW_OPTION_ENUM, .choices = modes);
OPTION(option_key, .name = "key", .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_STRING, .flags = FLOW_OPTION_OR_ONE,
	   .condition = "mode=upsert|replace");
OPTION(option_plain, .name = "plain", .type = FLOW_OPTION_BOOL, .condition = "!mode");
OPTION(option_columns, .name = "columns", .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_STRING);
OPTION(option_extra, .name = "extra", .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_ANY);
OPTION(option_password, .name = "password", .type = FLOW_OPTION_SECRET);
OPTION(option_system, .name = "system", .type = FLOW_OPTION_REFERENCE, .refers_to = "system");
OPTION(option_since, .name = "since", .type = FLOW_OPTION_DATETIME);
OPTION(option_tumbling, .name = "tumbling", .type = FLOW_OPTION_DURATION, .flags = FLOW_OPTION_REQUIRED);
OPTION(option_order, .name = "out_of_order", .type = FLOW_OPTION_DURATION, .default_text = "0s");
static const flow_option *const window_members[] = { &option_tumbling, &option_order, NULL };
OPTION(option_window, .name = "window", .type = FLOW_OPTION_GROUP, .members = window_members);
OPTION(option_retry, .name = "retry", .type = FLOW_OPTION_GROUP, .members = window_members + 1, .default_text = "{}");
OPTION(option_windows, .name = "windows", .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_GROUP,
	   .members = window_members);
OPTION(option_tags, .name = "tags", .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_INT, .minimum = "0",
	   .default_text = "1, 2");

static flow_status
refuse_odd(const flow_option_value *value, const flow_error_ops *errors, flow_error *error)
{
	if (value->text.size == 0 || value->text.data[0] != 'x')
		return FLOW_OK;
	va_list none;
	memset(&none, 0, sizeof(none));
	errors->set(error, FLOW_E_ARGUMENT, "texts that begin with x are not wanted", none);
	return FLOW_E_ARGUMENT;
}
OPTION(option_checked, .name = "checked", .type = FLOW_OPTION_STRING, .validate = refuse_odd);

static const flow_option *const all_options[] = {
	&option_name,  &option_path,   &option_count, &option_ratio,   &option_bounded, &option_buffer,   &option_lag,
	&option_mode,  &option_key,    &option_plain, &option_columns, &option_extra,   &option_password, &option_system,
	&option_since, &option_window, &option_retry, &option_windows, &option_tags,    &option_checked,  NULL,
};
static const flow_option_set all_set = { FLOW_SIZEOF(flow_option_set), 0, "", "Doc.", all_options };
static const flow_option_set *const sets[] = { &all_set, NULL };

static size_t
systems(void *context, const char *kind, const char **candidates, size_t capacity)
{
	static const char *const names[] = { "files", "local" };
	(void)context;
	if (strcmp(kind, "system") != 0)
		return OPTIONS_NAMES_UNKNOWN;
	for (size_t i = 0; i < 2 && i < capacity; i++)
		candidates[i] = names[i];
	return 2;
}

/* Resolves the group `x` of a configuration. */
static const flow_options *
resolve(config_text *t, const char *body)
{
	static const options_names names = { systems, NULL };
	char *text = arena_format(t->arena, "job: {\nx: {\n%s\n};\n};\n", body);
	assert_true(config_text_load(t, text));
	const setting *group = setting_child(config_root(t->config, "job"), "x");
	options_request request = { .sets = sets,
								.group = group,
								.path = "job.x",
								.file = "flowd.conf",
								.line = 2,
								.name = "x",
								.base_folder = "/base",
								.names = &names };
	const flow_options *result = options_resolve(t->arena, &request, t->list);
	assert_non_null(result);
	return result;
}

static int
setup(void **state)
{
	static config_text t;
	config_text_open(&t);
	*state = &t;
	return 0;
}

static int
teardown(void **state)
{
	config_text_close(*state);
	return 0;
}

static void
given_right_values_when_resolved_then_each_type_has_its_value_and_place(void **state)
{
	config_text *t = *state;
	const flow_options *o = resolve(
		t, "name = \"n\"; path = \"data/a.csv\"; count = 64; ratio = 1; bounded = false;\n"
		   "buffer = \"2KiB\"; lag = \"5s\"; mode = \"upsert\"; key = \"id\"; password = \"p\"; system = \"files\";\n"
		   "since = \"2013-01-01T10:00:00Z\"; window: { tumbling = \"5m\"; }; checked = \"ok\";");
	assert_string_equal(config_text_problems(t), "");
	assert_true(flow_slice_is(flow_option_text(o, "name"), "n"));
	assert_true(flow_slice_is(flow_option_text(o, "path"), "/base/data/a.csv"));
	assert_int_equal(flow_option_int(o, "count", 0), 64);
	assert_true(flow_option_float(o, "ratio", 0) == 1.0);
	assert_int_equal(flow_option_bool(o, "bounded", 1), 0);
	assert_int_equal(flow_option_int(o, "buffer", 0), 2048);
	assert_int_equal(flow_option_int(o, "lag", 0), 5000000);
	assert_int_equal(flow_option_get(o, "key")->entry_count, 1);
	assert_true(flow_slice_is(flow_option_get(o, "key")->entries[0]->value->text, "id"));
	assert_int_equal(flow_option_int(o, "window.tumbling", 0), 300000000);
	assert_int_equal(flow_option_int(o, "window.out_of_order", -1), 0);
	assert_true(flow_slice_is(flow_option_get(o, "name")->place, "flowd.conf:3"));
	assert_true(flow_slice_is(o->name, "x"));
	assert_true(flow_slice_is(o->place, "flowd.conf:2"));
}

static void
given_nothing_set_when_resolved_then_defaults_are_there_and_absent_stays_absent(void **state)
{
	config_text *t = *state;
	const flow_options *o = resolve(t, "name = \"n\";");
	assert_string_equal(config_text_problems(t), "");
	assert_int_equal(flow_option_int(o, "count", 0), 4);
	assert_int_equal(flow_option_bool(o, "bounded", 0), 1);
	assert_int_equal(flow_option_int(o, "buffer", 0), 65536);
	assert_null(flow_option_get(o, "ratio"));
	assert_null(flow_option_get(o, "window"));
	assert_non_null(flow_option_get(o, "retry.out_of_order"));
	assert_int_equal(flow_option_get(o, "tags")->entry_count, 2);
	assert_int_equal(flow_option_get(o, "tags")->entries[1]->value->integer, 2);
	assert_true(flow_slice_is(flow_option_get(o, "count")->place, "default"));
}

static void
given_wrong_types_when_resolved_then_all_are_reported_with_both_types(void **state)
{
	config_text *t = *state;
	resolve(t, "name = 5;\npath = [\"a\"];\ncount = 2.7;\nbounded = \"true\";\nlag = 300;\nmode = true;\ncolumns = 1;\n"
			   "window = \"1h\";\nratio = \"1\";\ntags = 3;\nextra: { a = [1]; };\nbuffer = 1.5;\nkey: { a = 1; };");
	assert_string_equal(config_text_problems(t),
						"flowd.conf:3: job.x.name: expected string, found integer\n"
						"flowd.conf:4: job.x.path: expected string, found array\n"
						"flowd.conf:5: job.x.count: expected integer, found float\n"
						"flowd.conf:6: job.x.bounded: expected boolean, found string\n"
						"flowd.conf:7: job.x.lag: expected duration with a unit such as \"5s\", found integer\n"
						"flowd.conf:8: job.x.mode: expected one of \"append\", \"upsert\", \"replace\", found boolean\n"
						"flowd.conf:9: job.x.columns: expected group, found integer\n"
						"flowd.conf:10: job.x.window: expected group, found string\n"
						"flowd.conf:11: job.x.ratio: expected number, found string\n"
						"flowd.conf:12: job.x.tags: expected list, found integer\n"
						"flowd.conf:13: job.x.extra.a: expected string, number or boolean, found array\n"
						"flowd.conf:14: job.x.buffer: expected size such as \"64KiB\", found float\n"
						"flowd.conf:15: job.x.key: expected list or string, found group\n");
}

static void
given_misspelt_names_when_resolved_then_the_likely_words_are_named(void **state)
{
	config_text *t = *state;
	resolve(t, "nmae = \"n\";\nmode = \"upsret\";\nsystem = \"flies\";\nwindow: { tumblng = \"1h\"; };\nzzzzzz = 1;");
	assert_string_equal(config_text_problems(t),
						"flowd.conf:3: job.x.nmae: unknown option, did you mean \"name\"?\n"
						"flowd.conf:4: job.x.mode: \"upsret\" is not one of \"append\", \"upsert\", \"replace\","
						" did you mean \"upsert\"?\n"
						"flowd.conf:5: job.x.system: there is no system \"flies\", did you mean \"files\"?\n"
						"flowd.conf:6: job.x.window.tumblng: unknown option, did you mean \"tumbling\"?\n"
						"flowd.conf:7: job.x.zzzzzz: unknown option\n");
}

static void
given_values_out_of_bounds_when_resolved_then_the_bounds_are_named(void **state)
{
	config_text *t = *state;
	resolve(t, "name = \"n\";\ncount = 65;\nratio = 1.6;\nbuffer = \"1B\";\ntags = [5, -1];\nchecked = \"xyz\";");
	assert_string_equal(config_text_problems(t),
						"flowd.conf:4: job.x.count: 65 is not between 1 and 64\n"
						"flowd.conf:5: job.x.ratio: 1.6 is more than the maximum 1.5\n"
						"flowd.conf:6: job.x.buffer: \"1B\" is less than the minimum 1KiB\n"
						"flowd.conf:7: job.x.tags[1]: -1 is less than the minimum 0\n"
						"flowd.conf:8: job.x.checked: texts that begin with x are not wanted\n");
}

static void
given_a_required_option_when_missing_then_the_place_of_the_group_is_named(void **state)
{
	config_text *t = *state;
	resolve(t, "window: { };");
	assert_string_equal(config_text_problems(t), "flowd.conf:2: job.x.name: the option is required\n"
												 "flowd.conf:3: job.x.window.tumbling: the option is required\n");
}

static void
given_conditions_when_they_do_not_hold_then_the_option_is_refused(void **state)
{
	config_text *t = *state;
	resolve(t, "name = \"n\"; mode = \"append\";\nkey = [\"id\"];\nplain = true;");
	assert_string_equal(config_text_problems(t),
						"flowd.conf:4: job.x.key: the option is valid only with mode=upsert|replace\n"
						"flowd.conf:5: job.x.plain: the option is valid only where there is no mode\n");
}

static void
given_a_condition_on_a_wrong_value_when_resolved_then_one_mistake_is_one_message(void **state)
{
	config_text *t = *state;
	resolve(t, "name = \"n\"; mode = 3; key = [\"id\"];");
	assert_int_equal(t->list->errors, 1);
}

static void
given_maps_in_three_spellings_when_resolved_then_names_are_joined_by_dots(void **state)
{
	config_text *t = *state;
	const flow_options *o = resolve(t, "name = \"n\"; columns: { a = \"1\"; b: { c = \"2\"; d: { e = \"3\"; }; }; };\n"
									   "extra = ( { name = \"x.y\"; value = 7; }, { name = \"z\"; value = true; } );");
	assert_string_equal(config_text_problems(t), "");
	const flow_option_value *columns = flow_option_get(o, "columns");
	assert_int_equal(columns->entry_count, 3);
	assert_true(flow_slice_is(columns->entries[1]->name, "b.c"));
	assert_true(flow_slice_is(columns->entries[2]->name, "b.d.e"));
	const flow_option_value *extra = flow_option_get(o, "extra");
	assert_true(flow_slice_is(extra->entries[0]->name, "x.y"));
	assert_int_equal(extra->entries[0]->value->type, FLOW_OPTION_INT);
	assert_int_equal(extra->entries[1]->value->type, FLOW_OPTION_BOOL);
}

static void
given_a_map_with_a_name_twice_or_an_item_of_another_form_when_resolved_then_it_is_refused(void **state)
{
	config_text *t = *state;
	resolve(t,
			"name = \"n\"; extra = ( { name = \"x\"; value = 7; },\n{ name = \"x\"; value = 8; },\n{ nam = 1; }, 5 );");
	assert_string_equal(config_text_problems(t),
						"flowd.conf:4: job.x.extra[1].value: \"x\" is set twice; the first is at flowd.conf:3\n"
						"flowd.conf:5: job.x.extra[2]: expected { name = \"...\"; value = ...; },"
						" found group with other members\n"
						"flowd.conf:5: job.x.extra[3]: expected { name = \"...\"; value = ...; }, found integer\n");
}

static void
given_a_list_of_groups_when_resolved_then_each_item_has_its_members(void **state)
{
	config_text *t = *state;
	const flow_options *o =
		resolve(t, "name = \"n\"; windows = ( { tumbling = \"1s\"; },\n{ tumbling = \"2s\"; typo = 1; } );");
	assert_string_equal(config_text_problems(t), "flowd.conf:4: job.x.windows[1].typo: unknown option\n");
	const flow_option_value *windows = flow_option_get(o, "windows");
	assert_int_equal(windows->entry_count, 2);
	assert_int_equal(windows->entries[1]->value->entries[0]->value->integer, 2000000);
}

static void
given_a_value_from_the_environment_when_resolved_then_its_type_is_the_options(void **state)
{
	config_text *t = *state;
	setenv("FLOWD_TEST_COUNT", "7", 1);
	setenv("FLOWD_TEST_WRONG", "hunter2", 1);
	const flow_options *o =
		resolve(t, "name = \"n\"; count: { env = \"FLOWD_TEST_COUNT\"; };\n"
				   "ratio: { env = \"FLOWD_TEST_WRONG\"; };\nmode: { env = \"FLOWD_TEST_WRONG\"; };\n"
				   "lag: { env = \"FLOWD_TEST_WRONG\"; };");
	assert_int_equal(flow_option_int(o, "count", 0), 7);
	assert_int_equal(t->list->errors, 3);
	assert_null(strstr(config_text_problems(t), "hunter2"));
}

static void
given_a_secret_option_when_resolved_then_its_setting_is_masked_from_then_on(void **state)
{
	config_text *t = *state;
	const flow_options *o = resolve(t, "name = \"n\"; password = \"hunter2\";");
	assert_true(flow_slice_is(flow_option_text(o, "password"), "hunter2"));
	assert_string_equal(setting_print(t->arena, config_explain(t->config, "job.x.password")), "********");
	assert_null(strstr(setting_print(t->arena, config_root(t->config, "job")), "hunter2"));
}

static void
given_names_that_somebody_else_reads_when_resolved_then_they_are_left_alone(void **state)
{
	config_text *t = *state;
	static const char *const ignore[] = { "flow", NULL };
	assert_true(config_text_load(t, "job: { name = \"n\"; flow = 5; flwo = 6; };"));
	options_request request = { .sets = sets, .group = config_root(t->config, "job"), .path = "job", .ignore = ignore };
	assert_non_null(options_resolve(t->arena, &request, t->list));
	assert_string_equal(config_text_problems(t), "flowd.conf:1: job.flwo: unknown option, did you mean \"flow\"?\n");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(given_right_values_when_resolved_then_each_type_has_its_value_and_place),
		TEST(given_nothing_set_when_resolved_then_defaults_are_there_and_absent_stays_absent),
		TEST(given_wrong_types_when_resolved_then_all_are_reported_with_both_types),
		TEST(given_misspelt_names_when_resolved_then_the_likely_words_are_named),
		TEST(given_values_out_of_bounds_when_resolved_then_the_bounds_are_named),
		TEST(given_a_required_option_when_missing_then_the_place_of_the_group_is_named),
		TEST(given_conditions_when_they_do_not_hold_then_the_option_is_refused),
		TEST(given_a_condition_on_a_wrong_value_when_resolved_then_one_mistake_is_one_message),
		TEST(given_maps_in_three_spellings_when_resolved_then_names_are_joined_by_dots),
		TEST(given_a_map_with_a_name_twice_or_an_item_of_another_form_when_resolved_then_it_is_refused),
		TEST(given_a_list_of_groups_when_resolved_then_each_item_has_its_members),
		TEST(given_a_value_from_the_environment_when_resolved_then_its_type_is_the_options),
		TEST(given_a_secret_option_when_resolved_then_its_setting_is_masked_from_then_on),
		TEST(given_names_that_somebody_else_reads_when_resolved_then_they_are_left_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
