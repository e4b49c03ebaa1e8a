/* The system: opened without a word to brokers, streams described. */
#include <stdio.h>

#include "kafka.h"

/* --- templates of configurations -------------------------------------------------------------------------------------- */

/* HOST, HOST:PORT, [ADDRESS]:PORT, each perhaps behind PROTOCOL://. librdkafka takes the port modulo 65536. */
static int
is_broker(const char *at, const char *end)
{
	const char *colon = NULL;
	for (const char *c = at; c < end; c++)
		if (*c == '/' || *c == ']') /* what is in front has colons of its own */
			colon = NULL;
		else if (*c == ':')
			colon = c;
	if (colon == NULL)
		return at != end;
	int64_t port = 0;
	for (const char *c = colon + 1; c < end && port <= 65535; c++)
		port = *c >= '0' && *c <= '9' ? port * 10 + (*c - '0') : 65536;
	return colon != at && port >= 1 && port <= 65535;
}

/* What stands between commas is a broker too. */
static int
are_brokers(flow_slice servers)
{
	const char *at = servers.data, *end = servers.data + servers.size;
	for (const char *c = at; c <= end; c++) {
		if (c != end && *c != ',')
			continue;
		while (at < c && *at == ' ')
			at++;
		if (!is_broker(at, c))
			return 0;
		at = c + 1;
	}
	return 1;
}

static flow_status
join_servers(const flow_host *host, const flow_options *options, rd_kafka_conf_t *conf, flow_error *error)
{
	const flow_option_value *list = flow_option_get(options, "bootstrap_servers");
	uint64_t size = 1;
	for (uint64_t i = 0; i < list->entry_count; i++)
		size += list->entries[i]->value->text.size + 1;
	char *text = host->allocate(size), *end = text;
	if (text == NULL)
		return kafka_no_memory(host, error);
	for (uint64_t i = 0; i < list->entry_count; i++) {
		flow_slice one = list->entries[i]->value->text;
		if (!are_brokers(one)) {
			host->release(text);
			host->errors->option(error, "bootstrap_servers");
			return flow_fail(host, error, FLOW_E_CONFIG,
							 "'%.*s' is no broker: HOST:PORT is needed, with a port of 1 to 65535", (int)one.size,
							 one.data);
		}
		if (i != 0)
			*end++ = ',';
		memcpy(end, one.data, one.size);
		end += one.size;
	}
	*end = '\0';
	flow_status status = end == text ? flow_fail(host, error, FLOW_E_CONFIG, "bootstrap_servers names no broker")
									 : kafka_property_set(host, conf, "bootstrap.servers", text, error);
	host->release(text);
	return status;
}

/* Properties of users first: flowd's own are not among them. */
static flow_status
fill_common(const flow_system *system, const flow_options *options, const char *properties, rd_kafka_conf_t *conf,
			flow_error *error)
{
	const flow_host *host = system->host;
	flow_slice client_id = flow_option_text(options, "client_id");
	flow_status status = kafka_properties_apply(host, flow_option_get(options, properties), conf, error);
	if (status != FLOW_OK) {
		host->errors->option(error, properties);
		return status;
	}
	status = join_servers(host, options, conf, error);
	if (status == FLOW_OK)
		status = kafka_property_set(host, conf, "client.id", client_id.data, error);
	if (status == FLOW_OK)
		status = kafka_security_apply(host, options, conf, error);
	if (status == FLOW_OK)
		status = kafka_property_set_number(host, conf, "topic.metadata.refresh.interval.ms",
										   system->discovery_interval / 1000, error);
	return status;
}

static flow_status
fill_producer(const flow_system *system, const flow_options *options, flow_error *error)
{
	rd_kafka_conf_t *conf = system->producer_conf;
	flow_slice compression = flow_option_text(options, "compression");
	flow_status status = kafka_property_set(system->host, conf, "linger.ms", KAFKA_LINGER, error);
	if (status == FLOW_OK)
		status = fill_common(system, options, "producer", conf, error);
	if (status == FLOW_OK)
		status = kafka_property_set(system->host, conf, "compression.type", compression.data, error);
	if (status == FLOW_OK)
		status = kafka_property_set(system->host, conf, "enable.idempotence",
									flow_option_bool(options, "idempotence", 1) ? "true" : "false", error);
	return status;
}

