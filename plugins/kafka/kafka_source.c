/* A source's life: described, opened, given partitions, asked how it is doing, closed. */
#include <stdio.h>
#include <stdlib.h>

#include "kafka_source.h"

#define REFRESH 2000        /* milliseconds */
#define RECORD_OVERHEAD 512 /* bytes that the client needs for a record, about, besides its key and value */

/* --- streams at plan time --------------------------------------------------------------------------------------------- */

flow_status
kafka_describe_input(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
					 flow_error *error)
{
	struct kafka_input_settings settings;
	flow_status status = kafka_settings_read(system->host, request, &settings, error);
	if (status != FLOW_OK)
		return status;
	description->bounded = request->bounded;
	description->self_assigned = (uint32_t)settings.by_group;
	system->input_count++;
	rd_kafka_conf_t *trial = kafka_client_conf(system, RD_KAFKA_CONSUMER);
	status = kafka_properties_apply(system->host, flow_option_get(request->options, "consumer"), trial, error);
	rd_kafka_conf_destroy(trial);
	if (status != FLOW_OK)
		system->host->errors->option(error, "consumer");
	else if (!request->offline && settings.topic != NULL)
		status = kafka_admin_partitions(system, settings.topic, &description->partition_count, error);
	kafka_settings_free(&settings);
	return status;
}

flow_status
kafka_create_stream(flow_system *system, const flow_stream_request *request, int32_t partitions, flow_error *error)
{
	char *topic = kafka_copy(system->host, request->physical_name);
	if (topic == NULL)
		return kafka_no_memory(system->host, error);
	flow_status status =
		kafka_admin_create(system, topic, partitions, (int32_t)flow_option_int(request->options, "replication", 0),
						   flow_option_get(request->options, "config"), error);
	if (status == FLOW_OK)
		status = kafka_admin_await(system, topic, &partitions, error);
	system->host->release(topic);
	return status;
}

/* --- partitions, as the host gives and takes them ------------------------------------------------------------------------- */

static flow_status
assign(flow_source *source, uint32_t index, flow_slice position, flow_error *error)
{
	struct kafka_partition *p = source->partitions[index];
	flow_status status = FLOW_OK;
	if (position.data != NULL && position.size != 0) {
		int64_t next = 0, end = INT64_MAX;
		status = kafka_position_parse(source->system->host, position, &next, &end, error);
		if (status != FLOW_OK)
			return status;
		if (source->topics != NULL)
			atomic_store(&source->topics->goes_on, 1);
		if (source->settings.bounded && end != INT64_MAX)
			p->bound = end;
		p->start = next;
		atomic_store(&p->next, next);
	} else if (p->committed != KAFKA_UNKNOWN) {
		kafka_partition_settle(source, p);
	}
	if (p->start != KAFKA_UNKNOWN)
		status = kafka_partition_check(source, p, error);
	if (status != FLOW_OK)
		return status;
	p->due = 1;
	source->due_count++;
	return FLOW_OK;
}

flow_status
kafka_source_assign(flow_source *source, uint32_t index, flow_slice position, flow_error *error)
{
	pthread_mutex_lock(&source->lock);
	flow_status status = assign(source, index, position, error);
	pthread_mutex_unlock(&source->lock);
	return status;
}

static flow_status
revoke(flow_source *source, uint32_t index, flow_error *error)
{
	struct kafka_partition *p = source->partitions[index];
	(void)error;
	source->due_count -= p->due;
	p->due = 0;
	kafka_read_drop(source, p);
	if (p->reading && source->group == NULL) {
		rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
		rd_kafka_topic_partition_list_add(list, p->topic, p->number);
		kafka_queue_interrupt(source);
		rd_kafka_error_destroy(rd_kafka_incremental_unassign(source->client, list));
		rd_kafka_topic_partition_list_destroy(list);
	}
	p->reading = 0;
	return FLOW_OK;
}

flow_status
kafka_source_revoke(flow_source *source, uint32_t index, flow_error *error)
{
	pthread_mutex_lock(&source->lock);
	flow_status status = revoke(source, index, error);
	pthread_mutex_unlock(&source->lock);
	return status;
}

