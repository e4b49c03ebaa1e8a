/*
 * runtime/runtime.h - runs a plan: tasks on workers, exchanges between them, checkpoints, delivery, dead letters.
 *
 * One call, runtime_run, from start to end. Progress is read by another thread through runtime_status.
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include "graph/plan.h"

typedef struct runtime runtime;

typedef struct runtime_request {
	const plan *plan;
	const flow_host *host;
	const char *state_directory;
	const char *const *drop_states; /* names of --drop-state; NULL-terminated, or NULL */
	uint64_t limit;                 /* records per input; 0: none. Throwaway state, nothing committed */
	/* Records that outputs take, all together (dead letters apart); then all inputs count as ended. 0: no limit. Throwaway state. */
	uint64_t output_limit;
	uint32_t
		throwaway; /* a run that nobody goes on with: its state is gone with it, and what it wrote too unless it finishes */
	uint32_t dry_sink; /* nothing is written */
	uint32_t fresh;
	uint32_t deterministic; /* one thread, virtual clock, seed */
	uint64_t seed;
	const char *record_errors_remedy; /* what a bad record's message ends with; NULL: "see record_errors" */
	uint32_t check_plugins;           /* the checking proxy between host and plugins */
} runtime_request;

/* How it ended. */
#define RUN_FINISHED 1    /* all inputs ended, everything is committed */
#define RUN_INTERRUPTED 2 /* drained and checkpointed after a stop */
#define RUN_FAILED 3

typedef struct operator_status {
	const char *name;
	const char *title;
	uint32_t kind;
	uint64_t records_in, records_out, bytes_in, bytes_out, rejected, late;
	uint64_t busy_microseconds; /* CPU of its task while in it; 0: not measured */
} operator_status;

/* What the system of an input tells of it: its lag, say. */
typedef struct input_number {
	uint32_t input;        /* plan stream */
	const char *partition; /* its id; NULL: of the input as a whole, summed over its tasks */
	const char *name;
	int64_t value;
} input_number;

typedef struct input_status {
	uint32_t input;                             /* plan stream */
	int64_t remaining_records, remaining_bytes; /* -1: unknown */
	int64_t lag;                                /* records, the sum over its partitions; -1: unknown */
} input_status;

typedef struct runtime_status_report {
	uint32_t state;       /* 0: starting, 1: running, 2: draining, then RUN_* + 10 */
	int64_t started;      /* microseconds since the epoch */
	int64_t elapsed;      /* microseconds */
	int64_t first_record; /* microseconds from start to the first record out of a source; -1: none yet */
	uint64_t records_in, records_out, bytes_in, bytes_out;
	uint64_t rejected, skipped, dead_letters, late;
	int64_t remaining_bytes, remaining_records; /* -1: unknown */
	uint64_t epoch;                             /* last that was committed */
	int64_t last_checkpoint_microseconds;       /* how long it took */
	uint64_t memory_bytes, memory_peak;
	uint64_t wakes; /* futex wakes */
	const operator_status *operators;
	uint32_t operator_count;
	const input_status *inputs;
	uint32_t input_count;
	const input_number *numbers; /* by input */
	uint32_t number_count;
} runtime_status_report;

/* Adds what the plan asks for and the runtime cannot do yet; due before runtime_create. */
void runtime_check(const plan *p, problems *list);
flow_status runtime_create(const runtime_request *request, runtime **run, flow_error *error);
/* Blocks until the end. *outcome is RUN_*; the error names stage, stream, partition and record. */
flow_status runtime_run(runtime *run, uint32_t *outcome, flow_error *error);
/* [any] and async-signal-safe: drain, checkpoint and end. A second call ends at once. */
void runtime_stop(runtime *run);
/* [any] Fills the report; its arrays belong to the runtime and are overwritten by the next call. */
void runtime_status(runtime *run, runtime_status_report *report);
void runtime_destroy(runtime *run);

#endif
