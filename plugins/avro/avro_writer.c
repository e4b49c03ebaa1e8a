/*
 * Encoders: container files, or one datum a record.
 *
 * Each call ends its last block, so what was written up to a checkpoint is whole; a file that is gone on with by another encoder needs
 * the same sync marker, so that comes from the schema (or from an option), not from chance.
 */
#include "avro_encode.h"
#include "avro_wire.h"
#include "flow_sdk/plugin.h"

struct flow_encoder {
	const avro_serde *serde;
	const flow_host *host;
	avro_encode_plan *plan;
	avro_codec *codec;   /* NULL: none */
	flow_buffer records; /* compressed codecs: of the block under way */
	flow_slice schema_text;
	uint64_t last_head; /* bytes of the last block's head: a guess at the next one */
	uint64_t fingerprint;
	uint64_t over_limit; /* bytes of the last record that was too long; 0: none in this call */
	char sync[AVRO_SYNC_SIZE];
};

/* --- opening ----------------------------------------------------------------------------------------------------------- */

static flow_status
grow_records(flow_buffer *buffer, uint64_t more)
{
	const flow_host *host = (const flow_host *)buffer->host;
	uint64_t capacity = (buffer->size + more) * 2;
	char *grown = (char *)host->reallocate(buffer->data, capacity);
	if (grown == NULL)
		return FLOW_E_MEMORY;
	buffer->data = grown;
	buffer->capacity = capacity;
	return FLOW_OK;
}

/* 16 bytes that depend on every bit of the schema. */
static void
make_sync(struct flow_encoder *e)
{
	if (e->serde->has_sync) {
		memcpy(e->sync, e->serde->sync, AVRO_SYNC_SIZE);
		return;
	}
	uint64_t state = avro_crc64(e->schema_text.data, e->schema_text.size);
	for (int half = 0; half < 2; half++) {
		state += 0x9E3779B97F4A7C15u;
		uint64_t mixed = (state ^ state >> 30) * 0xBF58476D1CE4E5B9u;
		mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
		mixed ^= mixed >> 31;
		memcpy(e->sync + (size_t)8 * (size_t)half, &mixed, 8);
	}
}

static const flow_schema *
target_of(const avro_serde *s, const flow_schema *schema)
{
	return s->declared != NULL ? s->declared : schema;
}

flow_status
avro_check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error)
{
	const avro_serde *s = (const avro_serde *)serde;
	avro_encode_plan *plan = avro_encode_plan_create(s->host, schema, target_of(s, schema), error);
	avro_encode_plan_destroy(plan);
	return plan != NULL ? FLOW_OK : FLOW_E_ENCODE;
}

flow_status
avro_encoder_open(flow_serde *serde, const flow_schema *schema, flow_encoder **encoder, flow_error *error)
{
	const avro_serde *s = (const avro_serde *)serde;
	const flow_host *host = s->host;
	struct flow_encoder *e = (struct flow_encoder *)flow_new(host, sizeof(*e));
	if (e == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "avro: out of memory");
	e->serde = s;
	e->host = host;
	e->last_head = 4;
	e->records = (flow_buffer){ .struct_size = FLOW_SIZEOF(flow_buffer), .grow = grow_records };
	e->records.host = (void *)(uintptr_t)host;
	e->plan = avro_encode_plan_create(host, schema, target_of(s, schema), error);
	if (e->plan == NULL) {
		avro_encoder_close(e);
		return FLOW_E_ENCODE;
	}
	e->schema_text = avro_schema_text(host, target_of(s, schema));
	if (s->codec != AVRO_CODEC_NULL)
		e->codec = avro_codec_create(host, s->codec, s->level);
	if (e->schema_text.data != NULL && s->single_object)
		e->fingerprint = avro_fingerprint(host, e->schema_text);
	int whole = e->schema_text.data != NULL && (e->codec != NULL || s->codec == AVRO_CODEC_NULL) &&
				(e->fingerprint != 0 || !s->single_object);
	if (!whole) {
		avro_encoder_close(e);
		return flow_fail(host, error, FLOW_E_MEMORY, "avro: out of memory");
	}
	make_sync(e);
	*encoder = e;
	return FLOW_OK;
}

void
avro_encoder_close(flow_encoder *e)
{
	const flow_host *host = e->host;
	avro_encode_plan_destroy(e->plan);
	avro_codec_destroy(e->codec);
	host->release((void *)(uintptr_t)e->schema_text.data);
	host->release(e->records.data);
	host->release(e);
}

flow_status
avro_begin(flow_encoder *e, flow_buffer *buffer, flow_error *error)
{
	avro_header header = { .schema = e->schema_text, .codec = e->serde->codec };
	memcpy(header.sync, e->sync, AVRO_SYNC_SIZE);
	if (avro_header_write(&header, buffer) != FLOW_OK)
		return flow_fail(e->host, error, FLOW_E_MEMORY, "avro: out of memory");
	return FLOW_OK;
}

/* --- blocks ---------------------------------------------------------------------------------------------------------------- */

/* A block under way: room for its head is left before its data, as much as the last one needed. */
struct block {
	uint64_t start; /* in the buffer */
	uint64_t gap;
	uint64_t count;
};

static flow_status
begin_block(struct flow_encoder *e, flow_buffer *buffer, struct block *block, avro_output *output)
{
	*block = (struct block){ .start = buffer->size, .gap = e->last_head };
	if (flow_buffer_reserve(buffer, block->gap) == NULL)
		return FLOW_E_MEMORY;
	buffer->size += block->gap;
	return avro_output_open(output, e->codec != NULL ? &e->records : buffer, e->serde->depth_limit);
}

