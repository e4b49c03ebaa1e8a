/* Stages and tasks, exchanges, projection, delivery, ids. */
#include <string.h>

#include "support/plan_text.h"

/* Steps stand from line 7 on. */
#define HEAD(job)                                                                                                      \
	"application: { name = \"t\"; " job "\n"                                                                           \
	"systems: { local: { type = \"messaging\"; serde: { type = \"json\";\n"                                            \
	"  types: { x = \"int64\"; y = \"string\"; t = \"timestamp\"; z = \"string\"; }; }; }; };\n"                       \
	"inputs: { a: { system = \"local\"; partitions = 3; bounded = true; }; b: { system = \"local\"; bounded = true; "  \
	"}; };\n"                                                                                                          \
	"outputs: { o: { system = \"local\"; writers = 1; promise = \"resumable\"; }; p: { system = \"local\"; };\n"       \
	"  rejected: { system = \"local\"; promise = \"one_phase\"; }; };\n"
#define FLOW(job, steps) HEAD(job) "flow: (\n" steps "\n); };\n"
#define COUNT "aggregate: { n = \"count(*)\"; };"

static void
expect_stages(void **state, const char *conf, const char *stages)
{
	plan_text_plan(*state, conf);
	assert_string_equal(plan_text_stages(*state), stages);
}

static void
given_no_exchange_when_cut_then_source_functions_and_sink_are_one_stage(void **state)
{
	expect_stages(state, FLOW("parallelism = 4;", "{ name = \"w\"; from = \"a\"; where = \"x > 1\"; to = \"p\"; }"),
				  "3: a w p");
}

static void
given_more_partitions_than_parallelism_when_cut_then_the_source_has_as_many_tasks_as_that(void **state)
{
	expect_stages(state, FLOW("parallelism = 2;", "{ from = \"a\"; to = \"p\"; }"), "2: a p");
}

static void
given_an_unknown_partition_count_when_cut_then_the_source_has_one_task(void **state)
{
	expect_stages(state, FLOW("parallelism = 4;", "{ from = \"b\"; to = \"p\"; }"), "1: b p");
}

static void
given_one_writer_and_several_tasks_when_cut_then_a_global_exchange_stands_before_the_sink(void **state)
{
	plan_text *t = *state;
	expect_stages(state, FLOW("parallelism = 4;", "{ name = \"w\"; from = \"a\"; where = \"x > 1\"; to = \"o\"; }"),
				  "3: a w; 1: o");
	const plan_edge *edge = plan_text_edge_to(t->plan, "o");
	assert_int_equal(edge->partitioning, EDGE_GLOBAL);
	assert_int_equal(edge->exchange, 1);
	assert_int_equal(plan_text_stream(t->plan, "o", FLOW_DIRECTION_OUTPUT)->task_count, 1);
}

static void
given_a_key_when_cut_then_a_keyed_stage_follows(void **state)
{
	plan_text *t = *state;
	expect_stages(state,
				  FLOW("parallelism = 4;",
					   "{ name = \"k\"; from = \"a\"; key_by = \"y\"; },\n{ name = \"n\"; " COUNT " to = \"p\"; }"),
				  "3: a k; 4 keyed: n p");
	assert_int_equal(plan_text_edge_to(t->plan, "n")->exchange, 1);
	assert_int_equal(plan_text_edge_to(t->plan, "n")->partitioning, EDGE_KEY);
	assert_int_equal(plan_text_operator(t->plan, "p")->chain_parent, plan_text_operator(t->plan, "n")->index);
	assert_int_equal(plan_text_operator(t->plan, "n")->chain_parent, PLAN_NONE);
}

static void
given_one_task_on_both_sides_when_cut_then_there_is_no_ring(void **state)
{
	plan_text *t = *state;
	expect_stages(state,
				  FLOW("parallelism = 1;",
					   "{ name = \"k\"; from = \"a\"; key_by = \"y\"; },\n{ name = \"n\"; " COUNT " to = \"o\"; }"),
				  "1: a k n o");
	assert_int_equal(plan_text_edge_to(t->plan, "n")->exchange, 0);
	assert_int_equal(plan_text_edge_to(t->plan, "n")->partitioning, EDGE_KEY);
}

