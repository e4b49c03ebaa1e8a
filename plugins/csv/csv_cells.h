/*
 * Text of a field -> cell: short, usual forms of numbers inline, everything else by the SDK's exact functions.
 *
 * Texts lie in a window: up to 16 bytes may be read behind them.
 */
#ifndef CSV_CELLS_H
#define CSV_CELLS_H

#include "flow/flow.h"
#include "flow_sdk/cell.h"
#include "flow_sdk/time.h"

#define ZEROS 0x3030303030303030ull

/* 1 to 8 digits at once; 0 if there is another character. */
static inline __attribute__((always_inline)) int
csv_short_digits(const char *text, uint64_t size, uint64_t *number)
{
	uint64_t word;
	memcpy(&word, text, 8);
	unsigned unused = (unsigned)(8 - size) * 8;
	if (unused != 0)
		word = (word << unused) | (ZEROS >> (64 - unused)); /* zeros in front */
	uint64_t digits = word ^ ZEROS;
	if (((digits | (digits + 0x0606060606060606ull)) & 0xF0F0F0F0F0F0F0F0ull) != 0)
		return 0;
	digits = digits * 10 + (digits >> 8); /* pairs */
	*number = (((digits & 0x000000FF000000FFull) * 0x000F424000000064ull) +
			   ((digits >> 16 & 0x000000FF000000FFull) * 0x0000271000000001ull)) >>
			  32;
	return 1;
}

/* Up to 16 digits with a minus sign. 0: ask the exact function. */
static inline __attribute__((always_inline)) int
csv_usual_integer(const char *text, uint64_t size, int64_t *number)
{
	int negative = size != 0 && text[0] == '-';
	text += negative;
	size -= (uint64_t)negative;
	uint64_t value;
	if (size - 1 < 8) {
		if (!csv_short_digits(text, size, &value))
			return 0;
	} else if (size - 9 < 8) {
		uint64_t low;
		if (!csv_short_digits(text, size - 8, &value) || !csv_short_digits(text + size - 8, 8, &low))
			return 0;
		value = value * 100000000 + low;
	} else {
		return 0;
	}
	*number = negative ? -(int64_t)value : (int64_t)value;
	return 1;
}

/* Up to 15 digits, a point among them: their quotient by a power of ten is the nearest double. 0: ask the exact function. */
static inline int
csv_usual_float(const char *text, uint64_t size, double *number)
{
	static const double powers[] = {
		1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15
	};
	const char *end = text + size;
	int negative = size != 0 && text[0] == '-';
	text += negative;
	if (end - text > 16 || end == text)
		return 0;
	uint64_t value = 0;
	const char *point = NULL;
	for (const char *at = text; at < end; at++) {
		unsigned digit = (unsigned)(unsigned char)*at - '0';
		if (digit < 10)
			value = value * 10 + digit;
		else if (*at == '.' && point == NULL && at > text)
			point = at;
		else
			return 0;
	}
	int64_t digits = end - text - (point != NULL);
	int64_t behind = point == NULL ? 0 : end - point - 1;
	if (digits > 15 || digits == 0 || (point != NULL && behind == 0))
		return 0;
	double result = (double)value / powers[behind];
	*number = negative ? -result : result;
	return 1;
}

/* Two digits; *bad is set where there is something else. */
static inline unsigned
csv_two_digits(const char *text, unsigned *bad)
{
	unsigned high = (unsigned)(unsigned char)text[0] - '0';
	unsigned low = (unsigned)(unsigned char)text[1] - '0';
	*bad |= (unsigned)(high > 9) | (unsigned)(low > 9);
	return high * 10 + low;
}

/* A day as it stands in a text, and its first second. Rows that follow each other mostly have the same one. */
typedef struct csv_day {
	char text[10];
	int64_t seconds;
} csv_day;

/* "2013-01-01", days up to the 28th, years up to 2199. 0: ask the exact function. */
static inline int
csv_usual_day(const char *text, csv_day *day)
{
	if (memcmp(text, day->text, 8) == 0 && memcmp(text + 8, day->text + 8, 2) == 0)
		return 1;
	unsigned bad = 0;
	unsigned century = csv_two_digits(text, &bad);
	unsigned year = csv_two_digits(text + 2, &bad);
	unsigned month = csv_two_digits(text + 5, &bad);
	unsigned number = csv_two_digits(text + 8, &bad);
	if (bad || text[4] != '-' || text[7] != '-' || century > 21 || month - 1 > 11 || number - 1 > 27)
		return 0;
	memcpy(day->text, text, sizeof(day->text));
	day->seconds = flow_days_from_civil((int64_t)century * 100 + year, month, number) * 86400;
	return 1;
}

/* Seconds of "2013-01-01T10:00:00Z". 0: ask the exact function. */
static inline int
csv_usual_instant(const char *text, uint64_t size, csv_day *day, int64_t *seconds)
{
	if (size != 20 || text[10] != 'T' || text[13] != ':' || text[16] != ':' || text[19] != 'Z' ||
		!csv_usual_day(text, day))
		return 0;
	unsigned bad = 0;
	unsigned hour = csv_two_digits(text + 11, &bad);
	unsigned minute = csv_two_digits(text + 14, &bad);
	unsigned second = csv_two_digits(text + 17, &bad);
	*seconds = day->seconds + (int64_t)(hour * 3600 + minute * 60 + second);
	return !bad && hour <= 23 && minute <= 59 && second <= 59;
}

#endif
