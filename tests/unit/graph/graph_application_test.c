/* Applications in code: what they describe is what a file would say; everything that is wrong is told at once, with its place. */
#include <string.h>

#include "base/memory.h"
#include "flow_sdk/descriptor.h"
#include "support/plan_text.h"

typedef void (*describing)(flow_graph *app_graph);
static describing current;
static flow_status answer;

static flow_status
describe(const flow_host *host, const flow_options *options, const flow_graph_ops *calls, flow_graph *app_graph, flow_error *error)
{
	(void)host;
	(void)options;
	(void)calls;
	(void)error;
	current(app_graph);
	return answer;
}

static const flow_option shards = { .struct_size = FLOW_SIZEOF(flow_option),
									.type = FLOW_OPTION_INT,
									.name = "shards",
									.doc = "Fixture.",
									.default_text = "1" };
static const flow_option *const option_list[] = { &shards, NULL };
static const flow_option_set option_set = { FLOW_SIZEOF(flow_option_set), 0, "", "Fixture.", option_list };
static const flow_option_set *const sets[] = { &option_set, NULL };
static const flow_application_ops ops = { .struct_size = FLOW_SIZEOF(flow_application_ops), .describe = describe };
static const flow_component application = { .struct_size = FLOW_SIZEOF(flow_component),
											.kind = FLOW_APPLICATION,
											.id = "fixture",
											.doc = "Fixture.",
											.option_sets = sets,
											.ops = &ops };

/* Describes and plans; `conf` is the configuration beside it. */
static const char *
problems_of(plan_text *t, describing what, const char *conf)
{
	current = what;
	assert_true(config_text_load(&t->text, conf));
	t->graph = graph_from_application(t->text.config, t->registry, &application, "app.so");
	if (t->graph != NULL)
		t->plan = plan_create(t->text.config, t->registry, t->graph, t->flags);
	return config_text_problems(&t->text);
}

static const plan *
plan_of(plan_text *t, describing what, const char *conf)
{
	const char *reported = problems_of(t, what, conf);
	if (t->plan == NULL)
		fail_msg("no plan:\n%s", reported);
	return t->plan;
}

/* The line of a place is that of this file: "graph_application_test.c:NUMBER" becomes "HERE". */
static const char *
without_lines(plan_text *t, const char *text)
{
	static const char file[] = "graph_application_test.c:";
	char *copy = arena_copy_text(t->text.arena, text), *to = copy;
	for (const char *at = text; *at != '\0';) {
		const char *found = strstr(at, file), *start = found;
		if (found == NULL) {
			strcpy(to, at);
			return copy;
		}
		while (start > at && start[-1] != '\n' && start[-1] != ' ' && start[-1] != '(')
			start--;
		memcpy(to, at, (size_t)(start - at));
		to += start - at;
		memcpy(to, "HERE", 5);
		to += 4;
		at = found + sizeof(file) - 1;
		at += strspn(at, "0123456789");
	}
	*to = '\0';
	return copy;
}

/* --- twins: the same in code and in a file ------------------------------------------------------------------------------- */

#define TYPES "serde: { type = \"json\"; types: { x = \"int64\"; y = \"string?\"; t = \"timestamp\"; }; };"

static flow_system_descriptor
local_system(flow_graph *app_graph)
{
	flow_system_descriptor local = flow_system(app_graph, "local", "messaging");
	flow_system_set_text(local, "serde.type", "json");
	flow_system_set_text(local, "serde.types.x", "int64");
	flow_system_set_text(local, "serde.types.y", "string?");
	return flow_system_set_text(local, "serde.types.t", "timestamp");
}

static void
pass_through(flow_graph *app_graph)
{
	flow_system_descriptor local = local_system(app_graph);
	flow_application_with_name(flow_application(app_graph), "twin");
	flow_input_send_to(flow_input_with_bounded(flow_input(local, "a"), 1), flow_output(local, "o"));
}

