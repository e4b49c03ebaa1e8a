/* The avro plugin: options, the schemas, and the tables. */
#include "avro.h"
#include "flow_sdk/file.h"
#include "flow_sdk/plugin.h"
#include "flow_sdk/serde.h"

#define SCHEMA_FILE_MAX ((uint64_t)8 << 20)

/* --- options --------------------------------------------------------------------------------------------------------- */

static const flow_option option_schema = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "schema",
	.doc =
		"Avro schema JSON. Reading: what the records become, resolved from the schema that they were written with. "
		"Writing: "
		"what is written. Absent: container files are read with their own schema, and written with the stream's type.",
	.example = "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"}]}",
};
static const flow_option option_schema_file = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_PATH,
	.name = "schema_file",
	.condition = "!schema",
	.doc = "A file with the schema, instead of schema.",
	.example = "\"schemas/order.avsc\"",
};
static const flow_option option_writer_schema_file = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_LIST,
	.element = FLOW_OPTION_PATH,
	.flags = FLOW_OPTION_OR_ONE,
	.name = "writer_schema_file",
	.doc = "Reading records: files with the schemas that they were written with, where those are not that of schema. "
		   "Bare datums "
		   "take one; single objects are told apart by their fingerprints, and schema is among them.",
	.example = "\"schemas/order.v1.avsc\"",
};
static const char *const framing_choices[] = { "none\tthe bare datum",
											   "single-object\tC3 01, the schema's CRC-64-AVRO fingerprint, the datum",
											   NULL };
static const flow_option option_framing = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "framing",
	.default_text = "none",
	.choices = framing_choices,
	.doc = "What stands around a record that is a message of its own. Container files have their own form.",
};
static const char *const codec_choices[] = {
	"null\tnot compressed", "deflate", "snappy", "zstandard", "bzip2", "xz", NULL
};
static const flow_option option_codec = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "codec",
	.default_text = "null",
	.choices = codec_choices,
	.doc = "How the blocks of container files are compressed when they are written. Reading goes by the file's header.",
};
static const flow_option option_level = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "level",
	.condition = "codec=deflate|zstandard|bzip2|xz",
	.minimum = "0",
	.maximum = "22",
	.doc = "How hard the codec tries: deflate and xz 0 to 9 (6), bzip2 1 to 9 (9), zstandard 1 to 22 (1); in brackets "
		   "what is used "
		   "without it.",
	.example = "3",
};
static const flow_option option_block_size = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_SIZE,
	.name = "block_size",
	.default_text = "64KiB",
	.minimum = "1",
	.maximum = "64MiB",
	.doc = "A block of a container file is ended when it has so many bytes, before compression, and with each batch. A "
		   "record that "
		   "is larger is a block of its own.",
};
static const flow_option option_max_record =
	FLOW_OPTION_MAX_RECORD("64MiB", "The longest record that is written; a longer one is a record error.");
static const flow_option option_max_block = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_SIZE,
	.name = "max_block",
	.default_text = "128MiB",
	.minimum = "1KiB",
	.maximum = "1GiB",
	.doc = "The longest block of a container file that is read, compressed or not.",
};
static const flow_option option_depth_limit = FLOW_OPTION_DEPTH_LIMIT(
	"256", "How deep records, arrays and maps may be nested; a record that is nested deeper is a record error.");
static const flow_option option_skip_bad_blocks = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_BOOL,
	.name = "skip_bad_blocks",
	.default_text = "false",
	.doc = "A damaged block of a container file is reported as a record error, with its offset and length, and reading "
		   "goes on "
		   "behind it. Without it reading of the file ends there with an error.",
};
static const flow_option option_sync_marker = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "sync_marker",
	.doc = "The 16 bytes between blocks of written container files, as 32 hexadecimal digits. Absent: made from the "
		   "schema.",
	.example = "\"000102030405060708090a0b0c0d0e0f\"",
};

static const flow_option *const options[] = { &option_schema,
											  &option_schema_file,
											  &option_writer_schema_file,
											  &option_framing,
											  &option_codec,
											  &option_level,
											  &option_block_size,
											  &option_max_record,
											  &option_max_block,
											  &option_depth_limit,
											  &option_skip_bad_blocks,
											  &option_sync_marker,
											  NULL };
static const flow_option_set option_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "Avro container files, or datums as records.",
	.options = options,
};
static const flow_option_set *const option_sets[] = { &option_set, NULL };

/* --- schemas of options ------------------------------------------------------------------------------------------------ */

static flow_status
parse_file(avro_serde *s, flow_slice path, const flow_schema **schema, flow_error *error)
{
	char *text = NULL;
	uint64_t size = 0;
	flow_status status = flow_read_file(s->host, path, SCHEMA_FILE_MAX, &text, &size, error);
	if (status != FLOW_OK) {
		avro_prefix(s->host, error, "avro: the schema");
		return status;
	}
	*schema = s->schemas->parse_json(flow_slice_make(text, size), error);
	s->host->release(text);
	if (*schema != NULL)
		return FLOW_OK;
	avro_prefix(s->host, error, "avro: %s", path.data);
	return FLOW_E_CONFIG;
}

