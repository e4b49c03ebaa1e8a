/* Settings and problems: what reading an application needs besides the options room. */
#include "graph/graph_reader.h"

#include <string.h>

#include "base/distance.h"

void *
reader_allocate(graph_reader *r, size_t size)
{
	void *memory = arena_allocate_zeroed(r->arena, size);
	if (memory == NULL)
		r->failed = 1;
	return memory;
}

graph *
reader_out_of_memory(problems *list)
{
	problems_add(list, NULL, 0, "", "out of memory while reading the application");
	return NULL;
}

static problem *
add(problems *list, const setting *s, const char *path, const char *message)
{
	problem *p = problems_add(list, s->file, s->line, path, "%s", message == NULL ? "out of memory" : message);
	if (p != NULL && s->file == NULL)
		p->place = s->origin;
	return p;
}

problem *
problem_at(problems *list, const setting *s, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const char *message = arena_format_list(list->arena, format, arguments);
	va_end(arguments);
	return add(list, s, s->path, message);
}

problem *
problem_in(problems *list, const setting *s, const char *key, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const char *message = arena_format_list(list->arena, format, arguments);
	va_end(arguments);
	return add(list, s, arena_format(list->arena, "%s.%s", s->path, key), message);
}

void
problem_once(problems *list, const setting *s, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i]->message, text) == 0)
			return;
	problem_at(list, s, "%s", text);
}

/* What was cut short ("val") is not near by distance. */
static const char *
only_continuation(const char *word, const char *const *names, size_t count)
{
	const char *found = NULL;
	size_t length = strlen(word);
	for (size_t i = 0; i < count && length >= 2; i++) {
		if (strncmp(names[i], word, length) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = names[i];
	}
	return found;
}

void
problem_suggest(problems *list, problem *p, const char *word, const char *const *names, size_t count)
{
	const char *nearest = distance_nearest(word, names, count);
	if (nearest == NULL)
		nearest = only_continuation(word, names, count);
	if (p != NULL && nearest != NULL)
		p->suggestion = arena_copy_text(list->arena, nearest);
}

void
problem_warning(problems *list, const setting *s, const char *text)
{
	size_t errors = list->errors;
	problem *p = problem_at(list, s, "%s", text);
	if (p != NULL)
		p->warning = 1;
	list->errors = errors;
}

int
setting_expect(problems *list, const setting *s, unsigned kinds, const char *expected)
{
	if ((kinds >> s->kind & 1) != 0)
		return 1;
	if (!s->bad)
		problem_at(list, s, "expected %s, found %s", expected, setting_kind_name(s));
	return 0;
}

setting *
setting_copy(arena *a, const setting *s, uint8_t layer, const char *name)
{
	setting *copy = arena_allocate(a, sizeof(*copy));
	if (copy == NULL)
		return NULL;
	*copy = *s;
	copy->layer = layer;
	copy->overrode = NULL;
	if (name != NULL)
		copy->name = name;
	if (s->child_count == 0)
		return copy;
	copy->children = arena_allocate(a, s->child_count * sizeof(*copy->children));
	if (copy->children == NULL)
		return NULL;
	for (size_t i = 0; i < s->child_count; i++)
		if ((copy->children[i] = setting_copy(a, s->children[i], layer, NULL)) == NULL)
			return NULL;
	return copy;
}

setting *
setting_group(arena *a, const setting *place, const char *name, setting *const *children, size_t count)
{
	setting *group = arena_allocate_zeroed(a, sizeof(*group));
	if (group == NULL)
		return NULL;
	group->kind = SETTING_GROUP;
	group->layer = place->layer;
	group->file = place->file;
	group->line = place->line;
	group->origin = place->origin;
	group->path = place->path;
	group->name = name;
	group->child_count = count;
	group->children = arena_allocate(a, (count + 1) * sizeof(*group->children));
	if (group->children == NULL)
		return NULL;
	if (count != 0)
		memcpy(group->children, children, count * sizeof(*children));
	return group;
}

static int
names_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static int
children_equal(const setting *a, const setting *b)
{
	if (a->child_count != b->child_count)
		return 0;
	for (size_t i = 0; i < a->child_count; i++) {
		const setting *other = a->kind == SETTING_GROUP ? setting_child(b, a->children[i]->name) : b->children[i];
		if (other == NULL || !settings_equal(a->children[i], other))
			return 0;
	}
	return 1;
}

int
settings_equal(const setting *a, const setting *b)
{
	if (a->kind != b->kind || !names_equal(a->name, b->name))
		return 0;
	switch (a->kind) {
	case SETTING_GROUP:
	case SETTING_LIST:
	case SETTING_ARRAY:
		return children_equal(a, b);
	case SETTING_STRING:
		return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
	case SETTING_FLOAT:
		return a->number == b->number;
	default:
		return a->integer == b->integer;
	}
}

const char *
setting_place(arena *a, const setting *s)
{
	const char *place = s->file == NULL ? s->origin : arena_format(a, "%s:%u", s->file, s->line);
	return place == NULL ? "configuration" : place;
}
