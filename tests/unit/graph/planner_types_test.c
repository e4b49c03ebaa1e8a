/* Types through the flow: functions, keys, event times, tables, sinks; and every error that binding them finds. */
#include <string.h>

#include "base/schema.h"
#include "support/plan_text.h"

static void
expect(void **state, const char *conf, const char *reported)
{
	assert_string_equal(plan_text_problems(*state, conf), reported);
}

/* Steps stand from line 9 on, inputs a and b in line 3, raw in line 4. Records: x int64, y string, t timestamp, m a map, bytes. */
#define HEAD                                                                                                           \
	"application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\";\n"               \
	"  types: { x = \"int64\"; y = \"string?\"; t = \"timestamp\"; m = \"map<int64>\"; }; }; }; };\n"                  \
	"inputs: { a: { system = \"local\"; bounded = true; }; b: { system = \"local\"; bounded = true; };\n"              \
	"  raw: { system = \"local\"; serde: { type = \"json\"; types: { z = \"bytes\"; }; }; }; };\n"                     \
	"outputs: { o: { system = \"local\"; }; typed: { system = \"local\"; serde = \"json\"; takes = "                   \
	"\"record(x:int64)\"; };\n"                                                                                        \
	"  keyed: { system = \"local\"; serde: { key = \"string\"; value = \"json\"; }; }; };\n"                           \
	"tables: { t: { type = \"durable\"; }; v: { type = \"memory\"; }; };\n"
#define FLOW(steps) HEAD "flow: (\n" steps "\n); };\n"

/* --- functions --- */

static void
given_an_expression_of_an_unknown_field_when_bound_then_its_line_the_nearest_field_and_the_input_are_named(void **state)
{
	const char *reported = plan_text_problems(
		*state, FLOW("{ from = \"a\"; to = \"o\"; },\n{ from = \"a\";\nwhere = \"xx > 1\"; to = \"o\"; }"));
	assert_string_equal(reported, "flowd.conf:11: application.flow[1].where: unknown field \"xx\", did you mean \"x\"? at character 1; "
								  "the records come from input 'a' (flowd.conf:3)\n");
}

static void
given_an_expression_of_a_wrong_type_when_bound_then_the_step_before_is_named_too(void **state)
{
	expect(state,
		   FLOW("{ name = \"s\"; from = \"a\"; pass = true; },\n{ where = \"y > x\"; to = \"o\"; },\n"
				"{ from = [\"b\", \"a\"]; where = \"y > x\"; to = \"o\"; }"),
		   "flowd.conf:10: application.flow[1].where: string and int64 cannot be compared; cast one of them at character 3; the "
		   "records come from step 's' (flowd.conf:9)\n"
		   "flowd.conf:11: application.flow[2].where: string and int64 cannot be compared; cast one of them at character 3; the "
		   "records come from input 'b' (flowd.conf:3)\n");
}

static void
given_a_function_that_cannot_take_two_inputs_when_bound_then_both_of_them_are_named(void **state)
{
	expect(state, FLOW("{ name = \"s\"; from = \"a\"; pass = true; },\n{ connect = \"raw\"; pair = true; to = \"o\"; }"),
		   "flowd.conf:10: application.flow[1]: the inputs have 4 and 1 fields; the records come from step 's' (flowd.conf:9) and "
		   "input 'raw' (flowd.conf:4)\n");
}

static void
given_an_expression_that_is_none_when_bound_then_no_input_is_blamed(void **state)
{
	const char *reported = plan_text_problems(*state, FLOW("{ from = \"a\"; where = \"x >\"; to = \"o\"; }"));
	assert_non_null(strstr(reported, "flowd.conf:9: application.flow[0].where: "));
	assert_null(strstr(reported, "the records come from"));
}

static void
given_errors_in_two_branches_when_bound_then_both_are_reported(void **state)
{
	const char *reported =
		plan_text_problems(*state, FLOW("{ from = \"a\"; where = \"q > 1\"; },\n{ where = \"r > 1\"; to = \"o\"; },\n{ "
										"from = \"b\"; where = \"s > 1\"; to = \"o\"; }"));
	assert_non_null(strstr(reported, "flow[0].where"));
	assert_non_null(strstr(reported, "flow[2].where"));
	assert_null(strstr(reported, "flow[1].where")); /* its input is not known */
}

