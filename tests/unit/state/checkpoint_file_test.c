/* Checkpoints of a job without keyed state: one file, over a disk that fails, lies and crashes at every call. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/memory.h"
#include "plugin/registry.h"
#include "state/checkpoint.h"
#include "state/checkpoint_file.h"
#include "support/fake_disk.h"

#define DIRECTORY "/disk/state/late-flights"
#define CHECKPOINT_PATH DIRECTORY "/CHECKPOINT"

static flow_error error;

static int
set_up(void **state)
{
	(void)state;
	fake_disk_start();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	error_clear(&error);
	fake_disk_stop();
	return 0;
}

static flow_status
try_open(checkpoint_store **store, const char *job, uint32_t fresh)
{
	checkpoint_store_request request = { .directory = DIRECTORY, .job = job, .host = &host_services, .fresh = fresh };
	error_clear(&error);
	return checkpoint_store_open(&request, store, &error);
}

static checkpoint_store *
open_store(void)
{
	checkpoint_store *store = NULL;
	if (try_open(&store, "late-flights", 0) != FLOW_OK)
		fail_msg("%s", error_message(&error));
	return store;
}

/* A record whose parts all say its epoch. */
static checkpoint
make_record(uint64_t epoch, char *position, uint64_t handles)
{
	static const checkpoint_identity identities[] = { { .kind = { "input", 5 }, .name = { "flights", 7 } } };
	static checkpoint_position positions[1];
	static checkpoint_handle prepared[1];
	static checkpoint_watermark watermarks[1];
	int size = sprintf(position, "offset-%llu", (unsigned long long)epoch);
	positions[0] = (checkpoint_position){ .input = flow_slice_of("flights"),
										  .partition = flow_slice_of("data/flights.csv"),
										  .position = flow_slice_make(position, (uint64_t)size),
										  .ended = epoch % 2 };
	prepared[0] = (checkpoint_handle){ .output = flow_slice_of("late"), .task = 3, .bytes = positions[0].position };
	watermarks[0] =
		(checkpoint_watermark){ .operator_name = flow_slice_of("counts"), .task = 1, .value = -(int64_t)epoch };
	return (checkpoint){ .epoch = epoch,
						 .group_count = 128,
						 .identities = identities,
						 .identity_count = 1,
						 .positions = positions,
						 .position_count = 1,
						 .handles = prepared,
						 .handle_count = handles,
						 .watermarks = watermarks,
						 .watermark_count = 1 };
}

static flow_status
write_epoch(checkpoint_store *store, uint64_t epoch, int pending)
{
	char position[32];
	checkpoint record = make_record(epoch, position, 0);
	error_clear(&error);
	return checkpoint_write(store, &record, NULL, 0, pending, &error);
}

static void
expect_record(const checkpoint *record, uint64_t epoch)
{
	char position[32];
	checkpoint expected = make_record(epoch, position, 0);
	assert_non_null(record);
	assert_int_equal(record->epoch, epoch);
	assert_int_equal(record->group_count, 128);
	assert_int_equal(record->position_count, 1);
	assert_true(flow_slice_equal(record->positions[0].position, expected.positions[0].position));
	assert_true(flow_slice_is(record->positions[0].partition, "data/flights.csv"));
	assert_int_equal(record->positions[0].ended, epoch % 2);
	assert_int_equal(record->watermarks[0].value, -(int64_t)epoch);
	assert_true(flow_slice_is(record->identities[0].name, "flights"));
}

/* 0: there is none. */
static uint64_t
applied_epoch(checkpoint_store *store)
{
	const checkpoint *applied, *pending;
	assert_int_equal(checkpoint_load(store, &applied, &pending, &error), FLOW_OK);
	return applied == NULL ? 0 : applied->epoch;
}

static uint64_t
pending_epoch(checkpoint_store *store)
{
	const checkpoint *applied, *pending;
	assert_int_equal(checkpoint_load(store, &applied, &pending, &error), FLOW_OK);
	return pending == NULL ? 0 : pending->epoch;
}

static void
given_a_new_directory_when_opened_then_there_is_no_checkpoint_and_a_run_id(void **state)
{
	(void)state;
	checkpoint_store *store = open_store();
	uint8_t run[16];
	const checkpoint *applied, *pending;
	assert_int_equal(checkpoint_load(store, &applied, &pending, &error), FLOW_OK);
	assert_null(applied);
	assert_null(pending);
	assert_null(checkpoint_store_backend(store)->ops);
	memcpy(run, checkpoint_store_run_id(store), 16);
	checkpoint_store_close(store);
	assert_int_equal(fake_disk_open_files(), 0);
	store = open_store();
	assert_memory_equal(run, checkpoint_store_run_id(store), 16);
	checkpoint_store_close(store);
}

