/* Decimals <-> big-endian two's complement (flow_sdk/number.h). */
#include "flow_sdk/number.h"

#define LIMB_COUNT (FLOW_DECIMAL_MAX_BYTES / 4 + 2) /* and room for a sign */
#define BILLION 1000000000u

/* A magnitude, least significant limb first. */
struct magnitude {
	uint32_t limbs[LIMB_COUNT];
	uint32_t count; /* without leading zeros */
};

static void
multiply_add(struct magnitude *m, uint32_t factor, uint32_t addend)
{
	uint64_t carry = addend;
	for (uint32_t i = 0; i < m->count; i++) {
		carry += (uint64_t)m->limbs[i] * factor;
		m->limbs[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry != 0)
		m->limbs[m->count++] = (uint32_t)carry;
}

/* Returns the rest. */
static uint32_t
divide(struct magnitude *m, uint32_t divisor)
{
	uint64_t rest = 0;
	for (uint32_t i = m->count; i-- != 0;) {
		rest = rest << 32 | m->limbs[i];
		m->limbs[i] = (uint32_t)(rest / divisor);
		rest %= divisor;
	}
	while (m->count != 0 && m->limbs[m->count - 1] == 0)
		m->count--;
	return (uint32_t)rest;
}

static int
read_bytes(flow_slice bytes, struct magnitude *m)
{
	const uint8_t *data = (const uint8_t *)bytes.data;
	int negative = bytes.size != 0 && data[0] >= 0x80;
	uint8_t filler = negative ? 0xFF : 0;
	uint64_t skip = 0;
	while (skip < bytes.size && data[skip] == filler)
		skip++;
	uint64_t size = bytes.size - skip;
	if (size > FLOW_DECIMAL_MAX_BYTES)
		return -1;
	m->count = (uint32_t)(size / 4 + 1);
	uint64_t carry = negative;
	for (uint32_t limb = 0; limb < m->count; limb++) {
		uint32_t word = 0;
		for (uint32_t i = 0; i < 4; i++) {
			uint64_t place = (uint64_t)limb * 4 + i;
			uint8_t byte = place < size ? data[bytes.size - 1 - place] : filler;
			word |= (uint32_t)(uint8_t)(byte ^ filler) << (8 * i);
		}
		carry += word;
		m->limbs[limb] = (uint32_t)carry;
		carry >>= 32;
	}
	while (m->count != 0 && m->limbs[m->count - 1] == 0)
		m->count--;
	return negative;
}

flow_status
flow_decimal_from_bytes(flow_slice bytes, int32_t scale, flow_builder *memory, flow_value *value)
{
	struct magnitude m;
	int negative = read_bytes(bytes, &m);
	if (negative < 0)
		return FLOW_E_RANGE;
	char text[LIMB_COUNT * 10 + 9];
	char *first = text + sizeof(text);
	do {
		uint32_t nine = divide(&m, BILLION);
		for (int i = 0; i < 9; i++, nine /= 10)
			*--first = (char)('0' + nine % 10);
	} while (m.count != 0);
	while (first < text + sizeof(text) - 1 && *first == '0')
		first++;
	uint64_t count = (uint64_t)(text + sizeof(text) - first);
	if (count > FLOW_DECIMAL_MAX_DIGITS)
		return FLOW_E_RANGE;
	flow_decimal *decimal = (flow_decimal *)flow_builder_alloc(memory, sizeof(*decimal) + count);
	if (decimal == NULL)
		return FLOW_E_MEMORY;
	memset(decimal, 0, sizeof(*decimal));
	decimal->digits = (char *)memcpy(decimal + 1, first, count);
	decimal->count = (uint32_t)count;
	decimal->scale = scale;
	decimal->negative = (uint8_t)(negative && !(count == 1 && *first == '0'));
	*value = flow_cell(FLOW_DECIMAL, 0);
	value->as.decimal = decimal;
	return FLOW_OK;
}

/* The digits at the decimal's scale brought to `scale`: FLOW_E_RANGE unless nothing is lost. */
static flow_status
read_digits(const flow_decimal *decimal, int32_t scale, struct magnitude *m)
{
	int64_t shift = (int64_t)scale - decimal->scale;
	uint64_t count = decimal->count;
	m->count = 0;
	if (count == 1 && decimal->digits[0] == '0')
		return FLOW_OK;
	for (; shift < 0; shift++)
		if (count == 0 || decimal->digits[--count] != '0')
			return FLOW_E_RANGE;
	if (count + (uint64_t)shift > FLOW_DECIMAL_MAX_DIGITS)
		return FLOW_E_RANGE;
	static const uint32_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, BILLION };
	for (uint64_t i = 0; i < count;) {
		uint32_t part = 0, digits = 0;
		for (; digits < 9 && i < count; digits++, i++)
			part = part * 10 + (uint32_t)(decimal->digits[i] - '0');
		multiply_add(m, powers[digits], part);
	}
	for (; shift > 0; shift -= shift > 9 ? 9 : shift)
		multiply_add(m, powers[shift > 9 ? 9 : shift], 0);
	return FLOW_OK;
}

flow_status
flow_decimal_to_bytes(const flow_decimal *decimal, int32_t scale, char *buffer, uint64_t *size)
{
	if (decimal->special != 0 || decimal->count > FLOW_DECIMAL_MAX_DIGITS)
		return FLOW_E_RANGE;
	struct magnitude m;
	flow_status status = read_digits(decimal, scale, &m);
	if (status != FLOW_OK)
		return status;
	m.limbs[m.count++] = 0; /* room for the sign */
	uint32_t carry = decimal->negative;
	for (uint32_t i = 0; decimal->negative && i < m.count; i++) {
		m.limbs[i] = ~m.limbs[i] + carry;
		carry = carry != 0 && m.limbs[i] == 0;
	}
	uint64_t bytes = (uint64_t)m.count * 4;
#define BYTE_AT(place) ((uint8_t)(m.limbs[(place) / 4] >> (8 * ((place) % 4))))
	while (bytes > 1 && ((BYTE_AT(bytes - 1) == 0 && BYTE_AT(bytes - 2) < 0x80) ||
						 (BYTE_AT(bytes - 1) == 0xFF && BYTE_AT(bytes - 2) >= 0x80)))
		bytes--;
	for (uint64_t i = 0; i < bytes; i++)
		buffer[i] = (char)BYTE_AT(bytes - 1 - i);
#undef BYTE_AT
	*size = bytes;
	return FLOW_OK;
}
