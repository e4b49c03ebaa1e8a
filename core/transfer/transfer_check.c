#include "transfer/transfer_check.h"

#include <string.h>

#include "base/distance.h"
#include "options/options.h"
#include "transfer/transfer_options.h"

#define WORDS_MOST 16

typedef struct checker {
	config *config;
	arena *arena;
	problems *problems;
	options_names names;
	int failed; /* out of memory */
} checker;

static size_t
link_names(void *context, const char *kind, const char **names, size_t capacity)
{
	const setting *links = config_root(((checker *)context)->config, "links");
	if (strcmp(kind, "link") != 0)
		return OPTIONS_NAMES_UNKNOWN;
	size_t count = links == NULL || links->kind != SETTING_GROUP ? 0 : links->child_count;
	for (size_t i = 0; i < count && i < capacity; i++)
		names[i] = links->children[i]->name;
	return count;
}

static int
is_group(checker *c, const setting *s)
{
	if (s->kind == SETTING_GROUP)
		return 1;
	if (!s->bad)
		problems_add(c->problems, s->file, s->line, s->path, "expected group, found %s", setting_kind_name(s));
	return 0;
}

/* What only the connector can judge: all that is no word of the table, nor near one. NULL-terminated. */
static const char *const *
connector_words(checker *c, const setting *group, const flow_option_set *set)
{
	const char *words[WORDS_MOST];
	size_t word_count = 0, count = 0;
	while (set->options[word_count] != NULL && word_count < WORDS_MOST) {
		words[word_count] = set->options[word_count]->name;
		word_count++;
	}
	const char **list = arena_allocate(c->arena, (group->child_count + 1) * sizeof(*list));
	if (list == NULL)
		return NULL;
	for (size_t i = 0; i < group->child_count; i++) {
		const char *name = group->children[i]->name;
		if (options_find(set, name) == NULL && distance_nearest(name, words, word_count) == NULL)
			list[count++] = name;
	}
	list[count] = NULL;
	return list;
}

static void
check_group(checker *c, const setting *group, const char *name, const flow_option_set *set, const char *const *ignore)
{
	const flow_option_set *const sets[] = { set, NULL };
	options_request request = { .sets = sets,
								.group = group,
								.path = group->path,
								.file = group->file,
								.line = group->line,
								.name = name,
								.ignore = ignore,
								.names = &c->names };
	if (ignore == NULL || options_resolve(c->arena, &request, c->problems) == NULL)
		c->failed = 1;
}

static void
check_transfer(checker *c, const setting *transfer)
{
	static const flow_option_set *const sides[] = { &transfer_from_options, &transfer_to_options };
	static const char *const own_tables[] = { "from", "to", NULL };
	if (!is_group(c, transfer))
		return;
	for (size_t i = 0; i < FLOW_COUNT(sides); i++) {
		const setting *side = setting_child(transfer, sides[i]->scope);
		if (side == NULL)
			problems_add(c->problems, transfer->file, transfer->line, transfer->path,
						 "it has no '%s': %s: { link = \"...\"; }", sides[i]->scope, sides[i]->scope);
		else if (is_group(c, side))
			check_group(c, side, transfer->name, sides[i], connector_words(c, side, sides[i]));
	}
	check_group(c, transfer, transfer->name, &transfer_options, own_tables);
}

static void
check_link(checker *c, const setting *link)
{
	if (is_group(c, link))
		check_group(c, link, link->name, &link_options, connector_words(c, link, &link_options));
}

static void
check_each(checker *c, const char *root, void (*check)(checker *c, const setting *s))
{
	const setting *group = config_root(c->config, root);
	if (group == NULL || !is_group(c, group))
		return;
	for (size_t i = 0; i < group->child_count && !c->failed; i++)
		check(c, group->children[i]);
}

int
transfers_check(config *of)
{
	checker c = { .config = of, .arena = config_arena(of), .problems = config_problems(of) };
	c.names = (options_names){ link_names, &c };
	check_each(&c, "links", check_link);
	check_each(&c, "transfers", check_transfer);
	if (c.failed)
		problems_add(c.problems, NULL, 0, "transfers", "out of memory");
	return !c.failed;
}

problem *
transfers_report_idle(config *c)
{
	const setting *transfers = config_root(c, "transfers");
	if (transfers == NULL)
		return NULL;
	return problems_add(config_problems(c), transfers->file, transfers->line, transfers->path,
						"this version checks transfers and does not run them yet, only applications");
}
