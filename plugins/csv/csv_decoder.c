/* Decoders: opened, saved and restored. */
#include "csv_decoder.h"
#include "flow_sdk/plugin.h"

#define STATE_VERSION 2

/* --- columns --------------------------------------------------------------------------------------------------------- */

flow_status
csv_columns_resize(struct flow_decoder *d, uint32_t count)
{
	const flow_host *host = d->serde->host;
	struct column *columns = (struct column *)flow_new(host, ((uint64_t)count + 1) * sizeof(*columns));
	char *saved = (char *)flow_new(host, sizeof(struct state) + (uint64_t)count * 4);
	if (columns == NULL || saved == NULL) {
		host->release(columns);
		host->release(saved);
		return FLOW_E_MEMORY;
	}
	host->release(d->columns);
	host->release(d->saved);
	d->columns = columns;
	d->saved = saved;
	d->state.column_count = count;
	memset(d->seen, 0, d->field_count);
	for (uint32_t i = 0; i <= count; i++) /* the last one is what stands behind the columns */
		columns[i].field = CSV_NO_FIELD;
	return FLOW_OK;
}

void
csv_column_set(struct flow_decoder *d, uint32_t column, uint32_t field)
{
	const flow_schema *schema = d->schema->fields[field]->schema;
	struct column *c = &d->columns[column];
	c->schema = schema;
	c->field = field;
	c->nullable = flow_schema_nullable(schema) != 0;
	d->seen[field] = 1;
	if (!d->wanted[field])
		c->action = SKIP;
	else if (csv_is_local(d->format, schema))
		c->action = AS_LOCAL_NUMBER;
	else if (schema->kind == FLOW_KIND_STRING || schema->kind == FLOW_KIND_ANY)
		c->action = AS_STRING;
	else if (schema->kind == FLOW_KIND_INT64)
		c->action = AS_INTEGER;
	else if (schema->kind == FLOW_KIND_INT32)
		c->action = AS_INT32;
	else if (schema->kind == FLOW_KIND_TIMESTAMP && schema->unit == FLOW_MICROSECONDS &&
			 (schema->flags & FLOW_SCHEMA_ZONED) != 0)
		c->action = AS_INSTANT;
	else
		c->action = schema->kind == FLOW_KIND_FLOAT64 ? AS_FLOAT : AS_OTHER;
}

void
csv_columns_settle(struct flow_decoder *d)
{
	d->sparse = memchr(d->wanted, 0, d->field_count) != NULL || memchr(d->seen, 0, d->field_count) != NULL;
	d->defaults = 0;
	for (uint32_t i = 0; i < d->field_count; i++)
		d->defaults |= !d->seen[i] && csv_missing_value(d, i) != NULL;
}

static void
set_wanted(struct flow_decoder *d, const flow_decoder_request *request)
{
	memset(d->wanted, request->fields == NULL, d->field_count);
	for (uint64_t i = 0; request->fields != NULL && i < request->field_count; i++)
		if (request->fields[i] < d->field_count)
			d->wanted[request->fields[i]] = 1;
}

/* --- opening --------------------------------------------------------------------------------------------------------- */

static flow_status
allocate(struct flow_decoder *d, const flow_decoder_request *request)
{
	const flow_host *host = d->serde->host;
	d->wanted = (uint8_t *)flow_new(host, (uint64_t)d->field_count + 1);
	d->seen = (uint8_t *)flow_new(host, (uint64_t)d->field_count + 1);
	d->place = (char *)flow_new(host, request->place.size + 1);
	if (d->wanted == NULL || d->seen == NULL || d->place == NULL)
		return FLOW_E_MEMORY;
	if (request->place.size != 0)
		memcpy(d->place, request->place.data, request->place.size);
	return csv_columns_resize(d, d->field_count);
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
	d->field_count = s->schema->field_count;
	d->index = csv_indexer_choose(0);
	d->state.version = STATE_VERSION;
	d->state.line = 1;
	d->state.header_done = !s->format.header;
	if (allocate(d, request) != FLOW_OK) {
		csv_decoder_close(d);
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	}
	set_wanted(d, request);
	for (uint32_t i = 0; i < d->field_count; i++)
		csv_column_set(d, i, i);
	csv_columns_settle(d);
	*decoder = d;
	return FLOW_OK;
}

void
csv_decoder_close(flow_decoder *d)
{
	const flow_host *host = d->serde->host;
	host->release(d->columns);
	host->release(d->wanted);
	host->release(d->seen);
	host->release(d->saved);
	host->release(d->place);
	host->release(d);
}

/* --- state ----------------------------------------------------------------------------------------------------------- */

flow_status
csv_save(flow_decoder *d, flow_slice *state, flow_error *error)
{
	(void)error;
	memcpy(d->saved, &d->state, sizeof(d->state));
	uint64_t size = sizeof(d->state);
	if (d->state.mapped) {
		for (uint32_t i = 0; i < d->state.column_count; i++)
			memcpy(d->saved + size + (uint64_t)4 * i, &d->columns[i].field, 4);
		size += (uint64_t)4 * d->state.column_count;
	}
	*state = flow_slice_make(d->saved, size);
	return FLOW_OK;
}

static flow_status
restore_map(struct flow_decoder *d, const char *map, uint32_t count, flow_error *error)
{
	const flow_host *host = d->serde->host;
	if (csv_columns_resize(d, count) != FLOW_OK)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	for (uint32_t i = 0; i < count; i++) {
		uint32_t field;
		memcpy(&field, map + (uint64_t)4 * i, 4);
		if (field != CSV_NO_FIELD && field >= d->field_count)
			return flow_fail(host, error, FLOW_E_CORRUPT, "csv: the saved state of %s names column %u", d->place,
							 field);
		if (field != CSV_NO_FIELD)
			csv_column_set(d, i, field);
	}
	csv_columns_settle(d);
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
	int fits = s.mapped ? s.column_count <= CSV_MAX_COLUMNS && state.size == sizeof(s) + (uint64_t)4 * s.column_count
						: s.column_count == d->field_count && state.size == sizeof(s);
	if (s.version != STATE_VERSION || !fits)
		return flow_fail(host, error, FLOW_E_CORRUPT,
						 "csv: the saved state of %s is of another version or other columns", d->place);
	flow_status status = s.mapped ? restore_map(d, state.data + sizeof(s), s.column_count, error) : FLOW_OK;
	if (status == FLOW_OK)
		d->state = s;
	return status;
}
