/*
 * runtime/internal.h - the parts of a run and how they hold together. Private to this room.
 *
 * A run has one task for each stage and index. A task is a chain of nodes (one for each operator of the stage) that call each
 * other directly, channels that come in from other tasks, and outboxes that go out to them. A worker is a thread with some
 * tasks. The control thread (the one in runtime_run) counts epochs, writes checkpoints and commits.
 *
 * Ownership: everything of one attempt belongs to its topology and is freed by topology_destroy. Threads: a task and its nodes
 * belong to their worker's thread; members that others touch are atomic.
 */
#ifndef RUNTIME_INTERNAL_H
#define RUNTIME_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/batch.h"
#include "base/error.h"
#include "base/ring.h"
#include "runtime/runtime.h"
#include "state/checkpoint.h"
#include "state/state.h"

typedef struct node node;
typedef struct task task;
typedef struct worker worker;
typedef struct outbox outbox;
typedef struct topology topology;
typedef struct dead_letter_outbox dead_letter_outbox;

/* --- counters: written by one thread, read by any ------------------------------------------------------------- */

typedef _Atomic uint64_t counter;

static inline uint64_t
counter_get(const counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

static inline void
counter_add(counter *c, uint64_t more)
{
	atomic_store_explicit(c, counter_get(c) + more, memory_order_relaxed);
}

/* --- what goes through channels: batches, and control words that need no memory ---------------------------------- */

#define ITEM_BATCH 0u /* the pointer itself; batches are 8-byte aligned */
#define ITEM_WATERMARK 1u
#define ITEM_BARRIER 2u
#define ITEM_END 3u
#define ITEM_IDLE 4u /* payload 1: idle, 0: live again */
#define ITEM_PARTITION                                                                                                 \
	5u /* of a source: payload its number, its input from bit 32 on, and PARTITION_* from bit 48 on */
#define ITEM_TAG_BITS 3
#define NO_INFLOW UINT32_MAX
#define ITEM_PAYLOAD_MAX (((int64_t)1 << 60) - 1) /* 36,000 years in microseconds */

static inline void *
item_make(unsigned tag, int64_t payload)
{
	return (void *)(((uintptr_t)payload << ITEM_TAG_BITS) | tag);
}

static inline unsigned
item_tag(const void *item)
{
	return (unsigned)((uintptr_t)item & ((1u << ITEM_TAG_BITS) - 1));
}

static inline int64_t
item_payload(const void *item)
{
	return (intptr_t)item >> ITEM_TAG_BITS;
}

/* --- one inflow of a node's input: a direct call or a channel ------------------------------------------------------ */

typedef struct port {
	int64_t watermark;
	uint8_t idle;
	uint8_t ended;
} port;

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): what both sides write stands on lines of its own */
typedef struct channel {
	ring items;
	task *producer;
	task *consumer;
	node *to;
	uint32_t input;
	uint32_t port;
	uint8_t aligned;   /* consumer: the barrier of the epoch under way was taken, nothing behind it */
	uint8_t bootstrap; /* its end counts for the bootstrap gate */
	uint8_t tells;     /* which partitions are live comes through it; their rows stay apart */
	uint8_t told;      /* consumer: all that are there at the start were told */
	_Alignas(64) atomic_int producer_waits; /* the ring was full */
} channel;

/* --- exchanges ------------------------------------------------------------------------------------------------------ */

/* What did not fit into a ring, in order. */
typedef struct held_items {
	void **items;
	uint32_t first, count, capacity;
} held_items;

/* The rows that are gathered for one consumer until they are worth a batch. */
typedef struct gathering {
	flow_builder *builder;
	uint64_t *hash;
	flow_slice *bytes;
	const flow_schema *schema; /* borrowed from the batches that are kept */
	const flow_schema *key_schema;
	uint32_t columns;                  /* FLOW_COLUMN_* and GATHER_HASH */
	uint32_t input, partition, number; /* of the partition, for people */
	flow_slice place;                  /* likewise borrowed */
} gathering;

typedef struct outbox_target {
	channel *channel;
	gathering rows;
	held_items held;
	int64_t watermark; /* to be sent behind the gathered rows */
	uint8_t watermark_waits;
	uint8_t wake_waits;
	int64_t last_wake;
} outbox_target;

