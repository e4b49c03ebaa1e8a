/* The pattern of a stream: written out, compiled, and its named groups as the fields of a record. */
#include <stdlib.h>

#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"
#include "regex.h"

#define RAW_FIELD "raw" /* for lines that do not match */

static void *
allocate(size_t size, void *host)
{
	return ((const flow_host *)host)->allocate(size);
}

static void
release(void *memory, void *host)
{
	((const flow_host *)host)->release(memory);
}

void
regex_close(logs_serde *s)
{
	regex_pattern *p = (regex_pattern *)s->own;
	if (p == NULL)
		return;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	for (uint32_t i = 0; i < p->field_count; i++)
		schemas->release(p->fields[i].schema);
	s->host->release(p->fields);
	s->host->release(p->entries);
	s->host->release(p->formats);
	pcre2_code_free(p->code);
	pcre2_general_context_free(p->memory);
	s->host->release(p);
}

/* --- opening -------------------------------------------------------------------------------------------------------------- */

static flow_status
compile(regex_pattern *p, const regex_text *text, flow_error *error)
{
	int code = 0;
	PCRE2_SIZE offset = 0;
	pcre2_compile_context *context = pcre2_compile_context_create(p->memory);
	if (context == NULL)
		return flow_fail(p->host, error, FLOW_E_MEMORY, "out of memory");
	p->code = pcre2_compile((PCRE2_SPTR)text->text, text->size, PCRE2_UTF | PCRE2_DUPNAMES | PCRE2_NEVER_BACKSLASH_C,
							&code, &offset, context);
	pcre2_compile_context_free(context);
	if (p->code == NULL) {
		char message[160] = "";
		uint64_t from = offset < 24 ? 0 : offset - 24;
		pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof(message));
		if (code == 121) /* PCRE2 could not allocate */
			return flow_fail(p->host, error, FLOW_E_MEMORY, "out of memory");
		return flow_fail(p->host, error, FLOW_E_CONFIG, "regex: %s behind '%.*s'", message, (int)(offset - from),
						 text->text + from);
	}
	if (pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) == PCRE2_ERROR_NOMEMORY)
		flow_say(p->host, FLOW_LOG_INFO, "regex", "there is no memory for machine code; the pattern is interpreted");
	return FLOW_OK;
}

static int
by_group(const void *left, const void *right)
{
	const regex_field *a = (const regex_field *)left, *b = (const regex_field *)right;
	return (a->first_group > b->first_group) - (a->first_group < b->first_group);
}

/* The named groups, each name once, in the order of the pattern. */
static flow_status
find_fields(regex_pattern *p, flow_error *error)
{
	uint32_t count = 0, size = 0;
	PCRE2_SPTR table = NULL;
	pcre2_pattern_info(p->code, PCRE2_INFO_NAMECOUNT, &count);
	pcre2_pattern_info(p->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
	pcre2_pattern_info(p->code, PCRE2_INFO_NAMETABLE, &table);
	if (count == 0)
		return flow_fail(
			p->host, error, FLOW_E_CONFIG,
			"regex: the pattern has no named groups, and so no fields; write (?<name>...) or %%{NUMBER:name}");
	p->fields = (regex_field *)flow_new(p->host, count * sizeof(*p->fields));
	p->entries = (const PCRE2_UCHAR **)flow_new(p->host, count * sizeof(*p->entries));
	if (p->fields == NULL || p->entries == NULL)
		return flow_fail(p->host, error, FLOW_E_MEMORY, "out of memory");
	for (uint32_t i = 0; i < count; i++) { /* sorted by name, then by number */
		p->entries[i] = table + (uint64_t)i * size;
		const char *name = (const char *)p->entries[i] + 2;
		if (i == 0 || strcmp(name, (const char *)p->entries[i - 1] + 2) != 0)
			p->fields[p->field_count++] = (regex_field){ .name = flow_slice_of(name),
														 .first_group = regex_group_of(p->entries[i]),
														 .entries = &p->entries[i] };
		p->fields[p->field_count - 1].group_count++;
	}
	qsort(p->fields, p->field_count, sizeof(*p->fields), by_group);
	return FLOW_OK;
}

static regex_field *
field_of(const regex_pattern *p, flow_slice name)
{
	for (uint32_t i = 0; i < p->field_count; i++)
		if (flow_slice_equal(p->fields[i].name, name))
			return &p->fields[i];
	return NULL;
}

static flow_status
refuse_name(const regex_pattern *p, const char *option, flow_slice name, flow_error *error)
{
	return flow_fail(p->host, error, FLOW_E_CONFIG, "regex: option %s: the pattern has no group '%.*s'", option,
					 (int)name.size, name.data);
}

static flow_status
set_type(regex_pattern *p, regex_field *field, flow_slice type, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)p->host->get_service(FLOW_SERVICE_SCHEMAS);
	schemas->release(field->schema);
	field->schema = schemas->parse_type(type, error);
	if (field->schema == NULL)
		return FLOW_E_CONFIG;
	if (field->schema->kind < FLOW_KIND_LIST && field->schema->kind != FLOW_KIND_NULL)
		return FLOW_OK;
	return flow_fail(p->host, error, FLOW_E_CONFIG,
					 "regex: field '%.*s': a group is a text, which cannot be read as %.*s", (int)field->name.size,
					 field->name.data, (int)type.size, type.data);
}

