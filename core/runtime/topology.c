/* Builds what one attempt runs from the plan: tasks with their nodes, channels, outboxes, and their workers. */
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/aligned.h"
#include "runtime/exchange.h"
#include "runtime/record_errors.h"
#include "runtime/run.h"

#define CHANNEL_ITEMS 32

static const node_driver *
driver_of(uint32_t kind)
{
	switch (kind) {
	case OPERATOR_SOURCE:
		return &source_driver;
	case OPERATOR_FUNCTION:
	case OPERATOR_TRANSFORMER:
		return &function_driver;
	case OPERATOR_MERGE:
		return &merge_driver;
	case OPERATOR_KEY_BY:
		return &key_by_driver;
	case OPERATOR_EVENT_TIME:
		return &event_time_driver;
	default:
		return &sink_driver;
	}
}

static const plan_stage *
stage_of(const topology *t, uint32_t operator_index)
{
	const plan *p = t->run->plan;
	return &p->stages[p->operators[operator_index].stage];
}

static task *
task_of(topology *t, uint32_t stage, uint32_t index)
{
	return &t->tasks[t->first_task[stage] + index];
}

node *
topology_node(topology *t, uint32_t operator_index, uint32_t task_index)
{
	task *in = task_of(t, t->run->plan->operators[operator_index].stage, task_index);
	for (uint32_t i = 0; i < in->node_count; i++)
		if (in->nodes[i].op->index == operator_index)
			return &in->nodes[i];
	return NULL;
}

/* --- nodes and tasks ------------------------------------------------------------------------------------------------ */

static flow_status
create_task(topology *t, const plan_stage *stage, uint32_t index)
{
	task *made = task_of(t, stage->index, index);
	made->topology = t;
	made->stage = stage;
	made->index = index;
	made->epoch = t->run->epoch;
	made->deadline = INT64_MAX;
	made->current_inflow = NO_INFLOW;
	made->nodes = memory_allocate_zeroed(stage->operator_count * sizeof(*made->nodes));
	if (made->nodes == NULL)
		return FLOW_E_MEMORY;
	made->node_count = stage->operator_count;
	for (uint32_t i = 0; i < stage->operator_count; i++) {
		node *n = &made->nodes[i];
		n->op = &t->run->plan->operators[stage->operators[i]];
		n->driver = driver_of(n->op->kind);
		n->task = made;
		n->event_time = INT64_MIN;
		n->deadline = 0; /* the first tick comes at once */
		n->inputs[0].watermark = n->inputs[1].watermark = INT64_MIN;
	}
	return FLOW_OK;
}

static flow_status
create_tasks(topology *t)
{
	const plan *p = t->run->plan;
	t->first_task = memory_allocate_zeroed((p->stage_count + 1) * sizeof(*t->first_task));
	if (t->first_task == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < p->stage_count; i++)
		t->first_task[i + 1] = t->first_task[i] + p->stages[i].task_count;
	t->task_count = t->first_task[p->stage_count];
	t->tasks = memory_allocate_zeroed(t->task_count * sizeof(*t->tasks));
	if (t->tasks == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < p->stage_count; i++) {
		for (uint32_t k = 0; k < p->stages[i].task_count; k++) {
			flow_status status = create_task(t, &p->stages[i], k);
			if (status != FLOW_OK)
				return status;
		}
	}
	atomic_store(&t->live_tasks, (int)t->task_count);
	return FLOW_OK;
}

/* --- edges ---------------------------------------------------------------------------------------------------------- */

/* The array with room for one more, zeroed; NULL: out of memory, the array is as it was. */
static void *
extended(void *array, uint32_t count, size_t size)
{
	char *grown = memory_reallocate(array, (count + 1) * size);
	if (grown != NULL)
		memset(grown + count * size, 0, size);
	return grown;
}

static int
crosses_tasks(const plan *p, const plan_edge *edge)
{
	return edge->exchange || p->operators[edge->from].stage != p->operators[edge->to].stage;
}

/* A new inflow of the node's input; its number, or UINT32_MAX. */
static uint32_t
add_port(node *n, uint32_t input)
{
	node_input *in = &n->inputs[input];
	port *ports = extended(in->ports, in->port_count, sizeof(*ports));
	if (ports == NULL)
		return UINT32_MAX;
	in->ports = ports;
	in->ports[in->port_count].watermark = INT64_MIN;
	if (input + 1 > n->input_count)
		n->input_count = input + 1;
	return in->port_count++;
}

