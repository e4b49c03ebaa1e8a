/* A run from its sources to its sinks: equal output for all batch sizes and tasks, order of calls, gates, policies, limits. */
#include <sched.h>
#include <string.h>

#include "support/runtime_world.h"

#include "base/memory.h"

static int
reset(void **state)
{
	(void)state;
	world_reset();
	return 0;
}

static maker *
pass_through(uint32_t tasks, uint32_t piece)
{
	world_input("in", 4, piece);
	maker *m = maker_create();
	uint32_t in = maker_source(m, "in", tasks);
	maker_stream(m, in)->byte_stream = piece != 0;
	uint32_t f = maker_function(m, in, &world_pass, "pass", EDGE_FORWARD, tasks);
	maker_sink(m, f, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_FORWARD, tasks);
	return m;
}

static void
given_a_bounded_input_when_it_runs_then_every_record_is_written_once_and_it_finishes(void **state)
{
	(void)state;
	maker *m = pass_through(1, 0);
	world_fill("in", 10, 3);
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_string_equal(world_output("out"), "0,0,0\n0,3,3\n0,6,6\n0,9,9\n1,1,1\n1,4,4\n1,7,7\n2,2,2\n2,5,5\n2,8,8\n");
	assert_string_equal(world_calls(), "open end close");
	assert_int_equal(world_report()->records_in, 10);
	assert_int_equal(world_report()->records_out, 10);
	maker_destroy(m);
}

static void
given_an_empty_input_when_it_runs_then_it_finishes(void **state)
{
	(void)state;
	maker *m = pass_through(2, 0);
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_string_equal(world_output("out"), "");
	maker_destroy(m);
}

static void
given_pieces_of_any_size_when_records_are_cut_then_none_is_lost_or_split(void **state)
{
	(void)state;
	static const uint32_t pieces[] = { 1, 2, 7, 13, 64, 4096, 100000 };
	char expected[4096];
	for (size_t i = 0; i < FLOW_COUNT(pieces); i++) {
		world_reset();
		maker *m = pass_through(1, pieces[i]);
		world_fill("in", 200, 7);
		world_add("in", 2, "9,9,9"); /* a last line without its end */
		assert_int_equal(world_run(m, NULL), RUN_FINISHED);
		if (i == 0)
			strcpy(expected, world_output("out"));
		assert_int_equal(world_output_lines("out"), 201);
		assert_string_equal(world_output("out"), expected);
		maker_destroy(m);
	}
}

static void
run_counts(uint32_t tasks, uint32_t batch_rows, uint32_t workers, int deterministic, char *output)
{
	world_reset();
	world_input("in", 4, 0);
	world_fill("in", 5000, 37);
	maker *m = maker_create();
	maker_option(m, "batch_rows", batch_rows);
	maker_option(m, "workers", workers);
	uint32_t in = maker_source(m, "in", tasks);
	uint32_t key = maker_key_by(m, in);
	uint32_t count = maker_function(m, key, &world_count, "count", EDGE_KEY, tasks);
	uint32_t pass = maker_function(m, count, &world_pass, "pass", EDGE_SHUFFLE, tasks);
	maker_sink(m, pass, "out", FLOW_DELIVERY_RESUMABLE, EDGE_GLOBAL, 1);
	assert_int_equal(world_run(m, &(world_run_request){ .deterministic = deterministic, .seed = batch_rows }),
					 RUN_FINISHED);
	strcpy(output, world_output("out"));
	maker_destroy(m);
}

static void
given_any_batch_size_and_number_of_tasks_when_it_runs_then_the_sorted_output_is_equal(void **state)
{
	(void)state;
	static const uint32_t rows[] = { 1, 7, 1024 }, tasks[] = { 1, 2, 4 };
	static char first[65536], other[65536];
	run_counts(1, 1024, 1, 0, first);
	assert_non_null(strstr(first, "0,136,0\n"));
	for (size_t i = 0; i < FLOW_COUNT(rows); i++) {
		for (size_t k = 0; k < FLOW_COUNT(tasks); k++) {
			run_counts(tasks[k], rows[i], 2, 0, other);
			assert_string_equal(other, first);
			run_counts(tasks[k], rows[i], 1, 1, other);
			assert_string_equal(other, first);
		}
	}
}

