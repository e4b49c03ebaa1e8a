/* The world's streams: texts in memory, and outputs of all kinds of delivery. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/runtime_world.h"

#include "base/batch.h"
#include "base/error.h"

#define STREAMS 16
#define WRITERS 16
#define SHARED 8 /* partitions of an input that a group shares */
#define GIVEN 64 /* so often a source can be given one */

typedef struct text {
	char *data;
	size_t size, capacity;
} text;

static void
text_add(text *t, const void *data, size_t size)
{
	if (t->size + size + 1 > t->capacity) {
		t->capacity = (t->size + size + 1) * 2;
		t->data = realloc(t->data, t->capacity);
	}
	memcpy(t->data + t->size, data, size);
	t->size += size;
	t->data[t->size] = '\0';
}

typedef struct world_writer {
	struct flow_writer *open;
	text written; /* resumable: the growing temporary; one-phase: the open transaction */
	size_t synced;
	size_t shown;
	int prepared;
} world_writer;

typedef struct world_stream {
	char id[32];
	/* Input. */
	uint32_t partition_count, piece;
	text *partitions;
	int unbounded, blocking;
	atomic_ullong held_at;
	atomic_ullong rows_read;
	atomic_ullong serviced;
	const flow_waker *wakers[WRITERS];
	uint32_t waker_count;
	/* Shared by a group: partitions that each task is to have, and has until it released them. */
	int group;
	uint32_t wanted[WRITERS];
	int owner[SHARED]; /* task + 1 */
	int64_t committed[SHARED];
	uint32_t released[SHARED], faults, rebalances;
	/* Output. */
	text shown;
	world_writer writers[WRITERS];
	flow_marker marker;
	int has_marker;
	uint32_t stutter, blocked;
	flow_status fail_commit, fail_write, fail_prepare;
	int fail_always;
	uint64_t fail_at; /* write or prepare, counted from now on */
	char refused[64]; /* records with this text are accepted and refused later */
	int fail_after;
	uint64_t commits;
	uint32_t delivery;
} world_stream;

static world_stream streams[STREAMS];
static uint32_t stream_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
world_reset(void)
{
	for (uint32_t i = 0; i < stream_count; i++) {
		for (uint32_t k = 0; k < streams[i].partition_count; k++)
			free(streams[i].partitions[k].data);
		free(streams[i].partitions);
		free(streams[i].shown.data);
		for (uint32_t k = 0; k < WRITERS; k++)
			free(streams[i].writers[k].written.data);
	}
	memset(streams, 0, sizeof(streams));
	stream_count = 0;
}

static world_stream *
stream_of(flow_slice id)
{
	for (uint32_t i = 0; i < stream_count; i++)
		if (flow_slice_is(id, streams[i].id))
			return &streams[i];
	world_stream *s = &streams[stream_count++];
	snprintf(s->id, sizeof(s->id), "%.*s", (int)id.size, id.data);
	s->held_at = UINT64_MAX;
	return s;
}

static world_stream *
named(const char *id)
{
	return stream_of(flow_slice_of(id));
}

void
world_input(const char *id, uint32_t partitions, uint32_t piece)
{
	world_stream *s = named(id);
	s->partition_count = partitions;
	s->piece = piece;
	s->partitions = calloc(partitions, sizeof(*s->partitions));
}

void
world_add(const char *id, uint32_t partition, const char *format, ...)
{
	char line[4096];
	va_list arguments;
	va_start(arguments, format);
	int size = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	text_add(&named(id)->partitions[partition], line, (size_t)size);
}

void
world_fill(const char *id, uint32_t count, uint32_t keys)
{
	for (uint32_t i = 0; i < count; i++)
		world_add(id, i % named(id)->partition_count, "%u,%u,%u\n", i % keys, i, i);
}

void
world_unbounded(const char *id)
{
	named(id)->unbounded = 1;
}

void
world_blocking(const char *id)
{
	named(id)->blocking = 1;
}

static void
wake_sources(world_stream *s)
{
	for (uint32_t i = 0; i < s->waker_count; i++)
		if (s->wakers[i] != NULL)
			s->wakers[i]->wake(s->wakers[i]->wake_context);
}

