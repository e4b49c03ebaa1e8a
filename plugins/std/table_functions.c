/*
 * write_table and join_table: a stream into a table, and a table's row beside each record. Both work on whole batches.
 */
#include "std.h"

#include "flow/table.h"

struct table_binding {
	struct services services;
	char *table;
	const char *tables[2]; /* the name, NULL */
	flow_expression *on;   /* join: key of the lookup; NULL: the stream's key */
	int left;              /* join: rows without a match pass with nulls */
	int32_t *taken;        /* join: fields of the table's row that are added */
	uint32_t taken_count;
	uint32_t input_fields;
	const flow_schema *output; /* ours; NULL: the input's */
	uint8_t *reads;
	int32_t *passes;
};

struct flow_function {
	const struct table_binding *binding;
	flow_context *context;
	const flow_table_ops *ops;
	flow_table *table;
	const flow_keys *keys;
};

/* --- planning ---------------------------------------------------------------------------------------------------- */

static void
unbind(void *opaque)
{
	struct table_binding *binding = opaque;
	const flow_host *host = binding->services.host;
	if (binding->on != NULL)
		binding->services.expressions->release(binding->on);
	if (binding->output != NULL)
		binding->services.schemas->release(binding->output);
	host->release(binding->table);
	host->release(binding->taken);
	host->release(binding->reads);
	host->release(binding->passes);
	host->release(binding);
}

static flow_status
bind_common(const flow_host *host, const flow_options *options, const char *primary, struct table_binding **result,
			flow_error *error)
{
	struct table_binding *binding = flow_new(host, sizeof(*binding));
	if (binding == NULL)
		return bound_no_memory(host, error);
	binding->services.host = host;
	flow_slice name = flow_option_text(options, primary);
	binding->table = host->allocate(name.size + 1);
	flow_status status = binding->table == NULL ? bound_no_memory(host, error) : FLOW_OK;
	if (binding->table != NULL && name.data != NULL) {
		memcpy(binding->table, name.data, name.size + 1);
		binding->tables[0] = binding->table;
		status = services_find(host, &binding->services, error);
	}
	if (status != FLOW_OK)
		unbind(binding);
	else
		*result = binding;
	return status;
}

static flow_status
bind_write(const flow_host *host, const flow_options *options, const flow_function_input *const *inputs,
		   uint32_t input_count, flow_function_plan *plan, void **result, flow_error *error)
{
	(void)input_count;
	if (inputs[0]->stream != FLOW_STREAM_KEYED)
		return flow_fail(
			host, error, FLOW_E_CONFIG,
			"%.*s: write_table needs a keyed stream: the key is the row's key; put key_by = \"...\" in front",
			(int)options->place.size, options->place.data);
	struct table_binding *binding = NULL;
	flow_status status = bind_common(host, options, "write_table", &binding, error);
	if (binding == NULL)
		return status;
	plan->outputs[0] = inputs[0]->schema;
	plan->keeps_key = 1;
	plan->writes_tables = binding->tables;
	*result = binding;
	return FLOW_OK;
}

static flow_status
take_field(struct table_binding *binding, const flow_option_value *name, const flow_schema *input,
		   const flow_schema *row, flow_error *error)
{
	const flow_host *host = binding->services.host;
	int32_t field = row->kind == FLOW_KIND_RECORD ? flow_schema_find(row, name->text) : -1;
	if (field < 0)
		return flow_fail(host, error, FLOW_E_NOT_FOUND, "%.*s: the rows of table %s have no field %s",
						 (int)name->place.size, name->place.data, binding->table, name->text.data);
	if (flow_schema_find(input, name->text) >= 0)
		return flow_fail(host, error, FLOW_E_EXISTS,
						 "%.*s: the record and the row of table %s both have a field %s; rename one of them",
						 (int)name->place.size, name->place.data, binding->table, name->text.data);
	binding->taken[binding->taken_count++] = field;
	return FLOW_OK;
}

