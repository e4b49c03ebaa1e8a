/* CSV to JSON lines by hand (bench/serde_loops.h). */
#include <string.h>

#include "bench/serde_loops.h"

static const char *const keys[19] = {
	"{\"year\":",           ",\"month\":",     ",\"day\":",       ",\"dep_time\":",
	",\"sched_dep_time\":", ",\"dep_delay\":", ",\"arr_time\":",  ",\"sched_arr_time\":",
	",\"arr_delay\":",      ",\"carrier\":",   ",\"flight\":",    ",\"tailnum\":",
	",\"origin\":",         ",\"dest\":",      ",\"air_time\":",  ",\"distance\":",
	",\"hour\":",           ",\"minute\":",    ",\"time_hour\":",
};
static const char types[] = "iiiiiiiiisisssiiiis"; /* the last one is copied: its form is the output's too */

static char *
put_integer(char *out, const char *at, const char *end)
{
	int negative = *at == '-';
	uint64_t number = 0;
	char digits[20];
	int count = 0;
	for (at += negative; at < end; at++) {
		if (*at < '0' || *at > '9') {
			memcpy(out, "null", 4);
			return out + 4;
		}
		number = number * 10 + (uint64_t)(*at - '0');
	}
	if (negative)
		*out++ = '-';
	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number != 0);
	while (count > 0)
		*out++ = digits[--count];
	return out;
}

static char *
put_text(char *out, const char *at, const char *end)
{
	*out++ = '"';
	for (; at < end; at++) {
		if (*at == '"' || *at == '\\' || (unsigned char)*at < 0x20)
			*out++ = '\\';
		*out++ = *at;
	}
	*out++ = '"';
	return out;
}

uint64_t
loop_csv_to_json(const char *text, uint64_t size, char *out)
{
	const char *rows = (const char *)memchr(text, '\n', size) + 1;
	return loop_csv_rows(rows, (uint64_t)(text + size - rows), out);
}

uint64_t
loop_csv_rows(const char *text, uint64_t size, char *out)
{
	char *start = out;
	const char *at = text;
	const char *end = text + size;
	size_t lengths[19];
	for (int i = 0; i < 19; i++)
		lengths[i] = strlen(keys[i]);
	while (at < end) {
		for (int i = 0; i < 19; i++) {
			const char *stop = at;
			while (*stop != ',' && *stop != '\n')
				stop++;
			memcpy(out, keys[i], lengths[i]);
			out += lengths[i];
			out = types[i] == 'i' ? put_integer(out, at, stop) : put_text(out, at, stop);
			at = stop + 1;
		}
		*out++ = '}';
		*out++ = '\n';
	}
	return (uint64_t)(out - start);
}

/* --- reading only ---------------------------------------------------------------------------------------------------- */

struct cell {
	union {
		int64_t number;
		const char *text;
	} as;
	uint32_t size;
	uint32_t null;
};

static struct cell
read_integer(const char *at, const char *end)
{
	int negative = *at == '-';
	int64_t number = 0;
	for (at += negative; at < end; at++) {
		if (*at < '0' || *at > '9')
			return (struct cell){ { 0 }, 0, 1 };
		number = number * 10 + (*at - '0');
	}
	return (struct cell){ { negative ? -number : number }, 0, 0 };
}

static int64_t
two_digits(const char *at)
{
	return (at[0] - '0') * 10 + (at[1] - '0');
}

/* 2013-01-01T10:00:00Z and nothing else, in microseconds. */
static struct cell
read_instant(const char *at, const char *end)
{
	static const uint16_t days_before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
	if (end - at != 20 || at[4] != '-' || at[10] != 'T' || at[19] != 'Z')
		return (struct cell){ { 0 }, 0, 1 };
	int64_t year = two_digits(at) * 100 + two_digits(at + 2);
	int64_t month = two_digits(at + 5);
	if (month < 1 || month > 12)
		return (struct cell){ { 0 }, 0, 1 };
	int64_t days = (year - 1970) * 365 + (year - 1969) / 4 + days_before[month - 1] + two_digits(at + 8) - 1 +
				   (month > 2 && year % 4 == 0);
	int64_t seconds = days * 86400 + two_digits(at + 11) * 3600 + two_digits(at + 14) * 60 + two_digits(at + 17);
	return (struct cell){ { seconds * 1000000 }, 0, 0 };
}

uint64_t
loop_csv_read(const char *text, uint64_t size, char *out)
{
	const char *at = (const char *)memchr(text, '\n', size) + 1;
	const char *end = text + size;
	struct cell *cells = (struct cell *)(void *)out;
	uint64_t rows = 0;
	for (; at < end; rows++) {
		struct cell *row = cells + rows % 1024 * 19; /* what a batch holds */
		for (int i = 0; i < 19; i++) {
			const char *stop = at;
			while (*stop != ',' && *stop != '\n')
				stop++;
			if (types[i] == 'i') {
				row[i] = read_integer(at, stop);
			} else if (i == 18) {
				row[i] = read_instant(at, stop);
			} else {
				row[i].as.text = at;
				row[i].size = (uint32_t)(stop - at);
			}
			at = stop + 1;
		}
	}
	return rows;
}
