/*
 * flow/transformer.h - component kind `transformer`: changes records of an input before anything else sees them. A system
 * can have a default transformer, a stream can name its own (source of the idea: SEP-14).
 */
#ifndef FLOW_TRANSFORMER_H
#define FLOW_TRANSFORMER_H

#include "flow/batch.h"
#include "flow/component.h"
#include "flow/function.h"
#include "flow/host.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_transformer flow_transformer;

typedef struct flow_transformer_ops {
	uint32_t struct_size;
	uint32_t reserved;
	/* [main] The type of the results for an input of this type; *output is released by the host. */
	flow_status (*bind)(const flow_host *host, const flow_options *options, const flow_schema *input,
	                    const flow_schema *input_key, const flow_schema **output, void **binding, flow_error *error);
	void (*unbind)(void *binding); /* [main] */
	/* [task] Once per task, before apply. */
	flow_status (*init)(void *binding, flow_context *context, flow_transformer **transformer, flow_error *error);
	/* [task] Hands results to context->outputs[0]; leaving a record out drops it (its offset still advances). */
	flow_status (*apply)(flow_transformer *transformer, const flow_batch *batch, flow_error *error);
	void (*close)(flow_transformer *transformer); /* [task] once per init */
} flow_transformer_ops;

#ifdef __cplusplus
}
#endif
#endif
