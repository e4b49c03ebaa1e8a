/* Keys and event times: the operators that the planner itself puts into the flow. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/schema.h"
#include "expr/expression.h"
#include "graph/planner.h"

static void
release_expression(void *owner)
{
	expressions_service.release(owner);
}

flow_expression *
plan_compile(planner *p, const char *text, const flow_schema *schema, const setting *place, const char *came_from)
{
	flow_expression *expression = NULL;
	flow_error error = { 0 };
	flow_status status =
		expressions_service.compile(flow_slice_of(text), schema, flow_slice_make(NULL, 0), &expression, &error);
	if (status != FLOW_OK)
		problem_at(p->problems, place, "%s%s", error_message(&error), planner_is_about_types(status) ? came_from : "");
	error_clear(&error);
	if (status != FLOW_OK)
		return NULL;
	if (arena_on_destroy(p->arena, release_expression, expression))
		return expression;
	p->failed = 1;
	return NULL;
}

/* --- keys
 * -------------------------------------------------------------------------------------------------------------------
 * */

static int
has_key_form(const flow_schema *schema)
{
	if (schema->kind == FLOW_KIND_MAP)
		return 0;
	if (schema->kind == FLOW_KIND_LIST)
		return has_key_form(schema->element);
	for (uint32_t i = 0; i < schema->field_count; i++)
		if (!has_key_form(schema->fields[i]->schema))
			return 0;
	return 1;
}

static const flow_schema *
part_schema(planner *p, const flow_expression *expression, const setting *place, const char *came_from)
{
	const flow_schema *type = expressions_service.type(expression);
	if (type->kind == FLOW_KIND_NULL) {
		problem_at(p->problems, place, "the key is always null%s", came_from);
		return NULL;
	}
	if (!has_key_form(type)) {
		problem_at(p->problems, place, "a map cannot be part of a key%s", came_from);
		return NULL;
	}
	const flow_schema *schema = schema_with_nullable(type, 0);
	p->failed |= schema == NULL;
	return planner_own_schema(p, schema);
}

/* Parts of a key are called like their field, or by their number. */
static flow_slice
part_name(planner *p, const flow_expression *expression, const flow_schema *input, size_t index,
		  flow_field_spec *const *before)
{
	int32_t field = expression_plain_field(expression);
	flow_slice name =
		field < 0 ? flow_slice_of(planner_owned_format(p, "key_%zu", index + 1)) : input->fields[field]->name;
	for (size_t i = 0; i < index; i++)
		if (flow_slice_equal(before[i]->name, name))
			return flow_slice_of(planner_owned_format(p, "%.*s_%zu", (int)name.size, name.data, index + 1));
	return name;
}

static const flow_schema *
record_key(planner *p, flow_expression *const *keys, const setting *s, const flow_schema *input, const char *came_from)
{
	flow_field_spec **specs = planner_allocate(p, (s->child_count + 1) * sizeof(*specs));
	for (size_t i = 0; i < s->child_count && !p->failed; i++) {
		const flow_schema *part = part_schema(p, keys[i], s->children[i], came_from);
		specs[i] = planner_allocate(p, sizeof(**specs));
		if (part == NULL || specs[i] == NULL)
			return NULL;
		*specs[i] = (flow_field_spec){ .struct_size = FLOW_SIZEOF(flow_field_spec), .schema = part };
		specs[i]->name = part_name(p, keys[i], input, i, specs);
	}
	if (p->failed)
		return NULL;
	const flow_schema *schema =
		schema_make_record(flow_slice_of("key"), (const flow_field_spec *const *)specs, (uint32_t)s->child_count, NULL);
	p->failed |= schema == NULL;
	return planner_own_schema(p, schema);
}

static const char *
key_text(planner *p, const setting *s)
{
	const char *text = s->text;
	for (size_t i = 0; s->kind != SETTING_STRING && i < s->child_count && !p->failed; i++)
		text = i == 0 ? s->children[0]->text : planner_owned_format(p, "%s, %s", text, s->children[i]->text);
	return text;
}

