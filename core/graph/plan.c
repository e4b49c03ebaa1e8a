/* From a graph to a plan: the order of the work, and what it starts and ends with. */
#include "graph/plan.h"

#include "base/memory.h"
#include "base/schema.h"
#include "graph/planner.h"

void *
planner_allocate(planner *p, size_t size)
{
	void *memory = arena_allocate_zeroed(p->arena, size);
	if (memory == NULL)
		p->failed = 1;
	return memory;
}

const char *
planner_owned_format(planner *p, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const char *text = arena_format_list(p->arena, format, arguments);
	va_end(arguments);
	if (text == NULL)
		p->failed = 1;
	return text;
}

static void
release_schema(void *owner)
{
	schema_release(owner);
}

const flow_schema *
planner_own_schema(planner *p, const flow_schema *schema)
{
	if (schema != NULL && !arena_on_destroy(p->arena, release_schema, (void *)schema)) {
		p->failed = 1;
		return NULL;
	}
	return schema;
}

const char *
planner_schema_text(planner *p, const flow_schema *schema)
{
	if (schema == NULL)
		return "nothing";
	uint64_t length = schema_print(schema, 1, NULL, 0);
	char *text = planner_allocate(p, length + 1);
	if (text != NULL)
		schema_print(schema, 1, text, length + 1);
	return text == NULL ? "?" : text;
}

static void
plan_parts(planner *p)
{
	plan_job_id(p);
	plan_expand(p);
	if (!p->failed)
		plan_job(p);
	if (!p->failed)
		plan_systems(p);
	if (!p->failed)
		plan_tables(p);
	if (!p->failed)
		plan_streams(p);
	if (!p->failed)
		plan_bind(p);
	if (!p->failed)
		plan_bind_dead_letters(p);
}

static int
everything_is_bound(const planner *p)
{
	for (size_t i = 0; i < p->graph->step_count; i++)
		if (p->steps[i].state != STEP_BOUND)
			return 0;
	return 1;
}

/* Only for a flow in which everything is known. */
static void
plan_whole(planner *p)
{
	plan_order(p);
	if (!p->failed)
		plan_intermediates(p);
	if (!p->failed)
		plan_identify(p);
	if (!p->failed)
		plan_job_store(p);
	if (!p->failed)
		plan_stages(p);
	if (!p->failed)
		plan_projection(p);
	if (!p->failed)
		plan_tables_check(p);
	if (!p->failed)
		plan_check(p);
}

plan *
plan_create(config *c, registry *r, graph *g, uint32_t flags)
{
	problems *list = config_problems(c);
	arena *a = arena_create();
	plan *made = a == NULL ? NULL : arena_allocate_zeroed(a, sizeof(*made));
	if (made == NULL) {
		problems_add(list, NULL, 0, "", "out of memory while planning");
		arena_destroy(a);
		return NULL;
	}
	*made = (plan){ .arena = a,
					.folder = g->folder,
					.instance = "",
					.dead_letters = PLAN_NONE,
					.config = c,
					.context_init = g->context_init,
					.context_close = g->context_close };
	planner p = { .plan = made,
				  .arena = a,
				  .config = c,
				  .problems = list,
				  .registry = r,
				  .graph = g,
				  .host = &host_services,
				  .flags = flags,
				  .dead_letter_stream = PLAN_NONE };
	planner_name_service(&p);
	plan_parts(&p);
	int complete = !p.failed && list->errors == 0 && everything_is_bound(&p);
	if (complete)
		plan_whole(&p);
	if (p.failed)
		problems_add(list, NULL, 0, "", "out of memory while planning");
	if (!complete || p.failed || list->errors != 0) {
		plan_destroy(made);
		return NULL;
	}
	return made;
}

void
plan_destroy(plan *p)
{
	if (p != NULL)
		arena_destroy(p->arena);
}
