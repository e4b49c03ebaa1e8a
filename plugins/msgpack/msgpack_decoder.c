/* Objects one behind another in a byte stream, or each one a record. */
#include <stdio.h>

#include "flow_sdk/decoder.h"
#include "msgpack_serde.h"

#define STATE_VERSION 1

struct state { /* what goes into checkpoints */
	uint32_t version;
	uint32_t skipping; /* within an object that is too long */
	pack_skip skip;
};

struct flow_decoder {
	const pack_serde *serde;
	uint8_t *wanted; /* NULL: all fields */
	pack_decoding decoding;
	struct state state;
	struct state saved;
};

flow_status
pack_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder, flow_error *error)
{
	const pack_serde *s = (const pack_serde *)serde;
	struct flow_decoder *d = (struct flow_decoder *)flow_new(s->host, sizeof(*d));
	if (d == NULL || flow_wanted_fields(s->host, request, s->schema, &d->wanted) != FLOW_OK) {
		s->host->release(d);
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	}
	d->serde = s;
	d->state.version = STATE_VERSION;
	d->decoding.host = s->host;
	d->decoding.format = &s->format;
	d->decoding.wanted = d->wanted;
	*decoder = d;
	return FLOW_OK;
}

void
pack_decoder_close(flow_decoder *d)
{
	const flow_host *host = d->serde->host;
	host->release(d->decoding.extras);
	host->release(d->wanted);
	host->release(d);
}

flow_status
pack_save(flow_decoder *d, flow_slice *state, flow_error *error)
{
	(void)error;
	d->saved = d->state;
	*state = flow_slice_make(&d->saved, sizeof(d->saved));
	return FLOW_OK;
}

flow_status
pack_restore(flow_decoder *d, flow_slice state, flow_error *error)
{
	return flow_restore_state(d->serde->host, state, &d->state, sizeof(d->state), STATE_VERSION, "msgpack", error);
}

/* --- rejections ------------------------------------------------------------------------------------------------------ */

/* A fault that decoding told. A field of the record itself goes by its name, what is deeper by its pointer. */
static flow_status
reject_fault(const struct flow_decoder *d, flow_builder *builder, flow_status status, flow_slice raw, int64_t ordinal)
{
	char reason[512];
	flow_slice path = flow_pointer_text(&d->decoding.path);
	snprintf(reason, sizeof(reason), "%s (byte %llu%s%.*s)", d->decoding.reason,
			 (unsigned long long)d->decoding.fault_offset, path.size == 0 ? "" : ", at ",
			 (int)(path.size > 128 ? 128 : path.size), path.data);
	return flow_reject(builder, status, reason, flow_pointer_field(&d->decoding.path), raw, ordinal, 0);
}

static flow_status
reject_long(const struct flow_decoder *d, flow_builder *builder, flow_slice raw, int64_t ordinal)
{
	char reason[96];
	uint64_t limit = d->serde->format.max_record;
	snprintf(reason, sizeof(reason), "the object is longer than max_record (%llu bytes)", (unsigned long long)limit);
	raw.size = raw.size < limit ? raw.size : limit;
	return flow_reject(builder, FLOW_E_LIMIT, reason, flow_slice_make("", 0), raw, ordinal, 0);
}

/* --- byte streams ---------------------------------------------------------------------------------------------------- */

/* An object that was refused, or whose end is not in the window: passes over it as far as it goes. */
static flow_status
pass_over(struct flow_decoder *d, const flow_window *window, uint64_t *at, flow_status refused, flow_builder *builder,
		  flow_error *error)
{
	const char *data = window->data + *at;
	uint64_t size = window->size - *at, limit = d->serde->format.max_record;
	int64_t ordinal = window->offset + (int64_t)*at;
	pack_skip skip = { 1, 0 };
	flow_status status = pack_skip_object(&skip, data, &size);
	if (status == FLOW_E_DECODE)
		return flow_fail(d->serde->host, error, FLOW_E_DECODE,
						 "msgpack: offset %lld holds the byte C1, which MessagePack does not use; "
						 "nothing behind it can be read",
						 (long long)ordinal + (long long)size);
	if (status == FLOW_OK) {
		*at += size;
		return refused == FLOW_E_LIMIT && d->decoding.reason[0] == '\0'
				   ? reject_long(d, builder, flow_slice_make(data, size), ordinal)
				   : reject_fault(d, builder, refused, flow_slice_make(data, size), ordinal);
	}
	uint64_t more = skip.bytes > UINT64_MAX - skip.items ? UINT64_MAX : skip.bytes + skip.items;
	if (size > limit || more > limit - size) {
		*at += size;
		d->state.skipping = 1;
		d->state.skip = skip;
		return reject_long(d, builder, flow_slice_make(data, window->size - (*at - size)), ordinal);
	}
	if (!window->final)
		return FLOW_AGAIN;
	*at = window->size;
	return flow_reject(builder, FLOW_E_DECODE, "the stream ends within an object", flow_slice_make("", 0),
					   flow_slice_make(data, window->size - (uint64_t)(data - window->data)), ordinal, 0);
}

