/*
 * expr/parser.h - what the files of the parser share (parser.c, parser_operators.c, parser_literals.c). Internal to this room.
 */
#ifndef EXPR_PARSER_H
#define EXPR_PARSER_H

#include <strings.h>

#include "expr/compiler.h"

enum precedence { WEAKEST, OR_LEVEL, AND_LEVEL, COMPARISON_LEVEL, CONCAT_LEVEL, SUM_LEVEL, PRODUCT_LEVEL };

/* A list of nodes that grows while it is parsed. */
struct node_list {
	node **items;
	uint32_t count;
	uint32_t capacity;
};

static inline int
parser_word_is(flow_slice text, const char *word)
{
	return text.size == strlen(word) && strncasecmp(text.data, word, text.size) == 0;
}

/* parser.c */
int parser_unexpected(compiler *c, const char *wanted); /* fails; returns 0 */
int parser_skip_symbol(compiler *c, const char *symbol);
int parser_skip_word(compiler *c, const char *word);
int parser_take_word(compiler *c, const char *word); /* moves on if it is there; -1: failed */
int parser_list_add(compiler *c, struct node_list *list, node *n);
int parser_enter(compiler *c); /* one deeper; the caller counts back */
node *parse_signed(compiler *c);

/* parser_operators.c: operators of this level and above. */
node *parse_level(compiler *c, int level);

/* parser_literals.c: each moves behind what it reads. */
node *parse_number(compiler *c, int negative);
node *parse_text(compiler *c, uint8_t kind);
node *parse_word(compiler *c, flow_value value, uint8_t kind);
node *parse_typed_literal(compiler *c); /* date '...': the word is current, the string ahead */
int parser_is_typed_literal(flow_slice word);

#endif
