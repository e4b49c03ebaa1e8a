#include "plugin/component_options.h"

#include "config/config.h"
#include "options/options.h"

/* The assignments as the group of a table of that name: the one parser of values. */
static const setting *
parse(arena *a, const char *name, const char *const *assignments, problems *list)
{
	config *c = config_create(a, list);
	if (c == NULL)
		return NULL;
	for (size_t i = 0; assignments != NULL && assignments[i] != NULL; i++) {
		const char *assignment = arena_format(a, "tables.\"%s\".%s", name, assignments[i]);
		if (assignment == NULL)
			return NULL;
		config_set_command(c, assignment);
	}
	return config_effective(c, "tables", name);
}

const flow_options *
component_options(arena *a, const flow_component *component, const char *scope, const char *name,
				  const char *const *assignments, problems *list)
{
	const flow_option_set *set =
		component->option_sets == NULL ? NULL : options_set_of_scope(component->option_sets, scope);
	const flow_option_set *const sets[] = { set, NULL };
	options_request request = {
		.sets = sets,
		.group = parse(a, name, assignments, list),
		.path = name,
		.name = name,
	};
	return options_resolve(a, &request, list);
}
