/* The function `lua`: what scripts get, what they may give, and what becomes of records when they fail. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plugin/host_services.h"
#include "support/function_fixture.h"

static int
set_up(void **state)
{
	*state = fixture_create();
	return 0;
}

static int
tear_down(void **state)
{
	fixture_destroy(*state);
	return 0;
}

/* Opens the function with a script and further options on records of this type. */
static fixture_function *
open_lua(fixture *f, const char *type, const char *script, const char *const *more)
{
	const char *assignments[16] = { arena_format(f->arena, "lua=%s", script) };
	for (size_t i = 0; more != NULL && more[i] != NULL; i++)
		assignments[i + 1] = more[i];
	fixture_input input = { .schema = fixture_schema(f, type), .bounded = 1 };
	return fixture_try_function_open(f, "lua", assignments, &input);
}

static fixture_function *
must_open(fixture *f, const char *type, const char *script, const char *const *more)
{
	fixture_function *g = open_lua(f, type, script, more);
	if (g == NULL)
		fail_msg("%s", error_message(&f->error));
	return g;
}

static const char *
run(fixture *f, fixture_function *g, const char *type, const char *lines)
{
	fixture_function_process(g, 0, fixture_batch(f, fixture_schema(f, type), lines));
	return fixture_function_text(g, 0);
}

/* The one rejection of a run over one record. */
static const char *
rejected(fixture *f, const char *type, const char *script, const char *const *more, const char *lines,
		 flow_status status)
{
	fixture_function *g = must_open(f, type, script, more);
	const fixture_rejection *rejections;
	assert_string_equal(run(f, g, type, lines), "");
	assert_int_equal(fixture_function_rejections(g, &rejections), 1);
	if (rejections[0].status != status)
		fail_msg("status %d: %s", rejections[0].status, rejections[0].reason);
	return rejections[0].reason;
}

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define PAIR "record(id:int64,name:string?)"

static void
record_is_changed_and_given_back(void **state)
{
	fixture *f = *state;
	fixture_function *g = must_open(
		f, PAIR, "function process(r) r.id = r.id + 1; r.name = (r.name or 'nobody'):upper(); return r end", NULL);
	assert_string_equal(run(f, g, PAIR, "{\"id\":1,\"name\":\"a\"}\n{\"id\":2,\"name\":null}\n"),
						"{\"id\":2,\"name\":\"A\"}\n{\"id\":3,\"name\":\"NOBODY\"}\n");
}

static void
nil_drops_the_record(void **state)
{
	fixture *f = *state;
	fixture_function *g = must_open(f, PAIR, "function process(r) if r.id > 1 then return r end end", NULL);
	assert_string_equal(run(f, g, PAIR, "{\"id\":1}\n{\"id\":2}\n"), "{\"id\":2,\"name\":null}\n");
}

static void
emit_gives_further_records_before_the_returned_one(void **state)
{
	fixture *f = *state;
	fixture_function *g =
		must_open(f, PAIR, "function process(r) for i = 1, 2 do r.id = i; emit(r) end; r.id = 9; return r end", NULL);
	assert_string_equal(run(f, g, PAIR, "{\"id\":5,\"name\":\"x\"}\n"),
						"{\"id\":1,\"name\":\"x\"}\n{\"id\":2,\"name\":\"x\"}\n{\"id\":9,\"name\":\"x\"}\n");
}

static void
one_record_may_give_more_than_a_batch_holds(void **state)
{
	fixture *f = *state;
	fixture_function *g =
		must_open(f, PAIR, "function process(r) for i = 1, r.id do emit{id = i, name = 'n' .. i} end end", NULL);
	const char *text = run(f, g, PAIR, "{\"id\":2}\n{\"id\":3000}\n");
	uint64_t lines = 0;
	for (const char *c = text; *c != '\0'; c++)
		lines += *c == '\n';
	assert_int_equal(lines, 3002);
	assert_non_null(strstr(text, "{\"id\":2,\"name\":\"n2\"}\n{\"id\":1,\"name\":\"n1\"}\n"));
	assert_non_null(strstr(text, "{\"id\":1024,\"name\":\"n1024\"}\n{\"id\":1025,\"name\":\"n1025\"}\n"));
	assert_non_null(strstr(text, "{\"id\":3000,\"name\":\"n3000\"}\n"));
}

