/* Encoding: the rows of a batch as bytes, straight into the memory of the raw batch that goes to the writer. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "expr/expression.h"
#include "runtime/record_errors.h"
#include "runtime/sink.h"

#define LEAST_ROOM ((uint64_t)4096)

/* A buffer whose memory is the builder's. */
static flow_status
grow(flow_buffer *buffer, uint64_t more)
{
	flow_builder *builder = buffer->host;
	uint64_t capacity = (buffer->size + more + buffer->size / 2 + LEAST_ROOM + 7) & ~(uint64_t)7;
	uint64_t extra = capacity - buffer->capacity;
	if (buffer->data != NULL && buffer->data + buffer->capacity == builder->next &&
		(uint64_t)(builder->end - builder->next) >= extra) {
		builder->next += extra;
		buffer->capacity = capacity;
		return FLOW_OK;
	}
	char *data = flow_builder_alloc(builder, capacity);
	if (data == NULL)
		return FLOW_E_MEMORY;
	if (buffer->size != 0)
		memcpy(data, buffer->data, buffer->size);
	buffer->data = data;
	buffer->capacity = capacity;
	return FLOW_OK;
}

static flow_status
begin_buffer(sink_self *self, flow_buffer *buffer, uint64_t size)
{
	*buffer = (flow_buffer){ .struct_size = FLOW_SIZEOF(flow_buffer), .grow = grow, .host = self->out };
	if (self->out->row_capacity == 0)
		builder_clear(self->out);
	return grow(buffer, size);
}

static flow_status
settle_buffer(sink_self *self, const plan_serde *serde, flow_status status, const char *call, const flow_buffer *buffer)
{
	flow_error *error = &self->n->task->error;
	if (status == FLOW_OK && buffer->size > buffer->capacity)
		return error_set(error, FLOW_E_PLUGIN, "serde %s wrote beyond the buffer's end", serde->component->id);
	return error_settle(error, status, call);
}

/* The one call of a serde that makes bytes. Each end of a row lies behind the one before, within the buffer. */
static flow_status
call_encode(sink_self *self, const plan_serde *serde, flow_encoder *encoder, const flow_batch *batch, int use_key,
			flow_buffer *buffer, uint64_t *ends, flow_status *statuses)
{
	flow_error *error = &self->n->task->error;
	flow_status status = serde->ops->encode(encoder, batch, use_key, buffer, ends, statuses, error);
	status = settle_buffer(self, serde, status, "encode", buffer);
	uint64_t last = 0;
	for (uint32_t i = 0; status == FLOW_OK && ends != NULL && i < batch->selected_count; i++) {
		if (ends[i] < last || ends[i] > buffer->size || ends[i] - last > UINT32_MAX)
			status = error_set(error, FLOW_E_PLUGIN, "serde %s ends row %u at byte %llu, behind %llu of %llu",
							   serde->component->id, i, (unsigned long long)ends[i], (unsigned long long)last,
							   (unsigned long long)buffer->size);
		last = ends[i];
	}
	return status;
}

/* Gives back what was not used. */
static void
end_buffer(flow_buffer *buffer)
{
	flow_builder *builder = buffer->host;
	if (buffer->data + buffer->capacity == builder->next)
		builder->next = buffer->data + ((buffer->size + 7) & ~(uint64_t)7);
}

static int
is_bytes_as_they_are(const plan_serde *serde, const flow_schema *schema)
{
	return serde->component != NULL && (serde->component->flags & FLOW_SERDE_BYTES_ONLY) != 0 && schema != NULL &&
		   schema->kind == FLOW_KIND_BYTES;
}

/* Records that come as the bytes that are written are passed on, without keys where the output has none. */
static int
needs_no_encoder(const plan_stream *stream)
{
	const flow_schema *value = stream->value.schema != NULL ? stream->value.schema : stream->schema;
	const flow_schema *key = stream->key.schema != NULL ? stream->key.schema : stream->key_schema;
	return !stream->byte_stream && stream->partition == NULL && is_bytes_as_they_are(&stream->value, value) &&
		   (key == NULL || (stream->key.ops != NULL && is_bytes_as_they_are(&stream->key, key)));
}

