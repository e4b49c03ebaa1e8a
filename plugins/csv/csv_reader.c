/*
 * The reader. The window is indexed some kilobytes ahead (csv_index.c); a record is the walk from one structural byte to the
 * next, each field going straight into its cell. A field that starts with a quote leaves the index for the search of its end.
 *
 * What is accepted depends on the bytes of the record alone, never on where windows end: a record is looked at up to
 * max_record + 1 bytes, whatever is there.
 */
#include <stdio.h>

#include "csv.h"
#include "csv_cells.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"

#define INDEX_BYTES 4096u
#define WINDOW_MAX (1u << 30) /* positions are uint32 */
#define NONE UINT32_MAX

/* What to do with a column's text. */
#define SKIP 0
#define AS_STRING 1
#define AS_INTEGER 2
#define AS_FLOAT 3
#define AS_OTHER 4

struct column {
	const flow_schema *schema;
	uint32_t field;
	uint8_t action;
	uint8_t nullable;
	uint8_t small; /* int32 */
};

/* What goes into checkpoints; the map of columns follows unless it is the usual one. */
struct state {
	uint32_t version;
	uint8_t header_done;
	uint8_t ended;
	uint8_t discarding;
	uint8_t mapped;
	uint64_t line;
};

struct scan {
	const char *data;
	uint32_t size;
	uint32_t indexed;     /* bytes */
	const uint32_t *next; /* positions not used yet: next .. last */
	const uint32_t *last;
	uint64_t high;        /* bytes beyond ASCII in what was indexed since the record began */
	uint64_t chunk_high;
};

struct flow_decoder {
	const csv_serde *serde;
	const csv_format *format;
	const flow_schema *schema;
	csv_indexer index;
	struct state state;
	struct column *columns; /* of the file, in its order */
	uint32_t column_count;
	int sparse; /* some fields are not read */
	uint8_t *wanted; /* by field */
	char *place;
	uint64_t place_size;
	char *saved;
	uint32_t positions[INDEX_BYTES + 64];
};

/* The record under way. */
struct record {
	uint32_t start;
	uint32_t end;      /* bytes that may be looked at */
	int over;          /* .. because the record would be too long */
	int final;         /* nothing follows behind `end` */
	uint32_t at;       /* behind the last field: at its delimiter or line feed, or `end` */
	uint32_t fields;
	uint64_t feeds;    /* line feeds inside of quotes */
	uint64_t open_feeds; /* .. before the quote that is not closed */
	flow_value *cells;
	flow_builder *builder;
	/* the first fault */
	flow_status fault;
	int broken; /* .. is of the record's form, not of a value */
	uint32_t fault_column;
	const char *fault_text; /* NULL: the value does not fit its type */
	flow_slice value;
};

/* Results of cutting. */
#define WHOLE 0
#define INCOMPLETE 1 /* more bytes are needed */
#define UNCLOSED 2   /* a quote is open at the end, or where the record became too long */
#define TOO_LONG 3

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
		return flow_fail(host, error, FLOW_E_ARGUMENT, "csv: the columns are not known yet (decoded_schema comes first)");
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
			memcpy(d->saved + size + 4 * i, &d->columns[i].field, 4);
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
		return flow_fail(host, error, FLOW_E_CORRUPT, "csv: the saved state of %s is of another version or other columns",
		                 d->place);
	for (uint32_t i = 0; s.mapped && i < d->column_count; i++) {
		uint32_t field;
		memcpy(&field, state.data + sizeof(s) + 4 * i, 4);
		if (field >= d->column_count)
			return flow_fail(host, error, FLOW_E_CORRUPT, "csv: the saved state of %s names column %u", d->place, field);
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
		return flow_fail(host, error, FLOW_E_DECODE, "%s: the header has %u columns where the first file of the stream has %u",
		                 d->place, line->count, d->column_count);
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

static flow_status
read_header(struct flow_decoder *d, flow_window *window, flow_error *error)
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
		flow_fail(host, error, status, "%s:%llu: the header %s", d->place, (unsigned long long)(lines + 1),
		          over ? "is longer than max_record" : "opens a quote that is not closed");
	else
		status = take_header(d, &line, error);
	window->consumed = skipped + line.size;
	d->state.line += lines + line.lines;
	d->state.header_done = status == FLOW_OK;
	csv_line_release(&line);
	return status;
}

/* --- the index ------------------------------------------------------------------------------------------------------- */

