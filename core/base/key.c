/* Hashes, key groups, key columns, and the service flow.keys/1 (base/key.h). */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/key.h"

#include "base/error.h"

uint64_t
key_hash(flow_slice canonical)
{
	return XXH3_64bits(canonical.data, canonical.size);
}

uint32_t
key_group_of_hash32(int32_t hash, uint32_t groups)
{
	/* Murmur3, 32 bits, of one little-endian word, seed 0. */
	uint32_t h = (uint32_t)hash * 0xCC9E2D51u;
	h = (h << 15 | h >> 17) * 0x1B873593u;
	h = (h << 13 | h >> 19) * 5 + 0xE6546B64u;
	h ^= 4;
	h = (h ^ h >> 16) * 0x85EBCA6Bu;
	h = (h ^ h >> 13) * 0xC2B2AE35u;
	h ^= h >> 16;
	uint32_t mixed = h < 0x80000000u ? h : h == 0x80000000u ? 0 : 0 - h; /* the absolute value as a signed number */
	return mixed % groups;
}

uint32_t
key_group(uint64_t hash, uint32_t groups)
{
	return key_group_of_hash32((int32_t)(uint32_t)hash, groups);
}

uint32_t
key_task(uint32_t group, uint32_t tasks, uint32_t groups)
{
	return (uint32_t)((uint64_t)group * tasks / groups);
}

void
key_task_groups(uint32_t task, uint32_t tasks, uint32_t groups, uint32_t *first, uint32_t *last)
{
	*first = (uint32_t)(((uint64_t)task * groups + tasks - 1) / tasks);
	*last = (uint32_t)((((uint64_t)task + 1) * groups - 1) / tasks);
}

flow_status
key_columns(const flow_batch *batch, flow_builder *memory, uint64_t **hash, flow_slice **bytes)
{
	uint64_t *hashes = flow_builder_alloc(memory, (uint64_t)batch->row_count * sizeof(*hashes) + 1);
	flow_slice *slices = flow_builder_alloc(memory, (uint64_t)batch->row_count * sizeof(*slices) + 1);
	if (hashes == NULL || slices == NULL)
		return FLOW_E_MEMORY;
	flow_status status = key_encode_rows(batch, memory, slices);
	if (status != FLOW_OK)
		return status;
	/* Only now: a word that is read right behind the stores of its parts waits for them. */
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		hashes[row] = slices[row].data == NULL ? 0 : key_hash(slices[row]);
	}
	*hash = hashes;
	*bytes = slices;
	return FLOW_OK;
}

static flow_status
encode(const flow_value *key, flow_builder *memory, flow_slice *bytes, flow_error *error)
{
	if (key->type == FLOW_NULL)
		return error_set(error, FLOW_E_NULL_KEY, "the key is null");
	flow_status status = key_encode_into(key, memory, bytes);
	if (status == FLOW_E_TYPE)
		error_set(error, status, "a map has no key form");
	else if (status == FLOW_E_LIMIT)
		error_set(error, status, "the key is nested too deeply");
	else if (status != FLOW_OK)
		error_set(error, status, "key: %s", status_text(status));
	return status;
}

const flow_keys keys_service = {
	.struct_size = FLOW_SIZEOF(flow_keys),
	.encode = encode,
	.hash = key_hash,
};
