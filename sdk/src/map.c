/* The same key twice: among few by comparing, among many by sorting. */
#include "flow_sdk/map.h"

#include <stdlib.h>

#define FEW 12

static int
order_of(const flow_value *a, const flow_value *b)
{
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->size == 0 ? 0 : memcmp(a->as.text, b->as.text, a->size);
}

/* Equal keys by their place. */
static int
compare_entries(const void *left, const void *right)
{
	const flow_map_entry *a = *(const flow_map_entry *const *)left;
	const flow_map_entry *b = *(const flow_map_entry *const *)right;
	int order = order_of(&a->key, &b->key);
	return order != 0 ? order : (a > b) - (a < b);
}

static int64_t
among_few(const flow_map_entry *entries, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++)
		for (uint64_t before = 0; before < i; before++)
			if (order_of(&entries[before].key, &entries[i].key) == 0)
				return (int64_t)i;
	return FLOW_NO_SAME_KEY;
}

int64_t
flow_same_key(const flow_map_entry *entries, uint64_t count, flow_builder *memory)
{
	if (count <= FEW)
		return among_few(entries, count);
	const flow_map_entry **sorted = (const flow_map_entry **)flow_builder_alloc(memory, count * sizeof(*sorted));
	if (sorted == NULL)
		return FLOW_NO_KEY_MEMORY;
	for (uint64_t i = 0; i < count; i++)
		sorted[i] = &entries[i];
	qsort(sorted, count, sizeof(*sorted), compare_entries);
	int64_t found = FLOW_NO_SAME_KEY;
	for (uint64_t i = 1; i < count; i++) {
		int64_t at = sorted[i] - entries;
		if (order_of(&sorted[i - 1]->key, &sorted[i]->key) == 0 && (found < 0 || at < found))
			found = at;
	}
	return found;
}
