/* When the n-th allocation fails, compiling and evaluating say so, and nothing is lost or leaked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/schema.h"
#include "support/expression_text.h"

static const char type[] = "record(i:int64?,s:string?,d:decimal,t:timestamp(ms),m:any)";
static const char lines[] =
	"{\"i\":1,\"s\":\"abc\",\"d\":\"1.50\",\"t\":\"2013-01-01T10:00:00Z\",\"m\":{\"k\":\"v\"}}\n"
	"{\"i\":null,\"s\":\"x\",\"d\":\"2\",\"t\":\"2013-01-02T10:00:00Z\",\"m\":null}\n"
	"{\"i\":0,\"s\":null,\"d\":\"-7.25\",\"t\":\"2013-01-03T10:00:00Z\",\"m\":5}\n";
static const char *const texts[] = {
	"i + 1 > 5 and s like 'a%' or d * 1.5 in (3, 4.5, null)",
	"case when i is null then upper(s) || 'xyz' else concat(s, i, d) end",
	"coalesce(cast(d as string), 'nothing') || lpad(s, 5000, 'x')",
	"10 / i + length(m.k)",
	"date_trunc('hour', t) >= '2013-01-01 09:00:00' and cast(s as timestamp(s)) is null",
	"no_such_field + 1",
	"1 / 0",
	"cast(s as decimal(5,2)) between d and greatest(d, 7, cast('1e3' as decimal))",
	"\"unfinished",
};

/* Returns whether an allocation could still fail. */
static int
run(expression_text *t, const char *text, uint64_t failing)
{
	flow_expression *expression;
	flow_value results[3];
	flow_status statuses[3] = { 0 };
	flow_slice reasons[3];
	uint32_t selection[3], count;
	flow_builder *memory = builder_create(t->pool, 1, 256);
	assert_non_null(memory);
	error_clear(&t->error);
	memory_fail_at(failing, 0);
	flow_status status =
		expressions_service.compile(flow_slice_of(text), t->schema, flow_slice_of("here"), &expression, &t->error);
	if (status == FLOW_OK) {
		status = expressions_service.evaluate(expression, t->batch, memory, results, statuses, reasons, &t->error);
		if (status == FLOW_OK && expressions_service.type(expression)->kind == FLOW_KIND_BOOL)
			status = expressions_service.select(expression, t->batch, memory, selection, &count, statuses, reasons,
												&t->error);
		expressions_service.release(expression);
	}
	uint64_t made = memory_fail_at(0, 0);
	if (status == FLOW_E_MEMORY)
		assert_int_equal(t->error.status, FLOW_E_MEMORY);
	else if (status != FLOW_OK)
		assert_int_not_equal(error_message(&t->error)[0], '\0');
	builder_destroy(memory);
	return made >= failing;
}

static void
any_allocation_may_fail(void **state)
{
	(void)state;
	expression_text t;
	expression_text_open(&t, type, lines);
	for (size_t i = 0; i < FLOW_COUNT(texts); i++) {
		uint64_t failing = 1;
		while (run(&t, texts[i], failing))
			failing++;
		assert_true(failing > 1);
	}
	expression_text_close(&t);
}

/* Nothing is allocated for rows once the builder's chunks are there. */
static void
evaluation_allocates_nothing_when_warm(void **state)
{
	(void)state;
	expression_text t;
	flow_value results[3];
	flow_status statuses[3] = { 0 };
	flow_slice reasons[3];
	uint32_t selection[3], count;
	expression_text_open(&t, type, lines);
	flow_expression *expression = expression_text_compile(&t, texts[0]);
	for (int round = 0; round < 3; round++) {
		memory_fail_at(0, 0);
		assert_int_equal(
			expressions_service.evaluate(expression, t.batch, t.memory, results, statuses, reasons, &t.error), FLOW_OK);
		assert_int_equal(
			expressions_service.select(expression, t.batch, t.memory, selection, &count, statuses, reasons, &t.error),
			FLOW_OK);
		builder_clear(t.memory);
		uint64_t made = memory_fail_at(0, 0);
		if (round > 0)
			assert_int_equal(made, 0);
	}
	expressions_service.release(expression);
	expression_text_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_allocation_may_fail),
		cmocka_unit_test(evaluation_allocates_nothing_when_warm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
