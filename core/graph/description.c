/* What code describes, collected: properties by path, steps behind inputs and steps. Nothing is judged here but what could not be
 * kept as a setting. */
#include "graph/description.h"

#include <string.h>

#include "config/layers.h"
#include "flow_sdk/number.h"

static described *
of(const flow_descriptor *shown)
{
	return (described *)shown;
}

static description *
of_graph(const flow_graph *shown)
{
	return (description *)shown;
}

/* A problem at a place in code. */
static void __attribute__((format(printf, 4, 5)))
report(description *d, const char *place, const char *path, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const char *message = arena_format_list(d->arena, format, arguments);
	va_end(arguments);
	problem *p = problems_add(d->problems, NULL, 0, path, "%s", message == NULL ? "out of memory" : message);
	if (p != NULL)
		p->place = place == NULL ? "application" : arena_copy_text(d->arena, place);
}

static const char *
kind_name(uint32_t kind)
{
	static const char *const names[] = { "?", "system", "input", "output", "table", "step", "application" };
	return names[kind < FLOW_COUNT(names) ? kind : 0];
}

static const char *
section_name(uint32_t kind)
{
	static const char *const names[] = { "?", "systems", "inputs", "outputs", "tables", "flow", "" };
	return names[kind < FLOW_COUNT(names) ? kind : 0];
}

/* --- things
 * ------------------------------------------------------------------------------------------------------------------ */

static setting *
new_setting(description *d, uint8_t kind, const char *place)
{
	setting *s = arena_allocate_zeroed(d->arena, sizeof(*s));
	const char *origin = place == NULL ? "application" : arena_copy_text(d->arena, place);
	if (s == NULL || origin == NULL) {
		d->failed = 1;
		return NULL;
	}
	s->kind = kind;
	s->layer = LAYER_DESCRIPTOR;
	s->origin = origin;
	s->path = d->path;
	return s;
}

/* What callers get when there is no memory: every call on it does nothing. */
static flow_descriptor *
nothing(description *d)
{
	static described none = { .shown = { .struct_size = FLOW_SIZEOF(flow_descriptor) } };
	none.shown.graph = &d->shown;
	none.owner = d;
	return &none.shown;
}

static described *
new_described(description *d, uint32_t kind, const char *name, const char *place, int read)
{
	described *made = arena_allocate_zeroed(d->arena, sizeof(*made));
	const char *copy = name == NULL ? NULL : arena_copy_text(d->arena, name);
	setting *group = read ? new_setting(d, SETTING_GROUP, place) : NULL;
	if (made == NULL || (name != NULL && copy == NULL) || (read && group == NULL)) {
		d->failed = 1;
		return NULL;
	}
	made->shown = (flow_descriptor){ FLOW_SIZEOF(flow_descriptor), kind, &d->shown, copy };
	made->owner = d;
	made->group = group;
	if (group != NULL)
		group->name = copy;
	if (d->last == NULL)
		d->first = made;
	else
		d->last->next = made;
	d->last = made;
	return made;
}

static flow_descriptor *
shown_or_nothing(description *d, described *made)
{
	return made == NULL ? nothing(d) : &made->shown;
}

static flow_descriptor *
find_step(description *d, const char *name, const char *place)
{
	for (described *one = d->first; one != NULL; one = one->next)
		if (one->shown.kind == FLOW_DESCRIBE_STEP && one->shown.name != NULL && strcmp(one->shown.name, name) == 0)
			return &one->shown;
	report(d, place, d->path, "no step is called '%s'; steps are made with step()", name);
	return shown_or_nothing(d, new_described(d, FLOW_DESCRIBE_STEP, name, place, 0));
}

static flow_descriptor *
graph_application(flow_graph *shown)
{
	return shown_or_nothing(of_graph(shown), of_graph(shown)->application);
}

