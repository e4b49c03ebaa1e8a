/*
 * flow_sdk/descriptor.h - fluent descriptors for applications in C (component kind `application`).
 *
 *     flow_system_descriptor files = flow_system(graph, "files", "file");
 *     flow_input_descriptor flights = flow_input_with_bounded(flow_input(files, "flights"), 1);
 *     flow_step_descriptor late = flow_step(flights, "delayed");
 *     flow_step_set_text(late, "where", "dep_delay > 15");
 *     flow_send_to(late, flow_output(files, "late"));
 *
 * Descriptors are nominal: structs of one member, whose name says the kind (`system`, `input`, `output`, `table`, `step`). A
 * plugin's own descriptors (<name>_descriptor.h) are structs with the same member, so everything here takes them as well and
 * gives them back, and an output where an input belongs does not compile. Every setter returns its descriptor. It says exactly
 * what it is given: truth 0 says false, and what no setter named is not there. The place of each call is recorded (FLOW_HERE).
 *
 * Ownership: descriptors belong to the graph. Threads: [main]. Errors are collected by the host and shown all at once.
 */
#ifndef FLOW_SDK_DESCRIPTOR_H
#define FLOW_SDK_DESCRIPTOR_H

#include "flow/application.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_system_descriptor {
	flow_descriptor *system;
} flow_system_descriptor;
typedef struct flow_input_descriptor {
	flow_descriptor *input;
} flow_input_descriptor;
typedef struct flow_output_descriptor {
	flow_descriptor *output;
} flow_output_descriptor;
typedef struct flow_table_descriptor {
	flow_descriptor *table;
} flow_table_descriptor;
typedef struct flow_step_descriptor {
	flow_descriptor *step;
} flow_step_descriptor;
typedef struct flow_application_descriptor {
	flow_descriptor *application;
} flow_application_descriptor;

/* --- what the macros below come down to: for the setters of <name>_descriptor.h --------------------------------------------- */

static inline flow_descriptor *
flow_put_text(flow_descriptor *descriptor, const char *path, const char *text, const char *place)
{
	descriptor->graph->ops->set_text(descriptor, path, text, place);
	return descriptor;
}

static inline flow_descriptor *
flow_put_int(flow_descriptor *descriptor, const char *path, int64_t number, const char *place)
{
	descriptor->graph->ops->set_int(descriptor, path, number, place);
	return descriptor;
}

static inline flow_descriptor *
flow_put_float(flow_descriptor *descriptor, const char *path, double number, const char *place)
{
	descriptor->graph->ops->set_float(descriptor, path, number, place);
	return descriptor;
}

static inline flow_descriptor *
flow_put_bool(flow_descriptor *descriptor, const char *path, int truth, const char *place)
{
	descriptor->graph->ops->set_bool(descriptor, path, truth, place);
	return descriptor;
}

static inline flow_descriptor *
flow_append_text(flow_descriptor *descriptor, const char *path, const char *text, const char *place)
{
	descriptor->graph->ops->add_text(descriptor, path, text, place);
	return descriptor;
}

static inline flow_descriptor *
flow_make(flow_graph *graph, uint32_t kind, const char *name, const char *place)
{
	return graph->ops->descriptor(graph, kind, name, place);
}

/* A stream in the system with that name, described in code or not. */
static inline flow_descriptor *
flow_make_stream(flow_graph *graph, uint32_t kind, const char *id, const char *system_name, const char *place)
{
	flow_descriptor *stream = flow_make(graph, kind, id, place);
	graph->ops->set_system(stream, system_name, place);
	return stream;
}

static inline flow_descriptor *
flow_make_system(flow_graph *graph, const char *name, const char *type, const char *place)
{
	return flow_put_text(flow_make(graph, FLOW_DESCRIBE_SYSTEM, name, place), "type", type, place);
}

static inline flow_descriptor *
flow_make_step(flow_descriptor *previous, const char *name, const char *place)
{
	return previous->graph->ops->step(previous->graph, previous, name, place);
}

static inline flow_descriptor *
flow_put_connect(flow_descriptor *step, flow_descriptor *second, const char *place)
{
	step->graph->ops->connect(step, second, place);
	return step;
}

static inline flow_descriptor *
flow_put_merge(flow_descriptor *step, flow_descriptor *other, const char *place)
{
	step->graph->ops->merge(step, other, place);
	return step;
}

