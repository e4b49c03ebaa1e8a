/* How far partitions were read: positions, and what is committed of them. */
#include <stdio.h>

#include "flow_sdk/number.h"
#include "kafka_source.h"

#define POSITION_SIZE 48

/* --- positions: "NEXT", or "NEXT/END" of a bounded read ----------------------------------------------------------------- */

flow_status
kafka_position_parse(const flow_host *host, flow_slice bytes, int64_t *next, int64_t *end, flow_error *error)
{
	uint64_t numbers[2] = { 0, INT64_MAX };
	const char *slash = memchr(bytes.data, '/', bytes.size);
	uint64_t size = slash == NULL ? bytes.size : (uint64_t)(slash - bytes.data);
	int good = flow_parse_uint64(flow_slice_make(bytes.data, size), &numbers[0]) == FLOW_OK;
	if (slash != NULL)
		good &= flow_parse_uint64(flow_slice_make(slash + 1, bytes.size - size - 1), &numbers[1]) == FLOW_OK;
	if (!good || numbers[0] > INT64_MAX || numbers[1] > INT64_MAX)
		return flow_fail(host, error, FLOW_E_CORRUPT, "the position '%.*s' is not one of a topic", (int)bytes.size,
						 bytes.data);
	*next = (int64_t)numbers[0];
	*end = (int64_t)numbers[1];
	return FLOW_OK;
}

/* The partition id: "3", or "orders-eu/3" where the topics are those of a pattern. */
static flow_status
parse_partition(const flow_host *host, flow_slice id, const char *topic, char *name, size_t size, int32_t *number,
				flow_error *error)
{
	uint64_t value;
	const char *slash = id.data;
	for (uint64_t i = 0; i < id.size; i++)
		if (id.data[i] == '/')
			slash = id.data + i + 1;
	uint64_t head = (uint64_t)(slash - id.data);
	if (flow_parse_uint64(flow_slice_make(slash, id.size - head), &value) != FLOW_OK || value > INT32_MAX ||
		(head == 0) != (topic != NULL) || head >= size)
		return flow_fail(host, error, FLOW_E_CORRUPT, "'%.*s' is not a partition of a topic", (int)id.size, id.data);
	snprintf(name, size, "%.*s", head == 0 ? (int)strlen(topic) : (int)head - 1, head == 0 ? topic : id.data);
	*number = (int32_t)value;
	return FLOW_OK;
}

static flow_status
add_position(const flow_host *host, const char *topic, const flow_position *position,
			 rd_kafka_topic_partition_list_t *list, flow_error *error)
{
	char name[256];
	int32_t number = 0;
	int64_t next = 0, end = INT64_MAX;
	flow_status status = parse_partition(host, position->partition, topic, name, sizeof(name), &number, error);
	if (status == FLOW_OK)
		status = kafka_position_parse(host, position->bytes, &next, &end, error);
	if (status == FLOW_OK)
		rd_kafka_topic_partition_list_add(list, name, number)->offset = next;
	return status;
}

flow_status
kafka_position_add(flow_source *source, const flow_position *position, rd_kafka_topic_partition_list_t *list,
				   flow_error *error)
{
	return add_position(source->system->host, source->settings.topic, position, list, error);
}

flow_status
kafka_delete_committed(flow_system *system, const flow_stream_request *request, const flow_position *const *positions,
					   uint64_t count, flow_error *error)
{
	struct kafka_input_settings settings;
	flow_status status = kafka_settings_read(system->host, request, &settings, error);
	if (status != FLOW_OK)
		return status;
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
	for (uint64_t i = 0; i < count && status == FLOW_OK; i++)
		status = add_position(system->host, settings.topic, positions[i], list, error);
	if (status == FLOW_OK)
		status = kafka_admin_delete(system, list, error);
	rd_kafka_topic_partition_list_destroy(list);
	kafka_settings_free(&settings);
	return status;
}

static flow_status
position_of(flow_source *source, uint32_t index, int64_t ordinal, void *bytes, uint64_t capacity, uint64_t *size,
			flow_error *error)
{
	struct kafka_partition *p = source->partitions[index];
	char text[POSITION_SIZE];
	kafka_partition_settle(source, p);
	int64_t next = atomic_load_explicit(&p->next, memory_order_relaxed);
	if (ordinal < 0)
		next = p->last < 0 ? next : p->start;
	else if (ordinal != INT64_MAX && ordinal != p->last)
		next = ordinal + 1;
	if (next > p->bound)
		next = p->bound;
	int length = p->bound == INT64_MAX
					 ? snprintf(text, sizeof(text), "%lld", (long long)next)
					 : snprintf(text, sizeof(text), "%lld/%lld", (long long)next, (long long)p->bound);
	if ((uint64_t)length > capacity)
		return flow_fail(source->system->host, error, FLOW_E_ARGUMENT, "a position needs %d bytes", length);
	memcpy(bytes, text, (size_t)length);
	*size = (uint64_t)length;
	return FLOW_OK;
}

