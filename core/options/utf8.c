#include "options/utf8.h"

#include <string.h>

/* Bytes that follow a lead byte, and the bounds of the first of them; 0 for what leads nothing. */
static size_t
continuation(unsigned char lead, unsigned char *low, unsigned char *high)
{
	*low = 0x80;
	*high = 0xBF;
	if (lead >= 0xC2 && lead <= 0xDF)
		return 1;
	if (lead >= 0xE0 && lead <= 0xEF) {
		*low = lead == 0xE0 ? 0xA0 : 0x80;
		*high = lead == 0xED ? 0x9F : 0xBF;
		return 2;
	}
	if (lead >= 0xF0 && lead <= 0xF4) {
		*low = lead == 0xF0 ? 0x90 : 0x80;
		*high = lead == 0xF4 ? 0x8F : 0xBF;
		return 3;
	}
	return 0;
}

size_t
utf8_valid_prefix(const char *text, size_t size)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t at = 0;
	while (at < size) {
		if (bytes[at] < 0x80) {
			at++;
			continue;
		}
		unsigned char low, high;
		size_t more = continuation(bytes[at], &low, &high);
		if (more == 0 || size - at <= more || bytes[at + 1] < low || bytes[at + 1] > high)
			return at;
		for (size_t i = 2; i <= more; i++)
			if ((bytes[at + i] & 0xC0) != 0x80)
				return at;
		at += more + 1;
	}
	return at;
}

size_t
utf8_escape(const char *text, size_t size, char *to)
{
	static const char digits[] = "0123456789abcdef";
	size_t used = 0;
	for (size_t at = 0; at < size;) {
		size_t valid = utf8_valid_prefix(text + at, size - at);
		memcpy(to + used, text + at, valid);
		used += valid;
		at += valid;
		if (at == size)
			break;
		unsigned char byte = (unsigned char)text[at++];
		const char escaped[] = { '\\', 'x', digits[byte >> 4], digits[byte & 15] };
		memcpy(to + used, escaped, sizeof(escaped));
		used += sizeof(escaped);
	}
	return used;
}
