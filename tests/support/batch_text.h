/*
 * support/batch_text.h - batches as JSON lines, for tests: what a test expects and what it got as plain text.
 *
 * Strings are JSON strings; bytes, fixed: a string of the characters U+0000 to U+00FF; uuid, date, time, timestamp: their text;
 * decimals: their digits as they are, as a number; float64: the shortest text ("NaN", "Infinity" as strings); an integer is never printed
 * with a point, a float always. Records are objects in field order; null is null.
 */
#ifndef SUPPORT_BATCH_TEXT_H
#define SUPPORT_BATCH_TEXT_H

#include "base/batch.h"

/* The selected rows, one line each, "\n" behind every one. The caller frees (free). Fails the test without memory. */
char *batch_print(const flow_batch *batch);
/* With "key", "timestamp" and "ordinal" beside "value", as far as the batch has them. */
char *batch_print_all(const flow_batch *batch);
char *value_print(const flow_schema *schema, const flow_value *value);

/* Rows of this schema from JSON lines in the same notation (decimals also as strings; a value for a kind `any` by its JSON type).
 * Reference of the caller's. Fails the test on anything wrong. */
flow_batch *batch_parse(batch_pool *pool, const flow_schema *schema, const char *lines);

#endif
