/*
 * The reader. The window is indexed some kilobytes ahead (csv_index.c); a record is the walk from one structural byte to the
 * next, each field going straight into its cell. A field that starts with a quote leaves the index for the search of its end.
 *
 * What is accepted depends on the bytes of the record alone, never on where windows end: a record is looked at up to
 * max_record + 1 bytes, whatever is there.
 */
#include <stdio.h>

#include "csv_cells.h"
#include "csv_decoder.h"
#include "csv_record.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/text.h"

#define WINDOW_MAX (1u << 30) /* positions are uint32 */
#define NONE UINT32_MAX
#define LOCAL_TEXT 128

/* --- the index ------------------------------------------------------------------------------------------------------- */

static int
index_more(struct flow_decoder *d, struct scan *s)
{
	uint32_t left = s->size - s->indexed;
	if (left == 0)
		return 0;
	uint32_t size = left < CSV_INDEX_BYTES ? left : CSV_INDEX_BYTES;
	char third = d->format->escape != 0 ? d->format->escape : d->format->delimiter;
	s->chunk_high = 0;
	uint32_t count =
		d->index(s->data + s->indexed, size, s->indexed, d->format->delimiter, third, d->positions, &s->chunk_high);
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

static uint32_t
column_number(const struct flow_decoder *d, const struct column *c)
{
	return (uint32_t)(c - d->columns);
}

/* A number with a decimal mark or separators of its own. */
static flow_status
convert_local(const struct flow_decoder *d, const struct column *c, flow_slice text, struct record *r, flow_value *cell)
{
	char short_text[LOCAL_TEXT + 16];
	char *plain = short_text;
	if (text.size > LOCAL_TEXT && (plain = (char *)flow_builder_alloc(r->builder, text.size + 16)) == NULL)
		return FLOW_E_MEMORY;
	int64_t size = csv_plain_number(d->format, text, plain);
	if (size < 0)
		return FLOW_E_DECODE;
	int64_t integer;
	double number;
	if (c->schema->kind == FLOW_KIND_INT64 && csv_usual_integer(plain, (uint64_t)size, &integer))
		*cell = flow_int64(integer);
	else if (c->schema->kind == FLOW_KIND_FLOAT64 && csv_usual_float(plain, (uint64_t)size, &number))
		*cell = flow_float64(number);
	else
		return flow_parse_cell(c->schema, flow_slice_make(plain, (uint64_t)size), r->builder, cell);
	return FLOW_OK;
}

/* A text that means null? Then the cell is. */
static int
take_null(const struct flow_decoder *d, struct record *r, const struct column *c, const char *text, uint64_t size)
{
	if (!csv_is_token(d->format, text, size))
		return 0;
	r->cells[c->field] = flow_null();
	if (!c->nullable)
		fault(r, FLOW_E_TYPE, column_number(d, c),
			  "is null, and its type does not allow that (a '?' behind the type does)", flow_slice_make(text, size));
	return 1;
}

/* What the short ways into a cell do not take. */
static __attribute__((noinline)) void
take_exactly(const struct flow_decoder *d, struct record *r, const struct column *c, const char *text, uint64_t size)
{
	flow_value *cell = &r->cells[c->field];
	flow_slice whole = flow_slice_make(text, size);
	flow_status status = c->action == AS_LOCAL_NUMBER ? convert_local(d, c, whole, r, cell)
													  : flow_parse_cell(c->schema, whole, r->builder, cell);
	if (status != FLOW_OK)
		fault(r, status, column_number(d, c), NULL, whole);
}

static inline void
take_string(const struct flow_decoder *d, const struct scan *s, struct record *r, const struct column *c,
			const char *text, uint64_t size)
{
	r->cells[c->field] = flow_string(text, (uint32_t)size);
	if (__builtin_expect(s->high != 0, 0) && flow_utf8_check(text, size) != size)
		fault(r, FLOW_E_DECODE, column_number(d, c), "is not valid UTF-8 (declare it as bytes to take it as it is)",
			  flow_slice_make(NULL, 0));
}

/* A field's text, which is not null, into its cell. */
static inline __attribute__((always_inline)) void
take_field(struct flow_decoder *d, const struct scan *s, struct record *r, const struct column *c, const char *text,
		   uint64_t size)
{
	flow_value *cell = &r->cells[c->field];
	int64_t number;
	double fraction;
	if (c->action == AS_INTEGER) {
		if (__builtin_expect(csv_usual_integer(text, size, &number), 1))
			*cell = flow_int64(number);
		else
			take_exactly(d, r, c, text, size);
		return;
	}
	if (c->action == AS_STRING) {
		take_string(d, s, r, c, text, size);
		return;
	}
	if (c->action == AS_FLOAT && csv_usual_float(text, size, &fraction))
		*cell = flow_float64(fraction);
	else if (c->action == AS_INSTANT && csv_usual_instant(text, size, &d->day, &number))
		*cell = flow_timestamp(number * 1000000, FLOW_MICROSECONDS, FLOW_ZONED);
	else if (c->action == AS_INT32 && csv_usual_integer(text, size, &number) && number == (int32_t)number)
		*cell = flow_int64(number);
	else
		take_exactly(d, r, c, text, size);
}

/* The same for fields that had quotes or escapes, or may be null. */
static __attribute__((noinline)) void
take_unusual(struct flow_decoder *d, const struct scan *s, struct record *r, const struct column *c, const char *text,
			 uint64_t size, int may_be_null)
{
	if (!may_be_null || !take_null(d, r, c, text, size))
		take_field(d, s, r, c, text, size);
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
		int follows = i + 1 < *size;
		if (follows && f->escape != 0 && text[i] == f->escape)
			*to++ = (char)f->unescaped[(unsigned char)text[++i]];
		else
			*to++ = text[i += follows && text[i] == f->quote];
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
			*to++ = (char)d->format->unescaped[(unsigned char)text[++i]];
		else
			*to++ = text[i];
	}
	*size = (uint32_t)(to - copy);
	return copy;
}

