/* `flowd help`: everything that can stand in a configuration, made from the option tables of the host and the plugins. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/distance.h"
#include "graph/job_options.h"
#include "host/commands.h"
#include "host/session.h"
#include "options/describe.h"
#include "transfer/transfer_options.h"

#define SUBJECTS_MOST 256

/* Parts of the host that have options, as subjects: each one set. */
struct host_part {
	describe_subject subject;
	const flow_option_set *sets[2];
};

struct subjects {
	struct host_part parts[16];
	describe_subject items[SUBJECTS_MOST];
	size_t count;
};

static void
add_host_part(struct subjects *all, const char *id, const flow_option_set *set)
{
	struct host_part *part = &all->parts[all->count];
	part->sets[0] = set;
	all->items[all->count++] = (describe_subject){ "host", id, set->doc, part->sets, NULL };
}

static void
collect(const session *s, struct subjects *all)
{
	memset(all, 0, sizeof(*all));
	add_host_part(all, "application", &application_options);
	add_host_part(all, "job", &job_options);
	add_host_part(all, "systems", &system_options);
	add_host_part(all, "inputs", &input_options);
	add_host_part(all, "outputs", &output_options);
	add_host_part(all, "intermediates", &intermediate_options);
	add_host_part(all, "tables", &table_options);
	add_host_part(all, "steps", &step_options);
	add_host_part(all, "links", &link_options);
	add_host_part(all, "transfers", &transfer_options);
	add_host_part(all, "from", &transfer_from_options);
	add_host_part(all, "to", &transfer_to_options);
	registry_load_all(s->registry);
	for (uint32_t kind = FLOW_SYSTEM; kind <= FLOW_STORE; kind++) {
		for (size_t i = 0; i < registry_count(s->registry); i++) {
			const flow_plugin *loaded = registry_entry(s->registry, i)->loaded;
			for (size_t k = 0; loaded != NULL && loaded->components[k] != NULL; k++) {
				const flow_component *component = loaded->components[k];
				if (component->kind == kind && all->count < SUBJECTS_MOST)
					all->items[all->count++] =
						(describe_subject){ component_kind_name(kind), component->id, component->doc,
											component->option_sets, component->served };
			}
		}
	}
}

/* The first sentence without its full stop: "Runs a Lua 5.4 script". */
static int
title_size(const char *doc)
{
	int size = (int)describe_summary(doc);
	return size > 0 && doc[size - 1] == '.' ? size - 1 : size;
}

/* For scripts: kind, id and summary behind tabs. */
static void
print_names(const struct subjects *all)
{
	for (size_t i = 0; i < all->count; i++) {
		const char *doc = all->items[i].doc == NULL ? "" : all->items[i].doc;
		printf("%s\t%s\t%.*s\n", all->items[i].kind, all->items[i].id, title_size(doc), doc);
	}
}

static void
print_overview(const struct subjects *all)
{
	const char *kind = "";
	printf("What can stand in a configuration. For one of them: flowd help NAME, flowd help NAME.OPTION\n");
	for (size_t i = 0; i < all->count; i++) {
		if (strcmp(all->items[i].kind, kind) != 0) {
			kind = all->items[i].kind;
			printf("\n%s:\n", strcmp(kind, "host") == 0 ? "parts of a file" : kind);
		}
		const char *doc = all->items[i].doc == NULL ? "" : all->items[i].doc;
		printf("  %-16s %.*s\n", all->items[i].id, title_size(doc), doc);
	}
	printf("\nExpressions: docs/reference/expressions.md. Units: sizes B, KiB, MiB, GiB, TiB, kB, MB, GB, TB; "
		   "durations us, ms, s, m, h, d, w.\n");
}