void
world_group(const char *id)
{
	world_stream *s = named(id);
	s->group = s->unbounded = 1;
	for (uint32_t i = 0; i < SHARED; i++)
		s->committed[i] = -1;
}

static void
want(const char *id, uint32_t task, uint32_t partition, int wanted)
{
	world_stream *s = named(id);
	pthread_mutex_lock(&lock);
	uint32_t bit = 1u << partition;
	s->wanted[task] = wanted ? s->wanted[task] | bit : s->wanted[task] & ~bit;
	wake_sources(s);
	pthread_mutex_unlock(&lock);
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
	pthread_mutex_lock(&lock);
	int64_t seen = *value;
	pthread_mutex_unlock(&lock);
	return seen;
}

int64_t
world_group_position(const char *id, uint32_t partition)
{
	return under_lock(&named(id)->committed[partition]);
}

uint32_t
world_released(const char *id, uint32_t partition)
{
	pthread_mutex_lock(&lock);
	uint32_t released = named(id)->released[partition];
	pthread_mutex_unlock(&lock);
	return released;
}

uint32_t
world_group_faults(const char *id)
{
	return named(id)->faults;
}

void
world_hold_back(const char *id, uint64_t rows)
{
	named(id)->held_at = rows;
}

void
world_release(const char *id)
{
	world_stream *s = named(id);
	s->held_at = UINT64_MAX;
	pthread_mutex_lock(&lock);
	wake_sources(s);
	pthread_mutex_unlock(&lock);
}

uint64_t
world_rows_read(const char *id)
{
	return named(id)->rows_read;
}

uint64_t
world_serviced(const char *id)
{
	return named(id)->serviced;
}

/* --- sources -------------------------------------------------------------------------------------------------------- */

struct flow_source {
	world_stream *stream;
	uint32_t start, task;
	int group, told_only;
	uint32_t count; /* indexes so far */
	uint32_t *of;   /* partition of the index */
	int64_t *began; /* ordinal */
	uint8_t *gone;
	flow_partition *descriptions;
	const flow_partition **list;
	char (*ids)[48];
	uint64_t *at;     /* byte offset of the next unread byte */
	int64_t *ordinal; /* of the next record */
	uint8_t *mine, *ended, *paused;
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
										   .place = flow_slice_of(s->ids[i]) };
	return &s->descriptions[i];
}

static flow_status
open_source(flow_system *system, const flow_stream_request *request, flow_source_info *info, flow_source **source,
			flow_error *error)
{
	(void)system;
	(void)error;
	flow_source *s = calloc(1, sizeof(*s));
	s->stream = stream_of(request->id);
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
	pthread_mutex_lock(&lock);
	s->waker = s->stream->waker_count++;
	s->stream->wakers[s->waker] = info->waker;
	pthread_mutex_unlock(&lock);
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
	pthread_mutex_lock(&lock);
	for (uint32_t p = 0; p < s->stream->partition_count; p++)
		changed |= may_have(s, p) != (entry_of(s, p) != GIVEN);
	pthread_mutex_unlock(&lock);
	return changed;
}

static uint64_t
list_given(flow_source *s)
{
	uint64_t count = 0;
	pthread_mutex_lock(&lock);
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
	pthread_mutex_unlock(&lock);
	return count;
}

static flow_status
list_partitions(flow_source *s, const flow_partition *const **partitions, uint64_t *count, flow_error *error)
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

static flow_status
assign(flow_source *s, uint32_t partition, flow_slice position, flow_error *error)
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

static void
pause_partition(flow_source *s, uint32_t p, int paused)
{
	s->paused[p] = (uint8_t)paused;
}

static flow_status
read_source(flow_source *s, flow_builder *builder, flow_error *error)
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

static flow_status
position(flow_source *s, uint32_t p, int64_t ordinal, void *bytes, uint64_t capacity, uint64_t *size, flow_error *error)
{
	(void)capacity;
	(void)error;
	const text *t = &s->stream->partitions[s->of[p]];
	uint64_t numbers[2] = { 0, 0 };
	if (s->stream->piece != 0) {
		numbers[0] = (uint64_t)ordinal;
	} else {
		numbers[1] = (uint64_t)(ordinal < 0 ? s->began[p] : ordinal + 1);
		numbers[0] = offset_of(t, (int64_t)numbers[1]);
	}
	memcpy(bytes, numbers, sizeof(numbers));
	*size = sizeof(numbers);
	return FLOW_OK;
}

