/* Dates, times and timestamps from text (flow_sdk/time.h). */
#include "calendar.h"
#include "flow_sdk/time.h"

struct cursor {
	const char *at;
	const char *end;
};

/* Seconds and the digits behind them. */
struct clock_time {
	int64_t seconds;
	int64_t fraction; /* in the unit asked for */
	flow_status status;
};

static int
digit(char c)
{
	unsigned d = (unsigned char)c - (unsigned)'0';
	return d <= 9 ? (int)d : -1;
}

/* Two digits, or -1. */
static int
two(const char *text)
{
	int tens = digit(text[0]), ones = digit(text[1]);
	return (tens | ones) < 0 ? -1 : tens * 10 + ones;
}

static int
days_of_month(int64_t year, int month)
{
	static const int8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int leap = month == 2 && (year & 3) == 0 && (year % 100 != 0 || year % 400 == 0);
	return days[month - 1] + leap;
}

static int
is_date(int64_t year, int month, int day)
{
	return month >= 1 && month <= 12 && day >= 1 && day <= days_of_month(year, month);
}

/* "YYYY-MM-DD" in 10 bytes. */
static int
read_plain_date(const char *text, int64_t *days)
{
	int century = two(text), year = two(text + 2), month = two(text + 5), day = two(text + 8);
	if ((century | year | month | day) < 0 || text[4] != '-' || text[7] != '-')
		return 0;
	year += century * 100;
	if (!is_date(year, month, day))
		return 0;
	/* flow_days_from_civil in 32 bits, 400 years on so that nothing is below zero. */
	uint32_t y = (uint32_t)(year + 400 - (month <= 2)), m = (uint32_t)(month > 2 ? month - 3 : month + 9);
	uint32_t sum = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + (uint32_t)day - 1;
	*days = (int64_t)sum - 146097 - 719468;
	return 1;
}

/* Years outside of 0000..9999: sign, at least four digits. */
static flow_status
read_signed_date(struct cursor *c, int64_t *days)
{
	int negative = *c->at++ == '-', digits = 0;
	int64_t year = 0;
	for (; c->at < c->end && digit(*c->at) >= 0; c->at++, digits++)
		if (year < 1000000000000)
			year = year * 10 + digit(*c->at);
	if (digits < 4 || c->end - c->at < 6 || c->at[0] != '-' || c->at[3] != '-')
		return FLOW_E_DECODE;
	int month = two(c->at + 1), day = two(c->at + 4);
	year = negative ? -year : year;
	if ((month | day) < 0 || !is_date(year, month, day))
		return FLOW_E_DECODE;
	c->at += 6;
	if (year > 1000000000000 || year < -1000000000000)
		return FLOW_E_RANGE;
	*days = flow_days_from_civil(year, (unsigned)month, (unsigned)day);
	return FLOW_OK;
}

static flow_status
read_date(struct cursor *c, int64_t *days)
{
	if (c->at < c->end && (*c->at == '-' || *c->at == '+'))
		return read_signed_date(c, days);
	if (c->end - c->at < 10 || !read_plain_date(c->at, days))
		return FLOW_E_DECODE;
	c->at += 10;
	return FLOW_OK;
}

static int
read_plain_clock(const char *text, int64_t *seconds)
{
	int hour = two(text), minute = two(text + 3), second = two(text + 6);
	if ((hour | minute | second) < 0 || text[2] != ':' || text[5] != ':')
		return 0;
	*seconds = hour * 3600 + minute * 60 + second;
	return hour <= 23 && minute <= 59 && second <= 59;
}

/* The digits behind the point, at `c`, in `unit`; more of them may only be zeros. */
static flow_status
read_fraction(struct cursor *c, uint8_t unit, int64_t *fraction)
{
	int64_t number = 0;
	unsigned digits = 0;
	flow_status status = FLOW_OK;
	for (; c->at < c->end && digit(*c->at) >= 0; c->at++, digits++) {
		if (digits < unit)
			number = number * 10 + digit(*c->at);
		else if (*c->at != '0')
			status = FLOW_E_RANGE;
	}
	if (digits == 0)
		return FLOW_E_DECODE;
	*fraction = digits < unit ? number * calendar_power(unit - digits) : number;
	return status;
}

static struct clock_time
read_clock(struct cursor *c, uint8_t unit)
{
	struct clock_time time = { 0, 0, FLOW_E_DECODE };
	if (c->end - c->at < 8 || !read_plain_clock(c->at, &time.seconds))
		return time;
	c->at += 8;
	time.status = FLOW_OK;
	if (c->at < c->end && (*c->at == '.' || *c->at == ',')) {
		c->at++;
		time.status = read_fraction(c, unit, &time.fraction);
	}
	return time;
}

