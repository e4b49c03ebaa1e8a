/*
 * state/checkpoint_store.h - what the rooms of the checkpoint store share: opening and reading (checkpoint_open.c), changes
 * (checkpoint.c), and dropping state (checkpoint_drop.c).
 *
 * The store holds the applied record, perhaps a pending one, and whether the applied one's handles are committed: in one file, or
 * in the store component. The two differ in how a change of these reaches the disk: as one new file, or as one synced batch.
 *
 * Threads: the control thread.
 */
#ifndef STATE_CHECKPOINT_STORE_H
#define STATE_CHECKPOINT_STORE_H

#include "base/memory.h"
#include "state/checkpoint.h"
#include "state/checkpoint_segments.h"
#include "state/directory.h"

#define SPACE_STATE 0
#define SPACE_RECORDS 1
#define SPACE_SEGMENTS 2
#define SPACE_COUNT 3

#define COMMITTED_SIZE 13 /* epoch, finished, CRC32C */

/* One record: its bytes and what they say. */
struct slot {
	arena *memory;
	checkpoint *record; /* NULL: none */
	flow_slice bytes;
};

struct checkpoint_store {
	state_directory directory;
	checkpoint_store_request request;
	const flow_store_ops *ops; /* NULL: one file */
	state_backend backend;
	struct slot applied;
	struct slot pending;
	struct segments segments; /* of the store */
	int unsure;               /* a write failed: what is on disk is unknown until it is read again */
};

/* checkpoint_open.c ---------------------------------------------------------------------------------------------------- */

flow_status checkpoint_out_of_memory(flow_error *error);
void checkpoint_slot_clear(struct slot *slot);
/* Decodes a copy of `bytes` (empty: no record) into the slot, which is as it was after a failure. */
flow_status checkpoint_slot_set(struct slot *slot, flow_slice bytes, flow_error *error);
flow_status checkpoint_open_store(checkpoint_store *s, flow_error *error); /* the component's */
void checkpoint_close_store(checkpoint_store *s);

flow_store_write checkpoint_make_write(uint32_t kind, uint32_t space, flow_slice key, flow_slice value);
/* Writes of a record, by its name in SPACE_RECORDS. */
flow_store_write checkpoint_put_record(const char *name, flow_slice bytes);
flow_store_write checkpoint_delete_record(const char *name);

/* checkpoint.c --------------------------------------------------------------------------------------------------------- */

/* FLOW_E_CONFLICT when a write failed before. */
flow_status checkpoint_check_sure(const checkpoint_store *s, flow_error *error);
/* One atomic, synced change of the disk: new bytes of both records (empty: none), with the store's other writes. */
flow_status checkpoint_persist(checkpoint_store *s, flow_slice applied, flow_slice pending,
							   const flow_store_write *writes, uint64_t count, flow_error *error);
/* Takes over what was persisted. Memory that fails here only means reading it back. */
flow_status checkpoint_adopt(checkpoint_store *s, struct slot *slot, flow_slice bytes, flow_error *error);
/* The record's bytes with the run's id; the caller destroys the buffer. NULL: failed. */
flow_buffer *checkpoint_encode_stamped(const checkpoint_store *s, const checkpoint *record, flow_error *error);

#endif