static void
set_paused(flow_source *source, uint32_t index, int paused)
{
	struct kafka_partition *p = source->partitions[index];
	source->pause_changes += p->paused != (paused != 0);
	p->paused = paused != 0;
}

void
kafka_source_pause(flow_source *source, uint32_t index, int paused)
{
	pthread_mutex_lock(&source->lock);
	set_paused(source, index, paused);
	pthread_mutex_unlock(&source->lock);
}

/* --- how it is doing ---------------------------------------------------------------------------------------------------- */

/* Where the partition ends, as far as this process knows; KAFKA_UNKNOWN: it does not. */
static int64_t
end_of(flow_source *source, const struct kafka_partition *p)
{
	int64_t low = -1, high = -1;
	if (p->bound != INT64_MAX)
		return p->bound;
	rd_kafka_resp_err_t code = rd_kafka_get_watermark_offsets(source->client, p->topic, p->number, &low, &high);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR || high < 0)
		high = p->high;
	return high;
}

void
kafka_source_remaining(flow_source *source, int64_t *records, int64_t *bytes)
{
	*records = 0;
	*bytes = -1;
	pthread_mutex_lock(&source->system->lock);
	for (uint32_t i = 0; i < source->partition_count; i++) {
		const struct kafka_partition *p = source->partitions[i];
		int64_t next = atomic_load_explicit(&p->next, memory_order_relaxed), end = end_of(source, p);
		if (next >= 0 && end > next && !p->given_up)
			*records += end - next;
	}
	pthread_mutex_unlock(&source->system->lock);
}

void
kafka_source_numbers(flow_source *source, const flow_numbers *numbers)
{
	const flow_slice whole = { NULL, 0 };
	int64_t behind = 0, queued = (int64_t)rd_kafka_queue_length(source->messages);
	pthread_mutex_lock(&source->system->lock);
	for (uint32_t i = 0; i < source->partition_count; i++) {
		const struct kafka_partition *p = source->partitions[i];
		int64_t next = atomic_load_explicit(&p->next, memory_order_relaxed), end = end_of(source, p);
		int64_t saved = atomic_load_explicit(&p->saved, memory_order_relaxed);
		if (p->given_up || next < 0)
			continue;
		behind += end > next ? end - next : 0;
		numbers->add(numbers->context, p->shown.id, "position", next);
		numbers->add(numbers->context, p->shown.id, "end", end);
		numbers->add(numbers->context, p->shown.id, "lag", end > next ? end - next : 0);
		numbers->add(numbers->context, p->shown.id, "paused", p->paused);
		if (saved >= 0)
			numbers->add(numbers->context, p->shown.id, "committed", saved);
	}
	/* That a partition's end was reached stands in the queue too. */
	numbers->add(numbers->context, whole, "queued", queued < behind ? queued : behind);
	numbers->add(numbers->context, whole, "records_lost", atomic_load(&source->records_lost));
	if (source->group != NULL)
		numbers->add(numbers->context, whole, "rebalances", atomic_load(&source->rebalances));
	pthread_mutex_unlock(&source->system->lock);
}

/* --- open, close -------------------------------------------------------------------------------------------------------- */

