/* write_table and join_table over the table `memory`. */
#include <string.h>

#include "base/schema.h"
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
#define CARRIER "record(carrier:string,name:string)"
#define FLIGHT "record(flight:int64,carrier:string?)"

static void
make_table(fixture *f)
{
	fixture_function_table(f, "carriers", "memory", NULL, fixture_schema(f, CARRIER), fixture_schema(f, "string"));
}

/* The carriers UA and AA in the table. */
static fixture_function *
fill_table(fixture *f)
{
	make_table(f);
	fixture_input input = { .schema = fixture_schema(f, CARRIER), .key = "carrier", .bounded = 1 };
	fixture_function *writer = fixture_function_open(f, "write_table", OPTIONS("write_table=carriers"), &input);
	fixture_function_process(writer, 0,
							 fixture_keyed(f,
										   fixture_batch(f, input.schema,
														 "{\"carrier\":\"UA\",\"name\":\"United\"}\n"
														 "{\"carrier\":\"AA\",\"name\":\"American\"}\n"),
										   "carrier"));
	return writer;
}

#define FLIGHTS                                                                                                        \
	"{\"flight\":1,\"carrier\":\"UA\"}\n{\"flight\":2,\"carrier\":\"ZZ\"}\n{\"flight\":3,\"carrier\":null}\n"

static void
records_pass_on_after_they_were_written(void **state)
{
	fixture *f = *state;
	fixture_function *writer = fill_table(f);
	const flow_function_plan *plan = fixture_function_plan(writer);
	assert_string_equal(plan->writes_tables[0], "carriers");
	assert_int_equal(plan->keeps_key, 1);
	assert_string_equal(fixture_function_text(writer, 0), "{\"carrier\":\"UA\",\"name\":\"United\"}\n"
														  "{\"carrier\":\"AA\",\"name\":\"American\"}\n");
}

static void
inner_join_leaves_out_what_has_no_row(void **state)
{
	fixture *f = *state;
	fill_table(f);
	fixture_input input = { .schema = fixture_schema(f, FLIGHT), .bounded = 1 };
	fixture_function *join =
		fixture_function_open(f, "join_table", OPTIONS("join_table=carriers", "on=carrier"), &input);
	char text[128];
	const flow_function_plan *plan = fixture_function_plan(join);
	schemas_service.print(plan->outputs[0], 1, text, sizeof(text));
	assert_string_equal(text, "record(flight:int64,carrier:string?,name:string)");
	assert_true(plan->reads[0][0] == 0 && plan->reads[0][1] == 1);
	assert_true(plan->passes[0] == 0 && plan->passes[1] == 1 && plan->passes[2] == -1);
	fixture_function_process(join, 0, fixture_batch(f, input.schema, FLIGHTS));
	assert_string_equal(fixture_function_text(join, 0), "{\"flight\":1,\"carrier\":\"UA\",\"name\":\"United\"}\n");
}

static void
left_join_passes_them_with_nulls(void **state)
{
	fixture *f = *state;
	fill_table(f);
	fixture_input input = { .schema = fixture_schema(f, FLIGHT), .bounded = 1 };
	fixture_function *join = fixture_function_open(
		f, "join_table", OPTIONS("join_table=carriers", "on=upper(carrier)", "type=left", "fields=name"), &input);
	char text[128];
	schemas_service.print(fixture_function_plan(join)->outputs[0], 1, text, sizeof(text));
	assert_string_equal(text, "record(flight:int64,carrier:string?,name:string?)");
	fixture_function_process(join, 0,
							 fixture_batch(f, input.schema, "{\"flight\":1,\"carrier\":\"aa\"}\nnull\n" FLIGHTS));
	assert_string_equal(
		fixture_function_text(join, 0),
		"{\"flight\":1,\"carrier\":\"aa\",\"name\":\"American\"}\nnull\n"
		"{\"flight\":1,\"carrier\":\"UA\",\"name\":\"United\"}\n"
		"{\"flight\":2,\"carrier\":\"ZZ\",\"name\":null}\n{\"flight\":3,\"carrier\":null,\"name\":null}\n");
}

static void
keyed_stream_looks_up_by_its_key(void **state)
{
	fixture *f = *state;
	fill_table(f);
	fixture_input input = { .schema = fixture_schema(f, FLIGHT), .key = "carrier", .bounded = 1 };
	fixture_function *join = fixture_function_open(f, "join_table", OPTIONS("join_table=carriers"), &input);
	const flow_batch *batch =
		fixture_batch(f, input.schema, "{\"flight\":1,\"carrier\":\"UA\"}\n{\"flight\":2,\"carrier\":\"ZZ\"}\n");
	fixture_function_process(join, 0, fixture_keyed(f, batch, "carrier"));
	assert_string_equal(fixture_function_text_all(join, 0),
						"{\"key\":\"UA\",\"value\":{\"flight\":1,\"carrier\":\"UA\",\"name\":\"United\"}}\n");
}

