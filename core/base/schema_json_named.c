/* Avro schema JSON -> schema: types that have a name, which are records, enums and fixed. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/schema_json.h"

#define NAME_TEXT_MAX 1024

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

/* ---- names ---- */

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

struct schema_node *
schema_read_named(const struct schema_reader *reader, flow_slice name_space, flow_slice name)
{
	int qualified = name_space.size != 0 && memchr(name.data, '.', name.size) == NULL;
	uint64_t prefix = qualified ? name_space.size + 1 : 0;
	for (const struct schema_named *n = reader->named; n != NULL; n = n->next) {
		if (n->name.size != prefix + name.size || memcmp(n->name.data + prefix, name.data, name.size) != 0)
			continue;
		if (!qualified ||
			(memcmp(n->name.data, name_space.data, name_space.size) == 0 && n->name.data[prefix - 1] == '.'))
			return n->node;
	}
	return qualified ? schema_read_named(reader, flow_slice_make(NULL, 0), name) : NULL;
}

static int
read_texts(struct schema_reader *reader, json_t *array, const char *what, flow_slice name_space,
		   const flow_slice **texts, uint64_t *count)
{
	if (array == NULL)
		return 1;
	if (!json_is_array(array) || json_array_size(array) > SCHEMA_PARTS_MAX) {
		schema_reader_fail(reader, "'%s' must be an array of at most %u names", what, SCHEMA_PARTS_MAX);
		return 0;
	}
	uint64_t size = json_array_size(array);
	flow_slice *copies = flow_builder_alloc(schema_group_memory(reader->group), size * sizeof(*copies) + 1);
	if (copies == NULL) {
		schema_reader_no_memory(reader);
		return 0;
	}
	for (uint64_t i = 0; i < size; i++) {
		json_t *item = json_array_get(array, i);
		if (!json_is_string(item)) {
			schema_reader_fail(reader, "'%s' must be an array of texts", what);
			return 0;
		}
		copies[i] = full_name(reader, schema_reader_text(item), name_space);
		if (copies[i].data == NULL) {
			schema_reader_no_memory(reader);
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
	*doc = schema_group_copy(reader->group, schema_reader_text(text));
	if (doc->data == NULL)
		schema_reader_no_memory(reader);
	return doc->data != NULL;
}

/* Name, aliases and doc of a named type; it can be referred to from here on. *name_space becomes that of its parts. */
static struct schema_node *
begin_named(struct schema_reader *reader, json_t *json, uint8_t kind, flow_slice *name_space)
{
	json_t *name = json_object_get(json, "name"), *space = json_object_get(json, "namespace");
	json_t *original = json_object_get(json, "flow.name");
	if (!json_is_string(name)) {
		schema_reader_fail(reader, "a %s needs a 'name'", json_string_value(json_object_get(json, "type")));
		return NULL;
	}
	if (json_is_string(space))
		*name_space = schema_reader_text(space);
	if (!schema_full_name_is_plain(schema_reader_text(name)) ||
		name_space->size + json_string_length(name) > NAME_TEXT_MAX) {
		schema_reader_fail(reader, "'%.200s' is no name: letters, digits and '_', not beginning with a digit",
						   json_string_value(name));
		return NULL;
	}
	if (name_space->size != 0 && !schema_full_name_is_plain(*name_space)) {
		schema_reader_fail(reader, "'%.*s' is no namespace", (int)name_space->size, name_space->data);
		return NULL;
	}
	if (reader->named_count++ == SCHEMA_NAMED_MAX) {
		schema_reader_fail(reader, "more than %d named types", SCHEMA_NAMED_MAX);
		return NULL;
	}
	struct schema_node *node = schema_group_node(reader->group, kind);
	struct schema_named *entry = flow_builder_alloc(schema_group_memory(reader->group), sizeof(*entry));
	flow_slice full = full_name(reader, schema_reader_text(name), *name_space);
	if (node == NULL || entry == NULL || full.data == NULL) {
		schema_reader_no_memory(reader);
		return NULL;
	}
	*name_space = namespace_of(full);
	for (const struct schema_named *n = reader->named; n != NULL; n = n->next) {
		if (flow_slice_equal(n->name, full)) {
			schema_reader_fail(reader, "'%.*s' is defined twice", (int)full.size, full.data);
			return NULL;
		}
	}
	*entry = (struct schema_named){ reader->named, full, node };
	reader->named = entry;
	node->schema.name =
		json_is_string(original) ? schema_group_copy(reader->group, schema_reader_text(original)) : full;
	if (node->schema.name.data == NULL) {
		schema_reader_no_memory(reader);
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
	struct schema_pending *p = flow_builder_alloc(schema_group_memory(reader->group), sizeof(*p));
	flow_slice place = schema_group_copy(reader->group, flow_slice_make(reader->place, reader->place_size + 1));
	if (p == NULL || place.data == NULL) {
		schema_reader_no_memory(reader);
		return 0;
	}
	*p = (struct schema_pending){ NULL, field, json, (char *)(uintptr_t)place.data };
	*reader->pending_last = p;
	reader->pending_last = &p->next;
	return 1;
}

static int
read_field_parts(struct schema_reader *reader, json_t *json, flow_slice name_space, flow_field *field)
{
	json_t *type = json_object_get(json, "type"), *value = json_object_get(json, "default");
	if (type == NULL) {
		schema_reader_fail(reader, "the field needs a 'type'");
		return 0;
	}
	field->schema = schema_read_json(reader, type, name_space);
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
		schema_reader_fail(reader, "field %u has no 'name'", index);
		return NULL;
	}
	if (!schema_name_is_plain(schema_reader_text(name))) {
		schema_reader_fail(reader, "field '%.200s': no name: letters, digits and '_', not beginning with a digit",
						   json_string_value(name));
		return NULL;
	}
	flow_field *field = flow_builder_alloc(schema_group_memory(reader->group), sizeof(*field));
	if (field == NULL) {
		schema_reader_no_memory(reader);
		return NULL;
	}
	*field = (flow_field){ .struct_size = FLOW_SIZEOF(flow_field), .index = index };
	field->name = schema_group_copy(reader->group, schema_reader_text(json_is_string(original) ? original : name));
	if (field->name.data == NULL) {
		schema_reader_no_memory(reader);
		return NULL;
	}
	for (uint32_t i = 0; i < index; i++) {
		if (flow_slice_equal(before[i]->name, field->name)) {
			schema_reader_fail(reader, "two fields are named '%.*s'", (int)field->name.size, field->name.data);
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
		return schema_reader_fail(reader, "a record needs 'fields', an array of at most %u", SCHEMA_PARTS_MAX);
	uint32_t count = (uint32_t)json_array_size(list);
	flow_field **fields = flow_builder_alloc(schema_group_memory(reader->group), count * sizeof(*fields) + 1);
	if (fields == NULL)
		return schema_reader_no_memory(reader);
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

const flow_schema *
schema_read_record(struct schema_reader *reader, json_t *json, flow_slice name_space)
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
			return schema_reader_fail(
				reader, "enum '%.*s': '%.*s' is no symbol: letters, digits and '_', not beginning with a digit",
				(int)node->schema.name.size, node->schema.name.data, (int)symbols[i].size, symbols[i].data);
		for (uint32_t j = 0; j < i; j++)
			if (flow_slice_equal(symbols[i], symbols[j]))
				return schema_reader_fail(reader, "enum '%.*s': the symbol '%.*s' stands there twice",
										  (int)node->schema.name.size, node->schema.name.data, (int)symbols[i].size,
										  symbols[i].data);
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
		if (flow_slice_equal(written[i], schema_reader_text(symbol))) {
			node->schema.default_symbol = node->schema.symbols[i];
			return &node->schema;
		}
	}
	return schema_reader_fail(reader, "enum '%.*s': the default is none of the symbols", (int)node->schema.name.size,
							  node->schema.name.data);
}

const flow_schema *
schema_read_enum(struct schema_reader *reader, json_t *json, flow_slice name_space)
{
	struct schema_node *node = begin_named(reader, json, FLOW_KIND_ENUM, &name_space);
	if (node == NULL)
		return NULL;
	json_t *list = json_object_get(json, "symbols"), *originals = json_object_get(json, "flow.symbols");
	if (!json_is_array(list))
		return schema_reader_fail(reader, "enum '%.*s' needs 'symbols'", (int)node->schema.name.size,
								  node->schema.name.data);
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
			return schema_reader_fail(reader, "'flow.symbols' and 'symbols' must have the same number");
		if (check_symbols(reader, node, 0) == NULL)
			return NULL;
	}
	if (read_default_symbol(reader, json, written, node) == NULL)
		return NULL;
	schema_group_complete(reader->group, node);
	return &node->schema;
}

const flow_schema *
schema_read_fixed(struct schema_reader *reader, json_t *json, flow_slice name_space)
{
	struct schema_node *node = begin_named(reader, json, FLOW_KIND_FIXED, &name_space);
	if (node == NULL)
		return NULL;
	json_t *size = json_object_get(json, "size");
	if (!json_is_integer(size) || json_integer_value(size) < 0 || json_integer_value(size) > INT32_MAX)
		return schema_reader_fail(reader, "fixed '%.*s' needs a 'size' from 0 to 2147483647",
								  (int)node->schema.name.size, node->schema.name.data);
	node->schema.fixed_size = (uint32_t)json_integer_value(size);
	if (!schema_apply_logical(reader->group, node, json))
		return schema_reader_no_memory(reader);
	schema_group_complete(reader->group, node);
	return &node->schema;
}
