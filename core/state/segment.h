/*
 * state/segment.h - the changes of a task in one epoch as one piece of bytes, and how several of them become writes.
 *
 * A checkpoint writes what changed as *segments*: one value of the store for each task, whatever the number of keys. That costs the
 * store a hundredth of one write a key. Now and then the segments that are there are *folded* into the state proper: of each key its
 * newest change only. So a key that changes in every epoch is put once for many epochs.
 *
 * A segment is a sequence of: kind (1 byte, FLOW_STORE_PUT or FLOW_STORE_DELETE), size of the key and size of the value (4 bytes
 * each, little-endian), key, value. A key is in it once.
 */
#ifndef STATE_SEGMENT_H
#define STATE_SEGMENT_H

#include "base/arena.h"
#include "flow/store.h"

#define SEGMENT_HEAD 9

/* Writes a head; key and value go behind it. Returns their place. */
char *segment_put_head(char *to, uint32_t kind, uint32_t key_size, uint32_t value_size);
/* Cuts the first write off *rest; it points into it, its space is 0. 1: there was one; 0: the end; -1: damaged. */
int segment_next(flow_slice *rest, flow_store_write *write);
/* The first so many bytes of *rest, at a border of writes and at most `limit` (but one write at least); cuts them off. */
flow_slice segment_cut(flow_slice *rest, uint64_t limit);

/* Writes that are folded together; zeroed at the start. */
typedef struct fold {
	arena *memory; /* of the copies */
	flow_store_write *writes;
	uint64_t count;
	uint64_t capacity;
	uint64_t bytes;   /* of their keys and values */
	uint64_t *places; /* open addressing by the key's hash: its upper half, then index + 1 into `writes`; 0: free */
	uint64_t mask;
} fold;

/* Takes a segment's writes of keys that it does not have yet: newer segments go first. `copy` 0: the bytes stay until the fold is
 * cleared. FLOW_E_CORRUPT: the segment is damaged; FLOW_E_MEMORY. */
flow_status fold_take(fold *f, flow_slice segment, int copy);
/* In the order of keys, which the store takes at half the cost. Nothing can be taken behind it. */
void fold_sort(fold *f);
void fold_clear(fold *f);

#endif
