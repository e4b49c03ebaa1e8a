/*
 * Freezing: the dirty entries of a task as one segment (state/segment.h), copied once, so that the task goes on at once.
 *
 * Threads: task_state_freeze on the task's thread; the delta then belongs to the control thread. That the store has it reaches the
 * task as one atomic number.
 */
#include "base/error.h"
#include "base/memory.h"
#include "state/internal.h"
#include "state/segment.h"

#define AHEAD 8 /* entries that are asked for before they are copied */

struct state_delta {
	struct settle *settle;
	uint32_t freeze;
	char *bytes;
	uint64_t size;
	uint64_t capacity;
	uint64_t count;
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
	if (delta->capacity - delta->size < size) {
		uint64_t capacity = delta->capacity + delta->capacity / 2 + size;
		char *bytes = memory_reallocate(delta->bytes, capacity);
		if (bytes == NULL)
			return NULL;
		delta->bytes = bytes;
		delta->capacity = capacity;
	}
	char *memory = delta->bytes + delta->size;
	delta->size += size;
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
add_write(const task_state *t, state_delta *delta, entry *e)
{
	int present = (e->flags & ENTRY_PRESENT) != 0;
	flow_slice content = present ? content_of(t, e) : flow_slice_make(NULL, 0);
	uint64_t key_size = store_key_size(t, e);
	if (key_size > UINT32_MAX)
		return FLOW_E_LIMIT;
	char *memory = reserve(delta, SEGMENT_HEAD + key_size + content.size);
	if (memory == NULL)
		return FLOW_E_MEMORY;
	memory = segment_put_head(memory, present ? FLOW_STORE_PUT : FLOW_STORE_DELETE, (uint32_t)key_size,
							  (uint32_t)content.size);
	store_key_write(t, e, memory);
	if (content.size != 0)
		memcpy(memory + key_size, content.data, content.size);
	delta->count++;
	return FLOW_OK;
}

/* What was never stored is forgotten at the next call; what is removed from the store, when the store has heard of it. */
static flow_status
freeze_entry(task_state *t, state_delta *delta, entry *e)
{
	if ((e->flags & ENTRY_PRESENT) == 0) {
		int stored = (e->flags & ENTRY_STORED) != 0;
		flow_status status = entry_list_gone(stored ? &t->removed : &t->gone, e);
		if (status != FLOW_OK || !stored)
			return status;
	}
	return add_write(t, delta, e);
}

/* Copies all dirty entries; they are clean afterwards, or as they were if memory fails. */
static flow_status
fill(task_state *t, state_delta *delta)
{
	struct entry_list *dirty = &t->dirty;
	delta->bytes = memory_allocate(t->dirty_bytes + 1);
	if (delta->bytes == NULL)
		return FLOW_E_MEMORY;
	delta->capacity = t->dirty_bytes + 1;
	flow_status status = FLOW_OK;
	for (uint64_t i = 0; i < dirty->count && status == FLOW_OK; i++) {
		if (i + AHEAD < dirty->count)
			__builtin_prefetch(dirty->items[i + AHEAD], 1);
		status = freeze_entry(t, delta, dirty->items[i]);
	}
	if (status != FLOW_OK)
		return status;
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
	flow_status status = made == NULL ? FLOW_E_MEMORY : fill(t, made);
	if (status != FLOW_OK) {
		state_delta_release(made);
		return error_set(error, status, "state: %s to freeze %llu changed entries",
						 status == FLOW_E_MEMORY ? "no memory" : "a key is too long",
						 (unsigned long long)t->dirty.count);
	}
	made->settle = t->settle;
	made->freeze = ++t->freezes;
	atomic_fetch_add_explicit(&t->settle->references, 1, memory_order_relaxed);
	t->dirty.count = 0;
	t->dirty_bytes = 0;
	*delta = made;
	return FLOW_OK;
}

flow_slice
state_delta_segment(const state_delta *delta)
{
	return flow_slice_make(delta->bytes, delta->size);
}

uint64_t
state_delta_count(const state_delta *delta)
{
	return delta->count;
}

int
state_delta_is_awaited(const state_delta *delta)
{
	return atomic_load_explicit(&delta->settle->awaited, memory_order_relaxed) != 0;
}

void
state_delta_shrink(state_delta *delta)
{
	memory_release(delta->bytes);
	delta->bytes = NULL;
	delta->size = delta->capacity = 0;
}

void
state_delta_settle(state_delta *delta)
{
	if (delta == NULL)
		return;
	atomic_store_explicit(&delta->settle->awaited, 0, memory_order_relaxed);
	atomic_store_explicit(&delta->settle->settled, delta->freeze, memory_order_release);
	state_delta_release(delta);
}

void
state_delta_release(state_delta *delta)
{
	if (delta == NULL)
		return;
	settle_release(delta->settle);
	memory_release(delta->bytes);
	memory_release(delta);
}
