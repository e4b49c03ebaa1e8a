/*
 * std.h - the process functions that every pipeline wants, none of them known to the core.
 *
 * bound.c            what all functions share: services, compiling an option's expression, rejecting rows
 * where.c            where: keeps the rows for which a condition is true
 * mapping.c          project, select, set, rename, cast: another record from the fields of one
 * aggregate.c        aggregate, planning: a group of rows per key and window
 * aggregate_run.c    aggregate, running
 * table_functions.c  write_table, join_table
 *
 * Each instance belongs to one task; bindings are read-only after bind.
 */
#ifndef STD_STD_H
#define STD_STD_H

#include "flow/flow.h"
#include "flow_sdk/plugin.h"

extern const flow_component where_component;
extern const flow_component project_component;
extern const flow_component select_component;
extern const flow_component set_component;
extern const flow_component rename_component;
extern const flow_component cast_component;
extern const flow_component aggregate_component;
extern const flow_component write_table_component;
extern const flow_component join_table_component;

/* The services that functions use; FLOW_E_UNSUPPORTED names one that the host lacks. */
struct services {
	const flow_host *host;
	const flow_expressions *expressions;
	const flow_schemas *schemas;
};
flow_status services_find(const flow_host *host, struct services *services, flow_error *error);

/* The input must be records (or self-typed values, if `any` is allowed). */
flow_status bound_check_record(const struct services *services, const flow_options *options,
							   const flow_function_input *input, int any_allowed, flow_error *error);

/* Adds to `reads` (one byte a field of the schema) what the expression reads. */
void bound_mark_reads(const struct services *services, const flow_expression *expression, uint8_t *reads);

/* Rejects the selected rows of `batch` that have statuses[row] < 0, and writes the others to `rows` (ascending, room for
 * selected_count). Returns the host's answer. */
flow_status bound_reject_failed(flow_context *context, const flow_batch *batch, const flow_status *statuses,
								const flow_slice *reasons, uint32_t *rows, uint32_t *count, flow_error *error);

/* Arrays of row_count entries for statuses and reasons in the builder's memory; statuses are FLOW_OK. 0: out of memory. */
int bound_status_arrays(flow_builder *memory, const flow_batch *batch, flow_status **statuses, flow_slice **reasons);

static inline flow_status
bound_no_memory(const flow_host *host, flow_error *error)
{
	return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
}

/* aggregate.c and aggregate_run.c */
struct aggregate {
	const char *name;
	flow_aggregate_call call;
	uint64_t offset; /* in the slot */
};

struct aggregate_binding {
	struct services services;
	struct aggregate *aggregates;
	uint32_t aggregate_count;
	int may_refuse;           /* a row can be too much for one of them: decimals and floats */
	int64_t window;           /* size in microseconds; 0: no window */
	int64_t every;            /* microseconds between results of a key without a window; 0: at the end */
	uint64_t changed_offset;  /* with `every`, in the slot: 1 while a change waits for its timer */
	int has_start, has_end;   /* fields of the output */
	uint32_t key_field_count; /* fields of the output that come from the key */
	int key_is_record;
	const flow_schema *output; /* ours */
	const flow_schema *time;   /* schema of start and end */
	uint8_t *reads;
	char *layout;
	char *event_time;
	flow_state_declaration state;
	const flow_state_declaration *states[2];
};

flow_status aggregate_open(void *binding, flow_context *context, flow_function **function, flow_error *error);
flow_status aggregate_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error);
flow_status aggregate_timers(flow_function *function, uint32_t kind, const flow_batch *due, flow_error *error);
flow_status aggregate_end_input(flow_function *function, uint32_t input, flow_error *error);
void aggregate_close(flow_function *function);

#endif
