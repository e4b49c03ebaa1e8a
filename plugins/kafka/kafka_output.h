/*
 * kafka_output.h - what the parts of the sink share: producers, writers, transactions.
 *
 * A producer is one handle of librdkafka with one thread that takes delivery reports. Outputs whose records are visible at once have
 * one each; all outputs that commit by a transaction share one, so that they commit together.
 *
 * Memory. Values are not copied: a batch is retained in a slot until the last of its records was delivered. A record's opaque is the
 * slot's number and its row, so that nothing is allocated for a record. Reports of one slot come in runs, and are counted as runs.
 * Threads. write, flush, prepare: the task's; committer: the control thread; reports: the producer's own thread. Everything that they
 * share stands under the producer's lock, which is taken a few times for a batch and never for a record.
 */
#ifndef KAFKA_OUTPUT_H
#define KAFKA_OUTPUT_H

#include <stdatomic.h>

#include "kafka.h"

#define KAFKA_SLOT_CHUNK 64u   /* slots that are made at once */
#define KAFKA_SLOT_CHUNKS 256u /* batches under way: 16,384 at most */
#define KAFKA_NO_SLOT UINT32_MAX

/* A batch under way. */
struct kafka_slot {
	const flow_batch *batch;
	flow_writer *writer;
	atomic_uint pending; /* records without a report, and one while write is still at it */
	uint32_t next;       /* of the free ones */
	uint64_t first;      /* rows of the writer in front of it */
};

/* A record that was refused: where it stands, and why. */
struct kafka_refusal {
	struct kafka_refusal *next;
	const flow_batch *batch; /* retained */
	uint32_t row;
	flow_status status;
	char reason[KAFKA_ERROR_SIZE];
};

/* A transaction, of a producer that has them. */
struct kafka_transaction {
	char *id;            /* transactional.id */
	char *marker_group;  /* where markers are committed */
	char *process_group; /* where it is written who runs */
	char process[33];    /* this one, in hex */
	int initialised;     /* earlier ones are fenced */
	int claimed;         /* this process has said that it runs */
	int open;            /* begun */
	int committing;      /* the commit was asked for; its outcome is not known yet */
	int64_t began;       /* monotonic */
	flow_status lost;    /* FLOW_OK, or why it cannot commit any more: FLOW_E_CONFLICT, FLOW_E_FENCED, or of a record */
	char why[KAFKA_ERROR_SIZE];
	flow_committer *committers; /* list */
};

struct kafka_producer {
	flow_system *system;
	const flow_host *host;
	const flow_batches *batches;
	struct kafka_producer *next; /* of the system's */
	char *output;                /* NULL: that of all outputs with transactions */
	uint32_t users;
	const flow_option_value *properties; /* of its output, or NULL */
	rd_kafka_t *client;                  /* NULL: none yet */
	struct kafka_owner *owner;           /* of the client, which may outlive this */
	rd_kafka_queue_t *reports;           /* of the client */
	int pushes;                          /* records of a quiet stream do not wait for linger.ms, which is flowd's own */
	atomic_ullong written;               /* bytes that were handed to the client */
	atomic_int asleep;                   /* the thread does not look whether something was written */
	uint32_t generation;                 /* of the client: writers make their topic anew when it changes */
	pthread_t thread;
	atomic_int closing;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	struct kafka_slot *chunks[KAFKA_SLOT_CHUNKS];
	uint32_t chunk_count, free_slot;
	flow_writer *writers;         /* list */
	atomic_int waiting;           /* some writer waits for room */
	uint32_t run_slot, run_count; /* reports that are not counted yet; of the thread alone */
	uint64_t reported;            /* reports that it has taken */
	struct kafka_transaction transaction;
};

/* What a topic takes, as the broker says. */
struct kafka_limits {
	int64_t message_bytes; /* of a batch of records; INT64_MAX: not known */
	int64_t before, after; /* milliseconds that a timestamp may be away from now; INT64_MAX: any */
	int keyed;             /* compacted: each record needs a key */
	int created;           /* 0: timestamps are the broker's own, and not looked at */
	int32_t partitions;    /* where the job chooses them */
};