/* The fields that are named, or all that the record does not have. */
static flow_status
choose_fields(struct table_binding *binding, const flow_options *options, const flow_schema *input,
			  const flow_schema *row, flow_error *error)
{
	const flow_host *host = binding->services.host;
	const flow_option_value *names = flow_option_get(options, "fields");
	uint64_t most = row->field_count + (names == NULL ? 0 : names->entry_count) + 1;
	binding->taken = flow_new(host, most * sizeof(*binding->taken));
	if (binding->taken == NULL)
		return bound_no_memory(host, error);
	for (uint64_t i = 0; names != NULL && i < names->entry_count; i++) {
		flow_status status = take_field(binding, names->entries[i]->value, input, row, error);
		if (status != FLOW_OK)
			return status;
	}
	for (uint32_t i = 0; names == NULL && i < row->field_count; i++)
		if (flow_schema_find(input, row->fields[i]->name) < 0)
			binding->taken[binding->taken_count++] = (int32_t)i;
	return FLOW_OK;
}

static flow_status
make_joined_schema(struct table_binding *binding, const flow_schema *input, const flow_schema *row, flow_error *error)
{
	const flow_host *host = binding->services.host;
	uint32_t count = input->field_count + binding->taken_count;
	flow_field_spec *specs = flow_new(host, ((uint64_t)count + 1) * sizeof(*specs));
	const flow_field_spec **pointers = flow_new(host, ((uint64_t)count + 1) * sizeof(*pointers));
	const flow_schema **owned = flow_new(host, ((uint64_t)binding->taken_count + 1) * sizeof(*owned));
	flow_status status = specs == NULL || pointers == NULL || owned == NULL ? bound_no_memory(host, error) : FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < count; i++) {
		const flow_field *field =
			i < input->field_count ? input->fields[i] : row->fields[binding->taken[i - input->field_count]];
		const flow_schema *schema = field->schema;
		if (i >= input->field_count && binding->left) {
			schema = binding->services.schemas->with_nullable(schema, 1);
			owned[i - input->field_count] = schema;
			if (schema == NULL)
				status = bound_no_memory(host, error);
		}
		specs[i] =
			(flow_field_spec){ .struct_size = FLOW_SIZEOF(flow_field_spec), .name = field->name, .schema = schema };
		pointers[i] = &specs[i];
	}
	if (status == FLOW_OK) {
		binding->output = binding->services.schemas->make_record(flow_slice_of("joined"), pointers, count, error);
		if (binding->output == NULL)
			status = host->errors->status(error) < 0 ? host->errors->status(error) : FLOW_E_MEMORY;
	}
	for (uint32_t i = 0; owned != NULL && i < binding->taken_count; i++)
		if (owned[i] != NULL)
			binding->services.schemas->release(owned[i]);
	host->release(specs);
	host->release(pointers);
	host->release(owned);
	return status;
}

/* Kinds whose values can be one key: integers are one class, texts another. */
static uint8_t
key_class(uint8_t kind)
{
	switch (kind) {
	case FLOW_KIND_INT32:
	case FLOW_KIND_UINT64:
		return FLOW_KIND_INT64;
	case FLOW_KIND_FLOAT32:
		return FLOW_KIND_FLOAT64;
	case FLOW_KIND_ENUM:
		return FLOW_KIND_STRING;
	case FLOW_KIND_FIXED:
		return FLOW_KIND_BYTES;
	default:
		return kind;
	}
}

