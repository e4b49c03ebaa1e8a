/* The transformer `envelope`: what came with a record (offset, partition, timestamp, headers, place) becomes part of it. */
#include "flow/transformer.h"
#include "flow_sdk/plugin.h"

static const flow_host *host;

/* What can be added, in the order in which it stands behind the record's own fields. */
#define PARTS 5
static const struct {
	const char *name;
	const char *type;
} parts[PARTS] = {
	{ "offset", "int64?" },        { "partition", "int64?" },
	{ "timestamp", "timestamp?" }, { "headers", "list<record(name:string,value:bytes?)>" },
	{ "place", "string" },
};

struct binding {
	const flow_schema *output;
	uint32_t kept; /* fields of the input record; 0: the value as a whole is the one field */
	uint32_t whole;
	uint32_t added;
	uint8_t part[PARTS]; /* by added field */
};

struct flow_transformer {
	const struct binding *binding;
	flow_context *context;
};

/* --- types ---------------------------------------------------------------------------------------------------------- */

static const flow_schemas *
schemas(void)
{
	return host->get_service(FLOW_SERVICE_SCHEMAS);
}

static void
choose_parts(struct binding *b, const flow_options *options)
{
	const flow_option_value *chosen = flow_option_get(options, "add");
	for (uint8_t part = 0; part < PARTS; part++) {
		int wanted = chosen == NULL;
		for (uint64_t i = 0; chosen != NULL && i < chosen->entry_count; i++)
			wanted |= flow_slice_is(chosen->entries[i]->value->text, parts[part].name);
		if (wanted)
			b->part[b->added++] = part;
	}
}

static flow_status
no_memory(flow_error *error)
{
	return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
}

/* The name of an added field, which must be free. */
static flow_status
added_name(const flow_schema *input, uint32_t kept, flow_slice prefix, const char *name, char *buffer, flow_slice *made,
		   flow_error *error)
{
	uint64_t length = strlen(name);
	if (prefix.size != 0)
		memcpy(buffer, prefix.data, prefix.size);
	memcpy(buffer + prefix.size, name, length + 1);
	*made = flow_slice_make(buffer, prefix.size + length);
	if (kept == 0 ? !flow_slice_is(*made, "value") : flow_schema_find(input, *made) < 0)
		return FLOW_OK;
	host->errors->option(error, "prefix");
	return flow_fail(host, error, FLOW_E_CONFIG, "records have a field '%s' already; set prefix = \"...\"", buffer);
}

static flow_status
make_output(struct binding *b, const flow_schema *input, flow_slice prefix, flow_error *error)
{
	uint32_t first = b->kept + b->whole, count = first + b->added;
	uint64_t room = prefix.size + 16;
	flow_field_spec *specs = flow_new(host, count * sizeof(*specs));
	const flow_field_spec **list = flow_new(host, count * sizeof(*list));
	char *names = flow_new(host, b->added * room);
	const flow_schema *types[PARTS] = { NULL };
	flow_status status = specs == NULL || list == NULL || names == NULL ? no_memory(error) : FLOW_OK;
	for (uint32_t i = 0; i < count && status == FLOW_OK; i++) {
		list[i] = &specs[i];
		specs[i].struct_size = FLOW_SIZEOF(flow_field_spec);
		specs[i].name = i < b->kept ? input->fields[i]->name : flow_slice_of("value");
		specs[i].schema = i < b->kept ? input->fields[i]->schema : input;
		if (i < first)
			continue;
		uint32_t part = b->part[i - first];
		types[i - first] = schemas()->parse_type(flow_slice_of(parts[part].type), error);
		specs[i].schema = types[i - first];
		status = specs[i].schema == NULL ? FLOW_E_CONFIG
										 : added_name(input, b->kept, prefix, parts[part].name,
													  names + (i - first) * room, &specs[i].name, error);
	}
	if (status == FLOW_OK)
		b->output = schemas()->make_record(flow_slice_of("envelope"), list, count, error);
	for (uint32_t i = 0; i < PARTS; i++)
		schemas()->release(types[i]);
	host->release(names);
	host->release(list);
	host->release(specs);
	return status != FLOW_OK ? status : b->output == NULL ? FLOW_E_CONFIG : FLOW_OK;
}

static flow_status
bind(const flow_host *the_host, const flow_options *options, const flow_schema *input, const flow_schema *input_key,
	 const flow_schema **output, void **binding, flow_error *error)
{
	(void)input_key;
	host = the_host;
	struct binding *b = flow_new(host, sizeof(*b));
	if (b == NULL)
		return no_memory(error);
	int is_record = input->kind == FLOW_KIND_RECORD && !flow_schema_nullable(input);
	b->kept = is_record ? input->field_count : 0;
	b->whole = !is_record;
	choose_parts(b, options);
	flow_status status = make_output(b, input, flow_option_text(options, "prefix"), error);
	if (status != FLOW_OK) {
		host->release(b);
		return status;
	}
	*output = schemas()->retain(b->output);
	*binding = b;
	return FLOW_OK;
}

static void
unbind(void *binding)
{
	schemas()->release(((struct binding *)binding)->output);
	host->release(binding);
}

/* --- records -------------------------------------------------------------------------------------------------------- */

static flow_status
init(void *binding, flow_context *context, flow_transformer **transformer, flow_error *error)
{
	*transformer = flow_new(host, sizeof(**transformer));
	if (*transformer == NULL)
		return no_memory(error);
	**transformer = (struct flow_transformer){ binding, context };
	return FLOW_OK;
}

