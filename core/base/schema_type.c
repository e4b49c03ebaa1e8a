/* The short text form of types -> schema (grammar in flow/schema.h). */
#include <string.h>

#include "base/error.h"
#include "base/schema_node.h"
#include "flow_sdk/number.h"
#include "flow_sdk/text.h"

struct type_reader {
	flow_slice text;
	uint64_t at;
	struct schema_group *group;
	flow_error *error;
	int depth;
};

static const flow_schema *read_type(struct type_reader *reader);

static const flow_schema *
fail(struct type_reader *reader, const char *expected)
{
	error_set(reader->error, FLOW_E_CONFIG, "type '%.*s': at character %llu: expected %s", (int)reader->text.size,
			  reader->text.data, (unsigned long long)reader->at + 1, expected);
	return NULL;
}

static const flow_schema *
no_memory(struct type_reader *reader)
{
	error_set(reader->error, FLOW_E_MEMORY, "type: out of memory");
	return NULL;
}

static void
skip_blanks(struct type_reader *reader)
{
	while (reader->at < reader->text.size &&
		   (reader->text.data[reader->at] == ' ' || reader->text.data[reader->at] == '\t'))
		reader->at++;
}

static int
accept(struct type_reader *reader, char c)
{
	skip_blanks(reader);
	if (reader->at >= reader->text.size || reader->text.data[reader->at] != c)
		return 0;
	reader->at++;
	return 1;
}

/* Anything up to the next character that means something. */
static flow_slice
read_word(struct type_reader *reader)
{
	skip_blanks(reader);
	uint64_t start = reader->at;
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): a zero byte is none of them */
	while (reader->at < reader->text.size && memchr("<>(),:? \t", reader->text.data[reader->at], 9) == NULL)
		reader->at++;
	return flow_slice_make(reader->text.data + start, reader->at - start);
}

static int
read_number(struct type_reader *reader, int64_t least, int64_t most, int64_t *number)
{
	uint64_t start = reader->at;
	if (flow_parse_int64(read_word(reader), number) == FLOW_OK && *number >= least && *number <= most)
		return 1;
	reader->at = start;
	skip_blanks(reader);
	return 0;
}

struct word_kind {
	const char *word;
	uint8_t kind;
};

static const struct word_kind words[] = {
	{ "any", FLOW_KIND_ANY },
	{ "null", FLOW_KIND_NULL },
	{ "bool", FLOW_KIND_BOOL },
	{ "boolean", FLOW_KIND_BOOL },
	{ "int32", FLOW_KIND_INT32 },
	{ "int", FLOW_KIND_INT32 },
	{ "int64", FLOW_KIND_INT64 },
	{ "long", FLOW_KIND_INT64 },
	{ "uint64", FLOW_KIND_UINT64 },
	{ "float32", FLOW_KIND_FLOAT32 },
	{ "float", FLOW_KIND_FLOAT32 },
	{ "float64", FLOW_KIND_FLOAT64 },
	{ "double", FLOW_KIND_FLOAT64 },
	{ "decimal", FLOW_KIND_DECIMAL },
	{ "string", FLOW_KIND_STRING },
	{ "bytes", FLOW_KIND_BYTES },
	{ "fixed", FLOW_KIND_FIXED },
	{ "enum", FLOW_KIND_ENUM },
	{ "date", FLOW_KIND_DATE },
	{ "time", FLOW_KIND_TIME },
	{ "timestamp", FLOW_KIND_TIMESTAMP },
	{ "uuid", FLOW_KIND_UUID },
	{ "list", FLOW_KIND_LIST },
	{ "map", FLOW_KIND_MAP },
	{ "record", FLOW_KIND_RECORD },
	{ "local_timestamp", FLOW_KIND_TIMESTAMP },
};

#define TYPE_NAMES                                                                                                     \
	"any, bool, int32, int64, uint64, float32, float64, decimal, string, bytes, fixed(n), enum(...), date, time, "     \
	"timestamp, local_timestamp, uuid, list<...>, map<...> or record(...)"

static const flow_schema *
read_decimal(struct type_reader *reader, struct schema_node *node)
{
	if (!accept(reader, '('))
		return &node->schema;
	int64_t precision, scale;
	if (!read_number(reader, 1, FLOW_DECIMAL_MAX_DIGITS, &precision))
		return fail(reader, "the precision, 1 or more");
	if (!accept(reader, ','))
		return fail(reader, "',' and the scale");
	if (!read_number(reader, 0, precision, &scale))
		return fail(reader, "the scale, 0 up to the precision");
	if (!accept(reader, ')'))
		return fail(reader, "')'");
	node->schema.precision = (int32_t)precision;
	node->schema.scale = (int32_t)scale;
	return &node->schema;
}

