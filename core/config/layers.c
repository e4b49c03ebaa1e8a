#include "config/layers.h"

#include <string.h>

setting *
layers_group(arena *a, const char *name, const setting *like)
{
	setting *group = arena_allocate_zeroed(a, sizeof(*group));
	if (group == NULL)
		return NULL;
	if (like != NULL)
		*group = *like;
	group->kind = SETTING_GROUP;
	group->name = name;
	group->overrode = NULL;
	group->children = NULL;
	group->child_count = 0;
	if (group->path == NULL)
		group->path = name == NULL ? "" : name;
	return group;
}

/* Capacities are powers of two, so that only a full array grows. */
static int
append(arena *a, setting *group, setting *child)
{
	size_t count = group->child_count;
	if ((count & (count - 1)) == 0) {
		setting **children = arena_allocate(a, (count == 0 ? 1 : count * 2) * sizeof(*children));
		if (children == NULL)
			return 0;
		if (count != 0)
			memcpy(children, group->children, count * sizeof(*children));
		group->children = children;
	}
	group->children[group->child_count++] = child;
	return 1;
}

static int
planner_gives_way(const setting *low, const setting *high)
{
	return high->layer == LAYER_PLANNER && (low->layer == LAYER_FILE || low->layer == LAYER_DESCRIPTOR);
}

/* Merges the children of `high` into `group`, which is ours. */
static int
merge_children(arena *a, setting *group, const setting *high)
{
	size_t known = group->child_count;
	for (size_t i = 0; i < high->child_count; i++) {
		size_t at = 0;
		while (at < known && strcmp(group->children[at]->name, high->children[i]->name) != 0)
			at++;
		setting *merged = layers_merge(a, at < known ? group->children[at] : NULL, high->children[i]);
		if (merged == NULL)
			return 0;
		if (at < known)
			group->children[at] = merged;
		else if (!append(a, group, merged))
			return 0;
	}
	return 1;
}

setting *
layers_merge(arena *a, setting *low, const setting *high)
{
	int both_groups = low != NULL && low->kind == SETTING_GROUP && high->kind == SETTING_GROUP;
	if (low != NULL && !both_groups && planner_gives_way(low, high))
		return low;
	if (high->kind != SETTING_GROUP) {
		setting *leaf = (setting *)high;
		leaf->overrode = low;
		return leaf;
	}
	const setting *shown = both_groups && planner_gives_way(low, high) ? low : high;
	setting *group = layers_group(a, high->name, shown);
	if (group == NULL)
		return NULL;
	group->overrode = both_groups ? low->overrode : low;
	if (both_groups)
		for (size_t i = 0; i < low->child_count; i++)
			if (!append(a, group, low->children[i]))
				return NULL;
	return merge_children(a, group, high) ? group : NULL;
}

/* Our own copy of a setting with everything below it. */
static setting *
copy_tree(arena *a, const setting *from)
{
	if (from->kind != SETTING_GROUP) {
		setting *leaf = arena_allocate(a, sizeof(*leaf));
		if (leaf != NULL) {
			*leaf = *from;
			leaf->overrode = NULL;
		}
		return leaf;
	}
	setting *group = layers_group(a, from->name, from);
	for (size_t i = 0; group != NULL && i < from->child_count; i++) {
		setting *child = copy_tree(a, from->children[i]);
		if (child == NULL || !append(a, group, child))
			return NULL;
	}
	return group;
}

static int
put_here(arena *a, setting *group, setting *value)
{
	for (size_t i = 0; i < group->child_count; i++) {
		setting *there = group->children[i];
		if (strcmp(there->name, value->name) != 0)
			continue;
		if (there->kind != SETTING_GROUP || value->kind != SETTING_GROUP) {
			group->children[i] = value;
			return 1;
		}
		for (size_t j = 0; j < value->child_count; j++)
			if (!put_here(a, there, value->children[j]))
				return 0;
		return 1;
	}
	return append(a, group, value);
}

/* The first `count` segments of a key. */
static const char *
joined(arena *a, const char *const *key, size_t count)
{
	const char *path = arena_copy_text(a, key[0]);
	for (size_t i = 1; i < count && path != NULL; i++)
		path = arena_format(a, strchr(key[i], '.') == NULL ? "%s.%s" : "%s.\"%s\"", path, key[i]);
	return path;
}

int
layers_put(arena *a, setting *tree, const char *const *key, size_t key_length, const setting *value)
{
	setting *copy = copy_tree(a, value);
	if (copy == NULL || key_length == 0)
		return copy != NULL;
	copy->name = arena_copy_text(a, key[key_length - 1]);
	for (size_t i = key_length - 1; i > 0 && copy != NULL && copy->name != NULL; i--) {
		const char *name = arena_copy_text(a, key[i - 1]);
		setting *group = name == NULL ? NULL : layers_group(a, name, value);
		if (group != NULL && value->layer == LAYER_COMMAND)
			group->path = joined(a, key, i); /* what is wrong with the group is not wrong with the key */
		copy = group != NULL && append(a, group, copy) ? group : NULL;
	}
	return copy != NULL && copy->name != NULL && put_here(a, tree, copy);
}

/* One segment from `*at`; moves behind it and its dot. NULL: none. */
static const char *
next_segment(arena *a, const char **at, const char *end)
{
	const char *start = *at;
	int quoted = start < end && *start == '"';
	start += quoted;
	const char *stop = start;
	while (stop < end && *stop != (quoted ? '"' : '.'))
		stop++;
	const char *behind = stop + quoted;
	if (stop == start || (quoted && stop == end) || (behind < end && *behind != '.') || behind + 1 == end)
		return NULL;
	*at = behind < end ? behind + 1 : end;
	return arena_copy(a, start, (size_t)(stop - start));
}

const char *const *
layers_split(arena *a, const char *path, size_t size, size_t *count)
{
	const char *end = path + size;
	const char **segments = arena_allocate(a, (size / 2 + 1) * sizeof(*segments));
	*count = 0;
	if (segments == NULL || size == 0)
		return NULL;
	for (const char *at = path; at < end;) {
		const char *segment = next_segment(a, &at, end);
		if (segment == NULL)
			return NULL;
		segments[(*count)++] = segment;
	}
	return segments;
}
