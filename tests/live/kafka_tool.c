/*
 * A client for tests against a real Kafka broker: it makes topics, writes and reads records as JSON lines, and knows nothing of flowd.
 *
 *   kafka_tool [-b BROKERS] [-X NAME=VALUE]... create TOPIC [--partitions N] [--replicas N] [--config NAME=VALUE]...
 *   kafka_tool ... delete TOPIC
 *   kafka_tool ... grow TOPIC --partitions N   more partitions
 *   kafka_tool ... configure TOPIC --config NAME=VALUE   the topic's settings; those that are not named are the defaults again
 *   kafka_tool ... cut TOPIC PARTITION OFFSET  deletes the records before that offset
 *   kafka_tool ... describe TOPIC              {"partitions": [{"low": 0, "high": 7, "stable": 7, "leader": 1, "replicas": [1]}]}
 *   kafka_tool ... produce TOPIC [--transaction ID]   records from standard input; between them {"begin"|"commit"|"abort": true}
 *   kafka_tool ... generate TOPIC COUNT SIZE   COUNT records of SIZE bytes, all alike, without keys
 *   kafka_tool ... consume TOPIC [--count N] [--uncommitted] [--seconds S]
 *                                              up to the ends of now, or until N records came
 *   kafka_tool ... committed GROUP TOPIC       {"0": {"offset": 5, "metadata": "..."}}
 *   kafka_tool ... commit GROUP TOPIC PARTITION OFFSET
 *   kafka_tool version                         of librdkafka, as it counts them: 020002ff
 *
 * A record: {"key": "k", "value": "v", "partition": 0, "timestamp": 1700000000000, "headers": [["name", "value"], ["name", null]]};
 * null is null; bytes that are not UTF-8 stand in key_hex and value_hex. Read ones have "offset" too. Exit code 0: done; 1: an error,
 * told on standard error.
 */
#include <errno.h>
#include <jansson.h>
#include <librdkafka/rdkafka.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT 30000 /* milliseconds */

static struct options {
	rd_kafka_conf_t *conf;
	int partitions, replicas, uncommitted, seconds;
	long long count;
	const char *transaction;
	const char *configs[16];
	int config_count;
} options = { .partitions = 1, .replicas = -1, .count = -1, .seconds = 30 };

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	fprintf(stderr, "kafka_tool: ");
	vfprintf(stderr, format, list);
	fprintf(stderr, "\n");
	exit(1);
}

static void
set(const char *name, const char *value)
{
	char text[512];
	if (rd_kafka_conf_set(options.conf, name, value, text, sizeof(text)) != RD_KAFKA_CONF_OK)
		die("%s", text);
}

static rd_kafka_t *
client(rd_kafka_type_t type)
{
	char text[512];
	rd_kafka_t *made = rd_kafka_new(type, options.conf, text, sizeof(text));
	if (made == NULL)
		die("%s", text);
	return made;
}

static void
check_error(const char *what, rd_kafka_error_t *error)
{
	if (error != NULL)
		die("%s: %s", what, rd_kafka_error_string(error));
}

static void
check(const char *what, rd_kafka_resp_err_t code)
{
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		die("%s: %s", what, rd_kafka_err2name(code));
}

/* --- topics --------------------------------------------------------------------------------------------------------- */

static void
check_topics(rd_kafka_event_t *event, const rd_kafka_topic_result_t **results, size_t count)
{
	check("request", rd_kafka_event_error(event));
	for (size_t i = 0; i < count; i++)
		if (rd_kafka_topic_result_error(results[i]) != RD_KAFKA_RESP_ERR_NO_ERROR)
			die("%s: %s (%s)", rd_kafka_topic_result_name(results[i]),
				rd_kafka_err2name(rd_kafka_topic_result_error(results[i])),
				rd_kafka_topic_result_error_string(results[i]));
}

/* NAME=VALUE; both parts are released with the name. */
static char *
split(const char *pair, const char *option, const char **value)
{
	char *name = strdup(pair), *equals = strchr(name, '=');
	if (equals == NULL)
		die("%s %s: NAME=VALUE is needed", option, pair);
	*equals = '\0';
	*value = equals + 1;
	return name;
}

