/*
 * state/checkpoint_segments.h - the segments that a state directory holds (state/segment.h), and when they are folded.
 *
 * A segment's key in its space of the store is the epoch and a number, big-endian. Segments up to the applied epoch belong to the
 * state; those of a pending epoch are kept or deleted with it. They are folded when they would cost more than they spare: when they
 * have grown to a few times of what folding them leaves, or when a task's memory is short, since a task keeps in memory what the
 * store does not find by key.
 *
 * Threads: the control thread.
 */
#ifndef STATE_CHECKPOINT_SEGMENTS_H
#define STATE_CHECKPOINT_SEGMENTS_H

#include "state/segment.h"
#include "state/state.h"

struct segment {
	uint64_t epoch;
	uint32_t number;
	uint64_t weight; /* its bytes, and those that its entries cost a task */
	state_delta
		*delta; /* its task hears of it when it is folded; NULL: of an earlier run, or not the delta's last piece */
};

struct segments {
	struct segment *items; /* ascending by epoch and number */
	uint64_t count;
	uint64_t capacity;
	uint64_t left; /* weight of what the last fold left */
};

/* A growing list of writes for the store. */
struct store_writes {
	flow_store_write *items;
	uint64_t count;
	uint64_t capacity;
};

flow_status store_writes_add(struct store_writes *list, const flow_store_write *write); /* FLOW_E_MEMORY */

/* Looks which segments the store has. Deltas of before are released. */
flow_status segments_read(struct segments *s, const state_backend *backend, uint32_t space, flow_error *error);
/* Adds the deltas of an epoch as segments, and as writes of them; takes the deltas over, also on failure. Keys are of `memory`. */
flow_status segments_add(struct segments *s, uint32_t space, uint64_t epoch, state_delta *const *deltas, uint64_t count,
						 struct store_writes *writes, arena *memory);
/* Frees the bytes of deltas that are written. */
void segments_written(struct segments *s);
/* Writes that delete the segments from `epoch` on; and away from the list, once that is done. */
flow_status segments_delete(const struct segments *s, uint32_t space, uint64_t epoch, struct store_writes *writes,
							arena *memory);
void segments_forget(struct segments *s, uint64_t epoch);

/* True when segments of epochs up to this one are to be folded. */
int segments_are_due(const struct segments *s, uint64_t epoch);
/* Folds all segments of epochs up to this one: their newest changes as writes into `state_space`, and their deletion. `f` holds what
 * the writes point to. */
flow_status segments_fold(const struct segments *s, const state_backend *backend, uint32_t space, uint32_t state_space,
						  uint64_t epoch, fold *f, struct store_writes *writes, arena *memory, flow_error *error);
/* That was written: tasks hear of it. */
void segments_folded(struct segments *s, uint64_t epoch, const fold *f);
void segments_clear(struct segments *s);

#endif
