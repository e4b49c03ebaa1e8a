/* Planning when memory runs out at any allocation: no crash, no leak, and never a plan that is not whole. */
#include <string.h>

#include "base/memory.h"
#include "support/plan_text.h"

#define CONF                                                                                                           \
	"application: { name = \"t\"; dead_letters: { system = \"local\"; serde = \"json\"; };\n"                          \
	"systems: { files: { type = \"file\"; }; local: { type = \"messaging\"; stream_defaults: { compression = "         \
	"\"zstd\"; }; }; };\n"                                                                                             \
	"inputs: { a: { system = \"files\"; serde: { type = \"json\"; types: { x = \"int64\"; t = \"timestamp\"; }; }; "   \
	"bounded = true; };\n"                                                                                             \
	"c: { system = \"files\"; serde = \"csv\"; content = \"code,name\\n\"; bounded = true; bootstrap = true; }; };\n"  \
	"outputs: { o: { system = \"local\"; serde: { key = \"frames\"; value = \"json\"; }; }; };\ntables: { v: { type "  \
	"= \"memory\"; }; };\n"                                                                                            \
	"flow: ( { from = \"c\"; key_by = (\"code\", \"name\"); }, { write_table = \"v\"; }, { from = \"a\"; where = \"x " \
	"> 1\"; },\n"                                                                                                      \
	"{ key_by = \"x\"; }, { name = \"n\"; window: { tumbling = \"1h\"; time = \"t\"; }; aggregate: { n = "             \
	"\"count(*)\"; }; },\n"                                                                                            \
	"{ join_table = \"v\"; to = \"o\"; } ); };\n"

/* Everything that takes memory of its own: expanders, transformers, merges, intermediate streams, connected streams. */
#define KINDS                                                                                                          \
	"application: { name = \"t\"; default_system = \"local\"; systems: { local: { type = \"messaging\";\n"            \
	"serde: { key = \"string\"; value = \"json\"; }; };\n"                                                             \
	"u: { type = \"growing\"; into = [\"local\", \"v\"]; }; v: { type = \"growing\"; into = \"local\"; }; };\n"       \
	"inputs: { a: { system = \"u\"; transformer = \"envelope\"; serde: { type = \"json\"; types: { x = \"int64\"; }; }; };\n" \
	"c: { system = \"local\"; partitions = 4; serde: { type = \"json\"; types: { x = \"int64\"; }; }; }; };\n"      \
	"outputs: { o: { system = \"local\"; serde = \"json\"; }; };\n"                                                    \
	"flow: ( { name = \"k\"; from = [\"c\"]; shuffle = true; pass = true; }, { name = \"all\"; from = \"a\"; pass = true; },\n" \
	"{ name = \"j\"; from = \"k\"; connect = \"all\"; meet: { state = \"split\"; }; to = \"o\"; } ); };\n"

static const char *planned_text = CONF;
static int told; /* the reason, in one of the attempts at least */

/* Returns whether there was a plan. */
static int
plan_with_failure(uint64_t n, int all)
{
	void *state = NULL;
	plan_text_setup(&state);
	plan_text *t = state;
	assert_true(config_text_load(&t->text, planned_text));
	const flow_component *loaded;
	assert_int_equal(registry_component(t->registry, FLOW_SYSTEM, "file", &loaded, NULL), FLOW_OK);
	assert_int_equal(registry_component(t->registry, FLOW_SYSTEM, "growing", &loaded, NULL), FLOW_OK);
	memory_fail_at(n, all);
	t->graph = graph_from_config(t->text.config, t->registry);
	t->plan = t->graph == NULL ? NULL : plan_create(t->text.config, t->registry, t->graph, 0);
	if (t->plan != NULL) {
		FILE *nowhere = fopen("/dev/null", "w");
		plan_print_text(t->plan, nowhere);
		fclose(nowhere);
	}
	memory_fail_at(0, 0);
	int planned = t->plan != NULL;
	assert_true(planned || t->text.list->errors != 0);
	told |= strstr(config_text_problems(&t->text), "out of memory while planning\n") != NULL;
	plan_text_teardown(&state);
	return planned;
}

static void
given_one_allocation_that_fails_when_planned_then_there_is_a_plan_or_a_problem(void **state)
{
	(void)state;
	uint64_t n = 1;
	told = 0;
	while (n < 2000 && !plan_with_failure(n, 0))
		n++;
	assert_true(n > 5 && n < 2000);
	assert_true(told);
}

static void
given_one_allocation_that_fails_with_expanders_and_joins_when_planned_then_there_is_a_plan_or_a_problem(void **state)
{
	planned_text = KINDS;
	given_one_allocation_that_fails_when_planned_then_there_is_a_plan_or_a_problem(state);
	planned_text = CONF;
}

static void
given_no_memory_from_some_point_on_when_planned_then_there_is_no_plan(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 40; n++)
		plan_with_failure(n * 7, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_one_allocation_that_fails_when_planned_then_there_is_a_plan_or_a_problem),
		cmocka_unit_test(given_one_allocation_that_fails_with_expanders_and_joins_when_planned_then_there_is_a_plan_or_a_problem),
		cmocka_unit_test(given_no_memory_from_some_point_on_when_planned_then_there_is_no_plan),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
