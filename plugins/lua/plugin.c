/* The plugin's root, the options of the function `lua`, and planning: the script is read, loaded once and checked. */
#include <errno.h>
#include <stdio.h>

#include "flow_sdk/cell.h"
#include "lua_function.h"

#define SCRIPT_MAX ((uint64_t)1 << 20)

static void
unbind(void *opaque)
{
	struct lua_binding *binding = opaque;
	const flow_host *host = binding->host;
	if (binding->schemas != NULL) {
		binding->schemas->release(binding->input);
		binding->schemas->release(binding->output);
	}
	host->release(binding->script);
	host->release(binding->script_name);
	host->release(binding);
}

static flow_status
no_memory(const flow_host *host, flow_error *error)
{
	return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
}

static char *
copy_text(const flow_host *host, const char *before, flow_slice text)
{
	uint64_t head = strlen(before);
	char *copy = host->allocate(head + text.size + 1);
	if (copy == NULL)
		return NULL;
	memcpy(copy, before, head);
	if (text.size != 0)
		memcpy(copy + head, text.data, text.size);
	copy[head + text.size] = '\0';
	return copy;
}

static flow_status
read_open_file(struct lua_binding *binding, FILE *file, const char *path, flow_error *error)
{
	binding->script = binding->host->allocate(SCRIPT_MAX + 1);
	if (binding->script == NULL)
		return no_memory(binding->host, error);
	binding->script_size = fread(binding->script, 1, SCRIPT_MAX + 1, file);
	if (ferror(file))
		return flow_fail(binding->host, error, FLOW_E_IO, "%s: cannot read the script: %s", path, strerror(errno));
	if (binding->script_size > SCRIPT_MAX)
		return flow_fail(binding->host, error, FLOW_E_LIMIT, "%s: the script is larger than 1 MiB", path);
	return FLOW_OK;
}

static flow_status
read_file(struct lua_binding *binding, flow_slice path, flow_error *error)
{
	binding->script_name = copy_text(binding->host, "@", path);
	if (binding->script_name == NULL)
		return no_memory(binding->host, error);
	FILE *file = fopen(path.data, "re");
	if (file == NULL)
		return flow_fail(binding->host, error, errno == ENOENT ? FLOW_E_NOT_FOUND : FLOW_E_IO,
						 "%s: cannot open the script: %s", path.data, strerror(errno));
	flow_status status = read_open_file(binding, file, path.data, error);
	fclose(file);
	return status;
}

static flow_status
read_script(struct lua_binding *binding, const flow_options *options, flow_error *error)
{
	flow_slice path = flow_option_text(options, "script_file");
	if (path.data != NULL)
		return read_file(binding, path, error);
	flow_slice text = flow_option_text(options, "lua");
	binding->script = copy_text(binding->host, "", text);
	binding->script_size = text.size;
	binding->script_name = copy_text(binding->host, "=script", flow_slice_make(NULL, 0));
	return binding->script == NULL || binding->script_name == NULL ? no_memory(binding->host, error) : FLOW_OK;
}

static flow_status
settle_schemas(struct lua_binding *binding, const flow_options *options, const flow_schema *input, flow_error *error)
{
	const flow_host *host = binding->host;
	char type[128];
	binding->schemas = host->get_service(FLOW_SERVICE_SCHEMAS);
	if (binding->schemas == NULL)
		return flow_fail(host, error, FLOW_E_UNSUPPORTED, "this host has no service %s", FLOW_SERVICE_SCHEMAS);
	if (input->kind != FLOW_KIND_RECORD)
		return flow_fail(host, error, FLOW_E_TYPE,
						 "the input must be records with fields, but is %s; declare the fields of the input",
						 flow_type_text(host, input, type, sizeof(type)));
	binding->input = binding->schemas->retain(input);
	const flow_option_value *fields = flow_option_get(options, "fields");
	binding->output = fields == NULL ? binding->schemas->retain(input) : flow_fields_record(host, fields, error);
	return binding->output == NULL ? host->errors->status(error) : FLOW_OK;
}

