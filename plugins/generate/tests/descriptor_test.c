/* Descriptors of the system `generate`: what each setter says. */
#include "../generate_descriptor.h"
#include "support/recorded_graph.h"

static void
given_generated_records_when_described_then_each_setter_says_its_property_and_nothing_else_is_said(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	generate_system_descriptor source = generate_system(graph, "source");
	assert_string_equal(recorded_graph_text(r), "system source: described\nsystem source: type = \"generate\"\n");
	generate_input_descriptor in = generate_input(source, "in");
	assert_string_equal(recorded_graph_text(r), "input in: described\ninput in: in system source\n");
	SAYS(generate_input_with_count(in, 3), "input in: count = 3\n");
	SAYS(generate_input_with_rate(in, 3), "input in: rate = 3\n");
	SAYS(generate_input_with_seed(in, 3), "input in: seed = 3\n");
	SAYS(generate_input_with_partitions(in, 3), "input in: partitions = 3\n");
	SAYS(generate_input_with_start(in, "x"), "input in: start = \"x\"\n");
	SAYS(generate_input_with_step(in, "x"), "input in: step = \"x\"\n");
	SAYS(generate_input_with_field(in, "id", "sequence"), "input in: fields.id = \"sequence\"\n");
	SAYS(flow_input_with_bounded(in, 1), "input in: bounded = true\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, recorded_graph_setup, recorded_graph_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_generated_records_when_described_then_each_setter_says_its_property_and_nothing_else_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
