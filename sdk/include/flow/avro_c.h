/*
 * flow/avro_c.h - our values to avro-c's and back, for authors who have code over avro-c (libavro, avro.h 1.10 or later).
 *
 *     avro_schema_t schema;
 *     status = flow_avro_c_schema(host, batch->schema, &schema, error);
 *     avro_value_iface_t *class_of = avro_generic_class_from_schema(schema);
 *     avro_generic_value_new(class_of, &datum);
 *     for (FLOW_ROWS(batch, i))
 *         status = flow_avro_c_from_value(host, batch->schema, &batch->value[flow_row(batch, i)], &datum, error);
 *
 * A value and an avro_value_t belong together when both have one schema: ours, and what flow_avro_c_schema made of it or what avro-c
 * read from the same text. Then nothing is lost in either direction: decimals keep their digits as far as the schema says a scale,
 * times their unit, uint64 is the decimal that flow/schema.h describes. avro-c itself forgets logical types and aliases, so the
 * way from its schemas back to ours (flow_avro_c_read_schema) gives plain numbers and bytes; where the text is at hand, better
 * give that to both.
 *
 * All in this header, over flow_sdk's helpers: link the SDK's library as every plugin does, and avro-c. Ownership: what is returned is
 * the caller's (avro_schema_decref, schemas->release); values from avro-c are copied into the builder. Threads: those of avro-c.
 * Errors: FLOW_E_TYPE where the two do not belong together, FLOW_E_RANGE where a number does not fit, each with the place.
 */
#ifndef FLOW_AVRO_C_H
#define FLOW_AVRO_C_H

#include <stdlib.h>
#include <string.h>

#include <avro.h>

#include "flow/batch.h"
#include "flow/error.h"
#include "flow/host.h"
#include "flow/schema.h"
#include "flow_sdk/number.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FLOW_AVRO_C_DEPTH 256 /* values within each other */

/* --- schemas ----------------------------------------------------------------------------------------------------------- */

