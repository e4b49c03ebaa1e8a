#include "memory.h"
#include "topic.h"

static const flow_component *const components[] = { &table_component, &system_component, NULL };

static const flow_plugin plugin = {
	.struct_size = FLOW_SIZEOF(flow_plugin),
	.abi = FLOW_ABI,
	.id = "memory",
	.version = "0.1.0",
	.license = "Apache-2.0",
	.components = components,
	.deinit = topics_clear,
};

FLOW_EXPORT const flow_plugin *FLOW_PLUGIN_ENTRY(uint32_t host_abi);

FLOW_EXPORT const flow_plugin *
FLOW_PLUGIN_ENTRY(uint32_t host_abi)
{
	(void)host_abi;
	return &plugin;
}
