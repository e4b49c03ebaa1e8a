/*
 * base/ring.h - a bounded ring of pointers between one producer and one consumer, without locks.
 *
 * Threads: ring_push and ring_full by the producer, ring_pop, ring_peek and ring_empty by the consumer (the latter may be
 * asked by anybody, as a hint).
 */
#ifndef BASE_RING_H
#define BASE_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ring {
	/* Producer's line: its own position, and what it last saw of the consumer's. */
	_Alignas(64) _Atomic uint32_t tail;
	uint32_t seen_head;
	/* Consumer's line. */
	_Alignas(64) _Atomic uint32_t head;
	uint32_t seen_tail;
	_Alignas(64) uint32_t mask;
	void **slots;
} ring;

/* `capacity` is rounded up to a power of two. Returns 0 if out of memory. */
int ring_create(ring *r, uint32_t capacity);
void ring_destroy(ring *r); /* what is in it is not released */

static inline int
ring_push(ring *r, void *item)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	if (tail - r->seen_head > r->mask) {
		r->seen_head = atomic_load_explicit(&r->head, memory_order_acquire);
		if (tail - r->seen_head > r->mask)
			return 0;
	}
	r->slots[tail & r->mask] = item;
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return 1;
}

static inline int
ring_full(ring *r)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	if (tail - r->seen_head <= r->mask)
		return 0;
	r->seen_head = atomic_load_explicit(&r->head, memory_order_acquire);
	return tail - r->seen_head > r->mask;
}

/* The next item without taking it; NULL: empty. */
static inline void *
ring_peek(ring *r)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	if (head == r->seen_tail) {
		r->seen_tail = atomic_load_explicit(&r->tail, memory_order_acquire);
		if (head == r->seen_tail)
			return NULL;
	}
	return r->slots[head & r->mask];
}

static inline void *
ring_pop(ring *r)
{
	void *item = ring_peek(r);
	if (item != NULL)
		atomic_store_explicit(&r->head, atomic_load_explicit(&r->head, memory_order_relaxed) + 1, memory_order_release);
	return item;
}

static inline int
ring_empty(ring *r)
{
	return atomic_load_explicit(&r->head, memory_order_relaxed) == atomic_load_explicit(&r->tail, memory_order_acquire);
}

#endif
