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
