/* where, project, select, set, rename, cast: rows, types, what is refused when planning and what is rejected when running. */
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
#define TYPE "record(id:int64,name:string?,price:decimal(8,2))"
#define LINES                                                                                                          \
	"{\"id\":1,\"name\":\"a\",\"price\":\"1.50\"}\n{\"id\":2,\"name\":null,\"price\":\"20.00\"}\n"                     \
	"{\"id\":3,\"name\":\"c\",\"price\":\"3.25\"}\n"

static fixture_function *
open_on(fixture *f, const char *id, const char *const *options, const char *type)
{
	fixture_input input = { .schema = fixture_schema(f, type), .bounded = 1 };
	return fixture_function_open(f, id, options, &input);
}

static const char *
run(fixture *f, const char *id, const char *const *options, const char *type, const char *lines)
{
	fixture_function *g = open_on(f, id, options, type);
	fixture_function_process(g, 0, fixture_batch(f, fixture_schema(f, type), lines));
	return fixture_function_text(g, 0);
}

static const char *
output_type(fixture *f, const char *id, const char *const *options, const char *type)
{
	static char text[256];
	const fixture_function *g = open_on(f, id, options, type);
	schemas_service.print(fixture_function_plan(g)->outputs[0], 1, text, sizeof(text));
	return text;
}

/* Planning fails, and says this. */
static void
assert_refused(fixture *f, const char *id, const char *const *options, const char *type, const char *part)
{
	fixture_input input = { .schema = fixture_schema(f, type), .bounded = 1 };
	assert_null(fixture_try_function_open(f, id, options, &input));
	if (strstr(error_message(&f->error), part) == NULL)
		fail_msg("%s", error_message(&f->error));
}

static void
where_keeps_true_and_drops_false_and_null(void **state)
{
	fixture *f = *state;
	assert_string_equal(run(f, "where", OPTIONS("where=name <> 'a'"), TYPE, LINES),
						"{\"id\":3,\"name\":\"c\",\"price\":3.25}\n");
	assert_string_equal(run(f, "where", OPTIONS("where=id > 5"), TYPE, LINES), "");
	assert_string_equal(run(f, "where", OPTIONS("where=\"true\""), "record(a:int64)", "{\"a\":1}\n"), "{\"a\":1}\n");
	assert_string_equal(run(f, "where", OPTIONS("where=id is null"), TYPE, "null\n"), "null\n");
	assert_string_equal(run(f, "where", OPTIONS("where=id = 1"), TYPE, "null\n"), "");
}

static void
where_passes_the_batch_itself_when_all_pass(void **state)
{
	fixture *f = *state;
	fixture_function *g = open_on(f, "where", OPTIONS("where=id > 0"), TYPE);
	const flow_function_plan *plan = fixture_function_plan(g);
	assert_int_equal(plan->keeps_key, 1);
	assert_true(plan->reads[0][0] == 1 && plan->reads[0][1] == 0 && plan->reads[0][2] == 0);
	assert_true(plan->passes[0] == 0 && plan->passes[2] == 2);
}

static void
where_rejects_a_row_whose_condition_fails_alone(void **state)
{
	fixture *f = *state;
	fixture_function *g = open_on(f, "where", OPTIONS("where=cast(name as int64) > 1"), TYPE);
	const fixture_rejection *rejections;
	fixture_function_process(
		g, 0,
		fixture_batch(f, fixture_schema(f, TYPE),
					  "{\"id\":1,\"name\":\"7\",\"price\":1}\n{\"id\":2,\"name\":\"x\",\"price\":1}\n"
					  "{\"id\":3,\"name\":\"1\",\"price\":1}\n{\"id\":4,\"name\":\"9\",\"price\":1}\n"));
	assert_string_equal(fixture_function_text(g, 0),
						"{\"id\":1,\"name\":\"7\",\"price\":1}\n{\"id\":4,\"name\":\"9\",\"price\":1}\n");
	assert_int_equal(fixture_function_rejections(g, &rejections), 1);
	assert_int_equal(rejections[0].ordinal, 1);
	assert_true(rejections[0].status < 0);
	assert_non_null(strstr(rejections[0].reason, "x"));
}

