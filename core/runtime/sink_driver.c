/* Sinks: encode, write, wait for room, and close epochs: flush where delivery is at least once, prepare where it is exact. */
#include "runtime/control.h"
#include "runtime/record_errors.h"
#include "runtime/sink.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"

#define RETRY_FIRST 100000 /* microseconds */
#define RETRY_MOST 2000000
#define RETRIES 6
#define AGAIN_MOST 1000000 /* a writer that said AGAIN is asked again after this time even without a wake */

static sink_self *
self_of(const node *n)
{
	return n->self;
}

static void
wake_task(void *context)
{
	task_wake(context);
}

int
output_prepares(const runtime *run, const plan_stream *stream)
{
	return !run->request.dry_sink && stream->direction == FLOW_DIRECTION_OUTPUT &&
		   (stream->delivery == FLOW_DELIVERY_RESUMABLE || stream->delivery == FLOW_DELIVERY_ONE_PHASE);
}

flow_status
sink_attach(node *n, flow_error *error)
{
	sink_self *self = memory_allocate_zeroed(sizeof(*self));
	if (self == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	n->self = self;
	self->n = n;
	runtime *run = n->task->topology->run;
	self->stream = &run->plan->streams[n->op->stream];
	self->ops = run->plan->systems[self->stream->system].component->ops;
	self->system = run->plan->systems[self->stream->system].instance;
	self->waker = (flow_waker){ .struct_size = FLOW_SIZEOF(flow_waker), .wake = wake_task, .wake_context = n->task };
	self->dry = run->request.dry_sink != 0;
	if (self->dry)
		return FLOW_OK;
	uint32_t task_count = n->task->stage->task_count;
	const checkpoint_handle *known = recovery_handle(run, self->stream, n->task->index);
	flow_handle handle = { .struct_size = FLOW_SIZEOF(flow_handle), .task = n->task->index };
	if (known != NULL) {
		handle.bytes = known->bytes;
		self->recovered = 1;
	}
	flow_status status = self->ops->writer_open(self->system, &self->stream->request, n->task->index, task_count,
												known == NULL ? NULL : &handle, &self->waker, &self->writer, error);
	return error_settle(error, status, "writer_open");
}

void
sink_detach(node *n)
{
	sink_self *self = self_of(n);
	if (self == NULL)
		return;
	for (uint32_t i = 0; i < self->held_count; i++)
		batch_release(self->held[i].batch);
	memory_release(self->held);
	memory_release(self->row_statuses);
	if (self->writer != NULL)
		self->ops->writer_close(self->writer);
	memory_release(self);
	n->self = NULL;
}

/* --- writing -------------------------------------------------------------------------------------------------------- */

static flow_status
hold(sink_self *self, const flow_batch *batch, uint32_t first)
{
	if (self->held_count == self->held_capacity) {
		uint32_t capacity = self->held_capacity == 0 ? 8 : self->held_capacity * 2;
		held_write *held = memory_reallocate(self->held, capacity * sizeof(*held));
		if (held == NULL)
			return FLOW_E_MEMORY;
		self->held = held;
		self->held_capacity = capacity;
	}
	self->held[self->held_count++] = (held_write){ batch_retain(batch), first };
	self->n->task->held++;
	return FLOW_OK;
}

/* Rows that the system refused one by one. */
static flow_status
report_rows(sink_self *self, const flow_batch *batch, const flow_status *statuses, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		if (statuses[i] >= 0)
			continue;
		flow_status status = record_error_of_row(self->n, batch, flow_row(batch, i), statuses[i],
												 flow_slice_of("the record cannot be written"));
		if (status < 0)
			return status;
	}
	return FLOW_OK;
}

/* What was written into a transaction that is gone has to be written again: the last applied epoch is restored. */
static flow_status
note_lost(const sink_self *self, flow_status status)
{
	topology *t = self->n->task->topology;
	if (status == FLOW_E_CONFLICT && self->stream->delivery == FLOW_DELIVERY_ONE_PHASE &&
		output_prepares(t->run, self->stream))
		atomic_store(&t->lost, 1);
	return status;
}

