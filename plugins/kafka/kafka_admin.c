/* Questions to brokers, with deadlines; topics made, records deleted. */
#include <stdio.h>

#include "kafka.h"

#define SLICE 500 /* milliseconds after which it is looked whether brokers refuse altogether */

flow_status
kafka_admin_client(flow_system *system, rd_kafka_t **client, flow_error *error)
{
	flow_status status = FLOW_OK;
	pthread_mutex_lock(&system->lock);
	if (system->client == NULL) {
		/* Records of open transactions count: the end of a topic is where the next record will be. */
		rd_kafka_conf_t *conf = kafka_client_conf(system, RD_KAFKA_CONSUMER);
		status = kafka_property_set(system->host, conf, "isolation.level", "read_uncommitted", error);
		if (status == FLOW_OK)
			status = kafka_client_open(&system->owner, RD_KAFKA_CONSUMER, conf, &system->client, error);
		else
			rd_kafka_conf_destroy(conf);
	}
	*client = system->client;
	pthread_mutex_unlock(&system->lock);
	return status;
}

/* --- asking, in slices --------------------------------------------------------------------------------------------------- */

/* What errors that belong to no call say about a call that got no answer. */
static rd_kafka_resp_err_t
last_error(flow_system *system, char text[KAFKA_ERROR_SIZE])
{
	rd_kafka_poll(system->client, 0);
	pthread_mutex_lock(&system->owner.lock);
	rd_kafka_resp_err_t code = system->owner.code;
	snprintf(text, KAFKA_ERROR_SIZE, "%s", system->owner.text);
	pthread_mutex_unlock(&system->owner.lock);
	return code;
}

static int
is_pending(rd_kafka_resp_err_t code)
{
	flow_status status = kafka_status(code);
	return status == FLOW_E_TIMEOUT || status == FLOW_E_UNAVAILABLE;
}

/* Calls `ask` until it is answered, time is up, or it is clear that there will be no answer. */
static flow_status
ask(flow_system *system, rd_kafka_resp_err_t (*question)(rd_kafka_t *client, void *context, int timeout), void *context,
	const char *what, flow_error *error)
{
	rd_kafka_t *client;
	flow_status status = kafka_admin_client(system, &client, error);
	if (status != FLOW_OK)
		return status;
	char text[KAFKA_ERROR_SIZE];
	int64_t deadline = system->host->monotonic() + (int64_t)system->request_timeout * 1000;
	for (;;) {
		int64_t left = (deadline - system->host->monotonic()) / 1000;
		rd_kafka_resp_err_t code = question(client, context, left < 1 ? 1 : left < SLICE ? (int)left : SLICE);
		if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
			return FLOW_OK;
		if (!is_pending(code))
			return kafka_failed(system->host, error, code, "%s", what);
		rd_kafka_resp_err_t refused = last_error(system, text);
		if (kafka_status(refused) == FLOW_E_DENIED)
			return flow_fail(system->host, error, FLOW_E_DENIED,
							 "%s: %s; look at the option security, and at what the brokers allow%s", what, text,
							 kafka_scram_advice(text));
		if (system->host->cancelled())
			return flow_fail(system->host, error, FLOW_E_CANCELLED, "%s: cancelled", what);
		if (system->host->monotonic() < deadline)
			continue;
		return flow_fail(
			system->host, error, FLOW_E_UNAVAILABLE,
			"%s: no answer from the brokers within %d ms%s%s; are those of bootstrap_servers up, and can they "
			"be reached?",
			what, system->request_timeout, text[0] == '\0' ? "" : ": ", text);
	}
}

/* --- partitions ---------------------------------------------------------------------------------------------------------- */

struct metadata_question {
	const char *topic; /* NULL: all topics */
	const struct rd_kafka_metadata *answer;
};

