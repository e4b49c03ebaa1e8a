/* The calls that a function makes on its context: state, timers, tables, rejections. */
#include <string.h>

#include "runtime/function.h"
#include "runtime/record_errors.h"

static function_self *
of(const flow_context *context)
{
	return context->host;
}

/* State and timers need a declaration and keyed rows. */
static flow_status
check_access(const function_self *self, uint32_t state, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			 flow_error *error)
{
	const flow_state_declaration *const *states = self->n->op->function.states;
	uint32_t declared = 0;
	while (states != NULL && states[declared] != NULL)
		declared++;
	if (self->state == NULL || (state != UINT32_MAX && state >= declared))
		return error_set(error, FLOW_E_ARGUMENT, "%s was not declared in bind",
						 state == UINT32_MAX ? "use of timers" : "this state");
	if (batch->key_hash == NULL || batch->key_bytes == NULL)
		return error_set(error, FLOW_E_ARGUMENT, "state and timers need rows with a key; key the stream first");
	uint32_t highest = 0;
	for (uint32_t i = 0; i < count; i++)
		highest = rows[i] > highest ? rows[i] : highest;
	if (count != 0 && highest >= batch->row_count)
		return error_set(error, FLOW_E_PLUGIN, "a call names row %u of a batch of %u", highest, batch->row_count);
	return FLOW_OK;
}

static flow_status
context_slots(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			  const int64_t *spaces, int create, void **slots, uint8_t *created, flow_error *error)
{
	function_self *self = of(context);
	flow_status status = check_access(self, state, batch, rows, count, error);
	return status < 0 ? status
					  : task_state_slots(self->state, state, batch, rows, count, spaces, create, slots, created, error);
}

static flow_status
context_get(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			const int64_t *spaces, flow_slice *values, flow_error *error)
{
	function_self *self = of(context);
	flow_status status = check_access(self, state, batch, rows, count, error);
	return status < 0 ? status : task_state_get(self->state, state, batch, rows, count, spaces, values, error);
}

static flow_status
context_put(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			const int64_t *spaces, const flow_slice *values, flow_error *error)
{
	function_self *self = of(context);
	flow_status status = check_access(self, state, batch, rows, count, error);
	return status < 0 ? status : task_state_put(self->state, state, batch, rows, count, spaces, values, error);
}

static flow_status
context_remove(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			   const int64_t *spaces, flow_error *error)
{
	function_self *self = of(context);
	flow_status status = check_access(self, state, batch, rows, count, error);
	return status < 0 ? status : task_state_remove(self->state, state, batch, rows, count, spaces, error);
}

static flow_status
check_timers(const function_self *self, uint32_t kind, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			 flow_error *error)
{
	if (kind != FLOW_TIMER_EVENT && kind != FLOW_TIMER_PROCESSING)
		return error_set(error, FLOW_E_ARGUMENT, "%u is no kind of timer", kind);
	if (!self->n->op->function.uses_timers)
		return error_set(error, FLOW_E_ARGUMENT, "use of timers was not declared in bind");
	return check_access(self, UINT32_MAX, batch, rows, count, error);
}

static flow_status
context_register(flow_context *context, uint32_t kind, const flow_batch *batch, const uint32_t *rows, uint32_t count,
				 const int64_t *times, flow_error *error)
{
	function_self *self = of(context);
	flow_status status = check_timers(self, kind, batch, rows, count, error);
	if (status == FLOW_OK)
		status = task_timers_register(self->state, kind, batch, rows, count, times, error);
	if (kind == FLOW_TIMER_PROCESSING)
		self->n->deadline = 0; /* the next tick looks when it is due */
	return status;
}

static flow_status
context_delete(flow_context *context, uint32_t kind, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			   const int64_t *times, flow_error *error)
{
	function_self *self = of(context);
	flow_status status = check_timers(self, kind, batch, rows, count, error);
	return status < 0 ? status : task_timers_delete(self->state, kind, batch, rows, count, times, error);
}

static int64_t
context_event_time(flow_context *context)
{
	return of(context)->n->event_time;
}

