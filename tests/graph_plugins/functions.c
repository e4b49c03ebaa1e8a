/* Functions that only bind. */
#include <stdio.h>

#include "fixture.h"

#define FIELDS 64

struct bound {
	const flow_schema *output;
	uint8_t reads[FIELDS];
	int32_t passes[FIELDS];
	char table[64];
	const char *tables[2];
	char time[64];
};

static const flow_expressions *
expressions(void)
{
	return fixture_host->get_service(FLOW_SERVICE_EXPRESSIONS);
}

static struct bound *
bind_pass(const flow_function_input *input, flow_function_plan *plan, void **binding)
{
	struct bound *bound = flow_new(fixture_host, sizeof(*bound));
	*binding = bound;
	if (bound == NULL)
		return NULL;
	for (uint32_t i = 0; i < input->schema->field_count && i < FIELDS; i++)
		bound->passes[i] = (int32_t)i;
	plan->outputs[0] = input->schema;
	plan->keeps_key = 1;
	plan->reads[0] = bound->reads;
	plan->passes = bound->passes;
	return bound;
}

static void
unbind(void *binding)
{
	struct bound *bound = binding;
	if (bound->output != NULL)
		fixture_release(bound->output);
	fixture_host->release(bound);
}

#define PARAMETERS                                                                                                     \
	const flow_host *host, const flow_options *options, const flow_function_input *const *inputs,                      \
		uint32_t input_count, flow_function_plan *plan, void **binding, flow_error *error
#define NO_MEMORY flow_fail(fixture_host, error, FLOW_E_MEMORY, "out of memory")
#define UNUSED ((void)host, (void)options, (void)input_count, (void)error)

static flow_status
pass_bind(PARAMETERS)
{
	UNUSED;
	return bind_pass(inputs[0], plan, binding) == NULL ? NO_MEMORY : FLOW_OK;
}

static flow_status
where_bind(PARAMETERS)
{
	UNUSED;
	const flow_option_value *text = flow_option_get(options, "where");
	flow_expression *condition = NULL;
	flow_status status = expressions()->compile(text->text, inputs[0]->schema, text->place, &condition, error);
	if (status != FLOW_OK)
		return status;
	struct bound *bound = bind_pass(inputs[0], plan, binding);
	if (bound != NULL)
		expressions()->fields(condition, bound->reads);
	expressions()->release(condition);
	return bound == NULL ? NO_MEMORY : FLOW_OK;
}

static const flow_state_declaration state = {
	.struct_size = FLOW_SIZEOF(flow_state_declaration),
	.kind = FLOW_STATE_SLOT,
	.slot_size = 8,
	.name = "count",
	.layout = "count:i64",
};
static const flow_state_declaration *const states[] = { &state, NULL };

/* Counts: the field that is counted is read. */
static flow_status
aggregate_bind(PARAMETERS)
{
	UNUSED;
	struct bound *bound = bind_pass(inputs[0], plan, binding);
	if (bound == NULL)
		return NO_MEMORY;
	flow_slice time = flow_option_text(options, "window.time");
	bound->output = fixture_type("record(key:string,n:int64)");
	if (bound->output == NULL) {
		unbind(bound);
		return NO_MEMORY;
	}
	plan->outputs[0] = bound->output;
	plan->passes = NULL;
	plan->keeps_key = inputs[0]->stream == FLOW_STREAM_KEYED;
	plan->states = states;
	plan->out_of_order = flow_option_int(options, "window.out_of_order", 0);
	plan->needs_event_time = flow_option_get(options, "window") != NULL;
	plan->uses_timers = plan->needs_event_time;
	if (time.size != 0) {
		snprintf(bound->time, sizeof(bound->time), "%s", time.data);
		plan->event_time = bound->time;
	}
	return FLOW_OK;
}

static flow_status
write_bind(PARAMETERS)
{
	UNUSED;
	struct bound *bound = bind_pass(inputs[0], plan, binding);
	if (bound == NULL)
		return NO_MEMORY;
	snprintf(bound->table, sizeof(bound->table), "%s", flow_option_text(options, "write_table").data);
	bound->tables[0] = bound->table;
	plan->writes_tables = bound->tables;
	plan->reads[0] = NULL;
	return FLOW_OK;
}

static flow_status
join_bind(PARAMETERS)
{
	UNUSED;
	const flow_tables *tables = host->get_service(FLOW_SERVICE_TABLES);
	const flow_schema *row, *key;
	flow_status status = tables->schema(flow_option_text(options, "join_table").data, &row, &key, error);
	if (status != FLOW_OK)
		return status;
	struct bound *bound = bind_pass(inputs[0], plan, binding);
	if (bound == NULL)
		return NO_MEMORY;
	snprintf(bound->table, sizeof(bound->table), "%s", flow_option_text(options, "join_table").data);
	bound->tables[0] = bound->table;
	plan->reads_tables = bound->tables;
	return FLOW_OK;
}

