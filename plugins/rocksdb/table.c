/*
 * Component kind `table`: rows on local disk. Space 0 holds rows under their canonical keys, space 1 the schemas, so
 * that a table that is opened again knows what its rows are.
 *
 * Puts and deletes of several tasks go side by side; an update reads and writes, so it has the table for itself.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/row.h"

#define ROWS 0
#define ABOUT 1
#define SPACES 2
#define SCHEMA_KEY "schema"
#define KEY_SCHEMA_KEY "key_schema"

struct flow_table {
	const flow_host *host;
	const flow_schemas *schemas;
	const flow_memory *memory;
	database *database;
	char *name;
	const flow_schema *schema; /* of the rows; NULL until it is known */
	pthread_rwlock_t lock;     /* written by updates and deletes, read by puts */
};

static flow_status
out_of_memory(const flow_table *t, flow_error *error)
{
	flow_fail(t->host, error, FLOW_E_MEMORY, "table %s: out of memory", t->name == NULL ? "" : t->name);
	return FLOW_E_MEMORY;
}

/* The schema that an earlier run left; *schema NULL: none. */
static flow_status
load_schema(flow_table *t, const char *key, const flow_schema **schema, flow_error *error)
{
	const database *d = t->database;
	char *message = NULL;
	size_t size = 0;
	*schema = NULL;
	char *json = rocksdb_get_cf(d->db, d->read, d->spaces[ABOUT], key, strlen(key), &size, &message);
	if (message != NULL)
		return database_fail(d, "read the schema of its rows", message, error);
	if (json == NULL)
		return FLOW_OK;
	*schema = t->schemas->parse_json(flow_slice_make(json, size), error);
	rocksdb_free(json);
	if (*schema != NULL)
		return FLOW_OK;
	return flow_fail(t->host, error, FLOW_E_CORRUPT,
					 "table %s: the schema kept in %s cannot be read; remove the folder to start anew", t->name,
					 d->directory);
}

static flow_status
open_parts(flow_table *t, const flow_options *options, flow_table_info *info, flow_error *error)
{
	t->schemas = t->host->get_service(FLOW_SERVICE_SCHEMAS);
	t->memory = t->host->get_service(FLOW_SERVICE_MEMORY);
	if (t->schemas == NULL || t->memory == NULL)
		return flow_fail(t->host, error, FLOW_E_UNSUPPORTED, "table %s: this host has no schemas or memory service",
						 t->name);
	if (info->directory.size == 0)
		return flow_fail(t->host, error, FLOW_E_ARGUMENT, "table %s: it needs a folder of its own", t->name);
	flow_store_info where = {
		.struct_size = FLOW_SIZEOF(flow_store_info), .space_count = SPACES, .directory = info->directory, .create = 1
	};
	flow_status status = database_open(t->host, options, &where, &t->database, error);
	const flow_schema *key_schema = NULL;
	if (status == FLOW_OK)
		status = load_schema(t, SCHEMA_KEY, &t->schema, error);
	if (status == FLOW_OK)
		status = load_schema(t, KEY_SCHEMA_KEY, &key_schema, error);
	if (status != FLOW_OK)
		return status;
	info->schema = t->schema == NULL ? NULL : t->schemas->retain(t->schema);
	info->key_schema = key_schema;
	info->blocking = 0;
	return FLOW_OK;
}

static void
table_close(flow_table *t)
{
	if (t->schemas != NULL)
		t->schemas->release(t->schema);
	database_close(t->database);
	pthread_rwlock_destroy(&t->lock);
	t->host->release(t->name);
	t->host->release(t);
}

static flow_status
table_open(const flow_host *host, const flow_options *options, flow_table_info *info, flow_table **table,
		   flow_error *error)
{
	flow_table *t = flow_new(host, sizeof(*t));
	if (t == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "rocksdb: out of memory");
	t->host = host;
	pthread_rwlock_init(&t->lock, NULL);
	t->name = database_copy_text(host, info->name);
	flow_status status = t->name == NULL ? out_of_memory(t, error) : open_parts(t, options, info, error);
	if (status != FLOW_OK) {
		table_close(t);
		return status;
	}
	*table = t;
	return FLOW_OK;
}

/* One row; FLOW_E_NOT_FOUND is its status and fills no error. */
static flow_status
get_row(const flow_table *t, flow_slice key, flow_builder *memory, flow_value *row, flow_error *error)
{
	const database *d = t->database;
	char *message = NULL;
	rocksdb_pinnableslice_t *found =
		rocksdb_get_pinned_cf(d->db, d->read, d->spaces[ROWS], key.data, key.size, &message);
	if (message != NULL)
		return database_fail(d, "read a row", message, error);
	if (found == NULL)
		return FLOW_E_NOT_FOUND;
	size_t size = 0;
	const char *data = rocksdb_pinnableslice_value(found, &size);
	data = flow_builder_copy(memory, data, size);
	rocksdb_pinnableslice_destroy(found);
	if (data == NULL)
		return out_of_memory(t, error);
	flow_status status = flow_row_read(flow_slice_make(data, size), memory, row);
	if (status != FLOW_OK)
		flow_fail(t->host, error, status, "table %s: a row in %s cannot be read; remove the folder to start anew",
				  t->name, d->directory);
	return status;
}

