/*
 * Values that are more than a number or a text (avro_logical.c, avro_items.c), for avro_decode.c.
 *
 * Each reads at d->input.at and fills *value, or fails through avro_decode_fail. Threads: the task's.
 */
#ifndef AVRO_DECODE_H
#define AVRO_DECODE_H

#include "avro.h"
#include "avro_wire.h"

/* Notes why and where. `at` is the place of the fault. Returns the status. */
flow_status avro_decode_fail(avro_decoding *d, flow_status status, const char *at, const char *reason);
/* A length and the bytes behind it. */
flow_status avro_decode_run(avro_decoding *d, flow_slice *bytes);
/* Runs one program over `cells`. */
flow_status avro_decode_program(avro_decoding *d, const avro_op *ops, flow_value *cells);
/* Puts a step before the path of the fault. */
void avro_decode_path(avro_decoding *d, const char *text, uint64_t size);

flow_status avro_decode_decimal(avro_decoding *d, const avro_op *op, flow_slice bytes, flow_value *value);
flow_status avro_decode_big_decimal(avro_decoding *d, const avro_op *op, flow_value *value);
flow_status avro_decode_uint64(avro_decoding *d, const avro_op *op, flow_value *value);
flow_status avro_decode_uuid(avro_decoding *d, const avro_op *op, flow_value *value);
flow_status avro_decode_scaled(avro_decoding *d, const avro_op *op, flow_value *value);
flow_status avro_decode_list(avro_decoding *d, const avro_op *op, flow_value *value);
flow_status avro_decode_map(avro_decoding *d, const avro_op *op, flow_value *value);

/* Not UTF-8: at which byte; else -1. AVRO_PADDING bytes behind the text are readable. */
static inline int
avro_is_ascii(const char *text, uint64_t size)
{
	uint64_t bits = 0;
	for (; size >= 8; size -= 8, text += 8)
		bits |= avro_load64(text);
	if (size != 0)
		bits |= avro_load64(text) << (64 - 8 * size);
	return (bits & 0x8080808080808080u) == 0;
}

#endif
