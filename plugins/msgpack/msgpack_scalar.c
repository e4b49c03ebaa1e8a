/* Items into cells of a declared type: exactly, or not at all. */
#include <math.h>

#include "flow_sdk/cell.h"
#include "flow_sdk/number.h"
#include "flow_sdk/text.h"
#include "flow_sdk/time.h"
#include "msgpack_serde.h"
#include "msgpack_wire.h"

#define NANOSECONDS_MAX 999999999u

static flow_slice
body_of(const pack_item *item)
{
	return flow_slice_make(item->as.body, item->size);
}

/* --- numbers --------------------------------------------------------------------------------------------------------- */

static flow_status
take_int(const pack_node *node, const pack_item *item, flow_value *value)
{
	int64_t number = item->as.int64;
	if (item->type == PACK_UINT)
		return FLOW_E_RANGE;
	if (item->type == PACK_FLOAT) {
		double real = item->as.float64;
		if (!(real >= -0x1p63 && real < 0x1p63) || real != trunc(real))
			return FLOW_E_RANGE;
		number = (int64_t)real;
	}
	if (node->kind == FLOW_KIND_INT32 && number != (int32_t)number)
		return FLOW_E_RANGE;
	*value = flow_int64(number);
	return FLOW_OK;
}

static flow_status
take_uint64(const pack_item *item, flow_value *value)
{
	if (item->type == PACK_FLOAT) {
		double real = item->as.float64;
		if (!(real >= 0 && real < 0x1p64) || real != trunc(real))
			return FLOW_E_RANGE;
		*value = flow_uint64((uint64_t)real);
		return FLOW_OK;
	}
	if (item->type == PACK_INT && item->as.int64 < 0)
		return FLOW_E_RANGE;
	*value = flow_uint64(item->as.uint64);
	return FLOW_OK;
}

static flow_status
take_float(const pack_node *node, const pack_item *item, flow_value *value)
{
	double number = item->as.float64;
	if (item->type == PACK_INT) {
		number = (double)item->as.int64;
		if (number >= 0x1p63 || (int64_t)number != item->as.int64)
			return FLOW_E_RANGE;
	} else if (item->type == PACK_UINT) {
		number = (double)item->as.uint64;
		if (number >= 0x1p64 || (uint64_t)number != item->as.uint64)
			return FLOW_E_RANGE;
	}
	if (node->kind == FLOW_KIND_FLOAT32 && !isnan(number) && (double)(float)number != number)
		return FLOW_E_RANGE;
	*value = flow_float64(number);
	return FLOW_OK;
}

static flow_status
take_decimal(const pack_node *node, const pack_item *item, flow_builder *memory, flow_value *value)
{
	if (item->type == PACK_STR)
		return flow_parse_cell(node->schema, body_of(item), memory, value);
	if (item->type != PACK_INT && item->type != PACK_UINT)
		return FLOW_E_TYPE; /* a double has other digits than the number that it stands for */
	char text[FLOW_NUMBER_TEXT_MAX];
	uint64_t size =
		item->type == PACK_INT ? flow_print_int64(item->as.int64, text) : flow_print_uint64(item->as.uint64, text);
	flow_status status = flow_parse_decimal(flow_slice_make(text, size), memory, value);
	return status == FLOW_OK ? flow_fit_decimal(node->schema, memory, value) : status;
}

/* --- timestamps -------------------------------------------------------------------------------------------------------- */

/* Seconds and nanoseconds of the three forms. */
static flow_status
read_timestamp(const pack_item *item, int64_t *seconds, uint32_t *nanoseconds)
{
	*nanoseconds = 0;
	if (item->size == 4) {
		*seconds = (int64_t)pack_big_endian(item->as.body, 4);
	} else if (item->size == 8) {
		uint64_t both = pack_big_endian(item->as.body, 8);
		*seconds = (int64_t)(both & ((1ull << 34) - 1));
		*nanoseconds = (uint32_t)(both >> 34);
	} else if (item->size == 12) {
		*nanoseconds = (uint32_t)pack_big_endian(item->as.body, 4);
		*seconds = (int64_t)pack_big_endian(item->as.body + 4, 8);
	} else {
		return FLOW_E_DECODE;
	}
	return *nanoseconds <= NANOSECONDS_MAX ? FLOW_OK : FLOW_E_DECODE;
}

