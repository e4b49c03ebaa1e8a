/* An ordered store in memory, by folder: what was written is there when it is opened again. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/runtime_world.h"

#include "base/error.h"

typedef struct pair {
	uint32_t space;
	char *key, *value;
	uint64_t key_size, value_size;
} pair;

struct flow_store {
	char *folder;
	pair *pairs;
	size_t count, capacity;
};

struct flow_store_iterator {
	pair *pairs; /* a copy of the range, pointing into the store */
	size_t count, at;
};

static struct flow_store stores[64];
static size_t store_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int
compare(uint32_t space, flow_slice key, const pair *p)
{
	if (space != p->space)
		return space < p->space ? -1 : 1;
	uint64_t least = key.size < p->key_size ? key.size : p->key_size;
	int order = least == 0 ? 0 : memcmp(key.data, p->key, least);
	return order != 0 ? order : key.size < p->key_size ? -1 : key.size > p->key_size;
}

static size_t
lower_bound(const flow_store *s, uint32_t space, flow_slice key)
{
	size_t low = 0, high = s->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (compare(space, key, &s->pairs[middle]) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static char *
copy_bytes(flow_slice bytes)
{
	char *copy = malloc(bytes.size + 1);
	if (bytes.size != 0)
		memcpy(copy, bytes.data, bytes.size);
	return copy;
}

static void
remove_at(flow_store *s, size_t at)
{
	free(s->pairs[at].key);
	free(s->pairs[at].value);
	memmove(&s->pairs[at], &s->pairs[at + 1], (s->count - at - 1) * sizeof(pair));
	s->count--;
}

static void
apply(flow_store *s, const flow_store_write *w)
{
	size_t at = lower_bound(s, w->space, w->key);
	int there = at < s->count && compare(w->space, w->key, &s->pairs[at]) == 0;
	if (w->kind == FLOW_STORE_DELETE_RANGE) {
		while (at < s->count && s->pairs[at].space == w->space &&
			   (w->value.size == 0 || compare(w->space, w->value, &s->pairs[at]) > 0))
			remove_at(s, at);
		return;
	}
	if (there)
		remove_at(s, at);
	if (w->kind == FLOW_STORE_DELETE)
		return;
	if (s->count == s->capacity) {
		s->capacity = s->capacity == 0 ? 64 : s->capacity * 2;
		s->pairs = realloc(s->pairs, s->capacity * sizeof(pair));
	}
	memmove(&s->pairs[at + 1], &s->pairs[at], (s->count - at) * sizeof(pair));
	s->pairs[at] = (pair){ w->space, copy_bytes(w->key), copy_bytes(w->value), w->key.size, w->value.size };
	s->count++;
}

static flow_status
store_open(const flow_host *host, const flow_options *options, const flow_store_info *info, flow_store **store,
		   flow_error *error)
{
	(void)host;
	(void)options;
	(void)error;
	char path[256];
	snprintf(path, sizeof(path), "%.*s", (int)info->directory.size, info->directory.data);
	int discarded = mkdir(path, 0777) == 0; /* the folder stands for what is in it */
	for (size_t i = 0; i < store_count; i++) {
		if (!flow_slice_is(info->directory, stores[i].folder))
			continue;
		while (discarded && stores[i].count != 0)
			remove_at(&stores[i], stores[i].count - 1);
		*store = &stores[i];
		return FLOW_OK;
	}
	stores[store_count].folder = strndup(info->directory.data, info->directory.size);
	*store = &stores[store_count++];
	return FLOW_OK;
}

void world_stores_reset(void);

void
world_stores_reset(void)
{
	for (size_t i = 0; i < store_count; i++) {
		while (stores[i].count != 0)
			remove_at(&stores[i], stores[i].count - 1);
		free(stores[i].pairs);
		free(stores[i].folder);
	}
	memset(stores, 0, sizeof(stores));
	store_count = 0;
}

static void
store_close(flow_store *store)
{
	(void)store;
}

static flow_status
store_write(flow_store *s, const flow_store_write *writes, uint64_t count, int sync, flow_error *error)
{
	(void)sync;
	(void)error;
	pthread_mutex_lock(&lock);
	for (uint64_t i = 0; i < count; i++)
		apply(s, &writes[i]);
	pthread_mutex_unlock(&lock);
	return FLOW_OK;
}

static flow_status
get_many(flow_store *s, flow_store_snapshot *snapshot, uint32_t space, const flow_slice *keys, uint64_t count,
		 flow_builder *memory, flow_slice *values, flow_error *error)
{
	(void)snapshot;
	(void)error;
	pthread_mutex_lock(&lock);
	for (uint64_t i = 0; i < count; i++) {
		size_t at = lower_bound(s, space, keys[i]);
		values[i] = flow_slice_make(NULL, 0);
		if (at < s->count && compare(space, keys[i], &s->pairs[at]) == 0)
			values[i] = flow_slice_make(flow_builder_copy(memory, s->pairs[at].value, s->pairs[at].value_size),
										s->pairs[at].value_size);
	}
	pthread_mutex_unlock(&lock);
	return FLOW_OK;
}

static flow_status
iterate(flow_store *s, flow_store_snapshot *snapshot, uint32_t space, flow_slice from, flow_slice to, int backward,
		flow_store_iterator **iterator, flow_error *error)
{
	(void)snapshot;
	(void)backward;
	(void)error;
	flow_store_iterator *it = calloc(1, sizeof(*it));
	pthread_mutex_lock(&lock);
	it->pairs = malloc((s->count + 1) * sizeof(pair));
	for (size_t at = lower_bound(s, space, from);
		 at < s->count && s->pairs[at].space == space && (to.size == 0 || compare(space, to, &s->pairs[at]) > 0);
		 at++) {
		pair *p = &s->pairs[at];
		it->pairs[it->count++] =
			(pair){ space, copy_bytes(flow_slice_make(p->key, p->key_size)),
					copy_bytes(flow_slice_make(p->value, p->value_size)), p->key_size, p->value_size };
	}
	pthread_mutex_unlock(&lock);
	*iterator = it;
	return FLOW_OK;
}

static flow_status
next_many(flow_store_iterator *it, uint64_t capacity, flow_slice *keys, flow_slice *values, uint64_t *count,
		  flow_error *error)
{
	(void)error;
	*count = 0;
	while (it->at < it->count && *count < capacity) {
		pair *p = &it->pairs[it->at++];
		keys[*count] = flow_slice_make(p->key, p->key_size);
		values[(*count)++] = flow_slice_make(p->value, p->value_size);
	}
	return *count == 0 ? FLOW_END : FLOW_OK;
}

static void
iterator_close(flow_store_iterator *it)
{
	for (size_t i = 0; i < it->count; i++) {
		free(it->pairs[i].key);
		free(it->pairs[i].value);
	}
	free(it->pairs);
	free(it);
}

static flow_status
snapshot_open(flow_store *s, flow_store_snapshot **snapshot, flow_error *error)
{
	(void)s;
	(void)error;
	*snapshot = NULL;
	return FLOW_OK;
}

static void
snapshot_close(flow_store *s, flow_store_snapshot *snapshot)
{
	(void)s;
	(void)snapshot;
}

static int64_t
store_size(flow_store *s)
{
	return (int64_t)s->count;
}

static const flow_store_ops store_ops = {
	.struct_size = FLOW_SIZEOF(flow_store_ops),
	.open = store_open,
	.close = store_close,
	.write = store_write,
	.get_many = get_many,
	.snapshot_open = snapshot_open,
	.snapshot_close = snapshot_close,
	.iterate = iterate,
	.next_many = next_many,
	.iterator_close = iterator_close,
	.size = store_size,
};

const flow_component world_store = { .struct_size = FLOW_SIZEOF(flow_component),
									 .kind = FLOW_STORE,
									 .flags = FLOW_STORE_ATOMIC_BATCH,
									 .id = "memory_of_a_test",
									 .doc = "A store of a test.",
									 .ops = &store_ops };
