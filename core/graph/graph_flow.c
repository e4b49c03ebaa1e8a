/* From `application.flow` to steps: which keys are structure, which one is the function, where the records come from.
 * */
#include <string.h>

#include "base/error.h"
#include "graph/graph_reader.h"
#include "graph/job_options.h"
#include "options/options.h"

#define GROUP (1u << SETTING_GROUP)
#define STRING (1u << SETTING_STRING)
#define BOOL (1u << SETTING_BOOL)
#define LISTS (1u << SETTING_LIST | 1u << SETTING_ARRAY)

static int
is_structure(const char *key)
{
	return options_find(&step_options, key) != NULL;
}

static int
is_function(const graph_reader *r, const char *key)
{
	for (size_t i = 0; i < r->function_count; i++)
		if (strcmp(r->functions[i], key) == 0)
			return 1;
	return 0;
}

/* The text of a string member; NULL: absent, or reported. */
static const char *
read_text(graph_reader *r, graph_step *step, const char *key, const setting **place)
{
	const setting *s = setting_child(step->place, key);
	if (s == NULL)
		return NULL;
	*place = s;
	if (setting_expect(r->problems, s, STRING, "string"))
		return s->text;
	step->bad = 1;
	return NULL;
}

/* Forms only; the names are looked up when all steps are known. */
static void
read_origins(graph_reader *r, graph_step *step)
{
	const setting *from = setting_child(step->place, "from"), *second = setting_child(step->place, "connect");
	if (r->origins != NULL) {
		const setting *written = from != NULL ? from : second;
		if (written != NULL)
			problem_at(r->problems, written, "a step in code says this by the calls step(), merge() and connect()");
		return;
	}
	if (from != NULL && !setting_expect(r->problems, from, STRING | LISTS, "string or list of strings"))
		step->bad = 1;
	for (size_t i = 0; from != NULL && i < from->child_count; i++)
		step->bad |= !setting_expect(r->problems, from->children[i], STRING, "string");
	if (from != NULL && (from->kind == SETTING_LIST || from->kind == SETTING_ARRAY) && from->child_count == 0)
		problem_at(r->problems, from, "names no input or step");
	if (second != NULL && !setting_expect(r->problems, second, STRING, "string"))
		step->bad = 1;
}

static void
read_key_by(graph_reader *r, graph_step *step)
{
	const setting *s = setting_child(step->place, "key_by");
	if (s == NULL)
		return;
	if (!setting_expect(r->problems, s, STRING | LISTS, "string or list of strings")) {
		step->bad = 1;
		return;
	}
	if (s->kind != SETTING_STRING && s->child_count == 0) {
		problem_at(r->problems, s, "names no key");
		step->bad = 1;
	}
	for (size_t i = 0; i < s->child_count; i++)
		step->bad |= !setting_expect(r->problems, s->children[i], STRING, "string");
	step->key_by = s;
}

static void
read_partition(graph_reader *r, graph_step *step)
{
	static const char *const words[] = { "shuffle", "global", "broadcast" };
	for (size_t i = 0; i < 3; i++) {
		const setting *s = setting_child(step->place, words[i]);
		if (s == NULL)
			continue;
		if (!setting_expect(r->problems, s, BOOL, "boolean")) {
			step->bad = 1;
			continue;
		}
		if (!s->integer)
			continue;
		const char *other = step->key_by != NULL ? "key_by" : step->partition;
		if (other != NULL) {
			problem_at(r->problems, s, "the step is partitioned by '%s' already; make a step of each", other);
			step->bad = 1;
		}
		step->partition = words[i];
	}
}

static const flow_option *
primary_option(const flow_option_set *set)
{
	for (size_t i = 0; set != NULL && set->options[i] != NULL; i++)
		if ((set->options[i]->flags & FLOW_OPTION_PRIMARY) != 0)
			return set->options[i];
	return NULL;
}