static int
index_more(struct flow_decoder *d, struct scan *s)
{
	uint32_t left = s->size - s->indexed;
	if (left == 0)
		return 0;
	uint32_t size = left < INDEX_BYTES ? left : INDEX_BYTES;
	char third = d->format->escape != 0 ? d->format->escape : d->format->delimiter;
	s->chunk_high = 0;
	uint32_t count = d->index(s->data + s->indexed, size, s->indexed, d->format->delimiter, third, d->positions, &s->chunk_high);
	s->high |= s->chunk_high;
	s->next = d->positions;
	s->last = d->positions + count;
	s->indexed += size;
	return 1;
}

/* The next structural byte, which is used up; NONE: there is none up to the end of the window. */
static inline uint32_t
next_position(struct flow_decoder *d, struct scan *s)
{
	while (__builtin_expect(s->next == s->last, 0))
		if (!index_more(d, s))
			return NONE;
	return *s->next++;
}

/* Uses up all positions below `to`; returns how many were line feeds. */
static uint64_t
skip_positions(struct flow_decoder *d, struct scan *s, uint32_t to)
{
	uint64_t feeds = 0;
	for (;;) {
		for (; s->next < s->last && *s->next < to; s->next++)
			feeds += s->data[*s->next] == '\n';
		if (s->next < s->last || s->indexed >= to || !index_more(d, s))
			return feeds;
	}
}

/* --- fields ---------------------------------------------------------------------------------------------------------- */

static void
fault(struct record *r, flow_status status, uint32_t column, const char *text, flow_slice value)
{
	if (r->fault != FLOW_OK)
		return;
	r->fault = status;
	r->fault_column = column;
	r->fault_text = text;
	r->value = value;
}

static flow_status
convert_other(const struct column *c, flow_slice text, struct record *r, flow_value *cell)
{
	return flow_parse_cell(c->schema, text, r->builder, cell);
}

/* A field's text into its cell. */
static inline __attribute__((always_inline)) void
take_field(struct flow_decoder *d, struct scan *s, struct record *r, const struct column *c, const char *text, uint64_t size,
           int not_null)
{
	flow_value *cell = &r->cells[c->field];
	flow_status status = FLOW_OK;
	if (!not_null && d->format->token_sizes != 0 && csv_is_token(d->format, text, size)) {
		*cell = flow_null();
		if (!c->nullable)
			fault(r, FLOW_E_TYPE, r->fields, "is null, and its type does not allow that (a '?' behind the type does)",
			      flow_slice_make(text, size));
		return;
	}
	switch (c->action) {
	case AS_STRING:
		*cell = flow_string(text, (uint32_t)size);
		if (__builtin_expect(s->high != 0, 0) && flow_utf8_check(text, size) != size)
			fault(r, FLOW_E_DECODE, r->fields, "is not valid UTF-8 (declare it as bytes to take it as it is)",
			      flow_slice_make(NULL, 0));
		return;
	case AS_INTEGER: {
		int64_t number;
		if (__builtin_expect(csv_usual_integer(text, size, &number) && (!c->small || number == (int32_t)number), 1)) {
			*cell = flow_int64(number);
			return;
		}
		status = convert_other(c, flow_slice_make(text, size), r, cell);
		break;
	}
	case AS_FLOAT: {
		double number;
		if (__builtin_expect(csv_usual_float(text, size, &number), 1)) {
			*cell = flow_float64(number);
			return;
		}
		status = convert_other(c, flow_slice_make(text, size), r, cell);
		break;
	}
	default:
		status = convert_other(c, flow_slice_make(text, size), r, cell);
	}
	if (status != FLOW_OK)
		fault(r, status, r->fields, NULL, flow_slice_make(text, size));
}

/* The same for fields that had quotes or escapes. */
static __attribute__((noinline)) void
take_unusual(struct flow_decoder *d, struct scan *s, struct record *r, const struct column *c, const char *text, uint64_t size,
             int not_null)
{
	take_field(d, s, r, c, text, size, not_null);
}

/* The text between quotes with doubled quotes (and escapes) undone; NULL: out of memory. */
static const char *
undo_quotes(const struct flow_decoder *d, struct record *r, const char *text, uint32_t *size)
{
	const csv_format *f = d->format;
	char *copy = (char *)flow_builder_alloc(r->builder, (uint64_t)*size + 16);
	if (copy == NULL)
		return NULL;
	char *to = copy;
	for (uint32_t i = 0; i < *size; i++) {
		if ((text[i] == f->quote || (f->escape != 0 && text[i] == f->escape)) && i + 1 < *size)
			i++;
		*to++ = text[i];
	}
	*size = (uint32_t)(to - copy);
	return copy;
}

