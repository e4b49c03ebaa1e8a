/*
 * aggregate, running. A slot per (key, window start) holds the accumulators. The window [start, start + size) is complete when event
 * time reaches start + size - 1: then its timer fires, the result goes out and the slot is removed. Without a window there is one slot a
 * key, which stays: its result goes out at the end, or (emit_every) when the timer fires that its first change since has set.
 */
#include "std.h"

struct flow_function {
	const struct aggregate_binding *binding;
	flow_context *context;
};

/* What one call works with: arrays in scratch memory. */
struct work {
	uint32_t *rows;
	int64_t *spaces;
	void **slots;
	uint8_t *created;
	uint32_t count;
};

flow_status
aggregate_open(void *binding, flow_context *context, flow_function **result, flow_error *error)
{
	const struct aggregate_binding *bound = binding;
	flow_function *function = flow_new(bound->services.host, sizeof(*function));
	if (function == NULL)
		return bound_no_memory(bound->services.host, error);
	function->binding = bound;
	function->context = context;
	*result = function;
	return FLOW_OK;
}

void
aggregate_close(flow_function *function)
{
	function->binding->services.host->release(function);
}

static flow_builder *
scratch_of(flow_function *function)
{
	return function->context->ops->scratch(function->context);
}

static int
make_work(flow_builder *scratch, uint32_t count, struct work *work)
{
	uint64_t room = (uint64_t)count + 1;
	work->rows = flow_builder_alloc(scratch, room * sizeof(*work->rows));
	work->spaces = flow_builder_alloc(scratch, room * sizeof(*work->spaces));
	work->slots = flow_builder_alloc(scratch, room * sizeof(*work->slots));
	work->created = flow_builder_alloc(scratch, room);
	work->count = 0;
	return work->rows != NULL && work->spaces != NULL && work->slots != NULL && work->created != NULL;
}

static int64_t
window_start(int64_t time, int64_t size)
{
	int64_t rest = time % size;
	return time - (rest < 0 ? rest + size : rest);
}

static flow_status
reject(flow_function *function, const flow_batch *batch, uint32_t row, flow_status status, const char *reason,
	   flow_error *error)
{
	return function->context->ops->reject(function->context, batch, row, status, flow_slice_of(reason), error);
}

/* Chooses the rows that are in time, with the windows that they belong to. */
static flow_status
choose_rows(flow_function *function, const flow_batch *batch, struct work *work, flow_error *error)
{
	int64_t size = function->binding->window;
	int64_t now = size == 0 ? INT64_MIN : function->context->ops->event_time(function->context);
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		if (size != 0) {
			int64_t time = batch->timestamp == NULL ? FLOW_NO_TIMESTAMP : batch->timestamp[row];
			flow_status status = FLOW_OK;
			if (time == FLOW_NO_TIMESTAMP || time > INT64_MAX - size || time < INT64_MIN + 2 * size) {
				status = reject(function, batch, row, FLOW_E_RANGE, "the record has no event time", error);
			} else {
				int64_t start = window_start(time, size);
				if (start + size - 1 > now) {
					work->rows[work->count] = row;
					work->spaces[work->count++] = start;
					continue;
				}
				status = reject(function, batch, row, FLOW_E_LATE, "the record is late: its window is closed", error);
			}
			if (status != FLOW_OK)
				return status;
			continue;
		}
		work->rows[work->count] = row;
		work->spaces[work->count++] = 0;
	}
	return FLOW_OK;
}

/* Changes go out at the next full interval; a slot that waits for it already needs no other timer. */
static uint32_t
mark_changed(const struct aggregate_binding *binding, const struct work *work, uint32_t *rows)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < work->count; i++) {
		uint64_t *changed = (uint64_t *)(void *)((char *)work->slots[i] + binding->changed_offset);
		if (*changed == 0)
			rows[count++] = work->rows[i];
		*changed = 1;
	}
	return count;
}

