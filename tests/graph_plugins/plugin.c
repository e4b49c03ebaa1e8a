#include "fixture.h"

const flow_host *fixture_host;

flow_status
fixture_never(void)
{
	return FLOW_E_INTERNAL;
}

static const flow_schemas *
schemas(void)
{
	return fixture_host->get_service(FLOW_SERVICE_SCHEMAS);
}

const flow_schema *
fixture_type(const char *text)
{
	return schemas()->parse_type(flow_slice_of(text), NULL);
}

void
fixture_release(const flow_schema *schema)
{
	schemas()->release(schema);
}

/* Tables and stores are not opened while planning. */
OPTION(size_option, .type = FLOW_OPTION_SIZE, .name = "cache", .default_text = "1MiB", .doc = "Fixture.");
SET(size_set, "", &size_option);
static const flow_option_set *const size_sets[] = { &size_set, NULL };

static const flow_table_ops table_ops = {
	.struct_size = FLOW_SIZEOF(flow_table_ops),
	.open = NEVER,
	.close = NEVER,
	.get_many = NEVER,
	.put_many = NEVER,
	.delete_many = NEVER,
	.update_many = NEVER,
	.flush = NEVER,
	.set_schema = NEVER,
};
static const flow_store_ops store_ops = {
	.struct_size = FLOW_SIZEOF(flow_store_ops),
	.open = NEVER,
	.close = NEVER,
	.write = NEVER,
	.get_many = NEVER,
	.snapshot_open = NEVER,
	.snapshot_close = NEVER,
	.iterate = NEVER,
	.next_many = NEVER,
	.iterator_close = NEVER,
	.compact = NEVER,
	.check = NEVER,
	.checkpoint = NEVER,
	.size = NEVER,
};

COMPONENT(fixture_memory, FLOW_TABLE, FLOW_TABLE_LOCAL, "memory", size_sets, &table_ops);
COMPONENT(fixture_durable, FLOW_TABLE, FLOW_TABLE_LOCAL | FLOW_TABLE_DURABLE, "durable", size_sets, &table_ops);
COMPONENT(fixture_remote, FLOW_TABLE, 0, "remote", size_sets, &table_ops);
COMPONENT(fixture_rocksdb, FLOW_STORE, FLOW_STORE_ATOMIC_BATCH, "rocksdb", size_sets, &store_ops);
COMPONENT(fixture_torn, FLOW_STORE, 0, "torn", size_sets, &store_ops);

static flow_status
init(const flow_host *host, flow_error *error)
{
	(void)error;
	fixture_host = host;
	return FLOW_OK;
}

static const flow_component *const components[] = {
	&fixture_file,        &fixture_messaging,
	&fixture_own,         &fixture_source_only,
	&fixture_shared,
	&fixture_csv,         &fixture_json,
	&fixture_string,      &fixture_frames, &fixture_reads_only, &fixture_writes_only,
	&fixture_where,       &fixture_aggregate,
	&fixture_write_table, &fixture_join_table,
	&fixture_sink_all,    &fixture_block,
	&fixture_pair,        &fixture_split,
	&fixture_keyed_only,  &fixture_timed,
	&fixture_sloppy,      &fixture_pass,
	&fixture_memory,      &fixture_durable,
	&fixture_rocksdb,     &fixture_torn,
	&fixture_remote,
	&fixture_envelope,    &fixture_changing,
	&fixture_growing,     &fixture_both,
	&fixture_meet,        &fixture_fork,
	&fixture_keep,        &fixture_changing_transformer,
	&fixture_both_transformer, &fixture_growing_expander,
	&fixture_both_expander, NULL,
};

FLOW_DEFINE_PLUGIN("planner_fixture", "1.0.0", "Apache-2.0", components, init, NULL)
