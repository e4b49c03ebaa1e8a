/*
 * plugin/component_options.h - options of a component from "name=value" texts (flow.components/1, tests).
 *
 * Ownership: results live in the arena. Threads: [main].
 */
#ifndef PLUGIN_COMPONENT_OPTIONS_H
#define PLUGIN_COMPONENT_OPTIONS_H

#include "base/arena.h"
#include "flow/component.h"
#include "options/problem.h"

/* Options of one scope. `assignments` is NULL-terminated, or NULL: "directory=/tmp/x", "cache=64MiB", "window.tumbling=1h"; values
 * in configuration notation, a bare word is a string. `name` is what is opened, for messages. Everything wrong is added to
 * `list`; NULL: out of memory. */
const flow_options *component_options(arena *a, const flow_component *component, const char *scope, const char *name,
									  const char *const *assignments, problems *list);

#endif
