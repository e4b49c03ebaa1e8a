/* Keyed state and timers, rule by rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/key.h"
#include "base/memory.h"
#include "base/schema.h"
#include "plugin/registry.h"
#include "state/checkpoint.h"
#include "state/segment.h"
#include "support/fake_disk.h"
#include "support/fake_store.h"
#include "support/keyed_batch.h"

#define STATE_ID 3

enum { COUNTS, NAMES };

static const flow_state_declaration counts = {
	.struct_size = FLOW_SIZEOF(flow_state_declaration), .kind = FLOW_STATE_SLOT, .slot_size = 8, .name = "counts"
};
static const flow_state_declaration texts = { .struct_size = FLOW_SIZEOF(flow_state_declaration),
											  .kind = FLOW_STATE_VALUE,
											  .name = "names" };
static const flow_state_declaration *const declarations[] = { &counts, &texts };

struct test {
	batch_pool *pool;
	const flow_schema *key_schema;
	flow_store *store;
	state_backend backend;
	task_state *state;
	uint64_t epoch;
	flow_error error;
};

static task_state_request
make_request(struct test *t)
{
	return (task_state_request){ .pool = t->pool,
								 .backend = &t->backend,
								 .state_id = STATE_ID,
								 .states = declarations,
								 .state_count = 2,
								 .last_group = 127,
								 .group_count = 128 };
}

static void
open_state(struct test *t, uint32_t restored, uint64_t memory_limit)
{
	task_state_request request = make_request(t);
	request.restored = restored;
	request.memory_limit = memory_limit;
	task_state_destroy(t->state);
	t->state = NULL;
	if (task_state_create(&request, &t->state, &t->error) != FLOW_OK)
		fail_msg("%s", error_message(&t->error));
}

static int
set_up(void **state)
{
	struct test *t = calloc(1, sizeof(*t));
	const flow_store_ops *ops = fake_store_component.ops;
	flow_store_info info = { .struct_size = FLOW_SIZEOF(flow_store_info), .space_count = 1 };
	fake_store_reset();
	t->pool = batch_pool_create(0);
	t->key_schema = schema_of_kind(FLOW_KIND_INT64, 0);
	assert_int_equal(ops->open(&host_services, NULL, &info, &t->store, &t->error), FLOW_OK);
	t->backend = (state_backend){ ops, t->store };
	open_state(t, 0, 0);
	*state = t;
	return 0;
}

static int
tear_down(void **state)
{
	struct test *t = *state;
	task_state_destroy(t->state);
	t->backend.ops->close(t->store);
	fake_store_reset();
	assert_int_equal(batch_pool_used(t->pool), 0);
	batch_pool_destroy(t->pool);
	error_clear(&t->error);
	free(t);
	return 0;
}

/* Rows of int64 keys; the same for every call that needs no more. */
#define MOST 1024

static const uint32_t *
all_rows(void)
{
	static uint32_t rows[MOST];
	for (uint32_t i = 0; i < MOST; i++)
		rows[i] = i;
	return rows;
}

static flow_batch *
rows_of(struct test *t, const int64_t *keys, uint32_t count)
{
	flow_value values[MOST];
	for (uint32_t i = 0; i < count; i++)
		values[i] = keys[i] == INT64_MIN ? flow_null() : flow_int64(keys[i]);
	return keyed_batch(t->pool, t->key_schema, values, count);
}

/* Adds to the slot of each key; -1 as the amount only looks. Returns what is there, -1 for none. */
static int64_t
add_to_slot(struct test *t, int64_t key, int64_t space, int64_t amount)
{
	flow_batch *batch = rows_of(t, &key, 1);
	void *slot;
	if (task_state_slots(t->state, COUNTS, batch, all_rows(), 1, &space, amount >= 0, &slot, NULL, &t->error) !=
		FLOW_OK)
		fail_msg("%s", error_message(&t->error));
	batch_release(batch);
	if (slot == NULL)
		return -1;
	if (amount >= 0)
		*(int64_t *)slot += amount;
	return *(int64_t *)slot;
}

static int64_t
look_at_slot(struct test *t, int64_t key, int64_t space)
{
	return add_to_slot(t, key, space, -1);
}

