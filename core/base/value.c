#include "base/value.h"

#include <string.h>

static flow_status
copy_cells(flow_builder *memory, const flow_value *from, uint64_t count, const flow_value **to)
{
	flow_value *cells = flow_builder_alloc(memory, count * sizeof(flow_value));
	if (cells == NULL)
		return FLOW_E_MEMORY;
	*to = cells;
	for (uint64_t i = 0; i < count; i++) {
		flow_status status = value_copy(memory, &from[i], &cells[i]);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

static flow_status
copy_map(flow_builder *memory, const flow_map *from, flow_value *to)
{
	flow_map *map = flow_builder_alloc(memory, sizeof(*map));
	flow_map_entry *entries = flow_builder_alloc(memory, from->count * sizeof(*entries) + 1);
	if (map == NULL || entries == NULL)
		return FLOW_E_MEMORY;
	map->entries = entries;
	map->count = from->count;
	for (uint64_t i = 0; i < from->count; i++) {
		flow_status status = value_copy(memory, &from->entries[i].key, &entries[i].key);
		if (status == FLOW_OK)
			status = value_copy(memory, &from->entries[i].value, &entries[i].value);
		if (status != FLOW_OK)
			return status;
	}
	to->as.map = map;
	return FLOW_OK;
}

flow_status
value_copy(flow_builder *memory, const flow_value *from, flow_value *to)
{
	*to = *from;
	switch (from->type) {
	case FLOW_STRING:
	case FLOW_BYTES:
	case FLOW_UUID:
		to->as.text = flow_builder_copy(memory, from->as.text, from->size);
		return to->as.text == NULL ? FLOW_E_MEMORY : FLOW_OK;
	case FLOW_DECIMAL: {
		flow_decimal *decimal = flow_builder_alloc(memory, sizeof(*decimal));
		if (decimal == NULL)
			return FLOW_E_MEMORY;
		*decimal = *from->as.decimal;
		decimal->digits = flow_builder_copy(memory, from->as.decimal->digits, from->as.decimal->count);
		to->as.decimal = decimal;
		return decimal->digits == NULL ? FLOW_E_MEMORY : FLOW_OK;
	}
	case FLOW_LIST: {
		flow_list *list = flow_builder_alloc(memory, sizeof(*list));
		if (list == NULL)
			return FLOW_E_MEMORY;
		list->count = from->as.list->count;
		to->as.list = list;
		return copy_cells(memory, from->as.list->items, list->count, &list->items);
	}
	case FLOW_MAP:
		return copy_map(memory, from->as.map, to);
	case FLOW_RECORD:
		return copy_cells(memory, from->as.record, from->size, &to->as.record);
	default:
		return FLOW_OK;
	}
}

static int
cells_equal(const flow_value *a, const flow_value *b, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		if (!value_equal(&a[i], &b[i]))
			return 0;
	return 1;
}

int
value_equal(const flow_value *a, const flow_value *b)
{
	if (a->type != b->type)
		return 0;
	switch (a->type) {
	case FLOW_NULL:
		return 1;
	case FLOW_STRING:
	case FLOW_BYTES:
	case FLOW_UUID:
		return flow_slice_equal(flow_value_slice(a), flow_value_slice(b));
	case FLOW_DECIMAL: {
		const flow_decimal *x = a->as.decimal, *y = b->as.decimal;
		return x->negative == y->negative && x->scale == y->scale && x->count == y->count &&
			   memcmp(x->digits, y->digits, x->count) == 0;
	}
	case FLOW_LIST:
		return a->as.list->count == b->as.list->count &&
			   cells_equal(a->as.list->items, b->as.list->items, a->as.list->count);
	case FLOW_MAP: {
		const flow_map *x = a->as.map, *y = b->as.map;
		if (x->count != y->count)
			return 0;
		for (uint64_t i = 0; i < x->count; i++)
			if (!value_equal(&x->entries[i].key, &y->entries[i].key) ||
				!value_equal(&x->entries[i].value, &y->entries[i].value))
				return 0;
		return 1;
	}
	case FLOW_RECORD:
		return a->size == b->size && cells_equal(a->as.record, b->as.record, a->size);
	case FLOW_TIME:
	case FLOW_TIMESTAMP:
		return a->unit == b->unit && a->flags == b->flags && a->as.int64 == b->as.int64;
	case FLOW_FLOAT64: /* NaN equals NaN; zeros differ by sign */
		return a->as.int64 == b->as.int64 || (a->as.float64 != a->as.float64 && b->as.float64 != b->as.float64);
	default:
		return a->as.int64 == b->as.int64;
	}
}