static flow_status
read_declared(avro_serde *s, const flow_options *from, flow_error *error)
{
	flow_slice text = flow_option_text(from, "schema"), path = flow_option_text(from, "schema_file");
	if (path.data != NULL)
		return parse_file(s, path, &s->declared, error);
	if (text.data == NULL)
		return FLOW_OK;
	s->declared = s->schemas->parse_json(text, error);
	if (s->declared == NULL) {
		avro_prefix(s->host, error, "avro");
		s->host->errors->option(error, "schema");
	}
	return s->declared != NULL ? FLOW_OK : FLOW_E_CONFIG;
}

/* Takes over the schema. */
static flow_status
add_known(avro_serde *s, const flow_schema *schema, flow_error *error)
{
	avro_known *known = &s->known[s->known_count++];
	known->schema = schema;
	flow_slice text = avro_schema_text(s->host, schema);
	known->fingerprint = text.data == NULL ? 0 : avro_fingerprint(s->host, text);
	s->host->release((void *)(uintptr_t)text.data);
	return known->fingerprint != 0 ? FLOW_OK : flow_fail(s->host, error, FLOW_E_MEMORY, "avro: out of memory");
}

/* The schema of records must go into the one that is read; told here, not with the first record. */
static flow_status
check_known(avro_serde *s, const flow_schema *writer, const flow_schema *reader, flow_slice path, flow_error *error)
{
	avro_plan *plan = avro_plan_create(s->host, writer, reader, NULL, error);
	avro_plan_destroy(plan);
	if (plan != NULL)
		return FLOW_OK;
	avro_prefix(s->host, error, "avro: %s: this schema cannot be read as the other one", path.data);
	return FLOW_E_CONFIG;
}

static flow_status
read_writers(avro_serde *s, const flow_options *from, flow_error *error)
{
	const flow_option_value *files = flow_option_get(from, "writer_schema_file");
	uint64_t count = files == NULL ? 0 : files->entry_count;
	if (count > 1 && !s->single_object)
		return flow_fail(s->host, error, FLOW_E_CONFIG,
						 "avro: bare datums have one writer's schema; several need framing = \"single-object\"");
	s->known = (avro_known *)flow_new(s->host, (count + 1) * sizeof(*s->known));
	if (s->known == NULL)
		return flow_fail(s->host, error, FLOW_E_MEMORY, "avro: out of memory");
	flow_status status = FLOW_OK;
	for (uint64_t i = 0; i < count && status == FLOW_OK; i++) {
		flow_slice path = files->entries[i]->value->text;
		const flow_schema *schema = NULL;
		status = parse_file(s, path, &schema, error);
		if (status == FLOW_OK)
			status = add_known(s, schema, error);
		if (status == FLOW_OK)
			status = check_known(s, schema, s->declared != NULL ? s->declared : s->known[0].schema, path, error);
	}
	if (status == FLOW_OK && s->declared != NULL && (s->single_object || count == 0))
		status = add_known(s, s->schemas->retain(s->declared), error);
	return status;
}

static flow_status
read_sync(avro_serde *s, const flow_options *from, flow_error *error)
{
	flow_slice text = flow_option_text(from, "sync_marker");
	if (text.data == NULL)
		return FLOW_OK;
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	uint64_t i = 0;
	for (; i < text.size && i < 2 * (uint64_t)AVRO_SYNC_SIZE; i++) {
		const char *digit = text.data[i] == '\0' ? NULL : strchr(digits, text.data[i]);
		if (digit == NULL)
			break;
		s->sync[i / 2] = (char)((uint8_t)s->sync[i / 2] << 4 | (uint8_t)((digit - digits) % 16));
	}
	if (i != 2 * (uint64_t)AVRO_SYNC_SIZE || text.size != i) {
		flow_fail(s->host, error, FLOW_E_CONFIG, "sync_marker = \"%.*s\" is not 32 hexadecimal digits", (int)text.size,
				  text.data);
		s->host->errors->option(error, "sync_marker");
		return FLOW_E_CONFIG;
	}
	s->has_sync = 1;
	return FLOW_OK;
}

static flow_status
read_codec(avro_serde *s, const flow_options *from, flow_error *error)
{
	flow_slice name = flow_option_text(from, "codec");
	s->codec = name.data == NULL ? AVRO_CODEC_NULL : avro_codec_find(name);
	int64_t level = flow_option_int(from, "level", INT32_MIN);
	s->level = (int)level;
	int64_t least = s->codec == AVRO_CODEC_BZIP2 || s->codec == AVRO_CODEC_ZSTANDARD;
	int64_t most = s->codec == AVRO_CODEC_ZSTANDARD ? 22 : 9;
	if (level == INT32_MIN || (level >= least && level <= most))
		return FLOW_OK;
	flow_fail(s->host, error, FLOW_E_CONFIG, "level = %lld: %s has the levels %lld to %lld", (long long)level,
			  avro_codec_name(s->codec), (long long)least, (long long)most);
	s->host->errors->option(error, "level");
	return FLOW_E_CONFIG;
}

