/* Serdes in tests: the second half of support/plugin_fixture.h. */
#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "support/batch_text.h"
#include "support/plugin_fixture.h"

#define WINDOW_TAIL 64 /* readable bytes behind a window (flow/serde.h) */
#define CALLS_MAX 10000000

static void *
zeroed(fixture *f, uint64_t size)
{
	void *memory = arena_allocate_zeroed(f->arena, size == 0 ? 1 : size);
	assert_non_null(memory);
	return memory;
}

struct open_serde {
	const flow_serde_ops *ops;
	flow_serde *serde;
};

static void
close_serde(void *owner)
{
	struct open_serde *open = owner;
	open->ops->close(open->serde);
}

flow_status
fixture_try_serde_open(fixture *f, const char *id, const char *const *assignments, fixture_serde *serde)
{
	const flow_component *component = fixture_component(f, FLOW_SERDE, id);
	const flow_options *options = fixture_try_options(f, component, "", assignments);
	if (options == NULL)
		return FLOW_E_CONFIG;
	*serde = (fixture_serde){ .fixture = f, .ops = component->ops, .flags = component->flags };
	uint32_t use = (FLOW_CAN(serde->ops, decoder_open) ? FLOW_SERDE_DECODES : 0) |
				   (FLOW_CAN(serde->ops, encoder_open) ? FLOW_SERDE_ENCODES : 0);
	flow_status status = serde->ops->open(&host_services, options, use, &serde->serde, &f->error);
	if (status != FLOW_OK)
		return status;
	struct open_serde *open = zeroed(f, sizeof(*open));
	*open = (struct open_serde){ serde->ops, serde->serde };
	fixture_on_destroy(f, close_serde, open);
	return FLOW_OK;
}

void
fixture_serde_open(fixture *f, const char *id, const char *const *assignments, fixture_serde *serde)
{
	if (fixture_try_serde_open(f, id, assignments, serde) != FLOW_OK)
		fail_msg("%s", error_message(&f->error));
}

static void
release_schema(void *schema)
{
	schema_release(schema);
}

const flow_schema *
fixture_decoded_schema(fixture_serde *serde, const char *sample, uint64_t size)
{
	fixture *f = serde->fixture;
	const flow_schema *schema = NULL;
	if (serde->ops->decoded_schema(serde->serde, flow_slice_make(sample, size), &schema, &f->error) != FLOW_OK)
		fail_msg("%s", error_message(&f->error));
	assert_non_null(schema);
	fixture_on_destroy(f, release_schema, (void *)(uintptr_t)schema);
	return schema;
}

/* --- results --- */

static void
release_rows(void *owner)
{
	fixture_rows *rows = owner;
	for (size_t i = 0; i < rows->batch_count; i++)
		batch_release(rows->batches[i]);
	free(rows->batches);
	free(rows->rejections);
}

static fixture_rows *
rows_create(fixture *f, const flow_schema *schema)
{
	fixture_rows *rows = zeroed(f, sizeof(*rows));
	rows->fixture = f;
	rows->schema = schema;
	fixture_on_destroy(f, release_rows, rows);
	return rows;
}

static flow_status
keep_rejection(void *context, flow_builder *builder, const flow_rejection *rejection)
{
	fixture_rows *rows = context;
	(void)builder;
	rows->rejections = realloc(rows->rejections, (rows->rejection_count + 1) * sizeof(*rows->rejections));
	assert_non_null(rows->rejections);
	arena *a = rows->fixture->arena;
	rows->rejections[rows->rejection_count++] = (fixture_rejection){
		.status = rejection->status,
		.ordinal = rejection->ordinal,
		.line = rejection->line,
		.reason = arena_copy(a, rejection->reason.data, rejection->reason.size),
		.field = arena_copy(a, rejection->field.data, rejection->field.size),
		.raw = arena_copy(a, rejection->raw.data, rejection->raw.size),
		.raw_size = rejection->raw.size,
	};
	return FLOW_OK;
}

static void
take_batch(fixture_rows *rows, flow_builder *builder)
{
	if (builder->row_count == 0) {
		builder_clear(builder);
		return;
	}
	batch_head head = { .schema = rows->schema, .input = UINT32_MAX };
	rows->batches = realloc(rows->batches, (rows->batch_count + 1) * sizeof(flow_batch *));
	assert_non_null(rows->batches);
	rows->row_count += builder->row_count;
	rows->batches[rows->batch_count] = builder_finish(builder, &head);
	assert_non_null(rows->batches[rows->batch_count]);
	rows->batch_count++;
}

