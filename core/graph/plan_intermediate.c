/* Intermediate streams: what a partitioning makes of a flow between two operators. Their names, their system, and how many
 * partitions they have, so that streams and local tables that are joined agree. */
#include <string.h>

#include "base/error.h"
#include "graph/planner.h"

/* The streams whose partitioning a join relies on. Members of one set have one count. */
typedef struct root {
	uint32_t parent;  /* in `roots`; itself: it stands for its set */
	int32_t count;    /* of the set; FLOW_PARTITIONS_UNKNOWN: free */
	uint32_t counted; /* the root that the set has its count from */
} root;

/* Inputs by their stream, then intermediate streams. */
typedef struct agreement {
	planner *p;
	root *roots;
	uint32_t stream_count;
	uint32_t *first_edge; /* by operator: edges into it, as positions in `edges` */
	uint32_t *edges;
	uint32_t *stack;
	uint8_t *seen; /* by operator */
} agreement;

/* --- which there are
 * ---------------------------------------------------------------------------------------------------------- */

/* A stream is named by the operator that partitions it: the key_by in front of it, else the step behind it. */
static const char *
intermediate_id(planner *p, const plan_edge *edge)
{
	const plan *pl = p->plan;
	const plan_operator *named = &pl->operators[edge->partitioning == EDGE_KEY ? edge->from : edge->to];
	return planner_owned_format(p, "%s-%s", pl->job, named->name);
}

static uint32_t
find_intermediate(const plan *pl, const char *id)
{
	for (uint32_t i = 0; i < pl->intermediate_count; i++)
		if (strcmp(pl->intermediates[i].id, id) == 0)
			return i;
	return PLAN_NONE;
}

/* A broadcast input is read by every task; nothing is written for it in between. */
static int
is_intermediate(const plan *pl, const plan_edge *edge)
{
	const plan_operator *from = &pl->operators[edge->from];
	return edge->partitioning != EDGE_FORWARD &&
		   !(edge->partitioning == EDGE_BROADCAST && from->kind == OPERATOR_SOURCE &&
			 pl->streams[from->stream].broadcast);
}

static void
list_intermediates(planner *p)
{
	plan *pl = p->plan;
	pl->intermediates = planner_allocate(p, (pl->edge_count + 1) * sizeof(*pl->intermediates));
	for (uint32_t i = 0; i < pl->edge_count && !p->failed; i++) {
		plan_edge *edge = &pl->edges[i];
		const char *id = is_intermediate(pl, edge) ? intermediate_id(p, edge) : NULL;
		if (id == NULL)
			continue;
		edge->intermediate = find_intermediate(pl, id);
		if (edge->intermediate != PLAN_NONE)
			continue;
		edge->intermediate = pl->intermediate_count++;
		pl->intermediates[edge->intermediate] = (plan_intermediate){ .id = id,
																	 .physical_name = id,
																	 .partitioning = edge->partitioning,
																	 .from = edge->from,
																	 .output = edge->output,
																	 .partitions = FLOW_PARTITIONS_UNKNOWN,
																	 .place = pl->operators[edge->to].place };
	}
}

/* --- the system that carries one
 * ----------------------------------------------------------------------------------------------------------- */

/* The default system, or the one that is set for a stream. */
typedef struct carrier {
	const setting *system;           /* NULL: none; records stay in this process */
	const flow_component *component; /* NULL: not known, reported */
	int good;                        /* it can carry streams */
	int no_keys;                     /* reported: its serde has none */
} carrier;

static int
check_carrier(planner *p, const carrier *c, const setting *place)
{
	if (c->system == NULL || c->component == NULL)
		return 0;
	if ((c->component->flags & FLOW_SYSTEM_SHARED) != 0) {
		problem_at(
			p->problems, place,
			"system '%s' (%s) is shared by processes, and intermediate streams do not go through such a system yet; "
			"leave default_system out: they stay in this process",
			c->system->name, c->component->id);
		return 0;
	}
	if (p->plan->intermediate_count == 0 || (c->component->flags & FLOW_SYSTEM_INTERMEDIATE) != 0)
		return 1;
	problem_at(p->problems, place, "system '%s' (%s) cannot carry intermediate streams", c->system->name,
			   c->component->id);
	return 0;
}