/* Keys of different types would never match, and nobody would hear of it. Decimals can equal integers. */
static flow_status
check_key_type(const struct table_binding *binding, const flow_options *options, const flow_schema *given,
			   const flow_schema *key, flow_error *error)
{
	if (given == NULL || key == NULL)
		return FLOW_OK;
	uint8_t a = key_class(given->kind), b = key_class(key->kind);
	int numbers = (a == FLOW_KIND_DECIMAL && b == FLOW_KIND_INT64) || (a == FLOW_KIND_INT64 && b == FLOW_KIND_DECIMAL);
	if (a == b || numbers || a == FLOW_KIND_ANY || b == FLOW_KIND_ANY || a == FLOW_KIND_UNION || b == FLOW_KIND_UNION)
		return FLOW_OK;
	char given_text[128], key_text[128];
	binding->services.schemas->print(given, 1, given_text, sizeof(given_text));
	binding->services.schemas->print(key, 1, key_text, sizeof(key_text));
	return flow_fail(
		binding->services.host, error, FLOW_E_TYPE,
		"%.*s: the key to look up is %s, but the keys of table %s are %s: they never match; cast one of them",
		(int)options->place.size, options->place.data, given_text, binding->table, key_text);
}

static flow_status
compile_on(struct table_binding *binding, const flow_options *options, const flow_function_input *input,
		   flow_error *error)
{
	const flow_host *host = binding->services.host;
	const flow_option_value *on = flow_option_get(options, "on");
	if (on != NULL)
		return binding->services.expressions->compile(on->text, input->schema, on->place, &binding->on, error);
	if (input->stream == FLOW_STREAM_KEYED)
		return FLOW_OK;
	return flow_fail(
		host, error, FLOW_E_CONFIG,
		"%.*s: join_table looks up by the stream's key, but the stream has none: set on = \"expression\" or put "
		"key_by in front",
		(int)options->place.size, options->place.data);
}

static flow_status
settle_join(struct table_binding *binding, const flow_options *options, const flow_function_input *input,
			flow_error *error)
{
	const flow_host *host = binding->services.host;
	const flow_tables *tables = host->get_service(FLOW_SERVICE_TABLES);
	const flow_schema *row = NULL, *key = NULL;
	if (tables == NULL)
		return flow_fail(host, error, FLOW_E_UNSUPPORTED, "this host has no service %s", FLOW_SERVICE_TABLES);
	flow_status status = bound_check_record(&binding->services, options, input, 0, error);
	if (status == FLOW_OK)
		status = tables->schema(binding->table, &row, &key, error);
	if (status == FLOW_OK)
		status = compile_on(binding, options, input, error);
	if (status == FLOW_OK)
		status = check_key_type(
			binding, options,
			binding->on == NULL ? input->key_schema : binding->services.expressions->type(binding->on), key, error);
	binding->left = flow_slice_is(flow_option_text(options, "type"), "left");
	binding->input_fields = input->schema->field_count;
	if (status == FLOW_OK)
		status = choose_fields(binding, options, input->schema, row, error);
	if (status == FLOW_OK)
		status = make_joined_schema(binding, input->schema, row, error);
	if (status != FLOW_OK)
		return status;
	binding->reads = flow_new(host, (uint64_t)binding->input_fields + 1);
	binding->passes = flow_new(host, ((uint64_t)binding->output->field_count + 1) * sizeof(*binding->passes));
	if (binding->reads == NULL || binding->passes == NULL)
		return bound_no_memory(host, error);
	bound_mark_reads(&binding->services, binding->on, binding->reads);
	for (uint32_t i = 0; i < binding->output->field_count; i++)
		binding->passes[i] = i < binding->input_fields ? (int32_t)i : -1;
	return FLOW_OK;
}

static flow_status
bind_join(const flow_host *host, const flow_options *options, const flow_function_input *const *inputs,
		  uint32_t input_count, flow_function_plan *plan, void **result, flow_error *error)
{
	(void)input_count;
	struct table_binding *binding = NULL;
	flow_status status = bind_common(host, options, "join_table", &binding, error);
	if (binding == NULL)
		return status;
	status = settle_join(binding, options, inputs[0], error);
	if (status != FLOW_OK) {
		unbind(binding);
		return status;
	}
	plan->outputs[0] = binding->output;
	plan->keeps_key = 1;
	plan->reads_tables = binding->tables;
	plan->reads[0] = binding->reads;
	plan->passes = binding->passes;
	*result = binding;
	return FLOW_OK;
}

/* --- running ----------------------------------------------------------------------------------------------------- */

