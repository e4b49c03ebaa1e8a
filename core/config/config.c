#include "config/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/distance.h"
#include "config/layers.h"
#include "config/reader.h"

/* The parts of the key space. */
static const char *const sections[] = { "systems", "streams", "tables", "operators", "job" };
static const char *const root_names[] = { "systems",     "streams", "tables", "operators", "job",
										  "application", "jobs",    "links",  "transfers" };

typedef struct loaded_file {
	struct loaded_file *next;
	setting *root;
} loaded_file;

typedef struct known_file {
	struct known_file *next;
	const char *name;
} known_file;

struct config {
	arena *arena;
	problems *list;
	loaded_file *files; /* in order; only those that could be parsed */
	known_file *names;
	setting *trees[LAYER_COMMAND + 1]; /* what config_put and --set added, by layer */
	setting *roots;                    /* all files merged, as written */
	const char *job_id;
	const char *folder;
};

config *
config_create(arena *a, problems *list)
{
	config *c = arena_allocate_zeroed(a, sizeof(*c));
	if (c == NULL)
		return NULL;
	c->arena = a;
	c->list = list;
	c->folder = "";
	for (unsigned layer = LAYER_DEFAULT; layer <= LAYER_COMMAND; layer++) {
		c->trees[layer] = layers_group(a, NULL, NULL);
		if (c->trees[layer] == NULL)
			return NULL;
		c->trees[layer]->layer = (uint8_t)layer;
	}
	return c;
}

arena *
config_arena(config *c)
{
	return c->arena;
}

problems *
config_problems(config *c)
{
	return c->list;
}

static void
out_of_memory(config *c)
{
	problems_add(c->list, NULL, 0, NULL, "out of memory");
}

static problem *
report(config *c, const setting *s, const char *text)
{
	problem *item = problems_add(c->list, s->file, s->line, s->path, "%s", text);
	if (item != NULL && s->file == NULL)
		item->place = s->origin;
	return item;
}

static int
expect_group(config *c, const setting *s)
{
	if (s->kind == SETTING_GROUP)
		return 1;
	if (s->bad)
		return 0;
	const char *text = arena_format(c->arena, "expected group, found %s", setting_kind_name(s));
	report(c, s, text == NULL ? "expected group" : text);
	return 0;
}

static int
is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return 1;
	return 0;
}

/* The group's children must bear one of the names and be groups; drops those that are not. */
static void
check_sections(config *c, setting *group, const char *const *names, size_t count, const char *unknown)
{
	size_t kept = 0;
	for (size_t i = 0; i < group->child_count; i++) {
		setting *child = group->children[i];
		int known = is_one_of(child->name, names, count);
		if (!known) {
			problem *item = report(c, child, unknown);
			if (item != NULL)
				item->suggestion = distance_nearest(child->name, names, count);
		}
		if (known && expect_group(c, child))
			group->children[kept++] = child;
	}
	group->child_count = kept;
}

/* systems.<name>, streams.<id>, ...: everything in them is a group of its own. */
static void
check_things(config *c, setting *root)
{
	for (size_t i = 0; i < FLOW_COUNT(sections); i++) {
		setting *section = strcmp(sections[i], "job") == 0 ? NULL : setting_child(root, sections[i]);
		size_t kept = 0;
		for (size_t j = 0; section != NULL && j < section->child_count; j++)
			if (expect_group(c, section->children[j]))
				section->children[kept++] = section->children[j];
		if (section != NULL)
			section->child_count = kept;
	}
}

static void
set_layer(setting *s, unsigned layer)
{
	s->layer = (uint8_t)layer;
	for (size_t i = 0; i < s->child_count; i++)
		set_layer(s->children[i], layer);
}

static void
check_jobs(config *c, setting *jobs)
{
	size_t kept = 0;
	for (size_t i = 0; i < jobs->child_count; i++) {
		if (!expect_group(c, jobs->children[i]))
			continue;
		check_sections(c, jobs->children[i], sections, FLOW_COUNT(sections), "there is no such group for a job");
		check_things(c, jobs->children[i]);
		jobs->children[kept++] = jobs->children[i];
	}
	jobs->child_count = kept;
	set_layer(jobs, LAYER_JOB);
}