static void
given_functions_that_a_step_cannot_hold_when_bound_then_it_is_said_why(void **state)
{
	expect(
		state,
		FLOW("{ from = \"a\"; pair = true; to = \"o\"; },\n{ from = \"a\"; split = true; to = \"o\"; },\n"
			 "{ from = \"a\"; keyed_only = true; to = \"o\"; },\n{ from = \"a\"; sloppy = true; to = \"o\"; },\n"
			 "{ from = \"a\"; timed = true; to = \"o\"; }"),
		"flowd.conf:9: application.flow[0]: 'pair' takes two inputs; name the second one: connect = \"...\"\n"
		"flowd.conf:10: application.flow[1]: plugin error: 'split' has the shape of two outputs, but describes one\n"
		"flowd.conf:11: application.flow[2]: 'keyed_only' needs a keyed stream: put key_by = \"...\" in front of it; the "
		"records come from input 'a' (flowd.conf:3)\n"
		"flowd.conf:12: application.flow[3]: plugin error: 'sloppy' passes on a field that its input does not have\n"
		"flowd.conf:13: application.flow[4]: 'timed' works by event time, but its records have none: name the field "
		"that holds it; the records come from input 'a' (flowd.conf:3)\n");
}

static void
given_a_step_behind_one_without_records_when_bound_then_it_is_refused(void **state)
{
	expect(state,
		   FLOW("{ from = \"a\"; sink_all = true; },\n{ where = \"x > 1\"; to = \"o\"; },\n{ from = \"b\"; sink_all = "
				"true; to = \"o\"; }"),
		   "flowd.conf:10: application.flow[1]: the step before (flowd.conf:9) gives no records\n"
		   "flowd.conf:11: application.flow[2].to: 'sink_all' gives no records to write\n");
}

static void
given_state_without_name_or_key_when_bound_then_it_is_refused(void **state)
{
	expect(state,
		   FLOW("{ from = \"a\"; key_by = \"x\"; },\n{ aggregate: { n = \"count(*)\"; }; to = \"o\"; },\n"
				"{ name = \"n\"; from = \"b\"; aggregate: { n = \"count(*)\"; }; to = \"o\"; }"),
		   "flowd.conf:10: application.flow[1].name: is missing: the step keeps state under its name\n"
		   "flowd.conf:11: application.flow[2]: 'aggregate' keeps state for each key, 'count', and input 'b' is non_keyed: put "
		   "key_by = \"...\" (or global = true) in front of it\n");
}

/* --- partitionings: each pair of the table that is no way --- */

static void
given_a_global_stream_when_made_global_then_it_is_refused(void **state)
{
	expect(state, FLOW("{ from = \"a\"; global = true; },\n{ global = true; to = \"o\"; }"),
		   "flowd.conf:10: application.flow[1].global: the step at flowd.conf:9 is global already; take this away\n");
}

static void
given_a_broadcast_stream_when_partitioned_processed_or_written_then_it_is_refused(void **state)
{
	expect(
		state,
		FLOW("{ name = \"all\"; from = \"a\"; broadcast = true; },\n{ from = \"all\"; shuffle = true; to = \"o\"; },\n"
			 "{ from = \"all\"; key_by = \"x\"; to = \"o\"; },\n{ from = \"all\"; global = true; to = \"o\"; },\n"
			 "{ from = \"all\"; broadcast = true; to = \"o\"; },\n{ from = \"all\"; where = \"x > 1\"; to = \"o\"; },\n"
			 "{ from = \"all\"; to = \"o\"; }"),
		"flowd.conf:10: application.flow[1].shuffle: step 'all' (flowd.conf:9) is broadcast, and a "
		"broadcast stream cannot be partitioned again; partition what is in front of it\n"
		"flowd.conf:11: application.flow[2].key_by: step 'all' (flowd.conf:9) is broadcast, and a "
		"broadcast stream cannot be partitioned again; partition what is in front of it\n"
		"flowd.conf:12: application.flow[3].global: step 'all' (flowd.conf:9) is broadcast, and a "
		"broadcast stream cannot be partitioned again; partition what is in front of it\n"
		"flowd.conf:13: application.flow[4].broadcast: step 'all' (flowd.conf:9) is broadcast, and a "
		"broadcast stream cannot be partitioned again; partition what is in front of it\n"
		"flowd.conf:14: application.flow[5]: a broadcast stream can only be one side of a function with two inputs; "
		"'where' has one: step 'all' (flowd.conf:9) is broadcast, so connect it to another stream\n"
		"flowd.conf:15: application.flow[6].to: step 'all' (flowd.conf:9) is broadcast, and a broadcast stream cannot be "
		"written: each record would be written by every task; write what is in front of it\n");
}

