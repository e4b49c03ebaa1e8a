/* Delivery reports: the thread of a producer that takes them, wakes who waits for them, and has records sent (kafka_output.h). */
#include <stdio.h>

#include "kafka_output.h"

#define POLL 100          /* milliseconds */
#define QUICK 5           /* milliseconds that records of a quiet stream wait for others */
#define BUSY 131072       /* bytes in that time: a stream with more is not quiet (25 MiB a second) */
#define PUSH 3            /* milliseconds in which the client does not wait for more records (of 1 it makes none) */
#define ASK_AFTER 3000000 /* microseconds */
#define ASK_PATIENCE 1000 /* milliseconds */
#define SAY_AFTER 10000000
#define LOST_AFTER 10000000
#define STANDSTILL 1000000 /* without a look: this process stood still, and time that has passed says nothing */

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

void
kafka_reports_take(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
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
	producer->reported++;
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
	int64_t looked;    /* the last time that it was looked at all */
	int64_t accounted; /* the last time that the client had a record, or nothing was under way */
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

/* The client has no record, and no report has come: whatever is counted as under way would be waited for without end. A writer may be
 * about to hand its records over, so that has to last. */
static void
find_lost(struct kafka_producer *producer, struct patience *p, int64_t now)
{
	char why[KAFKA_ERROR_SIZE];
	uint32_t batches = 0;
	pthread_mutex_lock(&producer->lock);
	for (const flow_writer *w = producer->writers; w != NULL; w = w->next)
		batches += w->outstanding;
	if (batches == 0)
		p->accounted = now;
	int lost = now - p->accounted >= LOST_AFTER;
	for (flow_writer *w = producer->writers; w != NULL && lost; w = w->next) {
		if (w->outstanding == 0)
			continue;
		snprintf(why, sizeof(why), "topic '%s': %u batches have no report, and the client has no record of them",
				 w->topic_name, w->outstanding);
		fail_writer(producer, w, FLOW_E_FAILED, why);
	}
	pthread_mutex_unlock(&producer->lock);
	if (lost) {
		p->accounted = now;
		wake_waiting(producer);
	}
}

/* Brokers that are away for long are not an error, but people want to hear of it. */
static void
note_waiting(struct kafka_producer *producer, int served, struct patience *p)
{
	int64_t now = producer->host->monotonic();
	int waiting = rd_kafka_outq_len(producer->client);
	if (served || waiting == 0)
		p->since = p->asked = p->said = now;
	if (served || waiting != 0 || now - p->looked > STANDSTILL)
		p->accounted = now;
	p->looked = now;
	if (served || atomic_load(&producer->closing))
		return;
	if (waiting == 0) {
		find_lost(producer, p, now);
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

/* --- when records are sent ---------------------------------------------------------------------------------------------- */

/* What was written since a time. */
struct pace {
	int64_t since;
	uint64_t written;
	uint64_t pushed; /* what was there when the client was last told to send it */
};

/* Once each QUICK: sends what a quiet stream has written, however little. Full batches cost the client and the brokers least, so records
 * of a busy one wait for others, for linger.ms at most. */
static void
push(struct kafka_producer *producer, struct pace *pace)
{
	int64_t now = producer->host->monotonic();
	if (now - pace->since < QUICK * 1000LL)
		return;
	uint64_t written = atomic_load(&producer->written);
	int quiet = written - pace->written < BUSY;
	pace->since = now;
	pace->written = written;
	if (!quiet || written == pace->pushed)
		return;
	pace->pushed = written;
	rd_kafka_flush(producer->client, PUSH); /* while it waits, the client does not wait for more */
}

/* Milliseconds until there may be something to do. A writer that finds the thread asleep wakes it. */
static int
rest(struct kafka_producer *producer, const struct pace *pace)
{
	if (!producer->pushes)
		return POLL;
	atomic_store(&producer->asleep, 1);
	if (atomic_load(&producer->written) == pace->pushed)
		return POLL;
	atomic_store(&producer->asleep, 0);
	return QUICK;
}

void *
kafka_reports_run(void *context)
{
	struct kafka_producer *producer = context;
	int64_t now = producer->host->monotonic();
	struct patience patience = { .since = now, .asked = now, .said = now, .looked = now, .accounted = now };
	struct pace pace = { .since = now };
	reporting = producer;
	while (!atomic_load(&producer->closing)) {
		uint64_t before = producer->reported;
		rd_kafka_poll(producer->client, rest(producer, &pace));
		if (producer->pushes)
			push(producer, &pace);
		int served = producer->reported != before;
		count_run(producer);
		if (served && atomic_load(&producer->waiting))
			wake_waiting(producer);
		note_waiting(producer, served, &patience);
	}
	return NULL;
}

void
kafka_reports_expect(struct kafka_producer *producer, uint64_t bytes)
{
	atomic_fetch_add(&producer->written, bytes);
	if (producer->pushes && atomic_load(&producer->asleep) && atomic_exchange(&producer->asleep, 0))
		rd_kafka_queue_yield(producer->reports);
}
