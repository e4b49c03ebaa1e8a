/* The sources of the world: texts in memory, by partition, given by the host or by a group. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/runtime_world.h"

#include "support/runtime_streams.h"

/* --- a group ---------------------------------------------------------------------------------------------------------- */

void
world_wake_sources(world_stream *s)
{
	for (uint32_t i = 0; i < s->waker_count; i++)
		if (s->wakers[i] != NULL)
			s->wakers[i]->wake(s->wakers[i]->wake_context);
}

void
world_number_partitions(const char *id, uint32_t first)
{
	world_stream *s = world_named(id);
	s->numbered = 1;
	s->first_number = first;
}

void
world_group(const char *id)
{
	world_stream *s = world_named(id);
	s->group = s->unbounded = 1;
	for (uint32_t i = 0; i < SHARED; i++)
		s->committed[i] = -1;
}

static void
want(const char *id, uint32_t task, uint32_t partition, int wanted)
{
	world_stream *s = world_named(id);
	pthread_mutex_lock(&world_lock);
	uint32_t bit = 1u << partition;
	s->wanted[task] = wanted ? s->wanted[task] | bit : s->wanted[task] & ~bit;
	world_wake_sources(s);
	pthread_mutex_unlock(&world_lock);
}

void
world_give(const char *id, uint32_t task, uint32_t partition)
{
	want(id, task, partition, 1);
}

void
world_take(const char *id, uint32_t task, uint32_t partition)
{
	want(id, task, partition, 0);
}

static int64_t
under_lock(const int64_t *value)
{
	pthread_mutex_lock(&world_lock);
	int64_t seen = *value;
	pthread_mutex_unlock(&world_lock);
	return seen;
}

int64_t
world_group_position(const char *id, uint32_t partition)
{
	return under_lock(&world_named(id)->committed[partition]);
}

uint32_t
world_released(const char *id, uint32_t partition)
{
	pthread_mutex_lock(&world_lock);
	uint32_t released = world_named(id)->released[partition];
	pthread_mutex_unlock(&world_lock);
	return released;
}

uint32_t
world_group_faults(const char *id)
{
	return world_named(id)->faults;
}

/* --- sources -------------------------------------------------------------------------------------------------------- */

struct flow_source {
	world_stream *stream;
	uint32_t start, task;
	int group, told_only;
	uint32_t count; /* indexes so far */
	uint32_t *of;   /* partition of the index */
	int64_t *began; /* ordinal */
	atomic_uchar *gone;
	flow_partition *descriptions;
	const flow_partition **list;
	char (*ids)[48];
	atomic_uint_fast64_t *at; /* byte offset of the next unread byte; read by who asks for numbers, as what follows */
	int64_t *ordinal;         /* of the next record */
	atomic_uchar *mine;
	uint8_t *ended, *paused;
	uint32_t next;
	uint32_t waker;
};

static const flow_partition *
add_description(flow_source *s, uint32_t partition)
{
	uint32_t i = s->count++;
	s->of[i] = partition;
	snprintf(s->ids[i], sizeof(s->ids[i]), "%s/%u", s->stream->id, partition);
	s->descriptions[i] = (flow_partition){ .struct_size = FLOW_SIZEOF(flow_partition),
										   .index = i,
										   .id = flow_slice_of(s->ids[i]),
										   .place = flow_slice_of(s->ids[i]),
										   .has_number = (uint32_t)s->stream->numbered,
										   .number = s->stream->first_number + partition };
	return &s->descriptions[i];
}

flow_status
world_source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info, flow_source **source,
				  flow_error *error)
{
	(void)system;
	(void)error;
	flow_source *s = calloc(1, sizeof(*s));
	s->stream = world_stream_of(request->id);
	s->start = info->start;
	s->task = info->task;
	info->blocking = (uint32_t)s->stream->blocking;
	s->group = s->stream->group && info->self_assigned;
	s->told_only = info->committed_by_output != 0;
	uint32_t count = s->group ? GIVEN : s->stream->partition_count;
	s->of = calloc(count, sizeof(*s->of));
	s->began = calloc(count, sizeof(*s->began));
	s->gone = calloc(count, 1);
	s->descriptions = calloc(count, sizeof(*s->descriptions));
	s->list = calloc(count, sizeof(*s->list));
	s->ids = calloc(count, sizeof(*s->ids));
	s->at = calloc(count, sizeof(*s->at));
	s->ordinal = calloc(count, sizeof(*s->ordinal));
	s->mine = calloc(count, 1);
	s->ended = calloc(count, 1);
	s->paused = calloc(count, 1);
	for (uint32_t i = 0; !s->group && i < count; i++)
		s->list[i] = add_description(s, i);
	pthread_mutex_lock(&world_lock);
	s->waker = s->stream->waker_count++;
	s->stream->wakers[s->waker] = info->waker;
	pthread_mutex_unlock(&world_lock);
	*source = s;
	return FLOW_OK;
}

