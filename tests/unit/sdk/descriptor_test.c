/* Descriptors in code: every setter says exactly what it was given, with its place, and nothing else. */
#include "flow_sdk/descriptor.h"
#include "support/recorded_graph.h"

static void
given_nothing_set_when_described_then_nothing_is_said_but_what_there_is(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	flow_system_descriptor local = flow_system(graph, "local", "kafka");
	assert_string_equal(recorded_graph_text(r), "system local: described\nsystem local: type = \"kafka\"\n");
	SAYS(flow_input(local, "a"), "input a: described\ninput a: in system local\n");
	SAYS(flow_output(local, "o"), "output o: described\noutput o: in system local\n");
	SAYS(flow_input_from(graph, "b", "elsewhere"), "input b: described\ninput b: in system elsewhere\n");
	SAYS(flow_output_from(graph, "p", "elsewhere"), "output p: described\noutput p: in system elsewhere\n");
	SAYS(flow_table_of(graph, "t", "rocksdb"), "table t: described\ntable t: type = \"rocksdb\"\n");
	SAYS(flow_application(graph), "");
}

static void
given_an_application_when_set_then_each_setter_says_its_option(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	flow_application_descriptor app = flow_application(graph);
	flow_system_descriptor local = flow_system(graph, "local", "kafka");
	flow_output_descriptor rejected = flow_output(local, "rejected");
	recorded_graph_text(r);
	SAYS(flow_application_with_name(app, "views"), "application: name = \"views\"\n");
	SAYS(flow_application_with_default_system(app, local), "application: default_system = \"local\"\n");
	SAYS(flow_application_with_default_system_name(app, "far"), "application: default_system = \"far\"\n");
	SAYS(flow_application_with_checkpoint_system(app, "c"), "application: checkpoint_system = \"c\"\n");
	SAYS(flow_application_with_changelog_system(app, "c"), "application: changelog_system = \"c\"\n");
	SAYS(flow_application_with_dead_letters(app, rejected), "application: dead_letters = \"rejected\"\n");
	SAYS(flow_application_set_text(app, "checkpoint_interval", "5s"), "application: checkpoint_interval = \"5s\"\n");
	SAYS(flow_application_set_int(app, "parallelism", 4), "application: parallelism = 4\n");
	SAYS(flow_application_set_bool(app, "deterministic", 1), "application: deterministic = true\n");
	SAYS(flow_application_set_bool(app, "deterministic", 0), "application: deterministic = false\n");
}

static void
given_a_system_when_set_then_each_setter_says_its_property(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	flow_system_descriptor local = flow_system(graph, "local", "kafka");
	recorded_graph_text(r);
	SAYS(flow_system_with_serde(local, "json"), "system local: serde = \"json\"\n");
	SAYS(flow_system_with_key_value_serde(local, "string", "json"), "system local: serde.key = \"string\"\nsystem local: serde.value = \"json\"\n");
	SAYS(flow_system_with_offset_default(local, "newest"), "system local: stream_defaults.offset_default = \"newest\"\n");
	SAYS(flow_system_set_text(local, "a.b", "x"), "system local: a.b = \"x\"\n");
	SAYS(flow_system_set_int(local, "n", -5000000000), "system local: n = -5000000000\n");
	SAYS(flow_system_set_float(local, "f", 0.5), "system local: f = 0.5 (float)\n");
	SAYS(flow_system_set_bool(local, "b", 1), "system local: b = true\n");
	SAYS(flow_system_set_bool(local, "b", 0), "system local: b = false\n");
	SAYS(flow_system_add_text(local, "list", "x"), "system local: list + \"x\"\n");
}

