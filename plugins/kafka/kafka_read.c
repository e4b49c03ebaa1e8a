/*
 * Messages into batches. They stay in librdkafka's memory, which a batch gives back when it dies: nothing is copied, and nothing allocated
 * for a record.
 */

#include "kafka_source.h"

#define AHEAD 8 /* messages whose memory is asked for before it is looked at */

/* What a batch owns. Lies in the batch's own memory. */
struct lent {
	uint32_t count;
	rd_kafka_message_t *messages[];
};

static void
give_back(void *owner)
{
	struct lent *lent = owner;
	for (uint32_t i = 0; i < lent->count; i++) {
		if (i + AHEAD < lent->count)
			__builtin_prefetch(lent->messages[i + AHEAD]);
		rd_kafka_message_destroy(lent->messages[i]);
	}
}

/* --- what was taken from the queue and not handed on -------------------------------------------------------------------- */

static rd_kafka_message_t **
held_at(flow_source *source, uint32_t i)
{
	return &source->held[source->held_first + i];
}

/* Takes `count` out at `at`; who calls owns them. */
static void
take_out(flow_source *source, uint32_t at, uint32_t count)
{
	if (at != 0)
		memmove(held_at(source, count), held_at(source, 0), at * sizeof(*source->held));
	source->held_first += count;
	source->held_count -= count;
	if (source->held_count == 0)
		source->held_first = 0;
}

static struct kafka_partition *
partition_of(flow_source *source, const rd_kafka_message_t *message)
{
	struct kafka_partition *p = source->current;
	const char *topic = message->rkt == NULL ? "" : rd_kafka_topic_name(message->rkt);
	if (p == NULL || p->number != message->partition || strcmp(p->topic, topic) != 0)
		p = kafka_partition_find(source, topic, message->partition);
	source->current = p;
	return p;
}

void
kafka_read_drop(flow_source *source, const struct kafka_partition *p)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < source->held_count; i++) {
		rd_kafka_message_t *message = *held_at(source, i);
		if (p == NULL || partition_of(source, message) == p)
			rd_kafka_message_destroy(message);
		else
			*held_at(source, kept++) = message;
	}
	source->held_count = kept;
	source->current = NULL;
}

/* --- partitions in the client ------------------------------------------------------------------------------------------- */

flow_status
kafka_read_start(flow_source *source, flow_error *error)
{
	if (source->due_count == 0 && !kafka_group_start_is_overdue(source))
		return FLOW_OK;
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)source->due_count);
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; i < source->partition_count && status == FLOW_OK; i++) {
		struct kafka_partition *p = source->partitions[i];
		if (!p->due)
			continue;
		if (p->start == KAFKA_UNKNOWN) {
			kafka_partition_settle(source, p);
			status = kafka_partition_check(source, p, error);
		}
		p->due = 0;
		int64_t next = atomic_load(&p->next);
		p->reading = 1;
		if (next >= p->bound)
			kafka_partition_end(source, p);
		else
			rd_kafka_topic_partition_list_add(list, p->topic, p->number)->offset = next;
	}
	source->due_count = 0;
	if (status != FLOW_OK) {
		; /* it is fatal: nothing begins */
	} else if (source->group != NULL) {
		status = kafka_group_start(source, list, error);
	} else if (list->cnt != 0) {
		kafka_queue_forward(source, list);
		kafka_queue_interrupt(source);
		rd_kafka_error_t *failed = rd_kafka_incremental_assign(source->client, list);
		if (failed != NULL)
			status = kafka_failed(source->system->host, error, rd_kafka_error_code(failed), "reading cannot begin");
		rd_kafka_error_destroy(failed);
	}
	rd_kafka_topic_partition_list_destroy(list);
	return status;
}

