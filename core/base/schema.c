/* Groups of schemas, the kinds that live for ever, records from fields (base/schema.h, base/schema_node.h). */
#include "base/schema.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/schema_node.h"
#include "base/value.h"
#include "flow_sdk/text.h"

#define FIRST_PIECE 1024u
#define LARGEST_PIECE 16384u

struct piece {
	struct piece *next;
	uint64_t reserved;
	char data[];
};

struct held {
	struct held *next;
	const flow_schema *schema;
};

struct schema_group {
	atomic_uint references;
	flow_builder memory;
	struct piece *pieces;
	uint64_t piece_size;
	struct schema_node *first;
	struct schema_node **last;
	struct held *held;
};

static flow_status
refill(flow_builder *memory, uint64_t size)
{
	struct schema_group *group = memory->host;
	uint64_t room = size > group->piece_size ? size : group->piece_size;
	struct piece *piece = room < size ? NULL : memory_allocate(sizeof(*piece) + room);
	if (piece == NULL)
		return FLOW_E_MEMORY;
	if (group->piece_size < LARGEST_PIECE)
		group->piece_size *= 2;
	piece->next = group->pieces;
	group->pieces = piece;
	memory->next = piece->data;
	memory->end = piece->data + room;
	return FLOW_OK;
}

static const flow_builder_ops memory_ops = { .struct_size = FLOW_SIZEOF(flow_builder_ops), .refill = refill };

struct schema_group *
schema_group_create(void)
{
	struct schema_group *group = memory_allocate_zeroed(sizeof(*group));
	if (group == NULL)
		return NULL;
	atomic_init(&group->references, 1);
	group->memory.struct_size = FLOW_SIZEOF(flow_builder);
	group->memory.ops = &memory_ops;
	group->memory.host = group;
	group->piece_size = FIRST_PIECE;
	group->last = &group->first;
	return group;
}

void
schema_group_abandon(struct schema_group *group)
{
	if (group == NULL)
		return;
	for (struct held *h = group->held; h != NULL; h = h->next)
		schema_release(h->schema);
	for (struct piece *piece = group->pieces, *next; piece != NULL; piece = next) {
		next = piece->next;
		memory_release(piece);
	}
	memory_release(group);
}

flow_builder *
schema_group_memory(struct schema_group *group)
{
	return &group->memory;
}

flow_slice
schema_group_copy(struct schema_group *group, flow_slice text)
{
	return flow_slice_make(flow_builder_copy(&group->memory, text.data, text.size), text.size);
}

static void
set_up(struct schema_node *node, uint8_t kind)
{
	memset(node, 0, sizeof(*node));
	node->schema.struct_size = FLOW_SIZEOF(flow_schema);
	node->schema.kind = kind;
	if (kind == FLOW_KIND_TIME || kind == FLOW_KIND_TIMESTAMP)
		node->schema.unit = FLOW_MICROSECONDS;
	if (kind == FLOW_KIND_TIMESTAMP)
		node->schema.flags = FLOW_SCHEMA_ZONED;
}

struct schema_node *
schema_group_node(struct schema_group *group, uint8_t kind)
{
	struct schema_node *node = flow_builder_alloc(&group->memory, sizeof(*node));
	if (node == NULL)
		return NULL;
	set_up(node, kind);
	node->group = group;
	return node;
}

void
schema_group_complete(struct schema_group *group, struct schema_node *node)
{
	*group->last = node;
	group->last = &node->next;
}

int
schema_group_hold(struct schema_group *group, const flow_schema *schema)
{
	const struct schema_node *node = (const struct schema_node *)schema;
	if (node->group == NULL || node->group == group)
		return 1;
	for (const struct held *h = group->held; h != NULL; h = h->next)
		if (((const struct schema_node *)h->schema)->group == node->group)
			return 1;
	struct held *h = flow_builder_alloc(&group->memory, sizeof(*h));
	if (h == NULL)
		return 0;
	h->schema = schema_retain(schema);
	h->next = group->held;
	group->held = h;
	return 1;
}

static void
set_nullable(flow_schema *schema, int nullable)
{
	schema->flags &= (uint8_t) ~(FLOW_SCHEMA_NULLABLE | FLOW_SCHEMA_NULL_LAST);
	schema->null_index = 0;
	if (nullable)
		schema->flags |= FLOW_SCHEMA_NULLABLE;
}

