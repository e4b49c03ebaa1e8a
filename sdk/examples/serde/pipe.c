/*
 * A serde in one file: lines of texts with '|' between them. "4|Ann\n" with fields = ["id", "name"] is the record
 * { id: "4", name: "Ann" }; a line with another number of fields is rejected. It reads only.
 */
#include <stdio.h>

#include "flow_sdk/plugin.h"

static const flow_host *host;
static const flow_schemas *schemas;

struct flow_serde {
	const flow_schema *schema;
};

static flow_status
pipe_open(const flow_host *the_host, const flow_options *options, uint32_t use, flow_serde **serde, flow_error *error)
{
	(void)use;
	const flow_option_value *names = flow_option_get(options, "fields");
	char type[4096] = "record(";
	size_t size = strlen(type);
	for (uint64_t i = 0; i < names->entry_count && size < sizeof(type); i++)
		size += (size_t)snprintf(type + size, sizeof(type) - size, "%s:string%s", names->entries[i]->value->text.data,
		                         i + 1 < names->entry_count ? "," : ")");
	const flow_schema *schema = schemas->parse_type(flow_slice_of(type), error);
	if (schema == NULL)
		return FLOW_E_CONFIG;
	*serde = flow_new(the_host, sizeof(**serde));
	if (*serde == NULL) {
		schemas->release(schema);
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	}
	(*serde)->schema = schema;
	return FLOW_OK;
}

static void
pipe_close(flow_serde *serde)
{
	schemas->release(serde->schema);
	host->release(serde);
}

static flow_status
decoded_schema(flow_serde *serde, flow_slice sample, const flow_schema **schema, flow_error *error)
{
	(void)sample, (void)error;
	*schema = schemas->retain(serde->schema);
	return FLOW_OK;
}

/* Nothing is kept between windows, so the serde itself plays the decoder. */
static flow_status
decoder_open(flow_serde *serde, const flow_decoder_request *request, flow_decoder **decoder, flow_error *error)
{
	(void)request, (void)error;
	*decoder = (flow_decoder *)serde;
	return FLOW_OK;
}

static void
decoder_close(flow_decoder *decoder)
{
	(void)decoder;
}

static flow_status
add_line(flow_builder *builder, uint32_t field_count, const char *line, uint64_t size, int64_t offset)
{
	flow_value *cells = flow_builder_cells(builder, field_count);
	if (cells == NULL)
		return FLOW_E_MEMORY;
	uint32_t field = 0;
	for (const char *at = line, *end = line + size; field < field_count; field++) {
		const char *bar = memchr(at, '|', (size_t)(end - at));
		if ((bar == NULL) != (field + 1 == field_count))
			break;
		cells[field] = flow_string(at, (uint32_t)((bar == NULL ? end : bar) - at)); /* the window lives as long */
		at = bar == NULL ? end : bar + 1;
	}
	if (field == field_count) {
		builder->ordinal[flow_builder_add(builder, flow_record(cells, field_count))] = offset;
		return FLOW_OK;
	}
	flow_rejection rejection = { .struct_size = FLOW_SIZEOF(flow_rejection), .status = FLOW_E_DECODE,
		.reason = flow_slice_of("the line has another number of fields"), .raw = { line, size }, .ordinal = offset };
	return builder->ops->reject(builder, &rejection);
}

static flow_status
decode(flow_decoder *decoder, flow_window *window, flow_builder *builder, flow_error *error)
{
	(void)error;
	uint32_t field_count = ((flow_serde *)decoder)->schema->field_count;
	flow_status status = builder->ops->add_columns(builder, FLOW_COLUMN_ORDINAL);
	window->consumed = 0;
	while (status == FLOW_OK && window->consumed < window->size && !flow_builder_full(builder)) {
		const char *line = window->data + window->consumed;
		uint64_t rest = window->size - window->consumed;
		const char *end = memchr(line, '\n', rest);
		if (end == NULL && !window->final)
			break; /* the host comes again with more */
		uint64_t size = end == NULL ? rest : (uint64_t)(end - line);
		status = add_line(builder, field_count, line, size, window->offset + (int64_t)window->consumed);
		window->consumed += size + (end != NULL);
	}
	return status;
}

static const flow_option fields = { .struct_size = FLOW_SIZEOF(flow_option), .type = FLOW_OPTION_LIST,
	.element = FLOW_OPTION_STRING, .flags = FLOW_OPTION_REQUIRED, .name = "fields",
	.doc = "Names of the fields, in their order.", .example = "[\"id\", \"name\"]" };
static const flow_option_set set = { FLOW_SIZEOF(flow_option_set), 0, "", "Texts with '|' between them.",
	(const flow_option *const[]){ &fields, NULL } };
static const flow_serde_ops ops = { .struct_size = FLOW_SIZEOF(flow_serde_ops), .open = pipe_open, .close = pipe_close,
	.decoded_schema = decoded_schema, .decoder_open = decoder_open, .decode = decode, .decoder_close = decoder_close };
static const flow_component pipe = { .struct_size = FLOW_SIZEOF(flow_component), .kind = FLOW_SERDE,
	.flags = FLOW_SERDE_STREAM, .id = "pipe", .doc = "Lines of texts with '|' between them.",
	.option_sets = (const flow_option_set *const[]){ &set, NULL }, .ops = &ops };
static const flow_component *const components[] = { &pipe, NULL };

static flow_status
init(const flow_host *the_host, flow_error *error)
{
	host = the_host;
	schemas = host->get_service(FLOW_SERVICE_SCHEMAS);
	return schemas != NULL ? FLOW_OK : flow_fail(host, error, FLOW_E_UNSUPPORTED, "no " FLOW_SERVICE_SCHEMAS);
}

FLOW_DEFINE_PLUGIN("pipe", "1.0.0", "Apache-2.0", components, init, NULL)
