/*
 * file_descriptor.h - descriptors of the system `file`, for applications in C (flow_sdk/descriptor.h).
 */
#ifndef FILE_DESCRIPTOR_H
#define FILE_DESCRIPTOR_H

#include "flow_sdk/descriptor.h"

typedef struct file_system_descriptor {
	flow_descriptor *system;
} file_system_descriptor;
typedef struct file_input_descriptor {
	flow_descriptor *input;
} file_input_descriptor;
typedef struct file_output_descriptor {
	flow_descriptor *output;
} file_output_descriptor;

#define file_system(graph, name) FLOW_NEW(file_system_descriptor, flow_make_system(graph, name, "file", FLOW_HERE))

#define file_input(of_system, id)                                                                                      \
	FLOW_NEW(file_input_descriptor, flow_make_stream((of_system).system->graph, FLOW_DESCRIBE_INPUT, id,               \
													 (of_system).system->name, FLOW_HERE))
/* A file, or a pattern of files; relative paths start at the configuration's folder, without one at the current folder. */
#define file_input_with_path(in, path) FLOW_SAME(in, flow_put_text((in).input, "path", path, FLOW_HERE))
#define file_input_with_compression(in, form) FLOW_SAME(in, flow_put_text((in).input, "compression", form, FLOW_HERE))
/* Bytes in one read: "256KiB". */
#define file_input_with_chunk(in, size) FLOW_SAME(in, flow_put_text((in).input, "chunk", size, FLOW_HERE))

#define file_output(of_system, id)                                                                                     \
	FLOW_NEW(file_output_descriptor, flow_make_stream((of_system).system->graph, FLOW_DESCRIBE_OUTPUT, id,             \
													  (of_system).system->name, FLOW_HERE))
#define file_output_with_path(out, path) FLOW_SAME(out, flow_put_text((out).output, "path", path, FLOW_HERE))
#define file_output_with_compression(out, form)                                                                        \
	FLOW_SAME(out, flow_put_text((out).output, "compression", form, FLOW_HERE))
#define file_output_with_level(out, number) FLOW_SAME(out, flow_put_int((out).output, "level", number, FLOW_HERE))
#define file_output_with_make_folders(out, truth)                                                                      \
	FLOW_SAME(out, flow_put_bool((out).output, "make_folders", truth, FLOW_HERE))

#endif
