/* Avro schema JSON: what is accepted, what it means, and that it is written as it was read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/schema.h"

#define FOLDER SOURCE_FOLDER "/tests/unit/base/"

static const flow_schema *
parse(const char *text)
{
	flow_error error = { 0 };
	const flow_schema *schema = schema_parse_json(flow_slice_of(text), &error);
	if (schema == NULL)
		fail_msg("%s: %s", text, error_message(&error));
	return schema;
}

static void
assert_refused(const char *text, const char *says)
{
	flow_error error = { 0 };
	const flow_schema *schema = schema_parse_json(flow_slice_of(text), &error);
	if (schema != NULL)
		fail_msg("accepted: %s", text);
	if (strstr(error_message(&error), says) == NULL)
		fail_msg("%s: refused with '%s', which lacks '%s'", text, error_message(&error), says);
	error_clear(&error);
}

static char *
printed(const flow_schema *schema, int short_form)
{
	uint64_t size = schema_print(schema, short_form, NULL, 0) + 1;
	char *text = malloc(size);
	schema_print(schema, short_form, text, size);
	return text;
}

/* Read again from what was printed, without the remembered text: the same type. */
static void
assert_prints_to_itself(const flow_schema *schema)
{
	const flow_schema *other = schema_with_nullable(schema, !flow_schema_nullable(schema));
	char *text = printed(other, 0);
	const flow_schema *again = parse(text);
	if (!schema_equal(other, again)) {
		char *text_again = printed(again, 0);
		fail_msg("%s\nis read as\n%s", text, text_again);
	}
	assert_int_equal(other->fingerprint, again->fingerprint);
	schema_release(other);
	schema_release(again);
	free(text);
}

static void
each_schema_of_the_specification_gets_its_verdict(void **state)
{
	(void)state;
	json_t *list = json_load_file(FOLDER "schemas_to_refuse.json", 0, NULL);
	assert_non_null(list);
	assert_true(json_array_size(list) >= 30);
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *item = json_array_get(list, i);
		char *text = json_dumps(json_object_get(item, "schema"), JSON_ENCODE_ANY);
		const char *verdict = json_string_value(json_object_get(item, "verdict"));
		flow_error error = { 0 };
		const flow_schema *schema = schema_parse_json(flow_slice_of(text), &error);
		if (strcmp(verdict, "accept") == 0 && schema == NULL)
			fail_msg("%s: %s", json_string_value(json_object_get(item, "name")), error_message(&error));
		if (strcmp(verdict, "refuse") == 0 && schema != NULL)
			fail_msg("%s: accepted", json_string_value(json_object_get(item, "name")));
		if (schema != NULL)
			assert_prints_to_itself(schema);
		schema_release(schema);
		error_clear(&error);
		free(text);
	}
	json_decref(list);
}

static void
a_schema_is_written_with_all_that_it_was_read_with(void **state)
{
	(void)state;
	json_t *list = json_load_file(FOLDER "schemas_round_trip.json", 0, NULL);
	assert_non_null(list);
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *given = json_object_get(json_array_get(list, i), "schema");
		char *text = json_dumps(given, JSON_ENCODE_ANY);
		const flow_schema *schema = parse(text);
		char *out = printed(schema, 0);
		json_t *again = json_loads(out, JSON_DECODE_ANY, NULL);
		if (!json_equal(given, again))
			fail_msg("%s\nis written as\n%s", text, out);
		assert_prints_to_itself(schema);
		json_decref(again);
		free(out);
		free(text);
		schema_release(schema);
	}
	json_decref(list);
}

static const flow_schema *
field(const flow_schema *record, const char *name)
{
	int32_t index = flow_schema_find(record, flow_slice_of(name));
	assert_true(index >= 0);
	return record->fields[index]->schema;
}

