/* The segments of a state directory (state/checkpoint_segments.h). */
#include "state/checkpoint_segments.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define KEY_SIZE 12
#define PIECE_LIMIT ((uint64_t)512 << 20) /* of one value of the store */
#define ENTRY_WEIGHT 64                   /* bytes that an entry takes in a task's memory, about */
#define FOLD_FACTOR 4                     /* segments of so many times what a fold leaves are worth one */
#define FOLD_LEAST ((uint64_t)16 << 20)
#define FOLD_MOST ((uint64_t)64 << 20)
#define RUN 64 /* pairs read at a time */

static char *
put(char *to, uint64_t number, int size)
{
	for (int i = 0; i < size; i++)
		*to++ = (char)(number >> (8 * (size - 1 - i)));
	return to;
}

static uint64_t
get(const char *from, int size)
{
	uint64_t number = 0;
	for (int i = 0; i < size; i++)
		number = number << 8 | (unsigned char)from[i];
	return number;
}

static flow_slice
key_of(const struct segment *segment, arena *memory)
{
	char *key = arena_allocate(memory, KEY_SIZE);
	if (key != NULL)
		put(put(key, segment->epoch, 8), segment->number, 4);
	return flow_slice_make(key, KEY_SIZE);
}

flow_status
store_writes_add(struct store_writes *list, const flow_store_write *write)
{
	if (list->count == list->capacity) {
		uint64_t capacity = list->capacity == 0 ? 64 : list->capacity * 2;
		flow_store_write *items = memory_reallocate(list->items, capacity * sizeof(*items));
		if (items == NULL)
			return FLOW_E_MEMORY;
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = *write;
	return FLOW_OK;
}

static flow_status
add_segment(struct segments *s, struct segment segment)
{
	if (s->count == s->capacity) {
		uint64_t capacity = s->capacity == 0 ? 16 : s->capacity * 2;
		struct segment *items = memory_reallocate(s->items, capacity * sizeof(*items));
		if (items == NULL)
			return FLOW_E_MEMORY;
		s->items = items;
		s->capacity = capacity;
	}
	s->items[s->count++] = segment;
	return FLOW_OK;
}

void
segments_forget(struct segments *s, uint64_t epoch)
{
	uint64_t kept = s->count;
	while (kept > 0 && s->items[kept - 1].epoch >= epoch)
		state_delta_release(s->items[--kept].delta);
	s->count = kept;
}

void
segments_clear(struct segments *s)
{
	segments_forget(s, 0);
	memory_release(s->items);
	*s = (struct segments){ 0 };
}

static flow_status
damaged(flow_error *error)
{
	return error_set(error, FLOW_E_CORRUPT,
					 "the state's store is damaged: a segment of it is not what flowd wrote; restore the state "
					 "directory, or discard it with --fresh");
}

flow_status
segments_read(struct segments *s, const state_backend *backend, uint32_t space, flow_error *error)
{
	segments_forget(s, 0);
	flow_store_iterator *iterator = NULL;
	flow_slice none = { NULL, 0 }, keys[RUN], values[RUN];
	uint64_t count = 0;
	flow_status status = backend->ops->iterate(backend->store, NULL, space, none, none, 0, &iterator, error);
	if (status != FLOW_OK)
		return status;
	while ((status = backend->ops->next_many(iterator, RUN, keys, values, &count, error)) == FLOW_OK) {
		for (uint64_t i = 0; i < count && status == FLOW_OK; i++) {
			if (keys[i].size != KEY_SIZE)
				status = damaged(error);
			else if (add_segment(s, (struct segment){ .epoch = get(keys[i].data, 8),
													  .number = (uint32_t)get(keys[i].data + 8, 4),
													  .weight = values[i].size }) != FLOW_OK)
				status = error_set(error, FLOW_E_MEMORY, "checkpoint: out of memory");
		}
		if (status != FLOW_OK)
			break;
	}
	backend->ops->iterator_close(iterator);
	return status == FLOW_END ? FLOW_OK : status;
}

/* One delta as one segment, or as several where it is too large for one value. */
static flow_status
add_delta(struct segments *s, uint32_t space, uint64_t epoch, state_delta *delta, uint32_t *number,
		  struct store_writes *writes, arena *memory)
{
	flow_slice rest = state_delta_segment(delta);
	uint64_t weight = rest.size + state_delta_count(delta) * ENTRY_WEIGHT;
	flow_status status = FLOW_OK;
	do {
		flow_slice piece = segment_cut(&rest, PIECE_LIMIT);
		struct segment segment = { .epoch = epoch, .number = (*number)++ };
		if (rest.size == 0) {
			segment.weight = weight;
			segment.delta = delta;
		}
		flow_store_write write = {
			.kind = FLOW_STORE_PUT, .space = space, .key = key_of(&segment, memory), .value = piece
		};
		status = write.key.data == NULL ? FLOW_E_MEMORY : store_writes_add(writes, &write);
		if (status == FLOW_OK)
			status = add_segment(s, segment);
	} while (status == FLOW_OK && rest.size != 0);
	return status;
}

flow_status
segments_add(struct segments *s, uint32_t space, uint64_t epoch, state_delta *const *deltas, uint64_t count,
			 struct store_writes *writes, arena *memory)
{
	flow_status status = FLOW_OK;
	uint32_t number = 0;
	for (uint64_t i = 0; i < count; i++) {
		if (deltas[i] == NULL)
			continue;
		/* Nothing changed: what its task waits for comes with a later one. */
		int is_empty = state_delta_segment(deltas[i]).size == 0;
		if (status == FLOW_OK && !is_empty)
			status = add_delta(s, space, epoch, deltas[i], &number, writes, memory);
		if (status != FLOW_OK || is_empty)
			state_delta_release(deltas[i]);
	}
	return status;
}

void
segments_written(struct segments *s)
{
	for (uint64_t i = s->count; i > 0 && s->items[i - 1].epoch == s->items[s->count - 1].epoch; i--)
		if (s->items[i - 1].delta != NULL)
			state_delta_shrink(s->items[i - 1].delta);
}

static flow_status
delete_one(const struct segment *segment, uint32_t space, struct store_writes *writes, arena *memory)
{
	flow_store_write write = { .kind = FLOW_STORE_DELETE, .space = space, .key = key_of(segment, memory) };
	return write.key.data == NULL ? FLOW_E_MEMORY : store_writes_add(writes, &write);
}

flow_status
segments_delete(const struct segments *s, uint32_t space, uint64_t epoch, struct store_writes *writes, arena *memory)
{
	flow_status status = FLOW_OK;
	for (uint64_t i = s->count; status == FLOW_OK && i > 0 && s->items[i - 1].epoch >= epoch; i--)
		status = delete_one(&s->items[i - 1], space, writes, memory);
	return status;
}

int
segments_are_due(const struct segments *s, uint64_t epoch)
{
	uint64_t weight = 0, limit = s->left * FOLD_FACTOR;
	limit = limit < FOLD_LEAST ? FOLD_LEAST : limit > FOLD_MOST ? FOLD_MOST : limit;
	for (uint64_t i = 0; i < s->count && s->items[i].epoch <= epoch; i++) {
		weight += s->items[i].weight;
		if (s->items[i].delta != NULL && state_delta_is_awaited(s->items[i].delta))
			return 1;
	}
	return weight > limit;
}

/* Reads one segment and takes what no later one has. */
static flow_status
fold_one(const struct segment *segment, const state_backend *backend, uint32_t space, fold *f, flow_builder *memory,
		 arena *keys, flow_error *error)
{
	flow_slice key = key_of(segment, keys), value = { NULL, 0 };
	if (key.data == NULL)
		return FLOW_E_MEMORY;
	builder_clear(memory);
	flow_status status = backend->ops->get_many(backend->store, NULL, space, &key, 1, memory, &value, error);
	if (status == FLOW_OK)
		status = value.data == NULL ? FLOW_E_CORRUPT : fold_take(f, value, 1);
	return status == FLOW_E_CORRUPT && error_message(error)[0] == '\0' ? damaged(error) : status;
}

static flow_status
fold_all(const struct segments *s, const state_backend *backend, uint32_t space, uint64_t count, fold *f, arena *keys,
		 flow_error *error)
{
	batch_pool *pool = batch_pool_create(0);
	flow_builder *memory = pool == NULL ? NULL : builder_create(pool, 1, 0);
	flow_status status = memory == NULL ? FLOW_E_MEMORY : FLOW_OK;
	for (uint64_t i = count; i > 0 && status == FLOW_OK; i--)
		status = fold_one(&s->items[i - 1], backend, space, f, memory, keys, error);
	builder_destroy(memory);
	batch_pool_destroy(pool);
	return status;
}

flow_status
segments_fold(const struct segments *s, const state_backend *backend, uint32_t space, uint32_t state_space,
			  uint64_t epoch, fold *f, struct store_writes *writes, arena *memory, flow_error *error)
{
	uint64_t count = 0;
	while (count < s->count && s->items[count].epoch <= epoch)
		count++;
	flow_status status = fold_all(s, backend, space, count, f, memory, error);
	if (status == FLOW_OK)
		fold_sort(f);
	for (uint64_t i = 0; i < f->count && status == FLOW_OK; i++) {
		f->writes[i].space = state_space;
		status = store_writes_add(writes, &f->writes[i]);
	}
	for (uint64_t i = 0; i < count && status == FLOW_OK; i++)
		status = delete_one(&s->items[i], space, writes, memory);
	return status;
}

void
segments_folded(struct segments *s, uint64_t epoch, const fold *f)
{
	uint64_t count = 0;
	while (count < s->count && s->items[count].epoch <= epoch)
		state_delta_settle(s->items[count++].delta);
	memmove(s->items, s->items + count, (s->count - count) * sizeof(*s->items));
	s->count -= count;
	s->left = f->bytes + f->count * ENTRY_WEIGHT;
}