static void
counting(flow_graph *app_graph)
{
	flow_system_descriptor local = local_system(app_graph);
	flow_application_descriptor app = flow_application_with_name(flow_application(app_graph), "twin");
	flow_system_descriptor carrier = flow_system_with_key_value_serde(flow_system(app_graph, "carrier", "messaging"), "string", "json");
	flow_application_set_int(flow_application_with_default_system(app, carrier), "parallelism", 4);
	flow_step_descriptor big = flow_step_set_text(flow_step(flow_input(local, "a"), "big"), "where", "x > 1");
	flow_step_descriptor counted = flow_next(big, "counted");
	flow_step_key_by(counted, "y");
	flow_step_set_text(counted, "aggregate.n", "count(*)");
	flow_step_set_text(counted, "window.tumbling", "1h");
	flow_step_set_text(counted, "window.time", "t");
	flow_send_to(counted, flow_output(local, "o"));
}

static void
branching(flow_graph *app_graph)
{
	flow_system_descriptor local = local_system(app_graph);
	flow_application_with_name(flow_application(app_graph), "twin");
	flow_step_descriptor all = flow_step_set_bool(flow_step(flow_input(local, "a"), "all"), "pass", 1);
	flow_send_to(flow_step_set_text(flow_next(all, "low"), "where", "x < 5"), flow_output(local, "lows"));
	flow_send_to(flow_step_set_text(flow_next(all, "high"), "where", "x >= 5"), flow_output(local, "highs"));
}

static void
merging(flow_graph *app_graph)
{
	flow_system_descriptor local = local_system(app_graph);
	flow_application_with_name(flow_application(app_graph), "twin");
	flow_step_descriptor both = flow_step(flow_input(local, "a"), "both");
	flow_step_merge_input(both, flow_input_with_priority(flow_input(local, "b"), 3));
	flow_step_key_by(flow_step_key_by(both, "x"), "y");
	flow_send_to(both, flow_output_with_delivery(flow_output(local, "o"), "at_least_once"));
}

static void
tables_and_letters(flow_graph *app_graph)
{
	flow_system_descriptor local = local_system(app_graph);
	flow_output_descriptor rejected = flow_output_with_serde(flow_output(local, "rejected"), "json");
	flow_application_descriptor app = flow_application_with_name(flow_application(app_graph), "twin");
	flow_application_with_dead_letters(app, rejected);
	flow_table_of(app_graph, "t", "durable");
	flow_input_descriptor codes = flow_input_with_record_errors(flow_input(local, "codes"), "dead_letter");
	flow_input_with_bootstrap(flow_input_with_bounded(codes, 1), 1);
	flow_step_descriptor kept = flow_step_key_by(flow_step(codes, NULL), "x");
	flow_step_set_text(flow_next(kept, NULL), "write_table", "t");
	flow_step_descriptor keyed = flow_step_key_by(flow_step(flow_input(local, "a"), NULL), "x");
	flow_send_to(flow_step_set_text(flow_next(keyed, NULL), "join_table", "t"), flow_output(local, "o"));
}

