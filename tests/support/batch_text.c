#include "support/batch_text.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "flow_sdk/number.h"
#include "flow_sdk/time.h"

/* --- printing --- */

static void
print_escaped(FILE *to, const char *text, uint64_t size, int latin)
{
	fputc('"', to);
	for (uint64_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else if (c == '\n')
			fputs("\\n", to);
		else if (c < 0x20 || (latin && c >= 0x7f))
			fprintf(to, "\\u%04x", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}

static void
print_uuid(FILE *to, const unsigned char *bytes)
{
	fputc('"', to);
	for (int i = 0; i < 16; i++)
		fprintf(to, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
	fputc('"', to);
}

static void
print_decimal(FILE *to, const flow_decimal *decimal)
{
	if (decimal->special != 0) {
		fprintf(to, "\"%s%s\"", decimal->negative ? "-" : "",
				decimal->special == FLOW_DECIMAL_NAN ? "NaN" : "Infinity");
		return;
	}
	char *buffer = malloc((size_t)decimal->count + 128);
	assert_non_null(buffer);
	fwrite(buffer, 1, flow_print_decimal(decimal, buffer), to);
	free(buffer);
}

static void print_value(FILE *to, const flow_schema *schema, const flow_value *value);

static void
print_list(FILE *to, const flow_schema *element, const flow_list *list)
{
	fputc('[', to);
	for (uint64_t i = 0; i < list->count; i++) {
		fputs(i == 0 ? "" : ",", to);
		print_value(to, element, &list->items[i]);
	}
	fputc(']', to);
}

static void
print_map(FILE *to, const flow_schema *element, const flow_map *map)
{
	fputc('{', to);
	for (uint64_t i = 0; i < map->count; i++) {
		fputs(i == 0 ? "" : ",", to);
		print_escaped(to, map->entries[i].key.as.text, map->entries[i].key.size, 0);
		fputc(':', to);
		print_value(to, element, &map->entries[i].value);
	}
	fputc('}', to);
}

static void
print_record(FILE *to, const flow_schema *schema, const flow_value *value)
{
	assert_non_null(schema);
	assert_int_equal(value->size, schema->field_count);
	fputc('{', to);
	for (uint32_t i = 0; i < value->size; i++) {
		fputs(i == 0 ? "" : ",", to);
		print_escaped(to, schema->fields[i]->name.data, schema->fields[i]->name.size, 0);
		fputc(':', to);
		print_value(to, schema->fields[i]->schema, &value->as.record[i]);
	}
	fputc('}', to);
}

static void
print_float(FILE *to, double number)
{
	char buffer[FLOW_NUMBER_TEXT_MAX];
	const char *quote = isfinite(number) ? "" : "\"";
	uint64_t size = flow_print_float64(number, buffer);
	fprintf(to, "%s%.*s%s", quote, (int)size, buffer, quote);
}

static void
print_value(FILE *to, const flow_schema *schema, const flow_value *value)
{
	char buffer[FLOW_TIME_TEXT_MAX];
	if (schema != NULL && schema->kind == FLOW_KIND_UNION && value->type != FLOW_NULL) {
		assert_true(value->branch < schema->branch_count);
		schema = schema->branches[value->branch];
	}
	const flow_schema *element = schema == NULL ? NULL : schema->element;
	switch (value->type) {
	case FLOW_NULL:
		fputs("null", to);
		return;
	case FLOW_BOOL:
		fputs(value->as.int64 ? "true" : "false", to);
		return;
	case FLOW_INT64:
		fprintf(to, "%lld", (long long)value->as.int64);
		return;
	case FLOW_UINT64:
		fprintf(to, "%llu", (unsigned long long)value->as.uint64);
		return;
	case FLOW_FLOAT64:
		print_float(to, value->as.float64);
		return;
	case FLOW_DECIMAL:
		print_decimal(to, value->as.decimal);
		return;
	case FLOW_STRING:
	case FLOW_BYTES:
		print_escaped(to, value->as.text, value->size, value->type == FLOW_BYTES);
		return;
	case FLOW_UUID:
		print_uuid(to, (const unsigned char *)value->as.text);
		return;
	case FLOW_LIST:
		print_list(to, element, value->as.list);
		return;
	case FLOW_MAP:
		print_map(to, element, value->as.map);
		return;
	case FLOW_RECORD:
		print_record(to, schema, value);
		return;
	default:
		fprintf(to, "\"%.*s\"", (int)flow_print_time(value, buffer), buffer);
	}
}

static void
print_columns(FILE *to, const flow_batch *batch, uint32_t row)
{
	fputc('{', to);
	if (batch->key != NULL) {
		fputs("\"key\":", to);
		print_value(to, batch->key_schema, &batch->key[row]);
		fputc(',', to);
	}
	if (batch->timestamp != NULL && batch->timestamp[row] != FLOW_NO_TIMESTAMP)
		fprintf(to, "\"timestamp\":%lld,", (long long)batch->timestamp[row]);
	if (batch->ordinal != NULL)
		fprintf(to, "\"ordinal\":%lld,", (long long)batch->ordinal[row]);
	fputs("\"value\":", to);
	print_value(to, batch->schema, &batch->value[row]);
	fputc('}', to);
}

static char *
print_rows(const flow_batch *batch, int all)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	assert_non_null(to);
	for (FLOW_ROWS(batch, i)) {
		if (all)
			print_columns(to, batch, flow_row(batch, i));
		else
			print_value(to, batch->schema, &batch->value[flow_row(batch, i)]);
		fputc('\n', to);
	}
	assert_int_equal(fclose(to), 0);
	return text;
}

char *
batch_print(const flow_batch *batch)
{
	return print_rows(batch, 0);
}

char *
batch_print_all(const flow_batch *batch)
{
	return print_rows(batch, 1);
}

char *
value_print(const flow_schema *schema, const flow_value *value)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	assert_non_null(to);
	print_value(to, schema, value);
	assert_int_equal(fclose(to), 0);
	return text;
}

/* --- parsing --- */

static flow_value parse_value(flow_builder *memory, const flow_schema *schema, const json_t *json);

static void *
room(flow_builder *memory, uint64_t size)
{
	void *bytes = flow_builder_alloc(memory, size == 0 ? 8 : size);
	assert_non_null(bytes);
	return bytes;
}

/* Characters up to U+00FF -> bytes. */
static flow_value
parse_bytes(flow_builder *memory, const char *text, size_t size)
{
	char *bytes = room(memory, size);
	uint32_t count = 0;
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c >= 0xc0) {
			assert_true(c <= 0xc3 && i + 1 < size);
			c = (unsigned char)(((c & 3) << 6) | ((unsigned char)text[++i] & 0x3f));
		}
		bytes[count++] = (char)c;
	}
	return flow_bytes(bytes, count);
}

