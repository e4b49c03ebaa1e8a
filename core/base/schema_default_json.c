/* Defaults of fields: the JSON that Avro writes for them -> cells. */
#include <stdint.h>
#include <string.h>

#include "base/schema_json.h"
#include "flow_sdk/number.h"
#include "flow_sdk/text.h"

struct reading {
	flow_builder *memory;
	const char **problem;
};

static flow_status read_value(struct reading *r, const flow_schema *schema, json_t *json, flow_value *value);

static flow_status
misfit(struct reading *r, const char *expected)
{
	*r->problem = expected;
	return FLOW_E_TYPE;
}

static flow_status
read_integer(struct reading *r, json_t *json, uint8_t type, int64_t least, int64_t most, const char *expected,
			 flow_value *value)
{
	if (!json_is_integer(json) || json_integer_value(json) < least || json_integer_value(json) > most)
		return misfit(r, expected);
	*value = flow_cell(type, json_integer_value(json));
	return FLOW_OK;
}

static flow_status
read_float(struct reading *r, json_t *json, flow_value *value)
{
	double number = json_number_value(json);
	if (json_is_string(json) && flow_parse_float64(flow_slice_of(json_string_value(json)), 1, &number) != FLOW_OK)
		return misfit(r, "a number is expected");
	if (!json_is_string(json) && !json_is_number(json))
		return misfit(r, "a number is expected");
	if (json_is_string(json) && number - number == 0) /* a text may only be NaN or an infinity */
		return misfit(r, "a number is expected");
	*value = flow_float64(number);
	return FLOW_OK;
}

/* The code points U+0000 to U+00FF of a text as bytes, in `memory`. */
static flow_status
read_bytes(struct reading *r, json_t *json, flow_slice *bytes)
{
	if (!json_is_string(json))
		return misfit(r, "a text of the characters U+0000 to U+00FF, one for each byte, is expected");
	const unsigned char *text = (const unsigned char *)json_string_value(json);
	uint64_t size = json_string_length(json), count = 0;
	char *copy = flow_builder_alloc(r->memory, size + 1);
	if (copy == NULL)
		return FLOW_E_MEMORY;
	for (uint64_t i = 0; i < size; i++) {
		unsigned c = text[i];
		if (c >= 0xC4 || (c >= 0x80 && i + 1 == size))
			return misfit(r, "a text of the characters U+0000 to U+00FF, one for each byte, is expected");
		if (c >= 0x80)
			c = (c & 3) << 6 | (text[++i] & 0x3F);
		copy[count++] = (char)c;
	}
	*bytes = flow_slice_make(copy, count);
	return FLOW_OK;
}

static flow_status
read_sized_bytes(struct reading *r, const flow_schema *schema, json_t *json, flow_slice *bytes)
{
	flow_status status = read_bytes(r, json, bytes);
	if (status != FLOW_OK)
		return status;
	if (schema->name.size != 0 && bytes->size != schema->fixed_size)
		return misfit(r, "it does not have the size of the fixed type");
	return bytes->size > UINT32_MAX ? misfit(r, "too long") : FLOW_OK;
}

static int
read_long(flow_slice *bytes, int64_t *number)
{
	uint64_t zigzag = 0;
	for (unsigned shift = 0; bytes->size != 0 && shift < 64; shift += 7) {
		unsigned char byte = (unsigned char)bytes->data[0];
		*bytes = flow_slice_make(bytes->data + 1, bytes->size - 1);
		zigzag |= (uint64_t)(byte & 0x7F) << shift;
		if (byte < 0x80) {
			*number = (int64_t)(zigzag >> 1 ^ (0 - (zigzag & 1)));
			return 1;
		}
	}
	return 0;
}

static flow_status
read_decimal(struct reading *r, const flow_schema *schema, json_t *json, flow_value *value)
{
	flow_slice bytes;
	flow_status status = read_sized_bytes(r, schema, json, &bytes);
	if (status != FLOW_OK)
		return status;
	int64_t scale = schema->scale;
	if (schema->precision == 0) { /* big-decimal: length, unscaled bytes, scale */
		int64_t size;
		if (!read_long(&bytes, &size) || size < 0 || (uint64_t)size >= bytes.size)
			return misfit(r, "the bytes are no big-decimal");
		flow_slice behind = flow_slice_make(bytes.data + size, bytes.size - (uint64_t)size);
		bytes.size = (uint64_t)size;
		if (!read_long(&behind, &scale) || behind.size != 0 || scale < INT32_MIN || scale > INT32_MAX)
			return misfit(r, "the bytes are no big-decimal");
	}
	status = flow_decimal_from_bytes(bytes, (int32_t)scale, r->memory, value);
	if (status == FLOW_E_RANGE ||
		(status == FLOW_OK && schema->precision != 0 && value->as.decimal->count > (uint32_t)schema->precision))
		return misfit(r, "it has more digits than the precision");
	return status;
}

