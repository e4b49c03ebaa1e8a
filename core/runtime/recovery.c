/*
 * Recovery: which checkpoint the run goes on from, and what must be settled before: a pending epoch is applied or dropped as the
 * one-phase output's last marker says, handles that are not recorded as committed are committed, everything else is aborted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/io.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/schema.h"
#include "expr/expression.h"
#include "flow_sdk/time.h"
#include "runtime/control.h"

/* --- settling ------------------------------------------------------------------------------------------------------- */

/* Handles of an output that the job has no more cannot be committed. */
static flow_status
check_outputs(const runtime *run, const checkpoint *record, flow_error *error)
{
	for (uint64_t i = 0; i < record->handle_count; i++) {
		int found = 0;
		for (uint32_t k = 0; k < run->plan->stream_count; k++)
			found |= output_prepares(run, &run->plan->streams[k]) &&
					 flow_slice_is(record->handles[i].output, run->plan->streams[k].id);
		if (!found)
			return error_set(
				error, FLOW_E_CONFLICT,
				"state directory %s: epoch %llu of output '%.*s' is not committed, and the job has no such output any "
				"more; run the job as it was once, or discard the state with --fresh",
				run->state_directory, (unsigned long long)record->epoch, (int)record->handles[i].output.size,
				record->handles[i].output.data);
	}
	return FLOW_OK;
}

static flow_status
settle_pending(runtime *run, const checkpoint *applied, const checkpoint *pending, flow_error *error)
{
	const plan_stream *output = one_phase_output(run);
	if (output == NULL)
		return pending == NULL ? FLOW_OK : check_outputs(run, pending, error);
	int found = 0, equal = 0;
	uint64_t epoch = pending != NULL ? pending->epoch : applied != NULL ? applied->epoch : 0;
	flow_status status = commit_find_marker(run, epoch, &found, &equal, error);
	if (status < 0 || pending == NULL)
		return status;
	if (equal)
		return checkpoint_apply(run->store, error);
	int confirmed = 0;
	for (uint64_t i = 0; applied != NULL && i < applied->handle_count; i++)
		confirmed |= flow_slice_is(applied->handles[i].output, output->id);
	if (!found && confirmed)
		return error_set(error, FLOW_E_CONFLICT,
						 "output %s: its marker is gone, though epoch %llu was committed with one; nothing is dropped. "
						 "Restore it, or "
						 "start anew with --fresh",
						 output->id, (unsigned long long)applied->epoch);
	return checkpoint_drop(run->store, error);
}

static flow_status
commit_left_over(runtime *run, const checkpoint *applied, flow_error *error)
{
	if (applied == NULL || applied->committed || (applied->handle_count == 0 && !applied->final))
		return FLOW_OK;
	flow_status status = check_outputs(run, applied, error);
	if (status == FLOW_OK)
		status = commit_resumable(run, applied, (int)applied->final, error);
	if (status == FLOW_OK)
		status = checkpoint_mark_committed(run->store, applied->epoch, 0, error);
	return status;
}

/* A copy that stays when the store goes on. */
static flow_status
keep_copy(runtime *run, const checkpoint *applied, flow_error *error)
{
	arena_destroy(run->recovered_memory);
	run->recovered_memory = NULL;
	run->recovered = NULL;
	if (applied == NULL)
		return FLOW_OK;
	run->recovered_memory = arena_create();
	flow_buffer *buffer = buffer_create();
	flow_status status =
		run->recovered_memory == NULL || buffer == NULL ? FLOW_E_MEMORY : checkpoint_encode(applied, buffer);
	char *bytes = status == FLOW_OK ? arena_copy(run->recovered_memory, buffer->data, buffer->size) : NULL;
	if (bytes == NULL)
		status = error_set(error, FLOW_E_MEMORY, "out of memory");
	else
		status = checkpoint_decode(flow_slice_make(bytes, buffer->size), run->recovered_memory, &run->recovered, error);
	buffer_destroy(buffer);
	return status;
}

/* --- outputs of tasks that the job has no more --------------------------------------------------------------------- */

/* Tasks of the sink that writes the handle's output; UINT32_MAX: the job does not resume such an output. */
static uint32_t
writers_of(const runtime *run, const checkpoint_handle *handle)
{
	const plan *p = run->plan;
	for (uint32_t i = 0; i < p->operator_count; i++) {
		const plan_operator *op = &p->operators[i];
		if (op->kind != OPERATOR_SINK && op->kind != OPERATOR_DEAD_LETTERS)
			continue;
		const plan_stream *stream = &p->streams[op->stream];
		if (flow_slice_is(handle->output, stream->id) && output_prepares(run, stream) &&
			stream->delivery == FLOW_DELIVERY_RESUMABLE)
			return p->stages[op->stage].task_count;
	}
	return UINT32_MAX;
}

