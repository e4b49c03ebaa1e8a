#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Fault injection costs one predictable branch; the counter moves only while it is on. */
static atomic_bool injecting;
static atomic_uint_fast64_t made;
static uint64_t fail_at;
static int fail_all;

static int
must_fail(void)
{
	if (!atomic_load_explicit(&injecting, memory_order_relaxed))
		return 0;
	uint64_t n = atomic_fetch_add(&made, 1) + 1;
	return fail_at != 0 && (n == fail_at || (fail_all && n > fail_at));
}

void *
memory_allocate(size_t size)
{
	return size == 0 || must_fail() ? NULL : malloc(size);
}

void *
memory_allocate_zeroed(size_t size)
{
	return size == 0 || must_fail() ? NULL : calloc(1, size);
}

void *
memory_reallocate(void *memory, size_t size)
{
	return size == 0 || must_fail() ? NULL : realloc(memory, size);
}

void
memory_release(void *memory)
{
	free(memory);
}

char *
memory_copy_text(const char *text, size_t size)
{
	char *copy = memory_allocate(size + 1);
	if (copy == NULL)
		return NULL;
	if (size != 0)
		memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

uint64_t
memory_fail_at(uint64_t n, int all)
{
	uint64_t before = atomic_exchange(&made, 0);
	fail_at = n;
	fail_all = all;
	atomic_store(&injecting, n != 0);
	return before;
}
