/* Functions under watch: their calls, and the calls that they make on context and outputs. */
#include "base/arena.h"
#include "base/memory.h"
#include "base/value.h"
#include "runtime/proxy.h"

struct watched_binding {
	runtime *run;
	const flow_component *component;
	const flow_function_ops *ops;
	void *real;
	const plan_operator *op;
	flow_function_ops masked;
};

struct watched_output {
	struct watched_function *owner;
	flow_output *real;
	flow_output shown;
};

struct watched_function {
	checked c;
	struct watched_binding *binding;
	flow_function *real;
	flow_context *context; /* the host's */
	flow_context shown;
	struct watched_output outputs[2];
	flow_output *output_list[2];
	flow_builder *memory;    /* of copied batches */
	flow_builder *scratch;   /* what the call under way has asked for; NULL: nothing */
	const flow_batch *input; /* that it is about; NULL: none */
	uint32_t ended_inputs;
};

static struct watched_function *
function_of(flow_function *function)
{
	return (struct watched_function *)function;
}

/* --- what the function calls ---------------------------------------------------------------------------------------- */

/* Context and outputs may be used only from within a call. */
static flow_status
check_inside(struct watched_function *f, const char *call, flow_error *error)
{
	if (checked_is_inside(&f->c))
		return FLOW_OK;
	return checked_violation(&f->c, error, "%s is called from outside of the host's calls, or from another thread",
							 call);
}

static struct watched_output *
output_of(const flow_output *output)
{
	return output->host;
}

static flow_builder *
watched_builder(flow_output *output)
{
	struct watched_output *o = output_of(output);
	check_inside(o->owner, "builder", NULL);
	return o->real->builder(o->real);
}

static flow_builder *
watched_memory(flow_output *output)
{
	struct watched_output *o = output_of(output);
	check_inside(o->owner, "memory", NULL);
	return o->real->memory(o->real);
}

/* Where values must not lie: memory of the call alone, and the input's batch where the output does not keep it. */
struct fleeting {
	const flow_builder *scratch; /* or NULL */
	const flow_batch *input;     /* or NULL */
};

static int
is_fleeting(const struct fleeting *memory, const void *pointer)
{
	return (memory->scratch != NULL && builder_holds(memory->scratch, pointer)) ||
		   (memory->input != NULL && batch_holds(memory->input, pointer));
}

/* Whether a value, or what it points at, lies there. */
static int
value_is_fleeting(const struct fleeting *memory, const flow_value *value)
{
	switch (value->type) {
	case FLOW_STRING:
	case FLOW_BYTES:
	case FLOW_UUID:
		return value->size != 0 && is_fleeting(memory, value->as.text);
	case FLOW_DECIMAL:
		return is_fleeting(memory, value->as.decimal) || is_fleeting(memory, value->as.decimal->digits);
	case FLOW_LIST:
		if (is_fleeting(memory, value->as.list))
			return 1;
		for (uint64_t i = 0; i < value->as.list->count; i++)
			if (is_fleeting(memory, &value->as.list->items[i]) || value_is_fleeting(memory, &value->as.list->items[i]))
				return 1;
		return 0;
	case FLOW_MAP:
		if (is_fleeting(memory, value->as.map))
			return 1;
		for (uint64_t i = 0; i < value->as.map->count; i++)
			if (is_fleeting(memory, &value->as.map->entries[i]) ||
				value_is_fleeting(memory, &value->as.map->entries[i].key) ||
				value_is_fleeting(memory, &value->as.map->entries[i].value))
				return 1;
		return 0;
	case FLOW_RECORD:
		for (uint32_t i = 0; i < value->size; i++)
			if (is_fleeting(memory, &value->as.record[i]) || value_is_fleeting(memory, &value->as.record[i]))
				return 1;
		return 0;
	default:
		return 0;
	}
}

