/*
 * support/line_trials.h - serdes that read lines: rows and record errors do not depend on where windows end.
 */
#ifndef SUPPORT_LINE_TRIALS_H
#define SUPPORT_LINE_TRIALS_H

#include "support/plugin_fixture.h"

/* The rows of the text, the same with windows of many sizes and with a decoder restored behind each. */
fixture_rows *trial_lines(fixture_serde *serde, const char *text);
/* The text's rows as JSON lines; no record error. */
void trial_rows_are(const char *id, const char *const *options, const char *text, const char *expected);
/* The text, of one line without its end, is one record error, as a line and as a record. */
void trial_rejected(const char *id, const char *const *options, const char *text, flow_status status, const char *field,
					const char *reason);

#endif
