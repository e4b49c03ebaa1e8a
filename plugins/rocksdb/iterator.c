/* Ranges of a space, read in runs: RocksDB's own slices die with its next step, so a run is copied once. */
#include <string.h>

#include "database.h"
#include "flow_sdk/plugin.h"

#define RUN_BYTES ((uint64_t)1 << 20)
#define FIRST_CAPACITY ((uint64_t)16 * 1024)

struct flow_store_iterator {
	const database *database;
	rocksdb_iterator_t *iterator;
	rocksdb_readoptions_t *read;
	char *bounds; /* RocksDB keeps pointing at them */
	int backward;
	char *run;
	uint64_t run_size;
	uint64_t run_capacity;
};

static flow_status
out_of_memory(const database *d, flow_error *error)
{
	return flow_fail(d->host, error, FLOW_E_MEMORY, "rocksdb folder %s: out of memory", d->directory);
}

static void
set_bounds(flow_store_iterator *it, flow_slice from, flow_slice to)
{
	if (from.size != 0) {
		memcpy(it->bounds, from.data, from.size);
		rocksdb_readoptions_set_iterate_lower_bound(it->read, it->bounds, from.size);
	}
	if (to.size != 0) {
		memcpy(it->bounds + from.size, to.data, to.size);
		rocksdb_readoptions_set_iterate_upper_bound(it->read, it->bounds + from.size, to.size);
	}
}

flow_status
store_iterate(flow_store *store, flow_store_snapshot *snapshot, uint32_t space, flow_slice from, flow_slice to,
			  int backward, flow_store_iterator **iterator, flow_error *error)
{
	const database *d = store->database;
	if (space >= d->space_count)
		return flow_fail(d->host, error, FLOW_E_ARGUMENT, "rocksdb folder %s: space %u of %u was asked for",
						 d->directory, space, d->space_count);
	flow_store_iterator *it = flow_new(d->host, sizeof(*it));
	if (it == NULL)
		return out_of_memory(d, error);
	it->database = d;
	it->backward = backward;
	it->bounds = d->host->allocate(from.size + to.size + 1);
	it->read = rocksdb_readoptions_create();
	if (it->bounds == NULL) {
		store_iterator_close(it);
		return out_of_memory(d, error);
	}
	if (snapshot != NULL)
		rocksdb_readoptions_set_snapshot(it->read, snapshot->snapshot);
	set_bounds(it, from, to);
	it->iterator = rocksdb_create_iterator_cf(d->db, it->read, d->spaces[space]);
	if (backward)
		rocksdb_iter_seek_to_last(it->iterator);
	else
		rocksdb_iter_seek_to_first(it->iterator);
	*iterator = it;
	return FLOW_OK;
}

static flow_status
grow(flow_store_iterator *it, uint64_t more)
{
	uint64_t capacity = it->run_capacity == 0 ? FIRST_CAPACITY : it->run_capacity;
	while (capacity - it->run_size < more)
		capacity *= 2;
	if (capacity == it->run_capacity)
		return FLOW_OK;
	char *run = it->database->host->reallocate(it->run, capacity);
	if (run == NULL)
		return FLOW_E_MEMORY;
	it->run = run;
	it->run_capacity = capacity;
	return FLOW_OK;
}

/* Copies the pair at the iterator behind the run. The slices get sizes now and addresses when the run no longer moves.
 * */
static flow_status
take_pair(flow_store_iterator *it, flow_slice *key, flow_slice *value)
{
	const char *key_data = rocksdb_iter_key(it->iterator, &key->size);
	const char *value_data = rocksdb_iter_value(it->iterator, &value->size);
	if (grow(it, key->size + value->size + 1) != FLOW_OK)
		return FLOW_E_MEMORY;
	if (key->size != 0)
		memcpy(it->run + it->run_size, key_data, key->size);
	if (value->size != 0)
		memcpy(it->run + it->run_size + key->size, value_data, value->size);
	it->run_size += key->size + value->size;
	return FLOW_OK;
}

flow_status
store_next_many(flow_store_iterator *it, uint64_t capacity, flow_slice *keys, flow_slice *values, uint64_t *count,
				flow_error *error)
{
	const database *d = it->database;
	uint64_t taken = 0;
	it->run_size = 0;
	while (taken < capacity && it->run_size < RUN_BYTES && rocksdb_iter_valid(it->iterator)) {
		if (take_pair(it, &keys[taken], &values[taken]) != FLOW_OK)
			return out_of_memory(d, error);
		taken++;
		if (it->backward)
			rocksdb_iter_prev(it->iterator);
		else
			rocksdb_iter_next(it->iterator);
	}
	const char *next = it->run;
	for (uint64_t i = 0; i < taken; i++) {
		keys[i].data = next;
		values[i].data = next + keys[i].size;
		next += keys[i].size + values[i].size;
	}
	*count = taken;
	if (rocksdb_iter_valid(it->iterator) || taken > 0)
		return FLOW_OK;
	char *message = NULL;
	rocksdb_iter_get_error(it->iterator, &message);
	return message == NULL ? FLOW_END : database_fail(d, "read", message, error);
}

void
store_iterator_close(flow_store_iterator *it)
{
	const flow_host *host = it->database->host;
	if (it->iterator != NULL)
		rocksdb_iter_destroy(it->iterator);
	rocksdb_readoptions_destroy(it->read);
	host->release(it->bounds);
	host->release(it->run);
	host->release(it);
}