/* Types within the pattern: as the pattern library has them (int, float), and all others; null is always allowed there. */
static flow_status
types_of_pattern(regex_pattern *p, const regex_text *text, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)p->host->get_service(FLOW_SERVICE_SCHEMAS);
	for (uint32_t i = 0; i < text->type_count; i++) {
		flow_slice type = text->types[i].type;
		regex_field *field = field_of(p, text->types[i].field);
		if (flow_slice_is(type, "int"))
			type = flow_slice_of("int64");
		else if (flow_slice_is(type, "float"))
			type = flow_slice_of("float64");
		flow_status status = field == NULL ? FLOW_E_INTERNAL : set_type(p, field, type, error);
		if (status != FLOW_OK)
			return status;
		const flow_schema *nullable = schemas->with_nullable(field->schema, 1);
		if (nullable == NULL)
			return flow_fail(p->host, error, FLOW_E_MEMORY, "out of memory");
		schemas->release(field->schema);
		field->schema = nullable;
	}
	return FLOW_OK;
}

static flow_status
types_of_options(regex_pattern *p, const flow_option_value *fields, flow_error *error)
{
	for (uint64_t i = 0; fields != NULL && i < fields->entry_count; i++) {
		regex_field *field = field_of(p, fields->entries[i]->name);
		if (field == NULL)
			return refuse_name(p, "fields", fields->entries[i]->name, error);
		flow_status status = set_type(p, field, fields->entries[i]->value->text, error);
		if (status != FLOW_OK)
			return status;
	}
	for (uint32_t i = 0; i < p->field_count; i++) {
		flow_status status =
			p->fields[i].schema == NULL ? set_type(p, &p->fields[i], flow_slice_of("string?"), error) : FLOW_OK;
		if (status != FLOW_OK)
			return status;
		if (p->unmatched != REGEX_UNMATCHED_ERROR && !flow_schema_nullable(p->fields[i].schema))
			return flow_fail(
				p->host, error, FLOW_E_CONFIG,
				"regex: field '%.*s' needs a type that allows null ('?'), as lines that do not match have none",
				(int)p->fields[i].name.size, p->fields[i].name.data);
	}
	return FLOW_OK;
}

