/* aggregate: planning, per key at the end, in tumbling windows, late rows, rows that an aggregate refuses. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
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
#define TYPE "record(k:string,x:int64?,t:timestamp)"
#define HOUR INT64_C(3600000000)

static fixture_function *
open_keyed(fixture *f, const char *const *options, const char *type)
{
	fixture_input input = { .schema = fixture_schema(f, type), .key = "k", .bounded = 1 };
	return fixture_function_open(f, "aggregate", options, &input);
}

static void
feed(fixture *f, fixture_function *g, const char *type, const char *lines)
{
	const flow_batch *batch = fixture_batch(f, fixture_schema(f, type), lines);
	fixture_function_process(g, 0, fixture_keyed(f, fixture_timed(f, batch, "t"), "k"));
}

static int
compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *
sorted(fixture *f, const char *text)
{
	char *copy = arena_copy_text(f->arena, text), *lines[32];
	size_t count = 0;
	for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n"))
		lines[count++] = line;
	qsort(lines, count, sizeof(*lines), compare_lines);
	text = "";
	for (size_t i = 0; i < count; i++)
		text = arena_format(f->arena, "%s%s\n", text, lines[i]);
	return text;
}

#define ALL                                                                                                            \
	"aggregate={ n = \"count(*)\"; nx = \"count(x)\"; s = \"sum(x)\"; a = \"avg(x)\"; lo = \"min(x)\"; hi = \"max(x "  \
	"+ 1)\"; }"

static void
output_has_the_key_the_window_and_the_aggregates(void **state)
{
	fixture *f = *state;
	char text[256];
	fixture_function *g = open_keyed(
		f, OPTIONS(ALL, "window.tumbling=1h", "window.time=t", "window.end=until", "window.out_of_order=5s"), TYPE);
	const flow_function_plan *plan = fixture_function_plan(g);
	schemas_service.print(plan->outputs[0], 1, text, sizeof(text));
	assert_string_equal(text,
						"record(k:string,window_start:timestamp,until:timestamp,n:int64,nx:int64,s:int64?,a:float64?,"
						"lo:int64?,hi:int64?)");
	assert_true(plan->keeps_key && plan->needs_event_time && plan->uses_timers);
	assert_string_equal(plan->event_time, "t");
	assert_int_equal(plan->out_of_order, 5000000);
	assert_true(plan->reads[0][1] == 1 && plan->reads[0][0] == 0);
	assert_int_equal(plan->states[0]->kind, FLOW_STATE_SLOT);
	assert_int_equal(plan->states[0]->slot_size % 8, 0);
	assert_non_null(strstr(plan->states[0]->layout, "n:"));
}

static void
result_of_each_key_comes_at_the_end(void **state)
{
	fixture *f = *state;
	fixture_function *g = open_keyed(f, OPTIONS(ALL), TYPE);
	feed(f, g, TYPE,
		 "{\"k\":\"a\",\"x\":1,\"t\":null}\n{\"k\":\"b\",\"x\":null,\"t\":null}\n{\"k\":\"a\",\"x\":4,\"t\":null}\n");
	feed(f, g, TYPE, "{\"k\":\"a\",\"x\":null,\"t\":null}\n");
	assert_string_equal(fixture_function_text(g, 0), "");
	fixture_function_end(g, 0);
	assert_string_equal(sorted(f, fixture_function_text_all(g, 0)),
						"{\"key\":\"a\",\"value\":{\"k\":\"a\",\"n\":3,\"nx\":2,\"s\":5,\"a\":2.5,\"lo\":1,"
						"\"hi\":5}}\n"
						"{\"key\":\"b\",\"value\":{\"k\":\"b\",\"n\":1,\"nx\":0,\"s\":null,\"a\":null,\"lo\":"
						"null,\"hi\":null}}\n");
}

static void
global_stream_has_one_result(void **state)
{
	fixture *f = *state;
	fixture_input input = { .schema = fixture_schema(f, TYPE), .bounded = 1, .global = 1 };
	fixture_function *g = fixture_function_open(f, "aggregate", OPTIONS("aggregate.n=count(*)"), &input);
	fixture_function_process(
		g, 0, fixture_batch(f, input.schema, "{\"k\":\"a\",\"x\":1,\"t\":null}\n{\"k\":\"b\",\"x\":2,\"t\":null}\n"));
	fixture_function_end(g, 0);
	assert_string_equal(fixture_function_text(g, 0), "{\"n\":2}\n");
}

static void
windows_close_when_event_time_has_passed_them(void **state)
{
	fixture *f = *state;
	fixture_function *g = open_keyed(f, OPTIONS("aggregate.n=count(*)", "window.tumbling=1h"), TYPE);
	feed(f, g, TYPE,
		 "{\"k\":\"a\",\"t\":\"1970-01-01T00:00:00Z\"}\n{\"k\":\"a\",\"t\":\"1970-01-01T00:59:59.999999Z\"}\n"
		 "{\"k\":\"a\",\"t\":\"1970-01-01T01:00:00Z\"}\n{\"k\":\"b\",\"t\":\"1969-12-31T23:59:59Z\"}\n");
	assert_int_equal(fixture_function_slots(g), 3);
	fixture_function_event_time(g, -1); /* the last microsecond of the hour before 1970 */
	assert_string_equal(
		fixture_function_text_all(g, 0),
		"{\"key\":\"b\",\"timestamp\":-1,\"value\":{\"k\":\"b\",\"window_start\":\"1969-12-31T23:00:00Z\",\"n\":1}}"
		"\n");
	fixture_function_event_time(g, HOUR - 2);
	assert_string_equal(fixture_function_text(g, 0), "");
	fixture_function_event_time(g, HOUR - 1);
	assert_string_equal(fixture_function_text(g, 0),
						"{\"k\":\"a\",\"window_start\":\"1970-01-01T00:00:00Z\",\"n\":2}\n");
	assert_int_equal(fixture_function_slots(g), 1);
	fixture_function_end(g, 0);
	assert_string_equal(fixture_function_text(g, 0),
						"{\"k\":\"a\",\"window_start\":\"1970-01-01T01:00:00Z\",\"n\":1}\n");
	assert_int_equal(fixture_function_slots(g), 0);
	assert_int_equal(fixture_function_timers(g), 0);
}