/* --- keys --- */

static void
given_one_key_when_bound_then_its_type_is_the_key_without_null(void **state)
{
	plan_text *t = *state;
	const plan_operator *o = plan_text_operator(
		plan_text_plan(t, FLOW("{ name = \"k\"; from = \"a\"; key_by = \"y\"; to = \"keyed\"; }")), "k");
	assert_int_equal(o->key_schema[0]->kind, FLOW_KIND_STRING);
	assert_false(flow_schema_nullable(o->key_schema[0]));
	assert_int_equal(o->key_count, 1);
	assert_string_equal(o->title, "key by y");
}

static void
given_several_keys_when_bound_then_the_key_is_a_record_named_by_its_fields(void **state)
{
	plan_text *t = *state;
	const plan *p =
		plan_text_plan(t, FLOW("{ name = \"k\"; from = \"a\"; key_by = (\"y\", \"x + 1\", \"y\"); to = \"o\"; }"));
	const flow_schema *wanted = schema_parse_type(flow_slice_of("record(y:string,key_2:int64,y_3:string)"), NULL);
	const flow_schema *key = plan_text_operator(p, "k")->key_schema[0];
	assert_int_equal(key->field_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(flow_slice_equal(key->fields[i]->name, wanted->fields[i]->name));
		assert_true(schema_equal(key->fields[i]->schema, wanted->fields[i]->schema));
	}
	schema_release(wanted);
}

static void
given_keys_that_cannot_be_when_bound_then_they_are_refused(void **state)
{
	const char *reported = plan_text_problems(
		*state,
		FLOW("{ from = \"a\"; key_by = \"m\"; to = \"o\"; },\n{ from = \"a\"; key_by = \"null\"; to = \"o\"; },\n"
			 "{ from = \"a\"; key_by = (\"x\",\n\"nobody\"); to = \"o\"; }"));
	assert_non_null(strstr(reported, "flowd.conf:9: application.flow[0].key_by: a map cannot be part of a key; the records come "
									 "from input 'a' (flowd.conf:3)\n"));
	assert_non_null(strstr(reported, "flowd.conf:10: application.flow[1].key_by: the key is always null; the records come from "
									 "input 'a' (flowd.conf:3)\n"));
	assert_non_null(strstr(reported, "flowd.conf:12: application.flow[2].key_by[1]: unknown field \"nobody\""));
	assert_non_null(strstr(strstr(reported, "nobody"), "; the records come from input 'a' (flowd.conf:3)\n"));
}

/* --- event time --- */

#define WINDOW(time)                                                                                                   \
	"window: { tumbling = \"1h\"; time = \"" time "\"; out_of_order = \"1m\"; }; aggregate: { n = \"count(*)\"; };"

static void
given_a_key_by_before_a_window_when_bound_then_event_time_is_assigned_in_front_of_it(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(
		t, FLOW("{ from = \"a\"; where = \"x > 1\"; },\n{ name = \"k\"; key_by = \"x\"; },\n{ name = \"n\"; " WINDOW(
			   "t") " to = \"o\"; }"));
	const plan_operator *time = plan_text_operator(p, "n_time"), *key = plan_text_operator(p, "k");
	assert_int_equal(plan_text_edge_to(p, "k")->from, time->index);
	assert_int_equal(plan_text_edge_to(p, "n")->from, key->index);
	assert_int_equal(time->stage, key->stage);
	assert_int_equal(time->out_of_order, 60000000);
	assert_int_equal(plan_text_edge_to(p, "n")->partitioning, EDGE_KEY);
	assert_int_equal(plan_text_operator(p, "n")->late, RECORD_ERRORS_FAIL);
}

