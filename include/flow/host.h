/*
 * flow/host.h - what the host offers to plugins: a table of calls, and further services by id.
 *
 * The table is handed to flow_plugin.init and stays valid until deinit returned. All calls are [any] unless marked.
 */
#ifndef FLOW_HOST_H
#define FLOW_HOST_H

#include "flow/abi.h"
#include "flow/batch.h"
#include "flow/error.h"
#include "flow/option.h"
#include "flow/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Levels of log lines. */
#define FLOW_LOG_ERROR 1
#define FLOW_LOG_WARN 2
#define FLOW_LOG_INFO 3
#define FLOW_LOG_DEBUG 4
#define FLOW_LOG_TRACE 5

/* Metrics: names are snake_case with a unit at the end ("bytes_read_total"); the host adds plugin and instance. */
#define FLOW_METRIC_COUNTER 1
#define FLOW_METRIC_GAUGE 2

typedef struct flow_metric flow_metric;

/* Ids of services for flow_host.get_service; each names the struct that it returns. */
#define FLOW_SERVICE_SCHEMAS "flow.schemas/1"         /* flow_schemas, flow/schema.h */
#define FLOW_SERVICE_BATCHES "flow.batches/1"         /* flow_batches, flow/batch.h */
#define FLOW_SERVICE_EXPRESSIONS "flow.expressions/1" /* flow_expressions, flow/expression.h */
#define FLOW_SERVICE_COMPONENTS "flow.components/1"   /* flow_components, below */
#define FLOW_SERVICE_ASYNC "flow.async/0"             /* flow_async, below: reserved, no working user yet */
#define FLOW_SERVICE_HTTP "flow.http/0"               /* flow_http, flow/http.h: reserved, no working user yet */

typedef struct flow_host {
	uint32_t struct_size;
	uint32_t abi; /* FLOW_ABI of the host */
	const flow_error_ops *errors;
	/* Writes one line. `component` is NULL or what speaks ("kafka", "kafka/orders"). Repeats are rate-limited by
	 * `level` and format address; do not call it per record. */
	void (*log)(uint32_t level, const char *component, const char *format, va_list arguments);
	uint32_t (*log_level)(void); /* lines above this level are dropped */
	/* Microseconds since the epoch, UTC; virtual in deterministic mode. Plugins have no other clock. */
	int64_t (*now)(void);
	/* Microseconds, never goes back; virtual in deterministic mode. For deadlines. */
	int64_t (*monotonic)(void);
	/* Memory that counts against the host's budget. allocate(0) is NULL; reallocate(NULL, n) allocates. */
	void *(*allocate)(uint64_t size);
	void *(*reallocate)(void *memory, uint64_t size);
	void (*release)(void *memory); /* NULL is allowed */
	/* Registers a metric; [main] or in an open call. `labels` is NULL or "name=value,name=value". Never NULL. */
	flow_metric *(*metric)(uint32_t type, const char *name, const char *labels, const char *doc);
	void (*metric_add)(flow_metric *metric, int64_t delta); /* counter, gauge */
	void (*metric_set)(flow_metric *metric, int64_t value); /* gauge */
	/* A service by id, or NULL: this host has none. Look it up in init or open, not per record. */
	const void *(*get_service)(const char *id);
	/* True once the job is asked to end now: blocking calls return FLOW_E_CANCELLED soon after. */
	int (*cancelled)(void);
} flow_host;

/* Service FLOW_SERVICE_COMPONENTS: other components, by name, without linking their plugins. */
typedef struct flow_components {
	uint32_t struct_size;
	uint32_t reserved;
	/* [main] Opens component `id` of `kind`. `options` holds name=value pairs in configuration notation
	 * (NULL-terminated: "dir=/tmp/x", "cache=64MiB"). On success *ops is the kind's table and *instance what its open
	 * returned; the caller owns it and closes it with the kind's own close. blocking-ok */
	flow_status (*open)(uint32_t kind, const char *id, const char *const *options, const void **ops, void **instance,
	                    flow_error *error);
} flow_components;

/* Service FLOW_SERVICE_ASYNC (reserved): a call that goes on after it returned. */
typedef struct flow_token flow_token;
typedef struct flow_async {
	uint32_t struct_size;
	uint32_t reserved;
	/* [any] Exactly once for each token. `row_statuses` is NULL or one status a row. The host goes on on the task's
	 * thread. A completion after a cancel is legal and is ignored. */
	void (*complete)(flow_token *token, flow_status status, const flow_status *row_statuses, uint64_t row_count);
	int64_t (*deadline)(const flow_token *token); /* in flow_host.monotonic time; INT64_MAX: none */
	int (*cancelled)(const flow_token *token);
} flow_async;

#ifdef __cplusplus
}
#endif
#endif
