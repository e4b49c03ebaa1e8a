/* Values -> canonical key bytes (base/key.h; the form is in base/key_bytes.h). */
#include <string.h>

#include "base/key.h"
#include "base/key_bytes.h"

#define WHOLE_MAX 9 /* bytes of a whole */

static flow_status encode(const flow_value *value, flow_buffer *buffer, int depth);

/* At most WHOLE_MAX bytes. */
static char *
put_whole(char *at, uint64_t magnitude, int negative)
{
	unsigned n = (71 - (unsigned)__builtin_clzll(magnitude | 1)) / 8;
	n = magnitude == 0 ? 0 : n;
	*at++ = (char)(negative ? KEY_WHOLE_ZERO - n : KEY_WHOLE_ZERO + n);
	uint64_t bits = negative ? ~magnitude : magnitude;
	for (unsigned i = n; i-- > 0;)
		*at++ = (char)(bits >> (8 * i));
	return at;
}

static uint64_t
magnitude_of(int64_t number)
{
	return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

static char *
put_integer(char *at, uint64_t magnitude, int negative)
{
	*at++ = KEY_NUMBER;
	at = put_whole(at, magnitude, negative);
	*at++ = KEY_END;
	return at;
}

static flow_status
encode_integer(uint64_t magnitude, int negative, flow_buffer *buffer)
{
	char *at = flow_buffer_reserve(buffer, WHOLE_MAX + 2);
	if (at == NULL)
		return FLOW_E_MEMORY;
	buffer->size = (uint64_t)(put_integer(at, magnitude, negative) - buffer->data);
	return FLOW_OK;
}

/* Of 8 bytes: the highest bits of ESCAPED tell whether one is 0 or 1. */
#define ESCAPED 0x8080808080808080u
static inline uint64_t
escaped_bits(uint64_t word)
{
	return (word - 0x0202020202020202u) & ~word;
}

/* Whether the text goes in as it is; only asked of texts of 8 bytes and more. */
static int
is_plain(const char *text, uint64_t size)
{
	uint64_t word;
	memcpy(&word, text + size - 8, 8);
	uint64_t escaped = escaped_bits(word);
	for (uint64_t i = 0; i + 8 < size; i += 8) {
		memcpy(&word, text + i, 8);
		escaped |= escaped_bits(word);
	}
	return (escaped & ESCAPED) == 0;
}

static char *
put_text(char *at, const char *text, uint64_t size)
{
	if (size >= 8 && size <= 64 && is_plain(text, size)) {
		for (uint64_t i = 0; i + 8 < size; i += 8)
			memcpy(at + i, text + i, 8);
		memcpy(at + size - 8, text + size - 8, 8);
		at[size] = KEY_END;
		return at + size + 1;
	}
	for (uint64_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c <= 1) {
			*at++ = 1;
			c++;
		}
		*at++ = (char)c;
	}
	*at++ = KEY_END;
	return at;
}

static flow_status
encode_text(uint8_t key_class, const flow_value *value, flow_buffer *buffer)
{
	char *at = flow_buffer_reserve(buffer, 2 * (uint64_t)value->size + 2);
	if (at == NULL)
		return FLOW_E_MEMORY;
	*at++ = (char)key_class;
	buffer->size = (uint64_t)(put_text(at, value->as.text, value->size) - buffer->data);
	return FLOW_OK;
}

static char *
put_big_endian(char *at, uint64_t number, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--)
		*at++ = (char)(number >> (8 * i));
	return at;
}

static flow_status
encode_float(double number, flow_buffer *buffer)
{
	char *at = flow_buffer_reserve(buffer, 9);
	if (at == NULL)
		return FLOW_E_MEMORY;
	uint64_t bits;
	if (number == 0)
		number = 0; /* -0.0 too */
	memcpy(&bits, &number, 8);
	if (number != number)
		bits = 0x7FF8000000000000u;
	bits = bits >> 63 != 0 ? ~bits : bits | (uint64_t)1 << 63;
	*at++ = KEY_FLOAT;
	put_big_endian(at, bits, 8);
	buffer->size += 9;
	return FLOW_OK;
}

static flow_status
encode_date(int64_t days, flow_buffer *buffer)
{
	char *at = flow_buffer_reserve(buffer, WHOLE_MAX + 1);
	if (at == NULL)
		return FLOW_E_MEMORY;
	*at++ = KEY_DATE;
	buffer->size = (uint64_t)(put_whole(at, magnitude_of(days), days < 0) - buffer->data);
	return FLOW_OK;
}