static void
given_words_of_partitioning_when_cut_then_tasks_follow_from_them(void **state)
{
	expect_stages(state,
				  FLOW("parallelism = 4;", "{ name = \"g\"; from = \"a\"; global = true; pass = true; },\n"
										   "{ name = \"s\"; shuffle = true; pass = true; to = \"p\"; }"),
				  "3: a; 1: g; 4: s p");
}

static void
given_a_blocking_function_when_cut_then_it_has_a_stage_of_its_own(void **state)
{
	plan_text *t = *state;
	expect_stages(state,
				  FLOW("parallelism = 2;",
					   "{ name = \"k\"; from = \"a\"; key_by = \"y\"; },\n{ name = \"n\"; " COUNT " },\n"
					   "{ name = \"slow\"; block = true; to = \"p\"; }"),
				  "2: a k; 2 keyed: n; 2 keyed: slow p");
	assert_int_equal(plan_text_edge_to(t->plan, "slow")->partitioning, EDGE_FORWARD);
	assert_int_equal(plan_text_edge_to(t->plan, "slow")->exchange, 1);
}

static void
given_branches_when_cut_then_each_child_is_called_by_its_parent(void **state)
{
	plan_text *t = *state;
	expect_stages(
		state,
		FLOW("parallelism = 2;",
			 "{ name = \"w\"; from = \"a\"; where = \"x > 1\"; },\n{ name = \"v\"; where = \"x > 2\"; to = \"p\"; },\n"
			 "{ name = \"u\"; from = \"w\"; where = \"x < 2\"; to = \"o\"; }"),
		"2: a w v p u; 1: o");
	assert_int_equal(plan_text_operator(t->plan, "u")->chain_parent, plan_text_operator(t->plan, "w")->index);
}

static void
given_two_steps_that_write_one_output_when_cut_then_its_writers_are_tasks_of_their_own(void **state)
{
	plan_text *t = *state;
	expect_stages(state,
				  FLOW("parallelism = 4;", "{ name = \"w\"; from = \"a\"; where = \"x > 1\"; to = \"p\"; },\n{ name = "
										   "\"v\"; from = \"b\"; where = \"x > 2\"; to = \"p\"; }"),
				  "3: a w; 1: b v; 4: p");
	uint32_t into = 0;
	for (uint32_t i = 0; i < t->plan->edge_count; i++) {
		if (t->plan->edges[i].to != plan_text_operator(t->plan, "p")->index)
			continue;
		into++;
		assert_int_equal(t->plan->edges[i].exchange, 1);
		assert_int_equal(t->plan->edges[i].partitioning, EDGE_SHUFFLE);
	}
	assert_int_equal(into, 2);
}

/* --- projection --- */

static void
expect_fields(const plan *p, const char *id, const char *fields)
{
	const plan_stream *stream = plan_text_stream(p, id, FLOW_DIRECTION_INPUT);
	char text[64] = "";
	for (uint64_t i = 0; stream->fields != NULL && i < stream->field_count; i++)
		strncat(text, stream->schema->fields[stream->fields[i]]->name.data, 1);
	assert_string_equal(stream->fields == NULL ? "all" : text, fields);
}

static void
given_a_count_by_key_when_planned_then_only_key_time_and_condition_are_read(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, FLOW("", "{ from = \"a\"; where = \"x > 1\"; },\n{ key_by = \"y\"; },\n"
											   "{ name = \"n\"; window: { tumbling = \"1h\"; time = \"t\"; }; " COUNT
											   " to = \"o\"; }"));
	expect_fields(p, "a", "xyt");
}

