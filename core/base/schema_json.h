/*
 * base/schema_json.h - the parts of reading Avro schema JSON; for the files of base/schema_*.c alone.
 *
 * Threads: each call works on one group, which belongs to one thread.
 */
#ifndef BASE_SCHEMA_JSON_H
#define BASE_SCHEMA_JSON_H

#include <jansson.h>

#include "base/schema_node.h"

/* A type that has been named so far. */
struct schema_named {
	struct schema_named *next;
	flow_slice name; /* as the text names it */
	struct schema_node *node;
};

/* A default that waits for the end. */
struct schema_pending {
	struct schema_pending *next;
	flow_field *field;
	json_t *json;
	char *place;
};

struct schema_reader {
	struct schema_group *group;
	flow_error *error;
	struct schema_named *named;
	uint32_t named_count;
	struct schema_pending *pending;
	struct schema_pending **pending_last;
	int depth;
	uint64_t place_size;
	char place[256]; /* where we are, like "shop.Order.lines.price" */
};

static inline flow_slice
schema_reader_text(const json_t *json)
{
	return flow_slice_make(json_string_value(json), json_string_length(json));
}

/* schema_json.c: the error names the place. All return NULL after a failure. */
const flow_schema *schema_reader_fail(struct schema_reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const flow_schema *schema_reader_no_memory(struct schema_reader *reader);
const flow_schema *schema_read_json(struct schema_reader *reader, json_t *json, flow_slice name_space);

/* schema_json_named.c */
struct schema_node *schema_read_named(const struct schema_reader *reader, flow_slice name_space, flow_slice name);
const flow_schema *schema_read_record(struct schema_reader *reader, json_t *json, flow_slice name_space);
const flow_schema *schema_read_enum(struct schema_reader *reader, json_t *json, flow_slice name_space);
const flow_schema *schema_read_fixed(struct schema_reader *reader, json_t *json, flow_slice name_space);

/* Makes the node what the attributes logicalType and flow.type say. One that is unknown or does not fit leaves the type as it is
 * and its name in `logical`, as Avro demands. Returns 0 if out of memory. */
int schema_apply_logical(struct schema_group *group, struct schema_node *node, json_t *json);

/* A field's default from JSON. null fits every nullable type, and of a union the first branch that fits is taken (Avro 1.12).
 * *problem: static text, on FLOW_E_TYPE. */
flow_status schema_read_default(flow_builder *memory, const flow_schema *schema, json_t *json, flow_value *value,
								const char **problem);

#endif
