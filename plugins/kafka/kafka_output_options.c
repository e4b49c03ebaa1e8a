/* Option table of outputs. */
#include "kafka.h"

#define OPTION(identifier, ...)                                                                                        \
	static const flow_option identifier = { .struct_size = FLOW_SIZEOF(flow_option), __VA_ARGS__ }

OPTION(output_producer, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_ANY, .name = "producer",
	   .example = "{ linger = { ms = 50; }; }",
	   .doc = "Properties of librdkafka for this output, over those of the system.");
static const flow_option *const output_list[] = { &output_producer, NULL };
const flow_option_set kafka_output_options = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "output",
	.doc = "Outputs to topics. The topic is the stream's physical name.",
	.options = output_list,
};