/* One row that was refused late; FLOW_END: there is none. */
static flow_status
take_failed_row(sink_self *self)
{
	flow_error *error = &self->n->task->error;
	flow_failed_row failed = { .struct_size = FLOW_SIZEOF(flow_failed_row) };
	flow_status status = self->ops->failed_row(self->writer, &failed, error);
	if (status == FLOW_END)
		return status;
	status = error_settle(error, status, "failed_row");
	if (status < 0)
		return note_lost(self, status);
	if (failed.batch == NULL || failed.row >= failed.batch->row_count || failed.status >= 0)
		return error_set(error, FLOW_E_PLUGIN, "failed_row tells of a row that is none, or that did not fail");
	flow_slice reason =
		failed.reason.size != 0 ? failed.reason : flow_slice_of("the record was refused after it had been taken");
	return record_error_of_row(self->n, failed.batch, failed.row, failed.status, reason);
}

flow_status
sink_take_failed(node *n)
{
	sink_self *self = self_of(n);
	flow_status status = FLOW_OK;
	if (self == NULL || self->writer == NULL || !FLOW_CAN(self->ops, failed_row))
		return FLOW_OK;
	while (status == FLOW_OK)
		status = take_failed_row(self);
	return status < 0 ? status : FLOW_OK;
}

static flow_status
write_failed(sink_self *self, flow_status status)
{
	task *t = self->n->task;
	int retryable = status_retryable(status) || (t->error.flags & FLOW_ERROR_RETRYABLE) != 0;
	if (!retryable || self->retries >= RETRIES)
		return note_lost(self, status);
	int64_t pause = RETRY_FIRST << self->retries++;
	self->n->deadline = t->now + (pause < RETRY_MOST ? pause : RETRY_MOST);
	log_warn(self->stream->id, "%s; trying again", error_message(&t->error));
	error_clear(&t->error);
	return FLOW_AGAIN;
}

static flow_status
reserve_row_statuses(sink_self *self, uint32_t rows)
{
	if (rows <= self->row_status_capacity)
		return FLOW_OK;
	flow_status *statuses = memory_reallocate(self->row_statuses, rows * sizeof(*statuses));
	if (statuses == NULL)
		return FLOW_E_MEMORY;
	self->row_statuses = statuses;
	self->row_status_capacity = rows;
	return FLOW_OK;
}

/* Writes from row *first on; FLOW_AGAIN: not all, *first is the next. */
static flow_status
write_rows(sink_self *self, const flow_batch *batch, uint32_t *first)
{
	task *t = self->n->task;
	if (reserve_row_statuses(self, batch->selected_count) != FLOW_OK)
		return FLOW_E_MEMORY;
	flow_status *statuses = (batch->flags & FLOW_BATCH_STREAM) == 0 ? self->row_statuses : NULL;
	flow_status status = FLOW_OK;
	while (status == FLOW_OK && *first < batch->selected_count) {
		uint32_t accepted = 0;
		if (statuses != NULL)
			memset(statuses, 0, batch->selected_count * sizeof(*statuses));
		status = self->ops->write(self->writer, batch, *first, &accepted, statuses, &t->error);
		status = status == FLOW_AGAIN ? status : error_settle(&t->error, status, "write");
		if (accepted > batch->selected_count - *first) {
			status = error_set(&t->error, FLOW_E_PLUGIN, "the writer accepted more rows than it was given");
			accepted = 0;
		} else if (statuses != NULL && accepted != 0 &&
				   report_rows(self, batch, statuses, *first, *first + accepted) < 0) {
			status = FLOW_E_FAILED;
		}
		*first += accepted; /* also of a write that failed behind them: they are not written twice */
		self->retries = accepted != 0 ? 0 : self->retries;
		if (status == FLOW_OK && accepted == 0)
			status = FLOW_AGAIN;
	}
	if (status == FLOW_AGAIN && *first < batch->selected_count)
		self->n->deadline = t->now + AGAIN_MOST;
	return status < 0 ? write_failed(self, status) : *first == batch->selected_count ? FLOW_OK : status;
}

