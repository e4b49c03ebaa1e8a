/* Cutting the flow into stages: what runs in one task by direct calls, and where records change tasks. */
#include <string.h>

#include "graph/planner.h"

struct cutting {
	planner *p;
	plan *plan;
	uint32_t *edge_into; /* by operator: its edge, PLAN_NONE: none or several */
};

static uint32_t
minimum(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t
source_tasks(const plan *pl, const plan_operator *o)
{
	int32_t partitions = pl->streams[o->stream].description.partition_count;
	return partitions < 1 ? 1 : minimum((uint32_t)partitions, pl->parallelism);
}

static uint32_t
writer_limit(const plan *pl, const plan_operator *o)
{
	if (o->kind != OPERATOR_SINK)
		return UINT32_MAX;
	uint32_t limit = pl->streams[o->stream].description.max_writers;
	return limit == 0 ? UINT32_MAX : limit;
}

static plan_stage *
open_stage(struct cutting *c, plan_operator *o, uint32_t tasks)
{
	plan_stage *stage = &c->plan->stages[c->plan->stage_count];
	*stage = (plan_stage){ .index = c->plan->stage_count++, .head = o->index, .task_count = tasks };
	o->stage = stage->index;
	return stage;
}

static uint32_t
tasks_behind(const plan *pl, uint32_t partitioning, uint32_t tasks_before)
{
	switch (partitioning) {
	case EDGE_FORWARD:
		return tasks_before;
	case EDGE_GLOBAL:
		return 1;
	default:
		return pl->parallelism;
	}
}

/* Fewer writers than tasks: the edge into the sink becomes an exchange that keeps records of one key together. */
static uint32_t
narrowed(uint32_t partitioning, uint32_t kind, uint32_t tasks)
{
	if (tasks == 1)
		return EDGE_GLOBAL;
	return partitioning == EDGE_KEY || kind == FLOW_STREAM_KEYED ? EDGE_KEY : EDGE_SHUFFLE;
}

/* A function that may block gets tasks, and so a thread, of its own. */
static int
may_block(const plan_operator *o)
{
	return o->kind == OPERATOR_FUNCTION && o->function.blocks != 0;
}

static void
place_behind(struct cutting *c, plan_operator *o, plan_edge *edge)
{
	plan *pl = c->plan;
	plan_operator *before = &pl->operators[edge->from];
	uint32_t tasks_before = pl->stages[before->stage].task_count;
	uint32_t tasks = tasks_behind(pl, edge->partitioning, tasks_before), limit = writer_limit(pl, o);
	if (tasks > limit) {
		tasks = limit;
		edge->partitioning = narrowed(edge->partitioning, before->stream_kind[edge->output], tasks);
	}
	int forward = edge->partitioning == EDGE_FORWARD;
	int one_to_one = tasks == 1 && tasks_before == 1;
	if ((forward || one_to_one) && !may_block(o)) {
		o->stage = before->stage;
		o->chain_parent = before->index;
		return;
	}
	edge->exchange = 1;
	uint32_t keyed_before = pl->stages[before->stage].keyed;
	open_stage(c, o, tasks)->keyed = edge->partitioning == EDGE_KEY || (forward && keyed_before);
}

/* Several steps write one output: its writers are tasks of their own. */
static void
place_shared_sink(struct cutting *c, plan_operator *o)
{
	plan *pl = c->plan;
	uint32_t tasks = minimum(pl->parallelism, writer_limit(pl, o));
	int keyed = 1;
	for (uint32_t i = 0; i < pl->edge_count; i++) {
		plan_edge *edge = &pl->edges[i];
		if (edge->to != o->index)
			continue;
		edge->exchange = 1;
		edge->partitioning = narrowed(edge->partitioning, pl->operators[edge->from].stream_kind[edge->output], tasks);
		keyed &= edge->partitioning == EDGE_KEY;
	}
	open_stage(c, o, tasks)->keyed = (uint32_t)keyed;
}

/* A merge, or a function of two inputs: tasks of their own, as many as the widest of what comes in has. Where records come as
 * they are, a task before it has one task here, so that the order of its records stays. */
static void
place_joined(struct cutting *c, plan_operator *o)
{
	plan *pl = c->plan;
	uint32_t tasks = 1, keyed = 0;
	for (uint32_t i = 0; i < pl->edge_count; i++) {
		plan_edge *edge = &pl->edges[i];
		if (edge->to != o->index)
			continue;
		const plan_operator *before = &pl->operators[edge->from];
		uint32_t wanted = tasks_behind(pl, edge->partitioning, pl->stages[before->stage].task_count);
		edge->exchange = 1;
		if (edge->partitioning != EDGE_BROADCAST && wanted > tasks)
			tasks = wanted;
		keyed |= edge->partitioning == EDGE_KEY || before->stream_kind[edge->output] == FLOW_STREAM_KEYED;
	}
	open_stage(c, o, tasks)->keyed = keyed;
}

static void
find_edges(struct cutting *c)
{
	plan *pl = c->plan;
	uint8_t *seen = planner_allocate(c->p, pl->operator_count + 1);
	c->edge_into = planner_allocate(c->p, (pl->operator_count + 1) * sizeof(*c->edge_into));
	if (c->p->failed)
		return;
	for (uint32_t i = 0; i < pl->operator_count; i++)
		c->edge_into[i] = PLAN_NONE;
	for (uint32_t i = 0; i < pl->edge_count; i++) {
		uint32_t to = pl->edges[i].to;
		c->edge_into[to] = seen[to]++ == 0 ? i : PLAN_NONE;
	}
}

static void
list_operators(planner *p)
{
	plan *pl = p->plan;
	uint32_t *all = planner_allocate(p, (pl->operator_count + 1) * sizeof(*all));
	for (uint32_t s = 0, used = 0; s < pl->stage_count && !p->failed; s++) {
		plan_stage *stage = &pl->stages[s];
		stage->operators = all + used;
		for (uint32_t i = 0; i < pl->operator_count; i++)
			if (pl->operators[i].stage == s)
				stage->operators[stage->operator_count++] = i;
		used += stage->operator_count;
	}
}

static void
count_tasks(plan *pl)
{
	for (uint32_t i = 0; i < pl->operator_count; i++)
		if (pl->operators[i].stream != PLAN_NONE)
			pl->streams[pl->operators[i].stream].task_count = pl->stages[pl->operators[i].stage].task_count;
}

void
plan_stages(planner *p)
{
	plan *pl = p->plan;
	struct cutting c = { .p = p, .plan = pl };
	pl->stages = planner_allocate(p, (pl->operator_count + 1) * sizeof(*pl->stages));
	find_edges(&c);
	for (uint32_t i = 0; i < pl->operator_count && !p->failed; i++) {
		plan_operator *o = &pl->operators[i];
		if (o->kind == OPERATOR_SOURCE)
			open_stage(&c, o, source_tasks(pl, o));
		else if (o->kind == OPERATOR_DEAD_LETTERS)
			open_stage(&c, o, 1);
		else if (c.edge_into[i] == PLAN_NONE && o->kind == OPERATOR_SINK)
			place_shared_sink(&c, o);
		else if (c.edge_into[i] == PLAN_NONE)
			place_joined(&c, o);
		else
			place_behind(&c, o, &pl->edges[c.edge_into[i]]);
	}
	if (p->failed)
		return;
	list_operators(p);
	count_tasks(pl);
}
