/* Decimals <-> text (flow_sdk/number.h). */
#include "flow_sdk/number.h"

#define MOST_ADDED_ZEROS 40

/* A number's text in its parts. */
struct parts {
	const char *whole;
	uint64_t whole_size;
	const char *fraction;
	uint64_t fraction_size;
	int64_t exponent;
	int negative;
};

static uint64_t
count_digits(const char *text, const char *end)
{
	const char *at = text;
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return (uint64_t)(at - text);
}

static flow_status
read_exponent(const char *at, const char *end, int64_t *exponent)
{
	int negative = at < end && *at == '-';
	if (at < end && (*at == '-' || *at == '+'))
		at++;
	uint64_t size = count_digits(at, end);
	if (size == 0 || at + size != end)
		return FLOW_E_DECODE;
	int64_t number = 0;
	for (; at < end; at++)
		if (number <= FLOW_DECIMAL_MAX_EXPONENT)
			number = number * 10 + (*at - '0');
	if (number > FLOW_DECIMAL_MAX_EXPONENT)
		return FLOW_E_RANGE;
	*exponent = negative ? -number : number;
	return FLOW_OK;
}

static flow_status
split(flow_slice text, struct parts *p)
{
	const char *at = text.data, *end = text.data + text.size;
	memset(p, 0, sizeof(*p));
	p->negative = at < end && *at == '-';
	if (at < end && (*at == '-' || *at == '+'))
		at++;
	p->whole = at;
	p->whole_size = count_digits(at, end);
	at += p->whole_size;
	if (at < end && *at == '.') {
		p->fraction = ++at;
		p->fraction_size = count_digits(at, end);
		at += p->fraction_size;
	}
	if (p->whole_size + p->fraction_size == 0)
		return FLOW_E_DECODE;
	if (at == end)
		return FLOW_OK;
	return (*at | 0x20) == 'e' ? read_exponent(at + 1, end, &p->exponent) : FLOW_E_DECODE;
}

static void
skip_leading_zeros(struct parts *p)
{
	while (p->whole_size != 0 && *p->whole == '0') {
		p->whole++;
		p->whole_size--;
	}
	while (p->whole_size == 0 && p->fraction_size != 0 && *p->fraction == '0') {
		p->fraction++;
		p->fraction_size--;
	}
}

flow_status
flow_parse_decimal(flow_slice text, flow_builder *memory, flow_value *value)
{
	struct parts p;
	flow_status status = split(text, &p);
	if (status != FLOW_OK)
		return status;
	int64_t scale = (int64_t)p.fraction_size - p.exponent;
	skip_leading_zeros(&p);
	uint64_t count = p.whole_size + p.fraction_size;
	if (count > FLOW_DECIMAL_MAX_DIGITS || scale > FLOW_DECIMAL_MAX_EXPONENT || scale < -FLOW_DECIMAL_MAX_EXPONENT)
		return FLOW_E_RANGE;
	flow_decimal *decimal = (flow_decimal *)flow_builder_alloc(memory, sizeof(*decimal) + count + 1);
	if (decimal == NULL)
		return FLOW_E_MEMORY;
	char *digits = (char *)(decimal + 1);
	memset(decimal, 0, sizeof(*decimal));
	if (p.whole_size != 0)
		memcpy(digits, p.whole, p.whole_size);
	if (p.fraction_size != 0)
		memcpy(digits + p.whole_size, p.fraction, p.fraction_size);
	if (count == 0)
		digits[count++] = '0';
	decimal->digits = digits;
	decimal->count = (uint32_t)count;
	decimal->scale = (int32_t)scale;
	decimal->negative = (uint8_t)p.negative;
	*value = flow_cell(FLOW_DECIMAL, 0);
	value->as.decimal = decimal;
	return FLOW_OK;
}

static char *
put(char *at, const void *text, uint64_t size)
{
	memcpy(at, text, size);
	return at + size;
}

static char *
put_zeros(char *at, uint64_t count)
{
	memset(at, '0', count);
	return at + count;
}

static char *
put_with_exponent(const flow_decimal *d, char *at)
{
	*at++ = d->digits[0];
	if (d->count > 1) {
		*at++ = '.';
		at = put(at, d->digits + 1, d->count - 1);
	}
	*at++ = 'e';
	return at + flow_print_int64((int64_t)d->count - 1 - d->scale, at);
}

static char *
put_plain(const flow_decimal *d, char *at)
{
	if (d->scale <= 0) {
		at = put(at, d->digits, d->count);
		return d->count == 1 && d->digits[0] == '0' ? at : put_zeros(at, (uint64_t) - (int64_t)d->scale);
	}
	uint64_t scale = (uint64_t)d->scale;
	if (d->count <= scale) {
		at = put(at, "0.", 2);
		at = put_zeros(at, scale - d->count);
		return put(at, d->digits, d->count);
	}
	at = put(at, d->digits, d->count - scale);
	*at++ = '.';
	return put(at, d->digits + d->count - scale, scale);
}

uint64_t
flow_print_decimal(const flow_decimal *decimal, char *buffer)
{
	char *at = buffer;
	if (decimal->special == FLOW_DECIMAL_NAN)
		return (uint64_t)(put(at, "NaN", 3) - buffer);
	if (decimal->negative)
		*at++ = '-';
	if (decimal->special == FLOW_DECIMAL_INFINITY)
		return (uint64_t)(put(at, "Infinity", 8) - buffer);
	int is_zero = decimal->count == 1 && decimal->digits[0] == '0';
	int64_t added = decimal->scale < 0 ? -(int64_t)decimal->scale : (int64_t)decimal->scale - decimal->count;
	int plain = added <= MOST_ADDED_ZEROS || (is_zero && decimal->scale <= 0);
	at = plain ? put_plain(decimal, at) : put_with_exponent(decimal, at);
	return (uint64_t)(at - buffer);
}
