/* The flow, step by step: where records come from, what they are, and what the function says about it. */
#include <string.h>

#include "base/error.h"
#include "base/schema.h"
#include "graph/planner.h"

/* --- nodes and links
 * ------------------------------------------------------------------------------------------------------ */

static void *
grow(planner *p, void *items, uint32_t count, uint32_t *capacity, size_t size)
{
	if (count < *capacity)
		return items;
	*capacity = *capacity == 0 ? 64 : *capacity * 2;
	void *larger = planner_allocate(p, *capacity * size);
	if (larger != NULL && count != 0)
		memcpy(larger, items, count * size);
	return larger;
}

uint32_t
planner_add_node(planner *p, uint32_t kind, size_t step, uint32_t rank, const setting *place)
{
	p->nodes = grow(p, p->nodes, p->node_count, &p->node_capacity, sizeof(*p->nodes));
	plan_node *node = planner_allocate(p, sizeof(*node));
	if (p->failed)
		return PLAN_NONE;
	plan_operator *o = &node->operator;
	o->kind = kind;
	o->stream = o->state_id = o->chain_parent = node->input_link = PLAN_NONE;
	o->record_errors = step == GRAPH_NONE ? p->record_errors : p->steps[step].record_errors;
	o->place = place;
	node->step = step;
	node->rank = rank;
	p->nodes[p->node_count] = node;
	return p->node_count++;
}

void
planner_add_link(planner *p, uint32_t from, uint32_t to, uint32_t partitioning, const setting *place)
{
	p->links = grow(p, p->links, p->link_count, &p->link_capacity, sizeof(*p->links));
	if (p->failed)
		return;
	p->nodes[from]->output_count++;
	p->nodes[to]->input_link = p->link_count;
	p->links[p->link_count++] = (plan_link){ from, to, partitioning, place };
}

/* --- where a step's records come from
 * -------------------------------------------------------------------------------------- */

static int
source_cursor(planner *p, size_t index, plan_cursor *at)
{
	const plan_stream *stream = &p->plan->streams[index];
	if (!p->stream_usable[index])
		return 0;
	uint32_t number = p->source_nodes[index];
	if (number == PLAN_NONE) {
		number = planner_add_node(p, OPERATOR_SOURCE, GRAPH_NONE, 0, stream->place);
		if (number == PLAN_NONE)
			return 0;
		plan_operator *o = &p->nodes[number]->operator;
		p->nodes[number]->given_name = stream->id;
		p->source_nodes[index] = number;
		o->stream = (uint32_t)index;
		o->title = planner_owned_format(p, "read %s", stream->id);
		o->record_errors = stream->record_errors;
		o->schema[0] = stream->schema;
		o->key_schema[0] = stream->key_schema;
		o->stream_kind[0] = FLOW_STREAM_NON_KEYED;
	}
	*at = (plan_cursor){ number, EDGE_FORWARD, FLOW_STREAM_NON_KEYED, stream->schema, stream->key_schema, NULL };
	return 1;
}

/* STEP_WAITING: the step before is not bound yet. */
static uint32_t
input_cursor(planner *p, plan_step *step, plan_cursor *at)
{
	const graph_step *written = step->step;
	if (written->from_stream != GRAPH_NONE)
		return source_cursor(p, written->from_stream, at) ? STEP_BOUND : STEP_FAILED;
	if (written->from_step == GRAPH_NONE)
		return STEP_FAILED;
	const plan_step *before = &p->steps[written->from_step];
	if (before->state != STEP_BOUND)
		return before->state;
	*at = before->out;
	if (at->schema != NULL)
		return STEP_BOUND;
	problem_at(p->problems, written->place, "the step before (%s) gives no records",
			   setting_place(p->arena, before->step->place));
	return STEP_FAILED;
}

static int
bind_partition(planner *p, plan_step *step, plan_cursor *at)
{
	const char *word = step->step->partition;
	if (word == NULL)
		return 1;
	if (at->kind == FLOW_STREAM_BROADCAST) {
		problem_in(p->problems, step->step->place, word, "a broadcast stream cannot be partitioned again");
		return 0;
	}
	if (strcmp(word, "global") == 0 && at->kind == FLOW_STREAM_GLOBAL) {
		problem_in(p->problems, step->step->place, word, "the stream is global already");
		return 0;
	}
	int global = strcmp(word, "global") == 0, shuffle = strcmp(word, "shuffle") == 0;
	at->partitioning = global ? EDGE_GLOBAL : shuffle ? EDGE_SHUFFLE : EDGE_BROADCAST;
	at->kind = global ? FLOW_STREAM_GLOBAL : shuffle ? FLOW_STREAM_NON_KEYED : FLOW_STREAM_BROADCAST;
	at->key_text = NULL;
	return 1;
}

