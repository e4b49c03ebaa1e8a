/* Where a step's records come from: an input, a step before, several that are merged, and the second input of a function of
 * two. */
#include <string.h>

#include "base/schema.h"
#include "graph/planner.h"

const char *
planner_origin_name(planner *p, const graph_origin *origin)
{
	if (origin->stream != GRAPH_NONE)
		return planner_owned_format(p, "input '%s'", p->plan->streams[origin->stream].id);
	const graph_step *step = p->graph->steps[origin->step];
	const char *half = origin->output == 0 ? "" : ", second output";
	if (step->name != NULL)
		return planner_owned_format(p, "step '%s'%s (%s)", step->name, half, setting_place(p->arena, step->place));
	return planner_owned_format(p, "the step at %s%s", setting_place(p->arena, step->place), half);
}

static const char *
placed_origin(planner *p, const graph_origin *origin)
{
	const char *name = planner_origin_name(p, origin);
	if (origin->stream == GRAPH_NONE)
		return name; /* with its place */
	return planner_owned_format(p, "%s (%s)", name, setting_place(p->arena, p->plan->streams[origin->stream].place));
}

/* Of streams that were merged all have the type of the first. */
const char *
planner_came_from(planner *p, const plan_step *step, uint32_t count)
{
	const char *first = placed_origin(p, &step->step->origins[0]);
	const char *second = count == 2 ? placed_origin(p, step->step->second) : "";
	const char *text =
		p->failed ? NULL
				  : planner_owned_format(p, "; the records come from %s%s%s", first, count == 2 ? " and " : "", second);
	return text == NULL ? "" : text;
}

int
planner_is_about_types(flow_status status)
{
	return status == FLOW_E_TYPE || status == FLOW_E_NOT_FOUND || status == FLOW_E_EXISTS;
}

static uint32_t
source_node(planner *p, size_t index)
{
	const plan_stream *stream = &p->plan->streams[index];
	if (p->source_nodes[index] != PLAN_NONE)
		return p->source_nodes[index];
	uint32_t number = planner_add_node(p, OPERATOR_SOURCE, GRAPH_NONE, 0, stream->place);
	if (number == PLAN_NONE)
		return PLAN_NONE;
	plan_operator *o = &p->nodes[number]->operator;
	p->nodes[number]->given_name = stream->id;
	p->source_nodes[index] = number;
	o->stream = (uint32_t)index;
	o->title = planner_owned_format(p, "read %s", stream->id);
	o->record_errors = stream->record_errors;
	o->schema[0] = stream->schema;
	o->key_schema[0] = stream->key_schema;
	o->stream_kind[0] = FLOW_STREAM_NON_KEYED;
	return number;
}

static uint32_t
source_cursor(planner *p, size_t index, plan_cursor *at)
{
	if (!p->stream_usable[index])
		return STEP_FAILED;
	uint32_t number = p->input_nodes[index];
	if (number == PLAN_NONE)
		number = source_node(p, index);
	if (number == PLAN_NONE)
		return STEP_FAILED;
	const plan_operator *o = &p->nodes[number]->operator;
	*at = (plan_cursor){ .node = number,
						 .partitioning = EDGE_FORWARD,
						 .kind = FLOW_STREAM_NON_KEYED,
						 .schema = o->schema[0],
						 .key_schema = o->key_schema[0] };
	if (p->input_nodes[index] == PLAN_NONE && p->plan->streams[index].transformer.component != NULL) {
		at->node = plan_transformer_node(p, &p->plan->streams[index], at);
		at->schema = p->plan->streams[index].transformer.schema;
	}
	if (p->plan->streams[index].broadcast) {
		at->kind = FLOW_STREAM_BROADCAST;
		at->partitioning = EDGE_BROADCAST;
	}
	p->input_nodes[index] = at->node;
	return at->node == PLAN_NONE ? STEP_FAILED : STEP_BOUND;
}