static flow_status
context_emit_watermark(flow_context *context, const char *id, int64_t value, flow_error *error)
{
	function_self *self = of(context);
	if (strcmp(id, FLOW_WATERMARK_EVENT_TIME) != 0)
		return error_set(error, FLOW_E_ARGUMENT, "no function of the job declares a watermark '%s'", id);
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < self->output_count; i++)
		status = self->outputs[i].output.push(&self->outputs[i].output, error);
	return status < 0 ? status : node_emit_watermark(self->n, value);
}

static flow_status
context_reject(flow_context *context, const flow_batch *batch, uint32_t row, flow_status status, flow_slice reason,
			   flow_error *error)
{
	node *n = of(context)->n;
	if (row >= batch->row_count || status >= 0)
		return error_set(error, FLOW_E_PLUGIN, "reject names row %u of a batch of %u, with status %d", row,
						 batch->row_count, (int)status);
	status = record_error_of_row(n, batch, row, status, reason);
	if (status < 0 && error != &n->task->error)
		error_set(error, status, "%s", error_message(&n->task->error));
	return status;
}

static int
is_listed(const char *const *names, const char *name)
{
	for (; names != NULL && *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return 1;
	return 0;
}

static flow_status
context_table(flow_context *context, const char *name, const void **ops, void **table, flow_error *error)
{
	const node *n = of(context)->n;
	const runtime *run = n->task->topology->run;
	if (!is_listed(n->op->function.reads_tables, name) && !is_listed(n->op->function.writes_tables, name))
		return error_set(error, FLOW_E_ARGUMENT, "use of table '%s' was not declared in bind", name);
	for (uint32_t i = 0; i < run->plan->table_count; i++) {
		if (strcmp(run->plan->tables[i].name, name) != 0)
			continue;
		*ops = run->tables[i].ops;
		*table = run->tables[i].table;
		return FLOW_OK;
	}
	return error_set(error, FLOW_E_NOT_FOUND, "the job has no table '%s'", name);
}

static flow_builder *
context_scratch(flow_context *context)
{
	function_self *self = of(context);
	self->scratch_used = 1;
	if (self->scratch->row_capacity == 0)
		builder_clear(self->scratch);
	return self->scratch;
}

/* The rows of the visit are what the call is about while it lasts: keyed outputs take their keys from them. */
static flow_status
visit_keys(void *context, const flow_batch *keys, flow_error *error)
{
	function_self *self = context;
	const flow_batch *before = self->current;
	flow_status status = FLOW_OK;
	self->current = keys;
	self->keys_known = 0;
	status = self->visit(self->visitor, keys, error);
	for (uint32_t i = 0; status >= 0 && i < self->output_count; i++)
		status = self->outputs[i].output.push(&self->outputs[i].output, error);
	self->current = before;
	self->keys_known = 0;
	return status < 0 ? status : FLOW_OK;
}

static flow_status
context_each(flow_context *context, flow_status (*visit)(void *self, const flow_batch *keys, flow_error *error),
			 void *visitor, flow_error *error)
{
	function_self *self = of(context);
	if (self->state == NULL)
		return error_set(error, FLOW_E_ARGUMENT, "only a function with state has partitions to visit");
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < self->output_count; i++)
		status = self->outputs[i].output.push(&self->outputs[i].output, error);
	if (status < 0)
		return status;
	self->visit = visit;
	self->visitor = visitor;
	return task_state_each_key(self->state, self->key_schema, visit_keys, self, error);
}

static void *
context_shared(flow_context *context)
{
	return of(context)->n->task->shared;
}

const flow_context_ops function_context_ops = {
	.struct_size = FLOW_SIZEOF(flow_context_ops),
	.slots = context_slots,
	.get_many = context_get,
	.put_many = context_put,
	.remove_many = context_remove,
	.register_timers = context_register,
	.delete_timers = context_delete,
	.event_time = context_event_time,
	.emit_watermark = context_emit_watermark,
	.reject = context_reject,
	.table = context_table,
	.scratch = context_scratch,
	.apply_to_all_partitions = context_each,
	.shared = context_shared,
};
