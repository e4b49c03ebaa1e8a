/* The map of entries (state/map.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "state/internal.h"

#define ENTRIES 5000

static entry *entries;

static int
has(const struct entry_map *map, const entry *e)
{
	for (uint64_t at = e->hash & map->mask;; at = (at + 1) & map->mask) {
		const struct map_line *line = &map->lines[at];
		for (uint32_t matches = map_matches(line, map_tag(e->hash)); matches != 0; matches &= matches - 1)
			if (line->entries[__builtin_ctz(matches)] == e)
				return 1;
		if (line->passed == 0)
			return 0;
	}
}

static uint64_t
passed(const struct entry_map *map)
{
	uint64_t sum = 0;
	for (uint64_t at = 0; at < map_lines(map); at++)
		sum += map->lines[at].passed;
	return sum;
}

static int
open_entries(void **state)
{
	(void)state;
	entries = calloc(ENTRIES, sizeof(*entries));
	return entries == NULL;
}

static int
close_entries(void **state)
{
	(void)state;
	free(entries);
	return 0;
}

/* Puts all in, growing; then takes out those with an odd number, then the others. */
static void
put_and_take(void)
{
	struct entry_map map = { 0 };
	for (uint32_t i = 0; i < ENTRIES; i++) {
		assert_int_equal(map_reserve(&map, map.count + 1), FLOW_OK);
		assert_false(has(&map, &entries[i]));
		map_put(&map, &entries[i]);
		assert_true(has(&map, &entries[i]));
	}
	for (uint32_t i = 0; i < ENTRIES; i++)
		assert_true(has(&map, &entries[i]));
	for (uint32_t i = 1; i < ENTRIES; i += 2)
		map_remove(&map, &entries[i]);
	assert_int_equal(map.count, ENTRIES / 2);
	for (uint32_t i = 0; i < ENTRIES; i++)
		assert_int_equal(has(&map, &entries[i]), i % 2 == 0);
	for (uint32_t i = 0; i < ENTRIES; i += 2)
		map_remove(&map, &entries[i]);
	assert_int_equal(map.count, 0);
	assert_int_equal(passed(&map), 0);
	map_destroy(&map);
}

static void
given_hashes_of_any_kind_when_put_and_taken_then_each_entry_is_found_until_it_is_taken(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ENTRIES; i++)
		entries[i].hash = entry_hash(i, 0, 0);
	put_and_take();
}

static void
given_hashes_with_one_home_and_one_tag_then_entries_are_found_in_the_lines_behind(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ENTRIES; i++)
		entries[i].hash = (uint64_t)(i % 7) << 48 | 1023; /* of 1,024 lines the last: it goes on at the first */
	put_and_take();
}

static void
given_a_line_then_the_likely_entry_is_the_one_with_the_tag(void **state)
{
	(void)state;
	struct entry_map map = { 0 };
	assert_int_equal(map_reserve(&map, LINE_ENTRIES), FLOW_OK);
	for (uint32_t i = 0; i < LINE_ENTRIES; i++) {
		entries[i].hash = (uint64_t)(i + 1) << 48;
		map_put(&map, &entries[i]);
	}
	for (uint32_t i = 0; i < LINE_ENTRIES; i++)
		assert_ptr_equal(map_likely(map_home(&map, 0), map_tag(entries[i].hash)), &entries[i]);
	assert_int_equal(map_matches(map_home(&map, 0), map_tag((uint64_t)100 << 48)), 0);
	map_destroy(&map);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_hashes_of_any_kind_when_put_and_taken_then_each_entry_is_found_until_it_is_taken),
		cmocka_unit_test(given_hashes_with_one_home_and_one_tag_then_entries_are_found_in_the_lines_behind),
		cmocka_unit_test(given_a_line_then_the_likely_entry_is_the_one_with_the_tag),
	};
	return cmocka_run_group_tests(tests, open_entries, close_entries);
}
