/*
 * runtime/run.h - a run and its attempts: how the parts hold together. Private to this room.
 *
 * A run has one task for each stage and index. The control thread (the one in runtime_run) counts epochs, writes checkpoints and
 * commits. Everything of one attempt belongs to its topology and is freed by topology_destroy.
 */
#ifndef RUNTIME_RUN_H
#define RUNTIME_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/batch.h"
#include "base/error.h"
#include "runtime/runtime.h"
#include "runtime/task.h"

/* What sources tell for a report; what there is no memory for is left out. */
typedef struct input_gathering {
	arena *memory;
	input_status *inputs;
	uint32_t input_count;
	input_number *numbers;
	uint32_t number_count, number_capacity;
	input_status *input; /* of the source that is asked */
} input_gathering;

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

/* state_directory becomes a new folder; what killed runs left is removed (throwaway.c). */
flow_status throwaway_open(runtime *run, flow_error *error);
void throwaway_close(runtime *run);

/* tables.c */
flow_status tables_open(runtime *run, flow_error *error);
void tables_close(runtime *run);
flow_status tables_flush(runtime *run, flow_error *error);

#endif
