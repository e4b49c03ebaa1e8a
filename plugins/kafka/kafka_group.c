/*
 * Partitions from a consumer group.
 *
 * librdkafka tells in the callback what the group gives and takes, and waits for the answer: nothing is answered before the host is ready.
 * Given: the watching thread asks what the group has committed; then the partitions are listed, the host assigns them, and the next
 * read answers. Taken: they are listed no more; the host finishes what is under way, commits, and releases them one by one; the last
 * one answers. That must not take longer than session.timeout.ms: then they are given up uncommitted, by the watching thread, since the task may
 * be in a call of an output. A member that was thrown out has lost its partitions already: that is answered at once, and nothing is committed any more.
 *
 * A source that closes stays a member for a while (parked): a job that goes back to its last epoch closes its sources and opens them anew,
 * and leaving and joining would take seconds, of all members. What it has then counts as given again, and begins at what is committed.
 *
 * Partitions are never assigned at a logical offset (RD_KAFKA_OFFSET_END): librdkafka asks brokers what it means, and where the answer
 * comes after the partition was assigned anew, asks once more half a second later, and jumps to it, over whatever lies in between.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kafka_group.h"

/* Milliseconds. */
#define SESSION "10000" /* librdkafka's 45 s let partitions of a dead process lie for long */
#define HEARTBEAT "200" /* members hear of a rebalance by it: with librdkafka's 3 s whoever joins waits for so long */
/* Stored offsets are committed so often. Also where none are stored: the thread that sends heartbeats sleeps for up to a second, unless
 * something is due sooner. */
#define COMMITTING "100"

