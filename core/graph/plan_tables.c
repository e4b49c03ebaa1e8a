/* Tables: components, options, and the schemas that their writers give them. */
#include <string.h>

#include "base/error.h"
#include "base/schema.h"
#include "graph/planner.h"

static void
plan_one_table(planner *p, const char *name)
{
	const setting *group = config_effective(p->config, "tables", name);
	const setting *type = setting_child(group, "type");
	const flow_component *component = NULL;
	if (group == NULL)
		return;
	if (type != NULL && type->kind == SETTING_STRING)
		component = planner_component(p, FLOW_TABLE, type->text, type);
	const char *const *skipped = component != NULL ? NULL : planner_unjudged(p, &table_options, group, NULL);
	const flow_options *options = planner_resolve(p, &table_options, component, "", group, group, name, skipped);
	planner_put_defaults(p, "tables", name, &table_options, component, "", group);
	plan_table *table = &p->plan->tables[p->plan->table_count++];
	*table = (plan_table){ .name = name, .component = component, .options = options, .place = group };
	table->durable = component != NULL && (component->flags & FLOW_TABLE_DURABLE) != 0;
}

void
plan_tables(planner *p)
{
	const char *const *names = config_names(p->config, "tables");
	size_t count = 0;
	while (names[count] != NULL)
		count++;
	p->plan->tables = planner_allocate(p, (count + 1) * sizeof(plan_table));
	p->table_work = planner_allocate(p, (count + 1) * sizeof(plan_table_work));
	for (size_t i = 0; i < count && !p->failed; i++) {
		p->table_work[i].writer = GRAPH_NONE;
		plan_one_table(p, names[i]);
	}
}

static plan_table *
find_table(planner *p, const char *name)
{
	for (uint32_t i = 0; i < p->plan->table_count; i++)
		if (strcmp(p->plan->tables[i].name, name) == 0)
			return &p->plan->tables[i];
	return NULL;
}

/* --- the service that bind uses
 * ------------------------------------------------------------------------------------------- */

/* The service's calls carry no context. Planning happens on the main thread only, and bind asks only while it runs. */
static planner *serving;
static const char *missed;

static flow_status
table_schema(const char *name, const flow_schema **schema, const flow_schema **key_schema, flow_error *error)
{
	if (serving == NULL)
		return error_set(error, FLOW_E_UNSUPPORTED, "schemas of tables can be asked for in bind only");
	const plan_table *table = find_table(serving, name);
	if (table == NULL)
		return error_set(error, FLOW_E_CONFIG, "no table is called '%s'", name);
	if (table->schema == NULL) {
		missed = table->name;
		return error_set(error, FLOW_E_UNAVAILABLE, "table '%s' has no schema yet", name);
	}
	*schema = table->schema;
	if (key_schema != NULL)
		*key_schema = table->key_schema;
	return FLOW_OK;
}

void
plan_tables_serve(planner *p)
{
	static const flow_tables service = { FLOW_SIZEOF(flow_tables), 0, table_schema };
	static int added;
	if (!added)
		host_services_add(FLOW_SERVICE_TABLES, &service);
	added = 1;
	serving = p;
	missed = NULL;
}

const char *
plan_tables_missed(void)
{
	return missed;
}

static int
settle_schema(planner *p, size_t step, plan_table *table, const plan_cursor *input)
{
	plan_table_work *work = &p->table_work[table - p->plan->tables];
	const setting *place = p->steps[step].step->place;
	if (work->writer == GRAPH_NONE) {
		work->writer = step;
		table->schema = input->schema;
		table->key_schema = input->key_schema;
		return 1;
	}
	int same_keys =
		(table->key_schema == NULL && input->key_schema == NULL) ||
		(table->key_schema != NULL && input->key_schema != NULL && schema_equal(table->key_schema, input->key_schema));
	if (same_keys && schema_equal(table->schema, input->schema))
		return 1;
	problem_at(p->problems, place, "table '%s' gets %s by %s here, but %s by %s from another step (%s)", table->name,
			   planner_schema_text(p, input->schema), planner_schema_text(p, input->key_schema),
			   planner_schema_text(p, table->schema), planner_schema_text(p, table->key_schema),
			   setting_place(p->arena, p->steps[work->writer].step->place));
	return 0;
}