static flow_status
fill_consumer(const flow_system *system, const flow_options *options, flow_error *error)
{
	static const char *const fixed[][2] = {
		{ "enable.auto.commit", "false" },
		{ "enable.auto.offset.store", "false" },
		{ "auto.offset.reset", "error" }, /* never a silent jump */
		{ "enable.partition.eof", "true" },
	};
	flow_status status = fill_common(system, options, "consumer", system->consumer_conf, error);
	for (size_t i = 0; i < FLOW_COUNT(fixed) && status == FLOW_OK; i++)
		status = kafka_property_set(system->host, system->consumer_conf, fixed[i][0], fixed[i][1], error);
	return status;
}

/* --- open, close -------------------------------------------------------------------------------------------------------- */

void
kafka_close(flow_system *system)
{
	const flow_host *host = system->host;
	kafka_source_leave_all(system);
	kafka_client_await_left(system);
	kafka_watch_stop(system);
	if (system->client != NULL)
		rd_kafka_destroy(system->client);
	if (system->consumer_conf != NULL)
		rd_kafka_conf_destroy(system->consumer_conf);
	if (system->producer_conf != NULL)
		rd_kafka_conf_destroy(system->producer_conf);
	kafka_owner_close(&system->owner);
	pthread_mutex_destroy(&system->connecting);
	pthread_mutex_destroy(&system->lock);
	host->release(system->token_file);
	host->release(system->token_principal);
	host->release(system->name);
	host->release(system);
}

flow_status
kafka_open(const flow_host *host, const flow_options *options, flow_system **result, flow_error *error)
{
	flow_system *system = flow_new(host, sizeof(*system));
	if (system == NULL)
		return kafka_no_memory(host, error);
	system->host = host;
	pthread_mutex_init(&system->lock, NULL);
	pthread_mutex_init(&system->connecting, NULL);
	system->name = kafka_copy(host, options->name);
	kafka_owner_open(&system->owner, system, system->name);
	system->consumer_conf = rd_kafka_conf_new();
	system->producer_conf = rd_kafka_conf_new();
	system->request_timeout = (int)(flow_option_int(options, "request_timeout", 0) / 1000);
	system->discovery_interval = flow_option_int(options, "discovery_interval", 0);
	system->fetch_threshold = (uint64_t)flow_option_int(options, "fetch_threshold", 0);
	system->fetch_threshold_bytes = (uint64_t)flow_option_int(options, "fetch_threshold_bytes", 0);
	system->send_threshold_bytes = (uint64_t)flow_option_int(options, "send_threshold_bytes", 0);
	system->transaction_timeout = flow_option_int(options, "transaction_timeout", 0);
	system->record_bytes_least = INT64_MAX;
	flow_status status = system->name == NULL ? kafka_no_memory(host, error) : FLOW_OK;
	if (status == FLOW_OK)
		status = kafka_token_open(system, options, error);
	if (status == FLOW_OK)
		status = fill_consumer(system, options, error);
	if (status == FLOW_OK)
		status = fill_producer(system, options, error);
	if (status == FLOW_OK)
		flow_say(host, FLOW_LOG_DEBUG, system->name, "librdkafka %s", rd_kafka_version_str());
	if (status != FLOW_OK)
		kafka_close(system);
	else
		*result = system;
	return status;
}

/* --- streams ------------------------------------------------------------------------------------------------------------ */

flow_status
kafka_describe(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
			   flow_error *error)
{
	return request->direction == FLOW_DIRECTION_INPUT ? kafka_describe_input(system, request, description, error)
													  : kafka_describe_output(system, request, description, error);
}