/* Position of the closing quote of a field that starts behind `at`, or NONE; *changed: quotes or escapes must be undone.
 * *edge: the last byte is a quote of which only the next byte tells whether it closes. */
static uint32_t
find_close(const struct flow_decoder *d, const struct scan *s, const struct record *r, uint32_t at, int *changed,
		   int *edge)
{
	const csv_format *f = d->format;
	while (at < r->end) {
		const char *quote = (const char *)memchr(s->data + at, f->quote, r->end - at);
		const char *escape = f->escape == 0
								 ? NULL
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
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a window that has a quote in it has memory */
	while (d->format->trim && at < r->end && csv_is_blank(d->format, s->data[at]))
		at++;
	if (at == r->end && !r->final)
		return r->over ? TOO_LONG : INCOMPLETE;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a window that has a quote in it has memory */
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
			take_unusual(d, s, r, c, text, size, 0);
	}
	return end_quoted(d, s, r, close + 1, r->fields);
}

/* A field without quotes in which an escape character stands at `stop`. */
static int
escaped_field(struct flow_decoder *d, struct scan *s, struct record *r, uint32_t at, uint32_t stop,
			  const struct column *c)
{
	uint32_t literal = at; /* behind the last escaped character */
	while (stop < r->end && s->data[stop] == d->format->escape) {
		if (stop + 1 == r->end && !r->final) /* a line feed behind it would end what is discarded */
			return r->over ? TOO_LONG : INCOMPLETE;
		literal = stop + 2;
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
	if (stop < r->end && s->data[stop] == '\n' && stop > literal && s->data[stop - 1] == '\r')
		size--;
	while (d->format->trim && at + size > literal && csv_is_blank(d->format, s->data[at + size - 1]))
		size--;
	const char *text = s->data + at;
	int token = csv_is_token(d->format, text, size); /* \N is what stands there, not an escaped N */
	if (!token)
		text = undo_escapes(d, r, text, &size);
	if (text == NULL)
		fault(r, FLOW_E_MEMORY, r->fields, "out of memory", flow_slice_make(NULL, 0));
	else
		take_unusual(d, s, r, c, text, size, token);
	return WHOLE;
}

/* --- records --------------------------------------------------------------------------------------------------------- */

/* One record from r->start on. On WHOLE r->at is its line feed, or r->end. `plain`: nothing is trimmed, and there is no escape. What does
 * not change within a record is in locals: stores into cells could change anything else, as far as a compiler knows. */
static inline __attribute__((always_inline)) int
cut_record(struct flow_decoder *d, struct scan *s, struct record *r, int plain)
{
	const csv_format *f = d->format;
	const char *data = s->data;
	const struct column *c = d->columns;
	const struct column *behind = c + d->state.column_count; /* a column that is skipped */
	const uint32_t end = r->end;
	uint32_t at = r->start;
	for (uint32_t fields = 0;; c += c != behind) {
		uint32_t stop;
		r->fields = fields++;
		while (!plain && f->trim && at < end && csv_is_blank(f, data[at]))
			at++;
		uint8_t starts = f->starts[(unsigned char)data[at]];
		if (__builtin_expect(starts == CSV_STARTS_QUOTED && at < end, 0)) {
			int result = quoted_field(d, s, r, at, c);
			if (result != WHOLE)
				return result;
			stop = r->at;
		} else {
			stop = next_position(d, s);
			if (__builtin_expect(stop >= end, 0)) {
				if (!r->final)
					return r->over ? TOO_LONG : INCOMPLETE;
				stop = end;
				starts = CSV_STARTS_NULL;
			}
			if (!plain && f->escape != 0 && data[stop] == f->escape && stop < end) {
				int result = escaped_field(d, s, r, at, stop, c);
				if (result != WHOLE)
					return result;
				stop = r->at;
			} else if (c->action != SKIP) {
				uint32_t size = stop - at;
				if (__builtin_expect(data[stop] == '\n', 0) && size != 0 && data[stop - 1] == '\r' && stop < end)
					size--;
				while (!plain && f->trim && size != 0 && csv_is_blank(f, data[at + size - 1]))
					size--;
				if (__builtin_expect(starts != 0, 0))
					take_unusual(d, s, r, c, data + at, size, 1);
				else
					take_field(d, s, r, c, data + at, size);
			}
		}
		if (stop == end || data[stop] == '\n') {
			r->at = stop;
			r->fields = fields;
			return WHOLE;
		}
		at = stop + 1;
	}
}

static __attribute__((noinline)) int
cut_unusual_record(struct flow_decoder *d, struct scan *s, struct record *r)
{
	return cut_record(d, s, r, 0);
}

/* Lines that are no records: comments, and empty ones where there is more than one column. Returns the offset behind the
 * line, NONE: it is not complete, 0: it is a record. */
static uint32_t
skip_line(struct flow_decoder *d, const struct scan *s, uint32_t at, int final)
{
	char first = s->data[at];
	int comment = d->format->comment != 0 && first == d->format->comment;
	if (!comment && (d->state.column_count == 1 || (first != '\n' && first != '\r')))
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

/* The defaults of fields that are not in the file. */
static __attribute__((noinline)) void
fill_defaults(const struct flow_decoder *d, flow_value *cells)
{
	for (uint32_t i = 0; i < d->field_count; i++) {
		const flow_value *value = d->seen[i] || !d->wanted[i] ? NULL : csv_missing_value(d, i);
		if (value != NULL)
			cells[i] = *value;
	}
}

static int
new_cells(const struct flow_decoder *d, struct record *r)
{
	if (r->cells == NULL) {
		r->cells = flow_builder_cells(r->builder, d->field_count);
		if (r->cells != NULL && d->sparse) {
			memset(r->cells, 0, d->field_count * sizeof(flow_value)); /* null */
			if (d->defaults)
				fill_defaults(d, r->cells);
		}
	}
	return r->cells != NULL;
}

/* The fields that a short record lacks are null. */
static __attribute__((noinline)) void
fill_short(const struct flow_decoder *d, struct record *r)
{
	for (uint32_t i = r->fields; i < d->state.column_count; i++) {
		const struct column *c = &d->columns[i];
		if (c->action == SKIP)
			continue;
		r->cells[c->field] = flow_null();
		if (!c->nullable)
			fault(r, FLOW_E_TYPE, i,
				  "is not in the record, and its type does not allow null (a '?' behind the type does)",
				  flow_slice_make(NULL, 0));
	}
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
		int unusual = d->format->trim || d->format->escape != 0;
		int result = __builtin_expect(unusual, 0) ? cut_unusual_record(d, s, &r) : cut_record(d, s, &r, 1);
		if (result == INCOMPLETE)
			break;
		if (result != WHOLE) {
			status = csv_reject_broken(d, s, &r, window, result);
			at = r.end;
			if (d->state.ended)
				at = s->size;
			continue;
		}
		if (__builtin_expect(r.fault == FLOW_E_MEMORY, 0)) {
			status = FLOW_E_MEMORY;
			break;
		}
		if (__builtin_expect(r.fields < d->state.column_count, 0) && d->format->fill_short)
			fill_short(d, &r);
		if (__builtin_expect(r.fault != FLOW_OK || r.fields != d->state.column_count, 0) &&
			(r.fault != FLOW_OK || csv_wrong_count(d, &r))) {
			status = csv_reject_fields(d, s, &r, window);
		} else {
			uint32_t row = flow_builder_add(builder, flow_record(r.cells, d->field_count));
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
	if (d->state.ended || window->size == 0) {
		window->consumed = window->size;
		return FLOW_OK;
	}
	uint32_t at = 0;
	if (window->offset == 0 && window->size >= 2 &&
		(memcmp(window->data, "\xFF\xFE", 2) == 0 || memcmp(window->data, "\xFE\xFF", 2) == 0))
		return flow_fail(host, error, FLOW_E_DECODE, "%s: the file is UTF-16; convert it to UTF-8", d->place);
	if (!d->state.header_done) {
		flow_status status = csv_read_header(d, window, error);
		if (status != FLOW_OK || !d->state.header_done)
			return status;
		at = (uint32_t)window->consumed;
	} else if (window->offset == 0 && !d->format->header) {
		if (window->size < 3 && !window->final)
			return FLOW_OK;
		at = window->size >= 3 && memcmp(window->data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
	}
	if (window->offset == 0 && !d->format->header && csv_is_old_mac(d->format, window, at))
		return flow_fail(host, error, FLOW_E_DECODE, CSV_RETURNS, d->place);
	if (builder->ordinal == NULL && builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	struct scan s = { .data = window->data, .next = d->positions, .last = d->positions, .indexed = at };
	int whole = window->size <= WINDOW_MAX;
	s.size = whole ? (uint32_t)window->size : WINDOW_MAX;
	flow_status status = decode_rows(d, window, &s, builder, at, window->final && whole);
	if (window->offset == 0 && !d->format->header && !window->final && window->consumed == at)
		window->consumed = 0; /* a byte order mark stays before what tells how lines end */
	if (status == FLOW_E_MEMORY)
		return flow_fail(host, error, status, "%s: out of memory while reading records", d->place);
	return status;
}
