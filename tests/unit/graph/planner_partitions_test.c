/* Partition counts: what is joined agrees, intermediate streams take the count of what they are joined with; their settings. */
#include <string.h>

#include "support/plan_text.h"

static void
again(void **state)
{
	plan_text_teardown(state);
	plan_text_setup(state);
}

/* Inputs a, b, c with partitions; output o with `outputs` of them. Steps stand from line 5 on. */
static const char *
conf_of(const char *a, const char *b, const char *c, const char *job, const char *steps)
{
	static char text[4096];
	snprintf(text, sizeof(text),
			 "application: { name = \"t\"; %s systems: { local: { type = \"messaging\"; serde: { key = \"string\"; value: { type = \"json\";\n"
			 "  types: { x = \"int64\"; }; }; }; }; }; tables: { t: { type = \"memory\"; }; d: { type = \"durable\"; }; };\n"
			 "inputs: { a: { system = \"local\"; %s }; b: { system = \"local\"; %s }; c: { system = \"local\"; %s }; };\n"
			 "outputs: { o: { system = \"local\"; }; };\nflow: (\n%s\n); };\n",
			 job, a, b, c, steps);
	return text;
}

static int32_t
partitions_of(void **state, const char *id)
{
	const plan *p = ((plan_text *)*state)->plan;
	for (uint32_t i = 0; i < p->intermediate_count; i++)
		if (strcmp(p->intermediates[i].id, id) == 0)
			return p->intermediates[i].partitions;
	fail_msg("no intermediate stream is called %s", id);
	return 0;
}

static void
expect(void **state, const char *conf, const char *reported)
{
	assert_string_equal(plan_text_problems(*state, conf), reported);
	again(state);
}

#define COUNT(n) "partitions = " #n ";"
#define JOIN(name, one, other) "{ name = \"" name "\"; from = \"" one "\"; connect = \"" other "\"; meet: { }; to = \"o\"; }"
#define SPREAD(name, from) "{ name = \"" name "\"; from = \"" from "\"; shuffle = true; pass = true; }, "

static void
given_equal_counts_when_joined_then_it_is_planned_and_unequal_ones_are_named(void **state)
{
	plan_text_plan(*state, conf_of(COUNT(8), COUNT(8), "", "", JOIN("j", "a", "b")));
	again(state);
	expect(state, conf_of(COUNT(8), COUNT(4), "", "", JOIN("j", "a", "b")),
		   "flowd.conf:6: application.flow[0]: 'j' joins input 'a' with 8 partitions and input 'b' with 4 partitions; the counts must "
		   "be equal: put key_by in front of both\n");
}

static void
given_a_partitioning_before_a_join_when_planned_then_it_takes_the_count_of_the_other_side(void **state)
{
	plan_text_plan(*state, conf_of(COUNT(64), COUNT(16), "", "", SPREAD("p", "b") JOIN("j", "a", "p")));
	assert_int_equal(partitions_of(state, "t-p"), 64);
}

static void
given_joins_in_a_chain_when_planned_then_the_count_reaches_all_whatever_the_order(void **state)
{
	static const char *const joins[] = { JOIN("j", "q", "p") ", " JOIN("k", "p", "a"), JOIN("k", "p", "a") ", " JOIN("j", "q", "p") };
	for (size_t i = 0; i < 2; i++) {
		char steps[1024];
		snprintf(steps, sizeof(steps), SPREAD("p", "b") SPREAD("q", "c") "%s", joins[i]);
		plan_text_plan(*state, conf_of(COUNT(16), COUNT(5), COUNT(7), "", steps));
		assert_int_equal(partitions_of(state, "t-p"), 16);
		assert_int_equal(partitions_of(state, "t-q"), 16);
		again(state);
	}
}

static void
given_a_stream_joined_with_two_counts_when_planned_then_both_inputs_are_named(void **state)
{
	expect(state, conf_of(COUNT(16), COUNT(5), COUNT(7), "", SPREAD("p", "b") JOIN("j", "p", "a") ", " JOIN("k", "p", "c")),
		   "flowd.conf:6: application.flow[2]: 'k' joins intermediate stream 't-p' with 16 partitions (as input 'a' has) "
		   "and input 'c' with 7 partitions; the counts must be equal: put key_by in front of both\n");
}

