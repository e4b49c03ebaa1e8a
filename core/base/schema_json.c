/* Avro schema JSON -> schema. Defaults are read when all types are complete (base/schema_default.c). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/schema_json.h"

#define NAME_TEXT_MAX 1024

/* A type that has been named so far. */
struct named {
	struct named *next;
	flow_slice name; /* as the text names it */
	struct schema_node *node;
};

/* A default that waits for the end. */
struct pending {
	struct pending *next;
	flow_field *field;
	json_t *json;
	char *place;
};

struct schema_reader {
	struct schema_group *group;
	flow_error *error;
	struct named *named;
	uint32_t named_count;
	struct pending *pending;
	struct pending **pending_last;
	int depth;
	uint64_t place_size;
	char place[256]; /* where we are, like "shop.Order.lines.price" */
};

static const flow_schema *read_schema(struct schema_reader *reader, json_t *json, flow_slice name_space);

static const flow_schema *
fail(struct schema_reader *reader, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	error_set(reader->error, FLOW_E_CONFIG, "Avro schema: %s%s%s", reader->place, reader->place_size == 0 ? "" : ": ",
			  text);
	return NULL;
}

static const flow_schema *
no_memory(struct schema_reader *reader)
{
	error_set(reader->error, FLOW_E_MEMORY, "Avro schema: out of memory");
	return NULL;
}

static uint64_t
enter(struct schema_reader *reader, flow_slice name)
{
	uint64_t before = reader->place_size;
	int size = snprintf(reader->place + before, sizeof(reader->place) - before, "%s%.*s", before == 0 ? "" : ".",
						(int)(name.size < 200 ? name.size : 200), name.size == 0 ? "" : name.data);
	reader->place_size =
		before + (uint64_t)size < sizeof(reader->place) ? before + (uint64_t)size : sizeof(reader->place) - 1;
	return before;
}

static void
leave(struct schema_reader *reader, uint64_t before)
{
	reader->place_size = before;
	reader->place[before] = '\0';
}

static flow_slice
text_of(const json_t *json)
{
	return flow_slice_make(json_string_value(json), json_string_length(json));
}

/* ---- names ---- */

static int
is_full_name(flow_slice name)
{
	for (;;) {
		const char *dot = name.size == 0 ? NULL : memchr(name.data, '.', name.size);
		uint64_t size = dot == NULL ? name.size : (uint64_t)(dot - name.data);
		if (!schema_name_is_plain(flow_slice_make(name.data, size)))
			return 0;
		if (dot == NULL)
			return 1;
		name = flow_slice_make(dot + 1, name.size - size - 1);
	}
}

static flow_slice
namespace_of(flow_slice full_name)
{
	const char *dot = memrchr(full_name.data, '.', full_name.size);
	return flow_slice_make(full_name.data, dot == NULL ? 0 : (uint64_t)(dot - full_name.data));
}

/* In the group's memory; data NULL: out of memory. */
static flow_slice
full_name(struct schema_reader *reader, flow_slice name, flow_slice name_space)
{
	if (name_space.size == 0 || memchr(name.data, '.', name.size) != NULL)
		return schema_group_copy(reader->group, name);
	char *text = flow_builder_alloc(schema_group_memory(reader->group), name_space.size + 1 + name.size);
	if (text == NULL)
		return flow_slice_make(NULL, 0);
	memcpy(text, name_space.data, name_space.size);
	text[name_space.size] = '.';
	memcpy(text + name_space.size + 1, name.data, name.size);
	return flow_slice_make(text, name_space.size + 1 + name.size);
}

