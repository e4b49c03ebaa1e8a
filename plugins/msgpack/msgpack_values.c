/* Whole objects into cells: lists, maps and records, by the declared type or as they come. */
#include <stdio.h>

#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"
#include "msgpack_serde.h"
#include "msgpack_wire.h"

static const char *const item_names[] = { "nil",   "a bool", "an integer",   "an integer", "a float",
										  "a str", "a bin",  "an extension", "an array",   "a map" };

/* --- faults ---------------------------------------------------------------------------------------------------------- */

static flow_status
fault(pack_decoding *d, flow_status status, const char *at, const char *reason)
{
	d->fault_offset = (uint64_t)(at - d->start);
	snprintf(d->reason, sizeof(d->reason), "%s", reason);
	return status;
}

static flow_status
item_fault(pack_decoding *d, flow_status status, const char *at, const pack_node *node, const pack_item *item)
{
	char type[96];
	flow_type_text(d->host, node->schema, type, sizeof(type));
	d->fault_offset = (uint64_t)(at - d->start);
	if (status == FLOW_E_UNSUPPORTED)
		snprintf(d->reason, sizeof(d->reason),
				 "an extension of type %d, which has no meaning here (option extensions says what to do)", item->ext);
	else if (status == FLOW_E_DECODE && node->kind == FLOW_KIND_STRING)
		snprintf(d->reason, sizeof(d->reason), "a str that is not UTF-8");
	else if (status == FLOW_E_DECODE && node->kind == FLOW_KIND_ANY)
		snprintf(d->reason, sizeof(d->reason), "%s that is %s", item_names[item->type],
				 item->type == PACK_STR ? "not UTF-8; declare bytes for it" : "no timestamp");
	else
		snprintf(d->reason, sizeof(d->reason), "%s %s %s", item_names[item->type],
				 status == FLOW_E_TYPE    ? "where there should be"
				 : status == FLOW_E_RANGE ? "that does not fit exactly into"
										  : "that is no",
				 type);
	return status;
}

/* Puts "/name" before the path of a fault. */
static flow_status
inside(pack_decoding *d, flow_status status, flow_slice name)
{
	if (status != FLOW_AGAIN && status != FLOW_E_MEMORY)
		flow_pointer_before(&d->path, name);
	return status;
}

static flow_status
inside_item(pack_decoding *d, flow_status status, uint64_t index)
{
	if (status != FLOW_AGAIN && status != FLOW_E_MEMORY)
		flow_pointer_before_index(&d->path, index);
	return status;
}

/* --- values ---------------------------------------------------------------------------------------------------------- */

static flow_status decode_value(pack_decoding *d, const pack_node *node, uint32_t depth, flow_value *value);

static flow_status
skip_value(pack_decoding *d)
{
	pack_skip skip = { 1, 0 };
	uint64_t size = (uint64_t)(d->end - d->at);
	flow_status status = pack_skip_object(&skip, d->at, &size);
	d->at += size;
	return status == FLOW_E_DECODE ? fault(d, status, d->at, "the byte C1, which MessagePack does not use") : status;
}

/* The items of a list. There is at least a byte for each of them, or nothing is allocated. */
static flow_status
decode_list(pack_decoding *d, const pack_node *node, uint32_t count, uint32_t depth, flow_value *value)
{
	if (count > (uint64_t)(d->end - d->at))
		return FLOW_AGAIN;
	flow_list *list = (flow_list *)flow_builder_alloc(d->builder, sizeof(*list));
	flow_value *items = flow_builder_cells(d->builder, count == 0 ? 1 : count);
	if (list == NULL || items == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		flow_status status = decode_value(d, node->element, depth + 1, &items[i]);
		if (__builtin_expect(status != FLOW_OK, 0))
			return inside_item(d, status, i);
	}
	*list = (flow_list){ items, count };
	*value = flow_cell(FLOW_LIST, 0);
	value->as.list = list;
	return FLOW_OK;
}

/* The key at `at` of a map: texts only. */
static flow_status
decode_key(pack_decoding *d, pack_item *key)
{
	const char *at = d->at;
	flow_status status = pack_read(&d->at, d->end, key);
	if (status == FLOW_E_DECODE)
		return fault(d, status, at, "the byte C1, which MessagePack does not use");
	if (status != FLOW_OK)
		return status;
	if (key->type != PACK_STR)
		return fault(d, FLOW_E_TYPE, at, "a key of a map that is no str");
	if (key->size > (uint64_t)(d->end - d->at))
		return FLOW_AGAIN;
	if (flow_utf8_check(key->as.body, key->size) != key->size)
		return fault(d, FLOW_E_DECODE, at, "a key of a map that is not UTF-8");
	d->at += key->size;
	return FLOW_OK;
}

