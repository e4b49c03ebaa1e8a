/* The csv plugin: its tables. */
#include "csv.h"
#include "flow_sdk/plugin.h"

static const flow_serde_ops ops = {
	.struct_size = FLOW_SIZEOF(flow_serde_ops),
	.open = csv_open,
	.close = csv_close,
	.decoded_schema = csv_decoded_schema,
	.check_encodable = csv_check_encodable,
	.decoder_open = csv_decoder_open,
	.decode = csv_decode,
	.save = csv_save,
	.restore = csv_restore,
	.decoder_close = csv_decoder_close,
	.encoder_open = csv_encoder_open,
	.begin = csv_begin,
	.encode = csv_encode,
	.encoder_close = csv_encoder_close,
};

/* Without a configuration types are found in the data, and null is an empty field, both ways. */
static const char *const served[] = { "csv\tinfer=exact", "tsv\tdelimiter=\\t\tinfer=exact", NULL };

static const flow_component component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SERDE,
	.flags = FLOW_SERDE_STREAM,
	.id = "csv",
	.doc =
		"Comma-separated values. Reads and writes text files with one record a line, quotes, a header and declared or "
		"inferred types.",
	.option_sets = csv_option_sets,
	.ops = &ops,
	.served = served,
};
static const flow_component *const components[] = { &component, NULL };

FLOW_DEFINE_PLUGIN("csv", "0.1.0", "Apache-2.0", components, NULL, NULL)
