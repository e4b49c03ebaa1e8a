/* What plans print: text, JSON, DOT, Mermaid; the same bytes each time, and no secret. */
#include <jansson.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "support/plan_text.h"

#define CONF                                                                                                           \
	"application: { name = \"late\"; parallelism = 2; workers = 2; default_system = \"local\";\n"                      \
	"systems: { files: { type = \"file\"; password = \"hunter2\"; }; local: { type = \"messaging\"; serde: { key = "   \
	"\"string\"; value = \"json\"; }; }; };\n"                                                                       \
	"inputs: { flights: { system = \"files\"; path = \"data/flights.csv\"; partitions = 2; bounded = true; serde: { type = \"csv\"; "  \
	"types: { carrier = "                                                                                              \
	"\"string\"; delay = \"int64?\"; t = \"timestamp\"; tail = \"string\"; }; }; }; };\n"                              \
	"outputs: { out: { system = \"local\"; serde: { key = \"string\"; value = \"json\"; }; promise = \"resumable\"; "  \
	"}; };\n"                                                                                                          \
	"flow: ( { name = \"delayed\"; from = \"flights\"; where = \"delay > 15\"; },\n"                                   \
	"{ name = \"by\"; key_by = \"carrier\"; },\n"                                                                      \
	"{ name = \"counts\"; window: { tumbling = \"1h\"; time = \"t\"; out_of_order = \"1d\"; }; aggregate: { n = "      \
	"\"count(*)\"; m = "                                                                                               \
	"\"avg(delay)\"; }; to = \"out\"; } ); };\n"

/* The final configuration, each line behind `begin`: in the text, and as comments in the pictures. */
#define CONFIGURATION(begin)                                                                                           \
	begin "job.default_system = \"local\"  # flowd.conf:1\n"                                                           \
	begin "job.parallelism = 2  # flowd.conf:1\n"                                                                      \
	begin "job.workers = 2  # flowd.conf:1\n"                                                                          \
	begin "operators.counts.aggregate.m = \"avg(delay)\"  # flowd.conf:7\n"                                            \
	begin "operators.counts.aggregate.n = \"count(*)\"  # flowd.conf:7\n"                                              \
	begin "operators.counts.window.out_of_order = \"1d\"  # flowd.conf:7\n"                                            \
	begin "operators.counts.window.time = \"t\"  # flowd.conf:7\n"                                                     \
	begin "operators.counts.window.tumbling = \"1h\"  # flowd.conf:7\n"                                                \
	begin "operators.delayed.where = \"delay > 15\"  # flowd.conf:5\n"                                                 \
	begin "streams.flights.bounded = true  # flowd.conf:3\n"                                                           \
	begin "streams.flights.partitions = 2  # flowd.conf:3\n"                                                           \
	begin "streams.flights.path = \"data/flights.csv\"  # flowd.conf:3\n"                                              \
	begin "streams.flights.serde.type = \"csv\"  # flowd.conf:3\n"                                                     \
	begin "streams.flights.serde.types.carrier = \"string\"  # flowd.conf:3\n"                                         \
	begin "streams.flights.serde.types.delay = \"int64?\"  # flowd.conf:3\n"                                           \
	begin "streams.flights.serde.types.t = \"timestamp\"  # flowd.conf:3\n"                                            \
	begin "streams.flights.serde.types.tail = \"string\"  # flowd.conf:3\n"                                            \
	begin "streams.flights.system = \"files\"  # flowd.conf:3\n"                                                       \
	begin "streams.late-by.partitions = 2  # planner\n"                                                                \
	begin "streams.late-by.serde.key = \"string\"  # flowd.conf:2\n"                                                   \
	begin "streams.late-by.serde.value = \"json\"  # flowd.conf:2\n"                                                   \
	begin "streams.late-by.system = \"local\"  # planner\n"                                                            \
	begin "streams.out.promise = \"resumable\"  # flowd.conf:4\n"                                                      \
	begin "streams.out.serde.key = \"string\"  # flowd.conf:4\n"                                                       \
	begin "streams.out.serde.value = \"json\"  # flowd.conf:4\n"                                                       \
	begin "streams.out.system = \"local\"  # flowd.conf:4\n"                                                           \
	begin "systems.files.password = ********  # flowd.conf:2\n"                                                        \
	begin "systems.files.type = \"file\"  # flowd.conf:2\n"                                                            \
	begin "systems.local.serde.key = \"string\"  # flowd.conf:2\n"                                                     \
	begin "systems.local.serde.value = \"json\"  # flowd.conf:2\n"                                                     \
	begin "systems.local.type = \"messaging\"  # flowd.conf:2\n"

