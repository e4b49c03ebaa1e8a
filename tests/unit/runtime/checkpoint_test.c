/* Epochs: a stop at every point of a checkpoint leaves output that is there exactly once; drains, recovery, refusals. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "support/runtime_world.h"

#include "runtime/control.h"

static int
reset(void **state)
{
	(void)state;
	world_reset();
	runtime_crash_point = 0;
	return 0;
}

#define COUNTS "0,80,0\n1,79,0\n2,79,0\n3,78,0\n4,78,0\n5,78,0\n6,78,0\n"

/* Two inputs meet in a keyed count by two tasks; every record also goes straight to an output of its own. */
static maker *
counting(uint32_t counts, uint32_t records)
{
	world_reset();
	world_input("a", 2, 0);
	world_input("b", 1, 13);
	world_fill("a", 400, 7);
	world_fill("b", 150, 7);
	maker *m = maker_create();
	maker_option(m, "batch_rows", 4);
	maker_option(m, "checkpoint_interval", 4000);
	uint32_t a = maker_source(m, "a", 2), b = maker_source(m, "b", 1);
	maker_stream(m, b)->byte_stream = 1;
	uint32_t key_a = maker_key_by(m, a), key_b = maker_key_by(m, b);
	uint32_t count = maker_function(m, key_a, &world_count, "count", EDGE_KEY, 2);
	maker_connect(m, key_b, count, 0, EDGE_KEY);
	maker_sink(m, count, "counts", counts, EDGE_FORWARD, 2);
	maker_sink(m, a, "records", records, EDGE_GLOBAL, 1);
	return m;
}

static const world_run_request steady = { .deterministic = 1, .seed = 1 };
static const world_run_request steady_again = { .deterministic = 1, .seed = 2, .again = 1 };

static void
must_end(maker *m, const world_run_request *request, uint32_t expected)
{
	uint32_t outcome = world_run(m, request);
	if (outcome != expected)
		print_error("%s\n", world_error());
	assert_int_equal(outcome, expected);
}

static char *
output_of(const char *id)
{
	return strdup(world_output(id));
}

static void
check_all_crashes(uint32_t counts, uint32_t records, int point)
{
	maker *m = counting(counts, records);
	must_end(m, &steady, RUN_FINISHED);
	char *all_counts = output_of("counts"), *all_records = output_of("records");
	assert_true(world_report()->epoch > 5);
	maker_destroy(m);
	for (uint64_t epoch = 1;; epoch++) {
		m = counting(counts, records);
		runtime_crash_point = point;
		runtime_crash_epoch = epoch;
		uint32_t outcome = world_run(m, &steady);
		runtime_crash_point = 0;
		if (outcome == RUN_FINISHED) { /* it ended before that epoch */
			maker_destroy(m);
			break;
		}
		must_end(m, &steady_again, RUN_FINISHED);
		assert_string_equal(world_output("counts"), all_counts);
		assert_string_equal(world_output("records"), all_records);
		maker_destroy(m);
	}
	free(all_counts);
	free(all_records);
}

static void
given_resumable_outputs_when_it_stops_at_any_point_of_any_epoch_then_output_is_exactly_once(void **state)
{
	(void)state;
	for (int point = CRASH_BEFORE_WRITE; point <= CRASH_AFTER_MARK; point++)
		check_all_crashes(FLOW_DELIVERY_RESUMABLE, FLOW_DELIVERY_RESUMABLE, point);
}

static void
given_a_one_phase_output_when_it_stops_at_any_point_of_any_epoch_then_output_is_exactly_once(void **state)
{
	(void)state;
	for (int point = CRASH_BEFORE_WRITE; point <= CRASH_AFTER_MARK; point++) {
		check_all_crashes(FLOW_DELIVERY_RESUMABLE, FLOW_DELIVERY_ONE_PHASE, point);
		check_all_crashes(FLOW_DELIVERY_ONE_PHASE, FLOW_DELIVERY_RESUMABLE, point);
	}
}

static void
check_failing_commit(flow_status status, int done)
{
	maker *m = counting(FLOW_DELIVERY_RESUMABLE, FLOW_DELIVERY_ONE_PHASE);
	must_end(m, &steady, RUN_FINISHED);
	char *all_counts = output_of("counts"), *all_records = output_of("records");
	maker_destroy(m);
	m = counting(FLOW_DELIVERY_RESUMABLE, FLOW_DELIVERY_ONE_PHASE);
	world_fail_commit("records", status, done);
	must_end(m, &steady, RUN_FINISHED);
	assert_string_equal(world_output("counts"), all_counts);
	assert_string_equal(world_output("records"), all_records);
	maker_destroy(m);
	free(all_counts);
	free(all_records);
}

