/*
 * kafka_descriptor.h - descriptors of the system `kafka`, for applications in C (flow_sdk/descriptor.h). What every input and output
 * has is set with the setters there: bounded, bootstrap, priority, offset_default, reset_offset, delete_committed_messages, serdes.
 */
#ifndef KAFKA_DESCRIPTOR_H
#define KAFKA_DESCRIPTOR_H

#include "flow_sdk/descriptor.h"

typedef struct kafka_system_descriptor {
	flow_descriptor *system;
} kafka_system_descriptor;
typedef struct kafka_input_descriptor {
	flow_descriptor *input;
} kafka_input_descriptor;
typedef struct kafka_output_descriptor {
	flow_descriptor *output;
} kafka_output_descriptor;

/* --- the system ------------------------------------------------------------------------------------------------------- */

#define kafka_system(graph, name) FLOW_NEW(kafka_system_descriptor, flow_make_system(graph, name, "kafka", FLOW_HERE))
/* One more broker, HOST:PORT. */
#define kafka_system_add_bootstrap_server(of, server)                                                                  \
	FLOW_SAME(of, flow_append_text((of).system, "bootstrap_servers", server, FLOW_HERE))
#define kafka_system_with_client_id(of, name) FLOW_SAME(of, flow_put_text((of).system, "client_id", name, FLOW_HERE))
/* A property of librdkafka, for all inputs or outputs: kafka_system_with_consumer(kafka, "fetch.min.bytes", "1000"). */
#define kafka_system_with_consumer(of, property, value)                                                                \
	FLOW_SAME(of, flow_put_text((of).system, "consumer." property, value, FLOW_HERE))
#define kafka_system_with_producer(of, property, value)                                                                \
	FLOW_SAME(of, flow_put_text((of).system, "producer." property, value, FLOW_HERE))
/* Compression of what is written: "none", "gzip", "snappy", "lz4", "zstd". */
#define kafka_system_with_compression(of, codec)                                                                       \
	FLOW_SAME(of, flow_put_text((of).system, "compression", codec, FLOW_HERE))
#define kafka_system_with_idempotence(of, truth)                                                                       \
	FLOW_SAME(of, flow_put_bool((of).system, "idempotence", truth, FLOW_HERE))
/* Records, and bytes ("64MiB"), that wait in this process, over all inputs. */
#define kafka_system_with_fetch_threshold(of, records)                                                                 \
	FLOW_SAME(of, flow_put_int((of).system, "fetch_threshold", records, FLOW_HERE))
#define kafka_system_with_fetch_threshold_bytes(of, size)                                                              \
	FLOW_SAME(of, flow_put_text((of).system, "fetch_threshold_bytes", size, FLOW_HERE))
/* How soon topics and partitions that appear are found: "30s". */
#define kafka_system_with_discovery_interval(of, duration)                                                             \
	FLOW_SAME(of, flow_put_text((of).system, "discovery_interval", duration, FLOW_HERE))
#define kafka_system_with_request_timeout(of, duration)                                                                \
	FLOW_SAME(of, flow_put_text((of).system, "request_timeout", duration, FLOW_HERE))
/* Bytes that wait to be sent ("32MiB"), and how long brokers wait for a transaction to end ("1m"). */
#define kafka_system_with_send_threshold_bytes(of, size)                                                               \
	FLOW_SAME(of, flow_put_text((of).system, "send_threshold_bytes", size, FLOW_HERE))
#define kafka_system_with_transaction_timeout(of, duration)                                                            \
	FLOW_SAME(of, flow_put_text((of).system, "transaction_timeout", duration, FLOW_HERE))
/* For the inputs of the system that say nothing of their own. */
#define kafka_system_with_offset_reset(of, choice)                                                                     \
	FLOW_SAME(of, flow_put_text((of).system, "stream_defaults.offset_reset", choice, FLOW_HERE))
#define kafka_system_with_fetch_message_max_bytes(of, size)                                                            \
	FLOW_SAME(of, flow_put_text((of).system, "stream_defaults.fetch_message_max_bytes", size, FLOW_HERE))
/* Security. Secrets stand in the configuration ({ env = "..."; }), never in code. */
#define kafka_system_with_tls(of, truth) FLOW_SAME(of, flow_put_bool((of).system, "security.tls", truth, FLOW_HERE))
#define kafka_system_with_ca(of, path) FLOW_SAME(of, flow_put_text((of).system, "security.ca", path, FLOW_HERE))
#define kafka_system_with_certificate(of, path, key_path)                                                              \
	FLOW_SAME(of, flow_put_text(flow_put_text((of).system, "security.certificate", path, FLOW_HERE), "security.key",   \
								key_path, FLOW_HERE))
#define kafka_system_with_verify_host(of, truth)                                                                       \
	FLOW_SAME(of, flow_put_bool((of).system, "security.verify_host", truth, FLOW_HERE))
/* "plain", "scram_sha_256", "scram_sha_512", "oauthbearer", "gssapi". */
#define kafka_system_with_mechanism(of, name)                                                                          \
	FLOW_SAME(of, flow_put_text((of).system, "security.mechanism", name, FLOW_HERE))
#define kafka_system_with_username(of, name)                                                                           \
	FLOW_SAME(of, flow_put_text((of).system, "security.username", name, FLOW_HERE))