static void
given_records_that_are_written_when_planned_then_all_fields_are_read(void **state)
{
	plan_text *t = *state;
	expect_fields(plan_text_plan(t, FLOW("", "{ from = \"a\"; where = \"x > 1\"; to = \"o\"; }")), "a", "all");
}

static void
given_two_branches_when_planned_then_fields_of_both_are_read(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(
		t, FLOW("", "{ name = \"w\"; from = \"a\"; pass = true; },\n{ key_by = \"y\"; },\n{ name = \"n\"; " COUNT
					" to = \"o\"; },\n"
					"{ from = \"w\"; key_by = \"x\"; },\n{ name = \"m\"; " COUNT " to = \"o\"; }"));
	expect_fields(p, "a", "xy");
}

static void
given_dead_letters_of_a_step_when_planned_then_its_records_are_read_whole(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, FLOW("dead_letters = \"rejected\";",
										   "{ from = \"a\"; where = \"x > 1\"; record_errors = \"dead_letter\"; },\n"
										   "{ key_by = \"y\"; },\n{ name = \"n\"; " COUNT " to = \"o\"; }"));
	expect_fields(p, "a", "all");
}

/* --- delivery --- */

static void
given_sinks_of_each_kind_when_planned_then_each_edge_says_what_it_promises(void **state)
{
	plan_text *t = *state;
	const plan *p =
		plan_text_plan(t, FLOW("", "{ name = \"w\"; from = \"a\"; where = \"x > 1\"; to = \"o\"; },\n{ to = \"p\"; }"));
	assert_string_equal(plan_text_edge_to(p, "o")->delivery, "exactly once");
	assert_string_equal(plan_text_edge_to(p, "p")->delivery, "at least once");
	assert_string_equal(plan_text_edge_to(p, "w")->delivery, "exactly once");
	assert_int_equal(p->needs_epochs, 1);
	assert_int_equal(p->has_state, 0);
	assert_null(p->state_store);
}

static void
given_neither_state_nor_epochs_when_planned_then_edges_are_at_least_once(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, FLOW("", "{ name = \"w\"; from = \"a\"; where = \"x > 1\"; to = \"p\"; }"));
	assert_string_equal(plan_text_edge_to(p, "w")->delivery, "at least once");
	assert_int_equal(p->needs_epochs, 0);
}

static void
given_a_transaction_declared_at_least_once_when_planned_then_it_is(void **state)
{
	plan_text *t = *state;
	plan_text_plan(
		t, "application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\"; types: { "
		   "x = \"int64\"; }; }; }; };\n"
		   "inputs: { a: { system = \"local\"; }; };\noutputs: { o: { system = \"local\"; promise = \"one_phase\"; };\n"
		   "p: { system = \"local\"; promise = \"one_phase\"; delivery = \"at_least_once\"; }; };\n"
		   "flow: ( { from = \"a\"; to = \"o\"; }, { to = \"p\"; } ); };\n");
	assert_int_equal(plan_text_stream(t->plan, "o", FLOW_DIRECTION_OUTPUT)->delivery, FLOW_DELIVERY_ONE_PHASE);
	assert_int_equal(plan_text_stream(t->plan, "p", FLOW_DIRECTION_OUTPUT)->delivery, FLOW_DELIVERY_AT_LEAST_ONCE);
}

static void
given_outputs_that_share_a_transaction_when_planned_then_all_are_in_it(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(
		t, "application: { name = \"t\"; dead_letters = \"d\"; record_errors = \"dead_letter\";\n"
		   "systems: { local: { type = \"messaging\"; serde: { type = \"json\"; types: { x = \"int64\"; }; }; }; };\n"
		   "inputs: { a: { system = \"local\"; }; };\n"
		   "outputs: { o: { system = \"local\"; promise = \"one_phase\"; shares_transaction = true; };\n"
		   "p: { system = \"local\"; promise = \"one_phase\"; shares_transaction = true; };\n"
		   "d: { system = \"local\"; promise = \"one_phase\"; shares_transaction = true; }; };\n"
		   "flow: ( { from = \"a\"; to = \"o\"; }, { to = \"p\"; } ); };\n");
	assert_int_equal(plan_text_stream(p, "o", FLOW_DIRECTION_OUTPUT)->delivery, FLOW_DELIVERY_ONE_PHASE);
	assert_int_equal(plan_text_stream(p, "p", FLOW_DIRECTION_OUTPUT)->delivery, FLOW_DELIVERY_ONE_PHASE);
	assert_int_equal(p->streams[p->operators[p->dead_letters].stream].delivery, FLOW_DELIVERY_ONE_PHASE);
}

