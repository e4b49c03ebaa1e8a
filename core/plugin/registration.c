#include "plugin/registration.h"

#include <stddef.h>
#include <string.h>

#include "flow/flow.h"
#include "flow_sdk/manifest.h"
#include "options/options.h"

#define ID_MAX 64
#define COMPONENTS_MAX 1000

/* One function that a kind's table must have: always, or if a flag of the component is set, or if another function is there. */
struct required {
	uint32_t kind;
	uint32_t flag;
	size_t given; /* offset of the other function; 0: none */
	size_t offset;
	const char *name;
};

#define ALWAYS(kind, type, name)                                                                                       \
	{                                                                                                                  \
		kind, 0, 0, offsetof(type, name), #name                                                                        \
	}
#define WITH_FLAG(kind, type, flag, name)                                                                              \
	{                                                                                                                  \
		kind, flag, 0, offsetof(type, name), #name                                                                     \
	}
#define WITH_FUNCTION(kind, type, other, name)                                                                         \
	{                                                                                                                  \
		kind, 0, offsetof(type, other), offsetof(type, name), #name                                                    \
	}
#define WITH_BOTH(kind, type, flag, other, name)                                                                       \
	{                                                                                                                  \
		kind, flag, offsetof(type, other), offsetof(type, name), #name                                                 \
	}

#define SYSTEM(name) ALWAYS(FLOW_SYSTEM, flow_system_ops, name)
#define SYSTEM_INPUT(name) WITH_FLAG(FLOW_SYSTEM, flow_system_ops, FLOW_SYSTEM_HAS_INPUTS, name)
#define SYSTEM_OUTPUT(name) WITH_FLAG(FLOW_SYSTEM, flow_system_ops, FLOW_SYSTEM_HAS_OUTPUTS, name)
#define SYSTEM_PREPARE(name) WITH_FUNCTION(FLOW_SYSTEM, flow_system_ops, prepare, name)
#define SERDE(name) ALWAYS(FLOW_SERDE, flow_serde_ops, name)
#define SERDE_DECODER(name) WITH_FUNCTION(FLOW_SERDE, flow_serde_ops, decoder_open, name)
#define SERDE_ENCODER(name) WITH_FUNCTION(FLOW_SERDE, flow_serde_ops, encoder_open, name)
#define TABLE(name) ALWAYS(FLOW_TABLE, flow_table_ops, name)
#define CONNECTOR(name) ALWAYS(FLOW_CONNECTOR, flow_connector_ops, name)
#define CONNECTOR_FROM(name) WITH_FLAG(FLOW_CONNECTOR, flow_connector_ops, FLOW_CONNECTOR_FROM, name)
#define CONNECTOR_TO(name) WITH_FLAG(FLOW_CONNECTOR, flow_connector_ops, FLOW_CONNECTOR_TO, name)
#define FUNCTION(name) ALWAYS(FLOW_FUNCTION, flow_function_ops, name)
#define STORE(name) ALWAYS(FLOW_STORE, flow_store_ops, name)

/* clang-format off */
static const struct required required_functions[] = {
	SYSTEM(open), SYSTEM(close), SYSTEM(describe),
	SYSTEM_INPUT(source_open), SYSTEM_INPUT(source_partitions), SYSTEM_INPUT(source_assign), SYSTEM_INPUT(source_revoke),
	SYSTEM_INPUT(source_pause), SYSTEM_INPUT(source_read), SYSTEM_INPUT(source_position), SYSTEM_INPUT(source_close),
	SYSTEM_OUTPUT(writer_open), SYSTEM_OUTPUT(write), SYSTEM_OUTPUT(flush), SYSTEM_OUTPUT(writer_close),
	SYSTEM_PREPARE(committer_open), SYSTEM_PREPARE(commit), SYSTEM_PREPARE(abort), SYSTEM_PREPARE(committer_close),
	SERDE(open), SERDE(close),
	SERDE_DECODER(decoded_schema), SERDE_DECODER(decoder_close),
	WITH_BOTH(FLOW_SERDE, flow_serde_ops, FLOW_SERDE_STREAM, decoder_open, decode),
	WITH_BOTH(FLOW_SERDE, flow_serde_ops, FLOW_SERDE_RECORD, decoder_open, decode_rows),
	SERDE_ENCODER(check_encodable), SERDE_ENCODER(encode), SERDE_ENCODER(encoder_close),
	ALWAYS(FLOW_TRANSFORMER, flow_transformer_ops, bind), ALWAYS(FLOW_TRANSFORMER, flow_transformer_ops, init),
	ALWAYS(FLOW_TRANSFORMER, flow_transformer_ops, apply), ALWAYS(FLOW_TRANSFORMER, flow_transformer_ops, close),
	ALWAYS(FLOW_EXPANDER, flow_expander_ops, expand),
	TABLE(open), TABLE(close), TABLE(get_many), TABLE(put_many), TABLE(delete_many), TABLE(flush),
	WITH_FLAG(FLOW_TABLE, flow_table_ops, FLOW_TABLE_UPDATES, update_many),
	CONNECTOR(initialize), CONNECTOR(prepare), CONNECTOR(commit), CONNECTOR(destroy),
	CONNECTOR_FROM(partition), CONNECTOR_FROM(open_extractor), CONNECTOR_FROM(read), CONNECTOR_FROM(close_extractor),
	CONNECTOR_TO(open_loader), CONNECTOR_TO(write), CONNECTOR_TO(close_loader),
	FUNCTION(bind), FUNCTION(unbind), FUNCTION(open), FUNCTION(process), FUNCTION(close),
	ALWAYS(FLOW_APPLICATION, flow_application_ops, describe),
	STORE(open), STORE(close), STORE(write), STORE(get_many), STORE(snapshot_open), STORE(snapshot_close), STORE(iterate),
	STORE(next_many), STORE(iterator_close),
};
/* clang-format on */