static flow_status
time_formats(regex_pattern *p, const flow_option_value *times, flow_error *error)
{
	uint64_t size = 1;
	for (uint64_t i = 0; times != NULL && i < times->entry_count; i++)
		size += times->entries[i]->value->text.size;
	p->formats = (char *)p->host->allocate(size);
	if (p->formats == NULL)
		return flow_fail(p->host, error, FLOW_E_MEMORY, "out of memory");
	char *to = p->formats;
	for (uint64_t i = 0; times != NULL && i < times->entry_count; i++) {
		flow_slice format = times->entries[i]->value->text;
		regex_field *field = field_of(p, times->entries[i]->name);
		if (field == NULL)
			return refuse_name(p, "times", times->entries[i]->name, error);
		flow_status status = logs_check_time_format(p->host, field->schema, field->name, format, error);
		if (status != FLOW_OK)
			return status;
		if (format.size != 0)
			memcpy(to, format.data, format.size);
		field->time_format = flow_slice_make(to, format.size);
		to += format.size;
	}
	return FLOW_OK;
}

static flow_status
make_schema(logs_serde *s, const regex_pattern *p, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	uint32_t count = p->field_count + (p->unmatched == REGEX_UNMATCHED_RAW);
	flow_field_spec *specs = (flow_field_spec *)flow_new(s->host, (count + 1) * sizeof(*specs));
	const flow_field_spec **pointers = (const flow_field_spec **)flow_new(s->host, (count + 1) * sizeof(*pointers));
	const flow_schema *raw = schemas->parse_type(flow_slice_of("string?"), error);
	if (specs != NULL && pointers != NULL && raw != NULL) {
		for (uint32_t i = 0; i < count; i++) {
			int is_raw = i == p->field_count;
			specs[i] = (flow_field_spec){ .struct_size = FLOW_SIZEOF(flow_field_spec),
										  .name = is_raw ? flow_slice_of(RAW_FIELD) : p->fields[i].name,
										  .schema = is_raw ? raw : p->fields[i].schema };
			pointers[i] = &specs[i];
		}
		s->schema = schemas->make_record(flow_slice_make("", 0), pointers, count, error);
	} else {
		flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	}
	schemas->release(raw);
	s->host->release(pointers);
	s->host->release(specs);
	return s->schema != NULL ? FLOW_OK : FLOW_E_CONFIG;
}

static flow_status
write_out(regex_text *text, const flow_options *from, flow_error *error)
{
	int whole = !flow_slice_is(flow_option_text(from, "match"), "anywhere");
	text->own = flow_option_get(from, "patterns");
	flow_status status = whole ? regex_append(text, "\\A(?:", 5, error) : FLOW_OK;
	if (status == FLOW_OK)
		status = regex_expand(text, flow_option_text(from, "pattern"), error);
	return status == FLOW_OK && whole ? regex_append(text, ")\\z", 3, error) : status;
}

flow_status
regex_open(logs_serde *s, const flow_options *from, flow_error *error)
{
	regex_pattern *p = (regex_pattern *)flow_new(s->host, sizeof(*p));
	s->own = p;
	if (p == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	p->host = s->host;
	p->match_limit = (uint32_t)flow_option_int(from, "match_limit", 1000000);
	flow_slice unmatched = flow_option_text(from, "unmatched");
	p->unmatched = flow_slice_is(unmatched, "raw")    ? REGEX_UNMATCHED_RAW
				   : flow_slice_is(unmatched, "null") ? REGEX_UNMATCHED_NULL
													  : REGEX_UNMATCHED_ERROR;
	p->memory = pcre2_general_context_create(allocate, release, (void *)(uintptr_t)s->host);
	regex_text text = { .host = s->host };
	flow_status status =
		p->memory == NULL ? flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory") : write_out(&text, from, error);
	if (status == FLOW_OK)
		status = compile(p, &text, error);
	if (status == FLOW_OK)
		status = find_fields(p, error);
	if (status == FLOW_OK)
		status = types_of_pattern(p, &text, error);
	if (status == FLOW_OK)
		status = types_of_options(p, flow_option_get(from, "fields"), error);
	if (status == FLOW_OK)
		status = time_formats(p, flow_option_get(from, "times"), error);
	if (status == FLOW_OK)
		status = make_schema(s, p, error);
	regex_text_release(&text);
	return status;
}
