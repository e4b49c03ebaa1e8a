#include "table_shard.h"

#include "flow_sdk/plugin.h"
#include "flow_sdk/row.h"

#define FIRST_ITEMS 64u

void
shard_create(struct shard *shard)
{
	pthread_rwlockattr_t attributes;
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes,
								  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP); /* readers starve no writer */
	pthread_rwlock_init(&shard->lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
}

void
shard_destroy(struct shard *shard, const flow_host *host)
{
	for (uint64_t i = 0; shard->items != NULL && i <= shard->mask; i++)
		host->release(shard->items[i]);
	host->release(shard->items);
	pthread_rwlock_destroy(&shard->lock);
}

/* The cell that holds the key, or the free one where it would go. */
static uint64_t
find_cell(const struct shard *shard, uint64_t hash, flow_slice key)
{
	uint64_t i = hash & shard->mask;
	for (const struct item *item; (item = shard->items[i]) != NULL; i = (i + 1) & shard->mask)
		if (item->hash == hash && flow_slice_equal(flow_slice_make(item->bytes, item->key_size), key))
			break;
	return i;
}

const struct item *
shard_find(const struct shard *shard, uint64_t hash, flow_slice key)
{
	return shard->items == NULL ? NULL : shard->items[find_cell(shard, hash, key)];
}

static int
grow(struct shard *shard, const flow_host *host)
{
	if (shard->items != NULL && (shard->count + 1) * 4 <= (shard->mask + 1) * 3)
		return 1;
	uint64_t size = shard->items == NULL ? FIRST_ITEMS : (shard->mask + 1) * 2;
	struct item **items = flow_new(host, size * sizeof(struct item *));
	if (items == NULL)
		return 0;
	for (uint64_t i = 0; shard->items != NULL && i <= shard->mask; i++) {
		struct item *item = shard->items[i];
		uint64_t to = item == NULL ? 0 : item->hash & (size - 1);
		while (item != NULL && items[to] != NULL)
			to = (to + 1) & (size - 1);
		if (item != NULL)
			items[to] = item;
	}
	host->release(shard->items);
	shard->items = items;
	shard->mask = size - 1;
	return 1;
}

int
shard_put(struct shard *shard, const flow_host *host, uint64_t hash, flow_slice key, const flow_value *row,
		  uint64_t row_size)
{
	struct item *item = grow(shard, host) ? host->allocate(sizeof(*item) + key.size + row_size) : NULL;
	if (item == NULL)
		return 0;
	*item = (struct item){ .hash = hash, .key_size = key.size, .row_size = row_size };
	if (key.size != 0)
		memcpy(item->bytes, key.data, key.size);
	flow_row_write(row, item->bytes + key.size);
	uint64_t i = find_cell(shard, hash, key);
	shard->count += shard->items[i] == NULL;
	host->release(shard->items[i]);
	shard->items[i] = item;
	return 1;
}

int
shard_delete(struct shard *shard, const flow_host *host, uint64_t hash, flow_slice key)
{
	if (shard->items == NULL)
		return 0;
	uint64_t hole = find_cell(shard, hash, key);
	if (shard->items[hole] == NULL)
		return 0;
	host->release(shard->items[hole]);
	shard->count--;
	/* Those behind it move up, so that no look-up stops too early. */
	for (uint64_t i = (hole + 1) & shard->mask; shard->items[i] != NULL; i = (i + 1) & shard->mask) {
		uint64_t home = shard->items[i]->hash & shard->mask;
		if (((i - home) & shard->mask) >= ((i - hole) & shard->mask)) {
			shard->items[hole] = shard->items[i];
			hole = i;
		}
	}
	shard->items[hole] = NULL;
	return 1;
}
