/*
 * base/time.h - calendar and text of dates, times and timestamps (RFC 3339), without the C library's time zones.
 *
 * Threads: [any].
 */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include "flow/error.h"
#include "flow/value.h"

int64_t time_days_from_civil(int64_t year, unsigned month, unsigned day); /* days since 1970-01-01 */
void time_civil_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day);

/* "2013-01-01" -> date; "10:00:00[.fraction]" -> time in `unit`; "2013-01-01T10:00:00[.fraction][Z|+hh:mm]" or with a blank
 * for the T -> timestamp in `unit`. `zoned` 1: an offset or Z is read if it is there, else UTC is meant; 0: an offset is
 * FLOW_E_DECODE. A fraction finer than the unit is FLOW_E_RANGE. */
flow_status time_parse_date(flow_slice text, flow_value *value);
flow_status time_parse_time(flow_slice text, uint8_t unit, flow_value *value);
flow_status time_parse_timestamp(flow_slice text, uint8_t unit, int zoned, flow_value *value);
/* Prints date, time or timestamp; `buffer` has 64 bytes; returns the length. Zoned: "2013-01-01T10:00:00Z"; the fraction
 * without trailing zeros, none if it is zero. */
uint64_t time_print(const flow_value *value, char *buffer);
/* Microseconds since the epoch of a timestamp or date; FLOW_E_RANGE on overflow. */
flow_status time_microseconds(const flow_value *value, int64_t *microseconds);

#endif