static flow_status
read_uint64(struct reading *r, json_t *json, flow_value *value)
{
	flow_slice bytes;
	flow_status status = read_bytes(r, json, &bytes);
	if (status != FLOW_OK)
		return status;
	uint64_t number = 0;
	if (bytes.size > 9 || (bytes.size == 9 && bytes.data[0] != 0) || (bytes.size != 0 && (bytes.data[0] & 0x80) != 0))
		return misfit(r, "it is no unsigned integer of 64 bits");
	for (uint64_t i = 0; i < bytes.size; i++)
		number = number << 8 | (unsigned char)bytes.data[i];
	*value = flow_uint64(number);
	return FLOW_OK;
}

static flow_status
read_text(struct reading *r, const flow_schema *schema, json_t *json, flow_value *value)
{
	if (!json_is_string(json))
		return misfit(r, "a text is expected");
	flow_slice text = flow_slice_make(json_string_value(json), json_string_length(json));
	int known = schema->kind != FLOW_KIND_ENUM;
	for (uint32_t i = 0; i < schema->symbol_count && !known; i++)
		known = flow_slice_equal(schema->symbols[i], text);
	if (!known)
		return misfit(r, "it is none of the symbols");
	const char *copy = flow_builder_copy(r->memory, text.data, text.size);
	if (copy == NULL)
		return FLOW_E_MEMORY;
	*value = flow_string(copy, (uint32_t)text.size);
	return FLOW_OK;
}

static flow_status
read_uuid(struct reading *r, const flow_schema *schema, json_t *json, flow_value *value)
{
	flow_slice bytes;
	if (schema->name.size != 0) {
		flow_status status = read_sized_bytes(r, schema, json, &bytes);
		if (status == FLOW_OK)
			*value = flow_text(FLOW_UUID, bytes.data, 16);
		return status;
	}
	char *uuid = flow_builder_alloc(r->memory, 16);
	if (uuid == NULL)
		return FLOW_E_MEMORY;
	if (!json_is_string(json) ||
		flow_parse_uuid(flow_slice_make(json_string_value(json), json_string_length(json)), uuid) != FLOW_OK)
		return misfit(r, "a uuid is expected, like 00112233-4455-6677-8899-aabbccddeeff");
	*value = flow_text(FLOW_UUID, uuid, 16);
	return FLOW_OK;
}

static flow_status
read_list(struct reading *r, const flow_schema *schema, json_t *json, flow_value *value)
{
	if (!json_is_array(json))
		return misfit(r, "an array is expected");
	uint64_t count = json_array_size(json);
	flow_list *list = flow_builder_alloc(r->memory, sizeof(*list));
	flow_value *items = flow_builder_alloc(r->memory, count * sizeof(*items) + 1);
	if (list == NULL || items == NULL)
		return FLOW_E_MEMORY;
	for (uint64_t i = 0; i < count; i++) {
		flow_status status = read_value(r, schema->element, json_array_get(json, i), &items[i]);
		if (status != FLOW_OK)
			return status;
	}
	*list = (flow_list){ items, count };
	*value = flow_cell(FLOW_LIST, 0);
	value->as.list = list;
	return FLOW_OK;
}

static flow_status
read_map(struct reading *r, const flow_schema *schema, json_t *json, flow_value *value)
{
	if (!json_is_object(json))
		return misfit(r, "an object is expected");
	flow_map *map = flow_builder_alloc(r->memory, sizeof(*map));
	flow_map_entry *entries = flow_builder_alloc(r->memory, json_object_size(json) * sizeof(*entries) + 1);
	if (map == NULL || entries == NULL)
		return FLOW_E_MEMORY;
	*map = (flow_map){ entries, 0 };
	for (void *at = json_object_iter(json); at != NULL; at = json_object_iter_next(json, at)) {
		flow_map_entry *entry = &entries[map->count++];
		uint64_t size = json_object_iter_key_len(at);
		const char *key = flow_builder_copy(r->memory, json_object_iter_key(at), size);
		if (key == NULL)
			return FLOW_E_MEMORY;
		entry->key = flow_string(key, (uint32_t)size);
		flow_status status = read_value(r, schema->element, json_object_iter_value(at), &entry->value);
		if (status != FLOW_OK)
			return status;
	}
	*value = flow_cell(FLOW_MAP, 0);
	value->as.map = map;
	return FLOW_OK;
}

static flow_status
read_record(struct reading *r, const flow_schema *schema, json_t *json, flow_value *value)
{
	if (!json_is_object(json))
		return misfit(r, "an object is expected");
	flow_value *cells = flow_builder_alloc(r->memory, schema->field_count * sizeof(*cells) + 1);
	if (cells == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < schema->field_count; i++) {
		const flow_field *field = schema->fields[i];
		json_t *given = json_object_getn(json, field->name.data, field->name.size);
		if (given == NULL && field->default_value == NULL)
			return misfit(r, "a field without default is missing");
		if (given == NULL) {
			cells[i] = *field->default_value;
			continue;
		}
		flow_status status = read_value(r, field->schema, given, &cells[i]);
		if (status != FLOW_OK)
			return status;
	}
	*value = flow_record(cells, schema->field_count);
	return FLOW_OK;
}

