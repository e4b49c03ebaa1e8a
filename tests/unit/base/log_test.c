/* Log lines, their forms, and repeats that are held back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static int pipe_ends[2];

static int
open_log(void **state)
{
	(void)state;
	clock_use_virtual(1357034400123456);
	return pipe(pipe_ends);
}

static int
close_log(void **state)
{
	(void)state;
	clock_use_real();
	log_configure(FLOW_LOG_INFO, LOG_FORMAT_AUTO, STDERR_FILENO);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	return 0;
}

static const char *
logged(void)
{
	static char text[65536];
	ssize_t size = 0;
	if (write(pipe_ends[1], "", 1) == 1) /* so that reading never waits */
		size = read(pipe_ends[0], text, sizeof(text));
	assert_true(size > 0);
	return text;
}

static void
each_format_says_time_level_component_and_message(void **state)
{
	(void)state;
	log_configure(FLOW_LOG_INFO, LOG_FORMAT_TEXT, pipe_ends[1]);
	log_warn("kafka/orders", "%d left", 3);
	assert_string_equal(logged(), "2013-01-01T10:00:00.123Z warn  kafka/orders: 3 left\n");
	log_configure(FLOW_LOG_INFO, LOG_FORMAT_AUTO, pipe_ends[1]);
	log_info(NULL, "it is \"%s\"", "on");
	assert_string_equal(logged(), "time=2013-01-01T10:00:00.123Z level=info message=\"it is \\\"on\\\"\"\n");
	log_configure(FLOW_LOG_DEBUG, LOG_FORMAT_JSON, pipe_ends[1]);
	log_debug("a b", "x");
	assert_string_equal(logged(), "{\"time\":\"2013-01-01T10:00:00.123Z\",\"level\":\"debug\",\"component\":\"a b\","
								  "\"message\":\"x\"}\n");
}

static void
lines_above_the_level_are_dropped(void **state)
{
	(void)state;
	log_configure(FLOW_LOG_WARN, LOG_FORMAT_TEXT, pipe_ends[1]);
	log_info("x", "nothing");
	assert_string_equal(logged(), "");
}

static void
no_message_forges_a_line_or_breaks_json(void **state)
{
	(void)state;
	log_configure(FLOW_LOG_INFO, LOG_FORMAT_JSON, pipe_ends[1]);
	log_error("x", "a\nb\x1b[31m \xff \xC3\xA9 \\ %s", "\"q\"");
	const char *text = logged();
	json_error_t problem;
	json_t *json = json_loads(text, 0, &problem);
	if (json == NULL)
		fail_msg("%s: %s", problem.text, text);
	assert_string_equal(json_string_value(json_object_get(json, "message")),
						"a\nb\x1b[31m \xEF\xBF\xBD \xC3\xA9 \\ \"q\"");
	json_decref(json);
	log_configure(FLOW_LOG_INFO, LOG_FORMAT_TEXT, pipe_ends[1]);
	log_error("x", "two\nlines");
	assert_string_equal(logged(), "2013-01-01T10:00:00.123Z error x: two\\nlines\n");
}

static void
a_very_long_message_is_cut_and_stays_one_line(void **state)
{
	(void)state;
	char *text = calloc(1, 10001);
	memset(text, '\1', 10000);
	log_configure(FLOW_LOG_INFO, LOG_FORMAT_JSON, pipe_ends[1]);
	log_info(NULL, "%s", text);
	free(text);
	json_t *json = json_loads(logged(), 0, NULL);
	assert_non_null(json);
	const char *message = json_string_value(json_object_get(json, "message"));
	assert_string_equal(message + strlen(message) - 3, "...");
	json_decref(json);
}

static unsigned
lines_of(const char *text)
{
	unsigned count = 0;
	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

static void
repeats_beyond_ten_in_ten_seconds_are_counted_and_told_later(void **state)
{
	(void)state;
	log_configure(FLOW_LOG_INFO, LOG_FORMAT_TEXT, pipe_ends[1]);
	for (int i = 0; i < 25; i++)
		log_warn("x", "slow by %d", i);
	log_info("x", "another");
	assert_int_equal(lines_of(logged()), 11);
	clock_advance(10000001);
	log_info("x", "later");
	const char *text = logged();
	assert_non_null(strstr(text, "15 more lines like this one were held back: slow by 9\n"));
	assert_int_equal(lines_of(text), 2);
}

static void
names_of_levels_and_formats(void **state)
{
	(void)state;
	assert_int_equal(log_level_of_name("warn"), FLOW_LOG_WARN);
	assert_int_equal(log_level_of_name("trace"), FLOW_LOG_TRACE);
	assert_int_equal(log_level_of_name("none"), -1);
	assert_int_equal(log_format_of_name("json"), LOG_FORMAT_JSON);
	assert_int_equal(log_format_of_name("xml"), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_says_time_level_component_and_message),
		cmocka_unit_test(lines_above_the_level_are_dropped),
		cmocka_unit_test(no_message_forges_a_line_or_breaks_json),
		cmocka_unit_test(a_very_long_message_is_cut_and_stays_one_line),
		cmocka_unit_test(repeats_beyond_ten_in_ten_seconds_are_counted_and_told_later),
		cmocka_unit_test(names_of_levels_and_formats),
	};
	return cmocka_run_group_tests(tests, open_log, close_log);
}