static flow_descriptor *
graph_descriptor(flow_graph *shown, uint32_t kind, const char *name, const char *place)
{
	description *d = of_graph(shown);
	if (kind == FLOW_DESCRIBE_APPLICATION)
		return graph_application(shown);
	int known = kind >= FLOW_DESCRIBE_SYSTEM && kind <= FLOW_DESCRIBE_STEP;
	if (!known)
		report(d, place, d->path, "%u is no kind of descriptor", kind);
	else if (name == NULL)
		report(d, place, d->path, "the %s has no name", kind_name(kind));
	else if (kind == FLOW_DESCRIBE_STEP)
		return find_step(d, name, place);
	return shown_or_nothing(d, new_described(d, kind, name, place, known && name != NULL));
}

/* --- properties
 * -------------------------------------------------------------------------------------------------------------- */

/* The descriptor and the path, if a property can be set there. */
static const char *const *
property_key(flow_descriptor *descriptor, const char *path, const char *place, size_t *count)
{
	described *one = of(descriptor);
	if (one == NULL || one->group == NULL)
		return NULL;
	const char *const *key = path == NULL ? NULL : layers_split(one->owner->arena, path, strlen(path), count);
	if (key == NULL)
		report(one->owner, place, one->owner->path, "'%s' is no path of a property", path == NULL ? "" : path);
	return key;
}

static void
put(flow_descriptor *descriptor, const char *path, const char *place, setting *value)
{
	size_t count;
	const char *const *key = value == NULL ? NULL : property_key(descriptor, path, place, &count);
	if (key != NULL && !layers_put(of(descriptor)->owner->arena, of(descriptor)->group, key, count, value))
		of(descriptor)->owner->failed = 1;
}

static setting *
text_setting(description *d, const char *text, const char *place)
{
	setting *s = new_setting(d, SETTING_STRING, place);
	if (s == NULL)
		return NULL;
	s->size = strlen(text);
	s->text = arena_copy(d->arena, text, s->size);
	d->failed |= s->text == NULL;
	return s->text == NULL ? NULL : s;
}

static int
has_text(const flow_descriptor *descriptor, const char *path, const char *text, const char *place)
{
	if (text == NULL && of(descriptor)->group != NULL)
		report(of(descriptor)->owner, place, of(descriptor)->owner->path, "'%s' is set to a text that is NULL",
			   path == NULL ? "" : path);
	return text != NULL;
}

static void
set_text(flow_descriptor *descriptor, const char *path, const char *text, const char *place)
{
	if (has_text(descriptor, path, text, place))
		put(descriptor, path, place, text_setting(of(descriptor)->owner, text, place));
}

static void
set_int(flow_descriptor *descriptor, const char *path, int64_t number, const char *place)
{
	description *d = of(descriptor)->owner;
	setting *s = new_setting(d, SETTING_INT, place);
	if (s == NULL)
		return;
	int fits = number >= INT32_MIN && number <= INT32_MAX;
	s->integer = number;
	s->number = (double)number;
	s->text = arena_format(d->arena, "%lld%s", (long long)number, fits ? "" : "L");
	s->size = s->text == NULL ? 0 : strlen(s->text);
	put(descriptor, path, place, s);
}

static void
set_float(flow_descriptor *descriptor, const char *path, double number, const char *place)
{
	description *d = of(descriptor)->owner;
	setting *s = new_setting(d, SETTING_FLOAT, place);
	char text[FLOW_NUMBER_TEXT_MAX + 1];
	if (s == NULL)
		return;
	s->size = flow_print_float64(number, text);
	s->number = number;
	s->text = arena_copy(d->arena, text, s->size);
	put(descriptor, path, place, s);
}

static void
set_bool(flow_descriptor *descriptor, const char *path, int truth, const char *place)
{
	setting *s = new_setting(of(descriptor)->owner, SETTING_BOOL, place);
	if (s == NULL)
		return;
	s->integer = truth != 0;
	s->text = truth ? "true" : "false";
	s->size = strlen(s->text);
	put(descriptor, path, place, s);
}

static const setting *
find_property(const described *one, const char *const *key, size_t count)
{
	const setting *s = one->group;
	for (size_t i = 0; i < count && s != NULL; i++)
		s = setting_child(s, key[i]);
	return s;
}

