/*
 * project, select, set, rename, cast: another record from the fields of one. They differ in how the columns of the result are
 * settled at plan time; running them is the same: a column is a field passed on, or an expression.
 */
#include "std.h"

#include <stdio.h>

struct column {
	char *name;
	int32_t field;               /* of the input, or -1 */
	flow_expression *expression; /* if field is -1 */
	const flow_schema *type;     /* ours; NULL: the field's or the expression's */
};

struct mapping_binding {
	struct services services;
	struct column *columns;
	uint32_t count;
	uint32_t expression_count;
	const flow_schema *output; /* ours */
	uint8_t *reads;
	int32_t *passes;
};

struct flow_function {
	const struct mapping_binding *binding;
	flow_context *context;
	flow_value **results; /* per column: an array for the batch at hand */
};

/* --- planning ---------------------------------------------------------------------------------------------------- */

static void
unbind(void *opaque)
{
	struct mapping_binding *binding = opaque;
	const flow_host *host = binding->services.host;
	for (uint32_t i = 0; i < binding->count; i++) {
		host->release(binding->columns[i].name);
		if (binding->columns[i].expression != NULL)
			binding->services.expressions->release(binding->columns[i].expression);
		if (binding->columns[i].type != NULL)
			binding->services.schemas->release(binding->columns[i].type);
	}
	if (binding->output != NULL)
		binding->services.schemas->release(binding->output);
	host->release(binding->columns);
	host->release(binding->reads);
	host->release(binding->passes);
	host->release(binding);
}

static struct column *
find_column(struct mapping_binding *binding, flow_slice name)
{
	for (uint32_t i = 0; i < binding->count; i++)
		if (flow_slice_is(name, binding->columns[i].name))
			return &binding->columns[i];
	return NULL;
}

/* A further column; columns has room for all that can come. */
static struct column *
add_column(struct mapping_binding *binding, flow_slice name, int32_t field)
{
	char *copy = binding->services.host->allocate(name.size + 1);
	if (copy == NULL)
		return NULL;
	memcpy(copy, name.data, name.size);
	copy[name.size] = '\0';
	struct column *column = &binding->columns[binding->count++];
	*column = (struct column){ .name = copy, .field = field };
	return column;
}

static flow_status
compile_column(struct mapping_binding *binding, struct column *column, const flow_option_value *text,
			   const flow_schema *schema, flow_error *error)
{
	column->field = -1;
	return binding->services.expressions->compile(text->text, schema, text->place, &column->expression, error);
}

static flow_status
unknown_field(const struct mapping_binding *binding, const flow_option_value *at, flow_slice name,
			  const flow_schema *schema, flow_error *error)
{
	char names[400];
	uint64_t used = 0;
	names[0] = '\0';
	for (uint32_t i = 0; i < schema->field_count && used < sizeof(names) - 64; i++)
		used += (uint64_t)snprintf(names + used, sizeof(names) - used, "%s%.*s", i == 0 ? "" : ", ",
								   (int)(schema->fields[i]->name.size < 60 ? schema->fields[i]->name.size : 60),
								   schema->fields[i]->name.data);
	return flow_fail(binding->services.host, error, FLOW_E_NOT_FOUND, "%.*s: there is no field %.*s; there are: %s",
					 (int)at->place.size, at->place.data, (int)name.size, name.data, names);
}

/* All fields of the input, in order. */
static flow_status
add_all_fields(struct mapping_binding *binding, const flow_schema *schema, flow_error *error)
{
	for (uint32_t i = 0; i < schema->field_count; i++)
		if (add_column(binding, schema->fields[i]->name, (int32_t)i) == NULL)
			return bound_no_memory(binding->services.host, error);
	return FLOW_OK;
}

