#include "support/function_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/key.h"
#include "base/schema.h"
#include "base/value.h"
#include "expr/expression.h"
#include "plugin/host_services.h"
#include "support/batch_text.h"

struct cell {
	struct cell *next;
	uint32_t state;
	flow_slice key;
	int64_t space;
	void *slot;       /* FLOW_STATE_SLOT */
	flow_slice value; /* FLOW_STATE_VALUE */
};

struct timer {
	struct timer *next;
	uint32_t kind;
	int64_t time;
	const flow_batch *batch; /* retained: has the key */
	uint32_t row;
};

struct output {
	flow_output output; /* first: handed to the function */
	fixture_function *owner;
	flow_builder *builder;
	flow_builder *memory;
	flow_batch **batches;
	size_t batch_count;
};

struct fixture_function {
	flow_context context; /* first: handed to the function */
	fixture *fixture;
	const flow_function_ops *ops;
	flow_function_plan plan;
	void *binding;
	flow_function *function;
	const flow_schema *key_schema;
	int global;
	struct output outputs[2];
	flow_output *output_list[2];
	flow_builder *scratch;
	struct cell *cells;
	struct timer *timers;
	int64_t event_time;
	fixture_rejection *rejections;
	size_t rejection_count;
};

struct table {
	struct table *next;
	const char *name;
	const flow_table_ops *ops;
	flow_table *table;
	const flow_schema *schema;
	const flow_schema *key_schema;
};

static struct table *tables; /* of the test that runs; flow.tables/1 has no context */

static void *
zeroed(fixture *f, uint64_t size)
{
	void *memory = arena_allocate_zeroed(f->arena, size == 0 ? 1 : size);
	assert_non_null(memory);
	return memory;
}

static fixture_function *
of_context(flow_context *context)
{
	return (fixture_function *)context;
}

static struct output *
of_output(flow_output *output)
{
	return (struct output *)output;
}

/* --- outputs --- */

static void
keep_batch(struct output *o, flow_batch *batch)
{
	assert_non_null(batch);
	o->batches = realloc(o->batches, (o->batch_count + 1) * sizeof(flow_batch *));
	assert_non_null(o->batches);
	o->batches[o->batch_count++] = batch;
}

static flow_builder *
output_builder(flow_output *output)
{
	return of_output(output)->builder;
}

static flow_builder *
output_memory(flow_output *output)
{
	return of_output(output)->memory;
}

static flow_status
output_push(flow_output *output, flow_error *error)
{
	struct output *o = of_output(output);
	(void)error;
	if (o->builder->row_count == 0)
		return FLOW_OK;
	batch_head head = { .schema = o->owner->plan.outputs[output->index],
						.key_schema = o->builder->key == NULL ? NULL : o->owner->key_schema,
						.input = UINT32_MAX };
	keep_batch(o, builder_finish(o->builder, &head));
	return FLOW_OK;
}

static flow_status
output_forward(flow_output *output, const flow_batch *parent, const flow_columns *columns, flow_error *error)
{
	struct output *o = of_output(output);
	flow_status status = output_push(output, error);
	flow_batch *batch = batch_forward(o->owner->fixture->pool, parent, columns, o->memory);
	if (batch != NULL && batch->selected_count == 0)
		batch_release(batch);
	else
		keep_batch(o, batch);
	return status;
}

static void
open_output(fixture_function *g, uint32_t index)
{
	struct output *o = &g->outputs[index];
	o->owner = g;
	o->builder = builder_create(g->fixture->pool, 0, 0);
	o->memory = builder_create(g->fixture->pool, 0, 0);
	assert_true(o->builder != NULL && o->memory != NULL);
	o->output = (flow_output){ .struct_size = FLOW_SIZEOF(flow_output),
							   .index = index,
							   .builder = output_builder,
							   .push = output_push,
							   .forward = output_forward,
							   .memory = output_memory };
	g->output_list[index] = &o->output;
}

