/* Checkpoints of a job with keyed state: records and state in one write of the store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/schema.h"
#include "plugin/registry.h"
#include "state/checkpoint.h"
#include "support/fake_disk.h"
#include "support/fake_store.h"
#include "support/keyed_batch.h"

#define COUNTS_ID 1 /* and 2 for its timers */
#define SUMS_ID 3

static const flow_state_declaration slot = {
	.struct_size = FLOW_SIZEOF(flow_state_declaration), .kind = FLOW_STATE_SLOT, .slot_size = 8, .name = "slot"
};
static const flow_state_declaration *const declarations[] = { &slot };

struct test {
	batch_pool *pool;
	checkpoint_store *store;
	flow_error error;
};

static int
set_up(void **state)
{
	struct test *t = calloc(1, sizeof(*t));
	fake_disk_start();
	fake_store_reset();
	t->pool = batch_pool_create(0);
	*state = t;
	return 0;
}

static int
tear_down(void **state)
{
	struct test *t = *state;
	checkpoint_store_close(t->store);
	assert_int_equal(batch_pool_used(t->pool), 0);
	batch_pool_destroy(t->pool);
	error_clear(&t->error);
	free(t);
	fake_store_reset();
	fake_disk_stop();
	return 0;
}

static flow_status
try_open(struct test *t, const flow_component *component, uint32_t fresh)
{
	checkpoint_store_request request = {
		.directory = "/disk/job", .job = "job", .store = component, .host = &host_services, .fresh = fresh
	};
	checkpoint_store_close(t->store);
	t->store = NULL;
	error_clear(&t->error);
	return checkpoint_store_open(&request, &t->store, &t->error);
}

static void
open_store(struct test *t)
{
	if (try_open(t, &fake_store_component, 0) != FLOW_OK)
		fail_msg("%s", error_message(&t->error));
}

static task_state *
open_state(struct test *t, uint32_t state_id)
{
	task_state_request request = { .pool = t->pool,
								   .backend = checkpoint_store_backend(t->store),
								   .state_id = state_id,
								   .states = declarations,
								   .state_count = 1,
								   .last_group = 127,
								   .group_count = 128,
								   .restored = 1 };
	task_state *state;
	checkpoint_fold(t->store, &t->error); /* a store that is not sure refuses it, and what follows */
	error_clear(&t->error);
	if (task_state_create(&request, &state, &t->error) != FLOW_OK)
		fail_msg("%s", error_message(&t->error));
	return state;
}

/* Adds to the slot of key 1 and returns it; 0 only looks (0: there is none). */
static int64_t
add(struct test *t, task_state *state, int64_t amount)
{
	const uint32_t row = 0;
	const flow_value key = flow_int64(1);
	flow_batch *batch = keyed_batch(t->pool, schema_of_kind(FLOW_KIND_INT64, 0), &key, 1);
	void *found;
	assert_int_equal(task_state_slots(state, 0, batch, &row, 1, NULL, amount != 0, &found, NULL, &t->error), FLOW_OK);
	batch_release(batch);
	if (found == NULL)
		return 0;
	*(int64_t *)found += amount;
	return *(int64_t *)found;
}

static int64_t
stored(struct test *t, uint32_t state_id)
{
	task_state *state = open_state(t, state_id);
	int64_t value = add(t, state, 0);
	task_state_destroy(state);
	return value;
}

static const checkpoint_identity identities[] = {
	{ .kind = { "state", 5 },
	  .name = { "counts", 6 },
	  .layout = { "int64:count:i64", 15 },
	  .state_id = 1,
	  .id_count = 2 },
	{ .kind = { "state", 5 }, .name = { "sums", 4 }, .layout = { "int64:sum:i64", 13 }, .state_id = 3, .id_count = 2 },
	{ .kind = { "input", 5 }, .name = { "flights", 7 } },
};

/* Adds `amount` to counts and ten times that to sums, and writes it as an epoch. */
static flow_status
write_epoch(struct test *t, uint64_t epoch, int64_t amount, int pending)
{
	static const checkpoint_watermark watermarks[] = { { { "counts", 6 }, 0, 5 }, { { "sums", 4 }, 0, 6 } };
	task_state *counts = open_state(t, COUNTS_ID), *sums = open_state(t, SUMS_ID);
	state_delta *deltas[2];
	checkpoint record = { .epoch = epoch,
						  .group_count = 128,
						  .identities = identities,
						  .identity_count = 3,
						  .watermarks = watermarks,
						  .watermark_count = 2 };
	add(t, counts, amount);
	add(t, sums, amount * 10);
	assert_int_equal(task_state_freeze(counts, &deltas[0], &t->error), FLOW_OK);
	assert_int_equal(task_state_freeze(sums, &deltas[1], &t->error), FLOW_OK);
	flow_status status = checkpoint_write(t->store, &record, deltas, 2, pending, &t->error);
	task_state_destroy(counts);
	task_state_destroy(sums);
	return status;
}