static void
where_wants_a_condition(void **state)
{
	fixture *f = *state;
	assert_refused(f, "where", OPTIONS("where=id + 1"), TYPE, "the condition must be bool, but is int64");
	assert_refused(f, "where", OPTIONS("where=nam = 'x'"), TYPE, "name");
	assert_refused(f, "where", OPTIONS("where=id >"), TYPE, "where");
	assert_refused(f, "where", NULL, TYPE, "where");
}

static void
project_keeps_fields_in_the_given_order(void **state)
{
	fixture *f = *state;
	const char *const *options = OPTIONS("project=[\"price\", \"id\"]");
	assert_string_equal(run(f, "project", options, TYPE, LINES),
						"{\"price\":1.50,\"id\":1}\n{\"price\":20.00,\"id\":2}\n{\"price\":3.25,\"id\":3}\n");
	assert_string_equal(output_type(f, "project", options, TYPE), "record(price:decimal(8,2),id:int64)");
	assert_string_equal(output_type(f, "project", OPTIONS("project=name"), TYPE), "record(name:string?)");
	assert_string_equal(run(f, "project", OPTIONS("project=id"), TYPE, "null\n"), "null\n");
}

static void
unknown_and_repeated_fields_are_named(void **state)
{
	fixture *f = *state;
	assert_refused(f, "project", OPTIONS("project=prize"), TYPE, "there is no field prize; there are: id, name, price");
	assert_refused(f, "project", OPTIONS("project=[\"id\", \"id\"]"), TYPE, "id");
	assert_refused(f, "rename", OPTIONS("rename.prize=x"), TYPE, "there is no field prize");
	assert_refused(f, "rename", OPTIONS("rename.id=name"), TYPE, "name");
	assert_refused(f, "cast", OPTIONS("cast.prize=string"), TYPE, "there is no field prize");
	assert_refused(f, "set", OPTIONS("set.x=prize + 1"), TYPE, "prize");
	assert_refused(f, "project", OPTIONS("project=id"), "string",
				   "the input must be records with fields, but is string; declare the fields of the input");
	assert_refused(f, "set", OPTIONS("set.x=\"1\""), "any", "or make records with select");
}

static void
select_makes_exactly_the_given_fields(void **state)
{
	fixture *f = *state;
	const char *const *options = OPTIONS("select={ twice = \"id * 2\"; name = \"name\"; k = \"'k'\"; }");
	assert_string_equal(run(f, "select", options, TYPE, LINES),
						"{\"twice\":2,\"name\":\"a\",\"k\":\"k\"}\n{\"twice\":4,\"name\":null,\"k\":\"k\"}\n"
						"{\"twice\":6,\"name\":\"c\",\"k\":\"k\"}\n");
	assert_string_equal(output_type(f, "select", options, TYPE), "record(twice:int64,name:string?,k:string)");
}

static void
set_adds_and_replaces_from_the_record_as_it_came(void **state)
{
	fixture *f = *state;
	const char *const *options = OPTIONS("set={ id = \"id + 10\"; before = \"id\"; }");
	assert_string_equal(run(f, "set", options, TYPE, "{\"id\":1,\"name\":\"a\",\"price\":1}\n"),
						"{\"id\":11,\"name\":\"a\",\"price\":1,\"before\":1}\n");
	assert_string_equal(output_type(f, "set", options, TYPE),
						"record(id:int64,name:string?,price:decimal(8,2),before:int64)");
	const flow_function_plan *plan = fixture_function_plan(open_on(f, "set", options, TYPE));
	assert_true(plan->passes[0] == -1 && plan->passes[1] == 1 && plan->passes[3] == -1);
}

static void
set_rejects_rows_that_overflow(void **state)
{
	fixture *f = *state;
	fixture_function *g = open_on(f, "set", OPTIONS("set.id=id + 1"), "record(id:int64)");
	const fixture_rejection *rejections;
	fixture_function_process(g, 0,
							 fixture_batch(f, fixture_schema(f, "record(id:int64)"),
										   "{\"id\":1}\n{\"id\":9223372036854775807}\n{\"id\":3}\n"));
	assert_string_equal(fixture_function_text(g, 0), "{\"id\":2}\n{\"id\":4}\n");
	assert_int_equal(fixture_function_rejections(g, &rejections), 1);
	assert_int_equal(rejections[0].status, FLOW_E_RANGE);
	assert_int_equal(rejections[0].ordinal, 1);
}