int
registration_is_id(const char *id)
{
	if (id == NULL || id[0] < 'a' || id[0] > 'z' || strlen(id) > ID_MAX)
		return 0;
	for (const char *c = id; *c != '\0'; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '_'))
			return 0;
	return 1;
}

/* Whether the table (its first member is struct_size) has a function at this offset. */
static int
has_function(const void *ops, size_t offset)
{
	uint32_t struct_size;
	void (*function)(void);
	memcpy(&struct_size, ops, sizeof(struct_size));
	if (struct_size < offset + sizeof(function))
		return 0;
	memcpy(&function, (const char *)ops + offset, sizeof(function));
	return function != NULL;
}

static void
check_ops(const flow_component *component, const char *file, const char *path, problems *list)
{
	uint32_t struct_size;
	if (component->ops == NULL) {
		problems_add(list, file, 0, path, "its table of functions is NULL");
		return;
	}
	memcpy(&struct_size, component->ops, sizeof(struct_size));
	if (struct_size == 0 || struct_size % sizeof(void *) != 0) {
		problems_add(list, file, 0, path, "its table of functions has struct_size %u; set it with FLOW_SIZEOF",
					 struct_size);
		return;
	}
	for (size_t i = 0; i < FLOW_COUNT(required_functions); i++) {
		const struct required *r = &required_functions[i];
		if (r->kind == component->kind && (r->flag == 0 || (component->flags & r->flag) != 0) &&
			(r->given == 0 || has_function(component->ops, r->given)) && !has_function(component->ops, r->offset))
			problems_add(list, file, 0, path, "function %s is missing", r->name);
	}
}

static void
check_flags(const flow_component *component, const char *file, const char *path, problems *list)
{
	for (uint32_t bit = 0; bit < 32; bit++) {
		uint32_t flag = component->flags & ((uint32_t)1 << bit);
		if (flag != 0 && flow_kind_flag_name(component->kind, flag) == NULL)
			problems_add(list, file, 0, path, "flag %u is not one of a %s", flag, flow_kind_name(component->kind));
	}
}

static void
check_options(const flow_component *component, const char *file, const char *path, problems *list)
{
	const flow_option_set *const *sets = component->option_sets;
	for (size_t i = 0; sets != NULL && sets[i] != NULL; i++) {
		if (sets[i]->struct_size == 0 || sets[i]->scope == NULL || sets[i]->options == NULL) {
			problems_add(list, file, 0, path, "option set %zu has no struct_size, scope or options", i + 1);
			continue;
		}
		for (size_t j = 0; j < i; j++)
			if (sets[j]->scope != NULL && strcmp(sets[j]->scope, sets[i]->scope) == 0)
				problems_add(list, file, 0, path, "two option sets have the scope \"%s\"", sets[i]->scope);
		options_check_table(sets[i], path, list);
	}
}

static void
check_component(const flow_component *component, size_t index, const char *file, problems *list)
{
	if (component->struct_size < FLOW_SIZEOF(flow_component)) {
		problems_add(list, file, 0, NULL, "component %zu has struct_size %u; set it with FLOW_SIZEOF", index + 1,
					 component->struct_size);
		return;
	}
	int known_kind = strcmp(flow_kind_name(component->kind), "unknown") != 0;
	const char *path = arena_format(list->arena, "%s %s", flow_kind_name(component->kind),
									component->id == NULL ? "without id" : component->id);
	if (path == NULL)
		path = component->id;
	if (!known_kind)
		problems_add(list, file, 0, path, "kind %u is unknown", component->kind);
	if (!registration_is_id(component->id))
		problems_add(list, file, 0, path, "the id must be [a-z][a-z0-9_]*, at most 64 characters");
	if (component->doc == NULL || component->doc[0] == '\0')
		problems_add(list, file, 0, path, "it has no doc");
	if (known_kind) {
		check_flags(component, file, path, list);
		check_ops(component, file, path, list);
	}
	check_options(component, file, path, list);
}

static void
check_duplicates(const flow_plugin *plugin, size_t count, const char *file, problems *list)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++) {
			const flow_component *a = plugin->components[i], *b = plugin->components[j];
			if (a->kind == b->kind && a->id != NULL && b->id != NULL && strcmp(a->id, b->id) == 0)
				problems_add(list, file, 0, NULL, "%s %s is there twice", flow_kind_name(a->kind), a->id);
		}
}

void
registration_check(const flow_plugin *plugin, const char *file, problems *list)
{
	if (!registration_is_id(plugin->id))
		problems_add(list, file, 0, NULL, "the plugin's id must be [a-z][a-z0-9_]*, at most 64 characters");
	if (plugin->version == NULL || plugin->version[0] < '0' || plugin->version[0] > '9')
		problems_add(list, file, 0, NULL, "the plugin's version is missing, or does not start with a number");
	if (plugin->license == NULL || plugin->license[0] == '\0')
		problems_add(list, file, 0, NULL, "the plugin's license is missing");
	size_t count = 0;
	while (plugin->components != NULL && count < COMPONENTS_MAX && plugin->components[count] != NULL) {
		check_component(plugin->components[count], count, file, list);
		count++;
	}
	if (count == 0 || count == COMPONENTS_MAX)
		problems_add(list, file, 0, NULL, "it has no components, or the list does not end with NULL");
	check_duplicates(plugin, count, file, list);
}
