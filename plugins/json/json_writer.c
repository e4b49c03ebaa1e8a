/* The writer: values as JSON, fields in the order of their schema, nothing bent to fit. */
#include <math.h>

#include "flow_sdk/number.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"
#include "flow_sdk/time.h"
#include "json.h"

#define STRING_PIECE 4096u /* room is made for so many bytes of a string at once */

struct flow_encoder {
	const json_serde *serde;
	const flow_schema *schema;
	const json_node *node;
};

/* Where the next byte goes. */
struct output {
	char *at;
	char *end;
	flow_buffer *buffer;
};

flow_status
json_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error)
{
	(void)serde;
	(void)schema;
	(void)error;
	return FLOW_OK; /* every kind has its form; single values may still be refused */
}

flow_status
json_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error)
{
	const json_serde *s = (const json_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	struct flow_encoder *e = (struct flow_encoder *)flow_new(s->host, sizeof(*e));
	if (e == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	e->serde = s;
	e->schema = schemas->retain(schema);
	e->node = json_node_create(s->host, schema);
	if (e->node == NULL) {
		json_encoder_close(e);
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	}
	*encoder = e;
	return FLOW_OK;
}

void
json_encoder_close(flow_encoder *e)
{
	const flow_host *host = e->serde->host;
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	json_node_release(host, e->node);
	schemas->release(e->schema);
	host->release(e);
}

/* --- output ---------------------------------------------------------------------------------------------------------- */

static int
make_room(struct output *out, uint64_t size)
{
	out->buffer->size = (uint64_t)(out->at - out->buffer->data);
	char *at = flow_buffer_reserve(out->buffer, size);
	if (at == NULL)
		return 0;
	out->at = at;
	out->end = out->buffer->data + out->buffer->capacity;
	return 1;
}

static inline int
has_room(struct output *out, uint64_t size)
{
	return __builtin_expect((uint64_t)(out->end - out->at) >= size, 1) || make_room(out, size);
}

static inline flow_status
put(struct output *out, const char *text, uint64_t size)
{
	if (!has_room(out, size))
		return FLOW_E_MEMORY;
	memcpy(out->at, text, size);
	out->at += size;
	return FLOW_OK;
}

/* --- scalars --------------------------------------------------------------------------------------------------------- */

static flow_status
put_string(struct output *out, const char *text, uint64_t size)
{
	int high = 0;
	uint64_t at = 0;
	flow_status status = put(out, "\"", 1);
	do {
		uint64_t piece = size - at < STRING_PIECE ? size - at : STRING_PIECE;
		if (status != FLOW_OK || !has_room(out, piece * JSON_ESCAPED_MAX + JSON_ESCAPED_SLACK))
			return FLOW_E_MEMORY;
		out->at = json_put_escaped(text + at, piece, out->at, &high);
		at += piece;
	} while (at < size);
	*out->at++ = '"';
	return high && flow_utf8_check(text, size) != size ? FLOW_E_ENCODE : FLOW_OK;
}

static flow_status
put_quoted(struct output *out, const flow_value *value)
{
	if (!has_room(out, FLOW_TIME_TEXT_MAX + 2))
		return FLOW_E_MEMORY;
	*out->at++ = '"';
	if (value->type == FLOW_UUID) {
		flow_print_uuid(value->as.text, out->at);
		out->at += FLOW_UUID_TEXT;
	} else {
		out->at += flow_print_time(value, out->at);
	}
	*out->at++ = '"';
	return FLOW_OK;
}

static flow_status
put_bytes(struct output *out, const flow_value *value)
{
	uint64_t size = flow_base64_size(value->size);
	if (!has_room(out, size + 2))
		return FLOW_E_MEMORY;
	*out->at++ = '"';
	flow_print_base64(flow_value_slice(value), out->at);
	out->at += size;
	*out->at++ = '"';
	return FLOW_OK;
}

/* NaN and the infinities. */
static flow_status
put_special(const json_format *format, struct output *out, int nan, int negative)
{
	if (format->nan == JSON_NAN_ERROR)
		return FLOW_E_ENCODE;
	if (format->nan == JSON_NAN_NULL)
		return put(out, "null", 4);
	if (nan)
		return put(out, "\"NaN\"", 5);
	return negative ? put(out, "\"-Infinity\"", 11) : put(out, "\"Infinity\"", 10);
}

static flow_status
put_float(const json_format *format, struct output *out, double number)
{
	if (!isfinite(number))
		return put_special(format, out, isnan(number), number < 0);
	if (!has_room(out, FLOW_NUMBER_TEXT_MAX))
		return FLOW_E_MEMORY;
	out->at += flow_print_float64(number, out->at);
	return FLOW_OK;
}

static flow_status
put_decimal(const json_format *format, struct output *out, const flow_decimal *decimal)
{
	if (decimal->special != 0)
		return put_special(format, out, decimal->special == FLOW_DECIMAL_NAN, decimal->negative);
	if (!has_room(out, (uint64_t)decimal->count + 66))
		return FLOW_E_MEMORY;
	if (format->decimals_as_string)
		*out->at++ = '"';
	out->at += flow_print_decimal(decimal, out->at);
	if (format->decimals_as_string)
		*out->at++ = '"';
	return FLOW_OK;
}

/* --- values ---------------------------------------------------------------------------------------------------------- */

static flow_status put_value(const json_format *format, struct output *out, const json_node *node,
							 const flow_value *value, uint32_t depth);

static flow_status
put_list(const json_format *format, struct output *out, const json_node *node, const flow_list *list, uint32_t depth)
{
	flow_status status = put(out, "[", 1);
	for (uint64_t i = 0; i < list->count && status == FLOW_OK; i++) {
		if (i != 0)
			status = put(out, ",", 1);
		if (status == FLOW_OK)
			status = put_value(format, out, node->element, &list->items[i], depth + 1);
	}
	return status == FLOW_OK ? put(out, "]", 1) : status;
}

static flow_status
put_map(const json_format *format, struct output *out, const json_node *node, const flow_map *map, uint32_t depth)
{
	flow_status status = put(out, "{", 1);
	for (uint64_t i = 0; i < map->count && status == FLOW_OK; i++) {
		const flow_map_entry *entry = &map->entries[i];
		if (entry->key.type != FLOW_STRING)
			return FLOW_E_ENCODE;
		if (i != 0)
			status = put(out, ",", 1);
		if (status == FLOW_OK)
			status = put_string(out, entry->key.as.text, entry->key.size);
		if (status == FLOW_OK)
			status = put(out, ":", 1);
		if (status == FLOW_OK)
			status = put_value(format, out, node->element, &entry->value, depth + 1);
	}
	return status == FLOW_OK ? put(out, "}", 1) : status;
}

static flow_status
put_record(const json_format *format, struct output *out, const json_node *node, const flow_value *value,
		   uint32_t depth)
{
	if (node->kind != FLOW_KIND_RECORD || value->size != node->field_count)
		return FLOW_E_ENCODE;
	if (value->size == 0)
		return put(out, "{}", 2);
	for (uint32_t i = 0; i < value->size; i++) {
		const json_field *field = &node->fields[i];
		if (!has_room(out, (uint64_t)field->key_size + FLOW_NUMBER_TEXT_MAX))
			return FLOW_E_MEMORY;
		memcpy(out->at, field->key, field->key_size);
		if (i == 0)
			*out->at = '{'; /* where the others have their comma */
		out->at += field->key_size;
		flow_status status = put_value(format, out, field->node, &value->as.record[i], depth + 1);
		if (status != FLOW_OK)
			return status;
	}
	return put(out, "}", 1);
}

static flow_status
put_nested(const json_format *format, struct output *out, const json_node *node, const flow_value *value,
		   uint32_t depth)
{
	if (depth >= JSON_WRITE_DEPTH)
		return FLOW_E_LIMIT;
	if (value->type == FLOW_RECORD)
		return put_record(format, out, node, value, depth);
	if (node->element == NULL)
		return FLOW_E_ENCODE; /* not what the schema says */
	if (value->type == FLOW_LIST)
		return put_list(format, out, node, value->as.list, depth);
	return put_map(format, out, node, value->as.map, depth);
}

static flow_status
put_value(const json_format *format, struct output *out, const json_node *node, const flow_value *value, uint32_t depth)
{
	if (__builtin_expect(node->kind == FLOW_KIND_UNION, 0) && value->type != FLOW_NULL) {
		if (value->branch >= node->branch_count)
			return FLOW_E_ENCODE;
		node = node->branches[value->branch];
	}
	switch (value->type) {
	case FLOW_NULL:
		return put(out, "null", 4);
	case FLOW_BOOL:
		return value->as.int64 != 0 ? put(out, "true", 4) : put(out, "false", 5);
	case FLOW_INT64:
	case FLOW_UINT64:
		if (!has_room(out, FLOW_NUMBER_TEXT_MAX))
			return FLOW_E_MEMORY;
		out->at += value->type == FLOW_INT64 ? flow_print_int64(value->as.int64, out->at)
											 : flow_print_uint64(value->as.uint64, out->at);
		return FLOW_OK;
	case FLOW_FLOAT64:
		return put_float(format, out, value->as.float64);
	case FLOW_DECIMAL:
		return put_decimal(format, out, value->as.decimal);
	case FLOW_STRING:
		return put_string(out, value->as.text, value->size);
	case FLOW_BYTES:
		return put_bytes(out, value);
	case FLOW_DATE:
	case FLOW_TIME:
	case FLOW_TIMESTAMP:
	case FLOW_UUID:
		return put_quoted(out, value);
	case FLOW_LIST:
	case FLOW_MAP:
	case FLOW_RECORD:
		return put_nested(format, out, node, value, depth);
	default:
		return FLOW_E_ENCODE;
	}
}

flow_status
json_encode(flow_encoder *e, const flow_batch *batch, int use_key, flow_buffer *buffer, uint64_t *ends,
			flow_status *statuses, flow_error *error)
{
	const flow_value *column = use_key ? batch->key : batch->value;
	const json_format *format = &e->serde->format;
	if (flow_buffer_reserve(buffer, FLOW_NUMBER_TEXT_MAX) == NULL)
		return flow_fail(e->serde->host, error, FLOW_E_MEMORY, "json: out of memory for the output");
	struct output out = { buffer->data + buffer->size, buffer->data + buffer->capacity, buffer };
	for (FLOW_ROWS(batch, i)) {
		uint64_t before = (uint64_t)(out.at - buffer->data);
		flow_status status = put_value(format, &out, e->node, &column[flow_row(batch, i)], 0);
		if (status == FLOW_OK && ends == NULL)
			status = put(&out, "\n", 1);
		if (status == FLOW_E_MEMORY) {
			buffer->size = before;
			return flow_fail(e->serde->host, error, status, "json: out of memory for the output");
		}
		if (status != FLOW_OK) {
			out.at = buffer->data + before;
			statuses[i] = status;
		}
		if (ends != NULL)
			ends[i] = (uint64_t)(out.at - buffer->data);
	}
	buffer->size = (uint64_t)(out.at - buffer->data);
	return FLOW_OK;
}