flow_status
encode_open(sink_self *self)
{
	runtime *run = self->n->task->topology->run;
	const plan_stream *stream = self->stream;
	self->out = builder_create(run->pool, stream->byte_stream ? 1 : run->batch_rows, 0);
	if (self->out == NULL)
		return FLOW_E_MEMORY;
	flow_error *error = &self->n->task->error;
	flow_status status = FLOW_OK;
	if (needs_no_encoder(stream))
		return FLOW_OK;
	if (stream->value.ops != NULL) {
		const flow_schema *schema = stream->value.schema != NULL ? stream->value.schema : stream->schema;
		status =
			error_settle(error, stream->value.ops->encoder_open(stream->value.instance, schema, &self->value, error),
						 "encoder_open");
	}
	const flow_schema *keys = stream->key.schema != NULL ? stream->key.schema : stream->key_schema;
	if (status == FLOW_OK && stream->key.ops != NULL && keys != NULL) /* else records have none */
		status = error_settle(error, stream->key.ops->encoder_open(stream->key.instance, keys, &self->key, error),
							  "encoder_open");
	return status;
}

void
encode_close(sink_self *self)
{
	if (self->value != NULL)
		self->stream->value.ops->encoder_close(self->value);
	if (self->key != NULL)
		self->stream->key.ops->encoder_close(self->key);
	self->value = self->key = NULL;
	builder_destroy(self->out);
	self->out = NULL;
	memory_release(self->statuses);
	memory_release(self->ends);
	memory_release(self->rows);
	memory_release(self->cells);
}

static flow_status
reserve(sink_self *self, uint32_t rows)
{
	if (rows <= self->capacity)
		return FLOW_OK;
	memory_release(self->statuses);
	memory_release(self->ends);
	memory_release(self->rows);
	memory_release(self->cells);
	self->statuses = memory_allocate(rows * sizeof(*self->statuses));
	self->ends = memory_allocate(rows * sizeof(*self->ends));
	self->rows = memory_allocate(rows * sizeof(*self->rows));
	self->cells = memory_allocate(rows * sizeof(*self->cells));
	int all = self->statuses != NULL && self->ends != NULL && self->rows != NULL && self->cells != NULL;
	self->capacity = all ? rows : 0;
	return all ? FLOW_OK : FLOW_E_MEMORY;
}

/* Rows whose status is a failure go the way of record errors. The encoder may have said in the task's error why. */
static flow_status
report_failures(sink_self *self, const flow_batch *batch, const char *what)
{
	flow_error why = { 0 };
	error_move(&why, &self->n->task->error);
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; i < batch->selected_count && status >= 0; i++) {
		if (self->statuses[i] >= 0)
			continue;
		int told = why.message != NULL && why.status == self->statuses[i];
		status = record_error_of_row(self->n, batch, flow_row(batch, i), self->statuses[i],
									 flow_slice_of(told ? why.message : what));
	}
	error_clear(&why);
	return status;
}

/* --- byte streams: all rows are one piece ---------------------------------------------------------------------------- */

