/*
 * base/units.h - the one table of units, for sizes and durations everywhere (options, expressions, command line).
 *
 * Sizes: an integer, optional unit without or with a blank: B, KiB, MiB, GiB, TiB (powers of 1024) or kB, MB, GB, TB (powers
 * of 1000); a bare integer is bytes. Durations: one or more of <integer>(us|ms|s|m|h|d|w), largest first ("1h30m"); a unit is
 * always needed, "0" alone is allowed. Nothing else: "1M", "1 min", "5", "-1s" and overflow are refused, the message names
 * the units.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "flow/error.h"

flow_status units_parse_size(flow_slice text, int64_t *bytes, flow_error *error);
flow_status units_parse_duration(flow_slice text, int64_t *microseconds, flow_error *error);
/* Shortest exact form ("64KiB", "1h30m"); returns `buffer` (at least 64 bytes). */
const char *units_print_size(int64_t bytes, char *buffer);
const char *units_print_duration(int64_t microseconds, char *buffer);

#endif