static void
given_a_key_by_that_feeds_more_than_the_window_when_bound_then_the_window_has_one_of_its_own_behind_its_time(void **state)
{
	plan_text *t = *state;
	const plan *p =
		plan_text_plan(t, FLOW("{ name = \"k\"; from = \"a\"; key_by = \"x\"; },\n{ name = \"n\"; " WINDOW(
							  "t") " to = \"o\"; },\n"
								   "{ name = \"m\"; from = \"k\"; aggregate: { n = \"count(*)\"; }; to = \"o\"; }"));
	const plan_operator *time = plan_text_operator(p, "n_time");
	const plan_operator *mine = &p->operators[plan_text_edge_to(p, "n")->from];
	assert_int_equal(plan_text_edge_to(p, "n_time")->from, plan_text_operator(p, "a")->index);
	assert_int_equal(mine->kind, OPERATOR_KEY_BY);
	assert_int_equal(plan_text_edge_to(p, mine->name)->from, time->index);
	assert_int_equal(plan_text_edge_to(p, "n")->partitioning, EDGE_KEY);
	assert_int_equal(plan_text_edge_to(p, "m")->from, plan_text_operator(p, "k")->index);
}

static void
given_a_key_by_that_is_written_too_when_bound_then_the_window_has_one_of_its_own_behind_its_time(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(
		t, FLOW("{ name = \"k\"; from = \"a\"; key_by = \"y\"; to = \"keyed\"; },\n{ name = \"n\"; " WINDOW(
			   "t") " to = \"o\"; }"));
	assert_int_equal(plan_text_edge_to(p, "n_time")->from, plan_text_operator(p, "a")->index);
	assert_int_equal(plan_text_edge_to(p, "keyed")->from, plan_text_operator(p, "k")->index);
}

static void
given_a_window_over_a_windows_results_when_bound_then_their_event_time_is_used(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(
		t,
		FLOW("{ from = \"a\"; key_by = \"x\"; },\n{ name = \"n\"; " WINDOW(
			"t") " },\n{ from = \"n\"; key_by = \"key\"; },\n"
				 "{ name = \"nn\"; window: { tumbling = \"2h\"; }; aggregate: { n = \"count(*)\"; }; to = \"o\"; }"));
	uint32_t times = 0;
	for (uint32_t i = 0; i < p->operator_count; i++)
		times += p->operators[i].kind == OPERATOR_EVENT_TIME;
	assert_int_equal(times, 1);
}

static void
given_an_event_time_that_is_no_time_when_bound_then_its_option_is_the_place(void **state)
{
	expect(state, FLOW("{ from = \"a\"; key_by = \"x\"; },\n{ name = \"n\";\n" WINDOW("x") " to = \"o\"; }"),
		   "flowd.conf:11: application.flow[1].window.time: event time 'x' is int64, not a timestamp; try cast(x as "
		   "timestamp); the records come from the step at flowd.conf:9\n");
}

/* --- tables --- */

static void
given_a_reader_before_its_writer_in_the_file_when_planned_then_the_order_does_not_matter(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, FLOW("{ from = \"a\"; join_table = \"t\"; to = \"o\"; },\n{ from = \"b\"; key_by "
										   "= \"x\"; },\n{ write_table = \"t\"; }"));
	assert_int_equal(p->table_count, 2);
	assert_int_equal(p->tables[0].schema->field_count, 4);
	assert_int_equal(p->tables[0].key_schema->kind, FLOW_KIND_INT64);
	assert_string_equal(plan_text_operator(p, "join_table_t")->title, "join_table t");
}

