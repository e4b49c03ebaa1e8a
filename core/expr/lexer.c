/* Text to tokens. The text has been checked to be UTF-8; columns count characters. */
#include <string.h>

#include "expr/compiler.h"

static int
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int
is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static char
peek(const compiler *c, uint64_t distance)
{
	return c->offset + distance < c->text.size ? c->text.data[c->offset + distance] : '\0';
}

static void
advance(compiler *c, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++, c->offset++)
		if (((unsigned char)c->text.data[c->offset] & 0xC0) != 0x80)
			c->column++;
}

static void
skip_blanks(compiler *c)
{
	while (c->offset < c->text.size && strchr(" \t\r\n", c->text.data[c->offset]) != NULL && peek(c, 0) != '\0')
		advance(c, 1);
}

/* 'text' or "text": a quote inside is doubled. */
static int
read_quoted(compiler *c, token *t, char quote)
{
	uint64_t end = c->offset + 1;
	while (end < c->text.size &&
		   (c->text.data[end] != quote || (end + 1 < c->text.size && c->text.data[end + 1] == quote)))
		end += c->text.data[end] == quote ? 2 : 1;
	char *copy = arena_allocate(c->memory, end - c->offset);
	if (copy == NULL)
		return compile_out_of_memory(c);
	uint64_t size = 0;
	advance(c, 1);
	while (c->offset < c->text.size) {
		char character = peek(c, 0);
		if (character == quote && peek(c, 1) != quote) {
			advance(c, 1);
			t->text = flow_slice_make(copy, size);
			return 1;
		}
		copy[size++] = character;
		advance(c, character == quote ? 2 : 1);
	}
	return compile_fail(c, FLOW_E_CONFIG, t->column, "the %s has no closing %c", quote == '\'' ? "string" : "name",
						quote);
}

static int
hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int
read_bytes(compiler *c, token *t)
{
	advance(c, 1);
	if (!read_quoted(c, t, '\''))
		return 0;
	char *bytes = (char *)t->text.data; /* read_quoted's own copy; shrinks in place */
	uint64_t count = t->text.size / 2;
	for (uint64_t i = 0; i < count; i++) {
		int high = hex_digit(bytes[2 * i]), low = hex_digit(bytes[2 * i + 1]);
		if (high < 0 || low < 0)
			return compile_fail(c, FLOW_E_CONFIG, t->column, "x'...' takes hexadecimal digits");
		bytes[i] = (char)(high * 16 + low);
	}
	if (t->text.size % 2 != 0)
		return compile_fail(c, FLOW_E_CONFIG, t->column, "x'...' takes an even number of hexadecimal digits");
	t->kind = TOKEN_BYTES;
	t->text.size = count;
	return 1;
}

static int
read_number(compiler *c, token *t)
{
	while (is_digit(peek(c, 0)))
		advance(c, 1);
	if (peek(c, 0) == '.') {
		advance(c, 1);
		while (is_digit(peek(c, 0)))
			advance(c, 1);
	}
	uint64_t sign = peek(c, 1) == '+' || peek(c, 1) == '-';
	if ((peek(c, 0) == 'e' || peek(c, 0) == 'E') && is_digit(peek(c, 1 + sign))) {
		advance(c, 1 + sign);
		while (is_digit(peek(c, 0)))
			advance(c, 1);
	}
	if (is_name_start(peek(c, 0)))
		return compile_fail(c, FLOW_E_CONFIG, t->column, "a number runs into a name");
	t->kind = TOKEN_NUMBER;
	t->text = flow_slice_make(c->text.data + t->start, c->offset - t->start);
	return 1;
}

static int
read_symbol(compiler *c, token *t)
{
	static const char *const symbols[] = { "<>", "!=", "<=", ">=", "||", "+", "-", "*", "/", "%",
										   "=",  "<",  ">",  "(",  ")",  "[", "]", ",", "." };
	for (size_t i = 0; i < FLOW_COUNT(symbols); i++) {
		size_t size = strlen(symbols[i]);
		if (c->text.size - c->offset >= size && memcmp(c->text.data + c->offset, symbols[i], size) == 0) {
			t->kind = TOKEN_SYMBOL;
			t->text = flow_slice_make(c->text.data + c->offset, size);
			advance(c, size);
			return 1;
		}
	}
	unsigned char character = (unsigned char)peek(c, 0);
	if (character < 0x20 || character == 0x7F)
		return compile_fail(c, FLOW_E_CONFIG, t->column, "byte 0x%02x does not belong into an expression", character);
	const char *hint = character == '&' ? "; write: and" : character == '!' ? "; write: not, or <>" : "";
	return compile_fail(c, FLOW_E_CONFIG, t->column, "character '%c' does not belong into an expression%s", character,
						hint);
}

static int
read_token(compiler *c, token *t)
{
	skip_blanks(c);
	*t = (token){ .kind = TOKEN_END, .column = c->column, .start = c->offset, .end = c->offset };
	if (c->offset >= c->text.size)
		return 1;
	char first = peek(c, 0);
	if (first == '\'') {
		t->kind = TOKEN_STRING;
		return read_quoted(c, t, '\'');
	}
	if (first == '"') {
		t->kind = TOKEN_QUOTED;
		return read_quoted(c, t, '"');
	}
	if ((first == 'x' || first == 'X') && peek(c, 1) == '\'')
		return read_bytes(c, t);
	if (is_digit(first) || (first == '.' && is_digit(peek(c, 1))))
		return read_number(c, t);
	if (!is_name_start(first))
		return read_symbol(c, t);
	while (is_name_start(peek(c, 0)) || is_digit(peek(c, 0)))
		advance(c, 1);
	t->kind = TOKEN_NAME;
	t->text = flow_slice_make(c->text.data + t->start, c->offset - t->start);
	return 1;
}

int
lexer_next(compiler *c)
{
	c->current = c->ahead;
	if (!read_token(c, &c->ahead))
		return 0;
	c->ahead.end = c->offset;
	return 1;
}

int
lexer_skip(compiler *c, unsigned tokens)
{
	while (tokens > 0 && lexer_next(c))
		tokens--;
	return tokens == 0;
}

int
lexer_take_type(compiler *c, flow_slice *type)
{
	uint64_t start = c->current.start, end = start;
	int depth = 0;
	while (end < c->text.size) {
		char character = c->text.data[end];
		if (character == ')' && depth == 0)
			break;
		depth += (character == '(') - (character == ')');
		end++;
	}
	while (end > start && c->text.data[end - 1] == ' ')
		end--;
	if (end == start)
		return compile_fail(c, FLOW_E_CONFIG, c->current.column, "a type is missing");
	*type = flow_slice_make(c->text.data + start, end - start);
	/* Begin anew behind the type: `current` was its first token. */
	c->column = c->current.column;
	c->offset = start;
	advance(c, end - start);
	if (!read_token(c, &c->current))
		return 0;
	c->current.end = c->offset;
	if (!read_token(c, &c->ahead))
		return 0;
	c->ahead.end = c->offset;
	return 1;
}
