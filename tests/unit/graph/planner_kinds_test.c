/* Systems of the four kinds: plain, transforming, expanding, both; what becomes of their inputs. */
#include <string.h>

#include "base/schema.h"
#include "support/plan_text.h"

static void
expect(void **state, const char *conf, const char *reported)
{
	assert_string_equal(plan_text_problems(*state, conf), reported);
}

#define SYSTEM_SERDE "serde: { type = \"json\"; types: { from_system = \"int64\"; }; };"
#define STREAM_SERDE "serde: { type = \"json\"; types: { from_stream = \"int64\"; }; };"
#define OUT "outputs: { o: { system = \"local\"; serde = \"json\"; }; };\n"
#define LOCAL "local: { type = \"messaging\"; }; own: { type = \"own\"; };\n"

/* The result types of the four kinds of systems by the four ways to get an input (SEP-14). */
static void
given_each_kind_of_system_by_each_way_to_an_input_when_planned_then_the_type_is_that_of_the_table(void **state)
{
	static const char *const systems[4] = { "messaging", "changing", "growing", "both" };
	static const char *const ways[4] = { "", STREAM_SERDE, "transformer = \"envelope\";",
										 "transformer = \"envelope\"; " STREAM_SERDE };
	static const char *const types[4][4] = {
		{ "record(from_system:int64)", "record(from_stream:int64)", "record(of_stream:int64)", "record(of_stream:int64)" },
		{ "record(of_system:int64)", "record(of_system:int64)", "record(of_stream:int64)", "record(of_stream:int64)" },
		{ "record(id:int64,text:string)", "record(id:int64,text:string)", "record(id:int64,text:string)",
		  "record(id:int64,text:string)" },
		{ "record(id:int64,text:string)", "record(id:int64,text:string)", "record(id:int64,text:string)",
		  "record(id:int64,text:string)" },
	};
	for (size_t system = 0; system < 4; system++) {
		for (size_t way = 0; way < 4; way++) {
			plan_text *t = *state;
			char conf[1024], type[256];
			snprintf(conf, sizeof(conf),
					 "application: { name = \"t\"; systems: { of: { type = \"%s\"; " SYSTEM_SERDE " }; " LOCAL "};\n"
					 "inputs: { a: { system = \"of\"; %s }; };\n" OUT
					 "flow: ( { name = \"seen\"; from = \"a\"; pass = true; to = \"o\"; } ); };\n",
					 systems[system], ways[way]);
			schema_print(plan_text_operator(plan_text_plan(t, conf), "seen")->schema[0], 1, type, sizeof(type));
			if (strcmp(type, types[system][way]) != 0)
				fail_msg("%s system, way %c: %s, not %s", systems[system], "ABCD"[way], type, types[system][way]);
			plan_text_teardown(state);
			plan_text_setup(state);
		}
	}
}

/* --- transformers --- */

#define INPUT(system, properties)                                                                                      \
	"application: { name = \"t\"; systems: { of: { type = \"" system "\"; " SYSTEM_SERDE " }; " LOCAL "};\n"           \
	"inputs: { a: { system = \"of\"; " properties " }; };\n" OUT "flow: ( { from = \"a\"; to = \"o\"; } ); };\n"

static void
given_a_transformer_when_planned_then_it_runs_behind_its_source_in_the_same_task_and_gets_whole_records(void **state)
{
	const plan *p = plan_text_plan(*state, INPUT("changing", "record_errors = \"skip\";"));
	const plan_operator *o = plan_text_operator(p, "a_changing");
	assert_int_equal(o->kind, OPERATOR_TRANSFORMER);
	assert_int_equal(o->chain_parent, plan_text_operator(p, "a")->index);
	assert_int_equal(o->record_errors, RECORD_ERRORS_SKIP);
	assert_null(plan_text_stream(p, "a", FLOW_DIRECTION_INPUT)->fields);
	assert_string_equal(plan_text_stages(*state), "1: a a_changing o");
}