static flow_status
add_channel(topology *t, outbox *box, uint32_t target, node *to, uint32_t input)
{
	channel *c = &t->channels[t->channel_count++];
	if (!ring_create(&c->items, CHANNEL_ITEMS))
		return FLOW_E_MEMORY;
	c->producer = box->task;
	c->consumer = to->task;
	c->to = to;
	c->input = input;
	c->port = add_port(to, input);
	box->targets[target].channel = c;
	task *in = to->task;
	channel **channels = extended(in->channels, in->channel_count, sizeof(*channels));
	if (channels == NULL || c->port == UINT32_MAX)
		return FLOW_E_MEMORY;
	in->channels = channels;
	in->channels[in->channel_count++] = c;
	return FLOW_OK;
}

/* An outbox of the task towards all tasks of the node's stage. */
static flow_status
add_outbox(topology *t, task *from, uint32_t partitioning, uint32_t to, uint32_t input, outbox **made)
{
	uint32_t targets = stage_of(t, to)->task_count;
	outbox **outboxes = extended(from->outboxes, from->outbox_count, sizeof(*outboxes));
	if (outboxes == NULL)
		return FLOW_E_MEMORY;
	from->outboxes = outboxes;
	outbox **slot = &from->outboxes[from->outbox_count++];
	flow_status status = outbox_create(from, partitioning, targets, t->run->plan->max_parallelism, slot);
	for (uint32_t i = 0; status == FLOW_OK && i < targets; i++)
		status = add_channel(t, *slot, i, topology_node(t, to, i), input);
	*made = *slot;
	return status;
}

static flow_status
connect_task(topology *t, const plan_edge *edge, uint32_t index)
{
	node *from = topology_node(t, edge->from, index);
	node_output *out = &from->outputs[edge->output];
	node_link *links = extended(out->links, out->link_count, sizeof(*links));
	if (links == NULL)
		return FLOW_E_MEMORY;
	out->links = links;
	node_link *l = &out->links[out->link_count++];
	l->input = edge->input;
	if (crosses_tasks(t->run->plan, edge))
		return add_outbox(t, from->task, edge->partitioning, edge->to, edge->input, &l->box);
	l->to = topology_node(t, edge->to, index);
	l->port = add_port(l->to, edge->input);
	return l->port == UINT32_MAX ? FLOW_E_MEMORY : FLOW_OK;
}

static flow_status
connect_dead_letters(topology *t)
{
	const plan *p = t->run->plan;
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < t->task_count; i++) {
		task *from = &t->tasks[i];
		if (from->stage->index == p->operators[p->dead_letters].stage)
			continue;
		outbox *box = NULL;
		status = add_outbox(t, from, EDGE_GLOBAL, p->dead_letters, 0, &box);
		if (status == FLOW_OK)
			status = dead_letters_open(from, box);
	}
	return status;
}

static uint32_t
count_channels(const topology *t)
{
	const plan *p = t->run->plan;
	uint32_t count = 0;
	for (uint32_t i = 0; i < p->edge_count; i++)
		if (crosses_tasks(p, &p->edges[i]))
			count += stage_of(t, p->edges[i].from)->task_count * stage_of(t, p->edges[i].to)->task_count;
	if (p->dead_letters != PLAN_NONE)
		count += t->task_count * stage_of(t, p->dead_letters)->task_count;
	return count;
}

static flow_status
connect(topology *t)
{
	const plan *p = t->run->plan;
	uint32_t channels = count_channels(t);
	if (channels != 0 && (t->channels = aligned_allocate(channels * sizeof(*t->channels))) == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < p->edge_count; i++) {
		for (uint32_t k = 0; k < stage_of(t, p->edges[i].from)->task_count; k++) {
			flow_status status = connect_task(t, &p->edges[i], k);
			if (status != FLOW_OK)
				return status;
		}
	}
	return p->dead_letters == PLAN_NONE ? FLOW_OK : connect_dead_letters(t);
}

/* --- event time ------------------------------------------------------------------------------------------------------ */

/* Which operators' rows are of partitions that sources tell, and in front of which this is wanted. Operators are in the order of
 * the flow. */
static void
find_told(const plan *p, uint8_t *told, uint8_t *wanted)
{
	for (uint32_t i = 0; i < p->operator_count; i++) {
		told[i] = operator_keeps_partitions(&p->operators[i]) && p->operators[i].kind != OPERATOR_DEAD_LETTERS;
		for (uint32_t k = 0; k < p->edge_count; k++)
			if (p->edges[k].to == i)
				told[i] &= told[p->edges[k].from];
	}
	for (uint32_t i = p->operator_count; i-- > 0;) {
		wanted[i] = p->operators[i].kind == OPERATOR_EVENT_TIME;
		for (uint32_t k = 0; k < p->edge_count; k++)
			if (p->edges[k].from == i && operator_keeps_partitions(&p->operators[i]))
				wanted[i] |= wanted[p->edges[k].to];
	}
}

