/* An application in code: its plugin is loaded, it describes itself once, and what it said is read like a file's `application`. */
#include <string.h>

#include "base/error.h"
#include "graph/description.h"
#include "options/options.h"

/* --- what was described, as settings
 * --------------------------------------------------------------------------------------------------- */

static int
add_child(description *d, setting *group, setting *child)
{
	setting **children = arena_allocate(d->arena, (group->child_count + 1) * sizeof(*children));
	if (children == NULL || child == NULL) {
		d->failed = 1;
		return 0;
	}
	if (group->child_count != 0)
		memcpy(children, group->children, group->child_count * sizeof(*children));
	children[group->child_count++] = child;
	group->children = children;
	return 1;
}

/* All things of one kind as a group, or the steps as a list. */
setting *
description_things(description *d, const setting *place, uint32_t kind, const char *name)
{
	size_t count = 0;
	for (described *one = d->first; one != NULL; one = one->next)
		count += one->shown.kind == kind;
	setting **children = arena_allocate(d->arena, (count + 1) * sizeof(*children));
	if (children == NULL)
		return NULL;
	count = 0;
	for (described *one = d->first; one != NULL; one = one->next)
		if (one->shown.kind == kind && description_counts(d, one))
			children[count++] = one->group;
	setting *group = setting_group(d->arena, place, name, children, count);
	if (group == NULL)
		return NULL;
	if (kind == FLOW_DESCRIBE_STEP)
		group->kind = SETTING_LIST;
	group->path = arena_format(d->arena, "%s.%s", d->path, name);
	return group->path == NULL ? NULL : group;
}

static void
take_out(setting *group, const setting *child)
{
	size_t kept = 0;
	for (size_t i = 0; i < group->child_count; i++)
		if (group->children[i] != child)
			group->children[kept++] = group->children[i];
	group->child_count = kept;
}

static setting *
application_setting(description *d)
{
	static const struct {
		const char *name;
		uint32_t kind;
	} parts[] = { { "systems", FLOW_DESCRIBE_SYSTEM },
				  { "inputs", FLOW_DESCRIBE_INPUT },
				  { "outputs", FLOW_DESCRIBE_OUTPUT },
				  { "tables", FLOW_DESCRIBE_TABLE },
				  { "flow", FLOW_DESCRIBE_STEP } };
	setting *all = d->application->group;
	for (size_t i = 0; i < FLOW_COUNT(parts) && !d->failed; i++) {
		const setting *written = setting_child(all, parts[i].name);
		setting *things = description_things(d, all, parts[i].kind, parts[i].name);
		if (written != NULL) {
			problem_at(d->problems, written, "the application's %s have descriptors of their own", parts[i].name);
			take_out(all, written);
		}
		if (things == NULL || things->child_count != 0 || parts[i].kind == FLOW_DESCRIBE_STEP)
			add_child(d, all, things);
	}
	return all;
}

/* --- where its steps take their records from
 * ------------------------------------------------------------------------------------------- */

static const described *
step_at(const description *d, size_t index)
{
	const described *one = d->first;
	while (one != NULL && (one->shown.kind != FLOW_DESCRIBE_STEP || one->group == NULL || one->index != index))
		one = one->next;
	return one;
}

graph_origin
description_origin(const graph_reader *r, const described *one, const setting *place)
{
	const description *d = r->code;
	graph_origin found = { GRAPH_NONE, GRAPH_NONE, one->first_output != NULL, place };
	if (one->first_output != NULL)
		one = one->first_output;
	if (one->shown.kind == FLOW_DESCRIBE_STEP)
		found.step = one->group == NULL ? GRAPH_NONE : d->first_step + one->index;
	else if (one->group != NULL)
		found.stream = graph_find_stream(r->graph, one->shown.name, FLOW_DIRECTION_INPUT);
	return found;
}

void
description_origins(graph_reader *r, graph_step *step)
{
	const description *d = r->code;
	const described *one = step_at(d, step->index - d->first_step);
	if (one == NULL || !graph_step_origins(r, step, one->origin_count == 0 ? 1 : one->origin_count))
		return;
	for (size_t i = 0; i < one->origin_count; i++)
		step->origins[i] = description_origin(r, one->origins[i], step->place);
	if (one->second == NULL)
		return;
	step->second = reader_allocate(r, sizeof(*step->second));
	if (step->second != NULL)
		*step->second = description_origin(r, one->second, step->place);
}

