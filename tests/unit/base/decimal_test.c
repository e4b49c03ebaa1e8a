/* Exact decimals. decimal_vectors.txt: a, operation (r: round), b, scale, digits and scale of the result, by Python's decimal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/batch.h"
#include "base/decimal.h"
#include "flow_sdk/number.h"

static batch_pool *pool;
static flow_builder *memory;

static int
open_memory(void **state)
{
	(void)state;
	pool = batch_pool_create(0);
	memory = builder_create(pool, 0, 0);
	return memory == NULL;
}

static int
close_memory(void **state)
{
	(void)state;
	builder_destroy(memory);
	batch_pool_destroy(pool);
	return 0;
}

static const flow_decimal *
decimal(const char *text)
{
	flow_value value;
	if (flow_parse_decimal(flow_slice_of(text), memory, &value) != FLOW_OK)
		fail_msg("'%s' is no decimal", text);
	return value.as.decimal;
}

static void
assert_decimal(const flow_value *value, const char *digits, int32_t scale, const char *what)
{
	const flow_decimal *d = value->as.decimal;
	int negative = digits[0] == '-';
	flow_slice expected = flow_slice_of(digits + negative);
	if (!flow_slice_equal(flow_slice_make(d->digits, d->count), expected) || d->scale != scale ||
		d->negative != negative)
		fail_msg("%s\ngives %s%.*s scale %d", what, d->negative ? "-" : "", (int)d->count, d->digits, d->scale);
}

static flow_status
operate(char operation, const flow_decimal *a, const flow_decimal *b, int32_t scale, flow_value *result)
{
	switch (operation) {
	case '+':
		return decimal_add(a, b, memory, result);
	case '-':
		return decimal_subtract(a, b, memory, result);
	case '*':
		return decimal_multiply(a, b, memory, result);
	case '/':
		return decimal_divide(a, b, scale, memory, result);
	default:
		return decimal_round(a, scale, memory, result);
	}
}

static void
every_operation_is_exact(void **state)
{
	(void)state;
	FILE *file = fopen(SOURCE_FOLDER "/tests/unit/base/decimal_vectors.txt", "r");
	assert_non_null(file);
	static char line[4096], a[1024], b[1024], digits[2048];
	int count = 0;
	while (fgets(line, sizeof(line), file) != NULL) {
		char operation;
		int scale, result_scale;
		assert_int_equal(sscanf(line, "%1023s %c %1023s %d %2047s %d", a, &operation, b, &scale, digits, &result_scale),
						 6);
		flow_value result;
		if (operate(operation, decimal(a), decimal(b), scale, &result) != FLOW_OK)
			fail_msg("%s is refused", line);
		assert_decimal(&result, digits, result_scale, line);
		count++;
		builder_clear(memory);
	}
	fclose(file);
	assert_int_equal(count, 200);
}

static void
halves_are_rounded_away_from_zero(void **state)
{
	(void)state;
	static const struct {
		const char *number;
		int32_t scale;
		const char *digits;
	} cases[] = { { "2.5", 0, "3" }, { "-2.5", 0, "-3" },  { "2.4999", 0, "2" },   { "0.5", 0, "1" },
				  { "0.4", 0, "0" }, { "-0.4", 0, "0" },   { "99.95", 1, "1000" }, { "0.04", 0, "0" },
				  { "55", -2, "1" }, { "1.5", 3, "1500" }, { "0", 3, "0" },        { "5e-100", 99, "1" } };
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		flow_value result;
		assert_int_equal(decimal_round(decimal(cases[i].number), cases[i].scale, memory, &result), FLOW_OK);
		assert_decimal(&result, cases[i].digits, cases[i].scale, cases[i].number);
	}
	flow_value third;
	assert_int_equal(decimal_divide(decimal("1"), decimal("3"), 5, memory, &third), FLOW_OK);
	assert_decimal(&third, "33333", 5, "1/3");
	assert_int_equal(decimal_divide(decimal("-1"), decimal("8"), 2, memory, &third), FLOW_OK);
	assert_decimal(&third, "-13", 2, "-1/8");
}

static void
what_has_no_result_is_out_of_range(void **state)
{
	(void)state;
	flow_value result;
	flow_decimal nan = { .digits = "0", .count = 1, .special = FLOW_DECIMAL_NAN };
	assert_int_equal(decimal_divide(decimal("1"), decimal("0.00"), 2, memory, &result), FLOW_E_RANGE);
	assert_int_equal(decimal_add(decimal("1"), &nan, memory, &result), FLOW_E_RANGE);
	assert_int_equal(decimal_add(decimal("1e100000"), decimal("1"), memory, &result), FLOW_E_RANGE);
	assert_int_equal(decimal_multiply(decimal("1e90000"), decimal("1e90000"), memory, &result), FLOW_E_RANGE);
	assert_int_equal(decimal_round(decimal("1e10"), 5000, memory, &result), FLOW_E_RANGE);
	char *nines = malloc(4001);
	memset(nines, '9', 4000);
	nines[4000] = '\0';
	assert_int_equal(decimal_multiply(decimal(nines), decimal(nines), memory, &result), FLOW_E_RANGE);
	assert_int_equal(decimal_divide(decimal(nines), decimal("7"), 0, memory, &result), FLOW_OK);
	assert_int_equal(decimal_divide(decimal("1"), decimal(nines), 0, memory, &result), FLOW_OK);
	assert_decimal(&result, "0", 0, "1/9...9");
	free(nines);
}

static void
comparison_is_by_value(void **state)
{
	(void)state;
	static const char *const ascending[] = { "-1e50", "-100.01", "-100", "-0.5", "-1e-50", "0",   "1e-50",
											 "0.5",   "0.50001", "1",    "9.99", "10",     "1e2", "1e50" };
	for (size_t i = 0; i < FLOW_COUNT(ascending); i++)
		for (size_t j = 0; j < FLOW_COUNT(ascending); j++) {
			int order = decimal_compare(decimal(ascending[i]), decimal(ascending[j]));
			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
	assert_int_equal(decimal_compare(decimal("1.50"), decimal("1.5")), 0);
	assert_int_equal(decimal_compare(decimal("-0"), decimal("0.000")), 0);
	assert_int_equal(decimal_compare(decimal("1e3"), decimal("1000")), 0);
	flow_decimal nan = { .digits = "0", .count = 1, .special = FLOW_DECIMAL_NAN };
	flow_decimal infinity = { .digits = "0", .count = 1, .special = FLOW_DECIMAL_INFINITY };
	flow_decimal below = { .digits = "0", .count = 1, .special = FLOW_DECIMAL_INFINITY, .negative = 1 };
	assert_true(decimal_compare(&below, decimal("-1e99999")) < 0);
	assert_true(decimal_compare(decimal("1e99999"), &infinity) < 0);
	assert_true(decimal_compare(&infinity, &nan) < 0);
	assert_int_equal(decimal_compare(&nan, &nan), 0);
}

static void
integers_and_doubles_go_both_ways(void **state)
{
	(void)state;
	flow_value value;
	int64_t number;
	uint64_t unsigned_number;
	__int128 wide;
	assert_int_equal(decimal_from_int64(INT64_MIN, memory, &value), FLOW_OK);
	assert_decimal(&value, "-9223372036854775808", 0, "the least integer");
	assert_int_equal(decimal_to_int64(value.as.decimal, &number), FLOW_OK);
	assert_true(number == INT64_MIN);
	assert_int_equal(decimal_from_uint64(UINT64_MAX, memory, &value), FLOW_OK);
	assert_int_equal(decimal_to_uint64(value.as.decimal, &unsigned_number), FLOW_OK);
	assert_true(unsigned_number == UINT64_MAX);
	assert_int_equal(decimal_to_int64(value.as.decimal, &number), FLOW_E_RANGE);
	assert_int_equal(decimal_to_int64(decimal("12.00"), &number), FLOW_OK);
	assert_int_equal(number, 12);
	assert_int_equal(decimal_to_int64(decimal("-1.2e1"), &number), FLOW_OK);
	assert_int_equal(number, -12);
	assert_int_equal(decimal_to_int64(decimal("0.001"), &number), FLOW_E_RANGE);
	assert_int_equal(decimal_to_int64(decimal("1e19"), &number), FLOW_E_RANGE);
	assert_int_equal(decimal_to_int64(decimal("0e99999"), &number), FLOW_OK);
	assert_int_equal(decimal_to_uint64(decimal("-1"), &unsigned_number), FLOW_E_RANGE);
	assert_int_equal(decimal_to_int128(decimal("-99999999999999999999999999999999999999"), &wide), FLOW_OK);
	assert_int_equal(decimal_from_int128(wide, 5, memory, &value), FLOW_OK);
	assert_decimal(&value, "-99999999999999999999999999999999999999", 5, "38 nines");
	assert_int_equal(decimal_to_int128(decimal("100000000000000000000000000000000000000"), &wide), FLOW_E_RANGE);
	wide = (__int128)1 << 126;
	wide = -wide - wide;
	assert_int_equal(decimal_from_int128(wide, 0, memory, &value), FLOW_OK);
	assert_decimal(&value, "-170141183460469231731687303715884105728", 0, "-2^127");
	assert_int_equal(decimal_from_float64(0.1, memory, &value), FLOW_OK);
	assert_decimal(&value, "1", 1, "0.1");
	assert_int_equal(decimal_from_float64(-1e300, memory, &value), FLOW_OK);
	assert_decimal(&value, "-1", -300, "-1e300");
	assert_int_equal(decimal_from_float64(5, memory, &value), FLOW_OK);
	assert_decimal(&value, "5", 0, "5.0");
	assert_int_equal(decimal_from_float64(NAN, memory, &value), FLOW_E_RANGE);
	assert_true(decimal_to_float64(decimal("-0.1")) == -0.1);
	assert_true(decimal_to_float64(decimal("9007199254740993")) == 9007199254740992.0);
	assert_true(isinf(decimal_to_float64(decimal("1e400"))));
	assert_true(decimal_to_float64(decimal("1e-400")) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_is_exact),           cmocka_unit_test(halves_are_rounded_away_from_zero),
		cmocka_unit_test(what_has_no_result_is_out_of_range), cmocka_unit_test(comparison_is_by_value),
		cmocka_unit_test(integers_and_doubles_go_both_ways),
	};
	return cmocka_run_group_tests(tests, open_memory, close_memory);
}
