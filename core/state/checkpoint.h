/*
 * state/checkpoint.h - the checkpoint store of a job: one state directory, one process, one atomic write per epoch.
 *
 * Layout of the state directory: LOCK (pid of the owner, flock), FORMAT (version, job, run id), and either CHECKPOINT
 * (jobs without keyed state: one file, replaced atomically with sync, checksummed) or store/ (the store component:
 * space 0 keyed state and timers, space 1 the records below, spaces 2 and 3 puts and deletes that are pending).
 * tables/<name>/ belong to local tables. A job that gets its first keyed state takes its CHECKPOINT along into the
 * store; the way back needs `fresh`.
 *
 * A checkpoint record: format version, plan's state id with names for a readable difference, epoch, run id, time, positions
 * (input, partition id, position bytes, decoder state, ended), watermarks, prepared handles (output, task, bytes),
 * flags (final, finished); CRC32C at the end. Handles are committed after it is durable; checkpoint_mark_committed
 * records that.
 *
 * With a one-phase sink the record and deltas of N go to a pending area first (checkpoint_write with pending 1), are
 * applied when the sink has committed (checkpoint_apply), or dropped (checkpoint_drop).
 *
 * After a failed write it is unknown what is on disk: every further call fails until checkpoint_load, which reads it
 * again (and opens the store anew: destroy all task states and release all deltas before).
 *
 * Threads: the control thread. All calls may block.
 */
#ifndef STATE_CHECKPOINT_H
#define STATE_CHECKPOINT_H

#include "base/arena.h"
#include "state/state.h"

typedef struct checkpoint_store checkpoint_store;

typedef struct checkpoint_position {
	flow_slice input;     /* stream id */
	flow_slice partition; /* its id */
	flow_slice position;  /* empty (data NULL when read back): none known yet */
	flow_slice decoder;   /* saved decoder state; empty: none */
	uint32_t ended;
} checkpoint_position;

typedef struct checkpoint_handle {
	flow_slice output; /* stream id */
	uint32_t task;
	flow_slice bytes;
} checkpoint_handle;

typedef struct checkpoint_watermark {
	flow_slice operator_name;
	uint32_t task;
	int64_t value;
} checkpoint_watermark;

/* Names what a checkpoint depends on: `kind` is "state" (of an operator), "input" or "output". */
typedef struct checkpoint_identity {
	flow_slice kind;
	flow_slice name;
	flow_slice layout; /* key type and slot layouts, as text; inputs: empty; outputs: serde and schema */
	uint32_t state_id; /* ids stay with names over plans */
	uint32_t id_count; /* ids in use from state_id on: the operator's states and its timers; inputs: 0 */
} checkpoint_identity;

typedef struct checkpoint {
	uint64_t epoch;
	uint8_t run_id[16];
	uint32_t group_count;
	uint32_t final;     /* written after end_input had passed everything */
	uint32_t finished;  /* and all sinks committed it, and the run has ended */
	uint32_t committed; /* handles are committed and that is recorded */
	int64_t time;       /* when it was written, microseconds UTC; the store fills it in. 0: not known (format 1) */
	const checkpoint_identity *identities;
	uint64_t identity_count;
	const checkpoint_position *positions;
	uint64_t position_count;
	const checkpoint_handle *handles;
	uint64_t handle_count;
	const checkpoint_watermark *watermarks;
	uint64_t watermark_count;
} checkpoint;

typedef struct checkpoint_store_request {
	const char *directory;
	const char *job;             /* NULL: whichever the directory is of, for tools; FLOW_E_NOT_FOUND if there is none */
	const flow_component *store; /* NULL: a job without keyed state */
	const flow_options *store_options;
	const flow_host *host;
	int64_t cache_bytes;
	uint32_t fresh; /* discard what is there */
} checkpoint_store_request;

/* Creates the directory, locks it (FLOW_E_LOCKED names the owner's pid), opens or makes the store. A directory of
 * another job or a newer format is FLOW_E_CONFLICT, also with `fresh`. Component and options are used until the store
 * is closed. */
flow_status checkpoint_store_open(const checkpoint_store_request *request, checkpoint_store **store, flow_error *error);
void checkpoint_store_close(checkpoint_store *store);
const state_backend *checkpoint_store_backend(const checkpoint_store *store); /* ops NULL: none */
const uint8_t *checkpoint_store_run_id(const checkpoint_store *store); /* 16 bytes, random, made with the state */

/* The last applied one, and a pending one (each NULL: none); they live until the next call. A damaged record is
 * FLOW_E_CORRUPT with file and offset. */
flow_status checkpoint_load(checkpoint_store *store, const checkpoint **applied, const checkpoint **pending,
							flow_error *error);
/* One atomic, synced write of record and deltas; the store fills in the run id. `pending` 1: it counts when it is applied.
 * Epochs grow; FLOW_E_CONFLICT while an epoch is pending or the applied one has handles that are not recorded as
 * committed. Takes the deltas over, also on failure; their tasks hear of it when the store finds by key what is in them, which may be
 * many epochs later. */
flow_status checkpoint_write(checkpoint_store *store, const checkpoint *record, state_delta *const *deltas,
							 uint64_t delta_count, int pending, flow_error *error);
flow_status checkpoint_apply(checkpoint_store *store, flow_error *error); /* pending -> applied, synced */
flow_status checkpoint_drop(checkpoint_store *store, flow_error *error);  /* pending away, synced */
/* Makes the store find all applied state by key: before tasks are restored from it. */
flow_status checkpoint_fold(checkpoint_store *store, flow_error *error);
/* Records that the applied one's handles are committed; `finished` 1: the job is done. */
flow_status checkpoint_mark_committed(checkpoint_store *store, uint64_t epoch, int finished, flow_error *error);
/* Drops the state of one operator (`--drop-state NAME`); FLOW_E_NOT_FOUND names what there is. */
flow_status checkpoint_drop_state(checkpoint_store *store, const char *name, flow_error *error);
/* Discards everything, local tables included (close them before); a new run id. */
flow_status checkpoint_reset(checkpoint_store *store, flow_error *error);

/* Encoding of the record, for the fuzzer and `flowd state ls`. Decoding checks every length; texts of the record point
 * into `bytes`, the rest lies in `memory`. */
flow_status checkpoint_encode(const checkpoint *record, flow_buffer *buffer);
flow_status checkpoint_decode(flow_slice bytes, arena *memory, const checkpoint **record, flow_error *error);

#endif
