/*
 * One open RocksDB: its options, its column families ("spaces"), and what its failures mean to a user.
 *
 * Ownership: a database belongs to the store or table that opened it. Threads: everything but open and close is [any].
 */
#ifndef ROCKSDB_DATABASE_H
#define ROCKSDB_DATABASE_H

#include <rocksdb/c.h>

#include "flow/flow.h"

typedef struct database {
	const flow_host *host;
	rocksdb_t *db;
	rocksdb_options_t *options;
	rocksdb_cache_t *cache;
	rocksdb_readoptions_t *read;
	rocksdb_writeoptions_t *buffered; /* a write is in the operating system's hands when the call returns */
	rocksdb_writeoptions_t *synced;   /* and on the disk */
	rocksdb_column_family_handle_t **spaces;
	uint32_t space_count; /* all that the folder has; at least what was asked for */
	uint32_t read_only;
	char *directory;
} database;

extern const flow_option *const database_options[];

flow_status database_open(const flow_host *host, const flow_options *options, const flow_store_info *info,
						  database **opened, flow_error *error);
void database_close(database *d); /* NULL is allowed */

/* Fills the error from RocksDB's `message` (freed): folder, what was tried, what went wrong, what to do. */
flow_status database_fail(const database *d, const char *action, char *message, flow_error *error);
/* A text of the host's memory, NUL-terminated; NULL: out of memory. */
char *database_copy_text(const flow_host *host, flow_slice text);

/* Store: component functions (store.c, iterator.c). */
extern const flow_component store_component;
extern const flow_component table_component;

struct flow_store {
	database *database;
};

struct flow_store_snapshot {
	const rocksdb_snapshot_t *snapshot;
	rocksdb_readoptions_t *read;
};

flow_status store_iterate(flow_store *store, flow_store_snapshot *snapshot, uint32_t space, flow_slice from,
						  flow_slice to, int backward, flow_store_iterator **iterator, flow_error *error);
flow_status store_next_many(flow_store_iterator *iterator, uint64_t capacity, flow_slice *keys, flow_slice *values,
							uint64_t *count, flow_error *error);
void store_iterator_close(flow_store_iterator *iterator);

#endif
