/* Systems of the four kinds, with their transformers and expanders; and functions of every shape, with the state that options ask for. */
#include <stdio.h>

#include "fixture.h"

/* --- transformers: each says which one it was ------------------------------------------------------------------------------ */

static flow_status
bind_to(const char *type, const flow_schema **output, void **binding)
{
	*output = fixture_type(type);
	*binding = NULL;
	return *output == NULL ? FLOW_E_MEMORY : FLOW_OK;
}

#define TRANSFORMER(word, type)                                                                                        \
	static flow_status word##_bind(const flow_host *host, const flow_options *options, const flow_schema *input,       \
								   const flow_schema *input_key, const flow_schema **output, void **binding,           \
								   flow_error *error)                                                                  \
	{                                                                                                                  \
		(void)input;                                                                                                   \
		(void)input_key;                                                                                               \
		if (flow_option_bool(options, "refuse", 0)) {                                                                  \
			host->errors->option(error, "refuse");                                                                     \
			return flow_fail(host, error, FLOW_E_TYPE, "these records cannot be changed");                             \
		}                                                                                                              \
		if (flow_option_bool(options, "silent", 0))                                                                    \
			return FLOW_OK;                                                                                            \
		return bind_to(type, output, binding);                                                                         \
	}                                                                                                                  \
	static const flow_transformer_ops word##_ops = { .struct_size = FLOW_SIZEOF(flow_transformer_ops),                 \
													 .bind = word##_bind,                                              \
													 .init = NEVER,                                                    \
													 .apply = NEVER,                                                   \
													 .close = NEVER }
OPTION(refuse_option, .type = FLOW_OPTION_BOOL, .name = "refuse", .doc = "Fixture.");
OPTION(silent_option, .type = FLOW_OPTION_BOOL, .name = "silent", .doc = "Does not say what its results are.");
SET(refuse_set, "", &refuse_option, &silent_option);
static const flow_option_set *const refuse_sets[] = { &refuse_set, NULL };
TRANSFORMER(envelope, "record(of_stream:int64)");
TRANSFORMER(changing, "record(of_system:int64)");
TRANSFORMER(both, "record(of_both:int64)");
COMPONENT(fixture_envelope, FLOW_TRANSFORMER, 0, "envelope", refuse_sets, &envelope_ops);
COMPONENT(fixture_changing_transformer, FLOW_TRANSFORMER, 0, "changing", refuse_sets, &changing_ops);
COMPONENT(fixture_both_transformer, FLOW_TRANSFORMER, 0, "both", refuse_sets, &both_ops);

/* --- expanders: into one input of a system that dictates its records, or into what `into` lists ---------------------------- */

OPTION(into_option, .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_STRING, .flags = FLOW_OPTION_OR_ONE, .name = "into",
	   .doc = "Systems of the inputs that an input is expanded into.");
OPTION(fails_option, .type = FLOW_OPTION_BOOL, .name = "fails", .doc = "Fixture.");
OPTION(nothing_option, .type = FLOW_OPTION_BOOL, .name = "nothing", .doc = "Returns no result.");
OPTION(same_option, .type = FLOW_OPTION_STRING, .name = "id", .doc = "Id of the input that it describes.");
OPTION(counter_option, .type = FLOW_OPTION_STRING, .name = "counter", .doc = "A file that gets one byte for each call.");
OPTION(steals_option, .type = FLOW_OPTION_BOOL, .name = "steals", .doc = "Takes records of what an earlier call described.");
SET(growing_set, "", &into_option, &fails_option, &nothing_option, &same_option, &counter_option, &steals_option);
static const flow_option_set *const growing_sets[] = { &growing_set, NULL };

static void
count_call(const flow_options *options)
{
	flow_slice file = flow_option_text(options, "counter");
	FILE *to = file.size == 0 || strchr(file.data, '/') != NULL ? NULL : fopen(file.data, "a");
	if (to == NULL)
		return;
	fputc('x', to);
	fclose(to);
}

