/*
 * flow/plugin.h - the root of a plugin: the one exported function and what it returns.
 *
 * A plugin is one .so built with hidden visibility and -Wl,-z,defs that exports FLOW_PLUGIN_ENTRY and links nothing
 * of the host. The host loads it RTLD_NOW | RTLD_LOCAL and never unloads it while it runs. flowd_add_plugin() of the
 * SDK's CMake package sets all this up and stores the manifest (JSON in the ELF section ".flowd.manifest"), from which
 * the host lists the plugin without loading it.
 *
 *     static const flow_plugin plugin = { FLOW_SIZEOF(flow_plugin), FLOW_ABI, "hello", "1.0.0", "Apache-2.0",
 *                                         components, NULL, NULL, 0 };
 *     FLOW_EXPORT const flow_plugin *FLOW_PLUGIN_ENTRY(uint32_t host_abi) { (void)host_abi; return &plugin; }
 */
#ifndef FLOW_PLUGIN_H
#define FLOW_PLUGIN_H

#include "flow/component.h"
#include "flow/host.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_plugin {
	uint32_t struct_size;
	uint32_t abi; /* FLOW_ABI that the plugin was built with */
	const char *id;      /* [a-z][a-z0-9_]*, unique among the plugins of a host */
	const char *version; /* of the plugin: semantic version */
	const char *license; /* SPDX id */
	const flow_component *const *components; /* NULL-terminated */
	/* [main] Once after loading, before anything is opened; may be NULL. Keep `host`. A failure refuses the plugin. */
	flow_status (*init)(const flow_host *host, flow_error *error);
	/* [main] Once before the process ends, if init succeeded and nothing is open; may be NULL. */
	void (*deinit)(void);
	uint64_t reserved;
} flow_plugin;

typedef const flow_plugin *(*flow_plugin_entry)(uint32_t host_abi);

#ifdef __cplusplus
}
#endif
#endif