/* --- describing
 * ------------------------------------------------------------------------------------------------------------------ */

static const flow_options *
application_options_of(config *c, const flow_component *application, const char *name)
{
	static const flow_option_set *const none[] = { NULL };
	const setting *group = config_root(c, "application");
	if (setting_child(group, "flow") != NULL) {
		problem_at(config_problems(c), group,
				   "there are two applications: this one, and %s, whose options would stand here", name);
		group = NULL;
	}
	const flow_option_set *set =
		application->option_sets == NULL ? NULL : options_set_of_scope(application->option_sets, "");
	const flow_option_set *const sets[] = { set, NULL };
	options_request request = {
		.sets = set == NULL ? none : sets, .group = group, .path = "application", .name = name
	};
	if (config_file_count(c) != 0)
		request.file = config_file(c, 0);
	return options_resolve(config_arena(c), &request, config_problems(c));
}

static void
report_failure(config *c, const char *name, flow_status status, flow_error *error)
{
	problem *p = problems_add(config_problems(c), NULL, 0, "application", "%s",
							  error->message == NULL ? status_text(status) : error_message(error));
	if (p != NULL)
		p->place = arena_copy_text(config_arena(c), name);
	error_clear(error);
}

/* Room for the application itself: messages about what is missing in it name the plugin. */
static int
begin(description *d, config *c, const char *name)
{
	description_begin(d, c, "application");
	d->application = arena_allocate_zeroed(d->arena, sizeof(*d->application));
	setting *group = arena_allocate_zeroed(d->arena, sizeof(*group));
	const char *origin = arena_copy_text(d->arena, name);
	if (d->application == NULL || group == NULL || origin == NULL)
		return 0;
	*group = (setting){
		.kind = SETTING_GROUP, .layer = LAYER_DESCRIPTOR, .origin = origin, .name = "application", .path = d->path
	};
	d->application->shown =
		(flow_descriptor){ FLOW_SIZEOF(flow_descriptor), FLOW_DESCRIBE_APPLICATION, &d->shown, "application" };
	d->application->owner = d;
	d->application->group = group;
	return 1;
}

graph *
graph_from_application(config *c, registry *registered, const flow_component *application, const char *name)
{
	const flow_application_ops *ops = application->ops;
	description *d = arena_allocate_zeroed(config_arena(c), sizeof(*d));
	const flow_options *options = application_options_of(c, application, name);
	if (options == NULL)
		return NULL;
	if (d == NULL || !begin(d, c, name))
		return reader_out_of_memory(config_problems(c));
	flow_error error = { 0 };
	flow_status status = ops->describe(&host_services, options, d->shown.ops, &d->shown, &error);
	if (status < 0)
		report_failure(c, name, status, &error);
	description_settle(d);
	setting *all = application_setting(d);
	if (d->failed)
		return reader_out_of_memory(config_problems(c));
	graph_reader r = { .config = c,
					   .arena = config_arena(c),
					   .problems = config_problems(c),
					   .registry = registered,
					   .origins = description_origins,
					   .code = d };
	graph *g = graph_read_application(&r, all);
	if (g != NULL) {
		g->context_init = d->context_init;
		g->context_close = d->context_close;
	}
	return g;
}

static const flow_component *
application_of(const plugin_entry *entry, size_t *count)
{
	const flow_component *found = NULL;
	*count = 0;
	for (size_t i = 0; entry->loaded != NULL && entry->loaded->components[i] != NULL; i++) {
		if (entry->loaded->components[i]->kind != FLOW_APPLICATION)
			continue;
		found = entry->loaded->components[i];
		++*count;
	}
	return found;
}

graph *
graph_from_plugin(config *c, registry *registered, const char *file)
{
	const plugin_entry *entry = NULL;
	flow_error error = { 0 };
	flow_status status = registry_load_file(registered, file, &entry, &error);
	if (status < 0) {
		report_failure(c, file, status, &error);
		config_problems(c)->plugins_refused++;
		return NULL;
	}
	size_t count;
	const flow_component *application = application_of(entry, &count);
	if (count == 1)
		return graph_from_application(c, registered, application, file);
	problem *p =
		problems_add(config_problems(c), NULL, 0, "application",
					 count == 0 ? "plugin %s has no application; give --plugin-dir its folder to use what it has"
								: "plugin %s has several applications; put each into a plugin of its own",
					 entry->id);
	if (p != NULL)
		p->place = arena_copy_text(config_arena(c), file);
	return NULL;
}
