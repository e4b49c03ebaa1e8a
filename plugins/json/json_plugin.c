/* The json plugin: options, the schema, and the tables. */
#include "flow_sdk/cell.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/serde.h"
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
static const char *const framing_choices[] = {
	"lines\tone document a line", "array\tone array for a file, its items are the records",
	"documents\tone document behind another, over any number of lines",
	"auto\tread: array where the stream begins with a bracket, else documents; written: documents", NULL
};
static const flow_option option_framing = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "framing",
	.default_text = "lines",
	.choices = framing_choices,
	.doc = "How records stand in a byte stream. An array of any size is read item by item.",
};
static const flow_option option_pretty = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_BOOL,
	.name = "pretty",
	.default_text = "false",
	.condition = "framing=array|documents|auto",
	.doc = "Documents are written over several lines, with two blanks for each level.",
};
static const char *const encoding_choices[] = {
	"plain\tas people write JSON: times as text, bytes as base64, the first branch of a union that fits",
	"avro\tAvro's JSON encoding: branches by name, bytes as characters up to U+00FF, logical types as the types below "
	"them",
	NULL
};
static const flow_option option_encoding = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "encoding",
	.default_text = "plain",
	.choices = encoding_choices,
	.doc = "How types beyond JSON's stand in it. Reading Avro's encoding needs fields or schema.",
};
static const char *const missing_choices[] = { "default\tthe field's default, else null, else the record is an error",
											   "null\tnull, else the record is an error",
											   "error\tthe record is an error", NULL };
static const flow_option option_missing = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "missing",
	.default_text = "default",
	.choices = missing_choices,
	.doc = "Declared fields without a key in their object.",
};
static const char *const null_choices[] = { "error\tthe record is an error",
											"default\tthe field's default, else an error", NULL };
static const flow_option option_nulls = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "nulls",
	.default_text = "error",
	.choices = null_choices,
	.doc = "Null in a field whose type does not allow it.",
};
static const char *const infer_choices[] = { "none\tvalues have the types that the text gives them",
											 "exact\tnumbers with a fraction become decimals, which keep all digits",
											 "float\tnumbers with a fraction become doubles", NULL };
static const flow_option option_infer = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "infer",
	.default_text = "none",
	.choices = infer_choices,
	.doc = "Without fields or schema: the fields and their types, from the first documents of the first file (up to 1 "
		   "MiB). All may be "
		   "null. What has several types stays untyped. A later value that does not fit, or a key that was not there, "
		   "is a record error.",
};
static const char *const extra_choices[] = { "ignore\tthey are checked and left out", "error\tthe record is an error",
											 "keep\tthose of the document go into the field extra_field, a map", NULL };
static const flow_option option_extra_field = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "extra_field",
	.default_text = "extra",
	.condition = "extra=keep",
	.doc = "The field, behind the declared ones, that holds the keys which are not declared. It is written as such "
		   "keys again.",
};
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
static const flow_option option_depth_limit = FLOW_OPTION_DEPTH_LIMIT(
	"256", "How deep objects and lists may be nested; a document that is nested deeper is a record error.");
static const flow_option option_max_record = FLOW_OPTION_MAX_RECORD("16MiB", "The longest document that is read.");
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

static const flow_option *const options[] = {
	&option_fields,      &option_infer,       &option_schema,     &option_framing,
	&option_encoding,    &option_missing,     &option_nulls,      &option_extra,
	&option_extra_field, &option_duplicates,  &option_nan,        &option_decimals,
	&option_pretty,      &option_depth_limit, &option_max_record, NULL
};
static const flow_option_set option_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "JSON documents in lines, in an array, one behind another, or as records.",
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
	s->host->release(s->extra_name);
	s->host->release(s);
}

/* The declared fields, and one behind them for the keys that are not declared. */
static flow_status
add_extra_field(json_serde *s, flow_error *error)
{
	const flow_host *host = s->host;
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	const flow_schema *declared = s->schema;
	if (declared->kind != FLOW_KIND_RECORD || flow_schema_nullable(declared)) {
		flow_fail(host, error, FLOW_E_CONFIG, "extra = \"keep\" needs declared fields, or a schema that is a record");
		host->errors->option(error, "extra");
		return FLOW_E_CONFIG;
	}
	const flow_schema *map = schemas->parse_type(flow_slice_of("map<any>"), error);
	flow_field_spec *specs = (flow_field_spec *)flow_new(host, (declared->field_count + 1) * sizeof(*specs));
	const flow_field_spec **pointers =
		(const flow_field_spec **)flow_new(host, (declared->field_count + 1) * sizeof(*pointers));
	const flow_schema *whole = NULL;
	if (map != NULL && specs != NULL && pointers != NULL) {
		for (uint32_t i = 0; i <= declared->field_count; i++) {
			const flow_field *field = i < declared->field_count ? declared->fields[i] : NULL;
			specs[i] = (flow_field_spec){ .struct_size = FLOW_SIZEOF(flow_field_spec),
										  .name = field == NULL ? s->format.extra_field : field->name,
										  .schema = field == NULL ? map : field->schema,
										  .default_value = field == NULL ? NULL : field->default_value };
			pointers[i] = &specs[i];
		}
		whole = schemas->make_record(declared->name, pointers, declared->field_count + 1, error);
	} else if (map != NULL) {
		flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	}
	schemas->release(map);
	host->release(specs);
	host->release(pointers);
	if (whole == NULL)
		return FLOW_E_CONFIG;
	schemas->release(declared);
	s->schema = whole;
	return FLOW_OK;
}

