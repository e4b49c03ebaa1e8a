/* How far sources were read: positions at barriers, and what systems are told of them. */
#include "runtime/source.h"

#include "base/log.h"

static source_self *
self_of(const node *n)
{
	return n->self;
}

/* Where reading of a partition goes on; data NULL: nowhere in particular. */
static flow_status
position_of(source_self *self, source_partition *p, flow_slice *position, flow_error *error)
{
	*position = p->restored;
	if (!p->ended && p->used < 0 && (p->restored.data != NULL || self->stream->byte_stream))
		return FLOW_OK;
	uint64_t size = 0;
	int64_t used = p->ended ? INT64_MAX : p->used;
	flow_status status =
		self->ops->source_position(self->source, p->index, used, self->position, FLOW_POSITION_MAX, &size, error);
	status = error_settle(error, status, "source_position");
	if (status < 0 || size > FLOW_POSITION_MAX)
		return status < 0 ? status
						  : error_set(error, FLOW_E_PLUGIN, "a position has more than %u bytes", FLOW_POSITION_MAX);
	*position = flow_slice_make(self->position, size);
	return FLOW_OK;
}

static flow_status
save_decoder(const source_self *self, const source_partition *p, flow_slice *state, flow_error *error)
{
	flow_status status = error_settle(error, self->stream->value.ops->save(p->decoder, state, error), "save");
	if (status == FLOW_OK && (state->size > FLOW_POSITION_MAX || (state->data == NULL && state->size != 0)))
		return error_set(error, FLOW_E_PLUGIN, "serde %s saves a state of %llu bytes%s",
						 self->stream->value.component->id, (unsigned long long)state->size,
						 state->data == NULL ? " that are nowhere" : "");
	return status;
}

/* Positions of all partitions of this task. */
static flow_status
add_positions(source_self *self, task_report *report, flow_error *error)
{
	for (uint32_t i = 0; i < self->partition_count; i++) {
		source_partition *p = self->partitions[i];
		if (!p->mine)
			continue;
		checkpoint_position position = { .input = flow_slice_of(self->stream->id),
										 .partition = p->id,
										 .ended = p->ended };
		flow_status status = FLOW_OK;
		/* Nobody goes on behind an end, but systems that show progress are told of it: records may lie in front of it that are not
		 * handed out. */
		if (!p->ended || (p->assigned && FLOW_CAN(self->ops, source_committed) && !self->stream->byte_stream))
			status = position_of(self, p, &position.position, error);
		if (status == FLOW_OK && !p->ended && self->stream->byte_stream) {
			position.decoder = p->restored_decoder;
			if (p->decoder != NULL && FLOW_CAN(self->stream->value.ops, save))
				status = save_decoder(self, p, &position.decoder, error);
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

flow_status
source_barrier(node *n, task_report *report, int last)
{
	(void)last;
	source_self *self = self_of(n);
	flow_status status = add_positions(self, report, &n->task->error);
	source_note_reported(self, report->epoch);
	source_let_go(self);
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
		if (self->info.self_assigned && from->position.size == 0)
			continue; /* nothing of it was read, and the system does not say where it would begin */
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
	source_release(self, report->epoch);
	source_let_go(self);
}

void
source_remaining(node *n, int64_t *records, int64_t *bytes)
{
	source_self *self = self_of(n);
	*records = *bytes = -1;
	if (self != NULL && self->source != NULL && FLOW_CAN(self->ops, source_remaining))
		self->ops->source_remaining(self->source, records, bytes);
}

void
source_numbers(node *n, const flow_numbers *numbers)
{
	source_self *self = self_of(n);
	if (self != NULL && self->source != NULL && FLOW_CAN(self->ops, source_numbers))
		self->ops->source_numbers(self->source, numbers);
}
