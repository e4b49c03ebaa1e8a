/*
 * The operations of decoding: what avro_plan.c makes and avro_decode.c runs.
 */
#ifndef AVRO_OPS_H
#define AVRO_OPS_H

enum {
	AVRO_OP_END,
	AVRO_OP_NULL,
	AVRO_OP_BOOLEAN,
	AVRO_OP_INT,
	AVRO_OP_LONG,
	AVRO_OP_SCALED, /* an int or long in a coarser unit: times `number` */
	AVRO_OP_INT_AS_FLOAT,
	AVRO_OP_LONG_AS_FLOAT,
	AVRO_OP_INT_AS_DOUBLE,
	AVRO_OP_LONG_AS_DOUBLE,
	AVRO_OP_FLOAT,
	AVRO_OP_DOUBLE,
	AVRO_OP_STRING,
	AVRO_OP_BYTES,
	AVRO_OP_FIXED,
	AVRO_OP_ENUM,
	AVRO_OP_DECIMAL,       /* a length and bytes */
	AVRO_OP_FIXED_DECIMAL, /* size bytes */
	AVRO_OP_BIG_DECIMAL,
	AVRO_OP_UINT64,
	AVRO_OP_UUID_TEXT,
	AVRO_OP_UUID_FIXED,
	AVRO_OP_RECORD,
	AVRO_OP_LIST,
	AVRO_OP_MAP,
	AVRO_OP_NULLABLE, /* the next operation is the value's */
	AVRO_OP_UNION,
	AVRO_OP_CONSTANT,
	AVRO_OP_SKIP,
	AVRO_OP_UNRESOLVED,
};

#endif
