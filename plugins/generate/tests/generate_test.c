/* Generated records are a function of seed, number and field, whatever the batches, partitions and restarts. */
#include <string.h>

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

#define FIELDS                                                                                                         \
	"fields={ id = \"sequence\"; i = \"int(-3, 3)\"; f = \"float(0.5,1.5)\"; b = \"bool\"; c = \"choice(red, "         \
	"green,blue)\"; "                                                                                                  \
	"k = \"key(10)\"; s = \"string(12)\"; t = \"timestamp\"; }"

static fixture_stream
input(fixture *f, fixture_system *system, const char *const *options)
{
	fixture_system_open(f, "generate", NULL, system);
	return fixture_input(system, "in", options);
}

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* All rows of all partitions in the order of their numbers (the field id), as JSON lines of the values. */
static const char *
rows_in_order(fixture *f, const char *const *options, uint32_t batch_rows)
{
	fixture_system system;
	fixture_stream in = input(f, &system, options);
	fixture_source *source = fixture_source_open(&in);
	source->batch_rows = batch_rows;
	const char *lines[64] = { NULL }, *text = "";
	const flow_batch *batch;
	uint32_t partition;
	flow_status status;
	while ((status = fixture_source_read(source, &batch, &partition)) != FLOW_AGAIN) {
		assert_true(status >= 0);
		for (uint32_t row = 0; batch != NULL && row < batch->row_count; row++) {
			int64_t id = flow_batch_field(batch, row, 0)->as.int64;
			assert_true(id >= 0 && id < 64 && lines[id] == NULL);
			assert_int_equal(batch->timestamp[row], flow_batch_field(batch, row, 7)->as.int64);
			const flow_value *s = flow_batch_field(batch, row, 6), *k = flow_batch_field(batch, row, 5);
			lines[id] = arena_format(
				f->arena, "%lld %lld %a %lld %.*s %.*s %.*s\n", (long long)id,
				(long long)flow_batch_field(batch, row, 1)->as.int64, flow_batch_field(batch, row, 2)->as.float64,
				(long long)batch->timestamp[row], (int)flow_batch_field(batch, row, 4)->size,
				flow_batch_field(batch, row, 4)->as.text, (int)k->size, k->as.text, (int)s->size, s->as.text);
		}
	}
	for (size_t i = 0; i < 64 && lines[i] != NULL; i++)
		text = arena_format(f->arena, "%s%s", text, lines[i]);
	return text;
}

static void
records_are_equal_over_batches_and_partitions(void **state)
{
	fixture *f = *state;
	const char *expected = rows_in_order(f, OPTIONS(FIELDS, "count=50"), 0);
	assert_int_equal(strspn(expected, "0"), 1);
	assert_non_null(strstr(expected, "\n49 "));
	for (uint32_t rows = 1; rows < 60; rows += 9)
		assert_string_equal(rows_in_order(f, OPTIONS(FIELDS, "count=50", "partitions=1"), rows), expected);
	assert_string_equal(rows_in_order(f, OPTIONS(FIELDS, "count=50", "partitions=7"), 3), expected);
	assert_string_equal(rows_in_order(f, OPTIONS(FIELDS, "count=50", "partitions=64"), 0), expected);
}

static void
seed_changes_the_records(void **state)
{
	fixture *f = *state;
	const char *one = rows_in_order(f, OPTIONS(FIELDS, "count=50", "seed=1"), 0);
	assert_string_equal(one, rows_in_order(f, OPTIONS(FIELDS, "count=50"), 0));
	assert_string_not_equal(one, rows_in_order(f, OPTIONS(FIELDS, "count=50", "seed=2"), 0));
}

