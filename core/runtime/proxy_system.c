/* Systems under watch: sources, writers, committers. */
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "runtime/proxy.h"

struct watched_system {
	checked c;
	const flow_system_ops *ops;
	flow_system *real;
	flow_system_ops masked; /* what stands in the copied plan: optional calls only where the plugin has them */
	flow_component component;
};

/* A waker that complains when it is called too late. */
struct watched_waker {
	checked *owner;
	const flow_waker *real;
	flow_waker shown;
};

struct watched_partition {
	uint32_t index;
	uint8_t ended;
	uint8_t revoked;
	int64_t last; /* ordinal */
};

struct watched_source {
	checked c;
	struct watched_system *system;
	flow_source *real;
	struct watched_waker waker;
	struct watched_partition *partitions; /* assigned */
	uint32_t count;
	const flow_schema *schema; /* decoded rows */
	uint32_t decoded;
};

struct watched_writer {
	checked c;
	struct watched_system *system;
	flow_writer *real;
	struct watched_waker waker;
};

struct watched_committer {
	checked c;
	struct watched_system *system;
	flow_committer *real;
};

static struct watched_system *
system_of(flow_system *system)
{
	return (struct watched_system *)system;
}

static struct watched_source *
source_of(flow_source *source)
{
	return (struct watched_source *)source;
}

static struct watched_writer *
writer_of(flow_writer *writer)
{
	return (struct watched_writer *)writer;
}

static struct watched_committer *
committer_of(flow_committer *committer)
{
	return (struct watched_committer *)committer;
}

static void
wake(void *context)
{
	struct watched_waker *w = context;
	if (atomic_load(&w->owner->closed))
		checked_violation(w->owner, NULL, "wake is called after close has begun");
	else
		w->real->wake(w->real->wake_context);
}

static void
watch_waker(struct watched_waker *w, checked *owner, const flow_waker *real)
{
	w->owner = owner;
	w->real = real;
	w->shown = (flow_waker){ .struct_size = FLOW_SIZEOF(flow_waker), .wake = wake, .wake_context = w };
}

/* --- sources -------------------------------------------------------------------------------------------------------- */

static flow_status
watched_source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info,
					flow_source **source, flow_error *error)
{
	struct watched_system *s = system_of(system);
	struct watched_source *made = memory_allocate_zeroed(sizeof(*made));
	if (made == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	checked_init(&made->c, s->c.run, "source", s->c.id);
	made->system = s;
	watch_waker(&made->waker, &made->c, info->waker);
	info->waker = &made->waker.shown;
	checked_enter(&made->c, "source_open");
	flow_status status = s->ops->source_open(s->real, request, info, &made->real, error);
	status = checked_leave(&made->c, "source_open", status, ALLOW_NONE, error);
	if (status == FLOW_OK && made->real == NULL)
		status = checked_violation(&made->c, error, "source_open succeeds without a source");
	if (status < 0) {
		memory_release(made);
		return status;
	}
	made->decoded = info->decoded;
	*source = (flow_source *)made;
	return FLOW_OK;
}

static flow_status
watched_source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count,
						  flow_error *error)
{
	struct watched_source *s = source_of(source);
	checked_enter(&s->c, "source_partitions");
	flow_status status = s->system->ops->source_partitions(s->real, partitions, count, error);
	status = checked_leave(&s->c, "source_partitions", status, ALLOW_NONE, error);
	for (uint64_t i = 0; status == FLOW_OK && i < *count; i++)
		if (*partitions == NULL || (*partitions)[i] == NULL || (*partitions)[i]->id.size == 0)
			status = checked_violation(&s->c, error, "partition %llu has no id", (unsigned long long)i);
	return status;
}

static struct watched_partition *
find(struct watched_source *s, uint32_t index)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->partitions[i].index == index)
			return &s->partitions[i];
	return NULL;
}