static state_delta *
freeze(struct test *t)
{
	state_delta *delta = NULL;
	if (task_state_freeze(t->state, &delta, &t->error) != FLOW_OK)
		fail_msg("%s", error_message(&t->error));
	return delta;
}

static uint64_t
store_delta(struct test *t, state_delta *delta)
{
	fold writes = { 0 };
	assert_int_equal(fold_take(&writes, state_delta_segment(delta), 0), FLOW_OK);
	fold_sort(&writes);
	uint64_t count = writes.count;
	assert_int_equal(count, state_delta_count(delta));
	assert_int_equal(t->backend.ops->write(t->store, writes.writes, count, 1, &t->error), FLOW_OK);
	for (uint64_t i = 1; i < count; i++)
		assert_true(memcmp(writes.writes[i - 1].key.data, writes.writes[i].key.data, 6) <= 0);
	fold_clear(&writes);
	state_delta_settle(delta);
	return count;
}

static uint64_t
checkpoint_now(struct test *t)
{
	return store_delta(t, freeze(t));
}

static void
given_equal_keys_and_spaces_in_a_call_then_they_share_a_slot_and_the_first_made_it(void **state)
{
	struct test *t = *state;
	const int64_t keys[] = { 7, 8, 7, 7 };
	const int64_t spaces[] = { 0, 0, 0, 1 };
	flow_batch *batch = rows_of(t, keys, 4);
	void *slots[4];
	uint8_t created[4];
	assert_int_equal(task_state_slots(t->state, COUNTS, batch, all_rows(), 4, spaces, 1, slots, created, &t->error),
					 FLOW_OK);
	assert_ptr_equal(slots[0], slots[2]);
	assert_ptr_not_equal(slots[0], slots[1]);
	assert_ptr_not_equal(slots[0], slots[3]);
	const uint8_t expected[] = { 1, 1, 0, 1 };
	assert_memory_equal(created, expected, 4);
	assert_int_equal(*(int64_t *)slots[0], 0);
	assert_int_equal((uintptr_t)slots[0] % 8, 0);
	assert_int_equal(task_state_entries(t->state), 3);
	batch_release(batch);
}

static void
given_a_new_job_when_state_is_missed_then_the_store_is_not_asked(void **state)
{
	struct test *t = *state;
	assert_int_equal(look_at_slot(t, 1, 0), -1);
	assert_int_equal(add_to_slot(t, 1, 0, 5), 5);
	assert_int_equal(fake_store_lookups(), 0);
}

static void
given_a_restored_job_when_rows_are_missed_then_all_are_asked_for_once(void **state)
{
	struct test *t = *state;
	for (int64_t key = 0; key < 10; key++)
		add_to_slot(t, key, 0, key + 100);
	assert_int_equal(checkpoint_now(t), 10);
	open_state(t, 1, 0);
	int64_t keys[40];
	for (int i = 0; i < 40; i++)
		keys[i] = i % 20;
	flow_batch *batch = rows_of(t, keys, 40);
	void *slots[40];
	uint8_t created[40];
	assert_int_equal(task_state_slots(t->state, COUNTS, batch, all_rows(), 40, NULL, 1, slots, created, &t->error),
					 FLOW_OK);
	assert_int_equal(fake_store_lookups(), 20);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(*(int64_t *)slots[i], i % 20 < 10 ? i % 20 + 100 : 0);
		assert_int_equal(created[i], i >= 10 && i < 20);
	}
	assert_int_equal(task_state_slots(t->state, COUNTS, batch, all_rows(), 40, NULL, 0, slots, NULL, &t->error),
					 FLOW_OK);
	assert_int_equal(fake_store_lookups(), 20);
	batch_release(batch);
}

static void
given_nothing_changed_when_frozen_then_nothing_is_written(void **state)
{
	struct test *t = *state;
	add_to_slot(t, 1, 0, 1);
	assert_int_equal(checkpoint_now(t), 1);
	assert_int_equal(checkpoint_now(t), 0);
	add_to_slot(t, 2, 0, 1);
	assert_int_equal(checkpoint_now(t), 1);
}

