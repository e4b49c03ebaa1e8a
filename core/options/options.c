#include "options/options.h"

#include <stdio.h>
#include <string.h>

#include "base/distance.h"
#include "options/resolve.h"

void *
resolve_check(resolver *r, void *memory)
{
	if (memory == NULL)
		r->failed = 1;
	return memory;
}

problem *
resolve_report(resolver *r, const setting *s, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	char *text = arena_format_list(r->arena, format, arguments);
	va_end(arguments);
	problem *item = problems_add(r->list, s->file, s->line, s->path, "%s", text == NULL ? "out of memory" : text);
	if (item != NULL && s->file == NULL)
		item->place = s->origin;
	return item;
}

void
resolve_report_type(resolver *r, const flow_option *o, uint32_t type, const setting *s)
{
	if (s->resolved)
		resolve_report(r, s, "expected %s, found another text in what the value refers to",
					   option_expected(r->arena, o, type));
	else
		resolve_report(r, s, "expected %s, found %s", option_expected(r->arena, o, type), setting_kind_name(s));
}

const char *
resolve_shown(const setting *s)
{
	static _Thread_local char shown[128];
	if (s->secret)
		return "********";
	if (s->kind != SETTING_STRING)
		return s->text == NULL ? "the value" : s->text;
	snprintf(shown, sizeof(shown), "\"%.100s\"%s", s->text, s->size > 100 ? "..." : "");
	return shown;
}

/* One option with what was set for it, while its group is resolved. */
typedef struct slot {
	const flow_option *option;
	setting *setting; /* NULL: not set */
	flow_option_value *value;
	int state; /* of settling */
} slot;

#define SLOT_OPEN 0
#define SLOT_BUSY 1
#define SLOT_DONE 2

typedef struct level {
	resolver *resolver;
	slot *slots;
	size_t count;
	const setting *place;        /* of the group */
	const char *const *misspelt; /* names that unknown keys probably meant: not reported as missing besides */
	size_t misspelt_count;
} level;

static slot *
find_slot(const level *l, const char *name, size_t size)
{
	for (size_t i = 0; i < l->count; i++)
		if (strlen(l->slots[i].option->name) == size && memcmp(l->slots[i].option->name, name, size) == 0)
			return &l->slots[i];
	return NULL;
}

static int
is_ignored(const char *const *ignore, const char *name)
{
	for (size_t i = 0; ignore != NULL && ignore[i] != NULL; i++)
		if (strcmp(ignore[i], name) == 0)
			return 1;
	return 0;
}

static size_t
count_names(const char *const *names)
{
	size_t count = 0;
	while (names != NULL && names[count] != NULL)
		count++;
	return count;
}

/* All words that could stand in the group. */
static const char **
candidates(const level *l, const char *const *ignore, size_t *count)
{
	size_t ignored = count_names(ignore);
	const char **names =
		resolve_check(l->resolver, arena_allocate(l->resolver->arena, (l->count + ignored + 1) * sizeof(*names)));
	if (names == NULL)
		return NULL;
	for (size_t i = 0; i < l->count; i++)
		names[i] = l->slots[i].option->name;
	for (size_t i = 0; i < ignored; i++)
		names[l->count + i] = ignore[i];
	*count = l->count + ignored;
	return names;
}

/* Puts each setting of the group at its option; unknown ones are reported. */
static int
assign(level *l, const setting *group, const char *const *ignore)
{
	resolver *r = l->resolver;
	size_t count = 0;
	const char **names = candidates(l, ignore, &count);
	const char **misspelt =
		group == NULL ? NULL : arena_allocate(r->arena, (group->child_count + 1) * sizeof(*misspelt));
	if (names == NULL || (group != NULL && resolve_check(r, misspelt) == NULL))
		return 0;
	l->misspelt = misspelt;
	for (size_t i = 0; group != NULL && i < group->child_count; i++) {
		setting *s = group->children[i];
		if (s->layer == LAYER_DEFAULT || is_ignored(ignore, s->name))
			continue;
		slot *found = find_slot(l, s->name, strlen(s->name));
		if (found != NULL) {
			found->setting = s;
			continue;
		}
		problem *item = resolve_report(r, s, "unknown option");
		const char *near = distance_nearest(s->name, names, count);
		if (item != NULL)
			item->suggestion = near;
		if (near != NULL)
			misspelt[l->misspelt_count++] = near;
	}
	return 1;
}

static void settle(level *l, slot *one);

static int
value_is(const flow_option_value *value, const char *values)
{
	char number[32];
	if (value->type == FLOW_OPTION_BOOL)
		return option_condition_has(values, value->integer ? "true" : "false", value->integer ? 4 : 5);
	if (value->type == FLOW_OPTION_INT) {
		int size = snprintf(number, sizeof(number), "%lld", (long long)value->integer);
		return option_condition_has(values, number, (size_t)size);
	}
	return option_condition_has(values, value->text.data == NULL ? "" : value->text.data, value->text.size);
}

