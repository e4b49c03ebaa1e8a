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
planner_add_link(planner *p, const plan_cursor *from, uint32_t to, uint32_t input, const setting *place)
{
	p->links = grow(p, p->links, p->link_count, &p->link_capacity, sizeof(*p->links));
	if (p->failed)
		return;
	p->nodes[from->node]->output_count++;
	p->nodes[to]->input_link = p->link_count;
	p->links[p->link_count++] = (plan_link){ .from = from->node,
											 .output = from->output,
											 .to = to,
											 .input = input,
											 .partitioning = from->partitioning,
											 .place = place };
}

/* --- partitioning
 * ------------------------------------------------------------------------------------------------------------- */

static int
bind_partition(planner *p, plan_step *step, plan_cursor *at)
{
	const char *word = step->step->partition;
	if (word == NULL)
		return 1;
	if (at->kind == FLOW_STREAM_BROADCAST) {
		problem_in(
			p->problems, step->step->place, word,
			"%s is broadcast, and a broadcast stream cannot be partitioned again; partition what is in front of it",
			planner_origin_name(p, &step->step->origins[0]));
		return 0;
	}
	if (strcmp(word, "global") == 0 && at->kind == FLOW_STREAM_GLOBAL) {
		problem_in(p->problems, step->step->place, word, "%s is global already; take this away",
				   planner_origin_name(p, &step->step->origins[0]));
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

/* The setting below `s` that the text begins with the place of ("late.conf:12: "), or NULL. Of several in a line, what they stand in. */
static const setting *
named_setting(const setting *s, const char *text)
{
	size_t length = s->origin == NULL ? 0 : strlen(s->origin);
	if (s->kind != SETTING_GROUP && length != 0 && strncmp(text, s->origin, length) == 0 &&
		strncmp(text + length, ": ", 2) == 0)
		return s;
	for (size_t i = 0; i < s->child_count; i++) {
		const setting *found = named_setting(s->children[i], text);
		if (found == NULL)
			continue;
		for (size_t k = i + 1; k < s->child_count; k++)
			if (named_setting(s->children[k], text) != NULL && s->origin != NULL &&
				strcmp(s->origin, found->origin) == 0)
				return s;
		return found;
	}
	return NULL;
}

/* A plugin's error at its place: the option that it names, or whose place its text starts with, else the step. */
static void
report_bind_error(planner *p, const plan_step *step, flow_status status, const flow_error *error)
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
	problem_at(p->problems, at == NULL ? step->step->place : at, "%s%s", text,
			   planner_is_about_types(status) ? planner_came_from(p, step, step->step->second == NULL ? 1 : 2) : "");
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

/* What leaves the function by one of its outputs. */
static void
settle_output(planner *p, uint32_t number, const flow_function_plan *function, const plan_cursor *inputs,
			  uint32_t output, plan_cursor *out)
{
	const plan_cursor *input = &inputs[0]; /* of two it is never the broadcast one, and both have the same keys */
	int keyed = input->kind == FLOW_STREAM_KEYED && function->keeps_key;
	const flow_schema *key_schema = function->keeps_key ? input->key_schema : NULL;
	if (function->output_keys[output] != NULL)
		key_schema = planner_own_schema(p, schema_retain(function->output_keys[output]));
	*out = (plan_cursor){
		.node = number,
		.output = output,
		.partitioning = EDGE_FORWARD,
		.kind = keyed                               ? FLOW_STREAM_KEYED
				: input->kind == FLOW_STREAM_GLOBAL ? FLOW_STREAM_GLOBAL
													: FLOW_STREAM_NON_KEYED,
		.schema =
			function->outputs[output] == NULL ? NULL : planner_own_schema(p, schema_retain(function->outputs[output])),
		.key_schema = key_schema,
		.key_text = keyed ? input->key_text : NULL,
	};
	plan_operator *o = &p->nodes[number]->operator;
	o->schema[output] = out->schema;
	o->key_schema[output] = out->key_schema;
	o->stream_kind[output] = out->kind;
}

static void
fill_operator(planner *p, uint32_t number, plan_step *step, const flow_function_plan *function,
			  const struct binding *bound, const plan_cursor inputs[2])
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
	settle_output(p, number, function, inputs, 0, &step->out[0]);
	if (function->outputs[1] != NULL)
		settle_output(p, number, function, inputs, 1, &step->out[1]);
	node->key_text = step->out[0].key_text;
}

static flow_status
call_bind(planner *p, plan_step *step, const plan_cursor inputs[2], uint32_t count, flow_function_plan *function,
		  struct binding *bound, flow_error *error)
{
	flow_function_input shown[2];
	const flow_function_input *const list[2] = { &shown[0], &shown[1] };
	int swapped = step->swapped;
	for (uint32_t i = 0; i < count; i++) {
		int keyed = inputs[i].kind == FLOW_STREAM_KEYED;
		shown[i] = (flow_function_input){
			.struct_size = FLOW_SIZEOF(flow_function_input),
			.stream = inputs[i].kind,
			.schema = inputs[i].schema,
			.key_schema = keyed ? inputs[i].key_schema : NULL,
			.key_text = flow_slice_of(keyed ? inputs[i].key_text : NULL),
			.bounded = planner_input_ends(p, step, swapped ? 1 - i : i),
		};
	}
	*function = (flow_function_plan){ .struct_size = FLOW_SIZEOF(flow_function_plan) };
	bound->ops = step->step->component->ops;
	plan_tables_serve(p);
	flow_status status = bound->ops->bind(p->host, step->options, list, count, function, &bound->binding, error);
	const char *table = plan_tables_missed();
	plan_tables_serve(NULL);
	if (status >= 0 || table == NULL)
		return error_settle(error, status, "bind");
	step->waits_for = table;
	return FLOW_AGAIN;
}

static int
check_inputs(planner *p, const plan_step *step, plan_cursor inputs[2], uint32_t count)
{
	const graph_step *written = step->step;
	if (count == 2)
		return planner_check_pair(p, step, &inputs[0], &inputs[1]);
	if (inputs[0].kind != FLOW_STREAM_BROADCAST)
		return 1;
	problem_at(
		p->problems, written->place,
		"a broadcast stream can only be one side of a function with two inputs; '%s' has one: %s is broadcast, so "
		"connect it to another stream",
		written->function, planner_origin_name(p, &written->origins[0]));
	return 0;
}

/* The broadcast side is input 1, whichever side the user wrote first. */
static uint32_t
second_cursor(planner *p, plan_step *step, plan_cursor inputs[2])
{
	inputs[1] = (plan_cursor){ .node = PLAN_NONE };
	if (step->step->second == NULL)
		return STEP_BOUND;
	uint32_t state = planner_second_input(p, step, &inputs[1]);
	step->swapped =
		state == STEP_BOUND && inputs[0].kind == FLOW_STREAM_BROADCAST && inputs[1].kind != FLOW_STREAM_BROADCAST;
	if (step->swapped) {
		plan_cursor first = inputs[0];
		inputs[0] = inputs[1];
		inputs[1] = first;
	}
	return state;
}

static uint32_t
bind_function(planner *p, plan_step *step, plan_cursor *at)
{
	step->out[0] = *at;
	step->out[1] = (plan_cursor){ .node = PLAN_NONE };
	if (step->step->function == NULL && step->step->second != NULL) {
		problem_at(p->problems, step->step->second->place,
				   "the step has a second input, but no function that takes it");
		return STEP_FAILED;
	}
	if (step->step->function == NULL)
		return STEP_BOUND;
	plan_cursor inputs[2] = { *at };
	uint32_t count = step->step->second == NULL ? 1 : 2, state = second_cursor(p, step, inputs);
	if (state != STEP_BOUND)
		return state;
	if (!check_inputs(p, step, inputs, count))
		return STEP_FAILED;
	struct binding *bound = planner_allocate(p, sizeof(*bound));
	if (bound == NULL)
		return STEP_FAILED;
	flow_function_plan function;
	flow_error error = { 0 };
	flow_status status = call_bind(p, step, inputs, count, &function, bound, &error);
	if (status < 0)
		report_bind_error(p, step, status, &error);
	error_clear(&error);
	if (status != FLOW_OK)
		return status == FLOW_AGAIN ? STEP_WAITING : STEP_FAILED;
	if (!arena_on_destroy(p->arena, unbind, bound)) {
		p->failed = 1;
		return STEP_FAILED;
	}
	step->waits_for = NULL;
	size_t index = step->step->index;
	if (!plan_check_function(p, step, &function, inputs, count) || !plan_tables_written(p, index, &function, at) ||
		!plan_bind_event_time(p, step, inputs, count, &function))
		return STEP_FAILED;
	uint32_t number = planner_add_node(p, OPERATOR_FUNCTION, index, 2, step->step->place);
	if (number == PLAN_NONE)
		return STEP_FAILED;
	for (uint32_t i = 0; i < count; i++)
		planner_add_link(p, &inputs[i], number, i, step->step->place);
	fill_operator(p, number, step, &function, bound, inputs);
	return p->failed ? STEP_FAILED : STEP_BOUND;
}

/* Takes back the last nodes and links: of a step that waits for a table and is bound again later. */
static void
take_back(planner *p, uint32_t nodes, uint32_t links)
{
	while (p->link_count > links)
		p->nodes[p->links[--p->link_count].from]->output_count--;
	while (p->node_count > nodes) {
		const plan_operator *o = &p->nodes[--p->node_count]->operator;
		if (o->kind == OPERATOR_SOURCE)
			p->source_nodes[o->stream] = p->input_nodes[o->stream] = PLAN_NONE;
	}
}

static uint32_t
bind_step(planner *p, plan_step *step)
{
	plan_cursor at = { .node = PLAN_NONE };
	uint32_t nodes = p->node_count, links = p->link_count;
	uint32_t state = planner_first_input(p, step, &at);
	if (state != STEP_BOUND) {
		take_back(p, nodes, links);
		return state;
	}
	if (step->step->bad || (step->step->function != NULL && (step->step->component == NULL || step->options == NULL)))
		return STEP_FAILED;
	if (!plan_bind_key(p, step, &at) || !bind_partition(p, step, &at))
		return STEP_FAILED;
	state = bind_function(p, step, &at);
	if (state == STEP_WAITING) {
		take_back(p, nodes, links);
		return state;
	}
	if (state == STEP_BOUND && step->step->to != NULL && !plan_bind_sink(p, step, &step->out[0]))
		return STEP_FAILED;
	if (state == STEP_BOUND)
		step->ends = planner_input_ends(p, step, 0) && (step->step->second == NULL || planner_input_ends(p, step, 1));
	return state;
}

/* --- options
 * ----------------------------------------------------------------------------------------------------------------- */

/* For `flowd explain`: steps without a name have no keys. */
static void
put_step_defaults(planner *p, const plan_step *step)
{
	const char *name = step->step->name;
	if (name == NULL)
		return;
	planner_put_defaults(p, "operators", name, &operator_options, step->step->component, "", step->group);
	planner_put_derived(p, "operators", name, "record_errors", record_errors_name(p->record_errors), "that of the job");
}

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
	put_step_defaults(p, step);
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
