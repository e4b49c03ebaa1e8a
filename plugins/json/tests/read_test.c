/* Reading JSON: values, types, rejections and limits, as lines over windows of several sizes and as records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_checks.h"
#include "support/case_files.h"

/* --- the cases --- */

static void
integers_above_int64_keep_their_digits_or_are_rejected_where_declared(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	flow_slice input = case_file(f, "json/01-integer-above-int64/input.jsonl");
	fixture_serde untyped;
	fixture_serde_open(f, "json", NULL, &untyped);
	assert_string_equal(fixture_rows_text(decode_all_ways(&untyped, input)), input.data);
	fixture_serde declared;
	fixture_serde_open(f, "json", OPTIONS("fields.id=int64", "fields.n=int64"), &declared);
	fixture_rows *rows = decode_all_ways(&declared, input);
	assert_string_equal(fixture_rows_text(rows),
						case_json(f, "json/01-integer-above-int64/expected.fits-int64.jsonl", 0));
	case_check_rejections(rows, "json/01-integer-above-int64/dead.json");
	fixture_destroy(f);
}

static void
long_digits_stay(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	flow_slice input = case_file(f, "json/02-long-digits-stay/input.jsonl");
	fixture_serde json;
	fixture_serde_open(f, "json", NULL, &json);
	fixture_rows *rows = decode_all_ways(&json, input);
	assert_string_equal(fixture_encode(&json, rows->batches[0], 0)->data, input.data);
	fixture_destroy(f);
}

static void
the_same_key_twice_is_rejected_unless_the_last_one_counts(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	flow_slice input = case_file(f, "json/03-duplicate-keys/input.jsonl");
	fixture_serde strict;
	fixture_serde_open(f, "json", NULL, &strict);
	fixture_rows *rows = decode_all_ways(&strict, input);
	assert_string_equal(fixture_rows_text(rows), case_json(f, "json/03-duplicate-keys/expected.jsonl", 0));
	case_check_rejections(rows, "json/03-duplicate-keys/dead.json");
	fixture_serde last;
	fixture_serde_open(f, "json", OPTIONS("duplicates=last"), &last);
	assert_string_equal(fixture_rows_text(decode_all_ways(&last, input)),
						case_json(f, "json/03-duplicate-keys/expected.last-wins.jsonl", 0));
	fixture_destroy(f);
}

static void
check_hex(const flow_value *text, const char **expected)
{
	for (uint32_t i = 0; i < text->size; i++, *expected += 2) {
		char digits[3] = { 0 };
		memcpy(digits, *expected, 2);
		assert_int_equal((unsigned char)text->as.text[i], strtoul(digits, NULL, 16));
	}
	assert_int_equal(**expected, '\n');
	++*expected;
}

static void
every_escape_becomes_its_character(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	flow_slice input = case_file(f, "json/05-escapes-at-the-end/good.jsonl");
	fixture_serde json;
	fixture_serde_open(f, "json", OPTIONS("fields.log=string"), &json);
	fixture_rows *rows = decode_all_ways(&json, input);
	for (int round = 0; round < 2; round++) {
		const char *hex = case_file(f, "json/05-escapes-at-the-end/expected.hex").data;
		assert_int_equal(rows->row_count, 12);
		for (uint32_t i = 0; i < 12; i++)
			check_hex(flow_batch_field(rows->batches[0], i, 0), &hex);
		fixture_bytes *bytes = fixture_encode(&json, rows->batches[0], 0);
		rows = decode_all_ways(&json, flow_slice_make(bytes->data, bytes->size));
	}
	fixture_destroy(f);
}

/* The array that a file of a case holds. */
static const flow_list *
case_list(fixture *f, const char *path)
{
	flow_slice text = case_file(f, path);
	fixture_serde json;
	fixture_serde_open(f, "json", NULL, &json);
	fixture_rows *rows = fixture_decode_records(&json, &text, 1);
	assert_int_equal(rows->row_count, 1);
	return rows->batches[0]->value[0].as.list;
}

