/* Memory of entries: pieces of 28 sizes up to 1 KiB from chunks, larger ones of their own. */
#include <sys/mman.h>

#include "base/memory.h"
#include "state/internal.h"

#define FINE_STEP 16u /* up to 256 bytes */
#define FINE_CLASSES 16u
#define FINE_MAX ((uint64_t)256)
#define COARSE_STEP 64u /* up to 1 KiB */
#define POOLED_MAX 1024u
#define FIRST_CHUNK 4096u
#define LARGEST_CHUNK ((uint32_t)4 << 20)
#define HUGE_PAGE ((uintptr_t)2 << 20)

struct slab_chunk {
	struct slab_chunk *next;
	void *block;
};

void *
large_allocate(uint64_t size, void **block)
{
	uint64_t alignment = size < HUGE_PAGE ? LINE_SIZE : HUGE_PAGE;
	*block = memory_allocate_zeroed(size + alignment);
	if (*block == NULL)
		return NULL;
	uintptr_t start = ((uintptr_t)*block + alignment - 1) / alignment * alignment;
	if (alignment == HUGE_PAGE) /* without it all works, at a page fault a row */
		madvise((void *)start, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
	return (void *)start;
}

uint64_t
slab_piece_size(uint64_t size)
{
	if (size == 0)
		size = 1;
	if (size <= FINE_MAX)
		return (size + FINE_STEP - 1) / FINE_STEP * FINE_STEP;
	return (size + COARSE_STEP - 1) / COARSE_STEP * COARSE_STEP;
}

static uint32_t
class_of(uint64_t piece)
{
	if (piece <= FINE_MAX)
		return (uint32_t)(piece / FINE_STEP) - 1;
	return FINE_CLASSES + (uint32_t)((piece - FINE_MAX) / COARSE_STEP) - 1;
}

/* A chunk whose pieces start on a cache line. */
static int
add_chunk(struct slab *slab, uint32_t class)
{
	uint32_t size = slab->chunk_size[class] == 0 ? FIRST_CHUNK : slab->chunk_size[class];
	struct slab_chunk *chunk = memory_allocate(sizeof(*chunk));
	char *pieces = chunk == NULL ? NULL : large_allocate(size, &chunk->block);
	if (pieces == NULL) {
		memory_release(chunk);
		return 0;
	}
	chunk->next = slab->chunks;
	slab->chunks = chunk;
	slab->next[class] = pieces;
	slab->end[class] = slab->next[class] + size;
	slab->chunk_size[class] = size < LARGEST_CHUNK ? size * 2 : size;
	return 1;
}

void *
slab_allocate(struct slab *slab, uint64_t size)
{
	uint64_t piece = slab_piece_size(size);
	if (piece > POOLED_MAX) {
		void *memory = memory_allocate(piece);
		if (memory != NULL)
			slab->used += piece;
		return memory;
	}
	uint32_t class = class_of(piece);
	void *memory = slab->free_pieces[class];
	if (memory != NULL) {
		memcpy(&slab->free_pieces[class], memory, sizeof(void *));
	} else {
		if ((uint64_t)(slab->end[class] - slab->next[class]) < piece && !add_chunk(slab, class))
			return NULL;
		memory = slab->next[class];
		slab->next[class] += piece;
	}
	slab->used += piece;
	return memory;
}

void
slab_release(struct slab *slab, void *memory, uint64_t size)
{
	uint64_t piece = slab_piece_size(size);
	slab->used -= piece;
	if (piece > POOLED_MAX) {
		memory_release(memory);
		return;
	}
	uint32_t class = class_of(piece);
	memcpy(memory, &slab->free_pieces[class], sizeof(void *));
	slab->free_pieces[class] = memory;
}

void
slab_destroy(struct slab *slab)
{
	for (struct slab_chunk *chunk = slab->chunks, *next; chunk != NULL; chunk = next) {
		next = chunk->next;
		memory_release(chunk->block);
		memory_release(chunk);
	}
	*slab = (struct slab){ 0 };
}
