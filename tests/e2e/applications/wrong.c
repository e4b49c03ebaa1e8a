/* An application with several things wrong, in lines that the test knows. */
#include "file_descriptor.h"
#include "flow_sdk/descriptor.h"
#include "flow_sdk/plugin.h"

static flow_status
describe(const flow_host *host, const flow_options *options, const flow_graph_ops *ops, flow_graph *graph, flow_error *error)
{
	(void)host, (void)options, (void)ops, (void)error;
	file_system_descriptor files = file_system(graph, "files");
	file_input_descriptor in = file_input(files, "in");
	flow_input_set_text(in, "pth", "in.jsonl"); /* line 12 */
	flow_input_with_serde(in, "jsn");           /* line 13 */
	flow_step_descriptor step = flow_step(in, NULL);
	flow_step_set_text(step, "whre", "x > 1"); /* line 15 */
	flow_send_to(step, file_output(files, "out")); /* line 16 */
	return FLOW_OK;
}

static const flow_application_ops application_ops = { .struct_size = FLOW_SIZEOF(flow_application_ops), .describe = describe };
static const flow_component application = { .struct_size = FLOW_SIZEOF(flow_component),
	                                        .kind = FLOW_APPLICATION,
	                                        .id = "wrong",
	                                        .doc = "Several things wrong.",
	                                        .ops = &application_ops };
static const flow_component *const components[] = { &application, NULL };
FLOW_DEFINE_PLUGIN("wrong", "1.0.0", "Apache-2.0", components, NULL, NULL)
