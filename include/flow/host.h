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
#define FLOW_SERVICE_TABLES "flow.tables/1"           /* flow_tables, below */
#define FLOW_SERVICE_KEYS "flow.keys/1"               /* flow_keys, below */
#define FLOW_SERVICE_MEMORY "flow.memory/1"           /* flow_memory, below */
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
	/* `info` is the struct that the kind's open takes besides options: flow_store_info, flow_table_info; NULL for the others
	 * (a serde is opened for both directions). Legal in every open; not in init (other plugins may not be loaded yet). */
	flow_status (*open)(uint32_t kind, const char *id, const char *const *options, void *info, const void **ops,
	                    void **instance, flow_error *error);
} flow_components;

/* Service FLOW_SERVICE_TABLES: what bind needs to know of the job's tables. */
typedef struct flow_tables {
	uint32_t struct_size;
	uint32_t reserved;
	/* [main] In bind only. Borrowed until bind returns. Fails where the table has no schema yet: a step that writes it must
	 * stand before. */
	flow_status (*schema)(const char *table, const flow_schema **schema, const flow_schema **key_schema,
	                      flow_error *error);
} flow_tables;

/* Service FLOW_SERVICE_KEYS: canonical key bytes and their hash, the same in every process and version. */
typedef struct flow_keys {
	uint32_t struct_size;
	uint32_t reserved;
	/* [any] The bytes lie in `memory`. A null key is FLOW_E_NULL_KEY. */
	flow_status (*encode)(const flow_value *key, flow_builder *memory, flow_slice *bytes, flow_error *error);
	uint64_t (*hash)(flow_slice bytes);
} flow_keys;

/* Service FLOW_SERVICE_MEMORY: builders outside of a task's call, as memory for calls that want one. A builder from here belongs
 * to one thread at a time; `reset` drops what is in it. */
typedef struct flow_memory {
	uint32_t struct_size;
	uint32_t reserved;
	flow_builder *(*open)(void); /* [any] NULL: out of memory */
	void (*reset)(flow_builder *memory);
	void (*close)(flow_builder *memory);
} flow_memory;

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
