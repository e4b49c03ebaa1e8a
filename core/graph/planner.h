/*
 * graph/planner.h - what the files of the planner share. Private to the room.
 *
 * Order of work (plan.c): job options, systems, streams, tables and steps with their options (everything that can be
 * checked without types); then the flow is bound step by step, which settles types (plan_bind.c); then, if nothing was
 * wrong, operators are ordered and cut into stages (plan_stages.c), and what follows from the whole is computed:
 * projection, delivery, ids.
 */
#ifndef GRAPH_PLANNER_H
#define GRAPH_PLANNER_H

#include "graph/graph_reader.h"
#include "graph/job_options.h"
#include "graph/plan.h"
#include "options/options.h"

/* An operator while the flow is bound: links between nodes may still change. */
typedef struct plan_node {
	plan_operator operator;
	const char *given_name; /* by the user, or NULL */
	const char *base_name;  /* what a name is made of where none is given */
	size_t step;            /* GRAPH_NONE: a source, sink or the dead letters */
	uint32_t rank;          /* within the step: merge and event time 0, key 1, function 2 */
	uint32_t number;        /* in the plan, once ordered */
	uint32_t input_link;    /* the last one: sinks, merges and functions of two inputs have several; PLAN_NONE: none */
	uint32_t output_count;  /* links that leave it */
	const char *key_text;   /* of the records that leave it, as written */
} plan_node;

typedef struct plan_link {
	uint32_t from, to;      /* nodes */
	uint32_t output, input; /* of them: 0 or 1 */
	uint32_t partitioning;
	const setting *place;
} plan_link;

/* Where the records of a step can be taken from. */
typedef struct plan_cursor {
	uint32_t node;
	uint32_t output;           /* of the node */
	uint32_t partitioning;     /* of the edge that is still to be made */
	uint32_t kind;             /* FLOW_STREAM_* */
	const flow_schema *schema; /* NULL: no records come out */
	const flow_schema *key_schema;
	const char *key_text; /* NULL: none */
} plan_cursor;

#define STEP_WAITING 0
#define STEP_BOUND 1
#define STEP_FAILED 2 /* something is wrong with it, or with what it takes its records from; reported */

typedef struct plan_step {
	const graph_step *step;
	const setting *group;        /* its effective options */
	const flow_options *options; /* of the function */
	uint32_t record_errors;
	uint32_t late;
	uint32_t state;        /* STEP_* */
	const char *waits_for; /* table without a schema yet */
	plan_cursor out[2];    /* by output */
	uint32_t ends;         /* all that it takes records from ends */
	int swapped;           /* its second input is the function's input 0 */
} plan_step;

typedef struct plan_table_work {
	size_t writer; /* step that settled the schema, or GRAPH_NONE */
} plan_table_work;

typedef struct planner {
	plan *plan;
	arena *arena;
	config *config;
	problems *problems;
	registry *registry;
	graph *graph;
	const flow_host *host;
	uint32_t flags;
	int failed; /* out of memory */
	int unseen; /* offline: types of some input are not known */
	options_names names;
	uint32_t *source_nodes; /* by stream; PLAN_NONE: none yet */
	uint32_t *input_nodes;  /* by stream: where the records of an input are taken from, behind its transformer */
	uint32_t *sink_nodes;
	uint8_t *stream_usable; /* by stream: types are known */
	plan_table_work *table_work;
	plan_step *steps;
	plan_node **nodes;
	uint32_t node_count, node_capacity;
	plan_link *links;
	uint32_t link_count, link_capacity;
	uint32_t record_errors;   /* the job's */
	const char *dead_letters; /* id of the output, or NULL */
	uint32_t dead_letter_stream;
	uint32_t *fed_by_group; /* by operator: 0, or 1 + the input, shared by a consumer group, that feeds it */
} planner;

