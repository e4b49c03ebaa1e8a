/* A plan for people: as text, and as a picture for Graphviz and Mermaid. */
#include <stdlib.h>
#include <string.h>

#include "base/schema.h"
#include "base/units.h"
#include "graph/plan_configuration.h"
#include "graph/planner.h"

/* Long record types and titles of operators are cut behind so many bytes. */
#define TYPE_WIDTH 88
#define TITLE_WIDTH 200

/* Size of a text that is cut to at most `most` bytes, between characters. */
static size_t
shortened(const char *text, size_t most)
{
	size_t size = strlen(text);
	if (size <= most)
		return size;
	for (size = most; size > 0 && ((unsigned char)text[size] & 0xC0) == 0x80;)
		size--;
	return size;
}

/* "3 partitions" behind `before`, where it is known. */
static void
print_partitions(int32_t count, const char *before, FILE *to)
{
	if (count != FLOW_PARTITIONS_UNKNOWN)
		fprintf(to, "%s%d partition%s", before, count, count == 1 ? "" : "s");
}

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
	size_t shown = shortened(text, TYPE_WIDTH);
	fprintf(to, "%.*s%s", (int)shown, text, shown < length ? "..." : "");
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
		const char *kind = plan_stream_kind(p, stream);
		if (kind != NULL)
			fprintf(to, ", %s", kind);
		if (stream->partition != NULL)
			fprintf(to, ", partition %s", stream->partition_setting->text);
		if (input)
			print_input(stream, to);
		else
			fprintf(to, ", %s", delivery_name(stream->delivery));
		print_partitions(stream->description.partition_count, ", ", to);
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
		fprintf(to, "  via %s: %s%s%s", stream->id, stream->system == NULL ? "" : stream->system,
				stream->system == NULL ? "" : ", by ", partitioning_name(stream->partitioning));
		print_partitions(stream->partitions, ", ", to);
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

/* Records do not just go on to the next operator of their task. */
static int
is_partitioned(const plan_edge *edge)
{
	return edge->exchange != 0 || edge->partitioning != EDGE_FORWARD;
}

