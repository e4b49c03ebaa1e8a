/* Streams: their system, properties, serdes and the types of their records. */
#include <string.h>

#include "base/error.h"
#include "base/schema.h"
#include "graph/planner.h"

static int
has_option(const flow_option_set *host_set, const flow_component *component, const char *scope, const char *name)
{
	const flow_option_set *own = NULL;
	if (component != NULL && component->option_sets != NULL)
		own = options_set_of_scope(component->option_sets, scope);
	return options_find(host_set, name) != NULL || (own != NULL && options_find(own, name) != NULL);
}

/* Of a system's defaults a stream takes those of its direction. What neither direction has goes along and is reported
 * with it. */
static int
is_for_other_direction(uint32_t direction, const flow_component *component, const char *name)
{
	int inputs = has_option(&input_options, component, "input", name);
	int outputs = has_option(&output_options, component, "output", name);
	return direction == FLOW_DIRECTION_INPUT ? outputs && !inputs : inputs && !outputs;
}

static void
put_system_default(planner *p, const char *id, const setting *s)
{
	setting *copy = setting_copy(config_arena(p->config), s, LAYER_SYSTEM, NULL);
	const char *key[3] = { "streams", id, s->name };
	p->failed |= copy == NULL;
	if (copy != NULL)
		config_put(p->config, key, 3, copy);
}

void
planner_put_system_serde(planner *p, const char *id, const setting *system, const setting *group)
{
	const setting *serde = setting_child(group, "serde") != NULL ? NULL : setting_child(system, "serde");
	if (serde != NULL && serde->layer != LAYER_DEFAULT)
		put_system_default(p, id, serde);
}

/* Layer 2: what the system says for its streams. The stream's own setting, in whatever layer, beats it. */
void
planner_put_system_defaults(planner *p, const char *id, uint32_t direction, const flow_component *component,
							const setting *system, const setting *group)
{
	const setting *defaults = setting_child(system, "stream_defaults");
	size_t count = defaults == NULL || defaults->kind != SETTING_GROUP ? 0 : defaults->child_count;
	for (size_t i = 0; i < count; i++) {
		const setting *s = defaults->children[i];
		if (s->layer != LAYER_DEFAULT && !is_for_other_direction(direction, component, s->name))
			put_system_default(p, id, s);
	}
	planner_put_system_serde(p, id, system, group);
}

static uint32_t
find_system(const plan *pl, const char *name)
{
	for (uint32_t i = 0; i < pl->system_count; i++)
		if (strcmp(pl->systems[i].name, name) == 0)
			return i;
	return PLAN_NONE;
}

/* Words that only the stream's other direction has: one id in both directions has one set of settings. */
static const char *const *
ignored_keys(planner *p, const plan_stream *stream, const flow_component *component, const setting *group)
{
	uint32_t other = stream->direction == FLOW_DIRECTION_INPUT ? FLOW_DIRECTION_OUTPUT : FLOW_DIRECTION_INPUT;
	size_t members = group == NULL ? 0 : group->child_count, count = 0;
	const char **list = planner_allocate(p, (members + 3) * sizeof(*list));
	if (list == NULL)
		return NULL;
	list[count++] = "serde";
	list[count++] = "transformer";
	if (graph_find_stream(p->graph, stream->id, other) == GRAPH_NONE)
		return list;
	for (size_t i = 0; i < members; i++)
		if (is_for_other_direction(stream->direction, component, group->children[i]->name))
			list[count++] = group->children[i]->name;
	return list;
}

static void
refuse(planner *p, const plan_stream *stream, const setting *group, const char *option, const char *why)
{
	const setting *s = setting_child(group, option);
	if (s != NULL)
		problem_at(p->problems, s, "%s", why);
	else
		problem_in(p->problems, stream->place, option, "%s", why);
}

static void
read_input_properties(planner *p, plan_stream *stream, const setting *group, const flow_component *component)
{
	const flow_options *options = stream->request.options;
	stream->bounded = (uint32_t)flow_option_bool(options, "bounded", 0);
	stream->bootstrap = (uint32_t)flow_option_bool(options, "bootstrap", 0);
	stream->priority = (int32_t)flow_option_int(options, "priority", -1);
	stream->start =
		flow_slice_is(flow_option_text(options, "offset_default"), "newest") ? FLOW_START_NEWEST : FLOW_START_OLDEST;
	stream->reset = (uint32_t)flow_option_bool(options, "reset_offset", 0);
	stream->broadcast = (uint32_t)flow_option_bool(options, "broadcast", 0);
	stream->delete_committed = (uint32_t)flow_option_bool(options, "delete_committed_messages", 0);
	if (component == NULL)
		return;
	const flow_system_ops *ops = component->ops;
	if (stream->delete_committed && !FLOW_CAN(ops, delete_committed))
		refuse(p, stream, group, "delete_committed_messages", "records of this system cannot be deleted by the job");
}