const char *
fixture_rows_text(fixture_rows *rows)
{
	const char *text = "";
	for (size_t i = 0; i < rows->batch_count; i++) {
		char *more = batch_print(rows->batches[i]);
		text = arena_format(rows->fixture->arena, "%s%s", text, more);
		free(more);
		assert_non_null(text);
	}
	return text;
}

/* --- byte streams --- */

static flow_decoder *
open_decoder(fixture_serde *serde, const fixture_decoding *how)
{
	flow_decoder_request request = { .struct_size = FLOW_SIZEOF(flow_decoder_request),
									 .place = flow_slice_of("test"),
									 .fields = how->fields,
									 .field_count = how->field_count };
	flow_decoder *decoder = NULL;
	if (serde->ops->decoder_open(serde->serde, &request, &decoder, &serde->fixture->error) != FLOW_OK)
		fail_msg("%s", error_message(&serde->fixture->error));
	return decoder;
}

/* Closes the decoder and opens another one from what it saved. */
static flow_decoder *
replace_decoder(fixture_serde *serde, const fixture_decoding *how, flow_decoder *decoder)
{
	if (!FLOW_CAN(serde->ops, save))
		return decoder;
	fixture *f = serde->fixture;
	flow_slice state = { 0 };
	assert_int_equal(serde->ops->save(decoder, &state, &f->error), FLOW_OK);
	char *copy = malloc(state.size == 0 ? 1 : state.size);
	assert_non_null(copy);
	if (state.size != 0)
		memcpy(copy, state.data, state.size);
	serde->ops->decoder_close(decoder);
	decoder = open_decoder(serde, how);
	assert_int_equal(serde->ops->restore(decoder, flow_slice_make(copy, state.size), &f->error), FLOW_OK);
	free(copy);
	return decoder;
}

struct stream {
	fixture_serde *serde;
	const fixture_decoding *how;
	const char *bytes;
	uint64_t size;
	uint64_t begin; /* consumed so far */
	uint64_t end;   /* shown so far */
	flow_decoder *decoder;
	flow_builder *builder;
	fixture_rows *rows;
};

/* One decode call over bytes [begin, end). Returns whether anything moved. */
static int
decode_window(struct stream *s)
{
	uint64_t size = s->end - s->begin;
	char *memory = malloc(size + WINDOW_TAIL);
	assert_non_null(memory);
	if (size != 0)
		memcpy(memory, s->bytes + s->begin, size);
	memset(memory + size, '"', WINDOW_TAIL); /* what a reader beyond the end would like to find */
	flow_window window = { .struct_size = FLOW_SIZEOF(flow_window),
						   .final = s->end == s->size,
						   .data = memory,
						   .size = size,
						   .offset = (int64_t)s->begin,
						   .consumed = UINT64_MAX };
	assert_int_equal(s->builder->ops->adopt(s->builder, free, memory, 0), FLOW_OK);
	uint64_t rejected = s->rows->rejection_count;
	s->rows->status = s->serde->ops->decode(s->decoder, &window, s->builder, &s->serde->fixture->error);
	assert_true(window.consumed <= size);
	int moved = window.consumed > 0 || s->builder->row_count > 0 || s->rows->rejection_count > rejected;
	take_batch(s->rows, s->builder);
	s->begin += window.consumed;
	return moved;
}

static void
decode_stream(struct stream *s)
{
	uint64_t step = s->how->window_bytes == 0 ? s->size : s->how->window_bytes;
	for (int calls = 0; calls < CALLS_MAX; calls++) {
		int moved = decode_window(s);
		if (s->rows->status < 0)
			return;
		if (s->how->restore_each)
			s->decoder = replace_decoder(s->serde, s->how, s->decoder);
		if (moved && s->begin < s->end)
			continue;
		if (s->end == s->size) {
			if (s->begin < s->size)
				fail_msg("%llu bytes of the final window were neither used nor rejected",
						 (unsigned long long)(s->size - s->begin));
			return;
		}
		s->end = s->size - s->end < step ? s->size : s->end + step;
	}
	fail_msg("the decoder does not come to an end");
}

