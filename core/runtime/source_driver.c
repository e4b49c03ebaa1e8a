/* Sources: opened and given partitions before tasks run, then read one batch at a time, as far as gates and room allow. */
#include "runtime/source.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"

#define SERVICE_INTERVAL (1000 * 1000) /* microseconds: a source is called so often at least */
#define RETRY_FIRST 100000
#define RETRY_MOST 5000000
#define RETRIES 8

static source_self *
self_of(const node *n)
{
	return n->self;
}

source_partition *
source_find(source_self *self, uint32_t index)
{
	if (self->partition != NULL && self->partition->index == index)
		return self->partition;
	for (uint32_t i = 0; i < self->partition_count; i++)
		if (self->partitions[i]->index == index)
			return self->partitions[i];
	return NULL;
}

/* --- partitions ----------------------------------------------------------------------------------------------------- */

static flow_slice
copy_text(arena *memory, flow_slice from)
{
	return flow_slice_make(from.data == NULL ? NULL : arena_copy(memory, from.data, from.size), from.size);
}

static source_partition *
add_partition(source_self *self, const flow_partition *from)
{
	source_partition **partitions =
	    memory_reallocate(self->partitions, (self->partition_count + 1) * sizeof(*partitions));
	if (partitions == NULL)
		return NULL;
	self->partitions = partitions;
	source_partition *p = arena_allocate_zeroed(self->memory, sizeof(*p));
	if (p == NULL)
		return NULL;
	p->index = from->index;
	p->id = copy_text(self->memory, from->id);
	p->place = copy_text(self->memory, from->place.size != 0 ? from->place : from->id);
	p->used = -1;
	self->partitions[self->partition_count++] = p;
	return p;
}

/* A bounded input ends with what was there when the job started: the checkpoint has a position for each partition of it. */
static int
bounds_are_known(const source_self *self)
{
	const runtime *run = self->n->task->topology->run;
	const plan_stream *stream = self->stream;
	if (!stream->bounded || stream->volatile_reader || stream->reset || run->recovered == NULL)
		return 0;
	for (uint64_t i = 0; i < run->recovered->position_count; i++)
		if (flow_slice_is(run->recovered->positions[i].input, stream->id))
			return 1;
	return 0;
}

static flow_status
assign_partition(source_self *self, source_partition *p, flow_error *error)
{
	runtime *run = self->n->task->topology->run;
	const checkpoint_position *known =
	    self->stream->volatile_reader || self->stream->reset ? NULL : recovery_position(run, self->stream, p->id);
	p->mine = 1;
	self->mine++;
	int late = known == NULL && bounds_are_known(self);
	if (late)
		log_warn(self->stream->id, "%.*s is not read: it was not there when the job started; --fresh starts it anew",
		         (int)p->place.size, p->place.data);
	if (late || (known != NULL && known->ended)) {
		p->ended = 1;
		return FLOW_OK;
	}
	self->live++;
	atomic_fetch_add(&self->n->task->topology->inputs[self->n->op->stream].live_partitions, 1);
	if (known != NULL && known->position.size != 0) {
		p->restored = copy_text(self->memory, known->position);
		p->restored_decoder = copy_text(self->memory, known->decoder);
	}
	flow_status status = self->ops->source_assign(self->source, p->index, p->restored, error);
	if (status < 0)
		error_prefix(error, "%.*s", (int)p->place.size, p->place.data);
	return status;
}

static int
is_listed(const source_self *self, flow_slice id)
{
	for (uint32_t i = 0; i < self->partition_count; i++)
		if (flow_slice_equal(self->partitions[i]->id, id))
			return 1;
	return 0;
}

/* What is still to be read of a bounded input must be there; else it would be missing without a word. */
static flow_status
check_known(const source_self *self, flow_error *error)
{
	const runtime *run = self->n->task->topology->run;
	const plan_stream *stream = self->stream;
	for (uint64_t i = 0; bounds_are_known(self) && i < run->recovered->position_count; i++) {
		const checkpoint_position *p = &run->recovered->positions[i];
		if (!p->ended && flow_slice_is(p->input, stream->id) && !is_listed(self, p->partition))
			return error_set(error, FLOW_E_POSITION_LOST,
			                 "input %s: %.*s was not read to its end when the job was interrupted, and is not there any more; bring it "
			                 "back, or discard the state with --fresh",
			                 stream->id, (int)p->partition.size, p->partition.data);
	}
	return FLOW_OK;
}

flow_status
source_list(source_self *self, flow_error *error)
{
	const flow_partition *const *list = NULL;
	uint64_t count = 0;
	flow_status status = self->ops->source_partitions(self->source, &list, &count, error);
	const task *t = self->n->task;
	for (uint64_t i = 0; status == FLOW_OK && i < count; i++) {
		if (source_find(self, list[i]->index) != NULL)
			continue;
		source_partition *p = add_partition(self, list[i]);
		if (p == NULL)
			return error_set(error, FLOW_E_MEMORY, "out of memory");
		if (i % t->stage->task_count == t->index)
			status = assign_partition(self, p, error);
	}
	return status == FLOW_OK && t->index == 0 ? check_known(self, error) : status;
}

