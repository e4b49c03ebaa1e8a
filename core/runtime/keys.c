/* Key columns, and the set of keys that a keyed function's output may have. */
#include <string.h>

#include "base/key.h"
#include "base/memory.h"
#include "runtime/keys.h"
#include "runtime/run.h"

flow_status
batch_key_columns(flow_batch *batch, flow_builder *memory)
{
	uint64_t *hash = NULL;
	flow_slice *bytes = NULL;
	flow_status status = key_columns(batch, memory, &hash, &bytes);
	if (status == FLOW_OK)
		status = batch_set_key_columns(batch, memory, hash, bytes);
	return status;
}

static void
insert(key_set *set, uint64_t hash)
{
	hash |= hash == 0;
	for (uint32_t i = (uint32_t)hash & set->mask;; i = (i + 1) & set->mask) {
		if (set->slots[i] == hash)
			return;
		if (set->slots[i] == 0) {
			set->slots[i] = hash;
			return;
		}
	}
}

flow_status
key_set_fill(key_set *set, const flow_batch *batch)
{
	uint32_t size = 16;
	while (size < batch->selected_count * 2)
		size *= 2;
	if (set->slots == NULL || size > set->mask + 1) {
		uint64_t *slots = memory_reallocate(set->slots, size * sizeof(*slots));
		if (slots == NULL)
			return FLOW_E_MEMORY;
		set->slots = slots;
		set->mask = size - 1;
	}
	memset(set->slots, 0, (set->mask + 1) * sizeof(*set->slots));
	for (FLOW_ROWS(batch, i))
		insert(set, batch->key_hash[flow_row(batch, i)]);
	return FLOW_OK;
}

int
key_set_has(const key_set *set, uint64_t hash)
{
	hash |= hash == 0;
	for (uint32_t i = (uint32_t)hash & set->mask; set->slots != NULL; i = (i + 1) & set->mask) {
		if (set->slots[i] == hash)
			return 1;
		if (set->slots[i] == 0)
			return 0;
	}
	return 0;
}

void
key_set_clear(key_set *set)
{
	memory_release(set->slots);
	set->slots = NULL;
	set->mask = 0;
}
