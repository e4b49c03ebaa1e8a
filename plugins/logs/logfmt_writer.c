/* Records and maps as key=value pairs, with quotes and escapes where a reader needs them. */
#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"
#include "logs.h"

#define ESCAPED_MAX 6 /* characters for one byte */

struct flow_encoder {
	const logs_serde *serde;
	const flow_schema *schema;
	const char *reason; /* why the last record was refused */
};

int
logfmt_is_key(flow_slice text)
{
	for (uint64_t i = 0; i < text.size; i++)
		if ((uint8_t)text.data[i] <= ' ' || text.data[i] == '=' || text.data[i] == '"' || text.data[i] == 0x7F)
			return 0;
	int mark = text.size >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0; /* a reader takes it for that of the file */
	return text.size != 0 && !mark && flow_utf8_check(text.data, text.size) == text.size;
}

static int
has_text(const flow_schema *schema)
{
	return schema->kind == FLOW_KIND_ANY || (schema->kind != FLOW_KIND_NULL && schema->kind < FLOW_KIND_LIST &&
											 schema->kind != FLOW_KIND_BYTES && schema->kind != FLOW_KIND_FIXED);
}

flow_status
logfmt_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error)
{
	const flow_host *host = ((const logs_serde *)serde)->host;
	char type[96];
	if (schema->kind == FLOW_KIND_ANY || (schema->kind == FLOW_KIND_MAP && has_text(schema->element)))
		return FLOW_OK;
	if (schema->kind != FLOW_KIND_RECORD)
		return flow_fail(host, error, FLOW_E_TYPE,
						 "logfmt is written from records and maps of single values, not from %s",
						 flow_type_text(host, schema, type, sizeof(type)));
	for (uint32_t i = 0; i < schema->field_count; i++) {
		const flow_field *field = schema->fields[i];
		if (!has_text(field->schema))
			return flow_fail(host, error, FLOW_E_TYPE,
							 "field '%.*s': logfmt has no form for %s; choose other fields or convert it with cast()",
							 (int)field->name.size, field->name.data,
							 flow_type_text(host, field->schema, type, sizeof(type)));
		if (!logfmt_is_key(field->name))
			return flow_fail(
				host, error, FLOW_E_TYPE,
				"field '%.*s': a key of logfmt has neither blanks nor '=' nor quotes; rename it with a step "
				"`project`",
				(int)field->name.size, field->name.data);
	}
	return FLOW_OK;
}

