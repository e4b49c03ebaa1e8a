/*
 * Byte streams: the serde cuts records out of windows.
 *
 * A window is a piece as it came, without copying. What is left of it at its end, less than a record, is carried over: put in
 * front of a short part of the next piece (the bridge), just enough to complete the record; behind it decoding goes on in the
 * piece itself. A record that is longer than a piece grows the carry-over, and is tried again only when that has doubled.
 */
#include <string.h>

#include "base/memory.h"
#include "runtime/record_errors.h"
#include "runtime/source.h"

#define BRIDGE 4096    /* bytes of the next piece that a bridge has at least */
#define WINDOW_TAIL 64 /* readable bytes behind a window */

static flow_status
open_decoder(source_self *self, source_partition *p)
{
	if (p->decoder != NULL)
		return FLOW_OK;
	const plan_serde *serde = &self->stream->value;
	flow_error *error = &self->n->task->error;
	flow_decoder_request request = { .struct_size = FLOW_SIZEOF(flow_decoder_request),
									 .partition = p->index,
									 .place = p->place,
									 .fields = self->stream->fields,
									 .field_count = self->stream->field_count };
	flow_status status =
		error_settle(error, serde->ops->decoder_open(serde->instance, &request, &p->decoder, error), "decoder_open");
	if (status == FLOW_OK && p->restored_decoder.size != 0) {
		if (!FLOW_CAN(serde->ops, restore))
			return error_set(error, FLOW_E_CONFLICT,
							 "the checkpoint has a decoder's state that serde %s cannot restore", serde->component->id);
		status = error_settle(error, serde->ops->restore(p->decoder, p->restored_decoder, error), "restore");
	}
	return status;
}

/* One call of the decoder; moves p->used. */
static flow_status
decode_window(source_self *self, const char *data, uint64_t size, int final, uint64_t *consumed)
{
	source_partition *p = self->partition;
	flow_window window = { .struct_size = FLOW_SIZEOF(flow_window),
						   .final = (uint32_t) final,
						   .data = data,
						   .size = size,
						   .offset = p->used };
	flow_error *error = &self->n->task->error;
	flow_status status = self->stream->value.ops->decode(p->decoder, &window, self->decoded, error);
	if (status > 0)
		return error_settle(error, status, "decode");
	if (status < 0)
		return status;
	if (window.consumed > size)
		return error_set(error, FLOW_E_PLUGIN, "serde %s used more bytes than it was given",
						 self->stream->value.component->id);
	if (self->decoded->row_count > self->decoded->row_capacity)
		return error_set(error, FLOW_E_PLUGIN, "serde %s added more rows than there is room for",
						 self->stream->value.component->id);
	*consumed = window.consumed;
	p->used += (int64_t)window.consumed;
	return FLOW_OK;
}

static flow_status
emit_rows(source_self *self)
{
	if (self->decoded->row_count != 0)
		return decode_finish_rows(self, NULL, 0);
	builder_clear(self->decoded); /* drops what it keeps */
	return FLOW_OK;
}

static flow_status
carry(source_self *self, const char *data, uint64_t size)
{
	source_partition *p = self->partition;
	if (size == 0)
		return FLOW_OK;
	uint64_t needed = p->carry_size + size;
	if (needed > RECORD_LIMIT)
		return error_set(
			&self->n->task->error, FLOW_E_LIMIT,
			"%.*s: the record at offset %lld is longer than %llu MiB, or the file is not what its serde expects",
			(int)p->place.size, p->place.data, (long long)p->used, (unsigned long long)(RECORD_LIMIT >> 20));
	if (needed > p->carry_capacity) {
		uint64_t capacity = needed * 2 < BRIDGE ? BRIDGE : needed * 2;
		char *grown = memory_reallocate(p->carry, capacity);
		if (grown == NULL)
			return FLOW_E_MEMORY;
		p->carry = grown;
		p->carry_capacity = capacity;
	}
	memcpy(p->carry + p->carry_size, data, size);
	p->carry_size = needed;
	return FLOW_OK;
}

static void
drop_carry(source_partition *p, uint64_t size)
{
	p->carry_size -= size;
	if (p->carry_size != 0)
		memmove(p->carry, p->carry + size, p->carry_size);
}

static void
piece_done(source_self *self)
{
	self->row++;
	self->row_used = 0;
	if (self->row < self->current->selected_count)
		return;
	batch_release(self->current);
	self->current = NULL;
}

/* Memory of the batch under construction with the carry-over and `more` bytes of the piece. */
static char *
make_bridge(source_self *self, const char *piece, uint64_t more)
{
	source_partition *p = self->partition;
	char *bridge = flow_builder_alloc(self->decoded, p->carry_size + more + WINDOW_TAIL);
	if (bridge == NULL)
		return NULL;
	if (p->carry_size != 0)
		memcpy(bridge, p->carry, p->carry_size);
	memcpy(bridge + p->carry_size, piece, more);
	memset(bridge + p->carry_size + more, 0, WINDOW_TAIL);
	if (self->decoded->row_count == 0)
		self->decoded->soft_end =
			self->decoded->end + 1; /* the bridge does not make the batch full: its record must fit */
	return bridge;
}

