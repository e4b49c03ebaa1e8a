/*
 * The plugin `bench`: what measurements put in front of and between the parts that are measured.
 *
 * System `bench`: records { key: string, number: int64 } that lie in memory and are only pointed at; with a rate the number is the
 * moment at which the record was made. Functions `noop` (visits every record, changes none), `spin` (burns CPU for
 * each record) and `pace` (lets through so many a second at most).
 */
#include <stdio.h>
#include <time.h>

#include "bench_rows.h"
#include "flow_sdk/plugin.h"

#define FIELDS 2
#define PARTITIONS_MOST 64
#define LONGEST_WAIT 100000 /* microseconds that a call may block */

static const flow_host *host;
static const flow_schemas *schemas;

struct made_partition {
	flow_partition description;
	char id[16];
	uint64_t next, end;
	int assigned, paused;
};

struct flow_source {
	struct made_partition partitions[PARTITIONS_MOST];
	const flow_partition *pointers[PARTITIONS_MOST];
	uint32_t partition_count, current;
	uint64_t rate; /* records a second; 0: as fast as they are taken */
	int64_t started;
	uint64_t made;
	char *texts;
	flow_value *cells; /* FIELDS for each prepared row */
};

static flow_status
no_memory(flow_error *error)
{
	return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
}

/* --- the system ---------------------------------------------------------------------------------------------------- */

static flow_status
system_open(const flow_host *the_host, const flow_options *options, flow_system **system, flow_error *error)
{
	(void)the_host, (void)options, (void)error;
	*system = (flow_system *)&schemas; /* nothing to keep */
	return FLOW_OK;
}

static void
system_close(flow_system *system)
{
	(void)system;
}