/* Scratch memory is gone when the call returns, and so may the input be; rows that are handed on live longer. */
static flow_status
check_column(struct watched_output *o, const char *what, const void *column, flow_error *error)
{
	struct watched_function *f = o->owner;
	if (f->scratch == NULL || column == NULL || !builder_holds(f->scratch, column))
		return FLOW_OK;
	return checked_violation(&f->c, error, "forward: %s lies in scratch memory, which is dropped after the call", what);
}

static flow_status
check_row(struct watched_output *o, const char *call, uint32_t row, const flow_value *value, int keeps_input,
		  flow_error *error)
{
	struct watched_function *f = o->owner;
	struct fleeting scratch = { f->scratch, NULL }, input = { NULL, keeps_input ? NULL : f->input };
	if (value == NULL)
		return FLOW_OK;
	if (scratch.scratch != NULL && value_is_fleeting(&scratch, value))
		return checked_violation(
			&f->c, error, "%s, row %u: its value lies in scratch memory, which is dropped after the call", call, row);
	if (input.input != NULL && value_is_fleeting(&input, value))
		return checked_violation(
			&f->c, error, "%s, row %u: its value lies in the input's batch, which the builder was not told to keep",
			call, row);
	return FLOW_OK;
}

static flow_status
check_output_rows(struct watched_output *o, flow_error *error)
{
	const plan_operator *op = o->owner->binding->op;
	const flow_builder *builder = o->real->builder(o->real);
	int keeps = o->owner->input == NULL || builder_keeps(builder, o->owner->input);
	flow_status status = checked_rows(&o->owner->c, "push", builder, 0, op->schema[o->real->index], error);
	for (uint32_t row = 0; status == FLOW_OK && row < builder->row_count; row++) {
		status = check_row(o, "push", row, &builder->value[row], keeps, error);
		if (status == FLOW_OK && builder->key != NULL)
			status = check_row(o, "push", row, &builder->key[row], keeps, error);
	}
	return status;
}

static flow_status
watched_push(flow_output *output, flow_error *error)
{
	struct watched_output *o = output_of(output);
	flow_status status = check_inside(o->owner, "push", error);
	if (status == FLOW_OK)
		status = check_output_rows(o, error);
	return status == FLOW_OK ? o->real->push(o->real, error) : status;
}

static flow_status
check_columns(struct watched_output *o, const flow_batch *parent, const flow_columns *columns, flow_error *error)
{
	if (columns == NULL || columns->selection == NULL)
		return FLOW_OK;
	uint32_t at = 0;
	for (uint32_t i = 0; i < columns->selected_count; i++) {
		while (at < parent->selected_count && flow_row(parent, at) < columns->selection[i])
			at++;
		if (at == parent->selected_count || flow_row(parent, at) != columns->selection[i])
			return checked_violation(&o->owner->c, error,
									 "forward selects row %u, which the parent does not, or out of order",
									 columns->selection[i]);
		at++;
	}
	return FLOW_OK;
}

/* The rows of replaced columns that go on. */
static flow_status
check_replaced(struct watched_output *o, const flow_batch *parent, const flow_columns *columns, flow_error *error)
{
	const flow_schema *schema = o->owner->binding->op->schema[o->real->index];
	const flow_batch *input = o->owner->input;
	int keeps = input == NULL || parent->host == input->host || builder_keeps(o->real->memory(o->real), input);
	flow_status status = check_column(o, "the column of values", columns->value, error);
	if (status == FLOW_OK)
		status = check_column(o, "the column of keys", columns->key, error);
	if (status == FLOW_OK)
		status = check_column(o, "the column of timestamps", columns->timestamp, error);
	uint32_t count = columns->selection == NULL ? parent->selected_count : columns->selected_count;
	for (uint32_t i = 0; status == FLOW_OK && i < count; i++) {
		uint32_t row = columns->selection == NULL ? flow_row(parent, i) : columns->selection[i];
		const char *wrong = columns->value == NULL ? NULL : checked_value(schema, &columns->value[row]);
		if (wrong != NULL)
			status = checked_violation(&o->owner->c, error, "forward, row %u: %s", row, wrong);
		if (status == FLOW_OK && columns->value != NULL)
			status = check_row(o, "forward", row, &columns->value[row], keeps, error);
		if (status == FLOW_OK && columns->key != NULL)
			status = check_row(o, "forward", row, &columns->key[row], keeps, error);
	}
	return status;
}

