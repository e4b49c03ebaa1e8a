/* Inputs whose partitions a consumer group gives and takes: nothing is lost or doubled, positions never go back, the rest is left alone. */
#include <sched.h>
#include <string.h>

#include "support/runtime_world.h"

#include "runtime/control.h"

#define RECORDS 300 /* in each of two partitions */

static int
reset(void **state)
{
	(void)state;
	world_reset();
	runtime_crash_point = 0;
	return 0;
}

/* Two tasks, both members; task 0 has both partitions. */
static maker *
shared_input(uint32_t delivery)
{
	maker *m = maker_create();
	maker_option(m, "batch_rows", 10);
	maker_option(m, "checkpoint_interval", 0);
	uint32_t in = maker_source(m, "in", 2);
	plan_stream *stream = maker_stream(m, in);
	stream->self_assigned = 1;
	stream->bounded = 0;
	stream->committed_by_output = delivery == FLOW_DELIVERY_ONE_PHASE;
	uint32_t pass = maker_function(m, in, &world_pass, "pass", EDGE_FORWARD, 2);
	maker_sink(m, pass, "out", delivery, EDGE_FORWARD, 2);
	world_give("in", 0, 0);
	world_give("in", 0, 1);
	return m;
}

static maker *
shared(uint32_t delivery)
{
	world_input("in", 2, 0);
	world_group("in");
	for (uint32_t i = 0; i < RECORDS; i++) {
		world_add("in", 0, "0,%u,0\n", i);
		world_add("in", 1, "1,%u,0\n", i);
	}
	return shared_input(delivery);
}

static void
must_stop(maker *m, const world_run_request *request)
{
	uint32_t outcome = world_run(m, request);
	if (outcome != RUN_INTERRUPTED)
		print_error("%s\n", world_error());
	assert_int_equal(outcome, RUN_INTERRUPTED);
	assert_int_equal(world_group_faults("in"), 0);
}

/* Each record at least once; `exactly`: and not twice. */
static void
check_output(int exactly)
{
	const char *at = world_output("out");
	static uint32_t seen[2][RECORDS];
	memset(seen, 0, sizeof(seen));
	for (unsigned key, value; sscanf(at, "%u,%u,0\n", &key, &value) == 2; at = strchr(at, '\n') + 1)
		seen[key][value]++;
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t k = 0; k < RECORDS; k++)
			assert_in_range(seen[i][k], 1, exactly ? 1 : UINT32_MAX);
	assert_int_equal(world_group_position("in", 0), RECORDS);
	assert_int_equal(world_group_position("in", 1), RECORDS);
}

static void
wait_for_rows(uint64_t rows)
{
	while (world_rows_read("in") < rows)
		sched_yield();
}

static void
wait_for_release(uint32_t partition, uint32_t times)
{
	while (world_released("in", partition) < times)
		sched_yield();
}

/* --- partitions come and go ----------------------------------------------------------------------------------------- */

static void
move_one_partition(void)
{
	wait_for_rows(100);
	world_take("in", 0, 1);
	world_give("in", 1, 1);
	wait_for_release(1, 1);
	world_release("in");
}

static void
move_one(runtime *run)
{
	move_one_partition();
	wait_for_rows(2 * RECORDS);
	runtime_stop(run);
}

/* What was read ahead of a partition that is gone counts as read, and is read once more. */
static void
move_one_and_wait_for_all(runtime *run)
{
	move_one_partition();
	while (world_output_lines("out") < (uint64_t)2 * RECORDS)
		sched_yield();
	runtime_stop(run);
}

static void
check_move(uint32_t delivery, const world_run_request *request)
{
	world_reset();
	maker *m = shared(delivery);
	world_hold_back("in", 100);
	world_run_request moving = *request;
	moving.during = move_one;
	must_stop(m, &moving);
	check_output(1);
	assert_int_equal(world_rows_read("in"), 2 * RECORDS); /* no record of either partition was read again */
	assert_int_equal(world_released("in", 1), 1);
	maker_destroy(m);
}

static void
given_a_partition_that_is_taken_away_when_it_is_released_then_another_task_goes_on_behind_it(void **state)
{
	(void)state;
	static const uint32_t deliveries[] = { FLOW_DELIVERY_AT_LEAST_ONCE, FLOW_DELIVERY_RESUMABLE,
										   FLOW_DELIVERY_ONE_PHASE };
	for (size_t i = 0; i < FLOW_COUNT(deliveries); i++) {
		check_move(deliveries[i], &(world_run_request){ 0 });
		check_move(deliveries[i], &(world_run_request){ .deterministic = 1, .seed = i });
		check_move(deliveries[i], &(world_run_request){ .check_plugins = 1 });
	}
}