static void
failing_record_gives_nothing_even_after_emit(void **state)
{
	fixture *f = *state;
	const fixture_rejection *rejections;
	fixture_function *g = must_open(
		f, PAIR, "function process(r) for i = 1, r.id do emit(r) end if r.id > 1 then error('no') end return r end",
		NULL);
	assert_string_equal(run(f, g, PAIR, "{\"id\":1}\n{\"id\":2000}\n{\"id\":0}\n"),
						"{\"id\":1,\"name\":null}\n{\"id\":1,\"name\":null}\n{\"id\":0,\"name\":null}\n");
	assert_int_equal(fixture_function_rejections(g, &rejections), 1);
	assert_int_equal(rejections[0].ordinal, 1);
}

static void
key_and_timestamp_of_the_input_row_go_along(void **state)
{
	fixture *f = *state;
	const char *type = "record(id:int64,at:timestamp)";
	fixture_input input = { .schema = fixture_schema(f, type), .key = "id", .bounded = 1 };
	fixture_function *g = fixture_function_open(
		f, "lua", OPTIONS("lua=function process(r) emit{n = 1}; return {n = 2} end", "fields.n=int64"), &input);
	assert_int_equal(fixture_function_plan(g)->keeps_key, 1);
	flow_batch *batch = fixture_batch(f, input.schema, "{\"id\":7,\"at\":\"1970-01-01T00:00:01Z\"}\n");
	fixture_function_process(g, 0, fixture_keyed(f, fixture_timed(f, batch, "at"), "id"));
	assert_string_equal(fixture_function_text_all(g, 0), "{\"key\":7,\"timestamp\":1000000,\"value\":{\"n\":1}}\n"
														 "{\"key\":7,\"timestamp\":1000000,\"value\":{\"n\":2}}\n");
}

static void
record_without_value_passes_untouched(void **state)
{
	fixture *f = *state;
	fixture_function *g = must_open(f, PAIR, "function process(r) error('never') end", NULL);
	assert_string_equal(run(f, g, PAIR, "null\n"), "null\n");
}

static void
every_type_survives_a_script_that_does_nothing(void **state)
{
	fixture *f = *state;
	const char *type = "record(b:bool,i:int32,l:int64,u:uint64,f:float64,d:decimal(20,2),x:decimal,s:string,y:bytes,"
					   "e:enum(red,green),q:fixed(3),day:date,t:time(ms),z:timestamp(ns),w:local_timestamp(s),id:uuid,"
					   "list:list<int64?>,map:map<string?>,in:record(a:int64?,b:list<string>))";
	const char *line =
		"{\"b\":true,\"i\":-2147483648,\"l\":9223372036854775807,\"u\":9223372036854775807,\"f\":0.1,"
		"\"d\":%s,\"x\":%s,\"s\":\"\xc3\xa4\",\"y\":\"\\u0001\\u00ff\",\"e\":\"green\",\"q\":\"abc\","
		"\"day\":\"2013-01-01\",\"t\":\"10:00:00.5\",\"z\":\"2013-01-01T10:00:00.123456789Z\",\"w\":\"2013-01-01T10:00:"
		"00\","
		"\"id\":\"123e4567-e89b-12d3-a456-426614174000\",\"list\":[1,null,3,null],\"map\":{\"a\":\"x\",\"b\":null},"
		"\"in\":{\"a\":null,\"b\":[]}}\n";
	fixture_function *g = must_open(f, type, "function process(r) return r end", NULL);
	const char *given = arena_format(f->arena, line, "\"123456789012345678.90\"", "\"1.500\"");
	flow_batch *batch = fixture_batch(f, fixture_schema(f, type), given);
	fixture_function_process(g, 0, batch);
	const fixture_rejection *rejections;
	if (fixture_function_rejections(g, &rejections) != 0)
		fail_msg("%s", rejections[0].reason);
	assert_string_equal(fixture_function_text(g, 0), arena_format(f->arena, line, "123456789012345678.90", "1.500"));
}

