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

/* Where records come from. */
typedef struct graph_origin {
	size_t step;          /* index of a step, or GRAPH_NONE: */
	size_t stream;        /* index of an input; both GRAPH_NONE: not known (already reported) */
	uint32_t output;      /* of the step: 0, or 1 for the second one */
	const setting *place; /* of the name, or of the step where none is written */
} graph_origin;

/* One operator of a flow, as written. Within a step the order is: from, partitioning, function, to. */
typedef struct graph_step {
	const char *name;                /* given, or NULL */
	const char *to;                  /* an output, or NULL */
	const setting *key_by;           /* string, or list of strings (expressions), or NULL */
	const char *partition;           /* "shuffle", "global", "broadcast", or NULL */
	const char *function;            /* id of the function component, or NULL (only from, to, partitioning) */
	const flow_component *component; /* of the function; NULL: none, or it cannot be used (already reported) */
	setting
		*options; /* the function's options as a group, with record_errors and late_records; NULL for named steps, whose
	                         * options are in layer 4 under operators.<name> */
	const setting *place; /* the step itself: file, line, path */
	const setting *to_place;
	size_t index;
	graph_origin *origins; /* whose records it takes; several are merged into one stream. Never none */
	size_t origin_count;
	graph_origin *second; /* the second input of a function of two, or NULL */
	size_t to_stream;     /* GRAPH_NONE: none */
	int bad;              /* something of it is wrong and reported */
} graph_step;

typedef struct graph_stream graph_stream;
struct graph_stream {
	const char *id;
	uint32_t direction; /* FLOW_DIRECTION_INPUT, _OUTPUT */
	const setting *place;
	const graph_stream *logical; /* the input that it was expanded from, or NULL */
	const char *system;          /* of an input that was expanded: its system, for chains */
};

typedef struct graph {
	const char
		*name; /* of the application, which is the job's id unless job.id says otherwise; NULL: reported as missing */
	const char *folder; /* where relative paths start */
	const setting *place;
	graph_stream **streams; /* inputs, then outputs, each in the order of the file */
	size_t stream_count;
	graph_stream **logical; /* inputs that were expanded; they are no streams any more */
	size_t logical_count;
	graph_step **steps;
	size_t step_count;
	/* The context that the functions of an application in code share; NULL: none. */
	flow_status (*context_init)(void **shared, flow_error *error);
	void (*context_close)(void *shared);
	const char *
		untyped_remedy; /* how types are told that an input or output wants and the records do not say; NULL: as its serde says */
} graph;

/* Reads the `application` group of a loaded configuration: puts descriptors' settings into layer 4 and returns streams
 * and steps. Problems go to the configuration's list, and what is right is still returned, so that all of it can be
 * checked. NULL: there is no application, or out of memory. */
graph *graph_from_config(config *c, registry *r);
/* The same for an application plugin: loads the file and lets its application describe itself; `application` in the configuration,
 * if it is there, holds its options. NULL: it cannot be used (reported), or out of memory. */
graph *graph_from_plugin(config *c, registry *r, const char *file);
/* The same for an `application` group that was made in memory, for commands that are jobs of their own. Relative paths start where the
 * process does. */
graph *graph_from_settings(config *c, registry *r, const setting *application);
/* The same for an application that is there already. `name` is what messages call it. */
graph *graph_from_application(config *c, registry *r, const flow_component *application, const char *name);

/* Index of a stream, GRAPH_NONE: there is none. */
size_t graph_find_stream(const graph *g, const char *id, uint32_t direction);
/* A name that things may have: letters, digits, '-' and '_'. */
int graph_is_name(const char *text);

#endif
