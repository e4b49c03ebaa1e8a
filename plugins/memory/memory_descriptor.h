/*
 * memory_descriptor.h - descriptors of the system and the table `memory`, for applications in C (flow_sdk/descriptor.h).
 */
#ifndef MEMORY_DESCRIPTOR_H
#define MEMORY_DESCRIPTOR_H

#include "flow_sdk/descriptor.h"

typedef struct memory_system_descriptor {
	flow_descriptor *system;
} memory_system_descriptor;
typedef struct memory_input_descriptor {
	flow_descriptor *input;
} memory_input_descriptor;
typedef struct memory_output_descriptor {
	flow_descriptor *output;
} memory_output_descriptor;
typedef struct memory_table_descriptor {
	flow_descriptor *table;
} memory_table_descriptor;

#define memory_system(graph, name)                                                                                     \
	FLOW_NEW(memory_system_descriptor, flow_make_system(graph, name, "memory", FLOW_HERE))
#define memory_table(graph, name)                                                                                      \
	FLOW_NEW(memory_table_descriptor,                                                                                  \
			 flow_put_text(flow_make(graph, FLOW_DESCRIBE_TABLE, name, FLOW_HERE), "type", "memory", FLOW_HERE))

#define memory_input(of_system, id)                                                                                    \
	FLOW_NEW(memory_input_descriptor, flow_make_stream((of_system).system->graph, FLOW_DESCRIBE_INPUT, id,             \
													   (of_system).system->name, FLOW_HERE))
/* One more record that the input gives. */
#define memory_input_add_record(in, text) FLOW_SAME(in, flow_append_text((in).input, "records", text, FLOW_HERE))
#define memory_input_with_partitions(in, count) FLOW_SAME(in, flow_put_int((in).input, "partitions", count, FLOW_HERE))

#define memory_output(of_system, id)                                                                                   \
	FLOW_NEW(memory_output_descriptor, flow_make_stream((of_system).system->graph, FLOW_DESCRIBE_OUTPUT, id,           \
														(of_system).system->name, FLOW_HERE))
#define memory_output_with_partitions(out, count)                                                                      \
	FLOW_SAME(out, flow_put_int((out).output, "partitions", count, FLOW_HERE))
/* The most records that the topic holds. */
#define memory_output_with_capacity(out, records)                                                                      \
	FLOW_SAME(out, flow_put_int((out).output, "capacity", records, FLOW_HERE))

#endif
