/*
 * support/recorded_graph.h - a graph that notes each call that a descriptor's setter comes down to, for tests of descriptors.
 *
 *     recorded_graph *r = recorded_graph_create();
 *     recorded_graph *r = *state;
 *     SAYS(file_system(recorded_graph_of(r), "files"), "system files: described\nsystem files: type = \"file\"\n");
 *
 * One line a call: kind and name of the descriptor, then what was said. The place of each call must be "FILE:LINE" in
 * a test, else the test fails. Everything belongs to the recorder.
 */
#ifndef SUPPORT_RECORDED_GRAPH_H
#define SUPPORT_RECORDED_GRAPH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "flow/application.h"

typedef struct recorded_graph recorded_graph;

/* cmocka setup and teardown of one test; *state is the recorder. */
int recorded_graph_setup(void **state);
int recorded_graph_teardown(void **state);
flow_graph *recorded_graph_of(recorded_graph *r);
/* What was called since the last question. Valid until the next call on the recorder. */
const char *recorded_graph_text(recorded_graph *r);

/* One call, and what it came down to; the recorder is `r`. */
#define SAYS(call, text)                                                                                               \
	do {                                                                                                               \
		call;                                                                                                          \
		assert_string_equal(recorded_graph_text(r), text);                                                             \
	} while (0)

#endif
