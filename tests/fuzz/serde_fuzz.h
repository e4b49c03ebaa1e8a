/*
 * fuzz/serde_fuzz.h - what the fuzz targets of serdes do: any bytes, in windows of any size; what was read is written, read and
 * written again, and must be the same bytes.
 *
 * The plugin's sources are linked into the target, so that the fuzzer sees their branches.
 */
#ifndef FUZZ_SERDE_FUZZ_H
#define FUZZ_SERDE_FUZZ_H

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/batch.h"
#include "base/error.h"
#include "flow/flow.h"
#include "fuzz/fuzz.h"
#include "options/problem.h"
#include "plugin/component_options.h"
#include "plugin/registry.h"

#define SERDE_FUZZ_TAIL 64

/* One way to open the serde. */
typedef struct serde_variant {
	const char *const *options; /* NULL-terminated */
	int comes_back;             /* SERDE_FUZZ_ */
} serde_variant;

#define SERDE_FUZZ_BACK 1   /* what was written can be read again */
#define SERDE_FUZZ_BLOCKS 2 /* how rows lie in a written stream depends on batches: compared are the rows as records */

typedef struct serde_trial {
	const flow_serde_ops *ops;
	flow_serde *serde;
	batch_pool *pool;
	const flow_schema *schema;
	uint64_t step;
	int records; /* rows are written as records */
} serde_trial;

static flow_status
serde_fuzz_skip(void *context, flow_builder *builder, const flow_rejection *rejection)
{
	(void)context;
	(void)builder;
	if (rejection->reason.size == 0)
		abort();
	return FLOW_OK;
}

static void
serde_fuzz_encode(serde_trial *t, flow_encoder *encoder, flow_builder *builder, flow_buffer *out)
{
	batch_head head = { .schema = t->schema };
	flow_batch *batch = builder_finish(builder, &head);
	if (batch == NULL)
		return;
	flow_status *statuses = (flow_status *)calloc(batch->row_count + 1, sizeof(*statuses));
	uint64_t *ends = (uint64_t *)calloc(batch->row_count + 1, sizeof(*ends));
	if (statuses != NULL && ends != NULL && encoder != NULL)
		t->ops->encode(encoder, batch, 0, out, t->records ? ends : NULL, statuses, NULL);
	free(ends);
	free(statuses);
	batch_release(batch);
}

/* Windows end in memory of exactly the size that the ABI promises. 0: the decoder failed. */
static int
serde_fuzz_window(serde_trial *t, flow_decoder *decoder, flow_slice bytes, uint64_t begin, uint64_t end,
				  flow_builder *builder, uint64_t *consumed)
{
	char *memory = (char *)malloc(end - begin + SERDE_FUZZ_TAIL);
	if (memory == NULL)
		return 0;
	memcpy(memory, bytes.data + begin, end - begin);
	memset(memory + (end - begin), '"', SERDE_FUZZ_TAIL);
	flow_window window = { .struct_size = FLOW_SIZEOF(flow_window),
						   .final = end == bytes.size,
						   .data = memory,
						   .size = end - begin,
						   .offset = (int64_t)begin };
	if (builder->ops->adopt(builder, free, memory, 0) != FLOW_OK)
		return 0;
	flow_status status = t->ops->decode(decoder, &window, builder, NULL);
	if (window.consumed > window.size)
		abort();
	*consumed = window.consumed;
	return status == FLOW_OK;
}

static void
serde_fuzz_decode(serde_trial *t, flow_slice bytes, uint64_t step, flow_encoder *encoder, flow_buffer *out)
{
	flow_decoder_request request = { .struct_size = FLOW_SIZEOF(flow_decoder_request), .place = flow_slice_of("fuzz") };
	flow_decoder *decoder = NULL;
	flow_builder *builder = builder_create(t->pool, 0, 0);
	if (builder != NULL && t->ops->decoder_open(t->serde, &request, &decoder, NULL) == FLOW_OK) {
		builder_on_reject(builder, serde_fuzz_skip, NULL);
		uint64_t begin = 0;
		for (uint64_t end = 0; end < bytes.size || begin < bytes.size;) {
			uint64_t before = begin;
			uint64_t consumed = 0;
			int grown = end < bytes.size;
			end = bytes.size - end < step ? bytes.size : end + step;
			int goes_on = serde_fuzz_window(t, decoder, bytes, begin, end, builder, &consumed);
			begin += consumed;
			if (builder->row_count != 0)
				serde_fuzz_encode(t, encoder, builder, out);
			else
				builder_clear(builder);
			if (!goes_on)
				break;
			if (!grown && begin == before)
				abort(); /* the last window must be used up */
		}
		t->ops->decoder_close(decoder);
	}
	builder_destroy(builder);
}

