/*
 * host/selection.h - the columns of --select: "carrier,late=dep_delay > 15,*".
 *
 * Items stand between commas outside of brackets and quotes: a column, NAME=EXPRESSION, or * for all columns. Ownership: texts live in
 * the arena. Threads: [main].
 */
#ifndef HOST_SELECTION_H
#define HOST_SELECTION_H

#include <stddef.h>

#include "base/arena.h"

typedef struct selection_item {
	const char *name;
	const char *expression; /* NULL: the column of that name */
} selection_item;

typedef struct selection {
	selection_item *items;
	size_t count;
	int all; /* "*" stood in front: all columns, and the items besides */
} selection;

/* Appends the items of one --select. NULL: good; else what is wrong with it. */
const char *selection_add(arena *a, selection *to, const char *text);

#endif
