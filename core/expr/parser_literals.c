/* Tokens to a tree: numbers, texts, words like true, and dates and times. */
#include "expr/parser.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "flow_sdk/number.h"
#include "flow_sdk/time.h"

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

node *
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

node *
parse_text(compiler *c, uint8_t kind)
{
	if (c->current.text.size > UINT32_MAX)
		return NULL;
	flow_value value = flow_text(kind == FLOW_KIND_STRING ? FLOW_STRING : FLOW_BYTES, c->current.text.data,
								 (uint32_t)c->current.text.size);
	node *n = constant_create(c, c->current.column, value, (value_type){ .kind = kind });
	return n != NULL && lexer_next(c) ? n : NULL;
}

node *
parse_word(compiler *c, flow_value value, uint8_t kind)
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
node *
parse_typed_literal(compiler *c)
{
	flow_slice word = c->current.text, text = c->ahead.text;
	uint32_t column = c->ahead.column;
	flow_value value = flow_null();
	value_type type = { .kind = FLOW_KIND_TIMESTAMP };
	flow_status status;
	if (parser_word_is(word, "date")) {
		type.kind = FLOW_KIND_DATE;
		status = flow_parse_date(text, &value);
	} else if (parser_word_is(word, "time")) {
		type.kind = FLOW_KIND_TIME;
		status = flow_parse_time(text, FLOW_MICROSECONDS, &value);
		if (status == FLOW_E_RANGE)
			status = flow_parse_time(text, FLOW_NANOSECONDS, &value);
	} else if (parser_word_is(word, "interval") || parser_word_is(word, "duration")) {
		flow_error reason = { 0 };
		int64_t microseconds = 0;
		type = (value_type){ .kind = FLOW_KIND_INT64, .duration = 1 };
		status = units_parse_duration(text, &microseconds, &reason);
		if (status != FLOW_OK)
			compile_fail(c, FLOW_E_CONFIG, column, "%s", error_message(&reason));
		error_clear(&reason);
		value = flow_int64(microseconds);
	} else {
		type.zoned = parser_word_is(word, "timestamp");
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

int
parser_is_typed_literal(flow_slice word)
{
	static const char *const words[] = { "date", "time", "timestamp", "local_timestamp", "interval", "duration" };
	for (size_t i = 0; i < FLOW_COUNT(words); i++)
		if (parser_word_is(word, words[i]))
			return 1;
	return 0;
}
