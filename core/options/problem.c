#include "options/problem.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "options/utf8.h"

static void
release_items(void *owner)
{
	problems *list = owner;
	memory_release(list->items);
}

problems *
problems_create(arena *a)
{
	problems *list = arena_allocate_zeroed(a, sizeof(*list));
	if (list == NULL)
		return NULL;
	list->arena = a;
	return arena_on_destroy(a, release_items, list) ? list : NULL;
}

/* An item that fits nowhere still counts as an error: out of memory must not look like a clean check. */
static problem *
append(problems *list, problem *item)
{
	list->errors++;
	if (item == NULL)
		return NULL;
	if (list->count == list->capacity) {
		size_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
		problem **items = memory_reallocate(list->items, capacity * sizeof(*items));
		if (items == NULL)
			return NULL;
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = item;
	return item;
}

problem *
problems_add(problems *list, const char *file, unsigned line, const char *path, const char *format, ...)
{
	problem *item = arena_allocate_zeroed(list->arena, sizeof(*item));
	if (item != NULL) {
		va_list arguments;
		va_start(arguments, format);
		item->message = arena_format_list(list->arena, format, arguments);
		va_end(arguments);
		item->file = file == NULL ? NULL : arena_copy_text(list->arena, file);
		item->line = file == NULL ? 0 : line;
		item->path = path == NULL ? NULL : arena_copy_text(list->arena, path);
		if (item->message == NULL)
			item->message = "out of memory";
	}
	return append(list, item);
}

void
problems_repeat(problems *list)
{
	list->errors++;
}

void
problems_warn(problems *list, problem *item)
{
	if (item == NULL || item->warning)
		return;
	item->warning = 1;
	list->errors--;
}

static int
compare_text(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

/* "app.c:9" before "app.c:31". */
static int
compare_places(const char *a, const char *b)
{
	const char *colon_a = a == NULL ? NULL : strrchr(a, ':'), *colon_b = b == NULL ? NULL : strrchr(b, ':');
	if (colon_a == NULL || colon_b == NULL || colon_a - a != colon_b - b || strncmp(a, b, (size_t)(colon_a - a)) != 0)
		return compare_text(a, b);
	unsigned long line_a = strtoul(colon_a + 1, NULL, 10), line_b = strtoul(colon_b + 1, NULL, 10);
	return line_a != line_b ? (line_a < line_b ? -1 : 1) : strcmp(a, b);
}

static int
compare(const problem *a, const problem *b)
{
	int order = compare_text(a->file, b->file);
	if (order == 0)
		order = (a->line > b->line) - (a->line < b->line);
	if (order == 0)
		order = compare_places(a->place, b->place);
	return order;
}

static int
compare_items(const void *a, const void *b)
{
	const problem *left = *(problem *const *)a;
	const problem *right = *(problem *const *)b;
	int order = compare(left, right);
	if (order == 0)
		order = compare_text(left->path, right->path);
	return order != 0 ? order : compare_text(left->message, right->message);
}

void
problems_sort(problems *list)
{
	if (list->count < 2)
		return;
	qsort(list->items, list->count, sizeof(problem *), compare_items);
	size_t kept = 1;
	for (size_t i = 1; i < list->count; i++) {
		if (compare_items(&list->items[i], &list->items[kept - 1]) != 0)
			list->items[kept++] = list->items[i];
		else if (!list->items[i]->warning)
			list->errors--;
	}
	list->count = kept;
}

/* For a terminal: nothing that a file holds may move its cursor. */
static void
print_plain(const char *text, FILE *to)
{
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		if (c < 0x20 || c == 0x7F)
			fprintf(to, "\\x%02x", c);
		else
			fputc(c, to);
	}
}

static void
print_text(const problem *item, FILE *to)
{
	if (item->file != NULL) {
		print_plain(item->file, to);
		if (item->line != 0)
			fprintf(to, ":%u", item->line);
		fputs(": ", to);
	} else if (item->place != NULL) {
		print_plain(item->place, to);
		fputs(": ", to);
	}
	if (item->warning)
		fputs("warning: ", to);
	if (item->path != NULL && item->path[0] != '\0') {
		print_plain(item->path, to);
		fputs(": ", to);
	}
	print_plain(item->message, to);
	if (item->suggestion != NULL) {
		fputs(", did you mean \"", to);
		print_plain(item->suggestion, to);
		fputs("\"?", to);
	}
	fputc('\n', to);
}

/* Names of files may be any bytes; JSON may not. */
static void
add_text(json_t *object, const char *key, const char *text)
{
	if (text == NULL)
		return;
	size_t size = strlen(text);
	char *copy = memory_allocate(UTF8_ESCAPED(size) + 1);
	if (copy == NULL)
		return;
	json_object_set_new(object, key, json_stringn(copy, utf8_escape(text, size, copy)));
	memory_release(copy);
}

static json_t *
json_of(const problem *item)
{
	json_t *object = json_object();
	if (object == NULL)
		return NULL;
	add_text(object, "file", item->file);
	if (item->line != 0)
		json_object_set_new(object, "line", json_integer(item->line));
	add_text(object, "place", item->place);
	add_text(object, "path", item->path);
	add_text(object, "severity", item->warning ? "warning" : "error");
	add_text(object, "message", item->message);
	add_text(object, "suggestion", item->suggestion);
	return object;
}

void
problems_print(const problems *list, FILE *to, int json)
{
	if (!json) {
		for (size_t i = 0; i < list->count; i++)
			print_text(list->items[i], to);
		return;
	}
	json_t *array = json_array();
	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, json_of(list->items[i]));
	if (array == NULL || json_dumpf(array, to, JSON_INDENT(2)) != 0)
		fputs("[]", to);
	fputc('\n', to);
	json_decref(array);
}