static flow_status
plan_project(struct mapping_binding *binding, const flow_option_value *names, const flow_schema *schema,
			 flow_error *error)
{
	for (uint64_t i = 0; i < names->entry_count; i++) {
		const flow_option_value *item = names->entries[i]->value;
		int32_t field = flow_schema_find(schema, item->text);
		if (field < 0)
			return unknown_field(binding, item, item->text, schema, error);
		if (add_column(binding, item->text, field) == NULL)
			return bound_no_memory(binding->services.host, error);
	}
	return FLOW_OK;
}

static flow_status
plan_select(struct mapping_binding *binding, const flow_option_value *fields, const flow_schema *schema,
			flow_error *error)
{
	for (uint64_t i = 0; i < fields->entry_count; i++) {
		struct column *column = add_column(binding, fields->entries[i]->name, -1);
		if (column == NULL)
			return bound_no_memory(binding->services.host, error);
		flow_status status = compile_column(binding, column, fields->entries[i]->value, schema, error);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

static flow_status
plan_set(struct mapping_binding *binding, const flow_option_value *fields, const flow_schema *schema, flow_error *error)
{
	flow_status status = add_all_fields(binding, schema, error);
	for (uint64_t i = 0; status == FLOW_OK && i < fields->entry_count; i++) {
		struct column *column = find_column(binding, fields->entries[i]->name);
		if (column == NULL)
			column = add_column(binding, fields->entries[i]->name, -1);
		if (column == NULL)
			return bound_no_memory(binding->services.host, error);
		status = compile_column(binding, column, fields->entries[i]->value, schema, error);
	}
	return status;
}

static flow_status
plan_rename(struct mapping_binding *binding, const flow_option_value *names, const flow_schema *schema,
			flow_error *error)
{
	flow_status status = add_all_fields(binding, schema, error);
	for (uint64_t i = 0; status == FLOW_OK && i < names->entry_count; i++) {
		const flow_option_entry *entry = names->entries[i];
		int32_t field = flow_schema_find(schema, entry->name);
		if (field < 0)
			return unknown_field(binding, entry->value, entry->name, schema, error);
		struct column *column = &binding->columns[field];
		char *copy = binding->services.host->allocate(entry->value->text.size + 1);
		if (copy == NULL)
			return bound_no_memory(binding->services.host, error);
		memcpy(copy, entry->value->text.data, entry->value->text.size + 1);
		binding->services.host->release(column->name);
		column->name = copy;
	}
	return status;
}

/* cast("name" as type), with the quotes in the name doubled. From host memory. */
static char *
cast_text(const flow_host *host, flow_slice name, flow_slice type)
{
	char *text = host->allocate(name.size * 2 + type.size + 32);
	if (text == NULL)
		return NULL;
	char *to = stpcpy(text, "cast(\"");
	for (uint64_t i = 0; i < name.size; i++) {
		if (name.data[i] == '"')
			*to++ = '"';
		*to++ = name.data[i];
	}
	to = stpcpy(to, "\" as ");
	memcpy(to, type.data, type.size);
	memcpy(to + type.size, ")", 2);
	return text;
}

/* Null stays null; a '?' behind the type makes the field nullable also where it was not. */
static flow_status
cast_column(struct mapping_binding *binding, struct column *column, flow_slice name, const flow_option_value *type,
			const flow_schema *schema, flow_error *error)
{
	const struct services *services = &binding->services;
	flow_slice bare = type->text;
	int nullable = bare.size != 0 && bare.data[bare.size - 1] == '?';
	bare.size -= (uint64_t)nullable;
	char *text = cast_text(services->host, name, bare);
	if (text == NULL)
		return bound_no_memory(services->host, error);
	column->field = -1;
	flow_status status =
		services->expressions->compile(flow_slice_of(text), schema, type->place, &column->expression, error);
	services->host->release(text);
	if (status != FLOW_OK || !nullable)
		return status;
	column->type = services->schemas->with_nullable(services->expressions->type(column->expression), 1);
	return column->type == NULL ? bound_no_memory(services->host, error) : FLOW_OK;
}

static flow_status
plan_cast(struct mapping_binding *binding, const flow_option_value *types, const flow_schema *schema, flow_error *error)
{
	flow_status status = add_all_fields(binding, schema, error);
	for (uint64_t i = 0; status == FLOW_OK && i < types->entry_count; i++) {
		const flow_option_entry *entry = types->entries[i];
		int32_t field = flow_schema_find(schema, entry->name);
		if (field < 0)
			return unknown_field(binding, entry->value, entry->name, schema, error);
		status = cast_column(binding, &binding->columns[field], entry->name, entry->value, schema, error);
	}
	return status;
}

static const flow_schema *
type_of(const struct mapping_binding *binding, const struct column *column, const flow_schema *input)
{
	if (column->type != NULL)
		return column->type;
	return column->field >= 0 ? input->fields[column->field]->schema
							  : binding->services.expressions->type(column->expression);
}

static flow_status
make_schema(struct mapping_binding *binding, const flow_schema *input, flow_error *error)
{
	const flow_host *host = binding->services.host;
	flow_field_spec *specs = flow_new(host, (binding->count + 1) * sizeof(*specs));
	const flow_field_spec **pointers = flow_new(host, (binding->count + 1) * sizeof(*pointers));
	flow_status status = specs == NULL || pointers == NULL ? bound_no_memory(host, error) : FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < binding->count; i++) {
		const struct column *column = &binding->columns[i];
		const flow_field *passed = column->field < 0 ? NULL : input->fields[column->field];
		specs[i] = (flow_field_spec){
			.struct_size = FLOW_SIZEOF(flow_field_spec),
			.name = flow_slice_of(column->name),
			.schema = type_of(binding, column, input),
			.default_value = passed != NULL ? passed->default_value : NULL,
		};
		pointers[i] = &specs[i];
	}
	if (status == FLOW_OK) {
		binding->output =
			binding->services.schemas->make_record(flow_slice_of("record"), pointers, binding->count, error);
		if (binding->output == NULL)
			status = host->errors->status(error) != FLOW_OK ? host->errors->status(error) : FLOW_E_MEMORY;
	}
	host->release(specs);
	host->release(pointers);
	return status;
}

static flow_status
settle(struct mapping_binding *binding, const flow_schema *input, flow_error *error)
{
	const flow_host *host = binding->services.host;
	binding->reads = flow_new(host, input->field_count + 1);
	binding->passes = flow_new(host, (binding->count + 1) * sizeof(*binding->passes));
	if (binding->reads == NULL || binding->passes == NULL)
		return bound_no_memory(host, error);
	for (uint32_t i = 0; i < binding->count; i++) {
		binding->passes[i] = binding->columns[i].field;
		bound_mark_reads(&binding->services, binding->columns[i].expression, binding->reads);
		binding->expression_count += binding->columns[i].expression != NULL;
	}
	return make_schema(binding, input, error);
}

typedef flow_status (*plan_columns)(struct mapping_binding *binding, const flow_option_value *primary,
									const flow_schema *schema, flow_error *error);

static flow_status
bind_with(const flow_host *host, const flow_options *options, const char *primary, plan_columns plan_them,
		  int any_allowed, const flow_function_input *input, flow_function_plan *plan, void **result, flow_error *error)
{
	struct mapping_binding *binding = flow_new(host, sizeof(*binding));
	if (binding == NULL)
		return bound_no_memory(host, error);
	binding->services.host = host;
	const flow_option_value *value = flow_option_get(options, primary);
	flow_status status = services_find(host, &binding->services, error);
	if (status == FLOW_OK)
		status = bound_check_record(&binding->services, options, input, any_allowed, error);
	if (status == FLOW_OK) {
		binding->columns =
			flow_new(host, (input->schema->field_count + value->entry_count + 1) * sizeof(struct column));
		status =
			binding->columns == NULL ? bound_no_memory(host, error) : plan_them(binding, value, input->schema, error);
	}
	if (status == FLOW_OK)
		status = settle(binding, input->schema, error);
	if (status != FLOW_OK) {
		unbind(binding);
		return status;
	}
	plan->outputs[0] = binding->output;
	plan->keeps_key = 1;
	plan->reads[0] = binding->reads;
	plan->passes = binding->passes;
	*result = binding;
	return FLOW_OK;
}

/* --- running ----------------------------------------------------------------------------------------------------- */

static void
close_function(flow_function *function)
{
	const flow_host *host = function->binding->services.host;
	host->release(function->results);
	host->release(function);
}

static flow_status
open_function(void *binding, flow_context *context, flow_function **result, flow_error *error)
{
	const struct mapping_binding *bound = binding;
	const flow_host *host = bound->services.host;
	flow_function *function = flow_new(host, sizeof(*function));
	if (function == NULL)
		return bound_no_memory(host, error);
	function->binding = bound;
	function->context = context;
	function->results = flow_new(host, (bound->count + 1) * sizeof(*function->results));
	if (function->results == NULL) {
		close_function(function);
		return bound_no_memory(host, error);
	}
	*result = function;
	return FLOW_OK;
}

static flow_status
evaluate_columns(flow_function *function, const flow_batch *batch, flow_builder *memory, flow_status *statuses,
				 flow_slice *reasons, flow_error *error)
{
	const struct mapping_binding *binding = function->binding;
	for (uint32_t i = 0; i < binding->count; i++) {
		if (binding->columns[i].expression == NULL)
			continue;
		function->results[i] = flow_builder_alloc(memory, (uint64_t)batch->row_count * sizeof(flow_value));
		if (function->results[i] == NULL)
			return bound_no_memory(binding->services.host, error);
		flow_status status = binding->services.expressions->evaluate(binding->columns[i].expression, batch, memory,
																	 function->results[i], statuses, reasons, error);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

/* A null row (a tombstone) stays one. */
static void
fill_row(const flow_function *function, const flow_batch *batch, uint32_t row, flow_value *cells)
{
	const struct mapping_binding *binding = function->binding;
	const flow_value *from = batch->value[row].as.record;
	for (uint32_t i = 0; i < binding->count; i++) {
		int32_t field = binding->columns[i].field;
		cells[i] = field >= 0 ? from[field] : function->results[i][row];
	}
}

static flow_status
forward_rows(flow_function *function, const flow_batch *batch, flow_builder *memory, const uint32_t *rows,
			 uint32_t count, flow_error *error)
{
	const struct mapping_binding *binding = function->binding;
	flow_output *output = function->context->outputs[0];
	flow_value *values = flow_builder_alloc(memory, (uint64_t)batch->row_count * sizeof(*values));
	flow_value *cells = flow_builder_cells(memory, count * binding->count + 1);
	if (values == NULL || cells == NULL)
		return bound_no_memory(binding->services.host, error);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = rows == NULL ? flow_row(batch, i) : rows[i];
		if (flow_is_null(batch->value[row])) {
			values[row] = flow_null();
			continue;
		}
		fill_row(function, batch, row, cells);
		values[row] = flow_record(cells, binding->count);
		cells += binding->count;
	}
	flow_columns columns = {
		.struct_size = FLOW_SIZEOF(flow_columns),
		.schema = binding->output,
		.value = values,
		.selection = rows,
		.selected_count = count,
	};
	return output->forward(output, batch, &columns, error);
}

static flow_status
process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	flow_output *output = function->context->outputs[0];
	flow_builder *memory = output->memory(output);
	if (function->binding->expression_count == 0)
		return forward_rows(function, batch, memory, NULL, batch->selected_count, error);
	flow_builder *scratch = function->context->ops->scratch(function->context);
	flow_status *statuses;
	flow_slice *reasons;
	uint32_t *rows = flow_builder_alloc(scratch, ((uint64_t)batch->selected_count + 1) * sizeof(*rows));
	if (rows == NULL || !bound_status_arrays(scratch, batch, &statuses, &reasons))
		return bound_no_memory(function->binding->services.host, error);
	uint32_t count;
	flow_status status = evaluate_columns(function, batch, memory, statuses, reasons, error);
	if (status == FLOW_OK)
		status = bound_reject_failed(function->context, batch, statuses, reasons, rows, &count, error);
	if (status != FLOW_OK || count == 0)
		return status;
	return forward_rows(function, batch, memory, count == batch->selected_count ? NULL : rows, count, error);
}

/* --- the five functions ------------------------------------------------------------------------------------------ */

#define MAPPING(word, option_type, element_type, option_flags, any_allowed, option_doc, option_example, component_doc) \
	static flow_status bind_##word(const flow_host *host, const flow_options *options,                                 \
								   const flow_function_input *const *inputs, uint32_t input_count,                     \
								   flow_function_plan *plan, void **binding, flow_error *error)                        \
	{                                                                                                                  \
		(void)input_count;                                                                                             \
		return bind_with(host, options, #word, plan_##word, any_allowed, inputs[0], plan, binding, error);             \
	}                                                                                                                  \
	static const flow_function_ops word##_ops = {                                                                      \
		.struct_size = FLOW_SIZEOF(flow_function_ops),                                                                 \
		.bind = bind_##word,                                                                                           \
		.unbind = unbind,                                                                                              \
		.open = open_function,                                                                                         \
		.process = process,                                                                                            \
		.close = close_function,                                                                                       \
	};                                                                                                                 \
	static const flow_option word##_option = {                                                                         \
		.struct_size = FLOW_SIZEOF(flow_option),                                                                       \
		.type = option_type,                                                                                           \
		.element = element_type,                                                                                       \
		.flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_PRIMARY | (option_flags),                                          \
		.name = #word,                                                                                                 \
		.doc = option_doc,                                                                                             \
		.example = option_example,                                                                                     \
	};                                                                                                                 \
	static const flow_option *const word##_list[] = { &word##_option, NULL };                                          \
	static const flow_option_set word##_set = {                                                                        \
		.struct_size = FLOW_SIZEOF(flow_option_set), .scope = "", .doc = component_doc, .options = word##_list         \
	};                                                                                                                 \
	static const flow_option_set *const word##_sets[] = { &word##_set, NULL };                                         \
	const flow_component word##_component = {                                                                          \
		.struct_size = FLOW_SIZEOF(flow_component),                                                                    \
		.kind = FLOW_FUNCTION,                                                                                         \
		.id = #word,                                                                                                   \
		.doc = component_doc,                                                                                          \
		.option_sets = word##_sets,                                                                                    \
		.ops = &word##_ops,                                                                                            \
	};

