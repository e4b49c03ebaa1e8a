/* Writers: rows of a batch to a producer, without copies; what comes of them is told by reports (kafka_output.h). */
#include <stdio.h>

#include "kafka_output.h"

#define ROWS FLOW_BATCH_ROWS /* of one call of produce_batch */
#define KEY_SHOWN 64

static const char nothing[1];

/* --- open, close -------------------------------------------------------------------------------------------------------- */

/* What a transaction asks of the configuration. */
static flow_status
check_transaction(const flow_system *system, const flow_stream_request *request, flow_error *error)
{
	const flow_host *host = system->host;
	if (request->delivery == FLOW_DELIVERY_AT_LEAST_ONCE)
		return FLOW_OK;
	if (flow_option_get(request->options, "producer") != NULL) {
		host->errors->option(error, "producer");
		return flow_fail(host, error, FLOW_E_CONFIG,
						 "outputs that commit by a transaction share a client: set the properties at the system, or "
						 "delivery = \"at_least_once\" here");
	}
	if (request->checkpoint_interval >= system->transaction_timeout)
		return flow_fail(
			host, error, FLOW_E_CONFIG,
			"a transaction lasts from checkpoint to checkpoint: checkpoint_interval (%lld ms) must be shorter "
			"than transaction_timeout of the system '%s' (%lld ms), with time to spare",
			(long long)request->checkpoint_interval / 1000, system->name,
			(long long)system->transaction_timeout / 1000);
	return FLOW_OK;
}

flow_status
kafka_describe_output(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
					  flow_error *error)
{
	description->delivery = FLOW_DELIVERY_ONE_PHASE;
	description->takes_positions = 1;
	description->shares_transaction = 1;
	description->takes_targets = 1;
	description->partition_count = (int32_t)flow_option_int(request->options, "partitions", FLOW_PARTITIONS_UNKNOWN);
	flow_status status = check_transaction(system, request, error);
	if (status != FLOW_OK)
		return status;
	rd_kafka_conf_t *conf = kafka_client_conf(system, RD_KAFKA_PRODUCER);
	if (conf == NULL)
		return kafka_no_memory(system->host, error);
	status = kafka_properties_apply(system->host, flow_option_get(request->options, "producer"), conf, error);
	rd_kafka_conf_destroy(conf);
	if (status != FLOW_OK) {
		system->host->errors->option(error, "producer");
		return status;
	}
	if (request->offline || flow_option_bool(request->options, "create", 0))
		return FLOW_OK;
	char *topic = kafka_copy(system->host, request->physical_name);
	if (topic == NULL)
		return kafka_no_memory(system->host, error);
	status = kafka_output_topic(system, request, topic, &description->partition_count, error);
	system->host->release(topic);
	return status;
}

static void
destroy(flow_writer *writer)
{
	const flow_host *host = writer->host;
	if (writer->topic != NULL)
		rd_kafka_topic_destroy(writer->topic);
	if (writer->topic_conf != NULL)
		rd_kafka_topic_conf_destroy(writer->topic_conf);
	while (writer->refused != NULL || writer->told != NULL) {
		struct kafka_refusal *refusal = writer->told != NULL ? writer->told : writer->refused;
		if (writer->told == NULL)
			writer->refused = refusal->next;
		writer->told = NULL;
		writer->producer->batches->release(refusal->batch);
		host->release(refusal);
	}
	if (writer->producer != NULL)
		kafka_producer_close(writer->producer);
	host->release(writer->messages);
	host->release(writer->topic_name);
	host->release(writer);
}

