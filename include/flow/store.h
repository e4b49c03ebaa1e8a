/*
 * flow/store.h - component kind `store`: an ordered key-value engine for keyed state and the messaging store.
 *
 * Keys order by memcmp. Column families ("spaces") are numbered by the host from 0. With FLOW_STORE_ATOMIC_BATCH a
 * write batch is there whole or not at all, across kill -9; with `sync` it has reached the disk when write returns.
 */
#ifndef FLOW_STORE_H
#define FLOW_STORE_H

#include "flow/batch.h"
#include "flow/component.h"
#include "flow/host.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_store flow_store;
typedef struct flow_store_iterator flow_store_iterator;
typedef struct flow_store_snapshot flow_store_snapshot;

#define FLOW_STORE_PUT 1
#define FLOW_STORE_DELETE 2
#define FLOW_STORE_DELETE_RANGE 3 /* from key (inclusive) to value (exclusive) */

typedef struct flow_store_write {
	uint32_t kind;
	uint32_t space;
	flow_slice key;
	flow_slice value;
} flow_store_write; /* a fixed cell, 40 bytes */

typedef struct flow_store_info {
	uint32_t struct_size;
	uint32_t space_count;   /* spaces 0 .. space_count - 1 exist after open; they are created */
	flow_slice directory;
	uint32_t create;        /* 0: FLOW_E_NOT_FOUND if there is none */
	uint32_t read_only;
	int64_t cache_bytes;    /* 0: the component's default */
} flow_store_info;

typedef struct flow_store_ops {
	uint32_t struct_size;
	uint32_t reserved;
	flow_status (*open)(const flow_host *host, const flow_options *options, const flow_store_info *info,
	                    flow_store **store, flow_error *error); /* [main] blocking-ok */
	void (*close)(flow_store *store);                           /* [main] blocking-ok */
	/* [any] blocking-ok. In order, whole. Readable at once. `sync` covers all earlier writes too; count 0 is allowed. After a
	 * failure the outcome is unknown until the store is opened again. DELETE_RANGE with an empty value: to the end. */
	flow_status (*write)(flow_store *store, const flow_store_write *writes, uint64_t count, int sync,
	                     flow_error *error);
	/* [any] blocking-ok. values[i] lives in `memory`; data NULL: not there (an empty value has data). `snapshot` NULL: the newest state. */
	flow_status (*get_many)(flow_store *store, flow_store_snapshot *snapshot, uint32_t space, const flow_slice *keys,
	                        uint64_t count, flow_builder *memory, flow_slice *values, flow_error *error);
	/* [any] A view that later writes do not change. */
	flow_status (*snapshot_open)(flow_store *store, flow_store_snapshot **snapshot, flow_error *error);
	void (*snapshot_close)(flow_store *store, flow_store_snapshot *snapshot); /* [any] */
	/* [any] Keys in [from, to); empty `to`: no end; `backward` starts at the end. Without a snapshot: the view of
	 * this moment. One call at a time per iterator, threads may change. Close iterators before their snapshot. */
	flow_status (*iterate)(flow_store *store, flow_store_snapshot *snapshot, uint32_t space, flow_slice from,
	                       flow_slice to, int backward, flow_store_iterator **iterator, flow_error *error);
	/* [any] blocking-ok. Up to `capacity` pairs, and fewer behind 1 MiB; valid until the next call. FLOW_END with *count 0: no more. */
	flow_status (*next_many)(flow_store_iterator *iterator, uint64_t capacity, flow_slice *keys, flow_slice *values,
	                         uint64_t *count, flow_error *error);
	void (*iterator_close)(flow_store_iterator *iterator); /* [any] */
	/* [any] blocking-ok. Optional: gives deleted space back; checks checksums (first error names file and block). */
	flow_status (*compact)(flow_store *store, flow_error *error);
	flow_status (*check)(flow_store *store, flow_error *error);
	/* [any] blocking-ok. Optional: a copy in a new folder that later writes do not change (hard links). */
	flow_status (*checkpoint)(flow_store *store, flow_slice directory, flow_error *error);
	int64_t (*size)(flow_store *store); /* [any] bytes on disk, about */
} flow_store_ops;

#ifdef __cplusplus
}
#endif
#endif