static void
given_a_plan_when_printed_as_text_then_everything_that_runs_is_told(void **state)
{
	plan_text *t = *state;
	char head[128];
	snprintf(head, sizeof(head), "job late, plan %s\n", plan_text_plan(t, CONF)->id);
	const char *text = plan_text_printed(t, plan_print_text);
	assert_memory_equal(text, head, strlen(head));
	assert_string_equal(text + strlen(head),
						"ends when its inputs end; keeps state; parallelism 2 of at most 128, 2 workers\n"
						"\nstreams\n"
						"  in  flights: files (file), csv, non_keyed, bounded, 3 of 4 fields read, 2 partitions\n"
						"      record(carrier:string,delay:int64?,t:timestamp,tail:string)\n"
						"  out out: local (messaging), key string, json, keyed, resumable\n"
						"      record(key:string,n:int64)\n"
						"  via late-by: local, by key, 2 partitions, key string, json\n"
						"\nstages\n"
						"  stage 0, 2 tasks\n"
						"    flights: read flights\n"
						"    delayed: where delay > 15\n"
						"      from flights, exactly once\n"
						"      non_keyed: record(carrier:string,delay:int64?,t:timestamp,tail:string)\n"
						"    counts_time: event time t, non_keyed, out of order by 1d\n"
						"      from delayed, exactly once\n"
						"    by: key by carrier\n"
						"      from counts_time, exactly once\n"
						"      keyed: record(carrier:string,delay:int64?,t:timestamp,tail:string) by string\n"
						"  stage 1, 2 tasks by key\n"
						"    counts: aggregate n, m, late records: fail\n"
						"      from by by key, exactly once\n"
						"      state: count and timers\n"
						"      keyed: record(key:string,n:int64) by string\n"
						"    out: write out\n"
						"      from counts, exactly once\n"
						"\nconfiguration\n" CONFIGURATION("  "));
}

static const char *
text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text == NULL ? "" : text;
}

static void
given_a_plan_when_printed_as_json_then_it_is_json_with_types_places_and_no_secret(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, CONF);
	const char *text = plan_text_printed(t, plan_print_json);
	assert_null(strstr(text, "hunter2"));
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_string_equal(text_at(root, "id"), p->id);
	assert_string_equal(text_at(root, "state_id"), p->state_id);
	assert_string_equal(text_at(root, "state_store"), "rocksdb");
	const json_t *counts = json_array_get(json_object_get(root, "operators"), 4);
	assert_string_equal(text_at(counts, "name"), "counts");
	assert_string_equal(text_at(counts, "schema"), "record(key:string,n:int64)");
	assert_string_equal(text_at(counts, "place"), "flowd.conf:7");
	assert_string_equal(text_at(json_array_get(json_object_get(counts, "states"), 0), "layout"), "count:i64");
	const json_t *flights = json_array_get(json_object_get(root, "streams"), 0);
	assert_string_equal(text_at(json_object_get(flights, "options"), "path"), "data/flights.csv");
	assert_int_equal(json_array_size(json_object_get(flights, "fields_read")), 3);
	const json_t *edge = json_array_get(json_object_get(root, "edges"), 3);
	assert_string_equal(text_at(edge, "partitioning"), "key");
	assert_string_equal(text_at(edge, "delivery"), "exactly once");
	assert_int_equal(json_array_size(json_object_get(root, "stages")), 2);
	const json_t *between = json_array_get(json_object_get(root, "intermediates"), 0);
	assert_string_equal(text_at(between, "id"), "late-by");
	assert_string_equal(text_at(json_object_get(between, "key"), "type"), "string");
	assert_string_equal(text_at(json_object_get(between, "value"), "type"), "json");
	json_decref(root);
}

