/*
 * runtime/keys.h - key columns of batches, and sets of keys. Private to this room.
 */
#ifndef RUNTIME_KEYS_H
#define RUNTIME_KEYS_H

#include "base/batch.h"

/* Computes the key columns of a batch that nobody else has yet; `memory` is empty afterwards. */
flow_status batch_key_columns(flow_batch *batch, flow_builder *memory);
/* A set of key hashes, for the check that an output keeps the key of its input. */
typedef struct key_set {
	uint64_t *slots; /* 0: free; a hash of 0 is kept as 1 */
	uint32_t mask;
} key_set;
flow_status key_set_fill(key_set *set, const flow_batch *batch); /* replaces what is in it */
int key_set_has(const key_set *set, uint64_t hash);
void key_set_clear(key_set *set);

#endif
