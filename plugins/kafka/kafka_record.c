/* A message becomes a row: nothing is copied but what headers need for their list. */
#include "kafka_source.h"

static flow_status
add_headers(flow_builder *builder, uint32_t row, const rd_kafka_message_t *message)
{
	rd_kafka_headers_t *headers = NULL;
	if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return FLOW_OK;
	size_t count = rd_kafka_header_cnt(headers);
	if (count == 0)
		return FLOW_OK;
	if (builder->headers == NULL && builder->ops->add_columns(builder, FLOW_COLUMN_HEADERS) != FLOW_OK)
		return FLOW_E_MEMORY;
	flow_header *items = flow_builder_alloc(builder, count * sizeof(*items));
	if (items == NULL)
		return FLOW_E_MEMORY;
	for (size_t i = 0; i < count; i++) {
		const char *name;
		const void *value;
		size_t size;
		rd_kafka_header_get_all(headers, i, &name, &value, &size);
		items[i].name = flow_slice_of(name);
		items[i].value = value == NULL ? flow_null() : flow_bytes(value, (uint32_t)size);
	}
	builder->headers[row] = (flow_headers){ items, count };
	return FLOW_OK;
}

static flow_status
bad_timestamp(flow_source *source, const struct kafka_partition *p, const rd_kafka_message_t *message,
			  int64_t milliseconds, flow_error *error)
{
	return flow_fail(source->system->host, error, FLOW_E_RANGE,
					 "topic '%s', partition %d, offset %lld: timestamp %lld (milliseconds) is out of range", p->topic,
					 p->number, (long long)message->offset, (long long)milliseconds);
}

flow_status
kafka_record_add(flow_source *source, const struct kafka_partition *p, const rd_kafka_message_t *message,
				 flow_builder *builder, flow_error *error)
{
	rd_kafka_timestamp_type_t type;
	int64_t milliseconds = rd_kafka_message_timestamp(message, &type);
	if (type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE &&
		(milliseconds > INT64_MAX / 1000 || milliseconds < INT64_MIN / 1000))
		return bad_timestamp(source, p, message, milliseconds, error);
	uint32_t row = flow_builder_add(
		builder, message->payload == NULL ? flow_null() : flow_bytes(message->payload, (uint32_t)message->len));
	builder->key[row] = message->key == NULL ? flow_null() : flow_bytes(message->key, (uint32_t)message->key_len);
	builder->timestamp[row] = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? FLOW_NO_TIMESTAMP : milliseconds * 1000;
	builder->ordinal[row] = message->offset;
	if (builder->headers != NULL)
		builder->headers[row] = (flow_headers){ NULL, 0 };
	if (source->settings.headers && add_headers(builder, row, message) != FLOW_OK)
		return kafka_no_memory(source->system->host, error);
	return FLOW_OK;
}
