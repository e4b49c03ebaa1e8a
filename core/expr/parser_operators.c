/* Tokens to a tree: precedence climbing. From weak to strong: or; and; not; comparisons, is, in, like, between; ||;
 * + -; * / %; signs; member access. */
#include "expr/parser.h"

struct binary {
	const char *symbol;
	uint8_t level;
	uint8_t op;
};

static const struct binary *
binary_operator(const compiler *c)
{
	static const struct binary operators[] = {
		{ "=", COMPARISON_LEVEL, NODE_EQUAL },
		{ "<>", COMPARISON_LEVEL, NODE_UNEQUAL },
		{ "!=", COMPARISON_LEVEL, NODE_UNEQUAL },
		{ "<", COMPARISON_LEVEL, NODE_LESS },
		{ "<=", COMPARISON_LEVEL, NODE_LESS_EQUAL },
		{ ">", COMPARISON_LEVEL, NODE_GREATER },
		{ ">=", COMPARISON_LEVEL, NODE_GREATER_EQUAL },
		{ "||", CONCAT_LEVEL, NODE_CONCAT },
		{ "+", SUM_LEVEL, NODE_ADD },
		{ "-", SUM_LEVEL, NODE_SUBTRACT },
		{ "*", PRODUCT_LEVEL, NODE_MULTIPLY },
		{ "/", PRODUCT_LEVEL, NODE_DIVIDE },
		{ "%", PRODUCT_LEVEL, NODE_REMAINDER },
	};
	if (c->current.kind != TOKEN_SYMBOL)
		return NULL;
	for (size_t i = 0; i < FLOW_COUNT(operators); i++)
		if (flow_slice_is(c->current.text, operators[i].symbol))
			return &operators[i];
	return NULL;
}

/* is [not] null | true | false */
static node *
parse_is(compiler *c, node *left)
{
	uint32_t column = c->current.column;
	if (!lexer_next(c))
		return NULL;
	int negated = parser_take_word(c, "not");
	if (negated < 0)
		return NULL;
	int form = parser_at_word(c, "null")    ? IS_NULL
			   : parser_at_word(c, "true")  ? IS_TRUE
			   : parser_at_word(c, "false") ? IS_FALSE
											: -1;
	if (form < 0) {
		parser_unexpected(c, "null, true or false");
		return NULL;
	}
	node *n = node_create(c, NODE_IS, column, &left, 1);
	if (n == NULL || !lexer_next(c))
		return NULL;
	n->form = (uint8_t)form;
	n->negated = (uint8_t)negated;
	return n;
}

static node *
parse_in(compiler *c, node *left)
{
	struct node_list parts = { 0 };
	uint32_t column = c->current.column;
	if (!parser_list_add(c, &parts, left) || !lexer_next(c) || !parser_skip_symbol(c, "("))
		return NULL;
	do {
		if ((parts.count > 1 && !lexer_next(c)) || !parser_list_add(c, &parts, parse_level(c, WEAKEST)))
			return NULL;
	} while (parser_at_symbol(c, ","));
	return parser_skip_symbol(c, ")") ? node_create(c, NODE_IN, column, parts.items, parts.count) : NULL;
}

static node *
parse_like(compiler *c, node *left)
{
	node *parts[3] = { left };
	uint32_t column = c->current.column, count = 2;
	if (!lexer_next(c) || (parts[1] = parse_level(c, CONCAT_LEVEL)) == NULL)
		return NULL;
	if (parser_at_word(c, "escape")) {
		count = 3;
		if (!lexer_next(c) || (parts[2] = parse_level(c, CONCAT_LEVEL)) == NULL)
			return NULL;
	}
	return node_create(c, NODE_LIKE, column, parts, count);
}

static node *
parse_between(compiler *c, node *left)
{
	node *parts[3] = { left };
	uint32_t column = c->current.column;
	if (!lexer_next(c) || (parts[1] = parse_level(c, CONCAT_LEVEL)) == NULL || !parser_skip_word(c, "and") ||
		(parts[2] = parse_level(c, CONCAT_LEVEL)) == NULL)
		return NULL;
	return node_create(c, NODE_BETWEEN, column, parts, 3);
}

static int
at_predicate_word(const compiler *c)
{
	return parser_at_word(c, "in") || parser_at_word(c, "like") || parser_at_word(c, "between");
}

/* [not] in, like, between; *found 0: none of them is there. */
static node *
parse_predicate(compiler *c, node *left, int *found)
{
	int negated = parser_at_word(c, "not") && c->ahead.kind == TOKEN_NAME &&
				  (parser_word_is(c->ahead.text, "in") || parser_word_is(c->ahead.text, "like") ||
				   parser_word_is(c->ahead.text, "between"));
	*found = 1;
	if (parser_at_word(c, "is"))
		return parse_is(c, left);
	if (negated && !lexer_next(c))
		return NULL;
	if (!at_predicate_word(c)) {
		*found = 0;
		return left;
	}
	node *n = parser_at_word(c, "in")     ? parse_in(c, left)
			  : parser_at_word(c, "like") ? parse_like(c, left)
										  : parse_between(c, left);
	if (n != NULL)
		n->negated = (uint8_t)negated;
	return n;
}

/* Operators of COMPARISON_LEVEL and above, left to right. */
static node *
parse_binary(compiler *c, int level)
{
	node *left = parse_signed(c);
	while (left != NULL) {
		const struct binary *symbol = binary_operator(c);
		if (symbol != NULL && symbol->level >= level) {
			node *sides[2] = { left };
			uint32_t column = c->current.column;
			if (!lexer_next(c) || (sides[1] = parse_level(c, symbol->level + 1)) == NULL)
				return NULL;
			left = node_create(c, symbol->op, column, sides, 2);
			continue;
		}
		int found = 0;
		if (level <= COMPARISON_LEVEL)
			left = parse_predicate(c, left, &found);
		if (!found)
			break;
	}
	return left;
}

static node *
parse_not(compiler *c)
{
	uint32_t column = c->current.column;
	if (!parser_at_word(c, "not"))
		return parse_binary(c, COMPARISON_LEVEL);
	if (!parser_enter(c) || !lexer_next(c))
		return NULL;
	node *n = parse_not(c);
	c->depth--;
	return n == NULL ? NULL : node_create(c, NODE_NOT, column, &n, 1);
}

/* a and b and c is one node. */
static node *
parse_logic(compiler *c, int level)
{
	const char *word = level == OR_LEVEL ? "or" : "and";
	struct node_list parts = { 0 };
	uint32_t column = c->current.column;
	if (!parser_list_add(c, &parts, level == OR_LEVEL ? parse_logic(c, AND_LEVEL) : parse_not(c)))
		return NULL;
	while (parser_at_word(c, word)) {
		if (parts.count == 1)
			column = c->current.column;
		if (!lexer_next(c) || !parser_list_add(c, &parts, level == OR_LEVEL ? parse_logic(c, AND_LEVEL) : parse_not(c)))
			return NULL;
	}
	if (parts.count == 1)
		return parts.items[0];
	return node_create(c, level == OR_LEVEL ? NODE_OR : NODE_AND, column, parts.items, parts.count);
}

node *
parse_level(compiler *c, int level)
{
	if (!parser_enter(c))
		return NULL;
	node *n = level <= OR_LEVEL ? parse_logic(c, OR_LEVEL) : parse_binary(c, level);
	c->depth--;
	return n;
}

node *
parse_expression(compiler *c)
{
	return parse_level(c, WEAKEST);
}
