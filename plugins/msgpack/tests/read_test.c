/* Reading MessagePack: every form of every item, declared types, what is refused and where, and hostile lengths. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "support/plugin_fixture.h"
#include "support/serde_trials.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define BYTES(text) text, sizeof(text) - 1

/* As records and as a stream with windows of several sizes. */
static fixture_rows *
read_all_ways(fixture_serde *serde, const char *bytes, uint64_t size)
{
	fixture_rows *whole = fixture_decode(serde, bytes, size, 0);
	assert_int_equal(whole->status, FLOW_OK);
	for (uint64_t window = 1; window < 9; window++) {
		fixture_decoding how = { .window_bytes = window, .restore_each = 1 };
		fixture_rows *rows = fixture_decode_with(serde, bytes, size, &how);
		assert_string_equal(fixture_rows_text(rows), fixture_rows_text(whole));
		assert_int_equal(rows->rejection_count, whole->rejection_count);
		for (size_t i = 0; i < rows->rejection_count; i++) {
			assert_int_equal(rows->rejections[i].status, whole->rejections[i].status);
			assert_int_equal(rows->rejections[i].ordinal, whole->rejections[i].ordinal);
			assert_string_equal(rows->rejections[i].reason, whole->rejections[i].reason);
		}
	}
	return whole;
}

static void
check_rows(const char *const *options, const char *bytes, uint64_t size, const char *expected)
{
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "msgpack", options, &serde);
	fixture_rows *rows = read_all_ways(&serde, bytes, size);
	for (size_t i = 0; i < rows->rejection_count; i++)
		fail_msg("rejected: %s", rows->rejections[i].reason);
	assert_string_equal(fixture_rows_text(rows), expected);
	fixture_destroy(f);
}

static void
check_rejected(const char *const *options, const char *bytes, uint64_t size, flow_status status, const char *field,
			   const char *reason)
{
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "msgpack", options, &serde);
	flow_slice record = flow_slice_make(bytes, size);
	fixture_rows *all[] = { read_all_ways(&serde, bytes, size), fixture_decode_records(&serde, &record, 1) };
	for (size_t i = 0; i < FLOW_COUNT(all); i++) {
		if (all[i]->rejection_count != 1)
			fail_msg("%s: %zu rejections", reason, all[i]->rejection_count);
		assert_int_equal(all[i]->rejections[0].status, status);
		assert_string_equal(all[i]->rejections[0].field, field);
		if (strstr(all[i]->rejections[0].reason, reason) == NULL)
			fail_msg("\"%s\" does not say \"%s\"", all[i]->rejections[0].reason, reason);
		assert_int_equal(all[i]->rejections[0].raw_size, size);
	}
	fixture_destroy(f);
}

