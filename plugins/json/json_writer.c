/* The writer: values as JSON, fields in the order of their schema, nothing bent to fit. */
#include <math.h>

#include "flow_sdk/number.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"
#include "flow_sdk/time.h"
#include "json_output.h"

#define TOO_DEEP "the record is nested deeper than 1000"
#define STRING_PIECE 4096u /* room is made for so many bytes of a string at once */

struct flow_encoder {
	const json_serde *serde;
	const flow_schema *schema;
	const json_node *node;
	int begun; /* an array: its bracket was written */
	int first; /* .. and nothing else */
};

flow_status
json_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error)
{
	const json_serde *s = (const json_serde *)serde;
	if (!s->format.avro)
		return FLOW_OK; /* every kind has its form; single values may still be refused */
	const json_node *node = json_node_create(s->host, schema, &s->format);
	if (node == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	int fits = !json_node_has(node, FLOW_KIND_ANY);
	json_node_release(s->host, node);
	return fits ? FLOW_OK
				: flow_fail(
					  s->host, error, FLOW_E_TYPE,
					  "json: Avro's encoding has no form for the type any: declare what the values are, or leave out "
					  "encoding = \"avro\"");
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
	e->node = json_node_create(s->host, schema, &s->format);
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

int
json_make_room(json_output *out, uint64_t size)
{
	out->buffer->size = (uint64_t)(out->at - out->buffer->data);
	char *at = flow_buffer_reserve(out->buffer, size);
	if (at == NULL)
		return 0;
	out->at = at;
	out->end = out->buffer->data + out->buffer->capacity;
	return 1;
}

static inline flow_status
put(json_output *out, const char *text, uint64_t size)
{
	if (!json_has_room(out, size))
		return FLOW_E_MEMORY;
	memcpy(out->at, text, size);
	out->at += size;
	return FLOW_OK;
}

/* --- scalars --------------------------------------------------------------------------------------------------------- */

static flow_status
refuse(json_output *out, flow_status status, const char *reason)
{
	out->reason = reason;
	return status;
}

static flow_status
put_string(json_output *out, const char *text, uint64_t size)
{
	int high = 0;
	uint64_t at = 0;
	flow_status status = put(out, "\"", 1);
	do {
		uint64_t piece = size - at < STRING_PIECE ? size - at : STRING_PIECE;
		if (status != FLOW_OK || !json_has_room(out, piece * JSON_ESCAPED_MAX + JSON_ESCAPED_SLACK))
			return FLOW_E_MEMORY;
		out->at = json_put_escaped(text + at, piece, out->at, &high);
		at += piece;
	} while (at < size);
	*out->at++ = '"';
	if (high && flow_utf8_check(text, size) != size)
		return refuse(out, FLOW_E_ENCODE, "a string is not valid UTF-8");
	return FLOW_OK;
}

static flow_status
put_quoted(json_output *out, const flow_value *value)
{
	if (!json_has_room(out, FLOW_TIME_TEXT_MAX + 2))
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
put_bytes(json_output *out, const flow_value *value)
{
	uint64_t size = flow_base64_size(value->size);
	if (!json_has_room(out, size + 2))
		return FLOW_E_MEMORY;
	*out->at++ = '"';
	flow_print_base64(flow_value_slice(value), out->at);
	out->at += size;
	*out->at++ = '"';
	return FLOW_OK;
}

/* NaN and the infinities. */
static flow_status
put_special(json_output *out, int nan, int negative)
{
	if (out->format->nan == JSON_NAN_ERROR)
		return refuse(out, FLOW_E_ENCODE, "JSON has no number for NaN and the infinities (option nan)");
	if (out->format->nan == JSON_NAN_NULL)
		return put(out, "null", 4);
	if (nan)
		return put(out, "\"NaN\"", 5);
	return negative ? put(out, "\"-Infinity\"", 11) : put(out, "\"Infinity\"", 10);
}

static flow_status
put_float(json_output *out, double number)
{
	if (!isfinite(number))
		return put_special(out, isnan(number), number < 0);
	if (!json_has_room(out, FLOW_NUMBER_TEXT_MAX))
		return FLOW_E_MEMORY;
	out->at += flow_print_float64(number, out->at);
	return FLOW_OK;
}

static flow_status
put_decimal(json_output *out, const flow_decimal *decimal)
{
	if (decimal->special != 0)
		return put_special(out, decimal->special == FLOW_DECIMAL_NAN, decimal->negative);
	if (!json_has_room(out, (uint64_t)decimal->count + 66))
		return FLOW_E_MEMORY;
	if (out->format->decimals_as_string)
		*out->at++ = '"';
	out->at += flow_print_decimal(decimal, out->at);
	if (out->format->decimals_as_string)
		*out->at++ = '"';
	return FLOW_OK;
}

/* --- values ---------------------------------------------------------------------------------------------------------- */

static flow_status put_value(json_output *out, const json_node *node, const flow_value *value, uint32_t depth);

/* In front of an item or key: a comma, and a line of its own if that is wanted. */
static flow_status
put_break(json_output *out, int first, uint32_t depth)
{
	if (!json_has_room(out, (uint64_t)depth * 2 + 2))
		return FLOW_E_MEMORY;
	if (!first)
		*out->at++ = ',';
	if (out->format->pretty) {
		*out->at++ = '\n';
		memset(out->at, ' ', (size_t)depth * 2);
		out->at += (size_t)depth * 2;
	}
	return FLOW_OK;
}

/* Behind the last one of `count`. */
static flow_status
put_close(json_output *out, const char *bracket, uint64_t count, uint32_t depth)
{
	flow_status status = count == 0 ? FLOW_OK : put_break(out, 1, depth);
	return status == FLOW_OK ? put(out, bracket, 1) : status;
}

static flow_status
put_list(json_output *out, const json_node *node, const flow_list *list, uint32_t depth)
{
	flow_status status = put(out, "[", 1);
	for (uint64_t i = 0; i < list->count && status == FLOW_OK; i++) {
		status = put_break(out, i == 0, depth + 1);
		if (status == FLOW_OK)
			status = put_value(out, node->element, &list->items[i], depth + 1);
	}
	return status == FLOW_OK ? put_close(out, "]", list->count, depth) : status;
}

/* The members of an object that are a map's; `first`: nothing stands in front of them. */
static flow_status
put_entries(json_output *out, const json_node *node, const flow_map *map, int first, uint32_t depth)
{
	flow_status status = FLOW_OK;
	for (uint64_t i = 0; i < map->count && status == FLOW_OK; i++) {
		const flow_map_entry *entry = &map->entries[i];
		if (entry->key.type != FLOW_STRING)
			return refuse(out, FLOW_E_ENCODE, "a key of a map is no string");
		status = put_break(out, first && i == 0, depth + 1);
		if (status == FLOW_OK)
			status = put_string(out, entry->key.as.text, entry->key.size);
		if (status == FLOW_OK)
			status = put(out, ": ", out->format->pretty ? 2 : 1);
		if (status == FLOW_OK)
			status = put_value(out, node->element, &entry->value, depth + 1);
	}
	return status;
}

static flow_status
put_map(json_output *out, const json_node *node, const flow_map *map, uint32_t depth)
{
	flow_status status = put(out, "{", 1);
	if (status == FLOW_OK)
		status = put_entries(out, node, map, 1, depth);
	return status == FLOW_OK ? put_close(out, "}", map->count, depth) : status;
}

/* Is a kept key one of the fields' too? */
static int
has_declared_key(const json_node *node, const flow_map *map)
{
	for (uint64_t i = 0; i < map->count; i++) {
		const flow_value *key = &map->entries[i].key;
		char padded[8] = { 0 };
		if (key->size < sizeof(padded) && key->size != 0)
			memcpy(padded, key->as.text, key->size);
		if (json_node_find(node, key->size < sizeof(padded) ? padded : key->as.text, key->size) >= 0)
			return 1;
	}
	return 0;
}

/* A record over several lines, or with the keys that were not declared beside its fields. */
static __attribute__((noinline)) flow_status
put_wide_record(json_output *out, const json_node *node, const flow_value *value, uint32_t depth)
{
	uint64_t count = 0;
	flow_status status = put(out, "{", 1);
	for (uint32_t i = 0; i < value->size && status == FLOW_OK; i++) {
		const json_field *field = &node->fields[i];
		const flow_value *cell = &value->as.record[i];
		if (i == node->extra_field) {
			if (cell->type == FLOW_NULL)
				continue;
			if (has_declared_key(node, cell->as.map))
				return refuse(out, FLOW_E_ENCODE, "a key in extra_field is a declared field's too");
			status = put_entries(out, field->node, cell->as.map, count == 0, depth);
			count += cell->as.map->count;
			continue;
		}
		status = put_break(out, count++ == 0, depth + 1);
		if (status == FLOW_OK)
			status = put(out, field->key + 1, field->key_size - 1); /* without its comma */
		if (status == FLOW_OK && out->format->pretty)
			status = put(out, " ", 1);
		if (status == FLOW_OK)
			status = put_value(out, field->node, cell, depth + 1);
	}
	return status == FLOW_OK ? put_close(out, "}", count, depth) : status;
}

static flow_status
put_record(json_output *out, const json_node *node, const flow_value *value, uint32_t depth)
{
	if (node->kind != FLOW_KIND_RECORD || value->size != node->field_count)
		return FLOW_E_ENCODE;
	if (__builtin_expect(out->format->pretty || node->extra_field != JSON_NO_FIELD, 0))
		return put_wide_record(out, node, value, depth);
	if (value->size == 0)
		return put(out, "{}", 2);
	for (uint32_t i = 0; i < value->size; i++) {
		const json_field *field = &node->fields[i];
		if (!json_has_room(out, (uint64_t)field->key_size + FLOW_NUMBER_TEXT_MAX))
			return FLOW_E_MEMORY;
		memcpy(out->at, field->key, field->key_size);
		if (i == 0)
			*out->at = '{'; /* where the others have their comma */
		out->at += field->key_size;
		flow_status status = put_value(out, field->node, &value->as.record[i], depth + 1);
		if (status != FLOW_OK)
			return status;
	}
	return put(out, "}", 1);
}

static flow_status
put_nested(json_output *out, const json_node *node, const flow_value *value, uint32_t depth)
{
	if (depth >= JSON_WRITE_DEPTH)
		return refuse(out, FLOW_E_LIMIT, TOO_DEEP);
	if (value->type == FLOW_RECORD)
		return put_record(out, node, value, depth);
	if (node->element == NULL)
		return FLOW_E_ENCODE; /* not what the schema says */
	if (value->type == FLOW_LIST)
		return put_list(out, node, value->as.list, depth);
	return put_map(out, node, value->as.map, depth);
}

/* Avro's JSON encoding of a value of a union or nullable type. */
static flow_status
put_branch(json_output *out, const json_node *node, const flow_value *value, uint32_t depth)
{
	uint32_t branch = node->kind == FLOW_KIND_UNION ? value->branch : 0;
	if (depth >= JSON_WRITE_DEPTH)
		return refuse(out, FLOW_E_LIMIT, TOO_DEEP);
	if (branch >= node->branch_count)
		return FLOW_E_ENCODE;
	flow_status status = put(out, "{", 1);
	if (status == FLOW_OK)
		status = put_break(out, 1, depth + 1);
	if (status == FLOW_OK)
		status = put_string(out, node->branch_names[branch].data, node->branch_names[branch].size);
	if (status == FLOW_OK)
		status = put(out, ": ", out->format->pretty ? 2 : 1);
	if (status == FLOW_OK)
		status = put_value(out, node->branches[branch], value, depth + 1);
	return status == FLOW_OK ? put_close(out, "}", 1, depth) : status;
}

static flow_status
put_value(json_output *out, const json_node *node, const flow_value *value, uint32_t depth)
{
	if (__builtin_expect(node->avro, 0) && value->type != FLOW_NULL) {
		if (node->wrapped)
			return put_branch(out, node, value, depth);
		flow_status status = json_put_avro(out, node, value);
		if (status != FLOW_AGAIN)
			return status;
	} else if (__builtin_expect(node->kind == FLOW_KIND_UNION, 0) && value->type != FLOW_NULL) {
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
		if (!json_has_room(out, FLOW_NUMBER_TEXT_MAX))
			return FLOW_E_MEMORY;
		out->at += value->type == FLOW_INT64 ? flow_print_int64(value->as.int64, out->at)
											 : flow_print_uint64(value->as.uint64, out->at);
		return FLOW_OK;
	case FLOW_FLOAT64:
		return put_float(out, value->as.float64);
	case FLOW_DECIMAL:
		return put_decimal(out, value->as.decimal);
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
		return put_nested(out, node, value, depth);
	default:
		return FLOW_E_ENCODE;
	}
}

/* --- records and streams --------------------------------------------------------------------------------------------- */

flow_status
json_begin(flow_encoder *e, flow_buffer *buffer, flow_error *error)
{
	if (e->serde->format.framing != JSON_ARRAY)
		return FLOW_OK;
	e->begun = 1;
	e->first = 1;
	return flow_buffer_append(buffer, "[\n", 2) == FLOW_OK
			   ? FLOW_OK
			   : flow_fail(e->serde->host, error, FLOW_E_MEMORY, "json: out of memory for the output");
}

/* An encoder that goes on with another one's array does not know whether a comma has to stand before its first document. */
static flow_status
refuse_to_go_on(const struct flow_encoder *e, flow_error *error)
{
	return flow_fail(e->serde->host, error, FLOW_E_UNSUPPORTED,
					 "json: an array cannot be gone on with where another run stopped; start anew (--fresh), or write "
					 "framing = \"lines\"");
}

flow_status
json_end(flow_encoder *e, flow_buffer *buffer, flow_error *error)
{
	if (e->serde->format.framing != JSON_ARRAY)
		return FLOW_OK;
	if (!e->begun)
		return refuse_to_go_on(e, error);
	flow_status status = flow_buffer_append(buffer, e->first ? "]\n" : "\n]\n", e->first ? 2 : 3);
	return status == FLOW_OK ? status : flow_fail(e->serde->host, error, status, "json: out of memory for the output");
}

/* One record, with what stands between it and its neighbours in a stream. */
static flow_status
put_document(struct flow_encoder *e, json_output *out, const flow_value *value, int stream)
{
	int array = stream && e->begun;
	flow_status status = array && !e->first ? put(out, ",\n", 2) : FLOW_OK;
	if (status == FLOW_OK)
		status = put_value(out, e->node, value, 0);
	if (status == FLOW_OK && stream && !array)
		status = put(out, "\n", 1);
	if (status == FLOW_OK)
		e->first = 0;
	return status;
}

flow_status
json_encode(flow_encoder *e, const flow_batch *batch, int use_key, flow_buffer *buffer, uint64_t *ends,
			flow_status *statuses, flow_error *error)
{
	const flow_value *column = use_key ? batch->key : batch->value;
	int stream = ends == NULL;
	if (stream && e->serde->format.framing == JSON_ARRAY && !e->begun)
		return refuse_to_go_on(e, error);
	if (flow_buffer_reserve(buffer, FLOW_NUMBER_TEXT_MAX) == NULL)
		return flow_fail(e->serde->host, error, FLOW_E_MEMORY, "json: out of memory for the output");
	json_output out = { buffer->data + buffer->size, buffer->data + buffer->capacity, buffer, &e->serde->format, NULL };
	const char *reason = NULL;
	uint32_t refused = 0;
	flow_status failed = FLOW_OK;
	for (FLOW_ROWS(batch, i)) {
		uint64_t before = (uint64_t)(out.at - buffer->data);
		out.reason = NULL;
		flow_status status = put_document(e, &out, &column[flow_row(batch, i)], stream);
		if (status == FLOW_E_MEMORY) {
			buffer->size = before;
			return flow_fail(e->serde->host, error, status, "json: out of memory for the output");
		}
		if (status != FLOW_OK) {
			out.at = buffer->data + before;
			statuses[i] = status;
			reason = refused++ == 0 || out.reason == reason ? out.reason : NULL; /* one is told for all */
			failed = status;
		}
		if (!stream)
			ends[i] = (uint64_t)(out.at - buffer->data);
	}
	buffer->size = (uint64_t)(out.at - buffer->data);
	if (reason != NULL)
		flow_fail(e->serde->host, error, failed, "json: %s", reason);
	return FLOW_OK;
}
