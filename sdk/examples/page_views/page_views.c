/*
 * An application in C, in the manner of SEP-14: systems, streams and the flow are described in code with the descriptors of
 * their plugins, and nothing of these plugins is linked. page_views.conf says the same in a file, and gives the same plan.
 *
 *     flowd run page_views.so
 *     flowd run page_views.so site.conf      (where site.conf overrides nothing that is said here, but can add to it)
 */
#include "file_descriptor.h"
#include "flow_sdk/descriptor.h"
#include "flow_sdk/plugin.h"
#include "memory_descriptor.h"

static memory_input_descriptor
page_views(memory_system_descriptor tracking)
{
	memory_input_descriptor views = memory_input(tracking, "page-views");
	flow_input_with_physical_name(views, "PageViewEvent");
	flow_input_with_bounded(flow_input_with_bootstrap(views, 0), 1);
	flow_input_set_text(views, "serde.type", "json");
	flow_input_set_text(views, "serde.fields.member", "string");
	flow_input_set_text(views, "serde.fields.page", "string");
	flow_input_set_text(views, "serde.fields.milliseconds", "int64");
	flow_input_set_text(views, "serde.fields.at", "timestamp");
	memory_input_add_record(views, "{\"member\": \"ann\", \"page\": \"/home\", \"milliseconds\": 40, \"at\": \"2026-01-01T10:00:00Z\"}");
	memory_input_add_record(views, "{\"member\": \"bob\", \"page\": \"/jobs\", \"milliseconds\": 1200, \"at\": \"2026-01-01T10:00:07Z\"}");
	memory_input_add_record(views, "{\"member\": \"ann\", \"page\": \"/jobs\", \"milliseconds\": 800, \"at\": \"2026-01-01T10:59:59Z\"}");
	memory_input_add_record(views, "{\"member\": \"cid\", \"page\": \"/home\", \"milliseconds\": 300, \"at\": \"2026-01-01T11:00:00Z\"}");
	return memory_input_with_partitions(views, 2);
}

static flow_status
describe(const flow_host *host, const flow_options *options, const flow_graph_ops *ops, flow_graph *graph, flow_error *error)
{
	(void)host;
	(void)options;
	(void)ops;
	(void)error;
	memory_system_descriptor tracking = memory_system(graph, "tracking");
	file_system_descriptor metrics = file_system(graph, "metrics");
	flow_system_with_key_value_serde(tracking, "string", "json"); /* of the stream between key_by and the window */
	flow_system_with_serde(metrics, "json");
	flow_application_with_default_system(flow_application_with_name(flow_application(graph), "page-views"), tracking);

	file_output_descriptor counts = file_output(metrics, "page-view-counts");
	file_output_with_make_folders(file_output_with_path(counts, "out/result.jsonl"), 1);

	flow_step_descriptor seen = flow_step(page_views(tracking), "seen");
	flow_step_set_text(seen, "where", "milliseconds >= 100");
	flow_step_descriptor counted = flow_next(seen, "counted");
	flow_step_key_by(counted, "page");
	flow_step_set_text(counted, "aggregate.views", "count(*)");
	flow_step_set_text(counted, "aggregate.milliseconds", "sum(milliseconds)");
	flow_step_set_text(counted, "window.tumbling", "1h");
	flow_step_set_text(counted, "window.time", "at");
	flow_step_set_text(counted, "window.start", "hour");
	flow_send_to(counted, counts);
	return FLOW_OK;
}

static const flow_application_ops ops = { .struct_size = FLOW_SIZEOF(flow_application_ops), .describe = describe };
static const flow_component application = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_APPLICATION,
	.id = "page_views",
	.doc = "Counts the views of each page that lasted long enough to see something.",
	.ops = &ops,
};
static const flow_component *const components[] = { &application, NULL };
FLOW_DEFINE_PLUGIN("page_views", "1.0.0", "Apache-2.0", components, NULL, NULL)
