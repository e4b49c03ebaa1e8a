/* Sinks: what is written must fit the output's serde; and the dead letters, which are one. */
#include <string.h>

#include "base/error.h"
#include "base/schema.h"
#include "expr/expression.h"
#include "graph/planner.h"

/* What takes "any" takes records of every type. */
static int
check_dictated(planner *p, const plan_stream *stream, const flow_schema *schema, const plan_written *written)
{
	const flow_schema *wanted = stream->description.schema;
	if (wanted == NULL || wanted->kind == FLOW_KIND_ANY || schema_equal(wanted, schema))
		return 1;
	problem_at(p->problems, written->place, "output '%s' takes %s, but the records are %s%s", stream->id,
			   planner_schema_text(p, wanted), planner_schema_text(p, schema), written->came_from);
	return 0;
}

/* Where the first step that writes the output says so. */
static const setting *
first_writer(const planner *p, const plan_stream *stream)
{
	uint32_t sink = p->sink_nodes[stream - p->plan->streams];
	for (uint32_t i = 0; i < p->link_count; i++)
		if (p->links[i].to == sink)
			return p->links[i].place;
	return stream->place;
}

static int
check_same(planner *p, const plan_stream *stream, const flow_schema *schema, const plan_written *written)
{
	if (stream->schema == NULL || schema_equal(stream->schema, schema))
		return 1;
	problem_at(p->problems, written->place,
			   "output '%s' gets %s here, but %s from another step (%s); one output takes one type", stream->id,
			   planner_schema_text(p, schema), planner_schema_text(p, stream->schema),
			   setting_place(p->arena, first_writer(p, stream)));
	return 0;
}

static uint32_t
sink_node(planner *p, uint32_t index, uint32_t kind)
{
	plan_stream *stream = &p->plan->streams[index];
	if (p->sink_nodes[index] != PLAN_NONE)
		return p->sink_nodes[index];
	uint32_t number = planner_add_node(p, kind, GRAPH_NONE, 3, stream->place);
	if (number == PLAN_NONE)
		return PLAN_NONE;
	plan_node *node = p->nodes[number];
	p->sink_nodes[index] = number;
	node->base_name = stream->id;
	node->operator.stream = index;
	node->operator.title = planner_owned_format(p, "write %s", stream->id);
	node->operator.record_errors = stream->record_errors;
	return number;
}

/* The expression that chooses partitions, where there is one. */
static int
settle_partition(planner *p, plan_stream *stream, const flow_schema *schema, const char *came_from)
{
	const setting *place = stream->partition_setting;
	if (place == NULL || stream->partition != NULL)
		return 1;
	if (!stream->description.takes_targets) {
		const plan_system *system = &p->plan->systems[stream->system];
		problem_at(p->problems, place, "outputs of the system '%s' (%s) have no partitions that a job can choose",
				   system->name, system->component->id);
		return 0;
	}
	flow_expression *partition = plan_compile(p, place->text, schema, place, came_from);
	if (partition == NULL)
		return 0;
	const flow_schema *type = expressions_service.type(partition);
	if (type->kind != FLOW_KIND_INT64 && type->kind != FLOW_KIND_UINT64) {
		problem_at(p->problems, place, "a partition is a whole number, and this is %s%s", planner_schema_text(p, type),
				   came_from);
		return 0;
	}
	stream->partition = partition;
	return 1;
}

/* Problems are those of the step that writes. */
static int
settle_output(planner *p, plan_stream *stream, const flow_schema *schema, const flow_schema *key_schema,
			  const setting *place, const char *came_from)
{
	const plan_written written = { "output", stream->id, place, came_from };
	int good = check_dictated(p, stream, schema, &written) && check_same(p, stream, schema, &written) &&
			   planner_check_written(p, &written, &stream->value, schema, "records");
	if (key_schema != NULL)
		good &= planner_check_written(p, &written, &stream->key, key_schema, "keys");
	if (!good || !settle_partition(p, stream, schema, came_from))
		return 0;
	stream->schema = schema;
	stream->value.schema = schema;
	stream->key_schema = stream->key.component == NULL && stream->description.key_schema == NULL ? NULL : key_schema;
	stream->key.schema = stream->key_schema;
	return 1;
}

