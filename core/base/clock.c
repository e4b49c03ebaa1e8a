#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

static atomic_int is_virtual;
static atomic_int_fast64_t virtual_now;

static int64_t
read_clock(clockid_t id)
{
	struct timespec now;
	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t
clock_now(void)
{
	if (atomic_load_explicit(&is_virtual, memory_order_relaxed))
		return atomic_load_explicit(&virtual_now, memory_order_relaxed);
	return read_clock(CLOCK_REALTIME);
}

int64_t
clock_monotonic(void)
{
	if (atomic_load_explicit(&is_virtual, memory_order_relaxed))
		return atomic_load_explicit(&virtual_now, memory_order_relaxed);
	return read_clock(CLOCK_MONOTONIC);
}

void
clock_use_virtual(int64_t start)
{
	atomic_store(&virtual_now, start);
	atomic_store(&is_virtual, 1);
}

void
clock_use_real(void)
{
	atomic_store(&is_virtual, 0);
}

int
clock_is_virtual(void)
{
	return atomic_load(&is_virtual);
}

void
clock_advance(int64_t microseconds)
{
	atomic_fetch_add(&virtual_now, microseconds);
}
