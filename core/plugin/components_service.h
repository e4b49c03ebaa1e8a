/*
 * plugin/components_service.h - flow.components/1: plugins open each other's components by kind, id and options.
 *
 * The service looks in one registry, the one that was created last. Threads: [main].
 */
#ifndef PLUGIN_COMPONENTS_SERVICE_H
#define PLUGIN_COMPONENTS_SERVICE_H

#include "plugin/registry.h"

/* NULL: there is none any more. */
void components_service_use(registry *r);
/* The registry in use, or NULL. */
registry *components_service_registry(void);

extern const flow_components components_service;

#endif
