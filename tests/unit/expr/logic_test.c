/* Null logic, precedence, conditions that are not evaluated, names and errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/schema.h"
#include "support/expression_text.h"

static void
check(expression_text *t, const char *text, const char *expected)
{
	const char *got = expression_text_values(t, text);
	if (strcmp(got, expected) != 0)
		fail_msg("%s\n  gives    %s\n  expected %s", text, got, expected);
}

static void
check_value(const char *text, const char *expected)
{
	const char *got = expression_text_value(text);
	if (strcmp(got, expected) != 0)
		fail_msg("%s\n  gives    %s\n  expected %s", text, got, expected);
}

static void
check_refused(expression_text *t, const char *text, const char *part)
{
	const char *got = expression_text_refused(t, text);
	if (strstr(got, part) == NULL)
		fail_msg("%s\n  is refused with %s\n  expected        %s", text, got, part);
}

/* a: true true true false false false null null null; b: true false null and again */
static const char pairs[] = "{\"a\":true,\"b\":true}\n{\"a\":true,\"b\":false}\n{\"a\":true,\"b\":null}\n"
							"{\"a\":false,\"b\":true}\n{\"a\":false,\"b\":false}\n{\"a\":false,\"b\":null}\n"
							"{\"a\":null,\"b\":true}\n{\"a\":null,\"b\":false}\n{\"a\":null,\"b\":null}\n";

static void
and_or_not_follow_the_tables_of_sql(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(&t, "record(a:bool?,b:bool?)", pairs);
	check(&t, "a and b", "true | false | null | false | false | false | null | false | null");
	check(&t, "a or b", "true | true | true | true | false | null | true | null | null");
	check(&t, "not a", "false | false | false | true | true | true | null | null | null");
	check(&t, "a = b", "true | false | null | false | true | null | null | null | null");
	check(&t, "a is true", "true | true | true | false | false | false | false | false | false");
	check(&t, "a is not true", "false | false | false | true | true | true | true | true | true");
	check(&t, "a is false", "false | false | false | true | true | true | false | false | false");
	check(&t, "a is null", "false | false | false | false | false | false | true | true | true");
	check(&t, "a is not null", "true | true | true | true | true | true | false | false | false");
	assert_string_equal(expression_text_selected(&t, "a and b"), "0");
	assert_string_equal(expression_text_selected(&t, "not (a and b)"), "1 3 4 5 7");
	assert_string_equal(expression_text_selected(&t, "a or b"), "0 1 2 3 6");
	assert_string_equal(expression_text_selected(&t, "not (a or b)"), "4");
	assert_string_equal(expression_text_selected(&t, "not a"), "3 4 5");
	assert_string_equal(expression_text_selected(&t, "b is null"), "2 5 8");
	assert_string_equal(expression_text_selected(&t, "not (b is null)"), "0 1 3 4 6 7");
	expression_text_close(&t);
}

static void
null_in_lists_and_bounds_is_unknown(void **state)
{
	(void)state;
	check_value("1 in (1, null)", "true");
	check_value("2 in (1, null)", "null");
	check_value("2 not in (1, null)", "null");
	check_value("1 not in (1, null)", "false");
	check_value("null in (1, 2)", "null");
	check_value("5 between 1 and null", "null");
	check_value("0 between 1 and null", "false");
	check_value("5 not between 6 and null", "true");
	check_value("null like 'a'", "null");
	check_value("case when null then 1 else 2 end", "2");
	check_value("case null when null then 1 else 2 end", "2");
	check_value("coalesce(null, null)", "null");
	check_value("nullif(null, 1)", "null");
	check_value("nullif(1, null)", "1");
	check_value("greatest(null, null)", "null");
	check_value("'a' || null", "null");
	check_value("concat(null)", "\"\"");
	check_value("null + 1", "null");
	check_value("cast(null as int64)", "null");
}

static void
operators_bind_as_in_sql(void **state)
{
	(void)state;
	check_value("1 + 2 * 3", "7");
	check_value("(1 + 2) * 3", "9");
	check_value("10 - 4 - 3", "3");
	check_value("2 * 3 % 4", "2");
	check_value("-2 * 3", "-6");
	check_value("- -5", "5");
	check_value("not false and false", "false");
	check_value("true or true and false", "true");
	check_value("(true or true) and false", "false");
	check_value("not 1 = 2", "true");
	check_value("1 + 1 = 2", "true");
	check_value("1 < 2 = true", "true");
	check_value("1 = 1 is null", "false");
	check_value("5 between 1 and 9 and true", "true");
	check_value("'a' || 'b' = 'ab'", "true");
	check_value("2 in (1, 2) or false", "true");
	check_value("not 3 in (1, 2)", "true");
	check_value("1 <> 2 and 1 != 2", "true");
}

