/* The partition of a record: as Java's clients choose it, as librdkafka does, or by turns. */
#include "kafka_output.h"

/* [any] thread of the client. It may be called several times for a record, so the turn is the record's own. A partition without a
 * leader is waited for, as it is for a key: a client that has just met a topic knows one leader before the others. */
static int32_t
by_turns(const rd_kafka_topic_t *topic, const void *key, size_t key_size, int32_t count, void *topic_opaque,
		 void *record_opaque)
{
	const struct kafka_owner *owner = topic_opaque;
	(void)topic;
	(void)key;
	(void)key_size;
	if (atomic_load(&owner->closing))
		return 0; /* it is not sent any more */
	return (int32_t)(kafka_slot_turn(owner->context, record_opaque) % (uint64_t)count);
}

flow_status
kafka_partitioner_apply(flow_writer *writer, const flow_options *options, flow_error *error)
{
	static const char *const of_librdkafka[][2] = {
		{ "murmur2", "murmur2_random" }, /* keys as Java has it; records without key anywhere, in runs */
		{ "crc32", "consistent_random" },
		{ "fnv1a", "fnv1a_random" },
		{ "random", "random" },
	};
	flow_slice name = flow_option_text(options, "partitioner");
	char text[KAFKA_ERROR_SIZE];
	if (flow_slice_is(name, "round_robin"))
		rd_kafka_topic_conf_set_partitioner_cb(writer->topic_conf, by_turns);
	for (size_t i = 0; i < FLOW_COUNT(of_librdkafka); i++)
		if (flow_slice_is(name, of_librdkafka[i][0]) &&
			rd_kafka_topic_conf_set(writer->topic_conf, "partitioner", of_librdkafka[i][1], text, sizeof(text)) !=
				RD_KAFKA_CONF_OK)
			return flow_fail(writer->host, error, FLOW_E_CONFIG, "librdkafka: %s", text);
	return FLOW_OK;
}
