/* cast(x as type): from any scalar to any scalar where that means something. What cannot be kept fails the row. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "expr/node.h"
#include "expr/text.h"
#include "flow_sdk/number.h"
#include "flow_sdk/time.h"

#define DAY_SECONDS 86400

static flow_status
bad_value(frame *f, flow_status status, const flow_value *from, const flow_schema *target)
{
	if (status == FLOW_E_MEMORY)
		return status;
	if (from->type == FLOW_STRING)
		return row_fail(f, status == FLOW_E_RANGE ? FLOW_E_RANGE : FLOW_E_DECODE, "'%.*s' is %s %s",
						from->size > 40 ? 40 : (int)from->size, from->as.text,
						status == FLOW_E_RANGE ? "out of range for" : "not a text of", kind_name(target->kind));
	if (status == FLOW_E_RANGE)
		return row_fail(f, status, "a %s does not fit %s", cell_type_name(from->type), kind_name(target->kind));
	return row_fail(f, FLOW_E_TYPE, "%s cannot be cast to %s", cell_type_name(from->type), kind_name(target->kind));
}

static flow_status
to_bool(const flow_value *from, flow_value *to)
{
	if (from->type == FLOW_INT64 || from->type == FLOW_UINT64) {
		*to = flow_bool(from->as.int64 != 0);
		return FLOW_OK;
	}
	if (from->type != FLOW_STRING)
		return FLOW_E_TYPE;
	int truth = from->size == 4 && strncasecmp(from->as.text, "true", 4) == 0;
	*to = flow_bool(truth);
	return truth || (from->size == 5 && strncasecmp(from->as.text, "false", 5) == 0) ? FLOW_OK : FLOW_E_DECODE;
}

/* Whole numbers only: what stands behind the point is never dropped in silence. */
static flow_status
whole_int64(const flow_value *from, int64_t *number)
{
	switch (from->type) {
	case FLOW_BOOL:
	case FLOW_INT64:
		*number = from->as.int64;
		return FLOW_OK;
	case FLOW_UINT64:
		*number = (int64_t)from->as.uint64;
		return from->as.uint64 > INT64_MAX ? FLOW_E_RANGE : FLOW_OK;
	case FLOW_FLOAT64:
		if (!(from->as.float64 >= -9223372036854775808.0 && from->as.float64 < 9223372036854775808.0))
			return FLOW_E_RANGE;
		*number = (int64_t)from->as.float64;
		return (double)*number == from->as.float64 ? FLOW_OK : FLOW_E_RANGE;
	case FLOW_DECIMAL:
		return from->as.decimal->special != 0 ? FLOW_E_RANGE : decimal_to_int64(from->as.decimal, number);
	case FLOW_STRING:
		return flow_parse_int64(flow_value_slice(from), number);
	default:
		return FLOW_E_TYPE;
	}
}

static flow_status
to_int64(const flow_value *from, int32_t narrow, flow_value *to)
{
	int64_t number;
	flow_status status = whole_int64(from, &number);
	if (status != FLOW_OK)
		return status;
	*to = flow_int64(number);
	return narrow && (number > INT32_MAX || number < INT32_MIN) ? FLOW_E_RANGE : FLOW_OK;
}

static flow_status
to_uint64(const flow_value *from, flow_value *to)
{
	uint64_t number = 0;
	flow_status status = FLOW_OK;
	int64_t small;
	if (from->type == FLOW_UINT64) {
		number = from->as.uint64;
	} else if (from->type == FLOW_FLOAT64 && from->as.float64 >= 9223372036854775808.0) {
		status = from->as.float64 < 18446744073709551616.0 ? FLOW_OK : FLOW_E_RANGE;
		number = status == FLOW_OK ? (uint64_t)from->as.float64 : 0;
	} else if (from->type == FLOW_DECIMAL) {
		status = from->as.decimal->special != 0 ? FLOW_E_RANGE : decimal_to_uint64(from->as.decimal, &number);
	} else if (from->type == FLOW_STRING) {
		status = flow_parse_uint64(flow_value_slice(from), &number);
	} else {
		status = whole_int64(from, &small);
		if (status == FLOW_OK && small < 0)
			status = FLOW_E_RANGE;
		number = status == FLOW_OK ? (uint64_t)small : 0;
	}
	*to = flow_uint64(number);
	return status;
}

