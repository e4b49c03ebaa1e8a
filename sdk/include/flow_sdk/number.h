/*
 * flow_sdk/number.h - numbers <-> text, exactly and fast.
 *
 * Threads: [any]. Used by plugins and by the core.
 */
#ifndef FLOW_SDK_NUMBER_H
#define FLOW_SDK_NUMBER_H

#include "flow/batch.h"
#include "flow/error.h"
#include "flow/value.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FLOW_NUMBER_TEXT_MAX 40          /* integers and doubles */
#define FLOW_DECIMAL_MAX_DIGITS 4096     /* longer ones are FLOW_E_RANGE */
#define FLOW_DECIMAL_MAX_EXPONENT 100000

/* Whole text is "-?digits" (leading zeros are read; `+` is not). FLOW_E_DECODE: something else; FLOW_E_RANGE: does not fit. */
flow_status flow_parse_int64(flow_slice text, int64_t *number);
flow_status flow_parse_uint64(flow_slice text, uint64_t *number);
/* Nearest double of "[+-]digits[.digits][e[+-]digits]". FLOW_E_RANGE: beyond the largest (not rounded to infinity), or not zero
 * but smaller than the smallest. "nan", "inf", "-inf" (any case, "infinity") only if `special`. */
flow_status flow_parse_float64(flow_slice text, int special, double *number);
/* "[+-]digits[.digits][(e|E)[+-]digits]" with digits on at least one side of the point -> decimal with the digits and scale of the
 * text ("1.50": 150, scale 2). What it points at lives in `memory`. */
flow_status flow_parse_decimal(flow_slice text, flow_builder *memory, flow_value *value);

/* Write at `buffer` (FLOW_NUMBER_TEXT_MAX bytes), return the length; no NUL. */
uint64_t flow_print_int64(int64_t number, char *buffer);
uint64_t flow_print_uint64(uint64_t number, char *buffer);
/* The fewest digits that read back as the same double: plain from 1e-4 to below 1e16 ("1.0", "-0.0", "100000.0"), else with exponent
 * ("1e300", "1.5e-7"). "NaN", "Infinity", "-Infinity" are not JSON: the caller looks first. */
uint64_t flow_print_float64(double number, char *buffer);
/* Plain notation without exponent where that takes at most 40 added zeros, else "d.ddde-x". Needs count + 64 bytes. */
uint64_t flow_print_decimal(const flow_decimal *decimal, char *buffer);

#define FLOW_DECIMAL_MAX_BYTES 1704 /* of FLOW_DECIMAL_MAX_DIGITS digits */

/* The unscaled value as Avro, Kafka and Arrow keep it: big-endian two's complement, any length (no bytes: 0). FLOW_E_RANGE: more
 * than FLOW_DECIMAL_MAX_DIGITS digits. */
flow_status flow_decimal_from_bytes(flow_slice bytes, int32_t scale, flow_builder *memory, flow_value *value);
/* The other way, brought to `scale`, as short as possible, into FLOW_DECIMAL_MAX_BYTES bytes. FLOW_E_RANGE: digits would be lost, or
 * too many, or NaN or infinite. */
flow_status flow_decimal_to_bytes(const flow_decimal *decimal, int32_t scale, char *buffer, uint64_t *size);

#ifdef __cplusplus
}
#endif
#endif
