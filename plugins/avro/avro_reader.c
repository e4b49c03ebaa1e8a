/*
 * Container files: a header, then blocks of records.
 *
 * A block is decoded when all of it, with its sync marker, is in the window; until its last record is out it stays in the stream, and
 * the state says how far it was read, so a checkpoint needs nothing of it. Texts point into the window, or into the decompressed block,
 * which the batch holds too.
 */
#include <stdio.h>

#include "avro_decoder.h"
#include "avro_wire.h"
#include "flow_sdk/plugin.h"

/* A block in the window. */
struct framed {
	uint64_t count;
	uint64_t head;  /* bytes of count and size */
	uint64_t size;  /* of the data */
	int64_t offset; /* of the block in the stream */
	const char *data;
};

struct reading {
	flow_decoder *d;
	flow_window *window;
	flow_builder *builder;
	flow_error *error;
	uint64_t at; /* in the window */
};

static int64_t
offset_of(const struct reading *r)
{
	return r->window->offset + (int64_t)r->at;
}

/* --- damaged blocks ------------------------------------------------------------------------------------------------------ */

/* The block at r->at is not what it should be. `candidate`: where the next one may be, 0: unknown. */
static flow_status
damaged(struct reading *r, uint64_t candidate, const char *reason)
{
	flow_decoder *d = r->d;
	if (!d->serde->skip_bad_blocks)
		return flow_fail(d->host, r->error, FLOW_E_CORRUPT, "%s: block at offset %lld: %s", d->place,
						 (long long)offset_of(r), reason);
	snprintf(d->damage, sizeof(d->damage), "%s", reason);
	d->state.resyncing = 1;
	d->state.damaged_from = offset_of(r);
	d->state.candidate = candidate == 0 ? 0 : r->window->offset + (int64_t)candidate;
	d->state.done_records = d->state.done_bytes = 0;
	avro_block_release(d->block);
	d->block = NULL;
	return FLOW_OK;
}

/* Goes on at `at` of the window, and says what was passed over. */
static flow_status
resynced(struct reading *r, uint64_t at)
{
	flow_decoder *d = r->d;
	char reason[AVRO_REASON_MAX + 128];
	r->at = at;
	snprintf(reason, sizeof(reason), "block at offset %lld: %s; %lld bytes were passed over",
			 (long long)d->state.damaged_from, d->damage[0] == '\0' ? "it is damaged" : d->damage,
			 (long long)(offset_of(r) - d->state.damaged_from));
	flow_rejection rejection = { .struct_size = FLOW_SIZEOF(flow_rejection),
								 .status = FLOW_E_CORRUPT,
								 .reason = flow_slice_of(reason),
								 .ordinal = d->state.damaged_from };
	d->state.resyncing = 0;
	d->state.candidate = 0;
	return r->builder->ops->reject(r->builder, &rejection);
}

/* Reads count and size of the block at `at`. FLOW_AGAIN: not all of the block is here. A failure: *reason. */
static flow_status
frame(const struct reading *r, uint64_t at, struct framed *block, const char **reason)
{
	const char *from = r->window->data + at, *end = r->window->data + r->window->size;
	uint64_t count = 0, size = 0;
	const char *behind = avro_read_varint(from, &count);
	*reason = "its count or size has more than 64 bits";
	if (behind != NULL && behind < end)
		behind = avro_read_varint(behind, &size);
	if (behind == NULL && end - from >= (ptrdiff_t)2 * AVRO_VARINT_MAX)
		return FLOW_E_CORRUPT;
	if (behind == NULL || behind >= end)
		return FLOW_AGAIN;
	if (((count | size) & 1) != 0) {
		*reason = "its count or size is negative";
		return FLOW_E_CORRUPT;
	}
	*block =
		(struct framed){ count >> 1, (uint64_t)(behind - from), size >> 1, r->window->offset + (int64_t)at, behind };
	if (block->size > r->d->serde->max_block) {
		*reason = "it is longer than max_block";
		return FLOW_E_LIMIT;
	}
	return block->size + AVRO_SYNC_SIZE > (uint64_t)(end - behind) ? FLOW_AGAIN : FLOW_OK;
}

/* Is there a whole block at `at`, or the end of the file? FLOW_AGAIN: cannot be told yet. */
static flow_status
is_block(const struct reading *r, uint64_t at)
{
	struct framed block;
	const char *reason;
	if (at > r->window->size)
		return r->window->final ? FLOW_E_CORRUPT : FLOW_AGAIN;
	if (at == r->window->size)
		return r->window->final ? FLOW_OK : FLOW_AGAIN;
	flow_status status = frame(r, at, &block, &reason);
	if (status == FLOW_AGAIN && r->window->final)
		return FLOW_E_CORRUPT;
	if (status != FLOW_OK)
		return status;
	return memcmp(block.data + block.size, r->d->state.sync, AVRO_SYNC_SIZE) == 0 ? FLOW_OK : FLOW_E_CORRUPT;
}