static void
given_a_limit_when_it_runs_then_so_many_records_of_the_input_pass_and_it_ends(void **state)
{
	(void)state;
	maker *m = pass_through(2, 0);
	world_fill("in", 5000, 7);
	world_unbounded("in");
	maker_stream(m, 0)->bounded = 0;
	assert_int_equal(world_run(m, &(world_run_request){ .limit = 123 }), RUN_FINISHED);
	assert_int_equal(world_output_lines("out"), 123);
	maker_destroy(m);
}

/* Behind a function that drops half of them, in tasks that share the limit; the input never ends by itself. */
static void
given_a_limit_of_outputs_when_it_runs_then_so_many_records_are_written_and_it_ends(void **state)
{
	(void)state;
	static const uint64_t limits[] = { 1, 2, 700, 2499 };
	for (size_t i = 0; i < FLOW_COUNT(limits); i++) {
		world_reset();
		world_input("in", 4, 0);
		world_fill("in", 5000, 7);
		world_unbounded("in");
		maker *m = maker_create();
		uint32_t in = maker_source(m, "in", 2);
		maker_stream(m, in)->bounded = 0;
		maker_stream(m, in)->record_errors = RECORD_ERRORS_SKIP;
		uint32_t odd = maker_function(m, in, &world_odd, "odd", EDGE_FORWARD, 2);
		maker_operator(m, odd)->record_errors = RECORD_ERRORS_SKIP;
		maker_sink(m, odd, "out", FLOW_DELIVERY_RESUMABLE, EDGE_FORWARD, 2);
		assert_int_equal(world_run(m, &(world_run_request){ .output_limit = limits[i] }), RUN_FINISHED);
		assert_int_equal(world_output_lines("out"), limits[i]);
		assert_int_equal(world_report()->records_out, limits[i]);
		maker_destroy(m);
	}
}

static void
given_a_dry_sink_when_it_runs_then_nothing_is_written(void **state)
{
	(void)state;
	maker *m = pass_through(1, 0);
	world_fill("in", 50, 7);
	assert_int_equal(world_run(m, &(world_run_request){ .dry_sink = 1 }), RUN_FINISHED);
	assert_string_equal(world_output("out"), "");
	assert_int_equal(world_report()->records_out, 50);
	maker_destroy(m);
}

static void
given_a_bootstrap_input_when_it_runs_then_others_start_after_it_has_passed_through(void **state)
{
	(void)state;
	for (uint32_t tasks = 1; tasks <= 2; tasks++) {
		world_reset();
		world_input("names", 2, 0);
		world_input("in", 2, 0);
		world_fill("names", 3000, 5);
		world_fill("in", 100, 1);
		maker *m = maker_create();
		uint32_t names = maker_source(m, "names", 2);
		maker_stream(m, names)->bootstrap = 1;
		uint32_t key = maker_key_by(m, names);
		maker_function(m, key, &world_put, "put", EDGE_KEY, tasks);
		uint32_t in = maker_source(m, "in", tasks);
		uint32_t saw = maker_function(m, in, &world_saw, "saw", EDGE_FORWARD, tasks);
		maker_sink(m, saw, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_FORWARD, tasks);
		assert_int_equal(world_run(m, NULL), RUN_FINISHED);
		assert_int_equal(world_puts(), 3000);
		assert_int_equal(world_output_lines("out"), 100);
		assert_non_null(strstr(world_output("out"), "0,3000,0\n0,3000,0\n"));
		assert_null(strstr(world_output("out"), "0,0,0"));
		maker_destroy(m);
	}
}

static maker *
with_errors(uint32_t policy)
{
	maker *m = pass_through(1, 4096);
	maker_stream(m, 0)->record_errors = policy;
	maker_operator(m, 1)->record_errors = policy;
	world_add("in", 0, "1,2,3\nwhat is this\n4,6,6\n");
	return m;
}

