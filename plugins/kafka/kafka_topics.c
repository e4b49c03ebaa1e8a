/* Which partitions an input has, for the sources of all its tasks: found at the start, and when they appear. */

#include "kafka_source.h"

#define MISSING_MOST 2           /* so often in a row a topic is not there: it was deleted */
#define PRESENCE (2 * 1000000LL) /* microseconds: so often at least it is asked whether a topic is there */

/* --- places ---------------------------------------------------------------------------------------------------------- */

struct kafka_place *
kafka_place_new(const flow_host *host, const char *topic, int32_t number)
{
	struct kafka_place *place = flow_new(host, sizeof(*place));
	char *copy = kafka_copy(host, flow_slice_of(topic));
	if (place == NULL || copy == NULL) {
		host->release(place);
		host->release(copy);
		return NULL;
	}
	*place =
		(struct kafka_place){ .topic = copy, .number = number, .stamped = KAFKA_UNKNOWN, .committed = KAFKA_UNKNOWN };
	return place;
}

void
kafka_place_free(const flow_host *host, struct kafka_place *place)
{
	host->release(place->topic);
	host->release(place);
}

static rd_kafka_topic_partition_list_t *
list_of(struct kafka_place *const *places, uint32_t count, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
	for (uint32_t i = 0; i < count; i++)
		rd_kafka_topic_partition_list_add(list, places[i]->topic, places[i]->number)->offset = offset;
	return list;
}

static flow_status
ask_all(flow_system *system, struct kafka_place *const *places, uint32_t count, int64_t when, size_t member,
		flow_error *error)
{
	rd_kafka_topic_partition_list_t *list = list_of(places, count, when);
	flow_status status = kafka_admin_offsets(system, list, error);
	for (uint32_t i = 0; i < count && status == FLOW_OK; i++)
		*(int64_t *)(void *)((char *)places[i] + member) = list->elems[i].offset;
	rd_kafka_topic_partition_list_destroy(list);
	return status;
}

flow_status
kafka_topics_look(flow_system *system, const struct kafka_input_settings *settings, struct kafka_place *const *places,
				  uint32_t count, flow_error *error)
{
	flow_status status =
		ask_all(system, places, count, RD_KAFKA_OFFSET_BEGINNING, offsetof(struct kafka_place, low), error);
	if (status == FLOW_OK)
		status = ask_all(system, places, count, RD_KAFKA_OFFSET_END, offsetof(struct kafka_place, high), error);
	if (status == FLOW_OK && settings->start_timestamp != KAFKA_UNKNOWN)
		status =
			ask_all(system, places, count, settings->start_timestamp, offsetof(struct kafka_place, stamped), error);
	for (uint32_t i = 0; i < count && settings->start_timestamp != KAFKA_UNKNOWN && status == FLOW_OK; i++)
		if (places[i]->stamped < 0)
			places[i]->stamped = places[i]->high; /* all that is there is older */
	return status;
}

static flow_status
ask_own_client(flow_source *source, rd_kafka_topic_partition_list_t *list, flow_error *error)
{
	const flow_system *system = source->system;
	rd_kafka_resp_err_t code = kafka_offsets_ask(system, source->client, list);
	return code == RD_KAFKA_RESP_ERR_NO_ERROR
			   ? FLOW_OK
			   : kafka_failed(system->host, error, code, "what group '%s' has committed", source->settings.group);
}

flow_status
kafka_topics_committed(flow_source *source, struct kafka_place *const *places, uint32_t count, flow_error *error)
{
	flow_system *system = source->system;
	if (count == 0)
		return FLOW_OK;
	rd_kafka_topic_partition_list_t *list = list_of(places, count, RD_KAFKA_OFFSET_INVALID);
	flow_status status = source->settings.uncommitted
							 ? kafka_offsets_committed(system, source->settings.group, 1, list, error)
							 : ask_own_client(source, list, error);
	for (uint32_t i = 0; i < count && status == FLOW_OK; i++)
		if (list->elems[i].offset >= 0)
			places[i]->committed = list->elems[i].offset;
	rd_kafka_topic_partition_list_destroy(list);
	return status;
}

/* --- the partitions of an input -------------------------------------------------------------------------------------- */

/* New places of one topic, behind the `known` ones in `list`; the caller frees them. */
struct finding {
	struct kafka_place **places;
	uint32_t count, room;
};

static int
is_known(const struct kafka_topics *topics, const char *topic, int32_t number)
{
	for (uint32_t i = topics->count; i > 0; i--)
		if (topics->places[i - 1]->number == number && strcmp(topics->places[i - 1]->topic, topic) == 0)
			return 1;
	return 0;
}

