/*
 * Gathering: rows of many small parts become one batch for a consumer. Cells are copied, what they point at stays in the batches
 * that they come from, which are kept as long as the new one.
 */
#include "base/memory.h"
#include "runtime/exchange.h"
#include "runtime/run.h"

#define GATHER_HASH 256u /* besides FLOW_COLUMN_* */

static uint32_t
columns_of(const flow_batch *batch)
{
	return (batch->key != NULL ? FLOW_COLUMN_KEY : 0) | (batch->timestamp != NULL ? FLOW_COLUMN_TIMESTAMP : 0) |
		   (batch->headers != NULL ? FLOW_COLUMN_HEADERS : 0) | (batch->ordinal != NULL ? FLOW_COLUMN_ORDINAL : 0) |
		   (batch->key_hash != NULL && batch->key_bytes != NULL ? GATHER_HASH : 0);
}

static int
fits(const gathering *g, const flow_batch *batch)
{
	return g->schema == batch->schema && g->key_schema == batch->key_schema && g->columns == columns_of(batch);
}

/* An empty gathering for rows like those of `batch`. */
static flow_status
begin(outbox *o, gathering *g, const flow_batch *batch)
{
	runtime *run = o->task->topology->run;
	if (g->builder == NULL)
		g->builder = builder_create(run->pool, run->batch_rows, run->batch_bytes);
	if (g->builder == NULL)
		return FLOW_E_MEMORY;
	if (g->builder->row_capacity == 0) { /* an earlier batch left it without memory */
		builder_clear(g->builder);
		if (g->builder->row_capacity == 0)
			return FLOW_E_MEMORY;
	}
	g->columns = columns_of(batch);
	g->schema = batch->schema;
	g->key_schema = batch->key_schema;
	g->input = batch->input;
	g->partition = batch->partition;
	g->number = (uint32_t)batch_partition_number(batch);
	g->place = batch->place;
	flow_builder *builder = g->builder;
	if (builder->ops->add_columns(builder, g->columns & ~GATHER_HASH) != FLOW_OK)
		return FLOW_E_MEMORY;
	if ((g->columns & GATHER_HASH) == 0)
		return FLOW_OK;
	g->hash = flow_builder_alloc(builder, builder->row_capacity * sizeof(*g->hash));
	g->bytes = flow_builder_alloc(builder, builder->row_capacity * sizeof(*g->bytes));
	return g->hash == NULL || g->bytes == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

static void
add_row(gathering *g, const flow_batch *batch, uint32_t row)
{
	flow_builder *builder = g->builder;
	uint32_t to = flow_builder_add(builder, batch->value[row]);
	if ((g->columns & FLOW_COLUMN_KEY) != 0)
		builder->key[to] = batch->key[row];
	if ((g->columns & FLOW_COLUMN_TIMESTAMP) != 0)
		builder->timestamp[to] = batch->timestamp[row];
	if ((g->columns & FLOW_COLUMN_HEADERS) != 0)
		builder->headers[to] = batch->headers[row];
	if ((g->columns & FLOW_COLUMN_ORDINAL) != 0)
		builder->ordinal[to] = batch->ordinal[row];
	if ((g->columns & GATHER_HASH) != 0) {
		g->hash[to] = batch->key_hash[row];
		g->bytes[to] = batch->key_bytes[row];
	}
}

flow_status
gather_flush(outbox *o, outbox_target *target)
{
	gathering *g = &target->rows;
	if (g->builder == NULL || g->builder->row_count == 0)
		return FLOW_OK;
	batch_head head = { .schema = g->schema,
						.key_schema = g->key_schema,
						.input = g->input,
						.partition = g->partition,
						.number = g->number,
						.place = g->place };
	flow_batch *batch = builder_finish(g->builder, &head);
	if (batch == NULL)
		return FLOW_E_MEMORY;
	if ((g->columns & GATHER_HASH) != 0)
		batch_set_key_columns(batch, NULL, g->hash, g->bytes);
	return outbox_push(o, target, batch);
}

flow_status
gather_rows(outbox *o, outbox_target *target, const flow_batch *batch, const uint32_t *rows, uint32_t count)
{
	gathering *g = &target->rows;
	flow_status status = FLOW_OK;
	for (uint32_t done = 0; done < count;) {
		int apart = o->tells && (g->input != batch->input || g->partition != batch->partition);
		if (g->builder != NULL && g->builder->row_count != 0 && (apart || !fits(g, batch)))
			status = gather_flush(o, target);
		if (status == FLOW_OK && (g->builder == NULL || g->builder->row_count == 0))
			status = begin(o, g, batch);
		if (status == FLOW_OK)
			status = g->builder->ops->keep(g->builder, batch);
		if (status != FLOW_OK)
			return status;
		if (g->input != batch->input || g->partition != batch->partition) {
			/* Rows of several partitions: none of them is the batch's. */
			g->partition = UINT32_MAX;
			g->place = flow_slice_make(NULL, 0);
		}
		for (; done < count && g->builder->row_count < g->builder->row_capacity; done++)
			add_row(g, batch, rows == NULL ? done : rows[done]);
		if (g->builder->row_count == g->builder->row_capacity)
			status = gather_flush(o, target);
		if (status != FLOW_OK)
			return status;
	}
	return FLOW_OK;
}
