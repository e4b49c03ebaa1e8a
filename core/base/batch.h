/*
 * base/batch.h - how the host makes batches: pooled builders over chunks, reference counts, the memory budget.
 *
 * A builder is created once per place that produces batches and reused. builder_finish() turns what is in it into an
 * immutable batch (reference count 1, owned by the caller) and leaves the builder empty. In steady state neither
 * allocates: chunks and batch heads go back to a pool when the last reference is released.
 *
 * Threads: a builder belongs to one task; batches are [any]. Pools are per memory_budget and thread-safe (a small
 * cache per builder, one lock per refill of that cache).
 */
#ifndef BASE_BATCH_H
#define BASE_BATCH_H

#include "flow/batch.h"
#include "flow/function.h"
#include "flow/host.h"

typedef struct batch_pool batch_pool;

/* A pool with a budget: `limit` bytes of chunks (0: none). Over it batch_pool_pressed() is true, which means
 * back-pressure: sources stop reading; running operators may still go on up to twice the limit. */
batch_pool *batch_pool_create(uint64_t limit);
void batch_pool_destroy(batch_pool *pool); /* all batches of it are released */
int batch_pool_pressed(const batch_pool *pool);
uint64_t batch_pool_used(const batch_pool *pool);
uint64_t batch_pool_peak(const batch_pool *pool);
/* From now on memory that comes back is overwritten: whoever kept a pointer sees garbage (--check-plugins). */
void batch_pool_overwrite(batch_pool *pool);

/* Called for a builder's reject; NULL: rejections fail with FLOW_E_DECODE. */
typedef flow_status (*builder_reject)(void *context, flow_builder *builder, const flow_rejection *rejection);

/* Limits of the batches: 0 = FLOW_BATCH_ROWS, FLOW_BATCH_BYTES. */
flow_builder *builder_create(batch_pool *pool, uint32_t rows, uint64_t bytes);
void builder_destroy(flow_builder *builder); /* what is in it is dropped; NULL is allowed */
void builder_on_reject(flow_builder *builder, builder_reject reject, void *context);
void builder_clear(flow_builder *builder); /* drops rows, memory and kept batches */
/* For checks, which look at every chunk: whether the pointer is into the own memory of a builder or batch; whether the batch stays
 * alive as long as what the builder makes. */
int builder_holds(const flow_builder *builder, const void *pointer);
int batch_holds(const flow_batch *batch, const void *pointer);
int builder_keeps(const flow_builder *builder, const flow_batch *batch);

/* What finish puts into the batch's head. */
typedef struct batch_head {
	uint32_t flags;            /* FLOW_BATCH_*; added to builder->flags */
	const flow_schema *schema; /* retained by the batch; NULL: the schema `bytes` */
	const flow_schema *key_schema;
	uint32_t input;
	uint32_t partition; /* UINT32_MAX: none */
	uint32_t number;    /* of the partition, for people: flow_partition.number */
	flow_slice place;   /* copied */
} batch_head;

/* The rows as a batch; NULL: out of memory (the builder is as it was) . An empty builder gives an empty batch. */
flow_batch *builder_finish(flow_builder *builder, const batch_head *head);

/* A batch over the rows of `parent` (retained) with columns replaced; `memory` is a builder whose memory the columns lie
 * in (NULL: they lie in the parent), it is empty afterwards. The selection is copied; when fewer than an eighth of the
 * parent's rows are left (and there are no headers), the rows are copied and the parent is not held. NULL: out of memory. */
flow_batch *batch_forward(batch_pool *pool, const flow_batch *parent, const flow_columns *columns,
						  flow_builder *memory);

/* Hands the key columns (canonical bytes and hash) to the batch, which the caller just made and nobody else has; arrays
 * of row_count entries from `memory` as in batch_forward. */
flow_status batch_set_key_columns(flow_batch *batch, flow_builder *memory, const uint64_t *hash,
								  const flow_slice *bytes);

const flow_batch *batch_retain(const flow_batch *batch);
void batch_release(const flow_batch *batch); /* NULL is allowed */
/* The number that people know its partition by; -1: it has none. */
int64_t batch_partition_number(const flow_batch *batch);
/* Bytes that the batch itself holds (not its parents). */
uint64_t batch_bytes(const flow_batch *batch);

extern const flow_batches batches_service;
extern const flow_memory memory_service; /* flow.memory/1 */

/* A growable flow_buffer. buffer_reset keeps the memory. */
flow_buffer *buffer_create(void);
void buffer_reset(flow_buffer *buffer);
void buffer_destroy(flow_buffer *buffer);

#endif
