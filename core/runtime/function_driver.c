/* Process functions: opened per task, called with batches, timers, watermarks and ends; their state is frozen at barriers. */
#include "runtime/function.h"
#include "runtime/keys.h"

#include "base/clock.h"
#include "base/key.h"
#include "base/memory.h"

#define STATE_SHARE 2 /* dirty state may take 1/2 of the memory budget */

static function_self *
self_of(const node *n)
{
	return n->self;
}

/* --- open and close ------------------------------------------------------------------------------------------------- */

static uint32_t
state_count(const plan_operator *op)
{
	uint32_t count = 0;
	while (op->function.states != NULL && op->function.states[count] != NULL)
		count++;
	return count;
}

static uint32_t
stateful_tasks(const plan *p)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < p->operator_count; i++)
		if (p->operators[i].kind == OPERATOR_FUNCTION && p->operators[i].state_id != PLAN_NONE)
			count += p->stages[p->operators[i].stage].task_count;
	return count == 0 ? 1 : count;
}

static flow_status
open_state(function_self *self)
{
	node *n = self->n;
	const plan_operator *op = n->op;
	runtime *run = n->task->topology->run;
	if (op->state_id == PLAN_NONE)
		return FLOW_OK;
	task_state_request request = { .pool = run->pool,
								   .backend = checkpoint_store_backend(run->store),
								   .operator_index = op->index,
								   .state_id = run->state_base[op->index],
								   .states = op->function.states,
								   .state_count = state_count(op),
								   .group_count = run->plan->max_parallelism,
								   .last_group = run->plan->max_parallelism - 1,
								   .memory_limit = run->memory_limit / STATE_SHARE / stateful_tasks(run->plan),
								   .restored = run->recovered != NULL };
	if (n->task->stage->task_count > 1)
		key_task_groups(n->task->index, n->task->stage->task_count, request.group_count, &request.first_group,
						&request.last_group);
	return task_state_create(&request, &self->state, &n->task->error);
}

static void
settle_keys(function_self *self)
{
	const plan *p = self->n->task->topology->run->plan;
	for (uint32_t i = 0; i < p->edge_count; i++) {
		const flow_schema *key = p->edges[i].to == self->n->op->index ? plan_edge_key(p, &p->edges[i]) : NULL;
		if (key == NULL)
			continue;
		self->keyed[p->edges[i].input] = 1;
		if (self->key_schema == NULL)
			self->key_schema = key;
	}
}