struct outbox {
	task *task;
	uint32_t partitioning; /* EDGE_* */
	uint32_t target_count;
	outbox_target *targets;
	uint32_t *group_target; /* EDGE_KEY: target of each key group */
	uint32_t group_count;
	uint32_t next;    /* EDGE_SHUFFLE */
	uint32_t *counts; /* scratch of the split: rows of each target, row numbers */
	uint32_t *sorted;
	uint32_t *target_of;
	uint32_t scratch_rows;
	flow_builder *memory; /* of the selections */
	uint8_t ended;
	uint8_t tells;     /* event time is assigned behind it: rows of one partition stay apart, and partitions are told */
	int64_t watermark; /* last that was sent to all */
	int64_t gathered_since; /* monotonic microseconds; 0: nothing gathered */
};

/* Where an output goes. */
typedef struct node_link {
	node *to; /* direct; NULL: through the outbox */
	uint32_t input;
	uint32_t port;
	outbox *box;
} node_link;

/* --- nodes ------------------------------------------------------------------------------------------------------------ */

typedef struct node_input {
	port *ports;
	uint32_t port_count;
	uint32_t ended_count;
	int64_t watermark;
	uint8_t idle;
	uint8_t ended;
} node_input;

typedef struct node_output {
	node_link *links;
	uint32_t link_count;
} node_output;

struct task_report;

/* What a kind of operator does. All functions but process are optional. They return a failure after filling n->task->error. */
typedef struct node_driver {
	flow_status (*open)(node *n);
	flow_status (*process)(node *n, uint32_t input, const flow_batch *batch);
	/* One input's watermark has grown; called before event_time. */
	flow_status (*input_watermark)(node *n, uint32_t input, int64_t value);
	/* The node's event time (minimum over its inputs) has grown. NULL: passes it on. */
	flow_status (*event_time)(node *n, int64_t value);
	flow_status (*end_input)(node *n, uint32_t input);
	/* Adds to the report what belongs into the checkpoint. */
	flow_status (*barrier)(node *n, struct task_report *report, int last);
	/* Time has passed; returns FLOW_OK and sets n->deadline (monotonic microseconds, INT64_MAX: none). */
	flow_status (*tick)(node *n);
	void (*close)(node *n);
} node_driver;

struct node {
	const node_driver *driver;
	const plan_operator *op;
	task *task;
	void *self; /* the driver's */
	node_input inputs[2];
	node_output outputs[2];
	uint32_t input_count;
	uint32_t ended_inputs;
	int64_t event_time;
	int64_t deadline;
	uint8_t idle;
	uint8_t ended;
	uint8_t opened;
	uint8_t woken;     /* sources, sinks: the system called its waker */
	uint8_t bootstrap; /* fed by bootstrap inputs alone */
	counter records_in, records_out, bytes_in, bytes_out, rejected, skipped, dead_letters, late;
};

/* --- tasks ------------------------------------------------------------------------------------------------------------ */

/* A task's part of a checkpoint. Lives in its own arena. */
typedef struct task_report {
	uint64_t epoch;
	arena *memory;
	checkpoint_position *positions;
	uint64_t position_count, position_capacity;
	checkpoint_handle *handles;
	uint64_t handle_count, handle_capacity;
	checkpoint_watermark *watermarks;
	uint64_t watermark_count, watermark_capacity;
	state_delta **deltas;
	uint64_t delta_count, delta_capacity;
} task_report;

struct task {
	topology *topology;
	worker *worker;
	const plan_stage *stage;
	uint32_t index;
	node *nodes; /* topological, as in the stage */
	uint32_t node_count;
	channel **channels;
	uint32_t channel_count;
	uint32_t next_channel;
	outbox **outboxes;
	uint32_t outbox_count;
	dead_letter_outbox *dead_letters; /* NULL: none */
	flow_error error;
	void *shared;   /* the context of the application's functions */
	uint64_t epoch; /* last that was reported */
	uint32_t held;  /* items in outboxes and sinks that wait for room */
	uint32_t ended_channels;
	uint32_t ended_nodes;
	uint32_t current_inflow; /* channel whose item is being processed; NO_INFLOW: a source's */
	uint8_t opened, closed, ended, failed;
	uint8_t has_shared;               /* the application's context was made */
	int64_t now;                      /* monotonic, at the start of the step */
	int64_t deadline;                 /* next time that something is due without anybody calling */
	_Atomic(task_report *) report;    /* to the control thread */
	_Atomic(task_report *) committed; /* from it: positions that are durable */
	atomic_int woken;                 /* flow_waker: sources and sinks may go on */
	counter busy;                     /* microseconds in steps */
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): others write `parked`, so it stands on a line of its own */
struct worker {
	topology *topology;
	uint32_t index;
	task **tasks;
	uint32_t task_count;
	pthread_t thread;
	uint8_t started;
	_Alignas(64) atomic_int parked; /* futex word */
};