/* A condition on something that is wrong itself counts as met: one mistake, one message. */
static int
condition_holds(level *l, const char *condition)
{
	condition_term term;
	if (condition == NULL || !option_condition(condition, &term))
		return 1;
	slot *other = find_slot(l, term.name, term.name_size);
	if (other == NULL || other->state == SLOT_BUSY)
		return 1;
	settle(l, other);
	if (other->value == NULL && other->setting != NULL)
		return !term.absent;
	if (term.values == NULL)
		return term.absent ? other->value == NULL : other->value != NULL;
	return other->value != NULL && value_is(other->value, term.values);
}

static const char *
member_path(resolver *r, const setting *place, const char *name)
{
	if (place->path == NULL || place->path[0] == '\0')
		return name;
	const char *path = resolve_check(r, arena_format(r->arena, "%s.%s", place->path, name));
	return path == NULL ? name : path;
}

static void
use_default(level *l, slot *one)
{
	resolver *r = l->resolver;
	const flow_option *o = one->option;
	setting like = { .layer = LAYER_DEFAULT, .origin = "default", .name = o->name };
	like.path = member_path(r, l->place, o->name);
	setting *s = resolve_check(r, option_setting_of_text(r->arena, o, o->type, o->default_text, &like));
	if (s != NULL)
		one->value = resolve_value(r, o, o->type, s);
}

static void
report_missing(level *l, const flow_option *o)
{
	for (size_t i = 0; i < l->misspelt_count; i++)
		if (strcmp(l->misspelt[i], o->name) == 0)
			return;
	setting where = *l->place;
	where.path = member_path(l->resolver, l->place, o->name);
	resolve_report(l->resolver, &where, "the option is required%s%s", o->condition == NULL ? "" : " with ",
				   o->condition == NULL ? "" : o->condition);
}

static void
settle(level *l, slot *one)
{
	if (one->state != SLOT_OPEN)
		return;
	one->state = SLOT_BUSY;
	const flow_option *o = one->option;
	int holds = condition_holds(l, o->condition);
	if (one->setting != NULL) {
		one->value = resolve_value(l->resolver, o, o->type, one->setting);
		if (!holds && !one->setting->bad) {
			const char *absent = o->condition[0] == '!' ? "where there is no " : "with ";
			resolve_report(l->resolver, one->setting, "the option is valid only %s%s", absent,
						   o->condition + (o->condition[0] == '!'));
			one->value = NULL;
		}
	} else if (holds && o->default_text != NULL) {
		use_default(l, one);
	} else if (holds && (o->flags & FLOW_OPTION_REQUIRED)) {
		report_missing(l, o);
	}
	one->state = SLOT_DONE;
}

static const flow_option_entry *const *
collect(level *l, uint64_t *count)
{
	resolver *r = l->resolver;
	const flow_option_entry **items = resolve_check(r, arena_allocate(r->arena, (l->count + 1) * sizeof(*items)));
	flow_option_entry *all = resolve_check(r, arena_allocate_zeroed(r->arena, (l->count + 1) * sizeof(*all)));
	*count = 0;
	if (items == NULL || all == NULL)
		return NULL;
	for (size_t i = 0; i < l->count; i++) {
		if (l->slots[i].value == NULL)
			continue;
		flow_option_entry *entry = &all[*count];
		entry->struct_size = FLOW_SIZEOF(flow_option_entry);
		entry->name = flow_slice_of(l->slots[i].option->name);
		entry->value = l->slots[i].value;
		items[(*count)++] = entry;
	}
	return items;
}

const flow_option_entry *const *
resolve_members(resolver *r, const member_list *members, const setting *group, const setting *place,
				const char *const *ignore, uint64_t *count)
{
	level l = { .resolver = r, .count = members->count, .place = place };
	*count = 0;
	l.slots = resolve_check(r, arena_allocate_zeroed(r->arena, (members->count + 1) * sizeof(*l.slots)));
	if (l.slots == NULL)
		return NULL;
	for (size_t i = 0; i < members->count; i++)
		l.slots[i].option = members->options[i];
	if (!assign(&l, group, ignore))
		return NULL;
	for (size_t i = 0; i < l.count && !r->failed; i++)
		settle(&l, &l.slots[i]);
	return collect(&l, count);
}

member_list
resolve_member_list(resolver *r, const flow_option *const *members)
{
	member_list list = { NULL, 0 };
	while (members != NULL && members[list.count] != NULL)
		list.count++;
	list.options = resolve_check(r, arena_allocate(r->arena, (list.count + 1) * sizeof(*list.options)));
	if (list.options == NULL)
		list.count = 0;
	else if (list.count != 0)
		memcpy(list.options, members, list.count * sizeof(*list.options));
	return list;
}

