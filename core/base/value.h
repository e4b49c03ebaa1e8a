/*
 * base/value.h - operations on cells that need no schema: deep copy and equality.
 */
#ifndef BASE_VALUE_H
#define BASE_VALUE_H

#include "flow/batch.h"
#include "flow/value.h"

/* Copies what the cell points at, deeply, into the builder's memory. FLOW_E_MEMORY on failure. */
flow_status value_copy(flow_builder *memory, const flow_value *from, flow_value *to);
/* Same type and same content (1.50 and 1.5 differ, NaN equals NaN, -0.0 differs from 0.0). */
int value_equal(const flow_value *a, const flow_value *b);

#endif
