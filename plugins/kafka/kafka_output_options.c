/* Option table of outputs. */
#include "kafka.h"

#define OPTION(identifier, ...)                                                                                        \
	static const flow_option identifier = { .struct_size = FLOW_SIZEOF(flow_option), __VA_ARGS__ }

static const char *const partitioners[] = {
	"murmur2\tby the key, as Java's clients do; records without key go to any partition, some at a time",
	"crc32\tby the key, as clients on librdkafka do unless told otherwise; records without key to any partition",
	"fnv1a\tby the key, as clients on Sarama do; records without key to any partition",
	"random\tto any partition, whatever the key",
	"round_robin\tto each partition in turn, whatever the key",
	NULL
};
OPTION(output_partitioner, .type = FLOW_OPTION_ENUM, .name = "partitioner", .choices = partitioners,
	   .default_text = "murmur2",
	   .doc = "The partition of a record, unless the output's `partition` chooses it. Topics that are joined must be "
			  "partitioned "
			  "alike, whoever writes them.");
OPTION(output_create, .type = FLOW_OPTION_BOOL, .name = "create", .default_text = "false",
	   .doc = "Makes the topic if it is not there. Without it a missing topic is an error.");
OPTION(output_partitions, .type = FLOW_OPTION_INT, .name = "partitions", .minimum = "1", .condition = "create=true",
	   .doc = "Partitions of a topic that is made. Absent: as the brokers have it.");
OPTION(output_replication, .type = FLOW_OPTION_INT, .name = "replication", .minimum = "1", .maximum = "32767",
	   .condition = "create=true",
	   .doc = "Copies of each partition of a topic that is made. Absent: as the brokers have it.");
OPTION(output_config, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_ANY, .name = "config", .condition = "create=true",
	   .example = "{ cleanup = { policy = \"compact\"; }; }",
	   .doc = "Settings of a topic that is made; brokers check them.");
OPTION(
	output_producer, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_ANY, .name = "producer",
	.example = "{ linger = { ms = 50; }; }",
	.doc =
		"Properties of librdkafka for this output, over those of the system. Only with delivery = \"at_least_once\": "
		"outputs that commit by a transaction share a client.");
static const flow_option *const output_list[] = {
	&output_partitioner, &output_create, &output_partitions, &output_replication, &output_config, &output_producer, NULL
};
const flow_option_set kafka_output_options = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "output",
	.doc = "Outputs to topics. The topic is the stream's physical name.",
	.options = output_list,
};
