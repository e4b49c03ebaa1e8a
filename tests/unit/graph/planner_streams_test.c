/* Kinds of streams, partitionings, functions of every shape and the state that they may keep: each cell of the tables. */
#include <string.h>

#include "base/schema.h"
#include "support/plan_text.h"

static void
again(void **state)
{
	plan_text_teardown(state);
	plan_text_setup(state);
}

/* Streams by name, one of each kind: g global, k and k2 keyed by int64, s keyed by string, n and n2 non-keyed, b and b2 broadcast.
 * What is tested stands from line 13 on. */
#define HEAD                                                                                                           \
	"application: { name = \"t\"; parallelism = 3; systems: { local: { type = \"messaging\"; serde: { type = \"json\";\n" \
	"  types: { x = \"int64\"; y = \"string\"; }; }; }; };\n"                                                          \
	"inputs: { a: { system = \"local\"; partitions = 2; }; c: { system = \"local\"; partitions = 2; }; };\n"           \
	"outputs: { o: { system = \"local\"; }; q: { system = \"local\"; }; };\n"                                          \
	"flow: ( { name = \"g\"; from = \"a\"; global = true; pass = true; },\n"                                           \
	"{ name = \"k\"; from = \"a\"; key_by = \"x\"; pass = true; },\n"                                                  \
	"{ name = \"k2\"; from = \"c\"; key_by = \"x\"; pass = true; },\n"                                                 \
	"{ name = \"s\"; from = \"c\"; key_by = \"y\"; pass = true; },\n"                                                  \
	"{ name = \"n\"; from = \"a\"; pass = true; },\n"                                                                  \
	"{ name = \"n2\"; from = \"c\"; pass = true; },\n"                                                                 \
	"{ name = \"b\"; from = \"a\"; broadcast = true; }, { name = \"b2\"; from = \"c\"; broadcast = true; },\n"         \
	"{ name = \"g2\"; from = \"c\"; global = true; pass = true; },\n"

static const char *
conf_of(const char *steps)
{
	static char text[4096];
	snprintf(text, sizeof(text), "%s%s\n); };\n", HEAD, steps);
	return text;
}

static const plan_operator *
planned(void **state, const char *steps, const char *name)
{
	return plan_text_operator(plan_text_plan(*state, conf_of(steps)), name);
}

static void
expect(void **state, const char *steps, const char *reported)
{
	assert_string_equal(plan_text_problems(*state, conf_of(steps)), reported);
	again(state);
}

/* --- partitionings: table 1.2 ---------------------------------------------------------------------------------------------- */

#define PARTITIONINGS 4
static const struct {
	const char *word;
	uint32_t kind, edge;
} partitionings[PARTITIONINGS] = {
	{ "global = true;", FLOW_STREAM_GLOBAL, EDGE_GLOBAL },
	{ "key_by = \"y\";", FLOW_STREAM_KEYED, EDGE_KEY },
	{ "shuffle = true;", FLOW_STREAM_NON_KEYED, EDGE_SHUFFLE },
	{ "broadcast = true;", FLOW_STREAM_BROADCAST, EDGE_BROADCAST },
};

/* The partitioned stream is what `seen` reads; as a broadcast one it can only be its second input. */
static void
check_partitioned(void **state, const char *from, size_t word, const char *refused)
{
	char steps[256];
	int broadcast = partitionings[word].kind == FLOW_STREAM_BROADCAST;
	snprintf(steps, sizeof(steps), "{ name = \"p\"; from = \"%s\"; %s }, { name = \"seen\"; from = \"%s\"; %s to = \"o\"; }", from,
			 partitionings[word].word, broadcast ? "n2" : "p",
			 broadcast ? "connect = \"p\"; meet: { one_is_broadcast = true; };" : "pass = true;");
	plan_text *t = *state;
	const char *reported = plan_text_problems(t, conf_of(steps));
	const plan_operator *seen = t->plan == NULL ? NULL : plan_text_operator(t->plan, "seen");
	uint32_t found = 0;
	for (uint32_t i = 0; seen != NULL && i < t->plan->edge_count; i++)
		if (t->plan->edges[i].to == seen->index && t->plan->edges[i].input == (uint32_t)broadcast)
			found = t->plan->edges[i].partitioning;
	uint32_t kind = seen == NULL ? 0 : seen->stream_kind[0];
	int as_table = refused != NULL ? t->plan == NULL && strstr(reported, refused) != NULL
								   : found == partitionings[word].edge && (broadcast || kind == partitionings[word].kind);
	if (!as_table)
		fail_msg("%s, %s: edge %u, kind %u: %s", from, partitionings[word].word, found, kind, reported);
	again(state);
}

