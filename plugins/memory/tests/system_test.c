/* The system `memory`: records from options, topics written and read back, positions, bounds, capacity. */
#include <string.h>

#include "base/schema.h"
#include "support/system_fixture.h"

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

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NOWHERE flow_slice_make(NULL, 0)

static void
listed_records_are_dealt_over_partitions_and_end(void **state)
{
	fixture *f = *state;
	fixture_system memory;
	fixture_system_open(f, "memory", NULL, &memory);
	fixture_stream in = fixture_input(&memory, "in", OPTIONS("records=[\"a\", \"b\", \"c\"]", "partitions=2"));
	flow_stream_description description = fixture_describe(&in);
	assert_int_equal(description.bounded, 1);
	assert_int_equal(description.partition_count, 2);
	assert_string_equal(fixture_source_text(fixture_source_open(&in), 0),
						"{\"ordinal\":0,\"value\":\"a\"}\n{\"ordinal\":1,\"value\":\"c\"}\n");
	assert_string_equal(fixture_source_text(fixture_source_open(&in), 1), "{\"ordinal\":0,\"value\":\"b\"}\n");
}

static void
every_partition_ends_once(void **state)
{
	fixture *f = *state;
	fixture_system memory;
	fixture_system_open(f, "memory", NULL, &memory);
	fixture_stream in = fixture_input(&memory, "in", OPTIONS("records=a", "partitions=2"));
	fixture_source *source = fixture_source_open(&in);
	const flow_batch *batch;
	uint32_t partition, ends = 0;
	flow_status status;
	while ((status = fixture_source_read(source, &batch, &partition)) != FLOW_AGAIN) {
		assert_true(status >= 0);
		ends += status == FLOW_END;
	}
	assert_int_equal(ends, 2);
}

static void
reading_goes_on_at_every_position(void **state)
{
	fixture *f = *state;
	fixture_system memory;
	fixture_system_open(f, "memory", NULL, &memory);
	fixture_stream in = fixture_input(&memory, "in", OPTIONS("records=[\"a\", \"b\", \"c\"]"));
	fixture_source *first = fixture_source_open(&in);
	first->batch_rows = 1;
	static const char a_to_c[] = "{\"ordinal\":0,\"value\":\"a\"}\n{\"ordinal\":1,\"value\":\"b\"}\n"
								 "{\"ordinal\":2,\"value\":\"c\"}\n";
	const char *const b_to_c = strchr(a_to_c, '\n') + 1, *const c = strchr(b_to_c, '\n') + 1;
	const char *const rest[] = { a_to_c, b_to_c, c, "" };
	for (int64_t ordinal = -1; ordinal < 3; ordinal++) {
		fixture_source *second = fixture_try_source_open(&in, 0);
		assert_int_equal(fixture_try_assign(second, 0, fixture_position(first, 0, ordinal)), FLOW_OK);
		assert_string_equal(fixture_source_text(second, 0), rest[ordinal + 1]);
	}
	const flow_batch *batch;
	uint32_t partition;
	assert_int_equal(fixture_source_read(first, &batch, &partition), FLOW_OK);
	fixture_source *third = fixture_try_source_open(&in, 0);
	assert_int_equal(fixture_try_assign(third, 0, fixture_position(first, 0, INT64_MAX)), FLOW_OK);
	assert_string_equal(fixture_source_text(third, 0), rest[1]);
	assert_int_equal(fixture_try_assign(third, 0, flow_slice_make("\0\0\0\0\0\0\0\7", 8)), FLOW_E_POSITION_LOST);
	assert_int_equal(fixture_try_assign(third, 0, flow_slice_make("x", 1)), FLOW_E_CORRUPT);
}

/* Rows with key, timestamp and headers. */
static const flow_batch *
full_rows(fixture *f)
{
	static const flow_header header = { { "h", 1 }, { { 0 }, 0, FLOW_NULL, 0, 0, 0 } };
	flow_builder *builder = builder_create(f->pool, 0, 0);
	assert_non_null(builder);
	builder->flags |= FLOW_BATCH_RAW;
	assert_int_equal(builder->ops->add_columns(builder, FLOW_COLUMN_KEY | FLOW_COLUMN_TIMESTAMP | FLOW_COLUMN_HEADERS),
					 FLOW_OK);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t row = flow_builder_add(builder, i == 1 ? flow_null() : flow_bytes("v", i / 2));
		builder->key[row] = i == 2 ? flow_null() : flow_bytes("k", i);
		builder->timestamp[row] = i == 0 ? FLOW_NO_TIMESTAMP : (int64_t)i;
		builder->headers[row] = (flow_headers){ &header, i == 1 };
	}
	batch_head head = { .key_schema = schema_of_kind(FLOW_KIND_BYTES, 1), .input = UINT32_MAX };
	flow_batch *batch = builder_finish(builder, &head);
	assert_non_null(batch);
	builder_destroy(builder);
	return batch;
}