/* As a record, and as the only line of a stream, in memory of exactly its size. */
static fixture_rows *
decode_record(fixture_serde *json, flow_slice text)
{
	char *exact = malloc(text.size == 0 ? 1 : text.size);
	assert_non_null(exact);
	memcpy(exact, text.data, text.size);
	flow_slice record = flow_slice_make(exact, text.size);
	fixture_rows *rows = fixture_decode_records(json, &record, 1);
	assert_int_equal(rows->row_count + rows->rejection_count, 1);
	if (memchr(text.data, '\n', text.size) == NULL && strspn(text.data, " ") < text.size) {
		fixture_rows *line = fixture_decode(json, exact, text.size, 0);
		assert_int_equal(line->row_count, rows->row_count);
	}
	free(exact);
	return rows;
}

static void
texts_cut_inside_of_an_escape_are_rejected(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	const flow_list *list = case_list(f, "json/05-escapes-at-the-end/cut.json");
	fixture_serde json;
	fixture_serde_open(f, "json", NULL, &json);
	assert_int_equal(list->count, 12);
	for (uint64_t i = 0; i < list->count; i++)
		assert_int_equal(decode_record(&json, flow_value_slice(&list->items[i]))->rejection_count, 1);
	fixture_destroy(f);
}

static const flow_value *
member(const flow_value *object, const char *name)
{
	for (uint64_t i = 0; i < object->as.map->count; i++)
		if (flow_slice_is(flow_value_slice(&object->as.map->entries[i].key), name))
			return &object->as.map->entries[i].value;
	fail_msg("no %s", name);
	return NULL;
}

static void
only_json_is_json(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	const flow_list *list = case_list(f, "json/07-strict-grammar/texts.json");
	fixture_serde json;
	fixture_serde_open(f, "json", NULL, &json);
	assert_true(list->count > 40);
	for (uint64_t i = 0; i < list->count; i++) {
		flow_slice text = flow_value_slice(member(&list->items[i], "text"));
		int valid = flow_slice_is(flow_value_slice(member(&list->items[i], "json")), "valid");
		char *named = arena_copy(f->arena, text.data, text.size);
		fixture_rows *rows = decode_record(&json, flow_slice_make(named, text.size));
		if ((int)rows->row_count != valid)
			fail_msg("%s is %s JSON", named, valid ? "valid" : "not");
	}
	fixture_destroy(f);
}

static void
a_bad_line_does_not_take_its_neighbours_along(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	flow_slice input = case_file(f, "json/07-strict-grammar/lines.jsonl");
	fixture_serde json;
	fixture_serde_open(f, "json", NULL, &json);
	fixture_rows *rows = decode_all_ways(&json, input);
	assert_string_equal(fixture_rows_text(rows), case_json(f, "json/07-strict-grammar/expected.jsonl", 0));
	case_check_rejections(rows, "json/07-strict-grammar/dead.json");
	fixture_destroy(f);
}

static void
numbers_keep_their_value_or_are_rejected(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	const flow_list *list = case_list(f, "json/06-number-forms/numbers.json");
	fixture_serde json;
	fixture_serde_open(f, "json", NULL, &json);
	for (uint64_t i = 0; i < list->count; i++) {
		flow_slice number = flow_value_slice(member(&list->items[i], "text"));
		flow_slice text = flow_slice_of(arena_format(f->arena, "[%.*s]", (int)number.size, number.data));
		fixture_rows *rows = fixture_decode_records(&json, &text, 1);
		assert_int_equal(rows->row_count, 1);
		fixture_bytes *bytes = fixture_encode(&json, rows->batches[0], 1);
		fixture_rows *again = fixture_decode_records(&json, &(flow_slice){ bytes->data, bytes->size }, 1);
		const flow_value *first = &rows->batches[0]->value[0].as.list->items[0];
		const flow_value *second = &again->batches[0]->value[0].as.list->items[0];
		if (first->type == FLOW_DECIMAL && second->type == FLOW_DECIMAL) /* 1E+2 may come out as 100, an integer */
			assert_int_equal(first->as.decimal->negative, second->as.decimal->negative);
	}
	fixture_destroy(f);
	check_rows(NULL, "[0.1,1.50,-0.0,1e2,123456789012345678901234567890.123,100000000000000000000]\n",
			   "[0.1,1.50,-0.0,100,123456789012345678901234567890.123,100000000000000000000]\n");
	check_rejected(NULL, "{\"v\":1e999999999}\n", FLOW_E_RANGE, "/v", "1e999999999");
}

