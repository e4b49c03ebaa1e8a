/* Committers: one for each output whose writers prepare. Commits are tried again where that can help. */
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "runtime/control.h"

#define RETRY_PAUSE 200000 /* microseconds */

const plan_stream *
one_phase_output(const runtime *run)
{
	for (uint32_t i = 0; i < run->plan->stream_count; i++)
		if (output_prepares(run, &run->plan->streams[i]) && run->plan->streams[i].delivery == FLOW_DELIVERY_ONE_PHASE)
			return &run->plan->streams[i];
	return NULL;
}

static flow_marker
marker_of(const runtime *run, uint64_t epoch)
{
	flow_marker marker = { .struct_size = FLOW_SIZEOF(flow_marker),
						   .job = flow_slice_of(run->plan->job),
						   .instance = flow_slice_of(run->plan->instance),
						   .epoch = epoch };
	memcpy(marker.run_id, checkpoint_store_run_id(run->store), sizeof(marker.run_id));
	return marker;
}

/* The record's handles of one output, as committers take them. */
typedef struct handle_list {
	flow_handle *handles;
	const flow_handle **list;
	uint64_t count;
} handle_list;

/* Whether the handle belongs to what is committed with the stream: outputs that share a transaction are committed at once. */
static int
is_committed_with(const runtime *run, const plan_stream *stream, flow_slice output)
{
	if (flow_slice_is(output, stream->id))
		return 1;
	for (uint32_t i = 0; stream->delivery == FLOW_DELIVERY_ONE_PHASE && i < run->plan->stream_count; i++) {
		const plan_stream *other = &run->plan->streams[i];
		if (output_prepares(run, other) && other->delivery == FLOW_DELIVERY_ONE_PHASE &&
			flow_slice_is(output, other->id))
			return 1;
	}
	return 0;
}

static flow_status
list_handles(const runtime *run, const checkpoint *record, const plan_stream *stream, handle_list *made,
			 flow_error *error)
{
	memset(made, 0, sizeof(*made));
	uint64_t all = record == NULL ? 0 : record->handle_count;
	made->handles = memory_allocate_zeroed((all + 1) * sizeof(*made->handles));
	made->list = memory_allocate_zeroed((all + 1) * sizeof(*made->list));
	if (made->handles == NULL || made->list == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	for (uint64_t i = 0; i < all; i++) {
		if (!is_committed_with(run, stream, record->handles[i].output))
			continue;
		made->handles[made->count] = (flow_handle){ .struct_size = FLOW_SIZEOF(flow_handle),
													.task = record->handles[i].task,
													.bytes = record->handles[i].bytes };
		made->list[made->count] = &made->handles[made->count];
		made->count++;
	}
	return FLOW_OK;
}

static void
free_handles(handle_list *made)
{
	memory_release(made->handles);
	memory_release(made->list);
}

static const flow_system_ops *
ops_of(const runtime *run, const plan_stream *stream)
{
	return run->plan->systems[stream->system].component->ops;
}

static flow_committer *
committer_of(const runtime *run, const plan_stream *stream)
{
	return run->outputs[stream - run->plan->streams].committer;
}

/* Waits before the next try; 0: the run is to end now. */
static int
may_retry(runtime *run, flow_status status, flow_error *error)
{
	int retryable = status_retryable(status) || (error->flags & FLOW_ERROR_RETRYABLE) != 0;
	if (!retryable || atomic_load(&run->stops) >= 2)
		return 0;
	if (run->drain_started != 0 && clock_monotonic() - run->drain_started > run->shutdown_deadline)
		return 0;
	log_warn("checkpoint", "%s; trying again", error_message(error));
	error_clear(error);
	atomic_store(&run->control_signal, 0);
	signal_wait(&run->control_signal, 0, RETRY_PAUSE);
	return 1;
}

/* Positions that the output's transaction takes: of inputs of its own system. */
static flow_status
list_positions(const runtime *run, const plan_stream *output, const given_positions *given, arena *memory,
			   flow_marker *marker)
{
	flow_input_position *made = arena_allocate_zeroed(memory, (given->count + 1) * sizeof(*made));
	const flow_input_position **list = arena_allocate_zeroed(memory, (given->count + 1) * sizeof(*list));
	if (made == NULL || list == NULL)
		return FLOW_E_MEMORY;
	for (uint64_t i = 0; i < given->count; i++) {
		const checkpoint_position *from = &given->positions[i];
		int taken = 0;
		for (uint32_t k = 0; k < run->plan->stream_count; k++) {
			const plan_stream *input = &run->plan->streams[k];
			taken |=
				input->committed_by_output && input->system == output->system && flow_slice_is(from->input, input->id);
		}
		if (!taken || from->position.size == 0)
			continue;
		uint64_t at = marker->position_count++;
		made[at] = (flow_input_position){ .struct_size = FLOW_SIZEOF(flow_input_position),
										  .task = given->tasks[i],
										  .input = from->input,
										  .partition = from->partition,
										  .bytes = from->position };
		list[at] = &made[at];
	}
	marker->positions = list;
	return FLOW_OK;
}

static flow_status
commit_output(runtime *run, const plan_stream *stream, const checkpoint *record, const given_positions *given, int last,
			  flow_error *error)
{
	handle_list handles;
	flow_status status = list_handles(run, record, stream, &handles, error);
	flow_marker marker = marker_of(run, record->epoch);
	arena *memory = arena_create();
	if (memory == NULL || (given != NULL && list_positions(run, stream, given, memory, &marker) != FLOW_OK))
		status = error_set(error, FLOW_E_MEMORY, "out of memory");
	if (status == FLOW_OK) {
		do
			status =
				error_settle(error,
							 ops_of(run, stream)
								 ->commit(committer_of(run, stream), handles.list, handles.count, &marker, last, error),
							 "commit");
		while (status < 0 && may_retry(run, status, error));
	}
	free_handles(&handles);
	arena_destroy(memory);
	if (status < 0)
		error_prefix(error, "output %s: commit of epoch %llu", stream->id, (unsigned long long)record->epoch);
	return status < 0 ? status : FLOW_OK;
}

flow_status
commit_resumable(runtime *run, const checkpoint *record, int last, flow_error *error)
{
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < run->plan->stream_count; i++) {
		const plan_stream *stream = &run->plan->streams[i];
		if (output_prepares(run, stream) && stream->delivery == FLOW_DELIVERY_RESUMABLE)
			status = commit_output(run, stream, record, NULL, last, error);
	}
	return status;
}