/* The descriptor that `of` is, with the pointer that a call gave back. */
#define FLOW_SAME(of, pointer) __extension__({ (__typeof__(of)){ pointer }; })
#define FLOW_NEW(type, pointer) __extension__({ (type){ pointer }; })

/* --- the application ----------------------------------------------------------------------------------------------- */

#define flow_application(graph) FLOW_NEW(flow_application_descriptor, (graph)->ops->application(graph))
#define flow_application_with_name(app, name)                                                                          \
	FLOW_SAME(app, flow_put_text((app).application, "name", name, FLOW_HERE))
/* The system of intermediate streams; never that of an input or output. By descriptor, or by name. */
#define flow_application_with_default_system(app, of_system)                                                           \
	FLOW_SAME(app, flow_put_text((app).application, "default_system", (of_system).system->name, FLOW_HERE))
#define flow_application_with_default_system_name(app, system_name)                                                    \
	FLOW_SAME(app, flow_put_text((app).application, "default_system", system_name, FLOW_HERE))
/* Where checkpoints and changelogs go, if not to the default system. */
#define flow_application_with_checkpoint_system(app, system_name)                                                      \
	FLOW_SAME(app, flow_put_text((app).application, "checkpoint_system", system_name, FLOW_HERE))
#define flow_application_with_changelog_system(app, system_name)                                                       \
	FLOW_SAME(app, flow_put_text((app).application, "changelog_system", system_name, FLOW_HERE))
/* Any option of the job: "parallelism", "checkpoint_interval" ... */
#define flow_application_set_text(app, path, text)                                                                     \
	FLOW_SAME(app, flow_put_text((app).application, path, text, FLOW_HERE))
#define flow_application_set_int(app, path, number)                                                                    \
	FLOW_SAME(app, flow_put_int((app).application, path, number, FLOW_HERE))
#define flow_application_set_bool(app, path, truth)                                                                    \
	FLOW_SAME(app, flow_put_bool((app).application, path, truth, FLOW_HERE))
/* The output that takes rejected records. */
#define flow_application_with_dead_letters(app, to)                                                                    \
	FLOW_SAME(app, flow_put_text((app).application, "dead_letters", (to).output->name, FLOW_HERE))

/* --- systems --------------------------------------------------------------------------------------------------------- */

/* A system by its name and type, for types without descriptors of their own. */
#define flow_system(graph, name, type) FLOW_NEW(flow_system_descriptor, flow_make_system(graph, name, type, FLOW_HERE))
/* The serde of its streams that name none, and of intermediate streams where it is the default system. */
#define flow_system_with_serde(of, serde) FLOW_SAME(of, flow_put_text((of).system, "serde", serde, FLOW_HERE))
#define flow_system_with_key_value_serde(of, key, value)                                                               \
	FLOW_SAME(of, flow_put_text(flow_put_text((of).system, "serde.key", key, FLOW_HERE), "serde.value", value, FLOW_HERE))
/* Where reading of its inputs starts that say nothing: "oldest", "newest". */
#define flow_system_with_offset_default(of, start)                                                                     \
	FLOW_SAME(of, flow_put_text((of).system, "stream_defaults.offset_default", start, FLOW_HERE))
/* Any option, also of its streams ("stream_defaults.NAME"). */
#define flow_system_set_text(of, path, text) FLOW_SAME(of, flow_put_text((of).system, path, text, FLOW_HERE))
#define flow_system_set_int(of, path, number) FLOW_SAME(of, flow_put_int((of).system, path, number, FLOW_HERE))
#define flow_system_set_float(of, path, number) FLOW_SAME(of, flow_put_float((of).system, path, number, FLOW_HERE))
#define flow_system_set_bool(of, path, truth) FLOW_SAME(of, flow_put_bool((of).system, path, truth, FLOW_HERE))
#define flow_system_add_text(of, path, text) FLOW_SAME(of, flow_append_text((of).system, path, text, FLOW_HERE))

/* --- inputs ---------------------------------------------------------------------------------------------------------- */

/* An input of a system that is described in code. */
#define flow_input(of_system, id)                                                                                      \
	FLOW_NEW(flow_input_descriptor, flow_make_stream((of_system).system->graph, FLOW_DESCRIBE_INPUT, id,               \
													 (of_system).system->name, FLOW_HERE))
/* An input of a system that the configuration describes. */
#define flow_input_from(graph, id, system_name)                                                                        \
	FLOW_NEW(flow_input_descriptor, flow_make_stream(graph, FLOW_DESCRIBE_INPUT, id, system_name, FLOW_HERE))
