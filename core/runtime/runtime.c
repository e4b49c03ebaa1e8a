/* A run from start to end: recovery, one attempt after another, and the loops that drive them. */
#include "runtime/runtime.h"

#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "plugin/host_services.h"
#include "runtime/control.h"
#include "runtime/proxy.h"

#define DEFAULT_MEMORY ((int64_t)256 * 1024 * 1024)
#define DEFAULT_INTERVAL ((int64_t)10 * 1000 * 1000)
#define DEFAULT_DEADLINE ((int64_t)30 * 1000 * 1000)
#define VIRTUAL_START ((int64_t)1577836800 * 1000 * 1000) /* 2020-01-01T00:00:00Z */
#define PAUSE_FIRST ((int64_t)100 * 1000)                 /* before a restore that follows on another */
#define PAUSE_DOUBLINGS 10
#define PAUSE_MOST ((int64_t)5 * 1000 * 1000)
#define VIRTUAL_STEP 1000 /* microseconds that a step takes by the virtual clock */

static int64_t
job_option(const plan *p, const char *name, int64_t absent)
{
	return p->job_options == NULL ? absent : flow_option_int(p->job_options, name, absent);
}

flow_status
runtime_create(const runtime_request *request, runtime **made, flow_error *error)
{
	runtime *run = memory_allocate_zeroed(sizeof(*run));
	if (run == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	const plan *p = request->plan;
	run->request = *request;
	run->plan = p;
	run->host = request->host;
	run->throwaway_lock = -1;
	run->throwaway = request->throwaway || request->limit != 0 || request->output_limit != 0 || request->dry_sink != 0;
	run->batch_rows = (uint32_t)job_option(p, "batch_rows", FLOW_BATCH_ROWS);
	run->batch_bytes = (uint64_t)job_option(p, "batch_bytes", (int64_t)FLOW_BATCH_BYTES);
	run->memory_limit = (uint64_t)job_option(p, "memory", DEFAULT_MEMORY);
	run->errors_logged = (uint64_t)job_option(p, "record_errors_logged", 10);
	run->checkpoint_interval = job_option(p, "checkpoint_interval", DEFAULT_INTERVAL);
	run->shutdown_deadline = job_option(p, "shutdown_deadline", DEFAULT_DEADLINE);
	run->random = request->seed;
	run->first_record = -1;
	pthread_mutex_init(&run->status_lock, NULL);
	const char *directory = request->state_directory == NULL ? "state" : request->state_directory;
	run->state_directory = memory_copy_text(directory, strlen(directory));
	run->pool = batch_pool_create(run->memory_limit);
	run->outputs = memory_allocate_zeroed((p->stream_count + 1) * sizeof(*run->outputs));
	run->state_base = memory_allocate_zeroed((p->operator_count + 1) * sizeof(*run->state_base));
	run->status_operators = memory_allocate_zeroed((p->operator_count + 1) * sizeof(*run->status_operators));
	if (run->state_directory == NULL || run->pool == NULL || run->outputs == NULL || run->state_base == NULL ||
		run->status_operators == NULL) {
		runtime_destroy(run);
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	}
	flow_status status = request->check_plugins ? proxy_install(run, error) : FLOW_OK;
	if (status == FLOW_OK)
		*made = run;
	else
		runtime_destroy(run);
	return status;
}

void
runtime_destroy(runtime *run)
{
	if (run == NULL)
		return;
	topology_destroy(run->topology);
	recovery_close(run);
	arena_destroy(run->recovered_memory);
	batch_pool_destroy(run->pool);
	arena_destroy(run->proxies);
	arena_destroy(run->status_inputs.memory);
	arena_destroy(run->kept_inputs.memory);
	memory_release(run->status_operators);
	memory_release(run->state_base);
	memory_release(run->outputs);
	memory_release(run->state_directory);
	pthread_mutex_destroy(&run->status_lock);
	memory_release(run);
}

void
runtime_stop(runtime *run)
{
	/* Calls that block come back soon: at the second stop, and as long as nothing runs that could drain. */
	if (atomic_fetch_add(&run->stops, 1) != 0 || atomic_load(&run->state) == 0)
		host_services_cancel(1);
	atomic_store(&run->control_signal, 1);
	signal_wake(&run->control_signal);
}

/* --- driving -------------------------------------------------------------------------------------------------------- */

static flow_status
drive_threads(runtime *run, flow_error *error)
{
	flow_status status = workers_start(run->topology, error);
	int done = 0;
	while (status == FLOW_OK && !done) {
		int64_t wait = 0;
		atomic_store(&run->control_signal, 0);
		status = control_poll(run, &done, &wait, error);
		if (status == FLOW_OK && !done && wait > 0)
			signal_wait(&run->control_signal, 0, wait);
	}
	atomic_store(&run->topology->ending, 1);
	if (status < 0 || run->outcome != RUN_FINISHED)
		host_services_cancel(1); /* nothing that a task still does counts any more */
	workers_join(run->topology, run->ends_now);
	host_services_cancel(atomic_load(&run->stops) >= 2);
	return status;
}

/* splitmix64 */
static uint64_t
next_random(runtime *run)
{
	uint64_t z = run->random += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* One task, chosen by the seed among those that can go on. */
static int
step_some_task(runtime *run)
{
	topology *t = run->topology;
	uint32_t first = (uint32_t)(next_random(run) % t->task_count);
	for (uint32_t i = 0; i < t->task_count; i++)
		if (task_step(&t->tasks[(first + i) % t->task_count]))
			return 1;
	return 0;
}

/* Nothing can be done before some time comes: it comes now. Systems with threads of their own get a moment of real time. */
static void
skip_time(runtime *run, int64_t wait)
{
	const topology *t = run->topology;
	int64_t now = clock_monotonic();
	for (uint32_t i = 0; i < t->task_count; i++)
		if (t->tasks[i].deadline - now < wait)
			wait = t->tasks[i].deadline - now;
	atomic_store(&run->control_signal, 0);
	signal_wait(&run->control_signal, 0, 100);
	clock_advance(wait > VIRTUAL_STEP ? wait : VIRTUAL_STEP);
}

static flow_status
drive_deterministic(runtime *run, flow_error *error)
{
	flow_status status = FLOW_OK;
	for (int done = 0; status == FLOW_OK && !done;) {
		int64_t wait = 0;
		status = control_poll(run, &done, &wait, error);
		if (status < 0 || done)
			break;
		if (step_some_task(run))
			clock_advance(VIRTUAL_STEP);
		else
			skip_time(run, wait);
	}
	return status;
}

/* --- attempts ------------------------------------------------------------------------------------------------------- */

static flow_status
start_attempt(runtime *run, flow_error *error)
{
	pthread_mutex_lock(&run->status_lock);
	topology_destroy(run->topology);
	run->topology = NULL;
	flow_status status = topology_create(run, &run->topology, error);
	pthread_mutex_unlock(&run->status_lock);
	run->restore = run->epoch_open = run->drain_epoch = 0;
	if (run->topology != NULL && run->drain_started != 0)
		atomic_store(&run->topology->draining, 1);
	run->epoch_due = clock_monotonic() + run->checkpoint_interval;
	if (status == FLOW_OK)
		status = topology_open(run->topology, error);
	pthread_mutex_lock(&run->status_lock);
	if (run->topology != NULL)
		run->topology->sources_open = status == FLOW_OK;
	pthread_mutex_unlock(&run->status_lock);
	return status;
}

static void
end_attempt(runtime *run)
{
	topology *t = run->topology;
	if (t == NULL)
		return;
	for (uint32_t i = 0; t->tasks != NULL && i < t->task_count; i++)
		task_close(&t->tasks[i]);
	for (uint32_t i = 0; t->sources_open && i < t->task_count; i++)
		task_hand_committed(&t->tasks[i]);
	/* A transaction that is still open goes before its writers do. */
	flow_error ignored = { 0 };
	if (run->outcome != RUN_FINISHED && commit_abort(run, NULL, FLOW_DELIVERY_ONE_PHASE, &ignored) < 0)
		log_warn(run->plan->job, "%s", error_message(&ignored));
	error_clear(&ignored);
	status_keep_inputs(run);
	pthread_mutex_lock(&run->status_lock);
	topology_close(t);
	pthread_mutex_unlock(&run->status_lock);
}

/* Whoever lost a transaction again, or found the system away, is not to be in a hurry. */
static void
pause_before_restore(runtime *run)
{
	uint32_t times = run->restores + run->reopens;
	if (times < 2 || atomic_load(&run->stops) != 0)
		return;
	int64_t pause = times - 2 > PAUSE_DOUBLINGS ? PAUSE_MOST : PAUSE_FIRST << (times - 2);
	pause = pause < PAUSE_MOST ? pause : PAUSE_MOST;
	if (run->request.deterministic) {
		clock_advance(pause);
		return;
	}
	atomic_store(&run->control_signal, 0);
	if (atomic_load(&run->stops) == 0)
		signal_wait(&run->control_signal, 0, pause);
}

/* A system that is away while the last epoch is restored is waited for, as it is while the job runs: often it is why the transaction
 * was lost. */
static int
waits_for_system(runtime *run, flow_status status, flow_error *error)
{
	if (run->restores == 0 || !status_retryable(status) || atomic_load(&run->stops) != 0)
		return 0;
	log_warn("checkpoint", "going back: %s; trying again", error_message(error));
	error_clear(error);
	run->reopens++;
	return 1;
}

static flow_status
attempt(runtime *run, int *again, flow_error *error)
{
	pause_before_restore(run);
	int finished = 0;
	*again = 0;
	flow_status status = recovery_settle(run, &finished, error);
	if (status == FLOW_OK && finished) {
		run->outcome = RUN_FINISHED;
		return FLOW_OK;
	}
	if (status == FLOW_OK && run->attempt == 0)
		status = tables_open(run, error);
	if (status < 0) {
		*again = waits_for_system(run, status, error);
		return *again ? FLOW_OK : status;
	}
	status = start_attempt(run, error);
	int started = status == FLOW_OK;
	if (started) {
		run->reopens = 0;
		atomic_store(&run->state, 1);
		status = run->request.deterministic ? drive_deterministic(run, error) : drive_threads(run, error);
	}
	end_attempt(run);
	*again = started ? status == FLOW_OK && run->restore : waits_for_system(run, status, error);
	return !started && *again ? FLOW_OK : status;
}

static flow_status
run_attempts(runtime *run, flow_error *error)
{
	flow_status status = recovery_open(run, error);
	for (int again = 1; status == FLOW_OK && again; run->attempt++)
		status = attempt(run, &again, error);
	tables_close(run);
	/* Nobody goes on with what a throwaway run has begun to write. */
	flow_error ignored = { 0 };
	if (run->throwaway && (status < 0 || run->outcome != RUN_FINISHED) && commit_abort(run, NULL, 0, &ignored) < 0)
		log_warn(run->plan->job, "%s", error_message(&ignored));
	error_clear(&ignored);
	if (status == FLOW_OK && run->outcome == RUN_FINISHED)
		status = recovery_finish(run, error);
	recovery_close(run);
	return status;
}

flow_status
runtime_run(runtime *run, uint32_t *outcome, flow_error *error)
{
	host_services_cancel(atomic_load(&run->stops) != 0);
	flow_error own = { 0 };
	flow_error *to = error == NULL ? &own : error;
	int use_virtual = run->request.deterministic && !clock_is_virtual();
	if (use_virtual)
		clock_use_virtual(VIRTUAL_START);
	run->started_monotonic = clock_monotonic();
	run->started = clock_now(); /* last: a status says that the other one is there */
	flow_status status = run_attempts(run, to);
	if (status == FLOW_E_CANCELLED && atomic_load(&run->stops) != 0) { /* a call that blocked was told to end */
		error_clear(to);
		run->outcome = RUN_INTERRUPTED;
		status = FLOW_OK;
	}
	if (status == FLOW_OK)
		status = proxy_verdict(run, to);
	if (status == FLOW_E_FENCED)
		error_prefix(to, "a newer instance of the job runs, so this one ends");
	if (status < 0)
		run->outcome = RUN_FAILED;
	run->ended_monotonic = clock_monotonic();
	if (use_virtual)
		clock_use_real();
	atomic_store(&run->state, run->outcome + 10);
	*outcome = run->outcome;
	error_clear(&own);
	return status;
}
