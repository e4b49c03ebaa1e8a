/*
 * graph/graph.h - an application as data: descriptors of systems, streams, tables, and the steps of its flows, whatever they came
 * from (the file's `application` group, or an application plugin). Nothing is resolved here; graph/planner.h does that.
 *
 * Ownership: everything lives in the configuration's arena. Threads: [main].
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "config/config.h"
#include "flow/application.h"
#include "options/problem.h"
#include "options/setting.h"
#include "plugin/registry.h"

/* One operator of a flow, as written. */
typedef struct graph_step {
	const char *name;       /* given, or NULL */
	const char *from;       /* an input or a named step; NULL: the step before */
	const char *to;         /* an output, or NULL */
	const setting *key_by;  /* string or list of strings (expressions), or NULL */
	const char *partition;  /* "shuffle", "global", "broadcast", or NULL */
	const char *function;   /* id of the function component, or NULL (only from, to, key_by) */
	setting *options;       /* the function's options as a group; layers file, job and command are merged in by the planner */
	const setting *place;   /* the step itself: file, line, path */
	size_t index;
} graph_step;

typedef struct graph_stream {
	const char *id;
	uint32_t direction;      /* FLOW_DIRECTION_INPUT, _OUTPUT */
	const char *system;
	const setting *serde;    /* string or group { key, value }, or NULL */
	const setting *place;
} graph_stream;

typedef struct graph {
	const char *name; /* of the application, which is the job's id unless job.id says otherwise */
	const char *default_system;
	const char *folder; /* where relative paths start */
	graph_stream **streams;
	size_t stream_count;
	graph_step **steps;
	size_t step_count;
} graph;

/* Reads the `application` group of a loaded configuration: puts descriptors' settings into layer 4 and returns streams and
 * steps. Problems go to the configuration's list. NULL: there is no application, or out of memory. */
graph *graph_from_config(config *c, registry *r);

#endif
