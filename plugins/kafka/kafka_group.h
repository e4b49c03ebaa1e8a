/*
 * kafka_group.h - a source's membership in a consumer group, for kafka_group.c (the task) and kafka_group_watch.c (the watching thread).
 */
#ifndef KAFKA_KAFKA_GROUP_H
#define KAFKA_KAFKA_GROUP_H

#include "kafka_source.h"

/* What the group wants, as far as it is not answered yet. */
#define GROUP_NOTHING 0
#define GROUP_LOOKING 1  /* given: the watching thread looks for offsets */
#define GROUP_FOUND 2    /* given: to be listed */
#define GROUP_STARTING 3 /* given: the host assigns */
#define GROUP_TAKING 4   /* taken: until all are released */

struct kafka_group {
	flow_source *source;
	/* What the watching thread touches too; under the system's lock. */
	atomic_int wish;
	uint32_t turn;                         /* of wishes: what was looked up for an earlier one is thrown away */
	rd_kafka_topic_partition_list_t *list; /* given or taken */
	struct places {
		struct kafka_place **items;
		uint32_t count;
	} found; /* of those given */
	uint32_t unreleased;
	int64_t patience; /* with those that are taken: microseconds */
	int64_t due;      /* GROUP_TAKING: when it is over */
	int settling; /* positions are in a transaction that may be committed at any moment: nothing is given up in between */
	int resumed;        /* what is in the list may be assigned in the client already */
	flow_status failed; /* of the look; the error is in `error` */
	flow_error *error;
};

void kafka_places_drop(const flow_host *host, struct places *places);
/* Gives the list's partitions back to the client, which tells the group. */
void kafka_group_answer_taken(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list);
/* What was taken is about to be answered: the caller frees the list. NULL: it has been. Under the system's lock. */
rd_kafka_topic_partition_list_t *kafka_group_end_taking(struct kafka_group *group);

#endif
