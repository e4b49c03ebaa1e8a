/* Builders, batches, what keeps them alive, forwarding and compaction, the pool's budget; also when memory runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/batch.h"
#include "base/chunk.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/schema.h"
#include "base/value.h"

static batch_pool *pool;

static int
open_pool(void **state)
{
	(void)state;
	pool = batch_pool_create(0);
	return pool == NULL;
}

static int
close_pool(void **state)
{
	(void)state;
	assert_int_equal(batch_pool_used(pool), 0); /* each test gives everything back */
	batch_pool_destroy(pool);
	return 0;
}

static flow_value
text_in(flow_builder *builder, const char *format, unsigned number)
{
	char text[64];
	int size = snprintf(text, sizeof(text), format, number);
	return flow_string(flow_builder_copy(builder, text, (uint64_t)size), (uint32_t)size);
}

/* Rows "row 0", "row 1", ... with ordinals 100, 101, ... and keys. */
static void
fill(flow_builder *builder, uint32_t rows)
{
	builder->ops->add_columns(builder, FLOW_COLUMN_KEY | FLOW_COLUMN_ORDINAL);
	for (uint32_t i = 0; i < rows; i++) {
		uint32_t row = flow_builder_add(builder, text_in(builder, "row %u", i));
		builder->key[row] = text_in(builder, "key %u", i);
		builder->ordinal[row] = 100 + i;
	}
}

static flow_batch *
make_batch(uint32_t rows)
{
	flow_builder *builder = builder_create(pool, 0, 0);
	fill(builder, rows);
	batch_head head = { .schema = schema_of_kind(FLOW_KIND_STRING, 0),
						.key_schema = schema_of_kind(FLOW_KIND_STRING, 0),
						.input = 2,
						.partition = 3,
						.place = flow_slice_of("orders[3]") };
	flow_batch *batch = builder_finish(builder, &head);
	builder_destroy(builder);
	return batch;
}

static void
assert_text(const flow_value *value, const char *expected)
{
	assert_int_equal(value->type, FLOW_STRING);
	assert_true(flow_slice_is(flow_value_slice(value), expected));
}

static void
a_batch_holds_what_was_built(void **state)
{
	(void)state;
	flow_batch *batch = make_batch(1000);
	assert_int_equal(batch->row_count, 1000);
	assert_int_equal(batch->selected_count, 1000);
	assert_null(batch->selection);
	assert_text(&batch->value[999], "row 999");
	assert_text(&batch->key[7], "key 7");
	assert_int_equal(batch->ordinal[5], 105);
	assert_int_equal(batch->input, 2);
	assert_int_equal(batch->partition, 3);
	assert_true(flow_slice_is(batch->place, "orders[3]"));
	assert_null(batch->timestamp);
	assert_true(batch_bytes(batch) > 1000 * 20);
	assert_ptr_equal(batches_service.retain(batch), batch);
	batches_service.release(batch);
	assert_text(&batch->value[0], "row 0");
	batch_release(batch);
	batch_release(NULL);
}

static void
a_builder_is_empty_and_usable_after_finish(void **state)
{
	(void)state;
	flow_builder *builder = builder_create(pool, 16, 0);
	batch_head head = { .flags = FLOW_BATCH_RAW };
	flow_batch *batches[5];
	for (int round = 0; round < 5; round++) {
		assert_int_equal(builder->row_count, 0);
		assert_null(builder->key);
		fill(builder, 16);
		assert_true(flow_builder_full(builder));
		batches[round] = builder_finish(builder, &head);
		assert_ptr_equal(batches[round]->schema, schema_bytes());
		assert_int_equal(batches[round]->flags, FLOW_BATCH_RAW);
	}
	for (int round = 0; round < 5; round++) {
		assert_text(&batches[round]->value[15], "row 15");
		batch_release(batches[round]);
	}
	flow_batch *empty = builder_finish(builder, &head);
	assert_int_equal(empty->row_count, 0);
	batch_release(empty);
	builder_destroy(builder);
}

