#include "base/units.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "flow_sdk/number.h"

struct unit {
	const char *name;
	int64_t factor;
};

#define SIZE_UNITS "B, KiB, MiB, GiB, TiB, kB, MB, GB or TB"
#define DURATION_UNITS "us, ms, s, m, h, d or w"

/* Largest first: the first one that divides a size gives its shortest text. */
static const struct unit sizes[] = {
	{ "TiB", (int64_t)1 << 40 },
	{ "TB", 1000000000000 },
	{ "GiB", (int64_t)1 << 30 },
	{ "GB", 1000000000 },
	{ "MiB", 1 << 20 },
	{ "MB", 1000000 },
	{ "KiB", 1024 },
	{ "kB", 1000 },
	{ "B", 1 },
};

static const struct unit durations[] = {
	{ "w", 7 * 86400000000 }, { "d", 86400000000 }, { "h", 3600000000 }, { "m", 60000000 },
	{ "s", 1000000 },         { "ms", 1000 },       { "us", 1 },
};

static flow_status
refuse(flow_error *error, flow_slice text, const char *kind, const char *why)
{
	return error_set(error, FLOW_E_CONFIG, "'%.*s' is no %s: %s", (int)(text.size < 100 ? text.size : 100),
					 text.size == 0 ? "" : text.data, kind, why);
}

static flow_slice
take_digits(flow_slice *text)
{
	uint64_t size = 0;
	while (size < text->size && text->data[size] >= '0' && text->data[size] <= '9')
		size++;
	flow_slice digits = flow_slice_make(text->data, size);
	if (size != 0)
		*text = flow_slice_make(text->data + size, text->size - size);
	return digits;
}

static flow_slice
take_unit(flow_slice *text)
{
	uint64_t size = 0;
	while (size < text->size && (text->data[size] < '0' || text->data[size] > '9'))
		size++;
	flow_slice unit = flow_slice_make(text->data, size);
	if (size != 0)
		*text = flow_slice_make(text->data + size, text->size - size);
	return unit;
}

static const struct unit *
find_unit(const struct unit *units, size_t count, flow_slice name)
{
	for (size_t i = 0; i < count; i++)
		if (flow_slice_is(name, units[i].name))
			return &units[i];
	return NULL;
}

flow_status
units_parse_size(flow_slice text, int64_t *bytes, flow_error *error)
{
	flow_slice rest = text, digits = take_digits(&rest);
	if (digits.size == 0)
		return refuse(error, text, "size", "a number and a unit are expected, like 64KiB; units are " SIZE_UNITS);
	int64_t number, factor = 1;
	if (rest.size != 0) {
		if (rest.data[0] == ' ')
			rest = flow_slice_make(rest.data + 1, rest.size - 1);
		const struct unit *unit = find_unit(sizes, FLOW_COUNT(sizes), rest);
		if (unit == NULL)
			return refuse(error, text, "size", "the unit must be " SIZE_UNITS);
		factor = unit->factor;
	}
	if (flow_parse_int64(digits, &number) != FLOW_OK || __builtin_mul_overflow(number, factor, &number))
		return refuse(error, text, "size", "it is too large (at most 2^63 - 1 bytes); units are " SIZE_UNITS);
	*bytes = number;
	return FLOW_OK;
}

flow_status
units_parse_duration(flow_slice text, int64_t *microseconds, flow_error *error)
{
	static const char form[] =
		"numbers with units are expected, largest first, like 5s or 1h30m; units are " DURATION_UNITS;
	int64_t sum = 0, before = INT64_MAX;
	if (flow_slice_is(text, "0")) {
		*microseconds = 0;
		return FLOW_OK;
	}
	if (text.size == 0)
		return refuse(error, text, "duration", form);
	for (flow_slice rest = text; rest.size != 0;) {
		flow_slice digits = take_digits(&rest);
		const struct unit *unit = find_unit(durations, FLOW_COUNT(durations), take_unit(&rest));
		if (digits.size == 0)
			return refuse(error, text, "duration", form);
		if (unit == NULL)
			return refuse(error, text, "duration", "each number needs a unit: " DURATION_UNITS);
		if (unit->factor >= before)
			return refuse(error, text, "duration", form);
		before = unit->factor;
		int64_t number;
		if (flow_parse_int64(digits, &number) != FLOW_OK || __builtin_mul_overflow(number, unit->factor, &number) ||
			__builtin_add_overflow(sum, number, &sum))
			return refuse(error, text, "duration", "it is too long (at most 2^63 - 1 us); units are " DURATION_UNITS);
	}
	*microseconds = sum;
	return FLOW_OK;
}

const char *
units_print_size(int64_t bytes, char *buffer)
{
	for (size_t i = 0; i < FLOW_COUNT(sizes); i++) {
		if (bytes % sizes[i].factor != 0 || (bytes == 0 && sizes[i].factor != 1))
			continue;
		snprintf(buffer, 64, "%lld%s", (long long)(bytes / sizes[i].factor), sizes[i].name);
		break;
	}
	return buffer;
}

const char *
units_print_duration(int64_t microseconds, char *buffer)
{
	if (microseconds == 0) {
		snprintf(buffer, 64, "0s");
		return buffer;
	}
	int negative = microseconds < 0;
	uint64_t rest = negative ? 0 - (uint64_t)microseconds : (uint64_t)microseconds;
	int size = snprintf(buffer, 64, "%s", negative ? "-" : "");
	/* Weeks only where nothing is left: "10d" reads better than "1w3d". */
	for (size_t i = rest % (7 * (uint64_t)86400000000) == 0 ? 0 : 1; i < FLOW_COUNT(durations); i++) {
		uint64_t factor = (uint64_t)durations[i].factor;
		if (rest / factor != 0)
			size += snprintf(buffer + size, (size_t)(64 - size), "%llu%s", (unsigned long long)(rest / factor),
							 durations[i].name);
		rest %= factor;
	}
	return buffer;
}