static void
given_a_bad_record_when_the_policy_is_fail_then_the_error_names_place_line_and_field(void **state)
{
	(void)state;
	maker *m = with_errors(RECORD_ERRORS_FAIL);
	assert_int_equal(world_run(m, NULL), RUN_FAILED);
	assert_non_null(strstr(world_error(), "in/0:2: field v: three numbers were expected"));
	assert_non_null(strstr(world_error(), "in (stage 0)"));
	maker_destroy(m);
}

static void
given_a_bad_record_when_the_policy_is_skip_then_it_is_counted_and_the_others_pass(void **state)
{
	(void)state;
	maker *m = with_errors(RECORD_ERRORS_SKIP);
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_string_equal(world_output("out"), "1,2,3\n4,6,6\n");
	assert_int_equal(world_report()->skipped, 1);
	assert_int_equal(world_report()->rejected, 1);
	maker_destroy(m);
}

static void
given_a_bad_record_when_the_policy_is_dead_letter_then_it_is_there_with_reason_place_and_bytes(void **state)
{
	(void)state;
	maker *m = with_errors(RECORD_ERRORS_DEAD_LETTER);
	maker_dead_letters(m, "dead");
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_string_equal(world_output("out"), "1,2,3\n4,6,6\n");
	assert_non_null(strstr(world_output("dead"), ",test,in,in,in/0,0,6,2,v,FLOW_E_DECODE,three numbers were expected,"
												 "what is this,0,\n"));
	assert_int_equal(world_report()->dead_letters, 1);
	maker_destroy(m);
}

static void
given_an_output_of_records_when_it_takes_dead_letters_then_their_headers_say_why(void **state)
{
	(void)state;
	maker *m = with_errors(RECORD_ERRORS_DEAD_LETTER);
	maker_dead_letters(m, "dead");
	maker_stream(m, maker_plan(m)->dead_letters)->byte_stream = 0;
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_non_null(strstr(world_output("dead"), "three numbers were expected"));
	assert_string_equal(world_output_headers("dead"), "flowd.reason=three numbers were expected\n"
													  "flowd.status=FLOW_E_DECODE\n"
													  "flowd.job=test\n"
													  "flowd.operator=in\n"
													  "flowd.stream=in\n"
													  "flowd.place=in/0\n"
													  "flowd.ordinal=6\n"
													  "flowd.line=2\n"
													  "flowd.field=v\n");
	maker_destroy(m);
}

static void
given_a_function_that_rejects_when_records_die_then_they_are_encoded_again(void **state)
{
	(void)state;
	world_input("in", 1, 0);
	world_add("in", 0, "1,2,3\n4,5,6\n");
	maker *m = maker_create();
	uint32_t in = maker_source(m, "in", 1);
	uint32_t odd = maker_function(m, in, &world_odd, "odd", EDGE_SHUFFLE, 2);
	maker_operator(m, odd)->record_errors = RECORD_ERRORS_DEAD_LETTER;
	maker_sink(m, odd, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_FORWARD, 2);
	maker_dead_letters(m, "dead");
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_string_equal(world_output("out"), "1,2,3\n");
	assert_non_null(strstr(world_output("dead"), ",test,odd,in,in/0,0,1,,,FLOW_E_RANGE,v is odd,4,5,6,0,\n"));
	maker_destroy(m);
}

static void
given_partitions_with_numbers_when_records_die_then_dead_letters_have_the_numbers(void **state)
{
	(void)state;
	maker *m = with_errors(RECORD_ERRORS_DEAD_LETTER);
	world_number_partitions("in", 7);
	maker_dead_letters(m, "dead");
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_non_null(strstr(world_output("dead"), ",test,in,in,in/0,7,6,2,v,FLOW_E_DECODE,"));
	maker_destroy(m);
}

