/* Serdes: `csv` and `json` give records of declared types, `csv` also strings by the names of a header; `frames` takes
 * records only. */
#include <stdio.h>

#include "fixture.h"

struct flow_serde {
	char type[512]; /* empty: by the header */
};

OPTION(types_option, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_TYPE, .name = "types",
	   .doc = "Fields and their types.");
OPTION(delimiter_option, .type = FLOW_OPTION_STRING, .name = "delimiter", .default_text = ",", .doc = "Fixture.");
SET(serde_set, "", &types_option, &delimiter_option);
static const flow_option_set *const sets[] = { &serde_set, NULL };

static void
write_type(struct flow_serde *serde, const flow_option_value *types)
{
	size_t used = 0;
	for (uint64_t i = 0; types != NULL && i < types->entry_count; i++)
		used += (size_t)snprintf(serde->type + used, sizeof(serde->type) - used, "%s%s:%s", i == 0 ? "record(" : ",",
								 types->entries[i]->name.data, types->entries[i]->value->text.data);
	if (used != 0)
		snprintf(serde->type + used, sizeof(serde->type) - used, ")");
}

static flow_status
open_serde(const flow_host *host, const flow_options *options, uint32_t use, flow_serde **serde, flow_error *error)
{
	(void)use;
	flow_slice delimiter = flow_option_text(options, "delimiter");
	if (delimiter.size != 1) {
		host->errors->option(error, "delimiter");
		return flow_fail(host, error, FLOW_E_CONFIG, "a delimiter is one character");
	}
	*serde = flow_new(host, sizeof(**serde));
	if (*serde == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	write_type(*serde, flow_option_get(options, "types"));
	return FLOW_OK;
}

static void
close_serde(flow_serde *serde)
{
	fixture_host->release(serde);
}

static flow_status
csv_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	if (serde->type[0] == '\0') {
		const char *end = sample.size == 0 ? NULL : memchr(sample.data, '\n', sample.size);
		if (end == NULL)
			return FLOW_AGAIN;
		size_t used = (size_t)snprintf(serde->type, sizeof(serde->type), "record(");
		for (const char *c = sample.data; c < end && used + 16 < sizeof(serde->type); c++)
			used +=
				*c == ',' ? (size_t)snprintf(serde->type + used, 16, ":string,") : (serde->type[used] = *c, (size_t)1);
		snprintf(serde->type + used, sizeof(serde->type) - used, ":string)");
	}
	*schema = fixture_type(serde->type);
	return *schema == NULL ? flow_fail(fixture_host, error, FLOW_E_MEMORY, "out of memory") : FLOW_OK;
}

static flow_status
json_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	(void)sample;
	*schema = fixture_type(serde->type[0] == '\0' ? "any" : serde->type);
	return *schema == NULL ? flow_fail(fixture_host, error, FLOW_E_MEMORY, "out of memory") : FLOW_OK;
}

static flow_status
string_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	(void)serde;
	(void)sample;
	*schema = fixture_type("string");
	return *schema == NULL ? flow_fail(fixture_host, error, FLOW_E_MEMORY, "out of memory") : FLOW_OK;
}

static flow_status
check_encodable(flow_serde *serde, const flow_schema *schema, flow_error *error)
{
	(void)serde;
	for (uint32_t i = 0; i < schema->field_count; i++)
		if (schema->fields[i]->schema->kind == FLOW_KIND_BYTES)
			return flow_fail(fixture_host, error, FLOW_E_TYPE, "field %.*s is bytes", (int)schema->fields[i]->name.size,
							 schema->fields[i]->name.data);
	return FLOW_OK;
}

static flow_status
check_string(flow_serde *serde, const flow_schema *schema, flow_error *error)
{
	(void)serde;
	return schema->kind == FLOW_KIND_STRING ? FLOW_OK : flow_fail(fixture_host, error, FLOW_E_TYPE, "it is no string");
}

#define OPS(identifier, schema_function, check_function)                                                               \
	static const flow_serde_ops identifier = {                                                                         \
		.struct_size = FLOW_SIZEOF(flow_serde_ops),                                                                    \
		.open = open_serde,                                                                                            \
		.close = close_serde,                                                                                          \
		.decoded_schema = schema_function,                                                                             \
		.check_encodable = check_function,                                                                             \
		.decoder_open = NEVER,                                                                                         \
		.decode = NEVER,                                                                                               \
		.decode_rows = NEVER,                                                                                          \
		.save = NEVER,                                                                                                 \
		.restore = NEVER,                                                                                              \
		.decoder_close = NEVER,                                                                                        \
		.encoder_open = NEVER,                                                                                         \
		.begin = NEVER,                                                                                                \
		.encode = NEVER,                                                                                               \
		.end = NEVER,                                                                                                  \
		.encoder_close = NEVER,                                                                                        \
	}
OPS(csv_ops, csv_schema, check_encodable);
OPS(json_ops, json_schema, check_encodable);
OPS(string_ops, string_schema, check_string);

COMPONENT(fixture_csv, FLOW_SERDE, FLOW_SERDE_STREAM, "csv", sets, &csv_ops);
COMPONENT(fixture_json, FLOW_SERDE, FLOW_SERDE_STREAM | FLOW_SERDE_RECORD, "json", sets, &json_ops);
COMPONENT(fixture_string, FLOW_SERDE, FLOW_SERDE_RECORD, "string", sets, &string_ops);
COMPONENT(fixture_frames, FLOW_SERDE, FLOW_SERDE_RECORD, "frames", sets, &json_ops);

static const flow_serde_ops reads_only_ops = {
	.struct_size = FLOW_SIZEOF(flow_serde_ops),
	.open = open_serde,
	.close = close_serde,
	.decoded_schema = json_schema,
	.decoder_open = NEVER,
	.decode_rows = NEVER,
	.decoder_close = NEVER,
};
static const flow_serde_ops writes_only_ops = {
	.struct_size = FLOW_SIZEOF(flow_serde_ops),
	.open = open_serde,
	.close = close_serde,
	.check_encodable = check_encodable,
	.encoder_open = NEVER,
	.encode = NEVER,
	.encoder_close = NEVER,
};
COMPONENT(fixture_reads_only, FLOW_SERDE, FLOW_SERDE_RECORD, "reads_only", sets, &reads_only_ops);
COMPONENT(fixture_writes_only, FLOW_SERDE, FLOW_SERDE_RECORD, "writes_only", sets, &writes_only_ops);
