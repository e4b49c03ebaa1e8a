/* Calendar, units, and times as text (flow_sdk/time.h). Days and dates by Howard Hinnant's algorithms (public domain). */
#include "flow_sdk/time.h"

#include "calendar.h"
#include "flow_sdk/number.h"

int64_t
flow_days_from_civil(int64_t year, unsigned month, unsigned day)
{
	year -= month <= 2;
	int64_t era = calendar_divide(year, 400);
	int64_t year_of_era = year - era * 400;
	int64_t day_of_year = (153 * (int64_t)(month > 2 ? month - 3 : month + 9) + 2) / 5 + (int64_t)day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
	return era * 146097 + day_of_era - 719468;
}

/* The same as below for days of the years 0 to 9999, in 32 bits. */
static void
civil_of_common_days(uint32_t days, int64_t *year, unsigned *month, unsigned *day)
{
	uint32_t era = days / 146097, day_of_era = days % 146097;
	uint32_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	uint32_t shifted = (5 * day_of_year + 2) / 153;
	*day = day_of_year - (153 * shifted + 2) / 5 + 1;
	*month = shifted < 10 ? shifted + 3 : shifted - 9;
	*year = year_of_era + era * 400 + (*month <= 2);
}

void
flow_civil_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
	if (days >= -719468 && days < 2932897) {
		civil_of_common_days((uint32_t)(days + 719468), year, month, day);
		return;
	}
	int64_t era = calendar_divide(days, 146097);
	int64_t day_of_era = days % 146097 + (days % 146097 < 0 ? 146097 : 0) + 719468 % 146097;
	era += 719468 / 146097;
	if (day_of_era >= 146097) {
		day_of_era -= 146097;
		era++;
	}
	int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t shifted = (5 * day_of_year + 2) / 153; /* month, counted from March */
	*day = (unsigned)(day_of_year - (153 * shifted + 2) / 5 + 1);
	*month = (unsigned)(shifted < 10 ? shifted + 3 : shifted - 9);
	*year = year_of_era + era * 400 + (*month <= 2);
}

flow_status
flow_convert_unit(int64_t number, uint8_t from, uint8_t to, int64_t *result)
{
	if (to >= from)
		return __builtin_mul_overflow(number, calendar_power((unsigned)(to - from)), result) ? FLOW_E_RANGE : FLOW_OK;
	*result = calendar_divide(number, calendar_power((unsigned)(from - to)));
	return FLOW_OK;
}

flow_status
flow_microseconds(const flow_value *value, int64_t *microseconds)
{
	if (value->type == FLOW_DATE)
		return __builtin_mul_overflow(value->as.int64, (int64_t)CALENDAR_DAY * 1000000, microseconds) ? FLOW_E_RANGE
																									  : FLOW_OK;
	if (value->type != FLOW_TIMESTAMP)
		return FLOW_E_TYPE;
	return flow_convert_unit(value->as.int64, value->unit, FLOW_MICROSECONDS, microseconds);
}

/* ---- printing ---- */

static char *
put_two(unsigned number, char *at)
{
	at[0] = (char)('0' + number / 10);
	at[1] = (char)('0' + number % 10);
	return at + 2;
}

static char *
put_year(int64_t year, char *at)
{
	if (year >= 0 && year <= 9999)
		return put_two((unsigned)year % 100, put_two((unsigned)year / 100, at));
	*at++ = year < 0 ? '-' : '+';
	uint64_t magnitude = year < 0 ? 0 - (uint64_t)year : (uint64_t)year;
	for (uint64_t least = 1000; least > magnitude && least > 1; least /= 10)
		*at++ = '0';
	return at + flow_print_uint64(magnitude, at);
}

static char *
put_date(int64_t days, char *at)
{
	int64_t year;
	unsigned month, day;
	flow_civil_from_days(days, &year, &month, &day);
	at = put_year(year, at);
	*at++ = '-';
	at = put_two(month, at);
	*at++ = '-';
	return put_two(day, at);
}

/* `number` since midnight. */
static char *
put_clock(int64_t number, uint8_t unit, char *at)
{
	unsigned seconds = (unsigned)calendar_seconds(number, unit);
	int64_t fraction = number - (int64_t)seconds * calendar_power(unit);
	at = put_two(seconds / 3600, at);
	*at++ = ':';
	at = put_two(seconds / 60 % 60, at);
	*at++ = ':';
	at = put_two(seconds % 60, at);
	if (fraction == 0)
		return at;
	*at = '.';
	for (unsigned i = unit; i > 0; i--, fraction /= 10)
		at[i] = (char)('0' + fraction % 10);
	at += unit + 1;
	while (at[-1] == '0')
		at--;
	return at;
}

uint64_t
flow_print_time(const flow_value *value, char *buffer)
{
	char *at = buffer;
	int64_t number = value->as.int64;
	if (value->type == FLOW_DATE)
		return (uint64_t)(put_date(number, buffer) - buffer);
	int64_t per_day = CALENDAR_DAY * calendar_power(value->unit);
	if (value->type == FLOW_TIME) {
		if (number < 0 || number >= per_day) /* no time of a day: the bare number, rather than a wrong time */
			return flow_print_int64(number, buffer);
		return (uint64_t)(put_clock(number, value->unit, buffer) - buffer);
	}
	int64_t days = number >= 0 ? (int64_t)((uint64_t)calendar_seconds(number, value->unit) / CALENDAR_DAY)
							   : calendar_divide(number, per_day);
	at = put_date(days, at);
	*at++ = 'T';
	at = put_clock((int64_t)((uint64_t)number - (uint64_t)days * (uint64_t)per_day), value->unit, at);
	if ((value->flags & FLOW_ZONED) != 0)
		*at++ = 'Z';
	return (uint64_t)(at - buffer);
}