static void
given_state_that_was_made_and_removed_between_freezes_then_nothing_is_written_of_it(void **state)
{
	struct test *t = *state;
	const int64_t key = 5;
	flow_batch *batch = rows_of(t, &key, 1);
	add_to_slot(t, key, 0, 1);
	assert_int_equal(task_state_remove(t->state, COUNTS, batch, all_rows(), 1, NULL, &t->error), FLOW_OK);
	assert_int_equal(checkpoint_now(t), 0);
	add_to_slot(t, key, 0, 1);
	assert_int_equal(checkpoint_now(t), 1);
	assert_int_equal(task_state_remove(t->state, COUNTS, batch, all_rows(), 1, NULL, &t->error), FLOW_OK);
	assert_int_equal(look_at_slot(t, key, 0), -1);
	assert_int_equal(checkpoint_now(t), 1);
	assert_int_equal(fake_store_pairs(0), 0);
	batch_release(batch);
}

static void
given_state_that_comes_and_goes_for_long_then_memory_stays_flat(void **state)
{
	struct test *t = *state;
	uint64_t bytes = 0;
	for (int64_t round = 0; round < 50; round++) {
		int64_t keys[MOST];
		for (int i = 0; i < MOST; i++)
			keys[i] = round * MOST + i;
		flow_batch *batch = rows_of(t, keys, MOST);
		void *slots[MOST];
		int64_t spaces[MOST];
		for (int i = 0; i < MOST; i++)
			spaces[i] = round;
		assert_int_equal(task_state_slots(t->state, COUNTS, batch, all_rows(), MOST, spaces, 1, slots, NULL, &t->error),
						 FLOW_OK);
		checkpoint_now(t);
		assert_int_equal(task_state_remove(t->state, COUNTS, batch, all_rows(), MOST, spaces, &t->error), FLOW_OK);
		checkpoint_now(t);
		batch_release(batch);
		if (round == 5)
			bytes = task_state_bytes(t->state);
	}
	assert_int_equal(task_state_entries(t->state), 0);
	assert_true(task_state_bytes(t->state) <= bytes);
	assert_int_equal(fake_store_pairs(0), 0);
}

static void
given_a_delta_under_way_when_memory_is_short_then_only_what_is_stored_is_evicted(void **state)
{
	struct test *t = *state;
	open_state(t, 0, 64 * 1024);
	for (int64_t key = 0; key < 3000; key++)
		add_to_slot(t, key, 0, key);
	assert_true(task_state_pressed(t->state));
	uint64_t bytes = task_state_bytes(t->state);
	state_delta *delta = freeze(t);
	assert_false(task_state_pressed(t->state));
	for (int64_t key = 0; key < 3000; key++) /* none of it is in the store yet */
		assert_int_equal(look_at_slot(t, key, 0), key);
	assert_int_equal(fake_store_lookups(), 0);
	assert_true(task_state_bytes(t->state) >= bytes);
	store_delta(t, delta);
	checkpoint_now(t);
	for (int i = 0; i < 20; i++)
		look_at_slot(t, 1, 0);
	checkpoint_now(t);
	for (int i = 0; i < 20; i++)
		look_at_slot(t, 1, 0);
	assert_true(task_state_bytes(t->state) < bytes / 2);
	for (int64_t key = 0; key < 3000; key += 7)
		assert_int_equal(look_at_slot(t, key, 0), key);
	assert_true(fake_store_lookups() > 100);
}

static void
given_an_evicted_entry_when_removed_then_it_is_gone_from_the_store_too(void **state)
{
	struct test *t = *state;
	open_state(t, 0, 1); /* everything clean goes at once */
	const int64_t key = 9;
	flow_batch *batch = rows_of(t, &key, 1);
	add_to_slot(t, key, 0, 4);
	checkpoint_now(t);
	for (int i = 0; i < 4; i++)
		look_at_slot(t, 1, 0);
	assert_int_equal(task_state_remove(t->state, COUNTS, batch, all_rows(), 1, NULL, &t->error), FLOW_OK);
	assert_int_equal(look_at_slot(t, key, 0), -1);
	checkpoint_now(t);
	assert_int_equal(look_at_slot(t, key, 0), -1);
	assert_int_equal(fake_store_pairs(0), 0);
	batch_release(batch);
}