/* --- opening ------------------------------------------------------------------------------------------------------------- */

static void
avro_close(flow_serde *serde)
{
	avro_serde *s = (avro_serde *)serde;
	for (uint32_t i = 0; i < s->known_count; i++)
		s->schemas->release(s->known[i].schema);
	s->schemas->release(s->declared);
	s->schemas->release(s->reader);
	s->host->release(s->known);
	s->host->release(s);
}

static flow_status
avro_open(const flow_host *host, const flow_options *from, uint32_t use, flow_serde **serde, flow_error *error)
{
	(void)use;
	avro_serde *s = (avro_serde *)flow_new(host, sizeof(*s));
	if (s == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "avro: out of memory");
	s->host = host;
	s->schemas = (const flow_schemas *)host->get_service(FLOW_SERVICE_SCHEMAS);
	s->depth_limit = (uint32_t)flow_option_int(from, "depth_limit", 256);
	s->skip_bad_blocks = flow_option_bool(from, "skip_bad_blocks", 0) != 0;
	s->max_record = (uint64_t)flow_option_int(from, "max_record", (int64_t)64 << 20);
	s->max_block = (uint64_t)flow_option_int(from, "max_block", (int64_t)128 << 20);
	s->block_size = (uint64_t)flow_option_int(from, "block_size", (int64_t)64 * 1024);
	s->single_object = flow_slice_is(flow_option_text(from, "framing"), "single-object");
	flow_status status = read_declared(s, from, error);
	if (status == FLOW_OK)
		status = read_writers(s, from, error);
	if (status == FLOW_OK)
		status = read_codec(s, from, error);
	if (status == FLOW_OK)
		status = read_sync(s, from, error);
	if (status != FLOW_OK) {
		avro_close((flow_serde *)s);
		return status;
	}
	*serde = (flow_serde *)s;
	return FLOW_OK;
}

/* --- what decoding gives --------------------------------------------------------------------------------------------------- */

/* The schema in the header of a container file. FLOW_AGAIN: there is no sample. */
static flow_status
schema_of_sample(const avro_serde *s, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	avro_header header;
	if (sample.size == 0)
		return FLOW_AGAIN;
	flow_status status = avro_header_read(s->host, sample, &header, error);
	if (status == FLOW_AGAIN)
		return flow_fail(
			s->host, error, FLOW_E_DECODE,
			"avro: the header at offset 0 goes on behind the %llu bytes that were looked at; it is cut off, or "
			"its schema is so large that it must be given as schema_file",
			(unsigned long long)sample.size);
	if (status != FLOW_OK) {
		avro_prefix(s->host, error, "avro");
		return status;
	}
	*schema = s->schemas->parse_json(header.schema, error);
	if (*schema != NULL)
		return FLOW_OK;
	avro_prefix(s->host, error, "avro: the schema in the file's header");
	return FLOW_E_DECODE;
}

static flow_status
avro_decoded_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	avro_serde *s = (avro_serde *)serde;
	const flow_schema *found = s->declared != NULL ? s->declared : s->known_count != 0 ? s->known[0].schema : NULL;
	if (found != NULL) {
		s->schemas->retain(found);
	} else {
		flow_status status = schema_of_sample(s, sample, &found, error);
		if (status != FLOW_OK)
			return status;
	}
	s->schemas->release(s->reader);
	s->reader = found;
	*schema = s->schemas->retain(found);
	return FLOW_OK;
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

static const flow_serde_ops ops = {
	.struct_size = FLOW_SIZEOF(flow_serde_ops),
	.open = avro_open,
	.close = avro_close,
	.decoded_schema = avro_decoded_schema,
	.check_encodable = avro_check_encodable,
	.decoder_open = avro_decoder_open,
	.decode = avro_decode,
	.decode_rows = avro_decode_rows,
	.save = avro_save,
	.restore = avro_restore,
	.decoder_close = avro_decoder_close,
	.encoder_open = avro_encoder_open,
	.begin = avro_begin,
	.encode = avro_encode,
	.encoder_close = avro_encoder_close,
};

static const char *const served[] = { "avro", NULL };

static const flow_component component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SERDE,
	.flags = FLOW_SERDE_STREAM | FLOW_SERDE_RECORD,
	.id = "avro",
	.doc = "Apache Avro: container files with every codec, and datums as records, with resolution of schemas and all "
		   "logical "
		   "types.",
	.option_sets = option_sets,
	.ops = &ops,
	.served = served,
};
static const flow_component *const components[] = { &component, NULL };

static const flow_plugin plugin = {
	.struct_size = FLOW_SIZEOF(flow_plugin),
	.abi = FLOW_ABI,
	.id = "avro",
	.version = "0.1.0",
	.license = "Apache-2.0",
	.components = components,
};

FLOW_EXPORT const flow_plugin *FLOW_PLUGIN_ENTRY(uint32_t host_abi);

const flow_plugin *
FLOW_PLUGIN_ENTRY(uint32_t host_abi)
{
	(void)host_abi;
	return &plugin;
}