/* "Z", "+hh:mm", "+hhmm" or "+hh" -> seconds east of UTC. */
static flow_status
read_offset(struct cursor *c, int64_t *offset)
{
	*offset = 0;
	if (c->at == c->end)
		return FLOW_OK;
	char sign = *c->at++;
	if (sign == 'Z' || sign == 'z')
		return FLOW_OK;
	if ((sign != '+' && sign != '-') || c->end - c->at < 2)
		return FLOW_E_DECODE;
	int hours = two(c->at), minutes = 0;
	c->at += 2;
	if (c->at < c->end) {
		c->at += *c->at == ':';
		if (c->end - c->at < 2)
			return FLOW_E_DECODE;
		minutes = two(c->at);
		c->at += 2;
	}
	if ((hours | minutes) < 0 || hours > 23 || minutes > 59)
		return FLOW_E_DECODE;
	*offset = ((int64_t)hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
	return FLOW_OK;
}

flow_status
flow_parse_date(flow_slice text, flow_value *value)
{
	struct cursor c = { text.data, text.data + text.size };
	int64_t days = 0;
	flow_status status = read_date(&c, &days);
	if (status == FLOW_OK && c.at != c.end)
		status = FLOW_E_DECODE;
	if (status == FLOW_OK)
		*value = flow_cell(FLOW_DATE, days);
	return status;
}

flow_status
flow_parse_time(flow_slice text, uint8_t unit, flow_value *value)
{
	struct cursor c = { text.data, text.data + text.size };
	struct clock_time time = read_clock(&c, unit);
	if (c.at != c.end || time.status == FLOW_E_DECODE)
		return FLOW_E_DECODE;
	if (time.status != FLOW_OK)
		return time.status;
	*value = flow_cell(FLOW_TIME, time.seconds * calendar_power(unit) + time.fraction);
	value->unit = unit;
	return FLOW_OK;
}

static flow_status
finish_timestamp(int64_t days, const struct clock_time *time, int64_t offset, uint8_t unit, int zoned,
				 flow_value *value)
{
	/* Below zero the multiplication alone may overflow where the sum does not: use more bits. */
	__int128 seconds = (__int128)days * CALENDAR_DAY + time->seconds - offset;
	__int128 number = seconds * calendar_power(unit) + time->fraction;
	if (number > INT64_MAX || number < INT64_MIN)
		return FLOW_E_RANGE;
	*value = flow_timestamp((int64_t)number, unit, zoned ? FLOW_ZONED : 0);
	return FLOW_OK;
}

static flow_status
parse_any_timestamp(flow_slice text, uint8_t unit, int zoned, flow_value *value)
{
	struct cursor c = { text.data, text.data + text.size };
	int64_t days = 0, offset = 0;
	flow_status date_status = read_date(&c, &days);
	if (date_status == FLOW_E_DECODE || c.at == c.end || (*c.at != 'T' && *c.at != 't' && *c.at != ' '))
		return FLOW_E_DECODE;
	c.at++;
	struct clock_time time = read_clock(&c, unit);
	if (time.status == FLOW_E_DECODE || (zoned && read_offset(&c, &offset) != FLOW_OK) || c.at != c.end)
		return FLOW_E_DECODE;
	if (date_status != FLOW_OK || time.status != FLOW_OK)
		return FLOW_E_RANGE;
	return finish_timestamp(days, &time, offset, unit, zoned, value);
}

flow_status
flow_parse_timestamp(flow_slice text, uint8_t unit, int zoned, flow_value *value)
{
	/* The fixed-width forms "YYYY-MM-DDThh:mm:ssZ" and "YYYY-MM-DD hh:mm:ss" of seconds to microseconds, which cannot overflow. */
	int64_t days, seconds;
	int has_zone = text.size == 20 && zoned && text.data[19] == 'Z';
	if ((text.size == 19 || has_zone) && (text.data[10] == 'T' || text.data[10] == ' ') && unit <= FLOW_MICROSECONDS &&
		read_plain_date(text.data, &days) && read_plain_clock(text.data + 11, &seconds)) {
		*value = flow_timestamp((days * CALENDAR_DAY + seconds) * calendar_power(unit), unit, zoned ? FLOW_ZONED : 0);
		return FLOW_OK;
	}
	return parse_any_timestamp(text, unit, zoned, value);
}