/* The object at *at. FLOW_AGAIN: it does not end in the window. */
static flow_status
next_object(struct flow_decoder *d, const flow_window *window, uint64_t *at, flow_builder *builder, flow_error *error)
{
	pack_decoding *decoding = &d->decoding;
	char *mark = builder->next, *chunk_end = builder->end;
	flow_value *value = &builder->value[builder->row_count];
	decoding->builder = builder;
	decoding->start = window->data + *at;
	decoding->end = window->data + window->size;
	flow_status status = pack_decode_object(decoding, d->serde->node, value);
	uint64_t size = (uint64_t)(decoding->at - decoding->start);
	if (__builtin_expect(status == FLOW_OK && size <= d->serde->format.max_record, 1)) {
		builder->ordinal[builder->row_count++] = window->offset + (int64_t)*at;
		*at += size;
		return FLOW_OK;
	}
	if (status == FLOW_E_MEMORY)
		return status;
	if (builder->end == chunk_end)
		builder->next = mark; /* nothing points there */
	if (status == FLOW_OK) {
		status = FLOW_E_LIMIT;
		decoding->reason[0] = '\0';
	}
	return pass_over(d, window, at, status, builder, error);
}

static flow_status
go_on_skipping(struct flow_decoder *d, const flow_window *window, uint64_t *at, flow_error *error)
{
	uint64_t size = window->size - *at;
	flow_status status = pack_skip_object(&d->state.skip, window->data + *at, &size);
	*at += size;
	if (status == FLOW_E_DECODE)
		return flow_fail(d->serde->host, error, status,
						 "msgpack: offset %lld holds the byte C1, which MessagePack does not use; "
						 "nothing behind it can be read",
						 (long long)window->offset + (long long)*at);
	d->state.skipping = status != FLOW_OK;
	if (status == FLOW_AGAIN && window->final)
		*at = window->size; /* it was rejected when it began */
	return status;
}

flow_status
pack_decode(flow_decoder *d, flow_window *window, flow_builder *builder, flow_error *error)
{
	flow_status status = FLOW_OK;
	uint64_t at = 0;
	window->consumed = 0;
	if (builder->ordinal == NULL && builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		status = FLOW_E_MEMORY;
	while (status == FLOW_OK && at < window->size && !flow_builder_full(builder)) {
		status =
			d->state.skipping ? go_on_skipping(d, window, &at, error) : next_object(d, window, &at, builder, error);
		if (status != FLOW_E_MEMORY)
			window->consumed = at;
	}
	if (status == FLOW_E_MEMORY)
		return flow_fail(d->serde->host, error, status, "msgpack: out of memory while reading records");
	return status == FLOW_AGAIN ? FLOW_OK : status;
}

/* --- records --------------------------------------------------------------------------------------------------------- */

static flow_status
decode_row(struct flow_decoder *d, const flow_batch *raw, uint32_t row, flow_builder *builder, uint32_t *source_rows)
{
	pack_decoding *decoding = &d->decoding;
	const flow_value *bytes = &raw->value[row];
	int64_t ordinal = raw->ordinal == NULL ? -1 : raw->ordinal[row];
	flow_value *value = &builder->value[builder->row_count];
	*value = flow_null();
	if (bytes->type != FLOW_NULL) {
		flow_slice object = flow_value_slice(bytes);
		if (object.size > d->serde->format.max_record)
			return reject_long(d, builder, object, ordinal);
		if (object.size == 0)
			return flow_reject(builder, FLOW_E_DECODE, "no bytes where an object should be", object, object, ordinal,
							   0);
		decoding->builder = builder;
		decoding->start = object.data;
		decoding->end = object.data + object.size;
		flow_status status = pack_decode_object(decoding, d->serde->node, value);
		if (status == FLOW_E_MEMORY)
			return status;
		if (status == FLOW_AGAIN)
			return flow_reject(builder, FLOW_E_DECODE, "the record ends within its object", flow_slice_make("", 0),
							   object, ordinal, 0);
		if (status != FLOW_OK)
			return reject_fault(d, builder, status, object, ordinal);
		if (decoding->at != decoding->end)
			return flow_reject(builder, FLOW_E_DECODE, "there are bytes behind the object", flow_slice_make("", 0),
							   object, ordinal, 0);
	}
	source_rows[builder->row_count++] = row;
	return FLOW_OK;
}

flow_status
pack_decode_rows(flow_decoder *d, const flow_batch *raw, uint32_t first, uint32_t *next, flow_builder *builder,
				 uint32_t *source_rows, flow_error *error)
{
	uint32_t i = first;
	flow_status status =
		i < raw->selected_count ? builder->ops->keep(builder, raw) : FLOW_OK; /* texts stay where they are */
	for (; status == FLOW_OK && i < raw->selected_count && !flow_builder_full(builder); i++)
		status = decode_row(d, raw, flow_row(raw, i), builder, source_rows);
	*next = i;
	if (status == FLOW_E_MEMORY)
		return flow_fail(d->serde->host, error, status, "msgpack: out of memory while reading records");
	return status;
}
