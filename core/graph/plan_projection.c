/* Which fields of its records an input has to give: those that somebody reads, found backwards through the flow. */
#include <string.h>

#include "expr/expression.h"
#include "graph/planner.h"

/* Marks in needs[input fields] what an operator needs of one input, given what is needed of its output. */
static void
needs_of_function(const plan_operator *o, uint32_t number, const flow_schema *input, const uint8_t *output_needs,
				  uint8_t *needs)
{
	const uint8_t *reads = o->function.reads[number];
	for (uint32_t i = 0; i < input->field_count; i++)
		needs[i] |= reads == NULL || reads[i] != 0;
	const flow_schema *output = o->schema[0];
	for (uint32_t i = 0; number == 0 && o->function.passes != NULL && output != NULL && i < output->field_count; i++)
		if (output_needs[i] && o->function.passes[i] >= 0)
			needs[o->function.passes[i]] = 1;
}

static void
needs_of_expressions(const plan_operator *o, const uint8_t *output_needs, uint8_t *needs, uint32_t field_count)
{
	for (uint32_t i = 0; i < field_count; i++)
		needs[i] |= output_needs[i];
	for (uint32_t i = 0; i < o->key_count; i++)
		expressions_service.fields(o->keys[i], needs);
	if (o->event_time != NULL)
		expressions_service.fields(o->event_time, needs);
}

/* A record that is rejected is written to the dead letters whole. */
static int
keeps_whole_records(const plan_operator *o)
{
	return o->kind == OPERATOR_SINK || o->record_errors == RECORD_ERRORS_DEAD_LETTER ||
		   o->late == RECORD_ERRORS_DEAD_LETTER;
}

static void
add_needs(const plan_operator *o, const plan_edge *edge, const flow_schema *input, const uint8_t *output_needs,
		  uint8_t *needs)
{
	if (keeps_whole_records(o))
		memset(needs, 1, input->field_count);
	else if (o->kind == OPERATOR_FUNCTION || o->kind == OPERATOR_TRANSFORMER)
		needs_of_function(o, edge->input, input, output_needs, needs);
	else
		needs_of_expressions(o, output_needs, needs, input->field_count);
}

static void
keep_fields(planner *p, const plan_operator *o, const uint8_t *needs)
{
	plan_stream *stream = &p->plan->streams[o->stream];
	uint32_t count = 0, all = stream->schema->field_count;
	for (uint32_t i = 0; i < all; i++)
		count += needs[i] != 0;
	if (count == all || stream->value.component == NULL)
		return;
	uint32_t *fields = planner_allocate(p, (count + 1) * sizeof(*fields));
	if (fields == NULL)
		return;
	stream->fields = fields;
	for (uint32_t i = 0; i < all; i++)
		if (needs[i])
			fields[stream->field_count++] = i;
}

void
plan_projection(planner *p)
{
	plan *pl = p->plan;
	uint8_t **needs = planner_allocate(p, (pl->operator_count + 1) * sizeof(*needs));
	for (uint32_t i = 0; i < pl->operator_count && !p->failed; i++) {
		const flow_schema *schema = pl->operators[i].schema[0];
		needs[i] = planner_allocate(p, (schema == NULL ? 0 : schema->field_count) + 1);
	}
	/* Edges are in the order of the operators that they leave, so backwards everything behind an operator is done
	 * before it. */
	for (uint32_t i = pl->edge_count; i > 0 && !p->failed; i--) {
		/* Fields are followed through the first output; what a second one gives the function computes from what it reads. */
		const plan_edge *edge = &pl->edges[i - 1];
		if (edge->output == 0)
			add_needs(&pl->operators[edge->to], edge, pl->operators[edge->from].schema[0], needs[edge->to],
					  needs[edge->from]);
	}
	for (uint32_t i = 0; i < pl->operator_count && !p->failed; i++) {
		const plan_operator *o = &pl->operators[i];
		if (o->kind == OPERATOR_SOURCE && o->schema[0] != NULL && o->schema[0]->kind == FLOW_KIND_RECORD)
			keep_fields(p, o, needs[i]);
	}
}
