/*
 * base/chunk.h - pieces of memory that batches are made of, pooled by size so that steady state allocates nothing.
 *
 * Threads: a pool is [any]; a chunk belongs to whoever holds it.
 */
#ifndef BASE_CHUNK_H
#define BASE_CHUNK_H

#include <stdint.h>

typedef struct batch_pool batch_pool;

typedef struct chunk {
	struct chunk *next; /* for the holder's list */
	uint64_t size;      /* usable bytes at data */
	uint32_t class_index;
	uint32_t reserved;
	uint64_t reserved_2; /* data is 32-byte aligned behind a 64-byte aligned head */
	char data[];
} chunk;

#define CHUNK_TAIL 64 /* readable bytes behind every chunk, for wide loads */

/* At least `size` usable bytes; NULL: out of memory. */
chunk *chunk_acquire(batch_pool *pool, uint64_t size);
/* Gives a list of chunks back. */
void chunk_release(batch_pool *pool, chunk *list);

#endif