static void
given_each_stream_kind_by_each_partitioning_when_planned_then_the_result_is_that_of_the_table(void **state)
{
	static const char of_broadcast[] = "step 'b' (flowd.conf:11) is broadcast, and a broadcast stream cannot be partitioned again; "
									   "partition what is in front of it\n";
	static const struct {
		const char *from;
		const char *refused[PARTITIONINGS];
	} rows[] = {
		{ "g", { "step 'g' (flowd.conf:5) is global already; take this away\n" } },
		{ "k", { NULL } },
		{ "n", { NULL } },
		{ "b", { of_broadcast, of_broadcast, of_broadcast, of_broadcast } },
	};
	for (size_t i = 0; i < FLOW_COUNT(rows); i++)
		for (size_t word = 0; word < PARTITIONINGS; word++)
			check_partitioned(state, rows[i].from, word, rows[i].refused[word]);
}

/* --- two inputs: table 1.5 ------------------------------------------------------------------------------------------------- */

struct pair {
	const char *first, *second;
	int broadcast;
	uint32_t kind;    /* without a kept key; 0: refused */
	uint32_t keyed;   /* with it */
	const char *says; /* why it is refused */
};

static const struct pair pairs[] = {
	{ "g", "g2", 0, FLOW_STREAM_GLOBAL, FLOW_STREAM_GLOBAL, NULL },
	{ "g", "k", 0, 0, 0, "step 'g' (flowd.conf:5) is global and step 'k' (flowd.conf:6) is keyed: a global stream runs in one task" },
	{ "g", "n", 0, 0, 0, "is global and step 'n' (flowd.conf:9) is non_keyed: a global stream runs in one task" },
	{ "g", "b", 1, 0, 0, "is global and step 'b' (flowd.conf:11) is broadcast: a global stream runs in one task" },
	{ "k", "g", 0, 0, 0, "is keyed and step 'g' (flowd.conf:5) is global: a global stream runs in one task" },
	{ "k", "k2", 0, FLOW_STREAM_NON_KEYED, FLOW_STREAM_KEYED, NULL },
	{ "k", "n", 0, 0, 0, "of a keyed and a non-keyed stream records of one key do not meet; put key_by in front of both" },
	{ "k", "b", 1, FLOW_STREAM_NON_KEYED, FLOW_STREAM_KEYED, NULL },
	{ "n", "g", 0, 0, 0, "is non_keyed and step 'g' (flowd.conf:5) is global: a global stream runs in one task" },
	{ "n", "k", 0, 0, 0, "of a keyed and a non-keyed stream records of one key do not meet" },
	{ "n", "n2", 0, FLOW_STREAM_NON_KEYED, FLOW_STREAM_NON_KEYED, NULL },
	{ "n", "b", 1, FLOW_STREAM_NON_KEYED, FLOW_STREAM_NON_KEYED, NULL },
	{ "b", "g", 1, 0, 0, "step 'g' (flowd.conf:5) is global and step 'b' (flowd.conf:11) is broadcast: a global stream runs in one task" },
	{ "b", "k", 1, FLOW_STREAM_NON_KEYED, FLOW_STREAM_KEYED, NULL },
	{ "b", "n", 1, FLOW_STREAM_NON_KEYED, FLOW_STREAM_NON_KEYED, NULL },
	{ "b", "b2", 1, 0, 0, "two broadcast streams would do the same work in every task; broadcast one of them" },
};