static void
given_an_epoch_when_written_then_it_is_what_the_next_process_loads(void **state)
{
	(void)state;
	checkpoint_store *store = open_store();
	assert_int_equal(write_epoch(store, 1, 0), FLOW_OK);
	assert_int_equal(write_epoch(store, 2, 0), FLOW_OK);
	checkpoint_store_close(store);
	store = open_store();
	const checkpoint *applied, *pending;
	assert_int_equal(checkpoint_load(store, &applied, &pending, &error), FLOW_OK);
	expect_record(applied, 2);
	assert_memory_equal(applied->run_id, checkpoint_store_run_id(store), 16);
	assert_null(pending);
	assert_int_equal(write_epoch(store, 2, 0), FLOW_E_CONFLICT); /* epochs grow */
	checkpoint_store_close(store);
}

static void
given_handles_when_not_recorded_as_committed_then_the_next_epoch_is_refused(void **state)
{
	(void)state;
	char position[32];
	checkpoint_store *store = open_store();
	checkpoint record = make_record(1, position, 1);
	assert_int_equal(checkpoint_write(store, &record, NULL, 0, 0, &error), FLOW_OK);
	assert_int_equal(write_epoch(store, 2, 0), FLOW_E_CONFLICT);
	checkpoint_store_close(store);
	store = open_store();
	const checkpoint *applied, *pending;
	assert_int_equal(checkpoint_load(store, &applied, &pending, &error), FLOW_OK);
	assert_int_equal(applied->handle_count, 1);
	assert_int_equal(applied->handles[0].task, 3);
	assert_true(flow_slice_is(applied->handles[0].bytes, "offset-1"));
	assert_int_equal(applied->committed, 0);
	assert_int_equal(checkpoint_mark_committed(store, 2, 0, &error), FLOW_E_CONFLICT);
	assert_int_equal(checkpoint_mark_committed(store, 1, 1, &error), FLOW_OK);
	checkpoint_store_close(store);
	store = open_store();
	assert_int_equal(checkpoint_load(store, &applied, &pending, &error), FLOW_OK);
	assert_int_equal(applied->committed, 1);
	assert_int_equal(applied->finished, 1);
	assert_int_equal(write_epoch(store, 2, 0), FLOW_OK);
	checkpoint_store_close(store);
}

static void
given_a_pending_epoch_when_applied_or_dropped_then_it_is_the_one_or_gone(void **state)
{
	(void)state;
	checkpoint_store *store = open_store();
	assert_int_equal(write_epoch(store, 1, 0), FLOW_OK);
	assert_int_equal(write_epoch(store, 2, 1), FLOW_OK);
	assert_int_equal(write_epoch(store, 3, 1), FLOW_E_CONFLICT);
	checkpoint_store_close(store);
	store = open_store();
	assert_int_equal(applied_epoch(store), 1);
	assert_int_equal(pending_epoch(store), 2);
	assert_int_equal(checkpoint_drop(store, &error), FLOW_OK);
	assert_int_equal(checkpoint_drop(store, &error), FLOW_OK);
	assert_int_equal(pending_epoch(store), 0);
	assert_int_equal(write_epoch(store, 3, 1), FLOW_OK);
	assert_int_equal(checkpoint_apply(store, &error), FLOW_OK);
	assert_int_equal(checkpoint_apply(store, &error), FLOW_E_NOT_FOUND);
	checkpoint_store_close(store);
	store = open_store();
	const checkpoint *applied, *pending;
	assert_int_equal(checkpoint_load(store, &applied, &pending, &error), FLOW_OK);
	expect_record(applied, 3);
	assert_null(pending);
	checkpoint_store_close(store);
}

/* Opens, writes epochs 1 and 2, the second one pending and then applied; stops at the first failure. Returns the last
 * epoch that was reported as written. */
static uint64_t
run_epochs(void)
{
	checkpoint_store *store = NULL;
	uint64_t reached = 0;
	if (try_open(&store, "late-flights", 0) != FLOW_OK)
		return 0;
	const checkpoint *applied, *pending;
	if (checkpoint_load(store, &applied, &pending, &error) == FLOW_OK && write_epoch(store, 1, 0) == FLOW_OK) {
		reached = 1;
		if (write_epoch(store, 2, 1) == FLOW_OK && checkpoint_apply(store, &error) == FLOW_OK)
			reached = 2;
	}
	checkpoint_store_close(store);
	return reached;
}

