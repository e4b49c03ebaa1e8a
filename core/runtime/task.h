/*
 * runtime/task.h - tasks, their part of a checkpoint, and the workers that run them. Private to this room.
 *
 * A task is a chain of nodes with channels that come in from other tasks, and outboxes that go out to them; a worker is a thread with
 * some tasks. A task belongs to its worker's thread; members that others touch are atomic.
 */
#ifndef RUNTIME_TASK_H
#define RUNTIME_TASK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"
#include "runtime/node.h"
#include "state/checkpoint.h"
#include "state/state.h"

/* A task's part of a checkpoint. Lives in its own arena. */
struct task_report {
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
};

#define NO_INFLOW UINT32_MAX

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

/* task.c */
#define STEP_IDLE 0
#define STEP_PROGRESS 1
int task_step(task *t); /* STEP_*; after a failure t->failed is set */
void task_close(task *t);
void task_wake(task *t);           /* [any] something changed for it */
void task_hand_committed(task *t); /* what is durable goes to its sources; also after the task was closed */
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

#endif
