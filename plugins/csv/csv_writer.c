/* The writer: a field is quoted where a reader would else see another one. */
#include "csv.h"
#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"

/* Bytes that make quotes necessary. */
#define QUOTES_NEEDED 1
#define DOUBLED 2

struct flow_encoder {
	const csv_serde *serde;
	const csv_format *format;
	const flow_schema *schema;
	int integers_may_be_tokens; /* a text for null begins as an integer, or a date, may */
	int floats_may_be_tokens;
	int colons_are_special;
	flow_error *error; /* of the call under way */
	uint8_t special[256];
	uint8_t escaped[256]; /* what stands behind an escape for a byte */
};

static int
has_text(const flow_schema *schema)
{
	switch (schema->kind) {
	case FLOW_KIND_LIST:
	case FLOW_KIND_MAP:
	case FLOW_KIND_RECORD:
	case FLOW_KIND_UNION:
		return 0;
	default:
		return 1;
	}
}

flow_status
csv_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error)
{
	const csv_serde *s = (const csv_serde *)serde;
	if (schema->kind != FLOW_KIND_RECORD)
		return flow_fail(s->host, error, FLOW_E_TYPE,
						 "csv writes records; these values are none (name fields with a step `set`)");
	if (schema->field_count == 0)
		return flow_fail(s->host, error, FLOW_E_TYPE, "csv cannot write records without fields");
	for (uint32_t i = 0; i < schema->field_count; i++) {
		const flow_field *field = schema->fields[i];
		char type[128];
		if (!has_text(field->schema))
			return flow_fail(
				s->host, error, FLOW_E_TYPE,
				"csv cannot write field \"%.*s\": %s has no place in a column; choose its parts or leave it out",
				(int)field->name.size, field->name.data, flow_type_text(s->host, field->schema, type, sizeof(type)));
		int null = flow_schema_nullable(field->schema) || field->schema->kind == FLOW_KIND_NULL;
		if (null && s->format.token_count == 0)
			return flow_fail(
				s->host, error, FLOW_E_TYPE,
				"field \"%.*s\" may be null and csv has no text for null: set null_token (\"\" is the usual one), or "
				"give the field a value with coalesce()",
				(int)field->name.size, field->name.data);
	}
	return FLOW_OK;
}

static void
mark_special(struct flow_encoder *e)
{
	const csv_format *f = e->format;
	e->special[(unsigned char)f->delimiter] = QUOTES_NEEDED;
	e->special['\n'] = QUOTES_NEEDED;
	e->special['\r'] = QUOTES_NEEDED;
	for (unsigned i = 0; i < sizeof(e->escaped); i++)
		e->escaped[i] = (uint8_t)i;
	for (unsigned i = 0; i < sizeof(f->unescaped); i++) {
		uint8_t byte = f->unescaped[i];
		if (byte == i)
			continue;
		e->escaped[byte] = (uint8_t)i;
		if (byte == '\n' || byte == '\r' || byte == '\0')
			e->special[byte] = QUOTES_NEEDED | DOUBLED; /* what else stands as it is anywhere */
	}
	if (f->quote != CSV_NO_QUOTE)
		e->special[f->quote] = QUOTES_NEEDED | DOUBLED;
	if (f->escape != 0)
		e->special[(unsigned char)f->escape] = QUOTES_NEEDED | DOUBLED;
	for (uint32_t i = 0; i < f->token_count; i++) {
		char first = f->tokens[i].size != 0 ? f->tokens[i].data[0] : 'x';
		e->integers_may_be_tokens |= strchr("-0123456789", first) != NULL;
		e->floats_may_be_tokens |= strchr("-0123456789NI", first) != NULL;
	}
	e->colons_are_special = e->special[':'] != 0 || f->comment == ':';
}

