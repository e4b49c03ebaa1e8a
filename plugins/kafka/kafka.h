/*
 * kafka.h - the parts of the plugin `kafka`: a system whose streams are topics of Apache Kafka, over librdkafka.
 *
 * kafka_options.c         option tables of the system and its inputs
 * kafka_output_options.c  option table of outputs
 * kafka_properties.c      the groups `consumer` and `producer`: properties passed through to librdkafka, checked by it
 * kafka_security.c        TLS and SASL
 * kafka_client.c          handles of librdkafka: made, logged, their errors told
 * kafka_leave.c           their end
 * kafka_system.c          the system: open, describe, close
 * kafka_admin.c           questions to brokers, with deadlines: partitions, offsets; topics made, records deleted
 * kafka_offsets.c         what a group has committed, asked by a client of its own
 * kafka_topics.c          which partitions an input has, and which appear
 * kafka_watch.c           the thread that looks for them, and for what groups have committed
 * kafka_source.c          a source's life: described, opened, given partitions, closed
 * kafka_partition.c       the partitions of a source, and where reading of them begins
 * kafka_position.c        how far they were read, and what is committed of that
 * kafka_queue.c           where messages wait, and who listens when a task does not
 * kafka_read.c            messages into batches
 * kafka_record.c          a message into a row
 * kafka_group.c           partitions from a consumer group
 * kafka_group_watch.c     what the watching thread does for it
 * kafka_output.h          the sink, and all below:
 * kafka_producer.c        producers: their clients
 * kafka_slots.c           batches until their reports have come
 * kafka_writer.c          outputs: opened, closed, what they refused
 * kafka_send.c            rows to a producer
 * kafka_reports.c         what came of them, and when they are sent
 * kafka_limits.c          topics of outputs: made, and what they take
 * kafka_partitioner.c     the partition of a record
 * kafka_transaction.c     the transaction of a process: begun, lost, fenced, taken over
 * kafka_committer.c       it is committed, with marker and positions
 *
 * Threads: a system's template configurations never change after open, and a copy of one is taken by whoever makes a handle. Handles
 * of librdkafka are safe to use from any thread. What else is shared says under which lock.
 * Errors: kafka_failed tells what librdkafka said, with the status that fits.
 */
#ifndef KAFKA_KAFKA_H
#define KAFKA_KAFKA_H

#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdatomic.h>

#include "flow/flow.h"
#include "flow_sdk/number.h"
#include "flow_sdk/plugin.h"

#define KAFKA_ERROR_SIZE 512 /* librdkafka's error texts */

struct kafka_leaving;
struct kafka_producer;
struct kafka_topics;
struct kafka_watch;

/* Whose handle it is: what rd_kafka_opaque returns points at one, mostly as the first member of something larger. */
struct kafka_owner {
	flow_system *system;
	const char *component; /* of log lines; lives as long as the handle */
	/* The last error that belongs to no call (brokers away, refused), for messages; from any thread that polls the handle. */
	pthread_mutex_t lock;
	rd_kafka_resp_err_t code;
	char text[KAFKA_ERROR_SIZE];
	void *context;      /* of callbacks */
	atomic_int closing; /* callbacks leave context and system alone */
	/* Of a group: how to answer it then, whether the member has a name of its own (group.instance.id), and has been given something. */
	int member, eager, lasting;
	atomic_int joined;
};

/* linger.ms, unless the user says another: milliseconds that records of a busy stream wait for others (kafka_reports.c). */
#define KAFKA_LINGER "50"