/* The same without quotes: only the escape character counts. */
static const char *
undo_escapes(const struct flow_decoder *d, struct record *r, const char *text, uint32_t *size)
{
	char *copy = (char *)flow_builder_alloc(r->builder, (uint64_t)*size + 16);
	if (copy == NULL)
		return NULL;
	char *to = copy;
	for (uint32_t i = 0; i < *size; i++) {
		if (text[i] == d->format->escape && i + 1 < *size)
			i++;
		*to++ = text[i];
	}
	*size = (uint32_t)(to - copy);
	return copy;
}

/* Position of the closing quote of a field that starts behind `at`, or NONE; *changed: quotes or escapes must be undone.
 * *edge: the last byte is a quote of which only the next byte tells whether it closes. */
static uint32_t
find_close(const struct flow_decoder *d, const struct scan *s, const struct record *r, uint32_t at, int *changed, int *edge)
{
	const csv_format *f = d->format;
	while (at < r->end) {
		const char *quote = (const char *)memchr(s->data + at, f->quote, r->end - at);
		const char *escape = f->escape == 0 ? NULL
		                                    : (const char *)memchr(s->data + at, f->escape,
		                                                           quote == NULL ? r->end - at : (size_t)(quote - s->data) - at);
		if (escape != NULL) {
			*changed = 1;
			at = (uint32_t)(escape - s->data) + 2;
			continue;
		}
		if (quote == NULL)
			return NONE;
		at = (uint32_t)(quote - s->data);
		if (at + 1 == r->end) {
			*edge = 1;
			return at;
		}
		if (s->data[at + 1] != f->quote)
			return at;
		*changed = 1;
		at += 2;
	}
	return NONE;
}

/* Behind a closing quote: sets r->at to the field's end. */
static int
end_quoted(struct flow_decoder *d, struct scan *s, struct record *r, uint32_t at, uint32_t column)
{
	if (at == r->end || s->data[at] == d->format->delimiter || s->data[at] == '\n') {
		r->at = at == r->end ? at : next_position(d, s);
		return WHOLE;
	}
	if (s->data[at] == '\r') {
		if (at + 1 == r->end && !r->final)
			return r->over ? TOO_LONG : INCOMPLETE;
		if (at + 1 < r->end && s->data[at + 1] == '\n') {
			r->at = next_position(d, s);
			return WHOLE;
		}
	}
	fault(r, FLOW_E_DECODE, column, "has text behind its closing quote", flow_slice_make(NULL, 0));
	r->broken = 1;
	uint32_t stop = next_position(d, s);
	r->at = stop >= r->end ? r->end : stop;
	if (r->at == r->end && !r->final)
		return r->over ? TOO_LONG : INCOMPLETE;
	return WHOLE;
}

static int
quoted_field(struct flow_decoder *d, struct scan *s, struct record *r, uint32_t at, const struct column *c)
{
	int changed = 0;
	int edge = 0;
	uint32_t close = find_close(d, s, r, at + 1, &changed, &edge);
	if (close == NONE || (edge && !r->final)) {
		if (!r->final && !r->over)
			return INCOMPLETE;
		r->open_feeds = r->feeds;
		r->feeds += skip_positions(d, s, r->end);
		r->at = r->end;
		return UNCLOSED;
	}
	r->feeds += skip_positions(d, s, close + 1);
	if (c->action != SKIP) {
		uint32_t size = close - at - 1;
		const char *text = s->data + at + 1;
		if (changed)
			text = undo_quotes(d, r, text, &size);
		if (text == NULL)
			fault(r, FLOW_E_MEMORY, r->fields, "out of memory", flow_slice_make(NULL, 0));
		else
			take_unusual(d, s, r, c, text, size, 1);
	}
	return end_quoted(d, s, r, close + 1, r->fields);
}

/* A field without quotes in which an escape character stands at `stop`. */
static int
escaped_field(struct flow_decoder *d, struct scan *s, struct record *r, uint32_t at, uint32_t stop, const struct column *c)
{
	while (stop < r->end && s->data[stop] == d->format->escape) {
		r->feeds += stop + 1 < r->end && s->data[stop + 1] == '\n';
		skip_positions(d, s, stop + 2);
		stop = next_position(d, s);
	}
	if (stop >= r->end) {
		if (!r->final)
			return r->over ? TOO_LONG : INCOMPLETE;
		stop = r->end;
	}
	r->at = stop;
	if (c->action == SKIP)
		return WHOLE;
	uint32_t size = stop - at;
	if (stop < r->end && s->data[stop] == '\n' && size > 0 && s->data[stop - 1] == '\r')
		size--;
	const char *text = s->data + at;
	int token = csv_is_token(d->format, text, size); /* \N is what stands there, not an escaped N */
	if (!token)
		text = undo_escapes(d, r, text, &size);
	if (text == NULL)
		fault(r, FLOW_E_MEMORY, r->fields, "out of memory", flow_slice_make(NULL, 0));
	else
		take_unusual(d, s, r, c, text, size, !token);
	return WHOLE;
}

