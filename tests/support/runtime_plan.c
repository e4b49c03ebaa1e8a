/* Plans made by hand, and running them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/runtime_world.h"

#include "base/error.h"
#include "base/io.h"
#include "base/schema.h"
#include "expr/expression.h"
#include "plugin/registry.h"

#define MOST 32

void world_deliver(const char *id, uint32_t delivery);
void world_functions_reset(void);
void world_stores_reset(void);

struct maker {
	plan plan;
	plan_system system;
	plan_stream streams[MOST];
	plan_operator operators[MOST];
	plan_edge edges[MOST];
	plan_stage stages[MOST];
	uint32_t stage_operators[MOST][MOST];
	char names[MOST][32];
	const flow_schema *schema;
	const flow_schema *key_schema;
	const flow_schema *dead_letters;
	flow_expression *key;
	flow_expression *time;
	flow_expression *keys[1];
	flow_option_value values[MOST];
	flow_option_entry entries[MOST];
	const flow_option_entry *entry_list[MOST];
	char option_names[MOST][32];
	flow_options options;
};

static const flow_state_declaration count_state = { .struct_size = FLOW_SIZEOF(flow_state_declaration),
													.kind = FLOW_STATE_SLOT,
													.slot_size = 8,
													.name = "count",
													.layout = "count:i64" };
static const flow_state_declaration *const count_states[] = { &count_state, NULL };

maker *
maker_create(void)
{
	maker *m = calloc(1, sizeof(*m));
	m->schema = schema_parse_type(flow_slice_of("record(k:int64,v:int64,t:timestamp)"), NULL);
	m->key_schema = schema_parse_type(flow_slice_of("int64"), NULL);
	m->dead_letters = schema_parse_type(
		flow_slice_of(
			"record(time:timestamp,job:string,operator:string,stream:string?,place:string?,partition:int64?,"
			"ordinal:int64?,line:int64?,field:string?,status:string,reason:string,raw:string?,raw_base64:bool,"
			"key:string?)"),
		NULL);
	flow_slice nowhere = { NULL, 0 };
	assert_int_equal(expressions_service.compile(flow_slice_of("k"), m->schema, nowhere, &m->key, NULL), FLOW_OK);
	assert_int_equal(expressions_service.compile(flow_slice_of("t"), m->schema, nowhere, &m->time, NULL), FLOW_OK);
	m->keys[0] = m->key;
	m->system = (plan_system){ .name = "world", .component = &world_system };
	m->options.struct_size = FLOW_SIZEOF(flow_options);
	m->options.entries = m->entry_list;
	m->plan = (plan){ .job = "test",
					  .instance = "",
					  .systems = &m->system,
					  .system_count = 1,
					  .streams = m->streams,
					  .operators = m->operators,
					  .edges = m->edges,
					  .stages = m->stages,
					  .dead_letters = PLAN_NONE,
					  .bounded = 1,
					  .max_parallelism = 128,
					  .workers = 2,
					  .job_options = &m->options };
	return m;
}

void
maker_destroy(maker *m)
{
	expressions_service.release(m->key);
	expressions_service.release(m->time);
	schema_release(m->schema);
	schema_release(m->key_schema);
	schema_release(m->dead_letters);
	free(m);
}

void
maker_option(maker *m, const char *name, int64_t value)
{
	if (strcmp(name, "workers") == 0)
		m->plan.workers = (uint32_t)value;
	uint64_t i = 0;
	while (i < m->options.entry_count && !flow_slice_is(m->entries[i].name, name))
		i++;
	snprintf(m->option_names[i], sizeof(m->option_names[i]), "%s", name);
	m->values[i] = (flow_option_value){ .struct_size = FLOW_SIZEOF(flow_option_value), .integer = value };
	m->entries[i] = (flow_option_entry){ .struct_size = FLOW_SIZEOF(flow_option_entry),
										 .name = flow_slice_of(m->option_names[i]),
										 .value = &m->values[i] };
	m->entry_list[i] = &m->entries[i];
	if (i == m->options.entry_count)
		m->options.entry_count++;
}

static plan_operator *
add_operator(maker *m, uint32_t kind, const char *name)
{
	uint32_t index = m->plan.operator_count++;
	plan_operator *op = &m->operators[index];
	snprintf(m->names[index], sizeof(m->names[index]), "%s", name);
	*op = (plan_operator){ .kind = kind,
						   .index = index,
						   .name = m->names[index],
						   .title = m->names[index],
						   .chain_parent = PLAN_NONE,
						   .stream = PLAN_NONE,
						   .state_id = PLAN_NONE,
						   .record_errors = RECORD_ERRORS_FAIL };
	op->schema[0] = m->schema;
	op->stream_kind[0] = FLOW_STREAM_NON_KEYED;
	return op;
}

static void
new_stage(maker *m, plan_operator *op, uint32_t tasks)
{
	uint32_t index = m->plan.stage_count++;
	m->stages[index] =
		(plan_stage){ .index = index, .head = op->index, .task_count = tasks, .operators = m->stage_operators[index] };
	op->stage = index;
}

static void
put_behind(maker *m, plan_operator *op, uint32_t from, uint32_t partitioning, uint32_t tasks)
{
	uint32_t before = m->operators[from].stage;
	int same = partitioning == EDGE_FORWARD && m->stages[before].task_count == tasks;
	if (same) {
		op->stage = before;
		op->chain_parent = from;
	} else {
		new_stage(m, op, tasks);
		m->stages[op->stage].keyed = partitioning == EDGE_KEY;
	}
	m->edges[m->plan.edge_count++] =
		(plan_edge){ .from = from, .to = op->index, .partitioning = partitioning, .exchange = !same };
}

static uint32_t
add_stream(maker *m, const char *id, uint32_t direction)
{
	uint32_t index = m->plan.stream_count++;
	plan_stream *s = &m->streams[index];
	*s = (plan_stream){ .id = id,
						.direction = direction,
						.request = { .struct_size = FLOW_SIZEOF(flow_stream_request),
									 .direction = direction,
									 .id = flow_slice_of(id),
									 .physical_name = flow_slice_of(id),
									 .job = flow_slice_of("test") },
						.schema = m->schema,
						.bounded = 1,
						.priority = -1,
						.start = FLOW_START_OLDEST,
						.record_errors = RECORD_ERRORS_FAIL };
	s->value = (plan_serde){ .component = &world_serde, .ops = world_serde.ops, .schema = m->schema };
	return index;
}

uint32_t
maker_source(maker *m, const char *id, uint32_t tasks)
{
	plan_operator *op = add_operator(m, OPERATOR_SOURCE, id);
	op->stream = add_stream(m, id, FLOW_DIRECTION_INPUT);
	new_stage(m, op, tasks);
	return op->index;
}

plan_stream *
maker_stream(maker *m, uint32_t operator_index)
{
	return &m->streams[m->operators[operator_index].stream];
}

plan_operator *
maker_operator(maker *m, uint32_t operator_index)
{
	return &m->operators[operator_index];
}

static uint32_t
tasks_of(const maker *m, uint32_t op)
{
	return m->stages[m->operators[op].stage].task_count;
}

uint32_t
maker_key_by(maker *m, uint32_t from)
{
	plan_operator *op = add_operator(m, OPERATOR_KEY_BY, "key_by");
	op->keys = m->keys;
	op->key_count = 1;
	op->key_schema[0] = m->key_schema;
	op->stream_kind[0] = FLOW_STREAM_KEYED;
	put_behind(m, op, from, EDGE_FORWARD, tasks_of(m, from));
	return op->index;
}

uint32_t
maker_event_time(maker *m, uint32_t from, int64_t out_of_order)
{
	plan_operator *op = add_operator(m, OPERATOR_EVENT_TIME, "event_time");
	op->event_time = m->time;
	op->out_of_order = out_of_order;
	op->stream_kind[0] = m->operators[from].stream_kind[0];
	op->key_schema[0] = m->operators[from].key_schema[0];
	put_behind(m, op, from, EDGE_FORWARD, tasks_of(m, from));
	return op->index;
}

uint32_t
maker_function(maker *m, uint32_t from, const flow_component *function, const char *name, uint32_t partitioning,
			   uint32_t tasks)
{
	plan_operator *op = add_operator(m, OPERATOR_FUNCTION, name);
	op->component = function;
	op->ops = function->ops;
	op->function.outputs[0] = m->schema;
	if (function == &world_pass || function == &world_odd) {
		op->key_schema[0] = m->operators[from].key_schema[0];
		op->stream_kind[0] = m->operators[from].stream_kind[0];
	}
	if (function == &world_rekey) {
		op->key_schema[0] = m->key_schema;
		op->stream_kind[0] = FLOW_STREAM_KEYED;
	}
	if (function == &world_count || function == &world_window) {
		op->function.states = count_states;
		op->function.uses_timers = function == &world_window;
		op->state_id = op->index * 256;
		m->plan.has_state = 1;
		m->plan.state_store = &world_store;
	}
	put_behind(m, op, from, partitioning, tasks);
	return op->index;
}

uint32_t
maker_sink(maker *m, uint32_t from, const char *id, uint32_t delivery, uint32_t partitioning, uint32_t tasks)
{
	plan_operator *op = add_operator(m, OPERATOR_SINK, id);
	op->stream = add_stream(m, id, FLOW_DIRECTION_OUTPUT);
	m->streams[op->stream].delivery = delivery;
	m->streams[op->stream].byte_stream = 1;
	world_deliver(id, delivery);
	put_behind(m, op, from, partitioning, tasks);
	return op->index;
}

void
maker_connect(maker *m, uint32_t from, uint32_t to, uint32_t input, uint32_t partitioning)
{
	m->edges[m->plan.edge_count++] =
		(plan_edge){ .from = from, .to = to, .input = input, .partitioning = partitioning, .exchange = 1 };
}

void
maker_connect_second(maker *m, uint32_t from, uint32_t to)
{
	plan_operator *op = &m->operators[from];
	op->function.outputs[1] = op->schema[1] = m->schema;
	op->stream_kind[1] = op->stream_kind[0];
	maker_connect(m, from, to, 0, EDGE_GLOBAL);
	m->edges[m->plan.edge_count - 1].output = 1;
}

void
maker_dead_letters(maker *m, const char *id)
{
	plan_operator *op = add_operator(m, OPERATOR_DEAD_LETTERS, id);
	op->stream = add_stream(m, id, FLOW_DIRECTION_OUTPUT);
	op->schema[0] = m->dead_letters;
	m->streams[op->stream].schema = m->streams[op->stream].value.schema = m->dead_letters;
	m->streams[op->stream].byte_stream = 1;
	m->streams[op->stream].delivery = FLOW_DELIVERY_AT_LEAST_ONCE;
	world_deliver(id, FLOW_DELIVERY_AT_LEAST_ONCE);
	new_stage(m, op, 1);
	m->plan.dead_letters = op->index;
}

const plan *
maker_plan(maker *m)
{
	for (uint32_t i = 0; i < m->plan.stage_count; i++)
		m->stages[i].operator_count = 0;
	for (uint32_t i = 0; i < m->plan.operator_count; i++) {
		plan_stage *stage = &m->stages[m->operators[i].stage];
		stage->operators[stage->operator_count++] = i;
	}
	return &m->plan;
}

/* --- running -------------------------------------------------------------------------------------------------------- */

