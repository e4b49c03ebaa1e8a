/* Inputs that a consumer group shares with other processes: what they may feed, and what each edge promises. */
#include <string.h>

#include "support/plan_text.h"

/* Steps stand from line 8 on. */
#define HEAD(job, input, output)                                                                                       \
	"application: { name = \"t\"; " job "\n"                                                                           \
	"systems: { local: { type = \"messaging\"; serde: { key = \"string\"; value: { type = \"json\";\n"                 \
	"  types: { x = \"int64\"; y = \"string\"; }; }; }; }; };\n"                                                       \
	"inputs: { a: { system = \"local\"; partitions = 3; group = true; " input " }; b: { system = \"local\"; }; };\n"   \
	"outputs: { o: { system = \"local\"; " output " }; p: { system = \"local\"; promise = \"resumable\"; };\n"         \
	"  q: { system = \"local\"; promise = \"again\"; }; };\ntables: { d: { type = \"durable\"; }; };\n"
#define FLOW(job, input, output, steps) HEAD(job, input, output) "flow: (\n" steps "\n); };\n"
#define ONE_PHASE "promise = \"one_phase\"; takes_positions = true;"

static void
expect(void **state, const char *conf, const char *expected)
{
	assert_string_equal(plan_text_problems(*state, conf), expected);
}

static const char *
delivery_to(void **state, const char *name)
{
	plan_text *t = *state;
	return plan_text_edge_to(t->plan, name)->delivery;
}

static void
given_a_group_input_when_it_feeds_steps_without_state_then_it_is_planned_and_printed(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(
		t, FLOW("parallelism = 2;", "", "", "{ name = \"w\"; from = \"a\"; where = \"x > 1\"; to = \"o\"; }"));
	assert_int_equal(plan_text_stream(p, "a", FLOW_DIRECTION_INPUT)->self_assigned, 1);
	assert_string_equal(plan_text_stages(t), "2: a w o");
	assert_non_null(strstr(plan_text_printed(t, plan_print_text), "unbounded, shared by group, 3 partitions"));
	assert_non_null(strstr(plan_text_printed(t, plan_print_json), "\"shared_by_group\": true"));
}

static void
given_a_group_input_when_a_step_keeps_state_then_it_is_refused_with_the_reason(void **state)
{
	expect(state,
		   FLOW("", "", "",
				"{ name = \"n\"; from = \"a\"; global = true; aggregate: { n = \"count(*)\"; }; to = \"o\"; }"),
		   "flowd.conf:9: application.flow[0]: 'n' keeps state, and input 'a' is shared with other processes by a "
		   "consumer group: a partition that goes to another process would leave its state behind; read the input "
		   "without a group\n"
		   "flowd.conf:9: application.flow[0]: the records are partitioned anew (global), but input 'a' is shared with "
		   "other processes by a consumer group, and records do not go from process to process; read the input without "
		   "a group\n");
}

static void
given_a_group_input_when_it_is_partitioned_by_key_then_it_is_refused(void **state)
{
	expect(state, FLOW("", "", "", "{ name = \"k\"; from = \"a\"; key_by = \"y\"; to = \"o\"; }"),
		   "flowd.conf:9: application.flow[0].key_by: the records are partitioned anew (key), but input 'a' is shared "
		   "with "
		   "other processes by a consumer group, and records do not go from process to process; read the input without "
		   "a group\n");
}

static void
given_a_group_input_when_it_fills_a_table_of_this_process_then_it_is_refused(void **state)
{
	expect(state, FLOW("", "", "", "{ from = \"a\"; write_table = \"d\"; }"),
		   "flowd.conf:9: application.flow[0]: table 'd' lives in this process, and input 'a' is shared with other "
		   "processes by a consumer group: the table would have a part of it; read the input without a group\n");
}

static void
given_a_table_filled_by_another_input_when_a_group_input_is_joined_with_it_then_it_is_planned(void **state)
{
	plan_text_plan(*state, FLOW("", "", "",
								"{ from = \"b\"; write_table = \"d\"; },\n"
								"{ from = \"a\"; join_table = \"d\"; to = \"o\"; }"));
}

static void
given_what_a_member_of_a_group_cannot_do_when_it_is_asked_for_then_it_is_refused(void **state)
{
#define ONE(option, why)                                                                                               \
	{                                                                                                                  \
		FLOW("", option " = true;", "", "{ from = \"a\"; to = \"o\"; }"),                                              \
			"flowd.conf:4: application.inputs.a." option                                                               \
			": input 'a' is shared with other processes by a consumer group, "                                         \
			"and " why "\n"                                                                                            \
	}
	static const char *const cases[][2] = {
		ONE("bounded", "one process cannot tell when all of them are at the end"),
		ONE("reset_offset", "the group keeps its position; set that of the group anew"),
	};
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		expect(state, cases[i][0], cases[i][1]);
		plan_text_teardown(state);
		plan_text_setup(state);
	}
}