static void
given_a_local_table_when_written_and_read_by_unequal_counts_then_table_and_inputs_are_named(void **state)
{
	expect(state,
		   conf_of(COUNT(8), COUNT(4), "", "",
				   "{ from = \"b\"; write_table = \"d\"; }, { from = \"a\"; join_table = \"d\"; to = \"o\"; }"),
		   "flowd.conf:6: application.flow[0]: table 'd' is shared by input 'a' with 8 partitions and input 'b' with 4 partitions; the counts "
		   "must be equal: put key_by in front of both\n");
}

static void
given_a_broadcast_side_when_joined_then_its_count_does_not_matter(void **state)
{
	plan_text_plan(*state, conf_of(COUNT(8), COUNT(1) " broadcast = true;", "", "",
								   "{ name = \"j\"; from = \"a\"; connect = \"b\"; meet: { one_is_broadcast = true; }; to = \"o\"; }"));
}

static void
given_no_join_when_planned_then_an_intermediate_stream_takes_the_largest_count_and_configuration_beats_it(void **state)
{
	const char *conf = conf_of(COUNT(3), COUNT(12), COUNT(1), "", SPREAD("p", "a") "{ to = \"o\"; }");
	plan_text_plan(*state, conf);
	assert_int_equal(partitions_of(state, "t-p"), 12);
	again(state);
	const char *const commands[] = { "streams.t-p.partitions=5", NULL };
	plan_text *t = *state;
	plan_text_problems_with(t, conf, commands);
	assert_non_null(t->plan);
	assert_int_equal(partitions_of(state, "t-p"), 5);
	const setting *count = config_explain(t->text.config, "streams.t-p.partitions");
	assert_int_equal(count->layer, LAYER_COMMAND);
}

static void
given_a_count_that_configuration_sets_when_it_breaks_a_join_then_it_is_an_error(void **state)
{
	const char *const commands[] = { "streams.t-p.partitions=5", NULL };
	const char *reported = plan_text_problems_with(
		*state, conf_of(COUNT(8), COUNT(3), "", "", SPREAD("p", "b") JOIN("j", "a", "p")), commands);
	assert_string_equal(reported, "flowd.conf:6: application.flow[1]: 'j' joins input 'a' with 8 partitions and intermediate "
								  "stream 't-p' with 5 partitions; the counts must be equal: put key_by in front of both\n");
}

static void
given_global_and_broadcast_when_planned_then_their_streams_have_one_partition(void **state)
{
	plan_text_plan(*state, conf_of(COUNT(8), "", "", "", "{ name = \"g\"; from = \"a\"; global = true; pass = true; to = \"o\"; }"));
	assert_int_equal(partitions_of(state, "t-g"), 1);
}

/* --- their settings -------------------------------------------------------------------------------------------------------------- */

#define KEYED "{ name = \"k\"; from = \"a\"; key_by = \"cast(x as string)\"; }, { pass = true; to = \"o\"; }"

static void
given_a_default_system_when_planned_then_intermediate_streams_are_its_own_and_never_inputs_or_outputs(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, conf_of(COUNT(8), "", "", "default_system = \"local\";", KEYED));
	assert_string_equal(p->intermediates[0].id, "t-k");
	assert_string_equal(p->intermediates[0].system, "local");
	assert_int_equal(config_explain(t->text.config, "streams.t-k.system")->layer, LAYER_PLANNER);
	again(state);
	const char *reported = plan_text_problems(
		*state, "application: { name = \"t\"; default_system = \"local\"; systems: { local: { type = \"messaging\"; }; };\n"
				"inputs: { a: { serde = \"json\"; }; }; outputs: { o: { serde = \"json\"; }; };\n"
				"flow: ( { from = \"a\"; to = \"o\"; } ); };\n");
	assert_string_equal(reported, "flowd.conf:2: application.inputs.a.system: the option is required\n"
								  "flowd.conf:2: application.outputs.o.system: the option is required\n");
}