/* Takes records and gives none. */
static flow_status
sink_all_bind(PARAMETERS)
{
	UNUSED;
	if (bind_pass(inputs[0], plan, binding) == NULL)
		return NO_MEMORY;
	plan->outputs[0] = NULL;
	plan->passes = NULL;
	return FLOW_OK;
}

#define VARIANT(word, ...)                                                                                             \
	static flow_status word##_bind(PARAMETERS)                                                                         \
	{                                                                                                                  \
		UNUSED;                                                                                                        \
		struct bound *bound = bind_pass(inputs[0], plan, binding);                                                     \
		if (bound == NULL)                                                                                             \
			return NO_MEMORY;                                                                                          \
		__VA_ARGS__;                                                                                                   \
		return FLOW_OK;                                                                                                \
	}
VARIANT(block, plan->blocks = 1)
VARIANT(split, plan->shape = FLOW_SHAPE_TWO_OUTPUTS)
VARIANT(keyed_only, plan->needs_keyed = 1)
VARIANT(timed, plan->needs_event_time = 1)
VARIANT(sloppy, bound->passes[0] = 1000)


/* Joins records of as many fields. */
static flow_status
pair_bind(PARAMETERS)
{
	UNUSED;
	if (input_count == 2 && inputs[0]->schema->field_count != inputs[1]->schema->field_count)
		return flow_fail(fixture_host, error, FLOW_E_TYPE, "the inputs have %u and %u fields", inputs[0]->schema->field_count,
						 inputs[1]->schema->field_count);
	if (bind_pass(inputs[0], plan, binding) == NULL)
		return NO_MEMORY;
	plan->shape = FLOW_SHAPE_TWO_INPUTS;
	return FLOW_OK;
}

OPTION(where_option, .type = FLOW_OPTION_EXPRESSION, .flags = FLOW_OPTION_PRIMARY | FLOW_OPTION_REQUIRED,
	   .name = "where", .doc = "Fixture.");
SET(where_set, "", &where_option);
OPTION(tumbling_option, .type = FLOW_OPTION_DURATION, .flags = FLOW_OPTION_REQUIRED, .name = "tumbling",
	   .doc = "Fixture.");
OPTION(time_option, .type = FLOW_OPTION_EXPRESSION, .name = "time", .doc = "Fixture.");
OPTION(order_option, .type = FLOW_OPTION_DURATION, .name = "out_of_order", .doc = "Fixture.");
static const flow_option *const window_members[] = { &tumbling_option, &time_option, &order_option, NULL };
OPTION(window_option, .type = FLOW_OPTION_GROUP, .name = "window", .members = window_members, .doc = "Fixture.");
OPTION(aggregate_option, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_STRING,
	   .flags = FLOW_OPTION_PRIMARY | FLOW_OPTION_REQUIRED, .name = "aggregate", .doc = "Fixture.");
SET(aggregate_set, "", &aggregate_option, &window_option);
OPTION(write_option, .type = FLOW_OPTION_REFERENCE, .refers_to = "table",
	   .flags = FLOW_OPTION_PRIMARY | FLOW_OPTION_REQUIRED, .name = "write_table", .doc = "Fixture.");
SET(write_set, "", &write_option);
OPTION(join_option, .type = FLOW_OPTION_REFERENCE, .refers_to = "table",
	   .flags = FLOW_OPTION_PRIMARY | FLOW_OPTION_REQUIRED, .name = "join_table", .doc = "Fixture.");
SET(join_set, "", &join_option);
OPTION(wait_option, .type = FLOW_OPTION_DURATION, .name = "wait", .doc = "Fixture.");
SET(block_set, "", &wait_option);

#define FUNCTION(word, sets)                                                                                           \
	static const flow_function_ops word##_ops = {                                                                      \
		.struct_size = FLOW_SIZEOF(flow_function_ops),                                                                 \
		.bind = word##_bind,                                                                                           \
		.unbind = unbind,                                                                                              \
		.open = NEVER,                                                                                                 \
		.process = NEVER,                                                                                              \
		.timers = NEVER,                                                                                               \
		.watermark = NEVER,                                                                                            \
		.end_input = NEVER,                                                                                            \
		.close = NEVER,                                                                                                \
	};                                                                                                                 \
	COMPONENT(fixture_##word, FLOW_FUNCTION, 0, #word, sets, &word##_ops)
#define SETS(identifier, set) static const flow_option_set *const identifier[] = { &set, NULL }

SETS(where_sets, where_set);
SETS(aggregate_sets, aggregate_set);
SETS(write_sets, write_set);
SETS(join_sets, join_set);
SETS(block_sets, block_set);

#define write_table_bind write_bind
#define join_table_bind join_bind
FUNCTION(where, where_sets);
FUNCTION(aggregate, aggregate_sets);
FUNCTION(write_table, write_sets);
FUNCTION(join_table, join_sets);
FUNCTION(sink_all, NULL);
FUNCTION(block, block_sets);
FUNCTION(pair, NULL);
FUNCTION(split, NULL);
FUNCTION(keyed_only, NULL);
FUNCTION(timed, NULL);
FUNCTION(sloppy, NULL);
FUNCTION(pass, NULL);
