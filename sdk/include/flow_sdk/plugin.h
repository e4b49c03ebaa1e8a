/*
 * flow_sdk/plugin.h - small conveniences over the ABI for plugin authors: errors and log lines with printf arguments,
 * memory, the entry function.
 */
#ifndef FLOW_SDK_PLUGIN_H
#define FLOW_SDK_PLUGIN_H

#include <stdarg.h>

#include "flow/flow.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills the error and returns the status: `return flow_fail(host, error, FLOW_E_IO, "%s: cannot read: %s", path, strerror(e));` */
static inline flow_status __attribute__((format(printf, 4, 5)))
flow_fail(const flow_host *host, flow_error *error, flow_status status, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	host->errors->set(error, status, format, arguments);
	va_end(arguments);
	return status;
}

static inline void __attribute__((format(printf, 4, 5)))
flow_say(const flow_host *host, uint32_t level, const char *component, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	host->log(level, component, format, arguments);
	va_end(arguments);
}

/* A zeroed struct from the host's memory; NULL: out of memory. Give it back with host->release. */
static inline void *
flow_new(const flow_host *host, uint64_t size)
{
	void *memory = host->allocate(size);
	if (memory != NULL)
		memset(memory, 0, size);
	return memory;
}

/* The plugin's root and the one function that it exports, once in a plugin. `components` is NULL-terminated; `init` and `deinit` may
 * be NULL. */
#define FLOW_DEFINE_PLUGIN(id, version, license, components, init, deinit)                                             \
	static const flow_plugin flow_plugin_root = {                                                                      \
		FLOW_SIZEOF(flow_plugin), FLOW_ABI, id, version, license, components, init, deinit, 0                          \
	};                                                                                                                 \
	FLOW_EXPORT const flow_plugin *FLOW_PLUGIN_ENTRY(uint32_t host_abi);                                               \
	FLOW_EXPORT const flow_plugin *FLOW_PLUGIN_ENTRY(uint32_t host_abi)                                                \
	{                                                                                                                  \
		(void)host_abi;                                                                                                \
		return &flow_plugin_root;                                                                                      \
	}

#ifdef __cplusplus
}
#endif
#endif