flow_status
logfmt_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error)
{
	const logs_serde *s = (const logs_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	flow_status status = logfmt_check_encodable(serde, schema, error);
	if (status != FLOW_OK)
		return status;
	struct flow_encoder *e = (struct flow_encoder *)flow_new(s->host, sizeof(*e));
	if (e == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	e->serde = s;
	e->schema = schemas->retain(schema);
	*encoder = e;
	return FLOW_OK;
}

void
logfmt_encoder_close(flow_encoder *e)
{
	const flow_host *host = e->serde->host;
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	schemas->release(e->schema);
	host->release(e);
}

static flow_status
refuse(flow_encoder *e, const char *reason)
{
	e->reason = reason;
	return FLOW_E_ENCODE;
}

/* --- values ------------------------------------------------------------------------------------------------------------ */

static int
needs_quotes(const char *text, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		if ((uint8_t)text[i] <= ' ' || text[i] == '"' || text[i] == '\\' || text[i] == '=' || text[i] == 0x7F)
			return 1;
	return size == 0;
}

static char *
put_escaped(char c, char *to)
{
	static const char letters[] = "\"\\nrt", meanings[] = "\"\\\n\r\t", digits[] = "0123456789abcdef";
	const char *meaning = (const char *)memchr(meanings, c, sizeof(meanings) - 1);
	if (meaning != NULL) {
		*to++ = '\\';
		*to++ = letters[meaning - meanings];
	} else if ((uint8_t)c < ' ' || c == 0x7F) {
		*to++ = '\\';
		*to++ = 'u';
		*to++ = '0';
		*to++ = '0';
		*to++ = digits[(uint8_t)c >> 4];
		*to++ = digits[c & 15];
	} else {
		*to++ = c;
	}
	return to;
}

static flow_status
put_text(flow_encoder *e, flow_buffer *buffer, const flow_value *value)
{
	if (flow_utf8_check(value->as.text, value->size) != value->size)
		return refuse(e, "a text that is not UTF-8");
	if (!needs_quotes(value->as.text, value->size))
		return flow_buffer_append(buffer, value->as.text, value->size);
	char *to = flow_buffer_reserve(buffer, (uint64_t)value->size * ESCAPED_MAX + 2);
	if (to == NULL)
		return FLOW_E_MEMORY;
	*to++ = '"';
	for (uint32_t i = 0; i < value->size; i++)
		to = put_escaped(value->as.text[i], to);
	*to++ = '"';
	buffer->size = (uint64_t)(to - buffer->data);
	return FLOW_OK;
}

static flow_status
put_value(flow_encoder *e, flow_buffer *buffer, const flow_value *value)
{
	uint64_t bound = flow_cell_text_bound(value);
	if (value->type == FLOW_STRING)
		return put_text(e, buffer, value);
	if (value->type == FLOW_NULL)
		return FLOW_OK;
	if (bound == 0 || value->type == FLOW_BYTES)
		return refuse(e, "a list, map, record or bytes, which logfmt has no form for");
	if (value->type == FLOW_DECIMAL && value->as.decimal->special != 0)
		return refuse(e, "a decimal that is no number");
	char *to = flow_buffer_reserve(buffer, bound);
	if (to == NULL)
		return FLOW_E_MEMORY;
	buffer->size += flow_print_cell(value, to);
	return FLOW_OK;
}

static flow_status
put_pair(flow_encoder *e, flow_buffer *buffer, uint64_t start, flow_slice key, const flow_value *value)
{
	char *to = flow_buffer_reserve(buffer, key.size + 2);
	if (to == NULL)
		return FLOW_E_MEMORY;
	if (buffer->size != start)
		*to++ = ' ';
	memcpy(to, key.data, key.size);
	to[key.size] = '=';
	buffer->size = (uint64_t)(to - buffer->data) + key.size + 1;
	return put_value(e, buffer, value);
}

/* Nulls are left out, but not all of them: a blank line is no record. */
static flow_status
put_record(flow_encoder *e, flow_buffer *buffer, const flow_value *value)
{
	uint64_t start = buffer->size;
	flow_status status = FLOW_OK;
	if (e->schema->kind != FLOW_KIND_RECORD || value->size != e->schema->field_count)
		return refuse(e, "a record of another type than its schema says");
	for (uint32_t i = 0; i < value->size && status == FLOW_OK; i++)
		if (value->as.record[i].type != FLOW_NULL)
			status = put_pair(e, buffer, start, e->schema->fields[i]->name, &value->as.record[i]);
	if (status == FLOW_OK && buffer->size == start && value->size != 0)
		status = put_pair(e, buffer, start, e->schema->fields[0]->name, &value->as.record[0]);
	return status;
}

static flow_status
put_map(flow_encoder *e, flow_buffer *buffer, const flow_map *map)
{
	uint64_t start = buffer->size;
	flow_status status = FLOW_OK;
	for (uint64_t i = 0; i < map->count && status == FLOW_OK; i++) {
		flow_slice key = flow_value_slice(&map->entries[i].key);
		if (map->entries[i].key.type != FLOW_STRING || !logfmt_is_key(key))
			return refuse(e, "a key that is empty, has blanks, '=' or quotes in it, or begins with a byte order mark");
		status = put_pair(e, buffer, start, key, &map->entries[i].value);
	}
	return status;
}

static flow_status
put_line(flow_encoder *e, flow_buffer *buffer, const flow_value *value, int stream)
{
	uint64_t start = buffer->size;
	flow_status status;
	if (value->type == FLOW_RECORD)
		status = put_record(e, buffer, value);
	else if (value->type == FLOW_MAP)
		status = put_map(e, buffer, value->as.map);
	else
		return refuse(e, "a value that is neither a record nor a map");
	if (status != FLOW_OK || !stream)
		return status;
	if (buffer->size == start)
		return refuse(e, "a map or record without entries, for which there is no line");
	return flow_buffer_append(buffer, "\n", 1);
}

flow_status
logfmt_encode(flow_encoder *e, const flow_batch *batch, int use_key, flow_buffer *buffer, uint64_t *ends,
			  flow_status *statuses, flow_error *error)
{
	const flow_value *column = use_key ? batch->key : batch->value;
	for (FLOW_ROWS(batch, i)) {
		uint64_t before = buffer->size;
		flow_status status = put_line(e, buffer, &column[flow_row(batch, i)], ends == NULL);
		if (status == FLOW_E_MEMORY)
			return flow_fail(e->serde->host, error, status, "logfmt: out of memory for the output");
		if (status != FLOW_OK) {
			buffer->size = before;
			statuses[i] = flow_fail(e->serde->host, error, status, "logfmt: %s", e->reason);
		}
		if (ends != NULL)
			ends[i] = buffer->size;
	}
	return FLOW_OK;
}