static void
every_form_has_its_value_without_a_declared_type(void **state)
{
	(void)state;
	check_rows(NULL, BYTES("\xC0\xC2\xC3"), "null\nfalse\ntrue\n");
	check_rows(NULL, BYTES("\x00\x7F\xE0\xFF\xCC\xFF\xCD\xFF\xFF\xCE\xFF\xFF\xFF\xFF"),
			   "0\n127\n-32\n-1\n255\n65535\n4294967295\n");
	check_rows(NULL, BYTES("\xD0\x80\xD1\x80\0\xD2\x80\0\0\0\xD3\x80\0\0\0\0\0\0\0"),
			   "-128\n-32768\n-2147483648\n-9223372036854775808\n");
	check_rows(NULL, BYTES("\xCF\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xCF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
			   "9223372036854775807\n18446744073709551615\n");
	check_rows(NULL,
			   BYTES("\xCA\x3F\xC0\0\0\xCB\x3F\xB9\x99\x99\x99\x99\x99\x9A\xCA\x7F\x80\0\0\xCB\x7F\xF8\0\0\0\0\0\0"),
			   "1.5\n0.1\n\"Infinity\"\n\"NaN\"\n");
	check_rows(NULL,
			   BYTES("\xA0\xA2\xC3\xA9\xD9\x01"
					 "a\xDA\0\x01"
					 "b\xDB\0\0\0\x01"
					 "c"),
			   "\"\"\n\"\xC3\xA9\"\n\"a\"\n\"b\"\n\"c\"\n");
	check_rows(NULL, BYTES("\xC4\x01\xFF\xC5\0\x01\0\xC6\0\0\0\0"), "\"\\u00ff\"\n\"\\u0000\"\n\"\"\n");
	check_rows(NULL, BYTES("\x90\x92\x01\xC0\xDC\0\x01\x80\xDD\0\0\0\x01\x90"), "[]\n[1,null]\n[{}]\n[[]]\n");
	check_rows(NULL,
			   BYTES("\x81\xA1"
					 "a\x01\xDE\0\x01\xA1"
					 "b\x81\xA0\xC0\xDF\0\0\0\x01\xD9\x01"
					 "c\x02"),
			   "{\"a\":1}\n{\"b\":{\"\":null}}\n{\"c\":2}\n");
	check_rows(
		NULL,
		BYTES("\xD6\xFF\0\0\0\0\xD7\xFF\x77\x35\x93\xFC\0\0\0\x01\xC7\x0C\xFF\0\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
		"\"1970-01-01T00:00:00Z\"\n\"1970-01-01T00:00:01.499999999Z\"\n\"1969-12-31T23:59:59Z\"\n");
}

static void
declared_fields_are_converted_exactly(void **state)
{
	(void)state;
	check_rows(OPTIONS("fields.a=int64", "fields.b=float64", "fields.c=decimal(9,2)"),
			   BYTES("\x83\xA1"
					 "a\xCB\x40\x08\0\0\0\0\0\0\xA1"
					 "b\x05\xA1"
					 "c\xA3"
					 "1.5"),
			   "{\"a\":3,\"b\":5.0,\"c\":1.50}\n");
	check_rows(OPTIONS("fields.a=uint64", "fields.b=decimal"),
			   BYTES("\x82\xA1"
					 "a\x07\xA1"
					 "b\xCF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
			   "{\"a\":7,\"b\":18446744073709551615}\n");
	check_rows(OPTIONS("fields.a=bytes", "fields.b=date", "fields.c=uuid"),
			   BYTES("\x83\xA1"
					 "a\xA1\xFF\xA1"
					 "b\xAA"
					 "2024-02-29\xA1"
					 "c\xC4\x10"
					 "0123456789abcdef"),
			   "{\"a\":\"\\u00ff\",\"b\":\"2024-02-29\",\"c\":\"30313233-3435-3637-3839-616263646566\"}\n");
	check_rows(OPTIONS("fields.t=timestamp(ms)"),
			   BYTES("\x81\xA1"
					 "t\xD6\xFF\x65\0\0\0"),
			   "{\"t\":\"2023-09-12T06:06:56Z\"}\n");
	check_rows(OPTIONS("fields.a=int32", "fields.b=string?", "fields.c=list<int64?>?"),
			   BYTES("\x83\xA1"
					 "c\x92\x01\xC0\xA1"
					 "x\x81\xA1"
					 "y\x90\xA1"
					 "a\x02"),
			   "{\"a\":2,\"b\":null,\"c\":[1,null]}\n");
}

static void
records_can_be_arrays_in_the_order_of_the_fields(void **state)
{
	(void)state;
	const char *const *options = OPTIONS("records=array", "fields.a=int64", "fields.b=string?", "fields.c=map<int64>?");
	check_rows(
		options,
		BYTES("\x93\x01\xA1"
			  "x\x81\xA1"
			  "k\x02\x91\x02\x94\x03\xC0\xC0\x90"),
		"{\"a\":1,\"b\":\"x\",\"c\":{\"k\":2}}\n{\"a\":2,\"b\":null,\"c\":null}\n{\"a\":3,\"b\":null,\"c\":null}\n");
	check_rejected(options,
				   BYTES("\x81\xA1"
						 "a\x01"),
				   FLOW_E_TYPE, "", "a map where there should be");
	check_rejected(options, BYTES("\x90"), FLOW_E_DECODE, "a", "is not there");
	check_rejected(OPTIONS("records=array", "extra=error", "fields.a=int64"), BYTES("\x92\x01\x02"), FLOW_E_DECODE, "",
				   "more items than there are fields");
}

static void
what_does_not_fit_is_rejected_with_its_place(void **state)
{
	(void)state;
	check_rejected(OPTIONS("fields.a=int32"),
				   BYTES("\x81\xA1"
						 "a\xCE\x80\0\0\0"),
				   FLOW_E_RANGE, "a", "an integer that does not fit exactly into int32");
	check_rejected(OPTIONS("fields.a=int64"),
				   BYTES("\x81\xA1"
						 "a\xCF\x80\0\0\0\0\0\0\0"),
				   FLOW_E_RANGE, "a", "int64");
	check_rejected(OPTIONS("fields.a=int64"),
				   BYTES("\x81\xA1"
						 "a\xCB\x3F\xF8\0\0\0\0\0\0"),
				   FLOW_E_RANGE, "a", "a float");
	check_rejected(OPTIONS("fields.a=uint64"),
				   BYTES("\x81\xA1"
						 "a\xFF"),
				   FLOW_E_RANGE, "a", "uint64");
	check_rejected(OPTIONS("fields.a=float64"),
				   BYTES("\x81\xA1"
						 "a\xCF\0\x20\0\0\0\0\0\x01"),
				   FLOW_E_RANGE, "a", "float64");
	check_rejected(OPTIONS("fields.a=float32"),
				   BYTES("\x81\xA1"
						 "a\xCB\x3F\xB9\x99\x99\x99\x99\x99\x9A"),
				   FLOW_E_RANGE, "a", "float32");
	check_rejected(OPTIONS("fields.a=decimal"),
				   BYTES("\x81\xA1"
						 "a\xCA\x3F\xC0\0\0"),
				   FLOW_E_TYPE, "a", "a float where");
	check_rejected(OPTIONS("fields.t=timestamp(ms)"),
				   BYTES("\x81\xA1"
						 "t\xD7\xFF\0\0\0\x04\0\0\0\0"),
				   FLOW_E_RANGE, "t", "an extension that does not fit exactly");
	check_rejected(OPTIONS("fields.a=list<int64>"),
				   BYTES("\x81\xA1"
						 "a\x92\x01\xA0"),
				   FLOW_E_TYPE, "/a/1", "a str where there should be int64 (byte 5, at /a/1)");
	check_rejected(OPTIONS("fields.a=int64"),
				   BYTES("\x81\xA1"
						 "a\xC0"),
				   FLOW_E_TYPE, "a", "nil where");
	check_rejected(OPTIONS("fields.a=int64"),
				   BYTES("\x81\xA1"
						 "b\x01"),
				   FLOW_E_DECODE, "a", "is not there");
	check_rejected(OPTIONS("fields.a=int64?", "extra=error"),
				   BYTES("\x81\xA1"
						 "b\x01"),
				   FLOW_E_DECODE, "b", "not declared");
	check_rejected(OPTIONS("fields.a=int64"),
				   BYTES("\x82\xA1"
						 "a\x01\xA1"
						 "a\x01"),
				   FLOW_E_DECODE, "a", "twice");
	check_rejected(OPTIONS("fields.a=int64?"),
				   BYTES("\x82\xA1"
						 "b\x01\xA1"
						 "b\x01"),
				   FLOW_E_DECODE, "b", "twice");
	check_rejected(NULL,
				   BYTES("\x92\x01\x82\xA1"
						 "k\x01\xA1"
						 "k\x02"),
				   FLOW_E_DECODE, "/1/k", "twice");
	check_rejected(NULL, BYTES("\xA1\xFF"), FLOW_E_DECODE, "", "not UTF-8");
	check_rejected(NULL, BYTES("\x81\xA1\xFF\x01"), FLOW_E_DECODE, "", "not UTF-8");
	check_rejected(NULL, BYTES("\x81\x01\x01"), FLOW_E_TYPE, "", "no str");
	check_rejected(NULL, BYTES("\xD4\x05\x01"), FLOW_E_UNSUPPORTED, "", "type 5");
	check_rejected(NULL, BYTES("\xD5\xFF\x01\x02"), FLOW_E_DECODE, "", "no timestamp");
	check_rejected(OPTIONS("depth_limit=2"), BYTES("\x91\x91\x91\x01"), FLOW_E_LIMIT, "/0/0", "depth_limit");
}

static void
extras_within_extras_are_told_apart(void **state)
{
	(void)state;
	const char *const *options = OPTIONS("fields.a=record(x:int64)", "fields.b=int64");
	check_rows(options,
			   BYTES("\x84\xA1"
					 "u\x01\xA1"
					 "a\x83\xA1"
					 "u\x01\xA1"
					 "v\x02\xA1"
					 "x\x03\xA1"
					 "v\x01\xA1"
					 "b\x04"),
			   "{\"a\":{\"x\":3},\"b\":4}\n");
	check_rejected(options,
				   BYTES("\x84\xA1"
						 "u\x01\xA1"
						 "a\x82\xA1"
						 "v\x01\xA1"
						 "x\x03\xA1"
						 "u\x01\xA1"
						 "b\x04"),
				   FLOW_E_DECODE, "u", "twice");
}

static void
extensions_are_what_the_option_says(void **state)
{
	(void)state;
	check_rows(OPTIONS("extensions=bytes"),
			   BYTES("\xD4\x05\x01\xC7\x03\x07"
					 "abc"),
			   "\"\\u0001\"\n\"abc\"\n");
	check_rows(OPTIONS("extensions=null"), BYTES("\x91\xC8\0\x01\x05\x01"), "[null]\n");
}

static void
unions_take_the_natural_branch_first(void **state)
{
	(void)state;
	const char *const *options = OPTIONS("schema=\"[\\\"null\\\",\\\"double\\\",\\\"long\\\",\\\"string\\\",{"
										 "\\\"type\\\":\\\"array\\\",\\\"items\\\":\\\"int\\\"}]\"");
	check_rows(options,
			   BYTES("\x05\xCB\x3F\xF8\0\0\0\0\0\0\xC0\xA1"
					 "x\x91\x02"),
			   "5\n1.5\nnull\n\"x\"\n[2]\n");
	check_rejected(options, BYTES("\xC3"), FLOW_E_TYPE, "", "a bool");
}

/* A record within a record ... and at the end a value that no branch takes: 2^200 ways to try. */
static void
unions_within_unions_do_not_take_for_ever(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde;
	const char *schema = "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":[\"null\",\"R\",{"
						 "\"type\":\"record\",\"name\":\"S\","
						 "\"fields\":[{\"name\":\"a\",\"type\":[\"null\",\"R\",\"S\"]}]}]}]}";
	fixture_serde_open(f, "msgpack", OPTIONS("records=array", trial_assignment(f, "schema", schema)), &serde);
	char bytes[201];
	memset(bytes, 0x91, 200);
	bytes[200] = (char)0xC3;
	flow_slice record = flow_slice_make(bytes, sizeof(bytes));
	fixture_rows *rows = fixture_decode_records(&serde, &record, 1);
	assert_int_equal(rows->rejection_count, 1);
	assert_int_equal(rows->rejections[0].status, FLOW_E_LIMIT);
	assert_non_null(strstr(rows->rejections[0].reason, "unions within unions"));
	fixture_destroy(f);
}

static void
a_bad_record_of_a_stream_does_not_touch_its_neighbours(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "msgpack", OPTIONS("fields.a=int64"), &serde);
	fixture_rows *rows = read_all_ways(&serde, BYTES("\x81\xA1"
													 "a\x01\x81\xA1"
													 "a\xA3"
													 "bad\x93\x01\x02\x03\x81\xA1"
													 "a\x02"));
	assert_string_equal(fixture_rows_text(rows), "{\"a\":1}\n{\"a\":2}\n");
	assert_int_equal(rows->rejection_count, 2);
	assert_int_equal(rows->rejections[0].ordinal, 4);
	assert_int_equal(rows->rejections[0].raw_size, 7);
	assert_int_equal(rows->rejections[1].ordinal, 11);
	assert_int_equal(rows->rejections[1].raw_size, 4);
	fixture_destroy(f);
}

static void
an_object_over_the_limit_is_rejected_and_the_next_one_read(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "msgpack", OPTIONS("max_record=16"), &serde);
	fixture_rows *rows = read_all_ways(&serde, BYTES("\x01\x92\xB0"
													 "0123456789abcdef\x02\xAF"
													 "0123456789abcde"));
	assert_string_equal(fixture_rows_text(rows), "1\n\"0123456789abcde\"\n");
	assert_int_equal(rows->rejection_count, 1);
	assert_int_equal(rows->rejections[0].status, FLOW_E_LIMIT);
	assert_int_equal(rows->rejections[0].ordinal, 1);
	fixture_destroy(f);
}

static void
the_byte_that_is_never_used_ends_a_stream(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "msgpack", NULL, &serde);
	fixture_rows *rows = fixture_decode(&serde, BYTES("\x01\x92\x01\xC1\x05"), 0);
	assert_int_equal(rows->status, FLOW_E_DECODE);
	assert_non_null(strstr(error_message(&f->error), "offset 3"));
	assert_string_equal(fixture_rows_text(rows), "1\n");
	fixture_destroy(f);
}

/* Four billion items, entries, bytes: said in five bytes. */
static void
hostile_lengths_take_no_memory(void **state)
{
	(void)state;
	static const char *const heads[] = { "\xDD\xFF\xFF\xFF\xFF", "\xDF\xFF\xFF\xFF\xFF", "\xDB\xFF\xFF\xFF\xFF",
										 "\xC6\xFF\xFF\xFF\xFF", "\x91\xDD\xFF\xFF\xFF\xFF" };
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "msgpack", NULL, &serde);
	batch_pool_destroy(f->pool);
	f->pool = batch_pool_create(1u << 20); /* more than twice that is refused */
	for (size_t i = 0; i < FLOW_COUNT(heads); i++) {
		flow_slice record = flow_slice_of(heads[i]);
		fixture_rows *rows = fixture_decode_records(&serde, &record, 1);
		assert_int_equal(rows->rejection_count, 1);
		assert_int_equal(rows->rejections[0].status, FLOW_E_DECODE);
		rows = fixture_decode(&serde, heads[i], record.size, 0);
		assert_int_equal(rows->rejections[0].status, FLOW_E_LIMIT);
	}
	fixture_destroy(f);
}

