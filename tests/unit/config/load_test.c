/* Reading files: what libconfig gets wrong, includes, values from outside, --set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/config_text.h"

static int
setup(void **state)
{
	static config_text t;
	config_text_open(&t);
	*state = &t;
	return 0;
}

static int
teardown(void **state)
{
	config_text_close(*state);
	return 0;
}

static void
write_text(const char *file, const char *text)
{
	config_text_write(file, text, strlen(text));
}

static void
given_integers_that_libconfig_would_wrap_when_loaded_then_each_is_refused_as_written(void **state)
{
	config_text *t = *state;
	assert_true(
		config_text_load(t, "job: {\na = 4294967300;\nb = -2147483649;\nc = 99999999999999999999;\nd = 0x100000004;\n"
							"e = [1, 3000000000];\nok = 0x4; min = -2147483648; long = 4294967300L; x = 0xFFFFFFFF;\n"
							"f = 9223372036854775808L; g = -9223372036854775808L; h = 010;\n};"));
	assert_string_equal(
		config_text_problems(t),
		"flowd.conf:2: job.a: the integer 4294967300 does not fit in 32 bits; if it is meant, write 4294967300L\n"
		"flowd.conf:3: job.b: the integer -2147483649 does not fit in 32 bits; if it is meant, write -2147483649L\n"
		"flowd.conf:4: job.c: the integer 99999999999999999999 does not fit in 64 bits\n"
		"flowd.conf:5: job.d: the integer 0x100000004 does not fit in 32 bits; if it is meant, write 0x100000004L\n"
		"flowd.conf:6: job.e[1]: the integer 3000000000 does not fit in 32 bits; if it is meant, write 3000000000L\n"
		"flowd.conf:7: job.x: the integer 0xFFFFFFFF does not fit in 32 bits; if it is meant, write 0xFFFFFFFFL\n"
		"flowd.conf:8: job.f: the integer 9223372036854775808L does not fit in 64 bits\n");
	const setting *job = config_root(t->config, "job");
	assert_int_equal(setting_child(job, "ok")->integer, 4);
	assert_true(setting_child(job, "long")->integer == INT64_C(4294967300));
	assert_true(setting_child(job, "g")->integer == INT64_MIN);
	assert_int_equal(setting_child(job, "h")->integer, 10);
	assert_string_equal(setting_child(job, "ok")->text, "0x4");
	assert_true(setting_child(job, "a")->bad);
}

static void
given_numbers_beyond_a_double_and_texts_that_are_none_when_loaded_then_each_is_refused_at_its_place(void **state)
{
	config_text *t = *state;
	assert_true(config_text_load(t, "job: {\na = 1e999;\nb = -1e999;\nc = 1e-999;\nd = [0.5, 1.e400];\nok = 1.7e308; small = "
									"4e-320; zero = 0e-999; g = 5.; h = -.5e1; i = +2.5;\ns = \"ab\\xff\";\n};"));
	assert_string_equal(config_text_problems(t),
						"flowd.conf:2: job.a: the number 1e999 does not fit in a double\n"
						"flowd.conf:3: job.b: the number -1e999 does not fit in a double\n"
						"flowd.conf:4: job.c: the number 1e-999 does not fit in a double\n"
						"flowd.conf:5: job.d[1]: the number 1.e400 does not fit in a double\n"
						"flowd.conf:7: job.s: the text is no valid UTF-8 (its \\x escapes)\n");
	const setting *job = config_root(t->config, "job");
	assert_true(setting_child(job, "ok")->number == 1.7e308);
	assert_true(setting_child(job, "small")->number == 4e-320);
	assert_true(setting_child(job, "zero")->number == 0);
	assert_true(setting_child(job, "g")->number == 5);
	assert_true(setting_child(job, "h")->number == -5);
	assert_true(setting_child(job, "i")->number == 2.5);
	assert_true(setting_child(job, "s")->bad);
}

static void
given_all_forms_of_values_when_loaded_then_kind_value_place_and_path_are_right(void **state)
{
	config_text *t = *state;
	assert_true(
		config_text_load(t, "# comment\njob: { s = \"a\\n\" /* x\n */ \"\\\"b\\x41\"; f = 1e10; g = -.5; b = TRUE;\n"
							"  l = ( 1, 2.5, \"x\", { y = 1; } ); a = [1, 2L]; // end\n  e: { }; empty = \"\"; };\n"));
	assert_string_equal(config_text_problems(t), "");
	const setting *job = config_root(t->config, "job");
	assert_string_equal(setting_child(job, "s")->text, "a\n\"bA");
	assert_true(setting_child(job, "f")->number == 1e10);
	assert_true(setting_child(job, "g")->number == -0.5);
	assert_int_equal(setting_child(job, "b")->kind, SETTING_BOOL);
	assert_int_equal(setting_child(job, "b")->line, 3);
	const setting *list = setting_child(job, "l");
	assert_int_equal(list->child_count, 4);
	assert_string_equal(setting_child(list->children[3], "y")->path, "job.l[3].y");
	assert_int_equal(setting_child(list->children[3], "y")->line, 4);
	assert_string_equal(setting_child(job, "e")->origin, "flowd.conf:5");
	assert_int_equal(setting_child(job, "empty")->size, 0);
}

