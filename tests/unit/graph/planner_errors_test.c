/* What plugins say wrong at planning time, and what is wrong with small things: each with its text and place. */
#include <string.h>

#include "base/error.h"
#include "graph/planner.h"
#include "support/plan_text.h"

/* Three steps in front: n non-keyed, k keyed, and b broadcast. What is tested stands in line 8. */
#define HEAD                                                                                                           \
	"application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\";\n"               \
	"  types: { x = \"int64\"; }; }; }; };\n"                                                                          \
	"inputs: { a: { system = \"local\"; }; };\n"                                                                       \
	"outputs: { o: { system = \"local\"; }; };\n"                                                                      \
	"tables: { t: { type = \"durable\"; }; };\n"                                                                       \
	"flow: ( { name = \"n\"; from = \"a\"; pass = true; }, { name = \"k\"; from = \"a\"; key_by = \"x\"; pass = "      \
	"true; },\n"                                                                                                       \
	"{ name = \"b\"; from = \"a\"; broadcast = true; },\n"
#define STEP(step) HEAD "{ name = \"j\"; " step " to = \"o\"; } ); };\n"
#define AT_STEP "flowd.conf:8: application.flow[3]: "
#define AT_STEP_OF(option) "flowd.conf:8: application.flow[3]." option ": "

static void
expect(void **state, const char *conf, const char *reported)
{
	assert_string_equal(plan_text_problems(*state, conf), reported);
	plan_text_teardown(state);
	plan_text_setup(state);
}

/* --- functions -------------------------------------------------------------------------------------------------------- */

static void
given_a_function_of_a_shape_that_there_is_not_when_planned_then_it_is_a_plugin_error(void **state)
{
	expect(state, STEP("from = \"n\"; keep: { shape = 5; };"),
		   AT_STEP "plugin error: 'keep' has shape 5, which there is not\n");
}

static void
given_outputs_that_do_not_fit_the_shape_when_planned_then_it_is_a_plugin_error(void **state)
{
	expect(state, STEP("from = \"n\"; keep: { outputs = 3; };"),
		   AT_STEP "plugin error: 'keep' describes two outputs, but its shape has one\n");
	expect(state, STEP("from = \"n\"; fork: { outputs = 1; };"),
		   AT_STEP "plugin error: 'fork' has the shape of two outputs, but describes one\n");
	expect(state, STEP("from = \"n\"; fork: { outputs = 2; };"),
		   AT_STEP "plugin error: 'fork' describes its second output, but not its first\n");
}

static void
given_a_state_that_there_is_not_when_planned_then_its_kind_and_size_are_told(void **state)
{
	expect(state, STEP("from = \"k\"; keep: { state = \"none\"; state_kind = 6; };"),
		   AT_STEP "plugin error: state 'none' of 'keep' has kind 6 and slots of 0 bytes: there is no such state\n");
	expect(state, STEP("from = \"k\"; keep: { state = \"none\"; state_kind = 2; };"),
		   AT_STEP "plugin error: state 'none' of 'keep' has kind 2 and slots of 0 bytes: there is no such state\n");
}

static void
given_more_states_than_one_function_can_have_when_planned_then_it_is_refused(void **state)
{
	expect(state, STEP("from = \"k\"; keep: { state_count = 251; };"),
		   AT_STEP "'keep' declares more than 250 states\n");
	plan_text_plan(*state, STEP("from = \"k\"; keep: { state_count = 250; };"));
}

/* --- tables ----------------------------------------------------------------------------------------------------------- */

static void
given_a_function_that_names_an_unknown_table_when_planned_then_the_step_is_told(void **state)
{
	expect(state, STEP("from = \"k\"; keep: { reads = \"nowhere\"; };"), AT_STEP "no table is called 'nowhere'\n");
	expect(state, STEP("from = \"k\"; keep: { writes = \"nowhere\"; };"), AT_STEP "no table is called 'nowhere'\n");
	expect(state, STEP("from = \"k\"; keep: { asks = \"nowhere\"; };"), AT_STEP "no table is called 'nowhere'\n");
}

static void
given_a_function_that_asks_for_a_table_that_nobody_writes_when_planned_then_the_step_and_the_table_are_told(
	void **state)
{
	expect(state, STEP("from = \"k\"; keep: { asks = \"t\"; };"),
		   AT_STEP "the step reads table 't', which no step writes\n");
	expect(state, STEP("from = \"k\"; keep: { reads = \"t\"; };"),
		   AT_STEP "the step reads table 't', which no step writes\n");
}