static const flow_option_set *
function_set(const flow_component *component)
{
	return component->option_sets == NULL ? NULL : options_set_of_scope(component->option_sets, "");
}

/* Of several keys that are functions' ids: the one that has all others among its options, or NULL. */
static const setting *
owner_of_all(graph_reader *r, const setting *const *candidates, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const flow_component *component;
		if (registry_component(r->registry, FLOW_FUNCTION, candidates[i]->name, &component, NULL) != FLOW_OK)
			continue;
		const flow_option_set *set = function_set(component);
		size_t owned = 1;
		for (size_t k = 0; k < count && set != NULL; k++)
			owned += k != i && options_find(set, candidates[k]->name) != NULL;
		if (owned == count)
			return candidates[i];
	}
	return NULL;
}

/* The key that names the function; NULL: none. Problems mark the step as bad. */
static const setting *
find_function(graph_reader *r, graph_step *step)
{
	const setting *candidates[8];
	size_t count = 0;
	for (size_t i = 0; i < step->place->child_count; i++) {
		const setting *s = step->place->children[i];
		if (!is_structure(s->name) && is_function(r, s->name) && count < FLOW_COUNT(candidates))
			candidates[count++] = s;
	}
	if (count == 0)
		return NULL;
	const setting *function = count == 1 ? candidates[0] : owner_of_all(r, candidates, count);
	if (function == NULL) {
		problem_at(r->problems, candidates[1], "the step has two functions, '%s' and '%s'; make a step of each",
				   candidates[0]->name, candidates[1]->name);
		step->bad = 1;
	}
	return function;
}

/* Keys that belong to nothing, in a step without a function. */
static void
report_unknown_keys(graph_reader *r, graph_step *step)
{
	size_t count = 0;
	const char **names = reader_allocate(r, (r->function_count + 32) * sizeof(*names));
	if (names == NULL)
		return;
	for (; step_options.options[count] != NULL; count++)
		names[count] = step_options.options[count]->name;
	memcpy(names + count, r->functions, r->function_count * sizeof(*names));
	count += r->function_count;
	for (size_t i = 0; i < step->place->child_count; i++) {
		const setting *s = step->place->children[i];
		if (is_structure(s->name))
			continue;
		const flow_component *component;
		flow_error refusal = { 0 };
		if (registry_component(r->registry, FLOW_FUNCTION, s->name, &component, &refusal) == FLOW_E_PLUGIN) {
			problem_at(r->problems, s, "%s", error_message(&refusal));
			r->problems->plugins_refused++;
		} else {
			problem *p = problem_at(r->problems, s, "'%s' is neither a function nor a word of a step", s->name);
			problem_suggest(r->problems, p, s->name, names, count);
		}
		error_clear(&refusal);
		step->bad = 1;
	}
}

struct option_list {
	setting **items;
	size_t count;
};

static void
add_option(graph_reader *r, struct option_list *list, const setting *s, const char *name)
{
	setting *copy = setting_copy(r->arena, s, LAYER_DESCRIPTOR, name);
	r->failed |= copy == NULL;
	if (copy != NULL)
		list->items[list->count++] = copy;
}

/* `{ <function> = value; }` sets the primary option. A group is the primary option's value if that takes names, and
 * else holds the function's options. `true` alone calls a function without further options. */
static void
add_function_value(graph_reader *r, graph_step *step, const setting *s, struct option_list *list)
{
	const flow_option *primary = primary_option(function_set(step->component));
	int takes_names = primary != NULL && (primary->type == FLOW_OPTION_MAP || primary->type == FLOW_OPTION_GROUP);
	if (s->kind == SETTING_GROUP && !takes_names) {
		for (size_t i = 0; i < s->child_count; i++)
			add_option(r, list, s->children[i], NULL);
		return;
	}
	if (primary != NULL) {
		add_option(r, list, s, primary->name);
		return;
	}
	if (s->kind == SETTING_BOOL && s->integer)
		return;
	problem_at(r->problems, s, "expected true or a group of options, found %s", setting_kind_name(s));
	step->bad = 1;
}

