/*
 * A consumer group, as the watching thread serves it: what is committed is looked up, and what the group has waited for too long is
 * given up.
 */
#include <poll.h>

#include "kafka_group.h"

#define TRIES 5
#define PAUSE 100 /* milliseconds */

void
kafka_places_drop(const flow_host *host, struct places *places)
{
	for (uint32_t i = 0; i < places->count; i++)
		kafka_place_free(host, places->items[i]);
	host->release(places->items);
	*places = (struct places){ NULL, 0 };
}

int
kafka_group_is_taking(const flow_source *source)
{
	return atomic_load(&source->group->wish) == GROUP_TAKING;
}

/* Under the system's lock, as the next. */
static int
is_overdue(const struct kafka_group *group, int64_t now)
{
	return atomic_load(&group->wish) == GROUP_TAKING && !group->settling && now >= group->due;
}

int
kafka_group_wants(const flow_source *source, int64_t now)
{
	return atomic_load(&source->group->wish) == GROUP_LOOKING || is_overdue(source->group, now);
}

int64_t
kafka_group_due(const flow_source *source)
{
	const struct kafka_group *group = source->group;
	return atomic_load(&group->wish) == GROUP_TAKING && !group->settling ? group->due : INT64_MAX;
}

rd_kafka_topic_partition_list_t *
kafka_group_end_taking(struct kafka_group *group)
{
	rd_kafka_topic_partition_list_t *list = NULL;
	if (atomic_load(&group->wish) == GROUP_TAKING) {
		list = group->list;
		group->list = NULL;
		group->turn++;
		group->unreleased = 0;
		atomic_store(&group->wish, GROUP_NOTHING);
	}
	return list;
}

/* An output stands still, or is slow: others do not wait for it any longer than for a process that is dead. */
static void
give_up_overdue(flow_source *source)
{
	struct kafka_group *group = source->group;
	flow_system *system = source->system;
	rd_kafka_topic_partition_list_t *list = NULL;
	int count = 0;
	pthread_mutex_lock(&system->lock);
	if (is_overdue(group, system->host->monotonic()))
		list = kafka_group_end_taking(group);
	for (uint32_t i = 0; list != NULL && i < source->partition_count; i++) {
		uint8_t waits = KAFKA_TAKEN;
		count += atomic_compare_exchange_strong(&source->partitions[i]->given_up, &waits, KAFKA_LOST);
	}
	pthread_mutex_unlock(&system->lock);
	if (list == NULL)
		return;
	flow_say(system->host, FLOW_LOG_WARN, source->component,
			 "group '%s' has waited %lld ms (session.timeout.ms) for %d partitions whose records are not committed: "
			 "they are given "
			 "up as they are, and whoever gets them reads those records again",
			 source->settings.group, (long long)group->patience / 1000, count);
	kafka_group_answer_taken(group, list);
	rd_kafka_topic_partition_list_destroy(list);
}

int
kafka_group_settle(flow_source *source, const rd_kafka_topic_partition_list_t *list)
{
	struct kafka_group *group = source->group;
	pthread_mutex_lock(&source->system->lock);
	int good = !rd_kafka_assignment_lost(source->client);
	for (int i = 0; i < list->cnt && good; i++)
		good = kafka_partition_is_ours(source, list->elems[i].topic, list->elems[i].partition);
	group->settling = good;
	pthread_mutex_unlock(&source->system->lock);
	return good;
}

void
kafka_group_settled(flow_source *source)
{
	pthread_mutex_lock(&source->system->lock);
	source->group->settling = 0;
	pthread_mutex_unlock(&source->system->lock);
	if (kafka_group_is_taking(source))
		kafka_watch_signal(source->system);
}

void
kafka_group_settled_all(flow_system *system)
{
	int taking = 0;
	pthread_mutex_lock(&system->lock);
	for (flow_source *source = system->sources; source != NULL; source = source->next_source)
		if (source->group != NULL) {
			source->group->settling = 0;
			taking |= kafka_group_is_taking(source);
		}
	pthread_mutex_unlock(&system->lock);
	if (taking)
		kafka_watch_signal(system);
}

static flow_status
make_places(const flow_host *host, const rd_kafka_topic_partition_list_t *list, struct places *places)
{
	places->items = flow_new(host, (uint64_t)list->cnt * sizeof(*places->items));
	if (places->items == NULL)
		return FLOW_E_MEMORY;
	for (int i = 0; i < list->cnt; i++) {
		struct kafka_place *place = kafka_place_new(host, list->elems[i].topic, list->elems[i].partition);
		if (place == NULL)
			return FLOW_E_MEMORY;
		places->items[places->count++] = place;
	}
	return FLOW_OK;
}

