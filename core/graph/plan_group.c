/* Inputs whose partitions a consumer group gives: other processes read the rest of them. What such an input can feed, and which
 * output's transaction takes its positions. */
#include <string.h>

#include "graph/planner.h"

static int
is_sink(const plan_operator *o)
{
	return o->kind == OPERATOR_SINK || o->kind == OPERATOR_DEAD_LETTERS;
}

/* The input as one process reads it. */
static void
check_input(planner *p, const plan_stream *stream)
{
	const char *option = NULL, *why = NULL;
	if (stream->bounded) {
		option = "bounded";
		why = "one process cannot tell when all of them are at the end";
	} else if (stream->broadcast) {
		option = "broadcast";
		why = "no task can read all of it";
	} else if (stream->reset) {
		option = "reset_offset";
		why = "the group keeps its position; set that of the group anew";
	}
	if (option == NULL)
		return;
	const setting *s = setting_child(config_effective(p->config, "streams", stream->id), option);
	problem_at(p->problems, s != NULL ? s : stream->place,
			   "input '%s' is shared with other processes by a consumer group, and %s", stream->id, why);
}

/* The output whose transaction takes positions of inputs of this system; NULL: none. */
static const plan_stream *
taker(const plan *pl, uint32_t system)
{
	for (uint32_t i = 0; i < pl->operator_count; i++) {
		const plan_operator *o = &pl->operators[i];
		const plan_stream *stream = is_sink(o) ? &pl->streams[o->stream] : NULL;
		if (stream != NULL && stream->system == system && stream->delivery == FLOW_DELIVERY_ONE_PHASE &&
			stream->description.takes_positions)
			return stream;
	}
	return NULL;
}

/* For each operator the group input that feeds it (its stream + 1), preferably one whose positions no transaction takes. */
static void
find_fed(planner *p)
{
	plan *pl = p->plan;
	p->fed_by_group = planner_allocate(p, (pl->operator_count + 1) * sizeof(*p->fed_by_group));
	for (uint32_t i = 0; i < pl->operator_count && p->fed_by_group != NULL; i++) {
		const plan_operator *o = &pl->operators[i];
		if (o->kind == OPERATOR_SOURCE && pl->streams[o->stream].self_assigned)
			p->fed_by_group[i] = o->stream + 1;
		for (uint32_t k = 0; k < pl->edge_count; k++) {
			uint32_t from = pl->edges[k].to == i ? p->fed_by_group[pl->edges[k].from] : 0;
			if (from != 0 && (p->fed_by_group[i] == 0 || !pl->streams[from - 1].committed_by_output))
				p->fed_by_group[i] = from;
		}
	}
}

static const char *
group_input(const planner *p, uint32_t operator_index)
{
	return p->plan->streams[p->fed_by_group[operator_index] - 1].id;
}

static int
writes_local_table(const plan *pl, const plan_operator *o, const char **name)
{
	for (size_t i = 0; o->function.writes_tables != NULL && (*name = o->function.writes_tables[i]) != NULL; i++)
		for (uint32_t k = 0; k < pl->table_count; k++)
			if (strcmp(pl->tables[k].name, *name) == 0 && (pl->tables[k].component->flags & FLOW_TABLE_LOCAL) != 0)
				return 1;
	return 0;
}

/* A partition may go to another process at any time, and would leave behind what was kept of it here. */
static void
check_fed(planner *p, const plan_operator *o)
{
	const char *table = NULL;
	if (o->state_id != PLAN_NONE)
		problem_at(p->problems, o->place,
				   "'%s' keeps state, and input '%s' is shared with other processes by a consumer group: a partition "
				   "that goes to another process would leave its state behind; read the input without a group",
				   o->name, group_input(p, o->index));
	else if (writes_local_table(p->plan, o, &table))
		problem_at(p->problems, o->place,
				   "table '%s' lives in this process, and input '%s' is shared with other processes by a consumer "
				   "group: the table would have a part of it; read the input without a group",
				   table, group_input(p, o->index));
}

static void
check_exchanges(planner *p)
{
	const plan *pl = p->plan;
	for (uint32_t i = 0; i < pl->intermediate_count; i++) {
		const plan_intermediate *stream = &pl->intermediates[i];
		const plan_operator *from = &pl->operators[stream->from];
		if (p->fed_by_group[stream->from] != 0)
			problem_at(p->problems, from->kind == OPERATOR_KEY_BY ? from->place : stream->place,
					   "the records are partitioned anew (%s), but input '%s' is shared with other processes by a "
					   "consumer group, and records do not go from process to process; read the input without a group",
					   partitioning_name(stream->partitioning), group_input(p, stream->from));
	}
}

void
plan_groups(planner *p)
{
	plan *pl = p->plan;
	int any = 0;
	for (uint32_t i = 0; i < pl->stream_count; i++) {
		plan_stream *stream = &pl->streams[i];
		if (!stream->self_assigned)
			continue;
		any = 1;
		check_input(p, stream);
		stream->committed_by_output = taker(pl, stream->system) != NULL;
	}
	find_fed(p);
	if (!any || p->failed)
		return;
	for (uint32_t i = 0; i < pl->operator_count; i++)
		if (p->fed_by_group[i] != 0)
			check_fed(p, &pl->operators[i]);
	check_exchanges(p);
}

int
plan_loses_positions(const planner *p, uint32_t operator_index)
{
	uint32_t from = p->fed_by_group[operator_index];
	return from != 0 && !p->plan->streams[from - 1].committed_by_output;
}