static void
given_a_blocking_source_when_a_partition_is_taken_away_then_what_was_read_ahead_is_read_by_the_next(void **state)
{
	(void)state;
	maker *m = shared(FLOW_DELIVERY_AT_LEAST_ONCE);
	world_blocking("in");
	world_hold_back("in", 100);
	must_stop(m, &(world_run_request){ .during = move_one_and_wait_for_all });
	check_output(1);
	maker_destroy(m);
}

static void
move_to_and_fro(runtime *run)
{
	for (uint32_t turn = 0; turn < 20; turn++) {
		uint32_t from = turn % 2, to = 1 - from;
		world_hold_back("in", 20 * turn + 40);
		world_release("in");
		wait_for_rows(20 * turn + 20);
		for (uint32_t p = 0; p < 2; p++) {
			world_take("in", from, p);
			world_give("in", to, p);
			wait_for_release(p, turn + 1);
		}
	}
	world_hold_back("in", UINT64_MAX);
	world_release("in");
	wait_for_rows(2 * RECORDS);
	runtime_stop(run);
}

static void
given_all_partitions_when_they_move_again_and_again_then_every_record_is_there_once(void **state)
{
	(void)state;
	static const uint32_t deliveries[] = { FLOW_DELIVERY_AT_LEAST_ONCE, FLOW_DELIVERY_ONE_PHASE };
	for (size_t i = 0; i < FLOW_COUNT(deliveries); i++) {
		world_reset();
		maker *m = shared(deliveries[i]);
		world_hold_back("in", 40);
		must_stop(m, &(world_run_request){ .during = move_to_and_fro });
		check_output(1);
		assert_int_equal(world_released("in", 0), 20);
		maker_destroy(m);
	}
}

/* --- an output that takes nothing ----------------------------------------------------------------------------------- */

static uint32_t released_while_blocked;

static void
take_while_blocked(runtime *run)
{
	wait_for_rows(10);
	uint64_t serviced = world_serviced("in");
	world_take("in", 0, 1);
	world_give("in", 1, 1);
	while (world_serviced("in") < serviced + 3) /* it is still called, and its partitions are paused */
		sched_yield();
	released_while_blocked = world_released("in", 1);
	world_open_output("out");
	wait_for_release(1, 1);
	wait_for_rows(2 * RECORDS);
	runtime_stop(run);
}

static void
given_a_batch_in_flight_when_its_partition_is_taken_then_it_is_released_only_when_the_batch_is_written(void **state)
{
	(void)state;
	maker *m = shared(FLOW_DELIVERY_AT_LEAST_ONCE);
	world_block_output("out");
	must_stop(m, &(world_run_request){ .deterministic = 1, .during = take_while_blocked });
	assert_int_equal(released_while_blocked, 0);
	check_output(1);
	maker_destroy(m);
}

static void
take_and_give_back(runtime *run)
{
	wait_for_rows(10);
	world_take("in", 0, 1);
	uint64_t serviced = world_serviced("in");
	while (world_serviced("in") < serviced + 3) /* it has heard of that */
		sched_yield();
	world_give("in", 0, 1);
	while (world_serviced("in") < serviced + 6)
		sched_yield();
	world_open_output("out");
	wait_for_rows(2 * RECORDS);
	runtime_stop(run);
}

static void
given_a_partition_that_comes_back_before_it_was_released_when_it_is_read_on_then_its_position_does_not_go_back(
	void **state)
{
	(void)state;
	maker *m = shared(FLOW_DELIVERY_AT_LEAST_ONCE);
	world_block_output("out");
	must_stop(m, &(world_run_request){ .deterministic = 1, .during = take_and_give_back });
	check_output(1);
	assert_int_equal(world_released("in", 1), 1);
	maker_destroy(m);
}

/* --- an output that acknowledges out of order: case kafka/02-revoke-with-a-batch-in-flight --------------------------- */

static void
acknowledge(uint32_t partition, const char *ordinals)
{
	for (; *ordinals != '\0'; ordinals++) {
		char record[32];
		snprintf(record, sizeof(record), "%u,%c,0", partition, *ordinals);
		world_acknowledge("out", record);
	}
}

static int64_t committed_before[2];
static uint32_t released_before;

