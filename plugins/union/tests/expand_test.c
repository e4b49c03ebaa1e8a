/* Unions: members, ranges, properties; over the plugins that flowd brings. */
#include <string.h>

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
		TEST(given_one_member_when_expanded_then_nothing_is_merged),
		TEST(given_properties_when_expanded_then_those_of_the_member_win_over_those_of_the_input),
		TEST(given_members_that_are_wrong_when_expanded_then_their_place_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
