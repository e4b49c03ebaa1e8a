/*
 * plugin/plugin_check.h - everything that can be said about one plugin file (`flowd plugin check FILE.so`).
 *
 * Unlike loading it does not stop at the first fault. Threads: [main].
 */
#ifndef PLUGIN_PLUGIN_CHECK_H
#define PLUGIN_PLUGIN_CHECK_H

#include "base/arena.h"
#include "options/problem.h"
#include "plugin/registry.h"

/* Adds what is wrong with the file to `list` (errors: the host refuses it; warnings: it works, but). The entry (in the arena) has what
 * its manifest says; the plugin is loaded, and its init and deinit run, as far as that is possible. NULL: out of memory. */
const plugin_entry *plugin_check(arena *a, const char *file, problems *list);

#endif