static void
set_paused(flow_source *source, struct kafka_partition *p, int paused)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, p->topic, p->number);
	if (paused)
		rd_kafka_pause_partitions(source->client, list);
	else
		rd_kafka_resume_partitions(source->client, list);
	rd_kafka_topic_partition_list_destroy(list);
	p->paused_there = (uint8_t)paused;
}

/* Where everything is held back, it is enough to take no message; where a part is, the client must know which. What it has fetched
 * of a paused partition it forgets, and fetches again. */
static int
all_paused(flow_source *source)
{
	uint32_t reading = 0, paused = 0;
	for (uint32_t i = 0; i < source->partition_count; i++) {
		reading += source->partitions[i]->reading;
		paused += source->partitions[i]->reading && source->partitions[i]->paused;
	}
	return reading != 0 && reading == paused;
}

static void
apply_pauses(flow_source *source)
{
	for (uint32_t i = 0; i < source->partition_count; i++) {
		struct kafka_partition *p = source->partitions[i];
		if (p->reading && p->paused != p->paused_there)
			set_paused(source, p, p->paused);
	}
	source->pause_changes = 0;
}

/* --- what is no record -------------------------------------------------------------------------------------------------- */

static flow_status
go_on_at(flow_source *source, struct kafka_partition *p, int64_t offset, flow_error *error)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, p->topic, p->number)->offset = offset;
	if (source->group == NULL) {
		kafka_queue_interrupt(source);
		rd_kafka_error_destroy(rd_kafka_incremental_unassign(source->client, list));
		kafka_read_drop(source, p);
	}
	atomic_store(&p->next, offset);
	rd_kafka_topic_partition_list_destroy(list);
	p->reading = 0;
	p->due = 1;
	source->due_count++;
	return kafka_read_start(source, error);
}

static void
reached(struct kafka_partition *p, int64_t offset)
{
	if (offset > atomic_load_explicit(&p->next, memory_order_relaxed))
		atomic_store_explicit(&p->next, offset, memory_order_relaxed);
}

static flow_status
handle_lost(flow_source *source, struct kafka_partition *p, flow_error *error)
{
	int64_t offset;
	flow_status status = kafka_partition_lost(source, p, atomic_load(&p->next), &offset, error);
	return status == FLOW_OK ? go_on_at(source, p, offset, error) : status;
}

/* Errors of a partition that librdkafka deals with by itself. */
static int
is_passing(flow_status status)
{
	return status == FLOW_E_TIMEOUT || status == FLOW_E_UNAVAILABLE;
}

/* Its topic was deleted, and the option says to go on, so it may come back. */
static int
waits_for_topic(const flow_source *source)
{
	return source->settings.reset != 0 && !source->settings.bounded;
}

static flow_status
handle_error(flow_source *source, struct kafka_partition *p, const rd_kafka_message_t *message, flow_error *error)
{
	const flow_host *host = source->system->host;
	flow_status status = kafka_status(message->err);
	if (message->err == RD_KAFKA_RESP_ERR__FATAL) {
		char text[KAFKA_ERROR_SIZE];
		rd_kafka_resp_err_t code = rd_kafka_fatal_error(source->client, text, sizeof(text));
		return flow_fail(host, error, kafka_status(code), "the client cannot go on: %s", text);
	}
	if (is_passing(status) || message->err == RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED) {
		flow_say(host, FLOW_LOG_WARN, source->component, "%s", rd_kafka_message_errstr(message));
		return FLOW_OK;
	}
	/* A job that named no group asks nothing of one. */
	if (message->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED && source->settings.group == NULL)
		return FLOW_OK;
	if (message->err == RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL)
		return flow_fail(
			host, error, FLOW_E_CONFIG,
			"group '%s' has members that deal partitions in another way; all of a group use the same option "
			"rebalance (here '%s'), so change it, or choose another group",
			source->settings.group, source->settings.eager ? "eager" : "cooperative");
	if (status == FLOW_E_NOT_FOUND && waits_for_topic(source)) {
		if (p == NULL) /* else the watching thread says so */
			flow_say(host, FLOW_LOG_WARN, source->component, "%s; waiting for it", rd_kafka_message_errstr(message));
		return FLOW_OK;
	}
	if (p == NULL)
		return kafka_failed(host, error, message->err, "%s", rd_kafka_message_errstr(message));
	if (status == FLOW_E_NOT_FOUND)
		return flow_fail(host, error, FLOW_E_NOT_FOUND, "topic '%s', partition %d is not there any more", p->topic,
						 p->number);
	return kafka_failed(host, error, message->err, "topic '%s', partition %d, offset %lld: %s", p->topic, p->number,
						(long long)message->offset, rd_kafka_message_errstr(message));
}