#define LOCAL "systems: { local: { type = \"messaging\"; " TYPES " }; };\n"
static const struct {
	describing code;
	const char *conf;
} twins[] = {
	{ pass_through,
	  "application: { name = \"twin\"; " LOCAL
	  "inputs: { a: { system = \"local\"; bounded = true; }; }; outputs: { o: { system = \"local\"; }; };\n"
	  "flow: ( { from = \"a\"; to = \"o\"; } ); };\n" },
	{ counting,
	  "application: { name = \"twin\"; default_system = \"carrier\"; parallelism = 4;\n"
	  "systems: { carrier: { type = \"messaging\"; serde: { key = \"string\"; value = \"json\"; }; };\n"
	  "  local: { type = \"messaging\"; " TYPES " }; };\n"
	  "inputs: { a: { system = \"local\"; }; }; outputs: { o: { system = \"local\"; }; };\n"
	  "flow: ( { name = \"big\"; from = \"a\"; where = \"x > 1\"; },\n"
	  "{ name = \"counted\"; key_by = [\"y\"]; aggregate: { n = \"count(*)\"; }; window: { tumbling = \"1h\"; time = \"t\"; }; },\n"
	  "{ to = \"o\"; } ); };\n" },
	{ branching,
	  "application: { name = \"twin\"; " LOCAL
	  "inputs: { a: { system = \"local\"; }; }; outputs: { lows: { system = \"local\"; }; highs: { system = \"local\"; }; };\n"
	  "flow: ( { name = \"all\"; from = \"a\"; pass = true; }, { name = \"low\"; where = \"x < 5\"; to = \"lows\"; },\n"
	  "{ name = \"high\"; from = \"all\"; where = \"x >= 5\"; to = \"highs\"; } ); };\n" },
	{ merging,
	  "application: { name = \"twin\"; " LOCAL
	  "inputs: { a: { system = \"local\"; }; b: { system = \"local\"; priority = 3; }; };\n"
	  "outputs: { o: { system = \"local\"; delivery = \"at_least_once\"; }; };\n"
	  "flow: ( { name = \"both\"; from = [\"a\", \"b\"]; key_by = [\"x\", \"y\"]; to = \"o\"; } ); };\n" },
	{ tables_and_letters,
	  "application: { name = \"twin\"; dead_letters = \"rejected\"; " LOCAL
	  "inputs: { codes: { system = \"local\"; bounded = true; bootstrap = true; record_errors = \"dead_letter\"; };\n"
	  "  a: { system = \"local\"; }; }; tables: { t: { type = \"durable\"; }; };\n"
	  "outputs: { rejected: { system = \"local\"; serde = \"json\"; }; o: { system = \"local\"; }; };\n"
	  "flow: ( { from = \"codes\"; key_by = \"x\"; }, { write_table = \"t\"; },\n"
	  "{ from = \"a\"; key_by = \"x\"; }, { join_table = \"t\"; }, { to = \"o\"; } ); };\n" },
};

static void
given_five_graphs_in_code_and_in_a_file_when_planned_then_the_twins_have_one_id(void **state)
{
	(void)state;
	for (size_t i = 0; i < FLOW_COUNT(twins); i++) {
		void *code_state = NULL, *file_state = NULL;
		char code[33], file[33];
		plan_text_setup(&code_state);
		strcpy(code, plan_of(code_state, twins[i].code, "")->id);
		plan_text_teardown(&code_state);
		plan_text_setup(&file_state);
		strcpy(file, plan_text_plan(file_state, twins[i].conf)->id);
		plan_text_teardown(&file_state);
		if (strcmp(code, file) != 0)
			fail_msg("twin %zu: code gives %s, the file %s", i, code, file);
	}
}

/* --- what is set, and what is not ------------------------------------------------------------------------------------------ */

static void
every_property(flow_graph *app_graph)
{
	flow_system_descriptor local = local_system(app_graph);
	flow_application_with_name(flow_application(app_graph), "t");
	flow_input_descriptor in = flow_input(local, "a");
	flow_input_with_physical_name(in, "A");
	flow_input_with_bootstrap(in, 0);
	flow_input_with_priority(in, 2);
	flow_input_with_offset_default(in, "newest");
	flow_input_with_reset_offset(in, 1);
	flow_input_with_bounded(in, 1);
	flow_input_with_broadcast(in, 0);
	flow_input_with_delete_committed_messages(in, 0);
	flow_input_with_record_errors(in, "skip");
	flow_input_set_int(in, "partitions", 5000000000);
	flow_input_send_to(in, flow_output_with_physical_name(flow_output(local, "o"), "O"));
}

/* Of the printed configuration the lines of streams, without places. */
static const char *
printed_streams(plan_text *t)
{
	const char *printed = strstr(plan_text_printed(t, plan_print_text), "\nconfiguration\n");
	char *kept = arena_allocate_zeroed(t->text.arena, strlen(printed) + 1);
	for (const char *line = strchr(printed + 1, '\n'); line != NULL && line[1] != '\0'; line = strchr(line + 1, '\n')) {
		const char *place = strstr(line, "  # ");
		if (strncmp(line + 3, "streams.", 8) == 0)
			strncat(kept, line + 3, (size_t)(place - line - 3));
		if (strncmp(line + 3, "streams.", 8) == 0)
			strcat(kept, "\n");
	}
	return kept;
}