static void
given_an_input_when_set_then_each_setter_says_its_property_true_and_false(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	flow_input_descriptor in = flow_input_from(graph, "in", "local");
	recorded_graph_text(r);
	SAYS(flow_input_with_serde(in, "x"), "input in: serde = \"x\"\n");
	SAYS(flow_input_with_physical_name(in, "x"), "input in: physical_name = \"x\"\n");
	SAYS(flow_input_with_transformer(in, "x"), "input in: transformer = \"x\"\n");
	SAYS(flow_input_with_offset_default(in, "x"), "input in: offset_default = \"x\"\n");
	SAYS(flow_input_with_record_errors(in, "x"), "input in: record_errors = \"x\"\n");
	SAYS(flow_input_with_key_value_serde(in, "string", "json"), "input in: serde.key = \"string\"\ninput in: serde.value = \"json\"\n");
	SAYS(flow_input_with_priority(in, -1), "input in: priority = -1\n");
	SAYS(flow_input_with_priority(in, 7), "input in: priority = 7\n");
	SAYS(flow_input_with_bootstrap(in, 1), "input in: bootstrap = true\n");
	SAYS(flow_input_with_bootstrap(in, 0), "input in: bootstrap = false\n");
	SAYS(flow_input_with_bootstrap(in, 8), "input in: bootstrap = true\n");
	SAYS(flow_input_with_reset_offset(in, 1), "input in: reset_offset = true\n");
	SAYS(flow_input_with_reset_offset(in, 0), "input in: reset_offset = false\n");
	SAYS(flow_input_with_reset_offset(in, 8), "input in: reset_offset = true\n");
	SAYS(flow_input_with_bounded(in, 1), "input in: bounded = true\n");
	SAYS(flow_input_with_bounded(in, 0), "input in: bounded = false\n");
	SAYS(flow_input_with_bounded(in, 8), "input in: bounded = true\n");
	SAYS(flow_input_with_broadcast(in, 1), "input in: broadcast = true\n");
	SAYS(flow_input_with_broadcast(in, 0), "input in: broadcast = false\n");
	SAYS(flow_input_with_broadcast(in, 8), "input in: broadcast = true\n");
	SAYS(flow_input_with_delete_committed_messages(in, 1), "input in: delete_committed_messages = true\n");
	SAYS(flow_input_with_delete_committed_messages(in, 0), "input in: delete_committed_messages = false\n");
	SAYS(flow_input_with_delete_committed_messages(in, 8), "input in: delete_committed_messages = true\n");
	SAYS(flow_input_set_text(in, "a.b", "x"), "input in: a.b = \"x\"\n");
	SAYS(flow_input_set_int(in, "n", -5000000000), "input in: n = -5000000000\n");
	SAYS(flow_input_set_float(in, "f", 0.5), "input in: f = 0.5 (float)\n");
	SAYS(flow_input_set_bool(in, "b", 1), "input in: b = true\n");
	SAYS(flow_input_set_bool(in, "b", 0), "input in: b = false\n");
	SAYS(flow_input_add_text(in, "list", "x"), "input in: list + \"x\"\n");
}

static void
given_an_output_when_set_then_each_setter_says_its_property(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	flow_output_descriptor out = flow_output_from(graph, "out", "local");
	recorded_graph_text(r);
	SAYS(flow_output_with_serde(out, "x"), "output out: serde = \"x\"\n");
	SAYS(flow_output_with_physical_name(out, "x"), "output out: physical_name = \"x\"\n");
	SAYS(flow_output_with_delivery(out, "x"), "output out: delivery = \"x\"\n");
	SAYS(flow_output_with_record_errors(out, "x"), "output out: record_errors = \"x\"\n");
	SAYS(flow_output_with_key_value_serde(out, "string", "json"), "output out: serde.key = \"string\"\noutput out: serde.value = \"json\"\n");
	SAYS(flow_output_set_text(out, "a.b", "x"), "output out: a.b = \"x\"\n");
	SAYS(flow_output_set_int(out, "n", -5000000000), "output out: n = -5000000000\n");
	SAYS(flow_output_set_float(out, "f", 0.5), "output out: f = 0.5 (float)\n");
	SAYS(flow_output_set_bool(out, "b", 1), "output out: b = true\n");
	SAYS(flow_output_set_bool(out, "b", 0), "output out: b = false\n");
	SAYS(flow_output_add_text(out, "list", "x"), "output out: list + \"x\"\n");
}

