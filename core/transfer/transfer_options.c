#include "transfer/transfer_options.h"

#define OPTION(identifier, ...)                                                                                        \
	static const flow_option identifier = { .struct_size = FLOW_SIZEOF(flow_option), __VA_ARGS__ }
#define SET(identifier, scope_name, text, list)                                                                        \
	const flow_option_set identifier = { FLOW_SIZEOF(flow_option_set), 0, scope_name, text, list }

OPTION(link_connector, .type = FLOW_OPTION_STRING, .name = "connector", .flags = FLOW_OPTION_REQUIRED,
	   .example = "\"jdbc\"", .doc = "The component that reads and writes through this link.");
static const flow_option *const link_list[] = { &link_connector, NULL };
SET(link_options, "link", "What every link has besides its connector's own options.", link_list);

/* --- sides ---------------------------------------------------------------------------------------------------------- */

OPTION(side_link, .type = FLOW_OPTION_REFERENCE, .name = "link", .refers_to = "link", .flags = FLOW_OPTION_REQUIRED,
	   .example = "\"shop\"", .doc = "The link that this side goes through.");

OPTION(delta_column, .type = FLOW_OPTION_STRING, .name = "column", .flags = FLOW_OPTION_REQUIRED,
	   .example = "\"updated_at\"", .doc = "Only rows past the last run's value of this column are read.");
OPTION(delta_key, .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_STRING, .flags = FLOW_OPTION_OR_ONE, .name = "key",
	   .example = "[\"id\"]", .doc = "Columns that tell rows apart which share a value of `column`.");
OPTION(delta_lag, .type = FLOW_OPTION_DURATION, .name = "lag", .example = "\"5m\"",
	   .doc = "Rows so far before the last run's value are read again, for what was committed late.");
static const flow_option *const delta_members[] = { &delta_column, &delta_key, &delta_lag, NULL };
OPTION(from_delta, .type = FLOW_OPTION_GROUP, .name = "delta", .members = delta_members,
	   .example = "{ column = \"updated_at\"; key = [\"id\"]; lag = \"5m\"; }",
	   .doc = "Read only what is new since the last run.");
static const flow_option *const from_list[] = { &side_link, &from_delta, NULL };
SET(transfer_from_options, "from", "Where a transfer reads, besides the connector's own options.", from_list);

static const char *const merge_modes[] = {
	"append\tadds all rows",
	"upsert\treplaces rows with the same key, adds the others",
	"delete-insert\tdeletes rows with the same key, then adds all",
	"replace\tthe target holds only these rows afterwards",
	"update-only\tchanges rows with the same key, adds none",
	NULL,
};
OPTION(merge_mode, .type = FLOW_OPTION_ENUM, .name = "mode", .flags = FLOW_OPTION_REQUIRED, .choices = merge_modes,
	   .example = "\"upsert\"", .doc = "How rows come into the target.");
OPTION(merge_key, .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_STRING, .flags = FLOW_OPTION_OR_ONE, .name = "key",
	   .example = "[\"id\"]", .doc = "Columns by which a row of the target is the same one.");
static const flow_option *const merge_members[] = { &merge_mode, &merge_key, NULL };
OPTION(to_merge, .type = FLOW_OPTION_GROUP, .name = "merge", .members = merge_members,
	   .example = "{ mode = \"upsert\"; key = [\"id\"]; }",
	   .doc = "How rows are merged into what the target holds already.");
static const flow_option *const to_list[] = { &side_link, &to_merge, NULL };
SET(transfer_to_options, "to", "Where a transfer writes, besides the connector's own options.", to_list);

/* --- transfers ------------------------------------------------------------------------------------------------------ */

OPTION(transfer_from, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_ANY, .name = "from",
	   .example = "{ link = \"shop\"; table = \"orders\"; }", .doc = "The side that is read; every transfer has one.");
OPTION(transfer_to, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_ANY, .name = "to",
	   .example = "{ link = \"lake\"; directory = \"/lake/orders\"; format = \"avro\"; }",
	   .doc = "The side that is written; every transfer has one.");
OPTION(transfer_extractors, .type = FLOW_OPTION_INT, .name = "extractors", .minimum = "1", .maximum = "1024",
	   .example = "4", .doc = "How many parts are read at a time. Without it: as the connector sees fit.");
static const flow_option *const transfer_list[] = { &transfer_from, &transfer_to, &transfer_extractors, NULL };
SET(transfer_options, "transfer", "A bounded move of records from one link to another.", transfer_list);
