/* Strings with escapes: sixteen bytes at a time, never read beyond their end. */
#include "json.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static char *
put_escape(unsigned char c, char *to)
{
	static const char digits[] = "0123456789abcdef";
	static const char letters[32] = { [8] = 'b', [9] = 't', [10] = 'n', [12] = 'f', [13] = 'r' };
	*to++ = '\\';
	if (c >= 0x20) {
		*to++ = (char)c;
	} else if (letters[c] != 0) {
		*to++ = letters[c];
	} else {
		*to++ = 'u';
		*to++ = '0';
		*to++ = '0';
		to[0] = digits[c >> 4];
		to[1] = digits[c & 15];
		to += 2;
	}
	return to;
}

#if defined(__SSE2__)

/* The last `size` < 16 bytes of a text, without a look at what is behind them. */
static inline __m128i
load_tail(const char *text, uint64_t size)
{
	uint64_t low = 0;
	uint64_t high = 0;
	if (size >= 8) {
		memcpy(&low, text, 8);
		memcpy(&high, text + size - 8, 8);
		high = size == 8 ? 0 : high >> (8 * (16 - size));
	} else if (size >= 4) {
		uint32_t first;
		uint32_t last;
		memcpy(&first, text, 4);
		memcpy(&last, text + size - 4, 4);
		low = first | (uint64_t)last << (8 * (size - 4));
	} else if (size > 0) {
		const unsigned char *bytes = (const unsigned char *)text;
		low = bytes[0] | (uint64_t)bytes[size / 2] << (8 * (size / 2)) | (uint64_t)bytes[size - 1] << (8 * (size - 1));
	}
	return _mm_set_epi64x((int64_t)high, (int64_t)low);
}

char *
json_put_escaped(const char *text, uint64_t size, char *to, int *high)
{
	const __m128i quote = _mm_set1_epi8('"');
	const __m128i backslash = _mm_set1_epi8('\\');
	const __m128i control = _mm_set1_epi8(0x1F);
	uint32_t upper = 0;
	while (size != 0) {
		uint64_t count = size < 16 ? size : 16;
		__m128i bytes = size < 16 ? load_tail(text, size) : _mm_loadu_si128((const __m128i *)(const void *)text);
		__m128i hits = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
									_mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
		uint32_t map = (uint32_t)_mm_movemask_epi8(hits) & (uint32_t)((1u << count) - 1);
		upper |= (uint32_t)_mm_movemask_epi8(bytes);
		_mm_storeu_si128((__m128i *)(void *)to, bytes);
		if (map != 0) {
			uint64_t plain = (uint64_t)__builtin_ctz(map);
			to = put_escape((unsigned char)text[plain], to + plain);
			count = plain + 1;
		} else {
			to += count;
		}
		text += count;
		size -= count;
	}
	*high |= upper != 0;
	return to;
}

#else

char *
json_put_escaped(const char *text, uint64_t size, char *to, int *high)
{
	for (uint64_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];
		*high |= c >= 0x80;
		if (c < 0x20 || c == '"' || c == '\\')
			to = put_escape(c, to);
		else
			*to++ = (char)c;
	}
	return to;
}

#endif
