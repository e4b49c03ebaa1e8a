/*
 * runtime/fence.h - the full barrier between "I published" and "is the other side asleep", and a short pause of a spinning core.
 *
 * Threads: [any].
 */
#ifndef RUNTIME_FENCE_H
#define RUNTIME_FENCE_H

#include <stdatomic.h>

/* ThreadSanitizer does not know fences; a read-modify-write has the same effect on every machine flowd runs on. */
static inline void
full_fence(void)
{
#if defined(__SANITIZE_THREAD__)
	static atomic_int ordered;
	atomic_fetch_add(&ordered, 1);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

static inline void
spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