static struct schema_node *
find_named(const struct schema_reader *reader, flow_slice name_space, flow_slice name)
{
	int qualified = name_space.size != 0 && memchr(name.data, '.', name.size) == NULL;
	uint64_t prefix = qualified ? name_space.size + 1 : 0;
	for (const struct named *n = reader->named; n != NULL; n = n->next) {
		if (n->name.size != prefix + name.size || memcmp(n->name.data + prefix, name.data, name.size) != 0)
			continue;
		if (!qualified ||
			(memcmp(n->name.data, name_space.data, name_space.size) == 0 && n->name.data[prefix - 1] == '.'))
			return n->node;
	}
	return qualified ? find_named(reader, flow_slice_make(NULL, 0), name) : NULL;
}

static int
read_texts(struct schema_reader *reader, json_t *array, const char *what, flow_slice name_space,
		   const flow_slice **texts, uint64_t *count)
{
	if (array == NULL)
		return 1;
	if (!json_is_array(array) || json_array_size(array) > SCHEMA_PARTS_MAX) {
		fail(reader, "'%s' must be an array of at most %u names", what, SCHEMA_PARTS_MAX);
		return 0;
	}
	uint64_t size = json_array_size(array);
	flow_slice *copies = flow_builder_alloc(schema_group_memory(reader->group), size * sizeof(*copies) + 1);
	if (copies == NULL) {
		no_memory(reader);
		return 0;
	}
	for (uint64_t i = 0; i < size; i++) {
		json_t *item = json_array_get(array, i);
		if (!json_is_string(item)) {
			fail(reader, "'%s' must be an array of texts", what);
			return 0;
		}
		copies[i] = full_name(reader, text_of(item), name_space);
		if (copies[i].data == NULL) {
			no_memory(reader);
			return 0;
		}
	}
	*texts = copies;
	*count = size;
	return 1;
}

static int
read_doc(struct schema_reader *reader, json_t *json, flow_slice *doc)
{
	json_t *text = json_object_get(json, "doc");
	if (!json_is_string(text) || json_string_length(text) == 0)
		return 1;
	*doc = schema_group_copy(reader->group, text_of(text));
	if (doc->data == NULL)
		no_memory(reader);
	return doc->data != NULL;
}

/* Name, aliases and doc of a named type; it can be referred to from here on. *name_space becomes that of its parts. */
static struct schema_node *
begin_named(struct schema_reader *reader, json_t *json, uint8_t kind, flow_slice *name_space)
{
	json_t *name = json_object_get(json, "name"), *space = json_object_get(json, "namespace");
	json_t *original = json_object_get(json, "flow.name");
	if (!json_is_string(name)) {
		fail(reader, "a %s needs a 'name'", json_string_value(json_object_get(json, "type")));
		return NULL;
	}
	if (json_is_string(space))
		*name_space = text_of(space);
	if (!is_full_name(text_of(name)) || name_space->size + json_string_length(name) > NAME_TEXT_MAX) {
		fail(reader, "'%.200s' is no name: letters, digits and '_', not beginning with a digit",
			 json_string_value(name));
		return NULL;
	}
	if (name_space->size != 0 && !is_full_name(*name_space)) {
		fail(reader, "'%.*s' is no namespace", (int)name_space->size, name_space->data);
		return NULL;
	}
	if (reader->named_count++ == SCHEMA_NAMED_MAX) {
		fail(reader, "more than %d named types", SCHEMA_NAMED_MAX);
		return NULL;
	}
	struct schema_node *node = schema_group_node(reader->group, kind);
	struct named *entry = flow_builder_alloc(schema_group_memory(reader->group), sizeof(*entry));
	flow_slice full = full_name(reader, text_of(name), *name_space);
	if (node == NULL || entry == NULL || full.data == NULL) {
		no_memory(reader);
		return NULL;
	}
	*name_space = namespace_of(full);
	for (const struct named *n = reader->named; n != NULL; n = n->next) {
		if (flow_slice_equal(n->name, full)) {
			fail(reader, "'%.*s' is defined twice", (int)full.size, full.data);
			return NULL;
		}
	}
	*entry = (struct named){ reader->named, full, node };
	reader->named = entry;
	node->schema.name = json_is_string(original) ? schema_group_copy(reader->group, text_of(original)) : full;
	if (node->schema.name.data == NULL) {
		no_memory(reader);
		return NULL;
	}
	return read_doc(reader, json, &node->schema.doc) &&
				   read_texts(reader, json_object_get(json, "aliases"), "aliases", *name_space, &node->schema.aliases,
							  &node->schema.alias_count)
			   ? node
			   : NULL;
}

