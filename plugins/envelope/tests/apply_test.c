/* The transformer `envelope`: types, each part of what came with a record, and what there is not. */
#include <string.h>

#include "base/memory.h"
#include "base/schema.h"
#include "plugin/host_services.h"
#include "support/function_fixture.h"

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

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define PAIR "record(id:int64,name:string?)"

static fixture_function *
open_envelope(fixture *f, const char *type, const char *const *assignments)
{
	fixture_function *g = fixture_try_transformer_open(f, "envelope", assignments, fixture_schema(f, type));
	if (g == NULL)
		fail_msg("%s", error_message(&f->error));
	return g;
}

static const char *
type_of(fixture *f, fixture_function *g)
{
	char *text = arena_allocate(f->arena, 1024);
	schema_print(fixture_function_plan(g)->outputs[0], 1, text, 1024);
	return text;
}

static void
release_batch(void *batch)
{
	batch_release(batch);
}

/* The rows of `lines` as records 40, 41, ... of partition 3 of "views"; every second one has a time and headers. */
static const flow_batch *
received(fixture *f, const char *type, const char *lines)
{
	static const char blank[] = "";
	const flow_batch *parsed = fixture_batch(f, fixture_schema(f, type), lines);
	flow_builder *builder = builder_create(f->pool, 0, 0);
	assert_non_null(builder);
	assert_int_equal(builder->ops->add_columns(builder, FLOW_COLUMN_KEY | FLOW_COLUMN_TIMESTAMP | FLOW_COLUMN_HEADERS |
															FLOW_COLUMN_ORDINAL),
					 FLOW_OK);
	flow_header *items = flow_builder_alloc(builder, 2 * sizeof(*items));
	assert_non_null(items);
	items[0] = (flow_header){ flow_slice_of("trace"), flow_bytes("\x01\xff", 2) };
	items[1] = (flow_header){ flow_slice_make(blank, 0), flow_null() };
	for (FLOW_ROWS(parsed, i)) {
		int odd = i % 2 == 1;
		uint32_t row = flow_builder_add(builder, parsed->value[flow_row(parsed, i)]);
		builder->key[row] = flow_string(odd ? "b" : "a", 1);
		builder->timestamp[row] = odd ? 1500 : FLOW_NO_TIMESTAMP;
		builder->ordinal[row] = 40 + i;
		builder->headers[row] = (flow_headers){ odd ? items : NULL, odd ? 2 : 0 };
	}
	batch_head head = { .schema = parsed->schema,
						.key_schema = fixture_schema(f, "string"),
						.input = 0,
						.partition = 3,
						.place = flow_slice_of("views/3") };
	flow_batch *batch = builder_finish(builder, &head);
	assert_non_null(batch);
	builder_destroy(builder);
	fixture_on_destroy(f, release_batch, batch);
	return batch;
}

static void
given_no_options_when_bound_then_all_parts_stand_behind_the_records_own_fields(void **state)
{
	fixture *f = *state;
	fixture_function *g = open_envelope(f, PAIR, NULL);
	assert_string_equal(type_of(f, g),
						"record(id:int64,name:string?,offset:int64?,partition:int64?,timestamp:timestamp?,"
						"headers:list<record(name:string,value:bytes?)>,place:string)");
}

static void
given_records_with_all_of_it_when_applied_then_each_part_has_its_value_and_keys_stay(void **state)
{
	fixture *f = *state;
	fixture_function *g = open_envelope(f, PAIR, NULL);
	fixture_function_process(g, 0, received(f, PAIR, "{\"id\":1,\"name\":\"x\"}\n{\"id\":2,\"name\":null}\n"));
	assert_string_equal(
		fixture_function_text_all(g, 0),
		"{\"key\":\"a\",\"ordinal\":40,\"value\":{\"id\":1,\"name\":\"x\",\"offset\":40,\"partition\":3,"
		"\"timestamp\":null,\"headers\":[],\"place\":\"views/3\"}}\n"
		"{\"key\":\"b\",\"timestamp\":1500,\"ordinal\":41,\"value\":{\"id\":2,\"name\":null,\"offset\":41,"
		"\"partition\":3,"
		"\"timestamp\":\"1970-01-01T00:00:00.0015Z\",\"headers\":[{\"name\":\"trace\",\"value\":\"\\u0001\\u00ff\"},"
		"{\"name\":\"\",\"value\":null}],\"place\":\"views/3\"}}\n");
}

static void
given_records_with_nothing_when_applied_then_parts_are_null_or_empty(void **state)
{
	fixture *f = *state;
	fixture_function *g = open_envelope(f, "record(id:int64)", NULL);
	flow_batch *batch = fixture_batch(f, fixture_schema(f, "record(id:int64)"), "{\"id\":1}\n");
	batch->partition = UINT32_MAX;
	fixture_function_process(g, 0, batch);
	assert_string_equal(
		fixture_function_text(g, 0),
		"{\"id\":1,\"offset\":null,\"partition\":null,\"timestamp\":null,\"headers\":[],\"place\":\"\"}\n");
}

static void
given_chosen_parts_when_bound_then_they_come_in_one_order_and_only_they(void **state)
{
	fixture *f = *state;
	fixture_function *g = open_envelope(f, "record(id:int64)", OPTIONS("add=[\"place\", \"partition\", \"place\"]"));
	assert_string_equal(type_of(f, g), "record(id:int64,partition:int64?,place:string)");
	g = open_envelope(f, "record(id:int64)", OPTIONS("add=timestamp"));
	fixture_function_process(g, 0, received(f, "record(id:int64)", "{\"id\":1}\n{\"id\":2}\n"));
	assert_string_equal(fixture_function_text(g, 0),
						"{\"id\":1,\"timestamp\":null}\n{\"id\":2,\"timestamp\":\"1970-01-01T00:00:00.0015Z\"}\n");
}

