/* How records, watermarks and ends go from node to node: a direct call within a task, an outbox between tasks. */
#include "base/memory.h"
#include "runtime/exchange.h"
#include "runtime/run.h"

static flow_status
pass_bootstrap_gate(topology *t)
{
	if (atomic_fetch_sub(&t->bootstrap_left, 1) == 1)
		workers_wake(t);
	return FLOW_OK;
}

flow_status
node_failed(node *n, flow_status status)
{
	task *t = n->task;
	if (t->failed)
		return status;
	t->failed = 1;
	if (t->error.message == NULL)
		error_set(&t->error, status, "%s", status_text(status));
	if (t->stage->task_count > 1)
		error_prefix(&t->error, "%s (stage %u, task %u of %u)", n->op->name, t->stage->index, t->index + 1,
					 t->stage->task_count);
	else
		error_prefix(&t->error, "%s (stage %u)", n->op->name, t->stage->index);
	return status;
}

flow_status
node_process(node *n, uint32_t input, const flow_batch *batch)
{
	if (batch->selected_count == 0)
		return FLOW_OK;
	counter_add(&n->records_in, batch->selected_count);
	flow_status status = n->driver->process(n, input, batch);
	return status < 0 ? node_failed(n, status) : FLOW_OK;
}

flow_status
node_emit(node *n, uint32_t output, const flow_batch *batch)
{
	if (batch->selected_count == 0)
		return FLOW_OK;
	counter_add(&n->records_out, batch->selected_count);
	const node_output *out = &n->outputs[output];
	for (uint32_t i = 0; i < out->link_count; i++) {
		const node_link *l = &out->links[i];
		flow_status status = l->to != NULL ? node_process(l->to, l->input, batch) : outbox_send(l->box, batch);
		if (status < 0)
			return node_failed(n, status);
	}
	return FLOW_OK;
}

flow_batch *
node_first_rows(runtime *run, const flow_batch *batch, uint32_t count)
{
	uint32_t *rows = memory_allocate((count + 1) * sizeof(*rows));
	if (rows == NULL)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		rows[i] = flow_row(batch, i);
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns), .selection = rows, .selected_count = count };
	flow_batch *part = batch_forward(run->pool, batch, &columns, NULL);
	memory_release(rows);
	return part;
}

flow_status
node_emit_watermark(node *n, int64_t value)
{
	for (uint32_t output = 0; output < 2; output++) {
		for (uint32_t i = 0; i < n->outputs[output].link_count; i++) {
			const node_link *l = &n->outputs[output].links[i];
			flow_status status =
				l->to != NULL ? node_watermark(l->to, l->input, l->port, value) : outbox_watermark(l->box, value);
			if (status < 0)
				return node_failed(n, status);
		}
	}
	return FLOW_OK;
}

flow_status
node_emit_idle(node *n, int idle)
{
	for (uint32_t output = 0; output < 2; output++) {
		for (uint32_t i = 0; i < n->outputs[output].link_count; i++) {
			const node_link *l = &n->outputs[output].links[i];
			flow_status status = l->to != NULL ? node_idle(l->to, l->input, l->port, idle)
											   : outbox_control(l->box, item_make(ITEM_IDLE, idle));
			if (status < 0)
				return node_failed(n, status);
		}
	}
	return FLOW_OK;
}

/* The minimum over the inputs: ended ones do not hold it back, nor idle ones as long as one is live. */
static flow_status
advance_node(node *n)
{
	int64_t least = FLOW_EVENT_TIME_END;
	int live = 0, idle = 0;
	for (uint32_t i = 0; i < n->input_count; i++) {
		const node_input *in = &n->inputs[i];
		if (in->ended)
			continue;
		if (in->idle) {
			idle = 1;
			continue;
		}
		live = 1;
		least = in->watermark < least ? in->watermark : least;
	}
	if ((!live && idle) || least <= n->event_time)
		return FLOW_OK;
	n->event_time = least;
	flow_status status =
		n->driver->event_time != NULL ? n->driver->event_time(n, least) : node_emit_watermark(n, least);
	return status < 0 ? node_failed(n, status) : FLOW_OK;
}

static flow_status
note_idle(node *n, node_input *in, int idle)
{
	if (in->idle == idle)
		return FLOW_OK;
	in->idle = (uint8_t)idle;
	int all = 1;
	for (uint32_t i = 0; i < n->input_count; i++)
		all &= n->inputs[i].idle | n->inputs[i].ended;
	if (n->idle == all || n->ended)
		return FLOW_OK;
	n->idle = (uint8_t)all;
	return node_emit_idle(n, all);
}

static flow_status
advance_input(node *n, uint32_t input)
{
	node_input *in = &n->inputs[input];
	int64_t least = FLOW_EVENT_TIME_END;
	int live = 0, idle = 0;
	for (uint32_t i = 0; i < in->port_count; i++) {
		const port *p = &in->ports[i];
		if (p->ended)
			continue;
		if (p->idle) {
			idle = 1;
			continue;
		}
		live = 1;
		least = p->watermark < least ? p->watermark : least;
	}
	flow_status status = note_idle(n, in, !live && idle);
	if (status < 0)
		return status;
	if (in->idle)
		return advance_node(n);
	if (least <= in->watermark)
		return FLOW_OK;
	in->watermark = least;
	if (n->driver->input_watermark != NULL) {
		status = n->driver->input_watermark(n, input, least);
		if (status < 0)
			return node_failed(n, status);
	}
	return advance_node(n);
}

flow_status
node_watermark(node *n, uint32_t input, uint32_t port_index, int64_t value)
{
	port *p = &n->inputs[input].ports[port_index];
	if (p->ended || (value <= p->watermark && !p->idle))
		return FLOW_OK;
	p->idle = 0;
	p->watermark = value > p->watermark ? value : p->watermark;
	return advance_input(n, input);
}

flow_status
node_idle(node *n, uint32_t input, uint32_t port_index, int idle)
{
	port *p = &n->inputs[input].ports[port_index];
	if (p->ended || p->idle == idle)
		return FLOW_OK;
	p->idle = (uint8_t)idle;
	return advance_input(n, input);
}

flow_status
node_finish(node *n)
{
	if (n->ended)
		return FLOW_OK;
	n->ended = 1;
	n->task->ended_nodes++;
	for (uint32_t output = 0; output < 2; output++) {
		for (uint32_t i = 0; i < n->outputs[output].link_count; i++) {
			const node_link *l = &n->outputs[output].links[i];
			flow_status status =
				l->to != NULL ? node_end(l->to, l->input, l->port) : outbox_control(l->box, item_make(ITEM_END, 0));
			if (status < 0)
				return node_failed(n, status);
		}
	}
	return n->bootstrap ? pass_bootstrap_gate(n->task->topology) : FLOW_OK;
}

flow_status
node_end(node *n, uint32_t input, uint32_t port_index)
{
	node_input *in = &n->inputs[input];
	port *p = &in->ports[port_index];
	if (p->ended)
		return FLOW_OK;
	p->ended = 1;
	in->ended_count++;
	flow_status status = advance_input(n, input);
	if (status < 0 || in->ended_count < in->port_count)
		return status;
	in->ended = 1;
	status = advance_node(n);
	if (status == FLOW_OK && n->driver->end_input != NULL)
		status = n->driver->end_input(n, input);
	if (status < 0)
		return node_failed(n, status);
	return ++n->ended_inputs == n->input_count ? node_finish(n) : FLOW_OK;
}
