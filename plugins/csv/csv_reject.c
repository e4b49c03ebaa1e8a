/* Records that cannot be read: what is told of them. */
#include <stdio.h>

#include "csv_record.h"
#include "flow_sdk/cell.h"

static flow_status
reject(struct flow_decoder *d, struct scan *s, const struct record *r, const flow_window *window, flow_status status,
	   const char *reason, flow_slice field, uint64_t line)
{
	uint32_t size = r->at - r->start;
	if (size != 0 && r->at < r->end && s->data[r->at - 1] == '\r')
		size--;
	flow_rejection rejection = { .struct_size = FLOW_SIZEOF(flow_rejection), .status = status };
	rejection.reason = flow_slice_of(reason);
	rejection.field = field;
	rejection.raw = flow_slice_make(s->data + r->start, size);
	rejection.ordinal = window->offset + r->start;
	rejection.line = line;
	(void)d;
	return r->builder->ops->reject(r->builder, &rejection);
}

flow_status
csv_reject_fields(struct flow_decoder *d, struct scan *s, const struct record *r, const flow_window *window)
{
	char reason[512];
	flow_slice field = { NULL, 0 };
	uint32_t columns = d->state.column_count;
	if (csv_wrong_count(d, r) && (!r->broken || r->fault_column >= columns)) {
		snprintf(reason, sizeof(reason), "expected %u fields, found %u", columns, r->fields);
		return reject(d, s, r, window, FLOW_E_DECODE, reason, field, d->state.line);
	}
	uint32_t index = r->fault_column < columns ? d->columns[r->fault_column].field : CSV_NO_FIELD;
	if (index != CSV_NO_FIELD)
		field = d->schema->fields[index]->name;
	if (r->fault_text != NULL) {
		snprintf(reason, sizeof(reason), "%s", r->fault_text);
	} else {
		char type[128];
		int inferred = d->serde->inferred != NULL && d->serde->inferred[index];
		flow_type_text(d->serde->host, d->schema->fields[index]->schema, type, sizeof(type));
		int size = snprintf(reason, sizeof(reason), "\"%.*s%s\" %s %s", (int)(r->value.size > 64 ? 64 : r->value.size),
							r->value.data, r->value.size > 64 ? "..." : "",
							r->fault == FLOW_E_RANGE ? "does not fit" : "is not of type", type);
		if (inferred)
			snprintf(reason + size, sizeof(reason) - (size_t)size,
					 ", which was inferred from the first rows; declare the column: fields: { %.*s = \"string%s\"; }",
					 (int)(field.size > 64 ? 64 : field.size), field.data,
					 flow_schema_nullable(d->schema->fields[index]->schema) ? "?" : "");
	}
	return reject(d, s, r, window, r->fault, reason, field, d->state.line);
}

/* A record that was cut off: the end of the stream inside of quotes, or over the limit. */
flow_status
csv_reject_broken(struct flow_decoder *d, struct scan *s, struct record *r, const flow_window *window, int result)
{
	char reason[256];
	r->at = r->end;
	if (result == UNCLOSED) {
		snprintf(reason, sizeof(reason), "a quote opens here and is not closed %s; what follows is not read",
				 r->final ? "up to the end" : "within max_record");
		d->state.ended = 1;
		return reject(d, s, r, window, FLOW_E_DECODE, reason, flow_slice_make(NULL, 0), d->state.line + r->open_feeds);
	}
	snprintf(reason, sizeof(reason), "the record is longer than max_record (%llu bytes)",
			 (unsigned long long)d->format->max_record);
	d->state.discarding = 1;
	flow_status status = reject(d, s, r, window, FLOW_E_LIMIT, reason, flow_slice_make(NULL, 0), d->state.line);
	d->state.line += r->feeds;
	return status;
}
