/*
 * flow/system.h - component kind `system`: where streams live (files, Kafka, a messaging store, memory).
 *
 * One system instance serves all its streams. From it the host opens sources (one per task and input), writers (one
 * per task and output) and one committer per output and process.
 *
 * Sources. A source owns the partitions that were assigned to it and fills builders: one batch = one partition. Each
 *   row has an ordinal that grows strictly within its partition. A *position* is opaque bytes, at most
 *   FLOW_POSITION_MAX, from which reading goes on exactly behind a given ordinal. The host stores positions.
 *   A source polls without blocking and calls `wake` when it has something again, or sets `blocking` in
 *   flow_source_info and gets a thread of its own for `read`.
 *   Self-assigned sources (flow_stream_description.self_assigned) share their input with other processes by what the system has for
 *   that, a consumer group. Each task's source is a member. The host keeps no positions of them: the system knows where the group
 *   goes on. A partition that is taken away is first listed no more (FLOW_CHANGED); the host calls source_revoke, finishes what is
 *   under way, tells source_committed, and then source_released: only then may it go to another member. Until then it must not be listed
 *   again. A source that cannot wait that long (its member was thrown out) gives it up and ignores what is still committed of it.
 *   Byte streams (FLOW_SYSTEM_BYTE_STREAMS): rows are pieces of the stream, `ordinal` is the offset of the piece's first
 *   byte in the (decompressed) stream; the host cuts records with the serde, and asks for positions at record ends.
 *
 * Sinks. Delivery is one of
 *   FLOW_DELIVERY_AT_LEAST_ONCE  needs only write and flush;
 *   FLOW_DELIVERY_IDEMPOTENT     writing a record twice is the same as once;
 *   FLOW_DELIVERY_RESUMABLE      prepare gives a handle that can be committed after a crash, and twice;
 *   FLOW_DELIVERY_ONE_PHASE      the prepared transaction dies with the process; it commits together with its marker.
 *   In each epoch: write*, prepare(epoch) on every writer -> handles; the host makes the checkpoint durable; then
 *   committer.commit(handles, marker). From prepare until the epoch is applied a one-phase writer answers FLOW_AGAIN.
 *   Order at start: committer_open; one-phase: last_marker; commit of the handles that the last checkpoint names and has not
 *   recorded as committed; abort (keep = the handles of that checkpoint); then writer_open for each task, with the handle that
 *   it goes on from (NULL: that task has written nothing yet). Where a job goes on with fewer tasks, the handles of those that
 *   are gone stay as they are and are committed with the others. Writers close before their committer. Handles never expire.
 *   Job and instance together name one running process: an instance is unique among the processes of a job, stable over restarts.
 */
#ifndef FLOW_SYSTEM_H
#define FLOW_SYSTEM_H

#include "flow/batch.h"
#include "flow/component.h"
#include "flow/host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FLOW_POSITION_MAX 65536u
#define FLOW_PARTITIONS_UNKNOWN (-1)

typedef struct flow_system flow_system;   /* the plugin's own structs behind these names */
typedef struct flow_source flow_source;
typedef struct flow_writer flow_writer;
typedef struct flow_committer flow_committer;

/* flow_stream_request.direction */
#define FLOW_DIRECTION_INPUT 1
#define FLOW_DIRECTION_OUTPUT 2

/* One stream as the configuration has it. */
typedef struct flow_stream_request {
	uint32_t struct_size;
	uint32_t direction;
	flow_slice id;            /* the stream's id */
	flow_slice physical_name; /* topic, path pattern ...; the id where none was set */
	const flow_options *options; /* scope "input" or "output" of the component */
	uint32_t bounded;         /* the stream's property: the host asks for an end */
	uint32_t offline;         /* describe: look at nothing outside of this process but local files (`flowd check`) */
	flow_slice job;           /* job name; tells temporaries of different jobs apart */
	flow_slice instance;      /* instance name, may be empty */
	/* output: what the configuration asks for: FLOW_DELIVERY_AT_LEAST_ONCE, whatever describe offers; 0: what it offers. */
	uint32_t delivery;
	uint32_t reserved;
	int64_t checkpoint_interval; /* of the job, microseconds: how long an epoch lasts; 0: not known */
} flow_stream_request;