static void
check_pair(void **state, const struct pair *pair, int keeps)
{
	char steps[256];
	snprintf(steps, sizeof(steps),
			 "{ name = \"j\"; from = \"%s\"; connect = \"%s\"; meet: { one_is_broadcast = %s; keeps_key = %s; }; to = \"o\"; }",
			 pair->first, pair->second, pair->broadcast ? "true" : "false", keeps ? "true" : "false");
	plan_text *t = *state;
	const char *reported = plan_text_problems(t, conf_of(steps));
	uint32_t kind = keeps ? pair->keyed : pair->kind;
	if (kind == 0 && (t->plan != NULL || strstr(reported, "application.flow[9].connect: ") == NULL || strstr(reported, pair->says) == NULL))
		fail_msg("%s x %s: %s", pair->first, pair->second, reported);
	if (kind != 0 && (t->plan == NULL || plan_text_operator(t->plan, "j")->stream_kind[0] != kind))
		fail_msg("%s x %s: %s", pair->first, pair->second, reported);
	again(state);
}

static void
given_each_pair_of_stream_kinds_when_connected_then_the_result_is_that_of_the_table_or_both_are_named(void **state)
{
	for (size_t i = 0; i < FLOW_COUNT(pairs); i++) {
		check_pair(state, &pairs[i], 0);
		check_pair(state, &pairs[i], 1);
	}
}

static void
given_a_broadcast_side_when_connected_from_either_side_then_it_is_the_second_input(void **state)
{
	static const char *const steps[] = {
		"{ name = \"j\"; from = \"k\"; connect = \"b\"; meet: { one_is_broadcast = true; }; to = \"o\"; }",
		"{ name = \"j\"; from = \"b\"; connect = \"k\"; meet: { one_is_broadcast = true; }; to = \"o\"; }",
	};
	for (size_t i = 0; i < 2; i++) {
		const plan_operator *j = planned(state, steps[i], "j");
		const plan *p = ((plan_text *)*state)->plan;
		for (uint32_t e = 0; e < p->edge_count; e++)
			if (p->edges[e].to == j->index)
				assert_int_equal(p->edges[e].input, p->edges[e].partitioning == EDGE_BROADCAST);
		assert_int_equal(p->stages[j->stage].task_count, 3);
		again(state);
	}
}

static void
given_keyed_streams_of_different_key_types_when_connected_then_both_types_are_told(void **state)
{
	expect(state, "{ name = \"j\"; from = \"k\"; connect = \"s\"; meet: { }; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9].connect: step 'k' (flowd.conf:6) is keyed by int64 and step 's' (flowd.conf:8) by "
		   "string: connected keyed streams have one type of key; cast one of the keys\n");
}

static void
given_a_global_stream_and_another_kind_when_connected_then_both_ways_out_are_told(void **state)
{
	expect(state, "{ name = \"j\"; from = \"g\"; connect = \"n\"; meet: { }; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9].connect: step 'g' (flowd.conf:5) is global and step 'n' (flowd.conf:9) is non_keyed: a "
		   "global stream runs in one task and goes with another global stream only; put global = true in front of both, or "
		   "partition the global one like the other\n");
}

static void
given_a_second_output_when_it_is_connected_with_itself_then_it_is_named_as_that(void **state)
{
	expect(state,
		   "{ name = \"two\"; from = \"k\"; fork: { }; to = \"q\"; },\n"
		   "{ name = \"j\"; from = \"two.second\"; connect = \"two.second\"; meet: { }; to = \"o\"; }",
		   "flowd.conf:14: application.flow[10].connect: step 'two', second output (flowd.conf:13) is connected with itself; read "
		   "the input twice under two ids\n");
}

static void
given_a_stream_connected_with_itself_when_planned_then_it_is_refused(void **state)
{
	expect(state, "{ name = \"j\"; from = \"n\"; connect = \"n\"; meet: { }; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9].connect: step 'n' (flowd.conf:9) is connected with itself; read the input twice "
		   "under two ids\n");
}

