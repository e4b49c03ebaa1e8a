/* Functions of dates and timestamps. All of it is calendar arithmetic without time zones: a zoned timestamp is seen
 * in UTC. */
#include <strings.h>

#include "base/clock.h"
#include "expr/function.h"
#include "flow_sdk/time.h"

enum time_unit {
	UNIT_MICROSECOND,
	UNIT_MILLISECOND,
	UNIT_SECOND,
	UNIT_MINUTE,
	UNIT_HOUR,
	UNIT_DAY,
	UNIT_WEEK,
	UNIT_MONTH,
	UNIT_QUARTER,
	UNIT_YEAR,
	UNIT_DOW,
	UNIT_DOY,
	UNIT_EPOCH,
	UNIT_NONE
};

#define DAY_SECONDS 86400

static const char *const unit_names[] = { "microsecond", "millisecond", "second", "minute", "hour", "day",  "week",
										  "month",       "quarter",     "year",   "dow",    "doy",  "epoch" };

static int64_t
floor_divide(int64_t number, int64_t divisor)
{
	return number / divisor - (number % divisor < 0);
}

static int64_t
ticks_a_second(uint8_t unit)
{
	int64_t ticks = 1;
	for (unsigned u = 0; u < unit; u += 3)
		ticks *= 1000;
	return ticks;
}

/* Days since 1970 and ticks since midnight. */
static void
split_instant(const flow_value *v, int64_t *days, int64_t *ticks)
{
	if (v->type == FLOW_DATE) {
		*days = v->as.int64;
		*ticks = 0;
		return;
	}
	int64_t day = DAY_SECONDS * ticks_a_second(v->unit);
	*days = floor_divide(v->as.int64, day);
	*ticks = v->as.int64 - *days * day;
}

/* First day of the week (Monday), month, quarter or year that the day lies in. */
static int64_t
first_day(int64_t days, enum time_unit unit)
{
	int64_t year;
	unsigned month, day;
	if (unit == UNIT_WEEK)
		return days - (days + 3 - floor_divide(days + 3, 7) * 7); /* day 0 was a Thursday */
	flow_civil_from_days(days, &year, &month, &day);
	if (unit == UNIT_YEAR)
		month = 1;
	if (unit == UNIT_QUARTER)
		month = (month - 1) / 3 * 3 + 1;
	return flow_days_from_civil(year, month, 1);
}

/* Ticks of one unit below the day; 0: it is finer than the timestamp's own unit. */
static int64_t
unit_ticks(enum time_unit unit, uint8_t precision)
{
	int64_t second = ticks_a_second(precision);
	switch (unit) {
	case UNIT_MICROSECOND:
		return second / 1000000;
	case UNIT_MILLISECOND:
		return second / 1000;
	case UNIT_SECOND:
		return second;
	case UNIT_MINUTE:
		return 60 * second;
	default:
		return 3600 * second;
	}
}

static flow_status
date_trunc_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	enum time_unit unit = (enum time_unit)n->index;
	const flow_value *v = arguments[1];
	int64_t days, ticks, day_ticks = DAY_SECONDS * ticks_a_second(v->unit);
	split_instant(v, &days, &ticks);
	*result = *v;
	if (unit < UNIT_DAY) {
		int64_t step = v->type == FLOW_DATE ? 0 : unit_ticks(unit, v->unit);
		if (step > 1)
			result->as.int64 -= ticks % step;
		return FLOW_OK;
	}
	int64_t first = unit == UNIT_DAY ? days : first_day(days, unit);
	if (v->type == FLOW_DATE) {
		result->as.int64 = first;
		return FLOW_OK;
	}
	if (__builtin_mul_overflow(first, day_ticks, &result->as.int64))
		return row_fail(f, FLOW_E_RANGE, "the result does not fit a timestamp");
	return FLOW_OK;
}

static int64_t
calendar_part(int64_t days, enum time_unit unit)
{
	int64_t year;
	unsigned month, day;
	flow_civil_from_days(days, &year, &month, &day);
	switch (unit) {
	case UNIT_YEAR:
		return year;
	case UNIT_QUARTER:
		return (month - 1) / 3 + 1;
	case UNIT_MONTH:
		return month;
	case UNIT_DAY:
		return day;
	case UNIT_DOW:
		return days + 3 - floor_divide(days + 3, 7) * 7 + 1;
	default:
		return days - flow_days_from_civil(year, 1, 1) + 1;
	}
}

/* ISO 8601: the week of the year that its Thursday lies in. */
static int64_t
week_number(int64_t days)
{
	int64_t thursday = first_day(days, UNIT_WEEK) + 3;
	return (calendar_part(thursday, UNIT_DOY) - 1) / 7 + 1;
}