static flow_status
register_changes(flow_function *function, const flow_batch *batch, const uint32_t *rows, uint32_t count,
				 flow_builder *scratch, flow_error *error)
{
	const struct aggregate_binding *binding = function->binding;
	if (count == 0)
		return FLOW_OK;
	int64_t *times = flow_builder_alloc(scratch, count * sizeof(*times));
	if (times == NULL)
		return bound_no_memory(binding->services.host, error);
	int64_t due = window_start(binding->services.host->now(), binding->every) + binding->every;
	for (uint32_t i = 0; i < count; i++)
		times[i] = due;
	return function->context->ops->register_timers(function->context, FLOW_TIMER_PROCESSING, batch, rows, count, times,
												   error);
}

static flow_status
register_windows(flow_function *function, const flow_batch *batch, const struct work *work, flow_builder *scratch,
				 flow_error *error)
{
	int64_t *times = NULL;
	uint32_t *rows = NULL;
	uint32_t count = 0;
	for (uint32_t i = 0; i < work->count; i++) {
		if (!work->created[i])
			continue;
		if (times == NULL) {
			uint64_t room = work->count - i;
			times = flow_builder_alloc(scratch, room * sizeof(*times));
			rows = flow_builder_alloc(scratch, room * sizeof(*rows));
			if (times == NULL || rows == NULL)
				return bound_no_memory(function->binding->services.host, error);
		}
		rows[count] = work->rows[i];
		times[count++] = work->spaces[i] + function->binding->window - 1;
	}
	if (count == 0)
		return FLOW_OK;
	return function->context->ops->register_timers(function->context, FLOW_TIMER_EVENT, batch, rows, count, times,
												   error);
}

/* Values of an aggregate's argument for the batch; NULL for count(*). */
static flow_status
evaluate_argument(flow_function *function, const struct aggregate *aggregate, const flow_batch *batch,
				  flow_builder *scratch, flow_status *statuses, flow_slice *reasons, flow_value **values,
				  flow_error *error)
{
	*values = NULL;
	if (aggregate->call.argument == NULL)
		return FLOW_OK;
	*values = flow_builder_alloc(scratch, ((uint64_t)batch->row_count + 1) * sizeof(**values));
	if (*values == NULL)
		return bound_no_memory(function->binding->services.host, error);
	return function->binding->services.expressions->evaluate(aggregate->call.argument, batch, scratch, *values,
															 statuses, reasons, error);
}

/* Evaluates all arguments first, so that a row that fails in one of them is in none of the aggregates. */
static flow_status
evaluate_arguments(flow_function *function, const flow_batch *batch, struct work *work, flow_builder *scratch,
				   flow_value **arguments, flow_error *error)
{
	const struct aggregate_binding *binding = function->binding;
	flow_status *statuses;
	flow_slice *reasons;
	if (!bound_status_arrays(scratch, batch, &statuses, &reasons))
		return bound_no_memory(binding->services.host, error);
	int may_fail = 0;
	for (uint32_t i = 0; i < binding->aggregate_count; i++) {
		flow_status status = evaluate_argument(function, &binding->aggregates[i], batch, scratch, statuses, reasons,
											   &arguments[i], error);
		if (status != FLOW_OK)
			return status;
		may_fail |= arguments[i] != NULL;
	}
	uint32_t kept = 0;
	for (uint32_t i = 0; may_fail && i < work->count; i++) {
		uint32_t row = work->rows[i];
		if (statuses[row] < 0) {
			flow_status status =
				function->context->ops->reject(function->context, batch, row, statuses[row], reasons[row], error);
			if (status != FLOW_OK)
				return status;
			continue;
		}
		work->rows[kept] = row;
		work->spaces[kept++] = work->spaces[i];
	}
	if (may_fail)
		work->count = kept;
	return FLOW_OK;
}

/* --- adding ------------------------------------------------------------------------------------------------------- */

/* Rows that an aggregate refused, with the slots that they would have gone to. */
struct refused {
	struct work work;
	char *saved; /* the slots before, one a row of the work; NULL: no aggregate can refuse a row */
};