static void
times_are_integers_in_their_unit_and_decimals_are_text(void **state)
{
	fixture *f = *state;
	const char *type = "record(day:date,t:time(ms),z:timestamp,d:decimal(12,2))";
	fixture_function *g = must_open(
		f, type,
		"function process(r) return {s = r.day .. ' ' .. r.t .. ' ' .. r.z .. ' ' .. r.d .. ' ' .. math.type(r.z)} end",
		OPTIONS("fields.s=string"));
	assert_string_equal(
		run(f, g, type, "{\"day\":\"1970-01-02\",\"t\":\"00:00:01\",\"z\":\"1970-01-01T00:00:01Z\",\"d\":\"1.50\"}\n"),
		"{\"s\":\"1 1000 1000000 1.50 integer\"}\n");
}

static void
untyped_values_keep_their_own_types(void **state)
{
	fixture *f = *state;
	const char *type = "record(v:any)";
	fixture_function *g = must_open(f, type, "function process(r) return r end", NULL);
	const char *line = "{\"v\":{\"a\":[1,\"x\",null,true],\"b\":{\"c\":null}}}\n";
	assert_string_equal(run(f, g, type, line), line);
	g = must_open(f, type, "function process(r) return {v = {1.5, 2, 'x', {z = 1, a = 2}}} end", NULL);
	assert_string_equal(run(f, g, type, "{\"v\":1}\n"), "{\"v\":[1.5,2,\"x\",{\"a\":2,\"z\":1}]}\n");
}

static void
integral_floats_and_exact_integers_change_their_type(void **state)
{
	fixture *f = *state;
	fixture_function *g = must_open(f, PAIR, "function process(r) return {i = 6 / 2, f = 3, d = 12} end",
									OPTIONS("fields.i=int64", "fields.f=float64", "fields.d=decimal(5,1)"));
	assert_string_equal(run(f, g, PAIR, "{\"id\":1}\n"), "{\"i\":3,\"f\":3.0,\"d\":12.0}\n");
}

struct misfit {
	const char *type;
	const char *value; /* Lua */
	flow_status status;
	const char *reason;
};

