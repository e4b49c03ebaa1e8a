/* Decimals in 128 bits, comparison, rounding, conversions (base/decimal.h); more digits are in base/decimal_long.c. */
#include "base/decimal.h"

#include <math.h>
#include <string.h>

#include "base/decimal_long.h"
#include "flow_sdk/number.h"

#define INT128_DIGITS 38
#define INT128_TEXT 40

/* ---- 128 bits ---- */

static __int128
power_of_ten(unsigned n) /* n <= INT128_DIGITS */
{
	static const uint64_t powers[] = {
		1u,
		10u,
		100u,
		1000u,
		10000u,
		100000u,
		1000000u,
		10000000u,
		100000000u,
		1000000000u,
		10000000000u,
		100000000000u,
		1000000000000u,
		10000000000000u,
		100000000000000u,
		1000000000000000u,
		10000000000000000u,
		100000000000000000u,
		1000000000000000000u,
		10000000000000000000u,
	};
	return n <= 19 ? (__int128)powers[n] : (__int128)powers[19] * (__int128)powers[n - 19];
}

static uint64_t
read_digits(const char *digits, uint32_t count) /* count <= 19 */
{
	uint64_t number = 0;
	for (uint32_t i = 0; i < count; i++)
		number = number * 10 + (uint64_t)(digits[i] - '0');
	return number;
}

flow_status
decimal_to_int128(const flow_decimal *decimal, __int128 *unscaled)
{
	if (decimal->special != 0 || decimal->count > INT128_DIGITS)
		return FLOW_E_RANGE;
	uint32_t first = decimal->count > 19 ? decimal->count - 19 : 0;
	__int128 number = read_digits(decimal->digits, first);
	number =
		number * power_of_ten(decimal->count - first) + read_digits(decimal->digits + first, decimal->count - first);
	*unscaled = decimal->negative ? -number : number;
	return FLOW_OK;
}

static uint64_t
print_int128(unsigned __int128 magnitude, char *end)
{
	char *at = end;
	while (magnitude > UINT64_MAX) {
		uint64_t part = (uint64_t)(magnitude % 1000000000000000000u);
		magnitude /= 1000000000000000000u;
		for (int i = 0; i < 18; i++, part /= 10)
			*--at = (char)('0' + part % 10);
	}
	char text[FLOW_NUMBER_TEXT_MAX];
	uint64_t size = flow_print_uint64((uint64_t)magnitude, text);
	memcpy(at - size, text, size);
	return (uint64_t)(end - at) + size;
}

flow_status
decimal_from_int128(__int128 unscaled, int32_t scale, flow_builder *memory, flow_value *value)
{
	char text[INT128_TEXT], *end = text + sizeof(text);
	int negative = unscaled < 0;
	uint64_t count = print_int128(negative ? 0 - (unsigned __int128)unscaled : (unsigned __int128)unscaled, end);
	return decimal_store(end - count, count, scale, negative, memory, value);
}

/* Both unscaled values at the larger scale; 0 if 128 bits are too few. */
static int
align(const flow_decimal *a, const flow_decimal *b, __int128 *x, __int128 *y, int32_t *scale)
{
	*scale = a->scale > b->scale ? a->scale : b->scale;
	int64_t up_a = (int64_t)*scale - a->scale, up_b = (int64_t)*scale - b->scale;
	if (up_a > INT128_DIGITS || up_b > INT128_DIGITS)
		return 0;
	if (decimal_to_int128(a, x) != FLOW_OK || decimal_to_int128(b, y) != FLOW_OK)
		return 0;
	return !__builtin_mul_overflow(*x, power_of_ten((unsigned)up_a), x) &&
		   !__builtin_mul_overflow(*y, power_of_ten((unsigned)up_b), y);
}

/* ---- arithmetic ---- */

flow_status
decimal_add(const flow_decimal *a, const flow_decimal *b, flow_builder *memory, flow_value *sum)
{
	__int128 x, y;
	int32_t scale;
	if (a->special != 0 || b->special != 0)
		return FLOW_E_RANGE;
	if (align(a, b, &x, &y, &scale) && !__builtin_add_overflow(x, y, &x))
		return decimal_from_int128(x, scale, memory, sum);
	return decimal_long_add(a, b, 0, memory, sum);
}

flow_status
decimal_subtract(const flow_decimal *a, const flow_decimal *b, flow_builder *memory, flow_value *difference)
{
	__int128 x, y;
	int32_t scale;
	if (a->special != 0 || b->special != 0)
		return FLOW_E_RANGE;
	if (align(a, b, &x, &y, &scale) && !__builtin_sub_overflow(x, y, &x))
		return decimal_from_int128(x, scale, memory, difference);
	return decimal_long_add(a, b, 1, memory, difference);
}

