#include "host/job.h"

#include <signal.h>
#include <stdio.h>

#include "base/error.h"
#include "host/arguments.h"
#include "host/progress.h"

/* What the signal handler stops. Set before the handler is, and cleared after it is gone. */
static runtime *volatile running;

static void
on_stop_signal(int number)
{
	(void)number;
	if (running != NULL)
		runtime_stop(running);
}

static void
catch_signals(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
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
	catch_signals(on_stop_signal);
	progress *shown = progress_start(run, p, view->status_file, view->quiet);
	flow_status status = runtime_run(run, &outcome, &error);
	progress_stop(shown);
	running = NULL; /* signals are of no effect from here on: what is left is to say how it ended */
	int failed = outcome == RUN_FAILED || status != FLOW_OK;
	int excused = failed && view->excused != NULL && view->excused(view->context);
	if (!excused)
		view->end(view->context, run, outcome);
	catch_signals(SIG_DFL);
	if (status != FLOW_OK && !excused)
		print_failure(p, &error);
	error_clear(&error);
	return failed && !excused ? EXIT_RUN_FAILED : EXIT_DONE;
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
