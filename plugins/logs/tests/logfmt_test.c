/* logfmt: pairs, quotes, types, what is refused, and that what was written comes back. */
#include <string.h>

#include "base/error.h"
#include "support/line_trials.h"
#include "support/serde_trials.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
check_rows(const char *const *options, const char *text, const char *expected)
{
	trial_rows_are("logfmt", options, text, expected);
}

static void
check_rejected(const char *const *options, const char *text, flow_status status, const char *field, const char *reason)
{
	trial_rejected("logfmt", options, text, status, field, reason);
}

static void
without_fields_a_line_is_a_map_of_texts(void **state)
{
	(void)state;
	check_rows(NULL, "level=info msg=\"a b\" ok\n", "{\"level\":\"info\",\"msg\":\"a b\",\"ok\":null}\n");
	check_rows(NULL, "\n  \t \r\na= b=\"\" c=1\r\n", "{\"a\":null,\"b\":\"\",\"c\":\"1\"}\n");
	check_rows(NULL, "url=http://x/?q=1&r=2  at=2024-01-01T00:00:00Z",
			   "{\"url\":\"http://x/?q=1&r=2\",\"at\":\"2024-01-01T00:00:00Z\"}\n");
	check_rows(NULL, "m=\"say \\\"hi\\\"\\n\\\\ \\u00e9\\ud83d\\ude00 =\" \xC3\xA9=1\n",
			   "{\"m\":\"say \\\"hi\\\"\\n\\\\ \xC3\xA9\xF0\x9F\x98\x80 =\",\"\xC3\xA9\":\"1\"}\n");
	check_rows(NULL,
			   "\xEF\xBB\xBF"
			   "a=1\nb=2\n",
			   "{\"a\":\"1\"}\n{\"b\":\"2\"}\n");
	check_rows(OPTIONS("duplicates=last"), "a=1 b=2 a=3\n", "{\"a\":\"3\",\"b\":\"2\"}\n");
}

static void
declared_fields_have_their_types(void **state)
{
	(void)state;
	check_rows(OPTIONS("fields.ts=timestamp", "fields.n=int64?", "fields.ok=bool?", "fields.m=string?"),
			   "n=5 ts=2024-01-01T00:00:00.5Z ok m=\"x\" other=1\nts=2024-01-01T00:00:00Z n= ok=false m=\n",
			   "{\"ts\":\"2024-01-01T00:00:00.5Z\",\"n\":5,\"ok\":true,\"m\":\"x\"}\n"
			   "{\"ts\":\"2024-01-01T00:00:00Z\",\"n\":null,\"ok\":false,\"m\":null}\n");
	check_rows(OPTIONS("fields.a=string", "fields.b=float64", "fields.d=decimal(9,2)"), "a= d=1.5 b=NaN\n",
			   "{\"a\":\"\",\"b\":\"NaN\",\"d\":1.50}\n");
}

static void
what_is_no_logfmt_is_rejected(void **state)
{
	(void)state;
	check_rejected(NULL, "a=1 a=2", FLOW_E_DECODE, "a", "twice");
	check_rejected(NULL, "a=\"x", FLOW_E_DECODE, "a", "does not end");
	check_rejected(NULL, "a=\"x\\", FLOW_E_DECODE, "a", "does not end");
	check_rejected(NULL, "a=\"x\"y", FLOW_E_DECODE, "a", "behind a quoted");
	check_rejected(NULL, "a=\"\\q\"", FLOW_E_DECODE, "a", "escape");
	check_rejected(NULL, "a=\"\\ud800 \"", FLOW_E_DECODE, "a", "escape");
	check_rejected(NULL, "a=\"\\u00g0\"", FLOW_E_DECODE, "a", "escape");
	check_rejected(NULL, "a=x\"y", FLOW_E_DECODE, "a", "not quoted");
	check_rejected(NULL, "=1", FLOW_E_DECODE, "", "no key");
	check_rejected(NULL, "a\"b=1", FLOW_E_DECODE, "a", "no key");
	check_rejected(NULL, "a=\xFF", FLOW_E_DECODE, "", "not UTF-8 (byte 2)");
	check_rejected(OPTIONS("fields.n=int32"), "n=2147483648", FLOW_E_RANGE, "n", "does not fit exactly into int32");
	check_rejected(OPTIONS("fields.n=int32"), "n=x", FLOW_E_DECODE, "n", "'x' is no int32");
	check_rejected(OPTIONS("fields.n=int32"), "m=1", FLOW_E_DECODE, "n", "is not there");
	check_rejected(OPTIONS("fields.n=int32"), "n=", FLOW_E_DECODE, "n", "'' is no int32");
	check_rejected(OPTIONS("fields.n=int32"), "n=1 n=1", FLOW_E_DECODE, "n", "twice");
	check_rejected(OPTIONS("fields.n=int32"), "n=1 m=1 m=1", FLOW_E_DECODE, "m", "twice");
	check_rejected(OPTIONS("fields.n=int32", "extra=error"), "n=1 m=1", FLOW_E_DECODE, "m", "not declared");
}

static void
a_line_over_the_limit_is_rejected_and_the_next_one_read(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "logfmt", OPTIONS("max_record=16"), &serde);
	fixture_rows *rows = trial_lines(&serde, "a=1\nb=0123456789abcdef\nc=2\n");
	assert_string_equal(fixture_rows_text(rows), "{\"a\":\"1\"}\n{\"c\":\"2\"}\n");
	assert_int_equal(rows->rejection_count, 1);
	assert_int_equal(rows->rejections[0].line, 2);
	assert_int_equal(rows->rejections[0].status, FLOW_E_LIMIT);
	fixture_destroy(f);
}