/* ---- records ---- */

static int
wait_for_default(struct schema_reader *reader, flow_field *field, json_t *json)
{
	struct pending *p = flow_builder_alloc(schema_group_memory(reader->group), sizeof(*p));
	flow_slice place = schema_group_copy(reader->group, flow_slice_make(reader->place, reader->place_size + 1));
	if (p == NULL || place.data == NULL) {
		no_memory(reader);
		return 0;
	}
	*p = (struct pending){ NULL, field, json, (char *)(uintptr_t)place.data };
	*reader->pending_last = p;
	reader->pending_last = &p->next;
	return 1;
}

static int
read_field_parts(struct schema_reader *reader, json_t *json, flow_slice name_space, flow_field *field)
{
	json_t *type = json_object_get(json, "type"), *value = json_object_get(json, "default");
	if (type == NULL) {
		fail(reader, "the field needs a 'type'");
		return 0;
	}
	field->schema = read_schema(reader, type, name_space);
	return field->schema != NULL && read_doc(reader, json, &field->doc) &&
		   read_texts(reader, json_object_get(json, "aliases"), "aliases", flow_slice_make(NULL, 0), &field->aliases,
					  &field->alias_count) &&
		   (value == NULL || wait_for_default(reader, field, value));
}

static flow_field *
read_field(struct schema_reader *reader, json_t *json, flow_slice name_space, flow_field *const *before, uint32_t index)
{
	json_t *name = json_object_get(json, "name"), *original = json_object_get(json, "flow.name");
	if (!json_is_string(name)) {
		fail(reader, "field %u has no 'name'", index);
		return NULL;
	}
	if (!schema_name_is_plain(text_of(name))) {
		fail(reader, "field '%.200s': no name: letters, digits and '_', not beginning with a digit",
			 json_string_value(name));
		return NULL;
	}
	flow_field *field = flow_builder_alloc(schema_group_memory(reader->group), sizeof(*field));
	if (field == NULL) {
		no_memory(reader);
		return NULL;
	}
	*field = (flow_field){ .struct_size = FLOW_SIZEOF(flow_field), .index = index };
	field->name = schema_group_copy(reader->group, text_of(json_is_string(original) ? original : name));
	if (field->name.data == NULL) {
		no_memory(reader);
		return NULL;
	}
	for (uint32_t i = 0; i < index; i++) {
		if (flow_slice_equal(before[i]->name, field->name)) {
			fail(reader, "two fields are named '%.*s'", (int)field->name.size, field->name.data);
			return NULL;
		}
	}
	uint64_t outside = enter(reader, field->name);
	int read = read_field_parts(reader, json, name_space, field);
	leave(reader, outside);
	return read ? field : NULL;
}

static const flow_schema *
read_fields(struct schema_reader *reader, json_t *json, flow_slice name_space, struct schema_node *node)
{
	json_t *list = json_object_get(json, "fields");
	if (!json_is_array(list) || json_array_size(list) > SCHEMA_PARTS_MAX)
		return fail(reader, "a record needs 'fields', an array of at most %u", SCHEMA_PARTS_MAX);
	uint32_t count = (uint32_t)json_array_size(list);
	flow_field **fields = flow_builder_alloc(schema_group_memory(reader->group), count * sizeof(*fields) + 1);
	if (fields == NULL)
		return no_memory(reader);
	for (uint32_t i = 0; i < count; i++) {
		fields[i] = read_field(reader, json_array_get(list, i), name_space, fields, i);
		if (fields[i] == NULL)
			return NULL;
	}
	node->schema.fields = (const flow_field *const *)fields;
	node->schema.field_count = count;
	schema_group_complete(reader->group, node);
	return &node->schema;
}

