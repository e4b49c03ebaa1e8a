/*
 * Reading strings, numbers and blanks of JSON text. All of it relies on the byte behind the text being a line feed or NUL, which ends
 * everything, and on readable padding behind it; so nothing here looks at the text's end.
 */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include "json.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static inline const char *
json_skip_blanks(const char *at, const char *end)
{
	if (__builtin_expect((unsigned char)*at > ' ', 1))
		return at;
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
		at++;
	return at;
}

/* From inside a string to its next quote, backslash or control character. *high: there were bytes beyond ASCII. */
static inline const char *
json_scan_string(const char *at, int *high)
{
#if defined(__SSE2__)
	const __m128i quote = _mm_set1_epi8('"');
	const __m128i backslash = _mm_set1_epi8('\\');
	const __m128i control = _mm_set1_epi8(0x1F);
	for (;; at += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
		__m128i hits = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
									_mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
		uint32_t map = (uint32_t)_mm_movemask_epi8(hits);
		uint32_t upper = (uint32_t)_mm_movemask_epi8(bytes);
		if (map != 0) {
			*high |= (upper & (map - 1) & ~map) != 0;
			return at + __builtin_ctz(map);
		}
		*high |= upper != 0;
	}
#else
	for (;; at++) {
		unsigned char c = (unsigned char)*at;
		if (c == '"' || c == '\\' || c < 0x20)
			return at;
		*high |= c >= 0x80;
	}
#endif
}

static inline int
json_is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* Behind the number that starts at `at`; NULL: it is none, *fault is where. */
static inline const char *
json_scan_number(const char *at, json_number *number, const char **fault)
{
	number->text = at;
	number->negative = *at == '-';
	at += number->negative;
	const char *digits = at;
	uint64_t magnitude = 0;
	if (*at == '0')
		at++;
	else
		for (; json_is_digit(*at); at++)
			magnitude = magnitude * 10 + (uint64_t)(*at - '0');
	if (at == digits) {
		*fault = at;
		return NULL;
	}
	number->is_integer = 1;
	number->exact = at - digits <= 18;
	number->magnitude = magnitude;
	if (*at == '.' || *at == 'e' || *at == 'E') {
		number->is_integer = 0;
		number->exact = 0;
		if (*at == '.') {
			const char *fraction = ++at;
			while (json_is_digit(*at))
				at++;
			*fault = at;
			if (at == fraction)
				return NULL;
		}
		if (*at == 'e' || *at == 'E') {
			at++;
			at += *at == '+' || *at == '-';
			const char *exponent = at;
			while (json_is_digit(*at))
				at++;
			*fault = at;
			if (at == exponent)
				return NULL;
		}
	}
	number->size = (uint32_t)(at - number->text);
	return at;
}

/* Undoes the escapes of raw[0 .. size), which has no quote outside of them, into `to` (NULL: only checks). Returns the size; -1: a bad
 * escape at *fault. */
int64_t json_unescape(const char *raw, uint64_t size, char *to, const char **fault);

#endif
