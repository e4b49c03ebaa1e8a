/*
 * Where written JSON goes: a place in the host's buffer. json_writer.c owns it for one call; json_avro.c writes into it too.
 */
#ifndef JSON_OUTPUT_H
#define JSON_OUTPUT_H

#include "json.h"

typedef struct json_output {
	char *at; /* where the next byte goes */
	char *end;
	flow_buffer *buffer;
	const json_format *format;
	const char *reason; /* why the record is refused; NULL: nothing more is known than the status */
} json_output;

/* Makes room, or 0: out of memory. */
int json_make_room(json_output *out, uint64_t size);

static inline int
json_has_room(json_output *out, uint64_t size)
{
	return __builtin_expect((uint64_t)(out->end - out->at) >= size, 1) || json_make_room(out, size);
}

/* A value whose kind Avro's JSON encoding writes in a way of its own; FLOW_AGAIN: it does not. */
flow_status json_put_avro(json_output *out, const json_node *node, const flow_value *value);

#endif