/* --- records --------------------------------------------------------------------------------------------------------- */

static const struct column skipped_column = { .action = SKIP };

/* One record from r->start on. On WHOLE r->at is its line feed, or r->end. */
static inline int
cut_record(struct flow_decoder *d, struct scan *s, struct record *r)
{
	const char *data = s->data;
	uint32_t at = r->start;
	for (;; r->fields++) {
		const struct column *c = r->fields < d->column_count ? &d->columns[r->fields] : &skipped_column;
		if (__builtin_expect(data[at] == d->format->quote && at < r->end, 0)) {
			int result = quoted_field(d, s, r, at, c);
			if (result != WHOLE)
				return result;
		} else {
			uint32_t stop = next_position(d, s);
			if (__builtin_expect(stop >= r->end, 0)) {
				if (!r->final)
					return r->over ? TOO_LONG : INCOMPLETE;
				stop = r->end;
			}
			if (__builtin_expect(d->format->escape != 0 && stop < r->end && data[stop] == d->format->escape, 0)) {
				int result = escaped_field(d, s, r, at, stop, c);
				if (result != WHOLE)
					return result;
			} else {
				r->at = stop;
				uint32_t size = stop - at;
				if (c->action != SKIP) {
					if (size != 0 && data[stop - 1] == '\r' && stop < r->end && data[stop] == '\n')
						size--;
					take_field(d, s, r, c, data + at, size, 0);
				}
			}
		}
		if (r->at == r->end || data[r->at] == '\n') {
			r->fields++;
			return WHOLE;
		}
		at = r->at + 1;
	}
}

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

static flow_status
reject_fields(struct flow_decoder *d, struct scan *s, const struct record *r, const flow_window *window)
{
	char reason[512];
	flow_slice field = { NULL, 0 };
	if (r->fields != d->column_count && (!r->broken || r->fault_column >= d->column_count)) {
		snprintf(reason, sizeof(reason), "expected %u fields, found %u", d->column_count, r->fields);
		return reject(d, s, r, window, FLOW_E_DECODE, reason, field, d->state.line);
	}
	field = d->schema->fields[d->columns[r->fault_column].field]->name;
	if (r->fault_text != NULL) {
		snprintf(reason, sizeof(reason), "field \"%.*s\" %s", (int)field.size, field.data, r->fault_text);
	} else {
		char type[128];
		flow_type_text(d->serde->host, d->columns[r->fault_column].schema, type, sizeof(type));
		snprintf(reason, sizeof(reason), "field \"%.*s\": \"%.*s%s\" %s %s", (int)field.size, field.data,
		         (int)(r->value.size > 64 ? 64 : r->value.size), r->value.data, r->value.size > 64 ? "..." : "",
		         r->fault == FLOW_E_RANGE ? "does not fit" : "is not of type", type);
	}
	return reject(d, s, r, window, r->fault, reason, field, d->state.line);
}

/* A record that was cut off: the end of the stream inside of quotes, or over the limit. */
static flow_status
reject_broken(struct flow_decoder *d, struct scan *s, struct record *r, const flow_window *window, int result)
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

/* Lines that are no records: comments, and empty ones where there is more than one column. Returns the offset behind the
 * line, NONE: it is not complete, 0: it is a record. */
static uint32_t
skip_line(struct flow_decoder *d, const struct scan *s, uint32_t at, int final)
{
	char first = s->data[at];
	int comment = d->format->comment != 0 && first == d->format->comment;
	if (!comment && (d->column_count == 1 || (first != '\n' && first != '\r')))
		return 0;
	if (!comment && first == '\r') {
		if (at + 1 == s->size)
			return final ? s->size : NONE;
		return s->data[at + 1] == '\n' ? at + 2 : 0;
	}
	const char *feed = (const char *)memchr(s->data + at, '\n', s->size - at);
	if (feed == NULL)
		return final ? s->size : NONE;
	return (uint32_t)(feed - s->data) + 1;
}

/* Goes on behind a record that was too long: at the next line feed. Returns the offset to go on at. */
static uint32_t
discard(struct flow_decoder *d, const struct scan *s, uint32_t at)
{
	const char *feed = at == s->size ? NULL : (const char *)memchr(s->data + at, '\n', s->size - at);
	if (feed == NULL)
		return s->size;
	d->state.discarding = 0;
	d->state.line++;
	return (uint32_t)(feed - s->data) + 1;
}

