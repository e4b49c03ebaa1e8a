/* The system `stand_in`, for cases about options: it has one of each kind that they speak of, and writes down the password that reaches
 * it. Its outputs take everything and keep nothing. */
#include <errno.h>
#include <stdio.h>

#include "flow_sdk/plugin.h"

#define OPTION(identifier, ...)                                                                                        \
	static const flow_option identifier = { .struct_size = FLOW_SIZEOF(flow_option), __VA_ARGS__ }

struct flow_system {
	const flow_host *host;
};

struct flow_writer {
	const flow_host *host;
};

OPTION(password, .type = FLOW_OPTION_SECRET, .name = "password", .doc = "A secret.");
OPTION(record, .type = FLOW_OPTION_PATH, .name = "record", .doc = "The file that the password is written to.");
OPTION(poll_interval, .type = FLOW_OPTION_DURATION, .name = "poll_interval", .default_text = "1s", .doc = "A duration without bounds.");
OPTION(buffer, .type = FLOW_OPTION_SIZE, .name = "buffer", .default_text = "64KiB", .doc = "A size without bounds.");
static const flow_option *const own_list[] = { &password, &record, &poll_interval, &buffer, NULL };
static const flow_option_set own_set = { FLOW_SIZEOF(flow_option_set), 0, "", "A system for cases.", own_list };

static const char *const compressions[] = { "none", "zstd", NULL };
OPTION(compression, .type = FLOW_OPTION_ENUM, .name = "compression", .default_text = "none", .choices = compressions,
       .doc = "One of several.");
static const flow_option *const output_list[] = { &compression, NULL };
static const flow_option_set output_set = { FLOW_SIZEOF(flow_option_set), 0, "output", "Its outputs.", output_list };
static const flow_option_set *const sets[] = { &own_set, &output_set, NULL };

static flow_status
write_down(const flow_host *host, const char *path, flow_slice text, flow_error *error)
{
	FILE *file = fopen(path, "wb");
	int good = file != NULL && fwrite(text.data, 1, text.size, file) == text.size;
	if (file != NULL && fclose(file) != 0)
		good = 0;
	return good ? FLOW_OK : flow_fail(host, error, FLOW_E_IO, "%s: cannot write: %s", path, strerror(errno));
}

static flow_status
open_system(const flow_host *host, const flow_options *options, flow_system **system, flow_error *error)
{
	flow_slice path = flow_option_text(options, "record"), text = flow_option_text(options, "password");
	if (path.data != NULL && text.data != NULL) {
		flow_status status = write_down(host, path.data, text, error);
		if (status != FLOW_OK)
			return status;
	}
	*system = flow_new(host, sizeof(**system));
	if (*system == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	(*system)->host = host;
	return FLOW_OK;
}

static void
close_system(flow_system *system)
{
	system->host->release(system);
}

static flow_status
describe(flow_system *system, const flow_stream_request *request, flow_stream_description *description, flow_error *error)
{
	(void)request;
	const flow_schemas *schemas = system->host->get_service(FLOW_SERVICE_SCHEMAS);
	if (schemas == NULL)
		return flow_fail(system->host, error, FLOW_E_UNSUPPORTED, "this host has no service %s", FLOW_SERVICE_SCHEMAS);
	description->schema = schemas->parse_type(flow_slice_of("any"), error);
	description->delivery = FLOW_DELIVERY_IDEMPOTENT;
	return description->schema == NULL ? system->host->errors->status(error) : FLOW_OK;
}

static flow_status
open_writer(flow_system *system, const flow_stream_request *request, uint32_t task, uint32_t task_count,
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
write_batch(flow_writer *writer, const flow_batch *batch, uint32_t first, uint32_t *accepted, flow_status *statuses, flow_error *error)
{
	(void)writer;
	(void)statuses;
	(void)error;
	*accepted = batch->selected_count - first;
	return FLOW_OK;
}

static flow_status
flush(flow_writer *writer, flow_error *error)
{
	(void)writer;
	(void)error;
	return FLOW_OK;
}

static void
close_writer(flow_writer *writer)
{
	writer->host->release(writer);
}

static const flow_system_ops ops = {
	.struct_size = FLOW_SIZEOF(flow_system_ops),
	.open = open_system,
	.close = close_system,
	.describe = describe,
	.writer_open = open_writer,
	.write = write_batch,
	.flush = flush,
	.writer_close = close_writer,
};
static const flow_component stand_in = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SYSTEM,
	.flags = FLOW_SYSTEM_HAS_OUTPUTS | FLOW_SYSTEM_OWN_SERDE,
	.id = "stand_in",
	.doc = "A system for cases.",
	.option_sets = sets,
	.ops = &ops,
};
static const flow_component *const components[] = { &stand_in, NULL };

FLOW_DEFINE_PLUGIN("stand_in", "0.1.0", "Apache-2.0", components, NULL, NULL)