/* What sources tell for a report; what there is no memory for is left out. */
typedef struct input_gathering {
	arena *memory;
	input_status *inputs;
	uint32_t input_count;
	input_number *numbers;
	uint32_t number_count, number_capacity;
	input_status *input; /* of the source that is asked */
} input_gathering;

/* --- the run ---------------------------------------------------------------------------------------------------------- */

typedef struct input_state {
	atomic_uint_fast64_t taken; /* records so far, with a limit */
	atomic_int live_partitions; /* assigned and not ended */
	atomic_int busy_sources;    /* sources of this input that have something: holds back lower priorities */
} input_state;

/* What an output's serde, as it is configured, writes around the records. */
#define FRAME_BEGIN 1
#define FRAME_END 2

typedef struct output_state {
	flow_committer *committer;
	int frame; /* FRAME_*; good if frame_known */
	int frame_known;
} output_state;

/* One attempt: built from the plan and the last checkpoint. */
struct topology {
	runtime *run;
	task *tasks;
	uint32_t task_count;
	uint32_t *first_task; /* of each stage */
	worker *workers;
	uint32_t worker_count;
	channel *channels;
	uint32_t channel_count;
	input_state *inputs; /* by stream */
	int sources_open;
	atomic_int bootstrap_left; /* ends that must still pass before the other inputs are read */
	atomic_int live_tasks;
	atomic_uint_fast64_t epoch_requested;
	atomic_int epoch_last; /* nothing follows behind the epoch under way */
	atomic_int reports_missing;
	atomic_int draining;  /* sources read no more */
	atomic_int ending;    /* workers leave their loops */
	atomic_int pressed;   /* dirty state is over its budget */
	atomic_int lost;      /* the one-phase output's transaction, as a writer says: the last applied epoch is restored */
	atomic_int releasing; /* partitions wait to be released: an epoch is due */
	atomic_int failed;
	atomic_uint_fast64_t written; /* records that outputs took, with a limit of them */
	atomic_int enough;            /* that limit is reached: inputs are read no more */
	pthread_mutex_t error_lock;
	flow_error error; /* the first failure */
};

typedef struct open_table {
	const flow_table_ops *ops;
	flow_table *table;
} open_table;

struct runtime {
	runtime_request request;
	const plan *plan;
	const flow_host *host;
	char *state_directory;
	int throwaway;
	int throwaway_lock; /* descriptor of its folder; -1: none */
	batch_pool *pool;
	checkpoint_store *store;
	arena *recovered_memory;
	const checkpoint *recovered; /* copy of the applied checkpoint; NULL: none */
	uint32_t *state_base;        /* by operator: first state id in the store */
	output_state *outputs;       /* by stream */
	open_table *tables;
	topology *topology;
	uint32_t attempt;
	uint64_t epoch;   /* last that was started */
	uint32_t outcome; /* RUN_* */
	uint32_t batch_rows;
	uint64_t batch_bytes, memory_limit, errors_logged;
	int64_t checkpoint_interval, shutdown_deadline;
	uint64_t random; /* deterministic mode */
	/* Control. */
	atomic_int control_signal; /* futex word */
	atomic_int stops;          /* calls of runtime_stop */
	int64_t epoch_started, epoch_due, drain_started;
	int epoch_open, epoch_is_last, drain_epoch, restore;
	uint32_t reopens;  /* tries to restore that found a system away, one after another */
	uint32_t restores; /* one after another, without an epoch that was committed in between */
	int ends_now;      /* without draining: the deadline has passed, or a second stop came */
	/* --check-plugins. */
	arena *proxies;
	char violation[1024]; /* the first; under status_lock */
	/* Status. */
	pthread_mutex_t status_lock;
	atomic_uint state;
	_Atomic int64_t started, started_monotonic, ended_monotonic;
	_Atomic int64_t first_record;
	counter committed_epoch, checkpoint_microseconds;
	atomic_uint_fast64_t wakes;
	atomic_uint_fast64_t skips_logged, lates_logged;
	operator_status *status_operators;
	input_gathering status_inputs; /* of the last report; as the operators they are its reader's until the next one */
	input_gathering kept_inputs;   /* what sources told before they were closed; under status_lock */
};

