/*
 * kafka_source.h - sources and what they share, for the files that read. Private to them.
 *
 * Threads. A source belongs to its task. What the watching thread (kafka_watch.c) and callers from anywhere touch is atomic or under
 * the system's lock: the list of inputs (struct kafka_topics), a source's requests, and its list of partitions while it grows.
 *
 * A partition's life: listed -> (source_assign) due -> reading -> ended, or given up. `due` ones are handed to librdkafka together by the
 * next read, when all that are assigned before tasks run have been: only then it is known whether the job goes on from somewhere.
 */
#ifndef KAFKA_KAFKA_SOURCE_H
#define KAFKA_KAFKA_SOURCE_H

#include <regex.h>
#include <stdatomic.h>

#include "kafka.h"

#define KAFKA_BATCH 1024        /* messages that are taken from the client's queue at once */
#define KAFKA_UNKNOWN INT64_MIN /* an offset that is not known */

/* What an input's options say. */
struct kafka_input_settings {
	const flow_host *host;
	char *topic;   /* NULL: a pattern */
	char *pattern; /* as configured */
	regex_t expression;
	int has_expression;
	char *group; /* NULL: none */
	int by_group, eager;
	int uncommitted;         /* records of open and aborted transactions come too */
	int64_t start_timestamp; /* milliseconds; KAFKA_UNKNOWN: not set */
	struct kafka_start {
		char *id; /* of the partition */
		int64_t offset;
	} * starts;
	uint64_t start_count;
	uint32_t reset; /* FLOW_START_*; 0: an error */
	int anew;       /* what the group has committed does not count */
	int headers;
	char *type_header; /* name of the header that says who gave the timestamp; NULL: none */
	int bounded;
};

/* FLOW_E_CONFIG with the option that is wrong. */
flow_status kafka_settings_read(const flow_host *host, const flow_stream_request *request,
								struct kafka_input_settings *settings, flow_error *error);
void kafka_settings_free(struct kafka_input_settings *settings);
int kafka_settings_match(const struct kafka_input_settings *settings, const char *topic);

/* One partition of a topic, as it was when it was found. */
struct kafka_place {
	char *topic;
	int32_t number;
	int64_t low, high; /* first offset and end */
	int64_t stamped;   /* offset of start_timestamp, or KAFKA_UNKNOWN */
	int64_t committed; /* of the group, or KAFKA_UNKNOWN */
	int late;          /* it was not there when the job started */
};

/* The partitions of an input, for the sources of all its tasks. */
struct kafka_topics {
	struct kafka_topics *next;
	flow_system *system;
	char *stream;
	uint32_t references; /* sources */
	struct kafka_input_settings settings;
	struct kafka_place **places; /* only grows; under the system's lock, as the next */
	uint32_t count, room;
	int64_t due;          /* when to look again; monotonic */
	int busy;             /* the watching thread is looking */
	int missing;          /* how often in a row the topic was not there */
	atomic_int gone;      /* it was deleted */
	atomic_int made_anew; /* how often it came back */
	atomic_int goes_on;   /* the job has read this input before */
};

/* What a group has done with a partition that it had given. One that is lost may be given again before what was read of it is written:
 * that is not committed all the same, since whoever had it in between has read it too. */
#define KAFKA_TAKEN 1    /* and waits to be released */
#define KAFKA_RELEASED 2 /* or the host never heard of it */
#define KAFKA_LOST 3     /* before it was released */

/* Atomic is what kafka_source_numbers and kafka_source_remaining look at, from any thread. */
struct kafka_partition {
	flow_partition shown;
	char *topic;
	int32_t number;
	int64_t low;          /* first offset, as far as known: for the start, and for what is said of a lost position */
	_Atomic int64_t high; /* the end, likewise */
	int64_t stamped, committed;
	int late;
	_Atomic int64_t bound;    /* bounded reads end here; INT64_MAX: never */
	int64_t start;            /* where reading began; KAFKA_UNKNOWN: not settled yet */
	_Atomic int64_t next;     /* to go on from, behind everything that was handed on; KAFKA_UNKNOWN: not settled yet */
	int64_t last;             /* of the last record handed on; -1: none */
	_Atomic int64_t saved;    /* told by source_committed; KAFKA_UNKNOWN: nothing yet */
	_Atomic uint8_t paused;   /* by the host */
	_Atomic uint8_t given_up; /* by the group: KAFKA_TAKEN, ... */
	uint8_t paused_there;     /* in the client */
	uint8_t due, reading;
	uint8_t ended;  /* 1: to be told, 2: told */
	uint8_t listed; /* by source_partitions */
};

