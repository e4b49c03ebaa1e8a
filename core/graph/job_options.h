/*
 * graph/job_options.h - the option tables of the host itself: what stands under job.*, and what every system, stream,
 * table and step has besides its component's own options. The reference documents and `flowd help` are made from them.
 *
 * `serde` of systems and streams and `state_store` of the job take a name or a group { type = "name"; options }, so
 * their tables only name them; the planner reads them.
 */
#ifndef GRAPH_JOB_OPTIONS_H
#define GRAPH_JOB_OPTIONS_H

#include "flow/option.h"

extern const flow_option_set
	job_options; /* job: id, instance, workers, parallelism, checkpoint interval, memory, record errors ... */
extern const flow_option_set
	application_options;                     /* application: name, systems, inputs, flow ... (and everything of job) */
extern const flow_option_set system_options; /* systems.<name>: type, serde, stream_defaults */
extern const flow_option_set input_options;  /* streams.<id> of an input: system, serde, bounded, bootstrap ... */
extern const flow_option_set output_options;
extern const flow_option_set intermediate_options; /* streams.<job>-<operator> */
extern const flow_option_set table_options;
extern const flow_option_set step_options;     /* application.flow[]: name, from, to, key_by ... */
extern const flow_option_set operator_options; /* operators.<name>: those of a step that may be set in every layer */

/* NULL-terminated: all of the above, for help and documents. */
extern const flow_option_set *const host_option_sets[];

#endif
