/* The quickstart's job by hand: flights more than 15 minutes late, counted and averaged per hour and carrier (bench/bench_loops.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_loops.h"
#include "bench/bench_rows.h"

#define SLOTS (1u << 17)
#define COLUMNS 19
#define DELAY 5
#define CARRIER 9
#define HOUR 18
#define HOUR_SIZE 20 /* 2013-01-01T10:00:00Z */

struct group {
	uint64_t key; /* 0: free */
	uint64_t flights;
	int64_t delay;
	const char *hour;
	const char *carrier;
};

/* Year to hour and the carrier's two letters in one number. */
static uint64_t
group_key(const char *hour, const char *carrier)
{
	static const uint8_t digits[] = { 0, 1, 2, 3, 5, 6, 8, 9, 11, 12 };
	uint64_t key = 0;
	for (size_t i = 0; i < sizeof(digits); i++)
		key = key * 10 + (uint64_t)(hour[digits[i]] - '0');
	return key << 16 | (uint64_t)(unsigned char)carrier[0] << 8 | (unsigned char)carrier[1];
}

static void
add_flight(struct group *groups, const char *hour, const char *carrier, int64_t delay)
{
	uint64_t key = group_key(hour, carrier);
	uint64_t at = bench_mix(key) & (SLOTS - 1);
	while (groups[at].key != 0 && groups[at].key != key)
		at = (at + 1) & (SLOTS - 1);
	struct group *group = &groups[at];
	if (group->key == 0)
		*group = (struct group){ .key = key, .hour = hour, .carrier = carrier };
	group->flights++;
	group->delay += delay;
}

static int
parse_delay(const char *at, const char *end, int64_t *delay)
{
	int negative = *at == '-';
	*delay = 0;
	for (at += negative; at < end; at++) {
		if (*at < '0' || *at > '9')
			return 0;
		*delay = *delay * 10 + (*at - '0');
	}
	*delay = negative ? -*delay : *delay;
	return 1;
}

static void
read_flights(struct group *groups, mapped_file file)
{
	const char *end = file.text + file.size;
	const char *at = (const char *)memchr(file.text, '\n', file.size) + 1;
	while (at < end) {
		const char *fields[COLUMNS + 1];
		for (int i = 0; i < COLUMNS; i++) {
			fields[i] = at;
			while (*at != ',' && *at != '\n')
				at++;
			at++;
		}
		int64_t delay;
		if (parse_delay(fields[DELAY], fields[DELAY + 1] - 1, &delay) && delay > 15)
			add_flight(groups, fields[HOUR], fields[CARRIER], delay);
	}
}

static const char *
carrier_name(mapped_file carriers, const char *carrier, int *size)
{
	for (const char *at = carriers.text, *end = at + carriers.size; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop == NULL ? end : stop;
		if (stop - at > 3 && memcmp(at, carrier, 2) == 0) {
			*size = (int)(stop - at - 3);
			return at + 3;
		}
		at = stop + 1;
	}
	*size = 0;
	return "";
}

void
loop_late(char **arguments)
{
	mapped_file flights = file_map(arguments[0]), carriers = file_map(arguments[1]);
	struct group *groups = calloc(SLOTS, sizeof(*groups));
	char *out = malloc(1u << 24);
	if (groups == NULL || out == NULL)
		give_up("memory");
	read_flights(groups, flights);
	uint64_t size = 0;
	for (uint32_t i = 0; i < SLOTS; i++) {
		const struct group *group = &groups[i];
		if (group->key == 0)
			continue;
		int name_size;
		const char *name = carrier_name(carriers, group->carrier, &name_size);
		size += (uint64_t)sprintf(out + size, "{\"hour\":\"%.*s\",\"carrier\":\"%.2s\",\"name\":\"%.*s\",\"flights\":%llu,\"mean_dep_delay\":%.17g}\n",
		                          HOUR_SIZE, group->hour, group->carrier, name_size, name, (unsigned long long)group->flights,
		                          (double)group->delay / (double)group->flights);
	}
	file_write(file_create(arguments[2]), out, size);
	free(groups);
	free(out);
}