static void
given_a_crash_at_any_call_when_opened_again_then_what_was_reported_is_there_and_nothing_is_damaged(void **state)
{
	(void)state;
	fake_disk_fail(0, 0);
	assert_int_equal(run_epochs(), 2);
	uint64_t calls = fake_disk_fail(0, 0);
	assert_true(calls > 20);
	for (int how = KEEP_UNSYNCED; how <= LOSE_UNSYNCED; how++)
		for (uint64_t n = 1; n <= calls; n++) {
			fake_disk_start();
			fake_disk_fail(n, 0);
			uint64_t reached = run_epochs();
			fake_disk_crash(how);
			checkpoint_store *store = open_store();
			uint64_t applied = applied_epoch(store);
			if (applied < reached || applied > reached + 1)
				fail_msg("crash %d at call %d: %d was reported, %d is there", how, (int)n, (int)reached, (int)applied);
			assert_true(pending_epoch(store) == 0 || pending_epoch(store) == applied + 1);
			if (pending_epoch(store) != 0) /* life goes on */
				assert_int_equal(checkpoint_apply(store, &error), FLOW_OK);
			assert_int_equal(write_epoch(store, 9, 0), FLOW_OK);
			checkpoint_store_close(store);
		}
}

static void
given_an_error_at_any_call_when_tried_again_then_the_store_is_whole_and_the_error_names_the_place(void **state)
{
	(void)state;
	static const int numbers[] = { ENOSPC, EIO };
	run_epochs();
	uint64_t calls = fake_disk_fail(0, 0);
	for (size_t e = 0; e < FLOW_COUNT(numbers); e++)
		for (uint64_t n = 1; n <= calls; n++) {
			fake_disk_start();
			fake_disk_fail(n, numbers[e]);
			uint64_t reached = run_epochs();
			if (reached < 2) {
				assert_int_equal(strncmp(error_message(&error), "/disk", 5) == 0 ||
									 strstr(error_message(&error), DIRECTORY) != NULL,
								 1);
				assert_int_equal(error.status, numbers[e] == ENOSPC ? FLOW_E_FULL : FLOW_E_IO);
			}
			assert_int_equal(fake_disk_open_files(), 0);
			fake_disk_fail(0, 0);
			checkpoint_store *store = open_store();
			assert_true(applied_epoch(store) >= reached);
			checkpoint_store_close(store);
		}
}

static void
given_a_failed_write_when_not_loaded_anew_then_nothing_more_is_written(void **state)
{
	(void)state;
	checkpoint_store *store = open_store();
	assert_int_equal(write_epoch(store, 1, 0), FLOW_OK);
	for (uint64_t n = 1; n <= 6; n++) {
		fake_disk_fail(n, ENOSPC);
		flow_status status = write_epoch(store, 1 + n, 0);
		fake_disk_fail(0, 0);
		if (status == FLOW_OK)
			continue;
		assert_int_equal(status, FLOW_E_FULL);
		assert_int_equal(write_epoch(store, 1 + n, 0), FLOW_E_CONFLICT);
		uint64_t applied = applied_epoch(store);
		fake_disk_crash(LOSE_UNSYNCED); /* loading made sure of what it says */
		checkpoint_store *other = open_store();
		assert_int_equal(applied_epoch(other), applied);
		checkpoint_store_close(other);
		if (applied < 1 + n)
			assert_int_equal(write_epoch(store, 1 + n, 0), FLOW_OK);
	}
	checkpoint_store_close(store);
}

static void
given_syncs_that_lie_when_power_fails_then_damage_is_found_and_never_taken_for_a_checkpoint(void **state)
{
	(void)state;
	checkpoint_store *store = open_store();
	assert_int_equal(write_epoch(store, 1, 0), FLOW_OK);
	fake_disk_lose_syncs(1);
	assert_int_equal(write_epoch(store, 2, 0), FLOW_OK);
	fake_disk_crash(TEAR_UNSYNCED);
	checkpoint_store_close(store);
	checkpoint_store *again = NULL;
	assert_int_equal(try_open(&again, "late-flights", 0), FLOW_E_CORRUPT);
	assert_non_null(strstr(error_message(&error), CHECKPOINT_PATH));
	assert_non_null(strstr(error_message(&error), "--fresh"));
	fake_disk_lose_syncs(0);
	assert_int_equal(try_open(&again, "late-flights", 1), FLOW_OK);
	assert_int_equal(applied_epoch(again), 0);
	checkpoint_store_close(again);
}

