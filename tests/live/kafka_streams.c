/*
 * The calls of the system `kafka` that a planner makes for streams between processes, which no job has yet: a stream is made and
 * described. kafka_admin_test.py runs it, and looks at the topics with a client of its own.
 *
 *   kafka_streams BROKERS NAME     makes NAME with 3 partitions, NAME-usual as the broker likes, NAME-compacted with a config
 */
#include "support/system_fixture.h"

#include <string.h>

static const char *brokers, *name;

static void
open_system(fixture *f, fixture_system *system)
{
	const char *servers = arena_format(f->arena, "bootstrap_servers=%s", brokers);
	fixture_system_open(f, "kafka", (const char *const[]){ servers, NULL }, system);
}

static fixture_stream
stream_of(fixture_system *system, const char *suffix, const char *const *options)
{
	return fixture_output(system, arena_format(system->fixture->arena, "%s%s", name, suffix), options);
}

static void
given_a_stream_that_is_missing_when_it_is_made_then_it_is_described_at_once(void **state)
{
	fixture *f = *state;
	fixture_system system;
	open_system(f, &system);
	fixture_stream stream = stream_of(&system, "", NULL);
	flow_stream_description description;
	assert_int_equal(fixture_try_describe(&stream, &description), FLOW_E_NOT_FOUND);
	assert_int_equal(fixture_try_create(&stream, 3), FLOW_OK);
	assert_int_equal(fixture_describe(&stream).partition_count, 3);
	fixture_stream read_back = fixture_input(&system, stream.name, NULL);
	assert_int_equal(fixture_describe(&read_back).partition_count, 3);
}

static void
given_a_stream_that_is_there_when_it_is_made_again_then_it_is_told_and_stays_as_it_is(void **state)
{
	fixture *f = *state;
	fixture_system system;
	open_system(f, &system);
	fixture_stream stream = stream_of(&system, "", NULL);
	assert_int_equal(fixture_try_create(&stream, 7), FLOW_E_EXISTS);
	assert_non_null(strstr(error_message(&f->error), stream.name));
	assert_int_equal(fixture_describe(&stream).partition_count, 3);
}

static void
given_no_number_of_partitions_when_a_stream_is_made_then_it_is_the_brokers(void **state)
{
	fixture *f = *state;
	fixture_system system;
	open_system(f, &system);
	fixture_stream stream = stream_of(&system, "-usual", NULL);
	assert_int_equal(fixture_try_create(&stream, 0), FLOW_OK);
	assert_int_equal(fixture_describe(&stream).partition_count, 1);
}

static void
given_options_of_its_topic_when_a_stream_is_made_then_it_has_them(void **state)
{
	fixture *f = *state;
	fixture_system system;
	open_system(f, &system);
	fixture_stream stream =
		stream_of(&system, "-compacted",
				  (const char *const[]){ "create=true", "config.cleanup.policy=compact", "replication=1", NULL });
	if (fixture_try_create(&stream, 2) != FLOW_OK)
		fail_msg("%s", error_message(&f->error));
}

static void
given_what_no_broker_makes_when_a_stream_is_made_then_the_topic_and_the_reason_are_told(void **state)
{
	fixture *f = *state;
	fixture_system system;
	open_system(f, &system);
	fixture_stream wrong = stream_of(&system, " with blanks", NULL);
	assert_true(fixture_try_create(&wrong, 1) < 0);
	assert_non_null(strstr(error_message(&f->error), wrong.name));
	fixture_stream many = stream_of(&system, "-copies", (const char *const[]){ "create=true", "replication=9", NULL });
	assert_true(fixture_try_create(&many, 1) < 0);
	assert_non_null(strstr(error_message(&f->error), many.name));
	assert_non_null(strstr(error_message(&f->error), "replication factor"));
}

static int
setup(void **state)
{
	*state = fixture_create();
	return 0;
}

static int
teardown(void **state)
{
	fixture_destroy(*state);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(int count, char **words)
{
	if (count != 3)
		return 2;
	brokers = words[1];
	name = words[2];
	const struct CMUnitTest tests[] = {
		TEST(given_a_stream_that_is_missing_when_it_is_made_then_it_is_described_at_once),
		TEST(given_a_stream_that_is_there_when_it_is_made_again_then_it_is_told_and_stays_as_it_is),
		TEST(given_no_number_of_partitions_when_a_stream_is_made_then_it_is_the_brokers),
		TEST(given_options_of_its_topic_when_a_stream_is_made_then_it_has_them),
		TEST(given_what_no_broker_makes_when_a_stream_is_made_then_the_topic_and_the_reason_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