static void
given_values_when_put_and_got_then_empty_differs_from_none(void **state)
{
	struct test *t = *state;
	const int64_t keys[] = { 1, 2, 3, 1 };
	flow_batch *batch = rows_of(t, keys, 4);
	char large[5000];
	memset(large, 'L', sizeof(large));
	const flow_slice values[] = { flow_slice_of("first"), flow_slice_of(""), flow_slice_make(large, sizeof(large)),
								  flow_slice_of("last wins") };
	flow_slice got[4];
	assert_int_equal(task_state_get(t->state, NAMES, batch, all_rows(), 4, NULL, got, &t->error), FLOW_OK);
	for (int i = 0; i < 4; i++)
		assert_null(got[i].data);
	assert_int_equal(task_state_put(t->state, NAMES, batch, all_rows(), 4, NULL, values, &t->error), FLOW_OK);
	checkpoint_now(t);
	for (uint32_t restored = 0; restored < 2; restored++) {
		assert_int_equal(task_state_get(t->state, NAMES, batch, all_rows(), 4, NULL, got, &t->error), FLOW_OK);
		assert_true(flow_slice_is(got[0], "last wins"));
		assert_true(got[1].data != NULL && got[1].size == 0);
		assert_true(flow_slice_equal(got[2], values[2]));
		open_state(t, 1, 0);
	}
	batch_release(batch);
}

static void
given_a_call_that_is_not_allowed_then_the_message_names_the_state(void **state)
{
	struct test *t = *state;
	const int64_t keys[] = { 1, INT64_MIN };
	flow_batch *batch = rows_of(t, keys, 2);
	void *slots[2];
	flow_slice values[2];
	assert_int_equal(task_state_slots(t->state, NAMES, batch, all_rows(), 1, NULL, 1, slots, NULL, &t->error),
					 FLOW_E_ARGUMENT);
	assert_non_null(strstr(error_message(&t->error), "'names'"));
	assert_int_equal(task_state_get(t->state, COUNTS, batch, all_rows(), 1, NULL, values, &t->error), FLOW_E_ARGUMENT);
	assert_int_equal(task_state_slots(t->state, 2, batch, all_rows(), 1, NULL, 1, slots, NULL, &t->error),
					 FLOW_E_ARGUMENT);
	assert_int_equal(task_state_slots(t->state, COUNTS, batch, all_rows(), 2, NULL, 1, slots, NULL, &t->error),
					 FLOW_E_NULL_KEY);
	assert_non_null(strstr(error_message(&t->error), "row 1"));
	flow_batch bare = *batch;
	bare.key_hash = NULL;
	assert_int_equal(task_state_slots(t->state, COUNTS, &bare, all_rows(), 1, NULL, 1, slots, NULL, &t->error),
					 FLOW_E_NULL_KEY);
	batch_release(batch);
}

static void
expect_refused(struct test *t, const task_state_request *request, flow_status status, const char *mention)
{
	task_state *made = NULL;
	assert_int_equal(task_state_create(request, &made, &t->error), status);
	assert_non_null(strstr(error_message(&t->error), mention));
}

static void
given_a_declaration_that_cannot_be_kept_when_created_then_it_is_refused_by_name(void **state)
{
	struct test *t = *state;
	task_state_request request = make_request(t);
	flow_state_declaration odd = counts;
	const flow_state_declaration *const one[] = { &odd };
	request.states = one;
	request.state_count = 1;
	odd.kind = FLOW_STATE_MAP;
	expect_refused(t, &request, FLOW_E_UNSUPPORTED, "'counts'");
	odd = counts;
	odd.slot_size = 0;
	expect_refused(t, &request, FLOW_E_RANGE, "'counts'");
	odd = counts;
	odd.time_to_live = 1000;
	expect_refused(t, &request, FLOW_E_UNSUPPORTED, "time to live");
	odd = counts;
	request.last_group = 128;
	expect_refused(t, &request, FLOW_E_ARGUMENT, "key groups");
}

