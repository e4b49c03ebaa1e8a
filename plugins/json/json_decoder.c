/* Lines of a byte stream, items of an array, documents one behind another, or records: each one JSON document. */
#include <stdio.h>

#include "flow_sdk/decoder.h"
#include "flow_sdk/plugin.h"
#include "json.h"

#define STATE_VERSION 3

/* Where in the stream a decoder of arrays or documents stands. */
#define AT_START 0
#define AT_FIRST 1 /* behind the bracket: an item or the end */
#define AT_TEXT 2  /* a text comes */
#define AT_END 3   /* behind the array: only blanks follow */
#define AT_REST 4  /* behind something that is none: nothing more is read */

struct state { /* what goes into checkpoints */
	uint32_t version;
	uint8_t discarding; /* within a line, or text, that was too long */
	uint8_t phase;
	uint8_t framing; /* JSON_*; JSON_AUTO: nothing but blanks was seen */
	uint8_t reserved;
	uint64_t line;
	json_split split; /* of the text that is discarded */
};

struct flow_decoder {
	const json_serde *serde;
	json_parser *parser;
	uint8_t *wanted; /* NULL: all fields */
	struct state state;
	struct state saved;
	json_split split; /* of the text at the start of the window; found again after a restart */
	uint64_t place_size;
	char place[]; /* NUL-terminated */
};

