/* The columns of a stream: from the header of its first file, the declared fields, and what its first rows look like. */
#include <stdio.h>

#include "csv.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"

#define NAME_SIZE 24 /* "column4294967295" */
#define LIST_SIZE 512

/* What is known while a schema is made. */
struct plan {
	csv_serde *serde;
	const csv_line *line; /* the first record */
	flow_slice *names;    /* of its columns, by field; empty: not a field */
	uint32_t count;
	char (*numbered)[NAME_SIZE];
	char (*types)[CSV_TYPE_TEXT]; /* what infer found; NULL: did not look */
	flow_error *error;
};

static flow_status
no_memory(const struct plan *p)
{
	return flow_fail(p->serde->host, p->error, FLOW_E_MEMORY, "out of memory");
}

/* --- names ----------------------------------------------------------------------------------------------------------- */

/* The names of the header for a message. */
static int
list_names(const struct plan *p, char *text)
{
	uint64_t size = 0;
	for (uint32_t i = 0; i < p->line->count && size + p->line->fields[i].size + 3 < LIST_SIZE; i++) {
		if (i != 0)
			text[size++] = ' ';
		if (p->line->fields[i].size != 0)
			memcpy(text + size, p->line->fields[i].data, p->line->fields[i].size);
		size += p->line->fields[i].size;
	}
	return (int)size;
}

static flow_status
refuse_extra(const struct plan *p, flow_slice name)
{
	return flow_fail(p->serde->host, p->error, FLOW_E_DECODE,
					 "csv: column \"%.*s\" of the header is not declared (extra = \"ignore\" passes over it)",
					 (int)name.size, name.data);
}

static flow_status
name_columns(struct plan *p)
{
	const csv_serde *s = p->serde;
	for (uint32_t i = 0; i < p->count; i++) {
		flow_slice name = s->format.header ? csv_field_name(s, p->line->fields[i]) : flow_slice_make(NULL, 0);
		if (name.size == 0)
			name = flow_slice_make(p->numbered[i], (uint64_t)snprintf(p->numbered[i], NAME_SIZE, "column%u", i + 1));
		else if (flow_utf8_check(name.data, name.size) != name.size)
			return flow_fail(s->host, p->error, FLOW_E_DECODE,
							 "csv: the name of column %u in the header is not valid UTF-8", i + 1);
		if (s->format.header && s->declared != NULL && flow_schema_find(s->declared, name) < 0) {
			if (s->format.extra == CSV_EXTRA_ERROR)
				return refuse_extra(p, name);
			if (s->format.extra == CSV_EXTRA_IGNORE)
				continue;
		}
		for (uint32_t k = 0; k < i; k++)
			if (flow_slice_equal(name, p->names[k]))
				return flow_fail(s->host, p->error, FLOW_E_DECODE, "csv: column \"%.*s\" stands twice in the header",
								 (int)name.size, name.data);
		p->names[i] = name;
	}
	return FLOW_OK;
}

/* --- types ----------------------------------------------------------------------------------------------------------- */

/* A declared field that the header does not have. */
static flow_status
check_missing(const struct plan *p, const flow_field *field)
{
	const csv_format *f = &p->serde->format;
	char columns[LIST_SIZE];
	int fills = f->missing == CSV_MISSING_NULL ? flow_schema_nullable(field->schema)
				: f->missing == CSV_MISSING_DEFAULT
					? field->default_value != NULL || flow_schema_nullable(field->schema)
					: 0;
	if (fills)
		return FLOW_OK;
	return flow_fail(p->serde->host, p->error, FLOW_E_CONFIG,
					 "fields.%.*s: the header has no such column%s; it has: %.*s", (int)field->name.size,
					 field->name.data, f->missing == CSV_MISSING_ERROR ? "" : ", and its type allows no null",
					 list_names(p, columns), columns);
}

