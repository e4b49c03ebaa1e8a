#include "base/decimal_long.h"

#include <string.h>

#include "flow_sdk/number.h"

#define BILLION 1000000000u
#define DIGITS_MAX (2 * FLOW_DECIMAL_MAX_DIGITS + 1)
#define LIMBS_MAX (DIGITS_MAX / 9 + 3)

/* Least significant limb first; no leading zero limbs, so zero has none. */
struct magnitude {
	uint32_t limbs[LIMBS_MAX];
	uint32_t count;
};

static void
trim(struct magnitude *m)
{
	while (m->count != 0 && m->limbs[m->count - 1] == 0)
		m->count--;
}

/* The digits with `zeros` zeros behind them. FLOW_E_RANGE: too many. */
static flow_status
load(struct magnitude *m, const flow_decimal *decimal, int64_t zeros, uint64_t most)
{
	static const uint32_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000 };
	m->count = 0;
	if (decimal_is_zero(decimal))
		return FLOW_OK;
	if ((uint64_t)zeros > most || decimal->count > most - (uint64_t)zeros)
		return FLOW_E_RANGE;
	uint64_t total = decimal->count + (uint64_t)zeros;
	m->count = (uint32_t)((total + 8) / 9);
	memset(m->limbs, 0, m->count * sizeof(m->limbs[0]));
	for (uint64_t i = 0; i < decimal->count; i++) {
		uint64_t place = total - 1 - i; /* counted from the last digit */
		m->limbs[place / 9] += (uint32_t)(decimal->digits[i] - '0') * powers[place % 9];
	}
	trim(m);
	return FLOW_OK;
}

static flow_status
store(const struct magnitude *m, int64_t scale, int negative, flow_builder *memory, flow_value *value)
{
	char digits[LIMBS_MAX * 9 + 1];
	char *at = digits + sizeof(digits);
	for (uint32_t i = 0; i < m->count; i++) {
		uint32_t limb = m->limbs[i];
		for (int k = 0; k < 9; k++, limb /= 10)
			*--at = (char)('0' + limb % 10);
	}
	return decimal_store(at, (uint64_t)(digits + sizeof(digits) - at), scale, negative, memory, value);
}

flow_status
decimal_store(const char *digits, uint64_t count, int64_t scale, int negative, flow_builder *memory, flow_value *value)
{
	while (count != 0 && *digits == '0') {
		digits++;
		count--;
	}
	if (count > FLOW_DECIMAL_MAX_DIGITS || scale > FLOW_DECIMAL_MAX_EXPONENT || scale < -FLOW_DECIMAL_MAX_EXPONENT)
		return FLOW_E_RANGE;
	flow_decimal *decimal = flow_builder_alloc(memory, sizeof(*decimal) + count + 1);
	if (decimal == NULL)
		return FLOW_E_MEMORY;
	int is_zero = count == 0;
	memset(decimal, 0, sizeof(*decimal));
	decimal->digits = memcpy(decimal + 1, is_zero ? "0" : digits, is_zero ? 1 : count);
	decimal->count = is_zero ? 1 : (uint32_t)count;
	decimal->scale = (int32_t)scale;
	decimal->negative = (uint8_t)(negative && !is_zero);
	*value = flow_cell(FLOW_DECIMAL, 0);
	value->as.decimal = decimal;
	return FLOW_OK;
}

static int
compare(const struct magnitude *a, const struct magnitude *b)
{
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	for (uint32_t i = a->count; i-- != 0;)
		if (a->limbs[i] != b->limbs[i])
			return a->limbs[i] < b->limbs[i] ? -1 : 1;
	return 0;
}

/* a += b */
static void
add(struct magnitude *a, const struct magnitude *b)
{
	uint32_t carry = 0;
	for (uint32_t i = 0; i < b->count || carry != 0; i++) {
		if (i == a->count)
			a->limbs[a->count++] = 0;
		uint32_t sum = a->limbs[i] + (i < b->count ? b->limbs[i] : 0) + carry;
		carry = sum >= BILLION;
		a->limbs[i] = sum - (carry ? BILLION : 0);
	}
}

/* a -= b, which is not larger. */
static void
subtract_from(struct magnitude *a, const struct magnitude *b)
{
	uint32_t borrow = 0;
	for (uint32_t i = 0; i < b->count || borrow != 0; i++) {
		uint32_t less = (i < b->count ? b->limbs[i] : 0) + borrow;
		borrow = a->limbs[i] < less;
		a->limbs[i] += (borrow ? BILLION : 0) - less;
	}
	trim(a);
}

