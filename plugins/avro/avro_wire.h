/*
 * Numbers as Avro writes them: zigzag varints.
 *
 * Reading goes at most 10 bytes beyond `at`, which the padding behind all input allows: the caller compares the new place with the
 * end. Writing needs AVRO_VARINT_MAX bytes. Threads: [any].
 */
#ifndef AVRO_WIRE_H
#define AVRO_WIRE_H

#include <stdint.h>
#include <string.h>

#define AVRO_VARINT_MAX 10

static inline uint64_t
avro_load64(const char *at)
{
	uint64_t word;
	memcpy(&word, at, 8);
	return word;
}

static inline int64_t
avro_unzigzag(uint64_t raw)
{
	return (int64_t)(raw >> 1 ^ (0 - (raw & 1)));
}

static inline uint64_t
avro_zigzag(int64_t number)
{
	return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}

/* The nine- and ten-byte forms. NULL: more than 64 bits. */
static inline const char *
avro_read_long_varint(const char *at, uint64_t *raw)
{
	uint64_t value = 0;
	for (int i = 0; i < AVRO_VARINT_MAX; i++) {
		uint8_t byte = (uint8_t)at[i];
		if (i == 9 && byte > 1)
			return NULL;
		value |= (uint64_t)(byte & 0x7F) << (7 * i);
		if (byte < 0x80) {
			*raw = value;
			return at + i + 1;
		}
	}
	return NULL;
}

/* Returns behind the varint; NULL: it has more than 64 bits. No branch tells short ones from long ones, since data mixes them. */
static inline const char *
avro_read_number(const char *at, uint64_t *raw)
{
	uint64_t word = avro_load64(at);
	uint64_t stops = ~word & 0x8080808080808080u;
	if (__builtin_expect(stops == 0, 0))
		return avro_read_long_varint(at, raw);
	unsigned bits = (unsigned)__builtin_ctzll(stops) + 1; /* 8 for each byte of the varint */
	word &= 0x7F7F7F7F7F7F7F7Fu & (UINT64_MAX >> (64 - bits));
	word = (word & 0x007F007F007F007Fu) | (word & 0x7F007F007F007F00u) >> 1;
	word = (word & 0x00003FFF00003FFFu) | (word & 0x3FFF00003FFF0000u) >> 2;
	word = (word & 0x000000000FFFFFFFu) | (word & 0x0FFFFFFF00000000u) >> 4;
	*raw = word;
	return at + bits / 8;
}

/* The same where one or two bytes are the rule: lengths, counts, branches. */
static inline const char *
avro_read_varint(const char *at, uint64_t *raw)
{
	uint64_t word = avro_load64(at);
	if ((word & 0x80) == 0) {
		*raw = word & 0x7F;
		return at + 1;
	}
	if ((word & 0x8000) == 0) {
		*raw = (word & 0x7F) | (word >> 1 & 0x3F80);
		return at + 2;
	}
	return avro_read_number(at, raw);
}

/* Behind a varint that nobody reads; NULL: it has more than 10 bytes. */
static inline const char *
avro_pass_varint(const char *at)
{
	uint64_t stops = ~avro_load64(at) & 0x8080808080808080u;
	if (__builtin_expect(stops != 0, 1))
		return at + (__builtin_ctzll(stops) + 1) / 8;
	uint64_t raw;
	return avro_read_long_varint(at, &raw);
}

static inline char *
avro_write_long_varint(char *at, uint64_t raw)
{
	for (; raw >= 0x80; raw >>= 7)
		*at++ = (char)(raw | 0x80);
	*at++ = (char)raw;
	return at;
}

/* Groups of seven bits are spread over the bytes of a word, which is written whole. No branch for short ones, as above. */
static inline char *
avro_write_number(char *at, uint64_t raw)
{
	if (__builtin_expect(raw >> 56 != 0, 0))
		return avro_write_long_varint(at, raw);
	unsigned last_bit = 63 ^ (unsigned)__builtin_clzll(raw | 1);
	unsigned bytes = (last_bit * 9 + 73) / 64; /* what last_bit / 7 + 1 is, but sooner: the next number waits for it */
	raw = (raw & 0x000000000FFFFFFFu) | (raw & 0x00FFFFFFF0000000u) << 4;
	raw = (raw & 0x00003FFF00003FFFu) | (raw & 0x0FFFC0000FFFC000u) << 2;
	raw = (raw & 0x007F007F007F007Fu) | (raw & 0x3F803F803F803F80u) << 1;
	raw |= 0x8080808080808080u & (((uint64_t)1 << 8 * (bytes - 1)) - 1);
	memcpy(at, &raw, 8);
	return at + bytes;
}

static inline char *
avro_write_varint(char *at, uint64_t raw)
{
	if (__builtin_expect(raw >= 0x80, 0))
		return avro_write_number(at, raw);
	*at = (char)raw;
	return at + 1;
}

/* Short texts without a call. */
static inline void
avro_copy(char *to, const char *from, uint64_t size)
{
	if (size > 32) {
		memcpy(to, from, size);
	} else if (size >= 16) {
		memcpy(to, from, 16);
		memcpy(to + size - 16, from + size - 16, 16);
	} else if (size >= 8) {
		memcpy(to, from, 8);
		memcpy(to + size - 8, from + size - 8, 8);
	} else if (size >= 4) {
		memcpy(to, from, 4);
		memcpy(to + size - 4, from + size - 4, 4);
	} else if (size != 0) {
		to[0] = from[0];
		to[size / 2] = from[size / 2];
		to[size - 1] = from[size - 1];
	}
}

static inline char *
avro_write_long(char *at, int64_t number)
{
	return avro_write_number(at, avro_zigzag(number));
}

#endif
