/* The type of documents, from the first of them: records whose fields may all be null; what is of several types stays `any`. */
#include <stdio.h>

#include "flow_sdk/plugin.h"
#include "json.h"

#define SEEN_BOOL 1u
#define SEEN_INTEGER 2u
#define SEEN_NUMBER 4u /* with a fraction, or beyond int64 */
#define SEEN_STRING 8u
#define SEEN_LIST 16u
#define SEEN_OBJECT 32u

struct shape;

struct member {
	flow_slice name;
	struct shape *shape;
};

/* What was seen at one place of the documents. */
struct shape {
	uint32_t seen;
	struct shape *element;
	struct member *members;
	uint32_t member_count;
	uint32_t member_room;
};

struct inference {
	const json_serde *serde;
	flow_builder *memory;
	json_parser *parser;
	struct shape root;
	uint32_t records; /* made so far, for their names */
	flow_error *error;
};

static const flow_schemas *
schemas_of(const struct inference *n)
{
	return (const flow_schemas *)n->serde->host->get_service(FLOW_SERVICE_SCHEMAS);
}

/* --- looking --------------------------------------------------------------------------------------------------------- */

static struct shape *
new_shape(struct inference *n)
{
	struct shape *shape = (struct shape *)flow_builder_alloc(n->memory, sizeof(*shape));
	if (shape != NULL)
		memset(shape, 0, sizeof(*shape));
	return shape;
}

/* Keys mostly come in the order of the document before. NULL: out of memory. */
static struct shape *
member_of(struct inference *n, struct shape *of, flow_slice name, uint32_t expected)
{
	for (uint32_t i = 0; i < of->member_count; i++) {
		uint32_t at = (expected + i) % of->member_count;
		if (flow_slice_equal(of->members[at].name, name))
			return of->members[at].shape;
	}
	if (of->member_count == of->member_room) {
		uint32_t room = of->member_room == 0 ? 16 : of->member_room * 2;
		struct member *larger = (struct member *)flow_builder_alloc(n->memory, room * sizeof(*larger));
		if (larger == NULL)
			return NULL;
		if (of->member_count != 0)
			memcpy(larger, of->members, of->member_count * sizeof(*larger));
		of->members = larger;
		of->member_room = room;
	}
	struct shape *shape = new_shape(n);
	if (shape != NULL)
		of->members[of->member_count++] = (struct member){ name, shape };
	return shape;
}

static flow_status look(struct inference *n, struct shape *at, const flow_value *value);

static flow_status
look_at_list(struct inference *n, struct shape *at, const flow_list *list)
{
	if (at->element == NULL)
		at->element = new_shape(n);
	flow_status status = at->element == NULL ? FLOW_E_MEMORY : FLOW_OK;
	for (uint64_t i = 0; status == FLOW_OK && i < list->count; i++)
		status = look(n, at->element, &list->items[i]);
	return status;
}

static flow_status
look_at_object(struct inference *n, struct shape *at, const flow_map *map)
{
	flow_status status = FLOW_OK;
	for (uint64_t i = 0; status == FLOW_OK && i < map->count; i++) {
		struct shape *member = member_of(n, at, flow_value_slice(&map->entries[i].key), (uint32_t)i);
		status = member == NULL ? FLOW_E_MEMORY : look(n, member, &map->entries[i].value);
	}
	return status;
}

static flow_status
look(struct inference *n, struct shape *at, const flow_value *value)
{
	switch (value->type) {
	case FLOW_NULL:
		return FLOW_OK;
	case FLOW_BOOL:
		at->seen |= SEEN_BOOL;
		return FLOW_OK;
	case FLOW_INT64:
		at->seen |= SEEN_INTEGER;
		return FLOW_OK;
	case FLOW_STRING:
		at->seen |= SEEN_STRING;
		return FLOW_OK;
	case FLOW_LIST:
		at->seen |= SEEN_LIST;
		return look_at_list(n, at, value->as.list);
	case FLOW_MAP:
		at->seen |= SEEN_OBJECT;
		return look_at_object(n, at, value->as.map);
	default:
		at->seen |= SEEN_NUMBER;
		return FLOW_OK;
	}
}

static flow_status
look_at_text(struct inference *n, const char *text, uint64_t size)
{
	flow_value value;
	json_fault fault;
	flow_status status = json_parse(n->parser, n->serde->node, NULL, text, size, n->memory, &value, &fault);
	if (status == FLOW_OK)
		return look(n, &n->root, &value);
	return status == FLOW_E_MEMORY ? status : FLOW_OK; /* a bad record is told when it is read */
}

static int
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int
is_between(char c)
{
	return is_blank(c) || c == ',';
}

/* The documents that end within the sample, each with what json_parse needs behind it. */
static flow_status
look_at_sample(struct inference *n, const char *text, uint64_t size, int whole)
{
	int framing = n->serde->format.framing;
	flow_status status = FLOW_OK;
	uint64_t at = 0;
	if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
		at = 3;
	while (at < size && is_blank(text[at]))
		at++;
	if (framing == JSON_AUTO && at < size)
		framing = json_framing_of(text[at]);
	for (int first = 1; status == FLOW_OK; first = 0) {
		while (at < size && is_between(text[at]))
			at++;
		if (first && framing == JSON_ARRAY && at < size && text[at] == '[')
			at++;
		while (at < size && is_between(text[at]))
			at++;
		if (at >= size || (framing == JSON_ARRAY && text[at] == ']'))
			break;
		uint64_t length;
		if (framing == JSON_LINES) {
			const char *end = (const char *)memchr(text + at, '\n', size - at);
			if (end == NULL && !whole)
				break;
			length = end == NULL ? size - at : (uint64_t)(end - (text + at));
		} else {
			json_split split = { 0 };
			if (!json_split_find(&split, text + at, size - at, framing))
				break;
			length = split.looked;
		}
		status = look_at_text(n, text + at, length);
		at += length == 0 ? 1 : length;
	}
	return status;
}

