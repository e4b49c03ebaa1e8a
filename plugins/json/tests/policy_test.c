/* People's files: keys that are missing, null, or not declared. */
#include "json_checks.h"

#include "support/batch_text.h"

#define DEFAULTS                                                                                                       \
	"schema=\"{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"r\\\",\\\"fields\\\":[{\\\"name\\\":\\\"a\\\","            \
	"\\\"type\\\":"                                                                                                    \
	"\\\"long\\\",\\\"default\\\":7},{\\\"name\\\":\\\"b\\\",\\\"type\\\":[\\\"string\\\",\\\"null\\\"],"              \
	"\\\"default\\\":"                                                                                                 \
	"\\\"-\\\"},{\\\"name\\\":\\\"c\\\",\\\"type\\\":[\\\"null\\\",\\\"long\\\"]}]}\""

static void
missing_keys_are_a_default_null_or_an_error(void **state)
{
	(void)state;
	check_rows(OPTIONS(DEFAULTS), "{}\n{\"a\":1,\"c\":2}\n",
			   "{\"a\":7,\"b\":\"-\",\"c\":null}\n{\"a\":1,\"b\":\"-\",\"c\":2}\n");
	check_rows(OPTIONS(DEFAULTS, "missing=null"), "{\"a\":1}\n", "{\"a\":1,\"b\":null,\"c\":null}\n");
	check_rejected(OPTIONS(DEFAULTS, "missing=null"), "{\"b\":\"x\"}\n", FLOW_E_DECODE, "a", "does not allow null");
	check_rejected(OPTIONS(DEFAULTS, "missing=error"), "{\"a\":1,\"b\":\"x\"}\n", FLOW_E_DECODE, "c",
				   "the field is missing");
	check_rows(OPTIONS(DEFAULTS, "missing=error"), "{\"c\":null,\"b\":null,\"a\":1}\n",
			   "{\"a\":1,\"b\":null,\"c\":null}\n");
}

static void
null_may_be_the_default(void **state)
{
	(void)state;
	check_rejected(OPTIONS(DEFAULTS), "{\"a\":null}\n", FLOW_E_TYPE, "a", "is not int64");
	check_rows(OPTIONS(DEFAULTS, "nulls=default"), "{\"a\":null,\"b\":null,\"c\":null}\n",
			   "{\"a\":7,\"b\":null,\"c\":null}\n");
	check_rejected(OPTIONS("fields.a=int64", "nulls=default"), "{\"a\":null}\n", FLOW_E_TYPE, "a", "is not int64");
	check_rejected(OPTIONS("fields.a=list<int64>", "nulls=default"), "{\"a\":[null]}\n", FLOW_E_TYPE, "/a/0",
				   "is not int64");
}

static void
keys_that_are_not_declared_may_be_kept(void **state)
{
	(void)state;
	const char *keep[] = { "fields.a=int64", "fields.r=\"record(x:int64)?\"", "extra=keep", NULL };
	check_rows(keep, "{\"z\":[1,{}],\"a\":1,\"extra\":\"e\",\"y\":1.50}\n{\"r\":{\"x\":1,\"w\":2},\"a\":2}\n",
			   "{\"a\":1,\"r\":null,\"extra\":{\"z\":[1,{}],\"extra\":\"e\",\"y\":1.50}}\n"
			   "{\"a\":2,\"r\":{\"x\":1},\"extra\":{}}\n");
	check_rejected(keep, "{\"a\":1,\"z\":1,\"z\":2}\n", FLOW_E_DECODE, "/z", "the same key twice");
	check_rows(OPTIONS("fields.a=int64", "extra=keep", "extra_field=rest", "duplicates=last"),
			   "{\"z\":1,\"a\":1,\"y\":2,\"z\":3}\n", "{\"a\":1,\"rest\":{\"z\":3,\"y\":2}}\n");
}