static flow_status
to_float64(const flow_value *from, int narrow, flow_value *to)
{
	double number = 0;
	flow_status status = FLOW_OK;
	switch (from->type) {
	case FLOW_FLOAT64:
		number = from->as.float64;
		break;
	case FLOW_INT64:
		number = (double)from->as.int64;
		break;
	case FLOW_UINT64:
		number = (double)from->as.uint64;
		break;
	case FLOW_DECIMAL:
		number = decimal_to_float64(from->as.decimal);
		if (from->as.decimal->special == 0 && isinf(number))
			status = FLOW_E_RANGE;
		break;
	case FLOW_STRING:
		status = flow_parse_float64(flow_value_slice(from), 1, &number);
		break;
	default:
		return FLOW_E_TYPE;
	}
	if (status == FLOW_OK && narrow) {
		double rounded = (double)(float)number;
		status = isinf(rounded) && !isinf(number) ? FLOW_E_RANGE : FLOW_OK;
		number = rounded;
	}
	*to = flow_float64(number);
	return status;
}

static flow_status
to_decimal(frame *f, const flow_schema *target, const flow_value *from, flow_value *to)
{
	flow_status status;
	switch (from->type) {
	case FLOW_DECIMAL:
		*to = *from;
		status = FLOW_OK;
		break;
	case FLOW_INT64:
		status = decimal_from_int64(from->as.int64, f->memory, to);
		break;
	case FLOW_UINT64:
		status = decimal_from_uint64(from->as.uint64, f->memory, to);
		break;
	case FLOW_FLOAT64:
		status = decimal_from_float64(from->as.float64, f->memory, to);
		break;
	case FLOW_STRING:
		status = flow_parse_decimal(flow_value_slice(from), f->memory, to);
		break;
	default:
		return FLOW_E_TYPE;
	}
	if (status != FLOW_OK || target->precision == 0)
		return status;
	const flow_decimal *number = to->as.decimal;
	if (number->special != 0 || (int64_t)number->count - number->scale > target->precision - target->scale)
		return number->special == 0 && number->count == 1 && number->digits[0] == '0'
				   ? decimal_round(number, target->scale, f->memory, to)
				   : FLOW_E_RANGE;
	status = decimal_round(number, target->scale, f->memory, to);
	if (status == FLOW_OK && to->as.decimal->count > (uint32_t)target->precision)
		status = FLOW_E_RANGE; /* 9.99 to one digit behind the point is 10.0 */
	return status;
}

static flow_status
text_of(frame *f, const char *text, uint64_t size, flow_value *to)
{
	const char *copy = flow_builder_copy(f->memory, text, size);
	if (copy == NULL)
		return FLOW_E_MEMORY;
	*to = flow_string(copy, (uint32_t)size);
	return FLOW_OK;
}

static flow_status
decimal_text(frame *f, const flow_decimal *decimal, flow_value *to)
{
	if (decimal->special == FLOW_DECIMAL_NAN)
		return text_of(f, "NaN", 3, to);
	if (decimal->special != 0)
		return decimal->negative ? text_of(f, "-Infinity", 9, to) : text_of(f, "Infinity", 8, to);
	char *buffer = flow_builder_alloc(f->memory, (uint64_t)decimal->count + 64);
	if (buffer == NULL)
		return FLOW_E_MEMORY;
	*to = flow_string(buffer, (uint32_t)flow_print_decimal(decimal, buffer));
	return FLOW_OK;
}