static void
values_keep_to_their_ranges_and_use_them(void **state)
{
	fixture *f = *state;
	fixture_system system;
	fixture_stream in = input(f, &system, OPTIONS(FIELDS, "count=1000", "start=2020-01-01T00:00:00Z", "step=1s"));
	fixture_source *source = fixture_source_open(&in);
	const flow_batch *batch;
	uint32_t partition, seen_int = 0, seen_choice = 0;
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_OK);
	for (uint32_t row = 0; row < batch->row_count; row++) {
		const flow_value *cells = batch->value[row].as.record;
		assert_true(cells[1].as.int64 >= -3 && cells[1].as.int64 <= 3);
		seen_int |= 1u << (cells[1].as.int64 + 3);
		assert_true(cells[2].as.float64 >= 0.5 && cells[2].as.float64 < 1.5);
		seen_choice |= flow_slice_is(flow_value_slice(&cells[4]), "red") ? 1 : 0;
		seen_choice |= flow_slice_is(flow_value_slice(&cells[4]), "green") ? 2 : 0;
		seen_choice |= flow_slice_is(flow_value_slice(&cells[4]), "blue") ? 4 : 0;
		assert_int_equal(cells[5].size, 16);
		assert_memory_equal(cells[5].as.text, "key-00000000000", 15);
		assert_int_equal(cells[6].size, 12);
		assert_true(cells[7].as.int64 == INT64_C(1577836800000000) + row * INT64_C(1000000));
	}
	assert_int_equal(seen_int, 0x7f);
	assert_int_equal(seen_choice, 7);
}

static void
reading_goes_on_at_every_position(void **state)
{
	fixture *f = *state;
	fixture_system system;
	fixture_stream in = input(f, &system, OPTIONS("fields.id=sequence", "count=7", "partitions=2"));
	fixture_source *first = fixture_source_open(&in);
	static const char *const rest[] = { "0246", "246", "46", "6", "" };
	for (int64_t ordinal = -1; ordinal < 4; ordinal++) {
		fixture_source *second = fixture_try_source_open(&in, 0);
		assert_int_equal(fixture_try_assign(second, 0, fixture_position(first, 0, ordinal)), FLOW_OK);
		/* The position before any row is where it was resumed, not the start. */
		flow_slice same = fixture_position(second, 0, -1), given = fixture_position(first, 0, ordinal);
		assert_true(flow_slice_equal(same, given));
		const flow_batch *batch;
		uint32_t partition, count = 0;
		char ids[8] = "";
		while (fixture_source_read(second, &batch, &partition) == FLOW_OK)
			for (uint32_t row = 0; row < batch->row_count; row++)
				ids[count++] = (char)('0' + flow_batch_field(batch, row, 0)->as.int64);
		assert_string_equal(ids, rest[ordinal + 1]);
	}
	assert_int_equal(fixture_try_assign(first, 0, flow_slice_make("12", 2)), FLOW_E_CORRUPT);
}

static void
count_bounds_the_stream_and_what_remains_is_known(void **state)
{
	fixture *f = *state;
	fixture_system system;
	fixture_stream in = input(f, &system, OPTIONS("fields.id=sequence", "count=7", "partitions=2"));
	flow_stream_description description = fixture_describe(&in);
	assert_int_equal(description.bounded, 1);
	assert_int_equal(description.partition_count, 2);
	fixture_source *source = fixture_source_open(&in);
	int64_t records, bytes;
	system.ops->source_remaining(source->source, &records, &bytes);
	assert_int_equal(records, 7);
	const flow_batch *batch;
	uint32_t partition;
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_OK);
	system.ops->source_remaining(source->source, &records, &bytes);
	assert_int_equal(records, 7 - batch->row_count);
	in.assignments = OPTIONS("fields.id=sequence");
	assert_int_equal(fixture_describe(&in).bounded, 0);
	source = fixture_source_open(&in);
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_OK);
	assert_int_equal(batch->row_count, FLOW_BATCH_ROWS);
	system.ops->source_remaining(source->source, &records, &bytes);
	assert_int_equal(records, -1);
}