/* The entry that has this partition now; GIVEN: none. */
static uint32_t
entry_of(const flow_source *s, uint32_t partition)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (!s->gone[i] && s->of[i] == partition)
			return i;
	return GIVEN;
}

/* What a task is to have and nobody else still has. */
static int
may_have(const flow_source *s, uint32_t partition)
{
	int owner = s->stream->owner[partition];
	return (s->stream->wanted[s->task] >> partition & 1) != 0 && (owner == 0 || owner == (int)s->task + 1);
}

static int
group_changed(const flow_source *s)
{
	int changed = 0;
	pthread_mutex_lock(&world_lock);
	for (uint32_t p = 0; p < s->stream->partition_count; p++)
		changed |= may_have(s, p) != (entry_of(s, p) != GIVEN);
	pthread_mutex_unlock(&world_lock);
	return changed;
}

static uint64_t
list_given(flow_source *s)
{
	uint64_t count = 0;
	pthread_mutex_lock(&world_lock);
	for (uint32_t p = 0; p < s->stream->partition_count; p++) {
		uint32_t entry = entry_of(s, p);
		if (!may_have(s, p)) {
			if (entry != GIVEN)
				s->gone[entry] = 1;
			continue;
		}
		if (entry == GIVEN) {
			entry = s->count;
			add_description(s, p);
			s->stream->rebalances++;
		}
		s->stream->owner[p] = (int)s->task + 1;
		s->list[count++] = &s->descriptions[entry];
	}
	pthread_mutex_unlock(&world_lock);
	return count;
}

flow_status
world_source_partitions(flow_source *s, const flow_partition *const **partitions, uint64_t *count, flow_error *error)
{
	(void)error;
	*partitions = s->list;
	*count = s->stream->partition_count;
	if (s->group)
		*count = list_given(s);
	return FLOW_OK;
}

static uint64_t
offset_of(const text *t, int64_t ordinal)
{
	uint64_t at = 0;
	for (int64_t i = 0; i < ordinal; i++) {
		const char *end = memchr(t->data + at, '\n', t->size - at);
		at = end == NULL ? t->size : (uint64_t)(end - t->data) + 1;
	}
	return at;
}

flow_status
world_source_assign(flow_source *s, uint32_t partition, flow_slice position, flow_error *error)
{
	(void)error;
	s->mine[partition] = 1;
	if (s->group) {
		assert_null(position.data);
		int64_t committed = under_lock(&s->stream->committed[s->of[partition]]);
		s->began[partition] = s->ordinal[partition] = committed < 0 ? 0 : committed;
		s->at[partition] = offset_of(&s->stream->partitions[s->of[partition]], s->ordinal[partition]);
	}
	if (position.data != NULL) {
		uint64_t numbers[2];
		memcpy(numbers, position.data, sizeof(numbers));
		s->at[partition] = numbers[0];
		s->ordinal[partition] = (int64_t)numbers[1];
	}
	return FLOW_OK;
}

static flow_status
read_pieces(flow_source *s, uint32_t p, flow_builder *builder)
{
	const text *t = &s->stream->partitions[s->of[p]];
	uint64_t size = t->size - s->at[p] < s->stream->piece ? t->size - s->at[p] : s->stream->piece;
	builder->flags = FLOW_BATCH_RAW | FLOW_BATCH_STREAM;
	builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL);
	const char *copy = flow_builder_copy(builder, t->data + s->at[p], size);
	uint32_t row = flow_builder_add(builder, flow_bytes(copy, (uint32_t)size));
	builder->ordinal[row] = (int64_t)s->at[p];
	s->at[p] += size;
	atomic_fetch_add(&s->stream->rows_read, 1);
	return FLOW_OK;
}

static flow_status
read_records(flow_source *s, uint32_t p, flow_builder *builder)
{
	const text *t = &s->stream->partitions[s->of[p]];
	builder->flags = FLOW_BATCH_RAW;
	builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL);
	while (!flow_builder_full(builder) && s->at[p] < t->size && s->stream->rows_read < s->stream->held_at) {
		const char *line = t->data + s->at[p], *end = memchr(line, '\n', t->size - s->at[p]);
		size_t size = end == NULL ? t->size - s->at[p] : (size_t)(end - line);
		const char *copy = flow_builder_copy(builder, line, size);
		uint32_t row = flow_builder_add(builder, size == 0 ? flow_null() : flow_bytes(copy, (uint32_t)size));
		builder->ordinal[row] = s->ordinal[p]++;
		s->at[p] += size + (end != NULL);
		atomic_fetch_add(&s->stream->rows_read, 1);
	}
	return FLOW_OK;
}

void
world_source_pause(flow_source *s, uint32_t p, int paused)
{
	s->paused[p] = (uint8_t)paused;
}