static flow_status
in_unit(int64_t seconds, uint32_t nanoseconds, uint8_t unit, flow_value *value)
{
	static const int64_t per_second[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000 };
	int64_t parts = per_second[unit];
	int64_t size = per_second[FLOW_NANOSECONDS] / parts; /* of a part, in nanoseconds */
	if ((int64_t)nanoseconds % size != 0)
		return FLOW_E_RANGE;
	/* Together: the product alone may be one second out of range where the sum is not. */
	__int128 number = (__int128)seconds * parts + (int64_t)nanoseconds / size;
	if (number < INT64_MIN || number > INT64_MAX)
		return FLOW_E_RANGE;
	*value = flow_timestamp((int64_t)number, unit, FLOW_ZONED);
	return FLOW_OK;
}

/* Without a declared type: microseconds where that is exact, else what is. */
static flow_status
take_any_timestamp(const pack_item *item, flow_value *value)
{
	static const uint8_t units[] = { FLOW_MICROSECONDS, FLOW_NANOSECONDS, FLOW_MILLISECONDS, FLOW_SECONDS };
	int64_t seconds;
	uint32_t nanoseconds;
	flow_status status = read_timestamp(item, &seconds, &nanoseconds);
	if (status != FLOW_OK)
		return status;
	for (size_t i = 0; i < FLOW_COUNT(units); i++) {
		status = in_unit(seconds, nanoseconds, units[i], value);
		if (status == FLOW_OK)
			return status;
	}
	return status;
}

static flow_status
take_timestamp(const pack_node *node, const pack_item *item, flow_builder *memory, flow_value *value)
{
	int64_t seconds;
	uint32_t nanoseconds;
	if (item->type == PACK_STR)
		return flow_parse_cell(node->schema, body_of(item), memory, value);
	if (item->type != PACK_EXT || item->ext != PACK_EXT_TIMESTAMP || (node->schema->flags & FLOW_SCHEMA_ZONED) == 0)
		return FLOW_E_TYPE;
	flow_status status = read_timestamp(item, &seconds, &nanoseconds);
	return status == FLOW_OK ? in_unit(seconds, nanoseconds, node->schema->unit, value) : status;
}

/* --- texts and bytes ----------------------------------------------------------------------------------------------------- */

static flow_status
take_string(const pack_item *item, flow_value *value)
{
	if (item->type != PACK_STR)
		return FLOW_E_TYPE;
	if (flow_utf8_check(item->as.body, item->size) != item->size)
		return FLOW_E_DECODE;
	*value = flow_string(item->as.body, item->size);
	return FLOW_OK;
}

/* Old writers have one form for texts and bytes. */
static flow_status
take_bytes(const pack_node *node, const pack_item *item, flow_value *value)
{
	if (item->type != PACK_BIN && item->type != PACK_STR)
		return FLOW_E_TYPE;
	if (node->kind == FLOW_KIND_FIXED && item->size != node->schema->fixed_size)
		return FLOW_E_RANGE;
	*value = flow_bytes(item->as.body, item->size);
	return FLOW_OK;
}

static flow_status
take_uuid(const pack_node *node, const pack_item *item, flow_builder *memory, flow_value *value)
{
	if (item->type == PACK_STR)
		return flow_parse_cell(node->schema, body_of(item), memory, value);
	if (item->type != PACK_BIN)
		return FLOW_E_TYPE;
	if (item->size != 16)
		return FLOW_E_DECODE;
	*value = flow_text(FLOW_UUID, item->as.body, 16);
	return FLOW_OK;
}

