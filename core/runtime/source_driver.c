/* Sources: read one batch at a time, as far as gates, priorities and room allow. */
#include "runtime/exchange.h"
#include "runtime/source.h"

#include "base/clock.h"
#include "base/log.h"

#define SERVICE_INTERVAL ((int64_t)1000 * 1000) /* microseconds: a source is called so often at least */
#define RETRY_FIRST 100000
#define RETRY_MOST 5000000
#define RETRIES 8

static source_self *
self_of(const node *n)
{
	return n->self;
}

/* --- whether to read ------------------------------------------------------------------------------------------------ */

/* Tells lower priorities that this source has, or has not, something. */
static void
set_busy(source_self *self, int busy)
{
	topology *t = self->n->task->topology;
	if (self->busy == busy)
		return;
	self->busy = (uint8_t)busy;
	int before = atomic_fetch_add(&t->inputs[self->n->op->stream].busy_sources, busy ? 1 : -1);
	if (!busy && before == 1)
		workers_wake(t);
}

static int
higher_priority_is_busy(const source_self *self)
{
	const topology *t = self->n->task->topology;
	const plan *p = t->run->plan;
	for (uint32_t i = 0; i < p->stream_count; i++)
		if (p->streams[i].direction == FLOW_DIRECTION_INPUT && p->streams[i].priority > self->stream->priority &&
			p->streams[i].bootstrap >= self->stream->bootstrap &&
			atomic_load_explicit(&t->inputs[i].busy_sources, memory_order_relaxed) > 0)
			return 1;
	return 0;
}

static int
nothing_is_under_way(const topology *t)
{
	for (uint32_t i = 0; i < t->channel_count; i++)
		if (!ring_empty(&t->channels[i].items))
			return 0;
	return 1;
}

static int
may_read(source_self *self)
{
	task *t = self->n->task;
	topology *whole = t->topology;
	if (!task_reading_allowed(t) || self->limited)
		return 0;
	if (!self->stream->bootstrap && atomic_load_explicit(&whole->bootstrap_left, memory_order_acquire) > 0)
		return 0;
	if (higher_priority_is_busy(self))
		return 0;
	/* Out of memory budget: what is under way goes first. When nothing is, reading is the only way on. */
	return !batch_pool_pressed(whole->run->pool) || nothing_is_under_way(whole);
}

static int
must_wait(source_self *self)
{
	task *t = self->n->task;
	if (self->retry_at != 0)
		return t->now < self->retry_at;
	return self->waiting && t->now - self->read_at < SERVICE_INTERVAL;
}

/* --- reading -------------------------------------------------------------------------------------------------------- */

void
source_take(source_self *self, flow_batch *batch)
{
	runtime *run = self->n->task->topology->run;
	uint64_t bytes = (batch->flags & FLOW_BATCH_RAW) != 0 ? 0 : batch_bytes(batch);
	for (uint32_t i = 0; (batch->flags & FLOW_BATCH_RAW) != 0 && i < batch->selected_count; i++) {
		const flow_value *value = &batch->value[flow_row(batch, i)];
		bytes += value->size;
	}
	counter_add(&self->n->bytes_in, bytes);
	self->current = batch;
	self->row = 0;
	self->row_used = 0;
	int64_t none = -1;
	if (atomic_load_explicit(&run->first_record, memory_order_relaxed) < 0)
		atomic_compare_exchange_strong(&run->first_record, &none, clock_monotonic() - run->started_monotonic);
}

flow_status
source_emit(source_self *self, const flow_batch *batch)
{
	node *n = self->n;
	topology *t = n->task->topology;
	uint64_t limit = t->run->request.limit;
	if (limit == 0) {
		counter_add(&n->records_in, batch->selected_count);
		return node_emit(n, 0, batch);
	}
	uint64_t before = atomic_fetch_add(&t->inputs[n->op->stream].taken, batch->selected_count);
	if (before + batch->selected_count >= limit) {
		self->limited = 1;
		workers_wake(t); /* other sources of this input are done too */
	}
	if (before >= limit)
		return FLOW_OK;
	uint64_t left = limit - before;
	counter_add(&n->records_in, batch->selected_count < left ? batch->selected_count : left);
	if (batch->selected_count <= left)
		return node_emit(n, 0, batch);
	flow_batch *part = node_first_rows(t->run, batch, (uint32_t)left);
	if (part == NULL)
		return FLOW_E_MEMORY;
	flow_status status = node_emit(n, 0, part);
	batch_release(part);
	return status;
}

flow_status
source_partition_ended(source_self *self, source_partition *p)
{
	if (!p->mine || p->ended || p->gone)
		return FLOW_OK;
	flow_status status = FLOW_OK;
	if (self->stream->byte_stream && !self->limited)
		status = decode_last_piece(self, p);
	p->ended = 1;
	self->live--;
	atomic_fetch_sub(&self->n->task->topology->inputs[self->n->op->stream].live_partitions, 1);
	if (status == FLOW_OK)
		status = event_time_partition(self->n, p->index, PARTITION_ENDED);
	return status;
}

