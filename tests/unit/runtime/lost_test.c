/* What outputs say late: a transaction that is lost, a newer instance, rows that are refused after they were taken. */
#include <stdlib.h>
#include <string.h>

#include "support/runtime_world.h"

static int
reset(void **state)
{
	(void)state;
	world_reset();
	return 0;
}

static const world_run_request steady = { .deterministic = 1, .seed = 3 };

/* Keyed state and timers on the way to a transaction; all records also go to a file-like output. */
static maker *
stateful(void)
{
	world_reset();
	world_input("in", 2, 0);
	world_fill("in", 2000, 3);
	maker *m = maker_create();
	maker_option(m, "batch_rows", 10);
	maker_option(m, "checkpoint_interval", 20000);
	uint32_t in = maker_source(m, "in", 2);
	uint32_t time = maker_event_time(m, in, 0);
	uint32_t window = maker_function(m, maker_key_by(m, time), &world_window, "window", EDGE_KEY, 2);
	maker_sink(m, window, "sums", FLOW_DELIVERY_ONE_PHASE, EDGE_FORWARD, 2);
	maker_sink(m, in, "records", FLOW_DELIVERY_RESUMABLE, EDGE_GLOBAL, 1);
	return m;
}

static void
must_finish(maker *m, const world_run_request *request)
{
	uint32_t outcome = world_run(m, request);
	if (outcome != RUN_FINISHED)
		print_error("%s\n", world_error());
	assert_int_equal(outcome, RUN_FINISHED);
}

static void
given_a_transaction_that_is_lost_in_mid_epoch_when_restored_then_state_timers_and_positions_are_as_they_were(
	void **state)
{
	(void)state;
	maker *m = stateful();
	must_finish(m, &steady);
	char *sums = strdup(world_output("sums")), *records = strdup(world_output("records"));
	assert_int_equal(world_output_lines("records"), 2000);
	assert_true(world_output_lines("sums") >= 60);
	maker_destroy(m);
	for (uint64_t call = 0; call < 12; call++) {
		for (int prepare = 0; prepare < 2; prepare++) {
			m = stateful();
			world_fail_later("sums", FLOW_E_CONFLICT, prepare, call);
			must_finish(m, &steady);
			assert_string_equal(world_output("sums"), sums);
			assert_string_equal(world_output("records"), records);
			maker_destroy(m);
		}
	}
	free(sums);
	free(records);
}

static void
given_a_system_that_is_away_when_the_last_epoch_is_restored_then_it_is_waited_for(void **state)
{
	(void)state;
	for (int status = 0; status < 2; status++) {
		maker *m = stateful();
		world_fail_later("sums", FLOW_E_CONFLICT, 0, 3);
		world_fail_reopen("sums", status == 0 ? FLOW_E_UNAVAILABLE : FLOW_E_TIMEOUT,
						  40); /* more often than a transaction may be lost */
		must_finish(m, &steady);
		assert_int_equal(world_output_lines("records"), 2000);
		assert_int_equal(world_output_lines("sums"), 60);
		maker_destroy(m);
	}
}

static void
given_an_output_that_is_gone_when_the_last_epoch_is_restored_then_the_job_ends_with_it(void **state)
{
	(void)state;
	maker *m = stateful();
	world_fail_later("sums", FLOW_E_CONFLICT, 0, 3);
	world_fail_reopen("sums", FLOW_E_NOT_FOUND, 1);
	assert_int_equal(world_run(m, &steady), RUN_FAILED);
	assert_non_null(strstr(world_error(), "it is away"));
	maker_destroy(m);
}

static void
given_threads_when_a_transaction_is_lost_then_output_is_exactly_once(void **state)
{
	(void)state;
	maker *m = stateful();
	maker_option(m, "checkpoint_interval", 500);
	world_fail_later("sums", FLOW_E_CONFLICT, 0, 3);
	must_finish(m, NULL);
	assert_int_equal(world_output_lines("records"), 2000);
	assert_int_equal(world_output_lines("sums"), 60);
	maker_destroy(m);
}

static void
lose_always(uint32_t delivery, const char *expected)
{
	world_reset();
	world_input("in", 1, 0);
	world_fill("in", 20, 3);
	maker *m = maker_create();
	uint32_t in = maker_source(m, "in", 1);
	maker_sink(m, in, "out", delivery, EDGE_FORWARD, 1);
	world_fail_always("out", FLOW_E_CONFLICT);
	assert_int_equal(world_run(m, &steady), RUN_FAILED);
	if (strstr(world_error(), expected) == NULL)
		print_error("%s\n", world_error());
	assert_non_null(strstr(world_error(), expected));
	maker_destroy(m);
}

static void
given_a_transaction_that_is_lost_again_and_again_when_no_epoch_comes_through_then_the_job_fails(void **state)
{
	(void)state;
	lose_always(FLOW_DELIVERY_ONE_PHASE,
				"a transaction was lost 9 times without one that was committed in between: out");
}