static const struct misfit misfits[] = {
	{ "int64", "1.5", FLOW_E_TYPE, "field v: the number 1.5 is no int64" },
	{ "int64", "'7'", FLOW_E_TYPE, "field v: the string \"7\" is no int64" },
	{ "int64", "nil", FLOW_E_TYPE, "field v: is null, but a int64 that is not nullable" },
	{ "int64", "null", FLOW_E_TYPE, "field v: is null, but a int64 that is not nullable" },
	{ "int64", "2^63", FLOW_E_TYPE, "field v: the number 9.2233720368547758e+18 is no int64" },
	{ "int32", "2147483648", FLOW_E_RANGE, "field v: the integer 2147483648 is no int32" },
	{ "uint64", "-1", FLOW_E_RANGE, "field v: the integer -1 is no uint64" },
	{ "float64", "(1 << 53) + 1", FLOW_E_RANGE, "field v: the integer 9007199254740993 is no float64" },
	{ "float64", "math.maxinteger", FLOW_E_RANGE, "field v: the integer 9223372036854775807 is no float64" },
	{ "float32", "1e39", FLOW_E_RANGE, "field v: the number 9.9999999999999994e+38 is no float32" },
	{ "bool", "1", FLOW_E_TYPE, "field v: the integer 1 is no bool" },
	{ "string", "1", FLOW_E_TYPE, "field v: the integer 1 is no string" },
	{ "string", "'\\xff'", FLOW_E_TYPE, "field v: a string of 1 bytes is no string: it is not UTF-8" },
	{ "fixed(2)", "'abc'", FLOW_E_TYPE, "field v: the string \"abc\" is no fixed(2)" },
	{ "enum(a,b)", "'c'", FLOW_E_TYPE, "field v: the string \"c\" is no enum(a,b)" },
	{ "uuid", "'123'", FLOW_E_TYPE, "field v: the string \"123\" is no uuid" },
	{ "decimal(4,1)", "1.5", FLOW_E_TYPE,
	  "field v: the number 1.5 is no decimal(4,1); give decimals as text, with their digits" },
	{ "decimal(4,1)", "'1.25'", FLOW_E_RANGE, "field v: the string \"1.25\" is no decimal(4,1)" },
	{ "decimal(4,1)", "'12345'", FLOW_E_RANGE, "field v: the string \"12345\" is no decimal(4,1)" },
	{ "decimal(4,1)", "'x'", FLOW_E_DECODE, "field v: the string \"x\" is no decimal(4,1)" },
	{ "time(s)", "86400", FLOW_E_RANGE, "field v: the integer 86400 is no time(s)" },
	{ "list<int64>", "{1, 'x'}", FLOW_E_TYPE, "field v[2]: the string \"x\" is no int64" },
	{ "list<int64?>", "{1, [3] = 2}", FLOW_E_TYPE,
	  "field v: a list needs the keys 1 to 1 and no others; where an item is null, put null and not nil" },
	{ "list<int64>", "{a = 1}", FLOW_E_TYPE,
	  "field v: a list needs the keys 1 to 0 and no others; where an item is null, put null and not nil" },
	{ "map<int64>", "{a = true}", FLOW_E_TYPE, "field v.a: true is no int64" },
	{ "map<int64>", "{[1] = 1}", FLOW_E_TYPE,
	  "field v: the keys of a map must be strings of UTF-8, but one is number" },
	{ "record(a:int64)", "{a = 1, b = 2}", FLOW_E_TYPE,
	  "field v.b: is not declared; add it to the option fields, or set it to nil" },
	{ "record(a:int64)", "{a = 1, [7] = 2}", FLOW_E_TYPE,
	  "field v: a record has names as keys, but one key is a number" },
	{ "record(a:record(b:int64))", "{a = {}}", FLOW_E_TYPE, "field v.a.b: is null, but a int64 that is not nullable" },
	{ "any", "print", FLOW_OK, NULL }, /* nil: there is no print */
	{ "any", "math.floor", FLOW_E_TYPE, "field v: a function is no any" },
};

static void
value_that_does_not_fit_rejects_the_record_and_names_the_field(void **state)
{
	for (size_t i = 0; i < FLOW_COUNT(misfits); i++) {
		fixture *f = *state;
		const struct misfit *m = &misfits[i];
		const char *script = arena_format(f->arena, "function process(r) return {v = %s} end", m->value);
		const char *field = arena_format(f->arena, "fields.v=%s", m->type);
		if (m->status == FLOW_OK) {
			assert_string_equal(run(f, must_open(f, PAIR, script, OPTIONS(field)), PAIR, "{\"id\":1}\n"),
								"{\"v\":null}\n");
			continue;
		}
		assert_string_equal(rejected(f, PAIR, script, OPTIONS(field), "{\"id\":1}\n", m->status), m->reason);
	}
}

static void
union_takes_the_branch_of_the_values_own_kind(void **state)
{
	fixture *f = *state;
	const char *type =
		"{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"v\",\"type\":[\"null\",\"double\",\"long\","
		"\"bytes\",\"string\"]}]}";
	fixture_function *g = must_open(f, type,
									"function process(r) emit{v = 1}; emit{v = 1.0}; emit{v = 'a'}; "
									"emit{v = '\\xff'}; return {} end",
									NULL);
	assert_string_equal(run(f, g, type, "{\"v\":null}\n"),
						"{\"v\":1}\n{\"v\":1.0}\n{\"v\":\"a\"}\n{\"v\":\"\\u00ff\"}\n{\"v\":null}\n");
}

/* The reason why a record with this one field is rejected. */
static const char *
cell_rejected(fixture *f, const char *type, flow_value cell, flow_status status)
{
	const flow_schema *schema = fixture_schema(f, type);
	fixture_function *g = must_open(f, type, "function process(r) return r end", NULL);
	flow_builder *builder = builder_create(f->pool, 0, 0);
	assert_non_null(builder);
	flow_builder_add(builder, flow_record(&cell, 1));
	batch_head head = { .schema = schema, .input = UINT32_MAX };
	flow_batch *batch = builder_finish(builder, &head);
	assert_non_null(batch);
	fixture_function_process(g, 0, batch);
	batch_release(batch);
	builder_destroy(builder);
	const fixture_rejection *rejections;
	assert_int_equal(fixture_function_rejections(g, &rejections), 1);
	assert_int_equal(rejections[0].status, status);
	return rejections[0].reason;
}