static void
given_a_name_twice_when_loaded_then_both_lines_are_named_and_other_problems_too(void **state)
{
	config_text *t = *state;
	assert_true(config_text_load(
		t, "streams: {\n a: { x = 1; };\n b: {\n  y = 3000000000;\n  y = 2; };\n a: { };\n};\ntransfer: {};"));
	assert_string_equal(
		config_text_problems(t),
		"flowd.conf:4: streams.b.y: the integer 3000000000 does not fit in 32 bits; if it is meant, write"
		" 3000000000L\n"
		"flowd.conf:5: streams.b.y: \"y\" is set twice in one group; the first is at flowd.conf:4\n"
		"flowd.conf:6: streams.a: \"a\" is set twice in one group; the first is at flowd.conf:2\n"
		"flowd.conf:8: transfer: there is no such group, did you mean \"transfers\"?\n");
	assert_int_equal(setting_child(setting_child(config_root(t->config, "streams"), "a"), "x")->integer, 1);
}

static void
given_broken_texts_when_loaded_then_each_has_its_line_and_nothing_is_read(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} broken[] = {
		{ "job: {\n a = yes; };", "flowd.conf:2: yes is no value: texts stand in quotes\n" },
		{ "job: {\n a = 5s; };",
		  "flowd.conf:2: 5s... is no number: sizes and durations stand in quotes, like \"64KiB\", \"5s\"\n" },
		{ "job: {\n a = [1,\n 2,]; };", "flowd.conf:3: a comma without a value behind it\n" },
		{ "job: { a = \"x;\n };", "flowd.conf:1: the text that begins here has no closing quote\n" },
		{ "job: {\n a b; };", "flowd.conf:2: \"=\" or \":\" is missing between a name and its value\n" },
		{ "job: {\n a = ; };", "flowd.conf:2: the value is missing\n" },
		{ "job: {\n a = ( 1\n };", "flowd.conf:3: '}' where the '(' of flowd.conf:2 should be closed\n" },
		{ "job: {\n", "flowd.conf:1: the '{' that stands here is not closed\n" },
		{ "job: { }; }", "flowd.conf:1: '}' closes nothing\n" },
		{ "job: {\n a = \"\\x00\"; };", "flowd.conf:2: \\x00: a text cannot hold a NUL\n" },
		{ "/* x\n", "flowd.conf:1: the comment that begins here is not closed\n" },
		{ "job: {};\n\xff", "flowd.conf:2: byte 0xff is no valid UTF-8: save the file as UTF-8\n" },
		{ "job: {\n a = [1, \"x\"]; };",
		  "flowd.conf:2: the items of an array [ ... ] must be scalars of one type; a list ( ... ) takes any\n" },
		{ "job: {\n\n a = 1 2; };",
		  "flowd.conf:3: syntax error: expected is name = value; or name: { ... }; with texts in quotes\n" },
		{ "job: {\n a = $x; };", "flowd.conf:2: unexpected '$'\n" },
		{ "job: { };\n@inclde \"x.conf\"\n",
		  "flowd.conf:2: '@' where only @include \"file\" could stand, first in its line\n" },
		{ "job: { }; @include \"x.conf\"\n",
		  "flowd.conf:1: '@' where only @include \"file\" could stand, first in its line\n" },
		{ "job: { a = \xc3\xa4; };", "flowd.conf:1: unexpected character (byte 0xc3) outside of quotes\n" },
	};
	(void)state;
	for (size_t i = 0; i < FLOW_COUNT(broken); i++) {
		config_text t;
		config_text_open(&t);
		assert_false(config_text_load(&t, broken[i].text));
		assert_string_equal(config_text_problems(&t), broken[i].message);
		assert_null(config_root(t.config, "job"));
		config_text_close(&t);
	}
}

