/* Arrays and maps: blocks of items, each block bounded by what the data can hold. */
#include <stdio.h>
#include <stdlib.h>

#include "avro_decode.h"
#include "flow_sdk/text.h"

#define FEW_KEYS 12 /* compared one with another */

/* The next block of items, and room for them behind the `count` that are there. 0 items: the end. */
static flow_status
next_block(avro_decoding *d, const avro_program *items, uint64_t key_bytes, uint64_t *block)
{
	uint64_t bytes, least = items->skip->least + key_bytes;
	flow_status status = avro_read_block(&d->input, least, block, &bytes);
	if (status != FLOW_OK)
		return avro_decode_fail(d, status, d->input.at, d->input.reason);
	if (least == 0) {
		d->empty_items += *block < AVRO_EMPTY_ITEMS ? *block : AVRO_EMPTY_ITEMS + 1;
		if (d->empty_items > AVRO_EMPTY_ITEMS)
			return avro_decode_fail(d, FLOW_E_LIMIT, d->input.at, "more than 65536 items without bytes in one record");
	}
	return FLOW_OK;
}

/* Room for `block` more items of `size` bytes. NULL: out of memory, which is told. */
static void *
grow(avro_decoding *d, const void *items, uint64_t count, uint64_t *capacity, uint64_t block, uint64_t size)
{
	if (*capacity - count >= block)
		return (void *)(uintptr_t)items;
	uint64_t more = count == 0 ? block : (count + block) * 2;
	void *grown = more > UINT64_MAX / size ? NULL : flow_builder_alloc(d->builder, more * size);
	if (grown == NULL) {
		avro_decode_fail(d, FLOW_E_MEMORY, d->input.at, "out of memory");
		return NULL;
	}
	if (count != 0)
		memcpy(grown, items, count * size);
	*capacity = more;
	return grown;
}

static flow_status
fail_item(avro_decoding *d, flow_status status, uint64_t index)
{
	char step[32];
	int size = snprintf(step, sizeof(step), "[%llu]", (unsigned long long)index);
	avro_decode_path(d, step, (uint64_t)size);
	return status;
}

static flow_status
too_deep(avro_decoding *d)
{
	snprintf(d->reason, sizeof(d->reason), "nested deeper than depth_limit (%u)", d->depth_limit);
	return avro_decode_fail(d, FLOW_E_LIMIT, d->input.at, d->reason);
}

flow_status
avro_decode_list(avro_decoding *d, const avro_op *op, flow_value *value)
{
	flow_list *list = (flow_list *)flow_builder_alloc(d->builder, sizeof(*list));
	if (list == NULL)
		return avro_decode_fail(d, FLOW_E_MEMORY, d->input.at, "out of memory");
	if (d->depth == d->depth_limit)
		return too_deep(d);
	d->depth++;
	flow_value *items = NULL;
	uint64_t count = 0, capacity = 0, block;
	for (;;) {
		flow_status status = next_block(d, op->as.program, 0, &block);
		if (status != FLOW_OK || block == 0) {
			*list = (flow_list){ items, count };
			*value = op->cell;
			value->as.list = list;
			d->depth--;
			return status;
		}
		items = (flow_value *)grow(d, items, count, &capacity, block, sizeof(*items));
		if (items == NULL)
			return FLOW_E_MEMORY;
		for (; block != 0; block--, count++) {
			status = avro_decode_program(d, op->as.program->ops, &items[count]);
			if (status != FLOW_OK)
				return fail_item(d, status, count);
		}
	}
}

/* --- maps ---------------------------------------------------------------------------------------------------------------- */

static int
same_key(const flow_value *a, const flow_value *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->as.text, b->as.text, a->size) == 0);
}

static int
by_key(const void *a, const void *b)
{
	const flow_value *x = *(const flow_value *const *)a, *y = *(const flow_value *const *)b;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->size == 0 ? 0 : memcmp(x->as.text, y->as.text, x->size);
}

/* Sorted, since no choice of keys makes that slow. */
static int
same_among_many(avro_decoding *d, const flow_map_entry *entries, uint64_t count)
{
	const flow_value **keys = (const flow_value **)d->input.host->allocate(count * sizeof(*keys));
	if (keys == NULL)
		return -1;
	for (uint64_t i = 0; i < count; i++)
		keys[i] = &entries[i].key;
	qsort(keys, count, sizeof(*keys), by_key);
	int same = 0;
	for (uint64_t i = 1; i < count && !same; i++)
		same = same_key(keys[i - 1], keys[i]);
	d->input.host->release(keys);
	return same;
}

/* 1: two keys are equal; -1: out of memory. */
static int
has_same_keys(avro_decoding *d, const flow_map_entry *entries, uint64_t count)
{
	if (count > FEW_KEYS)
		return same_among_many(d, entries, count);
	for (uint64_t i = 1; i < count; i++)
		for (uint64_t k = 0; k < i; k++)
			if (same_key(&entries[i].key, &entries[k].key))
				return 1;
	return 0;
}

static flow_status
decode_entry(avro_decoding *d, const avro_op *op, flow_map_entry *entry)
{
	flow_slice key;
	flow_status status = avro_decode_run(d, &key);
	if (status != FLOW_OK)
		return status;
	if (!avro_is_ascii(key.data, key.size)) {
		uint64_t valid = flow_utf8_check(key.data, key.size);
		if (valid != key.size)
			return avro_decode_fail(d, FLOW_E_DECODE, key.data + valid, "a key that is not valid UTF-8");
	}
	entry->key = flow_string(key.data, (uint32_t)key.size);
	status = avro_decode_program(d, op->as.program->ops, &entry->value);
	if (status != FLOW_OK) {
		char step[80];
		int size = snprintf(step, sizeof(step), "{%.*s}", (int)(key.size > 64 ? 64 : key.size), key.data);
		avro_decode_path(d, step, (uint64_t)size);
	}
	return status;
}

flow_status
avro_decode_map(avro_decoding *d, const avro_op *op, flow_value *value)
{
	flow_map *map = (flow_map *)flow_builder_alloc(d->builder, sizeof(*map));
	if (map == NULL)
		return avro_decode_fail(d, FLOW_E_MEMORY, d->input.at, "out of memory");
	if (d->depth == d->depth_limit)
		return too_deep(d);
	d->depth++;
	flow_map_entry *entries = NULL;
	uint64_t count = 0, capacity = 0, block;
	for (;;) {
		flow_status status = next_block(d, op->as.program, 1, &block);
		if (status != FLOW_OK)
			return status;
		if (block == 0)
			break;
		entries = (flow_map_entry *)grow(d, entries, count, &capacity, block, sizeof(*entries));
		if (entries == NULL)
			return FLOW_E_MEMORY;
		for (; block != 0; block--, count++) {
			status = decode_entry(d, op, &entries[count]);
			if (status != FLOW_OK)
				return status;
		}
	}
	d->depth--;
	int same = has_same_keys(d, entries, count);
	if (same != 0)
		return avro_decode_fail(d, same < 0 ? FLOW_E_MEMORY : FLOW_E_DECODE, d->input.at,
								same < 0 ? "out of memory" : "a map with the same key twice");
	*map = (flow_map){ entries, count };
	*value = op->cell;
	value->as.map = map;
	return FLOW_OK;
}
