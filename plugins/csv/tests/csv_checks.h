/*
 * What tests of reading CSV check: rows and rejections, which are the same for windows of any size.
 */
#ifndef CSV_CHECKS_H
#define CSV_CHECKS_H

#include <string.h>

#include "base/error.h"
#include "support/plugin_fixture.h"

static const uint64_t window_sizes[] = { 1, 2, 3, 7, 64, 0 };

static inline fixture_rows *
decode_text(fixture_serde *serde, const char *text, uint64_t window)
{
	return fixture_decode(serde, text, strlen(text), window);
}

/* The rows of `text`, equal for all windows. */
static inline fixture_rows *
decode_all_ways(fixture_serde *serde, const char *text, uint64_t size)
{
	fixture_rows *whole = fixture_decode(serde, text, size, 0);
	for (size_t i = 0; i < FLOW_COUNT(window_sizes); i++) {
		fixture_rows *rows = fixture_decode(serde, text, size, window_sizes[i]);
		assert_string_equal(fixture_rows_text(rows), fixture_rows_text(whole));
		assert_int_equal(rows->rejection_count, whole->rejection_count);
		for (size_t k = 0; k < rows->rejection_count; k++) {
			assert_int_equal(rows->rejections[k].line, whole->rejections[k].line);
			assert_int_equal(rows->rejections[k].ordinal, whole->rejections[k].ordinal);
			assert_string_equal(rows->rejections[k].reason, whole->rejections[k].reason);
			assert_string_equal(rows->rejections[k].raw, whole->rejections[k].raw);
		}
		assert_int_equal(rows->consumed, size);
	}
	return whole;
}

static inline void
check_rows(const char *const *options, const char *text, const char *expected)
{
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", options, &csv);
	fixture_rows *rows = decode_all_ways(&csv, text, strlen(text));
	assert_int_equal(rows->status, FLOW_OK);
	assert_string_equal(fixture_rows_text(rows), expected);
	assert_int_equal(rows->rejection_count, 0);
	fixture_destroy(f);
}

/* One rejection, with its line, field and a part of its reason; the other rows are `expected`. */
static inline void
check_rejection(const char *const *options, const char *text, const char *expected, uint64_t line, const char *field,
				const char *reason)
{
	fixture *f = fixture_create();
	fixture_serde csv;
	fixture_serde_open(f, "csv", options, &csv);
	fixture_rows *rows = decode_all_ways(&csv, text, strlen(text));
	assert_string_equal(fixture_rows_text(rows), expected);
	assert_int_equal(rows->rejection_count, 1);
	assert_int_equal(rows->rejections[0].line, line);
	assert_string_equal(rows->rejections[0].field, field);
	if (strstr(rows->rejections[0].reason, reason) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", rows->rejections[0].reason, reason);
	fixture_destroy(f);
}

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

#endif