/* STEP_WAITING: the step before is not bound yet. */
static uint32_t
origin_cursor(planner *p, const plan_step *step, const graph_origin *origin, plan_cursor *at)
{
	if (origin->stream != GRAPH_NONE)
		return source_cursor(p, origin->stream, at);
	if (origin->step == GRAPH_NONE)
		return STEP_FAILED;
	const plan_step *before = &p->steps[origin->step];
	if (before->state != STEP_BOUND)
		return before->state;
	*at = before->out[origin->output];
	if (at->schema != NULL)
		return STEP_BOUND;
	if (origin->output == 1)
		problem_at(p->problems, origin->place, "the step before (%s) has one output; there is no second one",
				   setting_place(p->arena, before->step->place));
	else
		problem_at(p->problems, step->step->place, "the step before (%s) gives no records",
				   setting_place(p->arena, before->step->place));
	return STEP_FAILED;
}

/* --- merging
 * ----------------------------------------------------------------------------------------------------------------- */

static int
same_keys(const flow_schema *a, const flow_schema *b)
{
	return a == b || (a != NULL && b != NULL && schema_equal(a, b));
}

static int
same_origin(const graph_origin *a, const graph_origin *b)
{
	return a->stream == b->stream && a->step == b->step && a->output == b->output;
}

static int
check_distinct(planner *p, const plan_step *step, size_t index)
{
	const graph_origin *origins = step->step->origins;
	for (size_t i = 0; i < index; i++) {
		if (!same_origin(&origins[i], &origins[index]))
			continue;
		problem_at(p->problems, origins[index].place, "%s is merged with itself",
				   planner_origin_name(p, &origins[index]));
		return 0;
	}
	return 1;
}

static int
check_merged(planner *p, const plan_step *step, size_t index, const plan_cursor *first, const plan_cursor *other)
{
	const graph_step *written = step->step;
	const graph_origin *a = &written->origins[0], *b = &written->origins[index];
	if (!schema_equal(first->schema, other->schema)) {
		problem_at(p->problems, b->place, "%s gives %s, but %s gives %s; merged streams have one type",
				   planner_origin_name(p, b), planner_schema_text(p, other->schema), planner_origin_name(p, a),
				   planner_schema_text(p, first->schema));
		return 0;
	}
	if (first->kind != other->kind) {
		problem_at(p->problems, b->place, "%s is %s, but %s is %s; merged streams are of one kind: key all or none",
				   planner_origin_name(p, b), stream_kind_name(other->kind), planner_origin_name(p, a),
				   stream_kind_name(first->kind));
		return 0;
	}
	if (same_keys(first->key_schema, other->key_schema))
		return 1;
	problem_at(p->problems, b->place, "%s has keys %s, but %s has keys %s; merged streams have one type of key",
			   planner_origin_name(p, b), planner_schema_text(p, other->key_schema), planner_origin_name(p, a),
			   planner_schema_text(p, first->key_schema));
	return 0;
}

static void
link_merged(planner *p, const plan_step *step, const plan_cursor *merged, plan_cursor *at)
{
	const graph_step *written = step->step;
	uint32_t number = planner_add_node(p, OPERATOR_MERGE, written->index, 0, written->place);
	if (number == PLAN_NONE)
		return;
	plan_node *node = p->nodes[number];
	int alone = written->function == NULL && written->key_by == NULL;
	node->given_name = alone ? written->name : NULL;
	node->base_name = written->name == NULL ? "merge" : planner_owned_format(p, "%s_merge", written->name);
	node->operator.title = planner_owned_format(p, "merge %zu streams", written->origin_count);
	node->operator.schema[0] = merged[0].schema;
	node->operator.key_schema[0] = merged[0].key_schema;
	node->operator.stream_kind[0] = merged[0].kind;
	const char *key_text = merged[0].key_text;
	for (size_t i = 0; i < written->origin_count; i++) {
		planner_add_link(p, &merged[i], number, 0, written->origins[i].place);
		if (key_text != NULL && (merged[i].key_text == NULL || strcmp(merged[i].key_text, key_text) != 0))
			key_text = NULL;
	}
	node->key_text = key_text;
	*at = merged[0];
	at->node = number;
	at->output = 0;
	at->partitioning = EDGE_FORWARD;
	at->key_text = key_text;
}