static flow_status
write_batch(sink_self *self, const flow_batch *batch)
{
	if (batch == NULL || self->dry)
		return FLOW_OK;
	uint32_t first = 0;
	flow_status status = self->held_count != 0 ? FLOW_AGAIN : write_rows(self, batch, &first);
	return status == FLOW_AGAIN ? hold(self, batch, first) : status;
}

int
sink_release_held(node *n)
{
	sink_self *self = self_of(n);
	if (self->held_count == 0)
		return 1;
	if (!n->woken && n->task->now < n->deadline)
		return 0;
	n->woken = 0;
	uint32_t done = 0;
	flow_status status = FLOW_OK;
	while (done < self->held_count && status == FLOW_OK) {
		held_write *held = &self->held[done];
		status = write_rows(self, held->batch, &held->first);
		if (status == FLOW_OK) {
			batch_release(held->batch);
			done++;
		}
	}
	self->held_count -= done;
	n->task->held -= done;
	memmove(self->held, self->held + done, self->held_count * sizeof(*self->held));
	if (status < 0)
		node_failed(n, status);
	return status == FLOW_OK;
}

/* --- the driver ----------------------------------------------------------------------------------------------------- */

static flow_status
sink_open(node *n)
{
	sink_self *self = self_of(n);
	flow_status status = encode_open(self);
	flow_batch *raw = NULL;
	if (status == FLOW_OK && !self->recovered)
		status = encode_frame(self, 0, &raw);
	if (status == FLOW_OK)
		status = write_batch(self, raw);
	batch_release(raw);
	return status;
}

static uint64_t
size_of(const flow_value *cell)
{
	return cell->type == FLOW_BYTES || cell->type == FLOW_STRING ? cell->size : 0;
}

/* Of keys and values that are written as they are. */
static uint64_t
bytes_of(const flow_batch *batch)
{
	uint64_t bytes = 0;
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		bytes += size_of(&batch->value[row]) + (batch->key == NULL ? 0 : size_of(&batch->key[row]));
	}
	return bytes;
}

/* What needs no encoding. A serde that is plain is that of the values: keys are left out. */
static flow_status
take_as_it_is(sink_self *self, const flow_batch *batch, flow_batch **raw)
{
	static const flow_columns no_keys = { .struct_size = FLOW_SIZEOF(flow_columns), .drop_key = 1 };
	const plan_stream *stream = self->stream;
	if (batch->key != NULL && stream->value.ops != NULL && stream->key.ops == NULL)
		*raw = batch_forward(self->n->task->topology->run->pool, batch, &no_keys, NULL);
	else
		*raw = (flow_batch *)(uintptr_t)batch_retain(batch);
	if (*raw == NULL)
		return FLOW_E_MEMORY;
	counter_add(&self->n->bytes_out, bytes_of(*raw));
	return FLOW_OK;
}

static flow_status
write_records(sink_self *self, const flow_batch *batch)
{
	node *n = self->n;
	uint64_t rejected = counter_get(&n->rejected);
	flow_batch *raw = NULL;
	flow_status status = self->value != NULL ? encode_batch(self, batch, &raw) : take_as_it_is(self, batch, &raw);
	if (status == FLOW_OK)
		status = write_batch(self, raw);
	batch_release(raw);
	counter_add(&n->records_out, batch->selected_count - (counter_get(&n->rejected) - rejected));
	return status;
}