static char *
nested(fixture *f, int depth, int closed)
{
	char *text = arena_allocate_zeroed(f->arena, (size_t)depth * 2 + 64);
	char *at = text + sprintf(text, "{\"id\":0}\n{\"id\":1,\"v\":");
	memset(at, '[', (size_t)depth);
	at += depth;
	if (closed) {
		memset(at, ']', (size_t)depth);
		at += depth;
		*at++ = '}';
	}
	strcpy(at, "\n{\"id\":2}\n");
	return text;
}

static void
deep_nesting_is_refused_at_the_limit(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	flow_slice input = case_file(f, "json/08-deep-nesting/input.64.jsonl");
	fixture_serde json;
	fixture_serde_open(f, "json", NULL, &json);
	assert_string_equal(fixture_rows_text(decode_all_ways(&json, input)), input.data);
	static const int depths[] = { 255, 256, 100000, 1000000 };
	for (size_t i = 0; i < FLOW_COUNT(depths); i++) {
		for (int closed = 0; closed < 2; closed++) {
			char *text = nested(f, depths[i], closed);
			fixture_rows *rows = fixture_decode(&json, text, strlen(text), 0);
			int good = depths[i] == 255 && closed;
			assert_int_equal(rows->row_count, good ? 3 : 2);
			assert_int_equal(rows->rejection_count, good ? 0 : 1);
			if (!good && depths[i] > 255)
				assert_non_null(strstr(rows->rejections[0].reason, "depth_limit (256)"));
		}
	}
	fixture_destroy(f);
}

/* --- types --- */

static void
declared_fields_are_converted_exactly(void **state)
{
	(void)state;
	check_rows(OPTIONS("fields.b=bool", "fields.i=int32", "fields.u=uint64", "fields.f=float64",
					   "fields.d=decimal(8,2)", "fields.t=timestamp", "fields.x=bytes", "fields.g=uuid",
					   "fields.l=list<int64?>", "fields.m=map<string>", "fields.r=\"record(p:int64,q:string?)\"",
					   "fields.e=\"enum(red,blue)\"", "fields.a=any"),
			   "{\"b\":true,\"i\":-7,\"u\":18446744073709551615,\"f\":0.1,\"d\":1.5,\"t\":\"2013-01-01T10:00:00+01:"
			   "00\",\"x\":\"AP8=\","
			   "\"g\":\"123e4567-e89b-12d3-a456-426614174000\",\"l\":[1,null,3],\"m\":{\"k\":\"v\"},\"r\":{\"q\":null,"
			   "\"p\":1},"
			   "\"e\":\"blue\",\"a\":{\"x\":[1,\"y\",{}]}}\n",
			   "{\"b\":true,\"i\":-7,\"u\":18446744073709551615,\"f\":0.1,\"d\":1.50,\"t\":\"2013-01-01T09:00:00Z\","
			   "\"x\":\"\\u0000\\u00ff\","
			   "\"g\":\"123e4567-e89b-12d3-a456-426614174000\",\"l\":[1,null,3],\"m\":{\"k\":\"v\"},\"r\":{\"p\":1,"
			   "\"q\":null},"
			   "\"e\":\"blue\",\"a\":{\"x\":[1,\"y\",{}]}}\n");
	check_rows(OPTIONS("fields.i=int64", "fields.f=float64?"),
			   "{\"i\":1e2,\"f\":\"NaN\"}\n{\"i\":-3.0,\"f\":2}\n{\"f\":null,\"i\":0.0}\n",
			   "{\"i\":100,\"f\":\"NaN\"}\n{\"i\":-3,\"f\":2.0}\n{\"i\":0,\"f\":null}\n");
}