static flow_status
finish_piece(sink_self *self, flow_buffer *buffer, flow_batch **raw)
{
	end_buffer(buffer);
	self->last_size = buffer->size;
	*raw = NULL;
	if (buffer->size == 0 || buffer->size > UINT32_MAX) {
		builder_clear(self->out);
		return buffer->size == 0 ? FLOW_OK : FLOW_E_LIMIT;
	}
	flow_builder_add(self->out, flow_bytes(buffer->data, (uint32_t)buffer->size));
	batch_head head = { .flags = FLOW_BATCH_RAW | FLOW_BATCH_STREAM, .input = UINT32_MAX, .partition = UINT32_MAX };
	*raw = builder_finish(self->out, &head);
	counter_add(&self->n->bytes_out, buffer->size);
	return *raw == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

static flow_status
encode_piece(sink_self *self, const flow_batch *batch, flow_batch **raw)
{
	flow_buffer buffer;
	flow_status status = begin_buffer(self, &buffer, self->last_size + self->last_size / 8);
	memset(self->statuses, 0, batch->selected_count * sizeof(*self->statuses));
	if (status == FLOW_OK)
		status = call_encode(self, &self->stream->value, self->value, batch, 0, &buffer, NULL, self->statuses);
	if (status == FLOW_OK)
		status = report_failures(self, batch, "the record cannot be encoded");
	if (status < 0)
		return status;
	return finish_piece(self, &buffer, raw);
}

flow_status
encode_frame(sink_self *self, int end, flow_batch **raw)
{
	*raw = NULL;
	const flow_serde_ops *ops = self->stream->value.ops;
	if (!self->stream->byte_stream || ops == NULL || (end ? !FLOW_CAN(ops, end) : !FLOW_CAN(ops, begin)))
		return FLOW_OK;
	flow_buffer buffer;
	uint64_t last = self->last_size;
	flow_status status = begin_buffer(self, &buffer, 0);
	if (status == FLOW_OK)
		status = settle_buffer(self, &self->stream->value,
							   (end ? ops->end : ops->begin)(self->value, &buffer, &self->n->task->error),
							   end ? "end" : "begin", &buffer);
	if (status == FLOW_OK)
		status = finish_piece(self, &buffer, raw);
	self->last_size = last;
	return status;
}

/* --- records: one run of bytes for each ------------------------------------------------------------------------------ */

/* Encodes one column of the selected rows into self->cells, one a selected row; null cells stay null. */
static flow_status
encode_column(sink_self *self, const flow_batch *batch, const plan_serde *serde, flow_encoder *encoder, int use_key)
{
	const flow_value *column = use_key ? batch->key : batch->value;
	flow_batch part = *batch;
	part.selection = self->rows;
	part.selected_count = 0;
	for (FLOW_ROWS(batch, i))
		if (!flow_is_null(column[flow_row(batch, i)]))
			self->rows[part.selected_count++] = flow_row(batch, i);
	flow_buffer buffer;
	flow_status status = begin_buffer(self, &buffer, self->last_size / 2);
	/* The statuses of these rows are put behind those of the whole batch, then back into their places. */
	flow_status *statuses = flow_builder_alloc(self->out, (batch->selected_count + 1) * sizeof(*statuses));
	if (status != FLOW_OK || statuses == NULL)
		return FLOW_E_MEMORY;
	memset(statuses, 0, part.selected_count * sizeof(*statuses));
	if (part.selected_count != 0)
		status = call_encode(self, serde, encoder, &part, use_key, &buffer, self->ends, statuses);
	if (status < 0)
		return status;
	end_buffer(&buffer);
	self->last_size = buffer.size;
	uint64_t start = 0;
	uint32_t k = 0;
	for (FLOW_ROWS(batch, at)) {
		self->cells[at] = flow_null();
		if (flow_is_null(column[flow_row(batch, at)]))
			continue;
		if (statuses[k] < 0)
			self->statuses[at] = statuses[k];
		else
			self->cells[at] = flow_bytes(buffer.data + start, (uint32_t)(self->ends[k] - start));
		start = self->ends[k++];
	}
	counter_add(&self->n->bytes_out, start);
	return FLOW_OK;
}

static uint32_t
columns_of(const sink_self *self, const flow_batch *batch)
{
	return (self->key != NULL && batch->key != NULL ? FLOW_COLUMN_KEY : 0) |
		   (batch->timestamp != NULL ? FLOW_COLUMN_TIMESTAMP : 0) | (batch->headers != NULL ? FLOW_COLUMN_HEADERS : 0) |
		   (batch->ordinal != NULL ? FLOW_COLUMN_ORDINAL : 0);
}

/* Why this is no partition; NULL: it is one. */
static const char *
not_a_partition(const flow_value *value)
{
	if (flow_is_null(*value))
		return "its partition is null";
	if (value->type == FLOW_UINT64 ? value->as.uint64 > INT32_MAX : value->as.int64 > INT32_MAX)
		return "its partition is greater than any";
	return value->type == FLOW_INT64 && value->as.int64 < 0 ? "its partition is negative" : NULL;
}

/* The partition of each row into targets[row]. Rows without one go the way of record errors; the others are chosen[0 .. *count). */
static flow_status
choose_targets(sink_self *self, const flow_batch *batch, uint32_t *targets, uint32_t *chosen, uint32_t *count)
{
	flow_value *values = flow_builder_alloc(self->out, batch->row_count * sizeof(*values));
	flow_slice *reasons = flow_builder_alloc(self->out, batch->row_count * sizeof(*reasons));
	if (values == NULL || reasons == NULL)
		return FLOW_E_MEMORY;
	memset(self->statuses, 0, batch->row_count * sizeof(*self->statuses));
	flow_status status = expressions_service.evaluate(self->stream->partition, batch, self->out, values, self->statuses,
													  reasons, &self->n->task->error);
	*count = 0;
	for (uint32_t i = 0; status == FLOW_OK && i < batch->selected_count; i++) {
		uint32_t row = flow_row(batch, i);
		const char *why = self->statuses[row] < 0 ? NULL : not_a_partition(&values[row]);
		if (self->statuses[row] < 0 || why != NULL) {
			status = record_error_of_row(self->n, batch, row, why == NULL ? self->statuses[row] : FLOW_E_RANGE,
										 why == NULL ? reasons[row] : flow_slice_of(why));
			continue;
		}
		targets[row] = (uint32_t)values[row].as.uint64;
		chosen[(*count)++] = row;
	}
	return status;
}

/* `targets`: NULL, or by row of the batch. */
static uint32_t *
add_rows(sink_self *self, const flow_batch *batch, const uint32_t *targets)
{
	uint32_t *placed =
		targets == NULL ? NULL : flow_builder_alloc(self->out, (batch->selected_count + 1) * sizeof(*placed));
	flow_builder *out = self->out;
	for (FLOW_ROWS(batch, i)) {
		if (self->statuses[i] < 0)
			continue;
		uint32_t from = flow_row(batch, i), to = flow_builder_add(out, self->cells[i]);
		if (placed != NULL)
			placed[to] = targets[from];
		if (batch->timestamp != NULL)
			out->timestamp[to] = batch->timestamp[from];
		if (batch->headers != NULL)
			out->headers[to] = batch->headers[from];
		if (batch->ordinal != NULL)
			out->ordinal[to] = batch->ordinal[from];
	}
	return placed;
}

/* `batch` has the rows of `whole` that are written. */
static flow_status
encode_rows(sink_self *self, const flow_batch *whole, const flow_batch *batch, const uint32_t *targets,
			flow_batch **raw)
{
	memset(self->statuses, 0, batch->selected_count * sizeof(*self->statuses));
	flow_status status = self->out->ops->keep(self->out, whole); /* headers */
	if (status == FLOW_OK && self->out->ops->add_columns(self->out, columns_of(self, batch)) != FLOW_OK)
		status = FLOW_E_MEMORY;
	flow_value *keys = NULL;
	if (status == FLOW_OK && self->out->key != NULL) {
		status = encode_column(self, batch, &self->stream->key, self->key, 1);
		keys = flow_builder_alloc(self->out, batch->selected_count * sizeof(*keys));
		if (keys == NULL)
			return FLOW_E_MEMORY;
		memcpy(keys, self->cells, batch->selected_count * sizeof(*keys));
	}
	if (status == FLOW_OK)
		status = encode_column(self, batch, &self->stream->value, self->value, 0);
	if (status == FLOW_OK)
		status = report_failures(self, batch, "the record cannot be encoded");
	if (status < 0)
		return status;
	uint32_t *placed = add_rows(self, batch, targets);
	if (targets != NULL && placed == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0, to = 0; keys != NULL && i < batch->selected_count; i++)
		if (self->statuses[i] >= 0)
			self->out->key[to++] = keys[i];
	/* A row that the system refuses is told with the place that it came from. */
	batch_head head = { .flags = FLOW_BATCH_RAW,
						.input = batch->input,
						.partition = batch->partition,
						.number = (uint32_t)batch_partition_number(batch),
						.place = batch->place };
	*raw = builder_finish(self->out, &head);
	if (*raw != NULL)
		(*raw)->target = placed;
	return *raw == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

/* Rows whose partition an expression chooses. */
static flow_status
encode_to_targets(sink_self *self, const flow_batch *batch, flow_batch **raw)
{
	uint32_t *targets = flow_builder_alloc(self->out, batch->row_count * sizeof(*targets));
	uint32_t *chosen = flow_builder_alloc(self->out, batch->row_count * sizeof(*chosen)), count = 0;
	if (targets == NULL || chosen == NULL)
		return FLOW_E_MEMORY;
	flow_status status = choose_targets(self, batch, targets, chosen, &count);
	if (status < 0 || count == 0)
		return status;
	flow_batch part = *batch;
	part.selection = chosen;
	part.selected_count = count;
	return encode_rows(self, batch, &part, targets, raw);
}

flow_status
encode_batch(sink_self *self, const flow_batch *batch, flow_batch **raw)
{
	*raw = NULL;
	flow_status status = reserve(self, batch->row_count);
	if (status != FLOW_OK)
		return status;
	if (self->out->row_capacity == 0)
		builder_clear(self->out);
	if (self->stream->partition != NULL)
		return encode_to_targets(self, batch, raw);
	return self->stream->byte_stream ? encode_piece(self, batch, raw) : encode_rows(self, batch, batch, NULL, raw);
}
