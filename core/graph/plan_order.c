/* Nodes in topological order become the plan's operators, with unique names; links become edges. */
#include <stdlib.h>
#include <string.h>

#include "graph/planner.h"

/* Children of a node stand together in an array sorted by (parent, step, rank). */
struct ordering {
	planner *p;
	const plan_link **links; /* sorted */
	uint32_t *first;         /* by node: index of its first link */
	uint8_t *shared;         /* by node: several links lead into it */
	uint32_t *missing;       /* by node: links into it from nodes that are not placed yet */
	uint32_t count;          /* nodes placed */
	uint32_t *placed;        /* node by position */
};

static planner *sorting; /* qsort has no context; planning is on the main thread only */

static size_t
step_of(const plan_link *link)
{
	return sorting->nodes[link->to]->step;
}

static int
compare_links(const void *left, const void *right)
{
	const plan_link *a = *(const plan_link *const *)left, *b = *(const plan_link *const *)right;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (step_of(a) != step_of(b))
		return step_of(a) < step_of(b) ? -1 : 1;
	uint32_t rank_a = sorting->nodes[a->to]->rank, rank_b = sorting->nodes[b->to]->rank;
	if (rank_a != rank_b)
		return rank_a < rank_b ? -1 : 1;
	/* Two sinks of one node, or two outputs that lead to one. */
	uint32_t stream_a = sorting->nodes[a->to]->operator.stream, stream_b = sorting->nodes[b->to]->operator.stream;
	if (stream_a != stream_b)
		return stream_a < stream_b ? -1 : 1;
	return a->output != b->output ? (a->output < b->output ? -1 : 1) : (a->input > b->input) - (a->input < b->input);
}

static int
is_sink(const plan_node *node)
{
	return node->operator.kind == OPERATOR_SINK || node->operator.kind == OPERATOR_DEAD_LETTERS;
}

static void
place(struct ordering *o, uint32_t node)
{
	o->p->nodes[node]->number = o->count;
	o->placed[o->count++] = node;
}

/* Depth first, so that what runs in one task stands together. What has several inputs comes behind the last of them, a sink
 * with several behind all trees. */
static void
place_tree(struct ordering *o, uint32_t root)
{
	uint32_t *stack = planner_allocate(o->p, (o->p->node_count + 1) * sizeof(*stack));
	uint32_t depth = 0;
	if (stack == NULL)
		return;
	stack[depth++] = root;
	while (depth != 0) {
		uint32_t node = stack[--depth], begin = o->first[node], end = o->first[node + 1];
		place(o, node);
		for (uint32_t i = end; i > begin; i--) {
			uint32_t child = o->links[i - 1]->to;
			if (--o->missing[child] == 0 && !(is_sink(o->p->nodes[child]) && o->shared[child]))
				stack[depth++] = child;
		}
	}
}

static int
sort_links(planner *p, struct ordering *o)
{
	o->links = planner_allocate(p, (p->link_count + 1) * sizeof(*o->links));
	o->first = planner_allocate(p, (p->node_count + 2) * sizeof(*o->first));
	o->placed = planner_allocate(p, (p->node_count + 1) * sizeof(*o->placed));
	o->missing = planner_allocate(p, (p->node_count + 1) * sizeof(*o->missing));
	o->shared = planner_allocate(p, p->node_count + 1);
	if (p->failed)
		return 0;
	for (uint32_t i = 0; i < p->link_count; i++) {
		o->links[i] = &p->links[i];
		o->shared[p->links[i].to] = o->missing[p->links[i].to]++ != 0;
	}
	sorting = p;
	qsort(o->links, p->link_count, sizeof(*o->links), compare_links);
	sorting = NULL;
	for (uint32_t node = 0, i = 0; node <= p->node_count; node++) {
		while (i < p->link_count && o->links[i]->from < node)
			i++;
		o->first[node] = i;
	}
	return 1;
}

static void
place_all(struct ordering *o)
{
	planner *p = o->p;
	for (uint32_t i = 0; i < p->plan->stream_count && !p->failed; i++)
		if (p->source_nodes[i] != PLAN_NONE)
			place_tree(o, p->source_nodes[i]);
	for (uint32_t i = 0; i < p->plan->stream_count; i++)
		if (p->sink_nodes[i] != PLAN_NONE && o->shared[p->sink_nodes[i]])
			place(o, p->sink_nodes[i]);
	if (p->dead_letters != NULL && p->sink_nodes[p->dead_letter_stream] != PLAN_NONE) {
		p->plan->dead_letters = o->count;
		place(o, p->sink_nodes[p->dead_letter_stream]);
	}
}

