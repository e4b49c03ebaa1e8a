/*
 * flow/expander.h - component kind `expander`: turns one logical input into a piece of graph over other inputs, once, at
 * planning time (source of the idea: SEP-14). Only what it describes emits configuration; the logical stream does not.
 */
#ifndef FLOW_EXPANDER_H
#define FLOW_EXPANDER_H

#include "flow/application.h"
#include "flow/component.h"
#include "flow/host.h"
#include "flow/system.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_expander_ops {
	uint32_t struct_size;
	uint32_t reserved;
	/* [main] Describes inputs and steps through `ops` and returns in *result what stands for the logical input. It carries
	 * on serde and properties itself. `options`: of the system; `request`: the logical stream. Must be deterministic. */
	flow_status (*expand)(const flow_host *host, const flow_options *options, const flow_stream_request *request,
	                      const flow_graph_ops *ops, flow_graph *graph, flow_descriptor **result, flow_error *error);
} flow_expander_ops;

#ifdef __cplusplus
}
#endif
#endif
