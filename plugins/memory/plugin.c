#include "flow_sdk/plugin.h"

#include "memory.h"
#include "topic.h"

static const flow_component *const components[] = { &table_component, &system_component, NULL };

FLOW_DEFINE_PLUGIN("memory", "0.1.0", "Apache-2.0", components, NULL, topics_clear)