/* The options of all sets together. */
static member_list
members_of_sets(resolver *r, const flow_option_set *const *sets)
{
	member_list all = { NULL, 0 };
	size_t capacity = 0;
	for (size_t i = 0; sets != NULL && sets[i] != NULL; i++)
		for (size_t j = 0; sets[i]->options != NULL && sets[i]->options[j] != NULL; j++)
			capacity++;
	all.options = resolve_check(r, arena_allocate(r->arena, (capacity + 1) * sizeof(*all.options)));
	for (size_t i = 0; all.options != NULL && sets != NULL && sets[i] != NULL; i++)
		for (size_t j = 0; sets[i]->options != NULL && sets[i]->options[j] != NULL; j++)
			all.options[all.count++] = sets[i]->options[j];
	return all;
}

static void
set_identity(resolver *r, const options_request *request, const setting *place, flow_options *result)
{
	char *name = resolve_check(r, arena_copy_text(r->arena, request->name == NULL ? "" : request->name));
	const char *origin = place->origin;
	if (request->file != NULL)
		origin = resolve_check(r, arena_format(r->arena, "%s:%u", request->file, request->line));
	result->name = flow_slice_of(name);
	result->place = flow_slice_of(origin == NULL ? "" : origin);
}

const flow_options *
options_resolve(arena *a, const options_request *request, problems *list)
{
	resolver r = { a, list, request->base_folder, request->names, 0 };
	setting place = { .file = request->file, .line = request->line, .path = request->path };
	if (request->file == NULL && request->group != NULL)
		place.origin = request->group->origin;
	flow_options *result = resolve_check(&r, arena_allocate_zeroed(a, sizeof(*result)));
	if (result == NULL) {
		problems_add(list, request->file, request->line, request->path, "out of memory");
		return NULL;
	}
	result->struct_size = FLOW_SIZEOF(flow_options);
	member_list members = members_of_sets(&r, request->sets);
	setting *group = (setting *)request->group;
	if (group != NULL && group->kind != SETTING_GROUP) {
		if (group->bad)
			problems_repeat(list);
		else
			resolve_report(&r, group, "expected group, found %s", setting_kind_name(group));
		group = NULL;
	}
	result->entries = resolve_members(&r, &members, group, &place, request->ignore, &result->entry_count);
	set_identity(&r, request, &place, result);
	if (r.failed)
		problems_add(list, request->file, request->line, request->path, "out of memory");
	return r.failed ? NULL : result;
}

const flow_option *
options_find(const flow_option_set *set, const char *name)
{
	for (size_t i = 0; set != NULL && set->options != NULL && set->options[i] != NULL; i++)
		if (strcmp(set->options[i]->name, name) == 0)
			return set->options[i];
	return NULL;
}

const flow_option_set *
options_set_of_scope(const flow_option_set *const *sets, const char *scope)
{
	for (size_t i = 0; sets != NULL && sets[i] != NULL; i++)
		if (strcmp(sets[i]->scope, scope) == 0)
			return sets[i];
	return NULL;
}

static const setting like_default = { .layer = LAYER_DEFAULT, .origin = "default", .path = "" };

static setting *default_group(arena *a, const char *name, const member_list *members, const setting *given);

/* The default of one option; NULL without *failed: it has none. */
static setting *
default_of(arena *a, const flow_option *o, const setting *given, int *failed)
{
	const setting *group = o->type == FLOW_OPTION_GROUP ? setting_child(given, o->name) : NULL;
	resolver r = { a, NULL, NULL, NULL, 0 };
	setting *made = NULL;
	if (group != NULL && group->kind == SETTING_GROUP) {
		member_list members = resolve_member_list(&r, o->members);
		made = r.failed ? NULL : default_group(a, o->name, &members, group);
	} else if (o->default_text != NULL) {
		setting like = like_default;
		like.name = like.path = o->name;
		like.secret = o->type == FLOW_OPTION_SECRET;
		made = option_setting_of_text(a, o, o->type, o->default_text, &like);
	} else {
		return NULL;
	}
	*failed |= made == NULL;
	return made;
}

static setting *
default_group(arena *a, const char *name, const member_list *members, const setting *given)
{
	int failed = 0;
	setting *group = arena_allocate(a, sizeof(*group));
	setting **children = arena_allocate(a, (members->count + 1) * sizeof(*children));
	if (group == NULL || children == NULL)
		return NULL;
	*group = like_default;
	group->kind = SETTING_GROUP;
	group->name = name;
	group->children = children;
	for (size_t i = 0; i < members->count && !failed; i++) {
		setting *s = default_of(a, members->options[i], given, &failed);
		if (s != NULL)
			children[group->child_count++] = s;
	}
	return failed ? NULL : group;
}

setting *
options_default_settings(arena *a, const flow_option_set *const *sets, const setting *given)
{
	resolver r = { a, NULL, NULL, NULL, 0 };
	member_list members = members_of_sets(&r, sets);
	return r.failed ? NULL : default_group(a, NULL, &members, given);
}