/* Behind an exchange rows know their source only by what their batch has. */
static void
given_partitions_with_numbers_when_records_die_behind_an_exchange_then_dead_letters_have_the_numbers(void **state)
{
	(void)state;
	world_reset();
	world_input("in", 1, 0);
	world_number_partitions("in", 7);
	world_add("in", 0, "1,2,3\n4,5,6\n");
	world_refuse("out", "1,2,3");
	maker *m = maker_create();
	uint32_t in = maker_source(m, "in", 1);
	uint32_t odd = maker_function(m, in, &world_odd, "odd", EDGE_SHUFFLE, 2);
	maker_operator(m, odd)->record_errors = RECORD_ERRORS_DEAD_LETTER;
	uint32_t out = maker_sink(m, odd, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_FORWARD, 2);
	maker_stream(m, out)->byte_stream = 0;
	maker_stream(m, out)->record_errors = RECORD_ERRORS_DEAD_LETTER;
	maker_dead_letters(m, "dead");
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_non_null(strstr(world_output("dead"), ",test,odd,in,in/0,7,1,,,FLOW_E_RANGE,"));
	assert_non_null(strstr(world_output("dead"), ",test,out,in,in/0,7,0,,,FLOW_E_LIMIT,"));
	maker_destroy(m);
}

static void
given_a_job_whose_only_task_may_block_when_it_runs_deterministically_then_it_finishes(void **state)
{
	(void)state;
	world_reset();
	world_input("in", 1, 0);
	world_add("in", 0, "1,2,3\n4,6,6\n");
	maker *m = maker_create();
	uint32_t odd = maker_function(m, maker_source(m, "in", 1), &world_odd, "odd", EDGE_FORWARD, 1);
	maker_operator(m, odd)->function.blocks = 1;
	maker_sink(m, odd, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_FORWARD, 1);
	world_run_request request = { .deterministic = 1, .seed = 1 };
	assert_int_equal(world_run(m, &request), RUN_FINISHED);
	assert_string_equal(world_output("out"), "1,2,3\n4,6,6\n");
	maker_destroy(m);
}

static void
given_a_keyed_output_when_it_changes_the_key_then_the_record_is_not_emitted_and_the_job_fails(void **state)
{
	(void)state;
	world_input("in", 1, 0);
	world_add("in", 0, "1,2,3\n");
	maker *m = maker_create();
	uint32_t key = maker_key_by(m, maker_source(m, "in", 1));
	uint32_t rekey = maker_function(m, key, &world_rekey, "rekey", EDGE_KEY, 2);
	maker_sink(m, rekey, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_FORWARD, 2);
	assert_int_equal(world_run(m, NULL), RUN_FAILED);
	assert_non_null(strstr(world_error(), "has another key"));
	assert_string_equal(world_output("out"), "");
	maker_destroy(m);
}

static maker *
windows(uint32_t tasks, int64_t out_of_order)
{
	maker *m = maker_create();
	uint32_t time = maker_event_time(m, maker_source(m, "in", tasks), out_of_order);
	uint32_t key = maker_key_by(m, time);
	uint32_t window = maker_function(m, key, &world_window, "window", EDGE_KEY, tasks);
	maker_sink(m, window, "out", FLOW_DELIVERY_RESUMABLE, EDGE_FORWARD, tasks);
	return m;
}

static void
given_event_time_when_windows_close_then_sums_are_exact_for_any_number_of_tasks(void **state)
{
	(void)state;
	static char first[65536];
	for (uint32_t tasks = 1; tasks <= 4; tasks *= 2) {
		world_reset();
		world_input("in", 4, 0);
		world_fill("in", 3000, 5);
		maker *m = windows(tasks, 0);
		maker_option(m, "batch_rows", 7);
		assert_int_equal(world_run(m, NULL), RUN_FINISHED);
		assert_int_equal(world_output_lines("out"), 150);
		if (tasks == 1)
			strcpy(first, world_output("out"));
		assert_string_equal(world_output("out"), first);
		maker_destroy(m);
	}
	assert_non_null(strstr(first, "0,950,0\n"));
}

static void
feed_late(void)
{
	world_input("in", 1, 0);
	world_add("in", 0, "1,1,50\n1,1,500\n1,1,60\n1,1,450\n");
}