/* `place` of the name; NULL: the system's own. */
static carrier
find_carrier(planner *p, const char *name, const setting *place)
{
	carrier c = { .system = name == NULL ? NULL : config_effective(p->config, "systems", name) };
	const setting *type = setting_child(c.system, "type");
	flow_error error = { 0 };
	if (type != NULL && type->kind == SETTING_STRING)
		registry_component(p->registry, FLOW_SYSTEM, type->text, &c.component, &error);
	error_clear(&error);
	c.good = check_carrier(p, &c, place == NULL ? c.system : place);
	return c;
}

static carrier
default_carrier(planner *p)
{
	const setting *place = setting_child(config_effective(p->config, "job", NULL), "default_system");
	return find_carrier(p, flow_option_text(p->plan->job_options, "default_system").data, place);
}

/* --- serdes
 * ---------------------------------------------------------------------------------------------------------------- */

#define WITH_KEYS "{ key = \"...\"; value = \"...\"; }"

static void
report_no_keys(planner *p, const plan_intermediate *stream, carrier *by, const setting *serde, int own)
{
	if (own) {
		problem_at(p->problems, serde, "the records of the intermediate stream '%s' have keys: serde: " WITH_KEYS,
				   stream->id);
		return;
	}
	if (serde == NULL && !by->no_keys)
		problem_in(p->problems, by->system, "serde",
				   "is missing: system '%s' carries the intermediate stream '%s', whose records have keys: "
				   "serde: " WITH_KEYS,
				   by->system->name, stream->id);
	else if (!by->no_keys)
		problem_at(p->problems, serde,
				   "system '%s' carries the intermediate stream '%s', whose records have keys: serde: " WITH_KEYS,
				   by->system->name, stream->id);
	by->no_keys = 1;
}

/* They are written, and read again behind. `s`: the serde, with both sides. */
static void
check_types(planner *p, const plan_intermediate *stream, const setting *s)
{
	const plan_operator *from = &p->plan->operators[stream->from];
	const char *came_from =
		planner_owned_format(p, "; the records come from '%s' (%s)", from->name, setting_place(p->arena, from->place));
	const plan_serde *serdes[2] = { &stream->value, &stream->key };
	const flow_schema *schemas[2] = { from->schema[stream->output], from->key_schema[stream->output] };
	static const char *const names[2] = { "value", "key" }, *const sides[2] = { "records", "keys" };
	for (size_t i = 0; i < 2 && came_from != NULL; i++) {
		const setting *side = setting_child(s, names[i]);
		const plan_written written = { "intermediate stream", stream->id, side == NULL ? s : side, came_from };
		if (!FLOW_CAN(serdes[i]->ops, decoder_open))
			problem_at(p->problems, written.place,
					   "intermediate stream '%s': the serde '%s' writes only, and its records are read again",
					   stream->id, serdes[i]->component->id);
		else if (schemas[i] != NULL)
			planner_check_written(p, &written, serdes[i], schemas[i], sides[i]);
	}
}

/* Its own serde, which configuration may set, or that of its system. */
static void
settle_serde(planner *p, plan_intermediate *stream, carrier *by)
{
	const setting *group = config_effective(p->config, "streams", stream->id);
	const setting *s = setting_child(group, "serde");
	int own = s != NULL;
	if (!own && !by->good)
		return;
	if (!own) {
		planner_put_system_serde(p, stream->id, by->system, group);
		s = setting_child(config_effective(p->config, "streams", stream->id), "serde");
	}
	const plan_serde_owner owner = {
		.id = stream->id,
		.system = by->good ? by->system->name : NULL,
		.component = by->good ? by->component : NULL,
		.use = FLOW_SERDE_DECODES | FLOW_SERDE_ENCODES,
		.value = &stream->value,
		.key = &stream->key,
	};
	if (s == NULL && (by->component->flags & FLOW_SYSTEM_OWN_SERDE) != 0)
		return;
	if (s != NULL && !planner_open_serdes(p, &owner, s))
		return;
	if (s == NULL || stream->key.component == NULL)
		report_no_keys(p, stream, by, s, own);
	else
		check_types(p, stream, s);
}

