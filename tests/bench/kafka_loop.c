/*
 * The measure beside jobs on Kafka: what librdkafka alone needs for the same, batches in, borrowed memory out, times kept. Queues, fetches
 * and batches are as large as flowd has them for one input and one output (docs/internals/performance.md).
 *
 *   kafka_loop pass SERVERS FROM TO COUNT            from topic to topic
 *   kafka_loop headers SERVERS FROM TO COUNT         the same, asking each record for headers, of which there are none
 *   kafka_loop transactions SERVERS FROM TO COUNT    the same in transactions, one each second, with the positions of the input
 *   kafka_loop json SERVERS FROM TO COUNT            JSON documents through simdjson, status > 200, four fields as Avro
 *   kafka_loop file SERVERS FROM FILE COUNT          values to a file, a line each
 */
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/kafka_loop_json.h"

#define BATCH 1024
#define PARTITIONS 64
#define WAIT 30000

static void __attribute__((noreturn)) die(const char *what, const char *why)
{
	fprintf(stderr, "kafka_loop: %s: %s\n", what, why);
	exit(1);
}

static void
set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
	char text[512];
	if (rd_kafka_conf_set(conf, name, value, text, sizeof(text)) != RD_KAFKA_CONF_OK)
		die(name, text);
}

static void
delivered(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	(void)client;
	(void)opaque;
	if (message->err)
		die("produce", rd_kafka_err2str(message->err));
	if (message->_private != NULL)
		rd_kafka_message_destroy(message->_private);
}

static rd_kafka_t *
consumer(const char *servers, const char *topic)
{
	char text[512];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	set(conf, "bootstrap.servers", servers);
	set(conf, "group.id", "kafka_loop");
	set(conf, "enable.auto.commit", "false");
	set(conf, "enable.auto.offset.store", "false");
	set(conf, "isolation.level", "read_committed");
	set(conf, "queued.min.messages", "10000000");
	set(conf, "queued.max.messages.kbytes", "32768");
	set(conf, "fetch.max.bytes", "8388608");
	rd_kafka_t *client = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
	if (client == NULL)
		die("consumer", text);
	rd_kafka_poll_set_consumer(client);
	const struct rd_kafka_metadata *metadata;
	rd_kafka_topic_t *handle = rd_kafka_topic_new(client, topic, NULL);
	if (rd_kafka_metadata(client, 0, handle, &metadata, WAIT) != RD_KAFKA_RESP_ERR_NO_ERROR)
		die(topic, "no metadata");
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	for (int p = 0; p < metadata->topics[0].partition_cnt; p++)
		rd_kafka_topic_partition_list_add(list, topic, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
	rd_kafka_assign(client, list);
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_metadata_destroy(metadata);
	rd_kafka_topic_destroy(handle);
	return client;
}

static rd_kafka_t *
producer(const char *servers, int transactional)
{
	char text[512];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	set(conf, "bootstrap.servers", servers);
	set(conf, "enable.idempotence", "true");
	set(conf, "compression.type", "none");
	set(conf, "queue.buffering.max.kbytes", "4096");
	set(conf, "linger.ms", "50");
	set(conf, "queue.buffering.max.messages", "1000000");
	if (transactional)
		set(conf, "transactional.id", "kafka_loop");
	rd_kafka_conf_set_dr_msg_cb(conf, delivered);
	rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
	if (client == NULL)
		die("producer", text);
	rd_kafka_error_t *error = transactional ? rd_kafka_init_transactions(client, WAIT) : NULL;
	if (error == NULL && transactional)
		error = rd_kafka_begin_transaction(client);
	if (error != NULL)
		die("transaction", rd_kafka_error_string(error));
	return client;
}

/* The message's key and time with these bytes, which are copied unless they are the message's own: then it lives until it is delivered. */
static void
produce(rd_kafka_t *client, rd_kafka_topic_t *topic, rd_kafka_message_t *message, void *bytes, size_t size)
{
	rd_kafka_timestamp_type_t type;
	int64_t timestamp = rd_kafka_message_timestamp(message, &type);
	void *key = message->key, *owner = bytes == message->payload ? message : NULL;
	size_t key_size = message->key_len;
	int flags = owner != NULL ? 0 : RD_KAFKA_MSG_F_COPY;
	for (;;) {
		rd_kafka_resp_err_t code = rd_kafka_producev(
			client, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(RD_KAFKA_PARTITION_UA), RD_KAFKA_V_VALUE(bytes, size),
			RD_KAFKA_V_KEY(key, key_size), RD_KAFKA_V_TIMESTAMP(timestamp), RD_KAFKA_V_MSGFLAGS(flags),
			RD_KAFKA_V_OPAQUE(owner), RD_KAFKA_V_END);
		if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
			return;
		if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL)
			die("produce", rd_kafka_err2str(code));
		rd_kafka_poll(client, 10);
	}
}

