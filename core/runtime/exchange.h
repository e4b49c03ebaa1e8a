/*
 * runtime/exchange.h - what goes from task to task: channels, outboxes, and the words that go through them. Private to this room.
 *
 * A channel has one producer and one consumer. An outbox belongs to its task's thread.
 */
#ifndef RUNTIME_EXCHANGE_H
#define RUNTIME_EXCHANGE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/batch.h"
#include "base/ring.h"
#include "runtime/node.h"

/* --- what goes through channels: batches, and control words that need no memory ---------------------------------- */

#define ITEM_BATCH 0u /* the pointer itself; batches are 8-byte aligned */
#define ITEM_WATERMARK 1u
#define ITEM_BARRIER 2u
#define ITEM_END 3u
#define ITEM_IDLE 4u /* payload 1: idle, 0: live again */
#define ITEM_PARTITION                                                                                                 \
	5u /* of a source: payload its number, its input from bit 32 on, and PARTITION_* from bit 48 on */
#define ITEM_TAG_BITS 3
#define ITEM_PAYLOAD_MAX (((int64_t)1 << 60) - 1) /* 36,000 years in microseconds */

static inline void *
item_make(unsigned tag, int64_t payload)
{
	return (void *)(((uintptr_t)payload << ITEM_TAG_BITS) | tag);
}

static inline unsigned
item_tag(const void *item)
{
	return (unsigned)((uintptr_t)item & ((1u << ITEM_TAG_BITS) - 1));
}

static inline int64_t
item_payload(const void *item)
{
	return (intptr_t)item >> ITEM_TAG_BITS;
}

/* --- channels and outboxes ------------------------------------------------------------------------------------------ */

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): what both sides write stands on lines of its own */
struct channel {
	ring items;
	task *producer;
	task *consumer;
	node *to;
	uint32_t input;
	uint32_t port;
	uint8_t aligned;   /* consumer: the barrier of the epoch under way was taken, nothing behind it */
	uint8_t bootstrap; /* its end counts for the bootstrap gate */
	uint8_t tells;     /* which partitions are live comes through it; their rows stay apart */
	uint8_t told;      /* consumer: all that are there at the start were told */
	_Alignas(64) atomic_int producer_waits; /* the ring was full */
};

/* What did not fit into a ring, in order. */
typedef struct held_items {
	void **items;
	uint32_t first, count, capacity;
} held_items;

/* The rows that are gathered for one consumer until they are worth a batch. */
typedef struct gathering {
	flow_builder *builder;
	uint64_t *hash;
	flow_slice *bytes;
	const flow_schema *schema; /* borrowed from the batches that are kept */
	const flow_schema *key_schema;
	uint32_t columns;                  /* FLOW_COLUMN_* and GATHER_HASH */
	uint32_t input, partition, number; /* of the partition, for people */
	flow_slice place;                  /* likewise borrowed */
} gathering;

typedef struct outbox_target {
	channel *channel;
	gathering rows;
	held_items held;
	int64_t watermark; /* to be sent behind the gathered rows */
	uint8_t watermark_waits;
	uint8_t wake_waits;
	int64_t last_wake;
} outbox_target;

struct outbox {
	task *task;
	uint32_t partitioning; /* EDGE_* */
	uint32_t target_count;
	outbox_target *targets;
	uint32_t *group_target; /* EDGE_KEY: target of each key group */
	uint32_t group_count;
	uint32_t next;    /* EDGE_SHUFFLE */
	uint32_t *counts; /* scratch of the split: rows of each target, row numbers */
	uint32_t *sorted;
	uint32_t *target_of;
	uint32_t scratch_rows;
	flow_builder *memory; /* of the selections */
	uint8_t ended;
	uint8_t tells;     /* event time is assigned behind it: rows of one partition stay apart, and partitions are told */
	int64_t watermark; /* last that was sent to all */
	int64_t gathered_since; /* monotonic microseconds; 0: nothing gathered */
};

/* exchange.c, gather.c */
flow_status outbox_create(task *t, uint32_t partitioning, uint32_t target_count, uint32_t groups, outbox **made);
void outbox_destroy(outbox *o);
flow_status outbox_send(outbox *o, const flow_batch *batch);
flow_status outbox_watermark(outbox *o, int64_t value);
flow_status outbox_control(outbox *o, void *item); /* barrier, end, idle: to all, behind everything */
flow_status outbox_flush(outbox *o);               /* gathered rows, waiting watermarks and wakes go out */
int outbox_release_held(outbox *o);                /* 1: all of it went into the rings */
flow_status outbox_push(outbox *o, outbox_target *target, void *item);
flow_status gather_rows(outbox *o, outbox_target *target, const flow_batch *batch, const uint32_t *rows,
						uint32_t count);
flow_status gather_flush(outbox *o, outbox_target *target);
void *channel_take(channel *c); /* consumer: next item or NULL */

#endif
