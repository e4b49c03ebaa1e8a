/* Tokens to a tree: what stands on its own, which is names, calls, casts, cases, brackets, with signs and members. */
#include "expr/parser.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/schema.h"

int
parser_at_word(const compiler *c, const char *word)
{
	return c->current.kind == TOKEN_NAME && parser_word_is(c->current.text, word);
}

int
parser_at_symbol(const compiler *c, const char *symbol)
{
	return c->current.kind == TOKEN_SYMBOL && flow_slice_is(c->current.text, symbol);
}

static int
ahead_is_symbol(const compiler *c, const char *symbol)
{
	return c->ahead.kind == TOKEN_SYMBOL && flow_slice_is(c->ahead.text, symbol);
}

int
parser_unexpected(compiler *c, const char *wanted)
{
	if (c->current.kind == TOKEN_END)
		return compile_fail(c, FLOW_E_CONFIG, c->current.column, "the expression ends where %s is expected", wanted);
	int size = c->current.end - c->current.start > 40 ? 40 : (int)(c->current.end - c->current.start);
	return compile_fail(c, FLOW_E_CONFIG, c->current.column, "\"%.*s\" stands where %s is expected", size,
						c->text.data + c->current.start, wanted);
}

int
parser_skip_symbol(compiler *c, const char *symbol)
{
	if (parser_at_symbol(c, symbol))
		return lexer_next(c);
	char wanted[8];
	snprintf(wanted, sizeof(wanted), "\"%s\"", symbol);
	return parser_unexpected(c, wanted);
}

int
parser_skip_word(compiler *c, const char *word)
{
	return parser_at_word(c, word) ? lexer_next(c) : parser_unexpected(c, word);
}

int
parser_take_word(compiler *c, const char *word)
{
	if (!parser_at_word(c, word))
		return 0;
	return lexer_next(c) ? 1 : -1;
}

int
parse_end(compiler *c)
{
	return c->current.kind == TOKEN_END ? 1 : parser_unexpected(c, "an operator or the end");
}

node *
node_create(compiler *c, uint8_t op, uint32_t column, node **children, uint32_t count)
{
	node *n = arena_allocate_zeroed(c->memory, sizeof(*n));
	node **copy = count == 0 ? NULL : arena_allocate(c->memory, count * sizeof(void *));
	if (n == NULL || (count != 0 && copy == NULL)) {
		compile_out_of_memory(c);
		return NULL;
	}
	*n = (node){ .op = op, .column = column, .child_count = count, .children = copy, .depth = 1 };
	for (uint32_t i = 0; i < count; i++) {
		copy[i] = children[i];
		if (children[i]->depth >= n->depth)
			n->depth = children[i]->depth + 1;
	}
	if (n->depth > DEPTH_LIMIT) {
		compile_fail(c, FLOW_E_LIMIT, column, "the expression is nested more than %u deep", DEPTH_LIMIT);
		return NULL;
	}
	return n;
}

