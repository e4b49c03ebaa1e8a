/* Numbers are exact: comparisons at the edges of types, arithmetic, casts of everything to everything; functions of
 * numbers, text and time where an edge is easily lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/expression_text.h"

static void
check(expression_text *t, const char *text, const char *expected)
{
	const char *got = expression_text_values(t, text);
	if (strcmp(got, expected) != 0)
		fail_msg("%s\n  gives    %s\n  expected %s", text, got, expected);
}

static void
check_table(const char *const table[][2], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *got = expression_text_value(table[i][0]);
		if (strcmp(got, table[i][1]) != 0)
			fail_msg("%s\n  gives    %s\n  expected %s", table[i][0], got, table[i][1]);
	}
}

/* Rows: 2^53 + 1 as int64 and 2^53 as float64; 2^63 - 1 and 2^63; -2^63 twice; 2^64 - 1 and 2^64; 0.1 as decimal and
 * float. */
static const char edges[] =
	"{\"i\":9007199254740993,\"u\":\"9007199254740993\",\"f\":9007199254740992.0,\"d\":\"9007199254740993\"}\n"
	"{\"i\":9223372036854775807,\"u\":\"18446744073709551615\",\"f\":9223372036854775808.0,\"d\":\"0.1\"}\n"
	"{\"i\":-9223372036854775808,\"u\":\"0\",\"f\":-9223372036854775808.0,\"d\":\"-9223372036854775808\"}\n"
	"{\"i\":0,\"u\":\"1\",\"f\":0.1,\"d\":\"0.1\"}\n"
	"{\"i\":1,\"u\":\"1\",\"f\":1.5,\"d\":\"1.50\"}\n";

static void
numbers_compare_by_exact_value_over_all_types(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(&t, "record(i:int64,u:uint64,f:float64,d:decimal)", edges);
	check(&t, "i = f", "false | false | true | false | false");
	check(&t, "i > f", "true | false | false | false | false");
	check(&t, "i < f", "false | true | false | true | true");
	check(&t, "u > f", "true | true | true | true | false");
	check(&t, "u = i", "true | false | false | false | true");
	check(&t, "u > i", "false | true | true | true | false");
	check(&t, "d = i", "true | false | true | false | false");
	check(&t, "d > f", "true | false | false | false | false");
	check(&t, "d = f", "false | false | true | false | true");
	check(&t, "d < f", "false | true | false | true | false");    /* the double 0.1 is a little more than 0.1 */
	check(&t, "f = 0.1", "false | false | false | true | false"); /* a literal beside a float is a float */
	check(&t, "d = 1.5", "false | false | false | false | true");
	check(&t, "f = 9007199254740993", "false | false | false | false | false");
	check(&t, "i = 9007199254740993", "true | false | false | false | false");
	check(&t, "f > 9223372036854775807", "false | true | false | false | false");
	check(&t, "u = 18446744073709551615", "false | true | false | false | false");
	check(&t, "i < 1e400 and f < 1e400", "true | true | true | true | true");
	check(&t, "f in (9007199254740992, 1.5)", "true | false | false | false | true");
	check(&t, "i in (9007199254740992, 1.0)", "false | false | false | false | true");
	assert_string_equal(expression_text_selected(&t, "i > 9007199254740992"), "0 1");
	assert_string_equal(expression_text_selected(&t, "f > 1"), "0 1 4");
	assert_string_equal(expression_text_selected(&t, "not (f <= 1)"), "0 1 4");
	assert_string_equal(expression_text_selected(&t, "d <= 0.1"), "1 2 3");
	assert_string_equal(expression_text_selected(&t, "1 < f"), "0 1 4");
	expression_text_close(&t);
}

static void
nan_is_above_all_numbers_and_equal_to_itself(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(&t, "record(f:float64)",
						 "{\"f\":1.0}\n{\"f\":\"NaN\"}\n{\"f\":\"Infinity\"}\n{\"f\":\"-Infinity\"}\n");
	check(&t, "f > 5", "false | true | true | false");
	check(&t, "f = f", "true | true | true | true");
	check(&t, "f < 5", "true | false | false | true");
	assert_string_equal(expression_text_selected(&t, "f > 5"), "1 2");
	assert_string_equal(expression_text_selected(&t, "f >= 5"), "1 2");
	assert_string_equal(expression_text_selected(&t, "f <= 5"), "0 3");
	assert_string_equal(expression_text_selected(&t, "not (f > 5)"), "0 3");
	assert_string_equal(expression_text_selected(&t, "not (f <= 5)"), "1 2");
	assert_string_equal(expression_text_selected(&t, "f <> 1"), "1 2 3");
	expression_text_close(&t);
}