static void
given_dead_letters_as_second_transaction_when_planned_then_they_are_at_least_once(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(
		t, "application: { name = \"t\"; dead_letters = \"d\"; record_errors = \"dead_letter\";\n"
		   "systems: { local: { type = \"messaging\"; serde: { type = \"json\"; types: { x = \"int64\"; }; }; }; };\n"
		   "inputs: { a: { system = \"local\"; }; };\noutputs: { o: { system = \"local\"; promise = \"one_phase\"; };\n"
		   "d: { system = \"local\"; promise = \"one_phase\"; }; };\n"
		   "flow: ( { name = \"w\"; from = \"a\"; where = \"x > 1\"; to = \"o\"; } ); };\n");
	const plan_operator *d = &p->operators[p->dead_letters];
	assert_int_equal(d->kind, OPERATOR_DEAD_LETTERS);
	assert_int_equal(p->streams[d->stream].delivery, FLOW_DELIVERY_AT_LEAST_ONCE);
	assert_int_equal(d->record_errors, RECORD_ERRORS_FAIL);
	assert_int_equal(plan_text_operator(p, "w")->record_errors, RECORD_ERRORS_DEAD_LETTER);
	assert_int_equal(plan_text_operator(p, "a")->record_errors, RECORD_ERRORS_DEAD_LETTER);
	assert_string_equal(plan_text_stages(t), "1: a w o; 1: d");
}

static void
given_policies_of_stream_and_step_when_planned_then_they_beat_the_jobs(void **state)
{
	plan_text *t = *state;
	const char *const commands[] = { "operators.w.record_errors=fail", "streams.b.record_errors=fail", NULL };
	plan_text_problems_with(t,
							FLOW("record_errors = \"skip\";",
								 "{ name = \"w\"; from = \"a\"; where = \"x > 1\"; },\n{ name = \"v\"; where "
								 "= \"x > 1\"; to = \"o\"; },\n{ from = \"b\"; to = \"p\"; }"),
							commands);
	assert_non_null(t->plan);
	assert_int_equal(plan_text_operator(t->plan, "w")->record_errors, RECORD_ERRORS_FAIL);
	assert_int_equal(plan_text_operator(t->plan, "v")->record_errors, RECORD_ERRORS_SKIP);
	assert_int_equal(plan_text_operator(t->plan, "a")->record_errors, RECORD_ERRORS_SKIP);
	assert_int_equal(plan_text_operator(t->plan, "b")->record_errors, RECORD_ERRORS_FAIL);
}

static void
given_an_unbounded_window_when_planned_then_late_records_are_skipped_or_dead_letters(void **state)
{
#define UNBOUNDED(head, step)                                                                                          \
	"application: { name = \"t\"; " head " systems: { local: { type = \"messaging\"; serde: { type = \"json\"; "       \
	"types: { x = \"int64\"; t = \"timestamp\"; }; }; }; };\n"                                                         \
	"inputs: { a: { system = \"local\"; }; }; outputs: { o: { system = \"local\"; }; d: { system = \"local\"; }; };\n" \
	"flow: ( { from = \"a\"; key_by = \"x\"; }, { name = \"n\"; window: { tumbling = \"1h\"; time = \"t\"; }; " COUNT  \
		step " to = \"o\"; } ); };\n"
	plan_text *t = *state;
	assert_int_equal(plan_text_operator(plan_text_plan(t, UNBOUNDED("", "")), "n")->late, RECORD_ERRORS_SKIP);
	assert_int_equal(t->plan->bounded, 0);
}

