/* A plan for people: as text, and as a picture for Graphviz and Mermaid. */
#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "base/units.h"
#include "graph/plan_configuration.h"
#include "graph/planner.h"

/* Long record types are cut behind so many characters. */
#define TYPE_WIDTH 88

static void
print_type(const flow_schema *schema, FILE *to)
{
	if (schema == NULL) {
		fputs("nothing", to);
		return;
	}
	uint64_t length = schema_print(schema, 1, NULL, 0);
	char *text = malloc(length + 1);
	if (text == NULL)
		return;
	schema_print(schema, 1, text, length + 1);
	if (length > TYPE_WIDTH)
		fprintf(to, "%.*s...", TYPE_WIDTH, text);
	else
		fputs(text, to);
	free(text);
}

/* All fields of a record that was found in the data, which nobody has written down elsewhere. */
static void
print_found(const flow_schema *schema, FILE *to)
{
	uint64_t column = 0;
	fputs("found in the data:", to);
	for (uint32_t i = 0; i < schema->field_count; i++) {
		const flow_field *field = schema->fields[i];
		char type[64];
		uint64_t size = field->name.size + 3 + schema_print(field->schema, 1, type, sizeof(type));
		int begins = i == 0 || column + size > TYPE_WIDTH;
		column = begins ? size : column + size;
		fprintf(to, "%s%.*s %s%s", begins ? "\n        " : " ", (int)field->name.size, field->name.data, type,
				i + 1 < schema->field_count ? "," : "");
	}
}

static void
print_head(const plan *p, FILE *to)
{
	fprintf(to, "job %s%s%s, plan %s\n", p->job, p->instance[0] == '\0' ? "" : ", instance ", p->instance, p->id);
	fprintf(to, "%s; %s; parallelism %u of at most %u, %u worker%s\n",
			p->bounded ? "ends when its inputs end" : "runs until it is stopped",
			p->has_state ? "keeps state" : "keeps no state", p->parallelism, p->max_parallelism, p->workers,
			p->workers == 1 ? "" : "s");
}

static void
print_serdes(const plan_serde *key, const plan_serde *value, FILE *to)
{
	if (key->component != NULL)
		fprintf(to, ", key %s", key->component->id);
	if (value->component != NULL)
		fprintf(to, ", %s", value->component->id);
}

static void
print_input(const plan_stream *stream, FILE *to)
{
	fputs(stream->bounded ? ", bounded" : ", unbounded", to);
	if (stream->self_assigned)
		fputs(stream->committed_by_output ? ", shared by group, positions in the output's transaction"
										  : ", shared by group",
			  to);
	if (stream->broadcast)
		fputs(", read by every task", to);
	if (stream->bootstrap)
		fputs(", read first", to);
	if (stream->priority >= 0)
		fprintf(to, ", priority %d", stream->priority);
	if (stream->volatile_reader)
		fputs(", read anew at each start", to);
	if (stream->fields != NULL)
		fprintf(to, ", %llu of %u fields read", (unsigned long long)stream->field_count, stream->schema->field_count);
}

static void
print_streams(const plan *p, FILE *to)
{
	fputs("\nstreams\n", to);
	for (uint32_t i = 0; i < p->stream_count; i++) {
		const plan_stream *stream = &p->streams[i];
		const plan_system *system = &p->systems[stream->system];
		int input = stream->direction == FLOW_DIRECTION_INPUT;
		fprintf(to, "  %s %s: %s (%s)", input ? "in " : "out", stream->id, system->name, system->component->id);
		print_serdes(&stream->key, &stream->value, to);
		if (stream->partition != NULL)
			fprintf(to, ", partition %s", stream->partition_setting->text);
		if (input)
			print_input(stream, to);
		else
			fprintf(to, ", %s", delivery_name(stream->delivery));
		if (stream->description.partition_count != FLOW_PARTITIONS_UNKNOWN)
			fprintf(to, ", %d partition%s", stream->description.partition_count,
					stream->description.partition_count == 1 ? "" : "s");
		if (stream->record_errors != RECORD_ERRORS_FAIL)
			fprintf(to, ", errors: %s", record_errors_name(stream->record_errors));
		fputs("\n      ", to);
		if (input && stream->value.sampled && stream->schema == stream->value.schema &&
			stream->schema->kind == FLOW_KIND_RECORD)
			print_found(stream->schema, to);
		else
			print_type(stream->schema, to);
		fputc('\n', to);
	}
}

static void
print_intermediates(const plan *p, FILE *to)
{
	for (uint32_t i = 0; i < p->intermediate_count; i++) {
		const plan_intermediate *stream = &p->intermediates[i];
		fprintf(to, "  via %s: %s%s%s, %d partition%s", stream->id, stream->system == NULL ? "" : stream->system,
				stream->system == NULL ? "" : ", by ", partitioning_name(stream->partitioning), stream->partitions,
				stream->partitions == 1 ? "" : "s");
		print_serdes(&stream->key, &stream->value, to);
		fputc('\n', to);
	}
}