static void
a_schema_in_avro_json_gives_unions_and_defaults(void **state)
{
	(void)state;
	check_rows(OPTIONS("schema=\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"r\\\",\\\"fields\\\":["
					   "{\\\"name\\\":\\\"v\\\",\\\"type\\\":[\\\"null\\\",\\\"long\\\",\\\"string\\\"]},"
					   "{\\\"name\\\":\\\"n\\\",\\\"type\\\":\\\"long\\\",\\\"default\\\":7}]}\""),
			   "{\"v\":1,\"n\":2}\n{\"v\":\"x\"}\n{\"v\":null}\n{}\n",
			   "{\"v\":1,\"n\":2}\n{\"v\":\"x\",\"n\":7}\n{\"v\":null,\"n\":7}\n{\"v\":null,\"n\":7}\n");
}

static void
what_does_not_fit_is_rejected_and_named(void **state)
{
	(void)state;
	const char *const *options = OPTIONS("fields.n=int64", "fields.s=string?", "fields.r=\"record(p:list<int32>)?\"");
	check_rejected(options, "{\"n\":\"1\"}\n", FLOW_E_TYPE, "n", "the string 1 is not int64");
	check_rejected(options, "{\"n\":1.5}\n", FLOW_E_RANGE, "n", "1.5 does not fit int64");
	check_rejected(options, "{\"n\":null}\n", FLOW_E_TYPE, "n", "null is not int64");
	check_rejected(options, "{\"n\":1,\"s\":5}\n", FLOW_E_TYPE, "s", "5 is not string?");
	check_rejected(options, "{\"s\":\"x\"}\n", FLOW_E_DECODE, "n", "missing");
	check_rejected(options, "{\"n\":1,\"r\":{\"p\":[1,2,2147483648]}}\n", FLOW_E_RANGE, "/r/p/2", "does not fit int32");
	check_rejected(options, "{\"n\":1,\"r\":{}}\n", FLOW_E_DECODE, "/r/p", "missing");
	check_rejected(options, "[1]\n", FLOW_E_TYPE, "", "a list");
	check_rejected(options, "{\"n\":[]}\n", FLOW_E_TYPE, "n", "a list");
	check_rejected(options, "null\n", FLOW_E_TYPE, "", "null");
	check_rejected(OPTIONS("fields.x=bytes"), "{\"x\":\"AP8\"}\n", FLOW_E_DECODE, "x", "AP8");
	check_rejected(OPTIONS("fields.t=timestamp"), "{\"t\":\"yesterday\"}\n", FLOW_E_DECODE, "t", "yesterday");
}

static void
keys_that_are_not_declared_are_ignored_or_refused(void **state)
{
	(void)state;
	const char *text = "{\"x\":{\"y\":[1,{\"z\":\"\\u0041\"}]},\"n\":1,\"w\":null}\n";
	check_rows(OPTIONS("fields.n=int64"), text, "{\"n\":1}\n");
	check_rejected(OPTIONS("fields.n=int64", "extra=error"), text, FLOW_E_DECODE, "/x", "not declared");
	check_rejected(OPTIONS("fields.n=int64"), "{\"x\":1,\"n\":1,\"x\":2}\n", FLOW_E_DECODE, "/x", "twice");
	check_rejected(OPTIONS("fields.n=int64"), "{\"n\":1,\"x\":{\"y\":1,\"y\":2}}\n", FLOW_E_DECODE, "/x/y", "twice");
	check_rejected(OPTIONS("fields.n=int64"), "{\"n\":1,\"x\":[01]}\n", FLOW_E_DECODE, "/x/0", "'1'");
	check_rejected(OPTIONS("fields.n=int64"), "{\"n\":1,\"\\u006e\":2}\n", FLOW_E_DECODE, "/n", "twice");
}

