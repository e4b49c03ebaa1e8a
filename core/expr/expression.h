/*
 * expr/expression.h - the expression language: a subset of SQL's scalar expressions, typed at plan time, SQL null
 * logic, exact integers and decimals, evaluated over batches. Reference: docs/reference/expressions.md.
 *
 * The functions behind service FLOW_SERVICE_EXPRESSIONS (flow/expression.h says what they do), and what the planner
 * needs.
 */
#ifndef EXPR_EXPRESSION_H
#define EXPR_EXPRESSION_H

#include "flow/expression.h"

extern const flow_expressions expressions_service;

/* A constant expression's value ("15", "'x'", "date '2013-01-01'"): for options. FLOW_E_ARGUMENT if it reads fields. */
flow_status expression_constant(const flow_expression *expression, flow_builder *memory, flow_value *value,
								flow_error *error);
/* If the expression is just a field: its index, else -1. */
int32_t expression_plain_field(const flow_expression *expression);
/* The expression in canonical text: what plans print. Returns the length; see snprintf. */
uint64_t expression_print(const flow_expression *expression, char *buffer, uint64_t size);

#endif