static flow_status
open_function(void *binding, flow_context *context, flow_function **result, flow_error *error)
{
	const struct table_binding *bound = binding;
	const flow_host *host = bound->services.host;
	flow_function *function = flow_new(host, sizeof(*function));
	if (function == NULL)
		return bound_no_memory(host, error);
	function->binding = bound;
	function->context = context;
	function->keys = host->get_service(FLOW_SERVICE_KEYS);
	const void *ops;
	void *table;
	flow_status status = context->ops->table(context, bound->table, &ops, &table, error);
	if (status == FLOW_OK && bound->on != NULL && function->keys == NULL)
		status = flow_fail(host, error, FLOW_E_UNSUPPORTED, "this host has no service %s", FLOW_SERVICE_KEYS);
	if (status != FLOW_OK) {
		host->release(function);
		return status;
	}
	function->ops = ops;
	function->table = table;
	*result = function;
	return FLOW_OK;
}

static void
close_function(flow_function *function)
{
	function->binding->services.host->release(function);
}

/* The keys of a call, dense: entry i belongs to row rows[i] of the batch. */
struct lookup {
	uint32_t *rows;
	flow_slice *keys;
	flow_value *key_values;
	flow_value *found;
	flow_status *statuses;
	uint32_t count;
};

static int
make_lookup(flow_builder *scratch, uint32_t count, struct lookup *lookup)
{
	uint64_t room = (uint64_t)count + 1;
	lookup->rows = flow_builder_alloc(scratch, room * sizeof(*lookup->rows));
	lookup->keys = flow_builder_alloc(scratch, room * sizeof(*lookup->keys));
	lookup->key_values = flow_builder_alloc(scratch, room * sizeof(*lookup->key_values));
	lookup->found = flow_builder_alloc(scratch, room * sizeof(*lookup->found));
	lookup->statuses = flow_builder_alloc(scratch, room * sizeof(*lookup->statuses));
	lookup->count = 0;
	if (lookup->rows == NULL || lookup->keys == NULL || lookup->key_values == NULL || lookup->found == NULL ||
		lookup->statuses == NULL)
		return 0;
	memset(lookup->statuses, 0, room * sizeof(*lookup->statuses));
	return 1;
}

static void
add_stream_keys(const flow_batch *batch, struct lookup *lookup)
{
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		lookup->rows[lookup->count] = row;
		lookup->keys[lookup->count] = batch->key_bytes[row];
		lookup->key_values[lookup->count++] = batch->key[row];
	}
}

static flow_status
no_keys(const flow_function *function, flow_error *error)
{
	return flow_fail(function->binding->services.host, error, FLOW_E_INTERNAL, "table %s: the batch has no key columns",
					 function->binding->table);
}

/* Rejects rows of the lookup that failed; FLOW_E_NOT_FOUND is not a failure. */
static flow_status
reject_failed(flow_function *function, const flow_batch *batch, struct lookup *lookup, flow_error *error)
{
	for (uint32_t i = 0; i < lookup->count; i++) {
		flow_status failed = lookup->statuses[i];
		if (failed >= 0 || failed == FLOW_E_NOT_FOUND)
			continue;
		flow_status status = function->context->ops->reject(function->context, batch, lookup->rows[i], failed,
															flow_slice_of("the table refused the record"), error);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

static flow_status
process_write(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	const flow_host *host = function->binding->services.host;
	flow_builder *scratch = function->context->ops->scratch(function->context);
	flow_output *output = function->context->outputs[0];
	struct lookup lookup;
	if (batch->key_bytes == NULL)
		return no_keys(function, error);
	if (!make_lookup(scratch, batch->selected_count, &lookup))
		return bound_no_memory(host, error);
	add_stream_keys(batch, &lookup);
	for (uint32_t i = 0; i < lookup.count; i++)
		lookup.found[i] = batch->value[lookup.rows[i]];
	flow_status status = function->ops->put_many(function->table, lookup.keys, lookup.key_values, lookup.found,
												 lookup.count, lookup.statuses, error);
	if (status == FLOW_OK)
		status = reject_failed(function, batch, &lookup, error);
	if (status != FLOW_OK)
		return status;
	uint32_t written = 0;
	for (uint32_t i = 0; i < lookup.count; i++)
		if (lookup.statuses[i] >= 0)
			lookup.rows[written++] = lookup.rows[i];
	if (written == lookup.count)
		return output->forward(output, batch, NULL, error);
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns),
							 .selection = lookup.rows,
							 .selected_count = written };
	return written == 0 ? FLOW_OK : output->forward(output, batch, &columns, error);
}

