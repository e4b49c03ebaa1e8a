/* Writers: opened and closed, what they refused, and waiting for reports (kafka_output.h). */
#include <stdio.h>

#include "kafka_output.h"

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
	writer->messages = flow_new(system->host, FLOW_BATCH_ROWS * sizeof(*writer->messages));
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