static flow_status
refuse_same_key(pack_decoding *d, const flow_map_entry *entries, uint64_t count)
{
	int64_t same = flow_same_key(entries, count, d->builder);
	if (same == FLOW_NO_SAME_KEY)
		return FLOW_OK;
	if (same < 0)
		return FLOW_E_MEMORY;
	const flow_value *key = &entries[same].key;
	return inside(d, fault(d, FLOW_E_DECODE, key->as.text, "the same key twice in a map"), flow_value_slice(key));
}

static flow_status
decode_map(pack_decoding *d, const pack_node *node, uint32_t count, uint32_t depth, flow_value *value)
{
	if (2 * (uint64_t)count > (uint64_t)(d->end - d->at))
		return FLOW_AGAIN;
	flow_map *map = (flow_map *)flow_builder_alloc(d->builder, sizeof(*map));
	flow_map_entry *entries =
		(flow_map_entry *)flow_builder_alloc(d->builder, (uint64_t)(count == 0 ? 1 : count) * sizeof(*entries));
	if (map == NULL || entries == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		pack_item key;
		flow_status status = decode_key(d, &key);
		if (status != FLOW_OK)
			return status;
		entries[i].key = flow_string(key.as.body, key.size);
		status = decode_value(d, node->element, depth + 1, &entries[i].value);
		if (__builtin_expect(status != FLOW_OK, 0))
			return inside(d, status, flow_slice_make(key.as.body, key.size));
	}
	*map = (flow_map){ entries, count };
	*value = flow_cell(FLOW_MAP, 0);
	value->as.map = map;
	return refuse_same_key(d, entries, count);
}

/* --- records ----------------------------------------------------------------------------------------------------------- */

#define NOT_THERE 255 /* type of a cell whose field has not come yet */

static flow_status
decode_field(pack_decoding *d, const pack_field *field, const uint8_t *wanted, uint32_t depth, flow_value *cells)
{
	flow_status status;
	if (wanted != NULL && !wanted[field->index]) {
		cells[field->index] = flow_null();
		status = skip_value(d);
	} else {
		status = decode_value(d, field->node, depth + 1, &cells[field->index]);
	}
	return __builtin_expect(status != FLOW_OK, 0) ? inside(d, status, field->name) : status;
}

static flow_status
fill_missing(pack_decoding *d, const pack_node *node, const char *at, flow_value *cells)
{
	for (uint32_t i = 0; i < node->field_count; i++) {
		const pack_field *field = &node->fields[i];
		if (__builtin_expect(cells[i].type != NOT_THERE, 1))
			continue;
		if (field->required)
			return inside(d, fault(d, FLOW_E_DECODE, at, "a field that is needed is not there"), field->name);
		cells[i] = field->default_value != NULL ? *field->default_value : flow_null();
	}
	return FLOW_OK;
}

/* A key that is not declared: its value is checked for its form. Kept, to see whether it comes again. */
static flow_status
pass_extra(pack_decoding *d, const pack_item *key, const char *at)
{
	if (d->format->extra_is_error)
		return inside(d,
					  fault(d, FLOW_E_DECODE, at, "a field that is not declared (extra = \"ignore\" passes over it)"),
					  flow_slice_make(key->as.body, key->size));
	if (d->extra_count >= d->extra_capacity) {
		uint64_t capacity = d->extra_capacity == 0 ? 64 : 2 * d->extra_capacity;
		flow_map_entry *grown = (flow_map_entry *)d->host->reallocate(d->extras, capacity * sizeof(*grown));
		if (grown == NULL)
			return FLOW_E_MEMORY;
		d->extras = grown;
		d->extra_capacity = capacity;
	}
	d->extras[d->extra_count++].key = flow_string(key->as.body, key->size);
	flow_status status = skip_value(d);
	return status == FLOW_OK ? status : inside(d, status, flow_slice_make(key->as.body, key->size));
}

