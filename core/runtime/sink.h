/*
 * runtime/sink.h - a sink node's own state, shared by its driver and the encoder. Private.
 *
 * Threads: the task's; attach and detach [main].
 */
#ifndef RUNTIME_SINK_H
#define RUNTIME_SINK_H

#include "runtime/run.h"

/* A batch that the writer did not take yet, from its `first`-th selected row on. */
typedef struct held_write {
	const flow_batch *batch;
	uint32_t first;
} held_write;

typedef struct sink_self {
	node *n;
	const plan_stream *stream;
	const flow_system_ops *ops;
	flow_system *system;
	flow_writer *writer;
	flow_waker waker;
	flow_encoder *value;
	flow_encoder *key;
	flow_builder *out; /* raw batches */
	flow_status *statuses;
	uint64_t *ends;
	uint32_t *rows;
	flow_value *cells;
	uint32_t capacity;         /* rows that these have room for */
	uint64_t last_size;        /* of the last encoded batch: what to reserve for the next */
	flow_status *row_statuses; /* of one write */
	uint32_t row_status_capacity;
	held_write *held;
	uint32_t held_count, held_capacity;
	uint32_t retries;
	uint8_t dry;
	uint8_t recovered; /* the writer goes on from a handle: what stands before the first record is there */
} sink_self;

flow_status encode_open(sink_self *self);
void encode_close(sink_self *self);
/* The rows as a raw batch in *raw (reference of the caller's; NULL: none is left). */
flow_status encode_batch(sink_self *self, const flow_batch *batch, flow_batch **raw);
/* What stands before (end 0) or behind (end 1) the records of a byte stream; *raw NULL: nothing. */
flow_status encode_frame(sink_self *self, int end, flow_batch **raw);

#endif