int
plan_tables_written(planner *p, size_t step, const flow_function_plan *function, const plan_cursor *input)
{
	int good = 1;
	for (size_t i = 0; function->writes_tables != NULL && function->writes_tables[i] != NULL; i++) {
		plan_table *table = find_table(p, function->writes_tables[i]);
		if (table != NULL) {
			good &= settle_schema(p, step, table, input);
			continue;
		}
		problem_at(p->problems, p->steps[step].step->place, "no table is called '%s'", function->writes_tables[i]);
		good = 0;
	}
	return good;
}

/* --- steps that wait for a table
 * ------------------------------------------------------------------------------------------ */

static int
value_names(const flow_option_value *value, const char *table)
{
	if (value->type == FLOW_OPTION_REFERENCE && flow_slice_is(value->text, table))
		return 1;
	for (uint64_t i = 0; i < value->entry_count; i++)
		if (value_names(value->entries[i]->value, table))
			return 1;
	return 0;
}

static int
step_names_table(const plan_step *step, const char *table)
{
	for (uint64_t i = 0; step->options != NULL && i < step->options->entry_count; i++)
		if (value_names(step->options->entries[i]->value, table))
			return 1;
	return 0;
}

/* Does the step take its records, through others, from `origin`? */
static int
comes_from(planner *p, size_t step, size_t origin)
{
	size_t count = p->graph->step_count, used = 0;
	uint8_t *seen = planner_allocate(p, count + 1);
	size_t *stack = planner_allocate(p, (count + 1) * sizeof(*stack));
	if (p->failed)
		return 0;
	seen[step] = 1;
	stack[used++] = step;
	while (used != 0) {
		const graph_step *at = p->graph->steps[stack[--used]];
		for (size_t i = 0; i <= at->origin_count; i++) {
			const graph_origin *from = i < at->origin_count ? &at->origins[i] : at->second;
			if (from == NULL || from->step == GRAPH_NONE || seen[from->step])
				continue;
			seen[from->step] = 1;
			stack[used++] = from->step;
		}
	}
	return seen[origin];
}

static void
report_one_waiting(planner *p, size_t index)
{
	const plan_step *step = &p->steps[index];
	for (size_t i = 0; i < p->graph->step_count; i++) {
		const plan_step *other = &p->steps[i];
		if (i == index || other->state != STEP_WAITING || !step_names_table(other, step->waits_for))
			continue;
		if (comes_from(p, i, index) && other->waits_for == NULL) {
			problem_at(p->problems, step->step->place,
					   "the step reads table '%s', which is written only behind the step itself (%s); nobody can say "
					   "what is in it",
					   step->waits_for, setting_place(p->arena, other->step->place));
			return;
		}
		if (other->waits_for == NULL) {
			problem_at(p->problems, step->step->place,
					   "the step reads table '%s', whose writer (%s) waits for a table too; the tables depend on each "
					   "other in a ring",
					   step->waits_for, setting_place(p->arena, other->step->place));
			return;
		}
	}
	problem_at(p->problems, step->step->place, "the step reads table '%s', which no step writes", step->waits_for);
}

void
plan_report_waiting(planner *p)
{
	for (size_t i = 0; i < p->graph->step_count; i++)
		if (p->steps[i].state == STEP_WAITING && p->steps[i].waits_for != NULL)
			report_one_waiting(p, i);
}

/* --- what holds for tables once all is bound
 * ------------------------------------------------------------------------------ */

static int
is_volatile_table(const plan *pl, const char *name)
{
	for (uint32_t i = 0; i < pl->table_count; i++)
		if (strcmp(pl->tables[i].name, name) == 0)
			return pl->tables[i].component != NULL && !pl->tables[i].durable &&
				   (pl->tables[i].component->flags & FLOW_TABLE_LOCAL) != 0;
	return 0;
}