struct flow_writer {
	flow_system *system;
	const flow_host *host;
	struct kafka_producer *producer;
	flow_writer *next; /* of the producer's */
	const flow_waker *waker;
	char *topic_name;
	rd_kafka_topic_conf_t *topic_conf;
	rd_kafka_topic_t *topic;
	uint32_t generation; /* of the client that `topic` is of */
	struct kafka_limits limits;
	int64_t counted;              /* monotonic: when the topic's partitions were last counted */
	rd_kafka_message_t *messages; /* room for produce_batch */
	/* Under the producer's lock. */
	uint64_t rows;        /* that were given to it */
	uint32_t outstanding; /* slots */
	int prepared;         /* nothing may be written until the transaction has ended */
	int waiting;          /* said AGAIN */
	int missing;          /* how often in turn brokers said that the topic is not there */
	struct kafka_refusal *refused, **refused_end;
	struct kafka_refusal *told; /* by the last failed_row */
	flow_status failed;         /* FLOW_OK, or why nothing more can be written */
	char why[KAFKA_ERROR_SIZE];
};

struct flow_committer {
	flow_system *system;
	const flow_host *host;
	struct kafka_producer *producer;
	flow_committer *next; /* of the producer's */
	char *stream;
	char *topic;
};

/* kafka_producer.c ----------------------------------------------------------------------------------------------------- */

/* The producer of an output, or that of all outputs with transactions; made if need be. One kafka_producer_close each. */
flow_status kafka_producer_open(flow_system *system, const flow_stream_request *request, int transactional,
								struct kafka_producer **producer, flow_error *error);
void kafka_producer_close(struct kafka_producer *producer);
/* Makes the client, or makes it anew; nobody writes meanwhile. */
flow_status kafka_producer_connect(struct kafka_producer *producer, flow_error *error);
/* Ends the client: what is under way is dropped, its batches are released. */
void kafka_producer_disconnect(struct kafka_producer *producer);
/* Drops what is under way; waits until its batches are released. 0: the client does not tell of all (librdkafka 2.0.2 loses records of
 * a topic that was deleted while they were on their way); only kafka_producer_disconnect releases those. */
int kafka_producer_purge(struct kafka_producer *producer);
/* Waits a little for something to change. Under the lock. */
void kafka_producer_wait(struct kafka_producer *producer);

/* kafka_reports.c ------------------------------------------------------------------------------------------------------ */

/* A report of the client; its opaque is a kafka_owner whose context is the producer. */
void kafka_reports_take(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque);
/* The thread that takes them, until the producer is `closing`. */
void *kafka_reports_run(void *producer);
/* So much was handed to the client. [any] */
void kafka_reports_expect(struct kafka_producer *producer, uint64_t bytes);

/* kafka_slots.c -------------------------------------------------------------------------------------------------------- */

/* A slot with `records` + 1 pending; KAFKA_NO_SLOT: none is free. Under the lock. */
uint32_t kafka_slot_take(struct kafka_producer *producer, flow_writer *writer, const flow_batch *batch,
						 uint32_t records);
/* Which record of its writer the one with this opaque is. */
uint64_t kafka_slot_turn(const struct kafka_producer *producer, const void *opaque);
/* `count` of its records are done, or were not sent at all. */
void kafka_slot_done(struct kafka_producer *producer, uint32_t slot, uint32_t count);
/* Once no report can come any more: frees all slots. ended 0: the client still runs, and keeps the batches' memory for good. */
void kafka_slots_settle(struct kafka_producer *producer, int ended);

static inline struct kafka_slot *
kafka_slot_at(const struct kafka_producer *producer, uint32_t slot)
{
	return &producer->chunks[slot / KAFKA_SLOT_CHUNK][slot % KAFKA_SLOT_CHUNK];
}

