/* Systems: `file` has streams of bytes, `messaging` records, `own` decoded records of its own; options say what
 * describe answers. */
#include "fixture.h"

struct flow_system {
	int unused;
};

static struct flow_system one_system;

OPTION(refuse_option, .type = FLOW_OPTION_BOOL, .name = "refuse", .doc = "Fixture.");
OPTION(password_option, .type = FLOW_OPTION_SECRET, .name = "password", .doc = "Fixture.");
OPTION(poll_option, .type = FLOW_OPTION_DURATION, .name = "poll_interval", .default_text = "1s", .doc = "Fixture.");
SET(system_set, "", &refuse_option, &password_option, &poll_option);

OPTION(path_option, .type = FLOW_OPTION_PATH, .name = "path", .doc = "Fixture.");
OPTION(partitions_option, .type = FLOW_OPTION_INT, .name = "partitions", .doc = "Fixture.");
OPTION(content_option, .type = FLOW_OPTION_STRING, .name = "content", .doc = "First bytes of the stream.");
OPTION(wrong_option, .type = FLOW_OPTION_STRING, .name = "wrong", .doc = "What describe fails with.");
OPTION(group_option, .type = FLOW_OPTION_BOOL, .name = "group", .doc = "Shared by a consumer group.");
OPTION(silent_option, .type = FLOW_OPTION_BOOL, .name = "silent", .doc = "Nothing is said about its records; none come.");
OPTION(low_option, .type = FLOW_OPTION_INT, .name = "low", .doc = "Fixture.");
OPTION(high_option, .type = FLOW_OPTION_INT, .name = "high", .doc = "Fixture.");
static const flow_option *const range_members[] = { &low_option, &high_option, NULL };
OPTION(range_option, .type = FLOW_OPTION_GROUP, .name = "range", .members = range_members, .doc = "Means nothing.");
OPTION(only_option, .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_INT, .name = "only", .doc = "Means nothing.");
SET(input_set, "input", &path_option, &partitions_option, &content_option, &wrong_option, &group_option, &silent_option,
	&range_option, &only_option);

OPTION(writers_option, .type = FLOW_OPTION_INT, .name = "writers", .doc = "Fixture.");
static const char *const delivery_choices[] = { "once", "again", "resumable", "one_phase", "strange", NULL };
OPTION(promise_option, .type = FLOW_OPTION_ENUM, .name = "promise", .choices = delivery_choices, .doc = "Fixture.");
OPTION(takes_option, .type = FLOW_OPTION_TYPE, .name = "takes", .doc = "The type that it dictates.");
OPTION(compression_option, .type = FLOW_OPTION_STRING, .name = "compression", .default_text = "none",
	   .doc = "Fixture.");
OPTION(positions_option, .type = FLOW_OPTION_BOOL, .name = "takes_positions", .doc = "Fixture.");
OPTION(shared_option, .type = FLOW_OPTION_BOOL, .name = "shares_transaction", .doc = "Fixture.");
OPTION(targets_option, .type = FLOW_OPTION_BOOL, .name = "takes_targets", .doc = "Fixture.");
SET(output_set, "output", &path_option, &writers_option, &promise_option, &takes_option, &compression_option, &positions_option,
	&shared_option, &targets_option);
static const flow_option_set *const sets[] = { &system_set, &input_set, &output_set, NULL };

static flow_status
open_system(const flow_host *host, const flow_options *options, flow_system **system, flow_error *error)
{
	if (flow_option_bool(options, "refuse", 0))
		return flow_fail(host, error, FLOW_E_UNAVAILABLE, "it is away");
	*system = &one_system;
	return FLOW_OK;
}

static void
close_system(flow_system *system)
{
	(void)system;
}

static flow_status
describe(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
		 flow_error *error)
{
	(void)system;
	flow_slice wrong = flow_option_text(request->options, "wrong"), takes = flow_option_text(request->options, "takes");
	if (wrong.size != 0) {
		fixture_host->errors->option(error, "wrong");
		return flow_fail(fixture_host, error, FLOW_E_CONFIG, "%s", wrong.data);
	}
	if (request->direction == FLOW_DIRECTION_INPUT) {
		description->partition_count =
			(int32_t)flow_option_int(request->options, "partitions", FLOW_PARTITIONS_UNKNOWN);
		description->sample = flow_option_get(request->options, "content") != NULL;
		description->self_assigned = flow_option_bool(request->options, "group", 0);
		return FLOW_OK;
	}
	flow_slice promise = flow_option_text(request->options, "promise");
	description->max_writers = (uint32_t)flow_option_int(request->options, "writers", 0);
	description->takes_positions = flow_option_bool(request->options, "takes_positions", 0);
	description->shares_transaction = flow_option_bool(request->options, "shares_transaction", 0);
	description->takes_targets = flow_option_bool(request->options, "takes_targets", 0);
	for (uint32_t i = 0; delivery_choices[i] != NULL; i++)
		if (flow_slice_is(promise, delivery_choices[i]))
			description->delivery = i + 1;
	if (takes.size != 0)
		description->schema = fixture_type(takes.data);
	return FLOW_OK;
}