static const flow_schema *
read_record(struct schema_reader *reader, json_t *json, flow_slice name_space)
{
	struct schema_node *node = begin_named(reader, json, FLOW_KIND_RECORD, &name_space);
	if (node == NULL)
		return NULL;
	uint64_t outside = reader->place_size;
	if (outside == 0) /* inside of another record the field's name says enough */
		enter(reader, node->schema.name);
	const flow_schema *schema = read_fields(reader, json, name_space, node);
	leave(reader, outside);
	return schema;
}

/* ---- enum and fixed ---- */

static const flow_schema *
check_symbols(struct schema_reader *reader, const struct schema_node *node, int must_be_plain)
{
	const flow_slice *symbols = node->schema.symbols;
	for (uint32_t i = 0; i < node->schema.symbol_count; i++) {
		if (must_be_plain && !schema_name_is_plain(symbols[i]))
			return fail(reader, "enum '%.*s': '%.*s' is no symbol: letters, digits and '_', not beginning with a digit",
						(int)node->schema.name.size, node->schema.name.data, (int)symbols[i].size, symbols[i].data);
		for (uint32_t j = 0; j < i; j++)
			if (flow_slice_equal(symbols[i], symbols[j]))
				return fail(reader, "enum '%.*s': the symbol '%.*s' stands there twice", (int)node->schema.name.size,
							node->schema.name.data, (int)symbols[i].size, symbols[i].data);
	}
	return &node->schema;
}

static const flow_schema *
read_default_symbol(struct schema_reader *reader, json_t *json, const flow_slice *written, struct schema_node *node)
{
	json_t *symbol = json_object_get(json, "default");
	if (symbol == NULL)
		return &node->schema;
	for (uint32_t i = 0; json_is_string(symbol) && i < node->schema.symbol_count; i++) {
		if (flow_slice_equal(written[i], text_of(symbol))) {
			node->schema.default_symbol = node->schema.symbols[i];
			return &node->schema;
		}
	}
	return fail(reader, "enum '%.*s': the default is none of the symbols", (int)node->schema.name.size,
				node->schema.name.data);
}

static const flow_schema *
read_enum(struct schema_reader *reader, json_t *json, flow_slice name_space)
{
	struct schema_node *node = begin_named(reader, json, FLOW_KIND_ENUM, &name_space);
	if (node == NULL)
		return NULL;
	json_t *list = json_object_get(json, "symbols"), *originals = json_object_get(json, "flow.symbols");
	if (!json_is_array(list))
		return fail(reader, "enum '%.*s' needs 'symbols'", (int)node->schema.name.size, node->schema.name.data);
	const flow_slice none = { NULL, 0 };
	const flow_slice *written = NULL;
	uint64_t count = 0;
	if (!read_texts(reader, list, "symbols", none, &written, &count))
		return NULL;
	node->schema.symbols = written;
	node->schema.symbol_count = (uint32_t)count;
	if (check_symbols(reader, node, 1) == NULL)
		return NULL;
	if (originals != NULL) {
		if (!read_texts(reader, originals, "flow.symbols", none, &node->schema.symbols, &count))
			return NULL;
		if (count != node->schema.symbol_count)
			return fail(reader, "'flow.symbols' and 'symbols' must have the same number");
		if (check_symbols(reader, node, 0) == NULL)
			return NULL;
	}
	if (read_default_symbol(reader, json, written, node) == NULL)
		return NULL;
	schema_group_complete(reader->group, node);
	return &node->schema;
}

