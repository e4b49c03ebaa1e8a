/* A source's life: opened, given partitions, positions, closed. */
#include <stdio.h>
#include <stdlib.h>

#include "flow_sdk/number.h"
#include "kafka_source.h"

#define RECORD_OVERHEAD 512 /* bytes that the client needs for a record, about, besides its key and value */
#define POSITION_SIZE 48

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
	flow_status status = kafka_admin_create(system, topic, partitions, 0, NULL, error);
	system->host->release(topic);
	return status;
}

/* --- positions: "NEXT", or "NEXT/END" of a bounded read ----------------------------------------------------------------- */

static flow_status
parse_position(const flow_host *host, flow_slice bytes, int64_t *next, int64_t *end, flow_error *error)
{
	uint64_t numbers[2] = { 0, INT64_MAX };
	const char *slash = memchr(bytes.data, '/', bytes.size);
	uint64_t size = slash == NULL ? bytes.size : (uint64_t)(slash - bytes.data);
	int good = flow_parse_uint64(flow_slice_make(bytes.data, size), &numbers[0]) == FLOW_OK;
	if (slash != NULL)
		good &= flow_parse_uint64(flow_slice_make(slash + 1, bytes.size - size - 1), &numbers[1]) == FLOW_OK;
	if (!good || numbers[0] > INT64_MAX || numbers[1] > INT64_MAX)
		return flow_fail(host, error, FLOW_E_CORRUPT, "the position '%.*s' is not one of a topic", (int)bytes.size,
						 bytes.data);
	*next = (int64_t)numbers[0];
	*end = (int64_t)numbers[1];
	return FLOW_OK;
}

/* The partition id: "3", or "orders-eu/3" where the topics are those of a pattern. */
static flow_status
parse_partition(const flow_host *host, flow_slice id, const char *topic, char *name, size_t size, int32_t *number,
				flow_error *error)
{
	uint64_t value;
	const char *slash = id.data;
	for (uint64_t i = 0; i < id.size; i++)
		if (id.data[i] == '/')
			slash = id.data + i + 1;
	uint64_t head = (uint64_t)(slash - id.data);
	if (flow_parse_uint64(flow_slice_make(slash, id.size - head), &value) != FLOW_OK || value > INT32_MAX ||
		(head == 0) != (topic != NULL) || head >= size)
		return flow_fail(host, error, FLOW_E_CORRUPT, "'%.*s' is not a partition of a topic", (int)id.size, id.data);
	snprintf(name, size, "%.*s", head == 0 ? (int)strlen(topic) : (int)head - 1, head == 0 ? topic : id.data);
	*number = (int32_t)value;
	return FLOW_OK;
}

static flow_status
add_position(const flow_host *host, const char *topic, const flow_position *position,
			 rd_kafka_topic_partition_list_t *list, flow_error *error)
{
	char name[256];
	int32_t number = 0;
	int64_t next = 0, end = INT64_MAX;
	flow_status status = parse_partition(host, position->partition, topic, name, sizeof(name), &number, error);
	if (status == FLOW_OK)
		status = parse_position(host, position->bytes, &next, &end, error);
	if (status == FLOW_OK)
		rd_kafka_topic_partition_list_add(list, name, number)->offset = next;
	return status;
}

flow_status
kafka_position_add(flow_source *source, const flow_position *position, rd_kafka_topic_partition_list_t *list,
				   flow_error *error)
{
	return add_position(source->system->host, source->settings.topic, position, list, error);
}

flow_status
kafka_delete_committed(flow_system *system, const flow_stream_request *request, const flow_position *const *positions,
					   uint64_t count, flow_error *error)
{
	struct kafka_input_settings settings;
	flow_status status = kafka_settings_read(system->host, request, &settings, error);
	if (status != FLOW_OK)
		return status;
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
	for (uint64_t i = 0; i < count && status == FLOW_OK; i++)
		status = add_position(system->host, settings.topic, positions[i], list, error);
	if (status == FLOW_OK)
		status = kafka_admin_delete(system, list, error);
	rd_kafka_topic_partition_list_destroy(list);
	kafka_settings_free(&settings);
	return status;
}

