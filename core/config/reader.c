#include "config/reader.h"

#include <errno.h>
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "flow_sdk/number.h"
#include "options/utf8.h"

typedef struct reader {
	const scan *scan;
	problems *list;
	arena *arena;
	const char *place;
	unsigned layer;
	int failed; /* out of memory, reported */
} reader;

static void *
check(reader *r, void *memory)
{
	if (memory == NULL && !r->failed) {
		r->failed = 1;
		problems_add(r->list, NULL, 0, NULL, "out of memory");
	}
	return memory;
}

static void
report(reader *r, const setting *s, const char *path, const char *text)
{
	problem *item = problems_add(r->list, s->file, s->line, path, "%s", text);
	if (item != NULL)
		item->place = r->place;
}

static void
report_formatted(reader *r, const setting *s, const char *format, const char *number)
{
	char *text = check(r, arena_format(r->arena, format, number, number));
	if (text != NULL)
		report(r, s, s->path, text);
}

/* The number as written, without the sign, in its base; ULLONG_MAX with errno ERANGE if it is beyond 64 bits. */
static unsigned long long
magnitude(const char *digits, int *is_long)
{
	int hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
	char *end;
	errno = 0;
	unsigned long long value = strtoull(digits, &end, hexadecimal ? 16 : 10);
	*is_long = *end == 'L';
	return value;
}

static void
convert_integer(reader *r, setting *s)
{
	int negative = s->text[0] == '-';
	int is_long;
	unsigned long long value = magnitude(s->text + (negative || s->text[0] == '+'), &is_long);
	int beyond = errno == ERANGE || value > (unsigned long long)INT64_MAX + (unsigned)negative;
	s->kind = SETTING_INT;
	if (beyond) {
		s->bad = 1;
		report_formatted(r, s, "the integer %s does not fit in 64 bits", s->text);
		return;
	}
	s->integer = negative ? (int64_t)(0 - value) : (int64_t)value;
	s->number = (double)s->integer;
	if (is_long || (s->integer >= INT32_MIN && s->integer <= INT32_MAX))
		return;
	s->bad = 1;
	report_formatted(r, s, "the integer %s does not fit in 32 bits; if it is meant, write %sL", s->text);
}

/* With digits on both sides of the point, where libconfig takes ".5" and "5." too. */
static const char *
with_digits(reader *r, const char *text)
{
	const char *point = strchr(text, '.');
	if (point == NULL)
		return text;
	int before = point != text && point[-1] >= '0' && point[-1] <= '9', behind = point[1] >= '0' && point[1] <= '9';
	return check(r, arena_format(r->arena, "%.*s%s.%s%s", (int)(point - text), text, before ? "" : "0",
								 behind ? "" : "0", point + 1));
}

/* Not by strtod, whose point is that of the process's locale. */
static void
convert_float(reader *r, setting *s)
{
	const char *text = with_digits(r, s->text);
	s->kind = SETTING_FLOAT;
	if (text == NULL || flow_parse_float64(flow_slice_of(text), 0, &s->number) == FLOW_OK)
		return;
	s->bad = 1;
	report_formatted(r, s, "the number %s does not fit in a double", s->text);
}

static void
convert_string(reader *r, const config_setting_t *from, setting *s)
{
	const char *text = config_setting_get_string(from);
	if (text == NULL)
		text = "";
	s->kind = SETTING_STRING;
	s->size = strlen(text);
	s->text = check(r, arena_copy(r->arena, text, s->size));
	if (s->text == NULL || utf8_valid_prefix(s->text, s->size) == s->size)
		return;
	s->bad = 1;
	report(r, s, s->path, "the text is no valid UTF-8 (its \\x escapes)");
}

static const scan_token *
token_at(const scan *s, size_t index, unsigned kind)
{
	return index < s->token_count && s->tokens[index].kind == kind ? &s->tokens[index] : NULL;
}

/* The name that "n17" stands for. */
static const scan_token *
name_of(const reader *r, const config_setting_t *from)
{
	const char *name = config_setting_name(from);
	return name == NULL ? NULL : token_at(r->scan, strtoul(name + 1, NULL, 10), SCAN_NAME);
}

static void
convert_number(reader *r, const config_setting_t *from, setting *s)
{
	int is_float = config_setting_type(from) == CONFIG_TYPE_FLOAT;
	size_t index = is_float ? (size_t)config_setting_get_float(from) : (size_t)config_setting_get_int(from);
	const scan_token *token = token_at(r->scan, index, is_float ? SCAN_FLOAT : SCAN_INT);
	s->text = token == NULL ? "0" : token->text;
	s->size = strlen(s->text);
	if (is_float)
		convert_float(r, s);
	else
		convert_integer(r, s);
}

static setting *convert(reader *r, const config_setting_t *from, const setting *parent, unsigned index);

typedef struct named {
	const setting *setting;
	size_t index;
} named;

