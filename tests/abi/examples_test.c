/* The SDK's examples do what their first lines say. */
#include <string.h>

#include "plugin/host_services.h"
#include "support/batch_text.h"
#include "support/function_fixture.h"
#include "support/plugin_fixture.h"

#define EXAMPLES BUILD_FOLDER "/tests/abi/examples/"

static int
set_up(void **state)
{
	static const char *const files[] = { EXAMPLES "pipe.so", EXAMPLES "running_total.so", EXAMPLES "counter.so" };
	fixture *f = fixture_create();
	for (size_t i = 0; i < FLOW_COUNT(files); i++) {
		const plugin_entry *entry;
		if (registry_load_file(f->registry, files[i], &entry, &f->error) != FLOW_OK)
			fail_msg("%s", error_message(&f->error));
	}
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	fixture_destroy(*state);
	return 0;
}

static void
given_lines_when_decoded_in_any_windows_then_records_are_equal(void **state)
{
	static const char lines[] = "1|Ann\n2|\n3\n4|too|many\n||\n5|Eve";
	fixture *f = *state;
	fixture_serde pipe;
	fixture_serde_open(f, "pipe", (const char *const[]){ "fields=[\"id\",\"name\"]", NULL }, &pipe);
	for (uint64_t step = 1; step <= sizeof(lines); step++) {
		fixture_rows *rows = fixture_decode(&pipe, lines, sizeof(lines) - 1, step);
		assert_string_equal(
			fixture_rows_text(rows),
			"{\"id\":\"1\",\"name\":\"Ann\"}\n{\"id\":\"2\",\"name\":\"\"}\n{\"id\":\"5\",\"name\":\"Eve\"}\n");
		assert_int_equal(rows->rejection_count, 3);
		assert_string_equal(rows->rejections[0].raw, "3");
		assert_int_equal(rows->rejections[1].ordinal, 11);
		assert_string_equal(rows->rejections[2].reason, "the line has another number of fields");
	}
}

static void
given_no_fields_when_opened_then_the_missing_option_is_named(void **state)
{
	fixture *f = *state;
	fixture_serde pipe;
	assert_int_equal(fixture_try_serde_open(f, "pipe", NULL, &pipe), FLOW_E_CONFIG);
	assert_non_null(strstr(error_message(&f->error), "fields"));
	assert_int_equal(fixture_try_serde_open(f, "pipe", (const char *const[]){ "feilds=[\"a\"]", NULL }, &pipe),
					 FLOW_E_CONFIG);
}

static void
given_keyed_records_when_totalled_then_each_key_has_its_own_sum(void **state)
{
	fixture *f = *state;
	const flow_schema *schema = fixture_schema(f, "record(account:string,amount:int64?)");
	fixture_input input = { .schema = schema, .key = "account" };
	fixture_function *totals =
		fixture_function_open(f, "running_total", (const char *const[]){ "field=amount", NULL }, &input);
	const flow_batch *first = fixture_batch(f, schema,
											"{\"account\":\"a\",\"amount\":5}\n{\"account\":\"b\",\"amount\":1}\n"
											"{\"account\":\"a\",\"amount\":null}\n{\"account\":\"a\",\"amount\":-2}\n");
	fixture_function_process(totals, 0, fixture_keyed(f, first, "account"));
	assert_string_equal(fixture_function_text(totals, 0), "{\"account\":\"a\",\"amount\":5,\"total\":5}\n"
														  "{\"account\":\"b\",\"amount\":1,\"total\":1}\n"
														  "{\"account\":\"a\",\"amount\":null,\"total\":5}\n"
														  "{\"account\":\"a\",\"amount\":-2,\"total\":3}\n");
	const flow_batch *second = fixture_batch(f, schema,
											 "{\"account\":\"b\",\"amount\":9223372036854775807}\n"
											 "{\"account\":\"b\",\"amount\":-4}\n");
	fixture_function_process(totals, 0, fixture_keyed(f, second, "account"));
	assert_string_equal(fixture_function_text(totals, 0), "{\"account\":\"b\",\"amount\":-4,\"total\":-3}\n");
	const fixture_rejection *rejections;
	assert_int_equal(fixture_function_rejections(totals, &rejections), 1);
	assert_int_equal(rejections[0].status, FLOW_E_RANGE);
	assert_int_equal(fixture_function_slots(totals), 2);
}

