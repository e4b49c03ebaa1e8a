/*
 * support/fake_store.h - a store component in memory for tests: what was written outlives close, so a test plays
 * restarts; writes can be made to fail, and looking up can be counted.
 *
 * Threads: the test's.
 */
#ifndef SUPPORT_FAKE_STORE_H
#define SUPPORT_FAKE_STORE_H

#include "flow/component.h"
#include "flow/store.h"

extern const flow_component fake_store_component;

/* Forgets all folders; call it at the end of a test too. */
void fake_store_reset(void);
/* The next write fails: with nothing written (0), or all of it (1), as after a failure nobody knows. */
void fake_store_fail_write(int written);
uint64_t fake_store_lookups(void); /* keys asked for so far */
uint64_t fake_store_pairs(uint32_t space);
void fake_store_damage(uint32_t space); /* the last byte of each value is gone */

#endif