/* What a system says about a stream at plan time. The caller sets struct_size, the system fills the rest. */
typedef struct flow_stream_description {
	uint32_t struct_size;
	uint32_t delivery;        /* output: FLOW_DELIVERY_*; 0 = at least once */
	int32_t partition_count;  /* FLOW_PARTITIONS_UNKNOWN: only known when opened */
	uint32_t bounded;         /* input: it ends by itself */
	/* Records that come or must come decoded: their schemas, released by the host; NULL: raw, a serde is needed. */
	const flow_schema *schema;
	const flow_schema *key_schema;
	uint32_t max_writers;     /* output: writers in parallel; 0 = any number */
	/* input of byte streams: 1: its first bytes may be read while planning (a CSV header), by opening a source and closing it again,
	 * which takes nothing away (flow_source_info.sample); with request->offline only where that looks at nothing but local files. */
	uint32_t sample;
	uint32_t self_assigned; /* input: 1: its partitions come from a consumer group, which other processes may be in too */
	/* output, one-phase: 1: its transaction takes the positions of self-assigned inputs of the same system (flow_marker.positions). */
	uint32_t takes_positions;
	/* output, one-phase: 1: all such outputs of this system are in one transaction. The committer of the first of them commits, with the
	 * handles of all, and is asked for the last marker; abort is called on each. */
	uint32_t shares_transaction;
	uint32_t takes_targets; /* output: 1: each record goes to the partition that flow_batch.target names, where there is one */
} flow_stream_description;

#define FLOW_DELIVERY_AT_LEAST_ONCE 1
#define FLOW_DELIVERY_IDEMPOTENT 2
#define FLOW_DELIVERY_RESUMABLE 3
#define FLOW_DELIVERY_ONE_PHASE 4

/* Where reading starts when there is no position. */
#define FLOW_START_OLDEST 1
#define FLOW_START_NEWEST 2 /* behind what is there now */

/* How the host hears of new work: call wake(wake_context) from any thread when read (or write) may go on. A wake is never lost
 * (also one that comes before FLOW_AGAIN was returned); it may be spurious, and come from inside a call. None after close
 * has begun. Valid until then. */
typedef struct flow_waker {
	uint32_t struct_size;
	uint32_t reserved;
	void (*wake)(void *wake_context); /* [any] */
	void *wake_context;
} flow_waker;

/* What the host tells when it opens a source, and what the source answers in it. */
typedef struct flow_source_info {
	uint32_t struct_size;
	uint32_t start;       /* in: FLOW_START_* */
	uint32_t task;        /* in: index of the task, 0 .. task_count - 1 */
	uint32_t task_count;  /* in */
	const flow_waker *waker; /* in: valid until close */
	uint32_t blocking;    /* out: read may block; give it a thread */
	uint32_t decoded;     /* out: batches come decoded under the described schema */
	/* in: 1: the plan shares this input by consumer group. out: 1: assignment comes from outside, see source_partitions. Where `in` is 0
	 * the source joins no group and lists everything, though it was described as self-assigned: a trial that commits nothing. */
	uint32_t self_assigned;
	uint32_t committed_by_output; /* in, self-assigned: an output's transaction commits its positions; source_committed only tells */
	uint32_t sample; /* in: it is opened while planning, to look at the first bytes; the job's source reads them again */
	uint32_t anew; /* in: 1: whatever the system remembers of earlier reading (what a group committed) does not count; begin at `start` */
} flow_source_info;