static void
print_tables(const plan *p, FILE *to)
{
	if (p->table_count != 0)
		fputs("\ntables\n", to);
	for (uint32_t i = 0; i < p->table_count; i++) {
		const plan_table *table = &p->tables[i];
		fprintf(to, "  %s (%s%s): ", table->name, table->component->id, table->durable ? ", durable" : "");
		print_type(table->schema, to);
		if (table->key_schema != NULL) {
			fputs(" by ", to);
			print_type(table->key_schema, to);
		}
		fputc('\n', to);
	}
}

static void
print_state(const plan_operator *o, FILE *to)
{
	if (o->state_id == PLAN_NONE)
		return;
	fputs("      state:", to);
	for (size_t i = 0; o->function.states != NULL && o->function.states[i] != NULL; i++)
		fprintf(to, "%s %s", i == 0 ? "" : ",", o->function.states[i]->name);
	fprintf(to, "%s\n", o->function.uses_timers ? " and timers" : "");
}

static void
print_way_in(const plan *p, const plan_operator *o, FILE *to)
{
	for (uint32_t i = 0; i < p->edge_count; i++) {
		const plan_edge *edge = &p->edges[i];
		if (edge->to != o->index)
			continue;
		const char *before = p->operators[edge->from].name;
		if (edge->exchange)
			fprintf(to, "      from %s by %s, %s\n", before, partitioning_name(edge->partitioning), edge->delivery);
		else if (o->kind == OPERATOR_SINK || edge->from + 1 != o->index)
			fprintf(to, "      from %s, %s\n", before, edge->delivery);
	}
}

/* Dead letters come from many places, past the edges. */
static void
print_letters_in(const plan *p, FILE *to)
{
	for (uint32_t i = 0; i < p->operator_count; i++) {
		const char *which = dead_letters_of(p, &p->operators[i]);
		if (which != NULL)
			fprintf(to, "      from %s (%s), %s\n", p->operators[i].name, which, p->dead_letter_delivery);
	}
}

static void
print_operator(const plan *p, const plan_operator *o, FILE *to)
{
	char duration[64];
	fprintf(to, "    %s: %s", o->name, o->title);
	if (o->kind == OPERATOR_EVENT_TIME)
		fprintf(to, ", out of order by %s", units_print_duration(o->out_of_order, duration));
	if (o->late != 0)
		fprintf(to, ", late records: %s", record_errors_name(o->late));
	if (o->record_errors != RECORD_ERRORS_FAIL)
		fprintf(to, ", errors: %s", record_errors_name(o->record_errors));
	fputc('\n', to);
	print_way_in(p, o, to);
	if (o->kind == OPERATOR_DEAD_LETTERS)
		print_letters_in(p, to);
	print_state(o, to);
	if (o->kind == OPERATOR_SOURCE || o->kind == OPERATOR_EVENT_TIME || o->kind == OPERATOR_SINK ||
		o->kind == OPERATOR_DEAD_LETTERS)
		return;
	fprintf(to, "      %s: ", stream_kind_name(o->stream_kind[0]));
	print_type(o->schema[0], to);
	if (o->key_schema[0] != NULL) {
		fputs(" by ", to);
		print_type(o->key_schema[0], to);
	}
	fputc('\n', to);
}

static void
print_stages(const plan *p, FILE *to)
{
	fputs("\nstages\n", to);
	for (uint32_t i = 0; i < p->stage_count; i++) {
		const plan_stage *stage = &p->stages[i];
		fprintf(to, "  stage %u, %u task%s%s\n", i, stage->task_count, stage->task_count == 1 ? "" : "s",
				stage->keyed ? " by key" : "");
		for (uint32_t k = 0; k < stage->operator_count; k++)
			print_operator(p, &p->operators[stage->operators[k]], to);
	}
}

static void
print_configuration_entry(void *context, const char *key, const char *value, const setting *s)
{
	FILE *to = context;
	fprintf(to, "  %s = %s", key, value);
	if (s->file != NULL)
		fprintf(to, "  # %s:%u\n", s->file, s->line);
	else
		fprintf(to, "  # %s\n", s->origin == NULL ? "" : s->origin);
}

void
plan_print_text(const plan *p, FILE *to)
{
	print_head(p, to);
	print_streams(p, to);
	print_intermediates(p, to);
	print_tables(p, to);
	print_stages(p, to);
	fputs("\nconfiguration\n", to);
	plan_configuration(p, print_configuration_entry, to);
}

/* --- pictures
 * ------------------------------------------------------------------------------------------------------------------ */

