/* Producers: their clients, and the thread that takes delivery reports (kafka_output.h). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "kafka_output.h"

#define POLL 100          /* milliseconds */
#define ASK_AFTER 3000000 /* microseconds */
#define ASK_PATIENCE 1000 /* milliseconds */
#define SAY_AFTER 10000000
#define PATIENCE 100000000     /* nanoseconds of one wait */
#define LOOKS 100              /* each POLL */
#define PURGE_PATIENCE 3000000 /* microseconds */
#define QUEUE_RECORDS "1000000"
#define BATCH_BYTES 1000000 /* librdkafka's default of batch.size and message.max.bytes */
#define BATCH_OVERHEAD 512

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

/* Nothing more can be written: whoever waits for reports hears of it. Under the lock. */
static void
fail_writer(struct kafka_producer *producer, flow_writer *writer, flow_status status, const char *why)
{
	if (producer->output == NULL) {
		kafka_transaction_spoil(producer, status, why);
	} else if (writer->failed == FLOW_OK) {
		writer->failed = status;
		snprintf(writer->why, sizeof(writer->why), "%s", why);
	}
	pthread_cond_broadcast(&producer->changed);
}

static void
report_failed(struct kafka_producer *producer, const rd_kafka_message_t *message)
{
	uint32_t row = (uint32_t)(uintptr_t)message->_private;
	struct kafka_slot *slot = kafka_slot_at(producer, (uint32_t)((uintptr_t)message->_private >> 32));
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
	if (producer->output != NULL && is_of_record(message->err))
		kafka_writer_refuse(writer, slot->batch, row, status, why);
	else
		fail_writer(producer, writer,
					producer->output != NULL || is_of_record(message->err) ? status
																		   : kafka_transaction_verdict(message->err),
					why);
	pthread_mutex_unlock(&producer->lock);
}

/* The producer whose reports this thread takes; NULL: another thread, to which librdkafka gives reports while it aborts a transaction. */
static _Thread_local const struct kafka_producer *reporting;

static void
on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	struct kafka_producer *producer = ((struct kafka_owner *)opaque)->context;
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
	int lost; /* how often in turn batches were under way of which the client had no record */
};

static int
is_missing(const struct rd_kafka_metadata *metadata, const char *topic)
{
	for (int i = 0; i < metadata->topic_cnt; i++)
		if (strcmp(metadata->topics[i].topic, topic) == 0)
			return metadata->topics[i].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	return 0;
}

/* A topic that was deleted is noticed by asking: the client asks only each discovery_interval, and never tells of records that were on
 * their way when it heard (2.0.2). A broker that has just come back may not know a topic yet, so it is asked twice. */
