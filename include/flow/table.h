/*
 * flow/table.h - component kind `table`: keyed rows that functions and the graph read and write.
 *
 * One instance serves all tasks of the process, so every call is [any]; with flow_table_info.blocking also blocking-ok.
 * Results are per record, never one for the batch;
 * FLOW_E_NOT_FOUND is a status, not an error. Keys come in two forms side by side: canonical bytes (what the host
 * computes for keyed rows: flow_batch.key_bytes) and, for tables that need the parts, the values they were made from.
 *
 * Calls finish before they return. Tables of remote systems declare `blocking` in flow_table_info and are called from
 * I/O threads; an asynchronous form follows with the capability "flow.table.async".
 */
#ifndef FLOW_TABLE_H
#define FLOW_TABLE_H

#include "flow/batch.h"
#include "flow/component.h"
#include "flow/host.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_table flow_table;

typedef struct flow_table_info {
	uint32_t struct_size;
	uint32_t blocking;      /* out */
	flow_slice name;        /* in: the table's name */
	flow_slice directory;   /* in: a folder of its own for local files, kept with the job's state; may not exist yet */
	/* out, may stay NULL: the schema of the rows and keys where the table knows it itself (a remote one); released by the host.
	 * Local tables learn it by set_schema. Rows hold all their fields, also those that make the key. */
	const flow_schema *schema;
	const flow_schema *key_schema;
	uint32_t max_parallel; /* out: calls at a time; 0: any number */
	uint32_t reserved;
} flow_table_info;

/* How update treats a missing row. */
#define FLOW_UPDATE_ONLY 1          /* not found stays not found */
#define FLOW_UPDATE_WITH_DEFAULTS 2 /* the default is put only if the key is absent, then the update is applied */

typedef struct flow_table_update {
	uint32_t struct_size;
	uint32_t mode;
	const flow_schema *update_schema; /* names the fields to change */
	const flow_value *update;         /* a record under it; a null field sets null, fields that are absent stay */
	const flow_value *default_value;  /* a whole row, or NULL */
} flow_table_update;

typedef struct flow_table_ops {
	uint32_t struct_size;
	uint32_t reserved;
	flow_status (*open)(const flow_host *host, const flow_options *options, flow_table_info *info, flow_table **table,
	                    flow_error *error); /* [main] blocking-ok */
	void (*close)(flow_table *table);       /* [main] blocking-ok */
	/* [any] Looks up `count` keys. rows[i] is a record whose content lives in `memory`; statuses[i] is FLOW_OK,
	 * FLOW_E_NOT_FOUND or a failure. The call fails as a whole only when nothing could be tried. */
	flow_status (*get_many)(flow_table *table, const flow_slice *keys, const flow_value *key_values, uint32_t count,
	                        flow_builder *memory, flow_value *rows, flow_status *statuses, flow_error *error);
	/* [any] Puts rows; a null row deletes. Of equal keys the last wins. Contents are copied. */
	flow_status (*put_many)(flow_table *table, const flow_slice *keys, const flow_value *key_values, const flow_value *rows,
	                        uint32_t count, flow_status *statuses, flow_error *error);
	/* [any] A key that is not there: FLOW_E_NOT_FOUND for it. */
	flow_status (*delete_many)(flow_table *table, const flow_slice *keys, const flow_value *key_values, uint32_t count,
	                           flow_status *statuses, flow_error *error);
	/* [any] Optional (FLOW_TABLE_UPDATES). Per-key order is kept within a call. */
	flow_status (*update_many)(flow_table *table, const flow_slice *keys, const flow_value *key_values,
	                           const flow_table_update *const *updates, uint32_t count, flow_status *statuses,
	                           flow_error *error);
	/* [any] Everything put so far can be read by everybody, and survives as far as the table is durable. */
	flow_status (*flush)(flow_table *table, flow_error *error);
	/* [main] The schema of the rows, once a writer's input is known (before tasks start). Retained by the table. */
	flow_status (*set_schema)(flow_table *table, const flow_schema *schema, const flow_schema *key_schema,
	                          flow_error *error);
} flow_table_ops;

#ifdef __cplusplus
}
#endif
#endif
