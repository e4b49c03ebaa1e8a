/*
 * The transaction of a process: begun with the first record, lost or fenced, taken over from an earlier process.
 *
 * Who runs is written down: in a group of its own, in a transaction right after the earlier processes were fenced. So a process
 * whose client was fenced can tell a newer process, which has written its own name there, from a broker that ran out of patience
 * with a long transaction. To librdkafka both look the same.
 */
#include <stdio.h>

#include "kafka_output.h"

#define TRIES 3

/* --- what a group has committed ----------------------------------------------------------------------------------------- */

/* The topics of all outputs that share the transaction, once each; partition 0 holds what is written down for them. */
static rd_kafka_topic_partition_list_t *
list_topics(struct kafka_producer *producer)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	pthread_mutex_lock(&producer->lock);
	for (const flow_committer *c = producer->transaction.committers; c != NULL; c = c->next)
		if (rd_kafka_topic_partition_list_find(list, c->topic, 0) == NULL)
			rd_kafka_topic_partition_list_add(list, c->topic, 0);
	pthread_mutex_unlock(&producer->lock);
	return list;
}

flow_status
kafka_transaction_read(struct kafka_producer *producer, const char *group, int settled,
					   rd_kafka_topic_partition_list_t **found, flow_error *error)
{
	rd_kafka_topic_partition_list_t *list = list_topics(producer);
	flow_status status = kafka_offsets_committed(producer->system, group, settled, list, error);
	if (status == FLOW_OK)
		*found = list;
	else
		rd_kafka_topic_partition_list_destroy(list);
	return status;
}

rd_kafka_error_t *
kafka_transaction_note(struct kafka_producer *producer, const char *group, int64_t offset, const char *text)
{
	rd_kafka_topic_partition_list_t *list = list_topics(producer);
	rd_kafka_consumer_group_metadata_t *metadata = rd_kafka_consumer_group_metadata_new(group);
	for (int i = 0; i < list->cnt; i++) {
		list->elems[i].offset = offset;
		list->elems[i].metadata = strdup(text); /* freed with the list */
		list->elems[i].metadata_size = strlen(text);
	}
	rd_kafka_error_t *error =
		rd_kafka_send_offsets_to_transaction(producer->client, list, metadata, producer->system->request_timeout);
	rd_kafka_consumer_group_metadata_destroy(metadata);
	rd_kafka_topic_partition_list_destroy(list);
	return error;
}

/* --- lost, or fenced ---------------------------------------------------------------------------------------------------- */

flow_status
kafka_transaction_verdict(rd_kafka_resp_err_t code)
{
	flow_status status = kafka_status(code);
	return status == FLOW_E_NOT_FOUND || status == FLOW_E_DENIED ? status : FLOW_E_CONFLICT;
}

void
kafka_transaction_spoil(struct kafka_producer *producer, flow_status status, const char *why)
{
	struct kafka_transaction *t = &producer->transaction;
	if (t->lost != FLOW_OK && (t->lost != FLOW_E_CONFLICT || status == FLOW_E_CONFLICT))
		return;
	t->lost = status;
	snprintf(t->why, sizeof(t->why), "%s", why);
}

/* Has a newer process written its name down? */
static flow_status
find_newer(struct kafka_producer *producer, int *newer, flow_error *error)
{
	struct kafka_transaction *t = &producer->transaction;
	rd_kafka_topic_partition_list_t *found = NULL;
	*newer = 0;
	flow_status status = kafka_transaction_read(producer, t->process_group, 0, &found, error);
	if (status != FLOW_OK)
		return status;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what was read is a list */
	for (int i = 0; i < found->cnt; i++) {
		const rd_kafka_topic_partition_t *one = &found->elems[i];
		*newer |= one->offset >= 0 && (one->metadata_size != strlen(t->process) ||
									   memcmp(one->metadata, t->process, one->metadata_size) != 0);
	}
	rd_kafka_topic_partition_list_destroy(found);
	return FLOW_OK;
}

