/* Options as text: default values, conditions, and the words for what is expected. */
#include <string.h>

#include "options/resolve.h"

static uint8_t
kind_of_type(uint32_t type, const char *text)
{
	switch (type) {
	case FLOW_OPTION_INT:
		return SETTING_INT;
	case FLOW_OPTION_FLOAT:
		return SETTING_FLOAT;
	case FLOW_OPTION_BOOL:
		return strcmp(text, "true") == 0 || strcmp(text, "false") == 0 ? SETTING_BOOL : SETTING_STRING;
	case FLOW_OPTION_LIST:
		return SETTING_LIST;
	case FLOW_OPTION_MAP:
	case FLOW_OPTION_GROUP:
		return SETTING_GROUP;
	default:
		return SETTING_STRING;
	}
}

/* "a, b" or "[a, b]"; quotes around items are dropped. */
static int
split_items(arena *a, const flow_option *o, const char *text, setting *list)
{
	size_t size = strlen(text);
	if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
		text++;
		size -= 2;
	}
	list->children = arena_allocate(a, (size + 1) * sizeof(setting *));
	if (list->children == NULL)
		return 0;
	for (const char *end = text + size; text < end;) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		const char *stop = comma == NULL ? end : comma;
		const char *next = comma == NULL ? end : comma + 1;
		while (text < stop && (*text == ' ' || *text == '"'))
			text++;
		while (stop > text && (stop[-1] == ' ' || stop[-1] == '"'))
			stop--;
		char *item = arena_copy(a, text, (size_t)(stop - text));
		setting *child = item == NULL ? NULL : option_setting_of_text(a, o, o->element, item, list);
		if (child == NULL)
			return 0;
		list->children[list->child_count++] = child;
		text = next;
	}
	return 1;
}

setting *
option_setting_of_text(arena *a, const flow_option *o, uint32_t type, const char *text, const setting *like)
{
	setting *s = arena_allocate(a, sizeof(*s));
	if (s == NULL)
		return NULL;
	*s = *like;
	s->children = NULL;
	s->child_count = 0;
	s->kind = kind_of_type(type, text);
	s->text = text;
	s->size = strlen(text);
	s->integer = 0;
	s->number = 0;
	if (s->kind == SETTING_INT || s->kind == SETTING_FLOAT) {
		if (!resolve_number(type, text, &s->integer, &s->number))
			s->kind = SETTING_STRING; /* reported as the wrong type */
	} else if (s->kind == SETTING_BOOL) {
		s->integer = strcmp(text, "true") == 0;
	} else if (s->kind == SETTING_LIST && !split_items(a, o, text, s)) {
		return NULL;
	}
	return s;
}

static const char *
expected_choices(arena *a, const flow_option *o)
{
	const char *text = "one of";
	for (size_t i = 0; o->choices != NULL && o->choices[i] != NULL && text != NULL; i++)
		text =
			arena_format(a, "%s%s \"%.*s\"", text, i == 0 ? "" : ",", (int)strcspn(o->choices[i], "\t"), o->choices[i]);
	return text == NULL ? "one of the choices" : text;
}

static const char *
expected_list(arena *a, const flow_option *o)
{
	if (!(o->flags & FLOW_OPTION_OR_ONE))
		return "list";
	const char *text = arena_format(a, "list or %s", option_expected(a, o, o->element));
	return text == NULL ? "list" : text;
}

const char *
option_expected(arena *a, const flow_option *o, uint32_t type)
{
	switch (type) {
	case FLOW_OPTION_INT:
		return "integer";
	case FLOW_OPTION_FLOAT:
		return "number";
	case FLOW_OPTION_BOOL:
		return "boolean";
	case FLOW_OPTION_SIZE:
		return "size such as \"64KiB\"";
	case FLOW_OPTION_DURATION:
		return "duration with a unit such as \"5s\"";
	case FLOW_OPTION_DATETIME:
		return "date and time such as \"2013-01-01T10:00:00Z\"";
	case FLOW_OPTION_ENUM:
		return expected_choices(a, o);
	case FLOW_OPTION_LIST:
		return expected_list(a, o);
	case FLOW_OPTION_MAP:
	case FLOW_OPTION_GROUP:
		return "group";
	case FLOW_OPTION_ANY:
		return "string, number or boolean";
	default:
		return "string";
	}
}

int
option_condition(const char *condition, condition_term *term)
{
	term->absent = condition[0] == '!';
	term->name = condition + term->absent;
	const char *equals = strchr(term->name, '=');
	term->values = equals == NULL ? NULL : equals + 1;
	term->name_size = equals == NULL ? strlen(term->name) : (size_t)(equals - term->name);
	return term->name_size > 0 && !(term->absent && equals != NULL) && (equals == NULL || equals[1] != '\0');
}

int
option_condition_has(const char *values, const char *text, size_t size)
{
	for (;;) {
		size_t length = strcspn(values, "|");
		if (length == size && memcmp(values, text, size) == 0)
			return 1;
		if (values[length] == '\0')
			return 0;
		values += length + 1;
	}
}
