/* The transformer `sieve`: lets records through whose first field is odd. Into a file it writes a line when a task begins, for each
 * record that it sees, and when the task ends; by its options its calls fail. */
#include <stdio.h>

#include "flow/transformer.h"
#include "flow_sdk/plugin.h"

static const flow_host *host;

struct binding {
	char log[512];
	int64_t fails_at;   /* a record that apply fails on */
	int64_t refused;    /* a task whose init fails */
	flow_status answer; /* of that init */
};

struct flow_transformer {
	const struct binding *binding;
	flow_context *context;
};

static void
note(const struct binding *b, const char *what, const flow_context *context, const char *rest)
{
	FILE *to = fopen(b->log, "a");
	if (to == NULL)
		return;
	fprintf(to, "%s %u%s\n", what, context->task, rest);
	fclose(to);
}

static flow_status
bind(const flow_host *the_host, const flow_options *options, const flow_schema *input, const flow_schema *input_key,
     const flow_schema **output, void **binding, flow_error *error)
{
	(void)input_key;
	const flow_schemas *schemas = the_host->get_service(FLOW_SERVICE_SCHEMAS);
	struct binding *b = flow_new(the_host, sizeof(*b));
	if (b == NULL)
		return flow_fail(the_host, error, FLOW_E_MEMORY, "out of memory");
	snprintf(b->log, sizeof(b->log), "%s", flow_option_text(options, "log").data);
	b->fails_at = flow_option_int(options, "fails_at", -1);
	b->refused = flow_option_int(options, "refused_task", -1);
	b->answer = flow_option_bool(options, "strangely", 0) ? FLOW_AGAIN : FLOW_E_UNAVAILABLE;
	*output = schemas->retain(input);
	*binding = b;
	return FLOW_OK;
}

static void
unbind(void *binding)
{
	host->release(binding);
}

static flow_status
init(void *binding, flow_context *context, flow_transformer **transformer, flow_error *error)
{
	const struct binding *b = binding;
	if (context->task == b->refused)
		return b->answer > 0 ? b->answer : flow_fail(host, error, b->answer, "this task gets none");
	*transformer = flow_new(host, sizeof(**transformer));
	if (*transformer == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	**transformer = (struct flow_transformer){ b, context };
	note(b, "init", context, "");
	return FLOW_OK;
}

static flow_status
apply(flow_transformer *transformer, const flow_batch *batch, flow_error *error)
{
	flow_context *context = transformer->context;
	flow_output *output = context->outputs[0];
	flow_builder *scratch = context->ops->scratch(context);
	uint32_t *selection = flow_builder_alloc(scratch, ((uint64_t)batch->selected_count + 1) * sizeof(*selection));
	uint32_t count = 0;
	if (selection == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "out of memory");
	for (FLOW_ROWS(batch, i)) {
		uint32_t row = flow_row(batch, i);
		int64_t number = batch->value[row].as.record[0].as.int64;
		char text[32];
		snprintf(text, sizeof(text), " %lld", (long long)number);
		note(transformer->binding, "saw", context, text);
		if (number == transformer->binding->fails_at)
			return flow_fail(host, error, FLOW_E_RANGE, "there should be no%s", text);
		if (number % 2 != 0)
			selection[count++] = row;
	}
	if (count == 0)
		return FLOW_OK;
	flow_columns columns = { .struct_size = FLOW_SIZEOF(flow_columns), .selection = selection, .selected_count = count };
	return output->forward(output, batch, &columns, error);
}

static void
close_transformer(flow_transformer *transformer)
{
	note(transformer->binding, "close", transformer->context, "");
	host->release(transformer);
}

static flow_status
begin(const flow_host *the_host, flow_error *error)
{
	(void)error;
	host = the_host;
	return FLOW_OK;
}

#define OPTION(identifier, ...)                                                                                        \
	static const flow_option identifier = { .struct_size = FLOW_SIZEOF(flow_option), __VA_ARGS__ }
OPTION(log_option, .type = FLOW_OPTION_PATH, .name = "log", .default_text = "sieve.log", .doc = "File of its lines.");
OPTION(fails_option, .type = FLOW_OPTION_INT, .name = "fails_at", .doc = "The number that it cannot stand.");
OPTION(refused_option, .type = FLOW_OPTION_INT, .name = "refused_task", .doc = "The task that cannot begin.");
OPTION(strange_option, .type = FLOW_OPTION_BOOL, .name = "strangely", .doc = "It answers what is no failure.");
static const flow_option *const list[] = { &log_option, &fails_option, &refused_option, &strange_option, NULL };
static const flow_option_set set = { FLOW_SIZEOF(flow_option_set), 0, "", "Odd records.", list };
static const flow_option_set *const sets[] = { &set, NULL };
static const flow_transformer_ops ops = { .struct_size = FLOW_SIZEOF(flow_transformer_ops),
	                                      .bind = bind,
	                                      .unbind = unbind,
	                                      .init = init,
	                                      .apply = apply,
	                                      .close = close_transformer };
static const flow_component sieve = { .struct_size = FLOW_SIZEOF(flow_component),
	                                  .kind = FLOW_TRANSFORMER,
	                                  .id = "sieve",
	                                  .doc = "Lets odd records through.",
	                                  .option_sets = sets,
	                                  .ops = &ops };
static const flow_component *const components[] = { &sieve, NULL };
FLOW_DEFINE_PLUGIN("sieve", "1.0.0", "Apache-2.0", components, begin, NULL)