static const flow_schema *
read_fixed(struct schema_reader *reader, json_t *json, flow_slice name_space)
{
	struct schema_node *node = begin_named(reader, json, FLOW_KIND_FIXED, &name_space);
	if (node == NULL)
		return NULL;
	json_t *size = json_object_get(json, "size");
	if (!json_is_integer(size) || json_integer_value(size) < 0 || json_integer_value(size) > INT32_MAX)
		return fail(reader, "fixed '%.*s' needs a 'size' from 0 to 2147483647", (int)node->schema.name.size,
					node->schema.name.data);
	node->schema.fixed_size = (uint32_t)json_integer_value(size);
	if (!schema_apply_logical(reader->group, node, json))
		return no_memory(reader);
	schema_group_complete(reader->group, node);
	return &node->schema;
}

/* ---- unions ---- */

static const char *
avro_type(const flow_schema *schema)
{
	int small = schema->unit <= FLOW_MILLISECONDS;
	switch (schema->kind) {
	case FLOW_KIND_NULL:
		return "null";
	case FLOW_KIND_BOOL:
		return "boolean";
	case FLOW_KIND_INT32:
	case FLOW_KIND_DATE:
		return "int";
	case FLOW_KIND_TIME:
		return small ? "int" : "long";
	case FLOW_KIND_INT64:
	case FLOW_KIND_TIMESTAMP:
		return "long";
	case FLOW_KIND_FLOAT32:
		return "float";
	case FLOW_KIND_FLOAT64:
		return "double";
	case FLOW_KIND_LIST:
		return "array";
	case FLOW_KIND_MAP:
		return "map";
	case FLOW_KIND_BYTES:
	case FLOW_KIND_UINT64:
	case FLOW_KIND_DECIMAL:
		return "bytes";
	default:
		return "string";
	}
}

static const flow_schema *
check_branch(struct schema_reader *reader, const flow_schema *branch, const flow_schema *const *before, uint32_t count,
			 int has_null)
{
	if (branch->kind == FLOW_KIND_UNION || flow_schema_nullable(branch))
		return fail(reader, "a union must not stand in a union");
	if (branch->kind == FLOW_KIND_NULL)
		return has_null ? fail(reader, "'null' stands twice in the union") : branch;
	for (uint32_t i = 0; i < count; i++) {
		int named = branch->name.size != 0 || before[i]->name.size != 0;
		if (named && flow_slice_equal(branch->name, before[i]->name))
			return fail(reader, "'%.*s' stands twice in the union", (int)branch->name.size, branch->name.data);
		if (!named && strcmp(avro_type(branch), avro_type(before[i])) == 0)
			return fail(reader, "'%s' stands twice in the union", avro_type(branch));
	}
	return branch;
}

static const flow_schema *
make_union(struct schema_reader *reader, const flow_schema *const *branches, uint32_t count, int has_null,
		   uint32_t null_index)
{
	struct schema_node *node;
	if (count == 1 && has_null) {
		node = schema_group_nullable(reader->group, branches[0], 1);
		if (node == NULL)
			return no_memory(reader);
	} else {
		node = schema_group_node(reader->group, FLOW_KIND_UNION);
		if (node == NULL)
			return no_memory(reader);
		node->schema.branches = branches;
		node->schema.branch_count = count;
		if (has_null)
			node->schema.flags |= FLOW_SCHEMA_NULLABLE;
		schema_group_complete(reader->group, node);
	}
	node->schema.null_index = null_index;
	if (has_null && null_index != 0 && null_index == count)
		node->schema.flags |= FLOW_SCHEMA_NULL_LAST;
	return &node->schema;
}

static const flow_schema *
read_union(struct schema_reader *reader, json_t *json, flow_slice name_space)
{
	uint64_t size = json_array_size(json);
	if (size == 0 || size > UINT8_MAX)
		return fail(reader, "a union has 1 to %d branches", UINT8_MAX);
	const flow_schema **branches = flow_builder_alloc(schema_group_memory(reader->group), size * sizeof(*branches));
	if (branches == NULL)
		return no_memory(reader);
	uint32_t count = 0, null_index = 0;
	int has_null = 0;
	for (uint64_t i = 0; i < size; i++) {
		const flow_schema *branch = read_schema(reader, json_array_get(json, i), name_space);
		if (branch == NULL || check_branch(reader, branch, branches, count, has_null) == NULL)
			return NULL;
		if (branch->kind == FLOW_KIND_NULL) {
			has_null = 1;
			null_index = (uint32_t)i;
		} else {
			branches[count++] = branch;
		}
	}
	return make_union(reader, branches, count, has_null, null_index);
}

