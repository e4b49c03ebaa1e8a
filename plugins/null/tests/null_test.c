/* The system `null` takes everything: any type, any selection. */
#include "support/system_fixture.h"

static int
set_up(void **state)
{
	*state = fixture_create();
	return 0;
}

static int
tear_down(void **state)
{
	fixture_destroy(*state);
	return 0;
}

static void
records_of_any_type_are_taken_without_a_serde(void **state)
{
	fixture *f = *state;
	fixture_system system;
	fixture_system_open(f, "null", NULL, &system);
	fixture_stream out = fixture_output(&system, "out", NULL);
	flow_stream_description description = fixture_describe(&out);
	assert_int_equal(description.schema->kind, FLOW_KIND_ANY);
	assert_int_equal(description.delivery, FLOW_DELIVERY_IDEMPOTENT);
	assert_int_equal(description.max_writers, 0);
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	const flow_batch *batch = fixture_batch(f, fixture_schema(f, "record(a:int64)"), "{\"a\":1}\nnull\n{\"a\":3}\n");
	uint32_t accepted = 0;
	assert_int_equal(fixture_try_write(writer, batch, &accepted), FLOW_OK);
	assert_int_equal(accepted, 3);
	assert_int_equal(system.ops->write(writer->writer, batch, 2, &accepted, NULL, &f->error), FLOW_OK);
	assert_int_equal(accepted, 1);
	assert_int_equal(system.ops->flush(writer->writer, &f->error), FLOW_OK);
}

static void
there_are_no_inputs(void **state)
{
	fixture *f = *state;
	const flow_component *component = fixture_component(f, FLOW_SYSTEM, "null");
	assert_int_equal(component->flags & FLOW_SYSTEM_HAS_INPUTS, 0);
	assert_false(FLOW_CAN((const flow_system_ops *)component->ops, source_open));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_of_any_type_are_taken_without_a_serde, set_up, tear_down),
		cmocka_unit_test_setup_teardown(there_are_no_inputs, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