/* A partition of a source. */
typedef struct flow_partition {
	uint32_t struct_size;
	uint32_t index;      /* stable while the source is open; the batch's `partition` */
	flow_slice id;       /* stable over restarts: "3", "data/flights.csv"; key of its position in checkpoints */
	flow_slice place;    /* for people; may equal the id */
	const flow_schema *schema; /* decoded partitions with a schema of their own, or NULL */
	/* The number that people know it by, for dead letters: a topic's partition has another index where several topics are read, or where
	 * a group gives it. Without one the index counts. */
	uint32_t has_number;
	uint32_t number;
} flow_partition;

typedef struct flow_position {
	uint32_t struct_size;
	uint32_t reserved;
	flow_slice partition; /* its id */
	flow_slice bytes;     /* NULL data: none known, start at `start` */
} flow_position;

/* How far a partition of an input was used, in the words of the source that gave it. */
typedef struct flow_input_position {
	uint32_t struct_size;
	uint32_t task; /* of the source that read it: flow_source_info.task */
	flow_slice input; /* the stream's id */
	flow_slice partition;
	flow_slice bytes;
} flow_input_position;

/* Identifies one transaction of a one-phase sink. Only equality counts: that of job, instance, run and epoch. */
typedef struct flow_marker {
	uint32_t struct_size;
	uint32_t reserved;
	flow_slice job;
	flow_slice instance;
	uint8_t run_id[16]; /* random, made with the state */
	uint64_t epoch;
	/* commit, of an output that takes_positions: what the transaction commits with it, of all self-assigned inputs of its system.
	 * Borrowed until the call returns. */
	const flow_input_position *const *positions;
	uint64_t position_count;
} flow_marker;

typedef struct flow_handle {
	uint32_t struct_size;
	uint32_t task; /* of the writer that prepared it */
	flow_slice bytes; /* opaque */
} flow_handle;

/* A row that write had accepted and that was refused later. */
typedef struct flow_failed_row {
	uint32_t struct_size;
	flow_status status;
	const flow_batch *batch; /* that write was given */
	uint32_t row;            /* of the batch */
	uint32_t reserved;
	flow_slice reason;
} flow_failed_row;

/* Takes numbers that show how a source is doing. */
typedef struct flow_numbers {
	uint32_t struct_size;
	uint32_t reserved;
	/* [any] `partition` is an id, or empty: of the source as a whole. Names are snake_case, and mean the same in every system: "lag"
	 * (records behind the partition's end), "position", "committed", "end" (ordinals of the next record), "paused" (0 or 1), "rebalances",
	 * "queued" (records that are here and were not read yet), "records_lost" (that were gone before they could be read). */
	void (*add)(void *context, flow_slice partition, const char *name, int64_t value);
	void *context;
} flow_numbers;

