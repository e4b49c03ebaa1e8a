/*
 * base/memory.h - where all memory of the host comes from, so that tests can make the n-th allocation fail.
 *
 * Threads: all functions may be called by any thread; memory_fail_at only while nothing else allocates.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

void *memory_allocate(size_t size);                    /* NULL for size 0 or when there is none */
void *memory_allocate_zeroed(size_t size);             /* likewise */
void *memory_reallocate(void *memory, size_t size);    /* NULL: as it was, still owned by the caller */
void memory_release(void *memory);                     /* NULL is allowed */
char *memory_copy_text(const char *text, size_t size); /* NUL-terminated copy */

/* Tests: the n-th allocation from now on fails (1 = the next one), and all after it if `all`; 0 = none. Returns how many
 * allocations were made since the last call. */
uint64_t memory_fail_at(uint64_t n, int all);

#endif
