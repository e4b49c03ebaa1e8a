/* What can be said only about the whole plan: delivery, and what leads nowhere. */
#include <string.h>

#include "graph/planner.h"

static int
is_sink(const plan_operator *o)
{
	return o->kind == OPERATOR_SINK || o->kind == OPERATOR_DEAD_LETTERS;
}

static int
is_one_transaction(const plan_stream *a, const plan_stream *b)
{
	return a->system == b->system && a->description.shares_transaction && b->description.shares_transaction;
}

/* A job has at most one transaction that dies with the process; the dead letters do without one if need be. */
static void
check_one_phase(planner *p)
{
	plan *pl = p->plan;
	const plan_stream *first = NULL;
	for (uint32_t i = 0; i < pl->operator_count; i++) {
		const plan_operator *o = &pl->operators[i];
		if (!is_sink(o) || pl->streams[o->stream].delivery != FLOW_DELIVERY_ONE_PHASE)
			continue;
		plan_stream *stream = &pl->streams[o->stream];
		if (first == NULL)
			first = stream;
		else if (is_one_transaction(first, stream))
			continue;
		else if (o->kind == OPERATOR_DEAD_LETTERS)
			stream->delivery = FLOW_DELIVERY_AT_LEAST_ONCE;
		else
			problem_in(
				p->problems, stream->place, "delivery",
				"outputs '%s' and '%s' both commit by a transaction, and a job can have one; declare one of them "
				"delivery = \"at_least_once\"",
				first->id, stream->id);
	}
}

static const char *
sink_delivery(uint32_t delivery)
{
	switch (delivery) {
	case FLOW_DELIVERY_RESUMABLE:
	case FLOW_DELIVERY_ONE_PHASE:
		return "exactly once";
	case FLOW_DELIVERY_IDEMPOTENT:
		return "at least once, writing again changes nothing";
	default:
		return "at least once";
	}
}

static const char *
delivery_into(const planner *p, const plan_operator *sink)
{
	uint32_t delivery = p->plan->streams[sink->stream].delivery;
	int exact = !plan_loses_positions(p, sink->index);
	return sink_delivery(exact || delivery == FLOW_DELIVERY_IDEMPOTENT ? delivery : FLOW_DELIVERY_AT_LEAST_ONCE);
}

static void
settle_delivery(const planner *p)
{
	plan *pl = p->plan;
	for (uint32_t i = 0; i < pl->operator_count; i++) {
		const plan_operator *o = &pl->operators[i];
		uint32_t delivery = is_sink(o) ? pl->streams[o->stream].delivery : 0;
		pl->needs_epochs |= delivery == FLOW_DELIVERY_RESUMABLE || delivery == FLOW_DELIVERY_ONE_PHASE;
	}
	for (uint32_t i = 0; i < pl->edge_count; i++) {
		const plan_operator *to = &pl->operators[pl->edges[i].to];
		int exact = !plan_loses_positions(p, to->index);
		if (is_sink(to))
			pl->edges[i].delivery = delivery_into(p, to);
		else
			pl->edges[i].delivery = exact && (pl->has_state || pl->needs_epochs) ? "exactly once" : "at least once";
	}
	if (pl->dead_letters != PLAN_NONE)
		pl->dead_letter_delivery = delivery_into(p, &pl->operators[pl->dead_letters]);
}

static void
warn_of_unused_streams(planner *p)
{
	for (uint32_t i = 0; i < p->plan->stream_count; i++) {
		const plan_stream *stream = &p->plan->streams[i];
		if (stream->direction == FLOW_DIRECTION_INPUT && p->source_nodes[i] == PLAN_NONE)
			problem_warning(p->problems, stream->place, "no step reads this input");
		if (stream->direction == FLOW_DIRECTION_OUTPUT && p->sink_nodes[i] == PLAN_NONE)
			problem_warning(p->problems, stream->place, "no step writes this output");
	}
}

static void
warn_of_ends(planner *p)
{
	plan *pl = p->plan;
	uint8_t *goes_on = planner_allocate(p, pl->operator_count + 1);
	if (goes_on == NULL)
		return;
	for (uint32_t i = 0; i < pl->edge_count; i++)
		goes_on[pl->edges[i].from] = 1;
	for (uint32_t i = 0; i < pl->operator_count; i++) {
		const plan_operator *o = &pl->operators[i];
		int writes = o->function.writes_tables != NULL && o->function.writes_tables[0] != NULL;
		if (!goes_on[i] && !is_sink(o) && !writes && o->schema[0] != NULL)
			problem_warning(p->problems, o->place, "the records end here: no step takes them and no output");
	}
}

void
plan_check(planner *p)
{
	check_one_phase(p);
	plan_groups(p);
	if (p->failed)
		return;
	settle_delivery(p);
	if (p->problems->errors != 0)
		return;
	warn_of_unused_streams(p);
	warn_of_ends(p);
}
