/* The world's streams, and its outputs of all kinds of delivery. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/runtime_world.h"

#include "support/runtime_streams.h"

#include "base/batch.h"
#include "base/error.h"

#define STREAMS 16

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

static world_stream streams[STREAMS];
static uint32_t stream_count;
pthread_mutex_t world_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t acknowledged = PTHREAD_COND_INITIALIZER;

void
world_reset(void)
{
	for (uint32_t i = 0; i < stream_count; i++) {
		for (uint32_t k = 0; k < streams[i].partition_count; k++)
			free(streams[i].partitions[k].data);
		free(streams[i].partitions);
		free(streams[i].shown.data);
		free(streams[i].headers.data);
		for (uint32_t k = 0; k < WRITERS; k++)
			free(streams[i].writers[k].written.data);
	}
	memset(streams, 0, sizeof(streams));
	stream_count = 0;
}

world_stream *
world_stream_of(flow_slice id)
{
	for (uint32_t i = 0; i < stream_count; i++)
		if (flow_slice_is(id, streams[i].id))
			return &streams[i];
	world_stream *s = &streams[stream_count++];
	snprintf(s->id, sizeof(s->id), "%.*s", (int)id.size, id.data);
	s->held_at = UINT64_MAX;
	return s;
}

world_stream *
world_named(const char *id)
{
	return world_stream_of(flow_slice_of(id));
}

void
world_input(const char *id, uint32_t partitions, uint32_t piece)
{
	world_stream *s = world_named(id);
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
	text_add(&world_named(id)->partitions[partition], line, (size_t)size);
}

void
world_fill(const char *id, uint32_t count, uint32_t keys)
{
	for (uint32_t i = 0; i < count; i++)
		world_add(id, i % world_named(id)->partition_count, "%u,%u,%u\n", i % keys, i, i);
}

void
world_unbounded(const char *id)
{
	world_named(id)->unbounded = 1;
}

void
world_blocking(const char *id)
{
	world_named(id)->blocking = 1;
}

void
world_hold_back(const char *id, uint64_t rows)
{
	world_named(id)->held_at = rows;
}

void
world_release(const char *id)
{
	world_release_to(id, UINT64_MAX);
}

void
world_release_to(const char *id, uint64_t rows)
{
	world_stream *s = world_named(id);
	s->held_at = rows;
	pthread_mutex_lock(&world_lock);
	world_wake_sources(s);
	pthread_mutex_unlock(&world_lock);
}

uint64_t
world_rows_read(const char *id)
{
	return world_named(id)->rows_read;
}

uint64_t
world_serviced(const char *id)
{
	return world_named(id)->serviced;
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
	world_stream *s = world_stream_of(request->id);
	if (s->opened >= (int)task_count && s->reopens_to_fail != 0) {
		s->reopens_to_fail--;
		return error_set(error, s->fail_reopen, "it is away");
	}
	s->opened++;
	flow_writer *w = calloc(1, sizeof(*w));
	w->stream = s;
	w->mine = &w->stream->writers[task];
	w->waker = waker;
	pthread_mutex_lock(&world_lock);
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
	pthread_mutex_unlock(&world_lock);
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

static void
add_headers(world_stream *s, const flow_batch *batch, uint32_t row)
{
	for (uint64_t i = 0; batch->headers != NULL && i < batch->headers[row].count; i++) {
		const flow_header *h = &batch->headers[row].items[i];
		text_add(&s->headers, h->name.data, h->name.size);
		text_add(&s->headers, "=", 1);
		text_add(&s->headers, h->value.as.text, h->value.size);
		text_add(&s->headers, "\n", 1);
	}
}

static flow_status
write_rows(flow_writer *w, const flow_batch *batch, uint32_t first, uint32_t *accepted, flow_status *statuses,
		   flow_error *error)
{
	(void)statuses;
	*accepted = 0;
	pthread_mutex_lock(&world_lock);
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
		if (w->stream->acknowledges) {
			char *line = w->stream->waiting[w->stream->waiting_count++];
			snprintf(line, sizeof(w->stream->waiting[0]), "%.*s", (int)value->size, value->as.text);
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
		add_headers(w->stream, batch, flow_row(batch, i));
		(*accepted)++;
	}
	pthread_mutex_unlock(&world_lock);
	return status;
}

static flow_status
flush_writer(flow_writer *w, flow_error *error)
{
	(void)error;
	pthread_mutex_lock(&world_lock);
	w->stream->flushes++;
	while (w->stream->waiting_count != 0)
		pthread_cond_wait(&acknowledged, &world_lock);
	pthread_mutex_unlock(&world_lock);
	return FLOW_OK;
}

static flow_status
prepare(flow_writer *w, uint64_t epoch, int last, flow_slice *handle, flow_error *error)
{
	(void)epoch;
	(void)last;
	static _Thread_local uint64_t length;
	world_stream *s = w->stream;
	pthread_mutex_lock(&world_lock);
	flow_status status = s->fail_prepare < 0 && s->fail_at-- == 0 ? s->fail_prepare : FLOW_OK;
	if (status < 0) {
		s->fail_prepare = FLOW_OK;
		pthread_mutex_unlock(&world_lock);
		return error_set(error, status, "the output was told to fail");
	}
	length = w->mine->written.size;
	w->mine->synced = w->mine->written.size;
	w->mine->prepared = 1;
	pthread_mutex_unlock(&world_lock);
	*handle = flow_slice_make(&length, sizeof(length));
	return FLOW_OK;
}

static void
close_writer(flow_writer *w)
{
	pthread_mutex_lock(&world_lock);
	w->mine->open = NULL;
	pthread_mutex_unlock(&world_lock);
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
	(*committer)->stream = world_stream_of(request->id);
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
		world_commit_position(world_stream_of(p->input), p->partition, p->bytes, p->task);
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
	pthread_mutex_lock(&world_lock);
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
	pthread_mutex_unlock(&world_lock);
	return status == FLOW_OK ? FLOW_OK : error_set(error, status, "the commit was told to fail");
}

static flow_status
abort_rest(flow_committer *c, const flow_handle *const *keep, uint64_t count, flow_error *error)
{
	(void)error;
	world_stream *s = c->stream;
	pthread_mutex_lock(&world_lock);
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
	pthread_mutex_unlock(&world_lock);
	return FLOW_OK;
}

static flow_status
last_marker(flow_committer *c, const flow_marker *expected, flow_marker *last, int *found, flow_error *error)
{
	(void)error;
	(void)expected;
	world_stream *s = c->stream;
	pthread_mutex_lock(&world_lock);
	for (uint32_t i = 0; i < WRITERS; i++) { /* fences: what is open is lost */
		s->writers[i].written.size = 0;
		s->writers[i].prepared = 0;
	}
	*found = s->has_marker;
	*last = s->marker;
	pthread_mutex_unlock(&world_lock);
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
	.source_open = world_source_open,
	.source_partitions = world_source_partitions,
	.source_assign = world_source_assign,
	.source_pause = world_source_pause,
	.source_read = world_source_read,
	.source_position = world_source_position,
	.source_revoke = world_source_revoke,
	.source_committed = world_source_committed,
	.source_released = world_source_released,
	.source_numbers = world_source_numbers,
	.failed_row = failed_row,
	.source_close = world_source_close,
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
	world_named(id)->delivery = delivery;
}