static void
expect_epochs(struct test *t, uint64_t applied_epoch, uint64_t pending_epoch)
{
	const checkpoint *applied, *pending;
	if (checkpoint_load(t->store, &applied, &pending, &t->error) != FLOW_OK)
		fail_msg("%s", error_message(&t->error));
	assert_int_equal(applied == NULL ? 0 : applied->epoch, applied_epoch);
	assert_int_equal(pending == NULL ? 0 : pending->epoch, pending_epoch);
}

static void
given_an_epoch_when_written_then_state_and_record_are_there_together(void **state)
{
	struct test *t = *state;
	open_store(t);
	assert_int_equal(write_epoch(t, 1, 5, 0), FLOW_OK);
	assert_int_equal(write_epoch(t, 2, 2, 0), FLOW_OK);
	open_store(t);
	expect_epochs(t, 2, 0);
	assert_int_equal(stored(t, COUNTS_ID), 7);
	assert_int_equal(stored(t, SUMS_ID), 70);
}

static void
given_a_pending_epoch_then_state_is_the_old_one_until_it_is_applied(void **state)
{
	struct test *t = *state;
	open_store(t);
	assert_int_equal(write_epoch(t, 1, 5, 0), FLOW_OK);
	assert_int_equal(write_epoch(t, 2, 2, 1), FLOW_OK);
	open_store(t);
	expect_epochs(t, 1, 2);
	assert_int_equal(stored(t, COUNTS_ID), 5);
	assert_int_equal(checkpoint_apply(t->store, &t->error), FLOW_OK);
	assert_int_equal(stored(t, COUNTS_ID), 7);
	expect_epochs(t, 2, 0);
	assert_int_equal(fake_store_pairs(2), 0);
	assert_int_equal(write_epoch(t, 3, 1, 1), FLOW_OK);
	assert_int_equal(checkpoint_drop(t->store, &t->error), FLOW_OK);
	open_store(t);
	expect_epochs(t, 2, 0);
	assert_int_equal(stored(t, SUMS_ID), 70);
	assert_int_equal(fake_store_pairs(2), 0);
}

static void
given_epochs_then_they_are_segments_until_they_are_folded(void **state)
{
	struct test *t = *state;
	open_store(t);
	assert_int_equal(write_epoch(t, 1, 5, 0), FLOW_OK);
	assert_int_equal(fake_store_pairs(0), 0);
	assert_int_equal(fake_store_pairs(2), 2); /* one a task */
	open_store(t);
	assert_int_equal(fake_store_pairs(2), 2);
	assert_int_equal(checkpoint_fold(t->store, &t->error), FLOW_OK);
	assert_int_equal(fake_store_pairs(0), 2);
	assert_int_equal(fake_store_pairs(2), 0);
	assert_int_equal(checkpoint_fold(t->store, &t->error), FLOW_OK);
	assert_int_equal(stored(t, COUNTS_ID), 5);
	assert_int_equal(write_epoch(t, 2, 1, 1), FLOW_OK);
	assert_int_equal(checkpoint_fold(t->store, &t->error), FLOW_OK); /* what is pending stays as it is */
	assert_int_equal(fake_store_pairs(2), 2);
	assert_int_equal(checkpoint_drop(t->store, &t->error), FLOW_OK);
	assert_int_equal(stored(t, COUNTS_ID), 5);
}

static void
given_a_damaged_segment_when_folded_then_an_error_says_so(void **state)
{
	struct test *t = *state;
	open_store(t);
	assert_int_equal(write_epoch(t, 1, 5, 0), FLOW_OK);
	fake_store_damage(2);
	assert_int_equal(checkpoint_fold(t->store, &t->error), FLOW_E_CORRUPT);
	assert_non_null(strstr(error_message(&t->error), "damaged"));
}

static void
given_a_note_of_what_was_committed_then_it_counts_for_its_epoch_only(void **state)
{
	struct test *t = *state;
	const checkpoint *applied, *pending;
	open_store(t);
	assert_int_equal(write_epoch(t, 1, 1, 0), FLOW_OK);
	assert_int_equal(checkpoint_mark_committed(t->store, 1, 1, &t->error), FLOW_OK);
	open_store(t);
	assert_int_equal(checkpoint_load(t->store, &applied, &pending, &t->error), FLOW_OK);
	assert_int_equal(applied->committed, 1);
	assert_int_equal(applied->finished, 1);
	assert_int_equal(write_epoch(t, 2, 1, 0), FLOW_OK);
	open_store(t);
	assert_int_equal(checkpoint_load(t->store, &applied, &pending, &t->error), FLOW_OK);
	assert_int_equal(applied->committed, 0);
	assert_int_equal(applied->finished, 0);
}

