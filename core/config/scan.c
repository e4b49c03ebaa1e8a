#include "config/scan.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "options/utf8.h"

/* One file's bytes, and where the scan stands in them. */
typedef struct source {
	scan_inclusion *inclusion;
	const char *file;
	const char *at;
	const char *end;
	unsigned line;
	int line_start; /* only blanks so far: here @include may stand */
} source;

void
scan_begin(scan *s, arena *a, problems *list)
{
	memset(s, 0, sizeof(*s));
	s->arena = a;
	s->list = list;
	s->folder = "";
}

void
scan_release(scan *s)
{
	memory_release(s->text);
	memory_release(s->lines);
	memory_release(s->tokens);
	s->text = NULL;
	s->lines = NULL;
	s->tokens = NULL;
}

scan_place
scan_line(const scan *s, unsigned line)
{
	if (s->line_count == 0)
		return (scan_place){ NULL, 0 };
	size_t index = line == 0 ? 0 : line - 1;
	return s->lines[index < s->line_count ? index : s->line_count - 1];
}

#define fail(s, file, line, ...) ((s)->failed = 1, problems_add((s)->list, file, line, NULL, __VA_ARGS__))

static void
out_of_memory(scan *s)
{
	fail(s, NULL, 0, "out of memory");
}

/* Room for one more item; NULL: reported. */
static void *
reserve(scan *s, void *items, size_t *capacity, size_t needed, size_t item_size)
{
	if (needed <= *capacity)
		return items;
	size_t larger = *capacity == 0 ? 256 : *capacity * 2;
	while (larger < needed)
		larger *= 2;
	void *moved = memory_reallocate(items, larger * item_size);
	if (moved == NULL) {
		out_of_memory(s);
		return NULL;
	}
	*capacity = larger;
	return moved;
}

static void
emit(scan *s, const char *text, size_t size)
{
	char *moved = reserve(s, s->text, &s->capacity, s->size + size + 1, 1);
	if (moved == NULL)
		return;
	s->text = moved;
	memcpy(s->text + s->size, text, size);
	s->size += size;
	s->text[s->size] = '\0';
}

static void
begin_line(scan *s, const char *file, unsigned line)
{
	scan_place *moved = reserve(s, s->lines, &s->line_capacity, s->line_count + 1, sizeof(*moved));
	if (moved == NULL)
		return;
	s->lines = moved;
	s->lines[s->line_count++] = (scan_place){ file, line };
}

static void
next_line(scan *s, source *in)
{
	emit(s, "\n", 1);
	begin_line(s, in->file, ++in->line);
	in->line_start = 1;
}

/* Keeps a name or number, and writes its index instead. */
static void
emit_token(scan *s, const source *in, unsigned kind, const char *text, size_t size)
{
	scan_token *moved = reserve(s, s->tokens, &s->token_capacity, s->token_count + 1, sizeof(*moved));
	char *copy = moved == NULL ? NULL : arena_copy(s->arena, text, size);
	if (moved != NULL)
		s->tokens = moved;
	if (copy == NULL) {
		out_of_memory(s);
		return;
	}
	char written[32];
	int length = snprintf(written, sizeof(written), "%s%zu%s ", kind == SCAN_NAME ? "n" : "", s->token_count,
						  kind == SCAN_FLOAT ? ".0" : "");
	s->tokens[s->token_count++] = (scan_token){ copy, in->file, in->line, kind };
	emit(s, written, (size_t)length);
}

static int
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int
is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static char
peek(const source *in, size_t ahead)
{
	return (size_t)(in->end - in->at) > ahead ? in->at[ahead] : '\0';
}

/* Skips a comment if one stands here. */
static int
skip_comment(scan *s, source *in)
{
	if (s->strict)
		return 0;
	if (peek(in, 0) == '#' || (peek(in, 0) == '/' && peek(in, 1) == '/')) {
		while (in->at < in->end && *in->at != '\n')
			in->at++;
		return 1;
	}
	if (peek(in, 0) != '/' || peek(in, 1) != '*')
		return 0;
	unsigned opened = in->line;
	for (in->at += 2; in->at < in->end; in->at++) {
		if (*in->at == '\n')
			next_line(s, in);
		if (*in->at == '*' && peek(in, 1) == '/') {
			in->at += 2;
			return 1;
		}
	}
	fail(s, in->file, opened, "the comment that begins here is not closed");
	return 1;
}

/* What a token means beside the one before it, where libconfig would only say "syntax error". */
static void
check_neighbours(scan *s, const source *in, unsigned kind, const char *text, int size)
{
	char inside = s->depth == 0 ? '{' : s->open[s->depth - 1].open;
	if (s->before == SCAN_NAME && kind != '=')
		fail(s, in->file, in->line, "\"=\" or \":\" is missing between a name and its value");
	else if (kind == SCAN_NAME && (s->before == '=' || inside != '{'))
		fail(s, in->file, in->line, "%.*s is no value: texts stand in quotes", size, text);
	else if ((kind == ')' || kind == ']') && s->before == ',')
		fail(s, in->file, in->line, "a comma without a value behind it");
	else if ((kind == '}' || kind == ';') && s->before == '=')
		fail(s, in->file, in->line, "the value is missing");
	s->before = kind;
}