/* What a function makes has its type from the step itself. */
static const char *
written_from(planner *p, const plan_step *step)
{
	const graph_origin itself = { .step = step->step->index, .stream = GRAPH_NONE };
	if (step->step->function == NULL)
		return planner_came_from(p, step, 1);
	const char *text = planner_owned_format(p, "; the records come from %s", planner_origin_name(p, &itself));
	return text == NULL ? "" : text;
}

int
plan_bind_sink(planner *p, plan_step *step, const plan_cursor *at)
{
	const graph_step *written = step->step;
	if (written->to_stream == GRAPH_NONE)
		return 0;
	uint32_t index = (uint32_t)written->to_stream;
	plan_stream *stream = &p->plan->streams[index];
	if (at->schema == NULL) {
		problem_at(p->problems, written->to_place, "'%s' gives no records to write", written->function);
		return 0;
	}
	if (at->kind == FLOW_STREAM_BROADCAST) {
		problem_at(
			p->problems, written->to_place,
			"%s is broadcast, and a broadcast stream cannot be written: each record would be written by every task; "
			"write what is in front of it",
			planner_origin_name(p, &written->origins[0]));
		return 0;
	}
	if (p->dead_letters != NULL && index == p->dead_letter_stream) {
		problem_at(p->problems, written->to_place,
				   "output '%s' takes the dead letters; give the records an output of their own", stream->id);
		return 0;
	}
	if (!p->stream_usable[index] ||
		!settle_output(p, stream, at->schema, at->key_schema, written->to_place, written_from(p, step)))
		return 0;
	uint32_t number = sink_node(p, index, OPERATOR_SINK);
	if (number == PLAN_NONE)
		return 0;
	plan_operator *o = &p->nodes[number]->operator;
	o->schema[0] = at->schema;
	o->key_schema[0] = stream->key_schema;
	o->stream_kind[0] = at->kind;
	planner_add_link(p, at, number, 0, written->to_place);
	return !p->failed;
}

static const flow_schema *
dead_letter_schema(planner *p)
{
	static const char text[] =
		"record(time:timestamp,job:string,operator:string,stream:string?,place:string?,partition:int64?,"
		"ordinal:int64?,line:int64?,field:string?,status:string,reason:string,raw:string?,"
		"raw_base64:bool,key:string?)";
	const flow_schema *schema = schema_parse_type(flow_slice_of(text), NULL);
	p->failed |= schema == NULL;
	return planner_own_schema(p, schema);
}

static int
wants_dead_letters(const planner *p)
{
	for (size_t i = 0; i < p->graph->step_count; i++)
		if (p->steps[i].record_errors == RECORD_ERRORS_DEAD_LETTER || p->steps[i].late == RECORD_ERRORS_DEAD_LETTER)
			return 1;
	for (uint32_t i = 0; i < p->plan->stream_count; i++)
		if (p->plan->streams[i].record_errors == RECORD_ERRORS_DEAD_LETTER)
			return 1;
	return p->record_errors == RECORD_ERRORS_DEAD_LETTER;
}

void
plan_bind_dead_letters(planner *p)
{
	if (p->dead_letters == NULL) {
		if (wants_dead_letters(p))
			problem_in(p->problems, p->graph->place, "dead_letters",
					   "is missing: some records go to the dead letters, so name the output that takes them");
		return;
	}
	plan_stream *stream = &p->plan->streams[p->dead_letter_stream];
	if (stream->record_errors == RECORD_ERRORS_DEAD_LETTER)
		stream->record_errors = RECORD_ERRORS_FAIL; /* a dead letter that cannot be written has no other place to go */
	const flow_schema *schema = dead_letter_schema(p);
	if (schema == NULL || !p->stream_usable[p->dead_letter_stream] ||
		!settle_output(p, stream, schema, NULL, stream->place, ""))
		return;
	uint32_t number = sink_node(p, p->dead_letter_stream, OPERATOR_DEAD_LETTERS);
	if (number == PLAN_NONE)
		return;
	plan_operator *o = &p->nodes[number]->operator;
	o->title = planner_owned_format(p, "write dead letters to %s", stream->id);
	o->record_errors = stream->record_errors;
	o->schema[0] = schema;
	o->stream_kind[0] = FLOW_STREAM_GLOBAL;
}