/* A list of records { name, value }; *cell stays as it is when memory is short. */
static int
headers_cell(flow_builder *memory, const flow_batch *batch, uint32_t row, flow_value *cell)
{
	uint64_t count = batch->headers == NULL ? 0 : batch->headers[row].count;
	flow_list *list = flow_builder_alloc(memory, sizeof(*list));
	flow_value *items = flow_builder_alloc(memory, (count + 1) * sizeof(*items));
	flow_value *cells = flow_builder_alloc(memory, (count + 1) * 2 * sizeof(*cells));
	if (list == NULL || items == NULL || cells == NULL)
		return 0;
	for (uint64_t i = 0; i < count; i++) {
		const flow_header *header = &batch->headers[row].items[i];
		cells[2 * i] = flow_string(header->name.data, (uint32_t)header->name.size);
		cells[2 * i + 1] = header->value;
		items[i] = flow_record(&cells[2 * i], 2);
	}
	*list = (flow_list){ items, count };
	*cell = (flow_value){ .type = FLOW_LIST };
	cell->as.list = list;
	return 1;
}

static int
part_cell(flow_builder *memory, const flow_batch *batch, uint32_t row, uint8_t part, flow_value *cell)
{
	int known;
	switch (part) {
	case 0:
		*cell = batch->ordinal == NULL ? flow_null() : flow_int64(batch->ordinal[row]);
		return 1;
	case 1:
		*cell = batch->partition == UINT32_MAX ? flow_null() : flow_int64(batch->partition);
		return 1;
	case 2:
		known = batch->timestamp != NULL && batch->timestamp[row] != FLOW_NO_TIMESTAMP;
		*cell = known ? flow_timestamp(batch->timestamp[row], FLOW_MICROSECONDS, FLOW_ZONED) : flow_null();
		return 1;
	case 3:
		return headers_cell(memory, batch, row, cell);
	default:
		*cell = flow_string(batch->place.data == NULL ? "" : batch->place.data, (uint32_t)batch->place.size);
		return 1;
	}
}

/* A record without value (a tombstone) has no fields, so it stays as it is. */
static int
row_value(const struct binding *b, flow_builder *memory, const flow_batch *batch, uint32_t row, flow_value *value)
{
	uint32_t first = b->kept + b->whole;
	*value = batch->value[row];
	if (flow_is_null(*value))
		return 1;
	flow_value *cells = flow_builder_cells(memory, first + b->added);
	if (cells == NULL)
		return 0;
	if (b->whole)
		cells[0] = *value;
	else if (b->kept != 0)
		memcpy(cells, value->as.record, b->kept * sizeof(*cells));
	for (uint32_t i = 0; i < b->added; i++)
		if (!part_cell(memory, batch, row, b->part[i], &cells[first + i]))
			return 0;
	*value = flow_record(cells, first + b->added);
	return 1;
}

static flow_status
apply(flow_transformer *transformer, const flow_batch *batch, flow_error *error)
{
	const struct binding *b = transformer->binding;
	flow_output *output = transformer->context->outputs[0];
	flow_builder *memory = output->memory(output);
	flow_value *values = flow_builder_alloc(memory, (uint64_t)batch->row_count * sizeof(*values));
	if (values == NULL)
		return no_memory(error);
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		if (!row_value(b, memory, batch, row, &values[row]))
			return no_memory(error);
	}
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns), .schema = b->output, .value = values };
	return output->forward(output, batch, &columns, error);
}

static void
close_transformer(flow_transformer *transformer)
{
	host->release(transformer);
}

/* --- tables --------------------------------------------------------------------------------------------------------- */

static const char *const add_choices[] = {
	"offset\tits place in the partition",
	"partition\tnumber of the partition, as the system counts them",
	"timestamp\tthe time that its system gave it; null where it gives none",
	"headers\tname and value of each header",
	"place\twhere it is from, for people: a file, a topic with its partition",
	NULL,
};
static const flow_option add = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_LIST,
	.element = FLOW_OPTION_ENUM,
	.flags = FLOW_OPTION_OR_ONE,
	.name = "add",
	.doc = "What is added to each record, in this order: offset, partition, timestamp, headers, place. Without it: all "
		   "of it.",
	.choices = add_choices,
	.example = "[\"offset\", \"partition\"]",
};
static const flow_option prefix = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "prefix",
	.doc = "Stands in front of the added fields' names.",
	.default_text = "",
	.example = "\"source_\"",
};
static const flow_option *const list[] = { &add, &prefix, NULL };
static const flow_option_set set = { FLOW_SIZEOF(flow_option_set), 0, "", "What came with a record becomes part of it.",
									 list };
static const flow_option_set *const sets[] = { &set, NULL };
static const flow_transformer_ops ops = {
	.struct_size = FLOW_SIZEOF(flow_transformer_ops),
	.bind = bind,
	.unbind = unbind,
	.init = init,
	.apply = apply,
	.close = close_transformer,
};
static const flow_component envelope = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_TRANSFORMER,
	.id = "envelope",
	.doc = "Adds what came with a record to it: offset, partition, timestamp, headers, place. A value that is no "
		   "record becomes the "
		   "field `value`.",
	.option_sets = sets,
	.ops = &ops,
};
static const flow_component *const components[] = { &envelope, NULL };
FLOW_DEFINE_PLUGIN("envelope", "1.0.0", "Apache-2.0", components, NULL, NULL)