static flow_status
open_outputs(function_self *self)
{
	runtime *run = self->n->task->topology->run;
	self->output_count = self->n->op->function.outputs[0] == NULL   ? 0
						 : self->n->op->function.outputs[1] == NULL ? 1
																	: 2;
	function_outputs_init(self);
	for (uint32_t i = 0; i < self->output_count; i++) {
		self->outputs[i].builder = builder_create(run->pool, run->batch_rows, run->batch_bytes);
		self->outputs[i].memory = builder_create(run->pool, 1, 0);
		if (self->outputs[i].builder == NULL || self->outputs[i].memory == NULL)
			return FLOW_E_MEMORY;
	}
	self->scratch = builder_create(run->pool, 1, 0);
	return self->scratch == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

static flow_status
function_open(node *n)
{
	function_self *self = memory_allocate_zeroed(sizeof(*self));
	if (self == NULL)
		return FLOW_E_MEMORY;
	n->self = self;
	self->n = n;
	runtime *run = n->task->topology->run;
	settle_keys(self);
	flow_status status = open_outputs(self);
	if (status == FLOW_OK)
		status = open_state(self);
	if (status == FLOW_OK && self->state != NULL && self->key_schema == NULL) {
		self->one_key = builder_create(run->pool, 1, 0);
		status = self->one_key == NULL ? FLOW_E_MEMORY : FLOW_OK;
	}
	if (status < 0)
		return status;
	self->context = (flow_context){ .struct_size = FLOW_SIZEOF(flow_context),
									.output_count = self->output_count,
									.ops = &function_context_ops,
									.outputs = self->output_list,
									.job = flow_slice_of(run->plan->job),
									.operator_name = flow_slice_of(n->op->name),
									.task = n->task->index,
									.task_count = n->task->stage->task_count,
									.max_parallelism = run->plan->max_parallelism,
									.attempt = run->attempt,
									.host = self };
	status = n->op->ops->open(n->op->binding, &self->context, &self->instance, &n->task->error);
	return error_settle(&n->task->error, status, "open");
}

static void
function_close(node *n)
{
	function_self *self = self_of(n);
	if (self == NULL)
		return;
	if (self->instance != NULL)
		n->op->ops->close(self->instance);
	for (uint32_t i = 0; i < 2; i++) {
		builder_destroy(self->outputs[i].builder);
		builder_destroy(self->outputs[i].memory);
	}
	builder_destroy(self->scratch);
	builder_destroy(self->one_key);
	key_set_clear(&self->keys);
	if (self->state != NULL)
		task_state_destroy(self->state);
	memory_release(self);
	n->self = NULL;
}

/* --- calls ---------------------------------------------------------------------------------------------------------- */

/* Dirty state over its share of the budget: the control thread starts a checkpoint early. */
static void
ask_for_checkpoint(const node *n)
{
	topology *t = n->task->topology;
	if (atomic_exchange(&t->pressed, 1))
		return;
	atomic_store(&t->run->control_signal, 1);
	signal_wake(&t->run->control_signal);
}

/* A global stream has no keys; its state is that of one key, which the function does not see. */
static flow_batch *
with_one_key(function_self *self, const flow_batch *batch)
{
	flow_value one = flow_bool(1);
	flow_slice key;
	uint64_t *hash = flow_builder_alloc(self->one_key, batch->row_count * sizeof(*hash));
	flow_slice *bytes = flow_builder_alloc(self->one_key, batch->row_count * sizeof(*bytes));
	if (hash == NULL || bytes == NULL || key_encode_into(&one, self->one_key, &key) != FLOW_OK)
		return NULL;
	uint64_t hash_of_one = key_hash(key);
	for (uint32_t row = 0; row < batch->row_count; row++) {
		hash[row] = hash_of_one;
		bytes[row] = key;
	}
	flow_batch *keyed = batch_forward(self->n->task->topology->run->pool, batch, NULL, NULL);
	if (keyed != NULL)
		batch_set_key_columns(keyed, self->one_key, hash, bytes);
	return keyed;
}

/* A broadcast stream may come from a keyed one; its rows stand for none of the keys that this task has. */
static flow_batch *
without_hashes(const function_self *self, const flow_batch *batch)
{
	flow_batch *made = batch_forward(self->n->task->topology->run->pool, batch, NULL, NULL);
	if (made != NULL)
		batch_set_key_columns(made, NULL, NULL, NULL);
	return made;
}

static flow_status
process_batch(node *n, uint32_t input, const flow_batch *batch)
{
	function_self *self = self_of(n);
	self->current = batch;
	flow_status status = n->op->ops->process(self->instance, input, batch, &n->task->error);
	if (self->state != NULL && task_state_pressed(self->state))
		ask_for_checkpoint(n);
	return function_call_done(self, status);
}

static flow_status
function_process(node *n, uint32_t input, const flow_batch *batch)
{
	function_self *self = self_of(n);
	int strange = batch->key_hash != NULL && !self->keyed[input] && self->key_schema != NULL;
	if (self->one_key == NULL && !strange)
		return process_batch(n, input, batch);
	flow_batch *fitted = strange ? without_hashes(self, batch) : with_one_key(self, batch);
	flow_status status = fitted == NULL ? FLOW_E_MEMORY : process_batch(n, input, fitted);
	batch_release(fitted);
	return status;
}

/* Timers that the function registers while they fire, and that are due, fire too. */
static flow_status
fire_timers(node *n, uint32_t kind, int64_t now)
{
	function_self *self = self_of(n);
	flow_status status = FLOW_OK;
	while (status == FLOW_OK && task_timers_next(self->state, kind) <= now) {
		flow_batch *due = NULL;
		status = task_timers_due(self->state, kind, now, self->key_schema, &due, &n->task->error);
		if (status < 0 || due == NULL)
			break;
		self->current = due;
		if (FLOW_CAN(n->op->ops, timers))
			status = n->op->ops->timers(self->instance, kind, due, &n->task->error);
		status = function_call_done(self, status);
		batch_release(due);
	}
	return status;
}

static flow_status
function_input_watermark(node *n, uint32_t input, int64_t value)
{
	function_self *self = self_of(n);
	if (!FLOW_CAN(n->op->ops, watermark))
		return FLOW_OK;
	flow_status status =
		n->op->ops->watermark(self->instance, input, FLOW_WATERMARK_EVENT_TIME, value, &n->task->error);
	self->polled = status == FLOW_WATERMARK_POLL;
	return function_call_done(self, self->polled ? FLOW_OK : status);
}

/* Fires, then forwards. */
static flow_status
function_event_time(node *n, int64_t value)
{
	function_self *self = self_of(n);
	flow_status status = self->state == NULL ? FLOW_OK : fire_timers(n, FLOW_TIMER_EVENT, value);
	if (status < 0 || self->polled)
		return status;
	return node_emit_watermark(n, value);
}

/* Processing timers that are left fire before the last end: nothing that was asked for is dropped. */
static flow_status
function_end_input(node *n, uint32_t input)
{
	function_self *self = self_of(n);
	flow_status status = FLOW_OK;
	if (self->state != NULL && n->ended_inputs + 1 == n->input_count)
		status = fire_timers(n, FLOW_TIMER_PROCESSING, INT64_MAX - 1);
	if (status < 0 || !FLOW_CAN(n->op->ops, end_input))
		return status;
	return function_call_done(self, n->op->ops->end_input(self->instance, input, &n->task->error));
}

static flow_status
function_barrier(node *n, task_report *report, int last)
{
	(void)last;
	function_self *self = self_of(n);
	if (self->state == NULL)
		return FLOW_OK;
	state_delta *delta = NULL;
	flow_status status = task_state_freeze(self->state, &delta, &n->task->error);
	if (status < 0 || delta == NULL)
		return status;
	return report_delta(report, delta);
}

static flow_status
function_tick(node *n)
{
	function_self *self = self_of(n);
	if (self->state == NULL || n->ended || !n->op->function.uses_timers)
		return FLOW_OK;
	int64_t now = clock_now();
	flow_status status = fire_timers(n, FLOW_TIMER_PROCESSING, now);
	int64_t next = task_timers_next(self->state, FLOW_TIMER_PROCESSING);
	if (next != INT64_MAX)
		n->deadline = n->task->now + (next > now ? next - now : 0);
	return status;
}

const node_driver function_driver = {
	.open = function_open,
	.process = function_process,
	.input_watermark = function_input_watermark,
	.event_time = function_event_time,
	.end_input = function_end_input,
	.barrier = function_barrier,
	.tick = function_tick,
	.close = function_close,
};
