#include "expr/aggregate_number.h"

#include <math.h>

#include "base/decimal.h"

#define EXACT_DOUBLE ((int64_t)1 << 53)
#define MAX_DIGITS 38

static __int128
power_of_ten(int64_t digits)
{
	__int128 power = 1;
	for (int64_t i = 0; i < digits; i++)
		power *= 10;
	return power;
}

static int
fits(__int128 number)
{
	__int128 limit = power_of_ten(MAX_DIGITS);
	return number < limit && number > -limit;
}

int
wide_rescale(__int128 *number, int64_t digits)
{
	__int128 product;
	if (digits == 0 || *number == 0)
		return 1;
	if (digits > MAX_DIGITS || __builtin_mul_overflow(*number, power_of_ten(digits), &product) || !fits(product))
		return 0;
	*number = product;
	return 1;
}

int
wide_add(__int128 *sum, __int128 number)
{
	__int128 result;
	if (__builtin_add_overflow(*sum, number, &result) || !fits(result))
		return 0;
	*sum = result;
	return 1;
}

static unsigned __int128
magnitude(__int128 number)
{
	return number < 0 ? 0 - (unsigned __int128)number : (unsigned __int128)number;
}

/* As a decimal over a buffer of 40 bytes. */
static flow_decimal
decimal_over(__int128 number, int32_t scale, char *buffer)
{
	unsigned __int128 rest = magnitude(number);
	char *end = buffer + 40, *at = end;
	do {
		*--at = (char)('0' + (int)(rest % 10));
		rest /= 10;
	} while (rest != 0);
	flow_decimal decimal = { .digits = at, .count = (uint32_t)(end - at), .scale = scale };
	decimal.negative = number < 0;
	return decimal;
}

int
wide_order(__int128 a, int32_t a_scale, __int128 b, int32_t b_scale)
{
	if (a_scale == b_scale)
		return (a > b) - (a < b);
	char a_digits[40], b_digits[40];
	flow_decimal x = decimal_over(a, a_scale, a_digits), y = decimal_over(b, b_scale, b_digits);
	return decimal_compare(&x, &y);
}

static int
leading_zeros(unsigned __int128 number)
{
	uint64_t high = (uint64_t)(number >> 64);
	return high != 0 ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)number);
}

/* The quotient has at least 63 bits and a last bit that says whether it was exact, so that the one rounding is
 * right. */
static double
integer_mean(__int128 sum, uint64_t count)
{
	unsigned __int128 number = magnitude(sum);
	if (number == 0)
		return 0;
	int shift = leading_zeros(number);
	number <<= shift;
	unsigned __int128 quotient = number / count;
	quotient |= number % count != 0;
	double mean = ldexp((double)quotient, -shift);
	return sum < 0 ? -mean : mean;
}

/* By way of a quotient of at least 60 digits, with a last digit that says on which side of it the exact one lies. */
static flow_status
decimal_mean(__int128 sum, int32_t scale, uint64_t count, flow_builder *memory, double *mean)
{
	char digits[40];
	flow_decimal number = decimal_over(sum, scale, digits);
	flow_value divisor, quotient, product, rest, last, exact;
	int32_t wide_scale = scale + 80;
	flow_status status = decimal_from_uint64(count, memory, &divisor);
	if (status == FLOW_OK)
		status = decimal_divide(&number, divisor.as.decimal, wide_scale, memory, &quotient);
	if (status == FLOW_OK)
		status = decimal_multiply(quotient.as.decimal, divisor.as.decimal, memory, &product);
	if (status == FLOW_OK)
		status = decimal_subtract(&number, product.as.decimal, memory, &rest);
	if (status != FLOW_OK)
		return status;
	flow_decimal zero = { .digits = "0", .count = 1 };
	int side = decimal_compare(rest.as.decimal, &zero);
	status = decimal_from_int128((side > 0) - (side < 0), wide_scale + 1, memory, &last);
	if (status == FLOW_OK)
		status = decimal_add(quotient.as.decimal, last.as.decimal, memory, &exact);
	if (status == FLOW_OK)
		*mean = decimal_to_float64(exact.as.decimal);
	return status;
}

flow_status
wide_mean(__int128 sum, int32_t scale, uint64_t count, flow_builder *memory, double *mean)
{
	if (scale >= 0 && scale <= 15 && sum <= EXACT_DOUBLE && sum >= -EXACT_DOUBLE) {
		__int128 divisor = (__int128)count * power_of_ten(scale);
		if (divisor <= EXACT_DOUBLE) { /* both are exact doubles: the division rounds once */
			*mean = (double)sum / (double)divisor;
			return FLOW_OK;
		}
	}
	if (scale == 0) {
		*mean = integer_mean(sum, count);
		return FLOW_OK;
	}
	return decimal_mean(sum, scale, count, memory, mean);
}
