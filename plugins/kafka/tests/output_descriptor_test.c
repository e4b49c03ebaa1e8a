/* Descriptors of the system `kafka`: what each setter of outputs says. */
#include "../kafka_descriptor.h"
#include "support/recorded_graph.h"

static void
given_an_output_when_described_then_each_setter_says_its_property(void **state)
{
	recorded_graph *r = *state;
	kafka_system_descriptor shop = kafka_system(recorded_graph_of(r), "shop");
	SAYS((void)0, "system shop: described\nsystem shop: type = \"kafka\"\n");
	SAYS(kafka_system_with_send_threshold_bytes(shop, "8MiB"), "system shop: send_threshold_bytes = \"8MiB\"\n");
	SAYS(kafka_system_with_transaction_timeout(shop, "2m"), "system shop: transaction_timeout = \"2m\"\n");
	kafka_output_descriptor out = kafka_output(shop, "out");
	SAYS((void)0, "output out: described\noutput out: in system shop\n");
	SAYS(kafka_output_with_partitioner(out, "crc32"), "output out: partitioner = \"crc32\"\n");
	SAYS(kafka_output_with_partition(out, "id % 4"), "output out: partition = \"id % 4\"\n");
	SAYS(kafka_output_with_create(out, 1), "output out: create = true\n");
	SAYS(kafka_output_with_create(out, 0), "output out: create = false\n");
	SAYS(kafka_output_with_partitions(out, 4), "output out: partitions = 4\n");
	SAYS(kafka_output_with_replication(out, 3), "output out: replication = 3\n");
	SAYS(kafka_output_with_config(out, "cleanup.policy", "compact"),
		 "output out: config.cleanup.policy = \"compact\"\n");
	SAYS(kafka_output_with_producer(out, "linger.ms", "50"), "output out: producer.linger.ms = \"50\"\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(given_an_output_when_described_then_each_setter_says_its_property,
										recorded_graph_setup, recorded_graph_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
