/*
 * flow_sdk/time.h - calendar and text of dates, times and timestamps (RFC 3339), without the C library's time zones.
 *
 * Threads: [any]. Used by plugins and by the core.
 */
#ifndef FLOW_SDK_TIME_H
#define FLOW_SDK_TIME_H

#include "flow/error.h"
#include "flow/value.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FLOW_TIME_TEXT_MAX 64

int64_t flow_days_from_civil(int64_t year, unsigned month, unsigned day); /* days since 1970-01-01 */
void flow_civil_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day);

/* "2013-01-01" -> date; "10:00:00[.fraction]" -> time in `unit`; "2013-01-01T10:00:00[.fraction][Z|+hh:mm]", with a blank for the T
 * too -> timestamp in `unit`. `zoned` 1: an offset or Z is read if it is there, else UTC is meant; 0: an offset is
 * FLOW_E_DECODE. Not such a text, or no such day: FLOW_E_DECODE. A fraction finer than the unit (beyond zeros), or a result outside
 * of int64: FLOW_E_RANGE. */
flow_status flow_parse_date(flow_slice text, flow_value *value);
flow_status flow_parse_time(flow_slice text, uint8_t unit, flow_value *value);
flow_status flow_parse_timestamp(flow_slice text, uint8_t unit, int zoned, flow_value *value);
/* Prints a date, time or timestamp into FLOW_TIME_TEXT_MAX bytes; returns the length, no NUL. Zoned: "2013-01-01T10:00:00Z"; the
 * fraction without trailing zeros, none if it is zero. Years outside 0000..9999 have a sign and at least four digits. */
uint64_t flow_print_time(const flow_value *value, char *buffer);
/* Microseconds since the epoch of a timestamp or date; FLOW_E_RANGE on overflow. Finer units are rounded down. */
flow_status flow_microseconds(const flow_value *value, int64_t *microseconds);
/* From one unit to another; to a coarser one rounds down. FLOW_E_RANGE on overflow. */
flow_status flow_convert_unit(int64_t number, uint8_t from, uint8_t to, int64_t *result);

#ifdef __cplusplus
}
#endif
#endif