static void
given_a_late_record_when_the_run_is_bounded_then_it_fails_unless_told_otherwise(void **state)
{
	(void)state;
	feed_late();
	maker *m = windows(1, 0);
	maker_option(m, "batch_rows", 1);
	assert_int_equal(world_run(m, NULL), RUN_FAILED);
	assert_non_null(strstr(world_error(), "its window is closed"));
	assert_non_null(strstr(world_error(), "out_of_order"));
	maker_operator(m, 3)->late = RECORD_ERRORS_SKIP;
	world_reset();
	feed_late();
	maker_destroy(m);
	m = windows(1, 0);
	maker_option(m, "batch_rows", 1);
	maker_operator(m, 3)->late = RECORD_ERRORS_SKIP;
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_int_equal(world_report()->late, 2);
	assert_string_equal(world_output("out"), "1,1,0\n1,1,500\n");
	maker_destroy(m);
}

static void
given_enough_declared_disorder_when_records_are_out_of_order_then_none_is_late(void **state)
{
	(void)state;
	feed_late();
	maker *m = windows(1, 440);
	maker_option(m, "batch_rows", 1);
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_string_equal(world_output("out"), "1,1,400\n1,1,500\n1,2,0\n");
	maker_destroy(m);
}

static void
given_a_writer_that_says_again_when_it_wakes_then_nothing_is_lost(void **state)
{
	(void)state;
	maker *m = pass_through(2, 0);
	maker_option(m, "batch_rows", 7);
	world_fill("in", 2000, 7);
	world_stutter("out", 50);
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_int_equal(world_output_lines("out"), 2000);
	maker_destroy(m);
}

static void
given_a_blocking_source_when_it_runs_then_a_thread_of_its_own_reads(void **state)
{
	(void)state;
	maker *m = pass_through(2, 0);
	maker_option(m, "batch_rows", 7);
	maker_option(m, "checkpoint_interval", 1000);
	world_blocking("in");
	world_fill("in", 2000, 7);
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_int_equal(world_output_lines("out"), 2000);
	maker_destroy(m);
}

static void
given_a_failing_write_when_it_is_not_retryable_then_the_job_fails_with_the_outputs_name(void **state)
{
	(void)state;
	maker *m = pass_through(1, 0);
	world_fill("in", 10, 7);
	world_fail_write("out", FLOW_E_DENIED);
	assert_int_equal(world_run(m, NULL), RUN_FAILED);
	assert_non_null(strstr(world_error(), "out (stage 0): the output was told to fail"));
	maker_destroy(m);
}

static void
given_a_write_that_fails_for_a_moment_when_rows_were_taken_then_none_is_written_twice(void **state)
{
	(void)state;
	world_input("in", 1, 0);
	maker *m = maker_create();
	uint32_t in = maker_source(m, "in", 1);
	uint32_t out = maker_sink(m, in, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_FORWARD, 1);
	maker_stream(m, out)->byte_stream = 0;
	world_add("in", 0, "1,1,1\n2,2,2\n3,3,3\n4,4,4\n");
	world_fail_write("out", FLOW_E_UNAVAILABLE);
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_string_equal(world_output("out"), "1,1,1\n2,2,2\n3,3,3\n4,4,4\n");
	maker_destroy(m);
}

static void
given_two_inputs_of_one_sink_when_both_end_then_the_sink_ends_once(void **state)
{
	(void)state;
	world_input("a", 1, 0);
	world_input("b", 1, 0);
	world_add("a", 0, "1,1,1\n");
	world_add("b", 0, "2,2,2\n");
	maker *m = maker_create();
	uint32_t a = maker_source(m, "a", 1), b = maker_source(m, "b", 1);
	uint32_t sink = maker_sink(m, a, "out", FLOW_DELIVERY_RESUMABLE, EDGE_GLOBAL, 1);
	(void)b;
	maker_connect(m, b, sink, 0, EDGE_GLOBAL);
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_string_equal(world_output("out"), "1,1,1\n2,2,2\n");
	maker_destroy(m);
}