static void
close_output(struct output *o)
{
	for (size_t i = 0; i < o->batch_count; i++)
		batch_release(o->batches[i]);
	free(o->batches);
	builder_destroy(o->builder);
	builder_destroy(o->memory);
}

/* --- state --- */

static struct cell *
find_cell(fixture_function *g, uint32_t state, const flow_batch *batch, uint32_t row, int64_t space, int create,
		  int *made)
{
	assert_non_null(batch->key_bytes);
	flow_slice key = batch->key_bytes[row];
	assert_non_null(key.data);
	*made = 0;
	for (struct cell *c = g->cells; c != NULL; c = c->next)
		if (c->state == state && c->space == space && flow_slice_equal(c->key, key))
			return c;
	if (!create)
		return NULL;
	struct cell *c = zeroed(g->fixture, sizeof(*c));
	*c = (struct cell){ g->cells, state, key, space, NULL, { NULL, 0 } };
	c->key.data = arena_copy(g->fixture->arena, key.data, key.size);
	assert_non_null(c->key.data);
	c->slot = zeroed(g->fixture, g->plan.states[state]->slot_size);
	g->cells = c;
	*made = 1;
	return c;
}

static flow_status
slots(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows, uint32_t count,
	  const int64_t *spaces, int create, void **found, uint8_t *created, flow_error *error)
{
	(void)error;
	for (uint32_t i = 0; i < count; i++) {
		int made;
		struct cell *c =
			find_cell(of_context(context), state, batch, rows[i], spaces == NULL ? 0 : spaces[i], create, &made);
		found[i] = c == NULL ? NULL : c->slot;
		if (created != NULL)
			created[i] = (uint8_t)made;
	}
	return FLOW_OK;
}

static flow_status
get_many(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows, uint32_t count,
		 const int64_t *spaces, flow_slice *values, flow_error *error)
{
	(void)error;
	for (uint32_t i = 0; i < count; i++) {
		int made;
		struct cell *c =
			find_cell(of_context(context), state, batch, rows[i], spaces == NULL ? 0 : spaces[i], 0, &made);
		values[i] = c == NULL ? flow_slice_make(NULL, 0) : c->value;
	}
	return FLOW_OK;
}

static flow_status
put_many(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows, uint32_t count,
		 const int64_t *spaces, const flow_slice *values, flow_error *error)
{
	(void)error;
	fixture_function *g = of_context(context);
	for (uint32_t i = 0; i < count; i++) {
		int made;
		struct cell *c = find_cell(g, state, batch, rows[i], spaces == NULL ? 0 : spaces[i], 1, &made);
		c->value = flow_slice_make(arena_copy(g->fixture->arena, values[i].data, values[i].size), values[i].size);
		assert_non_null(c->value.data);
	}
	return FLOW_OK;
}

static flow_status
remove_many(flow_context *context, uint32_t state, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			const int64_t *spaces, flow_error *error)
{
	(void)error;
	fixture_function *g = of_context(context);
	for (uint32_t i = 0; i < count; i++) {
		int64_t space = spaces == NULL ? 0 : spaces[i];
		for (struct cell **at = &g->cells; *at != NULL;)
			if ((*at)->state == state && (*at)->space == space &&
				flow_slice_equal((*at)->key, batch->key_bytes[rows[i]]))
				*at = (*at)->next;
			else
				at = &(*at)->next;
	}
	return FLOW_OK;
}

/* --- timers --- */

static int
same_timer(const struct timer *t, uint32_t kind, const flow_batch *batch, uint32_t row, int64_t time)
{
	return t->kind == kind && t->time == time && flow_slice_equal(t->batch->key_bytes[t->row], batch->key_bytes[row]);
}

static flow_status
delete_timers(flow_context *context, uint32_t kind, const flow_batch *batch, const uint32_t *rows, uint32_t count,
			  const int64_t *times, flow_error *error)
{
	(void)error;
	for (uint32_t i = 0; i < count; i++)
		for (struct timer **at = &of_context(context)->timers; *at != NULL;) {
			struct timer *t = *at;
			if (!same_timer(t, kind, batch, rows[i], times[i])) {
				at = &t->next;
				continue;
			}
			*at = t->next;
			batch_release(t->batch);
		}
	return FLOW_OK;
}