static flow_status
end_write(flow_function *function, uint32_t input, flow_error *error)
{
	(void)input;
	return FLOW_CAN(function->ops, flush) ? function->ops->flush(function->table, error) : FLOW_OK;
}

/* Keys from the expression `on`. A null key matches nothing. */
static flow_status
add_computed_keys(flow_function *function, const flow_batch *batch, flow_builder *scratch, struct lookup *lookup,
				  flow_error *error)
{
	const struct table_binding *binding = function->binding;
	flow_status *statuses;
	flow_slice *reasons;
	flow_value *values = flow_builder_alloc(scratch, ((uint64_t)batch->row_count + 1) * sizeof(*values));
	uint32_t *rows = flow_builder_alloc(scratch, ((uint64_t)batch->selected_count + 1) * sizeof(*rows));
	uint32_t count;
	if (values == NULL || rows == NULL || !bound_status_arrays(scratch, batch, &statuses, &reasons))
		return bound_no_memory(binding->services.host, error);
	flow_status status =
		binding->services.expressions->evaluate(binding->on, batch, scratch, values, statuses, reasons, error);
	if (status == FLOW_OK)
		status = bound_reject_failed(function->context, batch, statuses, reasons, rows, &count, error);
	for (uint32_t i = 0; status == FLOW_OK && i < count; i++) {
		flow_slice key = flow_slice_make(NULL, 0);
		if (!flow_is_null(values[rows[i]]))
			status = function->keys->encode(&values[rows[i]], scratch, &key, error);
		lookup->rows[lookup->count] = rows[i];
		lookup->keys[lookup->count] = key;
		lookup->key_values[lookup->count++] = values[rows[i]];
	}
	return status;
}

static void
fill_joined(const struct table_binding *binding, const flow_value *record, const flow_value *row, flow_value *cells)
{
	memcpy(cells, record, binding->input_fields * sizeof(*cells));
	for (uint32_t k = 0; k < binding->taken_count; k++)
		cells[binding->input_fields + k] = row == NULL ? flow_null() : row[binding->taken[k]];
}

static flow_status
forward_joined(flow_function *function, const flow_batch *batch, struct lookup *lookup, flow_builder *memory,
			   flow_error *error)
{
	const struct table_binding *binding = function->binding;
	flow_output *output = function->context->outputs[0];
	uint32_t fields = binding->output->field_count, joined = 0;
	flow_value *values = flow_builder_alloc(memory, ((uint64_t)batch->row_count + 1) * sizeof(*values));
	flow_value *cells = flow_builder_cells(memory, lookup->count * fields + 1);
	if (values == NULL || cells == NULL)
		return bound_no_memory(binding->services.host, error);
	for (uint32_t i = 0; i < lookup->count; i++) {
		uint32_t row = lookup->rows[i];
		int found = lookup->statuses[i] >= 0 && lookup->found[i].type == FLOW_RECORD;
		if (flow_is_null(batch->value[row])) { /* a record without value stays one */
			values[row] = flow_null();
			lookup->rows[joined++] = row;
			continue;
		}
		if (!found && (!binding->left || lookup->statuses[i] != FLOW_E_NOT_FOUND))
			continue;
		fill_joined(binding, batch->value[row].as.record, found ? lookup->found[i].as.record : NULL, cells);
		values[row] = flow_record(cells, fields);
		cells += fields;
		lookup->rows[joined++] = row;
	}
	flow_columns columns = {
		.struct_size = FLOW_SIZEOF(flow_columns),
		.schema = binding->output,
		.value = values,
		.selection = lookup->rows,
		.selected_count = joined,
	};
	return joined == 0 ? FLOW_OK : output->forward(output, batch, &columns, error);
}

