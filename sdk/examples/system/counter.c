/*
 * A system in one file: an input that counts. { system = "numbers"; count = 10; } gives records { n: 0 } to { n: 9 },
 * decoded (no serde), in one partition; on a command line: flowd cat counter:///10. Its position is the next number: a killed job goes on from its checkpoint.
 */
#include "flow_sdk/plugin.h"

static const flow_host *host;
static const flow_schemas *schemas;

struct flow_source {
	int64_t next, end;
	int assigned, paused;
};

static flow_status
counter_open(const flow_host *the_host, const flow_options *options, flow_system **system, flow_error *error)
{
	(void)options, (void)the_host, (void)error;
	*system = (flow_system *)&schemas; /* nothing to keep, but an instance there must be */
	return FLOW_OK;
}

static void
counter_close(flow_system *system)
{
	(void)system;
}

static flow_status
describe(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
         flow_error *error)
{
	(void)system, (void)request;
	description->partition_count = 1;
	description->bounded = 1;
	description->schema = schemas->parse_type(flow_slice_of("record(n:int64)"), error);
	return description->schema == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

static flow_status
source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info, flow_source **source,
            flow_error *error)
{
	(void)system;
	info->decoded = 1;
	*source = flow_new(host, sizeof(**source));
	if (*source == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	(*source)->end = flow_option_int(request->options, "count", 0);
	return FLOW_OK;
}

static flow_status
source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count, flow_error *error)
{
	static const flow_partition only = { .struct_size = FLOW_SIZEOF(flow_partition), .id = { "0", 1 } };
	static const flow_partition *const list[] = { &only };
	(void)source, (void)error;
	*partitions = list;
	*count = 1;
	return FLOW_OK;
}

static flow_status
source_assign(flow_source *source, uint32_t partition, flow_slice position, flow_error *error)
{
	(void)partition;
	if (position.data != NULL && position.size != sizeof(source->next))
		return flow_fail(host, error, FLOW_E_CORRUPT, "counter: the position has %d bytes, not 8", (int)position.size);
	if (position.data != NULL)
		memcpy(&source->next, position.data, sizeof(source->next));
	source->assigned = 1;
	return FLOW_OK;
}

static flow_status
source_revoke(flow_source *source, uint32_t partition, flow_error *error)
{
	(void)partition, (void)error;
	source->assigned = 0;
	return FLOW_OK;
}

static void
source_pause(flow_source *source, uint32_t partition, int paused)
{
	(void)partition;
	source->paused = paused;
}

static flow_status
source_read(flow_source *source, flow_builder *builder, flow_error *error)
{
	if (!source->assigned || source->paused)
		return FLOW_AGAIN; /* the host comes again when it has assigned or let go on */
	if (source->next >= source->end)
		return FLOW_END; /* builder->partition is 0 */
	if (builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	for (; source->next < source->end && !flow_builder_full(builder); source->next++) {
		flow_value *cell = flow_builder_cells(builder, 1);
		if (cell == NULL)
			return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
		*cell = flow_int64(source->next);
		builder->ordinal[flow_builder_add(builder, flow_record(cell, 1))] = source->next;
	}
	return FLOW_OK;
}

static flow_status
source_position(flow_source *source, uint32_t partition, int64_t ordinal, void *bytes, uint64_t capacity,
                uint64_t *size, flow_error *error)
{
	(void)partition, (void)capacity, (void)error; /* capacity is always FLOW_POSITION_MAX */
	int64_t next = ordinal == INT64_MAX ? source->next : ordinal + 1;
	memcpy(bytes, &next, sizeof(next));
	*size = sizeof(next);
	return FLOW_OK;
}

static void
source_close(flow_source *source)
{
	host->release(source);
}

static flow_status
init(const flow_host *the_host, flow_error *error)
{
	host = the_host;
	schemas = host->get_service(FLOW_SERVICE_SCHEMAS);
	return schemas != NULL ? FLOW_OK : flow_fail(host, error, FLOW_E_UNSUPPORTED, "no " FLOW_SERVICE_SCHEMAS);
}

static const flow_option count = { .struct_size = FLOW_SIZEOF(flow_option), .type = FLOW_OPTION_INT, .name = "count",
	.flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_ADDRESS_PATH, .doc = "How many numbers.", .example = "10", .minimum = "0" };
static const flow_option_set set = { FLOW_SIZEOF(flow_option_set), 0, "input", "Numbers from 0 on.",
	(const flow_option *const[]){ &count, NULL } };
static const flow_system_ops ops = { .struct_size = FLOW_SIZEOF(flow_system_ops), .open = counter_open,
	.close = counter_close, .describe = describe, .source_open = source_open,
	.source_partitions = source_partitions, .source_assign = source_assign, .source_revoke = source_revoke,
	.source_pause = source_pause, .source_read = source_read,
	.source_position = source_position, .source_close = source_close };
static const flow_component counter = { .struct_size = FLOW_SIZEOF(flow_component), .kind = FLOW_SYSTEM,
	.flags = FLOW_SYSTEM_HAS_INPUTS | FLOW_SYSTEM_OWN_SERDE | FLOW_SYSTEM_ALWAYS_BOUNDED, .id = "counter",
	.served = (const char *const[]){ "counter", NULL }, .doc = "Counts from 0 on.",
	.option_sets = (const flow_option_set *const[]){ &set, NULL }, .ops = &ops };
static const flow_component *const components[] = { &counter, NULL };
FLOW_DEFINE_PLUGIN("counter", "1.0.0", "Apache-2.0", components, init, NULL)
