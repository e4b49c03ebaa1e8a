/* The plugin's root: the system that only expands, its expander and their options. */
#include "union.h"

static const flow_host *host;

static const flow_option member_system = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_REFERENCE,
	.refers_to = "system",
	.flags = FLOW_OPTION_REQUIRED,
	.name = "system",
	.doc = "The system that the member lives in.",
	.example = "\"files\"",
};
static const flow_option member_physical_name = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_STRING,
	.name = "physical_name",
	.doc = "What its system calls it. A range in braces stands for several members: \"views-{0..3}\".",
	.example = "\"views-{0..3}\"",
};
static const flow_option member_properties = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_MAP,
	.element = FLOW_OPTION_ANY,
	.name = "properties",
	.doc =
		"Further properties of the member, which take the place of those of the logical input; ranges in braces as in "
		"physical_name.",
	.example = "{ path = \"2026-{01..12}.csv\"; }",
};
static const flow_option *const member_list[] = { &member_system, &member_physical_name, &member_properties, NULL };
static const flow_option members = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_LIST,
	.element = FLOW_OPTION_GROUP,
	.members = member_list,
	.flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_OR_ONE,
	.name = "members",
	.doc = "What an input of this system is made of. The members take over serde and properties of the logical input. "
		   "Their "
		   "ids are ID-1, ID-2 and so on.",
	.example =
		"( { system = \"files\"; properties: { path = \"old/*.csv\"; }; }, { system = \"files\"; properties: { path "
		"= \"new.csv\"; }; } )",
};
static const flow_option *const system_list[] = { &members, NULL };
static const flow_option_set system_set = { FLOW_SIZEOF(flow_option_set), 0, "",
											"Several inputs of other systems, read as one.", system_list };
static const flow_option_set *const sets[] = { &system_set, NULL };

/* Never opened: all its inputs are expanded, and it has no outputs. */
static flow_status
open_system(const flow_host *the_host, const flow_options *options, flow_system **system, flow_error *error)
{
	(void)options;
	(void)system;
	return flow_fail(the_host, error, FLOW_E_UNSUPPORTED, "a union has no streams of its own");
}

static void
close_system(flow_system *system)
{
	(void)system;
}

static flow_status
describe(flow_system *system, const flow_stream_request *request, flow_stream_description *description,
		 flow_error *error)
{
	(void)system;
	(void)request;
	(void)description;
	return flow_fail(host, error, FLOW_E_UNSUPPORTED, "a union has no streams of its own");
}

static const flow_system_ops system_ops = {
	.struct_size = FLOW_SIZEOF(flow_system_ops),
	.open = open_system,
	.close = close_system,
	.describe = describe,
};
static const flow_component union_system = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_SYSTEM,
	.flags = FLOW_SYSTEM_EXPANDS,
	.id = "union",
	.doc = "Several inputs of other systems, read as one: a list of members, or a pattern of their names.",
	.option_sets = sets,
	.ops = &system_ops,
};
static const flow_expander_ops expander_ops = { .struct_size = FLOW_SIZEOF(flow_expander_ops), .expand = union_expand };
static const flow_component union_expander = {
	.struct_size = FLOW_SIZEOF(flow_component),
	.kind = FLOW_EXPANDER,
	.id = "union",
	.doc = "Turns an input of a system `union` into its members, merged as their records arrive.",
	.ops = &expander_ops,
};

static flow_status
init(const flow_host *the_host, flow_error *error)
{
	(void)error;
	host = the_host;
	return FLOW_OK;
}

static const flow_component *const components[] = { &union_system, &union_expander, NULL };
FLOW_DEFINE_PLUGIN("union", "1.0.0", "Apache-2.0", components, init, NULL)