/* --- functions
 * ------------------------------------------------------------------------------------------------------------- */

struct binding {
	const flow_function_ops *ops;
	void *binding;
};

static void
unbind(void *owner)
{
	struct binding *bound = owner;
	if (FLOW_CAN(bound->ops, unbind))
		bound->ops->unbind(bound->binding);
}

/* The setting below `s` that the text begins with the place of ("late.conf:12: "), or NULL. */
static const setting *
named_setting(const setting *s, const char *text)
{
	size_t length = s->origin == NULL ? 0 : strlen(s->origin);
	if (s->kind != SETTING_GROUP && length != 0 && strncmp(text, s->origin, length) == 0 &&
		strncmp(text + length, ": ", 2) == 0)
		return s;
	for (size_t i = 0; i < s->child_count; i++) {
		const setting *found = named_setting(s->children[i], text);
		if (found != NULL)
			return found;
	}
	return NULL;
}

/* A plugin's error at its place: the option that it names, or whose place its text starts with, else the step. */
static void
report_bind_error(planner *p, const plan_step *step, const flow_error *error)
{
	const char *text = error_message(error);
	const setting *at = NULL;
	if (step->group != NULL)
		at = error->option != NULL ? setting_child(step->group, error->option) : named_setting(step->group, text);
	const flow_slice start = step->options->place;
	size_t skip = 0;
	if (at != NULL && at->origin != NULL && strncmp(text, at->origin, strlen(at->origin)) == 0)
		skip = strlen(at->origin);
	else if (start.size != 0 && strncmp(text, start.data, start.size) == 0)
		skip = start.size;
	if (skip != 0 && strncmp(text + skip, ": ", 2) == 0)
		text += skip + 2;
	problem_at(p->problems, at == NULL ? step->step->place : at, "%s", text);
}

static int
check_states(planner *p, const plan_step *step, const flow_function_plan *function, const plan_cursor *at)
{
	const setting *place = step->step->place;
	int stateful = function->uses_timers != 0 || (function->states != NULL && function->states[0] != NULL);
	if (!stateful)
		return 1;
	if (step->step->name == NULL) {
		problem_in(p->problems, place, "name", "is missing: the step keeps state under its name");
		return 0;
	}
	if (at->kind == FLOW_STREAM_KEYED || at->kind == FLOW_STREAM_GLOBAL)
		return 1;
	problem_at(p->problems, place,
			   "'%s' keeps state for each key: put key_by = \"...\" (or global = true) in front of it",
			   step->step->function);
	return 0;
}

/* What a plugin says is not believed unseen. */
static int
check_function_plan(planner *p, const plan_step *step, const flow_function_plan *function, const plan_cursor *at)
{
	const setting *place = step->step->place;
	const char *id = step->step->function;
	if (function->shape == FLOW_SHAPE_TWO_INPUTS || function->shape == FLOW_SHAPE_BROADCAST) {
		problem_at(p->problems, place, "'%s' takes two inputs; a step has one", id);
		return 0;
	}
	if (function->shape == FLOW_SHAPE_TWO_OUTPUTS || function->outputs[1] != NULL) {
		problem_at(p->problems, place, "'%s' gives two outputs; a step has one", id);
		return 0;
	}
	if (function->needs_keyed && at->kind != FLOW_STREAM_KEYED) {
		problem_at(p->problems, place, "'%s' needs a keyed stream: put key_by = \"...\" in front of it", id);
		return 0;
	}
	const flow_schema *output = function->outputs[0];
	for (uint32_t i = 0; function->passes != NULL && output != NULL && i < output->field_count; i++) {
		if (function->passes[i] < -1 || function->passes[i] >= (int32_t)at->schema->field_count) {
			problem_at(p->problems, place, "plugin error: '%s' passes on a field that its input does not have", id);
			return 0;
		}
	}
	return check_states(p, step, function, at);
}

