/* A plugin that is built several times, each time with one thing wrong (see CMakeLists.txt). */
#include "flow_sdk/plugin.h"

#ifndef FIXTURE_ID
#define FIXTURE_ID "fixture"
#endif
#ifndef FIXTURE_COMPONENT
#define FIXTURE_COMPONENT "nothing"
#endif
#ifndef FIXTURE_ABI
#define FIXTURE_ABI FLOW_ABI
#endif
#ifndef FIXTURE_DOC
#define FIXTURE_DOC "A function that does nothing."
#endif
#ifndef FIXTURE_OPS
#define FIXTURE_OPS &ops
#endif
#ifndef FIXTURE_STRUCT_SIZE
#define FIXTURE_STRUCT_SIZE FLOW_SIZEOF(flow_plugin)
#endif

static flow_status
fixture_bind(const flow_host *host, const flow_options *options, const flow_function_input *const *inputs,
			 uint32_t count, flow_function_plan *plan, void **binding, flow_error *error)
{
	(void)host, (void)options, (void)inputs, (void)count, (void)plan, (void)binding, (void)error;
	return FLOW_OK;
}

static void
fixture_unbind(void *binding)
{
	(void)binding;
}

static flow_status
fixture_open(void *binding, flow_context *context, flow_function **function, flow_error *error)
{
	(void)binding, (void)context, (void)function, (void)error;
	return FLOW_OK;
}

static flow_status
fixture_process(flow_function *function, uint32_t input, const flow_batch *batch, flow_error *error)
{
	(void)function, (void)input, (void)batch, (void)error;
	return FLOW_OK;
}

static void
fixture_close(flow_function *function)
{
	(void)function;
}

static const flow_function_ops ops __attribute__((unused)) = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.bind = fixture_bind,
	.unbind = fixture_unbind,
	.open = fixture_open,
	.process = fixture_process,
	.close = fixture_close,
};

#ifdef FIXTURE_OPS_WITHOUT_PROCESS
static const flow_function_ops lame_ops = {
	.struct_size = FLOW_SIZEOF(flow_function_ops),
	.bind = fixture_bind,
	.unbind = fixture_unbind,
	.open = fixture_open,
	.close = fixture_close,
};
#endif

static const flow_component nothing = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_FUNCTION,
	.id = FIXTURE_COMPONENT,
	.doc = FIXTURE_DOC,
	.ops = FIXTURE_OPS,
};

static const flow_component *const components[] = {
	&nothing,
#ifdef FIXTURE_TWICE
	&nothing,
#endif
	NULL,
};

static flow_status
init(const flow_host *host, flow_error *error)
{
#ifdef FIXTURE_INIT_FAILS
	return flow_fail(host, error, FLOW_E_UNAVAILABLE, "the licence server is asleep");
#else
	(void)error;
	host->metric_add(host->metric(FLOW_METRIC_COUNTER, "fixture_inits_total", NULL, "Calls of init."), 1);
	return FLOW_OK;
#endif
}

static const flow_plugin plugin = {
	FIXTURE_STRUCT_SIZE, FIXTURE_ABI, FIXTURE_ID, "1.2.3", "Apache-2.0", components, init, NULL, 0,
};

FLOW_EXPORT const flow_plugin *FLOW_PLUGIN_ENTRY(uint32_t host_abi);

FLOW_EXPORT const flow_plugin *
FLOW_PLUGIN_ENTRY(uint32_t host_abi)
{
	(void)host_abi;
	return &plugin;
}
