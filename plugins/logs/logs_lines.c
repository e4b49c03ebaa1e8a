/* Lines of a byte stream, or records, each one text of a form. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "flow_sdk/cell.h"
#include "flow_sdk/decoder.h"
#include "flow_sdk/text.h"
#include "logs.h"

#define STATE_VERSION 1

struct state { /* what goes into checkpoints */
	uint32_t version;
	uint32_t discarding; /* within a line that was too long */
	uint64_t line;
};

struct flow_decoder {
	const logs_serde *serde;
	logs_reader *reader;
	uint8_t *wanted; /* NULL: all fields */
	logs_fault fault;
	struct state state;
	struct state saved;
};

/* --- what the forms use ------------------------------------------------------------------------------------------------ */

flow_status
logs_refuse(logs_fault *fault, flow_status status, flow_slice field, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(fault->reason, sizeof(fault->reason), format, arguments);
	va_end(arguments);
	fault->status = status;
	fault->field = field;
	return status;
}

flow_status
logs_take_cell(const flow_host *host, const flow_schema *schema, flow_slice field, flow_slice text,
			   flow_builder *memory, flow_value *value, logs_fault *fault)
{
	char type[64];
	flow_status status = flow_parse_cell(schema, text, memory, value);
	if (__builtin_expect(status == FLOW_OK, 1) || status == FLOW_E_MEMORY)
		return status;
	return logs_refuse(fault, status, field, "'%.*s' %s %s", (int)(text.size > 64 ? 64 : text.size), text.data,
					   status == FLOW_E_RANGE ? "does not fit exactly into" : "is no",
					   flow_type_text(host, schema, type, sizeof(type)));
}

/* --- opening ----------------------------------------------------------------------------------------------------------- */

