/*
 * graph/graph.h - an application as data: descriptors of systems, streams, tables, and the steps of its flows,
 * whatever they came from (the file's `application` group, or an application plugin). Nothing is bound or typed here;
 * graph/plan.h does that.
 *
 * Ownership: everything lives in the configuration's arena. Threads: [main].
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "config/config.h"
#include "flow/application.h"
#include "flow/system.h"
#include "options/problem.h"
#include "options/setting.h"
#include "plugin/registry.h"

#define GRAPH_NONE SIZE_MAX

/* One operator of a flow, as written. Within a step the order is: from, partitioning, function, to. */
typedef struct graph_step {
	const char *name;                /* given, or NULL */
	const char *from;                /* an input or a named step; NULL: the step before */
	const char *to;                  /* an output, or NULL */
	const setting *key_by;           /* string, or list of strings (expressions), or NULL */
	const char *partition;           /* "shuffle", "global", "broadcast", or NULL */
	const char *function;            /* id of the function component, or NULL (only from, to, partitioning) */
	const flow_component *component; /* of the function; NULL: none, or it cannot be used (already reported) */
	setting
		*options; /* the function's options as a group, with record_errors and late_records; NULL for named steps, whose
	                         * options are in layer 4 under operators.<name> */
	const setting *place;      /* the step itself: file, line, path */
	const setting *from_place; /* NULL where not written */
	const setting *to_place;
	size_t index;
	size_t from_step;   /* whose records it takes: index of a step, or GRAPH_NONE: of input `from_stream` */
	size_t from_stream; /* index in streams; both GRAPH_NONE: not known (already reported) */
	size_t to_stream;   /* GRAPH_NONE: none */
	int bad;            /* something of it is wrong and reported */
} graph_step;

typedef struct graph_stream {
	const char *id;
	uint32_t direction; /* FLOW_DIRECTION_INPUT, _OUTPUT */
	const setting *place;
} graph_stream;

typedef struct graph {
	const char
		*name; /* of the application, which is the job's id unless job.id says otherwise; NULL: reported as missing */
	const char *folder; /* where relative paths start */
	const setting *place;
	graph_stream **streams; /* inputs, then outputs, each in the order of the file */
	size_t stream_count;
	graph_step **steps;
	size_t step_count;
} graph;

/* Reads the `application` group of a loaded configuration: puts descriptors' settings into layer 4 and returns streams
 * and steps. Problems go to the configuration's list, and what is right is still returned, so that all of it can be
 * checked. NULL: there is no application, or out of memory. */
graph *graph_from_config(config *c, registry *r);

/* Index of a stream, GRAPH_NONE: there is none. */
size_t graph_find_stream(const graph *g, const char *id, uint32_t direction);
/* A name that things may have: letters, digits, '-' and '_'. */
int graph_is_name(const char *text);

#endif
