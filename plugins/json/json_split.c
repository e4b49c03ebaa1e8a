/*
 * The end of one text among others: brackets and quotes are counted, nothing is checked; the parser does that. What is broken inside
 * of a text is found there, and the next one is read, as long as brackets and quotes match.
 */
#include "json_text.h"

#define OPENS 1
#define CLOSES 2
#define QUOTE 3
#define COMMA 4
#define BLANK 5

static const uint8_t classes[256] = {
	['{'] = OPENS, ['['] = OPENS, ['}'] = CLOSES, [']'] = CLOSES, ['"'] = QUOTE,
	[','] = COMMA, [' '] = BLANK, ['\t'] = BLANK, ['\n'] = BLANK, ['\r'] = BLANK,
};

/* Up to the quote that ends a string, or a backslash; `size`: there is none. */
static uint64_t
skip_string(const char *data, uint64_t at, uint64_t size)
{
#if defined(__SSE2__)
	const __m128i quote = _mm_set1_epi8('"');
	const __m128i backslash = _mm_set1_epi8('\\');
	for (; at + 16 <= size; at += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(data + at));
		__m128i hits = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
		uint32_t map = (uint32_t)_mm_movemask_epi8(hits);
		if (map != 0)
			return at + (uint64_t)__builtin_ctz(map);
	}
#endif
	while (at < size && data[at] != '"' && data[at] != '\\')
		at++;
	return at;
}

/* Behind the string that data[at] is in, as far as it is there. */
static uint64_t
pass_string(json_split *s, const char *data, uint64_t at, uint64_t size)
{
	while (at < size) {
		if (s->escaped) {
			s->escaped = 0;
			at++;
			continue;
		}
		at = skip_string(data, at, size);
		if (at == size)
			break;
		if (data[at++] == '"') {
			s->in_string = 0;
			break;
		}
		s->escaped = 1;
	}
	return at;
}

int
json_split_find(json_split *s, const char *data, uint64_t size, int framing)
{
	uint64_t at = s->looked;
	int array = framing == JSON_ARRAY;
	while (at < size) {
		if (s->in_string) {
			at = pass_string(s, data, at, size);
			if (!array && !s->in_string && s->depth == 0) {
				s->looked = at;
				return 1;
			}
			continue;
		}
		uint8_t class = classes[(unsigned char)data[at]];
		if (s->depth == 0 && class != 0) {
			int ends = array ? class == COMMA || data[at] == ']' : s->begun && class != COMMA && class != CLOSES;
			if (ends) {
				s->looked = at;
				return 1;
			}
		}
		s->begun |= class != BLANK;
		at++;
		if (class == OPENS) {
			s->depth++;
		} else if (class == QUOTE) {
			s->in_string = 1;
		} else if (class == CLOSES && s->depth != 0) {
			s->depth--;
			if (!array && s->depth == 0) {
				s->looked = at;
				return 1;
			}
		}
	}
	s->looked = at;
	return 0;
}
