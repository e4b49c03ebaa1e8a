/* Planning: any bytes as a configuration, through expanders and transformers to a printed plan; and the same bytes as the calls that
 * an application in code makes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "expr/expression.h"
#include "flow/host.h"
#include "fuzz/fuzz.h"
#include "graph/plan.h"

static registry *plugins;
static FILE *nowhere;

static void
start(void)
{
	const char *const folders[] = { BUILD_FOLDER "/tests/graph_plugins", NULL };
	flow_error error = { 0 };
	plugins = registry_create(folders, &error);
	nowhere = fopen("/dev/null", "w");
	if (plugins == NULL || nowhere == NULL) {
		fprintf(stderr, "%s\n", error_message(&error));
		abort();
	}
	host_services_add(FLOW_SERVICE_EXPRESSIONS, &expressions_service);
}

static void
load(config *c, const uint8_t *data, size_t size)
{
	char path[64];
	int descriptor = memfd_create("fuzz", 0);
	if (descriptor < 0)
		return;
	if (write(descriptor, data, size) == (ssize_t)size) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
		config_load(c, path);
	}
	close(descriptor);
}

/* --- code ------------------------------------------------------------------------------------------------------------------- */

static struct {
	const uint8_t *data;
	size_t size, at;
} bytes;

static uint8_t
next(void)
{
	return bytes.at < bytes.size ? bytes.data[bytes.at++] : 0;
}

static const char *
next_word(void)
{
	static const char *const words[] = {
		"a", "b", "o", "local", "own", "u", "messaging", "growing", "both", "changing", "file", "json", "serde", "serde.type",
		"serde.types.x", "int64", "string", "x > 1", "where", "pass", "keep", "meet", "fork", "aggregate.n", "count(*)", "key_by", "x",
		"shuffle", "global", "broadcast", "to", "name", "from", "connect", "default_system", "into", "type", "bounded", "bootstrap",
		"transformer", "envelope", "none", "partitions", "parallelism", "write_table", "join_table", "t", "durable", "memory", "state",
		"state.x", "", "a..b", "\"q.r\"", "physical_name", "dead_letters", "window.tumbling", "1h", "window.time", NULL,
	};
	return words[next() % FLOW_COUNT(words)];
}

static flow_descriptor *kept[16];

static flow_descriptor *
any(void)
{
	return kept[next() % FLOW_COUNT(kept)];
}

static void
one_call(const flow_graph_ops *ops, flow_graph *shown)
{
	flow_descriptor **slot = &kept[next() % FLOW_COUNT(kept)];
	switch (next() % 13) {
	case 0:
	case 1:
		*slot = ops->descriptor(shown, next() % 8, next_word(), FLOW_HERE);
		break;
	case 2:
		ops->set_text(any(), next_word(), next_word(), FLOW_HERE);
		break;
	case 3:
		ops->set_int(any(), next_word(), (int8_t)next(), FLOW_HERE);
		break;
	case 4:
		ops->set_float(any(), next_word(), next() / 3.0, FLOW_HERE);
		break;
	case 5:
		ops->set_bool(any(), next_word(), next() & 1, FLOW_HERE);
		break;
	case 6:
		ops->add_text(any(), next_word(), next_word(), FLOW_HERE);
		break;
	case 7:
		ops->set_system(any(), next_word(), FLOW_HERE);
		break;
	case 8:
	case 9:
		*slot = ops->step(shown, any(), next_word(), FLOW_HERE);
		break;
	case 10:
		ops->connect(any(), any(), FLOW_HERE);
		break;
	case 11:
		ops->merge(any(), any(), FLOW_HERE);
		break;
	default:
		*slot = ops->second_output(any(), FLOW_HERE);
		break;
	}
}

static flow_status
describe(const flow_host *host, const flow_options *options, const flow_graph_ops *ops, flow_graph *shown, flow_error *error)
{
	(void)host;
	(void)options;
	(void)error;
	for (size_t i = 0; i < FLOW_COUNT(kept); i++)
		kept[i] = i % 2 == 0 ? ops->descriptor(shown, FLOW_DESCRIBE_INPUT, "a", FLOW_HERE) : ops->application(shown);
	while (bytes.at < bytes.size)
		one_call(ops, shown);
	return FLOW_OK;
}

static const flow_application_ops application_ops = { .struct_size = FLOW_SIZEOF(flow_application_ops), .describe = describe };
static const flow_component application = { .struct_size = FLOW_SIZEOF(flow_component),
											.kind = FLOW_APPLICATION,
											.id = "fuzz",
											.doc = "Fuzz.",
											.ops = &application_ops };

/* --- both ------------------------------------------------------------------------------------------------------------------- */

static void
plan_and_print(config *c, graph *g, problems *list, uint32_t flags)
{
	plan *made = g == NULL ? NULL : plan_create(c, plugins, g, flags);
	if (made != NULL) {
		plan_print_text(made, nowhere);
		plan_print_json(made, nowhere);
		plan_print_dot(made, nowhere);
		plan_print_mermaid(made, nowhere);
	} else if (list->count == 0 && g != NULL) {
		abort(); /* no plan, and nothing says why */
	}
	problems_sort(list);
	problems_print(list, nowhere, 0);
	plan_destroy(made);
}

static void
run(const uint8_t *data, size_t size, int code)
{
	arena *a = arena_create();
	problems *list = a == NULL ? NULL : problems_create(a);
	config *c = list == NULL ? NULL : config_create(a, list);
	if (c != NULL && code) {
		bytes.data = data;
		bytes.size = size;
		bytes.at = 0;
		plan_and_print(c, graph_from_application(c, plugins, &application, "fuzz.so"), list, 0);
	} else if (c != NULL) {
		load(c, data, size);
		plan_and_print(c, graph_from_config(c, plugins), list, size % 2 == 0 ? PLAN_OFFLINE : 0);
	}
	arena_destroy(a);
}

/* libconfig 1.5 loses the text before a syntax error (strbuf_append). */
const char *__lsan_default_suppressions(void);
const char *
__lsan_default_suppressions(void)
{
	return "leak:libconfig.so\n";
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (plugins == NULL)
		start();
	run(data, size, 0);
	run(data, size, 1);
	return 0;
}
