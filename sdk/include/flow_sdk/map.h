/*
 * flow_sdk/map.h - maps as formats bring them: the same key twice.
 *
 * Threads: [any].
 */
#ifndef FLOW_SDK_MAP_H
#define FLOW_SDK_MAP_H

#include "flow/batch.h"
#include "flow/value.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FLOW_NO_SAME_KEY (-1)
#define FLOW_NO_KEY_MEMORY (-2)

/* Index of the first entry whose key stands before it too, or one of the above. Hostile keys cost no more than others: few are
 * compared, many are sorted (pointers in `memory`). Keys are strings. */
int64_t flow_same_key(const flow_map_entry *entries, uint64_t count, flow_builder *memory);

#ifdef __cplusplus
}
#endif
#endif