/* Looks for the next block: where the damaged one says, or else behind the next sync marker. */
static flow_status
resync(struct reading *r)
{
	avro_state *state = &r->d->state;
	if (state->candidate > r->window->offset) {
		uint64_t at = (uint64_t)(state->candidate - r->window->offset);
		flow_status status = is_block(r, at);
		if (status == FLOW_AGAIN)
			return status;
		if (status == FLOW_OK)
			return resynced(r, at);
		state->candidate = 0;
	}
	const char *from = r->window->data + r->at;
	uint64_t left = r->window->size - r->at;
	const char *found = left == 0 ? NULL : (const char *)memmem(from, left, state->sync, AVRO_SYNC_SIZE);
	if (found != NULL)
		return resynced(r, (uint64_t)(found - r->window->data) + AVRO_SYNC_SIZE);
	if (r->window->final)
		return resynced(r, r->window->size);
	r->at += left < AVRO_SYNC_SIZE ? 0 : left - (AVRO_SYNC_SIZE - 1);
	return FLOW_AGAIN;
}

/* --- the header --------------------------------------------------------------------------------------------------------------- */

static flow_status
read_header(struct reading *r)
{
	flow_decoder *d = r->d;
	avro_header header;
	flow_slice bytes = flow_slice_make(r->window->data + r->at, r->window->size - r->at);
	flow_status status = avro_header_read(d->host, bytes, &header, r->error);
	if (status == FLOW_AGAIN && r->window->final)
		return flow_fail(d->host, r->error, FLOW_E_CORRUPT,
						 "%s: the header at offset 0 is cut off: the file ends at byte %llu", d->place,
						 (unsigned long long)bytes.size);
	if (status < 0)
		avro_prefix(d->host, r->error, "%s", d->place);
	if (status != FLOW_OK)
		return status;
	status = avro_decoder_begin(d, header.schema, header.codec, r->error);
	memcpy(d->state.sync, header.sync, AVRO_SYNC_SIZE);
	r->at += header.size;
	return status;
}

/* --- blocks --------------------------------------------------------------------------------------------------------------------- */

/* The block's records as bytes. A failure of the block: *reason. */
static flow_status
open_block(struct reading *r, const struct framed *block, flow_slice *records, const char **reason)
{
	flow_decoder *d = r->d;
	uint64_t least = d->plan->program.skip->least;
	*records = flow_slice_make(block->data, block->size);
	if (d->codec != NULL && (d->block == NULL || d->block_offset != block->offset)) {
		avro_block_release(d->block);
		d->block = NULL;
		flow_status status =
			avro_decompress(d->codec, block->data, block->size, d->serde->max_block, &d->block, reason);
		if (status != FLOW_OK)
			return status;
		d->block_offset = block->offset;
	}
	if (d->codec != NULL)
		records->data = avro_block_data(d->block, &records->size);
	*reason = "it cannot hold as many records as it says";
	if (least == 0)
		return block->count > AVRO_EMPTY_ITEMS ? FLOW_E_CORRUPT : FLOW_OK;
	return block->count > records->size / least ? FLOW_E_CORRUPT : FLOW_OK;
}

static int64_t
next_ordinal(const struct reading *r, const struct framed *block, const char *record)
{
	const avro_state *state = &r->d->state;
	int64_t ordinal = block->offset + (r->d->codec != NULL ? (int64_t)state->done_records
														   : (int64_t)block->head + (record - block->data));
	return ordinal > state->last_ordinal ? ordinal : state->last_ordinal + 1;
}

/* The record at `start` was refused: passed over, if the writer's schema tells its end. FLOW_AGAIN: it does not. */
static flow_status
refused(struct reading *r, const char *start, int64_t ordinal)
{
	flow_decoder *d = r->d;
	avro_input *input = &d->decoding.input;
	flow_status status = input->status;
	const char *reason = input->reason;
	input->at = start;
	if (avro_skip_value(input, d->plan->program.skip) != FLOW_OK) {
		int memory = input->status == FLOW_E_MEMORY;
		input->status = status;
		input->reason = reason;
		return memory ? FLOW_E_MEMORY : FLOW_AGAIN;
	}
	input->status = status;
	input->reason = reason;
	d->decoding.fault_offset -= (uint64_t)(start - input->start);
	return avro_decoder_reject(d, r->builder, flow_slice_make(start, (uint64_t)(input->at - start)), ordinal);
}