uint64_t
recovery_carried(const runtime *run, checkpoint_handle *handles)
{
	uint64_t count = 0;
	for (uint64_t i = 0; run->recovered != NULL && i < run->recovered->handle_count; i++) {
		const checkpoint_handle *h = &run->recovered->handles[i];
		if (h->task < writers_of(run, h))
			continue;
		if (handles != NULL)
			handles[count] = *h;
		count++;
	}
	return count;
}

/* What stands behind the last record of a stream can only be written by the task that wrote the rest. */
static flow_status
check_carried(const runtime *run, flow_error *error)
{
	for (uint64_t i = 0; run->recovered != NULL && i < run->recovered->handle_count; i++) {
		const checkpoint_handle *h = &run->recovered->handles[i];
		if (h->task < writers_of(run, h))
			continue;
		for (uint32_t k = 0; k < run->plan->stream_count; k++) {
			const plan_serde *serde = &run->plan->streams[k].value;
			if (flow_slice_is(h->output, run->plan->streams[k].id) &&
				(recovery_frame(&run->plan->streams[k]) & FRAME_END) != 0)
				return error_set(error, FLOW_E_CONFLICT,
								 "output %s: task %u wrote a part of it that serde %s has to end, and the job has "
								 "fewer tasks now; set "
								 "parallelism as it was, or start anew with --fresh",
								 run->plan->streams[k].id, h->task, serde->component->id);
		}
	}
	return FLOW_OK;
}

/* --- what stays from one plan to the next --------------------------------------------------------------------------- */

/* State ids of the checkpoint go before those of the plan: two names may have had one hash. */
static void
settle_state_ids(runtime *run)
{
	for (uint32_t i = 0; i < run->plan->operator_count; i++) {
		const plan_operator *op = &run->plan->operators[i];
		checkpoint_identity like = { .kind = flow_slice_of("state"), .name = flow_slice_of(op->name) };
		const checkpoint_identity *known = run->recovered == NULL ? NULL : recovery_identity(run->recovered, &like);
		run->state_base[i] = known != NULL && op->state_id != PLAN_NONE ? known->state_id : op->state_id;
	}
}

static flow_status
drop_states(runtime *run, flow_error *error)
{
	flow_status status = FLOW_OK;
	for (const char *const *name = run->request.drop_states; status == FLOW_OK && name != NULL && *name != NULL;
		 name++) {
		status = checkpoint_drop_state(run->store, *name, error);
		for (uint32_t i = 0; status == FLOW_E_NOT_FOUND && i < run->plan->operator_count; i++) {
			const plan_operator *op = &run->plan->operators[i];
			int input = op->kind == OPERATOR_SOURCE && strcmp(run->plan->streams[op->stream].id, *name) == 0;
			if (input || strcmp(op->name, *name) == 0) { /* new in the job: there is nothing to drop yet */
				error_clear(error);
				status = FLOW_OK;
			}
		}
	}
	return status;
}

flow_status
recovery_settle(runtime *run, int *finished, flow_error *error)
{
	const checkpoint *applied = NULL, *pending = NULL;
	flow_status status = checkpoint_load(run->store, &applied, &pending, error);
	if (status == FLOW_OK)
		status = settle_pending(run, applied, pending, error);
	if (status == FLOW_OK)
		status = checkpoint_load(run->store, &applied, &pending, error);
	if (status == FLOW_OK)
		status = commit_left_over(run, applied, error);
	if (status == FLOW_OK)
		status = checkpoint_load(run->store, &applied, &pending, error);
	if (status == FLOW_OK && applied != NULL && run->attempt == 0)
		status = recovery_compare(run, applied, error);
	if (status == FLOW_OK && applied != NULL && run->attempt == 0) {
		status = drop_states(run, error);
		if (status == FLOW_OK)
			status = checkpoint_load(run->store, &applied, &pending, error);
	}
	if (status == FLOW_OK)
		status = checkpoint_fold(run->store, error);
	if (status == FLOW_OK)
		status = commit_abort(run, applied, 0, error);
	if (status == FLOW_OK)
		status = keep_copy(run, applied, error);
	if (status == FLOW_OK && (run->recovered == NULL || !run->recovered->final))
		status = check_carried(run, error);
	if (status < 0)
		return status;
	run->epoch = run->recovered == NULL ? 0 : run->recovered->epoch;
	*finished = run->recovered != NULL && run->recovered->final;
	settle_state_ids(run);
	if (run->recovered != NULL && !*finished)
		log_info(run->plan->job, "going on from checkpoint %llu", (unsigned long long)run->epoch);
	return FLOW_OK;
}

/* --- life ----------------------------------------------------------------------------------------------------------- */

