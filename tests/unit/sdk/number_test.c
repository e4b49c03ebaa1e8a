/* Integers, doubles and decimals <-> text and bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/batch.h"
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

static uint64_t
random_number(void)
{
	static uint64_t seed = 88172645463325252u;
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void
integers_of_every_length_go_through_text(void **state)
{
	(void)state;
	for (int round = 0; round < 200000; round++) {
		uint64_t number = random_number() >> (round % 64);
		char expected[32], printed[FLOW_NUMBER_TEXT_MAX];
		int size = sprintf(expected, "%" PRIu64, number);
		assert_int_equal(flow_print_uint64(number, printed), size);
		assert_memory_equal(printed, expected, (size_t)size);
		uint64_t again = 0;
		assert_int_equal(flow_parse_uint64(flow_slice_of(expected), &again), FLOW_OK);
		assert_true(again == number);
		size = sprintf(expected, "%" PRId64, (int64_t)(0 - number));
		assert_int_equal(flow_print_int64((int64_t)(0 - number), printed), size);
		assert_memory_equal(printed, expected, (size_t)size);
		int64_t signed_again = 0;
		assert_int_equal(flow_parse_int64(flow_slice_of(expected), &signed_again), FLOW_OK);
		assert_true(signed_again == (int64_t)(0 - number));
	}
}

static void
integers_at_the_edges(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		flow_status as_int64;
		flow_status as_uint64;
	} cases[] = {
		{ "0", FLOW_OK, FLOW_OK },
		{ "-0", FLOW_OK, FLOW_OK },
		{ "007", FLOW_OK, FLOW_OK },
		{ "00000000000000000000000000000000000007", FLOW_OK, FLOW_OK },
		{ "9223372036854775807", FLOW_OK, FLOW_OK },
		{ "9223372036854775808", FLOW_E_RANGE, FLOW_OK },
		{ "-9223372036854775808", FLOW_OK, FLOW_E_RANGE },
		{ "-9223372036854775809", FLOW_E_RANGE, FLOW_E_RANGE },
		{ "18446744073709551615", FLOW_E_RANGE, FLOW_OK },
		{ "18446744073709551616", FLOW_E_RANGE, FLOW_E_RANGE },
		{ "99999999999999999999999", FLOW_E_RANGE, FLOW_E_RANGE },
		{ "", FLOW_E_DECODE, FLOW_E_DECODE },
		{ "-", FLOW_E_DECODE, FLOW_E_DECODE },
		{ "+1", FLOW_E_DECODE, FLOW_E_DECODE },
		{ " 1", FLOW_E_DECODE, FLOW_E_DECODE },
		{ "1 ", FLOW_E_DECODE, FLOW_E_DECODE },
		{ "1.0", FLOW_E_DECODE, FLOW_E_DECODE },
		{ "1234567:", FLOW_E_DECODE, FLOW_E_DECODE },
		{ "12345/78", FLOW_E_DECODE, FLOW_E_DECODE },
		{ "1234567\xB0", FLOW_E_DECODE, FLOW_E_DECODE },
		{ "99999999999999999999999x", FLOW_E_DECODE, FLOW_E_DECODE },
		{ "0x10", FLOW_E_DECODE, FLOW_E_DECODE },
		{ "--1", FLOW_E_DECODE, FLOW_E_DECODE },
	};
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		int64_t a;
		uint64_t b;
		if (flow_parse_int64(flow_slice_of(cases[i].text), &a) != cases[i].as_int64 ||
			flow_parse_uint64(flow_slice_of(cases[i].text), &b) != cases[i].as_uint64)
			fail_msg("'%s' is not taken as it should be", cases[i].text);
	}
}

static void
every_byte_that_is_no_digit_is_found_wherever_it_stands(void **state)
{
	(void)state;
	for (int place = 0; place < 16; place++) {
		for (int c = 0; c < 256; c++) {
			char text[17] = "1234567812345678";
			text[place] = (char)c;
			uint64_t number;
			flow_status status = flow_parse_uint64(flow_slice_make(text, 16), &number);
			int fine = (c >= '0' && c <= '9') || (c == '-' && place == 0);
			assert_true(fine ? status != FLOW_E_DECODE : status == FLOW_E_DECODE);
		}
	}
}

static void
every_double_goes_through_text(void **state)
{
	(void)state;
	for (int round = 0; round < 200000; round++) {
		uint64_t bits = random_number();
		double number, again = 0;
		memcpy(&number, &bits, 8);
		if (!isfinite(number))
			continue;
		if (round % 3 == 0)
			number = (double)(int64_t)(bits >> 20) / 1000;
		char text[FLOW_NUMBER_TEXT_MAX + 1];
		uint64_t size = flow_print_float64(number, text);
		assert_true(size < FLOW_NUMBER_TEXT_MAX);
		text[size] = '\0';
		assert_int_equal(flow_parse_float64(flow_slice_make(text, size), 0, &again), FLOW_OK);
		if (memcmp(&again, &number, 8) != 0 || strtod(text, NULL) != number)
			fail_msg("%.17g is printed as %s", number, text);
		assert_non_null(strpbrk(text, ".e"));
	}
}

static void
doubles_are_printed_shortest(void **state)
{
	(void)state;
	static const struct {
		double number;
		const char *text;
	} cases[] = { { 1, "1.0" },
				  { -0.0, "-0.0" },
				  { 0.1, "0.1" },
				  { 1e300, "1e300" },
				  { 5e-324, "5e-324" },
				  { 1.5e-7, "1.5e-7" },
				  { 100000, "100000.0" },
				  { DBL_MAX, "1.7976931348623157e308" },
				  { 0.30000000000000004, "0.30000000000000004" },
				  { NAN, "NaN" },
				  { INFINITY, "Infinity" },
				  { -INFINITY, "-Infinity" } };
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		char text[FLOW_NUMBER_TEXT_MAX + 1];
		text[flow_print_float64(cases[i].number, text)] = '\0';
		assert_string_equal(text, cases[i].text);
	}
}

static void
doubles_are_read_to_the_nearest_or_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		flow_status status;
		double number;
	} cases[] = {
		{ "1", FLOW_OK, 1 },
		{ "+1.50", FLOW_OK, 1.5 },
		{ "-0", FLOW_OK, -0.0 },
		{ "0.1", FLOW_OK, 0.1 },
		{ "123456789012345", FLOW_OK, 123456789012345 },
		{ "1234567890123456", FLOW_OK, 1234567890123456 },
		{ "0.000000000000001", FLOW_OK, 1e-15 },
		{ "9007199254740993", FLOW_OK, 9007199254740992 },
		{ "9007199254740992.99999999999999999999999999", FLOW_OK, 9007199254740992 + 2 - 2 },
		{ "1e400", FLOW_E_RANGE, 0 },
		{ "-1e400", FLOW_E_RANGE, 0 },
		{ "1e-400", FLOW_E_RANGE, 0 },
		{ "0e999999", FLOW_OK, 0 },
		{ "0.000e-999999", FLOW_OK, 0 },
		{ "5e-324", FLOW_OK, 5e-324 },
		{ "1E5", FLOW_OK, 1e5 },
		{ "1.", FLOW_E_DECODE, 0 },
		{ ".5", FLOW_E_DECODE, 0 },
		{ "1.e5", FLOW_E_DECODE, 0 },
		{ "1e", FLOW_E_DECODE, 0 },
		{ "1e+", FLOW_E_DECODE, 0 },
		{ "", FLOW_E_DECODE, 0 },
		{ "-", FLOW_E_DECODE, 0 },
		{ "+-1", FLOW_E_DECODE, 0 },
		{ "0x1p3", FLOW_E_DECODE, 0 },
		{ "1,5", FLOW_E_DECODE, 0 },
		{ "1 ", FLOW_E_DECODE, 0 },
		{ "1.5.5", FLOW_E_DECODE, 0 },
		{ "nan", FLOW_E_DECODE, 0 },
		{ "inf", FLOW_E_DECODE, 0 },
		{ "-infinity", FLOW_E_DECODE, 0 },
	};
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		double number = 42;
		flow_status status = flow_parse_float64(flow_slice_of(cases[i].text), 0, &number);
		if (status != cases[i].status ||
			(status == FLOW_OK && memcmp(&number, &cases[i].number, 8) != 0 && number != strtod(cases[i].text, NULL)))
			fail_msg("'%s': status %d, %.17g", cases[i].text, status, number);
	}
	double number;
	assert_int_equal(flow_parse_float64(flow_slice_of("-Infinity"), 1, &number), FLOW_OK);
	assert_true(isinf(number) && number < 0);
	assert_int_equal(flow_parse_float64(flow_slice_of("NaN"), 1, &number), FLOW_OK);
	assert_true(isnan(number));
	assert_int_equal(flow_parse_float64(flow_slice_of("nano"), 1, &number), FLOW_E_DECODE);
}

static void
decimals_keep_their_digits_and_scale(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		const char *digits;
		int32_t scale;
		const char *printed;
	} cases[] = {
		{ "1.50", "150", 2, "1.50" },
		{ "-0.00", "0", 2, "-0.00" },
		{ "007.1", "71", 1, "7.1" },
		{ "+12", "12", 0, "12" },
		{ ".5", "5", 1, "0.5" },
		{ "5.", "5", 0, "5" },
		{ "1e3", "1", -3, "1000" },
		{ "1.5E-3", "15", 4, "0.0015" },
		{ "0e5", "0", -5, "0" },
		{ "1e40", "1", -40, "10000000000000000000000000000000000000000" },
		{ "1e41", "1", -41, "1e41" },
		{ "1.25e100", "125", -98, "1.25e100" },
		{ "1e-100", "1", 100, "1e-100" },
		{ "123456789012345678901234567890.123456789", "123456789012345678901234567890123456789", 9,
		  "123456789012345678901234567890.123456789" },
	};
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		flow_value value;
		assert_int_equal(flow_parse_decimal(flow_slice_of(cases[i].text), memory, &value), FLOW_OK);
		assert_int_equal(value.as.decimal->count, strlen(cases[i].digits));
		assert_memory_equal(value.as.decimal->digits, cases[i].digits, value.as.decimal->count);
		assert_int_equal(value.as.decimal->scale, cases[i].scale);
		char text[256];
		text[flow_print_decimal(value.as.decimal, text)] = '\0';
		assert_string_equal(text, cases[i].printed);
	}
}

static void
what_is_no_decimal_or_too_large_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = { "",   "-",  ".",   "e5",  "1e",  "1e+",  "1.2.3",
										 "1x", " 1", "0x1", "NaN", "--1", "1e5.0" };
	flow_value value;
	for (size_t i = 0; i < FLOW_COUNT(texts); i++)
		assert_int_equal(flow_parse_decimal(flow_slice_of(texts[i]), memory, &value), FLOW_E_DECODE);
	assert_int_equal(flow_parse_decimal(flow_slice_of("1e100001"), memory, &value), FLOW_E_RANGE);
	assert_int_equal(flow_parse_decimal(flow_slice_of("1e99999999999999999999"), memory, &value), FLOW_E_RANGE);
	char *digits = malloc(FLOW_DECIMAL_MAX_DIGITS + 2);
	memset(digits, '9', FLOW_DECIMAL_MAX_DIGITS + 2);
	assert_int_equal(flow_parse_decimal(flow_slice_make(digits, FLOW_DECIMAL_MAX_DIGITS), memory, &value), FLOW_OK);
	assert_int_equal(flow_parse_decimal(flow_slice_make(digits, FLOW_DECIMAL_MAX_DIGITS + 1), memory, &value),
					 FLOW_E_RANGE);
	free(digits);
}

static void
assert_bytes(const char *text, int32_t scale, const char *hex)
{
	flow_value value, again;
	char buffer[FLOW_DECIMAL_MAX_BYTES], printed[2 * FLOW_DECIMAL_MAX_BYTES + 1] = "";
	uint64_t size;
	assert_int_equal(flow_parse_decimal(flow_slice_of(text), memory, &value), FLOW_OK);
	assert_int_equal(flow_decimal_to_bytes(value.as.decimal, scale, buffer, &size), FLOW_OK);
	for (uint64_t i = 0; i < size; i++)
		sprintf(printed + 2 * i, "%02x", (unsigned char)buffer[i]);
	assert_string_equal(printed, hex);
	assert_int_equal(flow_decimal_from_bytes(flow_slice_make(buffer, size), scale, memory, &again), FLOW_OK);
	char a[8192], b[8192];
	a[flow_print_decimal(again.as.decimal, a)] = '\0';
	assert_int_equal(flow_parse_decimal(flow_slice_of(a), memory, &again), FLOW_OK);
	assert_int_equal(flow_decimal_to_bytes(again.as.decimal, scale, b, &size), FLOW_OK);
	assert_memory_equal(buffer, b, size);
}

static void
decimals_go_through_bytes(void **state)
{
	(void)state;
	assert_bytes("0", 0, "00");
	assert_bytes("1", 0, "01");
	assert_bytes("-1", 0, "ff");
	assert_bytes("127", 0, "7f");
	assert_bytes("128", 0, "0080");
	assert_bytes("-128", 0, "80");
	assert_bytes("-129", 0, "ff7f");
	assert_bytes("10.0000", 4, "0186a0");
	assert_bytes("10", 4, "0186a0");
	assert_bytes("-0.0001", 4, "ff");
	assert_bytes("1.50", 1, "0f");
	assert_bytes("0.000", 0, "00");
	assert_bytes("18446744073709551615", 0, "00ffffffffffffffff");
	assert_bytes("-18446744073709551616", 0, "ff0000000000000000");
	assert_bytes("340282366920938463463374607431768211456", 0, "0100000000000000000000000000000000");
	flow_value value;
	char buffer[FLOW_DECIMAL_MAX_BYTES];
	uint64_t size;
	flow_parse_decimal(flow_slice_of("1.55"), memory, &value);
	assert_int_equal(flow_decimal_to_bytes(value.as.decimal, 1, buffer, &size), FLOW_E_RANGE);
	assert_int_equal(flow_decimal_to_bytes(value.as.decimal, 5000, buffer, &size), FLOW_E_RANGE);
	assert_int_equal(flow_decimal_from_bytes(flow_slice_make("\0\0\0\5", 4), 1, memory, &value), FLOW_OK);
	assert_int_equal(value.as.decimal->count, 1);
	assert_int_equal(flow_decimal_from_bytes(flow_slice_make("", 0), 1, memory, &value), FLOW_OK);
	assert_memory_equal(value.as.decimal->digits, "0", 1);
	char *ones = calloc(1, 4000);
	ones[0] = 1;
	assert_int_equal(flow_decimal_from_bytes(flow_slice_make(ones, 4000), 0, memory, &value), FLOW_E_RANGE);
	assert_int_equal(flow_decimal_from_bytes(flow_slice_make(ones, 1704), 0, memory, &value), FLOW_E_RANGE);
	assert_int_equal(flow_decimal_from_bytes(flow_slice_make(ones, 1700), 0, memory, &value), FLOW_OK);
	assert_int_equal(value.as.decimal->count, 4092);
	free(ones);
	char *nines = malloc(FLOW_DECIMAL_MAX_DIGITS);
	memset(nines, '9', FLOW_DECIMAL_MAX_DIGITS);
	assert_int_equal(flow_parse_decimal(flow_slice_make(nines, FLOW_DECIMAL_MAX_DIGITS), memory, &value), FLOW_OK);
	assert_int_equal(flow_decimal_to_bytes(value.as.decimal, 0, buffer, &size), FLOW_OK);
	assert_true(size <= FLOW_DECIMAL_MAX_BYTES);
	assert_int_equal(flow_decimal_from_bytes(flow_slice_make(buffer, size), 0, memory, &value), FLOW_OK);
	assert_int_equal(value.as.decimal->count, FLOW_DECIMAL_MAX_DIGITS);
	free(nines);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_of_every_length_go_through_text),
		cmocka_unit_test(integers_at_the_edges),
		cmocka_unit_test(every_byte_that_is_no_digit_is_found_wherever_it_stands),
		cmocka_unit_test(every_double_goes_through_text),
		cmocka_unit_test(doubles_are_printed_shortest),
		cmocka_unit_test(doubles_are_read_to_the_nearest_or_refused),
		cmocka_unit_test(decimals_keep_their_digits_and_scale),
		cmocka_unit_test(what_is_no_decimal_or_too_large_is_refused),
		cmocka_unit_test(decimals_go_through_bytes),
	};
	return cmocka_run_group_tests(tests, open_memory, close_memory);
}
