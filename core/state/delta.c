/*
 * Freezing: the dirty entries of a task as writes for the store, copied once, so that the task goes on at once.
 *
 * Threads: task_state_freeze on the task's thread; the delta then belongs to the control thread. Its release tells the
 * task, by one atomic counter, that the store has what was in it.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "state/internal.h"

#define CHUNK ((uint64_t)256 * 1024)
#define AHEAD 8 /* entries that are asked for before they are copied */

struct delta_chunk {
	struct delta_chunk *next;
	char data[];
};

struct state_delta {
	struct settle *settle;
	flow_store_write *writes;
	uint64_t count;
	struct delta_chunk *chunks;
	char *next;
	char *end;
};

void
settle_release(struct settle *settle)
{
	if (settle != NULL && atomic_fetch_sub_explicit(&settle->references, 1, memory_order_acq_rel) == 1)
		memory_release(settle);
}

static char *
reserve(state_delta *delta, uint64_t size)
{
	if ((uint64_t)(delta->end - delta->next) < size) {
		uint64_t capacity = size > CHUNK ? size : CHUNK;
		struct delta_chunk *chunk = memory_allocate(sizeof(*chunk) + capacity);
		if (chunk == NULL)
			return NULL;
		chunk->next = delta->chunks;
		delta->chunks = chunk;
		delta->next = chunk->data;
		delta->end = chunk->data + capacity;
	}
	char *memory = delta->next;
	delta->next += size;
	return memory;
}

static flow_slice
content_of(const task_state *t, entry *e)
{
	const struct state_info *info = &t->states[e->state];
	if (info->kind == FLOW_STATE_SLOT)
		return flow_slice_make(e->content, info->slot_size);
	if (info->kind == FLOW_STATE_VALUE)
		return flow_slice_make(entry_value_of(e)->data, e->size);
	return flow_slice_make(NULL, 0);
}

static flow_status
add_write(task_state *t, state_delta *delta, entry *e)
{
	int present = (e->flags & ENTRY_PRESENT) != 0;
	flow_slice content = present ? content_of(t, e) : flow_slice_make(NULL, 0);
	uint64_t key_size = store_key_size(t, e);
	char *memory = reserve(delta, key_size + content.size);
	if (memory == NULL)
		return FLOW_E_MEMORY;
	store_key_write(t, e, memory);
	if (content.size != 0)
		memcpy(memory + key_size, content.data, content.size);
	delta->writes[delta->count++] = (flow_store_write){
		.kind = present ? FLOW_STORE_PUT : FLOW_STORE_DELETE,
		.key = flow_slice_make(memory, key_size),
		.value = flow_slice_make(memory + key_size, content.size),
	};
	return FLOW_OK;
}

static flow_status
freeze_entry(task_state *t, state_delta *delta, entry *e)
{
	if ((e->flags & ENTRY_PRESENT) == 0) {
		flow_status status = entry_list_gone(t, e);
		if (status != FLOW_OK || (e->flags & ENTRY_STORED) == 0)
			return status;
	}
	return add_write(t, delta, e);
}

static void
destroy_delta(state_delta *delta)
{
	for (struct delta_chunk *chunk = delta->chunks, *next; chunk != NULL; chunk = next) {
		next = chunk->next;
		memory_release(chunk);
	}
	memory_release(delta->writes);
	memory_release(delta);
}

/* Copies all dirty entries; they are clean afterwards, or as they were if memory fails. */
static flow_status
fill(task_state *t, state_delta *delta)
{
	struct entry_list *dirty = &t->dirty;
	delta->writes = memory_allocate(dirty->count * sizeof(*delta->writes) + 1);
	if (delta->writes == NULL)
		return FLOW_E_MEMORY;
	for (uint64_t i = 0; i < dirty->count; i++) {
		if (i + AHEAD < dirty->count)
			__builtin_prefetch(dirty->items[i + AHEAD], 1);
		if (freeze_entry(t, delta, dirty->items[i]) != FLOW_OK)
			return FLOW_E_MEMORY;
	}
	for (uint64_t i = 0; i < dirty->count; i++) {
		entry *e = dirty->items[i];
		if (i + AHEAD < dirty->count)
			__builtin_prefetch(dirty->items[i + AHEAD], 1);
		e->frozen = t->freezes + 1;
		e->flags &= (uint8_t)~ENTRY_DIRTY;
		if ((e->flags & ENTRY_PRESENT) != 0)
			e->flags |= ENTRY_STORED;
	}
	return FLOW_OK;
}

flow_status
task_state_freeze(task_state *t, state_delta **delta, flow_error *error)
{
	state_delta *made = memory_allocate_zeroed(sizeof(*made));
	if (made == NULL || fill(t, made) != FLOW_OK) {
		if (made != NULL)
			destroy_delta(made);
		return error_set(error, FLOW_E_MEMORY, "state: no memory to freeze %llu changed entries",
						 (unsigned long long)t->dirty.count);
	}
	made->settle = t->settle;
	atomic_fetch_add_explicit(&t->settle->references, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->settle->outstanding, 1, memory_order_relaxed);
	t->freezes++;
	t->dirty.count = 0;
	t->dirty_bytes = 0;
	*delta = made;
	return FLOW_OK;
}

static int
compare(const void *left, const void *right)
{
	const flow_slice *a = &((const flow_store_write *)left)->key, *b = &((const flow_store_write *)right)->key;
	uint64_t shorter = a->size < b->size ? a->size : b->size;
	int order = memcmp(a->data, b->data, shorter);
	return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

flow_status
state_delta_writes(const state_delta *delta, flow_store_write **writes, uint64_t *count, uint64_t *capacity)
{
	if (*capacity - *count < delta->count) {
		uint64_t wanted = *count + delta->count + *capacity;
		flow_store_write *items = memory_reallocate(*writes, wanted * sizeof(*items));
		if (items == NULL)
			return FLOW_E_MEMORY;
		*writes = items;
		*capacity = wanted;
	}
	if (delta->count == 0)
		return FLOW_OK;
	flow_store_write *to = *writes + *count;
	memcpy(to, delta->writes, delta->count * sizeof(*to));
	/* In the order of keys the store takes them at half the cost. */
	qsort(to, delta->count, sizeof(*to), compare);
	*count += delta->count;
	return FLOW_OK;
}

void
state_delta_release(state_delta *delta)
{
	if (delta == NULL)
		return;
	atomic_fetch_sub_explicit(&delta->settle->outstanding, 1, memory_order_release);
	settle_release(delta->settle);
	destroy_delta(delta);
}
