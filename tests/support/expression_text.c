#include "support/expression_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/schema.h"
#include "support/batch_text.h"

void
expression_text_open(expression_text *t, const char *type, const char *lines)
{
	memset(t, 0, sizeof(*t));
	t->pool = batch_pool_create(0);
	t->text = malloc(EXPRESSION_TEXT_MAX);
	assert_non_null(t->pool);
	assert_non_null(t->text);
	t->memory = builder_create(t->pool, 0, 0);
	assert_non_null(t->memory);
	t->schema = schema_parse_type(flow_slice_of(type), &t->error);
	if (t->schema == NULL)
		fail_msg("%s: %s", type, error_message(&t->error));
	t->batch = batch_parse(t->pool, t->schema, lines);
}

void
expression_text_close(expression_text *t)
{
	batch_release(t->batch);
	builder_destroy(t->memory);
	schema_release(t->schema);
	batch_pool_destroy(t->pool);
	error_clear(&t->error);
	free(t->text);
}

static void
put(expression_text *t, const char *text, size_t size)
{
	size_t length = strlen(t->text);
	assert_true(length + size < EXPRESSION_TEXT_MAX);
	memcpy(t->text + length, text, size);
	t->text[length + size] = '\0';
}

flow_expression *
expression_text_compile(expression_text *t, const char *text)
{
	flow_expression *expression;
	flow_slice none = { NULL, 0 };
	if (expressions_service.compile(flow_slice_of(text), t->schema, none, &expression, &t->error) != FLOW_OK)
		fail_msg("%s: %s", text, error_message(&t->error));
	return expression;
}

static void
put_failure(expression_text *t, flow_status status, flow_slice reason)
{
	put(t, status_name(status), strlen(status_name(status)));
	put(t, ": ", 2);
	put(t, reason.data, reason.size);
}

static void
put_value(expression_text *t, const flow_schema *type, const flow_value *value)
{
	char *text = value_print(type, value);
	put(t, text, strlen(text));
	free(text);
}

const char *
expression_text_values(expression_text *t, const char *text)
{
	uint32_t rows = t->batch->row_count;
	flow_expression *expression = expression_text_compile(t, text);
	flow_value *results = calloc(rows + 1, sizeof(*results));
	flow_status *statuses = calloc(rows + 1, sizeof(*statuses));
	flow_slice *reasons = calloc(rows + 1, sizeof(*reasons));
	t->text[0] = '\0';
	if (expressions_service.evaluate(expression, t->batch, t->memory, results, statuses, reasons, &t->error) != FLOW_OK)
		fail_msg("%s: %s", text, error_message(&t->error));
	for (uint32_t i = 0; i < t->batch->selected_count; i++) {
		uint32_t row = flow_row(t->batch, i);
		put(t, " | ", i == 0 ? 0 : 3);
		if (statuses[row] == FLOW_OK) {
			put_value(t, expressions_service.type(expression), &results[row]);
			continue;
		}
		assert_int_equal(results[row].type, FLOW_NULL);
		put_failure(t, statuses[row], reasons[row]);
	}
	free(results);
	free(statuses);
	free(reasons);
	expressions_service.release(expression);
	builder_clear(t->memory);
	return t->text;
}

const char *
expression_text_value(const char *text)
{
	static char result[4096];
	expression_text t;
	expression_text_open(&t, "record(nothing:int64?)", "{\"nothing\":null}\n");
	snprintf(result, sizeof(result), "%s", expression_text_values(&t, text));
	expression_text_close(&t);
	return result;
}

const char *
expression_text_type(expression_text *t, const char *text)
{
	flow_expression *expression = expression_text_compile(t, text);
	schema_print(expressions_service.type(expression), 1, t->text, EXPRESSION_TEXT_MAX);
	expressions_service.release(expression);
	return t->text;
}

const char *
expression_text_printed(expression_text *t, const char *text)
{
	flow_expression *expression = expression_text_compile(t, text);
	expression_print(expression, t->text, EXPRESSION_TEXT_MAX);
	expressions_service.release(expression);
	return t->text;
}

const char *
expression_text_refused(expression_text *t, const char *text)
{
	flow_expression *expression;
	flow_slice none = { NULL, 0 };
	error_clear(&t->error);
	flow_status status = expressions_service.compile(flow_slice_of(text), t->schema, none, &expression, &t->error);
	if (status == FLOW_OK)
		fail_msg("%s is not refused", text);
	assert_null(expression);
	assert_int_equal(status, t->error.status);
	return error_message(&t->error);
}

const char *
expression_text_selected(expression_text *t, const char *text)
{
	uint32_t rows = t->batch->row_count, count = 0;
	flow_expression *expression = expression_text_compile(t, text);
	uint32_t *selection = calloc(rows + 1, sizeof(*selection));
	flow_status *statuses = calloc(rows + 1, sizeof(*statuses));
	flow_slice *reasons = calloc(rows + 1, sizeof(*reasons));
	t->text[0] = '\0';
	if (expressions_service.select(expression, t->batch, t->memory, selection, &count, statuses, reasons, &t->error) !=
		FLOW_OK)
		fail_msg("%s: %s", text, error_message(&t->error));
	for (uint32_t i = 0; i < count; i++) {
		char number[16];
		snprintf(number, sizeof(number), "%s%u", i == 0 ? "" : " ", selection[i]);
		put(t, number, strlen(number));
	}
	for (uint32_t row = 0; row < rows; row++) {
		if (statuses[row] == FLOW_OK)
			continue;
		put(t, " ! ", 3);
		put_failure(t, statuses[row], reasons[row]);
	}
	free(selection);
	free(statuses);
	free(reasons);
	expressions_service.release(expression);
	builder_clear(t->memory);
	return t->text;
}
