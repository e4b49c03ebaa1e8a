/* The json plugin: options, the schema, and the tables. */
#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"
#include "json.h"

/* --- options --------------------------------------------------------------------------------------------------------- */

static const flow_option option_fields = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_MAP,
	.element = FLOW_OPTION_TYPE,
	.name = "fields",
	.doc = "The fields of the documents and their types; a '?' behind a type allows null and a missing key. Values are "
		   "converted exactly, "
		   "or the record is an error. Without fields or schema, values have the types that the text gives them.",
	.example = "{ id = \"int64\"; price = \"decimal\"; note = \"string?\"; }",
};
static const flow_option option_schema = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "schema",
	.doc = "The type of the documents as Avro schema JSON, instead of fields.",
	.example = "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"}]}",
};
static const char *const extra_choices[] = { "ignore\tthey are checked and left out", "error\tthe record is an error",
											 NULL };
static const flow_option option_extra = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "extra",
	.default_text = "ignore",
	.choices = extra_choices,
	.doc = "Keys of an object that are not declared.",
};
static const char *const duplicate_choices[] = { "error\tthe record is an error", "last\tthe last one counts", NULL };
static const flow_option option_duplicates = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "duplicates",
	.default_text = "error",
	.choices = duplicate_choices,
	.doc = "The same key twice in one object.",
};
static const flow_option option_depth_limit = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "depth_limit",
	.default_text = "256",
	.minimum = "1",
	.maximum = "1000",
	.doc = "How deep objects and lists may be nested; a document that is nested deeper is a record error.",
};
static const flow_option option_max_record = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_SIZE,
	.name = "max_record",
	.default_text = "16MiB",
	.minimum = "16",
	.maximum = "512MiB",
	.doc = "The longest document that is read.",
};
static const char *const nan_choices[] = { "error\tthe record is an error",
										   "string\t\"NaN\", \"Infinity\", \"-Infinity\"", "null\tnull", NULL };
static const flow_option option_nan = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "nan",
	.default_text = "error",
	.choices = nan_choices,
	.doc = "How NaN and the infinities are written, for which JSON has no number.",
};
static const char *const decimal_choices[] = { "number\ta number with all its digits",
											   "string\tthe same digits in quotes", NULL };
static const flow_option option_decimals = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "decimals",
	.default_text = "number",
	.choices = decimal_choices,
	.doc = "How decimals are written. Readers that turn numbers into doubles need strings.",
};

static const flow_option *const options[] = { &option_fields,     &option_schema,      &option_extra,
											  &option_duplicates, &option_depth_limit, &option_max_record,
											  &option_nan,        &option_decimals,    NULL };
static const flow_option_set option_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "One JSON document a line, or a record.",
	.options = options,
};
static const flow_option_set *const option_sets[] = { &option_set, NULL };

/* --- opening --------------------------------------------------------------------------------------------------------- */

static void
json_close(flow_serde *serde)
{
	json_serde *s = (json_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	json_node_release(s->host, s->node);
	schemas->release(s->schema);
	s->host->release(s);
}

static flow_status
read_type(json_serde *s, const flow_options *from, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	const flow_option_value *fields = flow_option_get(from, "fields");
	flow_slice schema = flow_option_text(from, "schema");
	int declared = fields != NULL && fields->entry_count != 0;
	if (declared && schema.data != NULL)
		return flow_fail(s->host, error, FLOW_E_CONFIG, "json: fields and schema say the same thing; give one of them");
	if (declared)
		s->schema = flow_fields_record(s->host, fields, error);
	else if (schema.data != NULL)
		s->schema = schemas->parse_json(schema, error);
	else
		s->schema = schemas->parse_type(flow_slice_of("any"), error);
	if (s->schema == NULL)
		return FLOW_E_CONFIG;
	s->node = json_node_create(s->host, s->schema);
	return s->node != NULL ? FLOW_OK : flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
}

static int
chosen(const flow_options *from, const char *option, const char *choice)
{
	return flow_slice_is(flow_option_text(from, option), choice);
}

static flow_status
json_open(const flow_host *host, const flow_options *from, uint32_t use, flow_serde **serde, flow_error *error)
{
	(void)use;
	json_serde *s = (json_serde *)flow_new(host, sizeof(*s));
	if (s == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	s->host = host;
	s->format.depth_limit = (uint32_t)flow_option_int(from, "depth_limit", 256);
	s->format.max_record = (uint64_t)flow_option_int(from, "max_record", (int64_t)16 << 20);
	s->format.last_duplicate = chosen(from, "duplicates", "last");
	s->format.extra_is_error = chosen(from, "extra", "error");
	s->format.decimals_as_string = chosen(from, "decimals", "string");
	s->format.nan = chosen(from, "nan", "string") ? JSON_NAN_STRING
					: chosen(from, "nan", "null") ? JSON_NAN_NULL
												  : JSON_NAN_ERROR;
	flow_status status = read_type(s, from, error);
	if (status != FLOW_OK) {
		json_close((flow_serde *)s);
		return status;
	}
	*serde = (flow_serde *)s;
	return FLOW_OK;
}

static flow_status
json_decoded_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	const json_serde *s = (const json_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	(void)sample;
	(void)error;
	*schema = schemas->retain(s->schema);
	return FLOW_OK;
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

static const flow_serde_ops ops = {
	.struct_size = FLOW_SIZEOF(flow_serde_ops),
	.open = json_open,
	.close = json_close,
	.decoded_schema = json_decoded_schema,
	.check_encodable = json_check_encodable,
	.decoder_open = json_decoder_open,
	.decode = json_decode,
	.decode_rows = json_decode_rows,
	.save = json_save,
	.restore = json_restore,
	.decoder_close = json_decoder_close,
	.encoder_open = json_encoder_open,
	.encode = json_encode,
	.encoder_close = json_encoder_close,
};

static const char *const served[] = { "json", "jsonl", "ndjson", NULL };

static const flow_component component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SERDE,
	.flags = FLOW_SERDE_STREAM | FLOW_SERDE_RECORD,
	.id = "json",
	.doc = "JSON as RFC 8259 says, one document a line or a record. Numbers keep their digits; the same key twice is "
		   "an error.",
	.option_sets = option_sets,
	.ops = &ops,
	.served = served,
};
static const flow_component *const components[] = { &component, NULL };

FLOW_DEFINE_PLUGIN("json", "0.1.0", "Apache-2.0", components, NULL, NULL)
