/* Option tables for tools: JSON Schema, and a sample configuration. */
#include <jansson.h>
#include <string.h>

#include "options/describe.h"
#include "options/describe_part.h"
#include "options/resolve.h"

static json_t *schema_of_options(const flow_option *const *options, int depth);

static json_t *
typed(const char *type)
{
	return json_pack("{s:s}", "type", type);
}

static json_t *
schema_of_choices(const flow_option *o)
{
	json_t *values = json_array();
	for (size_t i = 0; o->choices != NULL && o->choices[i] != NULL; i++)
		json_array_append_new(values, json_stringn(o->choices[i], strcspn(o->choices[i], "\t")));
	return json_pack("{s:s, s:o}", "type", "string", "enum", values);
}

static json_t *
schema_of_type(const flow_option *o, uint32_t type, int depth)
{
	switch (type) {
	case FLOW_OPTION_INT:
		return typed("integer");
	case FLOW_OPTION_FLOAT:
		return typed("number");
	case FLOW_OPTION_BOOL:
		return typed("boolean");
	case FLOW_OPTION_SIZE:
		return json_pack("{s:[s,s]}", "type", "string", "integer");
	case FLOW_OPTION_DATETIME:
		return json_pack("{s:s, s:s}", "type", "string", "format", "date-time");
	case FLOW_OPTION_SECRET:
		return json_pack("{s:s, s:b}", "type", "string", "writeOnly", 1);
	case FLOW_OPTION_ENUM:
		return schema_of_choices(o);
	case FLOW_OPTION_LIST:
		return json_pack("{s:s, s:o}", "type", "array", "items", schema_of_type(o, o->element, depth));
	case FLOW_OPTION_MAP:
		return json_pack("{s:s, s:o}", "type", "object", "additionalProperties", schema_of_type(o, o->element, depth));
	case FLOW_OPTION_GROUP:
		return schema_of_options(o->members, depth + 1);
	case FLOW_OPTION_ANY:
		return json_pack("{s:[s,s,s]}", "type", "string", "number", "boolean");
	default:
		return typed("string");
	}
}

/* Bounds of units stay in their notation: JSON Schema has no words for them. */
static void
add_bound(json_t *schema, const char *key, const char *own_key, uint32_t type, const char *bound)
{
	int64_t integer;
	double number;
	if (bound == NULL)
		return;
	if (type == FLOW_OPTION_INT && resolve_number(type, bound, &integer, &number))
		json_object_set_new(schema, key, json_integer(integer));
	else if (type == FLOW_OPTION_FLOAT && resolve_number(type, bound, &integer, &number))
		json_object_set_new(schema, key, json_real(number));
	else
		json_object_set_new(schema, own_key, json_string(bound));
}

static void
add_default(json_t *schema, const flow_option *o)
{
	int64_t integer;
	double number;
	if (o->default_text == NULL || o->type == FLOW_OPTION_LIST || o->type == FLOW_OPTION_MAP ||
		o->type == FLOW_OPTION_GROUP)
		return;
	json_t *value = NULL;
	if (o->type == FLOW_OPTION_BOOL)
		value = json_boolean(strcmp(o->default_text, "true") == 0);
	else if (o->type == FLOW_OPTION_INT && resolve_number(o->type, o->default_text, &integer, &number))
		value = json_integer(integer);
	else if (o->type == FLOW_OPTION_FLOAT && resolve_number(o->type, o->default_text, &integer, &number))
		value = json_real(number);
	else
		value = json_string(o->default_text);
	json_object_set_new(schema, "default", value);
}

static json_t *
schema_of_option(const flow_option *o, int depth)
{
	json_t *schema = schema_of_type(o, o->type, depth);
	if (o->flags & FLOW_OPTION_OR_ONE)
		schema = json_pack("{s:[o,o]}", "anyOf", schema, schema_of_type(o, o->element, depth));
	if (schema == NULL)
		return NULL;
	if (o->doc != NULL)
		json_object_set_new(schema, "description", json_string(o->doc));
	add_default(schema, o);
	add_bound(schema, "minimum", "x-minimum", o->type, o->minimum);
	add_bound(schema, "maximum", "x-maximum", o->type, o->maximum);
	char type[128];
	json_object_set_new(schema, "x-type", json_string(describe_type(o, type, sizeof(type))));
	if (o->condition != NULL)
		json_object_set_new(schema, "x-condition", json_string(o->condition));
	if (o->refers_to != NULL)
		json_object_set_new(schema, "x-refers-to", json_string(o->refers_to));
	return schema;
}

