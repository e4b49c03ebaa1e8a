/* How long planning takes: 1,000 operators and 200 streams. The time itself is held against its bar in an optimised build only. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/plan_text.h"

#define INPUTS 100
#define OUTPUTS 100
#define STEPS 800 /* with 200 sources and sinks: 1,000 operators */
#define CPU_MOST 0.1 /* seconds */

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

static double
seconds_of_cpu(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void
given_a_thousand_operators_and_two_hundred_streams_when_planned_then_it_takes_less_than_100_milliseconds(void **state)
{
	(void)state;
	char *text = large_configuration();
	double best = 1e9;
	for (int i = 0; i < 5; i++) {
		void *fixture = NULL;
		plan_text_setup(&fixture);
		plan_text *t = fixture;
		config_text_write("flowd.conf", text, strlen(text));
		assert_true(config_load(t->text.config, "flowd.conf"));
		double start = seconds_of_cpu();
		t->graph = graph_from_config(t->text.config, t->registry);
		t->plan = plan_create(t->text.config, t->registry, t->graph, 0);
		double took = seconds_of_cpu() - start;
		if (t->plan == NULL)
			fail_msg("%s", config_text_problems(&t->text));
		assert_int_equal(t->plan->stream_count, INPUTS + OUTPUTS);
		assert_true(t->plan->operator_count >= 1000);
		best = took < best ? took : best;
		plan_text_teardown(&fixture);
	}
	free(text);
	print_message("%d streams, 1000 operators: %.1f ms of CPU\n", INPUTS + OUTPUTS, best * 1e3);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	assert_true(best < CPU_MOST);
#endif
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_a_thousand_operators_and_two_hundred_streams_when_planned_then_it_takes_less_than_100_milliseconds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