static flow_status
register_timers(flow_context *context, uint32_t kind, const flow_batch *batch, const uint32_t *rows, uint32_t count,
				const int64_t *times, flow_error *error)
{
	fixture_function *g = of_context(context);
	for (uint32_t i = 0; i < count; i++) {
		delete_timers(context, kind, batch, &rows[i], 1, &times[i], error);
		struct timer *fresh = zeroed(g->fixture, sizeof(*fresh));
		*fresh = (struct timer){ NULL, kind, times[i], batch_retain(batch), rows[i] };
		struct timer **at = &g->timers;
		while (*at != NULL && (*at)->time <= fresh->time)
			at = &(*at)->next;
		fresh->next = *at;
		*at = fresh;
	}
	return FLOW_OK;
}

static void
push_outputs(fixture_function *g)
{
	for (uint32_t i = 0; i < g->context.output_count; i++)
		assert_int_equal(output_push(g->output_list[i], &g->fixture->error), FLOW_OK);
	builder_clear(g->scratch);
}

/* Keys of the due timers, and their times, as one batch. */
static flow_batch *
due_batch(fixture_function *g, uint32_t kind, int64_t now)
{
	flow_builder *builder = builder_create(g->fixture->pool, 0, 0);
	flow_builder *memory = builder_create(g->fixture->pool, 0, 0);
	assert_true(builder != NULL && memory != NULL);
	assert_int_equal(builder->ops->add_columns(builder, FLOW_COLUMN_KEY | FLOW_COLUMN_TIMESTAMP), FLOW_OK);
	for (struct timer **at = &g->timers; *at != NULL && !flow_builder_full(builder);) {
		struct timer *t = *at;
		if (t->kind != kind || t->time > now) {
			at = &t->next;
			continue;
		}
		uint32_t row = flow_builder_add(builder, flow_null());
		assert_int_equal(value_copy(builder, &t->batch->key[t->row], &builder->key[row]), FLOW_OK);
		builder->timestamp[row] = t->time;
		*at = t->next;
		batch_release(t->batch);
	}
	batch_head head = { .schema = schema_of_kind(FLOW_KIND_NULL, 1), .key_schema = g->key_schema, .input = UINT32_MAX };
	flow_batch *batch = builder_finish(builder, &head);
	uint64_t *hash;
	flow_slice *bytes;
	assert_non_null(batch);
	assert_int_equal(key_columns(batch, memory, &hash, &bytes), FLOW_OK);
	assert_int_equal(batch_set_key_columns(batch, memory, hash, bytes), FLOW_OK);
	builder_destroy(builder);
	builder_destroy(memory);
	return batch;
}

static void
fire(fixture_function *g, uint32_t kind, int64_t now)
{
	for (;;) {
		flow_batch *due = due_batch(g, kind, now);
		uint32_t count = due->row_count;
		if (count > 0) {
			assert_true(FLOW_CAN(g->ops, timers));
			if (g->ops->timers(g->function, kind, due, &g->fixture->error) != FLOW_OK)
				fail_msg("%s", error_message(&g->fixture->error));
			push_outputs(g);
		}
		batch_release(due);
		if (count == 0)
			return;
	}
}

void
fixture_function_event_time(fixture_function *g, int64_t time)
{
	g->event_time = time;
	fire(g, FLOW_TIMER_EVENT, time);
}

void
fixture_function_clock(fixture_function *g, int64_t time)
{
	fire(g, FLOW_TIMER_PROCESSING, time);
}

/* --- the rest of the context --- */

static int64_t
event_time(flow_context *context)
{
	return of_context(context)->event_time;
}

static flow_status
emit_watermark(flow_context *context, const char *id, int64_t value, flow_error *error)
{
	(void)context, (void)id, (void)value, (void)error;
	return FLOW_OK;
}