static rd_kafka_resp_err_t
ask_metadata(rd_kafka_t *client, void *context, int timeout)
{
	struct metadata_question *q = context;
	rd_kafka_topic_t *topic = q->topic == NULL ? NULL : rd_kafka_topic_new(client, q->topic, NULL);
	if (q->topic != NULL && topic == NULL)
		return rd_kafka_last_error();
	rd_kafka_resp_err_t code = rd_kafka_metadata(client, topic == NULL, topic, &q->answer, timeout);
	if (topic != NULL)
		rd_kafka_topic_destroy(topic);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		return code;
	/* A topic that was just made has no leaders yet. */
	if (q->answer->topic_cnt == 1 && q->topic != NULL && is_pending(q->answer->topics[0].err)) {
		code = q->answer->topics[0].err;
		rd_kafka_metadata_destroy(q->answer);
	}
	return code;
}

flow_status
kafka_admin_metadata(flow_system *system, const char *topic, const struct rd_kafka_metadata **metadata,
					 flow_error *error)
{
	char what[KAFKA_ERROR_SIZE];
	struct metadata_question question = { .topic = topic };
	snprintf(what, sizeof(what), topic == NULL ? "topics" : "topic '%s'", topic);
	flow_status status = ask(system, ask_metadata, &question, what, error);
	*metadata = question.answer;
	return status;
}

flow_status
kafka_admin_partitions(flow_system *system, const char *topic, int32_t *count, flow_error *error)
{
	const struct rd_kafka_metadata *metadata;
	flow_status status = kafka_admin_metadata(system, topic, &metadata, error);
	if (status != FLOW_OK)
		return status;
	rd_kafka_resp_err_t code = metadata->topic_cnt != 1 ? RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC : metadata->topics[0].err;
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		*count = metadata->topics[0].partition_cnt;
	rd_kafka_metadata_destroy(metadata);
	if (kafka_status(code) == FLOW_E_NOT_FOUND)
		return flow_fail(system->host, error, FLOW_E_NOT_FOUND, "there is no topic '%s' in this cluster", topic);
	return code == RD_KAFKA_RESP_ERR_NO_ERROR ? FLOW_OK : kafka_failed(system->host, error, code, "topic '%s'", topic);
}

flow_status
kafka_admin_await(flow_system *system, const char *topic, int32_t *count, flow_error *error)
{
	flow_status status;
	for (int tries = 0; (status = kafka_admin_partitions(system, topic, count, error)) == FLOW_E_NOT_FOUND &&
						tries < system->request_timeout / 50;
		 tries++)
		rd_kafka_poll(system->client, 50);
	return status;
}

/* --- offsets ------------------------------------------------------------------------------------------------------------- */

struct offsets_question {
	const rd_kafka_topic_partition_list_t *asked;
	rd_kafka_topic_partition_list_t *answer; /* NULL: none yet */
};

static rd_kafka_resp_err_t
ask_offsets(rd_kafka_t *client, void *context, int timeout)
{
	struct offsets_question *q = context;
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_copy(q->asked);
	rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(client, list, timeout);
	for (int i = 0; i < list->cnt && code == RD_KAFKA_RESP_ERR_NO_ERROR; i++)
		code = list->elems[i].err;
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		q->answer = list;
	else
		rd_kafka_topic_partition_list_destroy(list);
	return code;
}

flow_status
kafka_admin_offsets(flow_system *system, rd_kafka_topic_partition_list_t *list, flow_error *error)
{
	char what[KAFKA_ERROR_SIZE];
	struct offsets_question question = { .asked = list };
	if (list->cnt == 0)
		return FLOW_OK;
	snprintf(what, sizeof(what), "offsets of topic '%s'", list->elems[0].topic);
	flow_status status = ask(system, ask_offsets, &question, what, error);
	if (status != FLOW_OK)
		return status;
	for (int i = 0; i < list->cnt; i++) {
		const rd_kafka_topic_partition_t *one =
			rd_kafka_topic_partition_list_find(question.answer, list->elems[i].topic, list->elems[i].partition);
		list->elems[i].offset = one->offset;
	}
	rd_kafka_topic_partition_list_destroy(question.answer);
	return FLOW_OK;
}

/* --- topics made, records deleted ------------------------------------------------------------------------------------------ */

/* One request of the admin interface: NULL: no answer in time. */
static rd_kafka_event_t *
wait_answer(flow_system *system, rd_kafka_queue_t *queue)
{
	return rd_kafka_queue_poll(queue, system->request_timeout + 1000);
}