static void
arithmetic_is_exact_or_fails(void **state)
{
	(void)state;
	static const char *const table[][2] = {
		{ "9223372036854775807 + 0", "9223372036854775807" },
		{ "-9223372036854775808", "-9223372036854775808" },
		{ "9007199254740993 + 1", "9007199254740994" },
		{ "7 / 2", "3" },
		{ "-7 / 2", "-3" },
		{ "7 % 3", "1" },
		{ "-7 % 3", "-1" },
		{ "7 % -3", "1" },
		{ "7.0 / 2", "3.5" },
		{ "1.0 / 3", "0.33333333333333333" },
		{ "2 / 3.0", "0.66666666666666667" },
		{ "6.00 / 2", "3.00" },
		{ "-7.5 % 2", "-1.5" },
		{ "7.5 % -2", "1.5" },
		{ "8.5 % 3", "2.5" },
		{ "0.1 + 0.2", "0.3" },
		{ "0.1 + 0.2 = 0.3", "true" },
		{ "1.50 * 2", "3.00" },
		{ "99999999999999999999999999999999999999999 + 1", "100000000000000000000000000000000000000000" },
		{ "18446744073709551615 - 1", "18446744073709551614" },
		{ "cast(1 as uint64) + 2", "3" },
		{ "cast(0.1 as float64) + cast(0.2 as float64)", "0.30000000000000004" },
		{ "cast(1 as float64) / 4", "0.25" },
		{ "cast(7 as float64) % 4", "3.0" },
		{ "1e3", "1000" },
		{ "1e3 + 1", "1001" },
		{ ".5 + 1", "1.5" },
	};
	check_table(table, FLOW_COUNT(table));
	expression_text t;
	expression_text_open(
		&t, "record(i:int64,u:uint64,f:float64,d:decimal,z:int64)",
		"{\"i\":9223372036854775807,\"u\":\"18446744073709551615\",\"f\":1e308,\"d\":\"1.5\",\"z\":0}\n"
		"{\"i\":-9223372036854775808,\"u\":\"0\",\"f\":-1e308,\"d\":\"-1.5\",\"z\":-1}\n");
	check(&t, "i + 1", "FLOW_E_RANGE: the result of + does not fit int64 at character 3 | -9223372036854775807");
	check(&t, "i - 1", "9223372036854775806 | FLOW_E_RANGE: the result of - does not fit int64 at character 3");
	check(&t, "i * 2",
		  "FLOW_E_RANGE: the result of * does not fit int64 at character 3 | "
		  "FLOW_E_RANGE: the result of * does not fit int64 at character 3");
	check(&t, "-i", "-9223372036854775807 | FLOW_E_RANGE: the result of - does not fit int64 at character 1");
	check(&t, "abs(i)", "9223372036854775807 | FLOW_E_RANGE: abs: the result does not fit int64 at character 1");
	check(&t, "i / z",
		  "FLOW_E_RANGE: division by zero at character 3 | FLOW_E_RANGE: the result of / does not fit int64 at "
		  "character 3");
	check(&t, "i % z", "FLOW_E_RANGE: division by zero at character 3 | 0");
	check(&t, "u + 1", "FLOW_E_RANGE: the result of + does not fit uint64 at character 3 | 1");
	check(&t, "u - 1", "18446744073709551614 | FLOW_E_RANGE: the result of - does not fit uint64 at character 3");
	check(&t, "u * i", "FLOW_E_RANGE: the result of * does not fit uint64 at character 3 | 0");
	check(&t, "cast(u as decimal) - i - 1", "9223372036854775807 | 9223372036854775807");
	check(&t, "f * 10",
		  "FLOW_E_RANGE: the result of * does not fit float64 at character 3 | "
		  "FLOW_E_RANGE: the result of * does not fit float64 at character 3");
	check(&t, "f / z", "FLOW_E_RANGE: division by zero at character 3 | 1e308");
	check(&t, "d / z", "FLOW_E_RANGE: division by zero at character 3 | 1.5");
	check(&t, "i + d", "9223372036854775808.5 | -9223372036854775809.5");
	check(&t, "d * f", "1.5e308 | 1.5e308");
	check(&t, "1e100000 + d",
		  "FLOW_E_RANGE: the result of + has more than 4096 digits at character 10 | "
		  "FLOW_E_RANGE: the result of + has more than 4096 digits at character 10");
	expression_text_close(&t);
}