static flow_status
reject(flow_context *context, const flow_batch *batch, uint32_t row, flow_status status, flow_slice reason,
	   flow_error *error)
{
	(void)error;
	fixture_function *g = of_context(context);
	g->rejections = realloc(g->rejections, (g->rejection_count + 1) * sizeof(*g->rejections));
	assert_non_null(g->rejections);
	g->rejections[g->rejection_count++] = (fixture_rejection){
		.status = status,
		.ordinal = batch->ordinal == NULL ? (int64_t)row : batch->ordinal[row],
		.reason = arena_copy(g->fixture->arena, reason.data, reason.size),
		.field = "",
		.raw = "",
	};
	return FLOW_OK;
}

static struct table *
find_table(const char *name)
{
	for (struct table *t = tables; t != NULL; t = t->next)
		if (strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

static flow_status
table(flow_context *context, const char *name, const void **ops, void **instance, flow_error *error)
{
	(void)context;
	struct table *t = find_table(name);
	if (t == NULL)
		return error_set(error, FLOW_E_NOT_FOUND, "no table %s", name);
	*ops = t->ops;
	*instance = t->table;
	return FLOW_OK;
}

static flow_status
table_schema(const char *name, const flow_schema **schema, const flow_schema **key_schema, flow_error *error)
{
	struct table *t = find_table(name);
	if (t == NULL)
		return error_set(error, FLOW_E_NOT_FOUND, "no table %s", name);
	*schema = t->schema;
	*key_schema = t->key_schema;
	return FLOW_OK;
}

static const flow_tables tables_service = { .struct_size = FLOW_SIZEOF(flow_tables), .schema = table_schema };

static flow_builder *
scratch(flow_context *context)
{
	return of_context(context)->scratch;
}

static int
is_first_of_key(const fixture_function *g, const struct cell *c)
{
	for (const struct cell *before = g->cells; before != c; before = before->next)
		if (flow_slice_equal(before->key, c->key))
			return 0;
	return 1;
}

static flow_status
apply_to_all(flow_context *context, flow_status (*visit)(void *self, const flow_batch *keys, flow_error *error),
			 void *self, flow_error *error)
{
	fixture_function *g = of_context(context);
	flow_builder *builder = builder_create(g->fixture->pool, 0, 0);
	flow_builder *memory = builder_create(g->fixture->pool, 0, 0);
	assert_true(builder != NULL && memory != NULL);
	assert_int_equal(builder->ops->add_columns(builder, FLOW_COLUMN_KEY), FLOW_OK);
	for (const struct cell *c = g->cells; c != NULL; c = c->next) {
		uint64_t used;
		if (!is_first_of_key(g, c))
			continue;
		uint32_t row = flow_builder_add(builder, flow_null());
		assert_int_equal(key_decode(c->key, builder, &builder->key[row], &used), FLOW_OK);
	}
	batch_head head = { .schema = schema_of_kind(FLOW_KIND_NULL, 1), .key_schema = g->key_schema, .input = UINT32_MAX };
	flow_batch *keys = builder_finish(builder, &head);
	uint64_t *hash;
	flow_slice *bytes;
	assert_non_null(keys);
	assert_int_equal(key_columns(keys, memory, &hash, &bytes), FLOW_OK);
	assert_int_equal(batch_set_key_columns(keys, memory, hash, bytes), FLOW_OK);
	flow_status status = keys->row_count == 0 ? FLOW_OK : visit(self, keys, error);
	batch_release(keys);
	builder_destroy(builder);
	builder_destroy(memory);
	return status;
}

static void *
shared(flow_context *context)
{
	(void)context;
	return NULL;
}

static const flow_context_ops context_ops = {
	.struct_size = FLOW_SIZEOF(flow_context_ops),
	.slots = slots,
	.get_many = get_many,
	.put_many = put_many,
	.remove_many = remove_many,
	.register_timers = register_timers,
	.delete_timers = delete_timers,
	.event_time = event_time,
	.emit_watermark = emit_watermark,
	.reject = reject,
	.table = table,
	.scratch = scratch,
	.apply_to_all_partitions = apply_to_all,
	.shared = shared,
};

/* --- life --- */

static void
close_table(void *owner)
{
	struct table *t = owner;
	t->ops->close(t->table);
	tables = NULL;
}

void
fixture_function_table(fixture *f, const char *name, const char *id, const char *const *assignments,
					   const flow_schema *schema, const flow_schema *key_schema)
{
	const flow_component *component = fixture_component(f, FLOW_TABLE, id);
	const flow_options *options = fixture_options(f, component, "", assignments);
	struct table *t = zeroed(f, sizeof(*t));
	flow_table_info info = { .struct_size = FLOW_SIZEOF(flow_table_info), .name = flow_slice_of(name) };
	info.directory = flow_slice_of(arena_format(f->arena, "%s/%s", fixture_folder(f), name));
	*t = (struct table){ tables, name, component->ops, NULL, schema, key_schema };
	if (t->ops->open(&host_services, options, &info, &t->table, &f->error) != FLOW_OK ||
		t->ops->set_schema(t->table, schema, key_schema, &f->error) != FLOW_OK)
		fail_msg("%s", error_message(&f->error));
	tables = t;
	host_services_add(FLOW_SERVICE_TABLES, &tables_service);
	fixture_on_destroy(f, close_table, t);
}

static void
close_function(void *owner)
{
	fixture_function *g = owner;
	if (g->function != NULL)
		g->ops->close(g->function);
	for (uint32_t i = 0; i < g->context.output_count; i++)
		close_output(&g->outputs[i]);
	for (struct timer *t = g->timers; t != NULL; t = t->next)
		batch_release(t->batch);
	builder_destroy(g->scratch);
	free(g->rejections);
	if (g->binding != NULL)
		g->ops->unbind(g->binding);
}

static flow_status
bind(fixture_function *g, const flow_options *options, const fixture_input *input)
{
	flow_function_input one = { .struct_size = FLOW_SIZEOF(flow_function_input),
								.stream = input->key != NULL ? FLOW_STREAM_KEYED
										  : input->global    ? FLOW_STREAM_GLOBAL
															 : FLOW_STREAM_NON_KEYED,
								.schema = input->schema,
								.key_text = flow_slice_of(input->key),
								.bounded = (uint32_t)input->bounded };
	if (input->key != NULL) {
		int32_t field = flow_schema_find(input->schema, one.key_text);
		assert_true(field >= 0);
		g->key_schema = one.key_schema = input->schema->fields[field]->schema;
	}
	const flow_function_input *const inputs[] = { &one };
	g->plan.struct_size = FLOW_SIZEOF(flow_function_plan);
	return g->ops->bind(&host_services, options, inputs, 1, &g->plan, &g->binding, &g->fixture->error);
}

static void
make_context(fixture_function *g, const char *id)
{
	g->scratch = builder_create(g->fixture->pool, 0, 0);
	assert_non_null(g->scratch);
	g->context = (flow_context){ .struct_size = FLOW_SIZEOF(flow_context),
								 .ops = &context_ops,
								 .outputs = g->output_list,
								 .job = flow_slice_of("test"),
								 .operator_name = flow_slice_of(id),
								 .task_count = 1,
								 .max_parallelism = 128 };
	for (uint32_t i = 0; i < 2 && g->plan.outputs[i] != NULL; i++, g->context.output_count++)
		open_output(g, i);
}

fixture_function *
fixture_try_function_open(fixture *f, const char *id, const char *const *assignments, const fixture_input *input)
{
	const flow_component *component = fixture_component(f, FLOW_FUNCTION, id);
	const flow_options *options = fixture_try_options(f, component, "", assignments);
	if (options == NULL)
		return NULL;
	host_services_add(FLOW_SERVICE_EXPRESSIONS, &expressions_service);
	fixture_function *g = zeroed(f, sizeof(*g));
	g->fixture = f;
	g->ops = component->ops;
	g->global = input->global;
	g->event_time = INT64_MIN;
	if (bind(g, options, input) != FLOW_OK)
		return NULL;
	make_context(g, id);
	fixture_on_destroy(f, close_function, g);
	return g->ops->open(g->binding, &g->context, &g->function, &f->error) == FLOW_OK ? g : NULL;
}

/* --- transformers: their calls as those of a function --- */

struct transforming {
	const flow_transformer_ops *ops;
	void *binding;
	flow_transformer *transformer;
};

static flow_status
transform(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	struct transforming *t = (struct transforming *)function;
	(void)input;
	return t->ops->apply(t->transformer, batch, error);
}

static void
close_transforming(flow_function *function)
{
	struct transforming *t = (struct transforming *)function;
	t->ops->close(t->transformer);
}

static void
unbind_transforming(void *binding)
{
	struct transforming *t = binding;
	t->ops->unbind(t->binding);
}

static const flow_function_ops transforming_ops = { .struct_size = FLOW_SIZEOF(flow_function_ops),
													.unbind = unbind_transforming,
													.process = transform,
													.close = close_transforming };

static void
release_output(void *schema)
{
	schema_release(schema);
}

fixture_function *
fixture_try_transformer_open(fixture *f, const char *id, const char *const *assignments, const flow_schema *input)
{
	const flow_component *component = fixture_component(f, FLOW_TRANSFORMER, id);
	const flow_options *options = fixture_try_options(f, component, "", assignments);
	if (options == NULL)
		return NULL;
	struct transforming *t = zeroed(f, sizeof(*t));
	t->ops = component->ops;
	const flow_schema *output = NULL;
	if (t->ops->bind(&host_services, options, input, NULL, &output, &t->binding, &f->error) != FLOW_OK)
		return NULL;
	fixture_function *g = zeroed(f, sizeof(*g));
	g->fixture = f;
	g->ops = &transforming_ops;
	g->binding = t;
	g->plan.outputs[0] = output;
	fixture_on_destroy(f, release_output, (void *)(uintptr_t)output);
	make_context(g, id);
	flow_status status = t->ops->init(t->binding, &g->context, &t->transformer, &f->error);
	g->function = status == FLOW_OK ? (flow_function *)t : NULL;
	fixture_on_destroy(f, close_function, g);
	return status == FLOW_OK ? g : NULL;
}

fixture_function *
fixture_function_open(fixture *f, const char *id, const char *const *assignments, const fixture_input *input)
{
	fixture_function *g = fixture_try_function_open(f, id, assignments, input);
	if (g == NULL)
		fail_msg("%s", error_message(&f->error));
	return g;
}

const flow_function_plan *
fixture_function_plan(const fixture_function *g)
{
	return &g->plan;
}

/* --- feeding --- */

static void
release_batch(void *batch)
{
	batch_release(batch);
}

static flow_batch *
with_column(fixture *f, const flow_batch *batch, const char *field, int timestamps)
{
	int32_t index = flow_schema_find(batch->schema, flow_slice_of(field));
	flow_builder *memory = builder_create(f->pool, 0, 0);
	assert_true(index >= 0 && memory != NULL);
	flow_value *keys = flow_builder_alloc(memory, (batch->row_count + 1) * sizeof(*keys));
	int64_t *times = flow_builder_alloc(memory, (batch->row_count + 1) * sizeof(*times));
	assert_true(keys != NULL && times != NULL);
	for (uint32_t row = 0; row < batch->row_count; row++) {
		keys[row] = batch->value[row].as.record[index];
		times[row] = keys[row].type == FLOW_TIMESTAMP ? keys[row].as.int64 : FLOW_NO_TIMESTAMP;
	}
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns),
							 .timestamp = timestamps ? times : NULL,
							 .key = timestamps ? NULL : keys,
							 .key_schema = timestamps ? NULL : batch->schema->fields[index]->schema };
	flow_batch *made = batch_forward(f->pool, batch, &columns, memory);
	assert_non_null(made);
	if (!timestamps) {
		uint64_t *hash;
		flow_slice *bytes;
		assert_int_equal(key_columns(made, memory, &hash, &bytes), FLOW_OK);
		assert_int_equal(batch_set_key_columns(made, memory, hash, bytes), FLOW_OK);
	}
	builder_destroy(memory);
	fixture_on_destroy(f, release_batch, made);
	return made;
}