static void
given_an_output_without_a_transaction_when_it_tells_of_a_conflict_then_that_is_a_failure(void **state)
{
	(void)state;
	lose_always(FLOW_DELIVERY_AT_LEAST_ONCE, "out (stage 0): the output was told to fail");
}

static void
given_a_newer_instance_when_the_output_is_fenced_then_the_job_ends_and_says_so(void **state)
{
	(void)state;
	for (int when = 0; when < 3; when++) {
		maker *m = stateful();
		if (when == 2)
			world_fail_commit("sums", FLOW_E_FENCED, 0);
		else
			world_fail_later("sums", FLOW_E_FENCED, when, 0);
		assert_int_equal(world_run(m, &steady), RUN_FAILED);
		assert_non_null(strstr(world_error(), "a newer instance of the job runs, so this one ends: "));
		assert_string_equal(world_output("sums"), "");
		maker_destroy(m);
	}
}

/* --- rows that are refused after they were taken -------------------------------------------------------------------- */

static maker *
refusing(uint32_t policy, uint32_t delivery)
{
	world_reset();
	world_input("in", 1, 0);
	world_fill("in", 50, 7);
	world_refuse("out", "3,17,17");
	maker *m = maker_create();
	maker_option(m, "batch_rows", 10);
	uint32_t in = maker_source(m, "in", 1);
	uint32_t out = maker_sink(m, in, "out", delivery, EDGE_FORWARD, 1);
	maker_stream(m, out)->byte_stream = 0; /* records, each by itself */
	maker_stream(m, out)->record_errors = policy;
	return m;
}

static void
given_a_row_that_is_refused_late_when_the_policy_is_fail_then_its_place_and_reason_are_named(void **state)
{
	(void)state;
	maker *m = refusing(RECORD_ERRORS_FAIL, FLOW_DELIVERY_AT_LEAST_ONCE);
	assert_int_equal(world_run(m, &steady), RUN_FAILED);
	assert_non_null(strstr(world_error(), "out (stage 0): in/0, record at 17: it is too large (see record_errors)"));
	maker_destroy(m);
}

static void
given_a_row_that_is_refused_late_when_it_is_skipped_then_the_others_are_written(void **state)
{
	(void)state;
	static const uint32_t deliveries[] = { FLOW_DELIVERY_AT_LEAST_ONCE, FLOW_DELIVERY_ONE_PHASE };
	for (size_t i = 0; i < FLOW_COUNT(deliveries); i++) {
		maker *m = refusing(RECORD_ERRORS_SKIP, deliveries[i]);
		must_finish(m, &(world_run_request){ .check_plugins = 1 });
		assert_int_equal(world_output_lines("out"), 49);
		assert_int_equal(world_report()->skipped, 1);
		maker_destroy(m);
	}
}

static void
given_a_row_that_is_refused_late_when_there_are_dead_letters_then_it_is_there_with_its_place_before_the_epoch_ends(
	void **state)
{
	(void)state;
	maker *m = refusing(RECORD_ERRORS_DEAD_LETTER, FLOW_DELIVERY_AT_LEAST_ONCE);
	maker_dead_letters(m, "dead");
	must_finish(m, &steady);
	assert_int_equal(world_output_lines("out"), 49);
	assert_int_equal(world_report()->dead_letters, 1);
	assert_non_null(strstr(world_output("dead"), "test,out,in,in/0,0,17,,,FLOW_E_LIMIT,it is too large,3,17,17,"));
	maker_destroy(m);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, reset)
	const struct CMUnitTest tests[] = {
		TEST(
			given_a_transaction_that_is_lost_in_mid_epoch_when_restored_then_state_timers_and_positions_are_as_they_were),
		TEST(given_a_system_that_is_away_when_the_last_epoch_is_restored_then_it_is_waited_for),
		TEST(given_an_output_that_is_gone_when_the_last_epoch_is_restored_then_the_job_ends_with_it),
		TEST(given_threads_when_a_transaction_is_lost_then_output_is_exactly_once),
		TEST(given_a_transaction_that_is_lost_again_and_again_when_no_epoch_comes_through_then_the_job_fails),
		TEST(given_an_output_without_a_transaction_when_it_tells_of_a_conflict_then_that_is_a_failure),
		TEST(given_a_newer_instance_when_the_output_is_fenced_then_the_job_ends_and_says_so),
		TEST(given_a_row_that_is_refused_late_when_the_policy_is_fail_then_its_place_and_reason_are_named),
		TEST(given_a_row_that_is_refused_late_when_it_is_skipped_then_the_others_are_written),
		TEST(
			given_a_row_that_is_refused_late_when_there_are_dead_letters_then_it_is_there_with_its_place_before_the_epoch_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