static void
given_inputs_that_do_not_fit_the_function_when_planned_then_the_remedy_is_told(void **state)
{
	expect(state, "{ name = \"j\"; from = \"n\"; connect = \"n2\"; pass = true; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9].connect: 'pass' takes one input, so it cannot be connected to step 'n2' "
		   "(flowd.conf:10)\n");
	expect(state, "{ name = \"j\"; from = \"n\"; meet: { }; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9]: 'meet' takes two inputs; name the second one: connect = \"...\"\n");
	expect(state, "{ name = \"j\"; from = \"n\"; connect = \"n2\"; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9].connect: the step has a second input, but no function that takes it\n");
	expect(state, "{ name = \"j\"; from = \"n\"; connect = \"n2\"; meet: { one_is_broadcast = true; }; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9].connect: 'meet' takes a broadcast stream as its second input; put broadcast = true "
		   "in front of step 'n2' (flowd.conf:10)\n");
	expect(state, "{ name = \"j\"; from = \"b\"; connect = \"n\"; meet: { }; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9].connect: 'meet' takes two streams of which none is broadcast; take broadcast = "
		   "true away from step 'b' (flowd.conf:11)\n");
}

/* --- one input, two outputs: tables 1.3 and 1.4 ------------------------------------------------------------------------------ */

static void
given_each_stream_kind_when_processed_then_outputs_have_the_kinds_of_the_tables(void **state)
{
	static const struct {
		const char *from;
		uint32_t kind, keyed;
	} rows[] = { { "g", FLOW_STREAM_GLOBAL, FLOW_STREAM_GLOBAL },
				 { "k", FLOW_STREAM_NON_KEYED, FLOW_STREAM_KEYED },
				 { "n", FLOW_STREAM_NON_KEYED, FLOW_STREAM_NON_KEYED } };
	for (size_t i = 0; i < FLOW_COUNT(rows); i++) {
		for (int keeps = 0; keeps < 2; keeps++) {
			char steps[256];
			uint32_t wanted = keeps ? rows[i].keyed : rows[i].kind;
			snprintf(steps, sizeof(steps),
					 "{ name = \"one\"; from = \"%s\"; keep: { keeps_key = %s; }; }, { name = \"two\"; fork: { keeps_key = %s; }; to "
					 "= \"o\"; }, { from = \"two.second\"; to = \"q\"; }",
					 rows[i].from, keeps ? "true" : "false", keeps ? "true" : "false");
			const plan_operator *one = planned(state, steps, "one");
			const plan *p = ((plan_text *)*state)->plan;
			const plan_operator *two = plan_text_operator(p, "two");
			assert_int_equal(one->stream_kind[0], wanted);
			assert_int_equal(two->stream_kind[0], wanted);
			assert_int_equal(two->stream_kind[1], wanted);
			assert_int_equal(plan_text_edge_to(p, "two")->exchange, 0);
			assert_int_equal(plan_text_edge_to(p, "q")->output, 1);
			again(state);
		}
	}
}

static void
given_a_global_stream_when_processed_then_all_behind_it_is_one_task(void **state)
{
	const plan_operator *o = planned(
		state, "{ name = \"j\"; from = \"g\"; connect = \"g2\"; meet: { }; }, { name = \"two\"; fork: { }; to = \"o\"; }", "two");
	const plan *p = ((plan_text *)*state)->plan;
	assert_int_equal(p->stages[o->stage].task_count, 1);
	assert_int_equal(p->stages[plan_text_operator(p, "j")->stage].task_count, 1);
	assert_int_equal(p->stages[plan_text_operator(p, "g")->stage].task_count, 1);
}

