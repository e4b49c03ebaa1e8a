/* The source of generated records (generate.h). */
#include "generate.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define POSITION_SIZE 8
#define LONGEST_WAIT 100000 /* microseconds that a call may block */

struct made_partition {
	flow_partition description;
	char id[16];
	uint64_t start; /* where reading began */
	uint64_t next;  /* rows of this partition that were made */
	uint64_t count; /* rows that it has in all */
	int assigned, paused, ended;
};

struct flow_source {
	const flow_host *host;
	struct fields fields;
	struct made_partition *partitions;
	const flow_partition **pointers;
	uint32_t partition_count;
	uint32_t current;
	uint64_t rate; /* records a second of this source; 0: as fast as can be */
	int64_t started;
	uint64_t made;
	int endless;
	atomic_llong left; /* rows of the assigned partitions still to come, unless endless */
};

static flow_status
make_partitions(flow_source *source, uint64_t count, flow_error *error)
{
	const flow_host *host = source->host;
	source->partitions = flow_new(host, source->partition_count * sizeof(*source->partitions));
	source->pointers = flow_new(host, source->partition_count * sizeof(*source->pointers));
	if (source->partitions == NULL || source->pointers == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	for (uint32_t i = 0; i < source->partition_count; i++) {
		struct made_partition *partition = &source->partitions[i];
		snprintf(partition->id, sizeof(partition->id), "%u", i);
		partition->description = (flow_partition){ .struct_size = FLOW_SIZEOF(flow_partition),
												   .index = i,
												   .id = flow_slice_of(partition->id),
												   .place = flow_slice_of(partition->id) };
		partition->count =
			count == 0 ? INT64_MAX : count / source->partition_count + (i < count % source->partition_count);
		source->pointers[i] = &partition->description;
	}
	return FLOW_OK;
}

flow_status
source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info, flow_source **result,
			flow_error *error)
{
	const flow_host *host = system->host;
	flow_source *source = flow_new(host, sizeof(*source));
	if (source == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	source->host = host;
	source->partition_count = (uint32_t)flow_option_int(request->options, "partitions", 1);
	uint64_t count = (uint64_t)flow_option_int(request->options, "count", 0);
	source->endless = count == 0;
	uint64_t rate = (uint64_t)flow_option_int(request->options, "rate", 0);
	source->rate = rate == 0 ? 0 : rate / info->task_count + (info->task < rate % info->task_count);
	if (rate != 0 && source->rate == 0)
		source->rate = 1;
	info->blocking = rate != 0;
	info->decoded = 1;
	info->self_assigned = 0;
	flow_status status = fields_read(host, request->options, &source->fields, error);
	if (status == FLOW_OK)
		status = make_partitions(source, count, error);
	if (status != FLOW_OK)
		source_close(source);
	else
		*result = source;
	return status;
}

void
source_close(flow_source *source)
{
	if (source->fields.items != NULL)
		fields_free(&source->fields);
	source->host->release(source->partitions);
	source->host->release(source->pointers);
	source->host->release(source);
}

flow_status
source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count, flow_error *error)
{
	(void)error;
	*partitions = source->pointers;
	*count = source->partition_count;
	return FLOW_OK;
}

flow_status
source_assign(flow_source *source, uint32_t index, flow_slice position, flow_error *error)
{
	struct made_partition *partition = &source->partitions[index];
	uint64_t next = 0;
	if (position.data != NULL && position.size != POSITION_SIZE)
		return flow_fail(source->host, error, FLOW_E_CORRUPT,
						 "partition %u: the checkpoint's position has %llu bytes, not %d", index,
						 (unsigned long long)position.size, POSITION_SIZE);
	for (uint64_t i = 0; position.data != NULL && i < position.size; i++)
		next = next << 8 | (unsigned char)position.data[i];
	partition->start = partition->next = next;
	partition->ended = partition->paused = 0;
	partition->assigned = 1;
	atomic_fetch_add(&source->left, next < partition->count ? (long long)(partition->count - next) : 0);
	return FLOW_OK;
}