int
parser_list_add(compiler *c, struct node_list *list, node *n)
{
	if (n == NULL)
		return 0;
	if (list->count == list->capacity) {
		uint32_t capacity = list->capacity == 0 ? 4 : 2 * list->capacity;
		node **items = arena_allocate(c->memory, capacity * sizeof(void *));
		if (items == NULL)
			return compile_out_of_memory(c);
		if (list->count != 0)
			memcpy(items, list->items, list->count * sizeof(void *));
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = n;
	return 1;
}

/* [else] end */
static node *
finish_case(compiler *c, struct node_list *parts, uint32_t column, int subject)
{
	int otherwise = parser_take_word(c, "else");
	if (otherwise < 0 || (otherwise && !parser_list_add(c, parts, parse_level(c, WEAKEST))) ||
		!parser_skip_word(c, "end"))
		return NULL;
	node *n = node_create(c, NODE_CASE, column, parts->items, parts->count);
	if (n != NULL) {
		n->form = (uint8_t)subject;
		n->otherwise = (uint8_t)otherwise;
	}
	return n;
}

static node *
parse_case(compiler *c)
{
	struct node_list parts = { 0 };
	uint32_t column = c->current.column;
	if (!lexer_next(c))
		return NULL;
	int subject = !parser_at_word(c, "when");
	if (subject && !parser_list_add(c, &parts, parse_level(c, WEAKEST)))
		return NULL;
	if (!parser_at_word(c, "when")) {
		parser_unexpected(c, "when");
		return NULL;
	}
	while (parser_at_word(c, "when")) {
		if (!lexer_next(c) || !parser_list_add(c, &parts, parse_level(c, WEAKEST)) || !parser_skip_word(c, "then") ||
			!parser_list_add(c, &parts, parse_level(c, WEAKEST)))
			return NULL;
	}
	return finish_case(c, &parts, column, subject);
}

static void
release_schema(void *schema)
{
	schema_release(schema);
}

/* cast(x as type), try_cast(x as type) */
static node *
parse_cast(compiler *c, int attempt)
{
	uint32_t column = c->current.column;
	flow_slice text;
	if (!lexer_skip(c, 2))
		return NULL;
	node *inner = parse_level(c, WEAKEST);
	if (inner == NULL || !parser_skip_word(c, "as"))
		return NULL;
	uint32_t type_column = c->current.column;
	if (!lexer_take_type(c, &text) || !parser_skip_symbol(c, ")"))
		return NULL;
	flow_error reason = { 0 };
	const flow_schema *target = schema_parse_type(text, &reason);
	if (target == NULL) {
		compile_fail(c, reason.status == FLOW_E_MEMORY ? FLOW_E_MEMORY : FLOW_E_CONFIG, type_column, "%s",
					 error_message(&reason));
		error_clear(&reason);
		return NULL;
	}
	if (!arena_on_destroy(c->memory, release_schema, (void *)target)) {
		compile_out_of_memory(c);
		return NULL;
	}
	node *n = node_create(c, NODE_CAST, column, &inner, 1);
	if (n != NULL) {
		n->target = target;
		n->attempt = (uint8_t)attempt;
	}
	return n;
}

/* What stands in the brackets of extract and position: SQL's words instead of commas. */
static int
parse_special_arguments(compiler *c, flow_slice name, struct node_list *arguments, int *done)
{
	*done = 0;
	if (parser_word_is(name, "extract") && c->current.kind == TOKEN_NAME && c->ahead.kind == TOKEN_NAME &&
		parser_word_is(c->ahead.text, "from")) {
		*done = 1;
		return parser_list_add(c, arguments, parse_text(c, FLOW_KIND_STRING)) && parser_skip_word(c, "from") &&
			   parser_list_add(c, arguments, parse_level(c, WEAKEST)) && parser_skip_symbol(c, ")");
	}
	if (!parser_word_is(name, "position"))
		return 1;
	if (!parser_list_add(c, arguments, parse_level(c, CONCAT_LEVEL)))
		return 0;
	if (!parser_at_word(c, "in"))
		return 1;
	*done = 1;
	return lexer_next(c) && parser_list_add(c, arguments, parse_level(c, CONCAT_LEVEL)) && parser_skip_symbol(c, ")");
}

static int
parse_arguments(compiler *c, flow_slice name, struct node_list *arguments)
{
	int done;
	if (parser_at_symbol(c, "*"))
		return compile_fail(c, FLOW_E_CONFIG, c->current.column, "* is only for the aggregate count(*)");
	if (parser_at_symbol(c, ")"))
		return lexer_next(c);
	if (!parse_special_arguments(c, name, arguments, &done))
		return 0;
	if (done)
		return 1;
	if (arguments->count == 0 && !parser_list_add(c, arguments, parse_level(c, WEAKEST)))
		return 0;
	while (parser_at_symbol(c, ",")) {
		if (arguments->count >= ARGUMENT_LIMIT)
			return compile_fail(c, FLOW_E_LIMIT, c->current.column, "a function takes at most %u arguments",
								ARGUMENT_LIMIT);
		if (!lexer_next(c) || !parser_list_add(c, arguments, parse_level(c, WEAKEST)))
			return 0;
	}
	return parser_skip_symbol(c, ")");
}

static node *
parse_call(compiler *c)
{
	flow_slice name = c->current.text;
	uint32_t column = c->current.column;
	struct node_list arguments = { 0 };
	char *lower = arena_copy(c->memory, name.data, name.size);
	if (lower == NULL) {
		compile_out_of_memory(c);
		return NULL;
	}
	for (uint64_t i = 0; i < name.size; i++)
		if (lower[i] >= 'A' && lower[i] <= 'Z')
			lower[i] = (char)(lower[i] + 32);
	if (!lexer_skip(c, 2) || !parse_arguments(c, name, &arguments))
		return NULL;
	node *n = node_create(c, NODE_CALL, column, arguments.items, arguments.count);
	if (n != NULL)
		n->name = flow_slice_make(lower, name.size);
	return n;
}

static int
is_reserved(flow_slice word)
{
	static const char *const words[] = { "and",  "or",   "not",  "is",  "in", "like",   "between", "case",
										 "when", "then", "else", "end", "as", "escape", "cast",    "try_cast" };
	for (size_t i = 0; i < FLOW_COUNT(words); i++)
		if (parser_word_is(word, words[i]))
			return 1;
	return 0;
}

static node *
parse_field(compiler *c)
{
	node *n = node_create(c, NODE_FIELD, c->current.column, NULL, 0);
	if (n == NULL)
		return NULL;
	n->name = c->current.text;
	return lexer_next(c) ? n : NULL;
}

static node *
parse_name(compiler *c)
{
	flow_slice word = c->current.text;
	if (parser_word_is(word, "true") || parser_word_is(word, "false"))
		return parse_word(c, flow_bool(parser_word_is(word, "true")), FLOW_KIND_BOOL);
	if (parser_word_is(word, "null"))
		return parse_word(c, flow_null(), FLOW_KIND_NULL);
	if (parser_word_is(word, "case"))
		return parse_case(c);
	if (c->ahead.kind == TOKEN_STRING && parser_is_typed_literal(word))
		return parse_typed_literal(c);
	if (ahead_is_symbol(c, "(")) {
		if (parser_word_is(word, "cast") || parser_word_is(word, "try_cast"))
			return parse_cast(c, parser_word_is(word, "try_cast"));
		if (!is_reserved(word))
			return parse_call(c);
	}
	if (is_reserved(word)) {
		parser_unexpected(c, "a value");
		return NULL;
	}
	return parse_field(c);
}

static node *
parse_primary(compiler *c)
{
	switch (c->current.kind) {
	case TOKEN_NUMBER:
		return parse_number(c, 0);
	case TOKEN_STRING:
		return parse_text(c, FLOW_KIND_STRING);
	case TOKEN_BYTES:
		return parse_text(c, FLOW_KIND_BYTES);
	case TOKEN_NAME:
		return parse_name(c);
	case TOKEN_QUOTED:
		return parse_field(c);
	default:
		break;
	}
	if (!parser_at_symbol(c, "(")) {
		parser_unexpected(c, "a value");
		return NULL;
	}
	if (!lexer_next(c))
		return NULL;
	node *n = parse_level(c, WEAKEST);
	return n != NULL && parser_skip_symbol(c, ")") ? n : NULL;
}

/* .name and ['key'] behind a value */
static node *
parse_members(compiler *c)
{
	node *n = parse_primary(c);
	while (n != NULL && (parser_at_symbol(c, ".") || parser_at_symbol(c, "["))) {
		uint32_t column = c->current.column;
		int bracket = parser_at_symbol(c, "[");
		if (!lexer_next(c))
			return NULL;
		int name = c->current.kind == TOKEN_NAME || c->current.kind == TOKEN_QUOTED;
		if (bracket ? c->current.kind != TOKEN_STRING : !name) {
			parser_unexpected(c, bracket ? "a key in quotes, like ['key']," : "a name");
			return NULL;
		}
		n = node_create(c, NODE_MEMBER, column, &n, 1);
		if (n == NULL)
			return NULL;
		n->name = c->current.text;
		if (!lexer_next(c) || (bracket && !parser_skip_symbol(c, "]")))
			return NULL;
	}
	return n;
}

int
parser_enter(compiler *c)
{
	if (++c->depth <= DEPTH_LIMIT)
		return 1;
	return compile_fail(c, FLOW_E_LIMIT, c->current.column, "the expression is nested more than %u deep", DEPTH_LIMIT);
}

node *
parse_signed(compiler *c)
{
	uint32_t column = c->current.column;
	if (!parser_at_symbol(c, "-") && !parser_at_symbol(c, "+"))
		return parse_members(c);
	int negative = parser_at_symbol(c, "-");
	if (!parser_enter(c) || !lexer_next(c))
		return NULL;
	if (negative && c->current.kind == TOKEN_NUMBER) { /* so that the smallest int64 can be written */
		c->depth--;
		return parse_number(c, 1);
	}
	node *n = parse_signed(c);
	c->depth--;
	return n == NULL || !negative ? n : node_create(c, NODE_NEGATE, column, &n, 1);
}
