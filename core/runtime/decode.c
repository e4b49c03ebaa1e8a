/* Records: the serdes of value and key make rows out of raw ones; tombstones pass by the serde. */
#include <stdio.h>

#include "base/memory.h"
#include "runtime/record_errors.h"
#include "runtime/source.h"

/* The value of the record that is being decoded, as it came. */
static flow_slice
value_of(const source_self *self, int64_t ordinal)
{
	const flow_batch *raw = self->current;
	for (uint32_t i = self->row; raw != NULL && raw->ordinal != NULL && i < raw->selected_count; i++) {
		const flow_value *value = &raw->value[flow_row(raw, i)];
		if (raw->ordinal[flow_row(raw, i)] == ordinal && (value->type == FLOW_BYTES || value->type == FLOW_STRING))
			return flow_value_slice(value);
	}
	return flow_slice_make(NULL, 0);
}

flow_status
source_reject(void *context, flow_builder *builder, const flow_rejection *rejection)
{
	source_self *self = context;
	char reason[1024];
	record_error what = { .status = rejection->status,
						  .reason = rejection->reason,
						  .field = rejection->field,
						  .raw = rejection->raw,
						  .place = self->partition->place,
						  .input = self->n->op->stream,
						  .partition = self->partition->number,
						  .ordinal = rejection->ordinal,
						  .has_ordinal = 1,
						  .line = rejection->line };
	if (builder == self->keys) {
		snprintf(reason, sizeof(reason), "its key: %.*s", (int)rejection->reason.size, rejection->reason.data);
		what.reason = flow_slice_of(reason);
		what.key = rejection->raw;
		what.raw = value_of(self, rejection->ordinal);
	}
	return record_error_handle(self->n, self->stream->record_errors, &what);
}

flow_status
source_reject_unread(void *context, flow_builder *builder, const flow_rejection *rejection)
{
	source_self *self = context;
	self->partition = source_find(self, builder->partition);
	return self->partition == NULL ? FLOW_E_PLUGIN : source_reject(context, builder, rejection);
}

static int
passes_bytes(const plan_serde *serde)
{
	return serde->component == NULL || (serde->component->flags & FLOW_SERDE_BYTES_ONLY) != 0;
}

static flow_status
open_decoder(source_self *self, const plan_serde *serde, const uint32_t *fields, uint64_t field_count, flow_slice place,
			 uint32_t partition, flow_decoder **decoder)
{
	flow_decoder_request request = { .struct_size = FLOW_SIZEOF(flow_decoder_request),
									 .partition = partition,
									 .place = place,
									 .fields = fields,
									 .field_count = field_count };
	flow_error *error = &self->n->task->error;
	return error_settle(error, serde->ops->decoder_open(serde->instance, &request, decoder, error), "decoder_open");
}

flow_status
decode_open(source_self *self)
{
	runtime *run = self->n->task->topology->run;
	const plan_stream *stream = self->stream;
	self->decoded = builder_create(run->pool, run->batch_rows, run->batch_bytes);
	self->keys = builder_create(run->pool, run->batch_rows, run->batch_bytes);
	self->all_rows = memory_allocate(run->batch_rows * sizeof(*self->all_rows));
	self->source_rows = memory_allocate(run->batch_rows * sizeof(*self->source_rows));
	self->key_rows = memory_allocate(run->batch_rows * sizeof(*self->key_rows));
	self->kept_rows = memory_allocate(run->batch_rows * sizeof(*self->kept_rows));
	if (self->decoded == NULL || self->keys == NULL || self->all_rows == NULL || self->source_rows == NULL ||
		self->key_rows == NULL || self->kept_rows == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < run->batch_rows; i++)
		self->all_rows[i] = i;
	builder_on_reject(self->decoded, source_reject, self);
	builder_on_reject(self->keys, source_reject, self);
	if (stream->byte_stream)
		return FLOW_OK; /* one decoder for each partition, when it comes */
	flow_slice id = flow_slice_of(stream->id);
	flow_status status = FLOW_OK;
	if (!passes_bytes(&stream->value))
		status = open_decoder(self, &stream->value, stream->fields, stream->field_count, id, 0, &self->value_decoder);
	if (status == FLOW_OK && !passes_bytes(&stream->key))
		status = open_decoder(self, &stream->key, NULL, 0, id, 0, &self->key_decoder);
	return status;
}