static void
given_huge_depth_or_counts_when_loaded_then_they_are_refused_at_once(void **state)
{
	config_text *t = *state;
	size_t size = 400000;
	char *text = malloc(size + 1);
	assert_non_null(text);
	for (size_t i = 0; i < size; i += 4)
		memcpy(text + i, "a:{\n", 4);
	text[size] = '\0';
	assert_false(config_text_load(t, text));
	assert_non_null(strstr(config_text_problems(t), "flowd.conf:65: nested deeper than 64 levels"));
	memcpy(text, "job:", 4);
	text[4] = '{';
	for (size_t i = 5; i + 4 <= size; i += 4)
		memcpy(text + i, "a=1;", 4);
	assert_false(config_text_load(t, text));
	assert_non_null(strstr(config_text_problems(t), "more than 10000 names in one group"));
	free(text);
	assert_false(config_load(t->config, "/dev/zero"));
	assert_false(config_load(t->config, "."));
	assert_false(config_load(t->config, "nowhere.conf"));
	assert_non_null(
		strstr(config_text_problems(t), "nowhere.conf: cannot read the configuration: No such file or directory"));
	assert_non_null(strstr(config_text_problems(t), "/dev/zero: cannot read the configuration: all files of a configuration "
													"together may have 16 MiB\n"));
}

static void
given_a_nul_byte_when_loaded_then_the_rest_is_not_cut_off_in_silence(void **state)
{
	config_text *t = *state;
	config_text_write("flowd.conf", "job: { };\n\0job: { a = 1; };", 27);
	assert_false(config_load(t->config, "flowd.conf"));
	assert_string_equal(config_text_problems(t), "flowd.conf:2: a NUL byte: this is no text file\n");
}

static void
given_files_that_include_each_other_when_loaded_then_the_chain_is_named(void **state)
{
	config_text *t = *state;
	write_text("loop.conf", "@include \"parts/a.conf\"\njob: { };\n");
	write_text("parts/a.conf", "# part a\n@include \"parts/b.conf\"\n");
	write_text("parts/b.conf", "# part b\n@include \"a.conf\"\n");
	write_text("self.conf", "@include \"self.conf\"\n");
	assert_false(config_load(t->config, "loop.conf"));
	assert_false(config_load(t->config, "self.conf"));
	assert_string_equal(config_text_problems(t),
						"loop.conf:1: files include each other in a circle: "
						"loop.conf:1 -> parts/a.conf:2 -> parts/b.conf:2 -> parts/a.conf\n"
						"self.conf:1: files include each other in a circle: self.conf:1 -> self.conf\n");
}

static void
given_files_that_are_missing_when_included_then_each_is_named_with_its_line(void **state)
{
	config_text *t = *state;
	write_text("parts/a.conf", "\n@include \"gone.conf\"\n");
	assert_false(
		config_text_load(t, "@include \"parts/nothing.conf\"\n\n@include \"parts/a.conf\"\n@include \"parts\"\n"));
	assert_string_equal(
		config_text_problems(t),
		"flowd.conf:1: cannot read the included file \"parts/nothing.conf\": No such file or directory\n"
		"flowd.conf:4: cannot read the included file \"parts\": it is a folder\n"
		"parts/a.conf:2: cannot read the included file \"gone.conf\": neither parts/gone.conf nor gone.conf is"
		" there; included by flowd.conf:3 -> parts/a.conf\n");
}