static void
given_a_transaction_that_is_lost_when_it_commits_then_the_last_epoch_is_restored_in_place(void **state)
{
	(void)state;
	check_failing_commit(FLOW_E_CONFLICT, 0);
}

static void
given_an_unclear_commit_when_the_marker_is_there_then_the_epoch_counts_and_else_it_is_done_again(void **state)
{
	(void)state;
	check_failing_commit(FLOW_E_IO, 1);
	check_failing_commit(FLOW_E_IO, 0);
}

static void
given_a_retryable_commit_when_it_fails_then_it_is_tried_again(void **state)
{
	(void)state;
	maker *m = counting(FLOW_DELIVERY_RESUMABLE, FLOW_DELIVERY_RESUMABLE);
	world_fail_commit("counts", FLOW_E_UNAVAILABLE, 0);
	must_end(m, &steady, RUN_FINISHED);
	assert_int_equal(world_output_lines("records"), 400);
	maker_destroy(m);
}

static void
given_threads_when_checkpoints_are_frequent_then_output_is_exactly_once(void **state)
{
	(void)state;
	maker *m = counting(FLOW_DELIVERY_RESUMABLE, FLOW_DELIVERY_ONE_PHASE);
	maker_option(m, "checkpoint_interval", 500);
	must_end(m, NULL, RUN_FINISHED);
	assert_int_equal(world_output_lines("records"), 400);
	assert_string_equal(world_output("counts"), COUNTS);
	maker_destroy(m);
}

static void
given_a_finished_job_when_it_runs_again_then_it_starts_anew(void **state)
{
	(void)state;
	maker *m = counting(FLOW_DELIVERY_RESUMABLE, FLOW_DELIVERY_RESUMABLE);
	must_end(m, &steady, RUN_FINISHED);
	must_end(m, &steady_again, RUN_FINISHED);
	assert_int_equal(world_output_lines("records"), 800);
	assert_int_equal(world_output_lines("counts"), 14);
	maker_destroy(m);
}

static void
crash_at(maker *m, uint64_t epoch)
{
	runtime_crash_point = CRASH_AFTER_MARK;
	runtime_crash_epoch = epoch;
	must_end(m, &steady, RUN_FAILED);
	runtime_crash_point = 0;
}

static void
given_an_interrupted_job_when_it_runs_fresh_then_its_state_is_discarded(void **state)
{
	(void)state;
	maker *m = counting(FLOW_DELIVERY_RESUMABLE, FLOW_DELIVERY_AT_LEAST_ONCE);
	crash_at(m, 4);
	uint64_t before = world_output_lines("records");
	must_end(m, &(world_run_request){ .deterministic = 1, .again = 1, .fresh = 1 }, RUN_FINISHED);
	assert_int_equal(world_output_lines("records"), before + 400);
	assert_string_equal(world_output("counts"), COUNTS);
	maker_destroy(m);
}

static void
given_a_checkpoint_of_another_plan_when_it_starts_then_it_is_refused_with_the_difference(void **state)
{
	(void)state;
	maker *m = counting(FLOW_DELIVERY_RESUMABLE, FLOW_DELIVERY_RESUMABLE);
	crash_at(m, 4);
	maker_operator(m, 4)->name = "tally";
	must_end(m, &steady_again, RUN_FAILED);
	assert_non_null(strstr(world_error(), "state 'count' is not in the job any more"));
	assert_non_null(strstr(world_error(), "state 'tally' is not in the checkpoint"));
	assert_non_null(strstr(world_error(), "--drop-state"));
	const char *const dropped[] = { "count", "tally", NULL };
	must_end(m, &(world_run_request){ .deterministic = 1, .again = 1, .drop_states = dropped }, RUN_FINISHED);
	assert_int_equal(world_output_lines("records"), 400);
	maker_destroy(m);
}

static void
given_another_number_of_tasks_when_it_goes_on_then_keyed_state_and_positions_are_all_there(void **state)
{
	(void)state;
	static const uint32_t tasks[] = { 1, 2, 4 };
	for (size_t i = 0; i < FLOW_COUNT(tasks); i++) {
		maker *m = counting(FLOW_DELIVERY_RESUMABLE, FLOW_DELIVERY_RESUMABLE);
		crash_at(m, 5);
		plan *p = (plan *)(uintptr_t)maker_plan(m);
		p->stages[0].task_count = tasks[i] == 4 ? 2 : tasks[i];
		p->stages[maker_operator(m, 4)->stage].task_count = tasks[i];
		must_end(m, &steady_again, RUN_FINISHED);
		assert_string_equal(world_output("counts"), COUNTS);
		assert_int_equal(world_output_lines("records"), 400);
		maker_destroy(m);
	}
}

/* --- stopping ------------------------------------------------------------------------------------------------------- */

static void
stop_when_all_is_read(runtime *run)
{
	while (world_rows_read("in") < 100)
		sched_yield();
	runtime_stop(run);
}