static void
words_and_functions_are_case_insensitive_and_fields_are_not(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(&t, "record(dep_delay:int64?,Name:string)", "{\"dep_delay\":16,\"Name\":\"x\"}\n");
	check(&t, "dep_delay IS NOT NULL AND LENGTH(Name) = 1 Or FALSE", "true");
	check(&t, "CASE WHEN dep_delay BETWEEN 1 AND 20 THEN 'in' END", "\"in\"");
	check_refused(&t, "name = 'x'", "did you mean \"Name\"?");
	expression_text_close(&t);
}

static void
what_is_not_chosen_is_not_evaluated(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(&t, "record(x:int64?)", "{\"x\":0}\n{\"x\":2}\n{\"x\":null}\n");
	check(&t, "x <> 0 and 10 / x = 5", "false | true | null");
	check(&t, "x = 0 or 10 / x = 5", "true | true | null");
	check(&t, "case when x = 0 then -1 else 10 / x end", "-1 | 5 | null");
	check(&t, "coalesce(x, 1 / (x - x))", "0 | 2 | null");
	check(&t, "10 / x", "FLOW_E_RANGE: division by zero at character 4 | 5 | null");
	check(&t, "coalesce(10 / x, 7)", "FLOW_E_RANGE: division by zero at character 13 | 5 | 7");
	assert_string_equal(expression_text_selected(&t, "x <> 0 and 10 / x = 5"), "1");
	assert_string_equal(expression_text_selected(&t, "10 / x = 5"),
						"1 ! FLOW_E_RANGE: division by zero at character 4");
	assert_string_equal(expression_text_selected(&t, "not (10 / x = 5 and true)"),
						" ! FLOW_E_RANGE: division by zero at character 9");
	expression_text_close(&t);
}

static void
a_failing_row_fails_the_call_where_no_statuses_are_wanted(void **state)
{
	(void)state;
	expression_text t;
	flow_value results[2];
	expression_text_open(&t, "record(x:int64?)", "{\"x\":2}\n{\"x\":0}\n");
	flow_expression *expression = expression_text_compile(&t, "10 / x");
	assert_int_equal(expressions_service.evaluate(expression, t.batch, t.memory, results, NULL, NULL, &t.error),
					 FLOW_E_RANGE);
	assert_string_equal(error_message(&t.error), "division by zero at character 4");
	expressions_service.release(expression);
	expression_text_close(&t);
}

static void
errors_name_the_column_and_the_nearest_name(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(&t, "record(dep_delay:int64?,carrier:string,when:timestamp)", "");
	check_refused(&t, "dep_dely > 15", "unknown field \"dep_dely\", did you mean \"dep_delay\"? at character 1");
	check_refused(&t, "1 + lenght(carrier)", "unknown function \"lenght\", did you mean \"length\"? at character 5");
	check_refused(&t, "carrier > 5", "string and int64 cannot be compared; cast one of them at character 9");
	check_refused(&t, "carrier + 'x'", "string + string is not possible; strings are joined by || at character 9");
	check_refused(&t, "dep_delay >", "the expression ends where a value is expected at character 12");
	check_refused(&t, "dep_delay > 15)", "\")\" stands where an operator or the end is expected at character 15");
	check_refused(&t, "(dep_delay", "the expression ends where \")\" is expected at character 11");
	check_refused(&t, "'abc", "the string has no closing ' at character 1");
	check_refused(&t, "dep_delay and true", "a bool is needed here, not int64 at character 1");
	check_refused(&t, "dep_delay = 1 & true", "write: and at character 15");
	check_refused(&t, "count(*) > 1", "count(*) at character 7");
	check_refused(&t, "sum(dep_delay)", "sum() is an aggregate");
	check_refused(&t, "max(dep_delay, 1)", "greatest()");
	check_refused(&t, "length()", "length takes 1 argument, not 0: length(s) -> int64 at character 1");
	check_refused(&t, "sqrt(carrier)", "sqrt takes a number here, not string at character 6");
	check_refused(&t, "\"when\" + 5",
				  "timestamp + int64 is not possible; add a duration, such as interval '5s' at character 8");
	check_refused(&t, "\"when\" > 'yesterday'", "'yesterday' is not a text of timestamp at character 10");
	check_refused(&t, "cast(carrier as int46)", "at character 17");
	check_refused(&t, "carrier.x", "a string has no members at character 8");
	check_refused(&t, "1 / 0", "division by zero at character 3");
	check_refused(&t, "date '2013-02-30'", "'2013-02-30' is not a date at character 6");
	check_refused(&t, "carrier like 'a!' escape '!'", "the escape character must stand before %");
	check_refused(&t, "date_trunc('fortnight', \"when\")", "unknown unit 'fortnight'");
	check_refused(&t, "", "the expression ends where a value is expected at character 1");
	check_refused(&t, "  ", "the expression ends where a value is expected");
	check_refused(&t, "Grüße = 1", "unknown field \"Grüße\"");
	check_refused(&t, "'ü' || dep_dely", "at character 8");
	check_refused(&t, "carrier = \x01", "byte 0x01 does not belong");
	check_refused(&t, "carrier = '\xff'", "the expression is not valid UTF-8 at character 12");
	check_refused(&t, "coalesce(carrier, 5)", "string and int64 have no common type");
	expression_text_close(&t);
}

