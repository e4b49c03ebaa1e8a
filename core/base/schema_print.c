/*
 * Schema -> text: Avro schema JSON, the short form; and what is computed from the text: fingerprint and equality.
 *
 * What Avro cannot say is said by attributes that other readers ignore: "flow.name" and "flow.symbols" keep names that are not
 * Avro names, "flow.type" the kinds any and uint64 (an Avro decimal of 20 digits), logical types "time-nanos",
 * "time-seconds", "timestamp-seconds" and so on the units that Avro lacks.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/schema_print.h"

#define NAME_MAX_PRINTED 512

/* A named type that was defined already, and the number behind its name if that name was taken (0: none). */
struct defined {
	const flow_schema *schema;
	uint32_t number;
};

struct printer {
	struct schema_sink sink;
	int docs;
	int parts_by_fingerprint;
	int failed; /* out of memory */
	struct defined *defined;
	uint32_t defined_count;
	uint32_t defined_capacity;
};

void
schema_put(struct schema_sink *sink, const char *text, uint64_t size)
{
	if (sink->hash != NULL)
		XXH3_64bits_update(sink->hash, text, size);
	if (sink->size > sink->length) {
		uint64_t room = sink->size - sink->length;
		memcpy(sink->buffer + sink->length, text, size < room ? size : room);
	}
	sink->length += size;
}

void
schema_put_text(struct schema_sink *sink, const char *text)
{
	schema_put(sink, text, strlen(text));
}

void
schema_put_format(struct schema_sink *sink, const char *format, ...)
{
	char text[128];
	va_list arguments;
	va_start(arguments, format);
	int size = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	schema_put(sink, text, size < (int)sizeof(text) ? (uint64_t)size : sizeof(text) - 1);
}

void
schema_put_string(struct schema_sink *sink, flow_slice text)
{
	schema_put(sink, "\"", 1);
	for (uint64_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.data[i];
		if (c == '"' || c == '\\')
			schema_put_format(sink, "\\%c", c);
		else if (c < 0x20)
			schema_put_format(sink, "\\u%04x", c);
		else
			schema_put(sink, text.data + i, 1);
	}
	schema_put(sink, "\"", 1);
}

static void
put(struct printer *p, const char *text)
{
	schema_put_text(&p->sink, text);
}

/* ---- names ---- */

/* The name with every byte that Avro does not allow as '_'. */
static flow_slice
plain_name(flow_slice name, char *buffer)
{
	uint64_t size = 0;
	if (name.size != 0 && name.data[0] >= '0' && name.data[0] <= '9')
		buffer[size++] = '_';
	for (uint64_t i = 0; i < name.size && size < NAME_MAX_PRINTED; i++) {
		flow_slice c = flow_slice_make(name.data + i, 1);
		buffer[size++] = schema_name_is_plain(c) || (*c.data >= '0' && *c.data <= '9') ? *c.data : '_';
	}
	if (size == 0)
		buffer[size++] = '_';
	return flow_slice_make(buffer, size);
}

/* The n-th of some names as Avro takes it: plain, and unlike the ones before it. */
static void
put_plain_name(struct printer *p, flow_slice (*name_of)(const flow_schema *, uint32_t), const flow_schema *schema,
			   uint32_t n)
{
	char buffer[NAME_MAX_PRINTED + 1], other[NAME_MAX_PRINTED + 1];
	flow_slice name = name_of(schema, n);
	if (schema_name_is_plain(name)) {
		schema_put_string(&p->sink, name);
		return;
	}
	name = plain_name(name, buffer);
	int taken = 0;
	for (uint32_t i = 0; i < schema->field_count + schema->symbol_count && !taken; i++)
		taken = i != n && flow_slice_equal(plain_name(name_of(schema, i), other), name);
	schema_put_format(&p->sink, "\"");
	schema_put(&p->sink, name.data, name.size);
	if (taken) /* the number of the place makes it unique enough: a plain name of that form would have to be meant to clash */
		schema_put_format(&p->sink, "__%u", n);
	put(p, "\"");
}