static void
given_no_transformer_wanted_when_planned_then_that_of_the_system_is_not_applied(void **state)
{
	const plan *p = plan_text_plan(*state, INPUT("changing", "transformer = \"none\";"));
	assert_int_equal(p->operator_count, 2);
}

static void
given_a_default_transformer_by_configuration_when_planned_then_inputs_have_it_and_outputs_do_not(void **state)
{
	const plan *p = plan_text_plan(
		*state, "application: { name = \"t\"; systems: { local: { type = \"messaging\"; " SYSTEM_SERDE
				" stream_defaults: { transformer = \"envelope\"; }; }; };\n"
				"inputs: { a: { system = \"local\"; }; }; outputs: { o: { system = \"local\"; }; };\n"
				"flow: ( { from = \"a\"; to = \"o\"; } ); };\n");
	assert_string_equal(plan_text_stages(*state), "1: a a_envelope o");
	assert_non_null(plan_text_stream(p, "a", FLOW_DIRECTION_INPUT)->transformer.component);
}

static void
given_an_unknown_or_refusing_transformer_when_planned_then_its_place_is_told(void **state)
{
	expect(state, INPUT("messaging", "transformer = \"envelop\";"),
		   "flowd.conf:3: application.inputs.a.transformer: no plugin has a transformer 'envelop', did you mean \"envelope\"?\n");
	plan_text_teardown(state);
	plan_text_setup(state);
	expect(state, INPUT("messaging", "transformer: { type = \"envelope\"; refuse = true; };"),
		   "flowd.conf:3: application.inputs.a.transformer.refuse: input 'a': transformer 'envelope': these records cannot be "
		   "changed\n");
	plan_text_teardown(state);
	plan_text_setup(state);
	expect(state, INPUT("messaging", "transformer: { type = \"envelope\"; refse = true; };"),
		   "flowd.conf:3: application.inputs.a.transformer.refse: unknown option, did you mean \"refuse\"?\n");
}

/* --- expanders --- */

#define GROWING(system, into)                                                                                          \
	system ": { type = \"growing\"; into = " into "; counter = \"" system ".calls\"; " SYSTEM_SERDE " };\n"
#define EXPANDED(systems, input)                                                                                       \
	"application: { name = \"t\"; systems: {\n" systems LOCAL "};\n"                                                   \
	"inputs: { a: { system = \"u\"; " input " }; };\n" OUT "flow: ( { name = \"f\"; from = \"a\"; pass = true; to = \"o\"; } ); };\n"

static long
calls(const char *system)
{
	char name[64];
	snprintf(name, sizeof(name), "%s.calls", system);
	FILE *file = fopen(name, "r");
	long count = 0;
	while (file != NULL && fgetc(file) != EOF)
		count++;
	if (file != NULL)
		fclose(file);
	return count;
}

static void
given_an_expanding_system_when_planned_then_its_inputs_are_those_that_the_expander_describes(void **state)
{
	const plan *p = plan_text_plan(*state, EXPANDED(GROWING("u", "[\"local\", \"local\"]"), "bounded = true; partitions = 3;"));
	assert_int_equal(p->stream_count, 3);
	assert_int_equal(plan_text_stream(p, "a-1", FLOW_DIRECTION_INPUT)->bounded, 1);
	assert_int_equal(plan_text_stream(p, "a-2", FLOW_DIRECTION_INPUT)->description.partition_count, 3);
	assert_int_equal(plan_text_operator(p, "a")->kind, OPERATOR_MERGE);
	assert_int_equal(plan_text_edge_to(p, "f")->from, plan_text_operator(p, "a")->index);
	assert_int_equal(calls("u"), 1);
}

