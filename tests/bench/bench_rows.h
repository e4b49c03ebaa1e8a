/*
 * bench/bench_rows.h - the keys that the plugin `bench` and the bare loops beside it read: 16 bytes each, prepared in memory.
 */
#ifndef BENCH_BENCH_ROWS_H
#define BENCH_BENCH_ROWS_H

#include <stdint.h>
#include <string.h>

#define BENCH_KEY_SIZE 16
#define BENCH_PREPARED_ROWS (1u << 18) /* a power of two; they repeat */

/* SplitMix64. */
static inline uint64_t
bench_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* The key of prepared row `row`, one of `keys`: "key-000000012345". Not terminated. */
static inline void
bench_print_key(uint64_t row, uint64_t keys, char text[BENCH_KEY_SIZE])
{
	uint64_t key = bench_mix(row) % keys;
	memcpy(text, "key-000000000000", BENCH_KEY_SIZE);
	for (int i = BENCH_KEY_SIZE - 1; key != 0 && i >= 4; i--, key /= 10)
		text[i] = (char)('0' + key % 10);
}

#endif
