/* A source's life: opened, given partitions, positions. */
#include "kafka.h"

struct flow_source {
	flow_system *system;
};

flow_status
kafka_describe_input(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
					 flow_error *error)
{
	description->bounded = request->bounded;
	if (request->offline)
		return FLOW_OK;
	char *topic = kafka_copy(system->host, request->physical_name);
	if (topic == NULL)
		return kafka_no_memory(system->host, error);
	flow_status status = kafka_admin_partitions(system, topic, &description->partition_count, error);
	system->host->release(topic);
	return status;
}

flow_status
kafka_create_stream(flow_system *system, const flow_stream_request *request, int32_t partitions, flow_error *error)
{
	char *topic = kafka_copy(system->host, request->physical_name);
	if (topic == NULL)
		return kafka_no_memory(system->host, error);
	flow_status status = kafka_admin_create(system, topic, partitions, 0, NULL, error);
	system->host->release(topic);
	return status;
}

flow_status
kafka_delete_committed(flow_system *system, const flow_stream_request *request, const flow_position *const *positions,
					   uint64_t count, flow_error *error)
{
	(void)request;
	(void)positions;
	(void)count;
	return flow_fail(system->host, error, FLOW_E_UNSUPPORTED, "records of topics cannot be deleted yet");
}

flow_status
kafka_source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info, flow_source **source,
				  flow_error *error)
{
	(void)request;
	(void)info;
	(void)source;
	return flow_fail(system->host, error, FLOW_E_UNSUPPORTED, "topics cannot be read yet");
}

flow_status
kafka_source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count,
						flow_error *error)
{
	(void)partitions;
	(void)count;
	return flow_fail(source->system->host, error, FLOW_E_UNSUPPORTED, "topics cannot be read yet");
}

flow_status
kafka_source_assign(flow_source *source, uint32_t partition, flow_slice position, flow_error *error)
{
	(void)partition;
	(void)position;
	return flow_fail(source->system->host, error, FLOW_E_UNSUPPORTED, "topics cannot be read yet");
}

flow_status
kafka_source_revoke(flow_source *source, uint32_t partition, flow_error *error)
{
	(void)source;
	(void)partition;
	(void)error;
	return FLOW_OK;
}

void
kafka_source_pause(flow_source *source, uint32_t partition, int paused)
{
	(void)source;
	(void)partition;
	(void)paused;
}

flow_status
kafka_source_read(flow_source *source, flow_builder *builder, flow_error *error)
{
	(void)builder;
	return flow_fail(source->system->host, error, FLOW_E_UNSUPPORTED, "topics cannot be read yet");
}

flow_status
kafka_source_position(flow_source *source, uint32_t partition, int64_t ordinal, void *bytes, uint64_t capacity,
					  uint64_t *size, flow_error *error)
{
	(void)partition;
	(void)ordinal;
	(void)bytes;
	(void)capacity;
	(void)size;
	return flow_fail(source->system->host, error, FLOW_E_UNSUPPORTED, "topics cannot be read yet");
}

flow_status
kafka_source_committed(flow_source *source, const flow_position *const *positions, uint64_t count, flow_error *error)
{
	(void)source;
	(void)positions;
	(void)count;
	(void)error;
	return FLOW_OK;
}

flow_status
kafka_source_released(flow_source *source, uint32_t partition, flow_error *error)
{
	(void)source;
	(void)partition;
	(void)error;
	return FLOW_OK;
}

void
kafka_source_remaining(flow_source *source, int64_t *records, int64_t *bytes)
{
	(void)source;
	*records = *bytes = -1;
}

void
kafka_source_close(flow_source *source)
{
	(void)source;
}
