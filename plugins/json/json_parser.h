/*
 * The parser's own state, for json_parser.c and json_fault.c.
 */
#ifndef JSON_PARSER_H
#define JSON_PARSER_H

#include "json.h"

#define LIST 0
#define MAP 1
#define RECORD 2
#define WRAP 3 /* {"branch": value} */

struct frame {
	const json_node *node;       /* NULL: only checked */
	const json_node *value_node; /* of the value under way */
	const char *key;             /* the member under way; NULL: none yet */
	flow_value *cells;           /* record */
	uint64_t base;               /* list: its first in `values`; else in `entries` */
	uint64_t slot;               /* map: entry under way */
	uint64_t items;              /* list: the index of the one under way; wrap: keys */
	flow_value wrapped;
	uint32_t key_size;
	int32_t field;       /* record: under way; -1: not declared */
	uint32_t next_field; /* record: the one that is likely next */
	uint32_t left;       /* record: fields not seen yet */
	uint8_t kind;
	uint8_t branch;
	uint8_t sparse; /* record: some fields are not wanted */
};

struct json_parser {
	const flow_host *host;
	const json_format *format;
	struct frame *frames;
	uint32_t depth;
	flow_value *values; /* of lists under way */
	uint64_t value_count;
	uint64_t value_capacity;
	flow_map_entry *entries; /* of maps under way, and the undeclared keys of records */
	uint64_t entry_count;
	uint64_t entry_capacity;
	/* this text */
	const char *text;
	const char *end;
	const uint8_t *wanted;
	flow_builder *memory;
	json_fault *fault;
	char reason[256];
	char pointer[JSON_POINTER_MAX];
};

/* json_fault.c: fill p->fault. All return NULL, for the callers that return a place. */
const char *json_fault_at(json_parser *p, const char *at, flow_status status, const char *reason);
/* "'x' where a comma is expected" */
const char *json_fault_syntax(json_parser *p, const char *at, const char *expected);
const char *json_fault_memory(json_parser *p);
/* A value that its type does not take. */
const char *json_fault_type(json_parser *p, const char *at, const json_node *node, flow_status status, const char *what,
							flow_slice text);

#endif
