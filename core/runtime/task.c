/* One step of a task: what waits goes first, then a due barrier, timers, its sources, and what came through its channels. */
#include <string.h>

#include "base/clock.h"
#include "runtime/exchange.h"
#include "runtime/record_errors.h"
#include "runtime/run.h"

#define STEP_ITEMS 16 /* items of channels in one step, so that the worker's other tasks get their turn */
#define STEP_READS 4  /* reads of a source, likewise */
#define LINGER 2000   /* microseconds that gathered rows wait for more while the task is busy */

void
task_wake(task *t)
{
	atomic_store(&t->woken, 1);
	worker_wake(t->worker);
}

int
task_reading_allowed(const task *t)
{
	return !atomic_load_explicit(&t->topology->draining, memory_order_relaxed);
}

static int
release_held(task *t)
{
	int all = 1;
	for (uint32_t i = 0; i < t->outbox_count; i++)
		all &= outbox_release_held(t->outboxes[i]);
	for (uint32_t i = 0; i < t->node_count && !t->failed; i++)
		if (t->nodes[i].driver == &sink_driver)
			all &= sink_release_held(&t->nodes[i]);
	return all && !t->failed;
}

static flow_status
flush_outboxes(task *t)
{
	flow_status status = dead_letters_flush(t);
	for (uint32_t i = 0; status == FLOW_OK && i < t->outbox_count; i++)
		status = outbox_flush(t->outboxes[i]);
	return status;
}

/* Gathered rows do not wait for ever when the task is busy. */
static flow_status
flush_lingering(task *t)
{
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < t->outbox_count; i++) {
		outbox *o = t->outboxes[i];
		if (o->gathered_since != 0 && t->now - o->gathered_since > LINGER)
			status = outbox_flush(o);
	}
	return status;
}

/* --- barriers ------------------------------------------------------------------------------------------------------- */

static int
channel_ended(const channel *c)
{
	return c->to->inputs[c->input].ports[c->port].ended;
}

static flow_status
control_to_outboxes(task *t, void *item)
{
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < t->outbox_count; i++)
		status = outbox_control(t->outboxes[i], item);
	return status;
}

static flow_status
take_barrier(task *t, uint64_t epoch)
{
	task_report *r = report_create(epoch);
	if (r == NULL)
		return FLOW_E_MEMORY;
	int last = atomic_load(&t->topology->epoch_last);
	flow_status status = dead_letters_flush(t);
	for (uint32_t i = 0; status == FLOW_OK && i < t->node_count; i++) {
		node *n = &t->nodes[i];
		if (n->driver->barrier != NULL)
			status = n->driver->barrier(n, r, last);
		if (status < 0)
			node_failed(n, status);
	}
	if (status == FLOW_OK)
		status = dead_letters_flush(t); /* what outputs refused while they were flushed */
	if (status == FLOW_OK)
		status = control_to_outboxes(t, item_make(ITEM_BARRIER, (int64_t)(epoch & (uint64_t)ITEM_PAYLOAD_MAX)));
	if (status != FLOW_OK) {
		report_destroy(r);
		return status;
	}
	t->epoch = epoch;
	for (uint32_t i = 0; i < t->channel_count; i++)
		t->channels[i]->aligned = 0;
	atomic_store(&t->report, r);
	runtime *run = t->topology->run;
	if (atomic_fetch_sub(&t->topology->reports_missing, 1) == 1) {
		atomic_store(&run->control_signal, 1);
		signal_wake(&run->control_signal);
	}
	return FLOW_OK;
}

/* The barrier of the epoch under way is taken when it came through every channel that is still open, and sources agree. */
static flow_status
try_barrier(task *t, int *progress)
{
	uint64_t requested = atomic_load_explicit(&t->topology->epoch_requested, memory_order_acquire);
	if (requested <= t->epoch)
		return FLOW_OK;
	for (uint32_t i = 0; i < t->channel_count; i++)
		if (!t->channels[i]->aligned && !channel_ended(t->channels[i]))
			return FLOW_OK;
	for (uint32_t i = 0; i < t->node_count; i++)
		if (t->nodes[i].driver == &source_driver && !source_quiet(&t->nodes[i]))
			return FLOW_OK;
	*progress = 1;
	return take_barrier(t, requested);
}

