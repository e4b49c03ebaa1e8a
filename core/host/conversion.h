/*
 * host/conversion.h - a job without a configuration file: one input, one output, what stands between, as the `application` group that
 * a file would hold. From there on it is a job like any other: the graph's reader, the planner, the runtime.
 *
 * Ownership: all lives in the session's arena. Threads: [main].
 */
#ifndef HOST_CONVERSION_H
#define HOST_CONVERSION_H

#include "host/location.h"
#include "host/selection.h"
#include "host/session.h"

typedef struct conversion {
	const char *command; /* "cat", "convert": also the job's name */
	location in, out;
	const location *dead_letters; /* NULL: none */
	const char *where;            /* NULL: all records */
	selection selected;           /* no items: all columns */
	const char *const *settings;  /* of --set: in.KEY=VALUE, out.KEY=VALUE, job.KEY=VALUE ...; NULL-terminated */
	int skip;                     /* bad records are skipped */
	int overwrite;
	uint64_t limit; /* 0: none */
} conversion;

/* Plans it; the session has its plan then. What is wrong is in the problems. Returns an EXIT_* code. */
int conversion_plan(session *s, const conversion *c);
/* The schema of the records that go to the output, once it is planned. */
const flow_schema *conversion_schema(const session *s);

#endif