static void
given_a_table_when_set_then_each_setter_says_its_option(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	flow_table_descriptor t = flow_table_of(graph, "t", "rocksdb");
	recorded_graph_text(r);
	SAYS(flow_table_set_text(t, "a.b", "x"), "table t: a.b = \"x\"\n");
	SAYS(flow_table_set_int(t, "n", -5000000000), "table t: n = -5000000000\n");
	SAYS(flow_table_set_float(t, "f", 0.5), "table t: f = 0.5 (float)\n");
	SAYS(flow_table_set_bool(t, "b", 1), "table t: b = true\n");
	SAYS(flow_table_set_bool(t, "b", 0), "table t: b = false\n");
}

static void
given_steps_when_set_then_each_call_says_where_records_come_from_and_what_is_done(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	flow_input_descriptor a = flow_input_from(graph, "a", "local"), b = flow_input_from(graph, "b", "local");
	flow_output_descriptor o = flow_output_from(graph, "o", "local");
	recorded_graph_text(r);
	flow_step_descriptor one = flow_step(a, "one");
	flow_step_descriptor two = flow_next(one, "two");
	assert_string_equal(recorded_graph_text(r), "step one: behind input a\nstep two: behind step one\n");
	SAYS(flow_step_key_by(two, "x"), "step two: key_by + \"x\"\n");
	SAYS(flow_step_shuffle(two), "step two: shuffle = true\n");
	SAYS(flow_step_global(two), "step two: global = true\n");
	SAYS(flow_step_broadcast(two), "step two: broadcast = true\n");
	SAYS(flow_step_connect_step(two, one), "step two: connected to step one\n");
	SAYS(flow_step_connect_input(two, b), "step two: connected to input b\n");
	SAYS(flow_step_merge_step(two, one), "step two: merged with step one\n");
	SAYS(flow_step_merge_input(two, b), "step two: merged with input b\n");
	SAYS(flow_step_second_output(two), "step two: its second output\n");
	SAYS(flow_send_to(two, o), "step: behind step two\nstep: to = \"o\"\n");
	SAYS(flow_input_send_to(a, o), "step: behind input a\nstep: to = \"o\"\n");
	SAYS(flow_step_set_text(two, "a.b", "x"), "step two: a.b = \"x\"\n");
	SAYS(flow_step_set_int(two, "n", -5000000000), "step two: n = -5000000000\n");
	SAYS(flow_step_set_float(two, "f", 0.5), "step two: f = 0.5 (float)\n");
	SAYS(flow_step_set_bool(two, "b", 1), "step two: b = true\n");
	SAYS(flow_step_set_bool(two, "b", 0), "step two: b = false\n");
	SAYS(flow_step_add_text(two, "list", "x"), "step two: list + \"x\"\n");
}

static void
given_nested_setters_when_called_then_all_are_said_from_the_inside_out(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	flow_input_descriptor in = flow_input_from(graph, "in", "local");
	recorded_graph_text(r);
	SAYS(flow_input_with_bounded(flow_input_with_serde(flow_input_with_priority(in, 1), "json"), 1), "input in: priority = 1\ninput in: serde = \"json\"\ninput in: bounded = true\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, recorded_graph_setup, recorded_graph_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_nothing_set_when_described_then_nothing_is_said_but_what_there_is),
		TEST(given_an_application_when_set_then_each_setter_says_its_option),
		TEST(given_a_system_when_set_then_each_setter_says_its_property),
		TEST(given_an_input_when_set_then_each_setter_says_its_property_true_and_false),
		TEST(given_an_output_when_set_then_each_setter_says_its_property),
		TEST(given_a_table_when_set_then_each_setter_says_its_option),
		TEST(given_steps_when_set_then_each_call_says_where_records_come_from_and_what_is_done),
		TEST(given_nested_setters_when_called_then_all_are_said_from_the_inside_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
