#include "base/chunk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/batch.h"
#include "base/memory.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(memory, size) ASAN_POISON_MEMORY_REGION(memory, size)
#define UNPOISON(memory, size) ASAN_UNPOISON_MEMORY_REGION(memory, size)
#else
#define POISON(memory, size) ((void)(memory), (void)(size))
#define UNPOISON(memory, size) ((void)(memory), (void)(size))
#endif

/* Classes are powers of two from 1 KiB to 4 MiB; larger chunks are not pooled. */
#define SMALLEST_SHIFT 10
#define CLASS_COUNT 13
#define NOT_POOLED UINT32_MAX
#define KEEP_BYTES ((uint64_t)8 << 20) /* free memory that a class keeps */

struct free_list {
	pthread_mutex_t lock;
	chunk *first;
	uint64_t count;
};

struct batch_pool {
	uint64_t limit;
	int overwrite;
	atomic_uint_fast64_t used; /* bytes of chunks in somebody's hands */
	atomic_uint_fast64_t peak;
	struct free_list classes[CLASS_COUNT];
};

batch_pool *
batch_pool_create(uint64_t limit)
{
	batch_pool *pool = memory_allocate_zeroed(sizeof(*pool));
	if (pool == NULL)
		return NULL;
	pool->limit = limit;
	for (unsigned i = 0; i < CLASS_COUNT; i++)
		pthread_mutex_init(&pool->classes[i].lock, NULL);
	return pool;
}

void
batch_pool_destroy(batch_pool *pool)
{
	if (pool == NULL)
		return;
	for (unsigned i = 0; i < CLASS_COUNT; i++) {
		for (chunk *c = pool->classes[i].first, *next; c != NULL; c = next) {
			next = c->next;
			memory_release(c);
		}
		pthread_mutex_destroy(&pool->classes[i].lock);
	}
	memory_release(pool);
}

int
batch_pool_pressed(const batch_pool *pool)
{
	return pool->limit != 0 && atomic_load_explicit(&pool->used, memory_order_relaxed) > pool->limit;
}

uint64_t
batch_pool_used(const batch_pool *pool)
{
	return atomic_load_explicit(&pool->used, memory_order_relaxed);
}

uint64_t
batch_pool_peak(const batch_pool *pool)
{
	return atomic_load_explicit(&pool->peak, memory_order_relaxed);
}

void
batch_pool_overwrite(batch_pool *pool)
{
	pool->overwrite = 1;
}

static void
count_used(batch_pool *pool, uint64_t size)
{
	uint64_t used = atomic_fetch_add_explicit(&pool->used, size, memory_order_relaxed) + size;
	uint64_t peak = atomic_load_explicit(&pool->peak, memory_order_relaxed);
	while (used > peak &&
		   !atomic_compare_exchange_weak_explicit(&pool->peak, &peak, used, memory_order_relaxed, memory_order_relaxed))
		;
}

static uint32_t
class_of(uint64_t total)
{
	for (uint32_t i = 0; i < CLASS_COUNT; i++)
		if (total <= (uint64_t)1 << (SMALLEST_SHIFT + i))
			return i;
	return NOT_POOLED;
}

chunk *
chunk_acquire(batch_pool *pool, uint64_t size)
{
	uint64_t total = sizeof(chunk) + size + CHUNK_TAIL;
	if (total < size)
		return NULL;
	uint32_t class_index = class_of(total);
	chunk *c = NULL;
	if (class_index != NOT_POOLED) {
		struct free_list *list = &pool->classes[class_index];
		total = (uint64_t)1 << (SMALLEST_SHIFT + class_index);
		pthread_mutex_lock(&list->lock);
		c = list->first;
		if (c != NULL) {
			UNPOISON(c, total);
			list->first = c->next;
			list->count--;
		}
		pthread_mutex_unlock(&list->lock);
	}
	if (c == NULL)
		c = memory_allocate(total);
	if (c == NULL)
		return NULL;
	c->next = NULL;
	c->class_index = class_index;
	c->size = total - sizeof(chunk) - CHUNK_TAIL;
	count_used(pool, total);
	return c;
}

void
chunk_release(batch_pool *pool, chunk *list)
{
	for (chunk *c = list, *next; c != NULL; c = next) {
		next = c->next;
		uint64_t total = c->size + sizeof(chunk) + CHUNK_TAIL;
		atomic_fetch_sub_explicit(&pool->used, total, memory_order_relaxed);
		if (pool->overwrite)
			memset(c->data, 0xDB, c->size);
		if (c->class_index == NOT_POOLED) {
			memory_release(c);
			continue;
		}
		struct free_list *free_chunks = &pool->classes[c->class_index];
		pthread_mutex_lock(&free_chunks->lock);
		int keep = (free_chunks->count + 1) * total <= KEEP_BYTES;
		if (keep) {
			c->next = free_chunks->first;
			free_chunks->first = c;
			free_chunks->count++;
			POISON(c->data, total - sizeof(chunk));
		}
		pthread_mutex_unlock(&free_chunks->lock);
		if (!keep)
			memory_release(c);
	}
}
