/* Arena, errors, buffers: also when memory runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/batch.h"
#include "base/error.h"
#include "base/memory.h"

static void
an_arena_gives_aligned_memory_of_every_size(void **state)
{
	(void)state;
	arena *a = arena_create();
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 4000, 5000, 16384, 100000 };
	char *pieces[FLOW_COUNT(sizes) * 3];
	for (size_t i = 0; i < FLOW_COUNT(pieces); i++) {
		size_t size = sizes[i % FLOW_COUNT(sizes)];
		pieces[i] = arena_allocate(a, size);
		assert_int_equal((uintptr_t)pieces[i] % 16, 0);
		memset(pieces[i], (int)i, size);
	}
	for (size_t i = 0; i < FLOW_COUNT(pieces); i++)
		for (size_t j = 0; j < sizes[i % FLOW_COUNT(sizes)]; j++)
			assert_int_equal(pieces[i][j], (char)i);
	char *zeroed = arena_allocate_zeroed(a, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(zeroed[i], 0);
	assert_string_equal(arena_copy(a, "flights.csv", 7), "flights");
	assert_string_equal(arena_copy_text(a, ""), "");
	assert_string_equal(arena_format(a, "%s:%d", "a.conf", 12), "a.conf:12");
	arena_destroy(a);
	arena_destroy(NULL);
}

static char released[16];

static void
note_release(void *owner)
{
	strcat(released, owner);
}

static void
what_an_arena_owns_is_released_in_reverse_order(void **state)
{
	(void)state;
	released[0] = '\0';
	arena *a = arena_create();
	assert_true(arena_on_destroy(a, note_release, "a"));
	assert_true(arena_on_destroy(a, note_release, "b"));
	arena_destroy(a);
	assert_string_equal(released, "ba");
}

static int
use_arena(void)
{
	arena *a = arena_create();
	int done = a != NULL && arena_allocate(a, 10) != NULL && arena_allocate_zeroed(a, 20000) != NULL &&
			   arena_copy_text(a, "text") != NULL && arena_format(a, "%0*d", 9000, 1) != NULL &&
			   arena_on_destroy(a, note_release, "x");
	arena_destroy(a);
	return done;
}

static void
an_arena_without_memory_fails_and_leaves_nothing(void **state)
{
	(void)state;
	uint64_t n = 1;
	released[0] = '\0';
	for (;; n++) {
		memory_fail_at(n, 0);
		int done = use_arena();
		memory_fail_at(0, 0);
		if (done)
			break;
	}
	assert_int_equal(n, 4); /* the arena, its first chunk, a large piece */
	assert_string_equal(released, "x");
	arena *a = arena_create();
	memory_fail_at(1, 1);
	assert_false(arena_on_destroy(a, note_release, "y"));
	memory_fail_at(0, 0);
	assert_string_equal(released, "xy");
	arena_destroy(a);
}

static void
an_error_keeps_status_text_and_flags(void **state)
{
	(void)state;
	flow_error error = { 0 };
	assert_string_equal(error_message(&error), "");
	assert_int_equal(error_set(&error, FLOW_E_TIMEOUT, "%s: no answer in %d s", "kafka", 5), FLOW_E_TIMEOUT);
	error_prefix(&error, "orders[%d]", 3);
	assert_string_equal(error_message(&error), "orders[3]: kafka: no answer in 5 s");
	assert_int_equal(error.flags, FLOW_ERROR_RETRYABLE);
	error_ops.flag(&error, FLOW_ERROR_POISON);
	error_ops.option(&error, "streams.orders.path");
	assert_string_equal(error.option, "streams.orders.path");
	error_set(&error, FLOW_E_IO, "again: %s", error_message(&error)); /* the argument is the old message */
	assert_string_equal(error_message(&error), "again: orders[3]: kafka: no answer in 5 s");
	assert_int_equal(error.flags, 0);
	flow_error other = { 0 };
	error_move(&other, &error);
	assert_int_equal(error.status, FLOW_OK);
	assert_int_equal(error_ops.status(&other), FLOW_E_IO);
	error_clear(&other);
	assert_int_equal(error_set(NULL, FLOW_E_IO, "nobody reads it"), FLOW_E_IO);
	error_prefix(NULL, "x");
	error_move(NULL, &other);
}