flow_status
kafka_source_position(flow_source *source, uint32_t index, int64_t ordinal, void *bytes, uint64_t capacity,
					  uint64_t *size, flow_error *error)
{
	pthread_mutex_lock(&source->lock);
	flow_status status = position_of(source, index, ordinal, bytes, capacity, size, error);
	pthread_mutex_unlock(&source->lock);
	return status;
}

/* --- committed ---------------------------------------------------------------------------------------------------------- */

/* Commits offsets, and waits. */
static flow_status
commit_now(flow_source *source, rd_kafka_topic_partition_list_t *list, flow_error *error)
{
	const flow_host *host = source->system->host;
	rd_kafka_event_t *event;
	while ((event = rd_kafka_queue_poll(source->answers, 0)) != NULL)
		rd_kafka_event_destroy(event); /* of a commit that took too long */
	rd_kafka_resp_err_t code = rd_kafka_commit_queue(source->client, list, source->answers, NULL, NULL);
	event = code == RD_KAFKA_RESP_ERR_NO_ERROR ? rd_kafka_queue_poll(source->answers, source->system->request_timeout)
											   : NULL;
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		code = event == NULL ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_event_error(event);
	if (event != NULL)
		rd_kafka_event_destroy(event);
	return code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR__NO_OFFSET
			   ? FLOW_OK
			   : kafka_failed(host, error, code, "offsets of group '%s' cannot be committed", source->settings.group);
}

/* For the client to commit, when it is in the middle of nothing. */
static void
store(flow_source *source, rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_offsets_store(source->client, list); /* what is not assigned any more is left out */
}

static void
note_saved(flow_source *source, const char *topic, int32_t number, int64_t offset)
{
	for (uint32_t i = source->partition_count; i > 0; i--) {
		struct kafka_partition *p = source->partitions[i - 1];
		if (p->number == number && strcmp(p->topic, topic) == 0) {
			atomic_store(&p->saved, offset);
			return;
		}
	}
}

static flow_status
committed(flow_source *source, const flow_position *const *positions, uint64_t count, flow_error *error)
{
	source->told = 1;
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
	flow_status status = FLOW_OK;
	for (uint64_t i = 0; i < count && status == FLOW_OK; i++)
		status = kafka_position_add(source, positions[i], list, error);
	for (int i = list->cnt - 1; i >= 0; i--) {
		const rd_kafka_topic_partition_t *one = &list->elems[i];
		note_saved(source, one->topic, one->partition, one->offset);
		if (!kafka_partition_is_ours(source, one->topic, one->partition))
			rd_kafka_topic_partition_list_del_by_idx(list, i);
	}
	/* A member whose commit waits behind its own question to join again, on the same connection, is thrown out for it. So it is left to
	 * the client, which knows when it joins; while partitions are taken away it cannot be joining. */
	int member = source->group != NULL;
	if (status == FLOW_OK && source->commits && list->cnt != 0 && member)
		store(source, list);
	if (status == FLOW_OK && source->commits && list->cnt != 0 && (!member || kafka_group_is_taking(source)))
		status = commit_now(source, list, error);
	rd_kafka_topic_partition_list_destroy(list);
	return status;
}

flow_status
kafka_source_committed(flow_source *source, const flow_position *const *positions, uint64_t count, flow_error *error)
{
	pthread_mutex_lock(&source->lock);
	flow_status status = committed(source, positions, count, error);
	pthread_mutex_unlock(&source->lock);
	return status;
}

static flow_status
released(flow_source *source, uint32_t index, flow_error *error)
{
	return source->group == NULL ? FLOW_OK : kafka_group_released(source, source->partitions[index], error);
}

flow_status
kafka_source_released(flow_source *source, uint32_t index, flow_error *error)
{
	pthread_mutex_lock(&source->lock);
	flow_status status = released(source, index, error);
	pthread_mutex_unlock(&source->lock);
	return status;
}