static void
given_a_step_behind_a_global_stream_when_told_how_many_tasks_to_have_then_it_is_refused_and_a_name_is_taken(void **state)
{
	expect(state, "{ name = \"j\"; from = \"g\"; pass = true; parallelism = 2; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9].parallelism: unknown option\n");
	static const char step[] = "{ name = \"j\"; from = \"g\"; pass = true; to = \"o\"; } ); };\n";
	for (int max = 0; max < 2; max++) {
		char conf[4096], expected[128];
		snprintf(conf, sizeof(conf), "%s%soperators: { j: { %sparallelism = %d; }; };\n", HEAD, step, max ? "max_" : "", 2 + max);
		snprintf(expected, sizeof(expected), "flowd.conf:14: operators.j.%sparallelism: unknown option\n", max ? "max_" : "");
		assert_string_equal(plan_text_problems(*state, conf), expected);
		again(state);
	}
	const plan_operator *o = planned(state, "{ name = \"j\"; from = \"g\"; pass = true; to = \"o\"; }", "j");
	assert_int_equal(((plan_text *)*state)->plan->stages[o->stage].task_count, 1);
}

static void
given_a_second_output_that_is_not_there_when_taken_then_it_is_said(void **state)
{
	expect(state, "{ from = \"n.second\"; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9].from: the step before (flowd.conf:9) has one output; there is no second one\n");
}

static void
given_a_function_that_contradicts_itself_when_planned_then_it_is_a_plugin_error(void **state)
{
	expect(state, "{ name = \"two\"; from = \"k\"; fork: { one_key = true; }; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9]: plugin error: 'fork' gives keys to one of its two outputs; both have keys, or "
		   "none\n");
	expect(state, "{ name = \"one\"; from = \"k\"; keep: { keeps_key = true; key_type = \"string\"; }; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9]: plugin error: 'keep' keeps the key of its input, but says that keys become "
		   "string (they are int64)\n");
}

/* --- state: table 3.3 ---------------------------------------------------------------------------------------------------------- */

static void
given_each_redistribution_on_each_kind_of_input_when_planned_then_it_is_legal_as_in_the_table(void **state)
{
	static const struct {
		const char *inputs;
		int none, identical; /* split and union are legal on all of them */
	} rows[] = {
		{ "from = \"g\"; keep", 1, 0 },
		{ "from = \"n\"; keep", 0, 0 },
		{ "from = \"k\"; keep", 1, 0 },
		{ "from = \"g\"; fork", 1, 0 },
		{ "from = \"n\"; fork", 0, 0 },
		{ "from = \"k\"; fork", 1, 0 },
		{ "from = \"k\"; connect = \"k2\"; meet", 1, 0 },
		{ "from = \"n\"; connect = \"n2\"; meet", 0, 0 },
		{ "from = \"g\"; connect = \"g2\"; meet", 1, 0 }, /* like one global stream, unlike the original */
		{ "from = \"k\"; connect = \"b\"; one_is_broadcast = true; meet", 1, 1 },
		{ "from = \"b\"; connect = \"k\"; one_is_broadcast = true; meet", 1, 1 },
		{ "from = \"n\"; connect = \"b\"; one_is_broadcast = true; meet", 0, 1 },
		{ "from = \"b\"; connect = \"n\"; one_is_broadcast = true; meet", 0, 1 },
	};
	static const char *const words[] = { "none", "split", "union", "identical" };
	for (size_t i = 0; i < FLOW_COUNT(rows); i++) {
		for (size_t k = 0; k < 4; k++) {
			char steps[256];
			int legal = k == 0 ? rows[i].none : k == 3 ? rows[i].identical : 1;
			snprintf(steps, sizeof(steps), "{ name = \"j\"; %s: { state = \"%s\"; }; to = \"o\"; }", rows[i].inputs, words[k]);
			plan_text *t = *state;
			const char *reported = plan_text_problems(t, conf_of(steps));
			if ((t->plan != NULL) != legal || (!legal && strstr(reported, k == 0 ? "keeps state for each key, 'none', and "
																				 : "keeps the same state in all tasks") == NULL))
				fail_msg("%s, %s: %s", rows[i].inputs, words[k], reported);
			again(state);
		}
	}
}