/* ---- everything else ---- */

static const flow_schema *
read_container(struct schema_reader *reader, json_t *json, flow_slice name_space, uint8_t kind, const char *attribute)
{
	json_t *element = json_object_get(json, attribute);
	struct schema_node *node = schema_group_node(reader->group, kind);
	if (node == NULL)
		return no_memory(reader);
	if (element == NULL)
		return fail(reader, "'%s' is missing", attribute);
	node->schema.element = read_schema(reader, element, name_space);
	if (node->schema.element == NULL)
		return NULL;
	if (!schema_apply_logical(reader->group, node, json))
		return no_memory(reader);
	schema_group_complete(reader->group, node);
	return &node->schema;
}

static int
primitive_kind(flow_slice name, uint8_t *kind)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} primitives[] = {
		{ "null", FLOW_KIND_NULL },     { "boolean", FLOW_KIND_BOOL },  { "int", FLOW_KIND_INT32 },
		{ "long", FLOW_KIND_INT64 },    { "float", FLOW_KIND_FLOAT32 }, { "double", FLOW_KIND_FLOAT64 },
		{ "string", FLOW_KIND_STRING }, { "bytes", FLOW_KIND_BYTES },
	};
	for (size_t i = 0; i < FLOW_COUNT(primitives); i++) {
		if (flow_slice_is(name, primitives[i].name)) {
			*kind = primitives[i].kind;
			return 1;
		}
	}
	return 0;
}

static const flow_schema *
read_name(struct schema_reader *reader, flow_slice name, flow_slice name_space)
{
	uint8_t kind;
	if (primitive_kind(name, &kind))
		return schema_of_kind(kind, 0);
	struct schema_node *node = find_named(reader, name_space, name);
	if (node == NULL)
		return fail(reader, "there is no type '%.*s'", (int)(name.size < 200 ? name.size : 200), name.data);
	return &node->schema;
}

static const flow_schema *
read_object(struct schema_reader *reader, json_t *json, flow_slice name_space)
{
	json_t *type = json_object_get(json, "type");
	if (json_is_array(type) || json_is_object(type))
		return read_schema(reader, type, name_space);
	if (!json_is_string(type))
		return fail(reader, "the schema needs a 'type'");
	flow_slice name = text_of(type);
	if (flow_slice_is(name, "record") || flow_slice_is(name, "error"))
		return read_record(reader, json, name_space);
	if (flow_slice_is(name, "enum"))
		return read_enum(reader, json, name_space);
	if (flow_slice_is(name, "fixed"))
		return read_fixed(reader, json, name_space);
	if (flow_slice_is(name, "array"))
		return read_container(reader, json, name_space, FLOW_KIND_LIST, "items");
	if (flow_slice_is(name, "map"))
		return read_container(reader, json, name_space, FLOW_KIND_MAP, "values");
	uint8_t kind;
	if (!primitive_kind(name, &kind) ||
		(json_object_get(json, "logicalType") == NULL && json_object_get(json, "flow.type") == NULL))
		return read_name(reader, name, name_space);
	struct schema_node *node = schema_group_node(reader->group, kind);
	if (node == NULL || !schema_apply_logical(reader->group, node, json))
		return no_memory(reader);
	if (node->schema.kind == kind && node->schema.logical.size == 0)
		return read_name(reader, name, name_space); /* nothing applied: the type is the one without the attribute */
	schema_group_complete(reader->group, node);
	return &node->schema;
}

