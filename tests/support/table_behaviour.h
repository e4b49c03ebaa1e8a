/*
 * support/table_behaviour.h - what every local table does, as one body of tests over its component.
 *
 * Threads: the test's (and those that a body starts and joins).
 */
#ifndef SUPPORT_TABLE_BEHAVIOUR_H
#define SUPPORT_TABLE_BEHAVIOUR_H

#include "support/plugin_fixture.h"

/* An open table with the rows record(id:int64,name:string?,views:int64) by id. */
typedef struct table_case {
	fixture *fixture;
	const flow_component *component;
	const flow_table_ops *ops;
	const char *folder;
	flow_table *table;
	const flow_schema *schema;
	const flow_schema *key_schema;
	flow_builder *memory;
	flow_error error;
} table_case;

table_case *table_case_open(const char *id);
void table_case_close(table_case *c);
/* Closes and opens it again over the same folder, with the same schema. */
void table_case_reopen(table_case *c);
/* Opens over the folder without a schema set. */
void table_case_open_bare(table_case *c);

/* Puts one row by JSON text; "null" deletes. */
void table_case_put(table_case *c, int64_t id, const char *row);
/* The row as JSON, or "not found". */
const char *table_case_get(table_case *c, int64_t id);

/* The bodies; each is a whole behaviour over a fresh case. */
void table_puts_gets_and_deletes(table_case *c);
void table_answers_each_row_of_a_call(table_case *c);
void table_keeps_every_type(table_case *c);
void table_updates_with_and_without_defaults(table_case *c);
void table_applies_updates_of_one_key_in_order(table_case *c);
void table_refuses_updates_that_do_not_fit(table_case *c);
void table_serves_threads(table_case *c);

#endif
