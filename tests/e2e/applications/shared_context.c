/* An application whose functions share a context: `number` adds how many records the task has seen so far, over all its steps. Into a
 * file it writes a line with the context's number when a context or a function of it begins or ends; by its options calls fail. */
#include <stdatomic.h>
#include <stdio.h>

#include "file_descriptor.h"
#include "flow_sdk/descriptor.h"
#include "flow_sdk/plugin.h"

static const flow_host *host;
static char log_file[512];
static int64_t contexts;  /* so many can be made */
static int64_t most_seen; /* records of a task */
static atomic_int made;

struct context {
	int64_t number, seen;
};

static void
note(const char *what, const struct context *context)
{
	FILE *to = fopen(log_file, "a");
	if (to == NULL)
		return;
	fprintf(to, "%s %lld %lld\n", what, (long long)context->number, (long long)context->seen);
	fclose(to);
}

static flow_status
context_init(void **shared, flow_error *error)
{
	int number = atomic_fetch_add(&made, 1);
	struct context *context = number < contexts ? flow_new(host, sizeof(*context)) : NULL;
	if (context == NULL)
		return flow_fail(host, error, FLOW_E_UNAVAILABLE, "it cannot be made");
	context->number = number;
	note("init", context);
	*shared = context;
	return FLOW_OK;
}

static void
context_close(void *shared)
{
	note("close", shared);
	host->release(shared);
}

/* --- the function --------------------------------------------------------------------------------------------------------- */

struct flow_function {
	flow_context *context;
};

static flow_status
number_bind(const flow_host *the_host, const flow_options *options, const flow_function_input *const *inputs, uint32_t count,
            flow_function_plan *plan, void **binding, flow_error *error)
{
	(void)the_host;
	(void)options;
	(void)inputs;
	(void)count;
	const flow_schemas *schemas = host->get_service(FLOW_SERVICE_SCHEMAS);
	const flow_schema *output = schemas->parse_type(flow_slice_of("record(seen:int64)"), error);
	plan->outputs[0] = output;
	*binding = (void *)(uintptr_t)output;
	return output == NULL ? FLOW_E_CONFIG : FLOW_OK;
}

static void
number_unbind(void *binding)
{
	const flow_schemas *schemas = host->get_service(FLOW_SERVICE_SCHEMAS);
	schemas->release(binding);
}

static flow_status
number_open(void *binding, flow_context *context, flow_function **function, flow_error *error)
{
	(void)binding;
	*function = flow_new(host, sizeof(**function));
	if (*function == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	(*function)->context = context;
	note("open", context->ops->shared(context));
	return FLOW_OK;
}

static flow_status
number_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)input;
	flow_output *output = function->context->outputs[0];
	struct context *shared = function->context->ops->shared(function->context);
	for (FLOW_ROWS(batch, i)) {
		flow_builder *builder = output->builder(output);
		if (flow_builder_full(builder)) {
			flow_status status = output->push(output, error);
			if (status != FLOW_OK)
				return status;
			builder = output->builder(output);
		}
		if (shared->seen == most_seen)
			return flow_fail(host, error, FLOW_E_LIMIT, "no more than %lld", (long long)most_seen);
		flow_value *cells = flow_builder_cells(builder, 1);
		if (cells == NULL)
			return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
		cells[0] = flow_int64(++shared->seen);
		flow_builder_add(builder, flow_record(cells, 1));
	}
	return FLOW_OK;
}

static void
number_close(flow_function *function)
{
	note("shut", function->context->ops->shared(function->context));
	host->release(function);
}

/* --- the application -------------------------------------------------------------------------------------------------------- */

static flow_status
describe(const flow_host *the_host, const flow_options *options, const flow_graph_ops *ops, flow_graph *graph, flow_error *error)
{
	(void)the_host;
	(void)error;
	snprintf(log_file, sizeof(log_file), "%s", flow_option_text(options, "log").data);
	contexts = flow_option_int(options, "contexts", INT64_MAX);
	most_seen = flow_option_int(options, "most_seen", -1);
	file_system_descriptor files = file_system(graph, "files");
	flow_application_with_name(flow_application(graph), "shared-context");
	file_input_descriptor in = flow_input_with_bounded(file_input_with_path(file_input(files, "in"), "in*.jsonl"), 1);
	file_output_descriptor out = file_output_with_path(file_output(files, "out"), "out.jsonl");
	flow_input_with_serde(in, "json");
	flow_step_descriptor first = flow_step_set_bool(flow_step(in, "first"), "number", 1);
	flow_step_descriptor second = flow_step_set_bool(flow_next(first, "second"), "number", 1);
	if (flow_option_bool(options, "keyed", 0))
		flow_step_key_by(second, "seen");
	flow_send_to(second, flow_output_with_serde(out, "json"));
	ops->set_context(graph, context_init, context_close);
	return FLOW_OK;
}

static flow_status
init(const flow_host *the_host, flow_error *error)
{
	(void)error;
	host = the_host;
	return FLOW_OK;
}

#define OPTION(identifier, ...)                                                                                        \
	static const flow_option identifier = { .struct_size = FLOW_SIZEOF(flow_option), __VA_ARGS__ }
OPTION(log_option, .type = FLOW_OPTION_PATH, .name = "log", .default_text = "context.log", .doc = "File of its lines.");
OPTION(contexts_option, .type = FLOW_OPTION_INT, .name = "contexts", .doc = "So many contexts can be made.");
OPTION(most_option, .type = FLOW_OPTION_INT, .name = "most_seen", .doc = "So many records a task can see.");
OPTION(keyed_option, .type = FLOW_OPTION_BOOL, .name = "keyed", .doc = "The second step has tasks of its own.");
static const flow_option *const list[] = { &log_option, &contexts_option, &most_option, &keyed_option, NULL };
static const flow_option_set set = { FLOW_SIZEOF(flow_option_set), 0, "", "A context that functions share.", list };
static const flow_option_set *const sets[] = { &set, NULL };
static const flow_function_ops number_ops = { .struct_size = FLOW_SIZEOF(flow_function_ops),
	                                          .bind = number_bind,
	                                          .unbind = number_unbind,
	                                          .open = number_open,
	                                          .process = number_process,
	                                          .close = number_close };
static const flow_component number = { .struct_size = FLOW_SIZEOF(flow_component),
	                                   .kind = FLOW_FUNCTION,
	                                   .id = "number",
	                                   .doc = "How many records the task has seen.",
	                                   .ops = &number_ops };
static const flow_application_ops application_ops = { .struct_size = FLOW_SIZEOF(flow_application_ops), .describe = describe };
static const flow_component application = { .struct_size = FLOW_SIZEOF(flow_component),
	                                        .kind = FLOW_APPLICATION,
	                                        .id = "shared_context",
	                                        .doc = "Functions that share a context.",
	                                        .option_sets = sets,
	                                        .ops = &application_ops };
static const flow_component *const components[] = { &application, &number, NULL };
FLOW_DEFINE_PLUGIN("shared_context", "1.0.0", "Apache-2.0", components, init, NULL)
