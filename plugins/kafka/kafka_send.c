/* Rows of a batch to a producer, without copies; what comes of them is told by reports (kafka_output.h). */
#include <stdio.h>

#include "kafka_output.h"

static const char nothing[1];

/* A batch of which rows are on their way. */
struct sending {
	flow_writer *writer;
	const flow_batch *batch;
	uint32_t slot;
	uint64_t bytes; /* that were handed to the client */
	uint32_t done;  /* rows that need no report: refused, or not sent */
	uint32_t
		beyond; /* rows that will be reported, though they are not accepted: something is wrong with one before them */
	int64_t now;
	flow_error *error;
};

static void *
bytes_of(const flow_value *cell)
{
	if (cell == NULL || cell->type == FLOW_NULL)
		return NULL;
	return (void *)(uintptr_t)(cell->size == 0 ? nothing : cell->as.text);
}

/* More than none, so that each row shows. */
static uint64_t
bytes_of_row(const flow_batch *batch, uint32_t row)
{
	return 1u + batch->value[row].size + (batch->key == NULL ? 0 : batch->key[row].size);
}

static int32_t
partition_of(const struct sending *s, uint32_t row)
{
	return s->batch->target == NULL ? RD_KAFKA_PARTITION_UA : (int32_t)s->batch->target[row];
}

static rd_kafka_headers_t *
headers_of(const flow_headers *from)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(from->count);
	for (uint64_t i = 0; i < from->count; i++) {
		const flow_header *h = &from->items[i];
		rd_kafka_header_add(headers, h->name.data == NULL ? nothing : h->name.data, (ssize_t)h->name.size,
							bytes_of(&h->value), h->value.type == FLOW_NULL ? 0 : (ssize_t)h->value.size);
	}
	return headers;
}

/* A time as the client takes it: 0 is the client's now, so that the first millisecond of 1970 has to be the next one. */
static int64_t
milliseconds(int64_t timestamp)
{
	return timestamp == FLOW_NO_TIMESTAMP ? 0 : timestamp < 1000 ? 1 : timestamp / 1000;
}

/* One record; with its time and headers. */
static rd_kafka_resp_err_t
send_row(const struct sending *s, uint32_t row)
{
	const flow_batch *batch = s->batch;
	const flow_value *value = &batch->value[row], *key = batch->key == NULL ? NULL : &batch->key[row];
	int64_t timestamp = batch->timestamp == NULL ? 0 : milliseconds(batch->timestamp[row]);
	const flow_headers *given = batch->headers == NULL || batch->headers[row].count == 0 ? NULL : &batch->headers[row];
	rd_kafka_t *client = s->writer->producer->client;
	rd_kafka_topic_t *topic = s->writer->topic;
	int32_t partition = partition_of(s, row);
	void *bytes = bytes_of(value), *key_bytes = bytes_of(key), *opaque = kafka_opaque(s->slot, row);
	size_t size = value->size, key_size = key == NULL ? 0 : key->size;
	if (given == NULL)
		return rd_kafka_producev(client, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(partition),
								 RD_KAFKA_V_VALUE(bytes, size), RD_KAFKA_V_KEY(key_bytes, key_size),
								 RD_KAFKA_V_TIMESTAMP(timestamp), RD_KAFKA_V_OPAQUE(opaque), RD_KAFKA_V_END);
	rd_kafka_headers_t *headers = headers_of(given);
	rd_kafka_resp_err_t code =
		rd_kafka_producev(client, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_VALUE(bytes, size),
						  RD_KAFKA_V_KEY(key_bytes, key_size), RD_KAFKA_V_TIMESTAMP(timestamp),
						  RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(opaque), RD_KAFKA_V_END);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_headers_destroy(headers);
	return code;
}

/* Before it is sent. */
static void
refuse_now(flow_writer *writer, const flow_batch *batch, uint32_t row, flow_status status, const char *reason)
{
	char name[KAFKA_ERROR_SIZE / 2], text[KAFKA_ERROR_SIZE];
	const flow_value *key = batch->key == NULL || batch->key[row].type == FLOW_NULL ? NULL : &batch->key[row];
	kafka_record_name(writer->topic_name, -1, key == NULL ? NULL : key->as.text, key == NULL ? 0 : key->size, name,
					  sizeof(name));
	snprintf(text, sizeof(text), "%s: %s", name, reason);
	pthread_mutex_lock(&writer->producer->lock);
	kafka_writer_refuse(writer, batch, row, status, text);
	pthread_mutex_unlock(&writer->producer->lock);
}