static void
late_and_timeless_rows_are_rejected(void **state)
{
	fixture *f = *state;
	fixture_function *g = open_keyed(f, OPTIONS("aggregate.n=count(*)", "window.tumbling=1h"), TYPE);
	const fixture_rejection *rejections;
	fixture_function_event_time(g, HOUR - 1);
	feed(f, g, TYPE,
		 "{\"k\":\"a\",\"t\":\"1970-01-01T00:59:00Z\"}\n{\"k\":\"a\",\"t\":null}\n{\"k\":\"a\",\"t\":\"1970-01-01T01:"
		 "00:00Z\"}\n");
	assert_int_equal(fixture_function_rejections(g, &rejections), 2);
	assert_int_equal(rejections[0].status, FLOW_E_LATE);
	assert_int_equal(rejections[0].ordinal, 0);
	assert_int_equal(rejections[1].status, FLOW_E_RANGE);
	assert_string_equal(rejections[1].reason, "the record has no event time");
	fixture_function_end(g, 0);
	assert_string_equal(fixture_function_text(g, 0),
						"{\"k\":\"a\",\"window_start\":\"1970-01-01T01:00:00Z\",\"n\":1}\n");
}

static void
row_whose_argument_fails_is_in_no_aggregate(void **state)
{
	fixture *f = *state;
	const char *type = "record(k:string,x:string,t:timestamp)";
	fixture_function *g =
		open_keyed(f, OPTIONS("aggregate={ n = \"count(*)\"; s = \"sum(cast(x as int64))\"; }"), type);
	const fixture_rejection *rejections;
	feed(f, g, type,
		 "{\"k\":\"a\",\"x\":\"1\"}\n{\"k\":\"a\",\"x\":\"x\"}\n{\"k\":\"a\",\"x\":\"3\"}\n{\"k\":\"b\",\"x\":\"\"}\n");
	assert_int_equal(fixture_function_rejections(g, &rejections), 2);
	fixture_function_end(g, 0);
	assert_string_equal(fixture_function_text(g, 0), "{\"k\":\"a\",\"n\":2,\"s\":4}\n");
}

#define NINES "99999999999999999999999999999999999999" /* 38 digits */

