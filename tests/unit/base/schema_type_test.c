/* The short form of types, records from fields, sharing and equality. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/schema.h"

static const flow_schema *
parse(const char *text)
{
	flow_error error = { 0 };
	const flow_schema *schema = schema_parse_type(flow_slice_of(text), &error);
	if (schema == NULL)
		fail_msg("%s: %s", text, error_message(&error));
	return schema;
}

static void
assert_printed(const flow_schema *schema, int short_form, const char *expected)
{
	char buffer[1024];
	uint64_t length = schema_print(schema, short_form, buffer, sizeof(buffer));
	assert_string_equal(buffer, expected);
	assert_int_equal(length, strlen(expected));
}

static void
every_short_form_prints_as_it_was_read(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"any",
		"null",
		"bool",
		"int32",
		"int64?",
		"uint64",
		"float32",
		"float64?",
		"decimal",
		"decimal(12,2)?",
		"string",
		"string:json",
		"string:json?",
		"bytes",
		"fixed(16)",
		"enum(a,b,c)?",
		"date",
		"time",
		"time(ms)",
		"time(s)",
		"timestamp",
		"timestamp(ms)?",
		"timestamp(ns)",
		"local_timestamp",
		"local_timestamp(s)",
		"uuid?",
		"list<int64>",
		"map<string?>?",
		"list<map<list<decimal(3,1)?>>>",
		"record(id:int64,name:string?)",
		"record(a:record(x:int32),b:record(x:int32)?)",
	};
	for (size_t i = 0; i < FLOW_COUNT(texts); i++) {
		const flow_schema *schema = parse(texts[i]);
		assert_printed(schema, 1, texts[i]);
		assert_int_not_equal(schema->fingerprint, 0);
		schema_release(schema);
	}
}

static void
avros_names_of_types_are_taken(void **state)
{
	(void)state;
	static const char *const pairs[][2] = { { "int", "int32" },     { "long", "int64" },
											{ "float", "float32" }, { "double", "float64" },
											{ "boolean", "bool" },  { " list < long ? > ", "list<int64?>" } };
	for (size_t i = 0; i < FLOW_COUNT(pairs); i++) {
		const flow_schema *schema = parse(pairs[i][0]);
		assert_printed(schema, 1, pairs[i][1]);
		schema_release(schema);
	}
}

static void
what_is_no_type_is_refused_with_its_place(void **state)
{
	(void)state;
	static const char *const texts[][2] = {
		{ "", "character 1" },
		{ "integer", "character 1" },
		{ "int64 ?x", "character 8" },
		{ "list<int64", "character 11" },
		{ "list<>", "character 6" },
		{ "decimal(2,3)", "character 11" },
		{ "decimal(0,0)", "character 9" },
		{ "fixed", "size" },
		{ "fixed(-1)", "size" },
		{ "fixed(99999999999)", "size" },
		{ "enum(a,a)", "there already" },
		{ "enum()", "a symbol" },
		{ "time(m)", "unit" },
		{ "record(a:int,a:int)", "there already" },
		{ "record(a)", "a field" },
		{ "record(a:int", "character 13" },
		{ "int64??", "the end" },
		{ "enum(a\xff)", "not UTF-8" },
		{ "map<string,int>", "'>'" },
	};
	for (size_t i = 0; i < FLOW_COUNT(texts); i++) {
		flow_error error = { 0 };
		assert_null(schema_parse_type(flow_slice_of(texts[i][0]), &error));
		if (strstr(error_message(&error), texts[i][1]) == NULL)
			fail_msg("'%s' is refused with '%s', which lacks '%s'", texts[i][0], error_message(&error), texts[i][1]);
		error_clear(&error);
	}
}

static void
a_million_brackets_are_refused(void **state)
{
	(void)state;
	uint64_t size = 5 * 200000;
	char *text = memory_allocate(size);
	for (uint64_t i = 0; i < size; i += 5)
		memcpy(text + i, "list<", 5);
	flow_error error = { 0 };
	assert_null(schema_parse_type(flow_slice_make(text, size), &error));
	error_clear(&error);
	memory_release(text);
}

static void
avro_json_of_a_record_holds_all_that_its_types_say(void **state)
{
	(void)state;
	const flow_schema *schema =
		parse("record(id:uint64,price:decimal(10,4)?,at:timestamp(ms),day:date,tags:map<list<string?>>,"
			  "mood:enum(good,bad),hash:fixed(4),who:uuid,any:any,free:decimal,doc:string:json)");
	assert_printed(
		schema, 0,
		"{\"type\":\"record\",\"name\":\"record\",\"fields\":["
		"{\"name\":\"id\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":20,\"scale\":0,"
		"\"flow.type\":\"uint64\"}},"
		"{\"name\":\"price\",\"type\":[\"null\",{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":10,"
		"\"scale\":4}]},"
		"{\"name\":\"at\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}},"
		"{\"name\":\"day\",\"type\":{\"type\":\"int\",\"logicalType\":\"date\"}},"
		"{\"name\":\"tags\",\"type\":{\"type\":\"map\",\"values\":{\"type\":\"array\",\"items\":[\"null\",\"string\"]}}"
		"},"
		"{\"name\":\"mood\",\"type\":{\"type\":\"enum\",\"name\":\"enum\",\"symbols\":[\"good\",\"bad\"]}},"
		"{\"name\":\"hash\",\"type\":{\"type\":\"fixed\",\"name\":\"fixed\",\"size\":4}},"
		"{\"name\":\"who\",\"type\":{\"type\":\"string\",\"logicalType\":\"uuid\"}},"
		"{\"name\":\"any\",\"type\":{\"type\":\"string\",\"flow.type\":\"any\"}},"
		"{\"name\":\"free\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"big-decimal\"}},"
		"{\"name\":\"doc\",\"type\":{\"type\":\"string\",\"logicalType\":\"json\"}}]}");
	schema_release(schema);
}

static void
types_of_one_name_and_different_content_get_names_of_their_own(void **state)
{
	(void)state;
	const flow_schema *schema = parse("record(a:fixed(2),b:fixed(3)?,c:fixed(2)?)");
	assert_printed(schema, 0,
				   "{\"type\":\"record\",\"name\":\"record\",\"fields\":["
				   "{\"name\":\"a\",\"type\":{\"type\":\"fixed\",\"name\":\"fixed\",\"size\":2}},"
				   "{\"name\":\"b\",\"type\":[\"null\",{\"type\":\"fixed\",\"name\":\"fixed_2\",\"flow.name\":"
				   "\"fixed\",\"size\":3}]},"
				   "{\"name\":\"c\",\"type\":[\"null\",\"fixed\"]}]}");
	schema_release(schema);
}

static void
equal_content_is_equal_whoever_made_it(void **state)
{
	(void)state;
	const flow_schema *a = parse("record(id:long,name:string?)");
	const flow_schema *b = parse("record( id : int64 , name : string ? )");
	const flow_schema *c = parse("record(id:int64,name:string)");
	assert_true(schema_equal(a, b));
	assert_int_equal(a->fingerprint, b->fingerprint);
	assert_false(schema_equal(a, c));
	assert_int_not_equal(a->fingerprint, c->fingerprint);
	schema_release(a);
	schema_release(b);
	schema_release(c);
}

static void
a_record_keeps_the_types_of_its_fields_alive(void **state)
{
	(void)state;
	const flow_schema *inner = parse("record(x:list<string>)");
	flow_value zero = flow_int64(0);
	flow_field_spec id = { sizeof(id), 0, flow_slice_of("id"), schema_of_kind(FLOW_KIND_INT64, 0), &zero };
	flow_field_spec part = { sizeof(part), 0, flow_slice_of("part"), inner, NULL };
	const flow_field_spec *specs[] = { &id, &part };
	flow_error error = { 0 };
	const flow_schema *outer = schema_make_record(flow_slice_of("shop.Order"), specs, 2, &error);
	assert_non_null(outer);
	schema_release(inner);
	const flow_schema *nullable = schema_with_nullable(outer, 1);
	schema_release(outer);
	assert_printed(nullable, 1, "record(id:int64,part:record(x:list<string>))?");
	assert_printed(
		nullable, 0,
		"[\"null\",{\"type\":\"record\",\"name\":\"shop.Order\",\"fields\":[{\"name\":\"id\",\"type\":\"long\","
		"\"default\":0},{\"name\":\"part\",\"type\":{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"\","
		"\"fields\":[{\"name\":\"x\",\"type\":{\"type\":\"array\",\"items\":\"string\"}}]}}]}]");
	assert_int_equal(flow_schema_find(nullable, flow_slice_of("part")), 1);
	assert_int_equal(flow_schema_find(nullable, flow_slice_of("Part")), -1);
	schema_release(nullable);
}

static void
two_fields_of_one_name_are_refused(void **state)
{
	(void)state;
	flow_field_spec id = { sizeof(id), 0, flow_slice_of("id"), schema_of_kind(FLOW_KIND_INT64, 0), NULL };
	const flow_field_spec *specs[] = { &id, &id };
	flow_error error = { 0 };
	assert_null(schema_make_record(flow_slice_of(""), specs, 2, &error));
	assert_int_equal(error.status, FLOW_E_ARGUMENT);
	assert_non_null(strstr(error_message(&error), "'id'"));
	error_clear(&error);
}

static void
names_that_avro_refuses_are_kept_beside_a_plain_one(void **state)
{
	(void)state;
	flow_field_spec a = { sizeof(a), 0, flow_slice_of("dep delay"), schema_of_kind(FLOW_KIND_INT64, 0), NULL };
	flow_field_spec b = { sizeof(b), 0, flow_slice_of("dep-delay"), schema_of_kind(FLOW_KIND_INT64, 1), NULL };
	const flow_field_spec *specs[] = { &a, &b };
	const flow_schema *record = schema_make_record(flow_slice_of("2013 flights"), specs, 2, NULL);
	assert_printed(record, 0,
				   "{\"type\":\"record\",\"name\":\"_2013_flights\",\"flow.name\":\"2013 flights\",\"fields\":["
				   "{\"name\":\"dep_delay__0\",\"flow.name\":\"dep delay\",\"type\":\"long\"},"
				   "{\"name\":\"dep_delay__1\",\"flow.name\":\"dep-delay\",\"type\":[\"null\",\"long\"]}]}");
	schema_release(record);
}

static void
printing_into_too_little_room_says_how_much_is_needed(void **state)
{
	(void)state;
	const flow_schema *schema = parse("list<int64>");
	char buffer[6] = "xxxxx";
	assert_int_equal(schema_print(schema, 1, buffer, 5), 11);
	assert_string_equal(buffer, "list");
	assert_int_equal(schema_print(schema, 1, NULL, 0), 11);
	schema_release(schema);
}

static void
no_allocation_that_fails_crashes_or_leaks(void **state)
{
	(void)state;
	static const char text[] = "record(a:record(x:list<decimal(3,1)?>),b:enum(p,q)?,c:map<fixed(3)>)?";
	int refused = 0;
	for (uint64_t n = 1;; n++) {
		flow_error error = { 0 };
		memory_fail_at(n, 0);
		const flow_schema *schema = schema_parse_type(flow_slice_of(text), &error);
		const flow_schema *plain = schema == NULL ? NULL : schema_with_nullable(schema, 0);
		memory_fail_at(0, 0);
		schema_release(plain);
		int done = plain != NULL;
		if (schema == NULL)
			assert_int_equal(error.status, FLOW_E_MEMORY);
		schema_release(schema);
		error_clear(&error);
		if (done)
			break;
		refused++;
	}
	assert_true(refused >= 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_short_form_prints_as_it_was_read),
		cmocka_unit_test(avros_names_of_types_are_taken),
		cmocka_unit_test(what_is_no_type_is_refused_with_its_place),
		cmocka_unit_test(a_million_brackets_are_refused),
		cmocka_unit_test(avro_json_of_a_record_holds_all_that_its_types_say),
		cmocka_unit_test(types_of_one_name_and_different_content_get_names_of_their_own),
		cmocka_unit_test(equal_content_is_equal_whoever_made_it),
		cmocka_unit_test(a_record_keeps_the_types_of_its_fields_alive),
		cmocka_unit_test(two_fields_of_one_name_are_refused),
		cmocka_unit_test(names_that_avro_refuses_are_kept_beside_a_plain_one),
		cmocka_unit_test(printing_into_too_little_room_says_how_much_is_needed),
		cmocka_unit_test(no_allocation_that_fails_crashes_or_leaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
