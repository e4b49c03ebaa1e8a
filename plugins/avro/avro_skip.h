/*
 * Making skip programs (avro_skip_plan.c); running them is in avro.h.
 *
 * Ownership: programs lie in the memory of the plan. Threads: the one that makes the plan.
 */
#ifndef AVRO_SKIP_H
#define AVRO_SKIP_H

#include "avro.h"

enum {
	AVRO_SKIP_END,
	AVRO_SKIP_VARINTS, /* count */
	AVRO_SKIP_BYTES,   /* size */
	AVRO_SKIP_TEXT,    /* a length and its bytes */
	AVRO_SKIP_NULLABLE_VARINT,
	AVRO_SKIP_NULLABLE_TEXT,
	AVRO_SKIP_NULLABLE,   /* the operations of the value follow */
	AVRO_SKIP_FLAT_ARRAY, /* of items that are plain; `size`: what the operations behind it may reach */
	AVRO_SKIP_FLAT_MAP,
	AVRO_SKIP_UNION,
	AVRO_SKIP_ARRAY,
	AVRO_SKIP_MAP,
	AVRO_SKIP_CALL,
};

/* Programs of records made so far. */
typedef struct avro_skip_maker {
	avro_memory *memory;
	struct avro_skip_record *records;
} avro_skip_maker;

/* A list of operations that grows. */
typedef struct avro_skip_list {
	avro_skip_op *ops;
	uint32_t count;
	uint32_t capacity;
} avro_skip_list;

/* Behind an array or map of plain items; NULL: damaged. */
const char *avro_pass_flat(const avro_skip_op *op, const char *at, const char *end);

/* Why avro_skip_plain refused the bytes at *at, which becomes the place of the fault. */
const char *avro_skip_reason(const avro_skip_op *op, const char **at, const char *end);

/* The program of one value of this schema; NULL: out of memory. */
const avro_skip *avro_skip_create(avro_skip_maker *maker, const flow_schema *schema);
/* Appends what skips a value. 0: out of memory. */
int avro_skip_append(avro_skip_maker *maker, avro_skip_list *list, const flow_schema *schema, int branch);
/* Closes the list; NULL: out of memory. */
avro_skip *avro_skip_finish(avro_skip_maker *maker, avro_skip_list *list, avro_skip *program);

#endif
