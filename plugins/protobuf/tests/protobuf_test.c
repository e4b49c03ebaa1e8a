/* protobuf: what comes back, what the wire may hold, presence and defaults, what is refused, framing, damage. */
#include <string.h>

#include "base/error.h"
#include "base/schema.h"
#include "support/serde_trials.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define BYTES(text) text, sizeof(text) - 1
#define SET "descriptor_set=\"" SOURCE_FOLDER "/plugins/protobuf/tests/types.desc\""

static void
open_message(fixture *f, const char *message, const char *first, const char *second, fixture_serde *serde)
{
	fixture_serde_open(f, "protobuf", OPTIONS(SET, arena_format(f->arena, "message=%s", message), first, second),
					   serde);
}

/* As one record, and as a stream in which it stands twice. */
static void
check_rows(const char *message, const char *option, const char *bytes, uint64_t size, const char *expected)
{
	fixture *f = fixture_create();
	fixture_serde serde;
	open_message(f, message, option, NULL, &serde);
	flow_slice record = flow_slice_make(bytes, size);
	fixture_rows *rows = fixture_decode_records(&serde, &record, 1);
	if (rows->rejection_count != 0)
		fail_msg("rejected: %s", rows->rejections[0].reason);
	assert_string_equal(fixture_rows_text(rows), expected);
	char stream[512];
	assert_true(size < 127);
	for (int i = 0; i < 2; i++) {
		stream[(uint64_t)i * (size + 1)] = (char)size;
		if (size != 0)
			memcpy(stream + (uint64_t)i * (size + 1) + 1, bytes, size);
	}
	for (uint64_t window = 0; window < 9; window++) {
		fixture_decoding how = { .window_bytes = window, .restore_each = 1 };
		rows = fixture_decode_with(&serde, stream, 2 * (size + 1), &how);
		assert_int_equal(rows->row_count, 2);
		assert_string_equal(fixture_rows_text(rows), arena_format(f->arena, "%s%s", expected, expected));
	}
	fixture_destroy(f);
}

