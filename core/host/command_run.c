/* `flowd run`: plans and runs an application to its end. */
#include <string.h>

#include "base/log.h"
#include "host/commands.h"
#include "host/job.h"
#include "host/report.h"
#include "host/session.h"
#include "transfer/transfer_check.h"

#define FILES_MOST 16

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

struct shown {
	const session *session;
	arguments *given;
};

static void
print_end(void *context, runtime *run, uint32_t outcome)
{
	const struct shown *shown = context;
	runtime_status_report report;
	runtime_status(run, &report);
	if (arguments_value(shown->given, "json") == NULL)
		report_summary(shown->session->plan, &report, outcome, stderr);
	else
		report_print_json(shown->session->plan, &report, outcome, stdout);
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
	struct shown shown = { s, given };
	job_view view = {
		.status_file = arguments_value(given, "status-file"),
		.quiet = arguments_value(given, "json") != NULL || log_level() < FLOW_LOG_INFO,
		.end = print_end,
		.context = &shown,
	};
	return job_run(&request, &view);
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