static flow_value
parse_uuid(flow_builder *memory, const char *text)
{
	unsigned char *bytes = room(memory, 16);
	for (int i = 0; i < 16; i++) {
		unsigned byte;
		text += *text == '-';
		assert_int_equal(sscanf(text, "%2x", &byte), 1);
		bytes[i] = (unsigned char)byte;
		text += 2;
	}
	return flow_text(FLOW_UUID, (char *)bytes, 16);
}

static flow_value
parse_string(flow_builder *memory, const flow_schema *schema, const json_t *json)
{
	const char *text = json_string_value(json);
	size_t size = json_string_length(json);
	flow_slice slice = flow_slice_make(text, size);
	flow_value value = flow_null();
	assert_non_null(text);
	switch (schema->kind) {
	case FLOW_KIND_BYTES:
	case FLOW_KIND_FIXED:
		return parse_bytes(memory, text, size);
	case FLOW_KIND_UUID:
		return parse_uuid(memory, text);
	case FLOW_KIND_DECIMAL:
		assert_int_equal(flow_parse_decimal(slice, memory, &value), FLOW_OK);
		return value;
	case FLOW_KIND_UINT64: /* those that a JSON integer cannot be here */
		assert_int_equal(flow_parse_uint64(slice, &value.as.uint64), FLOW_OK);
		return flow_uint64(value.as.uint64);
	case FLOW_KIND_DATE:
		assert_int_equal(flow_parse_date(slice, &value), FLOW_OK);
		return value;
	case FLOW_KIND_TIME:
		assert_int_equal(flow_parse_time(slice, schema->unit, &value), FLOW_OK);
		return value;
	case FLOW_KIND_TIMESTAMP:
		assert_int_equal(flow_parse_timestamp(slice, schema->unit, (schema->flags & FLOW_SCHEMA_ZONED) != 0, &value),
						 FLOW_OK);
		return value;
	case FLOW_KIND_FLOAT32:
	case FLOW_KIND_FLOAT64:
		assert_int_equal(flow_parse_float64(slice, 1, &value.as.float64), FLOW_OK);
		return flow_float64(value.as.float64);
	default:
		return flow_string(memcpy(room(memory, size), text, size), (uint32_t)size);
	}
}