static void
what_is_written_is_read_back_whole(void **state)
{
	fixture *f = *state;
	fixture_system memory;
	fixture_system_open(f, "memory", NULL, &memory);
	fixture_stream out = fixture_output(&memory, "topic", NULL), in = fixture_input(&memory, "topic", NULL);
	const flow_batch *rows = full_rows(f), *batch;
	uint32_t accepted, partition;
	assert_int_equal(fixture_try_write(fixture_writer_open(&out, 0, NULL), rows, &accepted), FLOW_OK);
	assert_int_equal(accepted, 3);
	batch_release(rows);
	in.bounded = 1;
	assert_int_equal(fixture_source_read(fixture_source_open(&in), &batch, &partition), FLOW_OK);
	assert_int_equal(batch->row_count, 3);
	assert_true(batch->flags & FLOW_BATCH_RAW);
	assert_int_equal(batch->value[0].type, FLOW_BYTES); /* empty is not null */
	assert_int_equal(batch->value[0].size, 0);
	assert_true(flow_is_null(batch->value[1]));
	assert_int_equal(batch->key[0].type, FLOW_BYTES);
	assert_int_equal(batch->key[0].size, 0);
	assert_memory_equal(batch->key[1].as.text, "k", 1);
	assert_true(flow_is_null(batch->key[2]));
	assert_true(batch->timestamp[0] == FLOW_NO_TIMESTAMP && batch->timestamp[2] == 2);
	assert_int_equal(batch->headers[0].count, 0);
	assert_int_equal(batch->headers[1].count, 1);
	assert_true(flow_slice_is(batch->headers[1].items[0].name, "h"));
	assert_true(flow_is_null(batch->headers[1].items[0].value));
}

static void
bounded_input_ends_with_what_was_there_at_its_start(void **state)
{
	fixture *f = *state;
	fixture_system memory;
	fixture_system_open(f, "memory", NULL, &memory);
	fixture_stream out = fixture_output(&memory, "topic", NULL), in = fixture_input(&memory, "topic", NULL);
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	fixture_write(writer, "a");
	in.bounded = 1;
	fixture_source *source = fixture_source_open(&in);
	fixture_write(writer, "b");
	const flow_batch *batch;
	uint32_t partition;
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_OK);
	assert_int_equal(batch->row_count, 1);
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_END);
}

static void
unbounded_input_is_woken_and_goes_on(void **state)
{
	fixture *f = *state;
	fixture_system memory;
	fixture_system_open(f, "memory", NULL, &memory);
	fixture_stream out = fixture_output(&memory, "topic", NULL), in = fixture_input(&memory, "topic", NULL);
	fixture_source *source = fixture_source_open(&in);
	assert_string_equal(fixture_source_text(source, 0), "");
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	fixture_write(writer, "a");
	assert_int_equal(source->wakes, 1);
	assert_string_equal(fixture_source_text(source, 0), "{\"ordinal\":0,\"value\":\"a\"}\n");
	fixture_source *newest = fixture_try_source_open(&in, FLOW_START_NEWEST);
	assert_int_equal(fixture_try_assign(newest, 0, NOWHERE), FLOW_OK);
	fixture_source_close(source);
	fixture_write(writer, "b");
	assert_int_equal(source->wakes, 1);
	assert_string_equal(fixture_source_text(newest, 0), "{\"ordinal\":1,\"value\":\"b\"}\n");
}

static void
paused_partition_gives_nothing(void **state)
{
	fixture *f = *state;
	fixture_system memory;
	fixture_system_open(f, "memory", NULL, &memory);
	fixture_stream in = fixture_input(&memory, "in", OPTIONS("records=[\"a\"]"));
	fixture_source *source = fixture_source_open(&in);
	int64_t records, bytes;
	memory.ops->source_remaining(source->source, &records, &bytes);
	assert_int_equal(records, 1);
	memory.ops->source_pause(source->source, 0, 1);
	assert_string_equal(fixture_source_text(source, 0), "");
	memory.ops->source_pause(source->source, 0, 0);
	assert_string_equal(fixture_source_text(source, 0), "{\"ordinal\":0,\"value\":\"a\"}\n");
	memory.ops->source_remaining(source->source, &records, &bytes);
	assert_int_equal(records, 0);
}

