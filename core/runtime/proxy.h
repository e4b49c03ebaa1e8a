/*
 * runtime/proxy.h - the checking proxy between host and plugins (--check-plugins): what stands in flow/abi.h about calls, their order,
 * what they return and how long memory lives is verified at every call.
 *
 * A plan is copied with its systems, serdes and functions wrapped; the runtime notices nothing. Instances are called by one thread
 * at a time; failures say why; rows conform to their schema; batches that a function did not retain are gone after the call, and
 * memory that goes back to the pool is overwritten, so that a pointer that was kept shows garbage.
 *
 * A violation is logged and ends the run. Ownership: wrappers live in the proxy's arena, but for those of instances, which their
 * close frees. Threads: those of the calls.
 */
#ifndef RUNTIME_PROXY_H
#define RUNTIME_PROXY_H

#include "runtime/run.h"

/* One instance that is watched. */
typedef struct checked {
	runtime *run;
	const char *kind; /* "system", "source", ... */
	const char *id;   /* the component's */
	atomic_int inside;
	atomic_int closed;
	pthread_t thread; /* of the call under way */
} checked;

void checked_init(checked *c, runtime *run, const char *kind, const char *id);
/* Reports a violation; returns FLOW_E_PLUGIN. */
flow_status checked_violation(checked *c, flow_error *error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Around each call of an instance. `allowed` is a mask of 1 << status for the positive statuses that it may return. */
void checked_enter(checked *c, const char *call);
flow_status checked_leave(checked *c, const char *call, flow_status status, uint32_t allowed, flow_error *error);
void checked_leave_quietly(checked *c);
/* Whether the calling thread is inside a call of the instance. */
int checked_is_inside(const checked *c);

#define ALLOW_NONE 0u
#define ALLOW_AGAIN (1u << FLOW_AGAIN)
#define ALLOW_END (1u << FLOW_END)
#define ALLOW_CHANGED (1u << FLOW_CHANGED)

/* NULL: the value conforms to the schema; else what is wrong. */
const char *checked_value(const flow_schema *schema, const flow_value *value);
/* Rows [from, builder->row_count) of a builder. */
/* No more rows than there is room for: what looks at rows comes after this. */
flow_status checked_room(checked *c, const char *call, const flow_builder *builder, flow_error *error);
flow_status checked_rows(checked *c, const char *call, const flow_builder *builder, uint32_t from,
						 const flow_schema *schema, flow_error *error);

/* proxy_system.c, proxy_serde.c, proxy_function.c: wrap one thing of the copied plan; FLOW_E_MEMORY. */
flow_status proxy_wrap_system(runtime *run, arena *memory, plan_system *system);
flow_status proxy_wrap_serde(runtime *run, arena *memory, plan_serde *serde);
flow_status proxy_wrap_function(runtime *run, arena *memory, plan_operator *op);

/* proxy.c: replaces run->plan by a watched copy. */
flow_status proxy_install(runtime *run, flow_error *error);
/* FLOW_E_PLUGIN with the first violation, if there was one. */
flow_status proxy_verdict(runtime *run, flow_error *error);

#endif
