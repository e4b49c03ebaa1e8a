/* Messages as records: the schema that a descriptor gives, and what reading and writing need to know of each field. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "flow_sdk/plugin.h"
#include "protobuf_serde.h"

#define SCHEMA_TEXT_MAX (8u << 20)

/* Avro schema JSON under construction. */
struct text {
	const flow_host *host;
	char *data;
	uint64_t size;
	uint64_t capacity;
	int failed;               /* no memory, or too long */
	const proto_enum **enums; /* those that were written */
	uint32_t enum_count;
};

static void __attribute__((format(printf, 2, 3))) put(struct text *t, const char *format, ...)
{
	for (int tried = 0; !t->failed && tried < 2; tried++) {
		uint64_t left = t->capacity - t->size;
		va_list arguments;
		va_start(arguments, format);
		/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start stands above */
		int size = vsnprintf(t->data == NULL ? NULL : t->data + t->size, left, format, arguments);
		va_end(arguments);
		if ((uint64_t)size < left) {
			t->size += (uint64_t)size;
			return;
		}
		uint64_t capacity = 2 * (t->size + (uint64_t)size + 1);
		char *grown = capacity > SCHEMA_TEXT_MAX ? NULL : (char *)t->host->reallocate(t->data, capacity);
		t->failed = grown == NULL;
		if (grown != NULL) {
			t->data = grown;
			t->capacity = capacity;
		}
	}
}

/* --- nodes --------------------------------------------------------------------------------------------------------------- */

static proto_node *node_of(proto_serde *s, const proto_type *type, struct text *t);

static int
is_timestamp(const proto_serde *s, const proto_type *type)
{
	return !s->format.timestamps_as_records &&
		   flow_slice_is(proto_slice(proto_type_name(type)), "google.protobuf.Timestamp");
}

static proto_node *
known_node(const proto_serde *s, const proto_type *type)
{
	for (proto_node *node = s->nodes; node != NULL; node = node->next)
		if (node->type == type)
			return node;
	return NULL;
}

