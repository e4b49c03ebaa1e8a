/* The rocksdb plugin: a store (keyed state, messaging store) and a local table, both over RocksDB's C interface. */
#include "flow_sdk/plugin.h"

#include "database.h"

static const flow_component *const components[] = { &store_component, &table_component, NULL };

FLOW_DEFINE_PLUGIN("rocksdb", "0.1.0", "Apache-2.0", components, NULL, NULL)
