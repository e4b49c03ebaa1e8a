/* Systems, streams, serdes and the job: what the planner says of them before any type is known. */
#include <string.h>

#include "support/plan_text.h"

static void
expect(void **state, const char *conf, const char *reported)
{
	assert_string_equal(plan_text_problems(*state, conf), reported);
}

#define SYSTEMS                                                                                                        \
	"application: { name = \"t\";\n"                                                                                   \
	"systems: { files: { type = \"file\"; }; local: { type = \"messaging\"; }; own: { type = \"own\"; };\n"            \
	"  once: { type = \"source_only\"; }; };\n"
/* An application whose one input (line 4) or output (line 5) is under test. */
#define WITH(input, output)                                                                                            \
	SYSTEMS "inputs: { a: { " input " }; };\noutputs: { o: { " output                                                  \
			" }; };\nflow: ( { from = \"a\"; to = \"o\"; } ); };\n"
#define JSON "serde: { type = \"json\"; types: { x = \"int64\"; }; };"
#define GOOD_INPUT "system = \"local\"; " JSON
#define GOOD_OUTPUT "system = \"local\"; serde = \"json\";"

static void
given_a_stream_without_system_when_planned_then_it_is_missed(void **state)
{
	expect(state, WITH(JSON, GOOD_OUTPUT), "flowd.conf:4: application.inputs.a.system: the option is required\n");
}

static void
given_streams_without_serde_when_planned_then_each_is_missed(void **state)
{
	expect(
		state, WITH("system = \"local\";", "system = \"files\";"),
		"flowd.conf:4: application.inputs.a.serde: is missing: how its records are read, like serde = \"json\"\n"
		"flowd.conf:5: application.outputs.o.serde: is missing: how its records are written, like serde = \"json\"\n");
}

static void
given_serdes_that_do_not_fit_their_system_when_planned_then_it_is_said_why(void **state)
{
	expect(state,
		   WITH("system = \"local\"; serde = \"csv\";",
				"system = \"files\"; serde: { key = \"string\"; value = \"frames\"; };"),
		   "flowd.conf:4: application.inputs.a.serde: serde 'csv' is for streams of bytes; system 'local' has records\n"
		   "flowd.conf:5: application.outputs.o.serde.key: records of system 'files' (file) have no keys, so there is "
		   "no serde for "
		   "them\n"
		   "flowd.conf:5: application.outputs.o.serde.value: serde 'frames' cannot cut records out of a stream of "
		   "bytes, which "
		   "system 'files' gives\n");
}

static void
given_a_serde_for_a_system_with_its_own_form_when_planned_then_it_is_refused(void **state)
{
	expect(state, WITH("system = \"own\"; serde = \"json\";", GOOD_OUTPUT),
		   "flowd.conf:4: application.inputs.a.serde: system 'own' (own) has a form of its own; its streams take no "
		   "serde\n");
}

static void
given_a_system_with_its_own_form_when_planned_then_its_records_come_decoded(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, WITH("system = \"own\";", GOOD_OUTPUT));
	const plan_stream *a = plan_text_stream(p, "a", FLOW_DIRECTION_INPUT);
	assert_null(a->value.component);
	assert_int_equal(a->schema->field_count, 2);
}

static void
given_serdes_in_wrong_forms_when_planned_then_the_right_ones_are_named(void **state)
{
	expect(state,
		   WITH("system = \"local\"; serde: { key = \"string\"; };",
				"system = \"local\"; serde: { value: { typ = \"json\"; }; };"),
		   "flowd.conf:4: application.inputs.a.serde.value: is missing: { key = \"...\"; value = \"...\"; }\n"
		   "flowd.conf:5: application.outputs.o.serde.value.type: is missing: the name of a serde\n");
}

