/*
 * Timers: entries of the map like all state, so that they are found, frozen and written the same way, and all of them
 * in memory.
 *
 * Those of one time share a bucket; buckets are found by their time and stand in a heap, earliest first. A window's end
 * has one bucket for all keys, so registering is an append and firing a sort of what fires.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/key.h"
#include "base/memory.h"
#include "base/schema.h"
#include "state/internal.h"

#define FIRST_CAPACITY 4u
#define FIRST_BUCKETS 64u

struct timer_bucket {
	int64_t time;
	uint64_t heap_place;
	entry **timers;
	uint64_t count;
	uint64_t capacity;
	int sorted; /* last fires first */
};

static flow_status
out_of_memory(flow_error *error)
{
	return error_set(error, FLOW_E_MEMORY, "state: out of memory for timers");
}

/* ---- Buckets ---- */

static uint64_t
hash_time(int64_t time)
{
	uint64_t h = (uint64_t)time * 0x9e3779b97f4a7c15u;
	return h ^ (h >> 32);
}

static void
heap_put(struct timer_queue *q, uint64_t place, struct timer_bucket *bucket)
{
	q->heap[place] = bucket;
	bucket->heap_place = place;
}

static void
heap_up(struct timer_queue *q, uint64_t place)
{
	struct timer_bucket *bucket = q->heap[place];
	for (; place > 0 && q->heap[(place - 1) / 2]->time > bucket->time; place = (place - 1) / 2)
		heap_put(q, place, q->heap[(place - 1) / 2]);
	heap_put(q, place, bucket);
}

static void
heap_down(struct timer_queue *q, uint64_t place)
{
	struct timer_bucket *bucket = q->heap[place];
	for (;;) {
		uint64_t child = place * 2 + 1;
		if (child >= q->heap_count)
			break;
		if (child + 1 < q->heap_count && q->heap[child + 1]->time < q->heap[child]->time)
			child++;
		if (q->heap[child]->time >= bucket->time)
			break;
		heap_put(q, place, q->heap[child]);
		place = child;
	}
	heap_put(q, place, bucket);
}

static void
put_by_time(struct timer_bucket **by_time, uint64_t mask, struct timer_bucket *bucket)
{
	uint64_t i = hash_time(bucket->time) & mask;
	while (by_time[i] != NULL)
		i = (i + 1) & mask;
	by_time[i] = bucket;
}

static flow_status
reserve_bucket(struct timer_queue *q)
{
	if (q->heap_count == q->heap_capacity) {
		uint64_t capacity = q->heap_capacity == 0 ? FIRST_BUCKETS : q->heap_capacity * 2;
		struct timer_bucket **heap = memory_reallocate(q->heap, capacity * sizeof(struct timer_bucket *));
		if (heap == NULL)
			return FLOW_E_MEMORY;
		q->heap = heap;
		q->heap_capacity = capacity;
	}
	if (q->by_time != NULL && q->heap_count < (q->by_time_mask + 1) / 2)
		return FLOW_OK;
	uint64_t size = q->by_time == NULL ? FIRST_BUCKETS : (q->by_time_mask + 1) * 2;
	struct timer_bucket **by_time = memory_allocate_zeroed(size * sizeof(struct timer_bucket *));
	if (by_time == NULL)
		return FLOW_E_MEMORY;
	for (uint64_t i = 0; i < q->heap_count; i++)
		put_by_time(by_time, size - 1, q->heap[i]);
	memory_release(q->by_time);
	q->by_time = by_time;
	q->by_time_mask = size - 1;
	return FLOW_OK;
}

static struct timer_bucket *
find_bucket(struct timer_queue *q, int64_t time)
{
	if (q->last != NULL && q->last->time == time)
		return q->last;
	for (uint64_t i = hash_time(time) & q->by_time_mask; q->by_time != NULL && q->by_time[i] != NULL;
		 i = (i + 1) & q->by_time_mask)
		if (q->by_time[i]->time == time)
			return q->last = q->by_time[i];
	return NULL;
}

