/* Canonical keys: order, equality, vectors that must never change, hashes, key groups, key columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/batch.h"
#include "base/error.h"
#include "base/key.h"
#include "base/value.h"
#include "flow_sdk/number.h"

static batch_pool *pool;
static flow_builder *memory;

static int
open_memory(void **state)
{
	(void)state;
	pool = batch_pool_create(0);
	memory = builder_create(pool, 0, 0);
	return memory == NULL;
}

static int
close_memory(void **state)
{
	(void)state;
	builder_destroy(memory);
	batch_pool_destroy(pool);
	return 0;
}

static flow_value
decimal(const char *text)
{
	flow_value value;
	assert_int_equal(flow_parse_decimal(flow_slice_of(text), memory, &value), FLOW_OK);
	return value;
}

static flow_value
text(const char *data)
{
	return flow_string(data, (uint32_t)strlen(data));
}

static flow_slice
key_of(flow_value value)
{
	flow_slice bytes;
	assert_int_equal(key_encode_into(&value, memory, &bytes), FLOW_OK);
	flow_buffer *buffer = buffer_create();
	assert_int_equal(key_encode(&value, buffer), FLOW_OK);
	assert_int_equal(buffer->size, bytes.size);
	assert_memory_equal(buffer->data, bytes.data, bytes.size);
	buffer_destroy(buffer);
	return bytes;
}

static int
compare(flow_slice a, flow_slice b)
{
	uint64_t size = a.size < b.size ? a.size : b.size;
	int order = memcmp(a.data, b.data, size);
	return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static void
assert_hex(flow_value value, const char *expected)
{
	flow_slice key = key_of(value);
	char hex[512] = "";
	for (uint64_t i = 0; i < key.size && i < 250; i++)
		sprintf(hex + 2 * i, "%02x", (unsigned char)key.data[i]);
	assert_string_equal(hex, expected);
}

static flow_value
list_of(const flow_value *items, uint64_t count)
{
	flow_list *list = flow_builder_alloc(memory, sizeof(*list));
	*list = (flow_list){ items, count };
	flow_value value = flow_cell(FLOW_LIST, 0);
	value.as.list = list;
	return value;
}

/* These bytes lie in state directories: a change of one of them loses state. */
static void
the_bytes_of_keys_never_change(void **state)
{
	(void)state;
	assert_hex(flow_null(), "08");
	assert_hex(flow_bool(0), "1000");
	assert_hex(flow_bool(1), "1001");
	assert_hex(flow_int64(0), "208000");
	assert_hex(flow_int64(5), "20810500");
	assert_hex(flow_uint64(5), "20810500");
	assert_hex(flow_int64(256), "2082010000");
	assert_hex(flow_int64(-1), "207ffe00");
	assert_hex(flow_int64(-256), "207efeff00");
	assert_hex(flow_int64(INT64_MAX), "20887fffffffffffffff00");
	assert_hex(flow_int64(INT64_MIN), "20787fffffffffffffff00");
	assert_hex(flow_uint64(UINT64_MAX), "2088ffffffffffffffff00");
	assert_hex(decimal("5.00"), "20810500");
	assert_hex(decimal("1.5"), "2081013300");
	assert_hex(decimal("-1.5"), "207ffd3300");
	assert_hex(decimal("0.001"), "2080010b00");
	assert_hex(decimal("18446744073709551616"), "20f000000014132d442d08260a38111100");
	assert_hex(flow_float64(1.0), "30bff0000000000000");
	assert_hex(flow_float64(-0.0), "308000000000000000");
	assert_hex(flow_float64(NAN), "30fff8000000000000");
	assert_hex(text("UA"), "40554100");
	assert_hex(flow_string("\0\1\2", 3), "4001010102"
										 "0200");
	assert_hex(flow_bytes("", 0), "4100");
	assert_hex(flow_cell(FLOW_DATE, 15706), "50823d5a");
	assert_hex(flow_timestamp(1357034400000000, FLOW_MICROSECONDS, FLOW_ZONED), "528450e2b3a000000000");
	assert_hex(flow_timestamp(1357034400, FLOW_SECONDS, 0), "538450e2b3a000000000");
	assert_hex(flow_text(FLOW_UUID, "0123456789abcdef", 16), "6030313233343536373839616263646566");
	flow_value parts[] = { text("UA"), flow_int64(5), flow_null() };
	assert_hex(flow_record(parts, 3), "7140554100208105000800");
	assert_hex(list_of(parts, 0), "7000");
}