/* Takes the message. */
static flow_status
handle_event(flow_source *source, rd_kafka_message_t *message, flow_error *error)
{
	struct kafka_partition *p = partition_of(source, message);
	flow_status status = FLOW_OK;
	if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
		if (p != NULL && p->reading) {
			/* Everything in front of it was a record that was handed on, a transaction's marker, or is not there. */
			reached(p, message->offset);
			if (message->offset >= p->bound)
				kafka_partition_end(source, p);
		}
	} else if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
		if (p != NULL && p->reading)
			status = handle_lost(source, p, error);
	} else {
		status = handle_error(source, p, message, error);
	}
	rd_kafka_message_destroy(message);
	return status;
}

/* --- batches ------------------------------------------------------------------------------------------------------------ */

/* How many messages from `at` on go into one batch; *bytes of them. *ended: the next one lies behind the bound. */
static uint32_t
measure_run(flow_source *source, const struct kafka_partition *p, uint32_t at, const flow_builder *builder,
			uint64_t *bytes, int *ended)
{
	const rd_kafka_message_t *first = *held_at(source, at);
	uint64_t room = builder->soft_end > builder->next ? (uint64_t)(builder->soft_end - builder->next) : 0;
	const int64_t bound = p->bound;
	uint32_t count = 0;
	*bytes = 0;
	for (; at + count < source->held_count && count < builder->row_capacity; count++) {
		const rd_kafka_message_t *m = *held_at(source, at + count);
		if (at + count + AHEAD < source->held_count)
			__builtin_prefetch(*held_at(source, at + count + AHEAD));
		if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR || m->rkt != first->rkt || m->partition != first->partition)
			break;
		*ended = m->offset >= bound;
		if (*ended || (count != 0 && *bytes + m->len + m->key_len > room))
			break;
		*bytes += m->len + m->key_len;
	}
	return count;
}

/* FLOW_AGAIN: it is dealt with. */
static flow_status
reject_one(flow_source *source, struct kafka_partition *p, uint32_t at, flow_builder *builder)
{
	rd_kafka_message_t *message = *held_at(source, at);
	flow_status status = kafka_record_reject(message, builder);
	p->last = message->offset;
	take_out(source, at, 1);
	rd_kafka_message_destroy(message);
	reached(p, p->last + 1);
	if (p->last + 1 >= p->bound)
		kafka_partition_end(source, p);
	return status == FLOW_OK ? FLOW_AGAIN : status;
}

/* They lie behind the value, where nobody has been since it came. */
static void
prefetch_headers(const rd_kafka_message_t *message)
{
	if (message->payload != NULL)
		__builtin_prefetch((const char *)message->payload + message->len);
}