/* Both notations take a text in double quotes; Mermaid knows entities only. */
static void
print_quoted(const char *text, int mermaid, FILE *to)
{
	fputc('"', to);
	for (; *text != '\0'; text++) {
		if (*text == '"' && mermaid)
			fputs("#quot;", to);
		else if ((*text == '"' || *text == '\\') && !mermaid)
			fprintf(to, "\\%c", *text);
		else if ((*text == '<' || *text == '>') && mermaid)
			fputs(*text == '<' ? "#lt;" : "#gt;", to);
		else
			fputc(*text == '\n' ? ' ' : *text, to);
	}
	fputc('"', to);
}

/* "aggregate n; keyed; keeps count, timers" */
static void
print_label(const plan_operator *o, int mermaid, FILE *to)
{
	char text[1024];
	size_t used = (size_t)snprintf(text, sizeof(text), "%s", o->title);
	int gives = o->kind == OPERATOR_FUNCTION || o->kind == OPERATOR_KEY_BY || o->kind == OPERATOR_MERGE;
	if (gives && o->schema[0] != NULL && used < sizeof(text))
		used += (size_t)snprintf(text + used, sizeof(text) - used, "; %s", stream_kind_name(o->stream_kind[0]));
	const flow_state_declaration *const *states = o->state_id == PLAN_NONE ? NULL : o->function.states;
	for (size_t i = 0; states != NULL && states[i] != NULL && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i == 0 ? "; keeps " : ", ", states[i]->name);
	if (o->state_id != PLAN_NONE && o->function.uses_timers && used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, "%stimers", states == NULL || states[0] == NULL ? "; keeps " : ", ");
	print_quoted(text, mermaid, to);
}

/* "key; exactly once" on exchanges, the delivery alone in front of sinks. */
static int
edge_label(const plan *p, const plan_edge *edge, char label[128])
{
	const plan_operator *behind = &p->operators[edge->to];
	if (edge->exchange)
		snprintf(label, 128, "%s; %s", partitioning_name(edge->partitioning), edge->delivery);
	else if (behind->kind == OPERATOR_SINK)
		snprintf(label, 128, "%s", edge->delivery);
	else
		return 0;
	return 1;
}

void
plan_print_dot(const plan *p, FILE *to)
{
	char label[128];
	fputs("digraph plan {\n  rankdir=LR;\n  node [shape=box];\n", to);
	for (uint32_t s = 0; s < p->stage_count; s++) {
		fprintf(to, "  subgraph cluster_%u {\n    label=\"stage %u, %u task%s\";\n", s, s, p->stages[s].task_count,
				p->stages[s].task_count == 1 ? "" : "s");
		for (uint32_t i = 0; i < p->stages[s].operator_count; i++) {
			const plan_operator *o = &p->operators[p->stages[s].operators[i]];
			fprintf(to, "    o%u [label=", o->index);
			print_label(o, 0, to);
			fputs(o->kind == OPERATOR_FUNCTION ? "];\n" : ", style=rounded];\n", to);
		}
		fputs("  }\n", to);
	}
	for (uint32_t i = 0; i < p->edge_count; i++) {
		const plan_edge *edge = &p->edges[i];
		fprintf(to, "  o%u -> o%u", edge->from, edge->to);
		if (edge_label(p, edge, label)) {
			fputs(" [label=", to);
			print_quoted(label, 0, to);
			fputc(']', to);
		}
		fputs(";\n", to);
	}
	for (uint32_t i = 0; i < p->operator_count; i++) {
		const char *which = dead_letters_of(p, &p->operators[i]);
		if (which != NULL)
			fprintf(to, "  o%u -> o%u [label=\"%s; %s\", style=dashed];\n", i, p->dead_letters, which,
					p->dead_letter_delivery);
	}
	fputs("}\n", to);
}

void
plan_print_mermaid(const plan *p, FILE *to)
{
	char label[128];
	fputs("flowchart LR\n", to);
	for (uint32_t s = 0; s < p->stage_count; s++) {
		fprintf(to, "  subgraph s%u[\"stage %u, %u task%s\"]\n", s, s, p->stages[s].task_count,
				p->stages[s].task_count == 1 ? "" : "s");
		for (uint32_t i = 0; i < p->stages[s].operator_count; i++) {
			const plan_operator *o = &p->operators[p->stages[s].operators[i]];
			fprintf(to, "    o%u[", o->index);
			print_label(o, 1, to);
			fputs("]\n", to);
		}
		fputs("  end\n", to);
	}
	for (uint32_t i = 0; i < p->edge_count; i++) {
		const plan_edge *edge = &p->edges[i];
		if (edge_label(p, edge, label)) {
			fprintf(to, "  o%u -->|", edge->from);
			print_quoted(label, 1, to);
			fprintf(to, "| o%u\n", edge->to);
		} else {
			fprintf(to, "  o%u --> o%u\n", edge->from, edge->to);
		}
	}
	for (uint32_t i = 0; i < p->operator_count; i++) {
		const char *which = dead_letters_of(p, &p->operators[i]);
		if (which != NULL)
			fprintf(to, "  o%u -.->|\"%s; %s\"| o%u\n", i, which, p->dead_letter_delivery, p->dead_letters);
	}
}