static void
follow_the_timeline(runtime *run)
{
	uint32_t flushes = 0;
	while (world_waiting("out", &flushes) != 10)
		sched_yield();
	acknowledge(0, "0124");
	acknowledge(1, "02");
	world_take("in", 0, 0);
	world_give("in", 1, 0);
	while (flushes == 0 || world_waiting("out", &flushes) == 0)
		world_waiting("out", &flushes);
	for (uint32_t i = 0; i < 2; i++)
		committed_before[i] = world_group_position("in", i);
	released_before = world_released("in", 0);
	acknowledge(0, "35");
	acknowledge(1, "13");
	wait_for_release(0, 1);
	world_acknowledges("out", 0);
	world_release("in");
	wait_for_rows(20);
	runtime_stop(run);
}

static void
given_records_acknowledged_out_of_order_when_a_partition_is_taken_then_only_an_unbroken_prefix_is_ever_committed(
	void **state)
{
	(void)state;
	world_input("in", 2, 0);
	world_group("in");
	for (uint32_t i = 0; i < 20; i++)
		world_add("in", i % 2, "%u,%u,0\n", i % 2, i / 2);
	maker *m = shared_input(FLOW_DELIVERY_AT_LEAST_ONCE);
	maker_option(m, "batch_rows", 6);
	maker_stream(m, 2)->byte_stream = 0; /* records, each by itself */
	world_acknowledges("out", 1);
	world_hold_back("in", 10); /* six of partition 0, four of partition 1 */
	must_stop(m, &(world_run_request){ .during = follow_the_timeline });
	/* Of partition 0 record 3 is missing, of partition 1 record 1. */
	assert_in_range(committed_before[0] + 1, 0, 4);
	assert_in_range(committed_before[1] + 1, 0, 2);
	assert_int_equal(released_before, 0);
	assert_int_equal(world_rows_read("in"), 20); /* the kept partition was not read again, nor the other one */
	assert_int_equal(world_output_lines("out"), 20);
	assert_int_equal(world_group_position("in", 0), 10);
	assert_int_equal(world_group_position("in", 1), 10);
	maker_destroy(m);
}

/* --- positions ------------------------------------------------------------------------------------------------------ */

static void
stop_when_all_is_read(runtime *run)
{
	wait_for_rows(2 * RECORDS);
	runtime_stop(run);
}

static void
given_a_stop_when_it_has_drained_then_the_group_goes_on_behind_what_was_written(void **state)
{
	(void)state;
	static const uint32_t deliveries[] = { FLOW_DELIVERY_AT_LEAST_ONCE, FLOW_DELIVERY_ONE_PHASE };
	for (size_t i = 0; i < FLOW_COUNT(deliveries); i++) {
		world_reset();
		maker *m = shared(deliveries[i]);
		must_stop(m, &(world_run_request){ .during = stop_when_all_is_read });
		check_output(1);
		world_add("in", 0, "9,9,9\n");
		must_stop(m, &(world_run_request){ .fresh = 1,
										   .during = stop_when_all_is_read }); /* the group knows, not the state */
		assert_int_equal(world_output_lines("out"), 2 * RECORDS + (world_rows_read("in") > 2 * RECORDS));
		maker_destroy(m);
	}
}

static void
given_a_trial_when_it_runs_then_it_joins_no_group_and_commits_nothing(void **state)
{
	(void)state;
	maker *m = shared(FLOW_DELIVERY_AT_LEAST_ONCE);
	world_take("in", 0, 0);
	world_take("in", 0, 1);
	assert_int_equal(world_run(m, &(world_run_request){ .limit = 50 }), RUN_FINISHED);
	assert_int_equal(world_output_lines("out"), 50);
	assert_int_equal(world_group_position("in", 0), -1);
	maker_destroy(m);
}

static void
stop_with_a_lag(runtime *run)
{
	wait_for_rows(100);
	runtime_stop(run);
}

static void
given_numbers_of_a_source_when_the_status_is_asked_for_then_they_are_there_by_partition(void **state)
{
	(void)state;
	maker *m = shared(FLOW_DELIVERY_AT_LEAST_ONCE);
	world_give("in", 0, 0);
	world_take("in", 0, 1);
	world_give("in", 1, 1);
	world_hold_back("in", 100);
	must_stop(m, &(world_run_request){ .deterministic = 1, .during = stop_with_a_lag });
	const runtime_status_report *r = world_report();
	assert_int_equal(r->input_count, 1);
	assert_int_equal(r->inputs[0].lag, 2 * RECORDS - 100);
	assert_int_equal(r->number_count, 3);
	assert_null(r->numbers[0].partition);
	assert_string_equal(r->numbers[0].name, "rebalances");
	assert_string_equal(r->numbers[1].partition, "in/0");
	assert_string_equal(r->numbers[2].partition, "in/1");
	assert_string_equal(r->numbers[2].name, "lag");
	assert_int_equal(r->numbers[1].value + r->numbers[2].value, 2 * RECORDS - 100);
	maker_destroy(m);
}

