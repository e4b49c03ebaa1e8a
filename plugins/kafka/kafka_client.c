/* Handles of librdkafka: made, logged, their errors told. */
#include <stdio.h>
#include <stdlib.h>

#include "kafka.h"

#define SYSLOG_ERROR 3 /* levels of librdkafka's log */
#define SYSLOG_WARNING 4
#define SYSLOG_INFO 6

flow_status
kafka_no_memory(const flow_host *host, flow_error *error)
{
	return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
}

char *
kafka_copy(const flow_host *host, flow_slice text)
{
	char *copy = host->allocate(text.size + 1);
	if (copy == NULL)
		return NULL;
	if (text.size != 0)
		memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	return copy;
}

/* --- errors --------------------------------------------------------------------------------------------------------- */

static const struct {
	rd_kafka_resp_err_t code;
	flow_status status;
} statuses[] = {
	{ RD_KAFKA_RESP_ERR_NO_ERROR, FLOW_OK },
	{ RD_KAFKA_RESP_ERR__TIMED_OUT, FLOW_E_TIMEOUT },
	{ RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE, FLOW_E_TIMEOUT },
	{ RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, FLOW_E_TIMEOUT },
	{ RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, FLOW_E_TIMEOUT },
	{ RD_KAFKA_RESP_ERR__TRANSPORT, FLOW_E_UNAVAILABLE },
	{ RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, FLOW_E_UNAVAILABLE },
	{ RD_KAFKA_RESP_ERR__RESOLVE, FLOW_E_UNAVAILABLE },
	{ RD_KAFKA_RESP_ERR__WAIT_COORD, FLOW_E_UNAVAILABLE },
	{ RD_KAFKA_RESP_ERR__WAIT_CACHE, FLOW_E_UNAVAILABLE },
	{ RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, FLOW_E_UNAVAILABLE },
	{ RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, FLOW_E_UNAVAILABLE },
	{ RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, FLOW_E_UNAVAILABLE },
	{ RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, FLOW_E_UNAVAILABLE },
	{ RD_KAFKA_RESP_ERR_NOT_COORDINATOR, FLOW_E_UNAVAILABLE },
	{ RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, FLOW_E_UNAVAILABLE },
	{ RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, FLOW_E_UNAVAILABLE },
	{ RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, FLOW_E_NOT_FOUND },
	{ RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, FLOW_E_NOT_FOUND },
	{ RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, FLOW_E_NOT_FOUND },
	{ RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS, FLOW_E_EXISTS },
	{ RD_KAFKA_RESP_ERR__AUTHENTICATION, FLOW_E_DENIED },
	{ RD_KAFKA_RESP_ERR__SSL, FLOW_E_DENIED },
	{ RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, FLOW_E_DENIED },
	{ RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, FLOW_E_DENIED },
	{ RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, FLOW_E_DENIED },
	{ RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, FLOW_E_DENIED },
	{ RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, FLOW_E_DENIED },
	{ RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE, FLOW_E_POSITION_LOST },
	{ RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, FLOW_E_POSITION_LOST },
	{ RD_KAFKA_RESP_ERR__BAD_MSG, FLOW_E_CORRUPT },
	{ RD_KAFKA_RESP_ERR__BAD_COMPRESSION, FLOW_E_CORRUPT },
	{ RD_KAFKA_RESP_ERR_INVALID_MSG, FLOW_E_CORRUPT },
	{ RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, FLOW_E_LIMIT },
	{ RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, FLOW_E_LIMIT },
	{ RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, FLOW_E_RANGE },
	{ RD_KAFKA_RESP_ERR__FENCED, FLOW_E_FENCED },
	{ RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, FLOW_E_FENCED },
	{ RD_KAFKA_RESP_ERR_PRODUCER_FENCED, FLOW_E_FENCED },
	{ RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, FLOW_E_FENCED },
	{ RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, FLOW_E_UNSUPPORTED },
	{ RD_KAFKA_RESP_ERR_INVALID_CONFIG, FLOW_E_CONFIG },
	{ RD_KAFKA_RESP_ERR_INVALID_PARTITIONS, FLOW_E_CONFIG },
	{ RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR, FLOW_E_CONFIG },
	{ RD_KAFKA_RESP_ERR_INVALID_GROUP_ID, FLOW_E_CONFIG },
	{ RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, FLOW_E_CONFIG },
	{ RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL, FLOW_E_CONFIG },
};

