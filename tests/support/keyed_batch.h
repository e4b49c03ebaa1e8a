/*
 * support/keyed_batch.h - batches that have only keys, with the columns that the host computes, for tests of state.
 */
#ifndef SUPPORT_KEYED_BATCH_H
#define SUPPORT_KEYED_BATCH_H

#include "base/batch.h"

/* One row a key; texts are copied. The caller releases it. Fails the test without memory. */
flow_batch *keyed_batch(batch_pool *pool, const flow_schema *key_schema, const flow_value *keys, uint32_t count);

#endif
