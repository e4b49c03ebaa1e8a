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
	assert_non_null(strstr(reported, "warning"));
	assert_non_null(strstr(reported, "none.csv"));
	t->flags = 0;
	reported = plan_text_problems(t, conf);
	assert_null(t->plan);
	assert_int_equal(t->text.list->errors, 1);
	assert_non_null(strstr(reported, "flowd.conf:2: application.inputs.a: input 'a': "));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, plan_text_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_the_quickstart_when_planned_over_real_plugins_then_types_and_stages_are_as_meant),
		TEST(given_the_quickstart_with_a_table_in_memory_when_planned_then_its_input_is_read_anew),
		TEST(given_a_file_that_is_not_there_when_planned_then_it_is_an_error_and_offline_a_warning),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
