/* Canonical key bytes -> values (base/key.h; the form is in base/key_bytes.h). The bytes may be damaged: everything is checked. */
#include <string.h>

#include "base/key.h"
#include "base/key_bytes.h"
#include "flow_sdk/number.h"

struct key_reader {
	const uint8_t *at;
	const uint8_t *end;
	flow_builder *memory;
};

static flow_status decode(struct key_reader *r, flow_value *value, int depth);

static uint64_t
left(const struct key_reader *r)
{
	return (uint64_t)(r->end - r->at);
}

static flow_status
read_big_endian(struct key_reader *r, int bytes, uint64_t *number)
{
	if (left(r) < (uint64_t)bytes)
		return FLOW_E_CORRUPT;
	*number = 0;
	for (int i = 0; i < bytes; i++)
		*number = *number << 8 | *r->at++;
	return FLOW_OK;
}

static flow_status
read_whole(struct key_reader *r, uint64_t *magnitude, int *negative)
{
	if (left(r) < 1)
		return FLOW_E_CORRUPT;
	int n = *r->at++ - KEY_WHOLE_ZERO;
	*negative = n < 0;
	n = *negative ? -n : n;
	flow_status status = n > 8 ? FLOW_E_CORRUPT : read_big_endian(r, n, magnitude);
	if (status != FLOW_OK)
		return status;
	if (*negative)
		*magnitude = n == 8 ? ~*magnitude : ~*magnitude & (((uint64_t)1 << (8 * n)) - 1);
	int shortest = n == 0 || *magnitude >> (8 * (n - 1)) != 0; /* else two keys would mean one number */
	return shortest ? FLOW_OK : FLOW_E_CORRUPT;
}

static flow_status
read_signed_whole(struct key_reader *r, int64_t *number)
{
	uint64_t magnitude;
	int negative;
	flow_status status = read_whole(r, &magnitude, &negative);
	if (status == FLOW_OK && magnitude > (uint64_t)INT64_MAX + (uint64_t)negative)
		status = FLOW_E_CORRUPT;
	if (status == FLOW_OK)
		*number = (int64_t)(negative ? 0 - magnitude : magnitude);
	return status;
}

/* ---- numbers ---- */

/* Digit pairs up to the end, as digits; `flip` is what bytes are combined with. */
static flow_status
read_pairs(struct key_reader *r, uint8_t flip, char **digits, uint64_t *count)
{
	const uint8_t *end = memchr(r->at, (uint8_t)(KEY_END ^ flip), left(r));
	if (end == NULL)
		return FLOW_E_CORRUPT;
	uint64_t pairs = (uint64_t)(end - r->at);
	*digits = flow_builder_alloc(r->memory, pairs * 2 + 1);
	if (*digits == NULL)
		return FLOW_E_MEMORY;
	for (uint64_t i = 0; i < pairs; i++) {
		unsigned pair = (unsigned)(r->at[i] ^ flip) - 1;
		if (pair > 99 || (pair == 0 && i + 1 == pairs))
			return FLOW_E_CORRUPT;
		(*digits)[2 * i] = (char)('0' + pair / 10);
		(*digits)[2 * i + 1] = (char)('0' + pair % 10);
	}
	*count = pairs * 2;
	r->at = end + 1;
	return FLOW_OK;
}

static flow_status
make_decimal(struct key_reader *r, const char *digits, uint64_t count, int64_t scale, int negative, flow_value *value)
{
	while (count > 1 && *digits == '0') {
		digits++;
		count--;
	}
	for (; count > 1 && digits[count - 1] == '0'; scale--)
		count--;
	flow_decimal *decimal = flow_builder_alloc(r->memory, sizeof(*decimal));
	if (decimal == NULL)
		return FLOW_E_MEMORY;
	if (count > UINT32_MAX || scale > INT32_MAX || scale < INT32_MIN)
		return FLOW_E_CORRUPT;
	*decimal = (flow_decimal){
		.digits = digits, .count = (uint32_t)count, .scale = (int32_t)scale, .negative = (uint8_t)negative
	};
	*value = flow_cell(FLOW_DECIMAL, 0);
	value->as.decimal = decimal;
	return FLOW_OK;
}

/* A number of 20 digits before the point may be below 2^64: then its key has the other form. Below zero the number rounded down
 * counts, so -(2^64 - 1) with a fraction is huge. */
static int
is_huge(const char *digits, uint64_t count, uint64_t exponent, int negative)
{
	char first[20];
	uint64_t whole;
	memset(first, '0', sizeof(first));
	memcpy(first, digits, count < sizeof(first) ? count : sizeof(first));
	if (exponent != sizeof(first))
		return exponent > sizeof(first);
	if (flow_parse_uint64(flow_slice_make(first, sizeof(first)), &whole) != FLOW_OK)
		return 1;
	return negative && whole == UINT64_MAX && count > sizeof(first);
}

