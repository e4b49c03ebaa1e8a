/*
 * flow/application.h - component kind `application`: descriptors and a graph in C (source of the idea: SEP-14).
 *
 * `describe` runs once at planning time and accumulates: it sets properties of things by name, and adds steps to flows.
 * The generic calls below are what every typed descriptor (`<name>_descriptor.h` of a plugin: static inline wrappers)
 * comes down to; so an application links no plugin. Nothing is checked while describing: all errors are collected and
 * shown at once, with the file and line that FLOW_HERE recorded.
 */
#ifndef FLOW_APPLICATION_H
#define FLOW_APPLICATION_H

#include "flow/component.h"
#include "flow/host.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_graph flow_graph;         /* the application under description */
typedef struct flow_descriptor flow_descriptor; /* a system, input, output, table or step; owned by the graph */

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
	/* [main] The descriptor of that kind and name; made if it is not there. `place` is FLOW_HERE. Never NULL: after an
	 * error (bad name, same id with other content) it is a dummy and the error is kept. */
	flow_descriptor *(*descriptor)(flow_graph *graph, uint32_t kind, const char *name, const char *place);
	/* [main] Sets a property by its dotted path, as in a configuration file. Last call wins. Texts are copied. */
	void (*set_text)(flow_descriptor *descriptor, const char *path, const char *text, const char *place);
	void (*set_int)(flow_descriptor *descriptor, const char *path, int64_t number, const char *place);
	void (*set_float)(flow_descriptor *descriptor, const char *path, double number, const char *place);
	void (*set_bool)(flow_descriptor *descriptor, const char *path, int truth, const char *place);
	/* [main] Appends to a list property. */
	void (*add_text)(flow_descriptor *descriptor, const char *path, const char *text, const char *place);
	/* [main] The system of a stream, by descriptor or by name (`from(id, system-name)`). */
	void (*set_system)(flow_descriptor *stream, const char *system_name, const char *place);
	/* [main] A new step behind `previous` (an input or a step). `name` may be NULL where the step keeps nothing. */
	flow_descriptor *(*step)(flow_graph *graph, flow_descriptor *previous, const char *name, const char *place);
	/* [main] A further input of a step (two-input functions). */
	void (*connect)(flow_descriptor *step, flow_descriptor *second, const char *place);
	/* [main] A property of the application: name, default_system, checkpoint and changelog systems, job options. */
	flow_descriptor *(*application)(flow_graph *graph);
	/* [main] The context that all functions of the application share, per task. `init` and `close` are [task]. */
	void (*set_context)(flow_graph *graph, flow_status (*init)(void **shared, flow_error *error),
	                    void (*close)(void *shared));
} flow_graph_ops;

typedef struct flow_application_ops {
	uint32_t struct_size;
	uint32_t reserved;
	/* [main] Describes the application through `ops`. A failure is reported beside the collected errors. */
	flow_status (*describe)(const flow_host *host, const flow_options *options, const flow_graph_ops *ops,
	                        flow_graph *graph, flow_error *error);
} flow_application_ops;

#ifdef __cplusplus
}
#endif
#endif
