/*
 * host/session.h - what most commands begin with: plugins found, files loaded, an application planned, and everything that is wrong
 * with it printed.
 *
 * Ownership: the session owns all of it. Threads: [main].
 */
#ifndef HOST_SESSION_H
#define HOST_SESSION_H

#include "config/config.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "host/arguments.h"
#include "plugin/registry.h"

typedef struct session {
	arena *arena;
	problems *problems;
	config *config;
	registry *registry;
	const char *application; /* file of an application plugin among the operands, or NULL */
	graph *graph;
	plan *plan;
} session;

/* Finds the plugins. Returns an EXIT_* code; on another than EXIT_DONE it has said why. session_close is due in any case. */
int session_open(session *s, arguments *given);
/* Loads the files of `most` operands, and --set. One of them may be an application plugin (NAME.so). What is wrong is in the
 * problems. */
int session_load(session *s, arguments *given, size_t most);
/* Links and transfers are good without an application: there is nothing to plan then. */
int session_has_links_only(const session *s);
/* Reads the application and plans it. What is wrong is in the problems. */
int session_plan(session *s, uint32_t flags);
/* Prints what was collected (to stderr, or as JSON to stdout); returns the code that fits: EXIT_DONE if these are only warnings. */
int session_report(session *s, arguments *given);
void session_close(session *s);

#endif