static flow_slice
field_name(const flow_schema *schema, uint32_t n)
{
	return schema->fields[n]->name;
}

static flow_slice
symbol_name(const flow_schema *schema, uint32_t n)
{
	return schema->symbols[n];
}

/* Full name as printed: plain, with its number. */
static void
put_full_name(struct printer *p, const flow_schema *schema, uint32_t number)
{
	char buffer[NAME_MAX_PRINTED + 1];
	flow_slice name = schema_full_name_is_plain(schema->name) ? schema->name : plain_name(schema->name, buffer);
	put(p, "\"");
	schema_put(&p->sink, name.data, name.size);
	if (number != 0)
		schema_put_format(&p->sink, "_%u", number);
	put(p, "\"");
}

/* ---- definitions ---- */

static int
fields_equal(const flow_schema *a, const flow_schema *b)
{
	for (uint32_t i = 0; i < a->field_count; i++) {
		const flow_field *x = a->fields[i], *y = b->fields[i];
		if (!flow_slice_equal(x->name, y->name) || (x->default_value == NULL) != (y->default_value == NULL))
			return 0;
		if (x->schema->fingerprint != y->schema->fingerprint)
			return 0;
		if (x->default_value != NULL && !value_equal(x->default_value, y->default_value))
			return 0;
	}
	return 1;
}

/* The same named type, nullability aside: by what it says itself and the fingerprints of its parts. */
static int
same_definition(const flow_schema *a, const flow_schema *b)
{
	if (a == b)
		return 1;
	if (a->kind != b->kind || !flow_slice_equal(a->name, b->name) || a->field_count != b->field_count ||
		a->symbol_count != b->symbol_count || a->fixed_size != b->fixed_size)
		return 0;
	if (a->precision != b->precision || a->scale != b->scale || !flow_slice_equal(a->logical, b->logical))
		return 0;
	if (!flow_slice_equal(a->default_symbol, b->default_symbol))
		return 0;
	for (uint32_t i = 0; a->symbols != b->symbols && i < a->symbol_count; i++)
		if (!flow_slice_equal(a->symbols[i], b->symbols[i]))
			return 0;
	return a->fields == b->fields || fields_equal(a, b);
}

/* Was it defined before? Then *number is the one behind its name; else it is added with a number of its own. */
static int
find_definition(struct printer *p, const flow_schema *schema, uint32_t *number)
{
	*number = 0;
	for (uint32_t i = 0; i < p->defined_count; i++) {
		if (same_definition(p->defined[i].schema, schema)) {
			*number = p->defined[i].number;
			return 1;
		}
		if (flow_slice_equal(p->defined[i].schema->name, schema->name))
			*number = p->defined[i].number == 0 ? 2 : p->defined[i].number + 1;
	}
	if (p->defined_count == p->defined_capacity) {
		uint32_t capacity = p->defined_capacity == 0 ? 16 : p->defined_capacity * 2;
		struct defined *more = memory_reallocate(p->defined, capacity * sizeof(*more));
		if (more == NULL) {
			p->failed = 1;
			return 1;
		}
		p->defined = more;
		p->defined_capacity = capacity;
	}
	p->defined[p->defined_count++] = (struct defined){ schema, *number };
	return 0;
}

/* ---- Avro JSON ---- */

static void put_part(struct printer *p, const flow_schema *part, int in_namespace);

static void
put_attribute(struct printer *p, const char *name, flow_slice text)
{
	schema_put_format(&p->sink, ",\"%s\":", name);
	schema_put_string(&p->sink, text);
}

static void
put_doc_and_aliases(struct printer *p, flow_slice doc, const flow_slice *aliases, uint64_t count)
{
	if (p->docs && doc.size != 0)
		put_attribute(p, "doc", doc);
	for (uint64_t i = 0; i < count; i++) {
		put(p, i == 0 ? ",\"aliases\":[" : ",");
		schema_put_string(&p->sink, aliases[i]);
	}
	if (count != 0)
		put(p, "]");
}

