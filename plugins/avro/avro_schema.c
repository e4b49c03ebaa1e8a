/* Schemas in Avro's terms. */
#include "avro.h"

static const char *const type_names[] = { "null",   "boolean", "int",  "long",  "float", "double", "bytes",
										  "string", "fixed",   "enum", "array", "map",   "record", "union" };

const char *
avro_type_name(int type)
{
	return type_names[type];
}

int
avro_type_of(const flow_schema *schema, int branch)
{
	if (schema->kind == FLOW_KIND_UNION || (!branch && flow_schema_nullable(schema)))
		return AVRO_UNION;
	int named = schema->name.size != 0;
	switch (schema->kind) {
	case FLOW_KIND_NULL:
		return AVRO_NULL;
	case FLOW_KIND_BOOL:
		return AVRO_BOOLEAN;
	case FLOW_KIND_INT32:
	case FLOW_KIND_DATE:
		return AVRO_INT;
	case FLOW_KIND_TIME:
		return schema->unit <= FLOW_MILLISECONDS ? AVRO_INT : AVRO_LONG;
	case FLOW_KIND_INT64:
	case FLOW_KIND_TIMESTAMP:
		return AVRO_LONG;
	case FLOW_KIND_FLOAT32:
		return AVRO_FLOAT;
	case FLOW_KIND_FLOAT64:
		return AVRO_DOUBLE;
	case FLOW_KIND_DECIMAL:
		return named ? AVRO_FIXED : AVRO_BYTES;
	case FLOW_KIND_UUID:
		return named ? AVRO_FIXED : AVRO_STRING;
	case FLOW_KIND_UINT64:
	case FLOW_KIND_BYTES:
		return AVRO_BYTES;
	case FLOW_KIND_FIXED:
		return AVRO_FIXED;
	case FLOW_KIND_ENUM:
		return AVRO_ENUM;
	case FLOW_KIND_LIST:
		return AVRO_ARRAY;
	case FLOW_KIND_MAP:
		return AVRO_MAP;
	case FLOW_KIND_RECORD:
		return AVRO_RECORD;
	default: /* string; any is written as one */
		return AVRO_STRING;
	}
}

uint32_t
avro_branch_count(const flow_schema *schema)
{
	uint32_t nullable = flow_schema_nullable(schema) != 0;
	if (schema->kind == FLOW_KIND_UNION)
		return schema->branch_count + nullable;
	return nullable ? 2 : 0;
}

const flow_schema *
avro_branch(const flow_schema *schema, uint32_t index, uint8_t *cell_branch)
{
	*cell_branch = 0;
	if (flow_schema_nullable(schema)) {
		if (index == schema->null_index)
			return NULL;
		index -= index > schema->null_index;
	}
	if (schema->kind != FLOW_KIND_UNION)
		return schema;
	*cell_branch = (uint8_t)index;
	return schema->branches[index];
}

flow_slice
avro_short_name(flow_slice name)
{
	for (uint64_t i = name.size; i-- != 0;)
		if (name.data[i] == '.')
			return flow_slice_make(name.data + i + 1, name.size - i - 1);
	return name;
}

flow_slice
avro_schema_text(const flow_host *host, const flow_schema *schema)
{
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	uint64_t size = schemas->print(schema, 0, NULL, 0);
	char *text = size == 0 ? NULL : (char *)host->allocate(size + 1);
	if (text == NULL)
		return flow_slice_make(NULL, 0);
	schemas->print(schema, 0, text, size + 1);
	return flow_slice_make(text, size);
}

void
avro_prefix(const flow_host *host, flow_error *error, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	host->errors->prefix(error, format, arguments);
	va_end(arguments);
}