static const flow_schema *
read_fixed(struct type_reader *reader, struct schema_node *node)
{
	int64_t size;
	if (!accept(reader, '(') || !read_number(reader, 0, INT32_MAX, &size) || !accept(reader, ')'))
		return fail(reader, "the size, like fixed(16)");
	node->schema.fixed_size = (uint32_t)size;
	node->schema.name = flow_slice_of("fixed");
	return &node->schema;
}

static const flow_schema *
read_unit(struct type_reader *reader, struct schema_node *node)
{
	if (!accept(reader, '('))
		return &node->schema;
	flow_slice unit = read_word(reader);
	if (flow_slice_is(unit, "s"))
		node->schema.unit = FLOW_SECONDS;
	else if (flow_slice_is(unit, "ms"))
		node->schema.unit = FLOW_MILLISECONDS;
	else if (flow_slice_is(unit, "us"))
		node->schema.unit = FLOW_MICROSECONDS;
	else if (flow_slice_is(unit, "ns"))
		node->schema.unit = FLOW_NANOSECONDS;
	else
		return fail(reader, "the unit s, ms, us or ns");
	return accept(reader, ')') ? &node->schema : fail(reader, "')'");
}

/* Number of elements up to the closing bracket: commas on the first level, and one. */
static uint32_t
count_elements(const struct type_reader *reader)
{
	uint32_t count = 1;
	int level = 0;
	for (uint64_t i = reader->at; i < reader->text.size && level >= 0; i++) {
		char c = reader->text.data[i];
		level += (c == '(' || c == '<') - (c == ')' || c == '>');
		count += c == ',' && level == 0;
	}
	return count;
}

static const flow_schema *
read_enum(struct type_reader *reader, struct schema_node *node)
{
	if (!accept(reader, '('))
		return fail(reader, "the symbols, like enum(a,b)");
	uint32_t most = count_elements(reader), count = 0;
	if (most > SCHEMA_PARTS_MAX)
		return fail(reader, "fewer symbols");
	flow_slice *symbols = flow_builder_alloc(schema_group_memory(reader->group), (uint64_t)most * sizeof(*symbols));
	if (symbols == NULL)
		return no_memory(reader);
	do {
		uint64_t start = reader->at;
		flow_slice symbol = read_word(reader);
		for (uint32_t i = 0; i < count; i++) {
			if (flow_slice_equal(symbols[i], symbol)) {
				reader->at = start;
				return fail(reader, "another symbol: this one is there already");
			}
		}
		if (symbol.size == 0)
			return fail(reader, "a symbol");
		symbols[count] = schema_group_copy(reader->group, symbol);
		if (symbols[count++].data == NULL)
			return no_memory(reader);
	} while (count < most && accept(reader, ','));
	if (!accept(reader, ')'))
		return fail(reader, "',' or ')'");
	node->schema.symbols = symbols;
	node->schema.symbol_count = count;
	node->schema.name = flow_slice_of("enum");
	return &node->schema;
}

static flow_field *
read_field(struct type_reader *reader, flow_field *const *before, uint32_t index)
{
	uint64_t start = reader->at;
	flow_slice name = read_word(reader);
	for (uint32_t i = 0; i < index; i++) {
		if (flow_slice_equal(before[i]->name, name)) {
			reader->at = start;
			fail(reader, "another field name: this one is there already");
			return NULL;
		}
	}
	if (name.size == 0 || !accept(reader, ':')) {
		fail(reader, "a field, like id:int64");
		return NULL;
	}
	const flow_schema *type = read_type(reader);
	if (type == NULL)
		return NULL;
	flow_field *field = flow_builder_alloc(schema_group_memory(reader->group), sizeof(*field));
	flow_slice copy = schema_group_copy(reader->group, name);
	if (field == NULL || copy.data == NULL) {
		no_memory(reader);
		return NULL;
	}
	*field = (flow_field){ .struct_size = FLOW_SIZEOF(flow_field), .index = index, .name = copy, .schema = type };
	return field;
}

static const flow_schema *
read_record(struct type_reader *reader, struct schema_node *node)
{
	if (!accept(reader, '('))
		return fail(reader, "the fields, like record(id:int64,name:string?)");
	uint32_t most = count_elements(reader), count = 0;
	if (most > SCHEMA_PARTS_MAX)
		return fail(reader, "fewer fields");
	flow_field **fields = flow_builder_alloc(schema_group_memory(reader->group), (uint64_t)most * sizeof(*fields));
	if (fields == NULL)
		return no_memory(reader);
	do {
		fields[count] = read_field(reader, fields, count);
		if (fields[count] == NULL)
			return NULL;
		count++;
	} while (count < most && accept(reader, ','));
	if (!accept(reader, ')'))
		return fail(reader, "',' or ')'");
	node->schema.fields = (const flow_field *const *)fields;
	node->schema.field_count = count;
	node->schema.name = flow_slice_of("record");
	return &node->schema;
}

