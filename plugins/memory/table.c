/*
 * Component kind `table`: rows in the memory of this process. Shards by the keys' hash, each with a lock that a call
 * takes once for all its rows there; rows are kept as bytes, so one is one allocation and a read is one copy.
 */
#include "flow_sdk/plugin.h"
#include "flow_sdk/row.h"
#include "memory.h"
#include "table_shard.h"

#define SHARDS 16u
#define SHARD_SHIFT 60 /* the top bits of the hash; the low ones are the place in the shard */

struct flow_table {
	const flow_host *host;
	const flow_schemas *schemas;
	const flow_keys *keys;
	const flow_memory *memory;
	char *name;
	const flow_schema *schema; /* NULL until it is known */
	struct shard shards[SHARDS];
};

/* The rows of a call, shard by shard, in their order within each. */
struct plan {
	flow_builder *own; /* memory that the plan lies in; NULL: in the caller's */
	uint64_t *hashes;
	uint32_t *order;
	uint32_t ends[SHARDS];
};

static flow_status
out_of_memory(const flow_table *t, flow_error *error)
{
	flow_fail(t->host, error, FLOW_E_MEMORY, "table %s: out of memory", t->name == NULL ? "" : t->name);
	return FLOW_E_MEMORY;
}

static void
table_close(flow_table *t)
{
	for (uint32_t i = 0; i < SHARDS; i++)
		shard_destroy(&t->shards[i], t->host);
	if (t->schemas != NULL)
		t->schemas->release(t->schema);
	t->host->release(t->name);
	t->host->release(t);
}

static flow_status
table_open(const flow_host *host, const flow_options *options, flow_table_info *info, flow_table **table,
		   flow_error *error)
{
	(void)options;
	flow_table *t = flow_new(host, sizeof(*t));
	if (t == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "table: out of memory");
	t->host = host;
	for (uint32_t i = 0; i < SHARDS; i++)
		shard_create(&t->shards[i]);
	t->schemas = host->get_service(FLOW_SERVICE_SCHEMAS);
	t->keys = host->get_service(FLOW_SERVICE_KEYS);
	t->memory = host->get_service(FLOW_SERVICE_MEMORY);
	t->name = flow_new(host, info->name.size + 1);
	flow_status status = FLOW_OK;
	if (t->name == NULL)
		status = out_of_memory(t, error);
	else if (t->schemas == NULL || t->keys == NULL || t->memory == NULL)
		status = flow_fail(host, error, FLOW_E_UNSUPPORTED, "table: this host has no schemas, keys or memory service");
	if (status != FLOW_OK) {
		table_close(t);
		return status;
	}
	if (info->name.size != 0)
		memcpy(t->name, info->name.data, info->name.size);
	info->blocking = 0;
	*table = t;
	return FLOW_OK;
}

/* Sorts the rows by shard: counts, then places, which keeps their order. */
static void
sort_rows(const flow_table *t, const flow_slice *keys, uint32_t count, struct plan *plan)
{
	uint32_t counts[SHARDS] = { 0 }, next[SHARDS];
	for (uint32_t i = 0; i < count; i++) {
		plan->hashes[i] = t->keys->hash(keys[i]);
		counts[plan->hashes[i] >> SHARD_SHIFT]++;
	}
	for (uint32_t shard = 0, start = 0; shard < SHARDS; shard++) {
		next[shard] = start;
		start += counts[shard];
		plan->ends[shard] = start;
	}
	for (uint32_t i = 0; i < count; i++)
		plan->order[next[plan->hashes[i] >> SHARD_SHIFT]++] = i;
}

static void
end_plan(const flow_table *t, const struct plan *plan)
{
	if (plan->own != NULL)
		t->memory->close(plan->own);
}

/* `memory` NULL: the plan brings its own, until end_plan. */
static flow_status
make_plan(const flow_table *t, const flow_slice *keys, uint32_t count, flow_builder *memory, struct plan *plan,
		  flow_error *error)
{
	plan->own = memory == NULL ? t->memory->open() : NULL;
	flow_builder *from = memory == NULL ? plan->own : memory;
	plan->hashes = from == NULL ? NULL : flow_builder_alloc(from, (uint64_t)count * sizeof(*plan->hashes) + 8);
	plan->order = plan->hashes == NULL ? NULL : flow_builder_alloc(from, (uint64_t)count * sizeof(*plan->order) + 8);
	if (plan->order == NULL) {
		end_plan(t, plan);
		return out_of_memory(t, error);
	}
	sort_rows(t, keys, count, plan);
	return FLOW_OK;
}

static flow_status
read_row(const struct shard *shard, uint64_t hash, flow_slice key, flow_builder *memory, flow_value *row)
{
	const struct item *item = shard_find(shard, hash, key);
	if (item == NULL)
		return FLOW_E_NOT_FOUND;
	flow_slice kept = item_row(item);
	const char *bytes = flow_builder_copy(memory, kept.data, kept.size);
	return bytes == NULL ? FLOW_E_MEMORY : flow_row_read(flow_slice_make(bytes, kept.size), memory, row);
}