static void
damage_is_a_record_error_or_another_value(void **state)
{
	(void)state;
	static const char object[] = "\x85\xA1"
								 "a\xCE\x80\0\0\0\xA1"
								 "b\xC4\x02"
								 "xy\xA1"
								 "c\x92\xCB\x3F\xF8\0\0\0\0\0\0\x81\xA1"
								 "d\xC0\xA1"
								 "e\xD6\xFF\0\0\0\x01\xA1"
								 "f\xA3\xE2\x82\xAC";
	fixture *f = fixture_create();
	fixture_serde untyped, declared;
	fixture_serde_open(f, "msgpack", NULL, &untyped);
	fixture_serde_open(f, "msgpack",
					   OPTIONS("fields.a=int64?", "fields.b=bytes?", "fields.c=list<any>?", "fields.e=timestamp?"),
					   &declared);
	for (int as_record = 0; as_record < 2; as_record++) {
		trial_damage(&untyped, object, sizeof(object) - 1, as_record);
		trial_damage(&declared, object, sizeof(object) - 1, as_record);
	}
	fixture_destroy(f);
}

static void
fields_that_nobody_reads_are_passed_over(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "msgpack", OPTIONS("fields.a=int64", "fields.b=int64", "fields.c=string"), &serde);
	static const uint32_t second[] = { 1 };
	fixture_decoding how = { .fields = second, .field_count = 1 };
	fixture_rows *rows = fixture_decode_with(&serde,
											 BYTES("\x83\xA1"
												   "a\x93\x01\x02\x03\xA1"
												   "b\x05\xA1"
												   "c\xA1"
												   "x"),
											 &how);
	assert_int_equal(rows->row_count, 1);
	assert_int_equal(flow_batch_field(rows->batches[0], 0, 1)->as.int64, 5);
	assert_int_equal(flow_batch_field(rows->batches[0], 0, 2)->type, FLOW_NULL);
	fixture_destroy(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_has_its_value_without_a_declared_type),
		cmocka_unit_test(declared_fields_are_converted_exactly),
		cmocka_unit_test(records_can_be_arrays_in_the_order_of_the_fields),
		cmocka_unit_test(what_does_not_fit_is_rejected_with_its_place),
		cmocka_unit_test(extras_within_extras_are_told_apart),
		cmocka_unit_test(extensions_are_what_the_option_says),
		cmocka_unit_test(unions_take_the_natural_branch_first),
		cmocka_unit_test(unions_within_unions_do_not_take_for_ever),
		cmocka_unit_test(a_bad_record_of_a_stream_does_not_touch_its_neighbours),
		cmocka_unit_test(an_object_over_the_limit_is_rejected_and_the_next_one_read),
		cmocka_unit_test(the_byte_that_is_never_used_ends_a_stream),
		cmocka_unit_test(hostile_lengths_take_no_memory),
		cmocka_unit_test(damage_is_a_record_error_or_another_value),
		cmocka_unit_test(fields_that_nobody_reads_are_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