static void
many_keys_are_compared_too(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	char *text = arena_allocate_zeroed(f->arena, 64 * 1024);
	char *at = text + sprintf(text, "{");
	for (int i = 0; i < 3000; i++)
		at += sprintf(at, "\"key%d\":%d,", i, i);
	strcpy(at, "\"key1234\":-1}\n");
	fixture_serde json;
	fixture_serde_open(f, "json", NULL, &json);
	fixture_rows *rows = fixture_decode(&json, text, strlen(text), 0);
	assert_int_equal(rows->rejection_count, 1);
	assert_string_equal(rows->rejections[0].field, "/key1234");
	fixture_serde last;
	fixture_serde_open(f, "json", OPTIONS("duplicates=last"), &last);
	rows = fixture_decode(&last, text, strlen(text), 0);
	assert_int_equal(rows->row_count, 1);
	const flow_map *map = rows->batches[0]->value[0].as.map;
	assert_int_equal(map->count, 3000);
	assert_int_equal(map->entries[1234].value.as.int64, -1);
	assert_int_equal(map->entries[1235].value.as.int64, 1235);
	fixture_destroy(f);
}

static void
fields_that_nobody_reads_are_checked_but_not_made(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", OPTIONS("fields.a=int64", "fields.b=list<int64>", "fields.c=string"), &json);
	const char *text = "{\"a\":1,\"b\":[\"x\"],\"c\":\"y\"}\n{\"c\":\"z\"}\n{\"a\":1,\"b\":[1,],\"c\":\"w\"}\n{\"a\":1,"
					   "\"a\":2,\"c\":\"v\"}\n";
	fixture_decoding how = { .fields = (const uint32_t[]){ 2 }, .field_count = 1 };
	fixture_rows *rows = fixture_decode_with(&json, text, strlen(text), &how);
	assert_string_equal(fixture_rows_text(rows),
						"{\"a\":null,\"b\":null,\"c\":\"y\"}\n{\"a\":null,\"b\":null,\"c\":\"z\"}\n");
	assert_int_equal(rows->rejection_count, 2);
	assert_int_equal(rows->rejections[0].line, 3);
	assert_int_equal(rows->rejections[1].line, 4);
	fixture_destroy(f);
}

/* --- lines --- */

static void
line_ends_blank_lines_and_a_byte_order_mark(void **state)
{
	(void)state;
	check_rows(NULL, "\xEF\xBB\xBF[1]\r\n\r\n \t\n [ 2 , 3 ] \n{}", "[1]\n[2,3]\n{}\n");
	check_rejected(NULL, "[1\n", FLOW_E_DECODE, "/0", "ends where");
	check_rejected(NULL, "[\"\xC3\x28\"]\n", FLOW_E_DECODE, "/0", "UTF-8");
	check_rejected(NULL, "[\"\\ud800\"]\n", FLOW_E_DECODE, "/0", "surrogate");
	check_rejected(NULL, "\xC3\xA9\n", FLOW_E_DECODE, "", "0xc3");
}

static void
a_line_over_the_limit_is_rejected_and_the_next_one_read(void **state)
{
	(void)state;
	check_rejected(OPTIONS("max_record=16"), "[\"0123456789abcdef\"]\n[1]\n", FLOW_E_LIMIT, "", "max_record");
	check_rows(OPTIONS("max_record=16"), "[\"0123456789ab\"]\n[1]\n", "[\"0123456789ab\"]\n[1]\n");
}

