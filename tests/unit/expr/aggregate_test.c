/* Aggregates are exact: sums in 128 bits, means rounded once, smallest and largest by value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/schema.h"
#include "support/batch_text.h"
#include "support/expression_text.h"

/* The aggregate over the rows of the fixture, all into one slot; a failure is the message. */
static const char *
aggregate(expression_text *t, const char *text)
{
	flow_aggregate_call call = { .struct_size = FLOW_SIZEOF(flow_aggregate_call) };
	flow_slice none = { NULL, 0 };
	uint32_t count = t->batch->row_count, rows[64];
	flow_value values[64], result;
	uint64_t slot[8] = { 0 };
	void *slots[64];
	error_clear(&t->error);
	flow_status status = expressions_service.aggregate(flow_slice_of(text), t->schema, none, &call, &t->error);
	if (status != FLOW_OK)
		return error_message(&t->error);
	const char *layout;
	assert_true(expressions_service.aggregate_size(&call, &layout) <= sizeof(slot) - 8);
	assert_int_equal(expressions_service.aggregate_size(&call, &layout) % 8, 0);
	for (uint32_t i = 0; i < count; i++) {
		rows[i] = i;
		slots[i] = slot;
	}
	if (call.argument != NULL)
		assert_int_equal(
			expressions_service.evaluate(call.argument, t->batch, t->memory, values, NULL, NULL, &t->error), FLOW_OK);
	status = expressions_service.aggregate_add(&call, call.argument == NULL ? NULL : values, rows, count, slots, 8,
											   NULL, &t->error);
	if (status == FLOW_OK)
		status = expressions_service.aggregate_result(&call, (char *)slot + 8, t->memory, &result, &t->error);
	if (status == FLOW_OK) {
		char *printed = value_print(call.result, &result);
		strcpy(t->text, printed);
		free(printed);
	}
	expressions_service.release(call.argument);
	schema_release(call.result);
	return status == FLOW_OK ? t->text : error_message(&t->error);
}

static void
check(expression_text *t, const char *text, const char *expected)
{
	const char *got = aggregate(t, text);
	if (strcmp(got, expected) != 0)
		fail_msg("%s\n  gives    %s\n  expected %s", text, got, expected);
}

static void
nulls_are_left_out_and_no_rows_give_null(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(
		&t, "record(x:int64?,f:float64?,d:decimal?,y:date?)",
		"{\"x\":3,\"f\":1.5,\"d\":\"1.50\",\"y\":\"2013-01-02\"}\n{\"x\":null,\"f\":null,\"d\":null,\"y\":null}\n"
		"{\"x\":4,\"f\":0.25,\"d\":\"-2\",\"y\":\"2013-01-01\"}\n");
	check(&t, "count(*)", "3");
	check(&t, "count(x)", "2");
	check(&t, "COUNT( x + 1 )", "2");
	check(&t, "sum(x)", "7");
	check(&t, "avg(x)", "3.5");
	check(&t, "min(x)", "3");
	check(&t, "max(x)", "4");
	check(&t, "sum(f)", "1.75");
	check(&t, "avg(f)", "0.875");
	check(&t, "min(f)", "0.25");
	check(&t, "sum(d)", "-0.50");
	check(&t, "avg(d)", "-0.25");
	check(&t, "min(d)", "-2");
	check(&t, "max(d)", "1.50");
	check(&t, "min(y)", "\"2013-01-01\"");
	check(&t, "sum(case when x > 3 then 1 else 0 end)", "1");
	expression_text_close(&t);
	expression_text_open(&t, "record(x:int64?,f:float64?,d:decimal?)", "{\"x\":null,\"f\":null,\"d\":null}\n");
	check(&t, "count(x)", "0");
	check(&t, "sum(x)", "null");
	check(&t, "avg(f)", "null");
	check(&t, "min(d)", "null");
	check(&t, "sum(d)", "null");
	check(&t, "max(x)", "null");
	expression_text_close(&t);
}

