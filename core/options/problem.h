/*
 * options/problem.h - everything that is wrong with a configuration, collected and shown at once:
 * "file:line: path: what is wrong, did you mean ...".
 *
 * Ownership: texts live in the arena that the list was created with. Threads: [main].
 */
#ifndef OPTIONS_PROBLEM_H
#define OPTIONS_PROBLEM_H

#include <stdio.h>

#include "base/arena.h"

typedef struct problem {
	const char *file;  /* as the user named it; NULL: none (--set, code) */
	unsigned line;     /* 0: none */
	const char *place; /* where there is no file: "--set", "app.c:12"; or NULL */
	const char *path;  /* "application.inputs.flights.bonded" */
	const char *message;
	const char *suggestion; /* the likely right word, or NULL; not repeated in the message */
	int warning;            /* does not fail the check; set by problems_warn */
} problem;

typedef struct problems {
	arena *arena;
	problem **items;
	size_t count;
	size_t capacity;
	size_t errors;          /* items that are no warnings */
	size_t plugins_refused; /* errors that are plugins which could not be used: another exit code */
	size_t bad_data;        /* errors that are data which cannot be read, not its description: likewise */
} problems;

problems *problems_create(arena *a);
/* Returns the new problem, to add a place or a suggestion; NULL: out of memory, which counts as an error all the same. The
 * texts are copied. */
problem *problems_add(problems *list, const char *file, unsigned line, const char *path, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* A mistake that was reported before stands in the way here too: counts as an error, so that nothing is built on it, and is not
 * shown again. */
void problems_repeat(problems *list);
/* Makes a warning of an item that was just added (NULL is allowed): it does not fail the check. */
void problems_warn(problems *list, problem *item);
/* Sorted by file and line, duplicates (same place, path and message) dropped. */
void problems_sort(problems *list);
void problems_print(const problems *list, FILE *to, int json);

#endif