/* --- names
 * ------------------------------------------------------------------------------------------------------------------ */

static int
is_taken(const planner *p, const char *name)
{
	for (uint32_t i = 0; i < p->plan->operator_count; i++)
		if (p->plan->operators[i].name != NULL && strcmp(p->plan->operators[i].name, name) == 0)
			return 1;
	return 0;
}

static const char *
free_name(planner *p, const char *base, int sink)
{
	const char *name = base;
	if (sink && is_taken(p, name))
		name = base = planner_owned_format(p, "to_%s", base);
	for (uint32_t i = 2; name != NULL && is_taken(p, name); i++)
		name = planner_owned_format(p, "%s_%u", base, i);
	return name;
}

/* Names that the user gave first, so that none of them moves because of a made one. */
static void
name_operators(planner *p, const uint32_t *placed)
{
	plan *pl = p->plan;
	for (uint32_t i = 0; i < pl->operator_count; i++)
		pl->operators[i].name = p->nodes[placed[i]]->given_name;
	for (uint32_t i = 0; i < pl->operator_count && !p->failed; i++) {
		const plan_node *node = p->nodes[placed[i]];
		if (node->given_name == NULL)
			pl->operators[i].name = free_name(p, node->base_name, is_sink(node));
	}
}

/* What the design says where nothing was said: a record that is late fails a bounded job; else it goes to the dead
 * letters, or is skipped where there are none. */
static void
settle_late_records(planner *p, const uint32_t *placed)
{
	plan *pl = p->plan;
	pl->bounded = 1;
	for (uint32_t i = 0; i < pl->operator_count; i++)
		if (pl->operators[i].kind == OPERATOR_SOURCE)
			pl->bounded &= pl->streams[pl->operators[i].stream].bounded != 0;
	uint32_t absent = pl->bounded                     ? RECORD_ERRORS_FAIL
					  : pl->dead_letters != PLAN_NONE ? RECORD_ERRORS_DEAD_LETTER
													  : RECORD_ERRORS_SKIP;
	const char *because = pl->bounded                     ? "the job's inputs end"
						  : pl->dead_letters != PLAN_NONE ? "there are dead letters"
														  : "there are no dead letters";
	for (uint32_t i = 0; i < pl->operator_count; i++) {
		plan_operator *o = &pl->operators[i];
		const char *given = p->nodes[placed[i]]->given_name;
		if (!o->function.needs_event_time)
			continue;
		if (given != NULL)
			planner_put_derived(p, "operators", given, "late_records", record_errors_name(absent), because);
		if (o->late == 0)
			o->late = absent;
	}
}

void
plan_order(planner *p)
{
	struct ordering o = { .p = p };
	plan *pl = p->plan;
	if (!sort_links(p, &o))
		return;
	place_all(&o);
	pl->operators = planner_allocate(p, (o.count + 1) * sizeof(*pl->operators));
	pl->edges = planner_allocate(p, (p->link_count + 1) * sizeof(*pl->edges));
	if (p->failed)
		return;
	pl->operator_count = o.count;
	for (uint32_t i = 0; i < o.count; i++) {
		pl->operators[i] = p->nodes[o.placed[i]]->operator;
		pl->operators[i].index = i;
		pl->operators[i].name = NULL;
	}
	/* Edges in the order of the operators that they leave. */
	for (uint32_t i = 0; i < o.count; i++) {
		uint32_t node = o.placed[i];
		for (uint32_t k = o.first[node]; k < o.first[node + 1]; k++)
			pl->edges[pl->edge_count++] = (plan_edge){ .from = i,
													   .output = o.links[k]->output,
													   .to = p->nodes[o.links[k]->to]->number,
													   .input = o.links[k]->input,
													   .partitioning = o.links[k]->partitioning,
													   .intermediate = PLAN_NONE };
	}
	name_operators(p, o.placed);
	settle_late_records(p, o.placed);
}