void
task_hand_committed(task *t)
{
	if (atomic_load_explicit(&t->committed, memory_order_relaxed) == NULL)
		return;
	for (uint32_t i = 0; i < t->node_count; i++)
		if (t->nodes[i].driver == &source_driver && !source_quiet(&t->nodes[i]))
			return;
	task_report *r = atomic_exchange(&t->committed, NULL);
	for (uint32_t i = 0; r != NULL && i < t->node_count; i++)
		if (t->nodes[i].driver == &source_driver)
			source_committed(&t->nodes[i], r);
	report_destroy(r);
}

/* --- channels ------------------------------------------------------------------------------------------------------- */

static flow_status
end_of_channel(task *t, channel *c)
{
	flow_status status = node_end(c->to, c->input, c->port);
	if (status == FLOW_OK && c->bootstrap && atomic_fetch_sub(&t->topology->bootstrap_left, 1) == 1)
		workers_wake(t->topology);
	return status;
}

static flow_status
handle_item(task *t, channel *c, void *item)
{
	int64_t payload = item_payload(item);
	flow_status status;
	t->current_inflow = (uint32_t)(c - t->topology->channels);
	switch (item_tag(item)) {
	case ITEM_BATCH:
		status = node_process(c->to, c->input, item);
		batch_release(item);
		return status;
	case ITEM_WATERMARK:
		return node_watermark(c->to, c->input, c->port, payload == ITEM_PAYLOAD_MAX ? FLOW_EVENT_TIME_END : payload);
	case ITEM_BARRIER:
		c->aligned = 1;
		return FLOW_OK;
	case ITEM_IDLE:
		return node_idle(c->to, c->input, c->port, payload != 0);
	case ITEM_PARTITION:
		return event_time_told(c, payload);
	default: /* ITEM_END */
		return end_of_channel(t, c);
	}
}

/* One item of each channel that has one, beginning behind the last that had its turn. */
static flow_status
take_items(task *t, uint32_t *taken)
{
	for (uint32_t i = 0; i < t->channel_count; i++) {
		uint32_t index =
			t->next_channel + i < t->channel_count ? t->next_channel + i : t->next_channel + i - t->channel_count;
		channel *c = t->channels[index];
		if (c->aligned)
			continue;
		void *item = channel_take(c);
		if (item == NULL)
			continue;
		(*taken)++;
		flow_status status = handle_item(t, c, item);
		if (status < 0 || t->held != 0) {
			t->next_channel = index + 1 < t->channel_count ? index + 1 : 0;
			return status;
		}
	}
	return FLOW_OK;
}

static flow_status
read_channels(task *t, int *progress)
{
	flow_status status = FLOW_OK;
	for (uint32_t taken = 0, before = UINT32_MAX; status == FLOW_OK && taken != before && taken < STEP_ITEMS;) {
		before = taken;
		status = take_items(t, &taken);
		*progress |= taken != 0;
		if (t->held != 0)
			break;
	}
	return status;
}

/* --- the step ------------------------------------------------------------------------------------------------------- */

static void
read_sources(task *t, int *progress)
{
	for (uint32_t i = 0; i < t->node_count; i++) {
		if (t->nodes[i].driver != &source_driver)
			continue;
		for (unsigned reads = 0; reads < STEP_READS && !t->failed && t->held == 0; reads++) {
			if (source_step(&t->nodes[i]) == STEP_IDLE)
				break;
			*progress = 1;
		}
	}
}

static flow_status
tick(task *t)
{
	t->deadline = INT64_MAX;
	for (uint32_t i = 0; i < t->node_count; i++) {
		node *n = &t->nodes[i];
		if (n->driver->tick == NULL)
			continue; /* a sink's deadline counts only while it holds something */
		if (n->deadline <= t->now) {
			n->deadline = INT64_MAX;
			flow_status status = n->driver->tick(n);
			if (status < 0)
				return node_failed(n, status);
		}
		t->deadline = n->deadline < t->deadline ? n->deadline : t->deadline;
	}
	return FLOW_OK;
}

/* While output waits for room, only sinks that try again by themselves are due, and sources that must be called once a second. */
static flow_status
wait_for_room(task *t)
{
	t->deadline = INT64_MAX;
	for (uint32_t i = 0; i < t->node_count && !t->failed; i++) {
		if (t->nodes[i].driver == &sink_driver && t->nodes[i].deadline < t->deadline)
			t->deadline = t->nodes[i].deadline;
		if (t->nodes[i].driver == &source_driver)
			source_serve(&t->nodes[i]);
	}
	return t->failed ? FLOW_E_FAILED : FLOW_OK;
}

