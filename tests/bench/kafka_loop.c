/*
 * The measure beside jobs on Kafka: what librdkafka alone needs to take records from one topic to another, batches in, borrowed memory out,
 * times kept, the settings of flowd.
 *
 *   kafka_loop SERVERS FROM TO COUNT [transaction]   with `transaction`: one each second, with the positions of the input
 *   kafka_loop SERVERS FROM - COUNT FILE             values to a file, a line each
 */
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH 1000
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
	set(conf, "queued.max.messages.kbytes", "65536");
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
	set(conf, "queue.buffering.max.kbytes", "32768");
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

static void
produce(rd_kafka_t *client, rd_kafka_topic_t *topic, rd_kafka_message_t *message)
{
	rd_kafka_timestamp_type_t type;
	int64_t timestamp = rd_kafka_message_timestamp(message, &type);
	void *bytes = message->payload, *key = message->key;
	size_t size = message->len, key_size = message->key_len;
	for (;;) {
		rd_kafka_resp_err_t code = rd_kafka_producev(
			client, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(RD_KAFKA_PARTITION_UA), RD_KAFKA_V_VALUE(bytes, size),
			RD_KAFKA_V_KEY(key, key_size), RD_KAFKA_V_TIMESTAMP(timestamp), RD_KAFKA_V_OPAQUE(message), RD_KAFKA_V_END);
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

int
main(int argc, char **argv)
{
	if (argc < 5)
		die("usage", "kafka_loop SERVERS FROM TO COUNT [transaction]");
	long long count = atoll(argv[4]), done = 0;
	int to_file = strcmp(argv[3], "-") == 0, transactional = argc > 5 && !to_file;
	FILE *file = to_file ? fopen(argv[5], "w") : NULL;
	rd_kafka_t *in = consumer(argv[1], argv[2]), *out = to_file ? NULL : producer(argv[1], transactional);
	rd_kafka_topic_t *topic = to_file ? NULL : rd_kafka_topic_new(out, argv[3], NULL);
	rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(in);
	static rd_kafka_message_t *messages[BATCH];
	static int64_t offsets[PARTITIONS];
	time_t last = time(NULL);
	while (done < count) {
		ssize_t got = rd_kafka_consume_batch_queue(queue, 100, messages, BATCH);
		for (ssize_t i = 0; i < got; i++) {
			rd_kafka_message_t *message = messages[i];
			if (message->err)
				die("consume", rd_kafka_message_errstr(message));
			offsets[message->partition % PARTITIONS] = message->offset + 1;
			if (out != NULL)
				produce(out, topic, message);
			else {
				fwrite(message->payload, 1, message->len, file);
				putc('\n', file);
				rd_kafka_message_destroy(message);
			}
		}
		done += got > 0 ? got : 0;
		if (out != NULL)
			rd_kafka_poll(out, 0);
		if (transactional && time(NULL) != last) {
			last = time(NULL);
			commit(out, in, argv[2], offsets);
		}
	}
	if (transactional)
		commit(out, in, argv[2], offsets);
	if (out != NULL) {
		rd_kafka_flush(out, WAIT);
		rd_kafka_topic_destroy(topic);
	}
	if (file != NULL && fclose(file) != 0)
		die(argv[5], "cannot be written");
	rd_kafka_queue_destroy(queue);
	if (out != NULL)
		rd_kafka_destroy(out);
	rd_kafka_consumer_close(in);
	rd_kafka_destroy(in);
	return 0;
}
