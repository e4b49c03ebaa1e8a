/* The partitions of a source: found by name, added, and where reading of them begins. */
#include <stdio.h>
#include <stdlib.h>

#include "kafka_source.h"

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

int
kafka_partition_is_ours(const flow_source *source, const char *topic, int32_t number)
{
	int known = 0, ours = 0;
	for (uint32_t i = 0; i < source->partition_count; i++) {
		const struct kafka_partition *p = source->partitions[i];
		if (p->number != number || strcmp(p->topic, topic) != 0)
			continue;
		uint8_t given_up = atomic_load(&p->given_up);
		if (given_up == KAFKA_LOST)
			return 0;
		ours |= given_up != KAFKA_RELEASED;
		known = 1;
	}
	return ours || !known;
}

void
kafka_partition_free(const flow_host *host, struct kafka_partition *p)
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
	p->shown = (flow_partition){ .struct_size = FLOW_SIZEOF(flow_partition),
								 .index = source->partition_count,
								 .has_number = 1,
								 .number = (uint32_t)place->number };
	p->topic = kafka_copy(host, flow_slice_of(place->topic));
	p->shown.id = flow_slice_of(kafka_copy(host, flow_slice_of(id)));
	p->shown.place = flow_slice_of(kafka_copy(host, flow_slice_of(text)));
	if (p->topic == NULL || p->shown.id.data == NULL || p->shown.place.data == NULL) {
		kafka_partition_free(host, p);
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

static flow_status
list_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count, flow_error *error)
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

flow_status
kafka_source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count,
						flow_error *error)
{
	pthread_mutex_lock(&source->lock);
	flow_status status = list_partitions(source, partitions, count, error);
	pthread_mutex_unlock(&source->lock);
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
		atomic_fetch_add(&source->records_lost, *offset - wanted);
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
kafka_partition_anew(flow_source *source, struct kafka_partition *p, int64_t *offset, flow_error *error)
{
	const flow_host *host = source->system->host;
	if (source->settings.reset == 0 || source->settings.bounded)
		return flow_fail(
			host, error, FLOW_E_POSITION_LOST,
			"topic '%s' has been deleted and made anew while it was read; choose where to go on with the option "
			"offset_reset of the input ('oldest', 'newest'), or start it anew with reset_offset",
			p->topic);
	flow_status status = ask_range(source, p, error);
	if (status != FLOW_OK)
		return status;
	*offset = source->settings.reset == FLOW_START_OLDEST ? p->low : p->high;
	flow_say(host, FLOW_LOG_WARN, source->component,
			 "topic '%s', partition %d: it has been deleted and made anew: what was not read of it from offset %lld on "
			 "is lost; "
			 "reading goes on at %lld",
			 p->topic, p->number, (long long)atomic_load(&p->next), (long long)*offset);
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