static void
casts_keep_the_value_or_fail(void **state)
{
	(void)state;
	static const char *const table[][2] = {
		{ "cast('42' as int64)", "42" },
		{ "cast('-9223372036854775808' as int64)", "-9223372036854775808" },
		{ "cast(5.0 as int64)", "5" },
		{ "cast(cast(5 as float64) as int64)", "5" },
		{ "cast(true as int64)", "1" },
		{ "cast('18446744073709551615' as uint64)", "18446744073709551615" },
		{ "cast(18446744073709551615 as float64)", "1.8446744073709552e19" },
		{ "cast('1.50' as decimal)", "1.50" },
		{ "cast(1.005 as decimal(5,2))", "1.01" },
		{ "cast(5 as decimal(5,2))", "5.00" },
		{ "cast(cast(0.1 as float64) as decimal)", "0.1" },
		{ "cast('1e3' as float64)", "1000.0" },
		{ "cast(0.1 as float32)", "0.10000000149011612" },
		{ "cast('TRUE' as bool)", "true" },
		{ "cast(0 as bool)", "false" },
		{ "cast(1.50 as string)", "\"1.50\"" },
		{ "cast(cast(1.5 as float64) as string)", "\"1.5\"" },
		{ "cast(true as string)", "\"true\"" },
		{ "cast(date '2013-01-05' as string)", "\"2013-01-05\"" },
		{ "cast(timestamp '2013-01-05 10:00:00.250' as string)", "\"2013-01-05T10:00:00.25Z\"" },
		{ "cast('2013-01-05' as date)", "\"2013-01-05\"" },
		{ "cast(timestamp '1969-12-31T23:00:00Z' as date)", "\"1969-12-31\"" },
		{ "cast(timestamp '1969-12-31T23:00:00Z' as time)", "\"23:00:00\"" },
		{ "cast(date '2013-01-05' as timestamp(s))", "\"2013-01-05T00:00:00Z\"" },
		{ "cast(timestamp '1969-12-31T23:59:59.9999Z' as timestamp(s))", "\"1969-12-31T23:59:59Z\"" },
		{ "cast('2013-01-05T10:00:00+02:00' as timestamp)", "\"2013-01-05T08:00:00Z\"" },
		{ "cast('2013-01-05T10:00:00' as local_timestamp)", "\"2013-01-05T10:00:00\"" },
		{ "cast('00112233-4455-6677-8899-aabbccddeeff' as uuid)", "\"00112233-4455-6677-8899-aabbccddeeff\"" },
		{ "cast(cast('00112233-4455-6677-8899-aabbccddeeff' as uuid) as string)",
		  "\"00112233-4455-6677-8899-aabbccddeeff\"" },
		{ "cast('ab' as bytes) = x'6162'", "true" },
		{ "cast(x'6162' as string)", "\"ab\"" },
		{ "cast('ab' as fixed(2)) = x'6162'", "true" },
		{ "cast('b' as enum(a,b))", "\"b\"" },
		{ "try_cast('x' as int64)", "null" },
		{ "try_cast('7' as int64)", "7" },
		{ "try_cast(1.5 as int32)", "null" },
		{ "cast(null as date)", "null" },
		{ "cast('NaN' as float64) > 1", "true" },
	};
	check_table(table, FLOW_COUNT(table));
}