void
decode_close(source_self *self)
{
	if (self->value_decoder != NULL)
		self->stream->value.ops->decoder_close(self->value_decoder);
	if (self->key_decoder != NULL)
		self->stream->key.ops->decoder_close(self->key_decoder);
	self->value_decoder = self->key_decoder = NULL;
	for (uint32_t i = 0; i < self->partition_count; i++) {
		if (self->partitions[i]->decoder != NULL)
			self->stream->value.ops->decoder_close(self->partitions[i]->decoder);
		self->partitions[i]->decoder = NULL;
	}
}

/* Decodes `column` of rows list[0 .. count) of `raw` into `builder` until it is full; *done = how many were used. Null cells are
 * passed on as null. rows[row in builder] = row in raw. */
static flow_status
decode_column(source_self *self, const plan_serde *serde, flow_decoder *decoder, const flow_batch *raw,
			  const flow_value *column, const uint32_t *list, uint32_t count, flow_builder *builder, uint32_t *rows,
			  uint32_t *done)
{
	flow_batch part = *raw;
	part.value = column;
	part.key = NULL;
	part.key_schema = NULL;
	uint32_t at = 0;
	while (at < count && !flow_builder_full(builder)) {
		if (decoder == NULL || flow_is_null(column[list[at]])) {
			rows[flow_builder_add(builder, column[list[at]])] = list[at];
			at++;
			continue;
		}
		uint32_t run = at + 1, next = 0;
		while (run < count && !flow_is_null(column[list[run]]))
			run++;
		part.selection = list + at;
		part.selected_count = run - at;
		flow_error *error = &self->n->task->error;
		flow_status status =
			error_settle(error, serde->ops->decode_rows(decoder, &part, 0, &next, builder, rows, error), "decode_rows");
		if (status < 0)
			return status;
		if (builder->row_count > builder->row_capacity)
			return error_set(error, FLOW_E_PLUGIN, "the serde %s added more rows than there is room for",
							 serde->component->id);
		if (next > run - at || (next == 0 && !flow_builder_full(builder)))
			return error_set(&self->n->task->error, FLOW_E_PLUGIN, "the serde %s made no progress",
							 serde->component->id);
		at += next;
	}
	*done = at;
	return FLOW_OK;
}

static flow_status
wrong_rows(source_self *self, const plan_serde *serde)
{
	return error_set(&self->n->task->error, FLOW_E_PLUGIN, "the serde %s names rows that it was not given",
					 serde->component->id);
}

/* Decodes the keys of the rows that have a value; rows whose key is rejected drop out of the selection. */
static flow_status
decode_keys(source_self *self, const flow_batch *raw, uint32_t *selection, uint32_t *selected)
{
	flow_builder *builder = self->decoded;
	uint32_t count = builder->row_count, used = 0, kept = 0;
	while (used < count) {
		uint32_t done = 0, to = used;
		flow_status status = decode_column(self, &self->stream->key, self->key_decoder, raw, raw->key,
										   self->source_rows + used, count - used, self->keys, self->key_rows, &done);
		if (status < 0)
			return status;
		for (uint32_t i = 0; i < self->keys->row_count; i++) {
			while (to < count && self->source_rows[to] != self->key_rows[i])
				to++;
			if (to == count)
				return wrong_rows(self, &self->stream->key);
			builder->key[to] = self->keys->value[i];
			selection[kept++] = to;
		}
		batch_head head = { 0 };
		flow_batch *keys = builder_finish(self->keys, &head);
		status = keys == NULL ? FLOW_E_MEMORY : builder->ops->keep(builder, keys);
		batch_release(keys);
		if (status != FLOW_OK)
			return status;
		used += done;
	}
	*selected = kept;
	return FLOW_OK;
}

static flow_status
copy_columns(source_self *self, const flow_batch *raw)
{
	flow_builder *to = self->decoded;
	for (uint32_t row = 0; row < to->row_count; row++) {
		uint32_t from = self->source_rows[row];
		if (from >= raw->row_count)
			return wrong_rows(self, &self->stream->value);
		if (raw->timestamp != NULL)
			to->timestamp[row] = raw->timestamp[from];
		if (raw->headers != NULL)
			to->headers[row] = raw->headers[from];
		if (raw->ordinal != NULL)
			to->ordinal[row] = raw->ordinal[from];
	}
	return FLOW_OK;
}