static void
create(const char *topic)
{
	rd_kafka_t *rk = client(RD_KAFKA_PRODUCER);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	char text[512];
	rd_kafka_NewTopic_t *wanted =
		rd_kafka_NewTopic_new(topic, options.partitions, options.replicas, text, sizeof(text));
	if (wanted == NULL)
		die("%s", text);
	for (int i = 0; i < options.config_count; i++) {
		const char *value;
		char *name = split(options.configs[i], "--config", &value);
		check(name, rd_kafka_NewTopic_set_config(wanted, name, value));
		free(name);
	}
	rd_kafka_CreateTopics(rk, &wanted, 1, NULL, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, WAIT);
	if (event == NULL)
		die("create %s: no answer", topic);
	size_t count;
	const rd_kafka_topic_result_t **results =
		rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
	check_topics(event, results, count);
	rd_kafka_event_destroy(event);
	rd_kafka_NewTopic_destroy(wanted);
	rd_kafka_queue_destroy(queue);
	rd_kafka_destroy(rk);
}

static void
delete_topic(const char *topic)
{
	rd_kafka_t *rk = client(RD_KAFKA_PRODUCER);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	rd_kafka_DeleteTopic_t *doomed = rd_kafka_DeleteTopic_new(topic);
	rd_kafka_DeleteTopics(rk, &doomed, 1, NULL, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, WAIT);
	if (event == NULL)
		die("delete %s: no answer", topic);
	size_t count;
	const rd_kafka_topic_result_t **results =
		rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count);
	check_topics(event, results, count);
	rd_kafka_event_destroy(event);
	rd_kafka_DeleteTopic_destroy(doomed);
	rd_kafka_queue_destroy(queue);
	rd_kafka_destroy(rk);
}

static void
grow(const char *topic)
{
	rd_kafka_t *rk = client(RD_KAFKA_PRODUCER);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	char text[512];
	rd_kafka_NewPartitions_t *wanted =
		rd_kafka_NewPartitions_new(topic, (size_t)options.partitions, text, sizeof(text));
	if (wanted == NULL)
		die("%s", text);
	rd_kafka_CreatePartitions(rk, &wanted, 1, NULL, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, WAIT);
	if (event == NULL)
		die("grow %s: no answer", topic);
	size_t count;
	const rd_kafka_topic_result_t **results =
		rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event), &count);
	check_topics(event, results, count);
	rd_kafka_event_destroy(event);
	rd_kafka_NewPartitions_destroy(wanted);
	rd_kafka_queue_destroy(queue);
	rd_kafka_destroy(rk);
}

static void
configure(const char *topic)
{
	rd_kafka_t *rk = client(RD_KAFKA_PRODUCER);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	rd_kafka_ConfigResource_t *wanted = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
	for (int i = 0; i < options.config_count; i++) {
		const char *value;
		char *name = split(options.configs[i], "--config", &value);
		check(name, rd_kafka_ConfigResource_set_config(wanted, name, value));
		free(name);
	}
	rd_kafka_AlterConfigs(rk, &wanted, 1, NULL, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, WAIT);
	if (event == NULL)
		die("configure %s: no answer", topic);
	check("configure", rd_kafka_event_error(event));
	size_t count;
	const rd_kafka_ConfigResource_t **results =
		rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event), &count);
	for (size_t i = 0; i < count; i++)
		if (rd_kafka_ConfigResource_error(results[i]) != RD_KAFKA_RESP_ERR_NO_ERROR)
			die("configure %s: %s", topic, rd_kafka_ConfigResource_error_string(results[i]));
	rd_kafka_event_destroy(event);
	rd_kafka_ConfigResource_destroy(wanted);
	rd_kafka_queue_destroy(queue);
	rd_kafka_destroy(rk);
}

static rd_kafka_topic_partition_list_t *
one_offset(const char *topic, const char *partition, const char *offset)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, topic, atoi(partition))->offset = atoll(offset);
	return list;
}

static void
cut(const char *topic, const char *partition, const char *offset)
{
	rd_kafka_t *rk = client(RD_KAFKA_PRODUCER);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	rd_kafka_topic_partition_list_t *list = one_offset(topic, partition, offset);
	rd_kafka_DeleteRecords_t *wanted = rd_kafka_DeleteRecords_new(list);
	rd_kafka_DeleteRecords(rk, &wanted, 1, NULL, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, WAIT);
	if (event == NULL)
		die("cut %s: no answer", topic);
	check("cut", rd_kafka_event_error(event));
	check("cut", rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event))->elems[0].err);
	rd_kafka_event_destroy(event);
	rd_kafka_DeleteRecords_destroy(wanted);
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_queue_destroy(queue);
	rd_kafka_destroy(rk);
}