static flow_status
prepare_topic(flow_writer *writer, const flow_stream_request *request, flow_error *error)
{
	int32_t partitions = 0;
	rd_kafka_conf_t *conf = kafka_client_conf(writer->system, RD_KAFKA_PRODUCER);
	rd_kafka_topic_conf_t *usual = conf == NULL ? NULL : rd_kafka_conf_get_default_topic_conf(conf);
	writer->topic_conf = usual == NULL ? rd_kafka_topic_conf_new() : rd_kafka_topic_conf_dup(usual);
	if (conf != NULL)
		rd_kafka_conf_destroy(conf);
	if (writer->topic_conf == NULL)
		return kafka_no_memory(writer->host, error);
	flow_status status = kafka_partitioner_apply(writer, request->options, error);
	if (status == FLOW_OK)
		status = kafka_output_topic(writer->system, request, writer->topic_name, &partitions, error);
	if (status == FLOW_OK)
		kafka_limits_ask(writer->system, writer->topic_name, &writer->limits);
	writer->limits.partitions = partitions;
	writer->counted = writer->host->monotonic();
	return status;
}

/* The client, once it is known what all outputs take. */
static flow_status
connect_producer(flow_writer *writer, flow_error *error)
{
	struct kafka_producer *producer = writer->producer;
	pthread_mutex_lock(&writer->system->connecting);
	flow_status status = producer->client == NULL ? kafka_producer_connect(producer, error) : FLOW_OK;
	if (status == FLOW_OK) {
		pthread_mutex_lock(&producer->lock);
		writer->next = producer->writers;
		producer->writers = writer;
		pthread_mutex_unlock(&producer->lock);
	}
	pthread_mutex_unlock(&writer->system->connecting);
	return status;
}

flow_status
kafka_writer_open(flow_system *system, const flow_stream_request *request, uint32_t task, uint32_t task_count,
				  const flow_handle *recovered, const flow_waker *waker, flow_writer **result, flow_error *error)
{
	(void)task;
	(void)task_count;
	(void)recovered;
	flow_writer *writer = flow_new(system->host, sizeof(*writer));
	if (writer == NULL)
		return kafka_no_memory(system->host, error);
	writer->system = system;
	writer->host = system->host;
	writer->waker = waker;
	writer->refused_end = &writer->refused;
	writer->topic_name = kafka_copy(system->host, request->physical_name);
	writer->messages = flow_new(system->host, ROWS * sizeof(*writer->messages));
	int transactional = kafka_committer_has(system, request->id);
	flow_status status = writer->topic_name == NULL || writer->messages == NULL
							 ? kafka_no_memory(system->host, error)
							 : kafka_producer_open(system, request, transactional, &writer->producer, error);
	if (status == FLOW_OK)
		status = prepare_topic(writer, request, error);
	if (status == FLOW_OK)
		status = connect_producer(writer, error);
	if (status != FLOW_OK)
		destroy(writer);
	else
		*result = writer;
	return status;
}

void
kafka_writer_close(flow_writer *writer)
{
	struct kafka_producer *producer = writer->producer;
	pthread_mutex_lock(&producer->lock);
	int busy = writer->outstanding != 0;
	pthread_mutex_unlock(&producer->lock);
	if (busy && !kafka_producer_purge(producer)) /* something has failed: nobody asks for what is under way any more */
		kafka_producer_disconnect(producer);
	pthread_mutex_lock(&producer->lock);
	flow_writer **at = &producer->writers;
	while (*at != writer)
		at = &(*at)->next;
	*at = writer->next;
	pthread_mutex_unlock(&producer->lock);
	destroy(writer);
}

/* --- records that are refused ------------------------------------------------------------------------------------------- */

void
kafka_record_name(const char *topic, int32_t partition, const void *key, size_t key_size, char *text, size_t size)
{
	char shown[2 * KEY_SHOWN + 8] = "";
	const unsigned char *bytes = key;
	size_t count = key_size < KEY_SHOWN ? key_size : KEY_SHOWN;
	int plain = 1;
	for (size_t i = 0; i < count; i++)
		plain &= bytes[i] >= 0x20 && bytes[i] < 0x7f;
	for (size_t i = 0; i < count; i++)
		snprintf(shown + (plain ? i : 2 * i), 3, plain ? "%c" : "%02x", bytes[i]);
	if (key_size > KEY_SHOWN)
		snprintf(shown + strlen(shown), sizeof("..."), "...");
	int used = partition < 0 ? snprintf(text, size, "topic '%s'", topic)
							 : snprintf(text, size, "topic '%s' partition %d", topic, partition);
	if (used > 0 && (size_t)used < size)
		snprintf(text + used, size - (size_t)used, key == NULL ? ", record without key" : ", key %s%s%s",
				 plain ? "'" : "0x", shown, plain ? "'" : "");
}

