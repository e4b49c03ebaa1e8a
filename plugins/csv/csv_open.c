/* Opening: the options as the reader and the writer use them, checked against each other. */
#include "csv.h"
#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/serde.h"
#include "flow_sdk/text.h"

static flow_status
refuse_option(const flow_host *host, flow_error *error, const char *name)
{
	host->errors->option(error, name);
	return FLOW_E_CONFIG;
}

/* --- characters ------------------------------------------------------------------------------------------------------ */

/* One ASCII character that can stand between or around fields. */
static flow_status
read_character(const flow_host *host, const flow_options *from, const char *name, char *character, flow_error *error)
{
	const flow_option_value *value = flow_option_get(from, name);
	if (value == NULL)
		return FLOW_OK;
	char c = value->text.size == 1 ? value->text.data[0] : 0;
	if (flow_slice_is(value->text, "\\t"))
		c = '\t';
	int plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
	if (c <= 0 || plain || c == '\n' || c == '\r' || strchr("+-.", c) != NULL) {
		flow_fail(host, error, FLOW_E_CONFIG,
				  "%.*s: %s = \"%.*s\" is not one ASCII character other than letters, digits, + - . and line ends",
				  (int)value->place.size, value->place.data, name, (int)value->text.size, value->text.data);
		return refuse_option(host, error, name);
	}
	*character = c;
	return FLOW_OK;
}

static flow_status
read_quote(csv_serde *s, const flow_options *from, flow_error *error)
{
	const flow_option_value *value = flow_option_get(from, "quote");
	char quote = '"';
	if (value != NULL && value->text.size == 0) {
		s->format.quote = CSV_NO_QUOTE;
		return FLOW_OK;
	}
	flow_status status = read_character(s->host, from, "quote", &quote, error);
	s->format.quote = (unsigned char)quote;
	return status;
}

/* Needs f->escape. */
static void
read_escapes(csv_format *f, const flow_options *from)
{
	for (unsigned i = 0; i < sizeof(f->unescaped); i++)
		f->unescaped[i] = (uint8_t)i;
	if (!flow_slice_is(flow_option_text(from, "escapes"), "c"))
		return;
	if (f->escape == 0)
		f->escape = '\\';
	f->unescaped['n'] = '\n';
	f->unescaped['r'] = '\r';
	f->unescaped['t'] = '\t';
	f->unescaped['b'] = '\b';
	f->unescaped['f'] = '\f';
	f->unescaped['v'] = '\v';
	f->unescaped['0'] = '\0';
	f->unescaped['Z'] = 26;
}

static flow_status
read_characters(csv_serde *s, const flow_options *from, flow_error *error)
{
	csv_format *f = &s->format;
	f->delimiter = ',';
	flow_status status = read_character(s->host, from, "delimiter", &f->delimiter, error);
	if (status == FLOW_OK)
		status = read_quote(s, from, error);
	if (status == FLOW_OK)
		status = read_character(s->host, from, "escape", &f->escape, error);
	if (status == FLOW_OK)
		status = read_character(s->host, from, "comment", &f->comment, error);
	if (status != FLOW_OK)
		return status;
	if (f->escape == f->quote)
		f->escape = 0; /* doubled quotes are understood anyway */
	if (f->quote != CSV_NO_QUOTE)
		f->starts[f->quote] = CSV_STARTS_QUOTED;
	read_escapes(f, from);
	if (f->delimiter == f->quote || f->delimiter == f->escape || f->delimiter == f->comment || f->quote == f->comment ||
		(f->escape != 0 && f->escape == f->comment))
		return flow_fail(s->host, error, FLOW_E_CONFIG,
						 "csv: delimiter, quote, escape and comment must be different characters");
	return FLOW_OK;
}

/* The separator of thousands: one character, which may have several bytes. */
static flow_status
check_thousands(const csv_serde *s, flow_slice text, flow_error *error)
{
	uint64_t characters = 0;
	int plain = flow_utf8_check(text.data, text.size) == text.size;
	for (uint64_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.data[i];
		characters += (c & 0xC0) != 0x80;
		plain &= c >= 0x20 && (c < '0' || c > '9') && strchr("+-eE", c) == NULL && c != (unsigned)s->format.quote &&
				 c != (unsigned char)s->format.decimal_mark &&
				 (s->format.escape == 0 || c != (unsigned char)s->format.escape);
	}
	if (plain && characters == 1)
		return FLOW_OK;
	flow_fail(s->host, error, FLOW_E_CONFIG,
			  "thousands = \"%.*s\" is not one character other than digits, signs, the decimal_mark, quote and escape",
			  (int)text.size, text.data);
	return refuse_option(s->host, error, "thousands");
}

