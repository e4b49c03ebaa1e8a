/* Topics of outputs: made if that is asked for, and what they take, so that a record that the broker would refuse is refused alone,
 * with its reason, before it is sent. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kafka_output.h"

#define BATCH_FIXED 61  /* bytes of a batch of records in front of them */
#define RECORD_FIXED 21 /* at most, of one record: lengths, deltas, counts */
#define HEADER_FIXED 10

/* --- the topic ---------------------------------------------------------------------------------------------------------- */

flow_status
kafka_output_topic(flow_system *system, const flow_stream_request *request, const char *topic, int32_t *partitions,
				   flow_error *error)
{
	flow_status status = kafka_admin_partitions(system, topic, partitions, error);
	if (status != FLOW_E_NOT_FOUND)
		return status;
	if (!flow_option_bool(request->options, "create", 0))
		return flow_fail(system->host, error, FLOW_E_NOT_FOUND,
						 "there is no topic '%s' in this cluster; make it, or set create = true", topic);
	status = kafka_admin_create(system, topic, (int32_t)flow_option_int(request->options, "partitions", 0),
								(int32_t)flow_option_int(request->options, "replication", 0),
								flow_option_get(request->options, "config"), error);
	if (status != FLOW_OK && status != FLOW_E_EXISTS)
		return status;
	flow_say(system->host, FLOW_LOG_INFO, system->name, "topic '%s' was made", topic);
	return kafka_admin_await(system, topic, partitions, error);
}

/* --- its settings ------------------------------------------------------------------------------------------------------- */

static int64_t
number_of(const char *text)
{
	char *end;
	errno = 0;
	long long number = text == NULL ? 0 : strtoll(text, &end, 10);
	return text == NULL || errno != 0 || *end != '\0' ? INT64_MAX : number;
}

static void
note(struct kafka_limits *limits, const char *name, const char *value)
{
	if (value == NULL)
		return;
	/* Brokers before 3.6 know the difference only. */
	int difference = strcmp(name, "message.timestamp.difference.max.ms") == 0 && limits->before == INT64_MAX;
	if (strcmp(name, "max.message.bytes") == 0)
		limits->message_bytes = number_of(value);
	else if (difference || strcmp(name, "message.timestamp.before.max.ms") == 0)
		limits->before = number_of(value);
	else if (strcmp(name, "message.timestamp.after.max.ms") == 0)
		limits->after = number_of(value);
	else if (strcmp(name, "message.timestamp.type") == 0)
		limits->created = strcmp(value, "CreateTime") == 0;
	else if (strcmp(name, "cleanup.policy") == 0)
		limits->keyed = strstr(value, "compact") != NULL;
}

static void
read_settings(rd_kafka_event_t *event, struct kafka_limits *limits)
{
	size_t count = 0;
	const rd_kafka_DescribeConfigs_result_t *result = rd_kafka_event_DescribeConfigs_result(event);
	const rd_kafka_ConfigResource_t **resources =
		result == NULL ? NULL : rd_kafka_DescribeConfigs_result_resources(result, &count);
	if (count != 1 || rd_kafka_ConfigResource_error(resources[0]) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return; /* asking may not be allowed: then the broker has the word */
	const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resources[0], &count);
	for (size_t i = 0; i < count; i++)
		note(limits, rd_kafka_ConfigEntry_name(entries[i]), rd_kafka_ConfigEntry_value(entries[i]));
}

void
kafka_limits_ask(flow_system *system, const char *topic, struct kafka_limits *limits)
{
	rd_kafka_t *client;
	*limits = (struct kafka_limits){ .message_bytes = INT64_MAX, .before = INT64_MAX, .after = INT64_MAX };
	if (kafka_admin_client(system, &client, NULL) != FLOW_OK)
		return;
	char text[KAFKA_ERROR_SIZE];
	rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
	rd_kafka_ConfigResource_t *resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
	rd_kafka_AdminOptions_set_request_timeout(options, system->request_timeout, text, sizeof(text));
	rd_kafka_DescribeConfigs(client, &resource, 1, options, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, system->request_timeout + 1000);
	if (event != NULL) {
		read_settings(event, limits);
		rd_kafka_event_destroy(event);
	}
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_ConfigResource_destroy(resource);
	rd_kafka_queue_destroy(queue);
	if (limits->message_bytes == INT64_MAX)
		return;
	pthread_mutex_lock(&system->lock);
	if (limits->message_bytes > system->record_bytes_most)
		system->record_bytes_most = limits->message_bytes;
	if (limits->message_bytes < system->record_bytes_least)
		system->record_bytes_least = limits->message_bytes;
	pthread_mutex_unlock(&system->lock);
}

/* --- a record ----------------------------------------------------------------------------------------------------------- */

/* What it takes at most; data that cannot be compressed grows a little by the attempt. */
static int64_t
size_of(const flow_batch *batch, uint32_t row)
{
	int64_t size = BATCH_FIXED + RECORD_FIXED + batch->value[row].size;
	if (batch->key != NULL)
		size += batch->key[row].size;
	for (uint64_t i = 0; batch->headers != NULL && i < batch->headers[row].count; i++)
		size +=
			HEADER_FIXED + (int64_t)batch->headers[row].items[i].name.size + batch->headers[row].items[i].value.size;
	return size + size / 256;
}

static flow_status
check_timestamp(const struct kafka_limits *limits, int64_t timestamp, int64_t now, char reason[KAFKA_ERROR_SIZE])
{
	int64_t distance = timestamp / 1000 - now / 1000;
	if (timestamp < 0) {
		snprintf(reason, KAFKA_ERROR_SIZE, "its time (%lld microseconds) is before 1970, where Kafka has none",
				 (long long)timestamp);
		return FLOW_E_RANGE;
	}
	if (!limits->created || (distance <= limits->after && -distance <= limits->before))
		return FLOW_OK;
	snprintf(reason, KAFKA_ERROR_SIZE,
			 "its time is %lld ms %s now, and the topic takes %lld (message.timestamp.%s.max.ms)",
			 (long long)(distance > 0 ? distance : -distance), distance > 0 ? "after" : "before",
			 (long long)(distance > 0 ? limits->after : limits->before), distance > 0 ? "after" : "before");
	return FLOW_E_RANGE;
}

flow_status
kafka_limits_check(const struct kafka_limits *limits, const flow_batch *batch, uint32_t row, int64_t now,
				   char reason[KAFKA_ERROR_SIZE])
{
	if (batch->target != NULL && batch->target[row] >= (uint32_t)limits->partitions) {
		snprintf(reason, KAFKA_ERROR_SIZE, "its partition is %u, and the last one of the topic is %d",
				 batch->target[row], limits->partitions - 1);
		return FLOW_E_RANGE;
	}
	int64_t size = limits->message_bytes == INT64_MAX ? 0 : size_of(batch, row);
	if (size > limits->message_bytes) {
		snprintf(reason, KAFKA_ERROR_SIZE,
				 "it takes %lld bytes, and the topic takes %lld at most (max.message.bytes of the topic)",
				 (long long)size, (long long)limits->message_bytes);
		return FLOW_E_LIMIT;
	}
	if (limits->keyed && (batch->key == NULL || batch->key[row].type == FLOW_NULL)) {
		snprintf(reason, KAFKA_ERROR_SIZE,
				 "it has no key, and the topic is compacted (cleanup.policy): each needs one");
		return FLOW_E_NULL_KEY;
	}
	if (batch->timestamp != NULL && batch->timestamp[row] != FLOW_NO_TIMESTAMP)
		return check_timestamp(limits, batch->timestamp[row], now, reason);
	return FLOW_OK;
}
