/* The protobuf plugin: options, the descriptor set, and the tables. */
#include "flow_sdk/file.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/serde.h"
#include "protobuf_serde.h"

/* --- options --------------------------------------------------------------------------------------------------------- */

static const flow_option option_descriptor_set = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_PATH,
	.flags = FLOW_OPTION_REQUIRED,
	.name = "descriptor_set",
	.doc = "A file with the descriptors of the message and of all that it refers to, as `protoc --include_imports "
		   "--descriptor_set_out=FILE` makes it.",
	.example = "\"schemas/orders.desc\"",
};
static const flow_option option_message = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.flags = FLOW_OPTION_REQUIRED,
	.name = "message",
	.doc = "The full name of the message.",
	.example = "\"shop.v1.Order\"",
};
static const char *const unknown_choices[] = { "ignore\tthey are left out", "error\tthe record is an error", NULL };
static const flow_option option_unknown = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "unknown",
	.default_text = "ignore",
	.choices = unknown_choices,
	.doc = "Fields of a message that its descriptor does not have (in proto2 also numbers that an enum does not have).",
};
static const char *const enum_choices[] = { "symbol\ttheir symbols; a number without one is a record error",
											"number\tint32", NULL };
static const flow_option option_enums = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "enums",
	.default_text = "symbol",
	.choices = enum_choices,
	.doc = "What values of enums are read as. Writing takes both.",
};
static const char *const timestamp_choices[] = { "ns\tnanoseconds, from 1677 to 2262",
												 "us\tmicroseconds",
												 "ms\tmilliseconds",
												 "s\tseconds",
												 "record\trecords of seconds and nanos",
												 NULL };
static const flow_option option_timestamps = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "timestamps",
	.default_text = "ns",
	.choices = timestamp_choices,
	.doc = "The unit of timestamps that a google.protobuf.Timestamp is read as; one that the unit does not hold "
		   "exactly is a record "
		   "error.",
};
static const char *const absent_choices[] = { "null\tnull", "default\tthe field's default", NULL };
static const flow_option option_absent = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "absent",
	.default_text = "null",
	.choices = absent_choices,
	.doc = "What an optional field is read as that is not there. Messages and fields of a oneof are null then in any "
		   "case, and "
		   "fields of proto3 without `optional` have their default.",
};
static const char *const null_choices[] = { "error\tthe record is an error",
											"default\tit is left out, and will be read as its "
											"default",
											NULL };
static const flow_option option_nulls = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "nulls",
	.default_text = "error",
	.choices = null_choices,
	.doc = "What null is written as in a field that is never absent: repeated, or of proto3 without `optional`.",
};
static const char *const without_type_choices[] = { "error\tthe type is refused by the plan",
													"string\ttheir text, in fields of type string",
													"null\tthey are left out", NULL };
static const flow_option option_without_type = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "without_type",
	.default_text = "error",
	.choices = without_type_choices,
	.doc = "What is written for decimals, dates, times, timestamps without zone and uuids, for which protobuf has no "
		   "type.",
};
static const flow_option option_depth_limit =
	FLOW_OPTION_DEPTH_LIMIT("100", "How deep messages may be nested; one that is nested deeper is a record error.");
static const flow_option option_max_record =
	FLOW_OPTION_MAX_RECORD("16MiB", "The longest message that is read; a longer one is a record error.");

static const flow_option *const options[] = { &option_descriptor_set,
											  &option_message,
											  &option_unknown,
											  &option_enums,
											  &option_timestamps,
											  &option_absent,
											  &option_nulls,
											  &option_without_type,
											  &option_depth_limit,
											  &option_max_record,
											  NULL };
static const flow_option_set option_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "Messages with their length before each, or one a record.",
	.options = options,
};
static const flow_option_set *const option_sets[] = { &option_set, NULL };

/* --- opening --------------------------------------------------------------------------------------------------------- */

static void
proto_close(flow_serde *serde)
{
	proto_serde *s = (proto_serde *)serde;
	proto_release_types(s);
	proto_set_close(s->set);
	s->host->release(s);
}

