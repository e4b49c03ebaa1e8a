/* Components by name, and their options together with the host's. */
#include <string.h>

#include "base/distance.h"
#include "base/error.h"
#include "graph/planner.h"

const flow_component *
planner_component(planner *p, uint32_t kind, const char *id, const setting *place)
{
	flow_error error = { 0 };
	const flow_component *component = NULL;
	flow_status status = registry_component(p->registry, kind, id, &component, &error);
	if (status == FLOW_OK)
		return component;
	if (status != FLOW_E_NOT_FOUND) {
		problem_once(p->problems, place, error_message(&error));
		error_clear(&error);
		return NULL;
	}
	error_clear(&error);
	problem *found = problem_at(p->problems, place, "no plugin has a %s '%s'", component_kind_name(kind), id);
	size_t count = registry_ids(p->registry, kind, NULL, 0);
	const char **ids = planner_allocate(p, (count + 1) * sizeof(*ids));
	if (ids != NULL)
		problem_suggest(p->problems, found, id, ids, registry_ids(p->registry, kind, ids, count));
	return NULL;
}

const flow_component *
planner_component_setting(planner *p, uint32_t kind, const setting *s, const flow_options **options)
{
	if (!setting_expect(p->problems, s, 1u << SETTING_STRING | 1u << SETTING_GROUP, "string or group"))
		return NULL;
	const setting *type = s;
	if (s->kind == SETTING_GROUP) {
		type = setting_child(s, "type");
		if (type == NULL) {
			problem_in(p->problems, s, "type", "is missing: the name of a %s", component_kind_name(kind));
			return NULL;
		}
		if (!setting_expect(p->problems, type, 1u << SETTING_STRING, "string"))
			return NULL;
	}
	const flow_component *component = planner_component(p, kind, type->text, type);
	static const char *const ignore[] = { "type", NULL };
	if (component != NULL && options != NULL)
		*options =
			planner_resolve(p, NULL, component, "", s->kind == SETTING_GROUP ? s : NULL, s, component->id, ignore);
	return component;
}

static size_t
list_length(const char *const *list)
{
	size_t count = 0;
	while (list != NULL && list[count] != NULL)
		count++;
	return count;
}

const char *const *
planner_unjudged(planner *p, const flow_option_set *host_set, const setting *group, const char *const *ignore)
{
	size_t before = list_length(ignore), members = group == NULL ? 0 : group->child_count;
	const char **list = planner_allocate(p, (before + members + 1) * sizeof(*list));
	if (list == NULL)
		return NULL;
	const char *names[64];
	size_t count = 0;
	for (; host_set->options[count] != NULL && count < FLOW_COUNT(names); count++)
		names[count] = host_set->options[count]->name;
	size_t used = 0;
	for (; used < before; used++)
		list[used] = ignore[used];
	for (size_t i = 0; i < members; i++) {
		const char *name = group->children[i]->name;
		if (options_find(host_set, name) == NULL && distance_nearest(name, names, count) == NULL)
			list[used++] = name;
	}
	return list;
}

/* The tables that hold together for a thing; NULL-terminated. */
static void
fill_sets(const flow_option_set *sets[3], const flow_option_set *host_set, const flow_component *component,
		  const char *scope)
{
	size_t count = 0;
	sets[0] = sets[1] = sets[2] = NULL;
	if (host_set != NULL)
		sets[count++] = host_set;
	if (component != NULL && component->option_sets != NULL)
		sets[count] = options_set_of_scope(component->option_sets, scope);
}

static void
put_defaults(planner *p, const char *const *key, size_t count, const flow_option_set *const *sets, const setting *given)
{
	setting *defaults = options_default_settings(config_arena(p->config), sets, given);
	p->failed |= defaults == NULL;
	if (defaults != NULL)
		config_put(p->config, key, count, defaults);
}

