/*
 * plugin/plugin_file.h - a plugin's file before it is loaded: may it be trusted, and what does its manifest say?
 *
 * A plugin runs with all rights of the process, so file and folder must belong to root or to the process's own user, and
 * nobody else may write them. The manifest is read without running anything of the file.
 *
 * Ownership: results live in the arena. Threads: [main].
 */
#ifndef PLUGIN_PLUGIN_FILE_H
#define PLUGIN_PLUGIN_FILE_H

#include "base/arena.h"
#include "plugin/registry.h"

/* Absolute path without symbolic links; NULL with an error: it is not there. */
const char *plugin_file_resolve(arena *a, const char *file, flow_error *error);

/* Owner and permissions of the file and its folder. FLOW_E_DENIED names which of them, and what to do. */
flow_status plugin_file_check_rights(const char *file, flow_error *error);

/* Fills id, version, license, abi, components and manifest of the entry from the file's manifest. On failure the entry keeps what
 * is known (at least file, id from the file's name). */
flow_status plugin_file_read_manifest(arena *a, plugin_entry *entry, flow_error *error);

#endif