static flow_status
watched_source_assign(flow_source *source, uint32_t partition, flow_slice position, flow_error *error)
{
	struct watched_source *s = source_of(source);
	struct watched_partition *grown = memory_reallocate(s->partitions, (s->count + 1) * sizeof(*grown));
	if (grown == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	s->partitions = grown;
	s->partitions[s->count++] = (struct watched_partition){ .index = partition, .last = INT64_MIN };
	checked_enter(&s->c, "source_assign");
	return checked_leave(&s->c, "source_assign", s->system->ops->source_assign(s->real, partition, position, error),
						 ALLOW_NONE, error);
}

static flow_status
watched_source_revoke(flow_source *source, uint32_t partition, flow_error *error)
{
	struct watched_source *s = source_of(source);
	struct watched_partition *p = find(s, partition);
	if (p != NULL)
		p->revoked = 1;
	checked_enter(&s->c, "source_revoke");
	return checked_leave(&s->c, "source_revoke", s->system->ops->source_revoke(s->real, partition, error), ALLOW_NONE,
						 error);
}

static void
watched_source_pause(flow_source *source, uint32_t partition, int paused)
{
	struct watched_source *s = source_of(source);
	checked_enter(&s->c, "source_pause");
	s->system->ops->source_pause(s->real, partition, paused);
	checked_leave_quietly(&s->c);
}

static flow_status
check_read(struct watched_source *s, const flow_builder *builder, flow_error *error)
{
	struct watched_partition *p = find(s, builder->partition);
	if (p == NULL || p->ended || p->revoked)
		return checked_violation(&s->c, error,
								 "source_read returns rows of partition %u, which it was not given, has ended, or was "
								 "told to stop reading",
								 builder->partition);
	if (builder->row_count == 0)
		return checked_violation(&s->c, error, "source_read returns OK without rows");
	flow_status status = checked_room(&s->c, "source_read", builder, error);
	if (status < 0)
		return status;
	for (uint32_t row = 0; builder->ordinal != NULL && row < builder->row_count; row++) {
		if (builder->ordinal[row] <= p->last)
			return checked_violation(&s->c, error, "the ordinals of partition %u do not grow: %lld behind %lld",
									 p->index, (long long)builder->ordinal[row], (long long)p->last);
		p->last = builder->ordinal[row];
	}
	for (uint32_t row = 0; !s->decoded && row < builder->row_count; row++)
		if (builder->value[row].type != FLOW_BYTES && builder->value[row].type != FLOW_NULL)
			return checked_violation(&s->c, error, "a raw row is neither bytes nor null");
	return FLOW_OK;
}

static flow_status
watched_source_read(flow_source *source, flow_builder *builder, flow_error *error)
{
	struct watched_source *s = source_of(source);
	checked_enter(&s->c, "source_read");
	flow_status status = s->system->ops->source_read(s->real, builder, error);
	status = checked_leave(&s->c, "source_read", status, ALLOW_AGAIN | ALLOW_END | ALLOW_CHANGED, error);
	if (status == FLOW_OK)
		return check_read(s, builder, error);
	if (status > 0 && builder->row_count != 0)
		return checked_violation(&s->c, error, "source_read returns rows, but not OK");
	if (status != FLOW_END)
		return status;
	struct watched_partition *p = find(s, builder->partition);
	if (p == NULL || p->ended)
		return checked_violation(&s->c, error, "source_read ends partition %u, which it was not given or has ended",
								 builder->partition);
	p->ended = 1;
	return status;
}

static flow_status
watched_source_position(flow_source *source, uint32_t partition, int64_t ordinal, void *bytes, uint64_t capacity,
						uint64_t *size, flow_error *error)
{
	struct watched_source *s = source_of(source);
	checked_enter(&s->c, "source_position");
	flow_status status = s->system->ops->source_position(s->real, partition, ordinal, bytes, capacity, size, error);
	status = checked_leave(&s->c, "source_position", status, ALLOW_NONE, error);
	return status == FLOW_OK && *size > capacity ? checked_violation(&s->c, error, "a position is larger than its room")
												 : status;
}

static flow_status
watched_source_committed(flow_source *source, const flow_position *const *positions, uint64_t count, flow_error *error)
{
	struct watched_source *s = source_of(source);
	checked_enter(&s->c, "source_committed");
	return checked_leave(&s->c, "source_committed", s->system->ops->source_committed(s->real, positions, count, error),
						 ALLOW_NONE, error);
}

static flow_status
watched_source_released(flow_source *source, uint32_t partition, flow_error *error)
{
	struct watched_source *s = source_of(source);
	struct watched_partition *p = find(s, partition);
	checked_enter(&s->c, "source_released");
	flow_status status = s->system->ops->source_released(s->real, partition, error);
	if (p != NULL)
		*p = s->partitions[--s->count];
	return checked_leave(&s->c, "source_released", status, ALLOW_NONE, error);
}

static void
watched_source_remaining(flow_source *source, int64_t *records, int64_t *bytes)
{
	struct watched_source *s = source_of(source);
	s->system->ops->source_remaining(s->real, records, bytes);
}

static void
watched_source_numbers(flow_source *source, const flow_numbers *numbers)
{
	struct watched_source *s = source_of(source);
	s->system->ops->source_numbers(s->real, numbers); /* [any] */
}

static void
watched_source_close(flow_source *source)
{
	struct watched_source *s = source_of(source);
	checked_enter(&s->c, "source_close");
	atomic_store(&s->c.closed, 1);
	s->system->ops->source_close(s->real);
	memory_release(s->partitions);
	memory_release(s);
}

/* --- writers -------------------------------------------------------------------------------------------------------- */

static flow_status
watched_writer_open(flow_system *system, const flow_stream_request *request, uint32_t index, uint32_t task_count,
					const flow_handle *recovered, const flow_waker *waker, flow_writer **writer, flow_error *error)
{
	struct watched_system *s = system_of(system);
	struct watched_writer *made = memory_allocate_zeroed(sizeof(*made));
	if (made == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	checked_init(&made->c, s->c.run, "writer", s->c.id);
	made->system = s;
	watch_waker(&made->waker, &made->c, waker);
	checked_enter(&made->c, "writer_open");
	flow_status status =
		s->ops->writer_open(s->real, request, index, task_count, recovered, &made->waker.shown, &made->real, error);
	status = checked_leave(&made->c, "writer_open", status, ALLOW_NONE, error);
	if (status < 0) {
		memory_release(made);
		return status;
	}
	*writer = (flow_writer *)made;
	return FLOW_OK;
}

static flow_status
watched_write(flow_writer *writer, const flow_batch *batch, uint32_t first, uint32_t *accepted, flow_status *statuses,
			  flow_error *error)
{
	struct watched_writer *w = writer_of(writer);
	*accepted = UINT32_MAX;
	checked_enter(&w->c, "write");
	flow_status status = w->system->ops->write(w->real, batch, first, accepted, statuses, error);
	status = checked_leave(&w->c, "write", status, ALLOW_AGAIN, error);
	uint32_t offered = batch->selected_count - first;
	if (*accepted > offered) {
		*accepted = 0;
		return checked_violation(&w->c, error, "write does not say how many of %u rows it accepted", offered);
	}
	if (status == FLOW_OK && *accepted != offered)
		return checked_violation(&w->c, error, "write returns OK, but accepted %u of %u rows", *accepted, offered);
	return status;
}

static flow_status
watched_flush(flow_writer *writer, flow_error *error)
{
	struct watched_writer *w = writer_of(writer);
	checked_enter(&w->c, "flush");
	return checked_leave(&w->c, "flush", w->system->ops->flush(w->real, error), ALLOW_NONE, error);
}

static flow_status
watched_failed_row(flow_writer *writer, flow_failed_row *failed, flow_error *error)
{
	struct watched_writer *w = writer_of(writer);
	checked_enter(&w->c, "failed_row");
	flow_status status = w->system->ops->failed_row(w->real, failed, error);
	status = checked_leave(&w->c, "failed_row", status, ALLOW_END, error);
	if (status == FLOW_OK && (failed->batch == NULL || failed->row >= failed->batch->row_count || failed->status >= 0))
		return checked_violation(&w->c, error, "failed_row tells of a row that is none, or that did not fail");
	return status;
}

static flow_status
watched_prepare(flow_writer *writer, uint64_t epoch, int last, flow_slice *handle, flow_error *error)
{
	struct watched_writer *w = writer_of(writer);
	checked_enter(&w->c, "prepare");
	flow_status status = w->system->ops->prepare(w->real, epoch, last, handle, error);
	status = checked_leave(&w->c, "prepare", status, ALLOW_NONE, error);
	if (status == FLOW_OK && handle->size != 0 && handle->data == NULL)
		return checked_violation(&w->c, error, "prepare gives a handle without bytes");
	return status;
}

static void
watched_writer_close(flow_writer *writer)
{
	struct watched_writer *w = writer_of(writer);
	checked_enter(&w->c, "writer_close");
	atomic_store(&w->c.closed, 1);
	w->system->ops->writer_close(w->real);
	memory_release(w);
}

/* --- committers ----------------------------------------------------------------------------------------------------- */

static flow_status
watched_committer_open(flow_system *system, const flow_stream_request *request, flow_committer **committer,
					   flow_error *error)
{
	struct watched_system *s = system_of(system);
	struct watched_committer *made = memory_allocate_zeroed(sizeof(*made));
	if (made == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	checked_init(&made->c, s->c.run, "committer", s->c.id);
	made->system = s;
	checked_enter(&made->c, "committer_open");
	flow_status status = s->ops->committer_open(s->real, request, &made->real, error);
	status = checked_leave(&made->c, "committer_open", status, ALLOW_NONE, error);
	if (status < 0) {
		memory_release(made);
		return status;
	}
	*committer = (flow_committer *)made;
	return FLOW_OK;
}

static flow_status
watched_commit(flow_committer *committer, const flow_handle *const *handles, uint64_t count, const flow_marker *marker,
			   int last, flow_error *error)
{
	struct watched_committer *m = committer_of(committer);
	checked_enter(&m->c, "commit");
	flow_status status = m->system->ops->commit(m->real, handles, count, marker, last, error);
	return checked_leave(&m->c, "commit", status, ALLOW_NONE, error);
}

static flow_status
watched_abort(flow_committer *committer, const flow_handle *const *keep, uint64_t count, flow_error *error)
{
	struct watched_committer *m = committer_of(committer);
	checked_enter(&m->c, "abort");
	return checked_leave(&m->c, "abort", m->system->ops->abort(m->real, keep, count, error), ALLOW_NONE, error);
}

static flow_status
watched_last_marker(flow_committer *committer, const flow_marker *expected, flow_marker *last, int *found,
					flow_error *error)
{
	struct watched_committer *m = committer_of(committer);
	*found = -1;
	checked_enter(&m->c, "last_marker");
	flow_status status = m->system->ops->last_marker(m->real, expected, last, found, error);
	status = checked_leave(&m->c, "last_marker", status, ALLOW_NONE, error);
	if (status == FLOW_OK && *found != 0 && *found != 1)
		return checked_violation(&m->c, error, "last_marker does not say whether it found one");
	return status;
}

static void
watched_committer_close(flow_committer *committer)
{
	struct watched_committer *m = committer_of(committer);
	checked_enter(&m->c, "committer_close");
	m->system->ops->committer_close(m->real);
	memory_release(m);
}

static flow_status
watched_delete_committed(flow_system *system, const flow_stream_request *request, const flow_position *const *positions,
						 uint64_t count, flow_error *error)
{
	struct watched_system *s = system_of(system);
	return s->ops->delete_committed(s->real, request, positions, count, error); /* [any] */
}

static const flow_system_ops watched_ops = {
	.struct_size = FLOW_SIZEOF(flow_system_ops),
	.delete_committed = watched_delete_committed,
	.source_open = watched_source_open,
	.source_partitions = watched_source_partitions,
	.source_assign = watched_source_assign,
	.source_revoke = watched_source_revoke,
	.source_pause = watched_source_pause,
	.source_read = watched_source_read,
	.source_position = watched_source_position,
	.source_committed = watched_source_committed,
	.source_released = watched_source_released,
	.source_remaining = watched_source_remaining,
	.source_close = watched_source_close,
	.writer_open = watched_writer_open,
	.write = watched_write,
	.flush = watched_flush,
	.prepare = watched_prepare,
	.writer_close = watched_writer_close,
	.committer_open = watched_committer_open,
	.commit = watched_commit,
	.abort = watched_abort,
	.last_marker = watched_last_marker,
	.committer_close = watched_committer_close,
	.failed_row = watched_failed_row,
	.source_numbers = watched_source_numbers,
};

#define MASK(member)                                                                                                   \
	if (!FLOW_CAN(s->ops, member))                                                                                     \
		s->masked.member = NULL;

flow_status
proxy_wrap_system(runtime *run, arena *memory, plan_system *system)
{
	struct watched_system *s = arena_allocate_zeroed(memory, sizeof(*s));
	if (s == NULL)
		return FLOW_E_MEMORY;
	checked_init(&s->c, run, "system", system->component->id);
	s->ops = system->component->ops;
	s->real = system->instance;
	s->masked = watched_ops;
	MASK(delete_committed)
	MASK(source_pause)
	MASK(source_revoke)
	MASK(source_released)
	MASK(source_committed)
	MASK(source_remaining)
	MASK(flush)
	MASK(failed_row)
	MASK(source_numbers)
	s->component = *system->component;
	s->component.ops = &s->masked;
	system->component = &s->component;
	system->instance = (flow_system *)s;
	return FLOW_OK;
}
