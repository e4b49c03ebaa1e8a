/*
 * expr/node.h - the tree that an expression compiles to, and the frame that it is evaluated in. Internal to this room.
 *
 * A node is parsed, then typed: typing resolves names, checks kinds, folds constants and chooses the node's kernel. A
 * kernel evaluates its node for the chosen slots of one block of rows at once, into a register: an array of cells, one
 * a slot. A kernel that is given register r may use r and all above it, and leaves its result in r.
 *
 * Ownership: nodes and constants live in the expression's arena. Threads: a compiled tree is immutable and may be
 * evaluated by any number of threads; a frame belongs to one call.
 */
#ifndef EXPR_NODE_H
#define EXPR_NODE_H

#include <stdarg.h>

#include "base/arena.h"
#include "flow/batch.h"
#include "flow/expression.h"
#include "flow/schema.h"

#define BLOCK_ROWS 256u        /* rows that are evaluated at once: registers of 4 KiB stay in the nearest cache */
#define DEPTH_LIMIT 200u       /* of the tree, and of parentheses in the text */
#define REGISTER_LIMIT 1024u   /* what the deepest permitted evaluation may need */
#define ARGUMENT_LIMIT 64u     /* of one function call */
#define TEXT_LIMIT 65536u      /* bytes of an expression */
#define STRING_LIMIT 16777216u /* bytes of a string that a function makes */

enum node_op {
	NODE_CONSTANT,
	NODE_FIELD,
	NODE_ENTRY,  /* like a field, of rows that are self-typed: schemaless records */
	NODE_MEMBER, /* children[0].name, children[0]['name'] */
	NODE_NEGATE,
	NODE_ADD,
	NODE_SUBTRACT,
	NODE_MULTIPLY,
	NODE_DIVIDE,
	NODE_REMAINDER,
	NODE_CONCAT,
	NODE_EQUAL,
	NODE_UNEQUAL,
	NODE_LESS,
	NODE_LESS_EQUAL,
	NODE_GREATER,
	NODE_GREATER_EQUAL,
	NODE_AND, /* two or more children */
	NODE_OR,  /* likewise */
	NODE_NOT,
	NODE_IS,      /* form: IS_* */
	NODE_IN,      /* children[0] in (the others) */
	NODE_LIKE,    /* children[0] like [1] escape [2] */
	NODE_BETWEEN, /* children[0] between [1] and [2] */
	NODE_CASE,    /* [subject] { condition, value } [else] */
	NODE_CAST,    /* target */
	NODE_CALL     /* function */
};

enum is_form { IS_NULL, IS_TRUE, IS_FALSE };

/* What is known of a node's values before there are any. */
typedef struct value_type {
	uint8_t kind; /* FLOW_KIND_*; int32 and float32 only where a schema says so */
	uint8_t unit;
	uint8_t zoned;
	uint8_t nullable;
	uint8_t duration;          /* an int64 that counts microseconds */
	const flow_schema *schema; /* where the kind is not all: lists, maps, records, enums, decimal(p,s); else NULL */
} value_type;

typedef struct node node;
typedef struct frame frame;
typedef struct function function;

/* Slot numbers of a block, ascending. */
typedef struct slots {
	const uint16_t *list;
	uint32_t count;
} slots;

typedef flow_status (*kernel)(const node *n, frame *f, slots s, uint32_t target);
/* Writes the slots where the node is `want` (1 true, 0 false; null is neither) to `kept`, which may be the list of
 * `s`. */
typedef flow_status (*filter_kernel)(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept,
									 uint32_t *count);

struct node {
	uint8_t op;
	uint8_t form;      /* NODE_IS: IS_*; NODE_CASE: 1 = has a subject */
	uint8_t negated;   /* not in, not like, not between, is not */
	uint8_t otherwise; /* NODE_CASE: has an else */
	uint8_t implicit;  /* NODE_CAST that typing added */
	uint8_t attempt;   /* NODE_CAST: try_cast */
	uint8_t literal;   /* NODE_CONSTANT as written, which may take the type of what it stands beside */
	uint8_t folded;    /* `constant` holds the value */
	uint32_t column;   /* 1-based, in characters */
	uint32_t depth;
	uint32_t registers;
	uint32_t child_count;
	node **children;
	value_type type;
	kernel evaluate;
	filter_kernel filter;
	flow_value constant;
	flow_slice name; /* field, member, function */
	uint32_t index;  /* field: position in the record; functions: a parameter that typing resolved */
	const function *function;
	const flow_schema *target; /* NODE_CAST */
	const flow_value *set;     /* NODE_IN with constants only: sorted, without nulls */
	uint32_t set_count;
	uint32_t set_has_null;
};