/* --- the type -------------------------------------------------------------------------------------------------------- */

static const flow_schema *schema_of(struct inference *n, const struct shape *shape);

static const flow_schema *
list_of(struct inference *n, const struct shape *shape)
{
	const flow_host *host = n->serde->host;
	const flow_schemas *schemas = schemas_of(n);
	static const char before[] = "{\"type\":\"array\",\"items\":";
	const flow_schema *element = schema_of(n, shape->element), *list = NULL;
	uint64_t size = element == NULL ? 0 : schemas->print(element, 0, NULL, 0);
	char *text = element == NULL ? NULL : (char *)flow_new(host, sizeof(before) + size + 2);
	if (text != NULL) {
		memcpy(text, before, sizeof(before) - 1);
		schemas->print(element, 0, text + sizeof(before) - 1, size + 1);
		memcpy(text + sizeof(before) - 1 + size, "}", 2);
		list = schemas->parse_json(flow_slice_of(text), n->error);
	}
	schemas->release(element);
	host->release(text);
	return list;
}

static const flow_schema *
record_of(struct inference *n, const struct shape *shape)
{
	const flow_host *host = n->serde->host;
	const flow_schemas *schemas = schemas_of(n);
	char name[32];
	snprintf(name, sizeof(name), n->records == 0 ? "record" : "record_%u", n->records);
	n->records++;
	flow_field_spec *specs = (flow_field_spec *)flow_new(host, (shape->member_count + 1) * sizeof(*specs));
	const flow_field_spec **pointers =
		(const flow_field_spec **)flow_new(host, (shape->member_count + 1) * sizeof(*pointers));
	const flow_schema *record = NULL;
	uint32_t count = 0;
	if (specs != NULL && pointers != NULL) {
		for (; count < shape->member_count; count++) {
			const flow_schema *type = schema_of(n, shape->members[count].shape);
			if (type == NULL)
				break;
			specs[count] = (flow_field_spec){ .struct_size = FLOW_SIZEOF(flow_field_spec),
											  .name = shape->members[count].name,
											  .schema = type };
			pointers[count] = &specs[count];
		}
		if (count == shape->member_count)
			record = schemas->make_record(flow_slice_of(name), pointers, count, n->error);
	}
	for (uint32_t i = 0; i < count; i++)
		schemas->release(specs[i].schema);
	host->release(specs);
	host->release(pointers);
	return record;
}

static const flow_schema *
plain_type(struct inference *n, const char *type)
{
	return schemas_of(n)->parse_type(flow_slice_of(type), n->error);
}

/* Nullable, since later documents may lack what these have. Owned by the caller; NULL: out of memory. */
static const flow_schema *
schema_of(struct inference *n, const struct shape *shape)
{
	const flow_schemas *schemas = schemas_of(n);
	const flow_schema *type;
	switch (shape->seen) {
	case 0: /* nothing but null */
	case SEEN_STRING:
		return plain_type(n, "string?");
	case SEEN_BOOL:
		return plain_type(n, "bool?");
	case SEEN_INTEGER:
		return plain_type(n, "int64?");
	case SEEN_NUMBER:
	case SEEN_NUMBER | SEEN_INTEGER:
		return plain_type(n, n->serde->infer == JSON_INFER_FLOAT ? "float64?" : "decimal?");
	case SEEN_LIST:
		type = list_of(n, shape);
		break;
	case SEEN_OBJECT:
		type = record_of(n, shape);
		break;
	default:
		return plain_type(n, "any");
	}
	const flow_schema *nullable = type == NULL ? NULL : schemas->with_nullable(type, 1);
	schemas->release(type);
	return nullable;
}

static const flow_schema *
whole_type(struct inference *n)
{
	return n->root.seen == SEEN_OBJECT ? record_of(n, &n->root) : plain_type(n, "any");
}

flow_status
json_infer(const json_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	const flow_host *host = serde->host;
	const flow_memory *memory = (const flow_memory *)host->get_service(FLOW_SERVICE_MEMORY);
	struct inference n = { .serde = serde, .error = error };
	char *text = (char *)flow_new(host, sample.size + 1 + JSON_PADDING);
	n.memory = memory->open();
	n.parser = json_parser_create(host, &serde->format);
	flow_status status = text == NULL || n.memory == NULL || n.parser == NULL ? FLOW_E_MEMORY : FLOW_OK;
	if (status == FLOW_OK) {
		memcpy(text, sample.data, sample.size);
		status = look_at_sample(&n, text, sample.size, sample.size < FLOW_SAMPLE_SIZE);
	}
	if (status == FLOW_OK)
		*schema = whole_type(&n);
	if (status == FLOW_E_MEMORY)
		flow_fail(host, error, status, "out of memory");
	else if (status == FLOW_OK && *schema == NULL)
		status = FLOW_E_MEMORY;
	json_parser_destroy(n.parser);
	if (n.memory != NULL)
		memory->close(n.memory);
	host->release(text);
	return status;
}
