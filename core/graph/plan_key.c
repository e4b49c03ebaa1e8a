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

static flow_expression *
compile(planner *p, const char *text, const flow_schema *schema, const setting *place)
{
	flow_expression *expression = NULL;
	flow_error error = { 0 };
	flow_status status =
		expressions_service.compile(flow_slice_of(text), schema, flow_slice_make(NULL, 0), &expression, &error);
	if (status != FLOW_OK)
		problem_at(p->problems, place, "%s", error_message(&error));
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
part_schema(planner *p, const flow_expression *expression, const setting *place)
{
	const flow_schema *type = expressions_service.type(expression);
	if (type->kind == FLOW_KIND_NULL) {
		problem_at(p->problems, place, "the key is always null");
		return NULL;
	}
	if (!has_key_form(type)) {
		problem_at(p->problems, place, "a map cannot be part of a key");
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
record_key(planner *p, flow_expression *const *keys, const setting *s, const flow_schema *input)
{
	flow_field_spec **specs = planner_allocate(p, (s->child_count + 1) * sizeof(*specs));
	for (size_t i = 0; i < s->child_count && !p->failed; i++) {
		const flow_schema *part = part_schema(p, keys[i], s->children[i]);
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
compile_keys(planner *p, const setting *s, const flow_schema *input, flow_expression **keys)
{
	if (s->kind == SETTING_STRING) {
		keys[0] = compile(p, s->text, input, s);
		return keys[0] == NULL ? NULL : part_schema(p, keys[0], s);
	}
	int good = 1;
	for (size_t i = 0; i < s->child_count; i++) {
		keys[i] = compile(p, s->children[i]->text, input, s->children[i]);
		good &= keys[i] != NULL;
	}
	if (!good)
		return NULL;
	return s->child_count == 1 ? part_schema(p, keys[0], s->children[0]) : record_key(p, keys, s, input);
}

int
plan_bind_key(planner *p, plan_step *step, plan_cursor *at)
{
	const setting *s = step->step->key_by;
	if (s == NULL)
		return 1;
	if (at->kind == FLOW_STREAM_BROADCAST) {
		problem_at(p->problems, s, "a broadcast stream cannot be partitioned again");
		return 0;
	}
	size_t count = s->kind == SETTING_STRING ? 1 : s->child_count;
	flow_expression **keys = planner_allocate(p, count * sizeof(*keys));
	const flow_schema *schema = keys == NULL ? NULL : compile_keys(p, s, at->schema, keys);
	uint32_t number = schema == NULL ? PLAN_NONE : planner_add_node(p, OPERATOR_KEY_BY, step->step->index, 1, s);
	if (number == PLAN_NONE)
		return 0;
	plan_node *node = p->nodes[number];
	plan_operator *o = &node->operator;
	planner_add_link(p, at->node, number, at->partitioning, s);
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
	*at = (plan_cursor){ number, EDGE_KEY, FLOW_STREAM_KEYED, at->schema, schema, node->key_text };
	return !p->failed;
}

/* --- event time
 * ---------------------------------------------------------------------------------------------------------------- */

/* How many steps take their records directly from this one. */
static uint32_t
consumers_of_step(const planner *p, size_t step)
{
	uint32_t count = 0;
	for (size_t i = 0; i < p->graph->step_count; i++)
		count += p->graph->steps[i]->from_step == step;
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

static int
comes_with_event_time(const planner *p, uint32_t node)
{
	while (p->nodes[node]->operator.kind != OPERATOR_EVENT_TIME) {
		if (p->nodes[node]->input_link == PLAN_NONE)
			return 0;
		node = p->links[p->nodes[node]->input_link].from;
	}
	return 1;
}

static int
check_time_type(planner *p, const flow_expression *time, const char *text, const setting *place)
{
	const flow_schema *type = expressions_service.type(time);
	if (type->kind == FLOW_KIND_TIMESTAMP || type->kind == FLOW_KIND_DATE || type->kind == FLOW_KIND_ANY)
		return 1;
	char name[64];
	schema_print(type, 1, name, sizeof(name));
	problem_at(p->problems, place, "event time '%s' is %s, not a timestamp; try cast(%s as timestamp)", text, name,
			   text);
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

static void
insert_event_time(planner *p, uint32_t number, uint32_t key, plan_cursor *at, const setting *place)
{
	plan_operator *o = &p->nodes[number]->operator;
	uint32_t input = at->node;
	if (key != PLAN_NONE) {
		uint32_t link = p->nodes[key]->input_link;
		input = p->links[link].from;
		planner_add_link(p, input, number, p->links[link].partitioning, place);
		p->links[link].from = number;
		p->links[link].partitioning = EDGE_FORWARD;
		p->nodes[input]->output_count--;
		p->nodes[number]->output_count++;
	} else {
		planner_add_link(p, input, number, at->partitioning, place);
		at->node = number;
		at->partitioning = EDGE_FORWARD;
	}
	const plan_operator *before = &p->nodes[input]->operator;
	o->schema[0] = at->schema;
	o->key_schema[0] = key == PLAN_NONE ? at->key_schema : before->key_schema[0];
	o->stream_kind[0] = key == PLAN_NONE ? at->kind : before->stream_kind[0];
	p->nodes[number]->key_text = key == PLAN_NONE ? at->key_text : p->nodes[input]->key_text;
}

int
plan_bind_event_time(planner *p, plan_step *step, plan_cursor *at, const flow_function_plan *function)
{
	const setting *place = step->step->place;
	if (function->event_time == NULL) {
		if (!function->needs_event_time || comes_with_event_time(p, at->node))
			return 1;
		problem_at(p->problems, place,
				   "'%s' works by event time, but its records have none: name the field that holds it",
				   step->step->function);
		return 0;
	}
	const char *text = arena_copy_text(p->arena, function->event_time);
	const setting *written = text == NULL || step->group == NULL ? NULL : place_of_text(step->group, text);
	if (written != NULL)
		place = written;
	flow_expression *time = text == NULL ? NULL : compile(p, text, at->schema, place);
	if (time == NULL || !check_time_type(p, time, text, place))
		return 0;
	uint32_t key = first_key_by(p, step, at);
	size_t owner = key == PLAN_NONE ? step->step->index : p->nodes[key]->step;
	uint32_t number = planner_add_node(p, OPERATOR_EVENT_TIME, owner, key == PLAN_NONE ? 1 : 0, place);
	if (number == PLAN_NONE)
		return 0;
	plan_operator *o = &p->nodes[number]->operator;
	const char *name = step->step->name == NULL ? step->step->function : step->step->name;
	p->nodes[number]->base_name = planner_owned_format(p, "%s_time", name);
	o->event_time = time;
	o->out_of_order = function->out_of_order;
	o->idle_after = function->idle_after;
	o->title = planner_owned_format(p, "event time %s", text);
	insert_event_time(p, number, key, at, place);
	return !p->failed;
}