struct flow_system {
	const flow_host *host;
	char *name;                     /* as configured: "clicks"; component of log lines */
	rd_kafka_conf_t *consumer_conf; /* templates with brokers, security and properties */
	rd_kafka_conf_t *producer_conf;
	int tokens;       /* OAuth */
	char *token_file; /* NULL: they do not come from a file */
	char *token_principal;
	int64_t token_lifetime;         /* microseconds */
	int request_timeout;            /* milliseconds: patience with questions to brokers */
	int64_t discovery_interval;     /* microseconds */
	uint64_t fetch_threshold;       /* records in the queues of all inputs; 0: by bytes alone */
	uint64_t fetch_threshold_bytes; /* bytes in the queues of all inputs */
	pthread_mutex_t lock;           /* of all below */
	struct kafka_owner owner;       /* of `client` */
	rd_kafka_t *client;             /* for questions: kafka_admin.c; made at the first */
	uint32_t input_count;           /* inputs that were described: they share the thresholds */
	struct kafka_topics *topics;    /* list of the inputs that are open */
	struct kafka_watch *watch;      /* the thread; NULL: not running */
	flow_source *sources;           /* list of the sources that are open */
	flow_source *parked;            /* [main] list of those that closed and are members of a group still */
	struct kafka_leaving *leaving;  /* [main] list of clients of those that closed, which end */
	/* Outputs (kafka_output.h). */
	uint64_t send_threshold_bytes;                 /* bytes that wait to be sent, of one producer */
	int64_t transaction_timeout;                   /* microseconds */
	struct kafka_producer *producers;              /* list */
	int64_t record_bytes_most, record_bytes_least; /* what topics of outputs take: the largest and the smallest */
	pthread_mutex_t connecting;                    /* held while a producer's client is made */
};

/* kafka_options.c, kafka_output_options.c ---------------------------------------------------------------------------- */

extern const flow_option_set kafka_system_options;
extern const flow_option_set kafka_input_options;
extern const flow_option_set kafka_output_options;

/* kafka_properties.c -------------------------------------------------------------------------------------------------- */

/* Puts a map of properties into a configuration. FLOW_E_CONFIG: all that are unknown, wrong, or flowd's own, with their places. */
flow_status kafka_properties_apply(const flow_host *host, const flow_option_value *map, rd_kafka_conf_t *conf,
								   flow_error *error);
/* A value as librdkafka takes it; numbers are written to `room`. */
#define KAFKA_NUMBER_ROOM (FLOW_NUMBER_TEXT_MAX + 1)
const char *kafka_property_text(const flow_option_value *value, char room[static KAFKA_NUMBER_ROOM]);
/* One that flowd sets itself. */
flow_status kafka_property_set(const flow_host *host, rd_kafka_conf_t *conf, const char *name, const char *value,
							   flow_error *error);
flow_status kafka_property_set_number(const flow_host *host, rd_kafka_conf_t *conf, const char *name, int64_t value,
									  flow_error *error);

/* kafka_security.c ---------------------------------------------------------------------------------------------------- */

flow_status kafka_security_apply(const flow_host *host, const flow_options *options, rd_kafka_conf_t *conf,
								 flow_error *error);

/* Tokens of OAuth: read from a file, asked for or made by a thread of librdkafka, for each handle. */
flow_status kafka_token_open(flow_system *system, const flow_options *options, flow_error *error);
void kafka_token_configure(const flow_system *system, rd_kafka_conf_t *conf);
void kafka_token_start(const flow_system *system, rd_kafka_t *client);

/* kafka_client.c ------------------------------------------------------------------------------------------------------ */

void kafka_owner_open(struct kafka_owner *owner, flow_system *system, const char *component);
void kafka_owner_close(struct kafka_owner *owner);
/* A handle; takes `conf`, also on failure. Its log lines go to flowd's log; errors that belong to no call are logged and kept in
 * `owner`, once the handle is polled. */
flow_status kafka_client_open(struct kafka_owner *owner, rd_kafka_type_t type, rd_kafka_conf_t *conf,
							  rd_kafka_t **client, flow_error *error);
/* Closes a client, and takes it with its owner, which lies in memory from the host. 0: it does not end, and is left behind with a
 * warning: librdkafka waits for ever for partitions of a topic that was deleted. */