/* Syntax errors, and a script without `process`, are errors of the plan. */
static flow_status
try_script(const struct lua_binding *binding, flow_error *error)
{
	struct sandbox *box = flow_new(binding->host, sizeof(*box));
	if (box == NULL)
		return no_memory(binding->host, error);
	flow_status status = sandbox_open(box, binding, NULL, error);
	if (status == FLOW_OK)
		sandbox_close(box);
	binding->host->release(box);
	return status;
}

static void __attribute__((format(printf, 3, 4)))
prefix(const flow_host *host, flow_error *error, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	host->errors->prefix(error, format, arguments);
	va_end(arguments);
}

static flow_status
bind(const flow_host *host, const flow_options *options, const flow_function_input *const *inputs, uint32_t input_count,
	 flow_function_plan *plan, void **result, flow_error *error)
{
	(void)input_count;
	struct lua_binding *binding = flow_new(host, sizeof(*binding));
	if (binding == NULL)
		return no_memory(host, error);
	binding->host = host;
	binding->instructions = (uint64_t)flow_option_int(options, "instructions", 1000000);
	binding->memory = (uint64_t)flow_option_int(options, "memory", 16 << 20);
	flow_status status = settle_schemas(binding, options, inputs[0]->schema, error);
	if (status == FLOW_OK)
		status = read_script(binding, options, error);
	if (status == FLOW_OK)
		status = try_script(binding, error);
	if (status != FLOW_OK) {
		prefix(host, error, "%.*s: lua", (int)options->place.size, options->place.data);
		unbind(binding);
		return status;
	}
	plan->outputs[0] = binding->output;
	plan->keeps_key = 1;
	*result = binding;
	return FLOW_OK;
}

static const flow_function_ops ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.bind = bind,
	.unbind = unbind,
	.open = function_open,
	.process = function_process,
	.close = function_close,
};

static const flow_option script_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_PRIMARY,
	.name = "lua",
	.doc = "The script. It defines process(record), which returns a record (a table), or nil for none; emit(record) "
		   "gives further "
		   "ones, before it.",
	.example = "\"function process(r) r.total = r.price * r.count; return r end\"",
	.condition = "!script_file",
};
static const flow_option file_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_PATH,
	.name = "script_file",
	.doc = "The file that holds the script, instead of the script itself.",
	.example = "\"total.lua\"",
};
static const flow_option fields_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_MAP,
	.element = FLOW_OPTION_TYPE,
	.name = "fields",
	.doc = "Name and type of each field of the records that the script gives. Absent: those of the input. What the "
		   "script gives "
		   "fits exactly, or the record is rejected.",
	.example = "{ id = \"int64\"; total = \"decimal(12,2)?\"; }",
};
static const flow_option instructions_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "instructions",
	.doc = "Most instructions that the script may run for one record. Library functions count by the size of what they "
		   "work on.",
	.default_text = "1000000",
	.minimum = "1",
	.maximum = "1000000000000",
};
static const flow_option memory_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_SIZE,
	.name = "memory",
	.doc = "Most memory of an interpreter (each task has one), and of what comes of one record.",
	.default_text = "16MiB",
	.minimum = "64KiB",
	.maximum = "4GiB",
};
static const flow_option *const option_list[] = { &script_option,       &file_option,   &fields_option,
												  &instructions_option, &memory_option, NULL };
static const flow_option_set option_set = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "A script that decides about each record.",
	.options = option_list,
};
static const flow_option_set *const option_sets[] = { &option_set, NULL };

static const flow_component lua_component = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_FUNCTION,
	.id = "lua",
	.doc = "Runs a Lua 5.4 script for each record, in a sandbox.",
	.option_sets = option_sets,
	.ops = &ops,
};

static const flow_component *const components[] = { &lua_component, NULL };

FLOW_DEFINE_PLUGIN("lua", "0.1.0", "Apache-2.0", components, NULL, NULL)
