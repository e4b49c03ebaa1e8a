/* The job's tables: opened once per process, before any task runs. */
#include <stdio.h>

#include "base/schema.h"
#include "base/memory.h"
#include "runtime/run.h"

static flow_status
open_one(runtime *run, const plan_table *declared, open_table *table, flow_error *error)
{
	char directory[4096];
	snprintf(directory, sizeof(directory), "%s/tables/%s", run->state_directory, declared->name);
	table->ops = declared->component->ops;
	flow_table_info info = { .struct_size = FLOW_SIZEOF(flow_table_info),
							 .name = flow_slice_of(declared->name),
							 .directory = flow_slice_of(directory) };
	flow_status status = table->ops->open(run->host, declared->options, &info, &table->table, error);
	if (status == FLOW_OK && declared->schema != NULL && info.schema == NULL && FLOW_CAN(table->ops, set_schema))
		status = table->ops->set_schema(table->table, declared->schema, declared->key_schema, error);
	schema_release(info.schema);
	schema_release(info.key_schema);
	if (status != FLOW_OK)
		error_prefix(error, "table %s", declared->name);
	return status;
}

flow_status
tables_open(runtime *run, flow_error *error)
{
	if (run->plan->table_count == 0)
		return FLOW_OK;
	run->tables = memory_allocate_zeroed(run->plan->table_count * sizeof(*run->tables));
	if (run->tables == NULL)
		return error_set(error, FLOW_E_MEMORY, "out of memory");
	flow_status status = FLOW_OK;
	for (uint32_t i = 0; status == FLOW_OK && i < run->plan->table_count; i++)
		status = open_one(run, &run->plan->tables[i], &run->tables[i], error);
	return status;
}

void
tables_close(runtime *run)
{
	for (uint32_t i = 0; run->tables != NULL && i < run->plan->table_count; i++)
		if (run->tables[i].table != NULL)
			run->tables[i].ops->close(run->tables[i].table);
	memory_release(run->tables);
	run->tables = NULL;
}

/* Positions in a checkpoint must not run ahead of what was put. */
flow_status
tables_flush(runtime *run, flow_error *error)
{
	for (uint32_t i = 0; run->tables != NULL && i < run->plan->table_count; i++) {
		const open_table *table = &run->tables[i];
		if (!run->plan->tables[i].durable || !FLOW_CAN(table->ops, flush))
			continue;
		flow_status status = table->ops->flush(table->table, error);
		if (status < 0) {
			error_prefix(error, "table %s", run->plan->tables[i].name);
			return status;
		}
	}
	return FLOW_OK;
}