static void
scan_name(scan *s, source *in)
{
	const char *start = in->at;
	while (in->at < in->end &&
		   (is_letter(*in->at) || is_digit(*in->at) || *in->at == '-' || *in->at == '_' || *in->at == '*'))
		in->at++;
	size_t size = (size_t)(in->at - start);
	if ((size == 4 && strncasecmp(start, "true", 4) == 0) || (size == 5 && strncasecmp(start, "false", 5) == 0)) {
		check_neighbours(s, in, 'v', start, (int)size);
		emit(s, start, size);
		emit(s, " ", 1);
		return;
	}
	check_neighbours(s, in, SCAN_NAME, start, size > 100 ? 100 : (int)size);
	if (s->depth > 0 && ++s->open[s->depth - 1].names > SCAN_MAX_NAMES) {
		fail(s, in->file, in->line, "more than %d names in one group", SCAN_MAX_NAMES);
		return;
	}
	s->top_names += s->depth == 0;
	emit_token(s, in, SCAN_NAME, start, size);
}

static size_t
digits_at(const source *in, size_t ahead)
{
	size_t count = 0;
	while (is_digit(peek(in, ahead + count)))
		count++;
	return count;
}

/* [+-]digits[L[L]], 0x..., or a float with digits on at least one side of its point or an exponent. */
static void
scan_number(scan *s, source *in)
{
	const char *start = in->at;
	unsigned kind = SCAN_INT;
	if (peek(in, 0) == '0' && (peek(in, 1) == 'x' || peek(in, 1) == 'X') && is_hex(peek(in, 2))) {
		for (in->at += 2; is_hex(peek(in, 0)); in->at++)
			;
	} else {
		if (*in->at == '+' || *in->at == '-')
			in->at++;
		in->at += digits_at(in, 0);
		if (peek(in, 0) == '.') {
			kind = SCAN_FLOAT;
			in->at += 1 + digits_at(in, 1);
		}
		size_t sign = peek(in, 1) == '+' || peek(in, 1) == '-';
		if ((peek(in, 0) == 'e' || peek(in, 0) == 'E') && is_digit(peek(in, 1 + sign))) {
			kind = SCAN_FLOAT;
			in->at += 1 + sign + digits_at(in, 1 + sign);
		}
	}
	for (int i = 0; i < 2 && kind == SCAN_INT && peek(in, 0) == 'L'; i++)
		in->at++;
	size_t size = (size_t)(in->at - start);
	char next = peek(in, 0);
	if (is_letter(next) || is_digit(next) || next == '_' || next == '.') {
		fail(s, in->file, in->line,
			 "%.*s%c... is no number: sizes and durations stand in quotes, like \"64KiB\", \"5s\"",
			 size > 40 ? 40 : (int)size, start, next);
		return;
	}
	check_neighbours(s, in, 'v', start, 0);
	emit_token(s, in, kind, start, size);
}

static void
scan_string(scan *s, source *in)
{
	unsigned opened = in->line;
	check_neighbours(s, in, 'v', in->at, 0);
	emit(s, "\"", 1);
	for (in->at++; in->at < in->end && *in->at != '"'; in->at++) {
		if (*in->at == '\n') {
			next_line(s, in);
			continue;
		}
		if (*in->at != '\\' || in->at + 1 == in->end) {
			emit(s, in->at, 1);
			continue;
		}
		if (in->at[1] == 'x' && peek(in, 2) == '0' && peek(in, 3) == '0')
			fail(s, in->file, in->line, "\\x00: a text cannot hold a NUL");
		if (in->at[1] == '\n') { /* libconfig keeps both; so does this, and counts the line */
			emit(s, "\\", 1);
			continue;
		}
		emit(s, in->at++, 2);
	}
	if (in->at == in->end) {
		fail(s, in->file, opened, "the text that begins here has no closing quote");
		return;
	}
	in->at++;
	emit(s, "\" ", 2);
}

static void
scan_open_bracket(scan *s, source *in, char open)
{
	check_neighbours(s, in, 'v', in->at, 0);
	s->before = (unsigned char)open;
	if (s->depth == SCAN_MAX_DEPTH) {
		fail(s, in->file, in->line, "nested deeper than %d levels", SCAN_MAX_DEPTH);
		return;
	}
	s->open[s->depth++] = (scan_bracket){ { in->file, in->line }, 0, open };
}

