/* From the `application` group of a configuration file to descriptors: systems, streams and tables become settings of
 * layer 4. */
#include "graph/graph.h"

#include <string.h>

#include "graph/graph_reader.h"
#include "graph/job_options.h"

#define GROUP (1u << SETTING_GROUP)
#define STRING (1u << SETTING_STRING)
#define LIST (1u << SETTING_LIST)

int
graph_is_name(const char *text)
{
	size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
	return length != 0 && text[length] == '\0';
}

size_t
graph_find_stream(const graph *g, const char *id, uint32_t direction)
{
	for (size_t i = 0; i < g->stream_count; i++)
		if (g->streams[i]->direction == direction && strcmp(g->streams[i]->id, id) == 0)
			return i;
	return GRAPH_NONE;
}

static int
check_name(graph_reader *r, const setting *s, const char *what)
{
	if (s->name != NULL && graph_is_name(s->name))
		return 1;
	problem_at(r->problems, s, "'%s' is no name of %s: use letters, digits, '-' and '_'",
			   s->name == NULL ? "" : s->name, what);
	return 0;
}

/* Puts a system, stream or table into layer 4. */
void
reader_put_thing(graph_reader *r, const char *section, const setting *thing)
{
	const char *key[2] = { section, thing->name };
	setting *copy = setting_copy(r->arena, thing, LAYER_DESCRIPTOR, NULL);
	if (copy == NULL)
		r->failed = 1;
	else
		config_put(r->config, key, 2, copy);
}

static void
read_things(graph_reader *r, const setting *group, const char *section, const char *what)
{
	if (group == NULL || !setting_expect(r->problems, group, GROUP, "group"))
		return;
	for (size_t i = 0; i < group->child_count; i++) {
		const setting *thing = group->children[i];
		if (check_name(r, thing, what) && setting_expect(r->problems, thing, GROUP, "group"))
			reader_put_thing(r, section, thing);
	}
}

static void
add_stream(graph_reader *r, const setting *place, const char *id, uint32_t direction)
{
	graph *g = r->graph;
	graph_stream *stream = reader_allocate(r, sizeof(*stream));
	if (stream == NULL)
		return;
	*stream = (graph_stream){ .id = id, .direction = direction, .place = place };
	g->streams[g->stream_count++] = stream;
}

/* The same id as input and output is one stream with two readers if both say the same. */
static int
check_other_direction(graph_reader *r, const setting *s)
{
	size_t other = graph_find_stream(r->graph, s->name, FLOW_DIRECTION_INPUT);
	if (other == GRAPH_NONE)
		return 1;
	const setting *input = r->graph->streams[other]->place;
	if (!settings_equal(s, input))
		problem_at(r->problems, s,
				   "'%s' is an input already (%s) and has other content there; give one of them another id", s->name,
				   setting_place(r->arena, input));
	return 0;
}

static void
read_streams(graph_reader *r, const setting *group, uint32_t direction)
{
	if (group == NULL || !setting_expect(r->problems, group, GROUP, "group"))
		return;
	const char *what = direction == FLOW_DIRECTION_INPUT ? "an input" : "an output";
	for (size_t i = 0; i < group->child_count; i++) {
		const setting *s = group->children[i];
		if (!check_name(r, s, what))
			continue;
		int usable = setting_expect(r->problems, s, GROUP, "group");
		if (usable && (direction == FLOW_DIRECTION_INPUT || check_other_direction(r, s)))
			reader_put_thing(r, "streams", s);
		add_stream(r, s, s->name, direction);
	}
}

/* `dead_letters` is the id of an output, or an output without id. */
static void
read_dead_letters(graph_reader *r, const setting *s)
{
	const char *key[2] = { "job", "dead_letters" };
	setting *copy = setting_copy(r->arena, s, LAYER_DESCRIPTOR, NULL);
	if (copy == NULL) {
		r->failed = 1;
		return;
	}
	if (s->kind == SETTING_GROUP) {
		if (graph_find_stream(r->graph, s->name, FLOW_DIRECTION_OUTPUT) != GRAPH_NONE) {
			problem_at(r->problems, s,
					   "an output is called 'dead_letters' already; name it here: dead_letters = \"dead_letters\"");
			return;
		}
		reader_put_thing(r, "streams", s);
		add_stream(r, s, s->name, FLOW_DIRECTION_OUTPUT);
		copy->kind = SETTING_STRING;
		copy->text = s->name;
		copy->size = strlen(s->name);
		copy->children = NULL;
		copy->child_count = 0;
	}
	config_put(r->config, key, 2, copy);
}

