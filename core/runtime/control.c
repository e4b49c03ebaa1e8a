/* The control thread: when an epoch starts, when the job drains, and when it is over. */
#include "base/clock.h"
#include "base/log.h"
#include "runtime/control.h"

static void
begin_drain(runtime *run)
{
	run->drain_started = clock_monotonic();
	atomic_store(&run->topology->draining, 1);
	atomic_store(&run->state, 2);
	log_info(run->plan->job, "stopping: finishing what is under way");
	workers_wake(run->topology);
}

static void
start_if_due(runtime *run, int64_t now)
{
	topology *t = run->topology;
	if (atomic_load(&t->live_tasks) == 0) {
		epoch_start(run, 1);
	} else if (run->drain_started != 0) {
		run->drain_epoch = 1;
		epoch_start(run, 0);
	} else if ((run->checkpoint_interval != 0 && now >= run->epoch_due) || atomic_load(&t->pressed) ||
			   atomic_load(&t->releasing)) {
		epoch_start(run, 0);
	}
}

static flow_status
failure_of(topology *t, flow_error *error)
{
	pthread_mutex_lock(&t->error_lock);
	error_move(error, &t->error);
	pthread_mutex_unlock(&t->error_lock);
	return error->status < 0 ? error->status : FLOW_E_FAILED;
}

/* A task has failed. A writer that lost its transaction is no failure of the job. */
static flow_status
handle_failure(runtime *run, int *done, flow_error *error)
{
	flow_status status = failure_of(run->topology, error);
	if (status != FLOW_E_CONFLICT || !atomic_load(&run->topology->lost))
		return status;
	*done = 1;
	return restore_in_place(run, error);
}

/* Ends without another checkpoint: the last one stands. */
static int
must_end_now(runtime *run, int64_t now)
{
	if (atomic_load(&run->stops) >= 2)
		return 1;
	if (run->drain_started == 0 || now - run->drain_started < run->shutdown_deadline)
		return 0;
	log_warn(run->plan->job, "the shutdown deadline has passed: ending with the last checkpoint, epoch %llu",
			 (unsigned long long)counter_get(&run->committed_epoch));
	return 1;
}

static flow_status
complete_if_reported(runtime *run, int *done, flow_error *error)
{
	if (atomic_load(&run->topology->reports_missing) != 0)
		return FLOW_OK;
	flow_status status = epoch_complete(run, error);
	if (status < 0)
		return status;
	if (run->restore)
		*done = 1;
	else if (run->epoch_is_last || run->drain_epoch) {
		run->outcome = run->epoch_is_last ? RUN_FINISHED : RUN_INTERRUPTED;
		*done = 1;
	}
	return FLOW_OK;
}

flow_status
control_poll(runtime *run, int *done, int64_t *wait, flow_error *error)
{
	topology *t = run->topology;
	*done = 0;
	*wait = 1000000;
	if (atomic_load(&t->failed))
		return handle_failure(run, done, error);
	int64_t now = clock_monotonic();
	if (atomic_load(&run->stops) >= 1 && run->drain_started == 0)
		begin_drain(run);
	if (must_end_now(run, now)) {
		run->ends_now = 1;
		run->outcome = RUN_INTERRUPTED;
		*done = 1;
		return FLOW_OK;
	}
	if (run->epoch_open) {
		flow_status status = complete_if_reported(run, done, error);
		if (status < 0 || *done)
			return status;
	}
	if (!run->epoch_open)
		start_if_due(run, now);
	if (run->checkpoint_interval != 0 && !run->epoch_open && run->epoch_due - now < *wait)
		*wait = run->epoch_due > now ? run->epoch_due - now : 0;
	return FLOW_OK;
}