/* One evaluation, block by block. */
struct frame {
	const flow_batch *batch;
	flow_builder *memory;
	flow_value *registers;
	uint32_t stride;               /* cells of a register */
	uint32_t first;                /* the block's first row, counted among the selected ones */
	uint32_t count;                /* slots in this block */
	uint32_t fields;               /* of the input */
	const flow_value *values;      /* the rows of this block, one a slot */
	const flow_value *null_record; /* stands for rows without a value */
	flow_status *statuses;         /* as in flow_expressions.evaluate */
	flow_slice *reasons;
	flow_error *error;
	int64_t now;         /* read at the first use; 0: not yet */
	const char *message; /* why the last row function failed */
	char message_text[160];
	uint32_t failures;
	uint8_t failed[BLOCK_ROWS];
	flow_value gathered[BLOCK_ROWS]; /* `values`, where a selection has scattered them */
};

extern const uint16_t every_slot[BLOCK_ROWS]; /* 0, 1, 2 ... */

static inline flow_value *
frame_register(frame *f, uint32_t number)
{
	return f->registers + (uint64_t)number * f->stride;
}

static inline uint32_t
frame_row(const frame *f, uint32_t slot)
{
	return f->batch->selection == NULL ? f->first + slot : f->batch->selection[f->first + slot];
}

static inline const flow_value *
frame_field(const frame *f, uint32_t slot, uint32_t field)
{
	const flow_value *v = &f->values[slot];
	return &(v->type == FLOW_RECORD && v->size >= f->fields ? v->as.record : f->null_record)[field];
}

/* The cells of an operand: cells[slot & mask]; a constant has mask 0. */
typedef struct operand {
	const flow_value *cells;
	uint32_t mask;
} operand;

/* Evaluates a child for reading only. */
flow_status operand_read(const node *n, frame *f, slots s, uint32_t target, operand *view);
/* The same, for results that may point into the operand: constants are copied into the builder's memory first. */
flow_status operand_hold(const node *n, frame *f, slots s, uint32_t target, operand *view);

/* A row fails: its result becomes null. FLOW_OK: go on with the next one; else the whole call fails with that
 * status. */
flow_status slot_fail(frame *f, const node *n, uint32_t slot, flow_status status, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* For row functions: keeps the text for the caller's slot_fail and returns `status`. */
flow_status row_fail(frame *f, flow_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Kernels, by file. */
flow_status constant_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status field_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status entry_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status member_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status is_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status not_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status logic_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status case_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status coalesce_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status nullif_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status extreme_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status call_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status cast_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status concat_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status like_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status between_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status in_kernel(const node *n, frame *f, slots s, uint32_t target);
flow_status negate_kernel(const node *n, frame *f, slots s, uint32_t target);

flow_status cells_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count);
flow_status logic_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count);
flow_status not_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count);
flow_status is_filter(const node *n, frame *f, slots s, uint32_t target, int want, uint16_t *kept, uint32_t *count);

/* The best kernels for a typed comparison or arithmetic node. */
void compare_choose(node *n);
kernel arithmetic_choose(const node *n);

/* 1 true, 0 false, -1 null, -2 neither a bool nor null. */
static inline int
truth_of(const flow_value *v)
{
	return v->type == FLOW_BOOL ? v->as.int64 != 0 : v->type == FLOW_NULL ? -1 : -2;
}

/* expr/order.c: values of one class have an order among themselves. */
enum value_class {
	CLASS_NULL,
	CLASS_BOOL,
	CLASS_NUMBER,
	CLASS_STRING,
	CLASS_BYTES,
	CLASS_INSTANT, /* dates and timestamps */
	CLASS_TIME,
	CLASS_UUID,
	CLASS_LIST,
	CLASS_MAP,
	CLASS_RECORD
};
enum value_class value_class_of(const flow_value *v);
int value_order(const flow_value *a, const flow_value *b);
int float64_order(double a, double b);

/* expr/names.c */
const char *kind_name(uint8_t kind);
const char *cell_type_name(uint8_t type);

/* One arithmetic operation on two cells that are not null. On failure f->message says why. */
flow_status arithmetic_row(frame *f, uint8_t op, const flow_value *a, const flow_value *b, flow_value *result);
/* A cell that is not null to the target's kind. On failure f->message says why. */
flow_status cast_value(frame *f, const flow_schema *target, const flow_value *from, flow_value *to);
/* False where no value of the kind can ever be cast. */
int cast_possible(const value_type *from, const flow_schema *target);

#endif
