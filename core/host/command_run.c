/* `flowd run`: plans and runs an application to its end. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "host/commands.h"
#include "host/progress.h"
#include "host/report.h"
#include "host/session.h"
#include "runtime/runtime.h"
#include "transfer/transfer_check.h"

#define FILES_MOST 16

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

static int64_t
job_integer(const plan *p, const char *name, int64_t absent)
{
	return flow_option_int(p->job_options, name, absent);
}

static const char *
default_state_directory(const plan *p, arena *a)
{
	return p->instance[0] == '\0' ? arena_format(a, "state/%s", p->job)
								  : arena_format(a, "state/%s-%s", p->job, p->instance);
}

static void
print_end(const session *s, arguments *given, runtime *run, uint32_t outcome)
{
	runtime_status_report report;
	runtime_status(run, &report);
	if (arguments_value(given, "json") == NULL) {
		report_summary(s->plan, &report, outcome, stderr);
		return;
	}
	json_t *json = report_json(s->plan, &report, outcome);
	if (json != NULL)
		json_dumpf(json, stdout, JSON_INDENT(2));
	printf("\n");
	json_decref(json);
}

static int
run_to_end(session *s, arguments *given, runtime *run)
{
	uint32_t outcome = RUN_FAILED;
	flow_error error = { 0 };
	running = run;
	catch_signals(on_stop_signal);
	progress *p = progress_start(run, s->plan, arguments_value(given, "status-file"),
								 arguments_value(given, "json") != NULL || log_level() < FLOW_LOG_INFO);
	flow_status status = runtime_run(run, &outcome, &error);
	progress_stop(p);
	running = NULL; /* signals are of no effect from here on: what is left is to say how it ended */
	print_end(s, given, run, outcome);
	catch_signals(SIG_DFL);
	if (status != FLOW_OK)
		fprintf(stderr, "flowd: %s: %s\n", s->plan->job, error_message(&error));
	error_clear(&error);
	return outcome == RUN_FAILED || status != FLOW_OK ? EXIT_RUN_FAILED : EXIT_DONE;
}

static int
run_plan(session *s, arguments *given)
{
	int64_t limit = arguments_number(given, "limit");
	const char *directory = arguments_value(given, "state-dir");
	if (limit == 0)
		fprintf(stderr, "flowd run: --limit takes a number of records, at least 1\n");
	if (limit == -2 || limit == 0)
		return EXIT_USAGE;
	if (directory == NULL)
		directory = default_state_directory(s->plan, s->arena);
	runtime_request request = {
		.plan = s->plan,
		.host = &host_services,
		.state_directory = directory,
		.drop_states = arguments_values(given, "drop-state"),
		.limit = limit < 0 ? 0 : (uint64_t)limit,
		.dry_sink = arguments_value(given, "dry-sink") != NULL,
		.fresh = arguments_value(given, "fresh") != NULL,
		.check_plugins = arguments_value(given, "check-plugins") != NULL,
		.deterministic = job_integer(s->plan, "deterministic", 0) != 0,
		.seed = (uint64_t)job_integer(s->plan, "seed", 0),
	};
	if (directory == NULL || request.drop_states == NULL) {
		fprintf(stderr, "flowd: out of memory\n");
		return EXIT_RUN_FAILED;
	}
	runtime *run = NULL;
	flow_error error = { 0 };
	if (runtime_create(&request, &run, &error) != FLOW_OK) {
		fprintf(stderr, "flowd: %s: %s\n", s->plan->job, error_message(&error));
		error_clear(&error);
		return EXIT_RUN_FAILED;
	}
	int exit_code = run_to_end(s, given, run);
	runtime_destroy(run);
	return exit_code;
}

static int
is_trial(arguments *given)
{
	return arguments_value(given, "limit") != NULL || arguments_value(given, "dry-sink") != NULL;
}

static int
run_run(arguments *given)
{
	session s;
	int exit_code = session_open(&s, given);
	if (exit_code == EXIT_DONE) {
		if (session_load(&s, given, FILES_MOST) == EXIT_DONE && transfers_report_idle(s.config) == NULL)
			session_plan(&s, is_trial(given) ? PLAN_TRIAL : 0);
		if (s.plan != NULL)
			runtime_check(s.plan, s.problems);
		exit_code = session_report(&s, given);
		if (exit_code == EXIT_DONE && s.plan == NULL)
			exit_code = EXIT_CONFIGURATION;
	}
	if (exit_code == EXIT_DONE)
		exit_code = run_plan(&s, given);
	session_close(&s);
	return exit_code;
}

static const command_option option_set = { "set", "KEY=VALUE", "Override a key; may be given several times.", NULL };
static const command_option option_state_dir = { "state-dir", "FOLDER",
												 "Where checkpoints are kept (default: state/JOB).", NULL };
static const command_option option_fresh = { "fresh", NULL, "Discard the state and start from the beginning.", NULL };
static const command_option option_drop_state = { "drop-state", "NAME",
												  "Discard the state of one operator that no longer fits the plan.",
												  NULL };
static const command_option option_limit = { "limit", "N",
											 "Read N records of each input, with throwaway state; outputs are written.",
											 NULL };
static const command_option option_dry_sink = { "dry-sink", NULL, "Write nothing, with throwaway state.", NULL };
static const command_option option_status_file = { "status-file", "FILE",
												   "Keep a file with the run's figures, as JSON.", NULL };
static const command_option option_check_plugins = {
	"check-plugins", NULL, "Watch that plugins keep the ABI's rules (threads, lifetimes, order of calls); slower.", NULL
};
static const command_option *const run_options[] = { &option_set,         &option_state_dir,     &option_fresh,
													 &option_drop_state,  &option_limit,         &option_dry_sink,
													 &option_status_file, &option_check_plugins, NULL };

const command run_command = {
	.name = "run",
	.operands = "FILE...",
	.least = 1,
	.most = FILES_MOST,
	.summary = "Run the application of a configuration file.",
	.doc = "Later files override earlier ones; one of them may be an application plugin (NAME.so).\n"
		   "An interrupted run goes on where its last checkpoint is; a finished one starts anew.\n"
		   "SIGINT or SIGTERM: what is under way is finished, a checkpoint is made, and the run ends; a second one "
		   "ends it at once.",
	.options = run_options,
	.run = run_run,
};