flow_status
csv_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error)
{
	const csv_serde *s = (const csv_serde *)serde;
	flow_status status = csv_check_encodable(serde, schema, error);
	if (status != FLOW_OK)
		return status;
	struct flow_encoder *e = (struct flow_encoder *)flow_new(s->host, sizeof(*e));
	if (e == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	e->serde = s;
	e->format = &s->format;
	e->schema = schemas->retain(schema);
	mark_special(e);
	*encoder = e;
	return FLOW_OK;
}

void
csv_encoder_close(flow_encoder *e)
{
	const flow_host *host = e->serde->host;
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	schemas->release(e->schema);
	host->release(e);
}

/* Would a reader trim it? */
static int
has_outer_blanks(const csv_format *f, const char *text, uint64_t size)
{
	return f->trim && size != 0 && (csv_is_blank(f, text[0]) || csv_is_blank(f, text[size - 1]));
}

/* Would a reader take this, at the start of a line, for a comment or a byte order mark? */
static int
looks_special(const csv_format *f, const char *text, uint64_t size)
{
	if (size != 0 && f->comment != 0 && text[0] == f->comment)
		return 1;
	return size >= 2 && (unsigned char)text[0] >= 0xEF &&
		   (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0 ||
			(size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0));
}

static int
needs_quotes(const struct flow_encoder *e, const char *text, uint64_t size, int first)
{
	const csv_format *f = e->format;
	uint8_t special = 0;
	for (uint64_t i = 0; i < size; i++)
		special |= e->special[(unsigned char)text[i]];
	if (special != 0 || csv_is_token_text(f, text, size) || has_outer_blanks(f, text, size))
		return 1;
	if (first && size == 0 && e->schema->field_count == 1)
		return 1; /* an empty line would be none */
	return first && looks_special(f, text, size);
}

static char *
put_quoted(const struct flow_encoder *e, const char *text, uint64_t size, char *to)
{
	const csv_format *f = e->format;
	*to++ = (char)f->quote;
	for (uint64_t i = 0; i < size; i++) {
		uint8_t special = e->special[(unsigned char)text[i]];
		if ((special & DOUBLED) != 0)
			*to++ = f->escape != 0 ? f->escape : (char)f->quote;
		*to++ = (special & DOUBLED) != 0 ? (char)e->escaped[(unsigned char)text[i]] : text[i];
	}
	*to++ = (char)f->quote;
	return to;
}

/* Without quotes: the escape before each special character, or before one of a text that means something else. NULL: there is none
 * that is itself behind an escape. */
static char *
put_escaped(const struct flow_encoder *e, const char *text, uint64_t size, char *to)
{
	const csv_format *f = e->format;
	char *start = to;
	for (uint64_t i = 0; i < size; i++) {
		uint8_t byte = (uint8_t)text[i];
		int outer = f->trim && (i == 0 || i + 1 == size) && csv_is_blank(f, text[i]);
		if (e->special[byte] != 0 || outer || (i == 0 && looks_special(f, text, size))) {
			*to++ = f->escape;
			byte = e->escaped[byte];
		}
		*to++ = (char)byte;
	}
	uint64_t at = 0;
	if ((uint64_t)(to - start) == size) {
		while (at < size && f->unescaped[(uint8_t)text[at]] != (uint8_t)text[at])
			at++;
		if (at == size)
			return NULL;
		start[at] = f->escape;
		memcpy(start + at + 1, text + at, size - at);
		to++;
	}
	return csv_is_token_text(f, start, (uint64_t)(to - start)) ? NULL : to;
}

/* A text that cannot stand as it is; `to` has room for size * 2 + 4. NULL: there is no way. */
static char *
put_guarded(const struct flow_encoder *e, const char *text, uint64_t size, char *to)
{
	if (e->format->quote != CSV_NO_QUOTE)
		return put_quoted(e, text, size, to);
	char *end = e->format->escape != 0 && size != 0 ? put_escaped(e, text, size, to) : NULL;
	if (end != NULL)
		return end;
	flow_fail(e->serde->host, e->error, FLOW_E_ENCODE,
			  "the text \"%.*s\" needs quotes or an escape to be read as it is (options quote, escape)",
			  (int)(size > 64 ? 64 : size), text);
	return NULL;
}

static flow_status
put_text(const struct flow_encoder *e, flow_buffer *buffer, const char *text, uint64_t size, int first)
{
	char *to = flow_buffer_reserve(buffer, size * 2 + 4);
	if (to == NULL)
		return FLOW_E_MEMORY;
	if (needs_quotes(e, text, size, first)) {
		const char *end = put_guarded(e, text, size, to);
		buffer->size += end == NULL ? 0 : (uint64_t)(end - to);
		return end == NULL ? FLOW_E_ENCODE : FLOW_OK;
	}
	if (size != 0)
		memcpy(to, text, size);
	buffer->size += size;
	return FLOW_OK;
}

/* Texts that are not stored as such: printed, then quoted if they have to be. */
static flow_status
put_printed(const struct flow_encoder *e, flow_buffer *buffer, const flow_value *value, int first)
{
	uint64_t bound = flow_cell_text_bound(value);
	if (bound == 0)
		return FLOW_E_ENCODE;
	char *to = flow_buffer_reserve(buffer, bound * 3 + 8);
	if (to == NULL)
		return FLOW_E_MEMORY;
	char *text = to + bound * 2 + 8; /* behind the room for the quoted form */
	uint64_t size = flow_print_cell(value, text);
	char *point = value->type == FLOW_FLOAT64 || value->type == FLOW_DECIMAL ? (char *)memchr(text, '.', size) : NULL;
	if (point != NULL)
		*point = e->format->decimal_mark;
	if (needs_quotes(e, text, size, first)) {
		const char *end = put_guarded(e, text, size, to);
		buffer->size += end == NULL ? 0 : (uint64_t)(end - to);
		return end == NULL ? FLOW_E_ENCODE : FLOW_OK;
	}
	memmove(to, text, size);
	buffer->size += size;
	return FLOW_OK;
}

/* One whose text holds nothing that means something to a reader. */
static flow_status
put_plain(flow_buffer *buffer, const flow_value *value)
{
	char *to = flow_buffer_reserve(buffer, flow_cell_text_bound(value));
	if (to == NULL)
		return FLOW_E_MEMORY;
	buffer->size += flow_print_cell(value, to);
	return FLOW_OK;
}

static flow_status
put_cell(const struct flow_encoder *e, flow_buffer *buffer, const flow_value *value, int first)
{
	switch (value->type) {
	case FLOW_NULL:
		if (e->format->token_count == 0)
			return FLOW_E_ENCODE;
		return flow_buffer_append(buffer, e->format->tokens[0].data, e->format->tokens[0].size);
	case FLOW_STRING:
	case FLOW_BYTES:
		return put_text(e, buffer, value->as.text, value->size, first);
	case FLOW_INT64:
	case FLOW_UINT64:
		return e->integers_may_be_tokens ? put_printed(e, buffer, value, first) : put_plain(buffer, value);
	case FLOW_FLOAT64:
		return e->floats_may_be_tokens || e->format->decimal_mark != '.' ? put_printed(e, buffer, value, first)
																		 : put_plain(buffer, value);
	case FLOW_DATE:
	case FLOW_TIMESTAMP: /* years may be negative, but nothing else than digits, T, Z, signs, points and colons stands there */
		if (!e->integers_may_be_tokens && !e->colons_are_special && flow_cell_text_bound(value) != 0)
			return put_plain(buffer, value);
		return put_printed(e, buffer, value, first);
	default:
		return put_printed(e, buffer, value, first);
	}
}

static flow_status
put_record(const struct flow_encoder *e, flow_buffer *buffer, const flow_value *value)
{
	if (value->type != FLOW_RECORD || value->size != e->schema->field_count)
		return FLOW_E_ENCODE;
	for (uint32_t i = 0; i < value->size; i++) {
		if (i != 0) {
			flow_status status = flow_buffer_append(buffer, &e->format->delimiter, 1);
			if (status != FLOW_OK)
				return status;
		}
		flow_status status = put_cell(e, buffer, &value->as.record[i], i == 0);
		if (status != FLOW_OK)
			return status;
	}
	return flow_buffer_append(buffer, "\n", 1);
}

flow_status
csv_begin(flow_encoder *e, flow_buffer *buffer, flow_error *error)
{
	flow_status status = FLOW_OK;
	e->error = error;
	for (uint32_t i = 0; e->format->header && status == FLOW_OK && i < e->schema->field_count; i++) {
		flow_slice name = csv_header_name(e->serde, e->schema->fields[i]->name);
		if (i != 0)
			status = flow_buffer_append(buffer, &e->format->delimiter, 1);
		if (status == FLOW_OK)
			status = put_text(e, buffer, name.data, name.size, i == 0);
	}
	if (e->format->header && status == FLOW_OK)
		status = flow_buffer_append(buffer, "\n", 1);
	return status != FLOW_E_MEMORY ? status
								   : flow_fail(e->serde->host, error, status, "csv: out of memory for the header");
}

flow_status
csv_encode(flow_encoder *e, const flow_batch *batch, int use_key, flow_buffer *buffer, uint64_t *ends,
		   flow_status *statuses, flow_error *error)
{
	const flow_value *column = use_key ? batch->key : batch->value;
	e->error = error;
	for (FLOW_ROWS(batch, i)) {
		uint64_t before = buffer->size;
		flow_status status = put_record(e, buffer, &column[flow_row(batch, i)]);
		if (status == FLOW_E_MEMORY)
			return flow_fail(e->serde->host, error, status, "csv: out of memory for the output");
		if (status != FLOW_OK) {
			buffer->size = before;
			statuses[i] = status;
		}
		if (ends != NULL)
			ends[i] = buffer->size;
	}
	return FLOW_OK;
}