static void
read_properties(planner *p, plan_stream *stream, const setting *group, const flow_component *component)
{
	int input = stream->direction == FLOW_DIRECTION_INPUT;
	const flow_option_set *set = input ? &input_options : &output_options;
	const char *const *ignore = ignored_keys(p, stream, component, group);
	if (component == NULL)
		ignore = planner_unjudged(p, set, group, ignore);
	const flow_options *options =
		planner_resolve(p, set, component, input ? "input" : "output", group, stream->place, stream->id, ignore);
	if (options == NULL)
		return;
	planner_put_defaults(p, "streams", stream->id, set, component, input ? "input" : "output", group);
	planner_put_derived(p, "streams", stream->id, "record_errors", record_errors_name(p->record_errors),
						"that of the job");
	stream->record_errors = planner_record_errors(options, "record_errors", p->record_errors);
	flow_slice name = flow_option_text(options, "physical_name");
	stream->request = (flow_stream_request){
		.struct_size = FLOW_SIZEOF(flow_stream_request),
		.direction = stream->direction,
		.id = flow_slice_of(stream->id),
		.physical_name = name.data == NULL ? flow_slice_of(stream->id) : name,
		.options = options,
		.offline = (p->flags & PLAN_OFFLINE) != 0,
		.job = flow_slice_of(p->plan->job),
		.instance = flow_slice_of(p->plan->instance),
		.checkpoint_interval =
			p->plan->job_options == NULL ? 0 : flow_option_int(p->plan->job_options, "checkpoint_interval", 0),
	};
	stream->partition_setting = input || group == NULL ? NULL : setting_child(group, "partition");
	if (input)
		read_input_properties(p, stream, group, component);
	else if (flow_slice_is(flow_option_text(options, "delivery"), "at_least_once"))
		stream->request.delivery = stream->delivery = FLOW_DELIVERY_AT_LEAST_ONCE;
	stream->request.bounded = stream->bounded;
}

/* --- serdes
 * --------------------------------------------------------------------------------------------------------------- */

static int
open_serdes(planner *p, plan_stream *stream, const setting *group)
{
	const setting *s = setting_child(group, "serde");
	const plan_system *system = stream->system == PLAN_NONE ? NULL : &p->plan->systems[stream->system];
	const plan_serde_owner owner = {
		.id = stream->id,
		.system = system == NULL ? NULL : system->name,
		.component = system == NULL ? NULL : system->component,
		.use = stream->direction == FLOW_DIRECTION_INPUT ? FLOW_SERDE_DECODES : FLOW_SERDE_ENCODES,
		.value = &stream->value,
		.key = &stream->key,
	};
	if (s != NULL)
		return !planner_refuse_foreign_serde(p, s) && planner_open_serdes(p, &owner, s);
	if (system == NULL || (system->component->flags & FLOW_SYSTEM_OWN_SERDE) != 0 || stream->description.schema != NULL)
		return 1;
	problem_in(p->problems, stream->place, "serde", "is missing: how its records are %s, like serde = \"json\"",
			   stream->direction == FLOW_DIRECTION_INPUT ? "read" : "written");
	return 0;
}

/* --- types
 * ---------------------------------------------------------------------------------------------------------------- */

/* What a failed describe says, at the option that it names. */
static const setting *
described_place(planner *p, const plan_stream *stream, const flow_error *error)
{
	const setting *group = error->option == NULL ? NULL : config_effective(p->config, "streams", stream->id);
	const setting *at = group == NULL ? NULL : setting_child(group, error->option);
	return at == NULL ? stream->place : at;
}

