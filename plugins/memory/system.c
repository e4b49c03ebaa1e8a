/*
 * The system `memory`: topics inside the process (topic.h), for tests and small trials. An input reads the topic of its physical name,
 * or the records that its options list.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "flow_sdk/number.h"
#include "flow_sdk/plugin.h"
#include "memory.h"
#include "topic.h"

#define POSITION_SIZE 8

struct flow_system {
	const flow_host *host;
};

struct memory_partition {
	flow_partition description;
	char id[16];
	uint64_t start;        /* where reading began */
	_Atomic uint64_t next; /* offset of the next record */
	_Atomic uint64_t end;  /* of a bounded read; UINT64_MAX: none */
	atomic_int assigned;
	int paused, ended;
};

struct flow_source {
	const flow_host *host;
	struct topic *topic; /* NULL: the records of the options */
	flow_slice *records; /* with their bytes behind them */
	uint64_t record_count;
	int bounded;
	uint32_t start;
	const flow_waker *waker; /* registered with the topic; NULL: not yet */
	struct memory_partition *partitions;
	const flow_partition **pointers;
	uint32_t partition_count;
	uint32_t current;
};

struct flow_writer {
	const flow_host *host;
	const flow_keys *keys;
	struct topic *topic;
	uint64_t capacity;
	uint32_t turn; /* partition of the next record without a key */
};

static flow_status
no_memory(const flow_host *host, flow_error *error)
{
	return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
}

/* --- the system -------------------------------------------------------------------------------------------------- */

static flow_status
system_open(const flow_host *host, const flow_options *options, flow_system **system, flow_error *error)
{
	(void)options;
	*system = flow_new(host, sizeof(**system));
	if (*system == NULL)
		return no_memory(host, error);
	(*system)->host = host;
	return FLOW_OK;
}

static void
system_close(flow_system *system)
{
	system->host->release(system);
}

static uint32_t
partitions_option(const flow_stream_request *request)
{
	return (uint32_t)flow_option_int(request->options, "partitions", 0);
}

static const flow_option_value *
records_option(const flow_stream_request *request)
{
	return request->direction == FLOW_DIRECTION_INPUT ? flow_option_get(request->options, "records") : NULL;
}

static flow_status
describe(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
		 flow_error *error)
{
	(void)system;
	(void)error;
	const struct topic *topic = records_option(request) == NULL ? topic_find(request->physical_name) : NULL;
	uint32_t partitions = partitions_option(request);
	description->bounded = request->bounded || records_option(request) != NULL;
	description->partition_count = (int32_t)(partitions != 0 ? partitions
											 : topic != NULL ? topic_partitions(topic)
															 : 1);
	return FLOW_OK;
}

static flow_status
create_stream(flow_system *system, const flow_stream_request *request, int32_t partitions, flow_error *error)
{
	struct topic *topic;
	if (topic_find(request->physical_name) != NULL)
		return FLOW_E_EXISTS;
	if (partitions > TOPIC_MAX_PARTITIONS)
		return flow_fail(system->host, error, FLOW_E_LIMIT, "a topic in memory has at most %d partitions",
						 TOPIC_MAX_PARTITIONS);
	return topic_open(system->host, request->physical_name, partitions < 0 ? 0 : (uint32_t)partitions, &topic, error);
}

/* A position: the offset of the next record, big-endian. */
static int
parse_position(flow_slice bytes, uint64_t *offset)
{
	*offset = 0;
	for (uint64_t i = 0; i < bytes.size; i++)
		*offset = *offset << 8 | (unsigned char)bytes.data[i];
	return bytes.size == POSITION_SIZE;
}

static flow_status
bad_position(const flow_host *host, flow_slice partition, flow_error *error)
{
	return flow_fail(host, error, FLOW_E_CORRUPT, "partition %.*s: the position is not one of a topic in memory",
					 (int)partition.size, partition.data);
}