/* Tests: the control thread stops dead at this point of the first checkpoint from this epoch on; 0: never. */
extern int runtime_crash_point;
extern uint64_t runtime_crash_epoch;
#define CRASH_BEFORE_WRITE 1 /* in the order of a checkpoint */
#define CRASH_AFTER_WRITE 2
#define CRASH_AFTER_ONE_PHASE_COMMIT 3
#define CRASH_AFTER_APPLY 4
#define CRASH_AFTER_COMMIT 5
#define CRASH_AFTER_MARK 6

/* status.c: asks the sources that are open, for reports after they are closed. */
void status_keep_inputs(runtime *run);

/* topology.c */
flow_status topology_create(runtime *run, topology **made, flow_error *error);
void topology_destroy(topology *t);
flow_status topology_open(topology *t, flow_error *error); /* [main]: sources and writers */
void topology_close(topology *t);                          /* [main] */
node *topology_node(topology *t, uint32_t operator_index, uint32_t task_index);
/* Keeps the first failure (moved out of `error`) and stops all workers. */
void topology_fail(topology *t, flow_error *error);

/* task.c */
#define STEP_IDLE 0
#define STEP_PROGRESS 1
int task_step(task *t); /* STEP_*; after a failure t->failed is set */
void task_close(task *t);
void task_wake(task *t);           /* [any] something changed for it */
void task_hand_committed(task *t); /* what is durable goes to its sources; also after the task was closed */
/* The place of the task for messages. Prefixes t->error with operator, stage and task, and returns `status`. */
flow_status node_failed(node *n, flow_status status);
int task_reading_allowed(const task *t);

/* report.c: growing arrays of a report; FLOW_E_MEMORY. Contents are copied. */
task_report *report_create(uint64_t epoch);
void report_destroy(task_report *r); /* also its deltas */
flow_status report_position(task_report *r, const checkpoint_position *position);
flow_status report_handle(task_report *r, const checkpoint_handle *handle);
flow_status report_watermark(task_report *r, const checkpoint_watermark *watermark);
flow_status report_delta(task_report *r, state_delta *delta); /* takes it over, also on failure */

/* worker.c */
flow_status workers_start(topology *t, flow_error *error);
void workers_wake(topology *t);
/* After `ending` or `failed` was set. `ends_now`: a plugin's call that does not come back in a while ends the process. */
void workers_join(topology *t, int ends_now);
void worker_wake(worker *w); /* [any] */
void signal_wait(atomic_int *word, int expected, int64_t microseconds);
void signal_wake(atomic_int *word); /* async-signal-safe */

/* node.c */
flow_status node_process(node *n, uint32_t input, const flow_batch *batch);
flow_status node_emit(node *n, uint32_t output, const flow_batch *batch); /* borrows the batch */
/* The first `count` selected rows (fewer than there are) as a batch; NULL: out of memory. */
flow_batch *node_first_rows(runtime *run, const flow_batch *batch, uint32_t count);
flow_status node_watermark(node *n, uint32_t input, uint32_t port, int64_t value);
flow_status node_emit_watermark(node *n, int64_t value);
flow_status node_idle(node *n, uint32_t input, uint32_t port, int idle);
flow_status node_emit_idle(node *n, int idle);
flow_status node_end(node *n, uint32_t input, uint32_t port);
flow_status node_finish(node *n); /* all its inputs have ended: passes that on */

/* exchange.c, gather.c */
flow_status outbox_create(task *t, uint32_t partitioning, uint32_t target_count, uint32_t groups, outbox **made);
void outbox_destroy(outbox *o);
flow_status outbox_send(outbox *o, const flow_batch *batch);
flow_status outbox_watermark(outbox *o, int64_t value);
flow_status outbox_control(outbox *o, void *item); /* barrier, end, idle: to all, behind everything */
flow_status outbox_flush(outbox *o);               /* gathered rows, waiting watermarks and wakes go out */
int outbox_release_held(outbox *o);                /* 1: all of it went into the rings */
flow_status outbox_push(outbox *o, outbox_target *target, void *item);
flow_status gather_rows(outbox *o, outbox_target *target, const flow_batch *batch, const uint32_t *rows,
						uint32_t count);