static flow_status
describe(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
		 flow_error *error)
{
	(void)system;
	description->partition_count = (int32_t)flow_option_int(request->options, "partitions", 1);
	description->bounded = flow_option_int(request->options, "count", 0) != 0;
	description->schema = schemas->parse_type(flow_slice_of("record(key:string,number:int64)"), error);
	return description->schema == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

static flow_status
prepare_rows(flow_source *source, uint64_t keys, flow_error *error)
{
	source->texts = host->allocate(BENCH_PREPARED_ROWS * BENCH_KEY_SIZE);
	source->cells = host->allocate(BENCH_PREPARED_ROWS * FIELDS * sizeof(*source->cells));
	if (source->texts == NULL || source->cells == NULL)
		return no_memory(error);
	for (uint64_t row = 0; row < BENCH_PREPARED_ROWS; row++) {
		char *text = source->texts + row * BENCH_KEY_SIZE;
		bench_print_key(row, keys, text);
		source->cells[row * FIELDS] = flow_string(text, BENCH_KEY_SIZE);
		source->cells[row * FIELDS + 1] = flow_int64((int64_t)row);
	}
	return FLOW_OK;
}

static void
make_partitions(flow_source *source, uint64_t count)
{
	for (uint32_t i = 0; i < source->partition_count; i++) {
		struct made_partition *partition = &source->partitions[i];
		snprintf(partition->id, sizeof(partition->id), "%u", i);
		partition->description = (flow_partition){ .struct_size = FLOW_SIZEOF(flow_partition),
												   .index = i,
												   .id = flow_slice_of(partition->id),
												   .place = flow_slice_of(partition->id) };
		partition->end =
			count == 0 ? UINT64_MAX : count / source->partition_count + (i < count % source->partition_count);
		source->pointers[i] = &partition->description;
	}
}

static void
source_close(flow_source *source)
{
	host->release(source->texts);
	host->release(source->cells);
	host->release(source);
}

static flow_status
source_open(flow_system *system, const flow_stream_request *request, flow_source_info *info, flow_source **result,
			flow_error *error)
{
	(void)system;
	flow_source *source = flow_new(host, sizeof(*source));
	if (source == NULL)
		return no_memory(error);
	source->partition_count = (uint32_t)flow_option_int(request->options, "partitions", 1);
	source->rate = (uint64_t)flow_option_int(request->options, "rate", 0);
	info->decoded = 1;
	info->blocking = source->rate != 0;
	make_partitions(source, (uint64_t)flow_option_int(request->options, "count", 0));
	flow_status status = prepare_rows(source, (uint64_t)flow_option_int(request->options, "keys", 1000), error);
	if (status != FLOW_OK)
		source_close(source);
	else
		*result = source;
	return status;
}

static flow_status
source_partitions(flow_source *source, const flow_partition *const **partitions, uint64_t *count, flow_error *error)
{
	(void)error;
	*partitions = source->pointers;
	*count = source->partition_count;
	return FLOW_OK;
}

static flow_status
source_assign(flow_source *source, uint32_t index, flow_slice position, flow_error *error)
{
	struct made_partition *partition = &source->partitions[index];
	if (position.data != NULL && position.size != sizeof(partition->next))
		return flow_fail(host, error, FLOW_E_CORRUPT, "the position has %d bytes, not 8", (int)position.size);
	if (position.data != NULL)
		memcpy(&partition->next, position.data, sizeof(partition->next));
	partition->assigned = 1;
	return FLOW_OK;
}

static flow_status
source_revoke(flow_source *source, uint32_t index, flow_error *error)
{
	(void)error;
	source->partitions[index].assigned = 0;
	return FLOW_OK;
}

static void
source_pause(flow_source *source, uint32_t index, int paused)
{
	source->partitions[index].paused = paused;
}

static uint64_t
allowed_now(flow_source *source)
{
	if (source->rate == 0)
		return UINT64_MAX;
	int64_t now = host->monotonic();
	if (source->started == 0)
		source->started = now;
	uint64_t due = (uint64_t)((double)(now - source->started) * (double)source->rate / 1e6) + 1;
	if (due > source->made)
		return due - source->made;
	int64_t wait = (int64_t)(1e6 / (double)source->rate) + 1;
	struct timespec pause = { 0, (wait > LONGEST_WAIT ? LONGEST_WAIT : wait) * 1000 };
	nanosleep(&pause, NULL);
	return 0;
}

static void
point_at_rows(flow_source *source, struct made_partition *partition, flow_builder *builder)
{
	for (; partition->next < partition->end && !flow_builder_full(builder); partition->next++) {
		uint64_t row = partition->next & (BENCH_PREPARED_ROWS - 1);
		builder->ordinal[flow_builder_add(builder, flow_record(source->cells + row * FIELDS, FIELDS))] =
			(int64_t)partition->next;
	}
}

static flow_status
stamp_rows(flow_source *source, struct made_partition *partition, uint64_t most, flow_builder *builder,
		   flow_error *error)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now); /* another process compares it with its own */
	int64_t made = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
	for (; most > 0 && partition->next < partition->end && !flow_builder_full(builder); partition->next++, most--) {
		flow_value *cells = flow_builder_cells(builder, FIELDS);
		if (cells == NULL)
			return no_memory(error);
		cells[0] = source->cells[(partition->next & (BENCH_PREPARED_ROWS - 1)) * FIELDS];
		cells[1] = flow_int64(made);
		builder->ordinal[flow_builder_add(builder, flow_record(cells, FIELDS))] = (int64_t)partition->next;
		source->made++;
	}
	return FLOW_OK;
}