static flow_status
encode_time(uint8_t key_class, const flow_value *value, flow_buffer *buffer)
{
	int64_t per_second = 1, nanoseconds = 1;
	for (int i = 0; i < 9; i++) {
		per_second *= i < value->unit ? 10 : 1;
		nanoseconds *= i < value->unit ? 1 : 10;
	}
	int64_t seconds = value->as.int64 / per_second, rest = value->as.int64 % per_second;
	if (rest < 0) {
		seconds--;
		rest += per_second;
	}
	char *at = flow_buffer_reserve(buffer, WHOLE_MAX + 5);
	if (at == NULL)
		return FLOW_E_MEMORY;
	*at++ = (char)key_class;
	at = put_whole(at, magnitude_of(seconds), seconds < 0);
	buffer->size = (uint64_t)(put_big_endian(at, (uint64_t)(rest * nanoseconds), 4) - buffer->data);
	return FLOW_OK;
}

/* ---- decimals ---- */

/* The digits of a decimal from its first that is not zero to its last that is not zero, as 0.ddd * 10^exponent. */
struct digits {
	const char *text;
	uint64_t count;
	int64_t exponent;
};

static struct digits
significant(const flow_decimal *decimal)
{
	struct digits d = { decimal->digits, decimal->count, (int64_t)decimal->count - decimal->scale };
	while (d.count != 0 && d.text[d.count - 1] == '0')
		d.count--;
	while (d.count != 0 && *d.text == '0') {
		d.text++;
		d.count--;
		d.exponent--;
	}
	return d;
}

static unsigned
digit_at(const struct digits *d, uint64_t i)
{
	return i < d->count ? (unsigned)(d->text[i] - '0') : 0;
}

/* Digit pairs, each + 1, and the end. */
static char *
put_pairs(char *at, const struct digits *d, uint64_t from)
{
	for (uint64_t i = from; i < d->count; i += 2)
		*at++ = (char)(digit_at(d, i) * 10 + digit_at(d, i + 1) + 1);
	*at++ = KEY_END;
	return at;
}

static flow_status
encode_huge(const struct digits *d, int negative, flow_buffer *buffer)
{
	char *start = flow_buffer_reserve(buffer, d->count / 2 + 9);
	if (start == NULL)
		return FLOW_E_MEMORY;
	*start++ = KEY_NUMBER;
	*start++ = (char)(negative ? KEY_HUGE_NEGATIVE : KEY_HUGE);
	char *at = put_big_endian(start, (uint64_t)d->exponent, 4);
	at = put_pairs(at, d, 0);
	for (char *c = start; negative && c < at; c++)
		*c = (char)~*c;
	buffer->size = (uint64_t)(at - buffer->data);
	return FLOW_OK;
}

/* The part before the point; 0 if it does not fit. */
static int
whole_part(const struct digits *d, uint64_t *whole)
{
	*whole = 0;
	if (d->exponent > 20)
		return 0;
	for (int64_t i = 0; i < d->exponent; i++)
		if (__builtin_mul_overflow(*whole, 10, whole) ||
			__builtin_add_overflow(*whole, digit_at(d, (uint64_t)i), whole))
			return 0;
	return 1;
}

/* The fraction's pairs; below zero those of 1 - fraction, since the whole was rounded down. */
static char *
put_fraction(char *at, const struct digits *d, int negative)
{
	uint64_t from = d->exponent > 0 ? (uint64_t)d->exponent : 0;
	uint64_t leading = d->exponent < 0 ? (uint64_t)-d->exponent : 0; /* zeros behind the point */
	uint64_t count = d->count - from + leading;
	for (uint64_t i = 0; i < count; i += 2) {
		unsigned first = i < leading ? 0 : digit_at(d, from + i - leading);
		unsigned second = i + 1 < leading ? 0 : digit_at(d, from + i + 1 - leading);
		unsigned pair = first * 10 + second;
		int last = i + 2 >= count;
		if (negative) /* 100 - x for the last pair, which is not 0, and 99 - x before it */
			pair = (last ? 100 : 99) - pair;
		*at++ = (char)(pair + 1);
	}
	*at++ = KEY_END;
	return at;
}

static flow_status
encode_special(const flow_decimal *decimal, flow_buffer *buffer)
{
	char bytes[2] = { KEY_NUMBER, (char)(decimal->special == FLOW_DECIMAL_NAN ? KEY_NAN
										 : decimal->negative                  ? KEY_MINUS_INFINITY
																			  : KEY_INFINITY) };
	return flow_buffer_append(buffer, bytes, 2);
}