static void
put_named_head(struct printer *p, const char *type, const flow_schema *schema, uint32_t number, int in_namespace)
{
	schema_put_format(&p->sink, "{\"type\":\"%s\",\"name\":", type);
	put_full_name(p, schema, number);
	if (in_namespace && memchr(schema->name.data, '.', schema->name.size) == NULL)
		put(p, ",\"namespace\":\"\"");
	if (!schema_full_name_is_plain(schema->name) || number != 0)
		put_attribute(p, "flow.name", schema->name);
	put_doc_and_aliases(p, schema->doc, schema->aliases, schema->alias_count);
}

static void
put_fields(struct printer *p, const flow_schema *schema, int in_namespace)
{
	put(p, ",\"fields\":[");
	for (uint32_t i = 0; i < schema->field_count; i++) {
		const flow_field *field = schema->fields[i];
		put(p, i == 0 ? "{\"name\":" : ",{\"name\":");
		put_plain_name(p, field_name, schema, i);
		if (!schema_name_is_plain(field->name))
			put_attribute(p, "flow.name", field->name);
		put(p, ",\"type\":");
		put_part(p, field->schema, in_namespace);
		put_doc_and_aliases(p, field->doc, field->aliases, field->alias_count);
		if (field->default_value != NULL) {
			put(p, ",\"default\":");
			schema_put_default(&p->sink, field->schema, field->default_value);
		}
		put(p, "}");
	}
	put(p, "]");
}

static void
put_symbols(struct printer *p, const flow_schema *schema)
{
	int all_plain = 1;
	for (uint32_t i = 0; i < schema->symbol_count; i++) {
		put(p, i == 0 ? ",\"symbols\":[" : ",");
		put_plain_name(p, symbol_name, schema, i);
		all_plain &= schema_name_is_plain(schema->symbols[i]);
	}
	put(p, schema->symbol_count == 0 ? ",\"symbols\":[]" : "]");
	for (uint32_t i = 0; !all_plain && i < schema->symbol_count; i++) {
		put(p, i == 0 ? ",\"flow.symbols\":[" : ",");
		schema_put_string(&p->sink, schema->symbols[i]);
	}
	if (!all_plain)
		put(p, "]");
	for (uint32_t i = 0; schema->default_symbol.size != 0 && i < schema->symbol_count; i++) {
		if (!flow_slice_equal(schema->symbols[i], schema->default_symbol))
			continue;
		put(p, ",\"default\":");
		put_plain_name(p, symbol_name, schema, i);
	}
}

/* Records, enums, and everything that lies in a fixed. */
static void
put_named(struct printer *p, const flow_schema *schema, int in_namespace)
{
	uint32_t number;
	if (find_definition(p, schema, &number)) {
		put_full_name(p, schema, number);
		return;
	}
	const char *type = schema->kind == FLOW_KIND_RECORD ? "record" : schema->kind == FLOW_KIND_ENUM ? "enum" : "fixed";
	put_named_head(p, type, schema, number, in_namespace);
	int has_namespace = schema->name.size != 0 && memchr(schema->name.data, '.', schema->name.size) != NULL;
	if (schema->kind == FLOW_KIND_RECORD)
		put_fields(p, schema, has_namespace);
	else if (schema->kind == FLOW_KIND_ENUM)
		put_symbols(p, schema);
	else
		schema_put_format(&p->sink, ",\"size\":%u", schema->fixed_size);
	if (schema->kind == FLOW_KIND_DECIMAL)
		schema_put_format(&p->sink, ",\"logicalType\":\"decimal\",\"precision\":%d,\"scale\":%d", schema->precision,
						  schema->scale);
	else if (schema->kind == FLOW_KIND_UUID)
		put(p, ",\"logicalType\":\"uuid\"");
	else if (schema->logical.size != 0)
		put_attribute(p, "logicalType", schema->logical);
	put(p, "}");
}