static void
commit(const char *group, const char *topic, const char *partition, const char *offset)
{
	set("group.id", group);
	rd_kafka_t *rk = client(RD_KAFKA_CONSUMER);
	rd_kafka_topic_partition_list_t *list = one_offset(topic, partition, offset);
	check("commit", rd_kafka_commit(rk, list, 0));
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_destroy(rk);
}

/* Its partitions; a topic that has just been made is waited for. */
static const rd_kafka_metadata_topic_t *
look_up(rd_kafka_t *rk, const char *name, const rd_kafka_metadata_t **metadata)
{
	rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, name, NULL);
	rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__TIMED_OUT;
	for (int tries = 0; tries < 50; tries++) {
		check("metadata", rd_kafka_metadata(rk, 0, topic, metadata, WAIT));
		const rd_kafka_metadata_topic_t *found = &(*metadata)->topics[0];
		code = found->err;
		for (int p = 0; code == RD_KAFKA_RESP_ERR_NO_ERROR && p < found->partition_cnt; p++)
			code = found->partitions[p].err;
		if (code == RD_KAFKA_RESP_ERR_NO_ERROR && found->partition_cnt > 0) {
			rd_kafka_topic_destroy(topic);
			return found;
		}
		rd_kafka_metadata_destroy(*metadata);
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	die("%s: %s", name, rd_kafka_err2name(code));
}

/* Leaders may be on their way. */
static void
watermarks(rd_kafka_t *rk, const char *topic, int partition, int64_t *low, int64_t *high)
{
	rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
	for (int tries = 0; tries < 50; tries++) {
		code = rd_kafka_query_watermark_offsets(rk, topic, partition, low, high, WAIT);
		if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	check("watermarks", code);
}

static void
describe(const char *name)
{
	set("isolation.level", "read_committed");
	rd_kafka_conf_t *open = rd_kafka_conf_dup(options.conf);
	rd_kafka_t *committed = client(RD_KAFKA_CONSUMER);
	options.conf = open;
	set("isolation.level", "read_uncommitted");
	rd_kafka_t *all = client(RD_KAFKA_CONSUMER);
	const rd_kafka_metadata_t *metadata;
	const rd_kafka_metadata_topic_t *topic = look_up(all, name, &metadata);
	printf("{\"partitions\": [");
	for (int p = 0; p < topic->partition_cnt; p++) {
		int64_t low, high, stable;
		watermarks(all, name, p, &low, &high);
		watermarks(committed, name, p, &low, &stable);
		const rd_kafka_metadata_partition_t *found = topic->partitions;
		while (found->id != p)
			found++;
		printf("%s{\"low\": %lld, \"high\": %lld, \"stable\": %lld, \"leader\": %d, \"replicas\": [",
			   p == 0 ? "" : ", ", (long long)low, (long long)high, (long long)stable, found->leader);
		for (int i = 0; i < found->replica_cnt; i++)
			printf("%s%d", i == 0 ? "" : ", ", found->replicas[i]);
		printf("]}");
	}
	printf("]}\n");
	rd_kafka_metadata_destroy(metadata);
	rd_kafka_destroy(committed);
	rd_kafka_destroy(all);
}

/* --- writing -------------------------------------------------------------------------------------------------------- */

static int failed;

static void
delivered(rd_kafka_t *rk, const rd_kafka_message_t *message, void *context)
{
	(void)rk;
	(void)context;
	if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	if (!failed)
		fprintf(stderr, "kafka_tool: %s [%d]: %s\n", rd_kafka_topic_name(message->rkt), message->partition,
				rd_kafka_err2name(message->err));
	failed = 1;
}

/* The bytes of `name` or, in hex, of name_hex; released by the caller. */
static void *
bytes_of(const json_t *record, const char *name, size_t *size)
{
	char hex_name[64];
	snprintf(hex_name, sizeof(hex_name), "%s_hex", name);
	const json_t *text = json_object_get(record, name), *hex = json_object_get(record, hex_name);
	*size = json_is_string(text) ? json_string_length(text) : json_string_length(hex) / 2;
	if (!json_is_string(text) && !json_is_string(hex))
		return NULL;
	char *bytes = malloc(*size + 1);
	if (json_is_string(text))
		memcpy(bytes, json_string_value(text), *size);
	for (size_t i = 0; !json_is_string(text) && i < *size; i++) {
		char two[3] = { json_string_value(hex)[2 * i], json_string_value(hex)[2 * i + 1], 0 };
		bytes[i] = (char)strtol(two, NULL, 16);
	}
	return bytes;
}

static rd_kafka_headers_t *
headers_of(const json_t *record)
{
	const json_t *list = json_object_get(record, "headers");
	if (json_array_size(list) == 0)
		return NULL;
	rd_kafka_headers_t *headers = rd_kafka_headers_new(json_array_size(list));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *name = json_array_get(json_array_get(list, i), 0),
					 *value = json_array_get(json_array_get(list, i), 1);
		rd_kafka_header_add(headers, json_string_value(name), -1, json_string_value(value),
							json_is_string(value) ? (ssize_t)json_string_length(value) : 0);
	}
	return headers;
}