static flow_status
encode_decimal(const flow_decimal *decimal, flow_buffer *buffer)
{
	if (decimal->special != 0)
		return encode_special(decimal, buffer);
	struct digits d = significant(decimal);
	uint64_t whole;
	if (d.count == 0)
		return encode_integer(0, 0, buffer);
	if (!whole_part(&d, &whole))
		return encode_huge(&d, decimal->negative, buffer);
	if (d.exponent >= 0 && (uint64_t)d.exponent >= d.count)
		return encode_integer(whole, decimal->negative, buffer);
	if (decimal->negative && whole++ == UINT64_MAX)
		return encode_huge(&d, 1, buffer);
	uint64_t leading = d.exponent < 0 ? (uint64_t)-d.exponent : 0;
	char *at = flow_buffer_reserve(buffer, WHOLE_MAX + (d.count + leading) / 2 + 4);
	if (at == NULL)
		return FLOW_E_MEMORY;
	*at++ = KEY_NUMBER;
	at = put_whole(at, whole, decimal->negative);
	buffer->size = (uint64_t)(put_fraction(at, &d, decimal->negative) - buffer->data);
	return FLOW_OK;
}

/* ---- everything ---- */

static flow_status
encode_parts(uint8_t key_class, const flow_value *parts, uint64_t count, flow_buffer *buffer, int depth)
{
	const char head = (char)key_class, end = KEY_END;
	flow_status status = depth == KEY_DEPTH_MAX ? FLOW_E_LIMIT : flow_buffer_append(buffer, &head, 1);
	for (uint64_t i = 0; i < count && status == FLOW_OK; i++)
		status = encode(&parts[i], buffer, depth + 1);
	return status == FLOW_OK ? flow_buffer_append(buffer, &end, 1) : status;
}

static flow_status
encode_small(const char *bytes, uint64_t size, const void *more, uint64_t more_size, flow_buffer *buffer)
{
	flow_status status = flow_buffer_append(buffer, bytes, size);
	return status == FLOW_OK ? flow_buffer_append(buffer, more, more_size) : status;
}

static flow_status
encode(const flow_value *value, flow_buffer *buffer, int depth)
{
	static const char null_key[] = { KEY_NULL }, truths[2][2] = { { KEY_BOOL, 0 }, { KEY_BOOL, 1 } },
					  uuid_key[] = { KEY_UUID };
	switch (value->type) {
	case FLOW_NULL:
		return flow_buffer_append(buffer, null_key, 1);
	case FLOW_BOOL:
		return flow_buffer_append(buffer, truths[value->as.int64 != 0], 2);
	case FLOW_INT64:
		return encode_integer(magnitude_of(value->as.int64), value->as.int64 < 0, buffer);
	case FLOW_UINT64:
		return encode_integer(value->as.uint64, 0, buffer);
	case FLOW_FLOAT64:
		return encode_float(value->as.float64, buffer);
	case FLOW_DECIMAL:
		return encode_decimal(value->as.decimal, buffer);
	case FLOW_STRING:
		return encode_text(KEY_STRING, value, buffer);
	case FLOW_BYTES:
		return encode_text(KEY_BYTES, value, buffer);
	case FLOW_DATE:
		return encode_date(value->as.int64, buffer);
	case FLOW_TIME:
		return encode_time(KEY_TIME, value, buffer);
	case FLOW_TIMESTAMP:
		return encode_time((value->flags & FLOW_ZONED) != 0 ? KEY_TIMESTAMP : KEY_LOCAL_TIMESTAMP, value, buffer);
	case FLOW_UUID:
		return encode_small(uuid_key, 1, value->as.text, 16, buffer);
	case FLOW_LIST:
		return encode_parts(KEY_LIST, value->as.list->items, value->as.list->count, buffer, depth);
	case FLOW_RECORD:
		return encode_parts(KEY_RECORD, value->as.record, value->size, buffer, depth);
	default:
		return FLOW_E_TYPE;
	}
}

flow_status
key_encode(const flow_value *value, flow_buffer *buffer)
{
	uint64_t before = buffer->size;
	flow_status status = encode(value, buffer, 0);
	if (status != FLOW_OK)
		buffer->size = before;
	return status;
}

/* ---- into a builder's memory ---- */