static void
given_every_setter_when_described_then_exactly_these_keys_are_there_and_false_is_a_value(void **state)
{
	plan_text *t = *state;
	plan_of(t, every_property, "");
	assert_string_equal(printed_streams(t), "streams.a.bootstrap = false\n"
											"streams.a.bounded = true\n"
											"streams.a.broadcast = false\n"
											"streams.a.delete_committed_messages = false\n"
											"streams.a.offset_default = \"newest\"\n"
											"streams.a.partitions = 5000000000L\n"
											"streams.a.physical_name = \"A\"\n"
											"streams.a.priority = 2\n"
											"streams.a.record_errors = \"skip\"\n"
											"streams.a.reset_offset = true\n"
											"streams.a.serde.type = \"json\"\n"
											"streams.a.serde.types.t = \"timestamp\"\n"
											"streams.a.serde.types.x = \"int64\"\n"
											"streams.a.serde.types.y = \"string?\"\n"
											"streams.a.system = \"local\"\n"
											"streams.o.physical_name = \"O\"\n"
											"streams.o.serde.type = \"json\"\n"
											"streams.o.serde.types.t = \"timestamp\"\n"
											"streams.o.serde.types.x = \"int64\"\n"
											"streams.o.serde.types.y = \"string?\"\n"
											"streams.o.system = \"local\"\n");
}

static void
nothing_set(flow_graph *app_graph)
{
	flow_application_with_name(flow_application(app_graph), "t");
	flow_input_send_to(flow_input_with_serde(flow_input_from(app_graph, "a", "elsewhere"), "csv"),
					   flow_output_with_serde(flow_output_from(app_graph, "o", "elsewhere"), "json"));
}

static void
given_streams_of_a_system_by_name_when_the_configuration_has_the_system_then_only_what_was_said_is_there(void **state)
{
	plan_text *t = *state;
	plan_of(t, nothing_set,
			"systems: { elsewhere: { type = \"file\"; }; };\nstreams: { a: { content = \"x,y\\n\"; }; };\n");
	assert_string_equal(printed_streams(t), "streams.a.content = \"x,y\\n\"\n"
											"streams.a.serde = \"csv\"\n"
											"streams.a.system = \"elsewhere\"\n"
											"streams.o.serde = \"json\"\n"
											"streams.o.system = \"elsewhere\"\n");
}

static void
given_a_descriptor_and_a_file_that_say_the_same_key_when_planned_then_the_descriptor_wins_and_jobs_beat_it(void **state)
{
	plan_text *t = *state;
	plan_of(t, every_property,
			"streams: { a: { priority = 9; }; };\njobs: { t: { streams: { a: { bootstrap = true; }; }; }; };\n");
	const setting *priority = config_explain(t->text.config, "streams.a.priority");
	assert_int_equal(priority->integer, 2);
	assert_int_equal(priority->layer, LAYER_DESCRIPTOR);
	assert_string_equal(without_lines(t, priority->origin), "HERE");
	assert_int_equal(priority->overrode->integer, 9);
	assert_string_equal(priority->overrode->origin, "flowd.conf:1");
	const setting *bootstrap = config_explain(t->text.config, "streams.a.bootstrap");
	assert_int_equal(bootstrap->integer, 1);
	assert_int_equal(bootstrap->layer, LAYER_JOB);
	assert_int_equal(bootstrap->overrode->integer, 0);
}

/* --- the same thing twice ------------------------------------------------------------------------------------------------- */

static void
one_stream_twice(flow_graph *app_graph)
{
	flow_system_descriptor local = local_system(app_graph);
	local_system(app_graph);
	flow_application_with_name(flow_application(app_graph), "t");
	flow_input_descriptor first = flow_input_with_bounded(flow_input(local, "a"), 1);
	flow_input_descriptor second = flow_input_with_bounded(flow_input(local, "a"), 1);
	flow_input_send_to(first, flow_output(local, "o"));
	flow_input_send_to(second, flow_output(local, "p"));
}