static void
sums_of_integers_are_exact_beyond_their_type(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(&t, "record(x:int64,u:uint64)",
						 "{\"x\":9223372036854775807,\"u\":\"18446744073709551615\"}\n"
						 "{\"x\":9223372036854775807,\"u\":\"1\"}\n{\"x\":-9223372036854775807,\"u\":\"1\"}\n");
	check(&t, "sum(x)", "9223372036854775807");
	check(&t, "sum(u)", "the sum of 3 values does not fit uint64; cast the argument to decimal");
	check(&t, "sum(cast(u as decimal))", "18446744073709551617");
	check(&t, "avg(u)", "6.148914691236517e18");
	check(&t, "min(u)", "1");
	check(&t, "max(u)", "18446744073709551615");
	check(&t, "min(x)", "-9223372036854775807");
	expression_text_close(&t);
	expression_text_open(&t, "record(x:int64)", "{\"x\":9223372036854775807}\n{\"x\":1}\n");
	check(&t, "sum(x)", "the sum of 2 values does not fit int64; cast the argument to decimal");
	check(&t, "avg(x)", "4.611686018427388e18");
	expression_text_close(&t);
}

static void
means_are_rounded_once(void **state)
{
	(void)state;
	expression_text t;
	/* 2^53 + 1 over 1 lies in the middle: to even, down. (2^54 + 3) / 2 = 2^53 + 1.5: up. */
	expression_text_open(&t, "record(x:int64)", "{\"x\":9007199254740993}\n");
	check(&t, "avg(x)", "9007199254740992.0");
	expression_text_close(&t);
	expression_text_open(&t, "record(x:int64)", "{\"x\":18014398509481987}\n{\"x\":0}\n");
	check(&t, "avg(x)", "9007199254740994.0");
	expression_text_close(&t);
	expression_text_open(&t, "record(x:int64)", "{\"x\":-9223372036854775808}\n{\"x\":-1}\n{\"x\":0}\n");
	check(&t, "avg(x)", "-3.0744573456182584e18");
	expression_text_close(&t);
	/* 9007199254740993.00000000000000001: above the middle by the last digit only. */
	expression_text_open(&t, "record(d:decimal)", "{\"d\":\"9007199254740993.00000000000000001\"}\n");
	check(&t, "avg(d)", "9007199254740994.0");
	expression_text_close(&t);
	expression_text_open(&t, "record(d:decimal)", "{\"d\":\"0.1\"}\n{\"d\":\"0.2\"}\n{\"d\":\"0.3\"}\n");
	check(&t, "avg(d)", "0.2");
	check(&t, "sum(d)", "0.6");
	expression_text_close(&t);
	expression_text_open(&t, "record(f:float64)", "{\"f\":1e16}\n{\"f\":1.0}\n{\"f\":-1e16}\n{\"f\":1.0}\n");
	check(&t, "sum(f)", "2.0");
	check(&t, "avg(f)", "0.5");
	expression_text_close(&t);
}

static void
decimals_keep_38_digits(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(&t, "record(d:decimal)",
						 "{\"d\":\"99999999999999999999999999999999999999\"}\n{\"d\":\"-0\"}\n");
	check(&t, "sum(d)", "99999999999999999999999999999999999999");
	check(&t, "max(d)", "99999999999999999999999999999999999999");
	expression_text_close(&t);
	expression_text_open(&t, "record(d:decimal)",
						 "{\"d\":\"99999999999999999999999999999999999999\"}\n{\"d\":\"1\"}\n");
	check(&t, "sum(d)", "a decimal, or the sum with it, has more than 38 digits");
	check(&t, "min(d)", "1");
	expression_text_close(&t);
	expression_text_open(&t, "record(d:decimal)", "{\"d\":\"1e-30\"}\n{\"d\":\"1e30\"}\n{\"d\":\"1.5\"}\n");
	check(&t, "sum(d)", "a decimal, or the sum with it, has more than 38 digits");
	check(&t, "max(d)", "1000000000000000000000000000000");
	check(&t, "min(d)", "0.000000000000000000000000000001");
	expression_text_close(&t);
}

