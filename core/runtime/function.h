/*
 * runtime/function.h - a function node's own state, shared by its driver and the calls that the function makes. Private.
 *
 * Threads: the task's.
 */
#ifndef RUNTIME_FUNCTION_H
#define RUNTIME_FUNCTION_H

#include "runtime/keys.h"
#include "runtime/run.h"

typedef struct function_self function_self;

typedef struct function_output {
	flow_output output; /* what the function sees */
	function_self *owner;
	uint32_t index;
	uint8_t keyed; /* its rows keep the key of their input row */
	uint8_t memory_used;
	flow_builder *builder;
	flow_builder *memory;
} function_output;

struct function_self {
	node *n;
	flow_context context;
	flow_function *instance;
	function_output outputs[2];
	flow_output *output_list[2];
	uint32_t output_count;
	task_state *state;
	const flow_schema *key_schema; /* of its input */
	flow_builder *one_key;         /* memory of with_one_key; NULL: the input is keyed, or there is no state */
	uint8_t keyed[2];              /* by input: state and outputs go by its keys */
	flow_builder *scratch;
	uint8_t scratch_used;
	uint8_t polled; /* the function owns the event time that it was told last */
	uint8_t keys_known;
	key_set keys;              /* of the batch under way, for keyed outputs */
	const flow_batch *current; /* what the call under way is about; NULL: nothing */
	flow_status (*visit)(void *self, const flow_batch *keys, flow_error *error);
	void *visitor;
};

extern const flow_context_ops function_context_ops;
void function_outputs_init(function_self *self);
/* Rows that the function left in its builders go out, memory for the call is dropped. */
flow_status function_call_done(function_self *self, flow_status status);

#endif
