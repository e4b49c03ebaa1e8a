/* The plugin's root: the component `kafka`, a system. */
#include "kafka.h"

static const flow_option_set *const option_sets[] = { &kafka_system_options, &kafka_input_options,
													  &kafka_output_options, NULL };

static const flow_system_ops system_ops = {
	.struct_size = FLOW_SIZEOF(flow_system_ops),
	.open = kafka_open,
	.close = kafka_close,
	.describe = kafka_describe,
	.create_stream = kafka_create_stream,
	.delete_committed = kafka_delete_committed,
	.source_open = kafka_source_open,
	.source_partitions = kafka_source_partitions,
	.source_assign = kafka_source_assign,
	.source_revoke = kafka_source_revoke,
	.source_pause = kafka_source_pause,
	.source_read = kafka_source_read,
	.source_position = kafka_source_position,
	.source_committed = kafka_source_committed,
	.source_released = kafka_source_released,
	.source_remaining = kafka_source_remaining,
	.source_numbers = kafka_source_numbers,
	.source_close = kafka_source_close,
	.writer_open = kafka_writer_open,
	.write = kafka_writer_write,
	.flush = kafka_writer_flush,
	.prepare = kafka_writer_prepare,
	.writer_close = kafka_writer_close,
	.committer_open = kafka_committer_open,
	.commit = kafka_committer_commit,
	.abort = kafka_committer_abort,
	.last_marker = kafka_committer_last_marker,
	.committer_close = kafka_committer_close,
	.failed_row = kafka_writer_failed_row,
};

/* kafka://HOST:PORT/TOPIC */
static const char *const served[] = { "kafka", NULL };

static const flow_component system_component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SYSTEM,
	.flags = FLOW_SYSTEM_HAS_INPUTS | FLOW_SYSTEM_HAS_OUTPUTS | FLOW_SYSTEM_SHARED,
	.id = "kafka",
	.doc = "Topics of Apache Kafka.",
	.served = served,
	.option_sets = option_sets,
	.ops = &system_ops,
};
static const flow_component *const components[] = { &system_component, NULL };

FLOW_DEFINE_PLUGIN("kafka", "0.1.0", "Apache-2.0", components, NULL, NULL)