flow_batch *
fixture_keyed(fixture *f, const flow_batch *batch, const char *field)
{
	return with_column(f, batch, field, 0);
}

flow_batch *
fixture_timed(fixture *f, const flow_batch *batch, const char *field)
{
	return with_column(f, batch, field, 1);
}

/* All rows with the key true, as the runtime gives state to a global stream. */
static flow_batch *
one_key(fixture *f, const flow_batch *batch)
{
	flow_builder *memory = builder_create(f->pool, 0, 0);
	assert_non_null(memory);
	flow_value *keys = flow_builder_alloc(memory, (batch->row_count + 1) * sizeof(*keys));
	assert_non_null(keys);
	for (uint32_t row = 0; row < batch->row_count; row++)
		keys[row] = flow_bool(1);
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns),
							 .key = keys,
							 .key_schema = schema_of_kind(FLOW_KIND_BOOL, 0) };
	flow_batch *made = batch_forward(f->pool, batch, &columns, memory);
	uint64_t *hash;
	flow_slice *bytes;
	assert_non_null(made);
	assert_int_equal(key_columns(made, memory, &hash, &bytes), FLOW_OK);
	assert_int_equal(batch_set_key_columns(made, memory, hash, bytes), FLOW_OK);
	builder_destroy(memory);
	fixture_on_destroy(f, release_batch, made);
	return made;
}

