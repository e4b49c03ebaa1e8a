/*
 * plugin/registration.h - are a loaded plugin's tables well formed? Before anything of it is called.
 *
 * Collects everything that is wrong as problems (file = the plugin's file, path = what is wrong with it). Threads: [main].
 */
#ifndef PLUGIN_REGISTRATION_H
#define PLUGIN_REGISTRATION_H

#include "flow/plugin.h"
#include "options/problem.h"

/* `file` must live as long as the list. The plugin's own members must be readable (its ABI is this host's). */
void registration_check(const flow_plugin *plugin, const char *file, problems *list);

/* [a-z][a-z0-9_]*, at most 64 characters. */
int registration_is_id(const char *id);

#endif