/* A group's positions never go back, and only who has a partition may set its position. */
static void
commit_position(world_stream *s, flow_slice partition, flow_slice bytes, uint32_t task)
{
	uint32_t p = (uint32_t)strtoul(partition.data + strlen(s->id) + 1, NULL, 10);
	uint64_t numbers[2];
	memcpy(numbers, bytes.data, sizeof(numbers));
	s->faults += (int64_t)numbers[1] < s->committed[p] || s->owner[p] != (int)task + 1;
	s->committed[p] = (int64_t)numbers[1];
}

static flow_status
source_committed(flow_source *s, const flow_position *const *positions, uint64_t count, flow_error *error)
{
	(void)error;
	pthread_mutex_lock(&lock);
	for (uint64_t i = 0; s->group && !s->told_only && i < count; i++)
		commit_position(s->stream, positions[i]->partition, positions[i]->bytes, s->task);
	pthread_mutex_unlock(&lock);
	return FLOW_OK;
}

static flow_status
release_partition(flow_source *s, uint32_t partition, flow_error *error)
{
	(void)error;
	pthread_mutex_lock(&lock);
	s->stream->owner[s->of[partition]] = 0;
	s->stream->released[s->of[partition]]++;
	wake_sources(s->stream);
	pthread_mutex_unlock(&lock);
	return FLOW_OK;
}

static flow_status
stop_partition(flow_source *s, uint32_t partition, flow_error *error)
{
	(void)error;
	s->gone[partition] = 1;
	return FLOW_OK;
}

static void
add_numbers(flow_source *s, const flow_numbers *numbers)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < s->count; i++) {
		const text *t = &s->stream->partitions[s->of[i]];
		int64_t lag = 0;
		for (uint64_t at = s->at[i]; at < t->size; at++)
			lag += t->data[at] == '\n';
		if (s->mine[i] && !s->gone[i])
			numbers->add(numbers->context, s->descriptions[i].id, "lag", lag);
	}
	numbers->add(numbers->context, flow_slice_of(""), "rebalances", s->stream->rebalances);
	pthread_mutex_unlock(&lock);
}

