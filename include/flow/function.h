/*
 * flow/function.h - component kind `function`: process functions (one input, two inputs, two inputs of which one is
 * broadcast, two outputs), with state, timers and watermarks. Source of the model: FLIP-409 and its sister designs.
 *
 * Life: bind [main] at plan time (schemas, state, outputs are settled) -> open per task -> (process | timers |
 * watermark)* -> end_input once for each input -> close. One task calls one instance; calls never overlap.
 *
 * Output goes through flow_output: forward() passes an input batch on with columns replaced or rows left out, without
 * copying; builder()/push() makes new rows. A record that cannot be processed goes to context->ops->reject.
 *
 * State belongs to a partition: on a keyed input to the key of the row that is named with each access. There is no
 * hidden "current key". All access is by many rows in one call.
 */
#ifndef FLOW_FUNCTION_H
#define FLOW_FUNCTION_H

#include "flow/batch.h"
#include "flow/component.h"
#include "flow/host.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_function flow_function;

/* Shapes (flow_function_plan.shape). */
#define FLOW_SHAPE_ONE_INPUT 1
#define FLOW_SHAPE_TWO_INPUTS 2
#define FLOW_SHAPE_BROADCAST 3 /* input 1 is the broadcast side */
#define FLOW_SHAPE_TWO_OUTPUTS 4

/* Stream kinds (flow_function_input.stream). */
#define FLOW_STREAM_GLOBAL 1
#define FLOW_STREAM_KEYED 2
#define FLOW_STREAM_NON_KEYED 3
#define FLOW_STREAM_BROADCAST 4

/* State kinds. */
#define FLOW_STATE_VALUE 1 /* bytes */
#define FLOW_STATE_SLOT 2  /* slot_size bytes, changed in place: counters, sums */
#define FLOW_STATE_LIST 3      /* reserved: declared and checked, refused at run time until its calls exist */
#define FLOW_STATE_MAP 4       /* likewise */
#define FLOW_STATE_BROADCAST 5 /* likewise */
/* Redistribution. */
#define FLOW_REDISTRIBUTE_NONE 0 /* bound to its partition */
#define FLOW_REDISTRIBUTE_SPLIT 1
#define FLOW_REDISTRIBUTE_UNION 2
#define FLOW_REDISTRIBUTE_IDENTICAL 3

typedef struct flow_state_declaration {
	uint32_t struct_size;
	uint32_t kind;
	uint32_t redistribution;
	uint32_t slot_size; /* FLOW_STATE_SLOT: 8-byte aligned, zeroed when created */
	const char *name;   /* unique in the function; persisted */
	int64_t time_to_live; /* microseconds since the last write; 0: for ever */
	const char *layout; /* names the content's form ("sum:i128,count:i64"); a checkpoint with another one is refused */
} flow_state_declaration;

/* One input as the planner knows it. */
typedef struct flow_function_input {
	uint32_t struct_size;
	uint32_t stream; /* FLOW_STREAM_* */
	const flow_schema *schema;
	const flow_schema *key_schema; /* NULL: not keyed */
	flow_slice key_text;           /* the key expression as written ("carrier"); empty: none */
	uint32_t bounded;              /* it ends */
	uint32_t reserved;
} flow_function_input;

/* What bind settles. The caller sets struct_size and zeroes the rest; arrays belong to the function and live until it is
 * unbound. Schemas in it are retained by the host. */
typedef struct flow_function_plan {
	uint32_t struct_size;
	uint32_t shape;              /* 0 = FLOW_SHAPE_ONE_INPUT */
	const flow_schema *outputs[2]; /* the output's value schema; NULL for a function without that output */
	const flow_schema *output_keys[2]; /* NULL: as the input's key if the output stays keyed, else none */
	uint32_t keeps_key;          /* output rows have the key of their input row: stays keyed without a shuffle */
	uint32_t needs_keyed;        /* refuse an input that is not keyed */
	uint32_t needs_event_time;
	uint32_t uses_timers;
	uint32_t blocks; /* process may block: it runs on a thread of its own */
	uint32_t reserved;
	const flow_state_declaration *const *states; /* NULL-terminated, or NULL */
	/* Fields of input 0 and 1 that are read: one byte a field, or NULL: all. For projection. Fields that only pass
	 * through to an output that somebody reads are marked by the host with `passes`. */
	const uint8_t *reads[2];
	/* For each field of output 0: the field of input 0 that is passed on unchanged, or -1. NULL: none. */
	const int32_t *passes;
	/* The event time that the function assigns, or NULL: expression text, out-of-orderness in microseconds. The planner
	 * moves the assignment in front of the exchange before this function. */
	const char *event_time;
	int64_t out_of_order;
	int64_t idle_after; /* microseconds without records until a source counts as idle; 0: never */
	/* Tables used: names, NULL-terminated, or NULL. */
	const char *const *reads_tables;
	const char *const *writes_tables;
} flow_function_plan;

