/*
 * Epochs: from the barriers of all tasks to one durable checkpoint, then the commits, then the note that they are done.
 *
 * With a one-phase output the record goes to the pending area first; its transaction commits together with the marker; then the
 * record is applied, and the resumable outputs commit. N + 1 starts only after that.
 */
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "runtime/control.h"

#define RESTORES 8 /* without an epoch that was committed in between */

int runtime_crash_point;
uint64_t runtime_crash_epoch;

/* Tests stop the control thread here, as a crash would. */
int
crash_here(const runtime *run, int point, flow_status *status, flow_error *error)
{
	if (runtime_crash_point != point || run->epoch < runtime_crash_epoch)
		return 0;
	*status = error_set(error, FLOW_E_CANCELLED, "stopped at point %d of a checkpoint", point);
	return 1;
}

void
epoch_start(runtime *run, int last)
{
	topology *t = run->topology;
	run->epoch++;
	run->epoch_open = 1;
	run->epoch_is_last = last;
	run->epoch_started = clock_monotonic();
	atomic_store(&t->pressed, 0);
	atomic_store(&t->releasing, 0);
	atomic_store(&t->epoch_last, last);
	atomic_store(&t->reports_missing, (int)t->task_count);
	atomic_store(&t->epoch_requested, run->epoch);
	workers_wake(t);
}

/* --- the record ----------------------------------------------------------------------------------------------------- */

typedef struct collected {
	arena *memory;
	task_report **reports;
	checkpoint record;
	given_positions given; /* what consumer groups keep: they stand behind the record's own */
	state_delta **deltas;
	uint64_t delta_count;
} collected;

/* A consumer group keeps the positions of this input. */
static int
is_given(const runtime *run, flow_slice input)
{
	for (uint32_t i = 0; !run->throwaway && i < run->plan->stream_count; i++)
		if (run->plan->streams[i].self_assigned && flow_slice_is(input, run->plan->streams[i].id))
			return 1;
	return 0;
}

static flow_status
take_reports(runtime *run, collected *c)
{
	const topology *t = run->topology;
	c->memory = arena_create();
	c->reports = c->memory == NULL ? NULL : arena_allocate_zeroed(c->memory, t->task_count * sizeof(*c->reports));
	if (c->reports == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < t->task_count; i++) {
		c->reports[i] = atomic_exchange(&t->tasks[i].report, NULL);
		c->record.position_count += c->reports[i]->position_count;
		c->record.handle_count += c->reports[i]->handle_count;
		c->record.watermark_count += c->reports[i]->watermark_count;
		c->delta_count += c->reports[i]->delta_count;
	}
	c->record.handle_count += recovery_carried(run, NULL);
	return FLOW_OK;
}

/* Appends one report's items at *at. */
static void
append(void *items, uint64_t *at, const void *from, uint64_t count, size_t size)
{
	if (count != 0)
		memcpy((char *)items + *at * size, from, count * size);
	*at += count;
}

/* Those of the record first, then those that groups keep. */
static flow_status
collect_positions(runtime *run, collected *c)
{
	uint64_t all = c->record.position_count, kept = 0, given = all;
	checkpoint_position *positions = arena_allocate(c->memory, (all + 1) * sizeof(*positions));
	uint32_t *tasks = arena_allocate(c->memory, (all + 1) * sizeof(*tasks));
	if (positions == NULL || tasks == NULL)
		return FLOW_E_MEMORY;
	for (uint32_t i = 0; i < run->topology->task_count; i++) {
		const task_report *from = c->reports[i];
		for (uint64_t k = 0; k < from->position_count; k++) {
			uint64_t at = is_given(run, from->positions[k].input) ? --given : kept++;
			positions[at] = from->positions[k];
			tasks[at] = run->topology->tasks[i].index;
		}
	}
	c->record.positions = positions;
	c->record.position_count = kept;
	c->given = (given_positions){ positions + given, tasks + given, all - given };
	return FLOW_OK;
}

static flow_status
collect(runtime *run, collected *c)
{
	flow_status status = take_reports(run, c);
	if (status == FLOW_OK)
		status = collect_positions(run, c);
	if (status != FLOW_OK)
		return status;
	checkpoint *r = &c->record;
	checkpoint_handle *handles = arena_allocate(c->memory, (r->handle_count + 1) * sizeof(*handles));
	checkpoint_watermark *watermarks = arena_allocate(c->memory, (r->watermark_count + 1) * sizeof(*watermarks));
	c->deltas = arena_allocate(c->memory, (c->delta_count + 1) * sizeof(*c->deltas));
	if (handles == NULL || watermarks == NULL || c->deltas == NULL)
		return FLOW_E_MEMORY;
	uint64_t handle = 0, watermark = 0, delta = 0;
	for (uint32_t i = 0; i < run->topology->task_count; i++) {
		const task_report *from = c->reports[i];
		append(handles, &handle, from->handles, from->handle_count, sizeof(*handles));
		append(watermarks, &watermark, from->watermarks, from->watermark_count, sizeof(*watermarks));
		append(c->deltas, &delta, from->deltas, from->delta_count, sizeof(*c->deltas));
	}
	recovery_carried(run, handles + handle);
	r->epoch = run->epoch;
	memcpy(r->run_id, checkpoint_store_run_id(run->store), sizeof(r->run_id));
	r->group_count = run->plan->max_parallelism;
	r->final = (uint32_t)run->epoch_is_last;
	r->handles = handles;
	r->watermarks = watermarks;
	return recovery_identities(run, c->memory, r);
}

