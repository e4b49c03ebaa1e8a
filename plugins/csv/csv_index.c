/*
 * Finds the bytes that cut CSV: 64 bytes become a bit map, a bit map becomes offsets. SSE2 is there on every x86-64; AVX2 is
 * chosen when the process starts on a processor that has it.
 */
#include "csv.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static uint32_t
index_plain(const char *data, uint32_t size, uint32_t base, char delimiter, char third, uint32_t *positions,
			uint64_t *high)
{
	uint32_t count = 0;
	unsigned char any = 0;
	for (uint32_t i = 0; i < size; i++) {
		char c = data[i];
		any |= (unsigned char)c;
		positions[count] = base + i;
		count += c == delimiter || c == '\n' || c == third;
	}
	*high |= any & 0x80;
	return count;
}

/* Offsets of the bits of `map`; writes up to 7 entries too many. */
static inline uint32_t *
put_positions(uint32_t *to, uint64_t map, uint32_t base)
{
	uint32_t *end = to + __builtin_popcountll(map);
	while (map != 0) {
		for (int i = 0; i < 8; i++) { /* no branch a bit; ctz of 0 gives a value that is overwritten */
			to[i] = base + (uint32_t)__builtin_ctzll(map | (1ull << 63));
			map &= map - 1;
		}
		to += 8;
	}
	return end;
}

static inline uint64_t
valid_bits(uint32_t left)
{
	return left >= 64 ? ~0ull : (1ull << left) - 1;
}

#if defined(__x86_64__)

static uint32_t
index_sse2(const char *data, uint32_t size, uint32_t base, char delimiter, char third, uint32_t *positions,
		   uint64_t *high)
{
	const __m128i delimiters = _mm_set1_epi8(delimiter);
	const __m128i thirds = _mm_set1_epi8(third);
	const __m128i feeds = _mm_set1_epi8('\n');
	uint32_t *to = positions;
	for (uint32_t at = 0; at < size; at += 64) {
		uint64_t map = 0;
		uint64_t upper = 0;
		for (int i = 0; i < 4; i++) {
			__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(data + at + (size_t)16 * (size_t)i));
			__m128i hits = _mm_or_si128(_mm_cmpeq_epi8(bytes, delimiters),
										_mm_or_si128(_mm_cmpeq_epi8(bytes, thirds), _mm_cmpeq_epi8(bytes, feeds)));
			map |= (uint64_t)(uint32_t)_mm_movemask_epi8(hits) << (16 * i);
			upper |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << (16 * i);
		}
		uint64_t valid = valid_bits(size - at);
		*high |= upper & valid;
		to = put_positions(to, map & valid, base + at);
	}
	return (uint32_t)(to - positions);
}

__attribute__((target("avx2,bmi,popcnt"))) static uint32_t
index_avx2(const char *data, uint32_t size, uint32_t base, char delimiter, char third, uint32_t *positions,
		   uint64_t *high)
{
	const __m256i delimiters = _mm256_set1_epi8(delimiter);
	const __m256i thirds = _mm256_set1_epi8(third);
	const __m256i feeds = _mm256_set1_epi8('\n');
	uint32_t *to = positions;
	for (uint32_t at = 0; at < size; at += 64) {
		__m256i low = _mm256_loadu_si256((const __m256i *)(const void *)(data + at));
		__m256i top = _mm256_loadu_si256((const __m256i *)(const void *)(data + at + 32));
		__m256i low_hits =
			_mm256_or_si256(_mm256_cmpeq_epi8(low, delimiters),
							_mm256_or_si256(_mm256_cmpeq_epi8(low, thirds), _mm256_cmpeq_epi8(low, feeds)));
		__m256i top_hits =
			_mm256_or_si256(_mm256_cmpeq_epi8(top, delimiters),
							_mm256_or_si256(_mm256_cmpeq_epi8(top, thirds), _mm256_cmpeq_epi8(top, feeds)));
		uint64_t map = (uint32_t)_mm256_movemask_epi8(low_hits) | (uint64_t)(uint32_t)_mm256_movemask_epi8(top_hits)
																	  << 32;
		uint64_t upper = (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(top) << 32;
		uint64_t valid = valid_bits(size - at);
		*high |= upper & valid;
		to = put_positions(to, map & valid, base + at);
	}
	return (uint32_t)(to - positions);
}

csv_indexer
csv_indexer_choose(int plain)
{
	if (plain)
		return index_plain;
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") ? index_avx2 : index_sse2;
}

#else

csv_indexer
csv_indexer_choose(int plain)
{
	(void)plain;
	(void)put_positions;
	(void)valid_bits;
	return index_plain;
}

#endif