static flow_status
uuid_text(frame *f, const flow_value *from, flow_value *to)
{
	static const char digits[] = "0123456789abcdef";
	char text[36];
	uint32_t at = 0;
	if (from->size != 16)
		return FLOW_E_TYPE;
	for (uint32_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[at++] = '-';
		text[at++] = digits[(unsigned char)from->as.text[i] >> 4];
		text[at++] = digits[(unsigned char)from->as.text[i] & 15];
	}
	return text_of(f, text, 36, to);
}

static flow_status
to_string(frame *f, const flow_value *from, flow_value *to)
{
	char buffer[FLOW_TIME_TEXT_MAX + FLOW_NUMBER_TEXT_MAX];
	switch (from->type) {
	case FLOW_STRING:
		*to = *from;
		return FLOW_OK;
	case FLOW_BYTES:
		*to = *from;
		to->type = FLOW_STRING;
		return text_valid_prefix(flow_value_slice(from)) == from->size ? FLOW_OK : FLOW_E_RANGE;
	case FLOW_BOOL:
		return from->as.int64 != 0 ? text_of(f, "true", 4, to) : text_of(f, "false", 5, to);
	case FLOW_INT64:
		return text_of(f, buffer, flow_print_int64(from->as.int64, buffer), to);
	case FLOW_UINT64:
		return text_of(f, buffer, flow_print_uint64(from->as.uint64, buffer), to);
	case FLOW_FLOAT64:
		return text_of(f, buffer, flow_print_float64(from->as.float64, buffer), to);
	case FLOW_DECIMAL:
		return decimal_text(f, from->as.decimal, to);
	case FLOW_DATE:
	case FLOW_TIME:
	case FLOW_TIMESTAMP:
		return text_of(f, buffer, flow_print_time(from, buffer), to);
	case FLOW_UUID:
		return uuid_text(f, from, to);
	default:
		return FLOW_E_TYPE;
	}
}

static flow_status
to_bytes(const flow_schema *target, const flow_value *from, flow_value *to)
{
	if (from->type != FLOW_STRING && from->type != FLOW_BYTES && from->type != FLOW_UUID)
		return FLOW_E_TYPE;
	*to = flow_bytes(from->as.text, from->size);
	return target->kind == FLOW_KIND_FIXED && from->size != target->fixed_size ? FLOW_E_RANGE : FLOW_OK;
}

static flow_status
to_symbol(const flow_schema *target, const flow_value *from, flow_value *to)
{
	if (from->type != FLOW_STRING)
		return FLOW_E_TYPE;
	*to = *from;
	for (uint32_t i = 0; i < target->symbol_count; i++)
		if (flow_slice_equal(target->symbols[i], flow_value_slice(from)))
			return FLOW_OK;
	return FLOW_E_DECODE;
}

static int64_t
floor_divide(int64_t number, int64_t divisor)
{
	return number / divisor - (number % divisor < 0);
}

static int64_t
ticks_a_day(uint8_t unit)
{
	int64_t ticks = DAY_SECONDS;
	for (unsigned u = 0; u < unit; u += 3)
		ticks *= 1000;
	return ticks;
}

static flow_status
to_date(const flow_value *from, flow_value *to)
{
	if (from->type == FLOW_STRING)
		return flow_parse_date(flow_value_slice(from), to);
	if (from->type == FLOW_DATE)
		*to = *from;
	else if (from->type == FLOW_TIMESTAMP)
		*to = flow_cell(FLOW_DATE, floor_divide(from->as.int64, ticks_a_day(from->unit)));
	else
		return FLOW_E_TYPE;
	return to->as.int64 > INT32_MAX || to->as.int64 < INT32_MIN ? FLOW_E_RANGE : FLOW_OK;
}

static flow_status
to_time(const flow_schema *target, const flow_value *from, flow_value *to)
{
	int64_t number;
	if (from->type == FLOW_STRING)
		return flow_parse_time(flow_value_slice(from), target->unit, to);
	if (from->type == FLOW_TIME)
		number = from->as.int64;
	else if (from->type == FLOW_TIMESTAMP)
		number = from->as.int64 - floor_divide(from->as.int64, ticks_a_day(from->unit)) * ticks_a_day(from->unit);
	else
		return FLOW_E_TYPE;
	*to = flow_cell(FLOW_TIME, 0);
	to->unit = target->unit;
	return flow_convert_unit(number, from->unit, target->unit, &to->as.int64);
}

