/* Descriptors of the system and the table `memory`: what each setter says. */
#include "../memory_descriptor.h"
#include "support/recorded_graph.h"

static void
given_topics_and_tables_when_described_then_each_setter_says_its_property_and_nothing_else_is_said(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	memory_system_descriptor local = memory_system(graph, "local");
	assert_string_equal(recorded_graph_text(r), "system local: described\nsystem local: type = \"memory\"\n");
	SAYS(memory_table(graph, "t"), "table t: described\ntable t: type = \"memory\"\n");
	memory_input_descriptor in = memory_input(local, "in");
	assert_string_equal(recorded_graph_text(r), "input in: described\ninput in: in system local\n");
	SAYS(memory_input_add_record(in, "{}"), "input in: records + \"{}\"\n");
	SAYS(memory_input_with_partitions(in, 3), "input in: partitions = 3\n");
	memory_output_descriptor out = memory_output(local, "out");
	assert_string_equal(recorded_graph_text(r), "output out: described\noutput out: in system local\n");
	SAYS(memory_output_with_partitions(out, 3), "output out: partitions = 3\n");
	SAYS(memory_output_with_capacity(out, 3), "output out: capacity = 3\n");
	SAYS(flow_input_with_bounded(in, 0), "input in: bounded = false\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, recorded_graph_setup, recorded_graph_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_topics_and_tables_when_described_then_each_setter_says_its_property_and_nothing_else_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
