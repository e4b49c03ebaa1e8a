/* Values of one setting without members: types, units, bounds, choices, references. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/distance.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "flow_sdk/number.h"
#include "flow_sdk/time.h"
#include "options/resolve.h"
#include "options/utf8.h"

static flow_status
parse_datetime(flow_slice text, int64_t *microseconds)
{
	flow_value value;
	flow_status status = flow_parse_timestamp(text, FLOW_MICROSECONDS, 1, &value);
	return status < 0 ? status : flow_microseconds(&value, microseconds);
}

int
resolve_number(uint32_t type, const char *text, int64_t *integer, double *number)
{
	flow_slice slice = flow_slice_of(text);
	flow_status status = FLOW_E_TYPE;
	*integer = 0;
	*number = 0;
	if (type == FLOW_OPTION_INT)
		status = flow_parse_int64(slice, integer);
	else if (type == FLOW_OPTION_SIZE)
		status = units_parse_size(slice, integer, NULL);
	else if (type == FLOW_OPTION_DURATION)
		status = units_parse_duration(slice, integer, NULL);
	else if (type == FLOW_OPTION_DATETIME)
		status = parse_datetime(slice, integer);
	else if (type == FLOW_OPTION_FLOAT)
		return flow_parse_float64(slice, 0, number) >= 0;
	*number = (double)*integer;
	return status >= 0;
}

static int
is_below(uint32_t type, const flow_option_value *value, int64_t integer, double number)
{
	return type == FLOW_OPTION_FLOAT ? value->number < number : value->integer < integer;
}

static int
is_above(uint32_t type, const flow_option_value *value, int64_t integer, double number)
{
	return type == FLOW_OPTION_FLOAT ? value->number > number : value->integer > integer;
}

static int
check_bounds(resolver *r, const flow_option *o, uint32_t type, const setting *s, const flow_option_value *value)
{
	int64_t integer;
	double number;
	int low = o->minimum != NULL && resolve_number(type, o->minimum, &integer, &number) &&
			  is_below(type, value, integer, number);
	int high = o->maximum != NULL && resolve_number(type, o->maximum, &integer, &number) &&
			   is_above(type, value, integer, number);
	if (!low && !high)
		return 1;
	if (o->minimum != NULL && o->maximum != NULL)
		resolve_report(r, s, "%s is not between %s and %s", resolve_shown(s), o->minimum, o->maximum);
	else if (low)
		resolve_report(r, s, "%s is less than the minimum %s", resolve_shown(s), o->minimum);
	else
		resolve_report(r, s, "%s is more than the maximum %s", resolve_shown(s), o->maximum);
	return 0;
}

/* Messages from elsewhere may quote the value. */
static const char *
without_secret(resolver *r, const setting *s, const char *message)
{
	if (!s->secret || s->size == 0)
		return message;
	const char *found;
	const char *text = message;
	const char *result = "";
	while (result != NULL && (found = strstr(text, s->text)) != NULL) {
		result = arena_format(r->arena, "%s%.*s********", result, (int)(found - text), text);
		text = found + strlen(s->text);
		if (s->text[0] == '\0')
			break;
	}
	result = result == NULL ? NULL : arena_format(r->arena, "%s%s", result, text);
	return result == NULL ? "the value was refused" : result;
}

static int
resolve_units(resolver *r, const setting *s, flow_option_value *value)
{
	flow_error error = { 0 };
	flow_slice text = flow_slice_make(s->text, s->size);
	flow_status status = value->type == FLOW_OPTION_SIZE ? units_parse_size(text, &value->integer, &error)
														 : units_parse_duration(text, &value->integer, &error);
	if (status < 0)
		resolve_report(r, s, "%s", without_secret(r, s, error_message(&error)));
	error_clear(&error);
	return status >= 0;
}

static int
resolve_choice(resolver *r, const flow_option *o, const setting *s)
{
	const char *names[64];
	size_t count = 0;
	for (size_t i = 0; o->choices != NULL && o->choices[i] != NULL; i++) {
		size_t size = strcspn(o->choices[i], "\t");
		if (size == s->size && memcmp(o->choices[i], s->text, size) == 0)
			return 1;
		if (count < FLOW_COUNT(names) &&
			(names[count] = resolve_check(r, arena_copy(r->arena, o->choices[i], size))) != NULL)
			count++;
	}
	problem *item =
		resolve_report(r, s, "%s is not %s", resolve_shown(s), option_expected(r->arena, o, FLOW_OPTION_ENUM));
	if (item != NULL && !s->secret)
		item->suggestion = distance_nearest(s->text, names, count);
	return 0;
}

static int
resolve_reference(resolver *r, const flow_option *o, const setting *s)
{
	if (r->names == NULL || o->refers_to == NULL)
		return 1;
	size_t count = r->names->names(r->names->context, o->refers_to, NULL, 0);
	if (count == OPTIONS_NAMES_UNKNOWN)
		return 1;
	const char **names = resolve_check(r, arena_allocate(r->arena, (count + 1) * sizeof(*names)));
	if (names == NULL)
		return 0;
	size_t filled = r->names->names(r->names->context, o->refers_to, names, count);
	if (filled < count)
		count = filled;
	for (size_t i = 0; i < count; i++)
		if (strlen(names[i]) == s->size && memcmp(names[i], s->text, s->size) == 0)
			return 1;
	problem *item = resolve_report(r, s, "there is no %s %s", o->refers_to, resolve_shown(s));
	if (item != NULL && !s->secret)
		item->suggestion = distance_nearest(s->text, names, count);
	return 0;
}

