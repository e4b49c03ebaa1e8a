/* The checking proxy: sound plugins pass, each breach is named. */
#include <pthread.h>
#include <string.h>

#include "support/runtime_world.h"

#include "runtime/run.h"

static int
reset(void **state)
{
	(void)state;
	world_reset();
	return 0;
}

static const world_run_request checked_run = { .check_plugins = 1, .deterministic = 1 };

/* --- a function with faults ------------------------------------------------------------------------------------------ */

static int fault;
#define WRONG_TYPE 1
#define SILENT_FAILURE 2
#define OTHER_THREAD 3
#define STRANGE_SELECTION 4
#define STRANGE_STATUS 5
#define KEPT_POINTER 6
#define SCRATCH_COLUMN 7
#define SCRATCH_VALUE 8
#define SCRATCH_ROW 9
#define MISSING_CALL 10
#define BORROWED_ROW 11
#define KEPT_ROW 12

struct flow_function {
	flow_context *context;
	const int64_t *kept;
};

static int64_t seen;
static struct flow_function instance;

static flow_status
bad_open(void *binding, flow_context *context, flow_function **function, flow_error *error)
{
	(void)binding;
	(void)error;
	instance = (struct flow_function){ .context = context };
	*function = &instance;
	return FLOW_OK;
}

static void
bad_close(flow_function *function)
{
	(void)function;
}

static void *
push_elsewhere(void *output)
{
	((flow_output *)output)->push(output, NULL);
	return NULL;
}

/* Rows over memory of the call alone: a column of values in it; values that point into it; new rows that do. */
static flow_status
hand_on_scratch(flow_function *function, const flow_batch *batch, flow_error *error)
{
	flow_output *out = function->context->outputs[0];
	flow_builder *scratch = function->context->ops->scratch(function->context);
	flow_builder *columns = fault == SCRATCH_VALUE ? out->memory(out) : scratch;
	flow_value *cells = flow_builder_cells(scratch, 3);
	flow_value *values = flow_builder_cells(columns, batch->row_count);
	memcpy(cells, batch->value[flow_row(batch, 0)].as.record, 3 * sizeof(*cells));
	for (FLOW_ROWS(batch, i))
		values[flow_row(batch, i)] = fault == SCRATCH_VALUE ? flow_record(cells, 3) : batch->value[flow_row(batch, i)];
	if (fault == SCRATCH_ROW) {
		flow_builder_add(out->builder(out), flow_record(cells, 3));
		return FLOW_OK;
	}
	flow_columns changed = { .struct_size = FLOW_SIZEOF(flow_columns), .value = values };
	return out->forward(out, batch, &changed, error);
}

/* How many calls of the context are not there. */
static int
missing_calls(const flow_context_ops *ops)
{
	void *const *calls = (void *const *)&ops->slots;
	size_t count = (FLOW_SIZEOF(flow_context_ops) - offsetof(flow_context_ops, slots)) / sizeof(*calls);
	int missing = ops->struct_size != FLOW_SIZEOF(flow_context_ops);
	for (size_t i = 0; i < count; i++)
		missing += calls[i] == NULL;
	return missing;
}

static flow_status
bad_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	flow_output *out = function->context->outputs[0];
	if (function->kept != NULL)
		seen = *function->kept;
	if (fault == KEPT_POINTER)
		function->kept = &flow_batch_field(batch, flow_row(batch, 0), 0)->as.int64;
	if (fault == WRONG_TYPE)
		flow_builder_add(out->builder(out), flow_string("x", 1));
	if (fault == SILENT_FAILURE)
		return FLOW_E_IO;
	if (fault == SCRATCH_COLUMN || fault == SCRATCH_VALUE || fault == SCRATCH_ROW)
		return hand_on_scratch(function, batch, error);
	if (fault == KEPT_ROW && out->builder(out)->ops->keep(out->builder(out), batch) != FLOW_OK)
		return FLOW_E_MEMORY;
	if (fault == BORROWED_ROW || fault == KEPT_ROW)
		flow_builder_add(out->builder(out), batch->value[flow_row(batch, 0)]);
	if (fault == MISSING_CALL)
		seen = missing_calls(function->context->ops);
	if (fault == STRANGE_STATUS)
		return FLOW_CHANGED;
	if (fault == OTHER_THREAD) {
		pthread_t thread;
		pthread_create(&thread, NULL, push_elsewhere, out);
		pthread_join(thread, NULL);
	}
	if (fault == STRANGE_SELECTION) {
		uint32_t *selection = flow_builder_alloc(out->memory(out), 4);
		*selection = batch->row_count;
		return out->forward(
			out, batch,
			&(flow_columns){ .struct_size = FLOW_SIZEOF(flow_columns), .selection = selection, .selected_count = 1 },
			error);
	}
	return FLOW_OK;
}

static const flow_function_ops bad_ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.open = bad_open,
	.process = bad_process,
	.close = bad_close,
};
static const flow_component bad = { .struct_size = FLOW_SIZEOF(flow_component),
									.kind = FLOW_FUNCTION,
									.id = "bad",
									.doc = "Breaks a rule.",
									.ops = &bad_ops };

static uint32_t kind_of_bad = OPERATOR_FUNCTION;

static uint32_t
run_with(int which)
{
	fault = which;
	world_reset();
	world_input("in", 1, 0);
	world_fill("in", 20, 7);
	maker *m = maker_create();
	maker_option(m, "batch_rows", 5);
	uint32_t in = maker_source(m, "in", 1);
	uint32_t f = maker_function(m, in, &bad, "bad", EDGE_FORWARD, 1);
	maker_operator(m, f)->kind = kind_of_bad;
	maker_sink(m, f, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_FORWARD, 1);
	uint32_t outcome = world_run(m, &checked_run);
	maker_destroy(m);
	return outcome;
}

