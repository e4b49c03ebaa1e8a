/*
 * Skipping what needs no stack: the part of avro_skip.c that records are passed over with.
 *
 * Where a record is passed over, each step waits for the one before to know where it starts, so the place stays in a register, and
 * numbers are passed byte by byte: a predicted branch does not wait. With `checked` 0 the caller has made sure that the data holds the
 * program's `reach`, so only lengths of one byte are taken and nothing is compared with the end.
 * Reading goes at most AVRO_PADDING bytes beyond the end. Threads: [any].
 */
#ifndef AVRO_SKIP_PLAIN_H
#define AVRO_SKIP_PLAIN_H

#include "avro_skip.h"
#include "avro_wire.h"

/* Behind a length and its bytes, or NULL. Lengths below 64 have one byte; bit 0 is the sign. */
static inline const char *
avro_pass_text(int checked, const char *at, const char *end)
{
	uint64_t raw = (uint8_t)*at++;
	if (__builtin_expect((raw & 0x81) != 0, 0)) {
		if (!checked)
			return NULL;
		at = avro_read_number(at - 1, &raw);
		if (at == NULL || (raw & 1) != 0)
			return NULL;
	}
	if (checked && (at > end || raw >> 1 > (uint64_t)(end - at)))
		return NULL;
	return at + (raw >> 1);
}

static inline const char *
avro_pass_varints(int checked, uint32_t count, const char *at, const char *end)
{
	do {
		const char *from = at;
		uint8_t first = (uint8_t)at[0];
		at += 1 + (first >> 7); /* one byte or two are told apart by adding */
		if ((first & (uint8_t)from[1] & 0x80) != 0)
			while ((*at++ & 0x80) != 0)
				if (at - from == AVRO_VARINT_MAX)
					return NULL;
		if (checked && at > end)
			return NULL;
	} while (--count != 0);
	return at;
}

/* The branch of a nullable as 0 or 2. NULL: another one. */
static inline const char *
avro_pass_branch(int checked, const char *at, const char *end, uint64_t *branch)
{
	*branch = (uint8_t)*at++;
	if (__builtin_expect((*branch & ~(uint64_t)2) != 0, 0)) {
		if (!checked)
			return NULL;
		at = avro_read_number(at - 1, branch);
		if (at == NULL || (*branch & ~(uint64_t)2) != 0)
			return NULL;
	}
	return !checked || at <= end ? at : NULL;
}

/* Runs operations from *op on until one that is not plain, which *op becomes; returns where the bytes go on. NULL: they are damaged,
 * or with `checked` 0 perhaps only unusual. */
static inline const char *
avro_skip_run(int checked, const avro_skip_op **first, const char *at, const char *end)
{
	const avro_skip_op *op = *first;
	uint64_t branch;
	for (; at != NULL; op++) {
		switch (op->code) {
		case AVRO_SKIP_VARINTS:
			at = avro_pass_varints(checked, op->count, at, end);
			continue;
		case AVRO_SKIP_BYTES:
			at = !checked || op->size <= (uint64_t)(end - at) ? at + op->size : NULL;
			continue;
		case AVRO_SKIP_TEXT:
			at = avro_pass_text(checked, at, end);
			continue;
		case AVRO_SKIP_NULLABLE_VARINT:
			at = avro_pass_branch(checked, at, end, &branch);
			if (at != NULL && branch >> 1 != op->null_index)
				at = avro_pass_varints(checked, 1, at, end);
			continue;
		case AVRO_SKIP_NULLABLE_TEXT:
			at = avro_pass_branch(checked, at, end, &branch);
			if (at != NULL && branch >> 1 != op->null_index)
				at = avro_pass_text(checked, at, end);
			continue;
		case AVRO_SKIP_NULLABLE:
			at = avro_pass_branch(checked, at, end, &branch);
			if (at != NULL && branch >> 1 == op->null_index)
				op += op->count;
			continue;
		case AVRO_SKIP_FLAT_ARRAY:
		case AVRO_SKIP_FLAT_MAP:
			at = avro_pass_flat(op, at, end);
			if (!checked && at != NULL && (uint64_t)(end - at) < op->size)
				return NULL;
			continue;
		default:
			*first = op;
			return at;
		}
	}
	return NULL;
}

static inline const char *
avro_skip_plain(const avro_skip_op **first, const char *at, const char *end)
{
	return avro_skip_run(1, first, at, end);
}

/* All of a plain program. NULL: damaged. */
static inline const char *
avro_skip_all(const avro_skip *program, const char *at, const char *end)
{
	const avro_skip_op *op = program->ops;
	const char *behind = NULL;
	if (__builtin_expect((uint64_t)(end - at) >= program->reach, 1))
		behind = avro_skip_run(0, &op, at, end);
	return __builtin_expect(behind != NULL, 1) ? behind : avro_skip_run(1, &op, at, end);
}

#endif