static void
check_root(config *c, setting *root)
{
	check_sections(c, root, root_names, FLOW_COUNT(root_names), "there is no such group");
	check_things(c, root);
	setting *jobs = setting_child(root, "jobs");
	if (jobs != NULL)
		check_jobs(c, jobs);
	setting *application = setting_child(root, "application");
	if (application != NULL)
		set_layer(application, LAYER_DESCRIPTOR);
}

/* Appends to the end: files are few. */
static int
remember(config *c, setting *root)
{
	loaded_file *loaded = arena_allocate_zeroed(c->arena, sizeof(*loaded));
	setting *roots = layers_merge(c->arena, c->roots, root);
	if (loaded == NULL || roots == NULL)
		return 0;
	loaded->root = root;
	c->roots = roots;
	loaded_file **end = &c->files;
	while (*end != NULL)
		end = &(*end)->next;
	*end = loaded;
	return 1;
}

static int
remember_name(config *c, const char *name)
{
	known_file *known = arena_allocate_zeroed(c->arena, sizeof(*known));
	if (known == NULL || (known->name = arena_copy_text(c->arena, name)) == NULL)
		return 0;
	known_file **end = &c->names;
	while (*end != NULL) {
		if (strcmp((*end)->name, name) == 0)
			return 1;
		end = &(*end)->next;
	}
	*end = known;
	return 1;
}

int
config_load(config *c, const char *file)
{
	const char *name = arena_copy_text(c->arena, file);
	scan s;
	scan_begin(&s, c->arena, c->list);
	setting *root = NULL;
	int scanned = name != NULL && scan_file(&s, name);
	int remembered = name != NULL && remember_name(c, name);
	for (size_t i = 0; i < s.line_count && remembered; i++)
		if (i == 0 || s.lines[i].file != s.lines[i - 1].file)
			remembered = remember_name(c, s.lines[i].file);
	if (scanned)
		root = reader_parse(&s, c->list, LAYER_FILE, NULL);
	if (root != NULL) {
		if (c->files == NULL)
			c->folder = s.folder;
		reader_resolve(c->arena, c->list, s.folder, root);
		check_root(c, root);
		remembered = remembered && remember(c, root);
	}
	scan_release(&s);
	if (!remembered)
		out_of_memory(c);
	return root != NULL && remembered;
}

/* The value of a --set: what libconfig makes of it, else the text itself. */
static setting *
command_value(config *c, const char *text)
{
	char *line = arena_format(c->arena, "value = %s;", text);
	problems *ignored = problems_create(c->arena);
	setting *s = arena_allocate_zeroed(c->arena, sizeof(*s));
	char *copy = arena_copy_text(c->arena, text);
	if (line == NULL || ignored == NULL || s == NULL || copy == NULL)
		return NULL;
	scan scanned;
	scan_begin(&scanned, c->arena, ignored);
	scanned.strict = 1;
	setting *root = NULL;
	if (scan_text(&scanned, "--set", line, strlen(line)))
		root = reader_parse(&scanned, ignored, LAYER_COMMAND, "--set");
	scan_release(&scanned);
	if (root != NULL && scanned.top_names == 1) /* also with a number that does not fit: the caller sees `bad` */
		return root->children[0];
	*s = (setting){
		.kind = SETTING_STRING, .layer = LAYER_COMMAND, .origin = "--set", .text = copy, .size = strlen(copy)
	};
	return s;
}

static problem *
report_command(config *c, const char *path, const char *text)
{
	problem *item = problems_add(c->list, NULL, 0, path, "%s", text);
	if (item != NULL)
		item->place = "--set";
	return item;
}

/* The '=' behind the path: the first one outside of quotes. */
static const char *
find_assignment(const char *text)
{
	int quoted = 0;
	for (; *text != '\0'; text++) {
		if (*text == '"')
			quoted = !quoted;
		else if (*text == '=' && !quoted)
			return text;
	}
	return NULL;
}