static flow_status
table_get_many(flow_table *t, const flow_slice *keys, const flow_value *key_values, uint32_t count,
			   flow_builder *memory, flow_value *rows, flow_status *statuses, flow_error *error)
{
	(void)key_values;
	for (uint32_t i = 0; i < count; i++) {
		rows[i] = flow_null();
		statuses[i] = get_row(t, keys[i], memory, &rows[i], error);
	}
	return FLOW_OK;
}

/* The row as bytes of the host's memory. */
static flow_status
encode_row(const flow_table *t, const flow_value *row, char **bytes, uint64_t *size, flow_error *error)
{
	*size = flow_row_size(row);
	if (*size == 0)
		return flow_fail(t->host, error, FLOW_E_LIMIT, "table %s: a row is nested deeper than %d", t->name,
						 FLOW_ROW_DEPTH);
	*bytes = t->host->allocate(*size);
	if (*bytes == NULL)
		return out_of_memory(t, error);
	flow_row_write(row, *bytes);
	return FLOW_OK;
}

static flow_status
add_put(const flow_table *t, rocksdb_writebatch_t *batch, flow_slice key, const flow_value *row, flow_error *error)
{
	rocksdb_column_family_handle_t *space = t->database->spaces[ROWS];
	if (flow_is_null(*row)) {
		rocksdb_writebatch_delete_cf(batch, space, key.data, key.size);
		return FLOW_OK;
	}
	char *bytes = NULL;
	uint64_t size = 0;
	flow_status status = encode_row(t, row, &bytes, &size, error);
	if (status != FLOW_OK)
		return status;
	rocksdb_writebatch_put_cf(batch, space, key.data, key.size, bytes, size);
	t->host->release(bytes);
	return FLOW_OK;
}

/* Rows that could be encoded have FLOW_OK so far: they share the outcome of the write. */
static flow_status
write_batch(const flow_table *t, rocksdb_writebatch_t *batch, uint32_t count, flow_status *statuses, flow_error *error)
{
	char *message = NULL;
	rocksdb_write(t->database->db, t->database->buffered, batch, &message);
	if (message == NULL)
		return FLOW_OK;
	flow_status status = database_fail(t->database, "write rows", message, error);
	for (uint32_t i = 0; i < count; i++)
		if (statuses[i] == FLOW_OK)
			statuses[i] = status;
	return status;
}

static flow_status
table_put_many(flow_table *t, const flow_slice *keys, const flow_value *key_values, const flow_value *rows,
			   uint32_t count, flow_status *statuses, flow_error *error)
{
	(void)key_values;
	rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
	for (uint32_t i = 0; i < count; i++)
		statuses[i] = add_put(t, batch, keys[i], &rows[i], error);
	pthread_rwlock_rdlock(&t->lock);
	flow_status status = write_batch(t, batch, count, statuses, error);
	pthread_rwlock_unlock(&t->lock);
	rocksdb_writebatch_destroy(batch);
	return status;
}

static flow_status
delete_row(const flow_table *t, flow_slice key, flow_error *error)
{
	const database *d = t->database;
	char *message = NULL;
	rocksdb_pinnableslice_t *found =
		rocksdb_get_pinned_cf(d->db, d->read, d->spaces[ROWS], key.data, key.size, &message);
	if (message == NULL && found == NULL)
		return FLOW_E_NOT_FOUND;
	if (found != NULL)
		rocksdb_pinnableslice_destroy(found);
	if (message == NULL)
		rocksdb_delete_cf(d->db, d->buffered, d->spaces[ROWS], key.data, key.size, &message);
	return message == NULL ? FLOW_OK : database_fail(d, "delete a row", message, error);
}

static flow_status
table_delete_many(flow_table *t, const flow_slice *keys, const flow_value *key_values, uint32_t count,
				  flow_status *statuses, flow_error *error)
{
	(void)key_values;
	pthread_rwlock_wrlock(&t->lock);
	for (uint32_t i = 0; i < count; i++)
		statuses[i] = delete_row(t, keys[i], error);
	pthread_rwlock_unlock(&t->lock);
	return FLOW_OK;
}

static flow_status
put_row(const flow_table *t, flow_slice key, const flow_value *row, flow_error *error)
{
	const database *d = t->database;
	char *bytes = NULL;
	uint64_t size = 0;
	flow_status status = encode_row(t, row, &bytes, &size, error);
	if (status != FLOW_OK)
		return status;
	char *message = NULL;
	rocksdb_put_cf(d->db, d->buffered, d->spaces[ROWS], key.data, key.size, bytes, size, &message);
	t->host->release(bytes);
	return message == NULL ? FLOW_OK : database_fail(d, "write a row", message, error);
}