/* The client cannot go on. */
static rd_kafka_resp_err_t
fatal_error(const struct kafka_producer *producer, char *text, size_t size)
{
	return producer->client == NULL ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_fatal_error(producer->client, text, size);
}

int
kafka_transaction_is_overdue(const struct kafka_producer *producer)
{
	const struct kafka_transaction *t = &producer->transaction;
	return t->open && producer->host->monotonic() - t->began >= producer->system->transaction_timeout;
}

/* Whether a newer process has fenced this one. Brokers also fence whoever took too long; before that, only a newer process can. Who was
 * too slow before it had written its name down tries again: the name that is there may be of an earlier run. */
static flow_status
was_taken_over(struct kafka_producer *producer, int *newer, flow_error *error)
{
	char text[KAFKA_ERROR_SIZE];
	rd_kafka_resp_err_t code = fatal_error(producer, text, sizeof(text));
	*newer = kafka_status(code) == FLOW_E_FENCED && !kafka_transaction_is_overdue(producer);
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR || *newer || !producer->transaction.claimed)
		return FLOW_OK;
	return find_newer(producer, newer, error);
}

flow_status
kafka_transaction_lost(struct kafka_producer *producer, flow_error *error)
{
	struct kafka_transaction *t = &producer->transaction;
	const flow_host *host = producer->host;
	char text[KAFKA_ERROR_SIZE] = "", why[KAFKA_ERROR_SIZE];
	int newer = 0, fatal = fatal_error(producer, text, sizeof(text)) != RD_KAFKA_RESP_ERR_NO_ERROR;
	flow_status status = was_taken_over(producer, &newer, error);
	if (status != FLOW_OK)
		return status;
	pthread_mutex_lock(&producer->lock);
	if (newer)
		snprintf(why, sizeof(why), "another process with the same job and instance has taken over; this one ends");
	else if (kafka_transaction_is_overdue(producer))
		snprintf(why, sizeof(why),
				 "the transaction was open for %lld s, and brokers end it after %lld s (transaction_timeout)",
				 (long long)(host->monotonic() - t->began) / 1000000,
				 (long long)producer->system->transaction_timeout / 1000000);
	else
		snprintf(why, sizeof(why), "%s", fatal ? text : "the transaction cannot be committed any more");
	if (newer || (t->lost == FLOW_E_CONFLICT && kafka_transaction_is_overdue(producer)))
		t->lost = FLOW_OK; /* this says more than what was noted before */
	kafka_transaction_spoil(producer, newer ? FLOW_E_FENCED : FLOW_E_CONFLICT, why);
	status = t->lost;
	snprintf(text, sizeof(text), "%s", t->why);
	pthread_mutex_unlock(&producer->lock);
	return flow_fail(host, error, status, "%s", text);
}

flow_status
kafka_transaction_failed(struct kafka_producer *producer, rd_kafka_error_t *cause, const char *what, flow_error *error)
{
	const flow_host *host = producer->host;
	char text[KAFKA_ERROR_SIZE];
	snprintf(text, sizeof(text), "%s: %s", what, rd_kafka_error_string(cause));
	rd_kafka_resp_err_t code = rd_kafka_error_code(cause);
	int fatal = rd_kafka_error_is_fatal(cause), abort = rd_kafka_error_txn_requires_abort(cause),
		again = rd_kafka_error_is_retriable(cause);
	rd_kafka_error_destroy(cause);
	if (fatal || abort) {
		pthread_mutex_lock(&producer->lock);
		if (!fatal)
			kafka_transaction_spoil(producer, kafka_transaction_verdict(code), text);
		pthread_mutex_unlock(&producer->lock);
		return kafka_transaction_lost(producer, error);
	}
	if (again)
		return flow_fail(host, error, FLOW_E_UNAVAILABLE, "%s", text);
	return flow_fail(host, error, kafka_status(code) == FLOW_OK ? FLOW_E_FAILED : kafka_status(code), "%s", text);
}