flow_status
kafka_status(rd_kafka_resp_err_t code)
{
	for (size_t i = 0; i < FLOW_COUNT(statuses); i++)
		if (statuses[i].code == code)
			return statuses[i].status;
	return FLOW_E_FAILED;
}

static const char *
advice(flow_status status)
{
	switch (status) {
	case FLOW_E_UNAVAILABLE:
	case FLOW_E_TIMEOUT:
		return "; are the brokers of bootstrap_servers up, and can they be reached?";
	case FLOW_E_DENIED:
		return "; look at the option security, and at what the brokers allow";
	default:
		return "";
	}
}

const char *
kafka_scram_advice(const char *text)
{
	return rd_kafka_version() < 0x02060100 && strstr(text, "SCRAM") != NULL
			   ? ". (SCRAM with brokers of 3.8.1 and later needs librdkafka 2.6.1: earlier ones repeat their nonce, "
				 "which "
				 "those brokers refuse. A newer library can take its place: docs/guide/kafka-security.md. \"plain\" "
				 "with TLS "
				 "and \"oauthbearer\" work with all.)"
			   : "";
}

flow_status
kafka_failed(const flow_host *host, flow_error *error, rd_kafka_resp_err_t code, const char *format, ...)
{
	char what[KAFKA_ERROR_SIZE];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	flow_status status = kafka_status(code);
	return flow_fail(host, error, status == FLOW_OK ? FLOW_E_FAILED : status, "%s: %s%s", what, rd_kafka_err2str(code),
					 advice(status));
}

/* --- handles -------------------------------------------------------------------------------------------------------- */

void
kafka_owner_open(struct kafka_owner *owner, flow_system *system, const char *component)
{
	owner->system = system;
	owner->component = component;
	pthread_mutex_init(&owner->lock, NULL);
}

void
kafka_owner_close(struct kafka_owner *owner)
{
	pthread_mutex_destroy(&owner->lock);
}

/* Some texts of librdkafka end with a line end. */
static int
length_of(const char *text)
{
	size_t length = strlen(text);
	while (length != 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
		length--;
	return (int)length;
}

static void
on_log(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
	struct kafka_owner *owner = rd_kafka_opaque(client);
	if (atomic_load(&owner->closing))
		return; /* what goes wrong now is of no interest any more */
	/* What librdkafka calls an error is a connection that it will make again: nothing has failed yet. */
	uint32_t flow_level = level <= SYSLOG_WARNING ? FLOW_LOG_WARN
						  : level <= SYSLOG_INFO  ? FLOW_LOG_INFO
												  : FLOW_LOG_DEBUG;
	flow_say(owner->system->host, flow_level, owner->component, "%s: %.*s", facility, length_of(text), text);
}

static void
on_error(rd_kafka_t *client, int code, const char *reason, void *opaque)
{
	struct kafka_owner *owner = opaque;
	(void)client;
	pthread_mutex_lock(&owner->lock);
	/* That all are down follows from something: what it was says more. */
	if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || owner->code == RD_KAFKA_RESP_ERR_NO_ERROR) {
		owner->code = (rd_kafka_resp_err_t)code;
		snprintf(owner->text, sizeof(owner->text), "%.*s", length_of(reason), reason);
	}
	pthread_mutex_unlock(&owner->lock);
}

rd_kafka_conf_t *
kafka_client_conf(const flow_system *system, rd_kafka_type_t type)
{
	return rd_kafka_conf_dup(type == RD_KAFKA_CONSUMER ? system->consumer_conf : system->producer_conf);
}

flow_status
kafka_client_open(struct kafka_owner *owner, rd_kafka_type_t type, rd_kafka_conf_t *conf, rd_kafka_t **client,
				  flow_error *error)
{
	char text[KAFKA_ERROR_SIZE] = "";
	rd_kafka_conf_set_opaque(conf, owner);
	rd_kafka_conf_set_log_cb(conf, on_log);
	rd_kafka_conf_set_error_cb(conf, on_error);
	kafka_token_configure(owner->system, conf);
	*client = rd_kafka_new(type, conf, text, sizeof(text));
	if (*client != NULL) {
		kafka_token_start(owner->system, *client);
		return FLOW_OK;
	}
	rd_kafka_conf_destroy(conf); /* only taken on success */
	return flow_fail(owner->system->host, error, FLOW_E_CONFIG, "librdkafka: %s", text);
}
