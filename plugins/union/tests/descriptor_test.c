/* Descriptors of the system `union`: what each setter says. */
#include "../union_descriptor.h"
#include "support/recorded_graph.h"

static void
given_a_union_when_described_then_its_members_are_said_and_nothing_else(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	flow_system_descriptor local = flow_system(graph, "local", "kafka");
	recorded_graph_text(r);
	union_system_descriptor all = union_system(graph, "all", local, "views-{0..3}");
	assert_string_equal(recorded_graph_text(r),
						"system all: described\nsystem all: type = \"union\"\nsystem all: members.system = "
						"\"local\"\nsystem all: members.physical_name = \"views-{0..3}\"\n");
	SAYS(union_system_with_member_text(all, "path", "{0..3}.csv"),
		 "system all: members.properties.path = \"{0..3}.csv\"\n");
}

static void
given_an_input_of_a_union_when_described_then_it_takes_what_every_input_takes_true_false_and_unset(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	flow_system_descriptor local = flow_system(graph, "local", "kafka");
	union_system_descriptor all = union_system(graph, "all", local, "v-{0..1}");
	recorded_graph_text(r);
	union_input_descriptor in = union_input(all, "in");
	assert_string_equal(recorded_graph_text(r), "input in: described\ninput in: in system all\n");
	SAYS(flow_input_with_bounded(in, 1), "input in: bounded = true\n");
	SAYS(flow_input_with_bounded(in, 0), "input in: bounded = false\n");
	SAYS(flow_input_with_bounded(in, 8), "input in: bounded = true\n");
	SAYS(flow_input_with_bootstrap(in, 1), "input in: bootstrap = true\n");
	SAYS(flow_input_with_bootstrap(in, 0), "input in: bootstrap = false\n");
	SAYS(flow_input_with_bootstrap(in, 8), "input in: bootstrap = true\n");
	SAYS(flow_input_with_serde(in, "json"), "input in: serde = \"json\"\n");
	SAYS(union_input_from(graph, "other", "configured"), "input other: described\ninput other: in system configured\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, recorded_graph_setup, recorded_graph_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_a_union_when_described_then_its_members_are_said_and_nothing_else),
		TEST(given_an_input_of_a_union_when_described_then_it_takes_what_every_input_takes_true_false_and_unset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
