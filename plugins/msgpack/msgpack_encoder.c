/* Writing, with msgpack-c's packer over the host's buffer. */
#include <math.h>

#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"
#include "msgpack_packer.h"
#include "msgpack_serde.h"

#define HEAD_MAX 16u /* bytes of an item before its body; also the longest number and timestamp */

struct flow_encoder {
	const pack_serde *serde;
	const flow_schema *schema;
	const pack_node *node;
	char *at; /* where the next byte goes */
	char *end;
	flow_buffer *buffer;
	const char *reason; /* why the last record was refused */
};

/* --- what can be written --------------------------------------------------------------------------------------------- */

static const char *
kind_without_type(const flow_schema *schema)
{
	switch (schema->kind) {
	case FLOW_KIND_DECIMAL:
		return "decimals";
	case FLOW_KIND_DATE:
		return "dates";
	case FLOW_KIND_TIME:
		return "times";
	case FLOW_KIND_UUID:
		return "uuids";
	case FLOW_KIND_TIMESTAMP:
		return (schema->flags & FLOW_SCHEMA_ZONED) != 0 ? NULL : "timestamps without zone";
	default:
		return NULL;
	}
}

static flow_status
refuse_kind(const pack_serde *s, flow_slice field, const char *what, flow_error *error)
{
	return flow_fail(s->host, error, FLOW_E_TYPE,
					 "%s%.*s%sMessagePack has no type for %s; set without_type to \"string\" or \"null\", or convert "
					 "them with cast()",
					 field.size == 0 ? "" : "field '", (int)field.size, field.size == 0 ? "" : field.data,
					 field.size == 0 ? "" : "': ", what);
}

static flow_status
check_nodes(const pack_serde *s, const pack_node *root, flow_error *error)
{
	if (s->format.without_type != PACK_WITHOUT_TYPE_ERROR)
		return FLOW_OK;
	for (const pack_node *node = root; node != NULL; node = node->next) /* fields first: they have names */
		for (uint32_t i = 0; i < node->field_count; i++)
			if (kind_without_type(node->fields[i].node->schema) != NULL)
				return refuse_kind(s, node->fields[i].name, kind_without_type(node->fields[i].node->schema), error);
	for (const pack_node *node = root; node != NULL; node = node->next)
		if (kind_without_type(node->schema) != NULL)
			return refuse_kind(s, flow_slice_make("", 0), kind_without_type(node->schema), error);
	return FLOW_OK;
}