flow_status
decimal_multiply(const flow_decimal *a, const flow_decimal *b, flow_builder *memory, flow_value *product)
{
	__int128 x, y;
	int32_t scale;
	if (a->special != 0 || b->special != 0)
		return FLOW_E_RANGE;
	if (a->count + b->count <= INT128_DIGITS && !__builtin_add_overflow(a->scale, b->scale, &scale) &&
		decimal_to_int128(a, &x) == FLOW_OK && decimal_to_int128(b, &y) == FLOW_OK)
		return decimal_from_int128(x * y, scale, memory, product);
	return decimal_long_multiply(a, b, memory, product);
}

/* numerator / denominator, half away from zero. */
static __int128
divide_rounded(__int128 numerator, __int128 denominator)
{
	__int128 quotient = numerator / denominator, rest = numerator % denominator;
	unsigned __int128 left = rest < 0 ? 0 - (unsigned __int128)rest : (unsigned __int128)rest;
	unsigned __int128 whole = denominator < 0 ? 0 - (unsigned __int128)denominator : (unsigned __int128)denominator;
	if (left >= whole - left)
		quotient += (numerator < 0) != (denominator < 0) ? -1 : 1;
	return quotient;
}

flow_status
decimal_divide(const flow_decimal *a, const flow_decimal *b, int32_t scale, flow_builder *memory, flow_value *quotient)
{
	if (a->special != 0 || b->special != 0 || decimal_is_zero(b))
		return FLOW_E_RANGE;
	__int128 x, y;
	int64_t up = (int64_t)scale + b->scale - a->scale;
	if (up <= INT128_DIGITS && up >= -INT128_DIGITS && decimal_to_int128(a, &x) == FLOW_OK &&
		decimal_to_int128(b, &y) == FLOW_OK) {
		int overflow = up >= 0 ? __builtin_mul_overflow(x, power_of_ten((unsigned)up), &x)
							   : __builtin_mul_overflow(y, power_of_ten((unsigned)-up), &y);
		if (!overflow)
			return decimal_from_int128(divide_rounded(x, y), scale, memory, quotient);
	}
	return decimal_long_divide(a, b, scale, memory, quotient);
}

/* ---- comparison and rounding: on the digits ---- */

static int
compare_magnitudes(const flow_decimal *a, const flow_decimal *b)
{
	int a_zero = decimal_is_zero(a), b_zero = decimal_is_zero(b);
	if (a_zero || b_zero)
		return b_zero - a_zero;
	int64_t a_places = (int64_t)a->count - a->scale, b_places = (int64_t)b->count - b->scale;
	if (a_places != b_places)
		return a_places < b_places ? -1 : 1;
	uint32_t common = a->count < b->count ? a->count : b->count;
	int order = memcmp(a->digits, b->digits, common);
	if (order != 0)
		return order;
	const flow_decimal *longer = a->count > b->count ? a : b;
	for (uint32_t i = common; i < longer->count; i++)
		if (longer->digits[i] != '0')
			return longer == a ? 1 : -1;
	return 0;
}

/* -infinity 0, numbers 1, infinity 2, NaN 3 */
static int
rank(const flow_decimal *decimal)
{
	if (decimal->special == FLOW_DECIMAL_NAN)
		return 3;
	if (decimal->special == FLOW_DECIMAL_INFINITY)
		return decimal->negative ? 0 : 2;
	return 1;
}

int
decimal_compare(const flow_decimal *a, const flow_decimal *b)
{
	int a_rank = rank(a), b_rank = rank(b);
	if (a_rank != b_rank || a_rank != 1)
		return a_rank - b_rank;
	int a_negative = a->negative && !decimal_is_zero(a), b_negative = b->negative && !decimal_is_zero(b);
	if (a_negative != b_negative)
		return a_negative ? -1 : 1;
	int order = compare_magnitudes(a, b);
	return a_negative ? -order : order;
}

/* With fewer digits behind the point: the first `keep` digits, one up if the next is 5 or more. */
static flow_status
cut(const flow_decimal *a, int64_t keep, int32_t scale, flow_builder *memory, flow_value *rounded)
{
	char digits[FLOW_DECIMAL_MAX_DIGITS + 1];
	if (keep < 0)
		return decimal_store("0", 1, scale, 0, memory, rounded);
	digits[0] = '0';
	memcpy(digits + 1, a->digits, (uint64_t)keep);
	if (a->digits[keep] >= '5') {
		int64_t i = keep;
		while (++digits[i] > '9')
			digits[i--] = '0';
	}
	return decimal_store(digits, (uint64_t)keep + 1, scale, a->negative, memory, rounded);
}

