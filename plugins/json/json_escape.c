/* Escapes in strings (RFC 8259, 7). */
#include "json_text.h"

static int
hex_value(char c)
{
	if (json_is_digit(c))
		return c - '0';
	char lower = (char)(c | 0x20);
	return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The four digits of \uXXXX, or -1. */
static int32_t
four_digits(const char *at, const char *end)
{
	if (end - at < 4)
		return -1;
	int32_t code = 0;
	for (int i = 0; i < 4; i++) {
		int value = hex_value(at[i]);
		if (value < 0)
			return -1;
		code = code * 16 + value;
	}
	return code;
}

/* The character of the \u escape whose digits start at *at, which moves behind it; -1: none. */
static int32_t
read_character(const char **at, const char *end)
{
	int32_t code = four_digits(*at, end);
	if (code < 0 || (code >= 0xDC00 && code <= 0xDFFF))
		return -1;
	*at += 4;
	if (code < 0xD800 || code > 0xDBFF)
		return code;
	if (end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
		return -1; /* half of a pair */
	int32_t low = four_digits(*at + 2, end);
	if (low < 0xDC00 || low > 0xDFFF)
		return -1;
	*at += 6;
	return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
}

static uint64_t
utf8(int32_t code, char *to)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xC0 | code >> 6);
		to[1] = (char)(0x80 | (code & 63));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xE0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 63));
		to[2] = (char)(0x80 | (code & 63));
		return 3;
	}
	to[0] = (char)(0xF0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 63));
	to[2] = (char)(0x80 | (code >> 6 & 63));
	to[3] = (char)(0x80 | (code & 63));
	return 4;
}

static char
short_escape(char c)
{
	switch (c) {
	case '"':
	case '\\':
	case '/':
		return c;
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return 0;
	}
}

int64_t
json_unescape(const char *raw, uint64_t size, char *to, const char **fault)
{
	const char *end = raw + size;
	int64_t count = 0;
	while (raw < end) {
		const char *escape = (const char *)memchr(raw, '\\', (size_t)(end - raw));
		uint64_t plain = (uint64_t)((escape == NULL ? end : escape) - raw);
		if (to != NULL)
			memcpy(to + count, raw, plain);
		count += (int64_t)plain;
		if (escape == NULL)
			break;
		*fault = escape;
		raw = escape + 2;
		char bytes[4] = { raw <= end ? short_escape(escape[1]) : (char)0 };
		uint64_t written = 1;
		if (bytes[0] == 0) {
			int32_t code = raw <= end && escape[1] == 'u' ? read_character(&raw, end) : -1;
			if (code < 0)
				return -1;
			written = utf8(code, bytes);
		}
		if (to != NULL)
			memcpy(to + count, bytes, written);
		count += (int64_t)written;
	}
	return count;
}
