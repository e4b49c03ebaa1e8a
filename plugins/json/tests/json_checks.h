/*
 * What tests of reading JSON check: rows and rejections, which are the same for windows of any size.
 */
#ifndef JSON_CHECKS_H
#define JSON_CHECKS_H

#include <string.h>

#include "base/error.h"
#include "support/plugin_fixture.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const uint64_t window_sizes[] = { 1, 2, 3, 7, 64, 0 };

static inline fixture_rows *
decode_all_ways(fixture_serde *serde, flow_slice text)
{
	fixture_rows *whole = fixture_decode(serde, text.data, text.size, 0);
	assert_int_equal(whole->status, FLOW_OK);
	for (size_t i = 0; i < FLOW_COUNT(window_sizes); i++) {
		fixture_rows *rows = fixture_decode(serde, text.data, text.size, window_sizes[i]);
		assert_string_equal(fixture_rows_text(rows), fixture_rows_text(whole));
		assert_int_equal(rows->rejection_count, whole->rejection_count);
		for (size_t k = 0; k < rows->rejection_count; k++) {
			assert_int_equal(rows->rejections[k].line, whole->rejections[k].line);
			assert_int_equal(rows->rejections[k].ordinal, whole->rejections[k].ordinal);
			assert_string_equal(rows->rejections[k].reason, whole->rejections[k].reason);
			assert_string_equal(rows->rejections[k].raw, whole->rejections[k].raw);
		}
		assert_int_equal(rows->consumed, text.size);
	}
	return whole;
}

static inline void
check_rows(const char *const *options, const char *text, const char *expected)
{
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", options, &json);
	fixture_rows *rows = decode_all_ways(&json, flow_slice_of(text));
	for (size_t i = 0; i < rows->rejection_count; i++)
		fail_msg("rejected: %s", rows->rejections[i].reason);
	assert_string_equal(fixture_rows_text(rows), expected);
	fixture_destroy(f);
}

static inline void
check_rejected(const char *const *options, const char *text, flow_status status, const char *field, const char *reason)
{
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", options, &json);
	fixture_rows *rows = decode_all_ways(&json, flow_slice_of(text));
	if (rows->rejection_count != 1)
		fail_msg("%s: %d rejections", text, (int)rows->rejection_count);
	assert_int_equal(rows->rejections[0].status, status);
	assert_string_equal(rows->rejections[0].field, field);
	if (strstr(rows->rejections[0].reason, reason) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", rows->rejections[0].reason, reason);
	fixture_destroy(f);
}

/* Rows and one rejection, with its line and a part of its reason. */
static inline void
check_rows_and_rejection(const char *const *options, const char *text, const char *expected, uint64_t line,
						 const char *reason)
{
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", options, &json);
	fixture_rows *rows = decode_all_ways(&json, flow_slice_of(text));
	assert_string_equal(fixture_rows_text(rows), expected);
	if (rows->rejection_count != 1)
		fail_msg("%s: %d rejections", text, (int)rows->rejection_count);
	assert_int_equal(rows->rejections[0].line, line);
	if (strstr(rows->rejections[0].reason, reason) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", rows->rejections[0].reason, reason);
	fixture_destroy(f);
}

/* These rows (JSON lines of the schema) are written as this text, which gives the same rows again. */
static inline void
check_there_and_back(const char *const *options, const char *schema, const char *rows, const char *text)
{
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", options, &json);
	flow_batch *batch = fixture_batch(f, fixture_schema(f, schema), rows);
	fixture_bytes *bytes = fixture_encode(&json, batch, 0);
	for (uint32_t i = 0; i < batch->row_count; i++)
		assert_int_equal(bytes->statuses[i], FLOW_OK);
	assert_string_equal(bytes->data, text);
	assert_string_equal(fixture_rows_text(decode_all_ways(&json, flow_slice_make(bytes->data, bytes->size))), rows);
	fixture_destroy(f);
}

#endif
