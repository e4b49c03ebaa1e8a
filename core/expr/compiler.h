/*
 * expr/compiler.h - what the steps of a compilation share: text, schema, memory, and the first error. Internal to this
 * room.
 *
 * Every step returns NULL or 0 on failure; the error is filled then and the column named in it.
 */
#ifndef EXPR_COMPILER_H
#define EXPR_COMPILER_H

#include "base/arena.h"
#include "expr/node.h"
#include "flow/schema.h"

enum token_kind {
	TOKEN_END,
	TOKEN_NAME,   /* as written; text in lower case is compared with keywords */
	TOKEN_QUOTED, /* "name" */
	TOKEN_NUMBER,
	TOKEN_STRING,
	TOKEN_BYTES, /* x'00ff' */
	TOKEN_SYMBOL
};

typedef struct token {
	enum token_kind kind;
	uint32_t column;
	uint64_t start; /* offset in the text */
	uint64_t end;
	flow_slice text; /* name, decoded string or bytes, digits, symbol */
} token;

/* A flow_builder over an arena, for constants. */
typedef struct arena_builder {
	flow_builder builder;
	arena *memory;
} arena_builder;

typedef struct compiler {
	flow_slice text;
	flow_slice place;
	const flow_schema *schema; /* the record */
	arena *memory;
	arena_builder constants;
	flow_error *error;
	flow_status status;
	uint64_t offset; /* of the lexer */
	uint32_t column;
	uint32_t depth; /* of the parser */
	token current;
	token ahead;
} compiler;

int compiler_start(compiler *c, flow_slice text, const flow_schema *schema, flow_slice place, arena *memory,
				   flow_error *error);
/* Fails the compilation: "place: text at character N". Only the first failure counts. Returns 0. */
int compile_fail(compiler *c, flow_status status, uint32_t column, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int compile_out_of_memory(compiler *c);

/* lexer.c: moves on by one token. */
int lexer_next(compiler *c);
int lexer_skip(compiler *c, unsigned tokens);
/* Makes the text from the current token up to (not including) the bracket that closes it one slice; moves behind. */
int lexer_take_type(compiler *c, flow_slice *type);

/* parser.c, parser_operators.c */
node *parse_expression(compiler *c); /* up to a token that does not belong to it */
int parse_end(compiler *c);          /* fails if there is more */
int parser_at_symbol(const compiler *c, const char *symbol);
int parser_at_word(const compiler *c, const char *word);

node *node_create(compiler *c, uint8_t op, uint32_t column, node **children, uint32_t count);
/* typing.c: resolves names and kinds of a parsed tree, folds constants, chooses kernels. */
int type_tree(compiler *c, node *n);
/* typing_kinds.c: what the typing of operators and of functions shares. */
int kind_is_number(uint8_t kind);
int kind_is_integer(uint8_t kind);
int kind_is_float(uint8_t kind);
int kind_is_dynamic(uint8_t kind); /* any, union */
const char *type_name(compiler *c, const value_type *type);
value_type type_of_schema(const flow_schema *schema);
/* A reference of the caller's; NULL: out of memory, or a failure of `error`. */
const flow_schema *schema_of_type(const value_type *type, flow_error *error);
/* Replaces *child by a cast of it to the target; literals are converted at once. */
int cast_child(compiler *c, node **child, const flow_schema *target);
/* Pointers to child pointers, so that typing can put casts between. */
typedef struct places {
	node ***items;
	uint32_t count;
} places;

/* Every `step`-th child from `first`. NULL items: failed. */
places child_places(compiler *c, node *n, uint32_t first, uint32_t step);
/* Lets literals take the type of the other operands: numbers beside floats, strings beside dates, times, uuids and
 * enums. */
int adapt_literals(compiler *c, places nodes);
/* The one type of several values (case, coalesce, greatest): children are cast where needed. */
int unify_nodes(compiler *c, places nodes, value_type *type);
int check_comparable(compiler *c, const node *a, const node *b, uint32_t column);
/* Evaluates a node whose children are constants, and makes it one. */
int fold_node(compiler *c, node *n);
/* Registers and kernels are set; folds if it can be. */
int finish_node(compiler *c, node *n);

#endif