/* Whether the group has read this topic before: then a partition that it has committed nothing of came into being later, and there is no
 * past of it to skip. */
static flow_status
goes_on(flow_source *source, const char *topic, int *answer, flow_error *error)
{
	const flow_host *host = source->system->host;
	struct places all = { NULL, 0 };
	int32_t count = 0;
	flow_status status = kafka_admin_partitions(source->system, topic, &count, error);
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(count);
	rd_kafka_topic_partition_list_add_range(list, topic, 0, count - 1);
	if (status == FLOW_OK)
		status = make_places(host, list, &all) == FLOW_OK ? FLOW_OK : kafka_no_memory(host, error);
	if (status == FLOW_OK)
		status = kafka_topics_committed(source, all.items, all.count, error);
	for (uint32_t i = 0; i < all.count; i++)
		*answer |= all.items[i]->committed != KAFKA_UNKNOWN;
	rd_kafka_topic_partition_list_destroy(list);
	kafka_places_drop(host, &all);
	return status;
}

static flow_status
find_late(flow_source *source, const struct places *places, flow_error *error)
{
	const char *topic = NULL;
	int answer = 0;
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; i < places->count && status == FLOW_OK; i++) {
		struct kafka_place *place = places->items[i];
		if (place->committed != KAFKA_UNKNOWN)
			continue;
		if (topic == NULL || strcmp(topic, place->topic) != 0) {
			answer = 0;
			topic = place->topic;
			status = goes_on(source, topic, &answer, error);
		}
		place->late = answer;
	}
	return status;
}

/* A partition that just came into being may be known to the member's client, and not yet to the one that asks. */
static flow_status
find_offsets(flow_source *source, const struct places *places, flow_error *error)
{
	flow_system *system = source->system;
	flow_status status = FLOW_E_NOT_FOUND;
	for (int tries = 0; tries < TRIES && status == FLOW_E_NOT_FOUND; tries++) {
		const struct rd_kafka_metadata *metadata;
		status = kafka_topics_look(system, &source->settings, places->items, places->count, error);
		if (status == FLOW_E_NOT_FOUND &&
			kafka_admin_metadata(system, source->settings.topic, &metadata, error) == FLOW_OK) {
			rd_kafka_metadata_destroy(metadata);
			poll(NULL, 0, tries * PAUSE);
		}
	}
	return status;
}

static flow_status
look(flow_source *source, const rd_kafka_topic_partition_list_t *list, struct places *places, flow_error *error)
{
	flow_status status = make_places(source->system->host, list, places);
	if (status == FLOW_OK)
		status = find_offsets(source, places, error);
	if (status == FLOW_OK && !source->settings.anew)
		status = kafka_topics_committed(source, places->items, places->count, error);
	if (status == FLOW_OK && !source->settings.anew &&
		(source->start == FLOW_START_NEWEST || source->settings.start_timestamp != KAFKA_UNKNOWN))
		status = find_late(source, places, error);
	return status;
}

void
kafka_group_look(flow_source *source)
{
	give_up_overdue(source);
	struct kafka_group *group = source->group;
	flow_system *system = source->system;
	struct places places = { NULL, 0 };
	pthread_mutex_lock(&system->lock);
	uint32_t turn = group->turn;
	rd_kafka_topic_partition_list_t *list =
		atomic_load(&group->wish) == GROUP_LOOKING ? rd_kafka_topic_partition_list_copy(group->list) : NULL;
	pthread_mutex_unlock(&system->lock);
	if (list == NULL)
		return;
	flow_error *error = system->host->errors->create();
	flow_status status = look(source, list, &places, error);
	rd_kafka_topic_partition_list_destroy(list);
	pthread_mutex_lock(&system->lock);
	if (group->turn == turn) {
		struct places none = group->found;
		flow_error *before = group->error;
		group->found = places;
		places = none;
		group->error = error;
		error = before;
		group->failed = status;
		atomic_store(&group->wish, GROUP_FOUND);
		atomic_store(&source->changed, 1);
		source->waker->wake(source->waker->wake_context);
	}
	pthread_mutex_unlock(&system->lock);
	kafka_places_drop(system->host, &places);
	system->host->errors->free(error);
}
