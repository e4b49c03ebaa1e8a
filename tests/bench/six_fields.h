/*
 * bench/six_fields.h - the records that binary serdes are measured with (long, string, double, int, long, [null, string]), and the
 * measuring: two functions interleaved, the median of the ratios of CPU time with the smallest and the largest.
 */
#ifndef BENCH_SIX_FIELDS_H
#define BENCH_SIX_FIELDS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/plugin_fixture.h"

#define PAIRS 9
#define RECORDS 4096u /* their data stays in the cache, as that of a batch that was just made does */

static double
cpu_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct record {
	int64_t id;
	char name[32];
	double price;
	char amount[16];
	int32_t count;
	int64_t time;
	char note[32];
	int has_note;
};

static inline struct record *
six_records(void)
{
	uint64_t state = 88172645463325252u;
	struct record *records = calloc(RECORDS, sizeof(*records));
	assert_non_null(records);
	for (uint32_t i = 0; i < RECORDS; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		struct record *r = &records[i];
		r->id = (int64_t)i * 1000 + (int64_t)(state % 1000);
		snprintf(r->name, sizeof(r->name), "customer-%06u", (unsigned)(state % 1000000));
		r->price = (double)(state % 100000) / 100;
		snprintf(r->amount, sizeof(r->amount), "%.2f", r->price);
		r->count = (int32_t)(state >> 20 & 0xFF);
		r->time = 1700000000000 + (int64_t)(state >> 30 & 0xFFFFFFF);
		r->has_note = (state >> 5 & 1) != 0;
		snprintf(r->note, sizeof(r->note), "note %u", (unsigned)(state >> 40 & 0xFFFF));
	}
	return records;
}

/* They point into the records. */
static inline flow_batch **
six_batches(fixture *f, const struct record *records, const flow_schema *schema, uint32_t *count)
{
	flow_batch **batches = calloc(RECORDS / FLOW_BATCH_ROWS + 1, sizeof(*batches));
	assert_non_null(batches);
	flow_builder *builder = builder_create(f->pool, 0, 0);
	for (uint32_t i = 0; i < RECORDS; i++) {
		const struct record *r = &records[i];
		flow_value *cells = flow_builder_cells(builder, 6);
		cells[0] = flow_int64(r->id);
		cells[1] = flow_string(r->name, (uint32_t)strlen(r->name));
		cells[2] = flow_float64(r->price);
		cells[3] = flow_int64(r->count);
		cells[4] = flow_int64(r->time);
		cells[5] = r->has_note ? flow_string(r->note, (uint32_t)strlen(r->note)) : flow_null();
		flow_builder_add(builder, flow_record(cells, 6));
		if (builder->row_count < FLOW_BATCH_ROWS && i + 1 < RECORDS)
			continue;
		batch_head head = { .schema = schema };
		batches[(*count)++] = builder_finish(builder, &head);
	}
	builder_destroy(builder);
	return batches;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double
time_of(void *b, void (*run)(void *), int rounds)
{
	double start = cpu_now();
	for (int i = 0; i < rounds; i++)
		run(b);
	return (cpu_now() - start) / rounds;
}

static const char *pairs_only = ""; /* measurements with that in their name */

static void
pairs_measure(const char *name, void *b, void (*ours)(void *), void (*theirs)(void *), uint32_t records, double seconds,
			  double bar)
{
	double times[PAIRS], ratios[PAIRS], other[PAIRS];
	if (strstr(name, pairs_only) == NULL)
		return;
	ours(b);
	theirs(b);
	double once = time_of(b, ours, 1), other_once = time_of(b, theirs, 1);
	int rounds = (int)(seconds / PAIRS / once / 2) + 1, other_rounds = (int)(seconds / PAIRS / other_once / 2) + 1;
	for (int i = 0; i < PAIRS; i++) {
		times[i] = time_of(b, ours, rounds);
		other[i] = time_of(b, theirs, other_rounds);
		ratios[i] = other[i] / times[i];
	}
	qsort(times, PAIRS, sizeof(double), by_value);
	qsort(other, PAIRS, sizeof(double), by_value);
	qsort(ratios, PAIRS, sizeof(double), by_value);
	printf("%-28s %7.2f M/s beside %6.2f M/s: %5.2f times (%.2f to %.2f), bar %.2g%s\n", name,
		   records / times[PAIRS / 2] / 1e6, records / other[PAIRS / 2] / 1e6, ratios[PAIRS / 2], ratios[0],
		   ratios[PAIRS - 1], bar, ratios[PAIRS / 2] >= bar ? "" : "  MISSED");
}

#endif