static void
logical_types_become_kinds_also_in_unions_of_both_orders(void **state)
{
	(void)state;
	const flow_schema *schema =
		parse("{\"type\":\"record\",\"name\":\"R\",\"fields\":["
			  "{\"name\":\"a\",\"type\":[\"null\",{\"type\":\"int\",\"logicalType\":\"time-millis\"}]},"
			  "{\"name\":\"b\",\"type\":[{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"},\"null\"]},"
			  "{\"name\":\"c\",\"type\":{\"type\":\"long\",\"logicalType\":\"local-timestamp-nanos\"}},"
			  "{\"name\":\"d\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"size\":4,\"logicalType\":\"decimal\","
			  "\"precision\":9,\"scale\":3}},"
			  "{\"name\":\"e\",\"type\":{\"type\":\"string\",\"logicalType\":\"uuid\"}},"
			  "{\"name\":\"f\",\"type\":{\"type\":\"long\",\"logicalType\":\"moon-phase\"}},"
			  "{\"name\":\"g\",\"type\":{\"type\":\"long\",\"logicalType\":\"date\"}},"
			  "{\"name\":\"h\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"big-decimal\"}},"
			  "{\"name\":\"i\",\"type\":[\"int\",\"null\",\"string\"]}]}");
	char *text = printed(schema, 1);
	assert_string_equal(text,
						"record(a:time(ms)?,b:timestamp?,c:local_timestamp(ns),d:decimal(9,3),e:uuid,f:int64,g:int64,"
						"h:decimal,i:union(int32,string)?)");
	free(text);
	assert_int_equal(field(schema, "a")->flags, FLOW_SCHEMA_NULLABLE);
	assert_int_equal(field(schema, "b")->flags, FLOW_SCHEMA_NULLABLE | FLOW_SCHEMA_NULL_LAST | FLOW_SCHEMA_ZONED);
	assert_int_equal(field(schema, "b")->null_index, 1);
	assert_int_equal(field(schema, "d")->fixed_size, 4);
	assert_true(flow_slice_is(field(schema, "f")->logical, "moon-phase"));
	assert_int_equal(field(schema, "i")->null_index, 1);
	assert_int_equal(field(schema, "i")->branch_count, 2);
	assert_prints_to_itself(schema);
	schema_release(schema);
}

static void
defaults_are_cells_of_their_type(void **state)
{
	(void)state;
	const flow_schema *schema = parse(
		"{\"type\":\"record\",\"name\":\"R\",\"fields\":["
		"{\"name\":\"a\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":10,\"scale\":4},"
		"\"default\":\"\\u0001\\u0086\\u00a0\"},"
		"{\"name\":\"b\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":10,\"scale\":4},"
		"\"default\":\"\\u00ff\"},"
		"{\"name\":\"c\",\"type\":[\"null\",\"long\"],\"default\":null},"
		"{\"name\":\"d\",\"type\":[\"null\",\"long\"],\"default\":7},"
		"{\"name\":\"e\",\"type\":[\"string\",\"long\"],\"default\":8},"
		"{\"name\":\"f\",\"type\":{\"type\":\"record\",\"name\":\"I\",\"fields\":[{\"name\":\"x\",\"type\":\"int\","
		"\"default\":3},"
		"{\"name\":\"y\",\"type\":\"double\"}]},\"default\":{\"y\":2}},"
		"{\"name\":\"g\",\"type\":{\"type\":\"array\",\"items\":\"string\"},\"default\":[\"p\",\"\"]},"
		"{\"name\":\"h\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":20,\"scale\":0,"
		"\"flow.type\":\"uint64\"},\"default\":\"\\u0000\\u00ff\\u00ff\\u00ff\\u00ff\\u00ff\\u00ff\\u00ff\\u00ff\"}"
		"]}");
	const flow_decimal *a = schema->fields[0]->default_value->as.decimal;
	assert_memory_equal(a->digits, "100000", 6);
	assert_int_equal(a->count, 6);
	assert_int_equal(a->scale, 4);
	const flow_decimal *b = schema->fields[1]->default_value->as.decimal;
	assert_memory_equal(b->digits, "1", 1);
	assert_true(b->negative);
	assert_int_equal(schema->fields[2]->default_value->type, FLOW_NULL);
	assert_int_equal(schema->fields[3]->default_value->as.int64, 7);
	assert_int_equal(schema->fields[4]->default_value->as.int64, 8);
	assert_int_equal(schema->fields[4]->default_value->branch, 1);
	assert_int_equal(schema->fields[5]->default_value->as.record[0].as.int64, 3);
	assert_true(schema->fields[5]->default_value->as.record[1].as.float64 == 2.0);
	assert_int_equal(schema->fields[6]->default_value->as.list->count, 2);
	assert_true(schema->fields[7]->default_value->as.uint64 == UINT64_MAX);
	assert_prints_to_itself(schema);
	schema_release(schema);
}