/* A failed read is tried again where that can help. */
static flow_status
read_failed(source_self *self, flow_status status)
{
	task *t = self->n->task;
	int retryable = status_retryable(status) || (t->error.flags & FLOW_ERROR_RETRYABLE) != 0;
	if (!retryable || self->retries >= RETRIES)
		return status;
	int64_t pause = RETRY_FIRST << self->retries++;
	self->retry_at = t->now + (pause < RETRY_MOST ? pause : RETRY_MOST);
	log_warn(self->stream->id, "%s; trying again", error_message(&t->error));
	error_clear(&t->error);
	return FLOW_AGAIN;
}

static flow_status
finish_raw(source_self *self, flow_builder *raw, flow_batch **batch, flow_error *error)
{
	if (raw->row_count > raw->row_capacity)
		return error_set(error, FLOW_E_PLUGIN, "the system added more rows than there is room for");
	if (raw->ordinal == NULL)
		return error_set(error, FLOW_E_PLUGIN, "the system added rows without ordinals, so that they have no position");
	const source_partition *p = NULL;
	for (uint32_t i = 0; p == NULL && i < self->partition_count; i++)
		if (self->partitions[i]->index == raw->partition)
			p = self->partitions[i];
	if (p == NULL)
		return error_set(error, FLOW_E_PLUGIN, "the system returned rows of partition %u, which it does not have",
						 raw->partition);
	batch_head head = { .input = self->n->op->stream, .partition = p->index, .number = p->number, .place = p->place };
	if (self->stream->value.ops == NULL) {
		head.schema = self->stream->schema;
		head.key_schema = raw->key != NULL ? self->stream->key_schema : NULL;
	}
	*batch = builder_finish(raw, &head);
	return *batch == NULL ? error_set(error, FLOW_E_MEMORY, "out of memory") : FLOW_OK;
}

flow_status
source_read_raw(source_self *self, flow_builder *raw, flow_batch **batch, flow_error *error)
{
	if (raw->row_capacity == 0)
		builder_clear(raw);
	const char *before = raw->next;
	flow_status status = self->ops->source_read(self->source, raw, error);
	if (status == FLOW_OK && raw->row_count != 0)
		return finish_raw(self, raw, batch, error);
	uint32_t partition = raw->partition;
	if (raw->next != before || raw->row_count != 0)
		builder_clear(raw); /* memory that it took for rows which did not come */
	raw->partition = partition;
	return status == FLOW_OK ? FLOW_AGAIN : status;
}

static flow_status
read_direct(source_self *self, flow_batch **batch, uint32_t *partition)
{
	task *t = self->n->task;
	flow_status status = source_read_raw(self, self->raw, batch, &t->error);
	*partition = self->raw->partition;
	return status;
}

/* A raw batch begins to be decoded. */
static flow_status
take_batch(source_self *self, flow_batch *batch)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a read that succeeded gave one */
	source_partition *p = source_find(self, batch->partition);
	if (p != NULL && p->gone) { /* read ahead; whoever gets the partition reads it again */
		batch_release(batch);
		return FLOW_OK;
	}
	if (p == NULL || !p->mine || p->ended) {
		flow_status status = error_set(&self->n->task->error, FLOW_E_PLUGIN,
									   "the system returned rows of partition %u, which it was not given, or had ended",
									   batch->partition);
		batch_release(batch);
		return status;
	}
	self->partition = p;
	source_take(self, batch);
	return FLOW_OK;
}

static flow_status
handle_read(source_self *self, flow_status status, flow_batch *batch, uint32_t partition)
{
	task *t = self->n->task;
	switch (status) {
	case FLOW_OK:
		self->retries = 0;
		set_busy(self, 1);
		return take_batch(self, batch);
	case FLOW_END: {
		source_partition *p = source_find(self, partition);
		return p == NULL
				   ? error_set(&t->error, FLOW_E_PLUGIN, "the system ended partition %u, which is not there", partition)
				   : source_partition_ended(self, p);
	}
	case FLOW_CHANGED:
		self->must_list = 1;
		return FLOW_OK;
	case FLOW_AGAIN:
		self->waiting = 1;
		if (self->reader != NULL || !self->paused)
			set_busy(self, 0);
		return FLOW_AGAIN;
	default:
		return read_failed(self, error_settle(&t->error, status, "source_read"));
	}
}

static flow_status
read_source(source_self *self)
{
	task *t = self->n->task;
	flow_batch *batch = NULL;
	uint32_t partition = 0;
	flow_status status;
	self->retry_at = 0;
	self->waiting = 0;
	if (self->reader != NULL) {
		status = reader_take(self->reader, &batch, &partition, &t->error);
	} else {
		self->read_at = t->now;
		status = read_direct(self, &batch, &partition);
	}
	return handle_read(self, status, batch, partition);
}

