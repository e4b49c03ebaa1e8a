/* Inputs of expanding systems become other inputs, and steps behind them: once, before anything else is planned. Only what an
 * expander describes is in the plan; the logical input leaves no settings behind. */
#include <string.h>

#include "base/error.h"
#include "flow/expander.h"
#include "graph/description.h"
#include "graph/planner.h"

/* What became of one logical input. */
typedef struct expansion {
	graph_stream *logical;
	size_t index;           /* in the graph's streams, before they are replaced */
	description *described; /* NULL: it failed, reported */
	graph_stream **inputs;  /* those that are new in the graph */
	size_t input_count;
	described *result;
	graph_origin origin; /* what stands for it */
} expansion;

static const setting *
system_of(planner *p, const graph_stream *stream)
{
	const setting *system = setting_child(config_effective(p->config, "streams", stream->id), "system");
	return system != NULL && system->kind == SETTING_STRING ? config_effective(p->config, "systems", system->text)
															: NULL;
}

/* The component of an expanding system; NULL: none, or one that is reported with the systems. */
static const flow_component *
expanding_component(planner *p, const setting *system)
{
	const setting *type = setting_child(system, "type");
	const flow_component *component = NULL;
	if (type == NULL || type->kind != SETTING_STRING)
		return NULL;
	flow_error error = { 0 };
	flow_status status = registry_component(p->registry, FLOW_SYSTEM, type->text, &component, &error);
	error_clear(&error);
	return status == FLOW_OK && (component->flags & FLOW_SYSTEM_EXPANDS) != 0 ? component : NULL;
}

/* --- chains
 * ------------------------------------------------------------------------------------------------------------------ */

static const char *
chain_text(planner *p, const graph_stream *stream, const char *system)
{
	const char *chain = system, *places = "";
	for (; stream != NULL && chain != NULL && places != NULL; stream = stream->logical) {
		const setting *place = config_effective(p->config, "systems", stream->system);
		chain = planner_owned_format(p, "%s -> %s", stream->system, chain);
		places =
			planner_owned_format(p, "%s: %s%s%s", stream->system, place == NULL ? "?" : setting_place(p->arena, place),
								 places[0] == '\0' ? "" : ", ", places);
		if (strcmp(stream->system, system) == 0)
			break;
	}
	return planner_owned_format(p, "%s (%s)", chain, places);
}

/* Whether an input that led to this one was of the same system. */
static int
comes_back(planner *p, const graph_stream *stream, const char *system)
{
	const graph_stream *first = stream;
	while (first->logical != NULL)
		first = first->logical;
	for (const graph_stream *before = stream->logical; before != NULL; before = before->logical) {
		if (strcmp(before->system, system) != 0)
			continue;
		problem_at(p->problems, first->place, "system '%s' expands input '%s' into one of its own: %s", system,
				   first->id, chain_text(p, stream->logical, system));
		return 1;
	}
	return 0;
}

/* --- one input
 * -------------------------------------------------------------------------------------------------------------- */

/* What the expander is asked with. Properties that are not for it go along with inherit(), and are judged where they arrive. */
static int
make_request(planner *p, const graph_stream *stream, const flow_component *component, const setting *group,
			 flow_stream_request *request)
{
	static const char *const ignore[] = { "serde", "transformer", NULL };
	size_t members = group->child_count, used = 2;
	const flow_option_set *own =
		component->option_sets == NULL ? NULL : options_set_of_scope(component->option_sets, "input");
	const char **skipped = planner_allocate(p, (members + 3) * sizeof(*skipped));
	if (skipped == NULL)
		return 0;
	memcpy(skipped, ignore, 2 * sizeof(*skipped));
	for (size_t i = 0; i < members; i++) {
		const char *name = group->children[i]->name;
		if (options_find(&input_options, name) == NULL && (own == NULL || options_find(own, name) == NULL))
			skipped[used++] = name;
	}
	const flow_options *options =
		planner_resolve(p, &input_options, component, "input", group, stream->place, stream->id, skipped);
	if (options == NULL)
		return 0;
	flow_slice name = flow_option_text(options, "physical_name");
	*request = (flow_stream_request){ .struct_size = FLOW_SIZEOF(flow_stream_request),
									  .direction = FLOW_DIRECTION_INPUT,
									  .id = flow_slice_of(stream->id),
									  .physical_name = name.data == NULL ? flow_slice_of(stream->id) : name,
									  .options = options,
									  .bounded = (uint32_t)flow_option_bool(options, "bounded", 0),
									  .offline = (p->flags & PLAN_OFFLINE) != 0,
									  .job = flow_slice_of(p->plan->job),
									  .instance = flow_slice_of(p->plan->instance) };
	return 1;
}

