/* The basic plugin: one component for each kind of value. */
#include "basic.h"
#include "flow_sdk/plugin.h"

/* --- opening --------------------------------------------------------------------------------------------------------- */

static void
basic_close(flow_serde *serde)
{
	basic_serde *s = (basic_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	schemas->release(s->schema);
	schemas->release(s->text);
	s->host->release(s);
}

static flow_status
open_kind(const flow_host *host, const flow_options *options, int kind, const char *type, flow_serde **serde,
		  flow_error *error)
{
	const flow_schemas *schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	basic_serde *s = (basic_serde *)flow_new(host, sizeof(*s));
	if (s == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	s->host = host;
	s->kind = kind;
	s->max_record = (uint64_t)flow_option_int(options, "max_record", (int64_t)16 << 20);
	s->text = schemas->parse_type(flow_slice_of(type), error);
	s->schema = kind == BASIC_LINES ? schemas->parse_type(flow_slice_of("record(text:string)"), error)
									: schemas->retain(s->text);
	if (s->text == NULL || s->schema == NULL) {
		basic_close((flow_serde *)s);
		return FLOW_E_MEMORY;
	}
	*serde = (flow_serde *)s;
	return FLOW_OK;
}

#define OPEN(name, kind, type)                                                                                         \
	static flow_status open_##name(const flow_host *host, const flow_options *options, uint32_t use,                   \
								   flow_serde **serde, flow_error *error)                                              \
	{                                                                                                                  \
		(void)use;                                                                                                     \
		return open_kind(host, options, kind, type, serde, error);                                                     \
	}

OPEN(bytes, BASIC_BYTES, "bytes")
OPEN(string, BASIC_STRING, "string")
OPEN(int32, BASIC_INT32, "int32")
OPEN(int64, BASIC_INT64, "int64")
OPEN(float64, BASIC_FLOAT64, "float64")
OPEN(uuid, BASIC_UUID, "uuid")
OPEN(lines, BASIC_LINES, "string")

static flow_status
basic_decoded_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	const basic_serde *s = (const basic_serde *)serde;
	const flow_schemas *schemas = (const flow_schemas *)s->host->get_service(FLOW_SERVICE_SCHEMAS);
	(void)sample;
	(void)error;
	*schema = schemas->retain(s->schema);
	return FLOW_OK;
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

static const flow_option option_max_record = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_SIZE,
	.name = "max_record",
	.default_text = "16MiB",
	.minimum = "16",
	.maximum = "512MiB",
	.doc = "The longest line that is read from a byte stream.",
};
static const flow_option *const options[] = { &option_max_record, NULL };
static const flow_option_set option_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "One value a record, or a line.",
	.options = options,
};
static const flow_option_set *const option_sets[] = { &option_set, NULL };

#define RECORD_FUNCTIONS                                                                                               \
	.close = basic_close, .decoded_schema = basic_decoded_schema, .check_encodable = basic_check_encodable,            \
	.decoder_open = basic_decoder_open, .decode_rows = basic_decode_rows, .decoder_close = basic_decoder_close,        \
	.encoder_open = basic_encoder_open, .encode = basic_encode, .encoder_close = basic_encoder_close
#define STREAM_FUNCTIONS RECORD_FUNCTIONS, .decode = basic_decode, .save = basic_save, .restore = basic_restore

#define COMPONENT(name, flag_bits, sets, text, functions)                                                              \
	static const flow_serde_ops name##_ops = { .struct_size = FLOW_SIZEOF(flow_serde_ops),                             \
											   .open = open_##name,                                                    \
											   functions };                                                            \
	static const flow_component component_##name = {                                                                   \
		.struct_size = FLOW_SIZEOF(flow_component),                                                                    \
		.kind = FLOW_SERDE,                                                                                            \
		.flags = flag_bits,                                                                                            \
		.id = #name,                                                                                                   \
		.doc = text,                                                                                                   \
		.option_sets = sets,                                                                                           \
		.ops = &name##_ops,                                                                                            \
	};
#define FUNCTIONS(...) __VA_ARGS__
#define BOTH (FLOW_SERDE_RECORD | FLOW_SERDE_STREAM)

COMPONENT(bytes, FLOW_SERDE_RECORD | FLOW_SERDE_BYTES_ONLY, NULL, "The bytes of a record as they are.",
		  FUNCTIONS(RECORD_FUNCTIONS))
COMPONENT(string, BOTH, option_sets, "UTF-8 text. A record is the text, a stream has one in each line.",
		  FUNCTIONS(STREAM_FUNCTIONS))
COMPONENT(int32, BOTH, option_sets,
		  "An integer. A record is four bytes, big-endian; a stream has decimal digits in each line.",
		  FUNCTIONS(STREAM_FUNCTIONS))
COMPONENT(int64, BOTH, option_sets,
		  "An integer. A record is eight bytes, big-endian; a stream has decimal digits in each line.",
		  FUNCTIONS(STREAM_FUNCTIONS))
COMPONENT(float64, BOTH, option_sets,
		  "A double. A record is eight bytes, big-endian; a stream has a number in each line.",
		  FUNCTIONS(STREAM_FUNCTIONS))
COMPONENT(uuid, BOTH, option_sets, "A uuid as its text of 36 characters, in a record or in each line of a stream.",
		  FUNCTIONS(STREAM_FUNCTIONS))
COMPONENT(lines, BOTH, option_sets, "Lines of text as records with one field, `text`.", FUNCTIONS(STREAM_FUNCTIONS))

static const flow_component *const components[] = { &component_bytes,   &component_string,
													&component_int32,   &component_int64,
													&component_float64, &component_uuid,
													&component_lines,   NULL };

FLOW_DEFINE_PLUGIN("basic", "0.1.0", "Apache-2.0", components, NULL, NULL)