/* More undeclared keys than are compared one by one. */
static void
many_keys_may_be_kept(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", OPTIONS("fields.a=int64", "extra=keep"), &json);
	const char *text = "{\"a\":1";
	for (int i = 0; i < 100; i++)
		text = arena_format(f->arena, "%s,\"k%d\":%d", text, i, i);
	text = arena_format(f->arena, "%s}\n", text);
	fixture_rows *rows = decode_all_ways(&json, flow_slice_of(text));
	assert_int_equal(flow_batch_field(rows->batches[0], 0, 1)->as.map->count, 100);
	assert_string_equal(fixture_encode(&json, rows->batches[0], 0)->data, text);
	fixture_destroy(f);
}

static void
kept_keys_are_written_beside_the_others(void **state)
{
	(void)state;
	const char *text = "{\"a\":1,\"z\":[1,{\"q\":null}],\"y\":1.50}\n{\"a\":2}\n";
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", OPTIONS("fields.a=int64", "extra=keep"), &json);
	fixture_rows *rows = decode_all_ways(&json, flow_slice_of(text));
	assert_string_equal(fixture_encode(&json, rows->batches[0], 0)->data, text);
	fixture_serde plain;
	fixture_serde_open(f, "json", NULL, &plain);
	assert_string_equal(fixture_encode(&plain, rows->batches[0], 0)->data,
						"{\"a\":1,\"extra\":{\"z\":[1,{\"q\":null}],\"y\":1.50}}\n{\"a\":2,\"extra\":{}}\n");
	flow_batch *same = fixture_batch(f, rows->schema, "{\"a\":1,\"extra\":{\"b\":1,\"a\":2}}\n");
	assert_int_equal(fixture_encode(&json, same, 0)->statuses[0], FLOW_E_ENCODE); /* twice the same key */
	fixture_destroy(f);
}

static void
what_nobody_reads_is_not_kept(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde json;
	fixture_serde_open(f, "json", OPTIONS("fields.a=int64", "fields.b=int64", "extra=keep"), &json);
	const char *text = "{\"a\":1,\"b\":2,\"z\":3}\n";
	fixture_decoding how = { .fields = (const uint32_t[]){ 1 }, .field_count = 1 };
	assert_string_equal(fixture_rows_text(fixture_decode_with(&json, text, strlen(text), &how)),
						"{\"a\":null,\"b\":2,\"extra\":null}\n");
	how.fields = (const uint32_t[]){ 2 };
	assert_string_equal(fixture_rows_text(fixture_decode_with(&json, text, strlen(text), &how)),
						"{\"a\":null,\"b\":null,\"extra\":{\"z\":3}}\n");
	fixture_destroy(f);
}

static void
contradicting_options_are_refused(void **state)
{
	(void)state;
	static const char *const wrong[][4] = { { "extra=keep" },
											{ "extra=keep", "schema=\"\\\"long\\\"\"" },
											{ "extra=keep", "fields.extra=int64" },
											{ "pretty=true" },
											{ "encoding=avro" },
											{ "encoding=avro", "fields.a=list<any>" },
											{ "encoding=avro", "fields.a=int64", "extra=keep" } };
	for (size_t i = 0; i < FLOW_COUNT(wrong); i++) {
		fixture *f = fixture_create();
		fixture_serde json;
		if (fixture_try_serde_open(f, "json", wrong[i], &json) == FLOW_OK)
			fail_msg("%s was taken", wrong[i][0]);
		fixture_destroy(f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_keys_are_a_default_null_or_an_error), cmocka_unit_test(null_may_be_the_default),
		cmocka_unit_test(keys_that_are_not_declared_may_be_kept),      cmocka_unit_test(many_keys_may_be_kept),
		cmocka_unit_test(kept_keys_are_written_beside_the_others),     cmocka_unit_test(what_nobody_reads_is_not_kept),
		cmocka_unit_test(contradicting_options_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