static void
given_priorities_when_a_higher_input_has_something_then_lower_ones_wait(void **state)
{
	(void)state;
	world_input("first", 1, 0);
	world_input("second", 1, 0);
	world_fill("first", 5000, 5);
	world_fill("second", 50, 1);
	maker *m = maker_create();
	maker_option(m, "batch_rows", 10);
	uint32_t second = maker_source(m, "second", 1);
	uint32_t saw = maker_function(m, second, &world_saw, "saw", EDGE_FORWARD, 1);
	maker_sink(m, saw, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_FORWARD, 1);
	uint32_t first = maker_source(m, "first", 1);
	maker_stream(m, first)->priority = 5;
	maker_function(m, first, &world_put, "put", EDGE_FORWARD, 1);
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	for (const char *line = world_output_raw("out"); *line != '\0'; line = strchr(line, '\n') + 1)
		assert_int_equal(strncmp(line, "0,5000,0\n", 9), 0);
	maker_destroy(m);
}

static void
wait_for(runtime *run, int64_t elapsed)
{
	runtime_status_report report;
	do {
		sched_yield();
		runtime_status(run, &report);
	} while (report.elapsed < elapsed);
}

static void
release_names(runtime *run)
{
	wait_for(run, 100 * 1000000);
	assert_int_equal(world_rows_read("in"), 0);
	world_release("names");
}

static void
given_a_source_that_is_held_back_when_time_passes_then_it_is_paused_and_still_serviced(void **state)
{
	(void)state;
	world_input("names", 1, 0);
	world_input("in", 1, 0);
	world_fill("names", 30, 5);
	world_fill("in", 30, 5);
	world_hold_back("names", 10);
	maker *m = maker_create();
	uint32_t names = maker_source(m, "names", 1);
	maker_stream(m, names)->bootstrap = 1;
	maker_function(m, names, &world_put, "put", EDGE_FORWARD, 1);
	uint32_t in = maker_source(m, "in", 1);
	maker_sink(m, in, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_FORWARD, 1);
	assert_int_equal(world_run(m, &(world_run_request){ .deterministic = 1, .during = release_names }), RUN_FINISHED);
	assert_true(world_serviced("in") >= 50);
	assert_int_equal(world_output_lines("out"), 30);
	maker_destroy(m);
}

static void
given_a_source_that_was_held_back_when_it_may_go_on_then_it_is_read_without_pauses(void **state)
{
	(void)state;
	world_input("names", 1, 0);
	world_input("in", 1, 0);
	world_fill("names", 30, 5);
	world_fill("in", 20000, 5);
	maker *m = maker_create();
	uint32_t names = maker_source(m, "names", 1);
	maker_stream(m, names)->bootstrap = 1;
	maker_function(m, names, &world_put, "put", EDGE_FORWARD, 1);
	uint32_t in = maker_source(m, "in", 1);
	maker_sink(m, in, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_FORWARD, 1);
	assert_int_equal(world_run(m, &(world_run_request){ .deterministic = 1 }), RUN_FINISHED);
	assert_int_equal(world_output_lines("out"), 20000);
	assert_true(world_report()->elapsed < 1000000);
	maker_destroy(m);
}

static void
send_the_last_then_stop(runtime *run)
{
	wait_for(run, 100 * 1000000);
	world_release("in");
	wait_for(run, 1000 * 1000000);
	runtime_stop(run);
}

static void
given_a_partition_without_records_when_it_counts_as_idle_then_event_time_goes_on(void **state)
{
	(void)state;
	for (int64_t idle_after = 0; idle_after <= 1000000; idle_after += 1000000) {
		world_reset();
		world_input("in", 2, 0);
		world_unbounded("in");
		world_add("in", 0, "1,1,10\n1,1,150\n1,1,250\n");
		world_hold_back("in", 2);
		maker *m = windows(2, 0);
		maker_stream(m, 0)->bounded = 0;
		maker_operator(m, 1)->idle_after = idle_after;
		assert_int_equal(world_run(m, &(world_run_request){ .deterministic = 1, .during = send_the_last_then_stop }),
						 RUN_INTERRUPTED);
		assert_string_equal(world_output("out"), idle_after == 0 ? "" : "1,1,0\n1,1,100\n");
		maker_destroy(m);
	}
}