static void
given_one_id_twice_with_equal_content_when_described_then_it_is_one_stream_with_two_readers(void **state)
{
	const plan *p = plan_of(*state, one_stream_twice, "");
	assert_int_equal(p->stream_count, 3);
	assert_int_equal(p->operator_count, 3);
	assert_int_equal(p->edges[0].from, p->edges[1].from);
}

static void
two_contents(flow_graph *app_graph)
{
	flow_system_descriptor local = local_system(app_graph);
	flow_application_with_name(flow_application(app_graph), "t");
	flow_input_descriptor first = flow_input_with_bounded(flow_input(local, "a"), 1);
	flow_input_descriptor second = flow_input_with_bounded(flow_input(local, "a"), 0);
	flow_system(app_graph, "local", "messaging");
	flow_input_send_to(first, flow_output(local, "o"));
	flow_input_send_to(second, flow_output_with_delivery(flow_output(local, "o"), "best"));
}

static void
given_one_id_twice_with_other_content_when_described_then_both_places_are_named(void **state)
{
	assert_string_equal(
		without_lines(*state, problems_of(*state, two_contents, "")),
		"HERE: application.inputs.a: input 'a' is described at HERE already, with other content; describe it once, or the same "
		"both times\n"
		"HERE: application.systems.local: system 'local' is described at HERE already, with other content; describe it once, or "
		"the same both times\n"
		"HERE: application.outputs.o: output 'o' is described at HERE already, with other content; describe it once, or the same "
		"both times\n");
}

/* --- errors ------------------------------------------------------------------------------------------------------------------ */

static void
many_errors(flow_graph *app_graph)
{
	flow_system_descriptor local = local_system(app_graph);
	flow_input_descriptor in = flow_input(local, "bad id");
	flow_input_set_text(in, "serde", NULL);
	flow_input_set_text(in, "a..b", "x");
	flow_output_descriptor out = flow_output(local, "o");
	flow_output_set_text(out, "compresion", "zstd");
	flow_step_descriptor step = flow_step(flow_input(local, "a"), "s");
	flow_step_set_text(step, "wher", "x > 1");
	flow_step_set_text(step, "from", "a");
	app_graph->ops->step(app_graph, out.output, NULL, FLOW_HERE);
	app_graph->ops->step(app_graph, NULL, NULL, FLOW_HERE);
	app_graph->ops->descriptor(app_graph, 77, "x", FLOW_HERE);
	app_graph->ops->descriptor(app_graph, FLOW_DESCRIBE_TABLE, NULL, FLOW_HERE);
	app_graph->ops->descriptor(app_graph, FLOW_DESCRIBE_STEP, "unknown", FLOW_HERE);
	app_graph->ops->set_system(step.step, "local", FLOW_HERE);
	app_graph->ops->connect(in.input, in.input, FLOW_HERE);
	app_graph->ops->inherit(in.input, FLOW_HERE);
	flow_step_connect_input(flow_step_connect_input(step, in), in);
	flow_application_set_text(flow_application(app_graph), "systems.other.type", "file");
}

static void
given_many_errors_in_code_when_described_then_all_are_told_at_once_with_their_places(void **state)
{
	static const char *const expected[] = {
		"app.so: application.name: is missing: name = \"my-application\"\n",
		"application.inputs.bad id: 'bad id' is no name of an input: use letters, digits, '-' and '_'\n",
		"'serde' is set to a text that is NULL\n",
		"'a..b' is no path of a property\n",
		"application.outputs.o.compresion: unknown",
		"did you mean \"compression\"?\n",
		"application.flow[0].wher: 'wher' is neither a function nor a word of a step, did you mean \"where\"?\n",
		"application.flow[0].from: a step in code says this by the calls step(), merge() and connect()\n",
		"a step takes its records from an input or a step, not from a descriptor of kind output\n",
		"a step takes its records from an input or a step, not from nothing\n",
		"77 is no kind of descriptor\n",
		"the table has no name\n",
		"no step is called 'unknown'; steps are made with step()\n",
		"a step has no system; streams have\n",
		"connect() is for steps, not for a descriptor of kind input\n",
		"inherit() is for expanders\n",
		"the step has a second input already\n",
		"application.systems: the application's systems have descriptors of their own\n",
	};
	const char *reported = without_lines(*state, problems_of(*state, many_errors, ""));
	for (size_t i = 0; i < FLOW_COUNT(expected); i++)
		if (strstr(reported, expected[i]) == NULL)
			fail_msg("missing: %sin:\n%s", expected[i], reported);
	for (const char *line = reported; *line != '\0'; line = strchr(line, '\n') + 1)
		if (strncmp(line, "HERE: ", 6) != 0 && strncmp(line, "app.so: ", 8) != 0)
			fail_msg("without a place: %s", line);
}

