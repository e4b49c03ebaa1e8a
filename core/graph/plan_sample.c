/* The first bytes of an input, for serdes that find their fields in the data. */
#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "base/batch.h"
#include "base/error.h"
#include "graph/planner.h"

/* Of a source that waits by itself, a tenth of a second each: a pipe that has given something, and then nothing for so many calls, is not
 * waited for; if it stopped in the middle of a line, for so many. */
#define QUIET_CALLS 10
#define QUIET_CALLS_WITHIN_LINE 100

uint32_t plan_sample_seconds = 10;

struct reading {
	const flow_system_ops *ops;
	flow_source *source;
	flow_builder *builder;
	char *bytes;
	uint64_t size;
	int blocking; /* read waits by itself */
	int quiet;    /* calls of it that gave nothing */
	struct timespec until;
	sem_t wake;
};

static void
wake(void *context)
{
	sem_post(context);
}

/* Whoever writes a pipe may take its time before it begins. */
static flow_status
wait_for_pipe(struct reading *r)
{
	int within_line = r->size != 0 && r->bytes[r->size - 1] != '\n';
	return r->size != 0 && ++r->quiet >= (within_line ? QUIET_CALLS_WITHIN_LINE : QUIET_CALLS) ? FLOW_END : FLOW_OK;
}

static flow_status
wait_for_more(struct reading *r, flow_error *error)
{
	if (r->blocking)
		return wait_for_pipe(r);
	while (sem_timedwait(&r->wake, &r->until) != 0)
		if (errno != EINTR)
			return error_set(error, FLOW_E_TIMEOUT, "nothing came within %u seconds", plan_sample_seconds);
	return FLOW_OK;
}

static void
take_rows(struct reading *r)
{
	for (uint32_t row = 0; row < r->builder->row_count && r->size < FLOW_SAMPLE_SIZE; row++) {
		flow_slice piece = flow_value_slice(&r->builder->value[row]);
		if (r->builder->value[row].type != FLOW_BYTES)
			continue;
		uint64_t room = FLOW_SAMPLE_SIZE - r->size, take = piece.size < room ? piece.size : room;
		if (take != 0)
			memcpy(r->bytes + r->size, piece.data, take);
		r->size += take;
		r->quiet = 0;
	}
	builder_clear(r->builder);
}

static flow_status
read_pieces(struct reading *r, flow_error *error)
{
	while (r->size < FLOW_SAMPLE_SIZE) {
		flow_status status = r->ops->source_read(r->source, r->builder, error);
		take_rows(r);
		if (status == FLOW_AGAIN)
			status = wait_for_more(r, error);
		if (status == FLOW_END)
			return FLOW_OK;
		if (status < 0)
			return status;
	}
	return FLOW_OK;
}

/* Reads the first partition that is not empty; none is an empty sample. */
static flow_status
read_first_partition(struct reading *r, flow_error *error)
{
	const flow_partition *const *partitions = NULL;
	uint64_t count = 0;
	flow_status status = r->ops->source_partitions(r->source, &partitions, &count, error);
	for (uint64_t i = 0; status == FLOW_OK && i < count && r->size == 0; i++) {
		status = r->ops->source_assign(r->source, partitions[i]->index, flow_slice_make(NULL, 0), error);
		if (status == FLOW_OK)
			status = read_pieces(r, error);
	}
	return status;
}

static flow_status
read_with_source(struct reading *r, const plan_system *system, const plan_stream *stream, flow_error *error)
{
	flow_waker waker = { FLOW_SIZEOF(flow_waker), 0, wake, &r->wake };
	flow_source_info info = {
		.struct_size = FLOW_SIZEOF(flow_source_info),
		.start = FLOW_START_OLDEST,
		.task_count = 1,
		.waker = &waker,
		.sample = 1,
	};
	flow_status status = r->ops->source_open(system->instance, &stream->request, &info, &r->source, error);
	if (status != FLOW_OK)
		return status;
	r->blocking = info.blocking != 0;
	clock_gettime(CLOCK_REALTIME, &r->until);
	r->until.tv_sec += plan_sample_seconds;
	status = read_first_partition(r, error);
	builder_clear(r->builder);
	r->ops->source_close(r->source);
	return status;
}

flow_status
plan_sample(planner *p, const plan_stream *stream, flow_slice *sample, flow_error *error)
{
	const plan_system *system = &p->plan->systems[stream->system];
	struct reading r = { .ops = system->component->ops };
	batch_pool *pool = batch_pool_create(0);
	r.builder = pool == NULL ? NULL : builder_create(pool, 0, 0);
	r.bytes = arena_allocate(p->arena, FLOW_SAMPLE_SIZE + 64); /* decoders may read a little beyond */
	sem_init(&r.wake, 0, 0);
	flow_status status = r.builder == NULL || r.bytes == NULL ? error_set(error, FLOW_E_MEMORY, "out of memory")
															  : read_with_source(&r, system, stream, error);
	if (status == FLOW_OK)
		*sample = flow_slice_make(r.bytes, r.size);
	builder_destroy(r.builder);
	if (pool != NULL)
		batch_pool_destroy(pool);
	sem_destroy(&r.wake);
	return status;
}
