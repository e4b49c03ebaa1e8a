/*
 * The parts of the plugin `union`: a system whose inputs are several inputs of other systems, read as one.
 */
#ifndef UNION_H
#define UNION_H

#include "flow/flow.h"
#include "flow/expander.h"
#include "flow_sdk/plugin.h"

#define UNION_MEMBERS_MAX 4096

flow_status union_expand(const flow_host *host, const flow_options *options, const flow_stream_request *request,
						 const flow_graph_ops *ops, flow_graph *graph, flow_descriptor **result, flow_error *error);

#endif