static void
given_a_plan_when_printed_for_graphviz_then_stages_are_clusters_and_the_configuration_is_in_comments(void **state)
{
	plan_text *t = *state;
	plan_text_plan(t, CONF);
	assert_string_equal(
		plan_text_printed(t, plan_print_dot),
		"digraph plan {\n  rankdir=LR;\n  node [shape=box];\n"
		"  subgraph cluster_0 {\n    label=\"stage 0, 2 tasks\";\n"
		"    o0 [label=\"read flights; non_keyed; 2 partitions\", style=rounded];\n"
		"    o1 [label=\"where delay > 15; non_keyed\"];\n"
		"    o2 [label=\"event time t; non_keyed\", style=rounded];\n    o3 [label=\"key by carrier; keyed\", style=rounded];\n  }\n"
		"  subgraph cluster_1 {\n    label=\"stage 1, 2 tasks\";\n    o4 [label=\"aggregate n, m; keyed; keeps count, timers\"];\n"
		"    o5 [label=\"write out; keyed\", style=rounded];\n  }\n"
		"  o0 -> o1 [label=\"exactly once\"];\n  o1 -> o2 [label=\"exactly once\"];\n  o2 -> o3 [label=\"exactly once\"];\n"
		"  o3 -> o4 [label=\"key, 2 partitions; exactly once\"];\n  o4 -> o5 [label=\"exactly once\"];\n" CONFIGURATION("  // ") "}\n");
}

static void
given_a_plan_when_printed_for_mermaid_then_special_characters_are_entities_and_the_configuration_is_in_comments(void **state)
{
	plan_text *t = *state;
	plan_text_plan(t, CONF);
	assert_string_equal(
		plan_text_printed(t, plan_print_mermaid),
		"flowchart LR\n  subgraph s0[\"stage 0, 2 tasks\"]\n    o0[\"read flights; non_keyed; 2 partitions\"]\n"
		"    o1[\"where delay #gt; 15; non_keyed\"]\n    o2[\"event time t; non_keyed\"]\n    o3[\"key by carrier; keyed\"]\n  end\n"
		"  subgraph s1[\"stage 1, 2 tasks\"]\n    o4[\"aggregate n, m; keyed; keeps count, timers\"]\n    o5[\"write out; keyed\"]\n  end\n"
		"  o0 -->|\"exactly once\"| o1\n  o1 -->|\"exactly once\"| o2\n  o2 -->|\"exactly once\"| o3\n"
		"  o3 -->|\"key, 2 partitions; exactly once\"| o4\n  o4 -->|\"exactly once\"| o5\n" CONFIGURATION("  %% "));
}

/* A step behind an input of records with the string y. */
#define WHERE                                                                                                          \
	"application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\"; types: { y = \"string\"; }; }; "  \
	"}; };\n"                                                                                                          \
	"inputs: { a: { system = \"local\"; }; all: { system = \"local\"; broadcast = true; partitions = 1; }; };\n"        \
	"outputs: { o: { system = \"local\"; }; };\n"                                                                     \
	"flow: ( { name = \"w\"; from = \"a\"; where = \"%s\"; }, { connect = \"all\"; meet: { one_is_broadcast = true; }; to = \"o\"; } ); };\n"

static const char *
where(const char *condition)
{
	static char conf[4096];
	snprintf(conf, sizeof(conf), WHERE, condition);
	return conf;
}

static void
given_a_title_with_what_the_notations_read_as_signs_when_printed_then_it_shows_as_written(void **state)
{
	plan_text *t = *state;
	plan_text_plan(t, where("y = 'a#35;b &lt; \\\"<c>'"));
	assert_non_null(strstr(plan_text_printed(t, plan_print_mermaid),
						   "[\"where y = 'a#35;35;b #amp;lt; #quot;#lt;c#gt;'; non_keyed\"]\n"));
	assert_non_null(strstr(plan_text_printed(t, plan_print_dot),
						   " [label=\"where y = 'a#35;b &amp;lt; \\\"<c>'; non_keyed\"];\n"));
}

static void
given_a_title_that_is_too_long_when_printed_then_it_alone_is_cut_between_two_characters(void **state)
{
	plan_text *t = *state;
	char condition[512] = "y = '", shown[512] = "where y = '";
	for (int i = 0; i < 150; i++)
		strcat(condition, "\xC3\xA4");
	strcat(condition, "'");
	for (int i = 0; i < 94; i++) /* 199 bytes; the next one would end behind the 200th */
		strcat(shown, "\xC3\xA4");
	strcat(shown, "...; non_keyed\"]");
	plan_text_plan(t, where(condition));
	assert_non_null(strstr(plan_text_printed(t, plan_print_mermaid), shown));
	assert_non_null(strstr(plan_text_printed(t, plan_print_dot), shown));
}

