/*
 * Partitions that a consumer group gives and takes. The system knows where each goes on. One that is taken away is read no more; with
 * the next epoch what was read of it is written, flushed and committed, and only then it is released. The others are read on meanwhile.
 */
#include "base/log.h"
#include "runtime/source.h"

/* Listed again before it was released: its old position would be committed behind the new one. */
static int
waits_for_release(const source_self *self, flow_slice id)
{
	for (uint32_t i = 0; i < self->partition_count; i++)
		if (self->partitions[i]->gone && flow_slice_equal(self->partitions[i]->id, id))
			return 1;
	return 0;
}

static int
is_in(const flow_partition *const *list, uint64_t count, uint32_t index)
{
	for (uint64_t i = 0; i < count; i++)
		if (list[i]->index == index)
			return 1;
	return 0;
}

static flow_status
take_away(source_self *self, source_partition *p, flow_error *error)
{
	topology *t = self->n->task->topology;
	p->gone = 1;
	if (!p->ended) {
		self->live--;
		atomic_fetch_sub(&t->inputs[self->n->op->stream].live_partitions, 1);
	}
	flow_status status = FLOW_OK;
	if (FLOW_CAN(self->ops, source_revoke))
		status = error_settle(error, self->ops->source_revoke(self->source, p->index, error), "source_revoke");
	if (status == FLOW_OK)
		status = event_time_partition(self->n, p->index, PARTITION_GONE);
	atomic_store(&t->releasing, 1);
	atomic_store(&t->run->control_signal, 1);
	signal_wake(&t->run->control_signal);
	return status;
}

flow_status
source_list_given(source_self *self, const flow_partition *const *list, uint64_t count, flow_error *error)
{
	uint32_t given = 0, taken = 0, before = self->partition_count;
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < before; i++) {
		source_partition *p = self->partitions[i];
		if (p->gone || is_in(list, count, p->index))
			continue;
		taken++;
		status = take_away(self, p, error);
	}
	for (uint64_t i = 0; status == FLOW_OK && i < count; i++) {
		if (source_find(self, list[i]->index) != NULL)
			continue;
		if (waits_for_release(self, list[i]->id)) {
			self->list_after_release = 1;
			continue;
		}
		source_partition *p = source_add(self, list[i]);
		status = p == NULL ? error_set(error, FLOW_E_MEMORY, "out of memory") : source_start(self, p, error);
		given++;
	}
	if (given != 0 || taken != 0)
		log_info(self->stream->id, "task %u: the group gave %u partition%s and took %u; %u are read now",
				 self->n->task->index + 1, given, given == 1 ? "" : "s", taken, self->live);
	return status;
}

void
source_note_reported(source_self *self, uint64_t epoch)
{
	for (uint32_t i = 0; i < self->partition_count; i++)
		if (self->partitions[i]->gone && self->partitions[i]->reported == 0)
			self->partitions[i]->reported = epoch;
}

void
source_release(source_self *self, uint64_t epoch)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < self->partition_count; i++) {
		source_partition *p = self->partitions[i];
		if (!p->gone || p->reported == 0 || p->reported > epoch) {
			self->partitions[kept++] = p;
			continue;
		}
		flow_error error = { 0 };
		if (FLOW_CAN(self->ops, source_released) && self->ops->source_released(self->source, p->index, &error) < 0)
			log_warn(self->stream->id, "%.*s: cannot be handed over: %s", (int)p->place.size, p->place.data,
					 error_message(&error));
		error_clear(&error);
		self->partition = self->partition == p ? NULL : self->partition;
		self->mine--;
	}
	if (kept != self->partition_count && self->list_after_release) {
		self->list_after_release = 0;
		self->must_list = 1;
	}
	self->partition_count = kept;
}