flow_status
commit_find_marker(runtime *run, uint64_t epoch, int *found, int *equal, flow_error *error)
{
	const plan_stream *stream = one_phase_output(run);
	flow_marker expected = marker_of(run, epoch), last = { .struct_size = FLOW_SIZEOF(flow_marker) };
	flow_status status;
	do
		status = ops_of(run, stream)->last_marker(committer_of(run, stream), &expected, &last, found, error);
	while (status < 0 && may_retry(run, status, error));
	if (status < 0) {
		error_prefix(error, "output %s: last marker", stream->id);
		return status;
	}
	*equal = *found && last.epoch == epoch && memcmp(last.run_id, expected.run_id, sizeof(last.run_id)) == 0;
	return FLOW_OK;
}

/* An outcome that is unclear is settled by what the other side says was committed last. */
static flow_status
settle_unclear(runtime *run, const checkpoint *record, flow_error *error)
{
	flow_error cause = { 0 };
	int found = 0, equal = 0;
	error_move(&cause, error);
	log_warn("checkpoint", "%s; asking what was committed", error_message(&cause));
	error_clear(&cause);
	flow_status status = commit_find_marker(run, record->epoch, &found, &equal, error);
	if (status < 0 || equal)
		return status;
	return error_set(error, FLOW_E_CONFLICT, "the transaction of epoch %llu is lost",
					 (unsigned long long)record->epoch);
}

flow_status
commit_one_phase(runtime *run, const checkpoint *record, const given_positions *given, int last, flow_error *error)
{
	flow_status status = commit_output(run, one_phase_output(run), record, given, last, error);
	if (status == FLOW_OK || status == FLOW_E_CONFLICT || status == FLOW_E_FENCED || atomic_load(&run->stops) >= 2)
		return status;
	return settle_unclear(run, record, error);
}

flow_status
commit_abort(runtime *run, const checkpoint *keep, uint32_t delivery, flow_error *error)
{
	for (uint32_t i = 0; i < run->plan->stream_count; i++) {
		const plan_stream *stream = &run->plan->streams[i];
		if (!output_prepares(run, stream) || (delivery != 0 && stream->delivery != delivery) ||
			committer_of(run, stream) == NULL)
			continue;
		handle_list handles;
		const checkpoint *kept = stream->delivery == FLOW_DELIVERY_ONE_PHASE ? NULL : keep;
		flow_status status = list_handles(run, kept, stream, &handles, error);
		if (status == FLOW_OK)
			status = error_settle(
				error, ops_of(run, stream)->abort(committer_of(run, stream), handles.list, handles.count, error),
				"abort");
		free_handles(&handles);
		if (status < 0) {
			error_prefix(error, "output %s: drop what was not committed", stream->id);
			return status;
		}
	}
	return FLOW_OK;
}
