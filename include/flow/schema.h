/*
 * flow/schema.h - the type of values. Avro's type system is the reference; the JSON form is Avro schema JSON.
 *
 * A schema is immutable and made by the host (service FLOW_SERVICE_SCHEMAS, flow/host.h), shared freely between
 * threads and counted by retain/release; reading its members needs no call. A schema that is handed to a call is
 * borrowed until the call returns; one inside a batch lives as long as the batch.
 *
 * What Avro cannot say goes into attributes that other readers ignore: uint64 is the Avro type bytes, decimal(20,0), with
 * "flow.type": "uint64" (others read the same number); any is a string with "flow.type": "any"; decimal without precision is
 * Avro's "big-decimal"; the units that Avro lacks are the logical types time-seconds (int), time-nanos, timestamp-seconds,
 * local-timestamp-seconds (long); names that Avro refuses ("dep delay") stand in "flow.name" and "flow.symbols" beside a plain one.
 */
#ifndef FLOW_SCHEMA_H
#define FLOW_SCHEMA_H

#include "flow/abi.h"
#include "flow/value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* flow_schema.kind. In text (options, `flowd plan`): the lower-case name, a '?' behind it for nullable. */
#define FLOW_KIND_ANY 0 /* self-typed values: whatever type the cell says (schemaless JSON) */
#define FLOW_KIND_NULL 1
#define FLOW_KIND_BOOL 2
#define FLOW_KIND_INT32 3
#define FLOW_KIND_INT64 4
#define FLOW_KIND_UINT64 5
#define FLOW_KIND_FLOAT32 6
#define FLOW_KIND_FLOAT64 7
#define FLOW_KIND_DECIMAL 8 /* precision 0 = any; else scale counts */
#define FLOW_KIND_STRING 9
#define FLOW_KIND_BYTES 10
#define FLOW_KIND_FIXED 11 /* fixed_size bytes */
#define FLOW_KIND_ENUM 12  /* symbols */
#define FLOW_KIND_DATE 13
#define FLOW_KIND_TIME 14      /* unit */
#define FLOW_KIND_TIMESTAMP 15 /* unit, zoned */
#define FLOW_KIND_UUID 16
#define FLOW_KIND_LIST 17   /* element */
#define FLOW_KIND_MAP 18    /* element; keys are strings */
#define FLOW_KIND_RECORD 19 /* fields */
#define FLOW_KIND_UNION 20  /* branches: two or more kinds besides null (which is `nullable`) */

/* flow_schema.flags */
#define FLOW_SCHEMA_NULLABLE 1u
#define FLOW_SCHEMA_ZONED 2u     /* timestamp: an instant */
#define FLOW_SCHEMA_NULL_LAST 4u /* nullable: Avro's union has null behind the others, not first */

typedef struct flow_schema flow_schema;

typedef struct flow_field {
	uint32_t struct_size;
	uint32_t index; /* position in the record */
	flow_slice name;
	const flow_schema *schema;
	const flow_value *default_value; /* NULL: none. A default of null is a cell of type FLOW_NULL */
	flow_slice doc;
	const flow_slice *aliases;
	uint64_t alias_count;
} flow_field;

struct flow_schema {
	uint32_t struct_size;
	uint8_t kind;
	uint8_t unit; /* time, timestamp: FLOW_SECONDS and so on */
	uint8_t flags;
	uint8_t reserved;
	int32_t precision; /* decimal: digits in all; 0 = any precision and scale */
	int32_t scale;
	uint32_t fixed_size;
	uint32_t field_count;
	uint32_t branch_count;
	uint32_t symbol_count;
	flow_slice name;      /* named types: the full name; else empty */
	const flow_field *const *fields;
	const flow_schema *element;
	const flow_schema *const *branches; /* never null kinds; the cell's `branch` indexes this */
	const flow_slice *symbols;
	uint64_t fingerprint; /* equal content, equal fingerprint; docs do not count. The same in every process */
	flow_slice logical;   /* a meaning beyond the kind that goes along: "json", "interval", "inet"; else empty */
	uint32_t null_index; /* nullable: the place of null in Avro's union */
	uint32_t reserved_2;
	flow_slice default_symbol; /* enum: what stands for unknown symbols; empty: none */
	flow_slice doc;
	const flow_slice *aliases; /* named types: full names */
	uint64_t alias_count;
};

static inline int
flow_schema_nullable(const flow_schema *schema)
{
	return (schema->flags & FLOW_SCHEMA_NULLABLE) != 0;
}

/* Index of a record's field by name, or -1. For open and bind, not for each record. */
static inline int32_t
flow_schema_find(const flow_schema *schema, flow_slice name)
{
	for (uint32_t i = 0; i < schema->field_count; i++)
		if (flow_slice_equal(schema->fields[i]->name, name))
			return (int32_t)i;
	return -1;
}

/* A field of a new record schema, for flow_schemas.make_record. */
typedef struct flow_field_spec {
	uint32_t struct_size;
	uint32_t reserved;
	flow_slice name;
	const flow_schema *schema;       /* retained by the new schema */
	const flow_value *default_value; /* or NULL; copied */
} flow_field_spec;

struct flow_error;

/* Service FLOW_SERVICE_SCHEMAS: makes schemas. A schema that is returned is owned by the caller (release it). */
typedef struct flow_schemas {
	uint32_t struct_size;
	uint32_t reserved;
	/* [any] Avro schema JSON. Errors name the place in the text. */
	const flow_schema *(*parse_json)(flow_slice json, struct flow_error *error);
	/* [any] The short form of options:
	 *   type   = kind [ "?" ]
	 *   kind   = "any" | "bool" | "int32" | "int64" | "uint64" | "float32" | "float64" | "string" [ ":" word ] | "bytes" | "uuid"
	 *          | "date" | "decimal" [ "(" precision "," scale ")" ] | "fixed(" size ")" | "enum(" word { "," word } ")"
	 *          | ( "time" | "timestamp" | "local_timestamp" ) [ "(" ( "s" | "ms" | "us" | "ns" ) ")" ]      default us
	 *          | "list<" type ">" | "map<" type ">" | "record(" word ":" type { "," word ":" type } ")"
	 * Avro's names are taken too: boolean, int, long, float, double. "string:json" carries a logical meaning. */
	const flow_schema *(*parse_type)(flow_slice text, struct flow_error *error);
	/* [any] A record of the given fields. `name` may be empty ("record"). Names must differ. */
	const flow_schema *(*make_record)(flow_slice name, const flow_field_spec *const *fields, uint32_t count,
	                                  struct flow_error *error);
	/* [any] The same schema, nullable or not. */
	const flow_schema *(*with_nullable)(const flow_schema *schema, int nullable);
	const flow_schema *(*retain)(const flow_schema *schema); /* [any] returns its argument */
	void (*release)(const flow_schema *schema);              /* [any] NULL is allowed */
	/* [any] Writes the Avro JSON form (`short_form` 0) or the short text form (1) into `buffer`, at most `size`
	 * bytes, always NUL-terminated if size > 0. Returns the length that the whole text has. */
	uint64_t (*print)(const flow_schema *schema, int short_form, char *buffer, uint64_t size);
	int (*equal)(const flow_schema *a, const flow_schema *b); /* [any] same content */
} flow_schemas;

#ifdef __cplusplus
}
#endif
#endif
