/* Producers: their clients, the thread that takes delivery reports, the slots that keep batches until then (kafka_output.h). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "kafka_output.h"

#define POLL 100          /* milliseconds */
#define ASK_AFTER 3000000 /* microseconds */
#define SAY_AFTER 10000000
#define QUEUE_RECORDS "1000000"
#define BATCH_BYTES 1000000 /* librdkafka's default of batch.size and message.max.bytes */
#define BATCH_OVERHEAD 512

/* --- slots -------------------------------------------------------------------------------------------------------------- */

static struct kafka_slot *
slot_at(const struct kafka_producer *producer, uint32_t slot)
{
	return &producer->chunks[slot / KAFKA_SLOT_CHUNK][slot % KAFKA_SLOT_CHUNK];
}

static int
add_chunk(struct kafka_producer *producer)
{
	if (producer->chunk_count == KAFKA_SLOT_CHUNKS)
		return 0;
	struct kafka_slot *chunk = flow_new(producer->host, KAFKA_SLOT_CHUNK * sizeof(*chunk));
	if (chunk == NULL)
		return 0;
	uint32_t first = producer->chunk_count * KAFKA_SLOT_CHUNK;
	for (uint32_t i = 0; i < KAFKA_SLOT_CHUNK; i++)
		chunk[i].next = i + 1 == KAFKA_SLOT_CHUNK ? producer->free_slot : first + i + 1;
	producer->chunks[producer->chunk_count++] = chunk;
	producer->free_slot = first;
	return 1;
}

uint32_t
kafka_slot_take(struct kafka_producer *producer, flow_writer *writer, const flow_batch *batch, uint32_t records)
{
	if (producer->free_slot == KAFKA_NO_SLOT && !add_chunk(producer))
		return KAFKA_NO_SLOT;
	uint32_t index = producer->free_slot;
	struct kafka_slot *slot = slot_at(producer, index);
	producer->free_slot = slot->next;
	slot->batch = producer->batches->retain(batch);
	slot->writer = writer;
	atomic_store(&slot->pending, records + 1);
	slot->first = writer->rows;
	writer->rows += batch->row_count;
	writer->outstanding++;
	return index;
}

uint64_t
kafka_slot_turn(const struct kafka_producer *producer, const void *opaque)
{
	return slot_at(producer, (uint32_t)((uintptr_t)opaque >> 32))->first + (uint32_t)(uintptr_t)opaque;
}

void
kafka_slot_done(struct kafka_producer *producer, uint32_t index, uint32_t count)
{
	struct kafka_slot *slot = slot_at(producer, index);
	if (atomic_fetch_sub(&slot->pending, count) != count)
		return;
	const flow_batch *batch = slot->batch;
	/* The batch goes first: who waits for `outstanding` relies on its memory not being used any more. */
	producer->batches->release(batch);
	pthread_mutex_lock(&producer->lock);
	slot->next = producer->free_slot;
	producer->free_slot = index;
	if (--slot->writer->outstanding == 0)
		pthread_cond_broadcast(&producer->changed);
	pthread_mutex_unlock(&producer->lock);
}

/* --- reports ------------------------------------------------------------------------------------------------------------ */

static void
count_run(struct kafka_producer *producer)
{
	if (producer->run_count != 0)
		kafka_slot_done(producer, producer->run_slot, producer->run_count);
	producer->run_count = 0;
}

/* What is the record's own fault, and not the broker's. */
static int
is_of_record(rd_kafka_resp_err_t code)
{
	switch (code) {
	case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
	case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
	case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
	case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
	case RD_KAFKA_RESP_ERR_INVALID_RECORD:
	case RD_KAFKA_RESP_ERR_INVALID_MSG:
		return 1;
	default:
		return 0;
	}
}