static void
given_an_unknown_serde_or_option_when_planned_then_the_nearest_is_named(void **state)
{
	expect(state,
		   WITH("system = \"local\"; serde = \"jsn\";",
				"system = \"local\"; serde: { type = \"json\"; delimitr = \";\"; };"),
		   "flowd.conf:4: application.inputs.a.serde: no plugin has a serde 'jsn', did you mean \"json\"?\n"
		   "flowd.conf:5: application.outputs.o.serde.delimitr: unknown option, did you mean \"delimiter\"?\n");
}

static void
given_a_serde_that_refuses_its_options_when_planned_then_the_option_is_the_place(void **state)
{
	expect(state, WITH("system = \"local\"; serde: {\ntype = \"json\";\ndelimiter = \"::\"; };", GOOD_OUTPUT),
		   "flowd.conf:6: application.inputs.a.serde.delimiter: serde 'json': a delimiter is one character\n");
}

static void
given_serdes_outside_of_the_application_when_planned_then_each_layer_is_refused(void **state)
{
	plan_text *t = *state;
	const char *const commands[] = { "streams.o.serde.delimiter=;", NULL };
	assert_string_equal(
		plan_text_problems_with(t, WITH(GOOD_INPUT, GOOD_OUTPUT) "streams: { a: { serde = \"csv\"; }; };\n", commands),
		"--set: streams.o.serde: the serde of an input or output is set in the application only, not by "
		"configuration\n"
		"flowd.conf:7: streams.a.serde: the serde of an input or output is set in the application only, not by "
		"configuration\n");
}

static void
given_a_serde_of_the_system_when_planned_then_its_streams_inherit_it(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(
		t, "application: { name = \"t\"; systems: { local: { type = \"messaging\"; }; };\n"
		   "inputs: { a: { system = \"local\"; }; }; outputs: { o: { system = \"local\"; serde = \"frames\"; }; };\n"
		   "flow: ( { from = \"a\"; to = \"o\"; } ); };\n"
		   "systems: { local: { serde: { type = \"json\"; types: { x = \"int64\"; }; }; }; };\n");
	assert_string_equal(plan_text_stream(p, "a", FLOW_DIRECTION_INPUT)->value.component->id, "json");
	assert_int_equal(plan_text_stream(p, "a", FLOW_DIRECTION_INPUT)->schema->field_count, 1);
	assert_string_equal(plan_text_stream(p, "o", FLOW_DIRECTION_OUTPUT)->value.component->id, "frames");
	assert_int_equal(config_explain(t->text.config, "streams.a.serde")->layer, LAYER_SYSTEM);
}

static void
given_defaults_of_a_system_when_planned_then_streams_take_what_fits_and_their_own_settings_win(void **state)
{
	plan_text *t = *state;
	const char *const commands[] = { "systems.local.stream_defaults.priority=9", NULL };
	plan_text_problems_with(
		t,
		"application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\"; types: { x = "
		"\"int64\"; }; };\n"
		"  stream_defaults: { offset_default = \"newest\"; compression = \"zstd\"; priority = 3; }; }; };\n"
		"inputs: { a: { system = \"local\"; }; b: { system = \"local\"; }; }; outputs: { o: { system = \"local\"; }; "
		"};\n"
		"flow: ( { from = \"a\"; to = \"o\"; }, { from = \"b\"; to = \"o\"; } ); };\n"
		"streams: { b: { priority = 1; }; };\n",
		commands);
	assert_non_null(t->plan);
	assert_int_equal(plan_text_stream(t->plan, "a", FLOW_DIRECTION_INPUT)->priority, 9);
	assert_int_equal(plan_text_stream(t->plan, "a", FLOW_DIRECTION_INPUT)->start, FLOW_START_NEWEST);
	/* Scope goes before layer: the file's key of the stream beats the command's default of the system. */
	assert_int_equal(plan_text_stream(t->plan, "b", FLOW_DIRECTION_INPUT)->priority, 1);
	const flow_options *options = plan_text_stream(t->plan, "o", FLOW_DIRECTION_OUTPUT)->request.options;
	assert_string_equal(flow_option_text(options, "compression").data, "zstd");
	assert_null(flow_option_get(options, "priority"));
}

