/* Schemas prepared for reading and writing: names as they stand packed in a map, and by search for those that come out of order. */
#include "flow_sdk/plugin.h"
#include "msgpack_serde.h"

#define KEY_HEAD_MAX 5

struct making {
	const flow_host *host;
	pack_node *first; /* the newest */
	int failed;
};

/* The name as a packed str at `to`; returns its size. */
static uint64_t
pack_name(flow_slice name, char *to)
{
	uint64_t head = 0;
	if (name.size < 32) {
		to[head++] = (char)(0xA0 | name.size);
	} else if (name.size < 256) {
		to[head++] = (char)0xD9;
		to[head++] = (char)name.size;
	} else {
		to[head++] = (char)0xDB;
		for (int shift = 24; shift >= 0; shift -= 8)
			to[head++] = (char)(name.size >> shift);
	}
	if (name.size != 0)
		memcpy(to + head, name.data, name.size);
	return head + name.size;
}

static const pack_node *make_node(struct making *m, const flow_schema *schema);

static void
make_fields(struct making *m, pack_node *node)
{
	const flow_schema *schema = node->schema;
	uint32_t count = schema->field_count;
	uint64_t names = 0;
	for (uint32_t i = 0; i < count; i++)
		names += schema->fields[i]->name.size + KEY_HEAD_MAX;
	node->fields = (pack_field *)flow_new(m->host, (count + 1) * sizeof(pack_field) + names);
	node->index = flow_field_index_create(m->host, schema);
	if (node->fields == NULL || node->index == NULL) {
		m->failed = 1;
		return;
	}
	char *text = (char *)(node->fields + count + 1);
	node->field_count = count;
	for (uint32_t i = 0; i < count; i++) {
		const flow_field *from = schema->fields[i];
		pack_field *field = &node->fields[i];
		field->index = i;
		field->name = from->name;
		field->key = flow_slice_make(text, pack_name(from->name, text));
		text += field->key.size;
		field->default_value = from->default_value;
		field->node = make_node(m, from->schema);
		field->required = field->default_value == NULL && field->node != NULL && !field->node->nullable;
	}
}

static void
make_branches(struct making *m, pack_node *node)
{
	uint32_t count = node->schema->branch_count;
	node->branches = (const pack_node **)flow_new(m->host, (count + 1) * sizeof(*node->branches));
	if (node->branches == NULL) {
		m->failed = 1;
		return;
	}
	node->branch_count = count;
	for (uint32_t i = 0; i < count; i++)
		node->branches[i] = make_node(m, node->schema->branches[i]);
}

static const pack_node *
make_node(struct making *m, const flow_schema *schema)
{
	for (const pack_node *known = m->first; known != NULL; known = known->next)
		if (known->schema == schema)
			return known;
	pack_node *node = (pack_node *)flow_new(m->host, sizeof(*node));
	if (node == NULL) {
		m->failed = 1;
		return NULL;
	}
	node->next = m->first;
	m->first = node;
	node->schema = schema;
	node->kind = schema->kind;
	node->nullable = flow_schema_nullable(schema) || schema->kind == FLOW_KIND_ANY || schema->kind == FLOW_KIND_NULL;
	switch (schema->kind) {
	case FLOW_KIND_RECORD:
		make_fields(m, node);
		break;
	case FLOW_KIND_UNION:
		make_branches(m, node);
		break;
	case FLOW_KIND_LIST:
	case FLOW_KIND_MAP:
		node->element = make_node(m, schema->element);
		break;
	case FLOW_KIND_ANY:
		node->element = node;
		break;
	default:
		break;
	}
	return node;
}

/* The list of a tree begins at its root, which was made first and stands last: the root points at the newest, and the second one ends
 * the list. */
const pack_node *
pack_node_create(const flow_host *host, const flow_schema *schema)
{
	struct making m = { .host = host };
	make_node(&m, schema);
	pack_node **last = &m.first;
	while (*last != NULL && (*last)->next != NULL)
		last = &(*last)->next;
	pack_node *root = *last;
	if (root != NULL && root != m.first) {
		*last = NULL;
		root->next = m.first;
	}
	if (!m.failed)
		return root;
	pack_node_release(host, root);
	return NULL;
}

void
pack_node_release(const flow_host *host, const pack_node *root)
{
	for (pack_node *node = (pack_node *)(uintptr_t)root, *next; node != NULL; node = next) {
		next = node->next;
		host->release(node->fields);
		flow_field_index_release(host, node->index);
		host->release(node->branches);
		host->release(node);
	}
}