struct schema_node *
schema_group_nullable(struct schema_group *group, const flow_schema *schema, int nullable)
{
	struct schema_node *node = schema_group_node(group, schema->kind);
	if (node == NULL || !schema_group_hold(group, schema))
		return NULL;
	struct schema_node *definition = (struct schema_node *)(uintptr_t)schema;
	node->schema = *schema;
	node->schema.fingerprint = 0;
	node->definition = definition;
	set_nullable(&node->schema, nullable);
	schema_group_complete(group, node);
	return node;
}

/* Gives a copy the parts of its definition, which may have been completed after the copy was made. */
static void
follow_definition(struct schema_node *node)
{
	const struct schema_node *definition = node->definition;
	if (definition == NULL)
		return;
	flow_schema mine = node->schema;
	node->schema = definition->schema;
	node->schema.flags = (uint8_t)((node->schema.flags & FLOW_SCHEMA_ZONED) |
								   (mine.flags & (FLOW_SCHEMA_NULLABLE | FLOW_SCHEMA_NULL_LAST)));
	node->schema.null_index = mine.null_index;
	node->schema.fingerprint = 0;
}

void
schema_group_follow(struct schema_group *group)
{
	for (struct schema_node *node = group->first; node != NULL; node = node->next)
		follow_definition(node);
}

const flow_schema *
schema_group_finish(struct schema_group *group, const flow_schema *root)
{
	schema_group_follow(group);
	for (struct schema_node *node = group->first; node != NULL; node = node->next)
		node->schema.fingerprint = schema_fingerprint(&node->schema);
	const struct schema_node *node = (const struct schema_node *)root;
	if (node->group == group)
		return root;
	schema_retain(root); /* nothing of its own was needed */
	schema_group_abandon(group);
	return root;
}

const flow_schema *
schema_retain(const flow_schema *schema)
{
	const struct schema_node *node = (const struct schema_node *)schema;
	if (node != NULL && node->group != NULL)
		atomic_fetch_add_explicit(&node->group->references, 1, memory_order_relaxed);
	return schema;
}

void
schema_release(const flow_schema *schema)
{
	const struct schema_node *node = (const struct schema_node *)schema;
	if (node == NULL || node->group == NULL)
		return;
	if (atomic_fetch_sub_explicit(&node->group->references, 1, memory_order_acq_rel) == 1)
		schema_group_abandon(node->group);
}

static struct schema_node kinds[FLOW_KIND_UNION + 1][2];
static pthread_once_t kinds_once = PTHREAD_ONCE_INIT;

static void
set_up_kinds(void)
{
	for (uint8_t kind = FLOW_KIND_ANY; kind <= FLOW_KIND_UUID; kind++) {
		for (int nullable = 0; nullable <= 1; nullable++) {
			struct schema_node *node = &kinds[kind][nullable];
			set_up(node, kind);
			set_nullable(&node->schema, nullable && kind != FLOW_KIND_NULL);
			node->schema.fingerprint = schema_fingerprint(&node->schema);
		}
	}
}

const flow_schema *
schema_of_kind(uint8_t kind, int nullable)
{
	pthread_once(&kinds_once, set_up_kinds);
	return kind > FLOW_KIND_UUID || kind == FLOW_KIND_FIXED || kind == FLOW_KIND_ENUM
			   ? NULL
			   : &kinds[kind][nullable != 0].schema;
}

const flow_schema *
schema_bytes(void)
{
	return schema_of_kind(FLOW_KIND_BYTES, 0);
}

const flow_schema *
schema_with_nullable(const flow_schema *schema, int nullable)
{
	nullable = nullable != 0;
	int only_null = schema->kind == FLOW_KIND_NULL || (schema->kind == FLOW_KIND_UNION && schema->branch_count == 0);
	if (flow_schema_nullable(schema) == nullable || only_null)
		return schema_retain(schema);
	if (schema->kind == FLOW_KIND_UNION && schema->branch_count == 1) /* [T] and null is T? */
		return schema_with_nullable(schema->branches[0], nullable);
	const struct schema_node *node = (const struct schema_node *)schema;
	if (node->group == NULL)
		return schema_of_kind(schema->kind, nullable);
	struct schema_group *group = schema_group_create();
	struct schema_node *copy = group == NULL ? NULL : schema_group_nullable(group, schema, nullable);
	if (copy == NULL) {
		schema_group_abandon(group);
		return NULL;
	}
	return schema_group_finish(group, &copy->schema);
}