static void
given_a_default_that_no_stream_has_when_planned_then_it_is_reported_once(void **state)
{
	expect(state,
		   "application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde = \"json\";\n"
		   "  stream_defaults: { ofset_default = \"newest\"; }; }; };\n"
		   "inputs: { a: { system = \"local\"; }; }; outputs: { o: { system = \"local\"; }; };\n"
		   "flow: ( { from = \"a\"; to = \"o\"; } ); };\n",
		   "flowd.conf:2: application.systems.local.stream_defaults.ofset_default: unknown option, did you mean "
		   "\"offset_default\"?\n");
}

static void
given_an_output_in_a_system_without_outputs_when_planned_then_it_is_refused(void **state)
{
	expect(state, WITH(GOOD_INPUT, "system = \"once\"; serde = \"json\";"),
		   "flowd.conf:5: application.outputs.o: system 'once' (source_only) has no outputs\n");
}

static void
given_a_system_that_always_ends_when_planned_then_its_input_is_bounded(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, WITH("system = \"once\"; " JSON, GOOD_OUTPUT));
	assert_int_equal(p->bounded, 1);
}

static void
given_a_system_that_cannot_be_opened_or_described_when_planned_then_thing_and_reason_are_named(void **state)
{
	expect(state,
		   "application: { name = \"t\";\nsystems: { away: { type = \"messaging\"; refuse = true; }; here: { type = "
		   "\"messaging\"; }; };\n"
		   "inputs: { a: { system = \"away\"; serde = \"json\"; };\n"
		   "b: { system = \"here\"; serde = \"json\"; wrong = \"no such topic\"; }; };\n"
		   "flow: ( { from = \"a\"; pass = true; }, { from = \"b\"; pass = true; } ); };\n",
		   "flowd.conf:2: application.systems.away: cannot open system 'away': it is away\n"
		   "flowd.conf:4: application.inputs.b.wrong: input 'b': no such topic\n");
}

static void
given_a_bootstrap_input_that_does_not_end_when_planned_then_it_is_refused(void **state)
{
	expect(state, WITH(GOOD_INPUT " bootstrap = true;", GOOD_OUTPUT),
		   "flowd.conf:4: application.inputs.a.bootstrap: a bootstrap input is read to its end before others, so it "
		   "has to end: "
		   "bounded = true\n");
}

static void
given_a_property_that_the_system_cannot_do_when_planned_then_it_is_refused(void **state)
{
	expect(state,
		   WITH(GOOD_INPUT " delete_committed_messages = true;", GOOD_OUTPUT),
		   "flowd.conf:4: application.inputs.a.delete_committed_messages: records of this system cannot be deleted by "
		   "the job\n");
}

static void
given_settings_of_strangers_when_planned_then_the_nearest_name_is_told(void **state)
{
	expect(state,
		   WITH(GOOD_INPUT, GOOD_OUTPUT) "streams: { carriers: { priority = 1; }; };\noperators: { x: { record_errors "
										 "= \"skip\"; }; };\n",
		   "flowd.conf:7: streams.carriers: the application has no stream 'carriers'\n"
		   "flowd.conf:8: operators.x: the application has no step 'x'\n");
}

static void
given_wrong_options_of_the_job_when_planned_then_each_is_reported(void **state)
{
	plan_text *t = *state;
	const char *const commands[] = { "job.id=a b", "job.parallelism=200", "job.memry=1GiB", NULL };
	assert_string_equal(
		plan_text_problems_with(t, WITH(GOOD_INPUT, GOOD_OUTPUT) "job: { instance = \"a/b\"; };\n", commands),
		"--set: job.id: 'a b' is no id of a job: use letters, digits, '-' and '_'\n"
		"--set: job.memry: unknown option, did you mean \"memory\"?\n"
		"--set: job.parallelism: 200 is more than max_parallelism, which is 128\n"
		"flowd.conf:7: job.instance: 'a/b' is no name of an instance: use letters, digits, '-' and '_'\n");
}