static void
what_lua_cannot_hold_rejects_the_record(void **state)
{
	fixture *f = *state;
	assert_string_equal(cell_rejected(f, "record(u:uint64)", flow_uint64(UINT64_C(1) << 63), FLOW_E_RANGE),
						"field u: 9223372036854775808 is larger than Lua's largest integer; make it a string before");
	flow_decimal decimal = { .digits = "15", .count = 2, .scale = 1 };
	flow_value untyped = flow_cell(FLOW_DECIMAL, 0);
	untyped.as.decimal = &decimal;
	flow_list list = { &untyped, 1 };
	flow_value in_list = flow_cell(FLOW_LIST, 0);
	in_list.as.list = &list;
	assert_string_equal(
		cell_rejected(f, "record(v:any)", in_list, FLOW_E_UNSUPPORTED),
		"field v[1]: a value of this type (a number with digits behind the point) needs a declared type "
		"before a script can have it; declare the field's type");
}

static void
errors_have_the_scripts_message_and_line(void **state)
{
	fixture *f = *state;
	assert_string_equal(
		rejected(f, PAIR, "function process(r)\n\tlocal x = r.name .. 'x'\nend", NULL, "{\"id\":1}\n", FLOW_E_FAILED),
		"script:2: attempt to concatenate a nil value (field 'name')");
	assert_string_equal(
		rejected(f, PAIR, "function process(r)\nerror('bad ' .. r.id)\nend", NULL, "{\"id\":1}\n", FLOW_E_FAILED),
		"script:2: bad 1");
	assert_string_equal(rejected(f, PAIR, "function process(r)\n\nerror({})\nend", NULL, "{\"id\":1}\n", FLOW_E_FAILED),
						"the script raised an error that is a table, not a text");
	assert_string_equal(rejected(f, PAIR, "function process(r)\nemit(7)\nend", NULL, "{\"id\":1}\n", FLOW_E_TYPE),
						"script:2: a record must be a table, but is a number");
	assert_string_equal(
		rejected(f, PAIR, "function process(r)\nemit{id = 'x'}\nend", NULL, "{\"id\":1}\n", FLOW_E_TYPE),
		"script:2: field id: the string \"x\" is no int64");
	assert_string_equal(rejected(f, PAIR, "function process(r) return r, r end", NULL, "{\"id\":1}\n", FLOW_E_FAILED),
						"process returned 2 values; it returns one record or nil, and gives more with emit");
	assert_string_equal(rejected(f, PAIR, "function process(r) return 'x' end", NULL, "{\"id\":1}\n", FLOW_E_TYPE),
						"a record must be a table, but is a string");
	assert_string_equal(
		rejected(f, PAIR, "function process(r)\ntable.insert(r, 1, 2, 3)\nend", NULL, "{\"id\":1}\n", FLOW_E_FAILED),
		"script:2: wrong number of arguments to 'insert'");
	assert_string_equal(
		rejected(f, PAIR, "function process(r) error('\\xff\\xfe', 0) end", NULL, "{\"id\":1}\n", FLOW_E_FAILED), "??");
}

static void
failed_emit_rejects_even_when_the_script_catches_the_error(void **state)
{
	fixture *f = *state;
	assert_string_equal(rejected(f, PAIR, "function process(r)\npcall(emit, {id = 'x'})\nreturn r end", NULL,
								 "{\"id\":1}\n", FLOW_E_TYPE),
						"field id: the string \"x\" is no int64");
}