static int
call_expander(planner *p, const graph_stream *stream, const flow_component *component, const setting *system,
			  const flow_stream_request *request, expansion *made)
{
	static const char *const ignore[] = { "serde", "stream_defaults", NULL };
	size_t before = p->problems->errors;
	const flow_component *expander = planner_component(p, FLOW_EXPANDER, component->id, system);
	const flow_options *options =
		planner_resolve(p, &system_options, component, "", system, system, stream->system, ignore);
	description *d = made->described;
	if (expander == NULL || options == NULL || p->failed || p->problems->errors != before)
		return 0; /* it would only add what follows from that */
	const flow_expander_ops *ops = expander->ops;
	flow_descriptor *result = NULL;
	flow_error error = { 0 };
	flow_status status = ops->expand(p->host, options, request, d->shown.ops, &d->shown, &result, &error);
	if (status != FLOW_OK)
		problem_at(p->problems, stream->place, "system '%s' cannot expand input '%s': %s", stream->system, stream->id,
				   error_message(&error));
	error_clear(&error);
	made->result = status != FLOW_OK ? NULL : description_find(d, result);
	int useful = made->result != NULL && (result->kind == FLOW_DESCRIBE_INPUT || result->kind == FLOW_DESCRIBE_STEP);
	if (status == FLOW_OK && !useful)
		problem_at(p->problems, stream->place,
				   "plugin error: expander '%s' does not say which input or step stands for input '%s'", expander->id,
				   stream->id);
	return useful;
}

/* The input of that id that is in the graph, or that an expansion of this round brings; NULL: none. */
static const graph_stream *
find_input(const planner *p, const expansion *all, const expansion *made, const char *id)
{
	size_t known = graph_find_stream(p->graph, id, FLOW_DIRECTION_INPUT);
	if (known != GRAPH_NONE && known != made->index)
		return p->graph->streams[known];
	for (const expansion *before = all; before != made; before++)
		for (size_t i = 0; i < before->input_count; i++)
			if (strcmp(before->inputs[i]->id, id) == 0)
				return before->inputs[i];
	return NULL;
}

/* New inputs of the graph. One that is there already is taken, if it says the same. */
static void
add_inputs(planner *p, graph_reader *r, const expansion *all, expansion *made)
{
	description *d = made->described;
	for (described *one = d->first; one != NULL && !p->failed; one = one->next) {
		if (one->shown.kind != FLOW_DESCRIBE_INPUT || !description_counts(d, one))
			continue;
		const graph_stream *known = find_input(p, all, made, one->shown.name);
		if (known != NULL && !settings_equal(known->place, one->group))
			problem_at(p->problems, made->logical->place,
					   "system '%s' expands input '%s' into '%s', but there is an input '%s' with other content (%s)",
					   made->logical->system, made->logical->id, known->id, known->id,
					   setting_place(p->arena, known->place));
		if (known != NULL)
			continue;
		graph_stream *stream = reader_allocate(r, sizeof(*stream));
		if (stream == NULL)
			return;
		*stream = (graph_stream){
			.id = one->shown.name, .direction = FLOW_DIRECTION_INPUT, .place = one->group, .logical = made->logical
		};
		made->inputs[made->input_count++] = stream;
	}
}

static void
forget_logical(planner *p, const graph_stream *stream)
{
	/* An output of the same id keeps what it shares with the input. */
	if (graph_find_stream(p->graph, stream->id, FLOW_DIRECTION_OUTPUT) != GRAPH_NONE)
		return;
	config_remove(p->config, LAYER_DESCRIPTOR, "streams", stream->id);
	config_remove(p->config, LAYER_SYSTEM, "streams", stream->id);
}

static void
expand(planner *p, graph_reader *r, const flow_component *component, const setting *system, const expansion *all,
	   expansion *made)
{
	graph_stream *stream = made->logical;
	setting *group = config_effective(p->config, "streams", stream->id);
	planner_put_system_defaults(p, stream->id, FLOW_DIRECTION_INPUT, component, system, group);
	group = config_effective(p->config, "streams", stream->id);
	const setting *serde = setting_child(group, "serde");
	flow_stream_request request;
	int good = group != NULL && (serde == NULL || !planner_refuse_foreign_serde(p, serde)) &&
			   make_request(p, stream, component, group, &request);
	description *d = good ? reader_allocate(r, sizeof(*d)) : NULL;
	if (d == NULL)
		return;
	description_begin(d, p->config, stream->place->path);
	d->logical = group;
	made->described = d;
	size_t before = p->problems->errors;
	good = call_expander(p, stream, component, system, &request, made);
	description_settle(d);
	p->failed |= d->failed;
	size_t count = 0;
	for (const described *one = d->first; one != NULL; one = one->next)
		count++;
	made->inputs = reader_allocate(r, (count + 1) * sizeof(*made->inputs));
	if (good && made->inputs != NULL && p->problems->errors == before)
		add_inputs(p, r, all, made);
	else
		made->described = NULL;
}

/* --- all inputs
 * ------------------------------------------------------------------------------------------------------------- */