static flow_descriptor *
expand_into(const flow_stream_request *request, const flow_graph_ops *ops, flow_graph *graph, const char *system,
			uint64_t number, const char *fixed)
{
	char id[256];
	snprintf(id, sizeof(id), "%s-%llu", request->id.data, (unsigned long long)number + 1);
	flow_descriptor *input = ops->descriptor(graph, FLOW_DESCRIBE_INPUT, fixed == NULL ? id : fixed, FLOW_HERE);
	if (strcmp(system, "own") != 0)
		ops->inherit(input, FLOW_HERE);
	ops->set_system(input, system, FLOW_HERE);
	return input;
}

static flow_status
expand(const flow_host *host, const flow_options *options, const flow_stream_request *request, const flow_graph_ops *ops,
	   flow_graph *graph, flow_descriptor **result, flow_error *error)
{
	const flow_option_value *into = flow_option_get(options, "into");
	count_call(options);
	if (flow_option_bool(options, "fails", 0))
		return flow_fail(host, error, FLOW_E_CONFIG, "it does not want to");
	if (flow_option_bool(options, "nothing", 0))
		return FLOW_OK;
	static flow_descriptor *earlier; /* for one test only: it dies with the plan */
	const char *fixed = flow_option_text(options, "id").data;
	if (into == NULL) {
		*result = expand_into(request, ops, graph, "own", 0, fixed);
		if (flow_option_bool(options, "steals", 0)) {
			flow_descriptor *own = *result;
			*result = earlier == NULL ? own : ops->step(graph, earlier, "stolen", FLOW_HERE);
			earlier = own;
		}
		return FLOW_OK;
	}
	flow_descriptor *step = NULL;
	for (uint64_t i = 0; i < into->entry_count; i++) {
		flow_descriptor *input =
			expand_into(request, ops, graph, into->entries[i]->value->text.data, i, fixed);
		if (i == 0)
			*result = input;
		else if (step == NULL)
			*result = step = ops->step(graph, *result, request->id.data, FLOW_HERE);
		if (i != 0)
			ops->merge(step, input, FLOW_HERE);
	}
	return FLOW_OK;
}

static const flow_expander_ops expander_ops = { .struct_size = FLOW_SIZEOF(flow_expander_ops), .expand = expand };
COMPONENT(fixture_growing_expander, FLOW_EXPANDER, 0, "growing", NULL, &expander_ops);
COMPONENT(fixture_both_expander, FLOW_EXPANDER, 0, "both", NULL, &expander_ops);
COMPONENT(fixture_growing, FLOW_SYSTEM, FLOW_SYSTEM_EXPANDS, "growing", growing_sets, &fixture_system_ops);
COMPONENT(fixture_both, FLOW_SYSTEM, FLOW_SYSTEM_EXPANDS | FLOW_SYSTEM_TRANSFORMS, "both", growing_sets, &fixture_system_ops);

/* --- functions of every shape ------------------------------------------------------------------------------------------- */

static const char *const state_choices[] = { "none", "split", "union", "identical", NULL };
OPTION(state_option, .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_ENUM, .flags = FLOW_OPTION_OR_ONE, .name = "state",
	   .choices = state_choices, .doc = "Redistribution of its states.");