static rd_kafka_AdminOptions_t *
admin_options(flow_system *system, rd_kafka_t *client, rd_kafka_admin_op_t operation)
{
	char text[KAFKA_ERROR_SIZE];
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(client, operation);
	rd_kafka_AdminOptions_set_request_timeout(options, system->request_timeout, text, sizeof(text));
	rd_kafka_AdminOptions_set_operation_timeout(options, system->request_timeout, text, sizeof(text));
	return options;
}

static flow_status
created(flow_system *system, const char *topic, rd_kafka_event_t *event, flow_error *error)
{
	rd_kafka_resp_err_t code = event == NULL ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_event_error(event);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		return kafka_failed(system->host, error, code, "topic '%s' cannot be created", topic);
	size_t count = 0;
	const rd_kafka_topic_result_t **results =
		rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
	code = count == 1 ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR__FAIL;
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FLOW_OK;
	const char *text = count == 1 ? rd_kafka_topic_result_error_string(results[0]) : NULL;
	flow_status status = kafka_status(code);
	return flow_fail(system->host, error, status, "topic '%s' cannot be created: %s", topic,
					 text == NULL ? rd_kafka_err2str(code) : text);
}

flow_status
kafka_admin_create(flow_system *system, const char *topic, int32_t partitions, int32_t replication,
				   const flow_option_value *config, flow_error *error)
{
	rd_kafka_t *client;
	char text[KAFKA_ERROR_SIZE] = "";
	flow_status status = kafka_admin_client(system, &client, error);
	if (status != FLOW_OK)
		return status;
	rd_kafka_NewTopic_t *made = rd_kafka_NewTopic_new(topic, partitions == 0 ? -1 : partitions,
													  replication == 0 ? -1 : replication, text, sizeof(text));
	if (made == NULL)
		return flow_fail(system->host, error, FLOW_E_CONFIG, "topic '%s' cannot be created: %s", topic, text);
	for (uint64_t i = 0; config != NULL && i < config->entry_count; i++) {
		char name[256], room[KAFKA_NUMBER_ROOM];
		snprintf(name, sizeof(name), "%.*s", (int)config->entries[i]->name.size, config->entries[i]->name.data);
		rd_kafka_NewTopic_set_config(made, name, kafka_property_text(config->entries[i]->value, room));
	}
	rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
	rd_kafka_AdminOptions_t *options = admin_options(system, client, RD_KAFKA_ADMIN_OP_CREATETOPICS);
	rd_kafka_CreateTopics(client, &made, 1, options, queue);
	rd_kafka_event_t *event = wait_answer(system, queue);
	status = created(system, topic, event, error);
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_queue_destroy(queue);
	rd_kafka_NewTopic_destroy(made);
	return status;
}

static flow_status
deleted(flow_system *system, const char *topic, rd_kafka_event_t *event, flow_error *error)
{
	rd_kafka_resp_err_t code = event == NULL ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_event_error(event);
	const rd_kafka_topic_partition_list_t *list = NULL;
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		list = rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
	for (int i = 0; list != NULL && i < list->cnt && code == RD_KAFKA_RESP_ERR_NO_ERROR; i++)
		code = list->elems[i].err;
	return code == RD_KAFKA_RESP_ERR_NO_ERROR
			   ? FLOW_OK
			   : kafka_failed(system->host, error, code, "topic '%s': records that were used cannot be deleted", topic);
}

flow_status
kafka_admin_delete(flow_system *system, const rd_kafka_topic_partition_list_t *list, flow_error *error)
{
	rd_kafka_t *client;
	flow_status status = list->cnt == 0 ? FLOW_OK : kafka_admin_client(system, &client, error);
	if (list->cnt == 0 || status != FLOW_OK)
		return status;
	rd_kafka_DeleteRecords_t *request = rd_kafka_DeleteRecords_new(list);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
	rd_kafka_AdminOptions_t *options = admin_options(system, client, RD_KAFKA_ADMIN_OP_DELETERECORDS);
	rd_kafka_DeleteRecords(client, &request, 1, options, queue);
	rd_kafka_event_t *event = wait_answer(system, queue);
	status = deleted(system, list->elems[0].topic, event, error);
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_queue_destroy(queue);
	rd_kafka_DeleteRecords_destroy(request);
	return status;
}
