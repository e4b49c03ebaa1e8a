/* Values with items: lists, maps, groups. */
#include <string.h>

#include "options/resolve.h"

typedef struct entries {
	const flow_option_entry **items;
	uint64_t count;
	uint64_t capacity;
} entries;

flow_option_value *
resolve_new_value(resolver *r, uint32_t type, const setting *s)
{
	flow_option_value *value = resolve_check(r, arena_allocate_zeroed(r->arena, sizeof(*value)));
	if (value == NULL)
		return NULL;
	value->struct_size = FLOW_SIZEOF(flow_option_value);
	value->type = type;
	value->place = flow_slice_of(s->origin == NULL ? "" : s->origin);
	return value;
}

static int
add_entry(resolver *r, entries *list, const char *name, const flow_option_value *value)
{
	if (list->count == list->capacity) {
		uint64_t capacity = list->capacity == 0 ? 8 : list->capacity * 2;
		const flow_option_entry **items = resolve_check(r, arena_allocate(r->arena, capacity * sizeof(*items)));
		if (items == NULL)
			return 0;
		if (list->count != 0)
			memcpy(items, list->items, list->count * sizeof(*items));
		list->items = items;
		list->capacity = capacity;
	}
	flow_option_entry *entry = resolve_check(r, arena_allocate_zeroed(r->arena, sizeof(*entry)));
	char *copy = name == NULL ? NULL : resolve_check(r, arena_copy_text(r->arena, name));
	if (entry == NULL || (name != NULL && copy == NULL))
		return 0;
	entry->struct_size = FLOW_SIZEOF(flow_option_entry);
	entry->name = flow_slice_of(copy);
	entry->value = value;
	list->items[list->count++] = entry;
	return 1;
}

const setting *
resolve_as_group(const setting *s)
{
	return s->kind == SETTING_GROUP || (s->resolved && s->child_count > 0) ? s : NULL;
}

static flow_option_value *
resolve_list(resolver *r, const flow_option *o, setting *s)
{
	int is_list = s->kind == SETTING_LIST || s->kind == SETTING_ARRAY;
	if (!is_list && !(o->flags & FLOW_OPTION_OR_ONE)) {
		resolve_report_type(r, o, FLOW_OPTION_LIST, s);
		return NULL;
	}
	int one_scalar = !is_list && o->element != FLOW_OPTION_GROUP && o->element != FLOW_OPTION_MAP;
	if (one_scalar && s->kind == SETTING_GROUP) {
		resolve_report_type(r, o, FLOW_OPTION_LIST, s);
		return NULL;
	}
	entries list = { 0 };
	for (size_t i = 0; i < (is_list ? s->child_count : 1); i++) {
		setting *item = is_list ? s->children[i] : s;
		flow_option_value *value = resolve_value(r, o, o->element, item);
		if (value != NULL && !add_entry(r, &list, NULL, value))
			return NULL;
	}
	flow_option_value *value = resolve_new_value(r, FLOW_OPTION_LIST, s);
	if (value == NULL)
		return NULL;
	value->entries = list.items;
	value->entry_count = list.count;
	return value;
}

static void
add_map_value(resolver *r, const flow_option *o, entries *list, const char *name, setting *s)
{
	if (s->bad) {
		problems_repeat(r->list);
		return;
	}
	for (uint64_t i = 0; i < list->count; i++) {
		if (!flow_slice_is(list->items[i]->name, name))
			continue;
		flow_slice first = list->items[i]->value->place;
		resolve_report(r, s, "\"%s\" is set twice; the first is at %.*s", name, (int)first.size, first.data);
		return;
	}
	flow_option_value *value = resolve_value(r, o, o->element, s);
	if (value != NULL)
		add_entry(r, list, name, value);
}

/* { a: { b = 1; }; } is the name "a.b" where the values are no groups themselves. */
static void
add_map_group(resolver *r, const flow_option *o, entries *list, const char *prefix, const setting *group)
{
	int nests = o->element != FLOW_OPTION_GROUP && o->element != FLOW_OPTION_MAP;
	for (size_t i = 0; i < group->child_count && !r->failed; i++) {
		setting *child = group->children[i];
		const char *name = child->name;
		if (prefix != NULL)
			name = resolve_check(r, arena_format(r->arena, "%s.%s", prefix, child->name));
		if (name == NULL)
			return;
		if (nests && child->kind == SETTING_GROUP)
			add_map_group(r, o, list, name, child);
		else
			add_map_value(r, o, list, name, child);
	}
}

/* ( { name = "a.b"; value = 1; } ) */
static void
add_map_items(resolver *r, const flow_option *o, entries *list, const setting *s)
{
	for (size_t i = 0; i < s->child_count && !r->failed; i++) {
		const setting *item = s->children[i];
		const setting *name = setting_child(item, "name");
		setting *value = setting_child(item, "value");
		if (name == NULL || value == NULL || name->kind != SETTING_STRING || item->child_count != 2)
			resolve_report(r, item, "expected { name = \"...\"; value = ...; }, found %s%s", setting_kind_name(item),
						   item->kind == SETTING_GROUP ? " with other members" : "");
		else
			add_map_value(r, o, list, name->text, value);
	}
}

static flow_option_value *
resolve_map(resolver *r, const flow_option *o, setting *s)
{
	entries list = { 0 };
	if (resolve_as_group(s) != NULL) {
		add_map_group(r, o, &list, NULL, s);
	} else if (s->kind == SETTING_LIST) {
		add_map_items(r, o, &list, s);
	} else {
		resolve_report_type(r, o, FLOW_OPTION_MAP, s);
		return NULL;
	}
	flow_option_value *value = resolve_new_value(r, FLOW_OPTION_MAP, s);
	if (value == NULL)
		return NULL;
	value->entries = list.items;
	value->entry_count = list.count;
	return value;
}

static flow_option_value *
resolve_group(resolver *r, const flow_option *o, setting *s)
{
	const setting *group = resolve_as_group(s);
	if (group == NULL) {
		resolve_report_type(r, o, FLOW_OPTION_GROUP, s);
		return NULL;
	}
	member_list members = resolve_member_list(r, o->members);
	flow_option_value *value = resolve_new_value(r, FLOW_OPTION_GROUP, s);
	if (value == NULL)
		return NULL;
	value->entries = resolve_members(r, &members, group, s, NULL, &value->entry_count);
	return value;
}

flow_option_value *
resolve_value(resolver *r, const flow_option *o, uint32_t type, setting *s)
{
	if (s->bad) {
		problems_repeat(r->list);
		return NULL;
	}
	switch (type) {
	case FLOW_OPTION_LIST:
		return resolve_list(r, o, s);
	case FLOW_OPTION_MAP:
		return resolve_map(r, o, s);
	case FLOW_OPTION_GROUP:
		return resolve_group(r, o, s);
	default:
		return resolve_scalar(r, o, type, s);
	}
}