int kafka_client_leave(struct kafka_owner *owner, rd_kafka_t *client);
/* [main] The same, but for the wait: several end at the same time. Takes `component` too, where log lines of the owner have it. */
void kafka_client_leave_soon(struct kafka_owner *owner, rd_kafka_t *client, char *component);
void kafka_client_await_left(flow_system *system);
/* A copy of the system's template for that type; NULL: out of memory. */
rd_kafka_conf_t *kafka_client_conf(const flow_system *system, rd_kafka_type_t type);
/* The status that fits one of librdkafka's errors. */
flow_status kafka_status(rd_kafka_resp_err_t code);
/* Fills `error` with "<what>: <what librdkafka says>" and what to do about it, where something can be said. */
flow_status __attribute__((format(printf, 4, 5)))
kafka_failed(const flow_host *host, flow_error *error, rd_kafka_resp_err_t code, const char *format, ...);
/* What to add to a message that is about SCRAM; "" where there is nothing to say. */
const char *kafka_scram_advice(const char *text);
flow_status kafka_no_memory(const flow_host *host, flow_error *error);
/* A NUL-terminated copy from the host's memory; NULL: out of memory. */
char *kafka_copy(const flow_host *host, flow_slice text);

/* kafka_admin.c: [any], blocking up to the system's request_timeout ---------------------------------------------------- */

/* The client for questions; it lives as long as the system. */
flow_status kafka_admin_client(flow_system *system, rd_kafka_t **client, flow_error *error);
/* FLOW_E_NOT_FOUND: no such topic. */
flow_status kafka_admin_partitions(flow_system *system, const char *topic, int32_t *count, flow_error *error);
/* Of a topic that was just made: brokers tell of it with a delay. */
flow_status kafka_admin_await(flow_system *system, const char *topic, int32_t *count, flow_error *error);
/* Replaces each `offset`, a timestamp in milliseconds or RD_KAFKA_OFFSET_BEGINNING or _END, by the offset that it means; behind the
 * last record: RD_KAFKA_OFFSET_END. The end is the high watermark, whatever transactions are open. */
flow_status kafka_admin_offsets(flow_system *system, rd_kafka_topic_partition_list_t *list, flow_error *error);
/* FLOW_E_EXISTS: it is there. partitions or replication 0: the broker's default. `config`: a map of texts, or NULL. */
flow_status kafka_admin_create(flow_system *system, const char *topic, int32_t partitions, int32_t replication,
							   const flow_option_value *config, flow_error *error);

/* Records before these offsets go. */
flow_status kafka_admin_delete(flow_system *system, const rd_kafka_topic_partition_list_t *list, flow_error *error);
/* NULL: of all topics; freed by rd_kafka_metadata_destroy. */
flow_status kafka_admin_metadata(flow_system *system, const char *topic, const struct rd_kafka_metadata **metadata,
								 flow_error *error);

/* kafka_offsets.c: [any], blocking up to the system's request_timeout --------------------------------------------------- */

/* Fills in offsets and metadata; asks again while a coordinator is on its way. */
rd_kafka_resp_err_t kafka_offsets_ask(const flow_system *system, rd_kafka_t *client,
									  rd_kafka_topic_partition_list_t *list);
/* The same by a client of its own. `settled`: a transaction that is being committed is waited for. */
flow_status kafka_offsets_committed(flow_system *system, const char *group, int settled,
									rd_kafka_topic_partition_list_t *list, flow_error *error);

/* kafka_watch.c -------------------------------------------------------------------------------------------------------- */

/* Ends the watching thread, before the system closes. */
void kafka_watch_stop(flow_system *system);

/* kafka_system.c, kafka_admin.c --------------------------------------------------------------------------------------- */

flow_status kafka_open(const flow_host *host, const flow_options *options, flow_system **system, flow_error *error);
void kafka_close(flow_system *system);
flow_status kafka_describe(flow_system *system, const flow_stream_request *request,
						   flow_stream_description *description, flow_error *error);
flow_status kafka_describe_input(flow_system *system, const flow_stream_request *request,
								 flow_stream_description *description, flow_error *error);
flow_status kafka_create_stream(flow_system *system, const flow_stream_request *request, int32_t partitions,
								flow_error *error);
flow_status kafka_delete_committed(flow_system *system, const flow_stream_request *request,
								   const flow_position *const *positions, uint64_t count, flow_error *error);

