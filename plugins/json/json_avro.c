/*
 * Avro's JSON encoding: bytes as text of the characters U+0000 to U+00FF, logical types as the types below them, branches of unions by
 * name. How Avro's types and ours belong together: flow/schema.h.
 */
#include "flow_sdk/number.h"
#include "flow_sdk/text.h"
#include "json_output.h"

#define VARINT_MAX 10

flow_slice
json_avro_branch(const flow_schema *schema)
{
	if (schema->name.size != 0)
		return schema->name;
	switch (schema->kind) {
	case FLOW_KIND_BOOL:
		return flow_slice_of("boolean");
	case FLOW_KIND_INT32:
	case FLOW_KIND_DATE:
		return flow_slice_of("int");
	case FLOW_KIND_TIME:
		return flow_slice_of(schema->unit <= FLOW_MILLISECONDS ? "int" : "long");
	case FLOW_KIND_INT64:
	case FLOW_KIND_TIMESTAMP:
		return flow_slice_of("long");
	case FLOW_KIND_FLOAT32:
		return flow_slice_of("float");
	case FLOW_KIND_FLOAT64:
		return flow_slice_of("double");
	case FLOW_KIND_DECIMAL:
	case FLOW_KIND_UINT64:
	case FLOW_KIND_BYTES:
		return flow_slice_of("bytes");
	case FLOW_KIND_LIST:
		return flow_slice_of("array");
	case FLOW_KIND_MAP:
		return flow_slice_of("map");
	default:
		return flow_slice_of("string");
	}
}

/* --- reading --------------------------------------------------------------------------------------------------------- */

/* Text of the characters U+0000 to U+00FF -> bytes in `memory`. */
static flow_status
read_bytes(flow_slice text, flow_builder *memory, flow_slice *bytes)
{
	char *to = (char *)flow_builder_alloc(memory, text.size + 1);
	if (to == NULL)
		return FLOW_E_MEMORY;
	uint64_t size = 0;
	for (uint64_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.data[i];
		if (c >= 0x80) {
			if (c > 0xC3 || i + 1 == text.size)
				return FLOW_E_DECODE; /* another character */
			c = (unsigned char)((c << 6) | ((unsigned char)text.data[++i] & 0x3F));
		}
		to[size++] = (char)c;
	}
	*bytes = flow_slice_make(to, size);
	return FLOW_OK;
}

/* A zigzag varint at *at. */
static int
read_long(flow_slice bytes, uint64_t *at, int64_t *number)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64 && *at < bytes.size; shift += 7) {
		uint64_t byte = (unsigned char)bytes.data[(*at)++];
		value |= (byte & 0x7F) << shift;
		if (byte < 0x80) {
			*number = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
			return 1;
		}
	}
	return 0;
}

/* Avro's big-decimal: the unscaled bytes behind their length, and the scale. */
static flow_status
read_big_decimal(flow_slice bytes, flow_builder *memory, flow_value *value)
{
	uint64_t at = 0;
	int64_t size;
	int64_t scale;
	if (!read_long(bytes, &at, &size) || size < 0 || (uint64_t)size > bytes.size - at)
		return FLOW_E_DECODE;
	flow_slice digits = flow_slice_make(bytes.data + at, (uint64_t)size);
	at += (uint64_t)size;
	if (!read_long(bytes, &at, &scale) || at != bytes.size || scale != (int32_t)scale)
		return FLOW_E_DECODE;
	return flow_decimal_from_bytes(digits, (int32_t)scale, memory, value);
}

static flow_status
read_decimal(const flow_schema *schema, flow_slice bytes, flow_builder *memory, flow_value *value)
{
	if (schema->precision == 0)
		return read_big_decimal(bytes, memory, value);
	if (schema->name.size != 0 && bytes.size != schema->fixed_size)
		return FLOW_E_RANGE;
	flow_status status = flow_decimal_from_bytes(bytes, schema->scale, memory, value);
	if (status == FLOW_OK && (int64_t)value->as.decimal->count > schema->precision)
		return FLOW_E_RANGE;
	return status;
}

static flow_status
read_uint64(flow_slice bytes, flow_builder *memory, flow_value *value)
{
	flow_value decimal;
	uint64_t number;
	flow_status status = flow_decimal_from_bytes(bytes, 0, memory, &decimal);
	if (status != FLOW_OK)
		return status;
	const flow_decimal *d = decimal.as.decimal;
	if (d->negative)
		return FLOW_E_RANGE;
	status = flow_parse_uint64(flow_slice_make(d->digits, d->count), &number);
	*value = flow_uint64(number);
	return status;
}