static void
given_a_table_that_is_not_there_when_planned_then_the_nearest_is_named(void **state)
{
	expect(state, FLOW("{ from = \"a\"; join_table = \"tt\"; to = \"o\"; }"),
		   "flowd.conf:9: application.flow[0].join_table: there is no table \"tt\", did you mean \"t\"?\n");
}

static void
given_a_table_that_nobody_writes_when_read_then_it_is_said(void **state)
{
	expect(state, FLOW("{ from = \"a\"; join_table = \"t\"; to = \"o\"; }"),
		   "flowd.conf:9: application.flow[0]: the step reads table 't', which no step writes\n");
}

static void
given_a_table_written_behind_its_reader_when_planned_then_it_is_said(void **state)
{
	expect(state, FLOW("{ from = \"a\"; key_by = \"x\"; },\n{ join_table = \"t\"; },\n{ write_table = \"t\"; }"),
		   "flowd.conf:10: application.flow[1]: the step reads table 't', which is written only behind the step itself "
		   "(flowd.conf:11); nobody can say what is in it\n");
}

static void
given_tables_that_depend_on_each_other_when_planned_then_the_ring_is_reported(void **state)
{
	expect(state,
		   FLOW("{ from = \"a\"; key_by = \"x\"; },\n{ join_table = \"t\"; },\n{ write_table = \"v\"; },\n"
				"{ from = \"b\"; key_by = \"x\"; },\n{ join_table = \"v\"; },\n{ write_table = \"t\"; }"),
		   "flowd.conf:10: application.flow[1]: the step reads table 't', whose writer (flowd.conf:14) waits for a "
		   "table too; the "
		   "tables depend on each other in a ring\n"
		   "flowd.conf:13: application.flow[4]: the step reads table 'v', whose writer (flowd.conf:11) waits for a "
		   "table too; the "
		   "tables depend on each other in a ring\n");
}

static void
given_two_writers_of_different_types_when_planned_then_both_places_are_named(void **state)
{
	expect(state,
		   FLOW("{ from = \"a\"; key_by = \"x\"; },\n{ write_table = \"t\"; },\n{ from = \"b\"; key_by = \"y\"; },\n{ "
				"write_table = \"t\"; }"),
		   "flowd.conf:12: application.flow[3]: table 't' gets record(x:int64,y:string?,t:timestamp,m:map<int64>) by "
		   "string here, but "
		   "record(x:int64,y:string?,t:timestamp,m:map<int64>) by int64 from another step (flowd.conf:10)\n");
}

static void
given_a_volatile_table_when_planned_then_its_input_is_read_anew(void **state)
{
	plan_text *t = *state;
	const plan *p = plan_text_plan(t, FLOW("{ from = \"b\"; key_by = \"x\"; },\n{ write_table = \"v\"; },\n{ from = "
										   "\"a\"; join_table = \"v\"; to = \"o\"; }"));
	assert_int_equal(plan_text_stream(p, "b", FLOW_DIRECTION_INPUT)->volatile_reader, 1);
	assert_int_equal(plan_text_stream(p, "a", FLOW_DIRECTION_INPUT)->volatile_reader, 0);
}

static void
given_a_volatile_table_whose_input_feeds_more_when_planned_then_it_is_refused(void **state)
{
	expect(state,
		   FLOW("{ name = \"k\"; from = \"b\"; key_by = \"x\"; },\n{ write_table = \"v\"; },\n{ from = \"k\"; to = "
				"\"o\"; }"),
		   "flowd.conf:10: application.flow[1]: table 'v' does not survive a restart, so input 'b' is read anew for "
		   "it; but it also "
		   "feeds 'o' (flowd.conf:5): use a durable table, or read the input twice under two ids\n");
}

static void
given_a_volatile_table_of_an_input_without_end_when_planned_then_it_is_refused(void **state)
{
	expect(state, FLOW("{ from = \"raw\"; key_by = \"z\"; },\n{ write_table = \"v\"; }"),
		   "flowd.conf:10: application.flow[1]: table 'v' does not survive a restart and input 'raw' does not end, so "
		   "nobody knows "
		   "when the table is complete: use a durable table, or a bounded input\n");
}