static void
rename_changes_names_also_crosswise(void **state)
{
	fixture *f = *state;
	assert_string_equal(run(f, "rename", OPTIONS("rename={ id = \"name\"; name = \"id\"; }"), TYPE,
							"{\"id\":1,\"name\":\"a\",\"price\":1}\n"),
						"{\"name\":1,\"id\":\"a\",\"price\":1}\n");
}

static void
cast_changes_types_exactly_or_rejects(void **state)
{
	fixture *f = *state;
	const char *const *options = OPTIONS("cast={ id = \"string\"; name = \"int32?\"; }");
	assert_string_equal(output_type(f, "cast", options, TYPE), "record(id:string,name:int32?,price:decimal(8,2))");
	fixture_function *g = open_on(f, "cast", options, TYPE);
	const fixture_rejection *rejections;
	fixture_function_process(
		g, 0,
		fixture_batch(f, fixture_schema(f, TYPE),
					  "{\"id\":1,\"name\":\"7\",\"price\":1}\n{\"id\":2,\"name\":\"3000000000\",\"price\":1}\n"
					  "{\"id\":3,\"name\":null,\"price\":1}\n"));
	assert_string_equal(fixture_function_text(g, 0),
						"{\"id\":\"1\",\"name\":7,\"price\":1}\n{\"id\":\"3\",\"name\":null,\"price\":1}\n");
	assert_int_equal(fixture_function_rejections(g, &rejections), 1);
	assert_int_equal(rejections[0].status, FLOW_E_RANGE);
	assert_string_equal(output_type(f, "cast", OPTIONS("cast={ id = \"int32?\"; name = \"int64\"; }"), TYPE),
						"record(id:int32?,name:int64?,price:decimal(8,2))");
	const char *odd =
		"{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"x\",\"flow.name\":\"a \\\"b\\\"\",\"type\":"
		"\"long\"}]}";
	assert_string_equal(run(f, "cast", OPTIONS("cast=( { name = \"a \\\"b\\\"\"; value = \"string\"; } )"), odd,
							"{\"a \\\"b\\\"\":1}\n"),
						"{\"a \\\"b\\\"\":\"1\"}\n");
}

static void
key_and_event_time_stay_with_their_rows(void **state)
{
	fixture *f = *state;
	const char *type = "record(k:string,t:timestamp)";
	fixture_input input = { .schema = fixture_schema(f, type), .key = "k", .bounded = 1 };
	fixture_function *g = fixture_function_open(f, "select", OPTIONS("select.n=\"1\""), &input);
	flow_batch *batch = fixture_batch(f, input.schema, "{\"k\":\"a\",\"t\":\"1970-01-01T00:00:01Z\"}\n");
	fixture_function_process(g, 0, fixture_keyed(f, fixture_timed(f, batch, "t"), "k"));
	assert_string_equal(fixture_function_text_all(g, 0), "{\"key\":\"a\",\"timestamp\":1000000,\"value\":{\"n\":1}}\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(where_keeps_true_and_drops_false_and_null, set_up, tear_down),
		cmocka_unit_test_setup_teardown(where_passes_the_batch_itself_when_all_pass, set_up, tear_down),
		cmocka_unit_test_setup_teardown(where_rejects_a_row_whose_condition_fails_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(where_wants_a_condition, set_up, tear_down),
		cmocka_unit_test_setup_teardown(project_keeps_fields_in_the_given_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unknown_and_repeated_fields_are_named, set_up, tear_down),
		cmocka_unit_test_setup_teardown(select_makes_exactly_the_given_fields, set_up, tear_down),
		cmocka_unit_test_setup_teardown(set_adds_and_replaces_from_the_record_as_it_came, set_up, tear_down),
		cmocka_unit_test_setup_teardown(set_rejects_rows_that_overflow, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rename_changes_names_also_crosswise, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cast_changes_types_exactly_or_rejects, set_up, tear_down),
		cmocka_unit_test_setup_teardown(key_and_event_time_stay_with_their_rows, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