static void
given_a_describe_that_fails_when_described_then_its_failure_stands_beside_the_other_errors(void **state)
{
	answer = FLOW_E_CONFIG;
	const char *reported = problems_of(*state, nothing_set, "");
	answer = FLOW_OK;
	assert_non_null(strstr(reported, "app.so: application: "));
	assert_non_null(strstr(reported, "there is no system \"elsewhere\""));
}

static void
given_an_application_in_a_file_beside_one_in_code_when_described_then_both_are_named(void **state)
{
	const char *reported =
		problems_of(*state, pass_through, "application: { name = \"other\"; flow: ( { from = \"a\"; } ); };\n");
	assert_string_equal(reported, "flowd.conf:1: application: there are two applications: this one, and app.so, whose options "
								  "would stand here\n");
}

static void
given_options_of_an_application_when_one_is_misspelled_then_the_nearest_is_named(void **state)
{
	assert_string_equal(problems_of(*state, pass_through, "application: { shads = 3; };\n"),
						"flowd.conf:1: application.shads: unknown option, did you mean \"shards\"?\n");
}

static void
ring(flow_graph *app_graph)
{
	flow_system_descriptor local = local_system(app_graph);
	flow_application_with_name(flow_application(app_graph), "t");
	flow_step_descriptor first = flow_step_set_bool(flow_step(flow_input(local, "a"), "first"), "pass", 1);
	flow_step_descriptor second = flow_step_set_bool(flow_next(first, "second"), "pass", 1);
	flow_step_merge_step(first, second);
	flow_send_to(second, flow_output(local, "o"));
}

static void
given_steps_in_code_that_go_round_when_read_then_the_ring_is_reported(void **state)
{
	assert_string_equal(without_lines(*state, problems_of(*state, ring, "")),
						"HERE: application.flow[0]: the step takes its records from itself, through 1 other steps; start it from "
						"an input\n");
}

static void
nameless_half(flow_graph *app_graph)
{
	flow_system_descriptor local = local_system(app_graph);
	flow_application_with_name(flow_application(app_graph), "t");
	flow_step_descriptor forked = flow_step_set_bool(flow_step(flow_input(local, "a"), NULL), "fork.keeps_key", 0);
	flow_step_descriptor half = flow_step_second_output(forked);
	flow_step_descriptor met = flow_step_set_bool(flow_next(half, "met"), "meet.keeps_key", 0);
	flow_send_to(flow_step_connect_step(met, half), flow_output(local, "o"));
}

static void
given_the_second_output_of_a_step_without_name_when_it_is_wrong_then_it_is_named_by_the_steps_place(void **state)
{
	assert_string_equal(without_lines(*state, problems_of(*state, nameless_half, "")),
						"HERE: application.flow[1]: the step at HERE, second output is connected with itself; read the input twice "
						"under two ids\n");
}

/* --- the shared context --------------------------------------------------------------------------------------------------- */

static flow_status
context_init(void **shared, flow_error *error)
{
	(void)error;
	*shared = NULL;
	return FLOW_OK;
}

static void
with_context(flow_graph *app_graph)
{
	app_graph->ops->set_context(app_graph, context_init, NULL);
	pass_through(app_graph);
}

