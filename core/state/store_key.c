/*
 * Keys of entries in the store (state/state.h): state id, key group, length of the key, key, space; timers have their
 * kind behind it. Big-endian, so that a key group of a state is one range.
 */
#include "base/error.h"
#include "state/internal.h"

#define SPACE_SIZE 8
#define SCAN_RUN 256

static char *
put(char *to, uint64_t number, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		*to++ = (char)(number >> (8 * (size - 1 - i)));
	return to;
}

static uint64_t
get(const char *from, uint32_t size)
{
	uint64_t number = 0;
	for (uint32_t i = 0; i < size; i++)
		number = number << 8 | (unsigned char)from[i];
	return number;
}

static int
is_timer(const task_state *t, const entry *e)
{
	return e->state >= t->state_count;
}

uint64_t
store_key_size(const task_state *t, const entry *e)
{
	return STORE_KEY_HEAD + e->key_size + SPACE_SIZE + (is_timer(t, e) ? 1u : 0u);
}

void
store_key_write(const task_state *t, const entry *e, char *to)
{
	to = put(to, t->states[e->state].store_id, 4);
	to = put(to, e->group, 2);
	to = put(to, e->key_size, 4);
	memcpy(to, entry_key(t, e), e->key_size);
	to = put(to + e->key_size, (uint64_t)e->space ^ (uint64_t)INT64_MIN, SPACE_SIZE);
	if (is_timer(t, e))
		*to = (char)(e->state - t->state_count + FLOW_TIMER_EVENT);
}

void
store_key_range(const task_state *t, uint32_t store_id, char *from, char *to)
{
	uint64_t end = ((uint64_t)store_id << 16) + t->last_group + 1;
	memset(from, 0, STORE_KEY_HEAD);
	memset(to, 0, STORE_KEY_HEAD);
	put(put(from, store_id, 4), t->first_group, 2);
	put(put(to, end >> 16, 4), end & 0xffff, 2);
}

int
store_key_read(flow_slice bytes, int timer, store_key *key)
{
	uint64_t rest = SPACE_SIZE + (timer ? 1u : 0u);
	if (bytes.size < STORE_KEY_HEAD + rest)
		return 0;
	uint64_t size = get(bytes.data + 6, 4);
	if (size != bytes.size - STORE_KEY_HEAD - rest)
		return 0;
	key->group = (uint32_t)get(bytes.data + 4, 2);
	key->key = flow_slice_make(bytes.data + STORE_KEY_HEAD, size);
	key->space = (int64_t)(get(bytes.data + STORE_KEY_HEAD + size, SPACE_SIZE) ^ (uint64_t)INT64_MIN);
	key->kind = timer ? (uint8_t)bytes.data[bytes.size - 1] : 0;
	return 1;
}

flow_status
store_scan(const task_state *t, uint32_t store_id,
		   flow_status (*take)(void *self, flow_slice key, flow_slice value, flow_error *error), void *self,
		   flow_error *error)
{
	char from[STORE_KEY_HEAD], to[STORE_KEY_HEAD];
	flow_store_iterator *iterator = NULL;
	store_key_range(t, store_id, from, to);
	flow_status status = t->backend.ops->iterate(t->backend.store, NULL, 0, flow_slice_make(from, sizeof(from)),
												 flow_slice_make(to, sizeof(to)), 0, &iterator, error);
	if (status != FLOW_OK)
		return status;
	flow_slice keys[SCAN_RUN], values[SCAN_RUN];
	uint64_t count = 0;
	while ((status = t->backend.ops->next_many(iterator, SCAN_RUN, keys, values, &count, error)) == FLOW_OK) {
		for (uint64_t i = 0; i < count && status == FLOW_OK; i++)
			status = take(self, keys[i], values[i], error);
		if (status != FLOW_OK)
			break;
	}
	t->backend.ops->iterator_close(iterator);
	return status == FLOW_END ? FLOW_OK : status;
}
