/* The quickstart's application, planned over the plugins that flowd brings. */
#include <string.h>

#include "support/plan_text.h"

static int
setup(void **state)
{
	static plan_text t;
	plan_text_open(&t, BUILD_FOLDER "/plugins");
	*state = &t;
	return 0;
}

#define CONF(table)                                                                                                    \
	"application: { name = \"late-flights\"; parallelism = 2;\n"                                                       \
	"systems: { files: { type = \"file\"; }; };\n"                                                                     \
	"inputs: {\n"                                                                                                      \
	"  flights: { system = \"files\"; path = \"" SOURCE_FOLDER "/conf/data/flights-2013-01.csv.zst\";\n"               \
	"    serde: { type = \"csv\"; null_token = [\"NA\"]; fields: { dep_delay = \"int64?\"; time_hour = "               \
	"\"timestamp\"; }; "                                                                                               \
	"}; };\n"                                                                                                          \
	"  carriers: { system = \"files\"; path = \"" SOURCE_FOLDER "/conf/data/carriers.csv\"; serde = \"csv\"; "         \
	"bootstrap = true; }; };\n"                                                                                        \
	"outputs: { late: { system = \"files\"; path = \"late.jsonl\"; serde = \"json\"; }; };\n"                          \
	"tables: { carrier: { type = \"" table "\"; }; };\n"                                                               \
	"flow: ( { name = \"names\"; from = \"carriers\"; key_by = \"carrier\"; },\n"                                      \
	"{ write_table = \"carrier\"; },\n"                                                                                \
	"{ name = \"delayed\"; from = \"flights\"; where = \"dep_delay > 15\"; },\n"                                       \
	"{ name = \"hourly\"; key_by = \"carrier\"; },\n"                                                                  \
	"{ name = \"counts\"; window: { tumbling = \"1h\"; time = \"time_hour\"; out_of_order = \"1d\"; start = "          \
	"\"hour\"; };\n"                                                                                                   \
	"  aggregate: { flights = \"count(*)\"; mean_dep_delay = \"avg(dep_delay)\"; }; },\n"                              \
	"{ join_table = \"carrier\"; },\n"                                                                                 \
	"{ project = [\"hour\", \"carrier\", \"name\", \"flights\", \"mean_dep_delay\"]; to = \"late\"; } ); };\n"

static void
given_the_quickstart_when_planned_over_real_plugins_then_types_and_stages_are_as_meant(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, CONF("rocksdb"));
	assert_string_equal(plan_text_stages(t),
						"1: flights delayed counts_time hourly; 2 keyed: counts join_table_carrier "
						"project; 1: late; 1: carriers names; 2 keyed: write_table_carrier");
	const plan_stream *flights = plan_text_stream(p, "flights", FLOW_DIRECTION_INPUT);
	assert_int_equal(flights->schema->field_count, 19);
	assert_int_equal(flights->field_count, 3);
	assert_int_equal(p->bounded, 1);
	const plan_operator *late = plan_text_operator(p, "late");
	static const char *const names[] = { "hour", "carrier", "name", "flights", "mean_dep_delay" };
	for (uint32_t i = 0; i < 5; i++)
		assert_true(flow_slice_is(late->schema[0]->fields[i]->name, names[i]));
	assert_string_equal(plan_text_edge_to(p, "late")->delivery, "exactly once");
	assert_int_equal(plan_text_stream(p, "carriers", FLOW_DIRECTION_INPUT)->volatile_reader, 0);
}

static void
given_the_quickstart_with_a_table_in_memory_when_planned_then_its_input_is_read_anew(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, CONF("memory"));
	assert_int_equal(plan_text_stream(p, "carriers", FLOW_DIRECTION_INPUT)->volatile_reader, 1);
}