static const flow_schema *
compile_keys(planner *p, const plan_step *step, const flow_schema *input, flow_expression **keys)
{
	const setting *s = step->step->key_by;
	const char *came_from = planner_came_from(p, step, 1);
	if (s->kind == SETTING_STRING) {
		keys[0] = plan_compile(p, s->text, input, s, came_from);
		return keys[0] == NULL ? NULL : part_schema(p, keys[0], s, came_from);
	}
	int good = 1;
	for (size_t i = 0; i < s->child_count; i++) {
		keys[i] = plan_compile(p, s->children[i]->text, input, s->children[i], came_from);
		good &= keys[i] != NULL;
	}
	if (!good)
		return NULL;
	return s->child_count == 1 ? part_schema(p, keys[0], s->children[0], came_from)
							   : record_key(p, keys, s, input, came_from);
}

int
plan_bind_key(planner *p, plan_step *step, plan_cursor *at)
{
	const setting *s = step->step->key_by;
	if (s == NULL)
		return 1;
	if (at->kind == FLOW_STREAM_BROADCAST) {
		problem_at(
			p->problems, s,
			"%s is broadcast, and a broadcast stream cannot be partitioned again; partition what is in front of it",
			planner_origin_name(p, &step->step->origins[0]));
		return 0;
	}
	size_t count = s->kind == SETTING_STRING ? 1 : s->child_count;
	flow_expression **keys = planner_allocate(p, count * sizeof(*keys));
	const flow_schema *schema = keys == NULL ? NULL : compile_keys(p, step, at->schema, keys);
	uint32_t number = schema == NULL ? PLAN_NONE : planner_add_node(p, OPERATOR_KEY_BY, step->step->index, 1, s);
	if (number == PLAN_NONE)
		return 0;
	plan_node *node = p->nodes[number];
	plan_operator *o = &node->operator;
	planner_add_link(p, at, number, 0, s);
	const char *name = step->step->name;
	node->given_name = step->step->function == NULL ? name : NULL;
	node->base_name = name == NULL ? "key_by" : planner_owned_format(p, "%s_key", name);
	node->key_text = key_text(p, s);
	o->keys = keys;
	o->key_count = (uint32_t)count;
	o->title = planner_owned_format(p, "key by %s", node->key_text == NULL ? "" : node->key_text);
	o->schema[0] = at->schema;
	o->key_schema[0] = schema;
	o->stream_kind[0] = FLOW_STREAM_KEYED;
	*at = (plan_cursor){ .node = number,
						 .partitioning = EDGE_KEY,
						 .kind = FLOW_STREAM_KEYED,
						 .schema = at->schema,
						 .key_schema = schema,
						 .key_text = node->key_text };
	return !p->failed;
}

/* --- event time
 * ---------------------------------------------------------------------------------------------------------------- */

/* How many steps take their records directly from this one. */
static uint32_t
consumers_of_step(const planner *p, size_t step)
{
	uint32_t count = 0;
	for (size_t i = 0; i < p->graph->step_count; i++) {
		const graph_step *other = p->graph->steps[i];
		for (size_t k = 0; k < other->origin_count; k++)
			count += other->origins[k].step == step;
		count += other->second != NULL && other->second->step == step;
	}
	return count;
}

/* The key_by that the records come through and that only they come through: event time is assigned in front of it,
 * where records are in the order of their partition. PLAN_NONE: there is none. */
static uint32_t
first_key_by(planner *p, const plan_step *step, const plan_cursor *at)
{
	uint32_t found = PLAN_NONE, node = at->node;
	while (p->nodes[node]->operator.kind == OPERATOR_KEY_BY) {
		size_t owner = p->nodes[node]->step;
		uint32_t others = owner == step->step->index ? 0 : consumers_of_step(p, owner) - 1;
		if (others != 0 || p->nodes[node]->output_count != (node == at->node ? 0 : 1))
			break;
		found = node;
		node = p->links[p->nodes[node]->input_link].from;
	}
	return found;
}

/* Every way that leads to the node comes through an assignment of event time. Links were made before those that they lead
 * to only where the flow goes on, so they are walked, each once. */
static int
comes_with_event_time(planner *p, uint32_t start)
{
	uint8_t *seen = planner_allocate(p, p->node_count);
	uint32_t *stack = planner_allocate(p, (p->node_count + 1) * sizeof(*stack)), depth = 0;
	if (p->failed)
		return 0;
	stack[depth++] = start;
	seen[start] = 1;
	while (depth != 0) {
		uint32_t node = stack[--depth];
		if (p->nodes[node]->operator.kind == OPERATOR_EVENT_TIME)
			continue;
		if (p->nodes[node]->input_link == PLAN_NONE)
			return 0;
		for (uint32_t i = 0; i < p->link_count; i++) {
			if (p->links[i].to != node || seen[p->links[i].from])
				continue;
			seen[p->links[i].from] = 1;
			stack[depth++] = p->links[i].from;
		}
	}
	return 1;
}

