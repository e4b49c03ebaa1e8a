/*
 * expr/compiled.h - a compiled expression, as the files of this room see it. Internal to this room.
 */
#ifndef EXPR_COMPILED_H
#define EXPR_COMPILED_H

#include "base/arena.h"
#include "expr/node.h"

struct flow_expression {
	arena *memory;
	node *root;
	const flow_schema *input; /* retained */
	const flow_schema *type;  /* owned */
	flow_value *null_record;  /* stands for rows without a value */
	uint8_t *used;            /* one a field of the input */
};

/* Writes the canonical text of a tree; see snprintf. */
uint64_t node_print(const node *n, char *buffer, uint64_t size);

#endif
