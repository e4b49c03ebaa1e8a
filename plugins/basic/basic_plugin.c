/* The basic plugin: one component for each kind of value. */
#include "basic.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/serde.h"

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

static int
line_end_of(flow_slice word)
{
	static const char *const words[] = { "lf", "crlf", "any", "nul" };
	for (int i = 0; i < 4; i++)
		if (flow_slice_is(word, words[i]))
			return i;
	return BASIC_LF;
}

static const flow_schema *
record_of(const flow_schemas *schemas, flow_slice field, const flow_schema *text, flow_error *error)
{
	flow_field_spec spec = { .struct_size = FLOW_SIZEOF(flow_field_spec), .name = field, .schema = text };
	const flow_field_spec *const fields[] = { &spec };
	return schemas->make_record(flow_slice_make("", 0), fields, 1, error);
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
	s->line_end = line_end_of(flow_option_text(options, "line_end"));
	if (s->text != NULL)
		s->schema = kind == BASIC_LINES ? record_of(schemas, flow_option_text(options, "field"), s->text, error)
										: schemas->retain(s->text);
	if (s->schema == NULL) {
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

static const flow_option option_max_record = FLOW_OPTION_MAX_RECORD(
	"16MiB", "The longest line that is read from a byte stream; a longer one is a record error.");
static const flow_option option_max_bytes = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_SIZE,
	.name = "max_record",
	.default_text = "16MiB",
	.minimum = "16",
	.maximum = "512MiB",
	.doc = "The longest byte stream that is read as one record; a longer one is a record error.",
};
static const char *const line_ends[] = {
	"lf\tLF; a CR before it belongs to the text",
	"crlf\tCRLF; a CR or LF alone belongs to the text",
	"any\tLF or CRLF when reading, LF when writing",
	"nul\tthe byte 0, as find -print0 writes it; the text may have line feeds",
	NULL,
};
static const flow_option option_line_end = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "line_end",
	.default_text = "lf",
	.choices = line_ends,
	.doc = "What ends a line of a byte stream. A text that holds it fails its record when it is written.",
};
static const flow_option option_field = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "field",
	.default_text = "text",
	.example = "line",
	.doc = "The name of the field that holds the line. Writing takes any record of one string field.",
};
static const flow_option *const number_options[] = { &option_max_record, NULL };
static const flow_option *const string_options[] = { &option_line_end, &option_max_record, NULL };
static const flow_option *const lines_options[] = { &option_field, &option_line_end, &option_max_record, NULL };
static const flow_option *const bytes_options[] = { &option_max_bytes, NULL };

#define SETS(name, text)                                                                                               \
	static const flow_option_set name##_set = {                                                                        \
		.struct_size = FLOW_SIZEOF(flow_option_set),                                                                   \
		.scope = "",                                                                                                   \
		.doc = text,                                                                                                   \
		.options = name##_options,                                                                                     \
	};                                                                                                                 \
	static const flow_option_set *const name##_sets[] = { &name##_set, NULL };

SETS(number, "One value a record, or a line.")
SETS(string, "One text a record, or a line.")
SETS(lines, "One text a record, or a line.")
SETS(bytes, "The bytes of a record, or of a whole stream.")

#define RECORD_FUNCTIONS                                                                                               \
	.close = basic_close, .decoded_schema = basic_decoded_schema, .check_encodable = basic_check_encodable,            \
	.decoder_open = basic_decoder_open, .decode_rows = basic_decode_rows, .decoder_close = basic_decoder_close,        \
	.encoder_open = basic_encoder_open, .encode = basic_encode, .encoder_close = basic_encoder_close
#define STREAM_FUNCTIONS RECORD_FUNCTIONS, .decode = basic_decode, .save = basic_save, .restore = basic_restore
#define WHOLE_FUNCTIONS RECORD_FUNCTIONS, .decode = basic_decode_whole, .save = basic_save, .restore = basic_restore

static const char *const served_by_lines[] = { "txt", "log", NULL };

#define COMPONENT(name, flag_bits, sets, words, text, functions)                                                       \
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
		.served = words,                                                                                               \
	};
#define FUNCTIONS(...) __VA_ARGS__
#define BOTH (FLOW_SERDE_RECORD | FLOW_SERDE_STREAM)

COMPONENT(bytes, BOTH | FLOW_SERDE_BYTES_ONLY, bytes_sets, NULL,
		  "The bytes of a record as they are. A byte stream (a file) is one record as a whole.",
		  FUNCTIONS(WHOLE_FUNCTIONS))
COMPONENT(string, BOTH, string_sets, NULL, "UTF-8 text. A record is the text, a stream has one in each line.",
		  FUNCTIONS(STREAM_FUNCTIONS))
COMPONENT(int32, BOTH, number_sets, NULL,
		  "An integer. A record is four bytes, big-endian; a stream has decimal digits in each line.",
		  FUNCTIONS(STREAM_FUNCTIONS))
COMPONENT(int64, BOTH, number_sets, NULL,
		  "An integer. A record is eight bytes, big-endian; a stream has decimal digits in each line.",
		  FUNCTIONS(STREAM_FUNCTIONS))
COMPONENT(float64, BOTH, number_sets, NULL,
		  "A double. A record is eight bytes, big-endian; a stream has a number in each line.",
		  FUNCTIONS(STREAM_FUNCTIONS))
COMPONENT(uuid, BOTH, number_sets, NULL,
		  "A uuid as its text of 36 characters, in a record or in each line of a stream.", FUNCTIONS(STREAM_FUNCTIONS))
COMPONENT(lines, BOTH, lines_sets, served_by_lines, "Lines of text as records with one field, `text` or another name.",
		  FUNCTIONS(STREAM_FUNCTIONS))

static const flow_component *const components[] = { &component_bytes,   &component_string,
													&component_int32,   &component_int64,
													&component_float64, &component_uuid,
													&component_lines,   NULL };

FLOW_DEFINE_PLUGIN("basic", "0.1.0", "Apache-2.0", components, NULL, NULL)
