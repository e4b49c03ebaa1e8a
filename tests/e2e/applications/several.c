/* A plugin with two applications: which of them to run, nobody says. */
#include "flow_sdk/descriptor.h"
#include "flow_sdk/plugin.h"

static flow_status
describe(const flow_host *host, const flow_options *options, const flow_graph_ops *ops, flow_graph *graph, flow_error *error)
{
	(void)host, (void)options, (void)ops, (void)graph, (void)error;
	return FLOW_OK;
}

static const flow_application_ops application_ops = { .struct_size = FLOW_SIZEOF(flow_application_ops), .describe = describe };
static const flow_component one = { .struct_size = FLOW_SIZEOF(flow_component),
	                                .kind = FLOW_APPLICATION,
	                                .id = "one",
	                                .doc = "The first.",
	                                .ops = &application_ops };
static const flow_component other = { .struct_size = FLOW_SIZEOF(flow_component),
	                                  .kind = FLOW_APPLICATION,
	                                  .id = "other",
	                                  .doc = "The second.",
	                                  .ops = &application_ops };
static const flow_component *const components[] = { &one, &other, NULL };
FLOW_DEFINE_PLUGIN("several", "1.0.0", "Apache-2.0", components, NULL, NULL)
