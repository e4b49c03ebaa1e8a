/* Doubles <-> text (flow_sdk/number.h): what <charconv> does not settle. */
#include "flow_sdk/number.h"
#include "number_float.h"

#define EXACT_DIGITS                                                                                                   \
	15 /* integers of so many digits are exact in a double, and so are their quotients by 10^0..22, rounded once */

static int
equal_ignoring_case(flow_slice text, const char *word)
{
	if (text.size != strlen(word))
		return 0;
	for (uint64_t i = 0; i < text.size; i++)
		if ((text.data[i] | 0x20) != word[i])
			return 0;
	return 1;
}

static flow_status
read_special(flow_slice text, int negative, double *number)
{
	if (equal_ignoring_case(text, "nan"))
		*number = __builtin_nan("");
	else if (equal_ignoring_case(text, "inf") || equal_ignoring_case(text, "infinity"))
		*number = negative ? -__builtin_inf() : __builtin_inf();
	else
		return FLOW_E_DECODE;
	return FLOW_OK;
}

/* Digits with at most one point, 15 digits at most: by one exact division. 0: something else. */
static int
read_short(const char *text, uint64_t size, double *number)
{
	static const double powers[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
									 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
	uint64_t n = 0, point = size;
	if (size > EXACT_DIGITS + 1)
		return 0;
	for (uint64_t i = 0; i < size; i++) {
		unsigned digit = (unsigned char)text[i] - (unsigned)'0';
		if (digit <= 9)
			n = n * 10 + digit;
		else if (text[i] == '.' && point == size && i != 0 && i + 1 != size)
			point = i;
		else
			return 0;
	}
	uint64_t behind = point == size ? 0 : size - point - 1;
	if (size == 0 || (point == size && size > EXACT_DIGITS))
		return 0;
	*number = (double)n / powers[behind];
	return 1;
}

/* <charconv> does not say which way it went out of range: by the number's magnitude it may be only too long or have a zero
 * mantissa; both read as 0. */
static int
is_zero(flow_slice text)
{
	for (uint64_t i = 0; i < text.size && (text.data[i] | 0x20) != 'e'; i++)
		if (text.data[i] >= '1' && text.data[i] <= '9')
			return 0;
	return 1;
}

/* charconv takes "1." and ".5", which the documented grammar does not. */
static int
has_digits_around_point(flow_slice text)
{
	const char *point = (const char *)memchr(text.data, '.', text.size);
	if (text.size == 0 || text.data[0] < '0' || text.data[0] > '9')
		return 0;
	return point == NULL || (point + 1 < text.data + text.size && point[1] >= '0' && point[1] <= '9');
}

flow_status
flow_parse_float64(flow_slice text, int special, double *number)
{
	if (text.size == 0)
		return FLOW_E_DECODE;
	int negative = text.data[0] == '-';
	if (negative || text.data[0] == '+')
		text = flow_slice_make(text.data + 1, text.size - 1);
	double magnitude;
	if (!read_short(text.data, text.size, &magnitude)) {
		if (!has_digits_around_point(text))
			return special ? read_special(text, negative, number) : FLOW_E_DECODE;
		int outcome = float_read(text.data, text.size, &magnitude);
		if (outcome == FLOAT_MALFORMED)
			return FLOW_E_DECODE;
		if (is_zero(text))
			magnitude = 0;
		else if (outcome == FLOAT_OUT_OF_RANGE || magnitude == 0)
			return FLOW_E_RANGE;
	}
	*number = negative ? -magnitude : magnitude;
	return FLOW_OK;
}

/* Most doubles of data files have few digits behind the point: number * 10^k is an integer n of at most 15 digits, and n / 10^k, which
 * is rounded once, is the number again. Then n's digits are the shortest: decimals of up to 15 digits are different doubles. The
 * length, or 0: not such a number. */
static uint64_t
print_short(double number, char *buffer)
{
	static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6 };
	double magnitude = number < 0 ? -number : number;
	if (!(magnitude >= 1e-4 && magnitude < 1e9))
		return 0;
	for (unsigned k = 0; k < FLOW_COUNT(powers); k++) {
		double scaled = magnitude * powers[k];
		int64_t n = (int64_t)(scaled + 0.5);
		double off = scaled - (double)n;
		if (off > 0.001 || off < -0.001 || (double)n / powers[k] != magnitude)
			continue;
		char digits[FLOW_NUMBER_TEXT_MAX], *at = buffer;
		uint64_t size = flow_print_uint64((uint64_t)n, digits), whole = size > k ? size - k : 0;
		if (number < 0)
			*at++ = '-';
		if (whole == 0)
			*at++ = '0';
		memcpy(at, digits, whole);
		at += whole;
		*at++ = '.';
		for (uint64_t zeros = k > size ? k - size : k == 0; zeros != 0; zeros--)
			*at++ = '0';
		memcpy(at, digits + whole, size - whole);
		return (uint64_t)(at + (size - whole) - buffer);
	}
	return 0;
}

static uint64_t
print_special(double number, char *buffer)
{
	const char *text = number != number ? "NaN" : number < 0 ? "-Infinity" : "Infinity";
	uint64_t size = strlen(text);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): callers get a length */
	memcpy(buffer, text, size);
	return size;
}

uint64_t
flow_print_float64(double number, char *buffer)
{
	uint64_t size = print_short(number, buffer);
	if (size != 0)
		return size;
	if (number - number != 0)
		return print_special(number, buffer);
	size = float_write(number, buffer, FLOW_NUMBER_TEXT_MAX);
	char *exponent = (char *)memchr(buffer, 'e', size);
	if (exponent == NULL) {
		if (memchr(buffer, '.', size) == NULL) {
			/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): likewise */
			memcpy(buffer + size, ".0", 2);
			size += 2;
		}
		return size;
	}
	char *from = exponent + 1, *to = exponent + 1, *end = buffer + size;
	if (*from == '+')
		from++;
	else if (*from == '-')
		*to++ = *from++;
	while (from < end - 1 && *from == '0')
		from++;
	uint64_t rest = (uint64_t)(end - from);
	memmove(to, from, rest);
	return (uint64_t)(to + rest - buffer);
}