static inline void *
kafka_opaque(uint32_t slot, uint32_t row)
{
	_Static_assert(sizeof(void *) == 8, "a slot's number and a row stand in one pointer");
	return (void *)(((uintptr_t)slot << 32) | row);
}

/* kafka_writer.c ------------------------------------------------------------------------------------------------------- */

/* Notes a record that the topic does not take. Under the producer's lock. `reason` is copied. */
void kafka_writer_refuse(flow_writer *writer, const flow_batch *batch, uint32_t row, flow_status status,
						 const char *reason);
/* The record of a report, for people: "topic 'a' [3], key 'k'". */
void kafka_record_name(const char *topic, int32_t partition, const void *key, size_t key_size, char *text, size_t size);

/* kafka_limits.c ------------------------------------------------------------------------------------------------------- */

/* The topic, made if that is asked for; what it takes. FLOW_E_NOT_FOUND: it is not there. [any] */
flow_status kafka_output_topic(flow_system *system, const flow_stream_request *request, const char *topic,
							   int32_t *partitions, flow_error *error);
/* Asked from the broker; where it does not say, everything is taken. */
void kafka_limits_ask(flow_system *system, const char *topic, struct kafka_limits *limits);
/* FLOW_OK, or why the topic would refuse this record; `reason` is filled. */
flow_status kafka_limits_check(const struct kafka_limits *limits, const flow_batch *batch, uint32_t row, int64_t now,
							   char reason[KAFKA_ERROR_SIZE]);

/* kafka_transaction.c -------------------------------------------------------------------------------------------------- */

/* Begins one if none is open. Under the lock. FLOW_E_CONFLICT: it is lost; FLOW_E_FENCED. */
flow_status kafka_transaction_enter(struct kafka_producer *producer, flow_error *error);
/* What an error makes of a transaction: FLOW_E_CONFLICT, or the status of what would come again: a topic that is gone, a right that is
 * missing. */
flow_status kafka_transaction_verdict(rd_kafka_resp_err_t code);
/* It is open for longer than brokers wait. Under the lock. */
int kafka_transaction_is_overdue(const struct kafka_producer *producer);
/* A report says that a record of it was not written. Under the lock. */
void kafka_transaction_spoil(struct kafka_producer *producer, flow_status status, const char *why);
/* After something failed: whether a newer process runs, or the transaction is merely lost. Not under the lock. */
flow_status kafka_transaction_lost(struct kafka_producer *producer, flow_error *error);

/* Writes down who runs, or what was committed, in the transaction that is open; NULL: done. */
rd_kafka_error_t *kafka_transaction_note(struct kafka_producer *producer, const char *group, int64_t offset,
										 const char *text);
/* What a group has committed for the topics of all outputs; freed by the caller. `settled`: a transaction that is being committed is
 * waited for. */
flow_status kafka_transaction_read(struct kafka_producer *producer, const char *group, int settled,
								   rd_kafka_topic_partition_list_t **found, flow_error *error);
/* What a call about the transaction said; frees `cause`. */
flow_status kafka_transaction_failed(struct kafka_producer *producer, rd_kafka_error_t *cause, const char *what,
									 flow_error *error);
/* It has ended: writers may go on. */
void kafka_transaction_reset(struct kafka_producer *producer);
/* After this no earlier transaction can commit, and this process is the one that runs. */
flow_status kafka_transaction_fence(struct kafka_producer *producer, flow_error *error);

/* kafka_committer.c ---------------------------------------------------------------------------------------------------- */

/* Whether a committer is open for this stream: then its writers write into the transaction. */
int kafka_committer_has(flow_system *system, flow_slice stream);

/* kafka_partitioner.c -------------------------------------------------------------------------------------------------- */

/* Puts the output's partitioner into a topic's configuration. */
flow_status kafka_partitioner_apply(flow_writer *writer, const flow_options *options, flow_error *error);

#endif
