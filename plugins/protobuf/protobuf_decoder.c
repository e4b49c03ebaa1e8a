/* Messages with their length before each of them in a byte stream, or each one a record. */
#include <stdio.h>

#include "flow_sdk/decoder.h"
#include "protobuf_serde.h"

#define LENGTH_MAX 10 /* bytes of a varint */

#define STATE_VERSION 1

struct state { /* what goes into checkpoints */
	uint32_t version;
	uint32_t reserved;
	uint64_t left; /* of a message that is too long: to be passed over */
};

struct flow_decoder {
	const proto_serde *serde;
	uint8_t *wanted; /* NULL: all fields */
	proto_message *message;
	proto_decoding decoding;
	struct state state;
	struct state saved;
};

flow_status
proto_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder, flow_error *error)
{
	const proto_serde *s = (const proto_serde *)serde;
	struct flow_decoder *d = (struct flow_decoder *)flow_new(s->host, sizeof(*d));
	if (d == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	d->serde = s;
	d->state.version = STATE_VERSION;
	d->message = proto_message_new(s->set, s->type);
	flow_status status = flow_wanted_fields(s->host, request, s->schema, &d->wanted);
	d->decoding.serde = s;
	d->decoding.wanted = d->wanted;
	if (d->message == NULL || status != FLOW_OK) {
		proto_decoder_close(d);
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	}
	*decoder = d;
	return FLOW_OK;
}

void
proto_decoder_close(flow_decoder *d)
{
	const flow_host *host = d->serde->host;
	proto_message_free(d->message);
	host->release(d->wanted);
	host->release(d);
}

flow_status
proto_save(flow_decoder *d, flow_slice *state, flow_error *error)
{
	(void)error;
	d->saved = d->state;
	*state = flow_slice_make(&d->saved, sizeof(d->saved));
	return FLOW_OK;
}

flow_status
proto_restore(flow_decoder *d, flow_slice state, flow_error *error)
{
	return flow_restore_state(d->serde->host, state, &d->state, sizeof(d->state), STATE_VERSION, "protobuf", error);
}

/* --- messages -------------------------------------------------------------------------------------------------------------- */

static flow_status
reject_long(const struct flow_decoder *d, flow_builder *builder, flow_slice raw, int64_t ordinal)
{
	char reason[96];
	uint64_t limit = d->serde->format.max_record;
	snprintf(reason, sizeof(reason), "the message is longer than max_record (%llu bytes)", (unsigned long long)limit);
	raw.size = raw.size < limit ? raw.size : limit;
	return flow_reject(builder, FLOW_E_LIMIT, reason, flow_slice_make("", 0), raw, ordinal, 0);
}

/* The message as a value. FLOW_E_MEMORY, or a failure that is told in d->decoding. */
static flow_status
take(struct flow_decoder *d, flow_slice bytes, flow_builder *builder, flow_value *value)
{
	proto_decoding *decoding = &d->decoding;
	char names[160];
	flow_pointer_reset(&decoding->path);
	decoding->builder = builder;
	int parsed = proto_parse(d->message, bytes.data, bytes.size, d->serde->format.depth_limit);
	if (parsed == PROTO_NO_MEMORY)
		return FLOW_E_MEMORY;
	proto_text type = proto_type_name(d->serde->type);
	if (parsed != PROTO_OK) {
		snprintf(decoding->reason, sizeof(decoding->reason),
				 "these bytes are no %.*s, or it is nested deeper than depth_limit (%d)", (int)type.size, type.data,
				 d->serde->format.depth_limit);
		return FLOW_E_DECODE;
	}
	if (proto_missing(d->message, names, sizeof(names))) {
		snprintf(decoding->reason, sizeof(decoding->reason), "fields that are required are not there: %s", names);
		return FLOW_E_DECODE;
	}
	return proto_take_message(decoding, d->message, value);
}

static flow_status
reject_fault(const struct flow_decoder *d, flow_builder *builder, flow_status status, flow_slice raw, int64_t ordinal)
{
	const flow_pointer *path = &d->decoding.path;
	return flow_reject(builder, status, d->decoding.reason, flow_pointer_field(path), raw, ordinal, 0);
}

/* --- byte streams ---------------------------------------------------------------------------------------------------------- */

/* The length at data; its size, 0: it does not end in `size` bytes, -1: there is no such length. */
static int
read_length(const char *data, uint64_t size, uint64_t *length)
{
	*length = 0;
	for (int i = 0; i < LENGTH_MAX; i++) {
		if ((uint64_t)i >= size)
			return 0;
		uint64_t part = (uint8_t)data[i] & 0x7F;
		if (i == LENGTH_MAX - 1 && part > 1)
			return -1;
		*length |= part << (7 * i);
		if (((uint8_t)data[i] & 0x80) == 0)
			return i + 1;
	}
	return -1;
}

static flow_status
pass_over(struct flow_decoder *d, const flow_window *window, uint64_t *at)
{
	uint64_t left = window->size - *at;
	uint64_t step = d->state.left < left ? d->state.left : left;
	*at += step;
	d->state.left = window->final && step == left ? 0 : d->state.left - step; /* it was rejected when it began */
	return FLOW_OK;
}

/* The message at *at. FLOW_AGAIN: it does not end in the window. */
static flow_status
next_message(struct flow_decoder *d, const flow_window *window, uint64_t *at, flow_builder *builder, flow_error *error)
{
	const char *data = window->data + *at;
	uint64_t left = window->size - *at, length;
	int64_t ordinal = window->offset + (int64_t)*at;
	int head = read_length(data, left, &length);
	if (head < 0)
		return flow_fail(d->serde->host, error, FLOW_E_DECODE,
						 "protobuf: offset %lld holds no length of a message; nothing behind it can be read",
						 (long long)ordinal);
	uint64_t there = left - (uint64_t)head;
	if (head > 0 && length > d->serde->format.max_record) {
		*at += (uint64_t)head;
		d->state.left = length;
		return reject_long(d, builder, flow_slice_make(data + head, there), ordinal);
	}
	if (head == 0 || length > there) {
		if (!window->final)
			return FLOW_AGAIN;
		*at = window->size;
		return flow_reject(builder, FLOW_E_DECODE, "the stream ends within a message", flow_slice_make("", 0),
						   flow_slice_make(data, left), ordinal, 0);
	}
	flow_slice bytes = flow_slice_make(data + head, length);
	flow_value *value = &builder->value[builder->row_count];
	flow_status status = take(d, bytes, builder, value);
	if (status == FLOW_E_MEMORY)
		return status;
	*at += (uint64_t)head + length;
	if (status != FLOW_OK)
		return reject_fault(d, builder, status, bytes, ordinal);
	builder->ordinal[builder->row_count++] = ordinal;
	return FLOW_OK;
}

flow_status
proto_decode(flow_decoder *d, flow_window *window, flow_builder *builder, flow_error *error)
{
	flow_status status = FLOW_OK;
	uint64_t at = 0;
	window->consumed = 0;
	if (builder->ordinal == NULL && builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		status = FLOW_E_MEMORY;
	while (status == FLOW_OK && at < window->size && !flow_builder_full(builder)) {
		status = d->state.left != 0 ? pass_over(d, window, &at) : next_message(d, window, &at, builder, error);
		if (status != FLOW_E_MEMORY)
			window->consumed = at;
	}
	if (status == FLOW_E_MEMORY)
		return flow_fail(d->serde->host, error, status, "protobuf: out of memory while reading records");
	return status == FLOW_AGAIN ? FLOW_OK : status;
}

/* --- records --------------------------------------------------------------------------------------------------------------- */

static flow_status
decode_row(struct flow_decoder *d, const flow_batch *raw, uint32_t row, flow_builder *builder, uint32_t *source_rows)
{
	const flow_value *bytes = &raw->value[row];
	int64_t ordinal = raw->ordinal == NULL ? -1 : raw->ordinal[row];
	flow_value *value = &builder->value[builder->row_count];
	*value = flow_null();
	if (bytes->type != FLOW_NULL) {
		flow_slice message = flow_value_slice(bytes);
		if (message.size > d->serde->format.max_record)
			return reject_long(d, builder, message, ordinal);
		flow_status status = take(d, message, builder, value);
		if (status == FLOW_E_MEMORY)
			return status;
		if (status != FLOW_OK)
			return reject_fault(d, builder, status, message, ordinal);
	}
	source_rows[builder->row_count++] = row;
	return FLOW_OK;
}

flow_status
proto_decode_rows(flow_decoder *d, const flow_batch *raw, uint32_t first, uint32_t *next, flow_builder *builder,
				  uint32_t *source_rows, flow_error *error)
{
	flow_status status = FLOW_OK;
	uint32_t i = first;
	for (; status == FLOW_OK && i < raw->selected_count && !flow_builder_full(builder); i++)
		status = decode_row(d, raw, flow_row(raw, i), builder, source_rows);
	*next = i;
	if (status == FLOW_E_MEMORY)
		return flow_fail(d->serde->host, error, status, "protobuf: out of memory while reading records");
	return status;
}