static void
close_source(flow_source *s)
{
	pthread_mutex_lock(&lock);
	for (uint32_t p = 0; s->group && p < SHARED; p++)
		if (s->stream->owner[p] == (int)s->task + 1)
			s->stream->owner[p] = 0;
	s->stream->wakers[s->waker] = NULL;
	int others = 0;
	for (uint32_t i = 0; i < s->stream->waker_count; i++)
		others |= s->stream->wakers[i] != NULL;
	if (!others)
		s->stream->waker_count = 0;
	pthread_mutex_unlock(&lock);
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

/* --- writers -------------------------------------------------------------------------------------------------------- */

struct flow_writer {
	world_stream *stream;
	world_writer *mine;
	const flow_waker *waker;
	const flow_batch *refused[SHARED], *told;
	uint32_t refused_rows[SHARED], refused_count;
};

static flow_status
open_writer(flow_system *system, const flow_stream_request *request, uint32_t task, uint32_t task_count,
			const flow_handle *recovered, const flow_waker *waker, flow_writer **writer, flow_error *error)
{
	(void)system;
	(void)task_count;
	(void)error;
	flow_writer *w = calloc(1, sizeof(*w));
	w->stream = stream_of(request->id);
	w->mine = &w->stream->writers[task];
	w->waker = waker;
	pthread_mutex_lock(&lock);
	w->mine->open = w;
	w->mine->prepared = 0;
	if (w->stream->delivery == FLOW_DELIVERY_RESUMABLE) {
		uint64_t length = 0;
		if (recovered != NULL && recovered->bytes.size == sizeof(length))
			memcpy(&length, recovered->bytes.data, sizeof(length));
		assert_true(length <= w->mine->synced);
		w->mine->written.size = w->mine->synced = length;
		if (recovered == NULL)
			w->mine->shown = 0;
	} else if (w->stream->delivery == FLOW_DELIVERY_ONE_PHASE) {
		w->mine->written.size = 0;
	}
	pthread_mutex_unlock(&lock);
	*writer = w;
	return FLOW_OK;
}

static flow_status
may_write(flow_writer *w, flow_error *error)
{
	world_stream *s = w->stream;
	if (s->fail_write < 0 && s->fail_at-- == 0) {
		flow_status status = s->fail_write;
		s->fail_at = 0;
		s->fail_write = s->fail_always ? status : FLOW_OK;
		return error_set(error, status, "the output was told to fail");
	}
	if (s->blocked || (s->delivery == FLOW_DELIVERY_ONE_PHASE && w->mine->prepared))
		return FLOW_AGAIN;
	if (s->stutter > 0) {
		s->stutter--;
		w->waker->wake(w->waker->wake_context);
		return FLOW_AGAIN;
	}
	return FLOW_OK;
}

/* Takes the record; that it cannot be written comes out later. */
static int
refuse(flow_writer *w, const flow_batch *batch, uint32_t row)
{
	const flow_value *value = &batch->value[row];
	if (w->stream->refused[0] == '\0' || flow_is_null(*value) || w->refused_count == SHARED ||
		!flow_slice_is(flow_value_slice(value), w->stream->refused))
		return 0;
	batches_service.retain(batch);
	w->refused[w->refused_count] = batch;
	w->refused_rows[w->refused_count++] = row;
	return 1;
}

static flow_status
failed_row(flow_writer *w, flow_failed_row *failed, flow_error *error)
{
	(void)error;
	batches_service.release(w->told);
	w->told = NULL;
	if (w->refused_count == 0)
		return FLOW_END;
	w->told = w->refused[--w->refused_count];
	failed->batch = w->told;
	failed->row = w->refused_rows[w->refused_count];
	failed->status = FLOW_E_LIMIT;
	failed->reason = flow_slice_of("it is too large");
	return FLOW_OK;
}

static flow_status
write_rows(flow_writer *w, const flow_batch *batch, uint32_t first, uint32_t *accepted, flow_status *statuses,
		   flow_error *error)
{
	(void)statuses;
	*accepted = 0;
	pthread_mutex_lock(&lock);
	flow_status status = may_write(w, error);
	int direct = w->stream->delivery <= FLOW_DELIVERY_IDEMPOTENT;
	uint32_t left = batch->selected_count - first;
	uint32_t taken = status == FLOW_OK ? left : status < 0 ? left / 2 : 0; /* a failure comes behind some rows */
	for (uint32_t i = first; i < first + taken; i++) {
		const flow_value *value = &batch->value[flow_row(batch, i)];
		if (refuse(w, batch, flow_row(batch, i))) {
			(*accepted)++;
			continue;
		}
		text *to = direct ? &w->stream->shown : &w->mine->written;
		if (flow_is_null(*value))
			text_add(to, "null", 4);
		else
			text_add(to, value->as.text, value->size);
		if ((batch->flags & FLOW_BATCH_STREAM) == 0)
			text_add(to, "\n", 1);
		(*accepted)++;
	}
	pthread_mutex_unlock(&lock);
	return status;
}

static flow_status
flush_writer(flow_writer *w, flow_error *error)
{
	(void)w;
	(void)error;
	return FLOW_OK;
}

static flow_status
prepare(flow_writer *w, uint64_t epoch, int last, flow_slice *handle, flow_error *error)
{
	(void)epoch;
	(void)last;
	static _Thread_local uint64_t length;
	world_stream *s = w->stream;
	pthread_mutex_lock(&lock);
	flow_status status = s->fail_prepare < 0 && s->fail_at-- == 0 ? s->fail_prepare : FLOW_OK;
	if (status < 0) {
		s->fail_prepare = FLOW_OK;
		pthread_mutex_unlock(&lock);
		return error_set(error, status, "the output was told to fail");
	}
	length = w->mine->written.size;
	w->mine->synced = w->mine->written.size;
	w->mine->prepared = 1;
	pthread_mutex_unlock(&lock);
	*handle = flow_slice_make(&length, sizeof(length));
	return FLOW_OK;
}

static void
close_writer(flow_writer *w)
{
	pthread_mutex_lock(&lock);
	w->mine->open = NULL;
	pthread_mutex_unlock(&lock);
	while (w->refused_count != 0)
		batches_service.release(w->refused[--w->refused_count]);
	batches_service.release(w->told);
	free(w);
}

/* --- committers ----------------------------------------------------------------------------------------------------- */

struct flow_committer {
	world_stream *stream;
	char job[64], instance[64];
};

static flow_status
open_committer(flow_system *system, const flow_stream_request *request, flow_committer **committer, flow_error *error)
{
	(void)system;
	(void)error;
	*committer = calloc(1, sizeof(**committer));
	(*committer)->stream = stream_of(request->id);
	return FLOW_OK;
}

static void
show(world_stream *s, world_writer *w, size_t length)
{
	if (length <= w->shown)
		return;
	text_add(&s->shown, w->written.data + w->shown, length - w->shown);
	w->shown = length;
}

static void
commit_transaction(world_stream *s, const flow_marker *marker)
{
	for (uint32_t i = 0; i < WRITERS; i++) {
		world_writer *w = &s->writers[i];
		if (!w->prepared)
			continue;
		text_add(&s->shown, w->written.data == NULL ? "" : w->written.data, w->written.size);
		w->written.size = 0;
		w->prepared = 0;
		if (w->open != NULL)
			w->open->waker->wake(w->open->waker->wake_context);
	}
	for (uint64_t i = 0; i < marker->position_count; i++) {
		const flow_input_position *p = marker->positions[i];
		commit_position(stream_of(p->input), p->partition, p->bytes, p->task);
	}
	s->marker = *marker;
	s->has_marker = 1;
}

static flow_status
commit(flow_committer *c, const flow_handle *const *handles, uint64_t count, const flow_marker *marker, int last,
	   flow_error *error)
{
	(void)last;
	world_stream *s = c->stream;
	pthread_mutex_lock(&lock);
	flow_status status = s->fail_commit;
	s->fail_commit = FLOW_OK;
	s->commits++;
	if (status == FLOW_OK || s->fail_after) {
		if (s->delivery == FLOW_DELIVERY_ONE_PHASE)
			commit_transaction(s, marker);
		for (uint64_t i = 0; s->delivery == FLOW_DELIVERY_RESUMABLE && i < count; i++) {
			uint64_t length;
			memcpy(&length, handles[i]->bytes.data, sizeof(length));
			show(s, &s->writers[handles[i]->task], length);
		}
	}
	pthread_mutex_unlock(&lock);
	return status == FLOW_OK ? FLOW_OK : error_set(error, status, "the commit was told to fail");
}

static flow_status
abort_rest(flow_committer *c, const flow_handle *const *keep, uint64_t count, flow_error *error)
{
	(void)error;
	world_stream *s = c->stream;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < WRITERS; i++) {
		uint64_t length = 0;
		for (uint64_t k = 0; k < count; k++)
			if (keep[k]->task == i)
				memcpy(&length, keep[k]->bytes.data, sizeof(length));
		world_writer *w = &s->writers[i];
		if (s->delivery == FLOW_DELIVERY_ONE_PHASE || length == 0) {
			w->written.size = w->synced = 0;
			w->shown = s->delivery == FLOW_DELIVERY_RESUMABLE ? 0 : w->shown;
		} else if (w->written.size > length) {
			w->written.size = w->synced = length;
		}
		w->prepared = 0;
	}
	pthread_mutex_unlock(&lock);
	return FLOW_OK;
}

