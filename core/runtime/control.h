/*
 * runtime/control.h - the control thread: epochs, commits, and what a run goes on from. Private to this room.
 */
#ifndef RUNTIME_CONTROL_H
#define RUNTIME_CONTROL_H

#include "runtime/run.h"

/* control.c, epochs.c, commit.c, recovery.c. Failures are those of the whole run. */
/* Does what is due; *done 1: the attempt is over, run->outcome says how. *wait: microseconds until something is due by itself. */
flow_status control_poll(runtime *run, int *done, int64_t *wait, flow_error *error);
void epoch_start(runtime *run, int last);
flow_status epoch_complete(runtime *run, flow_error *error);
/* Commits the record's handles of all resumable outputs. */
flow_status commit_resumable(runtime *run, const checkpoint *record, int last, flow_error *error);
/* How far inputs that the host keeps no positions of were read, and by which of their tasks. */
typedef struct given_positions {
	const checkpoint_position *positions;
	const uint32_t *tasks;
	uint64_t count;
} given_positions;
/* Commits the one-phase output's transaction with the marker, and positions if it takes them. FLOW_E_CONFLICT: it is lost for
 * certain. */
flow_status commit_one_phase(runtime *run, const checkpoint *record, const given_positions *given, int last,
							 flow_error *error);
const plan_stream *one_phase_output(const runtime *run); /* NULL: none */
/* Drops what is prepared or under way and not in `keep` (NULL: keep nothing). */
flow_status commit_abort(runtime *run, const checkpoint *keep, uint32_t delivery, flow_error *error);
/* The transaction is lost for certain; its reason is taken out of `error`. The last applied epoch is restored in place, unless that
 * was tried again and again without one epoch that came through. */
flow_status restore_in_place(runtime *run, flow_error *error);
/* Whether the one-phase output's last marker is that of `epoch`; fences earlier processes. */
flow_status commit_find_marker(runtime *run, uint64_t epoch, int *found, int *equal, flow_error *error);
int crash_here(const runtime *run, int point, flow_status *status, flow_error *error);
flow_status recovery_open(runtime *run, flow_error *error);
flow_status recovery_settle(runtime *run, int *finished, flow_error *error);
/* Everything is committed and closed: the job is recorded as finished, as the last thing of all. A process that is killed before has a
 * job that another run ends at once; behind this, another run starts anew. */
flow_status recovery_finish(runtime *run, flow_error *error);
void recovery_close(runtime *run);
/* What the record is compared by later (recovery_plan.c). */
flow_status recovery_identities(runtime *run, arena *memory, checkpoint *record);
/* FRAME_* of a byte stream's output: a try with an encoder tells. What cannot be tried counts as written. */
int recovery_frame(const plan_stream *stream);
const checkpoint_identity *recovery_identity(const checkpoint *record, const checkpoint_identity *like);
/* The checkpoint must be of this plan, but for what is named with --drop-state. */
flow_status recovery_compare(runtime *run, const checkpoint *applied, flow_error *error);
const checkpoint_position *recovery_position(const runtime *run, const plan_stream *stream, flow_slice partition);
const checkpoint_handle *recovery_handle(const runtime *run, const plan_stream *stream, uint32_t task);
/* Handles of tasks that the job had and has no more: they go along into each checkpoint, and are committed with the others.
 * Returns how many; fills `handles` unless it is NULL. */
uint64_t recovery_carried(const runtime *run, checkpoint_handle *handles);
int64_t recovery_watermark(const runtime *run, const char *operator_name);
int output_prepares(const runtime *run, const plan_stream *stream);

/* Tests: the control thread stops dead at this point of the first checkpoint from this epoch on; 0: never. */
extern int runtime_crash_point;
extern uint64_t runtime_crash_epoch;
#define CRASH_BEFORE_WRITE 1 /* in the order of a checkpoint */
#define CRASH_AFTER_WRITE 2
#define CRASH_AFTER_ONE_PHASE_COMMIT 3
#define CRASH_AFTER_APPLY 4
#define CRASH_AFTER_COMMIT 5
#define CRASH_AFTER_MARK 6

#endif
