/* The csv plugin: options, the schema, and the tables. */
#include <stdio.h>

#include "csv.h"
#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"

/* --- options --------------------------------------------------------------------------------------------------------- */

static const flow_option option_fields = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_MAP,
	.element = FLOW_OPTION_TYPE,
	.name = "fields",
	.doc = "Types of columns by name; a '?' behind a type allows null. Columns that are not named here are strings "
		   "(nullable if "
		   "there is a null_token). Without a header it names all columns, in their order.",
	.example = "{ dep_delay = \"int64?\"; time_hour = \"timestamp\"; }",
};
static const flow_option option_header = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_BOOL,
	.name = "header",
	.default_text = "true",
	.doc = "The first record of each file holds the names of the columns. Without it, and without fields, columns are "
		   "called "
		   "column1, column2 and so on.",
};
static const flow_option option_delimiter = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "delimiter",
	.default_text = ",",
	.doc = "The character between fields: one ASCII character, or \"\\t\" for a tab.",
	.example = "\";\"",
};
static const flow_option option_quote = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "quote",
	.default_text = "\"",
	.doc = "The character around fields that hold delimiters, quotes or line ends; doubled inside of them.",
	.example = "\"'\"",
};
static const flow_option option_escape = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "escape",
	.doc = "A character that takes the next one literally, inside and outside of quotes. Absent: no character does.",
	.example = "\"\\\\\"",
};
static const flow_option option_comment = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "comment",
	.doc = "Lines that start with this character are passed over. Absent: there are no comments.",
	.example = "\"#\"",
};
static const flow_option option_null_token = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_LIST,
	.element = FLOW_OPTION_STRING,
	.name = "null_token",
	.flags = FLOW_OPTION_OR_ONE,
	.doc = "Texts that mean null where they are a whole field without quotes; the first one is written. Absent: "
		   "nothing means null, "
		   "an empty field is an empty string.",
	.example = "\"NA\"",
};
static const flow_option option_max_record = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_SIZE,
	.name = "max_record",
	.default_text = "16MiB",
	.minimum = "16",
	.maximum = "512MiB",
	.doc = "The longest record that is read. A quote that is not closed within it is an error, and reading ends.",
};

static const flow_option *const options[] = { &option_fields,     &option_header,     &option_delimiter,
											  &option_quote,      &option_escape,     &option_comment,
											  &option_null_token, &option_max_record, NULL };
static const flow_option_set option_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "Text with one record a line and fields between delimiters.",
	.options = options,
};
static const flow_option_set *const option_sets[] = { &option_set, NULL };

/* --- opening --------------------------------------------------------------------------------------------------------- */

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
		host->errors->option(error, name);
		return FLOW_E_CONFIG;
	}
	*character = c;
	return FLOW_OK;
}

static flow_status
read_characters(csv_serde *s, const flow_options *from, flow_error *error)
{
	csv_format *f = &s->format;
	f->delimiter = ',';
	f->quote = '"';
	flow_status status = read_character(s->host, from, "delimiter", &f->delimiter, error);
	if (status == FLOW_OK)
		status = read_character(s->host, from, "quote", &f->quote, error);
	if (status == FLOW_OK)
		status = read_character(s->host, from, "escape", &f->escape, error);
	if (status == FLOW_OK)
		status = read_character(s->host, from, "comment", &f->comment, error);
	if (status != FLOW_OK)
		return status;
	if (f->escape == f->quote)
		f->escape = 0; /* doubled quotes are understood anyway */
	if (f->delimiter == f->quote || f->delimiter == f->escape || f->delimiter == f->comment || f->quote == f->comment ||
		(f->escape != 0 && f->escape == f->comment))
		return flow_fail(s->host, error, FLOW_E_CONFIG,
						 "csv: delimiter, quote, escape and comment must be different characters");
	return FLOW_OK;
}