static flow_status
missing_fields(const struct plan *p, flow_field_spec *specs, uint32_t *count)
{
	const flow_schema *declared = p->serde->declared;
	for (uint32_t i = 0; declared != NULL && i < declared->field_count; i++) {
		int there = 0;
		for (uint32_t k = 0; k < p->count && !there; k++)
			there = flow_slice_equal(p->names[k], declared->fields[i]->name);
		flow_status status = there ? FLOW_OK : check_missing(p, declared->fields[i]);
		if (status != FLOW_OK)
			return status;
		if (!there)
			specs[(*count)++] = (flow_field_spec){ .struct_size = FLOW_SIZEOF(flow_field_spec),
												   .name = declared->fields[i]->name,
												   .schema = declared->fields[i]->schema,
												   .default_value = declared->fields[i]->default_value };
	}
	return FLOW_OK;
}

/* The type of a column that is not declared; owned by the caller. */
static const flow_schema *
found_type(const struct plan *p, uint32_t column)
{
	const csv_serde *s = p->serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	char type[CSV_TYPE_TEXT + 1];
	snprintf(type, sizeof(type), "%s%s", p->types == NULL ? "string" : p->types[column],
			 s->format.token_count != 0 ? "?" : "");
	return schemas->parse_type(flow_slice_of(type), p->error);
}

/* The fields of the columns, then the declared ones that are no columns. */
static flow_status
fill_specs(struct plan *p, flow_field_spec *specs, uint8_t *inferred, uint32_t *count)
{
	const csv_serde *s = p->serde;
	for (uint32_t i = 0; i < p->count; i++) {
		if (p->names[i].size == 0)
			continue;
		flow_field_spec *spec = &specs[*count];
		*spec = (flow_field_spec){ .struct_size = FLOW_SIZEOF(flow_field_spec), .name = p->names[i] };
		int32_t declared = s->declared == NULL ? -1 : flow_schema_find(s->declared, p->names[i]);
		if (declared >= 0) {
			spec->schema = s->declared->fields[declared]->schema;
			spec->default_value = s->declared->fields[declared]->default_value;
		} else {
			spec->schema = found_type(p, i);
			spec->reserved = 1; /* to be released; not for the host to see */
			inferred[*count] = p->types != NULL;
		}
		if (spec->schema == NULL)
			return FLOW_E_MEMORY;
		++*count;
	}
	return s->format.header ? missing_fields(p, specs, count) : FLOW_OK;
}

static flow_status
make_schema(struct plan *p, const flow_schema **schema)
{
	csv_serde *s = p->serde;
	const flow_host *host = s->host;
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	uint64_t most = (uint64_t)p->count + (s->declared == NULL ? 0 : s->declared->field_count) + 1;
	flow_field_spec *specs = (flow_field_spec *)flow_new(host, most * sizeof(*specs));
	const flow_field_spec **pointers = (const flow_field_spec **)flow_new(host, most * sizeof(*pointers));
	const flow_schema **owned = (const flow_schema **)flow_new(host, most * sizeof(*owned));
	uint8_t *inferred = (uint8_t *)flow_new(host, most);
	uint32_t count = 0;
	flow_status status = FLOW_E_MEMORY;
	if (specs != NULL && pointers != NULL && owned != NULL && inferred != NULL)
		status = fill_specs(p, specs, inferred, &count);
	else
		no_memory(p);
	for (uint32_t i = 0; specs != NULL && i < count; i++) {
		if (owned != NULL && specs[i].reserved != 0)
			owned[i] = specs[i].schema;
		specs[i].reserved = 0;
		if (pointers != NULL)
			pointers[i] = &specs[i];
	}
	if (status == FLOW_OK && count == 0)
		status = flow_fail(host, p->error, FLOW_E_DECODE, "csv: the header has none of the declared columns");
	if (status == FLOW_OK) {
		*schema = schemas->make_record(flow_slice_make(NULL, 0), pointers, count, p->error);
		status = *schema == NULL ? FLOW_E_DECODE : FLOW_OK;
	}
	for (uint32_t i = 0; owned != NULL && i < count; i++)
		schemas->release(owned[i]);
	host->release(specs);
	host->release(pointers);
	host->release(owned);
	host->release(s->inferred);
	s->inferred = inferred;
	return status;
}