/* The bucket of a time, made if there is none; NULL: out of memory. */
static struct timer_bucket *
get_bucket(struct timer_queue *q, int64_t time)
{
	struct timer_bucket *bucket = find_bucket(q, time);
	if (bucket != NULL)
		return bucket;
	bucket = reserve_bucket(q) == FLOW_OK ? memory_allocate_zeroed(sizeof(*bucket)) : NULL;
	if (bucket == NULL)
		return NULL;
	bucket->time = time;
	put_by_time(q->by_time, q->by_time_mask, bucket);
	heap_put(q, q->heap_count++, bucket);
	heap_up(q, bucket->heap_place);
	return q->last = bucket;
}

static void
remove_by_time(struct timer_queue *q, const struct timer_bucket *bucket)
{
	uint64_t hole = hash_time(bucket->time) & q->by_time_mask;
	while (q->by_time[hole] != bucket)
		hole = (hole + 1) & q->by_time_mask;
	for (uint64_t i = (hole + 1) & q->by_time_mask; q->by_time[i] != NULL; i = (i + 1) & q->by_time_mask) {
		uint64_t home = hash_time(q->by_time[i]->time) & q->by_time_mask;
		if (((i - home) & q->by_time_mask) >= ((i - hole) & q->by_time_mask)) {
			q->by_time[hole] = q->by_time[i];
			hole = i;
		}
	}
	q->by_time[hole] = NULL;
}

static void
remove_bucket(struct timer_queue *q, struct timer_bucket *bucket)
{
	remove_by_time(q, bucket);
	uint64_t place = bucket->heap_place;
	struct timer_bucket *moved = q->heap[--q->heap_count];
	if (moved != bucket) {
		heap_put(q, place, moved);
		heap_up(q, place);
		heap_down(q, moved->heap_place);
	}
	if (q->last == bucket)
		q->last = NULL;
	memory_release(bucket->timers);
	memory_release(bucket);
}

static flow_status
bucket_add(struct timer_queue *q, entry *e)
{
	struct timer_bucket *bucket = get_bucket(q, e->space);
	if (bucket == NULL)
		return FLOW_E_MEMORY;
	if (bucket->count == bucket->capacity) {
		uint64_t capacity = bucket->capacity == 0 ? FIRST_CAPACITY : bucket->capacity * 2;
		entry **timers = memory_reallocate(bucket->timers, capacity * sizeof(entry *));
		if (timers == NULL) {
			if (bucket->count == 0)
				remove_bucket(q, bucket);
			return FLOW_E_MEMORY;
		}
		bucket->timers = timers;
		bucket->capacity = capacity;
	}
	*entry_timer_of(e) = (struct entry_timer){ bucket, bucket->count };
	bucket->timers[bucket->count++] = e;
	bucket->sorted = 0;
	return FLOW_OK;
}

static void
bucket_remove(struct timer_queue *q, entry *e)
{
	struct timer_bucket *bucket = entry_timer_of(e)->bucket;
	uint64_t place = entry_timer_of(e)->place;
	entry *last = bucket->timers[--bucket->count];
	if (last != e) {
		bucket->timers[place] = last;
		entry_timer_of(last)->place = place;
		bucket->sorted = 0;
	}
	if (bucket->count == 0)
		remove_bucket(q, bucket);
}

void
timers_destroy(task_state *t)
{
	for (size_t kind = 0; kind < FLOW_COUNT(t->timers); kind++) {
		struct timer_queue *q = &t->timers[kind];
		for (uint64_t i = 0; i < q->heap_count; i++) {
			memory_release(q->heap[i]->timers);
			memory_release(q->heap[i]);
		}
		memory_release(q->heap);
		memory_release(q->by_time);
	}
}

uint64_t
timers_bytes(const task_state *t)
{
	uint64_t bytes = 0;
	for (size_t kind = 0; kind < FLOW_COUNT(t->timers); kind++) {
		const struct timer_queue *q = &t->timers[kind];
		bytes += q->heap_capacity * sizeof(void *) + q->heap_count * sizeof(struct timer_bucket);
		bytes += q->by_time == NULL ? 0 : (q->by_time_mask + 1) * sizeof(void *);
	}
	return bytes;
}

/* ---- Registering ---- */

static struct entry_name
name_timer(const task_state *t, uint32_t kind, uint64_t key_hash, flow_slice key, int64_t time)
{
	struct entry_name name = { .key_hash = key_hash, .key = key, .space = time, .state = t->state_count + kind - 1 };
	entry_name_hash(&name);
	return name;
}