/* The store takes the deltas over. */
static flow_status
write_checkpoint(runtime *run, collected *c, flow_error *error)
{
	for (uint32_t i = 0; i < run->topology->task_count; i++)
		c->reports[i]->delta_count = 0;
	return checkpoint_write(run->store, &c->record, c->deltas, c->delta_count, one_phase_output(run) != NULL, error);
}

/* --- what follows the write ----------------------------------------------------------------------------------------- */

/* Sources hear how far they are safe; a throwaway run tells nobody. */
static void
hand_back(runtime *run, collected *c, int committed)
{
	for (uint32_t i = 0; c->reports != NULL && i < run->topology->task_count; i++) {
		task_report *r = c->reports[i];
		if (r != NULL && committed && !run->throwaway && r->position_count != 0)
			r = atomic_exchange(&run->topology->tasks[i].committed, r);
		report_destroy(r);
	}
	arena_destroy(c->memory);
	if (committed)
		workers_wake(run->topology);
}

/* Inputs whose used records may go. */
static void
delete_used(runtime *run, const collected *c)
{
	const plan *p = run->plan;
	uint64_t all = c->record.position_count + c->given.count;
	flow_position *positions = arena_allocate_zeroed(c->memory, (all + 1) * sizeof(*positions));
	const flow_position **list = arena_allocate_zeroed(c->memory, (all + 1) * sizeof(*list));
	for (uint32_t i = 0; positions != NULL && list != NULL && i < p->stream_count; i++) {
		const plan_stream *stream = &p->streams[i];
		const flow_system_ops *ops = p->systems[stream->system].component->ops;
		if (!stream->delete_committed || run->throwaway || !FLOW_CAN(ops, delete_committed))
			continue;
		uint64_t count = 0;
		for (uint64_t k = 0; k < all; k++) { /* those that groups keep stand behind the record's */
			const checkpoint_position *from = &c->record.positions[k];
			if (!flow_slice_is(from->input, stream->id) || from->position.data == NULL)
				continue;
			positions[count] = (flow_position){ .struct_size = FLOW_SIZEOF(flow_position),
												.partition = from->partition,
												.bytes = from->position };
			list[count] = &positions[count];
			count++;
		}
		flow_error error = { 0 };
		if (ops->delete_committed(p->systems[stream->system].instance, &stream->request, list, count, &error) < 0)
			log_warn(stream->id, "cannot delete what was used: %s", error_message(&error));
		error_clear(&error);
	}
}

flow_status
restore_in_place(runtime *run, flow_error *error)
{
	if (run->restores++ >= RESTORES) {
		error_prefix(error, "a transaction was lost %u times without one that was committed in between", run->restores);
		return FLOW_E_CONFLICT;
	}
	unsigned long long epoch = (unsigned long long)counter_get(&run->committed_epoch);
	if (epoch == 0 && run->recovered != NULL)
		epoch = (unsigned long long)run->recovered->epoch;
	if (epoch == 0)
		log_warn("checkpoint", "%s; no epoch was committed yet: starting again from the beginning",
				 error_message(error));
	else
		log_warn("checkpoint", "%s; going back to epoch %llu and on from there", error_message(error), epoch);
	error_clear(error);
	run->restore = 1;
	return FLOW_OK;
}

static flow_status
lose_transaction(runtime *run, flow_error *error)
{
	flow_status status = restore_in_place(run, error);
	return status < 0 ? status : checkpoint_drop(run->store, error);
}

static flow_status
commit_all(runtime *run, collected *c, flow_error *error)
{
	const checkpoint *record = &c->record;
	int last = run->epoch_is_last;
	flow_status status = FLOW_OK;
	if (one_phase_output(run) != NULL) {
		status = commit_one_phase(run, record, &c->given, last, error);
		if (status == FLOW_E_CONFLICT)
			return lose_transaction(run, error);
		if (status < 0 || crash_here(run, CRASH_AFTER_ONE_PHASE_COMMIT, &status, error))
			return status;
		status = checkpoint_apply(run->store, error);
		if (status < 0 || crash_here(run, CRASH_AFTER_APPLY, &status, error))
			return status;
	}
	status = commit_resumable(run, record, last, error);
	if (status < 0 || crash_here(run, CRASH_AFTER_COMMIT, &status, error))
		return status;
	if (record->handle_count != 0 || last)
		status = checkpoint_mark_committed(run->store, record->epoch, 0, error);
	if (status == FLOW_OK)
		crash_here(run, CRASH_AFTER_MARK, &status, error);
	return status;
}

flow_status
epoch_complete(runtime *run, flow_error *error)
{
	collected c = { 0 };
	flow_status status = collect(run, &c);
	if (status != FLOW_OK)
		error_set(error, status, "checkpoint %llu: %s", (unsigned long long)run->epoch, status_text(status));
	if (status == FLOW_OK)
		status = tables_flush(run, error);
	if (status == FLOW_OK && !crash_here(run, CRASH_BEFORE_WRITE, &status, error))
		status = write_checkpoint(run, &c, error);
	if (status == FLOW_OK && !crash_here(run, CRASH_AFTER_WRITE, &status, error))
		status = commit_all(run, &c, error);
	int committed = status == FLOW_OK && !run->restore;
	if (committed) {
		run->restores = 0;
		delete_used(run, &c);
		int64_t now = clock_monotonic();
		atomic_store(&run->committed_epoch, run->epoch);
		atomic_store(&run->checkpoint_microseconds, (uint64_t)(now - run->epoch_started));
		log_debug("checkpoint", "epoch %llu committed in %lld ms", (unsigned long long)run->epoch,
				  (long long)(now - run->epoch_started) / 1000);
	}
	hand_back(run, &c, committed);
	run->epoch_open = 0;
	run->epoch_due = clock_monotonic() + run->checkpoint_interval;
	return status;
}