static void
the_place_stands_before_the_message(void **state)
{
	(void)state;
	expression_text t;
	flow_expression *expression;
	expression_text_open(&t, "record(x:int64)", "");
	flow_status status = expressions_service.compile(flow_slice_of("y"), t.schema, flow_slice_of("job.conf:7: where"),
													 &expression, &t.error);
	assert_int_equal(status, FLOW_E_NOT_FOUND);
	assert_true(strncmp(error_message(&t.error), "job.conf:7: where: unknown field", 32) == 0);
	status =
		expressions_service.compile(flow_slice_of("1 / 0"), t.schema, flow_slice_of("here"), &expression, &t.error);
	assert_int_equal(status, FLOW_E_RANGE);
	assert_string_equal(error_message(&t.error), "here: division by zero at character 3");
	expression_text_close(&t);
}

static char *
nested(const char *before, const char *core, const char *after, unsigned times)
{
	char *text = malloc((strlen(before) + strlen(after)) * times + strlen(core) + 1);
	assert_non_null(text);
	text[0] = '\0';
	for (unsigned i = 0; i < times; i++)
		strcat(text, before);
	strcat(text, core);
	for (unsigned i = 0; i < times; i++)
		strcat(text, after);
	return text;
}

static void
nesting_has_a_limit(void **state)
{
	(void)state;
	static const char *const forms[][3] = { { "(", "x", ")" },
											{ "not ", "true", "" },
											{ "- ", "x", "" },
											{ "", "x", " + 1" },
											{ "abs(", "x", ")" },
											{ "1 + (", "x", ")" },
											{ "case when true then ", "x", " end" },
											{ "cast(", "x", " as int64)" },
											{ "", "m", ".m" } };
	expression_text t;
	expression_text_open(&t, "record(x:int64,m:any)", "{\"x\":1,\"m\":null}\n");
	for (size_t i = 0; i < FLOW_COUNT(forms); i++) {
		char *deep = nested(forms[i][0], forms[i][1], forms[i][2], 5000);
		char *shallow = nested(forms[i][0], forms[i][1], forms[i][2], 60);
		check_refused(&t, deep, strlen(deep) > 65536 ? "bytes, at most" : "nested more than 200 deep");
		expression_text_values(&t, shallow);
		free(deep);
		free(shallow);
	}
	char *many = nested("x = 5 or ", "x = 1", "", 3000);
	check(&t, many, "true");
	free(many);
	expression_text_close(&t);
}

static void
members_are_read_from_records_maps_and_any(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(&t, "record(r:record(n:int64,s:string?)?,m:map<int64>,a:any)",
						 "{\"r\":{\"n\":1,\"s\":null},\"m\":{\"k\":5,\"x y\":6},\"a\":{\"b\":{\"c\":[1]},\"n\":1.50}}\n"
						 "{\"r\":null,\"m\":{},\"a\":7}\n"
						 "{\"r\":{\"n\":2,\"s\":\"z\"},\"m\":{\"k\":7},\"a\":null}\n");
	check(&t, "r.n", "1 | null | 2");
	check(&t, "r.s", "null | null | \"z\"");
	check(&t, "m.k + 1", "6 | null | 8");
	check(&t, "m['x y']", "6 | null | null");
	check(&t, "a.b.c is null", "false | true | true");
	check(&t, "a.n = 1.5", "true | null | null");
	check(&t, "typeof(a)", "\"map\" | \"int64\" | \"null\"");
	check(&t, "cardinality(m)", "2 | 0 | 1");
	assert_string_equal(expression_text_type(&t, "r.n"), "int64?");
	assert_string_equal(expression_text_type(&t, "m.k"), "int64?");
	assert_string_equal(expression_text_type(&t, "a.x.y"), "any");
	check_refused(&t, "r.m", "unknown field \"m\"");
	expression_text_close(&t);
}

