/*
 * flow/error.h - status codes, and the error that a failing call fills.
 *
 * A fallible function returns flow_status: 0 is success, negative is a failure from the list below, positive is a
 * success that says more (FLOW_AGAIN, FLOW_END). On failure it has filled the `flow_error *` it was given; a NULL
 * error is allowed and means that the caller does not want the text.
 *
 * A good message names the thing, the place (file:line, stream, partition, offset) and what to do about it.
 */
#ifndef FLOW_ERROR_H
#define FLOW_ERROR_H

#include <stdarg.h>

#include "flow/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t flow_status;

#define FLOW_OK 0
#define FLOW_AGAIN 1 /* nothing (more) can be done now; the call changed nothing, or did as much as it says */
#define FLOW_END 2   /* nothing will ever come again */
#define FLOW_CHANGED 3 /* source_read: the set of partitions changed; ask source_partitions again */

/* X(name, value, text, retryable): the one list of failures. Append only; values never change. */
#define FLOW_STATUS_LIST(X)                                                                                            \
	X(FLOW_E_FAILED, -1, "failed", 0)                                                                              \
	X(FLOW_E_MEMORY, -2, "out of memory", 0)                                                                       \
	X(FLOW_E_ARGUMENT, -3, "invalid argument", 0)                                                                  \
	X(FLOW_E_UNSUPPORTED, -4, "not supported", 0)                                                                  \
	X(FLOW_E_NOT_FOUND, -5, "not found", 0)                                                                        \
	X(FLOW_E_EXISTS, -6, "exists already", 0)                                                                      \
	X(FLOW_E_CONFIG, -7, "invalid configuration", 0)                                                               \
	X(FLOW_E_PLUGIN, -8, "plugin refused", 0)                                                                      \
	X(FLOW_E_IO, -9, "input/output error", 0)                                                                      \
	X(FLOW_E_FULL, -10, "no space left", 1)                                                                        \
	X(FLOW_E_UNAVAILABLE, -11, "temporarily unavailable", 1)                                                       \
	X(FLOW_E_TIMEOUT, -12, "timed out", 1)                                                                         \
	X(FLOW_E_CANCELLED, -13, "cancelled", 0)                                                                       \
	X(FLOW_E_CORRUPT, -14, "corrupt data", 0)                                                                      \
	X(FLOW_E_DECODE, -15, "cannot decode", 0)                                                                      \
	X(FLOW_E_ENCODE, -16, "cannot encode", 0)                                                                      \
	X(FLOW_E_TYPE, -17, "wrong type", 0)                                                                           \
	X(FLOW_E_RANGE, -18, "out of range", 0)                                                                        \
	X(FLOW_E_NULL_KEY, -19, "null key", 0)                                                                         \
	X(FLOW_E_LATE, -20, "late record", 0)                                                                          \
	X(FLOW_E_CONFLICT, -21, "conflict", 0)                                                                         \
	X(FLOW_E_FENCED, -22, "fenced by a newer instance", 0)                                                         \
	X(FLOW_E_LOCKED, -23, "locked by another process", 0)                                                          \
	X(FLOW_E_LIMIT, -24, "over a limit", 0)                                                                        \
	X(FLOW_E_DENIED, -25, "permission denied", 0)                                                                  \
	X(FLOW_E_INTERNAL, -26, "internal error", 0)                                                                   \
	X(FLOW_E_POSITION_LOST, -27, "position is gone", 0)

#define FLOW_STATUS_CONSTANT(name, value, text, retryable) static const flow_status name = value;
#ifdef __cplusplus
FLOW_STATUS_LIST(FLOW_STATUS_CONSTANT)
#else
#define FLOW_STATUS_DECLARE(name, value, text, retryable) name = value,
enum { FLOW_STATUS_LIST(FLOW_STATUS_DECLARE) FLOW_STATUS_LAST_ = 0 };
#undef FLOW_STATUS_DECLARE
#endif
#undef FLOW_STATUS_CONSTANT

/* Host-owned and opaque. Holds status, message, component, option path and the flags below. */
typedef struct flow_error flow_error;

/* Flags of an error. */
#define FLOW_ERROR_RETRYABLE 1u /* the same call may succeed later */
#define FLOW_ERROR_FATAL 2u     /* the instance cannot go on; it will only be closed */
#define FLOW_ERROR_POISON 4u    /* this input will fail for ever: dead letter, not retry */

/*
 * How a plugin fills an error. The host hands this table out in flow_host; the SDK's flow_fail() uses it.
 * All functions accept a NULL error and then do nothing.
 */
typedef struct flow_error_ops {
	uint32_t struct_size;
	uint32_t reserved;
	/* [any] Sets status and message (printf form), replacing what was there. Returns `status`. */
	flow_status (*set)(flow_error *error, flow_status status, const char *format, va_list arguments);
	/* [any] Puts "what: " before the message: the caller's view of it. */
	void (*prefix)(flow_error *error, const char *format, va_list arguments);
	/* [any] Adds FLOW_ERROR_* flags. */
	void (*flag)(flow_error *error, uint32_t flags);
	/* [any] Names the option that the error is about, like "streams.flights.path". Copied. */
	void (*option)(flow_error *error, const char *path);
	/* [any] Reads. The text stays valid until the error is changed. */
	flow_status (*status)(const flow_error *error);
	const char *(*message)(const flow_error *error); /* [any] */
	/* [any] For a plugin's own threads. NULL: out of memory, which every call accepts. */
	flow_error *(*create)(void);
	void (*free)(flow_error *error);
} flow_error_ops;

#ifdef __cplusplus
}
#endif
#endif
