/* A message becomes a row: nothing is copied but what headers need for their list. */
#include <stdio.h>

#include "kafka_source.h"

/* Who gave the record its timestamp, as a header of its own. */
static flow_header
type_header(const char *name, rd_kafka_timestamp_type_t type)
{
	flow_slice text = flow_slice_of(type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME ? "log_append" : "create");
	flow_header header = { .name = flow_slice_of(name), .value = flow_bytes(text.data, (uint32_t)text.size) };
	if (type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE)
		header.value = flow_null();
	return header;
}

static flow_status
add_headers(const flow_source *source, flow_builder *builder, uint32_t row, const rd_kafka_message_t *message,
			rd_kafka_timestamp_type_t type)
{
	rd_kafka_headers_t *headers = NULL;
	size_t count = 0, more = source->settings.type_header != NULL;
	if (source->settings.headers && rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR)
		count = rd_kafka_header_cnt(headers);
	if (count + more == 0)
		return FLOW_OK;
	if (builder->headers == NULL && builder->ops->add_columns(builder, FLOW_COLUMN_HEADERS) != FLOW_OK)
		return FLOW_E_MEMORY;
	flow_header *items = flow_builder_alloc(builder, (count + more) * sizeof(*items));
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
	if (more)
		items[count] = type_header(source->settings.type_header, type);
	builder->headers[row] = (flow_headers){ items, count + more };
	return FLOW_OK;
}

int
kafka_record_is_bad(const rd_kafka_message_t *message)
{
	rd_kafka_timestamp_type_t type;
	int64_t milliseconds = rd_kafka_message_timestamp(message, &type);
	return type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE &&
		   (milliseconds > INT64_MAX / 1000 || milliseconds < INT64_MIN / 1000);
}

flow_status
kafka_record_reject(const rd_kafka_message_t *message, flow_builder *builder)
{
	rd_kafka_timestamp_type_t type;
	char reason[KAFKA_ERROR_SIZE];
	snprintf(reason, sizeof(reason), "its timestamp, %lld milliseconds, is out of range",
			 (long long)rd_kafka_message_timestamp(message, &type));
	flow_rejection rejection = { .struct_size = FLOW_SIZEOF(flow_rejection),
								 .status = FLOW_E_RANGE,
								 .reason = flow_slice_of(reason),
								 .raw = flow_slice_make(message->payload, message->len),
								 .ordinal = message->offset };
	return builder->ops->reject(builder, &rejection);
}

flow_status
kafka_record_add(flow_source *source, const rd_kafka_message_t *message, flow_builder *builder, flow_error *error)
{
	rd_kafka_timestamp_type_t type;
	int64_t milliseconds = rd_kafka_message_timestamp(message, &type);
	uint32_t row = flow_builder_add(
		builder, message->payload == NULL ? flow_null() : flow_bytes(message->payload, (uint32_t)message->len));
	builder->key[row] = message->key == NULL ? flow_null() : flow_bytes(message->key, (uint32_t)message->key_len);
	builder->timestamp[row] = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? FLOW_NO_TIMESTAMP : milliseconds * 1000;
	builder->ordinal[row] = message->offset;
	if (builder->headers != NULL)
		builder->headers[row] = (flow_headers){ NULL, 0 };
	if ((source->settings.headers || source->settings.type_header != NULL) &&
		add_headers(source, builder, row, message, type) != FLOW_OK)
		return kafka_no_memory(source->system->host, error);
	return FLOW_OK;
}
