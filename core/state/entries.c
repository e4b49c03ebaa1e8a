/* The map of entries, and how entries are forgotten (state/internal.h). */
#include "base/key.h"
#include "base/memory.h"
#include "state/internal.h"

#define FIRST_CELLS 1024u
#define EVICTION_STEPS 4096u /* cells that the hand passes in one call */

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

static void
put_cell(uint64_t *cells, uint64_t mask, const entry *e)
{
	uint64_t i = e->hash & mask;
	while (cells[i] != 0)
		i = (i + 1) & mask;
	cells[i] = (e->hash >> 48) << 48 | (uint64_t)(uintptr_t)e;
}

static flow_status
grow_cells(task_state *t, uint64_t entries)
{
	uint64_t size = t->cells == NULL ? FIRST_CELLS : t->mask + 1;
	while (entries > size / 4 * 3)
		size *= 2;
	if (t->cells != NULL && size == t->mask + 1)
		return FLOW_OK;
	void *block;
	uint64_t *cells = large_allocate(size * sizeof(*cells), &block);
	if (cells == NULL)
		return FLOW_E_MEMORY;
	for (uint64_t i = 0; t->cells != NULL && i <= t->mask; i++) {
		if (t->cells[i] == 0)
			continue;
		/* Entries are read in the order of the old cells: ask for the one a few cells on. */
		if (i + 8 <= t->mask && t->cells[i + 8] != 0)
			__builtin_prefetch(cell_entry(t->cells[i + 8]));
		put_cell(cells, size - 1, cell_entry(t->cells[i]));
	}
	memory_release(t->cells_block);
	t->cells_block = block;
	t->cells = cells;
	t->mask = size - 1;
	t->hand = 0;
	return FLOW_OK;
}

flow_status
entries_reserve(task_state *t, uint64_t more)
{
	if (grow_cells(t, t->count + more) != FLOW_OK)
		return FLOW_E_MEMORY;
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
	put_cell(t->cells, t->mask, e);
	t->count++;
	return e;
}

/* Takes the cell out and moves those behind it up, so that no look-up stops too early. */
static void
remove_cell(task_state *t, uint64_t hole)
{
	uint64_t *cells = t->cells;
	for (uint64_t i = (hole + 1) & t->mask; cells[i] != 0; i = (i + 1) & t->mask) {
		uint64_t home = cell_entry(cells[i])->hash & t->mask;
		if (((i - home) & t->mask) >= ((i - hole) & t->mask)) {
			cells[hole] = cells[i];
			hole = i;
		}
	}
	cells[hole] = 0;
}

static void
release_entry(task_state *t, entry *e)
{
	if (t->states[e->state].kind == FLOW_STATE_VALUE && entry_value_of(e)->capacity != 0)
		slab_release(&t->slab, entry_value_of(e)->data, entry_value_of(e)->capacity);
	slab_release(&t->slab, e, content_bytes(t, e));
	t->count--;
}

void
entry_forget(task_state *t, entry *e)
{
	uint64_t i = e->hash & t->mask;
	while (cell_entry(t->cells[i]) != e)
		i = (i + 1) & t->mask;
	remove_cell(t, i);
	release_entry(t, e);
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

/* Second chance: the hand passes a bounded number of cells; what was not used since it last came is forgotten. */
static void
evict(task_state *t)
{
	for (uint64_t step = 0; step < EVICTION_STEPS && task_state_bytes(t) > t->memory_limit; step++) {
		t->hand = (t->hand + 1) & t->mask;
		uint64_t cell = t->cells[t->hand];
		if (cell == 0)
			continue;
		entry *e = cell_entry(cell);
		if (!may_evict(t, e))
			continue;
		if ((e->flags & ENTRY_USED) != 0) {
			e->flags &= (uint8_t)~ENTRY_USED;
			continue;
		}
		remove_cell(t, t->hand);
		release_entry(t, e);
		t->lookup = 1;
		t->hand = (t->hand - 1) & t->mask; /* another one may have moved up */
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