flow_status
fixture_try_function_process(fixture_function *g, uint32_t input, const flow_batch *batch)
{
	if (g->global)
		batch = one_key(g->fixture, batch);
	flow_status status = g->ops->process(g->function, input, batch, &g->fixture->error);
	push_outputs(g);
	return status;
}

void
fixture_function_process(fixture_function *g, uint32_t input, const flow_batch *batch)
{
	if (fixture_try_function_process(g, input, batch) != FLOW_OK)
		fail_msg("%s", error_message(&g->fixture->error));
}

void
fixture_function_end(fixture_function *g, uint32_t input)
{
	fixture_function_event_time(g, FLOW_EVENT_TIME_END);
	fixture_function_clock(g, INT64_MAX - 1);
	if (FLOW_CAN(g->ops, end_input) && g->ops->end_input(g->function, input, &g->fixture->error) != FLOW_OK)
		fail_msg("%s", error_message(&g->fixture->error));
	push_outputs(g);
}

/* --- looking --- */

static const char *
text_of(fixture_function *g, uint32_t output, int all)
{
	struct output *o = &g->outputs[output];
	const char *text = "";
	for (size_t i = 0; i < o->batch_count; i++) {
		char *more = all ? batch_print_all(o->batches[i]) : batch_print(o->batches[i]);
		text = arena_format(g->fixture->arena, "%s%s", text, more);
		assert_non_null(text);
		free(more);
		batch_release(o->batches[i]);
	}
	o->batch_count = 0;
	return text;
}

const char *
fixture_function_text(fixture_function *g, uint32_t output)
{
	return text_of(g, output, 0);
}

const char *
fixture_function_text_all(fixture_function *g, uint32_t output)
{
	return text_of(g, output, 1);
}

size_t
fixture_function_rejections(const fixture_function *g, const fixture_rejection **rejections)
{
	*rejections = g->rejections;
	return g->rejection_count;
}

size_t
fixture_function_slots(const fixture_function *g)
{
	size_t count = 0;
	for (const struct cell *c = g->cells; c != NULL; c = c->next)
		count++;
	return count;
}

size_t
fixture_function_timers(const fixture_function *g)
{
	size_t count = 0;
	for (const struct timer *t = g->timers; t != NULL; t = t->next)
		count++;
	return count;
}
