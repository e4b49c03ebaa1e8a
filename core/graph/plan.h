/*
 * graph/plan.h - what will run, settled: systems, streams with their serdes, tables, operators with bound functions,
 * the edges between them, and how they are cut into stages. Deterministic: equal input gives an equal plan and id.
 *
 * The runtime reads a plan and changes nothing in it. Ownership: all lives in the plan's arena; opened components are
 * closed by plan_destroy. Threads: read-only after planning.
 */
#ifndef GRAPH_PLAN_H
#define GRAPH_PLAN_H

#include <stdio.h>

#include "base/arena.h"
#include "flow/flow.h"
#include "flow/transformer.h"
#include "graph/graph.h"

#define PLAN_NONE UINT32_MAX

/* plan_operator.kind */
#define OPERATOR_SOURCE 1       /* reads an input; decodes with its serde */
#define OPERATOR_SINK 2         /* encodes and writes an output */
#define OPERATOR_FUNCTION 3     /* a process function */
#define OPERATOR_KEY_BY 4       /* computes keys; the edge behind it exchanges */
#define OPERATOR_EVENT_TIME 5   /* assigns event times and makes watermarks */
#define OPERATOR_DEAD_LETTERS 6 /* sink of rejected records: an OPERATOR_SINK whose rows the runtime makes */
#define OPERATOR_MERGE 7        /* several streams become one, as records arrive */
#define OPERATOR_TRANSFORMER 8  /* changes the records of an input; its calls are those of a function */

/* plan_edge.partitioning */
#define EDGE_FORWARD 1   /* same task: a direct call if both are in one stage */
#define EDGE_KEY 2       /* by key group */
#define EDGE_SHUFFLE 3   /* any task, evenly */
#define EDGE_GLOBAL 4    /* task 0 */
#define EDGE_BROADCAST 5 /* every task */

/* What happens to a record that cannot be decoded, processed or written. */
#define RECORD_ERRORS_FAIL 1
#define RECORD_ERRORS_SKIP 2
#define RECORD_ERRORS_DEAD_LETTER 3

typedef struct plan_system {
	const char *name;
	const flow_component *component;
	const flow_options *options;
	flow_system *instance; /* opened at planning */
	const setting *place;
} plan_system;

/* One side of a serde: how values or keys of a stream are read and written. */
typedef struct plan_serde {
	const flow_component *component; /* NULL: none (decoded system, or no key) */
	const flow_serde_ops *ops;
	flow_serde *instance;
	const flow_options *options;
	const flow_schema *schema; /* decoded; for outputs: what is written */
	int sampled;               /* .. found in the first bytes of the data */
} plan_serde;

/* What changes the records of an input before anything else sees them. */
typedef struct plan_transformer {
	const flow_component *component; /* NULL: nothing */
	const flow_options *options;
	void *binding;
	const flow_schema *schema; /* of the results */
} plan_transformer;

typedef struct plan_stream {
	const char *id;
	uint32_t direction;
	uint32_t system;             /* index into plan.systems */
	flow_stream_request request; /* for the system's calls; texts live in the plan */
	flow_stream_description description;
	plan_serde value;
	plan_serde key;
	plan_transformer transformer;
	const flow_schema *schema;     /* of its records, decoded */
	const flow_schema *key_schema; /* NULL: none */
	uint32_t byte_stream;          /* raw pieces, the value serde frames them */
	uint32_t bounded;
	uint32_t broadcast;         /* input: every task reads all of it */
	uint32_t bootstrap;         /* read to its end before inputs that are not */
	int32_t priority;           /* higher first; -1: none set */
	uint32_t start;             /* FLOW_START_* */
	uint32_t reset;             /* ignore positions of the checkpoint */
	uint32_t record_errors;     /* RECORD_ERRORS_* */
	uint32_t delivery;          /* output: FLOW_DELIVERY_* that the plan gives it */
	uint32_t volatile_reader;   /* input: feeds a table that does not survive: read from the start at each run */
	uint32_t task_count;        /* tasks that read or write it */
	uint32_t delete_committed;  /* input: tell the system which records are behind a checkpoint */
	uint32_t self_assigned;     /* input: a consumer group gives its partitions and keeps its positions */
	flow_expression *partition; /* output: that of each record, a whole number; NULL: the system chooses */
	const setting *partition_setting;
	uint32_t committed_by_output; /* self-assigned: the one-phase output's transaction takes its positions */
	const uint32_t *fields;       /* input: projection for the decoder; NULL: all */
	uint64_t field_count;
	const setting *place;
} plan_stream;