flow_status
json_avro_string(const json_node *node, flow_slice text, flow_builder *memory, flow_value *value)
{
	const flow_schema *schema = node->schema;
	flow_slice bytes;
	if (schema->kind == FLOW_KIND_STRING || schema->kind == FLOW_KIND_ENUM || schema->kind == FLOW_KIND_FLOAT32 ||
		schema->kind == FLOW_KIND_FLOAT64 || (schema->kind == FLOW_KIND_UUID && schema->name.size == 0))
		return FLOW_AGAIN;
	flow_status status = read_bytes(text, memory, &bytes);
	if (status != FLOW_OK)
		return status;
	switch (schema->kind) {
	case FLOW_KIND_BYTES:
	case FLOW_KIND_FIXED:
		*value = flow_bytes(bytes.data, (uint32_t)bytes.size);
		return schema->kind == FLOW_KIND_BYTES || bytes.size == schema->fixed_size ? FLOW_OK : FLOW_E_RANGE;
	case FLOW_KIND_UUID:
		*value = flow_text(FLOW_UUID, bytes.data, (uint32_t)bytes.size);
		return bytes.size == 16 ? FLOW_OK : FLOW_E_RANGE;
	case FLOW_KIND_DECIMAL:
		return read_decimal(schema, bytes, memory, value);
	case FLOW_KIND_UINT64:
		return read_uint64(bytes, memory, value);
	default:
		return FLOW_E_TYPE;
	}
}

/* --- writing --------------------------------------------------------------------------------------------------------- */

static flow_status
put_bytes(json_output *out, const char *bytes, uint64_t size)
{
	if (!json_has_room(out, size * JSON_ESCAPED_MAX + JSON_ESCAPED_SLACK))
		return FLOW_E_MEMORY;
	int high = 0;
	*out->at++ = '"';
	for (uint64_t i = 0, plain; i < size; i += plain) {
		for (plain = 0; i + plain < size && (unsigned char)bytes[i + plain] < 0x80; plain++)
			;
		out->at = json_put_escaped(bytes + i, plain, out->at, &high);
		if (i + plain < size) {
			unsigned char c = (unsigned char)bytes[i + plain++];
			*out->at++ = (char)(0xC0 | c >> 6);
			*out->at++ = (char)(0x80 | (c & 0x3F));
		}
	}
	*out->at++ = '"';
	return FLOW_OK;
}

static uint64_t
put_long(char *to, int64_t number)
{
	uint64_t zigzag = ((uint64_t)number << 1) ^ (uint64_t)(number >> 63);
	uint64_t size = 0;
	for (; zigzag >= 0x80; zigzag >>= 7)
		to[size++] = (char)(zigzag | 0x80);
	to[size++] = (char)zigzag;
	return size;
}

static flow_status
put_decimal(json_output *out, const flow_schema *schema, const flow_decimal *decimal)
{
	char bytes[FLOW_DECIMAL_MAX_BYTES + 2 * VARINT_MAX];
	char digits[FLOW_DECIMAL_MAX_BYTES];
	uint64_t size;
	int32_t scale = schema->precision == 0 ? decimal->scale : schema->scale;
	flow_status status = flow_decimal_to_bytes(decimal, scale, digits, &size);
	if (status != FLOW_OK)
		return status == FLOW_E_MEMORY ? status : FLOW_E_ENCODE;
	uint64_t before = 0;
	if (schema->precision == 0) {
		before = put_long(bytes, (int64_t)size);
	} else if (schema->name.size != 0) {
		if (size > schema->fixed_size || schema->fixed_size > sizeof(bytes))
			return FLOW_E_ENCODE;
		before = schema->fixed_size - size;
		memset(bytes, size != 0 && (unsigned char)digits[0] >= 0x80 ? 0xFF : 0, before);
	}
	memcpy(bytes + before, digits, size);
	size += before;
	if (schema->precision == 0)
		size += put_long(bytes + size, decimal->scale);
	return put_bytes(out, bytes, size);
}

static flow_status
put_uint64(json_output *out, uint64_t number)
{
	char bytes[9] = { 0 };
	for (int i = 8; i > 0; i--, number >>= 8)
		bytes[i] = (char)number;
	int first = 0;
	while (first < 8 && bytes[first] == 0 && (unsigned char)bytes[first + 1] < 0x80)
		first++;
	return put_bytes(out, bytes + first, (uint64_t)(9 - first));
}

flow_status
json_put_avro(json_output *out, const json_node *node, const flow_value *value)
{
	switch (value->type) {
	case FLOW_BYTES:
		return put_bytes(out, value->as.text, value->size);
	case FLOW_UUID:
		return node->schema->name.size != 0 ? put_bytes(out, value->as.text, value->size) : FLOW_AGAIN;
	case FLOW_DECIMAL:
		return node->kind == FLOW_KIND_DECIMAL ? put_decimal(out, node->schema, value->as.decimal) : FLOW_E_ENCODE;
	case FLOW_UINT64:
		return put_uint64(out, value->as.uint64);
	case FLOW_DATE:
	case FLOW_TIME:
	case FLOW_TIMESTAMP:
		if (!json_has_room(out, FLOW_NUMBER_TEXT_MAX))
			return FLOW_E_MEMORY;
		out->at += flow_print_int64(value->as.int64, out->at);
		return FLOW_OK;
	default:
		return FLOW_AGAIN;
	}
}