static int
grow(const flow_host *host, void **items, uint32_t count, uint32_t *room, uint64_t size)
{
	if (count < *room)
		return 1;
	uint32_t wanted = *room == 0 ? 16 : *room * 2;
	void *grown = host->reallocate(*items, wanted * size);
	if (grown == NULL)
		return 0;
	*items = grown;
	*room = wanted;
	return 1;
}

static flow_status
find_new(const struct kafka_topics *topics, const struct rd_kafka_metadata *metadata, struct finding *found)
{
	const flow_host *host = topics->system->host;
	for (int i = 0; i < metadata->topic_cnt; i++) {
		const struct rd_kafka_metadata_topic *t = &metadata->topics[i];
		if (t->err != RD_KAFKA_RESP_ERR_NO_ERROR || !kafka_settings_match(&topics->settings, t->topic))
			continue;
		for (int32_t n = 0; n < t->partition_cnt; n++) {
			if (is_known(topics, t->topic, n))
				continue;
			void *items = found->places;
			if (!grow(host, &items, found->count, &found->room, sizeof(*found->places)))
				return FLOW_E_MEMORY;
			found->places = items;
			struct kafka_place *place = kafka_place_new(host, t->topic, n);
			if (place == NULL)
				return FLOW_E_MEMORY;
			place->late = topics->count != 0 || topics->due != 0;
			found->places[found->count++] = place;
		}
	}
	return FLOW_OK;
}

static void
drop_finding(const flow_host *host, struct finding *found)
{
	for (uint32_t i = 0; i < found->count; i++)
		kafka_place_free(host, found->places[i]);
	host->release(found->places);
}

/* What is new since the last look. Only the first look, and then only the watching thread, calls it for an input. */
static flow_status
look_for_new(struct kafka_topics *topics, struct finding *found, flow_error *error)
{
	flow_system *system = topics->system;
	const struct rd_kafka_metadata *metadata;
	flow_status status = kafka_admin_metadata(system, topics->settings.topic, &metadata, error);
	if (status != FLOW_OK)
		return status;
	rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
	if (topics->settings.topic != NULL)
		code = metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
	if (kafka_status(code) == FLOW_E_NOT_FOUND)
		status = flow_fail(system->host, error, FLOW_E_NOT_FOUND, "there is no topic '%s' in this cluster",
						   topics->settings.topic);
	else if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		status = kafka_failed(system->host, error, code, "topic '%s'", topics->settings.topic);
	else if (find_new(topics, metadata, found) != FLOW_OK)
		status = kafka_no_memory(system->host, error);
	rd_kafka_metadata_destroy(metadata);
	if (status == FLOW_OK && found->count != 0)
		status = kafka_topics_look(system, &topics->settings, found->places, found->count, error);
	return status;
}

/* Under the system's lock. Takes the places. */
static flow_status
keep(struct kafka_topics *topics, struct finding *found)
{
	const flow_host *host = topics->system->host;
	for (uint32_t i = 0; i < found->count; i++) {
		void *items = topics->places;
		if (!grow(host, &items, topics->count, &topics->room, sizeof(*topics->places))) {
			memmove(found->places, found->places + i, (found->count - i) * sizeof(*found->places));
			found->count -= i;
			return FLOW_E_MEMORY;
		}
		topics->places = items;
		topics->places[topics->count++] = found->places[i];
	}
	found->count = 0;
	return FLOW_OK;
}

static void
free_topics(struct kafka_topics *topics)
{
	const flow_host *host = topics->system->host;
	for (uint32_t i = 0; i < topics->count; i++)
		kafka_place_free(host, topics->places[i]);
	host->release(topics->places);
	host->release(topics->stream);
	kafka_settings_free(&topics->settings);
	host->release(topics);
}

static flow_status
new_topics(flow_source *source, const flow_stream_request *request, struct kafka_topics **result, flow_error *error)
{
	const flow_host *host = source->system->host;
	struct kafka_topics *topics = flow_new(host, sizeof(*topics));
	if (topics == NULL)
		return kafka_no_memory(host, error);
	topics->system = source->system;
	flow_status status = kafka_settings_read(host, request, &topics->settings, error);
	topics->stream = kafka_copy(host, request->id);
	if (status == FLOW_OK && topics->stream == NULL)
		status = kafka_no_memory(host, error);
	if (status == FLOW_OK) {
		*result = topics;
		return FLOW_OK;
	}
	host->release(topics->stream);
	kafka_settings_free(&topics->settings);
	host->release(topics);
	return status;
}

static int64_t
next_look(const struct kafka_topics *topics)
{
	int64_t interval = topics->system->discovery_interval;
	return topics->system->host->monotonic() +
		   (topics->settings.topic != NULL && interval > PRESENCE ? PRESENCE : interval);
}