static void
wake_task(void *context)
{
	task_wake(context);
}

flow_status
source_attach(node *n, flow_error *error)
{
	source_self *self = memory_allocate_zeroed(sizeof(*self));
	if (self == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	n->self = self;
	const plan *p = n->task->topology->run->plan;
	self->n = n;
	self->stream = &p->streams[n->op->stream];
	self->ops = p->systems[self->stream->system].component->ops;
	self->system = p->systems[self->stream->system].instance;
	self->memory = arena_create();
	self->position = memory_allocate(FLOW_POSITION_MAX);
	if (self->memory == NULL || self->position == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	self->waker = (flow_waker){ .struct_size = FLOW_SIZEOF(flow_waker), .wake = wake_task, .wake_context = n->task };
	self->info = (flow_source_info){ .struct_size = FLOW_SIZEOF(flow_source_info),
		                             .start = self->stream->volatile_reader ? FLOW_START_OLDEST : self->stream->start,
		                             .task = n->task->index,
		                             .task_count = n->task->stage->task_count,
		                             .waker = &self->waker };
	flow_status status = self->ops->source_open(self->system, &self->stream->request, &self->info, &self->source, error);
	if (status < 0)
		return status;
	status = source_list(self, error);
	if (status == FLOW_OK && self->live != 0) {
		self->busy = 1;
		atomic_fetch_add(&n->task->topology->inputs[n->op->stream].busy_sources, 1);
	}
	return status;
}

void
source_detach(node *n)
{
	source_self *self = self_of(n);
	if (self == NULL)
		return;
	reader_stop(self);
	batch_release(self->current);
	builder_destroy(self->raw);
	builder_destroy(self->decoded);
	builder_destroy(self->keys);
	builder_destroy(self->selections);
	if (self->source != NULL)
		self->ops->source_close(self->source);
	for (uint32_t i = 0; i < self->partition_count; i++)
		memory_release(self->partitions[i]->carry);
	memory_release(self->partitions);
	memory_release(self->all_rows);
	memory_release(self->source_rows);
	memory_release(self->key_rows);
	memory_release(self->kept_rows);
	memory_release(self->position);
	arena_destroy(self->memory);
	memory_release(self);
	n->self = NULL;
}

static flow_status
source_open_node(node *n)
{
	source_self *self = self_of(n);
	runtime *run = n->task->topology->run;
	self->raw = builder_create(run->pool, run->batch_rows, run->batch_bytes);
	self->selections = builder_create(run->pool, 1, 0);
	if (self->raw == NULL || self->selections == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < self->partition_count; i++) {
		const source_partition *p = self->partitions[i];
		flow_status status = p->mine && !p->ended ? event_time_partition(n, p->index, PARTITION_LIVE) : FLOW_OK;
		if (status < 0)
			return status;
	}
	flow_status status = decode_open(self);
	if (status == FLOW_OK && self->info.blocking)
		status = reader_start(self, &n->task->error);
	return status;
}

static void
source_close_node(node *n)
{
	source_self *self = self_of(n);
	if (self == NULL)
		return;
	reader_stop(self);
	decode_close(self);
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
	uint32_t count = (uint32_t)left;
	flow_builder *memory = self->selections;
	uint32_t *selection = flow_builder_alloc(memory, count * sizeof(*selection));
	if (selection == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		selection[i] = flow_row(batch, i);
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns), .selection = selection, .selected_count = count };
	flow_batch *part = batch_forward(t->run->pool, batch, &columns, memory);
	if (part == NULL)
		return FLOW_E_MEMORY;
	flow_status status = node_emit(n, 0, part);
	batch_release(part);
	return status;
}

flow_status
source_partition_ended(source_self *self, source_partition *p)
{
	if (!p->mine || p->ended)
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
	const source_partition *p = NULL;
	for (uint32_t i = 0; p == NULL && i < self->partition_count; i++)
		if (self->partitions[i]->index == raw->partition)
			p = self->partitions[i];
	if (p == NULL)
		return error_set(error, FLOW_E_PLUGIN, "the system returned rows of partition %u, which it does not have", raw->partition);
	batch_head head = { .input = self->n->op->stream, .partition = p->index, .place = p->place };
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
	source_partition *p = source_find(self, batch->partition);
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
		return p == NULL ? error_set(&t->error, FLOW_E_PLUGIN, "the system ended partition %u, which is not there", partition)
		                 : source_partition_ended(self, p);
	}
	case FLOW_CHANGED:
		self->must_list = 1;
		return FLOW_OK;
	case FLOW_AGAIN:
		self->waiting = 1;
		set_busy(self, 0);
		return FLOW_AGAIN;
	default:
		return read_failed(self, status);
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
	if (self->live != 0)
		return 0;
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

static void
let_go(source_self *self)
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
	let_go(self);
	return status;
}