static flow_status
watched_forward(flow_output *output, const flow_batch *parent, const flow_columns *columns, flow_error *error)
{
	struct watched_output *o = output_of(output);
	flow_status status = check_inside(o->owner, "forward", error);
	if (status == FLOW_OK)
		status = check_columns(o, parent, columns, error);
	if (status == FLOW_OK && columns != NULL)
		status = check_replaced(o, parent, columns, error);
	return status == FLOW_OK ? o->real->forward(o->real, parent, columns, error) : status;
}

static struct watched_function *
context_of(const flow_context *context)
{
	return context->host;
}

static flow_status
check_state_rows(struct watched_function *f, const char *call, const flow_batch *batch, const uint32_t *rows,
				 uint32_t count, flow_error *error)
{
	flow_status status = check_inside(f, call, error);
	for (uint32_t i = 0; status == FLOW_OK && i < count; i++)
		if (rows[i] >= batch->row_count)
			status =
				checked_violation(&f->c, error, "%s names row %u of a batch of %u", call, rows[i], batch->row_count);
	return status;
}

static flow_status
watched_slots(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			  const int64_t *spaces, int create, void **slots, uint8_t *created, flow_error *error)
{
	struct watched_function *f = context_of(context);
	flow_status status = check_state_rows(f, "slots", batch, rows, count, error);
	return status < 0
			   ? status
			   : f->context->ops->slots(f->context, state, batch, rows, count, spaces, create, slots, created, error);
}

static flow_status
watched_get(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			const int64_t *spaces, flow_slice *values, flow_error *error)
{
	struct watched_function *f = context_of(context);
	flow_status status = check_state_rows(f, "get_many", batch, rows, count, error);
	return status < 0 ? status
					  : f->context->ops->get_many(f->context, state, batch, rows, count, spaces, values, error);
}

static flow_status
watched_put(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			const int64_t *spaces, const flow_slice *values, flow_error *error)
{
	struct watched_function *f = context_of(context);
	flow_status status = check_state_rows(f, "put_many", batch, rows, count, error);
	return status < 0 ? status
					  : f->context->ops->put_many(f->context, state, batch, rows, count, spaces, values, error);
}

static flow_status
watched_remove(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			   const int64_t *spaces, flow_error *error)
{
	struct watched_function *f = context_of(context);
	flow_status status = check_state_rows(f, "remove_many", batch, rows, count, error);
	return status < 0 ? status : f->context->ops->remove_many(f->context, state, batch, rows, count, spaces, error);
}

static flow_status
watched_register(flow_context *context, uint32_t kind, const flow_batch *batch, const uint32_t *rows, uint32_t count,
				 const int64_t *times, flow_error *error)
{
	struct watched_function *f = context_of(context);
	flow_status status = check_state_rows(f, "register_timers", batch, rows, count, error);
	return status < 0 ? status : f->context->ops->register_timers(f->context, kind, batch, rows, count, times, error);
}

static flow_status
watched_delete(flow_context *context, uint32_t kind, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			   const int64_t *times, flow_error *error)
{
	struct watched_function *f = context_of(context);
	flow_status status = check_state_rows(f, "delete_timers", batch, rows, count, error);
	return status < 0 ? status : f->context->ops->delete_timers(f->context, kind, batch, rows, count, times, error);
}

static int64_t
watched_event_time(flow_context *context)
{
	struct watched_function *f = context_of(context);
	check_inside(f, "event_time", NULL);
	return f->context->ops->event_time(f->context);
}

static flow_status
watched_emit_watermark(flow_context *context, const char *id, int64_t value, flow_error *error)
{
	struct watched_function *f = context_of(context);
	flow_status status = check_inside(f, "emit_watermark", error);
	return status < 0 ? status : f->context->ops->emit_watermark(f->context, id, value, error);
}