fixture_rows *
fixture_decode_with(fixture_serde *serde, const char *bytes, uint64_t size, const fixture_decoding *how)
{
	fixture *f = serde->fixture;
	uint64_t step = how->window_bytes == 0 || how->window_bytes > size ? size : how->window_bytes;
	struct stream s = { .serde = serde, .how = how, .bytes = bytes, .size = size, .end = step };
	s.rows = rows_create(f, how->known_schema != NULL ? how->known_schema : fixture_decoded_schema(serde, bytes, size));
	s.decoder = open_decoder(serde, how);
	s.builder = builder_create(f->pool, how->batch_rows, 0);
	assert_non_null(s.builder);
	builder_on_reject(s.builder, keep_rejection, s.rows);
	decode_stream(&s);
	s.rows->consumed = s.begin;
	serde->ops->decoder_close(s.decoder);
	builder_destroy(s.builder);
	return s.rows;
}

fixture_rows *
fixture_decode(fixture_serde *serde, const char *bytes, uint64_t size, uint64_t window_bytes)
{
	fixture_decoding how = { .window_bytes = window_bytes };
	return fixture_decode_with(serde, bytes, size, &how);
}

/* --- records --- */

static flow_batch *
raw_batch(fixture *f, const flow_slice *records, uint32_t count)
{
	flow_builder *builder = builder_create(f->pool, count + 1, 64u << 20);
	assert_non_null(builder);
	builder->flags = FLOW_BATCH_RAW;
	for (uint32_t i = 0; i < count; i++) {
		const char *data =
			records[i].data == NULL ? NULL : flow_builder_copy(builder, records[i].data, records[i].size);
		flow_builder_add(builder, data == NULL ? flow_null() : flow_bytes(data, (uint32_t)records[i].size));
	}
	batch_head head = { .input = UINT32_MAX };
	flow_batch *batch = builder_finish(builder, &head);
	assert_non_null(batch);
	builder_destroy(builder);
	return batch;
}

fixture_rows *
fixture_decode_records(fixture_serde *serde, const flow_slice *records, uint32_t count)
{
	fixture *f = serde->fixture;
	fixture_decoding how = { 0 };
	fixture_rows *rows = rows_create(f, fixture_decoded_schema(serde, NULL, 0));
	flow_decoder *decoder = open_decoder(serde, &how);
	flow_batch *raw = raw_batch(f, records, count);
	flow_builder *builder = builder_create(f->pool, 0, 0);
	assert_non_null(builder);
	builder_on_reject(builder, keep_rejection, rows);
	uint32_t *source_rows = zeroed(f, (uint64_t)builder->row_capacity * sizeof(uint32_t));
	for (uint32_t first = 0, next = 0; first < count && rows->status >= 0; first = next) {
		assert_int_equal(builder->ops->keep(builder, raw), FLOW_OK);
		rows->status = serde->ops->decode_rows(decoder, raw, first, &next, builder, source_rows, &f->error);
		if (rows->status >= 0)
			assert_true(next > first && next <= count);
		for (uint32_t i = 0; i < builder->row_count; i++)
			assert_true(source_rows[i] < count);
		take_batch(rows, builder);
	}
	serde->ops->decoder_close(decoder);
	builder_destroy(builder);
	batch_release(raw);
	return rows;
}

/* --- encoding --- */

fixture_bytes *
fixture_encode(fixture_serde *serde, const flow_batch *batch, int records)
{
	fixture *f = serde->fixture;
	fixture_bytes *bytes = zeroed(f, sizeof(*bytes));
	flow_encoder *encoder = NULL;
	flow_buffer *buffer = buffer_create();
	assert_non_null(buffer);
	if (serde->ops->encoder_open(serde->serde, batch->schema, &encoder, &f->error) != FLOW_OK)
		fail_msg("%s", error_message(&f->error));
	bytes->statuses = zeroed(f, batch->selected_count * sizeof(flow_status));
	bytes->ends = records ? zeroed(f, batch->selected_count * sizeof(uint64_t)) : NULL;
	flow_status status = FLOW_OK;
	if (!records && FLOW_CAN(serde->ops, begin))
		status = serde->ops->begin(encoder, buffer, &f->error);
	if (status == FLOW_OK)
		status = serde->ops->encode(encoder, batch, 0, buffer, bytes->ends, bytes->statuses, &f->error);
	if (status == FLOW_OK && !records && FLOW_CAN(serde->ops, end))
		status = serde->ops->end(encoder, buffer, &f->error);
	if (status != FLOW_OK)
		fail_msg("%s", error_message(&f->error));
	bytes->data = arena_copy(f->arena, buffer->data, buffer->size);
	bytes->size = buffer->size;
	assert_non_null(bytes->data);
	serde->ops->encoder_close(encoder);
	buffer_destroy(buffer);
	return bytes;
}