flow_status
decimal_round(const flow_decimal *a, int32_t scale, flow_builder *memory, flow_value *rounded)
{
	if (a->special != 0 || a->count > FLOW_DECIMAL_MAX_DIGITS)
		return FLOW_E_RANGE;
	int64_t added = (int64_t)scale - a->scale;
	if (added < 0 && !decimal_is_zero(a))
		return cut(a, (int64_t)a->count + added, scale, memory, rounded);
	if (decimal_is_zero(a))
		return decimal_store("0", 1, scale, 0, memory, rounded);
	if (a->count + added > FLOW_DECIMAL_MAX_DIGITS)
		return FLOW_E_RANGE;
	char digits[FLOW_DECIMAL_MAX_DIGITS];
	memcpy(digits, a->digits, a->count);
	memset(digits + a->count, '0', (uint64_t)added);
	return decimal_store(digits, a->count + (uint64_t)added, scale, a->negative, memory, rounded);
}

/* ---- conversions ---- */

flow_status
decimal_from_int64(int64_t number, flow_builder *memory, flow_value *value)
{
	return decimal_from_int128(number, 0, memory, value);
}

flow_status
decimal_from_uint64(uint64_t number, flow_builder *memory, flow_value *value)
{
	return decimal_from_int128((__int128)number, 0, memory, value);
}

flow_status
decimal_from_float64(double number, flow_builder *memory, flow_value *value)
{
	char text[FLOW_NUMBER_TEXT_MAX];
	if (!isfinite(number))
		return FLOW_E_RANGE;
	uint64_t size = flow_print_float64(number, text);
	if (size > 2 && memcmp(text + size - 2, ".0", 2) == 0)
		size -= 2;
	return flow_parse_decimal(flow_slice_make(text, size), memory, value);
}

/* The magnitude of an integral decimal. */
static flow_status
whole_magnitude(const flow_decimal *decimal, uint64_t *magnitude)
{
	*magnitude = 0;
	if (decimal->special != 0)
		return FLOW_E_RANGE;
	if (decimal_is_zero(decimal))
		return FLOW_OK;
	int64_t places = (int64_t)decimal->count - decimal->scale; /* before the point */
	if (places > 20)
		return FLOW_E_RANGE;
	for (int64_t i = places > 0 ? places : 0; i < decimal->count; i++)
		if (decimal->digits[i] != '0')
			return FLOW_E_RANGE;
	for (int64_t i = 0; i < places; i++) {
		uint64_t digit = i < decimal->count ? (uint64_t)(decimal->digits[i] - '0') : 0;
		if (__builtin_mul_overflow(*magnitude, 10, magnitude) || __builtin_add_overflow(*magnitude, digit, magnitude))
			return FLOW_E_RANGE;
	}
	return FLOW_OK;
}

flow_status
decimal_to_int64(const flow_decimal *decimal, int64_t *number)
{
	uint64_t magnitude;
	flow_status status = whole_magnitude(decimal, &magnitude);
	if (status != FLOW_OK || magnitude > (uint64_t)INT64_MAX + (decimal->negative != 0))
		return FLOW_E_RANGE;
	*number = (int64_t)(decimal->negative ? 0 - magnitude : magnitude);
	return FLOW_OK;
}

flow_status
decimal_to_uint64(const flow_decimal *decimal, uint64_t *number)
{
	uint64_t magnitude;
	flow_status status = whole_magnitude(decimal, &magnitude);
	if (status != FLOW_OK || (decimal->negative && magnitude != 0))
		return FLOW_E_RANGE;
	*number = magnitude;
	return FLOW_OK;
}

double
decimal_to_float64(const flow_decimal *decimal)
{
	double sign = decimal->negative ? -1 : 1;
	if (decimal->special != 0)
		return decimal->special == FLOW_DECIMAL_NAN ? NAN : sign * INFINITY;
	char text[FLOW_DECIMAL_MAX_DIGITS + 2 * FLOW_NUMBER_TEXT_MAX];
	if (decimal->count > FLOW_DECIMAL_MAX_DIGITS)
		return NAN;
	uint64_t size = decimal->count;
	memcpy(text, decimal->digits, size);
	if (decimal->scale != 0) {
		text[size++] = 'e';
		size += flow_print_int64(-(int64_t)decimal->scale, text + size);
	}
	double number;
	if (flow_parse_float64(flow_slice_make(text, size), 0, &number) != FLOW_OK)
		number = (int64_t)decimal->count - decimal->scale > 0 ? INFINITY : 0;
	return sign * number;
}
