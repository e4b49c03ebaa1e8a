/* The plugin's root. */
#include "std.h"

static const flow_component *const components[] = {
	&where_component, &project_component,   &select_component,      &set_component,        &rename_component,
	&cast_component,  &aggregate_component, &write_table_component, &join_table_component, NULL,
};

static const flow_plugin plugin = {
	.struct_size = FLOW_SIZEOF(flow_plugin),
	.abi = FLOW_ABI,
	.id = "std",
	.version = "0.1.0",
	.license = "Apache-2.0",
	.components = components,
};

FLOW_EXPORT const flow_plugin *FLOW_PLUGIN_ENTRY(uint32_t host_abi);

const flow_plugin *
FLOW_PLUGIN_ENTRY(uint32_t host_abi)
{
	(void)host_abi;
	return &plugin;
}