flow_status
logs_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder, flow_error *error)
{
	const logs_serde *s = (const logs_serde *)serde;
	struct flow_decoder *d = (struct flow_decoder *)flow_new(s->host, sizeof(*d));
	if (d == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	d->serde = s;
	d->state = (struct state){ .version = STATE_VERSION, .line = 1 };
	if (flow_wanted_fields(s->host, request, s->schema, &d->wanted) != FLOW_OK ||
		s->form->reader_open(s, d->wanted, &d->reader) != FLOW_OK) {
		logs_decoder_close(d);
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	}
	*decoder = d;
	return FLOW_OK;
}

void
logs_decoder_close(flow_decoder *d)
{
	const flow_host *host = d->serde->host;
	d->serde->form->reader_close(d->reader);
	host->release(d->wanted);
	host->release(d);
}

flow_status
logs_save(flow_decoder *d, flow_slice *state, flow_error *error)
{
	(void)error;
	d->saved = d->state;
	*state = flow_slice_make(&d->saved, sizeof(d->saved));
	return FLOW_OK;
}

flow_status
logs_restore(flow_decoder *d, flow_slice state, flow_error *error)
{
	return flow_restore_state(d->serde->host, state, &d->state, sizeof(d->state), STATE_VERSION, d->serde->form->name,
							  error);
}

/* --- texts ------------------------------------------------------------------------------------------------------------- */

static flow_status
reject(const struct flow_decoder *d, flow_builder *builder, flow_slice raw, int64_t ordinal, uint64_t line)
{
	return flow_reject(builder, d->fault.status, d->fault.reason, d->fault.field, raw, ordinal, line);
}

static flow_status
refuse_long(struct flow_decoder *d)
{
	return logs_refuse(&d->fault, FLOW_E_LIMIT, flow_slice_make("", 0),
					   "the text is longer than max_record (%llu bytes)", (unsigned long long)d->serde->max_record);
}

static flow_status
take_text(struct flow_decoder *d, flow_slice text, flow_builder *builder, flow_value *value)
{
	uint64_t good = flow_utf8_check(text.data, text.size);
	if (good != text.size)
		return logs_refuse(&d->fault, FLOW_E_DECODE, flow_slice_make("", 0), "the text is not UTF-8 (byte %llu)",
						   (unsigned long long)good);
	return d->serde->form->take(d->reader, text, builder, value, &d->fault);
}

/* --- byte streams ------------------------------------------------------------------------------------------------------ */

static int
is_blank(flow_slice text)
{
	for (uint64_t i = 0; i < text.size; i++)
		if (text.data[i] != ' ' && text.data[i] != '\t')
			return 0;
	return 1;
}

/* One line, without its line feed. */
static flow_status
take_line(struct flow_decoder *d, flow_slice line, int64_t offset, flow_builder *builder)
{
	if (line.size != 0 && line.data[line.size - 1] == '\r')
		line.size--;
	if (d->serde->form->skips_blank && is_blank(line))
		return FLOW_OK;
	flow_value value;
	flow_status status = take_text(d, line, builder, &value);
	if (status == FLOW_E_MEMORY)
		return status;
	if (status != FLOW_OK)
		return reject(d, builder, line, offset, d->state.line);
	builder->ordinal[flow_builder_add(builder, value)] = offset;
	return FLOW_OK;
}

/* The next line of the window at *at. FLOW_AGAIN: it is not complete. */
static flow_status
next_line(struct flow_decoder *d, const flow_window *window, uint64_t *at, flow_builder *builder)
{
	const char *text = window->data + *at;
	uint64_t left = window->size - *at, limit = d->serde->max_record;
	uint64_t looked = d->state.discarding || left <= limit ? left : limit + 1;
	const char *feed = (const char *)memchr(text, '\n', looked);
	uint64_t size = feed == NULL ? looked : (uint64_t)(feed - text);
	int64_t offset = window->offset + (int64_t)*at;
	flow_status status = FLOW_OK;
	if (d->state.discarding) {
		d->state.discarding = feed == NULL;
	} else if (feed == NULL && left > limit) {
		refuse_long(d);
		status = reject(d, builder, flow_slice_make(text, limit), offset, d->state.line);
		d->state.discarding = 1;
	} else if (feed == NULL && !window->final) {
		return FLOW_AGAIN;
	} else {
		status = take_line(d, flow_slice_make(text, size), offset, builder);
	}
	*at += size + (feed != NULL);
	d->state.line += feed != NULL;
	return status;
}

/* How long the byte order mark is that the stream begins with; 0: there is none, or it is not whole yet. */
static uint64_t
mark_size(const flow_window *window)
{
	static const char mark[] = { '\xEF', '\xBB', '\xBF' };
	int there = window->offset == 0 && window->size >= sizeof(mark) && memcmp(window->data, mark, sizeof(mark)) == 0;
	return there ? sizeof(mark) : 0;
}

flow_status
logs_decode(flow_decoder *d, flow_window *window, flow_builder *builder, flow_error *error)
{
	flow_status status = FLOW_OK;
	uint64_t at = mark_size(window);
	window->consumed = at;
	if (builder->ordinal == NULL && builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		status = FLOW_E_MEMORY;
	while (status == FLOW_OK && at < window->size && !flow_builder_full(builder)) {
		status = next_line(d, window, &at, builder);
		if (status != FLOW_E_MEMORY)
			window->consumed = at;
	}
	if (status == FLOW_E_MEMORY)
		return flow_fail(d->serde->host, error, status, "%s: out of memory while reading lines", d->serde->form->name);
	return status == FLOW_AGAIN ? FLOW_OK : status;
}

/* --- records ----------------------------------------------------------------------------------------------------------- */

static flow_status
take_record(struct flow_decoder *d, flow_slice text, flow_builder *builder, flow_value *value)
{
	return text.size > d->serde->max_record ? refuse_long(d) : take_text(d, text, builder, value);
}

flow_status
logs_decode_rows(flow_decoder *d, const flow_batch *raw, uint32_t first, uint32_t *next, flow_builder *builder,
				 uint32_t *source_rows, flow_error *error)
{
	uint32_t i = first;
	flow_status status =
		i < raw->selected_count ? builder->ops->keep(builder, raw) : FLOW_OK; /* texts stay where they are */
	for (; status == FLOW_OK && i < raw->selected_count && !flow_builder_full(builder); i++) {
		uint32_t row = flow_row(raw, i);
		const flow_value *bytes = &raw->value[row];
		flow_value value = flow_null();
		if (bytes->type != FLOW_NULL)
			status = take_record(d, flow_value_slice(bytes), builder, &value);
		if (status == FLOW_OK)
			source_rows[flow_builder_add(builder, value)] = row;
		else if (status != FLOW_E_MEMORY)
			status = reject(d, builder, flow_value_slice(bytes), raw->ordinal == NULL ? -1 : raw->ordinal[row], 0);
	}
	*next = i;
	if (status == FLOW_E_MEMORY)
		return flow_fail(d->serde->host, error, status, "%s: out of memory while reading records",
						 d->serde->form->name);
	return status;
}