/* Ends one transaction and begins the next. */
static void
commit(rd_kafka_t *out, rd_kafka_t *in, const char *topic, const int64_t *offsets)
{
	rd_kafka_flush(out, WAIT);
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	for (int p = 0; p < PARTITIONS; p++)
		if (offsets[p] != 0)
			rd_kafka_topic_partition_list_add(list, topic, p)->offset = offsets[p];
	rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(in);
	rd_kafka_error_t *error = rd_kafka_send_offsets_to_transaction(out, list, group, WAIT);
	if (error == NULL)
		error = rd_kafka_commit_transaction(out, WAIT);
	if (error == NULL)
		error = rd_kafka_begin_transaction(out);
	if (error != NULL)
		die("transaction", rd_kafka_error_string(error));
	rd_kafka_consumer_group_metadata_destroy(group);
	rd_kafka_topic_partition_list_destroy(list);
}

/* What a message becomes. */
struct target {
	rd_kafka_t *client;
	rd_kafka_topic_t *topic;
	FILE *file;
	int filtered, headers;
};

static void
use(struct target *to, rd_kafka_message_t *message)
{
	char encoded[LOOP_AVRO_MOST];
	rd_kafka_headers_t *headers;
	if (to->headers && rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR__NOENT)
		die("headers", "this loop does not carry them");
	if (to->file != NULL) {
		fwrite(message->payload, 1, message->len, to->file);
		putc('\n', to->file);
	} else if (to->filtered) {
		size_t size = loop_json_to_avro(message->payload, message->len, encoded);
		if (size == LOOP_JSON_BAD)
			die("json", "no document");
		if (size != 0)
			produce(to->client, to->topic, message, encoded, size);
	} else {
		produce(to->client, to->topic, message, message->payload, message->len);
		return; /* destroyed when it is delivered */
	}
	rd_kafka_message_destroy(message);
}

int
main(int argc, char **argv)
{
	if (argc != 6)
		die("usage", "kafka_loop pass|headers|transactions|json|file SERVERS FROM TO COUNT");
	const char *mode = argv[1], *servers = argv[2], *from = argv[3];
	long long count = atoll(argv[5]), done = 0;
	int to_file = strcmp(mode, "file") == 0, transactional = strcmp(mode, "transactions") == 0;
	rd_kafka_t *in = consumer(servers, from);
	struct target to = { .client = to_file ? NULL : producer(servers, transactional),
						 .filtered = strcmp(mode, "json") == 0,
						 .headers = strcmp(mode, "headers") == 0 };
	to.topic = to_file ? NULL : rd_kafka_topic_new(to.client, argv[4], NULL);
	to.file = to_file ? fopen(argv[4], "w") : NULL;
	if (to_file && to.file == NULL)
		die(argv[4], "cannot be written");
	rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(in);
	static rd_kafka_message_t *messages[BATCH];
	static int64_t offsets[PARTITIONS];
	time_t last = time(NULL);
	while (done < count) {
		ssize_t got = rd_kafka_consume_batch_queue(queue, 100, messages, BATCH);
		for (ssize_t i = 0; i < got; i++) {
			if (messages[i]->err)
				die("consume", rd_kafka_message_errstr(messages[i]));
			offsets[messages[i]->partition % PARTITIONS] = messages[i]->offset + 1;
			use(&to, messages[i]);
		}
		done += got > 0 ? got : 0;
		if (to.client != NULL)
			rd_kafka_poll(to.client, 0);
		if (transactional && time(NULL) != last) {
			last = time(NULL);
			commit(to.client, in, from, offsets);
		}
	}
	if (transactional)
		commit(to.client, in, from, offsets);
	if (to.client != NULL) {
		rd_kafka_flush(to.client, WAIT);
		rd_kafka_topic_destroy(to.topic);
		rd_kafka_destroy(to.client);
	}
	if (to.file != NULL && fclose(to.file) != 0)
		die(argv[4], "cannot be written");
	rd_kafka_queue_destroy(queue);
	rd_kafka_consumer_close(in);
	rd_kafka_destroy(in);
	return 0;
}