/* Outboxes in front of what assigns event time keep partitions apart. */
static flow_status
mark_outboxes(topology *t)
{
	const plan *p = t->run->plan;
	uint8_t *told = memory_allocate_zeroed(2 * ((size_t)p->operator_count + 1));
	if (told == NULL)
		return FLOW_E_MEMORY;
	uint8_t *wanted = told + p->operator_count + 1;
	find_told(p, told, wanted);
	for (uint32_t i = 0; i < p->edge_count; i++) {
		const plan_edge *edge = &p->edges[i];
		for (uint32_t k = 0; crosses_tasks(p, edge) && k < stage_of(t, edge->from)->task_count; k++) {
			const node_output *out = &topology_node(t, edge->from, k)->outputs[edge->output];
			for (uint32_t l = 0; l < out->link_count; l++) {
				outbox *box = out->links[l].box;
				if (box == NULL || box->targets[0].channel->to->op->index != edge->to)
					continue;
				box->tells = told[edge->from] && wanted[edge->to];
				for (uint32_t target = 0; target < box->target_count; target++)
					box->targets[target].channel->tells = box->tells;
			}
		}
	}
	memory_release(told);
	return FLOW_OK;
}

/* --- the bootstrap gate --------------------------------------------------------------------------------------------- */

/* Marks what bootstrap inputs alone feed; inputs behind the gate are read when all of that has ended, and when the ends have
 * arrived where it meets the rest. */
static void
arm_bootstrap_gate(topology *t)
{
	const plan *p = t->run->plan;
	int left = 0;
	for (uint32_t i = 0; i < p->operator_count; i++) {
		const plan_operator *op = &p->operators[i];
		int only =
			op->kind == OPERATOR_SOURCE ? p->streams[op->stream].bootstrap != 0 : op->kind != OPERATOR_DEAD_LETTERS;
		for (uint32_t k = 0; k < p->edge_count; k++)
			if (p->edges[k].to == i && !topology_node(t, p->edges[k].from, 0)->bootstrap)
				only = 0;
		for (uint32_t k = 0; k < stage_of(t, i)->task_count; k++)
			topology_node(t, i, k)->bootstrap = (uint8_t)only;
		left += only ? (int)stage_of(t, i)->task_count : 0;
	}
	for (uint32_t i = 0; i < t->channel_count; i++) {
		channel *c = &t->channels[i];
		for (uint32_t k = 0; k < p->edge_count; k++) {
			const plan_edge *edge = &p->edges[k];
			if (crosses_tasks(p, edge) && edge->to == c->to->op->index && edge->input == c->input &&
				p->operators[edge->from].stage == c->producer->stage->index && !c->to->bootstrap &&
				topology_node(t, edge->from, 0)->bootstrap)
				c->bootstrap = 1;
		}
		left += c->bootstrap;
	}
	atomic_store(&t->bootstrap_left, left);
}

/* --- workers -------------------------------------------------------------------------------------------------------- */

static int
task_blocks(const task *t)
{
	for (uint32_t i = 0; i < t->node_count; i++)
		if (t->nodes[i].op->kind == OPERATOR_FUNCTION && t->nodes[i].op->function.blocks)
			return 1;
	return 0;
}

static flow_status
assign(worker *w, task *t)
{
	task **tasks = extended(w->tasks, w->task_count, sizeof(*tasks));
	if (tasks == NULL)
		return FLOW_E_MEMORY;
	w->tasks = tasks;
	w->tasks[w->task_count++] = t;
	t->worker = w;
	return FLOW_OK;
}

/* Tasks that may block have a worker of their own; the others share `shared` of them. */
static flow_status
assign_workers(topology *t)
{
	uint32_t blocking = 0;
	for (uint32_t i = 0; i < t->task_count; i++)
		blocking += (uint32_t)task_blocks(&t->tasks[i]);
	uint32_t shared = t->run->plan->workers;
	if (shared == 0)
		shared = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	if (t->run->request.deterministic)
		blocking = 0;
	if (shared < 1 || t->run->request.deterministic)
		shared = 1;
	if (shared > t->task_count - blocking)
		shared = t->task_count - blocking;
	t->workers = aligned_allocate((shared + blocking) * sizeof(*t->workers));
	if (t->workers == NULL)
		return FLOW_E_MEMORY;
	t->worker_count = shared + blocking;
	for (uint32_t i = 0; i < t->worker_count; i++) {
		t->workers[i].topology = t;
		t->workers[i].index = i;
	}
	flow_status status = FLOW_OK;
	for (uint32_t i = 0, next = shared; status == FLOW_OK && i < t->task_count; i++) {
		task *one = &t->tasks[i];
		/* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): none is shared only where all tasks block */
		uint32_t index = task_blocks(one) && blocking != 0 ? next++ : (one->stage->index + one->index) % shared;
		status = assign(&t->workers[index], one);
	}
	return status;
}

