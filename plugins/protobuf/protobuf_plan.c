/* Which fields of a record go into which of a message: by their names, each type into one that holds it, checked before the run. */
#include <stdio.h>

#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"
#include "protobuf_serde.h"

struct making {
	const proto_serde *serde;
	proto_plan *first;
	flow_error *error;
	flow_status status;
};

static const char *const kind_names[] = { "bool",   "int32",  "int64", "uint32",  "uint64",   "float",
										  "double", "string", "bytes", "an enum", "a message" };

static flow_status
refuse(struct making *m, const proto_node *node, flow_slice field, const char *problem)
{
	proto_text type = proto_type_name(node->type);
	m->status = flow_fail(m->serde->host, m->error, FLOW_E_TYPE, "protobuf: field '%.*s' of %.*s: %s", (int)field.size,
						  field.data, (int)type.size, type.data, problem);
	return m->status;
}

static proto_plan *plan_of(struct making *m, const proto_node *node, const flow_schema *schema);

static int
is_without_type(const flow_schema *schema)
{
	return schema->kind == FLOW_KIND_DECIMAL || schema->kind == FLOW_KIND_DATE || schema->kind == FLOW_KIND_TIME ||
		   schema->kind == FLOW_KIND_UUID ||
		   (schema->kind == FLOW_KIND_TIMESTAMP && (schema->flags & FLOW_SCHEMA_ZONED) == 0);
}

/* May values of this type go there? Integers are compared value by value. */
static int
is_taken(const proto_slot *slot, const flow_schema *schema)
{
	int integer =
		schema->kind == FLOW_KIND_INT32 || schema->kind == FLOW_KIND_INT64 || schema->kind == FLOW_KIND_UINT64;
	switch (slot->value.kind) {
	case PROTO_BOOL:
		return schema->kind == FLOW_KIND_BOOL;
	case PROTO_INT32:
	case PROTO_INT64:
	case PROTO_UINT32:
	case PROTO_UINT64:
		return integer;
	case PROTO_FLOAT:
	case PROTO_DOUBLE:
		return schema->kind == FLOW_KIND_FLOAT32 || schema->kind == FLOW_KIND_FLOAT64;
	case PROTO_STRING:
		return schema->kind == FLOW_KIND_STRING || schema->kind == FLOW_KIND_ENUM;
	case PROTO_BYTES:
		return schema->kind == FLOW_KIND_BYTES || schema->kind == FLOW_KIND_FIXED;
	case PROTO_ENUM:
		return schema->kind == FLOW_KIND_STRING || schema->kind == FLOW_KIND_ENUM || integer;
	default:
		if (slot->node->is_timestamp)
			return schema->kind == FLOW_KIND_TIMESTAMP && (schema->flags & FLOW_SCHEMA_ZONED) != 0;
		return schema->kind == FLOW_KIND_RECORD;
	}
}

static flow_status
plan_value(struct making *m, const proto_node *node, const proto_slot *slot, const flow_schema *schema,
		   proto_put_field *put)
{
	const proto_serde *s = m->serde;
	flow_slice name = proto_slice(slot->field.name);
	char problem[320], type[96];
	if (is_without_type(schema) && !is_taken(slot, schema)) {
		if (s->format.without_type == PROTO_WITHOUT_TYPE_NULL ||
			(s->format.without_type == PROTO_WITHOUT_TYPE_STRING && slot->value.kind == PROTO_STRING))
			return FLOW_OK;
		snprintf(problem, sizeof(problem), "protobuf has no type for %s; %s",
				 flow_type_text(s->host, schema, type, sizeof(type)),
				 slot->value.kind == PROTO_STRING ? "set without_type to \"string\" or \"null\""
												  : "set without_type to \"null\", or convert it with cast()");
		return refuse(m, node, name, problem);
	}
	if (!is_taken(slot, schema)) {
		snprintf(problem, sizeof(problem), "values of type %s cannot be written as %s",
				 flow_type_text(s->host, schema, type, sizeof(type)), kind_names[slot->value.kind]);
		return refuse(m, node, name, problem);
	}
	if (slot->value.kind != PROTO_MESSAGE || slot->node->is_timestamp)
		return FLOW_OK;
	put->plan = plan_of(m, slot->node, schema);
	return m->status;
}

static flow_status
plan_field(struct making *m, const proto_node *node, const flow_field *field, proto_put_field *put)
{
	int32_t index = proto_find_slot(node, field->name);
	if (index < 0)
		return refuse(m, node, field->name, "the message has no such field; leave it out with a step `project`");
	const proto_slot *slot = &node->slots[index];
	const flow_schema *schema = field->schema;
	uint8_t nested = slot->field.map ? FLOW_KIND_MAP : FLOW_KIND_LIST;
	*put = (proto_put_field){ .slot = slot, .index = field->index };
	if (slot->field.repeated && schema->kind != nested)
		return refuse(m, node, field->name, slot->field.map ? "it takes maps" : "it is repeated, and takes lists");
	put->schema = slot->field.repeated ? schema->element : schema;
	return plan_value(m, node, slot, put->schema, put);
}

static proto_plan *
plan_of(struct making *m, const proto_node *node, const flow_schema *schema)
{
	for (proto_plan *plan = m->first; plan != NULL; plan = plan->next)
		if (plan->node == node && plan->schema == schema)
			return plan;
	const flow_host *host = m->serde->host;
	proto_plan *plan = (proto_plan *)flow_new(host, sizeof(*plan));
	proto_plan **last = &m->first;
	while (*last != NULL)
		last = &(*last)->next;
	*last = plan;
	if (plan != NULL)
		plan->fields = (proto_put_field *)flow_new(host, (schema->field_count + 1) * sizeof(*plan->fields));
	if (plan == NULL || plan->fields == NULL) {
		m->status = flow_fail(host, m->error, FLOW_E_MEMORY, "out of memory");
		return NULL;
	}
	plan->node = node;
	plan->schema = schema;
	plan->field_count = schema->field_count;
	for (uint32_t i = 0; i < schema->field_count && m->status == FLOW_OK; i++)
		plan_field(m, node, schema->fields[i], &plan->fields[i]);
	for (uint32_t i = 0; i < node->field_count && m->status == FLOW_OK; i++)
		if (node->slots[i].field.required && flow_schema_find(schema, proto_slice(node->slots[i].field.name)) < 0)
			refuse(m, node, proto_slice(node->slots[i].field.name), "it is required, and the record does not have it");
	return plan;
}

proto_plan *
proto_plan_create(const proto_serde *s, const flow_schema *schema, flow_error *error)
{
	struct making m = { .serde = s, .error = error };
	if (schema->kind != FLOW_KIND_RECORD) {
		char type[96];
		flow_fail(s->host, error, FLOW_E_TYPE, "protobuf is written from records, not from %s",
				  flow_type_text(s->host, schema, type, sizeof(type)));
		return NULL;
	}
	plan_of(&m, s->nodes, schema);
	if (m.status == FLOW_OK)
		return m.first;
	proto_plan_release(s->host, m.first);
	return NULL;
}

void
proto_plan_release(const flow_host *host, proto_plan *first)
{
	for (proto_plan *plan = first, *next; plan != NULL; plan = next) {
		next = plan->next;
		host->release(plan->fields);
		host->release(plan);
	}
}
