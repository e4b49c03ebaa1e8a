#include "support/plan_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "expr/expression.h"
#include "flow/host.h"

void
plan_text_open(plan_text *t, const char *folder)
{
	const char *const folders[] = { folder, NULL };
	flow_error error = { 0 };
	memset(t, 0, sizeof(*t));
	t->registry = registry_create(folders, &error);
	if (t->registry == NULL)
		fail_msg("%s", error_message(&error));
	host_services_add(FLOW_SERVICE_EXPRESSIONS, &expressions_service);
	config_text_open(&t->text);
}

int
plan_text_setup(void **state)
{
	static plan_text t;
	plan_text_open(&t, BUILD_FOLDER "/tests/graph_plugins");
	*state = &t;
	return 0;
}

int
plan_text_teardown(void **state)
{
	plan_text *t = *state;
	plan_destroy(t->plan);
	config_text_close(&t->text);
	registry_destroy(t->registry);
	return 0;
}

const char *
plan_text_problems_with(plan_text *t, const char *conf, const char *const *commands)
{
	if (config_text_load(&t->text, conf)) {
		for (size_t i = 0; commands != NULL && commands[i] != NULL; i++)
			config_set_command(t->text.config, commands[i]);
		t->graph = graph_from_config(t->text.config, t->registry);
		if (t->graph != NULL)
			t->plan = plan_create(t->text.config, t->registry, t->graph, t->flags);
	}
	return config_text_problems(&t->text);
}

const char *
plan_text_problems(plan_text *t, const char *conf)
{
	return plan_text_problems_with(t, conf, NULL);
}

const plan *
plan_text_plan(plan_text *t, const char *conf)
{
	const char *reported = plan_text_problems(t, conf);
	if (t->plan == NULL)
		fail_msg("no plan:\n%s", reported);
	return t->plan;
}

const char *
plan_text_printed(plan_text *t, void (*print)(const plan *p, FILE *to))
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	assert_non_null(to);
	print(t->plan, to);
	fclose(to);
	const char *copy = arena_copy(t->text.arena, text, size);
	free(text);
	return copy;
}

const plan_operator *
plan_text_operator(const plan *p, const char *name)
{
	for (uint32_t i = 0; i < p->operator_count; i++)
		if (strcmp(p->operators[i].name, name) == 0)
			return &p->operators[i];
	fail_msg("no operator is called %s", name);
	return NULL;
}

const plan_stream *
plan_text_stream(const plan *p, const char *id, uint32_t direction)
{
	for (uint32_t i = 0; i < p->stream_count; i++)
		if (p->streams[i].direction == direction && strcmp(p->streams[i].id, id) == 0)
			return &p->streams[i];
	fail_msg("no stream is called %s", id);
	return NULL;
}

const plan_edge *
plan_text_edge_to(const plan *p, const char *name)
{
	uint32_t number = plan_text_operator(p, name)->index;
	for (uint32_t i = 0; i < p->edge_count; i++)
		if (p->edges[i].to == number)
			return &p->edges[i];
	fail_msg("no edge leads to %s", name);
	return NULL;
}

static void
print_stages(const plan *p, FILE *to)
{
	for (uint32_t i = 0; i < p->stage_count; i++) {
		const plan_stage *stage = &p->stages[i];
		fprintf(to, "%s%u%s:", i == 0 ? "" : "; ", stage->task_count, stage->keyed ? " keyed" : "");
		for (uint32_t k = 0; k < stage->operator_count; k++)
			fprintf(to, " %s", p->operators[stage->operators[k]].name);
	}
}

const char *
plan_text_stages(plan_text *t)
{
	return plan_text_printed(t, print_stages);
}