/* The rule of case config/12 for local tables: partition counts, names and table are in the message. */
static void
given_a_local_table_between_unequal_partitions_when_planned_then_it_is_refused(void **state)
{
	plan_text *t = *state;
#define PARTITIONED(a, b)                                                                                              \
	"application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\"; types: { x = "   \
	"\"int64\"; }; }; }; };\n"                                                                                         \
	"inputs: { a: { system = \"local\"; partitions = " a "; }; t_in: { system = \"local\"; partitions = " b            \
	"; bounded = true; }; };\n"                                                                                        \
	"outputs: { o: { system = \"local\"; }; }; tables: { t: { type = \"durable\"; }; };\n"
	const char *reported =
		plan_text_problems(t, PARTITIONED("8", "4") "flow: ( { from = \"t_in\"; write_table = \"t\"; },\n"
													"{ from = \"a\"; join_table = \"t\"; to = \"o\"; } ); };\n");
	assert_string_equal(
		reported, "flowd.conf:4: application.flow[0]: table 't' is shared by input 'a' with 8 partitions and input "
				  "'t_in' with 4 partitions; the counts must be equal: put key_by in front of both\n");
}

static void
given_a_local_table_behind_key_by_when_planned_then_partitions_may_differ(void **state)
{
	plan_text *t = *state;
	plan_text_plan(t,
				   PARTITIONED("64", "16") "flow: ( { from = \"t_in\"; key_by = \"x\"; }, { write_table = \"t\"; },\n"
										   "{ from = \"a\"; join_table = \"t\"; to = \"o\"; } ); };\n");
}

static void
given_a_local_table_between_equal_partitions_when_planned_then_it_is_fine(void **state)
{
	plan_text *t = *state;
	plan_text_plan(
		t, PARTITIONED(
			   "8", "8") "flow: ( { from = \"t_in\"; write_table = \"t\"; }, { from = \"a\"; join_table = \"t\"; to = "
						 "\"o\"; } ); };\n");
}

/* --- sinks --- */

static void
given_serdes_that_only_read_or_only_write_when_used_the_other_way_then_they_are_refused(void **state)
{
	expect(state,
		   "application: { name = \"t\"; systems: { local: { type = \"messaging\"; }; };\n"
		   "inputs: { a: { system = \"local\"; bounded = true; serde = \"reads_only\"; };\n"
		   "  b: { system = \"local\"; bounded = true; serde = \"writes_only\"; }; };\n"
		   "outputs: { o: { system = \"local\"; serde = \"reads_only\"; }; p: { system = \"local\"; serde = "
		   "\"writes_only\"; }; };\n"
		   "flow: (\n{ from = \"a\"; to = \"o\"; },\n{ from = \"a\"; to = \"p\"; },\n{ from = \"b\"; to = \"p\"; } ); "
		   "};\n",
		   "flowd.conf:3: application.inputs.b: input 'b': the serde 'writes_only' writes only; read with another one\n"
		   "flowd.conf:6: application.flow[0].to: output 'o': the serde 'reads_only' reads only; write with another "
		   "one\n");
}

static void
given_records_that_the_serde_cannot_take_when_planned_then_the_step_is_the_place(void **state)
{
	expect(
		state, FLOW("{ from = \"raw\";\nto = \"o\"; },\n{ from = \"a\"; key_by = \"x\"; to = \"keyed\"; }"),
		"flowd.conf:10: application.flow[0].to: output 'o': serde 'json' cannot take these records: field z is bytes; "
		"the records come from input 'raw' (flowd.conf:4)\n"
		"flowd.conf:11: application.flow[1].to: output 'keyed': serde 'string' cannot take these keys: it is no "
		"string; the records come from input 'a' (flowd.conf:3)\n");
}

static void
given_an_output_of_another_type_when_planned_then_both_types_are_named(void **state)
{
	expect(state, FLOW("{ from = \"a\"; to = \"typed\"; },\n{ name = \"w\"; from = \"a\"; where = \"x > 1\";\nto = \"typed\"; }"),
		   "flowd.conf:9: application.flow[0].to: output 'typed' takes record(x:int64), but the records are "
		   "record(x:int64,y:string?,t:timestamp,m:map<int64>); the records come from input 'a' (flowd.conf:3)\n"
		   "flowd.conf:11: application.flow[1].to: output 'typed' takes record(x:int64), but the records are "
		   "record(x:int64,y:string?,t:timestamp,m:map<int64>); the records come from step 'w' (flowd.conf:10)\n");
}