static int
check_time_type(planner *p, const flow_expression *time, const char *text, const setting *place, const char *came_from)
{
	const flow_schema *type = expressions_service.type(time);
	if (type->kind == FLOW_KIND_TIMESTAMP || type->kind == FLOW_KIND_DATE || type->kind == FLOW_KIND_ANY)
		return 1;
	char name[64];
	schema_print(type, 1, name, sizeof(name));
	problem_at(p->problems, place, "event time '%s' is %s, not a timestamp; try cast(%s as timestamp)%s", text, name,
			   text, came_from);
	return 0;
}

/* The option that holds the expression, for messages: a string below the step's options with just this text. */
static const setting *
place_of_text(const setting *s, const char *text)
{
	if (s->kind == SETTING_STRING && strcmp(s->text, text) == 0)
		return s;
	for (size_t i = 0; i < s->child_count; i++) {
		const setting *found = place_of_text(s->children[i], text);
		if (found != NULL)
			return found;
	}
	return NULL;
}

static uint32_t
event_time_node(planner *p, const plan_step *step, size_t owner, const flow_function_plan *function,
				flow_expression *time, const setting *place)
{
	uint32_t number = planner_add_node(p, OPERATOR_EVENT_TIME, owner, 0, place);
	if (number == PLAN_NONE)
		return PLAN_NONE;
	plan_operator *o = &p->nodes[number]->operator;
	const char *name = step->step->name == NULL ? step->step->function : step->step->name;
	p->nodes[number]->base_name = planner_owned_format(p, "%s_time", name);
	o->event_time = time;
	o->out_of_order = function->out_of_order;
	o->idle_after = function->idle_after;
	o->title = planner_owned_format(p, "event time %s", function->event_time);
	return number;
}

static void
describe_like(planner *p, uint32_t number, const plan_cursor *before)
{
	plan_operator *o = &p->nodes[number]->operator;
	o->schema[0] = before->schema;
	o->key_schema[0] = before->key_schema;
	o->stream_kind[0] = before->kind;
	p->nodes[number]->key_text = before->key_text;
}

static uint32_t
kind_behind(uint32_t partitioning, uint32_t kind)
{
	switch (partitioning) {
	case EDGE_KEY:
		return FLOW_STREAM_KEYED;
	case EDGE_SHUFFLE:
		return FLOW_STREAM_NON_KEYED;
	case EDGE_GLOBAL:
		return FLOW_STREAM_GLOBAL;
	case EDGE_BROADCAST:
		return FLOW_STREAM_BROADCAST;
	default:
		return kind;
	}
}

/* In front of what a link leads to. */
static void
insert_into_link(planner *p, uint32_t link, uint32_t number, const setting *place)
{
	plan_node *before = p->nodes[p->links[link].from];
	uint32_t output = p->links[link].output;
	plan_cursor at = { .node = p->links[link].from,
					   .output = output,
					   .partitioning = p->links[link].partitioning,
					   .kind = kind_behind(p->links[link].partitioning, before->operator.stream_kind[output]),
					   .schema = before->operator.schema[output],
					   .key_schema = before->operator.key_schema[output],
					   .key_text = before->key_text };
	describe_like(p, number, &at);
	planner_add_link(p, &at, number, 0, place);
	p->links[link].from = number;
	p->links[link].output = 0;
	p->links[link].partitioning = EDGE_FORWARD;
	before->output_count--;
	p->nodes[number]->output_count++;
}

/* A key_by of the step's own where the one that it comes through serves others too: the same keys from the same records, so that
 * event time can be assigned in front of it. */
