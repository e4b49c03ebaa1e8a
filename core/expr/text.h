/*
 * expr/text.h - small things about UTF-8 that this room needs. Internal to this room. Threads: [any].
 */
#ifndef EXPR_TEXT_H
#define EXPR_TEXT_H

#include "flow/abi.h"

/* Bytes from the start that are valid UTF-8 (no overlong forms, no surrogates). */
uint64_t text_valid_prefix(flow_slice text);
/* Characters; bytes that are not UTF-8 count as the lead bytes among them. */
uint64_t text_characters(flow_slice text);
/* Offset of the character with the 0-based number, at most the size. */
uint64_t text_offset(flow_slice text, uint64_t character);
/* Bytes of the character at the start of `text`, which is not empty. */
uint64_t text_step(flow_slice text);
/* The pattern is well-formed: `escape` (empty: none) stands before %, _ or itself. */
int like_pattern_valid(flow_slice pattern, flow_slice escape);
int like_matches(flow_slice text, flow_slice pattern, flow_slice escape);
/* Offset of `needle` in `text` at or behind `from`, or UINT64_MAX. */
uint64_t text_find(flow_slice text, flow_slice needle, uint64_t from);

#endif