static void
row_that_an_aggregate_refuses_is_in_none(void **state)
{
	fixture *f = *state;
	const char *type = "record(k:string,x:decimal,t:timestamp)";
	const fixture_rejection *rejections;
	fixture_function *g = open_keyed(
		f, OPTIONS("aggregate={ n = \"count(*)\"; s = \"sum(x)\"; hi = \"max(x)\"; }", "window.tumbling=1h"), type);
	feed(f, g, type,
		 "{\"k\":\"c\",\"x\":\"1" NINES "\",\"t\":\"1970-01-01T00:00:00Z\"}\n" /* alone in its window */
		 "{\"k\":\"a\",\"x\":\"1" NINES "\",\"t\":\"1970-01-01T00:00:00Z\"}\n" /* made the slot, others use it */
		 "{\"k\":\"a\",\"x\":\"" NINES "\",\"t\":\"1970-01-01T00:00:00Z\"}\n"
		 "{\"k\":\"a\",\"x\":\"2\",\"t\":\"1970-01-01T00:00:00Z\"}\n" /* the sum would have 39 digits */
		 "{\"k\":\"b\",\"x\":\"5\",\"t\":\"1970-01-01T00:00:00Z\"}\n"
		 "{\"k\":\"a\",\"x\":\"-1\",\"t\":\"1970-01-01T00:00:00Z\"}\n");
	assert_int_equal(fixture_function_rejections(g, &rejections), 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(rejections[i].reason, "an aggregate would overflow; the record is in none of them");
	assert_int_equal(fixture_function_slots(g), 2);
	fixture_function_end(g, 0);
	assert_string_equal(
		sorted(f, fixture_function_text(g, 0)),
		"{\"k\":\"a\",\"window_start\":\"1970-01-01T00:00:00Z\",\"n\":2,\"s\":99999999999999999999999999999999999998,"
		"\"hi\":" NINES "}\n{\"k\":\"b\",\"window_start\":\"1970-01-01T00:00:00Z\",\"n\":1,\"s\":5,\"hi\":5}\n");
}

static void
refused_rows_far_down_a_batch_are_the_right_ones(void **state)
{
	fixture *f = *state;
	const char *type = "record(k:string,x:decimal,t:timestamp)", *lines = "";
	const fixture_rejection *rejections;
	fixture_function *g = open_keyed(f, OPTIONS("aggregate.s=sum(x)", "window.tumbling=1h"), type);
	for (int i = 0; i < 500; i++)
		lines = arena_format(f->arena, "%s{\"k\":\"a\",\"x\":%s,\"t\":\"1970-01-01T00:00:00Z\"}\n", lines,
							 i == 499 ? "\"1" NINES "\"" : "1");
	const flow_batch *all = fixture_timed(f, fixture_batch(f, fixture_schema(f, type), lines), "t");
	all = fixture_keyed(f, all, "k");
	uint32_t *selection = arena_allocate(f->arena, 100 * sizeof(*selection));
	for (uint32_t i = 0; i < 100; i++)
		selection[i] = 400 + i;
	flow_batch part = *all;
	part.selection = selection;
	part.selected_count = 100;
	fixture_function_process(g, 0, &part);
	assert_int_equal(fixture_function_rejections(g, &rejections), 1);
	assert_int_equal(rejections[0].ordinal, 499);
	fixture_function_end(g, 0);
	assert_string_equal(fixture_function_text(g, 0),
						"{\"k\":\"a\",\"window_start\":\"1970-01-01T00:00:00Z\",\"s\":99}\n");
}

static void
assert_refused(fixture *f, const char *const *options, const fixture_input *input, const char *part)
{
	assert_null(fixture_try_function_open(f, "aggregate", options, input));
	if (strstr(error_message(&f->error), part) == NULL)
		fail_msg("%s", error_message(&f->error));
}

#define NOON INT64_C(4102488000000000) /* of 2100-01-01: behind every timer that is set now */

static void
keys_that_changed_give_their_result_so_far_each_interval(void **state)
{
	fixture *f = *state;
	fixture_input endless = { .schema = fixture_schema(f, TYPE), .key = "k" };
	fixture_function *g =
		fixture_function_open(f, "aggregate", OPTIONS("aggregate.n=count(*)", "emit_every=1h"), &endless);
	assert_true(fixture_function_plan(g)->uses_timers);
	feed(f, g, TYPE, "{\"k\":\"a\",\"t\":null}\n{\"k\":\"b\",\"t\":null}\n{\"k\":\"a\",\"t\":null}\n");
	feed(f, g, TYPE, "{\"k\":\"a\",\"t\":null}\n");
	assert_int_equal(fixture_function_timers(g), 2);
	assert_string_equal(fixture_function_text(g, 0), "");
	fixture_function_clock(g, NOON);
	assert_string_equal(
		sorted(f, fixture_function_text_all(g, 0)),
		"{\"key\":\"a\",\"value\":{\"k\":\"a\",\"n\":3}}\n{\"key\":\"b\",\"value\":{\"k\":\"b\",\"n\":1}}\n");
	fixture_function_clock(g, NOON);
	assert_string_equal(fixture_function_text(g, 0), "");
	feed(f, g, TYPE, "{\"k\":\"b\",\"t\":null}\n");
	fixture_function_clock(g, NOON);
	assert_string_equal(fixture_function_text(g, 0), "{\"k\":\"b\",\"n\":2}\n");
	feed(f, g, TYPE, "{\"k\":\"a\",\"t\":null}\n");
	fixture_function_end(g, 0);
	assert_string_equal(fixture_function_text(g, 0), "{\"k\":\"a\",\"n\":4}\n");
	assert_int_equal(fixture_function_slots(g), 2);
}

static void
results_come_at_full_intervals_of_the_clock(void **state)
{
	fixture *f = *state;
	fixture_input endless = { .schema = fixture_schema(f, TYPE), .key = "k" };
	fixture_function *g =
		fixture_function_open(f, "aggregate", OPTIONS("aggregate.n=count(*)", "emit_every=1h"), &endless);
	int64_t before = clock_now();
	feed(f, g, TYPE, "{\"k\":\"a\",\"t\":null}\n");
	int64_t due = before - before % HOUR + HOUR;
	fixture_function_clock(g, due - 1);
	assert_string_equal(fixture_function_text(g, 0), "");
	fixture_function_clock(g, due + HOUR); /* the hour may have ended meanwhile */
	assert_string_equal(fixture_function_text(g, 0), "{\"k\":\"a\",\"n\":1}\n");
}

static void
a_refused_row_is_no_change(void **state)
{
	fixture *f = *state;
	fixture_input endless = { .schema = fixture_schema(f, "record(k:string,x:float64,t:timestamp)"), .key = "k" };
	fixture_function *g =
		fixture_function_open(f, "aggregate", OPTIONS("aggregate.s=sum(x)", "emit_every=1h"), &endless);
	feed(f, g, "record(k:string,x:float64,t:timestamp)", "{\"k\":\"a\",\"x\":1e308,\"t\":null}\n");
	fixture_function_clock(g, NOON);
	assert_string_equal(fixture_function_text(g, 0), "{\"k\":\"a\",\"s\":1e308}\n");
	feed(f, g, "record(k:string,x:float64,t:timestamp)", "{\"k\":\"a\",\"x\":1e308,\"t\":null}\n");
	assert_int_equal(fixture_function_timers(g), 0);
}

static void
what_cannot_be_aggregated_is_refused_when_planning(void **state)
{
	fixture *f = *state;
	fixture_input keyed = { .schema = fixture_schema(f, TYPE), .key = "k", .bounded = 1 };
	fixture_input endless = { .schema = keyed.schema, .key = "k" };
	fixture_input plain = { .schema = keyed.schema, .bounded = 1 };
	assert_refused(f, OPTIONS("aggregate.n=count(*)"), &plain,
				   "aggregate needs a keyed or a global stream: put key_by");
	assert_refused(f, OPTIONS("aggregate.n=count(*)"), &endless,
				   "aggregate without a window gives its result at the end");
	assert_refused(f, OPTIONS("aggregate.n=count(*)", "window.tumbling=1h", "emit_every=1s"), &keyed,
				   "windows give their result when they are complete");
	assert_refused(f, OPTIONS("aggregate.n=median(x)"), &keyed, "there are count(*), count(x), sum(x)");
	assert_refused(f, OPTIONS("aggregate.n=sum(k)"), &keyed, "k");
	assert_refused(f, OPTIONS("aggregate.n=sum(y)"), &keyed, "y");
	assert_refused(f, OPTIONS("aggregate.k=count(*)"), &keyed, "k");
	assert_refused(f, OPTIONS("aggregate.n=count(*)", "window.tumbling=0s"), &keyed, "tumbling");
	assert_refused(f, OPTIONS("window.tumbling=1h"), &keyed, "aggregate");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(output_has_the_key_the_window_and_the_aggregates, set_up, tear_down),
		cmocka_unit_test_setup_teardown(result_of_each_key_comes_at_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(global_stream_has_one_result, set_up, tear_down),
		cmocka_unit_test_setup_teardown(windows_close_when_event_time_has_passed_them, set_up, tear_down),
		cmocka_unit_test_setup_teardown(late_and_timeless_rows_are_rejected, set_up, tear_down),
		cmocka_unit_test_setup_teardown(row_whose_argument_fails_is_in_no_aggregate, set_up, tear_down),
		cmocka_unit_test_setup_teardown(row_that_an_aggregate_refuses_is_in_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refused_rows_far_down_a_batch_are_the_right_ones, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keys_that_changed_give_their_result_so_far_each_interval, set_up, tear_down),
		cmocka_unit_test_setup_teardown(results_come_at_full_intervals_of_the_clock, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_refused_row_is_no_change, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_aggregated_is_refused_when_planning, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