static void
given_the_same_state_in_all_tasks_without_a_broadcast_input_when_planned_then_the_way_out_is_told(void **state)
{
	expect(state, "{ name = \"j\"; from = \"k\"; keep: { state = \"identical\"; }; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9]: 'keep' keeps the same state in all tasks, 'identical', and step 'k' (flowd.conf:6) is "
		   "keyed: only a broadcast input can keep it the same in all tasks, so connect the step to a broadcast stream\n");
}

static void
given_states_that_contradict_themselves_when_planned_then_they_are_plugin_errors(void **state)
{
	expect(state, "{ name = \"j\"; from = \"k\"; connect = \"b\"; meet: { one_is_broadcast = true; state = \"identical\"; state_kind = 1; }; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9]: plugin error: state 'identical' of 'meet' is declared identical; state that is the "
		   "same in all tasks is broadcast state, and only that\n");
	expect(state, "{ name = \"j\"; from = \"k\"; keep: { state = \"none\"; state_kind = 5; }; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9]: plugin error: state 'none' of 'keep' is broadcast state without identical "
		   "redistribution; state that is the same in all tasks is broadcast state, and only that\n");
	expect(state, "{ name = \"j\"; from = \"n\"; keep: { state = \"split\"; state_kind = 1; }; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9]: plugin error: state 'split' of 'keep' is redistributed by split, which only lists "
		   "can be\n");
}

static void
given_timers_on_a_stream_without_keys_when_planned_then_it_is_refused(void **state)
{
	expect(state, "{ name = \"j\"; from = \"n\"; keep: { timers = true; }; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9]: 'keep' sets timers for each key, and step 'n' (flowd.conf:9) is non_keyed: put "
		   "key_by = \"...\" (or global = true) in front of it\n");
}

/* --- merging -------------------------------------------------------------------------------------------------------------------- */

static void
given_streams_of_one_kind_when_merged_then_the_result_has_that_kind(void **state)
{
	static const struct {
		const char *from;
		uint32_t kind;
	} rows[] = { { "[\"n\", \"n2\"]", FLOW_STREAM_NON_KEYED },
				 { "[\"k\", \"k2\"]", FLOW_STREAM_KEYED },
				 { "[\"g\", \"g2\"]", FLOW_STREAM_GLOBAL } };
	for (size_t i = 0; i < FLOW_COUNT(rows); i++) {
		char steps[128];
		snprintf(steps, sizeof(steps), "{ name = \"all\"; from = %s; to = \"o\"; }", rows[i].from);
		const plan_operator *all = planned(state, steps, "all");
		assert_int_equal(all->kind, OPERATOR_MERGE);
		assert_int_equal(all->stream_kind[0], rows[i].kind);
		again(state);
	}
}

static void
given_streams_that_differ_when_merged_then_both_are_named(void **state)
{
	expect(state, "{ from = [\"k\", \"n\"]; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9].from[1]: step 'n' (flowd.conf:9) is non_keyed, but step 'k' (flowd.conf:6) is "
		   "keyed; merged streams are of one kind: key all or none\n");
	expect(state, "{ from = [\"k\", \"s\"]; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9].from[1]: step 's' (flowd.conf:8) has keys string, but step 'k' (flowd.conf:6) has "
		   "keys int64; merged streams have one type of key\n");
	expect(state, "{ from = [\"n\", \"n\"]; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9].from[1]: step 'n' (flowd.conf:9) is merged with itself\n");
	expect(state, "{ from = [\"b\", \"b2\"]; to = \"o\"; }",
		   "flowd.conf:13: application.flow[9].from[0]: step 'b' (flowd.conf:11) is broadcast, and a broadcast stream cannot be "
		   "merged\n");
	expect(state, "{ from = [ ]; to = \"o\"; }", "flowd.conf:13: application.flow[9].from: names no input or step\n");
	expect(state,
		   "{ name = \"m\"; from = \"k\"; aggregate: { n = \"count(*)\"; }; }, { from = [\"n\", \"m\"]; to = \"o\"; }",
		   "flowd.conf:13: application.flow[10].from[1]: step 'm' (flowd.conf:13) gives record(key:string,n:int64), but step 'n' "
		   "(flowd.conf:9) gives record(x:int64,y:string); merged streams have one type\n");
}