static void
set_paths(config *c, setting *s, const char *path)
{
	s->path = path;
	for (size_t i = 0; i < s->child_count; i++) {
		const char *name = s->children[i]->name;
		const char *below =
			name != NULL ? arena_format(c->arena, "%s.%s", path, name) : arena_format(c->arena, "%s[%zu]", path, i);
		set_paths(c, s->children[i], below == NULL ? path : below);
	}
}

/* Numbers that do not fit were found while it was not yet known whether the text is a value at all. */
static void
report_bad(config *c, const setting *s)
{
	if (s->bad) {
		const char *text = arena_format(c->arena, "%.60s does not fit (integers beyond 32 bits end with L)", s->text);
		report_command(c, s->path, text == NULL ? "the number does not fit" : text);
	}
	for (size_t i = 0; i < s->child_count; i++)
		report_bad(c, s->children[i]);
}

static int
check_key(config *c, const char *path, const char *const *key, size_t count)
{
	if (key == NULL) {
		report_command(c, path, "this is no path of a key, like streams.flights.bounded");
		return 0;
	}
	if (!is_one_of(key[0], sections, FLOW_COUNT(sections))) {
		problem *item = report_command(c, path, "keys begin with systems, streams, tables, operators or job");
		if (item != NULL)
			item->suggestion = distance_nearest(key[0], sections, FLOW_COUNT(sections));
		return 0;
	}
	if (count >= (strcmp(key[0], "job") == 0 ? 2u : 3u))
		return 1;
	report_command(c, path, "the path ends before it names an option");
	return 0;
}

setting *
config_value(config *c, const char *path, const char *text)
{
	setting *value = command_value(c, text);
	if (value == NULL) {
		out_of_memory(c);
		return NULL;
	}
	set_paths(c, value, path);
	report_bad(c, value);
	reader_resolve(c->arena, c->list, c->folder, value);
	return value;
}

int
config_set_command(config *c, const char *assignment)
{
	const char *equals = find_assignment(assignment);
	if (equals == NULL) {
		report_command(c, assignment, "expected is --set path.to.key=value");
		return 0;
	}
	size_t size = (size_t)(equals - assignment);
	const char *path = arena_copy(c->arena, assignment, size);
	size_t count;
	const char *const *key = layers_split(c->arena, assignment, size, &count);
	if (path == NULL) {
		out_of_memory(c);
		return 0;
	}
	if (!check_key(c, path, key, count))
		return 0;
	setting *value = config_value(c, path, equals + 1);
	if (value == NULL)
		return 0;
	config_put(c, key, count, value);
	return 1;
}

void
config_put(config *c, const char *const *key, size_t key_length, setting *value)
{
	if (!layers_put(c->arena, c->trees[value->layer], key, key_length, value))
		out_of_memory(c);
}

void
config_remove(config *c, uint8_t layer, const char *section, const char *name)
{
	setting *group = setting_child(c->trees[layer], section);
	for (size_t i = 0; group != NULL && i < group->child_count; i++) {
		if (strcmp(group->children[i]->name, name) != 0)
			continue;
		memmove(&group->children[i], &group->children[i + 1], (group->child_count - i - 1) * sizeof(*group->children));
		group->child_count--;
		return;
	}
}

const setting *
config_root(const config *c, const char *name)
{
	return setting_child(c->roots, name);
}

size_t
config_file_count(const config *c)
{
	size_t count = 0;
	for (const known_file *file = c->names; file != NULL; file = file->next)
		count++;
	return count;
}

const char *
config_file(const config *c, size_t index)
{
	const known_file *file = c->names;
	while (file != NULL && index-- > 0)
		file = file->next;
	return file == NULL ? NULL : file->name;
}

void
config_use_job(config *c, const char *job_id)
{
	c->job_id = job_id == NULL ? NULL : arena_copy_text(c->arena, job_id);
}