static int
save_slots(const struct aggregate_binding *binding, const struct work *work, flow_builder *scratch,
		   struct refused *refused)
{
	uint64_t size = binding->state.slot_size;
	refused->saved = NULL;
	refused->work.count = 0;
	if (!binding->may_refuse)
		return 1;
	refused->saved = flow_builder_alloc(scratch, work->count * size);
	for (uint32_t i = 0; refused->saved != NULL && i < work->count; i++)
		memcpy(refused->saved + i * size, work->slots[i], size);
	return refused->saved != NULL && make_work(scratch, work->count, &refused->work);
}

static void
restore_slots(const struct aggregate_binding *binding, const struct work *work, const struct refused *refused)
{
	uint64_t size = binding->state.slot_size;
	for (uint32_t i = 0; i < work->count; i++)
		memcpy(work->slots[i], refused->saved + i * size, size);
}

static void
move_row(const struct work *from, uint32_t i, struct work *to)
{
	to->rows[to->count] = from->rows[i];
	to->spaces[to->count] = from->spaces[i];
	to->slots[to->count] = from->slots[i];
	to->created[to->count++] = from->created[i];
}

static int
any_failed(const struct work *work, const flow_status *statuses)
{
	for (uint32_t i = 0; i < work->count; i++)
		if (statuses[work->rows[i]] < 0)
			return 1;
	return 0;
}

/* Takes the rows that failed out of the work. */
static void
take_out_refused(const struct aggregate_binding *binding, struct work *work, struct refused *refused,
				 flow_status *statuses)
{
	uint64_t size = binding->state.slot_size;
	struct work all = *work;
	work->count = 0;
	for (uint32_t i = 0; i < all.count; i++) {
		if (statuses[all.rows[i]] < 0) {
			move_row(&all, i, &refused->work);
			statuses[all.rows[i]] = FLOW_OK;
			continue;
		}
		memmove(refused->saved + work->count * size, refused->saved + i * size, size);
		move_row(&all, i, work);
	}
}

static flow_status
add_rows(flow_function *function, const struct work *work, flow_value *const *arguments, flow_status *statuses,
		 flow_error *error)
{
	const struct aggregate_binding *binding = function->binding;
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; i < binding->aggregate_count && status == FLOW_OK; i++) {
		const struct aggregate *aggregate = &binding->aggregates[i];
		status = binding->services.expressions->aggregate_add(&aggregate->call, arguments[i], work->rows, work->count,
															  work->slots, aggregate->offset, statuses, error);
	}
	return status;
}

/* A row that one aggregate refuses must be in none of them: then the slots go back, and the other rows are added again. No call on
 * the context comes in between, so that slots stay where they are. */
static flow_status
accumulate(flow_function *function, const flow_batch *batch, struct work *work, flow_builder *scratch,
		   flow_value *const *arguments, struct refused *refused, flow_error *error)
{
	const struct aggregate_binding *binding = function->binding;
	flow_status *statuses = flow_builder_alloc(scratch, ((uint64_t)batch->row_count + 1) * sizeof(*statuses));
	if (statuses == NULL || !save_slots(binding, work, scratch, refused))
		return bound_no_memory(binding->services.host, error);
	memset(statuses, 0, batch->row_count * sizeof(*statuses));
	for (;;) {
		flow_status status = add_rows(function, work, arguments, statuses, error);
		if (status != FLOW_OK || refused->saved == NULL)
			return status;
		if (!any_failed(work, statuses))
			return FLOW_OK;
		restore_slots(binding, work, refused);
		take_out_refused(binding, work, refused, statuses);
	}
}