static void
given_an_output_that_takes_any_type_when_planned_then_records_of_a_type_are_fine(void **state)
{
	expect(state,
		   "application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde: { type = \"json\"; types: { x = "
		   "\"int64\"; }; }; }; };\n"
		   "inputs: { a: { system = \"local\"; bounded = true; }; };\n"
		   "outputs: { o: { system = \"local\"; takes = \"any\"; }; };\n"
		   "flow: ( { from = \"a\"; to = \"o\"; } ); };\n",
		   "");
}

static void
given_two_steps_that_write_different_types_when_planned_then_both_types_and_places_are_named(void **state)
{
	expect(state,
		   FLOW("{ from = \"a\"; to = \"o\"; },\n{ from = \"a\"; key_by = \"x\"; },\n{ name = \"n\"; aggregate: { n = "
				"\"count(*)\"; }; to = \"o\"; }"),
		   "flowd.conf:11: application.flow[2].to: output 'o' gets record(key:string,n:int64) here, but "
		   "record(x:int64,y:string?,t:timestamp,m:map<int64>) from another step (flowd.conf:9); one output takes one type\n");
}

static void
given_dead_letters_wanted_without_an_output_when_planned_then_it_is_missed(void **state)
{
	expect(state, FLOW("{ from = \"a\"; where = \"x > 1\"; record_errors = \"dead_letter\"; to = \"o\"; }"),
		   "flowd.conf:1: application.dead_letters: is missing: some records go to the dead letters, so name the "
		   "output that takes "
		   "them\n");
}

static void
given_the_dead_letters_as_a_steps_output_when_planned_then_it_is_refused(void **state)
{
	expect(state, HEAD "dead_letters = \"o\"; flow: (\n{ from = \"a\"; to = \"o\"; } ); };\n",
		   "flowd.conf:9: application.flow[0].to: output 'o' takes the dead letters; give the records an output of "
		   "their own\n");
}

static void
given_two_transactions_when_planned_then_both_outputs_are_named(void **state)
{
#define ONCE "serde = \"json\"; promise = \"one_phase\";"
	expect(state,
		   "application: { name = \"t\"; systems: { local: { type = \"messaging\"; serde = \"json\"; }; };\n"
		   "inputs: { a: { system = \"local\"; }; };\noutputs: { o: { system = \"local\"; " ONCE
		   " };\np: { system = \"local\"; " ONCE " }; };\n"
		   "flow: ( { from = \"a\"; to = \"o\"; }, { to = \"p\"; } ); };\n",
		   "flowd.conf:4: application.outputs.p.delivery: outputs 'o' and 'p' both commit by a transaction, and a job "
		   "can have one; "
		   "declare one of them delivery = \"at_least_once\"\n");
}

static void
given_a_state_store_that_tears_batches_when_planned_then_it_is_refused(void **state)
{
	expect(state,
		   HEAD "state_store = \"torn\";\nflow: ( { from = \"a\"; key_by = \"x\"; }, { name = \"n\"; aggregate: { n = "
				"\"count(*)\"; }; to = \"o\"; } ); };\n",
		   "flowd.conf:8: application.state_store: store 'torn' does not write a batch as a whole, which keyed state "
		   "needs\n");
}

