/* Schemas prepared for reading and writing: fields found by a hash of their names' first bytes, keys as they are written. */
#include "json.h"
#include "flow_sdk/plugin.h"

#define NAME_ROOM 32 /* besides the name and its escaped form */

struct builder {
	const flow_host *host;
	const json_format *format;
	json_node *first; /* the newest */
	int failed;
};

static uint32_t
name_hash(const char *name, uint32_t size)
{
	uint64_t head;
	memcpy(&head, name, 8);
	if (size < 8)
		head = size == 0 ? 0 : head & (~0ull >> (64 - 8 * size));
	head = (head ^ ((uint64_t)size << 56)) * 0x9E3779B97F4A7C15ull;
	return (uint32_t)(head >> 32);
}

int32_t
json_node_find(const json_node *node, const char *name, uint32_t size)
{
	for (uint32_t at = name_hash(name, size) & node->slot_mask;; at = (at + 1) & node->slot_mask) {
		uint32_t slot = node->slots[at];
		if (slot == 0)
			return -1;
		const json_field *field = &node->fields[slot - 1];
		if (field->size == size && memcmp(field->name, name, size) == 0)
			return (int32_t)slot - 1;
	}
}

static const json_node *make_node(struct builder *b, const flow_schema *schema);

/* The field that takes the keys that are not declared: of the document itself, and its last one. */
static void
find_extra(const struct builder *b, json_node *node)
{
	const flow_schema *schema = node->schema;
	node->extra_field = JSON_NO_FIELD;
	node->key_count = schema->field_count;
	if (b->format->extra != JSON_EXTRA_KEEP || node->next != NULL || schema->field_count == 0)
		return;
	const flow_field *last = schema->fields[schema->field_count - 1];
	if (last->schema->kind == FLOW_KIND_MAP && flow_slice_equal(last->name, b->format->extra_field))
		node->extra_field = --node->key_count;
}

static void
make_fields(struct builder *b, json_node *node)
{
	const flow_schema *schema = node->schema;
	find_extra(b, node);
	uint32_t slots = 4;
	while (slots < schema->field_count * 2 + 1)
		slots *= 2;
	uint64_t names = 0;
	for (uint32_t i = 0; i < schema->field_count; i++)
		names += schema->fields[i]->name.size * (1 + JSON_ESCAPED_MAX) + NAME_ROOM;
	node->slot_mask = slots - 1;
	node->slots = (uint32_t *)flow_new(b->host, slots * sizeof(uint32_t));
	node->fields = (json_field *)flow_new(b->host, (schema->field_count + 1) * sizeof(json_field) + names);
	if (node->slots == NULL || node->fields == NULL) {
		b->failed = 1;
		return;
	}
	char *text = (char *)(node->fields + schema->field_count + 1);
	node->field_count = schema->field_count;
	for (uint32_t i = 0; i < schema->field_count; i++) {
		const flow_field *from = schema->fields[i];
		json_field *field = &node->fields[i];
		if (from->name.size != 0)
			memcpy(text, from->name.data, from->name.size);
		field->name = text;
		field->size = (uint32_t)from->name.size;
		field->default_value = from->default_value;
		field->node = make_node(b, from->schema);
		uint32_t at = name_hash(text, field->size) & node->slot_mask;
		while (node->slots[at] != 0)
			at = (at + 1) & node->slot_mask;
		if (i != node->extra_field)
			node->slots[at] = i + 1;
		text += from->name.size + 8; /* json_node_find */
		int high = 0;
		field->key = text;
		*text++ = ',';
		*text++ = '"';
		text = json_put_escaped(field->name, field->size, text, &high);
		*text++ = '"';
		*text++ = ':';
		field->key_size = (uint32_t)(text - field->key);
	}
}

static void
make_branches(struct builder *b, json_node *node)
{
	uint32_t count = node->schema->branch_count;
	node->branches = (const json_node **)flow_new(b->host, (count + 1) * sizeof(*node->branches));
	if (node->branches == NULL) {
		b->failed = 1;
		return;
	}
	node->branch_count = count;
	for (uint32_t i = 0; i < count; i++)
		node->branches[i] = make_node(b, node->schema->branches[i]);
}