static const char *
scalar_title(const setting *s)
{
	return s != NULL && s->kind == SETTING_STRING ? s->text : NULL;
}

/* "where dep_delay > 15", "aggregate flights, mean_dep_delay". */
static const char *
function_title(planner *p, const plan_step *step)
{
	const flow_option_set *set = step->step->component->option_sets == NULL
									 ? NULL
									 : options_set_of_scope(step->step->component->option_sets, "");
	const setting *value = NULL;
	for (size_t i = 0; set != NULL && set->options[i] != NULL; i++)
		if ((set->options[i]->flags & FLOW_OPTION_PRIMARY) != 0)
			value = setting_child(step->group, set->options[i]->name);
	const char *title = step->step->function;
	const char *scalar = scalar_title(value);
	if (scalar != NULL)
		return planner_owned_format(p, "%s %s", title, scalar);
	for (size_t i = 0; value != NULL && i < value->child_count; i++) {
		const setting *child = value->children[i];
		const char *word = child->name != NULL ? child->name : scalar_title(child);
		if (word != NULL && title != NULL)
			title = planner_owned_format(p, "%s%s%s", title, i == 0 ? " " : ", ", word);
	}
	return title;
}

static void
fill_operator(planner *p, uint32_t number, const plan_step *step, const flow_function_plan *function,
			  const struct binding *bound, plan_cursor *at)
{
	plan_node *node = p->nodes[number];
	plan_operator *o = &node->operator;
	node->given_name = step->step->name;
	node->base_name = step->step->function;
	const char *const *table = function->writes_tables != NULL ? function->writes_tables : function->reads_tables;
	if (table != NULL && table[0] != NULL)
		node->base_name = planner_owned_format(p, "%s_%s", step->step->function, table[0]);
	o->component = step->step->component;
	o->ops = bound->ops;
	o->options = step->options;
	o->binding = bound->binding;
	o->function = *function;
	o->late = step->late;
	o->title = function_title(p, step);
	int keyed = at->kind == FLOW_STREAM_KEYED && function->keeps_key;
	at->node = number;
	at->partitioning = EDGE_FORWARD;
	at->schema = function->outputs[0] == NULL ? NULL : planner_own_schema(p, schema_retain(function->outputs[0]));
	if (function->output_keys[0] != NULL)
		at->key_schema = planner_own_schema(p, schema_retain(function->output_keys[0]));
	else if (!function->keeps_key)
		at->key_schema = NULL;
	if (at->kind == FLOW_STREAM_KEYED && !keyed)
		at->kind = FLOW_STREAM_NON_KEYED;
	if (!keyed)
		at->key_text = NULL;
	o->schema[0] = at->schema;
	o->key_schema[0] = at->key_schema;
	o->stream_kind[0] = at->kind;
	node->key_text = at->key_text;
}

/* Inputs end for a step if the input of the stream it comes from does. */
static uint32_t
is_bounded(planner *p, const plan_step *step)
{
	const graph_step *at = step->step;
	while (at->from_stream == GRAPH_NONE && at->from_step != GRAPH_NONE)
		at = p->graph->steps[at->from_step];
	return at->from_stream != GRAPH_NONE && p->plan->streams[at->from_stream].bounded;
}

static flow_status
call_bind(planner *p, plan_step *step, const plan_cursor *at, flow_function_plan *function, struct binding *bound,
		  flow_error *error)
{
	flow_function_input input = {
		.struct_size = FLOW_SIZEOF(flow_function_input),
		.stream = at->kind,
		.schema = at->schema,
		.key_schema = at->kind == FLOW_STREAM_KEYED ? at->key_schema : NULL,
		.key_text = flow_slice_of(at->kind == FLOW_STREAM_KEYED ? at->key_text : NULL),
		.bounded = is_bounded(p, step),
	};
	const flow_function_input *const inputs[1] = { &input };
	*function = (flow_function_plan){ .struct_size = FLOW_SIZEOF(flow_function_plan) };
	bound->ops = step->step->component->ops;
	plan_tables_serve(p);
	flow_status status = bound->ops->bind(p->host, step->options, inputs, 1, function, &bound->binding, error);
	const char *table = plan_tables_missed();
	plan_tables_serve(NULL);
	if (status >= 0 || table == NULL)
		return status;
	step->waits_for = table;
	return FLOW_AGAIN;
}

