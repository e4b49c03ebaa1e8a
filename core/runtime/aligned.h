/*
 * runtime/aligned.h - memory for structs with members on cache lines of their own.
 *
 * Threads: [any].
 */
#ifndef RUNTIME_ALIGNED_H
#define RUNTIME_ALIGNED_H

#include <string.h>

#include "base/memory.h"

#define CACHE_LINE ((size_t)64)

/* Zeroed and aligned to a cache line; NULL: out of memory. Give it back with aligned_release. */
static inline void *
aligned_allocate(size_t size)
{
	char *memory = memory_allocate(size + CACHE_LINE + sizeof(void *));
	if (memory == NULL)
		return NULL;
	uintptr_t start = ((uintptr_t)memory + sizeof(void *) + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1);
	void *aligned = memory + (start - (uintptr_t)memory);
	memcpy((char *)aligned - sizeof(void *), &memory, sizeof(void *));
	memset(aligned, 0, size);
	return aligned;
}

static inline void
aligned_release(void *aligned)
{
	if (aligned == NULL)
		return;
	void *memory;
	memcpy(&memory, (char *)aligned - sizeof(void *), sizeof(void *));
	memory_release(memory);
}

#endif