static flow_status
watched_reject(flow_context *context, const flow_batch *batch, uint32_t row, flow_status failure, flow_slice reason,
			   flow_error *error)
{
	struct watched_function *f = context_of(context);
	flow_status status = check_state_rows(f, "reject", batch, &row, 1, error);
	if (status == FLOW_OK && failure >= 0)
		status = checked_violation(&f->c, error, "reject is called with %d, which is no failure", failure);
	return status < 0 ? status : f->context->ops->reject(f->context, batch, row, failure, reason, error);
}

static flow_status
watched_table(flow_context *context, const char *name, const void **ops, void **table, flow_error *error)
{
	struct watched_function *f = context_of(context);
	flow_status status = check_inside(f, "table", error);
	return status < 0 ? status : f->context->ops->table(f->context, name, ops, table, error);
}

static flow_builder *
watched_scratch(flow_context *context)
{
	struct watched_function *f = context_of(context);
	check_inside(f, "scratch", NULL);
	return f->scratch = f->context->ops->scratch(f->context);
}

static flow_status
watched_each(flow_context *context, flow_status (*visit)(void *self, const flow_batch *keys, flow_error *error),
			 void *self, flow_error *error)
{
	struct watched_function *f = context_of(context);
	flow_status status = check_inside(f, "apply_to_all_partitions", error);
	return status < 0 ? status : f->context->ops->apply_to_all_partitions(f->context, visit, self, error);
}

static void *
watched_shared(flow_context *context)
{
	struct watched_function *f = context_of(context);
	check_inside(f, "shared", NULL);
	return f->context->ops->shared(f->context);
}

static const flow_context_ops watched_context_ops = {
	.struct_size = FLOW_SIZEOF(flow_context_ops),
	.slots = watched_slots,
	.get_many = watched_get,
	.put_many = watched_put,
	.remove_many = watched_remove,
	.register_timers = watched_register,
	.delete_timers = watched_delete,
	.event_time = watched_event_time,
	.emit_watermark = watched_emit_watermark,
	.reject = watched_reject,
	.table = watched_table,
	.scratch = watched_scratch,
	.apply_to_all_partitions = watched_each,
	.shared = watched_shared,
};

/* --- what the host calls -------------------------------------------------------------------------------------------- */

static void
show_context(struct watched_function *f, flow_context *context)
{
	f->context = context;
	f->shown = *context;
	f->shown.ops = &watched_context_ops;
	f->shown.outputs = f->output_list;
	f->shown.host = f;
	for (uint32_t i = 0; i < context->output_count; i++) {
		struct watched_output *o = &f->outputs[i];
		o->owner = f;
		o->real = context->outputs[i];
		o->shown = (flow_output){ .struct_size = FLOW_SIZEOF(flow_output),
								  .index = i,
								  .builder = watched_builder,
								  .push = watched_push,
								  .forward = watched_forward,
								  .memory = watched_memory,
								  .host = o };
		f->output_list[i] = &o->shown;
	}
}

static void
enter(struct watched_function *f, const char *call, const flow_batch *input)
{
	f->scratch = NULL;
	f->input = input;
	checked_enter(&f->c, call);
}

/* Rows that are left in the builders go out with the call's return. */
static flow_status
leave(struct watched_function *f, const char *call, flow_status status, uint32_t allowed, flow_error *error)
{
	for (uint32_t i = 0; status >= 0 && i < f->context->output_count; i++) {
		flow_status rows = check_output_rows(&f->outputs[i], error);
		status = rows < 0 ? rows : status;
	}
	return checked_leave(&f->c, call, status, allowed, error);
}