static flow_status
delete_committed(flow_system *system, const flow_stream_request *request, const flow_position *const *positions,
				 uint64_t count, flow_error *error)
{
	struct topic *topic = topic_find(request->physical_name);
	for (uint64_t i = 0; topic != NULL && i < count; i++) {
		uint64_t offset, partition;
		if (!parse_position(positions[i]->bytes, &offset) ||
			flow_parse_uint64(positions[i]->partition, &partition) != FLOW_OK || partition >= topic_partitions(topic))
			return bad_position(system->host, positions[i]->partition, error);
		topic_drop(topic, (uint32_t)partition, offset);
	}
	return FLOW_OK;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static void
source_close(flow_source *source)
{
	if (source->waker != NULL)
		topic_remove_waker(source->topic, source->waker);
	source->host->release(source->records);
	source->host->release(source->partitions);
	source->host->release(source->pointers);
	source->host->release(source);
}

static flow_status
list_records(flow_source *source, const flow_option_value *records, uint32_t partitions, flow_error *error)
{
	source->record_count = records->entry_count;
	source->partition_count = partitions == 0 ? 1 : partitions;
	source->bounded = 1;
	uint64_t size = (records->entry_count + 1) * sizeof(*source->records);
	for (uint64_t i = 0; i < records->entry_count; i++)
		size += records->entries[i]->value->text.size;
	source->records = flow_new(source->host, size);
	if (source->records == NULL)
		return no_memory(source->host, error);
	char *copy = (char *)(source->records + records->entry_count);
	for (uint64_t i = 0; i < records->entry_count; i++) {
		flow_slice text = records->entries[i]->value->text;
		if (text.size != 0)
			memcpy(copy, text.data, text.size);
		source->records[i] = flow_slice_make(copy, text.size);
		copy += text.size;
	}
	return FLOW_OK;
}

static flow_status
find_topic(flow_source *source, const flow_stream_request *request, const flow_source_info *info, flow_error *error)
{
	flow_status status =
		topic_open(source->host, request->physical_name, partitions_option(request), &source->topic, error);
	if (status != FLOW_OK)
		return status;
	source->partition_count = topic_partitions(source->topic);
	source->bounded = request->bounded != 0;
	if (source->bounded || info->waker == NULL)
		return FLOW_OK;
	if (topic_add_waker(source->topic, info->waker) != FLOW_OK)
		return no_memory(source->host, error);
	source->waker = info->waker;
	return FLOW_OK;
}

static flow_status
make_partitions(flow_source *source, flow_error *error)
{
	source->partitions = flow_new(source->host, source->partition_count * sizeof(*source->partitions));
	source->pointers = flow_new(source->host, source->partition_count * sizeof(*source->pointers));
	if (source->partitions == NULL || source->pointers == NULL)
		return no_memory(source->host, error);
	for (uint32_t i = 0; i < source->partition_count; i++) {
		struct memory_partition *partition = &source->partitions[i];
		snprintf(partition->id, sizeof(partition->id), "%u", i);
		partition->description = (flow_partition){ .struct_size = FLOW_SIZEOF(flow_partition),
												   .index = i,
												   .id = flow_slice_of(partition->id),
												   .place = flow_slice_of(partition->id) };
		source->pointers[i] = &partition->description;
	}
	return FLOW_OK;
}

static flow_status
source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info, flow_source **result,
			flow_error *error)
{
	flow_source *source = flow_new(system->host, sizeof(*source));
	if (source == NULL)
		return no_memory(system->host, error);
	source->host = system->host;
	source->start = info->start;
	info->blocking = 0;
	info->decoded = 0;
	info->self_assigned = 0;
	const flow_option_value *records = records_option(request);
	flow_status status = records != NULL ? list_records(source, records, partitions_option(request), error)
										 : find_topic(source, request, info, error);
	if (status == FLOW_OK)
		status = make_partitions(source, error);
	if (status != FLOW_OK)
		source_close(source);
	else
		*result = source;
	return status;
}

static flow_status
source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count, flow_error *error)
{
	(void)error;
	*partitions = source->pointers;
	*count = source->partition_count;
	return FLOW_OK;
}

/* What is there now: the listed records are dealt one by one. */
static void
range_now(flow_source *source, uint32_t index, uint64_t *first, uint64_t *end)
{
	if (source->topic != NULL) {
		topic_range(source->topic, index, first, end);
		return;
	}
	*first = 0;
	*end = source->record_count / source->partition_count + (index < source->record_count % source->partition_count);
}

static flow_status
source_assign(flow_source *source, uint32_t index, flow_slice position, flow_error *error)
{
	struct memory_partition *partition = &source->partitions[index];
	uint64_t first, end, next;
	range_now(source, index, &first, &end);
	next = source->start == FLOW_START_NEWEST ? end : first;
	if (position.data != NULL && !parse_position(position, &next))
		return bad_position(source->host, partition->description.id, error);
	if (next > end)
		return flow_fail(
			source->host, error, FLOW_E_POSITION_LOST,
			"partition %u: the position is %llu, but there are %llu records; what was in memory ended with the "
			"process. Start anew with --fresh",
			index, (unsigned long long)next, (unsigned long long)end);
	partition->start = next;
	atomic_store(&partition->next, next);
	atomic_store(&partition->end, source->bounded ? end : UINT64_MAX);
	partition->paused = partition->ended = 0;
	atomic_store(&partition->assigned, 1);
	return FLOW_OK;
}