static int
compare_named(const void *a, const void *b)
{
	const named *left = a;
	const named *right = b;
	int order = strcmp(left->setting->name, right->setting->name);
	return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

static void
report_duplicate(reader *r, const setting *first, const setting *again)
{
	const char *place = first->origin;
	char *text =
		check(r, arena_format(r->arena, "\"%s\" is set twice in one group; the first is at %s", again->name, place));
	if (text != NULL)
		report(r, again, again->path, text);
}

/* Reports each name that stands again, and drops it from the group. */
static void
drop_duplicates(reader *r, setting *group)
{
	if (group->child_count < 2)
		return;
	named *sorted = check(r, memory_allocate(group->child_count * sizeof(*sorted)));
	if (sorted == NULL)
		return;
	for (size_t i = 0; i < group->child_count; i++)
		sorted[i] = (named){ group->children[i], i };
	qsort(sorted, group->child_count, sizeof(*sorted), compare_named);
	const named *first = &sorted[0];
	for (size_t i = 1; i < group->child_count; i++) {
		if (strcmp(sorted[i].setting->name, first->setting->name) != 0) {
			first = &sorted[i];
			continue;
		}
		report_duplicate(r, first->setting, sorted[i].setting);
		group->children[sorted[i].index] = NULL;
	}
	memory_release(sorted);
	size_t kept = 0;
	for (size_t i = 0; i < group->child_count; i++)
		if (group->children[i] != NULL)
			group->children[kept++] = group->children[i];
	group->child_count = kept;
}

static void
convert_children(reader *r, const config_setting_t *from, setting *s)
{
	int length = config_setting_length(from);
	s->children = check(r, arena_allocate(r->arena, (size_t)length * sizeof(setting *)));
	for (int i = 0; i < length && s->children != NULL && !r->failed; i++) {
		setting *child = convert(r, config_setting_get_elem(from, (unsigned)i), s, (unsigned)i);
		if (child != NULL)
			s->children[s->child_count++] = child;
	}
	if (s->kind == SETTING_GROUP && !r->failed)
		drop_duplicates(r, s);
}

static const char *
path_of(reader *r, const setting *s, const setting *parent, unsigned index)
{
	if (parent == NULL)
		return "";
	if (s->name == NULL)
		return check(r, arena_format(r->arena, "%s[%u]", parent->path, index));
	return parent->path[0] == '\0' ? s->name : check(r, arena_format(r->arena, "%s.%s", parent->path, s->name));
}

static int
set_place(reader *r, const config_setting_t *from, setting *s, const setting *parent, unsigned index)
{
	const scan_token *name = parent == NULL || parent->kind != SETTING_GROUP ? NULL : name_of(r, from);
	scan_place place = scan_line(r->scan, config_setting_source_line(from));
	s->layer = (uint8_t)r->layer;
	s->file = r->place != NULL ? NULL : name == NULL ? place.file : name->file;
	s->line = r->place != NULL ? 0 : name == NULL ? place.line : name->line;
	s->name = name == NULL ? NULL : name->text;
	s->path = path_of(r, s, parent, index);
	s->origin = r->place != NULL ? r->place
								 : check(r, arena_format(r->arena, "%s:%u", s->file == NULL ? "" : s->file, s->line));
	if (parent != NULL && parent->kind == SETTING_GROUP && name == NULL)
		return 0;
	return s->path != NULL && s->origin != NULL;
}

static setting *
convert(reader *r, const config_setting_t *from, const setting *parent, unsigned index)
{
	setting *s = check(r, arena_allocate_zeroed(r->arena, sizeof(*s)));
	if (s == NULL || !set_place(r, from, s, parent, index))
		return NULL;
	switch (config_setting_type(from)) {
	case CONFIG_TYPE_GROUP:
		s->kind = SETTING_GROUP;
		convert_children(r, from, s);
		break;
	case CONFIG_TYPE_LIST:
		s->kind = SETTING_LIST;
		convert_children(r, from, s);
		break;
	case CONFIG_TYPE_ARRAY:
		s->kind = SETTING_ARRAY;
		convert_children(r, from, s);
		break;
	case CONFIG_TYPE_STRING:
		convert_string(r, from, s);
		break;
	case CONFIG_TYPE_BOOL:
		s->kind = SETTING_BOOL;
		s->integer = config_setting_get_bool(from) != 0;
		break;
	default:
		convert_number(r, from, s);
	}
	return s;
}

static void
report_syntax(reader *r, const config_t *library)
{
	scan_place place = scan_line(r->scan, (unsigned)config_error_line(library));
	const char *text = config_error_text(library);
	setting here = { .file = r->place == NULL ? place.file : NULL, .line = place.line };
	if (text != NULL && strcmp(text, "syntax error") == 0)
		text = "syntax error: expected is name = value; or name: { ... }; with texts in quotes";
	else if (text != NULL && strncmp(text, "mismatched element type", 23) == 0)
		text = "the items of an array [ ... ] must be scalars of one type; a list ( ... ) takes any";
	report(r, &here, NULL, text == NULL ? "syntax error" : text);
}

setting *
reader_parse(const scan *s, problems *list, unsigned layer, const char *place)
{
	reader r = { s, list, s->arena, place, layer, 0 };
	config_t library;
	config_init(&library);
	setting *root = NULL;
	if (config_read_string(&library, s->text == NULL ? "" : s->text) != CONFIG_TRUE)
		report_syntax(&r, &library);
	else
		root = convert(&r, config_root_setting(&library), NULL, 0);
	config_destroy(&library);
	return r.failed ? NULL : root;
}
