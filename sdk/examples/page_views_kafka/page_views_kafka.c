/*
 * SEP-14's example over Kafka: page views of the cluster `tracking` are counted, per page and hour, for the cluster `metrics`. Systems,
 * streams and the flow are described in code with kafka_descriptor.h, and nothing of Kafka is linked. `tracking` is described here,
 * `metrics` by the configuration (site.conf). page_views_kafka.conf says the same in a file, and gives the same plan.
 *
 *     flowd run page_views_kafka.so site.conf
 *
 * conf/kafka/page-views-to-topic.conf writes a few page views. With other brokers: --set systems.tracking.bootstrap_servers=HOST:PORT and
 * --set systems.metrics.bootstrap_servers=HOST:PORT.
 */
#include "flow_sdk/descriptor.h"
#include "flow_sdk/plugin.h"
#include "kafka_descriptor.h"

static kafka_system_descriptor
tracking(flow_graph *graph)
{
	kafka_system_descriptor cluster = kafka_system(graph, "tracking");
	kafka_system_add_bootstrap_server(cluster, "127.0.0.1:9092");
	kafka_system_with_consumer(cluster, "fetch.wait.max.ms", "100");
	kafka_system_with_fetch_threshold(kafka_system_with_fetch_threshold_bytes(cluster, "16MiB"), 10000);
	return kafka_system_with_client_id(cluster, "page-views");
}

static kafka_input_descriptor
page_views(flow_graph *graph)
{
	kafka_input_descriptor views = kafka_input(tracking(graph), "views");
	flow_input_with_bounded(flow_input_with_bootstrap(flow_input_with_physical_name(views, "page-views"), 0), 1);
	kafka_input_with_headers(kafka_input_with_offset_reset(views, "oldest"), 0);
	kafka_input_with_consumer(views, "check.crcs", "true");
	flow_input_set_text(views, "serde.key", "string");
	flow_input_set_text(views, "serde.value.type", "json");
	flow_input_set_text(views, "serde.value.fields.member", "string");
	flow_input_set_text(views, "serde.value.fields.page", "string");
	return flow_input_set_text(views, "serde.value.fields.at", "timestamp");
}

/* The topic is made where it is not there. */
static kafka_output_descriptor
page_view_counts(flow_graph *graph)
{
	kafka_output_descriptor counts = kafka_output_from(graph, "counts", "metrics");
	flow_output_with_key_value_serde(flow_output_with_physical_name(counts, "page-view-counts"), "string", "json");
	kafka_output_with_partitions(kafka_output_with_create(counts, 1), 2);
	kafka_output_with_config(counts, "compression.type", "zstd");
	return kafka_output_with_partitioner(counts, "murmur2");
}

static flow_status
describe(const flow_host *host, const flow_options *options, const flow_graph_ops *ops, flow_graph *graph,
		 flow_error *error)
{
	(void)host;
	(void)options;
	(void)ops;
	(void)error;
	flow_application_with_name(flow_application(graph), "page-views-kafka");
	flow_step_descriptor counted = flow_step(page_views(graph), "counted");
	flow_step_key_by(counted, "page");
	flow_step_set_text(counted, "aggregate.views", "count(*)");
	flow_step_set_text(counted, "window.tumbling", "1h");
	flow_step_set_text(counted, "window.time", "at");
	flow_step_set_text(counted, "window.out_of_order", "10m");
	flow_step_set_text(counted, "window.start", "hour");
	flow_send_to(counted, page_view_counts(graph));
	return FLOW_OK;
}

static const flow_application_ops ops = { .struct_size = FLOW_SIZEOF(flow_application_ops), .describe = describe };
static const flow_component application = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_APPLICATION,
	.id = "page_views_kafka",
	.doc = "Counts the views of each page, from topic to topic.",
	.ops = &ops,
};
static const flow_component *const components[] = { &application, NULL };
FLOW_DEFINE_PLUGIN("page_views_kafka", "1.0.0", "Apache-2.0", components, NULL, NULL)