static flow_value
parse_number(flow_builder *memory, const flow_schema *schema, const json_t *json)
{
	char text[64];
	flow_value value;
	switch (schema->kind) {
	case FLOW_KIND_FLOAT32:
	case FLOW_KIND_FLOAT64:
		return flow_float64(json_number_value(json));
	case FLOW_KIND_UINT64:
		assert_true(json_is_integer(json));
		return flow_uint64((uint64_t)json_integer_value(json));
	case FLOW_KIND_DECIMAL: /* as a number only where it is whole: 1.50 is written as a string */
		assert_true(json_is_integer(json));
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(json));
		assert_int_equal(flow_parse_decimal(flow_slice_of(text), memory, &value), FLOW_OK);
		return value;
	default:
		return json_is_integer(json) ? flow_int64(json_integer_value(json)) : flow_float64(json_real_value(json));
	}
}

static flow_value
parse_list(flow_builder *memory, const flow_schema *element, const json_t *json)
{
	flow_list *list = room(memory, sizeof(*list));
	list->count = json_array_size(json);
	flow_value *items = room(memory, list->count * sizeof(*items));
	for (size_t i = 0; i < list->count; i++)
		items[i] = parse_value(memory, element, json_array_get(json, i));
	list->items = items;
	flow_value value = flow_cell(FLOW_LIST, 0);
	value.as.list = list;
	return value;
}

static flow_value
parse_map(flow_builder *memory, const flow_schema *element, json_t *json)
{
	flow_map *map = room(memory, sizeof(*map));
	flow_map_entry *entries = room(memory, json_object_size(json) * sizeof(*entries));
	const char *name;
	json_t *item;
	map->count = 0;
	map->entries = entries;
	json_object_foreach(json, name, item)
	{
		uint32_t size = (uint32_t)strlen(name);
		entries[map->count].key = flow_string(memcpy(room(memory, size), name, size), size);
		entries[map->count++].value = parse_value(memory, element, item);
	}
	flow_value value = flow_cell(FLOW_MAP, 0);
	value.as.map = map;
	return value;
}

static flow_value
parse_record(flow_builder *memory, const flow_schema *schema, const json_t *json)
{
	flow_value *cells = room(memory, schema->field_count * sizeof(*cells));
	for (uint32_t i = 0; i < schema->field_count; i++) {
		char name[256];
		snprintf(name, sizeof(name), "%.*s", (int)schema->fields[i]->name.size, schema->fields[i]->name.data);
		const json_t *item = json_object_get(json, name);
		cells[i] = item == NULL ? flow_null() : parse_value(memory, schema->fields[i]->schema, item);
	}
	return flow_record(cells, schema->field_count);
}

static flow_value
parse_value(flow_builder *memory, const flow_schema *schema, const json_t *json)
{
	if (json_is_null(json))
		return flow_null();
	if (json_is_boolean(json))
		return flow_bool(json_is_true(json));
	if (json_is_number(json))
		return parse_number(memory, schema, json);
	if (json_is_string(json))
		return parse_string(memory, schema, json);
	if (json_is_array(json))
		return parse_list(memory, schema->kind == FLOW_KIND_LIST ? schema->element : schema, json);
	if (schema->kind == FLOW_KIND_RECORD)
		return parse_record(memory, schema, json);
	return parse_map(memory, schema->kind == FLOW_KIND_MAP ? schema->element : schema, (json_t *)(uintptr_t)json);
}

flow_batch *
batch_parse(batch_pool *pool, const flow_schema *schema, const char *lines)
{
	flow_builder *builder = builder_create(pool, 1u << 16, 16u << 20);
	assert_non_null(builder);
	while (*lines != '\0') {
		size_t size = strcspn(lines, "\n");
		json_error_t where;
		json_t *json = json_loadb(lines, size, JSON_DECODE_ANY, &where);
		if (json == NULL)
			fail_msg("test input: %s in %.*s", where.text, (int)size, lines);
		assert_true(builder->row_count < builder->row_capacity);
		flow_builder_add(builder, parse_value(builder, schema, json));
		json_decref(json);
		lines += size + (lines[size] == '\n');
	}
	batch_head head = { .schema = schema, .input = UINT32_MAX };
	flow_batch *batch = builder_finish(builder, &head);
	assert_non_null(batch);
	builder_destroy(builder);
	return batch;
}