/* What producing said of a row. FLOW_OK: it is under way, or refused; FLOW_AGAIN: there is no room. */
static flow_status
settle_row(struct sending *s, uint32_t row, rd_kafka_resp_err_t code)
{
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FLOW_OK;
	if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL)
		return FLOW_AGAIN;
	char reason[KAFKA_ERROR_SIZE];
	flow_status status = kafka_status(code);
	if (code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
		code == RD_KAFKA_RESP_ERR__INVALID_ARG) {
		snprintf(reason, sizeof(reason), "%s", rd_kafka_err2str(code));
		if (code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
			snprintf(reason, sizeof(reason),
					 "it takes %u bytes, more than the client sends (producer property "
					 "message.max.bytes)",
					 s->batch->value[row].size);
		refuse_now(s->writer, s->batch, row, status, reason);
		s->done++;
		return FLOW_OK;
	}
	struct kafka_producer *producer = s->writer->producer;
	if (producer->output == NULL)
		return kafka_transaction_lost(producer, s->error);
	return kafka_failed(s->writer->host, s->error, code, "topic '%s'", s->writer->topic_name);
}

/* Looks at a row before it is sent. 1: refused. */
static int
is_refused(struct sending *s, uint32_t row)
{
	char reason[KAFKA_ERROR_SIZE];
	flow_status status = kafka_limits_check(&s->writer->limits, s->batch, row, s->now, reason);
	if (status == FLOW_OK)
		return 0;
	refuse_now(s->writer, s->batch, row, status, reason);
	s->done++;
	return 1;
}

/* Rows with times or headers, one by one. */
static flow_status
send_each(struct sending *s, uint32_t first, uint32_t *accepted)
{
	flow_status status = FLOW_OK;
	for (uint32_t i = first; i < s->batch->selected_count; i++) {
		uint32_t row = flow_row(s->batch, i);
		if (!is_refused(s, row)) {
			status = settle_row(s, row, send_row(s, row));
			s->bytes += bytes_of_row(s->batch, row);
		}
		if (status != FLOW_OK)
			return status;
		++*accepted;
	}
	return status;
}

/* The rows up to one that is refused, or as many as there is room for. */
static uint32_t
fill_messages(struct sending *s, uint32_t first)
{
	rd_kafka_message_t *messages = s->writer->messages;
	char reason[KAFKA_ERROR_SIZE];
	uint32_t count = 0;
	for (uint32_t i = first; i < s->batch->selected_count && count < FLOW_BATCH_ROWS; i++) {
		uint32_t row = flow_row(s->batch, i);
		const flow_value *value = &s->batch->value[row], *key = s->batch->key == NULL ? NULL : &s->batch->key[row];
		if (kafka_limits_check(&s->writer->limits, s->batch, row, s->now, reason) != FLOW_OK)
			break;
		s->bytes += bytes_of_row(s->batch, row);
		messages[count++] = (rd_kafka_message_t){ .partition = partition_of(s, row),
												  .payload = bytes_of(value),
												  .len = value->size,
												  .key = bytes_of(key),
												  .key_len = key == NULL ? 0 : key->size,
												  ._private = kafka_opaque(s->slot, row) };
	}
	return count;
}

/* How many were taken behind one that was not. */
static uint32_t
sent_from(const rd_kafka_message_t *messages, uint32_t at, uint32_t count)
{
	uint32_t taken = 0;
	for (; at < count; at++)
		taken += messages[at].err == RD_KAFKA_RESP_ERR_NO_ERROR;
	return taken;
}

/* Rows without times and headers, many at once. What follows one that found no room is not sent either. */
static flow_status
send_many(struct sending *s, uint32_t first, uint32_t *accepted)
{
	flow_writer *writer = s->writer;
	flow_status status = FLOW_OK;
	while (first + *accepted < s->batch->selected_count) {
		uint32_t count = fill_messages(s, first + *accepted), at = 0;
		if (count == 0) {
			is_refused(s, flow_row(s->batch, first + *accepted));
			++*accepted;
			continue;
		}
		int sent = rd_kafka_produce_batch(writer->topic, RD_KAFKA_PARTITION_UA,
										  s->batch->target == NULL ? 0 : RD_KAFKA_MSG_F_PARTITION, writer->messages,
										  (int)count);
		while (sent != (int)count && at < count && status == FLOW_OK) {
			status = settle_row(s, (uint32_t)(uintptr_t)writer->messages[at]._private, writer->messages[at].err);
			at += status == FLOW_OK;
		}
		*accepted += sent == (int)count ? count : at;
		if (status != FLOW_OK) {
			s->beyond = sent_from(writer->messages, at, count);
			break;
		}
	}
	return status;
}