static int64_t
clock_part(int64_t ticks, int64_t second, enum time_unit unit)
{
	switch (unit) {
	case UNIT_HOUR:
		return ticks / (3600 * second);
	case UNIT_MINUTE:
		return ticks / (60 * second) % 60;
	case UNIT_SECOND:
		return ticks / second % 60;
	case UNIT_MILLISECOND:
		return second >= 1000 ? ticks % second / (second / 1000) : 0;
	default:
		return second >= 1000000 ? ticks % second / (second / 1000000) : ticks % second * (1000000 / second);
	}
}

static flow_status
extract(const flow_value *v, enum time_unit unit, flow_value *result)
{
	int64_t days, ticks, second = ticks_a_second(v->unit);
	split_instant(v, &days, &ticks);
	if (unit == UNIT_EPOCH)
		*result = flow_int64(v->type == FLOW_DATE ? days * DAY_SECONDS : floor_divide(v->as.int64, second));
	else if (unit == UNIT_WEEK)
		*result = flow_int64(week_number(days));
	else if (unit < UNIT_DAY)
		*result = flow_int64(clock_part(ticks, second, unit));
	else
		*result = flow_int64(calendar_part(days, unit));
	return FLOW_OK;
}

static flow_status
extract_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)f;
	return extract(arguments[1], (enum time_unit)n->index, result);
}

static flow_status
part_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)f;
	return extract(arguments[0], (enum time_unit)n->function->parameter, result);
}

static flow_status
now_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)n;
	(void)arguments;
	if (f->now == 0)
		f->now = clock_now();
	*result = flow_timestamp(f->now, FLOW_MICROSECONDS, FLOW_ZONED);
	return FLOW_OK;
}

static flow_status
to_timestamp_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	(void)f;
	*result = flow_timestamp(arguments[0]->as.int64, (uint8_t)n->index, FLOW_ZONED);
	return FLOW_OK;
}

static flow_status
to_epoch_row(frame *f, const node *n, const flow_value *const *arguments, flow_value *result)
{
	int64_t number = 0;
	if (flow_convert_unit(arguments[0]->as.int64, arguments[0]->unit, (uint8_t)n->index, &number) != FLOW_OK)
		return row_fail(f, FLOW_E_RANGE, "the result does not fit int64");
	*result = flow_int64(number);
	return FLOW_OK;
}

/* The unit that argument `number` names, as a literal; UNIT_NONE and an error if it does not. */
static enum time_unit
literal_unit(compiler *c, const node *argument)
{
	if (!argument->folded || argument->constant.type != FLOW_STRING) {
		compile_fail(c, FLOW_E_TYPE, argument->column, "the unit must be written out, like 'hour'");
		return UNIT_NONE;
	}
	flow_slice text = flow_value_slice(&argument->constant);
	for (uint32_t i = 0; i < FLOW_COUNT(unit_names); i++)
		if (strlen(unit_names[i]) == text.size && strncasecmp(unit_names[i], text.data, text.size) == 0)
			return (enum time_unit)i;
	compile_fail(
		c, FLOW_E_CONFIG, argument->column,
		"unknown unit '%.*s': there are microsecond, millisecond, second, minute, hour, day, week, month, quarter, "
		"year; to extract also dow, doy, epoch",
		text.size > 40 ? 40 : (int)text.size, text.data);
	return UNIT_NONE;
}

static int
type_extract(compiler *c, node *n)
{
	n->type.kind = FLOW_KIND_INT64;
	n->index = literal_unit(c, n->children[0]);
	return n->index != UNIT_NONE;
}

static int
type_date_trunc(compiler *c, node *n)
{
	uint8_t nullable = n->type.nullable;
	n->index = literal_unit(c, n->children[0]);
	if (n->index > UNIT_YEAR && n->index != UNIT_NONE)
		compile_fail(c, FLOW_E_CONFIG, n->children[0]->column, "nothing can be cut to this unit");
	n->type = n->children[1]->type;
	n->type.nullable = nullable;
	return n->index <= UNIT_YEAR;
}

/* 's', 'ms', 'us' or 'ns'; milliseconds where nothing is said. */
static int
epoch_unit(compiler *c, node *n)
{
	static const char *const names[] = { "s", "ms", "us", "ns" };
	n->index = FLOW_MILLISECONDS;
	if (n->child_count < 2)
		return 1;
	const node *unit = n->children[1];
	for (uint32_t i = 0; i < FLOW_COUNT(names); i++) {
		n->index = 3 * i;
		if (unit->folded && unit->constant.type == FLOW_STRING &&
			flow_slice_is(flow_value_slice(&unit->constant), names[i]))
			return 1;
	}
	return compile_fail(c, FLOW_E_CONFIG, unit->column, "the unit must be 's', 'ms', 'us' or 'ns'");
}