/* Makes a batch of the decoded rows (of which `selection`, NULL: all) and hands it on. */
flow_status
decode_finish_rows(source_self *self, const uint32_t *selection, uint32_t selected)
{
	batch_head head = { .schema = self->stream->schema,
						.key_schema = self->decoded->key != NULL ? self->stream->key_schema : NULL,
						.input = self->n->op->stream,
						.partition = self->partition->index,
						.number = self->partition->number,
						.place = self->partition->place };
	flow_batch *batch = builder_finish(self->decoded, &head);
	if (batch == NULL)
		return FLOW_E_MEMORY;
	if (selection != NULL && selected != batch->row_count) {
		flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns),
								 .selection = selection,
								 .selected_count = selected };
		flow_batch *part = batch_forward(self->n->task->topology->run->pool, batch, &columns, self->selections);
		batch_release(batch);
		if (part == NULL)
			return FLOW_E_MEMORY;
		batch = part;
	}
	flow_status status = source_emit(self, batch);
	batch_release(batch);
	return status;
}

static flow_status
decode_some(source_self *self, const flow_batch *raw, const uint32_t *list, uint32_t count, uint32_t *done)
{
	flow_builder *builder = self->decoded;
	flow_status status = builder->ops->keep(builder, raw);
	if (status == FLOW_OK)
		status = decode_column(self, &self->stream->value, self->value_decoder, raw, raw->value, list, count, builder,
							   self->source_rows, done);
	if (status < 0 || builder->row_count == 0)
		return status;
	int keyed = raw->key != NULL && self->stream->key_schema != NULL;
	uint32_t columns = (keyed ? FLOW_COLUMN_KEY : 0) | (raw->timestamp != NULL ? FLOW_COLUMN_TIMESTAMP : 0) |
					   (raw->headers != NULL ? FLOW_COLUMN_HEADERS : 0) |
					   (raw->ordinal != NULL ? FLOW_COLUMN_ORDINAL : 0);
	if (builder->ops->add_columns(builder, columns) != FLOW_OK)
		return FLOW_E_MEMORY;
	status = copy_columns(self, raw);
	if (status < 0)
		return status;
	if (!keyed)
		return decode_finish_rows(self, NULL, 0);
	uint32_t selected = 0;
	status = decode_keys(self, raw, self->kept_rows, &selected);
	return status < 0 ? status : decode_finish_rows(self, self->kept_rows, selected);
}

static flow_status
pass_on(source_self *self)
{
	flow_batch *batch = (flow_batch *)(uintptr_t)self->current; /* just made, and nobody else has it */
	self->current = NULL;
	if (batch->ordinal != NULL)
		self->partition->used = batch->ordinal[flow_row(batch, batch->selected_count - 1)];
	batch->flags &= ~FLOW_BATCH_RAW;
	flow_status status = source_emit(self, batch);
	batch_release(batch);
	return status;
}

flow_status
decode_records(source_self *self)
{
	const flow_batch *raw = self->current;
	const plan_stream *stream = self->stream;
	int plain_key = raw->key == NULL || (stream->key_schema != NULL && self->key_decoder == NULL);
	if (self->value_decoder == NULL && plain_key &&
		(raw->schema == stream->schema || stream->schema == NULL || stream->schema->kind == FLOW_KIND_BYTES))
		return pass_on(self);
	const uint32_t *list = raw->selection == NULL ? self->all_rows : raw->selection;
	uint32_t done = 0;
	flow_status status = decode_some(self, raw, list + self->row, raw->selected_count - self->row, &done);
	if (status < 0)
		return status;
	self->row += done;
	if (raw->ordinal != NULL && self->row != 0)
		self->partition->used = raw->ordinal[flow_row(raw, self->row - 1)];
	if (self->decoded->row_count == 0)
		builder_clear(self->decoded); /* all rejected, or handed on */
	if (self->row == raw->selected_count) {
		batch_release(raw);
		self->current = NULL;
	}
	return FLOW_OK;
}
