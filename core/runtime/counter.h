/*
 * runtime/counter.h - numbers that one thread writes and any reads. Private to this room.
 */
#ifndef RUNTIME_COUNTER_H
#define RUNTIME_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t counter;

static inline uint64_t
counter_get(const counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

static inline void
counter_add(counter *c, uint64_t more)
{
	atomic_store_explicit(c, counter_get(c) + more, memory_order_relaxed);
}

#endif