/* --- partitions --------------------------------------------------------------------------------------------------------- */

static int
compare(const void *a, const void *b)
{
	const struct kafka_partition *const *x = a, *const *y = b;
	int order = strcmp((*x)->topic, (*y)->topic);
	return order != 0 ? order : ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

void
kafka_partitions_sort(flow_source *source)
{
	source->current = NULL;
	source->sorted_count = 0;
	for (uint32_t i = 0; i < source->partition_count; i++)
		if (!source->partitions[i]->given_up)
			source->sorted[source->sorted_count++] = source->partitions[i];
	if (source->sorted_count != 0)
		qsort(source->sorted, source->sorted_count, sizeof(*source->sorted), compare);
}

struct kafka_partition *
kafka_partition_find(flow_source *source, const char *topic, int32_t number)
{
	uint32_t low = 0, high = source->sorted_count;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		struct kafka_partition *p = source->sorted[middle];
		int order = strcmp(topic, p->topic);
		if (order == 0)
			order = (number > p->number) - (number < p->number);
		if (order == 0)
			return p;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static void
free_partition(const flow_host *host, struct kafka_partition *p)
{
	host->release(p->topic);
	host->release((char *)(uintptr_t)p->shown.id.data);
	host->release((char *)(uintptr_t)p->shown.place.data);
	host->release(p);
}

static int
grow_partitions(flow_source *source)
{
	const flow_host *host = source->system->host;
	if (source->partition_count < source->partition_room)
		return 1;
	uint32_t room = source->partition_room == 0 ? 16 : source->partition_room * 2;
	void *list = host->reallocate(source->list, room * sizeof(*source->list));
	source->list = list == NULL ? source->list : list;
	void *sorted = host->reallocate(source->sorted, room * sizeof(*source->sorted));
	source->sorted = sorted == NULL ? source->sorted : sorted;
	pthread_mutex_lock(&source->system->lock);
	void *all = host->reallocate(source->partitions, room * sizeof(*source->partitions));
	source->partitions = all == NULL ? source->partitions : all;
	pthread_mutex_unlock(&source->system->lock);
	if (list == NULL || sorted == NULL || all == NULL)
		return 0;
	source->partition_room = room;
	return 1;
}

flow_status
kafka_partition_add(flow_source *source, const struct kafka_place *place, flow_error *error)
{
	const flow_host *host = source->system->host;
	char id[300], text[300];
	if (source->settings.topic != NULL)
		snprintf(id, sizeof(id), "%d", place->number);
	else
		snprintf(id, sizeof(id), "%s/%d", place->topic, place->number);
	snprintf(text, sizeof(text), "%s[%d]", place->topic, place->number);
	struct kafka_partition *p = grow_partitions(source) ? flow_new(host, sizeof(*p)) : NULL;
	if (p == NULL)
		return kafka_no_memory(host, error);
	p->shown = (flow_partition){ .struct_size = FLOW_SIZEOF(flow_partition), .index = source->partition_count };
	p->topic = kafka_copy(host, flow_slice_of(place->topic));
	p->shown.id = flow_slice_of(kafka_copy(host, flow_slice_of(id)));
	p->shown.place = flow_slice_of(kafka_copy(host, flow_slice_of(text)));
	if (p->topic == NULL || p->shown.id.data == NULL || p->shown.place.data == NULL) {
		free_partition(host, p);
		return kafka_no_memory(host, error);
	}
	p->number = place->number;
	p->low = place->low;
	p->high = place->high;
	p->stamped = place->stamped;
	p->committed = place->committed;
	p->late = place->late;
	p->bound = source->settings.bounded ? place->high : INT64_MAX;
	p->start = p->last = KAFKA_UNKNOWN;
	p->last = -1;
	atomic_init(&p->next, KAFKA_UNKNOWN);
	atomic_init(&p->saved, KAFKA_UNKNOWN);
	pthread_mutex_lock(&source->system->lock);
	source->partitions[source->partition_count++] = p;
	pthread_mutex_unlock(&source->system->lock);
	return FLOW_OK;
}

/* Takes what the watching thread has found. */
static flow_status
take_places(flow_source *source, flow_error *error)
{
	struct kafka_topics *topics = source->topics;
	pthread_mutex_lock(&source->system->lock);
	uint32_t count = topics->count;
	pthread_mutex_unlock(&source->system->lock);
	flow_status status = FLOW_OK;
	uint32_t before = source->partition_count;
	while (source->partition_count < count && status == FLOW_OK) {
		pthread_mutex_lock(&source->system->lock);
		const struct kafka_place *place = topics->places[source->partition_count]; /* it stays where it is */
		pthread_mutex_unlock(&source->system->lock);
		status = kafka_partition_add(source, place, error);
	}
	if (source->partition_count != before)
		kafka_partitions_sort(source);
	return status;
}

flow_status
kafka_source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count,
						flow_error *error)
{
	flow_status status = source->topics != NULL ? take_places(source, error) : FLOW_OK;
	*count = 0;
	for (uint32_t i = 0; i < source->partition_count; i++) {
		if (source->partitions[i]->given_up)
			continue;
		source->partitions[i]->listed = 1;
		source->list[(*count)++] = &source->partitions[i]->shown;
	}
	*partitions = source->list;
	return status;
}

/* --- where reading begins ------------------------------------------------------------------------------------------------ */

static int64_t
configured_start(const flow_source *source, const struct kafka_partition *p)
{
	for (uint64_t i = 0; i < source->settings.start_count; i++)
		if (flow_slice_is(p->shown.id, source->settings.starts[i].id))
			return source->settings.starts[i].offset;
	if (p->late || (source->topics != NULL && atomic_load(&source->topics->goes_on)))
		return p->low; /* it came into being after the job did: there is no past to skip */
	if (p->stamped != KAFKA_UNKNOWN)
		return p->stamped;
	return source->start == FLOW_START_NEWEST ? p->high : p->low;
}

void
kafka_partition_settle(flow_source *source, struct kafka_partition *p)
{
	if (p->start != KAFKA_UNKNOWN)
		return;
	p->start = p->committed != KAFKA_UNKNOWN ? p->committed : configured_start(source, p);
	atomic_store(&p->next, p->start);
}

void
kafka_partition_end(flow_source *source, struct kafka_partition *p)
{
	if (p->ended != 0)
		return;
	p->ended = 1;
	p->reading = 0;
	source->end_count++;
}

static flow_status
ask_range(flow_source *source, struct kafka_partition *p, flow_error *error)
{
	struct kafka_place place = { .topic = p->topic, .number = p->number }, *places = &place;
	struct kafka_input_settings no_timestamp = { .start_timestamp = KAFKA_UNKNOWN };
	flow_status status = kafka_topics_look(source->system, &no_timestamp, &places, 1, error);
	if (status == FLOW_OK) {
		p->low = place.low;
		p->high = place.high;
	}
	return status;
}

flow_status
kafka_partition_lost(flow_source *source, struct kafka_partition *p, int64_t wanted, int64_t *offset, flow_error *error)
{
	const flow_host *host = source->system->host;
	flow_status status = ask_range(source, p, error);
	if (status != FLOW_OK)
		return status;
	if (wanted >= p->low && wanted <= p->high) {
		*offset = wanted; /* it is there after all: a replica had not caught up */
		return FLOW_OK;
	}
	const char *why = wanted < p->low ? "what lay there has been deleted" : "the topic was made anew, or cut back";
	if (source->settings.reset == 0)
		return flow_fail(
			host, error, FLOW_E_POSITION_LOST,
			"topic '%s', partition %d: offset %lld is not there, but %lld to %lld (its end): %s; choose where to "
			"go on with the option offset_reset of the input ('oldest', 'newest'), or start it anew with "
			"reset_offset",
			p->topic, p->number, (long long)wanted, (long long)p->low, (long long)p->high, why);
	*offset = source->settings.reset == FLOW_START_OLDEST ? p->low : p->high;
	if (wanted < p->low) {
		host->metric_add(source->lost, *offset - wanted);
		flow_say(host, FLOW_LOG_WARN, source->component,
				 "topic '%s', partition %d: %lld records from offset %lld on are lost: %s; reading goes on at %lld",
				 p->topic, p->number, (long long)(*offset - wanted), (long long)wanted, why, (long long)*offset);
	} else {
		flow_say(host, FLOW_LOG_WARN, source->component,
				 "topic '%s', partition %d: an unknown number of records is lost: offset %lld lies behind the end, "
				 "%lld: %s; "
				 "reading goes on at %lld",
				 p->topic, p->number, (long long)wanted, (long long)p->high, why, (long long)*offset);
	}
	return FLOW_OK;
}

flow_status
kafka_partition_check(flow_source *source, struct kafka_partition *p, flow_error *error)
{
	int64_t offset = p->start;
	if (offset >= p->low && offset <= p->high)
		return FLOW_OK;
	flow_status status = kafka_partition_lost(source, p, offset, &offset, error);
	p->start = offset;
	atomic_store(&p->next, offset);
	return status;
}

flow_status
kafka_source_assign(flow_source *source, uint32_t index, flow_slice position, flow_error *error)
{
	struct kafka_partition *p = source->partitions[index];
	flow_status status = FLOW_OK;
	if (position.data != NULL && position.size != 0) {
		int64_t next = 0, end = INT64_MAX;
		status = parse_position(source->system->host, position, &next, &end, error);
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
kafka_source_revoke(flow_source *source, uint32_t index, flow_error *error)
{
	struct kafka_partition *p = source->partitions[index];
	(void)error;
	source->due_count -= p->due;
	p->due = 0;
	kafka_read_drop(source, p);
	if (p->reading && source->group == NULL) {
		rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
		rd_kafka_topic_partition_list_add(list, p->topic, p->number);
		rd_kafka_error_destroy(rd_kafka_incremental_unassign(source->client, list));
		rd_kafka_topic_partition_list_destroy(list);
	}
	p->reading = 0;
	return FLOW_OK;
}

void
kafka_source_pause(flow_source *source, uint32_t index, int paused)
{
	struct kafka_partition *p = source->partitions[index];
	source->pause_changes += p->paused != (paused != 0);
	p->paused = paused != 0;
}

flow_status
kafka_source_position(flow_source *source, uint32_t index, int64_t ordinal, void *bytes, uint64_t capacity,
					  uint64_t *size, flow_error *error)
{
	struct kafka_partition *p = source->partitions[index];
	char text[POSITION_SIZE];
	kafka_partition_settle(source, p);
	int64_t next = atomic_load_explicit(&p->next, memory_order_relaxed);
	if (ordinal < 0)
		next = p->last < 0 ? next : p->start;
	else if (ordinal != INT64_MAX && ordinal != p->last)
		next = ordinal + 1;
	if (next > p->bound)
		next = p->bound;
	int length = p->bound == INT64_MAX
					 ? snprintf(text, sizeof(text), "%lld", (long long)next)
					 : snprintf(text, sizeof(text), "%lld/%lld", (long long)next, (long long)p->bound);
	if ((uint64_t)length > capacity)
		return flow_fail(source->system->host, error, FLOW_E_ARGUMENT, "a position needs %d bytes", length);
	memcpy(bytes, text, (size_t)length);
	*size = (uint64_t)length;
	return FLOW_OK;
}

/* --- committed ---------------------------------------------------------------------------------------------------------- */

/* A partition that the group took away for good is not committed any more. */
static int
still_ours(flow_source *source, const char *topic, int32_t number)
{
	int known = 0;
	for (uint32_t i = source->partition_count; i > 0; i--) {
		const struct kafka_partition *p = source->partitions[i - 1];
		if (p->number != number || strcmp(p->topic, topic) != 0)
			continue;
		if (p->given_up != 2)
			return 1;
		known = 1;
	}
	return !known;
}

static void
note_saved(flow_source *source, const char *topic, int32_t number, int64_t offset)
{
	for (uint32_t i = source->partition_count; i > 0; i--) {
		struct kafka_partition *p = source->partitions[i - 1];
		if (p->number == number && strcmp(p->topic, topic) == 0) {
			atomic_store(&p->saved, offset);
			return;
		}
	}
}

flow_status
kafka_source_committed(flow_source *source, const flow_position *const *positions, uint64_t count, flow_error *error)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
	flow_status status = FLOW_OK;
	for (uint64_t i = 0; i < count && status == FLOW_OK; i++)
		status = kafka_position_add(source, positions[i], list, error);
	for (int i = list->cnt - 1; i >= 0; i--) {
		const rd_kafka_topic_partition_t *one = &list->elems[i];
		note_saved(source, one->topic, one->partition, one->offset);
		if (!still_ours(source, one->topic, one->partition))
			rd_kafka_topic_partition_list_del_by_idx(list, i);
	}
	/* A member whose commit waits behind its own question to join again, on the same connection, is thrown out for it. So it is left to
	 * the client, which knows when it joins; while partitions are taken away it cannot be joining. */
	int member = source->group != NULL;
	if (status == FLOW_OK && source->commits && list->cnt != 0 && member)
		kafka_read_store(source, list);
	if (status == FLOW_OK && source->commits && list->cnt != 0 && (!member || kafka_group_is_taking(source)))
		status = kafka_read_commit(source, list, error);
	rd_kafka_topic_partition_list_destroy(list);
	return status;
}

flow_status
kafka_source_released(flow_source *source, uint32_t index, flow_error *error)
{
	return source->group == NULL ? FLOW_OK : kafka_group_released(source, source->partitions[index], error);
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
	pthread_mutex_lock(&source->system->lock);
	for (uint32_t i = 0; i < source->partition_count; i++) {
		const struct kafka_partition *p = source->partitions[i];
		int64_t next = atomic_load_explicit(&p->next, memory_order_relaxed), end = end_of(source, p);
		int64_t saved = atomic_load_explicit(&p->saved, memory_order_relaxed);
		if (p->given_up || next < 0)
			continue;
		numbers->add(numbers->context, p->shown.id, "position", next);
		numbers->add(numbers->context, p->shown.id, "end", end);
		numbers->add(numbers->context, p->shown.id, "lag", end > next ? end - next : 0);
		numbers->add(numbers->context, p->shown.id, "paused", p->paused);
		if (saved >= 0)
			numbers->add(numbers->context, p->shown.id, "committed", saved);
	}
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
	source->answers = rd_kafka_queue_new(source->client);
	rd_kafka_queue_cb_event_enable(source->queue, on_messages, source);
	return FLOW_OK;
}

/* A client that is asked for something before it knows any broker looks for leaders and coordinators a second later. */
static void
connect_client(flow_source *source)
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

void
kafka_source_close(flow_source *source)
{
	const flow_host *host = source->system->host;
	if (source->queue != NULL)
		rd_kafka_queue_cb_event_enable(source->queue, NULL, NULL);
	if (source->system->watch != NULL)
		kafka_topics_remove_source(source);
	kafka_topics_close(source);
	kafka_read_drop(source, NULL);
	kafka_group_close(source);
	if (source->queue != NULL)
		rd_kafka_queue_destroy(source->queue);
	if (source->answers != NULL)
		rd_kafka_queue_destroy(source->answers);
	if (source->client != NULL) {
		kafka_client_leave(source->owner, source->client);
	} else if (source->owner != NULL) {
		kafka_owner_close(source->owner);
		host->release(source->owner);
	}
	for (uint32_t i = 0; i < source->partition_count; i++)
		free_partition(host, source->partitions[i]);
	host->release(source->partitions);
	host->release(source->list);
	host->release(source->sorted);
	host->release(source->held);
	host->release(source->stream);
	host->release(source->component);
	kafka_settings_free(&source->settings);
	host->release(source);
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
	flow_source *source = flow_new(system->host, sizeof(*source));
	if (source == NULL)
		return kafka_no_memory(system->host, error);
	source->system = system;
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
		connect_client(source);
	if (status == FLOW_OK)
		status = by_group ? kafka_group_open(source, error) : kafka_topics_open(source, request, error);
	if (status == FLOW_OK)
		status = kafka_topics_add_source(source, error);
	if (status != FLOW_OK)
		kafka_source_close(source);
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