/* *absent: what the stream needs is not there, and may still come; NULL: all is there. */
static int
describe(planner *p, plan_stream *stream, const char **absent, const setting **absent_at)
{
	const plan_system *system = &p->plan->systems[stream->system];
	const flow_system_ops *ops = system->component->ops;
	flow_error error = { 0 };
	stream->description.struct_size = FLOW_SIZEOF(flow_stream_description);
	stream->description.partition_count = FLOW_PARTITIONS_UNKNOWN;
	flow_status described = ops->describe(system->instance, &stream->request, &stream->description, &error);
	if (described == FLOW_OK && stream->description.partition_count < FLOW_PARTITIONS_UNKNOWN)
		described = error_set(&error, FLOW_E_PLUGIN, "its system says that it has %d partitions",
							  (int)stream->description.partition_count);
	if (error_settle(&error, described, "describe") != FLOW_OK) {
		const char *word = stream->direction == FLOW_DIRECTION_INPUT ? "input" : "output";
		const setting *at = described_place(p, stream, &error);
		int wanted = stream->direction == FLOW_DIRECTION_INPUT || (p->flags & PLAN_CONNECTED) != 0;
		int may_come = described == FLOW_E_NOT_FOUND && (!wanted || stream->request.offline);
		if (may_come) {
			*absent = planner_owned_format(p, "%s '%s': %s", word, stream->id, error_message(&error));
			*absent_at = at;
		} else {
			problem_at(p->problems, at, "%s '%s': %s", word, stream->id, error_message(&error));
		}
		error_clear(&error);
		if (!may_come)
			return 0;
	}
	planner_own_schema(p, stream->description.schema);
	planner_own_schema(p, stream->description.key_schema);
	stream->byte_stream = (system->component->flags & FLOW_SYSTEM_BYTE_STREAMS) != 0;
	if (stream->byte_stream && stream->description.self_assigned) {
		problem_at(p->problems, stream->place,
				   "plugin error: system '%s' shares pieces of a byte stream by a group; it can share records only",
				   system->component->id);
		return 0;
	}
	if (stream->direction == FLOW_DIRECTION_INPUT) {
		stream->self_assigned = stream->description.self_assigned != 0;
		stream->bounded |= stream->description.bounded || (system->component->flags & FLOW_SYSTEM_ALWAYS_BOUNDED) != 0;
		return 1;
	}
	uint32_t delivery = stream->description.delivery;
	if (delivery > FLOW_DELIVERY_ONE_PHASE) {
		problem_at(p->problems, stream->place, "plugin error: system '%s' promises delivery %u, which there is not",
				   system->component->id, delivery);
		return 0;
	}
	if (stream->delivery == 0)
		stream->delivery = delivery == 0 ? FLOW_DELIVERY_AT_LEAST_ONCE : delivery;
	return 1;
}

/* *unseen: the schema is in data that could not be looked at. */
static flow_status
decoded_schema(planner *p, const plan_stream *stream, plan_serde *serde, int *unseen, flow_error *error)
{
	const flow_schema *schema = NULL;
	flow_slice sample = flow_slice_make("", 0);
	const char *id = serde->component->id;
	flow_status status = serde->ops->decoded_schema(serde->instance, sample, &schema, error);
	if (status == FLOW_AGAIN) {
		*unseen = 1;
		if (!stream->byte_stream || !stream->description.sample)
			return error_set(error, FLOW_E_CONFIG,
							 "serde '%s' would find the fields in the data, which cannot be looked at while "
							 "planning; %s",
							 id, p->graph->untyped_remedy == NULL ? "declare them" : p->graph->untyped_remedy);
		status = plan_sample(p, stream, &sample, error);
		if (status == FLOW_OK)
			status = serde->ops->decoded_schema(serde->instance, sample, &schema, error);
		if (status == FLOW_AGAIN)
			return error_set(error, FLOW_E_CONFIG,
							 "serde '%s' finds no fields in the data (%llu bytes were looked at); declare them", id,
							 (unsigned long long)sample.size);
		serde->sampled = 1;
	}
	if (status == FLOW_OK)
		serde->schema = planner_own_schema(p, schema);
	return status;
}

/* Offline, data that is not there is no error of the configuration. */
static void
report_no_schema(planner *p, const plan_stream *stream, const setting *place, int unseen, flow_status status,
				 const flow_error *error)
{
	if (!unseen || !stream->request.offline) {
		problem_at(p->problems, place, "input '%s': %s", stream->id, error_message(error));
		p->problems->bad_data += status == FLOW_E_DECODE || status == FLOW_E_CORRUPT;
		return;
	}
	p->unseen = 1;
	const char *text = planner_owned_format(p, "input '%s': %s (what depends on its fields was not checked)",
											stream->id, error_message(error));
	if (text != NULL)
		problem_warning(p->problems, place, text);
}

