/*
 * topic.h - named topics that live in the process: records in partitions, in the order that they came.
 *
 * A topic is found or made by name and lives until topics_clear. Records keep their bytes, key, headers and timestamp.
 *
 * Threads: [any]; each topic has a lock. Whoever waits for records registers its waker, which is called under that lock.
 */
#ifndef MEMORY_TOPIC_H
#define MEMORY_TOPIC_H

#include "flow/flow.h"

#define TOPIC_MAX_PARTITIONS 4096

struct topic;

/* The topic of this name, or NULL. */
struct topic *topic_find(flow_slice name);
/* Finds or makes it. `partitions` 0: as it is, or 1. FLOW_E_CONFLICT: it is there with another number of partitions. */
flow_status topic_open(const flow_host *host, flow_slice name, uint32_t partitions, struct topic **topic,
					   flow_error *error);
/* [main] Frees all topics. */
void topics_clear(void);

uint32_t topic_partitions(const struct topic *topic);
/* The offsets of the first record that is still there and behind the last one. */
void topic_range(struct topic *topic, uint32_t partition, uint64_t *first, uint64_t *end);

/* Around the appends of a call: the lock is taken once, and who waits is woken once. */
void topic_begin_append(struct topic *topic);
void topic_end_append(struct topic *topic);
/* Appends a copy of a row of a raw batch. FLOW_E_LIMIT: the topic holds `capacity` records. */
flow_status topic_append(struct topic *topic, uint32_t partition, const flow_batch *batch, uint32_t row,
						 uint64_t capacity, flow_error *error);
/* Adds records from *offset on, before `end`, until the builder is full; *offset is then the next one. */
flow_status topic_read(struct topic *topic, uint32_t partition, uint64_t *offset, uint64_t end, flow_builder *builder,
					   flow_error *error);
/* Records before `offset` go. */
void topic_drop(struct topic *topic, uint32_t partition, uint64_t offset);

flow_status topic_add_waker(struct topic *topic, const flow_waker *waker);
void topic_remove_waker(struct topic *topic, const flow_waker *waker);

#endif
