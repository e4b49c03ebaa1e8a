/* Descriptors of the system `kafka` and its inputs: what each setter says. */
#include "../kafka_descriptor.h"
#include "support/recorded_graph.h"

static void
given_a_system_when_described_then_each_setter_says_its_property_and_nothing_else_is_said(void **state)
{
	recorded_graph *r = *state;
	kafka_system_descriptor shop = kafka_system(recorded_graph_of(r), "shop");
	assert_string_equal(recorded_graph_text(r), "system shop: described\nsystem shop: type = \"kafka\"\n");
	SAYS(kafka_system_add_bootstrap_server(shop, "h:9092"), "system shop: bootstrap_servers + \"h:9092\"\n");
	SAYS(kafka_system_with_client_id(shop, "me"), "system shop: client_id = \"me\"\n");
	SAYS(kafka_system_with_consumer(shop, "fetch.min.bytes", "1000"),
		 "system shop: consumer.fetch.min.bytes = \"1000\"\n");
	SAYS(kafka_system_with_producer(shop, "linger.ms", "5"), "system shop: producer.linger.ms = \"5\"\n");
	SAYS(kafka_system_with_compression(shop, "zstd"), "system shop: compression = \"zstd\"\n");
	SAYS(kafka_system_with_idempotence(shop, 0), "system shop: idempotence = false\n");
	SAYS(kafka_system_with_idempotence(shop, 1), "system shop: idempotence = true\n");
	SAYS(kafka_system_with_fetch_threshold(shop, 5000), "system shop: fetch_threshold = 5000\n");
	SAYS(kafka_system_with_fetch_threshold_bytes(shop, "8MiB"), "system shop: fetch_threshold_bytes = \"8MiB\"\n");
	SAYS(kafka_system_with_discovery_interval(shop, "5s"), "system shop: discovery_interval = \"5s\"\n");
	SAYS(kafka_system_with_request_timeout(shop, "3s"), "system shop: request_timeout = \"3s\"\n");
	SAYS(kafka_system_with_offset_reset(shop, "oldest"), "system shop: stream_defaults.offset_reset = \"oldest\"\n");
	SAYS(kafka_system_with_fetch_message_max_bytes(shop, "2MiB"),
		 "system shop: stream_defaults.fetch_message_max_bytes = \"2MiB\"\n");
	SAYS(kafka_system_with_tls(shop, 1), "system shop: security.tls = true\n");
	SAYS(kafka_system_with_tls(shop, 0), "system shop: security.tls = false\n");
	SAYS(kafka_system_with_ca(shop, "ca.pem"), "system shop: security.ca = \"ca.pem\"\n");
	SAYS(kafka_system_with_verify_host(shop, 0), "system shop: security.verify_host = false\n");
	SAYS(kafka_system_with_mechanism(shop, "plain"), "system shop: security.mechanism = \"plain\"\n");
	SAYS(kafka_system_with_username(shop, "u"), "system shop: security.username = \"u\"\n");
	SAYS(kafka_system_with_certificate(shop, "c.pem", "k.pem"),
		 "system shop: security.certificate = \"c.pem\"\nsystem shop: security.key = \"k.pem\"\n");
	SAYS(flow_system_with_key_value_serde(shop, "string", "json"),
		 "system shop: serde.key = \"string\"\nsystem shop: serde.value = \"json\"\n");
}

static void
given_an_input_when_described_then_each_setter_says_its_property_and_nothing_else_is_said(void **state)
{
	recorded_graph *r = *state;
	flow_graph *graph = recorded_graph_of(r);
	SAYS(kafka_input_from(graph, "far", "elsewhere"), "input far: described\ninput far: in system elsewhere\n");
	kafka_system_descriptor shop = kafka_system(graph, "shop");
	recorded_graph_text(r);
	kafka_input_descriptor in = kafka_input(shop, "in");
	assert_string_equal(recorded_graph_text(r), "input in: described\ninput in: in system shop\n");
	SAYS(kafka_input_with_pattern(in, "o.*"), "input in: pattern = \"o.*\"\n");
	SAYS(kafka_input_with_group(in, "g"), "input in: group = \"g\"\n");
	SAYS(kafka_input_with_assignment(in, "group"), "input in: assignment = \"group\"\n");
	SAYS(kafka_input_with_rebalance(in, "eager"), "input in: rebalance = \"eager\"\n");
	SAYS(kafka_input_with_start_timestamp(in, "2026-01-31T00:00:00Z"),
		 "input in: start_timestamp = \"2026-01-31T00:00:00Z\"\n");
	SAYS(kafka_input_with_start_offset(in, "0", 7), "input in: start_offsets.\"0\" = 7\n");
	SAYS(kafka_input_with_offset_reset(in, "newest"), "input in: offset_reset = \"newest\"\n");
	SAYS(kafka_input_with_isolation(in, "read_uncommitted"), "input in: isolation = \"read_uncommitted\"\n");
	SAYS(kafka_input_with_headers(in, 0), "input in: headers = false\n");
	SAYS(kafka_input_with_headers(in, 1), "input in: headers = true\n");
	SAYS(kafka_input_with_timestamp_type_header(in, "tt"), "input in: timestamp_type_header = \"tt\"\n");
	SAYS(kafka_input_with_fetch_message_max_bytes(in, "1MiB"), "input in: fetch_message_max_bytes = \"1MiB\"\n");
	SAYS(kafka_input_with_consumer(in, "check.crcs", "true"), "input in: consumer.check.crcs = \"true\"\n");
	SAYS(flow_input_with_delete_committed_messages(in, 1), "input in: delete_committed_messages = true\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, recorded_graph_setup, recorded_graph_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_a_system_when_described_then_each_setter_says_its_property_and_nothing_else_is_said),
		TEST(given_an_input_when_described_then_each_setter_says_its_property_and_nothing_else_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
