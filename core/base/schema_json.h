/*
 * base/schema_json.h - the parts of reading Avro schema JSON; for the files of base/schema_*.c alone.
 *
 * Threads: each call works on one group, which belongs to one thread.
 */
#ifndef BASE_SCHEMA_JSON_H
#define BASE_SCHEMA_JSON_H

#include <jansson.h>

#include "base/schema_node.h"

/* Makes the node what the attributes logicalType and flow.type say. One that is unknown or does not fit leaves the type as it is
 * and its name in `logical`, as Avro demands. Returns 0 if out of memory. */
int schema_apply_logical(struct schema_group *group, struct schema_node *node, json_t *json);

/* A field's default from JSON. null fits every nullable type, and of a union the first branch that fits is taken (Avro 1.12).
 * *problem: static text, on FLOW_E_TYPE. */
flow_status schema_read_default(flow_builder *memory, const flow_schema *schema, json_t *json, flow_value *value,
								const char **problem);

#endif