static void
given_an_unknown_part_when_configured_then_the_choices_are_told(void **state)
{
	fixture *f = *state;
	assert_null(fixture_try_transformer_open(f, "envelope", OPTIONS("add=ofset"), fixture_schema(f, PAIR)));
	assert_non_null(strstr(error_message(&f->error),
						   "\"ofset\" is not one of \"offset\", \"partition\", \"timestamp\", "
						   "\"headers\", \"place\", did you mean offset"));
}

static void
given_a_name_that_records_have_already_when_bound_then_a_prefix_is_asked_for_and_helps(void **state)
{
	fixture *f = *state;
	const char *type = "record(place:string,source_offset:int64)";
	assert_null(fixture_try_transformer_open(f, "envelope", NULL, fixture_schema(f, type)));
	assert_string_equal(error_message(&f->error), "records have a field 'place' already; set prefix = \"...\"");
	assert_string_equal(f->error.option, "prefix");
	error_clear(&f->error);
	assert_null(fixture_try_transformer_open(f, "envelope", OPTIONS("prefix=source_"), fixture_schema(f, type)));
	assert_string_equal(error_message(&f->error), "records have a field 'source_offset' already; set prefix = \"...\"");
	fixture_function *g = open_envelope(f, type, OPTIONS("prefix=at_", "add=[\"offset\", \"place\"]"));
	assert_string_equal(type_of(f, g), "record(place:string,source_offset:int64,at_offset:int64?,at_place:string)");
}

static void
given_values_that_are_no_records_when_applied_then_each_becomes_the_field_value(void **state)
{
	fixture *f = *state;
	fixture_function *g = open_envelope(f, "string", OPTIONS("add=offset"));
	assert_string_equal(type_of(f, g), "record(value:string,offset:int64?)");
	fixture_function_process(g, 0, received(f, "string", "\"x\"\n\"\"\n"));
	assert_string_equal(fixture_function_text(g, 0),
						"{\"value\":\"x\",\"offset\":40}\n{\"value\":\"\",\"offset\":41}\n");
	g = open_envelope(f, PAIR "?", OPTIONS("add=offset"));
	assert_string_equal(type_of(f, g), "record(value:" PAIR "?,offset:int64?)");
}

static void
given_tombstones_when_applied_then_they_stay_without_value(void **state)
{
	fixture *f = *state;
	fixture_function *g = open_envelope(f, "record(id:int64)", OPTIONS("add=offset"));
	const flow_batch *batch = received(f, "record(id:int64)", "{\"id\":1}\n{\"id\":2}\n");
	((flow_value *)batch->value)[0] = flow_null();
	fixture_function_process(g, 0, batch);
	assert_string_equal(fixture_function_text_all(g, 0),
						"{\"key\":\"a\",\"ordinal\":40,\"value\":null}\n"
						"{\"key\":\"b\",\"timestamp\":1500,\"ordinal\":41,\"value\":{\"id\":2,\"offset\":41}}\n");
}

static void
given_a_selection_when_applied_then_rows_that_are_not_in_it_do_not_come_out(void **state)
{
	fixture *f = *state;
	fixture_function *g = open_envelope(f, "record(id:int64)", OPTIONS("add=offset"));
	const flow_batch *whole = received(f, "record(id:int64)", "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n");
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns),
							 .selection = (const uint32_t[]){ 1, 2 },
							 .selected_count = 2 };
	flow_batch *batch = batch_forward(f->pool, whole, &columns, NULL);
	assert_non_null(batch);
	fixture_on_destroy(f, release_batch, batch);
	fixture_function_process(g, 0, batch);
	assert_string_equal(fixture_function_text(g, 0), "{\"id\":2,\"offset\":41}\n{\"id\":3,\"offset\":42}\n");
}

static void
given_no_memory_at_any_point_when_bound_then_it_is_an_error(void **state)
{
	fixture *f = *state;
	const flow_component *component = fixture_component(f, FLOW_TRANSFORMER, "envelope");
	const flow_options *options = fixture_options(f, component, "", OPTIONS("prefix=p_"));
	const flow_schema *input = fixture_schema(f, PAIR), *output = NULL;
	const flow_transformer_ops *ops = component->ops;
	uint64_t n = 0;
	flow_status status;
	do {
		void *binding = NULL;
		output = NULL;
		memory_fail_at(++n, 0);
		status = ops->bind(&host_services, options, input, NULL, &output, &binding, &f->error);
		memory_fail_at(0, 0);
		assert_true(status <= FLOW_OK && n < 10000);
		if (status == FLOW_OK) {
			schema_release(output);
			ops->unbind(binding);
		} else {
			assert_true(error_message(&f->error)[0] != '\0');
			error_clear(&f->error);
		}
	} while (status != FLOW_OK);
	assert_true(n > 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_no_options_when_bound_then_all_parts_stand_behind_the_records_own_fields),
		TEST(given_records_with_all_of_it_when_applied_then_each_part_has_its_value_and_keys_stay),
		TEST(given_records_with_nothing_when_applied_then_parts_are_null_or_empty),
		TEST(given_chosen_parts_when_bound_then_they_come_in_one_order_and_only_they),
		TEST(given_an_unknown_part_when_configured_then_the_choices_are_told),
		TEST(given_a_name_that_records_have_already_when_bound_then_a_prefix_is_asked_for_and_helps),
		TEST(given_values_that_are_no_records_when_applied_then_each_becomes_the_field_value),
		TEST(given_tombstones_when_applied_then_they_stay_without_value),
		TEST(given_a_selection_when_applied_then_rows_that_are_not_in_it_do_not_come_out),
		TEST(given_no_memory_at_any_point_when_bound_then_it_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