static void
given_an_expanded_input_when_the_configuration_is_printed_then_the_logical_stream_has_left_no_key(void **state)
{
	plan_text *t = *state;
	plan_text_plan(t, EXPANDED(GROWING("u", "\"local\""), "priority = 4;"));
	const char *printed = plan_text_printed(t, plan_print_text);
	assert_null(strstr(printed, "streams.a."));
	assert_non_null(strstr(printed, "streams.a-1.priority = 4  # flowd.conf:5"));
	assert_non_null(strstr(printed, "streams.a-1.serde.types.from_system = \"int64\"  # flowd.conf:2"));
	assert_null(config_explain(t->text.config, "streams.a.priority"));
}

static void
given_expanded_streams_when_configuration_names_them_then_it_reaches_them(void **state)
{
	const char *const commands[] = { "streams.a-1.priority=9", NULL };
	plan_text *t = *state;
	const char *reported = plan_text_problems_with(t, EXPANDED(GROWING("u", "\"local\""), "priority = 4;"), commands);
	assert_string_equal(reported, "");
	assert_int_equal(plan_text_stream(t->plan, "a-1", FLOW_DIRECTION_INPUT)->priority, 9);
}

static void
given_unknown_properties_of_a_logical_input_when_planned_then_they_are_judged_where_they_arrive(void **state)
{
	expect(state, EXPANDED(GROWING("u", "\"local\""), "partitons = 3; bonded = true;"),
		   "flowd.conf:5: application.inputs.a.bonded: unknown option, did you mean \"bounded\"?\n"
		   "flowd.conf:5: application.inputs.a.partitons: unknown option, did you mean \"partitions\"?\n");
}

static void
given_expanders_one_behind_the_other_when_planned_then_each_is_asked_once_and_one_physical_input_is_left(void **state)
{
	const plan *p =
		plan_text_plan(*state, EXPANDED(GROWING("u", "\"v\"") GROWING("v", "\"w\"") GROWING("w", "\"local\""), "bounded = true;"));
	assert_int_equal(p->stream_count, 2);
	plan_text_stream(p, "a-1-1-1", FLOW_DIRECTION_INPUT);
	assert_int_equal(calls("u"), 1);
	assert_int_equal(calls("v"), 1);
	assert_int_equal(calls("w"), 1);
}

static void
given_a_system_that_expands_into_itself_when_planned_then_the_chain_is_told_and_it_is_asked_once(void **state)
{
	expect(state, EXPANDED(GROWING("u", "\"u\""), ""),
		   "flowd.conf:5: application.inputs.a: system 'u' expands input 'a' into one of its own: u -> u (u: flowd.conf:2)\n");
	assert_int_equal(calls("u"), 1);
}

static void
given_systems_that_expand_in_a_ring_when_planned_then_the_chain_and_all_places_are_told(void **state)
{
	expect(state,
		   EXPANDED(GROWING("u", "[\"local\", \"v\"]") GROWING("v", "\"w\"") GROWING("w", "\"u\""), "bounded = true;"),
		   "flowd.conf:7: application.inputs.a: system 'u' expands input 'a' into one of its own: u -> v -> w -> u (u: "
		   "flowd.conf:2, v: flowd.conf:3, w: flowd.conf:4)\n");
	assert_int_equal(calls("u"), 1);
	assert_int_equal(calls("w"), 1);
}

static void
given_an_expander_that_fails_or_returns_nothing_when_planned_then_the_input_is_told(void **state)
{
	expect(state, EXPANDED("u: { type = \"growing\"; fails = true; };\n", ""),
		   "flowd.conf:5: application.inputs.a: system 'u' cannot expand input 'a': it does not want to\n");
	plan_text_teardown(state);
	plan_text_setup(state);
	expect(state, EXPANDED("u: { type = \"growing\"; nothing = true; };\n", ""),
		   "flowd.conf:5: application.inputs.a: plugin error: expander 'growing' does not say which input or step stands for "
		   "input 'a'\n");
}