static void
a_row_that_does_not_fit_gets_a_status_and_changes_nothing(void **state)
{
	(void)state;
	expression_text t;
	flow_aggregate_call call = { .struct_size = FLOW_SIZEOF(flow_aggregate_call) };
	flow_slice none = { NULL, 0 };
	flow_status statuses[4] = { 0 };
	flow_value values[4], result;
	uint64_t slots[2][4] = { { 0 } };
	uint32_t rows[3] = { 0, 1, 3 };
	void *targets[3] = { slots[0], slots[0], slots[1] };
	expression_text_open(
		&t, "record(d:decimal)",
		"{\"d\":\"99999999999999999999999999999999999999\"}\n{\"d\":\"1\"}\n{\"d\":\"5\"}\n{\"d\":\"7\"}\n");
	assert_int_equal(expressions_service.aggregate(flow_slice_of("sum(d)"), t.schema, none, &call, &t.error), FLOW_OK);
	assert_int_equal(expressions_service.evaluate(call.argument, t.batch, t.memory, values, NULL, NULL, &t.error),
					 FLOW_OK);
	assert_int_equal(expressions_service.aggregate_add(&call, values, rows, 3, targets, 0, statuses, &t.error),
					 FLOW_OK);
	assert_int_equal(statuses[0], FLOW_OK);
	assert_int_equal(statuses[1], FLOW_E_RANGE);
	assert_int_equal(statuses[3], FLOW_OK);
	assert_int_equal(expressions_service.aggregate_result(&call, slots[0], t.memory, &result, &t.error), FLOW_OK);
	assert_int_equal(result.as.decimal->count, 38);
	assert_int_equal(expressions_service.aggregate_result(&call, slots[1], t.memory, &result, &t.error), FLOW_OK);
	assert_int_equal(result.as.decimal->digits[0], '7');
	expressions_service.release(call.argument);
	schema_release(call.result);
	expression_text_close(&t);
}

static void
check_refused(expression_text *t, const char *text, const char *part)
{
	const char *got = aggregate(t, text);
	if (strstr(got, part) == NULL)
		fail_msg("%s\n  gives    %s\n  expected %s", text, got, part);
}

static void
what_is_no_aggregate_is_refused_with_what_there_is(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(&t, "record(x:int64,s:string,a:any,u:uuid)", "");
	check_refused(&t, "median(x)", "there are count(*), count(x), sum(x), avg(x), min(x), max(x)");
	check_refused(&t, "x", "an aggregate is needed here");
	check_refused(&t, "count(distinct x)", "distinct is not there");
	check_refused(&t, "sum(*)", "* is only for count(*)");
	check_refused(&t, "sum(x", "the aggregate has no closing bracket at character 6");
	check_refused(&t, "sum(x) + 1", "\"+\" stands where");
	check_refused(&t, "sum()", "a value is expected");
	check_refused(&t, "sum(s)", "sum() cannot be taken of string");
	check_refused(&t, "min(s)", "min() cannot be taken of string");
	check_refused(&t, "max(u)", "max() cannot be taken of uuid");
	check_refused(&t, "avg(a)", "cast it, like cast(x as int64)");
	check_refused(&t, "sum(y)", "unknown field \"y\"");
	check_refused(&t, "count(", "a value is expected");
	expression_text_close(&t);
}

static void
timestamps_keep_their_unit(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(
		&t, "record(t:timestamp(ms),f:float64)",
		"{\"t\":\"2013-01-01T10:00:00.250Z\",\"f\":1.0}\n{\"t\":\"1960-01-01T00:00:00Z\",\"f\":\"NaN\"}\n");
	check(&t, "max(t)", "\"2013-01-01T10:00:00.25Z\"");
	check(&t, "min(t)", "\"1960-01-01T00:00:00Z\"");
	check(&t, "max(f)", "\"NaN\"");
	check(&t, "min(f)", "1.0");
	expression_text_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nulls_are_left_out_and_no_rows_give_null),
		cmocka_unit_test(sums_of_integers_are_exact_beyond_their_type),
		cmocka_unit_test(means_are_rounded_once),
		cmocka_unit_test(decimals_keep_38_digits),
		cmocka_unit_test(a_row_that_does_not_fit_gets_a_status_and_changes_nothing),
		cmocka_unit_test(what_is_no_aggregate_is_refused_with_what_there_is),
		cmocka_unit_test(timestamps_keep_their_unit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