static const flow_schema *
read_element(struct type_reader *reader, struct schema_node *node)
{
	if (!accept(reader, '<'))
		return fail(reader, "'<' and the type of the elements");
	node->schema.element = read_type(reader);
	if (node->schema.element == NULL)
		return NULL;
	return accept(reader, '>') ? &node->schema : fail(reader, "'>'");
}

static const flow_schema *
read_logical(struct type_reader *reader, struct schema_node *node)
{
	if (!accept(reader, ':'))
		return &node->schema;
	flow_slice logical = read_word(reader);
	if (logical.size == 0)
		return fail(reader, "a word behind ':', like string:json");
	node->schema.logical = schema_group_copy(reader->group, logical);
	return node->schema.logical.data == NULL ? no_memory(reader) : &node->schema;
}

static const flow_schema *
read_parts(struct type_reader *reader, struct schema_node *node)
{
	switch (node->schema.kind) {
	case FLOW_KIND_DECIMAL:
		return read_decimal(reader, node);
	case FLOW_KIND_FIXED:
		return read_fixed(reader, node);
	case FLOW_KIND_TIME:
	case FLOW_KIND_TIMESTAMP:
		return read_unit(reader, node);
	case FLOW_KIND_ENUM:
		return read_enum(reader, node);
	case FLOW_KIND_RECORD:
		return read_record(reader, node);
	case FLOW_KIND_LIST:
	case FLOW_KIND_MAP:
		return read_element(reader, node);
	case FLOW_KIND_STRING:
		return read_logical(reader, node);
	default:
		return &node->schema;
	}
}

static const flow_schema *
read_type_within(struct type_reader *reader)
{
	uint64_t start = reader->at;
	flow_slice word = read_word(reader);
	const struct word_kind *found = NULL;
	for (size_t i = 0; i < FLOW_COUNT(words) && found == NULL; i++)
		if (flow_slice_is(word, words[i].word))
			found = &words[i];
	if (found == NULL) {
		reader->at = start;
		skip_blanks(reader);
		return fail(reader, "a type: " TYPE_NAMES);
	}
	struct schema_node *node = schema_group_node(reader->group, found->kind);
	if (node == NULL)
		return no_memory(reader);
	if (flow_slice_is(word, "local_timestamp"))
		node->schema.flags = 0;
	if (read_parts(reader, node) == NULL)
		return NULL;
	if (accept(reader, '?') && found->kind != FLOW_KIND_NULL)
		node->schema.flags |= FLOW_SCHEMA_NULLABLE;
	const flow_schema *plain = schema_of_kind(found->kind, flow_schema_nullable(&node->schema));
	if (plain != NULL && plain->unit == node->schema.unit && plain->flags == node->schema.flags &&
		node->schema.precision == 0 && node->schema.logical.size == 0)
		return plain;
	schema_group_complete(reader->group, node);
	return &node->schema;
}

static const flow_schema *
read_type(struct type_reader *reader)
{
	if (reader->depth == SCHEMA_DEPTH_MAX)
		return fail(reader, "fewer types in types (at most 64)");
	reader->depth++;
	const flow_schema *type = read_type_within(reader);
	reader->depth--;
	return type;
}

const flow_schema *
schema_parse_type(flow_slice text, flow_error *error)
{
	if (text.size > SCHEMA_TEXT_MAX) {
		error_set(error, FLOW_E_LIMIT, "type: the text has %llu bytes; at most %u are read",
				  (unsigned long long)text.size, SCHEMA_TEXT_MAX);
		return NULL;
	}
	if (text.size != 0 && flow_utf8_check(text.data, text.size) != text.size) {
		error_set(error, FLOW_E_CONFIG, "type: the text is not UTF-8");
		return NULL;
	}
	struct type_reader reader = { .text = text, .group = schema_group_create(), .error = error };
	if (reader.group == NULL)
		return no_memory(&reader);
	const flow_schema *type = read_type(&reader);
	skip_blanks(&reader);
	if (type != NULL && reader.at != text.size)
		type = fail(&reader, "the end");
	if (type != NULL)
		return schema_group_finish(reader.group, type);
	schema_group_abandon(reader.group);
	return NULL;
}
