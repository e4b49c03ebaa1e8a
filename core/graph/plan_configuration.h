/*
 * graph/plan_configuration.h - the final configuration of a plan: every key that somebody set, with its value and
 * place. Private to the room.
 */
#ifndef GRAPH_PLAN_CONFIGURATION_H
#define GRAPH_PLAN_CONFIGURATION_H

#include "graph/plan.h"

/* Called for each key, sorted: "streams.flights.bounded", the value as in a file (secrets masked), the setting. */
typedef void (*plan_configuration_visit)(void *context, const char *key, const char *value, const setting *s);

/* Defaults are left out. Returns 0: out of memory. */
int plan_configuration(const plan *p, plan_configuration_visit visit, void *context);

#endif