struct flow_source {
	struct kafka_owner *owner; /* of the client, which may outlive this */
	flow_system *system;
	flow_source *next_source; /* of the system; under its lock */
	char *stream;
	char *component; /* "clicks/orders" */
	uint32_t task;
	uint32_t start; /* FLOW_START_* */
	int commits;    /* source_committed commits to the group */
	int told;       /* source_committed was called */
	const flow_waker *waker;
	struct kafka_input_settings settings;
	struct kafka_topics *topics; /* NULL: by group */
	struct kafka_group *group;   /* NULL: not by group */
	rd_kafka_t *client;
	/* Held by each call of the task, and while the watching thread serves the group in its place. Before the system's lock. */
	pthread_mutex_t lock;
	_Atomic int64_t read_at;             /* when the task called last; monotonic */
	rd_kafka_queue_t *queue;             /* what the client has to say: the group's moves, errors */
	rd_kafka_queue_t *messages;          /* of its partitions; they wait here while the host holds the source back */
	rd_kafka_queue_t *answers;           /* of commits */
	struct kafka_partition **partitions; /* grows under the system's lock */
	uint32_t partition_count, partition_room;
	const flow_partition **list;     /* what source_partitions returned */
	struct kafka_partition **sorted; /* by topic and number: those that are not given up */
	uint32_t sorted_count;
	struct kafka_partition *current; /* of the last message */
	uint32_t due_count;
	uint32_t end_count; /* ended, to be told */
	uint32_t pause_changes;
	rd_kafka_message_t **held; /* taken from the queue, not handed on yet */
	uint32_t held_first, held_count, held_room;
	atomic_int changed; /* look at topics, or at the group */
	int made_anew;      /* of its topics, as far as it knows */
	/* The client stops fetching when its queue is full, and looks again after a second only, unless something wakes it. */
	uint64_t full_records, full_bytes; /* of the queue */
	uint64_t record_bytes;             /* of a record, on average of the last batch */
	int was_full;
	int assigned;           /* something was, before */
	int64_t interrupted_at; /* when the assignment changed last while something was read; 0: never */
	int wants_nudge;        /* under the system's lock, as the next */
	int busy;               /* the watching thread uses it */
	flow_metric *lost;
	_Atomic int64_t rebalances, records_lost;
};

/* kafka_topics.c ------------------------------------------------------------------------------------------------------- */

/* Finds the input's partitions, or shares what another task's source has found. */
flow_status kafka_topics_open(flow_source *source, const flow_stream_request *request, flow_error *error);
void kafka_topics_close(flow_source *source);
/* [watching thread] Looks for what is new. Called with the system's lock, which it gives up while it asks. */
void kafka_topics_discover(struct kafka_topics *topics);
/* First offsets, ends, offsets of start_timestamp of places. */
flow_status kafka_topics_look(flow_system *system, const struct kafka_input_settings *settings,
							  struct kafka_place *const *places, uint32_t count, flow_error *error);
/* What the group has committed for places, behind transactions that are being committed. */
flow_status kafka_topics_committed(flow_source *source, struct kafka_place *const *places, uint32_t count,
								   flow_error *error);
struct kafka_place *kafka_place_new(const flow_host *host, const char *topic, int32_t number);
void kafka_place_free(const flow_host *host, struct kafka_place *place);

/* kafka_watch.c -------------------------------------------------------------------------------------------------------- */

struct kafka_watch {
	pthread_t thread;
	int signal; /* eventfd */
	atomic_int stop;
	pthread_cond_t idle; /* with the system's lock: a source, or an input's partitions, are not busy any more */
};

/* Takes the source into the system's list, and out of it (waits until the watching thread lets go of it). The first starts the
 * thread. */
flow_status kafka_watch_add(flow_source *source, flow_error *error);
void kafka_watch_remove(flow_source *source);
/* Lets the watching thread look at what sources want. */
void kafka_watch_signal(flow_system *system);

/* kafka_partition.c ---------------------------------------------------------------------------------------------------- */

/* A new partition of the source, listed from now on. */
flow_status kafka_partition_add(flow_source *source, const struct kafka_place *place, flow_error *error);
void kafka_partition_free(const flow_host *host, struct kafka_partition *p);
/* The partitions that are not given up, sorted anew. */
void kafka_partitions_sort(flow_source *source);
struct kafka_partition *kafka_partition_find(flow_source *source, const char *topic, int32_t number);
/* Not if the group took it away for good: then it is not committed any more. Under the system's lock, or [task]. */
int kafka_partition_is_ours(const flow_source *source, const char *topic, int32_t number);
/* Settles where reading begins. The end of a job's own checkpoint is checked by source_assign. */
void kafka_partition_settle(flow_source *source, struct kafka_partition *p);
/* The record to go on with is not there. Settles *offset by the option offset_reset, and says so; or fails. Asks brokers. */
flow_status kafka_partition_lost(flow_source *source, struct kafka_partition *p, int64_t wanted, int64_t *offset,
								 flow_error *error);
