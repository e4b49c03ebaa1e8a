/*
 * flow_sdk/row.h - rows as bytes, for tables that keep them: self-describing, compact, lossless, and safe to read from
 * a damaged file. The form is private to the table that wrote it; FLOW_ROW_FORMAT is its version and its first byte.
 *
 * Threads: [any]; nothing here keeps state.
 */
#ifndef FLOW_SDK_ROW_H
#define FLOW_SDK_ROW_H

#include "flow/flow.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FLOW_ROW_FORMAT 1
#define FLOW_ROW_DEPTH 64 /* lists, maps and records within each other */

/* Bytes that flow_row_write needs. 0: the row is nested deeper than FLOW_ROW_DEPTH. */
uint64_t flow_row_size(const flow_value *row);
/* Writes the row and returns the end. `to` has flow_row_size() bytes. */
char *flow_row_write(const flow_value *row, char *to);
/* Reads a row back. Texts of the row point into `bytes`, everything else lies in `memory`. FLOW_E_CORRUPT: these bytes
 * are no row of this format; FLOW_E_MEMORY. */
flow_status flow_row_read(flow_slice bytes, flow_builder *memory, flow_value *row);

/* Applies an update to `row` (of `schema`, a record): *changed is a row in `memory` whose unchanged cells are those of
 * `row`. FLOW_E_TYPE: the update names a field that rows do not have, or one of the two is not a record. */
flow_status flow_row_update(const flow_schema *schema, const flow_value *row, const flow_table_update *update,
							flow_builder *memory, flow_value *changed);

#ifdef __cplusplus
}
#endif
#endif