static int
type_to_timestamp(compiler *c, node *n)
{
	if (!epoch_unit(c, n))
		return 0;
	n->type.kind = FLOW_KIND_TIMESTAMP;
	n->type.unit = (uint8_t)n->index;
	n->type.zoned = 1;
	return 1;
}

static int
type_to_epoch(compiler *c, node *n)
{
	n->type.kind = FLOW_KIND_INT64;
	return epoch_unit(c, n);
}

static int
type_now(compiler *c, node *n)
{
	(void)c;
	n->type = (value_type){ .kind = FLOW_KIND_TIMESTAMP, .unit = FLOW_MICROSECONDS, .zoned = 1 };
	return 1;
}

#define PART(function_name, description, sample, unit)                                                                 \
	{                                                                                                                  \
		.name = function_name, .group = "Dates and times", .signature = function_name "(t) -> int64",                  \
		.doc = description, .example = sample, .classes = "t", .minimum = 1, .maximum = 1, .result = FLOW_KIND_INT64,  \
		.row = part_row, .parameter = unit                                                                             \
	}
#define TIME(function_name, text, description, sample, argument_classes, least, most, rule, function_row)              \
	{                                                                                                                  \
		.name = function_name, .group = "Dates and times", .signature = text, .doc = description, .example = sample,   \
		.classes = argument_classes, .minimum = least, .maximum = most, .type = rule, .row = function_row              \
	}

const function time_functions[] = {
	TIME("now", "now() -> timestamp",
		 "Processing time: the clock's time, read once for each batch, so that all its rows see the same. It makes "
		 "results "
		 "depend on when the job runs.",
		 "now() >= timestamp '2024-01-01T00:00:00Z' = true", "", 0, 0, type_now, now_row),
	TIME("date_trunc", "date_trunc(unit, t)",
		 "Cut to the start of its microsecond, millisecond, second, minute, hour, day, week (Monday), month, quarter "
		 "or year. "
		 "The type stays.",
		 "date_trunc('hour', timestamp '2013-01-01T10:59:00Z') = timestamp '2013-01-01T10:00:00Z'", "ut", 2, 2,
		 type_date_trunc, date_trunc_row),
	TIME("extract", "extract(unit from t) -> int64",
		 "A part of a date or timestamp: one of the units of date_trunc (week: ISO number), dow (1 Monday to 7 "
		 "Sunday), doy (day "
		 "of the year), epoch (seconds since 1970, rounded down). second is whole; millisecond and microsecond are "
		 "those "
		 "within the second. extract('unit', t) is the same.",
		 "extract(dow from date '2013-01-01') = 2", "ut", 2, 2, type_extract, extract_row),
	PART("year", "The year.", "year(date '2013-02-03') = 2013", UNIT_YEAR),
	PART("quarter", "The quarter, 1 to 4.", "quarter(date '2013-05-03') = 2", UNIT_QUARTER),
	PART("month", "The month, 1 to 12.", "month(date '2013-02-03') = 2", UNIT_MONTH),
	PART("week", "The ISO 8601 week, 1 to 53.", "week(date '2016-01-03') = 53", UNIT_WEEK),
	PART("day", "The day of the month.", "day(date '2013-02-03') = 3", UNIT_DAY),
	PART("hour", "The hour, 0 to 23.", "hour(timestamp '2013-01-01T10:59:30Z') = 10", UNIT_HOUR),
	PART("minute", "The minute, 0 to 59.", "minute(timestamp '2013-01-01T10:59:30Z') = 59", UNIT_MINUTE),
	PART("second", "The whole second, 0 to 59.", "second(timestamp '2013-01-01T10:59:30.9Z') = 30", UNIT_SECOND),
	TIME("to_timestamp", "to_timestamp(n [, unit]) -> timestamp",
		 "The instant n milliseconds after 1970-01-01T00:00:00Z; unit: 's', 'ms', 'us' or 'ns', which is the result's "
		 "unit too.",
		 "to_timestamp(1500, 'ms') = timestamp '1970-01-01T00:00:01.5Z'", "iu", 1, 2, type_to_timestamp,
		 to_timestamp_row),
	TIME("to_epoch", "to_epoch(t [, unit]) -> int64",
		 "Milliseconds since 1970-01-01T00:00:00Z, or in the unit 's', 'ms', 'us' or 'ns'; rounded down.",
		 "to_epoch(timestamp '1970-01-01T00:00:01.5Z') = 1500", "Tu", 1, 2, type_to_epoch, to_epoch_row),
	{ .name = NULL },
};
