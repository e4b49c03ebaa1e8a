/*
 * base/schema.h - making schemas: from Avro schema JSON, from the short text form, from fields.
 *
 * The short form: the lower-case kind, '?' behind it for nullable: "int64", "string?", "decimal" (any precision),
 * "decimal(12,2)", "timestamp" (an instant, microseconds), "timestamp(ms)", "local_timestamp(ns)", "time(ms)", "list<int64>",
 * "map<string?>", "enum(a,b)", "fixed(16)", "record(id:int64,name:string?)". "int" is int32, "long" int64, "double" float64,
 * "float" float32 and "boolean" bool, as Avro says.
 *
 * Ownership: results have a reference of the caller's. Threads: [any].
 */
#ifndef BASE_SCHEMA_H
#define BASE_SCHEMA_H

#include "flow/error.h"
#include "flow/schema.h"

const flow_schema *schema_parse_json(flow_slice json, flow_error *error);
const flow_schema *schema_parse_type(flow_slice text, flow_error *error);
const flow_schema *schema_make_record(flow_slice name, const flow_field_spec *const *fields, uint32_t count,
									  flow_error *error);
const flow_schema *schema_with_nullable(const flow_schema *schema, int nullable);
const flow_schema *schema_retain(const flow_schema *schema); /* NULL is allowed */
void schema_release(const flow_schema *schema);
uint64_t schema_print(const flow_schema *schema, int short_form, char *buffer, uint64_t size);
int schema_equal(const flow_schema *a, const flow_schema *b);

/* Schemas of one kind that live for ever; retain and release are allowed. `kind` has no parts (not record, list, ...). */
const flow_schema *schema_of_kind(uint8_t kind, int nullable);
const flow_schema *schema_bytes(void);

extern const flow_schemas schemas_service;

#endif
