/* Dates, times, timestamps <-> text, and units. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow_sdk/time.h"

static void
days_and_dates_agree_over_the_centuries(void **state)
{
	(void)state;
	assert_int_equal(flow_days_from_civil(1970, 1, 1), 0);
	assert_int_equal(flow_days_from_civil(2000, 2, 29), 11016);
	assert_int_equal(flow_days_from_civil(1, 1, 1), -719162);
	for (int64_t days = -1000000; days < 3500000; days += 7) {
		int64_t year;
		unsigned month, day;
		flow_civil_from_days(days, &year, &month, &day);
		assert_true(month >= 1 && month <= 12 && day >= 1 && day <= 31);
		assert_int_equal(flow_days_from_civil(year, month, day), days);
		char text[FLOW_TIME_TEXT_MAX];
		flow_value date = flow_cell(FLOW_DATE, days), again;
		assert_int_equal(flow_parse_date(flow_slice_make(text, flow_print_time(&date, text)), &again), FLOW_OK);
		assert_int_equal(again.as.int64, days);
	}
}

struct example {
	const char *text;
	int64_t number;
	const char *printed; /* NULL: as the text */
};

static void
check(const struct example *e, flow_status status, const flow_value *value)
{
	char buffer[FLOW_TIME_TEXT_MAX + 1] = "";
	if (status != FLOW_OK)
		fail_msg("'%s' is refused", e->text);
	if (value->as.int64 != e->number)
		fail_msg("'%s' is read as %lld", e->text, (long long)value->as.int64);
	buffer[flow_print_time(value, buffer)] = '\0';
	assert_string_equal(buffer, e->printed == NULL ? e->text : e->printed);
}

static void
dates_are_read_and_printed(void **state)
{
	(void)state;
	static const struct example examples[] = { { "2013-01-01", 15706, NULL },     { "1969-12-31", -1, NULL },
											   { "0000-01-01", -719528, NULL },   { "9999-12-31", 2932896, NULL },
											   { "+10000-01-01", 2932897, NULL }, { "-0001-12-31", -719529, NULL } };
	for (size_t i = 0; i < FLOW_COUNT(examples); i++) {
		flow_value value;
		check(&examples[i], flow_parse_date(flow_slice_of(examples[i].text), &value), &value);
	}
}

static void
timestamps_are_read_in_every_unit_and_printed(void **state)
{
	(void)state;
	static const struct {
		uint8_t unit;
		int zoned;
		struct example example;
	} cases[] = {
		{ FLOW_MICROSECONDS, 1, { "2013-01-01T10:00:00Z", 1357034400000000, NULL } },
		{ FLOW_MICROSECONDS, 1, { "2013-01-01 10:00:00", 1357034400000000, "2013-01-01T10:00:00Z" } },
		{ FLOW_MICROSECONDS,
		  1,
		  { "2013-01-01T10:00:00.123456+02:00", 1357027200123456, "2013-01-01T08:00:00.123456Z" } },
		{ FLOW_MICROSECONDS, 0, { "2013-01-01T10:00:00.1", 1357034400100000, NULL } },
		{ FLOW_MILLISECONDS, 1, { "2013-01-01T10:00:00.120000-0530", 1357054200120, "2013-01-01T15:30:00.12Z" } },
		{ FLOW_SECONDS, 1, { "1969-12-31T23:59:59Z", -1, NULL } },
		{ FLOW_MILLISECONDS, 1, { "1969-12-31T23:59:59.999Z", -1, NULL } },
		{ FLOW_NANOSECONDS, 1, { "2262-04-11T23:47:16.854775807Z", INT64_MAX, NULL } },
		{ FLOW_NANOSECONDS, 1, { "1677-09-21T00:12:43.145224192Z", INT64_MIN, NULL } },
		{ FLOW_MICROSECONDS, 0, { "-0044-03-15T12:00:00", -63549316800000000, NULL } },
	};
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		flow_value value;
		flow_status status =
			flow_parse_timestamp(flow_slice_of(cases[i].example.text), cases[i].unit, cases[i].zoned, &value);
		check(&cases[i].example, status, &value);
		assert_int_equal(value.unit, cases[i].unit);
		assert_int_equal(value.flags, cases[i].zoned ? FLOW_ZONED : 0);
	}
}

static void
the_extremes_print_within_the_buffer(void **state)
{
	(void)state;
	char buffer[FLOW_TIME_TEXT_MAX];
	flow_value value = flow_timestamp(INT64_MIN, FLOW_SECONDS, FLOW_ZONED);
	assert_true(flow_print_time(&value, buffer) < sizeof(buffer));
	value = flow_timestamp(INT64_MAX, FLOW_SECONDS, FLOW_ZONED);
	assert_true(flow_print_time(&value, buffer) < sizeof(buffer));
	value = flow_cell(FLOW_DATE, INT64_MAX);
	assert_true(flow_print_time(&value, buffer) < sizeof(buffer));
	value = flow_cell(FLOW_DATE, INT64_MIN);
	assert_true(flow_print_time(&value, buffer) < sizeof(buffer));
}

