/* The msgpack plugin: options, the schema, and the tables. */
#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/serde.h"
#include "msgpack_serde.h"

/* --- options --------------------------------------------------------------------------------------------------------- */

static const flow_option option_fields = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_MAP,
	.element = FLOW_OPTION_TYPE,
	.name = "fields",
	.doc = "The fields of the records and their types; a '?' behind a type allows nil and a missing field. Values are "
		   "converted exactly, or the record is an error. Without fields or schema, values have the types that they "
		   "come with.",
	.example = "{ id = \"int64\"; at = \"timestamp\"; note = \"string?\"; }",
};
static const flow_option option_schema = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "schema",
	.doc = "The type of the records as Avro schema JSON, instead of fields.",
	.example = "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"}]}",
};
static const char *const record_choices[] = { "map\tmaps from the fields' names to their values",
											  "array\tarrays of the values in the order of the fields", NULL };
static const flow_option option_records = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "records",
	.default_text = "map",
	.choices = record_choices,
	.doc = "What records are, when reading and writing.",
};
static const char *const extra_choices[] = { "ignore\tthey are left out", "error\tthe record is an error", NULL };
static const flow_option option_extra = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "extra",
	.default_text = "ignore",
	.choices = extra_choices,
	.doc = "Keys of a record that are not declared, or items behind its last field.",
};
static const char *const extension_choices[] = { "error\tthe record is an error",
												 "bytes\ttheir bytes, without their type", "null\tnull", NULL };
static const flow_option option_extensions = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "extensions",
	.default_text = "error",
	.choices = extension_choices,
	.doc = "Extensions other than the timestamp, where no type is declared.",
};
static const char *const without_type_choices[] = {
	"error\tthe type is refused by the plan, a value is an error of its record",
	"string\ttheir text; reading takes it back where the type is declared", "null\tnil", NULL
};
static const flow_option option_without_type = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "without_type",
	.default_text = "error",
	.choices = without_type_choices,
	.doc =
		"What is written for decimals, dates, times, timestamps without zone and uuids, for which MessagePack has no "
		"type.",
};
static const flow_option option_depth_limit = FLOW_OPTION_DEPTH_LIMIT(
	"256", "How deep maps and arrays may be nested; an object that is nested deeper is a record error.");
static const flow_option option_max_record =
	FLOW_OPTION_MAX_RECORD("16MiB", "The longest object that is read; a longer one is a record error.");

static const flow_option *const options[] = { &option_fields,      &option_schema,     &option_records,
											  &option_extra,       &option_extensions, &option_without_type,
											  &option_depth_limit, &option_max_record, NULL };
static const flow_option_set option_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "One object behind another, or one a record.",
	.options = options,
};
static const flow_option_set *const option_sets[] = { &option_set, NULL };

/* --- opening --------------------------------------------------------------------------------------------------------- */

static void
pack_close(flow_serde *serde)
{
	pack_serde *s = (pack_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	pack_node_release(s->host, s->node);
	schemas->release(s->schema);
	s->host->release(s);
}

static flow_status
read_type(pack_serde *s, const flow_options *from, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	flow_status status = flow_declared_type(s->host, from, &s->schema, error);
	if (status != FLOW_OK)
		return status;
	if (s->schema == NULL)
		s->schema = schemas->parse_type(flow_slice_of("any"), error);
	if (s->schema == NULL)
		return FLOW_E_CONFIG;
	s->node = pack_node_create(s->host, s->schema);
	return s->node != NULL ? FLOW_OK : flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
}

static flow_status
pack_open(const flow_host *host, const flow_options *from, uint32_t use, flow_serde **serde, flow_error *error)
{
	(void)use;
	pack_serde *s = (pack_serde *)flow_new(host, sizeof(*s));
	if (s == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	s->host = host;
	s->format.depth_limit = (uint32_t)flow_option_int(from, "depth_limit", 256);
	s->format.max_record = (uint64_t)flow_option_int(from, "max_record", (int64_t)16 << 20);
	s->format.records_as_array = flow_option_choice(from, &option_records);
	s->format.extra_is_error = flow_option_choice(from, &option_extra);
	s->format.extensions = flow_option_choice(from, &option_extensions);
	s->format.without_type = flow_option_choice(from, &option_without_type);
	flow_status status = read_type(s, from, error);
	if (status != FLOW_OK) {
		pack_close((flow_serde *)s);
		return status;
	}
	*serde = (flow_serde *)s;
	return FLOW_OK;
}

static flow_status
pack_decoded_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	const pack_serde *s = (const pack_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	(void)sample;
	(void)error;
	*schema = schemas->retain(s->schema);
	return FLOW_OK;
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

static const flow_serde_ops ops = {
	.struct_size = FLOW_SIZEOF(flow_serde_ops),
	.open = pack_open,
	.close = pack_close,
	.decoded_schema = pack_decoded_schema,
	.check_encodable = pack_check_encodable,
	.decoder_open = pack_decoder_open,
	.decode = pack_decode,
	.decode_rows = pack_decode_rows,
	.save = pack_save,
	.restore = pack_restore,
	.decoder_close = pack_decoder_close,
	.encoder_open = pack_encoder_open,
	.encode = pack_encode,
	.encoder_close = pack_encoder_close,
};

static const char *const served[] = { "msgpack", "mpk", NULL };

static const flow_component component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SERDE,
	.flags = FLOW_SERDE_STREAM | FLOW_SERDE_RECORD | FLOW_SERDE_UNTYPED,
	.id = "msgpack",
	.doc = "MessagePack, one object behind another in a stream, or one a record.",
	.option_sets = option_sets,
	.ops = &ops,
	.served = served,
};
static const flow_component *const components[] = { &component, NULL };

FLOW_DEFINE_PLUGIN("msgpack", "0.1.0", "Apache-2.0", components, NULL, NULL)
