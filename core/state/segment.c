/* Segments and folds (state/segment.h). */
#include "state/segment.h"

#include <stdlib.h>
#include <string.h>

#include "base/key.h"
#include "base/memory.h"

#define FIRST_PLACES 1024u

static uint32_t
get_size(const char *from)
{
	const unsigned char *b = (const unsigned char *)from;
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static char *
put_size(char *to, uint32_t size)
{
	for (int i = 0; i < 4; i++)
		*to++ = (char)(size >> (8 * i));
	return to;
}

char *
segment_put_head(char *to, uint32_t kind, uint32_t key_size, uint32_t value_size)
{
	*to++ = (char)kind;
	return put_size(put_size(to, key_size), value_size);
}

int
segment_next(flow_slice *rest, flow_store_write *write)
{
	if (rest->size == 0)
		return 0;
	if (rest->size < SEGMENT_HEAD)
		return -1;
	uint64_t key = get_size(rest->data + 1), value = get_size(rest->data + 5), size = SEGMENT_HEAD + key + value;
	uint32_t kind = (unsigned char)rest->data[0];
	if (size > rest->size || (kind != FLOW_STORE_PUT && kind != FLOW_STORE_DELETE))
		return -1;
	*write = (flow_store_write){ .kind = kind,
								 .key = flow_slice_make(rest->data + SEGMENT_HEAD, key),
								 .value = flow_slice_make(rest->data + SEGMENT_HEAD + key, value) };
	*rest = flow_slice_make(rest->data + size, rest->size - size);
	return 1;
}

flow_slice
segment_cut(flow_slice *rest, uint64_t limit)
{
	flow_slice whole = *rest, before = *rest;
	if (rest->size <= limit) {
		*rest = flow_slice_make(NULL, 0);
		return whole;
	}
	flow_store_write write;
	while (segment_next(rest, &write) > 0) {
		if (whole.size - rest->size > limit && before.size != whole.size) {
			*rest = before;
			break;
		}
		before = *rest;
	}
	return flow_slice_make(whole.data, whole.size - rest->size);
}

static int
is_key(const flow_store_write *write, flow_slice key)
{
	return write->key.size == key.size && memcmp(write->key.data, key.data, key.size) == 0;
}

#define INDEX_MASK ((uint64_t)UINT32_MAX)

/* The write that a place names. */
static flow_store_write *
write_at(const fold *f, uint64_t place)
{
	return &f->writes[(place & INDEX_MASK) - 1];
}

/* Where the key is, or is to be. */
static uint64_t *
find_place(const fold *f, flow_slice key, uint64_t hash)
{
	uint64_t i = hash & f->mask;
	while (f->places[i] != 0 && ((f->places[i] ^ hash) > INDEX_MASK || !is_key(write_at(f, f->places[i]), key)))
		i = (i + 1) & f->mask;
	return &f->places[i];
}

static uint64_t
place_of(uint64_t hash, uint64_t index)
{
	return (hash & ~INDEX_MASK) | (index + 1);
}

static flow_status
grow(fold *f)
{
	if (f->count == UINT32_MAX - 1)
		return FLOW_E_LIMIT;
	if (f->count == f->capacity) {
		uint64_t capacity = f->capacity == 0 ? FIRST_PLACES / 2 : f->capacity * 2;
		flow_store_write *writes = memory_reallocate(f->writes, capacity * sizeof(*writes));
		if (writes == NULL)
			return FLOW_E_MEMORY;
		f->writes = writes;
		f->capacity = capacity;
	}
	if (f->places != NULL && f->count < (f->mask + 1) / 2)
		return FLOW_OK;
	uint64_t size = f->places == NULL ? FIRST_PLACES : (f->mask + 1) * 2;
	uint64_t *places = memory_allocate_zeroed(size * sizeof(*places));
	if (places == NULL)
		return FLOW_E_MEMORY;
	memory_release(f->places);
	f->places = places;
	f->mask = size - 1;
	for (uint64_t i = 0; i < f->count; i++) {
		uint64_t hash = key_hash(f->writes[i].key);
		*find_place(f, f->writes[i].key, hash) = place_of(hash, i);
	}
	return FLOW_OK;
}

static int
copy_slice(fold *f, flow_slice *slice)
{
	if (slice->size == 0)
		return 1;
	slice->data = arena_copy(f->memory, slice->data, slice->size);
	return slice->data != NULL;
}

static flow_status
add(fold *f, flow_store_write write, uint64_t hash, int copy)
{
	flow_status status = grow(f);
	if (status != FLOW_OK)
		return status;
	uint64_t *place = find_place(f, write.key, hash);
	if (*place != 0)
		return FLOW_OK; /* changed again later */
	if (copy && (!copy_slice(f, &write.key) || !copy_slice(f, &write.value)))
		return FLOW_E_MEMORY;
	f->writes[f->count++] = write;
	f->bytes += write.key.size + write.value.size;
	*place = place_of(hash, f->count - 1);
	return FLOW_OK;
}

/* Writes that are looked for together. */
#define GROUP 32
struct group {
	flow_store_write writes[GROUP];
	uint64_t hashes[GROUP];
	uint32_t count;
};

/* 0: damaged. */
static int
read_group(flow_slice *segment, struct group *g)
{
	int more = 1;
	for (g->count = 0; g->count < GROUP && (more = segment_next(segment, &g->writes[g->count])) > 0; g->count++)
		g->hashes[g->count] = key_hash(g->writes[g->count].key);
	return more >= 0;
}

/* To find a key costs three cache misses, each behind the one before: its place, its write, its bytes. Those of a group are under way
 * at once. */
static void
fetch_group(const fold *f, const struct group *g)
{
	if (f->places == NULL)
		return;
	for (uint32_t i = 0; i < g->count; i++)
		__builtin_prefetch(&f->places[g->hashes[i] & f->mask]);
	for (uint32_t i = 0; i < g->count; i++) {
		uint64_t place = f->places[g->hashes[i] & f->mask];
		if (place != 0)
			__builtin_prefetch(&write_at(f, place)->key);
	}
	for (uint32_t i = 0; i < g->count; i++) {
		uint64_t place = f->places[g->hashes[i] & f->mask];
		if (place != 0)
			__builtin_prefetch(write_at(f, place)->key.data);
	}
}

flow_status
fold_take(fold *f, flow_slice segment, int copy)
{
	if (f->memory == NULL && (f->memory = arena_create()) == NULL)
		return FLOW_E_MEMORY;
	struct group g;
	flow_status status = FLOW_OK;
	do {
		int good = read_group(&segment, &g);
		fetch_group(f, &g);
		for (uint32_t i = 0; i < g.count && status == FLOW_OK; i++)
			status = add(f, g.writes[i], g.hashes[i], copy);
		if (status == FLOW_OK && !good)
			status = FLOW_E_CORRUPT;
	} while (status == FLOW_OK && g.count == GROUP);
	return status;
}

static int
compare(const void *left, const void *right)
{
	const flow_slice *a = &((const flow_store_write *)left)->key, *b = &((const flow_store_write *)right)->key;
	int order = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);
	return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

void
fold_sort(fold *f)
{
	memory_release(f->places);
	f->places = NULL;
	if (f->count != 0)
		qsort(f->writes, f->count, sizeof(*f->writes), compare);
}

void
fold_clear(fold *f)
{
	arena_destroy(f->memory);
	memory_release(f->writes);
	memory_release(f->places);
	*f = (fold){ 0 };
}