static void
given_the_service_of_schemas_when_asked_outside_of_planning_then_it_refuses(void **state)
{
	plan_text_plan(*state, STEP("from = \"n\"; pass = true;"));
	const flow_tables *tables = host_services.get_service(FLOW_SERVICE_TABLES);
	const flow_schema *schema = NULL;
	flow_error error = { 0 };
	assert_int_equal(tables->schema("t", &schema, NULL, &error), FLOW_E_UNSUPPORTED);
	assert_string_equal(error_message(&error), "schemas of tables can be asked for in bind only");
	error_clear(&error);
}

/* --- streams ---------------------------------------------------------------------------------------------------------- */

static void
given_a_system_that_describes_nonsense_when_planned_then_the_stream_is_told(void **state)
{
	expect(state,
		   "application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde = \"json\"; }; own: { type = "
		   "\"own\"; }; };\n"
		   "inputs: { a: { system = \"local\";\n"
		   "partitions = -2; };\n"
		   "c: { system = \"own\"; silent = true; }; };\n"
		   "outputs: { o: { system = \"local\"; promise = \"strange\"; }; };\n"
		   "flow: ( { from = \"a\"; to = \"o\"; } ); };\n",
		   "flowd.conf:2: application.inputs.a: input 'a': its system says that it has -2 partitions\n"
		   "flowd.conf:4: application.inputs.c: input 'c': its system does not say what its records are\n"
		   "flowd.conf:5: application.outputs.o: plugin error: system 'messaging' promises delivery 5, which there is "
		   "not\n");
}

static void
given_a_system_of_bytes_that_a_group_shares_when_planned_then_it_is_a_plugin_error(void **state)
{
	expect(state,
		   "application: { name = \"t\"; systems: { files: { type = \"file\"; }; };\n"
		   "inputs: { a: { system = \"files\"; group = true; serde: { type = \"csv\"; types: { x = \"int64\"; }; }; }; };\n"
		   "outputs: { o: { system = \"files\"; serde = \"csv\"; }; };\n"
		   "flow: ( { from = \"a\"; to = \"o\"; } ); };\n",
		   "flowd.conf:2: application.inputs.a: plugin error: system 'file' shares pieces of a byte stream by a group; it "
		   "can share records only\n");
}

static void
given_a_transformer_that_does_not_say_its_results_when_planned_then_its_input_is_told(void **state)
{
	expect(state,
		   "application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde = \"json\"; }; };\n"
		   "inputs: { a: { system = \"local\";\n"
		   "transformer: { type = \"envelope\"; silent = true; }; }; };\n"
		   "outputs: { o: { system = \"local\"; }; };\n"
		   "flow: ( { from = \"a\"; to = \"o\"; } ); };\n",
		   "flowd.conf:3: application.inputs.a.transformer: input 'a': transformer 'envelope': it does not say what "
		   "its results are\n");
}

static const char silent_source[] = "application: { name = \"t\"; systems: { files: { type = \"file\"; }; local: { "
									"type = \"messaging\"; serde = \"json\"; }; };\n"
									"inputs: { a: { system = \"files\"; content = \"x\"; silent = true;\n"
									"serde = \"csv\"; }; };\n"
									"outputs: { o: { system = \"local\"; }; };\n"
									"flow: ( { from = \"a\"; to = \"o\"; } ); };\n";

static void
given_fields_in_data_that_does_not_come_when_planned_then_waiting_ends_and_offline_it_is_a_warning(void **state)
{
	uint32_t before = plan_sample_seconds;
	plan_sample_seconds = 0;
	expect(state, silent_source,
		   "flowd.conf:3: application.inputs.a.serde: input 'a': nothing came within 0 seconds\n");
	plan_text *t = *state;
	t->flags = PLAN_OFFLINE;
	expect(state, silent_source,
		   "flowd.conf:3: warning: application.inputs.a.serde: input 'a': nothing came within 0 seconds (what depends "
		   "on its fields "
		   "was not checked)\n");
	plan_sample_seconds = before;
}

/* --- the application -------------------------------------------------------------------------------------------------- */

static void
given_a_flow_without_steps_when_planned_then_it_is_an_error(void **state)
{
	expect(state,
		   "application: { name = \"t\";\n"
		   "flow: ( ); };\n",
		   "flowd.conf:2: application.flow: has no steps\n");
}

static void
given_origins_of_a_wrong_form_when_planned_then_each_is_told_once(void **state)
{
	expect(state, STEP("from = 3; pass = true;"),
		   AT_STEP_OF("from") "expected string or list of strings, found integer\n");
	expect(state, STEP("from = []; pass = true;"), AT_STEP_OF("from") "names no input or step\n");
	expect(state, STEP("from = [\"n\", \"n\"]; pass = true;"),
		   AT_STEP_OF("from[1]") "step 'n' (flowd.conf:6) is merged with itself\n");
	expect(state, STEP("from = \"n\"; key_by = []; pass = true;"), AT_STEP_OF("key_by") "names no key\n");
}

