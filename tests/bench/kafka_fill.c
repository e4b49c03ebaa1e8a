/*
 * Fills a topic for measurements.
 *
 *   kafka_fill SERVERS TOPIC lines FILE              a record for each line, without keys
 *   kafka_fill SERVERS TOPIC keys COUNT KEYS         keys of 16 bytes, KEYS many, in no order, values alike
 */
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH 120000

static int failed;

static void __attribute__((noreturn)) die(const char *what, const char *why)
{
	fprintf(stderr, "kafka_fill: %s: %s\n", what, why);
	exit(1);
}

static void
delivered(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	(void)client;
	(void)opaque;
	failed |= message->err != RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void
put(rd_kafka_topic_t *topic, rd_kafka_t *client, void *value, size_t size, const char *key)
{
	while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, value, size, key,
							key == NULL ? 0 : strlen(key), NULL) != 0) {
		if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
			die("produce", rd_kafka_err2str(rd_kafka_last_error()));
		rd_kafka_poll(client, 100);
	}
	rd_kafka_poll(client, 0);
}

static void
put_lines(rd_kafka_topic_t *topic, rd_kafka_t *client, const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t size;
	if (file == NULL)
		die(path, "cannot be read");
	while ((size = getline(&line, &room, file)) > 0)
		put(topic, client, line, (size_t)size - (line[size - 1] == '\n'), NULL);
	free(line);
	fclose(file);
}

static void
put_keys(rd_kafka_topic_t *topic, rd_kafka_t *client, uint64_t count, uint64_t keys)
{
	char key[32];
	for (uint64_t i = 0; i < count; i++) {
		uint64_t mixed = i * 0x9E3779B97F4A7C15u;
		mixed ^= mixed >> 29;
		snprintf(key, sizeof(key), "key-%012" PRIu64, mixed % keys);
		put(topic, client, key, strlen(key), key);
	}
}

int
main(int argc, char **argv)
{
	char text[512];
	if (argc < 5)
		die("usage", "kafka_fill SERVERS TOPIC lines FILE | keys COUNT KEYS");
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	if (rd_kafka_conf_set(conf, "bootstrap.servers", argv[1], text, sizeof(text)) != RD_KAFKA_CONF_OK ||
		rd_kafka_conf_set(conf, "queue.buffering.max.messages", "1000000", text, sizeof(text)) != RD_KAFKA_CONF_OK)
		die("configuration", text);
	rd_kafka_conf_set_dr_msg_cb(conf, delivered);
	rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
	if (client == NULL)
		die("producer", text);
	rd_kafka_topic_t *topic = rd_kafka_topic_new(client, argv[2], NULL);
	if (strcmp(argv[3], "lines") == 0)
		put_lines(topic, client, argv[4]);
	else if (argc == 6)
		put_keys(topic, client, strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10));
	if (rd_kafka_flush(client, FLUSH) != RD_KAFKA_RESP_ERR_NO_ERROR || failed)
		die(argv[2], "not all records were written");
	rd_kafka_topic_destroy(topic);
	rd_kafka_destroy(client);
	return 0;
}
