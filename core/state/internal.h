/*
 * state/internal.h - what the files of this room share: entries, the map that finds them, and the task's state.
 *
 * An entry is one (state, key, space) with its content. Entries lie in slabs and never move; the map (state/map.h) finds
 * them by their hash, so that a look-up of a batch costs two prefetched cache lines a row.
 *
 * An entry is present or absent, and clean or dirty (changed since the last freeze). A clean one may be forgotten once
 * the store finds by its key what the delta said that it was last in ("settled", which is when segments are folded): present ones
 * when memory is short, absent ones at the next call.
 *
 * Threads: all of this belongs to the task's thread; only state_delta and its `settle` counter cross over.
 */
#ifndef STATE_INTERNAL_H
#define STATE_INTERNAL_H

#include <stdatomic.h>

#include "state/map.h"
#include "state/state.h"

/* entry.flags */
#define ENTRY_PRESENT 1u
#define ENTRY_DIRTY 2u    /* in the dirty list */
#define ENTRY_STORED 4u   /* the store may hold it: its removal must be written */
#define ENTRY_USED 8u     /* since the clock's hand last passed */
#define ENTRY_LOADING 16u /* made by this call; what the store says is not known yet */
#define ENTRY_GONE 32u    /* in a list of absent ones to forget */

#define STATES_MAX 250u

typedef struct entry {
	uint64_t hash; /* of key, state and space: the place in the map */
	int64_t space; /* timers: the time */
	uint32_t key_size;
	uint16_t group;
	uint8_t state; /* index; timers: state_count + kind - 1 */
	uint8_t flags;
	uint32_t frozen; /* the freeze that it was last in; 0: none */
	uint32_t size;   /* FLOW_STATE_VALUE: bytes at data */
	char content[];  /* slot, or struct entry_value, or struct entry_timer; then the key */
} entry;

struct entry_value {
	char *data;
	uint64_t capacity;
};

struct timer_bucket;

struct entry_timer {
	struct timer_bucket *bucket;
	uint64_t place; /* in bucket->timers */
};

struct state_info {
	const char *name;
	uint32_t kind; /* FLOW_STATE_*; 0: timers */
	uint32_t slot_size;
	uint32_t content_size; /* the key stands behind it */
	uint32_t store_id;
};

/* Pieces of memory by size, from chunks; what is freed is used again for the same size. */
#define SLAB_CLASSES 28
struct slab {
	void *free_pieces[SLAB_CLASSES];
	char *next[SLAB_CLASSES]; /* of the class's current chunk */
	char *end[SLAB_CLASSES];
	uint32_t chunk_size[SLAB_CLASSES]; /* of its next one */
	struct slab_chunk *chunks;
	uint64_t used; /* bytes of pieces in use */
};

/* Zeroed memory that starts on a cache line, on huge pages where it is large: a map of random places wants few of them. *block is
 * what to release. */
void *large_allocate(uint64_t size, void **block);
void *slab_allocate(struct slab *slab, uint64_t size); /* 16-byte aligned; NULL: out of memory */
void slab_release(struct slab *slab, void *piece, uint64_t size);
uint64_t slab_piece_size(uint64_t size);
void slab_destroy(struct slab *slab);

/* What a task and its deltas tell one another; shared with them. */
struct settle {
	atomic_uint settled; /* freezes up to this one: the store finds their entries by key */
	atomic_uint awaited; /* the task's memory is short: it waits for that */
	atomic_uint references;
};

void settle_release(struct settle *settle);

struct entry_list {
	entry **items;
	uint64_t count;
	uint64_t capacity;
};

/* Timers of one kind (timers.c). */
struct timer_queue {
	struct timer_bucket **heap; /* earliest first */
	uint64_t heap_count;
	uint64_t heap_capacity;
	struct timer_bucket **by_time; /* open addressing by time */
	uint64_t by_time_mask;
	struct timer_bucket *last; /* the one found last */
};

struct task_state {
	batch_pool *pool;
	state_backend backend;
	struct state_info *states; /* state_count + 2 of timers */
	uint32_t state_count;
	uint32_t first_group, last_group, group_count;
	uint64_t memory_limit;
	int lookup; /* a miss must ask the store */
	flow_builder *scratch;
	struct slab slab;
	struct entry_map map;
	uint64_t present; /* entries that exist, timers aside */
	uint64_t hand;    /* of the clock: a line of the map */
	struct entry_list dirty;
	struct entry_list gone;    /* absent ones that nobody needs: forgotten at the next call */
	struct entry_list removed; /* absent ones that the store may still find: forgotten when that is settled */
	struct entry_list loading;
	uint64_t dirty_bytes;
	uint32_t freezes;
	uint32_t settled; /* as it was when last looked at */
	struct settle *settle;
	struct timer_queue timers[2];
};

/* One row of an access. */
struct entry_name {
	uint64_t hash;
	uint64_t key_hash;
	flow_slice key;
	int64_t space;
	uint32_t state;
};