/* Everything that a cast must refuse, one row each, through a field so that nothing is folded. */
static void
casts_refuse_what_they_cannot_keep(void **state)
{
	(void)state;
	static const char *const strings[][3] = {
		{ "int64", "x", "FLOW_E_DECODE: 'x' is not a text of int64" },
		{ "int64", "", "FLOW_E_DECODE: '' is not a text of int64" },
		{ "int64", " 1", "FLOW_E_DECODE: ' 1' is not a text of int64" },
		{ "int64", "1.0", "FLOW_E_DECODE: '1.0' is not a text of int64" },
		{ "int64", "9223372036854775808", "FLOW_E_RANGE: '9223372036854775808' is out of range for int64" },
		{ "int32", "2147483648", "FLOW_E_RANGE: '2147483648' is out of range for int32" },
		{ "uint64", "-1", "FLOW_E_" },
		{ "uint64", "18446744073709551616", "FLOW_E_RANGE" },
		{ "float64", "1e999", "FLOW_E_RANGE: '1e999' is out of range for float64" },
		{ "float64", "1,5", "FLOW_E_DECODE" },
		{ "float32", "1e39", "FLOW_E_RANGE" },
		{ "decimal", "1.2.3", "FLOW_E_DECODE" },
		{ "decimal(3,1)", "123.4", "FLOW_E_RANGE" },
		{ "decimal(3,1)", "99.95", "FLOW_E_RANGE" },
		{ "bool", "yes", "FLOW_E_DECODE: 'yes' is not a text of bool" },
		{ "date", "2013-02-29", "FLOW_E_DECODE" },
		{ "time", "25:00:00", "FLOW_E_DECODE" },
		{ "timestamp", "2013-01-01", "FLOW_E_DECODE" },
		{ "timestamp(s)", "2013-01-01T00:00:00.5Z", "FLOW_E_RANGE" },
		{ "local_timestamp", "2013-01-01T00:00:00Z", "FLOW_E_DECODE" },
		{ "uuid", "00112233-4455-6677-8899-aabbccddeef", "FLOW_E_DECODE" },
		{ "uuid", "00112233-4455-6677-8899-aabbccddeefg", "FLOW_E_DECODE" },
		{ "enum(a,b)", "c", "FLOW_E_DECODE" },
		{ "fixed(3)", "ab", "FLOW_E_RANGE: 2 bytes do not make a fixed(3)" },
	};
	for (size_t i = 0; i < FLOW_COUNT(strings); i++) {
		expression_text t;
		char line[128], text[64];
		snprintf(line, sizeof(line), "{\"s\":\"%s\"}\n", strings[i][1]);
		snprintf(text, sizeof(text), "cast(s as %s)", strings[i][0]);
		expression_text_open(&t, "record(s:string)", line);
		if (strncmp(expression_text_values(&t, text), strings[i][2], strlen(strings[i][2])) != 0)
			fail_msg("%s of '%s' gives %s, not %s", text, strings[i][1], t.text, strings[i][2]);
		snprintf(text, sizeof(text), "try_cast(s as %s)", strings[i][0]);
		assert_string_equal(expression_text_values(&t, text), "null");
		expression_text_close(&t);
	}
	expression_text t;
	expression_text_open(
		&t, "record(f:float64,d:decimal,i:int64,b:bytes,t:timestamp,l:list<int64>)",
		"{\"f\":1.5,\"d\":\"1.5\",\"i\":-1,\"b\":\"\xc3\xbf\",\"t\":\"2013-01-01T00:00:00Z\",\"l\":[1]}\n");
	check(&t, "cast(f as int64)", "FLOW_E_RANGE: a float64 does not fit int64 at character 1");
	check(&t, "cast(d as int64)", "FLOW_E_RANGE: a decimal does not fit int64 at character 1");
	check(&t, "cast(i as uint64)", "FLOW_E_RANGE: a int64 does not fit uint64 at character 1");
	check(&t, "cast(b as string)", "FLOW_E_RANGE: a bytes does not fit string at character 1");
	assert_non_null(strstr(expression_text_refused(&t, "cast(t as int64)"), "timestamp cannot be cast to int64"));
	assert_non_null(strstr(expression_text_refused(&t, "cast(l as string)"), "list cannot be cast to string"));
	assert_non_null(strstr(expression_text_refused(&t, "cast(f as date)"), "float64 cannot be cast to date"));
	assert_non_null(strstr(expression_text_refused(&t, "cast(i as list<int64>)"), "cannot be cast"));
	assert_non_null(strstr(expression_text_refused(&t, "l = l"), "a list cannot be compared"));
	expression_text_close(&t);
}