/* What the client may hold: its share of what the inputs of this process may hold together. */
static flow_status
set_thresholds(flow_source *source, const flow_source_info *info, rd_kafka_conf_t *conf, flow_error *error)
{
	const flow_system *system = source->system;
	uint64_t sources =
		(uint64_t)(system->input_count == 0 ? 1 : system->input_count) * (info->task_count == 0 ? 1 : info->task_count);
	/* Half of it, because it stops fetching only when it has more, and what is under way comes on top. */
	uint64_t bytes = system->fetch_threshold_bytes / sources / 2;
	uint64_t records = system->fetch_threshold != 0 ? system->fetch_threshold / sources : bytes / RECORD_OVERHEAD * 2;
	source->full_bytes = bytes < 65536 ? 65536 : bytes;
	source->full_records = records < 1000 ? 1000 : records > 10000000 ? 10000000 : records;
	uint64_t fetch = bytes / 4 < 1048576 ? 1048576 : bytes / 4 > 52428800 ? 52428800 : bytes / 4;
	char set[32];
	size_t size = sizeof(set);
	flow_status status = kafka_property_set_number(system->host, conf, "queued.max.messages.kbytes",
												   (int64_t)(source->full_bytes / 1024), error);
	if (status == FLOW_OK)
		status =
			kafka_property_set_number(system->host, conf, "queued.min.messages", (int64_t)source->full_records, error);
	/* Its own default is larger than many a share. */
	if (status == FLOW_OK && rd_kafka_conf_get(conf, "fetch.max.bytes", set, &size) == RD_KAFKA_CONF_OK &&
		strtoll(set, NULL, 10) == 52428800)
		status = kafka_property_set_number(system->host, conf, "fetch.max.bytes", (int64_t)fetch, error);
	return status;
}

static flow_status
configure(flow_source *source, const flow_stream_request *request, const flow_source_info *info, rd_kafka_conf_t *conf,
		  flow_error *error)
{
	const flow_host *host = source->system->host;
	const flow_options *options = request->options;
	const flow_option_value *fetch = flow_option_get(options, "fetch_message_max_bytes");
	char group[300];
	snprintf(group, sizeof(group), "flowd-%.*s", (int)request->job.size, request->job.data); /* it joins none */
	flow_status status = kafka_properties_apply(host, flow_option_get(options, "consumer"), conf, error);
	if (status == FLOW_OK)
		status = kafka_property_set(host, conf, "isolation.level", flow_option_text(options, "isolation").data, error);
	if (status == FLOW_OK)
		status = kafka_property_set(host, conf, "group.id",
									source->settings.group != NULL ? source->settings.group : group, error);
	/* How soon a topic that was deleted is noticed by the client. */
	if (status == FLOW_OK && source->settings.topic != NULL && source->system->discovery_interval > REFRESH * 1000LL)
		status = kafka_property_set_number(host, conf, "topic.metadata.refresh.interval.ms", REFRESH, error);
	if (status == FLOW_OK && fetch != NULL)
		status = kafka_property_set_number(host, conf, "max.partition.fetch.bytes", fetch->integer, error);
	if (status == FLOW_OK)
		status = set_thresholds(source, info, conf, error);
	if (status == FLOW_OK && source->group != NULL)
		status = kafka_group_configure(source, conf, error);
	return status;
}

static void
on_messages(rd_kafka_t *client, void *opaque)
{
	flow_source *source = opaque;
	(void)client;
	source->waker->wake(source->waker->wake_context);
}

static flow_status
open_client(flow_source *source, const flow_stream_request *request, const flow_source_info *info, flow_error *error)
{
	rd_kafka_conf_t *conf = kafka_client_conf(source->system, RD_KAFKA_CONSUMER);
	flow_status status = configure(source, request, info, conf, error);
	if (status != FLOW_OK) {
		rd_kafka_conf_destroy(conf);
		return status;
	}
	status = kafka_client_open(source->owner, RD_KAFKA_CONSUMER, conf, &source->client, error);
	if (status != FLOW_OK)
		return status;
	rd_kafka_poll_set_consumer(source->client);
	source->queue = rd_kafka_queue_get_consumer(source->client);
	source->messages = rd_kafka_queue_new(source->client);
	source->answers = rd_kafka_queue_new(source->client);
	rd_kafka_queue_cb_event_enable(source->queue, on_messages, source);
	rd_kafka_queue_cb_event_enable(source->messages, on_messages, source);
	return FLOW_OK;
}

