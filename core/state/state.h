/*
 * state/state.h - keyed state and timers of one task, and the store that holds checkpoints.
 *
 * A task's state is a hash map of entries over the checkpoint store: reads fill it, writes mark entries dirty. At a
 * barrier state_freeze() copies the dirty entries (and timers) into one delta, in time proportional to what changed;
 * the task goes on at once. The checkpoint room writes the deltas of all tasks, positions and handles as one atomic,
 * synced batch. Clean entries are a cache and are evicted over the task's share of the memory budget; when the dirty
 * ones alone exceed it, state_pressed() asks for an early checkpoint.
 *
 * Entry key in the store: state id (u32 big-endian), key group (u16 big-endian), canonical key bytes length (u32
 * big-endian), key bytes, space (i64 big-endian, sign flipped); timers have their time as the space and one byte with
 * their kind behind it. So a key group of a state is one range, and rescaling reads ranges.
 *
 * Threads: a task_state belongs to its task; checkpoint_* to the control thread.
 */
#ifndef STATE_STATE_H
#define STATE_STATE_H

#include "base/batch.h"
#include "flow/function.h"
#include "flow/store.h"

typedef struct task_state task_state;
typedef struct state_delta state_delta; /* frozen changes of one task: a segment for the store */

/* The opened store of a job, or NULL functions for a job without keyed state. */
typedef struct state_backend {
	const flow_store_ops *ops;
	flow_store *store;
} state_backend;

typedef struct task_state_request {
	batch_pool *pool;
	const state_backend *backend;
	uint32_t operator_index;
	uint32_t state_id; /* of the operator's first state; state i has state_id + i; timers: state_id + state_count */
	const flow_state_declaration *const *states;
	uint32_t state_count;
	uint32_t first_group, last_group, group_count;
	uint64_t memory_limit; /* bytes; 0: none */
	uint32_t restored;     /* the store may hold entries: look there on a miss. 0: everything is new, a miss is final */
} task_state_request;

flow_status task_state_create(const task_state_request *request, task_state **state, flow_error *error);
void task_state_destroy(task_state *state);

/* The calls behind flow_context_ops; batches must have key_hash and key_bytes columns. */
flow_status task_state_slots(task_state *state, uint32_t index, const flow_batch *batch, const uint32_t *rows,
							 uint32_t count, const int64_t *spaces, int create, void **slots, uint8_t *created,
							 flow_error *error);
flow_status task_state_get(task_state *state, uint32_t index, const flow_batch *batch, const uint32_t *rows,
						   uint32_t count, const int64_t *spaces, flow_slice *values, flow_error *error);
flow_status task_state_put(task_state *state, uint32_t index, const flow_batch *batch, const uint32_t *rows,
						   uint32_t count, const int64_t *spaces, const flow_slice *values, flow_error *error);
flow_status task_state_remove(task_state *state, uint32_t index, const flow_batch *batch, const uint32_t *rows,
							  uint32_t count, const int64_t *spaces, flow_error *error);
/* Every key with state in this task, in batches of key rows. */
flow_status task_state_each_key(task_state *state, const flow_schema *key_schema,
								flow_status (*visit)(void *self, const flow_batch *keys, flow_error *error), void *self,
								flow_error *error);

flow_status task_timers_register(task_state *state, uint32_t kind, const flow_batch *batch, const uint32_t *rows,
								 uint32_t count, const int64_t *times, flow_error *error);
flow_status task_timers_delete(task_state *state, uint32_t kind, const flow_batch *batch, const uint32_t *rows,
							   uint32_t count, const int64_t *times, flow_error *error);
/* Takes up to a batch of timers of `kind` with time <= `now`, ascending by time (equal times: by key bytes); *due NULL:
 * none. The batch has key, key_hash, key_bytes and timestamp columns. */
flow_status task_timers_due(task_state *state, uint32_t kind, int64_t now, const flow_schema *key_schema,
							flow_batch **due, flow_error *error);
/* Earliest timer of `kind`; INT64_MAX: none. */
int64_t task_timers_next(const task_state *state, uint32_t kind);

/* The changes since the last freeze. Of this and every other call: after FLOW_E_MEMORY the state can only be destroyed.
 * */
flow_status task_state_freeze(task_state *state, state_delta **delta, flow_error *error);
/* True when what changed alone takes half of memory_limit (freezing copies it): ask for an early checkpoint. */
int task_state_pressed(const task_state *state);
uint64_t task_state_bytes(const task_state *state);
uint64_t task_state_entries(const task_state *state);

/* Its changes as a segment (state/segment.h), and how many. Bytes live until state_delta_shrink. */
flow_slice state_delta_segment(const state_delta *delta);
uint64_t state_delta_count(const state_delta *delta);
/* True when the task's memory is short: it waits for state_delta_settle. */
int state_delta_is_awaited(const state_delta *delta);
void state_delta_shrink(state_delta *delta); /* frees the bytes */
/* [any] Tells the task that the store finds by key what this delta and all before it had, so that it may forget it and look there;
 * the delta is gone. The task may be gone. Deltas of a task are settled in their order. */
void state_delta_settle(state_delta *delta);
void state_delta_release(state_delta *delta); /* [any] without telling. NULL is allowed. */

#endif