static void
given_a_failed_write_of_unknown_outcome_when_loaded_anew_then_the_store_says_which(void **state)
{
	struct test *t = *state;
	for (int written = 0; written < 2; written++) {
		fake_store_reset();
		fake_disk_start();
		open_store(t);
		assert_int_equal(write_epoch(t, 1, 5, 0), FLOW_OK);
		assert_int_equal(checkpoint_fold(t->store, &t->error), FLOW_OK);
		fake_store_fail_write(written);
		assert_int_equal(write_epoch(t, 2, 2, 0), FLOW_E_FULL);
		assert_int_equal(write_epoch(t, 3, 2, 0), FLOW_E_CONFLICT);
		expect_epochs(t, written ? 2 : 1, 0);
		assert_int_equal(stored(t, COUNTS_ID), written ? 7 : 5);
		assert_int_equal(write_epoch(t, 3, 1, 0), FLOW_OK);
		assert_int_equal(stored(t, COUNTS_ID), written ? 8 : 6);
		checkpoint_store_close(t->store);
		t->store = NULL;
	}
}

static void
given_the_state_of_one_operator_when_dropped_then_the_others_stay(void **state)
{
	struct test *t = *state;
	const checkpoint *applied, *pending;
	open_store(t);
	assert_int_equal(write_epoch(t, 1, 5, 0), FLOW_OK);
	assert_int_equal(checkpoint_drop_state(t->store, "count", &t->error), FLOW_E_NOT_FOUND);
	assert_non_null(strstr(error_message(&t->error), "'counts', 'sums'"));
	assert_int_equal(checkpoint_drop_state(t->store, "flights", &t->error), FLOW_E_NOT_FOUND);
	assert_int_equal(checkpoint_drop_state(t->store, "counts", &t->error), FLOW_OK);
	open_store(t);
	assert_int_equal(stored(t, COUNTS_ID), 0);
	assert_int_equal(stored(t, SUMS_ID), 50);
	assert_int_equal(checkpoint_load(t->store, &applied, &pending, &t->error), FLOW_OK);
	assert_int_equal(applied->epoch, 1);
	assert_int_equal(applied->identity_count, 2);
	assert_int_equal(applied->watermark_count, 1);
	assert_true(flow_slice_is(applied->watermarks[0].operator_name, "sums"));
}

static void
given_a_job_that_gets_its_first_state_then_its_checkpoint_moves_into_the_store(void **state)
{
	struct test *t = *state;
	checkpoint record = { .epoch = 4, .group_count = 128 };
	uint64_t size;
	assert_int_equal(try_open(t, NULL, 0), FLOW_OK);
	assert_int_equal(checkpoint_write(t->store, &record, NULL, 0, 0, &t->error), FLOW_OK);
	record.epoch = 5;
	assert_int_equal(checkpoint_write(t->store, &record, NULL, 0, 1, &t->error), FLOW_OK);
	assert_non_null(fake_disk_content("/disk/job/CHECKPOINT", &size));
	open_store(t);
	expect_epochs(t, 4, 5);
	assert_null(fake_disk_content("/disk/job/CHECKPOINT", &size));
	assert_int_equal(checkpoint_apply(t->store, &t->error), FLOW_OK);
	open_store(t);
	expect_epochs(t, 5, 0);
	assert_int_equal(try_open(t, NULL, 0), FLOW_E_CONFLICT); /* and does not go back by itself */
	assert_non_null(strstr(error_message(&t->error), "--fresh"));
	flow_component other = fake_store_component;
	other.id = "other";
	assert_int_equal(try_open(t, &other, 0), FLOW_E_CONFLICT);
	assert_non_null(strstr(error_message(&t->error), "'other'"));
	other.flags = 0;
	assert_int_equal(try_open(t, &other, 0), FLOW_E_CONFIG);
	assert_int_equal(try_open(t, NULL, 1), FLOW_OK);
	expect_epochs(t, 0, 0);
}

static void
given_state_without_a_store_when_written_then_it_is_an_internal_error(void **state)
{
	struct test *t = *state;
	assert_int_equal(try_open(t, NULL, 0), FLOW_OK);
	task_state *held = open_state(t, COUNTS_ID);
	state_delta *delta;
	checkpoint record = { .epoch = 1 };
	add(t, held, 1);
	assert_int_equal(task_state_freeze(held, &delta, &t->error), FLOW_OK);
	assert_int_equal(checkpoint_write(t->store, &record, &delta, 1, 0, &t->error), FLOW_E_INTERNAL);
	task_state_destroy(held);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_an_epoch_when_written_then_state_and_record_are_there_together),
		TEST(given_a_pending_epoch_then_state_is_the_old_one_until_it_is_applied),
		TEST(given_epochs_then_they_are_segments_until_they_are_folded),
		TEST(given_a_damaged_segment_when_folded_then_an_error_says_so),
		TEST(given_a_note_of_what_was_committed_then_it_counts_for_its_epoch_only),
		TEST(given_a_failed_write_of_unknown_outcome_when_loaded_anew_then_the_store_says_which),
		TEST(given_the_state_of_one_operator_when_dropped_then_the_others_stay),
		TEST(given_a_job_that_gets_its_first_state_then_its_checkpoint_moves_into_the_store),
		TEST(given_state_without_a_store_when_written_then_it_is_an_internal_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