static void
given_a_context_when_planned_then_the_plan_carries_it_and_its_id_stays(void **state)
{
	const plan *p = plan_of(*state, with_context, "");
	assert_true(p->context_init == context_init);
	assert_null(p->context_close);
	char id[33];
	strcpy(id, p->id);
	plan_text_teardown(state);
	plan_text_setup(state);
	assert_string_equal(plan_of(*state, pass_through, "")->id, id);
}

/* --- plugins without application ------------------------------------------------------------------------------------------ */

static void
given_a_plugin_without_application_or_no_plugin_when_asked_for_its_application_then_it_is_said(void **state)
{
	plan_text *t = *state;
	assert_null(graph_from_plugin(t->text.config, t->registry, BUILD_FOLDER "/tests/graph_plugins/planner_fixture.so"));
	assert_null(graph_from_plugin(t->text.config, t->registry, "nowhere.so"));
	const char *reported = config_text_problems(&t->text);
	assert_non_null(strstr(reported, "planner_fixture.so: application: plugin planner_fixture has no application; give "
									 "--plugin-dir its folder to use what it has\n"));
	assert_non_null(strstr(reported, "nowhere.so: application: "));
}

/* --- no memory ------------------------------------------------------------------------------------------------------------- */

/* Returns whether there was a plan. */
static int
plan_with_failure(uint64_t n)
{
	void *state = NULL;
	plan_text_setup(&state);
	plan_text *t = state;
	plan_of(t, counting, ""); /* what it uses is loaded now */
	plan_destroy(t->plan);
	t->plan = NULL;
	memory_fail_at(n, 0);
	t->graph = graph_from_application(t->text.config, t->registry, &application, "app.so");
	int read = t->graph != NULL;
	t->plan = read ? plan_create(t->text.config, t->registry, t->graph, t->flags) : NULL;
	memory_fail_at(0, 0);
	int planned = t->plan != NULL;
	if (!planned)
		assert_int_not_equal(t->text.list->errors, 0);
	if (!read && strstr(config_text_problems(&t->text), "out of memory") == NULL)
		fail_msg("allocation %llu: %s", (unsigned long long)n, config_text_problems(&t->text));
	plan_text_teardown(&state);
	return planned;
}

static void
given_one_allocation_that_fails_when_an_application_in_code_is_read_then_there_is_a_plan_or_it_is_said(void **state)
{
	(void)state;
	uint64_t n = 1;
	while (n < 2000 && !plan_with_failure(n))
		n++;
	assert_true(n > 5 && n < 2000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plan_text_setup, plan_text_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_five_graphs_in_code_and_in_a_file_when_planned_then_the_twins_have_one_id),
		TEST(given_every_setter_when_described_then_exactly_these_keys_are_there_and_false_is_a_value),
		TEST(given_streams_of_a_system_by_name_when_the_configuration_has_the_system_then_only_what_was_said_is_there),
		TEST(given_a_descriptor_and_a_file_that_say_the_same_key_when_planned_then_the_descriptor_wins_and_jobs_beat_it),
		TEST(given_one_id_twice_with_equal_content_when_described_then_it_is_one_stream_with_two_readers),
		TEST(given_one_id_twice_with_other_content_when_described_then_both_places_are_named),
		TEST(given_many_errors_in_code_when_described_then_all_are_told_at_once_with_their_places),
		TEST(given_a_describe_that_fails_when_described_then_its_failure_stands_beside_the_other_errors),
		TEST(given_an_application_in_a_file_beside_one_in_code_when_described_then_both_are_named),
		TEST(given_options_of_an_application_when_one_is_misspelled_then_the_nearest_is_named),
		TEST(given_steps_in_code_that_go_round_when_read_then_the_ring_is_reported),
		TEST(given_the_second_output_of_a_step_without_name_when_it_is_wrong_then_it_is_named_by_the_steps_place),
		TEST(given_a_context_when_planned_then_the_plan_carries_it_and_its_id_stays),
		TEST(given_a_plugin_without_application_or_no_plugin_when_asked_for_its_application_then_it_is_said),
		cmocka_unit_test(
			given_one_allocation_that_fails_when_an_application_in_code_is_read_then_there_is_a_plan_or_it_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