static flow_status
to_timestamp(const flow_schema *target, const flow_value *from, flow_value *to)
{
	uint8_t zoned = (target->flags & FLOW_SCHEMA_ZONED) != 0 ? FLOW_ZONED : 0;
	int64_t number = from->as.int64;
	uint8_t unit = from->unit;
	if (from->type == FLOW_STRING)
		return flow_parse_timestamp(flow_value_slice(from), target->unit, zoned != 0, to);
	if (from->type == FLOW_DATE) {
		unit = FLOW_SECONDS;
		if (__builtin_mul_overflow(number, (int64_t)DAY_SECONDS, &number))
			return FLOW_E_RANGE;
	} else if (from->type != FLOW_TIMESTAMP) {
		return FLOW_E_TYPE;
	}
	*to = flow_timestamp(0, target->unit, zoned);
	return flow_convert_unit(number, unit, target->unit, &to->as.int64);
}

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static flow_status
parse_uuid(frame *f, const flow_value *from, flow_value *to)
{
	char bytes[16] = { 0 };
	uint32_t nibble = 0;
	if (from->size != 36)
		return FLOW_E_DECODE;
	for (uint32_t i = 0; i < 36; i++) {
		int dash = i == 8 || i == 13 || i == 18 || i == 23;
		int digit = hex_value(from->as.text[i]);
		if (dash ? from->as.text[i] != '-' : digit < 0)
			return FLOW_E_DECODE;
		if (dash)
			continue;
		bytes[nibble / 2] = (char)(((unsigned char)bytes[nibble / 2] << 4) | digit);
		nibble++;
	}
	const char *copy = flow_builder_copy(f->memory, bytes, 16);
	if (copy == NULL)
		return FLOW_E_MEMORY;
	*to = flow_text(FLOW_UUID, copy, 16);
	return FLOW_OK;
}

static flow_status
to_uuid(frame *f, const flow_value *from, flow_value *to)
{
	if (from->type == FLOW_STRING)
		return parse_uuid(f, from, to);
	if (from->type != FLOW_UUID && from->type != FLOW_BYTES)
		return FLOW_E_TYPE;
	*to = flow_text(FLOW_UUID, from->as.text, from->size);
	return from->size == 16 ? FLOW_OK : FLOW_E_RANGE;
}

static flow_status
convert(frame *f, const flow_schema *target, const flow_value *from, flow_value *to)
{
	switch (target->kind) {
	case FLOW_KIND_BOOL:
		*to = *from;
		return from->type == FLOW_BOOL ? FLOW_OK : to_bool(from, to);
	case FLOW_KIND_INT32:
		return to_int64(from, 1, to);
	case FLOW_KIND_INT64:
		return to_int64(from, 0, to);
	case FLOW_KIND_UINT64:
		return to_uint64(from, to);
	case FLOW_KIND_FLOAT32:
		return to_float64(from, 1, to);
	case FLOW_KIND_FLOAT64:
		return to_float64(from, 0, to);
	case FLOW_KIND_DECIMAL:
		return to_decimal(f, target, from, to);
	case FLOW_KIND_STRING:
		return to_string(f, from, to);
	case FLOW_KIND_BYTES:
	case FLOW_KIND_FIXED:
		return to_bytes(target, from, to);
	case FLOW_KIND_ENUM:
		return to_symbol(target, from, to);
	case FLOW_KIND_DATE:
		return to_date(from, to);
	case FLOW_KIND_TIME:
		return to_time(target, from, to);
	case FLOW_KIND_TIMESTAMP:
		return to_timestamp(target, from, to);
	case FLOW_KIND_UUID:
		return to_uuid(f, from, to);
	default:
		*to = *from;
		return FLOW_OK;
	}
}