static void
ask_about_topics(struct kafka_producer *producer)
{
	const struct rd_kafka_metadata *metadata;
	char why[KAFKA_ERROR_SIZE];
	if (rd_kafka_metadata(producer->client, 0, NULL, &metadata, ASK_PATIENCE) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	pthread_mutex_lock(&producer->lock);
	for (flow_writer *w = producer->writers; w != NULL; w = w->next) {
		w->missing = w->outstanding != 0 && is_missing(metadata, w->topic_name) ? w->missing + 1 : 0;
		if (w->missing != 2)
			continue;
		snprintf(why, sizeof(why), "topic '%s' is not there any more (was it deleted?)", w->topic_name);
		fail_writer(producer, w, FLOW_E_NOT_FOUND, why);
	}
	pthread_mutex_unlock(&producer->lock);
	wake_waiting(producer);
	rd_kafka_metadata_destroy(metadata);
}

/* The client has no record, and no report has come: whatever is counted as under way would be waited for without end. Between two
 * looks a writer may be about to hand its records over, so it is looked often. */
static void
find_lost(struct kafka_producer *producer, struct patience *p)
{
	char why[KAFKA_ERROR_SIZE];
	uint32_t batches = 0;
	pthread_mutex_lock(&producer->lock);
	for (const flow_writer *w = producer->writers; w != NULL; w = w->next)
		batches += w->outstanding;
	p->lost = batches == 0 ? 0 : p->lost + 1;
	for (flow_writer *w = producer->writers; w != NULL && p->lost == LOOKS; w = w->next) {
		if (w->outstanding == 0)
			continue;
		snprintf(why, sizeof(why), "topic '%s': %u batches have no report, and the client has no record of them",
				 w->topic_name, w->outstanding);
		fail_writer(producer, w, FLOW_E_FAILED, why);
	}
	pthread_mutex_unlock(&producer->lock);
	if (p->lost == LOOKS)
		wake_waiting(producer);
}

/* Brokers that are away for long are not an error, but people want to hear of it. */
static void
note_waiting(struct kafka_producer *producer, int served, struct patience *p)
{
	int64_t now = producer->host->monotonic();
	int waiting = rd_kafka_outq_len(producer->client);
	if (served > 0 || waiting == 0)
		p->since = p->asked = p->said = now;
	if (served > 0 || waiting != 0)
		p->lost = 0;
	if (served > 0 || atomic_load(&producer->closing))
		return;
	if (waiting == 0) {
		find_lost(producer, p);
		return;
	}
	if (now - p->asked >= ASK_AFTER) {
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
	while (!atomic_load(&producer->closing)) {
		int served = rd_kafka_poll(producer->client, POLL);
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
	struct kafka_owner *owner = flow_new(producer->host, sizeof(*owner));
	if (owner == NULL) {
		rd_kafka_conf_destroy(conf);
		return kafka_no_memory(producer->host, error);
	}
	rd_kafka_t *client;
	kafka_owner_open(owner, producer->system, producer->system->name);
	owner->context = producer;
	status = kafka_client_open(owner, RD_KAFKA_PRODUCER, conf, &client, error);
	if (status != FLOW_OK) {
		kafka_owner_close(owner);
		producer->host->release(owner);
		return status;
	}
	pthread_mutex_lock(&producer->lock);
	producer->client = client;
	producer->owner = owner;
	producer->generation++;
	pthread_mutex_unlock(&producer->lock);
	atomic_store(&producer->closing, 0);
	if (pthread_create(&producer->thread, NULL, take_reports, producer) == 0)
		return FLOW_OK;
	producer->client = NULL;
	kafka_client_leave(owner, client);
	return flow_fail(producer->host, error, FLOW_E_MEMORY, "no thread for delivery reports");
}

static uint32_t
batches_under_way(const struct kafka_producer *producer)
{
	uint32_t count = 0;
	for (const flow_writer *w = producer->writers; w != NULL; w = w->next)
		count += w->outstanding;
	return count;
}

int
kafka_producer_purge(struct kafka_producer *producer)
{
	if (producer->client == NULL)
		return 1;
	const int64_t end = producer->host->monotonic() + PURGE_PATIENCE;
	rd_kafka_purge(producer->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	pthread_mutex_lock(&producer->lock);
	uint32_t left = batches_under_way(producer);
	while (left != 0 && producer->host->monotonic() < end) {
		kafka_producer_wait(producer);
		left = batches_under_way(producer);
	}
	pthread_mutex_unlock(&producer->lock);
	if (left == 0)
		return 1;
	flow_say(producer->host, FLOW_LOG_WARN, producer->system->name,
			 "the client does not say what became of %d records; it is ended without that",
			 rd_kafka_outq_len(producer->client));
	return 0;
}

void
kafka_producer_disconnect(struct kafka_producer *producer)
{
	if (producer->client == NULL)
		return;
	int told = kafka_producer_purge(producer);
	for (flow_writer *w = producer->writers; w != NULL; w = w->next) {
		if (w->topic != NULL)
			rd_kafka_topic_destroy(w->topic);
		w->topic = NULL;
	}
	atomic_store(&producer->closing, 1);
	pthread_join(producer->thread, NULL);
	int ended = kafka_client_leave(producer->owner, producer->client);
	producer->client = NULL;
	producer->owner = NULL;
	if (!told)
		kafka_slots_settle(producer, ended);
}

void
kafka_producer_wait(struct kafka_producer *producer)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += PATIENCE;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&producer->changed, &producer->lock, &until);
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
