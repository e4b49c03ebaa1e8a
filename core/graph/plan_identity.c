/* The plan's id (what the job does), and the ids under which state is kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/schema.h"
#include "graph/plan_json.h"
#include "graph/planner.h"

static void
hash_json(planner *p, json_t *json, char id[33])
{
	char *text = json == NULL ? NULL : json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
	json_decref(json);
	if (text == NULL) {
		p->failed = 1;
		return;
	}
	XXH128_hash_t hash = XXH3_128bits(text, strlen(text));
	free(text);
	snprintf(id, 33, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
}

static uint32_t
state_count(const flow_function_plan *function)
{
	uint32_t count = 0;
	while (function->states != NULL && function->states[count] != NULL)
		count++;
	return count;
}

static int
is_stateful(const plan_operator *o)
{
	return o->kind == OPERATOR_FUNCTION && (state_count(&o->function) != 0 || o->function.uses_timers != 0);
}

static int
id_is_taken(const plan *pl, uint32_t id)
{
	for (uint32_t i = 0; i < pl->operator_count; i++)
		if (pl->operators[i].state_id == id)
			return 1;
	return 0;
}

/* The name decides: 24 bits of its hash, and room for 256 states. Two names with one hash: the later one takes the
 * next. */
static void
give_state_ids(planner *p)
{
	plan *pl = p->plan;
	for (uint32_t i = 0; i < pl->operator_count; i++) {
		plan_operator *o = &pl->operators[i];
		if (!is_stateful(o))
			continue;
		if (state_count(&o->function) > 250)
			problem_at(p->problems, o->place, "'%s' declares more than 250 states", o->component->id);
		uint32_t id = (uint32_t)XXH3_64bits(o->name, strlen(o->name)) << 8;
		while (id == (PLAN_NONE & ~255u) || id_is_taken(pl, id))
			id += 256;
		o->state_id = id;
		pl->has_state = 1;
	}
}

void
plan_identify(planner *p)
{
	give_state_ids(p);
	hash_json(p, plan_json(p->plan, PLAN_JSON_IDENTITY), p->plan->id);
	hash_json(p, plan_json(p->plan, PLAN_JSON_STATE), p->plan->state_id);
}