/* The same type as a schema of avro-c. */
static inline flow_status
flow_avro_c_schema(const flow_host *host, const flow_schema *schema, avro_schema_t *made, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	uint64_t size = schemas->print(schema, 0, NULL, 0);
	char *text = (char *)host->allocate(size + 1);
	if (text == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	schemas->print(schema, 0, text, size + 1);
	int failed = avro_schema_from_json_length(text, size, made);
	host->release(text);
	if (failed != 0)
		return flow_fail(host, error, FLOW_E_TYPE, "avro-c does not take the schema: %s", avro_strerror());
	return FLOW_OK;
}

/* The way back, as far as avro-c keeps what a schema says; NULL: the error says why. */
static inline const flow_schema *
flow_avro_c_read_schema(const flow_host *host, avro_schema_t schema, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	for (int64_t room = 4096; room <= (int64_t)64 << 20; room *= 4) {
		char *text = (char *)host->allocate((uint64_t)room);
		avro_writer_t writer = text == NULL ? NULL : avro_writer_memory(text, room);
		if (writer == NULL) {
			host->release(text);
			flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
			return NULL;
		}
		int full = avro_schema_to_json(schema, writer);
		const flow_schema *made =
			full ? NULL : schemas->parse_json(flow_slice_make(text, (uint64_t)avro_writer_tell(writer)), error);
		avro_writer_free(writer);
		host->release(text);
		if (!full)
			return made;
	}
	flow_fail(host, error, FLOW_E_LIMIT, "a schema of avro-c of more than 64 MiB: %s", avro_strerror());
	return NULL;
}

/* --- what both directions share ---------------------------------------------------------------------------------------- */

static inline flow_status
flow_avro_c_failed(const flow_host *host, flow_error *error)
{
	return flow_fail(host, error, FLOW_E_TYPE, "avro-c: %s", avro_strerror());
}

static inline flow_status
flow_avro_c_mismatch(const flow_host *host, flow_error *error)
{
	return flow_fail(host, error, FLOW_E_TYPE, "the value and the datum of avro-c have different schemas");
}

/* Whether times of this unit are int, not long: those in seconds and milliseconds of a day. */
static inline int
flow_avro_c_is_short(const flow_schema *schema)
{
	return schema->kind == FLOW_KIND_INT32 || schema->kind == FLOW_KIND_DATE ||
	       (schema->kind == FLOW_KIND_TIME && schema->unit <= FLOW_MILLISECONDS);
}

static inline uint8_t
flow_avro_c_cell_type(const flow_schema *schema)
{
	switch (schema->kind) {
	case FLOW_KIND_DATE:
		return FLOW_DATE;
	case FLOW_KIND_TIME:
		return FLOW_TIME;
	case FLOW_KIND_TIMESTAMP:
		return FLOW_TIMESTAMP;
	default:
		return FLOW_INT64;
	}
}

/* Whether the datum is of the avro type that this schema (no union) stands for. */
static inline int
flow_avro_c_fits(const flow_schema *schema, const avro_value_t *datum)
{
	avro_type_t type = avro_value_get_type(datum);
	switch (schema->kind) {
	case FLOW_KIND_NULL:
		return type == AVRO_NULL;
	case FLOW_KIND_BOOL:
		return type == AVRO_BOOLEAN;
	case FLOW_KIND_FLOAT32:
		return type == AVRO_FLOAT;
	case FLOW_KIND_FLOAT64:
		return type == AVRO_DOUBLE;
	case FLOW_KIND_UINT64:
	case FLOW_KIND_DECIMAL:
		return type == AVRO_BYTES || type == AVRO_FIXED;
	case FLOW_KIND_STRING:
		return type == AVRO_STRING;
	case FLOW_KIND_BYTES:
		return type == AVRO_BYTES;
	case FLOW_KIND_FIXED:
		return type == AVRO_FIXED;
	case FLOW_KIND_ENUM:
		return type == AVRO_ENUM;
	case FLOW_KIND_UUID:
		return type == AVRO_STRING || type == AVRO_FIXED;
	case FLOW_KIND_LIST:
		return type == AVRO_ARRAY;
	case FLOW_KIND_MAP:
		return type == AVRO_MAP;
	case FLOW_KIND_RECORD:
		return type == AVRO_RECORD;
	default:
		return type == (flow_avro_c_is_short(schema) ? AVRO_INT32 : AVRO_INT64);
	}
}

/* --- ours to avro-c's -------------------------------------------------------------------------------------------------- */

static inline flow_status flow_avro_c_put(const flow_host *host, const flow_schema *schema, const flow_value *value,
                                          avro_value_t *to, uint32_t depth, flow_error *error);

/* avro-c wants a NUL behind texts, which ours do not have. */
static inline flow_status
flow_avro_c_put_text(const flow_host *host, flow_slice text, avro_value_t *to, flow_error *error)
{
	char here[256], *copy = text.size < sizeof(here) ? here : (char *)host->allocate(text.size + 1);
	if (copy == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	if (text.size != 0)
		memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	int failed = avro_value_set_string_len(to, copy, text.size + 1);
	if (copy != here)
		host->release(copy);
	return failed ? flow_avro_c_failed(host, error) : FLOW_OK;
}

/* Bytes, or a fixed of exactly so many. */
static inline flow_status
flow_avro_c_put_bytes(const flow_host *host, const char *data, uint64_t size, avro_value_t *to, flow_error *error)
{
	char nothing = 0;
	void *bytes = size == 0 ? &nothing : (void *)(uintptr_t)data;
	int failed = avro_value_get_type(to) == AVRO_FIXED ? avro_value_set_fixed(to, bytes, size)
	                                                    : avro_value_set_bytes(to, bytes, size);
	return failed ? flow_avro_c_failed(host, error) : FLOW_OK;
}

/* A number of two's complement, with its sign in front where it fills a fixed. */
static inline flow_status
flow_avro_c_put_unscaled(const flow_host *host, const char *bytes, uint64_t size, avro_value_t *to, flow_error *error)
{
	if (avro_value_get_type(to) != AVRO_FIXED)
		return flow_avro_c_put_bytes(host, bytes, size, to, error);
	uint64_t wide = (uint64_t)avro_schema_fixed_size(avro_value_get_schema(to));
	if (size > wide)
		return flow_fail(host, error, FLOW_E_RANGE, "a decimal that %llu bytes do not hold", (unsigned long long)wide);
	char *all = (char *)host->allocate(wide + 1);
	if (all == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	memset(all, size != 0 && (uint8_t)bytes[0] >= 0x80 ? 0xFF : 0, wide);
	if (size != 0)
		memcpy(all + (wide - size), bytes, size);
	flow_status status = flow_avro_c_put_bytes(host, all, wide, to, error);
	host->release(all);
	return status;
}

static inline char *
flow_avro_c_long(char *at, int64_t number)
{
	uint64_t rest = ((uint64_t)number << 1) ^ (uint64_t)(number >> 63);
	for (; rest >= 0x80; rest >>= 7)
		*at++ = (char)(rest | 0x80);
	*at++ = (char)rest;
	return at;
}

static inline flow_status
flow_avro_c_put_decimal(const flow_host *host, const flow_schema *schema, const flow_value *value, avro_value_t *to,
                        flow_error *error)
{
	char digits[FLOW_DECIMAL_MAX_BYTES], whole[FLOW_DECIMAL_MAX_BYTES + 20];
	uint64_t size;
	const flow_decimal *decimal = value->as.decimal;
	int is_big = schema->precision == 0, is_zero = decimal->count == 1 && decimal->digits[0] == '0';
	int32_t scale = is_big ? decimal->scale : schema->scale;
	int64_t count = (int64_t)decimal->count + scale - decimal->scale;
	if (flow_decimal_to_bytes(decimal, scale, digits, &size) != FLOW_OK ||
	    (!is_big && !is_zero && count > schema->precision))
		return flow_fail(host, error, FLOW_E_RANGE, "a decimal that does not fit the schema's precision and scale");
	if (!is_big)
		return flow_avro_c_put_unscaled(host, digits, size, to, error);
	char *at = flow_avro_c_long(whole, (int64_t)size);
	if (size != 0)
		memcpy(at, digits, size);
	at = flow_avro_c_long(at + size, scale);
	return flow_avro_c_put_bytes(host, whole, (uint64_t)(at - whole), to, error);
}

static inline flow_status
flow_avro_c_put_uint64(const flow_host *host, uint64_t number, avro_value_t *to, flow_error *error)
{
	char bytes[9] = { 0 };
	for (int i = 8; i > 0; i--, number >>= 8)
		bytes[i] = (char)number;
	int first = 0;
	while (first < 8 && bytes[first] == 0 && (uint8_t)bytes[first + 1] < 0x80)
		first++;
	return flow_avro_c_put_unscaled(host, bytes + first, (uint64_t)(9 - first), to, error);
}

static inline flow_status
flow_avro_c_put_symbol(const flow_host *host, const flow_schema *schema, const flow_value *value, avro_value_t *to,
                       flow_error *error)
{
	flow_slice symbol = flow_value_slice(value);
	for (uint32_t i = 0; i < schema->symbol_count; i++)
		if (flow_slice_equal(schema->symbols[i], symbol))
			return avro_value_set_enum(to, (int)i) ? flow_avro_c_failed(host, error) : FLOW_OK;
	return flow_fail(host, error, FLOW_E_RANGE, "'%.*s' is no symbol of the enum", (int)symbol.size, symbol.data);
}

static inline flow_status
flow_avro_c_put_uuid(const flow_host *host, const flow_value *value, avro_value_t *to, flow_error *error)
{
	char text[FLOW_UUID_TEXT];
	if (avro_value_get_type(to) == AVRO_FIXED)
		return flow_avro_c_put_bytes(host, value->as.text, 16, to, error);
	flow_print_uuid(value->as.text, text);
	return flow_avro_c_put_text(host, flow_slice_make(text, sizeof(text)), to, error);
}

static inline flow_status
flow_avro_c_put_list(const flow_host *host, const flow_schema *schema, const flow_list *list, avro_value_t *to,
                     uint32_t depth, flow_error *error)
{
	for (uint64_t i = 0; i < list->count; i++) {
		avro_value_t item;
		if (avro_value_append(to, &item, NULL) != 0)
			return flow_avro_c_failed(host, error);
		flow_status status = flow_avro_c_put(host, schema->element, &list->items[i], &item, depth, error);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

static inline flow_status
flow_avro_c_put_map(const flow_host *host, const flow_schema *schema, const flow_map *map, avro_value_t *to, uint32_t depth,
                    flow_error *error)
{
	for (uint64_t i = 0; i < map->count; i++) {
		flow_slice key = flow_value_slice(&map->entries[i].key);
		avro_value_t item;
		if (key.size != 0 && memchr(key.data, '\0', key.size) != NULL)
			return flow_fail(host, error, FLOW_E_RANGE, "avro-c cannot hold a map's key with a NUL in it");
		char *name = (char *)host->allocate(key.size + 1);
		if (name == NULL)
			return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
		if (key.size != 0)
			memcpy(name, key.data, key.size);
		name[key.size] = '\0';
		int failed = avro_value_add(to, name, &item, NULL, NULL);
		host->release(name);
		if (failed)
			return flow_avro_c_failed(host, error);
		flow_status status = flow_avro_c_put(host, schema->element, &map->entries[i].value, &item, depth, error);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

static inline flow_status
flow_avro_c_put_record(const flow_host *host, const flow_schema *schema, const flow_value *value, avro_value_t *to,
                       uint32_t depth, flow_error *error)
{
	size_t fields = 0;
	if (avro_value_get_size(to, &fields) != 0 || fields != schema->field_count || value->size != schema->field_count)
		return flow_avro_c_mismatch(host, error);
	for (uint32_t i = 0; i < schema->field_count; i++) {
		avro_value_t field;
		if (avro_value_get_by_index(to, i, &field, NULL) != 0)
			return flow_avro_c_failed(host, error);
		flow_status status =
		    flow_avro_c_put(host, schema->fields[i]->schema, &value->as.record[i], &field, depth, error);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

/* One that is no union and no null. */
static inline flow_status
flow_avro_c_put_plain(const flow_host *host, const flow_schema *schema, const flow_value *value, avro_value_t *to,
                      uint32_t depth, flow_error *error)
{
	static const uint8_t types[] = { FLOW_NULL,   FLOW_NULL,  FLOW_BOOL,  FLOW_INT64,   FLOW_INT64, FLOW_UINT64, FLOW_FLOAT64,
		                             FLOW_FLOAT64, FLOW_DECIMAL, FLOW_STRING, FLOW_BYTES, FLOW_BYTES, FLOW_STRING, FLOW_DATE,
		                             FLOW_TIME,   FLOW_TIMESTAMP, FLOW_UUID, FLOW_LIST, FLOW_MAP, FLOW_RECORD };
	if (schema->kind == FLOW_KIND_ANY || schema->kind >= FLOW_COUNT(types))
		return flow_fail(host, error, FLOW_E_UNSUPPORTED, "values without a declared type cannot be handed to avro-c");
	if (value->type != types[schema->kind])
		return flow_fail(host, error, FLOW_E_TYPE, "a value has another type than its schema");
	if (!flow_avro_c_fits(schema, to))
		return flow_avro_c_mismatch(host, error);
	int failed;
	switch (schema->kind) {
	case FLOW_KIND_BOOL:
		failed = avro_value_set_boolean(to, (int)value->as.int64);
		break;
	case FLOW_KIND_FLOAT32:
		failed = avro_value_set_float(to, (float)value->as.float64);
		break;
	case FLOW_KIND_FLOAT64:
		failed = avro_value_set_double(to, value->as.float64);
		break;
	case FLOW_KIND_UINT64:
		return flow_avro_c_put_uint64(host, value->as.uint64, to, error);
	case FLOW_KIND_DECIMAL:
		return flow_avro_c_put_decimal(host, schema, value, to, error);
	case FLOW_KIND_STRING:
		return flow_avro_c_put_text(host, flow_value_slice(value), to, error);
	case FLOW_KIND_BYTES:
	case FLOW_KIND_FIXED:
		return flow_avro_c_put_bytes(host, value->as.text, value->size, to, error);
	case FLOW_KIND_ENUM:
		return flow_avro_c_put_symbol(host, schema, value, to, error);
	case FLOW_KIND_UUID:
		return flow_avro_c_put_uuid(host, value, to, error);
	case FLOW_KIND_LIST:
		return flow_avro_c_put_list(host, schema, value->as.list, to, depth, error);
	case FLOW_KIND_MAP:
		return flow_avro_c_put_map(host, schema, value->as.map, to, depth, error);
	case FLOW_KIND_RECORD:
		return flow_avro_c_put_record(host, schema, value, to, depth, error);
	default: /* whole numbers, dates and times */
		if (flow_avro_c_is_short(schema) && value->as.int64 != (int32_t)value->as.int64)
			return flow_fail(host, error, FLOW_E_RANGE, "%lld does not fit an int", (long long)value->as.int64);
		failed = flow_avro_c_is_short(schema) ? avro_value_set_int(to, (int32_t)value->as.int64)
		                                      : avro_value_set_long(to, value->as.int64);
		break;
	}
	return failed ? flow_avro_c_failed(host, error) : FLOW_OK;
}

static inline flow_status
flow_avro_c_put(const flow_host *host, const flow_schema *schema, const flow_value *value, avro_value_t *to, uint32_t depth,
                flow_error *error)
{
	int nullable = flow_schema_nullable(schema), is_union = schema->kind == FLOW_KIND_UNION;
	if (depth >= FLOW_AVRO_C_DEPTH)
		return flow_fail(host, error, FLOW_E_LIMIT, "values within each other more than %d deep", FLOW_AVRO_C_DEPTH);
	if (schema->kind == FLOW_KIND_NULL || (!nullable && flow_is_null(*value)))
		return !flow_is_null(*value) || avro_value_get_type(to) != AVRO_NULL ? flow_avro_c_mismatch(host, error)
		       : avro_value_set_null(to)                                     ? flow_avro_c_failed(host, error)
		                                                                     : FLOW_OK;
	if (!nullable && !is_union)
		return flow_avro_c_put_plain(host, schema, value, to, depth + 1, error);
	avro_value_t branch;
	uint32_t index = is_union ? value->branch : 0;
	if (flow_is_null(*value))
		index = schema->null_index;
	else if (is_union && index >= schema->branch_count)
		return flow_avro_c_mismatch(host, error);
	else if (nullable && index >= schema->null_index)
		index++;
	if (avro_value_get_type(to) != AVRO_UNION)
		return flow_avro_c_mismatch(host, error);
	if (avro_value_set_branch(to, (int)index, &branch) != 0)
		return flow_avro_c_failed(host, error);
	if (flow_is_null(*value))
		return avro_value_set_null(&branch) ? flow_avro_c_failed(host, error) : FLOW_OK;
	const flow_schema *plain = is_union ? schema->branches[value->branch] : schema;
	return flow_avro_c_put_plain(host, plain, value, &branch, depth + 1, error);
}

/* Puts a value into a datum of avro-c, which is reset first, so that one datum serves many rows. */
static inline flow_status
flow_avro_c_from_value(const flow_host *host, const flow_schema *schema, const flow_value *value, avro_value_t *datum,
                       flow_error *error)
{
	if (avro_value_reset(datum) != 0)
		return flow_avro_c_failed(host, error);
	return flow_avro_c_put(host, schema, value, datum, 0, error);
}

/* --- avro-c's to ours -------------------------------------------------------------------------------------------------- */

static inline flow_status flow_avro_c_get(const flow_host *host, const flow_schema *schema, flow_builder *memory,
                                          const avro_value_t *from, flow_value *value, uint32_t depth, flow_error *error);

static inline flow_status
flow_avro_c_no_memory(const flow_host *host, flow_error *error)
{
	return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
}

/* What a string, bytes or fixed holds; it stays avro-c's. */
static inline int
flow_avro_c_slice(const avro_value_t *from, flow_slice *bytes)
{
	const void *data = NULL;
	const char *text = NULL;
	size_t size = 0;
	int failed;
	switch (avro_value_get_type(from)) {
	case AVRO_STRING:
		failed = avro_value_get_string(from, &text, &size);
		*bytes = flow_slice_make(text, size == 0 ? 0 : size - 1); /* with the NUL */
		return failed;
	case AVRO_FIXED:
		failed = avro_value_get_fixed(from, &data, &size);
		break;
	default:
		failed = avro_value_get_bytes(from, &data, &size);
		break;
	}
	*bytes = flow_slice_make((const char *)data, size);
	return failed;
}

static inline flow_status
flow_avro_c_get_text(const flow_host *host, uint8_t type, flow_builder *memory, const avro_value_t *from, flow_value *value,
                     flow_error *error)
{
	flow_slice bytes;
	if (flow_avro_c_slice(from, &bytes) != 0)
		return flow_avro_c_failed(host, error);
	if (bytes.size > UINT32_MAX)
		return flow_fail(host, error, FLOW_E_LIMIT, "a text of more than 4 GiB");
	if (type == FLOW_STRING && flow_utf8_check(bytes.data, bytes.size) != bytes.size)
		return flow_fail(host, error, FLOW_E_DECODE, "a string that is not UTF-8");
	const char *copy = flow_builder_copy(memory, bytes.data, bytes.size);
	if (copy == NULL)
		return flow_avro_c_no_memory(host, error);
	*value = flow_text(type, copy, (uint32_t)bytes.size);
	return FLOW_OK;
}

/* A zigzag number within `bytes`; NULL: there is none. */
static inline const char *
flow_avro_c_read_long(const char *at, const char *end, int64_t *number)
{
	uint64_t raw = 0;
	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		uint8_t byte = (uint8_t)*at++;
		raw |= (uint64_t)(byte & 0x7F) << shift;
		if (byte < 0x80) {
			*number = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
			return at;
		}
	}
	return NULL;
}

static inline flow_status
flow_avro_c_get_decimal(const flow_host *host, const flow_schema *schema, flow_builder *memory, const avro_value_t *from,
                        flow_value *value, flow_error *error)
{
	flow_slice bytes;
	int64_t size, scale = schema->scale;
	if (flow_avro_c_slice(from, &bytes) != 0)
		return flow_avro_c_failed(host, error);
	if (schema->precision == 0) {
		const char *end = bytes.data + bytes.size, *digits = flow_avro_c_read_long(bytes.data, end, &size);
		if (digits == NULL || size < 0 || size > end - digits ||
		    flow_avro_c_read_long(digits + size, end, &scale) != end || scale > FLOW_DECIMAL_MAX_EXPONENT ||
		    scale < -FLOW_DECIMAL_MAX_EXPONENT)
			return flow_fail(host, error, FLOW_E_DECODE, "bytes that are no big-decimal");
		bytes = flow_slice_make(digits, (uint64_t)size);
	}
	flow_status status = flow_decimal_from_bytes(bytes, (int32_t)scale, memory, value);
	if (status == FLOW_E_MEMORY)
		return flow_avro_c_no_memory(host, error);
	if (status != FLOW_OK || (schema->precision != 0 && value->as.decimal->count > (uint32_t)schema->precision))
		return flow_fail(host, error, FLOW_E_RANGE, "a decimal of more digits than the schema says");
	return FLOW_OK;
}

static inline flow_status
flow_avro_c_get_uint64(const flow_host *host, const avro_value_t *from, flow_value *value, flow_error *error)
{
	flow_slice bytes;
	uint64_t number = 0, i = 0;
	if (flow_avro_c_slice(from, &bytes) != 0)
		return flow_avro_c_failed(host, error);
	int negative = bytes.size != 0 && (uint8_t)bytes.data[0] >= 0x80;
	while (i < bytes.size && bytes.data[i] == 0)
		i++;
	if (negative || bytes.size - i > 8)
		return flow_fail(host, error, FLOW_E_RANGE, "a number outside of 0 to 2^64 - 1");
	for (; i < bytes.size; i++)
		number = number << 8 | (uint8_t)bytes.data[i];
	*value = flow_uint64(number);
	return FLOW_OK;
}

static inline flow_status
flow_avro_c_get_uuid(const flow_host *host, flow_builder *memory, const avro_value_t *from, flow_value *value,
                     flow_error *error)
{
	flow_slice bytes;
	char *copy = (char *)flow_builder_alloc(memory, 16);
	if (copy == NULL)
		return flow_avro_c_no_memory(host, error);
	if (flow_avro_c_slice(from, &bytes) != 0)
		return flow_avro_c_failed(host, error);
	if (avro_value_get_type(from) == AVRO_FIXED && bytes.size == 16)
		memcpy(copy, bytes.data, 16);
	else if (flow_parse_uuid(bytes, copy) != FLOW_OK)
		return flow_fail(host, error, FLOW_E_DECODE, "a text that is no uuid");
	*value = flow_text(FLOW_UUID, copy, 16);
	return FLOW_OK;
}

static inline flow_status
flow_avro_c_get_list(const flow_host *host, const flow_schema *schema, flow_builder *memory, const avro_value_t *from,
                     flow_value *value, uint32_t depth, flow_error *error)
{
	size_t count = 0;
	if (avro_value_get_size(from, &count) != 0)
		return flow_avro_c_failed(host, error);
	flow_list *list = (flow_list *)flow_builder_alloc(memory, sizeof(*list));
	flow_value *items = (flow_value *)flow_builder_alloc(memory, (count + 1) * sizeof(*items));
	if (list == NULL || items == NULL)
		return flow_avro_c_no_memory(host, error);
	for (size_t i = 0; i < count; i++) {
		avro_value_t item;
		if (avro_value_get_by_index(from, i, &item, NULL) != 0)
			return flow_avro_c_failed(host, error);
		flow_status status = flow_avro_c_get(host, schema->element, memory, &item, &items[i], depth, error);
		if (status != FLOW_OK)
			return status;
	}
	list->items = items;
	list->count = count;
	*value = flow_cell(FLOW_LIST, 0);
	value->as.list = list;
	return FLOW_OK;
}

static inline flow_status
flow_avro_c_get_map(const flow_host *host, const flow_schema *schema, flow_builder *memory, const avro_value_t *from,
                    flow_value *value, uint32_t depth, flow_error *error)
{
	size_t count = 0;
	if (avro_value_get_size(from, &count) != 0)
		return flow_avro_c_failed(host, error);
	flow_map *map = (flow_map *)flow_builder_alloc(memory, sizeof(*map));
	flow_map_entry *entries = (flow_map_entry *)flow_builder_alloc(memory, (count + 1) * sizeof(*entries));
	if (map == NULL || entries == NULL)
		return flow_avro_c_no_memory(host, error);
	for (size_t i = 0; i < count; i++) {
		avro_value_t item;
		const char *name = NULL;
		if (avro_value_get_by_index(from, i, &item, &name) != 0)
			return flow_avro_c_failed(host, error);
		uint64_t size = strlen(name);
		const char *copy = flow_builder_copy(memory, name, size);
		if (copy == NULL)
			return flow_avro_c_no_memory(host, error);
		if (flow_utf8_check(name, size) != size)
			return flow_fail(host, error, FLOW_E_DECODE, "a map's key that is not UTF-8");
		entries[i].key = flow_string(copy, (uint32_t)size);
		flow_status status = flow_avro_c_get(host, schema->element, memory, &item, &entries[i].value, depth, error);
		if (status != FLOW_OK)
			return status;
	}
	map->entries = entries;
	map->count = count;
	*value = flow_cell(FLOW_MAP, 0);
	value->as.map = map;
	return FLOW_OK;
}

static inline flow_status
flow_avro_c_get_record(const flow_host *host, const flow_schema *schema, flow_builder *memory, const avro_value_t *from,
                       flow_value *value, uint32_t depth, flow_error *error)
{
	size_t fields = 0;
	if (avro_value_get_size(from, &fields) != 0 || fields != schema->field_count)
		return flow_avro_c_mismatch(host, error);
	flow_value *cells = flow_builder_cells(memory, schema->field_count + 1);
	if (cells == NULL)
		return flow_avro_c_no_memory(host, error);
	for (uint32_t i = 0; i < schema->field_count; i++) {
		avro_value_t field;
		if (avro_value_get_by_index(from, i, &field, NULL) != 0)
			return flow_avro_c_failed(host, error);
		flow_status status =
		    flow_avro_c_get(host, schema->fields[i]->schema, memory, &field, &cells[i], depth, error);
		if (status != FLOW_OK)
			return status;
	}
	*value = flow_record(cells, schema->field_count);
	return FLOW_OK;
}

static inline flow_status
flow_avro_c_get_symbol(const flow_host *host, const flow_schema *schema, const avro_value_t *from, flow_value *value,
                       flow_error *error)
{
	int index = -1;
	if (avro_value_get_enum(from, &index) != 0)
		return flow_avro_c_failed(host, error);
	if (index < 0 || (uint32_t)index >= schema->symbol_count)
		return flow_fail(host, error, FLOW_E_RANGE, "the enum has no symbol %d", index);
	*value = flow_string(schema->symbols[index].data, (uint32_t)schema->symbols[index].size);
	return FLOW_OK;
}

/* One that is no union and no null. */
static inline flow_status
flow_avro_c_get_plain(const flow_host *host, const flow_schema *schema, flow_builder *memory, const avro_value_t *from,
                      flow_value *value, uint32_t depth, flow_error *error)
{
	int failed, truth = 0;
	int32_t small = 0;
	int64_t number = 0;
	float single = 0;
	double wide = 0;
	switch (schema->kind) {
	case FLOW_KIND_ANY:
		return flow_fail(host, error, FLOW_E_UNSUPPORTED, "values without a declared type cannot be taken from avro-c");
	case FLOW_KIND_BOOL:
		failed = avro_value_get_boolean(from, &truth);
		*value = flow_bool(truth);
		break;
	case FLOW_KIND_FLOAT32:
		failed = avro_value_get_float(from, &single);
		*value = flow_float64(single);
		break;
	case FLOW_KIND_FLOAT64:
		failed = avro_value_get_double(from, &wide);
		*value = flow_float64(wide);
		break;
	case FLOW_KIND_UINT64:
		return flow_avro_c_get_uint64(host, from, value, error);
	case FLOW_KIND_DECIMAL:
		return flow_avro_c_get_decimal(host, schema, memory, from, value, error);
	case FLOW_KIND_STRING:
		return flow_avro_c_get_text(host, FLOW_STRING, memory, from, value, error);
	case FLOW_KIND_BYTES:
	case FLOW_KIND_FIXED:
		return flow_avro_c_get_text(host, FLOW_BYTES, memory, from, value, error);
	case FLOW_KIND_ENUM:
		return flow_avro_c_get_symbol(host, schema, from, value, error);
	case FLOW_KIND_UUID:
		return flow_avro_c_get_uuid(host, memory, from, value, error);
	case FLOW_KIND_LIST:
		return flow_avro_c_get_list(host, schema, memory, from, value, depth, error);
	case FLOW_KIND_MAP:
		return flow_avro_c_get_map(host, schema, memory, from, value, depth, error);
	case FLOW_KIND_RECORD:
		return flow_avro_c_get_record(host, schema, memory, from, value, depth, error);
	default: /* whole numbers, dates and times */
		failed = flow_avro_c_is_short(schema) ? avro_value_get_int(from, &small) : avro_value_get_long(from, &number);
		*value = flow_cell(flow_avro_c_cell_type(schema), flow_avro_c_is_short(schema) ? small : number);
		value->unit = schema->kind == FLOW_KIND_TIME || schema->kind == FLOW_KIND_TIMESTAMP ? schema->unit : 0;
		value->flags = schema->kind == FLOW_KIND_TIMESTAMP && (schema->flags & FLOW_SCHEMA_ZONED) != 0 ? FLOW_ZONED : 0;
		break;
	}
	return failed ? flow_avro_c_failed(host, error) : FLOW_OK;
}

static inline flow_status
flow_avro_c_get(const flow_host *host, const flow_schema *schema, flow_builder *memory, const avro_value_t *from,
                flow_value *value, uint32_t depth, flow_error *error)
{
	int nullable = flow_schema_nullable(schema), is_union = schema->kind == FLOW_KIND_UNION;
	avro_value_t branch = *from;
	int index = 0;
	if (depth >= FLOW_AVRO_C_DEPTH)
		return flow_fail(host, error, FLOW_E_LIMIT, "values within each other more than %d deep", FLOW_AVRO_C_DEPTH);
	*value = flow_null();
	if (schema->kind != FLOW_KIND_NULL && (nullable || is_union)) {
		if (avro_value_get_type(from) != AVRO_UNION)
			return flow_avro_c_mismatch(host, error);
		if (avro_value_get_discriminant(from, &index) != 0 || avro_value_get_current_branch(from, &branch) != 0)
			return flow_avro_c_failed(host, error);
		if (nullable && (uint32_t)index == schema->null_index)
			return FLOW_OK;
		index -= nullable && (uint32_t)index > schema->null_index;
		if (index < 0 || (is_union && (uint32_t)index >= schema->branch_count))
			return flow_avro_c_mismatch(host, error);
	}
	const flow_schema *plain = is_union ? schema->branches[index] : schema;
	if (!flow_avro_c_fits(plain, &branch))
		return flow_avro_c_mismatch(host, error);
	if (schema->kind == FLOW_KIND_NULL)
		return FLOW_OK;
	flow_status status = flow_avro_c_get_plain(host, plain, memory, &branch, value, depth + 1, error);
	value->branch = is_union ? (uint8_t)index : 0;
	return status;
}

/* Takes a datum of avro-c as a value, for a row of `memory`. */
static inline flow_status
flow_avro_c_to_value(const flow_host *host, const flow_schema *schema, flow_builder *memory, const avro_value_t *datum,
                     flow_value *value, flow_error *error)
{
	return flow_avro_c_get(host, schema, memory, datum, value, 0, error);
}

#ifdef __cplusplus
}
#endif
#endif
