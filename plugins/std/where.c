/* where: keeps the rows for which a condition is true (not false, not null). */
#include "std.h"

struct where_binding {
	struct services services;
	flow_expression *condition;
	uint8_t *reads;
	int32_t *passes;
};

struct flow_function {
	const struct where_binding *binding;
	flow_context *context;
};

static void
unbind(void *opaque)
{
	struct where_binding *binding = opaque;
	const flow_host *host = binding->services.host;
	if (binding->services.expressions != NULL)
		binding->services.expressions->release(binding->condition);
	host->release(binding->reads);
	host->release(binding->passes);
	host->release(binding);
}

static flow_status
compile(struct where_binding *binding, const flow_options *options, const flow_function_input *input, flow_error *error)
{
	const struct services *services = &binding->services;
	const flow_option_value *text = flow_option_get(options, "where");
	flow_status status =
		services->expressions->compile(text->text, input->schema, text->place, &binding->condition, error);
	if (status != FLOW_OK)
		return status;
	const flow_schema *type = services->expressions->type(binding->condition);
	if (type->kind != FLOW_KIND_BOOL && type->kind != FLOW_KIND_ANY && type->kind != FLOW_KIND_NULL) {
		char name[128];
		services->schemas->print(type, 1, name, sizeof(name));
		return flow_fail(services->host, error, FLOW_E_TYPE, "%.*s: the condition must be bool, but is %s: %s",
						 (int)text->place.size, text->place.data, name, text->text.data);
	}
	return FLOW_OK;
}

static flow_status
bind(const flow_host *host, const flow_options *options, const flow_function_input *const *inputs, uint32_t input_count,
	 flow_function_plan *plan, void **result, flow_error *error)
{
	(void)input_count;
	struct where_binding *binding = flow_new(host, sizeof(*binding));
	if (binding == NULL)
		return bound_no_memory(host, error);
	uint64_t fields = inputs[0]->schema->field_count + 1;
	flow_status status = services_find(host, &binding->services, error);
	binding->services.host = host;
	binding->reads = flow_new(host, fields);
	binding->passes = flow_new(host, fields * sizeof(*binding->passes));
	if (status == FLOW_OK && (binding->reads == NULL || binding->passes == NULL))
		status = bound_no_memory(host, error);
	if (status == FLOW_OK)
		status = compile(binding, options, inputs[0], error);
	if (status != FLOW_OK) {
		unbind(binding);
		return status;
	}
	bound_mark_reads(&binding->services, binding->condition, binding->reads);
	for (uint32_t i = 0; i < inputs[0]->schema->field_count; i++)
		binding->passes[i] = (int32_t)i;
	plan->outputs[0] = inputs[0]->schema;
	plan->keeps_key = 1;
	plan->reads[0] = binding->reads;
	plan->passes = binding->passes;
	*result = binding;
	return FLOW_OK;
}

static flow_status
open_function(void *binding, flow_context *context, flow_function **result, flow_error *error)
{
	const struct where_binding *bound = binding;
	flow_function *function = flow_new(bound->services.host, sizeof(*function));
	if (function == NULL)
		return bound_no_memory(bound->services.host, error);
	function->binding = bound;
	function->context = context;
	*result = function;
	return FLOW_OK;
}

/* A row whose condition failed is rejected; it was not selected. */
static flow_status
reject_failed(flow_function *function, const flow_batch *batch, const flow_status *statuses, const flow_slice *reasons,
			  flow_error *error)
{
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		if (statuses[row] >= 0)
			continue;
		flow_status status =
			function->context->ops->reject(function->context, batch, row, statuses[row], reasons[row], error);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

static flow_status
process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	const struct services *services = &function->binding->services;
	flow_output *output = function->context->outputs[0];
	flow_builder *scratch = function->context->ops->scratch(function->context);
	flow_status *statuses;
	flow_slice *reasons;
	uint32_t *selection = flow_builder_alloc(scratch, ((uint64_t)batch->selected_count + 1) * sizeof(*selection));
	if (selection == NULL || !bound_status_arrays(scratch, batch, &statuses, &reasons))
		return bound_no_memory(services->host, error);
	uint32_t count = 0;
	flow_status status = services->expressions->select(function->binding->condition, batch, scratch, selection, &count,
													   statuses, reasons, error);
	if (status == FLOW_OK)
		status = reject_failed(function, batch, statuses, reasons, error);
	if (status != FLOW_OK || count == 0)
		return status;
	if (count == batch->selected_count)
		return output->forward(output, batch, NULL, error);
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns),
							 .selection = selection,
							 .selected_count = count };
	return output->forward(output, batch, &columns, error);
}

static void
close_function(flow_function *function)
{
	function->binding->services.host->release(function);
}

static const flow_function_ops ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.bind = bind,
	.unbind = unbind,
	.open = open_function,
	.process = process,
	.close = close_function,
};

static const flow_option condition_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_EXPRESSION,
	.flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_PRIMARY,
	.name = "where",
	.doc = "A condition over the fields of the record. Records for which it is true pass; false and null do not.",
	.example = "\"dep_delay > 15\"",
};
static const flow_option *const option_list[] = { &condition_option, NULL };
static const flow_option_set option_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "Keeps records by a condition.",
	.options = option_list,
};
static const flow_option_set *const option_sets[] = { &option_set, NULL };

const flow_component where_component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_FUNCTION,
	.id = "where",
	.doc = "Keeps the records for which a condition is true.",
	.option_sets = option_sets,
	.ops = &ops,
};