static void
add_text(flow_descriptor *descriptor, const char *path, const char *text, const char *place)
{
	description *d = of(descriptor)->owner;
	size_t count;
	const char *const *key = property_key(descriptor, path, place, &count);
	if (key == NULL || !has_text(descriptor, path, text, place))
		return;
	const setting *before = find_property(of(descriptor), key, count);
	size_t known = before == NULL || before->kind != SETTING_LIST ? 0 : before->child_count;
	setting *list = new_setting(d, SETTING_LIST, known == 0 ? place : before->origin);
	setting *item = text_setting(d, text, place);
	setting **items = arena_allocate(d->arena, (known + 1) * sizeof(*items));
	if (list == NULL || item == NULL || items == NULL) {
		d->failed = 1;
		return;
	}
	if (known != 0)
		memcpy(items, before->children, known * sizeof(*items));
	items[known] = item;
	list->children = items;
	list->child_count = known + 1;
	put(descriptor, path, place, list);
}

static void
set_system(flow_descriptor *stream, const char *system_name, const char *place)
{
	described *one = of(stream);
	if (one->group != NULL && stream->kind != FLOW_DESCRIBE_INPUT && stream->kind != FLOW_DESCRIBE_OUTPUT)
		report(one->owner, place, one->owner->path, "a %s has no system; streams have", kind_name(stream->kind));
	else
		set_text(stream, "system", system_name, place);
}

static void
inherit(flow_descriptor *input, const char *place)
{
	described *one = of(input);
	description *d = one->owner;
	if (d->logical == NULL) {
		report(d, place, d->path, "inherit() is for expanders");
		return;
	}
	for (size_t i = 0; one->group != NULL && i < d->logical->child_count; i++) {
		const setting *s = d->logical->children[i];
		const char *key[1] = { s->name };
		if (s->layer == LAYER_DEFAULT || strcmp(s->name, "system") == 0)
			continue;
		/* What files or the command line say of the logical input counts with it, so it moves as part of the description. */
		setting *copy = setting_copy(d->arena, s, LAYER_DESCRIPTOR, NULL);
		if (copy == NULL || !layers_put(d->arena, one->group, key, 1, copy))
			d->failed = 1;
	}
}

/* --- steps
 * ------------------------------------------------------------------------------------------------------------------- */

static int
gives_records(const flow_descriptor *shown)
{
	return shown != NULL && (shown->kind == FLOW_DESCRIBE_INPUT || shown->kind == FLOW_DESCRIBE_STEP);
}

static int
check_origin(description *d, const flow_descriptor *origin, const char *place)
{
	if (gives_records(origin) && of(origin)->owner == d)
		return 1;
	if (origin == NULL || origin->kind != 0)
		report(d, place, d->path, "a step takes its records from an input or a step, not from %s%s",
			   origin == NULL          ? "nothing"
			   : gives_records(origin) ? "another application's "
									   : "a descriptor of kind ",
			   origin == NULL ? "" : kind_name(origin->kind));
	return 0;
}

static void
add_origin(described *step, described *origin)
{
	description *d = step->owner;
	described **origins = arena_allocate(d->arena, (step->origin_count + 1) * sizeof(*origins));
	if (origins == NULL) {
		d->failed = 1;
		return;
	}
	if (step->origin_count != 0)
		memcpy(origins, step->origins, step->origin_count * sizeof(*origins));
	origins[step->origin_count++] = origin;
	step->origins = origins;
}

static flow_descriptor *
graph_step_behind(flow_graph *shown, flow_descriptor *previous, const char *name, const char *place)
{
	description *d = of_graph(shown);
	int good = check_origin(d, previous, place);
	described *made = new_described(d, FLOW_DESCRIBE_STEP, name, place, 1);
	if (made == NULL)
		return nothing(d);
	made->index = d->step_count++;
	made->group->name = NULL;
	if (good)
		add_origin(made, of(previous));
	if (name != NULL)
		set_text(&made->shown, "name", name, place);
	return &made->shown;
}

static int
is_step(const flow_descriptor *step, const char *place, const char *call)
{
	described *one = of(step);
	if (step->kind == FLOW_DESCRIBE_STEP && one->first_output == NULL)
		return one->group != NULL;
	report(one->owner, place, one->owner->path, "%s is for steps, not for a descriptor of kind %s", call,
		   kind_name(step->kind));
	return 0;
}