int
source_set_paused(source_self *self, int paused)
{
	if (!FLOW_CAN(self->ops, source_pause))
		return 0;
	for (uint32_t i = 0; self->paused != paused && i < self->partition_count; i++)
		if (self->partitions[i]->mine)
			self->ops->source_pause(self->source, self->partitions[i]->index, paused);
	if (!paused)
		self->waiting = 0; /* that nothing came while it was paused says nothing */
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
	else if (self->paused)
		source_set_paused(self, 0);
	return allowed && !must_wait(self) ? read_source(self) : FLOW_AGAIN;
}

int
source_step(node *n)
{
	source_self *self = self_of(n);
	if (n->ended)
		return STEP_IDLE;
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

/* --- positions ------------------------------------------------------------------------------------------------------ */

/* Where reading of a partition goes on; data NULL: nowhere in particular. */
static flow_status
position_of(source_self *self, source_partition *p, flow_slice *position, flow_error *error)
{
	*position = p->restored;
	if (p->used < 0 && (p->restored.data != NULL || self->stream->byte_stream))
		return FLOW_OK;
	uint64_t size = 0;
	flow_status status =
	    self->ops->source_position(self->source, p->index, p->used, self->position, FLOW_POSITION_MAX, &size, error);
	if (status < 0 || size > FLOW_POSITION_MAX)
		return status < 0 ? status : error_set(error, FLOW_E_PLUGIN, "a position has more than %u bytes", FLOW_POSITION_MAX);
	*position = flow_slice_make(self->position, size);
	return FLOW_OK;
}

/* Positions of all partitions of this task. */
static flow_status
add_positions(source_self *self, task_report *report, flow_error *error)
{
	for (uint32_t i = 0; i < self->partition_count; i++) {
		source_partition *p = self->partitions[i];
		if (!p->mine)
			continue;
		checkpoint_position position = { .input = flow_slice_of(self->stream->id), .partition = p->id, .ended = p->ended };
		flow_status status = FLOW_OK;
		if (!p->ended)
			status = position_of(self, p, &position.position, error);
		if (status == FLOW_OK && !p->ended && self->stream->byte_stream) {
			position.decoder = p->restored_decoder;
			if (p->decoder != NULL && FLOW_CAN(self->stream->value.ops, save))
				status = self->stream->value.ops->save(p->decoder, &position.decoder, error);
		}
		if (status == FLOW_OK)
			status = report_position(report, &position);
		if (status < 0) {
			error_prefix(error, "%.*s", (int)p->place.size, p->place.data);
			return status;
		}
	}
	return FLOW_OK;
}

static flow_status
source_barrier(node *n, task_report *report, int last)
{
	(void)last;
	source_self *self = self_of(n);
	flow_status status = add_positions(self, report, &n->task->error);
	let_go(self);
	return status;
}

static flow_status
tell_committed(source_self *self, const task_report *report, flow_error *error)
{
	if (!FLOW_CAN(self->ops, source_committed) || report->position_count == 0)
		return FLOW_OK;
	flow_position *positions = arena_allocate_zeroed(report->memory, report->position_count * sizeof(*positions));
	const flow_position **list = arena_allocate_zeroed(report->memory, report->position_count * sizeof(*list));
	if (positions == NULL || list == NULL)
		return FLOW_E_MEMORY;
	uint64_t count = 0;
	for (uint64_t i = 0; i < report->position_count; i++) {
		const checkpoint_position *from = &report->positions[i];
		if (from->position.data == NULL || !flow_slice_is(from->input, self->stream->id))
			continue;
		positions[count] = (flow_position){ .struct_size = FLOW_SIZEOF(flow_position),
			                                .partition = from->partition,
			                                .bytes = from->position };
		list[count] = &positions[count];
		count++;
	}
	return count == 0 ? FLOW_OK : self->ops->source_committed(self->source, list, count, error);
}

void
source_committed(node *n, const task_report *report)
{
	source_self *self = self_of(n);
	if (tell_committed(self, report, &n->task->error) < 0)
		log_warn(self->stream->id, "cannot tell the system how far it was read: %s", error_message(&n->task->error));
	error_clear(&n->task->error);
	let_go(self);
}

void
source_remaining(node *n, int64_t *records, int64_t *bytes)
{
	source_self *self = self_of(n);
	*records = *bytes = -1;
	if (self != NULL && self->source != NULL && FLOW_CAN(self->ops, source_remaining))
		self->ops->source_remaining(self->source, records, bytes);
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