static flow_status
check_call(task_state *t, uint32_t kind, const flow_batch *batch, uint32_t count, flow_error *error)
{
	if (kind != FLOW_TIMER_EVENT && kind != FLOW_TIMER_PROCESSING)
		return error_set(error, FLOW_E_ARGUMENT, "timers: there is no kind %u", kind);
	if (batch->key_hash == NULL || batch->key_bytes == NULL)
		return error_set(error, FLOW_E_NULL_KEY, "timers: the batch has no keys");
	entries_tidy(t);
	return entries_reserve(t, count) == FLOW_OK ? FLOW_OK : out_of_memory(error);
}

/* Makes the timer; *made NULL: it was there. */
static flow_status
register_timer(task_state *t, uint32_t kind, const struct entry_name *name, entry **made, flow_error *error)
{
	*made = NULL;
	if (name->key.data == NULL)
		return error_set(error, FLOW_E_NULL_KEY, "timers: a row has no key");
	entry *e = entry_find(t, name);
	if (e != NULL && (e->flags & ENTRY_PRESENT) != 0)
		return FLOW_OK;
	int fresh = e == NULL;
	if (fresh)
		e = entry_insert(t, name);
	if (e == NULL)
		return out_of_memory(error);
	if (bucket_add(&t->timers[kind - 1], e) != FLOW_OK) {
		if (fresh)
			entry_forget(t, e);
		return out_of_memory(error);
	}
	e->flags |= ENTRY_PRESENT;
	*made = e;
	return FLOW_OK;
}

flow_status
task_timers_register(task_state *t, uint32_t kind, const flow_batch *batch, const uint32_t *rows, uint32_t count,
					 const int64_t *times, flow_error *error)
{
	flow_status status = check_call(t, kind, batch, count, error);
	for (uint32_t i = 0; i < count && status == FLOW_OK; i++) {
		struct entry_name name = name_timer(t, kind, batch->key_hash[rows[i]], batch->key_bytes[rows[i]], times[i]);
		entry *made;
		status = register_timer(t, kind, &name, &made, error);
		if (made != NULL)
			entry_mark_dirty(t, made);
	}
	return status;
}

flow_status
task_timers_delete(task_state *t, uint32_t kind, const flow_batch *batch, const uint32_t *rows, uint32_t count,
				   const int64_t *times, flow_error *error)
{
	flow_status status = check_call(t, kind, batch, count, error);
	for (uint32_t i = 0; i < count && status == FLOW_OK; i++) {
		struct entry_name name = name_timer(t, kind, batch->key_hash[rows[i]], batch->key_bytes[rows[i]], times[i]);
		entry *e = name.key.data == NULL ? NULL : entry_find(t, &name);
		if (e == NULL || (e->flags & ENTRY_PRESENT) == 0)
			continue;
		bucket_remove(&t->timers[kind - 1], e);
		e->flags &= (uint8_t)~ENTRY_PRESENT;
		entry_mark_dirty(t, e);
	}
	return status;
}

int64_t
task_timers_next(const task_state *t, uint32_t kind)
{
	const struct timer_queue *q = &t->timers[kind - 1];
	return q->heap_count == 0 ? INT64_MAX : q->heap[0]->time;
}

/* ---- Restoring ---- */

static flow_status
restore_timer(void *self, flow_slice bytes, flow_slice value, flow_error *error)
{
	task_state *t = self;
	store_key key;
	(void)value;
	if (!store_key_read(bytes, 1, &key) || (key.kind != FLOW_TIMER_EVENT && key.kind != FLOW_TIMER_PROCESSING))
		return error_set(error, FLOW_E_CORRUPT, "state: the store holds a timer that cannot be read");
	if (entries_reserve(t, 1) != FLOW_OK)
		return out_of_memory(error);
	struct entry_name name = name_timer(t, key.kind, key_hash(key.key), key.key, key.space);
	entry *made;
	flow_status status = register_timer(t, key.kind, &name, &made, error);
	if (made != NULL)
		made->flags |= ENTRY_STORED;
	return status;
}

flow_status
timers_restore(task_state *t, flow_error *error)
{
	return store_scan(t, t->states[t->state_count].store_id, restore_timer, t, error);
}

/* ---- Firing ---- */

static int
compare_later_first(const void *left, const void *right, void *self)
{
	const task_state *t = self;
	const entry *a = *(entry *const *)left, *b = *(entry *const *)right;
	uint32_t shorter = a->key_size < b->key_size ? a->key_size : b->key_size;
	int order = memcmp(entry_key(t, b), entry_key(t, a), shorter);
	return order != 0 ? order : (b->key_size > a->key_size) - (b->key_size < a->key_size);
}