void
world_stutter(const char *id, uint32_t count)
{
	world_named(id)->stutter = count;
}

void
world_block_output(const char *id)
{
	world_named(id)->blocked = 1;
}

void
world_open_output(const char *id)
{
	world_stream *s = world_named(id);
	pthread_mutex_lock(&world_lock);
	s->blocked = 0;
	for (uint32_t i = 0; i < WRITERS; i++)
		if (s->writers[i].open != NULL)
			s->writers[i].open->waker->wake(s->writers[i].open->waker->wake_context);
	pthread_mutex_unlock(&world_lock);
}

void
world_fail_commit(const char *id, flow_status status, int done)
{
	world_named(id)->fail_commit = status;
	world_named(id)->fail_after = done;
}

void
world_fail_write(const char *id, flow_status status)
{
	world_named(id)->fail_write = status;
}

void
world_fail_later(const char *id, flow_status status, int prepare, uint64_t calls)
{
	world_stream *s = world_named(id);
	*(prepare ? &s->fail_prepare : &s->fail_write) = status;
	s->fail_at = calls;
}

void
world_fail_always(const char *id, flow_status status)
{
	world_fail_later(id, status, 0, 0);
	world_named(id)->fail_always = 1;
}

void
world_fail_reopen(const char *id, flow_status status, uint32_t times)
{
	world_named(id)->fail_reopen = status;
	world_named(id)->reopens_to_fail = times;
}

void
world_acknowledges(const char *id, int acknowledges)
{
	pthread_mutex_lock(&world_lock);
	world_named(id)->acknowledges = acknowledges;
	pthread_mutex_unlock(&world_lock);
}

void
world_acknowledge(const char *id, const char *record)
{
	world_stream *s = world_named(id);
	pthread_mutex_lock(&world_lock);
	for (uint32_t i = 0; i < s->waiting_count; i++) {
		if (strcmp(s->waiting[i], record) != 0)
			continue;
		text_add(&s->shown, record, strlen(record));
		text_add(&s->shown, "\n", 1);
		memmove(s->waiting[i], s->waiting[i + 1], (s->waiting_count - i - 1) * sizeof(s->waiting[0]));
		s->waiting_count--;
		break;
	}
	pthread_cond_broadcast(&acknowledged);
	pthread_mutex_unlock(&world_lock);
}

uint32_t
world_waiting(const char *id, uint32_t *flushes)
{
	world_stream *s = world_named(id);
	pthread_mutex_lock(&world_lock);
	uint32_t waiting = s->waiting_count;
	*flushes = s->flushes;
	pthread_mutex_unlock(&world_lock);
	return waiting;
}

void
world_refuse(const char *id, const char *record)
{
	snprintf(world_named(id)->refused, sizeof(world_named(id)->refused), "%s", record);
}

uint64_t
world_commits(const char *id)
{
	return world_named(id)->commits;
}

static int
compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *
world_output_raw(const char *id)
{
	const text *t = &world_named(id)->shown;
	return t->data == NULL ? "" : t->data;
}

const char *
world_output_headers(const char *id)
{
	const text *t = &world_named(id)->headers;
	return t->data == NULL ? "" : t->data;
}

uint64_t
world_output_lines(const char *id)
{
	uint64_t lines = 0;
	pthread_mutex_lock(&world_lock);
	for (const char *at = world_output_raw(id); *at != '\0'; at++)
		lines += *at == '\n';
	pthread_mutex_unlock(&world_lock);
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
