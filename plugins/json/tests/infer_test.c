/* Types of documents from the first of them. */
#include <string.h>

#include "base/schema.h"
#include "support/batch_text.h"
#include "support/case_files.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
check_type(const char *const *options, const char *sample, const char *expected)
{
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", options, &json);
	const flow_schema *schema = fixture_decoded_schema(&json, sample, strlen(sample));
	char type[1024];
	schema_print(schema, 1, type, sizeof(type));
	assert_string_equal(type, expected);
	fixture_destroy(f);
}

static void
given_documents_when_inferred_then_each_field_has_the_type_of_its_values(void **state)
{
	(void)state;
	const char *const *exact = OPTIONS("infer=exact");
	check_type(exact, "{\"a\":1,\"b\":\"x\",\"c\":true,\"d\":1.5}\n", "record(a:int64?,b:string?,c:bool?,d:decimal?)");
	check_type(OPTIONS("infer=float"), "{\"d\":1.5}\n{\"d\":2}\n", "record(d:float64?)");
	check_type(exact, "{\"d\":1}\n{\"d\":2.5}\n", "record(d:decimal?)");
	check_type(exact, "{\"d\":1}\n{\"d\":99999999999999999999}\n", "record(d:decimal?)");
	check_type(exact, "{\"a\":null}\n{\"a\":1}\n{}\n", "record(a:int64?)");
	check_type(exact, "{\"a\":null}\n", "record(a:string?)");
	check_type(exact, "{\"b\":1}\n{\"a\":1,\"b\":2}\n", "record(b:int64?,a:int64?)");
	check_type(exact, "{\"a\":1}\n{\"a\":\"x\"}\n", "record(a:any)");
	check_type(exact, "{\"a\":{\"b\":1}}\n{\"a\":{\"c\":[1,2]}}\n", "record(a:record(b:int64?,c:list<int64?>?)?)");
	check_type(exact, "{\"a\":[{\"b\":1},{\"b\":null,\"c\":\"x\"}]}\n", "record(a:list<record(b:int64?,c:string?)?>?)");
}

static void
given_an_array_or_documents_when_the_framing_is_auto_then_the_type_is_that_of_the_records(void **state)
{
	(void)state;
	const char *const *options = OPTIONS("infer=exact", "framing=auto");
	check_type(options, "\xEF\xBB\xBF \n[{\"a\":1},\n {\"b\":\"x\"}]\n", "record(a:int64?,b:string?)");
	check_type(options, "[\n{\"a\":1},\n {\"b\":", "record(a:int64?)");
	check_type(options, "\n{\n \"a\":1\n}\n{\"b\":[2]}", "record(a:int64?,b:list<int64?>?)");
	check_type(options, "[]", "any");
}

static void
given_what_is_no_record_when_inferred_then_it_stays_untyped(void **state)
{
	(void)state;
	check_type(OPTIONS("infer=exact"), "1\n2\n", "any");
	check_type(OPTIONS("infer=exact"), "{\"a\":1}\n[1]\n", "any");
	check_type(OPTIONS("infer=exact"), "nothing\n", "any");
	check_type(OPTIONS("infer=none"), "{\"a\":1}\n", "any");
	check_type(OPTIONS("infer=exact", "fields.a=string"), "{\"a\":1}\n", "record(a:string)");
}

static void
given_bad_and_cut_documents_when_inferred_then_the_others_count(void **state)
{
	(void)state;
	check_type(OPTIONS("infer=exact"), "{\"a\":1\n\n{\"a\":2}\r\n{\"a\":", "record(a:int64?)");
	check_type(OPTIONS("infer=exact"), "{\"a\":1}\n{\"b\":2}",
			   "record(a:int64?,b:int64?)"); /* the last line needs no end */
	check_type(OPTIONS("infer=exact"), "\xEF\xBB\xBF{\"a\":1}\n", "record(a:int64?)");
}

static void
given_arrays_and_documents_when_inferred_then_their_items_are_looked_at(void **state)
{
	(void)state;
	check_type(OPTIONS("infer=exact", "framing=array"), " [ {\"a\":1},\n{\"b\":[\"]\"]} ] ",
			   "record(a:int64?,b:list<string?>?)");
	check_type(OPTIONS("infer=exact", "framing=array"), "[]", "any");
	check_type(OPTIONS("infer=exact", "framing=documents"), "{\"a\":1,\n\"b\":2}{\"a\":3}\n",
			   "record(a:int64?,b:int64?)");
}

/* What was not among the first documents is told, not dropped. */
static void
given_an_inferred_type_when_a_later_document_differs_then_it_is_a_record_error(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", OPTIONS("infer=exact"), &json);
	const char *first = "{\"a\":1}\n", *text = "{\"a\":2}\n{\"a\":\"x\"}\n{\"a\":3,\"new\":1}\n{}\n";
	fixture_decoded_schema(&json, first, strlen(first));
	fixture_rows *rows = fixture_decode(&json, text, strlen(text), 0);
	assert_int_equal(rows->row_count, 2);
	assert_int_equal(rows->rejection_count, 2);
	fixture_destroy(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_documents_when_inferred_then_each_field_has_the_type_of_its_values),
		cmocka_unit_test(given_an_array_or_documents_when_the_framing_is_auto_then_the_type_is_that_of_the_records),
		cmocka_unit_test(given_what_is_no_record_when_inferred_then_it_stays_untyped),
		cmocka_unit_test(given_bad_and_cut_documents_when_inferred_then_the_others_count),
		cmocka_unit_test(given_arrays_and_documents_when_inferred_then_their_items_are_looked_at),
		cmocka_unit_test(given_an_inferred_type_when_a_later_document_differs_then_it_is_a_record_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