static void
read_function(graph_reader *r, graph_step *step, const setting *function, struct option_list *list)
{
	flow_error error = { 0 };
	step->function = function->name;
	if (registry_component(r->registry, FLOW_FUNCTION, function->name, &step->component, &error) != FLOW_OK) {
		problem_once(r->problems, function, error_message(&error));
		error_clear(&error);
		step->component = NULL;
		step->bad = 1;
		return;
	}
	add_function_value(r, step, function, list);
	for (size_t i = 0; i < step->place->child_count; i++) {
		const setting *s = step->place->children[i];
		if (s != function && !is_structure(s->name))
			add_option(r, list, s, NULL);
	}
}

static void
keep_options(graph_reader *r, graph_step *step, const struct option_list *list)
{
	setting *group = setting_group(r->arena, step->place, step->name, list->items, list->count);
	if (group == NULL) {
		r->failed = 1;
		return;
	}
	group->layer = LAYER_DESCRIPTOR;
	if (step->name == NULL) {
		step->options = group;
		return;
	}
	const char *key[2] = { "operators", step->name };
	config_put(r->config, key, 2, group);
}

static size_t
option_room(const setting *place)
{
	size_t room = place->child_count + 1;
	for (size_t i = 0; i < place->child_count; i++)
		room += place->children[i]->child_count;
	return room;
}

static void
read_options(graph_reader *r, graph_step *step)
{
	struct option_list list = { reader_allocate(r, option_room(step->place) * sizeof(setting *)), 0 };
	if (list.items == NULL)
		return;
	const setting *function = find_function(r, step);
	if (function != NULL)
		read_function(r, step, function, &list);
	else if (!step->bad)
		report_unknown_keys(r, step);
	for (size_t i = 0; operator_options.options[i] != NULL; i++) {
		const setting *s = setting_child(step->place, operator_options.options[i]->name);
		if (s != NULL)
			add_option(r, &list, s, NULL);
	}
	if (!r->failed)
		keep_options(r, step, &list);
}

static void
read_step_name(graph_reader *r, graph_step *step)
{
	const setting *place = NULL;
	const char *name = read_text(r, step, "name", &place);
	if (name == NULL)
		return;
	if (!graph_is_name(name)) {
		problem_at(r->problems, place, "'%s' is no name of a step: use letters, digits, '-' and '_'", name);
		step->bad = 1;
		return;
	}
	step->name = name;
	graph *g = r->graph;
	for (size_t i = 0; i < g->step_count; i++)
		if (g->steps[i]->name != NULL && strcmp(g->steps[i]->name, name) == 0)
			problem_at(r->problems, place, "another step is called '%s' already (%s)", name,
					   setting_place(r->arena, g->steps[i]->place));
	size_t input = graph_find_stream(g, name, FLOW_DIRECTION_INPUT);
	if (input != GRAPH_NONE)
		problem_at(r->problems, place, "an input is called '%s' (%s); `from` could mean both", name,
				   setting_place(r->arena, g->streams[input]->place));
}

static void
read_step(graph_reader *r, const setting *place)
{
	graph_step *step = reader_allocate(r, sizeof(*step));
	if (step == NULL)
		return;
	graph *g = r->graph;
	step->place = place;
	step->to_stream = GRAPH_NONE;
	step->index = g->step_count;
	if (!setting_expect(r->problems, place, GROUP, "group")) {
		step->bad = 1;
		g->steps[g->step_count++] = step;
		return;
	}
	read_step_name(r, step);
	read_origins(r, step);
	step->to = read_text(r, step, "to", &step->to_place);
	read_key_by(r, step);
	read_partition(r, step);
	read_options(r, step);
	const setting *from = setting_child(place, "from");
	int merges = r->origins != NULL || (from != NULL && from->kind != SETTING_STRING);
	if (!step->bad && step->function == NULL && step->to == NULL && step->key_by == NULL && step->partition == NULL &&
		!merges)
		problem_at(r->problems, place, "the step does nothing: give it a function, key_by or to");
	g->steps[g->step_count++] = step;
}