static int
compare_numbers(const void *left, const void *right)
{
	const proto_number *a = (const proto_number *)left, *b = (const proto_number *)right;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

static void
make_numbers(const proto_serde *s, proto_slot *slot, struct text *t)
{
	uint32_t count = proto_symbol_count(slot->value.symbols);
	slot->numbers = (proto_number *)s->host->allocate(count * sizeof(*slot->numbers));
	if (slot->numbers == NULL) {
		t->failed = 1;
		return;
	}
	slot->number_count = count;
	for (uint32_t i = 0; i < count; i++) {
		slot->numbers[i].symbol = i;
		proto_symbol(slot->value.symbols, i, &slot->numbers[i].number);
	}
	qsort(slot->numbers, count, sizeof(*slot->numbers), compare_numbers);
}

int64_t
proto_symbol_of(const proto_slot *slot, int64_t number)
{
	uint32_t low = 0, high = slot->number_count;
	while (low < high) { /* the first that is not below */
		uint32_t middle = (low + high) / 2;
		if (slot->numbers[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < slot->number_count && slot->numbers[low].number == number ? (int64_t)slot->numbers[low].symbol : -1;
}

int
proto_number_of(const proto_slot *slot, flow_slice symbol, int64_t *number)
{
	for (uint32_t i = 0; i < slot->number_count; i++) {
		int32_t found;
		if (flow_slice_equal(proto_slice(proto_symbol(slot->value.symbols, slot->numbers[i].symbol, &found)), symbol)) {
			*number = found;
			return 1;
		}
	}
	return 0;
}

int32_t
proto_find_slot(const proto_node *node, flow_slice name)
{
	for (uint32_t i = 0; i < node->field_count; i++)
		if (flow_slice_equal(proto_slice(node->slots[i].field.name), name))
			return (int32_t)i;
	return -1;
}

/* --- the schema of one field --------------------------------------------------------------------------------------------- */

static void
put_enum(const proto_serde *s, const proto_enum *symbols, struct text *t)
{
	proto_text name = proto_enum_name(symbols);
	if (s->format.enums_as_numbers) {
		put(t, "\"int\"");
		return;
	}
	for (uint32_t i = 0; i < t->enum_count; i++)
		if (t->enums[i] == symbols) {
			put(t, "\"%.*s\"", (int)name.size, name.data);
			return;
		}
	const proto_enum **grown =
		(const proto_enum **)t->host->reallocate((void *)t->enums, (t->enum_count + 1) * sizeof(*grown));
	if (grown == NULL) {
		t->failed = 1;
		return;
	}
	t->enums = grown;
	t->enums[t->enum_count++] = symbols;
	put(t, "{\"type\":\"enum\",\"name\":\"%.*s\",\"symbols\":[", (int)name.size, name.data);
	for (uint32_t i = 0; i < proto_symbol_count(symbols); i++) {
		int32_t number;
		proto_text symbol = proto_symbol(symbols, i, &number);
		put(t, "%s\"%.*s\"", i == 0 ? "" : ",", (int)symbol.size, symbol.data);
	}
	put(t, "]}");
}

static void put_record(proto_serde *s, const proto_node *node, struct text *t);

static void
put_message(proto_serde *s, proto_slot *slot, struct text *t)
{
	static const char *const units[] = { "timestamp-seconds", "", "", "timestamp-millis", "", "",
										 "timestamp-micros",  "", "", "timestamp-nanos" };
	proto_node *known = known_node(s, slot->value.message);
	proto_text name = proto_type_name(slot->value.message);
	slot->node = known != NULL ? known : node_of(s, slot->value.message, t);
	if (slot->node == NULL)
		return;
	if (slot->node->is_timestamp)
		put(t, "{\"type\":\"long\",\"logicalType\":\"%s\"}", units[s->format.timestamp_unit]);
	else if (known != NULL)
		put(t, "\"%.*s\"", (int)name.size, name.data);
	else
		put_record(s, slot->node, t);
}

static void
put_value_type(proto_serde *s, proto_slot *slot, struct text *t)
{
	static const char *const kinds[] = { "\"boolean\"", "\"int\"",    "\"long\"",   "\"long\"", NULL,
										 "\"float\"",   "\"double\"", "\"string\"", "\"bytes\"" };
	if (slot->value.kind == PROTO_UINT64)
		put(t,
			"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":20,\"scale\":0,\"flow.type\":\"uint64\"}");
	else if (slot->value.kind == PROTO_ENUM)
		put_enum(s, slot->value.symbols, t);
	else if (slot->value.kind == PROTO_MESSAGE)
		put_message(s, slot, t);
	else
		put(t, "%s", kinds[slot->value.kind]);
}

static void
put_field(proto_serde *s, proto_slot *slot, struct text *t)
{
	proto_text name = slot->field.name;
	put(t, "{\"name\":\"%.*s\",\"type\":", (int)name.size, name.data);
	if (slot->field.map)
		put(t, "{\"type\":\"map\",\"values\":");
	else if (slot->field.repeated)
		put(t, "{\"type\":\"array\",\"items\":");
	else if (slot->nullable)
		put(t, "[\"null\",");
	put_value_type(s, slot, t);
	put(t, "%s}", slot->field.repeated ? "}" : slot->nullable ? "]" : "");
}

static void
put_record(proto_serde *s, const proto_node *node, struct text *t)
{
	proto_text name = proto_type_name(node->type);
	put(t, "{\"type\":\"record\",\"name\":\"%.*s\",\"fields\":[", (int)name.size, name.data);
	for (uint32_t i = 0; i < node->field_count && !t->failed; i++) {
		put(t, "%s", i == 0 ? "" : ",");
		put_field(s, &node->slots[i], t);
	}
	put(t, "]}");
}

/* A new node, without what its messages are: that comes with their schema. */
static proto_node *
node_of(proto_serde *s, const proto_type *type, struct text *t)
{
	proto_node *node = (proto_node *)flow_new(s->host, sizeof(*node));
	if (node == NULL) {
		t->failed = 1;
		return NULL;
	}
	proto_node **last = &s->nodes; /* the first one stays the first */
	while (*last != NULL)
		last = &(*last)->next;
	*last = node;
	node->type = type;
	node->is_timestamp = (uint32_t)is_timestamp(s, type);
	if (node->is_timestamp) {
		proto_describe(type, 0, &node->seconds);
		proto_describe(type, 1, &node->nanoseconds);
		return node;
	}
	uint32_t count = proto_field_count(type);
	node->slots = (proto_slot *)flow_new(s->host, (count + 1) * sizeof(*node->slots));
	if (node->slots == NULL) {
		t->failed = 1;
		return node;
	}
	node->field_count = count;
	for (uint32_t i = 0; i < count; i++) {
		proto_slot *slot = &node->slots[i];
		proto_describe(type, i, &slot->field);
		slot->value = slot->field;
		if (slot->field.map) {
			proto_describe(slot->field.message, 0, &slot->key);
			proto_describe(slot->field.message, 1, &slot->value);
		}
		slot->nullable = slot->field.presence && !slot->field.required;
		if (s->format.absent_is_default && slot->field.kind != PROTO_MESSAGE && slot->field.oneof < 0)
			slot->nullable = 0;
		if (slot->value.kind == PROTO_ENUM)
			make_numbers(s, slot, t);
	}
	return node;
}

/* --- all of it ------------------------------------------------------------------------------------------------------------- */

/* The symbols of enums as the schema keeps them, which lives as long as any batch. */
static void
find_symbols(proto_node *node, const flow_schema *schema)
{
	if (node->schema != NULL || node->is_timestamp)
		return;
	node->schema = schema;
	for (uint32_t i = 0; i < node->field_count; i++) {
		proto_slot *slot = &node->slots[i];
		const flow_schema *value = schema->fields[i]->schema;
		if (slot->field.repeated)
			value = value->element;
		if (slot->value.kind == PROTO_ENUM)
			slot->symbols = value->symbols;
		if (slot->node != NULL)
			find_symbols(slot->node, value);
	}
}

flow_status
proto_make_types(proto_serde *s, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	struct text t = { .host = s->host };
	const proto_node *node = node_of(s, s->type, &t);
	if (node != NULL && !node->is_timestamp)
		put_record(s, node, &t);
	flow_status status = FLOW_OK;
	if (node != NULL && node->is_timestamp)
		status = flow_fail(s->host, error, FLOW_E_CONFIG,
						   "protobuf: a timestamp alone is no record; set timestamps to \"record\"");
	else if (t.failed || node == NULL)
		status =
			flow_fail(s->host, error, FLOW_E_MEMORY, "protobuf: out of memory, or the type is too large for a schema");
	if (status == FLOW_OK) {
		s->schema = schemas->parse_json(flow_slice_make(t.data, t.size), error);
		status = s->schema != NULL ? FLOW_OK : FLOW_E_CONFIG;
	}
	if (status == FLOW_OK)
		find_symbols(s->nodes, s->schema);
	s->host->release(t.data);
	s->host->release((void *)t.enums);
	return status;
}

void
proto_release_types(proto_serde *s)
{
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	for (proto_node *node = s->nodes, *next; node != NULL; node = next) {
		next = node->next;
		for (uint32_t i = 0; i < node->field_count; i++)
			s->host->release(node->slots[i].numbers);
		s->host->release(node->slots);
		s->host->release(node);
	}
	schemas->release(s->schema);
}
