/* Serdes that read lines. */
#include "support/line_trials.h"

#include <string.h>

fixture_rows *
trial_lines(fixture_serde *serde, const char *text)
{
	static const uint64_t windows[] = { 1, 2, 3, 7, 64 };
	uint64_t size = strlen(text);
	fixture_rows *whole = fixture_decode(serde, text, size, 0);
	assert_int_equal(whole->status, FLOW_OK);
	for (size_t i = 0; i < FLOW_COUNT(windows); i++) {
		fixture_decoding how = { .window_bytes = windows[i], .restore_each = i % 2 == 0 };
		fixture_rows *rows = fixture_decode_with(serde, text, size, &how);
		assert_string_equal(fixture_rows_text(rows), fixture_rows_text(whole));
		assert_int_equal(rows->rejection_count, whole->rejection_count);
		for (size_t k = 0; k < rows->rejection_count; k++) {
			assert_int_equal(rows->rejections[k].line, whole->rejections[k].line);
			assert_int_equal(rows->rejections[k].ordinal, whole->rejections[k].ordinal);
			assert_string_equal(rows->rejections[k].reason, whole->rejections[k].reason);
			assert_string_equal(rows->rejections[k].raw, whole->rejections[k].raw);
		}
	}
	return whole;
}

void
trial_rows_are(const char *id, const char *const *options, const char *text, const char *expected)
{
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, id, options, &serde);
	fixture_rows *rows = trial_lines(&serde, text);
	for (size_t i = 0; i < rows->rejection_count; i++)
		fail_msg("rejected: %s", rows->rejections[i].reason);
	assert_string_equal(fixture_rows_text(rows), expected);
	fixture_destroy(f);
}

void
trial_rejected(const char *id, const char *const *options, const char *text, flow_status status, const char *field,
			   const char *reason)
{
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, id, options, &serde);
	flow_slice record = flow_slice_of(text);
	fixture_rows *both[] = { trial_lines(&serde, text), fixture_decode_records(&serde, &record, 1) };
	for (size_t i = 0; i < FLOW_COUNT(both); i++) {
		if (both[i]->rejection_count != 1)
			fail_msg("%s: %zu rejections", text, both[i]->rejection_count);
		const fixture_rejection *rejection = &both[i]->rejections[0];
		if (rejection->status != status || strcmp(rejection->field, field) != 0 ||
			strstr(rejection->reason, reason) == NULL)
			fail_msg("%s: status %d, field '%s': %s", text, rejection->status, rejection->field, rejection->reason);
		assert_string_equal(rejection->raw, text);
	}
	fixture_destroy(f);
}
