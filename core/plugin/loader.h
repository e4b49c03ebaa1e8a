/*
 * plugin/loader.h - loads one plugin: rights, ABI, dlopen, registration, digest, init; each with a refusal that names file, plugin
 * and reason.
 *
 * Ownership: texts live in the arena; a loaded object stays in the process for ever. Threads: [main].
 */
#ifndef PLUGIN_LOADER_H
#define PLUGIN_LOADER_H

#include "base/arena.h"
#include "plugin/registry.h"

/* Reads rights and manifest of entry->file and fills the entry; a failure is kept as entry->refused. FLOW_E_MEMORY only. */
flow_status loader_inspect(arena *a, plugin_entry *entry, flow_error *error);

/* Loads an inspected entry up to init, and sets entry->loaded. FLOW_E_PLUGIN: refused, the reason is in entry->refused too. */
flow_status loader_load(arena *a, plugin_entry *entry, flow_error *error);

/* The entry function's result without any check but the ABI: for `flowd plugin check`. NULL with a reason in the error. */
const flow_plugin *loader_open(const plugin_entry *entry, flow_error *error);

/* Do the manifest in the file and the tables say the same? */
flow_status loader_check_manifest(arena *a, const plugin_entry *entry, const flow_plugin *plugin, flow_error *error);

#endif
