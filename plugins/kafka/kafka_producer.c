/* Producers: their clients, and their lives (kafka_output.h). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "kafka_output.h"

#define PATIENCE 100000000     /* nanoseconds of one wait */
#define PURGE_PATIENCE 3000000 /* microseconds */
#define QUEUE_RECORDS "1000000"
#define BATCH_BYTES 1000000 /* librdkafka's default of batch.size and message.max.bytes */
#define BATCH_OVERHEAD 512

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
	size_t size = sizeof(text);
	producer->pushes =
		rd_kafka_conf_get(conf, "linger.ms", text, &size) == RD_KAFKA_CONF_OK && strcmp(text, KAFKA_LINGER) == 0;
	if (producer->output != NULL) /* the job waits for brokers that are away, and says so */
		return set_unless_said(producer, conf, "message.timeout.ms", "300000", "0", error);
	status = kafka_property_set(producer->host, conf, "transactional.id", producer->transaction.id, error);
	if (status == FLOW_OK)
		status = kafka_property_set_number(producer->host, conf, "transaction.timeout.ms",
										   system->transaction_timeout / 1000, error);
	return status;
}

/* 0: the client does not end, and is left behind. */
static int
leave(struct kafka_producer *producer)
{
	rd_kafka_queue_destroy(producer->reports);
	int ended = kafka_client_leave(producer->owner, producer->client);
	producer->client = NULL;
	producer->owner = NULL;
	return ended;
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
	rd_kafka_conf_set_dr_msg_cb(conf, kafka_reports_take);
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
	producer->reports = rd_kafka_queue_get_main(client);
	producer->owner = owner;
	producer->generation++;
	pthread_mutex_unlock(&producer->lock);
	atomic_store(&producer->closing, 0);
	if (pthread_create(&producer->thread, NULL, kafka_reports_run, producer) == 0)
		return FLOW_OK;
	leave(producer);
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
	int ended = leave(producer);
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