static void
given_a_slot_of_another_size_in_the_store_when_loaded_then_it_is_corrupt(void **state)
{
	struct test *t = *state;
	add_to_slot(t, 1, 0, 1);
	checkpoint_now(t);
	flow_state_declaration wider = counts;
	wider.slot_size = 16;
	const flow_state_declaration *const declared[] = { &wider, &texts };
	task_state_request request = make_request(t);
	request.states = declared;
	request.restored = 1;
	task_state_destroy(t->state);
	assert_int_equal(task_state_create(&request, &t->state, &t->error), FLOW_OK);
	const int64_t key = 1;
	flow_batch *batch = rows_of(t, &key, 1);
	void *slot;
	assert_int_equal(task_state_slots(t->state, COUNTS, batch, all_rows(), 1, NULL, 1, &slot, NULL, &t->error),
					 FLOW_E_CORRUPT);
	assert_non_null(strstr(error_message(&t->error), "8 bytes, slots have 16"));
	batch_release(batch);
}

static void
given_a_key_of_another_task_when_used_then_it_is_an_internal_error(void **state)
{
	struct test *t = *state;
	task_state_request request = make_request(t);
	request.first_group = request.last_group = 5;
	task_state_destroy(t->state);
	assert_int_equal(task_state_create(&request, &t->state, &t->error), FLOW_OK);
	int64_t keys[64];
	for (int i = 0; i < 64; i++)
		keys[i] = i;
	flow_batch *batch = rows_of(t, keys, 64);
	void *slots[64];
	assert_int_equal(task_state_slots(t->state, COUNTS, batch, all_rows(), 64, NULL, 1, slots, NULL, &t->error),
					 FLOW_E_INTERNAL);
	batch_release(batch);
}

/* ---- Timers ---- */

static void
register_timers(struct test *t, uint32_t kind, const int64_t *keys, const int64_t *times, uint32_t count)
{
	flow_batch *batch = rows_of(t, keys, count);
	assert_int_equal(task_timers_register(t->state, kind, batch, all_rows(), count, times, &t->error), FLOW_OK);
	batch_release(batch);
}

/* "key@time key@time", of one batch. */
static const char *
fire(struct test *t, uint32_t kind, int64_t now)
{
	static char text[1024];
	flow_batch *due;
	size_t size = 0;
	text[0] = '\0';
	if (task_timers_due(t->state, kind, now, t->key_schema, &due, &t->error) != FLOW_OK)
		fail_msg("%s", error_message(&t->error));
	for (uint32_t row = 0; due != NULL && row < due->row_count; row++) {
		assert_int_equal(due->key_hash[row], key_hash(due->key_bytes[row]));
		size += (size_t)sprintf(text + size, "%s%lld@%lld", row == 0 ? "" : " ", (long long)due->key[row].as.int64,
								(long long)due->timestamp[row]);
	}
	batch_release(due);
	return text;
}

static void
given_timers_when_due_then_each_fires_once_in_order_of_time_and_key(void **state)
{
	struct test *t = *state;
	const int64_t keys[] = { 30, 10, 20, 10, 10 };
	const int64_t times[] = { 100, 200, 100, 100, 200 };
	register_timers(t, FLOW_TIMER_EVENT, keys, times, 5);
	register_timers(t, FLOW_TIMER_PROCESSING, keys, times, 1);
	assert_int_equal(task_timers_next(t->state, FLOW_TIMER_EVENT), 100);
	assert_string_equal(fire(t, FLOW_TIMER_EVENT, 99), "");
	assert_string_equal(fire(t, FLOW_TIMER_EVENT, 150), "10@100 20@100 30@100");
	assert_string_equal(fire(t, FLOW_TIMER_EVENT, 150), "");
	assert_string_equal(fire(t, FLOW_TIMER_EVENT, INT64_MAX), "10@200");
	assert_int_equal(task_timers_next(t->state, FLOW_TIMER_EVENT), INT64_MAX);
	assert_string_equal(fire(t, FLOW_TIMER_PROCESSING, 100), "30@100");
}

static void
given_timers_when_restored_then_those_that_fired_or_were_deleted_are_not_there(void **state)
{
	struct test *t = *state;
	const int64_t keys[] = { 1, 2, 3, -4 };
	const int64_t times[] = { 100, 100, -300, 400 };
	register_timers(t, FLOW_TIMER_EVENT, keys, times, 4);
	checkpoint_now(t);
	assert_string_equal(fire(t, FLOW_TIMER_EVENT, 0), "3@-300");
	flow_batch *batch = rows_of(t, keys, 1);
	assert_int_equal(task_timers_delete(t->state, FLOW_TIMER_EVENT, batch, all_rows(), 1, times, &t->error), FLOW_OK);
	assert_int_equal(task_timers_delete(t->state, FLOW_TIMER_EVENT, batch, all_rows(), 1, times, &t->error), FLOW_OK);
	batch_release(batch);
	checkpoint_now(t);
	assert_int_equal(fake_store_pairs(0), 2);
	open_state(t, 1, 0);
	assert_int_equal(task_timers_next(t->state, FLOW_TIMER_EVENT), 100);
	assert_string_equal(fire(t, FLOW_TIMER_EVENT, INT64_MAX), "2@100 -4@400");
	assert_int_equal(task_state_entries(t->state), 0);
}

