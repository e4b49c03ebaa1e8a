/* Committers: one transaction for all outputs of the system, with the marker and with the positions of inputs read by group. */
#include <stdio.h>
#include <stdlib.h>

#include "kafka_output.h"

#define MARKER_SIZE 96

/* --- open, close -------------------------------------------------------------------------------------------------------- */

static void
destroy(flow_committer *committer)
{
	const flow_host *host = committer->host;
	if (committer->producer != NULL)
		kafka_producer_close(committer->producer);
	host->release(committer->stream);
	host->release(committer->topic);
	host->release(committer);
}

flow_status
kafka_committer_open(flow_system *system, const flow_stream_request *request, flow_committer **result,
					 flow_error *error)
{
	int32_t partitions;
	struct kafka_limits limits;
	flow_committer *committer = flow_new(system->host, sizeof(*committer));
	if (committer == NULL)
		return kafka_no_memory(system->host, error);
	committer->system = system;
	committer->host = system->host;
	committer->stream = kafka_copy(system->host, request->id);
	committer->topic = kafka_copy(system->host, request->physical_name);
	flow_status status = committer->stream == NULL || committer->topic == NULL
							 ? kafka_no_memory(system->host, error)
							 : kafka_producer_open(system, request, 1, &committer->producer, error);
	if (status == FLOW_OK)
		status = kafka_output_topic(system, request, committer->topic, &partitions, error);
	if (status != FLOW_OK) {
		destroy(committer);
		return status;
	}
	kafka_limits_ask(system, committer->topic, &limits); /* before the client is made for all outputs */
	struct kafka_producer *producer = committer->producer;
	pthread_mutex_lock(&producer->lock);
	committer->next = producer->transaction.committers;
	producer->transaction.committers = committer;
	pthread_mutex_unlock(&producer->lock);
	*result = committer;
	return FLOW_OK;
}

void
kafka_committer_close(flow_committer *committer)
{
	struct kafka_producer *producer = committer->producer;
	pthread_mutex_lock(&producer->lock);
	flow_committer **at = &producer->transaction.committers;
	while (*at != committer)
		at = &(*at)->next;
	*at = committer->next;
	pthread_mutex_unlock(&producer->lock);
	destroy(committer);
}

int
kafka_committer_has(flow_system *system, flow_slice stream)
{
	int found = 0;
	pthread_mutex_lock(&system->lock);
	for (struct kafka_producer *p = system->producers; p != NULL; p = p->next) {
		pthread_mutex_lock(&p->lock);
		for (const flow_committer *c = p->transaction.committers; c != NULL; c = c->next)
			found |= flow_slice_is(stream, c->stream);
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&system->lock);
	return found;
}

/* --- markers ------------------------------------------------------------------------------------------------------------ */

static void
print_marker(const flow_marker *marker, char text[MARKER_SIZE])
{
	int used = snprintf(text, MARKER_SIZE, "1 ");
	for (size_t i = 0; i < sizeof(marker->run_id); i++)
		used += snprintf(text + used, MARKER_SIZE - (size_t)used, "%02x", marker->run_id[i]);
	snprintf(text + used, MARKER_SIZE - (size_t)used, " %llu", (unsigned long long)marker->epoch);
}

/* Of two digits; -1: they are none. */
static int
parse_byte(const char *digits)
{
	int byte = 0;
	for (int i = 0; i < 2; i++) {
		char c = digits[i];
		if (c >= '0' && c <= '9')
			byte = byte * 16 + c - '0';
		else if (c >= 'a' && c <= 'f')
			byte = byte * 16 + c - 'a' + 10;
		else
			return -1;
	}
	return byte;
}

static int
parse_marker(const rd_kafka_topic_partition_t *from, flow_marker *marker)
{
	char text[MARKER_SIZE];
	if (from->offset < 0 || from->metadata_size >= sizeof(text))
		return 0;
	memcpy(text, from->metadata, from->metadata_size);
	text[from->metadata_size] = '\0';
	if (strncmp(text, "1 ", 2) != 0 || strlen(text) < 2 + 2 * sizeof(marker->run_id) + 2)
		return 0;
	for (size_t i = 0; i < sizeof(marker->run_id); i++) {
		int byte = parse_byte(text + 2 + 2 * i);
		if (byte < 0)
			return 0;
		marker->run_id[i] = (uint8_t)byte;
	}
	const char *epoch = text + 2 + 2 * sizeof(marker->run_id);
	return *epoch == ' ' && flow_parse_uint64(flow_slice_of(epoch + 1), &marker->epoch) == FLOW_OK;
}

