/* Event time behind an exchange: partitions are told apart there too, so that one that is behind holds event time back. */
#include <sched.h>
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

/* The field that holds the time comes out of a function behind the key_by, so event time is assigned there. */
static maker *
timed_behind_exchange(uint32_t sources, uint32_t tasks, uint32_t rows)
{
	maker *m = maker_create();
	maker_option(m, "batch_rows", rows);
	uint32_t in = maker_source(m, "in", sources);
	uint32_t pass = maker_function(m, maker_key_by(m, in), &world_pass, "pass", EDGE_KEY, tasks);
	uint32_t window = maker_function(m, maker_event_time(m, pass, 0), &world_window, "window", EDGE_FORWARD, tasks);
	maker_sink(m, window, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_GLOBAL, 1);
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

#define PARTITIONS 4

/* Each partition in the order of time, all of them over the same hours. */
static void
fill(uint32_t records)
{
	world_input("in", PARTITIONS, 0);
	for (uint32_t i = 0; i < records; i++)
		for (uint32_t p = 0; p < PARTITIONS; p++)
			world_add("in", p, "%u,1,%u\n", (i + p) % 5, i * 20);
}

static void
given_interleaved_partitions_when_event_time_is_assigned_behind_an_exchange_then_no_record_is_late(void **state)
{
	(void)state;
	static const uint32_t counts[] = { 1, 2, 4 }, rows[] = { 1, 7, 64, 1024 };
	char *expected = NULL;
	for (size_t s = 0; s < FLOW_COUNT(counts); s++) {
		for (size_t t = 0; t < FLOW_COUNT(counts); t++) {
			for (size_t r = 0; r < FLOW_COUNT(rows); r++) {
				world_reset();
				fill(600);
				maker *m = timed_behind_exchange(counts[s], counts[t], rows[r]);
				must_finish(m, r % 2 == 0 ? NULL : &(world_run_request){ .deterministic = 1, .seed = s + t });
				assert_int_equal(world_report()->late, 0);
				expected = expected == NULL ? strdup(world_output("out")) : expected;
				assert_string_equal(world_output("out"), expected);
				maker_destroy(m);
			}
		}
	}
	free(expected);
}

static void
given_two_exchanges_when_event_time_is_assigned_behind_both_then_no_record_is_late(void **state)
{
	(void)state;
	fill(600);
	maker *m = maker_create();
	maker_option(m, "batch_rows", 7);
	uint32_t in = maker_source(m, "in", 2);
	uint32_t spread = maker_function(m, in, &world_pass, "spread", EDGE_SHUFFLE, 3);
	uint32_t pass = maker_function(m, maker_key_by(m, spread), &world_pass, "pass", EDGE_KEY, 2);
	uint32_t window = maker_function(m, maker_event_time(m, pass, 0), &world_window, "window", EDGE_FORWARD, 2);
	maker_sink(m, window, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_GLOBAL, 1);
	must_finish(m, &(world_run_request){ .deterministic = 1, .seed = 5 });
	assert_int_equal(world_report()->late, 0);
	maker_destroy(m);
}

static void
release_when_windows_closed(runtime *run)
{
	runtime_status_report report;
	while (world_output_lines("out") < 40) {
		sched_yield();
		runtime_status(run, &report);
		if (report.elapsed > (int64_t)3600 * 1000 * 1000)
			break;
	}
	world_release("in");
}

static void
given_a_partition_that_has_ended_when_others_go_on_then_event_time_goes_on(void **state)
{
	(void)state;
	world_input("in", 2, 0);
	world_add("in", 1, "0,1,0\n");
	for (uint32_t i = 0; i < 2000; i++)
		world_add("in", 0, "%u,1,%u\n", i % 5, i * 20);
	world_hold_back("in", 1000); /* windows close although the input has not ended */
	maker *m = timed_behind_exchange(1, 2, 10);
	must_finish(m, &(world_run_request){ .deterministic = 1, .during = release_when_windows_closed });
	assert_int_equal(world_report()->late, 0);
	maker_destroy(m);
}

static void
stop_when_windows_closed(runtime *run)
{
	release_when_windows_closed(run);
	runtime_stop(run);
}

static void
step_by_step(runtime *run)
{
	runtime_status_report report;
	for (uint64_t rows = 100; world_output_lines("out") < 700;
		 rows += 10) { /* each second of the virtual clock some records */
		runtime_status(run, &report);
		int64_t until = report.elapsed + 1000 * 1000;
		world_release_to("in", rows);
		while (report.elapsed < until) {
			sched_yield();
			runtime_status(run, &report);
		}
		if (rows > 20000)
			break;
	}
	runtime_stop(run);
}

static maker *
unbounded(uint32_t sources)
{
	world_unbounded("in");
	maker *m = timed_behind_exchange(sources, 2, 10);
	maker_stream(m, 0)->bounded = 0;
	((plan *)(uintptr_t)maker_plan(m))->bounded = 0;
	return m;
}

static void
must_be_stopped(maker *m, void (*during)(runtime *run))
{
	uint32_t outcome = world_run(m, &(world_run_request){ .deterministic = 1, .during = during });
	if (outcome != RUN_INTERRUPTED)
		print_error("%s\n", world_error());
	assert_int_equal(outcome, RUN_INTERRUPTED);
	assert_int_equal(world_report()->late, 0);
	maker_destroy(m);
}

static void
given_more_tasks_than_partitions_when_one_has_nothing_to_read_then_event_time_does_not_wait_for_it(void **state)
{
	(void)state;
	world_input("in", 1, 0);
	for (uint32_t i = 0; i < 2000; i++)
		world_add("in", 0, "%u,1,%u\n", i % 5, i * 20);
	must_be_stopped(unbounded(2), stop_when_windows_closed);
	assert_true(world_output_lines("out") >= 40);
}

static void
given_a_partition_whose_records_seldom_come_to_a_task_when_others_go_on_for_long_then_it_does_not_hold_that_task_back(
	void **state)
{
	(void)state;
	world_input("in", 2, 0);
	world_add("in", 1, "0,1,0\n"); /* one record, for one of the two tasks */
	for (uint32_t i = 0; i < 20000; i++)
		world_add("in", 0, "%u,1,%u\n", i % 5, i * 20);
	world_hold_back("in", 100);
	must_be_stopped(unbounded(1), step_by_step);
	assert_true(world_output_lines("out") >= 700);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, reset)
	const struct CMUnitTest tests[] = {
		TEST(given_interleaved_partitions_when_event_time_is_assigned_behind_an_exchange_then_no_record_is_late),
		TEST(given_two_exchanges_when_event_time_is_assigned_behind_both_then_no_record_is_late),
		TEST(given_a_partition_that_has_ended_when_others_go_on_then_event_time_goes_on),
		TEST(
			given_a_partition_whose_records_seldom_come_to_a_task_when_others_go_on_for_long_then_it_does_not_hold_that_task_back),
		TEST(given_more_tasks_than_partitions_when_one_has_nothing_to_read_then_event_time_does_not_wait_for_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
