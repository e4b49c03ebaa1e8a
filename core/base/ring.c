#include "base/ring.h"

#include <string.h>

#include "base/memory.h"

int
ring_create(ring *r, uint32_t capacity)
{
	uint32_t size = 1;
	while (size < capacity && size < (1u << 30))
		size *= 2;
	memset(r, 0, sizeof(*r));
	r->mask = size - 1;
	r->slots = memory_allocate(size * sizeof(*r->slots));
	return r->slots != NULL;
}

void
ring_destroy(ring *r)
{
	memory_release(r->slots);
	r->slots = NULL;
}
