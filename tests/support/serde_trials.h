/*
 * support/serde_trials.h - what every serde has to stand: what was written comes back the same, any cut, any flipped bit, any
 * allocation that fails.
 *
 * Everything belongs to the fixture. Threads: the test's.
 */
#ifndef SUPPORT_SERDE_TRIALS_H
#define SUPPORT_SERDE_TRIALS_H

#include "support/plugin_fixture.h"

/* `count` rows of any schema but `any`: extremes of each kind, empty and long texts, null where it may stand. The same for a seed. */
flow_batch *trial_rows(fixture *f, const flow_schema *schema, uint32_t count, uint64_t seed);

/* `name="text"` as an assignment takes it, with the quotes of the text escaped. */
const char *trial_assignment(fixture *f, const char *name, const char *text);

/* Same type, unit, flags, branch and content; doubles by their bits. */
int trial_values_equal(const flow_value *a, const flow_value *b);

/* Writes such rows and reads them again, as records and (if the serde does that) as a stream with windows of several sizes. */
void trial_round_trip(fixture_serde *serde, const flow_schema *schema, uint32_t count, uint64_t seed);

/* Reads the bytes cut behind each byte, then with each bit flipped: as a stream, or as one record. No byte is left over, and nothing
 * beyond the window is read; rows and record errors are what comes out. */
void trial_damage(fixture_serde *serde, const char *bytes, uint64_t size, int as_record);

/* Opens the serde, writes the rows and reads them, once for each allocation that fails: FLOW_E_MEMORY or another failure each time, and
 * nothing is left or used after. */
void trial_memory(const char *id, const char *const *options, const char *schema, const char *rows, int as_records);
/* The same for a text of `rows` rows, for serdes that do not write. */
void trial_reading_memory(const char *id, const char *const *options, const char *text, uint32_t rows);

#endif
