/*
 * plugin/metrics.h - counters and gauges of plugins and of the host's own rooms, by name and labels.
 *
 * Ownership: metrics live until the process ends; registering one again gives the same one. Threads: [any]; adding and setting
 * take no lock.
 */
#ifndef PLUGIN_METRICS_H
#define PLUGIN_METRICS_H

#include "flow/host.h"

/* What metrics_register adds to the labels of this thread's metrics: the plugin and what it was opened as (a stream, a step).
 * Both may be NULL. Set around a plugin's init and open calls, and again to NULL, NULL behind them. Texts are copied at registration. */
void metrics_scope(const char *plugin, const char *instance);

/* Never NULL: without memory a metric that nobody lists. */
flow_metric *metrics_register(uint32_t type, const char *name, const char *labels, const char *doc);
void metrics_add(flow_metric *metric, int64_t delta);
void metrics_set(flow_metric *metric, int64_t value);

typedef struct metric_view {
	uint32_t type; /* FLOW_METRIC_* */
	const char *name;
	const char *labels; /* "plugin=file,instance=flights,kind=x"; "" where there are none */
	const char *doc;
	int64_t value;
} metric_view;

/* Visits all metrics, oldest first. */
void metrics_visit(void (*visit)(void *context, const metric_view *view), void *context);

#endif
