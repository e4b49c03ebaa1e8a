/* Segments, and folds of them (state/segment.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "state/segment.h"

struct bytes {
	char data[256 * 1024];
	uint64_t size;
};

static void
add(struct bytes *to, const char *key, const char *value)
{
	uint32_t key_size = (uint32_t)strlen(key), value_size = value == NULL ? 0 : (uint32_t)strlen(value);
	char *at =
		segment_put_head(to->data + to->size, value == NULL ? FLOW_STORE_DELETE : FLOW_STORE_PUT, key_size, value_size);
	memcpy(at, key, key_size);
	if (value_size != 0)
		memcpy(at + key_size, value, value_size);
	to->size += SEGMENT_HEAD + key_size + value_size;
}

static flow_slice
slice_of(const struct bytes *bytes)
{
	return flow_slice_make(bytes->data, bytes->size);
}

static struct bytes first, second;

static void
given_two_segments_when_folded_newest_first_then_each_key_has_its_newest_change(void **state)
{
	(void)state;
	first.size = second.size = 0;
	add(&first, "carrier UA", "1");
	add(&first, "carrier AA", "2");
	add(&first, "carrier DL", "3");
	add(&second, "carrier DL", NULL);
	add(&second, "carrier UA", "10");
	fold f = { 0 };
	assert_int_equal(fold_take(&f, slice_of(&second), 0), FLOW_OK);
	assert_int_equal(fold_take(&f, slice_of(&first), 1), FLOW_OK);
	memset(first.data, 'x', first.size); /* it was copied */
	fold_sort(&f);
	assert_int_equal(f.count, 3);
	assert_true(flow_slice_is(f.writes[0].key, "carrier AA") && flow_slice_is(f.writes[0].value, "2"));
	assert_true(flow_slice_is(f.writes[1].key, "carrier DL") && f.writes[1].kind == FLOW_STORE_DELETE);
	assert_true(flow_slice_is(f.writes[2].key, "carrier UA") && flow_slice_is(f.writes[2].value, "10"));
	assert_int_equal(f.bytes, 33);
	fold_clear(&f);
}

static void
given_many_keys_then_none_is_lost_and_none_is_there_twice(void **state)
{
	(void)state;
	char key[32];
	fold f = { 0 };
	for (int round = 0; round < 3; round++) {
		first.size = 0;
		for (int i = 0; i < 5000; i++) {
			snprintf(key, sizeof(key), "key %d", i * (round + 1));
			add(&first, key, "v");
		}
		assert_int_equal(fold_take(&f, slice_of(&first), 1), FLOW_OK);
	}
	/* Multiples of 1, 2 and 3: those of 2 and 3 beyond 5,000 are new. */
	assert_int_equal(f.count, 5000 + 2500 + 3333 - 833);
	fold_sort(&f);
	for (uint64_t i = 1; i < f.count; i++) {
		const flow_slice *a = &f.writes[i - 1].key, *b = &f.writes[i].key;
		int order = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);
		assert_true(order < 0 || (order == 0 && a->size < b->size));
	}
	fold_clear(&f);
}

static void
given_a_segment_when_cut_at_any_size_then_pieces_end_between_writes(void **state)
{
	(void)state;
	first.size = 0;
	for (int i = 0; i < 20; i++)
		add(&first, "a key", "a value of some length" + i);
	for (uint64_t limit = 1; limit <= first.size; limit++) {
		flow_slice rest = slice_of(&first);
		int count = 0;
		while (rest.size != 0) {
			flow_slice piece = segment_cut(&rest, limit);
			flow_store_write write;
			int writes = 0;
			uint64_t size = piece.size;
			while (segment_next(&piece, &write) > 0)
				writes++;
			assert_int_equal(piece.size, 0);
			assert_true(writes == 1 || size <= limit);
			count += writes;
		}
		assert_int_equal(count, 20);
	}
}

static void
given_damaged_bytes_then_reading_ends_within_them(void **state)
{
	(void)state;
	first.size = 0;
	add(&first, "carrier", "UA");
	flow_store_write write;
	for (uint64_t size = 1; size < first.size; size++) {
		flow_slice rest = flow_slice_make(first.data, size);
		assert_int_equal(segment_next(&rest, &write), -1);
	}
	for (uint64_t i = 0; i < SEGMENT_HEAD; i++) {
		first.data[i] ^= (char)0xff;
		fold f = { 0 };
		assert_int_equal(fold_take(&f, slice_of(&first), 1), FLOW_E_CORRUPT);
		fold_clear(&f);
		first.data[i] ^= (char)0xff;
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_two_segments_when_folded_newest_first_then_each_key_has_its_newest_change),
		cmocka_unit_test(given_many_keys_then_none_is_lost_and_none_is_there_twice),
		cmocka_unit_test(given_a_segment_when_cut_at_any_size_then_pieces_end_between_writes),
		cmocka_unit_test(given_damaged_bytes_then_reading_ends_within_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