static void
given_all_layers_when_planned_then_the_higher_one_wins_and_each_is_remembered(void **state)
{
	plan_text *t = *state;
	const char *const commands[] = { "streams.o.compression=none", NULL };
	plan_text_problems_with(
		t,
		"application: { name = \"late-flights\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\"; "
		"types: { x = "
		"\"int64\"; }; };\n  stream_defaults: { offset_default = \"newest\"; compression = \"zstd\"; }; }; };\n"
		"inputs: { flights: { system = \"local\"; bounded = true; bootstrap = true; priority = 7; }; };\n"
		"outputs: { o: { system = \"local\"; }; };\nflow: ( { from = \"flights\"; to = \"o\"; } ); };\n"
		"streams: { flights: { priority = 5; }; };\nsystems: { local: { poll_interval = \"2s\"; }; };\n"
		"jobs: { late-flights: { streams: { flights: { bootstrap = false; }; }; }; };\n",
		commands);
	assert_non_null(t->plan);
	const plan_stream *flights = plan_text_stream(t->plan, "flights", FLOW_DIRECTION_INPUT);
	assert_int_equal(flights->bootstrap, 0);
	assert_int_equal(flights->priority, 7);
	assert_int_equal(flights->start, FLOW_START_NEWEST);
	const setting *s = config_explain(t->text.config, "streams.flights.bootstrap");
	assert_int_equal(s->layer, LAYER_JOB);
	assert_int_equal(s->overrode->layer, LAYER_DESCRIPTOR);
	assert_int_equal(s->overrode->overrode->layer, LAYER_DEFAULT);
	s = config_explain(t->text.config, "streams.flights.priority");
	assert_int_equal(s->layer, LAYER_DESCRIPTOR);
	assert_int_equal(s->overrode->layer, LAYER_FILE);
	s = config_explain(t->text.config, "streams.flights.offset_default");
	assert_int_equal(s->layer, LAYER_SYSTEM);
	assert_int_equal(s->overrode->layer, LAYER_DEFAULT);
	s = config_explain(t->text.config, "systems.local.poll_interval");
	assert_int_equal(s->layer, LAYER_FILE);
	/* Set last, although it equals the default. */
	s = config_explain(t->text.config, "streams.o.compression");
	assert_int_equal(s->layer, LAYER_COMMAND);
	assert_int_equal(s->overrode->layer, LAYER_SYSTEM);
}

static void
given_a_relative_path_when_planned_then_it_starts_at_the_files_folder(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, WITH("system = \"files\"; path = \"data/a.json\"; " JSON, GOOD_OUTPUT));
	const char *path = flow_option_text(plan_text_stream(p, "a", FLOW_DIRECTION_INPUT)->request.options, "path").data;
	assert_true(strstr(path, "data/a.json") != NULL);
	assert_string_equal(p->folder, ".");
}

/* --- samples --- */

static void
given_a_serde_that_needs_a_sample_when_planned_then_the_first_bytes_give_the_fields(void **state)
{
	plan_text *t = *state;
	t->flags = PLAN_OFFLINE;
	const plan *p = plan_text_plan(
		t, WITH("system = \"files\"; serde = \"csv\"; content = \"carrier,name\\nAA,American\\n\";", GOOD_OUTPUT));
	const plan_stream *a = plan_text_stream(p, "a", FLOW_DIRECTION_INPUT);
	assert_int_equal(a->schema->field_count, 2);
	assert_true(flow_slice_is(a->schema->fields[1]->name, "name"));
}