void
planner_put_defaults(planner *p, const char *section, const char *name, const flow_option_set *host_set,
					 const flow_component *component, const char *scope, const setting *given)
{
	const flow_option_set *sets[3];
	fill_sets(sets, host_set, component, scope);
	const char *key[2] = { section, name };
	put_defaults(p, key, name == NULL ? 1 : 2, sets, given);
}

void
planner_put_part_defaults(planner *p, const char *section, const char *name, const char *option, const char *part,
						  const flow_component *component, const setting *given)
{
	const flow_option_set *sets[3];
	fill_sets(sets, NULL, component, "");
	const char *key[4] = { section, name, option, part };
	put_defaults(p, key, part == NULL ? 3 : 4, sets, given);
}

void
planner_put_derived(planner *p, const char *section, const char *name, const char *option, const char *text,
					const char *origin)
{
	const char *key[3] = { section, name, option };
	setting s = { .kind = SETTING_STRING,
				  .layer = LAYER_DEFAULT,
				  .origin = origin,
				  .name = option,
				  .path = option,
				  .text = text,
				  .size = strlen(text) };
	config_put(p->config, key, 3, &s);
}

const flow_options *
planner_resolve(planner *p, const flow_option_set *host_set, const flow_component *component, const char *scope,
				const setting *group, const setting *place, const char *name, const char *const *ignore)
{
	const flow_option_set *sets[3];
	fill_sets(sets, host_set, component, scope);
	options_request request = {
		.sets = sets,
		.group = group,
		.path = place->path,
		.file = place->file,
		.line = place->line,
		.name = name,
		.ignore = ignore,
		.base_folder = p->graph->folder,
		.names = &p->names,
	};
	const flow_options *options = options_resolve(p->arena, &request, p->problems);
	p->failed |= options == NULL;
	return options;
}

uint32_t
planner_record_errors(const flow_options *options, const char *name, uint32_t absent)
{
	flow_slice text = options == NULL ? flow_slice_of(NULL) : flow_option_text(options, name);
	if (flow_slice_is(text, "fail"))
		return RECORD_ERRORS_FAIL;
	if (flow_slice_is(text, "skip"))
		return RECORD_ERRORS_SKIP;
	return flow_slice_is(text, "dead_letter") ? RECORD_ERRORS_DEAD_LETTER : absent;
}

/* --- names that options may refer to
 * ------------------------------------------------------------------------------------ */

static size_t
stream_names(const graph *g, uint32_t direction, const char **names, size_t capacity)
{
	size_t count = 0;
	for (size_t i = 0; i < g->stream_count; i++) {
		if (direction != 0 && g->streams[i]->direction != direction)
			continue;
		if (count < capacity)
			names[count] = g->streams[i]->id;
		count++;
	}
	return count;
}

static size_t
configured_names(config *c, const char *section, const char **names, size_t capacity)
{
	const char *const *list = config_names(c, section);
	size_t count = list_length(list);
	for (size_t i = 0; i < count && i < capacity; i++)
		names[i] = list[i];
	return count;
}

static size_t
known_names(void *context, const char *kind, const char **names, size_t capacity)
{
	planner *p = context;
	if (strcmp(kind, "system") == 0)
		return configured_names(p->config, "systems", names, capacity);
	if (strcmp(kind, "table") == 0)
		return configured_names(p->config, "tables", names, capacity);
	if (strcmp(kind, "stream") == 0)
		return stream_names(p->graph, 0, names, capacity);
	if (strcmp(kind, "input") == 0)
		return stream_names(p->graph, FLOW_DIRECTION_INPUT, names, capacity);
	if (strcmp(kind, "output") == 0)
		return stream_names(p->graph, FLOW_DIRECTION_OUTPUT, names, capacity);
	uint32_t component = component_kind_of_name(kind);
	return component == 0 ? 0 : registry_ids(p->registry, component, names, capacity);
}

void
planner_name_service(planner *p)
{
	p->names = (options_names){ known_names, p };
}
