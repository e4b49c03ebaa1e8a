/* The same key twice: among few by comparing, among many by sorting. Fields of a record: by halving. */
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

/* Pointers to the entries by their keys, equal ones by their place. NULL: no memory. */
static const flow_map_entry **
sorted_entries(const flow_map_entry *entries, uint64_t count, flow_builder *memory)
{
	const flow_map_entry **sorted = (const flow_map_entry **)flow_builder_alloc(memory, count * sizeof(*sorted));
	if (sorted == NULL)
		return NULL;
	for (uint64_t i = 0; i < count; i++)
		sorted[i] = &entries[i];
	qsort(sorted, count, sizeof(*sorted), compare_entries);
	return sorted;
}

int64_t
flow_same_key(const flow_map_entry *entries, uint64_t count, flow_builder *memory)
{
	if (count <= FEW)
		return among_few(entries, count);
	const flow_map_entry **sorted = sorted_entries(entries, count, memory);
	if (sorted == NULL)
		return FLOW_NO_KEY_MEMORY;
	int64_t found = FLOW_NO_SAME_KEY;
	for (uint64_t i = 1; i < count; i++) {
		int64_t at = sorted[i] - entries;
		if (order_of(&sorted[i - 1]->key, &sorted[i]->key) == 0 && (found < 0 || at < found))
			found = at;
	}
	return found;
}

int64_t
flow_keep_last_keys(flow_map_entry *entries, uint64_t count, flow_builder *memory)
{
	int64_t same = flow_same_key(entries, count, memory);
	if (same < 0)
		return same == FLOW_NO_SAME_KEY ? (int64_t)count : same;
	const flow_map_entry **sorted = sorted_entries(entries, count, memory);
	if (sorted == NULL)
		return FLOW_NO_KEY_MEMORY;
	for (uint64_t first = 0, last; first < count; first = last + 1) {
		for (last = first; last + 1 < count && order_of(&sorted[first]->key, &sorted[last + 1]->key) == 0; last++)
			entries[sorted[last + 1] - entries].key.type = FLOW_NULL; /* to be dropped */
		entries[sorted[first] - entries].value = sorted[last]->value;
	}
	uint64_t kept = 0;
	for (uint64_t i = 0; i < count; i++)
		if (entries[i].key.type != FLOW_NULL)
			entries[kept++] = entries[i];
	return (int64_t)kept;
}

struct flow_field_index {
	uint32_t count;
	const flow_field *fields[]; /* by the sizes of their names, then by these */
};

static int
compare_names(flow_slice a, flow_slice b)
{
	if (a.size != b.size)
		return a.size < b.size ? -1 : 1;
	return a.size == 0 ? 0 : memcmp(a.data, b.data, a.size);
}

static int
compare_fields(const void *left, const void *right)
{
	return compare_names((*(const flow_field *const *)left)->name, (*(const flow_field *const *)right)->name);
}

flow_field_index *
flow_field_index_create(const flow_host *host, const flow_schema *record)
{
	flow_field_index *index =
		(flow_field_index *)host->allocate(sizeof(*index) + record->field_count * sizeof(index->fields[0]));
	if (index == NULL)
		return NULL;
	index->count = record->field_count;
	for (uint32_t i = 0; i < index->count; i++)
		index->fields[i] = record->fields[i];
	qsort(index->fields, index->count, sizeof(index->fields[0]), compare_fields);
	return index;
}

int32_t
flow_field_index_find(const flow_field_index *index, flow_slice name)
{
	uint32_t low = 0, high = index->count;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		int order = compare_names(name, index->fields[middle]->name);
		if (order == 0)
			return (int32_t)index->fields[middle]->index;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

void
flow_field_index_release(const flow_host *host, flow_field_index *index)
{
	host->release(index);
}