static void
check_rejected(const char *message, const char *option, const char *bytes, uint64_t size, flow_status status,
			   const char *field, const char *reason)
{
	fixture *f = fixture_create();
	fixture_serde serde;
	open_message(f, message, option, NULL, &serde);
	flow_slice record = flow_slice_make(bytes, size);
	fixture_rows *rows = fixture_decode_records(&serde, &record, 1);
	if (rows->rejection_count != 1)
		fail_msg("%s: not rejected", reason);
	assert_int_equal(rows->rejections[0].status, status);
	assert_string_equal(rows->rejections[0].field, field);
	if (strstr(rows->rejections[0].reason, reason) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", rows->rejections[0].reason, reason);
	fixture_destroy(f);
}

static void
every_value_comes_back(void **state)
{
	(void)state;
	static const char *const messages[] = { "flow.test.Plain", "flow.test.Six" };
	fixture *f = fixture_create();
	for (size_t i = 0; i < FLOW_COUNT(messages); i++) {
		fixture_serde serde;
		open_message(f, messages[i], NULL, NULL, &serde);
		trial_round_trip(&serde, fixture_decoded_schema(&serde, NULL, 0), 200, i);
	}
	/* The fields of All that one record can have together. */
	fixture_serde serde;
	open_message(f, "flow.test.All", "timestamps=s", NULL, &serde);
	const flow_schema *wide = fixture_schema(f, "record(d:float64,f:float32,i32:int32,i64:int64,u64:uint64,s32:int32,"
												"s64:int64,f64:uint64,sf32:int32,sf64:int64,b:bool,"
												"s:string,y:bytes,color:enum(RED,GREEN,LOW,HIGH),at:timestamp(s)?,"
												"maybe:uint64?,note:string?,shade:enum(RED,GREEN,LOW,HIGH)?,"
												"numbers:list<int32>,words:list<string>,colors:list<enum(RED,LOW)>,"
												"times:list<timestamp(s)>,prices:map<float64>,whole:int32?,"
												"unpacked:list<float64>)");
	flow_batch *batch = trial_rows(f, wide, 200, 9);
	fixture_bytes *bytes = fixture_encode(&serde, batch, 0);
	fixture_rows *rows = fixture_decode(&serde, bytes->data, bytes->size, 0);
	assert_int_equal(rows->row_count, 200);
	uint32_t at = 0;
	for (size_t i = 0; i < rows->batch_count; i++)
		for (uint32_t row = 0; row < rows->batches[i]->row_count; row++, at++)
			for (uint32_t k = 0; k < wide->field_count; k++) {
				int32_t field = flow_schema_find(rows->schema, wide->fields[k]->name);
				if (!trial_values_equal(&batch->value[at].as.record[k],
										flow_batch_field(rows->batches[i], row, (uint32_t)field)))
					fail_msg("row %u: field %.*s came back as something else", at, (int)wide->fields[k]->name.size,
							 wide->fields[k]->name.data);
			}
	fixture_destroy(f);
}

static void
what_is_not_there_is_null_or_its_default(void **state)
{
	(void)state;
	check_rows("flow.test.Plain", NULL, "", 0, "{\"id\":0,\"name\":\"\",\"count\":null,\"items\":[]}\n");
	check_rows("flow.test.Plain", NULL, BYTES("\x18\x00"), "{\"id\":0,\"name\":\"\",\"count\":0,\"items\":[]}\n");
	check_rows("flow.test.Plain", "absent=default", "", 0, "{\"id\":0,\"name\":\"\",\"count\":0,\"items\":[]}\n");
	check_rows("flow.test.old.Old", NULL, BYTES("\x08\x05"),
			   "{\"id\":5,\"name\":null,\"count\":null,\"size\":null,\"sizes\":[],\"part\":null,\"next\":null,"
			   "\"packed\":[]}\n");
	check_rows("flow.test.old.Old", "absent=default", BYTES("\x08\x05"),
			   "{\"id\":5,\"name\":\"nobody\",\"count\":-7,\"size\":\"LARGE\",\"sizes\":[],\"part\":null,\"next\":null,"
			   "\"packed\":[]}\n");
	check_rows(
		"flow.test.old.Old", NULL, BYTES("\x08\x05\x33\x0A\x01x\x34\x3A\x02\x08\x06\x42\x02\x01\x02\x40\x03"),
		"{\"id\":5,\"name\":null,\"count\":null,\"size\":null,\"sizes\":[],\"part\":{\"data\":\"x\"},\"next\":{\"id\":"
		"6,\"name\":null,"
		"\"count\":null,\"size\":null,\"sizes\":[],\"part\":null,\"next\":null,\"packed\":[]},\"packed\":[1,2,3]}\n");
	check_rejected("flow.test.old.Old", NULL, "", 0, FLOW_E_DECODE, "", "required are not there: id");
	check_rejected("flow.test.old.Old", NULL, BYTES("\x08\x05\x3A\x00"), FLOW_E_DECODE, "", "next.id");
	check_rows("flow.test.Empty", NULL, "", 0, "{}\n");
}

static void
the_last_value_counts_where_the_format_says_so(void **state)
{
	(void)state;
	check_rows("flow.test.Plain", NULL, BYTES("\x08\x01\x08\x02\x22\x02\x01\x02\x20\x03"),
			   "{\"id\":2,\"name\":\"\",\"count\":null,\"items\":[1,2,3]}\n");
	fixture *f = fixture_create();
	fixture_serde serde;
	open_message(f, "flow.test.All", NULL, NULL, &serde);
	/* by_number {-1: a, 5: b, -1: c}; then two fields of one oneof */
	flow_slice record = flow_slice_make("\xDA\x01\x0E\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x12\x01"
										"a\xDA\x01\x05\x08\x05\x12\x01"
										"b\xDA\x01\x0E\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x12\x01"
										"c\xF8\x01\x07\x82\x02\x01t",
										49);
	fixture_rows *rows = fixture_decode_records(&serde, &record, 1);
	assert_int_equal(rows->row_count, 1);
	const char *text = fixture_rows_text(rows);
	assert_non_null(strstr(text, "\"by_number\":{\"-1\":\"c\",\"5\":\"b\"}"));
	assert_non_null(strstr(text, "\"whole\":null,\"text\":\"t\",\"part\":null"));
	fixture_destroy(f);
}

static void
numbers_that_an_enum_does_not_have(void **state)
{
	(void)state;
	check_rejected("flow.test.All", NULL, BYTES("\x80\x01\x05"), FLOW_E_RANGE, "color", "no symbol for 5");
	check_rejected("flow.test.All", NULL, BYTES("\xC2\x01\x02\x01\x05"), FLOW_E_RANGE, "/colors/1", "no symbol for 5");
	fixture *f = fixture_create();
	fixture_serde serde;
	open_message(f, "flow.test.All", "enums=number", NULL, &serde);
	flow_slice record = flow_slice_make("\x80\x01\x05", 3);
	fixture_rows *rows = fixture_decode_records(&serde, &record, 1);
	assert_non_null(strstr(fixture_rows_text(rows), "\"color\":5,"));
	fixture_bytes *bytes = fixture_encode(&serde, rows->batches[0], 1);
	assert_int_equal(bytes->size, 3);
	assert_memory_equal(bytes->data, record.data, 3);
	fixture_destroy(f);
	/* In proto2 they are like unknown fields. */
	check_rejected("flow.test.old.Old", "unknown=error", BYTES("\x08\x05\x20\x02"), FLOW_E_DECODE, "", "does not have");
	check_rejected("flow.test.old.Old", "unknown=error", BYTES("\x08\x05\xA0\x06\x02"), FLOW_E_DECODE, "",
				   "does not have");
	check_rejected("flow.test.Plain", "unknown=error", BYTES("\x28\x05"), FLOW_E_DECODE, "", "does not have");
	check_rejected("flow.test.Inner", "unknown=error", BYTES("\x1A\x02\x28\x05"), FLOW_E_DECODE, "next",
				   "does not have");
	check_rows("flow.test.Plain", NULL, BYTES("\x28\x05\x08\x07"),
			   "{\"id\":7,\"name\":\"\",\"count\":null,\"items\":[]}\n");
}

static void
timestamps_have_the_unit_of_the_option(void **state)
{
	(void)state;
	static const char *const units[][2] = { { "timestamps=ns", "\"at\":\"1969-12-31T23:59:59.999999999Z\"" },
											{ "timestamps=record", "\"at\":{\"seconds\":-1,\"nanos\":999999999}" } };
	static const char at[] = "\x92\x01\x11\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x10\xFF\x93\xEB\xDC\x03";
	fixture *f = fixture_create();
	for (size_t i = 0; i < FLOW_COUNT(units); i++) {
		fixture_serde serde;
		open_message(f, "flow.test.All", units[i][0], NULL, &serde);
		flow_slice record = flow_slice_make(at, sizeof(at) - 1);
		fixture_rows *rows = fixture_decode_records(&serde, &record, 1);
		if (rows->row_count != 1 || strstr(fixture_rows_text(rows), units[i][1]) == NULL)
			fail_msg("%s: %s", units[i][0], fixture_rows_text(rows));
		fixture_bytes *bytes = fixture_encode(&serde, rows->batches[0], 1);
		assert_int_equal(bytes->size, sizeof(at) - 1);
		assert_memory_equal(bytes->data, at, bytes->size);
	}
	fixture_destroy(f);
	check_rejected("flow.test.All", "timestamps=us", at, sizeof(at) - 1, FLOW_E_RANGE, "at", "does not hold exactly");
	check_rejected("flow.test.All", NULL, BYTES("\x92\x01\x06\x08\x80\xF0\x94\x9E\x26"), FLOW_E_RANGE, "at",
				   "does not hold exactly");
	check_rejected("flow.test.All", NULL, BYTES("\x92\x01\x06\x10\x80\x94\xEB\xDC\x03"), FLOW_E_DECODE, "at",
				   "1000000000 nanoseconds");
}

static void
bytes_that_are_no_message_are_rejected(void **state)
{
	(void)state;
	check_rejected("flow.test.Plain", NULL, BYTES("\x08"), FLOW_E_DECODE, "", "no flow.test.Plain");
	check_rejected("flow.test.Plain", NULL, BYTES("\x0F\x01"), FLOW_E_DECODE, "", "no flow.test.Plain");
	check_rejected("flow.test.Plain", NULL, BYTES("\x12\xFF\xFF\xFF\xFF\x07x"), FLOW_E_DECODE, "",
				   "no flow.test.Plain");
	check_rejected("flow.test.Plain", NULL, BYTES("\x12\x01\xFF"), FLOW_E_DECODE, "",
				   "no flow.test.Plain"); /* UTF-8, which proto3 checks */
	check_rejected("flow.test.old.Old", NULL, BYTES("\x08\x05\x12\x01\xFF"), FLOW_E_DECODE, "name", "not UTF-8");
	check_rejected("flow.test.Inner", "depth_limit=2", BYTES("\x1A\x04\x1A\x02\x1A\x00"), FLOW_E_DECODE, "",
				   "depth_limit (2)");
}

static void
what_a_message_cannot_hold_fails_its_record(void **state)
{
	(void)state;
	static const char *const cases[][4] = {
		{ "flow.test.Plain", "record(count:int64)", "{\"count\":2147483648}", "count: a number that does not fit" },
		{ "flow.test.All", "record(u32:int64)", "{\"u32\":-1}", "u32: a number that does not fit" },
		{ "flow.test.All", "record(u32:int64)", "{\"u32\":4294967296}", "u32: a number that does not fit" },
		{ "flow.test.All", "record(f:float64)", "{\"f\":0.1}", "f: a number that a float of 32 bits" },
		{ "flow.test.All", "record(color:string)", "{\"color\":\"BLUE\"}", "color: a text that is no symbol" },
		{ "flow.test.All", "record(numbers:list<int32?>)", "{\"numbers\":[1,null]}",
		  "numbers: null in a repeated field" },
		{ "flow.test.All", "record(prices:map<float64?>)", "{\"prices\":{\"a\":null}}", "prices: null in a map" },
		{ "flow.test.All", "record(by_number:map<string>)", "{\"by_number\":{\"x\":\"a\"}}",
		  "by_number: a key that is no integer" },
		{ "flow.test.All", "record(by_truth:map<string>)", "{\"by_truth\":{\"x\":\"RED\"}}",
		  "by_truth: a key that is neither" },
		{ "flow.test.All", "record(by_unsigned:map<record(name:string)>)",
		  "{\"by_unsigned\":{\"-1\":{\"name\":\"a\"}}}", "by_unsigned: a number that" },
		{ "flow.test.All", "record(whole:int32?,text:string?)", "{\"whole\":1,\"text\":\"a\"}",
		  "text: a second field of a oneof" },
		{ "flow.test.Plain", "record(id:int64?)", "{\"id\":null}", "id: null in a field that is never absent" },
		{ "flow.test.old.Old", "record(id:int64?)", "{\"id\":null}", "id: null in a field that is required" },
		{ "flow.test.old.Old", "record(id:int64,size:int32)", "{\"id\":1,\"size\":2}",
		  "size: a number that is none of an enum" },
	};
	fixture *f = fixture_create();
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		fixture_serde serde;
		open_message(f, cases[i][0], NULL, NULL, &serde);
		flow_batch *batch =
			fixture_batch(f, fixture_schema(f, cases[i][1]), arena_format(f->arena, "%s\n", cases[i][2]));
		flow_encoder *encoder = NULL;
		flow_status status = FLOW_OK;
		uint64_t end = 9;
		flow_buffer *buffer = buffer_create();
		assert_int_equal(serde.ops->encoder_open(serde.serde, batch->schema, &encoder, &f->error), FLOW_OK);
		assert_int_equal(serde.ops->encode(encoder, batch, 0, buffer, &end, &status, &f->error), FLOW_OK);
		if (status == FLOW_OK || strstr(error_message(&f->error), cases[i][3]) == NULL)
			fail_msg("%s: %d: %s", cases[i][2], status, error_message(&f->error));
		assert_int_equal(end, 0);
		assert_int_equal(buffer->size, 0);
		serde.ops->encoder_close(encoder);
		buffer_destroy(buffer);
	}
	fixture_serde serde;
	open_message(f, "flow.test.Plain", "nulls=default", NULL, &serde);
	fixture_bytes *bytes = fixture_encode(
		&serde,
		fixture_batch(f, fixture_schema(f, "record(id:int64?,items:list<int64>?)"), "{\"id\":null,\"items\":null}\n"),
		0);
	assert_int_equal(bytes->size, 1); /* a message of no bytes */
	fixture_destroy(f);
}