static void
given_a_file_that_is_not_there_when_planned_then_it_is_an_error_and_offline_a_warning(void **state)
{
	plan_text *t = *state;
	const char *conf = "application: { name = \"t\"; systems: { files: { type = \"file\"; }; };\n"
					   "inputs: { a: { system = \"files\"; path = \"none.csv\"; serde = \"csv\"; }; };\n"
					   "outputs: { o: { system = \"files\"; path = \"o.csv\"; serde = \"csv\"; }; };\n"
					   "flow: ( { from = \"a\"; to = \"o\"; } ); };\n";
	t->flags = PLAN_OFFLINE;
	const char *reported = plan_text_problems(t, conf);
	assert_null(t->plan);
	assert_int_equal(t->text.list->errors, 0);
	assert_string_equal(reported, "flowd.conf:2: warning: application.inputs.a.serde: input 'a': ./none.csv: cannot open: No such file or "
								  "directory; check the path, and that its folder is there (what depends on its fields was not "
								  "checked)\n");
	t->flags = 0;
	reported = plan_text_problems(t, conf);
	assert_null(t->plan);
	assert_int_equal(t->text.list->errors, 1);
	assert_non_null(strstr(reported, "flowd.conf:2: application.inputs.a.path: input 'a': "));
}

/* Fields that are declared need no data. */
#define DECLARED(in, out)                                                                                              \
	"application: { name = \"t\"; systems: { files: { type = \"file\"; }; };\n"                                         \
	"inputs: { a: { system = \"files\"; path = \"" in "\"; serde: { type = \"json\"; fields: { x = \"int64\"; }; }; }; };\n"  \
	"outputs: { o: { system = \"files\"; serde = \"json\";\n path = \"" out "\"; }; };\n"                             \
	"flow: ( { from = \"a\"; to = \"o\"; } ); };\n"

static void
given_files_and_folders_that_are_not_there_when_checked_offline_then_each_is_a_warning_and_the_plan_is_made(void **state)
{
	plan_text *t = *state;
	t->flags = PLAN_OFFLINE;
	assert_string_equal(plan_text_problems(t, DECLARED("none.jsonl", "gone/o.jsonl")),
						"flowd.conf:2: warning: application.inputs.a.path: input 'a': ./none.jsonl: cannot open: No such file or "
						"directory; check the path, and that its folder is there\n"
						"flowd.conf:4: warning: application.outputs.o.path: output 'o': ./gone/o.jsonl: the folder ./gone is not "
						"there; make it, or set make_folders = true for this output\n");
	assert_non_null(t->plan);
}

static void
given_a_folder_of_an_output_that_is_not_there_when_planned_then_it_is_a_warning_unless_folders_are_made(void **state)
{
	plan_text *t = *state;
	config_text_write("in.jsonl", "{}\n", 3);
	const char *reported = plan_text_problems(t, DECLARED("in.jsonl", "gone/o.jsonl"));
	assert_non_null(t->plan);
	assert_non_null(strstr(reported, "flowd.conf:4: warning: application.outputs.o.path: output 'o': ./gone/o.jsonl: the folder"));
	assert_null(strstr(reported, "inputs.a"));
}

static void
given_an_output_that_makes_its_folders_when_planned_then_nothing_is_said(void **state)
{
	plan_text *t = *state;
	config_text_write("in.jsonl", "{}\n", 3);
	assert_string_equal(plan_text_problems(t, DECLARED("in.jsonl", "gone/o.jsonl\"; make_folders = true; compression = \"none")), "");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, plan_text_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_the_quickstart_when_planned_over_real_plugins_then_types_and_stages_are_as_meant),
		TEST(given_the_quickstart_with_a_table_in_memory_when_planned_then_its_input_is_read_anew),
		TEST(given_a_file_that_is_not_there_when_planned_then_it_is_an_error_and_offline_a_warning),
		TEST(given_files_and_folders_that_are_not_there_when_checked_offline_then_each_is_a_warning_and_the_plan_is_made),
		TEST(given_a_folder_of_an_output_that_is_not_there_when_planned_then_it_is_a_warning_unless_folders_are_made),
		TEST(given_an_output_that_makes_its_folders_when_planned_then_nothing_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