static void
report_failed(struct kafka_producer *producer, const rd_kafka_message_t *message)
{
	uint32_t row = (uint32_t)(uintptr_t)message->_private;
	struct kafka_slot *slot = slot_at(producer, (uint32_t)((uintptr_t)message->_private >> 32));
	flow_writer *writer = slot->writer;
	char name[KAFKA_ERROR_SIZE / 2], why[KAFKA_ERROR_SIZE];
	kafka_record_name(rd_kafka_topic_name(message->rkt), message->partition, message->key, message->key_len, name,
					  sizeof(name));
	flow_status status = kafka_status(message->err);
	snprintf(why, sizeof(why), "%s: %s%s", name, rd_kafka_err2str(message->err),
			 status == FLOW_E_NOT_FOUND ? " (was the topic deleted?)" : "");
	if (is_of_record(message->err))
		status = status == FLOW_E_FAILED ? FLOW_E_RANGE : status;
	else if (status == FLOW_E_TIMEOUT || status == FLOW_E_UNAVAILABLE)
		status = FLOW_E_FAILED; /* librdkafka has tried again already, as often as it is allowed to */
	pthread_mutex_lock(&producer->lock);
	if (producer->output == NULL)
		kafka_transaction_spoil(producer, is_of_record(message->err) ? status : kafka_transaction_verdict(message->err),
								why);
	else if (is_of_record(message->err))
		kafka_writer_refuse(writer, slot->batch, row, status, why);
	else if (writer->failed == FLOW_OK) {
		writer->failed = status;
		snprintf(writer->why, sizeof(writer->why), "%s", why);
	}
	pthread_cond_broadcast(&producer->changed);
	pthread_mutex_unlock(&producer->lock);
}

/* The producer whose reports this thread takes; NULL: another thread, to which librdkafka gives reports while it aborts a transaction. */
static _Thread_local const struct kafka_producer *reporting;

static void
on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	struct kafka_producer *producer = opaque;
	uint32_t slot = (uint32_t)((uintptr_t)message->_private >> 32);
	(void)client;
	if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR && message->err != RD_KAFKA_RESP_ERR__PURGE_QUEUE &&
		message->err != RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
		report_failed(producer, message);
	if (reporting != producer) {
		kafka_slot_done(producer, slot, 1);
		return;
	}
	if (producer->run_slot != slot) {
		count_run(producer);
		producer->run_slot = slot;
	}
	producer->run_count++;
}

/* Writers that said AGAIN may go on: there is room. */
static void
wake_waiting(struct kafka_producer *producer)
{
	pthread_mutex_lock(&producer->lock);
	atomic_store(&producer->waiting, 0);
	for (flow_writer *w = producer->writers; w != NULL; w = w->next) {
		if (w->waiting && !w->prepared)
			w->waker->wake(w->waker->wake_context);
		w->waiting &= w->prepared;
	}
	pthread_mutex_unlock(&producer->lock);
}

/* What the thread knows of records that wait. */
struct patience {
	int64_t since; /* the last report, or the last time that nothing waited */
	int64_t asked, said;
};

