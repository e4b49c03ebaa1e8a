/*
 * flow/expression.h - service FLOW_SERVICE_EXPRESSIONS: flowd's expression language (a subset of SQL's scalar
 * expressions) for plugins. Compile once, evaluate over batches.
 */
#ifndef FLOW_EXPRESSION_H
#define FLOW_EXPRESSION_H

#include "flow/batch.h"
#include "flow/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_expression flow_expression; /* immutable when compiled; evaluation is [any] with scratch of its own */

/* Aggregates: what `count(*)`, `sum(x)`, `avg(x)`, `min(x)`, `max(x)` need; see flow_expressions.aggregate. */
#define FLOW_AGGREGATE_COUNT 1 /* of all rows, or of those where the argument is not null */
#define FLOW_AGGREGATE_SUM 2
#define FLOW_AGGREGATE_AVG 3
#define FLOW_AGGREGATE_MIN 4
#define FLOW_AGGREGATE_MAX 5

typedef struct flow_aggregate_call {
	uint32_t struct_size;
	uint32_t kind;             /* FLOW_AGGREGATE_* */
	flow_expression *argument; /* NULL: count(*); the caller frees it */
	const flow_schema *result; /* owned by the caller: release it */
	uint64_t reserved;         /* the caller sets struct_size, the rest is filled */
} flow_aggregate_call;

typedef struct flow_expressions {
	uint32_t struct_size;
	uint32_t reserved;
	/* [main] Compiles `text` against a record schema (fields by name). The error holds the position in the text and, for an
	 * unknown name, the nearest one. `place` (may be empty) stands before it. Free the result with `release`. */
	flow_status (*compile)(flow_slice text, const flow_schema *schema, flow_slice place, flow_expression **expression,
	                       flow_error *error);
	/* [main] Compiles one aggregate call. Everything else is FLOW_E_UNSUPPORTED with the list of what there is. */
	flow_status (*aggregate)(flow_slice text, const flow_schema *schema, flow_slice place, flow_aggregate_call *call,
	                         flow_error *error);
	/* Accumulating aggregates in fixed-size slots (state of kind FLOW_STATE_SLOT), exactly: sums of integers and decimals do not
	 * overflow silently (FLOW_E_RANGE for the row), avg is the exact sum by the count, rounded once. Types: count int64; sum
	 * int64 of integers (uint64 of uint64), decimal of decimals, float64 of floats; avg float64; min and max the argument's. Of no
	 * rows: count 0, the others null. Strings, bytes, lists, maps and records cannot be min or max arguments in a slot. */
	/* [any] Bytes of a slot (multiple of 8, zeroed is the start) and a name of its layout. */
	uint64_t (*aggregate_size)(const flow_aggregate_call *call, const char **layout);
	/* [task] Adds values[rows[i]] to slots[i] + offset for each of `count` rows; values NULL: count(*). All or nothing per row:
	 * statuses[rows[i]] (statuses may be NULL: the call fails instead) gets FLOW_E_RANGE. The sum of integers is 128 bits wide:
	 * only its result can be out of range. */
	flow_status (*aggregate_add)(const flow_aggregate_call *call, const flow_value *values, const uint32_t *rows,
	                             uint32_t count, void *const *slots, uint64_t offset, flow_status *statuses,
	                             flow_error *error);
	/* [task] The result; what it points at lives in `memory`. */
	flow_status (*aggregate_result)(const flow_aggregate_call *call, const void *slot, flow_builder *memory,
	                                flow_value *value, flow_error *error);
	const flow_schema *(*type)(const flow_expression *expression); /* [any] borrowed from the expression */
	/* [any] Marks in used[schema->field_count] the fields that the expression reads. */
	void (*fields)(const flow_expression *expression, uint8_t *used);
	/* [task] Evaluates for the selected rows: results[row] for each (the array has row_count entries; others are left as
	 * they are). What results point at lives in the builder's memory or the batch's. A row that fails (overflow, a cast)
	 * gets null and, if `statuses` is not NULL, statuses[row] < 0 and reasons[row]; else the call fails. */
	flow_status (*evaluate)(const flow_expression *expression, const flow_batch *batch, flow_builder *memory,
	                        flow_value *results, flow_status *statuses, flow_slice *reasons, flow_error *error);
	/* [task] Writes the row numbers, ascending, for which a bool expression is true (not false, not null). `selection` has
	 * room for selected_count entries; may be the batch's own array only if the caller owns it. */
	flow_status (*select)(const flow_expression *expression, const flow_batch *batch, flow_builder *memory,
	                      uint32_t *selection, uint32_t *count, flow_status *statuses, flow_slice *reasons,
	                      flow_error *error);
	void (*release)(flow_expression *expression); /* [main] NULL is allowed */
	/* [any] Total order of two values of one type for min, max and sorting: < 0, 0, > 0. Numbers compare by value over
	 * all number types; nulls first. */
	int (*compare)(const flow_value *a, const flow_value *b);
} flow_expressions;

#ifdef __cplusplus
}
#endif
#endif
