/* Systems: their components, options and instances. */
#include <string.h>

#include "base/error.h"
#include "graph/planner.h"

struct open_system {
	const flow_system_ops *ops;
	flow_system *instance;
};

static void
close_system(void *owner)
{
	struct open_system *open = owner;
	open->ops->close(open->instance);
}

static int
is_used(planner *p, const char *name)
{
	const graph *g = p->graph;
	for (size_t i = 0; i < g->stream_count; i++) {
		const setting *system = setting_child(config_effective(p->config, "streams", g->streams[i]->id), "system");
		if (system != NULL && system->kind == SETTING_STRING && strcmp(system->text, name) == 0)
			return 1;
	}
	return 0;
}

/* As far as the path of an option can be followed. */
static const setting *
option_place(const setting *group, const char *path)
{
	char name[64];
	while (*path != '\0') {
		size_t size = strcspn(path, ".");
		if (size >= sizeof(name))
			return group;
		memcpy(name, path, size);
		name[size] = '\0';
		const setting *child = setting_child(group, name);
		if (child == NULL)
			return group;
		group = child;
		path += size + (path[size] == '.');
	}
	return group;
}

static void
open_system(planner *p, plan_system *system)
{
	struct open_system *open = planner_allocate(p, sizeof(*open));
	if (open == NULL)
		return;
	flow_error error = { 0 };
	open->ops = system->component->ops;
	flow_status opened = open->ops->open(p->host, system->options, &open->instance, &error);
	if (error_settle(&error, opened, "open") != FLOW_OK) {
		problem_at(p->problems, error.option == NULL ? system->place : option_place(system->place, error.option),
				   "cannot open system '%s': %s", system->name, error_message(&error));
		error_clear(&error);
		return;
	}
	if (arena_on_destroy(p->arena, close_system, open))
		system->instance = open->instance;
	else
		p->failed = 1;
}

static void
plan_one_system(planner *p, const char *name)
{
	static const char *const ignore[] = { "serde", "stream_defaults", NULL };
	const setting *group = config_effective(p->config, "systems", name);
	const setting *type = setting_child(group, "type");
	size_t before = p->problems->errors;
	const flow_component *component = NULL;
	if (group == NULL)
		return;
	if (type != NULL && type->kind == SETTING_STRING)
		component = planner_component(p, FLOW_SYSTEM, type->text, type);
	const char *const *skipped = component != NULL ? ignore : planner_unjudged(p, &system_options, group, ignore);
	const flow_options *options = planner_resolve(p, &system_options, component, "", group, group, name, skipped);
	planner_put_defaults(p, "systems", name, &system_options, component, "", group);
	const setting *defaults = setting_child(group, "stream_defaults");
	if (defaults != NULL)
		setting_expect(p->problems, defaults, 1u << SETTING_GROUP, "group");
	if (component == NULL || !is_used(p, name))
		return;
	plan_system *system = &p->plan->systems[p->plan->system_count++];
	*system = (plan_system){ .name = name, .component = component, .options = options, .place = group };
	if (p->problems->errors == before && !p->failed)
		open_system(p, system);
}

void
plan_systems(planner *p)
{
	const char *const *names = config_names(p->config, "systems");
	size_t count = 0;
	while (names[count] != NULL)
		count++;
	p->plan->systems = planner_allocate(p, (count + 1) * sizeof(plan_system));
	for (size_t i = 0; i < count && !p->failed; i++)
		plan_one_system(p, names[i]);
}