/* A topic that was deleted is noticed by asking; the client itself asks only each discovery_interval. */
static void
ask_about_topics(struct kafka_producer *producer)
{
	const struct rd_kafka_metadata *metadata;
	if (rd_kafka_metadata(producer->client, 0, NULL, &metadata, POLL) == RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_metadata_destroy(metadata);
}

/* Brokers that are away for long are not an error, but people want to hear of it. */
static void
note_waiting(struct kafka_producer *producer, int served, struct patience *p)
{
	int64_t now = producer->host->monotonic();
	int waiting = rd_kafka_outq_len(producer->client);
	if (served > 0 || waiting == 0) {
		p->since = p->asked = p->said = now;
		return;
	}
	if (now - p->asked >= ASK_AFTER && !atomic_load(&producer->closing)) {
		p->asked = now;
		ask_about_topics(producer);
	}
	if (now - p->said < SAY_AFTER)
		return;
	p->said = now;
	flow_say(producer->host, FLOW_LOG_WARN, producer->system->name,
			 "%d records have waited %lld s for an answer of the brokers; flowd goes on when they are back", waiting,
			 (long long)((now - p->since) / 1000000));
}

static void *
take_reports(void *context)
{
	struct kafka_producer *producer = context;
	int64_t now = producer->host->monotonic();
	struct patience patience = { .since = now, .asked = now, .said = now };
	reporting = producer;
	while (!atomic_load(&producer->closing) || rd_kafka_outq_len(producer->client) > 0) {
		int served = rd_kafka_poll(producer->client, atomic_load(&producer->closing) ? 1 : POLL);
		count_run(producer);
		if (served > 0 && atomic_load(&producer->waiting))
			wake_waiting(producer);
		note_waiting(producer, served, &patience);
	}
	return NULL;
}

/* --- the client --------------------------------------------------------------------------------------------------------- */

/* Unless the user has said something else than librdkafka's default. */
static flow_status
set_unless_said(struct kafka_producer *producer, rd_kafka_conf_t *conf, const char *name, const char *usual,
				const char *value, flow_error *error)
{
	char now[64];
	size_t size = sizeof(now);
	if (rd_kafka_conf_get(conf, name, now, &size) != RD_KAFKA_CONF_OK || strcmp(now, usual) != 0)
		return FLOW_OK;
	return kafka_property_set(producer->host, conf, name, value, error);
}

/* What topics take decides how large records and batches of them may be. */
static flow_status
set_sizes(struct kafka_producer *producer, rd_kafka_conf_t *conf, flow_error *error)
{
	const flow_system *system = producer->system;
	char text[32];
	int64_t most = system->record_bytes_most < BATCH_BYTES ? BATCH_BYTES : system->record_bytes_most;
	int64_t least = system->record_bytes_least > BATCH_BYTES ? BATCH_BYTES : system->record_bytes_least;
	snprintf(text, sizeof(text), "%lld", (long long)(most > 1000000000 ? 1000000000 : most));
	flow_status status = set_unless_said(producer, conf, "message.max.bytes", "1000000", text, error);
	snprintf(text, sizeof(text), "%lld",
			 (long long)(least > BATCH_OVERHEAD + 1 ? least - least / 200 - BATCH_OVERHEAD : 1));
	if (status == FLOW_OK && least < BATCH_BYTES)
		status = set_unless_said(producer, conf, "batch.size", "1000000", text, error);
	return status;
}

static flow_status
configure(struct kafka_producer *producer, rd_kafka_conf_t *conf, flow_error *error)
{
	const flow_system *system = producer->system;
	char text[32];
	flow_status status = kafka_properties_apply(producer->host, producer->properties, conf, error);
	if (status == FLOW_OK)
		status = set_sizes(producer, conf, error);
	snprintf(text, sizeof(text), "%lld", (long long)((system->send_threshold_bytes + 1023) / 1024));
	if (status == FLOW_OK)
		status = kafka_property_set(producer->host, conf, "queue.buffering.max.kbytes", text, error);
	if (status == FLOW_OK)
		status = set_unless_said(producer, conf, "queue.buffering.max.messages", "100000", QUEUE_RECORDS, error);
	if (status != FLOW_OK)
		return status;
	if (producer->output != NULL) /* the job waits for brokers that are away, and says so */
		return set_unless_said(producer, conf, "message.timeout.ms", "300000", "0", error);
	status = kafka_property_set(producer->host, conf, "transactional.id", producer->transaction.id, error);
	if (status == FLOW_OK)
		status = kafka_property_set_number(producer->host, conf, "transaction.timeout.ms",
										   system->transaction_timeout / 1000, error);
	return status;
}

flow_status
kafka_producer_connect(struct kafka_producer *producer, flow_error *error)
{
	kafka_producer_disconnect(producer);
	rd_kafka_conf_t *conf = kafka_client_conf(producer->system, RD_KAFKA_PRODUCER);
	flow_status status = conf == NULL ? kafka_no_memory(producer->host, error) : configure(producer, conf, error);
	if (status != FLOW_OK) {
		if (conf != NULL)
			rd_kafka_conf_destroy(conf);
		return status;
	}
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	rd_kafka_t *client;
	status = kafka_client_open(&producer->owner, RD_KAFKA_PRODUCER, conf, &client, error);
	if (status != FLOW_OK)
		return status;
	pthread_mutex_lock(&producer->lock);
	producer->client = client;
	producer->generation++;
	pthread_mutex_unlock(&producer->lock);
	atomic_store(&producer->closing, 0);
	if (pthread_create(&producer->thread, NULL, take_reports, producer) == 0)
		return FLOW_OK;
	producer->client = NULL;
	rd_kafka_destroy(client);
	return flow_fail(producer->host, error, FLOW_E_MEMORY, "no thread for delivery reports");
}

void
kafka_producer_purge(struct kafka_producer *producer)
{
	if (producer->client == NULL)
		return;
	rd_kafka_purge(producer->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	pthread_mutex_lock(&producer->lock);
	for (flow_writer *w = producer->writers; w != NULL;) {
		if (w->outstanding != 0) {
			pthread_cond_wait(&producer->changed, &producer->lock);
			w = producer->writers;
		} else {
			w = w->next;
		}
	}
	pthread_mutex_unlock(&producer->lock);
}

void
kafka_producer_disconnect(struct kafka_producer *producer)
{
	if (producer->client == NULL)
		return;
	kafka_producer_purge(producer);
	for (flow_writer *w = producer->writers; w != NULL; w = w->next) {
		if (w->topic != NULL)
			rd_kafka_topic_destroy(w->topic);
		w->topic = NULL;
	}
	atomic_store(&producer->closing, 1);
	pthread_join(producer->thread, NULL);
	rd_kafka_destroy(producer->client);
	producer->client = NULL;
}

/* --- life --------------------------------------------------------------------------------------------------------------- */

static char *
joined(const flow_host *host, const char *what, const flow_stream_request *request)
{
	uint64_t size = strlen(what) + request->job.size + request->instance.size + 3;
	char *text = host->allocate(size);
	if (text != NULL)
		snprintf(text, size, "%s/%.*s/%.*s", what, (int)request->job.size, request->job.data,
				 (int)request->instance.size, request->instance.data == NULL ? "" : request->instance.data);
	return text;
}

static void
destroy(struct kafka_producer *producer)
{
	const flow_host *host = producer->host;
	kafka_producer_disconnect(producer);
	for (uint32_t i = 0; i < producer->chunk_count; i++)
		host->release(producer->chunks[i]);
	kafka_owner_close(&producer->owner);
	pthread_mutex_destroy(&producer->lock);
	pthread_cond_destroy(&producer->changed);
	host->release(producer->output);
	host->release(producer->transaction.id);
	host->release(producer->transaction.marker_group);
	host->release(producer->transaction.process_group);
	host->release(producer);
}

static struct kafka_producer *
create(flow_system *system, const flow_stream_request *request, int transactional)
{
	const flow_host *host = system->host;
	struct kafka_producer *producer = flow_new(host, sizeof(*producer));
	if (producer == NULL)
		return NULL;
	producer->system = system;
	producer->host = host;
	producer->batches = host->get_service(FLOW_SERVICE_BATCHES);
	producer->free_slot = KAFKA_NO_SLOT;
	producer->properties = flow_option_get(request->options, "producer");
	pthread_mutex_init(&producer->lock, NULL);
	pthread_cond_init(&producer->changed, NULL);
	kafka_owner_open(&producer->owner, system, system->name);
	struct kafka_transaction *t = &producer->transaction;
	if (!transactional) {
		producer->output = kafka_copy(host, request->id);
	} else {
		producer->properties = NULL; /* outputs share it */
		t->id = joined(host, "flowd", request);
		t->marker_group = joined(host, "flowd", request);
		t->process_group = joined(host, "flowd-process", request);
		uint64_t bytes[2] = { (uint64_t)host->now(), (uint64_t)getpid() };
		if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) < 0)
			flow_say(host, FLOW_LOG_WARN, system->name, "no random numbers yet");
		snprintf(t->process, sizeof(t->process), "%016llx%016llx", (unsigned long long)bytes[0],
				 (unsigned long long)bytes[1]);
	}
	if (transactional ? t->id == NULL || t->marker_group == NULL || t->process_group == NULL
					  : producer->output == NULL) {
		destroy(producer);
		return NULL;
	}
	return producer;
}

flow_status
kafka_producer_open(flow_system *system, const flow_stream_request *request, int transactional,
					struct kafka_producer **result, flow_error *error)
{
	pthread_mutex_lock(&system->lock);
	struct kafka_producer *producer = system->producers;
	while (producer != NULL &&
		   (transactional ? producer->output != NULL
						  : producer->output == NULL || !flow_slice_is(request->id, producer->output)))
		producer = producer->next;
	if (producer == NULL) {
		producer = create(system, request, transactional);
		if (producer != NULL) {
			producer->next = system->producers;
			system->producers = producer;
		}
	}
	if (producer != NULL)
		producer->users++;
	pthread_mutex_unlock(&system->lock);
	*result = producer;
	return producer == NULL ? kafka_no_memory(system->host, error) : FLOW_OK;
}

void
kafka_producer_close(struct kafka_producer *producer)
{
	flow_system *system = producer->system;
	pthread_mutex_lock(&system->lock);
	int last = --producer->users == 0;
	struct kafka_producer **at = &system->producers;
	while (last && *at != producer)
		at = &(*at)->next;
	if (last)
		*at = producer->next;
	pthread_mutex_unlock(&system->lock);
	if (last)
		destroy(producer);
}