static void
topic_over_its_capacity_is_an_error_that_says_what_to_do(void **state)
{
	fixture *f = *state;
	fixture_system memory;
	fixture_system_open(f, "memory", NULL, &memory);
	fixture_stream out = fixture_output(&memory, "small", OPTIONS("capacity=2"));
	const char *const texts[] = { "a", "b", "c" };
	uint32_t accepted;
	assert_int_equal(fixture_try_write(fixture_writer_open(&out, 0, NULL), fixture_raw(f, texts, 3), &accepted),
					 FLOW_E_LIMIT);
	assert_int_equal(accepted, 2);
	assert_non_null(strstr(error_message(&f->error), "the topic small holds 2 records, as many as its capacity"));
}

static void
records_go_to_partitions_by_key_or_in_turn(void **state)
{
	fixture *f = *state;
	fixture_system memory;
	fixture_system_open(f, "memory", NULL, &memory);
	fixture_stream out = fixture_output(&memory, "p", OPTIONS("partitions=2")), in = fixture_input(&memory, "p", NULL);
	const char *const texts[] = { "a", "b", "c" };
	uint32_t accepted;
	fixture_writer *writer = fixture_writer_open(&out, 0, NULL);
	assert_int_equal(fixture_try_write(writer, fixture_raw(f, texts, 3), &accepted), FLOW_OK);
	in.bounded = 1;
	assert_int_equal(fixture_describe(&in).partition_count, 2);
	assert_string_equal(fixture_source_text(fixture_source_open(&in), 1), "{\"ordinal\":0,\"value\":\"b\"}\n");
	const flow_batch *keyed = full_rows(f);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fixture_try_write(writer, keyed, &accepted), FLOW_OK);
	batch_release(keyed);
	uint32_t with_key[2] = { 0, 0 }, partition;
	const flow_batch *batch;
	fixture_source *source = fixture_source_open(&in);
	while (fixture_source_read(source, &batch, &partition) != FLOW_AGAIN)
		for (uint32_t row = 0; batch != NULL && batch->key != NULL && row < batch->row_count; row++)
			with_key[partition] += batch->key[row].type == FLOW_BYTES && batch->key[row].size == 1;
	assert_true(with_key[0] + with_key[1] == 3 && with_key[0] * with_key[1] == 0);
	fixture_stream other = fixture_output(&memory, "p", OPTIONS("partitions=3"));
	assert_null(fixture_try_writer_open(&other, 0, NULL));
	assert_string_equal(error_message(&f->error), "the topic p is there with 2 partitions, not 3");
}

static void
topic_is_made_once_and_used_records_go(void **state)
{
	fixture *f = *state;
	fixture_system memory;
	fixture_system_open(f, "memory", NULL, &memory);
	fixture_stream out = fixture_output(&memory, "made", NULL), in = fixture_input(&memory, "made", NULL);
	flow_options none = { .struct_size = FLOW_SIZEOF(flow_options) };
	flow_stream_request request = { .struct_size = FLOW_SIZEOF(flow_stream_request),
									.direction = FLOW_DIRECTION_OUTPUT,
									.physical_name = flow_slice_of("made"),
									.options = &none };
	assert_int_equal(memory.ops->create_stream(memory.system, &request, 3, &f->error), FLOW_OK);
	assert_int_equal(memory.ops->create_stream(memory.system, &request, 3, &f->error), FLOW_E_EXISTS);
	assert_int_equal(fixture_describe(&in).partition_count, 3);
	const char *const texts[] = { "a", "b", "c", "d" };
	uint32_t accepted;
	assert_int_equal(fixture_try_write(fixture_writer_open(&out, 0, NULL), fixture_raw(f, texts, 4), &accepted),
					 FLOW_OK);
	fixture_source *source = fixture_source_open(&in);
	flow_position position = { FLOW_SIZEOF(flow_position), 0, flow_slice_of("0"), fixture_position(source, 0, 0) };
	const flow_position *positions[] = { &position };
	assert_int_equal(memory.ops->delete_committed(memory.system, &request, positions, 1, &f->error), FLOW_OK);
	const flow_batch *batch;
	uint32_t partition;
	assert_int_equal(memory.ops->source_revoke(source->source, 1, &f->error), FLOW_OK);
	assert_int_equal(memory.ops->source_revoke(source->source, 2, &f->error), FLOW_OK);
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_E_POSITION_LOST);
	assert_string_equal(fixture_source_text(fixture_source_open(&in), 0), "{\"ordinal\":1,\"value\":\"d\"}\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(listed_records_are_dealt_over_partitions_and_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_partition_ends_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reading_goes_on_at_every_position, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_written_is_read_back_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bounded_input_ends_with_what_was_there_at_its_start, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unbounded_input_is_woken_and_goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(paused_partition_gives_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(topic_over_its_capacity_is_an_error_that_says_what_to_do, set_up, tear_down),
		cmocka_unit_test_setup_teardown(records_go_to_partitions_by_key_or_in_turn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(topic_is_made_once_and_used_records_go, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
