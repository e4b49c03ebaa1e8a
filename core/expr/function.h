/*
 * expr/function.h - the functions of the expression language: one table, from which names are resolved and the
 * reference is written (docs/reference/expressions.md). Internal to this room and its tests.
 */
#ifndef EXPR_FUNCTION_H
#define EXPR_FUNCTION_H

#include "expr/compiler.h"
#include "expr/node.h"

/* The result for one row; arguments have the types of their classes and are not null. On failure row_fail() was
 * called. */
typedef flow_status (*row_function)(frame *f, const node *n, const flow_value *const *arguments, flow_value *result);

struct function {
	const char *name;
	const char *group;     /* heading in the reference */
	const char *signature; /* for people */
	const char *doc;
	const char *example; /* an expression and, behind " = ", the constant that it is equal to (or "null") */
	/* One class an argument; the last one stands for all that follow. s string, i int64, n number, f float64
	 * (numbers are converted), t date or timestamp, T timestamp, u string that names a unit (literal), c list or
	 * map, x string or bytes, o anything that can be cast to string, a anything. */
	const char *classes;
	uint32_t minimum;
	uint32_t maximum;
	uint8_t result;     /* FLOW_KIND_*, where `type` is NULL */
	uint8_t takes_null; /* the row function is called for nulls too */
	uint32_t parameter; /* node.index */
	/* Sets n->type (nullable is set already) and what else the function needs. */
	int (*type)(compiler *c, node *n);
	row_function row;
	kernel evaluate; /* instead of calls of `row` */
};

extern const function *const function_tables[]; /* arrays that end with a NULL name; ends with NULL */
extern const function text_functions[];
extern const function math_functions[];
extern const function time_functions[];
extern const function general_functions[];

/* NULL: there is none. The name is in lower case. */
const function *function_find(flow_slice name);
/* The nearest function's name, or NULL. `name` is NUL-terminated. */
const char *function_nearest(const char *name);
/* True if a cell may be given to an argument of the class; nulls are looked at before. */
int class_accepts_cell(char class, uint8_t type);
int class_accepts_kind(char class, uint8_t kind);
const char *class_name(char class);
char function_class(const function *fn, uint32_t argument);

#endif