/* Calls visit for each tree of the key space, lowest layer first. */
typedef int (*tree_visit)(void *context, setting *tree);

static int
visit_jobs(config *c, tree_visit visit, void *context)
{
	for (loaded_file *file = c->files; file != NULL && c->job_id != NULL; file = file->next) {
		setting *job = setting_child(setting_child(file->root, "jobs"), c->job_id);
		if (job != NULL && !visit(context, job))
			return 0;
	}
	return 1;
}

static int
visit_trees(config *c, tree_visit visit, void *context)
{
	for (unsigned layer = LAYER_DEFAULT; layer <= LAYER_COMMAND; layer++) {
		for (loaded_file *file = c->files; file != NULL && layer == LAYER_FILE; file = file->next)
			if (!visit(context, file->root))
				return 0;
		if (layer == LAYER_JOB && !visit_jobs(c, visit, context))
			return 0;
		if (!visit(context, c->trees[layer]))
			return 0;
	}
	return 1;
}

typedef struct names_of {
	const char *section;
	const char **names; /* NULL: only count */
	size_t count;
} names_of;

static int
add_names(void *context, setting *tree)
{
	names_of *all = context;
	const setting *section = setting_child(tree, all->section);
	for (size_t i = 0; section != NULL && i < section->child_count; i++) {
		if (all->names != NULL)
			all->names[all->count] = section->children[i]->name;
		all->count++;
	}
	return 1;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *const *
config_names(config *c, const char *section)
{
	static const char *const none[] = { NULL };
	names_of all = { section, NULL, 0 };
	visit_trees(c, add_names, &all);
	all.names = arena_allocate(c->arena, (all.count + 1) * sizeof(*all.names));
	if (all.names == NULL) {
		out_of_memory(c);
		return none;
	}
	size_t total = all.count;
	all.count = 0;
	visit_trees(c, add_names, &all);
	qsort(all.names, total, sizeof(*all.names), compare_names);
	size_t kept = 0;
	for (size_t i = 0; i < total; i++)
		if (kept == 0 || strcmp(all.names[i], all.names[kept - 1]) != 0)
			all.names[kept++] = all.names[i];
	all.names[kept] = NULL;
	return all.names;
}

typedef struct effective {
	arena *arena;
	const char *section;
	const char *name;
	setting *result;
} effective;

static int
add_effective(void *context, setting *tree)
{
	effective *e = context;
	const setting *thing = setting_child(tree, e->section);
	if (e->name != NULL)
		thing = setting_child(thing, e->name);
	if (thing == NULL)
		return 1;
	e->result = layers_merge(e->arena, e->result, thing);
	return e->result != NULL;
}

setting *
config_effective(config *c, const char *section, const char *name)
{
	effective e = { c->arena, section, name, NULL };
	if (visit_trees(c, add_effective, &e))
		return e.result;
	out_of_memory(c);
	return NULL;
}

/* A part of a thing; of what is written by its name alone (serde = "csv") only the defaults hold. */
static const setting *
part_of(const setting *s, const char *name)
{
	if (s->kind == SETTING_GROUP)
		return setting_child(s, name);
	while (s != NULL && s->kind != SETTING_GROUP)
		s = s->overrode;
	const setting *part = setting_child(s, name);
	while (part != NULL && part->layer != LAYER_DEFAULT)
		part = part->overrode;
	return part;
}

const setting *
config_explain(config *c, const char *path)
{
	size_t count;
	const char *const *key = layers_split(c->arena, path, strlen(path), &count);
	if (key == NULL)
		return NULL;
	const setting *s = c->roots;
	size_t at = 0;
	if (strcmp(key[0], "job") == 0) {
		s = config_effective(c, "job", NULL);
		at = 1;
	} else if (count > 1 && is_one_of(key[0], sections, FLOW_COUNT(sections))) {
		s = config_effective(c, key[0], key[1]);
		at = 2;
	}
	for (; s != NULL && at < count; at++)
		s = part_of(s, key[at]);
	return s;
}