static flow_field *
make_field(struct schema_group *group, const flow_field_spec *spec, uint32_t index)
{
	flow_field *field = flow_builder_alloc(&group->memory, sizeof(*field));
	if (field == NULL)
		return NULL;
	*field = (flow_field){ .struct_size = FLOW_SIZEOF(flow_field), .index = index, .schema = spec->schema };
	field->name = schema_group_copy(group, spec->name);
	if (field->name.data == NULL || !schema_group_hold(group, spec->schema))
		return NULL;
	if (spec->default_value == NULL)
		return field;
	flow_value *value = flow_builder_cells(&group->memory, 1);
	if (value == NULL || value_copy(&group->memory, spec->default_value, value) != FLOW_OK)
		return NULL;
	field->default_value = value;
	return field;
}

static flow_status
check_specs(const flow_field_spec *const *specs, uint32_t count, flow_error *error)
{
	for (uint32_t i = 0; i < count; i++) {
		flow_slice name = specs[i]->name;
		if (name.size == 0)
			return error_set(error, FLOW_E_ARGUMENT, "record: field %u has no name", i);
		if (flow_utf8_check(name.data, name.size) != name.size)
			return error_set(error, FLOW_E_ARGUMENT, "record: the name of field %u is not UTF-8", i);
		if (specs[i]->schema == NULL)
			return error_set(error, FLOW_E_ARGUMENT, "record: field '%.*s' has no type", (int)name.size, name.data);
		for (uint32_t j = 0; j < i; j++)
			if (flow_slice_equal(name, specs[j]->name))
				return error_set(error, FLOW_E_ARGUMENT, "record: two fields are named '%.*s'", (int)name.size,
								 name.data);
	}
	return FLOW_OK;
}

static struct schema_node *
fill_record(struct schema_group *group, flow_slice name, const flow_field_spec *const *specs, uint32_t count)
{
	struct schema_node *node = schema_group_node(group, FLOW_KIND_RECORD);
	const flow_field **fields = flow_builder_alloc(&group->memory, (uint64_t)count * sizeof(*fields) + 1);
	if (node == NULL || fields == NULL)
		return NULL;
	node->schema.name = schema_group_copy(group, name.size == 0 ? flow_slice_of("record") : name);
	if (node->schema.name.data == NULL)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		fields[i] = make_field(group, specs[i], i);
		if (fields[i] == NULL)
			return NULL;
	}
	node->schema.fields = fields;
	node->schema.field_count = count;
	schema_group_complete(group, node);
	return node;
}

const flow_schema *
schema_make_record(flow_slice name, const flow_field_spec *const *fields, uint32_t count, flow_error *error)
{
	if (check_specs(fields, count, error) != FLOW_OK)
		return NULL;
	struct schema_group *group = schema_group_create();
	struct schema_node *node = group == NULL ? NULL : fill_record(group, name, fields, count);
	if (node == NULL) {
		schema_group_abandon(group);
		error_set(error, FLOW_E_MEMORY, "record: out of memory");
		return NULL;
	}
	return schema_group_finish(group, &node->schema);
}

int
schema_name_is_plain(flow_slice name)
{
	for (uint64_t i = 0; i < name.size; i++) {
		char c = name.data[i];
		int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
		if (!letter && (i == 0 || c < '0' || c > '9'))
			return 0;
	}
	return name.size != 0;
}

int
schema_full_name_is_plain(flow_slice name)
{
	while (name.size != 0) {
		const char *dot = memchr(name.data, '.', name.size);
		uint64_t size = dot == NULL ? name.size : (uint64_t)(dot - name.data);
		if (!schema_name_is_plain(flow_slice_make(name.data, size)))
			return 0;
		if (dot == NULL)
			return 1;
		name = flow_slice_make(dot + 1, name.size - size - 1);
	}
	return 0;
}

const flow_schemas schemas_service = {
	.struct_size = FLOW_SIZEOF(flow_schemas),
	.parse_json = schema_parse_json,
	.parse_type = schema_parse_type,
	.make_record = schema_make_record,
	.with_nullable = schema_with_nullable,
	.retain = schema_retain,
	.release = schema_release,
	.print = schema_print,
	.equal = schema_equal,
};