/* --- where records come from
 * ------------------------------------------------------------------------------------------ */

int
graph_step_origins(graph_reader *r, graph_step *step, size_t count)
{
	step->origins = reader_allocate(r, (count + 1) * sizeof(*step->origins));
	if (step->origins == NULL)
		return 0;
	step->origin_count = count;
	for (size_t i = 0; i < count; i++)
		step->origins[i] = (graph_origin){ GRAPH_NONE, GRAPH_NONE, 0, step->place };
	return 1;
}

static size_t
find_step(const graph *g, const char *name, size_t length)
{
	for (size_t i = 0; i < g->step_count; i++) {
		const char *other = g->steps[i]->name;
		if (other != NULL && strlen(other) == length && memcmp(other, name, length) == 0)
			return i;
	}
	return GRAPH_NONE;
}

static void
report_unknown_from(graph_reader *r, const setting *place)
{
	const graph *g = r->graph;
	problem *p = problem_at(r->problems, place, "no input or step is called '%s'", place->text);
	const char **names = reader_allocate(r, (g->stream_count + g->step_count + 1) * sizeof(*names));
	if (names == NULL)
		return;
	size_t count = 0;
	for (size_t i = 0; i < g->stream_count; i++)
		if (g->streams[i]->direction == FLOW_DIRECTION_INPUT)
			names[count++] = g->streams[i]->id;
	for (size_t i = 0; i < g->step_count; i++)
		if (g->steps[i]->name != NULL)
			names[count++] = g->steps[i]->name;
	problem_suggest(r->problems, p, place->text, names, count);
}

/* "flights", "delayed", or "split.second": the second output of a step. */
static graph_origin
find_origin(graph_reader *r, const setting *place)
{
	static const char second[] = ".second";
	const graph *g = r->graph;
	graph_origin found = { GRAPH_NONE, graph_find_stream(g, place->text, FLOW_DIRECTION_INPUT), 0, place };
	size_t length = strlen(place->text), behind = sizeof(second) - 1;
	if (found.stream == GRAPH_NONE && length > behind && strcmp(place->text + length - behind, second) == 0) {
		found.output = 1;
		length -= behind;
	}
	if (found.stream == GRAPH_NONE)
		found.step = find_step(g, place->text, length);
	if (found.stream == GRAPH_NONE && found.step == GRAPH_NONE)
		report_unknown_from(r, place);
	return found;
}

/* `from`: a name, several in a list, or nothing: the step before. */
static void
resolve_from(graph_reader *r, graph_step *step)
{
	const setting *from = setting_child(step->place, "from");
	size_t count = from == NULL || from->kind == SETTING_STRING ? 1 : from->child_count;
	if (!graph_step_origins(r, step, count))
		return;
	if (from == NULL && step->index != 0)
		step->origins[0].step = step->index - 1;
	else if (from == NULL && !step->bad)
		problem_in(r->problems, step->place, "from", "is missing: the first step says which input it takes");
	for (size_t i = 0; i < count && from != NULL; i++) {
		const setting *name = from->kind == SETTING_STRING ? from : from->children[i];
		if (name->kind == SETTING_STRING)
			step->origins[i] = find_origin(r, name);
	}
	const setting *second = setting_child(step->place, "connect");
	if (second == NULL || second->kind != SETTING_STRING)
		return;
	step->second = reader_allocate(r, sizeof(*step->second));
	if (step->second != NULL)
		*step->second = find_origin(r, second);
}