static int
print_subject(const describe_subject *subject, const char *option, const char *format)
{
	if (strcmp(format, "markdown") == 0)
		describe_markdown(stdout, subject, 1);
	else if (strcmp(format, "words") == 0)
		describe_words(stdout, subject);
	else if (strcmp(format, "text") == 0)
		return describe_help(stdout, subject, option);
	for (size_t i = 0; subject->sets != NULL && subject->sets[i] != NULL; i++) {
		if (strcmp(format, "sample") == 0) {
			printf("# %s %s%s%s\n", subject->kind, subject->id, subject->sets[i]->scope[0] == '\0' ? "" : ", ",
				   subject->sets[i]->scope);
			describe_sample(stdout, subject->sets[i], 0);
		} else if (strcmp(format, "schema") == 0) {
			describe_schema(stdout, subject->sets[i]);
			printf("\n");
		}
	}
	return 1;
}

/* Says what has an option of that name: "window" is one of aggregate. */
static int
print_owners(arena *a, const struct subjects *all, const char *name)
{
	const char *paths[SUBJECTS_MOST];
	int found = 0;
	for (size_t i = 0; i < all->count; i++) {
		size_t count = describe_paths(a, &all->items[i], paths, SUBJECTS_MOST);
		for (size_t k = 0; k < count && k < SUBJECTS_MOST; k++) {
			const char *dot = strrchr(paths[k], '.');
			if (strcmp(paths[k], name) != 0 && (dot == NULL || strcmp(dot + 1, name) != 0))
				continue;
			fprintf(stderr, "%s%s.%s", found ? ", " : "it is an option, see flowd help ", all->items[i].id, paths[k]);
			found = 1;
		}
	}
	if (found)
		fprintf(stderr, "\n");
	return found;
}