static void
a_recursive_schema_lives_and_dies(void **state)
{
	(void)state;
	const flow_schema *list =
		parse("{\"type\":\"record\",\"name\":\"Node\",\"fields\":[{\"name\":\"v\",\"type\":\"long\"},"
			  "{\"name\":\"next\",\"type\":[\"null\",\"Node\"],\"default\":null},"
			  "{\"name\":\"children\",\"type\":{\"type\":\"array\",\"items\":\"Node\"}}]}");
	const flow_schema *next = field(list, "next");
	assert_int_equal(next->field_count, 3);
	assert_ptr_equal(field(next, "next"), next);
	assert_ptr_equal(field(list, "children")->element, list);
	char *text = printed(list, 1);
	assert_string_equal(text, "record(v:int64,next:Node?,children:list<Node>)");
	free(text);
	assert_prints_to_itself(list);
	schema_retain(next);
	schema_release(list);
	assert_true(flow_slice_is(next->fields[0]->name, "v"));
	schema_release(next);
}

static void
names_are_found_in_their_namespace(void **state)
{
	(void)state;
	const flow_schema *schema = parse(
		"{\"type\":\"record\",\"name\":\"Outer\",\"namespace\":\"a.b\",\"aliases\":[\"Old\",\"x.Older\"],\"fields\":["
		"{\"name\":\"p\",\"type\":{\"type\":\"fixed\",\"name\":\"c.F\",\"size\":2}},"
		"{\"name\":\"q\",\"type\":\"c.F\"},{\"name\":\"r\",\"type\":[\"null\",\"Outer\"]},"
		"{\"name\":\"s\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"namespace\":\"\",\"symbols\":[\"A\",\"B\"],"
		"\"default\":\"B\"},"
		"\"aliases\":[\"t\"]}]}");
	assert_true(flow_slice_is(schema->name, "a.b.Outer"));
	assert_true(flow_slice_is(schema->aliases[0], "a.b.Old"));
	assert_true(flow_slice_is(schema->aliases[1], "x.Older"));
	assert_true(flow_slice_is(field(schema, "s")->name, "E"));
	assert_true(flow_slice_is(field(schema, "s")->default_symbol, "B"));
	assert_true(flow_slice_is(schema->fields[3]->aliases[0], "t"));
	assert_prints_to_itself(schema);
	schema_release(schema);
}

static void
a_logical_type_that_says_nothing_changes_nothing(void **state)
{
	(void)state;
	static const char *const types[] = { "\"bytes\"", "{\"type\":\"bytes\",\"logicalType\":\"\"}",
										 "{\"type\":\"bytes\",\"logicalType\":7}",
										 "{\"type\":\"bytes\",\"flow.type\":\"no\"}" };
	const flow_schema *plain = NULL;
	for (size_t i = 0; i < FLOW_COUNT(types); i++) {
		char text[256];
		snprintf(text, sizeof(text),
				 "{\"type\":\"record\",\"name\":\"n.R\",\"fields\":[{\"name\":\"a\",\"type\":[\"null\",\"n.R\"]},"
				 "{\"name\":\"d\",\"type\":%s}]}",
				 types[i]);
		const flow_schema *schema = parse(text);
		if (plain == NULL)
			plain = schema_retain(schema);
		assert_true(schema_equal(plain, schema));
		assert_prints_to_itself(schema);
		schema_release(schema);
	}
	schema_release(plain);
}