static void
the_hashes_of_keys_never_change(void **state)
{
	(void)state;
	assert_int_equal(key_hash(key_of(flow_int64(5))), UINT64_C(0xE663E471C6B7BC3E));
	assert_int_equal(key_hash(key_of(text("UA"))), UINT64_C(0xF0040EF9AB5900DA));
	assert_int_equal(key_hash(key_of(text("a text that is longer than sixteen bytes"))), UINT64_C(0xC87CABB9BE5442EC));
}

static void
keys_order_as_their_values(void **state)
{
	(void)state;
	flow_value numbers[] = {
		decimal("-1e30"),
		decimal("-18446744073709551616.5"),
		decimal("-18446744073709551616"),
		decimal("-18446744073709551615.5"),
		decimal("-18446744073709551615"),
		flow_int64(INT64_MIN),
		flow_int64(-65536),
		flow_int64(-256),
		flow_int64(-255),
		decimal("-2.5"),
		flow_int64(-2),
		decimal("-1.51"),
		decimal("-1.5"),
		decimal("-1.499"),
		decimal("-1.01"),
		flow_int64(-1),
		decimal("-0.99"),
		decimal("-0.1"),
		decimal("-0.01"),
		decimal("-0.001"),
		flow_int64(0),
		decimal("1e-400"),
		decimal("0.001"),
		decimal("0.01"),
		decimal("0.1"),
		decimal("0.101"),
		decimal("0.11"),
		flow_int64(1),
		decimal("1.01"),
		decimal("1.5"),
		flow_int64(2),
		flow_int64(255),
		flow_int64(256),
		flow_int64(INT64_MAX),
		decimal("9223372036854775807.5"),
		flow_uint64((uint64_t)INT64_MAX + 1),
		flow_uint64(UINT64_MAX),
		decimal("18446744073709551615.5"),
		decimal("18446744073709551616"),
		decimal("1e20"),
		decimal("1e30"),
		decimal("1.1e30"),
		decimal("1e31"),
	};
	for (size_t i = 0; i + 1 < FLOW_COUNT(numbers); i++)
		if (compare(key_of(numbers[i]), key_of(numbers[i + 1])) >= 0)
			fail_msg("number %zu is not below its follower", i);
	double floats[] = { -INFINITY, -1e300, -1, -1e-300, 0, 5e-324, 1, 1e300, INFINITY, NAN };
	for (size_t i = 0; i + 1 < FLOW_COUNT(floats); i++)
		assert_true(compare(key_of(flow_float64(floats[i])), key_of(flow_float64(floats[i + 1]))) < 0);
	flow_value texts[] = { flow_string("", 0),
						   flow_string("\0", 1),
						   flow_string("\0\0", 2),
						   flow_string("\1", 1),
						   flow_string("\1\1", 2),
						   flow_string("\2", 1),
						   text("a"),
						   flow_string("a\0", 2),
						   text("aa"),
						   text("b"),
						   text("\xC3\xA9") };
	for (size_t i = 0; i + 1 < FLOW_COUNT(texts); i++)
		if (compare(key_of(texts[i]), key_of(texts[i + 1])) >= 0)
			fail_msg("text %zu is not below its follower", i);
	flow_value pairs[][2] = { { text("a"), flow_int64(9) },
							  { text("a"), flow_int64(10) },
							  { text("ab"), flow_int64(1) } };
	for (size_t i = 0; i + 1 < FLOW_COUNT(pairs); i++) {
		assert_true(compare(key_of(flow_record(pairs[i], 2)), key_of(flow_record(pairs[i + 1], 2))) < 0);
		assert_true(compare(key_of(list_of(pairs[i], 1)), key_of(list_of(pairs[i], 2))) < 0);
	}
}

