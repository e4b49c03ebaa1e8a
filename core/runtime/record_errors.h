/*
 * runtime/record_errors.h - records that cannot be read, processed or written, and the dead letters. Private to this room.
 */
#ifndef RUNTIME_RECORD_ERRORS_H
#define RUNTIME_RECORD_ERRORS_H

#include "runtime/node.h"

typedef struct record_error {
	flow_status status;
	flow_slice reason;
	flow_slice field;
	flow_slice raw;
	flow_slice key; /* as it came, where it is what cannot be read */
	flow_slice place;
	uint32_t input;    /* UINT32_MAX: none */
	int64_t partition; /* the number that people know it by; -1: none */
	int64_t ordinal;
	int has_ordinal;
	uint64_t line;
	const flow_batch *batch; /* the operator's input and row, for `raw` where it is empty; or NULL */
	uint32_t row;
} record_error;
/* Applies the policy (RECORD_ERRORS_*). FLOW_OK: go on with the next record. */
flow_status record_error_handle(node *n, uint32_t policy, const record_error *what);
flow_status record_error_of_row(node *n, const flow_batch *batch, uint32_t row, flow_status status, flow_slice reason);
flow_status dead_letters_add(node *n, const record_error *what);
flow_status dead_letters_flush(task *t); /* rows so far go out */
flow_status dead_letters_open(task *t, outbox *box);
void dead_letters_close(task *t);

#endif
