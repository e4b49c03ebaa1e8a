/* Writing: lines of text, or records in their binary form. */
#include "basic.h"
#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"

struct flow_encoder {
	const basic_serde *serde;
};

/* The kinds of values that are written as this one. */
static int
takes_kind(const basic_serde *s, const flow_schema *schema)
{
	switch (s->kind) {
	case BASIC_BYTES:
		return schema->kind == FLOW_KIND_BYTES || schema->kind == FLOW_KIND_FIXED || schema->kind == FLOW_KIND_STRING;
	case BASIC_STRING:
	case BASIC_LINES:
		return schema->kind == FLOW_KIND_STRING || schema->kind == FLOW_KIND_ENUM;
	case BASIC_INT64:
		return schema->kind == FLOW_KIND_INT64 || schema->kind == FLOW_KIND_INT32;
	default:
		return schema->kind == s->text->kind;
	}
}

flow_status
basic_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error)
{
	const basic_serde *s = (const basic_serde *)serde;
	const flow_schema *value = schema;
	if (s->kind == BASIC_LINES && schema->kind == FLOW_KIND_RECORD && schema->field_count == 1)
		value = schema->fields[0]->schema;
	else if (s->kind == BASIC_LINES)
		return flow_fail(s->host, error, FLOW_E_TYPE,
						 "lines are written from records of one string field; choose it with a step `project`");
	if (takes_kind(s, value))
		return FLOW_OK;
	char from[128];
	char to[64];
	return flow_fail(s->host, error, FLOW_E_TYPE, "values of type %s cannot be written as %s; convert them with cast()",
					 flow_type_text(s->host, value, from, sizeof(from)),
					 flow_type_text(s->host, s->text, to, sizeof(to)));
}

flow_status
basic_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error)
{
	const basic_serde *s = (const basic_serde *)serde;
	flow_status status = basic_check_encodable(serde, schema, error);
	if (status != FLOW_OK)
		return status;
	struct flow_encoder *e = (struct flow_encoder *)flow_new(s->host, sizeof(*e));
	if (e == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	e->serde = s;
	*encoder = e;
	return FLOW_OK;
}

void
basic_encoder_close(flow_encoder *e)
{
	e->serde->host->release(e);
}

static flow_status
put_number(flow_buffer *buffer, uint64_t number, uint64_t size)
{
	char bytes[8];
	for (uint64_t i = 0; i < size; i++)
		bytes[i] = (char)(number >> (8 * (size - 1 - i)));
	return flow_buffer_append(buffer, bytes, size);
}

static flow_status
put_text(flow_buffer *buffer, const flow_value *value)
{
	char *to = flow_buffer_reserve(buffer, flow_cell_text_bound(value));
	if (to == NULL)
		return FLOW_E_MEMORY;
	buffer->size += flow_print_cell(value, to);
	return FLOW_OK;
}

/* The type of cells that the schema promised. */
static int
is_expected(const basic_serde *s, const flow_value *value)
{
	switch (s->kind) {
	case BASIC_BYTES:
		return value->type == FLOW_BYTES || value->type == FLOW_STRING;
	case BASIC_STRING:
	case BASIC_LINES:
		return value->type == FLOW_STRING;
	case BASIC_FLOAT64:
		return value->type == FLOW_FLOAT64;
	case BASIC_UUID:
		return value->type == FLOW_UUID;
	default:
		return value->type == FLOW_INT64;
	}
}

static flow_status
put_record(const basic_serde *s, flow_buffer *buffer, const flow_value *value)
{
	switch (s->kind) {
	case BASIC_INT32:
		return put_number(buffer, value->as.uint64, 4);
	case BASIC_INT64:
	case BASIC_FLOAT64:
		return put_number(buffer, value->as.uint64, 8);
	default:
		return put_text(buffer, value);
	}
}

static flow_status
put_line(const basic_serde *s, flow_buffer *buffer, const flow_value *value)
{
	if (s->kind == BASIC_BYTES)
		return put_text(buffer, value);
	if (value->type == FLOW_STRING && !basic_is_one_line(s->line_end, flow_value_slice(value)))
		return FLOW_E_ENCODE; /* it would be read as two */
	flow_slice end = basic_line_end_text(s->line_end);
	flow_status status = put_text(buffer, value);
	return status == FLOW_OK ? flow_buffer_append(buffer, end.data, end.size) : status;
}

flow_status
basic_encode(flow_encoder *e, const flow_batch *batch, int use_key, flow_buffer *buffer, uint64_t *ends,
			 flow_status *statuses, flow_error *error)
{
	const basic_serde *s = e->serde;
	const flow_value *column = use_key ? batch->key : batch->value;
	for (FLOW_ROWS(batch, i)) {
		const flow_value *value = &column[flow_row(batch, i)];
		uint64_t before = buffer->size;
		if (s->kind == BASIC_LINES && value->type == FLOW_RECORD && value->size == 1)
			value = value->as.record;
		flow_status status = FLOW_E_ENCODE;
		if (is_expected(s, value))
			status = ends == NULL ? put_line(s, buffer, value) : put_record(s, buffer, value);
		if (status == FLOW_E_MEMORY)
			return flow_fail(s->host, error, status, "out of memory for the output");
		if (status != FLOW_OK) {
			buffer->size = before;
			statuses[i] = status;
		}
		if (ends != NULL)
			ends[i] = buffer->size;
	}
	return FLOW_OK;
}