typedef struct flow_system_ops {
	uint32_t struct_size;
	uint32_t reserved;

	/* [main] blocking-ok. `options` has scope "". Called before planning when streams must be described. */
	flow_status (*open)(const flow_host *host, const flow_options *options, flow_system **system, flow_error *error);
	void (*close)(flow_system *system); /* [main] blocking-ok; everything opened from it is closed */

	/* [main] blocking-ok unless request->offline. Checks the stream's options and says what the planner must know. FLOW_E_NOT_FOUND:
	 * said, but what the stream needs is not there, and may still come: a warning for outputs (`flowd check --connect`: an error), and
	 * for inputs where offline. */
	flow_status (*describe)(flow_system *system, const flow_stream_request *request,
	                        flow_stream_description *description, flow_error *error);
	/* [main] blocking-ok. Optional: makes a stream with so many partitions (0: its default). FLOW_E_EXISTS is fine. */
	flow_status (*create_stream)(flow_system *system, const flow_stream_request *request, int32_t partitions,
	                             flow_error *error);
	/* [any] blocking-ok. Optional: records up to these positions were used by this job and may go. */
	flow_status (*delete_committed)(flow_system *system, const flow_stream_request *request,
	                                const flow_position *const *positions, uint64_t count, flow_error *error);

	/* --- sources ------------------------------------------------------------------------------------------- */
	/* [main] blocking-ok. */
	flow_status (*source_open)(flow_system *system, const flow_stream_request *request, flow_source_info *info,
	                           flow_source **source, flow_error *error);
	/* [main] before tasks run, then [task] of this source after FLOW_CHANGED; blocking-ok. The partitions that exist now, all
	 * of them, whatever the task; with info->self_assigned only those that this source was given by the outside (a
	 * consumer group), else the host divides them over the tasks. Called on every source before its first assign. Indexes are
	 * never reused and only valid on this source. The array lives until the next call. */
	flow_status (*source_partitions)(flow_source *source, const flow_partition *const **partitions, uint64_t *count,
	                                 flow_error *error);
	/* [task] blocking-ok. Starts reading a partition at a position (bytes NULL: at info->start). */
	flow_status (*source_assign)(flow_source *source, uint32_t partition, flow_slice position, flow_error *error);
	/* [task] blocking-ok. Stops reading a partition; nothing of it comes any more, its position can still be asked. */
	flow_status (*source_revoke)(flow_source *source, uint32_t partition, flow_error *error);
	/* [task] Holds back / goes on with a partition; the source itself is still serviced. */
	void (*source_pause)(flow_source *source, uint32_t partition, int paused);
	/* [task] blocking-ok only if info->blocking. Adds rows of one partition to the (empty) builder and sets
	 * builder->partition. Called at least once a second, also when everything is paused.
	 * FLOW_OK: rows were added. FLOW_AGAIN: nothing now, wake will be called (or, blocking: the wait
	 * timed out; wait at most 100 ms). FLOW_END: builder->partition names an assigned partition that has ended for
	 * good; no rows. Rows of the last piece come with FLOW_OK before. FLOW_CHANGED: the partitions
	 * changed; a self-assigned one that is gone is released by the host: drained, checkpointed, source_released. On a failure the
	 * builder's rows are dropped: return the rows before it first. Retryable: read is called again after a pause. */
	flow_status (*source_read)(flow_source *source, flow_builder *builder, flow_error *error);
	/* [task] Writes the position from which the record behind `ordinal` is the next; `capacity` is FLOW_POSITION_MAX.
	 * Byte streams: `ordinal` is the offset of the first byte that has not been used. Others: the last row used;
	 * -1: none yet (the start that source_assign resolved); INT64_MAX: behind everything that was read. */
	flow_status (*source_position)(flow_source *source, uint32_t partition, int64_t ordinal, void *bytes,
	                               uint64_t capacity, uint64_t *size, flow_error *error);
	/* [task] blocking-ok. Optional: these positions are durable in a checkpoint (for systems that show progress). Self-assigned: everything
	 * in front of them has been delivered; the group goes on from them. [main] after all tasks have ended, for the last time. */
	flow_status (*source_committed)(flow_source *source, const flow_position *const *positions, uint64_t count,
	                                flow_error *error);
	/* [task] blocking-ok. Optional, self-assigned: everything of this partition is durable (source_committed came before); it may go to
	 * somebody else. [main] after all tasks have ended. */
	flow_status (*source_released)(flow_source *source, uint32_t partition, flow_error *error);
	/* [any] Optional: records and bytes still to come, for progress; -1 unknown. */
	void (*source_remaining)(flow_source *source, int64_t *records, int64_t *bytes);
	void (*source_close)(flow_source *source); /* [main] blocking-ok */

	/* --- sinks --------------------------------------------------------------------------------------------- */
	/* [main] blocking-ok. `task` of `task_count` writers. `recovered` is NULL, or this task's handle of the checkpoint
	 * that the job resumes from (resumable sinks go on from it: the temporary is cut back to it). */
	flow_status (*writer_open)(flow_system *system, const flow_stream_request *request, uint32_t task,
	                           uint32_t task_count, const flow_handle *recovered, const flow_waker *waker,
	                           flow_writer **writer, flow_error *error);
	/* [task] blocking-ok. Takes selected rows from the `first`-th on; *accepted = how many (defined also on failure).
	 * FLOW_AGAIN: not all, wake follows. `statuses` is NULL or room for one status a selected row (statuses[i] is of the i-th
	 * selected row, preset to FLOW_OK); a failed row gets its status and counts as accepted. Batches are raw unless describe gave a
	 * schema: value and key cells are bytes or null. Keep a batch beyond the call by retaining it. */
	flow_status (*write)(flow_writer *writer, const flow_batch *batch, uint32_t first, uint32_t *accepted,
	                     flow_status *statuses, flow_error *error);
	/* [task] blocking-ok. Everything accepted is delivered (at least once) or synced, but for rows that failed_row tells. Also for write
	 * and prepare: of a one-phase writer FLOW_E_CONFLICT says that the transaction is lost for certain (abort follows, and the last
	 * applied epoch is restored), FLOW_E_FENCED that a newer instance runs. */
	flow_status (*flush)(flow_writer *writer, flow_error *error);
	/* [task] blocking-ok. Resumable and one-phase: closes the epoch; what was written since the last prepare is synced.
	 * *handle is copied by the host before the next call on this writer. `last` is 1 when nothing will follow. */
	flow_status (*prepare)(flow_writer *writer, uint64_t epoch, int last, flow_slice *handle, flow_error *error);
	/* [main] blocking-ok. What was written behind the last prepare is dropped (one-phase: abort comes before). */
	void (*writer_close)(flow_writer *writer);

	/* [main] blocking-ok. One per output and process. */
	flow_status (*committer_open)(flow_system *system, const flow_stream_request *request, flow_committer **committer,
	                              flow_error *error);
	/* [control] blocking-ok. Makes the handles' data visible (where only the end does: notes them). Resumable: idempotent.
	 * `last`: these are the job's last handles. One-phase: commits transaction and marker together. One call has the handles of all
	 * writers, also empty ones; it comes each epoch. A failure that is retryable: the same call comes again. FLOW_E_CONFLICT
	 * (one-phase): the transaction is lost for certain; abort follows and the last applied epoch is restored. FLOW_E_FENCED: a newer
	 * instance runs; the process ends. Anything else: the outcome is unclear; last_marker settles it. */
	flow_status (*commit)(flow_committer *committer, const flow_handle *const *handles, uint64_t count,
	                      const flow_marker *marker, int last, flow_error *error);
	/* [control] blocking-ok. Drops everything of this job that is prepared or under way and not among `keep` (one-phase: keep is
	 * empty). While tasks run: no writer call is under way, none follows until it returned; writers stay open, the next
	 * write belongs to a new epoch. */
	flow_status (*abort)(flow_committer *committer, const flow_handle *const *keep, uint64_t count, flow_error *error);
	/* [control] blocking-ok. One-phase: fences earlier instances with the job and instance of `expected`, then reads their last
	 * committed marker, of whatever run. *found = 0: none. What `last` points at lives until the next call. */
	flow_status (*last_marker)(flow_committer *committer, const flow_marker *expected, flow_marker *last, int *found,
	                           flow_error *error);
	void (*committer_close)(flow_committer *committer); /* [main] blocking-ok */

	/* --- since 0.2 ---------------------------------------------------------------------------------------- */
	/* [task] Optional: rows that write had accepted and that were refused for good since, one a call. FLOW_OK: *failed is filled, and
	 * lives until the next call on this writer; FLOW_END: no more. The host asks when the writer has woken it, and in front of and
	 * behind flush and prepare; each row is then rejected as if write had refused it. The caller sets struct_size. */
	flow_status (*failed_row)(flow_writer *writer, flow_failed_row *failed, flow_error *error);
	/* [any] Optional: how this source is doing, for people and monitors: its lag, say. May come at any time between open and close. */
	void (*source_numbers)(flow_source *source, const flow_numbers *numbers);
} flow_system_ops;

#ifdef __cplusplus
}
#endif
#endif