static rd_kafka_resp_err_t
produce_one(rd_kafka_t *rk, rd_kafka_topic_t *topic, int32_t partition, void *key, size_t key_size, void *value,
			size_t value_size, int64_t timestamp, rd_kafka_headers_t *headers)
{
	rd_kafka_vu_t words[7] = { { .vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic },
							   { .vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = partition },
							   { .vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY },
							   { .vtype = RD_KAFKA_VTYPE_KEY, .u.mem = { key, key_size } },
							   { .vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = { value, value_size } },
							   { .vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = timestamp },
							   { .vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers } };
	rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__QUEUE_FULL;
	for (int waited = 0; code == RD_KAFKA_RESP_ERR__QUEUE_FULL && waited < WAIT; waited += 100) {
		rd_kafka_error_t *error = rd_kafka_produceva(rk, words, headers == NULL ? 6 : 7);
		code = error == NULL ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_error_code(error);
		if (error != NULL)
			rd_kafka_error_destroy(error);
		rd_kafka_poll(rk, code == RD_KAFKA_RESP_ERR__QUEUE_FULL ? 100 : 0); /* reports make room */
	}
	return code;
}

static void
produce_line(rd_kafka_t *rk, rd_kafka_topic_t *topic, const char *line)
{
	json_error_t wrong;
	json_t *record = json_loads(line, JSON_ALLOW_NUL, &wrong);
	if (record == NULL)
		die("%s: %s", line, wrong.text);
	if (json_object_get(record, "begin") != NULL) {
		check_error("begin", rd_kafka_begin_transaction(rk));
	} else if (json_object_get(record, "commit") != NULL) {
		check_error("commit", rd_kafka_commit_transaction(rk, WAIT));
	} else if (json_object_get(record, "abort") != NULL) {
		check("flush", rd_kafka_flush(rk, WAIT)); /* they are to be in the log, as aborted ones */
		check_error("abort", rd_kafka_abort_transaction(rk, WAIT));
	} else {
		size_t key_size, value_size;
		void *key = bytes_of(record, "key", &key_size), *value = bytes_of(record, "value", &value_size);
		const json_t *partition = json_object_get(record, "partition");
		check("produce",
			  produce_one(rk, topic, partition == NULL ? RD_KAFKA_PARTITION_UA : (int32_t)json_integer_value(partition),
						  key, key_size, value, value_size, json_integer_value(json_object_get(record, "timestamp")),
						  headers_of(record)));
		free(key);
		free(value);
	}
	json_decref(record);
}

static rd_kafka_t *
producer(void)
{
	rd_kafka_conf_set_dr_msg_cb(options.conf, delivered);
	if (options.transaction != NULL)
		set("transactional.id", options.transaction);
	rd_kafka_t *rk = client(RD_KAFKA_PRODUCER);
	if (options.transaction != NULL)
		check_error("init_transactions", rd_kafka_init_transactions(rk, WAIT));
	return rk;
}

static void
end_producer(rd_kafka_t *rk, rd_kafka_topic_t *topic)
{
	rd_kafka_resp_err_t code = rd_kafka_flush(rk, WAIT * 4);
	rd_kafka_topic_destroy(topic);
	rd_kafka_destroy(rk);
	check("flush", code);
	if (failed)
		exit(1);
}

