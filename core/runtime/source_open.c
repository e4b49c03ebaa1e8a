/* A source's life: opened and given its partitions before tasks run, opened by its task, closed. */
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "runtime/control.h"
#include "runtime/source.h"

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

static flow_slice
copy_text(arena *memory, flow_slice from)
{
	return flow_slice_make(from.data == NULL ? NULL : arena_copy(memory, from.data, from.size), from.size);
}

source_partition *
source_add(source_self *self, const flow_partition *from)
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
	p->number = FLOW_HAS(from, number) && from->has_number ? from->number : from->index;
	p->id = copy_text(self->memory, from->id);
	p->place = copy_text(self->memory, from->place.size != 0 ? from->place : from->id);
	p->used = -1;
	self->partitions[self->partition_count++] = p;
	return p;
}

/* Known positions do not count, until an epoch of this run has others. */
static int
begins_anew(const source_self *self)
{
	const runtime *run = self->n->task->topology->run;
	return self->stream->volatile_reader || (self->stream->reset && counter_get(&run->committed_epoch) == 0);
}

/* A bounded input ends with what was there when the job started: the checkpoint has a position for each partition of it. */
static int
bounds_are_known(const source_self *self)
{
	const runtime *run = self->n->task->topology->run;
	const plan_stream *stream = self->stream;
	if (!stream->bounded || begins_anew(self) || run->recovered == NULL)
		return 0;
	for (uint64_t i = 0; i < run->recovered->position_count; i++)
		if (flow_slice_is(run->recovered->positions[i].input, stream->id))
			return 1;
	return 0;
}

flow_status
source_start(source_self *self, source_partition *p, flow_error *error)
{
	p->mine = 1;
	p->assigned = 1;
	self->mine++;
	self->live++;
	atomic_fetch_add(&self->n->task->topology->inputs[self->n->op->stream].live_partitions, 1);
	flow_status status =
		error_settle(error, self->ops->source_assign(self->source, p->index, p->restored, error), "source_assign");
	if (status < 0)
		error_prefix(error, "%.*s", (int)p->place.size, p->place.data);
	else if (self->paused && FLOW_CAN(self->ops, source_pause))
		self->ops->source_pause(self->source, p->index, 1);
	return status;
}

static flow_status
assign_partition(source_self *self, source_partition *p, flow_error *error)
{
	runtime *run = self->n->task->topology->run;
	const checkpoint_position *known = begins_anew(self) ? NULL : recovery_position(run, self->stream, p->id);
	int late = known == NULL && bounds_are_known(self);
	if (late)
		log_warn(self->stream->id, "%.*s is not read: it was not there when the job started; --fresh starts it anew",
				 (int)p->place.size, p->place.data);
	if (late || (known != NULL && known->ended)) {
		p->mine = 1;
		self->mine++;
		p->ended = 1;
		return FLOW_OK;
	}
	if (known != NULL && known->position.size != 0) {
		p->restored = copy_text(self->memory, known->position);
		p->restored_decoder = copy_text(self->memory, known->decoder);
	}
	return source_start(self, p, error);
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
							 "input %s: %.*s was not read to its end when the job was interrupted, and is not there "
							 "any more; bring it "
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
	flow_status status =
		error_settle(error, self->ops->source_partitions(self->source, &list, &count, error), "source_partitions");
	if (status == FLOW_OK && list == NULL && count != 0)
		status = error_set(error, FLOW_E_PLUGIN, "source_partitions names %llu partitions nowhere",
						   (unsigned long long)count);
	for (uint64_t i = 0; status == FLOW_OK && i < count; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without a list error_set has made it a failure */
		if (list[i] == NULL || list[i]->id.size == 0)
			return error_set(error, FLOW_E_PLUGIN, "partition %llu of its list has no id", (unsigned long long)i);
	if (status == FLOW_OK && self->info.self_assigned)
		return source_list_given(self, list, count, error);
	const task *t = self->n->task;
	for (uint64_t i = 0; status == FLOW_OK && i < count; i++) {
		if (source_find(self, list[i]->index) != NULL)
			continue;
		source_partition *p = source_add(self, list[i]);
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

/* A trial commits nothing, so it joins no group: it would take partitions away from the job. */
static flow_status
check_assignment(const source_self *self, uint32_t asked, flow_error *error)
{
	if (self->info.self_assigned == asked)
		return FLOW_OK;
	return error_set(error, FLOW_E_PLUGIN, "system '%s' was to read input %s %s a group, and does the opposite",
					 self->n->task->topology->run->plan->systems[self->stream->system].component->id, self->stream->id,
					 asked ? "by" : "without");
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
	uint32_t asked = self->stream->self_assigned && !n->task->topology->run->throwaway;
	self->info = (flow_source_info){ .struct_size = FLOW_SIZEOF(flow_source_info),
									 .start = self->stream->volatile_reader ? FLOW_START_OLDEST : self->stream->start,
									 .task = n->task->index,
									 .task_count = n->task->stage->task_count,
									 .waker = &self->waker,
									 .self_assigned = asked,
									 .committed_by_output = asked && self->stream->committed_by_output,
									 .anew = (uint32_t)begins_anew(self) };
	flow_status status =
		self->ops->source_open(self->system, &self->stream->request, &self->info, &self->source, error);
	status = error_settle(error, status, "source_open");
	if (status == FLOW_OK)
		status = check_assignment(self, asked, error);
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

flow_status
source_open_node(node *n)
{
	source_self *self = self_of(n);
	runtime *run = n->task->topology->run;
	self->raw = builder_create(run->pool, run->batch_rows, run->batch_bytes);
	self->selections = builder_create(run->pool, 1, 0);
	if (self->raw == NULL || self->selections == NULL)
		return FLOW_E_MEMORY;
	builder_on_reject(self->raw, source_reject_unread, self);
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < self->partition_count; i++) {
		const source_partition *p = self->partitions[i];
		if (p->mine && !p->ended)
			status = event_time_partition(n, p->index, PARTITION_LIVE);
	}
	if (status == FLOW_OK)
		status = event_time_partition(n, NO_PARTITION, PARTITION_TOLD);
	if (status == FLOW_OK)
		status = decode_open(self);
	if (status == FLOW_OK && self->info.blocking)
		status = reader_start(self, &n->task->error);
	return status;
}

void
source_close_node(node *n)
{
	source_self *self = self_of(n);
	if (self == NULL)
		return;
	reader_stop(self);
	decode_close(self);
}