static void
any_is_checked_row_by_row(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(
		&t, "record(a:any)",
		"{\"a\":1}\n{\"a\":1.0}\n{\"a\":\"1\"}\n{\"a\":true}\n{\"a\":null}\n{\"a\":9007199254740993}\n");
	check(&t, "a = 1", "true | true | false | false | null | false");
	check(&t, "a <> 1", "false | false | true | true | null | true");
	check(&t, "a > 9007199254740992",
		  "false | false | FLOW_E_TYPE: string and int64 have no order at character 3 | "
		  "FLOW_E_TYPE: bool and int64 have no order at character 3 | null | true");
	check(&t, "a in (1, '1')", "true | true | true | false | null | false");
	check(&t, "cast(a as int64)", "1 | 1 | 1 | 1 | null | 9007199254740993");
	check(&t, "length(a)",
		  "FLOW_E_TYPE: argument 1 of length is int64, not a string or bytes at character 1 | "
		  "FLOW_E_TYPE: argument 1 of length is float64, not a string or bytes at character 1 | 1 | "
		  "FLOW_E_TYPE: argument 1 of length is bool, not a string or bytes at character 1 | null | "
		  "FLOW_E_TYPE: argument 1 of length is int64, not a string or bytes at character 1");
	assert_string_equal(expression_text_selected(&t, "typeof(a) = 'bool' and a"), "3");
	expression_text_close(&t);
}

static void
names_are_entries_of_rows_that_are_self_typed(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(&t, "any", "{\"status\":200,\"x\":{\"y\":1.50}}\n{\"status\":404}\n{\"other\":1}\n7\n");
	check(&t, "status > 200", "false | true | null | null");
	check(&t, "status is null", "false | false | true | true");
	assert_string_equal(expression_text_selected(&t, "x.y = 1.5"), "0");
	assert_string_equal(expression_text_selected(&t, "cast(status as int64) between 400 and 499"), "1");
	expression_text_close(&t);
}

static void
rows_without_a_value_have_null_fields(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(&t, "record(x:int64?)", "{\"x\":5}\n{\"x\":6}\n");
	((flow_value *)t.batch->value)[0] = flow_null();
	check(&t, "x", "null | 6");
	assert_string_equal(expression_text_selected(&t, "x is null"), "0");
	assert_string_equal(expression_text_selected(&t, "x > 5"), "1");
	expression_text_close(&t);
}

static void
only_selected_rows_are_evaluated(void **state)
{
	(void)state;
	expression_text t;
	uint32_t selection[2] = { 1, 3 }, count;
	flow_value results[4] = { flow_int64(-1), flow_int64(-1), flow_int64(-1), flow_int64(-1) };
	expression_text_open(&t, "record(x:int64?)", "{\"x\":0}\n{\"x\":1}\n{\"x\":0}\n{\"x\":5}\n");
	t.batch->selection = selection;
	t.batch->selected_count = 2;
	flow_expression *expression = expression_text_compile(&t, "10 / x");
	assert_int_equal(expressions_service.evaluate(expression, t.batch, t.memory, results, NULL, NULL, &t.error),
					 FLOW_OK);
	assert_int_equal(results[0].as.int64, -1);
	assert_int_equal(results[1].as.int64, 10);
	assert_int_equal(results[2].as.int64, -1);
	assert_int_equal(results[3].as.int64, 2);
	expressions_service.release(expression);
	expression = expression_text_compile(&t, "x > 1");
	assert_int_equal(expressions_service.select(expression, t.batch, t.memory, selection, &count, NULL, NULL, &t.error),
					 FLOW_OK);
	assert_int_equal(count, 1);
	assert_int_equal(selection[0], 3);
	expressions_service.release(expression);
	t.batch->selection = NULL;
	expression_text_close(&t);
}

