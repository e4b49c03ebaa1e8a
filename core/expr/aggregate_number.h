/*
 * expr/aggregate_number.h - 128-bit numbers of at most 38 digits, as aggregates keep them. Internal to this room.
 * Threads: [any].
 */
#ifndef EXPR_AGGREGATE_NUMBER_H
#define EXPR_AGGREGATE_NUMBER_H

#include "flow/batch.h"

/* A signed 128-bit number in two words, low one first, as slots store it. */
struct wide {
	uint64_t low;
	int64_t high;
};

static inline __int128
wide_number(struct wide w)
{
	return (__int128)(((unsigned __int128)(uint64_t)w.high << 64) | w.low);
}

static inline struct wide
wide_make(__int128 number)
{
	return (struct wide){ (uint64_t)number, (int64_t)(number >> 64) };
}

/* Times ten to the power of `digits` (not negative). 0: more than 38 digits; the number is as it was. */
int wide_rescale(__int128 *number, int64_t digits);
/* 0: more than 38 digits; the sum is as it was. */
int wide_add(__int128 *sum, __int128 number);
int wide_order(__int128 a, int32_t a_scale, __int128 b, int32_t b_scale);
/* sum * 10^-scale / count, rounded once to the nearest double. count > 0. FLOW_E_MEMORY. */
flow_status wide_mean(__int128 sum, int32_t scale, uint64_t count, flow_builder *memory, double *mean);

#endif
