/*
 * One shard of a memory table: a hash map from key bytes to row bytes (flow_sdk/row.h) with a lock that a call takes
 * once.
 *
 * Ownership: a shard owns copies of keys and rows. Threads: the caller holds `lock`, for reading in shard_find, else
 * for writing.
 */
#ifndef MEMORY_TABLE_SHARD_H
#define MEMORY_TABLE_SHARD_H

#include <pthread.h>

#include "flow/flow.h"

struct item {
	uint64_t hash;
	uint64_t key_size;
	uint64_t row_size;
	char bytes[]; /* key, row */
};

struct shard {
	pthread_rwlock_t lock;
	struct item **items; /* open addressing; NULL: free */
	uint64_t mask;
	uint64_t count;
};

void shard_create(struct shard *shard);
void shard_destroy(struct shard *shard, const flow_host *host);

/* NULL: not there. */
const struct item *shard_find(const struct shard *shard, uint64_t hash, flow_slice key);
/* Puts the encoded `row`; 0: out of memory, nothing changed. */
int shard_put(struct shard *shard, const flow_host *host, uint64_t hash, flow_slice key, const flow_value *row,
			  uint64_t row_size);
/* 0: it was not there. */
int shard_delete(struct shard *shard, const flow_host *host, uint64_t hash, flow_slice key);

static inline flow_slice
item_row(const struct item *item)
{
	return flow_slice_make(item->bytes + item->key_size, item->row_size);
}

#endif