static void
given_a_default_system_by_configuration_when_planned_then_it_counts(void **state)
{
	const char *const commands[] = { "job.default_system=local", "streams.t-k.physical_name=\"between\"", NULL };
	plan_text *t = *state;
	plan_text_problems_with(t, conf_of("", "", "", "", KEYED), commands);
	assert_non_null(t->plan);
	assert_string_equal(t->plan->intermediates[0].system, "local");
	assert_string_equal(t->plan->intermediates[0].physical_name, "between");
}

static void
given_a_default_system_that_cannot_carry_streams_or_has_no_key_serde_when_planned_then_it_is_refused(void **state)
{
	static const char conf[] =
		"application: { name = \"t\"; default_system = \"%s\";\n"
		"systems: { files: { type = \"file\"; }; local: { type = \"messaging\"; serde: { type = \"json\"; types: { x = \"int64\"; }; }; }; };\n"
		"inputs: { a: { system = \"local\"; }; }; outputs: { o: { system = \"local\"; }; };\n"
		"flow: ( { name = \"k\"; from = \"a\"; key_by = \"x\"; }, { to = \"o\"; } ); };\n";
	char text[1024];
	snprintf(text, sizeof(text), conf, "files");
	expect(state, text, "flowd.conf:1: application.default_system: system 'files' (file) cannot carry intermediate streams\n");
	snprintf(text, sizeof(text), conf, "local");
	expect(state, text,
		   "flowd.conf:2: application.systems.local.serde: system 'local' carries the intermediate stream 't-k', whose records "
		   "have keys: serde: { key = \"...\"; value = \"...\"; }\n");
	snprintf(text, sizeof(text), conf, "nowhere");
	expect(state, text, "flowd.conf:1: application.default_system: there is no system \"nowhere\"\n");
}

/* The system `between` carries the stream behind k. */
#define CARRIED(serde, key)                                                                                            \
	"application: { name = \"t\"; default_system = \"between\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\";\n"  \
	"  types: { x = \"int64\"; s = \"string\"; }; }; };\n"                                                \
	"between: { type = \"messaging\"; " serde " }; };\n"                                                               \
	"inputs: { a: { system = \"local\"; }; }; outputs: { o: { system = \"local\"; }; };\n"       \
	"flow: ( { name = \"k\"; from = \"a\"; key_by = \"" key "\"; }, { aggregate: { n = \"count(*)\"; }; name = \"n\"; to = \"o\"; } ); };\n"
#define WITH_KEYS "serde: { key = \"string\"; value = \"frames\"; };"

static const char *
set(void **state, const char *conf, const char *one, const char *other)
{
	const char *const commands[] = { one, other, NULL };
	again(state);
	return plan_text_problems_with(*state, conf, commands);
}

static void
given_a_serde_of_an_intermediate_stream_by_configuration_when_planned_then_it_beats_that_of_its_system(void **state)
{
	static const char *const confs[] = { CARRIED("", "s"), CARRIED("serde = \"json\";", "s"), CARRIED(WITH_KEYS, "s") };
	for (size_t i = 0; i < 3; i++) {
		set(state, confs[i], "streams.t-k.serde.key=string", "streams.t-k.serde.value={ type = \"json\"; delimiter = \";\"; }");
		plan_text *t = *state;
		assert_non_null(t->plan);
		const plan_intermediate *stream = &t->plan->intermediates[0];
		assert_string_equal(stream->key.component->id, "string");
		assert_string_equal(stream->value.component->id, "json");
		assert_string_equal(flow_option_text(stream->value.options, "delimiter").data, ";");
		assert_non_null(strstr(plan_text_printed(t, plan_print_text), "  via t-k: between, by key, 1 partition, key string, json\n"));
	}
}

