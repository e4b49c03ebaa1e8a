/* Workers: threads that step their tasks round robin, and sleep when none of them can go on. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/fence.h"
#include "runtime/run.h"

#define IDLE_ROUNDS 8 /* before a worker sleeps: a wake costs more than these */
#define JOIN_SECONDS 10
#define SLEEP_MOST ((int64_t)1000 * 1000) /* microseconds; sources are serviced once a second */

void
signal_wait(atomic_int *word, int expected, int64_t microseconds)
{
	struct timespec timeout = { microseconds / 1000000, microseconds % 1000000 * 1000 };
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &timeout, NULL, 0);
}

void
signal_wake(atomic_int *word)
{
	int saved = errno; /* a signal handler may be what calls */
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
	errno = saved;
}

void
worker_wake(worker *w)
{
	int parked = 1;
	if (atomic_load(&w->parked) != 1 || !atomic_compare_exchange_strong(&w->parked, &parked, 0))
		return;
	atomic_fetch_add_explicit(&w->topology->run->wakes, 1, memory_order_relaxed);
	signal_wake(&w->parked);
}

void
workers_wake(topology *t)
{
	full_fence();
	for (uint32_t i = 0; i < t->worker_count; i++)
		worker_wake(&t->workers[i]);
}

static int
must_leave(const topology *t)
{
	return atomic_load_explicit(&t->ending, memory_order_acquire) ||
		   atomic_load_explicit(&t->failed, memory_order_acquire);
}

static int
step_all(worker *w)
{
	int progress = 0;
	for (uint32_t i = 0; i < w->task_count; i++)
		progress |= task_step(w->tasks[i]);
	return progress;
}

/* Sleeps until somebody wakes the worker or something is due. */
static void
park(worker *w)
{
	atomic_store(&w->parked, 1);
	full_fence();
	/* What came before the flag was seen is found by one more round; what comes later wakes. */
	if (!must_leave(w->topology) && !step_all(w)) {
		int64_t now = clock_monotonic(), due = now + SLEEP_MOST;
		for (uint32_t i = 0; i < w->task_count; i++)
			if (w->tasks[i]->deadline < due)
				due = w->tasks[i]->deadline;
		if (due > now && !must_leave(w->topology))
			signal_wait(&w->parked, 1, due - now);
	}
	atomic_store(&w->parked, 0);
}

static void
bind_to_core(const worker *w)
{
	if (!flow_option_bool(w->topology->run->plan->job_options, "cpu_affinity", 0))
		return;
	cpu_set_t cores;
	CPU_ZERO(&cores);
	CPU_SET(w->index % (uint32_t)sysconf(_SC_NPROCESSORS_ONLN), &cores);
	pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores);
}

static void *
worker_main(void *argument)
{
	worker *w = argument;
	bind_to_core(w);
	unsigned idle = 0;
	while (!must_leave(w->topology)) {
		if (step_all(w)) {
			idle = 0;
		} else if (++idle < IDLE_ROUNDS) {
			spin_pause();
		} else {
			park(w);
			idle = 0;
		}
	}
	for (uint32_t i = 0; i < w->task_count; i++)
		task_close(w->tasks[i]);
	return NULL;
}

flow_status
workers_start(topology *t, flow_error *error)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < t->worker_count; i++) {
		worker *w = &t->workers[i];
		int number = pthread_create(&w->thread, NULL, worker_main, w);
		if (number != 0)
			status = error_set(error, status_of_errno(number), "cannot start worker %u of %u; lower job.workers", i + 1,
							   t->worker_count);
		else
			w->started = 1;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (status != FLOW_OK)
		atomic_store(&t->ending, 1);
	return status;
}

/* The last checkpoint stands whatever happens to the process; hanging would help nobody. */
static void
join_or_end(const worker *w)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += JOIN_SECONDS;
	if (pthread_timedjoin_np(w->thread, NULL, &until) == 0)
		return;
	log_error(w->topology->run->plan->job,
			  "worker %u is in a call of a plugin that does not come back, %d seconds after everything was told to "
			  "end; the process "
			  "ends here, and the next run goes on from the last checkpoint",
			  w->index, JOIN_SECONDS);
	_exit(1);
}

void
workers_join(topology *t, int ends_now)
{
	workers_wake(t);
	for (uint32_t i = 0; i < t->worker_count; i++) {
		worker *w = &t->workers[i];
		if (w->started && ends_now)
			join_or_end(w);
		else if (w->started)
			pthread_join(w->thread, NULL);
		w->started = 0;
	}
}