static flow_status
last_marker(flow_committer *c, const flow_marker *expected, flow_marker *last, int *found, flow_error *error)
{
	(void)error;
	(void)expected;
	world_stream *s = c->stream;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < WRITERS; i++) { /* fences: what is open is lost */
		s->writers[i].written.size = 0;
		s->writers[i].prepared = 0;
	}
	*found = s->has_marker;
	*last = s->marker;
	pthread_mutex_unlock(&lock);
	return FLOW_OK;
}

static void
close_committer(flow_committer *c)
{
	free(c);
}

static flow_status
describe(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
		 flow_error *error)
{
	(void)system;
	(void)request;
	(void)description;
	(void)error;
	return FLOW_OK;
}

static flow_status
open_system(const flow_host *host, const flow_options *options, flow_system **system, flow_error *error)
{
	(void)host;
	(void)options;
	(void)error;
	*system = NULL;
	return FLOW_OK;
}

static void
close_system(flow_system *system)
{
	(void)system;
}

static const flow_system_ops system_ops = {
	.struct_size = FLOW_SIZEOF(flow_system_ops),
	.open = open_system,
	.close = close_system,
	.describe = describe,
	.source_open = open_source,
	.source_partitions = list_partitions,
	.source_assign = assign,
	.source_pause = pause_partition,
	.source_read = read_source,
	.source_position = position,
	.source_revoke = stop_partition,
	.source_committed = source_committed,
	.source_released = release_partition,
	.source_numbers = add_numbers,
	.failed_row = failed_row,
	.source_close = close_source,
	.writer_open = open_writer,
	.write = write_rows,
	.flush = flush_writer,
	.prepare = prepare,
	.writer_close = close_writer,
	.committer_open = open_committer,
	.commit = commit,
	.abort = abort_rest,
	.last_marker = last_marker,
	.committer_close = close_committer,
};

