/* UTF-8 validation: eight bytes at a time while they are ASCII, else one character at a time (RFC 3629, table 3-7 of Unicode). */
#include "flow_sdk/text.h"

#define HIGH_BITS 0x8080808080808080ull

static uint64_t
skip_ascii(const unsigned char *text, uint64_t at, uint64_t size)
{
	for (; size - at >= 8; at += 8) {
		uint64_t word;
		memcpy(&word, text + at, 8);
		if ((word & HIGH_BITS) != 0)
			return at + (uint64_t)__builtin_ctzll(word & HIGH_BITS) / 8;
	}
	while (at < size && text[at] < 0x80)
		at++;
	return at;
}

static int
is_continuation(unsigned char byte)
{
	return (byte & 0xC0) == 0x80;
}

/* Bytes of the character that starts with the non-ASCII byte text[0], 0 if it is none. `left` counts the bytes there are. */
static uint64_t
character_size(const unsigned char *text, uint64_t left)
{
	unsigned char first = text[0];
	if (first < 0xC2 || first > 0xF4)
		return 0;
	if (first < 0xE0)
		return left >= 2 && is_continuation(text[1]) ? 2 : 0;
	unsigned char low = 0x80;
	unsigned char high = 0xBF;
	if (first == 0xE0)
		low = 0xA0; /* shorter forms exist */
	else if (first == 0xED)
		high = 0x9F; /* surrogates */
	else if (first == 0xF0)
		low = 0x90;
	else if (first == 0xF4)
		high = 0x8F; /* beyond U+10FFFF */
	if (left < 3 || text[1] < low || text[1] > high || !is_continuation(text[2]))
		return 0;
	if (first < 0xF0)
		return 3;
	return left >= 4 && is_continuation(text[3]) ? 4 : 0;
}

uint64_t
flow_utf8_check(const char *text, uint64_t size)
{
	const unsigned char *bytes = (const unsigned char *)text;
	uint64_t at = skip_ascii(bytes, 0, size);
	while (at < size) {
		if (bytes[at] < 0x80) {
			at = skip_ascii(bytes, at, size);
			continue;
		}
		uint64_t step = character_size(bytes + at, size - at);
		if (step == 0)
			return at;
		at += step;
	}
	return at;
}