static void
given_one_file_by_two_ways_when_included_then_it_is_no_loop_and_places_are_its_own(void **state)
{
	config_text *t = *state;
	write_text("parts/empty.conf", "# nothing\n");
	write_text("parts/job.conf", "@include \"empty.conf\"\n\njob: { big = 3000000000; };");
	assert_true(
		config_text_load(t, "@include \"parts/empty.conf\"\n@include \"parts/job.conf\"\nstreams: {\n a = 1; };\n"));
	assert_string_equal(
		config_text_problems(t),
		"flowd.conf:4: streams.a: expected group, found integer\n"
		"parts/job.conf:3: job.big: the integer 3000000000 does not fit in 32 bits; if it is meant, write"
		" 3000000000L\n");
	assert_int_equal(config_file_count(t->config), 3);
	assert_string_equal(config_file(t->config, 0), "flowd.conf");
	assert_null(config_file(t->config, 3));
}

static void
given_files_that_double_each_other_when_included_then_the_bomb_is_refused(void **state)
{
	config_text *t = *state;
	char name[32], text[128];
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "f%d.conf", i);
		snprintf(text, sizeof(text), "@include \"f%d.conf\"\n@include \"f%d.conf\"\n", i + 1, i + 1);
		write_text(name, text);
	}
	write_text("f30.conf", "");
	assert_false(config_load(t->config, "f0.conf"));
	assert_non_null(strstr(config_text_problems(t), "a configuration may include 1000 files"));
}

static void
given_a_value_of_the_environment_when_resolved_then_it_is_taken_byte_for_byte_and_masked(void **state)
{
	static const char *const values[] = { ">a\\C\"b{",
										  "${HOME} $(id)",
										  "@include \"other.conf\"",
										  "x\"; url = \"y",
										  "line one\nline two\n",
										  "  both ends  ",
										  "a#b//c/*d*/",
										  "007",
										  "true",
										  "" };
	(void)state;
	for (size_t i = 0; i < FLOW_COUNT(values); i++) {
		config_text t;
		config_text_open(&t);
		setenv("FLOWD_TEST_SECRET", values[i], 1);
		assert_true(config_text_load(&t, "links: { shop: { password: { env = \"FLOWD_TEST_SECRET\"; }; }; };"));
		assert_string_equal(config_text_problems(&t), "");
		const setting *password = config_explain(t.config, "links.shop.password");
		assert_int_equal(password->kind, SETTING_STRING);
		assert_int_equal(password->size, strlen(values[i]));
		assert_string_equal(password->text, values[i]);
		assert_string_equal(setting_print(t.arena, config_root(t.config, "links")),
							"{ shop: { password = ********; }; }");
		config_text_close(&t);
	}
}

static void
given_a_variable_that_is_not_set_when_resolved_then_path_line_and_variable_are_named(void **state)
{
	config_text *t = *state;
	unsetenv("FLOWD_TEST_UNSET");
	assert_true(config_text_load(t, "links: {\n shop: { password: { env = \"FLOWD_TEST_UNSET\"; }; }; };"));
	assert_string_equal(config_text_problems(t),
						"flowd.conf:2: links.shop.password: the environment variable FLOWD_TEST_UNSET is not set\n");
}

static void
given_a_value_of_a_file_when_resolved_then_only_its_last_newline_is_dropped(void **state)
{
	config_text *t = *state;
	config_text_write("secrets/a", "pass\0word\n\n", 11);
	write_text("secrets/empty", "");
	assert_true(config_text_load(t, "links: { a: { p: { file = \"secrets/a\"; };\n q: { file = \"secrets/none\"; };\n"
									" r: { file = \"secrets\"; }; e: { file = \"secrets/empty\"; }; }; };"));
	const setting *p = config_explain(t->config, "links.a.p");
	assert_int_equal(p->size, 10);
	assert_memory_equal(p->text, "pass\0word\n", 10);
	assert_int_equal(config_explain(t->config, "links.a.e")->size, 0);
	assert_string_equal(config_text_problems(t),
						"flowd.conf:2: links.a.q: the file secrets/none cannot be read: No such file or directory\n"
						"flowd.conf:3: links.a.r: the file secrets cannot be read: it is no regular file\n");
}

static void
check_set(config_text *t, const char *assignment, const char *path, const char *printed)
{
	assert_true(config_set_command(t->config, assignment));
	const setting *s = config_explain(t->config, path);
	assert_non_null(s);
	assert_string_equal(setting_print(t->arena, s), printed);
	assert_int_equal(s->layer, LAYER_COMMAND);
	assert_string_equal(s->origin, "--set");
}

