#include "graph/plan_configuration.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	const char *key;
	const char *value;
	const setting *place;
};

struct collection {
	arena *arena;
	struct entry *entries;
	size_t count, capacity;
	int failed;
};

static void
add(struct collection *c, const char *key, const char *value, const setting *place)
{
	if (c->count == c->capacity) {
		size_t capacity = c->capacity == 0 ? 64 : c->capacity * 2;
		struct entry *larger = arena_allocate(c->arena, capacity * sizeof(*larger));
		if (larger == NULL) {
			c->failed = 1;
			return;
		}
		if (c->count != 0)
			memcpy(larger, c->entries, c->count * sizeof(*larger));
		c->entries = larger;
		c->capacity = capacity;
	}
	c->failed |= key == NULL || value == NULL;
	c->entries[c->count++] = (struct entry){ key, value, place };
}

static void
collect(struct collection *c, const char *key, const setting *s)
{
	if (s->kind == SETTING_GROUP && !s->secret) {
		for (size_t i = 0; i < s->child_count && !c->failed; i++) {
			const setting *child = s->children[i];
			const char *quote = strchr(child->name, '.') == NULL ? "" : "\"";
			const char *path = arena_format(c->arena, "%s.%s%s%s", key, quote, child->name, quote);
			c->failed |= path == NULL;
			if (path != NULL)
				collect(c, path, child);
		}
		return;
	}
	if (s->layer != LAYER_DEFAULT)
		add(c, key, setting_print(c->arena, s), s);
}

/* A logical input was expanded: what files say of it is not what runs. */
static int
is_stream(const plan *p, const char *id)
{
	for (uint32_t i = 0; i < p->stream_count; i++)
		if (strcmp(p->streams[i].id, id) == 0)
			return 1;
	for (uint32_t i = 0; i < p->intermediate_count; i++)
		if (strcmp(p->intermediates[i].id, id) == 0)
			return 1;
	return 0;
}

static void
collect_section(struct collection *c, const plan *p, const char *section)
{
	config *from = p->config;
	const char *const *names = config_names(from, section);
	for (size_t i = 0; names[i] != NULL && !c->failed; i++) {
		if (strcmp(section, "streams") == 0 && !is_stream(p, names[i]))
			continue;
		const setting *group = config_effective(from, section, names[i]);
		const char *key = arena_format(c->arena, "%s.%s", section, names[i]);
		c->failed |= key == NULL;
		if (group != NULL && key != NULL)
			collect(c, key, group);
	}
}

static int
compare(const void *left, const void *right)
{
	return strcmp(((const struct entry *)left)->key, ((const struct entry *)right)->key);
}

int
plan_configuration(const plan *p, plan_configuration_visit visit, void *context)
{
	static const char *const sections[] = { "systems", "streams", "tables", "operators" };
	struct collection c = { .arena = p->arena };
	for (size_t i = 0; i < FLOW_COUNT(sections); i++)
		collect_section(&c, p, sections[i]);
	const setting *job = config_effective(p->config, "job", NULL);
	if (job != NULL)
		collect(&c, "job", job);
	if (c.failed)
		return 0;
	if (c.count != 0)
		qsort(c.entries, c.count, sizeof(*c.entries), compare);
	for (size_t i = 0; i < c.count; i++)
		visit(context, c.entries[i].key, c.entries[i].value, c.entries[i].place);
	return 1;
}
