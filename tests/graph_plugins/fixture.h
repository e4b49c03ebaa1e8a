/*
 * The parts of the planner's fixture plugin. Its components have the names that configurations in the cases use (file,
 * messaging, csv, json, where, aggregate ...), and do nothing but what planning needs.
 */
#ifndef GRAPH_PLUGINS_FIXTURE_H
#define GRAPH_PLUGINS_FIXTURE_H

#include "flow/flow.h"
#include "flow_sdk/plugin.h"

extern const flow_host *fixture_host;

#define OPTION(identifier, ...)                                                                                        \
	static const flow_option identifier = { .struct_size = FLOW_SIZEOF(flow_option), __VA_ARGS__ }
#define SET(identifier, scope_name, ...)                                                                               \
	static const flow_option *const identifier##_list[] = { __VA_ARGS__, NULL };                                       \
	static const flow_option_set identifier = { FLOW_SIZEOF(flow_option_set), 0, scope_name, "Fixture.",               \
												identifier##_list }
#define COMPONENT(identifier, kind_value, flag_bits, word, sets, table)                                                \
	const flow_component identifier = {                                                                                \
		.struct_size = FLOW_SIZEOF(flow_component), .kind = kind_value, .flags = flag_bits, .id = word,                \
		.doc = "Fixture.", .option_sets = sets, .ops = table                                                           \
	}

extern const flow_component fixture_file, fixture_messaging, fixture_own, fixture_source_only,
	fixture_shared;
extern const flow_component fixture_csv, fixture_json, fixture_string, fixture_frames;
extern const flow_component fixture_reads_only, fixture_writes_only;
extern const flow_component fixture_where, fixture_aggregate, fixture_write_table, fixture_join_table, fixture_sink_all,
	fixture_block, fixture_pair, fixture_split, fixture_keyed_only, fixture_timed, fixture_sloppy, fixture_pass;
extern const flow_component fixture_memory, fixture_durable, fixture_rocksdb, fixture_torn, fixture_envelope;
extern const flow_component fixture_changing, fixture_growing, fixture_both, fixture_changing_transformer,
	fixture_both_transformer, fixture_growing_expander, fixture_both_expander, fixture_remote, fixture_meet, fixture_fork, fixture_keep;
extern const flow_system_ops fixture_system_ops;

/* Stands for every function that planning does not call. */
flow_status fixture_never(void);
#define NEVER ((void *)fixture_never)

const flow_schema *fixture_type(const char *text);
void fixture_release(const flow_schema *schema);

#endif
