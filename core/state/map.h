/*
 * state/map.h - the map that finds entries by their hash.
 *
 * It is an array of lines, each one cache line of memory with six entries. An entry lies in the line that its hash names, its home, or,
 * where that was full, in one of the next. Beside each address a line has 16 bits of the hash, the tag, so that one comparison of all
 * six tells which entry it can be. A line also counts the entries that went by because it was full: where there are none,
 * who is not in this line is not in the map. Entries stay where they are until the map grows.
 *
 * The map has no copies of keys: who looks for one compares the candidates' (entry_find). Entries are the caller's, who keeps them alive
 * while they are in the map; the lines are the map's. Starts as all zeros. Threads: one at a time, as the state that it belongs to.
 */
#ifndef STATE_MAP_H
#define STATE_MAP_H

#include <stdint.h>

#include "flow/error.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LINE_ENTRIES 6u
#define LINE_SIZE 64u

struct entry;

struct map_line {
	uint16_t tags[LINE_ENTRIES]; /* 0: free */
	uint32_t passed;
	struct entry *entries[LINE_ENTRIES];
};

_Static_assert(sizeof(struct map_line) == LINE_SIZE, "a line of the map is a cache line");

struct entry_map {
	struct map_line *lines;
	void *block;
	uint64_t mask; /* lines - 1 */
	uint64_t count;
};

/* From now on there is room for so many entries in all. FLOW_E_MEMORY: the map is as it was. */
flow_status map_reserve(struct entry_map *map, uint64_t entries);
void map_put(struct entry_map *map, struct entry *e);    /* room is reserved */
void map_remove(struct entry_map *map, struct entry *e); /* it is in the map */
uint64_t map_bytes(const struct entry_map *map);
void map_destroy(struct entry_map *map);

/* Lines, for walks over all entries: `lines` of them; entries that are NULL are free. */
static inline uint64_t
map_lines(const struct entry_map *map)
{
	return map->lines == NULL ? 0 : map->mask + 1;
}

static inline struct map_line *
map_home(const struct entry_map *map, uint64_t hash)
{
	return &map->lines[hash & map->mask];
}

static inline uint16_t
map_tag(uint64_t hash)
{
	uint16_t tag = (uint16_t)(hash >> 48);
	return tag == 0 ? 1 : tag;
}

/* Bit i: the line's entry i has this tag. */
static inline uint32_t
map_matches(const struct map_line *line, uint16_t tag)
{
#if defined(__SSE2__)
	__m128i tags =
		_mm_load_si128((const __m128i *)(const void *)line); /* and `passed`, which the last mask leaves out */
	__m128i equal = _mm_cmpeq_epi16(tags, _mm_set1_epi16((short)tag));
	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128())) & ((1u << LINE_ENTRIES) - 1);
#else
	uint32_t matches = 0;
	for (uint32_t i = 0; i < LINE_ENTRIES; i++)
		matches |= (uint32_t)(line->tags[i] == tag) << i;
	return matches;
#endif
}

/* The first entry of the line with this tag; where there is none, any of them or NULL. It has no branch, since nobody could predict
 * which one it is. */
static inline struct entry *
map_likely(const struct map_line *line, uint16_t tag)
{
	return line->entries[__builtin_ctz(map_matches(line, tag) | 1u << (LINE_ENTRIES - 1))];
}

#endif
