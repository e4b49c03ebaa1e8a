/* Memory of plans: allocated piece by piece, given back at once. */
#include "avro.h"

#define CHUNK_SIZE ((uint64_t)4000)

struct avro_chunk {
	struct avro_chunk *next;
};

void *
avro_allocate(avro_memory *memory, uint64_t size)
{
	size = size == 0 ? 8 : (size + 7) & ~(uint64_t)7;
	if ((uint64_t)(memory->end - memory->next) < size) {
		uint64_t whole = (size > CHUNK_SIZE ? size : CHUNK_SIZE) + sizeof(struct avro_chunk);
		struct avro_chunk *chunk = (struct avro_chunk *)memory->host->allocate(whole);
		if (chunk == NULL)
			return NULL;
		chunk->next = memory->chunks;
		memory->chunks = chunk;
		memory->next = (char *)(chunk + 1);
		memory->end = (char *)chunk + whole;
	}
	void *piece = memory->next;
	memory->next += size;
	return memset(piece, 0, size);
}

void
avro_memory_release(avro_memory *memory)
{
	while (memory->chunks != NULL) {
		struct avro_chunk *chunk = memory->chunks;
		memory->chunks = chunk->next;
		memory->host->release(chunk);
	}
	memory->next = memory->end = NULL;
}