/* Decodes and writes what came out; NULL: it cannot be written. */
static flow_buffer *
serde_fuzz_pass(serde_trial *t, flow_slice bytes, uint64_t step)
{
	flow_encoder *encoder = NULL;
	flow_buffer *out = buffer_create();
	if (out == NULL || !FLOW_CAN(t->ops, encoder_open) ||
		t->ops->encoder_open(t->serde, t->schema, &encoder, NULL) != FLOW_OK) {
		serde_fuzz_decode(t, bytes, step, NULL, NULL);
		buffer_destroy(out);
		return NULL;
	}
	if (!t->records && FLOW_CAN(t->ops, begin))
		t->ops->begin(encoder, out, NULL);
	serde_fuzz_decode(t, bytes, step, encoder, out);
	if (!t->records && FLOW_CAN(t->ops, end))
		t->ops->end(encoder, out, NULL);
	t->ops->encoder_close(encoder);
	return out;
}

/* What was written, read and written again. */
static flow_buffer *
serde_fuzz_back(serde_trial *t, flow_slice bytes, const flow_buffer *first)
{
	if (!t->records)
		return serde_fuzz_pass(t, flow_slice_make(first->data, first->size), first->size);
	t->records = 0;
	flow_buffer *stream = serde_fuzz_pass(t, bytes, bytes.size);
	t->records = 1;
	flow_buffer *second =
		stream == NULL ? NULL : serde_fuzz_pass(t, flow_slice_make(stream->data, stream->size), stream->size);
	buffer_destroy(stream);
	return second;
}

static void
serde_fuzz_rounds(serde_trial *t, flow_slice bytes, int comes_back)
{
	t->records = (comes_back & SERDE_FUZZ_BLOCKS) != 0;
	flow_buffer *first = serde_fuzz_pass(t, bytes, bytes.size);
	flow_buffer *stepped = serde_fuzz_pass(t, bytes, t->step);
	if (first != NULL && stepped != NULL) {
		if (first->size != stepped->size || (first->size != 0 && memcmp(first->data, stepped->data, first->size) != 0))
			abort(); /* rows depend on where windows end */
		flow_buffer *second = (comes_back & SERDE_FUZZ_BACK) != 0 ? serde_fuzz_back(t, bytes, first) : NULL;
		if (second != NULL &&
			(second->size != first->size || (first->size != 0 && memcmp(first->data, second->data, first->size) != 0)))
			abort(); /* what was written is read as something else */
		buffer_destroy(second);
	}
	buffer_destroy(first);
	buffer_destroy(stepped);
}

/* The first byte chooses the variant, the second one the windows. */
static void
serde_fuzz(const flow_component *component, const serde_variant *variants, size_t count, const uint8_t *data,
		   size_t size)
{
	if (size < 2)
		return;
	const serde_variant *variant = &variants[data[0] % count];
	flow_slice bytes = flow_slice_make(data + 2, size - 2);
	serde_trial t = { .ops = (const flow_serde_ops *)component->ops, .step = (uint64_t)(data[1] % 64) + 1 };
	arena *a = arena_create();
	problems *list = a == NULL ? NULL : problems_create(a);
	const flow_options *options =
		list == NULL ? NULL : component_options(a, component, "", "fuzz", variant->options, list);
	t.pool = batch_pool_create(0);
	if (options != NULL && t.pool != NULL && t.ops->open(&host_services, options, 3, &t.serde, NULL) == FLOW_OK) {
		if (t.ops->decoded_schema(t.serde, bytes, &t.schema, NULL) == FLOW_OK) {
			serde_fuzz_rounds(&t, bytes, variant->comes_back);
			const flow_schemas *schemas = (const flow_schemas *)host_services.get_service(FLOW_SERVICE_SCHEMAS);
			schemas->release(t.schema);
		}
		t.ops->close(t.serde);
	}
	batch_pool_destroy(t.pool);
	arena_destroy(a);
}

#endif