static void
print_way_in(const plan *p, const plan_operator *o, FILE *to)
{
	for (uint32_t i = 0; i < p->edge_count; i++) {
		const plan_edge *edge = &p->edges[i];
		if (edge->to != o->index)
			continue;
		fprintf(to, "      from %s", p->operators[edge->from].name);
		if (is_partitioned(edge))
			fprintf(to, " by %s", partitioning_name(edge->partitioning));
		fprintf(to, ", %s\n", edge->delivery);
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
		fprintf(to, ", %s, out of order by %s", stream_kind_name(o->stream_kind[0]),
				units_print_duration(o->out_of_order, duration));
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

/* In the text and, as comments, in the pictures: what lines begin with. */
struct listing {
	FILE *to;
	const char *begin;
};

/* Names of files and keys may be any text; a line stays one. */
static void
print_in_line(const char *text, FILE *to)
{
	for (; *text != '\0'; text++)
		fputc((unsigned char)*text < ' ' ? ' ' : *text, to);
}

static void
print_configuration_entry(void *context, const char *key, const char *value, const setting *s)
{
	const struct listing *listing = context;
	FILE *to = listing->to;
	fputs(listing->begin, to);
	print_in_line(key, to);
	fputs(" = ", to);
	print_in_line(value, to);
	fputs("  # ", to);
	print_in_line(s->file != NULL ? s->file : s->origin != NULL ? s->origin : "", to);
	if (s->file != NULL)
		fprintf(to, ":%u", s->line);
	fputc('\n', to);
}

static void
print_configuration(const plan *p, const char *begin, FILE *to)
{
	struct listing listing = { to, begin };
	plan_configuration(p, print_configuration_entry, &listing);
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
	print_configuration(p, "  ", to);
}

/* --- pictures
 * ------------------------------------------------------------------------------------------------------------------ */

/* For a text in double quotes. Both notations read entities in it, Mermaid with '#'. */
static void
print_escaped(const char *text, size_t size, int mermaid, FILE *to)
{
	for (size_t i = 0; i < size; i++) {
		char c = text[i];
		if (c == '&')
			fputs(mermaid ? "#amp;" : "&amp;", to);
		else if (mermaid && (c == '"' || c == '#' || c == '<' || c == '>'))
			fputs(c == '"' ? "#quot;" : c == '#' ? "#35;" : c == '<' ? "#lt;" : "#gt;", to);
		else if (!mermaid && (c == '"' || c == '\\'))
			fprintf(to, "\\%c", c);
		else
			fputc((unsigned char)c < ' ' ? ' ' : c, to);
	}
}

static void
print_states(const plan_operator *o, int mermaid, FILE *to)
{
	const char *before = "; keeps ";
	if (o->state_id == PLAN_NONE)
		return;
	for (size_t i = 0; o->function.states != NULL && o->function.states[i] != NULL; i++) {
		const char *name = o->function.states[i]->name;
		fputs(before, to);
		print_escaped(name, strlen(name), mermaid, to);
		before = ", ";
	}
	if (o->function.uses_timers)
		fprintf(to, "%stimers", before);
}

/* "aggregate n; keyed; keeps count, timers", "read flights; non_keyed; 3 partitions" */
static void
print_label(const plan *p, const plan_operator *o, int mermaid, FILE *to)
{
	const plan_stream *stream = o->stream == PLAN_NONE ? NULL : &p->streams[o->stream];
	const char *kind = stream != NULL         ? plan_stream_kind(p, stream)
					   : o->schema[0] != NULL ? stream_kind_name(o->stream_kind[0])
											  : NULL;
	size_t shown = shortened(o->title, TITLE_WIDTH);
	fputc('"', to);
	print_escaped(o->title, shown, mermaid, to);
	if (o->title[shown] != '\0')
		fputs("...", to);
	if (kind != NULL)
		fprintf(to, "; %s", kind);
	if (stream != NULL)
		print_partitions(stream->description.partition_count, "; ", to);
	print_states(o, mermaid, to);
	fputc('"', to);
}

/* "key, 2 partitions; exactly once"; where records just go on, the delivery alone. */
static void
print_edge_label(const plan *p, const plan_edge *edge, FILE *to)
{
	const plan_intermediate *between = edge->intermediate == PLAN_NONE ? NULL : &p->intermediates[edge->intermediate];
	fputc('"', to);
	if (is_partitioned(edge))
		fputs(partitioning_name(edge->partitioning), to);
	if (between != NULL && between->partitioning == edge->partitioning)
		print_partitions(between->partitions, ", ", to);
	fprintf(to, "%s%s\"", is_partitioned(edge) ? "; " : "", edge->delivery);
}

void
plan_print_dot(const plan *p, FILE *to)
{
	fputs("digraph plan {\n  rankdir=LR;\n  node [shape=box];\n", to);
	for (uint32_t s = 0; s < p->stage_count; s++) {
		fprintf(to, "  subgraph cluster_%u {\n    label=\"stage %u, %u task%s\";\n", s, s, p->stages[s].task_count,
				p->stages[s].task_count == 1 ? "" : "s");
		for (uint32_t i = 0; i < p->stages[s].operator_count; i++) {
			const plan_operator *o = &p->operators[p->stages[s].operators[i]];
			fprintf(to, "    o%u [label=", o->index);
			print_label(p, o, 0, to);
			fputs(o->kind == OPERATOR_FUNCTION ? "];\n" : ", style=rounded];\n", to);
		}
		fputs("  }\n", to);
	}
	for (uint32_t i = 0; i < p->edge_count; i++) {
		fprintf(to, "  o%u -> o%u [label=", p->edges[i].from, p->edges[i].to);
		print_edge_label(p, &p->edges[i], to);
		fputs("];\n", to);
	}
	for (uint32_t i = 0; i < p->operator_count; i++) {
		const char *which = dead_letters_of(p, &p->operators[i]);
		if (which != NULL)
			fprintf(to, "  o%u -> o%u [label=\"%s; %s\", style=dashed];\n", i, p->dead_letters, which,
					p->dead_letter_delivery);
	}
	print_configuration(p, "  // ", to);
	fputs("}\n", to);
}

void
plan_print_mermaid(const plan *p, FILE *to)
{
	fputs("flowchart LR\n", to);
	for (uint32_t s = 0; s < p->stage_count; s++) {
		fprintf(to, "  subgraph s%u[\"stage %u, %u task%s\"]\n", s, s, p->stages[s].task_count,
				p->stages[s].task_count == 1 ? "" : "s");
		for (uint32_t i = 0; i < p->stages[s].operator_count; i++) {
			const plan_operator *o = &p->operators[p->stages[s].operators[i]];
			fprintf(to, "    o%u[", o->index);
			print_label(p, o, 1, to);
			fputs("]\n", to);
		}
		fputs("  end\n", to);
	}
	for (uint32_t i = 0; i < p->edge_count; i++) {
		fprintf(to, "  o%u -->|", p->edges[i].from);
		print_edge_label(p, &p->edges[i], to);
		fprintf(to, "| o%u\n", p->edges[i].to);
	}
	for (uint32_t i = 0; i < p->operator_count; i++) {
		const char *which = dead_letters_of(p, &p->operators[i]);
		if (which != NULL)
			fprintf(to, "  o%u -.->|\"%s; %s\"| o%u\n", i, which, p->dead_letter_delivery, p->dead_letters);
	}
	print_configuration(p, "  %% ", to);
}
