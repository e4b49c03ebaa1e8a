/* Serdes under watch: what decoders say they used and made, what encoders append. */
#include "base/arena.h"
#include "base/memory.h"
#include "runtime/proxy.h"

struct watched_serde {
	checked c;
	const flow_serde_ops *ops;
	flow_serde *real;
	const flow_schema *schema; /* of decoded rows; NULL: unknown */
	flow_serde_ops masked;
};

struct watched_decoder {
	checked c;
	struct watched_serde *serde;
	flow_decoder *real;
};

struct watched_encoder {
	checked c;
	struct watched_serde *serde;
	flow_encoder *real;
};

static struct watched_serde *
serde_of(flow_serde *serde)
{
	return (struct watched_serde *)serde;
}

static struct watched_decoder *
decoder_of(flow_decoder *decoder)
{
	return (struct watched_decoder *)decoder;
}

static struct watched_encoder *
encoder_of(flow_encoder *encoder)
{
	return (struct watched_encoder *)encoder;
}

/* --- decoders ------------------------------------------------------------------------------------------------------- */

static flow_status
watched_decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder, flow_error *error)
{
	struct watched_serde *s = serde_of(serde);
	struct watched_decoder *made = memory_allocate_zeroed(sizeof(*made));
	if (made == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	checked_init(&made->c, s->c.run, "decoder", s->c.id);
	made->serde = s;
	checked_enter(&made->c, "decoder_open");
	flow_status status = s->ops->decoder_open(s->real, request, &made->real, error);
	status = checked_leave(&made->c, "decoder_open", status, ALLOW_NONE, error);
	if (status < 0) {
		memory_release(made);
		return status;
	}
	*decoder = (flow_decoder *)made;
	return FLOW_OK;
}

static flow_status
watched_decode(flow_decoder *decoder, flow_window *window, flow_builder *builder, flow_error *error)
{
	struct watched_decoder *d = decoder_of(decoder);
	uint32_t before = builder->row_count;
	window->consumed = UINT64_MAX;
	checked_enter(&d->c, "decode");
	flow_status status = d->serde->ops->decode(d->real, window, builder, error);
	status = checked_leave(&d->c, "decode", status, ALLOW_NONE, error);
	if (window->consumed > window->size) {
		window->consumed = 0;
		return checked_violation(&d->c, error, "decode does not say how many of %llu bytes it consumed",
								 (unsigned long long)window->size);
	}
	if (status == FLOW_OK)
		status = checked_room(&d->c, "decode", builder, error);
	int64_t end = window->offset + (int64_t)window->consumed;
	for (uint32_t row = before; status == FLOW_OK && builder->ordinal != NULL && row < builder->row_count; row++)
		if (builder->ordinal[row] < window->offset || builder->ordinal[row] >= end)
			return checked_violation(&d->c, error, "row %u has ordinal %lld, outside of what was consumed", row,
									 (long long)builder->ordinal[row]);
	return status == FLOW_OK ? checked_rows(&d->c, "decode", builder, before, d->serde->schema, error) : status;
}

static flow_status
watched_decode_rows(flow_decoder *decoder, const flow_batch *raw, uint32_t first, uint32_t *next, flow_builder *builder,
					uint32_t *source_rows, flow_error *error)
{
	struct watched_decoder *d = decoder_of(decoder);
	uint32_t before = builder->row_count;
	checked_enter(&d->c, "decode_rows");
	flow_status status = d->serde->ops->decode_rows(d->real, raw, first, next, builder, source_rows, error);
	status = checked_leave(&d->c, "decode_rows", status, ALLOW_NONE, error);
	if (status < 0)
		return status;
	status = checked_room(&d->c, "decode_rows", builder, error);
	if (status < 0)
		return status;
	if (*next < first || *next > raw->selected_count || builder->row_count - before > *next - first)
		return checked_violation(&d->c, error, "decode_rows made %u rows of rows %u to %u", builder->row_count - before,
								 first, *next);
	for (uint32_t row = before + 1; row < builder->row_count; row++)
		if (source_rows[row] <= source_rows[row - 1])
			return checked_violation(&d->c, error, "decode_rows: the source rows do not grow");
	return checked_rows(&d->c, "decode_rows", builder, before, d->serde->schema, error);
}

static flow_status
watched_save(flow_decoder *decoder, flow_slice *state, flow_error *error)
{
	struct watched_decoder *d = decoder_of(decoder);
	checked_enter(&d->c, "save");
	flow_status status = checked_leave(&d->c, "save", d->serde->ops->save(d->real, state, error), ALLOW_NONE, error);
	if (status == FLOW_OK && state->size > FLOW_POSITION_MAX)
		return checked_violation(&d->c, error, "save gives more than 64 KiB");
	return status;
}

static flow_status
watched_restore(flow_decoder *decoder, flow_slice state, flow_error *error)
{
	struct watched_decoder *d = decoder_of(decoder);
	checked_enter(&d->c, "restore");
	return checked_leave(&d->c, "restore", d->serde->ops->restore(d->real, state, error), ALLOW_NONE, error);
}

static void
watched_decoder_close(flow_decoder *decoder)
{
	struct watched_decoder *d = decoder_of(decoder);
	checked_enter(&d->c, "decoder_close");
	d->serde->ops->decoder_close(d->real);
	memory_release(d);
}

/* --- encoders ------------------------------------------------------------------------------------------------------- */

static flow_status
watched_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error)
{
	struct watched_serde *s = serde_of(serde);
	struct watched_encoder *made = memory_allocate_zeroed(sizeof(*made));
	if (made == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	checked_init(&made->c, s->c.run, "encoder", s->c.id);
	made->serde = s;
	checked_enter(&made->c, "encoder_open");
	flow_status status = s->ops->encoder_open(s->real, schema, &made->real, error);
	status = checked_leave(&made->c, "encoder_open", status, ALLOW_NONE, error);
	if (status < 0) {
		memory_release(made);
		return status;
	}
	*encoder = (flow_encoder *)made;
	return FLOW_OK;
}

static flow_status
check_buffer(struct watched_encoder *e, const char *call, const flow_buffer *buffer, uint64_t before, flow_error *error)
{
	if (buffer->size < before || buffer->size > buffer->capacity)
		return checked_violation(&e->c, error, "%s leaves a buffer of %llu bytes behind, from %llu, with room for %llu",
								 call, (unsigned long long)buffer->size, (unsigned long long)before,
								 (unsigned long long)buffer->capacity);
	return FLOW_OK;
}

static flow_status
watched_begin(flow_encoder *encoder, flow_buffer *buffer, flow_error *error)
{
	struct watched_encoder *e = encoder_of(encoder);
	uint64_t before = buffer->size;
	checked_enter(&e->c, "begin");
	flow_status status = checked_leave(&e->c, "begin", e->serde->ops->begin(e->real, buffer, error), ALLOW_NONE, error);
	return status == FLOW_OK ? check_buffer(e, "begin", buffer, before, error) : status;
}

static flow_status
watched_end(flow_encoder *encoder, flow_buffer *buffer, flow_error *error)
{
	struct watched_encoder *e = encoder_of(encoder);
	uint64_t before = buffer->size;
	checked_enter(&e->c, "end");
	flow_status status = checked_leave(&e->c, "end", e->serde->ops->end(e->real, buffer, error), ALLOW_NONE, error);
	return status == FLOW_OK ? check_buffer(e, "end", buffer, before, error) : status;
}

static flow_status
watched_encode(flow_encoder *encoder, const flow_batch *batch, int use_key, flow_buffer *buffer, uint64_t *ends,
			   flow_status *statuses, flow_error *error)
{
	struct watched_encoder *e = encoder_of(encoder);
	uint64_t before = buffer->size;
	checked_enter(&e->c, "encode");
	flow_status status = e->serde->ops->encode(e->real, batch, use_key, buffer, ends, statuses, error);
	status = checked_leave(&e->c, "encode", status, ALLOW_NONE, error);
	if (status == FLOW_OK)
		status = check_buffer(e, "encode", buffer, before, error);
	uint64_t last = before;
	for (uint32_t i = 0; status == FLOW_OK && ends != NULL && i < batch->selected_count; i++) {
		if (ends[i] < last || ends[i] > buffer->size)
			return checked_violation(&e->c, error, "encode: the end of row %u is %llu, behind %llu", i,
									 (unsigned long long)ends[i], (unsigned long long)last);
		last = ends[i];
	}
	return status;
}

static void
watched_encoder_close(flow_encoder *encoder)
{
	struct watched_encoder *e = encoder_of(encoder);
	checked_enter(&e->c, "encoder_close");
	e->serde->ops->encoder_close(e->real);
	memory_release(e);
}

static const flow_serde_ops watched_ops = {
	.struct_size = FLOW_SIZEOF(flow_serde_ops),
	.decoder_open = watched_decoder_open,
	.decode = watched_decode,
	.decode_rows = watched_decode_rows,
	.save = watched_save,
	.restore = watched_restore,
	.decoder_close = watched_decoder_close,
	.encoder_open = watched_encoder_open,
	.begin = watched_begin,
	.encode = watched_encode,
	.end = watched_end,
	.encoder_close = watched_encoder_close,
};

#define MASK(member)                                                                                                   \
	if (!FLOW_CAN(s->ops, member))                                                                                     \
		s->masked.member = NULL;

flow_status
proxy_wrap_serde(runtime *run, arena *memory, plan_serde *serde)
{
	if (serde->ops == NULL)
		return FLOW_OK;
	struct watched_serde *s = arena_allocate_zeroed(memory, sizeof(*s));
	if (s == NULL)
		return FLOW_E_MEMORY;
	checked_init(&s->c, run, "serde", serde->component == NULL ? "" : serde->component->id);
	s->ops = serde->ops;
	s->real = serde->instance;
	s->schema = serde->schema;
	s->masked = watched_ops;
	MASK(decode)
	MASK(decode_rows)
	MASK(save)
	MASK(restore)
	MASK(begin)
	MASK(end)
	serde->ops = &s->masked;
	serde->instance = (flow_serde *)s;
	return FLOW_OK;
}