static void
given_any_byte_of_the_file_flipped_when_opened_then_it_is_an_error_with_file_and_place(void **state)
{
	(void)state;
	checkpoint_store *store = open_store();
	assert_int_equal(write_epoch(store, 1, 0), FLOW_OK);
	assert_int_equal(write_epoch(store, 2, 1), FLOW_OK);
	checkpoint_store_close(store);
	uint64_t size;
	const char *content = fake_disk_content(CHECKPOINT_PATH, &size);
	char *bytes = malloc(size);
	memcpy(bytes, content, size);
	for (uint64_t i = 0; i < size; i++) {
		bytes[i] ^= 0x10;
		fake_disk_put(CHECKPOINT_PATH, bytes, size);
		assert_int_equal(try_open(&store, "late-flights", 0), FLOW_E_CORRUPT);
		assert_non_null(strstr(error_message(&error), CHECKPOINT_PATH));
		bytes[i] ^= 0x10;
		fake_disk_put(CHECKPOINT_PATH, bytes, i);
		assert_int_equal(try_open(&store, "late-flights", 0), FLOW_E_CORRUPT);
	}
	free(bytes);
}

static void
given_a_directory_in_use_or_of_another_job_when_opened_then_it_is_refused(void **state)
{
	(void)state;
	checkpoint_store *store = open_store(), *other = NULL;
	assert_int_equal(try_open(&other, "late-flights", 0), FLOW_E_LOCKED);
	assert_non_null(strstr(error_message(&error), DIRECTORY));
	assert_non_null(strstr(error_message(&error), "process "));
	checkpoint_store_close(store);
	assert_int_equal(try_open(&other, "shop", 1), FLOW_E_CONFLICT);
	assert_non_null(strstr(error_message(&error), "'late-flights'"));
	fake_disk_put(DIRECTORY "/FORMAT", "flowd state directory\nformat 2\nfuture\n", 39);
	assert_int_equal(try_open(&other, "late-flights", 1), FLOW_E_CONFLICT);
	assert_non_null(strstr(error_message(&error), "format 2"));
	fake_disk_put(DIRECTORY "/FORMAT", "flowd state directory\nformat 1\njob late-flights\nrun 12\n", 55);
	assert_int_equal(try_open(&other, "late-flights", 0), FLOW_E_CORRUPT);
	assert_non_null(strstr(error_message(&error), DIRECTORY "/FORMAT:6"));
	assert_int_equal(try_open(&other, "late-flights", 1), FLOW_OK);
	checkpoint_store_close(other);
}

static void
given_no_job_when_opened_then_it_is_that_of_the_directory_or_not_found(void **state)
{
	(void)state;
	checkpoint_store *store = NULL;
	uint64_t size;
	assert_int_equal(try_open(&store, NULL, 0), FLOW_E_NOT_FOUND);
	assert_null(fake_disk_content(DIRECTORY "/LOCK", &size));
	store = open_store();
	assert_int_equal(write_epoch(store, 1, 0), FLOW_OK);
	checkpoint_store_close(store);
	assert_int_equal(try_open(&store, NULL, 0), FLOW_OK);
	assert_int_equal(applied_epoch(store), 1);
	assert_int_equal(checkpoint_reset(store, &error), FLOW_OK);
	checkpoint_store_close(store);
	store = open_store();
	assert_int_equal(applied_epoch(store), 0);
	checkpoint_store_close(store);
}

static void
given_a_checkpoint_when_reset_then_it_is_gone_and_the_run_is_another(void **state)
{
	(void)state;
	uint8_t run[16];
	checkpoint_store *store = open_store();
	assert_int_equal(write_epoch(store, 1, 0), FLOW_OK);
	memcpy(run, checkpoint_store_run_id(store), 16);
	assert_int_equal(checkpoint_reset(store, &error), FLOW_OK);
	assert_int_equal(applied_epoch(store), 0);
	assert_memory_not_equal(run, checkpoint_store_run_id(store), 16);
	assert_int_equal(write_epoch(store, 1, 0), FLOW_OK);
	checkpoint_store_close(store);
	store = open_store();
	assert_int_equal(applied_epoch(store), 1);
	checkpoint_store_close(store);
	assert_int_equal(try_open(&store, "late-flights", 1), FLOW_OK);
	assert_int_equal(applied_epoch(store), 0);
	checkpoint_store_close(store);
}