/* Pairs whose key is not the next field's: another field, or none. */
static flow_status
decode_other_pair(pack_decoding *d, const pack_node *node, const uint8_t *wanted, uint32_t depth, flow_value *cells,
				  uint32_t *next)
{
	const char *at = d->at;
	pack_item key;
	flow_status status = decode_key(d, &key);
	if (status != FLOW_OK)
		return status;
	int32_t index = flow_field_index_find(node->index, flow_slice_make(key.as.body, key.size));
	if (index < 0)
		return pass_extra(d, &key, at);
	const pack_field *field = &node->fields[index];
	if (cells[field->index].type != NOT_THERE)
		return inside(d, fault(d, FLOW_E_DECODE, at, "the same key twice in a map"), field->name);
	*next = field->index + 1;
	return decode_field(d, field, wanted, depth, cells);
}

static flow_status
decode_pairs(pack_decoding *d, const pack_node *node, const uint8_t *wanted, uint32_t count, uint32_t depth,
			 flow_value *cells)
{
	const char *start = d->at;
	uint64_t extras = d->extra_count; /* those behind are of this record */
	uint32_t next = 0, others = 0;
	for (uint32_t i = 0; i < count; i++) {
		const pack_field *field = &node->fields[next];
		flow_status status;
		if (__builtin_expect(next < node->field_count && (uint64_t)(d->end - d->at) >= field->key.size &&
								 memcmp(d->at, field->key.data, field->key.size) == 0 && cells[next].type == NOT_THERE,
							 1)) {
			d->at += field->key.size;
			next++;
			status = decode_field(d, field, wanted, depth, cells);
		} else {
			status = decode_other_pair(d, node, wanted, depth, cells, &next);
			others = 1;
		}
		if (__builtin_expect(status != FLOW_OK, 0))
			return status;
	}
	if (d->extra_count != extras) {
		flow_status status = refuse_same_key(d, d->extras + extras, d->extra_count - extras);
		if (status != FLOW_OK)
			return status;
		d->extra_count = extras;
	}
	return others || next < node->field_count ? fill_missing(d, node, start, cells) : FLOW_OK;
}

static flow_status
decode_positions(pack_decoding *d, const pack_node *node, const uint8_t *wanted, uint32_t count, uint32_t depth,
				 flow_value *cells)
{
	const char *start = d->at;
	for (uint32_t i = 0; i < count; i++) {
		flow_status status;
		if (i < node->field_count)
			status = decode_field(d, &node->fields[i], wanted, depth, cells);
		else if (d->format->extra_is_error)
			status = fault(d, FLOW_E_DECODE, d->at, "more items than there are fields");
		else
			status = skip_value(d);
		if (status != FLOW_OK)
			return status;
	}
	return fill_missing(d, node, start, cells);
}

static flow_status
decode_record(pack_decoding *d, const pack_node *node, const uint8_t *wanted, const pack_item *item, uint32_t depth,
			  flow_value *value)
{
	uint64_t least = item->type == PACK_MAP ? 2 * (uint64_t)item->size : item->size;
	if (least > (uint64_t)(d->end - d->at))
		return FLOW_AGAIN;
	flow_value *cells = flow_builder_cells(d->builder, node->field_count == 0 ? 1 : node->field_count);
	if (cells == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < node->field_count; i++)
		cells[i].type = NOT_THERE;
	flow_status status = item->type == PACK_MAP ? decode_pairs(d, node, wanted, item->size, depth, cells)
												: decode_positions(d, node, wanted, item->size, depth, cells);
	*value = flow_record(cells, node->field_count);
	return status;
}

/* --- what stands where ------------------------------------------------------------------------------------------------- */

static int
takes_nested(const pack_decoding *d, const pack_node *node, const pack_item *item)
{
	if (node->kind == FLOW_KIND_ANY)
		return 1;
	if (node->kind == FLOW_KIND_RECORD)
		return item->type == (d->format->records_as_array ? PACK_ARRAY : PACK_MAP);
	return node->kind == (item->type == PACK_ARRAY ? FLOW_KIND_LIST : FLOW_KIND_MAP);
}

static flow_status
decode_nested(pack_decoding *d, const pack_node *node, const pack_item *item, const char *at, uint32_t depth,
			  flow_value *value)
{
	if (depth >= d->format->depth_limit)
		return fault(d, FLOW_E_LIMIT, at, "nested deeper than depth_limit");
	if (!takes_nested(d, node, item))
		return item_fault(d, FLOW_E_TYPE, at, node, item);
	if (node->kind == FLOW_KIND_RECORD)
		return decode_record(d, node, NULL, item, depth, value);
	return item->type == PACK_ARRAY ? decode_list(d, node, item->size, depth, value)
									: decode_map(d, node, item->size, depth, value);
}