/* Relative to the configuration's folder; "-" and what has a scheme are no paths of files. */
static int
resolve_path(resolver *r, const setting *s, flow_option_value *value)
{
	if (s->size == 0 || memchr(s->text, '\0', s->size) != NULL) {
		resolve_report(r, s, s->size == 0 ? "a path cannot be empty" : "a path cannot hold a NUL");
		return 0;
	}
	if (r->base_folder == NULL || r->base_folder[0] == '\0' || s->text[0] == '/' || strcmp(s->text, "-") == 0 ||
		strstr(s->text, "://") != NULL)
		return 1;
	size_t length = strlen(r->base_folder);
	const char *slash = r->base_folder[length - 1] == '/' ? "" : "/";
	char *joined = resolve_check(r, arena_format(r->arena, "%s%s%s", r->base_folder, slash, s->text));
	value->text = flow_slice_of(joined);
	return joined != NULL;
}

static int
check_text(resolver *r, const setting *s)
{
	if (memchr(s->text, '\0', s->size) == NULL && utf8_valid_prefix(s->text, s->size) == s->size)
		return 1;
	resolve_report(r, s, "the value holds bytes that are no text (NUL, or no valid UTF-8)");
	return 0;
}

/* Types that stand as strings. */
static int
resolve_text(resolver *r, const flow_option *o, const setting *s, flow_option_value *value)
{
	char *copy = resolve_check(r, arena_copy(r->arena, s->text, s->size));
	if (copy == NULL)
		return 0;
	value->text = flow_slice_make(copy, s->size);
	if (value->type == FLOW_OPTION_PATH)
		return resolve_path(r, s, value);
	if (value->type == FLOW_OPTION_SECRET)
		return 1;
	if (!check_text(r, s))
		return 0;
	switch (value->type) {
	case FLOW_OPTION_SIZE:
	case FLOW_OPTION_DURATION:
		return resolve_units(r, s, value);
	case FLOW_OPTION_ENUM:
		return resolve_choice(r, o, s);
	case FLOW_OPTION_REFERENCE:
		return resolve_reference(r, o, s);
	case FLOW_OPTION_DATETIME:
		if (parse_datetime(value->text, &value->integer) >= 0)
			return 1;
		resolve_report(r, s, "%s is no %s", resolve_shown(s), option_expected(r->arena, o, FLOW_OPTION_DATETIME));
		return 0;
	default:
		return 1;
	}
}

static int
is_text_type(uint32_t type)
{
	return type != FLOW_OPTION_INT && type != FLOW_OPTION_FLOAT && type != FLOW_OPTION_BOOL;
}

static void
mark_secret(setting *s)
{
	for (; s != NULL; s = s->overrode)
		s->secret = 1;
}

/* A value of any scalar kind takes the type that was found. */
static uint32_t
found_type(const setting *s)
{
	switch (s->kind) {
	case SETTING_STRING:
		return FLOW_OPTION_STRING;
	case SETTING_INT:
		return FLOW_OPTION_INT;
	case SETTING_FLOAT:
		return FLOW_OPTION_FLOAT;
	case SETTING_BOOL:
		return FLOW_OPTION_BOOL;
	default:
		return FLOW_OPTION_ANY;
	}
}

static int
fits_kind(uint32_t type, const setting *s)
{
	switch (s->kind) {
	case SETTING_INT:
		return type == FLOW_OPTION_INT || type == FLOW_OPTION_FLOAT || (type == FLOW_OPTION_SIZE && s->integer >= 0);
	case SETTING_FLOAT:
		return type == FLOW_OPTION_FLOAT;
	case SETTING_BOOL:
		return type == FLOW_OPTION_BOOL;
	case SETTING_STRING:
		return is_text_type(type) && type != FLOW_OPTION_ANY;
	default:
		return 0;
	}
}

static int
check_further(resolver *r, const flow_option *o, const setting *s, const flow_option_value *value)
{
	if (o->validate == NULL || (o->type != value->type && o->type != FLOW_OPTION_ANY))
		return 1;
	flow_error error = { 0 };
	flow_status status = o->validate(value, &error_ops, &error);
	if (status < 0)
		resolve_report(r, s, "%s", error.message == NULL ? status_text(status) : without_secret(r, s, error.message));
	error_clear(&error);
	return status >= 0;
}

flow_option_value *
resolve_scalar(resolver *r, const flow_option *o, uint32_t type, setting *s)
{
	if (type == FLOW_OPTION_SECRET)
		mark_secret(s);
	setting *typed = s;
	if (s->resolved && !is_text_type(type)) /* the environment only has texts */
		typed = resolve_check(r, option_setting_of_text(r->arena, o, type, s->text, s));
	if (typed == NULL)
		return NULL;
	if (type == FLOW_OPTION_ANY)
		type = found_type(s);
	if (!fits_kind(type, typed)) {
		resolve_report_type(r, o, type, s);
		return NULL;
	}
	flow_option_value *value = resolve_new_value(r, type, s);
	if (value == NULL)
		return NULL;
	value->integer = typed->integer;
	value->number = typed->number;
	if (typed->kind == SETTING_STRING && !resolve_text(r, o, typed, value))
		return NULL;
	int bounded = type == FLOW_OPTION_INT || type == FLOW_OPTION_FLOAT || type == FLOW_OPTION_SIZE ||
				  type == FLOW_OPTION_DURATION || type == FLOW_OPTION_DATETIME;
	if (bounded && !check_bounds(r, o, type, typed, value))
		return NULL;
	return check_further(r, o, s, value) ? value : NULL;
}