/* Which of two says more: the one that is expected, then the one of the same run, then the later epoch. */
static int
says_more(const flow_marker *a, const flow_marker *b, const flow_marker *expected)
{
	int same_a = memcmp(a->run_id, expected->run_id, sizeof(a->run_id)) == 0;
	int same_b = memcmp(b->run_id, expected->run_id, sizeof(b->run_id)) == 0;
	if (same_a != same_b)
		return same_a;
	if (same_a && (a->epoch == expected->epoch) != (b->epoch == expected->epoch))
		return a->epoch == expected->epoch;
	return a->epoch > b->epoch;
}

flow_status
kafka_committer_last_marker(flow_committer *committer, const flow_marker *expected, flow_marker *last, int *found,
							flow_error *error)
{
	struct kafka_producer *producer = committer->producer;
	rd_kafka_topic_partition_list_t *list = NULL;
	*found = 0;
	flow_status status = kafka_transaction_fence(producer, error);
	if (status == FLOW_OK)
		status = kafka_transaction_read(producer, producer->transaction.marker_group, 1, &list, error);
	if (status != FLOW_OK)
		return status;
	last->job = expected->job;
	last->instance = expected->instance;
	for (int i = 0; i < list->cnt; i++) {
		flow_marker one = *last;
		if (list->elems[i].offset < 0)
			continue;
		if (!parse_marker(&list->elems[i], &one)) {
			status = flow_fail(committer->host, error, FLOW_E_CORRUPT,
							   "group '%s': what is committed for topic '%s' is no marker of flowd",
							   producer->transaction.marker_group, list->elems[i].topic);
			break;
		}
		if (*found == 0 || says_more(&one, last, expected))
			*last = one;
		*found = 1;
	}
	rd_kafka_topic_partition_list_destroy(list);
	/* Whoever asks has heard no answer to a commit, and now that it is over. */
	kafka_group_settled_all(producer->system);
	return status;
}

/* --- commit, abort ------------------------------------------------------------------------------------------------------ */

/* Read by the same member. */
static int
is_of_member(const flow_input_position *a, const flow_input_position *b)
{
	return a->task == b->task && flow_slice_equal(a->input, b->input);
}

/* Positions go with the membership of the source that read them: one that was thrown out must not commit behind who has its
 * partitions now, though another member of this process could. */
static rd_kafka_error_t *
send_positions(struct kafka_producer *producer, const flow_marker *marker, uint64_t first, flow_status *status,
			   flow_error *error)
{
	flow_system *system = producer->system;
	const flow_input_position *of = marker->positions[first];
	flow_source *source = kafka_source_find(system, of->input, of->task);
	rd_kafka_consumer_group_metadata_t *group = source == NULL ? NULL : kafka_source_group(source);
	if (group == NULL) {
		*status = flow_fail(producer->host, error, FLOW_E_CONFLICT, "input '%.*s' is in no group any more",
							(int)of->input.size, of->input.data);
		return NULL;
	}
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	for (uint64_t i = first; i < marker->position_count && *status == FLOW_OK; i++) {
		const flow_input_position *p = marker->positions[i];
		flow_position position = { .struct_size = FLOW_SIZEOF(flow_position),
								   .partition = p->partition,
								   .bytes = p->bytes };
		if (is_of_member(p, of))
			*status = kafka_position_add(source, &position, list, error);
	}
	rd_kafka_error_t *cause = NULL;
	if (*status == FLOW_OK && !kafka_source_settle(source, list))
		*status = flow_fail(producer->host, error, FLOW_E_CONFLICT,
							"partitions of input '%.*s' were given up before what was read of them was committed",
							(int)of->input.size, of->input.data);
	if (*status == FLOW_OK && list->cnt > 0)
		cause = rd_kafka_send_offsets_to_transaction(producer->client, list, group, system->request_timeout);
	rd_kafka_consumer_group_metadata_destroy(group);
	rd_kafka_topic_partition_list_destroy(list);
	return cause;
}