/* --- crashes -------------------------------------------------------------------------------------------------------- */

static void
stop_when_all_is_committed(runtime *run)
{
	while (world_group_position("in", 0) < RECORDS || world_group_position("in", 1) < RECORDS)
		sched_yield();
	runtime_stop(run);
}

static void
check_crash(uint32_t delivery, int point, uint64_t epoch, int exactly)
{
	world_reset();
	maker *m = shared(delivery);
	maker_option(m, "checkpoint_interval", 4000);
	runtime_crash_point = point;
	runtime_crash_epoch = epoch;
	uint32_t outcome = world_run(m, &(world_run_request){ .deterministic = 1, .seed = epoch });
	runtime_crash_point = 0;
	assert_int_equal(outcome, RUN_FAILED);
	assert_non_null(strstr(world_error(), "stopped at point"));
	must_stop(m, &(world_run_request){ .deterministic = 1, .again = 1, .during = stop_when_all_is_committed });
	check_output(exactly);
	maker_destroy(m);
}

static void
given_a_transaction_that_takes_positions_when_it_stops_at_any_point_then_output_is_exactly_once(void **state)
{
	(void)state;
	for (int point = CRASH_BEFORE_WRITE; point <= CRASH_AFTER_MARK; point++)
		for (uint64_t epoch = 1; epoch < 6; epoch++)
			check_crash(FLOW_DELIVERY_ONE_PHASE, point, epoch, 1);
}

static void
given_other_outputs_when_it_stops_at_any_point_then_no_record_is_lost(void **state)
{
	(void)state;
	static const int points[] = { CRASH_BEFORE_WRITE, CRASH_AFTER_WRITE, CRASH_AFTER_COMMIT };
	for (size_t i = 0; i < FLOW_COUNT(points); i++) {
		check_crash(FLOW_DELIVERY_AT_LEAST_ONCE, points[i], 3, 0);
		check_crash(FLOW_DELIVERY_RESUMABLE, points[i], 3, 0);
	}
}

static void
given_a_transaction_that_is_lost_when_it_is_restored_then_the_group_goes_on_where_it_was_and_output_is_exact(
	void **state)
{
	(void)state;
	maker *m = shared(FLOW_DELIVERY_ONE_PHASE);
	maker_option(m, "checkpoint_interval", 4000);
	world_fail_commit("out", FLOW_E_CONFLICT, 0);
	must_stop(m, &(world_run_request){ .deterministic = 1, .during = stop_when_all_is_committed });
	check_output(1);
	maker_destroy(m);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, reset)
	const struct CMUnitTest tests[] = {
		TEST(given_a_partition_that_is_taken_away_when_it_is_released_then_another_task_goes_on_behind_it),
		TEST(given_a_blocking_source_when_a_partition_is_taken_away_then_what_was_read_ahead_is_read_by_the_next),
		TEST(given_all_partitions_when_they_move_again_and_again_then_every_record_is_there_once),
		TEST(given_a_batch_in_flight_when_its_partition_is_taken_then_it_is_released_only_when_the_batch_is_written),
		TEST(
			given_a_partition_that_comes_back_before_it_was_released_when_it_is_read_on_then_its_position_does_not_go_back),
		TEST(
			given_records_acknowledged_out_of_order_when_a_partition_is_taken_then_only_an_unbroken_prefix_is_ever_committed),
		TEST(given_a_stop_when_it_has_drained_then_the_group_goes_on_behind_what_was_written),
		TEST(given_numbers_of_a_source_when_the_status_is_asked_for_then_they_are_there_by_partition),
		TEST(given_a_trial_when_it_runs_then_it_joins_no_group_and_commits_nothing),
		TEST(given_a_transaction_that_takes_positions_when_it_stops_at_any_point_then_output_is_exactly_once),
		TEST(given_other_outputs_when_it_stops_at_any_point_then_no_record_is_lost),
		TEST(
			given_a_transaction_that_is_lost_when_it_is_restored_then_the_group_goes_on_where_it_was_and_output_is_exact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