static const char *
unit_name(uint8_t unit)
{
	return unit == FLOW_SECONDS        ? "seconds"
		   : unit == FLOW_MILLISECONDS ? "millis"
		   : unit == FLOW_MICROSECONDS ? "micros"
									   : "nanos";
}

static void
put_simple(struct printer *p, const char *type, flow_slice logical)
{
	if (logical.size == 0) {
		schema_put_format(&p->sink, "\"%s\"", type);
		return;
	}
	schema_put_format(&p->sink, "{\"type\":\"%s\"", type);
	put_attribute(p, "logicalType", logical);
	put(p, "}");
}

static void
put_time(struct printer *p, const flow_schema *schema)
{
	const char *zone = schema->kind == FLOW_KIND_TIME             ? "time"
					   : (schema->flags & FLOW_SCHEMA_ZONED) != 0 ? "timestamp"
																  : "local-timestamp";
	int is_int = schema->kind == FLOW_KIND_TIME && schema->unit <= FLOW_MILLISECONDS;
	schema_put_format(&p->sink, "{\"type\":\"%s\",\"logicalType\":\"%s-%s\"}", is_int ? "int" : "long", zone,
					  unit_name(schema->unit));
}

static void
put_container(struct printer *p, const flow_schema *schema, int in_namespace)
{
	put(p, schema->kind == FLOW_KIND_LIST ? "{\"type\":\"array\",\"items\":" : "{\"type\":\"map\",\"values\":");
	put_part(p, schema->element, in_namespace);
	if (schema->logical.size != 0)
		put_attribute(p, "logicalType", schema->logical);
	put(p, "}");
}

/* The type without its nullability, not a union. */
static void
put_json_type(struct printer *p, const flow_schema *schema, int in_namespace)
{
	switch (schema->kind) {
	case FLOW_KIND_ANY:
		put(p, "{\"type\":\"string\",\"flow.type\":\"any\"}");
		break;
	case FLOW_KIND_NULL:
		put_simple(p, "null", schema->logical);
		break;
	case FLOW_KIND_BOOL:
		put_simple(p, "boolean", schema->logical);
		break;
	case FLOW_KIND_INT32:
		put_simple(p, "int", schema->logical);
		break;
	case FLOW_KIND_INT64:
		put_simple(p, "long", schema->logical);
		break;
	case FLOW_KIND_UINT64:
		put(p,
			"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":20,\"scale\":0,\"flow.type\":\"uint64\"}");
		break;
	case FLOW_KIND_FLOAT32:
		put_simple(p, "float", schema->logical);
		break;
	case FLOW_KIND_FLOAT64:
		put_simple(p, "double", schema->logical);
		break;
	case FLOW_KIND_STRING:
		put_simple(p, "string", schema->logical);
		break;
	case FLOW_KIND_BYTES:
		put_simple(p, "bytes", schema->logical);
		break;
	case FLOW_KIND_DATE:
		put_simple(p, "int", flow_slice_of("date"));
		break;
	case FLOW_KIND_TIME:
	case FLOW_KIND_TIMESTAMP:
		put_time(p, schema);
		break;
	case FLOW_KIND_LIST:
	case FLOW_KIND_MAP:
		put_container(p, schema, in_namespace);
		break;
	case FLOW_KIND_DECIMAL:
		if (schema->name.size != 0)
			put_named(p, schema, in_namespace);
		else if (schema->precision == 0)
			put_simple(p, "bytes", flow_slice_of("big-decimal"));
		else
			schema_put_format(&p->sink,
							  "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":%d,\"scale\":%d}",
							  schema->precision, schema->scale);
		break;
	case FLOW_KIND_UUID:
		if (schema->name.size == 0) {
			put_simple(p, "string", flow_slice_of("uuid"));
			break;
		} /* fall through */
	default:
		put_named(p, schema, in_namespace);
	}
}

