/* The system `null`: an output that takes everything and keeps nothing, for measuring what stands before it. */
#include "flow/flow.h"
#include "flow_sdk/plugin.h"

struct flow_system {
	const flow_host *host;
};

struct flow_writer {
	const flow_host *host;
};

static flow_status
system_open(const flow_host *host, const flow_options *options, flow_system **system, flow_error *error)
{
	(void)options;
	*system = flow_new(host, sizeof(**system));
	if (*system == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	(*system)->host = host;
	return FLOW_OK;
}

static void
system_close(flow_system *system)
{
	system->host->release(system);
}

/* Records of any type, as they are: nothing is encoded for being thrown away. With a serde, its bytes are. */
static flow_status
describe(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
		 flow_error *error)
{
	(void)request;
	const flow_schemas *schemas = system->host->get_service(FLOW_SERVICE_SCHEMAS);
	if (schemas == NULL)
		return flow_fail(system->host, error, FLOW_E_UNSUPPORTED, "this host has no service %s", FLOW_SERVICE_SCHEMAS);
	description->schema = schemas->parse_type(flow_slice_of("any"), error);
	description->delivery = FLOW_DELIVERY_IDEMPOTENT;
	description->partition_count = FLOW_PARTITIONS_UNKNOWN;
	return description->schema == NULL ? system->host->errors->status(error) : FLOW_OK;
}

static flow_status
writer_open(flow_system *system, const flow_stream_request *request, uint32_t task, uint32_t task_count,
			const flow_handle *recovered, const flow_waker *waker, flow_writer **writer, flow_error *error)
{
	(void)request;
	(void)task;
	(void)task_count;
	(void)recovered;
	(void)waker;
	*writer = flow_new(system->host, sizeof(**writer));
	if (*writer == NULL)
		return flow_fail(system->host, error, FLOW_E_MEMORY, "out of memory");
	(*writer)->host = system->host;
	return FLOW_OK;
}

static flow_status
writer_write(flow_writer *writer, const flow_batch *batch, uint32_t first, uint32_t *accepted, flow_status *statuses,
			 flow_error *error)
{
	(void)writer;
	(void)statuses;
	(void)error;
	*accepted = batch->selected_count - first;
	return FLOW_OK;
}

static flow_status
writer_flush(flow_writer *writer, flow_error *error)
{
	(void)writer;
	(void)error;
	return FLOW_OK;
}

static void
writer_close(flow_writer *writer)
{
	writer->host->release(writer);
}

static const flow_system_ops system_ops = {
	.struct_size = FLOW_SIZEOF(flow_system_ops),
	.open = system_open,
	.close = system_close,
	.describe = describe,
	.writer_open = writer_open,
	.write = writer_write,
	.flush = writer_flush,
	.writer_close = writer_close,
};

static const flow_component null_system = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SYSTEM,
	.flags = FLOW_SYSTEM_HAS_OUTPUTS | FLOW_SYSTEM_OWN_SERDE,
	.id = "null",
	.doc = "An output that takes everything and keeps nothing.",
	.ops = &system_ops,
};

static const flow_component *const components[] = { &null_system, NULL };

FLOW_DEFINE_PLUGIN("null", "0.1.0", "Apache-2.0", components, NULL, NULL)