OPTION(broadcast_option, .type = FLOW_OPTION_BOOL, .name = "one_is_broadcast", .doc = "Its second input is broadcast.");
OPTION(keeps_option, .type = FLOW_OPTION_BOOL, .name = "keeps_key", .doc = "Fixture.");
OPTION(one_key_option, .type = FLOW_OPTION_BOOL, .name = "one_key", .doc = "Gives keys to its first output only.");
OPTION(other_key_option, .type = FLOW_OPTION_TYPE, .name = "key_type", .doc = "Says that keys become this.");
OPTION(kind_option, .type = FLOW_OPTION_INT, .name = "state_kind", .doc = "FLOW_STATE_* of its states, whatever fits them.");
OPTION(timers_option, .type = FLOW_OPTION_BOOL, .name = "timers", .doc = "Fixture.");
OPTION(shape_option, .type = FLOW_OPTION_INT, .name = "shape", .doc = "FLOW_SHAPE_* that it claims to have.");
OPTION(outputs_option, .type = FLOW_OPTION_INT, .name = "outputs", .doc = "Which outputs it describes, as bits.");
OPTION(count_option, .type = FLOW_OPTION_INT, .name = "state_count", .doc = "So many states instead of those of `state`.");
OPTION(reads_option, .type = FLOW_OPTION_STRING, .name = "reads", .doc = "A table that it says to read.");
OPTION(writes_option, .type = FLOW_OPTION_STRING, .name = "writes", .doc = "A table that it says to write.");
OPTION(asks_option, .type = FLOW_OPTION_STRING, .name = "asks", .doc = "A table whose schema it asks for.");
OPTION(share_option, .type = FLOW_OPTION_FLOAT, .name = "share", .doc = "Fixture.");
SET(shape_set, "", &state_option, &broadcast_option, &keeps_option, &one_key_option, &other_key_option, &kind_option,
	&timers_option, &shape_option, &outputs_option, &count_option, &reads_option, &writes_option, &asks_option,
	&share_option);
static const flow_option_set *const shape_sets[] = { &shape_set, NULL };

#define MANY_STATES 300

struct shaped {
	flow_state_declaration declarations[4];
	const flow_state_declaration *states[5];
	const flow_schema *key;
	char table[2][64];
	const char *tables[2][2];
	flow_state_declaration many[MANY_STATES];
	char many_names[MANY_STATES][8];
	const flow_state_declaration *many_states[MANY_STATES + 1];
};

static void
shape_unbind(void *binding)
{
	struct shaped *bound = binding;
	if (bound->key != NULL)
		fixture_release(bound->key);
	fixture_host->release(bound);
}

static void
declare_states(struct shaped *bound, const flow_option_value *states)
{
	for (uint64_t i = 0; states != NULL && i < states->entry_count && i < 4; i++) {
		flow_state_declaration *declared = &bound->declarations[i];
		*declared = (flow_state_declaration){ .struct_size = FLOW_SIZEOF(flow_state_declaration), .layout = "fixture" };
		while (!flow_slice_is(states->entries[i]->value->text, state_choices[declared->redistribution]))
			declared->redistribution++;
		declared->name = state_choices[declared->redistribution];
		declared->kind = declared->redistribution == FLOW_REDISTRIBUTE_NONE		   ? FLOW_STATE_VALUE
						 : declared->redistribution == FLOW_REDISTRIBUTE_IDENTICAL ? FLOW_STATE_BROADCAST
																				   : FLOW_STATE_LIST;
		bound->states[i] = declared;
	}
}

static void
declare_many(struct shaped *bound, int64_t count)
{
	for (int64_t i = 0; i < count && i < MANY_STATES; i++) {
		snprintf(bound->many_names[i], sizeof(bound->many_names[i]), "s%d", (int)i);
		bound->many[i] = (flow_state_declaration){ .struct_size = FLOW_SIZEOF(flow_state_declaration),
												   .kind = FLOW_STATE_VALUE,
												   .name = bound->many_names[i],
												   .layout = "fixture" };
		bound->many_states[i] = &bound->many[i];
	}
}

/* The option's text as a list of one table, or NULL. */
static const char *const *
table_named(struct shaped *bound, const flow_options *options, const char *option, int which)
{
	flow_slice name = flow_option_text(options, option);
	if (name.size == 0)
		return NULL;
	snprintf(bound->table[which], sizeof(bound->table[which]), "%s", name.data);
	bound->tables[which][0] = bound->table[which];
	return bound->tables[which];
}

static flow_status
ask_for(const char *table, flow_error *error)
{
	const flow_schema *schema = NULL, *key = NULL;
	const flow_tables *tables = fixture_host->get_service(FLOW_SERVICE_TABLES);
	return table == NULL ? FLOW_OK : tables->schema(table, &schema, &key, error);
}