static void
an_error_without_memory_still_says_so(void **state)
{
	(void)state;
	flow_error error = { 0 };
	memory_fail_at(1, 1);
	assert_int_equal(error_set(&error, FLOW_E_IO, "cannot read %s", "a"), FLOW_E_IO);
	error_prefix(&error, "b");
	error_ops.option(&error, "c");
	flow_error *created = error_ops.create();
	memory_fail_at(0, 0);
	assert_null(created);
	assert_string_equal(error_message(&error), "out of memory");
	assert_int_equal(error.status, FLOW_E_IO);
	error_clear(&error);
}

static void
statuses_have_names_texts_and_retryability(void **state)
{
	(void)state;
	assert_string_equal(status_name(FLOW_E_NULL_KEY), "FLOW_E_NULL_KEY");
	assert_string_equal(status_name(FLOW_AGAIN), "FLOW_AGAIN");
	assert_string_equal(status_name(-9999), "unknown status");
	assert_string_equal(status_text(FLOW_E_IO), "input/output error");
	assert_true(status_retryable(FLOW_E_FULL));
	assert_false(status_retryable(FLOW_E_DECODE));
	assert_int_equal(status_of_errno(ENOSPC), FLOW_E_FULL);
	assert_int_equal(status_of_errno(ENOENT), FLOW_E_NOT_FOUND);
	assert_int_equal(status_of_errno(EIO), FLOW_E_IO);
	assert_int_equal(status_of_errno(0), FLOW_OK);
}

static void
a_buffer_grows_and_keeps_its_memory_when_reset(void **state)
{
	(void)state;
	flow_buffer *buffer = buffer_create();
	for (int i = 0; i < 10000; i++)
		assert_int_equal(flow_buffer_append(buffer, &i, sizeof(i)), FLOW_OK);
	for (int i = 0; i < 10000; i++)
		assert_memory_equal(buffer->data + (size_t)i * sizeof(i), &i, sizeof(i));
	uint64_t capacity = buffer->capacity;
	buffer_reset(buffer);
	assert_int_equal(buffer->size, 0);
	assert_int_equal(buffer->capacity, capacity);
	assert_null(flow_buffer_reserve(buffer, UINT64_MAX - 5)); /* more than there can be */
	memory_fail_at(1, 1);
	assert_int_equal(flow_buffer_append(buffer, "x", capacity + 1), FLOW_E_MEMORY);
	assert_null(buffer_create());
	memory_fail_at(0, 0);
	assert_int_equal(buffer->capacity, capacity);
	buffer_destroy(buffer);
	buffer_destroy(NULL);
}

static void
nothing_at_all_fits_into_a_new_buffer(void **state)
{
	(void)state;
	flow_buffer *buffer = buffer_create();
	assert_int_equal(flow_buffer_append(buffer, "", 0), FLOW_OK);
	assert_int_equal(buffer->size, 0);
	buffer_destroy(buffer);
}

static void
the_memory_service_gives_builders_of_no_task(void **state)
{
	(void)state;
	flow_builder *memory = memory_service.open();
	assert_non_null(memory);
	for (int round = 0; round < 3; round++) {
		char *text = flow_builder_alloc(memory, 1000000);
		assert_non_null(text);
		memset(text, round, 1000000);
		memory_service.reset(memory);
	}
	memory_service.close(memory);
	memory_service.close(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_arena_gives_aligned_memory_of_every_size),
		cmocka_unit_test(what_an_arena_owns_is_released_in_reverse_order),
		cmocka_unit_test(an_arena_without_memory_fails_and_leaves_nothing),
		cmocka_unit_test(an_error_keeps_status_text_and_flags),
		cmocka_unit_test(an_error_without_memory_still_says_so),
		cmocka_unit_test(statuses_have_names_texts_and_retryability),
		cmocka_unit_test(a_buffer_grows_and_keeps_its_memory_when_reset),
		cmocka_unit_test(nothing_at_all_fits_into_a_new_buffer),
		cmocka_unit_test(the_memory_service_gives_builders_of_no_task),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