static void
functions_hold_at_their_edges(void **state)
{
	(void)state;
	static const char *const table[][2] = {
		{ "round(2.5)", "3" },
		{ "round(-2.5)", "-3" },
		{ "round(1234, -2)", "1200" },
		{ "round(1250, -2)", "1300" },
		{ "round(cast(2.675 as float64), 2)", "2.68" },
		{ "round(1.005, 2)", "1.01" },
		{ "trunc(-1.9)", "-1" },
		{ "trunc(cast(-1.9 as float64))", "-1.0" },
		{ "ceil(-1.2)", "-1" },
		{ "ceil(1.0)", "1" },
		{ "floor(-1.2)", "-2" },
		{ "floor(1.9)", "1" },
		{ "floor(7)", "7" },
		{ "ceil(cast(1.2 as float64))", "2.0" },
		{ "sign(-3)", "-1" },
		{ "sign(0.0)", "0" },
		{ "mod(7, 3)", "1" },
		{ "greatest(1, 2.5, null)", "2.5" },
		{ "least('b', 'a')", "\"a\"" },
		{ "power(2, 0.5)", "1.4142135623730951" },
		{ "sqrt(2)", "1.4142135623730951" },
		{ "exp(1)", "2.718281828459045" },
		{ "length('Grüße')", "5" },
		{ "byte_length('Grüße')", "7" },
		{ "length(x'00ff')", "2" },
		{ "substr('abc', 0, 2)", "\"a\"" },
		{ "substr('abc', -1, 3)", "\"a\"" },
		{ "substr('abc', 2)", "\"bc\"" },
		{ "substr('Grüße', 3, 2)", "\"üß\"" },
		{ "substr('abc', 9)", "\"\"" },
		{ "substr('abc', -9223372036854775808, 9223372036854775807)", "\"\"" },
		{ "left('Grüße', 3)", "\"Grü\"" },
		{ "left('abc', -5)", "\"\"" },
		{ "right('abc', -1)", "\"bc\"" },
		{ "right('Grüße', 2)", "\"ße\"" },
		{ "left('abc', 9223372036854775807)", "\"abc\"" },
		{ "right('abc', -9223372036854775808)", "\"\"" },
		{ "position('ß' in 'Grüße')", "4" },
		{ "position('' in 'abc')", "1" },
		{ "position('z', 'abc')", "0" },
		{ "replace('aaa', 'aa', 'b')", "\"ba\"" },
		{ "replace('abc', '', 'x')", "\"abc\"" },
		{ "split_part('a,b,c', ',', 2)", "\"b\"" },
		{ "split_part('a,b,c', ',', 4)", "\"\"" },
		{ "split_part('a--b', '--', -1)", "\"b\"" },
		{ "split_part('abc', '', 1)", "\"abc\"" },
		{ "trim('  a b ')", "\"a b\"" },
		{ "trim('üaü', 'ü')", "\"a\"" },
		{ "rtrim('aaa', 'a')", "\"\"" },
		{ "lpad('ab', 5, 'xyz')", "\"xyzab\"" },
		{ "lpad('abc', 2)", "\"ab\"" },
		{ "rpad('a', 3, 'ü')", "\"aüü\"" },
		{ "lpad('a', 3, '')", "\"a\"" },
		{ "lpad('abc', -1)", "\"\"" },
		{ "starts_with('a', '')", "true" },
		{ "ends_with('abc', 'abcd')", "false" },
		{ "contains('abc', 'bc')", "true" },
		{ "'50%' like '50!%' escape '!'", "true" },
		{ "'ü' like '_'", "true" },
		{ "'abcabd' like '%ab_'", "true" },
		{ "'' like '%'", "true" },
		{ "'a' like ''", "false" },
		{ "concat('a', 1, true, null)", "\"a1true\"" },
		{ "x'00' || x'ff' = x'00ff'", "true" },
		{ "date_trunc('week', date '2013-01-06')", "\"2012-12-31\"" },
		{ "date_trunc('quarter', date '2013-05-06')", "\"2013-04-01\"" },
		{ "date_trunc('hour', timestamp '1969-12-31T23:59:59Z')", "\"1969-12-31T23:00:00Z\"" },
		{ "date_trunc('millisecond', timestamp '2013-01-01T00:00:00.123456Z')", "\"2013-01-01T00:00:00.123Z\"" },
		{ "date_trunc('year', timestamp '2013-05-06T07:00:00Z')", "\"2013-01-01T00:00:00Z\"" },
		{ "extract(dow from date '2013-01-06')", "7" },
		{ "extract(doy from date '2012-12-31')", "366" },
		{ "extract(week from date '2012-12-31')", "1" },
		{ "extract(epoch from timestamp '1969-12-31T23:59:59.5Z')", "-1" },
		{ "extract(microsecond from timestamp '2013-01-01T00:00:01.25Z')", "250000" },
		{ "year(timestamp '1969-12-31T23:59:59Z')", "1969" },
		{ "hour(timestamp '1969-12-31T23:59:59Z')", "23" },
		{ "to_timestamp(-1)", "\"1969-12-31T23:59:59.999Z\"" },
		{ "to_timestamp(5, 's')", "\"1970-01-01T00:00:05Z\"" },
		{ "to_epoch(timestamp '1969-12-31T23:59:59.9999Z')", "-1" },
		{ "to_epoch(to_timestamp(5, 's'), 'ns')", "5000000000" },
		{ "timestamp '2013-01-01T00:00:00Z' + interval '1h30m'", "\"2013-01-01T01:30:00Z\"" },
		{ "timestamp '2013-01-01T01:00:00Z' - timestamp '2013-01-01T00:00:00Z' = interval '1h'", "true" },
		{ "date '2013-03-01' - date '2013-02-01'", "28" },
		{ "date '2013-02-28' + 1", "\"2013-03-01\"" },
		{ "date '2013-01-01' < timestamp '2013-01-01T00:00:00.000001Z'", "true" },
		{ "to_timestamp(1000, 'ms') = to_timestamp(1, 's')", "true" },
		{ "to_timestamp(1000000001, 'ns') > to_timestamp(1, 's')", "true" },
		{ "interval '1h' * 2 = interval '2h'", "true" },
		{ "timestamp '2013-01-01T00:00:00Z' between '2012-12-31T00:00:00Z' and '2013-01-01 00:00:00'", "true" },
	};
	check_table(table, FLOW_COUNT(table));
	expression_text t;
	expression_text_open(&t, "record(s:string,i:int64,f:float64)", "{\"s\":\"a\",\"i\":-1,\"f\":-1.0}\n");
	check(&t, "substr(s, 1, i)", "FLOW_E_ARGUMENT: substr: the length is negative at character 1");
	check(&t, "split_part(s, ',', i + 1)",
		  "FLOW_E_ARGUMENT: split_part: parts are numbered from 1, or from -1 at the end at character 1");
	check(&t, "sqrt(f)", "FLOW_E_RANGE: sqrt: the number is negative at character 1");
	check(&t, "ln(f + 1)", "FLOW_E_RANGE: ln: the number is not above zero at character 1");
	check(&t, "exp(f * -1000)", "FLOW_E_RANGE: exp: the result does not fit float64 at character 1");
	check(&t, "power(f, 0.5)", "FLOW_E_RANGE: power: a negative number has no such power at character 1");
	check(&t, "lpad(s, 999999999)", "FLOW_E_LIMIT: lpad: the result has more than 16777216 bytes at character 1");
	check(&t, "round(i, 2000)",
		  "FLOW_E_RANGE: round: the number of digits must be between -1000 and 1000 at character 1");
	expression_text_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_compare_by_exact_value_over_all_types),
		cmocka_unit_test(nan_is_above_all_numbers_and_equal_to_itself),
		cmocka_unit_test(arithmetic_is_exact_or_fails),
		cmocka_unit_test(casts_keep_the_value_or_fail),
		cmocka_unit_test(casts_refuse_what_they_cannot_keep),
		cmocka_unit_test(functions_hold_at_their_edges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