static char folder[64];
static flow_error last_error;
static runtime_status_report report;

const char *
world_error(void)
{
	return error_message(&last_error);
}

const runtime_status_report *
world_report(void)
{
	return &report;
}

struct during {
	runtime *run;
	void (*call)(runtime *run);
};

static void *
during_main(void *argument)
{
	struct during *d = argument;
	d->call(d->run);
	return NULL;
}

static void
new_folder(void)
{
	if (folder[0] != '\0')
		io_remove_tree(folder, NULL);
	strcpy(folder, "/tmp/flowd-runtime-XXXXXX");
	assert_non_null(mkdtemp(folder));
}

uint32_t
world_run(maker *m, const world_run_request *request)
{
	static const world_run_request usual;
	request = request == NULL ? &usual : request;
	if (!request->again || folder[0] == '\0') {
		new_folder();
		world_stores_reset();
	}
	world_functions_reset();
	char state[96];
	snprintf(state, sizeof(state), "%s/state", folder);
	runtime_request r = { .plan = maker_plan(m),
						  .host = &host_services,
						  .state_directory = state,
						  .drop_states = request->drop_states,
						  .limit = request->limit,
						  .output_limit = request->output_limit,
						  .throwaway = request->throwaway,
						  .dry_sink = (uint32_t)request->dry_sink,
						  .fresh = (uint32_t)request->fresh,
						  .deterministic = (uint32_t)request->deterministic,
						  .seed = request->seed,
						  .check_plugins = (uint32_t)request->check_plugins };
	runtime *run = NULL;
	uint32_t outcome = RUN_FAILED;
	error_clear(&last_error);
	assert_int_equal(runtime_create(&r, &run, &last_error), FLOW_OK);
	pthread_t thread;
	struct during d = { run, request->during };
	if (request->during != NULL)
		assert_int_equal(pthread_create(&thread, NULL, during_main, &d), 0);
	runtime_run(run, &outcome, &last_error);
	if (request->during != NULL)
		pthread_join(thread, NULL);
	runtime_status(run, &report);
	static operator_status operators[MOST];
	memcpy(operators, report.operators, report.operator_count * sizeof(*operators));
	report.operators = operators;
	static input_status inputs[MOST];
	for (uint32_t i = 0; i < report.input_count && i < MOST; i++)
		inputs[i] = report.inputs[i];
	report.inputs = inputs;
	static input_number numbers[MOST];
	static char texts[MOST][2][32];
	for (uint32_t i = 0; i < report.number_count && i < MOST; i++) {
		numbers[i] = report.numbers[i];
		snprintf(texts[i][0], sizeof(texts[i][0]), "%s", numbers[i].name);
		snprintf(texts[i][1], sizeof(texts[i][1]), "%s", numbers[i].partition == NULL ? "" : numbers[i].partition);
		numbers[i].name = texts[i][0];
		numbers[i].partition = numbers[i].partition == NULL ? NULL : texts[i][1];
	}
	report.numbers = numbers;
	runtime_destroy(run);
	return outcome;
}

__attribute__((destructor)) static void
remove_folder(void)
{
	if (folder[0] != '\0')
		io_remove_tree(folder, NULL);
}