/* Slots that only refused rows made go again; else a row that stays counts as their maker. */
static flow_status
drop_unused_slots(flow_function *function, const flow_batch *batch, struct work *work, const struct refused *refused,
				  flow_error *error)
{
	flow_context *context = function->context;
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; i < refused->work.count && status == FLOW_OK; i++) {
		uint32_t k = 0;
		if (!refused->work.created[i])
			continue;
		while (k < work->count && work->slots[k] != refused->work.slots[i])
			k++;
		if (k < work->count)
			work->created[k] = 1;
		else
			status = context->ops->remove_many(context, 0, batch, &refused->work.rows[i], 1,
											   function->binding->window == 0 ? NULL : &refused->work.spaces[i], error);
	}
	return status;
}

static flow_status
reject_refused(flow_function *function, const flow_batch *batch, const struct refused *refused, flow_error *error)
{
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; i < refused->work.count && status == FLOW_OK; i++)
		status = reject(function, batch, refused->work.rows[i], FLOW_E_RANGE,
						"an aggregate would overflow; the record is in none of them", error);
	return status;
}

flow_status
aggregate_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	const struct aggregate_binding *binding = function->binding;
	flow_builder *scratch = scratch_of(function);
	struct work work;
	struct refused refused = { .saved = NULL };
	uint32_t *changed = NULL, changes = 0;
	flow_value **arguments = flow_builder_alloc(scratch, ((uint64_t)binding->aggregate_count + 1) * sizeof(*arguments));
	if (arguments == NULL || !make_work(scratch, batch->selected_count, &work))
		return bound_no_memory(binding->services.host, error);
	flow_status status = choose_rows(function, batch, &work, error);
	if (status == FLOW_OK)
		status = evaluate_arguments(function, batch, &work, scratch, arguments, error);
	if (status != FLOW_OK || work.count == 0)
		return status;
	status =
		function->context->ops->slots(function->context, 0, batch, work.rows, work.count,
									  binding->window == 0 ? NULL : work.spaces, 1, work.slots, work.created, error);
	if (status == FLOW_OK)
		status = accumulate(function, batch, &work, scratch, arguments, &refused, error);
	if (status == FLOW_OK && binding->every != 0) {
		changed = flow_builder_alloc(scratch, work.count * sizeof(*changed) + 1);
		if (changed == NULL)
			return bound_no_memory(binding->services.host, error);
		changes = mark_changed(binding, &work, changed);
	}
	if (status == FLOW_OK && refused.work.count != 0)
		status = drop_unused_slots(function, batch, &work, &refused, error);
	if (status == FLOW_OK && binding->window != 0)
		status = register_windows(function, batch, &work, scratch, error);
	if (status == FLOW_OK)
		status = register_changes(function, batch, changed, changes, scratch, error);
	return status == FLOW_OK ? reject_refused(function, batch, &refused, error) : status;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static flow_status
