/*
 * base/decimal.h - exact decimal arithmetic on flow_decimal (digits and scale), any length; 128-bit fast path.
 *
 * Results live in the builder's memory. Threads: [any]; the builder belongs to the caller.
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include "flow/batch.h"
#include "flow/value.h"

#define DECIMAL_MAX_DIGITS 4096 /* longer ones are FLOW_E_RANGE */

/* Parses "[+-]digits[.digits][(e|E)[+-]digits]" exactly; the scale is that of the text. FLOW_E_DECODE: not a number;
 * FLOW_E_RANGE: beyond DECIMAL_MAX_DIGITS or an exponent beyond +-100000. */
flow_status decimal_parse(flow_slice text, flow_builder *memory, flow_value *value);
/* Plain notation without exponent where that takes at most 40 zeros, else d.ddde+x. Returns the length; the buffer needs
 * count + 64 bytes. */
uint64_t decimal_print(const flow_decimal *decimal, char *buffer);

/* < 0, 0, > 0 by value. */
int decimal_compare(const flow_decimal *a, const flow_decimal *b);
flow_status decimal_add(const flow_decimal *a, const flow_decimal *b, flow_builder *memory, flow_value *sum);
flow_status decimal_subtract(const flow_decimal *a, const flow_decimal *b, flow_builder *memory, flow_value *difference);
flow_status decimal_multiply(const flow_decimal *a, const flow_decimal *b, flow_builder *memory, flow_value *product);
/* Quotient rounded half away from zero to `scale` digits. FLOW_E_RANGE: division by zero. */
flow_status decimal_divide(const flow_decimal *a, const flow_decimal *b, int32_t scale, flow_builder *memory,
                           flow_value *quotient);
/* To `scale` digits, half away from zero. */
flow_status decimal_round(const flow_decimal *a, int32_t scale, flow_builder *memory, flow_value *rounded);

flow_status decimal_from_int64(int64_t number, flow_builder *memory, flow_value *value);
flow_status decimal_from_uint64(uint64_t number, flow_builder *memory, flow_value *value);
/* The shortest decimal that reads back as the same double. FLOW_E_RANGE: not finite. */
flow_status decimal_from_float64(double number, flow_builder *memory, flow_value *value);
/* FLOW_E_RANGE: does not fit, or has digits behind the point that are not zero. */
flow_status decimal_to_int64(const flow_decimal *decimal, int64_t *number);
flow_status decimal_to_uint64(const flow_decimal *decimal, uint64_t *number);
double decimal_to_float64(const flow_decimal *decimal); /* nearest */

#endif