/* The topic was deleted and made anew: settles *offset by the option offset_reset, and says so; or fails. Asks brokers. */
flow_status kafka_partition_anew(flow_source *source, struct kafka_partition *p, int64_t *offset, flow_error *error);
/* That the start is between the partition's first offset and its end. */
flow_status kafka_partition_check(flow_source *source, struct kafka_partition *p, flow_error *error);
void kafka_partition_end(flow_source *source, struct kafka_partition *p);

/* kafka_source.c ------------------------------------------------------------------------------------------------------- */

/* The source's client hears of brokers, and of its topic. Waits up to request_timeout. */
void kafka_source_connect(flow_source *source);

/* kafka_position.c ----------------------------------------------------------------------------------------------------- */

/* *end is INT64_MAX where the position has none. FLOW_E_CORRUPT. */
flow_status kafka_position_parse(const flow_host *host, flow_slice bytes, int64_t *next, int64_t *end,
								 flow_error *error);

/* kafka_queue.c --------------------------------------------------------------------------------------------------------- */

/* The assignment is about to change: what is read of other partitions is interrupted by the client, for a moment. */
void kafka_queue_interrupt(flow_source *source);
/* Takes what is in one of the source's queues now, behind what is held. *count 0: nothing. */
flow_status kafka_queue_take(flow_source *source, rd_kafka_queue_t *queue, uint32_t *count, flow_error *error);
/* A client stops fetching when its queue is full, and would look again only after a second: it is woken when half is used up. */
void kafka_queue_keep_fetching(flow_source *source);
/* Lets messages of the list's partitions wait in source->messages: when they are not assigned any more, and not yet. */
void kafka_queue_forward(flow_source *source, const rd_kafka_topic_partition_list_t *list);
/* [watching thread] The task is in a call of an output, say: what the group wants is heard all the same. */
void kafka_queue_serve(flow_source *source);
/* [watching thread] Whether that is due: at *when, if not now. Under the system's lock. */
int kafka_queue_must_serve(const flow_source *source, int64_t now, int64_t *when);

/* kafka_read.c, kafka_record.c ------------------------------------------------------------------------------------------ */

/* Hands due partitions to the client. */
flow_status kafka_read_start(flow_source *source, flow_error *error);
/* Forgets messages that were taken and not handed on, of one partition, or of all (NULL). */
void kafka_read_drop(flow_source *source, const struct kafka_partition *p);
/* Adds the message as a row that points into it. */
flow_status kafka_record_add(flow_source *source, const rd_kafka_message_t *message, flow_builder *builder,
							 flow_error *error);
/* Its timestamp is none that a record can have. */
int kafka_record_is_bad(const rd_kafka_message_t *message);
/* Such a record follows the policy; FLOW_OK: go on. */
flow_status kafka_record_reject(const rd_kafka_message_t *message, flow_builder *builder);

/* kafka_group.c -------------------------------------------------------------------------------------------------------- */

struct kafka_group *kafka_group_new(flow_source *source); /* NULL: out of memory */
flow_status kafka_group_configure(flow_source *source, rd_kafka_conf_t *conf, flow_error *error);
flow_status kafka_group_open(flow_source *source, flow_error *error);
void kafka_group_close(flow_source *source);
/* Answers what is open, without a commit; the member stays in the group, and nobody reads. */
void kafka_group_park(flow_source *source);
/* The partitions that the member has are given again; after kafka_watch_add. */
flow_status kafka_group_resume(flow_source *source, flow_error *error);
/* [watching thread] Whether there is something to look up, or taken partitions have waited for too long, under the system's lock; and
 * sees to it. */
int kafka_group_wants(const flow_source *source, int64_t now);
int64_t
kafka_group_due(const flow_source *source); /* when they will have; INT64_MAX: none waits; under the system's lock */
int kafka_group_is_taking(const flow_source *source); /* partitions wait to be released */
void kafka_group_look(flow_source *source);
/* The group gave or took partitions: 1: the list changed. */
flow_status kafka_group_changed(flow_source *source, int *changed, flow_error *error);
/* The host has begun to read none of what was given, for longer than the group has patience with a process that is dead: it waits for an
 * answer, which others wait for too. */
int kafka_group_start_is_overdue(const flow_source *source);
flow_status kafka_group_start(flow_source *source, rd_kafka_topic_partition_list_t *due, flow_error *error);
flow_status kafka_group_released(flow_source *source, struct kafka_partition *p, flow_error *error);
/* [control] Positions of these partitions are about to be committed by a transaction: until kafka_group_settled (or the source is
 * closed) none is given up. 0: one has been, or all are lost. */
int kafka_group_settle(flow_source *source, const rd_kafka_topic_partition_list_t *list);
void kafka_group_settled(flow_source *source);

#endif