static flow_status
open_committers(runtime *run, flow_error *error)
{
	for (uint32_t i = 0; i < run->plan->stream_count; i++) {
		const plan_stream *stream = &run->plan->streams[i];
		const plan_system *system = &run->plan->systems[stream->system];
		const flow_system_ops *ops = system->component->ops;
		if (!output_prepares(run, stream))
			continue;
		flow_status status = error_settle(
			error, ops->committer_open(system->instance, &stream->request, &run->outputs[i].committer, error),
			"committer_open");
		if (status < 0) {
			error_prefix(error, "output %s", stream->id);
			return status;
		}
	}
	return FLOW_OK;
}

/* Said at each such run: where something starts finished jobs again by itself, what outputs append to has all records twice. */
static void
tell_new_beginning(const char *job, const checkpoint *finished)
{
	char time[FLOW_TIME_TEXT_MAX + 5] = "";
	if (finished->time != 0) {
		flow_value at = flow_timestamp(finished->time / 1000000, FLOW_SECONDS, FLOW_ZONED);
		memcpy(time, " at ", 4);
		time[4 + flow_print_time(&at, time + 4)] = '\0';
	}
	log_info(job, "the last run finished%s, with epoch %llu; this one begins anew and writes everything once more (%s)",
			 time, (unsigned long long)finished->epoch,
			 "restart jobs after a failure only: exit code 0 says that all is done");
}

/* A job that had finished starts anew. */
static flow_status
reset_if_finished(runtime *run, flow_error *error)
{
	const checkpoint *applied = NULL, *pending = NULL;
	flow_status status = checkpoint_load(run->store, &applied, &pending, error);
	if (status < 0 || applied == NULL || !applied->finished)
		return status;
	tell_new_beginning(run->plan->job, applied);
	return checkpoint_reset(run->store, error);
}

flow_status
recovery_open(runtime *run, flow_error *error)
{
	flow_status status = run->throwaway ? throwaway_open(run, error) : FLOW_OK;
	if (status < 0)
		return status;
	checkpoint_store_request request = { .directory = run->state_directory,
										 .job = run->plan->job,
										 .store = run->plan->state_store,
										 .store_options = run->plan->state_store_options,
										 .host = run->host,
										 .fresh = run->request.fresh };
	status = checkpoint_store_open(&request, &run->store, error);
	if (status == FLOW_OK)
		status = reset_if_finished(run, error);
	return status == FLOW_OK ? open_committers(run, error) : status;
}

static void
close_committers(runtime *run)
{
	for (uint32_t i = 0; run->outputs != NULL && i < run->plan->stream_count; i++) {
		const flow_system_ops *ops = run->plan->systems[run->plan->streams[i].system].component->ops;
		if (run->outputs[i].committer != NULL)
			ops->committer_close(run->outputs[i].committer);
		run->outputs[i].committer = NULL;
	}
}

flow_status
recovery_finish(runtime *run, flow_error *error)
{
	close_committers(run);
	const checkpoint *applied = NULL, *pending = NULL;
	flow_status status = checkpoint_load(run->store, &applied, &pending, error);
	if (status < 0 || applied == NULL)
		return status;
	return checkpoint_mark_committed(run->store, applied->epoch, 1, error);
}

void
recovery_close(runtime *run)
{
	close_committers(run);
	checkpoint_store_close(run->store);
	run->store = NULL;
	throwaway_close(run);
}

/* --- what tasks ask ------------------------------------------------------------------------------------------------- */

const checkpoint_position *
recovery_position(const runtime *run, const plan_stream *stream, flow_slice partition)
{
	for (uint64_t i = 0; run->recovered != NULL && i < run->recovered->position_count; i++) {
		const checkpoint_position *p = &run->recovered->positions[i];
		if (flow_slice_is(p->input, stream->id) && flow_slice_equal(p->partition, partition))
			return p;
	}
	return NULL;
}

const checkpoint_handle *
recovery_handle(const runtime *run, const plan_stream *stream, uint32_t task_index)
{
	for (uint64_t i = 0; run->recovered != NULL && i < run->recovered->handle_count; i++) {
		const checkpoint_handle *h = &run->recovered->handles[i];
		if (flow_slice_is(h->output, stream->id) && h->task == task_index)
			return h;
	}
	return NULL;
}

int64_t
recovery_watermark(const runtime *run, const char *operator_name)
{
	int64_t least = INT64_MAX;
	int found = 0;
	for (uint64_t i = 0; run->recovered != NULL && i < run->recovered->watermark_count; i++) {
		const checkpoint_watermark *w = &run->recovered->watermarks[i];
		if (!flow_slice_is(w->operator_name, operator_name))
			continue;
		found = 1;
		least = w->value < least ? w->value : least;
	}
	return found ? least : INT64_MIN;
}