static void
sort_bucket(task_state *t, struct timer_bucket *bucket)
{
	if (bucket->sorted)
		return;
	qsort_r(bucket->timers, bucket->count, sizeof(entry *), compare_later_first, t);
	for (uint64_t i = 0; i < bucket->count; i++)
		entry_timer_of(bucket->timers[i])->place = i;
	bucket->sorted = 1;
}

struct firing {
	task_state *t;
	struct timer_queue *queue;
	const flow_schema *key_schema;
	flow_builder *builder;
	uint64_t *hashes;
	flow_slice *keys;
	flow_error *error;
};

/* Takes one timer into the batch and out of the state. */
static flow_status
fire(struct firing *f, entry *e)
{
	task_state *t = f->t;
	flow_builder *builder = f->builder;
	uint32_t row = builder->row_count;
	const char *bytes = flow_builder_copy(builder, entry_key(t, e), e->key_size);
	if (bytes == NULL)
		return out_of_memory(f->error);
	f->keys[row] = flow_slice_make(bytes, e->key_size);
	f->hashes[row] = key_hash(f->keys[row]);
	flow_value key;
	flow_status status = keys_read(f->key_schema, f->keys[row], builder, &key);
	if (status != FLOW_OK)
		return error_set(f->error, status, "state: the key of a timer cannot be read");
	if (entries_reserve(t, 1) != FLOW_OK)
		return out_of_memory(f->error);
	flow_builder_add(builder, flow_null());
	builder->key[row] = key;
	builder->timestamp[row] = e->space;
	bucket_remove(f->queue, e);
	e->flags &= (uint8_t)~ENTRY_PRESENT;
	entry_mark_dirty(t, e);
	return FLOW_OK;
}

static flow_status
fire_until(struct firing *f, int64_t now)
{
	flow_status status = FLOW_OK;
	while (status == FLOW_OK && f->queue->heap_count != 0 && f->queue->heap[0]->time <= now &&
		   !flow_builder_full(f->builder)) {
		struct timer_bucket *bucket = f->queue->heap[0];
		sort_bucket(f->t, bucket);
		status = fire(f, bucket->timers[bucket->count - 1]);
	}
	return status;
}

static flow_status
make_batch(struct firing *f, int64_t now, flow_batch **due)
{
	flow_builder *builder = f->builder;
	uint64_t rows = builder->row_capacity;
	f->hashes = flow_builder_alloc(builder, rows * sizeof(*f->hashes));
	f->keys = flow_builder_alloc(builder, rows * sizeof(*f->keys));
	if (f->hashes == NULL || f->keys == NULL ||
		builder->ops->add_columns(builder, FLOW_COLUMN_KEY | FLOW_COLUMN_TIMESTAMP) != FLOW_OK)
		return out_of_memory(f->error);
	flow_status status = fire_until(f, now);
	if (status != FLOW_OK)
		return status;
	batch_head head = { .schema = schema_of_kind(FLOW_KIND_NULL, 1), .key_schema = f->key_schema, .input = UINT32_MAX };
	flow_batch *batch = builder_finish(builder, &head);
	if (batch == NULL)
		return out_of_memory(f->error);
	*due = batch;
	return batch_set_key_columns(batch, NULL, f->hashes, f->keys);
}

flow_status
task_timers_due(task_state *t, uint32_t kind, int64_t now, const flow_schema *key_schema, flow_batch **due,
				flow_error *error)
{
	*due = NULL;
	if (kind != FLOW_TIMER_EVENT && kind != FLOW_TIMER_PROCESSING)
		return error_set(error, FLOW_E_ARGUMENT, "timers: there is no kind %u", kind);
	if (task_timers_next(t, kind) > now || t->timers[kind - 1].heap_count == 0)
		return FLOW_OK;
	entries_tidy(t);
	struct firing f = { .t = t, .queue = &t->timers[kind - 1], .key_schema = key_schema, .error = error };
	f.builder = builder_create(t->pool, 0, 0);
	flow_status status = f.builder == NULL ? out_of_memory(error) : make_batch(&f, now, due);
	builder_destroy(f.builder);
	return status;
}