static flow_status
update_row(const flow_table *t, flow_slice key, const flow_table_update *update, flow_builder *memory,
		   flow_error *error)
{
	flow_value row = flow_null();
	flow_value changed;
	flow_status status = get_row(t, key, memory, &row, error);
	if (status == FLOW_E_NOT_FOUND && update->mode == FLOW_UPDATE_WITH_DEFAULTS && update->default_value != NULL) {
		row = *update->default_value;
		status = FLOW_OK;
	}
	if (status != FLOW_OK)
		return status;
	status = flow_row_update(t->schema, &row, update, memory, &changed);
	if (status != FLOW_OK)
		return flow_fail(t->host, error, status, "table %s: an update does not fit its rows", t->name);
	return put_row(t, key, &changed, error);
}

static flow_status
table_update_many(flow_table *t, const flow_slice *keys, const flow_value *key_values,
				  const flow_table_update *const *updates, uint32_t count, flow_status *statuses, flow_error *error)
{
	(void)key_values;
	flow_builder *memory = t->memory->open();
	if (memory == NULL)
		return out_of_memory(t, error);
	pthread_rwlock_wrlock(&t->lock);
	for (uint32_t i = 0; i < count; i++)
		statuses[i] = update_row(t, keys[i], updates[i], memory, error);
	pthread_rwlock_unlock(&t->lock);
	t->memory->close(memory);
	return FLOW_OK;
}

static flow_status
table_flush(flow_table *t, flow_error *error)
{
	char *message = NULL;
	rocksdb_flush_wal(t->database->db, 1, &message);
	return message == NULL ? FLOW_OK : database_fail(t->database, "sync it", message, error);
}

static int
is_empty(const flow_table *t)
{
	const database *d = t->database;
	rocksdb_iterator_t *iterator = rocksdb_create_iterator_cf(d->db, d->read, d->spaces[ROWS]);
	rocksdb_iter_seek_to_first(iterator);
	int empty = !rocksdb_iter_valid(iterator);
	rocksdb_iter_destroy(iterator);
	return empty;
}

/* Keeps the JSON form under `key`; no schema, no entry. */
static flow_status
keep_schema(const flow_table *t, const char *key, const flow_schema *schema, flow_error *error)
{
	const database *d = t->database;
	char *message = NULL;
	if (schema == NULL) {
		rocksdb_delete_cf(d->db, d->buffered, d->spaces[ABOUT], key, strlen(key), &message);
		return message == NULL ? FLOW_OK : database_fail(d, "write the schema of its rows", message, error);
	}
	uint64_t size = t->schemas->print(schema, 0, NULL, 0);
	char *json = t->host->allocate(size + 1);
	if (json == NULL)
		return out_of_memory(t, error);
	t->schemas->print(schema, 0, json, size + 1);
	rocksdb_put_cf(d->db, d->synced, d->spaces[ABOUT], key, strlen(key), json, size, &message);
	t->host->release(json);
	return message == NULL ? FLOW_OK : database_fail(d, "write the schema of its rows", message, error);
}

static flow_status
table_set_schema(flow_table *t, const flow_schema *schema, const flow_schema *key_schema, flow_error *error)
{
	if (t->schema != NULL && t->schemas->equal(t->schema, schema))
		return FLOW_OK;
	if (t->schema != NULL && !is_empty(t)) {
		char before[512], after[512];
		t->schemas->print(t->schema, 1, before, sizeof(before));
		t->schemas->print(schema, 1, after, sizeof(after));
		return flow_fail(
			t->host, error, FLOW_E_CONFLICT,
			"table %s: its rows in %s are %s, the job now writes %s; run once with --fresh or name the table anew",
			t->name, t->database->directory, before, after);
	}
	flow_status status = keep_schema(t, SCHEMA_KEY, schema, error);
	if (status == FLOW_OK)
		status = keep_schema(t, KEY_SCHEMA_KEY, key_schema, error);
	if (status != FLOW_OK)
		return status;
	t->schemas->release(t->schema);
	t->schema = t->schemas->retain(schema);
	return FLOW_OK;
}

static const flow_table_ops table_ops = {
	.struct_size = FLOW_SIZEOF(flow_table_ops),
	.open = table_open,
	.close = table_close,
	.get_many = table_get_many,
	.put_many = table_put_many,
	.delete_many = table_delete_many,
	.update_many = table_update_many,
	.flush = table_flush,
	.set_schema = table_set_schema,
};

static const flow_option_set options = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "Memory and files of the table.",
	.options = database_options,
};

static const flow_option_set *const option_sets[] = { &options, NULL };

const flow_component table_component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_TABLE,
	.flags = FLOW_TABLE_LOCAL | FLOW_TABLE_DURABLE | FLOW_TABLE_UPDATES,
	.id = "rocksdb",
	.doc = "Rows on local disk in RocksDB. They survive the process; flush makes them survive the machine.",
	.option_sets = option_sets,
	.ops = &table_ops,
};
