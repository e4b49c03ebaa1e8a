/* Integers <-> text (flow_sdk/number.h). */
#include "flow_sdk/number.h"

static const char digit_pairs[201] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
									 "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
									 "8081828384858687888990919293949596979899";

/* Eight characters at once: are they all digits, and which number is it? */
static int
eight_digits(const char *text, uint64_t *number)
{
	uint64_t word;
	memcpy(&word, text, 8);
	uint64_t high = word & 0xF0F0F0F0F0F0F0F0u;
	uint64_t beyond_nine = (word + 0x0606060606060606u) & 0xF0F0F0F0F0F0F0F0u;
	if ((high | (beyond_nine >> 4)) != 0x3333333333333333u)
		return 0;
	word = (word & 0x0F0F0F0F0F0F0F0Fu) * 2561 >> 8;
	word = (word & 0x00FF00FF00FF00FFu) * 6553601 >> 16;
	*number = (word & 0x0000FFFF0000FFFFu) * 42949672960001u >> 32;
	return 1;
}

/* At most 19 digits: no overflow is possible. */
static int
read_short(const char *text, uint64_t size, uint64_t *number)
{
	uint64_t n = 0, eight;
	for (; size >= 8; text += 8, size -= 8) {
		if (!eight_digits(text, &eight))
			return 0;
		n = n * 100000000 + eight;
	}
	for (; size != 0; text++, size--) {
		unsigned digit = (unsigned char)*text - (unsigned)'0';
		if (digit > 9)
			return 0;
		n = n * 10 + digit;
	}
	*number = n;
	return 1;
}

static flow_status
read_digits(const char *text, uint64_t size, uint64_t *number)
{
	if (size - 1 < 19)
		return read_short(text, size, number) ? FLOW_OK : FLOW_E_DECODE;
	if (size == 0)
		return FLOW_E_DECODE;
	uint64_t n = 0;
	int overflow = 0;
	for (uint64_t i = 0; i < size; i++) {
		unsigned digit = (unsigned char)text[i] - (unsigned)'0';
		if (digit > 9)
			return FLOW_E_DECODE;
		overflow |= __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, digit, &n);
	}
	*number = n;
	return overflow ? FLOW_E_RANGE : FLOW_OK;
}

flow_status
flow_parse_uint64(flow_slice text, uint64_t *number)
{
	if (text.size == 0 || text.data[0] != '-')
		return read_digits(text.data, text.size, number);
	flow_status status = read_digits(text.data + 1, text.size - 1, number);
	return status != FLOW_OK || *number == 0 ? status : FLOW_E_RANGE;
}

flow_status
flow_parse_int64(flow_slice text, int64_t *number)
{
	uint64_t negative = text.size != 0 && text.data[0] == '-';
	uint64_t magnitude = 0;
	flow_status status = read_digits(text.data + negative, text.size - negative, &magnitude);
	if (status != FLOW_OK)
		return status;
	if (magnitude > (uint64_t)INT64_MAX + negative)
		return FLOW_E_RANGE;
	*number = (int64_t)(negative ? 0 - magnitude : magnitude);
	return FLOW_OK;
}

static uint64_t
count_digits(uint64_t number)
{
	static const uint64_t powers[] = {
		0u, /* so that 0 has one digit */
		10u,
		100u,
		1000u,
		10000u,
		100000u,
		1000000u,
		10000000u,
		100000000u,
		1000000000u,
		10000000000u,
		100000000000u,
		1000000000000u,
		10000000000000u,
		100000000000000u,
		1000000000000000u,
		10000000000000000u,
		100000000000000000u,
		1000000000000000000u,
		10000000000000000000u,
	};
	unsigned guess = (unsigned)(64 - __builtin_clzll(number | 1)) * 1233 >> 12;
	return guess + (number >= powers[guess]);
}

uint64_t
flow_print_uint64(uint64_t number, char *buffer)
{
	uint64_t size = count_digits(number), at = size;
	while (number >= 100) {
		at -= 2;
		memcpy(buffer + at, digit_pairs + number % 100 * 2, 2);
		number /= 100;
	}
	if (at == 2)
		memcpy(buffer, digit_pairs + number * 2, 2);
	else
		buffer[0] = (char)('0' + number);
	return size;
}

uint64_t
flow_print_int64(int64_t number, char *buffer)
{
	if (number >= 0)
		return flow_print_uint64((uint64_t)number, buffer);
	buffer[0] = '-';
	return flow_print_uint64(0 - (uint64_t)number, buffer + 1) + 1;
}
