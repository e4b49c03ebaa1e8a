/* Avro's logical types. */
#include <math.h>
#include <string.h>

#include "base/schema_json.h"
#include "flow_sdk/number.h"

static int
integer_of(json_t *json, const char *name, int64_t absent, int64_t *number)
{
	json_t *value = json_object_get(json, name);
	*number = value == NULL ? absent : json_integer_value(value);
	return value == NULL || json_is_integer(value);
}

static int
apply_decimal(flow_schema *schema, json_t *json)
{
	int64_t precision, scale;
	if (!integer_of(json, "precision", 0, &precision) || !integer_of(json, "scale", 0, &scale))
		return 0;
	if (precision < 1 || precision > FLOW_DECIMAL_MAX_DIGITS || scale < 0 || scale > precision)
		return 0;
	if (schema->kind == FLOW_KIND_FIXED &&
		(schema->fixed_size == 0 || (double)precision > floor((8.0 * schema->fixed_size - 1) * log10(2))))
		return 0;
	schema->kind = FLOW_KIND_DECIMAL;
	schema->precision = (int32_t)precision;
	schema->scale = (int32_t)scale;
	return 1;
}

static int
apply_time(flow_schema *schema, const char *name, const char *prefix, uint8_t kind, uint8_t flags)
{
	static const struct {
		const char *name;
		uint8_t unit;
	} units[] = { { "seconds", FLOW_SECONDS },
				  { "millis", FLOW_MILLISECONDS },
				  { "micros", FLOW_MICROSECONDS },
				  { "nanos", FLOW_NANOSECONDS } };
	size_t length = strlen(prefix);
	if (strncmp(name, prefix, length) != 0)
		return 0;
	for (size_t i = 0; i < FLOW_COUNT(units); i++) {
		int is_int = kind == FLOW_KIND_TIME && units[i].unit <= FLOW_MILLISECONDS;
		if (strcmp(name + length, units[i].name) != 0 || schema->kind != (is_int ? FLOW_KIND_INT32 : FLOW_KIND_INT64))
			continue;
		schema->kind = kind;
		schema->unit = units[i].unit;
		schema->flags |= flags;
		return 1;
	}
	return 0;
}

static int
apply_known(flow_schema *schema, json_t *json, const char *name)
{
	uint8_t kind = schema->kind;
	if (strcmp(name, "decimal") == 0 && (kind == FLOW_KIND_BYTES || kind == FLOW_KIND_FIXED))
		return apply_decimal(schema, json);
	if (strcmp(name, "big-decimal") == 0 && kind == FLOW_KIND_BYTES) {
		schema->kind = FLOW_KIND_DECIMAL;
		return 1;
	}
	if (strcmp(name, "uuid") == 0 &&
		(kind == FLOW_KIND_STRING || (kind == FLOW_KIND_FIXED && schema->fixed_size == 16))) {
		schema->kind = FLOW_KIND_UUID;
		return 1;
	}
	if (strcmp(name, "date") == 0 && kind == FLOW_KIND_INT32) {
		schema->kind = FLOW_KIND_DATE;
		return 1;
	}
	return apply_time(schema, name, "time-", FLOW_KIND_TIME, 0) ||
		   apply_time(schema, name, "timestamp-", FLOW_KIND_TIMESTAMP, FLOW_SCHEMA_ZONED) ||
		   apply_time(schema, name, "local-timestamp-", FLOW_KIND_TIMESTAMP, 0);
}

static int
apply_own(flow_schema *schema, json_t *json)
{
	const char *own = json_string_value(json_object_get(json, "flow.type"));
	if (own != NULL && strcmp(own, "uint64") == 0 && schema->kind == FLOW_KIND_BYTES)
		schema->kind = FLOW_KIND_UINT64;
	else if (own != NULL && strcmp(own, "any") == 0 && schema->kind == FLOW_KIND_STRING)
		schema->kind = FLOW_KIND_ANY;
	else
		return 0;
	return 1;
}

int
schema_apply_logical(struct schema_group *group, struct schema_node *node, json_t *json)
{
	json_t *logical = json_object_get(json, "logicalType");
	if (apply_own(&node->schema, json))
		return 1;
	if (!json_is_string(logical) || json_string_length(logical) == 0)
		return 1;
	if (apply_known(&node->schema, json, json_string_value(logical)))
		return 1;
	node->schema.logical =
		schema_group_copy(group, flow_slice_make(json_string_value(logical), json_string_length(logical)));
	return node->schema.logical.data != NULL;
}