const flow_component world_system = { .struct_size = FLOW_SIZEOF(flow_component),
									  .kind = FLOW_SYSTEM,
									  .id = "world",
									  .doc = "Streams of a test.",
									  .ops = &system_ops };

/* --- what tests see ------------------------------------------------------------------------------------------------- */

void world_deliver(const char *id, uint32_t delivery);

void
world_deliver(const char *id, uint32_t delivery)
{
	named(id)->delivery = delivery;
}

void
world_stutter(const char *id, uint32_t count)
{
	named(id)->stutter = count;
}

void
world_block_output(const char *id)
{
	named(id)->blocked = 1;
}

void
world_open_output(const char *id)
{
	world_stream *s = named(id);
	pthread_mutex_lock(&lock);
	s->blocked = 0;
	for (uint32_t i = 0; i < WRITERS; i++)
		if (s->writers[i].open != NULL)
			s->writers[i].open->waker->wake(s->writers[i].open->waker->wake_context);
	pthread_mutex_unlock(&lock);
}

void
world_fail_commit(const char *id, flow_status status, int done)
{
	named(id)->fail_commit = status;
	named(id)->fail_after = done;
}

void
world_fail_write(const char *id, flow_status status)
{
	named(id)->fail_write = status;
}

void
world_fail_later(const char *id, flow_status status, int prepare, uint64_t calls)
{
	world_stream *s = named(id);
	*(prepare ? &s->fail_prepare : &s->fail_write) = status;
	s->fail_at = calls;
}

void
world_fail_always(const char *id, flow_status status)
{
	world_fail_later(id, status, 0, 0);
	named(id)->fail_always = 1;
}

void
world_refuse(const char *id, const char *record)
{
	snprintf(named(id)->refused, sizeof(named(id)->refused), "%s", record);
}

uint64_t
world_commits(const char *id)
{
	return named(id)->commits;
}

static int
compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *
world_output_raw(const char *id)
{
	const text *t = &named(id)->shown;
	return t->data == NULL ? "" : t->data;
}

uint64_t
world_output_lines(const char *id)
{
	uint64_t lines = 0;
	pthread_mutex_lock(&lock);
	for (const char *at = world_output_raw(id); *at != '\0'; at++)
		lines += *at == '\n';
	pthread_mutex_unlock(&lock);
	return lines;
}

const char *
world_output(const char *id)
{
	static char *sorted, *copy;
	free(sorted);
	free(copy);
	copy = strdup(world_output_raw(id));
	size_t count = 0, size = strlen(copy);
	char **lines = malloc((size + 1) * sizeof(*lines));
	for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n"))
		lines[count++] = line;
	qsort(lines, count, sizeof(*lines), compare_lines);
	sorted = calloc(1, size + count + 1);
	char *to = sorted;
	for (size_t i = 0; i < count; i++)
		to += sprintf(to, "%s\n", lines[i]);
	free(lines);
	return sorted;
}
