#include "plugin/metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

struct flow_metric {
	atomic_int_fast64_t value;
	struct flow_metric *_Atomic next;
	uint32_t type;
	char *name;
	char *labels;
	char *doc;
};

/* A list that only grows: readers need no lock, writers take turns. */
static struct flow_metric *_Atomic first;
static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;
static struct flow_metric unlisted;

static _Thread_local const char *scope_plugin;
static _Thread_local const char *scope_instance;

void
metrics_scope(const char *plugin, const char *instance)
{
	scope_plugin = plugin;
	scope_instance = instance;
}

static char *
copy(const char *text)
{
	return memory_copy_text(text, strlen(text));
}

/* "plugin=P,instance=I,LABELS", of what is there; NULL: out of memory. */
static char *
scoped_labels(const char *labels)
{
	const char *parts[] = { scope_plugin == NULL ? "" : "plugin=", scope_plugin == NULL ? "" : scope_plugin,
							scope_instance == NULL ? "" : "instance=", scope_instance == NULL ? "" : scope_instance,
							labels == NULL ? "" : labels };
	size_t size = 3;
	for (size_t i = 0; i < FLOW_COUNT(parts); i++)
		size += strlen(parts[i]);
	char *text = memory_allocate(size);
	if (text == NULL)
		return NULL;
	snprintf(text, size, "%s%s%s%s%s%s%s", parts[0], parts[1], parts[0][0] != '\0' && parts[2][0] != '\0' ? "," : "",
			 parts[2], parts[3], (parts[0][0] != '\0' || parts[2][0] != '\0') && parts[4][0] != '\0' ? "," : "",
			 parts[4]);
	return text;
}

static void
destroy(struct flow_metric *metric)
{
	memory_release(metric->name);
	memory_release(metric->labels);
	memory_release(metric->doc);
	memory_release(metric);
}

static struct flow_metric *
create(uint32_t type, const char *name, const char *labels, const char *doc)
{
	struct flow_metric *metric = memory_allocate_zeroed(sizeof(*metric));
	if (metric == NULL)
		return NULL;
	metric->type = type;
	metric->name = copy(name);
	metric->labels = scoped_labels(labels);
	metric->doc = copy(doc == NULL ? "" : doc);
	if (metric->name == NULL || metric->labels == NULL || metric->doc == NULL) {
		destroy(metric);
		return NULL;
	}
	return metric;
}

flow_metric *
metrics_register(uint32_t type, const char *name, const char *labels, const char *doc)
{
	struct flow_metric *fresh = create(type, name, labels, doc);
	if (fresh == NULL)
		return &unlisted;
	pthread_mutex_lock(&writers);
	struct flow_metric *_Atomic *end = &first;
	struct flow_metric *metric;
	while ((metric = atomic_load(end)) != NULL) {
		if (strcmp(metric->name, fresh->name) == 0 && strcmp(metric->labels, fresh->labels) == 0)
			break;
		end = &metric->next;
	}
	if (metric == NULL)
		atomic_store(end, fresh);
	pthread_mutex_unlock(&writers);
	if (metric == NULL)
		return fresh;
	destroy(fresh);
	return metric;
}

void
metrics_add(flow_metric *metric, int64_t delta)
{
	atomic_fetch_add_explicit(&metric->value, delta, memory_order_relaxed);
}

void
metrics_set(flow_metric *metric, int64_t value)
{
	atomic_store_explicit(&metric->value, value, memory_order_relaxed);
}

void
metrics_visit(void (*visit)(void *context, const metric_view *view), void *context)
{
	for (struct flow_metric *metric = atomic_load(&first); metric != NULL; metric = atomic_load(&metric->next)) {
		metric_view view = { .type = metric->type,
							 .name = metric->name,
							 .labels = metric->labels,
							 .doc = metric->doc,
							 .value = atomic_load_explicit(&metric->value, memory_order_relaxed) };
		visit(context, &view);
	}
}
