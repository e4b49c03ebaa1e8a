/* Component kind `store`: spaces are column families, a batch of writes is one RocksDB write batch. */
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "flow_sdk/plugin.h"

static flow_status
store_open(const flow_host *host, const flow_options *options, const flow_store_info *info, flow_store **store,
		   flow_error *error)
{
	flow_store *s = flow_new(host, sizeof(*s));
	if (s == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "rocksdb: out of memory");
	flow_status status = database_open(host, options, info, &s->database, error);
	if (status != FLOW_OK) {
		host->release(s);
		return status;
	}
	*store = s;
	return FLOW_OK;
}

static void
store_close(flow_store *store)
{
	const flow_host *host = store->database->host;
	database_close(store->database);
	host->release(store);
}

static flow_status
check_space(const flow_store *store, uint32_t space, flow_error *error)
{
	const database *d = store->database;
	if (space < d->space_count)
		return FLOW_OK;
	return flow_fail(d->host, error, FLOW_E_ARGUMENT, "rocksdb folder %s: space %u of %u was asked for", d->directory,
					 space, d->space_count);
}

static int
compare(flow_slice a, flow_slice b)
{
	uint64_t shorter = a.size < b.size ? a.size : b.size;
	int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
	return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* RocksDB has no "to the end": deletes up to the last key that is there or that the batch has put so far, then that
 * key. */
static void
delete_to_end(const database *d, rocksdb_writebatch_t *batch, const flow_store_write *writes, uint64_t index)
{
	const flow_store_write *what = &writes[index];
	rocksdb_column_family_handle_t *space = d->spaces[what->space];
	rocksdb_iterator_t *iterator = rocksdb_create_iterator_cf(d->db, d->read, space);
	flow_slice last = { NULL, 0 };
	rocksdb_iter_seek_to_last(iterator);
	if (rocksdb_iter_valid(iterator))
		last.data = rocksdb_iter_key(iterator, &last.size);
	for (uint64_t i = 0; i < index; i++)
		if (writes[i].space == what->space && writes[i].kind == FLOW_STORE_PUT &&
			(last.data == NULL || compare(writes[i].key, last) > 0))
			last = writes[i].key;
	if (last.data != NULL && compare(what->key, last) <= 0) {
		rocksdb_writebatch_delete_range_cf(batch, space, what->key.data, what->key.size, last.data, last.size);
		rocksdb_writebatch_delete_cf(batch, space, last.data, last.size);
	}
	rocksdb_iter_destroy(iterator);
}

static flow_status
add_write(const flow_store *store, rocksdb_writebatch_t *batch, const flow_store_write *writes, uint64_t index,
		  flow_error *error)
{
	const database *d = store->database;
	const flow_store_write *w = &writes[index];
	flow_status status = check_space(store, w->space, error);
	if (status != FLOW_OK)
		return status;
	rocksdb_column_family_handle_t *space = d->spaces[w->space];
	switch (w->kind) {
	case FLOW_STORE_PUT:
		rocksdb_writebatch_put_cf(batch, space, w->key.data, w->key.size, w->value.data, w->value.size);
		return FLOW_OK;
	case FLOW_STORE_DELETE:
		rocksdb_writebatch_delete_cf(batch, space, w->key.data, w->key.size);
		return FLOW_OK;
	case FLOW_STORE_DELETE_RANGE:
		if (w->value.size == 0)
			delete_to_end(d, batch, writes, index);
		else if (compare(w->key, w->value) < 0)
			rocksdb_writebatch_delete_range_cf(batch, space, w->key.data, w->key.size, w->value.data, w->value.size);
		return FLOW_OK;
	default:
		return flow_fail(d->host, error, FLOW_E_ARGUMENT, "rocksdb folder %s: unknown kind of write %u", d->directory,
						 w->kind);
	}
}

static flow_status
store_write(flow_store *store, const flow_store_write *writes, uint64_t count, int sync, flow_error *error)
{
	const database *d = store->database;
	char *message = NULL;
	if (d->read_only)
		return flow_fail(d->host, error, FLOW_E_DENIED, "rocksdb folder %s: it is open for reading only", d->directory);
	if (count == 0) {
		if (sync)
			rocksdb_flush_wal(d->db, 1, &message);
		return message == NULL ? FLOW_OK : database_fail(d, "sync it", message, error);
	}
	rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
	flow_status status = FLOW_OK;
	for (uint64_t i = 0; i < count && status == FLOW_OK; i++)
		status = add_write(store, batch, writes, i, error);
	if (status == FLOW_OK)
		rocksdb_write(d->db, sync ? d->synced : d->buffered, batch, &message);
	rocksdb_writebatch_destroy(batch);
	return message == NULL ? status : database_fail(d, "write", message, error);
}

static flow_status
get_one(const database *d, const rocksdb_readoptions_t *read, uint32_t space, flow_slice key, flow_builder *memory,
		flow_slice *value, flow_error *error)
{
	char *message = NULL;
	rocksdb_pinnableslice_t *found = rocksdb_get_pinned_cf(d->db, read, d->spaces[space], key.data, key.size, &message);
	if (message != NULL)
		return database_fail(d, "read", message, error);
	*value = flow_slice_make(NULL, 0);
	if (found == NULL)
		return FLOW_OK;
	size_t size = 0;
	const char *data = rocksdb_pinnableslice_value(found, &size);
	value->data = flow_builder_copy(memory, data, size);
	value->size = size;
	rocksdb_pinnableslice_destroy(found);
	if (value->data == NULL)
		return flow_fail(d->host, error, FLOW_E_MEMORY, "rocksdb folder %s: no memory for a value of %zu bytes",
						 d->directory, size);
	return FLOW_OK;
}

static flow_status
store_get_many(flow_store *store, flow_store_snapshot *snapshot, uint32_t space, const flow_slice *keys, uint64_t count,
			   flow_builder *memory, flow_slice *values, flow_error *error)
{
	const database *d = store->database;
	const rocksdb_readoptions_t *read = snapshot == NULL ? d->read : snapshot->read;
	flow_status status = check_space(store, space, error);
	for (uint64_t i = 0; i < count && status == FLOW_OK; i++)
		status = get_one(d, read, space, keys[i], memory, &values[i], error);
	return status;
}

static flow_status
store_snapshot_open(flow_store *store, flow_store_snapshot **snapshot, flow_error *error)
{
	const database *d = store->database;
	flow_store_snapshot *s = flow_new(d->host, sizeof(*s));
	if (s == NULL)
		return flow_fail(d->host, error, FLOW_E_MEMORY, "rocksdb: out of memory");
	s->snapshot = rocksdb_create_snapshot(d->db);
	s->read = rocksdb_readoptions_create();
	rocksdb_readoptions_set_snapshot(s->read, s->snapshot);
	*snapshot = s;
	return FLOW_OK;
}

static void
store_snapshot_close(flow_store *store, flow_store_snapshot *snapshot)
{
	const database *d = store->database;
	rocksdb_readoptions_destroy(snapshot->read);
	rocksdb_release_snapshot(d->db, snapshot->snapshot);
	d->host->release(snapshot);
}

static flow_status
store_compact(flow_store *store, flow_error *error)
{
	const database *d = store->database;
	(void)error;
	for (uint32_t i = 0; i < d->space_count; i++)
		rocksdb_compact_range_cf(d->db, d->spaces[i], NULL, 0, NULL, 0);
	return FLOW_OK;
}

/* Reads everything once with checksums; the message of RocksDB names file and offset of the first bad block. */
static flow_status
store_check(flow_store *store, flow_error *error)
{
	const database *d = store->database;
	rocksdb_readoptions_t *read = rocksdb_readoptions_create();
	rocksdb_readoptions_set_verify_checksums(read, 1);
	rocksdb_readoptions_set_fill_cache(read, 0);
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; i < d->space_count && status == FLOW_OK; i++) {
		rocksdb_iterator_t *iterator = rocksdb_create_iterator_cf(d->db, read, d->spaces[i]);
		for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator);)
			rocksdb_iter_next(iterator);
		char *message = NULL;
		rocksdb_iter_get_error(iterator, &message);
		rocksdb_iter_destroy(iterator);
		if (message != NULL)
			status = database_fail(d, "check it", message, error);
	}
	rocksdb_readoptions_destroy(read);
	return status;
}

