/*
 * graph/description.h - the other side of flow_graph_ops: what code describes (an application plugin, an expander), kept as
 * the same settings that a file would give. Private to the room.
 *
 * Ownership: everything lives in the configuration's arena. Threads: [main].
 */
#ifndef GRAPH_DESCRIPTION_H
#define GRAPH_DESCRIPTION_H

#include "graph/graph_reader.h"

typedef struct description description;
typedef struct described described;

/* Something that was described: its settings, and for steps where the records come from. */
struct described {
	flow_descriptor shown; /* what the plugin sees */
	description *owner;
	described *next;     /* in order of creation */
	setting *group;      /* NULL: nobody reads it (an error was kept) */
	described **origins; /* steps: inputs and steps, at least one; several are merged */
	size_t origin_count;
	described *second;       /* steps: the second input, or NULL */
	described *first_output; /* not NULL: this one stands for the second output of that step */
	size_t index;            /* steps: in order of creation */
};

struct description {
	flow_graph shown;
	arena *arena;
	problems *problems;
	const char *path; /* where its things stand, for messages: "application", "application.inputs.all" */
	described *first, *last;
	described *application;
	size_t step_count;
	size_t first_step;      /* where its steps begin in the graph */
	const setting *logical; /* expanders: the effective settings of the logical input */
	flow_status (*context_init)(void **shared, flow_error *error);
	void (*context_close)(void *shared);
	int failed; /* out of memory */
};

/* Sets up an empty description; its ops are in shown.ops. */
void description_begin(description *d, config *c, const char *path);
/* Whether something is a description of this kind and not the second one of equal content. Reports those of different content. */
int description_counts(description *d, const described *one);
/* Paths of all settings, as messages show them: after describing. */
void description_settle(description *d);
/* All things of one kind as a group, or the steps as a list. NULL: out of memory. */
setting *description_things(description *d, const setting *place, uint32_t kind, const char *name);
/* graph_reader.origins, where graph_reader.code is the description. */
void description_origins(graph_reader *r, graph_step *step);
graph_origin description_origin(const graph_reader *r, const described *one, const setting *place);
/* What a plugin returned, as one of ours: NULL if it is none of this description. */
described *description_find(const description *d, const flow_descriptor *shown);

#endif