static void
given_a_serde_of_an_intermediate_stream_that_cannot_be_when_planned_then_its_place_is_told(void **state)
{
	assert_string_equal(set(state, CARRIED(WITH_KEYS, "s"), "streams.t-k.serde=nonsense", NULL),
						"--set: streams.t-k.serde: no plugin has a serde 'nonsense'\n");
	assert_string_equal(set(state, CARRIED(WITH_KEYS, "s"), "streams.t-k.serde.key=string",
							"streams.t-k.serde.value={ type = \"json\"; delimeter = \";\"; }"),
						"--set: streams.t-k.serde.value.delimeter: unknown option, did you mean \"delimiter\"?\n");
	assert_string_equal(set(state, CARRIED(WITH_KEYS, "s"), "streams.t-k.serde=json", NULL),
						"--set: streams.t-k.serde: the records of the intermediate stream 't-k' have keys: serde: { key = \"...\"; value = "
						"\"...\"; }\n");
	assert_string_equal(set(state, CARRIED(WITH_KEYS, "s"), "streams.t-k.serde.key=string", "streams.t-k.serde.val=json"),
						"--set: streams.t-k.serde.val: a serde has 'key' and 'value', or 'type' and its options, did you mean "
						"\"value\"?\n");
	assert_string_equal(set(state, CARRIED(WITH_KEYS, "s"), "streams.t-k.serde.key=string", "streams.t-k.serde.value=csv"),
						"--set: streams.t-k.serde.value: serde 'csv' is for streams of bytes; system 'between' has records\n");
}

static void
given_no_default_system_when_an_intermediate_stream_has_a_serde_then_it_is_checked_all_the_same(void **state)
{
	const char *conf = conf_of("", "", "", "", KEYED);
	assert_string_equal(set(state, conf, "streams.t-k.serde=nonsense", NULL),
						"--set: streams.t-k.serde: no plugin has a serde 'nonsense'\n");
	set(state, conf, "streams.t-k.serde.key=string", "streams.t-k.serde.value=json");
	plan_text *t = *state;
	assert_non_null(t->plan);
	assert_non_null(strstr(plan_text_printed(t, plan_print_text), "  via t-k: key, 1 partition, key string, json\n"));
}

static void
given_a_system_with_a_serde_when_planned_then_its_intermediate_streams_have_it_as_a_default(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, CARRIED(WITH_KEYS, "s"));
	assert_string_equal(p->intermediates[0].key.component->id, "string");
	assert_string_equal(p->intermediates[0].value.component->id, "frames");
	const setting *key = config_explain(t->text.config, "streams.t-k.serde.key");
	assert_int_equal(key->layer, LAYER_SYSTEM);
	assert_int_equal(key->line, 3);
}

static void
given_a_default_system_without_serde_when_it_carries_a_stream_then_it_is_missed_once(void **state)
{
	expect(state,
		   "application: { name = \"t\"; default_system = \"between\"; systems: { local: { type = \"messaging\"; serde: { type = "
		   "\"json\"; types: { s = \"string\"; }; }; };\nbetween: { type = \"messaging\"; }; };\n"
		   "inputs: { a: { system = \"local\"; }; }; outputs: { o: { system = \"local\"; }; };\n"
		   "flow: ( { name = \"k\"; from = \"a\"; key_by = \"s\"; }, { to = \"o\"; },\n"
		   "{ name = \"l\"; from = \"a\"; key_by = \"s\"; }, { to = \"o\"; } ); };\n",
		   "flowd.conf:2: application.systems.between.serde: is missing: system 'between' carries the intermediate stream 't-k', whose "
		   "records have keys: serde: { key = \"...\"; value = \"...\"; }\n");
}

static void
given_records_that_the_serde_of_their_intermediate_stream_cannot_take_when_planned_then_both_places_are_named(void **state)
{
	expect(state, CARRIED("serde: { key = \"string\"; value = \"frames\"; };", "x"),
		   "flowd.conf:3: application.systems.between.serde.key: intermediate stream 't-k': serde 'string' cannot take these keys: it "
		   "is no string; the records come from 'k' (flowd.conf:5)\n");
	expect(state, CARRIED("serde: { key = \"string\"; value = \"writes_only\"; };", "s"),
		   "flowd.conf:3: application.systems.between.serde.value: intermediate stream 't-k': the serde 'writes_only' writes only, and "
		   "its records are read again\n");
	expect(state, CARRIED("serde: { key = \"reads_only\"; value = \"frames\"; };", "s"),
		   "flowd.conf:3: application.systems.between.serde.key: intermediate stream 't-k': the serde 'reads_only' reads only; write "
		   "with another one\n");
}