static void
given_a_function_that_breaks_a_rule_when_it_is_checked_then_the_run_fails_and_names_it(void **state)
{
	(void)state;
	static const struct {
		int fault;
		const char *text;
	} cases[] = {
		{ WRONG_TYPE, "function bad breaks its contract: push, row 0: a value has another type than its schema" },
		{ SILENT_FAILURE, "process fails (FLOW_E_IO) without saying why" },
		{ STRANGE_STATUS, "process returns 3, which it may not" },
		{ OTHER_THREAD, "push is called from outside of the host's calls, or from another thread" },
		{ STRANGE_SELECTION, "forward selects row 5, which the parent does not" },
		{ SCRATCH_COLUMN, "forward: the column of values lies in scratch memory, which is dropped after the call" },
		{ SCRATCH_VALUE, "forward, row 0: its value lies in scratch memory, which is dropped after the call" },
		{ SCRATCH_ROW, "push, row 0: its value lies in scratch memory, which is dropped after the call" },
		{ BORROWED_ROW, "push, row 0: its value lies in the input's batch, which the builder was not told to keep" },
	};
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		assert_int_equal(run_with(cases[i].fault), RUN_FAILED);
		if (strstr(world_error(), cases[i].text) == NULL)
			print_error("%s\n", world_error());
		assert_non_null(strstr(world_error(), cases[i].text));
	}
}

static void
given_a_function_that_keeps_a_pointer_when_it_is_checked_then_it_reads_garbage(void **state)
{
	(void)state;
#if defined(__SANITIZE_ADDRESS__)
	skip(); /* the sanitizer ends the process where this reads */
#endif
	run_with(KEPT_POINTER);
	assert_int_equal((uint64_t)seen, 0xDBDBDBDBDBDBDBDBu);
}

static void
given_a_transformer_that_breaks_a_rule_when_it_is_checked_then_it_is_watched_like_a_function(void **state)
{
	(void)state;
	kind_of_bad = OPERATOR_TRANSFORMER;
	uint32_t outcome = run_with(STRANGE_STATUS);
	kind_of_bad = OPERATOR_FUNCTION;
	assert_int_equal(outcome, RUN_FAILED);
	assert_non_null(strstr(world_error(), "transformer bad breaks its contract: process returns 3, which it may not"));
}

static void
given_rows_over_an_input_that_is_kept_when_it_is_checked_then_they_pass(void **state)
{
	(void)state;
	assert_int_equal(run_with(KEPT_ROW), RUN_FINISHED);
	assert_int_equal(world_output_lines("out"), 4); /* of each batch the first */
}

static void
given_a_function_when_it_is_checked_then_every_call_of_its_context_is_there(void **state)
{
	(void)state;
	seen = -1;
	assert_int_equal(run_with(MISSING_CALL), RUN_FINISHED);
	assert_int_equal(seen, 0);
}

static void
given_sound_plugins_when_they_are_checked_then_the_output_is_as_ever(void **state)
{
	(void)state;
	static const uint32_t pieces[] = { 0, 13 };
	for (size_t i = 0; i < FLOW_COUNT(pieces); i++) {
		world_reset();
		world_input("in", 2, pieces[i]);
		world_fill("in", 2000, 7);
		maker *m = maker_create();
		maker_option(m, "checkpoint_interval", 2000);
		uint32_t in = maker_source(m, "in", 2);
		maker_stream(m, in)->byte_stream = pieces[i] != 0;
		uint32_t time = maker_event_time(m, in, 5000);
		uint32_t pass = maker_function(m, time, &world_pass, "pass", EDGE_FORWARD, 2);
		uint32_t count = maker_function(m, maker_key_by(m, pass), &world_count, "count", EDGE_KEY, 2);
		maker_sink(m, count, "out", FLOW_DELIVERY_ONE_PHASE, EDGE_GLOBAL, 1);
		uint32_t window = maker_function(m, maker_key_by(m, pass), &world_window, "window", EDGE_KEY, 2);
		maker_sink(m, window, "sums", FLOW_DELIVERY_RESUMABLE, EDGE_GLOBAL, 1);
		if (world_run(m, &checked_run) != RUN_FINISHED)
			print_error("%s\n", world_error());
		assert_string_equal(world_output("out"), "0,286,0\n1,286,0\n2,286,0\n3,286,0\n4,286,0\n5,285,0\n6,285,0\n");
		assert_int_equal(world_output_lines("sums"), 140);
		maker_destroy(m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(given_a_function_that_breaks_a_rule_when_it_is_checked_then_the_run_fails_and_names_it,
							   reset),
		cmocka_unit_test_setup(given_a_function_that_keeps_a_pointer_when_it_is_checked_then_it_reads_garbage, reset),
		cmocka_unit_test_setup(
			given_a_transformer_that_breaks_a_rule_when_it_is_checked_then_it_is_watched_like_a_function, reset),
		cmocka_unit_test_setup(given_rows_over_an_input_that_is_kept_when_it_is_checked_then_they_pass, reset),
		cmocka_unit_test_setup(given_a_function_when_it_is_checked_then_every_call_of_its_context_is_there, reset),
		cmocka_unit_test_setup(given_sound_plugins_when_they_are_checked_then_the_output_is_as_ever, reset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
