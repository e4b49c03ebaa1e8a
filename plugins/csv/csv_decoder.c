/* Decoders: opened, saved, restored, and shown the header of their file. */
#include "csv_decoder.h"
#include "flow_sdk/plugin.h"

/* --- opening --------------------------------------------------------------------------------------------------------- */

static void
set_column(struct flow_decoder *d, uint32_t column, uint32_t field)
{
	const flow_schema *schema = d->schema->fields[field]->schema;
	struct column *c = &d->columns[column];
	c->schema = schema;
	c->field = field;
	c->nullable = flow_schema_nullable(schema) != 0;
	c->small = schema->kind == FLOW_KIND_INT32;
	if (!d->wanted[field])
		c->action = SKIP;
	else if (schema->kind == FLOW_KIND_STRING || schema->kind == FLOW_KIND_ANY)
		c->action = AS_STRING;
	else if (schema->kind == FLOW_KIND_INT64 || schema->kind == FLOW_KIND_INT32)
		c->action = AS_INTEGER;
	else
		c->action = schema->kind == FLOW_KIND_FLOAT64 ? AS_FLOAT : AS_OTHER;
}

static void
set_wanted(struct flow_decoder *d, const flow_decoder_request *request)
{
	memset(d->wanted, request->fields == NULL, d->column_count);
	for (uint64_t i = 0; request->fields != NULL && i < request->field_count; i++)
		if (request->fields[i] < d->column_count)
			d->wanted[request->fields[i]] = 1;
	d->sparse = memchr(d->wanted, 0, d->column_count) != NULL;
}

flow_status
csv_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder, flow_error *error)
{
	const csv_serde *s = (const csv_serde *)serde;
	const flow_host *host = s->host;
	if (s->schema == NULL)
		return flow_fail(host, error, FLOW_E_ARGUMENT,
						 "csv: the columns are not known yet (decoded_schema comes first)");
	struct flow_decoder *d = (struct flow_decoder *)flow_new(host, sizeof(*d));
	if (d == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	d->serde = s;
	d->format = &s->format;
	d->schema = s->schema;
	d->column_count = s->schema->field_count;
	d->index = csv_indexer_choose(0);
	d->state.version = 1;
	d->state.line = 1;
	d->state.header_done = !s->format.header;
	d->columns = (struct column *)flow_new(host, (d->column_count + 1) * sizeof(*d->columns));
	d->wanted = (uint8_t *)flow_new(host, d->column_count + 1);
	d->saved = (char *)flow_new(host, sizeof(struct state) + (uint64_t)d->column_count * 4);
	d->place = (char *)flow_new(host, request->place.size + 1);
	if (d->columns == NULL || d->wanted == NULL || d->saved == NULL || d->place == NULL) {
		csv_decoder_close(d);
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	}
	d->place_size = request->place.size;
	if (d->place_size != 0)
		memcpy(d->place, request->place.data, d->place_size);
	set_wanted(d, request);
	for (uint32_t i = 0; i < d->column_count; i++)
		set_column(d, i, i);
	*decoder = d;
	return FLOW_OK;
}

void
csv_decoder_close(flow_decoder *d)
{
	const flow_host *host = d->serde->host;
	host->release(d->columns);
	host->release(d->wanted);
	host->release(d->saved);
	host->release(d->place);
	host->release(d);
}

flow_status
csv_save(flow_decoder *d, flow_slice *state, flow_error *error)
{
	(void)error;
	memcpy(d->saved, &d->state, sizeof(d->state));
	uint64_t size = sizeof(d->state);
	if (d->state.mapped) {
		for (uint32_t i = 0; i < d->column_count; i++)
			memcpy(d->saved + size + (uint64_t)4 * i, &d->columns[i].field, 4);
		size += (uint64_t)4 * d->column_count;
	}
	*state = flow_slice_make(d->saved, size);
	return FLOW_OK;
}

flow_status
csv_restore(flow_decoder *d, flow_slice state, flow_error *error)
{
	const flow_host *host = d->serde->host;
	struct state s;
	if (state.size < sizeof(s))
		return flow_fail(host, error, FLOW_E_CORRUPT, "csv: the saved state of %s is too short", d->place);
	memcpy(&s, state.data, sizeof(s));
	if (s.version != 1 || state.size != sizeof(s) + (s.mapped ? (uint64_t)4 * d->column_count : 0))
		return flow_fail(host, error, FLOW_E_CORRUPT,
						 "csv: the saved state of %s is of another version or other columns", d->place);
	for (uint32_t i = 0; s.mapped && i < d->column_count; i++) {
		uint32_t field;
		memcpy(&field, state.data + sizeof(s) + (uint64_t)4 * i, 4);
		if (field >= d->column_count)
			return flow_fail(host, error, FLOW_E_CORRUPT, "csv: the saved state of %s names column %u", d->place,
							 field);
		set_column(d, i, field);
	}
	d->state = s;
	return FLOW_OK;
}

/* --- the header ------------------------------------------------------------------------------------------------------ */

/* Maps the columns of this file to fields by name: their order may be another one than in the first file. */
static flow_status
take_header(struct flow_decoder *d, const csv_line *line, flow_error *error)
{
	const flow_host *host = d->serde->host;
	if (line->count != d->column_count)
		return flow_fail(host, error, FLOW_E_DECODE,
						 "%s: the header has %u columns where the first file of the stream has %u", d->place,
						 line->count, d->column_count);
	uint8_t *seen = (uint8_t *)d->saved;
	memset(seen, 0, d->column_count);
	for (uint32_t i = 0; i < line->count; i++) {
		int32_t field = flow_schema_find(d->schema, line->fields[i]);
		if (field < 0 && line->fields[i].size == 0)
			field = (int32_t)i; /* named by its number */
		if (field < 0 || seen[field])
			return flow_fail(host, error, FLOW_E_DECODE, "%s: column \"%.*s\" of the header %s", d->place,
							 (int)line->fields[i].size, line->fields[i].data,
							 field < 0 ? "is not in the first file of the stream" : "stands twice");
		seen[field] = 1;
		d->state.mapped |= (uint32_t)field != i;
		set_column(d, i, (uint32_t)field);
	}
	return FLOW_OK;
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
	csv_line line;
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