static void
given_a_text_field_when_bound_then_the_total_is_refused(void **state)
{
	fixture *f = *state;
	fixture_input input = { .schema = fixture_schema(f, "record(account:string,amount:float64)"), .key = "account" };
	assert_null(fixture_try_function_open(f, "running_total", (const char *const[]){ "field=amount", NULL }, &input));
	assert_non_null(strstr(error_message(&f->error), "amount must be an integer"));
	assert_null(fixture_try_function_open(f, "running_total", (const char *const[]){ "field=sum", NULL }, &input));
	assert_non_null(strstr(error_message(&f->error), "no field sum"));
}

struct counter {
	const flow_system_ops *ops;
	flow_system *system;
	flow_source *source;
};

static struct counter
open_counter(fixture *f, const char *count, flow_slice position)
{
	struct counter c = { .ops = fixture_component(f, FLOW_SYSTEM, "counter")->ops };
	const flow_component *component = fixture_component(f, FLOW_SYSTEM, "counter");
	flow_stream_request request = { .struct_size = FLOW_SIZEOF(flow_stream_request),
									.direction = FLOW_DIRECTION_INPUT };
	flow_source_info info = { .struct_size = FLOW_SIZEOF(flow_source_info), .task_count = 1 };
	request.options = fixture_options(f, component, "input", (const char *const[]){ count, NULL });
	assert_int_equal(c.ops->open(&host_services, NULL, &c.system, &f->error), FLOW_OK);
	assert_int_equal(c.ops->source_open(c.system, &request, &info, &c.source, &f->error), FLOW_OK);
	assert_int_equal(c.ops->source_assign(c.source, 0, position, &f->error), FLOW_OK);
	return c;
}

static void
close_counter(struct counter *c)
{
	c->ops->source_close(c->source);
	c->ops->close(c->system);
}

static void
given_a_count_when_read_then_it_goes_on_from_a_position_and_ends(void **state)
{
	fixture *f = *state;
	char position[FLOW_POSITION_MAX];
	uint64_t size;
	flow_builder *builder = builder_create(f->pool, 4, 0);
	struct counter c = open_counter(f, "count=10", flow_slice_make(NULL, 0));
	assert_int_equal(c.ops->source_read(c.source, builder, &f->error), FLOW_OK);
	assert_int_equal(builder->row_count, 4);
	assert_int_equal(builder->ordinal[3], 3);
	assert_int_equal(c.ops->source_position(c.source, 0, 1, position, sizeof(position), &size, &f->error), FLOW_OK);
	close_counter(&c);
	builder_clear(builder);
	c = open_counter(f, "count=10", flow_slice_make(position, size)); /* behind record 1 */
	for (int64_t next = 2; next < 10; next += 4) {
		assert_int_equal(c.ops->source_read(c.source, builder, &f->error), FLOW_OK);
		assert_int_equal(builder->value[0].as.record[0].as.int64, next);
		builder_clear(builder);
	}
	assert_int_equal(c.ops->source_read(c.source, builder, &f->error), FLOW_END);
	close_counter(&c);
	builder_destroy(builder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_lines_when_decoded_in_any_windows_then_records_are_equal),
		TEST(given_no_fields_when_opened_then_the_missing_option_is_named),
		TEST(given_keyed_records_when_totalled_then_each_key_has_its_own_sum),
		TEST(given_a_text_field_when_bound_then_the_total_is_refused),
		TEST(given_a_count_when_read_then_it_goes_on_from_a_position_and_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