/* --- their settings
 * ----------------------------------------------------------------------------------------------------------- */

static void
put_planned(planner *p, const char *id, const char *name, const setting *like)
{
	setting planned = *like;
	planned.layer = LAYER_PLANNER;
	planned.origin = "planner";
	planned.path = arena_format(config_arena(p->config), "streams.%s.%s", id, name);
	const char *key[3] = { "streams", id, name };
	config_put(p->config, key, 3, &planned);
}

static void
read_settings(planner *p, plan_intermediate *stream, carrier *usual)
{
	static const char *const ignore[] = { "serde", NULL };
	const setting *own_name = setting_child(config_effective(p->config, "streams", stream->id), "system");
	carrier own = { 0 }, *by = usual;
	if (own_name != NULL && own_name->kind == SETTING_STRING) {
		own = find_carrier(p, own_name->text, own_name);
		by = &own;
	}
	if (usual->system != NULL) {
		setting name = { .kind = SETTING_STRING, .text = usual->system->name, .size = strlen(usual->system->name) };
		put_planned(p, stream->id, "system", &name);
	}
	const setting *group = config_effective(p->config, "streams", stream->id);
	const flow_options *options =
		planner_resolve(p, &intermediate_options, by->component, "output", group, stream->place, stream->id, ignore);
	if (options == NULL)
		return;
	flow_slice name = flow_option_text(options, "system"), physical = flow_option_text(options, "physical_name");
	stream->system = name.data;
	if (physical.data != NULL)
		stream->physical_name = physical.data;
	stream->partitions = (int32_t)flow_option_int(options, "partitions", FLOW_PARTITIONS_UNKNOWN);
	stream->given = flow_option_get(options, "partitions") != NULL;
	settle_serde(p, stream, by);
}

/* --- what a join relies on
 * ---------------------------------------------------------------------------------------------------- */

static uint32_t
set_of(const agreement *a, uint32_t number)
{
	while (a->roots[number].parent != number)
		number = a->roots[number].parent = a->roots[a->roots[number].parent].parent;
	return number;
}

static const char *
root_text(const agreement *a, uint32_t number)
{
	const plan *pl = a->p->plan;
	uint32_t set = set_of(a, number), from = a->roots[set].counted;
	int input = number < a->stream_count;
	const char *name = planner_owned_format(
		a->p, "%s '%s' with %d partitions", input ? "input" : "intermediate stream",
		input ? pl->streams[number].id : pl->intermediates[number - a->stream_count].id, a->roots[set].count);
	if (from == number)
		return name;
	input = from < a->stream_count;
	return planner_owned_format(a->p, "%s (as %s '%s' has)", name, input ? "input" : "intermediate stream",
								input ? pl->streams[from].id : pl->intermediates[from - a->stream_count].id);
}

/* `joins`: "'pairs' joins", "table 't' is shared by". */
static int
unite(agreement *a, uint32_t one, uint32_t other, const char *joins, const setting *place)
{
	uint32_t first = set_of(a, one), second = set_of(a, other);
	int32_t count_first = a->roots[first].count, count_second = a->roots[second].count;
	if (first == second)
		return 1;
	if (count_first != FLOW_PARTITIONS_UNKNOWN && count_second != FLOW_PARTITIONS_UNKNOWN &&
		count_first != count_second) {
		problem_at(a->p->problems, place, "%s %s and %s; the counts must be equal: put key_by in front of both", joins,
				   root_text(a, one), root_text(a, other));
		return 0;
	}
	a->roots[second].parent = first;
	if (count_first == FLOW_PARTITIONS_UNKNOWN) {
		a->roots[first].count = count_second;
		a->roots[first].counted = a->roots[second].counted;
	}
	return 1;
}