static void
record_without_value_deletes_its_row(void **state)
{
	fixture *f = *state;
	fixture_function *writer = fill_table(f);
	const flow_schema *schema = fixture_schema(f, CARRIER);
	const flow_batch *keyed =
		fixture_keyed(f, fixture_batch(f, schema, "{\"carrier\":\"UA\",\"name\":\"x\"}\n"), "carrier");
	flow_value nothing = flow_null();
	flow_batch tombstone = *keyed;
	tombstone.value = &nothing;
	fixture_function_text(writer, 0);
	fixture_function_process(writer, 0, &tombstone);
	assert_string_equal(fixture_function_text(writer, 0), "null\n");
	fixture_input input = { .schema = fixture_schema(f, FLIGHT), .bounded = 1 };
	fixture_function *join =
		fixture_function_open(f, "join_table", OPTIONS("join_table=carriers", "on=carrier"), &input);
	fixture_function_process(join, 0, fixture_batch(f, input.schema, FLIGHTS));
	assert_string_equal(fixture_function_text(join, 0), "");
}

static void
row_whose_lookup_key_fails_is_rejected_alone(void **state)
{
	fixture *f = *state;
	fixture_function_table(f, "numbers", "memory", NULL, fixture_schema(f, "record(n:int64,word:string)"),
						   fixture_schema(f, "int64"));
	fixture_input input = { .schema = fixture_schema(f, FLIGHT), .bounded = 1 };
	fixture_function *join = fixture_function_open(
		f, "join_table", OPTIONS("join_table=numbers", "on=cast(carrier as int32)", "type=left"), &input);
	const fixture_rejection *rejections;
	fixture_function_process(
		join, 0,
		fixture_batch(f, input.schema, "{\"flight\":1,\"carrier\":\"x\"}\n{\"flight\":2,\"carrier\":\"7\"}\n"));
	assert_string_equal(fixture_function_text(join, 0), "{\"flight\":2,\"carrier\":\"7\",\"n\":null,\"word\":null}\n");
	assert_int_equal(fixture_function_rejections(join, &rejections), 1);
	assert_int_equal(rejections[0].ordinal, 0);
}

static void
assert_refused(fixture *f, const char *id, const char *const *options, const char *key, const char *part)
{
	fixture_input input = { .schema = fixture_schema(f, FLIGHT), .key = key, .bounded = 1 };
	assert_null(fixture_try_function_open(f, id, options, &input));
	if (strstr(error_message(&f->error), part) == NULL)
		fail_msg("%s", error_message(&f->error));
}

static void
joins_and_writes_that_cannot_work_are_refused_when_planning(void **state)
{
	fixture *f = *state;
	make_table(f);
	assert_refused(f, "write_table", OPTIONS("write_table=carriers"), NULL, "write_table needs a keyed stream");
	assert_refused(f, "join_table", OPTIONS("join_table=carriers"), NULL,
				   "set on = \"expression\" or put key_by in front");
	assert_refused(f, "join_table", OPTIONS("join_table=planes", "on=carrier"), NULL, "planes");
	assert_refused(f, "join_table", OPTIONS("join_table=carriers", "on=carrier", "fields=city"), NULL,
				   "the rows of table carriers have no field city");
	assert_refused(f, "join_table", OPTIONS("join_table=carriers", "on=carrier", "fields=carrier"), NULL,
				   "both have a field carrier; rename one of them");
	assert_refused(f, "join_table", OPTIONS("join_table=carriers", "on=flight"), NULL,
				   "the key to look up is int64, but the keys of table carriers are string: they never match");
	assert_refused(f, "join_table", OPTIONS("join_table=carriers"), "flight", "they never match");
	assert_refused(f, "join_table", OPTIONS("join_table=carriers", "on=carrier", "type=outer"), NULL, "type");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_pass_on_after_they_were_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(inner_join_leaves_out_what_has_no_row, set_up, tear_down),
		cmocka_unit_test_setup_teardown(left_join_passes_them_with_nulls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keyed_stream_looks_up_by_its_key, set_up, tear_down),
		cmocka_unit_test_setup_teardown(record_without_value_deletes_its_row, set_up, tear_down),
		cmocka_unit_test_setup_teardown(row_whose_lookup_key_fails_is_rejected_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(joins_and_writes_that_cannot_work_are_refused_when_planning, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