static flow_status
finish(source_self *self)
{
	set_busy(self, 0);
	if (self->reader != NULL)
		reader_allow(self->reader, 0);
	return node_finish(self->n);
}

/* All partitions of this task have ended, and no other can come to it. */
static int
is_finished(const source_self *self)
{
	topology *t = self->n->task->topology;
	uint64_t limit = t->run->request.limit;
	if (limit != 0 && atomic_load_explicit(&t->inputs[self->n->op->stream].taken, memory_order_relaxed) >= limit)
		return 1;
	if (atomic_load_explicit(&t->enough, memory_order_relaxed))
		return 1;
	if (self->live != 0 || self->info.self_assigned)
		return 0; /* the group may give another one at any time */
	if (self->mine != 0 || self->stream->bounded || self->stream->description.bounded)
		return 1;
	return self->partition_count != 0 &&
		   atomic_load_explicit(&t->inputs[self->n->op->stream].live_partitions, memory_order_relaxed) == 0;
}

int
source_quiet(node *n)
{
	source_self *self = self_of(n);
	return self->reader == NULL || reader_hold(self->reader);
}

void
source_let_go(source_self *self)
{
	if (self->reader != NULL)
		reader_go(self->reader);
}

static flow_status
list_again(source_self *self)
{
	if (!source_quiet(self->n))
		return FLOW_AGAIN;
	self->must_list = 0;
	uint32_t before = self->partition_count;
	flow_status status = source_list(self, &self->n->task->error);
	for (uint32_t i = before; status == FLOW_OK && i < self->partition_count; i++)
		if (self->partitions[i]->mine && !self->partitions[i]->ended)
			status = event_time_partition(self->n, self->partitions[i]->index, PARTITION_LIVE);
	source_let_go(self);
	return status;
}

int
source_set_paused(source_self *self, int paused)
{
	if (!FLOW_CAN(self->ops, source_pause))
		return 0;
	for (uint32_t i = 0; self->paused != paused && i < self->partition_count; i++)
		if (self->partitions[i]->mine && !self->partitions[i]->gone)
			self->ops->source_pause(self->source, self->partitions[i]->index, paused);
	self->paused = (uint8_t)paused;
	return 1;
}

/* A source that is held back for long is called all the same: it may have to say that it is still there. */
static flow_status
service(source_self *self)
{
	const task *t = self->n->task;
	if (!task_reading_allowed(t) || t->now - self->read_at < SERVICE_INTERVAL || !source_set_paused(self, 1))
		return FLOW_AGAIN;
	return read_source(self);
}

void
source_serve(node *n)
{
	source_self *self = self_of(n);
	if (n->ended || self->current != NULL)
		return;
	if (self->reader != NULL)
		reader_allow(self->reader, 0);
	flow_status status = self->must_list ? list_again(self) : self->reader == NULL ? service(self) : FLOW_OK;
	if (status < 0)
		node_failed(n, status);
}

static flow_status
read_if_allowed(source_self *self)
{
	int allowed = may_read(self);
	if (self->n->woken) {
		self->n->woken = 0;
		self->waiting = 0;
	}
	if (self->reader != NULL)
		reader_allow(self->reader, allowed);
	else if (!allowed)
		return service(self);
	else if (self->paused) {
		source_set_paused(self, 0);
		self->waiting = 0; /* that nothing came while it was paused says nothing */
	}
	return allowed && !must_wait(self) ? read_source(self) : FLOW_AGAIN;
}

int
source_step(node *n)
{
	source_self *self = self_of(n);
	if (n->ended)
		return STEP_IDLE;
	if (atomic_load_explicit(&n->task->topology->enough, memory_order_relaxed))
		self->limited = 1;
	flow_status status;
	if (self->current != NULL && !self->limited)
		status = self->stream->byte_stream ? decode_pieces(self) : decode_records(self);
	else if (self->must_list)
		status = list_again(self);
	else if (is_finished(self))
		status = finish(self);
	else
		status = read_if_allowed(self);
	if (status < 0)
		node_failed(n, status);
	return status == FLOW_OK ? STEP_PROGRESS : STEP_IDLE;
}

/* A source is called again after a pause, and once a second in any case. */
static flow_status
source_tick(node *n)
{
	source_self *self = self_of(n);
	if (n->ended || self->reader != NULL)
		return FLOW_OK;
	n->deadline = self->retry_at > n->task->now ? self->retry_at : n->task->now + SERVICE_INTERVAL;
	return FLOW_OK;
}

const node_driver source_driver = {
	.open = source_open_node,
	.barrier = source_barrier,
	.tick = source_tick,
	.close = source_close_node,
};