/* For the fingerprint: a part by its own; one that has none yet is a named type around the part. */
static void
put_fingerprint(struct printer *p, const flow_schema *part)
{
	if (part->fingerprint != 0)
		schema_put_format(&p->sink, "#%016llx", (unsigned long long)part->fingerprint);
	else
		schema_put(&p->sink, part->name.data, part->name.size);
}

static void put_json(struct printer *p, const flow_schema *schema, int in_namespace);

static void
put_part(struct printer *p, const flow_schema *part, int in_namespace)
{
	if (p->parts_by_fingerprint)
		put_fingerprint(p, part);
	else
		put_json(p, part, in_namespace);
}

static void
put_json(struct printer *p, const flow_schema *schema, int in_namespace)
{
	int nullable = flow_schema_nullable(schema);
	int is_union = schema->kind == FLOW_KIND_UNION;
	if (!nullable && !is_union) {
		put_json_type(p, schema, in_namespace);
		return;
	}
	uint32_t count = is_union ? schema->branch_count : 1;
	put(p, "[");
	for (uint32_t i = 0; i <= count; i++) {
		if (nullable && i == schema->null_index)
			put(p, i == 0 ? (count == 0 ? "\"null\"" : "\"null\",") : (i == count ? ",\"null\"" : ",\"null\","));
		else if (i != 0 && i < count)
			put(p, ",");
		if (i < count && is_union)
			put_part(p, schema->branches[i], in_namespace);
		else if (i < count)
			put_json_type(p, schema, in_namespace);
	}
	put(p, "]");
}

/* ---- the short form ---- */

static void
put_short_unit(struct printer *p, const flow_schema *schema)
{
	if (schema->unit != FLOW_MICROSECONDS)
		put(p, schema->unit == FLOW_SECONDS ? "(s)" : schema->unit == FLOW_MILLISECONDS ? "(ms)" : "(ns)");
}

static const char *const short_names[] = {
	"any",   "null", "bool", "int32", "int64",     "uint64", "float32", "float64", "decimal", "string", "bytes",
	"fixed", "enum", "date", "time",  "timestamp", "uuid",   "list",    "map",     "record",  "union",
};

static void put_short(struct printer *p, const flow_schema *schema);

static void
put_short_parts(struct printer *p, const flow_schema *schema)
{
	switch (schema->kind) {
	case FLOW_KIND_DECIMAL:
		if (schema->precision != 0)
			schema_put_format(&p->sink, "(%d,%d)", schema->precision, schema->scale);
		break;
	case FLOW_KIND_FIXED:
		schema_put_format(&p->sink, "(%u)", schema->fixed_size);
		break;
	case FLOW_KIND_TIME:
	case FLOW_KIND_TIMESTAMP:
		put_short_unit(p, schema);
		break;
	case FLOW_KIND_LIST:
	case FLOW_KIND_MAP:
		put(p, "<");
		put_short(p, schema->element);
		put(p, ">");
		break;
	case FLOW_KIND_ENUM:
		for (uint32_t i = 0; i < schema->symbol_count; i++) {
			put(p, i == 0 ? "(" : ",");
			schema_put(&p->sink, schema->symbols[i].data, schema->symbols[i].size);
		}
		put(p, schema->symbol_count == 0 ? "()" : ")");
		break;
	case FLOW_KIND_UNION:
		for (uint32_t i = 0; i < schema->branch_count; i++) {
			put(p, i == 0 ? "(" : ",");
			put_short(p, schema->branches[i]);
		}
		put(p, schema->branch_count == 0 ? "()" : ")");
		break;
	default:
		if (schema->kind == FLOW_KIND_STRING && schema->logical.size != 0) {
			put(p, ":");
			schema_put(&p->sink, schema->logical.data, schema->logical.size);
		}
	}
}