static void
next_record_goes_well_after_a_failed_one(void **state)
{
	fixture *f = *state;
	const fixture_rejection *rejections;
	fixture_function *g =
		must_open(f, PAIR,
				  "function process(r) if r.id == 1 then while true do end end\n"
				  "if r.id == 2 then local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end end\n"
				  "return r end",
				  OPTIONS("memory=256KiB", "instructions=100000"));
	assert_string_equal(run(f, g, PAIR, "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n"), "{\"id\":3,\"name\":null}\n");
	assert_int_equal(fixture_function_rejections(g, &rejections), 2);
	assert_int_equal(rejections[0].status, FLOW_E_LIMIT);
	assert_string_equal(rejections[0].reason,
						"script:1: the script needs more than 100000 instructions; see the option instructions");
	assert_int_equal(rejections[1].status, FLOW_E_LIMIT);
	assert_string_equal(rejections[1].reason, "the script needs more than 262144 bytes; see the option memory");
}

/* Scripts that try to work for ever; each must end by the limits. */
static const char *const endless[] = {
	"while true do end",
	"while true do pcall(function() while true do end end) end",
	"local function f() return pcall(f) end while true do f() end",
	"local m = setmetatable({}, {__close = function() while true do end end}) local a <close> = m local b <close> = m "
	"while true do end",
	"local m m = setmetatable({}, {__close = function() local a <close> = m local b <close> = m error() end}) "
	"local a <close> = m",
	"xpcall(function() while true do end end, function() while true do end end)",
	"string.rep('', math.maxinteger)",
	"(''):rep(1 << 60)",
	"table.move({}, 1, math.maxinteger - 1, 1, {})",
	"table.concat(setmetatable({}, {__index = getmetatable, __metatable = ''}), '', 1, 1 << 60)",
	"table.insert(setmetatable({}, {__len = function() return math.maxinteger - 1 end}), 1, 1)",
	"table.unpack({}, 1, 1e6)",
	"local s = ('x'):rep(1e6) while true do local t = s .. 'y' end",
	"local function f(n) return f(n + 1) + 1 end f(1)",
	"local t = {} for i = 1, 1e9 do t[i] = i end",
	"setmetatable({}, {__gc = function() while true do end end})",
	"local s = 'x' while true do s = s .. s end",
	"for i = 1, 1e9 do emit{id = i, name = ('x'):rep(1000)} end",
	"local r = {id = 1} while true do r = {id = 1, name = r} emit(r) end",
};

static void
script_without_end_is_stopped(void **state)
{
	fixture *f = *state;
	for (size_t i = 0; i < FLOW_COUNT(endless); i++) {
		const fixture_rejection *rejections;
		fixture_function *g =
			must_open(f, PAIR, arena_format(f->arena, "function process(r) %s return r end", endless[i]),
					  OPTIONS("instructions=100000"));
		assert_string_equal(run(f, g, PAIR, "{\"id\":1}\n"), "");
		if (fixture_function_rejections(g, &rejections) != 1)
			fail_msg("not stopped: %s", endless[i]);
	}
}

static void
tables_that_hold_each_other_are_rejected(void **state)
{
	fixture *f = *state;
	const char *any[] = { "fields.v=any", NULL };
	assert_non_null(strstr(rejected(f, PAIR, "function process(r) local t = {} t.t = t return {v = t} end", any,
									"{\"id\":1}\n", FLOW_E_LIMIT),
						   "is nested deeper than 32, or holds itself"));
	assert_string_equal(rejected(f, PAIR,
								 "function process(r) local t = {1} for i = 1, 30 do t = {t, t} end return {v = t} end",
								 any, "{\"id\":1}\n", FLOW_E_LIMIT),
						"the records that come of one record are larger than the option memory allows");
}

static void
only_harmless_functions_are_there(void **state)
{
	fixture *f = *state;
	fixture_function *g =
		must_open(f, PAIR,
				  "local names = {}\n"
				  "for name in pairs(_G) do if name ~= 'process' then names[#names + 1] = name end end\n"
				  "table.sort(names)\n"
				  "function process(r) r.name = table.concat(names, ' ') .. ' ' .. tostring(string.dump) .. "
				  "tostring(math.randomseed)"
				  " return r end",
				  NULL);
	assert_string_equal(
		run(f, g, PAIR, "{\"id\":1}\n"),
		"{\"id\":1,\"name\":\"_G _VERSION assert emit error getmetatable ipairs math next null pairs pcall "
		"rawequal rawget rawlen rawset select setmetatable string table tonumber tostring type utf8 xpcall "
		"nilnil\"}\n");
}

