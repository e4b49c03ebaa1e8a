/* Reading: lines of text, or records in their binary form. */
#include <stdio.h>

#include "basic.h"
#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"

struct state { /* what goes into checkpoints */
	uint32_t version;
	uint32_t discarding; /* within a line that was too long, or behind it */
	uint64_t line;
};

struct flow_decoder {
	const basic_serde *serde;
	struct state state;
	struct state saved;
};

flow_status
basic_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder, flow_error *error)
{
	const basic_serde *s = (const basic_serde *)serde;
	(void)request;
	struct flow_decoder *d = (struct flow_decoder *)flow_new(s->host, sizeof(*d));
	if (d == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	d->serde = s;
	d->state = (struct state){ .version = 1, .line = 1 };
	*decoder = d;
	return FLOW_OK;
}

void
basic_decoder_close(flow_decoder *d)
{
	d->serde->host->release(d);
}

flow_status
basic_save(flow_decoder *d, flow_slice *state, flow_error *error)
{
	(void)error;
	d->saved = d->state;
	*state = flow_slice_make(&d->saved, sizeof(d->saved));
	return FLOW_OK;
}

flow_status
basic_restore(flow_decoder *d, flow_slice state, flow_error *error)
{
	struct state s;
	if (state.size == sizeof(s)) {
		memcpy(&s, state.data, sizeof(s));
		if (s.version == 1) {
			d->state = s;
			return FLOW_OK;
		}
	}
	return flow_fail(d->serde->host, error, FLOW_E_CORRUPT, "the saved state of a text stream is of another version");
}

static flow_status
reject(const struct flow_decoder *d, flow_builder *builder, flow_status status, flow_slice raw, int64_t ordinal,
	   uint64_t line)
{
	char reason[160];
	char type[64];
	flow_type_text(d->serde->host, d->serde->text, type, sizeof(type));
	if (status == FLOW_E_LIMIT)
		snprintf(reason, sizeof(reason), "the %s is longer than max_record (%llu bytes)",
				 d->serde->kind == BASIC_BYTES ? "stream" : "text", (unsigned long long)d->serde->max_record);
	else if (d->serde->text->kind == FLOW_KIND_STRING)
		snprintf(reason, sizeof(reason), "the text is not valid UTF-8");
	else
		snprintf(reason, sizeof(reason), "%llu bytes that %s %s", (unsigned long long)raw.size,
				 status == FLOW_E_RANGE ? "do not fit" : "are not of type", type);
	flow_rejection rejection = { .struct_size = FLOW_SIZEOF(flow_rejection), .status = status };
	rejection.reason = flow_slice_of(reason);
	rejection.raw = raw;
	rejection.ordinal = ordinal;
	rejection.line = line;
	return builder->ops->reject(builder, &rejection);
}

/* The text as a value of this serde. */
static flow_status
take_text(const basic_serde *s, flow_slice text, flow_builder *builder, flow_value *value)
{
	if (s->kind != BASIC_LINES)
		return flow_parse_cell(s->text, text, builder, value);
	flow_value *cell = flow_builder_cells(builder, 1);
	if (cell == NULL)
		return FLOW_E_MEMORY;
	*value = flow_record(cell, 1);
	return flow_parse_cell(s->text, text, builder, cell);
}

/* --- byte streams ---------------------------------------------------------------------------------------------------- */

static flow_status
decode_line(struct flow_decoder *d, flow_slice raw, int64_t offset, flow_builder *builder)
{
	flow_slice text = raw;
	flow_value value;
	if (d->serde->text->kind != FLOW_KIND_STRING && text.size != 0 && text.data[text.size - 1] == '\r')
		text.size--; /* text keeps every byte */
	flow_status status = take_text(d->serde, text, builder, &value);
	if (status == FLOW_E_MEMORY)
		return status;
	if (status != FLOW_OK)
		return reject(d, builder, status, raw, offset, d->state.line);
	builder->ordinal[flow_builder_add(builder, value)] = offset;
	return FLOW_OK;
}

/* What is left of a line that was too long; returns how much of it can go. */
static uint64_t
discard(struct flow_decoder *d, const char *text, uint64_t left, int final)
{
	uint64_t content;
	uint64_t used = basic_find_line_end(d->serde->line_end, text, left, &content);
	d->state.discarding = used == 0;
	d->state.line += used != 0;
	if (used != 0)
		return used;
	/* a CR may be the first half of the line's end */
	return left - (!final && d->serde->line_end == BASIC_CRLF && text[left - 1] == '\r');
}

/* The next line of the window at *at. FLOW_AGAIN: it is not complete. */
static flow_status
next_line(struct flow_decoder *d, const flow_window *window, uint64_t *at, flow_builder *builder)
{
	const char *text = window->data + *at;
	uint64_t left = window->size - *at;
	uint64_t limit = d->serde->max_record;
	uint64_t most = limit + (d->serde->line_end == BASIC_CRLF || d->serde->line_end == BASIC_ANY ? 2 : 1);
	int64_t offset = window->offset + (int64_t)*at;
	if (d->state.discarding) {
		uint64_t gone = discard(d, text, left, (int)window->final);
		*at += gone;
		return gone == 0 ? FLOW_AGAIN : FLOW_OK;
	}
	uint64_t size = left;
	uint64_t used = basic_find_line_end(d->serde->line_end, text, left < most ? left : most, &size);
	if (used == 0 && !window->final && left < most)
		return FLOW_AGAIN;
	if (size > limit) {
		flow_status status = reject(d, builder, FLOW_E_LIMIT, flow_slice_make(text, limit), offset, d->state.line);
		d->state.discarding = used == 0;
		*at += used != 0 ? used : limit; /* the end may have begun behind that */
		d->state.line += used != 0;
		return status;
	}
	flow_status status = decode_line(d, flow_slice_make(text, size), offset, builder);
	*at += used != 0 ? used : left;
	d->state.line += used != 0;
	return status;
}

flow_status
basic_decode(flow_decoder *d, flow_window *window, flow_builder *builder, flow_error *error)
{
	flow_status status = FLOW_OK;
	uint64_t at = 0;
	window->consumed = 0;
	if (builder->ordinal == NULL && builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		status = FLOW_E_MEMORY;
	while (status == FLOW_OK && at < window->size && !flow_builder_full(builder)) {
		status = next_line(d, window, &at, builder);
		if (status != FLOW_E_MEMORY)
			window->consumed = at;
	}
	if (status == FLOW_E_MEMORY)
		return flow_fail(d->serde->host, error, status, "out of memory while reading lines");
	return status == FLOW_AGAIN ? FLOW_OK : status;
}

/* All bytes of the stream as one record: there is none before its end. */
flow_status
basic_decode_whole(flow_decoder *d, flow_window *window, flow_builder *builder, flow_error *error)
{
	flow_status status = FLOW_OK;
	uint64_t limit = d->serde->max_record;
	window->consumed = 0;
	if (!window->final && window->size <= limit && !d->state.discarding)
		return FLOW_OK;
	if (builder->ordinal == NULL && builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		return flow_fail(d->serde->host, error, FLOW_E_MEMORY, "out of memory while reading bytes");
	if (d->state.discarding || window->size == 0) {
		window->consumed = window->size;
	} else if (window->size > limit) {
		d->state.discarding = 1;
		window->consumed = limit;
		status = reject(d, builder, FLOW_E_LIMIT, flow_slice_make(window->data, limit), window->offset, 0);
	} else {
		window->consumed = window->size;
		builder->ordinal[flow_builder_add(builder, flow_bytes(window->data, (uint32_t)window->size))] = window->offset;
	}
	return status;
}

/* --- records --------------------------------------------------------------------------------------------------------- */

/* The number in `size` big-endian bytes. */
static uint64_t
read_number(const char *bytes, uint64_t size)
{
	uint64_t number = 0;
	for (uint64_t i = 0; i < size; i++)
		number = number << 8 | (unsigned char)bytes[i];
	return number;
}

static flow_status
take_record(const basic_serde *s, flow_slice bytes, flow_builder *builder, flow_value *value)
{
	uint64_t size = s->kind == BASIC_INT32 ? 4 : 8;
	switch (s->kind) {
	case BASIC_INT32:
	case BASIC_INT64:
	case BASIC_FLOAT64: {
		if (bytes.size != size)
			return FLOW_E_DECODE;
		uint64_t number = read_number(bytes.data, size);
		*value = flow_cell(s->kind == BASIC_FLOAT64 ? FLOW_FLOAT64 : FLOW_INT64,
						   s->kind == BASIC_INT32 ? (int64_t)(int32_t)(uint32_t)number : (int64_t)number);
		return FLOW_OK;
	}
	default:
		return take_text(s, bytes, builder, value);
	}
}

flow_status
basic_decode_rows(flow_decoder *d, const flow_batch *raw, uint32_t first, uint32_t *next, flow_builder *builder,
				  uint32_t *source_rows, flow_error *error)
{
	uint32_t i = first;
	flow_status status =
		i < raw->selected_count ? builder->ops->keep(builder, raw) : FLOW_OK; /* texts stay where they are */
	for (; status == FLOW_OK && i < raw->selected_count && !flow_builder_full(builder); i++) {
		uint32_t row = flow_row(raw, i);
		flow_value value = flow_null();
		flow_slice bytes = flow_value_slice(&raw->value[row]);
		if (raw->value[row].type != FLOW_NULL)
			status = take_record(d->serde, bytes, builder, &value);
		if (status == FLOW_OK)
			source_rows[flow_builder_add(builder, value)] = row;
		else if (status != FLOW_E_MEMORY)
			status = reject(d, builder, status, bytes, raw->ordinal == NULL ? -1 : raw->ordinal[row], 0);
	}
	*next = i;
	if (status == FLOW_E_MEMORY)
		return flow_fail(d->serde->host, error, status, "out of memory while reading records");
	return status;
}
