/* The total order of values: nulls first, numbers by exact value over all number types, text by bytes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "expr/node.h"
#include "flow_sdk/number.h"

#define EXPANSION_MAX 1600 /* characters of a double written out in full */
#define TWO_TO_63 9223372036854775808.0
#define TWO_TO_64 18446744073709551616.0

enum value_class
value_class_of(const flow_value *v)
{
	static const uint8_t classes[] = { CLASS_NULL,    CLASS_BOOL,   CLASS_NUMBER, CLASS_NUMBER,  CLASS_NUMBER,
									   CLASS_NUMBER,  CLASS_STRING, CLASS_BYTES,  CLASS_INSTANT, CLASS_TIME,
									   CLASS_INSTANT, CLASS_UUID,   CLASS_LIST,   CLASS_MAP,     CLASS_RECORD };
	return v->type < FLOW_COUNT(classes) ? (enum value_class)classes[v->type] : CLASS_NULL;
}

static int
int64_order(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* NaN is equal to itself and above all other numbers. */
int
float64_order(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (isnan(a) != 0) - (isnan(b) != 0);
	return (a > b) - (a < b);
}

static int
int64_float64_order(int64_t a, double b)
{
	if (isnan(b) || b >= TWO_TO_63)
		return -1;
	if (b < -TWO_TO_63)
		return 1;
	int64_t whole = (int64_t)b;
	if (a != whole)
		return a < whole ? -1 : 1;
	double rest = b - (double)whole;
	return (rest < 0) - (rest > 0);
}

static int
uint64_float64_order(uint64_t a, double b)
{
	if (isnan(b) || b >= TWO_TO_64)
		return -1;
	if (b < 0)
		return 1;
	uint64_t whole = (uint64_t)b;
	if (a != whole)
		return a < whole ? -1 : 1;
	return b > (double)whole ? -1 : 0;
}

/* An integer as a decimal over the caller's buffer. */
static flow_decimal
decimal_over(const flow_value *integer, char *buffer)
{
	flow_decimal decimal = { .digits = buffer };
	if (integer->type == FLOW_UINT64) {
		decimal.count = (uint32_t)flow_print_uint64(integer->as.uint64, buffer);
		return decimal;
	}
	decimal.negative = integer->as.int64 < 0;
	decimal.count = (uint32_t)flow_print_int64(integer->as.int64, buffer) - decimal.negative;
	decimal.digits = buffer + decimal.negative;
	return decimal;
}

/* A finite double as a decimal with all its digits. */
static flow_decimal
decimal_of_float64(double number, char *buffer)
{
	int exponent;
	frexp(number, &exponent);
	int fraction = exponent < 53 ? 53 - exponent : 0;
	if (fraction > 1074)
		fraction = 1074;
	int size = snprintf(buffer, EXPANSION_MAX, "%.*f", fraction, fabs(number));
	uint32_t count = 0;
	for (int i = 0; i < size; i++)
		if (buffer[i] >= '0' && buffer[i] <= '9')
			buffer[count++] = buffer[i];
	uint32_t first = 0;
	while (first + 1 < count && buffer[first] == '0')
		first++;
	flow_decimal decimal = { .digits = buffer + first, .count = count - first, .scale = fraction };
	decimal.negative = number < 0;
	return decimal;
}

static double
special_number(const flow_decimal *decimal)
{
	if (decimal->special == FLOW_DECIMAL_NAN)
		return NAN;
	return decimal->negative ? -INFINITY : INFINITY;
}

static int
decimal_float64_order(const flow_decimal *a, double b)
{
	if (a->special != 0)
		return float64_order(special_number(a), b);
	if (!isfinite(b))
		return isnan(b) || b > 0 ? -1 : 1;
	double nearest = decimal_to_float64(a); /* rounding keeps the order, so only equality needs all the digits */
	if (nearest != b)
		return nearest < b ? -1 : 1;
	char buffer[EXPANSION_MAX];
	flow_decimal exact = decimal_of_float64(b, buffer);
	return decimal_compare(a, &exact);
}

/* `a` is a decimal. */
static int
decimal_order(const flow_value *a, const flow_value *b)
{
	if (b->type == FLOW_DECIMAL)
		return decimal_compare(a->as.decimal, b->as.decimal);
	if (b->type == FLOW_FLOAT64)
		return decimal_float64_order(a->as.decimal, b->as.float64);
	char buffer[FLOW_NUMBER_TEXT_MAX];
	flow_decimal integer = decimal_over(b, buffer);
	return decimal_compare(a->as.decimal, &integer);
}

static int
int64_order_with(int64_t a, const flow_value *b)
{
	switch (b->type) {
	case FLOW_INT64:
		return int64_order(a, b->as.int64);
	case FLOW_UINT64:
		return a < 0 || (uint64_t)a < b->as.uint64 ? -1 : (uint64_t)a > b->as.uint64;
	default:
		return int64_float64_order(a, b->as.float64);
	}
}

static int
uint64_order_with(uint64_t a, const flow_value *b)
{
	if (b->type == FLOW_UINT64)
		return (a > b->as.uint64) - (a < b->as.uint64);
	return uint64_float64_order(a, b->as.float64);
}

static int
number_order(const flow_value *a, const flow_value *b)
{
	if (a->type == FLOW_DECIMAL)
		return decimal_order(a, b);
	if (b->type == FLOW_DECIMAL)
		return -decimal_order(b, a);
	if (a->type == FLOW_INT64)
		return int64_order_with(a->as.int64, b);
	if (b->type == FLOW_INT64)
		return -int64_order_with(b->as.int64, a);
	if (a->type == FLOW_UINT64)
		return uint64_order_with(a->as.uint64, b);
	if (b->type == FLOW_UINT64)
		return -uint64_order_with(b->as.uint64, a);
	return float64_order(a->as.float64, b->as.float64);
}

static int
bytes_order(const flow_value *a, const flow_value *b)
{
	uint32_t common = a->size < b->size ? a->size : b->size;
	int order = common == 0 ? 0 : memcmp(a->as.text, b->as.text, common);
	return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

/* Nanoseconds; a date is its midnight. */
static __int128
nanoseconds_of(const flow_value *v)
{
	__int128 number = v->as.int64;
	if (v->type == FLOW_DATE)
		return number * 86400 * 1000000000;
	for (unsigned unit = v->unit; unit < FLOW_NANOSECONDS; unit += 3)
		number *= 1000;
	return number;
}

static int
instant_order(const flow_value *a, const flow_value *b)
{
	if (a->type == b->type && a->unit == b->unit)
		return int64_order(a->as.int64, b->as.int64);
	__int128 x = nanoseconds_of(a), y = nanoseconds_of(b);
	return (x > y) - (x < y);
}

static int
cells_order(const flow_value *a, uint64_t a_count, const flow_value *b, uint64_t b_count)
{
	uint64_t common = a_count < b_count ? a_count : b_count;
	for (uint64_t i = 0; i < common; i++) {
		int order = value_order(&a[i], &b[i]);
		if (order != 0)
			return order;
	}
	return (a_count > b_count) - (a_count < b_count);
}

static int
map_order(const flow_map *a, const flow_map *b)
{
	uint64_t common = a->count < b->count ? a->count : b->count;
	for (uint64_t i = 0; i < common; i++) {
		int order = value_order(&a->entries[i].key, &b->entries[i].key);
		if (order == 0)
			order = value_order(&a->entries[i].value, &b->entries[i].value);
		if (order != 0)
			return order;
	}
	return (a->count > b->count) - (a->count < b->count);
}

int
value_order(const flow_value *a, const flow_value *b)
{
	enum value_class class = value_class_of(a), other = value_class_of(b);
	if (class != other)
		return class < other ? -1 : 1;
	switch (class) {
	case CLASS_BOOL:
		return (a->as.int64 != 0) - (b->as.int64 != 0);
	case CLASS_NUMBER:
		return number_order(a, b);
	case CLASS_STRING:
	case CLASS_BYTES:
	case CLASS_UUID:
		return bytes_order(a, b);
	case CLASS_INSTANT:
	case CLASS_TIME:
		return instant_order(a, b);
	case CLASS_LIST:
		return cells_order(a->as.list->items, a->as.list->count, b->as.list->items, b->as.list->count);
	case CLASS_MAP:
		return map_order(a->as.map, b->as.map);
	case CLASS_RECORD:
		return cells_order(a->as.record, a->size, b->as.record, b->size);
	default:
		return 0;
	}
}