static void
given_merged_inputs_before_a_window_when_planned_then_event_time_is_assigned_in_front_of_the_merge(void **state)
{
	plan_text *t = *state;
	plan_text_plan(t, "application: { name = \"t\"; parallelism = 2; systems: { local: { type = \"messaging\"; serde: { type = "
					  "\"json\"; types: { x = \"int64\"; t = \"timestamp\"; }; }; }; };\n"
					  "inputs: { a: { system = \"local\"; }; b: { system = \"local\"; }; }; outputs: { o: { system = \"local\"; }; };\n"
					  "flow: ( { name = \"all\"; from = [\"a\", \"b\"]; }, { key_by = \"x\"; },\n"
					  "{ name = \"w\"; aggregate: { n = \"count(*)\"; }; window: { tumbling = \"1h\"; time = \"t\"; }; to = \"o\"; } ); };\n");
	assert_string_equal(plan_text_stages(t), "1: a w_time; 1: b w_time_2; 1: all key_by; 2 keyed: w o");
}

static void
given_a_broadcast_input_when_planned_then_every_task_of_the_other_side_reads_it(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(
		t, "application: { name = \"t\"; parallelism = 3; systems: { local: { type = \"messaging\"; serde = \"json\"; }; };\n"
		   "inputs: { a: { system = \"local\"; partitions = 2; }; rules: { system = \"local\"; broadcast = true; }; };\n"
		   "outputs: { o: { system = \"local\"; }; };\n"
		   "flow: ( { name = \"j\"; from = \"a\"; connect = \"rules\"; meet: { one_is_broadcast = true; }; to = \"o\"; } ); };\n");
	assert_int_equal(p->stages[plan_text_operator(p, "j")->stage].task_count, 2);
	assert_int_equal(p->intermediate_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plan_text_setup, plan_text_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_each_stream_kind_by_each_partitioning_when_planned_then_the_result_is_that_of_the_table),
		TEST(given_each_pair_of_stream_kinds_when_connected_then_the_result_is_that_of_the_table_or_both_are_named),
		TEST(given_a_broadcast_side_when_connected_from_either_side_then_it_is_the_second_input),
		TEST(given_keyed_streams_of_different_key_types_when_connected_then_both_types_are_told),
		TEST(given_a_global_stream_and_another_kind_when_connected_then_both_ways_out_are_told),
		TEST(given_a_second_output_when_it_is_connected_with_itself_then_it_is_named_as_that),
		TEST(given_a_stream_connected_with_itself_when_planned_then_it_is_refused),
		TEST(given_inputs_that_do_not_fit_the_function_when_planned_then_the_remedy_is_told),
		TEST(given_each_stream_kind_when_processed_then_outputs_have_the_kinds_of_the_tables),
		TEST(given_a_global_stream_when_processed_then_all_behind_it_is_one_task),
		TEST(given_a_step_behind_a_global_stream_when_told_how_many_tasks_to_have_then_it_is_refused_and_a_name_is_taken),
		TEST(given_a_second_output_that_is_not_there_when_taken_then_it_is_said),
		TEST(given_a_function_that_contradicts_itself_when_planned_then_it_is_a_plugin_error),
		TEST(given_each_redistribution_on_each_kind_of_input_when_planned_then_it_is_legal_as_in_the_table),
		TEST(given_the_same_state_in_all_tasks_without_a_broadcast_input_when_planned_then_the_way_out_is_told),
		TEST(given_states_that_contradict_themselves_when_planned_then_they_are_plugin_errors),
		TEST(given_timers_on_a_stream_without_keys_when_planned_then_it_is_refused),
		TEST(given_streams_of_one_kind_when_merged_then_the_result_has_that_kind),
		TEST(given_streams_that_differ_when_merged_then_both_are_named),
		TEST(given_merged_inputs_before_a_window_when_planned_then_event_time_is_assigned_in_front_of_the_merge),
		TEST(given_a_broadcast_input_when_planned_then_every_task_of_the_other_side_reads_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