static flow_status
source_read(flow_source *source, flow_builder *builder, flow_error *error)
{
	struct made_partition *partition = NULL;
	for (uint32_t i = 0; i < source->partition_count && partition == NULL; i++) {
		source->current = (source->current + 1) % source->partition_count;
		struct made_partition *one = &source->partitions[source->current];
		if (one->assigned && !one->paused)
			partition = one;
	}
	if (partition == NULL)
		return FLOW_AGAIN;
	builder->partition = partition->description.index;
	if (partition->next >= partition->end) {
		partition->assigned = 0;
		return FLOW_END;
	}
	uint64_t most = allowed_now(source);
	if (most == 0)
		return FLOW_AGAIN;
	if (builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL) != FLOW_OK)
		return no_memory(error);
	if (source->rate != 0)
		return stamp_rows(source, partition, most, builder, error);
	point_at_rows(source, partition, builder);
	return FLOW_OK;
}

static flow_status
source_position(flow_source *source, uint32_t index, int64_t ordinal, void *bytes, uint64_t capacity, uint64_t *size,
				flow_error *error)
{
	(void)capacity, (void)error; /* capacity is always FLOW_POSITION_MAX */
	uint64_t next = ordinal == INT64_MAX ? source->partitions[index].next : (uint64_t)(ordinal + 1);
	memcpy(bytes, &next, sizeof(next));
	*size = sizeof(next);
	return FLOW_OK;
}

#define INTEGER(option_name, text, absent, least)                                                                      \
	&(const flow_option)                                                                                               \
	{                                                                                                                  \
		.struct_size = FLOW_SIZEOF(flow_option), .type = FLOW_OPTION_INT, .name = option_name, .doc = text,            \
		.default_text = absent, .minimum = least                                                                       \
	}

static const flow_option *const input_list[] = {
	INTEGER("count", "How many records in all; 0: without end.", "0", "0"),
	INTEGER("keys", "How many different keys.", "1000", "1"),
	INTEGER("partitions", "Into how many partitions they are dealt.", "1", "1"),
	INTEGER("rate", "Records a second; 0: as fast as they are taken.", "0", "0"),
	NULL,
};
static const flow_option_set input_set = { FLOW_SIZEOF(flow_option_set), 0, "input", "Prepared records.", input_list };
static const flow_option_set *const input_sets[] = { &input_set, NULL };

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
	.source_close = source_close,
};

static const flow_component bench_system = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SYSTEM,
	.flags = FLOW_SYSTEM_HAS_INPUTS | FLOW_SYSTEM_OWN_SERDE,
	.id = "bench",
	.doc = "Records that lie in memory, for measurements.",
	.option_sets = input_sets,
	.ops = &system_ops,
};

/* --- the functions --------------------------------------------------------------------------------------------------- */

struct flow_function {
	flow_context *context;
	uint64_t rounds; /* spin */
	uint64_t rate;   /* pace */
	int64_t started; /* pace: at the first record */
	uint64_t passed;
	uint64_t sum;
};

struct binding {
	uint64_t rounds, rate;
};

static flow_status
function_bind(const flow_host *the_host, const flow_options *options, const flow_function_input *const *inputs,
			  uint32_t input_count, flow_function_plan *plan, void **result, flow_error *error)
{
	(void)the_host, (void)input_count;
	struct binding *binding = flow_new(host, sizeof(*binding));
	if (binding == NULL)
		return no_memory(error);
	binding->rounds = (uint64_t)flow_option_int(options, "rounds", 0);
	binding->rate = (uint64_t)flow_option_int(options, "rate", 0);
	plan->outputs[0] = inputs[0]->schema;
	plan->keeps_key = 1;
	*result = binding;
	return FLOW_OK;
}

static void
function_unbind(void *binding)
{
	host->release(binding);
}

static flow_status
function_open(void *binding, flow_context *context, flow_function **function, flow_error *error)
{
	*function = flow_new(host, sizeof(**function));
	if (*function == NULL)
		return no_memory(error);
	(*function)->context = context;
	(*function)->rounds = ((const struct binding *)binding)->rounds;
	(*function)->rate = ((const struct binding *)binding)->rate;
	return FLOW_OK;
}

static void
function_close(flow_function *function)
{
	host->release(function);
}