#define flow_input_with_serde(in, serde) FLOW_SAME(in, flow_put_text((in).input, "serde", serde, FLOW_HERE))
#define flow_input_with_key_value_serde(in, key, value)                                                                \
	FLOW_SAME(in, flow_put_text(flow_put_text((in).input, "serde.key", key, FLOW_HERE), "serde.value", value, FLOW_HERE))
#define flow_input_with_physical_name(in, name) FLOW_SAME(in, flow_put_text((in).input, "physical_name", name, FLOW_HERE))
/* "none": without the transformer of its system. */
#define flow_input_with_transformer(in, id) FLOW_SAME(in, flow_put_text((in).input, "transformer", id, FLOW_HERE))
#define flow_input_with_bootstrap(in, truth) FLOW_SAME(in, flow_put_bool((in).input, "bootstrap", truth, FLOW_HERE))
#define flow_input_with_priority(in, number) FLOW_SAME(in, flow_put_int((in).input, "priority", number, FLOW_HERE))
#define flow_input_with_offset_default(in, start)                                                                      \
	FLOW_SAME(in, flow_put_text((in).input, "offset_default", start, FLOW_HERE))
#define flow_input_with_reset_offset(in, truth) FLOW_SAME(in, flow_put_bool((in).input, "reset_offset", truth, FLOW_HERE))
#define flow_input_with_bounded(in, truth) FLOW_SAME(in, flow_put_bool((in).input, "bounded", truth, FLOW_HERE))
#define flow_input_with_broadcast(in, truth) FLOW_SAME(in, flow_put_bool((in).input, "broadcast", truth, FLOW_HERE))
#define flow_input_with_delete_committed_messages(in, truth)                                                           \
	FLOW_SAME(in, flow_put_bool((in).input, "delete_committed_messages", truth, FLOW_HERE))
#define flow_input_with_record_errors(in, policy)                                                                      \
	FLOW_SAME(in, flow_put_text((in).input, "record_errors", policy, FLOW_HERE))
/* Any property, also of its system's type. */
#define flow_input_set_text(in, path, text) FLOW_SAME(in, flow_put_text((in).input, path, text, FLOW_HERE))
#define flow_input_set_int(in, path, number) FLOW_SAME(in, flow_put_int((in).input, path, number, FLOW_HERE))
#define flow_input_set_float(in, path, number) FLOW_SAME(in, flow_put_float((in).input, path, number, FLOW_HERE))
#define flow_input_set_bool(in, path, truth) FLOW_SAME(in, flow_put_bool((in).input, path, truth, FLOW_HERE))
#define flow_input_add_text(in, path, text) FLOW_SAME(in, flow_append_text((in).input, path, text, FLOW_HERE))

/* --- outputs --------------------------------------------------------------------------------------------------------- */

#define flow_output(of_system, id)                                                                                     \
	FLOW_NEW(flow_output_descriptor, flow_make_stream((of_system).system->graph, FLOW_DESCRIBE_OUTPUT, id,             \
													  (of_system).system->name, FLOW_HERE))
#define flow_output_from(graph, id, system_name)                                                                       \
	FLOW_NEW(flow_output_descriptor, flow_make_stream(graph, FLOW_DESCRIBE_OUTPUT, id, system_name, FLOW_HERE))
#define flow_output_with_serde(out, serde) FLOW_SAME(out, flow_put_text((out).output, "serde", serde, FLOW_HERE))
#define flow_output_with_key_value_serde(out, key, value)                                                              \
	FLOW_SAME(out,                                                                                                     \
			  flow_put_text(flow_put_text((out).output, "serde.key", key, FLOW_HERE), "serde.value", value, FLOW_HERE))
#define flow_output_with_physical_name(out, name)                                                                      \
	FLOW_SAME(out, flow_put_text((out).output, "physical_name", name, FLOW_HERE))
#define flow_output_with_delivery(out, promise) FLOW_SAME(out, flow_put_text((out).output, "delivery", promise, FLOW_HERE))
#define flow_output_with_record_errors(out, policy)                                                                    \
	FLOW_SAME(out, flow_put_text((out).output, "record_errors", policy, FLOW_HERE))
#define flow_output_set_text(out, path, text) FLOW_SAME(out, flow_put_text((out).output, path, text, FLOW_HERE))
#define flow_output_set_int(out, path, number) FLOW_SAME(out, flow_put_int((out).output, path, number, FLOW_HERE))
#define flow_output_set_float(out, path, number) FLOW_SAME(out, flow_put_float((out).output, path, number, FLOW_HERE))
#define flow_output_set_bool(out, path, truth) FLOW_SAME(out, flow_put_bool((out).output, path, truth, FLOW_HERE))
#define flow_output_add_text(out, path, text) FLOW_SAME(out, flow_append_text((out).output, path, text, FLOW_HERE))

