/* A large job: 1,000 operators and 200 streams. How long planning takes is measured by scripts/bench (plan). */
#include <stdlib.h>
#include <string.h>

#include "support/plan_text.h"

#define INPUTS 100
#define OUTPUTS 100
#define STEPS 800 /* with 200 sources and sinks: 1,000 operators */

static char *
large_configuration(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	fprintf(to, "application: { name = \"large\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\";\n"
				"types: { x = \"int64\"; y = \"string\"; }; }; }; };\ninputs: {\n");
	for (int i = 0; i < INPUTS; i++)
		fprintf(to, "in%d: { system = \"local\"; partitions = 4; bounded = true; };\n", i);
	fprintf(to, "};\noutputs: {\n");
	for (int i = 0; i < OUTPUTS; i++)
		fprintf(to, "out%d: { system = \"local\"; };\n", i);
	fprintf(to, "};\nflow: (\n");
	for (int i = 0; i < STEPS; i++) {
		int chain = i / (STEPS / INPUTS), position = i % (STEPS / INPUTS), last = position == STEPS / INPUTS - 1;
		fprintf(to, "%s{ name = \"s%d\"; ", i == 0 ? "" : ",\n", i);
		if (position == 0)
			fprintf(to, "from = \"in%d\"; ", chain);
		if (position == 3)
			fprintf(to, "key_by = \"x\"; ");
		else
			fprintf(to, "where = \"x > %d\"; ", i);
		fprintf(to, "}");
		if (last)
			fprintf(to, ",\n{ to = \"out%d\"; }", chain);
	}
	fprintf(to, "\n); };\n");
	fclose(to);
	return text;
}

static void
given_a_thousand_operators_and_two_hundred_streams_when_planned_then_all_are_there_and_named_by_their_steps(void **state)
{
	char *text = large_configuration();
	const plan *p = plan_text_plan(*state, text);
	free(text);
	uint32_t sources = 0, sinks = 0, exchanges = 0;
	for (uint32_t i = 0; i < p->operator_count; i++) {
		sources += p->operators[i].kind == OPERATOR_SOURCE;
		sinks += p->operators[i].kind == OPERATOR_SINK;
	}
	for (uint32_t i = 0; i < p->edge_count; i++)
		exchanges += p->edges[i].partitioning == EDGE_KEY;
	assert_int_equal(p->stream_count, INPUTS + OUTPUTS);
	assert_int_equal(p->operator_count, STEPS + INPUTS + OUTPUTS);
	assert_int_equal(sources, INPUTS);
	assert_int_equal(sinks, OUTPUTS);
	assert_int_equal(exchanges, INPUTS); /* a key_by in each chain */
	assert_int_equal(p->intermediate_count, INPUTS);
	for (int i = 0; i < STEPS; i++) {
		char name[16];
		snprintf(name, sizeof(name), "s%d", i);
		plan_text_operator(p, name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			given_a_thousand_operators_and_two_hundred_streams_when_planned_then_all_are_there_and_named_by_their_steps,
			plan_text_setup, plan_text_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