/* The key's hash mixed anew, so that a walk over the map does not come by the keys in the order of their own hashes: to put them into
 * another table in that order takes quadratic time. */
static inline uint64_t
entry_hash(uint64_t key_hash, int64_t space, uint32_t state)
{
	uint64_t h = key_hash + (uint64_t)space * 0x9e3779b97f4a7c15u + (uint64_t)state * 0xc2b2ae3d27d4eb4fu;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	return h ^ (h >> 29);
}

/* Fills the hash from the other members. */
static inline void
entry_name_hash(struct entry_name *name)
{
	name->hash = entry_hash(name->key_hash, name->space, name->state);
}

static inline const char *
entry_key(const task_state *t, const entry *e)
{
	return e->content + t->states[e->state].content_size;
}

static inline struct entry_value *
entry_value_of(entry *e)
{
	return (struct entry_value *)(void *)e->content;
}

static inline struct entry_timer *
entry_timer_of(entry *e)
{
	return (struct entry_timer *)(void *)e->content;
}

static inline int
key_equal(const char *a, const char *b, uint32_t size)
{
	if (size < 8)
		return memcmp(a, b, size) == 0;
	uint64_t x, y, different = 0;
	for (uint32_t i = 0; i + 8 < size; i += 8) {
		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		different |= x ^ y;
	}
	memcpy(&x, a + size - 8, 8);
	memcpy(&y, b + size - 8, 8);
	return (different | (x ^ y)) == 0;
}

/* `content_size` is that of the name's state. */
static inline int
entry_is(const entry *e, const struct entry_name *name, uint32_t content_size)
{
	return e->hash == name->hash && e->space == name->space && e->state == name->state &&
		   e->key_size == name->key.size && key_equal(e->content + content_size, name->key.data, e->key_size);
}

/* NULL: there is none. */
static inline entry *
entry_find(const task_state *t, const struct entry_name *name)
{
	uint16_t tag = map_tag(name->hash);
	uint32_t content_size = t->states[name->state].content_size;
	for (uint64_t at = name->hash & t->map.mask;; at = (at + 1) & t->map.mask) {
		const struct map_line *line = &t->map.lines[at];
		for (uint32_t matches = map_matches(line, tag); matches != 0; matches &= matches - 1) {
			entry *e = line->entries[__builtin_ctz(matches)];
			if (entry_is(e, name, content_size))
				return e;
		}
		if (line->passed == 0)
			return NULL;
	}
}

/* entries.c */
/* Room for `more` entries in map and dirty list, so that the calls below do not fail for want of it. */
flow_status entries_reserve(task_state *t, uint64_t more);
/* A new absent entry, clean, in the map; reserved before. NULL: out of memory. Content is zeroed. */
entry *entry_insert(task_state *t, const struct entry_name *name);
void entry_forget(task_state *t, entry *e); /* out of map and memory */
uint64_t entry_bytes(const task_state *t, const entry *e);
flow_status entry_list_add(struct entry_list *list, entry *e);
/* Puts an absent, clean entry on one of the lists of those to forget. */
flow_status entry_list_gone(struct entry_list *list, entry *e);
/* At the start of each call: forgets what may be forgotten, and evicts when memory is short. */
void entries_tidy(task_state *t);

static inline void
entry_mark_dirty(task_state *t, entry *e)
{
	if ((e->flags & ENTRY_DIRTY) == 0) {
		t->dirty.items[t->dirty.count++] = e; /* room was reserved */
		t->dirty_bytes += entry_bytes(t, e);
	}
	e->flags |= ENTRY_DIRTY | ENTRY_USED;
}

/* keys of the store (store_key.c) */
#define STORE_KEY_HEAD 10
/* Bytes of an entry's key in the store, and the key itself. */
uint64_t store_key_size(const task_state *t, const entry *e);
void store_key_write(const task_state *t, const entry *e, char *to);
/* The range of a state's entries within the task's groups; 10 bytes each. */
void store_key_range(const task_state *t, uint32_t store_id, char *from, char *to);
typedef struct store_key {
	uint32_t group;
	flow_slice key;
	int64_t space;
	uint8_t kind; /* timers: FLOW_TIMER_* */
} store_key;
/* 0: this is no such key. */
int store_key_read(flow_slice bytes, int timer, store_key *key);
/* Calls `take` for each pair of a state in the store, in order. */
flow_status store_scan(const task_state *t, uint32_t store_id,
					   flow_status (*take)(void *self, flow_slice key, flow_slice value, flow_error *error), void *self,
					   flow_error *error);

/* timers.c */
flow_status timers_restore(task_state *t, flow_error *error);
void timers_destroy(task_state *t);
uint64_t timers_bytes(const task_state *t);

/* keys.c: batches of keys */
flow_status keys_read(const flow_schema *key_schema, flow_slice bytes, flow_builder *memory, flow_value *key);

#endif