static json_t *
schema_of_options(const flow_option *const *options, int depth)
{
	json_t *properties = json_object();
	json_t *required = json_array();
	for (size_t i = 0; options != NULL && options[i] != NULL && depth <= DESCRIBE_MAX_DEPTH; i++) {
		json_object_set_new(properties, options[i]->name, schema_of_option(options[i], depth));
		if ((options[i]->flags & FLOW_OPTION_REQUIRED) && options[i]->condition == NULL)
			json_array_append_new(required, json_string(options[i]->name));
	}
	json_t *schema =
		json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties, "additionalProperties", 0);
	if (schema != NULL && json_array_size(required) > 0)
		json_object_set(schema, "required", required);
	json_decref(required);
	return schema;
}

void
describe_schema(FILE *to, const flow_option_set *set)
{
	json_t *schema = schema_of_options(set->options, 0);
	if (schema != NULL && set->doc != NULL)
		json_object_set_new(schema, "description", json_string(set->doc));
	if (schema == NULL || json_dumpf(schema, to, JSON_INDENT(2)) != 0)
		fputs("{}", to);
	json_decref(schema);
}

static int
is_bare(uint32_t type)
{
	return type == FLOW_OPTION_INT || type == FLOW_OPTION_FLOAT || type == FLOW_OPTION_BOOL;
}

static void sample_options(FILE *to, const flow_option *const *options, unsigned indent, int commented, int depth);

static void
print_indent(FILE *to, unsigned indent, int commented)
{
	fprintf(to, "%*s%s", (int)indent * 2, "", commented ? "# " : "");
}

static void
sample_comment(FILE *to, const flow_option *o, unsigned indent)
{
	char type[128];
	print_indent(to, indent, 1);
	fprintf(to, "%s%s: ", describe_type(o, type, sizeof(type)), o->flags & FLOW_OPTION_REQUIRED ? ", required" : "");
	for (size_t i = 0, size = describe_summary(o->doc); i < size; i++)
		fputc(o->doc[i] == '\n' ? ' ' : o->doc[i], to);
	fputc('\n', to);
}

static void
sample_value(FILE *to, const flow_option *o)
{
	if (o->example != NULL)
		fputs(o->example, to);
	else if (o->default_text != NULL && is_bare(o->type))
		fputs(o->default_text, to);
	else if (o->default_text != NULL && o->type != FLOW_OPTION_LIST && o->type != FLOW_OPTION_MAP)
		fprintf(to, "\"%s\"", o->default_text);
	else if (o->choices != NULL && o->type == FLOW_OPTION_ENUM)
		fprintf(to, "\"%.*s\"", (int)strcspn(o->choices[0], "\t"), o->choices[0]);
	else
		fputs("...", to);
}

static void
sample_option(FILE *to, const flow_option *o, unsigned indent, int commented, int depth)
{
	if (!commented)
		sample_comment(to, o, indent);
	int off = commented || !(o->flags & FLOW_OPTION_REQUIRED) || (o->example == NULL && o->type != FLOW_OPTION_ENUM);
	print_indent(to, indent, off);
	if (o->type != FLOW_OPTION_GROUP || o->example != NULL || depth >= DESCRIBE_MAX_DEPTH) {
		fprintf(to, "%s = ", o->name);
		sample_value(to, o);
		fputs(";\n", to);
		return;
	}
	fprintf(to, "%s: {\n", o->name);
	sample_options(to, o->members, indent + 1, off, depth + 1);
	print_indent(to, indent, off);
	fputs("};\n", to);
}

static void
sample_options(FILE *to, const flow_option *const *options, unsigned indent, int commented, int depth)
{
	for (size_t i = 0; options != NULL && options[i] != NULL; i++)
		sample_option(to, options[i], indent, commented, depth);
}

void
describe_sample(FILE *to, const flow_option_set *set, unsigned indent)
{
	sample_options(to, set->options, indent, 0, 0);
}