static void
produce(const char *name)
{
	rd_kafka_t *rk = producer();
	rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, name, NULL);
	char *line = NULL;
	size_t room = 0;
	while (getline(&line, &room, stdin) > 0)
		produce_line(rk, topic, line);
	free(line);
	end_producer(rk, topic);
}

static void
generate(const char *name, long long count, size_t size)
{
	rd_kafka_t *rk = producer();
	rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, name, NULL);
	char *value = malloc(size);
	for (size_t i = 0; i < size; i++)
		value[i] = (char)('a' + i % 26);
	for (long long i = 0; i < count; i++)
		while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, value, size, NULL, 0, NULL) != 0) {
			if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
				die("produce: %s", rd_kafka_err2name(rd_kafka_last_error()));
			rd_kafka_poll(rk, 100);
		}
	free(value);
	end_producer(rk, topic);
}

/* --- reading -------------------------------------------------------------------------------------------------------- */

static void
put_bytes(json_t *into, const char *name, const void *bytes, size_t size)
{
	json_t *text = bytes == NULL ? json_null() : json_stringn(bytes, size);
	if (text != NULL) {
		json_object_set_new(into, name, text);
		return;
	}
	char hex_name[64], *hex = malloc(2 * size + 1);
	snprintf(hex_name, sizeof(hex_name), "%s_hex", name);
	for (size_t i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", ((const unsigned char *)bytes)[i]);
	json_object_set_new(into, hex_name, json_string(hex));
	free(hex);
}

static void
print_message(const rd_kafka_message_t *message)
{
	static const char *const types[] = { "none", "create", "append" };
	json_t *record = json_object(), *list = json_array();
	rd_kafka_timestamp_type_t type;
	int64_t timestamp = rd_kafka_message_timestamp(message, &type);
	json_object_set_new(record, "partition", json_integer(message->partition));
	json_object_set_new(record, "offset", json_integer(message->offset));
	json_object_set_new(record, "timestamp", json_integer(timestamp));
	json_object_set_new(record, "timestamp_type", json_string(types[type]));
	put_bytes(record, "key", message->key, message->key_len);
	put_bytes(record, "value", message->payload, message->len);
	rd_kafka_headers_t *headers;
	if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
		const char *name;
		const void *value;
		size_t size;
		for (size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; i++)
			json_array_append_new(list,
								  json_pack("[s,o]", name, value == NULL ? json_null() : json_stringn(value, size)));
	}
	json_object_set_new(record, "headers", list);
	json_dumpf(record, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(record);
}

static void
consume(const char *name)
{
	set("group.id", "kafka_tool");
	set("enable.auto.commit", "false");
	set("enable.partition.eof", "true");
	set("fetch.wait.max.ms", "50");
	set("isolation.level", options.uncommitted ? "read_uncommitted" : "read_committed");
	rd_kafka_t *rk = client(RD_KAFKA_CONSUMER);
	rd_kafka_poll_set_consumer(rk);
	const rd_kafka_metadata_t *metadata;
	int partitions = look_up(rk, name, &metadata)->partition_cnt, open = partitions;
	rd_kafka_metadata_destroy(metadata);
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(partitions);
	for (int p = 0; p < partitions; p++)
		rd_kafka_topic_partition_list_add(list, name, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
	check("assign", rd_kafka_assign(rk, list));
	rd_kafka_topic_partition_list_destroy(list);
	char *ended = calloc((size_t)partitions, 1);
	long long read = 0;
	time_t end = time(NULL) + options.seconds;
	while (options.count >= 0 ? read < options.count : open > 0) {
		if (time(NULL) > end)
			die("consume %s: %lld records within %d s, more were expected", name, read, options.seconds);
		rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, 200);
		if (message == NULL)
			continue;
		if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
			open -= !ended[message->partition];
			ended[message->partition] = 1;
		} else if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			print_message(message);
			read++;
		} else if (rd_kafka_fatal_error(rk, NULL, 0) || message->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
			die("consume %s: %s", name, rd_kafka_message_errstr(message));
		}
		rd_kafka_message_destroy(message);
	}
	free(ended);
	rd_kafka_consumer_close(rk);
	rd_kafka_destroy(rk);
}