static void
given_more_timers_than_a_batch_holds_when_due_then_the_order_goes_on_over_batches(void **state)
{
	struct test *t = *state;
	for (int64_t start = 3000; start >= 0; start -= 1000) {
		int64_t keys[1000], times[1000];
		for (int i = 0; i < 1000; i++) {
			keys[i] = start + i;
			times[i] = 42;
		}
		register_timers(t, FLOW_TIMER_EVENT, keys, times, 1000);
	}
	int64_t expected = 0;
	for (flow_batch *due;;) {
		assert_int_equal(task_timers_due(t->state, FLOW_TIMER_EVENT, 42, t->key_schema, &due, &t->error), FLOW_OK);
		if (due == NULL)
			break;
		assert_true(due->row_count <= FLOW_BATCH_ROWS);
		for (uint32_t row = 0; row < due->row_count; row++)
			assert_int_equal(due->key[row].as.int64, expected++);
		batch_release(due);
	}
	assert_int_equal(expected, 4000);
}

static void
given_keys_of_every_kind_when_timers_fire_then_the_keys_conform_to_their_schema(void **state)
{
	struct test *t = *state;
	static const char *const types[] = { "decimal(10,2)", "uint64", "timestamp(ms)",
										 "record(a:string,b:time(ns),c:decimal)" };
	flow_decimal two = { .digits = "2", .count = 1 };
	flow_value decimal = flow_cell(FLOW_DECIMAL, 0);
	decimal.as.decimal = &two;
	flow_value time = flow_cell(FLOW_TIME, 5000000000);
	time.unit = FLOW_NANOSECONDS;
	const flow_value parts[] = { flow_string("x", 1), time, decimal };
	const flow_value keys[] = { decimal, flow_uint64(7), flow_timestamp(1357034400123, FLOW_MILLISECONDS, FLOW_ZONED),
								flow_record(parts, 3) };
	const int64_t when = 1;
	for (size_t i = 0; i < FLOW_COUNT(types); i++) {
		const flow_schema *schema = schema_parse_type(flow_slice_of(types[i]), &t->error);
		flow_batch *batch = keyed_batch(t->pool, schema, &keys[i], 1), *due;
		assert_int_equal(task_timers_register(t->state, FLOW_TIMER_EVENT, batch, all_rows(), 1, &when, &t->error),
						 FLOW_OK);
		assert_int_equal(task_timers_due(t->state, FLOW_TIMER_EVENT, 1, schema, &due, &t->error), FLOW_OK);
		const flow_value *key = &due->key[0];
		assert_int_equal(key->type, keys[i].type);
		assert_int_equal(key->unit, keys[i].unit);
		if (i == 1 || i == 2)
			assert_int_equal(key->as.int64, keys[i].as.int64);
		if (i == 3) {
			assert_int_equal(key->as.record[1].unit, FLOW_NANOSECONDS);
			assert_int_equal(key->as.record[1].as.int64, 5000000000);
			assert_int_equal(key->as.record[2].type, FLOW_DECIMAL);
		}
		batch_release(due);
		batch_release(batch);
		schema_release(schema);
	}
}

/* ---- Memory that runs out ---- */

static flow_status
count_keys(void *self, const flow_batch *keys, flow_error *error)
{
	(void)error;
	*(uint32_t *)self += keys->row_count;
	return FLOW_OK;
}

