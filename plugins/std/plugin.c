/* The plugin's root. */
#include "std.h"

static const flow_component *const components[] = {
	&where_component, &project_component,   &select_component,      &set_component,        &rename_component,
	&cast_component,  &aggregate_component, &write_table_component, &join_table_component, NULL,
};

FLOW_DEFINE_PLUGIN("std", "0.1.0", "Apache-2.0", components, NULL, NULL)
