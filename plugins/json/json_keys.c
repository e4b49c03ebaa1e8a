/* The same key twice in a large object: by sorting, so that hostile keys cost no more than others. */
#include <stdlib.h>

#include "json.h"

/* By size, then content, then place. */
static int
compare_keys(const void *left, const void *right)
{
	const flow_map_entry *a = *(const flow_map_entry *const *)left;
	const flow_map_entry *b = *(const flow_map_entry *const *)right;
	if (a->key.size != b->key.size)
		return a->key.size < b->key.size ? -1 : 1;
	int order = a->key.size == 0 ? 0 : memcmp(a->key.as.text, b->key.as.text, a->key.size);
	if (order != 0)
		return order;
	return a < b ? -1 : a > b;
}

static int
same_key(const flow_map_entry *a, const flow_map_entry *b)
{
	return a->key.size == b->key.size && (a->key.size == 0 || memcmp(a->key.as.text, b->key.as.text, a->key.size) == 0);
}

/* Leaves the first of equal keys with the last one's value; the others lose their text. */
static void
move_last_values(flow_map_entry **sorted, uint64_t count)
{
	for (uint64_t first = 0, last; first < count; first = last + 1) {
		for (last = first; last + 1 < count && same_key(sorted[first], sorted[last + 1]); last++)
			sorted[last + 1]->key.as.text = NULL;
		sorted[first]->value = sorted[last]->value;
	}
}

int64_t
json_same_keys(const flow_host *host, flow_map_entry *entries, uint64_t *count, int keep_last)
{
	flow_map_entry **sorted = (flow_map_entry **)host->allocate(*count * sizeof(*sorted));
	if (sorted == NULL)
		return -2;
	for (uint64_t i = 0; i < *count; i++)
		sorted[i] = &entries[i];
	qsort(sorted, *count, sizeof(*sorted), compare_keys);
	int64_t found = -1;
	for (uint64_t i = 1; i < *count; i++) {
		if (same_key(sorted[i - 1], sorted[i]) && (found < 0 || sorted[i] - entries < found))
			found = sorted[i] - entries;
	}
	if (found >= 0 && keep_last) {
		move_last_values(sorted, *count);
		uint64_t kept = 0;
		for (uint64_t i = 0; i < *count; i++)
			if (entries[i].key.as.text != NULL)
				entries[kept++] = entries[i];
		*count = kept;
		found = -1;
	}
	host->release(sorted);
	return found;
}