static flow_status
source_revoke(flow_source *source, uint32_t index, flow_error *error)
{
	(void)error;
	atomic_store(&source->partitions[index].assigned, 0);
	return FLOW_OK;
}

static void
source_pause(flow_source *source, uint32_t index, int paused)
{
	source->partitions[index].paused = paused;
}

static flow_status
read_listed(flow_source *source, struct memory_partition *partition, uint64_t *next, flow_builder *builder,
			flow_error *error)
{
	if (builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		return no_memory(source->host, error);
	for (; *next < atomic_load(&partition->end) && !flow_builder_full(builder); ++*next) {
		flow_slice record = source->records[*next * source->partition_count + partition->description.index];
		const char *copy = flow_builder_copy(builder, record.data, record.size);
		if (copy == NULL)
			return no_memory(source->host, error);
		uint32_t row = flow_builder_add(builder, flow_bytes(copy, (uint32_t)record.size));
		builder->ordinal[row] = (int64_t)*next;
	}
	return FLOW_OK;
}

/* FLOW_AGAIN: nothing of this partition now. */
static flow_status
read_partition(flow_source *source, struct memory_partition *partition, flow_builder *builder, flow_error *error)
{
	uint64_t next = atomic_load(&partition->next), end = atomic_load(&partition->end);
	builder->partition = partition->description.index;
	if (next >= end) {
		partition->ended = 1;
		return FLOW_END;
	}
	builder->flags |= FLOW_BATCH_RAW;
	flow_status status = source->topic != NULL
							 ? topic_read(source->topic, partition->description.index, &next, end, builder, error)
							 : read_listed(source, partition, &next, builder, error);
	if (status != FLOW_OK)
		return status;
	atomic_store(&partition->next, next);
	return builder->row_count == 0 ? FLOW_AGAIN : FLOW_OK;
}

static flow_status
source_read(flow_source *source, flow_builder *builder, flow_error *error)
{
	for (uint32_t i = 0; i < source->partition_count; i++) {
		source->current = (source->current + 1) % source->partition_count;
		struct memory_partition *partition = &source->partitions[source->current];
		if (!atomic_load(&partition->assigned) || partition->paused || partition->ended)
			continue;
		flow_status status = read_partition(source, partition, builder, error);
		if (status != FLOW_AGAIN)
			return status;
	}
	return FLOW_AGAIN;
}

static flow_status
source_position(flow_source *source, uint32_t index, int64_t ordinal, void *bytes, uint64_t capacity, uint64_t *size,
				flow_error *error)
{
	const struct memory_partition *partition = &source->partitions[index];
	if (capacity < POSITION_SIZE)
		return flow_fail(source->host, error, FLOW_E_ARGUMENT, "a position needs %d bytes", POSITION_SIZE);
	uint64_t next = (uint64_t)ordinal + 1;
	if (ordinal < 0)
		next = partition->start;
	else if (ordinal == INT64_MAX)
		next = atomic_load(&partition->next);
	for (int i = POSITION_SIZE - 1; i >= 0; i--, next >>= 8)
		((unsigned char *)bytes)[i] = (unsigned char)next;
	*size = POSITION_SIZE;
	return FLOW_OK;
}

static void
source_remaining(flow_source *source, int64_t *records, int64_t *bytes)
{
	*records = 0;
	*bytes = -1;
	for (uint32_t i = 0; i < source->partition_count; i++) {
		struct memory_partition *partition = &source->partitions[i];
		uint64_t first, end, bound = atomic_load(&partition->end), next = atomic_load(&partition->next);
		if (!atomic_load(&partition->assigned))
			continue;
		range_now(source, i, &first, &end);
		if (end > bound)
			end = bound;
		*records += end > next ? (int64_t)(end - next) : 0;
	}
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

static flow_status
writer_open(flow_system *system, const flow_stream_request *request, uint32_t task, uint32_t task_count,
			const flow_handle *recovered, const flow_waker *waker, flow_writer **result, flow_error *error)
{
	(void)task_count;
	(void)recovered;
	(void)waker;
	const flow_host *host = system->host;
	flow_writer *writer = flow_new(host, sizeof(*writer));
	if (writer == NULL)
		return no_memory(host, error);
	writer->host = host;
	writer->keys = host->get_service(FLOW_SERVICE_KEYS);
	writer->capacity = (uint64_t)flow_option_int(request->options, "capacity", 1000000);
	writer->turn = task;
	flow_status status = topic_open(host, request->physical_name, partitions_option(request), &writer->topic, error);
	if (status != FLOW_OK)
		host->release(writer);
	else
		*result = writer;
	return status;
}

static uint32_t
choose_partition(flow_writer *writer, const flow_batch *batch, uint32_t row)
{
	uint32_t count = topic_partitions(writer->topic);
	if (batch->target != NULL)
		return batch->target[row] % count;
	if (count == 1)
		return 0;
	if (batch->key != NULL && !flow_is_null(batch->key[row]) && writer->keys != NULL)
		return (uint32_t)(writer->keys->hash(flow_value_slice(&batch->key[row])) % count);
	return writer->turn++ % count;
}

static flow_status
writer_write(flow_writer *writer, const flow_batch *batch, uint32_t first, uint32_t *accepted, flow_status *statuses,
			 flow_error *error)
{
	(void)statuses;
	flow_status status = FLOW_OK;
	*accepted = 0;
	topic_begin_append(writer->topic);
	for (uint32_t i = first; i < batch->selected_count && status == FLOW_OK; i++) {
		uint32_t row = flow_row(batch, i);
		status = topic_append(writer->topic, choose_partition(writer, batch, row), batch, row, writer->capacity, error);
		*accepted += status == FLOW_OK;
	}
	topic_end_append(writer->topic);
	return status;
}

static flow_status
writer_flush(flow_writer *writer, flow_error *error)
{
	(void)writer;
	(void)error;
	return FLOW_OK;
}

static void
writer_close(flow_writer *writer)
{
	writer->host->release(writer);
}

/* --- the component ----------------------------------------------------------------------------------------------- */

static const flow_option records_list = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_LIST,
	.element = FLOW_OPTION_STRING,
	.flags = FLOW_OPTION_OR_ONE,
	.name = "records",
	.doc = "The records themselves, one text each, as the serde reads them. Absent: the topic of the stream's physical "
		   "name is "
		   "read, which an output of this process writes.",
	.example = "[\"{\\\"id\\\":1}\", \"{\\\"id\\\":2}\"]",
};
static const flow_option input_partitions = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "partitions",
	.doc = "Number of partitions; records of the list are dealt one by one. Absent: as the topic has, else 1.",
	.minimum = "1",
	.maximum = "4096",
};
static const flow_option *const input_list[] = { &records_list, &input_partitions, NULL };
static const flow_option_set input_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "input",
	.doc = "Inputs from memory.",
	.options = input_list,
};
static const flow_option capacity_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "capacity",
	.doc = "Most records that the topic holds, over all its partitions; one more is an error.",
	.default_text = "1000000",
	.minimum = "1",
};
static const flow_option output_partitions = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "partitions",
	.doc = "Number of the topic's partitions; records go by their keys' hash, without a key in turn. Absent: as the "
		   "topic has, else "
		   "1.",
	.minimum = "1",
	.maximum = "4096",
};
static const flow_option *const output_list[] = { &capacity_option, &output_partitions, NULL };
static const flow_option_set output_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "output",
	.doc = "Outputs to memory.",
	.options = output_list,
};
static const flow_option_set *const option_sets[] = { &input_set, &output_set, NULL };

static const flow_system_ops system_ops = {
	.struct_size = FLOW_SIZEOF(flow_system_ops),
	.open = system_open,
	.close = system_close,
	.describe = describe,
	.create_stream = create_stream,
	.delete_committed = delete_committed,
	.source_open = source_open,
	.source_partitions = source_partitions,
	.source_assign = source_assign,
	.source_revoke = source_revoke,
	.source_pause = source_pause,
	.source_read = source_read,
	.source_position = source_position,
	.source_remaining = source_remaining,
	.source_close = source_close,
	.writer_open = writer_open,
	.write = writer_write,
	.flush = writer_flush,
	.writer_close = writer_close,
};

const flow_component system_component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SYSTEM,
	.flags = FLOW_SYSTEM_HAS_INPUTS | FLOW_SYSTEM_HAS_OUTPUTS | FLOW_SYSTEM_INTERMEDIATE,
	.id = "memory",
	.doc = "Topics in the memory of this process, for tests and small trials. They end with it.",
	.option_sets = option_sets,
	.ops = &system_ops,
};