static void
rate_holds_back_what_is_not_due(void **state)
{
	fixture *f = *state;
	fixture_system system;
	fixture_stream in = input(f, &system, OPTIONS("fields.id=sequence", "count=1000", "rate=5"));
	fixture_source *source = fixture_source_open(&in);
	assert_int_equal(source->info.blocking, 1);
	const flow_batch *batch;
	uint32_t partition;
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_OK);
	assert_int_equal(batch->row_count, 1);
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_AGAIN);
}

static const char *const bad_fields[] = {
	"int(3,1)",
	"int(1)",
	"int(1,99999999999999999999)",
	"int(1,2,3)",
	"float(1,inf)",
	"float(-1e308,1e308)",
	"key(0)",
	"key(-1)",
	"key(1000000000001)",
	"string(-1)",
	"string(2000000)",
	"sequence()",
	"nothing",
	"",
	"int(1,2",
	"float(nan,1)",
};

static void
field_that_means_nothing_is_named(void **state)
{
	fixture *f = *state;
	for (size_t i = 0; i < FLOW_COUNT(bad_fields); i++) {
		fixture_system system;
		fixture_stream in =
			input(f, &system, OPTIONS(arena_format(f->arena, "fields={ id = \"%s\"; }", bad_fields[i])));
		flow_stream_description description;
		assert_int_equal(fixture_try_describe(&in, &description), FLOW_E_CONFIG);
		if (strstr(error_message(&f->error), arena_format(f->arena, "field id: \"%s\" is none of", bad_fields[i])) ==
			NULL)
			fail_msg("%s: %s", bad_fields[i], error_message(&f->error));
	}
}

static void
extreme_ranges_work(void **state)
{
	fixture *f = *state;
	fixture_system system;
	fixture_stream in =
		input(f, &system,
			  OPTIONS("fields={ a = \"int(-9223372036854775808,9223372036854775807)\"; b = \"int(5,5)\"; c = "
					  "\"choice()\"; d = \"string(0)\"; }",
					  "count=3"));
	fixture_source *source = fixture_source_open(&in);
	const flow_batch *batch;
	uint32_t partition;
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_OK);
	assert_true(flow_batch_field(batch, 0, 0)->as.int64 != flow_batch_field(batch, 1, 0)->as.int64);
	assert_int_equal(flow_batch_field(batch, 2, 1)->as.int64, 5);
	assert_int_equal(flow_batch_field(batch, 2, 2)->size, 0);
	assert_int_equal(flow_batch_field(batch, 2, 3)->size, 0);
}

static void
event_time_out_of_range_is_an_error_behind_the_rows_before_it(void **state)
{
	fixture *f = *state;
	fixture_system system;
	fixture_stream in = input(f, &system, OPTIONS("fields.t=timestamp", "count=100", "step=2000000d"));
	fixture_source *source = fixture_source_open(&in);
	const flow_batch *batch;
	uint32_t partition;
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_OK);
	assert_int_equal(batch->row_count, 54);
	assert_int_equal(fixture_source_read(source, &batch, &partition), FLOW_E_RANGE);
	assert_string_equal(error_message(&f->error),
						"the event time of record 54 is out of range; take a smaller step, or a count");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_are_equal_over_batches_and_partitions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(seed_changes_the_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(values_keep_to_their_ranges_and_use_them, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reading_goes_on_at_every_position, set_up, tear_down),
		cmocka_unit_test_setup_teardown(count_bounds_the_stream_and_what_remains_is_known, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rate_holds_back_what_is_not_due, set_up, tear_down),
		cmocka_unit_test_setup_teardown(field_that_means_nothing_is_named, set_up, tear_down),
		cmocka_unit_test_setup_teardown(extreme_ranges_work, set_up, tear_down),
		cmocka_unit_test_setup_teardown(event_time_out_of_range_is_an_error_behind_the_rows_before_it, set_up,
										tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