static void
given_dead_letters_of_a_name_that_is_taken_when_planned_then_the_other_way_to_say_it_is_told(void **state)
{
	expect(state,
		   "application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde = \"json\"; }; };\n"
		   "inputs: { a: { system = \"local\"; }; };\n"
		   "outputs: { dead_letters: { system = \"local\"; }; };\n"
		   "dead_letters: { system = \"local\"; };\n"
		   "flow: ( { from = \"a\"; to = \"dead_letters\"; } ); };\n",
		   "flowd.conf:4: application.dead_letters: an output is called 'dead_letters' already; name it here: "
		   "dead_letters = "
		   "\"dead_letters\"\n");
}

static void
given_streams_that_no_step_uses_when_planned_then_each_is_a_warning_with_its_place(void **state)
{
	expect(state,
		   "application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde = \"json\"; }; };\n"
		   "inputs: { a: { system = \"local\"; };\n"
		   "idle: { system = \"local\"; }; };\n"
		   "outputs: { o: { system = \"local\"; };\n"
		   "empty: { system = \"local\"; }; };\n"
		   "flow: ( { from = \"a\"; to = \"o\"; } ); };\n",
		   "flowd.conf:3: warning: application.inputs.idle: no step reads this input\n"
		   "flowd.conf:5: warning: application.outputs.empty: no step writes this output\n");
}

static void
given_settings_of_an_unknown_stream_when_planned_then_the_nearest_one_is_suggested(void **state)
{
	expect(state, "streams: { aa: { bounded = true; }; };\n" STEP("from = \"n\"; pass = true;"),
		   "flowd.conf:1: streams.aa: the application has no stream 'aa', did you mean \"a\"?\n");
}

/* --- partitions of outputs -------------------------------------------------------------------------------------------- */

#define OUTPUT(properties)                                                                                             \
	"application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\";\n"               \
	"  types: { x = \"int64\"; s = \"string\"; }; }; }; };\n"                                                          \
	"inputs: { a: { system = \"local\"; }; };\n"                                                                       \
	"outputs: { o: { system = \"local\";\n" properties " }; };\nflow: ( { from = \"a\"; to = \"o\"; } ); };\n"
#define AT_PARTITION "flowd.conf:5: application.outputs.o.partition: "

static void
given_an_expression_that_chooses_partitions_when_planned_then_its_type_and_the_system_are_checked(void **state)
{
	expect(state, OUTPUT("partition = \"x % 4\";"),
		   AT_PARTITION "outputs of the system 'local' (messaging) have no partitions that a job can choose\n");
	expect(state, OUTPUT("partition = \"s\"; takes_targets = true;"),
		   AT_PARTITION "a partition is a whole number, and this is string; the records come from input 'a' "
						"(flowd.conf:3)\n");
	const plan *p = plan_text_plan(*state, OUTPUT("partition = \"x % 4\"; takes_targets = true;"));
	assert_non_null(plan_text_stream(p, "o", FLOW_DIRECTION_OUTPUT)->partition);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plan_text_setup, plan_text_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_an_expression_that_chooses_partitions_when_planned_then_its_type_and_the_system_are_checked),
		TEST(given_a_function_of_a_shape_that_there_is_not_when_planned_then_it_is_a_plugin_error),
		TEST(given_outputs_that_do_not_fit_the_shape_when_planned_then_it_is_a_plugin_error),
		TEST(given_a_state_that_there_is_not_when_planned_then_its_kind_and_size_are_told),
		TEST(given_more_states_than_one_function_can_have_when_planned_then_it_is_refused),
		TEST(given_a_function_that_names_an_unknown_table_when_planned_then_the_step_is_told),
		TEST(
			given_a_function_that_asks_for_a_table_that_nobody_writes_when_planned_then_the_step_and_the_table_are_told),
		TEST(given_the_service_of_schemas_when_asked_outside_of_planning_then_it_refuses),
		TEST(given_a_system_that_describes_nonsense_when_planned_then_the_stream_is_told),
		TEST(given_a_system_of_bytes_that_a_group_shares_when_planned_then_it_is_a_plugin_error),
		TEST(given_a_transformer_that_does_not_say_its_results_when_planned_then_its_input_is_told),
		TEST(given_fields_in_data_that_does_not_come_when_planned_then_waiting_ends_and_offline_it_is_a_warning),
		TEST(given_a_flow_without_steps_when_planned_then_it_is_an_error),
		TEST(given_origins_of_a_wrong_form_when_planned_then_each_is_told_once),
		TEST(given_dead_letters_of_a_name_that_is_taken_when_planned_then_the_other_way_to_say_it_is_told),
		TEST(given_streams_that_no_step_uses_when_planned_then_each_is_a_warning_with_its_place),
		TEST(given_settings_of_an_unknown_stream_when_planned_then_the_nearest_one_is_suggested),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