struct kafka_group *
kafka_group_new(flow_source *source)
{
	struct kafka_group *group = flow_new(source->system->host, sizeof(*group));
	if (group != NULL)
		group->source = source;
	return group;
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
	kafka_places_drop(system->host, &group->found);
	group->turn++;
	group->due = system->host->monotonic() + group->patience;
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
	kafka_queue_forward(source, list);
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

void
kafka_group_answer_taken(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_resp_err_t code = answer_taken(group->source, list);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		flow_say(group->source->system->host, FLOW_LOG_WARN, group->source->component,
				 "partitions cannot be given up: %s", rd_kafka_err2str(code));
}

/* The client is being closed: nothing is read any more, but each question needs the answer that belongs to it, or librdkafka goes on
 * waiting. */
static void
answer_at_end(rd_kafka_t *client, int eager, int given, const rd_kafka_topic_partition_list_t *list)
{
	if (eager)
		rd_kafka_assign(client, given ? list : NULL);
	else if (given)
		rd_kafka_error_destroy(rd_kafka_incremental_assign(client, list));
	else
		rd_kafka_error_destroy(rd_kafka_incremental_unassign(client, list));
}

/* --- what librdkafka tells; within rd_kafka_consume_batch_queue under the source's lock, or rd_kafka_consumer_close ------------------------- */

/* GROUP_LOOKING for all of the list, and for what is looked for already: that is so only behind kafka_group_resume. */
static void
look_for(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list)
{
	int wish = atomic_load(&group->wish);
	rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_copy(list);
	for (int i = 0; (wish == GROUP_LOOKING || wish == GROUP_FOUND) && i < group->list->cnt; i++)
		if (rd_kafka_topic_partition_list_find(all, group->list->elems[i].topic, group->list->elems[i].partition) ==
			NULL)
			rd_kafka_topic_partition_list_add(all, group->list->elems[i].topic, group->list->elems[i].partition);
	set_wish(group, all->cnt == 0 ? GROUP_NOTHING : GROUP_LOOKING, all);
	rd_kafka_topic_partition_list_destroy(all);
	kafka_watch_signal(group->source->system);
}

static void
take_given(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list)
{
	if (list->cnt != 0)
		look_for(group, list);
	else
		answer_given(group->source, list);
}

/* What is looked for, but for those of the list. NULL: nothing is. */
static rd_kafka_topic_partition_list_t *
looked_for_without(const struct kafka_group *group, const rd_kafka_topic_partition_list_t *list)
{
	int wish = atomic_load(&group->wish);
	if (wish != GROUP_LOOKING && wish != GROUP_FOUND)
		return NULL;
	rd_kafka_topic_partition_list_t *rest = rd_kafka_topic_partition_list_copy(group->list);
	for (int i = 0; i < list->cnt; i++)
		rd_kafka_topic_partition_list_del(rest, list->elems[i].topic, list->elems[i].partition);
	return rest;
}

/* 0: it was given, but the host never heard of it. */
static int
give_up(flow_source *source, const rd_kafka_topic_partition_t *one, int lost)
{
	struct kafka_partition *p = kafka_partition_find(source, one->topic, one->partition);
	if (p == NULL || p->given_up)
		return 0;
	p->given_up = !p->listed ? KAFKA_RELEASED : lost ? KAFKA_LOST : KAFKA_TAKEN;
	source->due_count -= p->due;
	p->due = 0;
	p->reading = 0;
	kafka_read_drop(source, p);
	return p->given_up == KAFKA_TAKEN;
}

static void
take_taken(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list)
{
	flow_source *source = group->source;
	int lost = rd_kafka_assignment_lost(source->client);
	rd_kafka_topic_partition_list_t *rest = looked_for_without(group, list);
	set_wish(group, GROUP_NOTHING, NULL);
	group->unreleased = 0;
	for (int i = 0; i < list->cnt; i++)
		group->unreleased += (uint32_t)give_up(source, &list->elems[i], lost);
	kafka_partitions_sort(source);
	atomic_store(&source->changed, 1);
	if (lost)
		flow_say(source->system->host, FLOW_LOG_WARN, source->component,
				 "this process was thrown out of group '%s': what it had not committed is read by others again",
				 source->settings.group);
	if (group->unreleased != 0 && !lost) {
		set_wish(group, GROUP_TAKING, list);
		kafka_watch_signal(source->system); /* it watches the time */
	} else {
		kafka_group_answer_taken(group, list);
	}
	if (rest == NULL)
		return;
	if (atomic_load(&group->wish) == GROUP_NOTHING)
		look_for(group, rest);
	rd_kafka_topic_partition_list_destroy(rest);
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

/* --- the task --------------------------------------------------------------------------------------------------------------- */

flow_status
kafka_group_changed(flow_source *source, int *changed, flow_error *error)
{
	struct kafka_group *group = source->group;
	if (atomic_load(&group->wish) != GROUP_FOUND) {
		*changed = 1;
		return FLOW_OK;
	}
	const flow_host *host = source->system->host;
	if (group->failed != FLOW_OK) {
		flow_status failed = flow_fail(host, error, group->failed, "%s", host->errors->message(group->error));
		atomic_store(&group->wish, GROUP_LOOKING); /* read is called again, if that can help */
		kafka_watch_signal(source->system);
		return failed;
	}
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; i < group->found.count && status == FLOW_OK; i++)
		if (kafka_partition_find(source, group->found.items[i]->topic, group->found.items[i]->number) == NULL)
			status = kafka_partition_add(source, group->found.items[i], error);
	kafka_partitions_sort(source);
	atomic_store(&group->wish, GROUP_STARTING);
	*changed = 1;
	return status;
}

static int64_t
next_of(flow_source *source, const rd_kafka_topic_partition_t *one)
{
	const struct kafka_partition *p = kafka_partition_find(source, one->topic, one->partition);
	int64_t next = p == NULL ? KAFKA_UNKNOWN : atomic_load(&p->next);
	return next == KAFKA_UNKNOWN ? 0 : next; /* what nobody reads yet may begin anywhere */
}

/* The client forgets what it has of the list's partitions, and reads on at their offsets. `resumes`: they are not paused any more. That is
 * said while they are stopped, where it can be: of two changes of a partition the client leaves out the one with the lower number if it
 * comes last, and the number of a start is given by a thread of its own. */
static rd_kafka_resp_err_t
assign_anew(flow_source *source, rd_kafka_topic_partition_list_t *list, int resumes)
{
	rd_kafka_topic_partition_list_t *all = NULL;
	rd_kafka_resp_err_t code = rd_kafka_assignment(source->client, &all);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		return code;
	rd_kafka_topic_partition_list_t *there = rd_kafka_topic_partition_list_new(list->cnt);
	for (int i = 0; i < all->cnt; i++) {
		rd_kafka_topic_partition_t *one = &all->elems[i];
		const rd_kafka_topic_partition_t *wanted = rd_kafka_topic_partition_list_find(list, one->topic, one->partition);
		if (wanted != NULL)
			rd_kafka_topic_partition_list_add(there, one->topic, one->partition);
		one->offset = wanted != NULL ? wanted->offset : next_of(source, one);
	}
	if (source->settings.eager) { /* only all of them at once */
		for (int i = 0; i < list->cnt; i++)
			if (rd_kafka_topic_partition_list_find(all, list->elems[i].topic, list->elems[i].partition) == NULL)
				rd_kafka_topic_partition_list_add(all, list->elems[i].topic, list->elems[i].partition)->offset =
					list->elems[i].offset;
		code = rd_kafka_assign(source->client, all);
		kafka_queue_forward(source, all); /* it stops them all, to begin with */
		if (resumes)
			rd_kafka_resume_partitions(source->client, list);
	} else {
		if (there->cnt != 0)
			code = code_of(rd_kafka_incremental_unassign(source->client, there));
		kafka_queue_forward(source, list);
		if (resumes)
			rd_kafka_resume_partitions(source->client, list);
		if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
			code = code_of(rd_kafka_incremental_assign(source->client, list));
	}
	rd_kafka_topic_partition_list_destroy(there);
	rd_kafka_topic_partition_list_destroy(all);
	return code;
}

int
kafka_group_start_is_overdue(const flow_source *source)
{
	const struct kafka_group *group = source->group;
	return group != NULL && atomic_load(&group->wish) == GROUP_STARTING &&
		   source->system->host->monotonic() >= group->due;
}

flow_status
kafka_group_start(flow_source *source, rd_kafka_topic_partition_list_t *due, flow_error *error)
{
	struct kafka_group *group = source->group;
	rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
	if (atomic_load(&group->wish) == GROUP_STARTING) {
		/* All that were given, also those that end at once: it is an answer. */
		for (int i = 0; i < group->list->cnt; i++)
			group->list->elems[i].offset = next_of(source, &group->list->elems[i]);
		/* They may have been given before, unread. */
		if (group->resumed) {
			code = assign_anew(source, group->list, 1);
		} else {
			rd_kafka_resume_partitions(source->client, group->list);
			code = answer_given(source, group->list);
		}
		group->resumed = 0;
		set_wish(group, GROUP_NOTHING, NULL);
	} else if (due->cnt != 0) {
		code = assign_anew(source, due, 0);
	}
	return code == RD_KAFKA_RESP_ERR_NO_ERROR ? FLOW_OK
											  : kafka_failed(source->system->host, error, code, "reading cannot begin");
}

flow_status
kafka_group_released(flow_source *source, struct kafka_partition *p, flow_error *error)
{
	struct kafka_group *group = source->group;
	(void)error;
	rd_kafka_topic_partition_list_t *list = NULL;
	pthread_mutex_lock(&source->system->lock);
	int taken = p->given_up == KAFKA_TAKEN;
	if (p->given_up != 0)
		p->given_up = KAFKA_RELEASED;
	if (taken && --group->unreleased == 0)
		list = kafka_group_end_taking(group);
	pthread_mutex_unlock(&source->system->lock);
	if (list == NULL)
		return FLOW_OK;
	kafka_group_answer_taken(group, list);
	rd_kafka_topic_partition_list_destroy(list);
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
	source->owner->lasting =
		rd_kafka_conf_get(conf, "group.instance.id", value, &size) == RD_KAFKA_CONF_OK && value[0] != '\0';
	if (status == FLOW_OK && source->owner->lasting && source->task != 0) {
		char name[340];
		snprintf(name, sizeof(name), "%s-%u", value, source->task);
		status = kafka_property_set(host, conf, "group.instance.id", name, error);
	}
	if (status == FLOW_OK)
		status = set_unless_set(source, conf, "session.timeout.ms", "45000", SESSION, error);
	size = sizeof(value);
	if (status == FLOW_OK && rd_kafka_conf_get(conf, "session.timeout.ms", value, &size) == RD_KAFKA_CONF_OK)
		source->group->patience = strtoll(value, NULL, 10) * 1000;
	if (status == FLOW_OK)
		status = set_unless_set(source, conf, "heartbeat.interval.ms", "3000", HEARTBEAT, error);
	if (status == FLOW_OK)
		status = kafka_property_set(host, conf, "enable.auto.commit", "true", error);
	return status == FLOW_OK ? kafka_property_set(host, conf, "auto.commit.interval.ms", COMMITTING, error) : status;
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
	source->owner->member = 1;
	rd_kafka_resp_err_t code = rd_kafka_subscribe(source->client, topics);
	rd_kafka_topic_partition_list_destroy(topics);
	return code == RD_KAFKA_RESP_ERR_NO_ERROR
			   ? FLOW_OK
			   : kafka_failed(host, error, code, "group '%s' cannot be joined", source->settings.group);
}

/* Given, and not to be read: it is paused before it is assigned, so that the offset does not matter. */
static void
answer_unread(struct kafka_group *group)
{
	flow_source *source = group->source;
	rd_kafka_topic_partition_list_t *list = group->list;
	for (int i = 0; i < list->cnt; i++)
		list->elems[i].offset = 0;
	kafka_queue_forward(source, list); /* what has a queue can be paused */
	rd_kafka_pause_partitions(source->client, list);
	if (group->resumed)
		assign_anew(source, list, 0);
	else
		answer_given(source, list);
}

void
kafka_group_park(flow_source *source)
{
	struct kafka_group *group = source->group;
	int wish = atomic_load(&group->wish);
	if (wish == GROUP_TAKING) {
		kafka_group_answer_taken(group, group->list);
	} else if (wish != GROUP_NOTHING) {
		answer_unread(group);
	}
	set_wish(group, GROUP_NOTHING, NULL);
	group->unreleased = 0;
	group->settling = 0;
}

flow_status
kafka_group_resume(flow_source *source, flow_error *error)
{
	rd_kafka_topic_partition_list_t *list = NULL;
	rd_kafka_resp_err_t code = rd_kafka_assignment(source->client, &list);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		return kafka_failed(source->system->host, error, code, "what group '%s' has given", source->settings.group);
	source->group->resumed = list->cnt != 0;
	if (list->cnt != 0)
		set_wish(source->group, GROUP_LOOKING, list);
	rd_kafka_topic_partition_list_destroy(list);
	return FLOW_OK;
}

void
kafka_group_close(flow_source *source)
{
	struct kafka_group *group = source->group;
	if (group == NULL)
		return;
	int wish = atomic_load(&group->wish);
	if (wish != GROUP_NOTHING && source->client != NULL)
		answer_at_end(source->client, source->settings.eager, wish != GROUP_TAKING, group->list);
	set_wish(group, GROUP_NOTHING, NULL);
	if (group->error != NULL)
		source->system->host->errors->free(group->error);
	source->system->host->release(group);
	source->group = NULL;
}