/* A bit of everything; ends at the first failure. */
static flow_status
use_all(struct test *t, flow_batch *batch)
{
	task_state_request request = make_request(t);
	void *slots[64];
	flow_slice values[64];
	int64_t times[64];
	uint32_t seen = 0;
	state_delta *delta = NULL;
	flow_batch *due = NULL;
	for (int i = 0; i < 64; i++) {
		values[i] = flow_slice_of(i == 5 ? "a value that is a good deal longer than the others are" : "value");
		times[i] = i % 3;
	}
	request.restored = 1;
	flow_status status = task_state_create(&request, &t->state, &t->error);
	if (status == FLOW_OK)
		status = task_state_slots(t->state, COUNTS, batch, all_rows(), 64, NULL, 1, slots, NULL, &t->error);
	if (status == FLOW_OK)
		status = task_state_put(t->state, NAMES, batch, all_rows(), 64, NULL, values, &t->error);
	if (status == FLOW_OK)
		status = task_state_get(t->state, NAMES, batch, all_rows(), 64, times, values, &t->error);
	if (status == FLOW_OK)
		status = task_timers_register(t->state, FLOW_TIMER_EVENT, batch, all_rows(), 64, times, &t->error);
	if (status == FLOW_OK)
		status = task_timers_due(t->state, FLOW_TIMER_EVENT, 1, t->key_schema, &due, &t->error);
	batch_release(due);
	if (status == FLOW_OK)
		status = task_state_each_key(t->state, t->key_schema, count_keys, &seen, &t->error);
	if (status == FLOW_OK)
		status = task_state_freeze(t->state, &delta, &t->error);
	state_delta_release(delta);
	task_state_destroy(t->state);
	t->state = NULL;
	return status;
}

static void
given_too_little_memory_when_used_then_it_is_reported_and_nothing_leaks(void **state)
{
	struct test *t = *state;
	int64_t keys[64];
	for (int i = 0; i < 64; i++)
		keys[i] = i;
	add_to_slot(t, 3, 0, 1);
	register_timers(t, FLOW_TIMER_EVENT, keys, keys, 3);
	checkpoint_now(t);
	task_state_destroy(t->state);
	t->state = NULL;
	flow_batch *batch = rows_of(t, keys, 64);
	uint64_t held = batch_pool_used(t->pool);
	memory_fail_at(UINT64_MAX, 0);
	assert_int_equal(use_all(t, batch), FLOW_OK);
	uint64_t made = memory_fail_at(0, 0);
	assert_true(made > 10);
	for (uint64_t n = 1; n <= made; n++) {
		memory_fail_at(n, 0);
		flow_status status = use_all(t, batch);
		memory_fail_at(0, 0);
		assert_true(status == FLOW_OK || status == FLOW_E_MEMORY);
		assert_int_equal(batch_pool_used(t->pool), held);
	}
	batch_release(batch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_equal_keys_and_spaces_in_a_call_then_they_share_a_slot_and_the_first_made_it),
		TEST(given_a_new_job_when_state_is_missed_then_the_store_is_not_asked),
		TEST(given_a_restored_job_when_rows_are_missed_then_all_are_asked_for_once),
		TEST(given_nothing_changed_when_frozen_then_nothing_is_written),
		TEST(given_state_that_was_made_and_removed_between_freezes_then_nothing_is_written_of_it),
		TEST(given_state_that_comes_and_goes_for_long_then_memory_stays_flat),
		TEST(given_a_delta_under_way_when_memory_is_short_then_only_what_is_stored_is_evicted),
		TEST(given_an_evicted_entry_when_removed_then_it_is_gone_from_the_store_too),
		TEST(given_values_when_put_and_got_then_empty_differs_from_none),
		TEST(given_a_call_that_is_not_allowed_then_the_message_names_the_state),
		TEST(given_a_declaration_that_cannot_be_kept_when_created_then_it_is_refused_by_name),
		TEST(given_a_slot_of_another_size_in_the_store_when_loaded_then_it_is_corrupt),
		TEST(given_a_key_of_another_task_when_used_then_it_is_an_internal_error),
		TEST(given_timers_when_due_then_each_fires_once_in_order_of_time_and_key),
		TEST(given_timers_when_restored_then_those_that_fired_or_were_deleted_are_not_there),
		TEST(given_more_timers_than_a_batch_holds_when_due_then_the_order_goes_on_over_batches),
		TEST(given_keys_of_every_kind_when_timers_fire_then_the_keys_conform_to_their_schema),
		TEST(given_too_little_memory_when_used_then_it_is_reported_and_nothing_leaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
