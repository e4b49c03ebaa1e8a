/*
 * flow_sdk/map.h - keys as formats bring them: the same key twice, fields of a record by name.
 *
 * Threads: [any].
 */
#ifndef FLOW_SDK_MAP_H
#define FLOW_SDK_MAP_H

#include "flow/batch.h"
#include "flow/host.h"
#include "flow/value.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FLOW_NO_SAME_KEY (-1)
#define FLOW_NO_KEY_MEMORY (-2)

/* Index of the first entry whose key stands before it too, or one of the above. Hostile keys cost no more than others: few are
 * compared, many are sorted (pointers in `memory`). Keys are strings. */
int64_t flow_same_key(const flow_map_entry *entries, uint64_t count, flow_builder *memory);

/* Of equal keys the last value stays, at the place of the first. Returns how many entries are left, or FLOW_NO_KEY_MEMORY. */
int64_t flow_keep_last_keys(flow_map_entry *entries, uint64_t count, flow_builder *memory);

/* The fields of a record by their names, for every record. The schema must outlive it. */
typedef struct flow_field_index flow_field_index;

flow_field_index *flow_field_index_create(const flow_host *host, const flow_schema *record); /* NULL: out of memory */
int32_t flow_field_index_find(const flow_field_index *index, flow_slice name);               /* -1: no such field */
void flow_field_index_release(const flow_host *host, flow_field_index *index);               /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
