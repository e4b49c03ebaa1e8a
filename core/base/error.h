/*
 * base/error.h - the host's side of flow_error: one failure, with the text that a user will read.
 *
 * Use: `flow_error error = { 0 };` on the stack, hand &error to what can fail, read error_message(), error_clear().
 * Ownership: an error owns its text. Threads: one error belongs to one thread at a time.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "flow/error.h"

struct flow_error {
	flow_status status;
	uint32_t flags; /* FLOW_ERROR_* */
	char *message;  /* NULL: none; static text if out of memory */
	char *option;   /* path of the option at fault, or NULL */
};

/* The table that plugins get. */
extern const flow_error_ops error_ops;

/* Sets status and message, replacing what was there. Returns `status`. A NULL error is allowed, here and below. */
flow_status error_set(flow_error *error, flow_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Puts "text: " before the message. */
void error_prefix(flow_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Moves everything from `from` (which is empty afterwards) into `to`. */
void error_move(flow_error *to, flow_error *from);
void error_clear(flow_error *error);
/* What a plugin's call that succeeds or fails has answered: a status that is neither becomes FLOW_E_PLUGIN, a failure that does not say
 * why gets the text of its status. Returns the status that counts. */
flow_status error_settle(flow_error *error, flow_status status, const char *call);
const char *error_message(const flow_error *error); /* "" where there is none */

/* Name ("FLOW_E_IO") and plain text ("input/output error") of a status; retryable by the list. */
const char *status_name(flow_status status);
const char *status_text(flow_status status);
int status_retryable(flow_status status);
/* The status that fits an errno. */
flow_status status_of_errno(int number);

#endif