static int
is_first_of_member(const flow_marker *marker, uint64_t at)
{
	for (uint64_t i = 0; i < at; i++)
		if (is_of_member(marker->positions[i], marker->positions[at]))
			return 0;
	return 1;
}

/* The positions are committed: partitions may be given up again. */
static void
tell_sources(flow_system *system, const flow_marker *marker)
{
	for (uint64_t i = 0; i < marker->position_count; i++) {
		const flow_input_position *p = marker->positions[i];
		flow_source *source = is_first_of_member(marker, i) ? kafka_source_find(system, p->input, p->task) : NULL;
		if (source != NULL)
			kafka_source_settled(source);
	}
}

/* Everything that goes into the transaction besides records. */
static flow_status
complete(struct kafka_producer *producer, const flow_marker *marker, flow_error *error)
{
	struct kafka_transaction *t = &producer->transaction;
	char text[MARKER_SIZE];
	pthread_mutex_lock(&producer->lock);
	flow_status status = kafka_transaction_enter(producer, error);
	pthread_mutex_unlock(&producer->lock);
	if (status != FLOW_OK)
		return kafka_transaction_lost(producer, error);
	for (uint64_t i = 0; i < marker->position_count; i++) {
		rd_kafka_error_t *cause =
			is_first_of_member(marker, i) ? send_positions(producer, marker, i, &status, error) : NULL;
		if (cause != NULL)
			return kafka_transaction_failed(producer, cause, "positions of inputs cannot be committed", error);
		if (status != FLOW_OK)
			return status;
	}
	print_marker(marker, text);
	rd_kafka_error_t *cause =
		kafka_transaction_note(producer, t->marker_group, (int64_t)(marker->epoch & INT64_MAX), text);
	return cause == NULL ? FLOW_OK : kafka_transaction_failed(producer, cause, "the marker cannot be committed", error);
}

flow_status
kafka_committer_commit(flow_committer *committer, const flow_handle *const *handles, uint64_t count,
					   const flow_marker *marker, int last, flow_error *error)
{
	struct kafka_producer *producer = committer->producer;
	struct kafka_transaction *t = &producer->transaction;
	(void)handles;
	(void)count;
	(void)last;
	flow_status status = t->committing ? FLOW_OK : complete(producer, marker, error);
	if (status != FLOW_OK)
		return status;
	t->committing = 1;
	rd_kafka_error_t *cause = rd_kafka_commit_transaction(producer->client, producer->system->request_timeout);
	if (cause == NULL) {
		kafka_transaction_reset(producer);
		tell_sources(producer->system, marker);
		return FLOW_OK;
	}
	status = kafka_transaction_failed(producer, cause, "the transaction cannot be committed", error);
	if (status == FLOW_E_CONFLICT) { /* the broker may have heard an earlier try: the marker tells */
		char text[KAFKA_ERROR_SIZE];
		snprintf(text, sizeof(text), "%s", t->why);
		return flow_fail(committer->host, error, FLOW_E_FAILED, "%s", text);
	}
	return status;
}

flow_status
kafka_committer_abort(flow_committer *committer, const flow_handle *const *keep, uint64_t count, flow_error *error)
{
	struct kafka_producer *producer = committer->producer;
	struct kafka_transaction *t = &producer->transaction;
	char text[KAFKA_ERROR_SIZE];
	(void)keep;
	(void)count;
	if (producer->client == NULL || !t->initialised || (!t->open && t->lost == FLOW_OK))
		return FLOW_OK;
	int fenced = rd_kafka_fatal_error(producer->client, text, sizeof(text)) != RD_KAFKA_RESP_ERR_NO_ERROR;
	rd_kafka_error_t *cause = NULL;
	if (t->open && !fenced && !t->committing)
		cause = rd_kafka_abort_transaction(producer->client, producer->system->request_timeout);
	if (cause == NULL && !fenced && !t->committing) {
		kafka_transaction_reset(producer);
		return FLOW_OK;
	}
	if (cause != NULL) {
		flow_say(committer->host, FLOW_LOG_WARN, committer->system->name, "the transaction cannot be aborted: %s",
				 rd_kafka_error_string(cause));
		rd_kafka_error_destroy(cause);
	}
	return kafka_transaction_fence(producer, error); /* a new client drops it */
}