static flow_status
note_end(task *t)
{
	if (t->ended || t->ended_nodes < t->node_count || t->held != 0)
		return FLOW_OK;
	t->ended = 1;
	for (uint32_t i = 0; i < t->node_count; i++) {
		flow_status settled = t->nodes[i].driver == &sink_driver ? sink_settle(&t->nodes[i]) : FLOW_OK;
		if (settled < 0)
			return node_failed(&t->nodes[i], settled);
	}
	flow_status status = dead_letters_flush(t);
	if (status == FLOW_OK)
		status = control_to_outboxes(t, item_make(ITEM_END, 0)); /* those of nodes have it already */
	runtime *run = t->topology->run;
	if (atomic_fetch_sub(&t->topology->live_tasks, 1) == 1) {
		atomic_store(&run->control_signal, 1);
		signal_wake(&run->control_signal);
	}
	return status;
}

static flow_status
open_nodes(task *t)
{
	const plan *p = t->topology->run->plan;
	t->opened = 1;
	if (p->context_init != NULL) {
		flow_status status = p->context_init(&t->shared, &t->error);
		if (status < 0) {
			error_prefix(&t->error, "the context of the application");
			return status;
		}
		t->has_shared = 1;
	}
	for (uint32_t i = 0; i < t->node_count; i++) {
		node *n = &t->nodes[i];
		flow_status status = n->driver->open == NULL ? FLOW_OK : n->driver->open(n);
		if (status < 0)
			return node_failed(n, status);
		n->opened = 1;
	}
	return FLOW_OK;
}

static flow_status
note_wake(task *t)
{
	if (!atomic_load_explicit(&t->woken, memory_order_relaxed))
		return FLOW_OK;
	atomic_store(&t->woken, 0);
	for (uint32_t i = 0; i < t->node_count; i++) {
		t->nodes[i].woken = 1;
		flow_status status = t->nodes[i].driver == &sink_driver ? sink_take_failed(&t->nodes[i]) : FLOW_OK;
		if (status < 0)
			return node_failed(&t->nodes[i], status);
	}
	return FLOW_OK;
}

static flow_status
step(task *t, int *progress)
{
	flow_status status = note_wake(t);
	if (status < 0)
		return status;
	if (t->held != 0 && !release_held(t))
		return t->failed ? FLOW_E_FAILED : wait_for_room(t);
	task_hand_committed(t);
	status = try_barrier(t, progress);
	if (status == FLOW_OK && t->held == 0)
		status = tick(t);
	if (status == FLOW_OK && t->held == 0)
		read_sources(t, progress);
	if (status == FLOW_OK && t->held == 0 && !t->failed)
		status = read_channels(t, progress);
	if (status == FLOW_OK && !t->failed)
		status = note_end(t);
	if (status == FLOW_OK && !t->failed)
		status = *progress ? flush_lingering(t) : flush_outboxes(t);
	return status;
}

int
task_step(task *t)
{
	if (t->closed || atomic_load_explicit(&t->topology->failed, memory_order_relaxed))
		return STEP_IDLE;
	t->now = clock_monotonic();
	int progress = 0;
	flow_status status = FLOW_OK;
	if (!t->opened) {
		status = open_nodes(t);
		progress = 1;
	} else {
		status = step(t, &progress);
	}
	if (status < 0 || t->failed) {
		if (t->error.message == NULL)
			error_set(&t->error, status < 0 ? status : FLOW_E_FAILED, "stage %u, task %u: %s", t->stage->index,
					  t->index + 1, status_text(status));
		t->failed = 1;
		topology_fail(t->topology, &t->error);
		return STEP_IDLE;
	}
	if (progress)
		counter_add(&t->busy, (uint64_t)(clock_monotonic() - t->now));
	return progress ? STEP_PROGRESS : STEP_IDLE;
}

void
task_close(task *t)
{
	if (t->closed)
		return;
	t->closed = 1;
	for (uint32_t i = t->node_count; i-- > 0;)
		if (t->nodes[i].driver->close != NULL)
			t->nodes[i].driver->close(&t->nodes[i]);
	const plan *p = t->topology->run->plan;
	if (t->has_shared && p->context_close != NULL)
		p->context_close(t->shared);
	t->has_shared = 0;
}