static flow_status
hand_on(flow_source *source, struct kafka_partition *p, uint32_t at, flow_builder *builder, flow_error *error)
{
	uint64_t bytes;
	int ended = 0;
	uint32_t count = measure_run(source, p, at, builder, &bytes, &ended);
	builder->partition = p->shown.index;
	if (ended)
		kafka_partition_end(source, p);
	if (count == 0)
		return FLOW_AGAIN;
	if (kafka_record_is_bad(*held_at(source, at)))
		return reject_one(source, p, at, builder);
	builder->flags |= FLOW_BATCH_RAW;
	struct lent *lent = flow_builder_alloc(builder, sizeof(*lent) + count * sizeof(lent->messages[0]));
	if (lent == NULL ||
		builder->ops->add_columns(builder, FLOW_COLUMN_KEY | FLOW_COLUMN_TIMESTAMP | FLOW_COLUMN_ORDINAL) != FLOW_OK)
		return kafka_no_memory(source->system->host, error);
	for (uint32_t i = 0; i < count; i++) {
		if (i != 0 && kafka_record_is_bad(*held_at(source, at + i))) {
			count = i; /* those in front of it first */
			break;
		}
		if (source->settings.headers && i + AHEAD < count)
			prefetch_headers(*held_at(source, at + i + AHEAD));
		flow_status status = kafka_record_add(source, *held_at(source, at + i), builder, error);
		if (status != FLOW_OK)
			return status;
	}
	lent->count = count;
	memcpy(lent->messages, held_at(source, at), count * sizeof(lent->messages[0]));
	int64_t last = (*held_at(source, at + count - 1))->offset;
	take_out(source, at, count);
	source->record_bytes = bytes / count + 1;
	if (builder->ops->adopt(builder, give_back, lent, bytes) != FLOW_OK)
		return kafka_no_memory(source->system->host, error);
	p->last = last;
	reached(p, last + 1);
	if (last + 1 >= p->bound)
		kafka_partition_end(source, p);
	kafka_queue_keep_fetching(source);
	return FLOW_OK;
}

/* Not for this source, or not any more: a client that was told to begin elsewhere may have had messages before. */
static int
is_stale(const struct kafka_partition *p, const rd_kafka_message_t *message)
{
	return !p->reading || message->offset < atomic_load_explicit(&p->next, memory_order_relaxed);
}

static int
is_paused(flow_source *source, const rd_kafka_message_t *message)
{
	const struct kafka_partition *p = partition_of(source, message);
	return p != NULL && p->reading && p->paused;
}

/* Hands on what is held. FLOW_AGAIN: nothing of it can be. */
static flow_status
use_held(flow_source *source, flow_builder *builder, flow_error *error)
{
	flow_status status = FLOW_AGAIN;
	for (uint32_t at = 0; at < source->held_count && status == FLOW_AGAIN;) {
		rd_kafka_message_t *message = *held_at(source, at);
		if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF && is_paused(source, message)) {
			at++; /* records in front of it are held */
			continue;
		}
		if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
			take_out(source, at, 1);
			status = handle_event(source, message, error);
			if (status != FLOW_OK)
				return status;
			status = FLOW_AGAIN;
			at = 0; /* it may have dropped others */
			continue;
		}
		struct kafka_partition *p = partition_of(source, message);
		if (p == NULL || is_stale(p, message)) {
			take_out(source, at, 1);
			rd_kafka_message_destroy(message);
		} else if (p->paused) {
			at++;
		} else {
			status = hand_on(source, p, at, builder, error);
		}
	}
	return status;
}

/* --- the call ------------------------------------------------------------------------------------------------------------- */

/* The next partition that ended. */
static int
next_end(flow_source *source, uint32_t *index)
{
	for (uint32_t i = 0; i < source->partition_count && source->end_count != 0; i++) {
		struct kafka_partition *p = source->partitions[i];
		if (p->ended != 1)
			continue;
		p->ended = 2;
		source->end_count--;
		if (!p->paused_there && p->last >= 0)
			set_paused(source, p, 1); /* what lies behind the bound is not wanted */
		*index = p->shown.index;
		return 1;
	}
	return 0;
}