static uint32_t
own_key_by(planner *p, const plan_step *step, plan_cursor *at)
{
	const plan_node *shared = p->nodes[at->node];
	if (shared->operator.kind != OPERATOR_KEY_BY)
		return PLAN_NONE;
	uint32_t number = planner_add_node(p, OPERATOR_KEY_BY, step->step->index, 1, shared->operator.place);
	if (number == PLAN_NONE)
		return PLAN_NONE;
	plan_node *mine = p->nodes[number];
	shared = p->nodes[at->node];
	mine->base_name = shared->given_name != NULL ? shared->given_name : shared->base_name;
	mine->key_text = shared->key_text;
	mine->operator.keys = shared->operator.keys;
	mine->operator.key_count = shared->operator.key_count;
	mine->operator.title = shared->operator.title;
	mine->operator.schema[0] = shared->operator.schema[0];
	mine->operator.key_schema[0] = shared->operator.key_schema[0];
	mine->operator.stream_kind[0] = shared->operator.stream_kind[0];
	const plan_link *link = &p->links[shared->input_link];
	plan_cursor before = { .node = link->from, .output = link->output, .partitioning = link->partitioning };
	planner_add_link(p, &before, number, 0, shared->operator.place);
	at->node = number;
	at->output = 0;
	return number;
}

/* The merge that the records come from and that only they come from: what assigns event time goes in front of it, where
 * partitions are known. PLAN_NONE: there is none. */
static uint32_t
merge_in_front(const planner *p, const plan_step *step, uint32_t key, const plan_cursor *at)
{
	uint32_t node = key == PLAN_NONE ? at->node : p->links[p->nodes[key]->input_link].from;
	size_t owner = p->nodes[node]->step;
	int mine = p->nodes[node]->output_count == (key == PLAN_NONE ? 0u : 1u) &&
			   (owner == GRAPH_NONE || owner == step->step->index || consumers_of_step(p, owner) == 1);
	return p->nodes[node]->operator.kind == OPERATOR_MERGE && mine ? node : PLAN_NONE;
}

static int
time_merged_streams(planner *p, const plan_step *step, uint32_t merge, const flow_function_plan *function,
					flow_expression *time, const setting *place)
{
	uint32_t links = p->link_count;
	for (uint32_t i = 0; i < links && !p->failed; i++) {
		if (p->links[i].to != merge)
			continue;
		uint32_t number = event_time_node(p, step, p->nodes[merge]->step, function, time, place);
		if (number == PLAN_NONE)
			return 0;
		insert_into_link(p, i, number, place);
	}
	return !p->failed;
}

int
plan_bind_event_time(planner *p, plan_step *step, plan_cursor *inputs, uint32_t count,
					 const flow_function_plan *function)
{
	const setting *place = step->step->place;
	plan_cursor *at = &inputs[0];
	if (function->event_time == NULL) {
		if (!function->needs_event_time ||
			(comes_with_event_time(p, at->node) && (count == 1 || comes_with_event_time(p, inputs[1].node))))
			return 1;
		problem_at(p->problems, place,
				   "'%s' works by event time, but its records have none: name the field that holds it%s",
				   step->step->function, planner_came_from(p, step, count));
		return 0;
	}
	const char *text = arena_copy_text(p->arena, function->event_time);
	const setting *written = text == NULL || step->group == NULL ? NULL : place_of_text(step->group, text);
	if (written != NULL)
		place = written;
	const char *came_from = planner_came_from(p, step, count);
	flow_expression *time = text == NULL ? NULL : plan_compile(p, text, at->schema, place, came_from);
	if (time == NULL || !check_time_type(p, time, text, place, came_from))
		return 0;
	uint32_t key = first_key_by(p, step, at);
	if (key == PLAN_NONE)
		key = own_key_by(p, step, at);
	if (p->failed)
		return 0;
	uint32_t merge = merge_in_front(p, step, key, at);
	if (merge != PLAN_NONE)
		return time_merged_streams(p, step, merge, function, time, place);
	size_t owner = key == PLAN_NONE ? step->step->index : p->nodes[key]->step;
	uint32_t number = event_time_node(p, step, owner, function, time, place);
	if (number == PLAN_NONE)
		return 0;
	p->nodes[number]->rank = key == PLAN_NONE;
	if (key != PLAN_NONE) {
		insert_into_link(p, p->nodes[key]->input_link, number, place);
		return !p->failed;
	}
	describe_like(p, number, at);
	planner_add_link(p, at, number, 0, place);
	at->node = number;
	at->output = 0;
	at->partitioning = EDGE_FORWARD;
	return !p->failed;
}
