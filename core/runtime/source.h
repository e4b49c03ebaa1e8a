/*
 * runtime/source.h - a source node's own state, shared by the files that read, decode and keep positions. Private.
 *
 * Threads: the task's; with a blocking source the reader thread calls the source, and what both touch is in `reader`.
 */
#ifndef RUNTIME_SOURCE_H
#define RUNTIME_SOURCE_H

#include "base/arena.h"
#include "runtime/run.h"

/* Bytes of a byte stream that may be carried over, for a serde that finds no end. Serdes refuse sooner (max_record, at most 512 MiB),
 * but they are asked only when the carry-over has doubled. */
#define RECORD_LIMIT ((uint64_t)1200 * 1024 * 1024)

typedef struct reader reader;

typedef struct source_partition {
	uint32_t index;
	uint32_t number; /* for people */
	flow_slice id;
	flow_slice place;
	uint8_t mine;
	uint8_t ended;
	uint8_t assigned;    /* the source was told to read it */
	uint8_t broken;      /* byte streams: its decoder gave up, the rest is skipped */
	uint8_t gone;        /* taken away by the group: read no more, released when what was read is committed */
	uint64_t reported;   /* gone: first epoch that has its last position */
	flow_slice restored; /* position that reading went on from; data NULL: none */
	flow_slice restored_decoder;
	int64_t used; /* records: ordinal of the last row used; byte streams: offset of the first byte not used; -1: none */
	flow_decoder *decoder; /* byte streams */
	char *carry;           /* byte streams: bytes of a record that is not complete yet */
	uint64_t carry_size, carry_capacity;
	uint64_t wanted; /* so many bytes are needed before decoding is tried again */
} source_partition;

typedef struct source_self {
	node *n;
	const plan_stream *stream;
	const flow_system_ops *ops;
	flow_system *system;
	flow_source *source;
	flow_source_info info;
	flow_waker waker;
	arena *memory;
	source_partition **partitions;
	uint32_t partition_count;
	uint32_t mine; /* assigned to this task */
	uint32_t live; /* of these, not ended */
	flow_builder *raw;
	flow_builder *decoded;
	flow_builder *keys;
	flow_builder *selections;    /* memory of forwarded batches */
	flow_decoder *value_decoder; /* records */
	flow_decoder *key_decoder;
	uint32_t *all_rows; /* 0, 1, 2, ... */
	uint32_t *source_rows;
	uint32_t *key_rows;
	uint32_t *kept_rows; /* whose key was good */
	/* The raw batch that is being decoded. */
	const flow_batch *current;
	source_partition *partition;
	uint32_t row;               /* next of its selected rows */
	uint64_t row_used;          /* byte streams: bytes of that row that were used */
	uint8_t waiting;            /* nothing to read until somebody wakes the task */
	uint8_t busy;               /* counted in busy_sources */
	uint8_t limited;            /* its share of --limit is used up */
	uint8_t paused;             /* all its partitions, by the thread that calls the source */
	uint8_t must_list;          /* the set of partitions changed */
	uint8_t list_after_release; /* one came back that is not released yet */
	int64_t read_at;            /* monotonic */
	int64_t retry_at;
	uint32_t retries;
	char *position; /* FLOW_POSITION_MAX bytes */
	reader *reader; /* blocking sources */
} source_self;

source_partition *source_find(source_self *self, uint32_t index);
/* Takes the partitions that are new; [main] before tasks run, later the thread that calls the source. */
flow_status source_list(source_self *self, flow_error *error);
/* Adds a partition of the list; NULL: out of memory. */
source_partition *source_add(source_self *self, const flow_partition *from);
/* Starts reading it; NULL or empty position: where the system says. */
flow_status source_start(source_self *self, source_partition *p, flow_error *error);

/* source_group.c: partitions that a consumer group gives and takes. */
/* Takes the list over: reads what is new, stops what is not in it any more. */
flow_status source_list_given(source_self *self, const flow_partition *const *list, uint64_t count, flow_error *error);
/* At a barrier: positions of what is gone are in this epoch's report. */
void source_note_reported(source_self *self, uint64_t epoch);
/* The epoch is committed: what is gone and was reported by then goes to somebody else. */
void source_release(source_self *self, uint64_t epoch);

/* A batch of the source begins to be decoded; takes the reference. */
void source_take(source_self *self, flow_batch *batch);
/* Hands decoded rows on: applies the limit, counts. Borrows the batch. */
flow_status source_emit(source_self *self, const flow_batch *batch);
flow_status source_partition_ended(source_self *self, source_partition *p);
/* source_open.c, source_position.c: the driver's calls. */
flow_status source_open_node(node *n);
void source_close_node(node *n);
flow_status source_barrier(node *n, task_report *report, int last);
/* After source_quiet: the other thread may call the source again. */
void source_let_go(source_self *self);

/* decode.c, decode_stream.c: one step on the current batch; clears self->current when it is used up. */
flow_status decode_records(source_self *self);
flow_status decode_pieces(source_self *self);
flow_status decode_last_piece(source_self *self, source_partition *p); /* the partition has ended */
flow_status decode_open(source_self *self);
void decode_close(source_self *self);
flow_status decode_finish_rows(source_self *self, const uint32_t *selection, uint32_t selected);
flow_status source_reject(void *context, flow_builder *builder, const flow_rejection *rejection);
/* Of a record that the system itself refuses while it is read; the builder names its partition. */
flow_status source_reject_unread(void *context, flow_builder *builder, const flow_rejection *rejection);

/* reader.c: the thread of a blocking source. */
flow_status reader_start(source_self *self, flow_error *error);
void reader_stop(source_self *self);
/* FLOW_OK and *batch; FLOW_END and *partition; FLOW_CHANGED, FLOW_AGAIN, or a failure, after which the next call lets the thread
 * try again. */
flow_status reader_take(reader *r, flow_batch **batch, uint32_t *partition, flow_error *error);
void reader_allow(reader *r, int allowed);
/* While it is held the thread makes no call, so the task may. hold: 1 when that is so; else the task is woken when it is. */
int reader_hold(reader *r);
void reader_go(reader *r);

/* A source that is held back is still called, with its partitions paused. For either thread; 0: it cannot pause. */
int source_set_paused(source_self *self, int paused);
/* One read into the builder, for either thread. FLOW_OK: *batch; else nothing is in the builder but the number of a partition. */
flow_status source_read_raw(source_self *self, flow_builder *raw, flow_batch **batch, flow_error *error);

#endif