static void
check_written(const char *schema, const char *rows, const char *expected)
{
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "logfmt", NULL, &serde);
	assert_string_equal(fixture_encode(&serde, fixture_batch(f, fixture_schema(f, schema), rows), 0)->data, expected);
	fixture_destroy(f);
}

static void
quotes_stand_where_a_reader_needs_them(void **state)
{
	(void)state;
	check_written("record(a:string?,b:int64?,c:bool?)",
				  "{\"a\":\"x\",\"b\":5,\"c\":true}\n{\"a\":\"\",\"b\":null,\"c\":null}\n", "a=x b=5 c=true\na=\"\"\n");
	check_written("record(a:string?,b:int64?)", "{\"a\":null,\"b\":null}\n", "a=\n");
	check_written("map<string?>",
				  "{\"a\":\"b c\",\"d\":\"x=\\\"\\\\\\n\\u0001\",\"e\":null,\"\xC3\xA9\":\"\xC3\xA9\"}\n",
				  "a=\"b c\" d=\"x=\\\"\\\\\\n\\u0001\" e= \xC3\xA9=\xC3\xA9\n");
}

static void
every_value_comes_back(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde, untyped;
	fixture_serde_open(f, "logfmt",
					   OPTIONS("fields.a=bool?", "fields.b=int32", "fields.c=int64?", "fields.d=uint64",
							   "fields.e=float32?", "fields.f=float64", "fields.g=string?",
							   "fields.h=\"decimal(20,4)?\"", "fields.i=decimal", "fields.j=\"enum(x,y)?\"",
							   "fields.k=uuid", "fields.l=date?", "fields.m=\"time(ns)\"", "fields.n=local_timestamp",
							   "fields.o=string"),
					   &serde);
	trial_round_trip(&serde, fixture_decoded_schema(&serde, NULL, 0), 300, 3);
	fixture_serde_open(f, "logfmt", NULL, &untyped);
	flow_batch *batch = trial_rows(f, fixture_schema(f, "map<string?>"), 200, 4);
	fixture_bytes *bytes = fixture_encode(&untyped, batch, 0);
	fixture_rows *rows = fixture_decode(&untyped, bytes->data, bytes->size, 0);
	size_t part = 0;
	for (uint32_t i = 0, at = 0; i < batch->row_count; i++) {
		if (batch->value[i].as.map->count == 0) { /* there is no line for it */
			assert_int_equal(bytes->statuses[i], FLOW_E_ENCODE);
			continue;
		}
		if (at == rows->batches[part]->row_count) {
			part++;
			at = 0;
		}
		assert_true(trial_values_equal(&batch->value[i], &rows->batches[part]->value[at++]));
	}
	fixture_destroy(f);
}

static void
what_has_no_form_is_refused_by_the_plan(void **state)
{
	(void)state;
	static const char *const schemas[] = { "record(a:list<int64>)", "record(a:bytes)", "record(a:record(b:int64))",
										   "string", "map<list<string>>" };
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "logfmt", NULL, &serde);
	for (size_t i = 0; i < FLOW_COUNT(schemas); i++)
		assert_int_equal(serde.ops->check_encodable(serde.serde, fixture_schema(f, schemas[i]), &f->error),
						 FLOW_E_TYPE);
	const char *name =
		"{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\",\"flow.name\":\"a b\",\"type\":\"int\"}]}";
	assert_int_equal(serde.ops->check_encodable(serde.serde, fixture_schema(f, name), &f->error), FLOW_E_TYPE);
	assert_non_null(strstr(error_message(&f->error), "field 'a b'"));
	assert_int_equal(fixture_try_serde_open(f, "logfmt", OPTIONS("fields.a=list<int64>"), &serde), FLOW_E_TYPE);
	fixture_destroy(f);
}

static void
damage_is_a_record_error_or_another_value(void **state)
{
	(void)state;
	static const char line[] = "a=12 b=\"x \\\"\\u00e9\\ud83d\\ude00\" ok c=\xC3\xA9";
	fixture *f = fixture_create();
	fixture_serde untyped, declared;
	fixture_serde_open(f, "logfmt", NULL, &untyped);
	fixture_serde_open(f, "logfmt", OPTIONS("fields.a=int64?", "fields.b=string?", "fields.ok=bool?"), &declared);
	for (int as_record = 0; as_record < 2; as_record++) {
		trial_damage(&untyped, line, sizeof(line) - 1, as_record);
		trial_damage(&declared, line, sizeof(line) - 1, as_record);
	}
	fixture_destroy(f);
}

static void
each_allocation_that_fails_is_an_error(void **state)
{
	(void)state;
	for (int as_records = 0; as_records < 2; as_records++) {
		trial_memory("logfmt", OPTIONS("fields.b=string", "fields.c=\"decimal(9,2)?\""),
					 "record(z:string,b:string,c:decimal(9,2)?)", "{\"z\":\"1\",\"b\":\"\\n\",\"c\":\"1.50\"}\n",
					 as_records);
		trial_memory("logfmt", NULL, "map<string?>", "{\"z\":\"1\",\"b\":\"\\n\",\"c\":null}\n", as_records);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_fields_a_line_is_a_map_of_texts),
		cmocka_unit_test(declared_fields_have_their_types),
		cmocka_unit_test(what_is_no_logfmt_is_rejected),
		cmocka_unit_test(a_line_over_the_limit_is_rejected_and_the_next_one_read),
		cmocka_unit_test(quotes_stand_where_a_reader_needs_them),
		cmocka_unit_test(every_value_comes_back),
		cmocka_unit_test(what_has_no_form_is_refused_by_the_plan),
		cmocka_unit_test(damage_is_a_record_error_or_another_value),
		cmocka_unit_test(each_allocation_that_fails_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
