/*
 * graph/graph_reader.h - what the files that read an application share. Private to the room.
 */
#ifndef GRAPH_GRAPH_READER_H
#define GRAPH_GRAPH_READER_H

#include "graph/graph.h"

typedef struct graph_reader graph_reader;
struct graph_reader {
	config *config;
	arena *arena;
	problems *problems;
	registry *registry;
	graph *graph;
	const char **functions; /* ids of all functions, sorted */
	size_t function_count;
	/* Where the steps of an application in code take their records from; NULL: the settings name it. */
	void (*origins)(graph_reader *r, graph_step *step);
	void *code;
	int failed; /* out of memory */
};

/* Memory of the configuration; NULL sets failed. */
void *reader_allocate(graph_reader *r, size_t size);
/* Says that there was none; returns NULL. */
graph *reader_out_of_memory(problems *list);

/* A problem at a setting's place. */
problem *problem_at(problems *list, const setting *s, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same with a path below the setting, for what is missing in it. */
problem *problem_in(problems *list, const setting *s, const char *key, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Something that is odd but no error. */
void problem_warning(problems *list, const setting *s, const char *text);
/* Reports a text that may come from several places only once, at the first: a plugin that is refused, say. */
void problem_once(problems *list, const setting *s, const char *text);
/* Adds the nearest of some names to a problem, if one is near. */
void problem_suggest(problems *list, problem *p, const char *word, const char *const *names, size_t count);

/* Reports "expected X, found Y" unless the setting has one of the kinds (bits 1 << SETTING_*). */
int setting_expect(problems *list, const setting *s, unsigned kinds, const char *expected);
/* A deep copy in a layer, under another name if `name` is not NULL. NULL: out of memory. */
setting *setting_copy(arena *a, const setting *s, uint8_t layer, const char *name);
/* A group made of `count` settings. NULL: out of memory. */
setting *setting_group(arena *a, const setting *place, const char *name, setting *const *children, size_t count);
/* Equal names, kinds and values, deeply; places may differ. */
int settings_equal(const setting *a, const setting *b);
/* "late-flights.conf:12", "--set", ... for messages. */
const char *setting_place(arena *a, const setting *s);

/* Reads the settings of an application into a graph. NULL: out of memory, reported. */
graph *graph_read_application(graph_reader *r, const setting *application);
/* Puts a system, stream or table into layer 4. */
void reader_put_thing(graph_reader *r, const char *section, const setting *thing);
/* Looks up which ids are functions. */
void reader_list_functions(graph_reader *r);
/* Reads `application.flow` into the graph's steps, behind those that are there. */
void graph_read_flow(graph_reader *r, const setting *flow);
/* Room for so many origins of a step, none of them known yet. 0: out of memory. */
int graph_step_origins(graph_reader *r, graph_step *step, size_t count);

#endif
