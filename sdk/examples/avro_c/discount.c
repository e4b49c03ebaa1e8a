/*
 * Code over avro-c as a step: { discount = 20; } takes 20 percent off the field `cents`. What does that is `take_off`, which was
 * there before flowd and knows avro_value_t only; flow/avro_c.h carries each record to it and back, whatever other fields it has.
 */
#include "flow/avro_c.h"
#include "flow_sdk/plugin.h"

static int
take_off(avro_value_t *order, int64_t percent)
{
	avro_value_t price;
	int64_t cents;
	int failed = avro_value_get_by_name(order, "cents", &price, NULL);
	if (failed == 0)
		failed = avro_value_get_long(&price, &cents);
	return failed != 0 ? failed : avro_value_set_long(&price, cents - cents * percent / 100);
}

/* --- the plugin ----------------------------------------------------------------------------------------------------------- */

static const flow_host *host;

struct binding {
	const flow_schema *schema; /* of the records, in and out */
	avro_schema_t avro;
	avro_value_iface_t *class_of;
	int64_t percent;
};

struct flow_function {
	const struct binding *binding;
	flow_context *context;
	avro_value_t order; /* one for all records of the task */
};

static void
discount_unbind(void *binding)
{
	struct binding *settled = binding;
	const flow_schemas *schemas = host->get_service(FLOW_SERVICE_SCHEMAS);
	if (settled->class_of != NULL)
		avro_value_iface_decref(settled->class_of);
	if (settled->avro != NULL)
		avro_schema_decref(settled->avro);
	schemas->release(settled->schema);
	host->release(settled);
}

static flow_status
discount_bind(const flow_host *the_host, const flow_options *options, const flow_function_input *const *inputs,
              uint32_t count, flow_function_plan *plan, void **binding, flow_error *error)
{
	(void)count;
	host = the_host;
	const flow_schemas *schemas = host->get_service(FLOW_SERVICE_SCHEMAS);
	const flow_schema *input = inputs[0]->schema;
	int32_t field = input->kind == FLOW_KIND_RECORD ? flow_schema_find(input, flow_slice_of("cents")) : -1;
	if (field < 0 || input->fields[field]->schema->kind != FLOW_KIND_INT64 || flow_schema_nullable(input->fields[field]->schema))
		return flow_fail(host, error, FLOW_E_TYPE, "records need a field cents of type int64");
	struct binding *settled = flow_new(host, sizeof(*settled));
	if (settled == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	settled->percent = flow_option_int(options, "discount", 0);
	settled->schema = schemas->retain(input);
	flow_status status = flow_avro_c_schema(host, input, &settled->avro, error);
	if (status == FLOW_OK && (settled->class_of = avro_generic_class_from_schema(settled->avro)) == NULL)
		status = flow_fail(host, error, FLOW_E_MEMORY, "avro-c: %s", avro_strerror());
	if (status != FLOW_OK) {
		discount_unbind(settled);
		return status;
	}
	plan->outputs[0] = input;
	*binding = settled;
	return FLOW_OK;
}

static flow_status
discount_open(void *binding, flow_context *context, flow_function **function, flow_error *error)
{
	struct binding *settled = binding;
	*function = flow_new(host, sizeof(**function));
	if (*function == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	**function = (struct flow_function){ .binding = settled, .context = context };
	if (avro_generic_value_new(settled->class_of, &(*function)->order) == 0)
		return FLOW_OK;
	host->release(*function);
	return flow_fail(host, error, FLOW_E_MEMORY, "avro-c: %s", avro_strerror());
}

static flow_status
discount_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	const struct binding *binding = function->binding;
	flow_context *context = function->context;
	flow_output *output = context->outputs[0];
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; i < batch->selected_count && status == FLOW_OK; i++) {
		uint32_t row = flow_row(batch, i);
		flow_value value;
		flow_builder *builder = output->builder(output);
		if (flow_builder_full(builder)) {
			status = output->push(output, error);
			builder = output->builder(output);
		}
		if (status == FLOW_OK)
			status = flow_avro_c_from_value(host, binding->schema, &batch->value[row], &function->order, error);
		if (status == FLOW_OK && take_off(&function->order, binding->percent) != 0) {
			status = context->ops->reject(context, batch, row, FLOW_E_FAILED, flow_slice_of(avro_strerror()), error);
			continue;
		}
		if (status == FLOW_OK)
			status = flow_avro_c_to_value(host, binding->schema, builder, &function->order, &value, error);
		if (status == FLOW_OK)
			flow_builder_add(builder, value);
	}
	return status;
}

static void
discount_close(flow_function *function)
{
	avro_value_decref(&function->order);
	host->release(function);
}

static const flow_option percent = { .struct_size = FLOW_SIZEOF(flow_option), .type = FLOW_OPTION_INT,
	.flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_PRIMARY, .name = "discount", .minimum = "0", .maximum = "100",
	.doc = "Percent to take off.", .example = "20" };
static const flow_option_set set = { FLOW_SIZEOF(flow_option_set), 0, "", "Takes a discount off.",
	(const flow_option *const[]){ &percent, NULL } };
static const flow_function_ops ops = { .struct_size = FLOW_SIZEOF(flow_function_ops), .bind = discount_bind,
	.unbind = discount_unbind, .open = discount_open, .process = discount_process, .close = discount_close };
static const flow_component discount = { .struct_size = FLOW_SIZEOF(flow_component), .kind = FLOW_FUNCTION,
	.id = "discount", .doc = "Takes a discount off the field cents.",
	.option_sets = (const flow_option_set *const[]){ &set, NULL }, .ops = &ops };
static const flow_component *const components[] = { &discount, NULL };
FLOW_DEFINE_PLUGIN("discount", "1.0.0", "Apache-2.0", components, NULL, NULL)