/* Streams of the graph anew: in place of each logical input those that it was expanded into. */
static int
replace_streams(planner *p, graph_reader *r, expansion *all, size_t count, size_t *moved)
{
	graph *g = p->graph;
	size_t room = g->stream_count + 1;
	for (size_t i = 0; i < count; i++)
		room += all[i].input_count;
	graph_stream **streams = reader_allocate(r, room * sizeof(*streams));
	graph_stream **logical = reader_allocate(r, (g->logical_count + count) * sizeof(*logical));
	if (streams == NULL || logical == NULL)
		return 0;
	size_t used = 0, at = 0;
	for (size_t i = 0; i < g->stream_count; i++) {
		moved[i] = used;
		if (at == count || all[at].index != i) {
			streams[used++] = g->streams[i];
			continue;
		}
		moved[i] = GRAPH_NONE;
		for (size_t k = 0; k < all[at].input_count; k++)
			streams[used++] = all[at].inputs[k];
		at++;
	}
	if (g->logical_count != 0)
		memcpy(logical, g->logical, g->logical_count * sizeof(*logical));
	for (size_t i = 0; i < count; i++)
		logical[g->logical_count++] = all[i].logical;
	g->streams = streams;
	g->stream_count = used;
	g->logical = logical;
	return 1;
}

/* Puts an expansion's settings and steps into the graph, once its streams are there. */
static void
put_expansion(planner *p, graph_reader *r, expansion *made)
{
	description *d = made->described;
	made->origin = (graph_origin){ GRAPH_NONE, GRAPH_NONE, 0, made->logical->place };
	forget_logical(p, made->logical);
	if (d == NULL)
		return;
	for (size_t i = 0; i < made->input_count; i++)
		reader_put_thing(r, "streams", made->inputs[i]->place);
	r->code = d;
	d->first_step = p->graph->step_count;
	setting *steps = description_things(d, made->logical->place, FLOW_DESCRIBE_STEP, "flow");
	if (steps != NULL && steps->child_count != 0)
		graph_read_flow(r, steps);
	p->failed |= steps == NULL || r->failed;
	made->origin = description_origin(r, made->result, made->logical->place);
}

static void
replace_origin(graph_origin *origin, const expansion *all, size_t count, const size_t *moved)
{
	if (origin->stream == GRAPH_NONE)
		return;
	size_t before = origin->stream;
	origin->stream = moved[before];
	for (size_t i = 0; i < count && origin->stream == GRAPH_NONE; i++) {
		if (all[i].index != before)
			continue;
		origin->step = all[i].origin.step;
		origin->stream = all[i].origin.stream;
		origin->output = all[i].origin.output;
		return;
	}
}

/* Steps that were there before: what was a logical input is what stands for it. */
static void
replace_origins(planner *p, const expansion *all, size_t count, const size_t *moved, size_t step_count)
{
	for (size_t i = 0; i < step_count; i++) {
		graph_step *step = p->graph->steps[i];
		for (size_t k = 0; k < step->origin_count; k++)
			replace_origin(&step->origins[k], all, count, moved);
		if (step->second != NULL)
			replace_origin(step->second, all, count, moved);
		if (step->to_stream != GRAPH_NONE)
			step->to_stream = moved[step->to_stream];
	}
}

/* One round: all inputs of expanding systems that there are now. Returns how many. */
static size_t
expand_round(planner *p, graph_reader *r)
{
	graph *g = p->graph;
	size_t count = 0, step_count = g->step_count;
	expansion *all = planner_allocate(p, (g->stream_count + 1) * sizeof(*all));
	size_t *moved = planner_allocate(p, (g->stream_count + 1) * sizeof(*moved));
	for (size_t i = 0; i < g->stream_count && !p->failed; i++) {
		graph_stream *stream = g->streams[i];
		const setting *system = stream->direction == FLOW_DIRECTION_INPUT ? system_of(p, stream) : NULL;
		const flow_component *component = system == NULL ? NULL : expanding_component(p, system);
		if (component == NULL)
			continue;
		stream->system = system->name;
		expansion *made = &all[count++];
		*made = (expansion){ .logical = stream, .index = i };
		if (!comes_back(p, stream, system->name))
			expand(p, r, component, system, all, made);
	}
	if (count == 0 || p->failed || !replace_streams(p, r, all, count, moved))
		return 0;
	for (size_t i = 0; i < count && !p->failed; i++)
		put_expansion(p, r, &all[i]);
	replace_origins(p, all, count, moved, step_count);
	return count;
}

void
plan_expand(planner *p)
{
	graph_reader r = { .config = p->config,
					   .arena = config_arena(p->config),
					   .problems = p->problems,
					   .registry = p->registry,
					   .graph = p->graph,
					   .origins = description_origins };
	if (p->graph->stream_count == 0)
		return;
	reader_list_functions(&r);
	while (!p->failed && !r.failed && expand_round(p, &r) != 0)
		;
	p->failed |= r.failed;
}