/* kafka_source.c, kafka_partition.c, kafka_position.c, kafka_read.c -------------------------------------------------------------------------- */

flow_status kafka_source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info,
							  flow_source **source, flow_error *error);
flow_status kafka_source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count,
									flow_error *error);
flow_status kafka_source_assign(flow_source *source, uint32_t partition, flow_slice position, flow_error *error);
flow_status kafka_source_revoke(flow_source *source, uint32_t partition, flow_error *error);
void kafka_source_pause(flow_source *source, uint32_t partition, int paused);
flow_status kafka_source_read(flow_source *source, flow_builder *builder, flow_error *error);
flow_status kafka_source_position(flow_source *source, uint32_t partition, int64_t ordinal, void *bytes,
								  uint64_t capacity, uint64_t *size, flow_error *error);
flow_status kafka_source_committed(flow_source *source, const flow_position *const *positions, uint64_t count,
								   flow_error *error);
flow_status kafka_source_released(flow_source *source, uint32_t partition, flow_error *error);
void kafka_source_remaining(flow_source *source, int64_t *records, int64_t *bytes);
void kafka_source_numbers(flow_source *source, const flow_numbers *numbers);
void kafka_source_close(flow_source *source);
/* Members of groups that are parked leave, before the system closes. */
void kafka_source_leave_all(flow_system *system);

/* For a transaction that takes the offsets of an input read by group into it: the open source of that stream and task (in the order
 * of flow_source_info.task); NULL: there is none. [control] while sources are open. */
flow_source *kafka_source_find(flow_system *system, flow_slice stream, uint32_t task);
/* Its membership now, freed by rd_kafka_consumer_group_metadata_destroy; NULL: it is not read by group. [any] */
rd_kafka_consumer_group_metadata_t *kafka_source_group(flow_source *source);
/* That the member has these partitions still, and gives none up before kafka_source_settled, or the source closes. 0: it has not. */
int kafka_source_settle(flow_source *source, const rd_kafka_topic_partition_list_t *list);
void kafka_source_settled(flow_source *source);
/* The same for all sources: no transaction is open any more. */
void kafka_group_settled_all(flow_system *system);
/* Adds topic, partition and offset of a position to a list. */
flow_status kafka_position_add(flow_source *source, const flow_position *position,
							   rd_kafka_topic_partition_list_t *list, flow_error *error);

/* The sink: kafka_output.h has the rest ----------------------------------------------------------------------------------- */

flow_status kafka_writer_open(flow_system *system, const flow_stream_request *request, uint32_t task,
							  uint32_t task_count, const flow_handle *recovered, const flow_waker *waker,
							  flow_writer **writer, flow_error *error);
flow_status kafka_writer_write(flow_writer *writer, const flow_batch *batch, uint32_t first, uint32_t *accepted,
							   flow_status *statuses, flow_error *error);
flow_status kafka_writer_flush(flow_writer *writer, flow_error *error);
flow_status kafka_writer_prepare(flow_writer *writer, uint64_t epoch, int last, flow_slice *handle, flow_error *error);
flow_status kafka_writer_failed_row(flow_writer *writer, flow_failed_row *failed, flow_error *error);
void kafka_writer_close(flow_writer *writer);
/* What an output's delivery is, and other things that the planner must know of it. */
flow_status kafka_describe_output(flow_system *system, const flow_stream_request *request,
								  flow_stream_description *description, flow_error *error);
flow_status kafka_committer_open(flow_system *system, const flow_stream_request *request, flow_committer **committer,
								 flow_error *error);
flow_status kafka_committer_commit(flow_committer *committer, const flow_handle *const *handles, uint64_t count,
								   const flow_marker *marker, int last, flow_error *error);
flow_status kafka_committer_abort(flow_committer *committer, const flow_handle *const *keep, uint64_t count,
								  flow_error *error);
flow_status kafka_committer_last_marker(flow_committer *committer, const flow_marker *expected, flow_marker *last,
										int *found, flow_error *error);
void kafka_committer_close(flow_committer *committer);

#endif