static size_t
option_names(const flow_option_set *set, const char **names)
{
	size_t count = 0;
	for (; set->options[count] != NULL; count++)
		if (names != NULL)
			names[count] = set->options[count]->name;
	return count;
}

static int
set_has(const flow_option_set *set, const char *name)
{
	for (size_t i = 0; set->options[i] != NULL; i++)
		if (strcmp(set->options[i]->name, name) == 0)
			return 1;
	return 0;
}

/* What stands in the application besides its own words belongs to the job. */
static void
read_job_options(graph_reader *r, const setting *application)
{
	for (size_t i = 0; i < application->child_count; i++) {
		const setting *s = application->children[i];
		if (set_has(&application_options, s->name))
			continue;
		if (strcmp(s->name, "dead_letters") == 0) {
			read_dead_letters(r, s);
			continue;
		}
		if (set_has(&job_options, s->name)) {
			const char *key[2] = { "job", s->name };
			setting *copy = setting_copy(r->arena, s, LAYER_DESCRIPTOR, NULL);
			if (copy != NULL)
				config_put(r->config, key, 2, copy);
			r->failed |= copy == NULL;
			continue;
		}
		problem *p = problem_at(r->problems, s, "unknown key '%s' in an application", s->name);
		const char *names[64];
		size_t count = option_names(&application_options, names);
		count += option_names(&job_options, names + count);
		problem_suggest(r->problems, p, s->name, names, count);
	}
}

static void
read_name(graph_reader *r, const setting *application)
{
	const setting *name = setting_child(application, "name");
	if (name == NULL) {
		problem_in(r->problems, application, "name", "is missing: name = \"my-application\"");
		return;
	}
	if (!setting_expect(r->problems, name, STRING, "string"))
		return;
	if (!graph_is_name(name->text))
		problem_at(r->problems, name, "'%s' is no name of an application: use letters, digits, '-' and '_'",
				   name->text);
	r->graph->name = name->text;
}

static const char *
folder_of(graph_reader *r)
{
	const char *file = config_file_count(r->config) == 0 ? "" : config_file(r->config, 0);
	const char *slash = strrchr(file, '/');
	const char *folder = slash == NULL ? "." : slash == file ? "/" : arena_copy(r->arena, file, (size_t)(slash - file));
	r->failed |= folder == NULL;
	return folder;
}

static size_t
members(const setting *group)
{
	return group == NULL ? 0 : group->child_count;
}

void
reader_list_functions(graph_reader *r)
{
	r->function_count = registry_ids(r->registry, FLOW_FUNCTION, NULL, 0);
	r->functions = reader_allocate(r, (r->function_count + 1) * sizeof(*r->functions));
	if (r->functions != NULL)
		registry_ids(r->registry, FLOW_FUNCTION, r->functions, r->function_count);
}

graph *
graph_read_application(graph_reader *r, const setting *application)
{
	graph *g = r->graph = reader_allocate(r, sizeof(*g));
	if (g == NULL)
		return reader_out_of_memory(r->problems);
	g->place = application;
	g->folder = folder_of(r);
	if (!setting_expect(r->problems, application, GROUP, "group"))
		return g;
	const setting *inputs = setting_child(application, "inputs");
	const setting *outputs = setting_child(application, "outputs");
	g->streams = reader_allocate(r, (members(inputs) + members(outputs) + 1) * sizeof(*g->streams));
	reader_list_functions(r);
	if (r->failed)
		return reader_out_of_memory(r->problems);
	read_name(r, application);
	read_things(r, setting_child(application, "systems"), "systems", "a system");
	read_things(r, setting_child(application, "tables"), "tables", "a table");
	read_streams(r, inputs, FLOW_DIRECTION_INPUT);
	read_streams(r, outputs, FLOW_DIRECTION_OUTPUT);
	read_job_options(r, application);
	const setting *flow = setting_child(application, "flow");
	if (flow == NULL)
		problem_in(r->problems, application, "flow", "is missing: flow = ( { from = \"...\"; to = \"...\"; } )");
	else if (setting_expect(r->problems, flow, LIST, "list"))
		graph_read_flow(r, flow);
	return r->failed ? reader_out_of_memory(r->problems) : g;
}

graph *
graph_from_config(config *c, registry *registered)
{
	const setting *application = config_root(c, "application");
	graph_reader r = { .config = c, .arena = config_arena(c), .problems = config_problems(c), .registry = registered };
	return application == NULL ? NULL : graph_read_application(&r, application);
}

graph *
graph_from_settings(config *c, registry *registered, const setting *application)
{
	graph_reader r = { .config = c, .arena = config_arena(c), .problems = config_problems(c), .registry = registered };
	graph *g = graph_read_application(&r, application);
	if (g != NULL)
		g->folder = "";
	return g;
}