static void
given_two_inputs_of_a_function_when_they_end_then_each_end_is_told_once(void **state)
{
	(void)state;
	world_input("a", 1, 0);
	world_input("b", 1, 0);
	world_fill("a", 100, 3);
	world_add("b", 0, "9,9,9\n");
	maker *m = maker_create();
	uint32_t a = maker_source(m, "a", 1), b = maker_source(m, "b", 1);
	uint32_t f = maker_function(m, a, &world_pass, "pass", EDGE_GLOBAL, 1);
	maker_connect(m, b, f, 1, EDGE_BROADCAST);
	maker_sink(m, f, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_FORWARD, 1);
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_string_equal(world_calls(), "open end end close");
	assert_int_equal(world_output_lines("out"), 101);
	maker_destroy(m);
}

static void
given_two_outputs_when_records_are_split_then_each_goes_its_way(void **state)
{
	(void)state;
	world_input("in", 2, 0);
	world_input("none", 1, 0);
	world_fill("in", 2000, 7);
	maker *m = maker_create();
	uint32_t split = maker_function(m, maker_source(m, "in", 2), &world_split, "split", EDGE_SHUFFLE, 2);
	maker_sink(m, split, "even", FLOW_DELIVERY_RESUMABLE, EDGE_FORWARD, 2);
	uint32_t odd = maker_sink(m, maker_source(m, "none", 1), "odd", FLOW_DELIVERY_RESUMABLE, EDGE_GLOBAL, 1);
	maker_connect_second(m, split, odd);
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_int_equal(world_output_lines("even"), 1000);
	assert_int_equal(world_output_lines("odd"), 1000);
	assert_null(strstr(world_output("odd"), ",2,2\n"));
	assert_null(strstr(world_output("even"), ",3,3\n"));
	maker_destroy(m);
}

static void
given_a_broadcast_input_when_there_are_several_tasks_then_each_gets_every_record(void **state)
{
	(void)state;
	world_input("in", 2, 0);
	world_input("side", 1, 0);
	world_fill("in", 500, 7);
	world_fill("side", 300, 7);
	maker *m = maker_create();
	uint32_t key = maker_key_by(m, maker_source(m, "in", 2));
	uint32_t side = maker_source(m, "side", 1);
	uint32_t f = maker_function(m, key, &world_side, "side", EDGE_KEY, 4);
	maker_connect(m, side, f, 1, EDGE_BROADCAST);
	maker_sink(m, f, "out", FLOW_DELIVERY_RESUMABLE, EDGE_FORWARD, 4);
	assert_int_equal(world_run(m, NULL), RUN_FINISHED);
	assert_int_equal(world_puts(), 4 * 300);
	assert_int_equal(world_output_lines("out"), 500);
	maker_destroy(m);
}

static uint64_t
allocations_of(uint32_t rows)
{
	world_reset();
	world_input("in", 4, 4096);
	world_fill("in", rows, 100);
	maker *m = maker_create();
	maker_option(m, "checkpoint_interval", 0);
	uint32_t in = maker_source(m, "in", 1);
	maker_stream(m, in)->byte_stream = 1;
	uint32_t pass = maker_function(m, maker_key_by(m, in), &world_pass, "pass", EDGE_KEY, 1);
	maker_sink(m, pass, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_GLOBAL, 1);
	memory_fail_at(UINT64_MAX, 0);
	assert_int_equal(world_run(m, &(world_run_request){ .deterministic = 1 }), RUN_FINISHED);
	uint64_t count = memory_fail_at(0, 0);
	maker_destroy(m);
	return count;
}