/* Memory of the plan, zeroed; NULL sets failed. */
void *planner_allocate(planner *p, size_t size);
/* Text in the plan; NULL sets failed. */
const char *planner_owned_format(planner *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A schema in short form; NULL: "nothing". */
const char *planner_schema_text(planner *p, const flow_schema *schema);
/* The plan takes over a reference to a schema; returns it. */
const flow_schema *planner_own_schema(planner *p, const flow_schema *schema);

/* --- plan_components.c: components by name, with their options
 * --------------------------------------------------------- */

/* Loads a component; problems (with the nearest id) go to `place`. NULL: it cannot be used. */
const flow_component *planner_component(planner *p, uint32_t kind, const char *id, const setting *place);
/* A component written as "name" or as { type = "name"; options }. `options` NULL: not wanted. */
const flow_component *planner_component_setting(planner *p, uint32_t kind, const setting *s,
												const flow_options **options);
/* Resolves what stands in `group` with the host's table and the component's table of that scope, either may be NULL.
 * `ignore` is NULL-terminated or NULL. */
const flow_options *planner_resolve(planner *p, const flow_option_set *host_set, const flow_component *component,
									const char *scope, const setting *group, const setting *place, const char *name,
									const char *const *ignore);
/* Puts the defaults of these tables into the lowest layer, for `flowd explain`. `name` NULL: the section is the thing.
 * */
void planner_put_defaults(planner *p, const char *section, const char *name, const flow_option_set *host_set,
						  const flow_component *component, const char *scope, const setting *given);
/* The same for a component that an option of the thing names: "serde"; `part` NULL, or its "key" or "value". */
void planner_put_part_defaults(planner *p, const char *section, const char *name, const char *option, const char *part,
							   const flow_component *component, const setting *given);
/* A default that is not in a table, but follows from something else, which `origin` tells. */
void planner_put_derived(planner *p, const char *section, const char *name, const char *option, const char *text,
						 const char *origin);
/* For a thing whose component is unknown: `ignore`, and all keys that only the component could judge. Misspelled words
 * of the host's table are still reported. */
const char *const *planner_unjudged(planner *p, const flow_option_set *host_set, const setting *group,
									const char *const *ignore);
/* RECORD_ERRORS_* of an enum option, or `absent`. */
uint32_t planner_record_errors(const flow_options *options, const char *name, uint32_t absent);
void planner_name_service(planner *p);

/* --- plan_serde.c
 * ---------------------------------------------------------------------------------------------------------------- */

/* Whose serdes are opened: those of an input, an output or an intermediate stream. */
typedef struct plan_serde_owner {
	const char *id;
	const char *system;              /* NULL: none, or it is not known */
	const flow_component *component; /* of the system, likewise */
	uint32_t use;                    /* FLOW_SERDE_* */
	plan_serde *value, *key;         /* filled in; a key only where one is written */
} plan_serde_owner;

/* What is written with a serde, for messages: "output", "late", where that stands, and where the records come from. */
typedef struct plan_written {
	const char *what, *id;
	const setting *place;
	const char *came_from;
} plan_written;

/* Serdes of inputs and outputs belong to the application: reports those of other layers. 0: there is none. */
int planner_refuse_foreign_serde(planner *p, const setting *s);
/* "name", { type = "name"; options } or { key = ...; value = ...; }. 0: reported. */
int planner_open_serdes(planner *p, const plan_serde_owner *owner, const setting *s);
/* Whether the serde (none is fine) can write values of this type. `side`: "records", "keys". 0: reported. */
int planner_check_written(planner *p, const plan_written *written, const plan_serde *serde, const flow_schema *schema,
						  const char *side);

/* --- the parts of a plan
 * ------------------------------------------------------------------------------------------------ */

void plan_job_id(planner *p);    /* plan_job.c: first of all, since it decides which settings count */
void plan_expand(planner *p);    /* plan_expand.c: inputs of expanding systems become others */
void plan_job(planner *p);       /* plan_job.c: job options, dead letters, names that belong to nothing */
void plan_job_store(planner *p); /* the state store, once it is known that there is state */
void plan_systems(planner *p);   /* plan_systems.c */
void plan_streams(planner *p);   /* plan_streams.c */
/* What a stream has of its system: layer 2. `component` is the system's, `system` its settings, `group` those of the stream. */
void planner_put_system_defaults(planner *p, const char *id, uint32_t direction, const flow_component *component,
								 const setting *system, const setting *group);
/* Of these the serde alone. It is one thing: parts of the system's never mix with parts of the stream's. */
void planner_put_system_serde(planner *p, const char *id, const setting *system, const setting *group);
/* plan_transformer.c: the input's own one, or that of its system; its types. 0: reported. */
int plan_transform(planner *p, plan_stream *stream, const setting *group);
/* The node that applies it. */
uint32_t plan_transformer_node(planner *p, const plan_stream *stream, const plan_cursor *source);
void plan_tables(planner *p); /* plan_tables.c */
/* First bytes of an input, at most FLOW_SAMPLE_SIZE, into the plan's arena (plan_sample.c). A source that has nothing is waited for that long;
 * tests do not wait. */
extern uint32_t plan_sample_seconds;
flow_status plan_sample(planner *p, const plan_stream *stream, flow_slice *sample, flow_error *error);

/* The service of tables' schemas answers for this planner while a function is bound; NULL: for none. */
void plan_tables_serve(planner *p);
/* Table whose schema was asked for in vain since plan_tables_serve, or NULL. */
const char *plan_tables_missed(void);
/* A bound function writes tables: settles or compares their schemas. 0: reported. */
int plan_tables_written(planner *p, size_t step, const flow_function_plan *function, const plan_cursor *input);
void plan_tables_check(planner *p); /* what holds for tables once all is bound */

void plan_bind(planner *p);           /* plan_bind.c: steps to nodes and links */
void plan_report_waiting(planner *p); /* plan_tables.c: steps that wait for tables which nobody writes */
int plan_bind_key(planner *p, plan_step *step, plan_cursor *at); /* plan_key.c */
/* plan_key.c. Over records of a type that has its place in `came_from`. It lives as long as the plan. NULL: it is wrong, which is a
 * problem at `place`. */
flow_expression *plan_compile(planner *p, const char *text, const flow_schema *schema, const setting *place,
							  const char *came_from);
/* `inputs`: where the function's `count` inputs come from. */
int plan_bind_event_time(planner *p, plan_step *step, plan_cursor *inputs, uint32_t count,
						 const flow_function_plan *function);
int plan_bind_sink(planner *p, plan_step *step, const plan_cursor *at); /* plan_sink.c */
void plan_bind_dead_letters(planner *p);

uint32_t planner_add_node(planner *p, uint32_t kind, size_t step, uint32_t rank, const setting *place);
/* From where a cursor stands to an input of a node. */
void planner_add_link(planner *p, const plan_cursor *from, uint32_t to, uint32_t input, const setting *place);

/* plan_inputs.c: STEP_*; STEP_WAITING: a step before is not bound yet. Several origins get a merge node. */
uint32_t planner_first_input(planner *p, const plan_step *step, plan_cursor *at);
uint32_t planner_second_input(planner *p, const plan_step *step, plan_cursor *at);
/* Whether two streams can be the inputs of one function; 0: reported. */
int planner_check_pair(planner *p, const plan_step *step, const plan_cursor *first, const plan_cursor *second);
uint32_t planner_input_ends(const planner *p, const plan_step *step, uint32_t input);
/* "input 'flights'", "step 'delayed' (late.conf:12)": for messages. */
const char *planner_origin_name(planner *p, const graph_origin *origin);
/* "; the records come from input 'flights' (late.conf:4)": the other place of an error about the type of what a step takes by its
 * first input, or by two. */
const char *planner_came_from(planner *p, const plan_step *step, uint32_t count);
/* Whether an error of a component is about what it gets, rather than about its own options. */
int planner_is_about_types(flow_status status);
/* plan_function.c: what a function says about itself in bind is not believed unseen. 0: reported. */
int plan_check_function(planner *p, const plan_step *step, const flow_function_plan *function,
						const plan_cursor *inputs, uint32_t count);

void plan_order(planner *p);         /* plan_order.c: nodes to operators and edges, with names */
void plan_intermediates(planner *p); /* plan_intermediate.c: streams between operators, counts of partitions */
/* Whether a stream of that name may turn out to be an intermediate one. */
int planner_may_be_intermediate(const planner *p, const char *id);
void plan_identify(planner *p);   /* plan_identity.c: id, state ids */
void plan_stages(planner *p);     /* plan_stages.c */
void plan_projection(planner *p); /* plan_projection.c */
void plan_check(planner *p);      /* plan_check.c: what can be said only about the whole */
void plan_groups(planner *p);     /* plan_group.c: inputs shared by a consumer group; settles their positions' way */
/* A group input feeds it, whose positions are committed behind what was written: records may come twice. */
int plan_loses_positions(const planner *p, uint32_t operator_index);
void plan_delivery(planner *p);

/* What a plan prints: short words (plan_words.c). */
const char *operator_kind_name(uint32_t kind);
const char *partitioning_name(uint32_t partitioning);
const char *stream_kind_name(uint32_t kind);
const char *record_errors_name(uint32_t policy);
const char *delivery_name(uint32_t delivery);
/* The kind of a stream's records, as an input brings them or an output gets them; NULL: nothing is written. */
const char *plan_stream_kind(const plan *p, const plan_stream *stream);
/* Which records of an operator go to the dead letters: "rejected", "late", "rejected, late"; NULL: none. */
const char *dead_letters_of(const plan *p, const plan_operator *o);

#endif
