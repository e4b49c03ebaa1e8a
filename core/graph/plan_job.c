/* The job: its id and options, dead letters, and names in the configuration that belong to nothing. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/planner.h"

static uint32_t
cores(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
		return (uint32_t)CPU_COUNT(&set);
	long count = sysconf(_SC_NPROCESSORS_ONLN);
	return count > 0 ? (uint32_t)count : 1;
}

static const setting *
job_setting(planner *p, const char *name)
{
	return setting_child(config_effective(p->config, "job", NULL), name);
}

/* The id decides which `jobs.<id>` is read, so it is found before that. */
void
plan_job_id(planner *p)
{
	plan *pl = p->plan;
	const setting *id = job_setting(p, "id");
	const char *name = p->graph->name == NULL ? "application" : p->graph->name;
	pl->job = id != NULL && id->kind == SETTING_STRING ? id->text : name;
	if (pl->job == (id == NULL ? NULL : id->text) && !graph_is_name(pl->job))
		problem_at(p->problems, id, "'%s' is no id of a job: use letters, digits, '-' and '_'", pl->job);
	config_use_job(p->config, pl->job);
}

static void
settle_parallelism(planner *p, const flow_options *options)
{
	plan *pl = p->plan;
	uint32_t machine = cores();
	pl->max_parallelism = (uint32_t)flow_option_int(options, "max_parallelism", 128);
	pl->workers = (uint32_t)flow_option_int(options, "workers", machine);
	int64_t parallelism = flow_option_int(options, "parallelism", 0);
	if (parallelism > pl->max_parallelism)
		problem_at(p->problems, job_setting(p, "parallelism"), "%lld is more than max_parallelism, which is %u",
				   (long long)parallelism, pl->max_parallelism);
	pl->parallelism = parallelism > 0 ? (uint32_t)parallelism : pl->workers;
	if (pl->parallelism > pl->max_parallelism)
		pl->parallelism = pl->max_parallelism;
}

static void
settle_dead_letters(planner *p, const flow_options *options)
{
	flow_slice id = flow_option_text(options, "dead_letters");
	if (id.data == NULL)
		return;
	size_t stream = graph_find_stream(p->graph, id.data, FLOW_DIRECTION_OUTPUT);
	if (stream == GRAPH_NONE)
		return; /* the reference was reported */
	p->dead_letters = id.data;
	p->dead_letter_stream = (uint32_t)stream;
}

/* Settings of streams and operators that do not exist. */
static void
report_strangers(planner *p, const char *section, const char *what, const char *const *known, size_t count)
{
	const char *const *names = config_names(p->config, section);
	for (size_t i = 0; names[i] != NULL; i++) {
		int found = 0;
		for (size_t k = 0; k < count && !found; k++)
			found = strcmp(known[k], names[i]) == 0;
		/* Those of intermediate streams are known when the flow is. */
		found |= strcmp(section, "streams") == 0 && planner_may_be_intermediate(p, names[i]);
		const setting *group = found ? NULL : config_effective(p->config, section, names[i]);
		if (group == NULL)
			continue;
		/* The group itself has no line where only a member was set. */
		const setting *place = group->file == NULL && group->child_count != 0 ? group->children[0] : group;
		problem *report = problem_at(p->problems, place, "the application has no %s '%s'", what, names[i]);
		problem_suggest(p->problems, report, names[i], known, count);
	}
}

static void
report_unknown_names(planner *p)
{
	const graph *g = p->graph;
	const char **names = planner_allocate(p, (g->stream_count + g->logical_count + g->step_count + 1) * sizeof(*names));
	if (names == NULL)
		return;
	size_t count = 0;
	for (size_t i = 0; i < g->stream_count; i++)
		names[count++] = g->streams[i]->id;
	for (size_t i = 0; i < g->logical_count; i++)
		names[count++] = g->logical[i]->id;
	report_strangers(p, "streams", "stream", names, count);
	count = 0;
	for (size_t i = 0; i < g->step_count; i++)
		if (g->steps[i]->name != NULL)
			names[count++] = g->steps[i]->name;
	report_strangers(p, "operators", "step", names, count);
}

void
plan_job(planner *p)
{
	static const char *const ignore[] = { "state_store", NULL };
	setting place = *p->graph->place;
	place.path = "job";
	const setting *group = config_effective(p->config, "job", NULL);
	const flow_options *options = planner_resolve(p, &job_options, NULL, "", group, &place, p->plan->job, ignore);
	if (options == NULL)
		return;
	p->plan->job_options = options;
	planner_put_defaults(p, "job", NULL, &job_options, NULL, "", NULL);
	flow_slice instance = flow_option_text(options, "instance");
	p->plan->instance = instance.data == NULL ? "" : instance.data;
	const setting *written = job_setting(p, "instance");
	if (instance.size != 0 && written != NULL && !graph_is_name(instance.data))
		problem_at(p->problems, written, "'%s' is no name of an instance: use letters, digits, '-' and '_'",
				   instance.data);
	if (p->flags & PLAN_TRIAL) {
		const char *own = planner_owned_format(p, "trial-%ld", (long)getpid());
		p->plan->instance = own == NULL ? "" : own;
	}
	p->record_errors = planner_record_errors(options, "record_errors", RECORD_ERRORS_FAIL);
	settle_parallelism(p, options);
	settle_dead_letters(p, options);
	report_unknown_names(p);
}

void
plan_job_store(planner *p)
{
	const setting *written = job_setting(p, "state_store");
	const setting *place = written == NULL ? p->graph->place : written;
	plan *pl = p->plan;
	if (written != NULL)
		pl->state_store = planner_component_setting(p, FLOW_STORE, written, &pl->state_store_options);
	else if (pl->has_state && (pl->state_store = planner_component(p, FLOW_STORE, "rocksdb", place)) != NULL)
		pl->state_store_options = planner_resolve(p, NULL, pl->state_store, "", NULL, place, "rocksdb", NULL);
	if (pl->state_store != NULL && (pl->state_store->flags & FLOW_STORE_ATOMIC_BATCH) == 0)
		problem_at(p->problems, place, "store '%s' does not write a batch as a whole, which keyed state needs",
				   pl->state_store->id);
	if (!pl->has_state)
		pl->state_store = NULL;
}
