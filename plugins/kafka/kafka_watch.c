/*
 * The one thread of a system: it looks for partitions that appear, asks what a consumer group has committed, gives up what a group has
 * waited for too long, and wakes clients that stopped fetching. It blocks, so that tasks need not.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "kafka_source.h"

#define NUDGE_TIMEOUT 1000 /* milliseconds */

/* A question to the leaders of its partitions wakes the threads that fetch from them. */
static void
nudge(flow_source *source)
{
	rd_kafka_topic_partition_list_t *list = NULL;
	if (rd_kafka_assignment(source->client, &list) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	for (int i = 0; i < list->cnt; i++)
		list->elems[i].offset = RD_KAFKA_OFFSET_END;
	rd_kafka_offsets_for_times(source->client, list, NUDGE_TIMEOUT);
	rd_kafka_topic_partition_list_destroy(list);
}

/* Called with the system's lock, which it gives up while it works. */
static void
serve(flow_source *source)
{
	flow_system *system = source->system;
	int nudged = source->wants_nudge;
	source->wants_nudge = 0;
	source->busy = 1;
	pthread_mutex_unlock(&system->lock);
	if (nudged)
		nudge(source);
	if (source->group != NULL) {
		kafka_queue_serve(source);
		kafka_group_look(source);
	}
	pthread_mutex_lock(&system->lock);
	source->busy = 0;
	pthread_cond_broadcast(&system->watch->idle);
}

/* One piece of work; 0: nothing to do. Under the system's lock. */
static int
work(flow_system *system, int64_t *next)
{
	int64_t now = system->host->monotonic();
	*next = INT64_MAX;
	for (flow_source *s = system->sources; s != NULL; s = s->next_source)
		if (kafka_queue_must_serve(s, now, next) || s->wants_nudge || (s->group != NULL && kafka_group_wants(s, now))) {
			serve(s);
			return 1;
		}
	for (const flow_source *s = system->sources; s != NULL; s = s->next_source)
		if (s->group != NULL && kafka_group_due(s) < *next)
			*next = kafka_group_due(s);
	for (struct kafka_topics *t = system->topics; t != NULL; t = t->next) {
		if (t->due <= now) {
			kafka_topics_discover(t);
			return 1;
		}
		*next = t->due < *next ? t->due : *next;
	}
	return 0;
}

static void *
watch_main(void *argument)
{
	flow_system *system = argument;
	struct kafka_watch *watch = system->watch;
	while (!atomic_load(&watch->stop)) {
		int64_t next = INT64_MAX;
		pthread_mutex_lock(&system->lock);
		while (!atomic_load(&watch->stop) && work(system, &next))
			;
		pthread_mutex_unlock(&system->lock);
		int64_t left = next == INT64_MAX ? -1 : (next - system->host->monotonic()) / 1000 + 1;
		struct pollfd ready = { .fd = watch->signal, .events = POLLIN };
		if (poll(&ready, 1, left > 60000 ? 60000 : left < -1 ? 0 : (int)left) > 0) {
			uint64_t count;
			if (read(watch->signal, &count, sizeof(count)) < 0)
				continue;
		}
	}
	return NULL;
}

void
kafka_watch_signal(flow_system *system)
{
	uint64_t one = 1;
	if (write(system->watch->signal, &one, sizeof(one)) < 0)
		return; /* its counter is full: it is woken anyway */
}

static flow_status
start_watching(flow_system *system, flow_error *error)
{
	struct kafka_watch *watch = flow_new(system->host, sizeof(*watch));
	if (watch == NULL)
		return kafka_no_memory(system->host, error);
	pthread_cond_init(&watch->idle, NULL);
	watch->signal = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	system->watch = watch;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	int number = watch->signal < 0 ? errno : pthread_create(&watch->thread, NULL, watch_main, system);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (number == 0)
		return FLOW_OK;
	if (watch->signal >= 0)
		close(watch->signal);
	pthread_cond_destroy(&watch->idle);
	system->host->release(watch);
	system->watch = NULL;
	return flow_fail(system->host, error, FLOW_E_FAILED, "cannot start a thread: %s", strerror(number));
}

void
kafka_watch_stop(flow_system *system)
{
	struct kafka_watch *watch = system->watch;
	if (watch == NULL)
		return;
	atomic_store(&watch->stop, 1);
	kafka_watch_signal(system);
	pthread_join(watch->thread, NULL);
	close(watch->signal);
	pthread_cond_destroy(&watch->idle);
	system->host->release(watch);
	system->watch = NULL;
}

flow_status
kafka_watch_add(flow_source *source, flow_error *error)
{
	flow_system *system = source->system;
	if (system->watch == NULL) {
		flow_status status = start_watching(system, error);
		if (status != FLOW_OK)
			return status;
	}
	pthread_mutex_lock(&system->lock);
	source->next_source = system->sources;
	system->sources = source;
	pthread_mutex_unlock(&system->lock);
	kafka_watch_signal(system);
	return FLOW_OK;
}

void
kafka_watch_remove(flow_source *source)
{
	flow_system *system = source->system;
	pthread_mutex_lock(&system->lock);
	for (flow_source **at = &system->sources; *at != NULL; at = &(*at)->next_source)
		if (*at == source) {
			*at = source->next_source;
			break;
		}
	while (source->busy)
		pthread_cond_wait(&system->watch->idle, &system->lock);
	pthread_mutex_unlock(&system->lock);
}