static void
what_is_no_timestamp_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",
		"2013",
		"2013-01-01",
		"2013-01-01T",
		"2013-13-01T00:00:00Z",
		"2013-02-29T00:00:00Z",
		"2013-01-01T24:00:00Z",
		"2013-01-01T10:60:00Z",
		"2013-01-01T10:00:60Z",
		"2013-01-01T10:00:00.Z",
		"2013-01-01T10:00:00ZZ",
		"2013-01-01T10:00:00+",
		"2013-01-01T10:00:00+2:00",
		"2013-01-01T10:00:00+24:00",
		"2013-01-01x10:00:00Z",
		" 2013-01-01T10:00:00Z",
		"2013-01-01T10:00:00 ",
		"2013-1-1T10:00:00Z",
		"2O13-01-01T10:00:00Z",
		"20130101T100000Z",
		"2013-01-01T10:00:00+02:0",
	};
	for (size_t i = 0; i < FLOW_COUNT(texts); i++) {
		flow_value value;
		if (flow_parse_timestamp(flow_slice_of(texts[i]), FLOW_MICROSECONDS, 1, &value) != FLOW_E_DECODE)
			fail_msg("'%s' is not refused", texts[i]);
	}
	flow_value value;
	assert_int_equal(flow_parse_timestamp(flow_slice_of("2013-01-01T10:00:00Z"), FLOW_MICROSECONDS, 0, &value),
					 FLOW_E_DECODE);
	assert_int_equal(flow_parse_timestamp(flow_slice_of("2013-01-01T10:00:00.0001Z"), FLOW_MILLISECONDS, 1, &value),
					 FLOW_E_RANGE);
	assert_int_equal(flow_parse_timestamp(flow_slice_of("2262-04-11T23:47:16.854775808Z"), FLOW_NANOSECONDS, 1, &value),
					 FLOW_E_RANGE);
	assert_int_equal(
		flow_parse_timestamp(flow_slice_of("+99999999999999999999-01-01T00:00:00Z"), FLOW_SECONDS, 1, &value),
		FLOW_E_RANGE);
	assert_int_equal(flow_parse_date(flow_slice_of("2013-02-30"), &value), FLOW_E_DECODE);
	assert_int_equal(flow_parse_date(flow_slice_of("2013-02-28 "), &value), FLOW_E_DECODE);
}

static void
times_of_the_day_are_read_and_printed(void **state)
{
	(void)state;
	static const struct example examples[] = { { "10:00:00", 36000000000, NULL },
											   { "23:59:59.999999", 86399999999, NULL },
											   { "00:00:00.5", 500000, NULL } };
	for (size_t i = 0; i < FLOW_COUNT(examples); i++) {
		flow_value value;
		check(&examples[i], flow_parse_time(flow_slice_of(examples[i].text), FLOW_MICROSECONDS, &value), &value);
	}
	flow_value value;
	assert_int_equal(flow_parse_time(flow_slice_of("10:00"), FLOW_SECONDS, &value), FLOW_E_DECODE);
	assert_int_equal(flow_parse_time(flow_slice_of("10:00:00.5"), FLOW_SECONDS, &value), FLOW_E_RANGE);
}

static void
units_round_down_and_refuse_overflow(void **state)
{
	(void)state;
	int64_t number;
	assert_int_equal(flow_convert_unit(-1, FLOW_MICROSECONDS, FLOW_MILLISECONDS, &number), FLOW_OK);
	assert_int_equal(number, -1);
	assert_int_equal(flow_convert_unit(1999, FLOW_MILLISECONDS, FLOW_SECONDS, &number), FLOW_OK);
	assert_int_equal(number, 1);
	assert_int_equal(flow_convert_unit(INT64_MAX / 1000, FLOW_MICROSECONDS, FLOW_NANOSECONDS, &number), FLOW_OK);
	assert_int_equal(flow_convert_unit(INT64_MAX / 1000 + 1, FLOW_MICROSECONDS, FLOW_NANOSECONDS, &number),
					 FLOW_E_RANGE);
	flow_value date = flow_cell(FLOW_DATE, 15706);
	assert_int_equal(flow_microseconds(&date, &number), FLOW_OK);
	assert_int_equal(number, 1356998400000000);
	date.as.int64 = INT64_MAX / 2;
	assert_int_equal(flow_microseconds(&date, &number), FLOW_E_RANGE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(days_and_dates_agree_over_the_centuries),
		cmocka_unit_test(dates_are_read_and_printed),
		cmocka_unit_test(timestamps_are_read_in_every_unit_and_printed),
		cmocka_unit_test(the_extremes_print_within_the_buffer),
		cmocka_unit_test(what_is_no_timestamp_is_refused),
		cmocka_unit_test(times_of_the_day_are_read_and_printed),
		cmocka_unit_test(units_round_down_and_refuse_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