static const flow_schema *
read_schema(struct schema_reader *reader, json_t *json, flow_slice name_space)
{
	if (reader->depth == SCHEMA_DEPTH_MAX)
		return fail(reader, "more than %d types in types", SCHEMA_DEPTH_MAX);
	reader->depth++;
	const flow_schema *schema;
	if (json_is_string(json))
		schema = read_name(reader, text_of(json), name_space);
	else if (json_is_array(json))
		schema = read_union(reader, json, name_space);
	else if (json_is_object(json))
		schema = read_object(reader, json, name_space);
	else
		schema = fail(reader, "a schema is a name, an object or an array");
	reader->depth--;
	return schema;
}

static int
read_defaults(struct schema_reader *reader)
{
	schema_group_follow(reader->group);
	for (struct pending *p = reader->pending; p != NULL; p = p->next) {
		flow_value *value = flow_builder_cells(schema_group_memory(reader->group), 1);
		const char *problem = NULL;
		flow_status status = value == NULL ? FLOW_E_MEMORY
										   : schema_read_default(schema_group_memory(reader->group), p->field->schema,
																 p->json, value, &problem);
		if (status == FLOW_E_MEMORY) {
			no_memory(reader);
			return 0;
		}
		if (status != FLOW_OK) {
			error_set(reader->error, FLOW_E_CONFIG, "Avro schema: %s: the default does not fit the type: %s", p->place,
					  problem);
			return 0;
		}
		p->field->default_value = value;
	}
	return 1;
}

static int
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static flow_slice
trimmed(flow_slice text)
{
	while (text.size != 0 && is_blank(text.data[0]))
		text = flow_slice_make(text.data + 1, text.size - 1);
	while (text.size != 0 && is_blank(text.data[text.size - 1]))
		text.size--;
	return text;
}

/* The root remembers its text, so that what flowd does not know goes along when the schema is written. */
static const flow_schema *
keep_source(struct schema_reader *reader, const flow_schema *root, flow_slice text)
{
	struct schema_node *node = (struct schema_node *)(uintptr_t)root;
	text = trimmed(text);
	if (node->group == NULL && text.data[0] == '"')
		return root;
	if (node->group == NULL) {
		node = schema_group_node(reader->group, root->kind);
		if (node == NULL)
			return no_memory(reader);
		node->schema = *root;
		schema_group_complete(reader->group, node);
	}
	node->source = schema_group_copy(reader->group, text);
	return node->source.data == NULL ? no_memory(reader) : &node->schema;
}

static const flow_schema *
read_document(json_t *json, flow_slice text, flow_error *error)
{
	struct schema_reader reader = { .group = schema_group_create(), .error = error };
	reader.pending_last = &reader.pending;
	if (reader.group == NULL)
		return no_memory(&reader);
	const flow_schema *root = read_schema(&reader, json, flow_slice_make(NULL, 0));
	if (root != NULL && !read_defaults(&reader))
		root = NULL;
	if (root != NULL)
		root = keep_source(&reader, root, text);
	if (root != NULL)
		return schema_group_finish(reader.group, root);
	schema_group_abandon(reader.group);
	return NULL;
}

const flow_schema *
schema_parse_json(flow_slice text, flow_error *error)
{
	if (text.size > SCHEMA_TEXT_MAX) {
		error_set(error, FLOW_E_LIMIT, "Avro schema: the text has %llu bytes; at most %u are read",
				  (unsigned long long)text.size, SCHEMA_TEXT_MAX);
		return NULL;
	}
	json_error_t problem;
	json_t *json = json_loadb(text.size == 0 ? "" : text.data, text.size,
							  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &problem);
	if (json == NULL) {
		int memory = json_error_code(&problem) == json_error_out_of_memory;
		error_set(error, memory ? FLOW_E_MEMORY : FLOW_E_CONFIG, "Avro schema: line %d, column %d: %s", problem.line,
				  problem.column, problem.text);
		return NULL;
	}
	const flow_schema *schema = read_document(json, text, error);
	json_decref(json);
	return schema;
}