/* --- life ----------------------------------------------------------------------------------------------------------- */

flow_status
topology_create(runtime *run, topology **made, flow_error *error)
{
	topology *t = memory_allocate_zeroed(sizeof(*t));
	if (t == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	t->run = run;
	*made = t;
	pthread_mutex_init(&t->error_lock, NULL);
	atomic_store(&t->epoch_requested, run->epoch);
	t->inputs = memory_allocate_zeroed((run->plan->stream_count + 1) * sizeof(*t->inputs));
	flow_status status = t->inputs == NULL ? FLOW_E_MEMORY : create_tasks(t);
	if (status == FLOW_OK)
		status = connect(t);
	if (status == FLOW_OK)
		status = mark_outboxes(t);
	if (status == FLOW_OK)
		status = assign_workers(t);
	if (status == FLOW_OK)
		arm_bootstrap_gate(t);
	else if (error->message == NULL)
		error_set(error, status, "out of memory");
	return status;
}

static void
destroy_task(task *t)
{
	for (uint32_t i = 0; i < t->node_count; i++) {
		for (uint32_t k = 0; k < 2; k++) {
			memory_release(t->nodes[i].inputs[k].ports);
			memory_release(t->nodes[i].outputs[k].links);
		}
	}
	report_destroy(atomic_load(&t->report));
	report_destroy(atomic_load(&t->committed));
	error_clear(&t->error);
	memory_release(t->outboxes);
	memory_release(t->channels);
	memory_release(t->nodes);
}

void
topology_destroy(topology *t)
{
	if (t == NULL)
		return;
	for (uint32_t i = 0; t->tasks != NULL && i < t->task_count; i++)
		destroy_task(&t->tasks[i]);
	for (uint32_t i = 0; i < t->worker_count; i++)
		memory_release(t->workers[i].tasks);
	aligned_release(t->workers);
	aligned_release(t->channels);
	memory_release(t->tasks);
	memory_release(t->first_task);
	memory_release(t->inputs);
	pthread_mutex_destroy(&t->error_lock);
	error_clear(&t->error);
	memory_release(t);
}

flow_status
topology_open(topology *t, flow_error *error)
{
	for (uint32_t i = 0; i < t->task_count; i++) {
		for (uint32_t k = 0; k < t->tasks[i].node_count; k++) {
			node *n = &t->tasks[i].nodes[k];
			flow_status status = FLOW_OK;
			if (n->driver == &source_driver)
				status = source_attach(n, error);
			else if (n->driver == &sink_driver)
				status = sink_attach(n, error);
			if (status < 0) {
				error_prefix(error, "%s", n->op->name);
				return status;
			}
		}
	}
	return FLOW_OK;
}

static void
detach(task *t, const node_driver *driver, void (*detach_node)(node *n))
{
	for (uint32_t i = 0; i < t->node_count; i++)
		if (t->nodes[i].driver == driver)
			detach_node(&t->nodes[i]);
}

/* What is under way is dropped: all batches of a source must be dead before it is closed. */
static void
drop_batches(topology *t)
{
	for (uint32_t i = 0; i < t->channel_count; i++) {
		ring *items = &t->channels[i].items;
		for (void *item; items->slots != NULL && (item = ring_pop(items)) != NULL;)
			if (item_tag(item) == ITEM_BATCH)
				batch_release(item);
		ring_destroy(items);
	}
	for (uint32_t i = 0; i < t->task_count; i++) {
		dead_letters_close(&t->tasks[i]);
		for (uint32_t k = 0; k < t->tasks[i].outbox_count; k++)
			outbox_destroy(t->tasks[i].outboxes[k]);
		t->tasks[i].outbox_count = 0;
	}
}

void
topology_close(topology *t)
{
	for (uint32_t i = 0; t->tasks != NULL && i < t->task_count; i++) {
		task_close(&t->tasks[i]);
		detach(&t->tasks[i], &sink_driver, sink_detach);
	}
	if (t->tasks != NULL)
		drop_batches(t);
	for (uint32_t i = 0; t->tasks != NULL && i < t->task_count; i++)
		detach(&t->tasks[i], &source_driver, source_detach);
	t->sources_open = 0;
}

void
topology_fail(topology *t, flow_error *error)
{
	pthread_mutex_lock(&t->error_lock);
	if (!atomic_load(&t->failed))
		error_move(&t->error, error);
	else
		error_clear(error);
	atomic_store(&t->failed, 1);
	pthread_mutex_unlock(&t->error_lock);
	workers_wake(t);
	atomic_store(&t->run->control_signal, 1);
	signal_wake(&t->run->control_signal);
}