/* What a partitioning makes of the flow between two operators. The default system carries it where that is shared with other
 * processes; else it goes through rings, and its settings say only how it would be. */
typedef struct plan_intermediate {
	const char *id; /* job and operator: settings stand under streams.<id> */
	const char *physical_name;
	const char *system;    /* NULL: there is no default system */
	plan_serde value, key; /* none without a system, unless they were set */
	uint32_t partitioning; /* EDGE_* */
	uint32_t from;         /* operator */
	uint32_t output;       /* of it: 0 or 1 */
	int32_t partitions;
	uint32_t given; /* the count was set, not planned */
	const setting *place;
} plan_intermediate;

typedef struct plan_table {
	const char *name;
	const flow_component *component;
	const flow_options *options;
	const flow_schema *schema; /* NULL: nobody writes it and it knows none */
	const flow_schema *key_schema;
	uint32_t durable; /* FLOW_TABLE_DURABLE */
	const setting *place;
} plan_table;

typedef struct plan_operator {
	uint32_t kind;
	uint32_t index; /* in plan.operators, topological */
	uint32_t stage;
	uint32_t chain_parent; /* operator in the same stage that calls this one directly; PLAN_NONE: head of the stage */
	const char *name;      /* unique; stateful ones are named by the user */
	const char *title;     /* for people: "where dep_delay > 15" */
	/* Schemas of the records that leave it, by output; key schema NULL: no keys. */
	const flow_schema *schema[2];
	const flow_schema *key_schema[2];
	uint32_t stream_kind[2]; /* FLOW_STREAM_* of its outputs */
	uint32_t stream;         /* source, sink, dead letters: index into plan.streams */
	uint32_t record_errors;
	/* Function. */
	const flow_component *component;
	const flow_function_ops *ops;
	const flow_options *options;
	void *binding;
	flow_function_plan function;
	/* First id of its states in the store: state i is state_id + i, timers are behind them. Made from the operator's
	 * name, so that it stays when the plan changes. PLAN_NONE: stateless. */
	uint32_t state_id;
	/* Key-by: one or more expressions, compiled against the input's schema. One: its value is the key; several: a
	 * record of them. A record for which one of them is null has a null key, which is a record error. */
	flow_expression *const *keys;
	uint32_t key_count;
	/* Event time. */
	flow_expression *event_time;
	int64_t out_of_order; /* microseconds */
	int64_t idle_after;
	uint32_t late; /* by event time: RECORD_ERRORS_* for late records; else 0 */
	const setting *place;
} plan_operator;

typedef struct plan_edge {
	uint32_t from;   /* operator */
	uint32_t output; /* 0 or 1 */
	uint32_t to;
	uint32_t input; /* 0 or 1 */
	uint32_t partitioning;
	uint32_t exchange;     /* crosses tasks: through rings; else a direct call */
	uint32_t intermediate; /* what a partitioning makes of it: index into plan.intermediates; PLAN_NONE: nothing */
	const char *delivery;  /* for people: "exactly once", "at least once" */
} plan_edge;

typedef struct plan_stage {
	uint32_t index;
	uint32_t head; /* first operator */
	uint32_t task_count;
	uint32_t *operators; /* topological */
	uint32_t operator_count;
	uint32_t keyed; /* its input is partitioned by key: task = key_task(group) */
} plan_stage;