static void
types_that_a_message_does_not_take_are_refused_by_the_plan(void **state)
{
	(void)state;
	static const char *const cases[][3] = {
		{ "flow.test.Plain", "record(x:int64)", "field 'x' of flow.test.Plain: the message has no such field" },
		{ "flow.test.Plain", "record(id:string)",
		  "field 'id' of flow.test.Plain: values of type string cannot be written as int64" },
		{ "flow.test.Plain", "record(items:int64)", "it is repeated" },
		{ "flow.test.All", "record(prices:list<float64>)", "it takes maps" },
		{ "flow.test.All", "record(inner:record(x:int64))", "field 'x' of flow.test.Inner" },
		{ "flow.test.All", "record(s:decimal(9,2))", "protobuf has no type for decimal(9,2)" },
		{ "flow.test.All", "record(i64:date)", "protobuf has no type for date" },
		{ "flow.test.All", "record(at:local_timestamp)", "protobuf has no type for local_timestamp" },
		{ "flow.test.All", "record(s:any)", "values of type any" },
		{ "flow.test.old.Old", "record(name:string)", "field 'id' of flow.test.old.Old: it is required" },
		{ "flow.test.Plain", "int64", "written from records" },
	};
	fixture *f = fixture_create();
	fixture_serde serde;
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		open_message(f, cases[i][0], NULL, NULL, &serde);
		assert_int_equal(serde.ops->check_encodable(serde.serde, fixture_schema(f, cases[i][1]), &f->error),
						 FLOW_E_TYPE);
		if (strstr(error_message(&f->error), cases[i][2]) == NULL)
			fail_msg("%s: %s", cases[i][1], error_message(&f->error));
	}
	open_message(f, "flow.test.All", "without_type=string", NULL, &serde);
	flow_batch *batch = fixture_batch(f, fixture_schema(f, "record(s:decimal(9,2),words:list<date>)"),
									  "{\"s\":\"1.50\",\"words\":[\"2024-01-01\"]}\n");
	fixture_bytes *bytes = fixture_encode(&serde, batch, 1);
	assert_int_equal(bytes->size, 6 + 13);
	assert_memory_equal(bytes->data,
						"\x72\x04"
						"1.50\xBA\x01\x0A"
						"2024-01-01",
						bytes->size);
	open_message(f, "flow.test.All", "without_type=null", NULL, &serde);
	bytes = fixture_encode(&serde,
						   fixture_batch(f, fixture_schema(f, "record(note:uuid,i64:int64)"),
										 "{\"note\":\"123e4567-e89b-12d3-a456-426614174000\",\"i64\":1}\n"),
						   1);
	assert_int_equal(bytes->size, 2);
	fixture_destroy(f);
}