static flow_status
watched_open(void *binding, flow_context *context, flow_function **function, flow_error *error)
{
	struct watched_binding *b = binding;
	struct watched_function *f = memory_allocate_zeroed(sizeof(*f));
	if (f == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	checked_init(&f->c, b->run, b->op->kind == OPERATOR_TRANSFORMER ? "transformer" : "function", b->component->id);
	f->binding = b;
	f->memory = builder_create(b->run->pool, 1, 0);
	show_context(f, context);
	checked_enter(&f->c, "open");
	flow_status status = f->memory == NULL ? FLOW_E_MEMORY : b->ops->open(b->real, &f->shown, &f->real, error);
	status = checked_leave(&f->c, "open", status, ALLOW_NONE, error);
	if (status < 0) {
		builder_destroy(f->memory);
		memory_release(f);
		return status;
	}
	*function = (flow_function *)f;
	return FLOW_OK;
}

/* A batch of the function's own: what it does not retain is gone, and overwritten, after the call. */
static flow_batch *
private_copy(struct watched_function *f, const flow_batch *batch)
{
	flow_value *values = flow_builder_alloc(f->memory, (batch->row_count + 1) * sizeof(*values));
	if (values == NULL)
		return NULL;
	for (uint32_t row = 0; row < batch->row_count; row++)
		values[row] = flow_null();
	for (FLOW_ROWS(batch, i))
		if (value_copy(f->memory, &batch->value[flow_row(batch, i)], &values[flow_row(batch, i)]) != FLOW_OK)
			return NULL;
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns), .value = values };
	return batch_forward(f->binding->run->pool, batch, &columns, f->memory);
}

static flow_status
watched_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	struct watched_function *f = function_of(function);
	if ((f->ended_inputs & (1u << input)) != 0)
		checked_violation(&f->c, NULL, "the host sends records of input %u behind its end", input);
	flow_batch *copy = private_copy(f, batch);
	if (copy == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	enter(f, "process", copy);
	flow_status status = leave(f, "process", f->binding->ops->process(f->real, input, copy, error), ALLOW_NONE, error);
	batch_release(copy);
	return status;
}

static flow_status
watched_timers(flow_function *function, uint32_t kind, const flow_batch *due, flow_error *error)
{
	struct watched_function *f = function_of(function);
	enter(f, "timers", NULL);
	return leave(f, "timers", f->binding->ops->timers(f->real, kind, due, error), ALLOW_NONE, error);
}

static flow_status
watched_watermark(flow_function *function, uint32_t input, const char *id, int64_t value, flow_error *error)
{
	struct watched_function *f = function_of(function);
	enter(f, "watermark", NULL);
	flow_status status = f->binding->ops->watermark(f->real, input, id, value, error);
	return leave(f, "watermark", status, 1u << FLOW_WATERMARK_POLL, error);
}

static flow_status
watched_end_input(flow_function *function, uint32_t input, flow_error *error)
{
	struct watched_function *f = function_of(function);
	f->ended_inputs |= 1u << input;
	enter(f, "end_input", NULL);
	return leave(f, "end_input", f->binding->ops->end_input(f->real, input, error), ALLOW_NONE, error);
}

static void
watched_close(flow_function *function)
{
	struct watched_function *f = function_of(function);
	checked_enter(&f->c, "close");
	atomic_store(&f->c.closed, 1);
	f->binding->ops->close(f->real);
	builder_destroy(f->memory);
	memory_release(f);
}

static const flow_function_ops watched_ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.open = watched_open,
	.process = watched_process,
	.timers = watched_timers,
	.watermark = watched_watermark,
	.end_input = watched_end_input,
	.close = watched_close,
};

#define MASK(member)                                                                                                   \
	if (!FLOW_CAN(b->ops, member))                                                                                     \
		b->masked.member = NULL;

flow_status
proxy_wrap_function(runtime *run, arena *memory, plan_operator *op)
{
	struct watched_binding *b = arena_allocate_zeroed(memory, sizeof(*b));
	if (b == NULL)
		return FLOW_E_MEMORY;
	b->run = run;
	b->component = op->component;
	b->ops = op->ops;
	b->real = op->binding;
	b->op = op;
	b->masked = watched_ops;
	MASK(timers)
	MASK(watermark)
	MASK(end_input)
	op->ops = &b->masked;
	op->binding = b;
	return FLOW_OK;
}