static void
given_a_record_that_was_cut_or_changed_when_decoded_then_it_is_corrupt(void **state)
{
	(void)state;
	char position[32];
	checkpoint record = make_record(7, position, 1);
	flow_buffer *buffer = buffer_create();
	assert_int_equal(checkpoint_encode(&record, buffer), FLOW_OK);
	arena *memory = arena_create();
	const checkpoint *decoded = NULL;
	assert_int_equal(checkpoint_decode(flow_slice_make(buffer->data, buffer->size), memory, &decoded, &error), FLOW_OK);
	expect_record(decoded, 7);
	for (uint64_t size = 0; size < buffer->size; size++) {
		char *exact = malloc(size + 1);
		memcpy(exact, buffer->data, size);
		assert_int_equal(checkpoint_decode(flow_slice_make(exact, size), memory, &decoded, &error), FLOW_E_CORRUPT);
		free(exact);
	}
	buffer->data[4] = 9; /* a format to come */
	assert_int_equal(checkpoint_decode(flow_slice_make(buffer->data, buffer->size), memory, &decoded, &error),
					 FLOW_E_CONFLICT);
	arena_destroy(memory);
	buffer_destroy(buffer);
}

static void
given_a_record_of_format_1_when_decoded_then_all_but_its_time_is_known(void **state)
{
	(void)state;
	char position[32];
	checkpoint record = make_record(7, position, 1);
	record.time = 1700000000000000;
	flow_buffer *buffer = buffer_create();
	assert_int_equal(checkpoint_encode(&record, buffer), FLOW_OK);
	arena *memory = arena_create();
	const checkpoint *decoded = NULL;
	assert_int_equal(checkpoint_decode(flow_slice_make(buffer->data, buffer->size), memory, &decoded, &error), FLOW_OK);
	assert_int_equal(decoded->time, record.time);
	char *bytes = buffer->data;
	uint64_t size = buffer->size - 8;
	memmove(bytes + 40, bytes + 48, size - 40); /* the time stands behind the flags */
	checkpoint_put_number(bytes + 4, 1, 4);
	checkpoint_put_number(bytes + size - 4, checksum_crc32c(0, bytes, size - 4), 4);
	assert_int_equal(checkpoint_decode(flow_slice_make(bytes, size), memory, &decoded, &error), FLOW_OK);
	expect_record(decoded, 7);
	assert_int_equal(decoded->time, 0);
	arena_destroy(memory);
	buffer_destroy(buffer);
}

static void
given_too_little_memory_when_used_then_it_is_reported_and_the_disk_is_whole(void **state)
{
	(void)state;
	memory_fail_at(UINT64_MAX, 0);
	assert_int_equal(run_epochs(), 2);
	uint64_t count = memory_fail_at(0, 0);
	for (uint64_t n = 1; n <= count; n++) {
		fake_disk_start();
		memory_fail_at(n, 0);
		uint64_t reached = run_epochs();
		memory_fail_at(0, 0);
		if (reached < 2)
			assert_int_equal(error.status, FLOW_E_MEMORY);
		assert_int_equal(fake_disk_open_files(), 0);
		checkpoint_store *store = open_store();
		assert_true(applied_epoch(store) >= reached);
		checkpoint_store_close(store);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_a_new_directory_when_opened_then_there_is_no_checkpoint_and_a_run_id),
		TEST(given_an_epoch_when_written_then_it_is_what_the_next_process_loads),
		TEST(given_handles_when_not_recorded_as_committed_then_the_next_epoch_is_refused),
		TEST(given_a_pending_epoch_when_applied_or_dropped_then_it_is_the_one_or_gone),
		TEST(given_a_crash_at_any_call_when_opened_again_then_what_was_reported_is_there_and_nothing_is_damaged),
		TEST(given_an_error_at_any_call_when_tried_again_then_the_store_is_whole_and_the_error_names_the_place),
		TEST(given_a_failed_write_when_not_loaded_anew_then_nothing_more_is_written),
		TEST(given_syncs_that_lie_when_power_fails_then_damage_is_found_and_never_taken_for_a_checkpoint),
		TEST(given_any_byte_of_the_file_flipped_when_opened_then_it_is_an_error_with_file_and_place),
		TEST(given_a_directory_in_use_or_of_another_job_when_opened_then_it_is_refused),
		TEST(given_no_job_when_opened_then_it_is_that_of_the_directory_or_not_found),
		TEST(given_a_checkpoint_when_reset_then_it_is_gone_and_the_run_is_another),
		TEST(given_a_record_that_was_cut_or_changed_when_decoded_then_it_is_corrupt),
		TEST(given_a_record_of_format_1_when_decoded_then_all_but_its_time_is_known),
		TEST(given_too_little_memory_when_used_then_it_is_reported_and_the_disk_is_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