/* What stands between records: consumes it. 1: a record starts at *at; 0: the window is used up. */
static int
find_record(struct flow_decoder *d, struct scan *s, uint32_t *at, int final)
{
	while (*at < s->size) {
		if (d->state.discarding) {
			*at = discard(d, s, *at);
		} else {
			uint32_t behind = skip_line(d, s, *at, final);
			if (behind == 0)
				return 1;
			if (behind == NONE) {
				if (s->data[*at] == d->format->comment && s->size - *at > d->format->max_record) {
					d->state.discarding = 1; /* a long comment need not stay in memory */
					continue;
				}
				return 0;
			}
			d->state.line += s->data[behind - 1] == '\n';
			*at = behind;
		}
		skip_positions(d, s, *at);
	}
	return 0;
}

static void
start_record(struct flow_decoder *d, struct scan *s, struct record *r, uint32_t at, int final)
{
	uint64_t left = s->size - at;
	r->start = at;
	r->over = left > d->format->max_record;
	r->end = r->over ? at + (uint32_t)d->format->max_record + 1 : s->size;
	r->final = final && !r->over;
	r->fields = 0;
	r->feeds = 0;
	r->fault = FLOW_OK;
	r->broken = 0;
	s->high = s->chunk_high;
}

static int
new_cells(const struct flow_decoder *d, struct record *r)
{
	if (r->cells == NULL) {
		r->cells = flow_builder_cells(r->builder, d->column_count);
		if (r->cells != NULL && d->sparse)
			memset(r->cells, 0, d->column_count * sizeof(flow_value)); /* null */
	}
	return r->cells != NULL;
}

/* Decodes rows from `at` on; returns what is used up in window->consumed. */
static flow_status
decode_rows(struct flow_decoder *d, flow_window *window, struct scan *s, flow_builder *builder, uint32_t at, int final)
{
	struct record r = { .builder = builder };
	flow_status status = FLOW_OK;
	while (status == FLOW_OK && !flow_builder_full(builder) && find_record(d, s, &at, final)) {
		if (!new_cells(d, &r)) {
			status = FLOW_E_MEMORY;
			break;
		}
		start_record(d, s, &r, at, final);
		int result = cut_record(d, s, &r);
		if (result == INCOMPLETE)
			break;
		if (result != WHOLE) {
			status = reject_broken(d, s, &r, window, result);
			at = r.end;
			if (d->state.ended)
				at = s->size;
			continue;
		}
		if (__builtin_expect(r.fault == FLOW_E_MEMORY, 0)) {
			status = FLOW_E_MEMORY;
			break;
		}
		if (__builtin_expect(r.fault != FLOW_OK || r.fields != d->column_count, 0)) {
			status = reject_fields(d, s, &r, window);
		} else {
			uint32_t row = flow_builder_add(builder, flow_record(r.cells, d->column_count));
			builder->ordinal[row] = window->offset + at;
			r.cells = NULL;
		}
		d->state.line += r.feeds + (r.at < r.end);
		at = r.at < r.end ? r.at + 1 : r.at;
	}
	window->consumed = at;
	return status;
}

flow_status
csv_decode(flow_decoder *d, flow_window *window, flow_builder *builder, flow_error *error)
{
	const flow_host *host = d->serde->host;
	window->consumed = 0;
	if (d->state.ended) {
		window->consumed = window->size;
		return FLOW_OK;
	}
	uint32_t at = 0;
	if (window->offset == 0 && window->size >= 2 &&
	    (memcmp(window->data, "\xFF\xFE", 2) == 0 || memcmp(window->data, "\xFE\xFF", 2) == 0))
		return flow_fail(host, error, FLOW_E_DECODE, "%s: the file is UTF-16; convert it to UTF-8", d->place);
	if (!d->state.header_done) {
		flow_status status = read_header(d, window, error);
		if (status != FLOW_OK || !d->state.header_done)
			return status;
		at = (uint32_t)window->consumed;
	} else if (window->offset == 0 && !d->format->header) {
		if (window->size < 3 && !window->final)
			return FLOW_OK;
		at = window->size >= 3 && memcmp(window->data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
	}
	if (builder->ordinal == NULL && builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	struct scan s = { .data = window->data, .next = d->positions, .last = d->positions, .indexed = at };
	int whole = window->size <= WINDOW_MAX;
	s.size = whole ? (uint32_t)window->size : WINDOW_MAX;
	flow_status status = decode_rows(d, window, &s, builder, at, window->final && whole);
	if (status == FLOW_E_MEMORY)
		return flow_fail(host, error, status, "%s: out of memory while reading records", d->place);
	return status;
}
