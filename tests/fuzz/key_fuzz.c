/* Any bytes as a canonical key: read or refused; what is read has these bytes as its key. */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/batch.h"
#include "base/key.h"

static int
has_not_a_number(const flow_value *value)
{
	if (value->type == FLOW_FLOAT64)
		return value->as.float64 != value->as.float64 || value->as.float64 == 0;
	uint64_t count = value->type == FLOW_LIST ? value->as.list->count : value->type == FLOW_RECORD ? value->size : 0;
	const flow_value *parts = value->type == FLOW_LIST ? value->as.list->items : value->as.record;
	for (uint64_t i = 0; i < count; i++)
		if (has_not_a_number(&parts[i]))
			return 1;
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	batch_pool *pool = batch_pool_create(0);
	flow_builder *memory = builder_create(pool, 1, 0);
	char *bytes = malloc(size + 1);
	flow_value value;
	flow_slice again;
	uint64_t used;
	if (size != 0)
		memcpy(bytes, data, size);
	/* Floats are left out: their other zero and other NaNs, which no key has, are read all the same. */
	if (key_decode(flow_slice_make(bytes, size), memory, &value, &used) == FLOW_OK && !has_not_a_number(&value))
		if (key_encode_into(&value, memory, &again) != FLOW_OK || again.size != used ||
			memcmp(again.data, bytes, used) != 0)
			abort();
	free(bytes);
	builder_destroy(memory);
	batch_pool_destroy(pool);
	return 0;
}
