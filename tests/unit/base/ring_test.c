/* The ring between one producer and one consumer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "base/memory.h"
#include "base/ring.h"

#define ITEMS 300000

static void *
item(uintptr_t number)
{
	return (void *)number;
}

static void
items_come_out_in_order_and_a_full_ring_takes_none(void **state)
{
	(void)state;
	ring r;
	assert_true(ring_create(&r, 3)); /* rounded up to 4 */
	assert_null(ring_pop(&r));
	assert_true(ring_empty(&r));
	for (uintptr_t round = 0; round < 10; round++) {
		for (uintptr_t i = 1; i <= 4; i++)
			assert_true(ring_push(&r, item(round * 4 + i)));
		assert_true(ring_full(&r));
		assert_false(ring_push(&r, item(99)));
		assert_ptr_equal(ring_peek(&r), item(round * 4 + 1));
		for (uintptr_t i = 1; i <= 4; i++)
			assert_ptr_equal(ring_pop(&r), item(round * 4 + i));
		assert_null(ring_pop(&r));
		assert_false(ring_full(&r));
	}
	ring_destroy(&r);
}

static void
positions_may_wrap_around(void **state)
{
	(void)state;
	ring r;
	assert_true(ring_create(&r, 2));
	atomic_store(&r.tail, UINT32_MAX - 1);
	atomic_store(&r.head, UINT32_MAX - 1);
	r.seen_head = r.seen_tail = UINT32_MAX - 1;
	for (uintptr_t i = 1; i <= 6; i++) {
		assert_true(ring_push(&r, item(i)));
		assert_false(ring_empty(&r));
		assert_ptr_equal(ring_pop(&r), item(i));
		assert_true(ring_empty(&r));
	}
	assert_true(ring_push(&r, item(1)) && ring_push(&r, item(2)));
	assert_false(ring_push(&r, item(3)));
	ring_destroy(&r);
}

static void *
produce(void *argument)
{
	ring *r = argument;
	for (uintptr_t i = 1; i <= ITEMS;) {
		if (ring_push(r, item(i)))
			i++;
		else
			sched_yield();
	}
	return NULL;
}

static void
two_threads_hand_over_every_item_once_and_in_order(void **state)
{
	(void)state;
	ring r;
	assert_true(ring_create(&r, 8));
	pthread_t producer;
	assert_int_equal(pthread_create(&producer, NULL, produce, &r), 0);
	uintptr_t wrong = 0;
	for (uintptr_t expected = 1; expected <= ITEMS;) {
		void *got = ring_pop(&r);
		if (got == NULL) {
			sched_yield();
			continue;
		}
		wrong += got != item(expected);
		expected++;
	}
	pthread_join(producer, NULL);
	assert_int_equal(wrong, 0);
	assert_true(ring_empty(&r));
	ring_destroy(&r);
}

static void
a_ring_without_memory_is_refused(void **state)
{
	(void)state;
	ring r;
	memory_fail_at(1, 0);
	assert_false(ring_create(&r, 8));
	memory_fail_at(0, 0);
	ring_destroy(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_come_out_in_order_and_a_full_ring_takes_none),
		cmocka_unit_test(positions_may_wrap_around),
		cmocka_unit_test(two_threads_hand_over_every_item_once_and_in_order),
		cmocka_unit_test(a_ring_without_memory_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
