/* Tokens to a tree: precedence climbing. From weak to strong: or; and; not; comparisons, is, in, like, between; ||;
 * + -; * / %; signs; member access. */
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/schema.h"
#include "base/units.h"
#include "expr/compiler.h"
#include "expr/function.h"
#include "flow_sdk/number.h"
#include "flow_sdk/time.h"

enum precedence { WEAKEST, OR_LEVEL, AND_LEVEL, COMPARISON_LEVEL, CONCAT_LEVEL, SUM_LEVEL, PRODUCT_LEVEL };

static node *parse_level(compiler *c, int level);

static int
word_is(flow_slice text, const char *word)
{
	return text.size == strlen(word) && strncasecmp(text.data, word, text.size) == 0;
}

int
parser_at_word(const compiler *c, const char *word)
{
	return c->current.kind == TOKEN_NAME && word_is(c->current.text, word);
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

static int
unexpected(compiler *c, const char *wanted)
{
	if (c->current.kind == TOKEN_END)
		return compile_fail(c, FLOW_E_CONFIG, c->current.column, "the expression ends where %s is expected", wanted);
	int size = c->current.end - c->current.start > 40 ? 40 : (int)(c->current.end - c->current.start);
	return compile_fail(c, FLOW_E_CONFIG, c->current.column, "\"%.*s\" stands where %s is expected", size,
						c->text.data + c->current.start, wanted);
}

static int
skip_symbol(compiler *c, const char *symbol)
{
	if (parser_at_symbol(c, symbol))
		return lexer_next(c);
	char wanted[8];
	snprintf(wanted, sizeof(wanted), "\"%s\"", symbol);
	return unexpected(c, wanted);
}

static int
skip_word(compiler *c, const char *word)
{
	return parser_at_word(c, word) ? lexer_next(c) : unexpected(c, word);
}

/* Moves on if the word is there. -1: failed. */
static int
take_word(compiler *c, const char *word)
{
	if (!parser_at_word(c, word))
		return 0;
	return lexer_next(c) ? 1 : -1;
}

int
parse_end(compiler *c)
{
	return c->current.kind == TOKEN_END ? 1 : unexpected(c, "an operator or the end");
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

static node *
constant_create(compiler *c, uint32_t column, flow_value value, value_type type)
{
	node *n = node_create(c, NODE_CONSTANT, column, NULL, 0);
	if (n == NULL)
		return NULL;
	n->constant = value;
	n->folded = 1;
	n->literal = 1;
	n->type = type;
	return n;
}

/* A list of nodes that grows while it is parsed. */
struct node_list {
	node **items;
	uint32_t count;
	uint32_t capacity;
};

static int
list_add(compiler *c, struct node_list *list, node *n)
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

/* Digits with an optional '-' before them: the smallest integer type that takes them, else a decimal. */
static node *
number_create(compiler *c, flow_slice text, uint32_t column)
{
	value_type type = { .kind = FLOW_KIND_INT64 };
	int64_t number;
	uint64_t large;
	if (flow_parse_int64(text, &number) == FLOW_OK)
		return constant_create(c, column, flow_int64(number), type);
	if (flow_parse_uint64(text, &large) == FLOW_OK) {
		type.kind = FLOW_KIND_UINT64;
		return constant_create(c, column, flow_uint64(large), type);
	}
	flow_value value;
	type.kind = FLOW_KIND_DECIMAL;
	flow_status status = flow_parse_decimal(text, &c->constants.builder, &value);
	if (status == FLOW_E_MEMORY)
		compile_out_of_memory(c);
	else if (status != FLOW_OK)
		compile_fail(c, status, column, "number \"%.*s\" is too large or too long",
					 text.size > 40 ? 40 : (int)text.size, text.data);
	return status != FLOW_OK ? NULL : constant_create(c, column, value, type);
}

static node *
parse_number(compiler *c, int negative)
{
	flow_slice text = c->current.text;
	uint32_t column = c->current.column;
	if (negative) {
		char *copy = arena_allocate(c->memory, text.size + 1);
		if (copy == NULL) {
			compile_out_of_memory(c);
			return NULL;
		}
		copy[0] = '-';
		memcpy(copy + 1, text.data, text.size);
		text = flow_slice_make(copy, text.size + 1);
	}
	node *n = number_create(c, text, column);
	return n != NULL && lexer_next(c) ? n : NULL;
}

static node *
text_constant(compiler *c, uint8_t kind)
{
	if (c->current.text.size > UINT32_MAX)
		return NULL;
	flow_value value = flow_text(kind == FLOW_KIND_STRING ? FLOW_STRING : FLOW_BYTES, c->current.text.data,
								 (uint32_t)c->current.text.size);
	node *n = constant_create(c, c->current.column, value, (value_type){ .kind = kind });
	return n != NULL && lexer_next(c) ? n : NULL;
}

static node *
word_constant(compiler *c, flow_value value, uint8_t kind)
{
	node *n =
		constant_create(c, c->current.column, value, (value_type){ .kind = kind, .nullable = kind == FLOW_KIND_NULL });
	return n != NULL && lexer_next(c) ? n : NULL;
}

static flow_status
parse_instant(flow_slice text, int zoned, flow_value *value)
{
	flow_status status = flow_parse_timestamp(text, FLOW_MICROSECONDS, zoned, value);
	return status == FLOW_E_RANGE ? flow_parse_timestamp(text, FLOW_NANOSECONDS, zoned, value) : status;
}

/* date '...', timestamp '...' and so on; the word is current, the string ahead. */
static node *
parse_typed_literal(compiler *c)
{
	flow_slice word = c->current.text, text = c->ahead.text;
	uint32_t column = c->ahead.column;
	flow_value value = flow_null();
	value_type type = { .kind = FLOW_KIND_TIMESTAMP };
	flow_status status;
	if (word_is(word, "date")) {
		type.kind = FLOW_KIND_DATE;
		status = flow_parse_date(text, &value);
	} else if (word_is(word, "time")) {
		type.kind = FLOW_KIND_TIME;
		status = flow_parse_time(text, FLOW_MICROSECONDS, &value);
		if (status == FLOW_E_RANGE)
			status = flow_parse_time(text, FLOW_NANOSECONDS, &value);
	} else if (word_is(word, "interval") || word_is(word, "duration")) {
		flow_error reason = { 0 };
		int64_t microseconds = 0;
		type = (value_type){ .kind = FLOW_KIND_INT64, .duration = 1 };
		status = units_parse_duration(text, &microseconds, &reason);
		if (status != FLOW_OK)
			compile_fail(c, FLOW_E_CONFIG, column, "%s", error_message(&reason));
		error_clear(&reason);
		value = flow_int64(microseconds);
	} else {
		type.zoned = word_is(word, "timestamp");
		status = parse_instant(text, type.zoned, &value);
	}
	if (status != FLOW_OK) {
		compile_fail(c, FLOW_E_CONFIG, column, "'%.*s' is not a %.*s", text.size > 60 ? 60 : (int)text.size, text.data,
					 (int)word.size, word.data);
		return NULL;
	}
	type.unit = value.unit;
	node *n = constant_create(c, c->current.column, value, type);
	if (n != NULL)
		n->literal = 0;
	return n != NULL && lexer_skip(c, 2) ? n : NULL;
}

/* [else] end */
static node *
finish_case(compiler *c, struct node_list *parts, uint32_t column, int subject)
{
	int otherwise = take_word(c, "else");
	if (otherwise < 0 || (otherwise && !list_add(c, parts, parse_level(c, WEAKEST))) || !skip_word(c, "end"))
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
	if (subject && !list_add(c, &parts, parse_level(c, WEAKEST)))
		return NULL;
	if (!parser_at_word(c, "when")) {
		unexpected(c, "when");
		return NULL;
	}
	while (parser_at_word(c, "when")) {
		if (!lexer_next(c) || !list_add(c, &parts, parse_level(c, WEAKEST)) || !skip_word(c, "then") ||
			!list_add(c, &parts, parse_level(c, WEAKEST)))
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
	if (inner == NULL || !skip_word(c, "as"))
		return NULL;
	uint32_t type_column = c->current.column;
	if (!lexer_take_type(c, &text) || !skip_symbol(c, ")"))
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
	if (word_is(name, "extract") && c->current.kind == TOKEN_NAME && c->ahead.kind == TOKEN_NAME &&
		word_is(c->ahead.text, "from")) {
		*done = 1;
		return list_add(c, arguments, text_constant(c, FLOW_KIND_STRING)) && skip_word(c, "from") &&
			   list_add(c, arguments, parse_level(c, WEAKEST)) && skip_symbol(c, ")");
	}
	if (!word_is(name, "position"))
		return 1;
	if (!list_add(c, arguments, parse_level(c, CONCAT_LEVEL)))
		return 0;
	if (!parser_at_word(c, "in"))
		return 1;
	*done = 1;
	return lexer_next(c) && list_add(c, arguments, parse_level(c, CONCAT_LEVEL)) && skip_symbol(c, ")");
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
	if (arguments->count == 0 && !list_add(c, arguments, parse_level(c, WEAKEST)))
		return 0;
	while (parser_at_symbol(c, ",")) {
		if (arguments->count >= ARGUMENT_LIMIT)
			return compile_fail(c, FLOW_E_LIMIT, c->current.column, "a function takes at most %u arguments",
								ARGUMENT_LIMIT);
		if (!lexer_next(c) || !list_add(c, arguments, parse_level(c, WEAKEST)))
			return 0;
	}
	return skip_symbol(c, ")");
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
		if (word_is(word, words[i]))
			return 1;
	return 0;
}

static int
is_typed_literal(flow_slice word)
{
	static const char *const words[] = { "date", "time", "timestamp", "local_timestamp", "interval", "duration" };
	for (size_t i = 0; i < FLOW_COUNT(words); i++)
		if (word_is(word, words[i]))
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
	if (word_is(word, "true") || word_is(word, "false"))
		return word_constant(c, flow_bool(word_is(word, "true")), FLOW_KIND_BOOL);
	if (word_is(word, "null"))
		return word_constant(c, flow_null(), FLOW_KIND_NULL);
	if (word_is(word, "case"))
		return parse_case(c);
	if (c->ahead.kind == TOKEN_STRING && is_typed_literal(word))
		return parse_typed_literal(c);
	if (ahead_is_symbol(c, "(")) {
		if (word_is(word, "cast") || word_is(word, "try_cast"))
			return parse_cast(c, word_is(word, "try_cast"));
		if (!is_reserved(word))
			return parse_call(c);
	}
	if (is_reserved(word)) {
		unexpected(c, "a value");
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
		return text_constant(c, FLOW_KIND_STRING);
	case TOKEN_BYTES:
		return text_constant(c, FLOW_KIND_BYTES);
	case TOKEN_NAME:
		return parse_name(c);
	case TOKEN_QUOTED:
		return parse_field(c);
	default:
		break;
	}
	if (!parser_at_symbol(c, "(")) {
		unexpected(c, "a value");
		return NULL;
	}
	if (!lexer_next(c))
		return NULL;
	node *n = parse_level(c, WEAKEST);
	return n != NULL && skip_symbol(c, ")") ? n : NULL;
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
			unexpected(c, bracket ? "a key in quotes, like ['key']," : "a name");
			return NULL;
		}
		n = node_create(c, NODE_MEMBER, column, &n, 1);
		if (n == NULL)
			return NULL;
		n->name = c->current.text;
		if (!lexer_next(c) || (bracket && !skip_symbol(c, "]")))
			return NULL;
	}
	return n;
}

static int
enter(compiler *c)
{
	if (++c->depth <= DEPTH_LIMIT)
		return 1;
	return compile_fail(c, FLOW_E_LIMIT, c->current.column, "the expression is nested more than %u deep", DEPTH_LIMIT);
}

static node *
parse_signed(compiler *c)
{
	uint32_t column = c->current.column;
	if (!parser_at_symbol(c, "-") && !parser_at_symbol(c, "+"))
		return parse_members(c);
	int negative = parser_at_symbol(c, "-");
	if (!enter(c) || !lexer_next(c))
		return NULL;
	if (negative && c->current.kind == TOKEN_NUMBER) { /* so that the smallest int64 can be written */
		c->depth--;
		return parse_number(c, 1);
	}
	node *n = parse_signed(c);
	c->depth--;
	return n == NULL || !negative ? n : node_create(c, NODE_NEGATE, column, &n, 1);
}

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
	int negated = take_word(c, "not");
	if (negated < 0)
		return NULL;
	int form = parser_at_word(c, "null")    ? IS_NULL
			   : parser_at_word(c, "true")  ? IS_TRUE
			   : parser_at_word(c, "false") ? IS_FALSE
											: -1;
	if (form < 0) {
		unexpected(c, "null, true or false");
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
	if (!list_add(c, &parts, left) || !lexer_next(c) || !skip_symbol(c, "("))
		return NULL;
	do {
		if ((parts.count > 1 && !lexer_next(c)) || !list_add(c, &parts, parse_level(c, WEAKEST)))
			return NULL;
	} while (parser_at_symbol(c, ","));
	return skip_symbol(c, ")") ? node_create(c, NODE_IN, column, parts.items, parts.count) : NULL;
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
	if (!lexer_next(c) || (parts[1] = parse_level(c, CONCAT_LEVEL)) == NULL || !skip_word(c, "and") ||
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
				  (word_is(c->ahead.text, "in") || word_is(c->ahead.text, "like") || word_is(c->ahead.text, "between"));
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
	if (!enter(c) || !lexer_next(c))
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
	if (!list_add(c, &parts, level == OR_LEVEL ? parse_logic(c, AND_LEVEL) : parse_not(c)))
		return NULL;
	while (parser_at_word(c, word)) {
		if (parts.count == 1)
			column = c->current.column;
		if (!lexer_next(c) || !list_add(c, &parts, level == OR_LEVEL ? parse_logic(c, AND_LEVEL) : parse_not(c)))
			return NULL;
	}
	if (parts.count == 1)
		return parts.items[0];
	return node_create(c, level == OR_LEVEL ? NODE_OR : NODE_AND, column, parts.items, parts.count);
}

static node *
parse_level(compiler *c, int level)
{
	if (!enter(c))
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