static void
committed(const char *group, const char *topic)
{
	set("group.id", group);
	rd_kafka_t *rk = client(RD_KAFKA_CONSUMER);
	const rd_kafka_metadata_t *metadata;
	int partitions = look_up(rk, topic, &metadata)->partition_cnt;
	rd_kafka_metadata_destroy(metadata);
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(partitions);
	for (int p = 0; p < partitions; p++)
		rd_kafka_topic_partition_list_add(list, topic, p);
	rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NOT_COORDINATOR;
	for (int tries = 0; code == RD_KAFKA_RESP_ERR_NOT_COORDINATOR && tries < 50; tries++) { /* it may be on its way */
		if (tries != 0)
			nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
		code = rd_kafka_committed(rk, list, WAIT);
	}
	check("committed", code);
	json_t *all = json_object();
	for (int p = 0; p < list->cnt; p++) {
		char name[16];
		snprintf(name, sizeof(name), "%d", list->elems[p].partition);
		if (list->elems[p].offset >= 0)
			json_object_set_new(all, name,
								json_pack("{s:I,s:o}", "offset", (json_int_t)list->elems[p].offset, "metadata",
										  json_stringn(list->elems[p].metadata == NULL ? "" : list->elems[p].metadata,
													   list->elems[p].metadata_size)));
	}
	json_dumpf(all, stdout, JSON_COMPACT | JSON_SORT_KEYS);
	putchar('\n');
	json_decref(all);
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_destroy(rk);
}

/* --- the command line ----------------------------------------------------------------------------------------------- */

static void
set_pair(const char *pair)
{
	const char *value;
	char *name = split(pair, "-X", &value);
	set(name, value);
	free(name);
}

int
main(int argc, char **argv)
{
	const char *words[5] = { 0 };
	int count = 0;
	options.conf = rd_kafka_conf_new();
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : "";
		int taken = 1;
		if (strcmp(word, "-b") == 0)
			set("bootstrap.servers", next);
		else if (strcmp(word, "-X") == 0)
			set_pair(next);
		else if (strcmp(word, "--partitions") == 0)
			options.partitions = atoi(next);
		else if (strcmp(word, "--replicas") == 0)
			options.replicas = atoi(next);
		else if (strcmp(word, "--config") == 0 && options.config_count < 16)
			options.configs[options.config_count++] = next;
		else if (strcmp(word, "--count") == 0)
			options.count = atoll(next);
		else if (strcmp(word, "--seconds") == 0)
			options.seconds = atoi(next);
		else if (strcmp(word, "--transaction") == 0)
			options.transaction = next;
		else
			taken = 0;
		i += taken;
		if (taken)
			continue;
		if (strcmp(word, "--uncommitted") == 0)
			options.uncommitted = 1;
		else if (word[0] == '-' || count == 5)
			die("unknown option or word: %s", word);
		else
			words[count++] = word;
	}
	const char *command = count == 0 ? "" : words[0];
	if (strcmp(command, "create") == 0 && count == 2)
		create(words[1]);
	else if (strcmp(command, "delete") == 0 && count == 2)
		delete_topic(words[1]);
	else if (strcmp(command, "grow") == 0 && count == 2)
		grow(words[1]);
	else if (strcmp(command, "configure") == 0 && count == 2)
		configure(words[1]);
	else if (strcmp(command, "cut") == 0 && count == 4)
		cut(words[1], words[2], words[3]);
	else if (strcmp(command, "commit") == 0 && count == 5)
		commit(words[1], words[2], words[3], words[4]);
	else if (strcmp(command, "describe") == 0 && count == 2)
		describe(words[1]);
	else if (strcmp(command, "produce") == 0 && count == 2)
		produce(words[1]);
	else if (strcmp(command, "generate") == 0 && count == 4)
		generate(words[1], atoll(words[2]), (size_t)atoll(words[3]));
	else if (strcmp(command, "consume") == 0 && count == 2)
		consume(words[1]);
	else if (strcmp(command, "committed") == 0 && count == 3)
		committed(words[1], words[2]);
	else if (strcmp(command, "version") == 0)
		printf("%08x\n", rd_kafka_version());
	else
		die("create, delete, grow, configure, cut, describe, produce, generate, consume, commit or committed; see the "
			"top of "
			"kafka_tool.c");
	return 0;
}
