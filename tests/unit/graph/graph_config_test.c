/* From the `application` group to descriptors: structure, names, references; and the cases that concern it. */
#include <string.h>

#include "support/plan_text.h"

static void
expect(void **state, const char *conf, const char *reported)
{
	assert_string_equal(plan_text_problems(*state, conf), reported);
}

#define HEAD                                                                                                           \
	"application: { name = \"t\";\n"                                                                                   \
	"systems: { local: { type = \"messaging\"; serde: { type = \"json\"; types: { x = \"int64\"; y = \"string\"; }; "  \
	"}; }; };\n"                                                                                                       \
	"inputs: { a: { system = \"local\"; }; b: { system = \"local\"; }; };\n"                                           \
	"outputs: { o: { system = \"local\"; }; };\n"
/* Steps stand from line 5 on. */
#define FLOW(steps) HEAD "flow: (\n" steps "\n); };\n"

static void
given_no_application_when_read_then_there_is_no_graph_and_no_problem(void **state)
{
	plan_text *t = *state;
	expect(state, "job: { workers = 2; };\n", "");
	assert_null(t->graph);
}

static void
given_an_application_without_name_and_flow_when_read_then_both_are_missed(void **state)
{
	expect(state, "application: {\n};\n",
		   "flowd.conf:1: application.flow: is missing: flow = ( { from = \"...\"; to = \"...\"; } )\n"
		   "flowd.conf:1: application.name: is missing: name = \"my-application\"\n");
}

static void
given_names_with_other_characters_when_read_then_each_is_refused(void **state)
{
	expect(
		state,
		"application: { name = \"late flights\";\n"
		"systems: { *local: { type = \"messaging\"; }; };\n"
		"inputs: { *in: { }; };\n"
		"outputs: { *out: { }; };\n"
		"tables: { *t: { }; };\n"
		"flow: ( { name = \"a.b\"; from = \"*in\"; key_by = \"x\"; } ); };\n",
		"flowd.conf:1: application.name: 'late flights' is no name of an application: use letters, digits, '-' and "
		"'_'\n"
		"flowd.conf:2: application.systems.*local: '*local' is no name of a system: use letters, digits, '-' and '_'\n"
		"flowd.conf:3: application.inputs.*in: '*in' is no name of an input: use letters, digits, '-' and '_'\n"
		"flowd.conf:4: application.outputs.*out: '*out' is no name of an output: use letters, digits, '-' and '_'\n"
		"flowd.conf:5: application.tables.*t: '*t' is no name of a table: use letters, digits, '-' and '_'\n"
		"flowd.conf:6: application.flow[0].from: no input or step is called '*in'\n"
		"flowd.conf:6: application.flow[0].name: 'a.b' is no name of a step: use letters, digits, '-' and '_'\n");
}

static void
given_job_options_in_the_application_when_read_then_they_are_the_jobs(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, HEAD "parallelism = 3; workers = 2; checkpoint_interval = \"1s\"; seed = 7;\n"
										   "flow: ( { from = \"a\"; to = \"o\"; } ); };\n");
	assert_int_equal(p->parallelism, 3);
	assert_int_equal(p->workers, 2);
	assert_int_equal(flow_option_int(p->job_options, "checkpoint_interval", 0), 1000000);
	assert_int_equal(flow_option_int(p->job_options, "seed", 0), 7);
	assert_string_equal(setting_child(config_effective(t->text.config, "job", NULL), "seed")->path, "application.seed");
}

static void
given_a_step_with_an_unknown_word_when_read_then_the_nearest_function_or_word_is_named(void **state)
{
	expect(state,
		   FLOW("{ from = \"a\"; agregate: { n = \"count(*)\"; }; },\n{ form = \"a\"; to = \"o\"; },\n{ zzz = 1; }"),
		   "flowd.conf:6: application.flow[0].agregate: 'agregate' is neither a function nor a word of a step, did you "
		   "mean "
		   "\"aggregate\"?\n"
		   "flowd.conf:7: application.flow[1].form: 'form' is neither a function nor a word of a step, did you mean "
		   "\"from\"?\n"
		   "flowd.conf:8: application.flow[2].zzz: 'zzz' is neither a function nor a word of a step\n");
}

static void
given_two_functions_in_a_step_when_read_then_both_are_named(void **state)
{
	expect(state, FLOW("{ from = \"a\"; where = \"x > 1\"; pass = true; to = \"o\"; }"),
		   "flowd.conf:6: application.flow[0].pass: the step has two functions, 'where' and 'pass'; make a step of "
		   "each\n");
}

