/*
 * base/schema_node.h - how schemas are kept; for the files of base/schema_*.c alone.
 *
 * All schemas that one parse or one make call creates are a group: they point at each other freely (a record may hold itself)
 * and live and die together. A reference to any of them is a reference to the group; a schema of another group that is used
 * in this one is held by it. So cycles cannot leak: they exist only within a group.
 *
 * Ownership: the maker has the group's first reference and hands it on with the root. Threads: a group under construction
 * belongs to one thread; a finished one is immutable.
 */
#ifndef BASE_SCHEMA_NODE_H
#define BASE_SCHEMA_NODE_H

#include <stdatomic.h>

#include "base/schema.h"
#include "flow/batch.h"

#define SCHEMA_DEPTH_MAX 64        /* of types in types, in text */
#define SCHEMA_NAMED_MAX 1000      /* named types in one schema */
#define SCHEMA_PARTS_MAX 10000u    /* fields of a record, symbols of an enum */
#define SCHEMA_TEXT_MAX (1u << 20) /* bytes of schema text that are accepted */

struct schema_group;

/* `schema` is the first member: a flow_schema of the host is always one of these. */
struct schema_node {
	flow_schema schema;
	struct schema_group *group;     /* NULL: lives for ever */
	struct schema_node *next;       /* in the order of completion: parts before what they are part of */
	struct schema_node *definition; /* this is a copy (another nullability) of a type that may not be complete yet */
	flow_slice source;              /* the JSON text that it was read from; else empty */
};

/* NULL: out of memory. */
struct schema_group *schema_group_create(void);
/* Memory of the group: for flow_builder_alloc and what is built on it. */
flow_builder *schema_group_memory(struct schema_group *group);
flow_slice schema_group_copy(struct schema_group *group, flow_slice text); /* data NULL: out of memory */
/* A zeroed node of a kind; NULL: out of memory. Each node is completed once, when all of its parts are. */
struct schema_node *schema_group_node(struct schema_group *group, uint8_t kind);
void schema_group_complete(struct schema_group *group, struct schema_node *node);
/* Makes the group hold a schema of another one. Returns 0 if out of memory. */
int schema_group_hold(struct schema_group *group, const flow_schema *schema);
/* The same type with another nullability (null first), in this group; NULL: out of memory. */
struct schema_node *schema_group_nullable(struct schema_group *group, const flow_schema *schema, int nullable);
/* Gives copies the parts of their definitions, which are complete by now. */
void schema_group_follow(struct schema_group *group);
/* Does so, and computes the fingerprints: the root is ready to be handed out. */
const flow_schema *schema_group_finish(struct schema_group *group, const flow_schema *root);
void schema_group_abandon(struct schema_group *group);

/* Of the JSON form without docs, in which parts are named by their own fingerprint; never 0. */
uint64_t schema_fingerprint(const flow_schema *schema);

/* A name as Avro allows it: [A-Za-z_][A-Za-z0-9_]*. */
int schema_name_is_plain(flow_slice name);
/* Such names with dots between them. */
int schema_full_name_is_plain(flow_slice name);

#endif
