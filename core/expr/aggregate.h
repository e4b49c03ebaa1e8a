/*
 * expr/aggregate.h - count, sum, avg, min and max over fixed-size slots (flow/expression.h). Internal to this room.
 *
 * A slot is plain bytes that are persisted; zeroed it is the aggregate of no rows. Its layout has a name that changes
 * with it.
 */
#ifndef EXPR_AGGREGATE_H
#define EXPR_AGGREGATE_H

#include "expr/compiler.h"
#include "flow/expression.h"

const char *aggregate_name(uint32_t kind);
/* The result's schema, a reference of the caller's; NULL: the argument's type has no such aggregate. */
const flow_schema *aggregate_type(compiler *c, uint32_t kind, const value_type *argument, uint32_t column);

uint64_t aggregate_size(const flow_aggregate_call *call, const char **layout);
flow_status aggregate_add(const flow_aggregate_call *call, const flow_value *values, const uint32_t *rows,
						  uint32_t count, void *const *targets, uint64_t offset, flow_status *statuses,
						  flow_error *error);
flow_status aggregate_result(const flow_aggregate_call *call, const void *slot, flow_builder *memory, flow_value *value,
							 flow_error *error);

#endif