static void
given_steps_that_do_nothing_or_are_no_groups_when_read_then_it_is_said(void **state)
{
	expect(state,
		   FLOW("{ from = \"a\"; },\n\"where\",\n{ name = 5; from = [1]; to = true; key_by = 7; shuffle = 1; }"),
		   "flowd.conf:6: application.flow[0]: the step does nothing: give it a function, key_by or to\n"
		   "flowd.conf:7: application.flow[1]: expected group, found string\n"
		   "flowd.conf:8: application.flow[2].from[0]: expected string, found integer\n"
		   "flowd.conf:8: application.flow[2].key_by: expected string or list of strings, found integer\n"
		   "flowd.conf:8: application.flow[2].name: expected string, found integer\n"
		   "flowd.conf:8: application.flow[2].shuffle: expected boolean, found integer\n"
		   "flowd.conf:8: application.flow[2].to: expected string, found boolean\n");
}

static void
given_a_first_step_without_from_when_read_then_it_is_missed(void **state)
{
	expect(state, FLOW("{ where = \"x > 1\"; to = \"o\"; }"),
		   "flowd.conf:6: application.flow[0].from: is missing: the first step says which input it takes\n");
}

static void
given_unknown_from_and_to_when_read_then_the_nearest_is_named(void **state)
{
	expect(state,
		   FLOW("{ name = \"delayed\"; from = \"a\"; where = \"x > 1\"; },\n{ from = \"delaid\"; to = \"o\"; },\n"
				"{ from = \"o\"; to = \"a\"; }"),
		   "flowd.conf:7: application.flow[1].from: no input or step is called 'delaid', did you mean \"delayed\"?\n"
		   "flowd.conf:8: application.flow[2].from: no input or step is called 'o'\n"
		   "flowd.conf:8: application.flow[2].to: no output is called 'a'\n");
}

static void
given_two_steps_of_one_name_or_a_step_called_like_an_input_when_read_then_both_places_are_named(void **state)
{
	expect(
		state,
		FLOW("{ name = \"s\"; from = \"a\"; where = \"x > 1\"; },\n{ name = \"s\"; where = \"x > 2\"; to = \"o\"; },\n"
			 "{ name = \"b\"; from = \"a\"; where = \"x > 1\"; to = \"o\"; }"),
		"flowd.conf:7: application.flow[1].name: another step is called 's' already (flowd.conf:6)\n"
		"flowd.conf:8: application.flow[2].name: an input is called 'b' (flowd.conf:3); `from` could mean both\n");
}

static void
given_steps_in_a_ring_when_read_then_the_ring_is_reported_once(void **state)
{
	expect(
		state,
		FLOW(
			"{ name = \"s\"; from = \"u\"; where = \"x > 1\"; },\n{ name = \"t\"; from = \"s\"; where = \"x > 2\"; },\n"
			"{ name = \"u\"; from = \"t\"; where = \"x > 3\"; to = \"o\"; }"),
		"flowd.conf:6: application.flow[0].from: the step takes its records from itself, through 2 other steps; start "
		"it "
		"from an input\n");
}

static void
given_two_partitionings_in_a_step_when_read_then_it_is_refused(void **state)
{
	expect(
		state,
		FLOW("{ from = \"a\"; key_by = \"x\"; global = true; to = \"o\"; },\n{ from = \"a\"; key_by = []; to = \"o\"; "
			 "}"),
		"flowd.conf:6: application.flow[0].global: the step is partitioned by 'key_by' already; make a step of each\n"
		"flowd.conf:7: application.flow[1].key_by: names no key\n");
}

static void
given_a_function_value_of_a_wrong_form_when_read_then_both_forms_are_named(void **state)
{
	expect(state, FLOW("{ from = \"a\"; pass = \"x\"; to = \"o\"; }"),
		   "flowd.conf:6: application.flow[0].pass: expected true or a group of options, found string\n");
}

static void
given_a_group_for_a_function_without_primary_option_when_read_then_it_holds_the_options(void **state)
{
	plan_text *t = *state;
	const plan *p =
		plan_text_plan(t, FLOW("{ name = \"slow\"; from = \"a\"; block: { wait = \"2s\"; }; to = \"o\"; }"));
	assert_int_equal(flow_option_int(plan_text_operator(p, "slow")->options, "wait", 0), 2000000);
}

static void
given_an_option_of_the_function_beside_it_when_read_then_it_is_the_functions(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(
		t, FLOW("{ from = \"a\"; key_by = \"y\"; },\n{ name = \"n\"; window: { tumbling = \"1h\"; time = "
				"\"cast(y as timestamp)\"; }; aggregate: { n = \"count(*)\"; }; to = \"o\"; }"));
	const plan_operator *o = plan_text_operator(p, "n");
	assert_string_equal(o->component->id, "aggregate");
	assert_int_equal(flow_option_int(o->options, "window.tumbling", 0), INT64_C(3600000000));
	assert_string_equal(flow_option_text(o->options, "aggregate.n").data, "count(*)");
}