static void
a_builder_is_full_by_bytes_and_one_record_of_any_size_fits(void **state)
{
	(void)state;
	flow_builder *builder = builder_create(pool, 0, 100000);
	uint32_t rows = 0;
	static char text[1000];
	for (; !flow_builder_full(builder); rows++)
		flow_builder_add(builder, flow_string(flow_builder_copy(builder, text, sizeof(text)), sizeof(text)));
	assert_true(rows > 50 && rows <= 100);
	builder_clear(builder);
	char *large = flow_builder_alloc(builder, 10 << 20);
	assert_non_null(large);
	memset(large, 1, 10 << 20);
	assert_true(flow_builder_full(builder));
	builder_destroy(builder);
}

static void
columns_that_come_late_are_filled_for_the_rows_before(void **state)
{
	(void)state;
	flow_builder *builder = builder_create(pool, 0, 0);
	flow_builder_add(builder, flow_int64(1));
	assert_int_equal(builder->ops->add_columns(builder, FLOW_COLUMN_KEY | FLOW_COLUMN_TIMESTAMP | FLOW_COLUMN_ORDINAL |
															FLOW_COLUMN_HEADERS),
					 FLOW_OK);
	assert_int_equal(builder->key[0].type, FLOW_NULL);
	assert_true(builder->timestamp[0] == FLOW_NO_TIMESTAMP);
	assert_int_equal(builder->ordinal[0], 0);
	assert_int_equal(builder->headers[0].count, 0);
	flow_value *key = builder->key;
	assert_int_equal(builder->ops->add_columns(builder, FLOW_COLUMN_KEY), FLOW_OK);
	assert_ptr_equal(builder->key, key);
	builder_destroy(builder);
}

static void
memory_over_the_limit_leaves_room_for_the_first_record(void **state)
{
	(void)state;
	flow_builder *builder = builder_create(pool, 16, 1000);
	assert_non_null(flow_builder_alloc(builder, 8 * 1024 * 1024));
	assert_int_equal(builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL), FLOW_OK);
	assert_non_null(flow_builder_alloc(builder, 64));
	assert_false(flow_builder_full(builder));
	flow_builder_add(builder, flow_int64(1));
	assert_non_null(flow_builder_alloc(builder, 1024 * 1024));
	assert_true(flow_builder_full(builder));
	builder_destroy(builder);
}

static atomic_int releases;

static void
count_release(void *owner)
{
	(void)owner;
	atomic_fetch_add(&releases, 1);
}

static void
foreign_memory_is_released_once_when_the_batch_dies(void **state)
{
	(void)state;
	atomic_store(&releases, 0);
	flow_builder *builder = builder_create(pool, 0, 1000000);
	assert_int_equal(builder->ops->adopt(builder, count_release, NULL, 2000000), FLOW_OK);
	assert_true(flow_builder_full(builder)); /* its bytes count */
	batch_head head = { 0 };
	flow_batch *batch = builder_finish(builder, &head);
	assert_false(flow_builder_full(builder));
	batch_retain(batch);
	batch_release(batch);
	assert_int_equal(atomic_load(&releases), 0);
	batch_release(batch);
	assert_int_equal(atomic_load(&releases), 1);
	builder->ops->adopt(builder, count_release, NULL, 1);
	builder_clear(builder);
	assert_int_equal(atomic_load(&releases), 2);
	builder_destroy(builder);
}

static void
a_kept_batch_lives_as_long_as_the_one_that_points_into_it(void **state)
{
	(void)state;
	flow_batch *first = make_batch(10);
	flow_builder *builder = builder_create(pool, 0, 0);
	builder->ops->keep(builder, first);
	builder->ops->keep(builder, first);
	flow_builder_add(builder, first->value[3]);
	batch_head head = { 0 };
	flow_batch *second = builder_finish(builder, &head);
	batch_release(first);
	assert_text(&second->value[0], "row 3");
	batch_release(second);
	builder_destroy(builder);
}

static void
a_part_of_a_batch_on_the_stack_keeps_the_whole_alive(void **state)
{
	(void)state;
	flow_batch *first = make_batch(10), *other = make_batch(10), part = *first;
	flow_builder *builder = builder_create(pool, 0, 0);
	builder->ops->keep(builder, &part);
	part = *other; /* another one at the same address */
	builder->ops->keep(builder, &part);
	flow_builder_add(builder, first->value[3]);
	flow_builder_add(builder, other->value[4]);
	batch_head head = { 0 };
	flow_batch *second = builder_finish(builder, &head);
	memset(&part, 0, sizeof(part));
	batch_release(first);
	batch_release(other);
	assert_text(&second->value[0], "row 3");
	assert_text(&second->value[1], "row 4");
	batch_release(second);
	builder_destroy(builder);
}

