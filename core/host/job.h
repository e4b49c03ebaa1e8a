/*
 * host/job.h - running a plan to its end from the command line: signals, progress, how it ended.
 *
 * Threads: [main]; one at a time.
 */
#ifndef HOST_JOB_H
#define HOST_JOB_H

#include "runtime/runtime.h"

/* What a command shows of its run. */
typedef struct job_view {
	const char *status_file; /* or NULL */
	int quiet;               /* no progress */
	int whole; /* a run that was stopped counts as failed: nothing is there that a next command could use */
	/* When it has ended, however. */
	void (*end)(void *context, runtime *run, uint32_t outcome);
	/* Whether a failure is none to the user, who hears nothing then; NULL: never. */
	int (*excused)(void *context);
	void *context;
} job_view;

/* Runs it; SIGINT and SIGTERM stop it, a second one at once. Returns an EXIT_* code; a failure has been printed. */
int job_run(const runtime_request *request, const job_view *view);

#endif
