/* Properties that are passed through to librdkafka: it checks names and values; those that flowd sets itself are refused. */
#include <stdio.h>
#include <string.h>

#include "kafka.h"

/* A property of flowd's own, and what to use instead. A name that ends in a dot stands for all that begin like it. */
struct owned {
	const char *name;
	const char *instead;
};

static const struct owned owned_properties[] = {
	{ "bootstrap.servers", "the option bootstrap_servers of the system" },
	{ "metadata.broker.list", "the option bootstrap_servers of the system" },
	{ "client.id", "the option client_id of the system" },
	{ "group.id", "the option group of the input" },
	{ "enable.auto.commit", "checkpoints, which commit what was used" },
	{ "auto.commit.interval.ms", "the job's checkpoint_interval" },
	{ "enable.auto.offset.store", "checkpoints, which commit what was used" },
	{ "auto.offset.reset", "the options offset_default and offset_reset of the input" },
	{ "isolation.level", "the option isolation of the input" },
	{ "partition.assignment.strategy", "the option rebalance of the input" },
	{ "enable.partition.eof", "the property bounded of the input" },
	{ "queued.min.messages", "the option fetch_threshold of the system" },
	{ "queued.max.messages.kbytes", "the option fetch_threshold_bytes of the system" },
	{ "topic.metadata.refresh.interval.ms", "the option discovery_interval of the system" },
	{ "transactional.id", "the option delivery of the output" },
	{ "enable.idempotence", "the option idempotence of the system" },
	{ "compression.codec", "the option compression of the system" },
	{ "compression.type", "the option compression of the system" },
	{ "partitioner", "the option partitioner of the output" },
	{ "allow.auto.create.topics", "the option create of the output" },
	{ "api.version.request", "nothing: brokers are asked what they can" },
	{ "api.version.fallback.ms", "nothing: brokers are asked what they can" },
	{ "broker.version.fallback", "nothing: brokers are asked what they can" },
	{ "group.protocol", "nothing: this version of the library has one" },
	{ "security.protocol", "the option security of the system" },
	{ "sasl.mechanism", "the option security of the system" },
	{ "sasl.mechanisms", "the option security of the system" },
	{ "sasl.username", "the option security of the system" },
	{ "sasl.password", "the option security of the system" },
	{ "sasl.oauthbearer.client.secret", "the option security of the system" },
	{ "ssl.key.password", "the option security of the system" },
	{ "ssl.key.pem", "the option security of the system" },
	{ "ssl.keystore.password", "the option security of the system" },
	{ "plugin.library.paths", "nothing: flowd loads no libraries into the client" },
	{ "statistics.interval.ms", "nothing: flowd has metrics of its own" },
	{ "log_level", "flowd's --log-level" },
	{ "log.queue", "flowd's --log-level" },
	{ "test.mock.num.brokers", "nothing: there is no mock in flowd" },
};

static const char *
owned_instead(flow_slice name)
{
	for (size_t i = 0; i < FLOW_COUNT(owned_properties); i++)
		if (flow_slice_is(name, owned_properties[i].name))
			return owned_properties[i].instead;
	return NULL;
}

const char *
kafka_property_text(const flow_option_value *value, char room[static KAFKA_NUMBER_ROOM])
{
	switch (value->type) {
	case FLOW_OPTION_INT:
		room[flow_print_int64(value->integer, room)] = '\0';
		return room;
	case FLOW_OPTION_BOOL:
		return value->integer != 0 ? "true" : "false";
	case FLOW_OPTION_FLOAT:
		room[flow_print_float64(value->number, room)] = '\0'; /* as the broker reads it, whatever the locale */
		return room;
	default:
		return value->text.data == NULL ? "" : value->text.data;
	}
}

/* Problems of several properties, one after the other. */
struct complaint {
	char text[4 * KAFKA_ERROR_SIZE];
	size_t size;
};

static void __attribute__((format(printf, 3, 4)))
complain(struct complaint *all, const flow_option_entry *entry, const char *format, ...)
{
	char one[KAFKA_ERROR_SIZE];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(one, sizeof(one), format, arguments);
	va_end(arguments);
	flow_slice place = entry->value->place;
	int size =
		snprintf(all->text + all->size, sizeof(all->text) - all->size, "%s%.*s: property '%.*s': %s",
				 all->size == 0 ? "" : "; ", (int)place.size, place.data, (int)entry->name.size, entry->name.data, one);
	if (size > 0)
		all->size += (size_t)size < sizeof(all->text) - all->size ? (size_t)size : sizeof(all->text) - all->size - 1;
}

/* librdkafka knows consumers' and producers' properties alike, and only warns where one is for the other. */
static void
apply(const flow_option_entry *entry, rd_kafka_conf_t *conf, struct complaint *all)
{
	char name[256], room[KAFKA_NUMBER_ROOM], text[KAFKA_ERROR_SIZE];
	const char *instead = owned_instead(entry->name);
	if (instead != NULL) {
		complain(all, entry, "is set by flowd; use %s", instead);
		return;
	}
	snprintf(name, sizeof(name), "%.*s", (int)entry->name.size, entry->name.data);
	rd_kafka_conf_res_t set =
		rd_kafka_conf_set(conf, name, kafka_property_text(entry->value, room), text, sizeof(text));
	if (set == RD_KAFKA_CONF_UNKNOWN)
		complain(all, entry, "librdkafka %s has no such property", rd_kafka_version_str());
	else if (set != RD_KAFKA_CONF_OK)
		complain(all, entry, "%s", text);
}

flow_status
kafka_properties_apply(const flow_host *host, const flow_option_value *map, rd_kafka_conf_t *conf, flow_error *error)
{
	struct complaint all = { .size = 0 };
	for (uint64_t i = 0; map != NULL && i < map->entry_count; i++)
		apply(map->entries[i], conf, &all);
	return all.size == 0 ? FLOW_OK : flow_fail(host, error, FLOW_E_CONFIG, "%s", all.text);
}

flow_status
kafka_property_set(const flow_host *host, rd_kafka_conf_t *conf, const char *name, const char *value, flow_error *error)
{
	char text[KAFKA_ERROR_SIZE];
	if (rd_kafka_conf_set(conf, name, value, text, sizeof(text)) == RD_KAFKA_CONF_OK)
		return FLOW_OK;
	return flow_fail(host, error, FLOW_E_CONFIG, "librdkafka: %s", text);
}

flow_status
kafka_property_set_number(const flow_host *host, rd_kafka_conf_t *conf, const char *name, int64_t value,
						  flow_error *error)
{
	char number[32];
	snprintf(number, sizeof(number), "%lld", (long long)value);
	return kafka_property_set(host, conf, name, number, error);
}