/* --- texts ----------------------------------------------------------------------------------------------------------- */

static flow_slice
keep_text(char **to, flow_slice text)
{
	flow_slice kept = flow_slice_make(*to, text.size);
	if (text.size != 0)
		memcpy(*to, text.data, text.size);
	*to += text.size;
	return kept;
}

static flow_status
add_token(csv_serde *s, flow_slice text, char **to, flow_error *error)
{
	csv_format *f = &s->format;
	for (uint64_t k = 0; k < text.size; k++)
		if (text.data[k] == f->delimiter || text.data[k] == f->quote || text.data[k] == '\n' || text.data[k] == '\r') {
			flow_fail(s->host, error, FLOW_E_CONFIG, "null_token \"%.*s\" holds a delimiter, quote or line end",
					  (int)text.size, text.data);
			return refuse_option(s->host, error, "null_token");
		}
	if (f->trim && text.size != 0 && (csv_is_blank(f, text.data[0]) || csv_is_blank(f, text.data[text.size - 1]))) {
		flow_fail(s->host, error, FLOW_E_CONFIG, "null_token \"%.*s\" has a blank at its end, which trim takes off",
				  (int)text.size, text.data);
		return refuse_option(s->host, error, "null_token");
	}
	if (text.size != 0)
		memcpy(&f->token_heads[f->token_count], text.data, text.size < 8 ? text.size : 8);
	if (text.size != 0)
		f->starts[(unsigned char)text.data[0]] |= CSV_STARTS_NULL;
	else
		f->starts[(unsigned char)f->delimiter] = f->starts['\n'] = f->starts['\r'] = CSV_STARTS_NULL;
	f->tokens[f->token_count++] = keep_text(to, text);
	f->token_sizes |= 1ull << (text.size < 63 ? text.size : 63);
	return FLOW_OK;
}

static flow_status
read_tokens(csv_serde *s, const flow_option_value *value, char **to, flow_error *error)
{
	if (value == NULL && s->format.unescaped['n'] == '\n')
		return add_token(s, flow_slice_make((const char[]){ s->format.escape, 'N' }, 2), to, error);
	if (value == NULL) /* what was inferred has to be null somewhere */
		return s->format.infer == CSV_INFER_NO ? FLOW_OK : add_token(s, flow_slice_of(""), to, error);
	if (value->entry_count > CSV_MAX_TOKENS)
		return flow_fail(s->host, error, FLOW_E_CONFIG, "null_token: at most %d texts can mean null", CSV_MAX_TOKENS);
	flow_status status = FLOW_OK;
	for (uint64_t i = 0; i < value->entry_count && status == FLOW_OK; i++)
		status = add_token(s, value->entries[i]->value->text, to, error);
	return status;
}

