/*
 * flow_sdk/cell.h - one cell <-> plain text, as formats without types of their own need it (CSV, text lines), and the option
 * `fields` that such formats declare their types with.
 *
 * Ownership: contents of cells lie in the builder that is handed in, or in the text. Threads: [any].
 */
#ifndef FLOW_SDK_CELL_H
#define FLOW_SDK_CELL_H

#include "flow/batch.h"
#include "flow/host.h"
#include "flow/option.h"
#include "flow/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the whole `text` as a value of a scalar schema, exactly: integers with an optional sign, "true" and "false" in any case,
 * decimals with the digits of the text (a declared precision and scale must hold them), RFC 3339 dates and times, uuids,
 * symbols of enums; strings and bytes are the text itself and point at it. FLOW_E_DECODE: not such a text; FLOW_E_RANGE: does not
 * fit; FLOW_E_UNSUPPORTED: a kind that has no text (list, map, record, union). */
flow_status flow_parse_cell(const flow_schema *schema, flow_slice text, flow_builder *memory, flow_value *value);

/* A bound for what flow_print_cell writes; 0: the cell has no text (null, list, map, record). */
uint64_t flow_cell_text_bound(const flow_value *value);
/* Writes the text that flow_parse_cell reads; returns its length, no NUL. */
uint64_t flow_print_cell(const flow_value *value, char *buffer);

/* Gives a decimal the scale of its schema by adding zeros or taking zeros away. FLOW_E_RANGE: it has more digits than that. */
flow_status flow_fit_decimal(const flow_schema *schema, flow_builder *memory, flow_value *value);

/* The record that an option of names and types ("fields: { id = \"int64\"; }") declares, owned by the caller; NULL: an error that
 * names the field and its place. */
const flow_schema *flow_fields_record(const flow_host *host, const flow_option_value *fields, flow_error *error);

/* "int64", "decimal(12,2)?" into `buffer` for messages; returns buffer. */
const char *flow_type_text(const flow_host *host, const flow_schema *schema, char *buffer, uint64_t size);

#ifdef __cplusplus
}
#endif
#endif