static void
what_is_wrong_with_a_descriptor_is_told_by_the_plan(void **state)
{
	(void)state;
	static const char *const cases[][3] = {
		{ SET, "message=flow.test.Nothing",
		  "has no message 'flow.test.Nothing'; it has: google.protobuf.Timestamp flow.test.Inner" },
		{ "descriptor_set=/nowhere/x.desc", "message=a", "/nowhere/x.desc: cannot be read" },
		{ "descriptor_set=\"" SOURCE_FOLDER "/plugins/protobuf/tests/types.proto\"", "message=a",
		  "no FileDescriptorSet" },
	};
	fixture *f = fixture_create();
	fixture_serde serde;
	for (size_t i = 0; i < FLOW_COUNT(cases); i++) {
		assert_int_equal(fixture_try_serde_open(f, "protobuf", OPTIONS(cases[i][0], cases[i][1]), &serde),
						 FLOW_E_CONFIG);
		if (strstr(error_message(&f->error), cases[i][2]) == NULL)
			fail_msg("%s", error_message(&f->error));
	}
	fixture_destroy(f);
}

static void
a_bad_message_of_a_stream_does_not_touch_its_neighbours(void **state)
{
	(void)state;
	static const char stream[] = "\x02\x08\x01\x01\x08\x02\x08\x02\x14\x12\x12"
								 "0123456789abcdefgh\x00\x02\x08\x03";
	fixture *f = fixture_create();
	fixture_serde serde;
	open_message(f, "flow.test.Plain", "max_record=16", NULL, &serde);
	for (uint64_t window = 0; window < 12; window++) {
		fixture_decoding how = { .window_bytes = window, .restore_each = 1 };
		fixture_rows *rows = fixture_decode_with(&serde, stream, sizeof(stream) - 1, &how);
		assert_int_equal(rows->status, FLOW_OK);
		assert_int_equal(rows->row_count, 4);
		assert_int_equal(rows->rejection_count, 2);
		assert_int_equal(rows->rejections[0].ordinal, 3);
		assert_int_equal(rows->rejections[0].raw_size, 1);
		assert_int_equal(rows->rejections[1].status, FLOW_E_LIMIT);
		assert_int_equal(rows->rejections[1].ordinal, 8);
	}
	/* What is no length ends the stream; one that is not all there is a record error. */
	fixture_rows *rows = fixture_decode(&serde, BYTES("\x00\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"), 0);
	assert_int_equal(rows->status, FLOW_E_DECODE);
	assert_non_null(strstr(error_message(&f->error), "offset 1"));
	rows = fixture_decode(&serde, BYTES("\x00\x05\x08"), 1);
	assert_int_equal(rows->row_count, 1);
	assert_string_equal(rows->rejections[0].reason, "the stream ends within a message");
	fixture_destroy(f);
}