/* The client is not to go on by itself where another topic of that name happens to have something. */
static void
stop_reading(flow_source *source)
{
	rd_kafka_topic_partition_list_t *list = NULL;
	if (rd_kafka_assignment(source->client, &list) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	rd_kafka_error_destroy(rd_kafka_incremental_unassign(source->client, list));
	rd_kafka_topic_partition_list_destroy(list);
	kafka_read_drop(source, NULL);
}

/* Everything that was known of the topic is of another one. */
static flow_status
begin_anew(flow_source *source, flow_error *error)
{
	flow_status status = FLOW_OK;
	kafka_source_connect(source); /* what is assigned before the client knows of the topic is not read */
	for (uint32_t i = 0; i < source->partition_count && status == FLOW_OK; i++) {
		struct kafka_partition *p = source->partitions[i];
		int64_t offset;
		if (!p->reading || p->ended)
			continue;
		status = kafka_partition_anew(source, p, &offset, error);
		if (status == FLOW_OK)
			status = go_on_at(source, p, offset, error);
	}
	return status;
}

static flow_status
look_at_topic(flow_source *source, flow_error *error)
{
	int made_anew = atomic_load(&source->topics->made_anew);
	if (made_anew != source->made_anew) {
		source->made_anew = made_anew;
		return begin_anew(source, error);
	}
	if (!atomic_load(&source->topics->gone))
		return FLOW_OK;
	if (!waits_for_topic(source))
		return flow_fail(source->system->host, error, FLOW_E_NOT_FOUND,
						 "topic '%s' has been deleted; make it again, or remove the input", source->settings.topic);
	flow_say(source->system->host, FLOW_LOG_WARN, source->component,
			 "topic '%s' has been deleted; waiting for it (offset_reset)", source->settings.topic);
	stop_reading(source);
	return FLOW_OK;
}

static flow_status
look_at_changes(flow_source *source, int *changed, flow_error *error)
{
	*changed = 0;
	if (!atomic_exchange(&source->changed, 0))
		return FLOW_OK;
	if (source->group != NULL)
		return kafka_group_changed(source, changed, error);
	flow_status status = look_at_topic(source, error);
	*changed = status == FLOW_OK;
	return status;
}

/* Takes what there is to take: first what the client has to say. *count 0: nothing. */
static flow_status
take_next(flow_source *source, uint32_t *count, flow_error *error)
{
	flow_status status = kafka_queue_take(source, source->queue, count, error);
	if (status == FLOW_OK && *count == 0 && !atomic_load(&source->changed) && !all_paused(source))
		status = kafka_queue_take(source, source->messages, count, error);
	return status;
}

static flow_status
read_next(flow_source *source, flow_builder *builder, flow_error *error)
{
	int changed;
	flow_status status = look_at_changes(source, &changed, error);
	if (status == FLOW_OK)
		status = kafka_read_start(source, error);
	if (status != FLOW_OK || changed)
		return status != FLOW_OK ? status : FLOW_CHANGED;
	if (source->pause_changes != 0 && !all_paused(source))
		apply_pauses(source);
	for (;;) {
		if (next_end(source, &builder->partition))
			return FLOW_END;
		status = use_held(source, builder, error);
		if (status != FLOW_AGAIN || source->end_count != 0) {
			if (status == FLOW_AGAIN)
				continue;
			return status;
		}
		uint32_t count = 0;
		status = take_next(source, &count, error);
		if (status != FLOW_OK)
			return status;
		if (atomic_load(&source->changed)) {
			status = look_at_changes(source, &changed, error);
			if (status != FLOW_OK || changed)
				return status != FLOW_OK ? status : FLOW_CHANGED;
		}
		if (count == 0)
			return FLOW_AGAIN;
	}
}

flow_status
kafka_source_read(flow_source *source, flow_builder *builder, flow_error *error)
{
	pthread_mutex_lock(&source->lock);
	atomic_store(&source->read_at, source->system->host->monotonic());
	flow_status status = read_next(source, builder, error);
	atomic_store(&source->read_at, source->system->host->monotonic());
	pthread_mutex_unlock(&source->lock);
	return status;
}
