/*
 * support/plan_text.h - plans from the text of a configuration, for tests: over the planner's fixture plugin
 * (tests/graph_plugins), in a folder of its own.
 */
#ifndef SUPPORT_PLAN_TEXT_H
#define SUPPORT_PLAN_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/plan.h"
#include "support/config_text.h"

typedef struct plan_text {
	config_text text;
	registry *registry;
	graph *graph;
	plan *plan;
	uint32_t flags; /* PLAN_* */
} plan_text;

/* cmocka setup and teardown of one test; *state is the plan_text. */
int plan_text_setup(void **state);
int plan_text_teardown(void **state);
/* Like setup, with all plugins of this folder instead of the fixture. */
void plan_text_open(plan_text *t, const char *folder);

/* Loads the text (and one --set after the other, NULL-terminated, or NULL) and plans it. Everything reported, sorted, as text. */
const char *plan_text_problems(plan_text *t, const char *conf);
const char *plan_text_problems_with(plan_text *t, const char *conf, const char *const *commands);
/* The plan; fails the test with what was reported if there is none. */
const plan *plan_text_plan(plan_text *t, const char *conf);
/* What a print function writes; lives as long as the fixture. */
const char *plan_text_printed(plan_text *t, void (*print)(const plan *p, FILE *to));

/* By name; fails the test if there is none. */
const plan_operator *plan_text_operator(const plan *p, const char *name);
const plan_stream *plan_text_stream(const plan *p, const char *id, uint32_t direction);
/* The edge into an operator (the first one). */
const plan_edge *plan_text_edge_to(const plan *p, const char *name);
/* "files: source, delayed; counts: ..." one stage a part: head's names, tasks. */
const char *plan_text_stages(plan_text *t);

#endif