static void
a_decoder_goes_on_from_its_saved_state(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", OPTIONS("max_record=16"), &json);
	const char *text = "[1]\n[2\n[\"0123456789abcdef 0123456789abcdef\"]\n\n[3]\n[4\n";
	for (uint64_t window = 1; window < 60; window++) {
		fixture_decoding how = { .window_bytes = window, .restore_each = 1, .batch_rows = 1 };
		fixture_rows *rows = fixture_decode_with(&json, text, strlen(text), &how);
		assert_string_equal(fixture_rows_text(rows), "[1]\n[3]\n");
		assert_int_equal(rows->rejection_count, 3);
		assert_int_equal(rows->rejections[0].line, 2);
		assert_int_equal(rows->rejections[1].line, 3);
		assert_int_equal(rows->rejections[2].line, 6);
	}
	fixture_destroy(f);
}

static void
damaged_lines_never_fail(void **state)
{
	(void)state;
	const char *text =
		"{\"id\":12,\"name\":\"o\\u0041\\\"\xC3\xA9\",\"d\":-1.5e3,\"l\":[true,null,{\"x\":{}}]}\n[\"second\"]\n";
	uint64_t size = strlen(text);
	for (uint64_t bit = 0; bit < size * 9; bit++) { /* the last round cuts instead */
		char damaged[256];
		uint64_t left = bit < size * 8 ? size : bit - size * 8;
		memcpy(damaged, text, size + 1);
		if (left == size)
			damaged[bit / 8] = (char)(damaged[bit / 8] ^ 1 << bit % 8);
		fixture *f = fixture_create();
		fixture_serde json;
		fixture_serde_open(f, "json", NULL, &json);
		fixture_rows *whole = fixture_decode(&json, damaged, left, 0);
		fixture_rows *bytewise = fixture_decode(&json, damaged, left, 1);
		assert_int_equal(whole->status, FLOW_OK);
		assert_string_equal(fixture_rows_text(whole), fixture_rows_text(bytewise));
		assert_int_equal(whole->rejection_count, bytewise->rejection_count);
		fixture_destroy(f);
	}
}

static void
contradicting_options_are_refused(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde json;
	assert_true(fixture_try_serde_open(f, "json", OPTIONS("fields.a=int64", "schema=\"\\\"long\\\"\""), &json) < 0);
	assert_true(fixture_try_serde_open(f, "json", OPTIONS("schema=\"{\""), &json) < 0);
	fixture_destroy(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_above_int64_keep_their_digits_or_are_rejected_where_declared),
		cmocka_unit_test(long_digits_stay),
		cmocka_unit_test(the_same_key_twice_is_rejected_unless_the_last_one_counts),
		cmocka_unit_test(every_escape_becomes_its_character),
		cmocka_unit_test(texts_cut_inside_of_an_escape_are_rejected),
		cmocka_unit_test(only_json_is_json),
		cmocka_unit_test(a_bad_line_does_not_take_its_neighbours_along),
		cmocka_unit_test(numbers_keep_their_value_or_are_rejected),
		cmocka_unit_test(deep_nesting_is_refused_at_the_limit),
		cmocka_unit_test(declared_fields_are_converted_exactly),
		cmocka_unit_test(a_schema_in_avro_json_gives_unions_and_defaults),
		cmocka_unit_test(what_does_not_fit_is_rejected_and_named),
		cmocka_unit_test(keys_that_are_not_declared_are_ignored_or_refused),
		cmocka_unit_test(many_keys_are_compared_too),
		cmocka_unit_test(fields_that_nobody_reads_are_checked_but_not_made),
		cmocka_unit_test(line_ends_blank_lines_and_a_byte_order_mark),
		cmocka_unit_test(a_line_over_the_limit_is_rejected_and_the_next_one_read),
		cmocka_unit_test(a_decoder_goes_on_from_its_saved_state),
		cmocka_unit_test(damaged_lines_never_fail),
		cmocka_unit_test(contradicting_options_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
