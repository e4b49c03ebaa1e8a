#include "host/job.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "host/arguments.h"
#include "host/progress.h"

/* What the signal handler stops. */
static runtime *volatile running;
/* The exit code of the run, when all is told and only connections and memory are left; before: -1. */
static volatile sig_atomic_t told = -1;

static void
on_stop_signal(int number)
{
	(void)number;
	if (running != NULL)
		runtime_stop(running);
	else if (told >= 0)
		_exit(told);
}

static void
catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_stop_signal, .sa_flags = SA_RESTART };
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static void
print_failure(const plan *p, const flow_error *error)
{
	fprintf(stderr, "flowd: %s: %s\n", p->job, error_message(error));
}

static int
run_to_end(runtime *run, const plan *p, const job_view *view)
{
	uint32_t outcome = RUN_FAILED;
	flow_error error = { 0 };
	running = run;
	catch_signals();
	progress *shown = progress_start(run, p, view->status_file, view->quiet);
	flow_status status = runtime_run(run, &outcome, &error);
	progress_stop(shown);
	running = NULL; /* signals are of no effect until it is said how it ended */
	int failed = outcome == RUN_FAILED || status != FLOW_OK || (outcome == RUN_INTERRUPTED && view->whole);
	int excused = failed && view->excused != NULL && view->excused(view->context);
	if (!excused)
		view->end(view->context, run, outcome);
	if (status != FLOW_OK && !excused)
		print_failure(p, &error);
	error_clear(&error);
	int exit_code = failed && !excused ? EXIT_RUN_FAILED : EXIT_DONE;
	fflush(NULL);
	told = exit_code;
	return exit_code;
}

int
job_run(const runtime_request *request, const job_view *view)
{
	runtime *run = NULL;
	flow_error error = { 0 };
	if (runtime_create(request, &run, &error) != FLOW_OK) {
		print_failure(request->plan, &error);
		error_clear(&error);
		return EXIT_RUN_FAILED;
	}
	int exit_code = run_to_end(run, request->plan, view);
	runtime_destroy(run);
	return exit_code;
}