flow_status
json_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder, flow_error *error)
{
	const json_serde *s = (const json_serde *)serde;
	const flow_host *host = s->host;
	struct flow_decoder *d = (struct flow_decoder *)flow_new(host, sizeof(*d) + request->place.size + 1);
	if (d == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	d->serde = s;
	d->state = (struct state){ .version = STATE_VERSION, .framing = (uint8_t)s->format.framing, .line = 1 };
	d->place_size = request->place.size;
	if (d->place_size != 0)
		memcpy(d->place, request->place.data, d->place_size);
	d->parser = json_parser_create(host, &s->format);
	if (flow_wanted_fields(host, request, s->schema, &d->wanted) != FLOW_OK || d->parser == NULL) {
		json_decoder_close(d);
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	}
	*decoder = d;
	return FLOW_OK;
}

void
json_decoder_close(flow_decoder *d)
{
	const flow_host *host = d->serde->host;
	json_parser_destroy(d->parser);
	host->release(d->wanted);
	host->release(d);
}

flow_status
json_save(flow_decoder *d, flow_slice *state, flow_error *error)
{
	(void)error;
	d->saved = d->state;
	*state = flow_slice_make(&d->saved, sizeof(d->saved));
	return FLOW_OK;
}

flow_status
json_restore(flow_decoder *d, flow_slice state, flow_error *error)
{
	struct state s = { 0 };
	flow_status status = flow_restore_state(d->serde->host, state, &s, sizeof(s), STATE_VERSION, "json", error);
	if (status != FLOW_OK)
		return status;
	if (s.phase > AT_REST || s.framing > JSON_AUTO)
		return flow_fail(d->serde->host, error, FLOW_E_CORRUPT, "json: the saved state of %s is damaged", d->place);
	d->state = s;
	if (d->serde->format.framing != JSON_AUTO)
		d->state.framing = (uint8_t)d->serde->format.framing;
	return FLOW_OK;
}

/* --- rejections ------------------------------------------------------------------------------------------------------ */

static flow_status
reject(flow_builder *builder, const json_fault *fault, flow_slice raw, int64_t ordinal, uint64_t line)
{
	char reason[512];
	snprintf(reason, sizeof(reason), "%s (byte %llu%s%.*s)", fault->reason, (unsigned long long)fault->offset,
			 fault->pointer.size == 0 ? "" : ", at ", (int)(fault->pointer.size > 128 ? 128 : fault->pointer.size),
			 fault->pointer.size == 0 ? "" : fault->pointer.data);
	return flow_reject(builder, fault->status, reason, fault->pointer, raw, ordinal, line);
}

static flow_status
reject_long(const struct flow_decoder *d, flow_builder *builder, flow_slice raw, int64_t ordinal, uint64_t line)
{
	char reason[96];
	snprintf(reason, sizeof(reason), "the text is longer than max_record (%llu bytes)",
			 (unsigned long long)d->serde->format.max_record);
	json_fault fault = { .status = FLOW_E_LIMIT, .reason = reason, .offset = d->serde->format.max_record };
	return reject(builder, &fault, raw, ordinal, line);
}

/* A comma without an item in front of it, or behind it. */
static flow_status
reject_empty(const struct flow_decoder *d, const flow_window *window, uint64_t at, flow_builder *builder)
{
	json_fault fault = { .status = FLOW_E_DECODE, .reason = "a comma or bracket where an item is expected" };
	return reject(builder, &fault, flow_slice_make(window->data + at, at < window->size), window->offset + (int64_t)at,
				  d->state.line);
}

/* --- byte streams ---------------------------------------------------------------------------------------------------- */

static int
is_blank(const char *text, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r' && text[i] != '\n')
			return 0;
	return 1;
}

/* A copy with the padding that the parser needs. NULL: out of memory. */
static const char *
padded_copy(flow_builder *builder, const char *text, uint64_t size)
{
	char *copy = (char *)flow_builder_alloc(builder, size + 1 + JSON_PADDING);
	if (copy == NULL)
		return NULL;
	memcpy(copy, text, size);
	memset(copy + size, 0, 1 + JSON_PADDING);
	return copy;
}

/* One line, without its line feed, or one text, that stands at `offset` of the stream. */
static flow_status
decode_line(struct flow_decoder *d, const char *text, uint64_t size, int64_t offset, flow_builder *builder)
{
	if (is_blank(text, size))
		return FLOW_OK;
	flow_value value;
	json_fault fault;
	flow_status status = json_parse(d->parser, d->serde->node, d->wanted, text, size, builder, &value, &fault);
	if (__builtin_expect(status == FLOW_OK, 1)) {
		builder->ordinal[flow_builder_add(builder, value)] = offset;
		return FLOW_OK;
	}
	if (status == FLOW_E_MEMORY)
		return status;
	if (size != 0 && text[size - 1] == '\r')
		size--;
	return reject(builder, &fault, flow_slice_make(text, size), offset, d->state.line);
}

/* The next line of the window at *at. FLOW_AGAIN: it is not complete. */
static flow_status
next_line(struct flow_decoder *d, const flow_window *window, uint64_t *at, flow_builder *builder)
{
	const char *text = window->data + *at;
	uint64_t left = window->size - *at;
	uint64_t limit = d->serde->format.max_record;
	uint64_t looked = d->state.discarding || left <= limit ? left : limit + 1;
	const char *feed = (const char *)memchr(text, '\n', looked);
	flow_status status = FLOW_OK;
	if (d->state.discarding) {
		d->state.discarding = feed == NULL;
	} else if (feed != NULL) {
		status = decode_line(d, text, (uint64_t)(feed - text), window->offset + (int64_t)*at, builder);
	} else if (left > limit) {
		status = reject_long(d, builder, flow_slice_make(text, limit), window->offset + (int64_t)*at, d->state.line);
		d->state.discarding = 1;
	} else if (!window->final) {
		return FLOW_AGAIN;
	} else {
		const char *copy = padded_copy(builder, text, left); /* what stands behind it is undefined */
		status = copy == NULL ? FLOW_E_MEMORY : decode_line(d, copy, left, window->offset + (int64_t)*at, builder);
	}
	*at += feed == NULL ? looked : (uint64_t)(feed - text) + 1;
	d->state.line += feed != NULL;
	return status;
}

/* --- arrays, and documents one behind another ------------------------------------------------------------------------ */

static void
count_lines(struct flow_decoder *d, const char *text, uint64_t size)
{
	const char *end = text + size;
	for (const char *at = text; at < end && (at = (const char *)memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
		d->state.line++;
}

/* What the stream holds from *at on is not read: one rejection. */
static flow_status
reject_rest(struct flow_decoder *d, const flow_window *window, uint64_t *at, uint64_t shown, const char *why,
			flow_builder *builder)
{
	json_fault fault = { .status = FLOW_E_DECODE, .reason = why };
	int64_t ordinal = window->offset + (int64_t)*at;
	flow_slice raw = flow_slice_make(window->data + *at, shown);
	d->state.phase = AT_REST;
	*at = window->size;
	return reject(builder, &fault, raw, ordinal, d->state.line);
}

/* Behind blanks; counts lines. */
static uint64_t
skip_blanks(struct flow_decoder *d, const flow_window *window, uint64_t at)
{
	uint64_t begin = at;
	while (at < window->size && (window->data[at] == ' ' || window->data[at] == '\t' || window->data[at] == '\n' ||
								 window->data[at] == '\r'))
		at++;
	count_lines(d, window->data + begin, at - begin);
	return at;
}

/* A text of more than max_record bytes: rejected, and passed over up to its end. */
static flow_status
start_discarding(struct flow_decoder *d, const flow_window *window, uint64_t *at, flow_builder *builder)
{
	uint64_t limit = d->serde->format.max_record;
	json_split_find(&d->split, window->data + *at, limit, d->state.framing);
	flow_status status = reject_long(d, builder, flow_slice_make(window->data + *at, limit),
									 window->offset + (int64_t)*at, d->state.line);
	d->state.discarding = 1;
	d->state.split = d->split;
	d->state.split.looked = 0;
	count_lines(d, window->data + *at, limit);
	*at += limit;
	return status;
}

static void
discard_text(struct flow_decoder *d, const flow_window *window, uint64_t *at)
{
	json_split *split = &d->state.split;
	int found = json_split_find(split, window->data + *at, window->size - *at, d->state.framing);
	uint64_t size = split->looked;
	split->looked = 0;
	d->state.discarding = !found;
	count_lines(d, window->data + *at, size);
	*at += size;
}

/* Behind an item of an array: its comma, or the end of the array. *at stands there. */
static void
pass_comma(struct flow_decoder *d, const flow_window *window, uint64_t *at)
{
	if (d->state.framing != JSON_ARRAY || *at == window->size)
		return;
	d->state.phase = window->data[*at] == ']' ? AT_END : AT_TEXT;
	++*at;
}

/* The text at *at, which is no blank. FLOW_AGAIN: it is not complete. */
static flow_status
next_text(struct flow_decoder *d, const flow_window *window, uint64_t *at, flow_builder *builder)
{
	const char *text = window->data + *at;
	uint64_t left = window->size - *at;
	uint64_t limit = d->serde->format.max_record;
	int array = d->state.framing == JSON_ARRAY;
	uint64_t looked = left > limit ? limit + 1 : left; /* one more: what ends the text */
	int found = json_split_find(&d->split, text, looked, d->state.framing);
	uint64_t size = found ? d->split.looked : left;
	if (size > limit) {
		memset(&d->split, 0, sizeof(d->split));
		flow_status status = start_discarding(d, window, at, builder);
		memset(&d->split, 0, sizeof(d->split));
		return status;
	}
	if (!found && !window->final)
		return FLOW_AGAIN;
	if (!found && array)
		return reject_rest(d, window, at, left, "the stream ends within the array", builder);
	if (!found || size == left) { /* what stands behind it is undefined */
		text = padded_copy(builder, text, size);
		if (text == NULL)
			return FLOW_E_MEMORY;
	}
	memset(&d->split, 0, sizeof(d->split));
	uint64_t trimmed = size;
	while (trimmed != 0 && is_blank(text + trimmed - 1, 1))
		trimmed--;
	flow_status status = size == 0 ? reject_empty(d, window, *at, builder)
								   : decode_line(d, text, trimmed, window->offset + (int64_t)*at, builder);
	count_lines(d, text, size);
	*at += size;
	pass_comma(d, window, at);
	return status;
}

/* One step over the window at *at. FLOW_AGAIN: more of it is needed. */
static flow_status
next_in_frames(struct flow_decoder *d, const flow_window *window, uint64_t *at, flow_builder *builder)
{
	if (d->state.discarding) {
		discard_text(d, window, at);
		if (!d->state.discarding)
			pass_comma(d, window, at);
		return FLOW_OK;
	}
	if (d->state.phase == AT_REST) {
		*at = window->size;
		return FLOW_OK;
	}
	if (d->split.looked == 0)
		*at = skip_blanks(d, window, *at);
	if (*at == window->size)
		return FLOW_OK;
	if (d->state.framing == JSON_AUTO)
		d->state.framing = (uint8_t)json_framing_of(window->data[*at]);
	if (d->state.phase == AT_END)
		return reject_rest(d, window, at, 0,
						   d->serde->format.framing != JSON_AUTO
							   ? "text behind the array is not read"
							   : "text behind the array is not read (framing = \"documents\" reads arrays as records)",
						   builder);
	if (d->state.framing != JSON_ARRAY)
		return next_text(d, window, at, builder);
	if (d->state.phase == AT_START) {
		if (window->data[*at] != '[')
			return reject_rest(d, window, at, 0,
							   "no array stands here (framing = \"lines\" or \"documents\" reads others)", builder);
		d->state.phase = AT_FIRST;
		++*at;
		return FLOW_OK;
	}
	if (d->state.phase == AT_FIRST && window->data[*at] == ']') {
		pass_comma(d, window, at);
		return FLOW_OK;
	}
	return next_text(d, window, at, builder);
}

/* The stream has ended: in the middle of an array? */
static flow_status
check_end(struct flow_decoder *d, const flow_window *window, flow_builder *builder)
{
	uint64_t at = window->size;
	int open = d->state.phase == AT_FIRST || d->state.phase == AT_TEXT || d->state.discarding;
	if (d->state.framing != JSON_ARRAY || !open)
		return FLOW_OK;
	d->state.discarding = 0;
	return reject_rest(d, window, &at, 0, "the stream ends within the array", builder);
}

/* --- streams --------------------------------------------------------------------------------------------------------- */

flow_status
json_decode(flow_decoder *d, flow_window *window, flow_builder *builder, flow_error *error)
{
	const flow_host *host = d->serde->host;
	int lines = d->state.framing == JSON_LINES;
	uint64_t at = 0;
	window->consumed = 0;
	if (window->offset == 0 && window->size != 0 && (unsigned char)window->data[0] == 0xEF) { /* a byte order mark */
		if (window->size < 3 && !window->final)
			return FLOW_OK;
		if (window->size >= 3 && memcmp(window->data, "\xEF\xBB\xBF", 3) == 0)
			at = 3;
	}
	flow_status status = FLOW_OK;
	if (builder->ordinal == NULL && builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		status = FLOW_E_MEMORY;
	while (status == FLOW_OK && at < window->size && !flow_builder_full(builder)) {
		status = lines ? next_line(d, window, &at, builder) : next_in_frames(d, window, &at, builder);
		if (status != FLOW_E_MEMORY)
			window->consumed = at;
	}
	if (status == FLOW_OK && window->final && at == window->size)
		status = check_end(d, window, builder);
	if (status == FLOW_E_MEMORY)
		return flow_fail(host, error, status, "%s: out of memory while reading records", d->place);
	return status == FLOW_AGAIN ? FLOW_OK : status;
}

/* --- records --------------------------------------------------------------------------------------------------------- */

static flow_status
decode_record(struct flow_decoder *d, const flow_batch *raw, uint32_t row, flow_builder *builder, uint32_t *source_rows)
{
	const flow_value *bytes = &raw->value[row];
	int64_t ordinal = raw->ordinal == NULL ? -1 : raw->ordinal[row];
	flow_value value = flow_null();
	if (bytes->type != FLOW_NULL) {
		flow_slice text = flow_value_slice(bytes);
		if (text.size > d->serde->format.max_record)
			return reject_long(d, builder, text, ordinal, 0);
		const char *copy = padded_copy(builder, text.size == 0 ? "" : text.data, text.size);
		if (copy == NULL)
			return FLOW_E_MEMORY;
		json_fault fault;
		flow_status status = json_parse(d->parser, d->serde->node, d->wanted, copy, text.size, builder, &value, &fault);
		if (status == FLOW_E_MEMORY)
			return status;
		if (status != FLOW_OK)
			return reject(builder, &fault, text, ordinal, 0);
	}
	source_rows[flow_builder_add(builder, value)] = row;
	return FLOW_OK;
}

flow_status
json_decode_rows(flow_decoder *d, const flow_batch *raw, uint32_t first, uint32_t *next, flow_builder *builder,
				 uint32_t *source_rows, flow_error *error)
{
	flow_status status = FLOW_OK;
	uint32_t i = first;
	for (; status == FLOW_OK && i < raw->selected_count && !flow_builder_full(builder); i++)
		status = decode_record(d, raw, flow_row(raw, i), builder, source_rows);
	*next = i;
	if (status == FLOW_E_MEMORY)
		return flow_fail(d->serde->host, error, status, "json: out of memory while reading records");
	return status;
}