static flow_status
take_any(const pack_format *format, const pack_item *item, flow_value *value)
{
	switch (item->type) {
	case PACK_BOOL:
		*value = flow_bool((int)item->as.int64);
		return FLOW_OK;
	case PACK_INT:
		*value = flow_int64(item->as.int64);
		return FLOW_OK;
	case PACK_UINT:
		*value = flow_uint64(item->as.uint64);
		return FLOW_OK;
	case PACK_FLOAT:
		*value = flow_float64(item->as.float64);
		return FLOW_OK;
	case PACK_STR:
		return take_string(item, value);
	case PACK_BIN:
		*value = flow_bytes(item->as.body, item->size);
		return FLOW_OK;
	default:
		break;
	}
	if (item->ext == PACK_EXT_TIMESTAMP)
		return take_any_timestamp(item, value);
	if (format->extensions == PACK_EXTENSIONS_ERROR)
		return FLOW_E_UNSUPPORTED;
	*value = format->extensions == PACK_EXTENSIONS_NULL ? flow_null() : flow_bytes(item->as.body, item->size);
	return FLOW_OK;
}

/* --- all of them ------------------------------------------------------------------------------------------------------- */

static int
is_number(const pack_item *item)
{
	return item->type == PACK_INT || item->type == PACK_UINT || item->type == PACK_FLOAT;
}

flow_status
pack_take(const pack_format *format, const pack_node *node, const pack_item *item, flow_builder *memory,
		  flow_value *value)
{
	switch (node->kind) {
	case FLOW_KIND_ANY:
		return take_any(format, item, value);
	case FLOW_KIND_BOOL:
		*value = flow_bool(item->as.int64 != 0);
		return item->type == PACK_BOOL ? FLOW_OK : FLOW_E_TYPE;
	case FLOW_KIND_INT32:
	case FLOW_KIND_INT64:
		return is_number(item) ? take_int(node, item, value) : FLOW_E_TYPE;
	case FLOW_KIND_UINT64:
		return is_number(item) ? take_uint64(item, value) : FLOW_E_TYPE;
	case FLOW_KIND_FLOAT32:
	case FLOW_KIND_FLOAT64:
		return is_number(item) ? take_float(node, item, value) : FLOW_E_TYPE;
	case FLOW_KIND_DECIMAL:
		return take_decimal(node, item, memory, value);
	case FLOW_KIND_STRING:
		return take_string(item, value);
	case FLOW_KIND_BYTES:
	case FLOW_KIND_FIXED:
		return take_bytes(node, item, value);
	case FLOW_KIND_TIMESTAMP:
		return take_timestamp(node, item, memory, value);
	case FLOW_KIND_UUID:
		return take_uuid(node, item, memory, value);
	case FLOW_KIND_ENUM:
	case FLOW_KIND_DATE:
	case FLOW_KIND_TIME:
		return item->type == PACK_STR ? flow_parse_cell(node->schema, body_of(item), memory, value) : FLOW_E_TYPE;
	default:
		return FLOW_E_TYPE;
	}
}

int
pack_is_native(const pack_node *node, const pack_item *item)
{
	switch (item->type) {
	case PACK_INT:
	case PACK_UINT:
		return node->kind == FLOW_KIND_INT32 || node->kind == FLOW_KIND_INT64 || node->kind == FLOW_KIND_UINT64;
	case PACK_FLOAT:
		return node->kind == (item->narrow ? FLOW_KIND_FLOAT32 : FLOW_KIND_FLOAT64);
	case PACK_STR:
		return node->kind == FLOW_KIND_STRING || node->kind == FLOW_KIND_ENUM;
	case PACK_BIN:
		return node->kind == FLOW_KIND_BYTES || node->kind == FLOW_KIND_FIXED;
	case PACK_EXT:
		return node->kind == FLOW_KIND_TIMESTAMP;
	default:
		return node->kind == FLOW_KIND_BOOL;
	}
}
