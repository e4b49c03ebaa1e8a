/* Serdes: whose setting it may be, its forms, opening; and whether one can take the records that are to be written. */
#include <string.h>

#include "base/error.h"
#include "graph/planner.h"

struct open_serde {
	const flow_serde_ops *ops;
	flow_serde *instance;
};

static void
close_serde(void *owner)
{
	struct open_serde *open = owner;
	open->ops->close(open->instance);
}

/* The setting, or what it overrides, that no descriptor made; NULL: none. */
static const setting *
foreign_setting(const setting *s)
{
	while (s != NULL && s->layer != LAYER_FILE && s->layer != LAYER_JOB && s->layer != LAYER_COMMAND)
		s = s->overrode;
	return s;
}

/* Also where they are overridden. */
int
planner_refuse_foreign_serde(planner *p, const setting *s)
{
	const setting *foreign = foreign_setting(s);
	if (foreign != NULL)
		problem_at(p->problems, foreign,
				   "the serde of an input or output is set in the application only, not by configuration");
	int refused = foreign != NULL;
	for (size_t i = 0; i < s->child_count && !refused; i++)
		refused = planner_refuse_foreign_serde(p, s->children[i]);
	return refused;
}

/* --- opening
 * ----------------------------------------------------------------------------------------------------------------- */

static int
check_form(planner *p, const plan_serde_owner *owner, const setting *s, const flow_component *serde, int key)
{
	if (owner->component == NULL)
		return 1;
	int bytes = (owner->component->flags & FLOW_SYSTEM_BYTE_STREAMS) != 0;
	if (key && bytes) {
		problem_at(p->problems, s, "records of system '%s' (%s) have no keys, so there is no serde for them",
				   owner->system, owner->component->id);
		return 0;
	}
	if ((serde->flags & (bytes ? FLOW_SERDE_STREAM : FLOW_SERDE_RECORD)) != 0)
		return 1;
	problem_at(p->problems, s,
			   bytes ? "serde '%s' cannot cut records out of a stream of bytes, which system '%s' gives"
					 : "serde '%s' is for streams of bytes; system '%s' has records",
			   serde->id, owner->system);
	return 0;
}

static int
open_serde(planner *p, const plan_serde_owner *owner, const setting *s, const char *part, plan_serde *serde)
{
	size_t before = p->problems->errors;
	int key = part != NULL && strcmp(part, "key") == 0;
	const flow_options *options = NULL;
	const flow_component *component = planner_component_setting(p, FLOW_SERDE, s, &options);
	if (component == NULL || options == NULL || !check_form(p, owner, s, component, key) ||
		p->problems->errors != before)
		return 0;
	struct open_serde *open = planner_allocate(p, sizeof(*open));
	if (open == NULL)
		return 0;
	open->ops = component->ops;
	flow_error error = { 0 };
	flow_status opened = open->ops->open(p->host, options, owner->use, &open->instance, &error);
	if (error_settle(&error, opened, "open") != FLOW_OK) {
		const setting *at = error.option == NULL ? NULL : setting_child(s, error.option);
		problem_at(p->problems, at == NULL ? s : at, "serde '%s': %s", component->id, error_message(&error));
		error_clear(&error);
		return 0;
	}
	if (!arena_on_destroy(p->arena, close_serde, open)) {
		p->failed = 1;
		return 0;
	}
	*serde = (plan_serde){ .component = component, .ops = open->ops, .instance = open->instance, .options = options };
	planner_put_part_defaults(p, "streams", owner->id, "serde", part, component, s);
	return 1;
}

static int
open_key_and_value(planner *p, const plan_serde_owner *owner, const setting *s)
{
	static const char *const words[] = { "key", "value", "type" };
	const setting *key = setting_child(s, "key"), *value = setting_child(s, "value");
	int good = 1;
	for (size_t i = 0; i < s->child_count; i++) {
		const setting *other = s->children[i];
		if (other == key || other == value)
			continue;
		problem *found = problem_at(p->problems, other, "a serde has 'key' and 'value', or 'type' and its options");
		problem_suggest(p->problems, found, other->name, words, 3);
		good = 0;
	}
	if (value == NULL && good) {
		problem_in(p->problems, s, "value", "is missing: { key = \"...\"; value = \"...\"; }");
		good = 0;
	}
	if (key != NULL)
		good &= open_serde(p, owner, key, "key", owner->key);
	if (value != NULL)
		good &= open_serde(p, owner, value, "value", owner->value);
	return good;
}

int
planner_open_serdes(planner *p, const plan_serde_owner *owner, const setting *s)
{
	if (owner->component != NULL && (owner->component->flags & FLOW_SYSTEM_OWN_SERDE) != 0) {
		problem_at(p->problems, s, "system '%s' (%s) has a form of its own; its streams take no serde", owner->system,
				   owner->component->id);
		return 0;
	}
	if (s->kind == SETTING_GROUP && setting_child(s, "type") == NULL)
		return open_key_and_value(p, owner, s);
	return open_serde(p, owner, s, NULL, owner->value);
}

/* --- what it takes
 * ----------------------------------------------------------------------------------------------------------------- */

/* Is the type known for each value only, or that of a field? */
static int
is_untyped(const flow_schema *schema)
{
	int found = schema->kind == FLOW_KIND_ANY;
	for (uint32_t i = 0; schema->kind == FLOW_KIND_RECORD && i < schema->field_count; i++)
		found |= schema->fields[i]->schema->kind == FLOW_KIND_ANY;
	return found;
}

int
planner_check_written(planner *p, const plan_written *written, const plan_serde *serde, const flow_schema *schema,
					  const char *side)
{
	if (serde->component == NULL)
		return 1;
	if (!FLOW_CAN(serde->ops, encoder_open)) {
		problem_at(p->problems, written->place, "%s '%s': the serde '%s' reads only; write with another one",
				   written->what, written->id, serde->component->id);
		return 0;
	}
	flow_error error = { 0 };
	flow_status status =
		FLOW_CAN(serde->ops, check_encodable) ? serde->ops->check_encodable(serde->instance, schema, &error) : FLOW_OK;
	if (error_settle(&error, status, "check_encodable") == FLOW_OK)
		return 1;
	const char *remedy = is_untyped(schema) || schema->kind != FLOW_KIND_RECORD ? p->graph->untyped_remedy : NULL;
	problem_at(p->problems, written->place, "%s '%s': serde '%s' cannot take these %s: %s%s%s%s", written->what,
			   written->id, serde->component->id, side, error_message(&error), remedy == NULL ? "" : "; ",
			   remedy == NULL ? "" : remedy, written->came_from);
	error_clear(&error);
	return 0;
}