static void
scan_close_bracket(scan *s, source *in, char close)
{
	check_neighbours(s, in, (unsigned char)close, in->at, 0);
	s->before = 'v';
	if (s->depth == 0) {
		fail(s, in->file, in->line, "'%c' closes nothing", close);
		return;
	}
	const scan_bracket *open = &s->open[s->depth - 1];
	char fitting = open->open == '{' ? '}' : open->open == '(' ? ')' : ']';
	if (close != fitting)
		fail(s, in->file, in->line, "'%c' where the '%c' of %s:%u should be closed", close, open->open,
			 open->place.file, open->place.line);
	s->depth--;
}

static void
scan_punctuation(scan *s, source *in)
{
	char c = *in->at;
	if (c == '{' || c == '(' || c == '[')
		scan_open_bracket(s, in, c);
	else if (c == '}' || c == ')' || c == ']')
		scan_close_bracket(s, in, c);
	else
		check_neighbours(s, in, c == ':' ? '=' : (unsigned char)c, in->at, 1);
	emit(s, &c, 1);
	in->at++;
}

/* @include "file", first in its line. */
static void
scan_directive(scan *s, source *in)
{
	static const char word[] = "@include";
	const char *start = in->at + sizeof(word) - 1;
	if ((size_t)(in->end - in->at) <= sizeof(word) || memcmp(in->at, word, sizeof(word) - 1) != 0)
		start = NULL;
	while (start != NULL && start < in->end && (*start == ' ' || *start == '\t'))
		start++;
	const char *close = NULL;
	if (start != NULL && start < in->end && *start == '"') {
		start++;
		const char *stop = memchr(start, '\n', (size_t)(in->end - start));
		close = memchr(start, '"', (size_t)((stop == NULL ? in->end : stop) - start));
	}
	if (close == NULL || close == start || !in->line_start) {
		fail(s, in->file, in->line, "'@' where only @include \"file\" could stand, first in its line");
		return;
	}
	char *named = arena_copy(s->arena, start, (size_t)(close - start));
	if (named == NULL) {
		out_of_memory(s);
		return;
	}
	in->at = close + 1;
	scan_set_line(in->inclusion, in->line);
	emit(s, "\n", 1);
	scan_include(s, in->inclusion, named);
	emit(s, "\n", 1);
	begin_line(s, in->file, in->line);
}

static void
scan_one(scan *s, source *in)
{
	char c = *in->at;
	if (c == '\n') {
		in->at++;
		next_line(s, in);
		return;
	}
	if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
		in->at++;
		return;
	}
	if (skip_comment(s, in))
		return;
	if (c == '@' && !s->strict)
		scan_directive(s, in);
	else if (is_letter(c) || c == '*')
		scan_name(s, in);
	else if (is_digit(c) || (c == '.' && is_digit(peek(in, 1))) ||
			 ((c == '+' || c == '-') && (is_digit(peek(in, 1)) || (peek(in, 1) == '.' && is_digit(peek(in, 2))))))
		scan_number(s, in);
	else if (c == '"')
		scan_string(s, in);
	else if (strchr("{}()[]=:;,", c) != NULL)
		scan_punctuation(s, in);
	else if ((unsigned char)c > 0x20 && (unsigned char)c < 0x7F)
		fail(s, in->file, in->line, "unexpected '%c'", c);
	else
		fail(s, in->file, in->line, "unexpected character (byte 0x%02x) outside of quotes", (unsigned char)c);
	in->line_start = 0;
}

static unsigned
line_of(const char *text, const char *at)
{
	unsigned line = 1;
	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

static int
check_bytes(scan *s, const char *file, const char *text, size_t size)
{
	size_t valid = utf8_valid_prefix(text, size);
	const char *nul = memchr(text, '\0', valid);
	if (nul != NULL)
		fail(s, file, line_of(text, nul), "a NUL byte: this is no text file");
	else if (valid < size)
		fail(s, file, line_of(text, text + valid), "byte 0x%02x is no valid UTF-8: save the file as UTF-8",
			 (unsigned char)text[valid]);
	return nul == NULL && valid == size;
}

void
scan_source(scan *s, scan_inclusion *inclusion, const char *file, const char *text, size_t size)
{
	if (!check_bytes(s, file, text, size))
		return;
	if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
		text += 3;
		size -= 3;
	}
	source in = { inclusion, file, text, text + size, 1, 1 };
	begin_line(s, file, 1);
	while (in.at < in.end && !s->failed)
		scan_one(s, &in);
}

int
scan_finish(scan *s)
{
	if (!s->failed && !s->missing && s->depth > 0) {
		const scan_bracket *open = &s->open[s->depth - 1];
		fail(s, open->place.file, open->place.line, "the '%c' that stands here is not closed", open->open);
	}
	return !s->failed && !s->missing;
}

int
scan_text(scan *s, const char *file, const char *text, size_t size)
{
	scan_source(s, NULL, file, text, size);
	return scan_finish(s);
}
