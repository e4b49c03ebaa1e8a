/*
 * What a group has committed, asked by a client of its own, a member of nothing.
 *
 * Not by a question of librdkafka's administration: one whose time is over before the group's coordinator is known ends the process as soon
 * as it is (2.0.2, and later ones). And the client of an input that is read uncommitted does not wait for a transaction that is being
 * committed, so that it would tell what was committed before it.
 */
#include <poll.h>

#include "kafka.h"

#define PAUSE 100 /* milliseconds */

static flow_status
configure(const flow_system *system, const char *group, int settled, rd_kafka_conf_t *conf, flow_error *error)
{
	if (conf == NULL)
		return kafka_no_memory(system->host, error);
	flow_status status = kafka_property_set(system->host, conf, "group.id", group, error);
	return status == FLOW_OK ? kafka_property_set(system->host, conf, "isolation.level",
												  settled ? "read_committed" : "read_uncommitted", error)
							 : status;
}

static flow_status
open_client(flow_system *system, const char *group, int settled, struct kafka_owner **owner, rd_kafka_t **client,
			flow_error *error)
{
	rd_kafka_conf_t *conf = kafka_client_conf(system, RD_KAFKA_CONSUMER);
	flow_status status = configure(system, group, settled, conf, error);
	*owner = status == FLOW_OK ? flow_new(system->host, sizeof(**owner)) : NULL;
	if (*owner == NULL) {
		if (conf != NULL)
			rd_kafka_conf_destroy(conf);
		return status == FLOW_OK ? kafka_no_memory(system->host, error) : status;
	}
	kafka_owner_open(*owner, system, system->name);
	status = kafka_client_open(*owner, RD_KAFKA_CONSUMER, conf, client, error);
	if (status != FLOW_OK) {
		kafka_owner_close(*owner);
		system->host->release(*owner);
	}
	return status;
}

rd_kafka_resp_err_t
kafka_offsets_ask(const flow_system *system, rd_kafka_t *client, rd_kafka_topic_partition_list_t *list)
{
	const flow_host *host = system->host;
	int64_t end = host->monotonic() + system->request_timeout * 1000LL;
	for (;;) {
		int64_t left = (end - host->monotonic()) / 1000;
		rd_kafka_resp_err_t code = rd_kafka_committed(client, list, left < 1 ? 1 : (int)left);
		for (int i = 0; i < list->cnt && code == RD_KAFKA_RESP_ERR_NO_ERROR; i++)
			code = list->elems[i].err;
		if (kafka_status(code) != FLOW_E_UNAVAILABLE || left < PAUSE || host->cancelled())
			return code;
		poll(NULL, 0, PAUSE);
	}
}

flow_status
kafka_offsets_committed(flow_system *system, const char *group, int settled, rd_kafka_topic_partition_list_t *list,
						flow_error *error)
{
	struct kafka_owner *owner;
	rd_kafka_t *client;
	const struct rd_kafka_metadata *metadata;
	flow_status status = open_client(system, group, settled, &owner, &client, error);
	if (status != FLOW_OK)
		return status;
	/* Without knowing a broker it would look for the coordinator a second later. */
	rd_kafka_resp_err_t code = rd_kafka_metadata(client, 0, NULL, &metadata, system->request_timeout);
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
		rd_kafka_metadata_destroy(metadata);
		code = kafka_offsets_ask(system, client, list);
	}
	kafka_client_leave(owner, client);
	return code == RD_KAFKA_RESP_ERR_NO_ERROR
			   ? FLOW_OK
			   : kafka_failed(system->host, error, code, "offsets of the group '%s'", group);
}