static void
batches_of_any_size_give_the_same(void **state)
{
	(void)state;
	expression_text t;
	char *lines = malloc(1024 * 24 + 1), *at = lines;
	assert_non_null(lines);
	for (int i = 0; i < 1000; i++)
		at += sprintf(at, "{\"x\":%d,\"s\":\"%c\"}\n", i, 'a' + i % 7);
	expression_text_open(&t, "record(x:int64?,s:string)", lines);
	flow_expression *expression = expression_text_compile(&t, "x % 3 = 0 and s in ('a', 'c') or x >= 997");
	uint32_t selection[1000], count;
	assert_int_equal(expressions_service.select(expression, t.batch, t.memory, selection, &count, NULL, NULL, &t.error),
					 FLOW_OK);
	uint32_t expected = 0;
	for (uint32_t i = 0; i < 1000; i++)
		if ((i % 3 == 0 && (i % 7 == 0 || i % 7 == 2)) || i >= 997)
			assert_int_equal(selection[expected++], i);
	assert_int_equal(count, expected);
	expressions_service.release(expression);
	expression_text_close(&t);
	free(lines);
}

static void
results_have_the_type_that_was_promised(void **state)
{
	(void)state;
	static const char *const types[][2] = {
		{ "i", "int64" },
		{ "n", "int64?" },
		{ "i + 1", "int64" },
		{ "n + 1", "int64?" },
		{ "i + u", "uint64" },
		{ "i * 1.5", "decimal" },
		{ "i * f", "float64" },
		{ "d", "decimal(9,2)" },
		{ "d + 1", "decimal" },
		{ "i > 1", "bool" },
		{ "n > 1", "bool?" },
		{ "n is null", "bool" },
		{ "coalesce(n, 0)", "int64" },
		{ "coalesce(i, 1.5)", "decimal" },
		{ "coalesce(i, f)", "float64" },
		{ "case when i > 1 then 's' end", "string?" },
		{ "cast(i as string)", "string" },
		{ "try_cast('1' as int32)", "int32?" },
		{ "t", "timestamp(ms)" },
		{ "t + interval '1h'", "timestamp(ms)" },
		{ "t + interval '1us'", "timestamp" },
		{ "t - t", "int64" },
		{ "date_trunc('day', t)", "timestamp(ms)" },
		{ "y - y", "int64" },
		{ "y + 1", "date" },
		{ "y + interval '1h'", "local_timestamp" },
		{ "now()", "timestamp" },
		{ "abs(s)", "int64" },
		{ "nullif(i, 1)", "int64?" },
		{ "s", "int32" },
		{ "e", "enum(a,b)" },
		{ "e || 'x'", "string" },
		{ "null", "null" },
	};
	expression_text t;
	expression_text_open(
		&t, "record(i:int64,n:int64?,u:uint64,f:float64,d:decimal(9,2),t:timestamp(ms),y:date,s:int32,e:enum(a,b))",
		"");
	for (size_t i = 0; i < FLOW_COUNT(types); i++)
		if (strcmp(expression_text_type(&t, types[i][0]), types[i][1]) != 0)
			fail_msg("%s is %s, not %s", types[i][0], t.text, types[i][1]);
	check_refused(&t, "e = 'c'", "'c' is not a symbol of this enum");
	expression_text_close(&t);
}

static void
plain_fields_constants_and_used_fields_are_known(void **state)
{
	(void)state;
	expression_text t;
	flow_value value;
	uint8_t used[3] = { 0 };
	expression_text_open(&t, "record(a:int64,b:int64,c:string)", "");
	flow_expression *expression = expression_text_compile(&t, "b");
	assert_int_equal(expression_plain_field(expression), 1);
	assert_int_equal(expression_constant(expression, t.memory, &value, &t.error), FLOW_E_ARGUMENT);
	expressions_service.release(expression);
	expression = expression_text_compile(&t, "length(c) > 1 + a - a");
	assert_int_equal(expression_plain_field(expression), -1);
	expressions_service.fields(expression, used);
	assert_true(used[0] && !used[1] && used[2]);
	expressions_service.release(expression);
	expression = expression_text_compile(&t, "3 * 5");
	assert_int_equal(expression_constant(expression, t.memory, &value, &t.error), FLOW_OK);
	assert_int_equal(value.as.int64, 15);
	expressions_service.release(expression);
	expression_text_close(&t);
}