static void
resolve_to(graph_reader *r, graph_step *step)
{
	const graph *g = r->graph;
	if (step->to == NULL)
		return;
	step->to_stream = graph_find_stream(g, step->to, FLOW_DIRECTION_OUTPUT);
	if (step->to_stream != GRAPH_NONE)
		return;
	problem *p = problem_at(r->problems, step->to_place, "no output is called '%s'", step->to);
	const char **names = reader_allocate(r, (g->stream_count + 1) * sizeof(*names));
	if (names == NULL)
		return;
	size_t count = 0;
	for (size_t i = 0; i < g->stream_count; i++)
		if (g->streams[i]->direction == FLOW_DIRECTION_OUTPUT)
			names[count++] = g->streams[i]->id;
	problem_suggest(r->problems, p, step->to, names, count);
}

/* --- rings
 * -------------------------------------------------------------------------------------------------------------- */

static graph_origin *
origin_at(const graph_step *step, size_t index)
{
	if (index < step->origin_count)
		return &step->origins[index];
	return index == step->origin_count ? step->second : NULL;
}

struct ring_search {
	size_t *queue;
	size_t *distance; /* by step; 0: not seen in this search */
	size_t first, count;
};

/* The steps before `at` that are not before `start` in the file. Returns the distance if that is `start` itself. */
static size_t
visit_origins(const graph *g, struct ring_search *search, size_t at, size_t start)
{
	const graph_origin *origin;
	size_t distance = at == start ? 0 : search->distance[at];
	for (size_t i = 0; (origin = origin_at(g->steps[at], i)) != NULL; i++) {
		if (origin->step == start)
			return distance + 1;
		if (origin->step == GRAPH_NONE || origin->step < start || search->distance[origin->step] != 0)
			continue;
		search->distance[origin->step] = distance + 1;
		search->queue[search->count++] = origin->step;
	}
	return 0;
}

/* Length of the shortest ring that has `start` as its first step; 0: none. */
static size_t
ring_length(const graph *g, struct ring_search *search, size_t start)
{
	size_t length = 0;
	search->first = search->count = 0;
	search->queue[search->count++] = start;
	while (search->first < search->count && length == 0)
		length = visit_origins(g, search, search->queue[search->first++], start);
	for (size_t i = 0; i < search->count; i++)
		search->distance[search->queue[i]] = 0;
	return length;
}

/* Steps that take their records from one another in a ring: each ring is reported once, at its first step. */
static void
report_rings(graph_reader *r)
{
	graph *g = r->graph;
	struct ring_search search = { reader_allocate(r, (g->step_count + 1) * sizeof(size_t)),
								  reader_allocate(r, (g->step_count + 1) * sizeof(size_t)), 0, 0 };
	for (size_t i = 0; i < g->step_count && !r->failed; i++) {
		graph_step *step = g->steps[i];
		size_t length = ring_length(g, &search, i);
		if (length == 0)
			continue;
		problem_at(r->problems, step->origin_count == 0 ? step->place : step->origins[0].place,
				   "the step takes its records from itself, through %zu other steps; start it from an input",
				   length - 1);
		graph_origin *origin;
		for (size_t k = 0; (origin = origin_at(step, k)) != NULL; k++)
			if (origin->step != GRAPH_NONE && origin->step >= i)
				origin->step = GRAPH_NONE;
	}
}

void
graph_read_flow(graph_reader *r, const setting *flow)
{
	graph *g = r->graph;
	size_t before = g->step_count;
	graph_step **steps = reader_allocate(r, (before + flow->child_count + 1) * sizeof(*steps));
	if (steps == NULL)
		return;
	if (before != 0)
		memcpy(steps, g->steps, before * sizeof(*steps));
	g->steps = steps;
	if (flow->child_count == 0)
		problem_at(r->problems, flow, "has no steps");
	for (size_t i = 0; i < flow->child_count && !r->failed; i++)
		read_step(r, flow->children[i]);
	for (size_t i = before; i < g->step_count && !r->failed; i++) {
		if (r->origins != NULL)
			r->origins(r, g->steps[i]);
		else
			resolve_from(r, g->steps[i]);
		resolve_to(r, g->steps[i]);
	}
	report_rings(r);
}
