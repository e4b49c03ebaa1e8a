/*
 * calendar.h - what the kit's time files share. Private.
 */
#ifndef CALENDAR_H
#define CALENDAR_H

#include <stdint.h>

#define CALENDAR_DAY 86400 /* seconds */

/* 10^n of the units FLOW_SECONDS (0) to FLOW_NANOSECONDS (9). */
static inline int64_t
calendar_power(unsigned n)
{
	static const int64_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000 };
	return n <= 9 ? powers[n] : 0;
}

/* number / 10^unit of numbers from 0 up, by constants, which costs no division. */
static inline int64_t
calendar_seconds(int64_t number, unsigned unit)
{
	switch (unit) {
	case 0:
		return number;
	case 3:
		return (int64_t)((uint64_t)number / 1000);
	case 6:
		return (int64_t)((uint64_t)number / 1000000);
	default:
		return (int64_t)((uint64_t)number / (uint64_t)calendar_power(unit));
	}
}

/* Rounds down, also below 0; the divisor is positive. */
static inline int64_t
calendar_divide(int64_t number, int64_t divisor)
{
	int64_t quotient = number / divisor;
	return quotient - (number % divisor < 0);
}

#endif