static void
damage_is_a_record_error_or_another_value(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde;
	open_message(f, "flow.test.All", NULL, NULL, &serde);
	const char *row =
		"{\"d\":0.5,\"i32\":-1,\"u64\":5,\"s\":\"\xC3\xA9\",\"color\":\"GREEN\",\"inner\":{\"name\":\"a\",\"count\":7},"
		"\"at\":\"2024-01-01T00:00:00Z\",\"numbers\":[1,300],\"prices\":{\"k\":1.5}}\n";
	const flow_schema *schema = fixture_schema(
		f, "record(d:float64,i32:int32,u64:uint64,s:string,color:string,inner:record(name:string,count:int64),"
		   "at:timestamp,numbers:list<int32>,prices:map<float64>)");
	flow_batch *batch = fixture_batch(f, schema, row);
	for (int as_record = 0; as_record < 2; as_record++) {
		fixture_bytes *bytes = fixture_encode(&serde, batch, as_record);
		trial_damage(&serde, bytes->data, bytes->size, as_record);
	}
	fixture_destroy(f);
}

static void
fields_that_nobody_reads_are_left_out(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde;
	open_message(f, "flow.test.Plain", NULL, NULL, &serde);
	static const uint32_t second[] = { 1 };
	fixture_decoding how = { .fields = second, .field_count = 1 };
	fixture_rows *rows = fixture_decode_with(&serde, BYTES("\x05\x08\x01\x12\x01x"), &how);
	assert_int_equal(flow_batch_field(rows->batches[0], 0, 0)->type, FLOW_NULL);
	assert_int_equal(flow_batch_field(rows->batches[0], 0, 1)->size, 1);
	fixture_destroy(f);
}

