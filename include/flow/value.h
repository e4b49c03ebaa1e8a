/*
 * flow/value.h - one value: a 16-byte cell.
 *
 * Strings, bytes and uuids point at memory, a decimal, list, map and record point at a struct; all of it is owned by
 * the batch (or the arena) that holds the cell. Cells are copied freely; what they point at is not.
 * A cell conforms to its schema: type, unit and flags are those that the schema says. What a type cannot hold is rejected with
 * FLOW_E_RANGE, never made null.
 * Nothing is silently changed: an int64 stays an int64, a decimal keeps every digit and its scale, null is not "".
 */
#ifndef FLOW_VALUE_H
#define FLOW_VALUE_H

#include "flow/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Value types (flow_value.type). A schema's kinds (flow/schema.h) map onto these. */
#define FLOW_NULL 0
#define FLOW_BOOL 1
#define FLOW_INT64 2     /* also int32 and every smaller integer of a schema */
#define FLOW_UINT64 3    /* only where the schema says uint64, or an untyped integer is above int64 */
#define FLOW_FLOAT64 4   /* also float32 */
#define FLOW_DECIMAL 5   /* as.decimal */
#define FLOW_STRING 6    /* UTF-8, `size` bytes at as.text; also enum symbols */
#define FLOW_BYTES 7     /* `size` bytes at as.text; also fixed */
#define FLOW_DATE 8      /* as.int64: days since 1970-01-01 */
#define FLOW_TIME 9      /* as.int64: since midnight, in `unit` */
#define FLOW_TIMESTAMP 10 /* as.int64: since 1970-01-01T00:00:00, in `unit`; FLOW_ZONED in flags: an instant (UTC) */
#define FLOW_UUID 11     /* 16 bytes at as.text, big-endian as printed */
#define FLOW_LIST 12     /* as.list */
#define FLOW_MAP 13      /* as.map: keys are strings, order is kept */
#define FLOW_RECORD 14   /* as.record: `size` cells, in the order of the schema's fields */

/* Units of time and timestamp, as powers of ten below a second. */
#define FLOW_SECONDS 0
#define FLOW_MILLISECONDS 3
#define FLOW_MICROSECONDS 6
#define FLOW_NANOSECONDS 9

/* flow_value.flags */
#define FLOW_ZONED 1u /* timestamp: an instant on the UTC line; without it: local, without zone */

struct flow_decimal;
struct flow_list;
struct flow_map;

typedef struct flow_value {
	union {
		int64_t int64; /* also bool (0, 1), date, time, timestamp */
		uint64_t uint64;
		double float64;
		const char *text; /* string, bytes, uuid */
		const struct flow_decimal *decimal;
		const struct flow_list *list;
		const struct flow_map *map;
		const struct flow_value *record;
	} as;
	uint32_t size; /* string, bytes: bytes; uuid: 16; record: fields; else 0 */
	uint8_t type;
	uint8_t unit;
	uint8_t flags;
	uint8_t branch; /* value of a union schema: index of its branch; else 0 */
} flow_value;

/*
 * (-1)^negative * digits * 10^-scale. `digits` is ASCII '0'..'9', `count` of them, no leading zero but a lone "0".
 * Scale may be negative (1e3 = "1", scale -3). Text formats give and take it as it is: 1.50 stays 1.50.
 */
typedef struct flow_decimal {
	const char *digits;
	uint32_t count;
	int32_t scale;
	uint8_t negative;
	uint8_t special; /* 0: a number; FLOW_DECIMAL_NAN, FLOW_DECIMAL_INFINITY (with `negative`); digits are then "0" */
	uint8_t reserved[6];
} flow_decimal;

#define FLOW_DECIMAL_NAN 1
#define FLOW_DECIMAL_INFINITY 2

typedef struct flow_list {
	const flow_value *items;
	uint64_t count;
} flow_list;

typedef struct flow_map_entry {
	flow_value key; /* a string */
	flow_value value;
} flow_map_entry;

typedef struct flow_map {
	const flow_map_entry *entries; /* in the order of the source; keys are distinct */
	uint64_t count;
} flow_map;

static inline flow_value
flow_null(void)
{
	flow_value v = { { 0 }, 0, FLOW_NULL, 0, 0, 0 };
	return v;
}

static inline flow_value
flow_cell(uint8_t type, int64_t payload)
{
	flow_value v = { { payload }, 0, type, 0, 0, 0 };
	return v;
}

static inline flow_value
flow_bool(int truth)
{
	return flow_cell(FLOW_BOOL, truth != 0);
}

static inline flow_value
flow_int64(int64_t number)
{
	return flow_cell(FLOW_INT64, number);
}

static inline flow_value
flow_uint64(uint64_t number)
{
	return flow_cell(FLOW_UINT64, (int64_t)number);
}

static inline flow_value
flow_float64(double number)
{
	flow_value v = flow_cell(FLOW_FLOAT64, 0);
	v.as.float64 = number;
	return v;
}

/* `data` must live as long as the batch that the cell goes into. */
static inline flow_value
flow_text(uint8_t type, const char *data, uint32_t size)
{
	flow_value v = { { 0 }, size, type, 0, 0, 0 };
	v.as.text = data;
	return v;
}

static inline flow_value
flow_string(const char *data, uint32_t size)
{
	return flow_text(FLOW_STRING, data, size);
}

static inline flow_value
flow_bytes(const void *data, uint32_t size)
{
	return flow_text(FLOW_BYTES, (const char *)data, size);
}

static inline flow_value
flow_timestamp(int64_t since_epoch, uint8_t unit, uint8_t flags)
{
	flow_value v = flow_cell(FLOW_TIMESTAMP, since_epoch);
	v.unit = unit;
	v.flags = flags;
	return v;
}

static inline flow_value
flow_record(const flow_value *fields, uint32_t count)
{
	flow_value v = { { 0 }, count, FLOW_RECORD, 0, 0, 0 };
	v.as.record = fields;
	return v;
}

static inline int
flow_is_null(flow_value v)
{
	return v.type == FLOW_NULL;
}

/* The bytes of a string, bytes or uuid cell. */
static inline flow_slice
flow_value_slice(const flow_value *v)
{
	return flow_slice_make(v->as.text, v->size);
}

#ifdef __cplusplus
}
#endif
#endif
