/* Outputs that keep the key of their input, for functions of every shape: what has another key is not emitted. */
#include <string.h>

#include "support/runtime_world.h"

static int
reset(void **state)
{
	(void)state;
	world_reset();
	return 0;
}

#define NOWHERE 9

/* Where the function takes the next key instead of the row's. */
static uint32_t wrong_input, wrong_output;

struct flow_function {
	flow_context *context;
};
static struct flow_function instance;

static flow_status
keep_open(void *binding, flow_context *context, flow_function **function, flow_error *error)
{
	(void)binding;
	(void)error;
	instance.context = context;
	*function = &instance;
	return FLOW_OK;
}

/* Each row to each output, with a time of its own. */
static flow_status
keep_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	for (uint32_t i = 0; i < function->context->output_count; i++) {
		flow_output *out = function->context->outputs[i];
		for (FLOW_ROWS(batch, k)) {
			uint32_t row = flow_row(batch, k);
			flow_builder *builder = out->builder(out);
			if (builder->ops->add_columns(builder, FLOW_COLUMN_KEY | FLOW_COLUMN_TIMESTAMP) != FLOW_OK ||
				builder->ops->keep(builder, batch) != FLOW_OK)
				return FLOW_E_MEMORY;
			int64_t key = flow_batch_field(batch, row, 0)->as.int64;
			uint32_t made = flow_builder_add(builder, batch->value[row]);
			builder->key[made] = flow_int64(input == wrong_input && i == wrong_output ? key + 1 : key);
			builder->timestamp[made] = 77;
		}
		flow_status status = out->push(out, error);
		if (status < 0)
			return status;
	}
	return FLOW_OK;
}

static void
keep_close(flow_function *function)
{
	(void)function;
}

static const flow_function_ops keep_ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.open = keep_open,
	.process = keep_process,
	.close = keep_close,
};
static const flow_component keep = { .struct_size = FLOW_SIZEOF(flow_component),
									 .kind = FLOW_FUNCTION,
									 .id = "keep",
									 .doc = "Keeps the key, but for one place.",
									 .ops = &keep_ops };

#define ONE 0
#define TWO_KEYED 1
#define WITH_BROADCAST 2
#define TWO_OUTPUTS 3
#define WITH_KEYED_BROADCAST 4 /* the broadcast side comes from a keyed stream */

/* One record on each input; the outcome. */
static uint32_t
run_shape(int shape, uint32_t input, uint32_t output)
{
	wrong_input = input;
	wrong_output = output;
	world_reset();
	world_input("in", 1, 0);
	world_input("other", 1, 0);
	world_add("in", 0, "1,2,3\n");
	if (shape != ONE && shape != TWO_OUTPUTS)
		world_add("other", 0, "5,6,7\n");
	maker *m = maker_create();
	uint32_t key = maker_key_by(m, maker_source(m, "in", 1));
	uint32_t other = maker_source(m, "other", 1);
	int two = shape == TWO_KEYED || shape == WITH_BROADCAST || shape == WITH_KEYED_BROADCAST;
	uint32_t other_key = shape == TWO_KEYED || shape == WITH_KEYED_BROADCAST ? maker_key_by(m, other) : other;
	uint32_t f = maker_function(m, key, &keep, "keep", EDGE_KEY, 1);
	maker_operator(m, f)->key_schema[0] = maker_operator(m, f)->key_schema[1] = maker_operator(m, key)->key_schema[0];
	maker_operator(m, f)->stream_kind[0] = maker_operator(m, f)->stream_kind[1] = FLOW_STREAM_KEYED;
	maker_sink(m, f, "out", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_FORWARD, 1);
	if (two)
		maker_connect(m, other_key, f, 1, shape == TWO_KEYED ? EDGE_KEY : EDGE_BROADCAST);
	else if (shape == TWO_OUTPUTS)
		maker_connect_second(m, f, maker_sink(m, other, "second", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_GLOBAL, 1));
	else
		maker_sink(m, other, "second", FLOW_DELIVERY_AT_LEAST_ONCE, EDGE_GLOBAL, 1);
	uint32_t outcome = world_run(m, &(world_run_request){ .deterministic = 1 });
	maker_destroy(m);
	return outcome;
}

static void
given_functions_of_each_shape_when_an_output_has_another_key_then_it_is_not_emitted_and_the_output_is_named(void **state)
{
	static const struct {
		int shape;
		uint32_t input, output;
		const char *written; /* by "out", at most */
	} cases[] = {
		{ ONE, 0, 0, "" },
		{ TWO_KEYED, 0, 0, "5,6,7\n" },
		{ TWO_KEYED, 1, 0, "1,2,3\n" },
		{ WITH_BROADCAST, 0, 0, "" },
		{ TWO_OUTPUTS, 0, 0, "" },
		{ TWO_OUTPUTS, 0, 1, "1,2,3\n" },
	};
	(void)state;
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		char text[128];
		assert_int_equal(run_shape(cases[i].shape, cases[i].input, cases[i].output), RUN_FAILED);
		snprintf(text, sizeof(text), "output %u keeps the key of its input, but ", cases[i].output);
		if (strstr(world_error(), text) == NULL)
			fail_msg("case %zu: %s", i, world_error());
		if (world_output("out")[0] != '\0')
			assert_string_equal(world_output("out"), cases[i].written);
		assert_string_equal(world_output("second"), "");
	}
}

/* The broadcast side belongs to no key: what it has for one goes out by apply_to_all_partitions. */
static void
given_a_broadcast_side_when_it_emits_rows_with_keys_then_it_is_refused(void **state)
{
	(void)state;
	static const int shapes[] = { WITH_BROADCAST, WITH_KEYED_BROADCAST };
	for (size_t i = 0; i < FLOW_COUNT(shapes); i++) {
		assert_int_equal(run_shape(shapes[i], NOWHERE, NOWHERE), RUN_FAILED);
		assert_non_null(strstr(world_error(), "output 0 keeps the key of its input, but there is no keyed input row now"));
	}
}

static void
given_functions_that_keep_the_key_when_run_then_their_rows_pass(void **state)
{
	(void)state;
	assert_int_equal(run_shape(ONE, NOWHERE, NOWHERE), RUN_FINISHED);
	assert_string_equal(world_output("out"), "1,2,3\n");
	assert_int_equal(run_shape(TWO_KEYED, NOWHERE, NOWHERE), RUN_FINISHED);
	assert_string_equal(world_output("out"), "1,2,3\n5,6,7\n");
	assert_int_equal(run_shape(TWO_OUTPUTS, NOWHERE, NOWHERE), RUN_FINISHED);
	assert_string_equal(world_output("out"), "1,2,3\n");
	assert_string_equal(world_output("second"), "1,2,3\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			given_functions_of_each_shape_when_an_output_has_another_key_then_it_is_not_emitted_and_the_output_is_named,
			reset),
		cmocka_unit_test_setup(given_a_broadcast_side_when_it_emits_rows_with_keys_then_it_is_refused, reset),
		cmocka_unit_test_setup(given_functions_that_keep_the_key_when_run_then_their_rows_pass, reset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
