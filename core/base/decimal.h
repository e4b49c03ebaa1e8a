/*
 * base/decimal.h - exact decimal arithmetic on flow_decimal (digits and scale), any length; 128-bit fast path. Text forms are in
 * flow_sdk/number.h.
 *
 * Results live in the builder's memory. Special values (NaN, infinities) give FLOW_E_RANGE in arithmetic. Threads: [any]; the
 * builder belongs to the caller.
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include "flow/batch.h"
#include "flow/value.h"

/* < 0, 0, > 0 by value; -infinity < numbers < infinity < NaN. */
int decimal_compare(const flow_decimal *a, const flow_decimal *b);
flow_status decimal_add(const flow_decimal *a, const flow_decimal *b, flow_builder *memory, flow_value *sum);
flow_status decimal_subtract(const flow_decimal *a, const flow_decimal *b, flow_builder *memory,
							 flow_value *difference);
flow_status decimal_multiply(const flow_decimal *a, const flow_decimal *b, flow_builder *memory, flow_value *product);
/* Quotient rounded half away from zero to `scale` digits. FLOW_E_RANGE: division by zero. */
flow_status decimal_divide(const flow_decimal *a, const flow_decimal *b, int32_t scale, flow_builder *memory,
						   flow_value *quotient);
/* To `scale` digits, half away from zero. */
flow_status decimal_round(const flow_decimal *a, int32_t scale, flow_builder *memory, flow_value *rounded);

flow_status decimal_from_int64(int64_t number, flow_builder *memory, flow_value *value);
flow_status decimal_from_uint64(uint64_t number, flow_builder *memory, flow_value *value);
flow_status decimal_from_int128(__int128 unscaled, int32_t scale, flow_builder *memory, flow_value *value);
/* The shortest decimal that reads back as the same double. FLOW_E_RANGE: not finite. */
flow_status decimal_from_float64(double number, flow_builder *memory, flow_value *value);
/* FLOW_E_RANGE: does not fit, or has digits behind the point that are not zero. */
flow_status decimal_to_int64(const flow_decimal *decimal, int64_t *number);
flow_status decimal_to_uint64(const flow_decimal *decimal, uint64_t *number);
/* Unscaled value if it has at most 38 digits; else FLOW_E_RANGE. The scale is the decimal's. */
flow_status decimal_to_int128(const flow_decimal *decimal, __int128 *unscaled);
double decimal_to_float64(const flow_decimal *decimal); /* nearest */

#endif
