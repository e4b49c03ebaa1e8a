/*
 * flow/application.h - component kind `application`: descriptors and a graph in C (source of the idea: SEP-14).
 *
 * `describe` runs once at planning time and accumulates: it sets properties of things by name, and adds steps to flows.
 * The generic calls below are what every typed descriptor (flow_sdk/descriptor.h, `<name>_descriptor.h` of a plugin: static
 * inline wrappers) comes down to; so an application links no plugin. Nothing is checked while describing: all errors are
 * collected and shown at once, with the file and line that FLOW_HERE recorded.
 *
 * What was not set is not there: no key of it appears anywhere, not even with its default.
 */
#ifndef FLOW_APPLICATION_H
#define FLOW_APPLICATION_H

#include "flow/component.h"
#include "flow/host.h"

#ifdef __cplusplus
extern "C" {
#endif

struct flow_graph_ops;

/* The application under description; made by the host, valid until describe (or expand) returns. */
typedef struct flow_graph {
	uint32_t struct_size;
	uint32_t reserved;
	const struct flow_graph_ops *ops;
} flow_graph;

/* A system, input, output, table or step; owned by the graph, valid as long as it. */
typedef struct flow_descriptor {
	uint32_t struct_size;
	uint32_t kind; /* FLOW_DESCRIBE_* */
	flow_graph *graph;
	const char *name; /* NULL: a step without name */
} flow_descriptor;

/* Kinds of descriptors. */
#define FLOW_DESCRIBE_SYSTEM 1
#define FLOW_DESCRIBE_INPUT 2
#define FLOW_DESCRIBE_OUTPUT 3
#define FLOW_DESCRIBE_TABLE 4
#define FLOW_DESCRIBE_STEP 5
#define FLOW_DESCRIBE_APPLICATION 6

#define FLOW_TEXT_OF_(x) #x
#define FLOW_TEXT_OF(x) FLOW_TEXT_OF_(x)
#define FLOW_HERE __FILE__ ":" FLOW_TEXT_OF(__LINE__)

typedef struct flow_graph_ops {
	uint32_t struct_size;
	uint32_t reserved;
	/* [main] A new descriptor of that kind and name. `place` is FLOW_HERE. Two of one kind and name must say the same in the end:
	 * then they are one thing; else that is an error which names both places. FLOW_DESCRIBE_STEP finds the step that was made
	 * under this name. Never NULL: after an error it is one that nobody reads, and the error is kept. */
	flow_descriptor *(*descriptor)(flow_graph *graph, uint32_t kind, const char *name, const char *place);
	/* [main] Sets a property by its dotted path, as in a configuration file ("serde.type"; segments with dots are quoted). Last
	 * call wins. Texts are copied. */
	void (*set_text)(flow_descriptor *descriptor, const char *path, const char *text, const char *place);
	void (*set_int)(flow_descriptor *descriptor, const char *path, int64_t number, const char *place);
	void (*set_float)(flow_descriptor *descriptor, const char *path, double number, const char *place);
	void (*set_bool)(flow_descriptor *descriptor, const char *path, int truth, const char *place);
	/* [main] Appends to a list property. */
	void (*add_text)(flow_descriptor *descriptor, const char *path, const char *text, const char *place);
	/* [main] The system of a stream by its name, whether or not it is described in code (`from(id, system-name)`). */
	void (*set_system)(flow_descriptor *stream, const char *system_name, const char *place);
	/* [main] A new step behind `previous` (an input or a step). `name` may be NULL where the step keeps nothing. */
	flow_descriptor *(*step)(flow_graph *graph, flow_descriptor *previous, const char *name, const char *place);
	/* [main] The second input of a step with a function of two inputs. */
	void (*connect)(flow_descriptor *step, flow_descriptor *second, const char *place);
	/* [main] The application: name, default_system, checkpoint and changelog systems, job options. */
	flow_descriptor *(*application)(flow_graph *graph);
	/* [main] The context that all functions of the application share, per task: flow_context_ops.shared. `init` and `close` are
	 * [task]: init before the task's functions are opened, close after they are closed, also after a failure. `close` may be NULL. */
	void (*set_context)(flow_graph *graph, flow_status (*init)(void **shared, flow_error *error),
	                    void (*close)(void *shared));
	/* [main] The records of a further input or step come in together with those of `previous`: one stream, as they arrive. All
	 * have one type. */
	void (*merge)(flow_descriptor *step, flow_descriptor *other, const char *place);
	/* [main] What leaves a step by its second output, for use as `previous`; functions with two outputs. */
	flow_descriptor *(*second_output)(flow_descriptor *step, const char *place);
	/* [main] In `expand` only: takes over everything that was set for the logical input, its serde and free properties included, and
	 * not its system. What is set before it is replaced, what is set later wins. */
	void (*inherit)(flow_descriptor *input, const char *place);
} flow_graph_ops;

typedef struct flow_application_ops {
	uint32_t struct_size;
	uint32_t reserved;
	/* [main] Describes the application through `ops`. `options`: its own ones, from the group `application` of the configuration. A
	 * failure is reported beside the collected errors. */
	flow_status (*describe)(const flow_host *host, const flow_options *options, const flow_graph_ops *ops,
	                        flow_graph *graph, flow_error *error);
} flow_application_ops;

#ifdef __cplusplus
}
#endif
#endif
