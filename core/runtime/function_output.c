/* A function's outputs: builders for new rows, and forwarding of the rows of a batch. */
#include <string.h>

#include "runtime/function.h"
#include "runtime/keys.h"

static function_output *
of(const flow_output *output)
{
	return output->host;
}

static runtime *
run_of(const function_output *o)
{
	return o->owner->n->task->topology->run;
}

static flow_builder *
ready(flow_builder *builder)
{
	if (builder->row_capacity == 0)
		builder_clear(builder);
	return builder;
}

static flow_builder *
output_builder(flow_output *output)
{
	return ready(of(output)->builder);
}

static flow_builder *
output_memory(flow_output *output)
{
	of(output)->memory_used = 1;
	return ready(of(output)->memory);
}

/* A row of a keyed output must have the key of one of the rows that the function was given. */
static flow_status
check_keys(function_output *o, flow_batch *batch, flow_builder *memory, flow_error *error)
{
	function_self *self = o->owner;
	if (batch->key == NULL)
		return error_set(error, FLOW_E_FAILED, "output %u keeps the key of its input, but the rows have none",
						 o->index);
	if (batch->key_hash == NULL) {
		flow_status status = batch_key_columns(batch, memory);
		if (status < 0)
			return error_set(error, status, "output %u: a key cannot be encoded", o->index);
	}
	if (self->current == NULL || self->current->key_hash == NULL)
		return error_set(error, FLOW_E_FAILED,
						 "output %u keeps the key of its input, but there is no keyed input row now", o->index);
	if (!self->keys_known && key_set_fill(&self->keys, self->current) != FLOW_OK)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	self->keys_known = 1;
	for (FLOW_ROWS(batch, i))
		if (!key_set_has(&self->keys, batch->key_hash[flow_row(batch, i)]))
			return error_set(
				error, FLOW_E_FAILED,
				"output %u keeps the key of its input, but row %u has another key; key the output anew instead",
				o->index, i);
	return FLOW_OK;
}

static flow_status
hand_on(function_output *o, const flow_batch *batch, flow_error *error)
{
	node *n = o->owner->n;
	flow_status status = node_emit(n, o->index, batch);
	if (status < 0 && error != &n->task->error)
		error_set(error, status, "%s", error_message(&n->task->error));
	return status;
}

static flow_status
output_push(flow_output *output, flow_error *error)
{
	function_output *o = of(output);
	if (o->builder->row_count == 0)
		return FLOW_OK;
	if (o->builder->row_count > o->builder->row_capacity)
		return error_set(error, FLOW_E_PLUGIN, "output %u was given more rows than there is room for", o->index);
	const plan_operator *op = o->owner->n->op;
	const flow_batch *origin = o->owner->current;
	batch_head head = { .schema = op->schema[o->index],
						.key_schema = o->builder->key != NULL ? op->key_schema[o->index] : NULL,
						.input = origin == NULL ? UINT32_MAX : origin->input,
						.partition = origin == NULL ? UINT32_MAX : origin->partition,
						.number = origin == NULL ? 0 : (uint32_t)batch_partition_number(origin),
						.place = origin == NULL ? flow_slice_make(NULL, 0) : origin->place };
	flow_batch *batch = builder_finish(o->builder, &head);
	if (batch == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	flow_status status = o->keyed ? check_keys(o, batch, ready(o->memory), error) : FLOW_OK;
	if (status == FLOW_OK)
		status = hand_on(o, batch, error);
	batch_release(batch);
	return status;
}

static flow_status
output_forward(flow_output *output, const flow_batch *parent, const flow_columns *columns, flow_error *error)
{
	function_output *o = of(output);
	flow_status status = output_push(output, error);
	if (status < 0)
		return status;
	int drop_key = !o->keyed && parent->key != NULL && o->owner->n->op->key_schema[o->index] == NULL;
	if (columns == NULL && !drop_key)
		return hand_on(o, parent, error);
	flow_columns changed = { .struct_size = FLOW_SIZEOF(flow_columns) };
	if (columns != NULL)
		memcpy(&changed, columns, columns->struct_size < sizeof(changed) ? columns->struct_size : sizeof(changed));
	changed.drop_key |= (uint32_t)drop_key;
	uint32_t selected = changed.selection == NULL ? 0 : changed.selected_count;
	if (selected > parent->row_count || (selected != 0 && changed.selection[selected - 1] >= parent->row_count))
		return error_set(error, FLOW_E_PLUGIN, "output %u: forward selects rows that the batch does not have",
						 o->index);
	flow_batch *batch = batch_forward(run_of(o)->pool, parent, &changed, ready(o->memory));
	o->memory_used = 0;
	if (batch == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	int check = o->keyed && (changed.key != NULL || batch->key_hash == NULL || parent != o->owner->current);
	status = check ? check_keys(o, batch, ready(o->memory), error) : FLOW_OK;
	if (status == FLOW_OK)
		status = hand_on(o, batch, error);
	batch_release(batch);
	return status;
}

void
function_outputs_init(function_self *self)
{
	for (uint32_t i = 0; i < self->output_count; i++) {
		function_output *o = &self->outputs[i];
		o->owner = self;
		o->index = i;
		o->keyed = self->n->op->stream_kind[i] == FLOW_STREAM_KEYED;
		o->output = (flow_output){ .struct_size = FLOW_SIZEOF(flow_output),
								   .index = i,
								   .builder = output_builder,
								   .push = output_push,
								   .forward = output_forward,
								   .memory = output_memory,
								   .host = o };
		self->output_list[i] = &o->output;
	}
}

flow_status
function_call_done(function_self *self, flow_status status)
{
	status = error_settle(&self->n->task->error, status, "on the function");
	for (uint32_t i = 0; i < self->output_count; i++) {
		function_output *o = &self->outputs[i];
		if (status >= 0)
			status = output_push(&o->output, &self->n->task->error);
		else if (o->builder->row_count != 0)
			builder_clear(o->builder);
		if (o->memory_used)
			builder_clear(o->memory);
		o->memory_used = 0;
	}
	if (self->scratch_used)
		builder_clear(self->scratch);
	self->scratch_used = 0;
	self->current = NULL;
	self->keys_known = 0;
	return status < 0 ? status : FLOW_OK;
}