static void
given_a_broadcast_input_when_printed_then_its_kind_and_its_way_are_told(void **state)
{
	plan_text *t = *state;
	plan_text_plan(t, where("y > 'a'"));
	const char *text = plan_text_printed(t, plan_print_text);
	assert_non_null(strstr(text, "  in  all: local (messaging), json, broadcast, unbounded, read by every task, 1 partition\n"));
	assert_non_null(strstr(text, " by broadcast, at least once\n"));
	const char *dot = plan_text_printed(t, plan_print_dot);
	assert_non_null(strstr(dot, "[label=\"read all; broadcast; 1 partition\", style=rounded];\n"));
	assert_non_null(strstr(dot, " [label=\"broadcast; at least once\"];\n"));
}

/* Rejected records of the input, of one step and of the output, late ones of another step; the merge in front rejects none. */
#define LETTERS                                                                                                        \
	"application: { name = \"t\"; dead_letters = \"d\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\"; types: {\n" \
	"  x = \"int64\"; t = \"timestamp\"; }; }; }; };\n"                                                                  \
	"inputs: { a: { system = \"local\"; record_errors = \"dead_letter\"; }; b: { system = \"local\"; }; };\n"           \
	"outputs: { o: { system = \"local\"; record_errors = \"dead_letter\"; }; d: { system = \"local\"; }; };\n"          \
	"flow: ( { name = \"m\"; from = [\"a\", \"b\"]; where = \"x > 1\"; record_errors = \"dead_letter\"; },\n"         \
	"{ name = \"k\"; key_by = \"x\"; },\n"                                                                            \
	"{ name = \"n\"; aggregate: { n = \"count(*)\"; }; window: { tumbling = \"1h\"; time = \"t\"; };\n"               \
	"  late_records = \"dead_letter\"; record_errors = \"dead_letter\"; to = \"o\"; } ); };\n"

static void
given_dead_letters_when_printed_then_each_form_shows_whose_records_go_there(void **state)
{
	plan_text *t = *state;
	plan_text_plan(t, LETTERS);
	const char *text = plan_text_printed(t, plan_print_text);
	assert_non_null(strstr(text, "    d: write dead letters to d\n"
								 "      from a (rejected), at least once\n"
								 "      from m (rejected), at least once\n"
								 "      from n (rejected, late), at least once\n"
								 "      from o (rejected), at least once\n"));
	assert_non_null(strstr(plan_text_printed(t, plan_print_dot),
						   "  o6 -> o7 [label=\"at least once\"];\n"
						   "  o0 -> o8 [label=\"rejected; at least once\", style=dashed];\n"
						   "  o3 -> o8 [label=\"rejected; at least once\", style=dashed];\n"
						   "  o6 -> o8 [label=\"rejected, late; at least once\", style=dashed];\n"
						   "  o7 -> o8 [label=\"rejected; at least once\", style=dashed];\n"));
	assert_non_null(strstr(plan_text_printed(t, plan_print_mermaid),
						   "  o6 -->|\"at least once\"| o7\n"
						   "  o0 -.->|\"rejected; at least once\"| o8\n"
						   "  o3 -.->|\"rejected; at least once\"| o8\n"
						   "  o6 -.->|\"rejected, late; at least once\"| o8\n"
						   "  o7 -.->|\"rejected; at least once\"| o8\n"));
	json_t *root = json_loads(plan_text_printed(t, plan_print_json), JSON_REJECT_DUPLICATES, NULL);
	const json_t *edges = json_object_get(root, "dead_letter_edges");
	assert_int_equal(json_array_size(edges), 4);
	const json_t *of_window = json_array_get(edges, 2);
	assert_string_equal(text_at(of_window, "from"), "n");
	assert_string_equal(text_at(of_window, "to"), "d");
	assert_string_equal(text_at(of_window, "records"), "rejected, late");
	assert_string_equal(text_at(of_window, "delivery"), "at least once");
	json_decref(root);
}

static void
given_no_dead_letters_when_printed_then_there_are_no_edges_to_them(void **state)
{
	plan_text *t = *state;
	plan_text_plan(t, CONF);
	json_t *root = json_loads(plan_text_printed(t, plan_print_json), JSON_REJECT_DUPLICATES, NULL);
	assert_int_equal(json_array_size(json_object_get(root, "dead_letter_edges")), 0);
	json_decref(root);
}