/* Unites what reaches an operator without a new partitioning with *set (PLAN_NONE: nothing yet). */
static int
unite_behind(agreement *a, uint32_t number, uint32_t *set, const char *joins, const setting *place)
{
	const plan *pl = a->p->plan;
	uint32_t depth = 0, good = 1;
	memset(a->seen, 0, pl->operator_count);
	a->stack[depth++] = number;
	a->seen[number] = 1;
	while (depth != 0 && good) {
		uint32_t at = a->stack[--depth];
		if (pl->operators[at].kind == OPERATOR_SOURCE) {
			uint32_t input = pl->operators[at].stream;
			good = *set == PLAN_NONE || (uint32_t)unite(a, *set, input, joins, place);
			*set = *set == PLAN_NONE ? input : *set;
		}
		for (uint32_t i = a->first_edge[at + 1]; i > a->first_edge[at] && good; i--) {
			const plan_edge *edge = &pl->edges[a->edges[i - 1]];
			uint32_t between = edge->intermediate;
			if (edge->partitioning == EDGE_BROADCAST)
				continue; /* every task has all of it: no count to agree on */
			if (between != PLAN_NONE) {
				good = *set == PLAN_NONE || (uint32_t)unite(a, *set, a->stream_count + between, joins, place);
				*set = *set == PLAN_NONE ? a->stream_count + between : *set;
			} else if (!a->seen[edge->from]) {
				a->seen[edge->from] = 1;
				a->stack[depth++] = edge->from;
			}
		}
	}
	return (int)good;
}

static int
names_table(const char *const *names, const char *table)
{
	for (size_t i = 0; names != NULL && names[i] != NULL; i++)
		if (strcmp(names[i], table) == 0)
			return 1;
	return 0;
}

/* Local tables: partitions are those of what writes and reads them, by put or by update. */
static void
agree_on_table(agreement *a, const plan_table *table)
{
	const plan *pl = a->p->plan;
	const char *joins = planner_owned_format(a->p, "table '%s' is shared by", table->name);
	uint32_t set = PLAN_NONE;
	for (uint32_t i = 0; i < pl->operator_count && joins != NULL; i++) {
		const plan_operator *o = &pl->operators[i];
		if ((names_table(o->function.writes_tables, table->name) ||
			 names_table(o->function.reads_tables, table->name)) &&
			!unite_behind(a, i, &set, joins, o->place))
			return;
	}
}

static void
agree(agreement *a)
{
	const plan *pl = a->p->plan;
	for (uint32_t i = 0; i < pl->operator_count && !a->p->failed; i++) {
		const plan_operator *o = &pl->operators[i];
		uint32_t set = PLAN_NONE;
		if (o->kind == OPERATOR_FUNCTION && o->function.shape == FLOW_SHAPE_TWO_INPUTS)
			unite_behind(a, i, &set, planner_owned_format(a->p, "'%s' joins", o->name), o->place);
	}
	for (uint32_t i = 0; i < pl->table_count && !a->p->failed; i++)
		if (pl->tables[i].component != NULL && (pl->tables[i].component->flags & FLOW_TABLE_LOCAL) != 0)
			agree_on_table(a, &pl->tables[i]);
}

/* --- counts
 * --------------------------------------------------------------------------------------------------------------- */

/* Where no join says it: the largest of all inputs and outputs, as far as they are known. */
static int32_t
largest_count(const plan *pl)
{
	int32_t largest = 1;
	for (uint32_t i = 0; i < pl->stream_count; i++)
		if (pl->streams[i].description.partition_count > largest)
			largest = pl->streams[i].description.partition_count;
	return largest;
}

static void
settle_counts(agreement *a)
{
	planner *p = a->p;
	int32_t otherwise = largest_count(p->plan);
	for (uint32_t i = 0; i < p->plan->intermediate_count; i++) {
		plan_intermediate *stream = &p->plan->intermediates[i];
		int32_t count = a->roots[set_of(a, a->stream_count + i)].count;
		int one = stream->partitioning == EDGE_GLOBAL || stream->partitioning == EDGE_BROADCAST;
		/* Where it is set in a higher layer, the planner's count is what that overrode. */
		int32_t planned = one ? 1 : count != FLOW_PARTITIONS_UNKNOWN && !stream->given ? count : otherwise;
		if (!stream->given)
			stream->partitions = planned;
		setting number = { .kind = SETTING_INT, .integer = planned, .number = planned };
		number.text = arena_format(config_arena(p->config), "%d", planned);
		number.size = number.text == NULL ? 0 : strlen(number.text);
		put_planned(p, stream->id, "partitions", &number);
	}
}

