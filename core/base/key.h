/*
 * base/key.h - canonical keys: bytes that never change, because they are persisted.
 *
 * Canonical bytes order like their values (memcmp) and are equal exactly for equal keys. They start with a class byte; all
 * integers are one class, so int32 5, int64 5 and uint64 5 are one key, and decimals stand among them by value (1.50 = 1.5,
 * 3.0 = 3). Floats are a class of their own; -0.0 is 0.0, every NaN is one key. Times are equal whatever their unit. Composite
 * keys (records, lists) are the parts one after the other, each self-delimiting. A null key, or a null part, has bytes too;
 * whether it is allowed is the caller's decision. The form is written down in base/key_bytes.h.
 *
 * hash: XXH3 64 bits, seed 0, over the canonical bytes. Key group: group = murmur3_32(low 32 bits of the hash as one
 * little-endian word, seed 0), absolute value (INT32_MIN: 0), modulo the number of groups. Vectors: tests/unit/base/key_test.c.
 */
#ifndef BASE_KEY_H
#define BASE_KEY_H

#include "flow/batch.h"
#include "flow/host.h"
#include "flow/value.h"

/* Appends the canonical bytes of a value to the buffer. FLOW_E_TYPE: maps have no key form. FLOW_E_LIMIT: nested too deeply. */
flow_status key_encode(const flow_value *value, flow_buffer *buffer);
/* Decodes one value (from key_encode) into `memory`; *used = bytes read. Integers come back as int64 where they fit, else
 * uint64; decimals without trailing zeros; times in microseconds, in nanoseconds where they are that fine, in seconds where
 * microseconds do not fit. FLOW_E_CORRUPT on anything else. */
flow_status key_decode(flow_slice bytes, flow_builder *memory, flow_value *value, uint64_t *used);

/* The same into a builder's memory, without an intermediate buffer for integers and strings. */
flow_status key_encode_into(const flow_value *key, flow_builder *memory, flow_slice *bytes);
/* Those of the selected rows' keys; of null keys data NULL. */
flow_status key_encode_rows(const flow_batch *batch, flow_builder *memory, flow_slice *bytes);

uint64_t key_hash(flow_slice canonical);
uint32_t key_group(uint64_t hash, uint32_t groups);
uint32_t key_group_of_hash32(int32_t hash, uint32_t groups); /* the mixing alone, for vectors */
/* Task that owns a group, and the groups [first, last] of a task. 1 <= tasks <= groups. */
uint32_t key_task(uint32_t group, uint32_t tasks, uint32_t groups);
void key_task_groups(uint32_t task, uint32_t tasks, uint32_t groups, uint32_t *first, uint32_t *last);

/* Computes hash and bytes columns for the selected rows of a batch that has a key column, into `memory`. Rows whose key is null
 * get data NULL. Integers and strings take a fast path. */
flow_status key_columns(const flow_batch *batch, flow_builder *memory, uint64_t **hash, flow_slice **bytes);

extern const flow_keys keys_service; /* flow.keys/1 */

#endif