static void
given_a_steady_state_when_more_records_pass_then_no_more_memory_is_allocated(void **state)
{
	(void)state;
	uint64_t some = allocations_of(200000), more = allocations_of(400000);
	if (more > some + 8)
		print_error("%llu, then %llu\n", (unsigned long long)some, (unsigned long long)more);
	assert_true(more <= some + 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(given_a_bounded_input_when_it_runs_then_every_record_is_written_once_and_it_finishes,
							   reset),
		cmocka_unit_test_setup(given_an_empty_input_when_it_runs_then_it_finishes, reset),
		cmocka_unit_test_setup(given_pieces_of_any_size_when_records_are_cut_then_none_is_lost_or_split, reset),
		cmocka_unit_test_setup(given_any_batch_size_and_number_of_tasks_when_it_runs_then_the_sorted_output_is_equal,
							   reset),
		cmocka_unit_test_setup(given_a_limit_when_it_runs_then_so_many_records_of_the_input_pass_and_it_ends, reset),
		cmocka_unit_test_setup(given_a_limit_of_outputs_when_it_runs_then_so_many_records_are_written_and_it_ends,
							   reset),
		cmocka_unit_test_setup(given_a_dry_sink_when_it_runs_then_nothing_is_written, reset),
		cmocka_unit_test_setup(given_a_bootstrap_input_when_it_runs_then_others_start_after_it_has_passed_through,
							   reset),
		cmocka_unit_test_setup(given_a_bad_record_when_the_policy_is_fail_then_the_error_names_place_line_and_field,
							   reset),
		cmocka_unit_test_setup(given_a_bad_record_when_the_policy_is_skip_then_it_is_counted_and_the_others_pass,
							   reset),
		cmocka_unit_test_setup(
			given_a_bad_record_when_the_policy_is_dead_letter_then_it_is_there_with_reason_place_and_bytes, reset),
		cmocka_unit_test_setup(given_an_output_of_records_when_it_takes_dead_letters_then_their_headers_say_why, reset),
		cmocka_unit_test_setup(given_a_function_that_rejects_when_records_die_then_they_are_encoded_again, reset),
		cmocka_unit_test_setup(given_a_job_whose_only_task_may_block_when_it_runs_deterministically_then_it_finishes, reset),
		cmocka_unit_test_setup(given_partitions_with_numbers_when_records_die_then_dead_letters_have_the_numbers,
							   reset),
		cmocka_unit_test_setup(
			given_partitions_with_numbers_when_records_die_behind_an_exchange_then_dead_letters_have_the_numbers,
			reset),
		cmocka_unit_test_setup(
			given_a_keyed_output_when_it_changes_the_key_then_the_record_is_not_emitted_and_the_job_fails, reset),
		cmocka_unit_test_setup(given_event_time_when_windows_close_then_sums_are_exact_for_any_number_of_tasks, reset),
		cmocka_unit_test_setup(given_a_late_record_when_the_run_is_bounded_then_it_fails_unless_told_otherwise, reset),
		cmocka_unit_test_setup(given_enough_declared_disorder_when_records_are_out_of_order_then_none_is_late, reset),
		cmocka_unit_test_setup(given_a_writer_that_says_again_when_it_wakes_then_nothing_is_lost, reset),
		cmocka_unit_test_setup(given_a_blocking_source_when_it_runs_then_a_thread_of_its_own_reads, reset),
		cmocka_unit_test_setup(given_a_failing_write_when_it_is_not_retryable_then_the_job_fails_with_the_outputs_name,
							   reset),
		cmocka_unit_test_setup(given_a_write_that_fails_for_a_moment_when_rows_were_taken_then_none_is_written_twice,
							   reset),
		cmocka_unit_test_setup(given_priorities_when_a_higher_input_has_something_then_lower_ones_wait, reset),
		cmocka_unit_test_setup(given_a_source_that_is_held_back_when_time_passes_then_it_is_paused_and_still_serviced,
							   reset),
		cmocka_unit_test_setup(given_a_source_that_was_held_back_when_it_may_go_on_then_it_is_read_without_pauses,
							   reset),
		cmocka_unit_test_setup(given_a_partition_without_records_when_it_counts_as_idle_then_event_time_goes_on, reset),
		cmocka_unit_test_setup(given_two_inputs_of_a_function_when_they_end_then_each_end_is_told_once, reset),
		cmocka_unit_test_setup(given_two_outputs_when_records_are_split_then_each_goes_its_way, reset),
		cmocka_unit_test_setup(given_a_broadcast_input_when_there_are_several_tasks_then_each_gets_every_record, reset),
		cmocka_unit_test_setup(given_a_steady_state_when_more_records_pass_then_no_more_memory_is_allocated, reset),
		cmocka_unit_test_setup(given_two_inputs_of_one_sink_when_both_end_then_the_sink_ends_once, reset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
