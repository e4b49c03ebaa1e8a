/* Checks of option tables themselves: mistakes of an author, found before a user meets them. */
#include <string.h>

#include "options/options.h"
#include "options/resolve.h"

#define MAX_DEPTH 8 /* groups within groups */

typedef struct table_check {
	arena *arena;
	problems *list;
	const char *component;
} table_check;

static void check_options(const table_check *c, const char *prefix, const flow_option *const *options, int depth);

#define complain(c, path, ...) problems_add((c)->list, NULL, 0, path, __VA_ARGS__)

static int
is_name(const char *name)
{
	if (name == NULL || name[0] < 'a' || name[0] > 'z')
		return 0;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static int
has_bounds(uint32_t type)
{
	return type == FLOW_OPTION_INT || type == FLOW_OPTION_FLOAT || type == FLOW_OPTION_SIZE ||
		   type == FLOW_OPTION_DURATION || type == FLOW_OPTION_DATETIME;
}

static void
check_bounds(const table_check *c, const char *path, const flow_option *o)
{
	uint32_t type = o->type == FLOW_OPTION_LIST || o->type == FLOW_OPTION_MAP ? o->element : o->type;
	int64_t low = 0, high = 0;
	double low_number = 0, high_number = 0;
	if (o->minimum == NULL && o->maximum == NULL)
		return;
	if (!has_bounds(type)) {
		complain(c, path, "bounds on a type that has none");
		return;
	}
	int low_right = o->minimum == NULL || resolve_number(type, o->minimum, &low, &low_number);
	int high_right = o->maximum == NULL || resolve_number(type, o->maximum, &high, &high_number);
	if (!low_right)
		complain(c, path, "the minimum %s cannot be read", o->minimum);
	if (!high_right)
		complain(c, path, "the maximum %s cannot be read", o->maximum);
	if (low_right && high_right && o->minimum != NULL && o->maximum != NULL &&
		(type == FLOW_OPTION_FLOAT ? low_number > high_number : low > high))
		complain(c, path, "the minimum %s is more than the maximum %s", o->minimum, o->maximum);
}

static void
check_choices(const table_check *c, const char *path, const flow_option *o)
{
	if (o->choices == NULL || o->choices[0] == NULL) {
		complain(c, path, "an enum without choices");
		return;
	}
	for (size_t i = 0; o->choices[i] != NULL; i++) {
		size_t size = strcspn(o->choices[i], "\t");
		if (size == 0)
			complain(c, path, "an empty choice");
		for (size_t j = 0; j < i; j++)
			if (strcspn(o->choices[j], "\t") == size && strncmp(o->choices[i], o->choices[j], size) == 0)
				complain(c, path, "the choice \"%.*s\" stands twice", (int)size, o->choices[i]);
	}
}

static void
check_type(const table_check *c, const char *path, const flow_option *o, uint32_t type, int depth)
{
	switch (type) {
	case FLOW_OPTION_ENUM:
		check_choices(c, path, o);
		break;
	case FLOW_OPTION_REFERENCE:
		if (o->refers_to == NULL)
			complain(c, path, "a reference that says not what it refers to");
		break;
	case FLOW_OPTION_GROUP:
		if (o->members == NULL || o->members[0] == NULL)
			complain(c, path, "a group without members");
		else
			check_options(c, path, o->members, depth + 1);
		break;
	case FLOW_OPTION_LIST:
	case FLOW_OPTION_MAP:
		if (o->type != type || o->element == FLOW_OPTION_LIST || o->element == FLOW_OPTION_MAP)
			complain(c, path, "lists and maps hold scalars or groups");
		else
			check_type(c, path, o, o->element, depth);
		break;
	default:
		if (type == 0 || type > FLOW_OPTION_ANY)
			complain(c, path, "there is no type %u", type);
	}
}

static void
check_default(const table_check *c, const char *path, const flow_option *o)
{
	if (o->default_text == NULL)
		return;
	if (o->flags & FLOW_OPTION_REQUIRED)
		complain(c, path, "required, and yet with a default");
	if (o->type == FLOW_OPTION_SECRET)
		complain(c, path, "a secret with a default");
	resolver r = { c->arena, c->list, NULL, NULL, 0 };
	setting like = { .layer = LAYER_DEFAULT, .origin = "default", .name = o->name, .path = path };
	setting *s = option_setting_of_text(c->arena, o, o->type, o->default_text, &like);
	if (s == NULL)
		complain(c, path, "out of memory");
	else if (o->type != FLOW_OPTION_GROUP) /* its members are looked at on their own */
		resolve_value(&r, o, o->type, s);
}

static void
check_condition(const table_check *c, const char *path, const flow_option *o, const flow_option *const *siblings)
{
	condition_term term;
	if (o->condition == NULL)
		return;
	if (!option_condition(o->condition, &term)) {
		complain(c, path, "the condition %s cannot be read", o->condition);
		return;
	}
	for (size_t i = 0; siblings[i] != NULL; i++)
		if (siblings[i] != o && siblings[i]->name != NULL && strlen(siblings[i]->name) == term.name_size &&
			memcmp(siblings[i]->name, term.name, term.name_size) == 0)
			return;
	complain(c, path, "the condition %s names no option of the same table", o->condition);
}

static void
check_option(const table_check *c, const char *path, const flow_option *o, int depth)
{
	if (!is_name(o->name))
		complain(c, path, "names of options have the form [a-z][a-z0-9_]*");
	if (o->doc == NULL || o->doc[0] == '\0')
		complain(c, path, "no documentation");
	if ((o->flags & FLOW_OPTION_OR_ONE) && o->type != FLOW_OPTION_LIST)
		complain(c, path, "only a list also takes one bare item");
	check_type(c, path, o, o->type, depth);
	check_bounds(c, path, o);
	check_default(c, path, o);
}

/* Names and primaries, seen over all of a table. */
static void
check_together(const table_check *c, const char *path, const flow_option *const *options, size_t index)
{
	const flow_option *o = options[index];
	for (size_t i = 0; i < index; i++) {
		if (o->name != NULL && options[i]->name != NULL && strcmp(options[i]->name, o->name) == 0)
			complain(c, path, "the name stands twice");
		if (o->flags & options[i]->flags & FLOW_OPTION_PRIMARY)
			complain(c, path, "a second primary option beside %s", options[i]->name);
	}
	check_condition(c, path, o, options);
}

static void
check_options(const table_check *c, const char *prefix, const flow_option *const *options, int depth)
{
	if (depth > MAX_DEPTH) {
		complain(c, prefix, "groups nested deeper than %d", MAX_DEPTH);
		return;
	}
	for (size_t i = 0; options[i] != NULL; i++) {
		const flow_option *o = options[i];
		if (o->struct_size < sizeof(*o)) {
			complain(c, prefix, "option %zu has no struct_size", i);
			continue;
		}
		const char *path = arena_format(c->arena, "%s.%s", prefix, o->name == NULL ? "" : o->name);
		if (path == NULL) {
			complain(c, prefix, "out of memory");
			return;
		}
		check_option(c, path, o, depth);
		check_together(c, path, options, i);
	}
}

void
options_check_table(const flow_option_set *set, const char *component, problems *list)
{
	table_check c = { list->arena, list, component };
	if (set->struct_size < sizeof(*set) || set->scope == NULL || set->options == NULL) {
		complain(&c, component, "a set of options without struct_size, scope or options");
		return;
	}
	const char *prefix = component;
	if (set->scope[0] != '\0')
		prefix = arena_format(c.arena, "%s.%s", component, set->scope);
	check_options(&c, prefix == NULL ? component : prefix, set->options, 0);
}
