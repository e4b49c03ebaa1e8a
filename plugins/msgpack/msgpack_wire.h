/*
 * One item of MessagePack: its head. Inline, as everything is read through it.
 */
#ifndef MSGPACK_WIRE_H
#define MSGPACK_WIRE_H

#include "flow/flow.h"

#define PACK_NIL 0
#define PACK_BOOL 1
#define PACK_INT 2  /* int64 */
#define PACK_UINT 3 /* uint64, above INT64_MAX */
#define PACK_FLOAT 4
#define PACK_STR 5 /* size bytes at body; likewise: */
#define PACK_BIN 6
#define PACK_EXT 7
#define PACK_ARRAY 8 /* size items follow */
#define PACK_MAP 9   /* size pairs follow */

#define PACK_EXT_TIMESTAMP (-1)

typedef struct pack_item {
	uint8_t type;
	int8_t ext;
	uint8_t narrow; /* a float of 32 bits */
	uint8_t reserved;
	uint32_t size;
	union {
		int64_t int64; /* also bool */
		uint64_t uint64;
		double float64;
		const char *body;
	} as;
} pack_item;

static inline uint64_t
pack_big_endian(const char *at, uint32_t bytes)
{
	uint16_t two;
	uint32_t four;
	uint64_t eight;
	switch (bytes) {
	case 1:
		return (uint8_t)*at;
	case 2:
		memcpy(&two, at, 2);
		return __builtin_bswap16(two);
	case 4:
		memcpy(&four, at, 4);
		return __builtin_bswap32(four);
	default:
		memcpy(&eight, at, 8);
		return __builtin_bswap64(eight);
	}
}

/* The head of an item with a body: `bytes` of length and, for extensions, their type. */
static inline flow_status
pack_read_sized(const char **at, const char *end, uint8_t type, uint32_t bytes, pack_item *item)
{
	uint64_t head = 1 + (uint64_t)bytes + (type == PACK_EXT);
	if ((uint64_t)(end - *at) < head)
		return FLOW_AGAIN;
	item->type = type;
	item->size = (uint32_t)pack_big_endian(*at + 1, bytes);
	if (type == PACK_EXT)
		item->ext = (int8_t)(*at)[1 + bytes];
	*at += head;
	item->as.body = *at;
	return FLOW_OK;
}

static inline flow_status
pack_read_signed(const char **at, const char *end, uint32_t bytes, pack_item *item)
{
	if ((uint64_t)(end - *at) < 1 + (uint64_t)bytes)
		return FLOW_AGAIN;
	uint64_t number = pack_big_endian(*at + 1, bytes);
	uint32_t shift = 64 - 8 * bytes;
	item->type = PACK_INT;
	item->as.int64 = (int64_t)(number << shift) >> shift;
	*at += 1 + bytes;
	return FLOW_OK;
}

static inline flow_status
pack_read_unsigned(const char **at, const char *end, uint32_t bytes, pack_item *item)
{
	if ((uint64_t)(end - *at) < 1 + (uint64_t)bytes)
		return FLOW_AGAIN;
	item->as.uint64 = pack_big_endian(*at + 1, bytes);
	item->type = item->as.uint64 > INT64_MAX ? PACK_UINT : PACK_INT;
	*at += 1 + bytes;
	return FLOW_OK;
}

static inline flow_status
pack_read_float(const char **at, const char *end, uint32_t bytes, pack_item *item)
{
	if ((uint64_t)(end - *at) < 1 + (uint64_t)bytes)
		return FLOW_AGAIN;
	uint64_t bits = pack_big_endian(*at + 1, bytes);
	item->type = PACK_FLOAT;
	item->narrow = bytes == 4;
	if (bytes == 4) {
		uint32_t low = (uint32_t)bits;
		float number;
		memcpy(&number, &low, 4);
		item->as.float64 = (double)number;
	} else {
		memcpy(&item->as.float64, &bits, 8);
	}
	*at += 1 + bytes;
	return FLOW_OK;
}

static inline flow_status
pack_read_fixed_ext(const char **at, const char *end, uint32_t size, pack_item *item)
{
	if (end - *at < 2)
		return FLOW_AGAIN;
	item->type = PACK_EXT;
	item->ext = (int8_t)(*at)[1];
	item->size = size;
	*at += 2;
	item->as.body = *at;
	return FLOW_OK;
}

/* Heads from 0xC0 to 0xDF. */
static inline flow_status
pack_read_coded(const char **at, const char *end, pack_item *item)
{
	uint8_t code = (uint8_t) * *at;
	switch (code) {
	case 0xC0:
		item->type = PACK_NIL;
		++*at;
		return FLOW_OK;
	case 0xC2:
	case 0xC3:
		item->type = PACK_BOOL;
		item->as.int64 = code & 1;
		++*at;
		return FLOW_OK;
	case 0xC4:
	case 0xC5:
	case 0xC6:
		return pack_read_sized(at, end, PACK_BIN, 1u << (code - 0xC4), item);
	case 0xC7:
	case 0xC8:
	case 0xC9:
		return pack_read_sized(at, end, PACK_EXT, 1u << (code - 0xC7), item);
	case 0xCA:
	case 0xCB:
		return pack_read_float(at, end, code == 0xCA ? 4 : 8, item);
	case 0xCC:
	case 0xCD:
	case 0xCE:
	case 0xCF:
		return pack_read_unsigned(at, end, 1u << (code - 0xCC), item);
	case 0xD0:
	case 0xD1:
	case 0xD2:
	case 0xD3:
		return pack_read_signed(at, end, 1u << (code - 0xD0), item);
	case 0xD4:
	case 0xD5:
	case 0xD6:
	case 0xD7:
	case 0xD8:
		return pack_read_fixed_ext(at, end, 1u << (code - 0xD4), item);
	case 0xD9:
	case 0xDA:
	case 0xDB:
		return pack_read_sized(at, end, PACK_STR, 1u << (code - 0xD9), item);
	case 0xDC:
	case 0xDD:
		return pack_read_sized(at, end, PACK_ARRAY, code == 0xDC ? 2 : 4, item);
	case 0xDE:
	case 0xDF:
		return pack_read_sized(at, end, PACK_MAP, code == 0xDE ? 2 : 4, item);
	default:
		return FLOW_E_DECODE; /* 0xC1 is never used */
	}
}

/* Reads the head at *at and moves behind it (before a body). FLOW_AGAIN: it does not end before `end`; FLOW_E_DECODE: there is no such. */
static inline flow_status
pack_read(const char **at, const char *end, pack_item *item)
{
	if (*at >= end)
		return FLOW_AGAIN;
	uint8_t code = (uint8_t) * *at;
	if (code >= 0xC0 && code < 0xE0)
		return pack_read_coded(at, end, item);
	++*at;
	if (code < 0x80 || code >= 0xE0) {
		item->type = PACK_INT;
		item->as.int64 = code < 0x80 ? code : (int64_t)code - 256;
	} else if (code >= 0xA0) {
		item->type = PACK_STR;
		item->size = code & 31;
		item->as.body = *at;
	} else {
		item->type = code < 0x90 ? PACK_MAP : PACK_ARRAY;
		item->size = code & 15;
	}
	return FLOW_OK;
}

/* Bytes behind the head that belong to the item itself. */
static inline uint64_t
pack_body_size(const pack_item *item)
{
	return item->type >= PACK_STR && item->type <= PACK_EXT ? item->size : 0;
}

#endif