flow_status
source_revoke(flow_source *source, uint32_t index, flow_error *error)
{
	(void)error;
	struct made_partition *partition = &source->partitions[index];
	if (partition->assigned && partition->next < partition->count)
		atomic_fetch_sub(&source->left, (long long)(partition->count - partition->next));
	partition->assigned = 0;
	return FLOW_OK;
}

void
source_pause(flow_source *source, uint32_t index, int paused)
{
	source->partitions[index].paused = paused;
}

static struct made_partition *
next_partition(flow_source *source)
{
	for (uint32_t i = 0; i < source->partition_count; i++) {
		source->current = (source->current + 1) % source->partition_count;
		struct made_partition *partition = &source->partitions[source->current];
		if (partition->assigned && !partition->paused && !partition->ended)
			return partition;
	}
	return NULL;
}

/* How many rows the rate allows now; waits a little where it is none. */
static uint64_t
allowed_now(flow_source *source)
{
	if (source->rate == 0)
		return UINT64_MAX;
	int64_t now = source->host->monotonic();
	if (source->started == 0)
		source->started = now;
	uint64_t due = (uint64_t)((double)(now - source->started) * (double)source->rate / 1e6) + 1;
	if (due > source->made)
		return due - source->made;
	int64_t wait = (int64_t)(1e6 / (double)source->rate) + 1;
	struct timespec pause = { 0, (wait > LONGEST_WAIT ? LONGEST_WAIT : wait) * 1000 };
	nanosleep(&pause, NULL);
	return 0;
}

static flow_status
make_rows(flow_source *source, struct made_partition *partition, uint64_t most, flow_builder *builder,
		  flow_error *error)
{
	uint32_t fields = source->fields.count;
	while (most > 0 && partition->next < partition->count && !flow_builder_full(builder)) {
		uint64_t number = partition->next * source->partition_count + partition->description.index;
		int64_t time;
		if (!fields_event_time(&source->fields, number, &time)) {
			if (builder->row_count != 0)
				break; /* the rows before it first */
			return flow_fail(source->host, error, FLOW_E_RANGE,
							 "the event time of record %llu is out of range; take a smaller step, or a count",
							 (unsigned long long)number);
		}
		flow_value *cells = flow_builder_cells(builder, fields);
		if (cells == NULL || !fields_fill(&source->fields, number, time, builder, cells))
			return flow_fail(source->host, error, FLOW_E_MEMORY, "out of memory");
		uint32_t row = flow_builder_add(builder, flow_record(cells, fields));
		builder->ordinal[row] = (int64_t)partition->next++;
		builder->timestamp[row] = time;
		source->made++;
		most--;
	}
	atomic_fetch_sub(&source->left, builder->row_count);
	return FLOW_OK;
}

flow_status
source_read(flow_source *source, flow_builder *builder, flow_error *error)
{
	struct made_partition *partition = next_partition(source);
	if (partition == NULL)
		return FLOW_AGAIN;
	builder->partition = partition->description.index;
	if (partition->next >= partition->count) {
		partition->ended = 1;
		return FLOW_END;
	}
	uint64_t most = allowed_now(source);
	if (most == 0)
		return FLOW_AGAIN;
	if (builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL | FLOW_COLUMN_TIMESTAMP) != FLOW_OK)
		return flow_fail(source->host, error, FLOW_E_MEMORY, "out of memory");
	return make_rows(source, partition, most, builder, error);
}

flow_status
source_position(flow_source *source, uint32_t index, int64_t ordinal, void *bytes, uint64_t capacity, uint64_t *size,
				flow_error *error)
{
	if (capacity < POSITION_SIZE)
		return flow_fail(source->host, error, FLOW_E_ARGUMENT, "a position needs %d bytes", POSITION_SIZE);
	const struct made_partition *partition = &source->partitions[index];
	uint64_t next = ordinal == INT64_MAX ? partition->next : ordinal < 0 ? partition->start : (uint64_t)ordinal + 1;
	for (int i = POSITION_SIZE - 1; i >= 0; i--, next >>= 8)
		((unsigned char *)bytes)[i] = (unsigned char)next;
	*size = POSITION_SIZE;
	return FLOW_OK;
}

void
source_remaining(flow_source *source, int64_t *records, int64_t *bytes)
{
	*records = source->endless ? -1 : atomic_load(&source->left);
	*bytes = -1;
}