/* --- tables ---------------------------------------------------------------------------------------------------------- */

#define flow_table_of(graph, name, type)                                                                               \
	FLOW_NEW(flow_table_descriptor,                                                                                    \
			 flow_put_text(flow_make(graph, FLOW_DESCRIBE_TABLE, name, FLOW_HERE), "type", type, FLOW_HERE))
#define flow_table_set_text(of, path, text) FLOW_SAME(of, flow_put_text((of).table, path, text, FLOW_HERE))
#define flow_table_set_int(of, path, number) FLOW_SAME(of, flow_put_int((of).table, path, number, FLOW_HERE))
#define flow_table_set_float(of, path, number) FLOW_SAME(of, flow_put_float((of).table, path, number, FLOW_HERE))
#define flow_table_set_bool(of, path, truth) FLOW_SAME(of, flow_put_bool((of).table, path, truth, FLOW_HERE))

/* --- steps ----------------------------------------------------------------------------------------------------------- */

/* The first step behind an input, and the next one behind a step. `name` may be NULL where the step keeps nothing. What the step
 * does is set like in a file: its function stands under its own name ("where", "window.tumbling"). */
#define flow_step(in, name) FLOW_NEW(flow_step_descriptor, flow_make_step((in).input, name, FLOW_HERE))
#define flow_next(before, name) FLOW_NEW(flow_step_descriptor, flow_make_step((before).step, name, FLOW_HERE))
#define flow_step_set_text(of, path, text) FLOW_SAME(of, flow_put_text((of).step, path, text, FLOW_HERE))
#define flow_step_set_int(of, path, number) FLOW_SAME(of, flow_put_int((of).step, path, number, FLOW_HERE))
#define flow_step_set_float(of, path, number) FLOW_SAME(of, flow_put_float((of).step, path, number, FLOW_HERE))
#define flow_step_set_bool(of, path, truth) FLOW_SAME(of, flow_put_bool((of).step, path, truth, FLOW_HERE))
#define flow_step_add_text(of, path, text) FLOW_SAME(of, flow_append_text((of).step, path, text, FLOW_HERE))
/* Partitions the records before the step's function gets them. key_by may be called again: the key has several parts. */
#define flow_step_key_by(of, expression) FLOW_SAME(of, flow_append_text((of).step, "key_by", expression, FLOW_HERE))
#define flow_step_shuffle(of) FLOW_SAME(of, flow_put_bool((of).step, "shuffle", 1, FLOW_HERE))
#define flow_step_global(of) FLOW_SAME(of, flow_put_bool((of).step, "global", 1, FLOW_HERE))
#define flow_step_broadcast(of) FLOW_SAME(of, flow_put_bool((of).step, "broadcast", 1, FLOW_HERE))
/* The second input of a function of two, and further streams that come in together with the first. */
#define flow_step_connect_step(of, second) FLOW_SAME(of, flow_put_connect((of).step, (second).step, FLOW_HERE))
#define flow_step_connect_input(of, second) FLOW_SAME(of, flow_put_connect((of).step, (second).input, FLOW_HERE))
#define flow_step_merge_step(of, other) FLOW_SAME(of, flow_put_merge((of).step, (other).step, FLOW_HERE))
#define flow_step_merge_input(of, other) FLOW_SAME(of, flow_put_merge((of).step, (other).input, FLOW_HERE))
/* What leaves a step by its second output. */
#define flow_step_second_output(of)                                                                                    \
	FLOW_NEW(flow_step_descriptor, (of).step->graph->ops->second_output((of).step, FLOW_HERE))
/* A step that writes an output, behind a step or an input, and passes the records on. */
#define flow_send_to(before, out)                                                                                      \
	FLOW_NEW(flow_step_descriptor,                                                                                     \
			 flow_put_text(flow_make_step((before).step, NULL, FLOW_HERE), "to", (out).output->name, FLOW_HERE))
#define flow_input_send_to(in, out)                                                                                    \
	FLOW_NEW(flow_step_descriptor,                                                                                     \
			 flow_put_text(flow_make_step((in).input, NULL, FLOW_HERE), "to", (out).output->name, FLOW_HERE))

#ifdef __cplusplus
}
#endif
#endif