static void
put_short_record(struct printer *p, const flow_schema *schema)
{
	uint32_t number;
	/* Around itself it is only named, since it may hold itself; so it is when the text gets out of hand. */
	if (find_definition(p, schema, &number) || p->sink.length > SCHEMA_TEXT_MAX) {
		schema_put(&p->sink, schema->name.data, schema->name.size);
		return;
	}
	put(p, "record(");
	for (uint32_t i = 0; i < schema->field_count; i++) {
		if (i != 0)
			put(p, ",");
		schema_put(&p->sink, schema->fields[i]->name.data, schema->fields[i]->name.size);
		put(p, ":");
		put_short(p, schema->fields[i]->schema);
	}
	put(p, ")");
	p->defined_count--;
}

static void
put_short(struct printer *p, const flow_schema *schema)
{
	if (schema->kind == FLOW_KIND_RECORD) {
		put_short_record(p, schema);
	} else {
		int local = schema->kind == FLOW_KIND_TIMESTAMP && (schema->flags & FLOW_SCHEMA_ZONED) == 0;
		put(p, local ? "local_" : "");
		put(p, schema->kind < FLOW_COUNT(short_names) ? short_names[schema->kind] : "?");
		put_short_parts(p, schema);
	}
	if (flow_schema_nullable(schema))
		put(p, "?");
}

/* ---- what is asked for ---- */

static void
print(struct printer *p, const flow_schema *schema, int short_form)
{
	const struct schema_node *node = (const struct schema_node *)schema;
	if (short_form)
		put_short(p, schema);
	else if (p->docs && node->source.size != 0)
		schema_put(&p->sink, node->source.data, node->source.size);
	else
		put_json(p, schema, 0);
	memory_release(p->defined);
}

uint64_t
schema_print(const flow_schema *schema, int short_form, char *buffer, uint64_t size)
{
	struct printer p = { .docs = 1, .sink = { .buffer = buffer, .size = size == 0 ? 0 : size - 1 } };
	print(&p, schema, short_form);
	if (p.failed)
		p.sink.length = 0;
	if (size != 0)
		buffer[p.sink.length < size ? p.sink.length : size - 1] = '\0';
	return p.sink.length;
}

uint64_t
schema_fingerprint(const flow_schema *schema)
{
	XXH3_state_t hash;
	XXH3_64bits_reset(&hash);
	struct defined own;
	struct printer p = { .sink = { .hash = &hash }, .parts_by_fingerprint = 1, .defined = &own, .defined_capacity = 1 };
	put_json(&p, schema, 0);
	uint64_t digest = XXH3_64bits_digest(&hash);
	return digest == 0 ? 1 : digest;
}

/* The normalised form in memory; NULL: out of memory. */
static char *
normal_form(const flow_schema *schema, uint64_t *length)
{
	struct printer measure = { .docs = 0 };
	print(&measure, schema, 0);
	char *text = measure.failed ? NULL : memory_allocate(measure.sink.length);
	if (text == NULL)
		return NULL;
	struct printer p = { .sink = { .buffer = text, .size = measure.sink.length } };
	print(&p, schema, 0);
	*length = p.failed ? 0 : p.sink.length;
	return text;
}

int
schema_equal(const flow_schema *a, const flow_schema *b)
{
	if (a == b)
		return 1;
	if (a == NULL || b == NULL || a->fingerprint != b->fingerprint)
		return 0;
	/* A fingerprint can be forged, and cells of one type that are read as another crash: look at the content. */
	uint64_t size_a = 0, size_b = 0;
	char *text_a = normal_form(a, &size_a), *text_b = normal_form(b, &size_b);
	int equal =
		text_a != NULL && text_b != NULL && size_a == size_b && size_a != 0 && memcmp(text_a, text_b, size_a) == 0;
	memory_release(text_a);
	memory_release(text_b);
	return equal;
}