static void
given_dead_letters_as_a_group_when_read_then_they_are_an_output(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, HEAD "dead_letters: { system = \"local\"; serde = \"json\"; };\n"
										   "flow: ( { from = \"a\"; to = \"o\"; } ); };\n");
	assert_int_not_equal(p->dead_letters, PLAN_NONE);
	const plan_operator *o = &p->operators[p->dead_letters];
	assert_string_equal(p->streams[o->stream].id, "dead_letters");
	assert_int_equal(o->schema[0]->field_count, DEAD_LETTER_FIELDS);
	assert_true(flow_slice_is(o->schema[0]->fields[DEAD_LETTER_KEY]->name, "key"));
	assert_true(flow_slice_is(o->schema[0]->fields[DEAD_LETTER_RAW_BASE64]->name, "raw_base64"));
}

static void
given_dead_letters_that_no_output_has_when_read_then_the_nearest_is_named(void **state)
{
	expect(state, HEAD "dead_letters = \"oo\";\nflow: ( { from = \"a\"; to = \"o\"; } ); };\n",
		   "flowd.conf:5: application.dead_letters: there is no output \"oo\", did you mean \"o\"?\n");
}

/* --- the cases config/02, 03 and 04 --- */

static void
given_an_id_as_input_and_output_with_other_content_when_read_then_both_places_are_named(void **state)
{
	expect(state,
		   "application: {\n  name = \"late-flights\";\n  default_system = \"local\";\n  systems: {\n"
		   "    files: { type = \"file\"; };\n    local: { type = \"messaging\"; };\n  };\n  inputs: {\n"
		   "    flights: { system = \"files\"; path = \"data/flights.csv\"; serde: { type = \"csv\"; types: { "
		   "dep_delay = \"int64\"; }; }; "
		   "bounded = true; };\n  };\n  outputs: {\n"
		   "    late: { system = \"local\"; serde: { key = \"string\"; value = \"json\"; }; };\n"
		   "    flights: { system = \"local\"; serde = \"json\"; };\n  };\n  flow: (\n"
		   "    { from = \"flights\"; where = \"dep_delay > 15\"; },\n    { to = \"late\"; },\n"
		   "    { from = \"flights\"; to = \"flights\"; }\n  );\n};\n",
		   "flowd.conf:13: application.outputs.flights: 'flights' is an input already (flowd.conf:9) and has other "
		   "content there; "
		   "give one of them another id\n");
}

static void
given_an_id_as_input_and_output_with_equal_content_when_planned_then_it_is_read_and_written(void **state)
{
	plan_text *t = *state;
#define RETRY                                                                                                          \
	"retry: { serde: { key = \"string\"; value: { types: { tries = \"int64\"; }; type = \"json\"; }; }; system = "     \
	"\"local\"; };"
	const plan *p =
		plan_text_plan(t, "application: { name = \"loop\"; default_system = \"local\";\n"
						  "systems: { local: { type = \"messaging\"; }; };\n"
						  "inputs: { retry: { system = \"local\"; serde: { key = \"string\"; value: { type = \"json\"; "
						  "types: { tries = \"int64\"; }; }; }; }; };\n"
						  "outputs: { " RETRY " };\n"
						  "flow: ( { from = \"retry\"; where = \"tries < 3\"; to = \"retry\"; } ); };\n");
	assert_int_equal(p->stream_count, 2);
	assert_string_equal(plan_text_operator(p, "retry")->title, "read retry");
	assert_string_equal(plan_text_operator(p, "to_retry")->title, "write retry");
}

