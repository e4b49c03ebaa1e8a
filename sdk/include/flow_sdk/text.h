/*
 * flow_sdk/text.h - what text formats need besides numbers and times: UTF-8, uuid, base64.
 *
 * Ownership: nothing is kept. Threads: [any].
 */
#ifndef FLOW_SDK_TEXT_H
#define FLOW_SDK_TEXT_H

#include "flow/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Offset of the first byte that is not UTF-8 as RFC 3629 says (no surrogates, no overlong forms); `size` if all is well. */
uint64_t flow_utf8_check(const char *text, uint64_t size);

#define FLOW_UUID_TEXT 36

/* "123e4567-e89b-12d3-a456-426614174000" in either case -> 16 bytes. Anything else: FLOW_E_DECODE. */
flow_status flow_parse_uuid(flow_slice text, char *bytes);
/* 16 bytes -> FLOW_UUID_TEXT characters, lower case, no NUL. */
void flow_print_uuid(const char *bytes, char *text);

/* Characters that base64 (RFC 4648, padded) needs for `size` bytes. */
static inline uint64_t
flow_base64_size(uint64_t size)
{
	return (size + 2) / 3 * 4;
}
void flow_print_base64(flow_slice bytes, char *text);
/* `bytes` has room for text.size / 4 * 3. Only the padded form without line breaks and with zero spare bits is taken: FLOW_E_DECODE. */
flow_status flow_parse_base64(flow_slice text, char *bytes, uint64_t *size);

#ifdef __cplusplus
}
#endif
#endif