static void
given_a_group_input_when_it_is_broadcast_then_it_is_refused(void **state)
{
	expect(state,
		   FLOW("", "broadcast = true;", "",
				"{ from = \"b\"; connect = \"a\"; meet: { one_is_broadcast = true; }; to = \"o\"; }"),
		   "flowd.conf:4: application.inputs.a.broadcast: input 'a' is shared with other processes by a consumer group, and "
		   "no task can read all of it\n");
}

#define THREE "{ from = \"a\"; to = \"o\"; }, { from = \"a\"; to = \"p\"; }, { from = \"a\"; to = \"q\"; }"

static void
given_a_transaction_that_takes_positions_when_planned_then_all_outputs_are_exact(void **state)
{
	plan_text *t = *state;
	plan_text_plan(t, FLOW("", "", ONE_PHASE, THREE));
	assert_int_equal(plan_text_stream(t->plan, "a", FLOW_DIRECTION_INPUT)->committed_by_output, 1);
	assert_string_equal(delivery_to(state, "o"), "exactly once");
	assert_string_equal(delivery_to(state, "p"), "exactly once");
	assert_string_equal(delivery_to(state, "q"), "at least once, writing again changes nothing");
	assert_non_null(
		strstr(plan_text_printed(t, plan_print_text), "shared by group, positions in the output's transaction"));
}

static void
given_outputs_that_take_no_positions_when_planned_then_they_are_at_least_once(void **state)
{
	static const char *const outputs[] = { "promise = \"one_phase\";", "", ONE_PHASE " delivery = \"at_least_once\";" };
	for (size_t i = 0; i < FLOW_COUNT(outputs); i++) {
		char conf[2048];
		snprintf(conf, sizeof(conf), FLOW("", "", "%s", THREE), outputs[i]);
		plan_text_plan(*state, conf);
		assert_string_equal(delivery_to(state, "o"), "at least once");
		assert_string_equal(delivery_to(state, "p"), "at least once");
		assert_string_equal(delivery_to(state, "q"), "at least once, writing again changes nothing");
		plan_text_teardown(state);
		plan_text_setup(state);
	}
}

static void
given_a_transaction_of_another_system_when_planned_then_it_is_at_least_once(void **state)
{
	plan_text *t = *state;
	plan_text_plan(
		t,
		"application: { name = \"t\"; systems: { near: { type = \"messaging\"; serde: { type = \"json\"; types: { x = "
		"\"int64\"; }; }; };\n far: { type = \"messaging\"; serde = \"json\"; }; };\n"
		"inputs: { a: { system = \"near\"; group = true; }; b: { system = \"near\"; }; };\n"
		"outputs: { o: { system = \"far\"; " ONE_PHASE " }; p: { system = \"far\"; promise = \"resumable\"; }; };\n"
		"flow: ( { from = \"a\"; to = \"o\"; }, { from = \"b\"; to = \"p\"; } ); };\n");
	assert_string_equal(delivery_to(state, "o"), "at least once");
	assert_string_equal(delivery_to(state, "p"), "exactly once");
}

static void
given_a_default_system_that_processes_share_when_planned_then_it_is_refused(void **state)
{
	expect(
		state,
		"application: { name = \"t\"; default_system = \"hub\"; systems: { hub: { type = \"shared\"; serde: { type = "
		"\"json\"; types: { x = \"int64\"; }; }; }; };\n"
		"inputs: { a: { system = \"hub\"; }; }; outputs: { o: { system = \"hub\"; }; };\n"
		"flow: ( { from = \"a\"; to = \"o\"; } ); };\n",
		"flowd.conf:1: application.default_system: system 'hub' (shared) is shared by processes, and intermediate "
		"streams do not go through such a system yet; leave default_system out: they stay in this process\n");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, plan_text_setup, plan_text_teardown)
	const struct CMUnitTest tests[] = {
		TEST(given_a_group_input_when_it_feeds_steps_without_state_then_it_is_planned_and_printed),
		TEST(given_a_group_input_when_a_step_keeps_state_then_it_is_refused_with_the_reason),
		TEST(given_a_group_input_when_it_is_partitioned_by_key_then_it_is_refused),
		TEST(given_a_group_input_when_it_fills_a_table_of_this_process_then_it_is_refused),
		TEST(given_a_table_filled_by_another_input_when_a_group_input_is_joined_with_it_then_it_is_planned),
		TEST(given_what_a_member_of_a_group_cannot_do_when_it_is_asked_for_then_it_is_refused),
		TEST(given_a_group_input_when_it_is_broadcast_then_it_is_refused),
		TEST(given_a_transaction_that_takes_positions_when_planned_then_all_outputs_are_exact),
		TEST(given_outputs_that_take_no_positions_when_planned_then_they_are_at_least_once),
		TEST(given_a_transaction_of_another_system_when_planned_then_it_is_at_least_once),
		TEST(given_a_default_system_that_processes_share_when_planned_then_it_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
