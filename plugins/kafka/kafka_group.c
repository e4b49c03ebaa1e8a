/*
 * Partitions from a consumer group.
 *
 * librdkafka tells in the callback what the group gives and takes, and waits for the answer: nothing is answered before the host is ready.
 * Given: the watching thread asks what the group has committed; then the partitions are listed, the host assigns them, and the next
 * read answers. Taken: they are listed no more; the host finishes what is under way, commits, and releases them one by one; the last
 * one answers. A member that was thrown out has lost its partitions already: that is answered at once, and nothing is committed any more.
 */
#include <stdio.h>

#include "kafka_source.h"

/* Milliseconds. */
#define SESSION "10000"  /* librdkafka's 45 s let partitions of a dead process lie for long */
#define HEARTBEAT "500"  /* members hear of a rebalance by it: with librdkafka's 3 s whoever joins waits for so long */
#define COMMITTING "200" /* stored offsets are committed so often */

/* What the group wants, as far as it is not answered yet. */
#define NOTHING 0
#define LOOKING 1  /* given: the watching thread looks for offsets */
#define FOUND 2    /* given: to be listed */
#define STARTING 3 /* given: the host assigns */
#define TAKING 4   /* taken: until all are released */

struct kafka_group {
	flow_source *source;
	/* What the watching thread touches too; under the system's lock. */
	atomic_int wish;
	uint32_t turn;                         /* of wishes: what was looked up for an earlier one is thrown away */
	rd_kafka_topic_partition_list_t *list; /* given or taken */
	struct places {
		struct kafka_place **items;
		uint32_t count;
	} found; /* of those given */
	uint32_t unreleased;
	flow_status failed; /* of the look; the error is in `error` */
	flow_error *error;
};

struct kafka_group *
kafka_group_new(flow_source *source)
{
	struct kafka_group *group = flow_new(source->system->host, sizeof(*group));
	if (group != NULL)
		group->source = source;
	return group;
}

static void
drop_places(const flow_host *host, struct places *places)
{
	for (uint32_t i = 0; i < places->count; i++)
		kafka_place_free(host, places->items[i]);
	host->release(places->items);
	*places = (struct places){ NULL, 0 };
}

/* The next wish, with its list (NULL: none). */
static void
set_wish(struct kafka_group *group, int wish, const rd_kafka_topic_partition_list_t *list)
{
	flow_system *system = group->source->system;
	pthread_mutex_lock(&system->lock);
	if (group->list != NULL)
		rd_kafka_topic_partition_list_destroy(group->list);
	group->list = list == NULL ? NULL : rd_kafka_topic_partition_list_copy(list);
	drop_places(system->host, &group->found);
	group->turn++;
	atomic_store(&group->wish, wish);
	pthread_mutex_unlock(&system->lock);
}

/* --- answers -------------------------------------------------------------------------------------------------------------- */

static rd_kafka_resp_err_t
code_of(rd_kafka_error_t *error)
{
	rd_kafka_resp_err_t code = error == NULL ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_error_code(error);
	rd_kafka_error_destroy(error);
	return code;
}

static rd_kafka_resp_err_t
answer_given(flow_source *source, const rd_kafka_topic_partition_list_t *list)
{
	if (!source->settings.eager)
		return code_of(rd_kafka_incremental_assign(source->client, list));
	return rd_kafka_assign(source->client, list);
}

static rd_kafka_resp_err_t
answer_taken(flow_source *source, const rd_kafka_topic_partition_list_t *list)
{
	if (!source->settings.eager)
		return code_of(rd_kafka_incremental_unassign(source->client, list));
	return rd_kafka_assign(source->client, NULL);
}

static void
answer_taken_now(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_resp_err_t code = answer_taken(group->source, list);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		flow_say(group->source->system->host, FLOW_LOG_WARN, group->source->component,
				 "partitions cannot be given up: %s", rd_kafka_err2str(code));
}

/* The client is being closed: nothing is read any more, but each question needs its answer. */
static void
answer_at_end(rd_kafka_t *client, int eager, int given, const rd_kafka_topic_partition_list_t *list)
{
	if (eager)
		rd_kafka_assign(client, NULL);
	else if (given)
		rd_kafka_error_destroy(rd_kafka_incremental_assign(client, list));
	else
		rd_kafka_error_destroy(rd_kafka_incremental_unassign(client, list));
}

/* --- what librdkafka tells; within rd_kafka_consume_batch_queue of the task, or rd_kafka_consumer_close ------------------------- */

static void
take_given(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list)
{
	if (list->cnt == 0) {
		set_wish(group, NOTHING, NULL);
		answer_given(group->source, list);
		return;
	}
	set_wish(group, LOOKING, list);
	kafka_watch_signal(group->source->system);
}