static void
equal_keys_have_equal_bytes(void **state)
{
	(void)state;
	assert_int_equal(compare(key_of(decimal("1.50")), key_of(decimal("1.5"))), 0);
	assert_int_equal(compare(key_of(decimal("15e-1")), key_of(decimal("1.5"))), 0);
	assert_int_equal(compare(key_of(decimal("-0.0")), key_of(flow_int64(0))), 0);
	assert_int_equal(compare(key_of(decimal("1e3")), key_of(flow_int64(1000))), 0);
	assert_int_equal(compare(key_of(decimal("-9223372036854775808.00")), key_of(flow_int64(INT64_MIN))), 0);
	assert_int_equal(compare(key_of(flow_float64(NAN)), key_of(flow_float64(-NAN))), 0);
	assert_int_equal(compare(key_of(flow_timestamp(-1500, FLOW_MILLISECONDS, FLOW_ZONED)),
							 key_of(flow_timestamp(-1500000, FLOW_MICROSECONDS, FLOW_ZONED))),
					 0);
	assert_int_not_equal(compare(key_of(text("5")), key_of(flow_int64(5))), 0);
	assert_int_not_equal(compare(key_of(flow_string("a", 1)), key_of(flow_bytes("a", 1))), 0);
}

static void
assert_decodes(flow_value value, flow_value expected)
{
	flow_slice key = key_of(value);
	flow_value out;
	uint64_t used = 0;
	assert_int_equal(key_decode(key, memory, &out, &used), FLOW_OK);
	assert_int_equal(used, key.size);
	if (!value_equal(&out, &expected))
		fail_msg("decoded to type %d", out.type);
	for (uint64_t size = 0; size < key.size; size++) {
		flow_value cut;
		assert_int_equal(key_decode(flow_slice_make(key.data, size), memory, &cut, &used), FLOW_E_CORRUPT);
	}
}

static void
keys_decode_to_their_values_and_cut_ones_are_refused(void **state)
{
	(void)state;
	flow_value same[] = { flow_null(),
						  flow_bool(1),
						  flow_int64(0),
						  flow_int64(-1),
						  flow_int64(INT64_MIN),
						  flow_int64(INT64_MAX),
						  flow_uint64(UINT64_MAX),
						  flow_float64(-1.5),
						  flow_float64(INFINITY),
						  text("caf\xC3\xA9"),
						  flow_string("\0\1\2\377", 4),
						  flow_bytes("\1\1", 2),
						  flow_cell(FLOW_DATE, -1),
						  decimal("1.5"),
						  decimal("-1.5"),
						  decimal("-0.001"),
						  decimal("0.01"),
						  decimal("-18446744073709551616.5"),
						  decimal("12345678901234567890123.456"),
						  decimal("-1e30"),
						  decimal("-10.09"),
						  decimal("-18446744073709551615.5"),
						  flow_timestamp(-1, FLOW_NANOSECONDS, FLOW_ZONED),
						  flow_timestamp(-1, FLOW_MICROSECONDS, 0),
						  flow_timestamp(INT64_MIN, FLOW_SECONDS, 0),
						  flow_text(FLOW_UUID, "0123456789abcdef", 16) };
	for (size_t i = 0; i < FLOW_COUNT(same); i++)
		assert_decodes(same[i], same[i]);
	assert_decodes(flow_uint64(7), flow_int64(7));
	assert_decodes(decimal("7.0"), flow_int64(7));
	assert_decodes(flow_timestamp(1, FLOW_SECONDS, FLOW_ZONED), flow_timestamp(1000000, FLOW_MICROSECONDS, FLOW_ZONED));
	flow_value parts[20];
	for (int i = 0; i < 20; i++)
		parts[i] = i % 2 ? text("x") : flow_int64(i);
	assert_decodes(flow_record(parts, 20), flow_record(parts, 20));
	flow_value nested = list_of(parts, 3);
	assert_decodes(list_of(&nested, 1), list_of(&nested, 1));
}

