/* Transformers: which one an input has, what it makes of the records, and how the runtime calls it: as a function. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/schema.h"
#include "graph/planner.h"

struct transforming {
	const flow_transformer_ops *ops;
	void *binding;
};

static void
unbind(void *owner)
{
	struct transforming *bound = owner;
	if (FLOW_CAN(bound->ops, unbind))
		bound->ops->unbind(bound->binding);
}

/* The component that the stream's `transformer` names, or that its system has; NULL: none, or reported. */
static const flow_component *
transformer_of(planner *p, const plan_stream *stream, const setting *s, const flow_options **options)
{
	const flow_component *system = p->plan->systems[stream->system].component;
	if (s != NULL && s->kind == SETTING_STRING && strcmp(s->text, "none") == 0)
		return NULL;
	if (s != NULL) {
		const flow_component *named = planner_component_setting(p, FLOW_TRANSFORMER, s, options);
		if (named != NULL)
			planner_put_part_defaults(p, "streams", stream->id, "transformer", NULL, named, s);
		return named;
	}
	if ((system->flags & FLOW_SYSTEM_TRANSFORMS) == 0)
		return NULL;
	const flow_component *component = planner_component(p, FLOW_TRANSFORMER, system->id, stream->place);
	if (component != NULL)
		*options = planner_resolve(p, NULL, component, "", NULL, stream->place, component->id, NULL);
	return component;
}

int
plan_transform(planner *p, plan_stream *stream, const setting *group)
{
	size_t before = p->problems->errors;
	const setting *s = setting_child(group, "transformer");
	const flow_options *options = NULL;
	const flow_component *component = transformer_of(p, stream, s, &options);
	if (component == NULL || options == NULL || p->problems->errors != before)
		return p->problems->errors == before;
	struct transforming *bound = planner_allocate(p, sizeof(*bound));
	if (bound == NULL)
		return 0;
	bound->ops = component->ops;
	const flow_schema *schema = NULL;
	flow_error error = { 0 };
	flow_status status =
		bound->ops->bind(p->host, options, stream->schema, stream->key_schema, &schema, &bound->binding, &error);
	if (status != FLOW_OK || schema == NULL) {
		const setting *at = s == NULL || error.option == NULL ? s : setting_child(s, error.option);
		problem_at(p->problems, at == NULL ? stream->place : at, "input '%s': transformer '%s': %s", stream->id,
				   component->id, status != FLOW_OK ? error_message(&error) : "it does not say what its results are");
		error_clear(&error);
		return 0;
	}
	planner_own_schema(p, schema);
	if (!arena_on_destroy(p->arena, unbind, bound)) {
		p->failed = 1;
		return 0;
	}
	stream->transformer = (plan_transformer){ component, options, bound, schema };
	return !p->failed;
}

/* --- its calls, as those of a function
 * ----------------------------------------------------------------------------------------------- */

struct flow_function {
	const flow_transformer_ops *ops;
	flow_transformer *transformer;
};

static flow_status
function_open(void *binding, flow_context *context, flow_function **function, flow_error *error)
{
	const struct transforming *bound = binding;
	flow_function *made = memory_allocate_zeroed(sizeof(*made));
	if (made == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	made->ops = bound->ops;
	flow_status status =
		error_settle(error, bound->ops->init(bound->binding, context, &made->transformer, error), "init");
	if (status != FLOW_OK) {
		memory_release(made);
		return status;
	}
	*function = made;
	return FLOW_OK;
}

static flow_status
function_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	return function->ops->apply(function->transformer, batch, error);
}

static void
function_close(flow_function *function)
{
	function->ops->close(function->transformer);
	memory_release(function);
}

static const flow_function_ops function_ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.open = function_open,
	.process = function_process,
	.close = function_close,
};

uint32_t
plan_transformer_node(planner *p, const plan_stream *stream, const plan_cursor *source)
{
	const plan_transformer *transformer = &stream->transformer;
	uint32_t number = planner_add_node(p, OPERATOR_TRANSFORMER, GRAPH_NONE, 0, stream->place);
	if (number == PLAN_NONE)
		return PLAN_NONE;
	plan_operator *o = &p->nodes[number]->operator;
	p->nodes[number]->base_name = planner_owned_format(p, "%s_%s", stream->id, transformer->component->id);
	o->component = transformer->component;
	o->ops = &function_ops;
	o->options = transformer->options;
	o->binding = transformer->binding;
	o->title = planner_owned_format(p, "transform %s", transformer->component->id);
	o->record_errors = stream->record_errors;
	o->function = (flow_function_plan){ .struct_size = FLOW_SIZEOF(flow_function_plan),
										.outputs = { transformer->schema },
										.keeps_key = 1 };
	o->schema[0] = transformer->schema;
	o->key_schema[0] = stream->key_schema;
	o->stream_kind[0] = FLOW_STREAM_NON_KEYED;
	planner_add_link(p, source, number, 0, stream->place);
	return number;
}