static void
given_an_unbounded_window_with_dead_letters_when_planned_then_late_records_go_there(void **state)
{
	plan_text *t = *state;
	assert_int_equal(plan_text_operator(plan_text_plan(t, UNBOUNDED("dead_letters = \"d\";", "")), "n")->late,
					 RECORD_ERRORS_DEAD_LETTER);
}

static void
given_a_policy_for_late_records_when_planned_then_it_holds(void **state)
{
	plan_text *t = *state;
	assert_int_equal(
		plan_text_operator(plan_text_plan(t, UNBOUNDED("dead_letters = \"d\";", " late_records = \"fail\";")), "n")
			->late,
		RECORD_ERRORS_FAIL);
}

/* --- ids --- */

struct ids {
	char plan[33], state[33];
	uint32_t n;
};

static struct ids
ids_of(const char *conf, const char *command)
{
	void *state = NULL;
	plan_text_setup(&state);
	plan_text *t = state;
	const char *const commands[] = { command, NULL };
	const char *reported = plan_text_problems_with(t, conf, commands);
	if (t->plan == NULL)
		fail_msg("%s", reported);
	struct ids ids = { .n = plan_text_operator(t->plan, "n")->state_id };
	memcpy(ids.plan, t->plan->id, 33);
	memcpy(ids.state, t->plan->state_id, 33);
	plan_text_teardown(&state);
	return ids;
}

#define COUNTING(where, key)                                                                                           \
	FLOW("", "{ from = \"a\"; where = \"" where "\"; },\n{ key_by = \"" key "\"; },\n{ name = \"n\"; " COUNT           \
			 " to = \"o\"; }")

static void
given_the_same_plan_when_made_again_or_with_other_tasks_then_the_ids_are_equal(void **state)
{
	(void)state;
	struct ids once = ids_of(COUNTING("x > 1", "y"), NULL), again = ids_of("\n\n" COUNTING("x > 1", "y"), NULL);
	struct ids wide = ids_of(COUNTING("x > 1", "y"), "job.parallelism=8");
	assert_string_equal(once.plan, again.plan);
	assert_string_equal(once.plan, wide.plan);
	assert_string_equal(once.state, wide.state);
	assert_int_equal(strlen(once.plan), 32);
}

/* Two counts side by side, things of each kind in this order. */
#define SIDE_BY_SIDE(inputs, outputs, tables, flow)                                                                    \
	"application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\"; types: { x = \"int64\"; }; }; }; };\n" \
	"inputs: { " inputs " }; outputs: { " outputs " };\ntables: { " tables " };\nflow: ( " flow " ); };\n"
#define STREAM(id) id ": { system = \"local\"; }; "
#define TABLE(id) id ": { type = \"durable\"; }; "
#define COUNTED(from, key, name, to)                                                                                   \
	"{ name = \"" key "\"; from = \"" from "\"; key_by = \"x\"; }, { name = \"" name "\"; aggregate: { n = \"count(*)\"; }; to = \"" to "\"; }"

static void
given_the_same_things_in_another_order_when_planned_then_the_ids_are_equal(void **state)
{
	(void)state;
	struct ids once = ids_of(SIDE_BY_SIDE(STREAM("a") STREAM("b"), STREAM("o") STREAM("p"), TABLE("s") TABLE("t"),
										  COUNTED("a", "k", "n", "o") ", " COUNTED("b", "l", "m", "p")),
							 NULL);
	struct ids other = ids_of(SIDE_BY_SIDE(STREAM("b") STREAM("a"), STREAM("p") STREAM("o"), TABLE("t") TABLE("s"),
										   COUNTED("b", "l", "m", "p") ", " COUNTED("a", "k", "n", "o")),
							  NULL);
	struct ids crossed = ids_of(SIDE_BY_SIDE(STREAM("a") STREAM("b"), STREAM("o") STREAM("p"), TABLE("s") TABLE("t"),
											 COUNTED("b", "k", "n", "o") ", " COUNTED("a", "l", "m", "p")),
								NULL);
	assert_string_equal(once.plan, other.plan);
	assert_string_equal(once.state, other.state);
	assert_string_not_equal(once.plan, crossed.plan);
}