static void
stop_when_the_rest_is_read(runtime *run)
{
	while (world_rows_read("in") < 150)
		sched_yield();
	runtime_stop(run);
}

static maker *
endless(uint32_t delivery)
{
	world_input("in", 2, 0);
	world_fill("in", 150, 7);
	world_unbounded("in");
	world_hold_back("in", 100);
	maker *m = maker_create();
	maker_option(m, "batch_rows", 10);
	uint32_t in = maker_source(m, "in", 2);
	maker_stream(m, in)->bounded = 0;
	uint32_t count = maker_function(m, maker_key_by(m, in), &world_pass, "pass", EDGE_KEY, 2);
	maker_sink(m, count, "out", delivery, EDGE_GLOBAL, 1);
	return m;
}

static void
given_a_stop_when_it_drains_then_what_was_read_is_committed_and_the_next_run_goes_on(void **state)
{
	(void)state;
	maker *m = endless(FLOW_DELIVERY_RESUMABLE);
	must_end(m, &(world_run_request){ .during = stop_when_all_is_read }, RUN_INTERRUPTED);
	assert_int_equal(world_output_lines("out"), 100);
	assert_null(strstr(world_calls(), "end"));
	world_hold_back("in", UINT64_MAX);
	must_end(m, &(world_run_request){ .again = 1, .during = stop_when_the_rest_is_read }, RUN_INTERRUPTED);
	assert_int_equal(world_output_lines("out"), 150);
	maker_destroy(m);
}

static void
stop_twice(runtime *run)
{
	while (world_rows_read("in") < 10)
		sched_yield();
	runtime_stop(run);
	runtime_stop(run);
}

static void
given_an_output_that_takes_nothing_when_it_is_stopped_twice_then_it_ends_at_once(void **state)
{
	(void)state;
	maker *m = endless(FLOW_DELIVERY_RESUMABLE);
	world_block_output("out");
	must_end(m, &(world_run_request){ .during = stop_twice }, RUN_INTERRUPTED);
	assert_int_equal(world_output_lines("out"), 0);
	maker_destroy(m);
}

static void
stop_once(runtime *run)
{
	while (world_rows_read("in") < 10)
		sched_yield();
	runtime_stop(run);
}

static void
given_an_output_that_takes_nothing_when_the_deadline_passes_then_it_ends_anyhow(void **state)
{
	(void)state;
	maker *m = endless(FLOW_DELIVERY_RESUMABLE);
	maker_option(m, "shutdown_deadline", 20000);
	world_block_output("out");
	must_end(m, &(world_run_request){ .during = stop_once }, RUN_INTERRUPTED);
	maker_destroy(m);
}

/* --- back-pressure -------------------------------------------------------------------------------------------------- */

static uint64_t read_while_blocked;

/* The virtual clock only jumps when nothing can go on. */
static void
open_when_stuck(runtime *run)
{
	runtime_status_report report;
	do {
		sched_yield();
		runtime_status(run, &report);
	} while (report.elapsed < 100 * 1000000);
	read_while_blocked = world_rows_read("in");
	world_open_output("out");
}

static void
given_an_output_that_takes_nothing_when_rings_are_full_then_sources_stop_reading(void **state)
{
	(void)state;
	world_input("in", 2, 0);
	world_fill("in", 20000, 7);
	maker *m = maker_create();
	maker_option(m, "batch_rows", 10);
	maker_option(m, "checkpoint_interval", 0);
	uint32_t in = maker_source(m, "in", 2);
	uint32_t pass = maker_function(m, in, &world_pass, "pass", EDGE_SHUFFLE, 2);
	maker_sink(m, pass, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_GLOBAL, 1);
	world_block_output("out");
	must_end(m, &(world_run_request){ .deterministic = 1, .during = open_when_stuck }, RUN_FINISHED);
	/* Channels of 32 batches of 10 rows, and what each task holds. */
	assert_true(read_while_blocked > 100);
	assert_true(read_while_blocked < 4000);
	assert_int_equal(world_output_lines("out"), 20000);
	maker_destroy(m);
}

static void
given_a_memory_budget_when_it_is_used_up_then_sources_wait(void **state)
{
	(void)state;
	world_input("in", 2, 0);
	world_fill("in", 60000, 7);
	maker *m = maker_create();
	maker_option(m, "memory", 1 << 20);
	uint32_t in = maker_source(m, "in", 2);
	uint32_t pass = maker_function(m, in, &world_pass, "pass", EDGE_SHUFFLE, 2);
	maker_sink(m, pass, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_GLOBAL, 1);
	world_block_output("out");
	must_end(m, &(world_run_request){ .deterministic = 1, .during = open_when_stuck }, RUN_FINISHED);
	assert_true(read_while_blocked < 30000);
	assert_true(world_report()->memory_peak < 3 << 20);
	assert_int_equal(world_output_lines("out"), 60000);
	maker_destroy(m);
}

