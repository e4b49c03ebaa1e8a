/* Names of the ABI's numbers: kinds of components, their flags, types of options. */
#include <string.h>

#include "flow_sdk/manifest.h"

static const char *const kind_names[] = {
	[FLOW_SYSTEM] = "system",
	[FLOW_SERDE] = "serde",
	[FLOW_TRANSFORMER] = "transformer",
	[FLOW_EXPANDER] = "expander",
	[FLOW_TABLE] = "table",
	[FLOW_CONNECTOR] = "connector",
	[FLOW_FUNCTION] = "function",
	[FLOW_APPLICATION] = "application",
	[FLOW_STORE] = "store",
};

static const struct {
	uint32_t kind;
	uint32_t flag;
	const char *name;
} flag_names[] = {
	{ FLOW_SYSTEM, FLOW_SYSTEM_HAS_INPUTS, "inputs" },
	{ FLOW_SYSTEM, FLOW_SYSTEM_HAS_OUTPUTS, "outputs" },
	{ FLOW_SYSTEM, FLOW_SYSTEM_OWN_SERDE, "own_serde" },
	{ FLOW_SYSTEM, FLOW_SYSTEM_BYTE_STREAMS, "byte_streams" },
	{ FLOW_SYSTEM, FLOW_SYSTEM_SHARED, "shared" },
	{ FLOW_SYSTEM, FLOW_SYSTEM_ALWAYS_BOUNDED, "always_bounded" },
	{ FLOW_SYSTEM, FLOW_SYSTEM_INTERMEDIATE, "intermediate" },
	{ FLOW_SYSTEM, FLOW_SYSTEM_EXPANDS, "expands" },
	{ FLOW_SYSTEM, FLOW_SYSTEM_TRANSFORMS, "transforms" },
	{ FLOW_SERDE, FLOW_SERDE_STREAM, "stream" },
	{ FLOW_SERDE, FLOW_SERDE_RECORD, "record" },
	{ FLOW_SERDE, FLOW_SERDE_BYTES_ONLY, "bytes_only" },
	{ FLOW_SERDE, FLOW_SERDE_UNTYPED, "untyped" },
	{ FLOW_TABLE, FLOW_TABLE_LOCAL, "local" },
	{ FLOW_TABLE, FLOW_TABLE_DURABLE, "durable" },
	{ FLOW_TABLE, FLOW_TABLE_UPDATES, "updates" },
	{ FLOW_CONNECTOR, FLOW_CONNECTOR_FROM, "from" },
	{ FLOW_CONNECTOR, FLOW_CONNECTOR_TO, "to" },
	{ FLOW_CONNECTOR, FLOW_CONNECTOR_DELTA_EXTRACT, "delta_extract" },
	{ FLOW_CONNECTOR, FLOW_CONNECTOR_DELTA_LOAD, "delta_load" },
	{ FLOW_STORE, FLOW_STORE_ATOMIC_BATCH, "atomic_batch" },
};

static const char *const option_type_names[] = {
	[FLOW_OPTION_STRING] = "string",     [FLOW_OPTION_PATH] = "path",     [FLOW_OPTION_INT] = "int",
	[FLOW_OPTION_FLOAT] = "float",       [FLOW_OPTION_BOOL] = "bool",     [FLOW_OPTION_SIZE] = "size",
	[FLOW_OPTION_DURATION] = "duration", [FLOW_OPTION_ENUM] = "enum",     [FLOW_OPTION_LIST] = "list",
	[FLOW_OPTION_MAP] = "map",           [FLOW_OPTION_SECRET] = "secret", [FLOW_OPTION_REFERENCE] = "reference",
	[FLOW_OPTION_DATETIME] = "datetime", [FLOW_OPTION_GROUP] = "group",   [FLOW_OPTION_EXPRESSION] = "expression",
	[FLOW_OPTION_TYPE] = "type",         [FLOW_OPTION_ANY] = "any",
};

const char *
flow_kind_name(uint32_t kind)
{
	return kind != 0 && kind < FLOW_COUNT(kind_names) ? kind_names[kind] : "unknown";
}

uint32_t
flow_kind_of_name(const char *name)
{
	for (uint32_t kind = 1; kind < FLOW_COUNT(kind_names); kind++)
		if (strcmp(kind_names[kind], name) == 0)
			return kind;
	return 0;
}

const char *
flow_kind_flag_name(uint32_t kind, uint32_t flag)
{
	for (size_t i = 0; i < FLOW_COUNT(flag_names); i++)
		if (flag_names[i].kind == kind && flag_names[i].flag == flag)
			return flag_names[i].name;
	return NULL;
}

const char *
flow_option_type_name(uint32_t type)
{
	return type != 0 && type < FLOW_COUNT(option_type_names) ? option_type_names[type] : "unknown";
}