static void
given_no_sample_when_planned_then_the_fields_have_to_be_declared(void **state)
{
	expect(state, WITH("system = \"files\"; serde = \"csv\";", GOOD_OUTPUT),
		   "flowd.conf:4: application.inputs.a.serde: input 'a': serde 'csv' would find the fields in the data, which "
		   "cannot be "
		   "looked at while planning; declare them\n");
}

static void
given_an_empty_sample_when_planned_then_the_fields_have_to_be_declared(void **state)
{
	expect(state, WITH("system = \"files\"; serde = \"csv\"; content = \"\";", GOOD_OUTPUT),
		   "flowd.conf:4: application.inputs.a.serde: input 'a': serde 'csv' finds no fields in the data (0 bytes were "
		   "looked at); "
		   "declare them\n");
}

static void
given_no_sample_offline_when_checked_then_it_is_a_warning_and_the_rest_is_checked(void **state)
{
	plan_text *t = *state;
	t->flags = PLAN_OFFLINE;
	plan_text_problems(t, SYSTEMS "inputs: { a: { system = \"files\"; serde = \"csv\"; }; b: { " GOOD_INPUT " }; };\n"
								  "outputs: { o: { " GOOD_OUTPUT " }; };\n"
								  "flow: ( { from = \"a\"; where = \"y > 1\"; to = \"o\"; }, { from = \"b\"; where = "
								  "\"x > 1\"; to = \"o\"; } ); };\n");
	assert_null(t->plan);
	assert_int_equal(t->text.list->errors, 0);
	assert_int_equal(t->text.list->count, 1);
	assert_int_equal(t->text.list->items[0]->warning, 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, plan_text_setup, plan_text_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_a_stream_without_system_when_planned_then_it_is_missed),
		TEST(given_streams_without_serde_when_planned_then_each_is_missed),
		TEST(given_serdes_that_do_not_fit_their_system_when_planned_then_it_is_said_why),
		TEST(given_a_serde_for_a_system_with_its_own_form_when_planned_then_it_is_refused),
		TEST(given_a_system_with_its_own_form_when_planned_then_its_records_come_decoded),
		TEST(given_serdes_in_wrong_forms_when_planned_then_the_right_ones_are_named),
		TEST(given_an_unknown_serde_or_option_when_planned_then_the_nearest_is_named),
		TEST(given_a_serde_that_refuses_its_options_when_planned_then_the_option_is_the_place),
		TEST(given_serdes_outside_of_the_application_when_planned_then_each_layer_is_refused),
		TEST(given_a_serde_of_the_system_when_planned_then_its_streams_inherit_it),
		TEST(given_defaults_of_a_system_when_planned_then_streams_take_what_fits_and_their_own_settings_win),
		TEST(given_a_default_that_no_stream_has_when_planned_then_it_is_reported_once),
		TEST(given_an_output_in_a_system_without_outputs_when_planned_then_it_is_refused),
		TEST(given_a_system_that_always_ends_when_planned_then_its_input_is_bounded),
		TEST(given_a_system_that_cannot_be_opened_or_described_when_planned_then_thing_and_reason_are_named),
		TEST(given_a_bootstrap_input_that_does_not_end_when_planned_then_it_is_refused),
		TEST(given_a_property_that_the_system_cannot_do_when_planned_then_it_is_refused),
		TEST(given_settings_of_strangers_when_planned_then_the_nearest_name_is_told),
		TEST(given_wrong_options_of_the_job_when_planned_then_each_is_reported),
		TEST(given_all_layers_when_planned_then_the_higher_one_wins_and_each_is_remembered),
		TEST(given_a_relative_path_when_planned_then_it_starts_at_the_files_folder),
		TEST(given_a_serde_that_needs_a_sample_when_planned_then_the_first_bytes_give_the_fields),
		TEST(given_no_sample_when_planned_then_the_fields_have_to_be_declared),
		TEST(given_an_empty_sample_when_planned_then_the_fields_have_to_be_declared),
		TEST(given_no_sample_offline_when_checked_then_it_is_a_warning_and_the_rest_is_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