flow_status
decimal_long_add(const flow_decimal *a, const flow_decimal *b, int subtract, flow_builder *memory, flow_value *sum)
{
	int64_t scale = a->scale > b->scale ? a->scale : b->scale;
	int a_negative = a->negative, b_negative = b->negative != (subtract != 0);
	struct magnitude x, y;
	flow_status status = load(&x, a, scale - a->scale, FLOW_DECIMAL_MAX_DIGITS);
	if (status == FLOW_OK)
		status = load(&y, b, scale - b->scale, FLOW_DECIMAL_MAX_DIGITS);
	if (status != FLOW_OK)
		return status;
	if (a_negative == b_negative) {
		add(&x, &y);
		return store(&x, scale, a_negative, memory, sum);
	}
	if (compare(&x, &y) >= 0) {
		subtract_from(&x, &y);
		return store(&x, scale, a_negative, memory, sum);
	}
	subtract_from(&y, &x);
	return store(&y, scale, b_negative, memory, sum);
}

flow_status
decimal_long_multiply(const flow_decimal *a, const flow_decimal *b, flow_builder *memory, flow_value *product)
{
	struct magnitude x, y, result;
	flow_status status = load(&x, a, 0, FLOW_DECIMAL_MAX_DIGITS);
	if (status == FLOW_OK)
		status = load(&y, b, 0, FLOW_DECIMAL_MAX_DIGITS);
	if (status != FLOW_OK)
		return status;
	result.count = x.count + y.count;
	memset(result.limbs, 0, result.count * sizeof(result.limbs[0]));
	for (uint32_t i = 0; i < x.count; i++) {
		uint64_t carry = 0;
		for (uint32_t j = 0; j < y.count || carry != 0; j++) {
			carry += result.limbs[i + j] + (j < y.count ? (uint64_t)x.limbs[i] * y.limbs[j] : 0);
			result.limbs[i + j] = (uint32_t)(carry % BILLION);
			carry /= BILLION;
		}
	}
	trim(&result);
	return store(&result, (int64_t)a->scale + b->scale, a->negative != b->negative, memory, product);
}

/* m = m * 10 + digit */
static void
push_digit(struct magnitude *m, unsigned digit)
{
	uint64_t carry = digit;
	for (uint32_t i = 0; i < m->count; i++) {
		carry += (uint64_t)m->limbs[i] * 10;
		m->limbs[i] = (uint32_t)(carry % BILLION);
		carry /= BILLION;
	}
	if (carry != 0)
		m->limbs[m->count++] = (uint32_t)carry;
}

/* How often `divisor` is in `rest`, 0 to 9; what is left stays in `rest`. */
static unsigned
take(struct magnitude *rest, const struct magnitude *divisor)
{
	unsigned times = 0;
	while (compare(rest, divisor) >= 0) {
		subtract_from(rest, divisor);
		times++;
	}
	return times;
}

static void
round_up(char *digits, uint64_t count)
{
	uint64_t i = count;
	while (i-- != 0 && ++digits[i] > '9')
		digits[i] = '0';
}

flow_status
decimal_long_divide(const flow_decimal *a, const flow_decimal *b, int32_t scale, flow_builder *memory,
					flow_value *quotient)
{
	int64_t zeros = (int64_t)scale + b->scale - a->scale; /* behind a, or, below zero, behind b */
	if (decimal_is_zero(a))
		return decimal_store("0", 1, scale, 0, memory, quotient);
	if (zeros > DIGITS_MAX || a->count + (uint64_t)(zeros > 0 ? zeros : 0) > DIGITS_MAX)
		return FLOW_E_RANGE;
	struct magnitude divisor, rest = { .count = 0 };
	if (zeros < 0 && (int64_t)b->count - zeros > (int64_t)a->count + 1) /* less than half of the last digit */
		return decimal_store("0", 1, scale, 0, memory, quotient);
	flow_status status = load(&divisor, b, zeros < 0 ? -zeros : 0, DIGITS_MAX);
	if (status != FLOW_OK)
		return status;
	char digits[DIGITS_MAX + 1]; /* one in front, for the carry of rounding */
	uint64_t count = 1, total = a->count + (uint64_t)(zeros > 0 ? zeros : 0);
	digits[0] = '0';
	for (uint64_t i = 0; i < total; i++) {
		push_digit(&rest, i < a->count ? (unsigned)(a->digits[i] - '0') : 0);
		digits[count++] = (char)('0' + take(&rest, &divisor));
	}
	struct magnitude twice = rest;
	add(&twice, &rest);
	if (compare(&twice, &divisor) >= 0)
		round_up(digits, count);
	return decimal_store(digits, count, scale, a->negative != b->negative, memory, quotient);
}