/* flow_context_ops.register_timers: kind */
#define FLOW_TIMER_EVENT 1
#define FLOW_TIMER_PROCESSING 2

/* Result of `watermark`. */
#define FLOW_WATERMARK_PEEK 0 /* the host handles it as declared (forward) */
#define FLOW_WATERMARK_POLL 1 /* the function owns it: not forwarded */
#define FLOW_WATERMARK_EVENT_TIME "flow.event_time"
#define FLOW_EVENT_TIME_END INT64_MAX /* event time behind the last record of a bounded input */

typedef struct flow_output flow_output;
typedef struct flow_context flow_context;

/* Columns that replace those of the parent in forward(). NULL: the parent's. Arrays have the parent's row_count
 * entries (those of unselected rows are not read) and lie in the output's memory. */
typedef struct flow_columns {
	uint32_t struct_size;
	uint32_t drop_key;             /* 1: the new batch has no keys */
	const flow_schema *schema;     /* NULL: the parent's */
	const flow_schema *key_schema;
	const flow_value *value;
	const flow_value *key;
	const int64_t *timestamp;
	const uint32_t *selection; /* NULL: the parent's; ascending, a subset of the parent's */
	uint32_t selected_count;
	uint32_t reserved;
} flow_columns;

struct flow_output {
	uint32_t struct_size;
	uint32_t index;
	/* [task] A builder for new rows. Ask again after each push. Never NULL. An output that keeps the key: add the key column and
	 * fill it for every row. The timestamp column is the event time; without it rows have none. */
	flow_builder *(*builder)(flow_output *output);
	/* [task] Hands on what is in the builder, if anything. The host also does it when the call into the function
	 * returns. Call it when flow_builder_full(). */
	flow_status (*push)(flow_output *output, flow_error *error);
	/* [task] Hands on a batch over the rows of `parent`. `columns` NULL: as it is. Pushes the builder first. */
	flow_status (*forward)(flow_output *output, const flow_batch *parent, const flow_columns *columns,
	                       flow_error *error);
	/* [task] Memory for column arrays and what they point at; it lives with the next batch of forward(). Ask again after
	 * each forward. */
	flow_builder *(*memory)(flow_output *output);
	void *host;
};