static int
has_times_or_headers(const flow_batch *batch)
{
	return batch->timestamp != NULL || batch->headers != NULL;
}

static flow_status
make_topic(flow_writer *writer, flow_error *error)
{
	struct kafka_producer *producer = writer->producer;
	if (writer->topic != NULL && writer->generation == producer->generation)
		return FLOW_OK;
	rd_kafka_topic_conf_t *conf = rd_kafka_topic_conf_dup(writer->topic_conf);
	rd_kafka_topic_conf_set_opaque(conf, producer->owner);
	writer->topic = rd_kafka_topic_new(producer->client, writer->topic_name, conf);
	writer->generation = producer->generation;
	return writer->topic != NULL
			   ? FLOW_OK
			   : kafka_failed(writer->host, error, rd_kafka_last_error(), "topic '%s'", writer->topic_name);
}

/* May the writer go on, and with which slot. Under the lock. */
static flow_status
begin(flow_writer *writer, const flow_batch *batch, uint32_t records, uint32_t *slot, flow_error *error)
{
	struct kafka_producer *producer = writer->producer;
	*slot = KAFKA_NO_SLOT;
	if (writer->failed != FLOW_OK)
		return flow_fail(writer->host, error, writer->failed, "%s", writer->why);
	flow_status status = FLOW_OK;
	if (producer->output == NULL && !writer->prepared)
		status = kafka_transaction_enter(producer, error);
	if (status == FLOW_OK && !writer->prepared)
		status = make_topic(writer, error);
	if (status == FLOW_OK && !writer->prepared)
		*slot = kafka_slot_take(producer, writer, batch, records);
	if (status == FLOW_OK && *slot == KAFKA_NO_SLOT) {
		writer->waiting = 1;
		atomic_store(&producer->waiting, 1);
		return FLOW_AGAIN;
	}
	return status;
}

/* Partitions may have been added since: before a record is refused for it the topic's are counted again, from time to time, and by the
 * client that writes, which learns of them by it. */
static void
count_partitions(flow_writer *writer, const flow_batch *batch)
{
	int beyond = 0;
	for (FLOW_ROWS(batch, i))
		beyond |= batch->target[flow_row(batch, i)] >= (uint32_t)writer->limits.partitions;
	int64_t now = writer->host->monotonic();
	if (!beyond || now - writer->counted < writer->system->discovery_interval)
		return;
	const struct rd_kafka_metadata *metadata;
	writer->counted = now;
	if (writer->topic == NULL || rd_kafka_metadata(writer->producer->client, 0, writer->topic, &metadata,
												   writer->system->request_timeout) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	if (metadata->topic_cnt == 1 && metadata->topics[0].err == RD_KAFKA_RESP_ERR_NO_ERROR)
		writer->limits.partitions = metadata->topics[0].partition_cnt;
	rd_kafka_metadata_destroy(metadata);
}

flow_status
kafka_writer_write(flow_writer *writer, const flow_batch *batch, uint32_t first, uint32_t *accepted,
				   flow_status *statuses, flow_error *error)
{
	struct kafka_producer *producer = writer->producer;
	uint32_t records = batch->selected_count - first;
	struct sending s = { .writer = writer, .batch = batch, .now = writer->host->now(), .error = error };
	(void)statuses; /* failed_row tells more */
	*accepted = 0;
	if (batch->target != NULL)
		count_partitions(writer, batch);
	pthread_mutex_lock(&producer->lock);
	flow_status status = begin(writer, batch, records, &s.slot, error);
	pthread_mutex_unlock(&producer->lock);
	if (status == FLOW_E_CONFLICT)
		return kafka_transaction_lost(producer, error);
	if (status != FLOW_OK)
		return status;
	status = has_times_or_headers(batch) ? send_each(&s, first, accepted) : send_many(&s, first, accepted);
	if (status == FLOW_AGAIN) {
		/* It is noted before it is looked again: reports may have made room meanwhile, and wake only those that wait. */
		pthread_mutex_lock(&producer->lock);
		writer->waiting = 1;
		atomic_store(&producer->waiting, 1);
		pthread_mutex_unlock(&producer->lock);
		if (rd_kafka_outq_len(producer->client) == 0)
			writer->waker->wake(writer->waker->wake_context);
	}
	kafka_reports_expect(producer, s.bytes);
	kafka_slot_done(producer, s.slot, records - *accepted - s.beyond + s.done + 1);
	return status;
}