/* As many as the limit of all outputs leaves; records that turn out not to be writable do not count. */
static flow_status
write_up_to_limit(sink_self *self, const flow_batch *batch, uint64_t limit)
{
	topology *t = self->n->task->topology;
	uint64_t before = atomic_fetch_add(&t->written, batch->selected_count);
	uint64_t left = before < limit ? limit - before : 0;
	flow_status status = FLOW_OK;
	uint64_t rejected = counter_get(&self->n->rejected);
	if (left >= batch->selected_count) {
		status = write_records(self, batch);
	} else if (left != 0) {
		flow_batch *part = node_first_rows(t->run, batch, (uint32_t)left);
		status = part == NULL ? FLOW_E_MEMORY : write_records(self, part);
		batch_release(part);
	}
	rejected = counter_get(&self->n->rejected) - rejected;
	uint64_t unused = (left < batch->selected_count ? batch->selected_count - left : 0) + rejected;
	if (atomic_fetch_sub(&t->written, unused) - unused >= limit && !atomic_exchange(&t->enough, 1))
		workers_wake(t);
	return status;
}

static flow_status
sink_process(node *n, uint32_t input, const flow_batch *batch)
{
	(void)input;
	sink_self *self = self_of(n);
	uint64_t limit = n->task->topology->run->request.output_limit;
	return limit == 0 || n->op->kind != OPERATOR_SINK ? write_records(self, batch)
													  : write_up_to_limit(self, batch, limit);
}

static flow_status
sink_end_input(node *n, uint32_t input)
{
	(void)input;
	if (n->ended_inputs + 1 != n->input_count)
		return FLOW_OK;
	sink_self *self = self_of(n);
	flow_batch *raw = NULL;
	flow_status status = encode_frame(self, 1, &raw);
	if (status == FLOW_OK)
		status = write_batch(self, raw);
	batch_release(raw);
	return status;
}

static flow_status
flush(sink_self *self)
{
	flow_error *error = &self->n->task->error;
	return FLOW_CAN(self->ops, flush) ? error_settle(error, self->ops->flush(self->writer, error), "flush") : FLOW_OK;
}

/* What is written last can be refused late too, and has to go to the dead letters before they are told that nothing follows. */
flow_status
sink_settle(node *n)
{
	sink_self *self = self_of(n);
	if (self == NULL || self->writer == NULL || !FLOW_CAN(self->ops, failed_row))
		return FLOW_OK;
	flow_status status = sink_take_failed(n);
	if (status == FLOW_OK)
		status = note_lost(self, flush(self));
	return status < 0 ? status : sink_take_failed(n);
}

static flow_status
prepare(sink_self *self, task_report *report, int last)
{
	node *n = self->n;
	flow_error *error = &n->task->error;
	checkpoint_handle handle = { .output = flow_slice_of(self->stream->id), .task = n->task->index };
	flow_status status =
		error_settle(error, self->ops->prepare(self->writer, report->epoch, last, &handle.bytes, error), "prepare");
	if (status == FLOW_OK && handle.bytes.data == NULL && handle.bytes.size != 0)
		status = error_set(error, FLOW_E_PLUGIN, "prepare gives a handle of %llu bytes that are nowhere",
						   (unsigned long long)handle.bytes.size);
	return status < 0 ? note_lost(self, status) : report_handle(report, &handle);
}

static flow_status
sink_barrier(node *n, task_report *report, int last)
{
	sink_self *self = self_of(n);
	if (self->dry)
		return FLOW_OK;
	flow_status status = sink_take_failed(n);
	if (status == FLOW_OK)
		status = output_prepares(n->task->topology->run, self->stream) ? prepare(self, report, last) : flush(self);
	return status < 0 ? status : sink_take_failed(n);
}

static void
sink_close(node *n)
{
	sink_self *self = self_of(n);
	if (self != NULL)
		encode_close(self);
}

const node_driver sink_driver = {
	.open = sink_open,
	.process = sink_process,
	.end_input = sink_end_input,
	.barrier = sink_barrier,
	.close = sink_close,
};