/* --- what is restored ----------------------------------------------------------------------------------------------- */

static void
given_a_byte_stream_when_it_goes_on_then_the_decoder_goes_on_too(void **state)
{
	(void)state;
	world_input("in", 1, 13);
	world_fill("in", 50, 7);
	world_add("in", 0, "bad\n");
	maker *m = maker_create();
	maker_option(m, "checkpoint_interval", 2000);
	uint32_t in = maker_source(m, "in", 1);
	maker_stream(m, in)->byte_stream = 1;
	maker_sink(m, in, "out", FLOW_DELIVERY_RESUMABLE, EDGE_FORWARD, 1);
	crash_at(m, 5);
	must_end(m, &steady_again, RUN_FAILED);
	assert_non_null(strstr(world_error(), "in/0:51: field v"));
	maker_destroy(m);
}

static maker *
late_windows(void)
{
	world_reset();
	world_input("in", 2, 0);
	world_fill("in", 2000, 3);
	world_add("in", 0, "1,1,5\n"); /* late, whatever came before it in this run */
	maker *m = maker_create();
	maker_option(m, "batch_rows", 10);
	maker_option(m, "checkpoint_interval", 20000);
	uint32_t time = maker_event_time(m, maker_source(m, "in", 2), 0);
	uint32_t window = maker_function(m, maker_key_by(m, time), &world_window, "window", EDGE_KEY, 2);
	maker_operator(m, window)->late = RECORD_ERRORS_SKIP;
	maker_sink(m, window, "out", FLOW_DELIVERY_RESUMABLE, EDGE_GLOBAL, 1);
	return m;
}

static void
given_event_time_when_it_goes_on_then_the_watermark_does_not_go_back(void **state)
{
	(void)state;
	maker *m = late_windows();
	must_end(m, &steady, RUN_FINISHED);
	assert_int_equal(world_report()->late, 1);
	uint64_t last = world_report()->epoch;
	assert_true(last > 4);
	char *all = output_of("out");
	maker_destroy(m);
	for (uint64_t epoch = 2; epoch < last; epoch++) {
		m = late_windows();
		crash_at(m, epoch);
		must_end(m, &steady_again, RUN_FINISHED);
		assert_string_equal(world_output("out"), all);
		maker_destroy(m);
	}
	free(all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			given_resumable_outputs_when_it_stops_at_any_point_of_any_epoch_then_output_is_exactly_once, reset),
		cmocka_unit_test_setup(
			given_a_one_phase_output_when_it_stops_at_any_point_of_any_epoch_then_output_is_exactly_once, reset),
		cmocka_unit_test_setup(
			given_a_transaction_that_is_lost_when_it_commits_then_the_last_epoch_is_restored_in_place, reset),
		cmocka_unit_test_setup(
			given_an_unclear_commit_when_the_marker_is_there_then_the_epoch_counts_and_else_it_is_done_again, reset),
		cmocka_unit_test_setup(given_a_retryable_commit_when_it_fails_then_it_is_tried_again, reset),
		cmocka_unit_test_setup(given_threads_when_checkpoints_are_frequent_then_output_is_exactly_once, reset),
		cmocka_unit_test_setup(given_a_finished_job_when_it_runs_again_then_it_starts_anew, reset),
		cmocka_unit_test_setup(given_an_interrupted_job_when_it_runs_fresh_then_its_state_is_discarded, reset),
		cmocka_unit_test_setup(given_a_checkpoint_of_another_plan_when_it_starts_then_it_is_refused_with_the_difference,
							   reset),
		cmocka_unit_test_setup(
			given_another_number_of_tasks_when_it_goes_on_then_keyed_state_and_positions_are_all_there, reset),
		cmocka_unit_test_setup(given_a_stop_when_it_drains_then_what_was_read_is_committed_and_the_next_run_goes_on,
							   reset),
		cmocka_unit_test_setup(given_an_output_that_takes_nothing_when_it_is_stopped_twice_then_it_ends_at_once, reset),
		cmocka_unit_test_setup(given_an_output_that_takes_nothing_when_the_deadline_passes_then_it_ends_anyhow, reset),
		cmocka_unit_test_setup(given_an_output_that_takes_nothing_when_rings_are_full_then_sources_stop_reading, reset),
		cmocka_unit_test_setup(given_a_memory_budget_when_it_is_used_up_then_sources_wait, reset),
		cmocka_unit_test_setup(given_a_byte_stream_when_it_goes_on_then_the_decoder_goes_on_too, reset),
		cmocka_unit_test_setup(given_event_time_when_it_goes_on_then_the_watermark_does_not_go_back, reset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