static flow_status
note_rejection(void *context, flow_builder *builder, const flow_rejection *rejection)
{
	(void)builder;
	*(flow_status *)context = rejection->status;
	return FLOW_OK;
}

static void
rejections_go_to_the_handler_or_fail(void **state)
{
	(void)state;
	flow_builder *builder = builder_create(pool, 0, 0);
	flow_rejection rejection = { .struct_size = sizeof(rejection), .status = FLOW_E_RANGE };
	assert_int_equal(builder->ops->reject(builder, &rejection), FLOW_E_DECODE);
	flow_status seen = FLOW_OK;
	builder_on_reject(builder, note_rejection, &seen);
	builder_clear(builder);
	assert_int_equal(builder->ops->reject(builder, &rejection), FLOW_OK);
	assert_int_equal(seen, FLOW_E_RANGE);
	builder_destroy(builder);
}

static void
a_forwarded_batch_shares_the_rows_of_its_parent(void **state)
{
	(void)state;
	flow_batch *parent = make_batch(100);
	flow_builder *memory = builder_create(pool, 0, 0);
	uint32_t selection[50];
	for (uint32_t i = 0; i < 50; i++)
		selection[i] = i * 2;
	int64_t *times = flow_builder_alloc(memory, 100 * sizeof(*times));
	for (int64_t i = 0; i < 100; i++)
		times[i] = i * 1000;
	flow_columns columns = {
		.struct_size = sizeof(columns), .timestamp = times, .selection = selection, .selected_count = 50, .drop_key = 1
	};
	flow_batch *child = batch_forward(pool, parent, &columns, memory);
	memset(selection, 0xFF, sizeof(selection)); /* it was copied */
	assert_ptr_equal(child->value, parent->value);
	assert_int_equal(child->row_count, 100);
	assert_int_equal(child->selected_count, 50);
	assert_null(child->key);
	assert_null(child->key_schema);
	batch_release(parent);
	assert_text(&child->value[flow_row(child, 49)], "row 98");
	assert_int_equal(child->timestamp[98], 98000);
	flow_batch *same = batch_forward(pool, child, NULL, NULL);
	batch_release(child);
	assert_text(&same->value[flow_row(same, 1)], "row 2");
	assert_int_equal(same->timestamp[2], 2000);
	batch_release(same);
	builder_destroy(memory);
}

static void
a_selection_below_an_eighth_is_copied_and_frees_the_parent(void **state)
{
	(void)state;
	flow_batch *parent = make_batch(800);
	flow_builder *memory = builder_create(pool, 0, 0);
	uint32_t selection[100];
	for (uint32_t i = 0; i < 100; i++)
		selection[i] = i * 8 + 3;
	flow_columns columns = { .struct_size = sizeof(columns), .selection = selection, .selected_count = 100 };
	flow_batch *eighth = batch_forward(pool, parent, &columns, memory);
	assert_int_equal(eighth->row_count, 800); /* an eighth is not below an eighth */
	columns.selected_count = 99;
	flow_batch *few = batch_forward(pool, parent, &columns, memory);
	assert_int_equal(few->row_count, 99);
	assert_int_equal(few->selected_count, 99);
	assert_null(few->selection);
	batch_release(eighth);
	uint64_t used = batch_pool_used(pool);
	batch_release(parent);
	assert_true(batch_pool_used(pool) < used);
	assert_text(&few->value[98], "row 787");
	assert_text(&few->key[98], "key 787");
	assert_int_equal(few->ordinal[98], 887);
	assert_true(flow_slice_is(few->place, "orders[3]"));
	batch_release(few);
	builder_destroy(memory);
}