static void
given_eleven_misspellings_when_planned_then_each_is_reported_with_the_likely_word(void **state)
{
	expect(
		state,
		"application: {\n  name = \"late-flights\";\n  default_sytem = \"local\";\n  systems: {\n    files: { typ = "
		"\"file\"; };\n"
		"    local: { type = \"mesaging\"; };\n  };\n  inputs: {\n"
		"    flights:  { system = \"files\"; path = \"data/flights.csv\";  serde = \"csv\"; bonded = true; };\n"
		"    carriers: { system = \"flies\"; path = \"data/carriers.csv\"; serde = \"csv\"; bounded = true; boot-strap "
		"= true; };\n"
		"  };\n  outputs: { late: { system = \"local\"; serde: { key = \"string\"; val = \"json\"; }; }; };\n  flow: "
		"(\n"
		"    { from = \"flihgts\"; wher = \"dep_delay > 15\"; },\n"
		"    { window: { tumblng = \"1h\"; time = \"departure\"; }; aggregate: { n = \"count(*)\"; }; },\n"
		"    { to = \"late\"; }\n  );\n};\ntransfer: { };\n",
		"flowd.conf:3: application.default_sytem: unknown key 'default_sytem' in an application, did you mean "
		"\"default_system\"?\n"
		"flowd.conf:5: application.systems.files.typ: unknown option, did you mean \"type\"?\n"
		"flowd.conf:6: application.systems.local.type: no plugin has a system 'mesaging', did you mean \"messaging\"?\n"
		"flowd.conf:9: application.inputs.flights.bonded: unknown option, did you mean \"bounded\"?\n"
		"flowd.conf:10: application.inputs.carriers.boot-strap: unknown option, did you mean \"bootstrap\"?\n"
		"flowd.conf:10: application.inputs.carriers.system: there is no system \"flies\", did you mean \"files\"?\n"
		"flowd.conf:12: application.outputs.late.serde.val: a serde has 'key' and 'value', or 'type' and its options, "
		"did you "
		"mean \"value\"?\n"
		"flowd.conf:14: application.flow[0].from: no input or step is called 'flihgts', did you mean \"flights\"?\n"
		"flowd.conf:14: application.flow[0].wher: 'wher' is neither a function nor a word of a step, did you mean "
		"\"where\"?\n"
		"flowd.conf:15: application.flow[1].window.tumblng: unknown option, did you mean \"tumbling\"?\n"
		"flowd.conf:19: transfer: there is no such group, did you mean \"transfers\"?\n");
}

static void
given_values_of_wrong_types_when_planned_then_each_is_reported_with_both_types(void **state)
{
	expect(state,
		   "application: {\n  name = 5;\n  default_system = \"local\";\n"
		   "  systems: { files: { type = \"file\"; }; local: { type = \"messaging\"; }; };\n  inputs: {\n"
		   "    a: { system = \"files\"; path = [\"data/a.csv\"]; serde = \"csv\"; bounded = \"true\"; };\n"
		   "    b: { system = \"files\"; path = \"data/b.csv\"; serde = 7; bounded = 1; };\n    c = \"data/c.csv\";\n  "
		   "};\n"
		   "  outputs: ( { name = \"late\"; system = \"local\"; } );\n  flow: {\n    from = \"a\";\n    to = "
		   "\"late\";\n  };\n};\n",
		   "flowd.conf:2: application.name: expected string, found integer\n"
		   "flowd.conf:6: application.inputs.a.bounded: expected boolean, found string\n"
		   "flowd.conf:6: application.inputs.a.path: expected string, found array\n"
		   "flowd.conf:7: application.inputs.b.bounded: expected boolean, found integer\n"
		   "flowd.conf:7: application.inputs.b.serde: expected string or group, found integer\n"
		   "flowd.conf:8: application.inputs.c: expected group, found string\n"
		   "flowd.conf:10: application.outputs: expected group, found list\n"
		   "flowd.conf:11: application.flow: expected list, found group\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, plan_text_setup, plan_text_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_no_application_when_read_then_there_is_no_graph_and_no_problem),
		TEST(given_an_application_without_name_and_flow_when_read_then_both_are_missed),
		TEST(given_names_with_other_characters_when_read_then_each_is_refused),
		TEST(given_job_options_in_the_application_when_read_then_they_are_the_jobs),
		TEST(given_a_step_with_an_unknown_word_when_read_then_the_nearest_function_or_word_is_named),
		TEST(given_two_functions_in_a_step_when_read_then_both_are_named),
		TEST(given_steps_that_do_nothing_or_are_no_groups_when_read_then_it_is_said),
		TEST(given_a_first_step_without_from_when_read_then_it_is_missed),
		TEST(given_unknown_from_and_to_when_read_then_the_nearest_is_named),
		TEST(given_two_steps_of_one_name_or_a_step_called_like_an_input_when_read_then_both_places_are_named),
		TEST(given_steps_in_a_ring_when_read_then_the_ring_is_reported_once),
		TEST(given_two_partitionings_in_a_step_when_read_then_it_is_refused),
		TEST(given_a_function_value_of_a_wrong_form_when_read_then_both_forms_are_named),
		TEST(given_a_group_for_a_function_without_primary_option_when_read_then_it_holds_the_options),
		TEST(given_an_option_of_the_function_beside_it_when_read_then_it_is_the_functions),
		TEST(given_dead_letters_as_a_group_when_read_then_they_are_an_output),
		TEST(given_dead_letters_that_no_output_has_when_read_then_the_nearest_is_named),
		TEST(given_an_id_as_input_and_output_with_other_content_when_read_then_both_places_are_named),
		TEST(given_an_id_as_input_and_output_with_equal_content_when_planned_then_it_is_read_and_written),
		TEST(given_eleven_misspellings_when_planned_then_each_is_reported_with_the_likely_word),
		TEST(given_values_of_wrong_types_when_planned_then_each_is_reported_with_both_types),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
