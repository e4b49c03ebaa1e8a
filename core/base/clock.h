/*
 * base/clock.h - the only clock: real, or virtual in deterministic mode and in tests.
 *
 * Threads: [any]; clock_use_virtual and clock_advance only while one thread runs.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

int64_t clock_now(void);       /* microseconds since the epoch, UTC */
int64_t clock_monotonic(void); /* microseconds, never goes back */

/* From now on both clocks stand at `start` (microseconds since the epoch) and move only by clock_advance. */
void clock_use_virtual(int64_t start);
void clock_use_real(void);
int clock_is_virtual(void);
void clock_advance(int64_t microseconds);

#endif
