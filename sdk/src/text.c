/* uuid and base64 (flow_sdk/text.h). */
#include "flow_sdk/text.h"

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static int
is_uuid_dash(int i)
{
	return i == 8 || i == 13 || i == 18 || i == 23;
}

flow_status
flow_parse_uuid(flow_slice text, char *bytes)
{
	if (text.size != FLOW_UUID_TEXT)
		return FLOW_E_DECODE;
	int digit = 0;
	for (int i = 0; i < FLOW_UUID_TEXT; i++) {
		if (is_uuid_dash(i)) {
			if (text.data[i] != '-')
				return FLOW_E_DECODE;
			continue;
		}
		int value = hex_digit(text.data[i]);
		if (value < 0)
			return FLOW_E_DECODE;
		if (digit % 2 == 0)
			bytes[digit / 2] = (char)(value << 4);
		else
			bytes[digit / 2] = (char)((unsigned char)bytes[digit / 2] | value);
		digit++;
	}
	return FLOW_OK;
}

void
flow_print_uuid(const char *bytes, char *text)
{
	static const char digits[] = "0123456789abcdef";
	int digit = 0;
	for (int i = 0; i < FLOW_UUID_TEXT; i++) {
		if (is_uuid_dash(i)) {
			text[i] = '-';
			continue;
		}
		unsigned char byte = (unsigned char)bytes[digit / 2];
		text[i] = digits[digit % 2 == 0 ? byte >> 4 : byte & 15];
		digit++;
	}
}

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
flow_print_base64(flow_slice bytes, char *text)
{
	const unsigned char *from = (const unsigned char *)bytes.data;
	uint64_t left = bytes.size;
	for (; left > 0; from += 3) {
		uint32_t group = (uint32_t)from[0] << 16;
		if (left > 1)
			group |= (uint32_t)from[1] << 8;
		if (left > 2)
			group |= from[2];
		text[0] = base64_digits[group >> 18];
		text[1] = base64_digits[(group >> 12) & 63];
		text[2] = left > 1 ? base64_digits[(group >> 6) & 63] : '=';
		text[3] = left > 2 ? base64_digits[group & 63] : '=';
		text += 4;
		left -= left < 3 ? left : 3;
	}
}

static int
base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

flow_status
flow_parse_base64(flow_slice text, char *bytes, uint64_t *size)
{
	*size = 0;
	if (text.size % 4 != 0)
		return FLOW_E_DECODE;
	for (uint64_t at = 0; at < text.size; at += 4) {
		int padding = 0;
		if (at + 4 == text.size)
			padding = text.data[at + 3] != '=' ? 0 : text.data[at + 2] != '=' ? 1 : 2;
		uint32_t group = 0;
		for (int i = 0; i < 4 - padding; i++) {
			int value = base64_value(text.data[at + (uint64_t)i]);
			if (value < 0)
				return FLOW_E_DECODE;
			group |= (uint32_t)value << (18 - 6 * i);
		}
		if ((padding == 1 && (group & 0xFF) != 0) || (padding == 2 && (group & 0xFFFF) != 0))
			return FLOW_E_DECODE;
		for (int i = 0; i < 3 - padding; i++)
			bytes[(*size)++] = (char)(group >> (16 - 8 * i));
	}
	return FLOW_OK;
}