/* A number that would be another one with a comma for its point. */
#define NUMBERS                                                                                                        \
	"application: { name = \"n\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\"; types: { x = "   \
	"\"float64\"; }; }; }; };\n"                                                                                       \
	"inputs: { a: { system = \"local\"; }; }; outputs: { o: { system = \"local\"; }; };\n"                            \
	"flow: ( { name = \"f\"; from = \"a\"; where = \"x > 1234.5\"; }, { name = \"k\"; keep: { share = 1234.5; }; to = " \
	"\"o\"; } ); };\n"

/* The plan in all its forms; only its id where `file` is not the one that its places tell. */
static char *
printed_once(const char *file, const char *conf)
{
	void *state = NULL;
	plan_text_setup(&state);
	plan_text *t = state;
	config_text_write(file, conf, strlen(conf));
	assert_true(config_load(t->text.config, file));
	t->graph = graph_from_config(t->text.config, t->registry);
	t->plan = plan_create(t->text.config, t->registry, t->graph, 0);
	assert_non_null(t->plan);
	static void (*const forms[])(const plan *p, FILE *to) = { plan_print_text, plan_print_json, plan_print_dot,
															  plan_print_mermaid };
	const char *text = t->plan->id;
	for (size_t i = 0; i < FLOW_COUNT(forms) && strcmp(file, "flowd.conf") == 0; i++)
		text = arena_format(t->text.arena, "%s\n%s", text, plan_text_printed(t, forms[i]));
	char *copy = strdup(text);
	plan_text_teardown(&state);
	return copy;
}

static void
use_locale_with_a_comma(void)
{
	setenv("LOCPATH", BUILD_FOLDER "/tests/locale", 1);
	if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL || strcmp(localeconv()->decimal_point, ",") != 0)
		fail_msg("no locale in " BUILD_FOLDER "/tests/locale: scripts/setup --tests installs what it is made from");
}

static void
given_one_configuration_when_planned_a_hundred_times_in_any_locale_then_the_bytes_are_equal(void **state)
{
	(void)state;
	char *first = printed_once("flowd.conf", CONF), *numbers = printed_once("flowd.conf", NUMBERS);
	assert_non_null(strstr(numbers, "share = 1234.5  #"));
	assert_non_null(strstr(numbers, "\"share\": 1234.5"));
	use_locale_with_a_comma();
	for (int i = 0; i < 200; i++) {
		if (i == 100)
			setenv("TZ", "Asia/Tokyo", 1);
		char *again = printed_once("flowd.conf", i % 2 == 0 ? CONF : NUMBERS);
		assert_string_equal(i % 2 == 0 ? first : numbers, again);
		free(again);
	}
	setlocale(LC_ALL, "C");
	free(first);
	free(numbers);
}

static void
given_one_configuration_in_another_folder_when_planned_then_the_id_is_equal(void **state)
{
	(void)state;
	char *here = printed_once("other.conf", CONF), *there = printed_once("parts/other.conf", CONF);
	assert_string_equal(here, there);
	free(here);
	free(there);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, plan_text_setup, plan_text_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_a_plan_when_printed_as_text_then_everything_that_runs_is_told),
		TEST(given_a_plan_when_printed_as_json_then_it_is_json_with_types_places_and_no_secret),
		TEST(given_a_plan_when_printed_for_graphviz_then_stages_are_clusters_and_the_configuration_is_in_comments),
		TEST(given_a_plan_when_printed_for_mermaid_then_special_characters_are_entities_and_the_configuration_is_in_comments),
		TEST(given_a_title_with_what_the_notations_read_as_signs_when_printed_then_it_shows_as_written),
		TEST(given_a_title_that_is_too_long_when_printed_then_it_alone_is_cut_between_two_characters),
		TEST(given_a_broadcast_input_when_printed_then_its_kind_and_its_way_are_told),
		TEST(given_dead_letters_when_printed_then_each_form_shows_whose_records_go_there),
		TEST(given_no_dead_letters_when_printed_then_there_are_no_edges_to_them),
		cmocka_unit_test(given_one_configuration_when_planned_a_hundred_times_in_any_locale_then_the_bytes_are_equal),
		cmocka_unit_test(given_one_configuration_in_another_folder_when_planned_then_the_id_is_equal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