typedef struct plan {
	arena *arena;
	const char *job;      /* id */
	const char *instance; /* "" : none */
	char id[33];          /* hash of what matters, hexadecimal */
	char state_id[33]; /* hash of what a checkpoint depends on: stateful operators' names, types, keys; inputs' names */
	const char *folder;
	plan_system *systems;
	uint32_t system_count;
	plan_stream *streams;
	uint32_t stream_count;
	plan_table *tables;
	uint32_t table_count;
	plan_operator *operators;
	uint32_t operator_count;
	plan_edge *edges;
	uint32_t edge_count;
	plan_intermediate *intermediates;
	uint32_t intermediate_count;
	plan_stage *stages;
	uint32_t stage_count;
	uint32_t dead_letters;             /* operator, or PLAN_NONE */
	const char *dead_letter_delivery;  /* likewise, for people */
	uint32_t bounded;                  /* all inputs end */
	uint32_t has_state;                /* keyed state or timers: needs a store */
	uint32_t needs_epochs;             /* some sink prepares */
	uint32_t max_parallelism;          /* key groups */
	uint32_t parallelism;              /* tasks of keyed stages */
	uint32_t workers;                  /* threads */
	const flow_options *job_options;   /* job.*: see graph/job_options.h */
	const flow_component *state_store; /* store component for keyed state; NULL: not needed */
	const flow_options *state_store_options;
	config *config;
	/* The context that functions of an application in code share, per task; NULL: none. */
	flow_status (*context_init)(void **shared, flow_error *error);
	void (*context_close)(void *shared);
} plan;

/* Records of the dead letters: fields by index. */
#define DEAD_LETTER_TIME 0        /* timestamp: when it was rejected */
#define DEAD_LETTER_JOB 1         /* string */
#define DEAD_LETTER_OPERATOR 2    /* string: its name in the plan */
#define DEAD_LETTER_STREAM 3      /* string?: id of the input it came from */
#define DEAD_LETTER_PLACE 4       /* string?: the file ... */
#define DEAD_LETTER_PARTITION 5   /* int64?: the number that people know it by */
#define DEAD_LETTER_ORDINAL 6     /* int64? */
#define DEAD_LETTER_LINE 7        /* int64? */
#define DEAD_LETTER_FIELD 8       /* string? */
#define DEAD_LETTER_STATUS 9      /* string: "FLOW_E_DECODE" */
#define DEAD_LETTER_REASON 10     /* string */
#define DEAD_LETTER_RAW 11        /* string?: the record's bytes; base64 where they are no valid UTF-8 */
#define DEAD_LETTER_RAW_BASE64 12 /* bool */
#define DEAD_LETTER_KEY 13        /* string?: the key as JSON text; as it came where it is what cannot be read */
#define DEAD_LETTER_FIELDS 14

/* How much the planner may look at. */
#define PLAN_OFFLINE 1u /* nothing outside of this process beyond reading configured local files' headers */
#define PLAN_TRIAL                                                                                                     \
	2u /* for a run that leaves the job alone: it gets an instance of its own, so that it touches nothing of the job's */
#define PLAN_CONNECTED 4u /* what is not there is an error of outputs too: a topic, a folder */

/* Plans the application of a loaded configuration. All problems are collected in the configuration's list; NULL when
 * there are errors (or there is no application). Offline it is also NULL, with a warning and no error, when the types
 * of an input are in data that cannot be looked at: then everything was checked that does not depend on them. */
plan *plan_create(config *c, registry *r, graph *g, uint32_t flags);
void plan_destroy(plan *p);
/* The keys that state behind an edge belongs to; NULL: the records that it carries may have keys, but are not parted by them. */
const flow_schema *plan_edge_key(const plan *p, const plan_edge *edge);

void plan_print_text(const plan *p, FILE *to);
void plan_print_json(const plan *p, FILE *to);
void plan_print_dot(const plan *p, FILE *to);
void plan_print_mermaid(const plan *p, FILE *to);

#endif