static void
given_another_condition_when_planned_then_the_plan_differs_but_not_what_state_depends_on(void **state)
{
	(void)state;
	struct ids once = ids_of(COUNTING("x > 1", "y"), NULL), other = ids_of(COUNTING("x > 2", "y"), NULL);
	assert_string_not_equal(once.plan, other.plan);
	assert_string_equal(once.state, other.state);
	assert_int_equal(once.n, other.n);
}

static void
given_another_type_of_key_when_planned_then_what_state_depends_on_differs(void **state)
{
	(void)state;
	struct ids once = ids_of(COUNTING("x > 1", "y"), NULL), other = ids_of(COUNTING("x > 1", "x"), NULL);
	assert_string_not_equal(once.state, other.state);
	assert_int_equal(once.n, other.n); /* state ids stay with names */
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, plan_text_setup, plan_text_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_the_same_things_in_another_order_when_planned_then_the_ids_are_equal),
		TEST(given_no_exchange_when_cut_then_source_functions_and_sink_are_one_stage),
		TEST(given_more_partitions_than_parallelism_when_cut_then_the_source_has_as_many_tasks_as_that),
		TEST(given_an_unknown_partition_count_when_cut_then_the_source_has_one_task),
		TEST(given_one_writer_and_several_tasks_when_cut_then_a_global_exchange_stands_before_the_sink),
		TEST(given_a_key_when_cut_then_a_keyed_stage_follows),
		TEST(given_one_task_on_both_sides_when_cut_then_there_is_no_ring),
		TEST(given_words_of_partitioning_when_cut_then_tasks_follow_from_them),
		TEST(given_a_blocking_function_when_cut_then_it_has_a_stage_of_its_own),
		TEST(given_branches_when_cut_then_each_child_is_called_by_its_parent),
		TEST(given_two_steps_that_write_one_output_when_cut_then_its_writers_are_tasks_of_their_own),
		TEST(given_a_count_by_key_when_planned_then_only_key_time_and_condition_are_read),
		TEST(given_records_that_are_written_when_planned_then_all_fields_are_read),
		TEST(given_two_branches_when_planned_then_fields_of_both_are_read),
		TEST(given_dead_letters_of_a_step_when_planned_then_its_records_are_read_whole),
		TEST(given_sinks_of_each_kind_when_planned_then_each_edge_says_what_it_promises),
		TEST(given_neither_state_nor_epochs_when_planned_then_edges_are_at_least_once),
		TEST(given_a_transaction_declared_at_least_once_when_planned_then_it_is),
		TEST(given_outputs_that_share_a_transaction_when_planned_then_all_are_in_it),
		TEST(given_dead_letters_as_second_transaction_when_planned_then_they_are_at_least_once),
		TEST(given_policies_of_stream_and_step_when_planned_then_they_beat_the_jobs),
		TEST(given_an_unbounded_window_when_planned_then_late_records_are_skipped_or_dead_letters),
		TEST(given_an_unbounded_window_with_dead_letters_when_planned_then_late_records_go_there),
		TEST(given_a_policy_for_late_records_when_planned_then_it_holds),
		cmocka_unit_test(given_the_same_plan_when_made_again_or_with_other_tasks_then_the_ids_are_equal),
		cmocka_unit_test(given_another_condition_when_planned_then_the_plan_differs_but_not_what_state_depends_on),
		cmocka_unit_test(given_another_type_of_key_when_planned_then_what_state_depends_on_differs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