flow_status
world_source_read(flow_source *s, flow_builder *builder, flow_error *error)
{
	(void)error;
	world_stream *stream = s->stream;
	if (s->group && group_changed(s))
		return FLOW_CHANGED;
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t p = (s->next + i) % s->count;
		if (!s->mine[p] || s->ended[p] || s->gone[p])
			continue;
		if (s->paused[p]) {
			stream->serviced++;
			continue;
		}
		builder->partition = p;
		if (s->at[p] < stream->partitions[s->of[p]].size) {
			if (stream->rows_read >= stream->held_at)
				break;
			s->next = p + 1;
			return stream->piece != 0 ? read_pieces(s, p, builder) : read_records(s, p, builder);
		}
		if (!stream->unbounded) {
			s->ended[p] = 1;
			return FLOW_END;
		}
	}
	if (stream->blocking)
		usleep(2000);
	return FLOW_AGAIN;
}

flow_status
world_source_position(flow_source *s, uint32_t p, int64_t ordinal, void *bytes, uint64_t capacity, uint64_t *size,
					  flow_error *error)
{
	(void)capacity;
	(void)error;
	const text *t = &s->stream->partitions[s->of[p]];
	uint64_t numbers[2] = { 0, 0 };
	if (s->stream->piece != 0) {
		numbers[0] = (uint64_t)ordinal;
	} else {
		int64_t next = ordinal == INT64_MAX ? s->ordinal[p] : ordinal < 0 ? s->began[p] : ordinal + 1;
		numbers[0] = offset_of(t, next);
		numbers[1] = (uint64_t)next;
	}
	memcpy(bytes, numbers, sizeof(numbers));
	*size = sizeof(numbers);
	return FLOW_OK;
}

/* A group's positions never go back, and only who has a partition may set its position. */
void
world_commit_position(world_stream *s, flow_slice partition, flow_slice bytes, uint32_t task)
{
	uint32_t p = (uint32_t)strtoul(partition.data + strlen(s->id) + 1, NULL, 10);
	uint64_t numbers[2];
	memcpy(numbers, bytes.data, sizeof(numbers));
	s->faults += (int64_t)numbers[1] < s->committed[p] || s->owner[p] != (int)task + 1;
	s->committed[p] = (int64_t)numbers[1];
}

flow_status
world_source_committed(flow_source *s, const flow_position *const *positions, uint64_t count, flow_error *error)
{
	(void)error;
	pthread_mutex_lock(&world_lock);
	for (uint64_t i = 0; s->group && !s->told_only && i < count; i++)
		world_commit_position(s->stream, positions[i]->partition, positions[i]->bytes, s->task);
	pthread_mutex_unlock(&world_lock);
	return FLOW_OK;
}

flow_status
world_source_released(flow_source *s, uint32_t partition, flow_error *error)
{
	(void)error;
	pthread_mutex_lock(&world_lock);
	s->stream->owner[s->of[partition]] = 0;
	s->stream->released[s->of[partition]]++;
	world_wake_sources(s->stream);
	pthread_mutex_unlock(&world_lock);
	return FLOW_OK;
}

flow_status
world_source_revoke(flow_source *s, uint32_t partition, flow_error *error)
{
	(void)error;
	s->gone[partition] = 1;
	return FLOW_OK;
}

void
world_source_numbers(flow_source *s, const flow_numbers *numbers)
{
	pthread_mutex_lock(&world_lock);
	for (uint32_t i = 0; i < s->count; i++) {
		const text *t = &s->stream->partitions[s->of[i]];
		int64_t lag = 0;
		for (uint64_t at = s->at[i]; at < t->size; at++)
			lag += t->data[at] == '\n';
		if (s->mine[i] && !s->gone[i])
			numbers->add(numbers->context, s->descriptions[i].id, "lag", lag);
	}
	numbers->add(numbers->context, flow_slice_of(""), "rebalances", s->stream->rebalances);
	pthread_mutex_unlock(&world_lock);
}

void
world_source_close(flow_source *s)
{
	pthread_mutex_lock(&world_lock);
	for (uint32_t p = 0; s->group && p < SHARED; p++)
		if (s->stream->owner[p] == (int)s->task + 1)
			s->stream->owner[p] = 0;
	s->stream->wakers[s->waker] = NULL;
	int others = 0;
	for (uint32_t i = 0; i < s->stream->waker_count; i++)
		others |= s->stream->wakers[i] != NULL;
	if (!others)
		s->stream->waker_count = 0;
	pthread_mutex_unlock(&world_lock);
	free(s->of);
	free(s->began);
	free(s->gone);
	free(s->descriptions);
	free(s->list);
	free(s->ids);
	free(s->at);
	free(s->ordinal);
	free(s->mine);
	free(s->ended);
	free(s->paused);
	free(s);
}