/* 0: it was given, but the host never heard of it. */
static int
give_up(flow_source *source, const rd_kafka_topic_partition_t *one, int lost)
{
	struct kafka_partition *p = kafka_partition_find(source, one->topic, one->partition);
	if (p == NULL || p->given_up)
		return 0;
	p->given_up = lost || !p->listed ? 2 : 1;
	source->due_count -= p->due;
	p->due = 0;
	p->reading = 0;
	kafka_read_drop(source, p);
	return p->given_up == 1;
}

static void
take_taken(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list)
{
	flow_source *source = group->source;
	int lost = rd_kafka_assignment_lost(source->client);
	set_wish(group, NOTHING, NULL);
	group->unreleased = 0;
	for (int i = 0; i < list->cnt; i++)
		group->unreleased += (uint32_t)give_up(source, &list->elems[i], lost);
	kafka_partitions_sort(source);
	atomic_store(&source->changed, 1);
	if (lost)
		flow_say(source->system->host, FLOW_LOG_WARN, source->component,
				 "this process was thrown out of group '%s': what it had not committed is read by others again",
				 source->settings.group);
	if (lost || group->unreleased == 0) {
		answer_taken_now(group, list);
		return;
	}
	set_wish(group, TAKING, list);
}

static void
on_rebalance(rd_kafka_t *client, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t *list, void *opaque)
{
	struct kafka_owner *owner = opaque;
	if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
		atomic_store(&owner->joined, 1);
	if (atomic_load(&owner->closing)) {
		answer_at_end(client, owner->eager, code != RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS, list);
		return;
	}
	flow_source *source = owner->context;
	struct kafka_group *group = source->group;
	atomic_fetch_add(&source->rebalances, 1);
	if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
		take_given(group, list);
	} else if (code == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS) {
		take_taken(group, list);
	} else {
		flow_say(source->system->host, FLOW_LOG_WARN, source->component, "group '%s': %s", source->settings.group,
				 rd_kafka_err2str(code));
		rd_kafka_assign(source->client, NULL);
	}
}

/* --- the watching thread ---------------------------------------------------------------------------------------------------- */

int
kafka_group_is_taking(const flow_source *source)
{
	return atomic_load(&source->group->wish) == TAKING;
}

int
kafka_group_wants(const flow_source *source)
{
	return atomic_load(&source->group->wish) == LOOKING;
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
	drop_places(host, &all);
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

static flow_status
look(flow_source *source, const rd_kafka_topic_partition_list_t *list, struct places *places, flow_error *error)
{
	flow_status status = make_places(source->system->host, list, places);
	if (status == FLOW_OK)
		status = kafka_topics_look(source->system, &source->settings, places->items, places->count, error);
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
	struct kafka_group *group = source->group;
	flow_system *system = source->system;
	struct places places = { NULL, 0 };
	pthread_mutex_lock(&system->lock);
	uint32_t turn = group->turn;
	rd_kafka_topic_partition_list_t *list =
		atomic_load(&group->wish) == LOOKING ? rd_kafka_topic_partition_list_copy(group->list) : NULL;
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
		atomic_store(&group->wish, FOUND);
		atomic_store(&source->changed, 1);
		source->waker->wake(source->waker->wake_context);
	}
	pthread_mutex_unlock(&system->lock);
	drop_places(system->host, &places);
	system->host->errors->free(error);
}

/* --- the task --------------------------------------------------------------------------------------------------------------- */

flow_status
kafka_group_changed(flow_source *source, int *changed, flow_error *error)
{
	struct kafka_group *group = source->group;
	if (atomic_load(&group->wish) != FOUND) {
		*changed = 1;
		return FLOW_OK;
	}
	const flow_host *host = source->system->host;
	if (group->failed != FLOW_OK) {
		flow_status failed = flow_fail(host, error, group->failed, "%s", host->errors->message(group->error));
		atomic_store(&group->wish, LOOKING); /* read is called again, if that can help */
		kafka_watch_signal(source->system);
		return failed;
	}
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; i < group->found.count && status == FLOW_OK; i++)
		status = kafka_partition_add(source, group->found.items[i], error);
	kafka_partitions_sort(source);
	atomic_store(&group->wish, STARTING);
	*changed = 1;
	return status;
}