static void
key_columns_move_into_the_batch(void **state)
{
	(void)state;
	flow_batch *batch = make_batch(10);
	flow_builder *memory = builder_create(pool, 0, 0);
	uint64_t *hash = flow_builder_alloc(memory, 10 * sizeof(*hash));
	flow_slice *bytes = flow_builder_alloc(memory, 10 * sizeof(*bytes));
	for (uint64_t i = 0; i < 10; i++) {
		hash[i] = i;
		bytes[i] = flow_slice_make(flow_builder_copy(memory, "k", 1), 1);
	}
	assert_int_equal(batch_set_key_columns(batch, memory, hash, bytes), FLOW_OK);
	builder_destroy(memory);
	assert_int_equal(batch->key_hash[9], 9);
	assert_memory_equal(batch->key_bytes[9].data, "k", 1);
	static const uint32_t targets[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, selection[] = { 8 };
	batch->target = targets;
	flow_columns columns = { .struct_size = sizeof(columns), .selection = selection, .selected_count = 1 };
	flow_batch *few = batch_forward(pool, batch, &columns, NULL);
	batch_release(batch);
	assert_int_equal(few->row_count, 1); /* copied: so are the key columns */
	assert_int_equal(few->key_hash[0], 8);
	assert_memory_equal(few->key_bytes[0].data, "k", 1);
	assert_int_equal(few->target[0], 8);
	batch_release(few);
}

static void
values_are_copied_deeply(void **state)
{
	(void)state;
	flow_builder *memory = builder_create(pool, 0, 0);
	char text[] = "text", digits[] = "150";
	flow_decimal decimal = { .digits = digits, .count = 3, .scale = 2 };
	flow_value cells[5] = { flow_string(text, 4), flow_null(), flow_cell(FLOW_DECIMAL, 0), flow_float64(1.5),
							flow_bytes("", 0) };
	cells[2].as.decimal = &decimal;
	flow_list list = { cells, 5 };
	flow_map_entry entry = { flow_string(text, 4), flow_cell(FLOW_LIST, 0) };
	entry.value.as.list = &list;
	flow_map map = { &entry, 1 };
	flow_value whole[2] = { flow_cell(FLOW_MAP, 0), flow_int64(7) };
	whole[0].as.map = &map;
	flow_value record = flow_record(whole, 2), copy;
	assert_int_equal(value_copy(memory, &record, &copy), FLOW_OK);
	assert_true(value_equal(&record, &copy));
	digits[0] = '9';
	assert_false(value_equal(&record, &copy));
	text[0] = 'T';
	const flow_list *copied = copy.as.record[0].as.map->entries[0].value.as.list;
	assert_text(&copied->items[0], "text");
	assert_memory_equal(copied->items[2].as.decimal->digits, "150", 3);
	builder_destroy(memory);
}

static void
values_are_equal_by_type_and_content(void **state)
{
	(void)state;
	flow_value a = flow_int64(1), b = flow_uint64(1), c = flow_float64(0.0), d = flow_float64(-0.0),
			   n = flow_float64(0.0 / 0.0);
	flow_value x = flow_string("a", 1), y = flow_bytes("a", 1), empty = flow_string("", 0), null = flow_null();
	flow_value ms = flow_timestamp(1, FLOW_MILLISECONDS, FLOW_ZONED),
			   us = flow_timestamp(1, FLOW_MICROSECONDS, FLOW_ZONED);
	assert_false(value_equal(&a, &b));
	assert_false(value_equal(&c, &d));
	assert_true(value_equal(&n, &n));
	assert_false(value_equal(&x, &y));
	assert_false(value_equal(&empty, &null));
	assert_false(value_equal(&ms, &us));
}

static void
a_pool_over_its_budget_is_pressed_until_memory_comes_back(void **state)
{
	(void)state;
	batch_pool *small = batch_pool_create(1 << 20);
	chunk *one = chunk_acquire(small, 600000);
	assert_true(one->size >= 600000);
	assert_int_equal((uintptr_t)one->data % 16, 0);
	assert_false(batch_pool_pressed(small));
	chunk *two = chunk_acquire(small, 600000);
	assert_true(batch_pool_pressed(small));
	chunk_release(small, one);
	assert_false(batch_pool_pressed(small));
	chunk *again = chunk_acquire(small, 600000);
	assert_ptr_equal(again, one); /* pooled */
	again->next = two;
	chunk_release(small, again);
	chunk *huge = chunk_acquire(small, 5 << 20);
	memset(huge->data, 1, huge->size + CHUNK_TAIL);
	chunk_release(small, huge);
	assert_int_equal(batch_pool_used(small), 0);
	assert_true(batch_pool_peak(small) >= 5 << 20);
	assert_null(chunk_acquire(small, UINT64_MAX - 10));
	batch_pool_destroy(small);
}

static int
use_everything(batch_pool *from)
{
	flow_builder *builder = builder_create(from, 8, 0), *memory = builder_create(from, 8, 0);
	flow_batch *batch = NULL, *child = NULL, *copy = NULL;
	batch_head head = { .place = { "p", 1 } };
	static const uint32_t selection[] = { 5 };
	flow_columns columns = { .struct_size = sizeof(columns), .selection = selection, .selected_count = 1 };
	if (builder == NULL || memory == NULL || builder->row_capacity == 0)
		goto out;
	for (int i = 0; i < 8; i++)
		flow_builder_add(builder, flow_int64(i));
	if (flow_builder_alloc(builder, 200000) == NULL)
		goto out;
	if (builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		goto out;
	batch = builder_finish(builder, &head);
	child = batch == NULL ? NULL : batch_forward(from, batch, NULL, NULL);
	copy = batch == NULL ? NULL : batch_forward(from, batch, &columns, memory);
out:
	batch_release(batch);
	int done = child != NULL && copy != NULL;
	batch_release(child);
	batch_release(copy);
	builder_destroy(builder);
	builder_destroy(memory);
	return done;
}

static void
no_allocation_that_fails_crashes_or_leaks(void **state)
{
	(void)state;
	for (uint64_t n = 1;; n++) {
		memory_fail_at(n, 0);
		batch_pool *fresh = batch_pool_create(0);
		int done = fresh != NULL && use_everything(fresh);
		memory_fail_at(0, 0);
		if (fresh != NULL)
			assert_int_equal(batch_pool_used(fresh), 0);
		batch_pool_destroy(fresh);
		if (done) {
			assert_true(n > 4);
			break;
		}
	}
}

static void *
release_batches(void *argument)
{
	flow_batch **batches = argument;
	for (int i = 0; i < 200; i++)
		batch_release(batches[i]);
	return NULL;
}

static void
batches_are_released_by_other_threads_while_more_are_built(void **state)
{
	(void)state;
	static flow_batch *batches[200];
	atomic_store(&releases, 0);
	flow_builder *builder = builder_create(pool, 4, 1000);
	batch_head head = { 0 };
	for (int i = 0; i < 200; i++) {
		builder->ops->adopt(builder, count_release, NULL, 0);
		flow_builder_add(builder, flow_int64(i));
		batches[i] = builder_finish(builder, &head);
		batch_retain(batches[i]);
	}
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, release_batches, batches), 0);
	for (int i = 0; i < 200; i++)
		batch_release(builder_finish(builder, &head));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&releases), 200);
	builder_destroy(builder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_holds_what_was_built),
		cmocka_unit_test(a_builder_is_empty_and_usable_after_finish),
		cmocka_unit_test(a_builder_is_full_by_bytes_and_one_record_of_any_size_fits),
		cmocka_unit_test(columns_that_come_late_are_filled_for_the_rows_before),
		cmocka_unit_test(memory_over_the_limit_leaves_room_for_the_first_record),
		cmocka_unit_test(foreign_memory_is_released_once_when_the_batch_dies),
		cmocka_unit_test(a_kept_batch_lives_as_long_as_the_one_that_points_into_it),
		cmocka_unit_test(a_part_of_a_batch_on_the_stack_keeps_the_whole_alive),
		cmocka_unit_test(rejections_go_to_the_handler_or_fail),
		cmocka_unit_test(a_forwarded_batch_shares_the_rows_of_its_parent),
		cmocka_unit_test(a_selection_below_an_eighth_is_copied_and_frees_the_parent),
		cmocka_unit_test(key_columns_move_into_the_batch),
		cmocka_unit_test(values_are_copied_deeply),
		cmocka_unit_test(values_are_equal_by_type_and_content),
		cmocka_unit_test(a_pool_over_its_budget_is_pressed_until_memory_comes_back),
		cmocka_unit_test(no_allocation_that_fails_crashes_or_leaks),
		cmocka_unit_test(batches_are_released_by_other_threads_while_more_are_built),
	};
	return cmocka_run_group_tests(tests, open_pool, close_pool);
}