static void
bad_script_is_an_error_of_the_plan(void **state)
{
	fixture *f = *state;
	assert_null(open_lua(f, PAIR, "function process(r)\nreturn r +\nend", NULL));
	assert_non_null(strstr(error_message(&f->error), "script:3: unexpected symbol near 'end'"));
	assert_null(open_lua(f, PAIR, "x = 1", NULL));
	assert_non_null(strstr(error_message(&f->error), "must define a function process(record), but process is nil"));
	assert_null(open_lua(f, PAIR, "while true do end", NULL));
	assert_non_null(strstr(error_message(&f->error), "instructions"));
	assert_null(open_lua(f, PAIR, "emit{}", NULL));
	assert_non_null(strstr(error_message(&f->error), "emit is for use in process"));
	assert_null(open_lua(f, PAIR, "\x1bLua", NULL));
	assert_non_null(strstr(error_message(&f->error), "attempt to load a binary chunk"));
	assert_null(open_lua(f, "string", "function process(r) return r end", NULL));
	assert_non_null(strstr(error_message(&f->error), "the input must be records with fields, but is string"));
	assert_null(open_lua(f, PAIR, "function process(r) return r end", OPTIONS("fields.a=int65")));
	assert_non_null(strstr(error_message(&f->error), "int65"));
}

static void
script_comes_from_a_file_with_its_name_in_messages(void **state)
{
	fixture *f = *state;
	const char *path = arena_format(f->arena, "%s/s.lua", fixture_folder(f));
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs("function process(r)\n  r.name = 'from file'\n  if r.id == 2 then error('two') end\n  return r\nend\n", file);
	assert_int_equal(fclose(file), 0);
	fixture_input input = { .schema = fixture_schema(f, PAIR), .bounded = 1 };
	fixture_function *g =
		fixture_function_open(f, "lua", OPTIONS(arena_format(f->arena, "script_file=%s", path)), &input);
	assert_string_equal(run(f, g, PAIR, "{\"id\":1}\n{\"id\":2}\n"), "{\"id\":1,\"name\":\"from file\"}\n");
	const fixture_rejection *rejections;
	assert_int_equal(fixture_function_rejections(g, &rejections), 1);
	assert_string_equal(rejections[0].reason, arena_format(f->arena, "%s:3: two", path));
	assert_null(fixture_try_function_open(f, "lua", OPTIONS("script_file=/nowhere/s.lua"), &input));
	assert_non_null(strstr(error_message(&f->error), "/nowhere/s.lua: cannot open the script: No such file"));
	assert_null(fixture_try_function_open(f, "lua", OPTIONS("script_file=/x.lua", "lua=x = 1"), &input));
	assert_null(fixture_try_function_open(f, "lua", NULL, &input));
}

static void
interpreter_keeps_its_globals_from_record_to_record(void **state)
{
	fixture *f = *state;
	fixture_function *g =
		must_open(f, PAIR, "count = 0 function process(r) count = count + 1 r.id = count return r end", NULL);
	assert_string_equal(run(f, g, PAIR, "{\"id\":9}\n{\"id\":9}\n"),
						"{\"id\":1,\"name\":null}\n{\"id\":2,\"name\":null}\n");
}

/* Binds, opens and processes with the n-th allocation failing, until nothing fails any more. */
static void
want_of_memory_is_an_error_wherever_it_comes(void **state)
{
	fixture *f = *state;
	const char *script =
		"lua=function process(r) emit{list = {r.id, null}, d = '1.5'}; return {list = {}, d = r.name} end";
	const flow_component *component = fixture_component(f, FLOW_FUNCTION, "lua");
	const flow_options *options =
		fixture_options(f, component, "", OPTIONS(script, "fields={ list = \"list<int64?>\"; d = \"decimal?\"; }"));
	flow_function_input one = { .struct_size = FLOW_SIZEOF(flow_function_input),
								.stream = FLOW_STREAM_NON_KEYED,
								.schema = fixture_schema(f, PAIR) };
	const flow_function_input *const inputs[] = { &one };
	const flow_function_ops *ops = component->ops;
	uint64_t n = 0;
	flow_status status;
	do {
		flow_function_plan plan = { .struct_size = FLOW_SIZEOF(flow_function_plan) };
		void *binding = NULL;
		memory_fail_at(++n, 0);
		status = ops->bind(&host_services, options, inputs, 1, &plan, &binding, &f->error);
		memory_fail_at(0, 0);
		if (status == FLOW_OK)
			ops->unbind(binding);
		assert_true(status <= FLOW_OK);
		assert_true(n < 10000);
	} while (status != FLOW_OK);
	assert_true(n > 20);
}

