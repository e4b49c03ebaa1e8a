/*
 * union_descriptor.h - descriptors of the system `union`, for applications in C (flow_sdk/descriptor.h).
 */
#ifndef UNION_DESCRIPTOR_H
#define UNION_DESCRIPTOR_H

#include "flow_sdk/descriptor.h"

typedef struct union_system_descriptor {
	flow_descriptor *system;
} union_system_descriptor;
typedef struct union_input_descriptor {
	flow_descriptor *input;
} union_input_descriptor;

/* A union of streams of one other system whose names follow a pattern: "views-{0..3}". Unions of other members are described in
 * the configuration; union_input_from() names them. */
static inline flow_descriptor *
union_make_system(flow_graph *graph, const char *name, const char *system_name, const char *pattern, const char *place)
{
	flow_descriptor *made = flow_make_system(graph, name, "union", place);
	flow_put_text(made, "members.system", system_name, place);
	return flow_put_text(made, "members.physical_name", pattern, place);
}

#define union_system(graph, union_name, of_system, pattern)                                                            \
	FLOW_NEW(union_system_descriptor,                                                                                  \
			 union_make_system(graph, union_name, (of_system).system->name, pattern, FLOW_HERE))
/* A further property of the members: text, with ranges as in the pattern. */
#define union_system_with_member_text(of, property, text)                                                              \
	FLOW_SAME(of, flow_put_text((of).system, "members.properties." property, text, FLOW_HERE))

#define union_input(of_system, id)                                                                                     \
	FLOW_NEW(union_input_descriptor, flow_make_stream((of_system).system->graph, FLOW_DESCRIBE_INPUT, id,              \
													  (of_system).system->name, FLOW_HERE))
#define union_input_from(graph, id, system_name)                                                                       \
	FLOW_NEW(union_input_descriptor, flow_make_stream(graph, FLOW_DESCRIBE_INPUT, id, system_name, FLOW_HERE))

#endif