uint32_t
planner_first_input(planner *p, const plan_step *step, plan_cursor *at)
{
	const graph_step *written = step->step;
	if (written->origin_count == 1)
		return origin_cursor(p, step, &written->origins[0], at);
	plan_cursor *merged = planner_allocate(p, (written->origin_count + 1) * sizeof(*merged));
	uint32_t state = merged == NULL || written->origin_count == 0 ? STEP_FAILED : STEP_BOUND;
	for (size_t i = 0; i < written->origin_count && state == STEP_BOUND; i++)
		state = origin_cursor(p, step, &written->origins[i], &merged[i]);
	if (state != STEP_BOUND)
		return state;
	if (merged[0].kind == FLOW_STREAM_BROADCAST) {
		problem_at(p->problems, written->origins[0].place, "%s is broadcast, and a broadcast stream cannot be merged",
				   planner_origin_name(p, &written->origins[0]));
		return STEP_FAILED;
	}
	for (size_t i = 1; i < written->origin_count; i++)
		if (!check_distinct(p, step, i) || !check_merged(p, step, i, &merged[0], &merged[i]))
			return STEP_FAILED;
	link_merged(p, step, merged, at);
	return p->failed ? STEP_FAILED : STEP_BOUND;
}

/* --- two inputs
 * -------------------------------------------------------------------------------------------------------------- */

uint32_t
planner_second_input(planner *p, const plan_step *step, plan_cursor *at)
{
	return origin_cursor(p, step, step->step->second, at);
}

/* Why two kinds of streams cannot be the inputs of one function; NULL: they can. */
static const char *
refusal(uint32_t a, uint32_t b)
{
	if (a == b)
		return a == FLOW_STREAM_BROADCAST
				   ? "two broadcast streams would do the same work in every task; broadcast one of them"
				   : NULL;
	if (a == FLOW_STREAM_GLOBAL || b == FLOW_STREAM_GLOBAL)
		return "a global stream runs in one task and goes with another global stream only; put global = true in front "
			   "of both, or partition the global one like the other";
	if (a == FLOW_STREAM_BROADCAST || b == FLOW_STREAM_BROADCAST)
		return NULL;
	return "of a keyed and a non-keyed stream records of one key do not meet; put key_by in front of both";
}

int
planner_check_pair(planner *p, const plan_step *step, const plan_cursor *first, const plan_cursor *second)
{
	const graph_step *written = step->step;
	const char *a = planner_origin_name(p, step->swapped ? written->second : &written->origins[0]);
	const char *b = planner_origin_name(p, step->swapped ? &written->origins[0] : written->second);
	if (same_origin(&written->origins[0], written->second) && written->origin_count == 1) {
		problem_at(p->problems, written->second->place,
				   "%s is connected with itself; read the input twice under two ids", a);
		return 0;
	}
	const char *why = refusal(first->kind, second->kind);
	if (why != NULL) {
		problem_at(p->problems, written->second->place, "%s is %s and %s is %s: %s", a, stream_kind_name(first->kind),
				   b, stream_kind_name(second->kind), why);
		return 0;
	}
	if (first->kind != FLOW_STREAM_KEYED || second->kind != FLOW_STREAM_KEYED ||
		same_keys(first->key_schema, second->key_schema))
		return 1;
	problem_at(p->problems, written->second->place,
			   "%s is keyed by %s and %s by %s: connected keyed streams have one type of key; cast one of the keys", a,
			   planner_schema_text(p, first->key_schema), b, planner_schema_text(p, second->key_schema));
	return 0;
}

/* --- ends
 * ------------------------------------------------------------------------------------------------------------------ */

static uint32_t
origin_ends(const planner *p, const graph_origin *origin)
{
	if (origin->stream != GRAPH_NONE)
		return p->plan->streams[origin->stream].bounded != 0;
	return origin->step != GRAPH_NONE && p->steps[origin->step].ends;
}

uint32_t
planner_input_ends(const planner *p, const plan_step *step, uint32_t input)
{
	const graph_step *written = step->step;
	uint32_t ends = 1;
	if (input == 1)
		return origin_ends(p, written->second);
	for (size_t i = 0; i < written->origin_count; i++)
		ends &= origin_ends(p, &written->origins[i]);
	return ends;
}
