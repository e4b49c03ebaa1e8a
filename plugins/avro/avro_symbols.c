/* Names of enums -> their indexes: open addressing, twice as many slots as names. */
#include "avro.h"

struct avro_symbols {
	const flow_slice *names;
	uint32_t mask;
	uint32_t slots[]; /* index + 1; 0: free */
};

static uint32_t
hash_of(const char *text, uint32_t size)
{
	uint32_t hash = 2166136261u;
	for (uint32_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return hash ^ hash >> 15;
}

const avro_symbols *
avro_symbols_create(avro_memory *memory, const flow_slice *symbols, uint32_t count)
{
	uint32_t size = 4;
	while (size < count * 2)
		size *= 2;
	avro_symbols *table = (avro_symbols *)avro_allocate(memory, sizeof(*table) + (uint64_t)size * sizeof(uint32_t));
	if (table == NULL)
		return NULL;
	table->names = symbols;
	table->mask = size - 1;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = hash_of(symbols[i].data, (uint32_t)symbols[i].size) & table->mask;
		while (table->slots[at] != 0)
			at = (at + 1) & table->mask;
		table->slots[at] = i + 1;
	}
	return table;
}

int32_t
avro_symbols_find(const avro_symbols *table, const char *text, uint32_t size)
{
	for (uint32_t at = hash_of(text, size) & table->mask; table->slots[at] != 0; at = (at + 1) & table->mask) {
		flow_slice name = table->names[table->slots[at] - 1];
		if (name.size == size && (size == 0 || memcmp(name.data, text, size) == 0))
			return (int32_t)table->slots[at] - 1;
	}
	return -1;
}
