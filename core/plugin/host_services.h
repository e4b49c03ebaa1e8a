/*
 * plugin/host_services.h - the host's side of the table that plugins get (host_services, declared in plugin/registry.h).
 *
 * Threads: [any] unless marked.
 */
#ifndef PLUGIN_HOST_SERVICES_H
#define PLUGIN_HOST_SERVICES_H

#include <stdint.h>

#include "plugin/registry.h"

/* Bytes that plugins hold through flow_host.allocate, now and at most. */
int64_t host_services_memory(void);
int64_t host_services_memory_peak(void);

/* What flow_host.cancelled answers; async-signal-safe. */
void host_services_cancel(int cancelled);

#endif