static int
settle_input_types(planner *p, plan_stream *stream, const setting *group)
{
	stream->schema = stream->description.schema;
	stream->key_schema = stream->description.key_schema;
	if (stream->bootstrap && !stream->bounded)
		refuse(p, stream, group, "bootstrap",
			   "a bootstrap input is read to its end before others, so it has to end: bounded = true");
	plan_serde *serdes[2] = { &stream->value, &stream->key };
	for (size_t i = 0; i < 2; i++) {
		if (serdes[i]->component == NULL)
			continue;
		if (!FLOW_CAN(serdes[i]->ops, decoder_open)) {
			problem_at(p->problems, stream->place, "input '%s': the serde '%s' writes only; read with another one",
					   stream->id, serdes[i]->component->id);
			return 0;
		}
		flow_error error = { 0 };
		int unseen = 0;
		flow_status status = decoded_schema(p, stream, serdes[i], &unseen, &error);
		if (status != FLOW_OK) {
			const setting *serde = setting_child(group, "serde");
			report_no_schema(p, stream, serde == NULL ? stream->place : serde, unseen, status, &error);
			error_clear(&error);
			return 0;
		}
		*(i == 0 ? &stream->schema : &stream->key_schema) = serdes[i]->schema;
	}
	if (stream->schema == NULL)
		problem_at(p->problems, stream->place, "input '%s': its system does not say what its records are", stream->id);
	return stream->schema != NULL;
}

static int
check_direction(planner *p, const plan_stream *stream)
{
	const plan_system *system = &p->plan->systems[stream->system];
	int input = stream->direction == FLOW_DIRECTION_INPUT;
	if ((system->component->flags & (input ? FLOW_SYSTEM_HAS_INPUTS : FLOW_SYSTEM_HAS_OUTPUTS)) != 0)
		return 1;
	problem_at(p->problems, stream->place, "system '%s' (%s) has no %s", system->name, system->component->id,
			   input ? "inputs" : "outputs");
	return 0;
}

static void
plan_one_stream(planner *p, uint32_t index)
{
	plan_stream *stream = &p->plan->streams[index];
	size_t before = p->problems->errors;
	const setting *group = config_effective(p->config, "streams", stream->id);
	const setting *system = setting_child(group, "system");
	if (system != NULL && system->kind == SETTING_STRING)
		stream->system = find_system(p->plan, system->text);
	const flow_component *component = stream->system == PLAN_NONE ? NULL : p->plan->systems[stream->system].component;
	if (component != NULL) {
		planner_put_system_defaults(p, stream->id, stream->direction, component, p->plan->systems[stream->system].place,
									group);
		group = config_effective(p->config, "streams", stream->id);
	}
	read_properties(p, stream, group, component);
	const char *absent = NULL;
	const setting *absent_at = NULL;
	int unseen = p->unseen;
	p->unseen = 0;
	int good = stream->system != PLAN_NONE && check_direction(p, stream) && p->problems->errors == before &&
			   !p->failed && p->plan->systems[stream->system].instance != NULL &&
			   describe(p, stream, &absent, &absent_at);
	good &= open_serdes(p, stream, group);
	if (good && stream->direction == FLOW_DIRECTION_INPUT)
		good = settle_input_types(p, stream, group) && plan_transform(p, stream, group);
	if (absent != NULL && !p->unseen) /* else it was told why the fields are not known */
		problem_warning(p->problems, absent_at, absent);
	p->unseen |= unseen;
	p->stream_usable[index] = good && p->problems->errors == before;
}

void
plan_streams(planner *p)
{
	const graph *g = p->graph;
	size_t count = g->stream_count;
	p->plan->streams = planner_allocate(p, (count + 1) * sizeof(plan_stream));
	p->stream_usable = planner_allocate(p, count + 1);
	p->source_nodes = planner_allocate(p, (count + 1) * sizeof(uint32_t));
	p->sink_nodes = planner_allocate(p, (count + 1) * sizeof(uint32_t));
	p->input_nodes = planner_allocate(p, (count + 1) * sizeof(uint32_t));
	if (p->failed)
		return;
	p->plan->stream_count = (uint32_t)count;
	for (uint32_t i = 0; i < count && !p->failed; i++) {
		plan_stream *stream = &p->plan->streams[i];
		stream->id = g->streams[i]->id;
		stream->direction = g->streams[i]->direction;
		stream->place = g->streams[i]->place;
		stream->system = PLAN_NONE;
		stream->priority = -1;
		p->source_nodes[i] = p->sink_nodes[i] = p->input_nodes[i] = PLAN_NONE;
		if (stream->place->kind == SETTING_GROUP)
			plan_one_stream(p, i);
	}
}
