/*
 * graph/plan_json.h - a plan as JSON: for people and tools, and in two smaller forms for its ids. Private to the room.
 */
#ifndef GRAPH_PLAN_JSON_H
#define GRAPH_PLAN_JSON_H

#include <jansson.h>

#include "graph/plan.h"

#define PLAN_JSON_ALL 1      /* everything */
#define PLAN_JSON_IDENTITY 2 /* what the job does: no places, stages, tasks */
#define PLAN_JSON_STATE                                                                                                \
	3 /* what a checkpoint depends on: names, types and keys of stateful operators; names of inputs */

/* NULL: out of memory. */
json_t *plan_json(const plan *p, int form);

#endif
