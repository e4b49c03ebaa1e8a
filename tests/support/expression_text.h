/*
 * support/expression_text.h - expressions in tests: compiled against a type in the short form, evaluated over JSON
 * lines, results as text.
 *
 *     expression_text t;
 *     expression_text_open(&t, "record(x:int64?)", "{\"x\":1}\n{\"x\":null}\n");
 *     assert_string_equal(expression_text_values(&t, "x + 1"), "2 | null");
 *
 * Returned texts live until the next call. Whatever must not fail fails the test. Threads: the test's.
 */
#ifndef SUPPORT_EXPRESSION_TEXT_H
#define SUPPORT_EXPRESSION_TEXT_H

#include "base/batch.h"
#include "base/error.h"
#include "expr/expression.h"

#define EXPRESSION_TEXT_MAX (64 * 1024)

typedef struct expression_text {
	batch_pool *pool;
	flow_builder *memory;
	const flow_schema *schema;
	flow_batch *batch;
	flow_error error;
	char *text;
} expression_text;

void expression_text_open(expression_text *t, const char *type, const char *lines);
void expression_text_close(expression_text *t);

flow_expression *expression_text_compile(expression_text *t, const char *text);
/* One value a row, " | " between them; a row that failed is "FLOW_E_RANGE: reason". */
const char *expression_text_values(expression_text *t, const char *text);
const char *expression_text_value(const char *text); /* of an expression without fields; a static text */
const char *expression_text_type(expression_text *t, const char *text);
const char *expression_text_printed(expression_text *t, const char *text);
const char *expression_text_refused(expression_text *t, const char *text); /* the message */
/* Row numbers that pass, blanks between them; failed rows as with values, behind " ! ". */
const char *expression_text_selected(expression_text *t, const char *text);

#endif