static flow_status
read_huge(struct key_reader *r, int negative, flow_value *value)
{
	uint8_t flip = negative ? 0xFF : 0;
	uint64_t exponent, count;
	char *digits;
	r->at++;
	flow_status status = read_big_endian(r, 4, &exponent);
	if (status == FLOW_OK)
		status = read_pairs(r, flip, &digits, &count);
	if (status != FLOW_OK)
		return status;
	exponent ^= negative ? 0xFFFFFFFFu : 0;
	if (count == 0 || digits[0] == '0' || !is_huge(digits, count, exponent, negative))
		return FLOW_E_CORRUPT;
	return make_decimal(r, digits, count, (int64_t)count - (int64_t)exponent, negative, value);
}

/* Below zero the whole was rounded down: the number is -(whole - 1 + (1 - fraction)). */
static void
undo_rounding_down(char *fraction, uint64_t count, uint64_t *whole)
{
	(*whole)--;
	uint64_t last = count;
	while (fraction[last - 1] == '0')
		last--;
	for (uint64_t i = 0; i < last; i++)
		fraction[i] = (char)('0' + (i + 1 == last ? 10 : 9) - (fraction[i] - '0'));
}

static flow_status
read_number(struct key_reader *r, flow_value *value)
{
	uint64_t whole, count;
	int negative;
	char *fraction, text[24];
	flow_status status = read_whole(r, &whole, &negative);
	if (status == FLOW_OK)
		status = read_pairs(r, 0, &fraction, &count);
	if (status != FLOW_OK)
		return status;
	if (count == 0 && (!negative || whole <= (uint64_t)INT64_MAX + 1)) {
		int fits = whole <= (uint64_t)INT64_MAX + (uint64_t)negative;
		*value = fits ? flow_int64((int64_t)(negative ? 0 - whole : whole)) : flow_uint64(whole);
		return FLOW_OK;
	}
	if (negative && count != 0)
		undo_rounding_down(fraction, count, &whole);
	uint64_t size = flow_print_uint64(whole, text);
	char *digits = flow_builder_alloc(r->memory, size + count);
	if (digits == NULL)
		return FLOW_E_MEMORY;
	memcpy(digits, text, size);
	if (count != 0)
		memcpy(digits + size, fraction, count);
	return make_decimal(r, digits, size + count, (int64_t)count, negative, value);
}

static flow_status
read_special(struct key_reader *r, uint8_t special, int negative, flow_value *value)
{
	r->at++;
	flow_decimal *decimal = flow_builder_alloc(r->memory, sizeof(*decimal));
	if (decimal == NULL)
		return FLOW_E_MEMORY;
	*decimal = (flow_decimal){ .digits = "0", .count = 1, .negative = (uint8_t)negative, .special = special };
	*value = flow_cell(FLOW_DECIMAL, 0);
	value->as.decimal = decimal;
	return FLOW_OK;
}

static flow_status
read_any_number(struct key_reader *r, flow_value *value)
{
	switch (left(r) == 0 ? KEY_WHOLE_ZERO : *r->at) {
	case KEY_HUGE:
		return read_huge(r, 0, value);
	case KEY_HUGE_NEGATIVE:
		return read_huge(r, 1, value);
	case KEY_INFINITY:
		return read_special(r, FLOW_DECIMAL_INFINITY, 0, value);
	case KEY_MINUS_INFINITY:
		return read_special(r, FLOW_DECIMAL_INFINITY, 1, value);
	case KEY_NAN:
		return read_special(r, FLOW_DECIMAL_NAN, 0, value);
	default:
		return read_number(r, value);
	}
}

static flow_status
read_float(struct key_reader *r, flow_value *value)
{
	uint64_t bits;
	flow_status status = read_big_endian(r, 8, &bits);
	if (status != FLOW_OK)
		return status;
	bits = bits >> 63 != 0 ? bits & ~((uint64_t)1 << 63) : ~bits;
	*value = flow_float64(0);
	memcpy(&value->as.float64, &bits, 8);
	return FLOW_OK;
}

/* ---- the rest ---- */

static flow_status
read_text(struct key_reader *r, uint8_t type, flow_value *value)
{
	const uint8_t *end = memchr(r->at, KEY_END, left(r));
	if (end == NULL || end - r->at > UINT32_MAX)
		return FLOW_E_CORRUPT;
	char *text = flow_builder_alloc(r->memory, (uint64_t)(end - r->at) + 1), *to = text;
	if (text == NULL)
		return FLOW_E_MEMORY;
	for (const uint8_t *at = r->at; at < end; at++) {
		uint8_t c = *at;
		if (c == 1) {
			c = (uint8_t)(*++at - 1); /* at worst the end, which is no escape */
			if (c > 1)
				return FLOW_E_CORRUPT;
		}
		*to++ = (char)c;
	}
	r->at = end + 1;
	*value = flow_text(type, text, (uint32_t)(to - text));
	return FLOW_OK;
}

