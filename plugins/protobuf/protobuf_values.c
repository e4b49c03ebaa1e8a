/* Messages that libprotobuf parsed into cells. */
#include <stdarg.h>

#include "flow_sdk/map.h"
#include "flow_sdk/number.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"
#include "protobuf_serde.h"

static flow_status __attribute__((format(printf, 3, 4)))
refuse(proto_decoding *d, flow_status status, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start stands above */
	vsnprintf(d->reason, sizeof(d->reason), format, arguments);
	va_end(arguments);
	return status;
}

static flow_status take_fields(proto_decoding *d, const proto_node *node, const uint8_t *wanted,
							   const proto_message *message, flow_value *value);

/* --- single values ------------------------------------------------------------------------------------------------------- */

static flow_status
take_text(proto_decoding *d, const proto_slot *slot, proto_text text, flow_value *value)
{
	if (slot->value.kind == PROTO_STRING && flow_utf8_check(text.data, text.size) != text.size)
		return refuse(d, FLOW_E_DECODE, "a string that is not UTF-8");
	const char *copy = flow_builder_copy(d->builder, text.data, text.size);
	*value = slot->value.kind == PROTO_STRING ? flow_string(copy, (uint32_t)text.size)
											  : flow_bytes(copy, (uint32_t)text.size);
	return copy == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

static flow_status
take_symbol(proto_decoding *d, const proto_slot *slot, int64_t number, flow_value *value)
{
	if (d->serde->format.enums_as_numbers) {
		*value = flow_int64(number);
		return FLOW_OK;
	}
	int64_t symbol = proto_symbol_of(slot, number);
	if (symbol < 0)
		return refuse(d, FLOW_E_RANGE, "the enum has no symbol for %lld; enums = \"number\" reads numbers",
					  (long long)number);
	*value = flow_string(slot->symbols[symbol].data, (uint32_t)slot->symbols[symbol].size);
	return FLOW_OK;
}

static flow_status
take_timestamp(proto_decoding *d, const proto_node *node, const proto_message *message, flow_value *value)
{
	static const int64_t sizes[] = { 1000000000, 0, 0, 1000000, 0, 0, 1000, 0, 0, 1 }; /* of a part, in nanoseconds */
	uint8_t unit = d->serde->format.timestamp_unit;
	proto_value seconds, nanoseconds;
	if (proto_get(message, &node->seconds, -1, &seconds) != PROTO_OK ||
		proto_get(message, &node->nanoseconds, -1, &nanoseconds) != PROTO_OK)
		return FLOW_E_MEMORY;
	if (nanoseconds.int64 < 0 || nanoseconds.int64 > 999999999)
		return refuse(d, FLOW_E_DECODE, "a timestamp with %lld nanoseconds", (long long)nanoseconds.int64);
	__int128 number = (__int128)seconds.int64 * (1000000000 / sizes[unit]) + nanoseconds.int64 / sizes[unit];
	if (nanoseconds.int64 % sizes[unit] != 0 || number < INT64_MIN || number > INT64_MAX)
		return refuse(d, FLOW_E_RANGE, "a timestamp that its unit does not hold exactly (option timestamps)");
	*value = flow_timestamp((int64_t)number, unit, FLOW_ZONED);
	return FLOW_OK;
}

static flow_status
take_value(proto_decoding *d, const proto_slot *slot, const proto_value *from, flow_value *value)
{
	switch (slot->value.kind) {
	case PROTO_BOOL:
		*value = flow_bool(from->int64 != 0);
		return FLOW_OK;
	case PROTO_INT32:
	case PROTO_INT64:
		*value = flow_int64(from->int64);
		return FLOW_OK;
	case PROTO_UINT32:
		*value = flow_int64((int64_t)from->uint64);
		return FLOW_OK;
	case PROTO_UINT64:
		*value = flow_uint64(from->uint64);
		return FLOW_OK;
	case PROTO_FLOAT:
	case PROTO_DOUBLE:
		*value = flow_float64(from->number);
		return FLOW_OK;
	case PROTO_ENUM:
		return take_symbol(d, slot, from->int64, value);
	case PROTO_MESSAGE:
		if (slot->node->is_timestamp)
			return take_timestamp(d, slot->node, from->message, value);
		return take_fields(d, slot->node, NULL, from->message, value);
	default:
		return take_text(d, slot, from->text, value);
	}
}

/* --- repeated fields and maps -------------------------------------------------------------------------------------------- */

static flow_status
take_list(proto_decoding *d, const proto_slot *slot, const proto_message *message, flow_value *value)
{
	uint64_t count = proto_count(message, &slot->field);
	flow_list *list = (flow_list *)flow_builder_alloc(d->builder, sizeof(*list));
	flow_value *items = (flow_value *)flow_builder_alloc(d->builder, (count + 1) * sizeof(*items));
	if (list == NULL || items == NULL)
		return FLOW_E_MEMORY;
	for (uint64_t i = 0; i < count; i++) {
		proto_value item;
		if (proto_get(message, &slot->field, (int64_t)i, &item) != PROTO_OK)
			return FLOW_E_MEMORY;
		flow_status status = take_value(d, slot, &item, &items[i]);
		if (status != FLOW_OK) {
			flow_pointer_before_index(&d->path, i);
			return status;
		}
	}
	*list = (flow_list){ items, count };
	*value = flow_cell(FLOW_LIST, 0);
	value->as.list = list;
	return FLOW_OK;
}

/* Keys of maps are texts here: numbers and truth values in their usual form, as protobuf's JSON has them. */
static flow_status
take_key(proto_decoding *d, const proto_slot *slot, const proto_value *from, flow_value *key)
{
	char text[FLOW_NUMBER_TEXT_MAX];
	uint64_t size;
	if (slot->key.kind == PROTO_STRING) {
		proto_slot as_string = { .value = slot->key };
		return take_text(d, &as_string, from->text, key);
	}
	if (slot->key.kind == PROTO_BOOL)
		size = (uint64_t)snprintf(text, sizeof(text), "%s", from->int64 != 0 ? "true" : "false");
	else if (slot->key.kind == PROTO_UINT32 || slot->key.kind == PROTO_UINT64)
		size = flow_print_uint64(from->uint64, text);
	else
		size = flow_print_int64(from->int64, text);
	const char *copy = flow_builder_copy(d->builder, text, size);
	*key = flow_string(copy, (uint32_t)size);
	return copy == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

static flow_status
take_entry(proto_decoding *d, const proto_slot *slot, const proto_message *message, flow_map_entry *entry)
{
	proto_value part;
	if (d->serde->format.unknown_is_error && proto_has_unknown(message))
		return refuse(d, FLOW_E_DECODE, "fields that the message does not have");
	if (proto_get(message, &slot->key, -1, &part) != PROTO_OK)
		return FLOW_E_MEMORY;
	flow_status status = take_key(d, slot, &part, &entry->key);
	if (status != FLOW_OK)
		return status;
	if (proto_get(message, &slot->value, -1, &part) != PROTO_OK)
		return FLOW_E_MEMORY;
	status = take_value(d, slot, &part, &entry->value);
	if (status != FLOW_OK)
		flow_pointer_before(&d->path, flow_value_slice(&entry->key));
	return status;
}

static flow_status
take_map(proto_decoding *d, const proto_slot *slot, const proto_message *message, flow_value *value)
{
	uint64_t count = proto_count(message, &slot->field);
	flow_map *map = (flow_map *)flow_builder_alloc(d->builder, sizeof(*map));
	flow_map_entry *entries = (flow_map_entry *)flow_builder_alloc(d->builder, (count + 1) * sizeof(*entries));
	if (map == NULL || entries == NULL)
		return FLOW_E_MEMORY;
	for (uint64_t i = 0; i < count; i++) {
		proto_value entry;
		if (proto_get(message, &slot->field, (int64_t)i, &entry) != PROTO_OK)
			return FLOW_E_MEMORY;
		flow_status status = take_entry(d, slot, entry.message, &entries[i]);
		if (status != FLOW_OK)
			return status;
	}
	int64_t kept = flow_keep_last_keys(entries, count, d->builder); /* as the format says */
	if (kept < 0)
		return FLOW_E_MEMORY;
	*map = (flow_map){ entries, (uint64_t)kept };
	*value = flow_cell(FLOW_MAP, 0);
	value->as.map = map;
	return FLOW_OK;
}

/* --- messages -------------------------------------------------------------------------------------------------------------- */

static flow_status
take_field(proto_decoding *d, const proto_slot *slot, const proto_message *message, flow_value *value)
{
	proto_value part;
	if (slot->field.map)
		return take_map(d, slot, message, value);
	if (slot->field.repeated)
		return take_list(d, slot, message, value);
	if (slot->nullable && !proto_has(message, &slot->field)) {
		*value = flow_null();
		return FLOW_OK;
	}
	if (proto_get(message, &slot->field, -1, &part) != PROTO_OK)
		return FLOW_E_MEMORY;
	return take_value(d, slot, &part, value);
}

static flow_status
take_fields(proto_decoding *d, const proto_node *node, const uint8_t *wanted, const proto_message *message,
			flow_value *value)
{
	flow_value *cells = flow_builder_cells(d->builder, node->field_count + 1);
	if (cells == NULL)
		return FLOW_E_MEMORY;
	if (d->serde->format.unknown_is_error && proto_has_unknown(message))
		return refuse(d, FLOW_E_DECODE, "fields that the message does not have");
	for (uint32_t i = 0; i < node->field_count; i++) {
		cells[i] = flow_null();
		if (wanted != NULL && !wanted[i])
			continue;
		flow_status status = take_field(d, &node->slots[i], message, &cells[i]);
		if (status != FLOW_OK) {
			flow_pointer_before(&d->path, proto_slice(node->slots[i].field.name));
			return status;
		}
	}
	*value = flow_record(cells, node->field_count);
	return FLOW_OK;
}

flow_status
proto_take_message(proto_decoding *d, const proto_message *message, flow_value *value)
{
	flow_pointer_reset(&d->path);
	return take_fields(d, d->serde->nodes, d->wanted, message, value);
}
