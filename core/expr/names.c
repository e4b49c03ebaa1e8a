/* Names of kinds and cell types, as the texts of errors and typeof() say them. */
#include "expr/node.h"

const char *
kind_name(uint8_t kind)
{
	static const char *const names[] = { "any",     "null",      "bool",   "int32", "int64", "uint64", "float32",
										 "float64", "decimal",   "string", "bytes", "fixed", "enum",   "date",
										 "time",    "timestamp", "uuid",   "list",  "map",   "record", "union" };
	return kind < FLOW_COUNT(names) ? names[kind] : "unknown";
}

const char *
cell_type_name(uint8_t type)
{
	static const char *const names[] = { "null", "bool", "int64",     "uint64", "float64", "decimal", "string", "bytes",
										 "date", "time", "timestamp", "uuid",   "list",    "map",     "record" };
	return type < FLOW_COUNT(names) ? names[type] : "unknown";
}