static void
what_is_refused_says_where(void **state)
{
	(void)state;
	assert_refused("", "line 1");
	assert_refused("{\"type\":\"int\",\"type\":\"long\"}", "duplicate");
	assert_refused("\"Missing\"", "'Missing'");
	assert_refused("{\"type\":\"record\",\"name\":\"s.R\",\"fields\":[{\"name\":\"a\",\"type\":{\"type\":\"record\","
				   "\"name\":\"I\","
				   "\"fields\":[{\"name\":\"b\",\"type\":\"No\"}]}}]}",
				   "s.R.a.b: there is no type 'No'");
	assert_refused(
		"{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":\"int\",\"default\":\"5\"}]}",
		"R.a: the default does not fit");
	assert_refused("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"A\"]}", "'A' stands there twice");
	assert_refused("[]", "1 to 255 branches");
}

static void
types_nested_too_deeply_are_refused(void **state)
{
	(void)state;
	char text[100 * 40] = "";
	for (int i = 0; i < 100; i++)
		strcat(text, "{\"type\":\"array\",\"items\":");
	strcat(text, "\"int\"");
	for (int i = 0; i < 100; i++)
		strcat(text, "}");
	assert_refused(text, "types in types");
}

static void
references_that_fan_out_cost_no_more_than_their_text(void **state)
{
	(void)state;
	/* Each record holds the one before it twice: 2^200 records if they were followed. */
	char *text = malloc(100000);
	char *at = text + sprintf(text, "[\"null\",{\"type\":\"record\",\"name\":\"R0\",\"fields\":[]}");
	for (int i = 1; i < 200; i++)
		at += sprintf(at,
					  ",{\"type\":\"record\",\"name\":\"R%d\",\"fields\":[{\"name\":\"a\",\"type\":\"R%d\"},"
					  "{\"name\":\"b\",\"type\":[\"null\",\"R%d\"]}]}",
					  i, i - 1, i - 1);
	strcpy(at, "]");
	const flow_schema *schema = parse(text);
	free(text);
	text = printed(schema, 1);
	assert_true(strlen(text) > 1000);
	free(text);
	assert_prints_to_itself(schema);
	schema_release(schema);
}

static void
no_allocation_that_fails_crashes_or_leaks(void **state)
{
	(void)state;
	static const char text[] = "{\"type\":\"record\",\"name\":\"R\",\"doc\":\"d\",\"fields\":[{\"name\":\"a\",\"type\":"
							   "[\"null\",\"R\"],\"default\":null},"
							   "{\"name\":\"b\",\"type\":{\"type\":\"array\",\"items\":{\"type\":\"enum\",\"name\":"
							   "\"E\",\"symbols\":[\"X\"]}},\"default\":[\"X\"]}]}";
	for (uint64_t n = 1;; n++) {
		flow_error error = { 0 };
		memory_fail_at(n, 0);
		const flow_schema *schema = schema_parse_json(flow_slice_of(text), &error);
		memory_fail_at(0, 0);
		if (schema != NULL) {
			schema_release(schema);
			assert_true(n > 2);
			break;
		}
		assert_int_equal(error.status, FLOW_E_MEMORY);
		error_clear(&error);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_schema_of_the_specification_gets_its_verdict),
		cmocka_unit_test(a_schema_is_written_with_all_that_it_was_read_with),
		cmocka_unit_test(logical_types_become_kinds_also_in_unions_of_both_orders),
		cmocka_unit_test(defaults_are_cells_of_their_type),
		cmocka_unit_test(a_recursive_schema_lives_and_dies),
		cmocka_unit_test(names_are_found_in_their_namespace),
		cmocka_unit_test(a_logical_type_that_says_nothing_changes_nothing),
		cmocka_unit_test(what_is_refused_says_where),
		cmocka_unit_test(types_nested_too_deeply_are_refused),
		cmocka_unit_test(references_that_fan_out_cost_no_more_than_their_text),
		cmocka_unit_test(no_allocation_that_fails_crashes_or_leaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