flow_status
pack_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error)
{
	const pack_serde *s = (const pack_serde *)serde;
	const pack_node *node = pack_node_create(s->host, schema);
	if (node == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	flow_status status = check_nodes(s, node, error);
	pack_node_release(s->host, node);
	return status;
}

flow_status
pack_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error)
{
	const pack_serde *s = (const pack_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	struct flow_encoder *e = (struct flow_encoder *)flow_new(s->host, sizeof(*e));
	if (e == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	e->serde = s;
	e->schema = schemas->retain(schema);
	e->node = pack_node_create(s->host, schema);
	flow_status status =
		e->node == NULL ? flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory") : check_nodes(s, e->node, error);
	if (status != FLOW_OK) {
		pack_encoder_close(e);
		return status;
	}
	*encoder = e;
	return FLOW_OK;
}

void
pack_encoder_close(flow_encoder *e)
{
	const flow_host *host = e->serde->host;
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	pack_node_release(host, e->node);
	schemas->release(e->schema);
	host->release(e);
}

/* --- scalars --------------------------------------------------------------------------------------------------------- */

static flow_status
refuse(flow_encoder *e, flow_status status, const char *reason)
{
	e->reason = reason;
	return status;
}

static int
make_room(flow_encoder *e, uint64_t size)
{
	e->buffer->size = (uint64_t)(e->at - e->buffer->data);
	char *at = flow_buffer_reserve(e->buffer, size);
	if (at == NULL)
		return 0;
	e->at = at;
	e->end = e->buffer->data + e->buffer->capacity;
	return 1;
}

/* For one item; msgpack_pack_... does not look. */
static inline int
has_room(flow_encoder *e, uint64_t body)
{
	return __builtin_expect((uint64_t)(e->end - e->at) >= body + HEAD_MAX, 1) || make_room(e, body + HEAD_MAX);
}

static flow_status
put_str(flow_encoder *e, const char *text, uint32_t size)
{
	if (flow_utf8_check(text, size) != size)
		return refuse(e, FLOW_E_ENCODE, "a text that is not UTF-8");
	if (!has_room(e, size))
		return FLOW_E_MEMORY;
	msgpack_pack_str(&e->at, size);
	if (size != 0)
		msgpack_pack_str_body(&e->at, text, size);
	return FLOW_OK;
}

static flow_status
put_bin(flow_encoder *e, const flow_value *value)
{
	if (!has_room(e, value->size))
		return FLOW_E_MEMORY;
	msgpack_pack_bin(&e->at, value->size);
	if (value->size != 0)
		msgpack_pack_bin_body(&e->at, value->as.text, value->size);
	return FLOW_OK;
}

static flow_status
put_float(flow_encoder *e, const pack_node *node, double number)
{
	if (node->kind == FLOW_KIND_FLOAT32 && (isnan(number) || (double)(float)number == number))
		msgpack_pack_float(&e->at, (float)number);
	else
		msgpack_pack_double(&e->at, number);
	return FLOW_OK;
}

static flow_status
put_timestamp(flow_encoder *e, const flow_value *value)
{
	static const int64_t per_second[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000 };
	int64_t parts = per_second[value->unit];
	msgpack_timestamp stamp;
	stamp.tv_sec = value->as.int64 / parts;
	int64_t rest = value->as.int64 % parts;
	if (rest < 0) {
		rest += parts;
		stamp.tv_sec--;
	}
	stamp.tv_nsec = (uint32_t)(rest * (per_second[FLOW_NANOSECONDS] / parts));
	msgpack_pack_timestamp(&e->at, &stamp);
	return FLOW_OK;
}

/* Decimals, dates, times, timestamps without zone, uuids. */
static flow_status
put_without_type(flow_encoder *e, const flow_value *value)
{
	int how = e->serde->format.without_type;
	if (how == PACK_WITHOUT_TYPE_ERROR)
		return refuse(e, FLOW_E_ENCODE, "a value that MessagePack has no type for (option without_type)");
	if (how == PACK_WITHOUT_TYPE_NULL) {
		msgpack_pack_nil(&e->at);
		return FLOW_OK;
	}
	if (value->type == FLOW_DECIMAL && value->as.decimal->special != 0)
		return refuse(e, FLOW_E_ENCODE, "a decimal that is no number has no digits to write");
	if (!has_room(e, flow_cell_text_bound(value)))
		return FLOW_E_MEMORY;
	char *text = e->at + HEAD_MAX; /* behind the longest head; then the head that it needs */
	uint64_t size = flow_print_cell(value, text);
	msgpack_pack_str(&e->at, size);
	memmove(e->at, text, size);
	e->at += size;
	return FLOW_OK;
}

/* --- values ---------------------------------------------------------------------------------------------------------- */

static flow_status put_value(flow_encoder *e, const pack_node *node, const flow_value *value, uint32_t depth);

static flow_status
put_list(flow_encoder *e, const pack_node *node, const flow_list *list, uint32_t depth)
{
	if (list->count > UINT32_MAX)
		return refuse(e, FLOW_E_ENCODE, "a list of more than 2^32 - 1 items");
	msgpack_pack_array(&e->at, list->count);
	flow_status status = FLOW_OK;
	for (uint64_t i = 0; i < list->count && status == FLOW_OK; i++)
		status = put_value(e, node->element, &list->items[i], depth + 1);
	return status;
}

static flow_status
put_map(flow_encoder *e, const pack_node *node, const flow_map *map, uint32_t depth)
{
	if (map->count > UINT32_MAX)
		return refuse(e, FLOW_E_ENCODE, "a map of more than 2^32 - 1 entries");
	msgpack_pack_map(&e->at, map->count);
	flow_status status = FLOW_OK;
	for (uint64_t i = 0; i < map->count && status == FLOW_OK; i++) {
		const flow_map_entry *entry = &map->entries[i];
		if (entry->key.type != FLOW_STRING)
			return refuse(e, FLOW_E_ENCODE, "a key of a map that is no string");
		status = put_str(e, entry->key.as.text, entry->key.size);
		if (status == FLOW_OK)
			status = put_value(e, node->element, &entry->value, depth + 1);
	}
	return status;
}

static flow_status
put_record(flow_encoder *e, const pack_node *node, const flow_value *value, uint32_t depth)
{
	int as_array = e->serde->format.records_as_array;
	if (node->kind != FLOW_KIND_RECORD || value->size != node->field_count)
		return refuse(e, FLOW_E_ENCODE, "a record of another type than its schema says");
	if (as_array)
		msgpack_pack_array(&e->at, value->size);
	else
		msgpack_pack_map(&e->at, value->size);
	for (uint32_t i = 0; i < value->size; i++) {
		const pack_field *field = &node->fields[i];
		if (!as_array) {
			if (!has_room(e, field->key.size))
				return FLOW_E_MEMORY;
			msgpack_pack_str_body(&e->at, field->key.data, field->key.size);
		}
		flow_status status = put_value(e, field->node, &value->as.record[i], depth + 1);
		if (__builtin_expect(status != FLOW_OK, 0))
			return status;
	}
	return FLOW_OK;
}

static flow_status
put_nested(flow_encoder *e, const pack_node *node, const flow_value *value, uint32_t depth)
{
	if (depth >= PACK_WRITE_DEPTH)
		return refuse(e, FLOW_E_LIMIT, "nested too deep to be written");
	if (value->type == FLOW_RECORD)
		return put_record(e, node, value, depth);
	if (node->element == NULL)
		return refuse(e, FLOW_E_ENCODE, "a value of another type than its schema says");
	return value->type == FLOW_LIST ? put_list(e, node, value->as.list, depth) : put_map(e, node, value->as.map, depth);
}

static flow_status
put_value(flow_encoder *e, const pack_node *node, const flow_value *value, uint32_t depth)
{
	if (__builtin_expect(node->kind == FLOW_KIND_UNION, 0) && value->type != FLOW_NULL) {
		if (value->branch >= node->branch_count)
			return refuse(e, FLOW_E_ENCODE, "a branch that the union does not have");
		node = node->branches[value->branch];
	}
	if (!has_room(e, 0))
		return FLOW_E_MEMORY;
	switch (value->type) {
	case FLOW_NULL:
		msgpack_pack_nil(&e->at);
		return FLOW_OK;
	case FLOW_BOOL:
		if (value->as.int64 != 0)
			msgpack_pack_true(&e->at);
		else
			msgpack_pack_false(&e->at);
		return FLOW_OK;
	case FLOW_INT64:
		msgpack_pack_int64(&e->at, value->as.int64);
		return FLOW_OK;
	case FLOW_UINT64:
		msgpack_pack_uint64(&e->at, value->as.uint64);
		return FLOW_OK;
	case FLOW_FLOAT64:
		return put_float(e, node, value->as.float64);
	case FLOW_STRING:
		return put_str(e, value->as.text, value->size);
	case FLOW_BYTES:
		return put_bin(e, value);
	case FLOW_TIMESTAMP:
		return (value->flags & FLOW_ZONED) != 0 ? put_timestamp(e, value) : put_without_type(e, value);
	case FLOW_DECIMAL:
	case FLOW_DATE:
	case FLOW_TIME:
	case FLOW_UUID:
		return put_without_type(e, value);
	case FLOW_LIST:
	case FLOW_MAP:
	case FLOW_RECORD:
		return put_nested(e, node, value, depth);
	default:
		return refuse(e, FLOW_E_ENCODE, "a value of unknown type");
	}
}

flow_status
pack_encode(flow_encoder *e, const flow_batch *batch, int use_key, flow_buffer *buffer, uint64_t *ends,
			flow_status *statuses, flow_error *error)
{
	const flow_value *column = use_key ? batch->key : batch->value;
	e->buffer = buffer;
	e->at = buffer->data == NULL ? NULL : buffer->data + buffer->size;
	e->end = buffer->data == NULL ? NULL : buffer->data + buffer->capacity;
	for (FLOW_ROWS(batch, i)) {
		uint64_t before = e->at == NULL ? 0 : (uint64_t)(e->at - buffer->data);
		flow_status status = put_value(e, e->node, &column[flow_row(batch, i)], 0);
		if (__builtin_expect(status != FLOW_OK, 0)) {
			buffer->size = before;
			if (status == FLOW_E_MEMORY)
				return flow_fail(e->serde->host, error, status, "msgpack: out of memory for the output");
			e->at = buffer->data + before;
			statuses[i] = status;
			flow_fail(e->serde->host, error, status, "msgpack: %s", e->reason);
		}
		if (ends != NULL)
			ends[i] = (uint64_t)(e->at - buffer->data);
	}
	if (e->at != NULL)
		buffer->size = (uint64_t)(e->at - buffer->data);
	return FLOW_OK;
}