/* Tries to complete the carried record with a part of the piece; FLOW_AGAIN: all of the piece was carried over. */
static flow_status
cross_bridge(source_self *self, const char *piece, uint64_t left)
{
	source_partition *p = self->partition;
	uint64_t total = p->carry_size + left;
	uint64_t size = p->carry_size + (p->carry_size > BRIDGE ? p->carry_size : BRIDGE);
	if (size < p->wanted)
		size = p->wanted;
	while (total >= p->wanted) {
		if (size > total)
			size = total;
		char *bridge = make_bridge(self, piece, size - p->carry_size);
		uint64_t consumed = 0;
		flow_status status = bridge == NULL ? FLOW_E_MEMORY : decode_window(self, bridge, size, 0, &consumed);
		if (status < 0)
			return status;
		if (consumed >= p->carry_size) {
			self->row_used += consumed - p->carry_size;
			p->carry_size = 0;
			p->wanted = 0;
			return FLOW_OK;
		}
		drop_carry(p, consumed);
		total -= consumed;
		size -= consumed;
		if (flow_builder_full(self->decoded) && self->decoded->row_count != 0)
			return FLOW_OK;
		if (size == total && consumed == 0)
			break;
		size *= 2;
	}
	flow_status status = carry(self, piece, left);
	if (status == FLOW_OK && total >= p->wanted)
		p->wanted = p->carry_size * 2;
	return status == FLOW_OK ? FLOW_AGAIN : status;
}

/* One window over the rest of the piece. */
static flow_status
decode_piece(source_self *self, const char *piece, uint64_t left)
{
	uint64_t consumed = 0;
	flow_status status = decode_window(self, piece, left, 0, &consumed);
	if (status < 0)
		return status;
	self->row_used += consumed;
	int full = flow_builder_full(self->decoded) && self->decoded->row_count != 0;
	if (consumed != left && !full) {
		status = carry(self, piece + consumed, left - consumed);
		if (status < 0)
			return status;
	}
	if (consumed == left || !full)
		piece_done(self);
	return FLOW_OK;
}

/* The decoder says that nothing of this partition can be read any more. */
static flow_status
partition_failed(source_self *self, flow_status status)
{
	task *t = self->n->task;
	source_partition *p = self->partition;
	if (status == FLOW_E_MEMORY || status == FLOW_E_PLUGIN || t->failed ||
		self->stream->record_errors == RECORD_ERRORS_FAIL || (t->error.flags & FLOW_ERROR_FATAL) != 0) {
		if (t->error.message == NULL)
			error_set(&t->error, status, "%.*s: offset %lld: %s", (int)p->place.size, p->place.data, (long long)p->used,
					  status_text(status));
		return status;
	}
	flow_error cause = { 0 };
	error_move(&cause, &t->error);
	record_error what = { .status = status,
						  .reason = flow_slice_of(error_message(&cause)),
						  .place = p->place,
						  .input = self->n->op->stream,
						  .partition = p->number,
						  .ordinal = p->used,
						  .has_ordinal = 1 };
	status = record_error_handle(self->n, self->stream->record_errors, &what);
	error_clear(&cause);
	if (status == FLOW_OK)
		status = emit_rows(self);
	batch_release(self->current);
	self->current = NULL;
	p->carry_size = 0;
	p->broken = 1;
	return status;
}

flow_status
decode_pieces(source_self *self)
{
	const flow_batch *raw = self->current;
	source_partition *p = self->partition;
	uint32_t row = flow_row(raw, self->row);
	const flow_value *value = &raw->value[row];
	if (p->broken) {
		piece_done(self);
		return FLOW_OK;
	}
	if (self->row_used == 0 && p->carry_size == 0 && raw->ordinal != NULL)
		p->used = raw->ordinal[row];
	else if (p->used < 0)
		p->used = 0;
	flow_status status = open_decoder(self, p);
	const char *piece = value->as.text + self->row_used;
	uint64_t left = value->size - self->row_used;
	if (status == FLOW_OK && p->carry_size != 0) {
		status = cross_bridge(self, piece, left);
		if (status == FLOW_AGAIN) {
			piece_done(self);
			return emit_rows(self);
		}
		piece = value->as.text + self->row_used;
		left = value->size - self->row_used;
	}
	if (status == FLOW_OK && left == 0)
		piece_done(self);
	if (status == FLOW_OK && (left == 0 || p->carry_size != 0 || flow_builder_full(self->decoded)))
		return emit_rows(self); /* full within the bridge: go on from there */
	if (status == FLOW_OK)
		status = self->decoded->ops->keep(self->decoded, raw);
	if (status == FLOW_OK)
		status = decode_piece(self, piece, left);
	if (status < 0)
		return partition_failed(self, status);
	return emit_rows(self);
}

flow_status
decode_last_piece(source_self *self, source_partition *p)
{
	if (p->broken)
		return FLOW_OK;
	self->partition = p;
	if (p->used < 0)
		p->used = 0;
	flow_status status = open_decoder(self, p);
	for (int more = 1; status == FLOW_OK && more;) {
		if (atomic_load_explicit(&self->n->task->topology->ending, memory_order_relaxed))
			return error_set(&self->n->task->error, FLOW_E_CANCELLED, "%.*s: the job is to end", (int)p->place.size,
							 p->place.data);
		char *window = make_bridge(self, "", 0);
		uint64_t consumed = 0;
		status = window == NULL ? FLOW_E_MEMORY : decode_window(self, window, p->carry_size, 1, &consumed);
		if (status < 0)
			break;
		drop_carry(p, consumed);
		more = p->carry_size != 0 && (consumed != 0 || self->decoded->row_count != 0);
		status = emit_rows(self);
	}
	if (status == FLOW_OK && p->carry_size != 0)
		status = error_set(&self->n->task->error, FLOW_E_DECODE,
						   "%.*s: the last %llu bytes, from offset %lld on, are no record", (int)p->place.size,
						   p->place.data, (unsigned long long)p->carry_size, (long long)p->used);
	if (status < 0)
		status = partition_failed(self, status);
	if (p->decoder != NULL)
		self->stream->value.ops->decoder_close(p->decoder);
	p->decoder = NULL;
	return status;
}
