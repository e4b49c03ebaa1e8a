/*
 * plugin/registry.h - plugins: found by their manifests, loaded when something of them is used.
 *
 * Search path: folders of --plugin-dir, then FLOWD_PLUGIN_PATH (':'), then the folder of the installation ("../lib/flowd/plugins" and
 * "../plugins" beside the executable). The manifest is read without dlopen. Of two plugins with one id the first on the path
 * wins, the other is a warning. Loading checks owner and permissions, ABI, the manifest's digest against the tables, and
 * registration; then RTLD_NOW | RTLD_LOCAL; never dlclose.
 *
 * Ownership: everything belongs to the registry. Threads: [main].
 */
#ifndef PLUGIN_REGISTRY_H
#define PLUGIN_REGISTRY_H

#include <stdio.h>

#include "base/arena.h"
#include "flow/plugin.h"

typedef struct registry registry;

typedef struct manifest_component {
	uint32_t kind;
	uint32_t flags;
	const char *id;
	const char *summary;
	const char *const *served; /* flow_component.served; NULL-terminated, never NULL */
} manifest_component;

typedef struct plugin_entry {
	const char *file;
	const char *id;
	const char *version;
	const char *license;
	uint32_t abi;
	const manifest_component *components;
	size_t component_count;
	const char *refused;       /* why it cannot be used, or NULL */
	const char *manifest;      /* the JSON text */
	const flow_plugin *loaded; /* NULL: not loaded (yet) */
} plugin_entry;

/* `directories` is NULL-terminated, may be NULL. */
registry *registry_create(const char *const *directories, flow_error *error);
void registry_destroy(registry *r); /* deinit of all plugins, in reverse order */

size_t registry_count(const registry *r);
const plugin_entry *registry_entry(const registry *r, size_t index);
const plugin_entry *registry_find_plugin(const registry *r, const char *id);

/* Loads (if needed) the plugin that has the component. FLOW_E_NOT_FOUND: nobody has it (the message names the nearest id);
 * FLOW_E_PLUGIN: it is there but refused (file, plugin, reason). */
flow_status registry_component(registry *r, uint32_t kind, const char *id, const flow_component **component,
							   flow_error *error);
/* Ids of all components of a kind, from the manifests; sorted. Fills up to `capacity`, returns how many there are. */
size_t registry_ids(const registry *r, uint32_t kind, const char **ids, size_t capacity);
/* The component of a kind that has the word among what it serves (flow_component.served; manifests only). *options: what stands behind
 * the first tab, "a=1\tb=2", or NULL. Of several the first by plugin. NULL: nobody. */
const manifest_component *registry_serving(const registry *r, uint32_t kind, const char *word, const char **options);
/* All words that components of a kind serve, as registry_ids does; sorted, without what follows tabs. They live in `a`. */
size_t registry_served(const registry *r, uint32_t kind, arena *a, const char **words, size_t capacity);
/* Loads one file that may not be on the path (an application plugin, `flowd plugin check FILE.so`). */
flow_status registry_load_file(registry *r, const char *file, const plugin_entry **entry, flow_error *error);
/* Loads all plugins that are not refused (`flowd help`, reference documents). */
void registry_load_all(registry *r);

/* "system", "serde", ... and back (0: no such kind). */
const char *component_kind_name(uint32_t kind);
uint32_t component_kind_of_name(const char *name);

/* The table that plugins get (plugin/host_services.c); usable before any registry exists. Services of higher rooms are added by
 * these rooms at start: id and table. */
extern const flow_host host_services;
void host_services_add(const char *id, const void *service);

#endif