typedef struct flow_context_ops {
	uint32_t struct_size;
	uint32_t reserved;
	/* State. `rows` (row numbers of `batch`) are `count` many; `spaces` is NULL or one int64 a row: a second part of the
	 * state's name (the start of a window). Pointers stay valid until the next call on the context or the return from the
	 * function. Access to an undeclared state, or for a row without key, is an error. */
	/* [task] FLOW_STATE_SLOT. slots[i] may be read and changed; equal (key, space) give the same pointer. `create` 0: NULL
	 * where there is none. created[i] (may be NULL): 1 for the first row that made it. */
	flow_status (*slots)(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows,
	                     uint32_t count, const int64_t *spaces, int create, void **slots, uint8_t *created,
	                     flow_error *error);
	/* [task] FLOW_STATE_VALUE. data NULL: there is none. */
	flow_status (*get_many)(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows,
	                        uint32_t count, const int64_t *spaces, flow_slice *values, flow_error *error);
	flow_status (*put_many)(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows,
	                        uint32_t count, const int64_t *spaces, const flow_slice *values, flow_error *error);
	/* [task] Slots and values. Nothing there is fine. */
	flow_status (*remove_many)(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows,
	                           uint32_t count, const int64_t *spaces, flow_error *error);
	/* [task] Timers, identity (key, kind, time): registering twice fires once. times[i] in microseconds. A timer in the past
	 * fires at the next firing point. */
	flow_status (*register_timers)(flow_context *context, uint32_t kind, const flow_batch *batch, const uint32_t *rows,
	                               uint32_t count, const int64_t *times, flow_error *error);
	flow_status (*delete_timers)(flow_context *context, uint32_t kind, const flow_batch *batch, const uint32_t *rows,
	                             uint32_t count, const int64_t *times, flow_error *error);
	/* [task] Event time so far (all inputs): microseconds; INT64_MIN before the first watermark. Event time W says: records
	 * with a time > W still come, all others are late. Event timers fire when W >= their time. W is handed on behind what
	 * the timers emitted. */
	int64_t (*event_time)(flow_context *context);
	/* [task] Emits a watermark that some function of the job declared. */
	flow_status (*emit_watermark)(flow_context *context, const char *id, int64_t value, flow_error *error);
	/* [task] Reports a record; what follows (fail, skip, dead letter, late policy) is the host's. Go on on FLOW_OK. */
	flow_status (*reject)(flow_context *context, const flow_batch *batch, uint32_t row, flow_status status,
	                      flow_slice reason, flow_error *error);
	/* [task] A table of the job by name, declared in the plan: its ops and instance (flow/table.h), valid until close. */
	flow_status (*table)(flow_context *context, const char *name, const void **ops, void **table, flow_error *error);
	/* [task] Memory for this call alone: dropped when the call into the function returns. */
	flow_builder *(*scratch)(flow_context *context);
	/* [task] Calls visit for every key that has state here; keyed inputs only. Complete after a restore. */
	flow_status (*apply_to_all_partitions)(flow_context *context,
	                                       flow_status (*visit)(void *self, const flow_batch *keys, flow_error *error),
	                                       void *self, flow_error *error);
	/* [task] What the application's functions share in this task (flow_graph_ops.set_context), or NULL: there is none. Valid until
	 * close has returned. */
	void *(*shared)(flow_context *context);
} flow_context_ops;

struct flow_context {
	uint32_t struct_size;
	uint32_t output_count;
	const flow_context_ops *ops;
	flow_output *const *outputs;
	flow_slice job;
	flow_slice operator_name;
	uint32_t task;       /* index, 0-based */
	uint32_t task_count;
	uint32_t max_parallelism; /* key groups */
	uint32_t attempt;    /* 0-based; grows with each restart in place */
	void *host;
};

typedef struct flow_function_ops {
	uint32_t struct_size;
	uint32_t reserved;
	/* [main], [control]; blocking-ok. Settles schemas and state for these inputs. *binding is handed to open; errors are
	 * plan-time errors with place. Called again when a schema changes in mid-stream: instances are closed and opened with the new
	 * binding, state stays. Check in here what the input must be (keyed, ...), or set needs_*; to FLOW_E_TYPE the host adds
	 * where the records come from. */
	flow_status (*bind)(const flow_host *host, const flow_options *options, const flow_function_input *const *inputs,
	                    uint32_t input_count, flow_function_plan *plan, void **binding, flow_error *error);
	void (*unbind)(void *binding); /* [main] after all instances are closed */
	/* [task] blocking-ok. */
	flow_status (*open)(void *binding, flow_context *context, flow_function **function, flow_error *error);
	/* [task] A batch of input `input`. It is borrowed; retain it to keep it. */
	flow_status (*process)(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error);
	/* [task] Optional. Due timers of one kind, ascending by time: columns key, key_hash, key_bytes and timestamp (the timer's
	 * time) are set, all values are null. The batch works with the state calls like any other. */
	flow_status (*timers)(flow_function *function, uint32_t kind, const flow_batch *due, flow_error *error);
	/* [task] Optional. Returns FLOW_WATERMARK_PEEK or _POLL, or a failure. Called before due timers fire for event time. */
	flow_status (*watermark)(flow_function *function, uint32_t input, const char *id, int64_t value, flow_error *error);
	/* [task] Optional. Once for each input, after its last record; event timers have fired. */
	flow_status (*end_input)(flow_function *function, uint32_t input, flow_error *error);
	void (*close)(flow_function *function); /* [task] blocking-ok; also after a failure */
} flow_function_ops;

#ifdef __cplusplus
}
#endif
#endif
