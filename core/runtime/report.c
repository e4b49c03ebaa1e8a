/* A task's part of a checkpoint: growing arrays in an arena. */
#include <string.h>

#include "base/arena.h"
#include "runtime/run.h"

task_report *
report_create(uint64_t epoch)
{
	arena *memory = arena_create();
	task_report *r = memory == NULL ? NULL : arena_allocate_zeroed(memory, sizeof(*r));
	if (r == NULL) {
		arena_destroy(memory);
		return NULL;
	}
	r->epoch = epoch;
	r->memory = memory;
	return r;
}

void
report_destroy(task_report *r)
{
	if (r == NULL)
		return;
	for (uint64_t i = 0; i < r->delta_count; i++)
		state_delta_release(r->deltas[i]);
	arena_destroy(r->memory);
}

/* Room for one more item; the old array stays in the arena until the report goes. */
static void *
room(task_report *r, void *items, uint64_t count, uint64_t *capacity, size_t size)
{
	if (count < *capacity)
		return items;
	uint64_t larger = *capacity == 0 ? 8 : *capacity * 2;
	void *moved = arena_allocate_zeroed(r->memory, larger * size);
	if (moved == NULL)
		return NULL;
	if (count != 0)
		memcpy(moved, items, count * size);
	*capacity = larger;
	return moved;
}

static int
copy_slice(task_report *r, flow_slice from, flow_slice *to)
{
	to->size = from.size;
	to->data = NULL;
	if (from.data == NULL)
		return 1;
	to->data = arena_copy(r->memory, from.data, from.size);
	return to->data != NULL;
}

flow_status
report_position(task_report *r, const checkpoint_position *position)
{
	void *items = room(r, r->positions, r->position_count, &r->position_capacity, sizeof(*position));
	if (items == NULL)
		return FLOW_E_MEMORY;
	r->positions = items;
	checkpoint_position *p = &r->positions[r->position_count];
	*p = *position;
	if (!copy_slice(r, position->input, &p->input) || !copy_slice(r, position->partition, &p->partition) ||
		!copy_slice(r, position->position, &p->position) || !copy_slice(r, position->decoder, &p->decoder))
		return FLOW_E_MEMORY;
	r->position_count++;
	return FLOW_OK;
}

flow_status
report_handle(task_report *r, const checkpoint_handle *handle)
{
	void *items = room(r, r->handles, r->handle_count, &r->handle_capacity, sizeof(*handle));
	if (items == NULL)
		return FLOW_E_MEMORY;
	r->handles = items;
	checkpoint_handle *h = &r->handles[r->handle_count];
	*h = *handle;
	if (!copy_slice(r, handle->output, &h->output) || !copy_slice(r, handle->bytes, &h->bytes))
		return FLOW_E_MEMORY;
	r->handle_count++;
	return FLOW_OK;
}

flow_status
report_watermark(task_report *r, const checkpoint_watermark *watermark)
{
	void *items = room(r, r->watermarks, r->watermark_count, &r->watermark_capacity, sizeof(*watermark));
	if (items == NULL)
		return FLOW_E_MEMORY;
	r->watermarks = items;
	checkpoint_watermark *w = &r->watermarks[r->watermark_count];
	*w = *watermark;
	if (!copy_slice(r, watermark->operator_name, &w->operator_name))
		return FLOW_E_MEMORY;
	r->watermark_count++;
	return FLOW_OK;
}

flow_status
report_delta(task_report *r, state_delta *delta)
{
	void *items = room(r, r->deltas, r->delta_count, &r->delta_capacity, sizeof(state_delta *));
	if (items == NULL) {
		state_delta_release(delta);
		return FLOW_E_MEMORY;
	}
	r->deltas = items;
	r->deltas[r->delta_count++] = delta;
	return FLOW_OK;
}