/* --- the sample ------------------------------------------------------------------------------------------------------ */

static flow_status
look_at_rows(struct plan *p, flow_slice rows, int final)
{
	const csv_serde *s = p->serde;
	if (s->format.infer == CSV_INFER_NO)
		return FLOW_OK;
	p->types = (char(*)[CSV_TYPE_TEXT])flow_new(s->host, (uint64_t)p->count * CSV_TYPE_TEXT);
	if (p->types == NULL || csv_infer(&s->format, rows, final, p->count, p->types) != FLOW_OK)
		return no_memory(p);
	return FLOW_OK;
}

static flow_status
schema_of_line(csv_serde *s, const csv_line *line, flow_slice rows, int final, const flow_schema **schema,
			   flow_error *error)
{
	struct plan p = { .serde = s, .line = line, .count = line->count, .error = error };
	if (line->count > CSV_MAX_COLUMNS)
		return flow_fail(s->host, error, FLOW_E_LIMIT,
						 "csv: the first record has %u fields; at most %d columns are read", line->count,
						 CSV_MAX_COLUMNS);
	p.names = (flow_slice *)flow_new(s->host, line->count * sizeof(*p.names));
	p.numbered = (char(*)[NAME_SIZE])flow_new(s->host, (uint64_t)line->count * NAME_SIZE);
	flow_status status = p.names == NULL || p.numbered == NULL ? no_memory(&p) : name_columns(&p);
	if (status == FLOW_OK)
		status = look_at_rows(&p, rows, final);
	if (status == FLOW_OK)
		status = make_schema(&p, schema);
	s->host->release(p.types);
	s->host->release(p.names);
	s->host->release(p.numbered);
	return status;
}

/* The columns that the first record of the sample shows. */
static flow_status
schema_from_sample(csv_serde *s, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	uint64_t lines = 0;
	uint64_t skipped = csv_skip_to_header(&s->format, sample, &lines);
	flow_slice rest = flow_slice_make(sample.data + skipped, sample.size - skipped);
	int final = sample.size < FLOW_SAMPLE_SIZE;
	csv_line line = { 0 };
	if (csv_ends_in_returns(&s->format, rest))
		return flow_fail(s->host, error, FLOW_E_DECODE, CSV_RETURNS, "csv");
	int cut = csv_line_cut(&s->format, rest, 0, &line);
	if (cut == CSV_LINE_CUT) /* the stream may be no longer than the sample */
		cut = csv_line_cut(&s->format, rest, 1, &line);
	if (cut == CSV_LINE_MEMORY)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	if (cut != CSV_LINE_WHOLE)
		return flow_fail(s->host, error, FLOW_E_DECODE,
						 "csv: line %llu opens a quote that is not closed in the first %llu bytes",
						 (unsigned long long)lines + 1, (unsigned long long)sample.size);
	uint64_t behind = s->format.header ? line.size : 0;
	flow_status status =
		schema_of_line(s, &line, flow_slice_make(rest.data + behind, rest.size - behind), final, schema, error);
	csv_line_release(&line);
	return status;
}

flow_status
csv_decoded_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	csv_serde *s = (csv_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	const flow_schema *found = NULL;
	int known = s->declared != NULL && (!s->format.header || s->format.extra == CSV_EXTRA_IGNORE);
	if (known) {
		found = schemas->retain(s->declared);
	} else {
		if (sample.size == 0)
			return FLOW_AGAIN;
		flow_status status = schema_from_sample(s, sample, &found, error);
		if (status != FLOW_OK)
			return status;
	}
	schemas->release(s->schema);
	s->schema = found;
	*schema = schemas->retain(found);
	return FLOW_OK;
}