/* A client that is asked for something before it knows any broker looks for leaders and coordinators a second later. */
void
kafka_source_connect(flow_source *source)
{
	const struct rd_kafka_metadata *metadata;
	const char *name = source->settings.topic;
	rd_kafka_topic_t *topic = name == NULL ? NULL : rd_kafka_topic_new(source->client, name, NULL);
	if (rd_kafka_metadata(source->client, topic == NULL, topic, &metadata, source->system->request_timeout) ==
		RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_metadata_destroy(metadata);
	if (topic != NULL)
		rd_kafka_topic_destroy(topic);
}

/* What belongs to one time of being open. */
static void
forget_partitions(flow_source *source)
{
	const flow_host *host = source->system->host;
	for (uint32_t i = 0; i < source->partition_count; i++)
		kafka_partition_free(host, source->partitions[i]);
	host->release(source->partitions);
	host->release(source->list);
	host->release(source->sorted);
	host->release(source->held);
	source->partitions = NULL;
	source->list = NULL;
	source->sorted = NULL;
	source->held = NULL;
	source->current = NULL;
	source->partition_count = source->partition_room = source->sorted_count = source->due_count = source->end_count = 0;
	source->pause_changes = source->held_first = source->held_count = source->held_room = 0;
	source->was_full = source->wants_nudge = 0;
	atomic_store(&source->changed, 0);
}

static void
destroy(flow_source *source)
{
	const flow_host *host = source->system->host;
	if (source->queue != NULL) {
		rd_kafka_queue_cb_event_enable(source->queue, NULL, NULL);
		rd_kafka_queue_cb_event_enable(source->messages, NULL, NULL);
	}
	if (source->system->watch != NULL)
		kafka_watch_remove(source);
	kafka_topics_close(source);
	kafka_read_drop(source, NULL);
	kafka_group_close(source);
	if (source->queue != NULL) {
		rd_kafka_queue_destroy(source->messages);
		rd_kafka_queue_destroy(source->queue);
	}
	if (source->answers != NULL)
		rd_kafka_queue_destroy(source->answers);
	if (source->client != NULL) {
		kafka_client_leave_soon(source->owner, source->client, source->component);
	} else {
		if (source->owner != NULL)
			kafka_owner_close(source->owner);
		host->release(source->owner);
		host->release(source->component);
	}
	forget_partitions(source);
	host->release(source->stream);
	kafka_settings_free(&source->settings);
	pthread_mutex_destroy(&source->lock);
	host->release(source);
}

/* Whether the job may come back for it: what it reads is committed by a transaction, which may be lost. */
static int
may_return(const flow_source *source)
{
	char text[KAFKA_ERROR_SIZE];
	return source->group != NULL && !source->commits &&
		   rd_kafka_fatal_error(source->client, text, sizeof(text)) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

void
kafka_source_close(flow_source *source)
{
	if (!may_return(source)) {
		destroy(source);
		return;
	}
	rd_kafka_queue_cb_event_enable(source->queue, NULL, NULL);
	rd_kafka_queue_cb_event_enable(source->messages, NULL, NULL);
	kafka_watch_remove(source);
	kafka_read_drop(source, NULL);
	kafka_group_park(source);
	forget_partitions(source);
	source->next_source = source->system->parked;
	source->system->parked = source;
}

void
kafka_source_leave_all(flow_system *system)
{
	while (system->parked != NULL) {
		flow_source *source = system->parked;
		system->parked = source->next_source;
		destroy(source);
	}
}

/* The parked source of the same stream and task, which is not in the list any more; NULL: there is none. */
static flow_source *
take_parked(flow_system *system, flow_slice stream, uint32_t task)
{
	flow_source **at = &system->parked;
	while (*at != NULL && !((*at)->task == task && flow_slice_is(stream, (*at)->stream)))
		at = &(*at)->next_source;
	flow_source *found = *at;
	if (found != NULL)
		*at = found->next_source;
	return found;
}

static flow_status
open_again(flow_source *source, const flow_source_info *info, flow_error *error)
{
	source->waker = info->waker;
	source->settings.anew &= !source->told; /* else the group has gone on meanwhile */
	rd_kafka_queue_cb_event_enable(source->queue, on_messages, source);
	rd_kafka_queue_cb_event_enable(source->messages, on_messages, source);
	atomic_store(&source->read_at, source->system->host->monotonic());
	flow_status status = kafka_watch_add(source, error);
	return status == FLOW_OK ? kafka_group_resume(source, error) : status;
}

static flow_status
set_names(flow_source *source, const flow_stream_request *request, flow_error *error)
{
	const flow_host *host = source->system->host;
	char text[512];
	snprintf(text, sizeof(text), "%s/%.*s", source->system->name, (int)request->id.size, request->id.data);
	source->stream = kafka_copy(host, request->id);
	source->component = kafka_copy(host, flow_slice_of(text));
	source->owner = flow_new(host, sizeof(*source->owner));
	if (source->owner == NULL || source->stream == NULL || source->component == NULL)
		return kafka_no_memory(host, error);
	kafka_owner_open(source->owner, source->system, source->component);
	source->owner->context = source;
	snprintf(text, sizeof(text), "input=%.*s", (int)request->id.size, request->id.data);
	source->lost = host->metric(FLOW_METRIC_COUNTER, "records_lost_total", text,
								"Records that were gone before they could be read.");
	return FLOW_OK;
}

flow_status
kafka_source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info, flow_source **result,
				  flow_error *error)
{
	flow_source *source = info->self_assigned ? take_parked(system, request->id, info->task) : NULL;
	if (source != NULL) {
		info->blocking = info->decoded = 0;
		flow_status status = open_again(source, info, error);
		if (status != FLOW_OK)
			destroy(source);
		else
			*result = source;
		return status;
	}
	kafka_client_await_left(system); /* one that left may hold the partitions, and the name, of this one */
	source = flow_new(system->host, sizeof(*source));
	if (source == NULL)
		return kafka_no_memory(system->host, error);
	source->system = system;
	pthread_mutex_init(&source->lock, NULL);
	atomic_init(&source->read_at, system->host->monotonic());
	source->settings.host = system->host;
	source->task = info->task;
	source->start = info->start;
	source->waker = info->waker;
	flow_status status = set_names(source, request, error);
	if (status == FLOW_OK)
		status = kafka_settings_read(system->host, request, &source->settings, error);
	source->settings.anew |= FLOW_HAS(info, anew) && info->anew;
	int by_group = status == FLOW_OK && source->settings.by_group && info->self_assigned;
	source->commits = status == FLOW_OK && source->settings.group != NULL && !info->committed_by_output &&
					  source->settings.by_group == by_group; /* else it is a trial */
	info->blocking = 0;
	info->decoded = 0;
	info->self_assigned = (uint32_t)by_group;
	if (status == FLOW_OK && by_group && (source->group = kafka_group_new(source)) == NULL)
		status = kafka_no_memory(system->host, error);
	if (status == FLOW_OK)
		status = open_client(source, request, info, error);
	if (status == FLOW_OK)
		kafka_source_connect(source);
	if (status == FLOW_OK)
		status = by_group ? kafka_group_open(source, error) : kafka_topics_open(source, request, error);
	if (status == FLOW_OK)
		status = kafka_watch_add(source, error);
	if (status != FLOW_OK)
		destroy(source);
	else
		*result = source;
	return status;
}

/* --- for transactions --------------------------------------------------------------------------------------------------- */

flow_source *
kafka_source_find(flow_system *system, flow_slice stream, uint32_t task)
{
	pthread_mutex_lock(&system->lock);
	flow_source *found = system->sources;
	while (found != NULL && !(found->task == task && flow_slice_is(stream, found->stream)))
		found = found->next_source;
	pthread_mutex_unlock(&system->lock);
	return found;
}

rd_kafka_consumer_group_metadata_t *
kafka_source_group(flow_source *source)
{
	return source->group == NULL ? NULL : rd_kafka_consumer_group_metadata(source->client);
}

int
kafka_source_settle(flow_source *source, const rd_kafka_topic_partition_list_t *list)
{
	return kafka_group_settle(source, list);
}

void
kafka_source_settled(flow_source *source)
{
	if (source->group != NULL)
		kafka_group_settled(source);
}