/* In microseconds, unless it is finer (nanoseconds) or does not fit (seconds). */
static flow_status
read_time(struct key_reader *r, uint8_t type, uint8_t flags, flow_value *value)
{
	int64_t seconds;
	uint64_t nanoseconds;
	flow_status status = read_signed_whole(r, &seconds);
	if (status == FLOW_OK)
		status = read_big_endian(r, 4, &nanoseconds);
	if (status != FLOW_OK || nanoseconds >= 1000000000)
		return FLOW_E_CORRUPT;
	uint8_t unit = nanoseconds % 1000 != 0 ? FLOW_NANOSECONDS : FLOW_MICROSECONDS;
	__int128 number = unit == FLOW_NANOSECONDS ? (__int128)seconds * 1000000000 + (int64_t)nanoseconds
											   : (__int128)seconds * 1000000 + (int64_t)nanoseconds / 1000;
	if (number > INT64_MAX || number < INT64_MIN) {
		if (nanoseconds != 0)
			return FLOW_E_CORRUPT;
		unit = FLOW_SECONDS;
		number = seconds;
	}
	*value = flow_cell(type, (int64_t)number);
	value->unit = unit;
	value->flags = flags;
	return FLOW_OK;
}

static flow_status
read_date(struct key_reader *r, flow_value *value)
{
	int64_t days;
	flow_status status = read_signed_whole(r, &days);
	if (status == FLOW_OK)
		*value = flow_cell(FLOW_DATE, days);
	return status;
}

static flow_status
read_bool(struct key_reader *r, flow_value *value)
{
	if (left(r) == 0 || *r->at > 1)
		return FLOW_E_CORRUPT;
	*value = flow_bool(*r->at++);
	return FLOW_OK;
}

static flow_status
read_uuid(struct key_reader *r, flow_value *value)
{
	if (left(r) < 16)
		return FLOW_E_CORRUPT;
	const char *copy = flow_builder_copy(r->memory, r->at, 16);
	if (copy == NULL)
		return FLOW_E_MEMORY;
	r->at += 16;
	*value = flow_text(FLOW_UUID, copy, 16);
	return FLOW_OK;
}

/* Parts up to the end; the array grows in the reader's memory. */
static flow_status
read_parts(struct key_reader *r, flow_value **parts, uint64_t *count, int depth)
{
	uint64_t capacity = 8;
	*count = 0;
	*parts = flow_builder_cells(r->memory, (uint32_t)capacity);
	while (*parts != NULL && left(r) != 0 && *r->at != KEY_END) {
		if (*count == capacity) {
			flow_value *more = flow_builder_alloc(r->memory, 2 * capacity * sizeof(*more));
			if (more == NULL)
				return FLOW_E_MEMORY;
			*parts = memcpy(more, *parts, capacity * sizeof(*more));
			capacity *= 2;
		}
		flow_status status = decode(r, &(*parts)[(*count)++], depth + 1);
		if (status != FLOW_OK)
			return status;
	}
	if (*parts == NULL)
		return FLOW_E_MEMORY;
	if (left(r) == 0)
		return FLOW_E_CORRUPT;
	r->at++;
	return FLOW_OK;
}

static flow_status
read_container(struct key_reader *r, int is_list, flow_value *value, int depth)
{
	flow_value *parts;
	uint64_t count;
	flow_status status = depth == KEY_DEPTH_MAX ? FLOW_E_CORRUPT : read_parts(r, &parts, &count, depth);
	if (status != FLOW_OK)
		return status;
	if (!is_list) {
		*value = flow_record(parts, (uint32_t)count);
		return count > UINT32_MAX ? FLOW_E_CORRUPT : FLOW_OK;
	}
	flow_list *list = flow_builder_alloc(r->memory, sizeof(*list));
	if (list == NULL)
		return FLOW_E_MEMORY;
	*list = (flow_list){ parts, count };
	*value = flow_cell(FLOW_LIST, 0);
	value->as.list = list;
	return FLOW_OK;
}

static flow_status
decode(struct key_reader *r, flow_value *value, int depth)
{
	switch (left(r) == 0 ? KEY_END : *r->at++) {
	case KEY_NULL:
		*value = flow_null();
		return FLOW_OK;
	case KEY_BOOL:
		return read_bool(r, value);
	case KEY_NUMBER:
		return read_any_number(r, value);
	case KEY_FLOAT:
		return read_float(r, value);
	case KEY_STRING:
		return read_text(r, FLOW_STRING, value);
	case KEY_BYTES:
		return read_text(r, FLOW_BYTES, value);
	case KEY_DATE:
		return read_date(r, value);
	case KEY_TIME:
		return read_time(r, FLOW_TIME, 0, value);
	case KEY_TIMESTAMP:
		return read_time(r, FLOW_TIMESTAMP, FLOW_ZONED, value);
	case KEY_LOCAL_TIMESTAMP:
		return read_time(r, FLOW_TIMESTAMP, 0, value);
	case KEY_UUID:
		return read_uuid(r, value);
	case KEY_LIST:
		return read_container(r, 1, value, depth);
	case KEY_RECORD:
		return read_container(r, 0, value, depth);
	default:
		return FLOW_E_CORRUPT;
	}
}

flow_status
key_decode(flow_slice bytes, flow_builder *memory, flow_value *value, uint64_t *used)
{
	const uint8_t *start = (const uint8_t *)bytes.data;
	struct key_reader r = { start, start + bytes.size, memory };
	flow_status status = decode(&r, value, 0);
	if (status == FLOW_OK)
		*used = (uint64_t)(r.at - start);
	return status;
}