static int
list_edges(agreement *a)
{
	const plan *pl = a->p->plan;
	a->first_edge = planner_allocate(a->p, (pl->operator_count + 2) * sizeof(*a->first_edge));
	a->edges = planner_allocate(a->p, (pl->edge_count + 1) * sizeof(*a->edges));
	a->stack = planner_allocate(a->p, (pl->operator_count + 1) * sizeof(*a->stack));
	a->seen = planner_allocate(a->p, pl->operator_count + 1);
	if (a->p->failed)
		return 0;
	for (uint32_t i = 0; i < pl->edge_count; i++)
		a->first_edge[pl->edges[i].to + 1]++;
	for (uint32_t i = 0; i < pl->operator_count; i++) {
		a->first_edge[i + 1] += a->first_edge[i];
		a->stack[i] = a->first_edge[i];
	}
	for (uint32_t i = 0; i < pl->edge_count; i++)
		a->edges[a->stack[pl->edges[i].to]++] = i;
	return 1;
}

static void
start_sets(agreement *a)
{
	const plan *pl = a->p->plan;
	for (uint32_t i = 0; i < a->stream_count + pl->intermediate_count; i++) {
		int32_t count = i < a->stream_count ? pl->streams[i].description.partition_count
											: pl->intermediates[i - a->stream_count].partitions;
		a->roots[i] = (root){ i, count, i };
	}
}

/* Settings under names that look like those of intermediate streams, and are none. */
static void
report_strangers(planner *p)
{
	const plan *pl = p->plan;
	const char *const *names = config_names(p->config, "streams");
	const char **known = planner_allocate(p, (pl->intermediate_count + 1) * sizeof(*known));
	if (known == NULL)
		return;
	for (uint32_t i = 0; i < pl->intermediate_count; i++)
		known[i] = pl->intermediates[i].id;
	for (size_t i = 0; names[i] != NULL; i++) {
		const setting *group = config_effective(p->config, "streams", names[i]);
		if (!planner_may_be_intermediate(p, names[i]) || find_intermediate(pl, names[i]) != PLAN_NONE || group == NULL)
			continue;
		const setting *place = group->file == NULL && group->child_count != 0 ? group->children[0] : group;
		problem *report = problem_at(p->problems, place, "the application has no stream '%s'", names[i]);
		problem_suggest(p->problems, report, names[i], known, pl->intermediate_count);
	}
}

int
planner_may_be_intermediate(const planner *p, const char *id)
{
	size_t length = strlen(p->plan->job);
	if (strncmp(id, p->plan->job, length) != 0 || id[length] != '-')
		return 0;
	for (size_t i = 0; i < p->graph->stream_count; i++)
		if (strcmp(p->graph->streams[i]->id, id) == 0)
			return 0;
	for (size_t i = 0; i < p->graph->logical_count; i++)
		if (strcmp(p->graph->logical[i]->id, id) == 0)
			return 0;
	return 1;
}

void
plan_intermediates(planner *p)
{
	plan *pl = p->plan;
	agreement a = { .p = p, .stream_count = pl->stream_count };
	if (!list_edges(&a))
		return;
	list_intermediates(p);
	carrier usual = default_carrier(p);
	for (uint32_t i = 0; i < pl->intermediate_count && !p->failed; i++)
		read_settings(p, &pl->intermediates[i], &usual);
	report_strangers(p);
	a.roots = planner_allocate(p, (pl->stream_count + pl->intermediate_count + 1) * sizeof(*a.roots));
	if (p->failed)
		return;
	start_sets(&a);
	agree(&a);
	settle_counts(&a);
}
