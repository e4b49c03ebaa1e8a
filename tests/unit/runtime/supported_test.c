/* What can be planned and not run yet is refused before anything starts: each with its place. */
#include <string.h>

#include "runtime/runtime.h"
#include "support/plan_text.h"

/* A step `s` behind a keyed stream, with a broadcast stream as second input, in line 6. */
#define CONF(job, state)                                                                                               \
	"application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\"; types: { x = "   \
	"\"int64\"; }; }; }; };\n"                                                                                         \
	"inputs: { a: { system = \"local\"; }; rules: { system = \"local\"; broadcast = true; }; };\n"                     \
	"outputs: { o: { system = \"local\"; }; };\n" job "\n"                                                             \
	"flow: ( { name = \"k\"; from = \"a\"; key_by = \"x\"; },\n"                                                       \
	"{ name = \"s\"; connect = \"rules\"; meet: { one_is_broadcast = true; " state " }; to = \"o\"; } ); };\n"

static void
expect(void **state, const char *conf, const char *reported)
{
	plan_text *t = *state;
	runtime_check(plan_text_plan(t, conf), t->text.list);
	assert_string_equal(config_text_problems(&t->text), reported);
	plan_text_teardown(state);
	plan_text_setup(state);
}

static void
given_state_of_a_kind_that_cannot_be_kept_yet_when_checked_for_a_run_then_function_and_state_are_told(void **state)
{
#define REFUSED(name, kind)                                                                                            \
	"flowd.conf:6: application.flow[1]: 'meet' keeps '" name "' as " kind "; that can be planned, but not run yet\n"
	expect(state, CONF("", "state = \"split\";"), REFUSED("split", "a list"));
	expect(state, CONF("", "state = \"none\"; state_kind = 4;"), REFUSED("none", "a map"));
	expect(state, CONF("", "state = \"identical\";"), REFUSED("identical", "broadcast state"));
	expect(state, CONF("", "state = [\"split\", \"none\", \"identical\"];"),
		   REFUSED("identical", "broadcast state") REFUSED("split", "a list"));
}

static void
given_values_as_state_and_two_inputs_when_checked_for_a_run_then_nothing_is_refused(void **state)
{
	expect(state, CONF("", "state = \"none\";"), "");
}

static void
given_another_system_for_checkpoints_or_changelogs_when_checked_for_a_run_then_its_setting_is_told(void **state)
{
#define ELSEWHERE                                                                                                      \
	": checkpoints and state are kept in the state directory; another system can be planned, but not used yet\n"
	expect(state, CONF("changelog_system = \"local\";", ""), "flowd.conf:4: application.changelog_system" ELSEWHERE);
	expect(state, CONF("checkpoint_system = \"local\"; changelog_system = \"local\";", ""),
		   "flowd.conf:4: application.changelog_system" ELSEWHERE
		   "flowd.conf:4: application.checkpoint_system" ELSEWHERE);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, plan_text_setup, plan_text_teardown)
	const struct CMUnitTest tests[] = {
		TEST(given_state_of_a_kind_that_cannot_be_kept_yet_when_checked_for_a_run_then_function_and_state_are_told),
		TEST(given_values_as_state_and_two_inputs_when_checked_for_a_run_then_nothing_is_refused),
		TEST(given_another_system_for_checkpoints_or_changelogs_when_checked_for_a_run_then_its_setting_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
