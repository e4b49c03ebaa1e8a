#include "host/selection.h"

#include <ctype.h>
#include <string.h>

/* Where the item ends: a comma outside of brackets and quotes, or the text's end. NULL: something is not closed. */
static const char *
item_end(const char *text)
{
	int depth = 0;
	char quote = 0;
	for (; *text != '\0'; text++) {
		if (quote != 0)
			quote = *text == quote ? 0 : quote; /* a doubled quote closes and opens again */
		else if (*text == '\'' || *text == '"')
			quote = *text;
		else if (strchr("([", *text) != NULL)
			depth++;
		else if (strchr(")]", *text) != NULL)
			depth--;
		else if (*text == ',' && depth <= 0)
			break;
	}
	return quote != 0 || depth > 0 ? NULL : text;
}

static char *
trimmed(arena *a, const char *text, size_t size)
{
	while (size > 0 && isspace((unsigned char)text[0])) {
		text++;
		size--;
	}
	while (size > 0 && isspace((unsigned char)text[size - 1]))
		size--;
	return arena_copy(a, text, size);
}

/* A name in double quotes may hold anything. */
static void
unquote(char *name)
{
	size_t size = strlen(name), to = 0;
	if (size < 2 || name[0] != '"' || name[size - 1] != '"')
		return;
	for (size_t i = 1; i + 1 < size; i++) {
		if (name[i] == '"' && name[i + 1] == '"' && i + 2 < size)
			i++;
		name[to++] = name[i];
	}
	name[to] = '\0';
}

/* The '=' behind a name: the first one outside of quotes, if it is not part of another sign. */
static char *
find_equals(char *item)
{
	int quoted = 0;
	for (char *c = item; *c != '\0'; c++) {
		if (*c == '"')
			quoted = !quoted;
		else if (!quoted && strchr("<>!", *c) != NULL)
			return NULL;
		else if (!quoted && *c == '=')
			return c;
	}
	return NULL;
}

static const char *
add_item(arena *a, selection *to, char *item)
{
	if (item[0] == '\0')
		return "an item is empty";
	if (strcmp(item, "*") == 0) {
		if (to->count != 0 || to->all)
			return "* stands in front of the other items";
		to->all = 1;
		return NULL;
	}
	selection_item *items = arena_allocate(a, (to->count + 1) * sizeof(*items));
	if (items == NULL)
		return "out of memory";
	if (to->count != 0)
		memcpy(items, to->items, to->count * sizeof(*items));
	char *equals = find_equals(item);
	char *name = equals == NULL ? item : trimmed(a, item, (size_t)(equals - item));
	char *expression = equals == NULL ? NULL : trimmed(a, equals + 1, strlen(equals + 1));
	if (name == NULL || (equals != NULL && expression == NULL))
		return "out of memory";
	if (name[0] == '\0' || (expression != NULL && expression[0] == '\0'))
		return "an item is NAME=EXPRESSION, and one of the two is missing";
	if (equals == NULL && to->all)
		return "behind * stand new columns, NAME=EXPRESSION; all others are there already";
	unquote(name);
	for (size_t i = 0; i < to->count; i++)
		if (strcmp(items[i].name, name) == 0)
			return "a column is named twice";
	items[to->count++] = (selection_item){ name, expression };
	to->items = items;
	return NULL;
}

const char *
selection_add(arena *a, selection *to, const char *text)
{
	for (;;) {
		const char *end = item_end(text);
		if (end == NULL)
			return "a bracket or quote is not closed";
		char *item = trimmed(a, text, (size_t)(end - text));
		const char *wrong = item == NULL ? "out of memory" : add_item(a, to, item);
		if (wrong != NULL || *end == '\0')
			return wrong;
		text = end + 1;
	}
}
