/* Unions: members, ranges, properties; over the plugins that flowd brings. */
#include <string.h>

#include "../union_descriptor.h"
#include "support/plan_text.h"

static int
setup(void **state)
{
	static plan_text t;
	plan_text_open(&t, BUILD_FOLDER "/plugins");
	*state = &t;
	return 0;
}

/* One union `all` of these members, and what is set for its one input. */
#define CONF(members, input)                                                                                           \
	"application: { name = \"t\"; systems: { local: { type = \"memory\"; };\n"                                         \
	"all: { type = \"union\"; members: " members "; }; };\n"                                                           \
	"inputs: { a: { system = \"all\"; bounded = true; serde: { type = \"json\"; fields: { x = \"int64\"; }; }; " input \
	" }; };\noutputs: { o: { system = \"local\"; serde = \"json\"; }; };\nflow: ( { from = \"a\"; to = \"o\"; } ); "   \
	"};\n"

static void
expect_names(void **state, const char *conf, const char *const *names, uint32_t count)
{
	const plan *p = plan_text_plan(*state, conf);
	assert_int_equal(p->stream_count, count + 1);
	for (uint32_t i = 0; i < count; i++) {
		char id[32];
		snprintf(id, sizeof(id), "a-%u", i + 1);
		assert_string_equal(plan_text_stream(p, id, FLOW_DIRECTION_INPUT)->request.physical_name.data, names[i]);
	}
}

static void
given_a_range_when_expanded_then_there_is_a_member_for_each_number_with_leading_zeros_kept(void **state)
{
	static const char *const names[] = { "v-08-x", "v-09-x", "v-10-x", "old" };
	expect_names(state,
				 CONF("( { system = \"local\"; physical_name = \"v-{08..10}-x\"; }, { system = \"local\"; "
					  "physical_name = \"old\"; } )",
					  ""),
				 names, 4);
}

static void
given_braces_that_are_no_range_when_expanded_then_they_are_part_of_the_name(void **state)
{
	static const char *const names[] = { "{a..b}{1}1", "{a..b}{1}2" };
	expect_names(state, CONF("{ system = \"local\"; physical_name = \"{a..b}{1}{1..2}\"; }", ""), names, 2);
}

static void
given_one_member_when_expanded_then_nothing_is_merged(void **state)
{
	plan_text_plan(*state, CONF("{ system = \"local\"; }", ""));
	assert_string_equal(plan_text_stages(*state), "1: a-1 o");
}

static void
given_properties_when_expanded_then_those_of_the_member_win_over_those_of_the_input(void **state)
{
	const plan *p = plan_text_plan(*state, CONF("( { system = \"local\"; properties: { priority = 7; partitions = 2; "
												"bootstrap = true; }; }, { system = \"local\"; } )",
												"priority = 3;"));
	const plan_stream *first = plan_text_stream(p, "a-1", FLOW_DIRECTION_INPUT);
	const plan_stream *second = plan_text_stream(p, "a-2", FLOW_DIRECTION_INPUT);
	assert_int_equal(first->priority, 7);
	assert_int_equal(first->bootstrap, 1);
	assert_int_equal(first->description.partition_count, 2);
	assert_int_equal(second->priority, 3);
	assert_int_equal(second->bootstrap, 0);
	assert_int_equal(second->bounded, 1);
}

/* --- the same in code ------------------------------------------------------------------------------------------------ */

static flow_status
describe(const flow_host *host, const flow_options *options, const flow_graph_ops *ops, flow_graph *described,
		 flow_error *error)
{
	(void)host, (void)options, (void)ops, (void)error;
	flow_application_with_name(flow_application(described), "t");
	flow_system_descriptor local = flow_system(described, "local", "memory");
	union_system_descriptor all = union_system(described, "all", local, "v-{1..3}");
	union_system_with_member_text(all, "offset_default", "newest");
	union_input_descriptor in = flow_input_with_bounded(union_input(all, "a"), 1);
	flow_input_set_text(flow_input_set_text(in, "serde.type", "json"), "serde.fields.x", "int64");
	flow_input_send_to(in, flow_output_with_serde(flow_output(local, "o"), "json"));
	return FLOW_OK;
}

static const flow_application_ops application_ops = { .struct_size = FLOW_SIZEOF(flow_application_ops),
													  .describe = describe };
static const flow_component application = { .struct_size = FLOW_SIZEOF(flow_component),
											.kind = FLOW_APPLICATION,
											.id = "t",
											.doc = "A union in code.",
											.ops = &application_ops };

static void
given_a_union_in_code_and_in_a_file_when_planned_then_the_twins_have_one_id(void **state)
{
	char in_code[33];
	plan_text *t = *state;
	assert_true(config_text_load(&t->text, ""));
	t->graph = graph_from_application(t->text.config, t->registry, &application, "app.so");
	t->plan = t->graph == NULL ? NULL : plan_create(t->text.config, t->registry, t->graph, 0);
	if (t->plan == NULL)
		fail_msg("%s", config_text_problems(&t->text));
	assert_int_equal(t->plan->stream_count, 4);
	strcpy(in_code, t->plan->id);
	plan_text_teardown(state);
	setup(state);
	const plan *in_file = plan_text_plan(
		*state,
		CONF("{ system = \"local\"; physical_name = \"v-{1..3}\"; properties: { offset_default = \"newest\"; }; }",
			 ""));
	assert_string_equal(in_file->id, in_code);
}

static void
expect(void **state, const char *conf, const char *reported)
{
	plan_text *t = *state;
	assert_string_equal(plan_text_problems(t, conf), reported);
	plan_text_teardown(state);
	setup(state);
}

static void
given_members_that_are_wrong_when_expanded_then_their_place_is_told(void **state)
{
	expect(state, CONF("( { system = \"local\"; physical_name = \"{5..1}\"; } )", ""),
		   "flowd.conf:3: application.inputs.a: system 'all' cannot expand input 'a': flowd.conf:2: \"{5..1}\" is no "
		   "range of 1 to "
		   "4096 members\n");
	expect(state,
		   CONF("( { system = \"local\"; physical_name = \"{1..2}\"; properties: { key = \"{1..3}\"; }; } )", ""),
		   "flowd.conf:3: application.inputs.a: system 'all' cannot expand input 'a': flowd.conf:2: \"{1..3}\" stands "
		   "for 3 "
		   "members, but another range of this one for 2\n");
	expect(state, CONF("( )", ""),
		   "flowd.conf:3: application.inputs.a: system 'all' cannot expand input 'a': a union without members has no "
		   "records\n");
	expect(state, CONF("( { system = \"lokal\"; } )", ""),
		   "flowd.conf:2: application.systems.all.members[0].system: there is no system \"lokal\", did you mean "
		   "\"local\"?\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, plan_text_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_a_range_when_expanded_then_there_is_a_member_for_each_number_with_leading_zeros_kept),
		TEST(given_braces_that_are_no_range_when_expanded_then_they_are_part_of_the_name),
		TEST(given_a_union_in_code_and_in_a_file_when_planned_then_the_twins_have_one_id),
		TEST(given_one_member_when_expanded_then_nothing_is_merged),
		TEST(given_properties_when_expanded_then_those_of_the_member_win_over_those_of_the_input),
		TEST(given_members_that_are_wrong_when_expanded_then_their_place_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
