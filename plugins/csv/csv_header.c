/* The header of a file: which of its columns is which field. */
#include <stdio.h>

#include "csv_decoder.h"
#include "flow_sdk/plugin.h"

/* The field of a column; -1: none. */
static int32_t
find_field(const struct flow_decoder *d, flow_slice header, uint32_t column)
{
	char numbered[24];
	flow_slice name = csv_field_name(d->serde, header);
	if (name.size == 0)
		name = flow_slice_make(numbered, (uint64_t)snprintf(numbered, sizeof(numbered), "column%u", column + 1));
	return flow_schema_find(d->schema, name);
}

static flow_status
refuse_column(const struct flow_decoder *d, flow_slice name, const char *what, flow_error *error)
{
	return flow_fail(d->serde->host, error, FLOW_E_DECODE, "%s: column \"%.*s\" of the header %s", d->place,
					 (int)name.size, name.data, what);
}

/* Fields that the file does not have. */
static flow_status
check_missing(const struct flow_decoder *d, flow_error *error)
{
	for (uint32_t i = 0; i < d->field_count; i++) {
		const flow_field *field = d->schema->fields[i];
		if (d->seen[i])
			continue;
		flow_slice name = csv_header_name(d->serde, field->name);
		if (d->format->missing == CSV_MISSING_ERROR)
			return flow_fail(d->serde->host, error, FLOW_E_DECODE,
							 "%s: the header has no column \"%.*s\" (missing = \"null\" reads it as null)", d->place,
							 (int)name.size, name.data);
		if (csv_missing_value(d, i) == NULL && !flow_schema_nullable(field->schema))
			return flow_fail(d->serde->host, error, FLOW_E_DECODE,
							 "%s: the header has no column \"%.*s\", and its type allows no null", d->place,
							 (int)name.size, name.data);
	}
	return FLOW_OK;
}

/* Maps the columns of this file to fields by name: their order may be another one than in the first file. */
static flow_status
take_header(struct flow_decoder *d, const csv_line *line, flow_error *error)
{
	const flow_host *host = d->serde->host;
	if (line->count > CSV_MAX_COLUMNS)
		return flow_fail(host, error, FLOW_E_LIMIT, "%s: the header has %u columns; at most %d are read", d->place,
						 line->count, CSV_MAX_COLUMNS);
	if (csv_columns_resize(d, line->count) != FLOW_OK)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	d->state.mapped = line->count != d->field_count;
	for (uint32_t i = 0; i < line->count; i++) {
		int32_t field = find_field(d, line->fields[i], i);
		if (field >= 0 && d->seen[field])
			return refuse_column(d, line->fields[i], "stands twice", error);
		if (field < 0 && d->format->extra != CSV_EXTRA_IGNORE)
			return refuse_column(d, line->fields[i],
								 d->serde->declared != NULL && d->format->extra == CSV_EXTRA_ERROR
									 ? "is not declared (extra = \"ignore\" passes over it)"
									 : "is not in the first file of the stream (extra = \"ignore\" passes over it)",
								 error);
		d->state.mapped |= field != (int32_t)i;
		if (field >= 0)
			csv_column_set(d, i, (uint32_t)field);
	}
	csv_columns_settle(d);
	return check_missing(d, error);
}

flow_status
csv_read_header(struct flow_decoder *d, flow_window *window, flow_error *error)
{
	const flow_host *host = d->serde->host;
	uint64_t lines = 0;
	uint64_t skipped = csv_skip_to_header(d->format, flow_slice_make(window->data, window->size), &lines);
	flow_slice rest = flow_slice_make(window->data + skipped, window->size - skipped);
	if (rest.size == 0 || (window->size < 3 && !window->final)) {
		window->consumed = window->final ? window->size : 0;
		return FLOW_OK;
	}
	if (csv_is_old_mac(d->format, window, skipped))
		return flow_fail(host, error, FLOW_E_DECODE, CSV_RETURNS, d->place);
	csv_line line = { 0 };
	int cut = csv_line_cut(d->format, rest, window->final != 0, &line);
	if (cut == CSV_LINE_MEMORY)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	uint64_t size = cut == CSV_LINE_WHOLE ? line.size : rest.size;
	int over = size > d->format->max_record + 1; /* the line feed does not count */
	if (cut == CSV_LINE_CUT && !over)
		return FLOW_OK;
	flow_status status = FLOW_E_DECODE;
	if (cut != CSV_LINE_WHOLE || over)
		flow_fail(host, error, status, "%s:%llu: the header %s", d->place, (unsigned long long)lines + 1,
				  over ? "is longer than max_record" : "opens a quote that is not closed");
	else
		status = take_header(d, &line, error);
	window->consumed = skipped + line.size;
	d->state.line += lines + line.lines;
	d->state.header_done = status == FLOW_OK;
	csv_line_release(&line);
	return status;
}
