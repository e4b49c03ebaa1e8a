/* An application over topics, with every kind of property that the descriptors of `kafka` set: the planner takes them as they are. */
#include "file_descriptor.h"
#include "flow_sdk/descriptor.h"
#include "flow_sdk/plugin.h"
#include "kafka_descriptor.h"

static flow_status
describe(const flow_host *host, const flow_options *options, const flow_graph_ops *ops, flow_graph *graph, flow_error *error)
{
	(void)host;
	(void)options;
	(void)ops;
	(void)error;
	flow_application_with_name(flow_application(graph), "shop");
	kafka_system_descriptor shop = kafka_system(graph, "shop");
	kafka_system_add_bootstrap_server(kafka_system_add_bootstrap_server(shop, "127.0.0.1:1"), "127.0.0.1:2");
	kafka_system_with_consumer(shop, "fetch.min.bytes", "1000");
	kafka_system_with_producer(shop, "linger.ms", "20");
	kafka_system_with_fetch_threshold_bytes(kafka_system_with_idempotence(shop, 1), "8MiB");
	kafka_system_with_offset_reset(kafka_system_with_compression(shop, "zstd"), "oldest");
	flow_system_with_key_value_serde(shop, "string", "string");
	kafka_input_descriptor orders = kafka_input(shop, "orders");
	kafka_input_with_start_offset(kafka_input_with_consumer(orders, "check.crcs", "true"), "0", 7);
	kafka_input_with_headers(kafka_input_with_group(orders, "audit"), 0);
	flow_input_with_delete_committed_messages(flow_input_with_bounded(orders, 1), 0);
	file_system_descriptor files = file_system(graph, "files");
	file_output_descriptor out = file_output_with_path(file_output(files, "out"), "out.txt");
	flow_input_send_to(orders, flow_output_with_serde(out, "string"));
	return FLOW_OK;
}

static const flow_application_ops ops = { .struct_size = FLOW_SIZEOF(flow_application_ops), .describe = describe };
static const flow_component application = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_APPLICATION,
	.id = "shop",
	.doc = "Orders of a shop, from a topic to a file.",
	.ops = &ops,
};
static const flow_component *const components[] = { &application, NULL };

FLOW_DEFINE_PLUGIN("shop", "0.1.0", "Apache-2.0", components, NULL, NULL)
