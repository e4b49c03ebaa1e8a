#include "support/fake_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define SPACES 4

struct pair {
	char *key;
	uint64_t key_size;
	char *value;
	uint64_t value_size;
};

struct space {
	struct pair *pairs; /* sorted */
	uint64_t count;
	uint64_t capacity;
};

struct flow_store {
	int open;
};

struct flow_store_iterator {
	const struct space *space;
	uint64_t next;
	char *to;
	uint64_t to_size;
};

/* One folder is enough: a test has one job. */
static struct space spaces[SPACES];
static flow_store the_store;
static int failing = -1;
static uint64_t lookups;

static int
compare(const struct pair *pair, flow_slice key)
{
	uint64_t shorter = pair->key_size < key.size ? pair->key_size : key.size;
	int order = shorter == 0 ? 0 : memcmp(pair->key, key.data, shorter);
	return order != 0 ? order : (pair->key_size > key.size) - (pair->key_size < key.size);
}

/* The first pair that is not before the key. */
static uint64_t
find(const struct space *space, flow_slice key)
{
	uint64_t low = 0, high = space->count;
	while (low < high) {
		uint64_t middle = (low + high) / 2;
		if (compare(&space->pairs[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int
is_at(const struct space *space, uint64_t place, flow_slice key)
{
	return place < space->count && compare(&space->pairs[place], key) == 0;
}

static char *
copy(flow_slice bytes)
{
	char *memory = malloc(bytes.size + 1);
	if (bytes.size != 0)
		memcpy(memory, bytes.data, bytes.size);
	return memory;
}

static void
put(struct space *space, flow_slice key, flow_slice value)
{
	uint64_t place = find(space, key);
	if (is_at(space, place, key)) {
		free(space->pairs[place].value);
	} else {
		if (space->count == space->capacity) {
			space->capacity = space->capacity * 2 + 16;
			space->pairs = realloc(space->pairs, space->capacity * sizeof(*space->pairs));
		}
		memmove(&space->pairs[place + 1], &space->pairs[place], (space->count - place) * sizeof(*space->pairs));
		space->count++;
		space->pairs[place] = (struct pair){ .key = copy(key), .key_size = key.size };
	}
	space->pairs[place].value = copy(value);
	space->pairs[place].value_size = value.size;
}

static void
erase(struct space *space, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		free(space->pairs[i].key);
		free(space->pairs[i].value);
	}
	if (to > from)
		memmove(&space->pairs[from], &space->pairs[to], (space->count - to) * sizeof(*space->pairs));
	space->count -= to - from;
}

static flow_status
store_open(const flow_host *host, const flow_options *options, const flow_store_info *info, flow_store **store,
		   flow_error *error)
{
	(void)host;
	(void)options;
	if (the_store.open || info->space_count > SPACES)
		return error_set(error, FLOW_E_LOCKED, "fake store: open already");
	the_store.open = 1;
	*store = &the_store;
	return FLOW_OK;
}

static void
store_close(flow_store *store)
{
	store->open = 0;
}

static void
apply(const flow_store_write *w)
{
	struct space *space = &spaces[w->space];
	uint64_t place = find(space, w->key);
	if (w->kind == FLOW_STORE_PUT)
		put(space, w->key, w->value);
	else if (w->kind == FLOW_STORE_DELETE)
		erase(space, place, place + (uint64_t)is_at(space, place, w->key));
	else
		erase(space, place, w->value.size == 0 ? space->count : find(space, w->value));
}

static flow_status
store_write(flow_store *store, const flow_store_write *writes, uint64_t count, int sync, flow_error *error)
{
	(void)store;
	(void)sync;
	int outcome = failing;
	failing = -1;
	for (uint64_t i = 0; i < count && outcome != 0; i++)
		apply(&writes[i]);
	return outcome < 0 ? FLOW_OK : error_set(error, FLOW_E_FULL, "fake store: no space left");
}

static flow_status
store_get_many(flow_store *store, flow_store_snapshot *snapshot, uint32_t space, const flow_slice *keys, uint64_t count,
			   flow_builder *memory, flow_slice *values, flow_error *error)
{
	(void)store;
	(void)snapshot;
	lookups += count;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t place = find(&spaces[space], keys[i]);
		values[i] = flow_slice_make(NULL, 0);
		if (!is_at(&spaces[space], place, keys[i]))
			continue;
		const struct pair *pair = &spaces[space].pairs[place];
		values[i] = flow_slice_make(flow_builder_copy(memory, pair->value, pair->value_size), pair->value_size);
		if (values[i].data == NULL)
			return error_set(error, FLOW_E_MEMORY, "fake store: out of memory");
	}
	return FLOW_OK;
}

static flow_status
store_iterate(flow_store *store, flow_store_snapshot *snapshot, uint32_t space, flow_slice from, flow_slice to,
			  int backward, flow_store_iterator **iterator, flow_error *error)
{
	(void)store;
	(void)snapshot;
	(void)backward;
	(void)error;
	flow_store_iterator *it = calloc(1, sizeof(*it));
	it->space = &spaces[space];
	it->next = find(it->space, from);
	it->to = copy(to);
	it->to_size = to.size;
	*iterator = it;
	return FLOW_OK;
}

static flow_status
store_next_many(flow_store_iterator *it, uint64_t capacity, flow_slice *keys, flow_slice *values, uint64_t *count,
				flow_error *error)
{
	(void)error;
	flow_slice to = flow_slice_make(it->to, it->to_size);
	for (*count = 0; *count < capacity && it->next < it->space->count; it->next++) {
		const struct pair *pair = &it->space->pairs[it->next];
		if (to.size != 0 && compare(pair, to) >= 0)
			break;
		keys[*count] = flow_slice_make(pair->key, pair->key_size);
		values[(*count)++] = flow_slice_make(pair->value, pair->value_size);
	}
	return *count == 0 ? FLOW_END : FLOW_OK;
}

static void
store_iterator_close(flow_store_iterator *it)
{
	free(it->to);
	free(it);
}

static const flow_store_ops store_ops = {
	.struct_size = FLOW_SIZEOF(flow_store_ops),
	.open = store_open,
	.close = store_close,
	.write = store_write,
	.get_many = store_get_many,
	.iterate = store_iterate,
	.next_many = store_next_many,
	.iterator_close = store_iterator_close,
};

const flow_component fake_store_component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_STORE,
	.flags = FLOW_STORE_ATOMIC_BATCH,
	.id = "fake",
	.doc = "A store in memory for tests.",
	.ops = &store_ops,
};

void
fake_store_reset(void)
{
	for (int i = 0; i < SPACES; i++) {
		erase(&spaces[i], 0, spaces[i].count);
		free(spaces[i].pairs);
		spaces[i] = (struct space){ 0 };
	}
	failing = -1;
	lookups = 0;
	the_store.open = 0;
}

void
fake_store_fail_write(int written)
{
	failing = written;
}

uint64_t
fake_store_lookups(void)
{
	return lookups;
}

uint64_t
fake_store_pairs(uint32_t space)
{
	return spaces[space].count;
}

void
fake_store_damage(uint32_t space)
{
	for (uint64_t i = 0; i < spaces[space].count; i++)
		spaces[space].pairs[i].value_size -= spaces[space].pairs[i].value_size != 0;
}