static flow_status
read_union(struct reading *r, const flow_schema *schema, json_t *json, flow_value *value)
{
	for (uint32_t i = 0; i < schema->branch_count; i++) {
		flow_status status = read_value(r, schema->branches[i], json, value);
		if (status == FLOW_OK)
			value->branch = (uint8_t)i;
		if (status != FLOW_E_TYPE)
			return status;
	}
	return misfit(r, "it fits no branch of the union");
}

static flow_status
read_any(struct reading *r, json_t *json, flow_value *value)
{
	static const flow_schema nothing = { .kind = FLOW_KIND_STRING };
	if (json_is_string(json))
		return read_text(r, &nothing, json, value);
	if (json_is_integer(json))
		*value = flow_int64(json_integer_value(json));
	else if (json_is_real(json))
		*value = flow_float64(json_real_value(json));
	else if (json_is_boolean(json))
		*value = flow_bool(json_is_true(json));
	else
		return misfit(r, "a text, number or truth is expected");
	return FLOW_OK;
}

/* Kinds that are whole numbers in JSON. */
static flow_status
read_whole(struct reading *r, const flow_schema *schema, json_t *json, flow_value *value)
{
	static const char narrow[] = "an integer of 32 bits is expected", wide[] = "an integer of 64 bits is expected";
	flow_status status;
	switch (schema->kind) {
	case FLOW_KIND_INT32:
		return read_integer(r, json, FLOW_INT64, INT32_MIN, INT32_MAX, narrow, value);
	case FLOW_KIND_DATE:
		return read_integer(r, json, FLOW_DATE, INT32_MIN, INT32_MAX, narrow, value);
	case FLOW_KIND_TIME: {
		int64_t day = 86400;
		for (int i = 0; i < schema->unit; i++)
			day *= 10;
		status = read_integer(r, json, FLOW_TIME, 0, day - 1, "a time of a day is expected", value);
		value->unit = schema->unit;
		return status;
	}
	case FLOW_KIND_TIMESTAMP:
		status = read_integer(r, json, FLOW_TIMESTAMP, INT64_MIN, INT64_MAX, wide, value);
		value->unit = schema->unit;
		value->flags = (schema->flags & FLOW_SCHEMA_ZONED) != 0 ? FLOW_ZONED : 0;
		return status;
	default:
		return read_integer(r, json, FLOW_INT64, INT64_MIN, INT64_MAX, wide, value);
	}
}

static flow_status
read_value(struct reading *r, const flow_schema *schema, json_t *json, flow_value *value)
{
	flow_slice bytes;
	flow_status status;
	*value = flow_null();
	if (json_is_null(json))
		return flow_schema_nullable(schema) || schema->kind == FLOW_KIND_NULL ? FLOW_OK
																			  : misfit(r, "it must not be null");
	switch (schema->kind) {
	case FLOW_KIND_NULL:
		return misfit(r, "null is expected");
	case FLOW_KIND_ANY:
		return read_any(r, json, value);
	case FLOW_KIND_BOOL:
		*value = flow_bool(json_is_true(json));
		return json_is_boolean(json) ? FLOW_OK : misfit(r, "true or false is expected");
	case FLOW_KIND_UINT64:
		return read_uint64(r, json, value);
	case FLOW_KIND_FLOAT32:
	case FLOW_KIND_FLOAT64:
		return read_float(r, json, value);
	case FLOW_KIND_DECIMAL:
		return read_decimal(r, schema, json, value);
	case FLOW_KIND_STRING:
	case FLOW_KIND_ENUM:
		return read_text(r, schema, json, value);
	case FLOW_KIND_BYTES:
	case FLOW_KIND_FIXED:
		status = read_sized_bytes(r, schema, json, &bytes);
		if (status == FLOW_OK)
			*value = flow_bytes(bytes.data, (uint32_t)bytes.size);
		return status;
	case FLOW_KIND_UUID:
		return read_uuid(r, schema, json, value);
	case FLOW_KIND_LIST:
		return read_list(r, schema, json, value);
	case FLOW_KIND_MAP:
		return read_map(r, schema, json, value);
	case FLOW_KIND_RECORD:
		return read_record(r, schema, json, value);
	case FLOW_KIND_UNION:
		return read_union(r, schema, json, value);
	default:
		return read_whole(r, schema, json, value);
	}
}

flow_status
schema_read_default(flow_builder *memory, const flow_schema *schema, json_t *json, flow_value *value,
					const char **problem)
{
	struct reading r = { memory, problem };
	return read_value(&r, schema, json, value);
}