flow_status
kafka_transaction_enter(struct kafka_producer *producer, flow_error *error)
{
	struct kafka_transaction *t = &producer->transaction;
	(void)error;
	if (t->lost != FLOW_OK)
		return FLOW_E_CONFLICT;
	if (t->open)
		return FLOW_OK;
	rd_kafka_error_t *cause = producer->client == NULL || !t->initialised
								  ? rd_kafka_error_new(RD_KAFKA_RESP_ERR__STATE, "no transactions yet")
								  : rd_kafka_begin_transaction(producer->client);
	if (cause == NULL) {
		t->open = 1;
		t->began = producer->host->monotonic();
		return FLOW_OK;
	}
	kafka_transaction_spoil(producer, FLOW_E_CONFLICT, rd_kafka_error_string(cause));
	rd_kafka_error_destroy(cause);
	return FLOW_E_CONFLICT;
}

/* --- taking over -------------------------------------------------------------------------------------------------------- */

void
kafka_transaction_reset(struct kafka_producer *producer)
{
	struct kafka_transaction *t = &producer->transaction;
	pthread_mutex_lock(&producer->lock);
	t->open = t->committing = 0;
	t->lost = FLOW_OK;
	for (flow_writer *w = producer->writers; w != NULL; w = w->next) {
		w->prepared = 0;
		w->waiting = 0;
		w->waker->wake(w->waker->wake_context);
	}
	pthread_mutex_unlock(&producer->lock);
}

/* Writes down that this process runs. */
static flow_status
claim(struct kafka_producer *producer, flow_error *error)
{
	struct kafka_transaction *t = &producer->transaction;
	const int patience = producer->system->request_timeout;
	rd_kafka_error_t *cause = rd_kafka_begin_transaction(producer->client);
	if (cause == NULL) {
		t->open = 1;
		t->began = producer->host->monotonic();
		cause = kafka_transaction_note(producer, t->process_group, producer->host->now() / 1000, t->process);
	}
	if (cause == NULL)
		cause = rd_kafka_commit_transaction(producer->client, patience);
	if (cause != NULL)
		return kafka_transaction_failed(producer, cause, "transaction of the start", error);
	t->claimed = 1;
	t->open = t->committing = 0;
	return FLOW_OK;
}

/* From the beginning, with a new client: it ends what an earlier try left. */
static flow_status
take_over(struct kafka_producer *producer, flow_error *error)
{
	struct kafka_transaction *t = &producer->transaction;
	char text[KAFKA_ERROR_SIZE];
	flow_status status = FLOW_OK;
	if (producer->client == NULL || t->initialised ||
		fatal_error(producer, text, sizeof(text)) != RD_KAFKA_RESP_ERR_NO_ERROR) {
		t->initialised = t->claimed = t->open = t->committing = 0;
		status = kafka_producer_connect(producer, error);
	}
	t->lost = FLOW_OK;
	if (status != FLOW_OK)
		return status;
	rd_kafka_error_t *cause = rd_kafka_init_transactions(producer->client, producer->system->request_timeout);
	if (cause != NULL)
		return kafka_transaction_failed(producer, cause, "transactions cannot begin", error);
	t->initialised = 1;
	return claim(producer, error);
}

flow_status
kafka_transaction_fence(struct kafka_producer *producer, flow_error *error)
{
	struct kafka_transaction *t = &producer->transaction;
	char text[KAFKA_ERROR_SIZE];
	int newer = 0;
	if (producer->client != NULL && t->initialised && t->claimed && !t->open &&
		fatal_error(producer, text, sizeof(text)) == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FLOW_OK; /* nobody else has come since */
	flow_status status = was_taken_over(producer, &newer, error);
	if (status == FLOW_OK && newer)
		status = kafka_transaction_lost(producer, error);
	if (status != FLOW_OK)
		return status;
	status = take_over(producer, error);
	for (int again = 0; status == FLOW_E_CONFLICT && again < TRIES; again++)
		status = take_over(producer, error); /* a broker that died took that transaction along too */
	if (status == FLOW_OK)
		kafka_transaction_reset(producer);
	if (status != FLOW_E_CONFLICT)
		return status;
	snprintf(text, sizeof(text), "%s", t->why);
	return flow_fail(producer->host, error, FLOW_E_UNAVAILABLE, "%s", text);
}