static flow_status
grow_in_builder(flow_buffer *buffer, uint64_t more)
{
	uint64_t capacity = buffer->capacity * 2;
	while (capacity - buffer->size < more)
		capacity *= 2;
	char *data = flow_builder_alloc(buffer->host, capacity);
	if (data == NULL)
		return FLOW_E_MEMORY;
	memcpy(data, buffer->data, buffer->size);
	buffer->data = data;
	buffer->capacity = capacity;
	return FLOW_OK;
}

static flow_status
encode_anything(const flow_value *key, flow_builder *memory, flow_slice *bytes)
{
	char first[512];
	flow_buffer buffer = { .struct_size = FLOW_SIZEOF(flow_buffer),
						   .data = first,
						   .capacity = sizeof(first),
						   .grow = grow_in_builder,
						   .host = memory };
	flow_status status = encode(key, &buffer, 0);
	if (status != FLOW_OK)
		return status;
	if (buffer.data == first) {
		buffer.data = (char *)(uintptr_t)flow_builder_copy(memory, first, buffer.size);
		if (buffer.data == NULL)
			return FLOW_E_MEMORY;
	}
	*bytes = flow_slice_make(buffer.data, buffer.size);
	return FLOW_OK;
}

/* Gives back what was allocated and not used; the builder stays aligned. */
static void
give_back(flow_builder *memory, const char *end)
{
	memory->next -= (memory->next - end) & ~(ptrdiff_t)7;
}

flow_status
key_encode_into(const flow_value *key, flow_builder *memory, flow_slice *bytes)
{
	char *start, *end;
	switch (key->type) {
	case FLOW_INT64:
		start = flow_builder_alloc(memory, WHOLE_MAX + 2);
		if (start == NULL)
			return FLOW_E_MEMORY;
		end = put_integer(start, magnitude_of(key->as.int64), key->as.int64 < 0);
		break;
	case FLOW_STRING:
		start = flow_builder_alloc(memory, 2 * (uint64_t)key->size + 2);
		if (start == NULL)
			return FLOW_E_MEMORY;
		*start = KEY_STRING;
		end = put_text(start + 1, key->as.text, key->size);
		break;
	default:
		return encode_anything(key, memory, bytes);
	}
	give_back(memory, end);
	*bytes = flow_slice_make(start, (uint64_t)(end - start));
	return FLOW_OK;
}

/* ---- columns ---- */

#define SHORT_LEAST 8u
#define SHORT_MOST 32u

/* Copies a text of SHORT_LEAST to SHORT_MOST bytes as overlapping words; 0: a byte of it must be escaped. */
static inline int
copy_short(char *to, const char *text, uint32_t size)
{
	uint64_t first, second, third, last;
	uint32_t inner = size > 16 ? 8 : 0; /* how far the two in the middle are from the ends */
	memcpy(&first, text, 8);
	memcpy(&second, text + inner, 8);
	memcpy(&third, text + size - 8 - inner, 8);
	memcpy(&last, text + size - 8, 8);
	memcpy(to, &first, 8);
	memcpy(to + inner, &second, 8);
	memcpy(to + size - 8 - inner, &third, 8);
	memcpy(to + size - 8, &last, 8);
	return ((escaped_bits(first) | escaped_bits(second) | escaped_bits(third) | escaped_bits(last)) & ESCAPED) == 0;
}

/* What most keys are: short texts without anything to escape. 0: this is none, or memory has no room for it. */
static inline int
encode_short(const flow_value *key, flow_builder *memory, flow_slice *bytes)
{
	const uint32_t size = key->size;
	char *at = memory->next;
	if (key->type != FLOW_STRING || size - SHORT_LEAST > SHORT_MOST - SHORT_LEAST ||
		memory->end - at < (ptrdiff_t)SHORT_MOST + 8)
		return 0;
	*at = KEY_STRING;
	at[1 + size] = KEY_END;
	if (!copy_short(at + 1, key->as.text, size))
		return 0;
	*bytes = flow_slice_make(at, (uint64_t)size + 2);
	memory->next = at + ((uint64_t)size + 9) / 8 * 8;
	return 1;
}

flow_status
key_encode_rows(const flow_batch *batch, flow_builder *memory, flow_slice *bytes)
{
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		const flow_value *key = &batch->key[row];
		if (encode_short(key, memory, &bytes[row]))
			continue;
		bytes[row] = flow_slice_make(NULL, 0);
		flow_status status = key->type == FLOW_NULL ? FLOW_OK : key_encode_into(key, memory, &bytes[row]);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}