/* The interpreter is out of memory at each of its allocations in turn: a rejection, and the next record goes well. */
static void
interpreter_without_memory_rejects_the_record_only(void **state)
{
	fixture *f = *state;
	const char *script = "function process(r) local t = {} for i = 1, 20 do t[i] = ('x'):rep(i) .. i end "
						 "emit{id = #t, name = table.concat(t)} r.name = t[1] return r end";
	fixture_function *g = must_open(f, PAIR, script, NULL);
	const char *good = run(f, g, PAIR, "{\"id\":1,\"name\":null}\n");
	const fixture_rejection *rejections;
	size_t before = 0, after = 1;
	uint64_t n = 1;
	for (; after != before; n++) {
		const flow_batch *batch = fixture_batch(f, fixture_schema(f, PAIR), "{\"id\":1,\"name\":null}\n");
		before = fixture_function_rejections(g, &rejections);
		memory_fail_at(n, 1);
		flow_status status = fixture_try_function_process(g, 0, batch);
		memory_fail_at(0, 0);
		after = fixture_function_rejections(g, &rejections);
		assert_true(status == FLOW_OK || status == FLOW_E_MEMORY);
		assert_string_equal(fixture_function_text(g, 0), after == before && status == FLOW_OK ? good : "");
		if (status != FLOW_OK)
			after = before + 1; /* the host's memory: not the record's fault */
		assert_string_equal(run(f, g, PAIR, "{\"id\":1,\"name\":null}\n"), good);
		assert_true(n < 1000);
	}
	assert_true(n > 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(record_is_changed_and_given_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nil_drops_the_record, set_up, tear_down),
		cmocka_unit_test_setup_teardown(emit_gives_further_records_before_the_returned_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_record_may_give_more_than_a_batch_holds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(failing_record_gives_nothing_even_after_emit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(key_and_timestamp_of_the_input_row_go_along, set_up, tear_down),
		cmocka_unit_test_setup_teardown(record_without_value_passes_untouched, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_type_survives_a_script_that_does_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(times_are_integers_in_their_unit_and_decimals_are_text, set_up, tear_down),
		cmocka_unit_test_setup_teardown(untyped_values_keep_their_own_types, set_up, tear_down),
		cmocka_unit_test_setup_teardown(integral_floats_and_exact_integers_change_their_type, set_up, tear_down),
		cmocka_unit_test_setup_teardown(value_that_does_not_fit_rejects_the_record_and_names_the_field, set_up,
										tear_down),
		cmocka_unit_test_setup_teardown(union_takes_the_branch_of_the_values_own_kind, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_lua_cannot_hold_rejects_the_record, set_up, tear_down),
		cmocka_unit_test_setup_teardown(errors_have_the_scripts_message_and_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(failed_emit_rejects_even_when_the_script_catches_the_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(next_record_goes_well_after_a_failed_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(script_without_end_is_stopped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tables_that_hold_each_other_are_rejected, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_harmless_functions_are_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_script_is_an_error_of_the_plan, set_up, tear_down),
		cmocka_unit_test_setup_teardown(script_comes_from_a_file_with_its_name_in_messages, set_up, tear_down),
		cmocka_unit_test_setup_teardown(interpreter_keeps_its_globals_from_record_to_record, set_up, tear_down),
		cmocka_unit_test_setup_teardown(want_of_memory_is_an_error_wherever_it_comes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(interpreter_without_memory_rejects_the_record_only, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