static void
given_an_expander_that_uses_what_it_described_before_when_planned_then_it_is_refused(void **state)
{
	const char *reported =
		plan_text_problems(*state, "application: { name = \"t\"; systems: { u: { type = \"growing\"; steals = true; };\n" LOCAL "};\n"
								   "inputs: { a: { system = \"u\"; }; b: { system = \"u\"; }; };\n" OUT
								   "flow: ( { from = \"a\"; to = \"o\"; }, { from = \"b\"; to = \"o\"; } ); };\n");
	assert_non_null(strstr(reported, ": application.inputs.b: a step takes its records from an input or a step, not from another "
									 "application's input\n"));
}

static void
given_an_expansion_into_an_id_that_is_taken_when_planned_then_equal_content_is_shared_and_other_is_an_error(void **state)
{
	static const char conf[] =
		"application: { name = \"t\"; systems: { u: { type = \"growing\"; id = \"x\"; };\n" LOCAL "};\n"
		"inputs: { a: { system = \"u\"; }; b: { system = \"u\"; }; %s };\n" OUT
		"flow: ( { from = \"a\"; to = \"o\"; }, { from = \"b\"; to = \"o\"; } ); };\n";
	char text[1024];
	snprintf(text, sizeof(text), conf, "");
	const plan *p = plan_text_plan(*state, text);
	assert_int_equal(p->stream_count, 2);
	plan_text_teardown(state);
	plan_text_setup(state);
	snprintf(text, sizeof(text), conf, "x: { system = \"local\"; serde = \"json\"; };");
	expect(state, text,
		   "flowd.conf:4: application.inputs.a: system 'u' expands input 'a' into 'x', but there is an input 'x' with other "
		   "content (flowd.conf:4)\n"
		   "flowd.conf:4: application.inputs.b: system 'u' expands input 'b' into 'x', but there is an input 'x' with other "
		   "content (flowd.conf:4)\n");
}

static void
given_a_serde_of_a_logical_input_in_configuration_when_planned_then_it_is_refused(void **state)
{
	const char *const commands[] = { "streams.a.serde=\"json\"", NULL };
	assert_string_equal(plan_text_problems_with(*state, EXPANDED(GROWING("u", "\"local\""), ""), commands),
						"--set: streams.a.serde: the serde of an input or output is set in the application only, not by "
						"configuration\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plan_text_setup, plan_text_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_each_kind_of_system_by_each_way_to_an_input_when_planned_then_the_type_is_that_of_the_table),
		TEST(given_a_transformer_when_planned_then_it_runs_behind_its_source_in_the_same_task_and_gets_whole_records),
		TEST(given_no_transformer_wanted_when_planned_then_that_of_the_system_is_not_applied),
		TEST(given_a_default_transformer_by_configuration_when_planned_then_inputs_have_it_and_outputs_do_not),
		TEST(given_an_unknown_or_refusing_transformer_when_planned_then_its_place_is_told),
		TEST(given_an_expanding_system_when_planned_then_its_inputs_are_those_that_the_expander_describes),
		TEST(given_an_expanded_input_when_the_configuration_is_printed_then_the_logical_stream_has_left_no_key),
		TEST(given_expanded_streams_when_configuration_names_them_then_it_reaches_them),
		TEST(given_unknown_properties_of_a_logical_input_when_planned_then_they_are_judged_where_they_arrive),
		TEST(given_expanders_one_behind_the_other_when_planned_then_each_is_asked_once_and_one_physical_input_is_left),
		TEST(given_a_system_that_expands_into_itself_when_planned_then_the_chain_is_told_and_it_is_asked_once),
		TEST(given_systems_that_expand_in_a_ring_when_planned_then_the_chain_and_all_places_are_told),
		TEST(given_an_expander_that_fails_or_returns_nothing_when_planned_then_the_input_is_told),
		TEST(given_an_expander_that_uses_what_it_described_before_when_planned_then_it_is_refused),
		TEST(given_an_expansion_into_an_id_that_is_taken_when_planned_then_equal_content_is_shared_and_other_is_an_error),
		TEST(given_a_serde_of_a_logical_input_in_configuration_when_planned_then_it_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
