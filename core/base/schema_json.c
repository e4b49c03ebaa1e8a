/* Avro schema JSON -> schema: the document, unions, containers and what has no name. Defaults are read when all types are complete
 * (base/schema_default.c). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/schema_json.h"

const flow_schema *
schema_reader_fail(struct schema_reader *reader, const char *format, ...)
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

const flow_schema *
schema_reader_no_memory(struct schema_reader *reader)
{
	error_set(reader->error, FLOW_E_MEMORY, "Avro schema: out of memory");
	return NULL;
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
		return schema_reader_fail(reader, "a union must not stand in a union");
	if (branch->kind == FLOW_KIND_NULL)
		return has_null ? schema_reader_fail(reader, "'null' stands twice in the union") : branch;
	for (uint32_t i = 0; i < count; i++) {
		int named = branch->name.size != 0 || before[i]->name.size != 0;
		if (named && flow_slice_equal(branch->name, before[i]->name))
			return schema_reader_fail(reader, "'%.*s' stands twice in the union", (int)branch->name.size,
									  branch->name.data);
		if (!named && strcmp(avro_type(branch), avro_type(before[i])) == 0)
			return schema_reader_fail(reader, "'%s' stands twice in the union", avro_type(branch));
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
			return schema_reader_no_memory(reader);
	} else {
		node = schema_group_node(reader->group, FLOW_KIND_UNION);
		if (node == NULL)
			return schema_reader_no_memory(reader);
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
		return schema_reader_fail(reader, "a union has 1 to %d branches", UINT8_MAX);
	const flow_schema **branches = flow_builder_alloc(schema_group_memory(reader->group), size * sizeof(*branches));
	if (branches == NULL)
		return schema_reader_no_memory(reader);
	uint32_t count = 0, null_index = 0;
	int has_null = 0;
	for (uint64_t i = 0; i < size; i++) {
		const flow_schema *branch = schema_read_json(reader, json_array_get(json, i), name_space);
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
		return schema_reader_no_memory(reader);
	if (element == NULL)
		return schema_reader_fail(reader, "'%s' is missing", attribute);
	node->schema.element = schema_read_json(reader, element, name_space);
	if (node->schema.element == NULL)
		return NULL;
	if (!schema_apply_logical(reader->group, node, json))
		return schema_reader_no_memory(reader);
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
	struct schema_node *node = schema_read_named(reader, name_space, name);
	if (node == NULL)
		return schema_reader_fail(reader, "there is no type '%.*s'", (int)(name.size < 200 ? name.size : 200),
								  name.data);
	return &node->schema;
}

static const flow_schema *
read_object(struct schema_reader *reader, json_t *json, flow_slice name_space)
{
	json_t *type = json_object_get(json, "type");
	if (json_is_array(type) || json_is_object(type))
		return schema_read_json(reader, type, name_space);
	if (!json_is_string(type))
		return schema_reader_fail(reader, "the schema needs a 'type'");
	flow_slice name = schema_reader_text(type);
	if (flow_slice_is(name, "record") || flow_slice_is(name, "error"))
		return schema_read_record(reader, json, name_space);
	if (flow_slice_is(name, "enum"))
		return schema_read_enum(reader, json, name_space);
	if (flow_slice_is(name, "fixed"))
		return schema_read_fixed(reader, json, name_space);
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
		return schema_reader_no_memory(reader);
	if (node->schema.kind == kind && node->schema.logical.size == 0)
		return read_name(reader, name, name_space); /* nothing applied: the type is the one without the attribute */
	schema_group_complete(reader->group, node);
	return &node->schema;
}

const flow_schema *
schema_read_json(struct schema_reader *reader, json_t *json, flow_slice name_space)
{
	if (reader->depth == SCHEMA_DEPTH_MAX)
		return schema_reader_fail(reader, "more than %d types in types", SCHEMA_DEPTH_MAX);
	reader->depth++;
	const flow_schema *schema;
	if (json_is_string(json))
		schema = read_name(reader, schema_reader_text(json), name_space);
	else if (json_is_array(json))
		schema = read_union(reader, json, name_space);
	else if (json_is_object(json))
		schema = read_object(reader, json, name_space);
	else
		schema = schema_reader_fail(reader, "a schema is a name, an object or an array");
	reader->depth--;
	return schema;
}

static int
read_defaults(struct schema_reader *reader)
{
	schema_group_follow(reader->group);
	for (struct schema_pending *p = reader->pending; p != NULL; p = p->next) {
		flow_value *value = flow_builder_cells(schema_group_memory(reader->group), 1);
		const char *problem = NULL;
		flow_status status = value == NULL ? FLOW_E_MEMORY
										   : schema_read_default(schema_group_memory(reader->group), p->field->schema,
																 p->json, value, &problem);
		if (status == FLOW_E_MEMORY) {
			schema_reader_no_memory(reader);
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
			return schema_reader_no_memory(reader);
		node->schema = *root;
		schema_group_complete(reader->group, node);
	}
	node->source = schema_group_copy(reader->group, text);
	return node->source.data == NULL ? schema_reader_no_memory(reader) : &node->schema;
}

static const flow_schema *
read_document(json_t *json, flow_slice text, flow_error *error)
{
	struct schema_reader reader = { .group = schema_group_create(), .error = error };
	reader.pending_last = &reader.pending;
	if (reader.group == NULL)
		return schema_reader_no_memory(&reader);
	const flow_schema *root = schema_read_json(&reader, json, flow_slice_make(NULL, 0));
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