void
kafka_writer_refuse(flow_writer *writer, const flow_batch *batch, uint32_t row, flow_status status, const char *reason)
{
	struct kafka_refusal *refusal = flow_new(writer->host, sizeof(*refusal));
	if (refusal == NULL) {
		writer->failed = FLOW_E_MEMORY;
		snprintf(writer->why, sizeof(writer->why), "%s", reason);
		return;
	}
	refusal->batch = writer->producer->batches->retain(batch);
	refusal->row = row;
	refusal->status = status;
	snprintf(refusal->reason, sizeof(refusal->reason), "%s", reason);
	*writer->refused_end = refusal;
	writer->refused_end = &refusal->next;
	writer->waker->wake(writer->waker->wake_context);
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

flow_status
kafka_writer_failed_row(flow_writer *writer, flow_failed_row *failed, flow_error *error)
{
	struct kafka_producer *producer = writer->producer;
	(void)error;
	pthread_mutex_lock(&producer->lock);
	struct kafka_refusal *told = writer->told, *next = writer->refused;
	writer->told = next;
	if (next != NULL) {
		writer->refused = next->next;
		if (writer->refused == NULL)
			writer->refused_end = &writer->refused;
	}
	pthread_mutex_unlock(&producer->lock);
	if (told != NULL) {
		producer->batches->release(told->batch);
		writer->host->release(told);
	}
	if (next == NULL)
		return FLOW_END;
	failed->status = next->status;
	failed->batch = next->batch;
	failed->row = next->row;
	failed->reason = flow_slice_of(next->reason);
	return FLOW_OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------------ */

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
	for (uint32_t i = first; i < s->batch->selected_count && count < ROWS; i++) {
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

/* --- waiting for reports ------------------------------------------------------------------------------------------------ */

/* Until every record of this writer has its report; there is no use in waiting for more when one says that nothing can be written, or
 * when brokers have ended the transaction. Without a transaction brokers that are away are waited for. */
static flow_status
await_reports(flow_writer *writer, flow_error *error)
{
	struct kafka_producer *producer = writer->producer;
	const flow_host *host = writer->host;
	int cancelled = 0;
	pthread_mutex_lock(&producer->lock);
	while (writer->outstanding != 0 && !cancelled && writer->failed == FLOW_OK &&
		   producer->transaction.lost == FLOW_OK && !kafka_transaction_is_overdue(producer)) {
		kafka_producer_wait(producer);
		cancelled = host->cancelled();
	}
	flow_status status = writer->failed;
	int lost =
		producer->transaction.lost != FLOW_OK || (writer->outstanding != 0 && kafka_transaction_is_overdue(producer));
	if (status != FLOW_OK)
		flow_fail(host, error, status, "%s", writer->why);
	pthread_mutex_unlock(&producer->lock);
	if (status != FLOW_OK)
		return status;
	if (lost)
		return kafka_transaction_lost(producer, error);
	return cancelled ? flow_fail(host, error, FLOW_E_CANCELLED, "topic '%s': ended before all records were written",
								 writer->topic_name)
					 : FLOW_OK;
}

flow_status
kafka_writer_flush(flow_writer *writer, flow_error *error)
{
	return await_reports(writer, error);
}

flow_status
kafka_writer_prepare(flow_writer *writer, uint64_t epoch, int last, flow_slice *handle, flow_error *error)
{
	(void)epoch;
	(void)last;
	*handle = flow_slice_make(nothing, 0); /* the transaction is all there is to know */
	flow_status status = await_reports(writer, error);
	pthread_mutex_lock(&writer->producer->lock);
	writer->prepared = status == FLOW_OK;
	pthread_mutex_unlock(&writer->producer->lock);
	return status;
}