flow_status
cast_value(frame *f, const flow_schema *target, const flow_value *from, flow_value *to)
{
	flow_status status = convert(f, target, from, to);
	if (status == FLOW_E_RANGE && from->type == FLOW_STRING && target->kind == FLOW_KIND_FIXED)
		return row_fail(f, status, "%u bytes do not make a fixed(%u)", from->size, target->fixed_size);
	return status == FLOW_OK ? status : bad_value(f, status, from, target);
}

flow_status
cast_kernel(const node *n, frame *f, slots s, uint32_t target)
{
	operand from;
	flow_status status = operand_hold(n->children[0], f, s, target, &from);
	flow_value *to = frame_register(f, target);
	flow_value constant = from.mask == 0 && status == FLOW_OK ? from.cells[0] : flow_null(); /* `to` may lie over it */
	for (uint32_t i = 0; i < s.count && status == FLOW_OK; i++) {
		uint32_t slot = s.list[i];
		const flow_value *v = from.mask == 0 ? &constant : &from.cells[slot];
		flow_value result = flow_null();
		flow_status row_status = v->type == FLOW_NULL ? FLOW_OK : cast_value(f, n->target, v, &result);
		if (row_status == FLOW_E_MEMORY || (row_status != FLOW_OK && !n->attempt))
			status = slot_fail(f, n, slot, row_status, "%s", f->message);
		to[slot] = row_status == FLOW_OK ? result : flow_null();
	}
	return status;
}

/* Groups of kinds that casts know. */
enum cast_group {
	GROUP_ANY,
	GROUP_NULL,
	GROUP_BOOL,
	GROUP_INTEGER,
	GROUP_REAL,
	GROUP_STRING,
	GROUP_BYTES,
	GROUP_DATE,
	GROUP_TIME,
	GROUP_TIMESTAMP,
	GROUP_UUID,
	GROUP_NONE
};

static enum cast_group
group_of(uint8_t kind)
{
	static const uint8_t groups[] = { GROUP_ANY,       GROUP_NULL,  GROUP_BOOL,   GROUP_INTEGER, GROUP_INTEGER,
									  GROUP_INTEGER,   GROUP_REAL,  GROUP_REAL,   GROUP_REAL,    GROUP_STRING,
									  GROUP_BYTES,     GROUP_BYTES, GROUP_STRING, GROUP_DATE,    GROUP_TIME,
									  GROUP_TIMESTAMP, GROUP_UUID,  GROUP_NONE,   GROUP_NONE,    GROUP_NONE,
									  GROUP_ANY };
	return kind < FLOW_COUNT(groups) ? (enum cast_group)groups[kind] : GROUP_NONE;
}

int
cast_possible(const value_type *from, const flow_schema *target)
{
	enum cast_group source = group_of(from->kind), sink = group_of(target->kind);
	if (target->kind == FLOW_KIND_UNION || sink == GROUP_NONE || sink == GROUP_NULL)
		return 0;
	if (source == GROUP_ANY || source == GROUP_NULL || sink == GROUP_ANY || source == sink)
		return 1;
	switch (sink) {
	case GROUP_STRING:
		return target->kind == FLOW_KIND_STRING ? source != GROUP_NONE : 0;
	case GROUP_BOOL:
		return source == GROUP_INTEGER || source == GROUP_STRING;
	case GROUP_INTEGER:
		return source == GROUP_BOOL || source == GROUP_REAL || source == GROUP_STRING;
	case GROUP_REAL:
		return source == GROUP_INTEGER || source == GROUP_STRING;
	case GROUP_BYTES:
		return source == GROUP_STRING || source == GROUP_UUID;
	case GROUP_DATE:
	case GROUP_TIME:
		return source == GROUP_STRING || source == GROUP_TIMESTAMP;
	case GROUP_TIMESTAMP:
		return source == GROUP_STRING || source == GROUP_DATE;
	default:
		return source == GROUP_STRING || source == GROUP_BYTES;
	}
}
