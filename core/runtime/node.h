/*
 * runtime/node.h - what runs an operator in a task: its inputs, its outputs, its driver. Private to this room.
 *
 * Nodes of one task call each other directly. They belong to their task's thread.
 */
#ifndef RUNTIME_NODE_H
#define RUNTIME_NODE_H

#include "runtime/counter.h"
#include "runtime/runtime.h"

typedef struct node node;
typedef struct task task;
typedef struct worker worker;
typedef struct channel channel;
typedef struct outbox outbox;
typedef struct topology topology;
typedef struct dead_letter_outbox dead_letter_outbox;
typedef struct task_report task_report;

/* One inflow of a node's input: a direct call or a channel. */
typedef struct port {
	int64_t watermark;
	uint8_t idle;
	uint8_t ended;
} port;

/* Where an output goes. */
typedef struct node_link {
	node *to; /* direct; NULL: through the outbox */
	uint32_t input;
	uint32_t port;
	outbox *box;
} node_link;

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

/* The place of the task for messages. Prefixes t->error with operator, stage and task, and returns `status`. */
flow_status node_failed(node *n, flow_status status);

/* What the kinds of operators do; what else is asked of sources and sinks. */
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

#endif
