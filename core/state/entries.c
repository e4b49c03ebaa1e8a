/* The map of entries, and how entries are forgotten (state/internal.h). */
#include "base/key.h"
#include "base/memory.h"
#include "state/internal.h"

#define EVICTION_LINES 1024u /* of the map that the hand passes in one call */

static uint64_t
content_bytes(const task_state *t, const entry *e)
{
	return sizeof(entry) + t->states[e->state].content_size + e->key_size;
}

uint64_t
entry_bytes(const task_state *t, const entry *e)
{
	uint64_t bytes = slab_piece_size(content_bytes(t, e));
	if (t->states[e->state].kind != FLOW_STATE_VALUE)
		return bytes;
	uint64_t capacity = ((const struct entry_value *)(const void *)e->content)->capacity;
	return capacity == 0 ? bytes : bytes + slab_piece_size(capacity);
}

flow_status
entry_list_add(struct entry_list *list, entry *e)
{
	if (list->count == list->capacity) {
		uint64_t capacity = list->capacity == 0 ? 64 : list->capacity * 2;
		entry **items = memory_reallocate(list->items, capacity * sizeof(*items));
		if (items == NULL)
			return FLOW_E_MEMORY;
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = e;
	return FLOW_OK;
}

flow_status
entry_list_gone(struct entry_list *list, entry *e)
{
	if ((e->flags & ENTRY_GONE) != 0)
		return FLOW_OK;
	flow_status status = entry_list_add(list, e);
	if (status == FLOW_OK)
		e->flags |= ENTRY_GONE;
	return status;
}

flow_status
entries_reserve(task_state *t, uint64_t more)
{
	uint64_t lines = map_lines(&t->map);
	if (map_reserve(&t->map, t->map.count + more) != FLOW_OK)
		return FLOW_E_MEMORY;
	if (lines != map_lines(&t->map))
		t->hand = 0;
	struct entry_list *dirty = &t->dirty;
	if (dirty->capacity - dirty->count >= more)
		return FLOW_OK;
	uint64_t capacity = dirty->capacity * 2 > dirty->count + more ? dirty->capacity * 2 : dirty->count + more;
	entry **items = memory_reallocate(dirty->items, capacity * sizeof(*items));
	if (items == NULL)
		return FLOW_E_MEMORY;
	dirty->items = items;
	dirty->capacity = capacity;
	return FLOW_OK;
}

entry *
entry_insert(task_state *t, const struct entry_name *name)
{
	uint32_t content = t->states[name->state].content_size;
	uint64_t size = sizeof(entry) + content + name->key.size;
	entry *e = slab_allocate(&t->slab, size);
	if (e == NULL)
		return NULL;
	*e = (entry){ .hash = name->hash,
				  .space = name->space,
				  .key_size = (uint32_t)name->key.size,
				  .group = (uint16_t)key_group(name->key_hash, t->group_count),
				  .state = (uint8_t)name->state };
	memset(e->content, 0, content);
	memcpy(e->content + content, name->key.data, name->key.size);
	map_put(&t->map, e);
	return e;
}

void
entry_forget(task_state *t, entry *e)
{
	map_remove(&t->map, e);
	if (t->states[e->state].kind == FLOW_STATE_VALUE && entry_value_of(e)->capacity != 0)
		slab_release(&t->slab, entry_value_of(e)->data, entry_value_of(e)->capacity);
	slab_release(&t->slab, e, content_bytes(t, e));
}

/* Those of the list whose last freeze is one of the first `settled`; the others stay. */
static void
forget_absent(task_state *t, struct entry_list *list, uint32_t settled)
{
	uint64_t kept = 0;
	for (uint64_t i = 0; i < list->count; i++) {
		entry *e = list->items[i];
		int unused = (e->flags & (ENTRY_PRESENT | ENTRY_DIRTY)) == 0;
		if (unused && e->frozen > settled) {
			list->items[kept++] = e;
			continue;
		}
		e->flags &= (uint8_t)~ENTRY_GONE;
		if (unused)
			entry_forget(t, e);
	}
	list->count = kept;
}

static int
may_evict(const task_state *t, const entry *e)
{
	return (e->flags & (ENTRY_PRESENT | ENTRY_DIRTY)) == ENTRY_PRESENT && e->state < t->state_count &&
		   e->frozen <= t->settled;
}

/* One entry under the hand: it is forgotten if it was not used since the hand last came. */
static void
pass_entry(task_state *t, entry *e)
{
	if (e == NULL || !may_evict(t, e))
		return;
	if ((e->flags & ENTRY_USED) != 0) {
		e->flags &= (uint8_t)~ENTRY_USED;
		return;
	}
	entry_forget(t, e);
	t->lookup = 1;
}

/* Second chance: the hand passes a bounded number of lines of the map. */
static void
evict(task_state *t)
{
	for (uint32_t step = 0; step < EVICTION_LINES && task_state_bytes(t) > t->memory_limit; step++) {
		t->hand = (t->hand + 1) & t->map.mask;
		for (uint32_t i = 0; i < LINE_ENTRIES; i++)
			pass_entry(t, t->map.lines[t->hand].entries[i]);
	}
}

void
entries_tidy(task_state *t)
{
	uint32_t settled = atomic_load_explicit(&t->settle->settled, memory_order_acquire);
	if (t->gone.count != 0)
		forget_absent(t, &t->gone, UINT32_MAX);
	if (t->settled != settled) {
		t->settled = settled;
		forget_absent(t, &t->removed, settled);
	}
	if (t->memory_limit == 0 || t->backend.ops == NULL)
		return;
	uint64_t bytes = task_state_bytes(t);
	if (bytes > t->memory_limit / 4 * 3 && t->settled != t->freezes)
		atomic_store_explicit(&t->settle->awaited, 1, memory_order_relaxed);
	if (bytes > t->memory_limit)
		evict(t);
}