/* Does what the operator does survive a restart, so that it must not happen twice? */
static int
has_lasting_effect(const plan *pl, const plan_operator *o)
{
	if (o->kind == OPERATOR_SINK || o->state_id != PLAN_NONE)
		return 1;
	for (size_t i = 0; o->function.writes_tables != NULL && o->function.writes_tables[i] != NULL; i++)
		if (!is_volatile_table(pl, o->function.writes_tables[i]))
			return 1;
	return 0;
}

/* The first operator behind a source that is more than filling tables that do not last, or NULL. */
static const plan_operator *
lasting_effect_behind(planner *p, uint32_t source)
{
	const plan *pl = p->plan;
	uint8_t *behind = planner_allocate(p, pl->operator_count + 1);
	if (behind == NULL)
		return NULL;
	behind[source] = 1;
	for (uint32_t i = 0; i < pl->edge_count; i++)
		behind[pl->edges[i].to] |= behind[pl->edges[i].from];
	for (uint32_t i = 0; i < pl->operator_count; i++)
		if (behind[i] && has_lasting_effect(pl, &pl->operators[i]))
			return &pl->operators[i];
	return NULL;
}

/* A table that does not survive a restart is filled anew at each start: its input is read from the beginning, which is
 * right only if nothing else comes of it, and complete only if it ends. */
static void
check_volatile_source(planner *p, const plan_operator *source, const plan_operator *writer, const char *table)
{
	plan_stream *stream = &p->plan->streams[source->stream];
	const plan_operator *lasting = lasting_effect_behind(p, source->index);
	if (lasting != NULL)
		problem_at(p->problems, writer->place,
				   "table '%s' does not survive a restart, so input '%s' is read anew for it; but it also feeds '%s' "
				   "(%s): use a "
				   "durable table, or read the input twice under two ids",
				   table, stream->id, lasting->name, setting_place(p->arena, lasting->place));
	else if (!stream->bounded)
		problem_at(p->problems, writer->place,
				   "table '%s' does not survive a restart and input '%s' does not end, so nobody knows when the table "
				   "is complete: "
				   "use a durable table, or a bounded input",
				   table, stream->id);
	stream->volatile_reader = 1;
}

/* Every input that the writer's records come from, through merges too. Edges are in the order of the operators that they leave, so
 * backwards all that is behind an operator is marked before it. */
static void
check_volatile_writer(planner *p, const plan_operator *writer, const char *table)
{
	plan *pl = p->plan;
	uint8_t *before = planner_allocate(p, pl->operator_count + 1);
	if (before == NULL)
		return;
	before[writer->index] = 1;
	for (uint32_t i = pl->edge_count; i > 0; i--)
		before[pl->edges[i - 1].from] |= before[pl->edges[i - 1].to];
	for (uint32_t i = 0; i < pl->operator_count; i++)
		if (before[i] && pl->operators[i].kind == OPERATOR_SOURCE)
			check_volatile_source(p, &pl->operators[i], writer, table);
}

static void
check_writers(planner *p, const plan_operator *o)
{
	for (size_t i = 0; o->function.writes_tables != NULL && o->function.writes_tables[i] != NULL; i++)
		if (is_volatile_table(p->plan, o->function.writes_tables[i]))
			check_volatile_writer(p, o, o->function.writes_tables[i]);
}

static void
check_readers(planner *p, const plan_operator *o)
{
	for (size_t i = 0; o->function.reads_tables != NULL && o->function.reads_tables[i] != NULL; i++) {
		const plan_table *table = find_table(p, o->function.reads_tables[i]);
		if (table == NULL)
			problem_at(p->problems, o->place, "no table is called '%s'", o->function.reads_tables[i]);
		else if (table->schema == NULL && (table->component->flags & FLOW_TABLE_LOCAL) != 0)
			problem_at(p->problems, o->place, "the step reads table '%s', which no step writes", table->name);
	}
}

void
plan_tables_check(planner *p)
{
	for (uint32_t i = 0; i < p->plan->operator_count && !p->failed; i++) {
		check_writers(p, &p->plan->operators[i]);
		check_readers(p, &p->plan->operators[i]);
	}
}