/* Puts the head before the data and the marker behind it. */
static flow_status
end_block(struct flow_encoder *e, flow_buffer *buffer, const struct block *block, avro_output *output)
{
	avro_output_close(output);
	uint64_t from = block->start + block->gap;
	if (block->count == 0) {
		buffer->size = block->start;
		return FLOW_OK;
	}
	if (e->codec != NULL) {
		flow_status status = avro_compress(e->codec, e->records.data, e->records.size, buffer);
		if (status != FLOW_OK)
			return status;
		e->records.size = 0;
	}
	char head[2 * AVRO_VARINT_MAX];
	uint64_t size = buffer->size - from;
	char *end = avro_write_long(avro_write_long(head, (int64_t)block->count), (int64_t)size);
	uint64_t length = (uint64_t)(end - head);
	if (flow_buffer_reserve(buffer, length + AVRO_SYNC_SIZE) == NULL)
		return FLOW_E_MEMORY;
	if (length != block->gap)
		memmove(buffer->data + block->start + length, buffer->data + from, size);
	memcpy(buffer->data + block->start, head, length);
	buffer->size = block->start + length + size;
	memcpy(buffer->data + buffer->size, e->sync, AVRO_SYNC_SIZE);
	buffer->size += AVRO_SYNC_SIZE;
	e->last_head = length;
	return FLOW_OK;
}

static uint64_t
written(const avro_output *output)
{
	return (uint64_t)(output->at - output->buffer->data);
}

/* One record. A failure leaves nothing of it. */
static inline flow_status
put_record(struct flow_encoder *e, const flow_value *value, avro_output *to)
{
	uint64_t before = written(to);
	flow_status status = avro_encode_value(to, e->plan, value);
	uint64_t size = written(to) - before;
	if (__builtin_expect(status == FLOW_OK && size <= e->serde->max_record, 1))
		return FLOW_OK;
	to->at = to->buffer->data + before;
	if (status != FLOW_OK)
		return status;
	e->over_limit = size;
	return FLOW_E_LIMIT;
}

static flow_status
encode_stream(struct flow_encoder *e, const flow_batch *batch, const flow_value *column, flow_buffer *buffer,
			  flow_status *statuses)
{
	struct block block;
	avro_output output;
	e->records.size = 0;
	flow_status status = begin_block(e, buffer, &block, &output);
	for (uint32_t i = 0; i < batch->selected_count && status == FLOW_OK; i++) {
		statuses[i] = put_record(e, &column[flow_row(batch, i)], &output);
		if (statuses[i] == FLOW_E_MEMORY)
			status = FLOW_E_MEMORY;
		block.count += statuses[i] == FLOW_OK;
		uint64_t size = written(&output) - (e->codec != NULL ? 0 : block.start);
		if (size < e->serde->block_size || status != FLOW_OK)
			continue;
		status = end_block(e, buffer, &block, &output);
		if (status == FLOW_OK)
			status = begin_block(e, buffer, &block, &output);
	}
	return status == FLOW_OK ? end_block(e, buffer, &block, &output) : status;
}

/* --- records ------------------------------------------------------------------------------------------------------------------ */

static flow_status
put_object_head(const struct flow_encoder *e, avro_output *output)
{
	if (output->limit - output->at < AVRO_OBJECT_HEAD && !avro_output_grow(output, AVRO_OBJECT_HEAD))
		return FLOW_E_MEMORY;
	*output->at++ = (char)0xC3;
	*output->at++ = 1;
	for (int i = 0; i < 8; i++)
		*output->at++ = (char)(e->fingerprint >> (8 * i));
	return FLOW_OK;
}

static flow_status
encode_records(struct flow_encoder *e, const flow_batch *batch, const flow_value *column, flow_buffer *buffer,
			   uint64_t *ends, flow_status *statuses)
{
	avro_output output;
	if (avro_output_open(&output, buffer, e->serde->depth_limit) != FLOW_OK)
		return FLOW_E_MEMORY;
	for (FLOW_ROWS(batch, i)) {
		uint64_t before = written(&output);
		statuses[i] = e->serde->single_object ? put_object_head(e, &output) : FLOW_OK;
		if (statuses[i] == FLOW_OK)
			statuses[i] = put_record(e, &column[flow_row(batch, i)], &output);
		if (statuses[i] == FLOW_E_MEMORY)
			return FLOW_E_MEMORY;
		if (statuses[i] != FLOW_OK)
			output.at = buffer->data + before;
		ends[i] = written(&output);
	}
	avro_output_close(&output);
	return FLOW_OK;
}

flow_status
avro_encode(flow_encoder *e, const flow_batch *batch, int use_key, flow_buffer *buffer, uint64_t *ends,
			flow_status *statuses, flow_error *error)
{
	const flow_value *column = use_key ? batch->key : batch->value;
	e->over_limit = 0;
	flow_status status = ends == NULL ? encode_stream(e, batch, column, buffer, statuses)
									  : encode_records(e, batch, column, buffer, ends, statuses);
	if (status == FLOW_E_MEMORY)
		return flow_fail(e->host, error, status, "avro: out of memory while writing records");
	if (status < 0)
		return flow_fail(e->host, error, status, "avro: a block cannot be compressed with %s",
						 avro_codec_name(e->serde->codec));
	if (e->over_limit != 0)
		flow_fail(e->host, error, FLOW_E_LIMIT, "the record has %llu bytes, the limit is %llu (option max_record)",
				  (unsigned long long)e->over_limit, (unsigned long long)e->serde->max_record);
	return status;
}
