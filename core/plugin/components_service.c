#include "plugin/components_service.h"

#include "base/arena.h"
#include "base/error.h"
#include "flow/flow.h"
#include "plugin/component_options.h"

static registry *current;

void
components_service_use(registry *r)
{
	current = r;
}

registry *
components_service_registry(void)
{
	return current;
}

static flow_status
open_kind(const flow_component *component, const flow_options *options, void *info, void **instance, flow_error *error)
{
	const flow_host *host = &host_services;
	switch (component->kind) {
	case FLOW_SYSTEM: {
		const flow_system_ops *ops = component->ops;
		return ops->open(host, options, (flow_system **)instance, error);
	}
	case FLOW_SERDE: {
		const flow_serde_ops *ops = component->ops;
		return ops->open(host, options, FLOW_SERDE_DECODES | FLOW_SERDE_ENCODES, (flow_serde **)instance, error);
	}
	case FLOW_TABLE: {
		const flow_table_ops *ops = component->ops;
		return info == NULL ? error_set(error, FLOW_E_ARGUMENT, "a table is opened with a flow_table_info")
							: ops->open(host, options, info, (flow_table **)instance, error);
	}
	case FLOW_STORE: {
		const flow_store_ops *ops = component->ops;
		return info == NULL ? error_set(error, FLOW_E_ARGUMENT, "a store is opened with a flow_store_info")
							: ops->open(host, options, info, (flow_store **)instance, error);
	}
	default:
		return error_set(error, FLOW_E_UNSUPPORTED, "components of kind %s cannot be opened by plugins",
						 component_kind_name(component->kind));
	}
}

static flow_status
open_with(arena *a, const flow_component *component, const char *const *assignments, void *info, void **instance,
		  flow_error *error)
{
	problems *list = problems_create(a);
	const flow_options *options =
		list == NULL ? NULL : component_options(a, component, "", component->id, assignments, list);
	if (options == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	for (size_t i = 0; i < list->count; i++)
		if (!list->items[i]->warning)
			return error_set(error, FLOW_E_CONFIG, "%s %s: option %s: %s%s%s", component_kind_name(component->kind),
							 component->id, list->items[i]->path == NULL ? "" : list->items[i]->path,
							 list->items[i]->message, list->items[i]->suggestion == NULL ? "" : ", did you mean ",
							 list->items[i]->suggestion == NULL ? "" : list->items[i]->suggestion);
	return open_kind(component, options, info, instance, error);
}

static flow_status
open_component(uint32_t kind, const char *id, const char *const *assignments, void *info, const void **ops,
			   void **instance, flow_error *error)
{
	const flow_component *component;
	if (current == NULL)
		return error_set(error, FLOW_E_NOT_FOUND, "%s %s: no plugins are known yet", component_kind_name(kind), id);
	flow_status status = registry_component(current, kind, id, &component, error);
	if (status != FLOW_OK)
		return status;
	arena *a = arena_create();
	if (a == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	status = open_with(a, component, assignments, info, instance, error);
	if (status == FLOW_OK)
		*ops = component->ops;
	arena_destroy(a);
	return status;
}

const flow_components components_service = {
	.struct_size = FLOW_SIZEOF(flow_components),
	.open = open_component,
};