/* The first look: everything that is there. */
static flow_status
first_look(flow_source *source, struct kafka_topics *topics, flow_error *error)
{
	flow_system *system = source->system;
	struct finding found = { 0 };
	flow_status status = look_for_new(topics, &found, error);
	if (status == FLOW_OK && source->settings.group != NULL && !source->settings.anew)
		status = kafka_topics_committed(source, found.places, found.count, error);
	for (uint32_t i = 0; i < found.count && status == FLOW_OK; i++)
		if (found.places[i]->committed != KAFKA_UNKNOWN)
			atomic_store(&topics->goes_on, 1);
	if (status == FLOW_OK && keep(topics, &found) != FLOW_OK)
		status = kafka_no_memory(system->host, error);
	if (status == FLOW_OK && topics->count == 0)
		flow_say(system->host, FLOW_LOG_WARN, source->component, "no topic matches the pattern yet");
	drop_finding(system->host, &found);
	topics->due = next_look(topics);
	return status;
}

flow_status
kafka_topics_open(flow_source *source, const flow_stream_request *request, flow_error *error)
{
	flow_system *system = source->system;
	struct kafka_topics *topics = system->topics; /* [main]: nobody else changes the list */
	while (topics != NULL && strcmp(topics->stream, source->stream) != 0)
		topics = topics->next;
	if (topics == NULL) {
		flow_status status = new_topics(source, request, &topics, error);
		if (topics == NULL)
			return status;
		status = first_look(source, topics, error);
		if (status != FLOW_OK) {
			free_topics(topics);
			return status;
		}
		pthread_mutex_lock(&system->lock);
		topics->next = system->topics;
		system->topics = topics;
		pthread_mutex_unlock(&system->lock);
	}
	topics->references++; /* [main], as its end */
	source->topics = topics;
	source->made_anew = atomic_load(&topics->made_anew);
	return FLOW_OK;
}

void
kafka_topics_close(flow_source *source)
{
	flow_system *system = source->system;
	struct kafka_topics *topics = source->topics;
	source->topics = NULL;
	if (topics == NULL || --topics->references != 0)
		return;
	pthread_mutex_lock(&system->lock);
	for (struct kafka_topics **at = &system->topics; *at != NULL; at = &(*at)->next)
		if (*at == topics) {
			*at = topics->next;
			break;
		}
	while (topics->busy)
		pthread_cond_wait(&system->watch->idle, &system->lock);
	pthread_mutex_unlock(&system->lock);
	free_topics(topics);
}

/* --- what appears and goes ---------------------------------------------------------------------------------------------- */

static void
tell_sources(flow_system *system, const struct kafka_topics *topics)
{
	for (flow_source *s = system->sources; s != NULL; s = s->next_source)
		if (s->topics == topics) {
			atomic_store(&s->changed, 1);
			s->waker->wake(s->waker->wake_context);
		}
}

static void
topic_is_missing(struct kafka_topics *topics)
{
	if (++topics->missing != MISSING_MOST)
		return;
	atomic_store(&topics->gone, 1);
	tell_sources(topics->system, topics);
}

static void
topic_is_there(struct kafka_topics *topics)
{
	if (topics->missing == 0)
		return;
	topics->missing = 0;
	atomic_store(&topics->gone, 0);
	atomic_fetch_add(&topics->made_anew, 1);
	tell_sources(topics->system, topics);
}

/* Called with the system's lock, which it gives up while it asks. */
void
kafka_topics_discover(struct kafka_topics *topics)
{
	flow_system *system = topics->system;
	struct finding found = { 0 };
	flow_error *error = system->host->errors->create();
	topics->busy = 1;
	pthread_mutex_unlock(&system->lock);
	flow_status status = look_for_new(topics, &found, error);
	pthread_mutex_lock(&system->lock);
	uint32_t count = found.count;
	if (status == FLOW_E_NOT_FOUND)
		topic_is_missing(topics);
	else if (status == FLOW_OK) {
		topic_is_there(topics);
		status = keep(topics, &found);
	}
	if (status == FLOW_OK && count != 0) {
		flow_say(system->host, FLOW_LOG_INFO, topics->stream, "%u partitions appeared", count);
		tell_sources(system, topics);
	} else if (status != FLOW_OK && status != FLOW_E_NOT_FOUND && status != FLOW_E_CANCELLED) {
		flow_say(system->host, FLOW_LOG_WARN, topics->stream, "cannot look for new partitions: %s",
				 system->host->errors->message(error));
	}
	topics->due = next_look(topics);
	topics->busy = 0;
	pthread_cond_broadcast(&system->watch->idle);
	system->host->errors->free(error);
	drop_finding(system->host, &found);
}
