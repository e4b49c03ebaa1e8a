/* Times in the forms that logs have, told as strftime tells them. */
#include <stdio.h>

#include "flow_sdk/plugin.h"
#include "flow_sdk/time.h"
#include "regex.h"

#define SEEN_YEAR 1u
#define SEEN_MONTH 2u
#define SEEN_DAY 4u
#define SEEN_HOUR 8u
#define SEEN_OFFSET 16u
#define SEEN_EPOCH 32u
#define SEEN_DATE (SEEN_YEAR | SEEN_MONTH | SEEN_DAY)

struct parts {
	int64_t year;
	int64_t month;
	int64_t day;
	int64_t hour;
	int64_t minute;
	int64_t second;
	int64_t nanosecond;
	int64_t offset; /* minutes east of UTC */
	int64_t epoch;
	int half; /* 1: AM, 2: PM */
	uint32_t seen;
};

static const char *const months[] = { "january", "february", "march",     "april",   "may",      "june",
									  "july",    "august",   "september", "october", "november", "december" };
static const char *const days[] = { "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday" };

/* --- pieces of text ------------------------------------------------------------------------------------------------------ */

static int
take_digits(const char **at, const char *end, int least, int most, int64_t *number)
{
	int count = 0;
	*number = 0;
	while (*at < end && count < most && **at >= '0' && **at <= '9') {
		*number = *number * 10 + (**at - '0');
		++*at;
		count++;
	}
	return count >= least;
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* The full name or its first three letters. */
static int
take_name(const char **at, const char *end, const char *const *names, int count, int64_t *number)
{
	for (int i = 0; i < count; i++) {
		uint64_t size = 0;
		while (names[i][size] != '\0' && *at + size < end && lower((*at)[size]) == names[i][size])
			size++;
		if (size < 3)
			continue;
		*at += names[i][size] == '\0' ? size : 3;
		*number = i + 1;
		return 1;
	}
	return 0;
}

/* Z, +hh, +hhmm, +hh:mm. */
static int
take_offset(const char **at, const char *end, int64_t *offset)
{
	int64_t hours, minutes = 0;
	*offset = 0;
	if (*at < end && **at == 'Z') {
		++*at;
		return 1;
	}
	if (*at >= end || (**at != '+' && **at != '-'))
		return 0;
	int negative = *(*at)++ == '-';
	if (!take_digits(at, end, 2, 2, &hours) || hours > 23)
		return 0;
	if (*at < end && **at == ':')
		++*at;
	if (*at < end && **at >= '0' && **at <= '9' && (!take_digits(at, end, 2, 2, &minutes) || minutes > 59))
		return 0;
	*offset = (negative ? -1 : 1) * (hours * 60 + minutes);
	return 1;
}

static int
take_fraction(const char **at, const char *end, int64_t *nanoseconds)
{
	const char *start = *at;
	if (!take_digits(at, end, 1, 9, nanoseconds))
		return 0;
	for (int64_t digits = *at - start; digits < 9; digits++)
		*nanoseconds *= 10;
	return 1;
}

static int
take_epoch(const char **at, const char *end, int64_t *epoch)
{
	int negative = *at < end && **at == '-';
	*at += negative;
	int there = take_digits(at, end, 1, 15, epoch);
	*epoch = negative ? -*epoch : *epoch;
	return there;
}

/* One or two digits. */
static int
take_small(const char **at, const char *end, int64_t *number, int64_t least, int64_t most)
{
	return take_digits(at, end, 1, 2, number) && *number >= least && *number <= most;
}

/* --- directives ------------------------------------------------------------------------------------------------------------ */

static int
take_year(const char **at, const char *end, int digits, struct parts *p)
{
	p->seen |= SEEN_YEAR;
	if (!take_digits(at, end, digits, digits, &p->year))
		return 0;
	if (digits == 2)
		p->year += p->year < 69 ? 2000 : 1900;
	return 1;
}

static int
take_half(const char **at, const char *end, struct parts *p)
{
	if (end - *at < 2 || lower((*at)[1]) != 'm' || (lower(**at) != 'a' && lower(**at) != 'p'))
		return 0;
	p->half = lower(**at) == 'a' ? 1 : 2;
	*at += 2;
	return 1;
}

/* One directive's text. 0: it is not there. */
static int
take_directive(char directive, const char **at, const char *end, struct parts *p)
{
	int64_t ignored;
	switch (directive) {
	case 'Y':
		return take_year(at, end, 4, p);
	case 'y':
		return take_year(at, end, 2, p);
	case 'm':
		p->seen |= SEEN_MONTH;
		return take_small(at, end, &p->month, 1, 12);
	case 'b':
		p->seen |= SEEN_MONTH;
		return take_name(at, end, months, 12, &p->month);
	case 'd':
		p->seen |= SEEN_DAY;
		*at += *at < end && **at == ' ';
		return take_small(at, end, &p->day, 1, 31);
	case 'a':
		return take_name(at, end, days, 7, &ignored);
	case 'H':
		p->seen |= SEEN_HOUR;
		return take_small(at, end, &p->hour, 0, 23);
	case 'I':
		p->seen |= SEEN_HOUR;
		return take_small(at, end, &p->hour, 1, 12);
	case 'p':
		return take_half(at, end, p);
	case 'M':
		return take_small(at, end, &p->minute, 0, 59);
	case 'S':
		return take_small(at, end, &p->second, 0, 59);
	case 'f':
		return take_fraction(at, end, &p->nanosecond);
	case 'z':
		p->seen |= SEEN_OFFSET;
		return take_offset(at, end, &p->offset);
	case 's':
		p->seen |= SEEN_EPOCH;
		return take_epoch(at, end, &p->epoch);
	case '%':
		return *at < end && *(*at)++ == '%';
	default:
		return 0;
	}
}

/* The whole text by the whole format. */
static int
take_all(flow_slice format, flow_slice text, struct parts *p)
{
	const char *at = text.data, *end = text.data + text.size;
	for (uint64_t i = 0; i < format.size; i++) {
		char c = format.data[i];
		int there;
		if (c == '%' && i + 1 < format.size) {
			there = take_directive(format.data[++i], &at, end, p);
		} else if (c == ' ') {
			there = at < end && *at == ' ';
			while (at < end && *at == ' ')
				at++;
		} else {
			there = at < end && *at++ == c;
		}
		if (!there)
			return 0;
	}
	return at == end;
}

/* --- values ---------------------------------------------------------------------------------------------------------------- */

static int
day_of(const struct parts *p, int64_t *number)
{
	int64_t year;
	unsigned month, day;
	*number = flow_days_from_civil(p->year, (unsigned)p->month, (unsigned)p->day);
	flow_civil_from_days(*number, &year, &month, &day);
	return day == (unsigned)p->day && month == (unsigned)p->month; /* no 30 February */
}

static flow_status
in_unit(int64_t seconds, int64_t nanoseconds, uint8_t unit, int64_t *number)
{
	int64_t parts = 1;
	for (int i = 0; i < unit; i++)
		parts *= 10;
	int64_t size = 1000000000 / parts;
	if (nanoseconds % size != 0 || __builtin_mul_overflow(seconds, parts, number) ||
		__builtin_add_overflow(*number, nanoseconds / size, number))
		return FLOW_E_RANGE;
	return FLOW_OK;
}

flow_status
logs_parse_time(const flow_schema *schema, flow_slice format, flow_slice text, flow_value *value)
{
	struct parts p = { .month = 1, .day = 1 };
	int64_t day = 0, number;
	if (!take_all(format, text, &p) || ((p.seen & SEEN_DATE) == SEEN_DATE && !day_of(&p, &day)))
		return FLOW_E_DECODE;
	if (schema->kind == FLOW_KIND_DATE) {
		*value = flow_cell(FLOW_DATE, day);
		return FLOW_OK;
	}
	if (p.half != 0)
		p.hour = p.hour % 12 + (p.half == 2 ? 12 : 0);
	int64_t seconds = p.hour * 3600 + p.minute * 60 + p.second;
	if (schema->kind == FLOW_KIND_TIMESTAMP)
		seconds = (p.seen & SEEN_EPOCH) != 0 ? p.epoch : day * 86400 + seconds - p.offset * 60;
	flow_status status = in_unit(seconds, p.nanosecond, schema->unit, &number);
	if (status != FLOW_OK)
		return status;
	*value = flow_cell(schema->kind == FLOW_KIND_TIME ? FLOW_TIME : FLOW_TIMESTAMP, number);
	value->unit = schema->unit;
	value->flags = schema->kind == FLOW_KIND_TIMESTAMP && (schema->flags & FLOW_SCHEMA_ZONED) != 0 ? FLOW_ZONED : 0;
	return FLOW_OK;
}

/* --- formats ----------------------------------------------------------------------------------------------------------------- */

/* What a format says; 0 with *unknown set where it has a directive that does not exist. */
static uint32_t
said_by(flow_slice format, char *unknown)
{
	static const char known[] = "YymbdaHIpMSfzs%";
	uint32_t seen = 0;
	for (uint64_t i = 0; i < format.size; i++) {
		if (format.data[i] != '%')
			continue;
		char c = ++i < format.size ? format.data[i] : '\0';
		if (c == '\0' || strchr(known, c) == NULL) {
			*unknown = c == '\0' ? '%' : c;
			return 0;
		}
		seen |= c == 'Y' || c == 'y'   ? SEEN_YEAR
				: c == 'm' || c == 'b' ? SEEN_MONTH
				: c == 'd'             ? SEEN_DAY
				: c == 'H' || c == 'I' ? SEEN_HOUR
				: c == 'z'             ? SEEN_OFFSET
				: c == 's'             ? SEEN_EPOCH
									   : 0;
	}
	return seen;
}

flow_status
logs_check_time_format(const flow_host *host, const flow_schema *schema, flow_slice field, flow_slice format,
					   flow_error *error)
{
	char unknown = '\0';
	uint32_t seen = said_by(format, &unknown);
	const char *problem = NULL;
	char text[80];
	int zoned = (schema->flags & FLOW_SCHEMA_ZONED) != 0, stamp = schema->kind == FLOW_KIND_TIMESTAMP;
	if (unknown != '\0') {
		snprintf(text, sizeof(text), "there is no directive %%%c", unknown);
		problem = text;
	} else if (!stamp && schema->kind != FLOW_KIND_DATE && schema->kind != FLOW_KIND_TIME) {
		problem = "declare a timestamp, date or time for it";
	} else if (schema->kind == FLOW_KIND_TIME) {
		problem = (seen & SEEN_HOUR) == 0 ? "a time needs its hour" : NULL;
	} else if ((seen & SEEN_DATE) != SEEN_DATE && !(stamp && (seen & SEEN_EPOCH) != 0)) {
		problem = "year, month and day are needed";
	} else if (stamp && !zoned && (seen & (SEEN_OFFSET | SEEN_EPOCH)) != 0) {
		problem = "a local_timestamp has no zone; declare a timestamp";
	}
	if (problem == NULL)
		return FLOW_OK;
	return flow_fail(host, error, FLOW_E_CONFIG, "regex: option times: field '%.*s': '%.*s': %s", (int)field.size,
					 field.data, (int)format.size, format.data, problem);
}