flow_status
kafka_group_start(flow_source *source, const rd_kafka_topic_partition_list_t *due, flow_error *error)
{
	struct kafka_group *group = source->group;
	rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
	if (atomic_load(&group->wish) == STARTING) {
		/* All that were given, also those that end at once: it is an answer. */
		for (int i = 0; i < group->list->cnt; i++) {
			rd_kafka_topic_partition_t *one = &group->list->elems[i];
			const struct kafka_partition *p = kafka_partition_find(source, one->topic, one->partition);
			one->offset = p == NULL ? RD_KAFKA_OFFSET_END : atomic_load(&p->next);
		}
		code = answer_given(source, group->list);
		set_wish(group, NOTHING, NULL);
	} else {
		/* Somewhere else: the client forgets what it has of them. */
		for (int i = 0; i < due->cnt && code == RD_KAFKA_RESP_ERR_NO_ERROR; i++) {
			rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
			rd_kafka_topic_partition_list_add(one, due->elems[i].topic, due->elems[i].partition)->offset =
				due->elems[i].offset;
			if (source->settings.eager)
				code = rd_kafka_assign(source->client, NULL);
			else
				code = code_of(rd_kafka_incremental_unassign(source->client, one));
			if (code == RD_KAFKA_RESP_ERR_NO_ERROR && !source->settings.eager)
				code = code_of(rd_kafka_incremental_assign(source->client, one));
			rd_kafka_topic_partition_list_destroy(one);
		}
	}
	return code == RD_KAFKA_RESP_ERR_NO_ERROR ? FLOW_OK
											  : kafka_failed(source->system->host, error, code, "reading cannot begin");
}

flow_status
kafka_group_released(flow_source *source, struct kafka_partition *p, flow_error *error)
{
	struct kafka_group *group = source->group;
	(void)error;
	if (p->given_up != 1)
		return FLOW_OK;
	p->given_up = 2;
	if (--group->unreleased != 0 || atomic_load(&group->wish) != TAKING)
		return FLOW_OK;
	answer_taken_now(group, group->list);
	set_wish(group, NOTHING, NULL);
	return FLOW_OK;
}

/* --- open, close -------------------------------------------------------------------------------------------------------------- */

/* Unless it differs from librdkafka's own value. */
static flow_status
set_unless_set(flow_source *source, rd_kafka_conf_t *conf, const char *name, const char *absent, const char *value,
			   flow_error *error)
{
	char now[32];
	size_t size = sizeof(now);
	if (rd_kafka_conf_get(conf, name, now, &size) != RD_KAFKA_CONF_OK || strcmp(now, absent) != 0)
		return FLOW_OK;
	return kafka_property_set(source->system->host, conf, name, value, error);
}

flow_status
kafka_group_configure(flow_source *source, rd_kafka_conf_t *conf, flow_error *error)
{
	const flow_host *host = source->system->host;
	char value[300];
	size_t size = sizeof(value);
	source->owner->eager = source->settings.eager;
	rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
	flow_status status = kafka_property_set(host, conf, "partition.assignment.strategy",
											source->settings.eager ? "range,roundrobin" : "cooperative-sticky", error);
	/* A member of its own for each task. */
	if (status == FLOW_OK && rd_kafka_conf_get(conf, "group.instance.id", value, &size) == RD_KAFKA_CONF_OK &&
		value[0] != '\0' && source->task != 0) {
		char name[340];
		snprintf(name, sizeof(name), "%s-%u", value, source->task);
		status = kafka_property_set(host, conf, "group.instance.id", name, error);
	}
	if (status == FLOW_OK)
		status = set_unless_set(source, conf, "session.timeout.ms", "45000", SESSION, error);
	if (status == FLOW_OK)
		status = set_unless_set(source, conf, "heartbeat.interval.ms", "3000", HEARTBEAT, error);
	if (status == FLOW_OK && source->commits)
		status = kafka_property_set(host, conf, "enable.auto.commit", "true", error);
	return status == FLOW_OK && source->commits
			   ? kafka_property_set(host, conf, "auto.commit.interval.ms", COMMITTING, error)
			   : status;
}

flow_status
kafka_group_open(flow_source *source, flow_error *error)
{
	const flow_host *host = source->system->host;
	flow_status status = FLOW_OK;
	if (source->settings.topic != NULL) {
		int32_t count;
		status = kafka_admin_partitions(source->system, source->settings.topic, &count, error);
	}
	if (status != FLOW_OK)
		return status;
	rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(
		topics, source->settings.topic != NULL ? source->settings.topic : source->settings.pattern,
		RD_KAFKA_PARTITION_UA);
	source->owner->joins = !source->settings.eager;
	rd_kafka_resp_err_t code = rd_kafka_subscribe(source->client, topics);
	rd_kafka_topic_partition_list_destroy(topics);
	return code == RD_KAFKA_RESP_ERR_NO_ERROR
			   ? FLOW_OK
			   : kafka_failed(host, error, code, "group '%s' cannot be joined", source->settings.group);
}

void
kafka_group_close(flow_source *source)
{
	struct kafka_group *group = source->group;
	if (group == NULL)
		return;
	int wish = atomic_load(&group->wish);
	if (wish != NOTHING && source->client != NULL)
		answer_at_end(source->client, source->settings.eager, wish != TAKING, group->list);
	set_wish(group, NOTHING, NULL);
	if (group->error != NULL)
		source->system->host->errors->free(group->error);
	source->system->host->release(group);
	source->group = NULL;
}