static flow_status
shape_bind(const flow_options *options, const flow_function_input *const *inputs, uint32_t shape, flow_function_plan *plan,
		   void **binding, flow_error *error)
{
	flow_status asked = ask_for(flow_option_text(options, "asks").data, error);
	if (asked != FLOW_OK)
		return asked;
	struct shaped *bound = flow_new(fixture_host, sizeof(*bound));
	if (bound == NULL)
		return flow_fail(fixture_host, error, FLOW_E_MEMORY, "out of memory");
	flow_slice key = flow_option_text(options, "key_type");
	declare_states(bound, flow_option_get(options, "state"));
	bound->key = key.size == 0 ? NULL : fixture_type(key.data);
	int64_t outputs = flow_option_int(options, "outputs", shape == FLOW_SHAPE_TWO_OUTPUTS ? 3 : 1);
	plan->shape = (uint32_t)flow_option_int(options, "shape", shape);
	plan->outputs[0] = (outputs & 1) != 0 ? inputs[0]->schema : NULL;
	plan->outputs[1] = (outputs & 2) != 0 ? inputs[0]->schema : NULL;
	plan->keeps_key = (uint32_t)flow_option_bool(options, "keeps_key", 0);
	plan->output_keys[0] = flow_option_bool(options, "one_key", 0) ? inputs[0]->key_schema : bound->key;
	plan->output_keys[1] = shape == FLOW_SHAPE_TWO_OUTPUTS ? bound->key : NULL;
	declare_many(bound, flow_option_int(options, "state_count", 0));
	plan->states = bound->many_states[0] != NULL ? bound->many_states : bound->states;
	plan->reads_tables = table_named(bound, options, "reads", 0);
	plan->writes_tables = table_named(bound, options, "writes", 1);
	plan->uses_timers = (uint32_t)flow_option_bool(options, "timers", 0);
	for (size_t i = 0; i < 4; i++)
		bound->declarations[i].kind = (uint32_t)flow_option_int(options, "state_kind", bound->declarations[i].kind);
	*binding = bound;
	return FLOW_OK;
}

static flow_status
meet_bind(const flow_host *host, const flow_options *options, const flow_function_input *const *inputs, uint32_t count,
		  flow_function_plan *plan, void **binding, flow_error *error)
{
	(void)host;
	(void)count;
	int broadcast = flow_option_bool(options, "one_is_broadcast", 0);
	return shape_bind(options, inputs, broadcast ? FLOW_SHAPE_BROADCAST : FLOW_SHAPE_TWO_INPUTS, plan, binding, error);
}

static flow_status
fork_bind(const flow_host *host, const flow_options *options, const flow_function_input *const *inputs, uint32_t count,
		  flow_function_plan *plan, void **binding, flow_error *error)
{
	(void)host;
	(void)count;
	return shape_bind(options, inputs, FLOW_SHAPE_TWO_OUTPUTS, plan, binding, error);
}

static flow_status
keep_bind(const flow_host *host, const flow_options *options, const flow_function_input *const *inputs, uint32_t count,
		  flow_function_plan *plan, void **binding, flow_error *error)
{
	(void)host;
	(void)count;
	return shape_bind(options, inputs, FLOW_SHAPE_ONE_INPUT, plan, binding, error);
}

#define SHAPED(word)                                                                                                   \
	static const flow_function_ops word##_ops = { .struct_size = FLOW_SIZEOF(flow_function_ops),                       \
												  .bind = word##_bind,                                                 \
												  .unbind = shape_unbind,                                              \
												  .open = NEVER,                                                       \
												  .process = NEVER,                                                    \
												  .close = NEVER };                                                    \
	COMPONENT(fixture_##word, FLOW_FUNCTION, 0, #word, shape_sets, &word##_ops)
SHAPED(meet);
SHAPED(fork);
SHAPED(keep);