static flow_status
read_renames(csv_serde *s, const flow_option_value *value, char **to, flow_error *error)
{
	if (value == NULL || value->entry_count == 0)
		return FLOW_OK;
	s->renames = (csv_rename *)flow_new(s->host, value->entry_count * sizeof(*s->renames));
	if (s->renames == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	for (uint64_t i = 0; i < value->entry_count; i++) {
		const flow_option_entry *entry = value->entries[i];
		for (uint32_t k = 0; k < s->rename_count; k++)
			if (flow_slice_equal(s->renames[k].header, entry->value->text)) {
				flow_fail(s->host, error, FLOW_E_CONFIG, "rename: the header's \"%.*s\" stands twice",
						  (int)entry->value->text.size, entry->value->text.data);
				return refuse_option(s->host, error, "rename");
			}
		s->renames[s->rename_count].field = keep_text(to, entry->name);
		s->renames[s->rename_count++].header = keep_text(to, entry->value->text);
	}
	return FLOW_OK;
}

static uint64_t
texts_size(const flow_option_value *value)
{
	uint64_t size = 0;
	for (uint64_t i = 0; value != NULL && i < value->entry_count; i++)
		size += value->entries[i]->name.size + value->entries[i]->value->text.size;
	return size;
}

static flow_status
read_texts(csv_serde *s, const flow_options *from, flow_error *error)
{
	const flow_option_value *tokens = flow_option_get(from, "null_token");
	const flow_option_value *renames = flow_option_get(from, "rename");
	flow_slice thousands = flow_option_text(from, "thousands");
	char *to = (char *)flow_new(s->host, texts_size(tokens) + texts_size(renames) + thousands.size + 2);
	if (to == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	s->text_memory = to;
	flow_status status = thousands.size == 0 ? FLOW_OK : check_thousands(s, thousands, error);
	if (status != FLOW_OK)
		return status;
	s->format.thousands = keep_text(&to, thousands);
	status = read_tokens(s, tokens, &to, error);
	return status == FLOW_OK ? read_renames(s, renames, &to, error) : status;
}

/* --- types ----------------------------------------------------------------------------------------------------------- */

static int
can_read(const flow_schema *schema)
{
	return schema->kind != FLOW_KIND_LIST && schema->kind != FLOW_KIND_MAP && schema->kind != FLOW_KIND_RECORD &&
		   schema->kind != FLOW_KIND_UNION && schema->kind != FLOW_KIND_NULL;
}

static flow_status
read_types(csv_serde *s, const flow_options *from, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	const flow_option_value *fields = flow_option_get(from, "fields");
	flow_slice schema = flow_option_text(from, "schema");
	if (fields != NULL && fields->entry_count != 0)
		s->declared = flow_fields_record(s->host, fields, error);
	else if (schema.data != NULL)
		s->declared = schemas->parse_json(schema, error);
	else
		return FLOW_OK;
	if (s->declared == NULL)
		return FLOW_E_CONFIG;
	const char *option = schema.data != NULL ? "schema" : "fields";
	if (s->declared->kind != FLOW_KIND_RECORD || s->declared->field_count == 0 || flow_schema_nullable(s->declared)) {
		flow_fail(s->host, error, FLOW_E_CONFIG, "schema: rows are records with at least one field");
		return refuse_option(s->host, error, option);
	}
	for (uint32_t i = 0; i < s->declared->field_count; i++) {
		const flow_field *field = s->declared->fields[i];
		if (!can_read(field->schema))
			return flow_fail(s->host, error, FLOW_E_CONFIG, "%s.%.*s: a column cannot hold such a type", option,
							 (int)field->name.size, field->name.data);
	}
	return FLOW_OK;
}

/* --- all of them ----------------------------------------------------------------------------------------------------- */

static void
read_policies(csv_format *f, const flow_options *from)
{
	f->header = flow_option_bool(from, "header", 1);
	f->max_record = (uint64_t)flow_option_int(from, "max_record", (int64_t)16 << 20);
	f->infer = flow_option_is(from, "infer", "exact")   ? CSV_INFER_EXACT
			   : flow_option_is(from, "infer", "float") ? CSV_INFER_FLOAT
														: CSV_INFER_NO;
	f->missing = flow_option_is(from, "missing", "null")      ? CSV_MISSING_NULL
				 : flow_option_is(from, "missing", "default") ? CSV_MISSING_DEFAULT
															  : CSV_MISSING_ERROR;
	f->extra = flow_option_is(from, "extra", "ignore")  ? CSV_EXTRA_IGNORE
			   : flow_option_is(from, "extra", "error") ? CSV_EXTRA_ERROR
														: CSV_EXTRA_KEEP;
	f->fill_short = flow_option_is(from, "short_rows", "null");
	f->trim = flow_option_bool(from, "trim", 0);
	f->cut_long = flow_option_is(from, "long_rows", "ignore");
	f->decimal_mark = flow_option_is(from, "decimal_mark", ",") ? ',' : '.';
}

void
csv_close(flow_serde *serde)
{
	csv_serde *s = (csv_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	schemas->release(s->declared);
	schemas->release(s->schema);
	s->host->release(s->inferred);
	s->host->release(s->renames);
	s->host->release(s->text_memory);
	s->host->release(s);
}

flow_status
csv_open(const flow_host *host, const flow_options *from, uint32_t use, flow_serde **serde, flow_error *error)
{
	(void)use;
	csv_serde *s = (csv_serde *)flow_new(host, sizeof(*s));
	if (s == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	s->host = host;
	read_policies(&s->format, from);
	flow_status status = read_characters(s, from, error);
	if (status == FLOW_OK)
		status = read_texts(s, from, error);
	if (status == FLOW_OK)
		status = read_types(s, from, error);
	if (status != FLOW_OK) {
		csv_close((flow_serde *)s);
		return status;
	}
	*serde = (flow_serde *)s;
	return FLOW_OK;
}

flow_slice
csv_header_name(const csv_serde *s, flow_slice field)
{
	for (uint32_t i = 0; i < s->rename_count; i++)
		if (flow_slice_equal(s->renames[i].field, field))
			return s->renames[i].header;
	return field;
}

flow_slice
csv_field_name(const csv_serde *s, flow_slice header)
{
	for (uint32_t i = 0; i < s->rename_count; i++)
		if (flow_slice_equal(s->renames[i].header, header))
			return s->renames[i].field;
	return header;
}