static void
random_bytes_decode_to_what_encodes_to_them_or_are_refused(void **state)
{
	(void)state;
	uint64_t seed = 88172645463325252u;
	flow_buffer *buffer = buffer_create();
	static const uint8_t likely[] = { 0x00, 0x08, 0x10, 0x20, 0x30, 0x40, 0x70, 0x71,
									  0x7F, 0x80, 0x81, 0x01, 0xF0, 0x10, 0xFE, 0xFF };
	for (int i = 0; i < 200000; i++) {
		char bytes[24];
		for (size_t j = 0; j < sizeof(bytes); j++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			bytes[j] = (char)((seed & 0x300) != 0 ? likely[seed >> 20 & 15] : (uint8_t)(seed >> 32));
		}
		flow_value value;
		uint64_t used;
		if (key_decode(flow_slice_make(bytes, sizeof(bytes)), memory, &value, &used) == FLOW_OK &&
			value.type != FLOW_FLOAT64) {
			buffer_reset(buffer);
			assert_int_equal(key_encode(&value, buffer), FLOW_OK);
			if (buffer->size != used || memcmp(buffer->data, bytes, used) != 0)
				fail_msg("round %d: other bytes than were read", i);
		}
		if (i % 1000 == 0)
			builder_clear(memory);
	}
	buffer_destroy(buffer);
}

static void
a_map_and_endless_nesting_are_refused(void **state)
{
	(void)state;
	flow_value map = flow_cell(FLOW_MAP, 0);
	flow_slice bytes;
	assert_int_equal(key_encode_into(&map, memory, &bytes), FLOW_E_TYPE);
	flow_value nested = flow_int64(1);
	for (int i = 0; i < 100; i++) {
		flow_value *item = flow_builder_cells(memory, 1);
		*item = nested;
		nested = list_of(item, 1);
	}
	assert_int_equal(key_encode_into(&nested, memory, &bytes), FLOW_E_LIMIT);
	char deep[1000];
	memset(deep, 0x70, sizeof(deep));
	uint64_t used;
	assert_int_equal(key_decode(flow_slice_make(deep, sizeof(deep)), memory, &nested, &used), FLOW_E_CORRUPT);
}

static void
the_service_refuses_a_null_key(void **state)
{
	(void)state;
	flow_value null = flow_null(), five = flow_int64(5);
	flow_slice bytes;
	flow_error error = { 0 };
	assert_int_equal(keys_service.encode(&null, memory, &bytes, &error), FLOW_E_NULL_KEY);
	error_clear(&error);
	assert_int_equal(keys_service.encode(&five, memory, &bytes, &error), FLOW_OK);
	assert_int_equal(keys_service.hash(bytes), key_hash(key_of(five)));
}

static void
groups_of_hashes_are_those_of_the_vectors(void **state)
{
	(void)state;
	json_t *list = json_load_file(SOURCE_FOLDER "/tests/unit/base/key_groups.json", 0, NULL);
	assert_true(json_array_size(list) > 10);
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *item = json_array_get(list, i);
		int32_t hash = (int32_t)json_integer_value(json_object_get(item, "hash32"));
		assert_int_equal(key_group_of_hash32(hash, 128), json_integer_value(json_object_get(item, "group_of_128")));
		assert_int_equal(key_group_of_hash32(hash, 720), json_integer_value(json_object_get(item, "group_of_720")));
		assert_int_equal(key_group_of_hash32(hash, 32768), json_integer_value(json_object_get(item, "group_of_32768")));
		assert_int_equal(key_group((uint64_t)7 << 32 | (uint32_t)hash, 128), key_group_of_hash32(hash, 128));
	}
	json_decref(list);
}

static void
check_range(uint32_t task, uint32_t tasks, uint32_t groups, json_int_t first, json_int_t last)
{
	uint32_t a, b;
	key_task_groups(task, tasks, groups, &a, &b);
	assert_int_equal(a, first);
	assert_int_equal(b, last);
	for (uint32_t group = a; group <= b; group++)
		assert_int_equal(key_task(group, tasks, groups), task);
}

