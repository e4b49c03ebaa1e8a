/*
 * The queues of a source's client: messages in one, what groups and errors have to say in the other. Who listens when the task does not, and
 * how a client goes on fetching.
 */
#include "kafka_source.h"

#define STANDSTILL 2000000       /* microseconds: a task calls once a second, unless something holds it up */
#define WHOLE_BATCHES 0x02020000 /* the version of librdkafka from which on batches are whole for certain */
#define INTERRUPTION 10000000    /* microseconds after which an assignment of this process is surely in force */
#define STANDSTILL_STEP 500000   /* and so often it is looked whether there is something to serve */

static flow_status
make_room(flow_source *source, flow_error *error)
{
	if (source->held_first != 0 && source->held_count != 0)
		memmove(source->held, &source->held[source->held_first], source->held_count * sizeof(*source->held));
	source->held_first = 0;
	uint32_t wanted = source->held_count + KAFKA_BATCH;
	if (wanted <= source->held_room)
		return FLOW_OK;
	void *grown = source->system->host->reallocate(source->held, wanted * sizeof(*source->held));
	if (grown == NULL)
		return kafka_no_memory(source->system->host, error);
	source->held = grown;
	source->held_room = wanted;
	return FLOW_OK;
}

/* Before 2.1.0, a batch call that is interrupted by an assignment throws away what it has taken of partitions that stay, up to its
 * size, and the client goes on behind that. A call for one message has nothing to throw away. */
static int
takes_singly(const flow_source *source)
{
	return rd_kafka_version() < WHOLE_BATCHES &&
		   (source->group != NULL ||
			(source->interrupted_at != 0 && source->system->host->monotonic() - source->interrupted_at < INTERRUPTION));
}

void
kafka_queue_interrupt(flow_source *source)
{
	if (source->assigned)
		source->interrupted_at = source->system->host->monotonic();
	source->assigned = 1;
}

static uint32_t
take(const flow_source *source, rd_kafka_queue_t *queue, rd_kafka_message_t **messages)
{
	if (!takes_singly(source)) {
		ssize_t got = rd_kafka_consume_batch_queue(queue, 0, messages, KAFKA_BATCH);
		return got < 0 ? 0 : (uint32_t)got;
	}
	uint32_t count = 0;
	while (count < KAFKA_BATCH && (messages[count] = rd_kafka_consume_queue(queue, 0)) != NULL)
		count++;
	return count;
}

flow_status
kafka_queue_take(flow_source *source, rd_kafka_queue_t *queue, uint32_t *count, flow_error *error)
{
	flow_status status = make_room(source, error);
	if (status != FLOW_OK)
		return status;
	rd_kafka_message_t **end = source->held + source->held_count;
	*count = take(source, queue, end);
	/* A partition that was taken meanwhile has left what was held of it. */
	memmove(source->held + source->held_count, end, *count * sizeof(*end));
	source->held_count += *count;
	return FLOW_OK;
}

/* --- where messages go -------------------------------------------------------------------------------------------------- */

/* Stopping a partition clears where its messages go, a little later: so that is waited for. The question that is asked for it (to seek)
 * stands behind the stop in the client's queue; it changes nothing, since nothing is read of the partition. */
static void
wait_for_stops(flow_source *source, const rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_topic_partition_list_t *copy = rd_kafka_topic_partition_list_copy(list);
	rd_kafka_error_destroy(rd_kafka_seek_partitions(source->client, copy, source->system->request_timeout));
	rd_kafka_topic_partition_list_destroy(copy);
}

void
kafka_queue_forward(flow_source *source, const rd_kafka_topic_partition_list_t *list)
{
	if (list->cnt == 0)
		return;
	wait_for_stops(source, list);
	for (int i = 0; i < list->cnt; i++) {
		rd_kafka_queue_t *queue =
			rd_kafka_queue_get_partition(source->client, list->elems[i].topic, list->elems[i].partition);
		if (queue == NULL)
			continue;
		rd_kafka_queue_forward(queue, source->messages);
		rd_kafka_queue_destroy(queue);
	}
}

/* --- in place of a task that does not call ------------------------------------------------------------------------------ */

int
kafka_queue_must_serve(const flow_source *source, int64_t now, int64_t *when)
{
	if (source->group == NULL)
		return 0;
	int64_t due = atomic_load(&source->read_at) + STANDSTILL;
	int waits = now >= due && rd_kafka_queue_length(source->queue) != 0;
	due = due > now ? due : now + STANDSTILL_STEP;
	*when = due < *when ? due : *when;
	return waits;
}

void
kafka_queue_serve(flow_source *source)
{
	const flow_host *host = source->system->host;
	if (pthread_mutex_trylock(&source->lock) != 0)
		return;
	flow_error *error = host->errors->create();
	uint32_t count;
	/* Only where something waits: for the client, a task that takes nothing for max.poll.interval.ms is to be thrown out. */
	if (host->monotonic() - atomic_load(&source->read_at) >= STANDSTILL && rd_kafka_queue_length(source->queue) != 0)
		kafka_queue_take(source, source->queue, &count, error); /* errors are held for the task */
	host->errors->free(error);
	pthread_mutex_unlock(&source->lock);
}

/* --- a client that stopped fetching ------------------------------------------------------------------------------------- */

/* It stops when its queue is full, and would look again only after a second: it is woken when a quarter is used up, so that it has
 * fetched more before the rest is. */
void
kafka_queue_keep_fetching(flow_source *source)
{
	uint64_t waiting = rd_kafka_queue_length(source->messages);
	uint64_t full = source->full_records;
	if (source->record_bytes != 0 && source->full_bytes / source->record_bytes < full)
		full = source->full_bytes / source->record_bytes;
	if (waiting >= full - full / 8) {
		source->was_full = 1;
	} else if (source->was_full && waiting < full - full / 4) {
		source->was_full = 0;
		pthread_mutex_lock(&source->system->lock);
		source->wants_nudge = 1;
		pthread_mutex_unlock(&source->system->lock);
		kafka_watch_signal(source->system);
	}
}
