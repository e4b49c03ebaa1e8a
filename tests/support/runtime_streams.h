/*
 * support/runtime_streams.h - one stream of the runtime's test world, shared by its sources and its outputs. Private to them.
 *
 * Threads: what tasks touch together is under world_lock.
 */
#ifndef SUPPORT_RUNTIME_STREAMS_H
#define SUPPORT_RUNTIME_STREAMS_H

#include <pthread.h>
#include <stdatomic.h>

#include "flow/flow.h"

#define WRITERS 16
#define SHARED 8 /* partitions of an input that a group shares */
#define GIVEN 64 /* so often a source can be given one */

typedef struct text {
	char *data;
	size_t size, capacity;
} text;

typedef struct world_writer {
	struct flow_writer *open;
	text written; /* resumable: the growing temporary; one-phase: the open transaction */
	size_t synced;
	size_t shown;
	int prepared;
} world_writer;

typedef struct world_stream {
	char id[32];
	/* Input. */
	uint32_t partition_count, piece;
	text *partitions;
	int unbounded, blocking, numbered;
	uint32_t first_number;
	atomic_ullong held_at;
	atomic_ullong rows_read;
	atomic_ullong serviced;
	const flow_waker *wakers[WRITERS];
	uint32_t waker_count;
	/* Shared by a group: partitions that each task is to have, and has until it released them. */
	int group;
	uint32_t wanted[WRITERS];
	int owner[SHARED]; /* task + 1 */
	int64_t committed[SHARED];
	uint32_t released[SHARED], faults, rebalances;
	/* Output. */
	text shown;
	text headers;
	world_writer writers[WRITERS];
	flow_marker marker;
	int has_marker;
	uint32_t stutter, blocked;
	flow_status fail_commit, fail_write, fail_prepare;
	int fail_always;
	flow_status fail_reopen;
	uint32_t reopens_to_fail; /* of opening writers, behind the first time */
	int opened;
	uint64_t fail_at; /* write or prepare, counted from now on */
	int acknowledges; /* written records wait here until they are acknowledged */
	char waiting[GIVEN][32];
	uint32_t waiting_count, flushes;
	char refused[64]; /* records with this text are accepted and refused later */
	int fail_after;
	uint64_t commits;
	uint32_t delivery;
} world_stream;

extern pthread_mutex_t world_lock;

/* Made when it is asked for the first time. */
world_stream *world_stream_of(flow_slice id);
world_stream *world_named(const char *id);
/* Under the lock. A group's position of one of its partitions, set by the task that has it. */
void world_commit_position(world_stream *s, flow_slice partition, flow_slice bytes, uint32_t task);
void world_wake_sources(world_stream *s); /* under the lock */

/* The calls of a source: runtime_sources.c. */
flow_status world_source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info,
							  flow_source **source, flow_error *error);
flow_status world_source_partitions(flow_source *s, const flow_partition *const **partitions, uint64_t *count,
									flow_error *error);
flow_status world_source_assign(flow_source *s, uint32_t partition, flow_slice position, flow_error *error);
void world_source_pause(flow_source *s, uint32_t p, int paused);
flow_status world_source_read(flow_source *s, flow_builder *builder, flow_error *error);
flow_status world_source_position(flow_source *s, uint32_t p, int64_t ordinal, void *bytes, uint64_t capacity,
								  uint64_t *size, flow_error *error);
flow_status world_source_committed(flow_source *s, const flow_position *const *positions, uint64_t count,
								   flow_error *error);
flow_status world_source_released(flow_source *s, uint32_t partition, flow_error *error);
flow_status world_source_revoke(flow_source *s, uint32_t partition, flow_error *error);
void world_source_numbers(flow_source *s, const flow_numbers *numbers);
void world_source_close(flow_source *s);

#endif