static void
ranges_of_tasks_are_those_of_the_vectors(void **state)
{
	(void)state;
	json_t *list = json_load_file(SOURCE_FOLDER "/tests/unit/base/key_ranges.json", 0, NULL);
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *item = json_array_get(list, i), *ranges = json_object_get(item, "ranges");
		uint32_t groups = (uint32_t)json_integer_value(json_object_get(item, "groups"));
		uint32_t tasks = (uint32_t)json_integer_value(json_object_get(item, "tasks"));
		for (uint32_t task = 0; task < tasks; task++) {
			json_t *range = json_array_get(ranges, task);
			check_range(task, tasks, groups,
						json_is_array(ranges) ? json_integer_value(json_array_get(range, 0)) : task,
						json_is_array(ranges) ? json_integer_value(json_array_get(range, 1)) : task);
		}
	}
	json_decref(list);
}

static void
key_columns_are_those_of_the_selected_rows(void **state)
{
	(void)state;
	flow_builder *builder = builder_create(pool, 0, 0);
	builder->ops->add_columns(builder, FLOW_COLUMN_KEY);
	flow_value keys[] = { flow_int64(5), text("UA"), flow_null(), decimal("1.5"), flow_int64(6) };
	for (size_t i = 0; i < FLOW_COUNT(keys); i++)
		builder->key[flow_builder_add(builder, flow_null())] = keys[i];
	batch_head head = { 0 };
	flow_batch *batch = builder_finish(builder, &head);
	static const uint32_t selection[] = { 0, 1, 2, 3 };
	batch->selection = selection;
	batch->selected_count = 4;
	uint64_t *hash;
	flow_slice *bytes;
	assert_int_equal(key_columns(batch, builder, &hash, &bytes), FLOW_OK);
	for (int i = 0; i < 4; i++) {
		if (i == 2)
			continue;
		assert_int_equal(compare(bytes[i], key_of(keys[i])), 0);
		assert_int_equal(hash[i], key_hash(key_of(keys[i])));
	}
	assert_null(bytes[2].data);
	batch_release(batch);
	builder_destroy(builder);
}

/* The way of short texts beside that of all values. */
static void
given_texts_of_any_length_with_bytes_to_escape_then_columns_have_the_bytes_of_the_keys(void **state)
{
	(void)state;
	for (uint32_t size = 0; size <= 70; size++) {
		for (uint32_t place = 0; place <= size; place++) { /* = size: nothing to escape */
			flow_builder *builder = builder_create(pool, 0, 0);
			builder->ops->add_columns(builder, FLOW_COLUMN_KEY);
			char texts[2][80];
			for (int i = 0; i < 2; i++) {
				memset(texts[i], 'a' + i, sizeof(texts[i]));
				texts[i][place] = (char)i;
				builder->key[flow_builder_add(builder, flow_null())] = flow_string(texts[i], size);
			}
			batch_head head = { 0 };
			flow_batch *batch = builder_finish(builder, &head);
			uint64_t *hash;
			flow_slice *bytes;
			assert_int_equal(key_columns(batch, builder, &hash, &bytes), FLOW_OK);
			for (int i = 0; i < 2; i++) {
				flow_slice expected = key_of(flow_string(texts[i], size));
				assert_int_equal(compare(bytes[i], expected), 0);
				assert_int_equal(bytes[i].size, 2 + size + (place < size ? 1 : 0));
				assert_int_equal(hash[i], key_hash(expected));
			}
			batch_release(batch);
			builder_destroy(builder);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bytes_of_keys_never_change),
		cmocka_unit_test(the_hashes_of_keys_never_change),
		cmocka_unit_test(keys_order_as_their_values),
		cmocka_unit_test(equal_keys_have_equal_bytes),
		cmocka_unit_test(keys_decode_to_their_values_and_cut_ones_are_refused),
		cmocka_unit_test(random_bytes_decode_to_what_encodes_to_them_or_are_refused),
		cmocka_unit_test(a_map_and_endless_nesting_are_refused),
		cmocka_unit_test(the_service_refuses_a_null_key),
		cmocka_unit_test(groups_of_hashes_are_those_of_the_vectors),
		cmocka_unit_test(ranges_of_tasks_are_those_of_the_vectors),
		cmocka_unit_test(key_columns_are_those_of_the_selected_rows),
		cmocka_unit_test(given_texts_of_any_length_with_bytes_to_escape_then_columns_have_the_bytes_of_the_keys),
	};
	return cmocka_run_group_tests(tests, open_memory, close_memory);
}
