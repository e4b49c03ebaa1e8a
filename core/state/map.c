/* The map of entries (state/map.h): putting in, taking out, growing. */
#include "state/map.h"

#include "base/memory.h"
#include "state/internal.h"

#define FIRST_LINES 256u
#define FULL 4u /* entries a line on the average: then one in twenty is not in its home */

static uint64_t
room_of(uint64_t lines)
{
	return lines * FULL;
}

void
map_put(struct entry_map *map, entry *e)
{
	uint64_t at = e->hash & map->mask;
	uint32_t free_places;
	while ((free_places = map_matches(&map->lines[at], 0)) == 0) {
		map->lines[at].passed++;
		at = (at + 1) & map->mask;
	}
	uint32_t place = (uint32_t)__builtin_ctz(free_places);
	map->lines[at].tags[place] = map_tag(e->hash);
	map->lines[at].entries[place] = e;
	map->count++;
}

void
map_remove(struct entry_map *map, entry *e)
{
	for (uint64_t at = e->hash & map->mask;; at = (at + 1) & map->mask) {
		struct map_line *line = &map->lines[at];
		for (uint32_t i = 0; i < LINE_ENTRIES; i++) {
			if (line->entries[i] != e)
				continue;
			line->tags[i] = 0;
			line->entries[i] = NULL;
			map->count--;
			return;
		}
		line->passed--;
	}
}

/* Entries are read in the order of the old lines: their memory is asked for a line ahead. */
static void
move_all(const struct entry_map *from, struct entry_map *to)
{
	for (uint64_t at = 0; at < map_lines(from); at++) {
		for (uint32_t i = 0; at + 1 < map_lines(from) && i < LINE_ENTRIES; i++)
			__builtin_prefetch(from->lines[at + 1].entries[i]);
		for (uint32_t i = 0; i < LINE_ENTRIES; i++)
			if (from->lines[at].entries[i] != NULL)
				map_put(to, from->lines[at].entries[i]);
	}
}

flow_status
map_reserve(struct entry_map *map, uint64_t entries)
{
	uint64_t lines = map->lines == NULL ? FIRST_LINES : map->mask + 1;
	while (entries > room_of(lines))
		lines *= 2;
	if (lines == map_lines(map))
		return FLOW_OK;
	struct entry_map grown = { .mask = lines - 1 };
	grown.lines = large_allocate(lines * LINE_SIZE, &grown.block);
	if (grown.lines == NULL)
		return FLOW_E_MEMORY;
	move_all(map, &grown);
	memory_release(map->block);
	*map = grown;
	return FLOW_OK;
}

uint64_t
map_bytes(const struct entry_map *map)
{
	return map_lines(map) * LINE_SIZE;
}

void
map_destroy(struct entry_map *map)
{
	memory_release(map->block);
	*map = (struct entry_map){ 0 };
}
