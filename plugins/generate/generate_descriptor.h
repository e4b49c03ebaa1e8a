/*
 * generate_descriptor.h - descriptors of the system `generate`, for applications in C (flow_sdk/descriptor.h).
 */
#ifndef GENERATE_DESCRIPTOR_H
#define GENERATE_DESCRIPTOR_H

#include "flow_sdk/descriptor.h"

typedef struct generate_system_descriptor {
	flow_descriptor *system;
} generate_system_descriptor;
typedef struct generate_input_descriptor {
	flow_descriptor *input;
} generate_input_descriptor;

#define generate_system(graph, name)                                                                                   \
	FLOW_NEW(generate_system_descriptor, flow_make_system(graph, name, "generate", FLOW_HERE))

#define generate_input(of_system, id)                                                                                  \
	FLOW_NEW(generate_input_descriptor, flow_make_stream((of_system).system->graph, FLOW_DESCRIBE_INPUT, id,           \
														 (of_system).system->name, FLOW_HERE))
#define generate_input_with_count(in, records) FLOW_SAME(in, flow_put_int((in).input, "count", records, FLOW_HERE))
/* Records a second. */
#define generate_input_with_rate(in, number) FLOW_SAME(in, flow_put_int((in).input, "rate", number, FLOW_HERE))
#define generate_input_with_seed(in, number) FLOW_SAME(in, flow_put_int((in).input, "seed", number, FLOW_HERE))
#define generate_input_with_partitions(in, count)                                                                      \
	FLOW_SAME(in, flow_put_int((in).input, "partitions", count, FLOW_HERE))
/* Event time of the first record (RFC 3339), and from each to the next ("10ms"). */
#define generate_input_with_start(in, time) FLOW_SAME(in, flow_put_text((in).input, "start", time, FLOW_HERE))
#define generate_input_with_step(in, duration) FLOW_SAME(in, flow_put_text((in).input, "step", duration, FLOW_HERE))
/* One more field: its name, and what fills it, as in the option `fields`. */
#define generate_input_with_field(in, name, content)                                                                   \
	FLOW_SAME(in, flow_put_text((in).input, "fields." name, content, FLOW_HERE))

#endif