MAPPING(project, FLOW_OPTION_LIST, FLOW_OPTION_STRING, FLOW_OPTION_OR_ONE, 0,
		"The names of the fields that stay, in the order that they then have.", "[\"carrier\", \"flights\"]",
		"Keeps some fields of each record, in a given order.")
MAPPING(select, FLOW_OPTION_MAP, FLOW_OPTION_EXPRESSION, 0, 1,
		"Name and expression of each field of the new record, in order.",
		"{ carrier = \"carrier\"; hours = \"air_time / 60\"; }",
		"Makes a new record: exactly the given fields, each from an expression.")
MAPPING(set, FLOW_OPTION_MAP, FLOW_OPTION_EXPRESSION, 0, 0,
		"Name and expression of fields to add, or to replace. All expressions see the record as it came.",
		"{ late = \"dep_delay > 15\"; }", "Adds fields to each record, or replaces them.")
MAPPING(rename, FLOW_OPTION_MAP, FLOW_OPTION_STRING, 0, 0, "Old and new name of fields.", "{ dep_delay = \"delay\"; }",
		"Gives fields other names.")
MAPPING(cast, FLOW_OPTION_MAP, FLOW_OPTION_TYPE, 0, 0,
		"Name and new type of fields. A value that does not fit is a record error.", "{ flight = \"string\"; }",
		"Changes the types of fields, exactly or not at all.")