static flow_status
store_checkpoint(flow_store *store, flow_slice directory, flow_error *error)
{
	const database *d = store->database;
	char *path = database_copy_text(d->host, directory);
	if (path == NULL)
		return flow_fail(d->host, error, FLOW_E_MEMORY, "rocksdb: out of memory");
	char *message = NULL;
	rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(d->db, &message);
	if (message == NULL) {
		rocksdb_checkpoint_create(checkpoint, path, 0, &message);
		rocksdb_checkpoint_object_destroy(checkpoint);
	}
	flow_status status = message == NULL ? FLOW_OK : database_fail(d, "copy it to a new folder", message, error);
	d->host->release(path);
	return status;
}

static int64_t
store_size(flow_store *store)
{
	const database *d = store->database;
	int64_t size = 0;
	for (uint32_t i = 0; i < d->space_count; i++) {
		uint64_t files = 0, memory = 0;
		rocksdb_property_int_cf(d->db, d->spaces[i], "rocksdb.total-sst-files-size", &files);
		rocksdb_property_int_cf(d->db, d->spaces[i], "rocksdb.cur-size-all-mem-tables", &memory);
		size += (int64_t)(files + memory);
	}
	return size;
}

static const flow_store_ops store_ops = {
	.struct_size = FLOW_SIZEOF(flow_store_ops),
	.open = store_open,
	.close = store_close,
	.write = store_write,
	.get_many = store_get_many,
	.snapshot_open = store_snapshot_open,
	.snapshot_close = store_snapshot_close,
	.iterate = store_iterate,
	.next_many = store_next_many,
	.iterator_close = store_iterator_close,
	.compact = store_compact,
	.check = store_check,
	.checkpoint = store_checkpoint,
	.size = store_size,
};

static const flow_option_set options = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "Memory and files of the store.",
	.options = database_options,
};

static const flow_option_set *const option_sets[] = { &options, NULL };

const flow_component store_component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_STORE,
	.flags = FLOW_STORE_ATOMIC_BATCH,
	.id = "rocksdb",
	.doc = "Ordered keys on local disk in RocksDB. Holds keyed state and the messaging store.",
	.option_sets = option_sets,
	.ops = &store_ops,
};
