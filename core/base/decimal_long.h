/*
 * base/decimal_long.h - decimal arithmetic on any number of digits, where 128 bits are too few; for base/decimal.c alone.
 *
 * Magnitudes in limbs of nine digits, on the stack: no library's context, allocator or conversion stands between a batch's memory
 * and the result. Division is by repeated subtraction, digit for digit: it is rare and at most some 4,096 digits long.
 *
 * Threads: [any].
 */
#ifndef BASE_DECIMAL_LONG_H
#define BASE_DECIMAL_LONG_H

#include "flow/batch.h"
#include "flow/value.h"

/* A result in memory. FLOW_E_RANGE: more than FLOW_DECIMAL_MAX_DIGITS digits or a scale beyond FLOW_DECIMAL_MAX_EXPONENT. Leading
 * zeros of `digits` are left out. */
flow_status decimal_store(const char *digits, uint64_t count, int64_t scale, int negative, flow_builder *memory,
						  flow_value *value);

/* a + b, or a - b if `subtract`. */
flow_status decimal_long_add(const flow_decimal *a, const flow_decimal *b, int subtract, flow_builder *memory,
							 flow_value *sum);
flow_status decimal_long_multiply(const flow_decimal *a, const flow_decimal *b, flow_builder *memory,
								  flow_value *product);
/* b is not zero. */
flow_status decimal_long_divide(const flow_decimal *a, const flow_decimal *b, int32_t scale, flow_builder *memory,
								flow_value *quotient);

static inline int
decimal_is_zero(const flow_decimal *decimal)
{
	return decimal->count == 1 && decimal->digits[0] == '0' && decimal->special == 0;
}

#endif