static void
canonical_texts_are_short_and_stable(void **state)
{
	(void)state;
	static const char *const texts[][2] = {
		{ "dep_delay>15", "dep_delay > 15" },
		{ "15 < dep_delay", "dep_delay > 15" },
		{ "(a AND (b)) OR NOT a", "a and b or not a" },
		{ "a and (b or a)", "a and (b or a)" },
		{ "dep_delay - (1 - 2)", "dep_delay - (1 - 2)" },
		{ "LOWER(\"odd name\")", "lower(\"odd name\")" },
		{ "m['k'].\"x y\"", "m.k.\"x y\"" },
		{ "dep_delay IS NOT NULL", "dep_delay is not null" },
		{ "\"odd name\" not like 'a!%' escape '!'", "\"odd name\" not like 'a!%' escape '!'" },
		{ "case dep_delay when 1 then 'it''s' else null end", "case dep_delay when 1 then 'it''s' else null end" },
		{ "CAST(dep_delay AS decimal(5,2))", "cast(dep_delay as decimal(5,2))" },
		{ "interval '90m'", "interval '1h30m'" },
		{ "extract(hour from timestamp '2013-01-01 10:00:00')", "extract('hour', timestamp '2013-01-01T10:00:00Z')" },
		{ "1.50", "1.50" },
		{ "f > 1.5", "f > 1.5" },
		{ "-dep_delay", "-dep_delay" },
		{ "x'00FF'", "x'00ff'" },
	};
	expression_text t;
	const flow_schema *parts[6];
	static const char *const names[6] = { "dep_delay", "a", "b", "odd name", "m", "f" };
	static const char *const kinds[6] = { "int64", "bool", "bool", "string", "any", "float64" };
	flow_field_spec specs[6];
	const flow_field_spec *list[6];
	for (int i = 0; i < 6; i++) {
		parts[i] = schema_parse_type(flow_slice_of(kinds[i]), NULL);
		specs[i] = (flow_field_spec){ .struct_size = FLOW_SIZEOF(flow_field_spec),
									  .name = flow_slice_of(names[i]),
									  .schema = parts[i] };
		list[i] = &specs[i];
	}
	expression_text_open(&t, "record(x:int64)", "");
	schema_release(t.schema);
	t.schema = schema_make_record(flow_slice_of(""), list, 6, &t.error);
	assert_non_null(t.schema);
	for (int i = 0; i < 6; i++)
		schema_release(parts[i]);
	for (size_t i = 0; i < FLOW_COUNT(texts); i++)
		if (strcmp(expression_text_printed(&t, texts[i][0]), texts[i][1]) != 0)
			fail_msg("%s is printed as %s, not %s", texts[i][0], t.text, texts[i][1]);
	expression_text_close(&t);
}

static void
the_order_of_values_is_total(void **state)
{
	(void)state;
	flow_value null = flow_null(), small = flow_int64(-5), large = flow_uint64(UINT64_MAX), text = flow_string("a", 1);
	flow_value longer = flow_string("ab", 2), nan = flow_float64(0.0 / 0.0), most = flow_float64(1e308);
	assert_true(expressions_service.compare(&null, &small) < 0);
	assert_true(expressions_service.compare(&null, &null) == 0);
	assert_true(expressions_service.compare(&small, &large) < 0);
	assert_true(expressions_service.compare(&large, &most) < 0);
	assert_true(expressions_service.compare(&most, &nan) < 0);
	assert_true(expressions_service.compare(&nan, &nan) == 0);
	assert_true(expressions_service.compare(&text, &longer) < 0);
	assert_true(expressions_service.compare(&longer, &text) > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(and_or_not_follow_the_tables_of_sql),
		cmocka_unit_test(null_in_lists_and_bounds_is_unknown),
		cmocka_unit_test(operators_bind_as_in_sql),
		cmocka_unit_test(words_and_functions_are_case_insensitive_and_fields_are_not),
		cmocka_unit_test(what_is_not_chosen_is_not_evaluated),
		cmocka_unit_test(a_failing_row_fails_the_call_where_no_statuses_are_wanted),
		cmocka_unit_test(errors_name_the_column_and_the_nearest_name),
		cmocka_unit_test(the_place_stands_before_the_message),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(members_are_read_from_records_maps_and_any),
		cmocka_unit_test(any_is_checked_row_by_row),
		cmocka_unit_test(names_are_entries_of_rows_that_are_self_typed),
		cmocka_unit_test(rows_without_a_value_have_null_fields),
		cmocka_unit_test(only_selected_rows_are_evaluated),
		cmocka_unit_test(batches_of_any_size_give_the_same),
		cmocka_unit_test(results_have_the_type_that_was_promised),
		cmocka_unit_test(plain_fields_constants_and_used_fields_are_known),
		cmocka_unit_test(canonical_texts_are_short_and_stable),
		cmocka_unit_test(the_order_of_values_is_total),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
