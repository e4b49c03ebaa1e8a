/*
 * support/function_fixture.h - process functions and transformers in tests: bound, opened and fed without a runtime.
 *
 *     fixture_function *g = fixture_function_open(f, "running_total", (const char *const[]){ "field=amount", NULL }, &input);
 *     fixture_function_process(g, 0, fixture_keyed(f, batch, "carrier"));
 *     assert_string_equal(fixture_function_text(g, 0), "{...}\n");
 *
 * State, timers and event time are the simplest thing that obeys flow/function.h: slots and values by (state, key, space), one
 * task, timers fire in fixture_function_event_time. Everything belongs to the fixture.
 */
#ifndef SUPPORT_FUNCTION_FIXTURE_H
#define SUPPORT_FUNCTION_FIXTURE_H

#include "support/plugin_fixture.h"

typedef struct fixture_function fixture_function;

/* Binds to one input of this type and opens. `key` NULL: not keyed; else the name of the field. */
typedef struct fixture_input {
	const flow_schema *schema;
	const char *key;
	int bounded;
	int global; /* without a key: a global stream, all of whose rows share their state */
} fixture_input;

fixture_function *fixture_function_open(fixture *f, const char *id, const char *const *assignments,
										const fixture_input *input);
/* NULL: bind or open failed, the text is in f->error. */
fixture_function *fixture_try_function_open(fixture *f, const char *id, const char *const *assignments,
											const fixture_input *input);
/* A transformer of one input, which is then fed like a function; its results are output 0. NULL: bind or init failed. */
fixture_function *fixture_try_transformer_open(fixture *f, const char *id, const char *const *assignments,
											   const flow_schema *input);
const flow_function_plan *fixture_function_plan(const fixture_function *g);

/* The batch with key, key bytes and hash columns from a field of its records. */
flow_batch *fixture_keyed(fixture *f, const flow_batch *batch, const char *field);
/* The batch with the timestamp column from a timestamp field. */
flow_batch *fixture_timed(fixture *f, const flow_batch *batch, const char *field);

void fixture_function_process(fixture_function *g, uint32_t input, const flow_batch *batch);
flow_status fixture_try_function_process(fixture_function *g, uint32_t input, const flow_batch *batch);
/* Event time becomes `time` (microseconds; FLOW_EVENT_TIME_END: the end): due event timers fire, ascending. */
void fixture_function_event_time(fixture_function *g, int64_t time);
/* Timers of the clock that are due at this time fire. */
void fixture_function_clock(fixture_function *g, int64_t time);
/* Event time to the end, then end_input. */
void fixture_function_end(fixture_function *g, uint32_t input);

/* What came out since the last call, as JSON lines; with keys and timestamps in the second form. */
const char *fixture_function_text(fixture_function *g, uint32_t output);
const char *fixture_function_text_all(fixture_function *g, uint32_t output);
/* Records reported with reject, oldest first. */
size_t fixture_function_rejections(const fixture_function *g, const fixture_rejection **rejections);
size_t fixture_function_slots(const fixture_function *g);  /* slots and values that are there */
size_t fixture_function_timers(const fixture_function *g); /* timers that wait */

/* A table that the function uses by this name (component of kind table, opened with the schemas). */
void fixture_function_table(fixture *f, const char *name, const char *id, const char *const *assignments,
							const flow_schema *schema, const flow_schema *key_schema);

#endif