static flow_status
describe_own(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
			 flow_error *error)
{
	flow_status status = describe(system, request, description, error);
	if (status == FLOW_OK && request->direction == FLOW_DIRECTION_INPUT && !flow_option_bool(request->options, "silent", 0))
		description->schema = fixture_type("record(id:int64,text:string)");
	return status;
}

/* --- sources, for samples
 * ---------------------------------------------------------------------------------------------------- */

struct flow_source {
	char content[256];
	uint64_t size, read;
	int silent;
	flow_partition partition;
	const flow_partition *partitions[1];
};

static flow_status
source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info, flow_source **source,
			flow_error *error)
{
	(void)system;
	(void)info;
	flow_slice content = flow_option_text(request->options, "content");
	*source = flow_new(fixture_host, sizeof(**source));
	if (*source == NULL)
		return flow_fail(fixture_host, error, FLOW_E_MEMORY, "out of memory");
	(*source)->silent = flow_option_bool(request->options, "silent", 0);
	(*source)->size = content.size < 256 ? content.size : 256;
	memcpy((*source)->content, content.data, (*source)->size);
	(*source)->partition.struct_size = FLOW_SIZEOF(flow_partition);
	(*source)->partitions[0] = &(*source)->partition;
	return FLOW_OK;
}

static flow_status
source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count, flow_error *error)
{
	(void)error;
	*partitions = source->partitions;
	*count = source->size != 0;
	return FLOW_OK;
}

static flow_status
source_assign(flow_source *source, uint32_t partition, flow_slice position, flow_error *error)
{
	(void)source;
	(void)partition;
	(void)position;
	(void)error;
	return FLOW_OK;
}

/* Four bytes a call; a silent one is waited for in vain. */
static flow_status
source_read(flow_source *source, flow_builder *builder, flow_error *error)
{
	uint64_t left = source->size - source->read, take = left < 4 ? left : 4;
	if (source->silent)
		return FLOW_AGAIN;
	if (take == 0)
		return FLOW_END;
	builder->flags |= FLOW_BATCH_RAW | FLOW_BATCH_STREAM;
	const char *piece = flow_builder_copy(builder, source->content + source->read, take);
	if (piece == NULL)
		return flow_fail(fixture_host, error, FLOW_E_MEMORY, "out of memory");
	flow_builder_add(builder, flow_bytes(piece, (uint32_t)take));
	source->read += take;
	return FLOW_OK;
}

static void
source_close(flow_source *source)
{
	fixture_host->release(source);
}

#define OPS(identifier, describe_function)                                                                             \
	const flow_system_ops identifier = {                                                                        \
		.struct_size = FLOW_SIZEOF(flow_system_ops),                                                                   \
		.open = open_system,                                                                                           \
		.close = close_system,                                                                                         \
		.describe = describe_function,                                                                                 \
		.source_open = source_open,                                                                                    \
		.source_partitions = source_partitions,                                                                        \
		.source_assign = source_assign,                                                                                \
		.source_read = source_read,                                                                                    \
		.source_close = source_close,                                                                                  \
		.source_revoke = NEVER,                                                                                        \
		.source_pause = NEVER,                                                                                         \
		.source_position = NEVER,                                                                                      \
		.source_committed = NEVER,                                                                                     \
		.source_released = NEVER,                                                                                      \
		.source_remaining = NEVER,                                                                                     \
		.writer_open = NEVER,                                                                                          \
		.write = NEVER,                                                                                                \
		.flush = NEVER,                                                                                                \
		.prepare = NEVER,                                                                                              \
		.writer_close = NEVER,                                                                                         \
		.committer_open = NEVER,                                                                                       \
		.commit = NEVER,                                                                                               \
		.abort = NEVER,                                                                                                \
		.last_marker = NEVER,                                                                                          \
		.committer_close = NEVER,                                                                                      \
	}
OPS(fixture_system_ops, describe);
static OPS(own_ops, describe_own);

#define BOTH (FLOW_SYSTEM_HAS_INPUTS | FLOW_SYSTEM_HAS_OUTPUTS)
COMPONENT(fixture_file, FLOW_SYSTEM, BOTH | FLOW_SYSTEM_BYTE_STREAMS, "file", sets, &fixture_system_ops);
COMPONENT(fixture_messaging, FLOW_SYSTEM, BOTH | FLOW_SYSTEM_INTERMEDIATE, "messaging", sets, &fixture_system_ops);
COMPONENT(fixture_shared, FLOW_SYSTEM, BOTH | FLOW_SYSTEM_INTERMEDIATE | FLOW_SYSTEM_SHARED, "shared", sets,
		  &fixture_system_ops);
COMPONENT(fixture_own, FLOW_SYSTEM, BOTH | FLOW_SYSTEM_OWN_SERDE, "own", sets, &own_ops);
COMPONENT(fixture_source_only, FLOW_SYSTEM, FLOW_SYSTEM_HAS_INPUTS | FLOW_SYSTEM_ALWAYS_BOUNDED, "source_only", sets,
		  &fixture_system_ops);
COMPONENT(fixture_changing, FLOW_SYSTEM, BOTH | FLOW_SYSTEM_TRANSFORMS, "changing", sets, &fixture_system_ops);