static void
given_set_arguments_when_read_then_values_are_what_libconfig_reads_or_the_text_itself(void **state)
{
	config_text *t = *state;
	check_set(t, "streams.x.n=5", "streams.x.n", "5");
	check_set(t, "streams.x.b=true", "streams.x.b", "true");
	check_set(t, "streams.x.l=[\"a\", \"b\"]", "streams.x.l", "[\"a\", \"b\"]");
	check_set(t, "streams.x.t=hello world", "streams.x.t", "\"hello world\"");
	check_set(t, "streams.x.w=dep_delay > 15", "streams.x.w", "\"dep_delay > 15\"");
	check_set(t, "streams.x.e=", "streams.x.e", "\"\"");
	check_set(t, "streams.x.u=http://x#y", "streams.x.u", "\"http://x#y\"");
	check_set(t, "streams.x.i=1; v = 2", "streams.x.i", "\"1; v = 2\"");
	check_set(t, "streams.x.j=1; value = 2", "streams.x.j", "\"1; value = 2\"");
	check_set(t, "streams.x.k=@include \"y\"", "streams.x.k", "\"@include \\\"y\\\"\"");
	check_set(t, "streams.x.\"a.b=c\"=1", "streams.x.\"a.b=c\"", "1");
	check_set(t, "job.workers=2", "job.workers", "2");
	assert_string_equal(config_text_problems(t), "");
}

static void
given_wrong_set_arguments_when_read_then_each_is_a_problem(void **state)
{
	config_text *t = *state;
	assert_false(config_set_command(t->config, "nonsense"));
	assert_false(config_set_command(t->config, "strems.x.y=1"));
	assert_false(config_set_command(t->config, "streams.x=1"));
	assert_false(config_set_command(t->config, "streams..y=1"));
	assert_false(config_set_command(t->config, "streams.x.\"y=1"));
	assert_false(config_set_command(t->config, "=1"));
	config_set_command(t->config, "streams.x.big=3000000000");
	assert_string_equal(
		config_text_problems(t),
		"--set: this is no path of a key, like streams.flights.bounded\n"
		"--set: nonsense: expected is --set path.to.key=value\n"
		"--set: streams..y: this is no path of a key, like streams.flights.bounded\n"
		"--set: streams.x: the path ends before it names an option\n"
		"--set: streams.x.\"y=1: expected is --set path.to.key=value\n"
		"--set: streams.x.big: 3000000000 does not fit (integers beyond 32 bits end with L)\n"
		"--set: strems.x.y: keys begin with systems, streams, tables, operators or job, did you mean \"streams\"?\n");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(given_integers_that_libconfig_would_wrap_when_loaded_then_each_is_refused_as_written),
		TEST(given_numbers_beyond_a_double_and_texts_that_are_none_when_loaded_then_each_is_refused_at_its_place),
		TEST(given_all_forms_of_values_when_loaded_then_kind_value_place_and_path_are_right),
		TEST(given_a_name_twice_when_loaded_then_both_lines_are_named_and_other_problems_too),
		TEST(given_broken_texts_when_loaded_then_each_has_its_line_and_nothing_is_read),
		TEST(given_huge_depth_or_counts_when_loaded_then_they_are_refused_at_once),
		TEST(given_a_nul_byte_when_loaded_then_the_rest_is_not_cut_off_in_silence),
		TEST(given_files_that_include_each_other_when_loaded_then_the_chain_is_named),
		TEST(given_files_that_are_missing_when_included_then_each_is_named_with_its_line),
		TEST(given_one_file_by_two_ways_when_included_then_it_is_no_loop_and_places_are_its_own),
		TEST(given_files_that_double_each_other_when_included_then_the_bomb_is_refused),
		TEST(given_a_value_of_the_environment_when_resolved_then_it_is_taken_byte_for_byte_and_masked),
		TEST(given_a_variable_that_is_not_set_when_resolved_then_path_line_and_variable_are_named),
		TEST(given_a_value_of_a_file_when_resolved_then_only_its_last_newline_is_dropped),
		TEST(given_set_arguments_when_read_then_values_are_what_libconfig_reads_or_the_text_itself),
		TEST(given_wrong_set_arguments_when_read_then_each_is_a_problem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