static flow_status
read_tokens(csv_serde *s, const flow_options *from, flow_error *error)
{
	const flow_option_value *value = flow_option_get(from, "null_token");
	if (value == NULL)
		return FLOW_OK;
	if (value->entry_count > CSV_MAX_TOKENS)
		return flow_fail(s->host, error, FLOW_E_CONFIG, "null_token: at most %d texts can mean null", CSV_MAX_TOKENS);
	uint64_t size = 1;
	for (uint64_t i = 0; i < value->entry_count; i++)
		size += value->entries[i]->value->text.size;
	s->token_memory = (char *)flow_new(s->host, size);
	if (s->token_memory == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	char *to = s->token_memory;
	for (uint64_t i = 0; i < value->entry_count; i++) {
		flow_slice text = value->entries[i]->value->text;
		const csv_format *f = &s->format;
		for (uint64_t k = 0; k < text.size; k++)
			if (text.data[k] == f->delimiter || text.data[k] == f->quote || text.data[k] == '\n' ||
				text.data[k] == '\r')
				return flow_fail(s->host, error, FLOW_E_CONFIG,
								 "null_token \"%.*s\" holds a delimiter, quote or line end", (int)text.size, text.data);
		if (text.size != 0)
			memcpy(to, text.data, text.size);
		memcpy(&s->format.token_heads[s->format.token_count], to, text.size < 8 ? text.size : 8);
		s->format.tokens[s->format.token_count++] = flow_slice_make(to, text.size);
		s->format.token_sizes |= 1ull << (text.size < 63 ? text.size : 63);
		to += text.size;
	}
	return FLOW_OK;
}

static int
can_read(const flow_schema *schema)
{
	return schema->kind != FLOW_KIND_LIST && schema->kind != FLOW_KIND_MAP && schema->kind != FLOW_KIND_RECORD &&
		   schema->kind != FLOW_KIND_UNION && schema->kind != FLOW_KIND_NULL;
}

static flow_status
read_fields(csv_serde *s, const flow_options *from, flow_error *error)
{
	const flow_option_value *fields = flow_option_get(from, "fields");
	if (fields == NULL || fields->entry_count == 0)
		return FLOW_OK;
	s->declared = flow_fields_record(s->host, fields, error);
	if (s->declared == NULL)
		return FLOW_E_CONFIG;
	for (uint32_t i = 0; i < s->declared->field_count; i++) {
		const flow_field *field = s->declared->fields[i];
		if (!can_read(field->schema))
			return flow_fail(s->host, error, FLOW_E_CONFIG, "fields.%.*s: a column cannot hold such a type",
							 (int)field->name.size, field->name.data);
	}
	return FLOW_OK;
}

static void
csv_close(flow_serde *serde)
{
	csv_serde *s = (csv_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	schemas->release(s->declared);
	schemas->release(s->schema);
	s->host->release(s->token_memory);
	s->host->release(s);
}

static flow_status
csv_open(const flow_host *host, const flow_options *from, uint32_t use, flow_serde **serde, flow_error *error)
{
	(void)use;
	csv_serde *s = (csv_serde *)flow_new(host, sizeof(*s));
	if (s == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	s->host = host;
	s->format.header = flow_option_bool(from, "header", 1);
	s->format.max_record = (uint64_t)flow_option_int(from, "max_record", (int64_t)16 << 20);
	flow_status status = read_characters(s, from, error);
	if (status == FLOW_OK)
		status = read_tokens(s, from, error);
	if (status == FLOW_OK)
		status = read_fields(s, from, error);
	if (status != FLOW_OK) {
		csv_close((flow_serde *)s);
		return status;
	}
	*serde = (flow_serde *)s;
	return FLOW_OK;
}

/* --- the schema ------------------------------------------------------------------------------------------------------ */

/* Every declared field must be a column. */
static flow_status
check_declared(const csv_serde *s, const flow_schema *schema, flow_error *error)
{
	for (uint32_t i = 0; s->declared != NULL && i < s->declared->field_count; i++) {
		flow_slice name = s->declared->fields[i]->name;
		if (flow_schema_find(schema, name) >= 0)
			continue;
		char columns[512];
		uint64_t size = 0;
		for (uint32_t k = 0; k < schema->field_count && size + schema->fields[k]->name.size + 3 < sizeof(columns);
			 k++) {
			if (k != 0)
				columns[size++] = ' ';
			memcpy(columns + size, schema->fields[k]->name.data, schema->fields[k]->name.size);
			size += schema->fields[k]->name.size;
		}
		return flow_fail(s->host, error, FLOW_E_CONFIG, "fields.%.*s: the header has no such column; it has: %.*s",
						 (int)name.size, name.data, (int)size, columns);
	}
	return FLOW_OK;
}

/* The record schema of columns with these names (NULL: numbered ones). */
static const flow_schema *
make_schema(const csv_serde *s, const csv_line *line, int named, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	const flow_schema *text =
		schemas->parse_type(flow_slice_of(s->format.token_count != 0 ? "string?" : "string"), error);
	flow_field_spec *specs = (flow_field_spec *)flow_new(s->host, line->count * sizeof(*specs));
	const flow_field_spec **pointers = (const flow_field_spec **)flow_new(s->host, line->count * sizeof(*pointers));
	char *numbered = (char *)flow_new(s->host, (uint64_t)line->count * 24);
	const flow_schema *schema = NULL;
	if (text == NULL || specs == NULL || pointers == NULL || numbered == NULL) {
		if (text != NULL)
			flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	} else {
		for (uint32_t i = 0; i < line->count; i++) {
			flow_slice name = line->fields[i];
			if (!named || name.size == 0)
				name = flow_slice_make(numbered + (uint64_t)i * 24,
									   (uint64_t)sprintf(numbered + (uint64_t)i * 24, "column%u", i + 1));
			int32_t declared = s->declared == NULL ? -1 : flow_schema_find(s->declared, name);
			specs[i] = (flow_field_spec){ .struct_size = FLOW_SIZEOF(flow_field_spec),
										  .name = name,
										  .schema = declared < 0 ? text : s->declared->fields[declared]->schema };
			pointers[i] = &specs[i];
		}
		schema = schemas->make_record(flow_slice_make(NULL, 0), pointers, line->count, error);
	}
	schemas->release(text);
	s->host->release(specs);
	s->host->release(pointers);
	s->host->release(numbered);
	return schema;
}

static flow_status
check_names(const csv_serde *s, const csv_line *line, flow_error *error)
{
	if (line->count > CSV_MAX_COLUMNS)
		return flow_fail(s->host, error, FLOW_E_LIMIT,
						 "csv: the first record has %u fields; at most %d columns are read", line->count,
						 CSV_MAX_COLUMNS);
	for (uint32_t i = 0; s->format.header && i < line->count; i++) {
		flow_slice name = line->fields[i];
		if (flow_utf8_check(name.data, name.size) != name.size)
			return flow_fail(s->host, error, FLOW_E_DECODE,
							 "csv: the name of column %u in the header is not valid UTF-8", i + 1);
		for (uint32_t k = 0; k < i; k++)
			if (name.size != 0 && flow_slice_equal(name, line->fields[k]))
				return flow_fail(s->host, error, FLOW_E_DECODE, "csv: column \"%.*s\" stands twice in the header",
								 (int)name.size, name.data);
	}
	return FLOW_OK;
}

/* The columns that the first record of the sample shows. */
static flow_status
schema_from_sample(csv_serde *s, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	uint64_t lines = 0;
	uint64_t skipped = csv_skip_to_header(&s->format, sample, &lines);
	csv_line line;
	int cut = csv_line_cut(&s->format, flow_slice_make(sample.data + skipped, sample.size - skipped), 0, &line);
	if (cut == CSV_LINE_CUT) /* the stream may be no longer than the sample */
		cut = csv_line_cut(&s->format, flow_slice_make(sample.data + skipped, sample.size - skipped), 1, &line);
	if (cut == CSV_LINE_MEMORY)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	if (cut != CSV_LINE_WHOLE)
		return flow_fail(s->host, error, FLOW_E_DECODE,
						 "csv: line %llu opens a quote that is not closed in the first %llu bytes",
						 (unsigned long long)lines + 1, (unsigned long long)sample.size);
	flow_status status = check_names(s, &line, error);
	*schema = status == FLOW_OK ? make_schema(s, &line, s->format.header, error) : NULL;
	csv_line_release(&line);
	if (status == FLOW_OK && *schema == NULL)
		return FLOW_E_DECODE;
	return status == FLOW_OK ? check_declared(s, *schema, error) : status;
}

static flow_status
csv_decoded_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	csv_serde *s = (csv_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	const flow_schema *found = NULL;
	if (!s->format.header && s->declared != NULL) {
		found = schemas->retain(s->declared);
	} else {
		if (sample.size == 0)
			return FLOW_AGAIN;
		flow_status status = schema_from_sample(s, sample, &found, error);
		if (status != FLOW_OK) {
			schemas->release(found);
			return status;
		}
	}
	schemas->release(s->schema);
	s->schema = found;
	*schema = schemas->retain(found);
	return FLOW_OK;
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

static const flow_serde_ops ops = {
	.struct_size = FLOW_SIZEOF(flow_serde_ops),
	.open = csv_open,
	.close = csv_close,
	.decoded_schema = csv_decoded_schema,
	.check_encodable = csv_check_encodable,
	.decoder_open = csv_decoder_open,
	.decode = csv_decode,
	.save = csv_save,
	.restore = csv_restore,
	.decoder_close = csv_decoder_close,
	.encoder_open = csv_encoder_open,
	.begin = csv_begin,
	.encode = csv_encode,
	.encoder_close = csv_encoder_close,
};

static const flow_component component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SERDE,
	.flags = FLOW_SERDE_STREAM,
	.id = "csv",
	.doc = "Comma-separated values. Reads and writes text files with one record a line, quotes, a header and declared "
		   "types.",
	.option_sets = option_sets,
	.ops = &ops,
};
static const flow_component *const components[] = { &component, NULL };

FLOW_DEFINE_PLUGIN("csv", "0.1.0", "Apache-2.0", components, NULL, NULL)