static flow_status
decode_scalar(pack_decoding *d, const pack_node *node, const pack_item *item, const char *at, flow_value *value)
{
	uint64_t size = pack_body_size(item);
	if (size > (uint64_t)(d->end - d->at))
		return FLOW_AGAIN;
	d->at += size;
	flow_status status = pack_take(d->format, node, item, d->builder, value);
	if (__builtin_expect(status == FLOW_OK, 1) || status == FLOW_E_MEMORY)
		return status;
	return item_fault(d, status, at, node, item);
}

static flow_status
decode_item(pack_decoding *d, const pack_node *node, const pack_item *item, const char *at, uint32_t depth,
			flow_value *value)
{
	return item->type >= PACK_ARRAY ? decode_nested(d, node, item, at, depth, value)
									: decode_scalar(d, node, item, at, value);
}

/* The first branch that takes the item; those whose natural form it is come first. */
static flow_status
decode_union(pack_decoding *d, const pack_node *node, const pack_item *item, const char *at, uint32_t depth,
			 flow_value *value)
{
	const char *behind = d->at;
	int nested = item->type >= PACK_ARRAY;
	flow_status first = FLOW_OK;
	for (int pass = 0; pass < 2 - nested; pass++)
		for (uint32_t i = 0; i < node->branch_count; i++) {
			const pack_node *branch = node->branches[i];
			if (nested ? !takes_nested(d, branch, item) : pack_is_native(branch, item) != (pass == 0))
				continue;
			if (d->waste > PACK_WASTE_TIMES * (uint64_t)(d->end - d->start) + PACK_WASTE_MORE)
				return fault(d, FLOW_E_LIMIT, at, "unions within unions: too many branches that do not fit");
			d->at = behind;
			uint32_t path_at = d->path.at;
			flow_status status = decode_item(d, branch, item, at, depth, value);
			if (status == FLOW_OK)
				value->branch = (uint8_t)i;
			if (status == FLOW_OK || status == FLOW_AGAIN || status == FLOW_E_MEMORY || status == FLOW_E_LIMIT)
				return status;
			first = first == FLOW_OK ? status : first;
			d->path.at = path_at;
			d->waste += (uint64_t)(d->at - behind);
		}
	return item_fault(d, first == FLOW_OK ? FLOW_E_TYPE : first, at, node, item);
}

static flow_status
decode_value(pack_decoding *d, const pack_node *node, uint32_t depth, flow_value *value)
{
	const char *at = d->at;
	pack_item item = { 0 };
	flow_status status = pack_read(&d->at, d->end, &item);
	if (__builtin_expect(status != FLOW_OK, 0))
		return status == FLOW_AGAIN ? status : fault(d, status, at, "the byte C1, which MessagePack does not use");
	if (item.type == PACK_NIL) {
		*value = flow_null();
		return node->nullable ? FLOW_OK : item_fault(d, FLOW_E_TYPE, at, node, &item);
	}
	if (__builtin_expect(node->kind == FLOW_KIND_UNION, 0))
		return decode_union(d, node, &item, at, depth, value);
	return decode_item(d, node, &item, at, depth, value);
}

flow_status
pack_decode_object(pack_decoding *d, const pack_node *node, flow_value *value)
{
	d->at = d->start;
	d->waste = 0;
	d->extra_count = 0;
	flow_pointer_reset(&d->path);
	if (node->kind != FLOW_KIND_RECORD)
		return decode_value(d, node, 0, value);
	pack_item item = { 0 }; /* the record itself: the only one with fields that nobody wants */
	flow_status status = pack_read(&d->at, d->end, &item);
	if (status == FLOW_AGAIN)
		return status;
	if (status == FLOW_E_DECODE)
		return fault(d, status, d->start, "the byte C1, which MessagePack does not use");
	if (item.type < PACK_ARRAY || !takes_nested(d, node, &item)) {
		*value = flow_null();
		return item.type == PACK_NIL && node->nullable ? FLOW_OK : item_fault(d, FLOW_E_TYPE, d->start, node, &item);
	}
	return decode_record(d, node, d->wanted, &item, 0, value);
}