fill_result(flow_function *function, flow_builder *builder, const flow_value *key, int64_t start, const void *slot,
			flow_value *cells, flow_error *error)
{
	const struct aggregate_binding *binding = function->binding;
	uint32_t field = 0;
	for (; field < binding->key_field_count; field++)
		cells[field] = binding->key_is_record ? key->as.record[field] : *key;
	if (binding->has_start)
		cells[field++] = flow_timestamp(start, FLOW_MICROSECONDS, FLOW_ZONED);
	if (binding->has_end)
		cells[field++] = flow_timestamp(start + binding->window, FLOW_MICROSECONDS, FLOW_ZONED);
	for (uint32_t i = 0; i < binding->aggregate_count; i++) {
		const struct aggregate *aggregate = &binding->aggregates[i];
		flow_status status = binding->services.expressions->aggregate_result(
			&aggregate->call, (const char *)slot + aggregate->offset, builder, &cells[field++], error);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

/* Adds a result for each of the work's rows that has a slot; results live on `keys`. */
static flow_status
emit(flow_function *function, const flow_batch *keys, const struct work *work, flow_error *error)
{
	const struct aggregate_binding *binding = function->binding;
	flow_output *output = function->context->outputs[0];
	const flow_value no_key = flow_null(); /* of a global stream: the result has no fields of it */
	uint32_t columns = FLOW_COLUMN_TIMESTAMP | (binding->key_field_count != 0 ? FLOW_COLUMN_KEY : 0);
	for (uint32_t i = 0; i < work->count; i++) {
		if (work->slots[i] == NULL)
			continue;
		flow_builder *builder = output->builder(output);
		if (builder->ops->add_columns(builder, columns) != FLOW_OK || builder->ops->keep(builder, keys) != FLOW_OK)
			return bound_no_memory(binding->services.host, error);
		flow_value *cells = flow_builder_cells(builder, binding->output->field_count);
		if (cells == NULL)
			return bound_no_memory(binding->services.host, error);
		const flow_value *key = keys->key == NULL ? &no_key : &keys->key[work->rows[i]];
		flow_status status = fill_result(function, builder, key, work->spaces[i], work->slots[i], cells, error);
		if (status != FLOW_OK)
			return status;
		uint32_t row = flow_builder_add(builder, flow_record(cells, binding->output->field_count));
		builder->timestamp[row] = binding->window == 0 ? FLOW_NO_TIMESTAMP : work->spaces[i] + binding->window - 1;
		if (binding->key_field_count != 0)
			builder->key[row] = *key;
		if (flow_builder_full(builder) && (status = output->push(output, error)) != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}

/* The results so far of keys that have changed. */
static flow_status
emit_changes(flow_function *function, const flow_batch *due, struct work *work, flow_error *error)
{
	flow_context *context = function->context;
	for (FLOW_ROWS(due, i)) {
		work->spaces[work->count] = 0;
		work->rows[work->count++] = flow_row(due, i);
	}
	flow_status status =
		context->ops->slots(context, 0, due, work->rows, work->count, NULL, 0, work->slots, NULL, error);
	if (status != FLOW_OK)
		return status;
	for (uint32_t i = 0; i < work->count; i++)
		if (work->slots[i] != NULL)
			memset((char *)work->slots[i] + function->binding->changed_offset, 0, sizeof(uint64_t));
	return emit(function, due, work, error);
}

flow_status
aggregate_timers(flow_function *function, uint32_t kind, const flow_batch *due, flow_error *error)
{
	struct work work;
	if (!make_work(scratch_of(function), due->selected_count, &work))
		return bound_no_memory(function->binding->services.host, error);
	if (kind == FLOW_TIMER_PROCESSING)
		return emit_changes(function, due, &work, error);
	for (FLOW_ROWS(due, i)) {
		uint32_t row = flow_row(due, i);
		work.rows[work.count] = row;
		work.spaces[work.count++] = due->timestamp[row] + 1 - function->binding->window;
	}
	flow_context *context = function->context;
	flow_status status =
		context->ops->slots(context, 0, due, work.rows, work.count, work.spaces, 0, work.slots, NULL, error);
	if (status == FLOW_OK)
		status = emit(function, due, &work, error);
	if (status == FLOW_OK)
		status = context->ops->remove_many(context, 0, due, work.rows, work.count, work.spaces, error);
	return status;
}

static flow_status
emit_keys(void *self, const flow_batch *keys, flow_error *error)
{
	flow_function *function = self;
	struct work work;
	if (!make_work(scratch_of(function), keys->selected_count, &work))
		return bound_no_memory(function->binding->services.host, error);
	for (FLOW_ROWS(keys, i)) {
		work.spaces[work.count] = 0;
		work.rows[work.count++] = flow_row(keys, i);
	}
	flow_context *context = function->context;
	flow_status status = context->ops->slots(context, 0, keys, work.rows, work.count, NULL, 0, work.slots, NULL, error);
	return status == FLOW_OK ? emit(function, keys, &work, error) : status;
}

flow_status
aggregate_end_input(flow_function *function, uint32_t input, flow_error *error)
{
	(void)input;
	if (function->binding->window != 0 || function->binding->every != 0)
		return FLOW_OK; /* the timers have fired */
	return function->context->ops->apply_to_all_partitions(function->context, emit_keys, function, error);
}