static int
unknown_subject(arena *a, const struct subjects *all, const char *name)
{
	const char *names[SUBJECTS_MOST];
	for (size_t i = 0; i < all->count; i++)
		names[i] = all->items[i].id;
	const char *nearest = distance_nearest(name, names, all->count);
	fprintf(stderr, "flowd help: there is nothing named %s%s%s%s\n", name, nearest == NULL ? "" : ", did you mean ",
			nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?");
	if (!print_owners(a, all, name))
		fprintf(stderr, "See: flowd help\n");
	return EXIT_USAGE;
}

static int
unknown_option(arena *a, const struct subjects *all, const char *name, const char *option)
{
	const char *paths[SUBJECTS_MOST], *nearest = NULL;
	for (size_t i = 0; i < all->count && nearest == NULL; i++) {
		if (strcmp(all->items[i].id, name) != 0)
			continue;
		size_t count = describe_paths(a, &all->items[i], paths, SUBJECTS_MOST);
		nearest = distance_nearest(option, paths, count > SUBJECTS_MOST ? SUBJECTS_MOST : count);
	}
	fprintf(stderr, "flowd help: %s has no option %s%s%s%s\nSee: flowd help %s\n", name, option,
			nearest == NULL ? "" : ", did you mean ", nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?", name);
	return EXIT_USAGE;
}

/* "id" or "kind/id"; `plain` is the word without kind and option. */
static int
is_named(const describe_subject *subject, const char *word, const char *plain)
{
	const char *slash = strchr(word, '/');
	size_t kind_size = slash == NULL ? 0 : (size_t)(slash - word);
	return strcmp(subject->id, plain) == 0 &&
		   (slash == NULL || (strlen(subject->kind) == kind_size && memcmp(subject->kind, word, kind_size) == 0));
}

/* All subjects of a name: "rocksdb" is a store and a table. "kind/name" takes one of them. */
static int
print_named(arena *a, const struct subjects *all, const char *word, const char *format)
{
	const char *slash = strchr(word, '/'), *name = slash == NULL ? word : slash + 1;
	size_t name_size = strcspn(name, ".");
	const char *option = name[name_size] == '.' ? name + name_size + 1 : NULL;
	int found = 0, printed = 0;
	const char *plain = arena_copy(a, name, name_size);
	for (size_t i = 0; plain != NULL && i < all->count; i++) {
		const describe_subject *subject = &all->items[i];
		if (!is_named(subject, word, plain))
			continue;
		if (printed)
			printf("\n");
		found = 1;
		printed |= print_subject(subject, option, format);
	}
	if (!found)
		return unknown_subject(a, all, word);
	return printed ? EXIT_DONE : unknown_option(a, all, plain, option);
}

static json_t *
schema_json(const flow_option_set *set)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	if (to == NULL)
		return json_null();
	describe_schema(to, set);
	fclose(to);
	json_t *schema = json_loads(text, 0, NULL);
	free(text);
	return schema == NULL ? json_null() : schema;
}

static json_t *
subject_json(const describe_subject *subject)
{
	json_t *scopes = json_object();
	for (size_t i = 0; subject->sets != NULL && subject->sets[i] != NULL; i++)
		json_object_set_new(scopes, subject->sets[i]->scope, schema_json(subject->sets[i]));
	return json_pack("{s:s, s:s, s:s, s:o}", "kind", subject->kind, "id", subject->id, "doc",
					 subject->doc == NULL ? "" : subject->doc, "options", scopes);
}

/* What has the name, or all (NULL), with the JSON Schema of each scope of options. */
static int
print_json(arena *a, const struct subjects *all, const char *word)
{
	const char *slash = word == NULL ? NULL : strchr(word, '/'), *name = slash == NULL ? word : slash + 1;
	const char *plain = word == NULL ? NULL : arena_copy(a, name, strcspn(name, "."));
	json_t *list = json_array();
	for (size_t i = 0; i < all->count; i++)
		if (plain == NULL || is_named(&all->items[i], word, plain))
			json_array_append_new(list, subject_json(&all->items[i]));
	int found = json_array_size(list) != 0;
	if (found) {
		json_dumpf(list, stdout, JSON_INDENT(2));
		printf("\n");
	}
	json_decref(list);
	return found ? EXIT_DONE : unknown_subject(a, all, word);
}

static int
known_format(const char *format)
{
	static const char *const formats[] = { "text", "markdown", "schema", "sample", "words" };
	for (size_t i = 0; i < FLOW_COUNT(formats); i++)
		if (strcmp(format, formats[i]) == 0)
			return 1;
	fprintf(stderr, "flowd help: --format is one of text, markdown, schema, sample, words; not %s\n", format);
	return 0;
}

static int
run_help(arguments *given)
{
	const char *format = arguments_value(given, "format") == NULL ? "text" : arguments_value(given, "format");
	if (!known_format(format))
		return EXIT_USAGE;
	session s;
	struct subjects *all = malloc(sizeof(*all));
	int exit_code = session_open(&s, given);
	if (exit_code == EXIT_DONE && all != NULL) {
		collect(&s, all);
		if (arguments_value(given, "json") != NULL)
			exit_code = print_json(s.arena, all, arguments_operand(given, 0));
		else if (arguments_count(given) == 0 && strcmp(format, "words") == 0)
			print_names(all);
		else if (arguments_count(given) == 0)
			print_overview(all);
		else
			exit_code = print_named(s.arena, all, arguments_operand(given, 0), format);
	}
	free(all);
	session_close(&s);
	return exit_code;
}

static const command_option option_format = { "format", "FORMAT",
											  "text (default), markdown, schema (JSON), sample or words.",
											  "text markdown schema sample words" };
static const command_option *const help_options[] = { &option_format, NULL };

const command help_command = {
	.name = "help",
	.operands = "[NAME[.OPTION]]",
	.most = 1,
	.summary = "Explain what can stand in a configuration.",
	.doc = "NAME is a part of a file (job, inputs, steps ...) or a component (csv, file, aggregate ...); KIND/NAME "
		   "where one name is\n"
		   "several (store/rocksdb, table/rocksdb).",
	.options = help_options,
	.run = run_help,
};