static uint32_t
bind_function(planner *p, plan_step *step, plan_cursor *at)
{
	if (step->step->function == NULL)
		return STEP_BOUND;
	if (at->kind == FLOW_STREAM_BROADCAST) {
		problem_at(p->problems, step->step->place,
				   "a broadcast stream can only be one side of a function with two inputs; '%s' has one",
				   step->step->function);
		return STEP_FAILED;
	}
	struct binding *bound = planner_allocate(p, sizeof(*bound));
	if (bound == NULL)
		return STEP_FAILED;
	flow_function_plan function;
	flow_error error = { 0 };
	flow_status status = call_bind(p, step, at, &function, bound, &error);
	if (status < 0)
		report_bind_error(p, step, &error);
	error_clear(&error);
	if (status != FLOW_OK)
		return status == FLOW_AGAIN ? STEP_WAITING : STEP_FAILED;
	if (!arena_on_destroy(p->arena, unbind, bound)) {
		p->failed = 1;
		return STEP_FAILED;
	}
	step->waits_for = NULL;
	size_t index = step->step->index;
	if (!check_function_plan(p, step, &function, at) || !plan_tables_written(p, index, &function, at) ||
		!plan_bind_event_time(p, step, at, &function))
		return STEP_FAILED;
	uint32_t number = planner_add_node(p, OPERATOR_FUNCTION, index, 2, step->step->place);
	if (number == PLAN_NONE)
		return STEP_FAILED;
	planner_add_link(p, at->node, number, at->partitioning, step->step->place);
	fill_operator(p, number, step, &function, bound, at);
	return STEP_BOUND;
}

/* Takes back the last nodes and links: of a step that waits for a table and is bound again later. */
static void
take_back(planner *p, uint32_t nodes, uint32_t links)
{
	while (p->link_count > links)
		p->nodes[p->links[--p->link_count].from]->output_count--;
	p->node_count = nodes;
}

static uint32_t
bind_step(planner *p, plan_step *step)
{
	plan_cursor at;
	uint32_t state = input_cursor(p, step, &at);
	if (state != STEP_BOUND)
		return state;
	if (step->step->bad || (step->step->function != NULL && (step->step->component == NULL || step->options == NULL)))
		return STEP_FAILED;
	uint32_t nodes = p->node_count, links = p->link_count;
	if (!plan_bind_key(p, step, &at) || !bind_partition(p, step, &at))
		return STEP_FAILED;
	state = bind_function(p, step, &at);
	if (state == STEP_WAITING) {
		take_back(p, nodes, links);
		return state;
	}
	if (state == STEP_BOUND && step->step->to != NULL && !plan_bind_sink(p, step, &at))
		return STEP_FAILED;
	step->out = at;
	return state;
}

/* --- options
 * ----------------------------------------------------------------------------------------------------------------- */

static void
resolve_step(planner *p, plan_step *step)
{
	const graph_step *written = step->step;
	size_t before = p->problems->errors;
	step->group = written->name == NULL ? written->options : config_effective(p->config, "operators", written->name);
	if (written->bad && written->component == NULL)
		return;
	const flow_options *options =
		planner_resolve(p, &operator_options, written->component, "", step->group, written->place,
						written->name != NULL ? written->name : written->function, NULL);
	if (written->name != NULL)
		planner_put_defaults(p, "operators", written->name, &operator_options, written->component, "");
	step->record_errors = planner_record_errors(options, "record_errors", p->record_errors);
	step->late = planner_record_errors(options, "late_records", 0);
	if (p->problems->errors == before)
		step->options = options;
}

void
plan_bind(planner *p)
{
	size_t count = p->graph->step_count;
	p->steps = planner_allocate(p, (count + 1) * sizeof(*p->steps));
	for (size_t i = 0; i < count && !p->failed; i++) {
		p->steps[i].step = p->graph->steps[i];
		resolve_step(p, &p->steps[i]);
	}
	for (int progress = 1; progress && !p->failed;) {
		progress = 0;
		for (size_t i = 0; i < count && !p->failed; i++) {
			plan_step *step = &p->steps[i];
			if (step->state != STEP_WAITING)
				continue;
			step->state = bind_step(p, step);
			progress |= step->state != STEP_WAITING;
		}
	}
	if (p->problems->errors == 0 && !p->failed)
		plan_report_waiting(p);
}