static void
step_connect(flow_descriptor *step, flow_descriptor *second, const char *place)
{
	if (!is_step(step, place, "connect()") || !check_origin(of(step)->owner, second, place))
		return;
	if (of(step)->second != NULL)
		report(of(step)->owner, place, of(step)->owner->path, "the step has a second input already");
	else
		of(step)->second = of(second);
}

static void
step_merge(flow_descriptor *step, flow_descriptor *other, const char *place)
{
	if (is_step(step, place, "merge()") && check_origin(of(step)->owner, other, place))
		add_origin(of(step), of(other));
}

static flow_descriptor *
step_second_output(flow_descriptor *step, const char *place)
{
	description *d = of(step)->owner;
	described *made = new_described(d, FLOW_DESCRIBE_STEP, step->name, place, 0);
	if (made == NULL || !is_step(step, place, "second_output()"))
		return shown_or_nothing(d, made);
	made->first_output = of(step);
	return &made->shown;
}

static void
set_context(flow_graph *shown, flow_status (*init)(void **shared, flow_error *error), void (*close)(void *shared))
{
	of_graph(shown)->context_init = init;
	of_graph(shown)->context_close = close;
}

static const flow_graph_ops ops = {
	.struct_size = FLOW_SIZEOF(flow_graph_ops),
	.descriptor = graph_descriptor,
	.set_text = set_text,
	.set_int = set_int,
	.set_float = set_float,
	.set_bool = set_bool,
	.add_text = add_text,
	.set_system = set_system,
	.step = graph_step_behind,
	.connect = step_connect,
	.application = graph_application,
	.set_context = set_context,
	.merge = step_merge,
	.second_output = step_second_output,
	.inherit = inherit,
};

/* --- the whole
 * --------------------------------------------------------------------------------------------------------------- */

void
description_begin(description *d, config *c, const char *path)
{
	*d = (description){ .shown = { FLOW_SIZEOF(flow_graph), 0, &ops },
						.arena = config_arena(c),
						.problems = config_problems(c),
						.path = path };
}

described *
description_find(const description *d, const flow_descriptor *shown)
{
	for (described *one = d->first; one != NULL; one = one->next)
		if (&one->shown == shown)
			return one;
	return NULL;
}

int
description_counts(description *d, const described *one)
{
	if (one->group == NULL || one->shown.kind == FLOW_DESCRIBE_STEP)
		return one->group != NULL;
	for (const described *before = d->first; before != one; before = before->next) {
		if (before->group == NULL || before->shown.kind != one->shown.kind ||
			strcmp(before->shown.name, one->shown.name) != 0)
			continue;
		if (!settings_equal(before->group, one->group))
			report(d, one->group->origin, one->group->path,
				   "%s '%s' is described at %s already, with other content; describe it once, or the same both times",
				   kind_name(one->shown.kind), one->shown.name, before->group->origin);
		return 0;
	}
	return 1;
}

static void
set_paths(description *d, setting *s, const char *path)
{
	if (path == NULL) {
		d->failed = 1;
		return;
	}
	if (s->path == d->path) /* what was inherited keeps the path under which it was written */
		s->path = path;
	for (size_t i = 0; i < s->child_count; i++) {
		const char *name = s->children[i]->name;
		set_paths(d, s->children[i],
				  name != NULL ? arena_format(d->arena, "%s.%s", s->path, name)
							   : arena_format(d->arena, "%s[%zu]", s->path, i));
	}
}

void
description_settle(description *d)
{
	for (described *one = d->first; one != NULL; one = one->next) {
		if (one->group == NULL || one == d->application)
			continue;
		const char *section = section_name(one->shown.kind);
		set_paths(d, one->group,
				  one->shown.kind == FLOW_DESCRIBE_STEP
					  ? arena_format(d->arena, "%s.%s[%zu]", d->path, section, one->index)
					  : arena_format(d->arena, "%s.%s.%s", d->path, section, one->shown.name));
	}
	if (d->application != NULL)
		set_paths(d, d->application->group, d->path);
}