flow_status gather_flush(outbox *o, outbox_target *target);
void *channel_take(channel *c); /* consumer: next item or NULL */

/* drivers */
extern const node_driver source_driver, sink_driver, function_driver, key_by_driver, event_time_driver, merge_driver;
flow_status source_attach(node *n, flow_error *error); /* [main] opens the source and assigns partitions; before open */
void source_detach(node *n);                           /* [main] */
int source_step(node *n);                              /* reads and decodes once: STEP_* */
int source_quiet(node *n);                             /* no other thread is in a call of the source: 1, or later */
void source_committed(node *n, const task_report *report);
/* Nothing can be written now: the source is only called so that it stays a member of its group and hears of changes. */
void source_serve(node *n);
void source_remaining(node *n, int64_t *records, int64_t *bytes);
void source_numbers(node *n, const flow_numbers *numbers);
flow_status sink_attach(node *n, flow_error *error);
void sink_detach(node *n);
int sink_release_held(node *n);        /* 1: nothing waits any more */
flow_status sink_take_failed(node *n); /* rows that the system refused after it had taken them */
/* Nothing will be written any more: waits until it is known what was refused. Blocks. */
flow_status sink_settle(node *n);
/* Tells the nodes behind a source, through exchanges too, which of its partitions are live. */
#define PARTITION_LIVE 1
#define PARTITION_ENDED 2
#define PARTITION_GONE 3 /* to another process */
#define PARTITION_TOLD 4 /* no partition: all that there are at the start were told */
flow_status event_time_partition(node *source, uint32_t partition, int what);
#define NO_PARTITION UINT32_MAX
/* The same from a channel. */
flow_status event_time_told(channel *c, int64_t payload);
/* The operator's rows still have the partition that they came from: what timers write has none. */
int operator_keeps_partitions(const plan_operator *op);

/* record_errors.c, dead_letters.c */
typedef struct record_error {
	flow_status status;
	flow_slice reason;
	flow_slice field;
	flow_slice raw;
	flow_slice key; /* as it came, where it is what cannot be read */
	flow_slice place;
	uint32_t input;    /* UINT32_MAX: none */
	int64_t partition; /* the number that people know it by; -1: none */
	int64_t ordinal;
	int has_ordinal;
	uint64_t line;
	const flow_batch *batch; /* the operator's input and row, for `raw` where it is empty; or NULL */
	uint32_t row;
} record_error;
/* Applies the policy (RECORD_ERRORS_*). FLOW_OK: go on with the next record. */
flow_status record_error_handle(node *n, uint32_t policy, const record_error *what);
flow_status record_error_of_row(node *n, const flow_batch *batch, uint32_t row, flow_status status, flow_slice reason);
flow_status dead_letters_add(node *n, const record_error *what);
flow_status dead_letters_flush(task *t); /* rows so far go out */
flow_status dead_letters_open(task *t, outbox *box);
void dead_letters_close(task *t);

/* control.c, epochs.c, commit.c, recovery.c: the control thread. Failures are those of the whole run. */
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
/* state_directory becomes a new folder; what killed runs left is removed (throwaway.c). */
flow_status throwaway_open(runtime *run, flow_error *error);
void throwaway_close(runtime *run);
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

/* keys.c: computes the key columns of a batch that nobody else has yet; `memory` is empty afterwards. */
flow_status batch_key_columns(flow_batch *batch, flow_builder *memory);
/* A set of key hashes, for the check that an output keeps the key of its input. */
typedef struct key_set {
	uint64_t *slots; /* 0: free; a hash of 0 is kept as 1 */
	uint32_t mask;
} key_set;
flow_status key_set_fill(key_set *set, const flow_batch *batch); /* replaces what is in it */
int key_set_has(const key_set *set, uint64_t hash);
void key_set_clear(key_set *set);

/* tables.c */
flow_status tables_open(runtime *run, flow_error *error);
void tables_close(runtime *run);
flow_status tables_flush(runtime *run, flow_error *error);

#endif