static flow_status
table_get_many(flow_table *t, const flow_slice *keys, const flow_value *key_values, uint32_t count,
			   flow_builder *memory, flow_value *rows, flow_status *statuses, flow_error *error)
{
	(void)key_values;
	struct plan plan;
	flow_status status = make_plan(t, keys, count, memory, &plan, error);
	if (status != FLOW_OK)
		return status;
	for (uint32_t s = 0, i = 0; s < SHARDS; s++) {
		if (i == plan.ends[s])
			continue;
		pthread_rwlock_rdlock(&t->shards[s].lock);
		for (; i < plan.ends[s]; i++) {
			uint32_t row = plan.order[i];
			rows[row] = flow_null();
			statuses[row] = read_row(&t->shards[s], plan.hashes[row], keys[row], memory, &rows[row]);
		}
		pthread_rwlock_unlock(&t->shards[s].lock);
	}
	return FLOW_OK;
}

/* What a call that changes rows does with one of them; the shard's lock is held. */
struct change {
	flow_table *table;
	const flow_slice *keys;
	const flow_value *rows;
	const flow_table_update *const *updates;
	flow_builder *memory;
	flow_error *error;
	flow_status (*apply)(const struct change *change, struct shard *shard, uint64_t hash, uint32_t row);
};

static flow_status
put_row(const struct change *c, struct shard *shard, uint64_t hash, flow_slice key, const flow_value *row)
{
	const flow_table *t = c->table;
	uint64_t size = flow_row_size(row);
	if (size == 0)
		return flow_fail(t->host, c->error, FLOW_E_LIMIT, "table %s: a row is nested deeper than %d", t->name,
						 FLOW_ROW_DEPTH);
	return shard_put(shard, t->host, hash, key, row, size) ? FLOW_OK : out_of_memory(t, c->error);
}

static flow_status
apply_put(const struct change *c, struct shard *shard, uint64_t hash, uint32_t row)
{
	if (!flow_is_null(c->rows[row]))
		return put_row(c, shard, hash, c->keys[row], &c->rows[row]);
	shard_delete(shard, c->table->host, hash, c->keys[row]);
	return FLOW_OK;
}

static flow_status
apply_delete(const struct change *c, struct shard *shard, uint64_t hash, uint32_t row)
{
	return shard_delete(shard, c->table->host, hash, c->keys[row]) ? FLOW_OK : FLOW_E_NOT_FOUND;
}

static flow_status
apply_update(const struct change *c, struct shard *shard, uint64_t hash, uint32_t row)
{
	const flow_table *t = c->table;
	const flow_table_update *update = c->updates[row];
	flow_value before = flow_null();
	flow_value after;
	flow_status status = read_row(shard, hash, c->keys[row], c->memory, &before);
	if (status == FLOW_E_NOT_FOUND && update->mode == FLOW_UPDATE_WITH_DEFAULTS && update->default_value != NULL) {
		before = *update->default_value;
		status = FLOW_OK;
	}
	if (status != FLOW_OK)
		return status;
	status = flow_row_update(t->schema, &before, update, c->memory, &after);
	if (status != FLOW_OK)
		return flow_fail(t->host, c->error, status, "table %s: an update does not fit its rows", t->name);
	return put_row(c, shard, hash, c->keys[row], &after);
}

static flow_status
change_rows(struct change *c, uint32_t count, flow_status *statuses)
{
	struct plan plan;
	flow_status status = make_plan(c->table, c->keys, count, NULL, &plan, c->error);
	if (status != FLOW_OK)
		return status;
	c->memory = plan.own;
	for (uint32_t s = 0, i = 0; s < SHARDS; s++) {
		if (i == plan.ends[s])
			continue;
		struct shard *shard = &c->table->shards[s];
		pthread_rwlock_wrlock(&shard->lock);
		for (; i < plan.ends[s]; i++)
			statuses[plan.order[i]] = c->apply(c, shard, plan.hashes[plan.order[i]], plan.order[i]);
		pthread_rwlock_unlock(&shard->lock);
	}
	end_plan(c->table, &plan);
	return FLOW_OK;
}

static flow_status
table_put_many(flow_table *t, const flow_slice *keys, const flow_value *key_values, const flow_value *rows,
			   uint32_t count, flow_status *statuses, flow_error *error)
{
	(void)key_values;
	struct change c = { .table = t, .keys = keys, .rows = rows, .error = error, .apply = apply_put };
	return change_rows(&c, count, statuses);
}

static flow_status
table_delete_many(flow_table *t, const flow_slice *keys, const flow_value *key_values, uint32_t count,
				  flow_status *statuses, flow_error *error)
{
	(void)key_values;
	struct change c = { .table = t, .keys = keys, .error = error, .apply = apply_delete };
	return change_rows(&c, count, statuses);
}

static flow_status
table_update_many(flow_table *t, const flow_slice *keys, const flow_value *key_values,
				  const flow_table_update *const *updates, uint32_t count, flow_status *statuses, flow_error *error)
{
	(void)key_values;
	struct change c = { .table = t, .keys = keys, .updates = updates, .error = error, .apply = apply_update };
	return change_rows(&c, count, statuses);
}

static flow_status
table_flush(flow_table *t, flow_error *error)
{
	(void)t;
	(void)error;
	return FLOW_OK;
}

static flow_status
table_set_schema(flow_table *t, const flow_schema *schema, const flow_schema *key_schema, flow_error *error)
{
	(void)key_schema;
	(void)error;
	const flow_schema *before = t->schema;
	t->schema = t->schemas->retain(schema);
	t->schemas->release(before);
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

const flow_component table_component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_TABLE,
	.flags = FLOW_TABLE_LOCAL | FLOW_TABLE_UPDATES,
	.id = "memory",
	.doc = "Rows in the memory of this process. They end with it: what feeds the table is read anew at each start.",
	.ops = &table_ops,
};