static void
given_a_system_of_its_own_when_an_intermediate_stream_names_one_then_that_one_is_asked(void **state)
{
	const char *conf = CARRIED(WITH_KEYS, "s");
	assert_string_equal(set(state, conf, "streams.t-k.system=local", NULL),
						"flowd.conf:1: application.systems.local.serde: system 'local' carries the intermediate stream 't-k', whose "
						"records have keys: serde: { key = \"...\"; value = \"...\"; }\n");
	assert_string_equal(set(state, conf, "streams.t-k.system=files", "systems.files.type=file"),
						"--set: streams.t-k.system: system 'files' (file) cannot carry intermediate streams\n");
}

static void
given_settings_of_a_stream_that_is_no_intermediate_one_when_planned_then_the_nearest_is_named(void **state)
{
	const char *const commands[] = { "streams.t-kk.partitions=5", NULL };
	assert_string_equal(plan_text_problems_with(*state, conf_of("", "", "", "", KEYED), commands),
						"--set: streams.t-kk.partitions: the application has no stream 't-kk', did you mean \"t-k\"?\n");
	again(state);
	const char *const wrong[] = { "streams.t-k.partitons=5", NULL };
	assert_string_equal(plan_text_problems_with(*state, conf_of("", "", "", "", KEYED), wrong),
						"--set: streams.t-k.partitons: unknown option, did you mean \"partitions\"?\n");
}

static void
given_systems_for_checkpoints_and_changelogs_when_planned_then_they_must_exist(void **state)
{
	plan_text_plan(*state, conf_of("", "", "", "checkpoint_system = \"local\"; changelog_system = \"local\";", KEYED));
	again(state);
	expect(state, conf_of("", "", "", "checkpoint_system = \"lokal\";", KEYED),
		   "flowd.conf:1: application.checkpoint_system: there is no system \"lokal\", did you mean \"local\"?\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plan_text_setup, plan_text_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_equal_counts_when_joined_then_it_is_planned_and_unequal_ones_are_named),
		TEST(given_a_partitioning_before_a_join_when_planned_then_it_takes_the_count_of_the_other_side),
		TEST(given_joins_in_a_chain_when_planned_then_the_count_reaches_all_whatever_the_order),
		TEST(given_a_stream_joined_with_two_counts_when_planned_then_both_inputs_are_named),
		TEST(given_a_local_table_when_written_and_read_by_unequal_counts_then_table_and_inputs_are_named),
		TEST(given_a_broadcast_side_when_joined_then_its_count_does_not_matter),
		TEST(given_no_join_when_planned_then_an_intermediate_stream_takes_the_largest_count_and_configuration_beats_it),
		TEST(given_a_count_that_configuration_sets_when_it_breaks_a_join_then_it_is_an_error),
		TEST(given_global_and_broadcast_when_planned_then_their_streams_have_one_partition),
		TEST(given_a_default_system_when_planned_then_intermediate_streams_are_its_own_and_never_inputs_or_outputs),
		TEST(given_a_default_system_by_configuration_when_planned_then_it_counts),
		TEST(given_a_default_system_that_cannot_carry_streams_or_has_no_key_serde_when_planned_then_it_is_refused),
		TEST(given_a_serde_of_an_intermediate_stream_by_configuration_when_planned_then_it_beats_that_of_its_system),
		TEST(given_a_serde_of_an_intermediate_stream_that_cannot_be_when_planned_then_its_place_is_told),
		TEST(given_no_default_system_when_an_intermediate_stream_has_a_serde_then_it_is_checked_all_the_same),
		TEST(given_a_system_with_a_serde_when_planned_then_its_intermediate_streams_have_it_as_a_default),
		TEST(given_a_default_system_without_serde_when_it_carries_a_stream_then_it_is_missed_once),
		TEST(given_records_that_the_serde_of_their_intermediate_stream_cannot_take_when_planned_then_both_places_are_named),
		TEST(given_a_system_of_its_own_when_an_intermediate_stream_names_one_then_that_one_is_asked),
		TEST(given_settings_of_a_stream_that_is_no_intermediate_one_when_planned_then_the_nearest_is_named),
		TEST(given_systems_for_checkpoints_and_changelogs_when_planned_then_they_must_exist),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