static void
given_streams_and_records_that_lead_nowhere_when_planned_then_it_is_a_warning(void **state)
{
	plan_text *t = *state;
	plan_text_plan(t, FLOW("{ from = \"a\"; where = \"x > 1\"; }"));
	assert_int_equal(t->text.list->errors, 0);
	const char *reported = config_text_problems(&t->text);
	assert_non_null(strstr(reported, "flowd.conf:9: warning: application.flow[0]: "));
	assert_non_null(strstr(reported, "the records end here: no step takes them and no output"));
	assert_non_null(strstr(reported, "application.inputs.b: "));
	assert_non_null(strstr(reported, "no step reads this input"));
	assert_non_null(strstr(reported, "application.outputs.o: "));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, plan_text_setup, plan_text_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(given_an_expression_of_an_unknown_field_when_bound_then_its_line_the_nearest_field_and_the_input_are_named),
		TEST(given_an_expression_of_a_wrong_type_when_bound_then_the_step_before_is_named_too),
		TEST(given_a_function_that_cannot_take_two_inputs_when_bound_then_both_of_them_are_named),
		TEST(given_an_expression_that_is_none_when_bound_then_no_input_is_blamed),
		TEST(given_errors_in_two_branches_when_bound_then_both_are_reported),
		TEST(given_functions_that_a_step_cannot_hold_when_bound_then_it_is_said_why),
		TEST(given_a_step_behind_one_without_records_when_bound_then_it_is_refused),
		TEST(given_state_without_name_or_key_when_bound_then_it_is_refused),
		TEST(given_a_global_stream_when_made_global_then_it_is_refused),
		TEST(given_a_broadcast_stream_when_partitioned_processed_or_written_then_it_is_refused),
		TEST(given_one_key_when_bound_then_its_type_is_the_key_without_null),
		TEST(given_several_keys_when_bound_then_the_key_is_a_record_named_by_its_fields),
		TEST(given_keys_that_cannot_be_when_bound_then_they_are_refused),
		TEST(given_a_key_by_before_a_window_when_bound_then_event_time_is_assigned_in_front_of_it),
		TEST(given_a_key_by_that_feeds_more_than_the_window_when_bound_then_the_window_has_one_of_its_own_behind_its_time),
		TEST(given_a_key_by_that_is_written_too_when_bound_then_the_window_has_one_of_its_own_behind_its_time),
		TEST(given_a_window_over_a_windows_results_when_bound_then_their_event_time_is_used),
		TEST(given_an_event_time_that_is_no_time_when_bound_then_its_option_is_the_place),
		TEST(given_a_reader_before_its_writer_in_the_file_when_planned_then_the_order_does_not_matter),
		TEST(given_a_table_that_is_not_there_when_planned_then_the_nearest_is_named),
		TEST(given_a_table_that_nobody_writes_when_read_then_it_is_said),
		TEST(given_a_table_written_behind_its_reader_when_planned_then_it_is_said),
		TEST(given_tables_that_depend_on_each_other_when_planned_then_the_ring_is_reported),
		TEST(given_two_writers_of_different_types_when_planned_then_both_places_are_named),
		TEST(given_a_volatile_table_when_planned_then_its_input_is_read_anew),
		TEST(given_a_volatile_table_whose_input_feeds_more_when_planned_then_it_is_refused),
		TEST(given_a_volatile_table_of_an_input_without_end_when_planned_then_it_is_refused),
		TEST(given_a_local_table_between_unequal_partitions_when_planned_then_it_is_refused),
		TEST(given_a_local_table_behind_key_by_when_planned_then_partitions_may_differ),
		TEST(given_a_local_table_between_equal_partitions_when_planned_then_it_is_fine),
		TEST(given_serdes_that_only_read_or_only_write_when_used_the_other_way_then_they_are_refused),
		TEST(given_records_that_the_serde_cannot_take_when_planned_then_the_step_is_the_place),
		TEST(given_an_output_of_another_type_when_planned_then_both_types_are_named),
		TEST(given_an_output_that_takes_any_type_when_planned_then_records_of_a_type_are_fine),
		TEST(given_two_steps_that_write_different_types_when_planned_then_both_types_and_places_are_named),
		TEST(given_dead_letters_wanted_without_an_output_when_planned_then_it_is_missed),
		TEST(given_the_dead_letters_as_a_steps_output_when_planned_then_it_is_refused),
		TEST(given_two_transactions_when_planned_then_both_outputs_are_named),
		TEST(given_a_state_store_that_tears_batches_when_planned_then_it_is_refused),
		TEST(given_streams_and_records_that_lead_nowhere_when_planned_then_it_is_a_warning),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
