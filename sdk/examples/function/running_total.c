/*
 * A process function in one file: { running_total = "amount"; } behind a key_by adds the field `total`, the sum of
 * `amount` over the records of the key so far. The sums are keyed state: they survive kill -9, without any code here.
 */
#include "flow_sdk/plugin.h"

static const flow_host *host;

/* What bind settles: which field, and the schema of the results. */
struct binding {
	const flow_schema *output;
	uint32_t field;
};

struct flow_function {
	const struct binding *binding;
	flow_context *context;
};

static const flow_state_declaration sums = { .struct_size = FLOW_SIZEOF(flow_state_declaration),
	.kind = FLOW_STATE_SLOT, .slot_size = sizeof(int64_t), .name = "sums", .layout = "sum:i64" };
static const flow_state_declaration *const states[] = { &sums, NULL };

/* The input's fields and `total` behind them. */
static const flow_schema *
output_schema(const flow_schemas *schemas, const flow_schema *input, flow_error *error)
{
	flow_field_spec specs[256];
	const flow_field_spec *fields[256];
	uint32_t count = input->field_count;
	const flow_schema *type = schemas->parse_type(flow_slice_of("int64"), error);
	for (uint32_t i = 0; i <= count; i++) {
		specs[i] = (flow_field_spec){ .struct_size = FLOW_SIZEOF(flow_field_spec),
			                          .name = i < count ? input->fields[i]->name : flow_slice_of("total"),
			                          .schema = i < count ? input->fields[i]->schema : type };
		fields[i] = &specs[i];
	}
	const flow_schema *output =
		type == NULL ? NULL : schemas->make_record(flow_slice_of("totals"), fields, count + 1, error);
	schemas->release(type);
	return output;
}

static flow_status
total_bind(const flow_host *the_host, const flow_options *options, const flow_function_input *const *inputs,
           uint32_t count, flow_function_plan *plan, void **binding, flow_error *error)
{
	(void)count;
	host = the_host;
	const flow_schemas *schemas = host->get_service(FLOW_SERVICE_SCHEMAS);
	const flow_schema *input = inputs[0]->schema;
	flow_slice name = flow_option_text(options, "field");
	int32_t field = input->kind == FLOW_KIND_RECORD ? flow_schema_find(input, name) : -1;
	if (field < 0 || input->field_count >= 255)
		return flow_fail(host, error, FLOW_E_TYPE, "there is no field %s to add up", name.data);
	if (input->fields[field]->schema->kind != FLOW_KIND_INT64 && input->fields[field]->schema->kind != FLOW_KIND_INT32)
		return flow_fail(host, error, FLOW_E_TYPE, "field %s must be an integer: cast it", name.data);
	struct binding *settled = flow_new(host, sizeof(*settled));
	if (settled == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	settled->field = (uint32_t)field;
	settled->output = output_schema(schemas, input, error);
	if (settled->output == NULL) {
		host->release(settled);
		return FLOW_E_CONFIG;
	}
	plan->outputs[0] = settled->output;
	plan->keeps_key = plan->needs_keyed = 1;
	plan->states = states;
	*binding = settled;
	return FLOW_OK;
}

static void
total_unbind(void *binding)
{
	const flow_schemas *schemas = host->get_service(FLOW_SERVICE_SCHEMAS);
	schemas->release(((struct binding *)binding)->output);
	host->release(binding);
}

static flow_status
total_open(void *binding, flow_context *context, flow_function **function, flow_error *error)
{
	*function = flow_new(host, sizeof(**function));
	if (*function == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	**function = (struct flow_function){ binding, context };
	return FLOW_OK;
}

static flow_status
total_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	flow_context *context = function->context;
	const struct binding *binding = function->binding;
	flow_output *output = context->outputs[0];
	uint32_t fields = binding->output->field_count, kept = 0;
	flow_builder *memory = output->memory(output);
	uint32_t *rows = flow_builder_alloc(memory, batch->selected_count * sizeof(*rows));
	void **slots = flow_builder_alloc(memory, batch->selected_count * sizeof(*slots));
	flow_value *values = flow_builder_alloc(memory, batch->row_count * sizeof(*values));
	flow_value *cells = flow_builder_alloc(memory, (uint64_t)batch->selected_count * fields * sizeof(*cells));
	if (rows == NULL || slots == NULL || values == NULL || cells == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	for (FLOW_ROWS(batch, i))
		rows[i] = flow_row(batch, i);
	uint32_t count = batch->selected_count;
	flow_status status = context->ops->slots(context, 0, batch, rows, count, NULL, 1, slots, NULL, error);
	for (uint32_t i = 0; status == FLOW_OK && i < count; i++) {
		int64_t *sum = slots[i], total;
		const flow_value *amount = flow_batch_field(batch, rows[i], binding->field);
		if (__builtin_add_overflow(*sum, flow_is_null(*amount) ? 0 : amount->as.int64, &total)) {
			status = context->ops->reject(context, batch, rows[i], FLOW_E_RANGE,
			                              flow_slice_of("the total overflows"), error);
			continue;
		}
		*sum = total;
		memcpy(cells, batch->value[rows[i]].as.record, (fields - 1) * sizeof(*cells));
		cells[fields - 1] = flow_int64(total);
		values[rows[i]] = flow_record(cells, fields);
		cells += fields;
		rows[kept++] = rows[i];
	}
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns), .schema = binding->output, .value = values,
		.selection = rows, .selected_count = kept };
	return status == FLOW_OK ? output->forward(output, batch, &columns, error) : status;
}

static void
total_close(flow_function *function)
{
	host->release(function);
}

static const flow_option field = { .struct_size = FLOW_SIZEOF(flow_option), .type = FLOW_OPTION_STRING,
	.flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_PRIMARY, .name = "field",
	.doc = "The integer field to add up.", .example = "\"amount\"" };
static const flow_option_set set = { FLOW_SIZEOF(flow_option_set), 0, "", "Adds the sum of a field so far, per key.",
	(const flow_option *const[]){ &field, NULL } };
static const flow_function_ops ops = { .struct_size = FLOW_SIZEOF(flow_function_ops), .bind = total_bind,
	.unbind = total_unbind, .open = total_open, .process = total_process, .close = total_close };
static const flow_component running_total = { .struct_size = FLOW_SIZEOF(flow_component), .kind = FLOW_FUNCTION,
	.id = "running_total", .doc = "Adds the sum of a field so far, per key.",
	.option_sets = (const flow_option_set *const[]){ &set, NULL }, .ops = &ops };
static const flow_component *const components[] = { &running_total, NULL };
FLOW_DEFINE_PLUGIN("running_total", "1.0.0", "Apache-2.0", components, NULL, NULL)