/* Avro's JSON encoding of a union, or of a type that may be null. */
static void
make_wrapped(struct builder *b, json_node *node)
{
	const flow_schemas *schemas = (const flow_schemas *)b->host->get_service(FLOW_SERVICE_SCHEMAS);
	const flow_schema *schema = node->schema;
	uint32_t count = schema->kind == FLOW_KIND_UNION ? schema->branch_count : 1;
	node->wrapped = 1;
	node->branches = (const json_node **)flow_new(b->host, (count + 1) * sizeof(*node->branches));
	flow_slice *names = (flow_slice *)flow_new(b->host, (count + 1) * sizeof(*names));
	node->branch_names = names;
	if (count == 1 && schema->kind != FLOW_KIND_UNION)
		node->owned = schemas->with_nullable(schema, 0);
	if (node->branches == NULL || names == NULL || (schema->kind != FLOW_KIND_UNION && node->owned == NULL)) {
		b->failed = 1;
		return;
	}
	node->branch_count = count;
	for (uint32_t i = 0; i < count; i++) {
		const flow_schema *branch = schema->kind == FLOW_KIND_UNION ? schema->branches[i] : node->owned;
		names[i] = json_avro_branch(branch);
		node->branches[i] = make_node(b, branch);
	}
}

static const json_node *
make_node(struct builder *b, const flow_schema *schema)
{
	for (json_node *known = b->first; known != NULL; known = known->next)
		if (known->schema == schema)
			return known;
	json_node *node = (json_node *)flow_new(b->host, sizeof(*node));
	if (node == NULL) {
		b->failed = 1;
		return NULL;
	}
	node->next = b->first;
	b->first = node;
	node->schema = schema;
	node->kind = schema->kind;
	node->nullable = flow_schema_nullable(schema) || schema->kind == FLOW_KIND_ANY || schema->kind == FLOW_KIND_NULL;
	node->avro = b->format->avro != 0;
	node->extra_field = JSON_NO_FIELD;
	if (node->avro && schema->kind != FLOW_KIND_NULL &&
		(flow_schema_nullable(schema) || schema->kind == FLOW_KIND_UNION))
		make_wrapped(b, node);
	else if (schema->kind == FLOW_KIND_RECORD)
		make_fields(b, node);
	else if (schema->kind == FLOW_KIND_UNION)
		make_branches(b, node);
	else if (schema->kind == FLOW_KIND_LIST || schema->kind == FLOW_KIND_MAP)
		node->element = make_node(b, schema->element);
	else if (schema->kind == FLOW_KIND_ANY)
		node->element = node;
	return node;
}

static void
release_all(const flow_host *host, json_node *first)
{
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	for (json_node *node = first, *next; node != NULL; node = next) {
		next = node->next;
		host->release(node->fields);
		host->release(node->slots);
		host->release(node->branches);
		host->release((void *)(uintptr_t)node->branch_names);
		schemas->release(node->owned);
		host->release(node);
	}
}

/* The list of nodes hangs on the root, which is made first and is therefore its last. */
const json_node *
json_node_create(const flow_host *host, const flow_schema *schema, const json_format *format)
{
	struct builder b = { .host = host, .format = format };
	json_node *root = (json_node *)(uintptr_t)make_node(&b, schema);
	if (b.failed) {
		release_all(host, b.first);
		return NULL;
	}
	if (b.first != root) /* root -> newest .. second -> nothing */
		for (json_node *node = b.first; node != NULL; node = node->next) {
			if (node->next != root)
				continue;
			node->next = NULL;
			root->next = b.first;
			break;
		}
	return root;
}

void
json_node_release(const flow_host *host, const json_node *root)
{
	release_all(host, (json_node *)(uintptr_t)root);
}

int
json_node_has(const json_node *root, uint8_t kind)
{
	for (const json_node *node = root; node != NULL; node = node->next)
		if (node->kind == kind)
			return 1;
	return 0;
}