static void
each_allocation_that_fails_is_an_error(void **state)
{
	(void)state;
	for (int as_records = 0; as_records < 2; as_records++)
		trial_memory("protobuf", OPTIONS(SET, "message=flow.test.All"),
					 "record(s:string,numbers:list<int32>,prices:map<float64>,inner:record(name:string))",
					 "{\"s\":\"x\",\"numbers\":[1,2],\"prices\":{\"a\":1.5},\"inner\":{\"name\":\"b\"}}\n", as_records);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_comes_back),
		cmocka_unit_test(what_is_not_there_is_null_or_its_default),
		cmocka_unit_test(the_last_value_counts_where_the_format_says_so),
		cmocka_unit_test(numbers_that_an_enum_does_not_have),
		cmocka_unit_test(timestamps_have_the_unit_of_the_option),
		cmocka_unit_test(bytes_that_are_no_message_are_rejected),
		cmocka_unit_test(what_a_message_cannot_hold_fails_its_record),
		cmocka_unit_test(types_that_a_message_does_not_take_are_refused_by_the_plan),
		cmocka_unit_test(what_is_wrong_with_a_descriptor_is_told_by_the_plan),
		cmocka_unit_test(a_bad_message_of_a_stream_does_not_touch_its_neighbours),
		cmocka_unit_test(damage_is_a_record_error_or_another_value),
		cmocka_unit_test(fields_that_nobody_reads_are_left_out),
		cmocka_unit_test(each_allocation_that_fails_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