/* Decodes records until the block ends or the builder is full. FLOW_AGAIN: its bytes are damaged, d->decoding says how. */
static flow_status
decode_records(struct reading *r, const struct framed *block)
{
	flow_decoder *d = r->d;
	avro_decoding *decoding = &d->decoding;
	flow_builder *builder = r->builder;
	while (d->state.done_records < block->count && !flow_builder_full(builder)) {
		const char *start = decoding->input.at;
		int64_t ordinal = next_ordinal(r, block, start);
		flow_value *value = &builder->value[builder->row_count]; /* a copy would wait for the parts of the cell */
		flow_status status = avro_decode_value(decoding, d->plan, value);
		if (__builtin_expect(status != FLOW_OK, 0)) {
			if (status != FLOW_E_MEMORY)
				status = refused(r, start, ordinal);
			if (status != FLOW_OK)
				return status;
		} else {
			builder->ordinal[builder->row_count++] = ordinal;
		}
		d->state.last_ordinal = ordinal;
		d->state.done_records++;
	}
	return FLOW_OK;
}

/* The batch holds the decompressed block that its texts point into. */
static flow_status
hold_block(struct reading *r, uint32_t rows_before, uint64_t bytes)
{
	if (r->d->block == NULL || r->builder->row_count == rows_before)
		return FLOW_OK;
	return r->builder->ops->adopt(r->builder, avro_block_release, avro_block_retain(r->d->block), bytes);
}

static flow_status
damaged_records(struct reading *r, const struct framed *block, flow_slice records)
{
	const flow_decoder *d = r->d;
	const avro_input *input = &d->decoding.input;
	char reason[AVRO_REASON_MAX];
	if (d->state.done_records == block->count)
		snprintf(reason, sizeof(reason), "%llu bytes behind the last of its %llu records",
				 (unsigned long long)(records.data + records.size - input->at), (unsigned long long)block->count);
	else
		snprintf(reason, sizeof(reason), "record %llu of %llu, at byte %llu of the block's data: %s",
				 (unsigned long long)d->state.done_records + 1, (unsigned long long)block->count,
				 (unsigned long long)d->decoding.fault_offset, input->reason);
	return damaged(r, 0, reason);
}

static flow_status
read_records(struct reading *r, const struct framed *block, flow_slice records)
{
	flow_decoder *d = r->d;
	avro_input *input = &d->decoding.input;
	if (d->state.done_bytes > records.size)
		return damaged(r, 0, "it is shorter than when its first records were read");
	input->start = records.data;
	input->at = records.data + d->state.done_bytes;
	input->end = records.data + records.size;
	d->decoding.builder = r->builder;
	uint32_t rows_before = r->builder->row_count;
	flow_status status = decode_records(r, block);
	uint64_t done = status == FLOW_OK ? (uint64_t)(input->at - records.data) : d->state.done_bytes;
	if (hold_block(r, rows_before, done - d->state.done_bytes) != FLOW_OK)
		return FLOW_E_MEMORY;
	if (status != FLOW_OK && status != FLOW_AGAIN)
		return status;
	d->state.done_bytes = done;
	int ended = d->state.done_records == block->count;
	if (status == FLOW_AGAIN || (ended && input->at != input->end))
		return damaged_records(r, block, records);
	if (!ended)
		return FLOW_OK;
	r->at += block->head + block->size + AVRO_SYNC_SIZE;
	d->state.done_records = d->state.done_bytes = 0;
	avro_block_release(d->block);
	d->block = NULL;
	return FLOW_OK;
}

static flow_status
read_block(struct reading *r)
{
	struct framed block = { 0 };
	const char *reason;
	flow_status status = frame(r, r->at, &block, &reason);
	if (status == FLOW_AGAIN && !r->window->final)
		return status;
	if (status == FLOW_AGAIN) {
		char cut[96];
		snprintf(cut, sizeof(cut), "it is cut off: the file ends %llu bytes behind its begin",
				 (unsigned long long)(r->window->size - r->at));
		return damaged(r, 0, cut);
	}
	if (status != FLOW_OK)
		return damaged(r, 0, reason);
	if (memcmp(block.data + block.size, r->d->state.sync, AVRO_SYNC_SIZE) != 0)
		return damaged(r, r->at + block.head + block.size + AVRO_SYNC_SIZE, "the sync marker behind it is wrong");
	flow_slice records;
	status = open_block(r, &block, &records, &reason);
	if (status == FLOW_E_MEMORY)
		return status;
	return status == FLOW_OK ? read_records(r, &block, records) : damaged(r, 0, reason);
}

flow_status
avro_decode(flow_decoder *d, flow_window *window, flow_builder *builder, flow_error *error)
{
	struct reading r = { .d = d, .window = window, .builder = builder, .error = error };
	window->consumed = 0;
	flow_status status = FLOW_OK;
	if (builder->ordinal == NULL && builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		status = FLOW_E_MEMORY;
	while (status == FLOW_OK) {
		if (!d->state.has_header)
			status = read_header(&r);
		else if (d->state.resyncing)
			status = resync(&r);
		else if (r.at == window->size || flow_builder_full(builder))
			break;
		else
			status = read_block(&r);
		if (status >= 0)
			window->consumed = r.at;
	}
	if (status == FLOW_E_MEMORY)
		return flow_fail(d->host, error, status, "%s: out of memory while reading records", d->place);
	return status == FLOW_AGAIN ? FLOW_OK : status;
}
