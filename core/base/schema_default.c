/* Defaults of fields: cells <-> the JSON that Avro writes for them. */
#include <math.h>
#include <string.h>

#include "base/schema_print.h"
#include "flow_sdk/number.h"
#include "flow_sdk/text.h"

/* Bytes as code points U+0000 to U+00FF. */
static void
put_bytes(struct schema_sink *sink, flow_slice bytes)
{
	schema_put(sink, "\"", 1);
	for (uint64_t i = 0; i < bytes.size; i++)
		schema_put_format(sink, "\\u%04x", (unsigned char)bytes.data[i]);
	schema_put(sink, "\"", 1);
}

static void
put_decimal(struct schema_sink *sink, const flow_schema *schema, const flow_decimal *decimal)
{
	char buffer[FLOW_DECIMAL_MAX_BYTES];
	char padded[FLOW_DECIMAL_MAX_BYTES];
	uint64_t size = 0;
	if (flow_decimal_to_bytes(decimal, schema->scale, buffer, &size) != FLOW_OK)
		size = 0;
	flow_slice bytes = flow_slice_make(buffer, size);
	if (schema->name.size != 0 && schema->fixed_size <= sizeof(padded) && size != 0 && size <= schema->fixed_size) {
		uint64_t fill = schema->fixed_size - size;
		memset(padded, decimal->negative ? 0xFF : 0, fill);
		memcpy(padded + fill, buffer, size);
		bytes = flow_slice_make(padded, schema->fixed_size);
	}
	put_bytes(sink, bytes);
}

static uint64_t
write_long(int64_t number, char *buffer, uint64_t at)
{
	uint64_t zigzag = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
	for (; zigzag >= 0x80; zigzag >>= 7)
		buffer[at++] = (char)(zigzag | 0x80);
	buffer[at++] = (char)zigzag;
	return at;
}

/* Avro's big-decimal: the unscaled bytes with their length, then the scale. */
static void
put_big_decimal(struct schema_sink *sink, const flow_decimal *decimal)
{
	char bytes[FLOW_DECIMAL_MAX_BYTES + 20], digits[FLOW_DECIMAL_MAX_BYTES];
	uint64_t size = 0;
	if (flow_decimal_to_bytes(decimal, decimal->scale, digits, &size) != FLOW_OK)
		size = 0;
	uint64_t at = write_long((int64_t)size, bytes, 0);
	memcpy(bytes + at, digits, size);
	put_bytes(sink, flow_slice_make(bytes, write_long(decimal->scale, bytes, at + size)));
}

static void
put_uint64(struct schema_sink *sink, uint64_t number)
{
	char bytes[9] = { 0 };
	for (int i = 8; i > 0; i--, number >>= 8)
		bytes[i] = (char)number;
	int first = 0;
	while (first < 8 && bytes[first] == 0 && (unsigned char)bytes[first + 1] < 0x80)
		first++;
	put_bytes(sink, flow_slice_make(bytes + first, (uint64_t)(9 - first)));
}

static void
put_uuid(struct schema_sink *sink, const flow_schema *schema, const flow_value *value)
{
	if (schema->name.size != 0) {
		put_bytes(sink, flow_value_slice(value));
		return;
	}
	char text[FLOW_UUID_TEXT];
	flow_print_uuid(value->as.text, text);
	schema_put_string(sink, flow_slice_make(text, sizeof(text)));
}

static void
put_number(struct schema_sink *sink, double number)
{
	char text[FLOW_NUMBER_TEXT_MAX];
	if (!isfinite(number)) { /* JSON has none: the text is what Avro's own tools write */
		schema_put_text(sink, isnan(number) ? "\"NaN\"" : number < 0 ? "\"-Infinity\"" : "\"Infinity\"");
		return;
	}
	schema_put(sink, text, flow_print_float64(number, text));
}

static void
put_list(struct schema_sink *sink, const flow_schema *element, const flow_list *list)
{
	for (uint64_t i = 0; i < list->count; i++) {
		schema_put_text(sink, i == 0 ? "[" : ",");
		schema_put_default(sink, element, &list->items[i]);
	}
	schema_put_text(sink, list->count == 0 ? "[]" : "]");
}

static void
put_map(struct schema_sink *sink, const flow_schema *element, const flow_map *map)
{
	for (uint64_t i = 0; i < map->count; i++) {
		schema_put_text(sink, i == 0 ? "{" : ",");
		schema_put_string(sink, flow_value_slice(&map->entries[i].key));
		schema_put_text(sink, ":");
		schema_put_default(sink, element, &map->entries[i].value);
	}
	schema_put_text(sink, map->count == 0 ? "{}" : "}");
}

static void
put_record(struct schema_sink *sink, const flow_schema *schema, const flow_value *value)
{
	for (uint32_t i = 0; i < schema->field_count && i < value->size; i++) {
		schema_put_text(sink, i == 0 ? "{" : ",");
		schema_put_string(sink, schema->fields[i]->name);
		schema_put_text(sink, ":");
		schema_put_default(sink, schema->fields[i]->schema, &value->as.record[i]);
	}
	schema_put_text(sink, schema->field_count == 0 ? "{}" : "}");
}

void
schema_put_default(struct schema_sink *sink, const flow_schema *schema, const flow_value *value)
{
	if (schema->kind == FLOW_KIND_UNION && value->type != FLOW_NULL && value->branch < schema->branch_count)
		schema = schema->branches[value->branch];
	switch (value->type) {
	case FLOW_NULL:
		schema_put_text(sink, "null");
		break;
	case FLOW_BOOL:
		schema_put_text(sink, value->as.int64 != 0 ? "true" : "false");
		break;
	case FLOW_UINT64:
		put_uint64(sink, value->as.uint64);
		break;
	case FLOW_FLOAT64:
		put_number(sink, value->as.float64);
		break;
	case FLOW_DECIMAL:
		if (schema->precision == 0)
			put_big_decimal(sink, value->as.decimal);
		else
			put_decimal(sink, schema, value->as.decimal);
		break;
	case FLOW_STRING:
		schema_put_string(sink, flow_value_slice(value));
		break;
	case FLOW_BYTES:
		put_bytes(sink, flow_value_slice(value));
		break;
	case FLOW_UUID:
		put_uuid(sink, schema, value);
		break;
	case FLOW_LIST:
		put_list(sink, schema->element, value->as.list);
		break;
	case FLOW_MAP:
		put_map(sink, schema->element, value->as.map);
		break;
	case FLOW_RECORD:
		put_record(sink, schema, value);
		break;
	default: /* whole numbers: integers, dates, times */
		schema_put_format(sink, "%lld", (long long)value->as.int64);
	}
}
