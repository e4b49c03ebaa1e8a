/*
 * The operations of encoding: what avro_encode_plan.c makes and avro_encode.c runs.
 */
#ifndef AVRO_ENCODE_H
#define AVRO_ENCODE_H

#include "avro.h"

enum {
	AVRO_ENCODE_END,
	AVRO_ENCODE_NULL,
	AVRO_ENCODE_BOOLEAN,
	AVRO_ENCODE_INT,
	AVRO_ENCODE_LONG,
	AVRO_ENCODE_SCALED_INT,
	AVRO_ENCODE_SCALED_LONG,
	AVRO_ENCODE_UNSIGNED_LONG, /* a uint64 that fits */
	AVRO_ENCODE_FLOAT,
	AVRO_ENCODE_DOUBLE,
	AVRO_ENCODE_TEXT, /* string or bytes */
	AVRO_ENCODE_FIXED,
	AVRO_ENCODE_ENUM,
	AVRO_ENCODE_DECIMAL,
	AVRO_ENCODE_FIXED_DECIMAL, /* index: bytes */
	AVRO_ENCODE_BIG_DECIMAL,
	AVRO_ENCODE_UINT64,
	AVRO_ENCODE_UUID_TEXT,
	AVRO_ENCODE_RECORD,
	AVRO_ENCODE_LIST,
	AVRO_ENCODE_MAP,
	AVRO_ENCODE_NULLABLE, /* the next operation is the value's */
	AVRO_ENCODE_UNION,
	AVRO_ENCODE_BRANCH, /* writes an index */
	AVRO_ENCODE_CONSTANT,
};

typedef struct avro_output {
	flow_buffer *buffer;
	char *at;
	char *limit;
	uint32_t depth;
	uint32_t depth_limit;
} avro_output;

/* Room for `more` bytes at output->at. 0: out of memory. */
int avro_output_grow(avro_output *output, uint64_t more);
/* At the end of a buffer; records may follow each other, until the buffer is told. FLOW_E_MEMORY. */
flow_status avro_output_open(avro_output *output, flow_buffer *buffer, uint32_t depth_limit);
/* What was written belongs to the buffer now. */
static inline void
avro_output_close(avro_output *output)
{
	output->buffer->size = (uint64_t)(output->at - output->buffer->data);
}
/* One value. After a failure a part of it may stand behind what was there. */
flow_status avro_encode_value(avro_output *output, const avro_encode_plan *plan, const flow_value *value);
/* Runs one program over `cells`. */
flow_status avro_encode_run(avro_output *output, const avro_encode_program *program, const flow_value *cells);
/* Values that are more than a number or a text (avro_encode_logical.c). */
flow_status avro_encode_logical(avro_output *output, const avro_encode_op *op, const flow_value *value);

#endif
