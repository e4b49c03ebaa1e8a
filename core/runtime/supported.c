/* What a plan may say and this runtime cannot do yet: said before anything starts. */
#include "graph/graph_reader.h"
#include "runtime/runtime.h"

static void
check_function(const plan_operator *o, problems *list)
{
	const flow_function_plan *function = &o->function;
	for (size_t i = 0; function->states != NULL && function->states[i] != NULL; i++) {
		uint32_t kind = function->states[i]->kind;
		if (kind != FLOW_STATE_VALUE && kind != FLOW_STATE_SLOT)
			problem_at(list, o->place, "'%s' keeps '%s' as %s; that can be planned, but not run yet", o->component->id,
					   function->states[i]->name,
					   kind == FLOW_STATE_LIST  ? "a list"
					   : kind == FLOW_STATE_MAP ? "a map"
												: "broadcast state");
	}
}

/* Checkpoints and changelogs elsewhere than in the state directory. */
static void
check_systems(const plan *p, problems *list)
{
	static const char *const names[] = { "checkpoint_system", "changelog_system" };
	const setting *job = config_effective(p->config, "job", NULL);
	for (size_t i = 0; i < FLOW_COUNT(names); i++) {
		const setting *s = setting_child(job, names[i]);
		if (s != NULL)
			problem_at(list, s,
					   "checkpoints and state are kept in the state directory; another system can be planned, but not "
					   "used yet");
	}
}

void
runtime_check(const plan *p, problems *list)
{
	check_systems(p, list);
	for (uint32_t i = 0; i < p->operator_count; i++)
		if (p->operators[i].kind == OPERATOR_FUNCTION)
			check_function(&p->operators[i], list);
}
