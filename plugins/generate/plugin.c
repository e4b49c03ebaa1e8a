/* The plugin's root, and the options of generated inputs. */
#include "generate.h"

static const flow_option fields_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_MAP,
	.element = FLOW_OPTION_STRING,
	.flags = FLOW_OPTION_REQUIRED,
	.name = "fields",
	.doc = "Name and content of each field: sequence (the record's number), int(LEAST,MOST), float(LOW,HIGH), bool, "
		   "choice(A,B,...), key(NUMBER OF KEYS) (16 bytes), string(BYTES), timestamp (start + number * step).",
	.example = "{ id = \"sequence\"; user = \"key(1000)\"; amount = \"int(1,100)\"; }",
};
static const flow_option count_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "count",
	.doc = "How many records in all; 0: without end.",
	.default_text = "0",
	.minimum = "0",
};
static const flow_option rate_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "rate",
	.doc = "Records a second, over all partitions; 0: as fast as they are taken.",
	.default_text = "0",
	.minimum = "0",
};
static const flow_option seed_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "seed",
	.doc = "Equal seeds give equal records.",
	.default_text = "1",
	.minimum = "0",
};
static const flow_option partitions_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "partitions",
	.doc = "Into how many partitions the records are dealt, one by one.",
	.default_text = "1",
	.minimum = "1",
	.maximum = "4096",
};
static const flow_option start_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_DATETIME,
	.name = "start",
	.doc = "Event time of the first record.",
	.default_text = "1970-01-01T00:00:00Z",
};
static const flow_option step_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_DURATION,
	.name = "step",
	.doc = "Event time from one record to the next.",
	.default_text = "1ms",
};
static const flow_option *const input_list[] = { &fields_option,     &count_option, &rate_option, &seed_option,
												 &partitions_option, &start_option, &step_option, NULL };
static const flow_option_set input_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "input",
	.doc = "Generated inputs.",
	.options = input_list,
};
static const flow_option_set *const option_sets[] = { &input_set, NULL };

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

static flow_status
describe(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
		 flow_error *error)
{
	struct fields fields;
	flow_status status = fields_read(system->host, request->options, &fields, error);
	if (status != FLOW_OK)
		return status;
	description->schema = fields_schema(&fields, error);
	fields_free(&fields);
	if (description->schema == NULL)
		return system->host->errors->status(error);
	description->partition_count = (int32_t)flow_option_int(request->options, "partitions", 1);
	description->bounded = flow_option_int(request->options, "count", 0) != 0;
	return FLOW_OK;
}

static const flow_system_ops system_ops = {
	.struct_size = FLOW_SIZEOF(flow_system_ops),
	.open = system_open,
	.close = system_close,
	.describe = describe,
	.source_open = source_open,
	.source_partitions = source_partitions,
	.source_assign = source_assign,
	.source_revoke = source_revoke,
	.source_pause = source_pause,
	.source_read = source_read,
	.source_position = source_position,
	.source_remaining = source_remaining,
	.source_close = source_close,
};

static const flow_component generate_system = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SYSTEM,
	.flags = FLOW_SYSTEM_HAS_INPUTS | FLOW_SYSTEM_OWN_SERDE,
	.id = "generate",
	.doc = "Records made from a seed, for trials, tests and measurements.",
	.option_sets = option_sets,
	.ops = &system_ops,
};

static const flow_component *const components[] = { &generate_system, NULL };

FLOW_DEFINE_PLUGIN("generate", "0.1.0", "Apache-2.0", components, NULL, NULL)
