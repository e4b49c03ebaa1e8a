/*
 * base/schema_print.h - where schema text goes; for the files of base/schema_*.c alone.
 *
 * Threads: a sink belongs to one call.
 */
#ifndef BASE_SCHEMA_PRINT_H
#define BASE_SCHEMA_PRINT_H

#include "base/schema_node.h"
#include "base/value.h"

struct XXH3_state_s;

/* Counts all bytes, keeps the first `size`, and feeds the hash if there is one. */
struct schema_sink {
	char *buffer;
	uint64_t size;
	uint64_t length;
	struct XXH3_state_s *hash;
};

void schema_put(struct schema_sink *sink, const char *text, uint64_t size);
void schema_put_text(struct schema_sink *sink, const char *text);
/* At most 127 bytes. */
void schema_put_format(struct schema_sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));
void schema_put_string(struct schema_sink *sink, flow_slice text); /* quoted and escaped */

/* A field's default as Avro writes it in schema JSON. */
void schema_put_default(struct schema_sink *sink, const flow_schema *schema, const flow_value *value);

#endif