/* Never true in practice; but the compiler cannot leave the work out. */
static void
keep_sum(const flow_function *function)
{
	if (function->sum == UINT64_MAX)
		flow_say(host, FLOW_LOG_DEBUG, "bench", "a sum in a thousand million million");
}

static flow_status
noop_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	flow_output *output = function->context->outputs[0];
	for (FLOW_ROWS(batch, i))
		function->sum += batch->value[flow_row(batch, i)].type;
	keep_sum(function);
	return output->forward(output, batch, NULL, error);
}

static flow_status
spin_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	flow_output *output = function->context->outputs[0];
	for (FLOW_ROWS(batch, i)) {
		uint64_t x = (uint64_t)flow_batch_field(batch, flow_row(batch, i), 1)->as.int64;
		for (uint64_t round = 0; round < function->rounds; round++)
			x = bench_mix(x);
		function->sum += x;
	}
	keep_sum(function);
	return output->forward(output, batch, NULL, error);
}

/* A consumer that is slow without using the processor, which the brokers share here. */
static flow_status
pace_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	flow_output *output = function->context->outputs[0];
	if (function->passed == 0)
		function->started = host->monotonic();
	function->passed += batch->selected_count;
	int64_t early = function->started + (int64_t)(function->passed * 1000000 / function->rate) - host->monotonic();
	if (early > 0)
		nanosleep(&(struct timespec){ early / 1000000, early % 1000000 * 1000 }, NULL);
	return output->forward(output, batch, NULL, error);
}

static const flow_option *const pace_list[] = { INTEGER("rate", "Records a second.", "1000", "1"), NULL };
static const flow_option_set pace_set = { FLOW_SIZEOF(flow_option_set), 0, "", "How slow it is.", pace_list };
static const flow_option *const spin_list[] = { INTEGER("rounds", "How often a number is mixed.", "100", "1"), NULL };
static const flow_option_set spin_set = { FLOW_SIZEOF(flow_option_set), 0, "", "How much is burnt.", spin_list };
static const flow_option *const noop_list[] = { NULL };
static const flow_option_set noop_set = { FLOW_SIZEOF(flow_option_set), 0, "", "There is nothing to say.", noop_list };

static const flow_function_ops noop_ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.bind = function_bind,
	.unbind = function_unbind,
	.open = function_open,
	.process = noop_process,
	.close = function_close,
};
static const flow_function_ops spin_ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.bind = function_bind,
	.unbind = function_unbind,
	.open = function_open,
	.process = spin_process,
	.close = function_close,
};
static const flow_function_ops pace_ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.bind = function_bind,
	.unbind = function_unbind,
	.open = function_open,
	.process = pace_process,
	.close = function_close,
};

static const flow_component noop = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_FUNCTION,
	.id = "noop",
	.doc = "Visits every record and changes none.",
	.option_sets = (const flow_option_set *const[]){ &noop_set, NULL },
	.ops = &noop_ops,
};
static const flow_component spin = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_FUNCTION,
	.id = "spin",
	.doc = "Burns CPU for each record.",
	.option_sets = (const flow_option_set *const[]){ &spin_set, NULL },
	.ops = &spin_ops,
};
static const flow_component pace = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_FUNCTION,
	.id = "pace",
	.doc = "Lets through so many records a second.",
	.option_sets = (const flow_option_set *const[]){ &pace_set, NULL },
	.ops = &pace_ops,
};

static flow_status
init(const flow_host *the_host, flow_error *error)
{
	host = the_host;
	schemas = host->get_service(FLOW_SERVICE_SCHEMAS);
	return schemas != NULL ? FLOW_OK : flow_fail(host, error, FLOW_E_UNSUPPORTED, "no " FLOW_SERVICE_SCHEMAS);
}

static const flow_component *const components[] = { &bench_system, &noop, &spin, &pace, NULL };
FLOW_DEFINE_PLUGIN("bench", "0.1.0", "Apache-2.0", components, init, NULL)