static void
read_format(proto_format *format, const flow_options *from)
{
	format->max_record = (uint64_t)flow_option_int(from, "max_record", (int64_t)16 << 20);
	format->depth_limit = (int)flow_option_int(from, "depth_limit", 100);
	format->unknown_is_error = flow_option_choice(from, &option_unknown);
	format->enums_as_numbers = flow_option_choice(from, &option_enums);
	format->timestamps_as_records = flow_option_is(from, "timestamps", "record");
	format->timestamp_unit = flow_option_is(from, "timestamps", "us")   ? FLOW_MICROSECONDS
							 : flow_option_is(from, "timestamps", "ms") ? FLOW_MILLISECONDS
							 : flow_option_is(from, "timestamps", "s")  ? FLOW_SECONDS
																		: FLOW_NANOSECONDS;
	format->absent_is_default = flow_option_choice(from, &option_absent);
	format->null_is_default = flow_option_choice(from, &option_nulls);
	format->without_type = flow_option_choice(from, &option_without_type);
}

static flow_status
open_set(proto_serde *s, flow_slice path, flow_error *error)
{
	char *bytes = NULL, problem[400];
	uint64_t size = 0;
	flow_status status = flow_read_file(s->host, path, PROTO_SET_MAX, &bytes, &size, error);
	if (status != FLOW_OK)
		return status;
	int result = proto_set_open(bytes, size, &s->set, problem, sizeof(problem));
	s->host->release(bytes);
	if (result == PROTO_NO_MEMORY)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "out of memory");
	return result == PROTO_OK ? FLOW_OK : flow_fail(s->host, error, FLOW_E_CONFIG, "%s: %s", path.data, problem);
}

static flow_status
find_message(proto_serde *s, flow_slice path, flow_slice name, flow_error *error)
{
	char names[400];
	s->type = proto_find(s->set, name.data);
	if (s->type != NULL)
		return FLOW_OK;
	proto_names(s->set, names, sizeof(names));
	return flow_fail(s->host, error, FLOW_E_CONFIG, "%s has no message '%.*s'; it has: %s", path.data, (int)name.size,
					 name.data, names);
}

static flow_status
proto_open(const flow_host *host, const flow_options *from, uint32_t use, flow_serde **serde, flow_error *error)
{
	(void)use;
	proto_serde *s = (proto_serde *)flow_new(host, sizeof(*s));
	if (s == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	s->host = host;
	read_format(&s->format, from);
	flow_slice path = flow_option_text(from, "descriptor_set");
	flow_status status = open_set(s, path, error);
	if (status == FLOW_OK)
		status = find_message(s, path, flow_option_text(from, "message"), error);
	if (status == FLOW_OK)
		status = proto_make_types(s, error);
	if (status != FLOW_OK) {
		proto_close((flow_serde *)s);
		return status;
	}
	*serde = (flow_serde *)s;
	return FLOW_OK;
}

static flow_status
proto_decoded_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	const proto_serde *s = (const proto_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	(void)sample;
	(void)error;
	*schema = schemas->retain(s->schema);
	return FLOW_OK;
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

static const flow_serde_ops ops = {
	.struct_size = FLOW_SIZEOF(flow_serde_ops),
	.open = proto_open,
	.close = proto_close,
	.decoded_schema = proto_decoded_schema,
	.check_encodable = proto_check_encodable,
	.decoder_open = proto_decoder_open,
	.decode = proto_decode,
	.decode_rows = proto_decode_rows,
	.save = proto_save,
	.restore = proto_restore,
	.decoder_close = proto_decoder_close,
	.encoder_open = proto_encoder_open,
	.encode = proto_encode,
	.encoder_close = proto_encoder_close,
};

static const flow_component component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SERDE,
	.flags = FLOW_SERDE_STREAM | FLOW_SERDE_RECORD,
	.id = "protobuf",
	.doc = "Protocol Buffers of one message that a descriptor set describes: each with its length before it in a "
		   "stream, or one a "
		   "record.",
	.option_sets = option_sets,
	.ops = &ops,
};
static const flow_component *const components[] = { &component, NULL };

FLOW_DEFINE_PLUGIN("protobuf", "0.1.0", "Apache-2.0", components, NULL, NULL)