static flow_status
read_type(json_serde *s, const flow_options *from, uint32_t use, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	flow_status status = flow_declared_type(s->host, from, &s->schema, error);
	if (status != FLOW_OK)
		return status;
	if (s->schema == NULL) {
		s->infer = use != FLOW_SERDE_ENCODES ? flow_option_choice(from, &option_infer) : JSON_INFER_NO;
		s->schema = schemas->parse_type(flow_slice_of("any"), error);
	}
	if (s->schema == NULL)
		return FLOW_E_CONFIG;
	if (s->format.extra == JSON_EXTRA_KEEP && use != FLOW_SERDE_ENCODES)
		status = add_extra_field(s, error);
	if (status != FLOW_OK)
		return status;
	s->node = json_node_create(s->host, s->schema, &s->format);
	if (s->node == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	if (!s->format.avro || use == FLOW_SERDE_ENCODES || !json_node_has(s->node, FLOW_KIND_ANY))
		return FLOW_OK;
	flow_fail(s->host, error, FLOW_E_CONFIG,
			  "reading Avro's JSON encoding needs fields or schema, without the type any (nor extra = \"keep\")");
	s->host->errors->option(error, "encoding");
	return FLOW_E_CONFIG;
}

static flow_status
read_format(json_serde *s, const flow_options *from, flow_error *error)
{
	json_format *f = &s->format;
	flow_slice name = flow_option_text(from, "extra_field");
	f->depth_limit = (uint32_t)flow_option_int(from, "depth_limit", 256);
	f->max_record = (uint64_t)flow_option_int(from, "max_record", (int64_t)16 << 20);
	f->framing = flow_option_choice(from, &option_framing);
	f->avro = flow_option_choice(from, &option_encoding);
	f->pretty = flow_option_bool(from, "pretty", 0);
	f->last_duplicate = flow_option_choice(from, &option_duplicates);
	f->extra = flow_option_choice(from, &option_extra);
	f->missing = flow_option_choice(from, &option_missing);
	f->null_is_default = flow_option_choice(from, &option_nulls);
	f->decimals_as_string = flow_option_choice(from, &option_decimals);
	f->nan = flow_option_choice(from, &option_nan);
	if (name.size == 0)
		return FLOW_OK;
	s->extra_name = (char *)flow_new(s->host, name.size);
	if (s->extra_name == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	memcpy(s->extra_name, name.data, name.size);
	f->extra_field = flow_slice_make(s->extra_name, name.size);
	return FLOW_OK;
}

static flow_status
json_open(const flow_host *host, const flow_options *from, uint32_t use, flow_serde **serde, flow_error *error)
{
	json_serde *s = (json_serde *)flow_new(host, sizeof(*s));
	if (s == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	s->host = host;
	flow_status status = read_format(s, from, error);
	if (status == FLOW_OK)
		status = read_type(s, from, use, error);
	if (status != FLOW_OK) {
		json_close((flow_serde *)s);
		return status;
	}
	*serde = (flow_serde *)s;
	return FLOW_OK;
}

static flow_status
use_inferred(json_serde *s, flow_slice sample, flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	const flow_schema *found = NULL;
	flow_status status = json_infer(s, sample, &found, error);
	const json_node *node = status == FLOW_OK ? json_node_create(s->host, found, &s->format) : NULL;
	if (status == FLOW_OK && node == NULL)
		status = flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	if (status != FLOW_OK) {
		schemas->release(found);
		return status;
	}
	schemas->release(s->schema);
	json_node_release(s->host, s->node);
	s->schema = found;
	s->node = node;
	s->infer = JSON_INFER_NO;
	if (s->format.extra == JSON_EXTRA_IGNORE) /* nothing vanishes because it was not among the first documents */
		s->format.extra = JSON_EXTRA_ERROR;
	return FLOW_OK;
}

static flow_status
json_decoded_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	json_serde *s = (json_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	if (s->infer != JSON_INFER_NO) {
		if (sample.size == 0)
			return FLOW_AGAIN;
		flow_status status = use_inferred(s, sample, error);
		if (status != FLOW_OK)
			return status;
	}
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
	.begin = json_begin,
	.encode = json_encode,
	.end = json_end,
	.encoder_close = json_encoder_close,
};

/* Arrays, and documents over several lines, are usual in files called so. */
static const char *const served[] = { "json\tframing=auto", "jsonl", "ndjson", NULL };

static const flow_component component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SERDE,
	.flags = FLOW_SERDE_STREAM | FLOW_SERDE_RECORD | FLOW_SERDE_UNTYPED,
	.id = "json",
	.doc = "JSON as RFC 8259 says, in lines, arrays or records, or as Avro encodes it. Numbers keep their digits; the "
		   "same key "
		   "twice is an error.",
	.option_sets = option_sets,
	.ops = &ops,
	.served = served,
};
static const flow_component *const components[] = { &component, NULL };

FLOW_DEFINE_PLUGIN("json", "0.1.0", "Apache-2.0", components, NULL, NULL)