static flow_status
process_join(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	const flow_host *host = function->binding->services.host;
	flow_builder *scratch = function->context->ops->scratch(function->context);
	flow_output *output = function->context->outputs[0];
	flow_builder *memory = output->memory(output);
	struct lookup lookup;
	if (!make_lookup(scratch, batch->selected_count, &lookup))
		return bound_no_memory(host, error);
	flow_status status = FLOW_OK;
	if (function->binding->on != NULL)
		status = add_computed_keys(function, batch, scratch, &lookup, error);
	else if (batch->key_bytes == NULL)
		status = no_keys(function, error);
	else
		add_stream_keys(batch, &lookup);
	if (status == FLOW_OK)
		status = function->ops->get_many(function->table, lookup.keys, lookup.key_values, lookup.count, memory,
										 lookup.found, lookup.statuses, error);
	if (status == FLOW_OK)
		status = reject_failed(function, batch, &lookup, error);
	return status == FLOW_OK ? forward_joined(function, batch, &lookup, memory, error) : status;
}

/* --- components -------------------------------------------------------------------------------------------------- */

static const flow_function_ops write_ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.bind = bind_write,
	.unbind = unbind,
	.open = open_function,
	.process = process_write,
	.end_input = end_write,
	.close = close_function,
};
static const flow_function_ops join_ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.bind = bind_join,
	.unbind = unbind,
	.open = open_function,
	.process = process_join,
	.close = close_function,
};

static const flow_option write_table = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_REFERENCE,
	.refers_to = "table",
	.flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_PRIMARY,
	.name = "write_table",
	.doc = "The table. The record's key is the row's key; a record without value deletes the row. Records pass on "
		   "after the table "
		   "has taken them.",
	.example = "\"carrier\"",
};
static const flow_option *const write_list[] = { &write_table, NULL };
static const flow_option_set write_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set), .scope = "", .doc = "Puts records into a table.", .options = write_list
};
static const flow_option_set *const write_sets[] = { &write_set, NULL };

static const flow_option join_table = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_REFERENCE,
	.refers_to = "table",
	.flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_PRIMARY,
	.name = "join_table",
	.doc = "The table to look into.",
	.example = "\"carrier\"",
};
static const flow_option join_on = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_EXPRESSION,
	.name = "on",
	.doc = "The key to look up. Absent: the stream's key.",
	.example = "\"origin\"",
};
static const char *const join_types[] = { "inner\trecords without a row are left out", "left\tthey pass, with nulls",
										  NULL };
static const flow_option join_type = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "type",
	.doc = "What becomes of records for which the table has no row.",
	.default_text = "inner",
	.choices = join_types,
};
static const flow_option join_fields = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_LIST,
	.element = FLOW_OPTION_STRING,
	.flags = FLOW_OPTION_OR_ONE,
	.name = "fields",
	.doc = "The fields of the row to add. Absent: all that the record does not have.",
	.example = "[\"name\"]",
};
static const flow_option *const join_list[] = { &join_table, &join_on, &join_type, &join_fields, NULL };
static const flow_option_set join_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set), .scope = "", .doc = "Joins records with a table.", .options = join_list
};
static const flow_option_set *const join_sets[] = { &join_set, NULL };

const flow_component write_table_component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_FUNCTION,
	.id = "write_table",
	.doc = "Puts each record into a table, under its key, and passes it on.",
	.option_sets = write_sets,
	.ops = &write_ops,
};
const flow_component join_table_component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_FUNCTION,
	.id = "join_table",
	.doc = "Adds fields of a table's row to each record.",
	.option_sets = join_sets,
	.ops = &join_ops,
};