/* --- inputs ----------------------------------------------------------------------------------------------------------- */

#define kafka_input(of_system, id)                                                                                     \
	FLOW_NEW(kafka_input_descriptor, flow_make_stream((of_system).system->graph, FLOW_DESCRIBE_INPUT, id,              \
													  (of_system).system->name, FLOW_HERE))
/* An input of a system that the configuration describes. */
#define kafka_input_from(graph, id, system_name)                                                                       \
	FLOW_NEW(kafka_input_descriptor, flow_make_stream(graph, FLOW_DESCRIBE_INPUT, id, system_name, FLOW_HERE))
/* Every topic whose whole name matches the expression, in place of the one of the physical name. */
#define kafka_input_with_pattern(in, expression)                                                                       \
	FLOW_SAME(in, flow_put_text((in).input, "pattern", expression, FLOW_HERE))
#define kafka_input_with_group(in, name) FLOW_SAME(in, flow_put_text((in).input, "group", name, FLOW_HERE))
/* "static", "group". */
#define kafka_input_with_assignment(in, choice)                                                                        \
	FLOW_SAME(in, flow_put_text((in).input, "assignment", choice, FLOW_HERE))
/* "cooperative", "eager". */
#define kafka_input_with_rebalance(in, choice) FLOW_SAME(in, flow_put_text((in).input, "rebalance", choice, FLOW_HERE))
/* Where no position is known: a time, "2026-01-31T00:00:00Z". */
#define kafka_input_with_start_timestamp(in, time)                                                                     \
	FLOW_SAME(in, flow_put_text((in).input, "start_timestamp", time, FLOW_HERE))
/* Where no position is known: the offset of a partition, named by a text: "0". */
#define kafka_input_with_start_offset(in, partition, offset)                                                           \
	FLOW_SAME(in, flow_put_int((in).input, "start_offsets.\"" partition "\"", offset, FLOW_HERE))
/* What happens when the record to go on with is gone: "error", "oldest", "newest". */
#define kafka_input_with_offset_reset(in, choice)                                                                      \
	FLOW_SAME(in, flow_put_text((in).input, "offset_reset", choice, FLOW_HERE))
/* "read_committed", "read_uncommitted". */
#define kafka_input_with_isolation(in, choice) FLOW_SAME(in, flow_put_text((in).input, "isolation", choice, FLOW_HERE))
#define kafka_input_with_headers(in, truth) FLOW_SAME(in, flow_put_bool((in).input, "headers", truth, FLOW_HERE))
/* A header that says who gave the timestamp, "create" or "log_append". */
#define kafka_input_with_timestamp_type_header(in, name)                                                               \
	FLOW_SAME(in, flow_put_text((in).input, "timestamp_type_header", name, FLOW_HERE))
#define kafka_input_with_fetch_message_max_bytes(in, size)                                                             \
	FLOW_SAME(in, flow_put_text((in).input, "fetch_message_max_bytes", size, FLOW_HERE))
#define kafka_input_with_consumer(in, property, value)                                                                 \
	FLOW_SAME(in, flow_put_text((in).input, "consumer." property, value, FLOW_HERE))

/* --- outputs ---------------------------------------------------------------------------------------------------------- */

#define kafka_output(of_system, id)                                                                                    \
	FLOW_NEW(kafka_output_descriptor, flow_make_stream((of_system).system->graph, FLOW_DESCRIBE_OUTPUT, id,            \
													   (of_system).system->name, FLOW_HERE))
#define kafka_output_from(graph, id, system_name)                                                                      \
	FLOW_NEW(kafka_output_descriptor, flow_make_stream(graph, FLOW_DESCRIBE_OUTPUT, id, system_name, FLOW_HERE))
/* "murmur2" (as Java's clients), "crc32", "fnv1a", "random", "round_robin". */
#define kafka_output_with_partitioner(out, name)                                                                       \
	FLOW_SAME(out, flow_put_text((out).output, "partitioner", name, FLOW_HERE))
/* The partition of a record, in place of the partitioner: an expression, "user_id % 4". */
#define kafka_output_with_partition(out, expression)                                                                   \
	FLOW_SAME(out, flow_put_text((out).output, "partition", expression, FLOW_HERE))
/* Makes the topic if it is not there, with so many partitions and copies, and settings: with_config(out, "cleanup.policy", "compact"). */
#define kafka_output_with_create(out, truth) FLOW_SAME(out, flow_put_bool((out).output, "create", truth, FLOW_HERE))
#define kafka_output_with_partitions(out, count)                                                                       \
	FLOW_SAME(out, flow_put_int((out).output, "partitions", count, FLOW_HERE))
#define kafka_output_with_replication(out, count)                                                                      \
	FLOW_SAME(out, flow_put_int((out).output, "replication", count, FLOW_HERE))
#define kafka_output_with_config(out, setting, value)                                                                  \
	FLOW_SAME(out, flow_put_text((out).output, "config." setting, value, FLOW_HERE))
/* A property of librdkafka for this output; only with delivery "at_least_once". */
#define kafka_output_with_producer(out, property, value)                                                               \
	FLOW_SAME(out, flow_put_text((out).output, "producer." property, value, FLOW_HERE))

#endif
